"""The plain federated kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from ..federated_checks import federated_checks
from ..kind import Kind
from ..meta_inequalities import FEDERATED

KIND = Kind(
    (
        "local_smoothness",
        "local_sample_smoothness",
        "local_gradient_noise",
        "objective_smoothness",
        "objective_gap",
    ),
    FEDERATED,
    federated_checks,
)
