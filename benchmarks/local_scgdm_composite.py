"""Local-SCGDM on a local composite problem, three ways in one run: plain loop with autograd, JAX, fedco.

The problem is `local_heterogeneous`: 8 clients, d = 20, inner dimension 2, noise in g, its Jacobian and the gradient of f.
Eight step sizes x 64 seeds, so 4,096 lanes; p = 5 and b = 1. Before anything is timed all three follow the same
trajectory on the same noise.

    python benchmarks/local_scgdm_composite.py [--seconds 5]
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
from fedco.algorithms import Draws, LocalSCGDM, drive, drive_in_processes
from fedco.synthetic import problem
from fedco.synthetic.families.local_composite import LocalComposite
from fedco.synthetic.parts.patterns import pair_index, pair_signs, walsh_directions
from timing import Contender, Row, in_turns, measured, print_comparison, print_machine
from torch import Tensor

ROOT_SEED, SEEDS, PERIOD = 7, 64, 5
ALPHA, BETA, GAMMA = 2.0, 1.0, 4.0
STEP_SIZES = torch.linspace(0.02, 0.2, 8, dtype=torch.float64)
CHECKED_STEPS, CHECKED_SEEDS, TOLERANCE = 30, 2, 1e-9


def built() -> LocalComposite:
    made = problem("local_heterogeneous")
    assert isinstance(made, LocalComposite) and (made.clients, made.dim, made.inner_dim) == (8, 20, 2)
    return made


PROBLEM = built()
K, D, M = PROBLEM.clients, PROBLEM.dim, PROBLEM.inner_dim


class Constants:
    """The numbers in the docstrings of `RippledMap` and `CenteredOuter`."""

    group = D // M
    lipschitz = PROBLEM._map.lipschitz
    Delta, sigma, ripple = PROBLEM.Delta_g, PROBLEM.sigma_g, PROBLEM.ripple
    c = (lipschitz - Delta) / ((1 + ripple) * math.sqrt(group))
    q = PROBLEM.L_g / (ripple * c + Delta / math.sqrt(group))
    w, P = q / math.sqrt(group), PROBLEM.sigma_g / PROBLEM.delta_g
    B = math.sqrt(PROBLEM.C_f**2 - PROBLEM.sigma_f**2)
    width, sigma_f = B / PROBLEM.L_f, PROBLEM.sigma_f
    signs = pair_signs(K)
    component = pair_index(K) % M
    own = torch.nn.functional.one_hot(component, M).to(torch.float64)  # (clients, inner_dim)
    u = walsh_directions(pair_index(K), group)  # (clients, group)
    center = PROBLEM.target + PROBLEM.spread * signs


def noise_of(steps: int, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """fedco's own signs, (steps, seeds, clients): of g and of f."""
    draws = Draws(ROOT_SEED, seeds, K)
    samples = [PROBLEM.sample(draws.at(t), 1) for t in range(steps)]
    inner, outer = (torch.stack([getattr(s, name)[..., 0] for s in samples]) for name in ("inner", "outer"))
    return inner.numpy(), outer.numpy()


# (a) research code


def plain_g(x: Tensor, z: float, k: int) -> Tensor:
    C = Constants
    grouped = x.view(M, C.group)
    value = (C.c * (grouped + C.ripple * torch.sin(C.q * grouped) / C.q)).sum(-1)
    along = C.u[k] @ grouped[C.component[k]]
    own = C.Delta * C.signs[k] * torch.sin(C.w * along) / C.w + C.sigma * z * torch.sin(C.P * along) / C.P
    return value + own * C.own[k]


def plain_f(y: Tensor, s: float, k: int) -> Tensor:
    C = Constants
    away = y - C.center[k]
    bowl = C.B * (torch.sqrt(C.width**2 + away @ away) - C.width)
    return bowl + C.sigma_f * s * torch.sin(y.sum() / math.sqrt(M))


def plain_loop(eta: float, steps: int, noise: tuple[np.ndarray, np.ndarray] | None = None) -> Tensor:
    """Algorithm 1 for one run: the clients' models, (clients, dim)."""
    x = [PROBLEM.initial_point.clone() for _ in range(K)]
    u: list[Tensor] = [torch.empty(0)] * K
    m: list[Tensor] = [torch.empty(0)] * K
    for t in range(steps):
        for k in range(K):
            z, s = (2.0 * torch.randint(2, (2,)) - 1).tolist() if noise is None else (n[t, 0, k] for n in noise)
            leaf = x[k].detach().requires_grad_()
            g = plain_g(leaf, z, k)
            u[k] = g.detach() if t == 0 else (1 - GAMMA * eta) * u[k] + GAMMA * eta * g.detach()
            inner_value = u[k].clone().requires_grad_()
            slope = torch.autograd.grad(plain_f(inner_value, s, k), inner_value)[0]
            gradient = torch.autograd.grad(g, leaf, slope)[0]
            m[k] = gradient if t == 0 else (1 - ALPHA * eta) * m[k] + ALPHA * eta * gradient
            x[k] = x[k] - BETA * eta * m[k]
        if (t + 1) % PERIOD == 0:
            x, u, m = ([torch.stack(vs).mean(0)] * K for vs in (x, u, m))
    return torch.stack(x)


# (b) JAX


def jax_runner() -> tuple[Callable[..., Any], Callable[..., Any], Callable[[int], Any]]:
    """(run on given noise, run on its own random numbers, keys of so many seeds)."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    C = Constants
    tables = tuple(jnp.asarray(v.numpy()) for v in (C.signs, C.component, C.own, C.u, C.center))
    start = jnp.broadcast_to(jnp.asarray(PROBLEM.initial_point.numpy()), (K, D))

    def g(x, z, client):
        sign, component, own, u, _ = client
        grouped = x.reshape(M, C.group)
        value = (C.c * (grouped + C.ripple * jnp.sin(C.q * grouped) / C.q)).sum(-1)
        along = u @ grouped[component]
        wave = C.Delta * sign * jnp.sin(C.w * along) / C.w + C.sigma * z * jnp.sin(C.P * along) / C.P
        return value + wave * own

    def f(y, s, client):
        away = y - client[4]
        return C.B * (jnp.sqrt(C.width**2 + away @ away) - C.width) + C.sigma_f * s * jnp.sin(y.sum() / math.sqrt(M))

    def client_step(x, u, m, eta, is_first, z, s, client):
        value, pull = jax.vjp(lambda v: g(v, z, client), x)
        u = jnp.where(is_first, value, (1 - GAMMA * eta) * u + GAMMA * eta * value)
        (gradient,) = pull(jax.grad(f)(u, s, client))
        m = jnp.where(is_first, gradient, (1 - ALPHA * eta) * m + ALPHA * eta * gradient)
        return x - BETA * eta * m, u, m

    def advance(state, eta, t, z, s):
        state = jax.vmap(client_step, (0, 0, 0, None, None, 0, 0, 0))(*state, eta, t == 0, z, s, tables)

        def shared(vs):
            return tuple(jnp.broadcast_to(v.mean(0), v.shape) for v in vs)

        return jax.lax.cond((t + 1) % PERIOD == 0, shared, lambda vs: vs, state)

    zero = (start, jnp.zeros((K, M)), jnp.zeros((K, D)))

    def given(eta, inner, outer):
        def step(state, at):
            return advance(state, eta, *at), None

        return jax.lax.scan(step, zero, (jnp.arange(inner.shape[0]), inner, outer))[0][0]

    def own(eta, key, steps):
        def step(state, at):
            t, key = at
            z, s = jax.random.rademacher(key, (2, K), dtype=float)
            return advance(state, eta, t, z, s), None

        return jax.lax.scan(step, zero, (jnp.arange(steps), jax.random.split(key, steps)))[0][0]

    over_all = jax.vmap(jax.vmap(given, (None, 1, 1)), (0, None, None))
    drawn = jax.vmap(jax.vmap(own, (None, 0, None)), (0, None, None))
    return jax.jit(over_all), jax.jit(drawn, static_argnums=2), lambda n: jax.random.split(jax.random.key(0), n)


# (c) fedco


def method(step_sizes: Tensor) -> LocalSCGDM:
    return LocalSCGDM(eta=step_sizes, alpha=ALPHA, beta=BETA, gamma=GAMMA, p=PERIOD)


def draw_only(steps: int) -> None:
    draws = Draws(ROOT_SEED, SEEDS, K, len(STEP_SIZES))
    for t in range(steps):
        PROBLEM.sample(draws.at(t), 1)


def check() -> float:
    """Largest difference between the three on the same noise; ends the program when it is not rounding."""
    noise, sizes = noise_of(CHECKED_STEPS, CHECKED_SEEDS), STEP_SIZES[[2, 7]]
    state = drive(method(sizes), PROBLEM, steps=CHECKED_STEPS, seeds=CHECKED_SEEDS, root_seed=ROOT_SEED).state
    assert state is not None
    x = state.x.view(2, CHECKED_SEEDS, K, D)
    plain = plain_loop(float(sizes[1]), CHECKED_STEPS, noise)
    in_jax = torch.from_numpy(np.array(jax_runner()[0](sizes.numpy(), *noise)))
    difference = max(float((x[1, 0] - plain).abs().max()), float((x - in_jax).abs().max()))
    moved = float((x - PROBLEM.initial_point).abs().max())
    if not difference < TOLERANCE < moved:
        raise SystemExit(f"the three are not the same method: models differ by {difference:.2g}")
    return difference


def compare(seconds: float) -> tuple[Row, list[Row]]:
    """The plain loop, and the others with about ``seconds`` seconds of work each."""
    lanes, run, (_, own, keys) = SEEDS * len(STEP_SIZES) * K, method(STEP_SIZES), jax_runner()

    def in_jax(steps: int) -> None:
        own(STEP_SIZES.numpy(), keys(SEEDS), steps).block_until_ready()

    def in_fedco(steps: int) -> None:
        drive(run, PROBLEM, steps=steps, seeds=SEEDS, root_seed=ROOT_SEED)

    def in_processes(steps: int) -> None:
        drive_in_processes(run, PROBLEM, jobs=2, steps=steps, seeds=SEEDS, root_seed=ROOT_SEED)

    plain_loop(0.01, 2)
    plain = measured("plain loop with autograd, one run", 60 * K, lambda: plain_loop(0.01, 60))
    return plain, in_turns(
        [
            Contender("JAX, jit + vmap + scan", lanes, in_jax),
            Contender("fedco", lanes, in_fedco),
            Contender("fedco, 2 processes", lanes, in_processes, is_one_process=False),
            Contender("random numbers of fedco alone", lanes, draw_only),
        ],
        seconds,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=5.0)
    options = arguments.parse_args()
    print_machine("numpy", "jax", "jaxlib")
    print(f"same trajectory over {CHECKED_STEPS} steps, models differ by at most {check():.1e}")
    print_comparison(*compare(options.seconds))


if __name__ == "__main__":
    main()
