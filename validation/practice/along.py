"""The constants of a problem along a run: what each inequality of its kind attains at the averaged models.

A certified constant is a supremum over the whole space. Here the same inequality (`synthetic/conformance`) is evaluated at averaged
models of a run only: one of points at each of them, one of pairs between the averaged models before and after a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...algorithms import Method
from ...synthetic.conformance.kinds import get_kind
from ..lemmas.trace import walk
from ..runs.values import exact_start

PLACES = 16
"""Number of steps of a run at which the constants are measured, evenly spread, the first and the last among them."""
SEEDS = 4
"""Number of seeds whose averaged models are kept."""


@dataclass(frozen=True)
class Trajectory:
    """Averaged models of a run before and after some of its steps, `(places * seeds, dim)` each."""

    before: Tensor
    after: Tensor


def trajectory(method: Method, problem: Any, steps: int, seeds: int, root_seed: int = 0) -> Trajectory:
    """The averaged models of the run that `drive` makes with the first of these seeds."""
    wanted = {round(k * (steps - 1) / (PLACES - 1)) for k in range(PLACES)}
    run = walk(method, problem, steps, min(seeds, SEEDS), root_seed=root_seed, start=exact_start(problem))
    kept = [(step.before.average, step.after.average) for step in run if step.t in wanted]
    return Trajectory(torch.cat([before for before, _ in kept]), torch.cat([after for _, after in kept]))


def attained(problem: Any, quantity: str, models: Trajectory) -> float | None:
    """The largest value of a constant along a run.

    Args:
        quantity: a constant of the vocabulary.

    Returns:
        None where the kind of the problem has no inequality for it, its inner points are not known, or nothing moved.
    """
    values = _by_place(problem, quantity, models)
    return None if values is None else float(values.max())


def typical(problem: Any, quantity: str, models: Trajectory) -> float | None:
    """The root mean square of a constant over the places of a run, at each the largest over the clients; None as for `attained`."""
    values = _by_place(problem, quantity, models)
    return None if values is None else float(values.square().mean().sqrt())


def _by_place(problem: Any, quantity: str, models: Trajectory) -> Tensor | None:
    """The largest value over the clients at each place, `(places,)`; those at which nothing moved are left out."""
    inequality = get_kind(problem.kind).inequalities.get(quantity)
    if inequality is None:
        return None
    chosen = (models.before, models.after) if inequality.pair else (torch.cat([models.before, models.after]),)
    with torch.no_grad():
        if inequality.space == "x":
            values = inequality.ratio(problem, *chosen)
        elif (at := _INNER.get(problem.kind)) is not None:
            values = at(problem, inequality.ratio, chosen)
        else:
            return None
    values = values.amax(-1)
    values = values[values.isfinite()]
    return values if values.numel() else None


def _shared(problem: Any, ratio: Any, chosen: tuple[Tensor, ...]) -> Tensor:
    """At y = g(x), the mean over the clients, where all outer functions are evaluated."""
    return ratio(problem, *(problem.inner_mean(x) for x in chosen))


def _local(problem: Any, ratio: Any, chosen: tuple[Tensor, ...]) -> Tensor:
    """At y = g_k(x) the outer function f_k of the same client."""
    inner = [problem.inner(problem.to_clients(x)) for x in chosen]
    each = [ratio(problem, *(y[:, k].contiguous() for y in inner)) for k in range(problem.clients)]
    return torch.stack([values[:, k if values.shape[1] > 1 else 0] for k, values in enumerate(each)], dim=-1)


def _conditional(problem: Any, ratio: Any, chosen: tuple[Tensor, ...]) -> Tensor:
    """At y = E g(x, xi) the outer function of the same client and outcome xi."""
    outcomes, _ = problem.outer_atoms()
    values: Tensor = ratio(problem, *(problem.inner(problem.to_clients(x), outcomes) for x in chosen))
    return values


_INNER: Mapping[str, Any] = {"shared_composite": _shared, "local_composite": _local, "conditional": _conditional}
"""Kind of problem -> how an inequality of inner points is evaluated at the inner values of models."""
