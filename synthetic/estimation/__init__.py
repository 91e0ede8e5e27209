"""Constants of a model of one's own: estimated along a run and around it, certified where the model is a linear one."""

from .estimate import Estimate, Estimates, estimate_constants

__all__ = ["Estimate", "Estimates", "estimate_constants"]
