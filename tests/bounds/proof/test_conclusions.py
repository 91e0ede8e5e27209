"""What each rule and each assumption concludes, against an independent computation with numbers away from 1; and what each refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from random import Random

import pytest
from fedco.bounds.proof.kernel import (
    COMMUNICATION,
    EVERY,
    FIRST,
    LATER,
    LOCAL,
    ONE,
    POSITION,
    Act,
    Action,
    Along,
    App,
    Assume,
    AtStart,
    Bounded,
    Cases,
    CentralDifference,
    Combine,
    ConvexClients,
    Convexity,
    Definition,
    Delay,
    DifferenceVariance,
    Drift,
    Function,
    Given,
    Heterogeneity,
    Identity,
    IndependentMean,
    IndependentMoment,
    Index,
    Instance,
    Invariant,
    Known,
    Later,
    Length,
    Linear,
    Lipschitz,
    LipschitzOperator,
    LowerBound,
    Mean,
    MeanMoment,
    Minimum,
    NoisyDrift,
    Objective,
    Open,
    Pair,
    Param,
    Part,
    PolyakLojasiewicz,
    Product,
    Project,
    ProofError,
    Quantity,
    SecondDifference,
    SecondMoment,
    Setting,
    Signomial,
    Smaller,
    Smooth,
    SmoothDescent,
    Source,
    Start,
    StartValue,
    Step,
    Sum,
    SumOver,
    Suppose,
    Triangle,
    Vanishing,
    Var,
    Variable,
    Variance,
    WithinRound,
    at,
    clock,
    dot,
    facts,
    parameter,
    quantity,
    scalar,
    signomial,
    sq,
    total,
    value,
)
from fedco.bounds.proof.kernel.derivation import checked_line
from fedco.bounds.proof.kernel.facts import Equation, Inequality, Moment, State, phases_of
from fedco.bounds.proof.kernel.known import Averaged
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.kernel.rules.growth import exceeds_exponential
from fedco.bounds.proof.kernel.scalars import At, Named, One, Total
from fedco.bounds.proof.kernel.sequences import number as moving_number
from fedco.bounds.proof.kernel.signomial import put_in_numbers

N, T = parameter("n", count=True), parameter("T", count=True)
K, B = parameter("K", count=True), parameter("B", count=True)
A, C, D = parameter("A"), parameter("C"), parameter("D")
E = parameter("E", positive=False)
x, p, r, u, w, q = (Var(name) for name in "xpruwq")
ZERO = Sum(())
PAST = Known.before(("z", "s"))
CLIENT = frozenset({"k"})


def f(point, step=0):
    return App("f", point, (step,))


def jacobian(point, step=0):
    return App("J", point, (step,))


def two(point, first=0, second=0):
    return App("two", point, (first, second))


def grad(point):
    return App("G", point)


def hessian(point):
    return App("H", point)


def labelled(name, point):
    return App(name, Pair(point, Var("e")))


def make_setting(**changes):
    table = {
        "indices": (Index("k", K), Index("i", B, True)),
        "sources": (Source("z", ("k", "i"), "independent z"), Source("s", (), "independent s")),
        "functions": (
            Function("f", "x", "y", ("z",), CLIENT, CLIENT),
            Function("J", "x", ("x", "y"), ("z",), CLIENT, CLIENT),
            Function("two", "x", "x", ("s", "z"), CLIENT, CLIENT),
            Function("G", "x", "x"),
            Function("H", "x", ("x", "x")),
            Function("L", "x", "x", label="c"),
            Function("LH", "x", ("x", "x"), label="c"),
        ),
        "variables": (
            Variable("x", "x", CLIENT, ((LOCAL, x - A * Mean("i", two(x))), (COMMUNICATION, Mean("k", x)))),
            Variable("p", "x"),
            Variable("r", "x"),
            Variable("u", "x"),
            Variable("w", "y"),
            Variable("e", "c"),
            Variable("q", "x", CLIENT),
            Variable("v", "x", frozenset({"i"})),
        ),
        "objectives": (
            Objective("F", "p", grad(p), "gradient"),
            Objective("mean", "p", Mean("k", two(p, None, None)), "gradient"),
            Objective("own", "q", grad(Mean("k", q)), "gradient"),
        ),
    }
    return Setting(**{**table, **changes})


def make_state(axiom=None, setting=None, **given):
    quantities = {
        "Q": Quantity("Q", 3 * sq(p)),
        "R": Quantity("R", sq(r)),
        "S": Quantity("S", sq(u)),
        "V": Quantity("V", value("F", p)),
    }
    axioms = {"bounded": Bounded("b", "f", D), "bounded J": Bounded("c", "J", E)}
    state = State(setting or make_setting(), quantities, {**axioms, "own": axiom}, Region({}), T, N)
    state.facts.update({name: put(state, *fact) if isinstance(fact, tuple) else fact for name, fact in given.items()})
    return state


def put(state, claim, phases=EVERY, equal=False):
    """claim <= 0 as an established fact."""
    return Inequality(facts.fact_form(state.form(scalar(claim))), equal, phases, frozenset({"told"}))


def refused(message, rule, state):
    with pytest.raises(ProofError, match=message):
        rule.apply(state)


# --- numbers ----------------------------------------------------------------------------------------------------------

X, Y = Param("x"), Param("y")
MAYBE = Param("z", positive=False)
COUNT = Param("m", count=True)
POINT = {X: Q(4, 9), Y: Q(25, 4), MAYBE: Q(16), COUNT: Q(9)}
"""Squares, so that roots are rational."""


def random_number(rng, exponents=(0, 0, 1, 2, -1, Q(1, 2), Q(-3, 2)), most=3, params=POINT):
    terms = []
    for _ in range(rng.randint(1, most)):
        chosen = {param: rng.choice([e for e in exponents if param.positive or e >= 0]) for param in params}
        terms.append((tuple((q, e) for q, e in sorted(chosen.items()) if e), Q(rng.choice((-3, -1, 1, 2, 5)), 4)))
    return Signomial(terms)


@pytest.mark.parametrize("seed", range(30))
def test_arithmetic_is_that_of_the_values(seed):
    rng = Random(seed)
    a, b = random_number(rng), random_number(rng)
    single = random_number(rng, most=1, params=(X, Y, COUNT))
    left, right, one = (number.at(POINT) for number in (a, b, single))
    for number, expected in {
        a + b: left + right,
        a - b: left - right,
        a * b: left * right,
        -a: -left,
        3 - a: 3 - left,
        a - Q(1, 7): left - Q(1, 7),
        2 + a: 2 + left,
        Q(2, 3) * a: Q(2, 3) * left,
        a**3: left**3,
        a**0: 1,
        a / single: left / one,
        5 / single: 5 / one,
        single**-2: one**-2,
    }.items():
        assert number.at(POINT) == expected
    assert not (a - a) and (a + b == b + a) and hash(a + b) == hash(b + a)
    assert a.nonnegative == all(c > 0 for _, c in a.terms)
    assert a.params == {param for monomial, _ in a.terms for param, _ in monomial}
    assert (single * single * 16).sqrt().at(POINT) == abs(4 * one)
    swapped = put_in_numbers(a, {X: Y.number, Y: X.number})
    assert swapped.at(POINT) == a.at({**POINT, X: POINT[Y], Y: POINT[X]})


@pytest.mark.parametrize("seed", range(10))
def test_what_is_put_in_for_a_parameter(seed):
    """A sum for whole exponents; for the square of a parameter the square of a single term."""
    rng = Random(100 + seed)
    whole, new = random_number(rng, (0, 1, 2, 3)), random_number(rng, (0, 1, 2))
    assert whole.substitute(X, new).at(POINT) == whole.at({**POINT, X: new.at(POINT)})
    any_sign = random_number(rng, (0, 1, -1, 2, -2))
    double = Signomial([(((Y, 1),), 2)])
    for power in (1, 2):
        assert any_sign.substitute(X, double**power, power).at(POINT) == any_sign.at({**POINT, X: 2 * POINT[Y]})


def test_what_is_no_number():
    a = parameter("x") + 1
    for make in (lambda: a + "1", lambda: a * "1", lambda: a - "1"):
        with pytest.raises(TypeError):
            make()
    for wrong in (True, 0.5, "1"):
        with pytest.raises(ProofError, match="exact number"):
            signomial(wrong)
    with pytest.raises(ProofError, match="no value for x"):
        a.at({})
    for root in (signomial(2), signomial(Q(1, 3)), signomial(-4)):
        with pytest.raises(ProofError, match="is not rational"):
            root.sqrt()
    with pytest.raises(ProofError, match="a count is positive"):
        Param("m", positive=False, count=True)
    assert signomial(Q(9, 16)).sqrt() == Q(3, 4) * ONE and (signomial(Q(8, 27)) ** Q(2, 3)) == Q(4, 9) * ONE


# --- what is known ----------------------------------------------------------------------------------------------------


def test_sets_of_samples():
    """Meet, join, shift and inclusion, step by step."""
    rng, steps, names = Random(0), range(-6, 7), ("a", "b")

    def some():
        entries = {}
        for name in names:
            if rng.random() < 0.8:
                entries[name] = (rng.choice((None, -2, 0, 1)), frozenset(rng.sample(range(-3, 4), rng.randint(0, 3))))
        return Known.of(entries)

    def held(known):
        return {(name, step) for name in names for step in steps if known.has(name, step)}

    included = 0
    for _ in range(300):
        one, other = some(), some()
        assert held(one & other) == held(one) & held(other)
        assert held(one | other) == held(one) | held(other)
        assert (one <= other) == (held(one) <= held(other))
        assert (one == other) == (held(one) == held(other)), "one set has one form"
        moved = {(name, step) for name in names for step in steps if one.has(name, step - 2)}
        assert held(one.later(2)) == moved
        included += one <= other
    assert 20 < included < 280


# --- the region -------------------------------------------------------------------------------------------------------


def test_constants_with_formulas():
    """M^2 = A + C and c = D M^2: the sign of a number is kept, also of one with M in the denominator."""
    m, c = Param("M"), Param("c")
    root, product = (param.number for param in (m, c))
    region = Region({}, {m: A + C, c: D * (A + C)}, {m: 2})
    (a,), (b,), (d,) = ((*number.params,) for number in (A, C, D))
    point = region.constants_at({a: Q(9), b: Q(16), d: Q(3, 5)})
    assert point[m] == 5 and point[c] == 15
    rng = Random(3)
    for _ in range(40):
        number = sum(
            (
                rng.choice((-3, -1, 1, 2)) * root ** rng.choice((-4, -2, 0, 2)) * product ** rng.choice((-1, 0, 1))
                for _ in range(3)
            ),
            Signomial(),
        )
        put_in = region.expanded(number)
        assert {param.name for param in put_in.params} <= {"A", "C", "D"}
        signs = [(n > 0) - (n < 0) for n in (number.at(point), put_in.at(point))]
        assert signs[0] == signs[1]
    assert region.expanded(root) == root, "the root itself is left as it is"


def test_a_quotient_is_0_where_its_numerator_is():
    q = Param("q", positive=False)
    region = Region({}, quotients={q: (A - 1, C - 1)})
    (a,), (c,) = A.params, C.params
    assert region.constants_at({a: Q(1), c: Q(1)})[q] == 0
    assert region.constants_at({a: Q(4), c: Q(3)})[q] == Q(3, 2)
    with pytest.raises(ProofError, match="division by 0"):
        region.constants_at({a: Q(2), c: Q(1)})


def test_a_certificate_has_nonnegative_multipliers_and_names_of_conditions():
    region = Region({"small": 1 - A})
    assert region.certified(2 * C - 2 * A * C, ((2 * C, ("small",)),))
    assert not region.certified(A - 1, ((-ONE, ("small",)),)), "A <= 1 does not give A >= 1"
    assert not region.certified(3 - A, ((4 * ONE, ("small",)),))
    assert region.slack("n>=1") == N - 1 and region.slack("n whole") == (N - 1) * (N - 2)
    for wrong in ("large", "n>=2", "n", "n whole "):
        with pytest.raises(ProofError, match="is not a condition"):
            region.slack(wrong)


def test_where_statements_hold_together():
    about = {
        name: Inequality((), False, phases) for name, phases in (("step", EVERY), ("first", FIRST), ("later", LATER))
    }
    run = Inequality((), False, None)
    assert phases_of([about["step"], about["first"]]) == FIRST and phases_of([run, run]) is None
    assert phases_of([Moment(ZERO, None, ONE), about["later"]]) == LATER
    for wrong, message in (
        ([run, about["step"]], "do not mix"),
        ([about["first"], about["later"]], "no step at which"),
    ):
        with pytest.raises(ProofError, match=message):
            phases_of(wrong)


# --- assumptions ------------------------------------------------------------------------------------------------------

STEP = 3 * u
BOUNDED = 4 * f(p) - 2 * f(r)
"""A vector of length at most 6 D, surely."""
FORMS = {
    "bounded": (Bounded("a", "f", C), (f(p),), sq(f(p)) - C**2),
    "every sample": (Lipschitz("a", "f", C), (f(p), f(r)), sq(f(p) - f(r)) - C**2 * sq(p - r)),
    "mean square": (Lipschitz("a", "f", C, True), (f(p), f(r)), sq(f(p) - f(r)) - C**2 * sq(p - r)),
    "mean function": (
        Lipschitz("a", "f", C, of_mean=True),
        (f(p, None), f(r, None)),
        sq(f(p, None) - f(r, None)) - C**2 * sq(p - r),
    ),
    "variance": (Variance("a", "two", C), (two(p, None),), sq(two(p, None) - two(p, None, None)) - C**2),
    "heterogeneity": (Heterogeneity("a", "f", C, "k"), (f(p, None),), sq(f(p, None) - Mean("k", f(p, None))) - C**2),
    "heterogeneity in the mean": (
        Heterogeneity("a", "J", C, "k", True),
        (jacobian(p, None), 5 * w),
        sq(Act(jacobian(p, None) - Mean("k", jacobian(p, None)), 5 * w)) - (5 * C * D) ** 2,
    ),
    "operator": (
        LipschitzOperator("a", "J", C),
        (jacobian(p), jacobian(r), BOUNDED),
        sq(Act(jacobian(p) - jacobian(r), BOUNDED)) - (C * 6 * D) ** 2 * sq(p - r),
    ),
    "operator in the mean": (
        LipschitzOperator("a", "J", C, True),
        (jacobian(p), jacobian(r), BOUNDED),
        sq(Given(PAST, Act(jacobian(p) - jacobian(r), BOUNDED))) - (C * 6 * D) ** 2 * sq(p - r),
    ),
    "central difference": (
        CentralDifference("a", "G", C, "b", "H"),
        (grad(p + STEP), grad(p - STEP), hessian(p)),
        sq(grad(p + STEP) - grad(p - STEP) - 2 * Act(hessian(p), STEP)) - (C * 9 * A**2) ** 2,
    ),
    "second difference": (
        SecondDifference("a", "G", C, "b"),
        (grad(p + STEP), grad(p), grad(r + STEP), grad(r)),
        sq(grad(p + STEP) - grad(p) - grad(r + STEP) + grad(r)) - (C * 3 * A) ** 2 * sq(p - r),
    ),
    "variance of a difference": (
        DifferenceVariance("a", "two", C, "b"),
        (two(p, None), two(r, None)),
        sq(two(p, None) - two(r, None) - two(p, None, None) + two(r, None, None)) - C**2 * sq(p - r),
    ),
    "smooth": (Smooth("a", "F", C), (p, r), sq(grad(p) - grad(r)) - C**2 * sq(p - r)),
    "start value": (StartValue("a", "Q", C, 2), (), at("Q", 2) - C),
    "lower bound": (LowerBound("a", "V", C), (), at("V") - at("V", end=True) - C),
}
RUN = ("start value", "lower bound")
SIZES = {"u": Moment(Sum(((ONE, u),)), None, A**2), "w": Moment(Sum(((ONE, w),)), None, D**2)}


@pytest.mark.parametrize("name", FORMS)
def test_what_an_assumption_says(name):
    axiom, terms, expected = FORMS[name]
    state = make_state(axiom, **SIZES)
    found = (
        Assume("own", terms, ("u", "w")).apply(state)
        if "difference" in name or name == "heterogeneity in the mean"
        else axiom.instance(state, terms)
    )
    assert found.table == state.form(scalar(expected)) and found.table and not found.equal
    assert found.phases == (None if name in RUN else EVERY)
    assert found.uses >= axiom.names and axiom.names <= {"a", "b"}
    if name.startswith("operator"):
        assert found.uses == {"a", "b"}, "the sure bound of the vector is an assumption too"


WITH_S = PAST | Known.sample("s")
MOMENTS = {
    "bounded": (Bounded("a", "J", C), jacobian(p), jacobian(p), None, False),
    "second moment": (SecondMoment("a", "J", C, WITH_S), jacobian(p), jacobian(p), WITH_S, False),
    "variance": (Variance("a", "J", C, WITH_S), jacobian(p), jacobian(p) - jacobian(p, None), WITH_S, True),
    "spectral variance": (
        Variance("a", "J", C, PAST, spectral=True),
        jacobian(p),
        jacobian(p) - jacobian(p, None),
        PAST,
        False,
    ),
    "conditional variance": (Variance("a", "two", C, WITH_S, True), two(p), two(p) - two(p, 0, None), WITH_S, True),
    "heterogeneity": (
        Heterogeneity("a", "J", C, "k"),
        jacobian(p, None),
        jacobian(p, None) - Mean("k", jacobian(p, None)),
        None,
        False,
    ),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_what_an_assumption_about_operators_says(name):
    axiom, term, expected, given, trace = MOMENTS[name]
    state = make_state()
    found = axiom.instance(state, (term,))
    assert isinstance(found, Moment) and found.term == state.algebra.normal(expected)
    assert (found.given, found.bound, found.trace, found.uses) == (given, C**2, trace, {"a"})


REFUSED = {
    "wanted 2 terms, got 1": (Lipschitz("a", "f", C), (f(p),)),
    "wanted 1 terms, got 2": (Bounded("a", "f", C), (f(p), f(r))),
    "its values are operators": (Lipschitz("a", "J", C), (jacobian(p), jacobian(r))),
    "its values are no operators": (LipschitzOperator("a", "f", C), (f(p), f(r), BOUNDED)),
    "values are no operators": (Heterogeneity("a", "f", C, "k", True), (f(p, None), f(p))),
    "wanted two values and a vector": (LipschitzOperator("a", "J", C), (jacobian(p), jacobian(r))),
    "wanted 2 terms$": (Heterogeneity("a", "J", C, "k", True), (jacobian(p, None),)),
    "wanted 1 terms$": (Heterogeneity("a", "J", C, "k"), (jacobian(p, None), f(p))),
    "depends on k": (Heterogeneity("a", "J", C, "k", True), (jacobian(p, None), f(p))),
    "point x depends on k": (Heterogeneity("a", "J", C, "k"), (jacobian(x, None),)),
    "mean over the samples": (Heterogeneity("a", "J", C, "k"), (jacobian(p),)),
    "the bound is for the mean": (Heterogeneity("a", "two", C, "k"), (two(p, 0, None),)),
    "about the mean over the samples": (Lipschitz("a", "two", C, of_mean=True), (two(p, 0, None), two(r, 0, None))),
    "J is no derivative of G: it maps other": (
        CentralDifference("a", "G", C, "b", "J"),
        (grad(p + STEP), grad(p - STEP), jacobian(p, None)),
    ),
    "H is no derivative of f": (CentralDifference("a", "f", C, "b", "H"), (f(p, None), f(r, None), hessian(p))),
    "has no sample": (Variance("a", "two", C), (two(p, 0, None),)),
    "not given its own sample": (Variance("a", "J", C, PAST | Known.sample("z")), (jacobian(p),)),
    "given its own sample": (SecondMoment("a", "J", C, Known.sample("z")), (jacobian(p),)),
    "no bound for every outcome": (LipschitzOperator("a", "J", C), (jacobian(p), jacobian(r), w)),
    "the sign of A - C is not known": (LipschitzOperator("a", "J", C), (jacobian(p), jacobian(r), (A - C) * f(p))),
    "no such quantity": (StartValue("a", "wished", C), ()),
    "Q: no such quantity": (StartValue("a", "Q", C), (f(p),)),
    "Q is not the value": (LowerBound("a", "Q", C), ()),
    "wished is not the value": (LowerBound("a", "wished", C), ()),
    "V is not the value": (LowerBound("a", "V", C), (f(p),)),
    "two free points": (Smooth("a", "F", C), (p, p)),
    "x is not free: it has update equations": (Smooth("a", "F", C), (p, Var("x"))),
    "at two free": (Smooth("a", "F", C), (grad(p), r)),
    "at two free points without": (Smooth("a", "F", C), ()),
    "at two free points without an": (Smooth("a", "F", C), (p, q)),
    "in different spaces": (Smooth("a", "F", C), (p, w)),
    "must be free and without an index": (Convexity("a", "own"), (r, p)),
    "wanted two points, got 1": (Convexity("a", "F"), (p,)),
    "wanted one point, got 2": (Minimum("a", "F", "G"), (p, r)),
    "wanted one point, got 0": (PolyakLojasiewicz("a", "F", C, "G", "b"), ()),
    "wanted a gradient and two points, got 1": (ConvexClients("a", "F", "G", "k", C, "b"), (grad(p),)),
    "F is not the mean of the clients'": (ConvexClients("a", "F", "two", "k", C, "b"), (two(p, None, None), p, r)),
    r"the point v depends on \['i'\]": (
        ConvexClients("a", "mean", "two", "k", C, "b"),
        (two(Var("v"), None, None), p, r),
    ),
    r"the point q depends on \['k'\]": (ConvexClients("a", "mean", "two", "k", C, "b"), (two(q, None, None), q, r)),
    "is no value of f": (Bounded("a", "f", C), (w,)),
    "f: the samples differ": (Lipschitz("a", "f", C), (f(p), f(r, None))),
    "is Lipschitz in the mean only": (LipschitzOperator("a", "J", C, True), (jacobian(Var("x", 1)), jacobian(p), f(r))),
    "the variance of differences": (DifferenceVariance("a", "two", C, "b"), (two(Var("x", 1)), two(p))),
    "the start takes no terms": (Start("a", x - Mean("k", x)), (p,)),
    "LH is no derivative of L: it maps": (
        CentralDifference("a", "L", C, "b", "LH"),
        (labelled("L", p + STEP), labelled("L", p - STEP), labelled("LH", p)),
    ),
    "LH is no derivative of G": (
        CentralDifference("a", "G", C, "b", "LH"),
        (grad(p + STEP), grad(p - STEP), labelled("LH", p)),
    ),
    "H is no derivative of L": (
        CentralDifference("a", "L", C, "b", "H"),
        (labelled("L", p + STEP), labelled("L", p - STEP), hessian(p)),
    ),
    "its values are operators$": (DifferenceVariance("a", "J", C, "b"), (jacobian(p), jacobian(r))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_an_assumption_is_not_misused(message):
    axiom, terms = REFUSED[message]
    with pytest.raises(ProofError, match=message):
        axiom.instance(make_state(), terms)


def test_sure_bounds_of_products_and_means():
    """|J v| <= E * 6 D, and means are no longer than what they are the means of."""
    axiom = LipschitzOperator("a", "J", C)
    product = Act(jacobian(r, 1), Mean("i", BOUNDED))
    setting = make_setting(
        functions=(*make_setting().functions, Function("M", "x", ("x", "x"), ("z",), CLIENT, CLIENT))
    )
    moved = LipschitzOperator("a", "M", C)
    values = (App("M", p, (0,)), App("M", r, (0,)))
    state = make_state(moved, setting)
    found = moved.instance(state, (*values, product))
    assert found.table == state.form(sq(Act(values[0] - values[1], product)) - (C * E * 6 * D) ** 2 * sq(p - r))
    assert found.uses == {"a", "b", "c"} and axiom.names == {"a"}


# --- independence -----------------------------------------------------------------------------------------------------

NOISE = two(p) - two(p, 0, None)


@pytest.mark.parametrize(
    ("at_first", "first", "size", "phases"),
    [(None, False, B, EVERY), (None, True, B, EVERY), (D, False, B, LATER), (D, True, D, FIRST)],
)
def test_the_mean_of_a_batch(at_first, first, size, phases):
    """Which may have another size at step 0."""
    state = make_state(setting=make_setting(indices=(Index("k", K), Index("i", B, True, at_first))))
    found = IndependentMean(NOISE, "i", WITH_S, first).apply(state)
    assert found.table == state.form(sq(Mean("i", NOISE)) - sq(NOISE) / size) and found.equal
    assert found.phases == phases and found.uses == {"independent z"}


def test_a_batch_of_another_size_at_first_is_of_one_step():
    state = make_state(setting=make_setting(indices=(Index("k", K), Index("i", B, True, D))))
    after = two(p, 0, 1) - two(p, 0, None)
    refused("wanted the samples of step t", IndependentMean(after, "i", WITH_S), state)
    moment = Moment(state.algebra.normal(jacobian(p) - jacobian(p, None)), WITH_S, C**2, True)
    state.facts["moment"] = moment
    refused("another size at step 0", IndependentMoment("moment", "i"), state)


def test_the_mean_of_operators():
    noise = jacobian(p) - jacobian(p, None)
    state = make_state()
    state.facts["noise"] = Moment(state.algebra.normal(noise), WITH_S, C**2, True, frozenset({"told"}))
    found = IndependentMoment("noise", "i").apply(state)
    assert found.term == state.algebra.normal(Mean("i", noise)) and found.uses == {"told", "independent z"}
    assert (found.given, found.bound, found.trace) == (WITH_S, C**2 / B, True)
    jensen = MeanMoment("noise", ("i", "k"), WITH_S).apply(state)
    assert jensen.term == state.algebra.normal(Given(WITH_S, Mean("k", Mean("i", noise)))) == ZERO
    jensen = MeanMoment("noise", ("k",)).apply(state)
    assert jensen.term == state.algebra.normal(Mean("k", noise))
    assert (jensen.given, jensen.bound, jensen.trace, jensen.uses) == (WITH_S, C**2, True, {"told"})


def test_an_operator_applied_to_a_vector():
    state = make_state()
    state.facts["sure"] = Moment(state.algebra.normal(jacobian(p)), None, C, uses=frozenset({"told"}))
    state.facts["mean"] = Moment(state.algebra.normal(jacobian(p)), WITH_S, C, uses=frozenset({"told"}))
    fresh, known = f(r), f(r, None)
    for moment, vector, product in (
        ("sure", fresh, Act(jacobian(p), fresh)),
        ("mean", known, Act(jacobian(p), known)),
        ("mean", fresh, Given(WITH_S, Act(jacobian(p), fresh))),
    ):
        found = Action(moment, vector).apply(state)
        assert found.table == state.form(sq(product) - C * sq(vector)) and found.uses == {"told"}
    found = Action("mean", BOUNDED, True).apply(state)
    assert found.table == state.form(sq(Act(jacobian(p), BOUNDED)) - C * (6 * D) ** 2) and found.uses == {"told", "b"}
    state.facts["vector"] = Moment(state.algebra.normal(known), None, D, uses=frozenset({"more"}))
    found = Product("mean", "vector").apply(state)
    assert found.table == state.form(sq(Act(jacobian(p), known)) - C * D) and found.uses == {"told", "more"}
    state.facts["vector"] = replace(state.facts["vector"], given=PAST)
    refused("is not known given", Product("mean", "vector"), state)


# --- combinations -----------------------------------------------------------------------------------------------------


def test_an_equation_leaves_nothing_over():
    state = make_state()
    refused("no sign", Combine(sq(x), 2 * sq(x), equal=True), state)
    refused("no sign", Combine(scalar(0), scalar(1), equal=True), state)
    assert Combine(2 * sq(x), sq(x) + sq(x), equal=True).apply(state).equal


def test_a_square_is_about_a_step():
    state = make_state(run=(total("Q") - 1, None))
    rule = Combine(total("Q"), scalar(2), ((ONE, "run"),))
    assert rule.apply(state).phases is None
    refused("not about the run", Combine(total("Q"), scalar(2), ((ONE, "run"),), squares=((ONE, ZERO),)), state)


def test_what_an_inequality_is_about_without_premises():
    for claim, phases in ((quantity("Q"), EVERY), (total("Q"), None), (at("Q"), None), (scalar(0), EVERY)):
        assert Combine(claim, claim + 1).apply(make_state()).phases == phases


def test_the_meaning_of_a_quantity():
    state = make_state()
    found = Open("Q", 2).apply(state)
    assert found.table == state.form(quantity("Q", 2) - 3 * sq(Var("p", 2))) and found.equal and found.phases == EVERY
    refused("no such quantity", Open("wished"), state)


def test_nothing_is_put_in_for_a_point_that_the_start_ties():
    """x = G(p) at the start: with other vectors for p, G would be constant."""
    state = make_state(Start("a", x - grad(p)), told=(sq(p - r),))
    refused("it stands in what is assumed of the start", Instance("told", (("p", u),)), state)
    assert Instance("told", (("p", u),)).apply(make_state(Start("a", x - grad(u)), told=(sq(p - r),)))


def test_no_step_has_a_sample_without_a_step():
    """Two of them would be one sample, or two, as the normal form likes to call them."""
    noise = two(p, Averaged(0)) - two(p, Averaged(1))
    with pytest.raises(ProofError, match="no step that can be written"):
        checked_line(make_state(), Step("same", Combine(sq(noise), sq(noise))))


def test_a_hypothesis_is_one_of_a_loop():
    for rule in (Suppose(sq(p), C), Identity(C, C, C), Along("before", sq(p), C), Length(p)):
        refused("wanted a loop", rule, make_state())


def test_an_instance_keeps_what_it_is_about():
    state = make_state(told=(sq(p - r) - 2, FIRST, True), named=(quantity("Q") - sq(p), EVERY))
    found = Instance("told", (("p", 2 * u),)).apply(state)
    assert found.table == state.form(sq(2 * u - r) - 2)
    assert (found.phases, found.equal, found.uses) == (FIRST, True, {"told"})
    refused("only inner products", Instance("named", (("p", u),)), state)


def test_the_triangle_inequality():
    common, parts = quantity("R"), (("a", p, 2 * C), ("b", r, 3 * C))
    state = make_state(
        a=(sq(p) - 4 * C**2 * common, FIRST | LOCAL), b=(sq(r) - 9 * C**2 * common, LOCAL), run=(scalar(-4), None)
    )
    found = Triangle(parts, quantity("R")).apply(state)
    assert found.table == state.form(sq(p + r) - 25 * C**2 * quantity("R"))
    assert (found.phases, found.uses, found.equal) == (LOCAL, {"told"}, False)
    for wrong in ((("a", p, C), parts[1]), (("a", 2 * p, 2 * C), parts[1]), (parts[0], ("a", r, 3 * C))):
        refused("does not say that", Triangle(wrong, quantity("R")), state)
    refused("does not say that", Triangle(parts, scalar(1)), state)
    refused("may be negative", Triangle((("a", p, -2 * C), parts[1]), quantity("R")), state)
    refused("wanted statements about a step", Triangle((("run", ZERO, 2 * ONE),), scalar(1)), state)


def test_the_smaller_bound_is_about_a_step():
    state = make_state(run=(total("Q") - C, None), more=(total("Q") - D, None))
    refused("wanted statements about a step", Smaller(total("Q"), (("run", C), ("more", D))), state)


# --- equations --------------------------------------------------------------------------------------------------------


def test_update_equations_and_their_means():
    state = make_state()
    moved = x - A * Mean("i", two(x))
    state.facts["local"] = Definition("x", "first local").apply(state)
    assert state.facts["local"] == Equation(state.algebra.normal(Var("x", 1) - moved), LOCAL)
    found = Project("local", ("k",), WITH_S).apply(state)
    assert found.term == state.algebra.normal(Given(WITH_S, Mean("k", Var("x", 1) - moved))) and found.phases == LOCAL
    refused("no equation at the phase 'last'", Definition("x", "last"), state)
    refused("no equation", Definition("p", "local"), state)
    zero = Linear(0 * p, ()).apply(state)
    assert zero.phases == EVERY and zero.term == ZERO
    refused("left over", Linear(p, ()), state)
    twice = Linear(2 * Var("x", 1) - 2 * moved, ((2 * ONE, "local"),)).apply(state)
    assert twice.phases == LOCAL and twice.term == state.algebra.normal(2 * Var("x", 1) - 2 * moved)


def test_cases_cover_what_they_cover():
    state = make_state(
        a=(sq(p) - 1, LOCAL, True), b=(sq(p) - 1, COMMUNICATION), c=(sq(p) - 2, FIRST), run=(total("Q"), None)
    )
    found = Cases(("a", "b")).apply(state)
    assert found.phases == EVERY and not found.equal and found.uses == {"told"} and found.table == state.form(sq(p) - 1)
    assert Cases(("a", "a")).apply(state).equal and Cases(("a",)).apply(state).phases == LOCAL
    refused("different conclusions", Cases(("a", "c")), state)
    refused("no case", Cases(()), state)
    refused("about a step", Cases(("run", "run")), state)
    state.facts["equation"] = Equation(state.algebra.normal(p - r), LATER)
    state.facts["another"] = Equation(state.algebra.normal(p - u), FIRST)
    assert Cases(("equation",)).apply(state).phases == LATER
    refused("different conclusions", Cases(("equation", "another")), state)
    refused("of one kind", Cases(("a", "equation")), state)


def test_a_vector_without_length_at_a_step():
    state = make_state(zero=(scalar(0), None), step=(sq(p - r), LATER))
    assert Vanishing("step", p - r).apply(state) == Equation(state.algebra.normal(p - r), LATER, frozenset({"told"}))
    refused("wanted a statement about a step", Vanishing("zero", ZERO), state)
    refused("does not say", Vanishing("step", p), state)


MOVES = {
    (EVERY, -1): LATER,
    (EVERY, 0): EVERY,
    (EVERY, 1): EVERY,
    (EVERY, 2): EVERY,
    (EVERY, -2): None,
    (LATER, -1): None,
    (LATER, 0): LATER,
    (LATER, 1): EVERY,
    (LATER, 2): EVERY,
    (FIRST, 0): None,
    (LOCAL, 1): None,
}


@pytest.mark.parametrize(("phases", "by"), MOVES)
def test_a_statement_at_another_step(phases, by):
    """What holds for t >= 0 or t >= 1 is read at t + by; the statement must be about steps t + by of those."""
    state = make_state(step=(quantity("Q") - 2 * sq(p), phases, True))
    state.facts["vectors"] = Equation(state.algebra.normal(p - 2 * r), phases)
    if MOVES[phases, by] is None:
        refused("cannot be read", Later("step", by), state)
        refused("cannot be read", Later("vectors", by), state)
        return
    found, vectors = Later("step", by).apply(state), Later("vectors", by).apply(state)
    assert found.table == state.form(quantity("Q", by) - 2 * sq(Var("p", by))) and found.equal
    assert vectors.term == state.algebra.normal(Var("p", by) - 2 * Var("r", by))
    assert found.phases == vectors.phases == MOVES[phases, by]
    refused("wanted a statement about a step", Later("run", by), make_state(run=(total("Q"), None)))


# --- smoothness -------------------------------------------------------------------------------------------------------


def test_the_descent_lemma():
    state = make_state(lipschitz=(sq(grad(p) - grad(r)) - C**2 * sq(p - r),))
    start, end = 2 * u, Var("p", 1)
    found = SmoothDescent("F", "lipschitz", C, "r", start, end).apply(state)
    right = value("F", start) + dot(grad(start), end - start) + C / 2 * sq(end - start)
    assert found.table == state.form(value("F", end) - right) and not found.equal and found.phases == EVERY
    assert found.uses == {"told", "gradient"}
    refused("w is in another space", SmoothDescent("F", "lipschitz", C, "r", start, w), state)
    refused("w is in another space", SmoothDescent("F", "lipschitz", C, "r", w, end), state)
    state.facts["first"] = put(state, sq(grad(p) - grad(r)) - C**2 * sq(p - r), FIRST)
    refused("does not say", SmoothDescent("F", "first", C, "r", start, end), state)
    for other, message in (
        ("p", "about two free points"),
        ("x", "is not free"),
        ("q", "without an index"),
        ("w", "without an index"),
    ):
        refused(message, SmoothDescent("F", "lipschitz", C, other, start, end), state)


# --- sums over steps --------------------------------------------------------------------------------------------------

LOW, HIGH = -3, 16
SERIES = {name: {t: Q((7 * t * t + 3 * t + i) % 11, 1 + i) for t in range(LOW, HIGH)} for i, name in enumerate("QRS")}
"""Three sequences of numbers in the place of the quantities."""


def point(n, horizon, t=0):
    table = {**dict.fromkeys(A.params, Q(2)), **dict.fromkeys(C.params, Q(1, 3)), **dict.fromkeys(D.params, Q(7))}
    table[POSITION] = Q(t % n)
    return {**table, **dict.fromkeys(N.params, Q(n)), **dict.fromkeys(T.params, Q(horizon))}


def at_step(fact, t, n, horizon):
    """The left side of `fact <= 0` at step t."""
    rows = [
        c.at(point(n, horizon, t)) * (1 if isinstance(a, One) else SERIES[a.name][t + a.shift]) for a, c in fact.form
    ]
    return sum(rows, Q(0))


def about_run(fact, n, horizon):
    """The left side of a statement about the run."""

    def number(atom):
        if isinstance(atom, One):
            return Q(1)
        series = SERIES[atom.name]
        if isinstance(atom, At):
            return series[atom.offset + (horizon if atom.end else 0)]
        assert isinstance(atom, Total)
        return sum((series[t] for t in range(horizon) if not atom.communications or (t + 1) % n == 0), Q(0))

    return sum((c.at(point(n, horizon)) * number(a) for a, c in fact.form), Q(0))


CLAIM = 2 * quantity("Q", 2) - 3 * quantity("Q", -1) + 5 * A * quantity("R") + quantity("S", 1) - quantity("S") - 4 * C


@pytest.mark.parametrize(("start", "drop"), [(0, 0), (1, 0), (0, 1)])
def test_the_sum_of_an_equation_is_its_sum(start, drop):
    """With the values at both ends, for every number of steps."""
    state = make_state(step=(CLAIM, EVERY if start == 0 else LATER, True))
    found = SumOver("step", start=start, drop=drop).apply(state)
    assert found.equal and found.phases is None and found.uses == {"told"}
    for horizon in range(1, 8):
        exact = sum(at_step(state.facts["step"], t, 3, horizon) for t in range(start, horizon - drop))
        assert about_run(found, 3, horizon) == exact


def test_the_sum_with_another_statement_at_communications():
    """Equal where the last round is a whole one; a bound where it is not, since the constant is lower there."""
    special = 7 * quantity("Q", 2) - 5 * quantity("Q", 2) + CLAIM - 2 * quantity("Q", 2) - A * quantity("R") - 2 * C
    state = make_state(local=(CLAIM, LOCAL), other=(special, COMMUNICATION))
    found = SumOver("local", "other").apply(state)
    assert not found.equal and found.phases is None
    for n in (1, 2, 3):
        for horizon in range(1, 8):
            exact = sum(
                at_step(state.facts["other" if (t + 1) % n == 0 else "local"], t, n, horizon) for t in range(horizon)
            )
            got = about_run(found, n, horizon)
            assert got == exact if horizon % n == 0 else got < exact


def test_a_sum_needs_a_statement_about_each_of_its_steps():
    state = make_state(
        every=(CLAIM,),
        later=(CLAIM, LATER),
        local=(CLAIM, LOCAL),
        less=(CLAIM, LOCAL & LATER),
        rest=(CLAIM - 1, COMMUNICATION),
        few=(CLAIM - 1, COMMUNICATION & LATER),
        more=(CLAIM + 1, COMMUNICATION),
        moved=(CLAIM + quantity("Q", 1), COMMUNICATION),
        run=(total("Q"), None),
        inner=(sq(p), EVERY),
    )
    assert SumOver("later", start=1).apply(state) and SumOver("local", "rest").apply(state)
    for rule in (
        SumOver("later"),
        SumOver("later", drop=1),
        SumOver("local"),
        SumOver("run"),
        SumOver("less", "rest"),
        SumOver("local", "few"),
        SumOver("rest", "local"),
    ):
        refused("does not hold at every step of the sum", rule, state)
    refused("at most one step", SumOver("every", start=-1), state)
    refused("at most one step", SumOver("every", drop=-1), state)
    refused("at most one step", SumOver("every", start=2, drop=-1), state)
    refused("at most one step", SumOver("every", drop=2), state)
    refused("wrong sign", SumOver("local", "more"), state)
    refused("step t itself are summed", SumOver("local", "moved"), state)
    refused("runs over all t < T", SumOver("every", "rest", start=1), state)
    refused("runs over all t < T", SumOver("every", "rest", drop=1), state)
    refused("only those are summed", SumOver("inner"), state)


MOVING = {
    "the clock": clock(),
    "a sequence": moving_number("h"),
    "a sequence and the position": POSITION.number * moving_number("h"),
}
"""Numbers that are other ones at another step, of which no multiple is the sum."""


@pytest.mark.parametrize("name", MOVING)
def test_a_bound_that_depends_on_the_step_is_not_summed(name):
    state = make_state(step=(quantity("Q") - MOVING[name],))
    refused("speaks of the step itself", SumOver("step"), state)


@pytest.mark.parametrize("bound", [scalar(C), scalar(C * POSITION.number)])
@pytest.mark.parametrize("mark", [facts.Supposed.of(sq(u), C), facts.BEFORE_THE_END])
def test_what_is_supposed_at_one_step_is_not_summed(mark, bound):
    """Nor with the position in the round in its bound, which is."""
    state = make_state(step=(quantity("Q") - bound,))
    assert SumOver("step").apply(state).phases is None
    state.facts["step"] = replace(state.facts["step"], uses=frozenset({"told", mark}))
    refused("speaks of the step itself", SumOver("step"), state)


@pytest.mark.parametrize("end", [False, True])
def test_the_first_and_the_last_step(end):
    state = make_state(
        step=(CLAIM, LATER if end else FIRST, True),
        wrong=(CLAIM, FIRST if end else LATER),
        inner=(sq(p), EVERY),
        run=(total("Q"), None),
    )
    found = AtStart("step", end).apply(state)
    assert found.phases is None and found.equal and found.uses == {"told"}
    for horizon in (1, 4):
        assert about_run(found, 2, horizon) == at_step(state.facts["step"], horizon if end else 0, 2, horizon)
    refused("does not hold there", AtStart("wrong", end), state)
    refused("does not hold there", AtStart("run", end), state)
    refused("is not a named quantity", AtStart("inner", end), state)


def test_the_communications_are_a_part_of_the_steps():
    state = make_state()
    assert Part("Q").apply(state).table == state.form(total("Q", communications=True) - total("Q"))
    assert Part("Q").apply(state).phases is None
    for name in ("V", "wished"):
        refused("no nonnegative quantity", Part(name), state)


def test_an_invariant_needs_both_kinds_of_step():
    claim, step = quantity("Q", 1) - 2 * C, quantity("Q", 1) - quantity("Q") / 4 - Q(3, 2) * C
    state = make_state(
        first=(claim, FIRST), later=(step, LATER), late=(claim, LATER), early=(step, FIRST), run=(total("Q"), None),
        double=(2 * quantity("Q", 1) - quantity("Q") / 4, LATER),
    )  # fmt: skip
    found = Invariant("Q", 2 * C, "first", "later").apply(state)
    assert found.table == state.form(claim) and found.phases == EVERY and not found.equal
    for first, later in (("late", "later"), ("first", "early"), ("run", "later"), ("first", "run")):
        refused("about step 0 and one about every later step", Invariant("Q", 2 * C, first, later), state)
    refused("is no bound of", Invariant("Q", 2 * C, "first", "double"), state)
    refused("does not say", Invariant("Q", C, "first", "later"), state)
    state.facts["another"] = put(state, step - quantity("R"), LATER)
    refused("more than Q", Invariant("Q", 2 * C, "first", "another"), state)
    state.facts["falling"] = put(state, quantity("Q", 1) + quantity("Q") - C, LATER)
    refused("not certified", Invariant("Q", 2 * C, "first", "falling"), state)
    state.facts["higher"] = put(state, step - C / 100, LATER)
    refused("not certified", Invariant("Q", 2 * C, "first", "higher"), state)


# --- rounds -----------------------------------------------------------------------------------------------------------

GROWTH = 2 * quantity("R") + C


def drift(where, growth=GROWTH, quantity_="drift", **changed):
    """u is 0 at the start and after communications, and moves by p at local steps, ||p||^2 <= growth."""
    state = make_state()
    state.quantities = {
        **state.quantities, "drift": Quantity("drift", sq(u)), "twice": Quantity("twice", 2 * sq(u)),
        "both": Quantity("both", sq(u) + sq(r)),
    }  # fmt: skip
    state.facts["growth"] = put(state, sq(p) - growth)
    told = {"move": (Var("u", 1) - u - p, LOCAL), "reset": (Var("u", 1), COMMUNICATION), "start": (u, FIRST)} | changed
    for name, (term, phases) in told.items():
        state.facts[name] = Equation(state.algebra.normal(term), phases, frozenset({name}))
    return Drift(quantity_, "move", "reset", "start", "growth", where).apply(state)


def at_numbers(signomial_, n, horizon):
    return signomial_.at(point(n, horizon))


@pytest.mark.parametrize("n", range(1, 7))
def test_the_drift_within_a_round(n):
    """By Cauchy-Schwarz ||u||^2 <= j times the squared moves, after j of them; equal moves attain it."""
    rounds, c = 4, Q(1, 3)
    horizon = rounds * n
    drifts = [Q(t % n) ** 2 * c for t in range(horizon)]  # moves of length sqrt(c)
    table = drift("all").table
    assert table[Total("drift")] == ONE and table[Total("R")].at(point(n, horizon)) == -2 * sum(range(n))
    assert at_numbers(table[One()], n, horizon) == -sum(drifts)
    table = drift("communications").table
    assert table[Total("drift", True)] == ONE and at_numbers(table[Total("R")], n, horizon) == -2 * (n - 1)
    assert at_numbers(table[One()], n, horizon) == -sum(drifts[n - 1 :: n])
    found = drift("every step", scalar(C))
    assert found.phases == EVERY and found.table[Named("drift")] == ONE and len(found.table) == 2
    assert at_numbers(found.table[One()], n, horizon) == -max(drifts)
    for where in ("all", "communications", "every step"):
        found = drift(where, scalar(C))
        assert found.uses == {"move", "reset", "start", "told"} and not found.equal


def test_a_drift_that_grows_with_itself():
    table = drift("all", quantity("drift") + C).table
    assert table[Total("drift")] == 1 - N * (N - 1) / 2 and len(table) == 2


def test_a_drift_needs_its_equations():
    late = (
        {"reset": (Var("u", 1), COMMUNICATION & LATER)},
        {"start": (u, LOCAL & FIRST)},
        {"move": (Var("u", 1) - u - p, LOCAL & LATER)},
    )
    for changed, message in zip(late, ("after a communication", "at the start", "every local step"), strict=True):
        with pytest.raises(ProofError, match=message):
            drift("all", **changed)
    for name, message in (
        ("twice", "not one squared norm"),
        ("both", "not one squared norm"),
        ("wished", "no such quantity"),
    ):
        with pytest.raises(ProofError, match=message):
            drift("all", quantity_=name)
    with pytest.raises(ProofError, match="bounded by a constant"):
        drift("every step")
    with pytest.raises(ProofError, match=r"has no sign|nonnegative multiple"):
        drift("all", -GROWTH)
    with pytest.raises(ProofError, match="wanted all"):
        drift("never")


NOISE_OF_STEP = two(p) - two(p, None, None)


def noisy(end="", weight=A, noise=NOISE_OF_STEP, growth=GROWTH, size=D, phases=EVERY):
    """u moves by r and centred noise at local steps, ||r||^2 <= 2 R + C and ||noise||^2 <= D; `end` is what a round would end with."""
    rest = r + NOISE_OF_STEP - noise
    state = make_state(growth=(sq(rest) - growth, phases), noise=(sq(noise) - size,))
    ends = {"end": Quantity("end", sq(u + r + NOISE_OF_STEP))}
    state.quantities = {**state.quantities, "drift": Quantity("drift", sq(u)), **ends}
    told = {
        "move": (Var("u", 1) - u - r - NOISE_OF_STEP, LOCAL),
        "reset": (Var("u", 1), COMMUNICATION),
        "start": (u, FIRST),
    }
    for name, (term, phases) in told.items():
        state.facts[name] = Equation(state.algebra.normal(term), phases, frozenset({name}))
    state.facts["noise"] = Inequality(state.facts["noise"].form, False, EVERY, frozenset({"noisy"}))
    return NoisyDrift("drift", "move", "reset", "start", noise, "growth", "noise", weight, end).apply(state)


@pytest.mark.parametrize("n", range(1, 6))
def test_the_drift_with_noise(n):
    """Young's weight is 2, so that the known moves count three times and the noise, whose squares add up, 3/2 times."""
    horizon, c, d = 3 * n, Q(1, 3), Q(7)
    known, random = [Q(t % n) ** 2 * c for t in range(horizon)], [t % n * d for t in range(horizon)]
    found = noisy()
    assert (
        found.table[Total("drift")] == ONE and at_numbers(found.table[Total("R")], n, horizon) == -3 * sum(range(n)) * 2
    )
    assert at_numbers(found.table[One()], n, horizon) == -(3 * sum(known) + Q(3, 2) * sum(random))
    assert found.uses == {"move", "reset", "start", "told", "noisy"} and not found.equal and found.phases is None
    found = noisy("end")
    assert found.table[Total("end", True)] == ONE and at_numbers(found.table[Total("R")], n, horizon) == -3 * n * 2
    assert at_numbers(found.table[One()], n, horizon) == -(3 * n**2 * c + Q(3, 2) * n * d) * 3
    assert len(found.table) == 3 and not found.equal


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("not centred", {"noise": two(p)}),
        ("not known after the step", {"noise": two(p, 1, 1) - two(p, None, None)}),
        ("growth: the constant", {"growth": scalar(-C)}),
        ("noise: the constant", {"size": -D}),
        ("by a constant", {"size": quantity("R")}),
        ("at every step", {"phases": LATER}),
    ],
)
def test_a_drift_with_noise_needs_fresh_noise_and_bounds(message, changed):
    with pytest.raises(ProofError, match=message):
        noisy(**changed)


def test_the_weight_of_the_noise_is_positive():
    for weight in (-A, 0 * A, A - C, A + C, E):
        with pytest.raises(ProofError):
            noisy(weight=weight)


MODEL, OLD = Var("m"), Var("old")
FRESH = App("h", OLD, (0,)) - App("h", OLD, (None,))


@pytest.mark.parametrize("n", range(1, 5))
def test_how_far_a_model_is_from_an_older_one(n):
    """Equal moves in one direction attain it, and noise that adds up in squares, after the first n steps."""
    table, moved = make_setting(), MODEL + grad(OLD) + FRESH
    newer, older = Variable("m", "x", equations=((EVERY, moved),)), Variable("old", "x", of="m", behind=N)
    functions = (*table.functions, Function("h", "x", "x", ("s",)))
    state = make_state(setting=make_setting(functions=functions, variables=(*table.variables, newer, older)))
    state.quantities = {**state.quantities, "A": Quantity("A", sq(MODEL - OLD))}
    state.facts["growth"], state.facts["noise"] = put(state, sq(grad(OLD)) - GROWTH), put(state, sq(FRESH) - D)
    state.facts["move"] = Equation(state.algebra.normal(Var("m", 1) - moved), EVERY, frozenset({"move"}))
    found = Delay("A", "move", FRESH, "growth", "noise").apply(state)
    horizon, c, d = 40 * n, Q(1, 3), Q(7)
    assert found.table[Total("A")] == ONE and at_numbers(found.table[Total("R")], n, horizon) == -2 * n**2
    bound = -at_numbers(found.table[One()], n, horizon)
    exact = sum(min(t, n) ** 2 * c + min(t, n) * d for t in range(horizon))
    assert exact <= bound <= exact * Q(21, 20)
    assert found.uses == {"move", "told"} and not found.equal and found.phases is None


def within(factor, adds, begin, level, growth, start, name="Q", **changed):
    told = {
        "reset": (quantity("Q", 1), COMMUNICATION),
        "first": (quantity("Q", 1) - begin, LOCAL & FIRST),
        "later": (quantity("Q", 1) - factor * quantity("Q") - adds, LOCAL & LATER),
    }
    numbers = (signomial(v) for v in (level, growth, start))
    return WithinRound(name, "reset", "first", "later", *numbers).apply(make_state(**(told | changed)))


@pytest.mark.parametrize(
    ("factor", "adds", "begin", "level", "growth", "start"),
    [
        (Q(1, 2), Q(3), Q(0), Q(6), Q(0), Q(0)),
        (Q(1, 2), Q(0), Q(5), Q(0), Q(0), Q(10)),
        (Q(1), Q(3), Q(0), Q(0), Q(3), Q(0)),
        (Q(9, 10), Q(3), Q(2), Q(10), Q(2), Q(20)),
        (Q(0), Q(3), Q(3), Q(3), Q(0), Q(3)),
    ],
)
def test_growth_within_a_round_by_numbers(factor, adds, begin, level, growth, start):
    """The largest sequence is below the bound, which is ((c + (n - 1) e)(T - 1) + g; long rounds come near it."""
    found = within(factor, adds, begin, level, growth, start)
    table = found.table
    assert found.phases is None and not found.equal
    assert table[Total("Q")] == ONE and table[At("Q")] == -ONE
    best = Q(0)
    for n in (1, 2, 3, 40):
        for horizon in (1, 2, n, 2 * n + 1, 4 * n):
            bound = -at_numbers(table.get(One(), Signomial()), n, horizon)
            assert bound == (level + (n - 1) * growth) * (horizon - 1) + start
            now, exact = Q(0), Q(0)
            for t in range(horizon):
                exact += now if t else 0
                now = Q(0) if (t + 1) % n == 0 else begin if t == 0 else factor * now + adds
            assert exact <= bound
            best = max(best, exact / bound if bound else Q(0))
    assert best > (Q(9, 10) if not growth else Q(1, 4))


def test_growth_within_a_round_needs_enough_of_each_number():
    """A step of factor 1/2 and 3 more, after a first one of 5: 6 is kept, 4 with growth 1; 10 is enough for the first round."""
    assert within(Q(1, 2), Q(3), Q(5), Q(6), Q(0), Q(10)) and within(Q(1, 2), Q(3), Q(5), Q(4), Q(1), Q(10))
    for level, growth, start, message in (
        (Q(59, 10), Q(0), Q(10), "what a step adds"),
        (Q(4), Q(9, 10), Q(10), "what a step adds"),
        (Q(-1), Q(9), Q(10), "the level"),
        (Q(9), Q(-1), Q(10), "the growth"),
        (Q(6), Q(0), Q(99, 10), "the start"),
    ):
        with pytest.raises(ProofError, match=message):
            within(Q(1, 2), Q(3), Q(5), level, growth, start)
    with pytest.raises(ProofError, match="1 minus the factor"):
        within(Q(11, 10), Q(0), Q(0), Q(0), Q(0), Q(0))
    with pytest.raises(ProofError, match="the factor"):
        within(Q(-1, 10), Q(0), Q(0), Q(0), Q(0), Q(0))


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("after a communication", {"reset": (quantity("Q", 1), COMMUNICATION & LATER)}),
        ("is 0 after", {"reset": (quantity("Q", 1) - C, COMMUNICATION)}),
        ("does not hold at step 0", {"first": (quantity("Q", 1) - 2, LOCAL & LATER)}),
        ("by a number", {"first": (quantity("Q", 1) - quantity("Q"), EVERY)}),
        ("every later local", {"later": (quantity("Q", 1) - 3, LOCAL & FIRST)}),
        ("and a number", {"later": (quantity("Q", 1) - quantity("R"), EVERY)}),
        ("no nonnegative quantity", {"name": "V"}),
    ],
)
def test_growth_within_a_round_needs_a_statement_about_each_step(message, changed):
    with pytest.raises(ProofError, match=message):
        within(Q(1, 2), Q(3), Q(5), Q(6), Q(0), Q(10), **changed)


def test_the_exponential_is_exceeded():
    """Fractions between the exponential and one that is larger in the 20th digit are accepted, none below it is."""
    for rate in (Q(0), Q(1, 1000), Q(1), Q(5), Q(20), Q(23)):
        term, below = Q(1), Q(0)
        for k in range(1, 121):
            below, term = below + term, term * rate / k
        if rate:
            with pytest.raises(ProofError, match="not certified"):
                exceeds_exponential(signomial(below), signomial(rate))
        room = {Q(20): Q(11, 10), Q(23): Q(2)}.get(rate, 1 + Q(1, 10**7))
        exceeds_exponential(signomial(room * below + (rate == 0)), signomial(rate))
    for rate in (Q(24), Q(-1)):
        with pytest.raises(ProofError, match="is not between"):
            exceeds_exponential(signomial(10**30), signomial(rate))


# --- the state in which a step is checked -----------------------------------------------------------------------------


def test_a_fact_that_is_read_is_used_and_must_be_of_its_kind():
    state = make_state(less=(A - C,), none=Equation(ZERO, EVERY), bound=Moment(ZERO, None, ONE))
    for name, read in (("less", state.inequality), ("none", state.equation), ("bound", state.moment)):
        state.used.clear()
        assert read(name) is state.facts[name] and state.used == {name}
    with pytest.raises(ProofError, match="less: wanted an moment, got"):
        state.moment("less")
    with pytest.raises(ProofError, match="other: no such step before this one"):
        state.equation("other")


@pytest.mark.parametrize("mark", [facts.Supposed.of(sq(u), C), facts.BEFORE_THE_END])
def test_what_is_about_one_step_is_read_only_where_the_rule_says_so(mark):
    state = make_state(here=Inequality((), False, EVERY, frozenset({"told", mark})))
    with pytest.raises(ProofError, match="speaks of the position in the round, or of the step itself"):
        state.inequality("here")
    assert state.inequality("here", position=True) is state.facts["here"]
    assert facts.at_one_step(state.facts["here"]) and not facts.at_one_step(
        Inequality((), False, EVERY, frozenset({"told"}))
    )


def test_conditions_that_a_certificate_uses_without_room():
    state = make_state()
    state.region = Region({"small": 1 - A, "order": C - D})
    assert state.certify(2 * C + 1) == frozenset() and state.exact == set()
    assert state.certify(3 - 2 * A) == {"small"} and state.exact == set(), "1 is left over"
    assert state.certify(2 - 2 * A) == {"small"} and state.exact == {"small"}
    assert state.certify(C - D) == {"order"} and state.exact == {"small", "order"}
    assert state.certify(A - 1) is None and state.certify(A - 1, (((-ONE, ("small",)),),)) is None
    state.points = ({next(iter(A.params)): Q(1, 2)},)
    assert state.where_negative(A - 1) == "; it is -1/2 at A = 1/2" and state.where_negative(1 - A) == ""


def test_one_table_has_one_form():
    atoms = [Named("Q", 0), Named("R", 0), Total("Q", 0), One()]
    rng, forms = Random(0), set()
    for _ in range(20):
        rng.shuffle(atoms)
        forms.add(facts.fact_form({atom: ONE for atom in atoms} | {Named("S", 0): ONE - ONE}))
    assert len(forms) == 1 and len(next(iter(forms))) == 4


def test_which_norm_a_bound_is_in():
    assert Moment(ZERO, None, ONE).trace is False, "not in the Hilbert-Schmidt norm unless it is said"


def test_a_size_that_holds_in_the_mean_only_is_no_sure_one():
    axiom = LipschitzOperator("a", "J", C)
    terms = (jacobian(p), jacobian(r), w)
    state = make_state(axiom, sure=Moment(state_free(w), None, D**2), mean=Moment(state_free(w), PAST, D**2))
    assert Assume("own", terms, ("sure",)).apply(state).table and state.sizes == {}
    for sizes in (("mean",), ("sure", "mean")):
        refused("wanted sure bounds of vectors", Assume("own", terms, sizes), state)
    refused("wished: no such assumption was declared", Assume("wished"), state)


def state_free(term):
    return make_state().algebra.normal(term)


def test_a_product_with_a_sample_that_all_share_is_not_independent():
    """Whether the shared sample is that of the operator or of the vector."""
    shared = (
        Function("M", "x", ("x", "x"), ("s",)),
        Function("v", "x", "x", ("s",)),
        Function("Z", "x", ("x", "x"), ("z",), CLIENT, CLIENT),
    )
    state = make_state(setting=make_setting(functions=(*make_setting().functions, *shared)))
    own = two(p, None) - two(p, None, None)
    noisy = App("Z", p, (0,)) - App("Z", p, (None,))
    for product in (Act(App("M", p, (0,)), own), Act(noisy, App("v", p, (0,)))):
        refused("s is the same for all values of i", IndependentMean(product, "i", PAST), state)
    moved = App("v", p, (0,))
    refused("s is the same for all", IndependentMean(two(moved, None) - two(moved, None, None), "i", PAST), state)
    assert IndependentMean(Act(App("M", p, (None,)), own), "i", PAST).apply(state).uses == {"independent z"}
    varying = make_state(setting=make_setting(indices=(Index("k", K), Index("i", B, True, D))))
    assert IndependentMean(own, "i", PAST).apply(varying).phases == LATER, "step 0 has to be asked for"
