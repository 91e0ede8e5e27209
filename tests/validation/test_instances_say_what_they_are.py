"""What an instance or a sweep says of itself in words is so: its start, its noise, its clients, its rounds."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from math import log

import pytest
from fedco import theorem
from fedco.validation.runs.registry import complexities, recipe_for, recipes, sweeps
from fedco.validation.runs.values import evaluate_at
from quick import slow_but_one

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
SHARES = {"half": Fraction(1, 2), "a quarter": Fraction(1, 4), "one client of 16": Fraction(1, 16)}
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
    moved = {}
    for part in ("parameters", "hyperparameters"):
        for key in getattr(instances[0], part):
            values = [getattr(instance, part)[key] for instance in instances]
            if len({*values}) > 1:
                moved[key] = values
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
