"""Pointwise constants of mean_i u(l_ki(x)) over whole client data: what their suprema over a region are estimated from.

Every function takes points `(points, dim)` and returns `(points,)`, the largest over the clients. Whole data, no minibatch:
noise and heterogeneity at a point are exact. What the rows of the vocabulary say of gradients and values is read off them, as the
inequalities of the conformance suite are (`attained`); eigenvalues come from Lanczos with its own probability of failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor
from torch.func import grad, vmap

from ...bounds.language.bounding import Form
from ...bounds.language.quantities import QUANTITIES
from ..conformance.inequalities import Role
from ..models.base import ModelParts
from ..models.data import ClientData
from ..models.flat import pulled
from .lanczos import spectral_norm, stretched_most

LANCZOS_STEPS = 20
FAILURE = 1e-4
"""Probability with which one eigenvalue may be missed: 50 points and 20 clients fail with probability at most 0.1 in all."""

EXACT, _PROBES = 512, 64
"""Most parameters for which the Frobenius norm is taken column by column; number of random vectors for more."""
_TURNS, _LEAST = 3, 1e-300
"""How often the direction of a step is turned to where the Hessian changes most; the least length that is divided by."""
_MOST_NUMBERS = 1 << 22
"""Most numbers in the gradients of all examples at the points that are evaluated together: 32 MiB."""

Pointwise = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Losses:
    """u of the losses of a model on client data.

    Args:
        parts: the model and its data. transform: u, elementwise on losses.
    """

    parts: ModelParts
    transform: Callable[[Tensor], Tensor] = lambda losses: losses

    @property
    def _rows(self) -> tuple[Tensor, ...]:
        return self.parts.train.rows(None)

    @cached_property
    def _inside(self) -> Tensor:
        return self.parts.train.weights > 0

    def to_clients(self, x: Tensor) -> Tensor:
        """The same points for every client, `(points, clients, dim)`."""
        return x.unsqueeze(1).expand(-1, self.parts.train.clients, -1)

    def _mean(self, x: Tensor, inputs: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        return (weights * self.transform(self.parts.flat.examples(x, inputs, targets))).sum()

    def _one(self, x: Tensor, given: Tensor, target: Tensor) -> Tensor:
        return self.transform(self.parts.flat.examples(x, given.unsqueeze(0), target.unsqueeze(0)))[0]

    # --- values ----------------------------------------------------------------------------------------------------------

    def values(self, x: Tensor) -> Tensor:
        """u of every example, `(points, clients, most)`; filling repeats a client's first example."""
        inputs, targets, _ = self._rows

        def lane(at: Tensor, given: Tensor, target: Tensor) -> Tensor:
            return self.transform(self.parts.flat.examples(at, given, target))

        return self.parts.flat.lanes(lane, self.to_clients(x), data=(inputs, targets))

    def largest_value(self, x: Tensor) -> Tensor:
        return self.values(x).flatten(1).amax(-1)

    def smallest_value(self, x: Tensor) -> Tensor:
        return self.values(x).flatten(1).amin(-1)

    # --- gradients ---------------------------------------------------------------------------------------------------------

    @property
    def together(self) -> int:
        """How many points are evaluated at once: as many as the gradients of all their examples leave room for."""
        return max(1, min(64, _MOST_NUMBERS // (self._inside.numel() * self.parts.flat.dim)))

    def examples(self, x: Tensor) -> Tensor:
        """Gradients of u of every example, `(points, clients, most, dim)`."""
        inputs, targets, _ = self._rows
        each = vmap(vmap(vmap(grad(self._one), in_dims=(None, 0, 0)), in_dims=(None, 0, 0)), in_dims=(0, None, None))
        return each(x, inputs[0], targets[0])

    def mean_square_stretch(self, x: Tensor) -> Tensor:
        """The largest root of an eigenvalue of mean_i grad u_i grad u_i^T: how far the samples move in mean square."""

        scaled = self.examples(x) * self.parts.train.weights.sqrt().unsqueeze(-1)
        gram = scaled @ scaled.transpose(-1, -2)
        return torch.linalg.eigvalsh(gram)[..., -1].clamp_min(0.0).amax(-1).sqrt()

    def client_gradients(self, x: Tensor) -> Tensor:
        """Gradients of the clients' means, `(points, clients, dim)`."""
        return self.parts.flat.lanes(grad(self._mean), self.to_clients(x), data=self._rows)

    # --- curvature -----------------------------------------------------------------------------------------------------------

    @property
    def _product(self) -> Callable[..., Tensor]:
        return pulled(grad(self._mean))

    def products(self, x: Tensor, v: Tensor) -> Tensor:
        """Hessians of the clients' means times v, `(points, clients, dim)`."""
        return self.parts.flat.lanes(self._product, self.to_clients(x), v, data=self._rows)

    def whole_products(self, x: Tensor, v: Tensor) -> Tensor:
        """Hessian of the mean over the clients times v, `(points, dim)`."""
        return self.products(x, v.unsqueeze(1).expand(-1, self.parts.train.clients, -1)).mean(1)

    @property
    def _example_product(self) -> Callable[..., Tensor]:
        return pulled(grad(self._one))

    def _example_products(self, x: Tensor, v: Tensor) -> Tensor:
        """Hessians of the examples times v, `(points, clients, most, dim)`."""
        inputs, targets, _ = self._rows
        inside = vmap(vmap(self._example_product, in_dims=(None, 0, 0, 0)), in_dims=(None, 0, 0, 0))
        return vmap(inside, in_dims=(0, 0, None, None))(x, v, inputs[0], targets[0])

    def smoothness(self, x: Tensor) -> Tensor:
        """max_k ||Hessian of the mean of client k||."""
        shape = (len(x), self.parts.train.clients, x.shape[-1])
        return spectral_norm(lambda v: self.products(x, v), shape, LANCZOS_STEPS, FAILURE)[0].amax(-1)

    def whole_smoothness(self, x: Tensor) -> Tensor:
        """||Hessian of the mean over the clients||."""
        return spectral_norm(lambda v: self.whole_products(x, v), x.shape, LANCZOS_STEPS, FAILURE)[0]

    def mean_square_hessian_heterogeneity(self, x: Tensor) -> Tensor:
        """Root of mean_k ||H_k - H||^2, in spectral norms, of the Hessians H_k of the clients' means and the mean H of these.

        Each client has a vector of its own, which every Hessian multiplies: the square of the number of clients in products.
        """

        def product(v: Tensor) -> Tensor:
            means = (self.whole_products(x, own) for own in v.unbind(1))
            return self.products(x, v) - torch.stack([*means], dim=1)

        shape = (len(x), self.parts.train.clients, x.shape[-1])
        return spectral_norm(product, shape, LANCZOS_STEPS, FAILURE)[0].square().mean(-1).sqrt()

    def hardest(self, x: Tensor, count: int) -> Losses:
        """The `count` examples whose Hessians at a point of x stretch their gradients most, each a client of its own."""
        found = torch.zeros_like(self.parts.train.weights)
        for part in x.split(self.together):
            along = self.examples(part)
            moved = torch.linalg.vector_norm(self._example_products(part, along), dim=-1)
            length = torch.linalg.vector_norm(along, dim=-1).clamp_min(_LEAST)
            found = torch.maximum(found, (moved / length).amax(0))
        chosen = torch.where(self._inside, found, -1.0).flatten().topk(min(count, int(self._inside.sum()))).indices
        inputs, targets = (rows[0].flatten(0, 1)[chosen].unsqueeze(1) for rows in self._rows[:2])
        data = ClientData(inputs, targets, torch.ones(len(chosen), dtype=torch.int64))
        return replace(self, parts=replace(self.parts, train=data))

    def hessian_change(self, x: Tensor, step: Tensor) -> Tensor:
        """max_k ||Hessian at x + step - Hessian at x|| / |step|, step `(points, dim)`."""
        shape = (len(x), self.parts.train.clients, x.shape[-1])

        def product(v: Tensor) -> Tensor:
            return self.products(x + step, v) - self.products(x, v)

        size = torch.linalg.vector_norm(step, dim=-1)
        return spectral_norm(product, shape, LANCZOS_STEPS, FAILURE)[0].amax(-1) / size

    def steepest_hessian_change(self, x: Tensor, step: Tensor) -> Tensor:
        """The largest of `hessian_change` over steps of that length that are turned to where the Hessian changes most.

        With v the vector that the change of the Hessian stretches most, the gradient of v^T H v is the next direction: a random one
        sees a share of about 1/sqrt(dim) of a change that lies in one direction. x, step: `(points, dim)`.
        """
        size = torch.linalg.vector_norm(step, dim=-1).view(-1, 1, 1)
        here, best = self.to_clients(x), self.hessian_change(x, step)
        away = step.unsqueeze(1).expand_as(here)
        for _ in range(_TURNS):
            stretched = stretched_most(partial(self._change, here, away), here.shape)
            slope = self.parts.flat.lanes(self._curvature_slope, here, stretched, data=self._rows)
            length = torch.linalg.vector_norm(slope, dim=-1, keepdim=True)
            away = torch.where(length > 0, size * slope / length.clamp_min(_LEAST), away)
            moved = self._change(here, away, stretched)
            best = torch.maximum(best, ((moved * stretched).sum(-1).abs() / size.squeeze(-1)).amax(-1))
        return best

    def _change(self, here: Tensor, away: Tensor, v: Tensor) -> Tensor:
        """The change of each client's Hessian between `here` and `here + away`, times v; all `(points, clients, dim)`."""
        ends = (self.parts.flat.lanes(self._product, at, v, data=self._rows) for at in (here + away, here))
        return next(ends) - next(ends)

    def _curvature_slope(self, at: Tensor, along: Tensor, *rows: Tensor) -> Tensor:
        """The gradient of v^T H v."""
        return grad(lambda p: (self._product(p, along, *rows) * along).sum())(at)

    def sample_smoothness(self, x: Tensor) -> Tensor:
        """The largest Hessian norm of one example."""
        shape = (len(x), *self._inside.shape, x.shape[-1])
        norms, _ = spectral_norm(lambda v: self._example_products(x, v), shape, LANCZOS_STEPS, FAILURE)
        return norms[:, self._inside].amax(-1)

    def hessian_noise(self, x: Tensor) -> Tensor:
        """max_k root mean_i ||Hessian_i - mean Hessian||_F^2: exact up to `EXACT` parameters, else by random vectors.

        E |A z|^2 is the square of the norm for a standard normal z.
        """
        inputs, targets, weights = self._rows
        dim = x.shape[-1]
        random = torch.randn(_PROBES, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        probes = torch.eye(dim, dtype=torch.float64) * dim**0.5 if dim <= EXACT else random

        each = vmap(vmap(self._example_product, in_dims=(None, None, 0, 0)), in_dims=(None, None, 0, 0))
        found = []
        for point in x:
            squares = []
            for probe in probes:
                moved = each(point, probe, inputs[0], targets[0])
                apart = moved - (moved * weights[0].unsqueeze(-1)).sum(1, keepdim=True)
                squares.append((apart.square().sum(-1) * weights[0]).sum(-1))
            found.append(torch.stack(squares).mean(0).amax().sqrt())
        return torch.stack(found)


def _gradient(losses: Losses, x: Tensor, sample: Any) -> Tensor:
    """Of every client's mean `(points, clients, dim)`, or of every example; x is one point for all clients."""
    at = x.flatten(1, -2)[:, 0]
    return losses.client_gradients(at) if sample is None else losses.examples(at)


def _value(losses: Losses, x: Tensor, sample: Any) -> Tensor:
    values = losses.values(x.flatten(1, -2)[:, 0])
    return (values if sample else (values * losses.parts.train.weights).sum(-1)).unsqueeze(-1)


def _whole_gradient(losses: Losses, x: Tensor, sample: Any) -> Tensor:
    return _gradient(losses, x, None).mean(1, keepdim=True)


def _each_example(losses: Losses, of_atom: Callable[..., Tensor], *points: Tensor) -> tuple[Tensor, Tensor]:
    """`of_atom` of every example, `(most, points, clients)`, and the share of each in its client's mean."""
    found = of_atom(*(point.unsqueeze(2) for point in points), "every example")
    return found.movedim(-1, 0), losses.parts.train.weights.T.unsqueeze(1)


GRADIENT = Role(_gradient, each=_each_example)
ROLES: Mapping[str, Role] = {
    "inner_value": Role(_value, each=_each_example),
    "objective_gradient": Role(_whole_gradient),
    **dict.fromkeys(("local_gradient", "inner_jacobian", "extra_gradient"), GRADIENT),
}
"""The functions of problems that these losses are."""


def attained(form: Form, losses: Losses, *points: Tensor) -> Tensor:
    """What the losses attain of a bound at points `(points, dim)`, between two of them of a Lipschitz constant: `(points,)`."""
    at = [losses.to_clients(point) for point in points]
    return ROLES[form.function].attained(form, losses, *at).amax(-1)


def row_of(quantity: str) -> Callable[..., Tensor]:
    """What the row of a quantity bounds, as a function of losses and points."""
    (form,) = QUANTITIES[quantity].bounds
    return partial(attained, form)
