"""Certified constants: what a certificate of one quantity of the vocabulary has to say.

The names and their meanings are those of `bounds/language/quantities.py`; a certificate of anything else is refused. A constant that
comes from others by a formula is a `Formula`: the number and the text of it are made together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..bounds.language.quantities import quantity

CERTIFICATE_KINDS = ("exact", "upper", "estimated")
MINIMUM_EXACT_WITNESS = 0.99  # what "exact" promises: stated points attain at least this fraction
EVERYWHERE = "all of R^d"
_BITS = 34
ROUNDING = 1e-12
"""Relative error of a number that is computed from data, such as a sum: far more than a few thousand operations make."""


def rounded_up(size: float) -> float:
    """A size computed from data, rounded up to 34 bits, at least by 1e-12 of it: rounding errors are covered.

    Singular values differ in their last bits between processes and machines; on this grid they hardly ever do.
    """
    mantissa, exponent = math.frexp(size * (1 + ROUNDING))
    return math.ldexp(math.ceil(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def difference_above(start: float, least: float) -> float:
    """How far a computed value is above another one, rounded up: the rounding errors of both are covered, also where they nearly agree."""
    return rounded_up(start - least + ROUNDING * (abs(start) + abs(least)))


_SUM, QUOTIENT, _PRODUCT, WORDS, _NAME = range(5)
"""How tightly the text of a formula holds together; a power does as tightly as several words."""


@dataclass(frozen=True)
class Formula:
    """A number with the formula that it comes from: arithmetic makes both at once, so that they cannot differ.

    Args:
        value: as doubles give it.
        text: in names that a reader knows, such as those of other constants; a product is written side by side.
        binds: how tightly the text holds together: a sum least, a name most.

    Example:
        >>> slope, noise = Formula(3.0, "slope"), Formula(0.5, "noise")
        >>> (2 * (slope + noise**2)).text
        '2 (slope + noise^2)'
    """

    value: float
    text: str
    binds: int = _NAME

    def __float__(self) -> float:
        return self.value

    def _inside(self, binds: int) -> str:
        """The text as a part of an operation."""
        return self.text if self.binds >= binds else f"({self.text})"

    def __add__(self, other: Formula | float) -> Formula:
        b = as_formula(other)
        return Formula(self.value + b.value, f"{self.text} + {b.text}", _SUM)

    def __radd__(self, other: float) -> Formula:
        return as_formula(other) + self

    def __sub__(self, other: Formula | float) -> Formula:
        b = as_formula(other)
        return Formula(self.value - b.value, f"{self.text} - {b._inside(QUOTIENT)}", _SUM)

    def __mul__(self, other: Formula | float) -> Formula:
        b = as_formula(other)
        if "1" in (self.text, b.text):
            return self if b.text == "1" else b
        return Formula(self.value * b.value, f"{self._inside(_PRODUCT)} {b._inside(_PRODUCT)}", _PRODUCT)

    def __rmul__(self, other: float) -> Formula:
        return as_formula(other) * self

    def __truediv__(self, other: Formula | float) -> Formula:
        b = as_formula(other)
        return Formula(self.value / b.value, f"{self._inside(_PRODUCT)} / {b._inside(WORDS)}", QUOTIENT)

    def __pow__(self, power: int) -> Formula:
        if power in (0, 1):
            return self if power else Formula(1.0, "1")
        return Formula(self.value**power, f"{self._inside(_NAME)}^{power}", WORDS)


Number = TypeVar("Number", float, Formula)


def as_formula(number: Formula | float) -> Formula:
    """A number as the formula that is nothing but it."""
    return number if isinstance(number, Formula) else Formula(float(number), repr(float(number)).removesuffix(".0"))


def named(part: Any, *names: str) -> list[Formula]:
    """Parameters of a part under their names."""
    return [Formula(float(getattr(part, name)), name) for name in names]


def root(square: Formula) -> Formula:
    """Its square root."""
    return Formula(math.sqrt(square.value), f"sqrt({square.text})")


def hypotenuse(one: Number, other: Number) -> Number:
    """The root of the sum of their squares."""
    if isinstance(one, Formula):
        return Formula(math.hypot(one.value, as_formula(other).value), f"sqrt({(one**2 + other**2).text})")
    return math.hypot(one, other)


def largest(*numbers: Formula) -> Formula:
    """The largest of them."""
    return Formula(max(one.value for one in numbers), f"max({', '.join(one.text for one in numbers)})")


@dataclass(frozen=True)
class Certificate:
    """A constant together with the reason to believe it.

    Args:
        quantity: the name of a constant of the vocabulary.
        value: the constant itself, never its square.
        kind: `exact` (the supremum), `upper` (proved, perhaps loose) or `estimated` (no proof, never supports).
        argument: one sentence that proves it.
        domain: where it holds.
        witness: the fraction of `value` that `points` attain, if known.
        points: that point or pair of points, each of length `dim` or `inner_dim`; the same one for every client.

    Raises:
        ValueError: for an unknown quantity or kind, a negative or non-finite value, or an `exact` one without witness.
    """

    quantity: str
    value: Fraction | float
    kind: str
    argument: str
    domain: str = EVERYWHERE
    witness: float | None = None
    points: tuple[tuple[float, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if quantity(self.quantity).role != "constant":
            raise ValueError(f"certificate of {self.quantity}: only constants of a problem are certified")
        if not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"certificate of {self.quantity}: value must be finite and at least 0, got {self.value}")
        if self.kind not in CERTIFICATE_KINDS:
            raise ValueError(f"certificate of {self.quantity}: kind must be in {CERTIFICATE_KINDS}, got {self.kind!r}")
        if not self.argument.strip():
            raise ValueError(f"certificate of {self.quantity}: the argument is missing")
        if self.witness is not None and not 0 <= self.witness <= 1:
            raise ValueError(f"certificate of {self.quantity}: witness must be in [0, 1], got {self.witness}")
        lacks_witness = self.witness is None or self.witness < MINIMUM_EXACT_WITNESS or not self.points
        if self.kind == "exact" and self.value > 0 and lacks_witness:
            raise ValueError(
                f"certificate of {self.quantity}: exact needs points that attain at least "
                f"{MINIMUM_EXACT_WITNESS} of the value, got witness {self.witness}"
            )

    @property
    def formula(self) -> Formula:
        """The value under its own name, for formulas of other constants."""
        return Formula(float(self.value), self.quantity)


Points = tuple[tuple[float, ...], ...]
Value = Fraction | float | Formula


def said(value: Value, argument: str) -> tuple[Fraction | float, str]:
    """A value with what is said of it: the formula that it comes from, if it comes from one, and the argument."""
    return (value.value, f"{value.text}. {argument}".strip()) if isinstance(value, Formula) else (value, argument)


def upper(quantity: str, value: Value, argument: str = "", domain: str = EVERYWHERE) -> Certificate:
    """What is proved, and perhaps loose; a formula may be argument enough."""
    number, argument = said(value, argument)
    return Certificate(quantity, number, "upper", argument, domain)


def witnessed(quantity: str, value: Value, argument: str, point: Tensor, found: float) -> Certificate:
    """What is proved, with what was found of it at a point, but for rounding."""
    number, argument = said(value, argument)
    share = min(1.0, found / float(number)) * (1 - ROUNDING)
    return Certificate(quantity, number, "upper", argument, witness=share, points=(as_point(point),))


def exact(
    quantity: str, value: Value, argument: str, points: Points = (), attains: float = 0.0, domain: str = EVERYWHERE
) -> Certificate:
    """The supremum, of which `points` attain the share `attains`, all of it where none is given; 0 needs no points."""
    number, argument = said(value, argument)
    return Certificate(quantity, number, "exact", argument, domain, attains or (1.0 if points else None), points)


def nearly(quantity: str, value: Value, argument: str, points: Points, domain: str = EVERYWHERE) -> Certificate:
    """The supremum, of which these points attain all but a ten thousandth: a pair near where it is, or a point far away."""
    return exact(quantity, value, argument, points, attains=0.9999, domain=domain)


def attained(quantity: str, value: Value, argument: str, *points: tuple[float, ...]) -> Certificate:
    """The supremum, which this point or pair of points attains but for rounding."""
    return exact(quantity, value, argument, points, attains=1 - 1e-12)


def by_quantity(*groups: Iterable[Certificate]) -> dict[str, Certificate]:
    """Certificates, in groups, under the names of what they certify, as a problem declares them."""
    return {certificate.quantity: certificate for group in groups for certificate in group}


def as_point(values: Tensor) -> tuple[float, ...]:
    """A tensor `(n,)` as the tuple that a certificate stores."""
    return tuple(float(v) for v in values.to(torch.float64).cpu())


def on_diagonal(size: int, length: float) -> tuple[float, ...]:
    """The point with equal coordinates at this distance from 0, or at its negative on the other side."""
    return as_point(torch.full((size,), length / math.sqrt(size), dtype=torch.float64))


def pair_along(direction: Tensor, reach: float) -> Points:
    """The two points so many times a direction `(n,)` away from 0."""
    return as_point(-reach * direction), as_point(reach * direction)
