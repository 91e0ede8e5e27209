"""Arguments that many proofs share, each a function that adds checked steps to a proof."""
# ruff: noqa: F401 (what is imported here is what the package offers)

from .conditional import Conditional
from .descent import descent_along, smooth_descent, steep_at_most, summed_descent
from .estimate import InnerEstimate
from .momentum import averaged_estimate, averaged_updates, bounded_momentum
from .rounds import RandomSet, averaged_rounds, variance_of_mean
from .sgd import PlainLosses, Sgd, apart_models, apart_steps, local_descent, unlike_descent, unlike_rounds
from .smoothness import smooth_composite, smooth_composition, smooth_mean
