"""The region that an estimate is about: a run and what lies around it, as a law that points are drawn from.

A point of the region is a point of the run, each as likely; a direction, uniform; a distance, uniform in [0, radius]. If n
independent points of a law have values of at most v, then with confidence c at most a share 1 - (1 - c)^(1/n) of the law has
more: nothing is assumed of the values (Wilks, Ann. Math. Stat. 12, 1941).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError


@dataclass(frozen=True)
class Region:
    """A run `(points, dim)` and the radius around it."""

    run: Tensor
    radius: float

    def __post_init__(self) -> None:
        if self.run.dim() != 2 or self.run.dtype != torch.float64 or not bool(self.run.isfinite().all()):
            raise InputError(
                f"along: wanted finite float64 points (points, dim), got {self.run.dtype} {tuple(self.run.shape)}"
            )
        if not self.radius >= 0:
            raise InputError(f"radius: wanted at least 0, got {self.radius}")

    def draw(self, count: int, seed: int) -> Tensor:
        """Independent points of the law, `(count, dim)`."""
        generator = torch.Generator().manual_seed(seed)
        at = torch.randint(len(self.run), (count,), generator=generator)
        return self.run[at] + self._steps(count, generator)

    def about(self, point: Tensor, count: int, seed: int) -> Tensor:
        """Points about one of the region's, moved by up to a third of the radius, for further search."""
        return point + self._steps(count, torch.Generator().manual_seed(seed)) / 3

    def _steps(self, count: int, generator: torch.Generator) -> Tensor:
        direction = torch.randn(count, self.run.shape[1], generator=generator, dtype=torch.float64)
        distance = self.radius * torch.rand(count, 1, generator=generator, dtype=torch.float64)
        return distance * direction / torch.linalg.vector_norm(direction, dim=-1, keepdim=True)

    def text(self) -> str:
        return f"within {self.radius:.3g} of {len(self.run)} points of the run"


def share_above(count: int, confidence: float) -> float:
    """The share of the law that may have more than the largest of `count` values, at this confidence."""
    return float(1 - (1 - confidence) ** (1 / count))
