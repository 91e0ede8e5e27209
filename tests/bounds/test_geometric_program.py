"""Geometric programs: posynomials, against cvxpy on random instances, proved lower bounds, branch and bound."""

from __future__ import annotations

from fractions import Fraction as F
from fractions import Fraction as Q
from itertools import product
from math import exp, inf, log, sqrt
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

import clarabel
import cvxpy as cp
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.optimum import posynomial
from fedco.bounds.optimum.posynomial import Converter, EmptyBoxError, NotPosynomialError, Posynomial, condition_parts
from fedco.bounds.optimum.program import Columns, Program, Solution, solve
from fedco.bounds.optimum.search import Found, dive, minimise, program, relaxed, split
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

x, y = (sp.Symbol(name, positive=True) for name in "xy")
number, variable = Posynomial.number, Posynomial.variable
POSITIVE = st.floats(0.1, 3)
MONOMIALS = st.builds(
    lambda c, p, q: number(c) * variable("x", F(p, 2)) * variable("y", F(q, 3)),
    POSITIVE,
    st.integers(-4, 4),
    st.integers(-3, 3),
)
SUMS = st.lists(MONOMIALS, min_size=1, max_size=3).map(lambda parts: sum(parts, Posynomial({})))
POINTS = st.fixed_dictionaries({"x": POSITIVE, "y": POSITIVE})


@given(SUMS, SUMS, MONOMIALS, POINTS)
def test_the_arithmetic_of_posynomials_is_that_of_their_values(a, b, one, point):
    assert (a + b).at(point) == pytest.approx(a.at(point) + b.at(point))
    assert (a * b).at(point) == pytest.approx(a.at(point) * b.at(point))
    for power in (F(5, 3), F(-1, 2), -3, 0):
        assert one.power(power).at(point) == pytest.approx(one.at(point) ** float(power))
    for power in (1, 2, F(3)):
        assert a.power(power).at(point) == pytest.approx(a.at(point) ** float(power))


def test_exponents_are_written_in_one_way():
    cancelled = variable("x", F(1, 2)) * variable("x", F(-1, 2))
    assert cancelled.terms == number(1.0).terms == variable("x", 0).terms == {(): 1.0}
    assert (variable("x", F(3, 2)) * variable("x", F(1, 2))).terms == {(("x", 2),): 1.0}
    assert all(type(p) is int for key in (variable("x", F(4, 2)) * variable("y")).terms for _, p in key)


def test_posynomials_that_are_0_and_names():
    nothing = Posynomial({})
    assert number(0.0).terms == number(-1.0).terms == nothing.terms and number(0.5).terms == {(): 0.5}
    assert nothing.power(F(1, 2)) is nothing and not nothing.is_monomial and nothing.at({}) == 0
    for power in (0, -1):
        with pytest.raises(NotPosynomialError):
            nothing.power(power)
    both = variable("x") + number(2.0)
    assert both.exponent("x") == {0, 1} and both.names == {"x"} and variable("x").is_monomial


def test_how_large_a_posynomial_may_become(monkeypatch):
    both = variable("x") + number(1.0)
    assert len(both.power(posynomial.MAX_POWER).terms) == 25
    for power in (25, F(1, 2), -1, 0):
        with pytest.raises(NotPosynomialError, match="of a sum"):
            both.power(power)
    monkeypatch.setattr(posynomial, "MAX_MONOMIALS", 4)
    assert len((both * both).terms) == 3
    with pytest.raises(NotPosynomialError, match="too many"):
        (both * both) * both


@pytest.mark.parametrize(
    ("expr", "box", "above", "below"),
    [
        (x - 1, (2.0, 5.0), {1: 0.8}, {1: 0.5}),
        (x - 1, (1.0, inf), {1: 1.0}, {}),
        (x - 1, (0.5, 0.75), {}, {}),
        (2 * x**2 - 3, (2.0, 4.0), {2: 2 * (1 - 3 / 32)}, {2: 2 * (1 - 3 / 8)}),
        (1 - x, (0.25, 0.5), {0: 0.75}, {0: 0.5}),
        (5 - 2 * x, (0.5, inf), {0: 4.0}, {}),
        (1 - x, (2.0, 3.0), {}, {}),
        (x - 1 / x, (2.0, 3.0), {1: 1.0}, None),
        (x**2 - x, (2.0, 3.0), {2: 1.0}, None),
        (1 - 1 / x, (2.0, 4.0), {0: 1.0}, None),
        (x + 1 - 2 * y, (2.0, 3.0), {0: 1.0, 1: 1.0}, None),
        (x - 1, (3.0, 3.0), {0: 2.0}, {0: 2.0}),
        (x - y, (3.0, 3.0), {0: 3.0}, {}),
    ],
)
def test_a_difference_is_bounded_at_the_ends_of_its_box(expr, box, above, below):
    """Power of x -> coefficient; what is bounded below by nothing is refused."""
    for upper, wanted in ((True, above), (False, below)):
        converter = Converter({"x": box}, upper)
        if wanted is None:
            with pytest.raises(NotPosynomialError, match="no lower bound"):
                converter.convert(expr)
            continue
        found = converter.convert(expr).terms
        assert {dict(key).get("x", 0): value for key, value in found.items()} == pytest.approx(wanted)
        assert all(dict(key).keys() <= {"x"} for key in found)
        assert bool(converter.replacements) is (box[0] != box[1] or expr.has(y))


@pytest.mark.parametrize("expr", [x ** sp.sqrt(2), x**y, 2 * x**sp.pi + 1])
def test_a_power_that_is_no_ratio_is_refused(expr):
    with pytest.raises(NotPosynomialError, match=r"^exponent (sqrt\(2\)|y|pi)$"):
        Converter({}).convert(expr)


def test_the_smaller_of_two_is_one_of_them_above_and_a_constant_below():
    smaller = sp.Min(x + 2, 5 * x + 1)
    for low, wanted in ((0.0, {0: 1.0, 1: 5.0}), (1.0, {0: 2.0, 1: 1.0})):
        found = Converter({"x": (low, inf)}, True).convert(smaller)
        assert {dict(key).get("x", 0): value for key, value in found.terms.items()} == wanted
    assert Converter({}, False).convert(smaller).terms == {(): 1.0}
    with pytest.raises(NotPosynomialError):
        Converter({}, False).convert(sp.Min(x, x**2 + 1))


def test_a_new_variable_stands_for_the_largest():
    converter = Converter({})
    found = converter.convert(sp.Max(x, y**2) * 3)
    (name,) = found.names
    assert name == f"{posynomial.AUXILIARY}0" and found.terms == {((name, 1),): 3.0}
    values = sorted(part.at({"x": 2.0, "y": 5.0, name: 10.0}) for part in converter.sides)
    assert values == pytest.approx([0.2, 2.5])
    root = converter.convert(sp.sqrt(x + y))
    assert (
        root.is_monomial
        and root.at({f"{posynomial.AUXILIARY}2": 9.0}) == pytest.approx(3.0)
        and len(converter.sides) == 3
    )
    assert Converter({}).convert(sp.Max(x, 0)).terms == {(("x", 1),): 1.0}


def test_a_condition_is_a_posynomial_below_one_where_it_holds():
    left, right = (x**2 + 3 * y) / x, 7 * y / (x + 1)
    part = condition_parts(left, right, Converter({}))
    for point in ({"x": 0.1, "y": 3.0}, {"x": 2.5, "y": 0.7}):
        exact = [float(side.subs({x: point["x"], y: point["y"]})) for side in (left, right)]
        assert part.at(point) == pytest.approx(exact[0] / exact[1])
    assert condition_parts(x, 2 * y, Converter({})).at({"x": 3.0, "y": 1.5}) == pytest.approx(1.0)


# --- programs ---------------------------------------------------------------------------------------------------------


NAMES = ("x", "y", "z")


def random_posynomial(rng: Random, size: int) -> Posynomial:
    total = Posynomial({})
    for _ in range(size):
        part = Posynomial.number(rng.uniform(0.1, 10))
        for name in NAMES:
            part = part * Posynomial.variable(name, Q(rng.randint(-4, 4), 2))
        total = total + part
    return total


def random_program(rng: Random) -> Program:
    box = [
        (f"{n} to the {power}", Posynomial.variable(n, power) * Posynomial.number(0.01))
        for n in NAMES
        for power in (1, -1)
    ]
    extra = [(f"c{i}", random_posynomial(rng, rng.randint(1, 3)) * Posynomial.number(0.1)) for i in range(2)]
    return Program(random_posynomial(rng, 4), tuple(box + extra))


def with_cvxpy(program: Program) -> float:
    variables = {name: cp.Variable(pos=True) for name in program.names}

    def expression(part: Posynomial):
        return sum(
            c * cp.prod([variables[n] ** float(p) for n, p in exponents]) if exponents else c
            for exponents, c in part.terms.items()
        )

    limits = [expression(part) <= 1 for _, part in program.constraints]
    problem = cp.Problem(cp.Minimize(expression(program.objective)), limits)
    problem.solve(gp=True, solver="CLARABEL")
    return float(problem.value)


def violated(program: Program, point: dict[str, float], slack: float = 0.0) -> list[str]:
    """Names of the constraints that fail at a point."""
    return [name for name, part in program.constraints if part.at(point) > 1 + slack]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_cvxpy(seed):
    program = random_program(Random(seed))
    solution = solve(program)
    reference = with_cvxpy(program)
    if solution is None:
        assert reference == inf
        return
    assert solution.value == pytest.approx(reference, rel=1e-5)
    assert not violated(program, solution.point, 1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_the_lower_bound_is_one(seed):
    """No admissible random point is below it, and it is close to the optimum."""
    rng = Random(seed)
    program = random_program(rng)
    solution = solve(program)
    if solution is None:
        return
    assert solution.lower <= solution.value and solution.gap < 1e-6
    for _ in range(400):
        point = {name: value * 10 ** rng.gauss(0, 0.5) for name, value in solution.point.items()}
        if not violated(program, point):
            assert program.objective.at(point) >= solution.lower * (1 - 1e-12)


def test_an_infeasible_program_has_no_solution():
    x = Posynomial.variable("x")
    limits = (("small", x * Posynomial.number(2)), ("large", Posynomial.variable("x", -1)))
    assert solve(Program(x, limits)) is None


I, beta, eta = (sp.Symbol(n, positive=True, integer=n == "I") for n in ("I", "beta", "eta"))


@pytest.mark.parametrize(
    "text", ["(I-1)**2*eta", "I*(I-1)+1", "(2*I-1)*(I-1)", "Max(eta, I**2)", "sqrt(eta+I)", "(1-beta)**2*I"]
)
@pytest.mark.parametrize(
    "box",
    [
        {"I": (1.0, 60.0), "beta": (0.01, 0.99)},
        {"I": (2.0, 5.0), "beta": (0.1, 0.4)},
        {"I": (3.0, 3.0), "beta": (0.2, 0.2)},
    ],
)
def test_replacements_bound_from_both_sides(text, box):
    expr = sp.sympify(text, {"I": I, "beta": beta, "eta": eta})
    exact, rng = sp.lambdify((I, eta, beta), expr), Random(text)
    for upper in (True, False):
        converter = Converter(box, upper)
        bound = converter.convert(expr)
        for _ in range(50):
            point = {"I": float(rng.randint(*map(int, box.get("I", (1, 60))))), "eta": 10 ** rng.uniform(-3, 1)}
            point["beta"] = rng.uniform(*box.get("beta", (0.01, 0.99)))
            value = exact(*(point[name] for name in ("I", "eta", "beta")))
            found = evaluate_with_auxiliaries(bound, converter, point)
            assert found >= value * (1 - 1e-9) if upper else found <= value * (1 + 1e-9)
            if box and box["I"][0] == box["I"][1]:
                assert found == pytest.approx(value)


@pytest.mark.parametrize("seed", range(60))
def test_differences_of_either_sign_are_bounded_from_both_sides(seed):
    """Products, powers and sums of differences: what is not seen to be nonnegative has no lower bound, or none that is too large."""
    rng = Random(seed)
    letters = {"x": beta, "y": eta, "n": I}

    def difference() -> sp.Expr:
        v, w = rng.choice([*letters.values()]), rng.choice([*letters.values()])
        c, power = sp.Rational(rng.randint(1, 6), rng.randint(1, 3)), rng.choice([1, 1, 2, sp.Rational(1, 2), -1])
        return rng.choice([v**power - c, c - v**power, v**2 - w, 2 * v - 1])

    for _ in range(12):
        expr = sp.Mul(*(difference() ** rng.choice([1, 1, 2, 3, -2, -1]) for _ in range(rng.randint(1, 3))))
        expr += rng.choice([0, beta, 1 / I, eta**2])
        box = {"beta": rng.choice([(0.0, inf), (0.5, inf), (0.0, 1.0), (1.0, 4.0)]), "I": (1.0, inf)}
        for upper, signed in product((True, False), repeat=2):
            try:
                bound = Converter(box, upper, signed).convert(expr)
            except NotPosynomialError:
                continue
            for _ in range(12):
                low, high = box["beta"]
                point = {"beta": min(max(low, 10 ** rng.uniform(-2, 1.5)), high), "eta": 10 ** rng.uniform(-2, 1.5)}
                point["I"] = float(rng.randint(1, 30))
                value = expr.xreplace({letter: sp.Float(point[str(letter)]) for letter in letters.values()})
                if value.is_real and (
                    upper or signed or value >= 0
                ):  # without `signed` the whole is taken to be nonnegative
                    found, room = bound.at(point), 1e-9 * (1 + abs(float(value)))
                    assert found >= value - room if upper else found <= value + room, (expr, box, upper, signed, point)


def evaluate_with_auxiliaries(bound: Posynomial, converter: Converter, point: dict[str, float]) -> float:
    """Auxiliary variables at the least value that their own constraints allow."""
    full = dict(point)
    for part in converter.sides:
        (name,) = (n for n in part.names if n.startswith("aux"))
        needed = part.at({**full, name: 1.0})
        full[name] = max(full.get(name, 0.0), needed)
    return bound.at(full)


def test_what_is_no_posynomial_is_refused():
    for text in ("exp(eta)", "1/(eta+I)", "eta-I*beta"):
        with pytest.raises(NotPosynomialError):
            Converter({}, upper=False).convert(sp.sympify(text, {"I": I, "beta": beta, "eta": eta}))
    with pytest.raises(NotPosynomialError):
        condition_parts(eta, eta**2 + I, Converter({}))


@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (9, 3)])
def test_a_matrix_by_columns_is_the_one_of_scipy(shape):
    rng = np.random.default_rng(sum(shape))
    for share in (0.0, 0.3, 1.0):
        matrix = rng.normal(size=shape) * (rng.random(shape) < share)
        wanted, got = csc_matrix(matrix), Columns.of(matrix)
        assert wanted.shape == got.shape and wanted.has_canonical_format and got.has_canonical_format
        for name in ("data", "indices", "indptr"):
            assert getattr(wanted, name).tolist() == getattr(got, name).tolist()


# --- by hand ----------------------------------------------------------------------------------------------------------------------


def test_a_program_by_hand():
    """x + 4/x is least, 4, at x = 2; below x = 1 it is 5, and a percent more room is worth 3/5 of a percent."""
    objective = variable("x") + variable("x", -1) * number(4.0)
    free = solve(Program(objective, ()))
    assert free.point["x"] == pytest.approx(2, rel=1e-4) and free.value == pytest.approx(4, rel=1e-9)
    assert free.lower <= free.value and free.gap < 1e-8 and free.prices == {} and free.escapes == ()
    limited = solve(Program(objective, (("cap", variable("x")), ("fixed", number(1.0)), ("empty", Posynomial({})))))
    assert limited.value == pytest.approx(5, rel=1e-8) and limited.prices == {"cap": pytest.approx(3 / 5, rel=1e-5)}
    twice = solve(Program(objective, (("cap", variable("x")), ("cap", variable("x") * number(0.5)))))
    assert twice.prices["cap"] == pytest.approx(3 / 5, rel=1e-5)
    assert solve(Program(objective, (("cap", variable("x")),)), proved=False).lower == 0.0
    assert solve(Program(objective, (("no", number(1 + 1e-11)),))) is None
    with pytest.raises(ValueError, match="nothing to minimise"):
        solve(Program(Posynomial({}), ()))
    assert solve(Program(number(3.0), (("fixed", number(0.5)),))) == Solution({}, 3.0, 3.0, {})
    made = Program(objective, (("a", variable("z") + number(1.0)), ("b", variable("y"))))
    assert made.names == ("x", "y", "z") and made.size == 5


def test_an_objective_that_has_no_least_value_runs_to_the_edge():
    found = solve(Program(variable("x", -1), (("y", variable("y") + variable("y", -1) * number(0.2)),)))
    assert found.escapes == ("x",) and found.value == pytest.approx(exp(-80), rel=1e-3)


def test_the_price_of_a_product_and_of_a_sum():
    """3/x with x <= 2 falls by one per cent for each, and so does x with 1/x + 1/(3 x) <= 1; nothing else costs anything."""
    at_most = ("cap", variable("x") * number(0.5))
    one = solve(Program(variable("x", -1) * number(3.0), (at_most,)))
    least = ("sum", variable("x", -1) + variable("x", -1) * number(1 / 3))
    half = solve(Program(variable("x"), (least, ("wide", variable("x") * number(0.1)))))
    assert (one.value, half.value) == (pytest.approx(1.5, rel=1e-8), pytest.approx(4 / 3, rel=1e-8))
    assert one.prices == {"cap": pytest.approx(1, abs=1e-6)}
    assert half.prices == {"sum": pytest.approx(1, abs=1e-6), "wide": pytest.approx(0, abs=1e-6)}


@pytest.mark.parametrize("share", [0.89, 0.91])
def test_which_variables_ran_into_the_edge(share):
    """A variable escapes where its logarithm is more than nine tenths of the way to the edge of the search, up or down."""
    for direction in (1, -1):
        edge = number(exp(direction * share * 700))
        cap = variable("x", -direction) * edge.power(direction)
        found = solve(Program(variable("x", direction) + variable("y") + variable("y", -1), (("far", cap),)))
        assert found.escapes == (("x",) if share > 0.9 else ())


# --- the lower bound does not rely on the solver ----------------------------------------------------------------------------------


def solved(program: Program, x, prices=(), status: str = "Solved", **how) -> Solution | None:
    """The answer where the solver says this, true or not: logarithms of the variables, and prices of the constraints."""
    told = SimpleNamespace(status=status, x=[*x, 0.0], z=[1.0, *prices, *[0.0] * 9])
    with patch.object(clarabel, "DefaultSolver", lambda *given: SimpleNamespace(solve=lambda: told)):
        return solve(program, **how)


FACTORS = st.floats(0.2, 5)
AWAY = st.floats(-2, 2)


@given(FACTORS, FACTORS, FACTORS, FACTORS, AWAY, AWAY, st.floats(-2, 2))
def test_whatever_the_solver_says_what_is_proved_is_below_the_optimum(a, b, c, d, right, up, price):
    """x/a + b y + c/(x y) with y <= d is least at y = min(d, (c/(a b^2))^(1/3)); the optimum itself proves all of it."""
    goal = variable("x") * number(1 / a) + variable("y") * number(b) + variable("x", -1) * variable("y", -1) * number(c)
    program = Program(goal, (("limit", variable("y") * number(1 / d)),))
    y = min(d, (c / (a * b**2)) ** (1 / 3))
    x = sqrt(a * c / y)
    least, worth = 2 * sqrt(c / (a * y)) + b * y, max(sqrt(c / (a * y)) - b * y, 0.0)
    told = solved(program, [log(x) + right, log(y) + up], [price])
    assert told.lower <= least * (1 + 1e-9) and told.lower <= told.value
    honest = solved(program, [log(x), log(y)], [worth / least])
    assert honest.lower == pytest.approx(least, rel=1e-9) == honest.value


def test_what_is_proved_is_no_more_than_the_value_and_a_number():
    """x with 3/x <= 1 at x = 2, which is not admissible; a bound beyond the largest double; weights that cannot cancel."""
    at_least = Program(variable("x"), (("least", variable("x", -1) * number(3.0)),))
    assert solved(at_least, [log(2.0)], [1.0]).lower == pytest.approx(2.0)
    far = Program(variable("x") * number(1e300), (("least", variable("x", -1) * number(exp(70.0))),))
    assert solved(far, [70.0], [1.0]).lower == pytest.approx(exp(700.0))
    alone = solve(Program(variable("x"), ()))
    assert alone.lower == 0.0 and alone.escapes == ("x",) and alone.value == pytest.approx(exp(-80), rel=1e-3, abs=0)
    steep = variable("x", 9) * variable("y") + variable("x", 9) * variable("y", -1) * number(3.0)
    high = solve(Program(steep, (("least", variable("x", -1) * number(exp(70.0))),)))
    assert log(high.lower) == pytest.approx(630 + log(2 * sqrt(3)), rel=1e-9)


def test_what_is_left_of_an_exponent_counts_over_the_whole_range():
    """x^(1e-10) is least at the far edge of the range, x = e^-700, and not 1 anywhere near."""
    assert log(solved(Program(variable("x", Q(1, 10**10)), ()), [0.0]).lower) == pytest.approx(-700e-10, rel=1e-6)
    assert solved(Program(variable("x", Q(1, 10**8)), ()), [0.0]).lower == 0.0


ONE, BOTH = variable("x"), variable("x") * number(0.5) + number(0.5)


@pytest.mark.parametrize("limit", [ONE, BOTH])
@pytest.mark.parametrize(
    ("status", "x", "trusted"),
    [
        ("Solved", 1.0, True),
        ("AlmostSolved", 1.0, True),
        ("InsufficientProgress", 0.0, True),
        ("InsufficientProgress", 0.9e-6, True),
        ("InsufficientProgress", 3e-6, False),
        ("MaxIterations", -0.5, True),
        ("MaxIterations", 1.0, False),
        ("PrimalInfeasible", 0.0, False),
    ],
)
def test_how_far_the_solver_is_trusted(status, x, trusted, limit):
    """What it calls solved is taken; where it gave up, a point at which x <= 1 holds; nothing where it says that there is none."""
    found = solved(Program(variable("x"), (("limit", limit),)), [x], [0.25], status, proved=False)
    assert found == (Solution({"x": exp(x)}, exp(x), 0.0, {"limit": 0.25}) if trusted else None)


# --- branch and bound, against every whole number ---------------------------------------------------------------------


m, n = (sp.Symbol(name, positive=True, integer=True) for name in "mn")


def solution(**point):
    return Solution(point, 1.0, 0.5, {})


SIZES = st.floats(0.5, 20)
EVERYWHERE = {"m": (1.0, 12.0), "n": (1.0, 12.0), "x": (0.0, inf)}


def problem(a: float, b: float, c: float, d: float):
    """a x/m + b m n + c/(n x) + d (m - 1)^2 with m n <= 12; its least value, the real x = sqrt(c m/(a n)) put in."""
    goal = sp.Float(a) * x / m + sp.Float(b) * m * n + sp.Float(c) / (n * x) + sp.Float(d) * (m - 1) ** 2

    def make(converter):
        return converter.convert(goal), [("product", converter.convert(m * n) * number(1 / 12))]

    pairs = [(i, j) for i in range(1, 13) for j in range(1, 13) if i * j <= 12]
    return make, pairs, min(2 * sqrt(a * c / (i * j)) + b * i * j + d * (i - 1) ** 2 for i, j in pairs)


@settings(max_examples=25)
@given(SIZES, SIZES, SIZES, st.floats(0.01, 2))
def test_branch_and_bound_finds_the_least_of_all_whole_numbers(a, b, c, d):
    make, pairs, best = problem(a, b, c, d)
    found = minimise(make, EVERYWHERE, ("m", "n"))
    assert found.value == pytest.approx(best, rel=2e-6) and found.lower <= best * (1 + 1e-9) and found.gap < 1e-4
    assert (found.point["m"], found.point["n"]) in pairs and found.nodes >= 1 and found.escapes == ()


@settings(max_examples=25)
@given(SIZES, SIZES, SIZES, st.floats(0.01, 2), st.sampled_from([1, 7, 12]), st.sampled_from([0.0, 1e-6, 0.3]))
def test_what_is_proved_holds_wherever_the_search_stops(a, b, c, d, nodes, gap):
    make, _, best = problem(a, b, c, d)
    found = minimise(make, EVERYWHERE, ("m", "n"), nodes=nodes, gap=gap)
    assert found.lower <= best * (1 + 1e-9) and best <= found.value * (1 + 1e-9) and found.lower <= found.value
    assert 1 <= found.nodes <= max(nodes, 6) and (found.gap <= gap + 1e-9 or found.nodes == max(nodes, 6))


@pytest.mark.parametrize(
    ("expr", "box", "least", "boxes"),
    [
        (1 / (x * (1 - x)), {"x": (0.01, 0.99)}, 4, {0.3: 4, 0.1: 10}),
        (1 / (x * (1 - x)), {"x": (0.3, 0.99)}, 4, {0.1: 30, 0.025: 30}),
        (1 / (x * (1 - x)), {"x": (0.01, 0.7)}, 4, {0.1: 30, 0.025: 30}),
        ((x**2 + 9) / (x - 1), {"x": (1.5, 90.0)}, 2 + 2 * sqrt(10), {0.3: 3, 0.1: 6, 0.01: 18}),
        (
            (m**2 + 90 * x) / (m - 1) + 40 / x,
            {"m": (2.0, inf), "x": (0.0, inf)},
            256 / 15 + 2 * sqrt(240),
            {0.1: 1, 0.01: 7, 1e-6: 9},
        ),
    ],
)
def test_a_search_takes_as_many_boxes_as_the_gap_asks_for(expr, box, least, boxes):
    """Replaced factors cost boxes: no more of them than this, and the last ones only where more is asked."""
    for gap, most in boxes.items():
        found = minimise(lambda c: (c.convert(expr), []), box, tuple(name for name in box if name == "m"), gap=gap)
        assert found.gap <= gap and found.nodes <= most, gap
        assert found.lower <= least * (1 + 1e-9) and found.value >= least * (1 - 1e-9)


def test_a_point_is_looked_for_again_in_narrower_boxes():
    """From above, x - 1 is known nearly exactly only beside the point: one box, and within a hundredth of a best answer there."""
    found = minimise(lambda c: (c.convert((x**2 + 9) / (x - 1)), []), {"x": (1.5, inf)}, (), gap=1.0)
    assert found.nodes == 1 and found.value == pytest.approx(2 + 2 * sqrt(10), rel=0.09)


@pytest.mark.parametrize(("more", "asked", "nodes"), [(0, 12, 12), (0, 2, 6), (46, 40, 20), (190, 40, 6)])
def test_a_long_statement_is_searched_in_fewer_boxes(more, asked, nodes):
    """At most 1000 monomials in all boxes together, of which each has four and these, but six boxes always."""
    limits = [("far", variable("x") * number(1e-9))] * more

    def make(converter):
        return converter.convert((x**2 + 9) / (x - 1)), limits

    assert minimise(make, {"x": (1.5, 90.0)}, (), nodes=asked, gap=-1.0).nodes == nodes


def test_what_runs_to_the_edge_is_told():
    assert minimise(lambda c: (c.convert(m / x), []), {"x": (0.0, inf), "m": (1.0, 3.0)}, ("m",)).escapes == ("x",)


def test_where_nothing_is_admissible_the_lower_bound_is_infinite():
    none = minimise(lambda c: (c.convert(x), [("a", number(2.0))]), {"x": (0.0, inf)}, ())
    assert (none.value, none.lower, none.point) == (inf, inf, {})

    def empty(converter):
        raise EmptyBoxError("a")

    assert minimise(empty, {"x": (0.0, inf)}, ()).lower == inf and relaxed(empty, {"x": (0.0, inf)}) is None


def test_a_gap_is_a_share_of_the_value():
    assert Solution({}, 4.0, 3.0, {}).gap == Found(4.0, {}, 3.0).gap == 0.25
    assert Solution({}, 0.0, 0.0, {}).gap == Found().gap == Found(0.0).gap == 0.0
    assert Found(4.0, {}, 5.0).gap == 0.0


@pytest.mark.parametrize(
    ("box", "tighten", "names"),
    [
        ({"x": (2.0, 8.0)}, 1.0, {"limit": 0.5, "x at least 2": 0.4, "x at most 8": 0.625}),
        ({"x": (0.0, inf)}, 0.5, {"limit": 1.0}),
        ({"x": (5.0, 5.0)}, 0.5, {"limit": 0.5}),
    ],
)
def test_a_box_is_part_of_the_program(box, tighten, names):
    """At x = 5: the limit x/10 <= 1, with room in it where it has a variable, and the ends of the box."""
    made, converter = program(
        lambda c: (c.convert(x), [("limit", c.convert(x) * number(0.1))]), box, upper=True, tighten=tighten
    )
    assert {name: part.at({"x": 5.0}) for name, part in made.constraints} == pytest.approx(names)
    assert converter.upper and not program(lambda c: (c.convert(x), []), box, upper=False)[1].upper


# --- its parts --------------------------------------------------------------------------------------------------------------------


def test_a_dive_fixes_the_smallest_first_and_takes_the_better_neighbour():
    """m + 6/m is 5 at 2 and at 3, and m n/7 + 7/(m n) then wants n = 3.5 or 7/3."""
    asked = []
    values = {(2.0, 3.0): 9.0, (2.0, 4.0): 8.0, (3.0, 2.0): 7.0}

    def solve_at(box):
        asked.append({name: pair[0] for name, pair in box.items() if pair[0] == pair[1]})
        fixed = asked[-1]
        if len(fixed) == 2:
            value = values.get((fixed["m"], fixed["n"]))
            return None if value is None else Solution({"n": 99.0, "z": 0.5}, value, 0.0, {})
        return Solution({"n": 3.4 if fixed["m"] == 2 else 2.0}, {2.0: 5.0, 3.0: 6.0}[fixed["m"]], 0.0, {})

    box = {"n": (1.0, 9.0), "m": (1.0, 9.0)}
    point, value = dive(solve_at, box, ("n", "m"), solution(n=5.0, m=2.5))
    assert (point, value) == ({"n": 4.0, "m": 2.0, "z": 0.5}, 8.0)
    assert asked[:2] == [{"m": 2.0}, {"m": 3.0}] and {"m": 3.0, "n": 2.0} not in asked
    values.clear()
    assert dive(solve_at, box, ("n", "m"), solution(n=5.0, m=2.5)) == ({}, inf)
    assert dive(lambda box: None, {"n": (4.0, 4.0)}, ("n",), solution()) == ({}, inf)
    asked.clear()
    values[(2.0, 3.0)] = 9.0
    dive(solve_at, {"n": (3.0, 9.0), "m": (2.0, inf)}, ("n", "m"), solution(n=5.0))
    assert asked == [{"m": 2.0}, {"m": 2.0, "n": 3.0}, {"m": 2.0, "n": 4.0}, {"m": 2.0, "n": 3.0}], "of m the lower end"


@pytest.mark.parametrize(
    ("value", "low", "high", "found"),
    [
        (3.4, 1.0, 9.0, [3, 4]),
        (3.0, 1.0, 9.0, [3]),
        (0.2, 1.0, inf, [1]),
        (11.7, 1.0, 9.5, [9]),
        (3.4, 3.2, 9.0, [4]),
        (1e7, 1.0, inf, [10**7]),
        (2e8, 1.0, inf, [2 * 10**8 - 2, 2 * 10**8, 2 * 10**8 + 2]),
        (2.5e8, 1.0, inf, [249999997, 25 * 10**7, 250000003]),
    ],
)
def test_a_dive_tries_the_neighbours_of_a_number_in_its_box(value, low, high, found):
    tried = []
    dive(lambda box: tried.append(box["n"][0]), {"n": (low, high)}, ("n",), solution(n=value))
    assert tried == found


@pytest.mark.parametrize(
    ("box", "at", "replaced", "parts"),
    [
        ((1.0, 9.0), 4.0, True, [(1, 4), (5, 9)]),
        ((4.0, 9.0), 4.2, True, [(4, 6), (7, 9)]),
        ((1.0, 9.0), 8.5, True, [(1, 3), (4, 9)]),
        ((10.0, 90.0), 15.0, True, [(10, 15), (16, 90)]),  # from a tenth above the lower end
        ((10.0, 90.0), 11.0, True, [(10, 30), (31, 90)]),
        ((10.0, 90.0), 80.0, True, [(10, 80), (81, 90)]),  # to a tenth below the upper one
        ((10.0, 90.0), 81.0, True, [(10, 30), (31, 90)]),
        ((1.0, inf), 1.0, True, [(1, 1), (2, inf)]),
        ((5.0, 6.0), 6.0, True, [(5, 5), (6, 6)]),
        ((1.0, 9.0), 4.5, False, [(1, 4), (5, 9)]),
        ((1.0, 9.0), 4.0, False, []),
        ((1.0, 4.0), 4.5, False, []),
        ((5.0, 9.0), 4.5, False, []),
        ((3.0, 3.0), 3.0, True, []),
    ],
)
def test_a_box_is_split_at_a_whole_number(box, at, replaced, parts):
    names = {"the factor": frozenset({"I"})} if replaced else {}
    found = split({"I": box, "z": (1.0, 2.0)}, ("I",), solution(I=at), names)
    assert [part["I"] for part in found] == parts and all(part["z"] == (1.0, 2.0) for part in found)


@pytest.mark.parametrize(
    ("box", "at", "middle"),
    [
        ((1.0, 9.0), 4.0, 4.0),
        ((4.0, 9.0), 4.2, 6.0),
        ((1.0, 9.0), 8.5, 3.0),
        ((10.0, 90.0), 15.0, 15.0),
        ((10.0, 90.0), 11.0, 30.0),
        ((10.0, 90.0), 80.0, 80.0),
        ((10.0, 90.0), 81.0, 30.0),
        ((0.0, 8.0), 7.5, None),
        ((1.0, 1.0 + 1e-5), 1.0, (1.0 + 1e-5) ** 0.5),
        ((0.0, inf), 2.0, 2.0),
        ((1.0, inf), 1.0, None),
        ((1.0, 1.0 + 1e-7), 1.0, None),
    ],
)
def test_a_box_is_split_at_a_real_number(box, at, middle):
    found = split({"x": box}, (), solution(x=at), {"the factor": frozenset({"x", "gone"})})
    assert [part["x"] for part in found] == ([] if middle is None else [(box[0], middle), (middle, box[1])])


def test_a_box_is_split_where_the_program_does_not_know_its_variable():
    """Somewhere inside where there is no lower end; at the lower end nothing can be split off."""
    names = {"the factor": frozenset({"x"})}
    (left, right) = split({"x": (0.0, inf)}, (), solution(), names)
    assert left["x"][0] == 0.0 < left["x"][1] == right["x"][0] < right["x"][1] == inf
    assert split({"x": (2.0, inf)}, (), solution(), names) == []


def test_the_whole_number_farthest_from_one_is_split_where_nothing_is_replaced():
    found = split({"a": (1.0, 9.0), "b": (1.0, 9.0)}, ("a", "b"), solution(a=3.1, b=5.5), {})
    assert [part["b"] for part in found] == [(1, 5), (6, 9)] and found[0]["a"] == (1.0, 9.0)
    box = {"a": (1.0, 9.0), "b": (1.0, 9.0), "c": (4.0, 4.0)}  # nothing is known of a, and c is fixed
    found = split(box, ("a", "b", "c"), solution(b=5.1, c=4.5), {})
    assert [part["b"] for part in found] == [(1, 5), (6, 9)] and all(part["a"] == (1.0, 9.0) for part in found)
