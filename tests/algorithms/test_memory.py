"""1e5 lanes in dimension 100 fit in 4 GiB, and a longer run takes no more memory than a short one."""

import subprocess
import sys
from pathlib import Path

import pytest
from fedco.algorithms import FedDRO, drive
from fedco.algorithms.engine import limits, metrics
from fedco.errors import InputError
from tiny import TinyData, TinyShared

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "memory.py"


@pytest.mark.slow
def test_a_hundred_thousand_lanes_fit_in_four_gibibytes_whatever_the_number_of_steps():
    """The script ends with an error when the peak exceeds 4 GiB or grows with the steps; its numbers are checked too.

    Twenty steps are several rounds and records: after five the heap has not yet been through all that a run asks of it.
    """
    done = subprocess.run([sys.executable, str(BENCHMARK), "--steps", "20", "100"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    peaks = [float(line.split("peak ")[1].split(" GiB")[0]) for line in done.stdout.splitlines() if "peak" in line]
    one_model_tensor = 100_000 * 100 * 8 / 2**30
    assert len(peaks) == 2 and all(one_model_tensor < peak < 4 for peak in peaks)


PROBLEM = TinyShared(TinyData.random(1, 3))


METHOD = FedDRO(eta=0.05, beta=0.3, I=3)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1.02e+03 B"),
        (1024, "1 KiB"),
        (1.5 * 2**20, "1.5 MiB"),
        (2**30, "1 GiB"),
        (3 * 2**40, "3 TiB"),
        (2**50, "1 PiB"),
        (2**61, "2.05e+03 PiB"),
    ],
)
def test_a_number_of_bytes_in_words(count, text):
    assert limits.size(count) == text


def test_what_needs_more_than_is_free_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 1 << 30)
    limits.check_memory(1 << 30, "seeds")
    with pytest.raises(
        InputError, match="seeds: wanted a run that fits in the 1 GiB that are free, got one of at least 2"
    ):
        limits.check_memory(1 << 31, "seeds")
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": None)
    limits.check_memory(1 << 60, "seeds")
    asked = []
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": asked.append(device) or 0)
    limits.check_memory((1 << 28) - 1, "seeds")
    assert not asked
    with pytest.raises(InputError, match="the 0 B that are free, got one of at least 256 MiB"):
        limits.check_memory(1 << 28, "seeds", "meta")
    assert asked == ["meta"]


@pytest.mark.parametrize(("seeds", "steps", "named"), [(10**7, 1, "seeds"), (10, 10**7, "steps and seeds")])
def test_a_run_that_cannot_fit_is_refused_before_it_starts(seeds, steps, named, monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 1 << 28)
    with pytest.raises(InputError, match=f"^{named}: wanted a run that fits in the 256 MiB that are free"):
        drive(METHOD, PROBLEM, steps=steps, seeds=seeds, record={"F": metrics.objective})


def test_processes_are_as_many_as_fit(monkeypatch):
    free = 10 * limits.PROCESS_BYTES
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": free)
    limits.check_jobs(10)
    with pytest.raises(
        InputError, match=r"at most 10 processes of 250 MiB in the 2.44 GiB that are free, got 11, which take 2"
    ):
        limits.check_jobs(11)
    with pytest.raises(InputError, match="at least 1 process, got 0"):
        limits.check_jobs(0)
    for cores, wanted in ((4, 4), (None, 1), (16, 10)):
        monkeypatch.setattr(limits.os, "cpu_count", lambda cores=cores: cores)
        assert limits.usual_jobs() == wanted
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 5)
    assert limits.usual_jobs() == 1
    limits.check_jobs(1)  # one process always runs
    with pytest.raises(InputError, match="at most 1 processes"):
        limits.check_jobs(2)
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": None)
    assert limits.usual_jobs() == 16
    limits.check_jobs(10**6)


def test_what_is_free_is_the_least_that_the_system_and_the_control_group_say(monkeypatch):
    texts = {
        "/proc/meminfo": "MemTotal:  9 kB\nMemAvailable:   3000 kB\n",
        "/sys/fs/cgroup/memory.max": "max\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n",
    }

    def read(path):
        if str(path) not in texts:
            raise FileNotFoundError(path)
        return texts[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    assert limits.free_memory() == 2_000_000
    texts["/sys/fs/cgroup/memory.max"] = "4096000000"
    assert limits.free_memory() == 3000 * 1024
    texts["/proc/meminfo"] = "nothing here"
    assert limits.free_memory() == 4_096_000_000
    del texts["/proc/meminfo"]
    monkeypatch.setattr(limits.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 5}.get)
    assert limits.free_memory() == 5 * 4096
    texts.clear()
    assert limits.free_memory() == 5 * 4096
