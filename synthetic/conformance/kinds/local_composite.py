"""The local composite kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..composite import COMPOSITE, composite_checks
from ..inequalities import Inequalities
from ..kind import Kind
from ..local_losses import GRADIENTS, HESSIANS, with_fourth_moments

KIND = Kind(
    (
        "outer_mean_square_lipschitz",
        "outer_smoothness",
        "outer_gradient_noise",
        "outer_sample_lipschitz",
        "outer_sample_smoothness",
        "inner_jacobian_mean_square",
        "inner_smoothness",
        "inner_jacobian_noise",
        "inner_value_noise",
        "inner_sample_lipschitz",
        "inner_sample_smoothness",
        "composite_noise",
        "objective_smoothness",
        "objective_gap",
        "gradient_cap",
    ),
    Inequalities(COMPOSITE | GRADIENTS | HESSIANS, with_fourth_moments(GRADIENTS | HESSIANS)),
    composite_checks,
)
