"""Gradient ascent on a ratio: the adversary that every certificate has to withstand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

SMALLEST_STEP, LARGEST_STEP = 1e-3, 1e3  # lengths of a pair: below, rounding of the differences shows
_SCALES = (1e-1, 1e3)  # distances from 0 at which the ascent starts, log-uniform
_LEARNING_RATE = 0.1
_TINY = 1e-300

Ratio = Callable[..., Tensor]


@dataclass(frozen=True)
class Budget:
    """How hard to try: `lanes` independent ascents of `steps` steps each."""

    lanes: int = 16
    steps: int = 30
    seed: int = 0


@dataclass(frozen=True)
class Attack:
    """The largest ratio found, where, and how many points or pairs were evaluated."""

    ratio: float
    points: tuple[Tensor, ...]
    evaluations: int


class _Adam:
    """Adam without torch.optim, whose import alone takes longer than a whole search."""

    _DECAY = (0.9, 0.999)

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters, self.steps = parameters, 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]

    @torch.no_grad()
    def climb(self, gradients: tuple[Tensor | None, ...]) -> None:
        """One step uphill; a missing or non-finite gradient counts as zero."""
        self.steps += 1
        first, second = (1 - decay**self.steps for decay in self._DECAY)
        for parameter, gradient, (mean, square) in zip(self.parameters, gradients, self.moments, strict=True):
            gradient = torch.zeros_like(parameter) if gradient is None else gradient.nan_to_num(0.0, 0.0, 0.0)
            mean.lerp_(gradient, 1 - self._DECAY[0])
            square.lerp_(gradient * gradient, 1 - self._DECAY[1])
            parameter += _LEARNING_RATE * (mean / first) / ((square / second).sqrt() + 1e-12)


def evaluate(ratio: Ratio, points: tuple[Tensor, ...]) -> Tensor:
    """The ratio at `points`, each `(lanes, size)`, maximised over the clients: `(lanes,)`."""
    return ratio(*points).flatten(1).amax(-1)


def maximise(ratio: Ratio, size: int, pair: bool, budget: Budget, hints: tuple[Tensor, ...] = ()) -> Attack:
    """Ascend `ratio` from many starts by Adam on autograd gradients.

    Args:
        ratio: of one point, or of two points, each `(lanes, size)`; returns `(lanes, ...)`.
        size: length of a point.
        pair: whether the ratio takes two points.
        budget: number of starts and of steps.
        hints: points `(size,)` to start from besides 0, the diagonal, the axes and random ones.
    """
    generator = torch.Generator().manual_seed(budget.seed)
    scale, base, direction, length = _starts(size, budget.lanes, generator, hints)
    parameters = [t.requires_grad_() for t in ((base, direction, length) if pair else (base,))]
    ascent = _Adam(parameters)
    best = Attack(-math.inf, (), 0)
    for _ in range(budget.steps):
        points = _pair(scale, base, direction, length) if pair else (scale * base,)
        found = evaluate(ratio, points)
        best = _better(best, found.detach(), points)
        if found.requires_grad:
            gain = torch.log(found.clamp_min(_TINY)).sum()
            ascent.climb(torch.autograd.grad(gain, parameters, allow_unused=True))
    return Attack(best.ratio, best.points, budget.steps * budget.lanes)


def _starts(size: int, lanes: int, generator: torch.Generator,
            hints: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    exponent = torch.rand(lanes, 1, generator=generator, dtype=torch.float64)
    scale = _SCALES[0] * (_SCALES[1] / _SCALES[0]) ** exponent
    base = torch.randn(lanes, size, generator=generator, dtype=torch.float64) / math.sqrt(size)
    special = list(_special_points(size, hints))[:lanes]
    for lane, point in enumerate(special):
        scale[lane], base[lane] = 1.0, point
    direction = torch.randn(lanes, size, generator=generator, dtype=torch.float64)
    direction[: len(special) // 2] = 1.0
    reach = torch.rand(lanes, 1, generator=generator, dtype=torch.float64)
    return scale, base, direction, math.log(SMALLEST_STEP) + reach * math.log(LARGEST_STEP / SMALLEST_STEP)


def _special_points(size: int, hints: tuple[Tensor, ...]) -> Iterator[Tensor]:
    yield torch.zeros(size, dtype=torch.float64)
    yield from hints
    for multiple in (1.0, -1.0, 3.0, 10.0, -100.0):
        yield torch.full((size,), multiple / math.sqrt(size), dtype=torch.float64)
    yield torch.eye(size, dtype=torch.float64)[0]


def _pair(scale: Tensor, base: Tensor, direction: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    half = 0.5 * length.clamp(math.log(SMALLEST_STEP), math.log(LARGEST_STEP)).exp()
    step = half * direction / torch.linalg.vector_norm(direction, dim=-1, keepdim=True).clamp_min(1e-12)
    return scale * base - step, scale * base + step


def _better(best: Attack, found: Tensor, points: tuple[Tensor, ...]) -> Attack:
    lane = int(found.argmax())
    if not found[lane] > best.ratio:
        return best
    return Attack(float(found[lane]), tuple(point[lane].detach().clone() for point in points), best.evaluations)
