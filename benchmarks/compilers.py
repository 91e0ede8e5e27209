"""What a compiler would give, on one core: for the falsifier's load and for one step of FCSG.

The falsifier's load is local SGD for 16 steps on a family, every run an instance with knots of its own; beside it JAX (jit, vmap, scan),
which fuses all steps into one program. FCSG is on the problem of `fcsg_invariant.py`: fedco's row is `drive` as it is; the others are
one step for that one problem and nothing else, written again for torch.compile, numba and JAX, with fedco's random numbers (JAX: its own).
All follow one trajectory before anything is timed. Whether a lane keeps its bits when other lanes stand beside it is tried as well,
since results of fedco rest on it.

    python benchmarks/compilers.py [--m 1 10] [--seconds 5]     # pip install -e ".[bench]" numba
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch
from fcsg_invariant import CLIENTS, DIM, PERIOD, POINTS, PROBLEM, ROOT_SEED, SEEDS, STEP_SIZES, TOLERANCE, jax_runner
from fcsg_invariant import method as fcsg
from fedco.algorithms import Draws, LocalSGD, Start, drive
from fedco.algorithms.engine.metrics import gradient_norm_squared
from fedco.synthetic.families.piecewise.federated import FederatedFamily
from timing import Contender, Row, in_turns, print_machine
from torch import Tensor

SHAKE = PROBLEM._shake
Step = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""(models, step sizes `(lanes,)`, outcomes of xi `(seeds, clients)`, of eta `(seeds, clients, m)`) to the new models."""


def outcomes(draws: Draws, t: int, m: int) -> tuple[Tensor, Tensor]:
    now = draws.at(t)
    return now.integers("outer", POINTS, 1)[..., 0], now.integers("inner", 2 * DIM, 1, m)[:, :, 0]


def natural(x: Tensor, alpha: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """x `(grid, seeds, clients, dim)`, one draw of eta: the formulas as one writes them."""
    a, b = PROBLEM._data
    rows = torch.arange(CLIENTS)
    axis, sign = j[..., 0] % DIM, 1 - 2 * (j[..., 0] >= DIM).double()
    eta = a[rows, i] + SHAKE * sign.unsqueeze(-1) * torch.nn.functional.one_hot(axis, DIM)
    label, r = b[rows, i], PROBLEM.saturation
    tanh = torch.tanh((eta * x).sum(-1) / r)
    slope = -label * torch.sigmoid(-label * r * tanh) * (1 - tanh * tanh)
    flat = 1 + PROBLEM.gamma * x * x
    return x - alpha.view(-1, 1, 1, 1) * (
        slope.unsqueeze(-1) * eta + 2 * PROBLEM.reg * PROBLEM.gamma * x / (flat * flat)
    )


def innermost(x: Tensor, alpha: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The same with x `(dim, grid, seeds, clients)` and the sums over the ten coordinates written out."""
    a, b = PROBLEM._data
    rows = torch.arange(CLIENTS)
    axis, sign = j[..., 0] % DIM, SHAKE * (1 - 2 * (j[..., 0] >= DIM).double())
    at, label, r = a[rows, i], b[rows, i], PROBLEM.saturation
    eta = [at[..., k] + torch.where(axis == k, sign, 0.0) for k in range(DIM)]
    tanh = torch.tanh(sum((eta[k] * x[k] for k in range(1, DIM)), eta[0] * x[0]) / r)
    slope = -label * torch.sigmoid(-label * r * tanh) * (1 - tanh * tanh)
    new = []
    for k in range(DIM):
        flat = 1 + PROBLEM.gamma * x[k] * x[k]
        penalty = 2 * PROBLEM.reg * PROBLEM.gamma * x[k] / (flat * flat)
        new.append(x[k] - alpha.view(-1, 1, 1) * (slope * eta[k] + penalty))
    return torch.stack(new)


@numba.njit(fastmath=False, cache=False)
def numba_step(
    x: Any, alpha: Any, i: Any, j: Any, a: Any, b: Any, shake: float, r: float, reg: float, gamma: float
) -> None:
    """x `(grid, seeds, clients, dim)`, in place, for any number of draws."""
    grid, seeds, clients, dim = x.shape
    m = j.shape[2]
    pull = np.empty(dim)
    for g in range(grid):
        for s in range(seeds):
            for k in range(clients):
                own, data, label = x[g, s, k], a[k, i[s, k]], b[k, i[s, k]]
                base = 0.0
                for c in range(dim):
                    base += data[c] * own[c]
                    pull[c] = 0.0
                mean, total = 0.0, 0.0
                for n in range(m):
                    axis, sign = j[s, k, n] % dim, shake if j[s, k, n] < dim else -shake
                    tanh = np.tanh((base + sign * own[axis]) / r)
                    weight = (1 - tanh * tanh) / m
                    mean += r * tanh / m
                    total += weight
                    pull[axis] += sign * weight
                slope = -label / (1 + np.exp(label * mean))
                for c in range(dim):
                    flat = 1 + gamma * own[c] * own[c]
                    own[c] -= alpha[g] * (
                        slope * (total * data[c] + pull[c]) + 2 * reg * gamma * own[c] / (flat * flat)
                    )


def runner(step: Step, lanes_last: bool, m: int, grid: Tensor, seeds: int) -> Callable[[int], Tensor]:
    """So many steps from the start, with the averages: the clients' models `(grid, seeds, clients, dim)`."""
    axis = -1 if lanes_last else -2

    def run(steps: int) -> Tensor:
        draws = Draws(ROOT_SEED, seeds, CLIENTS)
        x = PROBLEM.initial_point.expand(len(grid), seeds, CLIENTS, DIM)
        x = (x.permute(3, 0, 1, 2) if lanes_last else x).contiguous().clone()
        for t in range(steps):
            x = step(x, grid, *outcomes(draws, t, m))
            if (t + 1) % PERIOD == 0:
                x = x.mean(axis, keepdim=True).expand_as(x).contiguous()
        return x.permute(1, 2, 3, 0) if lanes_last else x

    return run


def in_numba(x: Tensor, alpha: Tensor, i: Tensor, j: Tensor) -> Tensor:
    a, b = (v.numpy() for v in PROBLEM._data)
    p = PROBLEM
    numba_step(x.numpy(), alpha.numpy(), i.numpy(), j.numpy(), a, b, SHAKE, p.saturation, p.reg, p.gamma)
    return x


def contenders(m: int, grid: Tensor, seeds: int) -> dict[str, Callable[[int], Tensor]]:
    made = {"numba, a loop over lanes": runner(in_numba, False, m, grid, seeds)}
    if m == 1:
        for name, step, last in (("as written", natural, False), ("lanes innermost", innermost, True)):
            made[f"torch.compile, {name}"] = runner(torch.compile(step, dynamic=False), last, m, grid, seeds)
    return made


WALK, FAMILY_PERIOD, KNOTS = 16, 2, 3


def family_of(runs: int) -> tuple[FederatedFamily, Tensor]:
    """Two clients whose derivatives bend at three knots, and step sizes."""
    rng = np.random.default_rng(runs)
    knots = rng.normal(size=(runs, 2, 1)) + np.cumsum(rng.uniform(0.1, 1, (runs, 2, KNOTS)), -1)
    tables = {"knots": knots, "slopes": rng.normal(size=knots.shape), "gradient_noise": np.zeros((runs, 2))}
    tables["start"] = rng.normal(size=(runs, 1))
    return FederatedFamily({name: torch.from_numpy(v) for name, v in tables.items()}), torch.from_numpy(
        10 ** rng.uniform(-3, -1.5, runs)
    )


def squares_in_fedco(family: FederatedFamily, eta: Tensor) -> Tensor:
    """||grad F||^2 of the average model at 0, 1, ..., 16, `(17, runs)`."""
    method = LocalSGD(eta=eta.view(-1, 1, 1), tau=FAMILY_PERIOD)
    record = {"square": gradient_norm_squared}
    start = Start(x=family.start)
    return drive(method, family, steps=WALK, start=start, every=1, average=False, record=record).values["square"]


def squares_in_jax(family: FederatedFamily, eta: Tensor) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def slope(x: Any, knots: Any, values: Any) -> Any:
        rates = jnp.diff(values) / jnp.diff(knots)
        return values[0] + (rates * jnp.clip(x - knots[:-1], 0.0, jnp.diff(knots))).sum()

    def one(knots: Any, values: Any, start: Any, eta: Any) -> Any:
        at = jax.vmap(slope)

        def square(x: Any) -> Any:
            mean = jnp.broadcast_to(x.mean(), x.shape)
            return at(mean, knots, values).mean() ** 2

        def step(x: Any, t: Any) -> Any:
            new = x - eta * at(x, knots, values)
            new = jnp.where((t + 1) % FAMILY_PERIOD == 0, jnp.broadcast_to(new.mean(), new.shape), new)
            return new, square(new)

        first = jnp.broadcast_to(start, (2,))
        return jnp.concatenate([square(first)[None], jax.lax.scan(step, first, jnp.arange(WALK))[1]])

    run = jax.jit(jax.vmap(one))
    p = family.parameters
    given = [jnp.asarray(v.numpy()) for v in (p["knots"], p["slopes"], p["start"][:, 0], eta)]
    return lambda: run(*given).block_until_ready()


def compare_family(runs: int, seconds: float) -> list[Row]:
    """JAX, then fedco."""
    family, eta = family_of(runs)
    in_jax = squares_in_jax(family, eta)
    ours = squares_in_fedco(family, eta)
    difference = float(((ours - torch.from_numpy(np.array(in_jax()).T)).abs() / (1 + ours)).max())
    if not difference < TOLERANCE:
        raise SystemExit(f"family: not the same method: squares differ by {difference:.2g}")

    def repeated(run: Callable[[], object]) -> Callable[[int], None]:
        def work(times: int) -> None:
            for _ in range(times):
                run()

        return work

    fedco = repeated(lambda: squares_in_fedco(family, eta))
    lanes = runs * 2 * WALK
    return in_turns([Contender("JAX", lanes, repeated(in_jax)), Contender("fedco", lanes, fedco)], seconds)


def fedco_models(m: int, grid: Tensor, seeds: int, steps: int) -> Tensor:
    result = drive(fcsg(m, grid), PROBLEM, steps=steps, seeds=seeds, root_seed=ROOT_SEED)
    assert result.state is not None
    return result.state.x.view(len(grid), seeds, CLIENTS, DIM)


def check(m: int) -> None:
    """All follow fedco's trajectory; and do the lanes of one seed keep their bits beside those of others?"""
    torch.set_num_threads(1)
    grid, steps = STEP_SIZES[[20, 40, 63]], 60
    models = {seeds: fedco_models(m, grid, seeds, steps) for seeds in (1, 3)}
    ways = {"fedco": models}
    for seeds in models:
        for name, run in contenders(m, grid, seeds).items():
            ways.setdefault(name, {})[seeds] = run(steps)
    for name, found in ways.items():
        difference = float((found[3] - models[3]).abs().max())
        if not difference < TOLERANCE:
            raise SystemExit(f"{name}: not the same method: models differ by {difference:.2g}")
        kept = torch.equal(found[1][:, 0], found[3][:, 0])
        print(
            f"m = {m}, {name}: differs from fedco by {difference:.1e}; a lane {'keeps' if kept else 'does not keep'} its bits"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--m", type=int, nargs="*", default=[1, 10])
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX starts its threads: one core for everybody
    print_machine("numpy", "jax", "numba")
    print("\n| instances at once | fedco, ns per client step | JAX, ns per client step | times JAX |")
    print("|---|---|---|---|")
    for runs in (256, 4096, 65536):
        jax_row, own_row = compare_family(runs, options.seconds)
        assert jax_row.cpu_rate is not None and own_row.cpu_rate is not None
        print(
            f"| {runs} | {1e9 / own_row.cpu_rate:.1f} | {1e9 / jax_row.cpu_rate:.1f} | {own_row.times(jax_row)[0]:.2f} |",
            flush=True,
        )
    lanes = SEEDS * len(STEP_SIZES) * CLIENTS
    for m in options.m:
        check(m)
        _, own, keys = jax_runner(m)
        runs: dict[str, Callable[[int], object]] = {
            "JAX, jit + vmap + scan": lambda n, own=own, keys=keys: own(
                STEP_SIZES.numpy(), keys(SEEDS), n
            ).block_until_ready(),
            "fedco": lambda n, m=m: drive(fcsg(m, STEP_SIZES), PROBLEM, steps=n, seeds=SEEDS, root_seed=ROOT_SEED),
            **contenders(m, STEP_SIZES, SEEDS),
        }
        rows = in_turns([Contender(name, lanes, run) for name, run in runs.items()], options.seconds)
        print(f"\n| m = {m} | ns of processor time per lane-step | times JAX, median over the turns | from, to |")
        print("|---|---|---|---|")
        for row in rows:
            assert row.cpu_rate is not None
            median, least, most = row.times(rows[0])
            print(f"| {row.label} | {1e9 / row.cpu_rate:.1f} | {median:.2f} | {least:.2f}, {most:.2f} |", flush=True)


if __name__ == "__main__":
    main()
