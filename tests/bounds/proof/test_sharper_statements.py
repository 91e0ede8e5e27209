"""Statements that say more than their derivations give: each lock by itself refuses them."""

from __future__ import annotations

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import ProofError, check
from fedco.validation.proofs.lock import instances_of
from quick import slowly
from rewritten import rewritten

SHARPER = {
    "sgd_convex_distance": [{"initialisation": "D**2/2"}],
    "sgd_convex": [{"initialisation": "D**2/(2*eta*T)", "variance": "eta*sigma**2/(9*N*b)"}],
    "sgd_strongly_convex": [{"initialisation": "(1 - mu*eta)**T*D**2/3"}],
    "sgd_pl": [{"variance": "L_bar*eta*sigma**2/(99*kappa*N*b)"}],
    "sgd_strongly_convex_declining": [
        {"numerator": ""},
        {"step_size": ""},
        {"initialisation": "t0**3/S**3*D**2"},
        {"initialisation": "t0**2/S**2*D**2/2"},
        {"variance": "a**2*sigma**2*T/(100*N*b*S**2)"},
        {"variance": "a**2*sigma**2/(N*b*S**2)"},
    ],
    "sgd_strongly_convex_weighted": [
        {"initialisation": "t0**2*D**2/(a*T*S)"},
        {"initialisation": "2*t0*D**2/(a*T*S)"},
        {"variance": "a*sigma**2/(N*b*S)"},
        {"variance": "2*a*sigma**2/(N*b*S**2)"},
    ],
    "sgd_strongly_convex_averaged": [{"initialisation": "t0**2*D**2/(a*T*S)"}],
    "sgd_declining": [
        {"Q": "sum(t, 0, T/2 - 1, 1/(t + t0)**2)"},
        {"Q": "sum(t, 0, N - 1, 1/(t + t0)**2)"},
        {"Q": "sum(t, 0, T - 1, 1/(t + t0 + 1)**2)"},
        {"Q": "sum(t, 0, T - 1, 1/(t + t0)**3)"},
        {"W": "sum(t, 0, T - 1, 1/(t + t0/2))"},
        {"initialisation": "F_gap/(a*W)"},
        {"first_step": ""},
    ],
    "compressed_sgd": [
        {"variance": "L_bar*eta*sigma**2/(N*b)"},
        {"variance": "(1 + omega/2)*L_bar*eta*sigma**2/(N*b)"},
        {"heterogeneity": "omega*L_bar*eta*zeta**2/N**2"},
        {"heterogeneity": "0"},
    ],
    "storm": [{"first_estimate": "sigma**2/(alpha*T*N*B)/2"}, {"variance": "alpha*sigma**2/(N*b)"}],
    "heavy_ball": [
        {"initialisation": "2*alpha*F_gap/(eta*T)"},
        {"first_estimate": "0"},
        {"variance": "alpha**2*sigma**2/(N*b)"},
    ],
    "gossip_sgd": [
        {"variance": "L*eta*sigma**2/(N**2*b)"},
        {"consensus": "(1 - rho)**2*(1 - 1/N)*L**2*eta**2*sigma**2/(2*rho*b)"},
        {"consensus": "2*(1 - rho)**2*(1 - 1/N)*L**2*eta**2*sigma**2/(rho*N*b)"},
        {"heterogeneity": "6*(1 - rho)**4*L**2*eta**2*zeta**2/rho**2"},
        {"heterogeneity": "6*(1 - rho)**2*L**2*eta**2*zeta**2/rho"},
    ],
    "error_feedback": [
        {"memory": "0"},
        {"memory": "8*(1 - theta)*L_bar**2*eta**2*sigma**2/(3*N*b*theta)"},
        {"heterogeneity": "8*(1 - theta)*L_bar**2*eta**2*zeta**2/(3*theta)"},
    ],
    "sgd_bounded_noise_probable": [
        {"probability": "sigma_inf**2*log(1/delta)/(N*b*T)"},
        {"probability": "2*sigma_inf**2/(N*b*T)"},
        {"probability": "2*sigma_inf**2*log(1/(1 - delta))/(N*b*T)"},
        {"probability": "-2*sigma_inf**2*log(delta)/(2*N*b*T)"},
        {"probability": "2*sigma_inf**2*log(1/delta)/(N**2*b*T)"},
        {"probability": "2*sigma_inf**2*log(1/delta)/(N*b*T**2)"},
        {"variance": "L_bar*eta*sigma_inf**2/(N*b)"},
        {"initialisation": "F_gap/(eta*T)"},
        {"step_size": "eta <= 2/L_bar"},
    ],
}
"""Theorem -> other formulas of its terms and constants; a condition with "" is left out."""
CASES = [
    pytest.param(name, formulas, id=f"{name}, {formulas}", marks=() if place < 2 else pytest.mark.slow)
    for name, rows in SHARPER.items()
    for place, formulas in enumerate(rows)
]


def follows(theorem: Theorem) -> bool:
    """Whether its statement follows with any multipliers that are found."""
    try:
        return check(derivation(theorem), theorem, theorem.default).accepted
    except ProofError:
        return False


@pytest.mark.parametrize(("name", "formulas"), CASES)
def test_a_sharper_statement_does_not_follow(name, formulas):
    """With the multipliers of the true statement, and with others that are looked for."""
    theorem = get_theorem(f"library.{name}")
    sharper = rewritten(theorem, formulas)
    assert not check(derivation(theorem), sharper, theorem.default).accepted
    assert not follows(sharper)


BROKEN = [
    ("sgd_convex_distance", {"initialisation": "D**2/2"}),
    slowly(("sgd_strongly_convex", {"initialisation": "(1 - mu*eta)**T*D**2/3"})),
    ("sgd_strongly_convex_declining", {"initialisation": "t0**2/S**2*D**2/3"}),
    slowly(("sgd_strongly_convex_declining", {"numerator": ""})),
    slowly(("sgd_strongly_convex_weighted", {"initialisation": "t0**2*D**2/(200*a*T*S)"})),
    ("sgd_strongly_convex_averaged", {"initialisation": "t0**2*D**2/(200*a*T*S)"}),
    ("sgd_declining", {"initialisation": "F_gap/(50*a*W)", "variance": "L_bar*a*sigma**2*Q/(100*N*b*W)"}),
]


@pytest.mark.parametrize(("name", "formulas"), BROKEN, ids=str)
def test_an_instance_breaks_a_false_statement(name, formulas, few_families):
    """By the proof of the true one: the metric of a run, or the conclusion, is above what is claimed."""
    theorem = get_theorem(f"library.{name}")
    found = instances_of(derivation(theorem), rewritten(theorem, formulas))
    assert any(word in line for line in found.failed for word in ("statement", "weighted", "conclusion")), found
