"""`fedco practice`: the rows of the grid, and the product that explains bound / measured."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from fractions import Fraction

import fedco
import pytest
import torch
from fedco.cli import main
from fedco.validation.practice.along import Trajectory, attained, trajectory
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.instance import Instance

CASES = {
    "baselines.local_sgd": ("federated_logistic", 40),
    "baselines.scgd": ("local_noisy", 40),
    "feddro.theorem_5_1": ("feddro_noisy", 40),
    "fcsg.theorem_4_1": ("conditional_noisy", 40),
}


@pytest.fixture(scope="module")
def found():
    made = {}

    def of(theorem):
        if theorem not in made:
            problem, T = CASES[theorem]
            made[theorem] = fedco.practice(theorem, problem, T=T, seeds=3, above=1)
        return made[theorem]

    return of


@pytest.mark.parametrize("theorem", CASES)
def test_the_product_multiplies_out(found, theorem):
    answer = found(theorem)
    told = answer.explanation
    factors = [line.factor for line in told.constants]
    assert factors and math.isclose(math.prod(factors) * told.remaining, told.factor, rel_tol=1e-12)
    assert math.isclose(told.factor, answer.theory.bound / answer.theory.mean, rel_tol=1e-12)
    assert math.isclose(sum(line.times for line in told.terms), told.remaining, rel_tol=1e-12)
    assert max(factors) > 1.01  # some constant is smaller along the run, and the bound with it
    assert all(0 <= line.along <= line.worst for line in told.constants)


@pytest.mark.parametrize("theorem", CASES)
def test_each_line_is_the_bound_before_over_the_bound_after(found, theorem):
    """The bounds are evaluated here by the theorem's verb, from nothing but the lines of the answer."""
    answer, values = found(theorem), {}
    told, item = answer.explanation, answer.theorem
    problem = fedco.problem(CASES[theorem][0])
    for name, binding in item.symbols(answer.statement).items():
        quantity = binding.quantity
        if quantity.role == "constant":
            certificate = problem.certificates.get(quantity.name)
            values[name] = Fraction(certificate.value) if certificate else 0
        elif quantity.name == "clients":
            values[name] = problem.clients
    values |= {"T": answer.steps, answer.step: answer.theory.step, **answer.settings}
    before = float(item.bound(answer.statement, strict=False, **values))
    assert math.isclose(before, answer.theory.bound, rel_tol=1e-9)
    for line in told.constants:
        after = float(item.bound(answer.statement, strict=False, **{**values, line.symbol: Fraction(line.along)}))
        assert math.isclose(before / after, line.factor, rel_tol=1e-9), line.symbol
        values[line.symbol], before = Fraction(line.along), after


def test_a_row_is_what_measure_measures(found):
    answer = found("baselines.local_sgd")
    for row in answer.rows:
        hyper = {"eta": Fraction(row.step), "p": 2, "b": 1}
        run = measure(answer.theorem, Instance(fedco.problem("federated_logistic"), hyper, ""), 40, 3, strict=False)
        assert math.isclose(float(run.statistic.mean()), row.mean, rel_tol=1e-9) and row.low < row.mean < row.high
        assert row.rounds == 20
        assert (row.bound is not None) == run.bound.admissible
    tuned = answer.theory
    assert tuned.bound == min(row.bound for row in answer.rows if row.bound is not None)
    assert answer.best.mean == min(row.mean for row in answer.rows)
    assert answer.gain == tuned.mean / answer.best.mean > 1


def test_a_constant_along_a_run_by_hand():
    """On a quadratic the slope of the gradient along a step, and the descent, follow from the problem's own oracles."""
    problem = fedco.problem("federated_quadratic")
    method = fedco.algorithms.MinibatchSGD(eta=0.5, b=1)
    models = trajectory(method, problem, 10, 2)
    assert models.before.shape == (2 * 10, problem.dim)
    moved = problem.gradient(models.after) - problem.gradient(models.before)
    slopes = moved.norm(dim=-1) / (models.after - models.before).norm(dim=-1)
    assert math.isclose(attained(problem, "objective_smoothness", models), float(slopes.max()), rel_tol=1e-12)
    least = float(problem.objective(torch.cat([models.before, models.after])).min())
    start = float(problem.objective(problem.initial_point.unsqueeze(0)))
    assert math.isclose(attained(problem, "objective_gap", models), start - least, rel_tol=1e-12)
    assert attained(problem, "clients", models) is None
    still = Trajectory(models.before, models.before)
    assert attained(problem, "objective_smoothness", still) is None  # nothing moved


def test_a_diverged_point_is_named_and_no_number_is_nan():
    answer = fedco.practice("baselines.minibatch_sgd", "federated_quadratic", T=60, seeds=2, above=3)
    last = answer.rows[-1]
    assert last.diverged == 2 and last.mean is None and last.measured == "diverged (2 seeds)"
    assert answer.best is answer.theory and answer.theory.diverged == 0
    text = str(answer)
    assert "diverged (2 seeds)" in text and "nan" not in text and "inf" not in text.replace("infimum", "")
    assert "no other of the grid does better" in text
    json.dumps(answer.to_dict(), allow_nan=False)
    assert len(answer.plot().data) >= 2


def test_all_diverged_is_no_plot():
    answer = fedco.practice("baselines.minibatch_sgd", "federated_quadratic", T=20, seeds=1, above=0, below=0)
    gone = replace(answer, rows=(replace(answer.rows[0], mean=None, diverged=1),))
    assert gone.best is None and gone.gain is None
    with pytest.raises(fedco.InputError, match="every run diverged"):
        gone.plot()


def test_one_seed_has_no_interval_and_the_same_seeds_give_the_same_answer():
    first, again = (fedco.practice("baselines.scgd", "local_noisy", T=20, seeds=1, above=0) for _ in range(2))
    other = fedco.practice("baselines.scgd", "local_noisy", T=20, seeds=1, above=0, root_seed=1)
    assert first.to_dict() == again.to_dict() and first.theory.low is None
    assert other.theory.mean != first.theory.mean and other.theory.bound == first.theory.bound


MODEL = """
import torch
from torch import nn
from torch.nn.functional import cross_entropy

def build():
    torch.manual_seed(0)
    x = torch.randn(40, 3)
    data = [(part, (part[:, 0] > 0).long()) for part in x.split(20)]
    return {"model": nn.Linear(3, 2), "loss": cross_entropy, "clients": data}
"""


def test_a_model_from_a_file(tmp_path):
    (tmp_path / "my_model.py").write_text(MODEL)
    answer = fedco.practice("baselines.local_sgd", f"{tmp_path / 'my_model.py'}:build", T=20, seeds=2, above=1)
    told = answer.explanation
    assert math.isclose(math.prod(line.factor for line in told.constants) * told.remaining, told.factor, rel_tol=1e-12)
    assert {line.symbol for line in told.constants} <= {"L", "G", "sigma", "F_gap"} and told.constants


def test_the_command(capsys, monkeypatch, tmp_path):
    asked = ["--problem", "federated_logistic", "--T", "20", "--seeds", "2", "--above", "1", "--set", "p=4"]

    def run(*more):
        monkeypatch.setattr(sys, "argv", ["fedco", "practice", *more])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    picture = tmp_path / "practice.svg"
    code, printed = run("baselines.local_sgd", *asked, "--json", "--figure", str(picture))
    data = json.loads(printed.out)
    expected = fedco.practice("baselines.local_sgd", "federated_logistic", T=20, seeds=2, above=1, settings={"p": 4})
    assert code == 0 and data == json.loads(expected.to_json()) and data["settings"]["p"] == 4
    assert "step size eta" in picture.read_text()
    code, printed = run("baselines.local_sgd", *asked)
    assert code == 0 and printed.out == f"{expected}\n"


@pytest.mark.parametrize(
    ("theorem", "options", "said"),
    [
        ("baselines.local_sgd", ["--problem", "local_noisy"], "does not fit baselines.local_sgd"),
        ("baselines.local_sgd", ["--problem", "federated_noissy"], "unknown problem 'federated_noissy'"),
        ("baselines.local_sgd", ["--set", "eta=1"], "--set eta: wanted it free"),
        ("baselines.local_sgd", ["--set", "L=1"], "--set L: wanted a hyperparameter"),
        ("baselines.local_sgd", ["--set", "T=1"], "--set T: wanted a hyperparameter"),
        ("baselines.nothing", [], "baselines.nothing"),
        ("feddro.theorem_4_1", [], "feddro.theorem_4_1"),
        ("baselines.local_sgd", ["--json", "--latex"], "--latex: wanted one way to print"),
        ("baselines.local_sgd", ["--statement", "composed"], "--statement composed"),
    ],
)
def test_wrong_input_is_one_line(capsys, monkeypatch, theorem, options, said):
    problem = [] if "--problem" in options else ["--problem", "federated_logistic"]
    monkeypatch.setattr(sys, "argv", ["fedco", "practice", theorem, *problem, "--T", "20", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2 and error.count("\n") == 1 and said in error
    with pytest.raises(fedco.InputError, match="wanted at least 1, 1, 2, 0 and 0"):
        fedco.practice("baselines.local_sgd", "federated_logistic", T=20, factor=1)


def test_the_sheet_has_the_grid_the_product_and_the_terms(found):
    answer = found("baselines.local_sgd")
    grid, product, terms = answer.sheet().tables
    assert [row[0] for row in grid.rows] == [row.step for row in answer.rows]
    assert product.rows[-1][-1] == answer.explanation.factor and len(terms.rows) == len(answer.explanation.terms)
    assert "what remains" in answer.to_markdown() and "95% t-interval" in str(answer)
