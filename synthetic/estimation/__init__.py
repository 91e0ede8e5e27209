"""Constants of a model of one's own: estimated along a run and around it, certified where the model is a linear one."""

from .estimate import estimate_constants
from .search import Estimate, Estimates

__all__ = ["Estimate", "Estimates", "estimate_constants"]
