"""From a theorem to a verdict: plans, chunks of seeds and their keys on disk, negative controls, and what is one clear line."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path
from types import SimpleNamespace

import fedco
import joblib
import numpy as np
import pytest
from fedco import theorem
from fedco.algorithms import LocalSGD, ModifiedFedAvg, drive
from fedco.algorithms.engine import metrics
from fedco.algorithms.engine.fingerprint import ROOT, TRAJECTORY, source_fingerprint
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.validation.lemmas import measure as lemmas
from fedco.validation.lemmas.measure import LEMMAS, measure_chain
from fedco.validation.report import page
from fedco.validation.report.page import PACKAGE
from fedco.validation.runs import campaign
from fedco.validation.runs.campaign import (
    MEASUREMENT,
    Experiment,
    ExperimentResult,
    Task,
    chunks_of,
    plan,
    run_task,
    tasks_of,
)
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipes, runs_of
from fedco.validation.runs.validate import negative_control, validate, versions
from fedco.validation.runs.values import constants
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import Outcome, judge_exact
from small_theorems import symbols

SGD = "baselines.local_sgd"

# --- plans and chunks ----------------------------------------------------------------------------------------------------

INSTANCE = Instance("federated_noisy", {"eta": Q(1, 4), "p": 4, "b": 2}, "why", {"start": 5.0}, (200, 400))


def experiment(T: int = 200, seeds: int = 300, **changes) -> Experiment:
    return replace(Experiment(theorem(SGD), "printed", INSTANCE, T, seeds, 7), **changes)


def test_chunks_are_all_seeds_in_order_and_the_longest_come_first():
    assert [(t.first, t.count) for t in chunks_of(experiment(seeds=300))] == [(0, 128), (128, 128), (256, 44)]
    assert [(t.first, t.count) for t in chunks_of(experiment(seeds=128))] == [(0, 128)]
    listed = tasks_of([experiment(T=100, seeds=200), experiment(T=150, seeds=200)])
    assert [(t.experiment.T, t.count) for t in listed] == [(150, 128), (100, 128), (150, 72), (100, 72)]


def test_a_plan_has_root_seeds_of_its_own_and_shares_alpha():
    ledger = AlphaBudget("1e-3")
    planned = campaign.plan(
        SGD, [INSTANCE, replace(INSTANCE, horizons=(50,))], ledger, seeds=9, root_seed=5, budget=Q(1, 2000)
    )
    assert [(e.T, e.root_seed, e.seeds) for e in planned] == [(200, 5, 9), (400, 6, 9), (50, 7, 9)]
    assert [entry.alpha for entry in ledger.entries] == [Q(1, 6000)] * 3 and ledger.remaining == Q(1, 2000)
    other = AlphaBudget("1e-3")
    assert [e.T for e in campaign.plan(SGD, [INSTANCE], other, seeds=9, horizons=(12, 24))] == [12, 24]
    assert other.remaining == 0


def test_planned_seeds_are_whole_groups_and_at_least_64(monkeypatch):
    asked = []

    def planned(bound, cap, slack, alpha):
        asked.append((bound, cap, slack, alpha))
        return 65

    def seeds(T: int) -> int:
        (made,) = campaign.plan(SGD, [INSTANCE], AlphaBudget("1e-3"), horizons=[T])
        return made.seeds

    monkeypatch.setattr(campaign, "seeds_to_support", planned)
    assert seeds(200) == 72
    ((bound, cap, slack, alpha),) = asked
    assert 0 < bound < cap and (slack, alpha) == (4.0, Q(1, 1000))
    monkeypatch.setattr(campaign, "seeds_to_support", lambda *_: 3)
    assert seeds(200) == 64
    monkeypatch.setattr(campaign, "seeds_to_support", None)  # not asked where the bound says nothing
    assert seeds(4) == 64


def test_the_key_of_a_chunk_changes_with_everything_that_its_numbers_depend_on():
    base = Task(experiment(), 0, 128)
    others = [
        Task(experiment(), 128, 128),
        Task(experiment(), 0, 127),
        Task(experiment(T=201), 0, 128),
        Task(experiment(root_seed=8), 0, 128),
        Task(experiment(instance=replace(INSTANCE, parameters={"start": 5.5})), 0, 128),
        Task(experiment(instance=replace(INSTANCE, hyperparameters={**INSTANCE.hyperparameters, "b": 3})), 0, 128),
        Task(experiment(theorem=theorem("baselines.local_sgd_heterogeneity")), 0, 128),
        Task(experiment(method=LocalSGD), 0, 128),
        Task(experiment(method=LocalSGD(eta=0.1, tau=2)), 0, 128),
        Task(experiment(method=LocalSGD(eta=0.1, tau=2, m=2)), 0, 128),
    ]
    keys = [task.key for task in (base, *others)]
    assert len(set(keys)) == len(keys) and all(len(key) == 24 for key in keys)
    assert Task(experiment(instance=replace(INSTANCE, why="other words")), 0, 128).key == base.key
    assert base.experiment.name == "baselines.local_sgd/printed/federated_noisy[start=5.0] (eta=1/4, p=4, b=2)/T=200"


def own_problem(made) -> Experiment:
    return experiment(instance=replace(INSTANCE, problem=made, parameters={}))


def test_problem_objects_are_told_apart_by_what_they_answer():
    one, same = problem("federated_noisy"), problem("federated_noisy")
    assert Task(own_problem(one), 0, 1).key == Task(own_problem(same), 0, 1).key
    assert Task(own_problem(problem("federated_noisy", start=4.0)), 0, 1).key != Task(own_problem(one), 0, 1).key
    points = []

    class Shifted:
        """Agrees with the problem at two of the three points at least."""

        def __init__(self, at: int | None) -> None:
            self.at = at

        def __getattr__(self, name):
            return getattr(one, name)

        def objective(self, x):
            points.append(x - one.initial_point)
            values = one.objective(x).clone()
            if self.at is not None:
                values[self.at] += 1e-12
            return values

    assert len({Task(own_problem(Shifted(at)), 0, 1).key for at in (None, 0, 1, 2)}) == 4
    wave = np.sin(np.arange(1, one.dim + 1))
    np.testing.assert_allclose(points[0], [0 * wave, wave, -2 * wave])


def test_what_is_the_callers_own_stays_in_this_process(monkeypatch):
    monkeypatch.setattr(campaign, "run_task", lambda task, *more: {"first": task.first})

    def processes(n_jobs, **more):
        raise RuntimeError("other processes")

    monkeypatch.setattr(joblib, "Parallel", processes)
    for own in (experiment(method=LocalSGD(eta=0.1, tau=2)), own_problem(problem("federated_noisy"))):
        tasks = chunks_of(own, 100)
        assert campaign.run_tasks(tasks, jobs=2, cache=None) == {task.key: {"first": task.first} for task in tasks}
    assert len(campaign.run_tasks(chunks_of(experiment(), 100), jobs=1, cache=None)) == 3
    with pytest.raises(RuntimeError, match="other processes"):
        campaign.run_tasks(chunks_of(experiment(), 100), jobs=2, cache=None)


def test_chunks_on_disk_keep_infinities_and_every_bit(tmp_path):
    task = Task(experiment(), 0, 3)
    data = {
        "statistic": [0.1, math.inf, 5e-324],
        "before": [1.0, 2.0, 3.0],
        "after": [2.0, 3.0, 4.0],
        "messages": {"rounds": "3"},
        "seconds": 1.5,
    }
    assert campaign.cached(task, tmp_path) is None and campaign.cached(task, None) is None
    campaign.keep_chunk(task, None, data)
    campaign.keep_chunk(task, tmp_path, data)
    assert campaign.cached(task, tmp_path) == data and [p.name for p in tmp_path.iterdir()] == [f"{task.key}.json"]


def test_a_verdict_outside_the_conditions_spends_its_alpha_and_names_what_fails():
    one, ledger = experiment(), AlphaBudget("1e-3")
    ledger.allot(one.name, "1e-3", 300)
    bound = SimpleNamespace(admissible=False, failed=("step", "period"))
    found = campaign.verdict_for(one, SimpleNamespace(bound=bound, statistic=np.ones(300)), ledger)
    assert str(found.outcome) == "NOT_APPLICABLE" and "condition step, period fails" in str(found)
    with pytest.raises(ValueError):
        ledger.spend(one.name, actual_seeds=300)


# --- statistics of a validation --------------------------------------------------------------------------------------------


def test_versions_name_everything_that_ran():
    assert set(versions()) == {
        "fedco", "python", "numpy", "scipy", "sympy", "torch", "python-flint", "matplotlib", "machine", "vector instructions", "source",
    }  # fmt: skip
    assert len(versions()["source"]) == 16 and all(isinstance(value, str) and value for value in versions().values())


# --- constants, chunks, verdicts and controls -------------------------------------------------------------------------


RECIPES = recipes()

THEOREM = "feddro.theorem_5_1"
HOMOGENEOUS = RECIPES[THEOREM].instances[0]
T = 256


def test_constants_are_read_from_certificates() -> None:
    values, kind = constants(theorem(THEOREM), "printed", problem("feddro_heterogeneous"))
    assert values["Delta_g"] == Q(0.35) and values["y_err"] == 0
    assert kind == "upper"  # the gap is only bounded


def test_chunks_do_not_change_a_seed(tmp_path) -> None:
    (experiment,) = plan(THEOREM, [HOMOGENEOUS], AlphaBudget("1e-6"), horizons=(T,), seeds=6)
    whole = measure(experiment.theorem, experiment.instance, T, 6, root_seed=experiment.root_seed).statistic
    parts = [run_task(task, tmp_path)["statistic"] for task in chunks_of(experiment, 4)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_a_theorem_is_supported_and_its_control_refuted(tmp_path, monkeypatch) -> None:
    short = replace(RECIPES[THEOREM], instances=(replace(HOMOGENEOUS, horizons=(144, 256)),))
    monkeypatch.setitem(runs_of("feddro").recipes, THEOREM, short)
    found = validate(THEOREM, alpha="1e-3", jobs=1, out=tmp_path)
    assert {verdict.outcome for verdict in found.verdicts} == {Outcome.SUPPORTED}
    assert [verdict.outcome for verdict in found.controls] == [Outcome.REFUTED]
    assert (tmp_path / "results.json").exists() and (tmp_path / "figure_1.svg").exists()
    shares = found.results[0].verdict.shares
    assert set(shares) == set(found.results[0].bound.terms) and abs(sum(shares.values()) - 1) < 1e-9


def test_a_control_stops_at_the_first_power_of_ten_that_fails() -> None:
    """A constant statistic of 1 below a bound of 150: 15 and 1.5 still hold, and the third share of alpha decides."""
    (experiment,) = plan(THEOREM, [HOMOGENEOUS], AlphaBudget("1e-6"), horizons=(T,), seeds=400)
    ones, bound = np.ones(400), SimpleNamespace(total=150.0, numbers={}, about=experiment.theorem.statement("printed"))
    result = ExperimentResult(HOMOGENEOUS, bound, 4.0, "exact", ones, ones, ones, {}, 0.0, experiment, None)
    ledger = AlphaBudget("9e-3")
    ledger.allot("control", "9e-3", 400)
    verdict = negative_control(result, "control", ledger)
    assert verdict.outcome is Outcome.REFUTED and verdict.claim.endswith("divided by 1,000")
    assert verdict.alpha == pytest.approx(1e-3)


def test_an_inadmissible_horizon_is_refused() -> None:
    instance = RECIPES[THEOREM].instances[1]
    with pytest.raises(InputError, match="horizon"):
        measure(THEOREM, instance, 8, 1)


def test_an_unknown_problem_is_named() -> None:
    with pytest.raises(InputError, match="not an instance"):
        validate(THEOREM, problems=["nowhere"])


def test_a_step_three_times_beyond_stability_is_refuted() -> None:
    """Phi = sqrt(x^2 + 4) has curvature 1/2 at its minimum: gradient steps are stable up to eta = 4, and 12 oscillates.

    Both runs are judged against Theorem 4.2 (corrected) at eta = 2; only the admissible one is allowed to satisfy it.
    """
    made, steps = problem("feddro_counterexample"), 1000
    gap = Q(made.certificates["objective_gap"].value)
    curved = Q(1, 10**9)  # the inner maps are affine: any positive bound of their curvature holds
    constants_4_2 = {"L_f": Q(1, 2), "L_g": curved, "B_f": 1, "B_g": 1, "Delta_g": 3, "Phi_gap": gap}
    bound = theorem("feddro.theorem_4_2").bound("corrected", eta=2 - 8 * curved, I=1, T=steps, **constants_4_2)
    assert bound.admissible and bound.total is not None
    outcomes = {}
    for eta in (2.0, 12.0):
        record = {"gradient": metrics.gradient_norm_squared}
        result = drive(ModifiedFedAvg(eta=eta, I=1), made, steps=steps, record=record, every=steps)
        sides = (float(result.mean("gradient")), bound.total)  # no noise: one run is exact up to rounding
        value, right = ((side * (1 - 1e-9), side * (1 + 1e-9)) for side in sides)
        outcomes[eta] = judge_exact(value, right, certificates_kind="upper", cap=1).outcome
    assert outcomes == {2.0: Outcome.SUPPORTED, 12.0: Outcome.REFUTED}


def own(**method):
    return fedco.define(
        id="mine.own",
        symbols={"F_gap": "objective_gap", "eta": "step_size", "T": "iterations", "p": "communication_period"},
        terms={"initialisation": "8*F_gap*p/(eta*T)"},
        method={"name": "local_sgd", "eta": "eta", "tau": "p", **method},
        units=["objective_gap", "step_size"],
    )


@pytest.mark.parametrize("method", [{"eta": "eta/1000"}, {"tau": 1}, {"m": 2}])
def test_another_method_under_the_same_id_is_measured_anew(method) -> None:
    """The same bound was judged by what the other method had measured, which said SUPPORTED."""
    instance = Instance("federated_noisy", {"eta": Q(1, 4), "p": 2}, "why")
    first, second = (Experiment(each, "printed", instance, 8, 4, 0) for each in (own(), own(**method)))
    ((one,), (other,)) = (chunks_of(each) for each in (first, second))
    assert one.key != other.key


# --- what is kept until the source that it came from changes ----------------------------------------------------------


PLACES = ("room", "other/one.py")


def _package(root: Path) -> Path:
    for name in ("room/a.py", "room/deep/b.py", "room/notes.md", "other/one.py", "other/two.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    return root


def _digest(root: Path) -> str:
    source_fingerprint.cache_clear()
    return source_fingerprint(PLACES, root)


@pytest.mark.parametrize(
    ("changed", "is_stale"),
    [
        ("room/a.py", True),
        ("room/deep/b.py", True),
        ("room/new.py", True),
        ("other/one.py", True),
        ("other/two.py", False),
        ("room/notes.md", False),
    ],
)
def test_a_change_in_a_listed_place_and_only_there_makes_it_stale(tmp_path, changed, is_stale):
    root = _package(tmp_path)
    before = _digest(root)
    assert _digest(root) == before
    (root / changed).write_text("x = 1\n", encoding="utf-8")
    assert (_digest(root) != before) is is_stale


def test_a_place_without_source_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        source_fingerprint(("empty",), tmp_path)


def test_the_places_are_those_of_the_package():
    assert set(TRAJECTORY) <= set(MEASUREMENT) <= set(LEMMAS)
    assert {"algorithms", "synthetic", "bounds"} <= set(MEASUREMENT) & set(PACKAGE) and "validation" in PACKAGE
    assert all((ROOT / place).exists() for place in (*MEASUREMENT, *PACKAGE, *LEMMAS))
    assert len({source_fingerprint(places) for places in (MEASUREMENT, PACKAGE, LEMMAS)}) == 3


def test_a_cached_part_is_made_again_when_the_source_changed(tmp_path, monkeypatch):
    made = iter(range(10))
    monkeypatch.setattr(page, "source_fingerprint", lambda places: "old")
    assert [page.cached_json(tmp_path, "part", lambda: next(made)) for _ in range(2)] == [0, 0]
    monkeypatch.setattr(page, "source_fingerprint", lambda places: "new")
    assert page.cached_json(tmp_path, "part", lambda: next(made)) == 1


def test_a_chunk_is_named_after_the_source_of_measurements(monkeypatch):
    (experiment,) = plan("feddro.theorem_5_1", [RECIPES["feddro.theorem_5_1"].instances[0]], AlphaBudget("1e-6"),
                   horizons=(256,), seeds=2)  # fmt: skip
    before, asked = Task(experiment, 0, 2).key, []
    monkeypatch.setattr(campaign, "source_fingerprint", lambda places: asked.append(places) or "changed")
    assert Task(experiment, 0, 2).key != before and asked == [MEASUREMENT]


def test_a_lemma_table_is_measured_again_when_the_chains_changed(tmp_path, monkeypatch):
    instance = Instance("feddro_homogeneous", {"I": 1, "b": 1}, "", {"dim": 4}, (64,))
    for name in ("old", "old", "new"):
        monkeypatch.setattr(lemmas, "source_fingerprint", lambda places, name=name: name)
        measure_chain("feddro.theorem_5_1", instance, 64, seeds=4, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


# --- a bound of 0, a symbol without a value, and too many seeds -------------------------------------------------------


SYMBOLS = symbols("L F_gap eta T sigma")
TERMS = {"initialisation": "2*F_gap/(eta*T)", "variance": "L*eta*sigma**2"}


def of_method(method, **symbols):
    return fedco.define(
        id="mine.theorem_1",
        symbols={**SYMBOLS, **symbols},
        terms=TERMS,
        conditions={"step_size": "eta <= 1/L"},
        method=method,
    )


@pytest.mark.parametrize("seeds", [None, 8])
def test_a_start_at_rest_without_noise_has_a_bound_of_0_and_a_verdict(seeds):
    rest = Instance(
        "federated_homogeneous", {"eta": Q(1, 10)}, "at rest", {"start": 0.0, "sigma": 0.0}, (8, 16), "stress"
    )
    theorem = of_method({"name": "minibatch_sgd", "eta": "eta", "b": 1})
    found = fedco.validate(theorem, instances=[rest], seeds=seeds, jobs=1)
    assert [verdict.bound for verdict in found.verdicts] == [0.0, 0.0]
    assert all(verdict.outcome is Outcome.INCONCLUSIVE and verdict.empirical == 0 for verdict in found.verdicts)
    assert "nan" not in str(found.to_dict()) and not any(word in str(found).split() for word in ("nan", "inf"))


def test_a_symbol_that_stands_only_under_method_is_named():
    theorem = of_method({"name": "local_sgd", "eta": "eta", "tau": "tau", "b": 1}, tau="communication_period")
    with pytest.raises(InputError, match=r"^mine\.theorem_1: tau stands only under \[method\]"):
        fedco.validate(theorem, problems=["federated_homogeneous"], seeds=8, jobs=1)
