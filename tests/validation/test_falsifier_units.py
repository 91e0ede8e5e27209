"""What refuted one change of a term is carried over to others of it, in other units and longer rounds; relaxed conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
import torch
from fedco.bounds.language.change import Change
from fedco.bounds.language.dimension import Dimension
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.registry import get_theorem
from fedco.synthetic.families.piecewise import FAMILIES, MetaFamily
from fedco.validation.falsifier import instance_space
from fedco.validation.falsifier.confirm import NotConfirmed, confirm, confirm_beside
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.laws import NONE, POWERS, Law
from fedco.validation.falsifier.search import Claim, carried_over
from fedco.validation.falsifier.search_spaces import search_spaces
from fedco.validation.falsifier.spaces import SPACES
from fedco.validation.falsifier.unit_cube import UnitCube
from fedco.validation.falsifier.units import SAME, Units, in_unit, in_units, units_against
from quick import slow_but
from searching import claims_on, replayed, spaces_of, targeted

Parameters = dict[str, np.ndarray]
OTHER = Units(f=4, y=-6, x=10)
SPACE_OF = {kind: (found.affine or found.silent)[0] for kind, found in SPACES.items()}


def points(size: int, count: int = 32) -> np.ndarray:
    return np.random.default_rng(0).random((count, size))


UNIT = 10.0**1.5
"""A unit at 5/6 of a coordinate of `UnitCube.unit(3)`."""


def of_the_variable(kind: str, made: Parameters) -> Parameters:
    return in_unit(kind, made, UnitCube(np.full((len(made["start"]), 1), 5 / 6)))


def of_the_rest(kind: str, made: Parameters) -> Parameters:
    return in_units(kind, made, f=np.full(len(made["start"]), UNIT), y=np.full(len(made["start"]), 7.0))


WAYS: dict[str, tuple[Callable[[str, Parameters], Parameters], Callable[[Dimension], float]]] = {
    "powers of 2": (OTHER.of, OTHER.times),
    "of the variable": (of_the_variable, lambda dimension: UNIT ** -int(dimension.x)),
    "of the rest": (of_the_rest, lambda dimension: UNIT ** int(dimension.f) * 7.0 ** int(dimension.y)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", sorted(SPACE_OF))
def test_in_other_units_every_constant_of_an_instance_is_what_its_dimension_says(kind: str, way: str) -> None:
    """A kind that chooses the unit of its variable itself is left as it is.

    By other factors than powers of 2 a number is rounded anew, and so is what is read off two knots that nearly meet.
    """
    space, settings = SPACE_OF[kind], {"nu": 1}
    cube = UnitCube()
    space.decode(cube, 2, settings)
    made = space.decode(UnitCube(points(cube.used)), 2, settings)
    change, factor = WAYS[way]
    if way == "of the variable" and kind == "meta":
        assert change(kind, made) is made
        return

    def constants(parameters: Parameters) -> Parameters:
        tensors = {n: torch.from_numpy(np.asarray(v[:, None] if v.ndim == 1 else v)) for n, v in parameters.items()}
        family = MetaFamily(tensors, 1) if kind == "meta" else FAMILIES[kind](tensors)
        return {name: value.numpy() for name, value in family.constants().items()}

    before, after = constants(made), constants(change(kind, made))
    assert set(before) <= set(QUANTITIES) and len(before) > 5
    for name, value in before.items():
        if QUANTITIES[name].each_of:  # one number for quantities of several dimensions
            continue
        wanted = value * factor(QUANTITIES[name].dimension)
        size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
        is_close = np.isclose(after[name], wanted, rtol=1e-6, atol=1e-9 * size, equal_nan=True)
        assert is_close.all() if way == "powers of 2" else is_close.mean() > 0.9, name
    assert SAME.of(kind, made) is made


@pytest.mark.parametrize("name", ["baselines.local_sgd", "baselines.scgd", "fcsg.theorem_4_1", "meta_fl.theorem_8"])
def test_a_homogeneous_statement_says_the_same_in_all_units(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what an instance has not is declared as next to nothing in either units."""
    monkeypatch.setattr(instance_space, "TINY", 1e-100)
    compared = 0
    short = [i for i in spaces_of(name, get_theorem(name).default) if i.stepped < 100]
    for space in [*short[:3], *short[-3:]]:
        where = points(space.size, 16)
        before, after = (each.score(where) for each in (space, replace(space, units=OTHER)))
        seen = (before > -4) & (before < 1.9)  # otherwise rounding is compared
        np.testing.assert_allclose(after[seen], before[seen], atol=1e-4)
        compared += seen.sum()
    assert compared > 3


def test_units_make_what_loses_a_power_large_and_respect_those_that_a_paper_sets() -> None:
    sgd, feddro = get_theorem("baselines.local_sgd"), get_theorem("feddro.theorem_5_1")
    slope = Dimension(f=Q(1), x=Q(-1))
    assert all(units.times(slope) >= 2**20 and least < units.times(slope) for units, least in units_against(sgd, slope))
    assert {(u.f > 0, u.x < 0) for u, _ in units_against(sgd, slope)} >= {(True, False), (False, True)}
    found = list(units_against(feddro, slope))
    assert found and all(units.times(unit) == 1 for units, _ in found for unit in feddro.unit_choices)
    assert not list(units_against(sgd, Dimension()))


def sampled(name: str, law: Law, *changes: Change) -> list[Claim]:
    """The claims after the first sample on the search spaces of one law: nothing is evolved."""
    spaces = [space for space in spaces_of(name, get_theorem(name).default) if space.law is law]
    return claims_on(spaces, *changes, evolve=False)


def replays(claim: Claim) -> bool:
    assert claim.found.violation is not None
    return bool(replayed(claim.target, claim.found.violation))


@pytest.mark.parametrize("lost", slow_but(["sigma_f"], ["sigma_f", "sigma_g"]))
def test_a_standard_deviation_for_a_variance_is_found_in_other_units(lost: str) -> None:
    """No instance has sigma_g: it is declared so that it is large as a divisor, and small beside sigma_f in the sum that it stands in."""
    dropped, root = Change("gradient_noise", "dropped"), Change("gradient_noise", "power", Q(-1), lost)
    alone, (missing, claim) = (
        sampled("local_scgdm.theorem_3_4", POWERS, root)[0],
        sampled("local_scgdm.theorem_3_4", POWERS, dropped, root),
    )
    assert alone.is_open and not missing.is_open and replays(claim)
    assert claim.refuted_on is not None and claim.refuted_on[0].name.endswith("in other units")


def test_a_lost_power_of_the_period_is_found_in_longer_rounds_of_what_the_term_is_needed_for() -> None:
    drift = [Change("estimator_drift", "dropped"), Change("estimator_drift", "power", Q(-1), "tau")]
    _, claim = sampled("comfedl.theorem_1", NONE, *drift)
    assert replays(claim) and claim.found.violation is not None
    assert claim.found.violation.claimed.hyperparameters["tau"] >= 8


def test_a_term_may_lose_the_only_power_of_a_symbol_that_it_has() -> None:
    """The changed statement has no sigma any more."""
    linear = [Change("inner_value_noise", "dropped"), Change("inner_value_noise", "power", Q(-1), "sigma")]
    assert replays(sampled("comfedl.theorem_1", POWERS, *linear)[1])


def test_nothing_is_carried_over_to_another_term_or_to_a_smaller_coefficient() -> None:
    space = spaces_of("baselines.scgd")[0]

    def claim(change: Change) -> Claim:
        return Claim(targeted("baselines.scgd", change=change)[0], change)

    dropped, root = claim(Change("inner_noise", "dropped")), claim(Change("inner_noise", "power", Q(-1), "delta_g"))
    assert len(list(carried_over(dropped, root, space))) > 3
    for other in (
        Change("variance", "power", Q(-1), "N"),
        Change("inner_noise", "divided", Q(4)),
        Change("inner_noise", "power", Q(-1), "N"),
    ):
        assert not list(carried_over(dropped, claim(other), space))
    assert not list(carried_over(claim(Change("variance", "dropped")), root, space))


def test_one_exact_run_refutes_every_claim_that_it_breaks() -> None:
    """What is said beside it is what the whole check says."""
    changes = [Change("drift", "divided", Q(by)) for by in (100, 99, 98)]
    claims = sampled("baselines.local_sgd", NONE, *changes, Change("variance", "divided", Q(1, 4)))
    *refuted, larger = claims
    assert larger.is_open and not any(claim.is_open for claim in refuted)
    first, *others = refuted
    beside = [claim for claim in others if claim.found.violation.claimed is first.found.violation.claimed]
    assert beside
    for claim in beside:
        assert confirm(claim.target, claim.found.violation.claimed) == claim.found.violation and replays(claim)
    with pytest.raises(NotConfirmed, match="the bound holds"):
        confirm_beside(larger.target, replace(first.found.violation, left=(Q(0), Q(0))))


def test_a_lemma_is_not_confirmed_beside_another() -> None:
    lemma = get_theorem("fcsg.lemma_b_2")
    with pytest.raises(NotConfirmed, match="depends on its terms"):
        confirm_beside(target_of(lemma, lemma.default), None)  # type: ignore[arg-type]


# --- relaxed conditions -----------------------------------------------------------------------------------------------------------


def test_a_relaxed_condition_is_attacked_outside_the_condition_as_it_was() -> None:
    target, formula = targeted("baselines.local_sgd", change=Change("step_size", "relaxed", Q(4)))
    space = search_spaces(target, formula)[0]
    values = space.with_horizon(space.numbers(points(space.size, 256))[1], space.horizon)
    met, stated = formula.met(values)[0], values["eta"] * values["L"]
    assert met.any() and (stated[met] > 1).all() and (stated[met] <= 4).all()
    assert (formula.admits(values) & (stated <= 1)).any()  # how large a step may be is another question
    assert targeted("baselines.local_sgd")[1].outside is None


def test_what_a_relaxed_condition_does_not_add_is_no_near_miss() -> None:
    """B = b is the statement's choice, so that b <= B holds whatever is relaxed."""
    change = Change("first_batch", "relaxed", Q(4))
    (claim,) = claims_on(search_spaces(*targeted("fcsg.theorem_4_1", "corrected", change))[:4], None, evolve=False)
    assert claim.found.evaluations > 100 and claim.found.ratio == 0.0
