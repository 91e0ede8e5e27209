"""What the conditional forms need estimated: from their oracles at every outcome of both samples, or from the losses of tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from ...bounds.language.quantities import QUANTITIES
from ..certificate import Certificate
from ..conformance.conditional import ROLES
from ..conformance.inequalities import norm
from ..kinds import AbstractConditional, InnerSample, OuterSample
from ..models.conditional import InvariantModel, TasksModel
from ..parts.patterns import equal_weights
from .attack import hostile, refuse
from .glm import certified_views
from .lanczos import spectral_norm
from .losses import FAILURE, LANCZOS_STEPS, Losses, Pointwise
from .search import (
    FEW,
    HESSIAN_CHANGE,
    Estimate,
    Search,
    hessian_change,
    in_chunks,
    proved,
    smoothness_of,
    steepness_of,
)

_MOST_NUMBERS = 1 << 22
"""Most numbers in the Jacobians at all outcomes of the points that are evaluated together: 32 MiB."""
_STEP = 1e-5
_FEW = 6
"""Number of points where the second derivatives of every outcome are needed."""


_BATCHES = (2, 3, 4) * 8
"""Sizes of the batches of inner draws at whose means f_xi is looked at, besides single draws and the mean of all."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Pointwise constants over every outcome xi and eta: functions of points `(points, dim)` to `(points,)`.

    Args:
        symmetric: whether the inner Jacobians are; then their norms come from Lanczos, else row by row.
    """

    problem: AbstractConditional
    symmetric: bool = False

    @cached_property
    def _all(self) -> tuple[OuterSample, InnerSample]:
        """Every pair of outcomes as an outer batch with one inner draw each, `(1, clients, outcomes * m)`."""
        outer, _ = self.problem.outer_atoms()
        inner, _ = self.problem.inner_atoms(outer)
        outcome = outer.outcome.unsqueeze(-1).expand_as(inner.eta).flatten(2)
        return OuterSample(outcome), InnerSample(inner.eta.flatten(2).unsqueeze(-1))

    @cached_property
    def _inner_outcomes(self) -> int:
        return len(self.problem.inner_atoms(self.problem.outer_atoms()[0])[1])

    @property
    def together(self) -> int:
        """How many points are evaluated at once."""
        outcomes = self._all[0].outcome.numel()
        return max(1, min(64, _MOST_NUMBERS // (outcomes * self.problem.inner_dim * self.problem.dim)))

    def _by_outcome(self, values: Tensor) -> Tensor:
        """`(points, clients, outcomes * m, ...)` as `(points, clients, outcomes, m, ...)`."""
        return values.unflatten(2, (-1, self._inner_outcomes))

    def _values(self, x: Tensor) -> Tensor:
        """g_eta(x, xi), `(points, clients, outcomes, m, inner_dim)`."""
        return self._by_outcome(self.problem.inner(self.problem.to_clients(x), *self._all))

    def _stretches(self, problem: Any, of_atom: Any, at: Tensor) -> tuple[Tensor, Tensor]:
        """||Jacobian of g_eta(., xi)|| by Lanczos, `(m, points, clients, outcomes)`, and the probabilities."""
        outer, inner = self._all
        shape = (len(at), *outer.outcome.shape[1:], problem.dim)

        def product(v: Tensor) -> Tensor:
            return problem.inner_vjp(at, v, outer, inner)

        norms = self._by_outcome(spectral_norm(product, shape, LANCZOS_STEPS, FAILURE)[0])
        return norms.movedim(-1, 0), equal_weights(self._inner_outcomes, "cpu")

    def attained(self, quantity: str, x: Tensor) -> Tensor:
        """What the row of a quantity of the inner samples bounds, as the inequality of the conformance suite has it."""
        (form,) = QUANTITIES[quantity].bounds
        role = ROLES[form.function]
        if self.symmetric and role.is_matrix:
            role = replace(role, each=self._stretches)
        return role.attained(form, self.problem, self.problem.to_clients(x)).amax(-1)

    def sample_smoothness(self, x: Tensor) -> Tensor:
        """The largest root of the sum over the components of g_eta(., xi) of the squared norms of their Hessians.

        That is at least the Lipschitz constant of the Jacobian there. Hessian products are differences of gradients.
        """
        outer, inner = self._all
        count, lanes = outer.outcome.shape[-1], len(x)

        def beside(sample: Tensor) -> Tensor:  # every outcome as a run of its own
            return sample[0].movedim(1, 0).unsqueeze(2).repeat(lanes, *[1] * (sample.dim() - 1))

        of = OuterSample(beside(outer.outcome)), InnerSample(beside(inner.eta))
        at = self.problem.to_clients(x.repeat_interleave(count, 0))
        step = _STEP * (1 + torch.linalg.vector_norm(at, dim=-1, keepdim=True))
        squares = torch.zeros(at.shape[:-1], dtype=torch.float64)
        for axis in torch.eye(self.problem.inner_dim, dtype=torch.float64):
            v = axis.expand(*at.shape[:-1], 1, -1)

            def slope(point: Tensor, v: Tensor = v) -> Tensor:
                return self.problem.inner_vjp(point, v, *of).squeeze(2)

            def product(along: Tensor, slope: Any = slope) -> Tensor:
                return (slope(at + step * along) - slope(at - step * along)) / (2 * step)

            squares += spectral_norm(product, at.shape, LANCZOS_STEPS, FAILURE)[0].square()
        return squares.sqrt().view(lanes, -1).amax(-1)

    # --- of f_xi, at the values that means of draws give ---------------------------------------------------------------------

    def _visited(self, x: Tensor) -> tuple[Tensor, OuterSample]:
        """y `(points, clients, batch, inner_dim)` and the outcome of each: of every single draw, of all, and of a few batches of 2 to 4."""
        values, (outer, _) = self._values(x), self._all
        batches = [values[:, :, :, drawn].mean(3, keepdim=True) for drawn in self._batches]
        everything = torch.cat([values, values.mean(3, keepdim=True), *batches], dim=3)
        outcome = self._by_outcome(outer.outcome)[..., :1].expand(1, *everything.shape[1:4])
        return everything.flatten(2, 3), OuterSample(outcome.flatten(2))

    @cached_property
    def _batches(self) -> list[Tensor]:
        """Places of the draws of each batch, with repetition."""
        generator = torch.Generator().manual_seed(0)
        return [torch.randint(self._inner_outcomes, (size,), generator=generator) for size in _BATCHES]

    def _longest(self, x: Tensor) -> Tensor:
        """The longest gradient of each f_xi, `(points, clients, outcomes)`."""
        slopes = norm(self.problem.outer_gradient(*self._visited(x)))
        return slopes.unflatten(2, (-1, self._inner_outcomes + 1 + len(self._batches))).amax(-1)

    def outer_slope(self, x: Tensor) -> Tensor:
        """The longest gradient of an f_xi."""
        return self._longest(x).flatten(1).amax(-1)

    def outer_mean_square(self, x: Tensor) -> Tensor:
        """The largest root mean square over xi of the longest gradient of f_xi."""
        return self._longest(x).square().mean(-1).amax(-1).sqrt()

    def outer_curvature(self, x: Tensor) -> Tensor:
        """The largest norm of the Hessian of an f_xi, by Lanczos on differences of its gradient."""
        y, outer = self._visited(x)
        step = _STEP * (1 + torch.linalg.vector_norm(y, dim=-1, keepdim=True))

        def product(v: Tensor) -> Tensor:
            ends = (self.problem.outer_gradient(y + sign * step * v, outer) for sign in (1, -1))
            return (next(ends) - next(ends)) / (2 * step)

        return spectral_norm(product, y.shape, LANCZOS_STEPS, FAILURE)[0].flatten(1).amax(-1)

    def least_value(self, x: Tensor) -> Tensor:
        """The least f_xi(E g_eta(x, xi))."""
        outer, _ = self.problem.outer_atoms()
        inner = self.problem.inner(self.problem.to_clients(x), outer)
        return self.problem.outer_value(inner, outer).flatten(1).amin(-1)


def conditional(problem: AbstractConditional, search: Search) -> Iterator[Estimate]:
    """Of a form whose inner values are a few numbers."""
    of = Outcomes(problem)
    known = {each.quantity: each for each in certified_views(problem)} if isinstance(problem, InvariantModel) else {}
    _survive(known, of)
    yield from (proved(name, float(each.value), each.argument) for name, each in known.items() if search.wants(name))
    yield from _first_order(of, search, known)
    if search.wants("inner_sample_smoothness") and "inner_sample_smoothness" not in known:
        yield replace(search, together=of.together).largest(
            "inner_sample_smoothness",
            of.sample_smoothness,
            "Root of the squared norms of the Hessians of an inner sample's components, by Lanczos",
            _FEW,
        )


def tasks(problem: TasksModel, search: Search) -> Iterator[Estimate]:
    """Of MAML over tasks, whose inner Jacobian is I - lam times the Hessian of an example that tunes."""
    yield from _first_order(Outcomes(problem, symmetric=True), search)
    if search.wants("inner_sample_smoothness"):
        losses = Losses(problem.tuning())
        here = replace(search, together=losses.together)
        change = here.largest("inner_sample_smoothness", hessian_change(losses, search), HESSIAN_CHANGE, FEW)
        yield replace(
            change, value=problem.lam * change.value, method=f"lam times: {change.method}",
            growth=tuple((count, problem.lam * value) for count, value in change.growth),
        )  # fmt: skip


def _survive(known: Mapping[str, Certificate], of: Outcomes) -> None:
    """Try what is certified, of the values that one derivative gives exactly, at hostile points.

    Raises:
        InputError: a value above a certificate was found.
    """
    exact: dict[str, Pointwise] = {
        "outer_sample_lipschitz": of.outer_slope,
        "outer_mean_square_lipschitz": of.outer_mean_square,
        **{name: partial(of.attained, name) for name in ("inner_jacobian_mean_square", "inner_sample_lipschitz")},
        "gradient_cap": steepness_of(of.problem),
    }
    points = hostile(of.problem.initial_point)
    for name in exact.keys() & known.keys():
        refuse(name, float(known[name].value), float(in_chunks(exact[name], points, of.together).max()))


_OF_INNER = {
    "inner_value_noise": "Deviation of an inner value over eta, from all outcomes",
    "inner_jacobian_mean_square": "Root mean square over eta of the Jacobian's norm",
    "inner_sample_lipschitz": "Norm of the Jacobian of an inner sample",
}


def _first_order(of: Outcomes, search: Search, known: Collection[str] = ()) -> Iterator[Estimate]:
    """What needs one derivative of the inner samples, and is not known."""
    table: tuple[tuple[str, Pointwise, str], ...] = (
        ("outer_sample_lipschitz", of.outer_slope, "Length of the gradient of an outer function at inner values"),
        ("outer_mean_square_lipschitz", of.outer_mean_square, "Root mean square over xi of that length"),
        ("outer_sample_smoothness", of.outer_curvature, "Norm of the Hessian of an outer function at inner values"),
        *((name, partial(of.attained, name), what) for name, what in _OF_INNER.items()),
        (
            "objective_smoothness",
            smoothness_of(of.problem),
            "Norm of the Hessian of the objective, by Lanczos on differences of its gradient",
        ),
        ("gradient_cap", steepness_of(of.problem), "Length of the gradient of the objective"),
    )
    here = replace(search, together=of.together)
    yield from (
        here.largest(name, function, what) for name, function, what in table if search.wants(name) and name not in known
    )
