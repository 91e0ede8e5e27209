"""What the benchmarks share: clocks, the state of the machine, and the table."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

import torch

ROUNDS = 7  # in each of them every contender has one turn


@dataclass(frozen=True)
class Row:
    """One contender: lane-steps done, elapsed seconds, processor seconds (None: other processes did the work).

    Each is the sum over the turns; `turns` has the elapsed seconds of each one.
    """

    label: str
    work: int
    wall: float
    cpu: float | None
    load: float
    turns: tuple[float, ...] = ()

    @property
    def rate(self) -> float:
        """Lane-steps per elapsed second."""
        return self.work / self.wall

    @property
    def cpu_rate(self) -> float | None:
        """Lane-steps per second of processor time: a busy machine does not change it much."""
        return None if self.cpu is None else self.work / self.cpu

    def times(self, other: Row) -> tuple[float, float, float]:
        """How many times as fast as another, turn by turn: the median, the least and the most."""
        share = (other.work / len(other.turns)) / (self.work / len(self.turns))
        ratios = sorted(theirs / (share * own) for own, theirs in zip(self.turns, other.turns, strict=True))
        return statistics.median(ratios), ratios[0], ratios[-1]


@dataclass(frozen=True)
class Contender:
    """Work to be timed: `run` takes a number of steps of so many lanes; its processor time is known in one process."""

    label: str
    lanes: int
    run: Callable[[int], object]
    is_one_process: bool = True
    turns: list[tuple[float, float]] = field(default_factory=list)  # elapsed and processor seconds

    def take_turn(self, steps: int) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        self.run(steps)
        self.turns.append((time.perf_counter() - wall, time.process_time() - cpu))

    def row(self, steps: int) -> Row:
        walls, cpus = zip(*self.turns, strict=True)
        return Row(
            self.label,
            steps * self.lanes * len(walls),
            sum(walls),
            sum(cpus) if self.is_one_process else None,
            os.getloadavg()[0],
            walls,
        )


def in_turns(contenders: list[Contender], seconds: float) -> list[Row]:
    """Time contenders in rounds, about so many seconds each in all: what else the host does then hits all alike.

    torch has one thread, as `drive` gives it; JAX has threads of its own.
    """
    torch.set_num_threads(1)
    steps = [steps_for(seconds / ROUNDS, each.run) for each in contenders]
    for each, count in zip(contenders, steps, strict=True):
        each.run(count)  # JAX compiles once more for this number of steps
    for _ in range(ROUNDS):
        for each, count in zip(contenders, steps, strict=True):
            each.take_turn(count)
    return [each.row(count) for each, count in zip(contenders, steps, strict=True)]


def measured(label: str, work: int, run: Callable[[], object]) -> Row:
    """Time one call, with one thread."""
    torch.set_num_threads(1)
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Row(label, work, wall, cpu, os.getloadavg()[0], (wall,))


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
    print(
        f"{time.strftime('%Y-%m-%d')}, {names[0] if names else platform.processor()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, torch {torch.__version__}, "
        + ", ".join(f"{package} {version_of(package)}" for package in packages)
    )


def version_of(package: str) -> str:
    """The installed version, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def print_table(rows: list[Row]) -> None:
    """Ratios are to the first row, by elapsed and by processor time."""
    print(
        f"{'':40}{'lane-steps':>11}{'seconds':>9}{'cpu s':>8}{'per s':>10}{'per cpu s':>11}{'ratio':>9}"
        f"{'cpu ratio':>11}{'load':>6}"
    )
    first = rows[0]
    for row in rows:
        known = row.cpu_rate is not None and first.cpu_rate is not None
        of_cpu = f"{row.cpu:8.2f}" if row.cpu is not None else f"{'-':>8}"
        rates = f"{row.rate:10.3g}" + (f"{row.cpu_rate:11.3g}" if row.cpu_rate is not None else f"{'-':>11}")
        ratios = f"{row.rate / first.rate:9.0f}"
        ratios += f"{row.cpu_rate / first.cpu_rate:11.0f}" if known else f"{'-':>11}"  # type: ignore[operator]
        print(f"{row.label:40}{row.work:11d}{row.wall:9.2f}{of_cpu}{rates}{ratios}{row.load:6.1f}")


def print_comparison(plain: Row, contenders: list[Row]) -> None:
    """The table, and the ratios that the targets are about; contenders: JAX, fedco, processes on a CPU, random numbers."""
    print_table([plain, *contenders])
    jax, fedco, *processes, drawing = contenders
    for row in (fedco, *processes):
        print(f"{row.label} / JAX, of each turn: median {{:.2f}}, from {{:.2f}} to {{:.2f}}".format(*row.times(jax)))
    assert fedco.cpu_rate is not None and drawing.cpu_rate is not None
    print(f"random numbers take {fedco.cpu_rate / drawing.cpu_rate:.0%} of fedco's processor time")
