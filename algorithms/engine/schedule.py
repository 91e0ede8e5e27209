"""What a step size may be: a number, one number for each grid point, or a schedule that declines in t."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

Scalar = float | Tensor  # one number, or a 1-d float64 tensor with one number per grid point

_NUMBER = r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
_FORMULA = re.compile(rf"{_NUMBER}/(sqrt)?\((?:t|floor\(t/(\d+)\))\+{_NUMBER}\)(?:\*\*\((\d+)/([1-9]\d*)\))?")
_HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Schedule:
    """a / (t + t0)^power at the local step t = 0, 1, ...; with `every` = K, floor(t / K) in the place of t.

    A method takes one where a hyperparameter is annotated `Scalar | Schedule`, and evaluates it at the step that it makes.

    Args:
        a: a finite number >= 0, or a 1-d float64 tensor of such, one per grid point; in the units of the step size.
        t0: a finite number > 0, or such a tensor.
        power: of t + t0, in (0, 1]: 1/2 for the square root.
        every: the value changes each so many steps: the period of a method gives a schedule in rounds.

    Raises:
        ValueError: a value outside of these ranges.

    Example:
        >>> [Schedule(a=0.5, t0=4.0).at(t) for t in (0, 1, 4)]
        [0.125, 0.1, 0.0625]
        >>> str(Schedule.of("0.5/sqrt(t + 4)"))
        '0.5/sqrt(t + 4.0)'
    """

    a: Scalar
    t0: Scalar = 1.0
    power: Fraction = Fraction(1)
    every: int = 1

    def __post_init__(self) -> None:
        if not is_scalar(self.a):
            raise ValueError(
                f"schedule: a must be a finite number >= 0, or a 1-d float64 tensor of such; got {self.a!r}"
            )
        if not (is_scalar(self.t0) and _is_positive(self.t0)):
            raise ValueError(
                f"schedule: t0 must be a finite number > 0, or a 1-d float64 tensor of such; got {self.t0!r}"
            )
        if not (isinstance(self.power, Fraction) and 0 < self.power <= 1):
            raise ValueError(f"schedule: power must be a Fraction in (0, 1]; got {self.power!r}")
        if type(self.every) is not int or self.every < 1:
            raise ValueError(f"schedule: every must be an integer >= 1; got {self.every!r}")

    @staticmethod
    def of(text: str) -> Schedule:
        """The schedule of a formula in t and numbers; `str` of a schedule with one grid point is such a text.

        Raises:
            ValueError: another formula.
        """
        found = _FORMULA.fullmatch(text.replace(" ", ""))
        if found is None or (found[2] and found[5]):
            raise ValueError(
                f"schedule: wanted A/(t + T0), A/sqrt(t + T0) or A/(t + T0)**(1/3) with numbers A and T0, floor(t/K) for t if it "
                f"changes each K steps; got {text[:60]!r}"
            )
        a, root, every, t0, above, below = found.groups()
        power = _HALF if root else Fraction(int(above or 1), int(below or 1))
        return Schedule(float(a), float(t0), power, int(every or 1))

    def at(self, t: int) -> Scalar:
        """The value at step t >= 0."""
        shifted = t // self.every + self.t0
        if self.power == 1:
            return self.a / shifted
        if self.power == _HALF:
            return self.a / (shifted.sqrt() if isinstance(shifted, Tensor) else math.sqrt(shifted))
        exponent = float(self.power)
        return self.a / (shifted.pow(exponent) if isinstance(shifted, Tensor) else shifted**exponent)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What differs over the grid points."""
        return tuple(v for v in (self.a, self.t0) if isinstance(v, Tensor))

    def over(self, lay_out: Callable[[Tensor], Tensor]) -> Schedule:
        """The same schedule with each of its tensors laid out otherwise."""
        a, t0 = (lay_out(v) if isinstance(v, Tensor) else v for v in (self.a, self.t0))
        return replace(self, a=a, t0=t0)

    def plain(self) -> str | list[str]:
        """The formula, or one for each grid point: what JSON can hold."""
        size = next((v.numel() for v in self.tensors), None)
        columns = (v.flatten().tolist() if isinstance(v, Tensor) else [v] * (size or 1) for v in (self.a, self.t0))
        time = "t" if self.every == 1 else f"floor(t/{self.every})"
        root, power = ("sqrt", "") if self.power == _HALF else ("", "" if self.power == 1 else f"**({self.power})")
        formulas = [f"{a!r}/{root}({time} + {t0!r}){power}" for a, t0 in zip(*columns, strict=True)]
        return formulas[0] if size is None else formulas

    def __str__(self) -> str:
        return str(self.plain())


def at(size: Scalar | Schedule, t: int) -> Scalar:
    """The size at step t: eta_t."""
    return size.at(t) if isinstance(size, Schedule) else size


def largest(size: Scalar | Schedule) -> Scalar:
    """The largest size of a run: that of its first step."""
    return at(size, 0)


def is_scalar(value: Any) -> bool:
    """Whether a value is a finite number >= 0, or a float64 tensor of such over grid points or runs."""
    if isinstance(value, Tensor):
        is_grid = value.dtype == torch.float64 and value.dim() in (1, 3) and value.numel() > 0
        return is_grid and bool(torch.isfinite(value).all() and (value >= 0).all())
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0


def _is_positive(value: Scalar) -> bool:
    return bool((value > 0).all()) if isinstance(value, Tensor) else value > 0
