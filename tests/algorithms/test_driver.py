"""The loop: what it records, how it reports, and that nothing can stop it for good."""

import doctest
import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import fedco
import numpy as np
import pytest
import torch
from fedco.algorithms import (
    ComFedL,
    FedAvg,
    FedDRO,
    LocalSGD,
    NotApplicable,
    Result,
    Start,
    drive,
    drive_in_processes,
)
from fedco.algorithms.engine import draws, driver, metrics, parallel, progress
from tiny import TinyData, TinyLocal, TinyMeta, TinyShared

PROBLEM = TinyShared(TinyData.random(1, 3))
METHOD = FedDRO(eta=0.05, beta=0.3, I=3, b=2)
RECORD = {"gradient": metrics.gradient_norm_squared, "drift": metrics.consensus_error, "F": metrics.objective}


def test_recorded_values_are_the_metrics_of_the_trajectory():
    every_step = drive(METHOD, PROBLEM, steps=20, seeds=4, record=RECORD)
    thinned = drive(METHOD, PROBLEM, steps=20, seeds=4, record=RECORD, every=6)
    assert every_step.times.tolist() == list(range(21)) and thinned.times.tolist() == [0, 6, 12, 18, 20]
    for name in RECORD:
        values = every_step.values[name]
        assert torch.equal(thinned.values[name], values[thinned.times])
        torch.testing.assert_close(thinned.mean(name)[0], values[:20].mean(0))
        torch.testing.assert_close(thinned.running_mean(name)[2, 0], values[:12].mean(0))
        assert thinned.final(name).shape == (1, 4) and thinned.running_mean(name)[0].isnan().all()
    final = PROBLEM.gradient(every_step.state.average).square().sum(-1)
    assert torch.equal(every_step.values["gradient"][-1], final)
    assert (every_step.values["drift"][3] < 1e-25).all() and (every_step.values["drift"][4] > 1e-9).all()


def test_without_average_only_the_stored_times_are_evaluated():
    seen = []

    def spy(problem, state, t):
        seen.append(t)
        return state.x[:, 0, 0]

    result = drive(METHOD, PROBLEM, steps=20, seeds=2, record={"spy": spy}, every=6, average=False)
    assert seen == [0, 6, 12, 18, 20] and result.counts.tolist() == [0, 1, 2, 3, 4]
    torch.testing.assert_close(result.mean("spy")[0], result.values["spy"][:4].mean(0))


def test_grid_points_are_laid_out_slowly():
    method = FedDRO(eta=torch.tensor([0.0, 0.1], dtype=torch.float64), beta=0.3, I=3)
    result = drive(method, PROBLEM, steps=5, seeds=3, record=RECORD)
    assert result.grid == 2 and result.final("F").shape == (2, 3)
    at_rest = PROBLEM.objective(PROBLEM.initial_point[None])
    torch.testing.assert_close(result.final("F")[0], at_rest.expand(3))
    assert (result.final("F")[1] != at_rest).all()


def test_the_average_is_over_the_clients_of_the_round():
    problem = TinyLocal(TinyData.random(1, 5))
    state = drive(ComFedL(eta=0.05, tau=4, m=2), problem, steps=6, seeds=3).state
    assert (state.active.sum(1) == 2).all()
    for run in range(3):
        chosen = state.x[run][state.active[run] > 0]
        torch.testing.assert_close(state.average[run], chosen.mean(0))
        drift = (chosen - chosen.mean(0)).square().sum(1).mean()
        torch.testing.assert_close(metrics.consensus_error(problem, state, 6)[run], drift)


def test_the_loop_never_waits_for_a_number(monkeypatch):
    def refuse(self, *args):
        raise AssertionError("a tensor was turned into a number inside the loop")

    def start_refusing(problem, state, t):
        for name in ("item", "__bool__", "__float__", "__int__", "tolist", "numpy", "cpu"):
            monkeypatch.setattr(torch.Tensor, name, refuse)
        return state.x[:, 0, 0]

    record = {"x": start_refusing, **RECORD}
    drive(METHOD, PROBLEM, steps=9, seeds=4, record=record, every=4, progress=lambda report: None)
    monkeypatch.undo()


def test_results_are_kept_without_pickle(tmp_path):
    result = drive(METHOD, PROBLEM, steps=9, seeds=[4, 2], record=RECORD, every=2)
    result.save(tmp_path / "result.npz")
    with np.load(tmp_path / "result.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)
    loaded = Result.load(tmp_path / "result.npz")
    assert (loaded.seeds, loaded.messages, loaded.hyperparameters) == ((4, 2), result.messages, result.hyperparameters)
    assert all(torch.equal(loaded.mean(name), result.mean(name)) for name in RECORD)
    assert [file.name for file in tmp_path.iterdir()] == ["result.npz"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_itself_and_goes_on(number, tmp_path):
    def interrupt(problem, state, t):
        if t == 5 and not (tmp_path / "run.npz").exists():
            os.kill(os.getpid(), number)
        return state.x[:, 0, 0]

    base = dict(steps=9, seeds=2, record={"x": interrupt}, checkpoint=tmp_path / "run.npz")
    handler = signal.getsignal(number)
    with pytest.raises(progress.Interrupted, match="stopped after step 6 of 9"):
        drive(METHOD, PROBLEM, **base)
    assert signal.getsignal(number) is handler
    whole = drive(METHOD, PROBLEM, steps=9, seeds=2, record={"x": lambda problem, state, t: state.x[:, 0, 0]})
    resumed = drive(METHOD, PROBLEM, **base)
    assert torch.equal(resumed.values["x"], whole.values["x"]) and torch.equal(resumed.state.x, whole.state.x)


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_run_resumes_to_the_last_bit(kills, tmp_path):
    """kill -9 at random moments, many times: the file is always whole and the end is always the same."""
    script = Path(__file__).with_name("killed_runs.py")
    command = [sys.executable, str(script), str(tmp_path), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert f"{kills} kills, same bits" in done.stdout


def test_seeds_dealt_out_over_processes_give_the_same_bits(tmp_path):
    method = FedDRO(eta=torch.tensor([0.05, 0.1], dtype=torch.float64), beta=0.3, I=3)
    options = dict(steps=9, seeds=[5, 0, 2, 9, 1], record=RECORD, every=2)
    whole = drive(method, PROBLEM, **options)
    dealt = drive_in_processes(method, PROBLEM, jobs=2, checkpoint=tmp_path / "run.npz", **options)
    assert dealt.seeds == whole.seeds and dealt.messages == whole.messages
    for name in RECORD:
        assert torch.equal(dealt.values[name], whole.values[name]) and torch.equal(dealt.mean(name), whole.mean(name))
    assert torch.equal(dealt.state.x, whole.state.x) and torch.equal(dealt.state.y, whole.state.y)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.npz.0-of-2", "run.npz.1-of-2"]


def test_the_first_process_tells_how_far_it_is():
    told = []
    drive_in_processes(METHOD, PROBLEM, jobs=1, seeds=2, steps=3, progress=lambda *done: told.append(done))
    assert told


def test_what_cannot_be_dealt_out_is_refused():
    rows = Start(x=torch.zeros(2, 3, dtype=torch.float64))
    for wrong, message in ((dict(jobs=0), "at least 1 process"), (dict(jobs=2, start=rows), "one row for all")):
        with pytest.raises(ValueError, match=message):
            drive_in_processes(METHOD, PROBLEM, seeds=2, steps=3, **wrong)


def test_methods_refuse_what_they_are_not_for():
    with pytest.raises(NotApplicable, match="feddro is not defined on problem kind 'meta'"):
        drive(METHOD, TinyMeta(TinyData.random(1, 3)), steps=1)
    bare = TinyShared(TinyData.random(1, 3))
    without = type("WithoutOracles", (), {name: getattr(bare, name) for name in ("kind", "name", "clients", "dim")})
    with pytest.raises(NotApplicable, match="feddro needs sample, inner"):
        METHOD.check(without())


BAD = [
    dict(eta=-0.1),
    dict(eta=float("nan")),
    dict(eta=float("inf")),
    dict(eta="0.1"),
    dict(eta=True),
    dict(eta=None),
    dict(eta=torch.tensor([0.1])),
    dict(eta=torch.tensor([[0.1]], dtype=torch.float64)),
    dict(beta=-1),
    dict(eta=torch.tensor([0.1, -1], dtype=torch.float64)),
    dict(eta=torch.zeros(0, dtype=torch.float64)),
    dict(I=0),
    dict(I=2.0),
    dict(I=True),
    dict(I=None),
    dict(b=0),
    dict(b=None),
    dict(first_update="perhaps"),
]


@pytest.mark.parametrize("wrong", BAD, ids=str)
def test_hyperparameters_are_checked_and_named(wrong):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=f"feddro: {name} must be .*; got"):
        FedDRO(**{"eta": 0.1, "beta": 0.1, "I": 2, **wrong})


def test_the_examples_in_docstrings_run():
    outcome = doctest.testmod(draws)
    assert outcome.attempted >= 3 and outcome.failed == 0


def test_other_mistakes_are_named():
    with pytest.raises(ValueError, match="differ in length"):
        FedDRO(eta=torch.ones(2, dtype=torch.float64), beta=torch.ones(3, dtype=torch.float64), I=1)
    with pytest.raises(ValueError, match="fedavg: case must be one of I, II; got 'III'"):
        FedAvg(eta=0.1, I=2, case="III")
    for wrong in (dict(steps=0), dict(steps=2, every=0)):
        with pytest.raises(ValueError, match="must be at least 1"):
            drive(METHOD, PROBLEM, **wrong)


def test_a_start_with_one_row_per_run_is_cut_along_the_seeds():
    method = FedDRO(eta=torch.tensor([0.02, 0.1], dtype=torch.float64), beta=0.3, I=3)
    start = Start(x=torch.arange(18, dtype=torch.float64).view(6, 3))
    whole, cut = (drive(method, PROBLEM, steps=4, seeds=3, start=start, seeds_at_once=n, record=RECORD) for n in (3, 1))
    assert torch.equal(whole.values["F"][0], PROBLEM.objective(start.x))
    assert torch.equal(whole.state.x, cut.state.x) and torch.equal(whole.values["F"], cut.values["F"])
    for wrong in (start.x[:2], start.x[:3], torch.zeros(4, dtype=torch.float64), torch.zeros(3)):
        for at_once in (1, 3):
            with pytest.raises(ValueError, match=r"start\.x must be float64 of shape"):
                drive(method, PROBLEM, steps=4, seeds=3, start=Start(x=wrong), seeds_at_once=at_once)
    for wrong in (dict(threads=0), dict(seeds_at_once=0), dict(every=0)):
        with pytest.raises(ValueError, match="must be at least 1"):
            drive(method, PROBLEM, **{"steps": 4, **wrong})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_interrupts_at_once(number):
    with progress.stop_request() as asked:
        assert not asked()
        os.kill(os.getpid(), number)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_results_of_several_processes_took_as_long_as_the_slowest():
    whole = drive(METHOD, PROBLEM, steps=2, seeds=[0, 1, 2])
    parts = [
        replace(drive(METHOD, PROBLEM, steps=2, seeds=seeds), seconds=seconds)
        for seeds, seconds in (([0, 2], 1.0), ([1], 3.0))
    ]
    together = parallel.gathered(parts, [0, 1, 2])
    assert together.seconds == 3.0 and together.seeds == (0, 1, 2)
    assert torch.equal(together.state.x, whole.state.x)


# --- the weighted sum of the averaged models over a run


SHARES = [0.0, 0.125, 0.25, 0.625, 0.0]


def run(**more):
    return drive(
        LocalSGD(eta=0.25, tau=2), fedco.problem("federated_noisy"), steps=4, seeds=3, **{"shares": SHARES, **more}
    )


def test_it_is_the_sum_of_the_models_times_their_shares(tmp_path):
    found = run()
    models = [fedco.problem("federated_noisy").initial_point.expand(3, -1)]
    models += [
        drive(LocalSGD(eta=0.25, tau=2), fedco.problem("federated_noisy"), steps=steps, seeds=3).models
        for steps in (1, 2, 3, 4)
    ]
    expected = sum(share * model for share, model in zip(SHARES, models, strict=True))
    torch.testing.assert_close(found.averaged, expected, rtol=1e-14, atol=0)
    assert torch.equal(run(seeds_at_once=1).averaged, found.averaged)
    found.save(tmp_path / "run")
    assert torch.equal(Result.load(tmp_path / "run").averaged, found.averaged)
    assert run(shares=None).averaged is None


def test_it_goes_on_from_a_checkpoint(tmp_path):
    kept = tmp_path / "checkpoint"
    whole = run(checkpoint=kept, checkpoint_every=1)
    again = run(checkpoint=kept, checkpoint_every=1)
    assert torch.equal(whole.averaged, again.averaged) and torch.equal(whole.averaged, run().averaged)


# --- what a run says while it runs, and how often


class Log(io.StringIO):
    flushed = 0

    def flush(self):
        self.flushed += 1


class Terminal(Log):
    def isatty(self):
        return True


def test_one_line_is_kept_up_to_date_on_a_terminal():
    shown = Terminal()
    show = progress.to_stream(shown, "a: ")
    show(progress.Progress(2, 4, 0, 10, 2.0))
    show(progress.Progress(4, 4, 0, 10, 2.5))
    lines = ["a: step 2/4, 10 lane-steps/s, 2 s left", "a: step 4/4, 16 lane-steps/s, 0 s left"]
    assert shown.getvalue() == f"\r{lines[0]:<78}\r{lines[1]:<78}\n" and shown.flushed == 2


def test_a_log_gets_a_line_every_ten_seconds_and_one_at_the_end():
    shown = Log()
    show = progress.to_stream(shown)
    for step, seconds in ((1, 9.0), (2, 10.0), (3, 10.5), (4, 20.4), (5, 20.6), (6, 20.7)):
        show(progress.Progress(step, 6, 0, 1, seconds))
    assert [line.split(",")[0] for line in shown.getvalue().splitlines()] == ["step 3/6", "step 5/6", "step 6/6"]
    assert shown.flushed == 3  # each line can be read at once


def test_speed_counts_what_this_process_did():
    report = progress.Progress(6, 9, 2, 12, 2.0)
    assert report.lane_steps_per_second == 24.0 and report.seconds_left == 1.5
    assert progress.Progress(6, 9, 2, 12, 0.0).lane_steps_per_second == pytest.approx(4 * 12 / 1e-9)


def test_a_run_reports_about_twice_a_second(monkeypatch):
    """The clock goes on by 0.2 s whenever it is read: a report at the first time over 0.5 s from the one before."""
    clock = iter(range(1000))
    monkeypatch.setattr(driver.time, "perf_counter", lambda: 0.2 * next(clock))
    told = []
    drive(METHOD, PROBLEM, steps=12, seeds=5, progress=told.append)
    apart = [after.seconds - before.seconds for before, after in pairwise(told)]
    assert len(told) > 3 and all(0.5 < seconds < 1.1 for seconds in apart[:-1]) and told[-1].step == 12
    assert {(each.first_step, each.steps, each.lanes) for each in told} == {(0, 12, 5 * 3)}
