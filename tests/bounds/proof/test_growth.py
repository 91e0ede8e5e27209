"""Gronwall's inequality within a round: what it refuses, and its conclusion on the sequences that grow as fast as they may."""

from __future__ import annotations

from fractions import Fraction as Q

import pytest
from fedco.bounds.proof.kernel import (
    COMMUNICATION,
    EVERY,
    LATER,
    LOCAL,
    Gronwall,
    ProofError,
    Quantity,
    Setting,
    Var,
    Variable,
    facts,
    parameter,
    quantity,
    signomial,
    sq,
    value,
)
from fedco.bounds.proof.kernel.facts import State
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.kernel.scalars import At, One, Total

N, T = parameter("n", count=True), parameter("T", count=True)
C, E = parameter("c", positive=False), parameter("e", positive=False)
RATE, GROWTH = signomial(Q(1)), signomial(Q(11, 4))  # exp(1) = 2.718...


def gronwall(rate=RATE, growth=GROWTH, name="Q", **changed):
    """Q_{t+1} <= (1 + 1/n) Q_t + R_t + c at local steps, Q_{t+1} <= S_t + e at communications."""
    setting = Setting((), (), (), tuple(Variable(v, "x") for v in "xyz"))
    quantities = {q: Quantity(q, sq(Var(v))) for q, v in zip("QRS", "xyz", strict=True)}
    state = State(setting, quantities, {}, Region({}), T, N)
    claims = {
        "local": (quantity("Q", 1) - (1 + 1 / N) * quantity("Q") - quantity("R") - C, LOCAL),
        "reset": (quantity("Q", 1) - quantity("S") - E - C, COMMUNICATION),
    } | changed
    for step, (claim, phases) in claims.items():
        state.facts[step] = facts.Inequality(facts.fact_form(state.form(claim)), False, phases)
    return Gronwall(name, "local", "reset", rate, growth).apply(state)


LOCAL_CLAIM = quantity("Q", 1) - quantity("Q")
WRONG = {
    "does not hold at every such step": {"local": (LOCAL_CLAIM, LOCAL & LATER)},
    "local does not hold": {"local": (LOCAL_CLAIM, COMMUNICATION)},
    "reset does not hold": {"reset": (LOCAL_CLAIM, LOCAL)},
    "reset does not hold at every such": {"reset": (LOCAL_CLAIM, COMMUNICATION & LATER)},
    "minus the factor": {"local": (quantity("Q", 1) - (1 + 2 / N) * quantity("Q"), EVERY)},
    "no nonnegative multiple": {"local": (LOCAL_CLAIM + quantity("R"), EVERY)},
    "at step t": {"local": (LOCAL_CLAIM - quantity("R", 1), EVERY)},
    "no nonnegative multiple of": {"reset": (quantity("Q", 1) + quantity("S"), EVERY)},
    "the constant .* may be negative": {"local": (LOCAL_CLAIM + C + 1, EVERY)},
    "reset: the constant": {"reset": (quantity("Q", 1) + 1, EVERY)},
    "local: ": {"local": (2 * quantity("Q", 1) - quantity("Q"), EVERY)},
    "the constant: ": {"reset": (quantity("Q", 1), EVERY), "local": (LOCAL_CLAIM - 1, EVERY)},
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_premise_is_refused(message):
    with pytest.raises(ProofError, match=message):
        gronwall(**WRONG[message])


def test_a_wrong_number_is_refused():
    for rate, growth in ((RATE, Q(271, 100)), (RATE, Q(1)), (-RATE, Q(3)), (signomial(30), Q(10) ** 14), (1 / N, 3)):
        with pytest.raises(ProofError, match=r"exp|rate|wanted a number"):
            gronwall(rate, signomial(growth))
    with pytest.raises(ProofError, match="minus the factor"):
        gronwall(RATE / 2)
    with pytest.raises(ProofError, match="no nonnegative quantity"):
        gronwall(name="P")


def test_values_of_an_objective_do_not_grow():
    """They may be negative."""
    setting = Setting((), (), (), (Variable("x", "x"),))
    state = State(setting, {"Q": Quantity("Q", value("F", Var("x")))}, {}, Region({}), T, N)
    with pytest.raises(ProofError, match="no nonnegative quantity"):
        Gronwall("Q", "local", "reset", RATE, GROWTH).apply(state)


def left_minus_right(found, n, horizon, r, s, c, e, start):
    """The conclusion on the largest sequence for given R, S; r, s: functions of t."""
    q, totals, communications = start, dict.fromkeys("QRS", Q(0)), dict.fromkeys("QRS", Q(0))
    for t in range(horizon):
        at = {"Q": q, "R": r(t), "S": s(t)}
        communicates = (t + 1) % n == 0
        for name, number in at.items():
            totals[name] += number
            communications[name] += communicates * number
        q = at["S"] + e + c if communicates else (1 + Q(1, n)) * q + at["R"] + c
    values = {N.terms[0][0][0][0]: Q(n), T.terms[0][0][0][0]: Q(horizon)}
    values |= {p.terms[0][0][0][0]: v for p, v in ((C, c), (E, e))}
    sums = {Total(name): v for name, v in totals.items()} | {Total(name, True): v for name, v in communications.items()}
    numbers = sums | {At("Q"): start, One(): Q(1)}
    return sum(coefficient.at(values) * numbers[atom] for atom, coefficient in found.form)


CASES = [(n, horizon) for n in (1, 2, 3, 5, 40) for horizon in (1, n, n + 1, 2 * n - 1, 3 * n, 4 * n - 1)]


@pytest.mark.parametrize(("n", "horizon"), CASES)
def test_the_conclusion_holds_for_the_largest_sequences(n, horizon):
    found = gronwall()
    for r, s, c, e, start in (
        (lambda t: Q(1), lambda t: Q(0), Q(0), Q(0), Q(0)),
        (lambda t: Q(t % n == 0), lambda t: Q(0), Q(0), Q(0), Q(0)),
        (lambda t: Q(0), lambda t: Q(1), Q(0), Q(0), Q(0)),
        (lambda t: Q(0), lambda t: Q(0), Q(1), Q(0), Q(0)),
        (lambda t: Q(0), lambda t: Q(0), Q(0), Q(1), Q(0)),
        (lambda t: Q(0), lambda t: Q(0), Q(0), Q(0), Q(1)),
        (lambda t: Q(t % 3), lambda t: Q(2 * t + 1), Q(1, 2), Q(3), Q(7)),
    ):
        assert left_minus_right(found, n, horizon, r, s, c, e, start) <= 0


def test_a_smaller_conclusion_would_be_false():
    """Without growth the counts are attained: what is subtracted cannot be one less."""
    plain = {
        "local": (quantity("Q", 1) - quantity("Q") - quantity("R") - C, LOCAL),
        "reset": (quantity("Q", 1) - quantity("S") - E - C / 2, COMMUNICATION),
    }
    found = gronwall(0 * RATE, signomial(1), **plain)

    def ratio(n, horizon, start=0, e=0, c=0, s=0):
        """Exact sum over local steps, and the bound."""
        q, left = Q(start), Q(0)
        for t in range(horizon):
            left += q if (t + 1) % n else 0
            q = Q(s + e) if (t + 1) % n == 0 else q + c
        table = found.table
        values = {p.terms[0][0][0][0]: Q(v) for p, v in ((N, n), (T, horizon), (C, c), (E, e))}
        right = -(
            table[At("Q")].at(values) * start
            + table[One()].at(values)
            + table[Total("S", True)].at(values) * s * (horizon // n)
        )
        return left / right

    assert ratio(5, 5, start=1) == 1
    assert ratio(5, 9, s=1) == 1
    assert ratio(5, 10**4, e=1) > Q(79, 100)  # 4 local steps of 5
    assert ratio(50, 49, c=1) == Q(48, 49)  # the constant is (n-1)/2 c here, where the round alone has (n-2)/2 c
