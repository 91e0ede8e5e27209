"""The shared composite kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..composite import SHARED, composite_checks
from ..inequalities import Inequalities
from ..kind import Kind

KIND = Kind(
    (
        "noncompositional_smoothness",
        "noncompositional_gradient_noise",
        "noncompositional_heterogeneity",
        "outer_lipschitz",
        "outer_smoothness",
        "inner_mean_square_lipschitz",
        "inner_smoothness",
        "inner_noise",
        "inner_jacobian_heterogeneity",
        "objective_gap",
        "gradient_cap",
    ),
    Inequalities(SHARED),
    composite_checks,
)
