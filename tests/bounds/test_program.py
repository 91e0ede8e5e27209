"""Geometric programs: against cvxpy on random instances, proved lower bounds, and the replacements."""

from __future__ import annotations

from fractions import Fraction as Q
from math import inf
from random import Random

import cvxpy as cp
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.optimum.posynomial import Converter, NotPosynomialError, Posynomial, condition_parts
from fedco.bounds.optimum.program import Columns, Program, solve
from scipy.sparse import csc_matrix

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
    assert not program.violated(solution.point, 1e-6)


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
        if not program.violated(point):
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
    rng = Random(text)
    for upper in (True, False):
        converter = Converter(box, upper)
        bound = converter.convert(expr)
        for _ in range(50):
            point = {"I": float(rng.randint(*map(int, box.get("I", (1, 60))))), "eta": 10 ** rng.uniform(-3, 1)}
            point["beta"] = rng.uniform(*box.get("beta", (0.01, 0.99)))
            value = float(expr.subs({I: int(point["I"]), beta: point["beta"], eta: point["eta"]}))
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
