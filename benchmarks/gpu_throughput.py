"""Lane-steps per second of batched runs on one device, beside the time that moving the models alone would take.

    python benchmarks/gpu_throughput.py [--device cuda] [--steps 500] [--seeds 4096]

A lane is one client of one run. The floor is the time to read and write the tensors of the state once per step at the bandwidth that a copy
reaches on this device; a method also reads noise and problem data, so no run attains it. Everything is float64. `make gpu`
runs this and the tests that need a GPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import platform
import time

import torch
from fedco.algorithms import FCSG, FedDRO, LocalSCGDM, drive
from fedco.synthetic import problem
from torch import Tensor

CASES = {
    "FedDRO, 8 clients, dimension 20": (FedDRO(eta=0.02, beta=0.05, I=4, b=1), "feddro_heterogeneous"),
    "FCSG m = 10": (FCSG(alpha=0.01, q=4, m=10, b=1), "conditional_noisy"),
    "Local-SCGDM": (LocalSCGDM(eta=0.02, alpha=2.0, beta=0.5, gamma=2.0, p=4), "local_heterogeneous"),
}
COPIED = 1 << 25
TURNS = 5


def synchronise(device: str) -> None:
    """Wait for what was started on a GPU."""
    if device == "cuda":
        torch.cuda.synchronize()


def bandwidth(device: str) -> float:
    """Bytes per second that a copy of a large tensor reads and writes; the best of a few turns."""
    source = torch.ones(COPIED, dtype=torch.float64, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(TURNS):
        start = time.perf_counter()
        target.copy_(source)
        synchronise(device)
        seconds.append(time.perf_counter() - start)
    return 2 * source.nbytes / min(seconds)


def state_bytes(state: object) -> int:
    """The size of the tensors of a state."""
    tensors = [getattr(state, field.name) for field in dataclasses.fields(state)]  # type: ignore[arg-type]
    return sum(value.nbytes for value in tensors if isinstance(value, Tensor))


def measure(label: str, device: str, steps: int, seeds: int, copied: float) -> str:
    """One line: lane-steps per second, and how many times the floor a step takes."""
    method, name = CASES[label]
    instance = dataclasses.replace(problem(name), device=device)
    drive(method, instance, steps=10, seeds=seeds, root_seed=7)  # what is made at first use
    start = time.perf_counter()
    result = drive(method, instance, steps=steps, seeds=seeds, root_seed=7)
    synchronise(device)
    seconds = time.perf_counter() - start
    floor = 2 * state_bytes(result.state) / copied
    rate = steps * seeds * instance.clients / seconds
    return f"{label}: {rate:.3g} lane-steps/s, {seconds / steps / floor:.1f} times the floor of moving the models"


def main() -> None:
    """Print the machine, its bandwidth, and one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=4096)
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("no CUDA device here: nothing was measured (--device cpu runs the same on a processor)")
    name = (
        torch.cuda.get_device_name()
        if given.device == "cuda"
        else f"{platform.machine()}, {torch.get_num_threads()} threads"
    )
    copied = bandwidth(given.device)
    print(f"{name}, torch {torch.__version__}: a copy moves {copied / 1e9:.0f} GB/s")
    for label in CASES:
        print(measure(label, given.device, given.steps, given.seeds, copied), flush=True)


if __name__ == "__main__":
    main()
