"""One estimated constant, several of them, and the search of the largest pointwise value over a region, curvature of the whole for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ...figures import Axis, Curve, Panel, Plot, panel_plot
from ...notebook import ShownAsTable
from ..certificate import Certificate, Formula, as_point
from ..conformance.inequalities import WHOLE
from .lanczos import spectral_norm
from .losses import FAILURE, LANCZOS_STEPS, Losses, Pointwise
from .region import Region, share_above

POINTS = 59
"""The fewest whose largest value leaves at most 5% of a law above it, at 95% confidence."""
CONFIDENCE = 0.95
_NEARLY = 1e-3
_APART = 1e-6
"""Least distance of two points, relative to their size, at which gradients differ by more than their rounding errors."""
LEAST_ABOUT = 4
"""The fewest points that are tried about the best, also where fewer random ones are asked for."""


@dataclass(frozen=True)
class Estimate:
    """One constant.

    Attributes:
        kind: "estimated"; "upper" for what is proved, which holds everywhere or follows from a bound of the loss.
        method: how it was found, in a sentence. where: the region, or where it was attained.
        confidence: of the statement that at most a share `above` of the region's law has more; None for what is proved.
        growth: (points tried, largest so far): if it still grows at the end, search longer.
    """

    quantity: str
    value: float
    kind: str
    method: str
    where: str
    confidence: float | None = None
    above: float | None = None
    growth: tuple[tuple[int, float], ...] = ()
    point: tuple[float, ...] = field(default=(), repr=False)

    @property
    def certificate(self) -> Certificate:
        """As a problem declares it; an estimated one leads to no support."""
        return Certificate(self.quantity, self.value, self.kind, self.said, self.where)

    @property
    def formula(self) -> Formula:
        """The value under its own name, for rules that make others of it."""
        return Formula(self.value, self.quantity)

    @property
    def said(self) -> str:
        """The method with what is promised."""
        if self.confidence is None:
            return self.method
        grown = ", ".join(f"{value:.4g} after {count}" for count, value in self.growth)
        growth = f" Growth with the search: {grown} points." if grown else ""
        return f"No proof. {self.method}; {self.how_sure}.{growth}"

    @property
    def how_sure(self) -> str:
        """What is promised of an estimate, in a few words; how it was found where that promises no share."""
        if self.confidence is None:
            return self.method
        return f"at {self.confidence:.0%} confidence at most a share {self.above:.2g} of the region has more"


@dataclass(frozen=True, repr=False)
class Estimates(ShownAsTable, Mapping[str, Estimate]):
    """The estimates by quantity, the region, and the problem that carries them as its constants."""

    found: Mapping[str, Estimate]
    region: Region
    problem: Any

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.found:
            raise InputError(f"{name[:40]}: not estimated for this form; wanted one of {' '.join(self.found)}")
        return self.found[name]

    def __contains__(self, name: object) -> bool:
        return name in self.found

    def get(self, name: str, default: Any = None) -> Any:
        return self.found.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def title(self) -> str:
        return f"{len(self)} constants of {self.problem.name}, {self.region.text()}: " + ", ".join(
            f"{name} {one.value:.4g} ({one.kind})" for name, one in self.found.items()
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        found = [(name, one.value, one.kind, one.how_sure, one.where) for name, one in self.found.items()]
        return ("quantity", "value", "kind", "how sure", "where"), found

    def plot(self) -> Plot:
        """The largest value so far over the points that were tried, of each constant that was searched for.

        Raises:
            InputError: every constant is proved, so that nothing was searched for.
        """
        curves = [
            Curve(name, [float(count) for count, _ in one.growth], [value for _, value in one.growth])
            for name, one in self.found.items()
            if one.growth
        ]
        if not curves:
            raise InputError(f"plot: every constant of {self.problem.name} is proved; wanted one that was searched for")
        panel = Panel(curves, Axis("points tried", "1"), Axis("largest value so far", "of the constant"), x_log=True)
        return panel_plot([panel], title=f"{self.problem.name}: growth of the estimates")

    def __str__(self) -> str:
        return "\n".join(f"{name:<32} {one.value:<12.6g} {one.kind}: {one.said}" for name, one in self.found.items())


class _NotFinite(ArithmeticError):
    """A value of a search is infinite or not a number."""


@dataclass(frozen=True)
class Search:
    """The points, and how the largest value over them is sought."""

    region: Region
    points: int
    seed: int
    say: Callable[[str], None]
    only: frozenset[str] | None
    together: int

    def wants(self, *names: str) -> bool:
        return self.only is None or not self.only.isdisjoint(names)

    def largest(self, name: str, function: Pointwise, what: str, count: int | None = None) -> Estimate:
        """The largest of the pointwise values: random points first, then the run, then about the best.

        Raises:
            InputError: one of them is not finite.
        """
        try:
            return self._largest(name, function, what, count)
        except (torch.linalg.LinAlgError, _NotFinite) as error:
            raise InputError(
                f"{name}: is not finite at a point of the region; wanted a smaller radius, another run, or numbers with which no "
                "exponential is too large for a double"
            ) from error

    def beside_pairs(self, one: Estimate, between: Callable[[Tensor, Tensor], Tensor]) -> Estimate:
        """A Lipschitz constant of gradients that Hessians at points gave, beside how far gradients at two points are apart.

        Two random points of the region each, and neighbours on the run. A loss with kinks has a small Hessian at nearly every point.
        """
        x, y = self.region.draw(2 * self.points, self.seed + 2).chunk(2)
        x, y = torch.cat([x, self.region.run[1:]]), torch.cat([y, self.region.run[:-1]])
        apart = torch.linalg.vector_norm(x - y, dim=-1) > _APART * (1 + torch.linalg.vector_norm(x, dim=-1))
        x, y = x[apart], y[apart]
        with torch.no_grad():
            pairs = zip(x.split(self.together), y.split(self.together), strict=True)
            largest = max((float(between(*pair).max()) for pair in pairs if len(pair[0])), default=0.0)
        if largest <= one.value * (1 + _NEARLY):
            return one
        said = (
            f"{one.method}, gave {one.value:.4g}; gradients at two points are apart by {largest:.4g} of their distance"
        )
        return replace(one, value=largest, method=f"{said}: a loss with kinks has no such constant near them")

    def _largest(self, name: str, function: Pointwise, what: str, count: int | None) -> Estimate:
        count = min(count or self.points, self.points)
        self.say(name)
        random = self.region.draw(count, self.seed)
        run = self.region.run[:: max(1, len(self.region.run) // max(2, count // 6))]
        values = in_chunks(function, random, self.together)
        growth = [
            (share, float(values[:share].max())) for share in sorted({max(1, count // 4), max(1, count // 2), count})
        ]
        tried, everything = random, values
        for more in (run, None):
            best = tried[int(everything.argmax())]
            extra = self.region.about(best, max(LEAST_ABOUT, count // 6), self.seed + 1) if more is None else more
            tried, everything = (
                torch.cat([tried, extra]),
                torch.cat([everything, in_chunks(function, extra, self.together)]),
            )
            growth.append((len(tried), float(everything.max())))
        place = int(everything.argmax())
        if not bool(everything.isfinite().all()):
            raise _NotFinite
        return Estimate(
            name, float(everything.max()), "estimated", what, self.region.text(), CONFIDENCE, share_above(count, CONFIDENCE),
            tuple(growth), as_point(tried[place]),
        )  # fmt: skip


def in_chunks(function: Pointwise, x: Tensor, together: int) -> Tensor:
    with torch.no_grad():
        return torch.cat([function(part) for part in x.split(together)])


def proved(name: str, value: float, why: str, where: str = "everywhere") -> Estimate:
    return Estimate(name, value, "upper", why, where)


def beside_rule(one: Estimate, rule: float, why: str) -> Estimate:
    """The estimate as it was measured; where a rule of estimated parts gives less, this is said: one of them may be too small."""
    if one.value <= rule * (1 + _NEARLY):
        return one
    return replace(one, method=f"{one.method}; {why} gives only {rule:.4g}, so that a part may be estimated too low")


FEW = 14
"""Number of points where every example's Hessian is needed."""
HESSIAN_CHANGE = "Norm of the change of a client's Hessian over a short step, turned to where it changes most; perhaps not the largest"


def smoothness_of(problem: Any) -> Pointwise:
    """||Hessian of the objective||, its products by central differences of the exact gradient."""

    def norm(x: Tensor) -> Tensor:
        step = 1e-5 * (1 + torch.linalg.vector_norm(x, dim=-1, keepdim=True))

        def product(v: Tensor) -> Tensor:
            return (problem.gradient(x + step * v) - problem.gradient(x - step * v)) / (2 * step)

        return spectral_norm(product, x.shape, LANCZOS_STEPS, FAILURE)[0]

    return norm


def steepness_of(problem: Any) -> Pointwise:
    """||gradient of the objective||, as the inequality of `gradient_cap` has it."""
    return lambda x: WHOLE["gradient_cap"].ratio(problem, x).squeeze(-1)


def hessian_change(losses: Losses, search: Search) -> Pointwise:
    """How fast the Hessian of a client changes, over short steps about the points."""
    steps = search.region.draw(2 * max(search.points, LEAST_ABOUT), search.seed + 7)
    unit = 1e-3 * max(search.region.radius, 1e-6)

    def change(x: Tensor) -> Tensor:
        away = steps[: len(x)] - steps[len(x) : 2 * len(x)] + 1e-12
        return losses.steepest_hessian_change(x, unit * away / torch.linalg.vector_norm(away, dim=-1, keepdim=True))

    return change
