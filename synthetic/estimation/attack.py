"""Every certified bound is attacked before it is handed out: at hostile points, and uphill from the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from ...errors import InputError
from ..parts.adversary import Budget, maximise
from .lanczos import stretched_most
from .losses import Losses, Pointwise, row_of
from .search import in_chunks

_LANES, _STEPS, _FARTHEST = 4, (3, 12), 1e9
_EXAMPLES = 8
"""Number of examples of which the largest Hessian is looked for."""
_ROUNDING = 1e-9
"""By how much, relatively, a value in double precision may exceed what it is at most."""


class Stretch:
    """|A(x) v| for unit v, at most ||A(x)||: v is found by Lanczos, and turned by A once with each further call.

    Args:
        products: (x, v) -> A(x) v for symmetric A; v `(points, ..., dim)`. places: what stands between points and dim.
    """

    def __init__(self, products: Callable[[Tensor, Tensor], Tensor], *places: int) -> None:
        self.products, self.places = products, places
        self.v: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self.v is None:
            with torch.no_grad():
                self.v = stretched_most(partial(self.products, x), (len(x), *self.places, x.shape[-1]))
        moved = self.products(x, self.v)
        length = torch.linalg.vector_norm(moved, dim=-1, keepdim=True)
        self.v = torch.where(length > 0, moved / length, self.v).detach()
        return length.view(len(x), -1).amax(-1)


CURVATURES: Mapping[str, Callable[[Losses], Pointwise]] = {
    "local_smoothness": lambda losses: Stretch(losses.products, losses.parts.train.clients),
    "objective_smoothness": lambda losses: Stretch(losses.whole_products),
    "local_sample_smoothness": lambda losses: Stretch(losses.products, losses.parts.train.clients),
}
"""What a certified curvature bounds at every point, in exact numbers no more than that: no estimate alarms anybody."""


def _pointwise(name: str, losses: Losses) -> Pointwise:
    return CURVATURES[name](losses) if name in CURVATURES else partial(row_of(name), losses)


def survive(name: str, value: float, losses: Losses, start: Tensor) -> None:
    """Attack a certified bound at hostile points, and by gradient ascent from the worst of them.

    Raises:
        InputError: a value above the bound was found.
    """
    points, together = hostile(start), losses.together
    if name == "local_sample_smoothness":
        losses = losses.hardest(points, _EXAMPLES)
    values = torch.cat([in_chunks(_pointwise(name, losses), part, together) for part in points.split(together)])
    worst = points[values.argsort(descending=True)[: _LANES - 1]]
    least, most = _STEPS
    budget = Budget(min(_LANES, 1 + together), max(least, min(most, together)), farthest=_FARTHEST)
    function = _pointwise(name, losses)
    attack = maximise(lambda x: function(x).unsqueeze(-1), len(start), False, budget, tuple(worst))
    refuse(name, value, max(float(values.max()), attack.ratio))


def refuse(name: str, value: float, found: float) -> None:
    """Refuse a certified value that was exceeded by more than rounding errors.

    Raises:
        InputError: it was.
    """
    if found > value * (1 + _ROUNDING):
        raise InputError(f"{name}: certified as at most {value:.6g}, and {found:.6g} at a point that was tried")


def hostile(start: Tensor, seed: int = 0) -> Tensor:
    """Points to attack a bound at, `(points, dim)`: the start, 0, and random directions from small to far away."""
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(3, len(start), generator=generator, dtype=torch.float64)
    scales = torch.tensor([1e-2, 1.0, 1e2, 1e4], dtype=torch.float64)
    far = (directions.unsqueeze(1) * scales.view(1, -1, 1)).flatten(0, 1)
    return torch.cat([start.unsqueeze(0), torch.zeros_like(start).unsqueeze(0), far])
