"""What every registered statement becomes in a simpler world, and mutants of the properties of test_registry."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp
from fedco.bounds.evaluation.evaluate import complete
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.language.theorem import DeclarationError, Statement, Theorem
from hypothesis import given
from registry_cases import MISSING, STATEMENTS, THEOREMS, anywhere, every_statement, few, find, named, number

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
        if name.partition(".")[0] not in MISSING:
            theorem = THEOREMS[name]
            assert any(staying(theorem, theorem.statement(label), world) for label in theorem.labels), (world, name)


# --- special cases that are known under another name -----------------------------------------------------------------

LOSS = {"L": 2, "B": 3, "rho": 5, "sigma_G": 7, "sigma_H": 11, "gamma_G": 13, "gamma_H": 17, "alpha": Fraction(1, 10)}
COSTS = {"kappa_G": 7**4, "kappa_H": 11**4, "D": 4, "D_H": 9}


def meta(name: str, label: str, steps: int) -> dict[str, float]:
    theorem = THEOREMS[f"meta_fl.{name}"]
    values = {key: value for key, value in {**LOSS, **COSTS, "nu": steps}.items() if key in theorem.symbols(label)}
    return theorem.bound(label, strict=False, **values).derived


@pytest.mark.parametrize("label", ["printed", "composed"])
def test_without_fine_tuning_the_objective_is_that_of_fedavg(label):
    assert meta("lemma_4", label, 0)["L_F"] == LOSS["L"]


def test_without_fine_tuning_the_corrected_constants_are_those_of_fedavg():
    moments = meta("lemma_6", "corrected", 0)
    assert (moments["mu_F"], moments["sigma_F"]) == (0, LOSS["sigma_G"] / 2)
    assert meta("lemma_7", "corrected", 0)["gamma_F"] == LOSS["gamma_G"]


@pytest.mark.parametrize("label", ["printed", "composed"])
def test_one_step_of_fine_tuning_has_the_smoothness_of_per_fedavg(label):
    """(1 + alpha L)^2 L + alpha rho B, which Per-FedAvg rounds up to 4 L + alpha rho B for alpha <= 1/L."""
    L, rho, B, alpha = LOSS["L"], LOSS["rho"], LOSS["B"], LOSS["alpha"]
    assert meta("lemma_4", label, 1)["L_F"] == float((1 + alpha * L) ** 2 * L + alpha * rho * B)


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
    from test_registry import directions, misfits

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
