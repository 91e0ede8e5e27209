"""A metric of a theorem's own: measured like any other, kept and judged with what its definition says; what cannot be done is one line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import fedco
import numpy as np
import pytest
import torch
from fedco.bounds import get_theorem
from fedco.bounds.cost.comparison import compare
from fedco.bounds.proof.derivations import prove
from fedco.bounds.proof.sharpen import sharpen
from fedco.errors import InputError
from fedco.user_files import load_object
from fedco.validation.experiments.run import run
from fedco.validation.explorer.data import theorem_data
from fedco.validation.falsifier.attack import falsify
from fedco.validation.runs.generate import instances_of
from fedco.validation.runs.measures import At
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.validate import validate

EXAMPLES = Path(fedco.__file__).parent / "examples"
ENVELOPE = f"{EXAMPLES / 'envelope_metric.py'}:envelope"
SINES = "federated_sines"
KEYS = {
    "id": "mine.theorem_1",
    "symbols": {
        "L": "objective_smoothness",
        "G": "local_gradient_bound",
        "sigma": "local_gradient_noise",
        "F_gap": "objective_gap",
        "eta": "step_size",
        "N": "clients",
        "b": "batch_size",
        "T": "iterations",
    },
    "terms": {"start": "2*F_gap/(eta*T)", "step": "2*L*eta*(G**2 + sigma**2/(N*b))"},
    "method": {"name": "minibatch_sgd", "b": "b"},
}
INSTANCE = Instance(SINES, {"eta": Fraction(1, 10), "b": 1}, "", horizons=(12,))
METRICS = """
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
    (tmp_path / "mine.py").write_text(METRICS, encoding="utf-8")
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
    file.write_text(METRICS.replace("square().sum(-1)", "square().sum(-1) / 2"), encoding="utf-8")
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
