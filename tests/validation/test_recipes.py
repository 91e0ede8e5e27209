"""Every recipe is about instances that its theorem admits, and runs the theorem's own statistic."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from fedco import theorem, theorems
from fedco.algorithms import drive
from fedco.algorithms.engine import metrics
from fedco.bounds import paper_keys
from fedco.bounds.audit.checks import audit
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.validation.runs.experiments import cap_of, measure
from fedco.validation.runs.fit import misfit
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipe_for, recipes, runs_of
from fedco.validation.runs.validate import validate
from fedco.validation.runs.values import evaluate_at, numbers_of
from quick import slow_but, slow_but_one

RECIPES = recipes()
WITHOUT_RECIPE = {name: why for paper in paper_keys() for name, why in runs_of(paper).without.items()}

CASES = [
    pytest.param(name, instance, id=f"{name}-{place}", marks=marks)
    for number, place, instance, marks in slow_but_one(recipe.instances for recipe in RECIPES.values())
    for name in [list(RECIPES)[number]]
]
"""Every instance of every theorem; a quick run takes one of each theorem."""
SHORT = 12
"""A horizon that every period divides and every statement without a schedule admits."""
SCHEDULED = {
    "feddro.theorem_5_1": ("I", 256),
    "feddro.theorem_f_1": ("I", 256),
    "feddro.corollary_1": ("I", 256),
    "fcsg.corollary_4_2": ("q", 128),
    "fcsg_m.corollary_4_5": ("q", 128),
    "acc_fcsg_m.corollary_4_8": ("q", 512),
    "local_scgdm.corollary_3_5": ("p", 81),
}
"""Theorems whose hyperparameters follow from T, with their period and a short horizon."""
ADDS_UP = {"library.sgd_convex_distance"}
"""Theorems whose bound grows with T: without strong convexity nothing takes back the noise of a step."""
SHORT_CASES = {name: recipe.instances[0] for name, recipe in RECIPES.items() if name not in SCHEDULED}
FIRST = {(name.partition(".")[0], theorem(name).metric.name): name for name in reversed(SHORT_CASES)}
"""The first theorem of each paper about each metric."""
VARIANTS = ("_FO", "_HF")


def made(instance: Instance):
    return problem(instance.problem, **instance.parameters)


def bound_at(theorem_id: str, instance: Instance, T: int):
    return evaluate_at(theorem(theorem_id), recipe_for(theorem_id).label, made(instance), instance.hyperparameters, T)


@pytest.mark.parametrize(("theorem_id", "instance"), CASES)
def test_an_instance_fits_every_horizon_is_admissible_and_the_longest_is_not_vacuous(
    theorem_id: str, instance: Instance
):
    totals = []
    for T in instance.horizons:
        bound, kind = bound_at(theorem_id, instance, T)
        assert bound.admissible, (T, bound.failed)
        assert kind in ("exact", "upper")
        totals.append(bound.total)
    assert totals == sorted(totals, reverse=theorem_id not in ADDS_UP)
    assert len(totals) > 1 and totals[-1] < cap_of(theorem(theorem_id), made(instance), instance, bound)
    symbols, name = theorem(theorem_id).symbols(recipe_for(theorem_id).label), theorem_id
    for key, value in instance.hyperparameters.items():
        assert isinstance(value, int | Fraction)
        assert key not in symbols or symbols[key].quantity.role == "hyperparameter"
    for variant in VARIANTS:
        name = name.removesuffix(variant)
    assert misfit(theorem(name), made(instance)) == ""


def test_the_schedules_are_those_of_the_recipes():
    assert set(SCHEDULED) == {n for n, r in RECIPES.items() if any(i.case == "schedule" for i in r.instances)}
    for theorem_id in SCHEDULED:
        assert theorem(theorem_id).statement(recipe_for(theorem_id).label).schedule


def test_every_theorem_has_instances_that_stress_it():
    for theorem_id, recipe in RECIPES.items():
        cases = {instance.case for instance in recipe.instances}
        assert "stress" in cases and cases & {"schedule", "tuned"}, theorem_id
        assert cases & {"schedule", "edge"} or theorem_id == VACUOUS_AT_ITS_EDGE, theorem_id


VACUOUS_AT_ITS_EDGE = "fcsg_m.theorem_4_4"


def test_fcsg_m_says_nothing_at_its_largest_step():
    """Its drift term grows as alpha^2 and exceeds the cap there, so it has no edge instance that could be supported."""
    instance = next(i for i in RECIPES[VACUOUS_AT_ITS_EDGE].instances if i.parameters.get("clients") == 32)
    values = fixed_values(VACUOUS_AT_ITS_EDGE, instance, {"alpha", "beta"})
    region = theorem(VACUOUS_AT_ITS_EDGE).admissible("alpha", "printed", **values)
    largest = Fraction(region.intervals["alpha"].upper) * Fraction(99, 100)
    found = theorem(VACUOUS_AT_ITS_EDGE).bound("printed", strict=False, alpha=largest, **values)
    assert found.terms["drift"] > float(made(instance).certificates["gradient_cap"].value) ** 2


STEP = {
    "feddro": "eta",
    "fcsg": "alpha",
    "fcsg_m": "alpha",
    "acc_fcsg_m": "alpha",
    "meta_fl": "beta",
    "local_scgdm": "eta",
    "baselines": "eta",
    "library": "eta",
}
EDGES = [
    case
    for case in CASES
    if case.values[1].case == "edge" and case.values[0] not in SCHEDULED and not case.values[0].startswith("comfedl")
]
TUNED = [case for case in CASES if case.values[1].case == "tuned"]


@pytest.mark.parametrize(("theorem_id", "instance"), EDGES)
def test_an_edge_step_is_the_part_of_the_largest_that_it_says(theorem_id: str, instance: Instance):
    """ComfedL's conditions do not limit the step: its edge is a round of T / 2 steps."""
    name = STEP[theorem_id.partition(".")[0]]
    if name not in instance.hyperparameters:  # a step size that declines in t
        name = "a"
    values = fixed_values(theorem_id, instance, {name, "beta"} if "fcsg" in theorem_id else {name})
    region = theorem(theorem_id).admissible(name, statement=recipe_for(theorem_id).label, **values)
    part = 100 * float(instance.hyperparameters[name] / region.intervals[name].upper)
    (said,) = re.findall(rf"^{name} at (\d+)% of its largest value", instance.why) or ["100"]
    assert abs(part - int(said)) <= 1 and part <= 100


STEPS = ("step_size", "step_scale", "momentum", "gradient_momentum", "inner_momentum")


@pytest.mark.parametrize(("theorem_id", "instance"), TUNED)
def test_a_tuned_instance_has_nearly_the_least_bound(theorem_id: str, instance: Instance):
    """Against the tuner with the same period, batches and horizon; the step sizes (and momenta) are its to choose."""
    symbols = theorem(theorem_id).symbols(recipe_for(theorem_id).label)
    free = {n for n, b in symbols.items() if b.quantity.name in STEPS}
    best = theorem(theorem_id).tune(
        recipe_for(theorem_id).label,
        budget={"rounds": 10**6},
        **fixed_values(theorem_id, instance, free, -1),
    )
    bound, _ = bound_at(theorem_id, instance, instance.horizons[-1])
    assert bound.total <= 1.05 * best.bound.total


def fixed_values(theorem_id: str, instance: Instance, free: set[str], horizon: int = 0) -> dict[str, Fraction]:
    """Exact values of every symbol but `free`, at one of the instance's horizons."""
    bound, _ = bound_at(theorem_id, instance, instance.horizons[horizon])
    return {name: Fraction(text) for name, text in bound.values.items() if name not in free}


def test_three_instances_with_different_names():
    for recipe in RECIPES.values():
        names = [instance.name for instance in recipe.instances]
        assert len(set(names)) == len(names) >= 3


@pytest.mark.parametrize("theorem_id", slow_but(FIRST.values(), SHORT_CASES))
def test_a_short_run_starts_at_the_initial_gradient_and_stays_below_the_cap(theorem_id: str):
    instance = SHORT_CASES[theorem_id]
    recipe = recipe_for(theorem_id)
    symbols = theorem(theorem_id).symbols(recipe.label)
    periods = [
        n for n, b in symbols.items() if b.quantity.name == "communication_period" and n in instance.hyperparameters
    ]
    period = instance.hyperparameters[periods[0]] if periods else 1
    measured = measure(theorem_id, instance, max(SHORT, 2 * int(period)), 2, label=recipe.label)
    assert measured.statistic.shape == (2,)
    assert np.all((measured.statistic > 0) & (measured.statistic <= measured.cap))
    steps = recipe.steps(numbers_of(instance, measured.bound))
    in_a_round = (
        2 + int(instance.hyperparameters["K"]) if theorem_id == "library.fed_ttsa" else 1
    )  # one for each product
    assert int(measured.messages["rounds"]) == steps // int(period) * in_a_round


@pytest.mark.parametrize(
    "theorem_id", slow_but(("feddro.corollary_1", "fcsg.corollary_4_2", "local_scgdm.corollary_3_5"), SCHEDULED)
)
def test_a_scheduled_run_communicates_as_the_schedule_says(theorem_id: str):
    instance = recipe_for(theorem_id).instances[0]
    period, T = SCHEDULED[theorem_id]
    measured = measure(theorem_id, instance, T, 1)
    whole = Fraction(measured.bound.values[period])
    assert whole.denominator == 1
    assert int(measured.messages["rounds"]) == T // whole
    assert measured.statistic[0] <= measured.bound.total


def trajectory(theorem_id: str, instance: Instance, T: int, seeds: int) -> np.ndarray:
    """(steps + 1, seeds) of the squared gradient norm at every step."""
    recipe = recipe_for(theorem_id)
    bound, _ = bound_at(theorem_id, instance, T)
    values = numbers_of(instance, bound)
    steps = recipe.steps(values)
    record = {"gradient": metrics.gradient_norm_squared}
    result = drive(recipe.method(values), made(instance), steps=steps, seeds=seeds, record=record)
    return result.values["gradient"].numpy()


def test_comfedl_averages_the_server_models_only():
    instance = RECIPES["comfedl.theorem_2"].instances[1]
    tau = int(instance.hyperparameters["tau"])
    along = trajectory("comfedl.theorem_2", instance, SHORT, 3)
    statistic = measure("comfedl.theorem_2", instance, SHORT, 3).statistic
    np.testing.assert_allclose(statistic, along[:-1:tau].mean(0), rtol=1e-12)
    assert not np.allclose(statistic, along[:-1].mean(0), rtol=1e-9)


def test_meta_fl_averages_every_local_step_of_every_round():
    instance = RECIPES["meta_fl.theorem_8"].instances[1]
    along = trajectory("meta_fl.theorem_8", instance, SHORT, 3)
    assert len(along) == SHORT * int(instance.hyperparameters["tau"]) + 1
    statistic = measure("meta_fl.theorem_8", instance, SHORT, 3).statistic
    np.testing.assert_allclose(statistic, along[:-1].mean(0), rtol=1e-12)


def test_meta_fl_takes_alpha_and_nu_from_the_problem():
    instance = RECIPES["meta_fl.theorem_8"].instances[1]
    bound, _ = bound_at("meta_fl.theorem_8", instance, 100)
    assert bound.numbers["nu"] == made(instance).nu == 3
    assert Fraction(bound.values["alpha"]) == Fraction(made(instance).alpha)
    assert bound.numbers["K"] == 100


def test_sampled_clients_reach_the_method():
    comfedl, meta = RECIPES["comfedl.theorem_1"], RECIPES["meta_fl.theorem_8"]
    for theorem_id, recipe, wanted in (("comfedl.theorem_1", comfedl, 4), ("meta_fl.theorem_8", meta, 4)):
        instance = recipe.instances[1]
        bound, _ = bound_at(theorem_id, instance, SHORT)
        assert recipe.method(numbers_of(instance, bound)).m == wanted
        assert made(instance).clients == 8


def test_the_participants_are_whole_numbers_of_clients():
    for instance in RECIPES["meta_fl.theorem_8"].instances:
        assert (instance.hyperparameters["r"] * made(instance).clients).denominator == 1


def test_an_unknown_theorem_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"no recipe.*feddro\.theorem_5_1"):
        recipe_for("feddro.theorem_9_9")


@pytest.mark.parametrize("theorem_id", ["comfedl.remark_1", "comfedl.remark_2"])
def test_a_remark_that_admits_one_horizon_only_says_so_by_name(theorem_id: str):
    """b = 1/T with b >= 1: with every other symbol free to choose, T = 1 is all that is left."""
    ones = dict.fromkeys(("G_f", "G_g", "L_f", "L_g", "L", "sigma", "F_gap"), 1)
    interval = theorem(theorem_id).admissible("T", "printed", tau=1, **ones).intervals["T"]
    assert (interval.lower, interval.upper) == (1, 1)
    with pytest.raises(InputError, match=rf"^{theorem_id}: cannot be validated: .*T = 1.*comfedl\.remark_batches"):
        recipe_for(theorem_id)
    with pytest.raises(InputError, match=r"cannot be validated"):
        validate(theorem_id)


def test_every_statement_has_a_recipe_or_says_why_not():
    stated = {name for name, item in theorems().items() if item.kind != "lemma"}
    assert stated == set(RECIPES) | set(WITHOUT_RECIPE) and not set(RECIPES) & set(WITHOUT_RECIPE)
    named = {word.strip("`,;:()") for reason in WITHOUT_RECIPE.values() for word in reason.split()}
    ids = {word for word in named if word.partition(".")[0] in paper_keys() and "." in word}
    assert ids <= {*theorems(), *(finding.id for finding in audit("comfedl"))} and "comfedl.theorem_1" in ids
