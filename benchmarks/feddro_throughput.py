"""FedDRO at 256 seeds x 8 clients x dimension 20 for 10,000 steps, beside a plain loop with autograd, in one run.

The plain loop is what research code does: for every step, for every client, build the local objective, call autograd.
It follows the same trajectory on the same noise, which is checked before anything is timed.

    python benchmarks/feddro_throughput.py [--steps 10000] [--loop-steps 200]
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # else the threads of a busy machine burn their time in spinning

import torch
from fedco.algorithms import Draws, FedDRO, drive, drive_in_processes
from fedco.algorithms.engine import metrics, progress
from fedco.algorithms.engine.recorder import Metric
from fedco.synthetic import problem
from fedco.synthetic.families.shared_composite import SharedComposite
from fedco.synthetic.parts.blocks import Cosine
from fedco.synthetic.parts.patterns import pair_index, pair_signs, walsh_directions
from torch import Tensor

SEEDS, CHECKED_STEPS, ROOT_SEED = 256, 20, 7
PROCESSES = 2
SECONDS_ALLOWED = 60.0
METHOD = FedDRO(eta=0.02, beta=0.05, I=4, b=1)


class PlainClient:
    """g_k(x; z) and h_k(x; s) of one client, written out from the docstrings of the problem, for autograd."""

    def __init__(self, p: SharedComposite, k: int) -> None:
        self.p, self.group = p, p.dim // p.inner_dim
        self.component = int(pair_index(p.clients)[k]) % p.inner_dim
        self.sign = float(pair_signs(p.clients)[k])
        self.u = walsh_directions(pair_index(p.clients), self.group)[k]
        self.v = walsh_directions(pair_index(p.clients), p.dim)[k]
        slope = math.sqrt(p.B_g**2 - p.sigma_g**2) - p.Delta_g
        self.c = slope / ((1 + p.ripple) * math.sqrt(self.group))
        self.q = p.L_g / (p.ripple * self.c + p.Delta_g / math.sqrt(self.group))
        steepness = 0.2 * p.B_h / math.sqrt(p.dim)
        self.ripple = Cosine(steepness, 0.25 * p.L_h / steepness)
        self.wave = Cosine(p.Delta_h, 0.25 * p.L_h / p.Delta_h)
        self.bowl, self.width = 0.8 * p.B_h, 0.8 * p.B_h / (0.5 * p.L_h)

    def g(self, x: Tensor, z: Tensor) -> Tensor:
        grouped, w = x.view(self.p.inner_dim, self.group), self.q / math.sqrt(self.group)
        value = (self.c * (grouped + self.p.ripple * torch.sin(self.q * grouped) / self.q)).sum(-1)
        along = self.u @ grouped[self.component]
        own = self.p.Delta_g * self.sign * torch.sin(w * along) / w + self.p.sigma_g * z * torch.sin(along)
        return value + own * torch.eye(self.p.inner_dim, dtype=torch.float64)[self.component]

    def h(self, x: Tensor, s: Tensor) -> Tensor:
        along = self.v @ x
        bowl = self.bowl * (torch.sqrt(self.width**2 + x @ x) - self.width)
        own = self.sign * self.wave.value(along) + self.p.sigma_h * s * torch.sin(along)
        return bowl + self.ripple.value(x).sum() + own


def outer_gradient(p: SharedComposite, y: Tensor) -> Tensor:
    leaf = y.detach().requires_grad_()
    width = p.B_f / p.L_f
    f = p.B_f * (torch.sqrt(width**2 + (leaf - p.target) @ (leaf - p.target)) - width)
    return torch.autograd.grad(f, leaf)[0]


def plain_loop(p: SharedComposite, steps: int) -> list[Tensor]:
    """Algorithm 2 for one seed: a loop over steps and clients. Returns the clients' models."""
    clients = [PlainClient(p, k) for k in range(p.clients)]
    x = [p.initial_point.clone() for _ in clients]
    older, y = x, p.inner_mean(p.initial_point.unsqueeze(0))[0]
    eta, beta, period = float(METHOD.eta), float(METHOD.beta), METHOD.I
    for t in range(steps):
        sample = p.sample(Draws(ROOT_SEED, [0], p.clients).at(t), 1)
        z, s = sample.inner[0, :, 0], sample.extra[0, :, 0]
        if t > 0:
            own = [(1 - beta) * (y - c.g(older[k], z[k])) + c.g(x[k], z[k]) for k, c in enumerate(clients)]
            y = torch.stack(own).mean(0)
        grad_f, older, new = outer_gradient(p, y), x, []
        for k, client in enumerate(clients):
            leaf = x[k].detach().requires_grad_()
            loss = client.h(leaf, s[k]) + client.g(leaf, z[k]) @ grad_f
            new.append(x[k] - eta * torch.autograd.grad(loss, leaf)[0])
        x = [torch.stack(new).mean(0)] * p.clients if (t + 1) % period == 0 else new
    return x


def check_same_trajectory(p: SharedComposite) -> float:
    """Largest difference between the loop and fedco on the same noise; raises when they are not the same method."""
    batched = drive(METHOD, p, steps=CHECKED_STEPS, seeds=1, root_seed=ROOT_SEED).state
    assert batched is not None
    difference = float((batched.x[0] - torch.stack(plain_loop(p, CHECKED_STEPS))).abs().max())
    if difference > 1e-9:
        raise SystemExit(f"the plain loop is another method: its models differ by {difference:.2g}")
    return difference


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Elapsed seconds, and seconds of processor time over all threads of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def draw_only(p: SharedComposite, steps: int) -> None:
    draws = Draws(ROOT_SEED, SEEDS, p.clients)
    for t in range(steps):
        p.sample(draws.at(t), METHOD.b)


def run_fedco_in_processes(p: SharedComposite, steps: int) -> None:
    drive_in_processes(METHOD, p, jobs=PROCESSES, steps=steps, seeds=SEEDS, root_seed=ROOT_SEED)


def run_fedco(p: SharedComposite, steps: int, label: str, record: dict[str, Metric]) -> None:
    drive(
        METHOD,
        p,
        steps=steps,
        seeds=SEEDS,
        root_seed=ROOT_SEED,
        record=record,
        every=100,
        progress=progress.to_stream(label=f"{label}: "),
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--steps", type=int, default=10_000)
    arguments.add_argument("--loop-steps", type=int, default=200)
    options = arguments.parse_args()
    p = problem("feddro_heterogeneous")
    assert isinstance(p, SharedComposite) and (p.clients, p.dim) == (8, 20)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, 1 thread in a process, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run"
    )
    print(f"same trajectory over {CHECKED_STEPS} steps: models differ by at most {check_same_trajectory(p):.1e}")

    both, lanes = f"fedco, {PROCESSES} processes, 1 thread each", SEEDS * p.clients
    gradient, every_gradient = {"X": metrics.gradient_norm_squared}, "fedco, ||grad Phi||^2 at every step"
    rows = [
        ("plain loop with autograd", options.loop_steps, p.clients, timed(lambda: plain_loop(p, options.loop_steps))),
        (both, options.steps, lanes, (timed(lambda: run_fedco_in_processes(p, options.steps))[0], math.nan)),
        ("fedco", options.steps, lanes, timed(lambda: run_fedco(p, options.steps, "fedco", {}))),
        (every_gradient, options.steps, lanes, timed(lambda: run_fedco(p, options.steps, every_gradient, gradient))),
        ("random numbers of fedco alone", options.steps, lanes, timed(lambda: draw_only(p, options.steps))),
    ]
    print_table(rows)
    seconds = min(rows[1][3][0], rows[2][3][0])
    if options.steps == 10_000 and seconds > SECONDS_ALLOWED:
        raise SystemExit(f"fedco took {seconds:.0f} s; allowed are {SECONDS_ALLOWED:.0f} s on two idle cores")


def print_table(rows: list[tuple[str, int, int, tuple[float, float]]]) -> None:
    """Ratios are to the first row, by elapsed time and by processor time: the second does not mind a busy machine."""
    print(f"{'':37}{'steps':>7}{'lanes':>7}{'seconds':>9}{'cpu s':>8}{'lane-steps/s':>14}{'ratio':>8}{'cpu ratio':>11}")
    _, base_steps, base_lanes, (base_wall, base_cpu) = rows[0]
    base = base_steps * base_lanes
    for label, steps, lanes, (wall, cpu) in rows:
        work = steps * lanes
        ratio, cpu_ratio = work / wall * base_wall / base, work / cpu * base_cpu / base
        line = f"{label:37}{steps:7}{lanes:7}{wall:9.1f}{cpu:8.1f}{work / wall:14.3g}{ratio:8.0f}{cpu_ratio:11.0f}"
        print(line.replace("nan", "  -"))


if __name__ == "__main__":
    main()
