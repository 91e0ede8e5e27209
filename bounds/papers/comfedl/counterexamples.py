"""ComFedL: printed claims refuted by exact instances (see `bounds/audit/refutation.py` for what an entry is)."""

from __future__ import annotations

from ...audit.picture import Picture
from ...audit.refutation import Case, declared_in, refutes
from . import instances as cases

_WHY = {
    "G_f": "the inner map is the identity up to its sign: f^i(w) = w",
    "G_g": "largest value at the knots of the clients' derivatives",
    "L_f": "the inner map is affine; the paper wants a positive bound",
    "L_g": "largest slope between the knots of the clients' derivatives",
    "L": "largest slope between the knots of F'",
    "sigma": "there is no noise; the paper wants a positive bound",
    "F_gap": "the integral of F' from its zero to the start",
}


@refutes(
    "comfedl.theorem_1",
    "comfedl.theorem_1_false",
    slip="a plus between the two factors that stand side by side, as in (33) and (34)",
    alternatives={"a plus between the two factors that stand side by side, as in (33) and (34)": "not refuted"},
)
def theorem_1() -> Case:
    """Two noiseless clients with piecewise linear derivatives, rounds of two steps: their average stays where it is,
    at |F'|^2 = 1/100."""
    case, values = cases.THEOREM_1, cases.THEOREM_1_CONSTANTS
    return Case(
        {
            "name": "two piecewise linear clients",
            "parameters": {
                "knots": [[list(knot) for knot in client.knots] for client in case.clients],
                "start": case.start,
                "sampled": list(case.sampled),
            },
        },
        {name: (values[name], text) for name, text in _WHY.items()},
        {name: values[name] for name in ("eta", "tau", "b", "b_1", "T")},
        case.gradient(case.start) ** 2,
        {
            "the constants are those of the knots": case.constants() == values,
            "a round of Algorithm 1 ends where it began": case.round(case.start) == case.start,
        },
        picture=Picture(
            case.clients,
            (-80, 20),
            {"start, where it stays": case.start},
            tuple(x for client in case.clients for x, _ in client.knots),
            "w",
        ),
    )


REFUTATIONS = declared_in(globals())
