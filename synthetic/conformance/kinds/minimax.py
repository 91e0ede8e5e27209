"""The minimax kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..kind import Kind
from ..minimax_checks import MINIMAX, minimax_checks

KIND = Kind(
    (
        "local_smoothness",
        "coupling",
        "dual_smoothness",
        "strong_concavity",
        "local_gradient_noise",
        "dual_gradient_noise",
        "objective_smoothness",
        "objective_gap",
    ),
    MINIMAX,
    minimax_checks,
)
