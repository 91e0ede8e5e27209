"""A property that a problem declares is tried on points and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from ..kinds import PROPERTIES
from .oracle_checks import RUNS, SeededDraws, random_points

_BATCH = 3


def check_properties(problem: Any, seed: int) -> Iterator[str]:
    """Every declared property has a meaning and, where there is something to try, holds."""
    for name in sorted(problem.properties):
        if name not in PROPERTIES:
            yield f"{name}: not a property of bounds/language/properties.py"
        elif name in CHECKS and not CHECKS[name](problem, seed):
            yield f"{name}: declared, but it does not hold. {PROPERTIES[name]}"


def _same_for_all(values: Tensor) -> bool:
    return torch.allclose(values, values[:, :1].expand_as(values), rtol=1e-12, atol=1e-12)


def _one_point(problem: Any, size: int, seed: int) -> Tensor:
    """The same random points for every client, `(runs, clients, size)`."""
    return random_points(problem, RUNS, size, seed)[:, :1].expand(-1, problem.clients, -1).contiguous()


def _samples(problem: Any, draws: Any) -> list[Tensor]:
    if hasattr(problem, "sample"):
        drawn = [problem.sample(draws, _BATCH)]
    else:
        outer = problem.sample_outer(draws, _BATCH)
        drawn = [outer, problem.sample_inner(draws, outer, _BATCH)]
    return [getattr(sample, field.name) for sample in drawn for field in fields(sample)]


class FirstClientRedrawn(SeededDraws):
    """The draws of `SeededDraws`, except that the first client gets others."""

    def integers(self, purpose: str, high: int, *tail: int) -> Tensor:
        return self._mixed(lambda draws: draws.integers(purpose, high, *tail))

    def uniform(self, purpose: str, *tail: int) -> Tensor:
        return self._mixed(lambda draws: draws.uniform(purpose, *tail))

    def _mixed(self, draw: Callable[[SeededDraws], Tensor]) -> Tensor:
        ours, others = (draw(SeededDraws(self.runs, self.clients, seed, self.device)) for seed in (self.seed, -1))
        ours[:, 0] = others[:, 0]
        return ours


def _independent_clients(problem: Any, seed: int) -> bool:
    """Other draws of one client leave the samples of all others as they are."""
    device = str(problem.initial_point.device)
    usual, redrawn = (
        _samples(problem, kind(RUNS, problem.clients, seed, device)) for kind in (SeededDraws, FirstClientRedrawn)
    )
    return all(torch.equal(a[:, 1:], b[:, 1:]) for a, b in zip(usual, redrawn, strict=True))


def _equal_inner_maps(problem: Any, seed: int) -> bool:
    x, v = _one_point(problem, problem.dim, seed), _one_point(problem, problem.inner_dim, seed + 1)
    return _same_for_all(problem.inner(x)) and _same_for_all(problem.inner_vjp(x, v))


def _equal_outer_functions(problem: Any, seed: int) -> bool:
    y = _one_point(problem, problem.inner_dim, seed)
    return _same_for_all(problem.outer_gradient(y)) and _same_for_all(problem.outer(y))


def _one_outer_function(problem: Any, seed: int) -> bool:
    y = _one_point(problem, problem.inner_dim, seed)
    sample = problem.sample(SeededDraws(RUNS, problem.clients, seed, str(y.device)), _BATCH)
    noiseless = torch.equal(problem.outer_gradient(y), problem.outer_gradient(y, sample))
    return noiseless and _equal_outer_functions(problem, seed)


def _no_extra_term(problem: Any, seed: int) -> bool:
    x = _one_point(problem, problem.dim, seed)
    return problem.extra_gradient(x) is None and not bool(problem.extra(x).any())


def _deterministic(problem: Any, seed: int) -> bool:
    x, y = _one_point(problem, problem.dim, seed), _one_point(problem, problem.inner_dim, seed + 1)
    sample = problem.sample(SeededDraws(RUNS, problem.clients, seed, str(y.device)), _BATCH)
    if problem.kind == "federated":
        return torch.equal(problem.local_gradient(x), problem.local_gradient(x, sample))
    pairs = [
        (problem.inner(x), problem.inner(x, sample)),
        (problem.inner_vjp(x, y), problem.inner_vjp(x, y, sample)),
        (problem.outer_gradient(y), problem.outer_gradient(y, sample)),
    ]
    extra = getattr(problem, "extra_gradient", lambda *_: None)
    with_extra = [] if extra(x) is None else [(extra(x), extra(x, sample))]
    return all(torch.equal(exact, drawn) for exact, drawn in (*pairs, *with_extra))


def _convex(problem: Any, seed: int) -> bool:
    """The objective lies above its tangents at random points, but for rounding."""
    x, y = (random_points(problem, RUNS, problem.dim, seed + i)[:, 0] for i in (0, 1))
    above = problem.objective(y) - problem.objective(x) - (problem.gradient(x) * (y - x)).sum(-1)
    size = problem.objective(y).abs() + problem.objective(x).abs() + 1
    return bool((above >= -1e-9 * size).all())


def _convex_clients(problem: Any, seed: int) -> bool:
    """Every client's objective lies above its tangents at random points, but for rounding."""
    x, y = (random_points(problem, RUNS, problem.dim, seed + i) for i in (0, 1))
    there, here = problem.local_value(y), problem.local_value(x)
    above = there - here - (problem.local_gradient(x) * (y - x)).sum(-1)
    return bool((above >= -1e-9 * (there.abs() + here.abs() + 1)).all())


CHECKS: Mapping[str, Callable[[Any, int], bool]] = {
    "equal_inner_maps": _equal_inner_maps,
    "equal_outer_functions": _equal_outer_functions,
    "one_outer_function": _one_outer_function,
    "no_extra_term": _no_extra_term,
    "independent_clients": _independent_clients,
    "deterministic": _deterministic,
    "convex": _convex,
    "convex_clients": _convex_clients,
}
