"""Peak memory of 1e5 lanes x d = 100, and that it does not grow with the number of steps.

FedDRO on 100,000 lanes (12,500 seeds x 8 clients), the norm of the gradient averaged over every step and stored at ten
times. Each length runs in a process of its own, since the peak of a process never falls.

    python benchmarks/memory.py [--steps 20 200]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

LANES, DIM, CLIENTS, ALLOWED_GIB, HORIZON = 100_000, 100, 8, 4.0, 100_000


def peak_of_run(steps: int) -> dict[str, float]:
    """Peak resident memory in GiB and seconds per step of one run in this process."""
    from fedco.algorithms import FedDRO, drive
    from fedco.algorithms.engine import metrics
    from fedco.synthetic import problem

    made = problem("feddro_heterogeneous", dim=DIM)
    assert made.clients == CLIENTS
    idle = _peak()
    result = drive(
        FedDRO(eta=0.02, beta=0.05, I=4),
        made,
        steps=steps,
        seeds=LANES // CLIENTS,
        record={"X": metrics.gradient_norm_squared},
        every=max(1, steps // 10),
    )
    assert bool(result.mean("X").isfinite().all()) and result.state is not None
    assert result.state.x.shape == (LANES // CLIENTS, CLIENTS, DIM)
    return {"steps": steps, "idle": idle, "peak": _peak(), "seconds": result.seconds}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def in_a_new_process(steps: int) -> dict[str, float]:
    """`peak_of_run` by itself."""
    done = subprocess.run([sys.executable, __file__, "--alone", str(steps)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--steps", type=int, nargs=2, default=[20, 200])
    arguments.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.alone:
        print(json.dumps(peak_of_run(options.alone)))
        return
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    runs = [in_a_new_process(steps) for steps in options.steps]
    for run in runs:
        print(
            f"{run['steps']:6.0f} steps: peak {run['peak']:.2f} GiB ({run['idle']:.2f} before the run), "
            f"{run['seconds']:.1f} s"
        )
    per_step = (runs[1]["seconds"] - runs[0]["seconds"]) / (runs[1]["steps"] - runs[0]["steps"])
    print(f"{per_step:.3f} s per step: {HORIZON} steps would take {per_step * HORIZON / 3600:.1f} hours on one core")
    if max(run["peak"] for run in runs) > ALLOWED_GIB or runs[1]["peak"] > runs[0]["peak"] + 0.1:
        raise SystemExit(f"peak above {ALLOWED_GIB} GiB, or growing with the steps")


if __name__ == "__main__":
    main()
