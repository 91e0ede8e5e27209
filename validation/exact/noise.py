"""Numbers that are affine in fair signs, and expectations of what is quadratic in them: second moments in exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product
from math import prod
from typing import Any

from torch import Tensor

from ...bounds.language.bounding import joint
from .curve import Curve
from .draws import SignDraws
from .interval import Bends, Interval
from .tensor import ExactTensor, InexactError, laid_out

Q = Fraction
_BLURRED = -(10**9)
_FRESH = count(_BLURRED - 1, -1)
"""Indices that no number had before: no two products are one number."""


@dataclass(frozen=True)
class Mean:
    """The expectation of a random number. Expectations add up and scale; they do not multiply."""

    value: Fraction

    def __add__(self, other: Any) -> Mean:
        return Mean(self.value + expectation(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Mean:
        return Mean(self.value - expectation(other))

    def __rsub__(self, other: Any) -> Mean:
        return Mean(expectation(other) - self.value)

    def __neg__(self) -> Mean:
        return Mean(-self.value)

    def __mul__(self, other: Any) -> Mean:
        return Mean(self.value * _number(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Mean:
        return Mean(self.value / _number(other))

    def __pow__(self, power: int) -> Mean:
        raise InexactError("a power of an expectation is no expectation")


@dataclass(frozen=True)
class Noisy:
    """centre + sum of parts[j] s_j with independent fair signs s_j; those below 0 stand for any number from -1 to 1.

    Of these, the ones below `_BLURRED` stand for what is known of a product of random numbers: no more than its size.
    """

    centre: Fraction
    parts: Mapping[int, Fraction]

    @staticmethod
    def sign(index: int) -> Noisy:
        return Noisy(Q(0), {index: Q(1)})

    @staticmethod
    def around(centre: Fraction, reach: Fraction, index: int = -1) -> Noisy:
        """Every number that is at most `reach` from a centre."""
        return Noisy(centre, {index: reach} if reach else {})

    def rate(self, index: int = -1) -> Fraction:
        """What it changes by with one sign."""
        return self.parts.get(index, Q(0))

    @staticmethod
    def blurred(a: Noisy, b: Noisy) -> Noisy:
        """The product of two random numbers: its affine part, and a rest of which only the size is known."""
        rest = {next(_FRESH): a.reach * b.reach}
        made: Noisy = Noisy(-a.centre * b.centre, rest) + a._scaled(b.centre) + b._scaled(a.centre)
        return made

    @property
    def is_blurred(self) -> bool:
        """Whether of a part nothing but its size is known."""
        return any(index < _BLURRED for index in self.parts)

    @property
    def is_free(self) -> bool:
        """Whether it depends on what is no sign."""
        return any(index < 0 for index in self.parts)

    def _other(self, other: Any) -> Noisy:
        return other if isinstance(other, Noisy) else Noisy(_number(other), {})

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Mean):
            return other + self
        b, parts = self._other(other), dict(self.parts)
        for index, part in b.parts.items():
            parts[index] = parts.get(index, Q(0)) + part
        return Noisy(self.centre + b.centre, parts)

    __radd__ = __add__

    def __neg__(self) -> Noisy:
        return self._scaled(Q(-1))

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _scaled(self, by: Fraction) -> Noisy:
        if by == 0:
            return Noisy(Q(0), {})
        return Noisy(by * self.centre, {index: by * part for index, part in self.parts.items()})

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Noisy):
            return self._scaled(_number(other))
        if not (self.parts and other.parts):
            return self._scaled(other.centre) if self.parts else other._scaled(self.centre)
        if self.is_free or other.is_free:
            raise Bends("a product of two numbers that change with the state")
        common = sum((part * other.parts[j] for j, part in self.parts.items() if j in other.parts), Q(0))
        return Mean(self.centre * other.centre + common)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Noisy:
        return self._scaled(1 / _number(other))

    @property
    def reach(self) -> Fraction:
        """How far it can be from its centre."""
        return sum(map(abs, self.parts.values()), Q(0))

    def _rate(self, curve: Curve) -> Fraction:
        low, high = curve.rates_inside(self.centre - self.reach, self.centre + self.reach)
        if low != high:
            raise Bends("the noise reaches over a kink")
        return low

    def at(self, curve: Curve) -> Noisy:
        """The curve at it: one piece covers every value, or there are only two, and whatever has two is affine in the sign."""
        return self._through(curve, lambda: self._rate(curve))

    def antiderivative(self, curve: Curve) -> Noisy:
        """The curve's integral at it: the curve is constant over every value, or there are only two."""

        def level() -> Fraction:
            low, high = curve.range(self.centre - self.reach, self.centre + self.reach)
            if low != high:
                raise Bends("the noise reaches over a slope of the Hessian")
            return low

        return self._through(curve.integral, level)

    def _through(self, function: Callable[[Fraction], Fraction], rate: Callable[[], Fraction]) -> Noisy:
        """A function at it; `rate` is the one that it has at every value, and is asked for where there are more than two."""
        if not self.reach:
            return Noisy(function(self.centre), {})
        index, part = next(iter(self.parts.items()))
        if len(self.parts) == 1 and index >= 0:
            up, down = function(self.centre + part), function(self.centre - part)
            return Noisy((up + down) / 2, {} if up == down else {index: (up - down) / 2})
        return Noisy(function(self.centre), self._scaled(rate()).parts)

    def integral(self, curve: Curve) -> Any:
        """The expectation of the curve's integral; the integral itself where it depends on what is no sign."""
        if self.is_free:
            return self.antiderivative(curve)
        square = sum((part**2 for part in self.parts.values()), Q(0))
        rate = self._rate(curve) if square else Q(0)
        return Mean(curve.integral(self.centre) + rate * square / 2)


def _number(value: Any) -> Fraction:
    if isinstance(value, (int, Fraction)):
        return Q(value)
    if isinstance(value, Interval):
        raise Bends("a random number meets an enclosure")
    raise InexactError(f"{type(value).__name__}: wanted a number; a product of random numbers is no second moment")


def expectation(value: Any) -> Fraction:
    """Of a number, of one that is affine in signs, or of an expectation."""
    if isinstance(value, Mean):
        return value.value
    if isinstance(value, Noisy) and value.is_free:
        raise Bends("the expectation of a number of which only the size is known")
    return value.centre if isinstance(value, Noisy) else _number(value)


class AffineSigns(SignDraws):
    """Draws for one run whose numbers are affine in the signs that it asks for."""

    refusal = InexactError

    def __init__(self, clients: int) -> None:
        super().__init__(clients, 1)

    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> ExactTensor:
        return ExactTensor.of(laid_out([Noisy.sign(first + i) for i in range(size)], (1, self.clients, *tail)))


class GroupSigns(SignDraws):
    """Draws of clients in large groups of equal ones with independent noise, of each of which two members run, with opposite noise.

    A member's sign is the mean of its group, which both members share, plus what it is off, at most 2 and opposite for the two. Where a
    run is affine, the average over a group depends on the means alone, and what one member is off is what every member may be. A mean
    of signs is no sign: it is written as half the sum of two signs, an off-set as the sum of two, so that nothing takes it for one.
    The mean of m signs has the variance 1/m, and what stands for it 1/2: see `mean_share`.

    Args:
        groups: clients before each is doubled; the two members of a group lie beside each other.
    """

    refusal = InexactError
    PER_SIGN = 4
    """Columns of a group for each sign: two for its mean, two for what a member is off."""

    def __init__(self, groups: int) -> None:
        super().__init__(2 * groups, 1, drawn=self.PER_SIGN * groups)

    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> ExactTensor:
        entries, each, half = [], prod(tail), Q(1, 2)
        for group, side, place in product(range(self.clients // 2), (1, -1), range(each)):
            a = first + self.PER_SIGN * (group * each + place)
            entries.append(Noisy(Q(0), {a: half, a + 1: half, a + 2: Q(side), a + 3: Q(side)}))
        return ExactTensor.of(laid_out(entries, (1, self.clients, *tail)))

    @classmethod
    def is_offset(cls, column: int) -> bool:
        """Whether a column is of what a member is off its group."""
        return column % cls.PER_SIGN >= cls.PER_SIGN // 2

    @staticmethod
    def mean_share(members: int) -> Fraction:
        """The variance of the mean of so many signs, in units of that of the two signs that stand for it."""
        return Q(2, members)


class AllPaths(SignDraws):
    """Draws for every path of a run with so many signs, `2**signs` lanes; asking for more is an error.

    While `is_counting` one lane gets ones, and `columns.count` is how many signs it asked for.
    """

    refusal = InexactError

    def __init__(self, signs: int, clients: int) -> None:
        super().__init__(clients, 2**signs)
        self.count, self.is_counting = signs, False

    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> ExactTensor:
        if self.is_counting:
            return ExactTensor.of(laid_out([Q(1)] * size, (1, self.clients, *tail)))
        if first + size > self.count:
            raise InexactError(f"a run asks for more than {self.count} signs")
        entries = [Q(1 if (lane >> (first + i)) & 1 else -1) for lane in range(self.runs) for i in range(size)]
        return ExactTensor.of(laid_out(entries, (self.runs, self.clients, *tail)))


class BatchMeans(SignDraws):
    """Draws of one step in which the mean of a batch of n signs is one number: 1 or -1 with probability 1/(2 n) each, else 0.

    Mean and variance are those of the mean of the batch, whatever n is; so are the second moments of all that is affine in each.
    `weights` has the probability of each lane, one for every outcome.

    Args:
        sizes: of the batches in the order in which they are drawn. Without them one lane gets ones, and `sizes` is what it asked for.
        chosen: the clients that take part, where it is not everybody.
    """

    refusal = InexactError

    def __init__(self, clients: int, sizes: Sequence[int] | None = None, chosen: Tensor | None = None) -> None:
        sides = ((n, [(Q(1, 2 * n), 1), (Q(1, 2 * n), -1)]) for n in sizes or ())
        lanes = joint([*law, (1 - Q(1, n), 0)] if n > 1 else law for n, law in sides)
        self.outcomes, self.weights = [values for _, values in lanes], [Q(weight) for weight, _ in lanes]
        self.sizes, self.is_counting, self.chosen = [*(sizes or ())], sizes is None, chosen
        super().__init__(clients, len(self.outcomes))

    def signs(self, purpose: str, *tail: int) -> ExactTensor:
        if prod(tail[:-1]) != 1:
            raise InexactError(f"{purpose}: batches of {tail} within each other are more than one mean")
        first, known = self.columns.of((self.step, purpose, *tail), self.clients), len(self.sizes)
        if self.is_counting and first == known:
            self.sizes += [tail[-1] if tail else 1] * self.clients
        return self.taken(first, self.clients, (1,) * len(tail))

    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> ExactTensor:
        if self.is_counting:
            return ExactTensor.of(laid_out([Q(1)] * size, (1, self.clients, *tail)))
        entries = [Q(value) for lane in self.outcomes for value in lane[first : first + size]]
        return ExactTensor.of(laid_out(entries, (self.runs, self.clients, *tail)))

    def subset(self, purpose: str, size: int) -> Tensor:
        if self.chosen is None or int(self.chosen.sum()) != size:
            return super().subset(purpose, size)
        return self.chosen.expand(self.runs, -1)

    def opposite(self, lane: int, column: int) -> tuple[int, int] | None:
        """The lanes that differ from one with a mean of 0 in a column by 1 and -1 there; None where it is no 0."""
        values = self.outcomes[lane]
        if values[column] != 0:
            return None
        up, down = ((*values[:column], side, *values[column + 1 :]) for side in (1, -1))
        return self.outcomes.index(up), self.outcomes.index(down)
