"""The conditional kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..conditional_checks import conditional_checks
from ..conditional_inequalities import CONDITIONAL
from ..kind import Kind

KIND = Kind(
    (
        "outer_mean_square_lipschitz",
        "outer_sample_lipschitz",
        "outer_sample_smoothness",
        "inner_value_noise",
        "inner_jacobian_mean_square",
        "inner_sample_lipschitz",
        "inner_sample_smoothness",
        "objective_gap",
        "gradient_cap",
    ),
    CONDITIONAL,
    conditional_checks,
)
