"""What one call of each oracle costs: every certified problem, 4096 lanes (runs x clients), dimension 20, one sample.

The target is 2 ms per oracle on two cores where the formula is elementwise. A problem whose dimension is its data's
keeps it (the column `d`). Times are the best of several calls, in milliseconds: elapsed with one and with two threads,
and processor time of the one thread, which a busy machine disturbs less. One sample: b = 1, and m = 2 inner draws.

    python benchmarks/oracle_cost.py [--lanes 4096] [--dim 20] [--repeats 15] [--only feddro_noisy ...] [--default-memory] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # else the threads of a busy machine burn their time in spinning

import torch
from fedco.algorithms import Draws
from fedco.algorithms.engine.memory import keep_freed_memory
from fedco.synthetic import PRESETS, problem, problems
from fedco.synthetic.conformance.oracle_checks import random_points
from fedco.synthetic.kinds import AbstractConditional
from torch import Tensor

TARGET_MS = 2.0
INNER_DRAWS = 2
WARM_UP = 3

Call = Callable[[], Any]


def built(name: str, dim: int) -> Any:
    """The problem at this dimension, or at its own where its data or its definition fix it."""
    try:
        return problem(name, dim=dim) if "dim" in PRESETS[name].all_parameters else problem(name)
    except ValueError:
        return problem(name)


def calls(instance: Any, runs: int) -> Iterator[tuple[str, Call]]:
    """Each oracle as a call without arguments, by name; random numbers are drawn outside of it, except in `sample`."""
    draws = Draws(7, runs, instance.clients).at(0)
    x = random_points(instance, runs, instance.dim, 0)
    y = random_points(instance, runs, instance.inner_dim, 1)
    if instance.kind == "conditional":
        yield from _conditional_calls(instance, draws, x, y)
        return
    sample = instance.sample(draws, 1)
    steps = count(1)
    yield "sample", lambda: instance.sample(draws.at(next(steps)), 1)
    if instance.kind == "meta":
        yield "local_gradient", lambda: instance.local_gradient(x, sample)
        yield "local_hvp", lambda: instance.local_hvp(x, y, sample)
        return
    yield "inner", lambda: instance.inner(x, sample)
    yield "inner_vjp", lambda: instance.inner_vjp(x, y, sample)
    yield "outer_gradient", lambda: instance.outer_gradient(y, sample)
    if instance.kind == "shared_composite" and instance.extra_gradient(x, sample) is not None:
        yield "extra_gradient", lambda: instance.extra_gradient(x, sample)


def _conditional_calls(instance: Any, draws: Draws, x: Tensor, y: Tensor) -> Iterator[tuple[str, Call]]:
    outer = instance.sample_outer(draws, 1)
    inner = instance.sample_inner(draws, outer, INNER_DRAWS)
    v, steps = y.unsqueeze(2), count(1)

    def sample() -> Any:
        fresh = draws.at(next(steps))
        return instance.sample_inner(fresh, instance.sample_outer(fresh, 1), INNER_DRAWS)

    yield "sample", sample
    yield "inner", lambda: instance.inner(x, outer, inner)
    yield "inner_vjp", lambda: instance.inner_vjp(x, v, outer, inner)
    yield "outer_gradient", lambda: instance.outer_gradient(v, outer)
    if type(instance).sample_gradient is not AbstractConditional.sample_gradient:  # else it is the three above
        yield "sample_gradient", lambda: instance.sample_gradient(x, outer, inner)


def milliseconds(call: Call, repeats: int, mean: bool = False) -> tuple[float, float]:
    """The best of `repeats` calls (or their mean), after a few that are not counted: elapsed, and this thread's own."""
    for _ in range(WARM_UP):
        call()
    spent = []
    for _ in range(repeats):
        start = time.perf_counter(), time.thread_time()
        call()
        spent.append((time.perf_counter() - start[0], time.thread_time() - start[1]))
    elapsed, own = (sum(column) / repeats if mean else min(column) for column in zip(*spent, strict=True))
    return 1e3 * elapsed, 1e3 * own


def measured(name: str, lanes: int, dim: int, repeats: int) -> Iterator[dict[str, Any]]:
    """One row per oracle: elapsed time for one and two threads, processor time for one, in milliseconds."""
    instance = built(name, dim)
    runs = max(1, lanes // instance.clients)
    for oracle, call in calls(instance, runs):
        torch.set_num_threads(1)
        is_drawn_in_blocks = oracle == "sample"  # most calls read what one call has drawn for many steps
        elapsed, processor = milliseconds(call, repeats, is_drawn_in_blocks)
        torch.set_num_threads(2)
        both, _ = milliseconds(call, repeats, is_drawn_in_blocks)
        times = {"one_thread": elapsed, "two_threads": both, "one_thread_processor": processor}
        yield {"problem": name, "oracle": oracle, "dim": instance.dim, "lanes": runs * instance.clients, "ms": times}


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", type=int, default=4096)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=problems())
    parser.add_argument("--default-memory", action="store_true", help="leave the C library's allocator as it is")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.default_memory:
        keep_freed_memory()
    rows = []
    if not options.json:
        print(machine())
        print(f"{'problem':<30} {'oracle':<16} {'d':>3} " + f"{'one thread':>11} {'two threads':>11} {'processor':>11}")
    for name in options.only:
        for row in measured(name, options.lanes, options.dim, options.repeats):
            rows.append(row)
            if not options.json:
                mark = "" if min(row["ms"].values()) < TARGET_MS else "  above the target"
                print(f"{row['problem']:<30} {row['oracle']:<16} {row['dim']:>3} "
                      + " ".join(f"{ms:11.3f}" for ms in row["ms"].values()) + mark, flush=True)  # fmt: skip
    if options.json:
        print(json.dumps({"machine": machine(), "target_ms": TARGET_MS, "rows": rows}))


if __name__ == "__main__":
    main()
