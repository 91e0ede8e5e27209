"""A user's own problem: torch functions and per-client data, with estimated constants.

    from fedco.synthetic.applications.user import LocalFromFunctions

    def inner(x, item):                       # x (dim,), one datum -> (inner_dim,)
        features, label = item[:-1], item[-1]
        return torch.sigmoid(-label * (features * x).sum()).unsqueeze(0)

    def outer(y, item):                       # y (inner_dim,), one datum -> scalar; item is None without outer data
        return torch.log1p(y.sum())

    problem = LocalFromFunctions(inner, outer, data, start=torch.zeros(5))    # data: (clients, samples, ...)
    problem.certificates["inner_smoothness"]  # kind "estimated": the largest ratio that gradient ascent found, times 2

Derivatives come from torch.func, batched by vmap: slower than analytic ones, and a run may differ in its last bits
between batch sizes. An estimate proves nothing, and a verdict that rests on it can never say SUPPORTED: see
`synthetic/estimation`, where `fedco.estimate` is too, which does more for a model that is an nn.Module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import grad, vjp, vmap

from ..certificate import Certificate
from ..estimation.functions import estimated_certificates
from ..kinds import (
    INDEPENDENT_CLIENTS,
    ONE_OUTER_FUNCTION,
    AbstractComposite,
    AbstractLocalComposite,
    AbstractSharedComposite,
    Draws,
    Sample,
)
from ..parts.adversary import Budget
from ..parts.noise import PairSample, every_pair, index_of

_MOST_ATOMS = 4096

Datum = Tensor | None
Function = Callable[[Tensor, Datum], Tensor]


@dataclass(frozen=True, eq=False)
class Averaged:
    """The mean over data of `function(point, datum)` at each client, and its derivatives, lane by lane."""

    function: Function
    data: Tensor | None

    def _lane(self, point: Tensor, items: Datum) -> Tensor:
        if items is None:
            return self.function(point, None)
        return vmap(self.function, in_dims=(None, 0))(point, items).mean(0)

    def _over_lanes(self, lane: Callable[..., Tensor], index: Tensor | None, *points: Tensor) -> Tensor:
        plain = (0,) * len(points)
        if self.data is None:
            return vmap(vmap(partial(lane, None)))(*points)
        if index is None:
            return vmap(vmap(lane, in_dims=(0, *plain)), in_dims=(None, *plain))(self.data, *points)
        items = self.data[torch.arange(len(self.data), device=self.data.device).unsqueeze(-1), index]
        runs = points[0].shape[0]
        return vmap(vmap(lane))(items.expand(runs, *items.shape[1:]), *points)

    def value(self, point: Tensor, index: Tensor | None = None) -> Tensor:
        """`(runs, clients, size) -> (runs, clients, ...)`; index None takes all data."""
        return self._over_lanes(lambda items, p: self._lane(p, items), index, point)

    def pulled(self, point: Tensor, v: Tensor, index: Tensor | None = None) -> Tensor:
        """Transposed Jacobian times v."""
        return self._over_lanes(lambda items, p, u: vjp(lambda q: self._lane(q, items), p)[1](u)[0], index, point, v)

    def gradient(self, point: Tensor, index: Tensor | None = None) -> Tensor:
        """Of a scalar function."""
        return self._over_lanes(lambda items, p: grad(lambda q: self._lane(q, items))(p), index, point)


def checked_data(name: str, data: Tensor, clients: int | None = None) -> Tensor:
    """`data` if it is float64 `(clients, samples, ...)`, else a ValueError that says what it is."""
    if data.dim() < 2 or data.dtype != torch.float64 or 0 in data.shape:
        raise ValueError(
            f"{name} must be a non-empty float64 tensor (clients, samples, ...), got {data.dtype} {tuple(data.shape)}"
        )
    if clients is not None and len(data) != clients:
        raise ValueError(f"{name} must have one row per client, {clients}, got {len(data)}")
    return data


def checked_start(start: Tensor) -> Tensor:
    """`start` if it is float64 `(dim,)`, else a ValueError that says what it is."""
    if start.dim() != 1 or start.dtype != torch.float64:
        raise ValueError(f"start must be a float64 tensor (dim,), got {start.dtype} {tuple(start.shape)}")
    return start


def all_pairs(first: int, second: int, clients: int, device: torch.device) -> tuple[PairSample, Tensor]:
    """Every pair of positions in two data sets of these sizes, with equal probabilities.

    Raises:
        ValueError: for more than 4096 pairs.
    """
    if first * second > _MOST_ATOMS:
        raise ValueError(
            f"expectations run over all {first} x {second} pairs of data, at most {_MOST_ATOMS}: "
            "use fewer data, or no data for the outer function"
        )
    return every_pair(first, second, clients, device)


class AbstractFromFunctions(AbstractComposite):
    """What both kinds have in common: the inner map, where runs start, and constants that are estimated."""

    certified: ClassVar[bool] = False
    inner_function: Function
    data: Tensor
    start: Tensor
    factor: float
    budget: Budget
    lower_bound: float | None

    def _set_sizes(self) -> None:
        checked_data("data", self.data)
        inner_value = self.inner_function(checked_start(self.start), self.data[0, 0])
        for name, value in (("clients", len(self.data)), ("dim", len(self.start)), ("inner_dim", len(inner_value))):
            object.__setattr__(self, name, value)

    @property
    def initial_point(self) -> Tensor:
        return self.start

    @cached_property
    def _inner(self) -> Averaged:
        return Averaged(self.inner_function, self.data)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._inner.value(x, index_of(sample))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self._inner.pulled(x, v, index_of(sample))

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return estimated_certificates(self, self.budget, self.factor, self.lower_bound)


@dataclass(frozen=True, eq=False)
class LocalFromFunctions(AbstractFromFunctions, AbstractLocalComposite):
    """(1/K) sum_k f_k(g_k(x)), g_k the mean of `inner` over `data[k]`, f_k the mean of `outer` over `outer_data[k]`.

    Args:
        inner: (x (dim,), datum) -> (inner_dim,). outer: (y (inner_dim,), datum or None) -> scalar.
        data, outer_data: float64 `(clients, samples, ...)`; None for an f without data, the same for every client.
        start: `(dim,)` float64. factor: safety factor of the estimates. budget: how hard they are sought.
        lower_bound: of the objective, for its gap; without it the gap is estimated from a descent.

    Raises:
        ValueError: for data or a start of the wrong shape or type.
    """

    inner_function: Function
    outer_function: Function
    data: Tensor
    outer_data: Tensor | None = None
    start: Tensor = field(default_factory=lambda: torch.zeros(1, dtype=torch.float64))
    name: str = "user_local"
    factor: float = 2.0
    budget: Budget = field(default_factory=lambda: Budget(farthest=10.0))
    lower_bound: float | None = None
    clients: int = field(init=False, default=0)
    dim: int = field(init=False, default=0)
    inner_dim: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._set_sizes()
        if self.outer_data is not None:
            checked_data("outer_data", self.outer_data, len(self.data))

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | (ONE_OUTER_FUNCTION if self.outer_data is None else frozenset())

    @cached_property
    def _outer(self) -> Averaged:
        return Averaged(self.outer_function, self.outer_data)

    def outer(self, y: Tensor) -> Tensor:
        return self._outer.value(y)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer.gradient(y, sample.second if isinstance(sample, PairSample) else None)

    @property
    def _outer_samples(self) -> int:
        return 1 if self.outer_data is None else self.outer_data.shape[1]

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> PairSample:
        return PairSample(
            draws.integers(f"{purpose}.inner", self.data.shape[1], batch),
            draws.integers(f"{purpose}.outer", self._outer_samples, batch),
        )

    def atoms(self) -> tuple[PairSample, Tensor]:
        return all_pairs(self.data.shape[1], self._outer_samples, self.clients, self.data.device)


@dataclass(frozen=True, eq=False)
class SharedFromFunctions(AbstractFromFunctions, AbstractSharedComposite):
    """(1/K) sum_k h_k(x) + f((1/K) sum_k g_k(x)), g_k and h_k means of `inner` and `extra` over `data[k]`, f `outer`.

    Args:
        inner: (x (dim,), datum) -> (inner_dim,). outer: (y (inner_dim,), None) -> scalar.
        data: float64 `(clients, samples, ...)`; one minibatch serves both inner and extra.
        extra: (x, datum) -> scalar, None for h = 0. The rest as for `LocalFromFunctions`.
    """

    inner_function: Function
    outer_function: Function
    data: Tensor
    extra_function: Function | None = None
    start: Tensor = field(default_factory=lambda: torch.zeros(1, dtype=torch.float64))
    name: str = "user_shared"
    factor: float = 2.0
    budget: Budget = field(default_factory=lambda: Budget(farthest=10.0))
    lower_bound: float | None = None
    clients: int = field(init=False, default=0)
    dim: int = field(init=False, default=0)
    inner_dim: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._set_sizes()

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | ({"no_extra_term"} if self.extra_function is None else set())

    @cached_property
    def _outer(self) -> Averaged:
        return Averaged(self.outer_function, None)

    @cached_property
    def _extra(self) -> Averaged | None:
        return None if self.extra_function is None else Averaged(self.extra_function, self.data)

    def outer(self, y: Tensor) -> Tensor:
        return self._outer.value(y) if y.dim() == 3 else self._outer.value(y.unsqueeze(1))[:, 0]

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer.gradient(y) if y.dim() == 3 else self._outer.gradient(y.unsqueeze(1))[:, 0]

    def extra(self, x: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:-1]) if self._extra is None else self._extra.value(x)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        if self._extra is None:
            return None
        return self._extra.gradient(x, index_of(sample))

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> PairSample:
        index = draws.integers(purpose, self.data.shape[1], batch)
        return PairSample(index, torch.zeros_like(index))

    def atoms(self) -> tuple[PairSample, Tensor]:
        return all_pairs(self.data.shape[1], 1, self.clients, self.data.device)
