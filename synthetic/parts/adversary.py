"""Gradient ascent on a ratio: the adversary that every certificate has to withstand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

SMALLEST_STEP, LARGEST_STEP = 1e-3, 1e3  # lengths of a pair: below, rounding of the differences shows
_NEAREST = 1e-1  # the ascents start at log-uniform distances from 0, from here to the budget's farthest
_LEARNING_RATE = 0.1
_POLISH = 0.3  # of the distance from 0: radius at which the random search begins
_TINY = 1e-300

Ratio = Callable[..., Tensor]


@dataclass(frozen=True)
class Budget:
    """How hard to try: `lanes` independent ascents of `steps` steps each, started up to `farthest` from 0."""

    lanes: int = 16
    steps: int = 30
    seed: int = 0
    farthest: float = 1e3


@dataclass(frozen=True)
class Attack:
    """The largest ratio found, where, and how many points or pairs were evaluated."""

    ratio: float
    points: tuple[Tensor, ...]
    evaluations: int


class Adam:
    """Adam without torch.optim, whose import alone takes longer than a whole search."""

    _DECAY = (0.9, 0.999)

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters, self.steps = parameters, 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]

    @torch.no_grad()
    def climb(self, gradients: tuple[Tensor | None, ...], rate: float) -> None:
        """One step uphill of about `rate` in each entry; a missing or non-finite gradient counts as zero."""
        self.steps += 1
        first, second = (1 - decay**self.steps for decay in self._DECAY)
        for parameter, gradient, (mean, square) in zip(self.parameters, gradients, self.moments, strict=True):
            gradient = torch.zeros_like(parameter) if gradient is None else gradient.nan_to_num(0.0, 0.0, 0.0)
            mean.lerp_(gradient, 1 - self._DECAY[0])
            square.lerp_(gradient * gradient, 1 - self._DECAY[1])
            parameter += rate * (mean / first) / ((square / second).sqrt() + 1e-12)


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch computes on one thread in here: the tensors are small, so that threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


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
    scale, base, direction, length = _starts(size, budget, generator, hints)
    parameters = [t.requires_grad_() for t in ((base, direction, length) if pair else (base,))]
    ascent = Adam(parameters)
    best = Attack(-math.inf, (), 0)
    for step in range(budget.steps):
        points = _pair(scale, base, direction, length) if pair else (scale * base,)
        found = evaluate(ratio, points)
        best = _better(best, found.detach(), points)
        if found.requires_grad:
            gain = torch.log(found.clamp_min(_TINY)).sum()
            rate = _LEARNING_RATE * (1 - step / budget.steps)  # to rest on a supremum at a kink, not jump over it
            ascent.climb(torch.autograd.grad(gain, parameters, allow_unused=True), rate)
    best = _polished(ratio, best, budget, generator)
    return Attack(best.ratio, best.points, 2 * budget.steps * budget.lanes)


@torch.no_grad()
def _polished(ratio: Ratio, best: Attack, budget: Budget, generator: torch.Generator) -> Attack:
    """Random search about the best points with a shrinking radius: finds suprema at kinks, where gradients jump."""
    for step in range(budget.steps):
        if not best.points:
            return best
        middle, half = torch.stack(best.points).mean(0), (best.points[-1] - best.points[0]) / 2
        radius = _POLISH * (1 - step / budget.steps) ** 3 * (0.1 + float(torch.linalg.vector_norm(middle)))
        noise = torch.randn(budget.lanes, len(middle), generator=generator, dtype=torch.float64) / len(middle) ** 0.5
        factor = torch.exp(torch.randn(budget.lanes, 1, generator=generator, dtype=torch.float64))
        half_length = float(torch.linalg.vector_norm(half))
        if half_length > 0:
            factor = factor.clamp(SMALLEST_STEP / (2 * half_length), LARGEST_STEP / (2 * half_length))
        centre, reach = middle + radius * noise, half * factor
        points = (centre - reach, centre + reach) if len(best.points) == 2 else (centre,)
        best = _better(best, evaluate(ratio, points), points)
    return best


def _starts(
    size: int, budget: Budget, generator: torch.Generator, hints: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    lanes, nearest = budget.lanes, min(_NEAREST, budget.farthest)
    exponent = torch.rand(lanes, 1, generator=generator, dtype=torch.float64)
    scale = nearest * (budget.farthest / nearest) ** exponent
    base = torch.randn(lanes, size, generator=generator, dtype=torch.float64) / math.sqrt(size)
    special = [point for point in _special_points(size, hints) if point.norm() <= budget.farthest][:lanes]
    for lane, point in enumerate(special):
        scale[lane], base[lane] = 1.0, point
    direction = torch.randn(lanes, size, generator=generator, dtype=torch.float64)
    direction[: len(special) // 2] = 1.0
    reach = torch.rand(lanes, 1, generator=generator, dtype=torch.float64)
    reach[: len(special)] = 0.1  # short: a supremum of difference quotients is one of derivatives
    longest = min(LARGEST_STEP, budget.farthest)
    return scale, base, direction, math.log(SMALLEST_STEP) + reach * math.log(longest / SMALLEST_STEP)


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
