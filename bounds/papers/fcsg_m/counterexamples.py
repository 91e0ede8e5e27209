"""FCSG-M: its entry stands beside that of FCSG, which has the same instance."""

from ..fcsg.counterexamples import fcsg_m

__all__ = ["fcsg_m"]
