"""Recipes: instances that their theorems admit, whose words are so, the theorem's own statistic, and the table that declares them."""

from __future__ import annotations

import re
from fractions import Fraction as Q
from itertools import pairwise
from math import log
from pathlib import Path

import numpy as np
import pytest
from fedco import theorem, theorems
from fedco.algorithms import LocalSGD, MinibatchSGD, drive
from fedco.algorithms.engine import metrics
from fedco.bounds.audit.checks import audit
from fedco.bounds.registry import paper_keys
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.validation.runs.declaration import Runs
from fedco.validation.runs.experiments import cap_of, measure
from fedco.validation.runs.fit import misfit
from fedco.validation.runs.recipe import AT_REST, NEAR, Instance
from fedco.validation.runs.registry import complexities, recipe_for, recipes, runs_of, sweeps
from fedco.validation.runs.tables import read_runs
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
        assert isinstance(value, int | Q)
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
    largest = Q(region.intervals["alpha"].upper) * Q(99, 100)
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


def fixed_values(theorem_id: str, instance: Instance, free: set[str], horizon: int = 0) -> dict[str, Q]:
    """Exact values of every symbol but `free`, at one of the instance's horizons."""
    bound, _ = bound_at(theorem_id, instance, instance.horizons[horizon])
    return {name: Q(text) for name, text in bound.values.items() if name not in free}


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
    whole = Q(measured.bound.values[period])
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
    assert Q(bound.values["alpha"]) == Q(made(instance).alpha)
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


# --- what an instance or a sweep says of itself in words is so --------------------------------------------------------


INSTANCES = [
    pytest.param(name, recipe_for(name).label, instance.why, [instance], id=f"{name}-{place}", marks=marks)
    for number, place, instance, marks in slow_but_one(recipe.instances for recipe in recipes().values())
    for name in [list(recipes())[number]]
]
EVERY_SWEEP = {
    name: (*sweeps().get(name, ()), *filter(None, [complexities().get(name)]))
    for name in {**sweeps(), **complexities()}
}
SWEEPS = [
    pytest.param(
        name,
        sweep.label,
        sweep.why,
        [point for point, _ in sweep.points],
        id=f"{name}-{sweep.over}-{place}",
        marks=marks,
    )
    for number, place, sweep, marks in slow_but_one(EVERY_SWEEP.values())
    for name in [list(EVERY_SWEEP)[number]]
]
SHARES = {"half": Q(1, 2), "a quarter": Q(1, 4), "one client of 16": Q(1, 16)}
NOISES = (
    "inner_value_noise",
    "inner_jacobian_noise",
    "outer_gradient_noise",
    "noncompositional_gradient_noise",
    "local_gradient_noise",
)
DIFFERENCES = (
    "inner_jacobian_heterogeneity",
    "noncompositional_heterogeneity",
    "local_gradient_heterogeneity",
    "local_hessian_heterogeneity",
)


class Told:
    """An instance with what its words are compared with."""

    def __init__(self, name, label, instance) -> None:
        self.instance, self.problem = instance, instance.made()
        self.named = {b.quantity.name: n for n, b in theorem(name).symbols(label).items()}
        self.hyper = instance.hyperparameters

    def value(self, quantity):
        return self.hyper.get(self.named.get(quantity))

    def certified(self, names) -> list[float]:
        known = self.problem.certificates
        return [float(known[name].value) for name in names if name in known]

    @property
    def slope(self) -> float:
        """The size of the gradient at the start."""
        return float(self.problem.gradient(self.problem.initial_point[None]).norm())


def _some_of(told, match):
    part = told.hyper["m"] if "m" in told.hyper else told.value("participation") * told.problem.clients
    return (part, told.problem.clients) == (int(match[1]), int(match[2]))


def _equal(told, match):
    return not any(told.certified(DIFFERENCES))


PHRASES = {
    r"rounds of (\d+)": lambda told, match: told.value("communication_period") == int(match[1]),
    r"\bI = (1)\b|communication at every step|one local step": lambda told, match: (
        told.value("communication_period") == 1
    ),
    r"own, local steps": lambda told, match: (
        told.value("communication_period") in (2, 3) or told.instance.case == "schedule"
    ),
    r"\b(\d) of (\d) clients in a round": _some_of,
    r"(half|a quarter) of the clients": lambda told, match: told.value("participation") == SHARES[match[1]],
    r"(one client of 16) in a round": lambda told, match: told.value("participation") == SHARES[match[1]],
    r"everybody takes part|, all clients": lambda told, m: told.value("participation") == 1,
    r"batches of (\d+)": lambda told, match: told.value("batch_size") == int(match[1]),
    r"one inner sample": lambda told, match: told.hyper["m"] == 1,
    r"\b(\d+) clients$|(?<!of )\b(\d+) clients:|\b(32) clients": lambda told, m: (
        told.problem.clients == int(m[1] or m[2] or m[3])
    ),
    r"one client$|one client,|\b1 client,": lambda told, m: told.problem.clients == 1,
    r"start at rest": lambda told, match: told.slope < 0.01,
    r"near rest": lambda told, match: told.slope < 0.21,
    r"far start": lambda told, match: told.slope > 0.3,
    r"equal clients|one task": _equal,
    r"^clients differ|: clients differ|tasks differ": lambda told, match: any(told.certified(DIFFERENCES)),
    r"all oracles noisy|the three noises": lambda told, match: all(told.certified(NOISES)),
    r"no noise": lambda told, match: not any(told.certified(NOISES)),
    r"only noise is that of grad h": lambda told, match: (
        not any(told.certified(NOISES[:3])) and all(told.certified(NOISES[3:4]))
    ),
    r"only noise is that of g;": lambda told, match: (
        not any(told.certified(NOISES[2:])) and all(told.certified(NOISES[:2]))
    ),
    r"noise as large as the signal|large noise|large inner noise|inner noise of half": lambda told, match: (
        min(told.certified(NOISES[:1]) or told.certified(NOISES[4:])) >= 0.3
    ),
    r"noise only": lambda told, match: _equal(told, match) and any(told.certified(NOISES)),
    r"(\d) fine-tuning steps": lambda told, match: told.problem.nu == int(match[1]),
    r"tau = T / 2": lambda told, match: 2 * told.value("communication_period") == told.instance.horizons[0],
    r"start at distance (0\.5) beyond 0": lambda told, m: told.instance.parameters["start"] == float(m[1]),
}


@pytest.mark.parametrize(("name", "label", "why", "instances"), [*INSTANCES, *SWEEPS])
def test_the_words_are_so(name, label, why, instances):
    for instance in instances[:: max(1, len(instances) - 1)]:  # the first one and the last
        told = Told(name, label, instance)
        for phrase, is_so in PHRASES.items():
            if match := re.search(phrase, why):
                assert is_so(told, match), (phrase, why, instance.name)


def test_every_phrase_is_said_somewhere():
    said = [case.values[2] for case in (*INSTANCES, *SWEEPS)]
    for phrase in PHRASES:
        assert any(re.search(phrase, why) for why in said), phrase


@pytest.mark.parametrize(("name", "label", "why", "instances"), SWEEPS)
def test_what_is_said_to_move_along_moves_in_proportion(name, label, why, instances):
    """Along a sweep of a noise the parameter of the other one; along one of a batch size every batch."""
    moved = {name: values for name, values in moved_along(instances).items() if name != "length"}
    if re.search("moves? along|at one level", why) and not name.endswith("_FO"):
        assert len(moved) >= 2
        first, *others = moved.values()
        for other in others:
            assert [float(a / other[0]) for a in other] == pytest.approx([float(a / first[0]) for a in first])


CLAIMED = {
    (name, sweep.over): sweep
    for name, found in sweeps().items()
    for sweep in found
    if sweep.claimed is not None
    and name != "feddro.theorem_f_1"  # the sweeps of theorem_5_1
    and sweep.over != "sigma"
}


@pytest.mark.parametrize(("name", "over"), CLAIMED)
def test_a_claimed_exponent_is_that_of_a_term_of_the_bound(name, over):
    """From the first point to the last one. A level of all noises moves other constants along, and says nothing by itself."""
    sweep = CLAIMED[name, over]
    first, last = (
        evaluate_at(theorem(name), sweep.label, instance.made(), instance.hyperparameters, T)[0]
        for instance, T in (sweep.points[0], sweep.points[-1])
    )
    ratio = log(last.numbers[over] / first.numbers[over])
    slopes = [log(last.terms[n] / v) / ratio for n, v in first.terms.items() if v > 0 and last.terms[n] > 0]
    assert any(abs(slope - sweep.claimed) < 0.1 for slope in slopes), slopes


def test_the_exponent_drawn_beside_a_figure_is_the_one_that_the_paper_claims_in_its_horizon():
    drawn = {name: recipe.limit_exponent for name, recipe in recipes().items()}
    claimed = {name: sweep.claimed for (name, over), sweep in CLAIMED.items() if over == "T"}
    assert claimed and {name: drawn[name] for name in claimed} == pytest.approx(claimed)
    assert drawn["acc_fcsg_m.theorem_4_7"] == pytest.approx(-2 / 3) and drawn["baselines.local_sgd"] == -0.5


@pytest.mark.parametrize(
    ("name", "label", "why", "instances"),
    [c for c in (*INSTANCES, *SWEEPS) if theorem(c.values[0]).statement(c.values[1]).schedule],
)
def test_prescribed_counts_are_whole_at_every_horizon(name, label, why, instances):
    whole = [n for n, b in theorem(name).symbols(label).items() if b.quantity.domain == "positive integer"]
    for instance, T in [(each, T) for each in instances for T in each.horizons]:
        bound, _ = evaluate_at(theorem(name), label, instance.made(), instance.hyperparameters, T)
        assert all(abs(bound.numbers[n] - round(bound.numbers[n])) < 1e-9 for n in whole if n in bound.numbers), (
            T,
            bound.numbers,
        )


def test_the_batches_of_a_stressed_statement_are_of_one_size():
    """Gradients and Hessians: a large batch of the latter would hide the noise that the case is about."""
    from fedco.validation.papers.meta_fl import RUNS

    for recipe in RUNS.recipes.values():
        (hyper,) = (dict(i.hyperparameters) for i in recipe.instances if i.case == "stress")
        assert hyper.get("D_H", hyper["D"]) == hyper["D"]


def moved_along(instances) -> dict[str, list[float]]:
    """What differs between the points of a sweep, the length of the run included."""
    found = {}
    for part in ("parameters", "hyperparameters"):
        for key in getattr(instances[0], part):
            values = [float(getattr(instance, part)[key]) for instance in instances]
            if len({*values}) > 1:
                found[key] = values
    horizons = [float(instance.horizons[0]) for instance in instances]
    return found | ({"length": horizons} if len({*horizons}) > 1 else {})


def ratios(values) -> list[float]:
    return [after / before for before, after in pairwise(values)]


EVEN = [
    c
    for c in SWEEPS
    if not theorem(c.values[0]).statement(c.values[1]).schedule
    and c.values[2] not in {sweep.why for sweep in complexities().values()}
    and not c.id.startswith(("local_scgdm.theorem_3_4-p", "feddro.theorem_4_2-eta"))  # up to where a condition ends
]


@pytest.mark.parametrize(("name", "label", "why", "instances"), EVEN)
def test_points_of_a_sweep_are_evenly_apart_on_a_logarithmic_axis(name, label, why, instances):
    """Twice as large from point to point, or four times: each of them weighs the same in a slope."""
    for values in moved_along(instances).values():
        first, *others = ratios(values)
        assert first in (pytest.approx(2), pytest.approx(4), pytest.approx(1 / 2))
        assert others == pytest.approx([first] * len(others), rel=1e-12)


COMPLEXITY = [
    pytest.param(name, [point for point, _ in sweep.points], id=name) for name, sweep in complexities().items()
]


@pytest.mark.parametrize(("name", "instances"), COMPLEXITY)
def test_what_a_complexity_chooses_is_a_power_of_the_length_of_the_run(name, instances):
    """Step sizes, periods and batches as T^(k/12), exactly; the length at least triples from end to end."""
    moved = moved_along(instances)
    length = moved.pop("length")
    assert moved or theorem(name).statement().schedule
    for values in moved.values():
        powers = [log(a) / log(b) for a, b in zip(ratios(values), ratios(length), strict=True)]
        assert powers == pytest.approx([round(12 * powers[0]) / 12] * len(powers), abs=1e-9) and abs(powers[0]) > 0.1
    assert length == sorted(length) and length[-1] > 3 * length[0]


# --- the table of a paper's runs --------------------------------------------------------------------------------------


TABLE = """
[parameters]
far = "near clients=2"

[local_sgd]
method = "local_sgd"
label = "printed"
defaults = "b=3"
instances = [
    { problem = "federated_noisy", at = "eta=1/4 p=4 b=2", with = "far at_rest start=5.0", T = [200, 400], why = "so", case = "edge" },
    { problem = "federated_noisy" },
]
complexity = true
sweeps = [
    { over = "T", from = { problem = "federated_noisy", at = "eta=1/4 p=4 b=2" }, values = [100, 200], claimed = -0.5, why = "long" },
    { over = "p", from = "rest", T = 60, values = [2, 4], hyper = { b = [1, 3] }, why = "w" },
    { over = "eta", from = "rest", T = 60, values = ["1/8", "1/4"], hyper = { b = 5 }, why = "w" },
    { over = "sigma", from = "rest", T = 60, values = [0.1, 0.2], parameters = { sigma = { times = 2 }, start = [1.0, 2.0] }, why = "w" },
]

[local_sgd.from]
rest = { problem = "federated_noisy", at = "eta=1/8 p=2 b=1", with = "start=0.0" }

[local_sgd_heterogeneity]
like = "local_sgd"
method = { name = "minibatch_sgd", b = 7 }

[minibatch_sgd]
every = "b"
average = "after"
instances = []
complexity = { over = "T", from = { problem = "federated_noisy", at = "eta=1/4 b=1" }, values = [10], why = "w" }
"""


def read(folder: Path, text: str = TABLE, **more) -> Runs:
    """As the paper `baselines` would have it, in one file beside its module."""
    (folder / "baselines.toml").write_text(text)
    return read_runs(str(folder / "baselines.py"), **more)


def test_a_row_is_an_instance(tmp_path):
    first, bare = read(tmp_path).recipes["baselines.local_sgd"].instances
    assert (first.problem, first.why, first.case, first.horizons) == ("federated_noisy", "so", "edge", (200, 400))
    assert first.hyperparameters == {"eta": Q(1, 4), "p": 4, "b": 2} and type(first.hyperparameters["p"]) is int
    assert (
        first.parameters == {**NEAR, "clients": 2, **AT_REST, "start": 5.0} and type(first.parameters["clients"]) is int
    )
    assert list(first.parameters) == ["start", "dim", "clients", "target"]
    assert (bare.hyperparameters, bare.parameters, bare.horizons, bare.case) == ({}, {}, (), "interior")


def test_a_table_says_how_its_theorem_is_run(tmp_path):
    runs = read(tmp_path, chains={"x": 1})
    assert runs.chains == {"x": 1} and set(runs.recipes) == {"baselines.local_sgd", "baselines.local_sgd_heterogeneity"}
    one, other = runs.recipes.values()
    values = {"eta": 0.5, "p": 4.0, "b": 2.0, "T": 12.0}
    for recipe, wanted in ((one, LocalSGD(0.5, 4, 2)), (other, MinibatchSGD(0.5, 7))):
        made = recipe.method(values)
        assert (type(made), made.hyperparameters()) == (type(wanted), wanted.hyperparameters())
    assert (
        other.instances == one.instances and one.defaults == {"b": 3} and one.steps(values) == 12 and one.every is None
    )
    assert runs.instances == {"baselines.minibatch_sgd": ()}  # its theorem names its method
    named = read(tmp_path, methods={"minibatch_sgd": lambda values: MinibatchSGD(values["eta"], 9)})
    recipe = named.recipes["baselines.minibatch_sgd"]
    assert recipe.method(values).b == 9 and recipe.average == "after" and recipe.every({"b": 3.0}) == 3


def test_a_sweep_moves_its_symbol_and_what_goes_along(tmp_path):
    runs = read(tmp_path)
    long, periods, steps, noises = runs.sweeps["baselines.local_sgd"]
    assert [T for _, T in long.points] == [100, 200] and (long.claimed, long.why) == (-0.5, "long")
    assert (
        runs.complexities["baselines.local_sgd"] is long and runs.sweeps["baselines.local_sgd_heterogeneity"][1].points
    )
    assert [T for _, T in runs.complexities["baselines.minibatch_sgd"].points] == [10]
    own = [[dict(i.hyperparameters) for i, T in sweep.points] for sweep in (periods, steps)]
    assert own[0] == [{"eta": Q(1, 8), "p": p, "b": b} for p, b in ((2, 1), (4, 3))]
    assert own[1] == [{"eta": eta, "p": 2, "b": 5} for eta in (Q(1, 8), Q(1, 4))]
    assert [dict(i.parameters) for i, _ in noises.points] == [
        {"start": 1.0, "sigma": 0.2},
        {"start": 2.0, "sigma": 0.4},
    ]
    assert {T for sweep in (periods, steps, noises) for _, T in sweep.points} == {60}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('why = "so"', 'wy = "so"', "baselines.local_sgd: wanted an instance"),
        ('{ problem = "federated_noisy" }', "{ }", "baselines.local_sgd: wanted an instance with a problem"),
        ('label = "printed"', 'lable = "printed"', "baselines.local_sgd: wanted the keys .* got lable"),
        ('with = "start=0.0"', 'with = "nearer"', "nearer: no set of parameters"),
        ("hyper = { b = [1, 3] }", "hyper = { b = [1] }", "baselines.local_sgd: wanted 2 values of each of b"),
    ],
)
def test_a_row_that_says_nothing_is_refused(old, new, said, tmp_path):
    assert old in TABLE
    with pytest.raises(ValueError, match=said):
        read(tmp_path, TABLE.replace(old, new, 1))
