"""Metrics of a run: known ones against plain numbers, a theorem's own, and bounds that hold with a probability."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import fedco
import numpy as np
import pytest
import sympy as sp
import torch
from fedco.bounds.cost.comparison import compare
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.metrics import MEASURES, METRICS, MINIMUM, WEIGHTED, with_probability
from fedco.bounds.proof.derivations import derivation, prove
from fedco.bounds.proof.kernel import check
from fedco.bounds.proof.sharpen import sharpen
from fedco.bounds.registry import get_theorem
from fedco.errors import InputError
from fedco.synthetic.families.federated import FederatedQuadratic
from fedco.user_files import load_object
from fedco.validation.experiments.run import run
from fedco.validation.explorer.data import theorem_data
from fedco.validation.falsifier.attack import falsify
from fedco.validation.proofs.lock import instances_of as tried_on_instances
from fedco.validation.runs.campaign import Experiment, verdict_for
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.fit import misfit
from fedco.validation.runs.generate import instances_of
from fedco.validation.runs.measures import At, judged
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.validate import validate
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import judge
from quick import slow_but
from small_theorems import symbols

STEPS, ETA = 6, 0.25
PROBLEM = FederatedQuadratic(clients=4, dim=3, L=1.5, mu=0.25, sigma=0.0, Delta=0.75, start=2.0)
UNITS = {"gradient_sq": "L_bar**2*D**2", "gradient": "L_bar*D", "gap": "L_bar*D**2", "distance_sq": "D**2"}


def theorem(word: str, **more: object):
    """A theorem that bounds this metric by as much as holds at the start."""
    if METRICS[word].over == WEIGHTED:
        more = {"weights": "t + 1", **more}
    return fedco.define(
        id="mine.metric",
        metric=word,
        symbols={"L_bar": "objective_smoothness", "D": "initial_distance", "eta": "step_size", "T": "iterations"},
        terms={"start": UNITS[METRICS[word].of] + "*(1 + 1/T)"},
        conditions={"step": "eta <= 1/L_bar"},
        method={"name": "minibatch_sgd", "eta": "eta", "b": "1"},
        **more,
    )


CURVATURES = np.array([1.5, 0.875, 0.25])
MODELS = np.array([PROBLEM.initial_point.numpy() * (1 - ETA * CURVATURES) ** t for t in range(STEPS + 1)])


def by_hand(x: np.ndarray = MODELS) -> dict[str, np.ndarray]:
    """Every measure at models `(models, dim)`, by default those at t = 0, ..., T."""
    curvatures = CURVATURES
    return {
        "gradient_sq": ((curvatures * x) ** 2).sum(1),
        "gradient": np.sqrt(((curvatures * x) ** 2).sum(1)),
        "gap": (curvatures * x**2).sum(1) / 2,
        "distance_sq": (x**2).sum(1),
    }


def measured(word: str, **more: object) -> float:
    instance = Instance(PROBLEM, {"eta": Fraction(1, 4)}, "")
    return float(measure(theorem(word, **more), instance, STEPS, 1, label="printed").statistic[0])


@pytest.mark.parametrize("of", [each for each in MEASURES if not each.startswith("gradient")])
def test_every_metric_is_measured_as_it_is_declared(of: str):
    rows = by_hand()[of]
    assert measured(f"mean_{of}") == pytest.approx(rows[:-1].mean(), rel=1e-12)
    assert measured(f"mean_{of}", average="after") == pytest.approx(rows[1:].mean(), rel=1e-12)
    assert measured(f"last_{of}") == pytest.approx(rows[-1], rel=1e-12)
    assert measured(f"last_{of}", average="after") == pytest.approx(rows[-1], rel=1e-12)


@pytest.mark.parametrize("word", ["mean_gap", "last_gap"])
def test_the_means_before_and_after_are_those_of_their_iterates(word: str):
    """Whatever the statement itself averages."""
    found = measure(theorem(word), Instance(PROBLEM, {"eta": Fraction(1, 4)}, ""), STEPS, 1, label="printed")
    rows = by_hand()["gap"]
    assert found.before.item() == pytest.approx(rows[:-1].mean(), rel=1e-12)
    assert found.after.item() == pytest.approx(rows[1:].mean(), rel=1e-12)


WEIGHTS = {
    "(t + 1)**2": lambda t: (t + 1.0) ** 2,
    "(1 - L_bar*eta/2)**(-t)": lambda t: 0.8125**-t,
    "(1 - L_bar*eta)**(-t)": lambda t: 0.625**-t,
    "sqrt(t + T)": lambda t: np.sqrt(t + STEPS),
    "floor(t/2)": lambda t: t // 2,
}


@pytest.mark.parametrize("of", [each for each in MEASURES if not each.startswith("gradient")])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_are_those_of_the_steps(of: str, weights: str):
    for average, counted in (("before", slice(0, STEPS)), ("after", slice(1, STEPS + 1))):
        w = WEIGHTS[weights](np.arange(STEPS + 1.0))[counted]
        mean = (w * by_hand()[of][counted]).sum() / w.sum()
        average_of_models = (w[:, None] * MODELS[counted]).sum(0) / w.sum()
        assert measured(f"weighted_{of}", weights=weights, average=average) == pytest.approx(mean, rel=1e-12)
        found = measured(f"averaged_{of}", weights=weights, average=average)
        assert found == pytest.approx(by_hand(average_of_models[None])[of][0], rel=1e-12)
        assert abs(found - mean) > 1e-2 * mean


@pytest.mark.parametrize("of", [each for each in MEASURES if not each.startswith("gradient")])
def test_an_averaged_iterate_weighs_all_alike_where_nothing_is_said(of: str):
    assert measured(f"averaged_{of}") == pytest.approx(by_hand(MODELS[:-1].mean(0, keepdims=True))[of][0], rel=1e-12)
    assert measured(f"averaged_{of}", weights="3") == measured(f"averaged_{of}")


def test_weights_that_are_negative_or_all_zero_are_no_weights():
    """A formula whose sign depends on the step is read where the first weight is positive; a run refuses it where another one is not."""
    for weights in ("t - 2", "2 - t", "0*t", "floor(t/100)"):
        with pytest.raises(InputError, match="weights"):
            measured("weighted_gap", weights=weights)
    with pytest.raises(InputError, match="below 0 at t = 0"):
        theorem("weighted_gap", weights="t - 2")
    assert theorem("weighted_gap", weights="2 - t").metric.weights is not None


def test_weights_that_are_no_rational_numbers_are_not_falsified():
    found = falsify(theorem("weighted_gap", weights="sqrt(t + 1)"), seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "rational numbers" in " ".join(found.why)


def test_the_last_squared_gradient_is_measured_where_it_has_a_cap():
    instance = Instance("federated_homogeneous", {"eta": Fraction(1, 4)}, "")
    last, mean, after = (
        measure(theorem(word, average=average), instance, 20, 4, label="printed").statistic
        for word, average in (
            ("last_gradient_sq", "before"),
            ("mean_gradient_sq", "before"),
            ("mean_gradient_sq", "after"),
        )
    )
    start = float(
        fedco.problem("federated_homogeneous")
        .gradient(fedco.problem("federated_homogeneous").initial_point.unsqueeze(0))
        .square()
        .sum()
    )
    assert last == pytest.approx(start + 20 * (after - mean), rel=1e-9)


@pytest.mark.parametrize("of", MEASURES)
def test_a_minimum_of_expectations_is_not_measured(of: str):
    with pytest.raises(InputError, match=f"wanted mean_{of}"):
        measured(f"minimum_{of}")


def test_a_problem_without_a_known_minimiser_does_not_fit():
    gap = theorem("last_gap")
    assert "initial_distance" in misfit(gap, fedco.problem("federated_logistic"))
    assert not misfit(gap, PROBLEM)


FEW = ("mean_gradient_sq", "last_gap", "last_distance_sq", "averaged_gap", "minimum_gap")
"""Weighted ones are searched in test_falsifier_metrics.py; an expected norm is a sum over all paths, and dear."""


@pytest.mark.parametrize("word", slow_but(FEW, METRICS))
def test_the_search_does_not_take_one_metric_for_another(word: str):
    """Without noise, and where F is convex, each bound holds; noise breaks it, but for the least, which is at most the first."""
    without_noise = theorem(word, assume=["deterministic", "convex"])
    assert falsify(without_noise, seconds=0.5).outcome == "SURVIVED"
    is_least = METRICS[word].over == MINIMUM
    assert falsify(theorem(word), seconds=0.5 if is_least else 5).outcome == ("SURVIVED" if is_least else "REFUTED")


def test_only_a_known_minimiser_gives_a_gap():
    elsewhere = replace(theorem("last_gap"), problem="local_composite")
    found = falsify(elsewhere, seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "a minimiser that is known exactly" in " ".join(found.why)


def test_validation_judges_a_theorem_of_ones_own_by_its_metric():
    """The distance after T steps, on instances that are generated for it."""
    own = fedco.define(
        id="mine.distance",
        metric="last_distance_sq",
        symbols=symbols("L_bar mu sigma D eta N T"),
        terms={"start": "(1 - mu*eta)**T*D**2", "noise": "eta*sigma**2/(mu*N)"},
        conditions={"step": "eta <= 1/L_bar", "contraction": "mu*eta <= 1"},
        method={"name": "minibatch_sgd", "eta": "eta", "b": "1"},
    )
    result = fedco.validate(own, problems=["federated_strongly_convex"], seeds=300, jobs=1)
    outcomes = {str(verdict.outcome) for verdict in result.verdicts}
    assert "SUPPORTED" in outcomes
    assert outcomes <= {"SUPPORTED", "INCONCLUSIVE"}


# --- a metric of a theorem's own --------------------------------------------------------------------------------------


EXAMPLES = Path(fedco.__file__).parent / "examples"
ENVELOPE = f"{EXAMPLES / 'envelope_metric.py'}:envelope"
SINES = "federated_sines"
KEYS = {
    "id": "mine.theorem_1",
    "symbols": symbols("L G sigma F_gap eta N b T", L="objective_smoothness"),
    "terms": {"start": "2*F_gap/(eta*T)", "step": "2*L*eta*(G**2 + sigma**2/(N*b))"},
    "method": {"name": "minibatch_sgd", "b": "b"},
}
INSTANCE = Instance(SINES, {"eta": Fraction(1, 10), "b": 1}, "", horizons=(12,))
OF_A_FILE = """
import torch

def same(problem, state, t):
    return problem.gradient(state.average).square().sum(-1)

def shape(problem, state, t):
    return state.average

def negative(problem, state, t):
    return -same(problem, state, t)

def nothing(problem, state, t):
    return same(problem, state, t) * float("nan")

def number(problem, state, t):
    return 3.0

def fails(problem, state, t):
    return problem.nothing

def large(problem, state, t):
    return torch.full_like(same(problem, state, t), 7.0 if t == 5 else 0.0)

def sparse(problem, state, t):
    return same(problem, state, t).to_sparse()

def without_numbers(problem, state, t):
    return same(problem, state, t).to("meta")

def leaves(problem, state, t):
    raise SystemExit(0)

class Thing: pass

from functools import partial as _partial
partial = _partial(same)
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(OF_A_FILE, encoding="utf-8")
    return tmp_path / "mine.py"


def of(measure, **more):
    return fedco.define(**KEYS, metric={"measure": measure, "cap": "G**2", **more.pop("metric", {})}, **more)


def statistic(theorem, **more):
    found = validate(theorem, instances=[INSTANCE], seeds=64, jobs=1, **more)
    return found.results[0].statistic


def test_the_envelope_of_a_quadratic_is_the_one_of_the_formula():
    """F = (1/2) x^T A x - b^T x: z is least where (A + 2L) z = b + 2L x, and the gradient there is A z - b."""
    problem = fedco.problem("federated_quadratic")
    x = torch.linspace(-2, 3, 3 * problem.dim, dtype=torch.float64).view(3, problem.dim)
    zero = torch.zeros(1, problem.dim, dtype=torch.float64)
    slope = problem.gradient(zero)
    matrix = problem.gradient(torch.eye(problem.dim, dtype=torch.float64)) - slope
    L = float(problem.certificates["objective_smoothness"].value)
    near = torch.linalg.solve(matrix + 2 * L * torch.eye(problem.dim, dtype=torch.float64), (2 * L * x - slope).T).T
    exact = (near @ matrix + slope).square().sum(-1)
    assert torch.allclose(load_object(ENVELOPE)(problem, At(x), 0), exact, rtol=1e-9)


@pytest.mark.parametrize("over", ["mean", "last", "weighted", "averaged"])
def test_the_measure_of_a_file_is_measured_as_the_same_one_of_the_language_is(file, over):
    weights = {"weights": "t + 1"} if over == "weighted" else {}
    own = of(f"{file}:same", metric={"over": over}, **weights)
    known = fedco.define(**KEYS, metric=f"{over}_gradient_sq", **weights)
    assert statistic(own).tolist() == statistic(known).tolist()
    assert own.metric.dimension == known.metric.dimension


def test_it_is_supported_and_the_control_is_refuted_and_the_answer_says_on_whose_word():
    theorem = fedco.load(EXAMPLES / "envelope.toml", trust=True)
    made = instances_of(theorem, "printed", (), [SINES]).instances
    found = validate(theorem, instances=made[:1], jobs=1)
    assert len(found.verdicts) == 2 and {str(each.outcome.value) for each in found.verdicts} == {"SUPPORTED"}
    assert {str(each.outcome.value) for each in found.controls} == {"REFUTED"}
    said = "envelope is at most G**2: its definition says so, and no number that was measured exceeds it"
    assert said in str(found) and said in found.sheet().notes and found.to_dict()["cap"] == said


def test_a_bound_that_may_fail_is_judged_by_how_often_it_does(file):
    symbols = {**KEYS["symbols"], "delta": "failure_probability"}
    terms = {name: f"({formula})/delta" for name, formula in KEYS["terms"].items()}
    keys = {**KEYS, "symbols": symbols, "terms": terms, "probability": {"failure": "delta"}}
    theorem = fedco.define(**keys, metric={"measure": f"{file}:same", "cap": "G**2"})
    instance = Instance(SINES, {"eta": Fraction(1, 50), "b": 1, "delta": Fraction(1, 2)}, "", horizons=(1500,))
    found = validate(theorem, instances=[instance], seeds=256, jobs=1)
    assert found.results[0].verdict.bound == 0.5 and found.results[0].verdict.outcome.value == "SUPPORTED"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shape", r"wanted a tensor of 64 numbers .* got the shape \(64, 4\) at step 0"),
        ("negative", r"numbers that are at least 0.* got -0\.\d+.* at step \d"),
        ("nothing", "numbers that are at least 0.* got nan at step 0"),
        ("number", "got a float at step 0"),
        ("fails", "fails at step 0: AttributeError: .*nothing"),
        ("sparse", "got one that is sparse or has no numbers at step 0"),
        ("without_numbers", "got one that is sparse or has no numbers at step 0"),
        ("leaves", "fails at step 0: SystemExit: 0"),
        ("large", r"wanted at most its cap G\*\*2 = .*, got 7 at step 5"),
        ("partial", r"wanted a function \(problem, state, t\) -> \(runs,\)"),
        ("Thing", r"wanted a function \(problem, state, t\) -> \(runs,\)"),
        ("missing", r"wanted FILE\.py:NAME with one of its names"),
    ],
)
def test_a_bad_number_is_one_line(file, name, said):
    with pytest.raises(InputError, match=said) as raised:
        statistic(of(f"{file}:{name}"))
    assert "\n" not in str(raised.value)


def test_without_a_cap_nothing_is_supported_and_a_line_says_so(file):
    theorem = fedco.define(**KEYS, metric=f"{file}:same")
    with pytest.raises(
        InputError, match=r"nothing says what same never exceeds.*wanted cap = FORMULA under \[metric\]"
    ):
        validate(theorem, problems=[SINES], jobs=1)


def test_what_is_kept_is_gone_when_the_file_changes(file, tmp_path):
    first = statistic(of(f"{file}:same"), out=tmp_path / "kept")
    file.write_text(OF_A_FILE.replace("square().sum(-1)", "square().sum(-1) / 2"), encoding="utf-8")
    assert np.allclose(statistic(of(f"{file}:same"), out=tmp_path / "kept"), first / 2)


def test_what_rests_on_a_formula_of_the_metric_says_that_there_is_none(file):
    theorem = of(f"{file}:same")
    none = "same is what .*mine.py:same gives of a run in doubles, and no formula of it is known"
    with pytest.raises(InputError, match=f"no rule of the kernel concludes its metric: {none}"):
        prove(theorem)
    values = {"L": 1, "G": 1, "sigma": 1, "F_gap": 1, "eta": "1/10", "N": 2, "b": 1, "T": 9}
    with pytest.raises(InputError, match=f"has no proof to be sharpened: {none}"):
        sharpen(theorem.statement(), values)
    found = falsify(theorem, seconds=1.0)
    assert found.outcome == "NOT_APPLICABLE" and "does not evaluate its metric" in found.why[0]


def test_it_is_compared_with_the_same_metric_only(file):
    one = of(f"{file}:same")
    same = fedco.define(**{**KEYS, "id": "mine.theorem_2"}, metric={"measure": f"{file}:same", "cap": "G**2"})
    assert len(compare(theorems=[one, same], eps="1/10").rows) == 2
    for other in (of(f"{file}:large"), fedco.theorem("baselines.minibatch_sgd")):
        with pytest.raises(InputError, match=r"a metric of its own, and .*: wanted theorems with the same one"):
            compare(theorems=[one, other], eps="1/10")


def test_a_run_records_it_and_refuses_another_metric_of_that_name(file):
    options = {"T": 8, "seeds": 3, "settings": {"eta": 0.1, "b": 1}}
    found = run("minibatch_sgd", SINES, metrics=[f"{file}:same", "gradient_sq"], **options)
    assert found.table.metrics[0] == "same" and found.final("same").tolist() == found.final("gradient_sq").tolist()
    file.write_text("def gap(problem, state, t):\n    return state.average[:, 0]\n", encoding="utf-8")
    with pytest.raises(InputError, match="gap is another metric"):
        run("minibatch_sgd", SINES, metrics=[f"{file}:gap"], **options)


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("mine.py", r"metric, measure: wanted FILE\.py:NAME, got 'mine\.py'"),
        ({"measure": "mine:same"}, r"metric, measure: wanted FILE\.py:NAME"),
        ({"over": "last"}, r"metric, measure: wanted FILE\.py:NAME, got ''"),
        ({"measure": "mine.py:same", "mean": "x"}, "metric: 'mean' is not a key of a metric"),
        ({"measure": "mine.py:same", "over": "minimum"}, "metric, over: 'minimum' is not which iterates"),
        ({"measure": "mine.py:same", "dimension": "q"}, "metric, dimension: wanted powers of f, y and x"),
        ({"measure": "mine.py:same", "dimension": "x^2"}, "term start: wanted dimension"),
        ({"measure": "mine.py:same", "cap": "G"}, "cap of the metric: wanted dimension"),
        ({"measure": "mine.py:same", "cap": "H"}, "metric, cap: column 1: 'H' is not a declared name"),
        ({"measure": "mine.py:same", "meaning": 3}, "metric, meaning: wanted a text in one line"),
        ({"measure": "mine.py:same", "over": "weighted"}, "weights: .*needs some"),
        (3, "metric: wanted a text, or a table, got '3'"),
    ],
)
def test_a_bad_definition_is_one_line(metric, said):
    with pytest.raises(InputError, match=said) as raised:
        fedco.define(**KEYS, metric=metric)
    assert "\n" not in str(raised.value)


def test_a_cap_of_what_the_statement_says_nothing_of_is_refused():
    keys = {**KEYS, "symbols": {**KEYS["symbols"], "M": "gradient_cap"}}
    with pytest.raises(
        InputError, match=r"the cap of the metric speaks of \['M'\], of which the statement says nothing"
    ):
        fedco.define(**keys, metric={"measure": "mine.py:same", "cap": "M**2"})


def test_reading_a_definition_runs_nothing(file):
    file.write_text("raise RuntimeError\n", encoding="utf-8")
    theorem = of(f"{file}:same")
    assert theorem.metric.name == "(1/T) sum_t E same(xbar_t)" and "same, by" in theorem.metric.meaning
    with pytest.raises(InputError, match="running it failed in line 1: RuntimeError"):
        statistic(theorem)


def test_a_file_that_ends_the_process_is_one_line(file):
    file.write_text("import sys\nsys.exit()\n", encoding="utf-8")
    with pytest.raises(InputError, match="running it failed in line 2: SystemExit"):
        statistic(of(f"{file}:same"))


def test_a_cap_belongs_to_what_is_kept(file, tmp_path):
    """What was measured under a larger cap was read back, and the answer said that no number exceeds the smaller one."""
    instance = Instance(SINES, {"eta": Fraction(1, 10), "b": 1}, "", horizons=(16,))
    kept = {"instances": [instance], "seeds": 8, "jobs": 1, "out": tmp_path / "kept"}
    validate(of(f"{file}:large", metric={"cap": "G**2*100"}), **kept)
    with pytest.raises(InputError, match="wanted at most its cap"):
        validate(of(f"{file}:large"), **kept)


@pytest.mark.parametrize("cap", ["-G**2", "G**2/(b - 1)"])
def test_a_cap_that_is_no_positive_number_is_one_line(file, cap):
    instance = Instance(SINES, {"eta": Fraction(1, 10), "b": 1}, "", horizons=(16,))
    with pytest.raises(InputError, match=r"the cap of same, .*: wanted a positive number, got") as raised:
        validate(of(f"{file}:same", metric={"cap": cap}), instances=[instance], seeds=8, jobs=1)
    assert "\n" not in str(raised.value)


def test_the_explorer_compares_it_with_no_other_metric(file):
    """Its unit may be that of the squared gradient; the script asks for `own`."""
    both = of(f"{file}:same"), get_theorem("baselines.minibatch_sgd")
    data, other = (theorem_data(theorem, theorem.id, ()) for theorem in both)
    assert data["metric"]["own"] is True and data["metric"]["unit"] == other["metric"]["unit"]
    assert "own" not in other["metric"]


# --- bounds that hold with a probability ------------------------------------------------------------------------------


SGD = get_theorem("library.sgd_probable")
DELTA = Fraction(1, 4)
PROBABLE: dict[str, Any] = {
    "id": "mine.probable",
    "symbols": symbols("L sigma F_gap eta delta N T", L="objective_smoothness"),
    "probability": {"failure": "delta"},
    "terms": {"start": "2*F_gap/(eta*T*delta)", "noise": "L*eta*sigma**2/(N*delta)"},
    "conditions": {"step": "eta <= 1/L"},
    "method": {"name": "minibatch_sgd", "eta": "eta", "b": 1},
}


def changed(factor: Any = 1, failure: str | None = None):
    """The theorem with all terms times a number, or about expectations."""
    statement = SGD.statement("printed")
    terms = tuple(replace(term, expr=sp.sympify(factor) * term.expr) for term in statement.terms)
    theorem = SGD if failure is None else replace(SGD, metric=METRICS["mean_gradient_sq"])
    return with_statement(theorem, replace(statement, terms=terms))


# --- the language ------------------------------------------------------------------------------------------------------


def test_a_definition_says_with_which_probability_its_bound_may_fail():
    theorem = fedco.define(**PROBABLE)
    assert theorem.metric == SGD.metric
    assert theorem.metric.name == "with probability 1 - delta, (1/T) sum_t ||grad F(xbar_t)||^2"
    assert (
        theorem.metric.latex.startswith(r"\text{with probability }1-\delta\text{, }")
        and "{E}" not in theorem.metric.latex
    )
    assert "E" not in with_probability(METRICS["last_gap"], "delta", "").name
    again = fedco.define(**keys_of(theorem, "printed"))
    assert again.metric == theorem.metric and again.statement() == theorem.statement()
    values = {"L": 1, "sigma": 1, "F_gap": 1, "eta": 1, "N": 4, "T": 100}
    assert theorem.bound(delta="1/4", **values).total == pytest.approx(4 * (0.02 + 0.25))
    with pytest.raises(InputError, match=r"delta: wanted a number in \(0, 1\)"):
        theorem.bound(delta=1, **values)


@pytest.mark.parametrize(
    ("probability", "reason"),
    [
        ({"failure": "eta"}, "wanted a symbol for failure_probability, got 'eta'"),
        ({"failure": 0.1}, "wanted a symbol for failure_probability"),
        ({"fails": "delta"}, "'fails' is not a key here"),
    ],
)
def test_another_probability_is_one_line(probability: Any, reason: str):
    with pytest.raises(InputError) as raised:
        fedco.define(**{**PROBABLE, "probability": probability})
    assert reason in str(raised.value) and "\n" not in str(raised.value)


# --- how often it fails ------------------------------------------------------------------------------------------------


def test_a_verdict_is_about_how_often_the_bound_fails():
    found = judged(SGD.metric, {"delta": 0.25}, np.array([1.0, 3.0, 2.0, 5.0]), 2.0, 100.0)
    assert (found.values.tolist(), found.bound, found.cap) == ([0, 1, 0, 1], 0.25, 1.0)
    mean = judged(METRICS["mean_gradient_sq"], {}, np.array([1.0, 3.0]), 2.0, 100.0)
    assert (mean.values.tolist(), mean.bound, mean.cap) == ([1, 3], 2.0, 100.0)


def test_a_bound_that_cannot_fail_supports_nothing():
    found = judged(SGD.metric, {"delta": 0.25}, np.zeros(800), 4.0, 3.0)
    verdict = judge(found.values, found.bound, alpha=Fraction(1, 1000), cap=found.cap, certificates_kind="exact")
    assert verdict.vacuous and str(verdict.outcome) == "INCONCLUSIVE"


@pytest.mark.parametrize(("rate", "outcome"), [(0.02, "SUPPORTED"), (0.25, "INCONCLUSIVE"), (0.6, "REFUTED")])
def test_e_values_for_a_proportion(rate: float, outcome: str):
    rng = np.random.default_rng(3)
    statistic = np.where(rng.random(800) < rate, 1e9, 0.0)  # a mean that no cap of the metric would survive
    found = judged(SGD.metric, {"delta": float(DELTA)}, statistic, 1.0, 1e10)
    verdict = judge(found.values, found.bound, alpha=Fraction(1, 1000), cap=found.cap, certificates_kind="exact")
    assert str(verdict.outcome) == outcome


def test_a_run_is_judged_by_its_own_number():
    instance = Instance("federated_homogeneous", {"eta": Fraction(1, 2), "b": 4, "delta": DELTA}, "", {"start": 3.0})
    for factor, outcome in ((1, "SUPPORTED"), (sp.Rational(1, 100), "REFUTED")):
        theorem = changed(factor)
        experiment = Experiment(theorem, "printed", instance, 40, 200, 0)
        found = measure(theorem, instance, 40, 200, label="printed")
        ledger = AlphaBudget(Fraction(1, 1000))
        ledger.allot(experiment.name, Fraction(1, 1000), 200)
        verdict = verdict_for(experiment, found, ledger)
        assert str(verdict.outcome) == outcome, verdict
        assert verdict.bound == 0.25 and "how often it fails" in verdict.claim


def test_the_search_asks_how_often_a_run_exceeds_the_bound():
    """What holds in expectation is exceeded with a probability above delta, and the true bound is not."""
    assert falsify(SGD, seconds=1).outcome == "SURVIVED"
    statement = SGD.statement("printed")
    delta = SGD.notation[SGD.metric.failure].symbol
    terms = tuple(replace(term, expr=term.expr * delta / 4) for term in statement.terms)
    found = falsify(with_statement(SGD, replace(statement, terms=terms)), seconds=5)
    assert found.refuted and found.ratio > 1


# --- Markov's inequality -----------------------------------------------------------------------------------------------


def test_a_proof_of_the_mean_is_one_of_a_probability_by_the_factor_delta():
    found = derivation(SGD)
    verdict = check(found, SGD, "printed")
    assert verdict.accepted and "Markov's inequality" in verdict.rests_on["metric"]
    delta = SGD.notation[SGD.metric.failure].symbol
    of_the_mean = changed(delta)  # the terms of the bound of the expectation
    assert not check(found, of_the_mean, "printed").accepted
    assert not check(found, changed(sp.Rational(99, 100)), "printed").accepted


def test_a_sharper_statement_fails_on_an_instance(few_families):
    found = tried_on_instances(derivation(SGD), changed(sp.Rational(1, 20)))
    assert any("statement" in line for line in found.failed)


def test_of_expectations_the_same_derivation_proves_delta_times_the_terms_and_no_less():
    delta = SGD.notation[SGD.metric.failure].symbol
    theorem = changed(delta, failure="")
    found = derivation(theorem)
    assert check(found, theorem, "printed").accepted
    assert not check(found, changed(delta / 2, failure=""), "printed").accepted
