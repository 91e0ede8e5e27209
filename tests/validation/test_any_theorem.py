"""A theorem, a method and a problem of one's own, none of them registered: instances, verdicts, assertions, kept results."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import fedco
import pytest
from fedco.algorithms import LocalSGD
from fedco.bounds.language.reading import InputError
from fedco.bounds.registry import get_theorem
from fedco.synthetic import problem
from fedco.user_files import load_object
from fedco.validation.runs.campaign import Experiment, Task, run_tasks
from fedco.validation.runs.fit import fits, misfit
from fedco.validation.runs.generate import EDGE, generate
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipe_for
from fedco.validation.runs.validate import validate
from fedco.validation.runs.values import evaluate_at
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import Outcome
from fedco.validation.testing import assert_bound_holds, assert_refuted

EXAMPLES = Path(__file__).parents[2] / "examples"
RING = f"{EXAMPLES / 'ring.py'}:problem"
NOISY = "federated_noisy"


@pytest.fixture(scope="module")
def pr_sgd():
    return fedco.load(EXAMPLES / "pr_sgd.toml")


@pytest.fixture(scope="module")
def half_sgd():
    return fedco.load(EXAMPLES / "half_sgd.toml", trust=True)


@pytest.fixture(scope="module")
def ring():
    return load_object(RING)


def by_case(generated) -> dict[str, Instance]:
    return {instance.case: instance for instance in generated.instances}


def test_generated_instances_are_admissible_and_below_the_cap(half_sgd):
    made = by_case(generate(half_sgd, "printed", NOISY))
    assert set(made) == {"tuned", "edge", "stress"}
    for instance in made.values():
        cap = float(instance.made().certificates["gradient_cap"].value) ** 2
        assert len(instance.horizons) == 2 and instance.horizons[1] >= 2 * instance.horizons[0]
        for T in instance.horizons:
            bound, _ = evaluate_at(half_sgd, "printed", instance.made(), instance.hyperparameters, T)
            assert bound.admissible and bound.total < 0.75 * cap


def test_a_tuned_instance_has_half_the_cap_at_its_first_horizon_and_no_much_shorter_one_would(half_sgd):
    instance = by_case(generate(half_sgd, "printed", NOISY))["tuned"]
    cap = float(instance.made().certificates["gradient_cap"].value) ** 2
    bound, _ = evaluate_at(half_sgd, "printed", instance.made(), instance.hyperparameters, instance.horizons[0])
    assert bound.total <= cap / 2
    values = {name: Fraction(text) for name, text in bound.values.items() if name != "eta"}
    shorter = half_sgd.tune("printed", budget={"iterations": 10**6}, **{**values, "T": instance.horizons[0] * 4 // 5})
    assert shorter.bound.total > cap / 2


def test_an_edge_instance_has_nearly_the_largest_step(half_sgd):
    instance = by_case(generate(half_sgd, "printed", NOISY))["edge"]
    largest = 1 / Fraction(instance.made().certificates["local_smoothness"].value)  # eta <= 1/L
    share = instance.hyperparameters["eta"] / largest
    assert EDGE - Fraction(1, 50) < share <= EDGE


def test_a_stress_instance_starts_where_the_gradient_is_nothing(half_sgd):
    made = by_case(generate(half_sgd, "printed", NOISY))
    gap = {case: float(made[case].made().certificates["objective_gap"].value) for case in ("tuned", "stress")}
    assert gap["stress"] < 0.01 * gap["tuned"]
    rest = made["stress"].made()
    assert float(rest.gradient(rest.initial_point.unsqueeze(0)).norm()) < 1e-6


def test_prescribed_steps_are_whole_numbers_where_the_statement_wants_them():
    instance = by_case(generate(get_theorem("fcsg.corollary_4_2"), "printed", "conditional_homogeneous"))["schedule"]
    for T in instance.horizons:
        bound, _ = evaluate_at(
            get_theorem("fcsg.corollary_4_2"), "printed", instance.made(), instance.hyperparameters, T
        )
        assert bound.admissible and bound.numbers["q"].is_integer()


def test_what_cannot_be_generated_is_said(pr_sgd, ring):
    generated = generate(pr_sgd, "printed", ring)
    assert {instance.case for instance in generated.instances} == {"tuned"}
    assert "edge: the bound is not below" in generated.why and "stress: the problem has no parameter" in generated.why
    assert "gradient_cap" in generate(get_theorem("baselines.minibatch_sgd"), "printed", "federated_quadratic").why


def test_what_is_missing_is_in_the_results(pr_sgd, ring, tmp_path):
    found = validate(pr_sgd, problems=[ring], seeds=8, alpha="1/10", jobs=1, out=tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert (
        kept["missing"] == list(found.missing) == [f"ring: {why}" for why in generate(pr_sgd, "printed", ring).missing]
    )
    assert any("edge: the bound is not below" in line for line in kept["missing"])
    told = "nobody but its author vouches for the certificates of ring: a short search found no point at which one is clearly false"
    assert kept["certificates"] == found.certificates and found.certificates.startswith(told)
    assert found.certificates in str(found).splitlines() and found.certificates in found.sheet().notes


def test_fit_is_computed_from_kind_and_constants(pr_sgd, ring):
    assert fits(pr_sgd, ring) and fits(pr_sgd, problem(NOISY))
    assert "wanted a problem of the kind federated, got local_composite" in misfit(pr_sgd, problem("local_noisy"))
    assert "certifies no local_gradient_bound" in misfit(pr_sgd, problem("federated_quadratic"))


def test_a_theorem_a_method_and_a_problem_of_ones_own_are_judged(half_sgd, ring):
    found = validate(half_sgd, problems=[ring], alpha="1e-3")
    assert {verdict.outcome for verdict in found.verdicts} == {Outcome.SUPPORTED} and len(found.verdicts) == 4
    assert {verdict.outcome for verdict in found.controls} == {Outcome.REFUTED}


def test_a_theorem_that_forgets_the_noise_is_refuted_where_only_noise_is_left():
    wrong = fedco.define(
        id="mine.theorem_1",
        symbols={"L": "local_smoothness", "F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
        terms={"initialisation": "2*F_gap/(eta*T)"},
        conditions={"step_size": "eta <= 1/L"},
        method={"name": "minibatch_sgd", "eta": "eta", "b": 1},
    )
    found = validate(wrong, problems=[NOISY], alpha="1e-3", seeds=64, jobs=1)
    outcomes = {result.experiment.instance.case: result.verdict.outcome for result in found.results}
    assert outcomes["stress"] is Outcome.REFUTED


def test_a_method_of_the_callers_replaces_the_theorems_own(pr_sgd):
    given = validate(pr_sgd, problems=[NOISY], method=LocalSGD(eta=0.05, tau=4, b=1), seeds=8, alpha="1e-3", jobs=1)
    for result in given.results:
        assert result.experiment.instance.hyperparameters == {"eta": Fraction(1, 20), "p": 4}
        assert result.messages["rounds"] == str(result.experiment.T // 4)
    assert given.certificates == "" and "certificates" not in given.to_dict(), "fedco's tests attack those of its own"
    owner = validate(pr_sgd, problems=[NOISY], method=LocalSGD, seeds=8, alpha="1e-3", jobs=1)
    assert owner.results[0].messages["rounds"] == str(owner.results[0].experiment.T // 2)


def test_without_a_method_one_line_says_so(pr_sgd):
    with pytest.raises(InputError, match=r"pr_sgd\.theorem_1: no recipe to validate it, and no method is given"):
        recipe_for(replace(pr_sgd, method=None))
    missing = replace(pr_sgd, method=replace(pr_sgd.method, values={}))
    with pytest.raises(InputError, match="its method local_sgd wants tau"):
        recipe_for(missing).method({"eta": 0.1, "p": 2, "T": 10})


def test_an_id_does_not_make_a_theorem_the_registered_one(pr_sgd):
    mine = replace(pr_sgd, id="feddro.theorem_5_1")
    assert recipe_for(mine).instances == () and recipe_for("feddro.theorem_5_1").instances


def test_the_assertions_take_objects(half_sgd, ring):
    ledger = AlphaBudget("1e-2", open_ended=True)
    chosen = {"T": 36, "eta": "199/200", "b": 1, "alpha": "1e-3", "ledger": ledger}
    assert assert_bound_holds(half_sgd, ring, **chosen).tightness > 1
    assert_refuted(half_sgd, ring, divided_by=10, seeds=64, **chosen)
    with pytest.raises(InputError, match="local_noisy certifies no local_smoothness"):
        assert_bound_holds(half_sgd, "local_noisy", **chosen)


def task_of(theorem, instance, **more) -> Task:
    return Task(Experiment(theorem, "printed", instance, 36, 2, 0, **more), 0, 2)


def test_kept_results_notice_a_changed_file_problem_method_or_statement(tmp_path, half_sgd):
    for name in ("ring.py", "half_sgd.py", "half_sgd.toml"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")

    def key() -> str:
        ring, theorem = (
            load_object(f"{tmp_path / 'ring.py'}:problem"),
            fedco.load(tmp_path / "half_sgd.toml", trust=True),
        )
        return task_of(theorem, Instance(ring, {"eta": Fraction(1, 2), "b": 1}, "")).key

    keys = [key(), key()]
    for name, old, new in (
        ("ring.py", "clients: int = 8", "clients: int = 9"),
        ("half_sgd.py", "1 + draws.signs", "1 - draws.signs"),
        ("half_sgd.toml", "2*L*eta*sigma**2", "3*L*eta*sigma**2"),
    ):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
        keys.append(key())
    assert keys[0] == keys[1] and len(set(keys)) == 4


def test_other_processes_get_a_registered_theorem_by_its_id_and_ones_own_as_it_is(half_sgd):
    named = task_of(get_theorem("feddro.theorem_5_1"), Instance("feddro_homogeneous", {"I": 1, "b": 1}, ""))
    assert len(pickle.dumps(named)) < 2000 and pickle.loads(pickle.dumps(named)).key == named.key
    mine = task_of(half_sgd, Instance(RING, {"eta": Fraction(1, 2), "b": 1}, ""))
    assert pickle.loads(pickle.dumps(mine)).key == mine.key


def test_a_theorem_without_a_recipe_is_found_by_its_name_or_its_file(half_sgd):
    assert recipe_for(str(EXAMPLES / "pr_sgd.toml")).instances == ()
    ready = LocalSGD(eta=0.1, tau=2)
    assert recipe_for("local_scgdm.lemma_4_1", ready).method({}) is ready
    with pytest.raises(InputError, match="no recipe"):
        recipe_for("local_scgdm.lemma_99", ready)


@pytest.mark.slow
def test_another_process_measures_the_same(half_sgd):
    mine = task_of(half_sgd, Instance(RING, {"eta": Fraction(1, 2), "b": 1}, ""))
    (alone,), (apart,) = (run_tasks([mine], jobs=jobs, cache=None).values() for jobs in (1, 2))
    assert alone["statistic"] == apart["statistic"]
