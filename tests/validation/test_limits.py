"""What cannot fit or end is refused before it starts, with the estimate and what allows more."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import fedco
import pytest
import torch
from fedco.algorithms import FedDRO, LocalSGD, drive, drive_in_processes
from fedco.algorithms.engine import limits, metrics
from fedco.bounds.registry import get_theorem
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.validation.experiments.curves import curve, tuned
from fedco.validation.experiments.figures import Setup
from fedco.validation.runs import limits as run_limits
from fedco.validation.runs.campaign import Experiment, measure
from fedco.validation.runs.limits import check_experiments, duration, seconds_per_step
from fedco.validation.runs.registry import recipe_for
from fedco.validation.runs.validate import validate
from fedco.validation.runs.verify import verify

THEOREM = "feddro.theorem_5_1"
INSTANCE = recipe_for(THEOREM).instances[0]
MANY = 99_999_999_999
METHOD = FedDRO(eta=0.01, beta=0.1, I=4, b=1)


def experiment(seeds: int, T: int = 256) -> Experiment:
    return Experiment(get_theorem(THEOREM), "printed", INSTANCE, T, seeds, 0)


def test_endless_experiments_are_refused_at_once_with_the_estimate():
    began = time.process_time()
    with pytest.raises(InputError, match=r"seeds.*at most 24 hours.*at least .* (years|days).*--max-hours"):
        validate(THEOREM, problems=[INSTANCE.problem], seeds=MANY)
    assert time.process_time() - began < 5


def test_more_hours_may_be_allowed_but_not_more_memory(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 8 << 30)
    check_experiments([experiment(10**7)], 1, hours=1e6)
    with pytest.raises(InputError, match=r"seeds: .*fits in the 8 GiB .* at least 7\.28 TiB"):
        check_experiments([experiment(10**11)], 1, hours=1e12)
    with pytest.raises(InputError, match="TiB"):
        check_experiments([experiment(10**11)], 1, scheduled=True)


def test_near_the_limit_a_few_steps_are_timed(monkeypatch):
    """An experiment is refused where the measured speed says so, and not where it is a little faster."""
    one = experiment(seeds=10**6, T=10**4)
    for seconds, refused in ((8e-6, False), (9e-6, True)):
        monkeypatch.setattr(run_limits, "seconds_per_step", lambda _, seconds=seconds: seconds)
        if refused:
            with pytest.raises(InputError, match=r"about 25 hours|about 1 days"):
                check_experiments([one], 1)
        else:
            check_experiments([one], 1)


def test_nothing_is_timed_where_even_a_slow_method_ends(monkeypatch):
    monkeypatch.setattr(run_limits, "seconds_per_step", None)
    check_experiments([experiment(1000)], 1)


def test_more_processes_than_cores_make_no_run_shorter():
    cores = os.cpu_count() or 1
    T = 3600 * cores * 10**6 * 2  # two hours on all cores by the least estimate
    check_experiments([experiment(1, T // 1000)], cores, hours=1e9)
    with pytest.raises(InputError, match="at least"):
        check_experiments([experiment(1, T)], 100 * cores, hours=1)


def test_the_estimate_is_of_the_size_of_the_run():
    made = experiment(seeds=32, T=256)
    estimated = min(seconds_per_step(made) for _ in range(4)) * 32 * 256
    took = min(measure(THEOREM, INSTANCE, 256, 32).seconds for _ in range(2))
    assert took / 10 < estimated < 10 * took


LOCAL_SGD = {"settings": {"tau": 2, "eta": 0.01}}
short = partial(fedco.run, "local_sgd", "federated_quadratic", **LOCAL_SGD)


def test_an_endless_run_is_refused_at_once_with_the_estimate(tmp_path):
    with pytest.raises(InputError, match=r"at most 24 hours, got one of at least .* years .*--max-hours allows more"):
        short(T=MANY, seeds=1000, every=MANY, out=tmp_path)
    assert not list(tmp_path.rglob("*.*"))


def test_a_run_is_timed_before_it_starts_and_every_group_counts(monkeypatch):
    """Two values of tau are two groups; the seconds of a few steps of each are added up."""
    timed = []

    def timed_drive(method, made, *, steps, seeds, **options):
        timed.append((method.tau, steps, seeds))
        return SimpleNamespace(seconds=1.0)

    runs = [(LocalSGD(eta=0.01, tau=tau), problem("federated_quadratic")) for tau in (2, 4)]
    monkeypatch.setattr(run_limits, "drive", timed_drive)
    run_limits.check_runs(runs, 800, 1000, hours=0.435)  # 100 times the steps and 7.8 times the seeds of what takes 2 s
    assert timed == [(2, 8, 128), (4, 8, 128)]
    with pytest.raises(InputError, match="got one of about 1562 seconds"):
        run_limits.check_runs(runs, 800, 1000, hours=0.433)
    timed.clear()
    run_limits.check_runs(runs, 80, 10, hours=24)
    assert not timed


def test_what_is_kept_needs_no_time(tmp_path):
    short(T=20, seeds=2, out=tmp_path)
    short(T=20, seeds=2, out=tmp_path, hours=1e-12)
    with pytest.raises(InputError, match="--max-hours"):
        short(T=30, seeds=2, out=tmp_path, hours=1e-12)


def test_a_curve_of_a_figure_is_refused_too():
    made = problem("federated_quadratic")
    setup = Setup(hours=1e-12)
    with pytest.raises(InputError, match="--max-hours"):
        curve(setup, "one", LocalSGD(eta=0.01, tau=2), made, 20, ["objective"])
    with pytest.raises(InputError, match="--max-hours"):
        tuned(setup, LocalSGD, {"tau": 2}, {"eta": [0.01, 0.1]}, made, 20, "objective", larger=False)


def test_absurdly_many_seeds_or_searches_are_refused_before_a_list_of_them_is_made():
    with pytest.raises(InputError, match=r"seeds: .* at least .* TiB"):
        short(T=2, seeds=MANY, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="jobs: wanted at most"):
        fedco.falsify(THEOREM, jobs=MANY)
    with pytest.raises(InputError, match="at most 10000 searches"):
        fedco.falsify(THEOREM, jobs=MANY, scheduler="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    "line",
    [
        "run local_sgd --problem federated_noisy --set eta=0.01 --set tau=4 --T 99999999999 --every 99999999999 --out r",
        "reproduce fcsg/figure_1 --seeds 9999999 --out r",
    ],
)
def test_the_commands_refuse_in_one_line_that_says_what_allows_more(command, tmp_path, line):
    done = command(*line.split(), cwd=tmp_path)
    assert done.returncode == 2 and "--max-hours allows more" in done.stderr.splitlines()[-1]


def test_a_run_in_processes_that_cannot_fit_is_refused_before_it_starts():
    with pytest.raises(InputError, match=r"wanted a run that fits in the .* that are free, got one of at least .* TiB"):
        drive_in_processes(METHOD, problem("feddro_homogeneous"), steps=2, seeds=MANY, jobs=2)


def test_memory_of_what_is_recorded_counts(monkeypatch):
    """Every metric has two buffers of (records, runs) doubles."""
    made, record = problem("feddro_homogeneous"), {"gradient": metrics.gradient_norm_squared}
    needed = 8 * 2 * 101 * 8
    monkeypatch.setattr(limits, "ALWAYS_FINE", needed)
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": needed)
    drive(METHOD, made, steps=100, seeds=8, every=100, record=record)
    with pytest.raises(InputError, match="steps and seeds"):
        drive(METHOD, made, steps=100, seeds=8, record=record)


def test_memory_of_the_state_counts(monkeypatch):
    """A few seeds of a model that is too large: 2 tensors of (seeds, clients, dim) doubles."""
    made = problem("feddro_homogeneous", dim=4)
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 1 << 29)
    needed = 8 * 2 * 8 * made.clients * made.dim
    drive(METHOD, made, steps=1, seeds=8)
    monkeypatch.setattr(limits, "ALWAYS_FINE", needed - 1)
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": needed - 1)
    with pytest.raises(InputError, match="steps and seeds"):
        drive(METHOD, made, steps=1, seeds=8)


def test_free_memory_is_what_this_machine_may_still_give(monkeypatch):
    free = limits.free_memory()
    assert free is None or 1 << 26 < free < 1 << 50
    monkeypatch.setattr(limits, "available_memory", lambda: 5)
    assert limits.free_memory(torch.device("cpu")) == 5


def test_durations_are_in_units_for_a_person():
    assert [duration(s) for s in (5, 3 * 3600, 5 * 86400, 3e9)] == ["5 seconds", "3 hours", "5 days", "95 years"]


def test_a_stored_result_that_cannot_be_measured_again_is_said(tmp_path):
    from fedco import storage

    found = validate(
        THEOREM, instances=[replace(INSTANCE, horizons=(256,))], seeds=4, jobs=1, alpha="1e-3", out=tmp_path
    )
    data = json.loads((tmp_path / "results.json").read_text())
    data["results"][0]["seeds"] = 10**12
    storage.write_json(tmp_path / "results.json", data)
    again = verify(tmp_path)
    assert len(found.results) == 1 and not again.verified
    assert "cannot be measured again" in again.differences[0] and "at most 24 hours" in again.differences[0]
