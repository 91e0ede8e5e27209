"""The meta kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..kind import Kind
from ..meta_checks import meta_checks
from ..meta_inequalities import META

KIND = Kind(
    (
        "local_gradient_bound",
        "local_smoothness",
        "local_hessian_lipschitz",
        "local_gradient_noise",
        "local_hessian_noise",
        "local_gradient_fourth_moment",
        "local_hessian_fourth_moment",
        "local_gradient_heterogeneity",
        "local_hessian_heterogeneity",
        "objective_gap",
        "gradient_cap",
    ),
    META,
    meta_checks,
)
