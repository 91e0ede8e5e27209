"""Arguments that many proofs share, each a function that adds checked steps to a proof."""

from .descent import smooth_descent
from .estimate import InnerEstimate
from .momentum import averaged_estimate, averaged_updates, bounded_momentum
from .noise import variance_of_mean
from .rounds import averaged_rounds
from .sgd import PlainLosses, Sgd, apart_models, apart_steps, local_descent, unlike_descent, unlike_rounds
from .smoothness import smooth_composite, smooth_composition, smooth_mean

__all__ = [
    "InnerEstimate",
    "PlainLosses",
    "Sgd",
    "apart_models",
    "apart_steps",
    "averaged_estimate",
    "averaged_rounds",
    "averaged_updates",
    "bounded_momentum",
    "local_descent",
    "smooth_composite",
    "smooth_composition",
    "smooth_descent",
    "smooth_mean",
    "unlike_descent",
    "unlike_rounds",
    "variance_of_mean",
]
