"""Plans of a validation: chunks of seeds, their keys, shares of alpha, and what stays in this process."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from fedco import theorem
from fedco.algorithms import LocalSGD
from fedco.synthetic import problem
from fedco.validation.runs import campaign
from fedco.validation.runs.campaign import Experiment, Task, chunks_of, tasks_of
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.validate import versions
from fedco.validation.statistics.alpha_budget import AlphaBudget

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
        Task(experiment(method=LocalSGD(eta=0.1, tau=2)), 0, 128),
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
