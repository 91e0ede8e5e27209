"""The chunks of a campaign on a dask scheduler: the same numbers, and a killed worker costs nothing but time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fedco.bounds.language.reading import InputError
from fedco.validation.runs.campaign import run_tasks
from fedco.validation.runs.registry import sweep_for
from fedco.validation.runs.scheduler import check_address
from fedco.validation.runs.sweeps import tasks_of_sweeps

SWEEP = sweep_for("feddro.theorem_5_1", "K")
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

        def submit(self, run, task, cache, **named):
            return Cancelled()

    class Cancelled:
        status = "cancelled"

    def as_completed(futures, with_results):
        return ((future, asyncio.CancelledError()) for future in futures)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client, as_completed=as_completed))
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:1: the scheduler went away"):
        run_tasks(TASKS, jobs=1, cache=tmp_path, scheduler="tcp://127.0.0.1:1")
    assert not list(tmp_path.rglob("*.json"))


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
        import json

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
