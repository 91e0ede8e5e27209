"""The tuner against random search and differential evolution; what it reports holds exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from math import inf, isnan
from random import Random

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.rendering import status_of
from fedco.bounds.language.theorem import Statement
from fedco.bounds.optimum.model import VanishingError, model
from fedco.bounds.optimum.numerical import penalised
from fedco.bounds.optimum.task import Task, make_task
from fedco.bounds.optimum.tuning import GEOMETRIC, tune
from inverse_cases import FCSG, FEDDRO, given, seeds, tunable
from quick import slow_but_one
from refusal import is_refused
from registry_cases import THEOREMS
from scipy.optimize import differential_evolution
from small_theorems import CONSTANTS, EXAMPLE, small

CASES = tunable()
QUICK = [
    ("acc_fcsg_m.corollary_4_8", "corrected"),
    ("comfedl.theorem_1", "printed"),
    ("comfedl.theorem_2", "corrected"),
    ("fcsg.corollary_4_2", "printed"),
    ("fcsg.theorem_4_1", "corrected"),
    ("fcsg_m.theorem_4_4", "printed"),
    ("library.compressed_sgd", "printed"),
    ("library.delayed_sgd", "printed"),
    ("library.error_feedback", "printed"),
    ("library.fed_ttsa", "printed"),
    ("library.fedprox", "printed"),
    ("library.gossip_sgd", "printed"),
    ("library.scgd_declining", "printed"),
    ("library.sgd_bounded_noise_probable", "printed"),
    ("local_scgdm.corollary_3_5", "composed"),
    ("meta_fl.theorem_8", "corrected"),
    ("meta_fl.theorem_8_HF", "corrected"),
]
"""Every hyperparameter that a tuner chooses, and every form of a term and of a condition; `test_feddro` has all of one theorem."""


@pytest.mark.parametrize(("name", "rounds"), [("fcsg.corollary_4_2", 5), ("fcsg_m.corollary_4_5", 5)])
def test_a_whole_number_that_the_bound_does_not_know_is_the_schedules(name, rounds):
    """q <= T^(1/4)/N^(3/4) = 5.05: of the admissible q, which all have one bound, the largest."""
    values = dict.fromkeys(("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "b", "B", "m"), 1) | {"N": 2, "T": 5206}
    found = tune(THEOREMS[name].statement("corrected"), values, budget={"samples": 10**9})
    assert found.values["q"] == rounds and found.bound.admissible


def instance(name: str, label: str, rng: Random):
    """Constants and a budget, or None where the statement has nothing to choose or to spend."""
    theorem = THEOREMS[name]
    values = given(theorem, label, rng)
    while contradicts(theorem.statement(label), values):
        values = given(theorem, label, rng)
    try:
        made = model(theorem.statement(label), values)
    except (
        VanishingError
    ) as error:  # 0/0 whatever is chosen: with one client the sampling term of meta FL has the factor (1 - r)/(n - 1)
        assert values["n"] == 1 and "the term sampling has a denominator of 0" in str(error), error
        return None
    costs = [cost for cost in ("samples", "iterations") if cost in made.costs]
    if not made.free or not costs:
        return None
    budget = {costs[0]: 10 ** rng.randint(4, 8)}
    ranges = {"b": (None, 1000)} if "b" in [b.name for b in made.free] and rng.random() < 0.3 else {}
    return theorem, values, budget, ranges


def contradicts(statement: Statement, values: Mapping[str, Fraction]) -> bool:
    """Whether a condition between constants alone fails, as mu <= L_bar, which no choice repairs."""
    known = {statement.symbols[name].symbol: sp.Rational(value) for name, value in values.items()}
    among = (c for c in statement.conditions if {*c.left.free_symbols, *c.right.free_symbols} <= known.keys())
    return any(c.relation == "<=" and c.slack.xreplace(known) < 0 for c in among)


def check_against_search(name: str, label: str, rng: Random, samples: int, generations: int) -> bool:
    """The tuned bound is no worse than the best of random points and of differential evolution."""
    case = instance(name, label, rng)
    if case is None:
        return False
    theorem, values, budget, ranges = case
    task = make_task(model(theorem.statement(label), values), budget, None, None, ranges)
    best = log_of_best(task, rng, samples, generations)
    try:
        found = tune(theorem.statement(label), values, budget=budget, ranges=ranges)
    except InputError as error:
        undefined = isnan(best) and "denominator" in str(error)  # 0/0 whatever is chosen, such as one client of n = 1
        assert best == inf or undefined or "keeps improving" in str(error), (error, best)
        return False
    assert found.bound.admissible and found.bound.total is not None
    assert bound(theorem.statement(label), {**values, **_given_back(found, task)}).admissible
    assert found.cost[next(iter(budget))] <= next(iter(budget.values())) * (1 + 1e-12)
    slack = 1.5e-3 if found.note else 3e-6
    assert found.bound.total == 0 or np.log10(found.bound.total) <= best + slack, (found, 10**best)
    if found.method == GEOMETRIC:
        assert found.lower is not None and found.lower <= 10**best * (1 + 1e-6)
    return True


def _given_back(found, task: Task) -> dict[str, Fraction]:
    names = [b.name for b in task.model.free] + [
        n for n in task.model.determined if n not in task.model.statement.schedule
    ]
    return {name: Fraction(found.values[name]) for name in names}


def log_of_best(task: Task, rng: Random, samples: int, generations: int) -> float:
    """log10 of the best value of the statement itself at random points, then refined by differential evolution."""
    evaluate = penalised(task)
    names = [b.name for b in task.model.free]
    whole = [name in task.model.whole for name in names]
    generator = np.random.default_rng(rng.randint(0, 2**31))
    bounds = [(0.0, 8.0) if w else (-8.0, 2.0) for w in whole]
    points = np.array([generator.uniform(*pair, samples) for pair in bounds])
    values = evaluate(points, whole)
    start = points[:, np.argsort(values)[:40]].T
    if generations and len(start) >= 5:
        answer = differential_evolution(
            lambda x: evaluate(x, whole),
            bounds,
            init=start,
            maxiter=generations,
            seed=1,
            vectorized=True,
            updating="deferred",
            polish=False,
            tol=0.0,
        )
        values = np.append(values, answer.fun)
    best = float(np.min(values))
    return inf if best > 1e5 else best


@cache
def compared(case: tuple[str, str]) -> bool:
    """Whether a search has found admissible points of an instance; the tuner's is no worse than all of them."""
    (rng,) = seeds(*case, 1)
    return check_against_search(*case, rng, 1000, 30)


@pytest.mark.parametrize("case", QUICK, ids="-".join)
def test_never_worse_than_a_search(case):
    compared(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_never_worse_than_a_longer_search_on_fifty_instances(case):
    for rng in seeds(*case, 50):
        check_against_search(*case, rng, 10_000, 300)


def test_the_search_is_not_vacuous():
    """Most statements are really compared with a search that found admissible points."""
    assert {*QUICK} <= {*CASES} and sum(map(compared, QUICK)) >= 10


ASKED = [
    {"budget": {"samples": 10**6}},
    {"budget": {"samples": 10**6, "rounds": 6000}},
    {"budget": {"cost": 10**6}, "cost": {"samples": 1, "rounds": 10}},
    {"eps": "1/5", "cost": {"samples": 1, "rounds": 100}},
]
LABELS = ("printed", "composed", "corrected")


@pytest.mark.parametrize(
    ("label", "options"),
    [
        pytest.param(*case, marks=marks)
        for *_, case, marks in slow_but_one([(label, asked) for label in LABELS] for asked in ASKED)
    ],
)
def test_feddro(label, options):
    theorem = fedco.theorem("feddro.theorem_5_1")
    values = {**FEDDRO, **({"delta_g": "1/2"} if label == "corrected" else {})}
    found = tune(theorem.statement(label), values, **options)
    assert found.bound.admissible and found.gap < 2e-3 and found.method == GEOMETRIC
    assert found.advice and all(line.endswith((".", "bound", "cost")) for line in found.advice)
    assert str(found).startswith(f"feddro.theorem_5_1 ({label})")
    assert found.to_dict()["bound"]["admissible"] is True


@pytest.mark.parametrize(
    ("name", "values", "options", "message"),
    [
        ("fcsg.theorem_4_1", FCSG, {}, "either a budget or a target"),
        ("fcsg.theorem_4_1", FCSG, {"budget": {"T": 10}, "eps": 1}, "got both"),
        ("fcsg.theorem_4_1", FCSG, {"budget": {"zzz": 10}}, "not a resource"),
        ("fcsg.theorem_4_1", FCSG, {"budget": {"T": -1}}, "wanted a positive number"),
        (
            "fcsg.theorem_4_1",
            FCSG,
            {"eps": 100, "cost": "embedding_messages"},
            "embedding_messages: nothing to minimise",
        ),
        ("fcsg.theorem_4_1", FCSG, {"eps": 100, "cost": {"embedding_messages": 3}}, "cost: nothing to minimise"),
        ("fcsg.theorem_4_1", {**FCSG, "m": 1}, {"eps": "1/10"}, "wanted more than 2, got 0.1"),
        ("fcsg.theorem_4_1", {**FCSG, "alpha": 1}, {"budget": {"T": 100}}, "step_size"),
        ("fcsg.theorem_4_1", {"L_f": 1}, {"budget": {"T": 100}}, "missing: L_g"),
        ("fcsg.theorem_4_1", FCSG, {"budget": {"T": 100}, "ranges": {"N": (1, 2)}}, "not free"),
        ("fcsg.theorem_4_1", FCSG, {"budget": {"T": 100}, "ranges": {"m": (5, 2)}}, "lowest <= highest"),
        ("fcsg.lemma_a_2", {}, {"eps": 1}, "no terms"),
        ("feddro.corollary_2", {}, {"eps": 1}, "no terms"),
        (
            "fcsg.lemma_b_2",
            {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "N": 2, "gradient_sq": 1, "consensus_error": 1},
            {"budget": {"m": 10}},
            "a step of a proof",
        ),
        ("comfedl.lemma_2", {"G_g": 1, "G_f": 1}, {"budget": {"tau": 3}}, "keeps improving"),
    ],
)
def test_what_cannot_be_tuned_is_refused(name, values, options, message):
    with is_refused(message):
        tune(fedco.theorem(name).statement("printed"), values, **options)


def test_the_fewest_samples_are_found_where_they_take_more_than_a_billion_steps():
    """A/(eta T) + B eta/b <= 1 asks for T b >= 4 A B; b = 280 and T = 1.06e9 are within 1e-6 of it."""
    target, smoothness, noise = Fraction(1, 10**6), Fraction(1, 3), Fraction(1, 3)
    found = tune(
        THEOREMS["baselines.minibatch_sgd"].statement("printed"),
        {"L_bar": smoothness, "sigma": noise, "F_gap": 1, "N": 1},
        eps=target,
    )
    least = 4 * (2 / target) * (smoothness * noise**2 / target)
    assert found.values["T"] > 10**9 and 1 <= found.values["T"] * found.values["b"] / least < 1 + Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("ends", "wanted"), [((None, "1/10"), (0, 0.1)), (("1/20", None), (0.05, inf)), (("1/20", "1/10"), (0.05, 0.1))]
)
def test_a_range_with_one_end_leaves_the_other_to_the_domain(ends, wanted):
    constants = {"L": 2, "G": 3, "sigma": 1, "F_gap": 5, "p": 4, "N": 8}
    made = model(fedco.theorem("baselines.local_sgd").statement("printed"), constants)
    assert make_task(made, {"T": 1000}, None, None, {"eta": ends}).box()["eta"] == pytest.approx(wanted)
    assert make_task(made, {"T": 1000}, None, None, {"b": (None, 7)}).box()["b"] == (1, 7)


@pytest.mark.parametrize("name", ["sgd_pl", "sgd_strongly_convex", "sgd_strongly_convex_gap"])
def test_a_step_in_the_base_of_a_power_is_found(name):
    """(1 - kappa eta)^T: the geometric program from above only knows that it is at most 1, which asks for no step at all."""
    item = fedco.theorem(f"library.{name}")
    given = {"L_bar": 1, "mu": "1/2", "kappa": "1/2", "sigma": "1/10", "N": 4, "b": 1, "F_gap": 3, "D": 2, "T": 30}
    known = {symbol: value for symbol, value in given.items() if symbol in item.symbols()}
    best = item.tune(budget={"T": 30}, **known)
    steps = np.linspace(0.01, 1, 100)
    assert best.value <= 1.001 * np.min(item.bound(eta=steps, **known).total)
    assert (
        best.bound.admissible and best.lower <= best.value and best.gap < 1e-3 and best.certificate == "global optimum"
    )


# --- answers ----------------------------------------------------------------------------------------------------------------------


def tuned(changed=(), **asked):
    return tune(EXAMPLE, CONSTANTS | dict(changed), **(asked or {"budget": {"samples": 1000}}))


def test_an_answer_is_its_parts():
    found = tune(EXAMPLE, CONSTANTS | {"p": 1}, budget={"samples": 1000})
    assert found.bound.admissible and found.cost["samples"] == int(found.values["T"]) == 1000
    eta = float(found.values["eta"])
    nearby = [10 / (at * 1000) + 18 * at / 7 + 400 * at**2 for at in (eta * 0.999, eta, eta * 1.001)]
    assert nearby[1] == min(nearby) and float(found) == pytest.approx(nearby[1])
    assert 0 <= found.gap == pytest.approx((found.value - found.lower) / found.value, abs=1e-15) and found.gap < 1e-6
    assert found.binding == ("budget of samples",) == tuple(found.prices) and len(found.advice) == 1
    assert found.prices["budget of samples"] == pytest.approx(10 / (eta * 1000) / nearby[1], rel=1e-3)
    given = tune(EXAMPLE, CONSTANTS | {"p": 1, "eta": eta, "T": 10}, budget={"samples": 1000})
    assert (given.method, given.note, given.lower) == ("evaluated", "nothing left to choose", None)


def test_an_answer_in_words_and_tables():
    """With a certificate and without one; each number where it belongs, and of what has no row only what was chosen."""
    found = tune(EXAMPLE, CONSTANTS | {"p": 1}, budget={"samples": 1000})
    eta, price = found.bound.numbers["eta"], found.prices["budget of samples"]
    page = found.sheet()
    assert page.title == "pr_sgd.theorem_1 (printed): best hyperparameters" and page.claim == found.bound.sheet().claim
    tables = {table.name: table for table in page.tables}
    assert [*tables] == ["schedule", "costs", "binding limits", "constants"]
    assert [(row[0].text, float(row[2])) for row in tables["schedule"].rows] == [
        ("eta", pytest.approx(eta)),
        ("T", 1000),
    ]
    assert tables["binding limits"].rows == (("budget of samples", price),) and tables["binding limits"].bars == (1.0,)
    spent = {"iterations": 1000.0, "rounds": 1000.0, "samples": 1000.0, "model_messages": 1000.0}
    assert found.cost == spent and [row[1] for row in tables["costs"].rows] == [*spent.values()]
    constants = {row[0].text: row[2] for row in tables["constants"].rows}
    assert constants == {**CONSTANTS, "p": 1}
    certificate = f"geometric program, global optimum: no choice has bound below {found.lower:.6g} (gap "
    assert page.notes[-2].startswith(certificate) and page.notes[-1] == found.advice[0]
    lines = str(found).splitlines()
    assert lines[0] == f"pr_sgd.theorem_1 (printed): eta = {eta:.10g}, T = 1000"
    assert lines[1].startswith(f"  {found.bound.metric} <= ") and "  samples per client: 1000" in lines
    assert f"  {certificate}" in str(found) and lines[-1] == f"  {found.advice[0]}"
    data = found.to_dict()
    assert (
        data["values"] == {"eta": str(found.values["eta"]), "T": "1000"} and data["bound"]["total"] == found.bound.total
    )
    assert data["status"] == status_of(EXAMPLE)["status"] and "status" not in found.numbers_only()
    point = CONSTANTS | {"p": 1, "eta": "1/100", "T": 900}
    given = tune(EXAMPLE, point, eps=2, cost="rounds")
    page = given.sheet()
    assert page.title == "pr_sgd.theorem_1 (printed): least rounds" and not page.tables[0].rows
    assert [table.name for table in page.tables] == ["schedule", "costs", "constants"]
    assert page.notes[-2:] == ("evaluated", "nothing left to choose") and given.value == 900 == float(given)
    assert str(given).splitlines()[-2:] == ["  evaluated", "  nothing left to choose"] and given.gap is None


def test_a_gap_and_amounts_in_words():
    """Below the error of the solver the digits of a gap mean nothing; amounts that are whole are written out, up to a billion."""
    found = tuned({"p": 1})
    for gap, text in (
        (0.0, "gap below 1e-08"),
        (9e-9, "gap below 1e-08"),
        (1e-8, "gap 1.0e-08"),
        (0.25, "gap 2.5e-01"),
    ):
        assert replace(found, gap=gap).how.endswith(f"({text})")
    for value, text in ((999999999.0, "999999999"), (1e9, "1e+09"), (2.5, "2.5"), (1234567.5, "1.23457e+06")):
        assert f"  samples per client: {text}\n" in str(replace(found, cost={"samples": value}))


def test_prices_in_words():
    """Each binding limit with its own price, a percent for a percent."""
    budget, most, least = tuned(budget={"samples": 1000}, ranges={"eta": (None, "1/100")}).advice
    (step, *_), target = tuned({"sigma": "1/100", "G": "1/100"}).advice, tuned(eps=30, cost="rounds").advice
    limits = tuned(eps=30).advice
    assert (budget, most, least) == (
        "1% more samples buys 0.94% of the bound",
        "relaxing the limit eta at most 0.01 by 1% would buy 0.84% of the bound",
        "relaxing the limit p at least 1 by 1% would buy 0.075% of the bound",
    )
    assert step == "relaxing step_size (eta <= 1/L) by 1% would buy 0.88% of the bound"
    assert target == ("a target that is 1% less strict saves 1.5% of the rounds",)
    assert limits[1] == "relaxing the limit p at least 1 by 1% would buy 0.98% of the samples"


def test_what_was_replaced_is_said_and_fixed_where_prices_are_told():
    """48 (p - 1)^2 eta^2/5 beside 3/(eta T) with T/p <= 90: at p = 6, T = 540, a per cent more rounds is worth what T^(-2/3) says."""
    drift = {"first": "F_gap/(eta*T)", "drift": "2*(p-1)**2*L**3*eta**2*F_gap/N"}
    made = small(drift, costs={"rounds": "T/p", "samples": "T"}).statement("printed")
    found = tune(made, {"F_gap": 3, "L": 2, "N": 5, "p": 6}, budget={"rounds": 90})
    free = tune(made, {"F_gap": 3, "L": 2, "N": 5}, budget={"rounds": 90}, ranges={"p": (6, None)})
    assert found.replacements == () and found.prices == {"budget of rounds": pytest.approx(2 / 3, rel=1e-4)}
    assert free.replacements == ("p - 1 (exact at fixed p)",) and free.values["p"] == 6
    assert free.prices["budget of rounds"] == pytest.approx(2 / 3, rel=1e-4) and free.value == pytest.approx(
        found.value, rel=1e-6
    )


def test_a_step_size_that_nothing_depends_on_may_be_anything():
    """With update_sq = 0 the one term with alpha is 0: the search has no alpha."""
    constants = dict.fromkeys(("L_f", "L_g", "S_f", "S_g", "start_error_sq", "sigma_g"), Fraction(1))
    statement = THEOREMS["fcsg_m.lemma_c_2"].statement("printed")
    values = {name: constants[name] for name in constants if name in statement.symbols}
    values |= {"N": 10, "consensus_error": 0, "update_sq": 0}
    found = tune(statement, values, budget={"T": 1000})
    assert found.bound.admissible and found.values["alpha"] > 0


@pytest.mark.parametrize("given", [{"N": 4}, {"N": 10}, {"N": 1}, {"N": 1, "sigma": 2}])
def test_a_momentum_between_0_and_1_is_searched_as_far_as_a_grid_goes(given):
    """Heavy ball with eta = alpha^2/2: what is lost with (1 - alpha)^2 is much below alpha = 1, which is no end of its domain."""
    values = {"L_bar": 1, "sigma": 1, "F_gap": 1} | given
    found = fedco.theorem("library.heavy_ball").tune(budget={"samples": 100}, **values)
    noise, alpha = values["sigma"] ** 2 / values["N"], np.linspace(0.01, 1, 1000)
    best = min(
        np.min(2 * ((1 - alpha) ** 2 + 2) / (T * alpha) + alpha * noise / (T * b) + alpha * noise / b)
        for b in range(1, 101)
        for T in [100 // b]
    )
    assert found.value <= best * 1.001 and found.lower <= best and found.gap < 0.005


@pytest.mark.parametrize("highest", [None, 1, 2])
def test_a_range_that_leaves_one_value_fixes_it(highest):
    """alpha >= 1 beside the condition alpha <= 1."""
    values = {"L_bar": 1, "sigma": 1, "F_gap": 1, "N": 4}
    found = fedco.theorem("library.heavy_ball").tune(budget={"samples": 100}, ranges={"alpha": (1, highest)}, **values)
    assert found.values["alpha"] == 1 and found.value == pytest.approx(
        fedco.theorem("library.heavy_ball").tune(budget={"samples": 100}, alpha=1, **values).value, rel=1e-6
    )
    one_step = fedco.theorem("library.heavy_ball").tune(
        budget={"samples": 100}, ranges={"eta": ("1/2", None)}, **values
    )
    assert one_step.values["eta"] == sp.Rational(1, 2)


def test_a_numerical_search_tries_the_neighbours_of_small_whole_numbers():
    """One sample in a step is best here, and the search alone ends at two."""
    values = {"L_bar": "17/9", "mu": 6, "sigma": "14/5", "D": "19/10", "N": 4}
    found = fedco.theorem("library.sgd_strongly_convex_declining").tune(budget={"samples": 10**6}, **values)
    assert found.values["b"] == 1 and found.value < 2.346e-7


def test_why_nothing_is_admissible():
    apart = {"ranges": {"eta": (3, None)}}
    with is_refused(r"no admissible choice; in conflict: step_size, range of eta$"):
        tune(EXAMPLE, CONSTANTS, budget={"samples": 1000}, **apart)
    with is_refused() as caught:
        tune(EXAMPLE, CONSTANTS, eps="1e-9", ranges={"T": (None, 100)})
    least = float(str(caught.value).split("more than ")[1].split(",")[0])
    best = tune(EXAMPLE, CONSTANTS, budget={"T": 100})
    assert least == pytest.approx(best.value, rel=1e-4) and best.values["p"] == 1
    assert str(caught.value).endswith("got 1e-09; pr_sgd.theorem_1 (printed) has no smaller bound under range of T")


def test_a_target_that_no_choice_reaches_names_the_condition_that_is_in_the_way():
    """10/(eta T) with one step and eta <= 1/2 is at least 20."""
    with is_refused(r"^eps: wanted more than 20, got 1; .* has no smaller bound under step_size$"):
        tuned({"T": 1, "p": 1, "sigma": "1e-9", "G": "1e-9"}, eps=1)


def test_a_target_that_is_approached_far_out_is_reached():
    """The bound falls without end with T."""
    assert tuned(eps="1e-30").values["T"] > 10**50


def test_a_step_size_of_any_size_is_admissible():
    """eta <= 1/L with L = 1e36 was said to exclude all step sizes, as a search between e^-80 and e^80 has none."""
    found = tune(THEOREMS["library.gd"].statement("printed"), {"L_bar": 10**36, "F_gap": 1}, budget={"T": 100})
    assert found.bound.admissible and float(found.values["eta"] * 10**36) == pytest.approx(1, rel=1e-3)


def test_an_optimum_at_the_end_of_an_open_domain_is_said_to_be_searched_up_to_there():
    """beta = 1 - 1e-13 has a bound far below that of 1 - 1e-9, of which it was said that no choice has less."""
    made = small(
        "2*(1 - beta)*F_gap/(eta*T)",
        quantities={"averaging": {"meaning": "weight of the past", "domain": "[0, 1)", "role": "hyperparameter"}},
        symbols={"beta": "averaging"},
        conditions={"step_size": "eta <= 1/L"},
    )
    found = tune(made.statement("printed"), {"L": 1, "F_gap": 1}, budget={"T": 100})
    assert "no choice with beta <= 0.999999999 has bound below 2e-11" in found.how


@pytest.mark.parametrize(
    ("asked", "least", "within"),
    [
        ({"budget": {"T": 1000}}, "bound", "0.1%"),
        ({"eps": "1/10", "cost": "iterations"}, "iterations", "0.1%"),
        ({"eps": "1/4", "cost": "iterations"}, "iterations", "1.0%"),
        ({"eps": 1, "cost": "iterations"}, "iterations", "10.0%"),
        ({"eps": 1, "cost": "rounds"}, "rounds", "12.6%"),
        ({"eps": 20, "cost": "iterations"}, "iterations", None),
        ({"eps": 3, "cost": "samples"}, "samples", None),
    ],
)
def test_where_an_optimum_is_only_approached_a_cheap_point_near_it_is_taken(asked, least, within):
    """Within 0.1, 1 and 10 per cent of it, at last as near as whole numbers come; an optimum that is attained needs no note."""
    found = tune(fedco.theorem("fcsg.theorem_4_1").statement("printed"), FCSG, **asked)
    near = f"the least {least} is only approached; these are the fewest samples within {within} of it"
    assert found.note == ("" if within is None else near) and found.bound.admissible and found.lower <= found.value
    assert within or found.value - found.lower < 1e-8


def test_a_range_of_one_value_is_kept_where_whole_numbers_are_polished():
    """A real hyperparameter at one value has no variable in the program: with a weighted cost the polish looked for it."""
    asked = {"eps": "1/10", "cost": {"samples": 1, "rounds": 1000}, "ranges": {"eta_g": (1, 1)}}
    theorem = small(
        {"init": "8*F_gap/(eta*eta_g*tau*R)", "noise": "8*eta*eta_g*L*sigma**2/(N*b)*(1 + N/eta_g**2)"},
        symbols={"eta_g": "server_step_size", "tau": "communication_period", "R": "rounds"},
        conditions={"step": "eta*eta_g*tau*L <= 1/24", "server": "eta_g >= 1"},
        method={"name": "scaffold", "eta": "eta", "tau": "tau", "eta_g": "eta_g", "b": "b"},
    )
    found = theorem.tune("printed", L="3/2", sigma=2, F_gap=3, N=4, **asked)
    assert found.values["eta_g"] == 1 and found.bound.admissible and found.bound.total <= 0.1


def test_what_has_no_resource_has_no_least_cost():
    free = small("1/T", units=["objective_gap", "step_size"])
    with is_refused(
        r"^m\.t \(printed\): has no resource that is minimised unasked; what it has can be named, as in --cost T or"
    ):
        free.statement("printed").theorem.tune("printed", eps="1/10")
    assert free.tune("printed", budget={"T": 10}).value == pytest.approx(0.1)


def test_a_term_with_a_minus_is_no_bound_to_minimise():
    """A step of a proof, such as a descent."""
    terms = {"good": "F_gap/(eta*T)", "bad": "-L*eta*p*F_gap*L/N"}
    made = small(terms).statement("printed")
    with is_refused(r"m\.t: the term bad may be negative"):
        tune(made, {"F_gap": 3, "L": 2, "N": 5}, budget={"T": 10})


def test_a_range_outside_a_condition_or_a_domain_gets_one_line():
    given = {"L_bar": 1, "mu": "1/10", "sigma": 1, "D": 1, "N": 4}
    theorem = fedco.theorem("library.sgd_strongly_convex")
    with is_refused("no admissible choice; in conflict: step_size, range of eta"):
        theorem.tune(budget={"samples": 100}, ranges={"eta": (5, 5)}, **given)
    heavy_ball = partial(fedco.theorem("library.heavy_ball").tune, L_bar=1, sigma=1, F_gap=1, N=4)
    with is_refused(r"no admissible choice; in conflict: budget of samples, range of T$"):
        heavy_ball(budget={"samples": 100}, ranges={"T": (1000, None), "b": (None, 9)})
    with is_refused(r"no admissible choice; in conflict: budget of samples, range of b$"):
        heavy_ball(
            budget={"samples": 100}, ranges={"T": (1000, None), "b": (1000, None)}
        )  # each is in the way by itself
    with is_refused(r"no admissible choice; in conflict: weight, range of alpha$"):
        heavy_ball(budget={"samples": 100}, ranges={"alpha": (2, None)})
    convex = fedco.theorem("library.sgd_convex")
    with is_refused(r"has no smaller bound under step_size, range of T$"):
        convex.tune(eps="1/10", ranges={"T": (1, 2)}, L_bar=1, sigma=1, D=1, N=4)
    free = small("1/((1 - x)*T)", symbols={"x": "heavy_ball_momentum"}, units=["objective_gap", "step_size"])
    with is_refused(r"^range of x: wanted a number in \[0, 1\), got at least 1$"):
        free.tune(budget={"T": 10}, ranges={"x": (1, 1)})


def _with_differences(terms: dict[str, str], conditions: dict[str, str], **extra: str) -> fedco.Theorem:
    symbols = {
        "L": "local_smoothness",
        "F": "objective_gap",
        "T": "iterations",
        "sigma": "local_gradient_noise",
        **extra,
    }
    texts = " ".join([*terms.values(), *conditions.values()])
    used = {name: quantity for name, quantity in symbols.items() if name in texts}
    return fedco.define(
        id="m.t", symbols=used, terms=terms, conditions=conditions, costs={"samples": "T", "rounds": "T"}
    )


def test_prices_are_not_told_where_they_are_those_of_another_program():
    """2/(T eta) + eta (1 - eta) at eta = 1 is 2/T, where a sample more buys 1%; with 1 - eta replaced by 1 the optimum is inside."""
    terms = {"start": "2*F/(T*eta)", "noise": "L*sigma**2*eta*(1 - eta*L)"}
    own = _with_differences(terms, {"step": "eta <= 1/L"}, eta="step_size")
    found = own.tune(budget={"samples": 1000}, L=1, sigma=1, F=1)
    assert (found.values["eta"], found.value, found.advice) == (1, 0.002, ())
    strict = own.tune(eps="1/10", L=1, sigma=1, F=1)
    assert strict.bound.admissible and strict.value <= 21, (
        "the point itself, though the program with 1 allows none near it"
    )


@pytest.mark.parametrize(("extra", "conditions"), [("server_momentum", {}), ("momentum", {"end": "q <= 1"})])
def test_a_difference_that_is_nonnegative_where_it_is_admissible_is_no_negative_term(extra, conditions):
    own = _with_differences({"start": "2*F*L/T", "noise": "sigma**2*(1 - q)"}, conditions, q=extra)
    for options in ({"eps": "1/10"}, {"budget": {"samples": 1000}}):
        found = own.tune(L=1, sigma=1, F=1, **options)
        assert found.bound.admissible and found.bound.total <= 0.1


def test_a_term_that_is_negative_at_an_admissible_point_is_refused():
    own = _with_differences({"start": "2*F*L/T", "step": "sigma**2*(q**2 - q)"}, {"end": "q <= 1"}, q="momentum")
    with is_refused("the term step may be negative"):
        own.tune(L=1, sigma=1, F=1, budget={"samples": 1000})
