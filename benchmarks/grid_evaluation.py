"""Every statement on a grid of one million hyperparameter points, in seconds, against its target of one second.

    python benchmarks/grid_evaluation.py [--points 1000000] [ID ...]

The grid varies all positive constants and hyperparameters of a statement at once (log-uniform, no broadcasting savings);
compiling a statement is done once and timed apart.
"""

from __future__ import annotations

import argparse
import os
import platform
import time

import numpy as np
from fedco import theorem, theorems
from fedco.bounds.evaluation.evaluate import evaluate
from fedco.bounds.language.quantities import COUNT, STEPS
from fedco.bounds.language.theorem import Theorem

SECONDS_ALLOWED = 1.0


def grid(item: Theorem, label: str, points: int) -> dict[str, np.ndarray]:
    """One value per symbol and point; scheduled hyperparameters come from the schedule, as in `fedco bound`."""
    rng = np.random.default_rng(0)
    statement, drawn = item.statement(label), {}
    for name, binding in item.symbols(label).items():
        domain = binding.quantity.domain
        if name in statement.schedule:
            continue
        if domain == STEPS:
            drawn[name] = np.asarray(3.0)  # a recursion is unrolled: one number of steps for the whole grid
        elif domain == COUNT:
            drawn[name] = np.floor(10 ** rng.uniform(0, 4, points))
        else:
            drawn[name] = 10 ** rng.uniform(-2, 1, points)
    return drawn


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--points", type=int, default=1_000_000)
    arguments.add_argument("ids", nargs="*", metavar="ID")
    options = arguments.parse_args()
    chosen = [theorem(name) for name in options.ids] or list(theorems().values())
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'statement':<44}{'compile s':>10}{'grid s':>8}")
    slowest = 0.0
    for item in chosen:
        for label in item.labels:
            if not item.statement(label).terms:
                continue
            first, arrays = grid(item, label, 1), grid(item, label, options.points)
            began = time.perf_counter()
            with np.errstate(all="ignore"):
                evaluate(item.statement(label), **first)
                compiled = time.perf_counter()
                evaluate(item.statement(label), **arrays)
            done = time.perf_counter()
            slowest = max(slowest, done - compiled)
            print(f"{item.id + ' ' + label:<44}{compiled - began:>10.2f}{done - compiled:>8.2f}", flush=True)
    print(f"slowest {slowest:.2f} s; allowed {SECONDS_ALLOWED:.0f} s for one million points on two idle cores")


if __name__ == "__main__":
    main()
