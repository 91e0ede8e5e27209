"""Geometric programs: against cvxpy on random instances, proved lower bounds, and the replacements."""

from __future__ import annotations

from fractions import Fraction as Q
from math import exp, inf, log, sqrt
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

import clarabel
import cvxpy as cp
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.optimum.posynomial import Converter, NotPosynomialError, Posynomial, condition_parts
from fedco.bounds.optimum.program import Columns, Program, Solution, solve
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

NAMES = ("x", "y", "z")
number, variable = Posynomial.number, Posynomial.variable


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


def test_prices_are_derivatives():
    program = random_program(Random(3))
    solution = solve(program)
    for number, (name, part) in enumerate(program.constraints):
        eased = list(program.constraints)
        eased[number] = (name, part * Posynomial.number(1 / 1.001))
        moved = solve(Program(program.objective, tuple(eased)))
        price = (solution.value - moved.value) / solution.value / 0.001
        assert price == pytest.approx(solution.prices.get(name, 0.0), abs=2e-2)


def test_an_infeasible_program_has_no_solution():
    x = Posynomial.variable("x")
    limits = (("small", x * Posynomial.number(2)), ("large", Posynomial.variable("x", -1)))
    assert solve(Program(x, limits)) is None


I, beta, eta = (sp.Symbol(n, positive=True, integer=n == "I") for n in ("I", "beta", "eta"))


@pytest.mark.parametrize(
    "text", ["(I-1)**2*eta", "I*(I-1)+1", "(2*I-1)*(I-1)", "Max(eta, I**2)", "sqrt(eta+I)", "(1-beta)**2*I"]
)
@pytest.mark.parametrize("box", [{}, {"I": (2.0, 5.0), "beta": (0.1, 0.4)}, {"I": (3.0, 3.0), "beta": (0.2, 0.2)}])
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


def test_a_condition_with_a_sum_in_its_denominator():
    part = condition_parts(eta, 1 / (2 * eta + I), Converter({}))
    assert part.at({"eta": 0.5, "I": 1.0}) == pytest.approx(1.0)


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


POSITIVE = st.floats(0.2, 5)
AWAY = st.floats(-2, 2)


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE, AWAY, AWAY, st.floats(-2, 2))
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
