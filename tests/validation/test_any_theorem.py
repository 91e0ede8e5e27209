"""Theorems, methods and problems of others, none of them registered: instances, verdicts, assertions, kept results."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import fedco
import numpy as np
import pytest
from fedco.algorithms import GossipSGD, LocalSGD
from fedco.bounds.registry import get_theorem
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import with_scaled_certificate
from fedco.user_files import load_object
from fedco.validation.falsifier.attack import falsify
from fedco.validation.runs.campaign import Experiment, Task, run_tasks
from fedco.validation.runs.generate import EDGE, generate, instances_of
from fedco.validation.runs.measures import judged
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipe_for
from fedco.validation.runs.validate import validate
from fedco.validation.runs.values import evaluate_at
from fedco.validation.statistics.alpha_budget import AlphaBudget, LedgerError
from fedco.validation.statistics.verdict import Outcome, judge
from fedco.validation.testing import SUITE, assert_bound_holds, assert_rate, assert_refuted
from searching import violation_of

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


@pytest.fixture(scope="module")
def made(half_sgd) -> dict[str, Instance]:
    """The instances that are generated for the theorem, by their case."""
    return {instance.case: instance for instance in generate(half_sgd, "printed", NOISY).instances}


def test_generated_instances_are_admissible_and_below_the_cap(half_sgd, made):
    assert set(made) == {"tuned", "edge", "stress"}
    for instance in made.values():
        cap = float(instance.made().certificates["gradient_cap"].value) ** 2
        assert len(instance.horizons) == 2 and instance.horizons[1] >= 2 * instance.horizons[0]
        for T in instance.horizons:
            bound, _ = evaluate_at(half_sgd, "printed", instance.made(), instance.hyperparameters, T)
            assert bound.admissible and bound.total < 0.75 * cap


def test_a_tuned_instance_has_half_the_cap_at_its_first_horizon_and_no_much_shorter_one_would(half_sgd, made):
    instance = made["tuned"]
    cap = float(instance.made().certificates["gradient_cap"].value) ** 2
    bound, _ = evaluate_at(half_sgd, "printed", instance.made(), instance.hyperparameters, instance.horizons[0])
    assert bound.total <= cap / 2
    values = {name: Fraction(text) for name, text in bound.values.items() if name != "eta"}
    shorter = half_sgd.tune("printed", budget={"iterations": 10**6}, **{**values, "T": instance.horizons[0] * 4 // 5})
    assert shorter.bound.total > cap / 2


def test_an_edge_instance_has_nearly_the_largest_step(made):
    instance = made["edge"]
    largest = 1 / Fraction(instance.made().certificates["local_smoothness"].value)  # eta <= 1/L
    share = instance.hyperparameters["eta"] / largest
    assert EDGE - Fraction(1, 50) < share <= EDGE


def test_a_stress_instance_starts_where_the_gradient_is_nothing(made):
    gap = {case: float(made[case].made().certificates["objective_gap"].value) for case in ("tuned", "stress")}
    assert gap["stress"] < 0.01 * gap["tuned"]
    rest = made["stress"].made()
    assert float(rest.gradient(rest.initial_point.unsqueeze(0)).norm()) < 1e-6


def test_prescribed_steps_are_whole_numbers_where_the_statement_wants_them():
    theorem = get_theorem("fcsg.corollary_4_2")
    (instance,) = (i for i in generate(theorem, "printed", "conditional_homogeneous").instances if i.case == "schedule")
    for T in instance.horizons:
        bound, _ = evaluate_at(theorem, "printed", instance.made(), instance.hyperparameters, T)
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


# --- theorems of the wider literature as a stranger writes them -------------------------------------------------------


COMMON = {"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}
DELAYED = {
    "id": "others.delayed",
    "symbols": {**COMMON, "L": "objective_smoothness", "sigma": "local_gradient_noise", "D": "delay", "N": "clients"},
    "terms": {"initialisation": "4*F_gap/(eta*T)", "noise": "4*eta*L*sigma**2/N + 4*eta**2*L**2*D*sigma**2/N"},
    "conditions": {"step_size": "eta <= 1/(10*L*sqrt(D*(D + 1)))"},
    "method": {"name": "delayed_sgd", "eta": "eta", "D": "D", "b": 1},
}
GOSSIP = {
    "id": "others.gossip",
    "symbols": {
        **COMMON,
        **{"L": "local_smoothness", "sigma": "local_gradient_noise", "zeta": "local_gradient_heterogeneity"},
        **{"rho": "spectral_gap", "tau": "communication_period", "N": "clients"},
    },
    "terms": {
        "initialisation": "8*F_gap/(eta*T)",
        "noise": "8*L*eta*sigma**2/N",
        "consensus": "64*L**2*eta**2*(tau**2*zeta**2/rho**2 + tau*sigma**2/rho)",
    },
    "conditions": {"step_size": "eta <= rho/(64*L*tau)"},
    "method": {"name": "gossip_sgd", "eta": "eta", "tau": "tau", "b": 1},
}
CONTRACTED = {
    **GOSSIP,
    "id": "others.contracted",
    "symbols": {**{k: v for k, v in GOSSIP["symbols"].items() if k != "rho"}, "lam": "mixing_contraction"},
    "terms": {k: v.replace("rho", "(1 - lam)") for k, v in GOSSIP["terms"].items()},
    "conditions": {"step_size": "eta <= (1 - lam)/(64*L*tau)"},
}
AT_THE_MINIMISER = {
    "id": "others.minimiser",
    "metric": "averaged_gap",
    "assume": ["convex_clients"],
    "symbols": {
        **{k: v for k, v in COMMON.items() if k != "F_gap"},
        **{"L": "local_smoothness", "sigma": "minimiser_second_moment", "D": "initial_distance"},
        **{"H": "communication_period", "N": "clients"},
    },
    "terms": {"start": "2*D**2/(eta*T)", "noise": "2*eta*sigma**2/N + 4*eta**2*L*sigma**2*(H - 1)"},
    "conditions": {"step_size": "eta <= 1/(4*L*H)"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": "H", "b": 1},
}
EXACT = {
    "id": "others.exact",
    "assume": ["deterministic"],
    "symbols": {**COMMON, "L": "objective_smoothness"},
    "terms": {"initialisation": "2*F_gap/(eta*T)"},
    "conditions": {"step_size": "eta <= 1/L"},
    "method": {"name": "marina", "eta": "eta", "p": 1, "ratio": 1, "b": 1, "oracle": "exact"},
}


def generated(theorem, problem):
    return instances_of(theorem, "printed", recipe_for(theorem).instances, [problem])


@pytest.mark.parametrize("keys", [DELAYED, GOSSIP, CONTRACTED, AT_THE_MINIMISER, EXACT], ids=lambda keys: keys["id"])
def test_instances_are_found(keys):
    theorem = fedco.define(**keys)
    made = generated(theorem, "federated_homogeneous" if keys is AT_THE_MINIMISER else "federated_sines")
    assert made.instances and {each.case for each in made.instances} >= {"tuned"}


def test_a_gap_is_what_the_methods_matrix_has_and_says_no_more():
    for keys, name, is_weaker in ((GOSSIP, "rho", Fraction.__le__), (CONTRACTED, "lam", Fraction.__ge__)):
        quantity = keys["symbols"][name]
        (instance, *_) = generated(fedco.define(**keys), "federated_sines").instances
        said = Fraction(instance.hyperparameters[name])
        measured = Fraction(GossipSGD(eta=1.0, tau=1).measure(instance.made().clients)[quantity])
        assert is_weaker(said, measured) and abs(said - measured) < Fraction(1, 500) and said.denominator <= 10_000


def test_a_delay_is_the_methods_and_is_searched():
    theorem = fedco.define(**DELAYED)
    delays = {each.hyperparameters["D"] for each in generated(theorem, "federated_homogeneous").instances}
    assert delays == {2, 4}
    smaller = {name: f"({term})/100" for name, term in DELAYED["terms"].items()}
    assert violation_of(fedco.define(**DELAYED | {"terms": smaller}))
    assert not falsify(theorem, seconds=1).why[0].startswith("D:")


def test_a_true_bound_that_is_zero_at_rest_is_not_refuted_by_rounding():
    """The gradients of clients that differ cancel to 1e-17 at the minimiser, where the bound is 0."""
    found = validate(fedco.define(**EXACT), problems=["federated_noisy"], seeds=16, jobs=1)
    assert {each.case for each in (r.experiment.instance for r in found.results)} == {"tuned", "edge", "stress"}
    assert "REFUTED" not in {str(each.outcome) for each in found.verdicts}


def test_exact_gradients_are_those_of_problems_without_noise():
    theorem = fedco.define(**EXACT)
    assert all(each.parameters["sigma"] == 0.0 for each in generated(theorem, "federated_noisy").instances)
    every = instances_of(theorem, "printed", recipe_for(theorem).instances)
    assert len({each.problem for each in every.instances}) >= 3
    silent = fedco.define(**EXACT | {"assume": ["deterministic", "equal_inner_maps"]})
    with pytest.raises(InputError, match="none is known to have equal_inner_maps"):
        instances_of(silent, "printed", ())


def test_what_is_refuted_by_noise_that_it_does_not_speak_of_says_so():
    """A statement about exact gradients that forgets to say so is false of noisy ones: the answer says how to say it."""
    stochastic = {key: value for key, value in EXACT["method"].items() if key != "oracle"}
    meant = fedco.define(**{**EXACT, "assume": [], "method": stochastic})
    said = "No constant of the statement bounds the noise, so any noise counts"
    found = validate(meant, problems=["federated_noisy"], seeds=32, jobs=1)
    assert "REFUTED" in {str(each.outcome) for each in found.verdicts}
    assert said in str(found) and said in found.to_dict()["noise"] and any(said in note for note in found.sheet().notes)
    plain = {**EXACT, "assume": [], "method": {"name": "minibatch_sgd", "eta": "eta", "b": 1}}
    assert any(said in line for line in falsify(fedco.define(**plain), seconds=20).why)
    named = {**plain, "symbols": {**EXACT["symbols"], "sigma": "local_gradient_noise"}}
    named["terms"] = {"initialisation": "F_gap/(4*eta*T) + eta*L*sigma**2/1000"}
    assert not any(said in line for line in falsify(fedco.define(**named), seconds=20).why)


def test_a_reason_that_several_cases_have_is_said_once():
    theorem = fedco.define(**EXACT | {"terms": {"initialisation": "2*F_gap/(eta*T) + 9*F_gap*L"}})
    with pytest.raises(
        InputError, match=r"others.exact: tuned, edge, stress: eps: wanted more than [\d.]+, got 0.5; [^:]*$"
    ):
        generated(theorem, "federated_noisy")


def test_a_method_that_cannot_be_built_is_one_line():
    star = {**GOSSIP["method"], "topology": "star"}
    with pytest.raises(InputError, match=r"gossip_sgd: topology must be one of ring, complete; got 'star'"):
        generated(fedco.define(**{**GOSSIP, "method": star}), "federated_sines")


@pytest.mark.parametrize(("cap", "outcome"), [(1000.0, Outcome.REFUTED), (1e15, Outcome.INCONCLUSIVE)])
def test_how_often_a_bound_fails_is_not_decided_within_rounding(cap: float, outcome: Outcome):
    """A bound of 100 that 500 exceeds in every run was SUPPORTED where the cap is so large that 400 is rounding."""
    metric = get_theorem("library.sgd_probable").metric
    claim = judged(metric, {"delta": 0.1}, np.full(99, 500.0), 100.0, cap)
    found = judge(
        claim.values, claim.bound, alpha=1e-6, cap=claim.cap, resolution=claim.resolution, certificates_kind="exact"
    )
    assert found.outcome is outcome


def test_two_cases_that_come_to_one_instance_are_judged_once():
    """Where the tuned step size is the largest one, both had the same name, of which the second had no probability of error left."""
    theorem = fedco.define(
        id="others.same",
        symbols={**COMMON, **{"L": "local_smoothness", "sigma": "local_gradient_noise", "D": "delay", "N": "clients"}},
        terms={
            "start": "F_gap/(8*eta*T)",
            "noise": "L*eta*sigma**2/N/10",
            "stale": "L**2*eta**2*D*sigma**2/N",
        },
        conditions={"step_size": "eta*L*(D + 1)*4 <= 1"},
        method={"name": "delayed_sgd", "eta": "eta", "D": "D", "b": 1},
    )
    made = generated(theorem, "federated_sines").instances
    named = [(each.name, T) for each in made for T in each.horizons]
    assert len(named) == len(set(named))


def test_a_schedule_without_a_first_step_size_is_no_method():
    theorem = fedco.define(
        id="others.pole",
        symbols={"L": "objective_smoothness", "F_gap": "objective_gap", "T": "iterations"}
        | {"a": "step_numerator", "t0": "step_offset", "sigma": "local_gradient_noise"},
        terms={"start": "2*F_gap*(T + t0)/(a*T) + L*a*sigma**2"},
        conditions={"first_step": "a <= t0/L"},
        method={"name": "minibatch_sgd", "eta": "a/(t + t0 - 1)", "b": 1},
    )
    assert falsify(theorem, seconds=2).outcome in ("REFUTED", "SURVIVED")


# --- the one-line assertions ------------------------------------------------------------------------------------------


NEAR = problem("feddro_homogeneous", start=8.0, dim=8)
FIVE = "feddro.theorem_5_1"
STEPS = {"I": 1, "b": 1}
PAGE = Path(fedco.__file__).parent / "docs" / "howto" / "test-a-bound.md"


@pytest.fixture
def ledger() -> AlphaBudget:
    return AlphaBudget("1e-3", open_ended=True)


def test_a_bound_that_holds_passes_with_planned_seeds_and_spends_its_alpha(ledger: AlphaBudget):
    verdict = assert_bound_holds(FIVE, NEAR, T=144, slack=4.0, ledger=ledger, **STEPS)
    assert verdict.outcome is Outcome.SUPPORTED and verdict.tightness > 1
    (entry,) = ledger.entries
    assert entry.alpha == Fraction(1, 10**6) and entry.planned_seeds == entry.actual_seeds == verdict.seeds >= 64


def test_a_problem_that_understates_a_constant_fails(ledger: AlphaBudget):
    liar = with_scaled_certificate(NEAR, "objective_gap", 0.1)
    with pytest.raises(AssertionError, match=r"not supported: REFUTED.*feddro\.theorem_5_1"):
        assert_bound_holds(FIVE, liar, T=144, ledger=ledger, seeds=64, **STEPS)
    assert assert_refuted(FIVE, liar, T=144, ledger=ledger, seeds=64, **STEPS).outcome is Outcome.REFUTED


def test_a_divided_bound_is_refuted_and_an_undivided_one_is_not(ledger: AlphaBudget):
    assert_refuted(FIVE, NEAR, T=144, divided_by=10, ratio=4.0, ledger=ledger, **STEPS)
    with pytest.raises(AssertionError, match="not refuted: SUPPORTED"):
        assert_refuted(FIVE, NEAR, T=144, ledger=ledger, seeds=256, **STEPS)


def test_too_few_seeds_do_not_pass(ledger: AlphaBudget):
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        assert_bound_holds(FIVE, NEAR, T=144, seeds=8, ledger=ledger, **STEPS)


def test_outside_the_conditions_nothing_is_run_or_spent(ledger: AlphaBudget):
    with pytest.raises(AssertionError, match=r"NOT_APPLICABLE.*horizon"):
        assert_bound_holds(FIVE, NEAR, T=64, ledger=ledger, **STEPS)
    with pytest.raises(AssertionError, match="does not satisfy its assumptions"):
        assert_bound_holds("feddro.theorem_4_2", NEAR, T=64, ledger=ledger, eta="1/20", I=1)
    assert ledger.entries == ()


def test_the_rate_passes_along_the_schedule_and_fails_on_a_floor(ledger: AlphaBudget):
    measured = assert_rate(FIVE, NEAR, horizons=(144, 256, 400), ledger=ledger, **STEPS)
    assert measured.upper < -0.3 and measured.coverage == pytest.approx(1 - 1e-4)
    at_rest = problem("feddro_noisy", start=0.0, target=0.0, dim=8, clients=2, inner_dim=1)
    with pytest.raises(AssertionError, match=r"wanted a slope of at most -0\.5"):
        assert_rate(FIVE, _Frozen(at_rest), horizons=(512, 640), seeds=64, ledger=ledger, **STEPS)


class _Frozen:
    """A problem whose gradient is reported as constant: its statistic cannot fall."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def gradient(self, x):
        return x * 0 + 0.1


def test_a_repeated_assertion_spends_again_until_the_ledger_is_empty():
    small = AlphaBudget("2e-6", open_ended=True)
    for _ in range(2):
        assert_refuted(FIVE, NEAR, T=144, divided_by=100, seeds=64, ledger=small, **STEPS)
    assert [entry.name.endswith("#2") for entry in small.entries] == [False, True]
    with pytest.raises(LedgerError, match="a ledger of its own"):
        assert_refuted(FIVE, NEAR, T=144, divided_by=100, seeds=64, ledger=small, **STEPS)


def test_the_suite_ledger_is_the_default():
    before = len(SUITE.entries)
    assert_refuted(FIVE, NEAR, T=144, divided_by=100, seeds=64, **STEPS)
    assert len(SUITE.entries) == before + 1


def test_bad_input_is_named(ledger: AlphaBudget):
    with pytest.raises(InputError, match="eta"):
        assert_bound_holds("feddro.theorem_4_2", "feddro_without_h", T=100, eta="one", I=1, ledger=ledger)
    with pytest.raises(InputError, match=r"seeds: .* wants"):
        assert_bound_holds(FIVE, NEAR, T=144, slack=1.1, ledger=ledger, **STEPS)


def test_the_page_runs():
    """Every python block of the how-to page, as it stands."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    tests = [value for name, value in scope.items() if name.startswith("test_")]
    assert len(tests) >= 3
    for test in tests:
        test()
