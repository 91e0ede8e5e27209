"""Composition rules: certified constants of a composite from those of its parts.

Every rule returns an upper certificate whose argument says what was composed. `tests/synthetic/test_composition.py`
tests each of them against a direct certificate of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..certificate import Certificate, exact, upper

Parts = Mapping[str, Certificate]


def composite_smoothness(parts: Parts) -> Certificate:
    """L_F of F = mean_k f_k(g_k(.)): |J|^2 L_f + |grad f| L_g, with J and grad f those of the exact maps.

    Uses the quantities inner_lipschitz, outer_smoothness, outer_lipschitz and inner_smoothness; the paper's
    C_g^2 L_f + C_f L_g is the same with the larger mean-square constants.

    Source: Gao, Li, Huang, Local-SCGDM, before Assumption 3.4; Khanduri et al., FedDRO, Lemma 3.1.
    """
    steepest, bent = _value(parts, "inner_lipschitz"), _value(parts, "inner_smoothness")
    value = steepest**2 * _value(parts, "outer_smoothness") + _value(parts, "outer_lipschitz") * bent
    return upper("objective_smoothness", value, "Chain rule: |J|^2 L_f + |grad f| L_g for every client.")


def composite_cap(parts: Parts) -> Certificate:
    """A bound of |grad F| of F = mean_k f_k(g_k(.)): the product of the two Lipschitz constants."""
    return upper(
        "gradient_cap",
        _value(parts, "inner_lipschitz") * _value(parts, "outer_lipschitz"),
        "Chain rule: |J| |grad f| for every client.",
    )


def composite_noise(parts: Parts) -> Certificate:
    """ComFedL's sigma: the largest of the inner Jacobian, inner value and outer gradient noise."""
    names = ("inner_jacobian_noise", "inner_value_noise", "outer_gradient_noise")
    return upper(
        "composite_noise",
        max(_value(parts, name) for name in names),
        "The largest of the inner Jacobian, inner value and outer gradient noise.",
    )


def deterministic_outer(lipschitz: Certificate, smoothness: Certificate) -> Iterator[Certificate]:
    """All outer constants of an f_k without noise: what holds for f_k holds for its only sample."""
    yield lipschitz
    yield smoothness
    yield replace(lipschitz, quantity="outer_mean_square_lipschitz")
    yield replace(lipschitz, quantity="outer_sample_lipschitz")
    yield replace(smoothness, quantity="outer_sample_smoothness")
    yield exact("outer_gradient_noise", 0.0, "The outer function has no noise.", domain=smoothness.domain)


def no_extra_certificates() -> Iterator[Certificate]:
    """The constants of h = 0."""
    for name in ("smoothness", "sample_smoothness", "gradient_noise", "heterogeneity"):
        yield exact(f"noncompositional_{name}", 0.0, "There is no h.")


def heterogeneity_of_average(bounds: Sequence[float]) -> float:
    """Bound over k of |J_k - mean J| where |J_k| <= bounds[k]: J_k - J = (1 - 1/K) J_k - (1/K) sum of the others.

    Raises:
        ValueError: without clients.
    """
    total, clients = math.fsum(bounds), len(bounds)
    if clients < 1:
        raise ValueError("need the bound of at least one client")
    return max((1 - 1 / clients) * own + (total - own) / clients for own in bounds)


def _value(parts: Parts, quantity: str) -> float:
    return float(parts[quantity].value)
