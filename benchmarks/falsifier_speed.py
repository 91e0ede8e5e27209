"""Instances per second of the batched search, beside the same search one instance at a time.

Both evaluate the same points of the same islands with the same code: the method's own steps, the certified constants, the
conditions and the bound. A client step is one local step of one client; where noise is taken in closed moments every lane counts.

    python benchmarks/falsifier_speed.py [--seconds 3] [--batch 256]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.island import Island
from fedco.validation.falsifier.search import islands

STATEMENTS = (
    ("local_scgdm.theorem_3_4", "printed"),
    ("comfedl.theorem_1", "printed"),
    ("acc_fcsg_m.theorem_4_7", "printed"),
    ("meta_fl.theorem_8", "printed"),
    ("feddro.theorem_5_1", "printed"),
    ("local_scgdm.lemma_4_1", "printed"),
    ("baselines.local_sgd", "printed"),
)


def chosen(name: str, label: str) -> Iterator[Island]:
    """The first island of a statement, and the first with noise."""
    theorem = get_theorem(name)
    listed = islands(target_of(theorem, label), Formula(theorem, label))
    yield next(i for i in listed if not i.law and not i.stays)
    yield from [i for i in listed if i.law == "moments"][:1]


def rate(island: Island, batch: int, seconds: float) -> float:
    """Instances per second of processor time."""
    points = np.random.default_rng(0).random((batch, island.size))
    island.score(points)
    done, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        island.score(points)
        done += batch
    return done / (time.process_time() - began)


def lanes(island: Island) -> int:
    """Runs per instance."""
    return 1 + 2 * island.signs if island.law == "moments" else 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="processor time of each measurement")
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f}, torch {torch.__version__}, one thread")
    print("| statement | island | instances/s, batched | client steps/s | instances/s, one at a time | ratio |")
    print("|---|---|---|---|---|---|")
    for name, label in STATEMENTS:
        for island in chosen(name, label):
            many, one = (rate(island, size, options.seconds) for size in (options.batch, 1))
            steps = many * island.walked * island.clients * lanes(island)
            what = "noise in closed moments" if island.law else "no noise"
            size = f"{island.clients} clients, {island.walked} steps, {what}"
            print(f"| {name} | {size} | {many:.3g} | {steps:.3g} | {one:.3g} | {many / one:.0f} |", flush=True)


if __name__ == "__main__":
    main()
