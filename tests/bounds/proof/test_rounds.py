"""Rules about rounds and labels: positions, what is kept within a round, who holds a place, growth by Gronwall's inequality."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q

import pytest
from altered import refused as refused_by_check
from altered import with_declared, with_quantity
from fedco.bounds import get_theorem
from fedco.bounds.proof.derivations import checked_steps, derivation
from fedco.bounds.proof.kernel import (
    COMMUNICATION,
    EVERY,
    FIRST,
    LATER,
    LOCAL,
    ONE,
    POSITION,
    App,
    AtStart,
    CauchySchwarz,
    Definition,
    Drift,
    Function,
    Gronwall,
    Held,
    Index,
    Instance,
    Invariant,
    Later,
    Lipschitz,
    NoisyDrift,
    Pair,
    ProofError,
    Quantity,
    Reader,
    Setting,
    Source,
    Start,
    Substitute,
    Sum,
    SumOver,
    Var,
    Variable,
    check,
    dot,
    facts,
    parameter,
    quantity,
    scalar,
    signomial,
    sq,
    value,
)
from fedco.bounds.proof.kernel.facts import State
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.kernel.scalars import At, One, Total

N, T = parameter("n", count=True), parameter("T", count=True)
L = parameter("L")
J = POSITION.number
X, A, C, E = Var("x"), Var("a"), Var("c"), Var("e")
NOWHERE = Sum(())


def draw(step):
    return App("draw", NOWHERE, (step,))


def f(point, label, step=0):
    return App("f", Pair(point, label), (step,))


SETTING = Setting(
    (Index("k", parameter("m", count=True), True),),
    (Source("z", ("k",), "independent"), Source("draw", ("k",), "independent")),
    (Function("f", "x", "x", ("z",), label="c"), Function("plain", "x", "x"), Function("draw", "x", "c", ("draw",))),
    (
        Variable("a", "x", frozenset(), ((LOCAL, A), (COMMUNICATION, App("plain", A)))),
        Variable("x", "x", frozenset({"k"}), ((LOCAL, X + f(X, C)), (COMMUNICATION, App("plain", A)))),
        Variable("c", "c", frozenset({"k"}), ((LOCAL, C), (COMMUNICATION, draw(0)))),
        Variable("e", "c"),
        Variable("p", "x"),
    ),
)
AXIOMS = {
    "f": Lipschitz("1", "f", L),
    "start": Start("2", X - A),
    "drawn": Start("2", C - draw(-1)),
    "late": Start("2", A - App("plain", f(A, E, -1))),
}


def make_state():
    quantities = {
        "Q": Quantity("Q", sq(X)),
        "R": Quantity("R", sq(A)),
        "S": Quantity("S", sq(Var("p"))),
        "D": Quantity("D", sq(X - A)),
        "F": Quantity("F", value("F", A)),
    }
    return State(SETTING, quantities, AXIOMS, Region({}), T, N)


def put(state, name, claim, phases=EVERY, equal=False):
    state.facts[name] = facts.Inequality(facts.fact_form(state.form(claim)), equal, phases)
    return state


def refused(message, rule, state=None):
    with pytest.raises(ProofError, match=message):
        rule.apply(state or make_state())


# --- labels -----------------------------------------------------------------------------------------------------------


def test_a_pair_is_an_argument_and_no_vector():
    algebra = make_state().algebra
    for term in (Pair(X, C), Pair(X, C) + Pair(X, C), App("plain", Pair(X, C))):
        with pytest.raises(ProofError, match=r"no vector|label is not in the domain"):
            algebra.normal(term)
    for argument in (X, Pair(X, X), Pair(C, C)):
        with pytest.raises(ProofError, match=r"a point and a label|label is not in c|argument is not in x"):
            algebra.normal(App("f", argument, (0,)))
    with pytest.raises(ProofError):
        make_state().form(sq(Pair(X, C)))


def test_a_function_is_lipschitz_for_one_label():
    axiom = AXIOMS["f"]
    found = axiom.instance(make_state(), (f(X, C), f(A, C)))
    assert found.table == make_state().form(sq(f(X, C) - f(A, C)) - L**2 * sq(X - A))
    with pytest.raises(ProofError, match="different labels"):
        axiom.instance(make_state(), (f(X, C), f(A, E)))
    with pytest.raises(ProofError, match="different labels"):
        axiom.instance(make_state(), (f(X, draw(0)), f(A, draw(1))))


def test_when_a_variable_is_known_is_derived_for_each_source():
    assert SETTING.levels["c"] == {"z": -1, "draw": 0}
    assert SETTING.levels["x"] == {"z": 0, "draw": -1}
    algebra = make_state().algebra
    new = dot(Var("x", 1), f(A, draw(0)))
    assert make_state().form(new) == make_state().form(dot(Var("x", 1), f(A, draw(5)))), "drawn after x"
    assert not algebra.support(Var("x", 1)).known.has("draw", 0) and algebra.support(Var("c", 1)).known.has("draw", 0)


def test_a_start_is_made_from_what_the_variable_depends_on():
    assert AXIOMS["drawn"].instance(make_state(), ()).phases == FIRST
    for wrong in (AXIOMS["late"], Start("2", C - draw(0))):
        with pytest.raises(ProofError, match="on which no variable in it may depend"):
            wrong.instance(make_state(), ())


# --- equal vectors put in ---------------------------------------------------------------------------------------------


def test_equal_vectors():
    state = make_state()
    state.facts["a"], state.facts["c"] = (Definition(name, "local").apply(state) for name in "ac")
    term, kept = f(Var("a", 1), Var("c", 1), 1), ((Var("a", 1), A, "a"), (Var("c", 1), C, "c"))
    found = Substitute(term, kept).apply(state)
    assert found.phases == LOCAL and found.term == state.algebra.normal(term - f(A, C, 1))
    refused("does not say that a", Substitute(term, ((Var("a", 1), X, "a"),)), state)
    refused("does not say that a", Substitute(term, ((Var("a", 2), A, "a"),)), state)
    refused("each variable once", Substitute(term, (kept[0], kept[0])), state)
    refused("each variable once", Substitute(term, ()), state)
    state.facts["shared"] = Definition("c", "communication").apply(state)
    table = (kept[0], (Var("c", 1), draw(0), "shared"))
    refused("no step at which", Substitute(term, table), state)


# --- what is kept for a round -----------------------------------------------------------------------------------------


def held(**changed):
    state = make_state()
    claims = {
        "start": (quantity("Q") - quantity("R"), FIRST, True),
        "renewed": (quantity("Q", 1) - quantity("R", 1), COMMUNICATION, True),
        "Q": (quantity("Q", 1) - quantity("Q"), LOCAL, True),
        "R": (quantity("R", 1) - quantity("R"), EVERY, True),
    } | changed
    for name, (claim, phases, equal) in claims.items():
        put(state, name, claim, phases, equal)
    return Held("start", "renewed", ("Q", "R")).apply(state)


def test_what_is_kept_within_a_round():
    found = held()
    assert found.phases == EVERY and found.equal
    assert not held(start=(quantity("Q") - quantity("R"), FIRST, False)).equal
    kept, begun = quantity("Q", 1) - quantity("Q"), quantity("Q") - quantity("R")
    for message, changed in {
        "at step 0": {"start": (begun, LATER, True)},
        "at every communication": {"renewed": (quantity("Q", 1) - quantity("R", 1), COMMUNICATION & LATER, True)},
        "same relation": {"renewed": (quantity("Q", 1) - 2 * quantity("R", 1), EVERY, True)},
        "same relation between": {"renewed": (begun, EVERY, True)},
        "Q does not change": {"Q": (kept, LOCAL & LATER, True)},
        "that Q does not": {"Q": (kept, LOCAL, False)},
        "says that Q": {"Q": (quantity("Q", 1) - 2 * quantity("Q"), EVERY, True)},
        "R does not change": {"R": (quantity("R", 1) - quantity("R"), COMMUNICATION, True)},
        "no quantity at step t": {"start": (quantity("Q", 1) - quantity("R"), FIRST, True)},
        "is no quantity": {"start": (sq(X) - quantity("R"), FIRST, True)},
    }.items():
        with pytest.raises(ProofError, match=message):
            held(**changed)


# --- the position in the round ----------------------------------------------------------------------------------------


def positional(claim=None, **more):
    """Q <= F[+1]-like claims with the position in them."""
    return put(make_state(), "0", quantity("Q") - J * L if claim is None else claim, **more)


def test_the_position_does_not_leave_its_step():
    for rule in (
        Later("0", 1),
        AtStart("0"),
        Invariant("Q", L, "0", "0"),
        Instance("0", (("p", A),)),
        Held("0", "0", ("0",)),
    ):
        refused("speaks of the position", rule, positional())
    refused("speaks of the position", SumOver("1", "0"), put(positional(), "1", quantity("Q") - L))


def test_sums_over_positions():
    found = SumOver("0").apply(positional(quantity("Q") - J * L - 3 * J**2 - 2))
    expected = L * T * (N - 1) / 2 + 3 * T * (N - 1) * (2 * N - 1) / 6 + 2 * T
    assert found.table == {Total("Q"): ONE, One(): -expected} and not found.equal
    assert not SumOver("0").apply(positional(equal=True)).equal, "the positions of an unfinished round are smaller"
    refused("a bound of every step", SumOver("0"), positional(quantity("Q") + J))
    refused("a bound of every step", SumOver("0"), positional(quantity("Q") - J + J**2))
    refused("a bound of every step", SumOver("0", start=1), positional())
    refused("a bound of every step", SumOver("0", drop=1), positional())
    refused("not its power 3", SumOver("0"), positional(quantity("Q") - J**3))
    refused("beside a number only", SumOver("0"), positional(quantity("Q") - J * quantity("R")))


def test_a_declaration_does_not_depend_on_the_position():
    theorem = get_theorem("comfedl.theorem_1")
    plan = derivation(theorem)
    (moving,) = (J * q.meaning for q in plan.quantities if q.name == "X")
    refused_by_check(theorem, with_quantity(plan, "X", moving), "does not depend on the position")
    invariant = replace(plan.steps[0], rule=Invariant("X", J, "drift", "drift"))
    longer = replace(plan, steps=(*plan.steps, replace(invariant, name="induction")))
    refused_by_check(theorem, longer, "not for statements about the position")


def drift(growth, where="position"):
    state = make_state()
    state.facts["move"] = Definition("x", "local").apply(state)
    state.facts["a"] = Definition("a", "local").apply(state)
    move = (Var("x", 1) - Var("a", 1)) - (X - A) - f(X, C)
    state.facts["move"] = facts.Equation(state.algebra.normal(move), LOCAL)
    state.facts["reset"] = facts.Equation(state.algebra.normal(Var("x", 1) - Var("a", 1)), COMMUNICATION)
    state.facts["start"] = facts.Equation(state.algebra.normal(X - A), FIRST)
    put(state, "growth", sq(f(X, C)) - growth)
    return Drift("D", "move", "reset", "start", "growth", where).apply(state)


def test_drift_at_a_position():
    found = drift(scalar(L))
    assert found.table == make_state().form(quantity("D") - J**2 * L) and found.phases == EVERY
    with pytest.raises(ProofError, match="bounded by a constant"):
        drift(quantity("Q"))
    with pytest.raises(ProofError, match="wanted all"):
        drift(scalar(L), "anywhere")
    with pytest.raises(ProofError, match="speaks of the position"):
        drift(scalar(J * L))


# --- Cauchy-Schwarz ---------------------------------------------------------------------------------------------------


def test_cauchy_schwarz():
    state = put(put(make_state(), "x", sq(X) - (J * L) ** 2), "a", sq(A) - 4)
    found = CauchySchwarz((("x", X, J * L), ("a", A, signomial(2)))).apply(state)
    assert found.table == state.form(dot(X, A) - 2 * J * L) and found.phases == EVERY
    for message, parts in {
        r"\|\|x\|\|\^2 <= \(": (("x", X, L), ("a", A, signomial(2))),
        r"\|\|a\|\|\^2 <= \(": (("x", X, J * L), ("a", A, ONE)),
        r"\|\|a - x\|\|": (("x", X, J * L), ("a", A - X, signomial(2))),
        "the root -2 may be negative": (("x", X, J * L), ("a", A, signomial(-2))),
    }.items():
        refused(message, CauchySchwarz(parts), state)
    put(state, "first", sq(A) - 4, FIRST)
    put(state, "later", sq(X) - 1, LATER)
    refused("no step at which", CauchySchwarz((("first", A, signomial(2)), ("later", X, ONE))), state)


# --- the derivation that needs all of it ------------------------------------------------------------------------------


def sampled(equations):
    theorem = get_theorem("comfedl.theorem_1")
    return check(with_declared(derivation(theorem), "variables", "c", equations=equations), theorem)


def test_clients_that_are_not_drawn_as_assumed_are_refused():
    """The same for ever, drawn at every step, drawn at local steps only."""
    drawn = App("draw", NOWHERE, (0,))
    assert sampled(((LOCAL, C), (COMMUNICATION, drawn))).checked
    for equations, step in (
        (((EVERY, C),), "not stated: clients"),
        (((EVERY, drawn),), "S, the same"),
        (((LOCAL, drawn), (COMMUNICATION, C)), "S, the same"),
    ):
        found = sampled(equations)
        assert not found.checked and f"step {step}:" in found.failure, found.failure


def test_what_a_round_would_end_with_is_the_norm_after_another_step():
    theorem = get_theorem("meta_fl.theorem_8")
    progress = checked_steps(derivation(theorem), theorem, "corrected")
    (step,) = (s for s in progress.derivation.steps if s.name == "drift, end")
    state = progress.state.copy()
    for end, message in (("Lambda", "not the squared norm after another step"), ("wished", "no such quantity")):
        with pytest.raises(ProofError, match=message):
            replace(step.rule, end=end).apply(state)
    half = Quantity("half", Q(1, 2) * state.quantities["Lambda_end"].meaning)
    state.quantities = {**state.quantities, "half": half}
    with pytest.raises(ProofError, match="not the squared norm after another step"):
        replace(step.rule, end="half").apply(state)
    assert isinstance(step.rule, NoisyDrift) and step.rule.apply(progress.state.copy())
    steps = theorem.notation.namespace().K
    assert progress.state.horizon == progress.state.period * Reader(theorem, theorem.statement()).read(steps)


# --- Gronwall's inequality within a round ------------------------------------------------------------------------------

ADDED, RESET = parameter("c", positive=False), parameter("e", positive=False)
RATE, GROWTH = signomial(Q(1)), signomial(Q(11, 4))  # exp(1) = 2.718...


def gronwall(rate=RATE, growth=GROWTH, name="Q", **changed):
    """Q_{t+1} <= (1 + 1/n) Q_t + R_t + c at local steps, Q_{t+1} <= S_t + e at communications."""
    state = make_state()
    claims = {
        "local": (quantity("Q", 1) - (1 + 1 / N) * quantity("Q") - quantity("R") - ADDED, LOCAL),
        "reset": (quantity("Q", 1) - quantity("S") - RESET - ADDED, COMMUNICATION),
    } | changed
    for step, (claim, phases) in claims.items():
        put(state, step, claim, phases)
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
    "the constant .* may be negative": {"local": (LOCAL_CLAIM + ADDED + 1, EVERY)},
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
    for name in ("P", "F"):  # values of an objective may be negative
        with pytest.raises(ProofError, match="no nonnegative quantity"):
            gronwall(name=name)


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
    values |= {p.terms[0][0][0][0]: v for p, v in ((ADDED, c), (RESET, e))}
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
        "local": (quantity("Q", 1) - quantity("Q") - quantity("R") - ADDED, LOCAL),
        "reset": (quantity("Q", 1) - quantity("S") - RESET - ADDED / 2, COMMUNICATION),
    }
    found = gronwall(0 * RATE, signomial(1), **plain)

    def ratio(n, horizon, start=0, e=0, c=0, s=0):
        """Exact sum over local steps, and the bound."""
        q, left = Q(start), Q(0)
        for t in range(horizon):
            left += q if (t + 1) % n else 0
            q = Q(s + e) if (t + 1) % n == 0 else q + c
        table = found.table
        values = {p.terms[0][0][0][0]: Q(v) for p, v in ((N, n), (T, horizon), (ADDED, c), (RESET, e))}
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
