"""The local composite kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..composite_checks import composite_checks
from ..composite_inequalities import COMPOSITE
from ..kind import Kind
from ..meta_inequalities import LOCAL_LOSS

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
    COMPOSITE | LOCAL_LOSS,
    composite_checks,
)
