"""FCSG on invariant logistic regression, three ways in one run: plain loop with autograd, JAX, fedco.

The experiment of the FCSG paper, section 5.1: 16 clients, d = 10, outer batch 1, inner batches m in {1, 10, 100}, 50
local steps; 64 step sizes x 64 seeds, so 65,536 lanes. The problem is the saturated, finite one that fedco certifies.
Every implementation works from the same table of data (a, b) and its own formulas; before anything is timed all three
follow the same trajectory on the same noise.

    python benchmarks/fcsg_invariant.py [--m 1 10 100] [--seconds 5] [--device cuda] [--seeds 64]

With `--device cuda` fedco and JAX run on the GPU, where a JAX that knows it is installed; there is no second process then.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from fedco.algorithms import FCSG, Draws, drive, drive_in_processes
from fedco.synthetic.families.invariant import InvariantLogistic
from timing import Contender, Row, in_turns, measured, print_comparison, print_machine
from torch import Tensor

CLIENTS, DIM, POINTS, PERIOD, ROOT_SEED = 16, 10, 64, 50, 7
STEP_SIZES = torch.logspace(-3, -1, 64, dtype=torch.float64)
CHECKED_STEPS, CHECKED_SEEDS = 60, 2
TOLERANCE = 1e-10
PARAMETERS: dict[str, Any] = {"clients": CLIENTS, "dim": DIM, "points": POINTS, "reg": 1e-3, "gamma": 10.0}
PROBLEM = InvariantLogistic(**PARAMETERS)
Noise = tuple[np.ndarray, np.ndarray]  # outcomes of xi (steps, seeds, clients), of eta (steps, seeds, clients, m)


def noise_of(m: int, steps: int, seeds: int) -> Noise:
    """fedco's own numbers, for the check."""
    draws = Draws(ROOT_SEED, seeds, CLIENTS)
    outer = [draws.at(t).integers("outer", POINTS, 1)[..., 0] for t in range(steps)]
    inner = [draws.at(t).integers("inner", 2 * DIM, 1, m)[:, :, 0] for t in range(steps)]
    return torch.stack(outer).numpy(), torch.stack(inner).numpy()


def steps_of_eta() -> Tensor:
    axes = math.sqrt(DIM) * PROBLEM.sigma_2 * torch.eye(DIM, dtype=torch.float64)
    return torch.cat([axes, -axes])


# (a) research code: a loop over steps and clients, autograd at every one


def plain_loop(alpha: float, m: int, steps: int, noise: Noise | None = None) -> Tensor:
    """One run: the clients' models, (clients, dim)."""
    a, b = PROBLEM.data
    shakes, p = steps_of_eta(), PROBLEM
    x = [p.initial_point.clone() for _ in range(CLIENTS)]
    for t in range(steps):
        for k in range(CLIENTS):
            i = int(torch.randint(POINTS, ())) if noise is None else int(noise[0][t, 0, k])
            j = torch.randint(2 * DIM, (m,)) if noise is None else torch.from_numpy(noise[1][t, 0, k])
            leaf = x[k].requires_grad_()
            eta = a[k, i] + shakes[j]
            margin = (p.saturation * torch.tanh(eta @ leaf / p.saturation)).mean()
            s = p.gamma * leaf**2
            loss = torch.nn.functional.softplus(-b[k, i] * margin) + p.reg * (s / (1 + s)).sum()
            x[k] = leaf.detach() - alpha * torch.autograd.grad(loss, leaf)[0]
        if (t + 1) % PERIOD == 0:
            x = [torch.stack(x).mean(0).clone() for _ in range(CLIENTS)]
    return torch.stack(x)


# (b) JAX: vmap over clients, seeds and step sizes, lax.scan over steps, one jit


def jax_runner(m: int) -> tuple[Callable[..., Any], Callable[..., Any], Callable[[int], Any]]:
    """(run on given noise, run on its own random numbers, keys of so many seeds)."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    a, b = (jnp.asarray(v.numpy()) for v in PROBLEM.data)
    shakes, p = jnp.asarray(steps_of_eta().numpy()), PROBLEM
    start = jnp.broadcast_to(jnp.asarray(p.initial_point.numpy()), (CLIENTS, DIM))

    def loss(x, a_i, b_i, eta):
        margin = (p.saturation * jnp.tanh(eta @ x / p.saturation)).mean()
        s = p.gamma * x**2
        return jax.nn.softplus(-b_i * margin) + p.reg * (s / (1 + s)).sum()

    def client_step(x, alpha, i, j, a_k, b_k):
        return x - alpha * jax.grad(loss)(x, a_k[i], b_k[i], a_k[i] + shakes[j])

    def advance(x, alpha, t, i, j):
        x = jax.vmap(client_step, (0, None, 0, 0, 0, 0))(x, alpha, i, j, a, b)
        return jax.lax.cond((t + 1) % PERIOD == 0, lambda v: jnp.broadcast_to(v.mean(0), v.shape), lambda v: v, x)

    def given(alpha, outer, inner):
        def step(x, at):
            return advance(x, alpha, *at), None

        return jax.lax.scan(step, start, (jnp.arange(outer.shape[0]), outer, inner))[0]

    def own(alpha, key, steps):
        def step(x, at):
            t, key = at
            of_outer, of_inner = jax.random.split(key)
            outer = jax.random.randint(of_outer, (CLIENTS,), 0, POINTS)
            inner = jax.random.randint(of_inner, (CLIENTS, m), 0, 2 * DIM)
            return advance(x, alpha, t, outer, inner), None

        return jax.lax.scan(step, start, (jnp.arange(steps), jax.random.split(key, steps)))[0]

    over_all = jax.vmap(jax.vmap(given, (None, 1, 1)), (0, None, None))
    drawn = jax.vmap(jax.vmap(own, (None, 0, None)), (0, None, None))
    return jax.jit(over_all), jax.jit(drawn, static_argnums=2), lambda n: jax.random.split(jax.random.key(0), n)


# (c) fedco


def method(m: int, step_sizes: Tensor | float) -> FCSG:
    return FCSG(alpha=step_sizes, q=PERIOD, m=m)


def check(m: int, problem: InvariantLogistic) -> float:
    """Largest difference between the three on the same noise; ends the program when it is not rounding."""
    noise, sizes = noise_of(m, CHECKED_STEPS, CHECKED_SEEDS), STEP_SIZES[[20, 63]]
    result = drive(method(m, sizes), problem, steps=CHECKED_STEPS, seeds=CHECKED_SEEDS, root_seed=ROOT_SEED)
    assert result.state is not None
    x = result.state.x.cpu().view(2, CHECKED_SEEDS, CLIENTS, DIM)
    plain = plain_loop(float(sizes[1]), m, CHECKED_STEPS, noise)
    in_jax = torch.from_numpy(np.array(jax_runner(m)[0](sizes.numpy(), *noise)))
    difference = max(float((x[1, 0] - plain).abs().max()), float((x - in_jax).abs().max()))
    moved = float((x - PROBLEM.initial_point).abs().max())
    if not difference < TOLERANCE < moved:
        raise SystemExit(f"m={m}: the three are not the same method: models differ by {difference:.2g}")
    return difference


def compare(m: int, seconds: float, problem: InvariantLogistic, seeds: int) -> tuple[Row, list[Row]]:
    """One inner batch size: the plain loop, and the others with about ``seconds`` seconds of work each."""
    lanes, run, (_, own, keys) = seeds * len(STEP_SIZES) * CLIENTS, method(m, STEP_SIZES), jax_runner(m)
    sizes, is_cpu = STEP_SIZES.numpy(), problem.initial_point.device.type == "cpu"

    def finished() -> None:
        if not is_cpu:
            torch.cuda.synchronize()

    def in_jax(steps: int) -> None:
        own(sizes, keys(seeds), steps).block_until_ready()

    def in_fedco(steps: int) -> None:
        drive(run, problem, steps=steps, seeds=seeds, root_seed=ROOT_SEED)
        finished()

    def in_processes(steps: int) -> None:
        drive_in_processes(run, problem, jobs=2, steps=steps, seeds=seeds, root_seed=ROOT_SEED)

    def draw_only(steps: int) -> None:
        draws = Draws(ROOT_SEED, seeds, CLIENTS, len(STEP_SIZES), problem.initial_point.device)
        for t in range(steps):
            problem.sample_inner(draws.at(t), problem.sample_outer(draws.at(t), 1), m)
        finished()

    plain_loop(0.01, m, 2)
    plain = measured("plain loop with autograd, one run", 40 * CLIENTS, lambda: plain_loop(0.01, m, 40))
    both = Contender("fedco, 2 processes", lanes, in_processes, is_one_process=False)
    return plain, in_turns(
        [
            Contender("JAX, jit + vmap + scan", lanes, in_jax),
            Contender("fedco", lanes, in_fedco),
            *([both] if is_cpu else []),
            Contender("random numbers of fedco alone", lanes, draw_only),
        ],
        seconds,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--m", type=int, nargs="+", default=[1, 10, 100])
    arguments.add_argument("--seconds", type=float, default=5.0)
    arguments.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    arguments.add_argument("--seeds", type=int, default=64, help="times 64 step sizes and 16 clients: the lanes")
    options = arguments.parse_args()
    print_machine("numpy", "jax", "jaxlib")
    if options.device == "cuda":
        import jax

        print(f"on {torch.cuda.get_device_name()}; JAX on {jax.devices()[0]}")
    problem = InvariantLogistic(**PARAMETERS, device=options.device)
    for m in options.m:
        same = check(m, problem)
        print(f"\nm = {m}: same trajectory over {CHECKED_STEPS} steps, models differ by at most {same:.1e}")
        print_comparison(*compare(m, options.seconds, problem, options.seeds))


if __name__ == "__main__":
    main()
