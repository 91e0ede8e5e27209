"""What the benchmarks share: clocks, the state of the machine, and the table."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch


@dataclass(frozen=True)
class Row:
    """One measurement: lane-steps done, elapsed seconds, processor seconds (None: other processes did the work)."""

    label: str
    work: int
    wall: float
    cpu: float | None
    load: float

    @property
    def rate(self) -> float:
        """Lane-steps per elapsed second."""
        return self.work / self.wall

    @property
    def cpu_rate(self) -> float | None:
        """Lane-steps per second of processor time: a busy machine does not change it much."""
        return None if self.cpu is None else self.work / self.cpu


def measured(label: str, work: int, run: Callable[[], object], own_process: bool = True) -> Row:
    """Time one call; processor time is over all threads of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Row(label, work, wall, cpu if own_process else None, os.getloadavg()[0])


def steps_for(seconds: float, work: Callable[[int], object]) -> int:
    """How many steps take about so long. Each look has a run before it, in which JAX compiles for that number of steps;
    the second look leaves out what starting processes costs."""
    steps = 4
    for _ in range(2):
        work(steps)
        began = time.perf_counter()
        work(steps)
        steps = max(4, round(steps * seconds / max(time.perf_counter() - began, 1e-3)))
    return steps


def print_machine(*packages: str) -> None:
    """Where and when: the date, the processor, the versions and the load before anything runs."""
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    print(f"{time.strftime('%Y-%m-%d')}, {names[0] if names else platform.processor()}, {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, torch {torch.__version__}, "
          + ", ".join(f"{package} {version_of(package)}" for package in packages))


def version_of(package: str) -> str:
    """The installed version, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def print_table(rows: list[Row]) -> None:
    """Ratios are to the first row, by elapsed and by processor time."""
    print(f"{'':40}{'lane-steps':>11}{'seconds':>9}{'cpu s':>8}{'per s':>10}{'per cpu s':>11}{'ratio':>9}"
          f"{'cpu ratio':>11}{'load':>6}")
    first = rows[0]
    for row in rows:
        known = row.cpu_rate is not None and first.cpu_rate is not None
        of_cpu = f"{row.cpu:8.2f}" if row.cpu is not None else f"{'-':>8}"
        rates = f"{row.rate:10.3g}" + (f"{row.cpu_rate:11.3g}" if row.cpu_rate is not None else f"{'-':>11}")
        ratios = f"{row.rate / first.rate:9.0f}"
        ratios += f"{row.cpu_rate / first.cpu_rate:11.0f}" if known else f"{'-':>11}"  # type: ignore[operator]
        print(f"{row.label:40}{row.work:11d}{row.wall:9.2f}{of_cpu}{rates}{ratios}{row.load:6.1f}")
