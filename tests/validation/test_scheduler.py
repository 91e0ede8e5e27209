"""The chunks of a campaign on a dask scheduler: the same numbers, and a killed worker costs nothing but time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import fedco
import numpy as np
import pytest
from fedco.bounds.language.reading import InputError
from fedco.validation.runs.campaign import run_tasks
from fedco.validation.runs.registry import sweep_for
from fedco.validation.runs.scheduler import check_address, run_on_scheduler
from fedco.validation.runs.sweeps import tasks_of_sweeps

SWEEP = sweep_for("feddro.theorem_5_1", "K")
FIGURE = "feddro/figure_6"
TASKS = tasks_of_sweeps([replace(SWEEP, points=SWEEP.points[:3])], seeds=16)


@pytest.mark.parametrize("address", ["here", "http://a:1", "tcp://a", "tcp://a:1;rm -rf", "tcp://a:123456"])
def test_a_bad_address_is_refused_before_anything_runs(address: str):
    with pytest.raises(InputError, match="--scheduler"):
        check_address(address)


def test_what_is_on_disk_needs_no_scheduler(tmp_path: Path):
    first = run_tasks(TASKS[-1:], jobs=1, cache=tmp_path)
    again = run_tasks(TASKS[-1:], jobs=1, cache=tmp_path, scheduler="tcp://127.0.0.1:1")
    assert again == first


def test_a_scheduler_that_goes_away_is_one_line(tmp_path: Path, monkeypatch):
    class Client:
        def __init__(self, address, timeout):
            assert address == "tcp://127.0.0.1:1"

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def submit(self, call, **named):
            return Cancelled()

    class Cancelled:
        status = "cancelled"

    def as_completed(futures, with_results):
        return ((future, asyncio.CancelledError()) for future in futures)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client, as_completed=as_completed))
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:1: the scheduler went away"):
        run_tasks(TASKS, jobs=1, cache=tmp_path, scheduler="tcp://127.0.0.1:1")
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["report"],
        ["validate", "feddro.theorem_5_1"],
        ["falsify", "feddro.theorem_5_1"],
        ["run", "feddro", "--problem", "feddro_noisy", "--T", "5", "--out", "there"],
        ["reproduce", "feddro/figure_6"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_that_runs_something_takes_a_scheduler(arguments, command, tmp_path: Path):
    done = command(*arguments, "--scheduler", "here", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == (
        "fedco: --scheduler here: wanted an address such as tcp://10.0.0.1:8786\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, as processes of this machine's loopback address."""
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'fedco[distributed]'")
    place = tmp_path / "scheduler.json"
    command = [sys.executable, "-W", "ignore", "-m"]
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    dask = [*command, "distributed.cli.dask_scheduler", *local, "--port", "0", "--scheduler-file", str(place)]
    running = [subprocess.Popen(dask, cwd=tmp_path, stderr=subprocess.DEVNULL)]
    try:
        wait_for(place.exists)
        worker = [
            *command,
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(place),
            "--nthreads",
            "1",
            "--no-nanny",
        ]
        running += [
            subprocess.Popen([*worker, "--no-dashboard"], cwd=tmp_path, stderr=subprocess.DEVNULL) for _ in range(2)
        ]
        yield json.loads(place.read_text(encoding="utf-8"))["address"], running[1:]
    finally:
        for process in running:
            process.kill()
            process.wait()


def wait_for(ready, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_midway_changes_no_number(cluster, tmp_path: Path):
    address, workers = cluster
    finished = []

    def kill_one(task) -> None:
        finished.append(task)
        if len(finished) == 1:
            os.kill(workers[0].pid, signal.SIGKILL)

    found = run_tasks(TASKS, jobs=1, cache=tmp_path / "kept", scheduler=address, done=kill_one)
    workers[0].wait(timeout=30)
    assert len(finished) == len(TASKS)
    local = run_tasks(TASKS, jobs=1, cache=None)
    assert {key: row["statistic"] for key, row in found.items()} == {
        key: row["statistic"] for key, row in local.items()
    }
    assert len(list((tmp_path / "kept").glob("*.json"))) == len(TASKS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_workers_take_half_the_time_of_one_and_a_call_costs_little(cluster):
    """With calls that only wait, so that the processors and what else they do not decide."""
    address, workers = cluster
    calls, wait = 24, 0.25

    def elapsed() -> float:
        began = time.monotonic()
        found = dict(run_on_scheduler({uuid4().hex: partial(time.sleep, wait) for _ in range(calls)}, address))
        assert len(found) == calls
        return time.monotonic() - began

    elapsed()  # the workers are there, and have imported what they need
    two = elapsed()
    workers[0].kill()
    workers[0].wait()
    one = elapsed()
    overhead = (one - calls * wait) / calls
    print(f"one worker {one:.2f} s, two workers {two:.2f} s, {1000 * overhead:.0f} ms for each call")
    assert one / two > 1.6 and 0 <= overhead < 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_on_a_scheduler_has_the_same_bits(cluster, tmp_path: Path):
    address, _ = cluster
    call = partial(
        fedco.run, "local_sgd", "federated_quadratic", T=20, seeds=6, settings={"tau": 2}, grid={"eta": [0.01, 0.1]}
    )
    here, there = call(), call(scheduler=address, out=tmp_path / "run")
    again = call(scheduler="tcp://127.0.0.1:1", out=tmp_path / "run")  # kept: nobody is asked
    for other in (there, again):
        assert all(
            np.array_equal(here.table.values[name], other.table.values[name], equal_nan=True)
            for name in here.table.values
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_false_statement_is_refuted_on_a_scheduler_and_its_bundle_written_here(cluster, tmp_path: Path):
    address, _ = cluster
    found = fedco.falsify("local_scgdm.theorem_3_4", seconds=60, jobs=2, scheduler=address, out=tmp_path / "bundles")
    assert found.refuted and found.path is not None and found.path.parent == tmp_path / "bundles"
    assert fedco.replay(found.path).confirmed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_figure_on_a_scheduler_has_the_same_numbers(cluster, tmp_path: Path):
    pytest.importorskip("sklearn")
    from fedco.validation.experiments.figures import Setup
    from fedco.validation.experiments.reproduce import run_figure

    address, _ = cluster
    said: list[str] = []
    setup = Setup(seeds=6, say=said.append)
    run_figure(FIGURE, setup, tmp_path / "here")
    run_figure(FIGURE, setup, tmp_path / "there", address)
    key, _, name = FIGURE.partition("/")
    numbers = [(tmp_path / where / key / f"{name}.csv").read_bytes() for where in ("here", "there")]
    assert numbers[0] == numbers[1]
