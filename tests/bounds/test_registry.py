"""Properties of every registered statement, generated from the registry: a new theorem gets them for free.

And what each becomes in a simpler world, and mutants of these properties."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isclose

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.evaluation.evaluate import bound, complete, evaluate, holds
from fedco.bounds.evaluation.strategies import satisfies, values
from fedco.bounds.language.dimension import Dimension, modulo
from fedco.bounds.language.homogeneity import InhomogeneousError, dimension_of
from fedco.bounds.language.quantities import COUNT, QUANTITIES, STEPS
from fedco.bounds.language.theorem import Condition, DeclarationError, Statement, Theorem
from hypothesis import given
from hypothesis import strategies as st
from quick import slow_but
from refusal import is_refused
from registry_cases import (
    REPRESENTATIVES,
    STATEMENTS,
    THEOREMS,
    anywhere,
    category,
    every_statement,
    few,
    find,
    named,
    number,
    total,
)

KNOWN_LARGER_WITH_T = {
    "feddro.theorem_f_6": "bounds a sum over T steps, not an average",
    "fcsg.lemma_b_1": "bounds a sum over T steps, not an average",
    "fcsg_m.lemma_c_2": "bounds a sum over T steps, not an average",
    "fcsg_m.lemma_c_3": "bounds a sum over T steps, not an average",
    "acc_fcsg_m.lemma_d_3": "bounds a sum over T steps, not an average",
    "fcsg.remark_4_3": "counts communication rounds",
    "fcsg_m.remark_4_6": "counts communication rounds",
    "acc_fcsg_m.remark_4_9": "counts communication rounds",
    "local_scgdm.remark_3_7": "counts communication rounds",
    "library.sgd_convex_distance": "bounds how far the last iterate may be, to which every step adds noise",
}
"""The only statements that may grow with the horizon, each with its reason."""
KNOWN_SMALLER_WITH_A_CONSTANT = {
    ("local_scgdm.remark_3_6", name): "gives the largest step size, which a worse problem makes smaller"
    for name in ("L_f", "L_g", "C_f", "C_g")
} | {
    (
        "feddro.corollary_1",
        name,
    ): "its step size is a multiple of 1/L_Phi, and the terms of noise and drift of a power of it"
    for name in ("L_h", "L_f", "L_g", "B_f", "B_g")
}
"""(theorem, symbol) of a constant in which a bound may decrease, each with its reason."""


def test_the_registry_is_there():
    assert len(STATEMENTS) >= 100 and {*KNOWN_LARGER_WITH_T} <= {*THEOREMS}


def constructions(name, label):
    """What the code that these tests guard can meet in a statement: nodes, powers, relations, domains, roles, kinds, slips."""
    theorem, statement = find(name, label)
    sides = [side for c in statement.conditions for side in (c.left, c.right)]
    exprs = [item.expr for item in (*statement.terms, *statement.derived)] + sides + [*statement.schedule.values()]
    nodes = {node for expr in exprs for node in sp.preorder_traversal(sp.sympify(expr))}
    bound = [binding.quantity for binding in statement.symbols.values()]
    return {
        *(type(node).__name__ for node in nodes),
        *(f"power {node.exp if node.exp.is_number else 'of a symbol'}" for node in nodes if node.is_Pow),
        *(f"relation {condition.relation}" for condition in statement.conditions),
        *(f"domain {quantity.domain}" for quantity in bound),
        *(f"role {quantity.role}" for quantity in bound),
        *(f"{len(quantity.dimensions)} quantities" for quantity in bound),
        f"{len(theorem.unit_choices)} units",
        f"slips: {bool(theorem.inhomogeneities(statement, theorem.unit_choices))}",
        f"schedule: {bool(statement.schedule)}",
        f"terms: {bool(statement.terms)}",
        *(theorem.kind, label, name.partition(".")[0]),
    }


@pytest.mark.slow
def test_the_quick_statements_have_every_construction():
    every, quick = set[str](), set[str]()
    for name, label in STATEMENTS:
        found = constructions(name, label)
        every |= found
        quick |= found if label in REPRESENTATIVES.get(name, ()) else set()
    assert quick == every, f"add a theorem with {sorted(every - quick)} to REPRESENTATIVES in registry_cases.py"


# --- the generator ---------------------------------------------------------------------------------------------------


@every_statement
def test_the_generator_is_not_degenerate(name, label):
    theorem, _ = find(name, label)
    seen: dict[str, set[Fraction]] = {}

    @few(6)
    @given(point=values(theorem.statement(label), admissible=False))
    def collect(point):
        for symbol, value in point.items():
            seen.setdefault(symbol, set()).add(value)

    collect()
    for symbol, found in seen.items():
        domain = theorem.symbols(label)[symbol].quantity.domain
        assert len(found) >= 2, f"{symbol} takes only the values {found}"
        assert domain not in (COUNT, STEPS) or all(value.denominator == 1 for value in found)
        assert max(found) > 0


@pytest.mark.parametrize(
    "name", slow_but(REPRESENTATIVES, [name for name, t in THEOREMS.items() if t.kind in ("theorem", "corollary")])
)
def test_admissible_values_are_admissible_and_not_degenerate(name):
    theorem = THEOREMS[name]
    label = theorem.labels[-1]
    seen: dict[str, set[Fraction]] = {}

    @few(4)
    @given(point=values(theorem.statement(label)))
    def collect(point):
        assert satisfies(theorem.statement(label), point)
        assert bound(theorem.statement(label), point).admissible
        for symbol, value in point.items():
            seen.setdefault(symbol, set()).add(value)

    collect()
    assert all(len(found) >= 2 for found in seen.values()), seen


# --- homogeneity -----------------------------------------------------------------------------------------------------


def directions(theorem):
    """Rescalings of ([f], [y], [x]), as exponents, that leave every silent unit choice alone."""
    rows = [[u.f, u.y, u.x] for u in theorem.unit_choices] or [[0, 0, 0]]
    basis = sp.Matrix([[sp.Rational(entry) for entry in row] for row in rows]).nullspace()
    denominators = sp.ilcm(1, 1, *(entry.q for vector in basis for entry in vector))
    return [tuple(Fraction(int(entry * denominators)) for entry in vector) for vector in basis]


def factor(dimension: Dimension, direction, base) -> sp.Expr:
    f, y, x = direction
    power = dimension.f * f + dimension.y * y + dimension.x * x
    return sp.Integer(base) ** sp.Rational(power.numerator, power.denominator)


def misfits(theorem, label, point, direction, base) -> list[str]:
    """Terms, constants and conditions that do not follow when the units are rescaled."""
    statement = theorem.statement(label)
    known = {binding.symbol: binding.quantity.dimension for binding in theorem.notation}
    base_point = complete(statement, point)
    rescaled = {symbol: value * factor(known[symbol], direction, base) for symbol, value in base_point.items()}
    old, new = dict(base_point), dict(rescaled)
    for constant in statement.derived:
        old[constant.symbol], new[constant.symbol] = statement.at(constant.expr, old), statement.at(constant.expr, new)

    def follows(expr, dimension):
        before, after = statement.at(expr, old), statement.at(expr, new)
        return isclose(
            number(after), number(before * factor(dimension, direction, base)), rel_tol=1e-12, abs_tol=1e-300
        )

    bad = [f"term {term.name}" for term in statement.terms if not follows(term.expr, theorem.metric.dimension)]
    dimensions = {symbol: modulo(dimension, theorem.unit_choices) for symbol, dimension in known.items()}
    for constant in statement.derived:
        try:
            dimensions[constant.symbol] = modulo(
                dimension_of(sp.sympify(constant.expr), dimensions), theorem.unit_choices
            )
        except (InhomogeneousError, KeyError):
            bad.append(f"constant {constant.name}")
            continue
        if not follows(constant.expr, dimensions[constant.symbol]):
            bad.append(f"constant {constant.name}")
    for condition in statement.conditions:
        sides = [
            Condition(
                condition.name, statement.at(condition.left, p), condition.relation, statement.at(condition.right, p)
            )
            for p in (old, new)
        ]
        if holds(sides[0]) != holds(sides[1]):
            bad.append(f"condition {condition.name}")
    return bad


@every_statement
def test_rescaling_the_units_rescales_the_bound(name, label):
    theorem, statement = find(name, label)
    slips = theorem.inhomogeneities(statement, theorem.unit_choices)
    found: set[str] = set()
    if not directions(theorem):
        pytest.skip("its unit choices fix all three units")
    if any(len(binding.quantity.dimensions) > 1 for binding in statement.symbols.values()):
        pytest.skip("a letter bounds several quantities: no one factor rescales it")

    @few(6 if slips else 1)
    @given(point=anywhere(theorem, label), base=st.sampled_from((2, 3, 7)))
    def rescale(point, base):
        found.update(
            bad for direction in directions(theorem) for bad in misfits(theorem, label, point, direction, base)
        )

    rescale()
    if not slips:
        assert not found
    elif any(slip.where.startswith("term") for slip in slips):
        assert found, "the declared dimensions slip, yet no rescaling shows it"


# --- monotonicity ----------------------------------------------------------------------------------------------------


@every_statement
def test_a_worse_problem_never_has_a_smaller_bound(name, label):
    theorem, statement = find(name, label)
    constants = named(theorem, label, ("noise", "heterogeneity", "gap", "regularity"))

    @few(1)
    @given(point=values(theorem.statement(label)))
    def compare(point):
        here = complete(theorem.statement(label), point)
        exprs = {"total": statement.total} if statement.terms else {item.name: item.expr for item in statement.derived}
        before = {where: number(statement.at(expr, here)) for where, expr in exprs.items()}
        for symbol_name, symbol in constants.items():
            worse = {**here, symbol: 2 * here[symbol] if here[symbol] else sp.Rational(1, 3)}
            for where, expr in exprs.items():
                after, tolerance = number(statement.at(expr, worse)), 1e-12 * abs(before[where])
                excused = (name, symbol_name) in KNOWN_SMALLER_WITH_A_CONSTANT
                assert excused or after >= before[where] - tolerance, (
                    f"{where} falls from {before[where]} to {after} in {symbol}"
                )

    compare()


@pytest.mark.parametrize("name", THEOREMS)
def test_what_has_no_proof_says_why(name):
    theorem = THEOREMS[name]
    if "composed" in theorem.labels:
        assert not theorem.not_composed
    else:
        with is_refused(r"not composed: \w+"):
            theorem.statement("composed")


def test_every_constant_has_a_category():
    found = {category(binding) for name, label in STATEMENTS for binding in THEOREMS[name].symbols(label).values()}
    assert not [kind for kind in found if kind.startswith("unknown")]


@every_statement
def test_a_longer_run_never_has_a_larger_bound(name, label):
    theorem, statement = find(name, label)
    horizon = named(theorem, label, ("iterations", "rounds"))
    if not horizon or not statement.terms:
        pytest.skip("no horizon in this statement")
    grows = []

    @few(1)
    @given(point=values(theorem.statement(label)))
    def compare(point):
        here = complete(theorem.statement(label), point)
        (symbol,) = horizon.values()
        grows.append(total(statement, {**here, symbol: 4 * here[symbol]}) > total(statement, here) * (1 + 1e-12))

    compare()
    assert not any(grows) or name in KNOWN_LARGER_WITH_T


# --- exact, rounded and vectorised -----------------------------------------------------------------------------------


def decided(theorem, label, point) -> bool:
    """Whether every condition holds or fails by a margin that rounding cannot hide."""
    statement = theorem.statement(label)
    known = complete(theorem.statement(label), point)
    sides = [
        [number(statement.at(side, known)) for side in (c.left, c.right)]
        for c in statement.conditions
        if c.relation != "=="
    ]
    return all(abs(left - right) > 1e-9 * (abs(left) + abs(right)) for left, right in sides)


@every_statement
def test_exact_rounded_and_vectorised_values_agree(name, label):
    theorem, statement = find(name, label)
    if not statement.terms:
        pytest.skip("defines constants only")
    points = []

    @few(4)
    @given(point=anywhere(theorem, label))
    def collect(point):
        points.append(point)

    collect()
    exact = [bound(theorem.statement(label), point, strict=False) for point in points]
    arrays = {symbol: np.array([float(point[symbol]) for point in points]) for symbol in points[0]}
    with np.errstate(invalid="ignore"):
        rounded = evaluate(theorem.statement(label), **arrays)
    for index, (point, one) in enumerate(zip(points, exact, strict=True)):
        with np.errstate(invalid="ignore"):
            alone = evaluate(theorem.statement(label), **{symbol: float(value) for symbol, value in point.items()})
        size = sum(abs(value) for value in one.terms.values())
        if np.isnan(rounded["total"][index]):  # 0 times a power beyond double precision, outside the conditions
            assert not one.admissible and any(value == 0 for value in one.terms.values()) and np.isnan(alone["total"])
            continue
        for term, value in one.terms.items():
            assert isclose(rounded["terms"][term][index], value, rel_tol=1e-9, abs_tol=1e-14 * size), term
            assert rounded["terms"][term][index] == alone["terms"][term]
        assert isclose(rounded["total"][index], one.total, rel_tol=1e-9, abs_tol=1e-14 * size)
        if decided(theorem, label, point):
            assert bool(rounded["admissible"][index]) == one.admissible


# --- simpler worlds ---------------------------------------------------------------------------------------------------


LIPSCHITZ = "its variance is bounded through the Lipschitz constants of the samples, not through a noise constant"
APPROXIMATE = "the root mean square error of the approximate gradient counts the approximation too"
TAU = "the drift of this paper counts tau steps where tau - 1 have been taken"
SCHEDULED = "the schedule of q is already put in"
START = "the error of the first estimate is bounded through Lipschitz constants and a batch size"
FIRST_NOISE = "the initial errors of the two estimators come from noise, not from the gap"
WHOLE_PERIOD = "Lemmas A.1 and 4.3 of Local-SCGDM count p steps where p - 1 have been taken"

SIMPLER_WORLDS = {
    "noise": (("noise",), 0, lambda term: term.role == "variance"),
    "heterogeneity": (("heterogeneity",), 0, lambda term: term.role == "heterogeneity"),
    "gap": (("gap",), 0, lambda term: term.role == "initialisation"),
    "period": (("communication_period",), 1, lambda term: term.role == "drift" or term.name.startswith("drift")),
    "participation": (("participation",), 1, lambda term: term.name == "sampling"),
}
"""What is put in for which symbols, and the terms that vanish then."""
KNOWN_TO_STAY = {
    ("noise", "fcsg.theorem_4_1"): LIPSCHITZ,
    ("noise", "fcsg.corollary_4_2"): LIPSCHITZ,
    ("noise", "fcsg.lemma_b_2"): LIPSCHITZ,
    ("noise", "fcsg_m.theorem_4_4"): LIPSCHITZ,
    ("noise", "fcsg_m.corollary_4_5"): LIPSCHITZ,
    ("noise", "acc_fcsg_m.theorem_4_7"): LIPSCHITZ,
    ("noise", "acc_fcsg_m.corollary_4_8"): LIPSCHITZ,
    ("noise", "baselines.scgd"): LIPSCHITZ,
    ("noise", "baselines.biased_sgd"): LIPSCHITZ,
    ("noise", "library.scgd_declining"): LIPSCHITZ,
    ("noise", "meta_fl.theorem_8_FO"): APPROXIMATE,
    ("noise", "meta_fl.theorem_8_HF"): APPROXIMATE,
    ("gap", "fcsg_m.theorem_4_4"): START,
    (
        "period",
        "feddro.corollary_1",
    ): "the corrected corollary covers I - 1 by I, so that its rate is one power of I and T",
    ("gap", "baselines.scgd"): FIRST_NOISE,
    ("gap", "library.scgd_declining"): FIRST_NOISE,
    ("gap", "fcsg_m.corollary_4_5"): START,
    ("gap", "acc_fcsg_m.theorem_4_7"): START,
    ("gap", "acc_fcsg_m.corollary_4_8"): START,
    **{("period", f"comfedl.{name}"): TAU for name in ("theorem_1", "theorem_2", "remark_1", "remark_2")},
    **{("period", f"comfedl.{name}"): TAU for name in ("lemma_2", "lemma_3", "lemma_4")},
    **{("gap", f"local_scgdm.{name}"): FIRST_NOISE for name in ("theorem_3_4", "corollary_3_5", "summed")},
    **{
        ("period", f"local_scgdm.{name}"): WHOLE_PERIOD
        for name in ("theorem_3_4", "summed", "lemma_a_1", "lemma_4_3_step")
    },
    ("period", "local_scgdm.corollary_3_5"): SCHEDULED,
    ("period", "fcsg.corollary_4_2"): SCHEDULED,
    ("period", "fcsg_m.theorem_4_4"): "printed with q^2 where the lemma has q (q - 1)",
    ("period", "fcsg_m.corollary_4_5"): SCHEDULED,
    ("period", "acc_fcsg_m.theorem_4_7"): "q is eliminated through the step size",
    ("period", "acc_fcsg_m.corollary_4_8"): SCHEDULED,
}
"""(world, theorem) where such a term stays, each with its reason."""


def staying(theorem: Theorem, statement: Statement, world: str) -> set[str]:
    """The terms that should vanish in a simpler world and do not."""
    kinds, value, chosen = SIMPLER_WORLDS[world]
    symbols, terms = named(theorem, statement.label, kinds), [term for term in statement.terms if chosen(term)]
    found: set[str] = set()
    if not symbols or not terms:
        return found

    @few(2)
    @given(point=anywhere(theorem, statement.label))
    def simplify(point):
        here = complete(theorem.statement(statement.label), {**point, **{name: Fraction(value) for name in symbols}})
        found.update(term.name for term in terms if number(statement.at(term.expr, here)) != 0)

    simplify()
    return found


@every_statement
def test_a_simpler_world_removes_its_terms(name, label):
    theorem, statement = find(name, label)
    for world in SIMPLER_WORLDS:
        found = staying(theorem, statement, world)
        assert not found or (world, name) in KNOWN_TO_STAY, f"{sorted(found)} stay although there is no {world}"


@pytest.mark.slow
def test_every_exception_is_needed():
    for world, name in KNOWN_TO_STAY:
        theorem = THEOREMS[name]
        assert any(staying(theorem, theorem.statement(label), world) for label in theorem.labels), (world, name)


# --- the problem certifies what a theorem asks for -------------------------------------------------------------------

NOT_CERTIFIED: dict[str, str] = {"initial_inner_error": "a property of the run's start, measured by validation"}
"""Constants that no problem certifies, each with its reason."""


def test_some_problem_certifies_every_constant_of_every_theorem():
    from fedco.synthetic import problem, problems

    certified = {quantity for name in problems() for quantity in problem(name).certificates}
    used = {b.quantity for name, label in STATEMENTS for b in THEOREMS[name].symbols(label).values()}
    constants = {quantity.name for quantity in used if quantity.role == "constant"}
    assert constants - certified == set(NOT_CERTIFIED)
    declared = {name for name, quantity in QUANTITIES.items() if quantity.role == "constant"}
    assert not set(NOT_CERTIFIED) - declared


# --- mutants ---------------------------------------------------------------------------------------------------------


def symbols_of(paper: str):
    """The symbols of a paper."""
    return next(
        t
        for name, t in THEOREMS.items()
        if name in (f"{paper}.theorem_4_1", f"{paper}.theorem_5_1") and name != "feddro.theorem_4_1"
    ).notation.namespace()


def mutant(name: str, label: str, term: str, change) -> tuple[Theorem, Statement]:
    """A copy of a theorem with one term changed."""
    theorem, statement = find(name, label)
    terms = tuple(replace(t, expr=change(t.expr)) if t.name == term else t for t in statement.terms)
    changed = replace(statement, terms=terms)
    return replace(theorem, statements={**theorem.statements, label: changed}), changed


def test_a_mutant_with_a_wrong_power_is_not_homogeneous():

    theorem, _ = mutant("fcsg.theorem_4_1", "printed", "drift", lambda e: e * symbols_of("fcsg").L_f)
    point = dict.fromkeys(theorem.symbols("printed"), Fraction(2))
    assert {found for d in directions(theorem) for found in misfits(theorem, "printed", point, d, 2)} == {"term drift"}


def test_a_corrected_mutant_with_a_wrong_power_cannot_be_built():
    with pytest.raises(DeclarationError, match="not homogeneous"):
        mutant("feddro.theorem_4_2", "corrected", "heterogeneity", lambda e: e * symbols_of("feddro").eta)


def test_a_mutant_with_a_factor_too_few_keeps_its_drift():
    theorem, statement = mutant("fcsg.theorem_4_1", "printed", "drift", lambda e: e / (symbols_of("fcsg").q - 1))
    assert staying(theorem, statement, "period") == {"drift"}
    assert staying(*find("fcsg.theorem_4_1", "printed"), "period") == set()


def test_a_mutant_with_a_new_symbol_is_refused():
    with pytest.raises(DeclarationError, match="not in the notation"):
        mutant("fcsg.theorem_4_1", "printed", "drift", lambda e: e * sp.Symbol("undeclared"))
