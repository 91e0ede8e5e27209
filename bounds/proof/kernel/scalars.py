"""Numbers that a derivation speaks about: inner products, values of objectives, named quantities and their sums over t."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .algebra import Algebra
from .signomial import CLOCK, ONE, ZERO, Coefficient, ProofError, Signomial, moves, signomial
from .terms import Term, shifted


class Atom:
    """Base of the scalars that are not numbers."""


@dataclass(frozen=True)
class One(Atom):
    """The number 1."""

    def __repr__(self) -> str:
        return "1"


@dataclass(frozen=True, repr=False)
class Inner(Atom):
    """<left, right>: the mean over outcomes and indices."""

    left: Term
    right: Term

    def __repr__(self) -> str:
        return f"||{self.left!r}||^2" if self.left == self.right else f"<{self.left!r}, {self.right!r}>"


@dataclass(frozen=True, repr=False)
class Value(Atom):
    """The mean value of an objective at a random point."""

    objective: str
    point: Term

    def __repr__(self) -> str:
        return f"E {self.objective}({self.point!r})"


@dataclass(frozen=True, repr=False)
class Named(Atom):
    """A declared quantity at step t + shift."""

    name: str
    shift: int = 0

    def __repr__(self) -> str:
        return self.name + (f"[{self.shift:+d}]" if self.shift else "")


@dataclass(frozen=True, repr=False)
class Total(Atom):
    """The sum of a declared quantity over 0 <= t < T, each times the power of what the clock shows; with `communications` over the
    steps that end with one."""

    name: str
    communications: bool = False
    power: int = 0

    def __repr__(self) -> str:
        weight = {0: "", 1: f"{CLOCK.name} "}.get(self.power, f"{CLOCK.name}^{self.power} ")
        return f"sum_{'comm' if self.communications else 't'} {weight}{self.name}"


@dataclass(frozen=True, repr=False)
class At(Atom):
    """A declared quantity at step 0 + offset, or at step T + offset."""

    name: str
    end: bool = False
    offset: int = 0

    def __repr__(self) -> str:
        place = (f"T{self.offset:+d}" if self.offset else "T") if self.end else str(self.offset)
        return f"{self.name}({place})"


@dataclass(frozen=True, repr=False)
class Scalar:
    """A linear combination of scalars with exact coefficients."""

    parts: tuple[tuple[Signomial, Atom], ...] = ()

    def __add__(self, other: Scalar | Coefficient) -> Scalar:
        return Scalar((*self.parts, *scalar(other).parts))

    __radd__ = __add__

    def __neg__(self) -> Scalar:
        return -1 * self

    def __sub__(self, other: Scalar | Coefficient) -> Scalar:
        return self + -scalar(other)

    def __rsub__(self, other: Scalar | Coefficient) -> Scalar:
        return scalar(other) - self

    def __mul__(self, factor: Coefficient) -> Scalar:
        return Scalar(tuple((signomial(factor) * c, atom) for c, atom in self.parts))

    __rmul__ = __mul__

    def __truediv__(self, factor: Coefficient) -> Scalar:
        return (1 / signomial(factor)) * self

    def __le__(self, other: Scalar | Coefficient) -> Claimed:
        return Claimed(self, scalar(other))

    def __repr__(self) -> str:
        return self.text()

    def text(self, of: Callable[[Atom], str] = repr) -> str:
        """The combination in words, with those of its atoms."""
        texts = []
        for coefficient, atom in self.parts:
            number = repr(coefficient)
            if isinstance(atom, One):
                texts.append(number)
            else:
                texts.append(
                    number[:-1] + of(atom)
                    if number in ("1", "-1")
                    else (f"({number})" if " " in number else number) + f" {of(atom)}"
                )
        return (" + ".join(texts) or "0").replace("+ -", "- ")


@dataclass(frozen=True)
class Claimed:
    """left <= right as somebody wrote it: no fact, and neither true nor false."""

    left: Scalar
    right: Scalar

    def __bool__(self) -> bool:
        raise ProofError("whether one scalar is at most another one is to be proved")


def along_a_run(atom: Atom) -> str:
    """An atom in words, where its value is not averaged over outcomes."""
    return f"{atom.objective}({atom.point!r})" if isinstance(atom, Value) else repr(atom)


def scalar(value: Scalar | Atom | Coefficient) -> Scalar:
    """A number, an atom or a combination as a combination."""
    if isinstance(value, Scalar):
        return value
    return Scalar(((ONE, value),)) if isinstance(value, Atom) else Scalar(((signomial(value), One()),))


def sq(term: Term) -> Scalar:
    """The squared norm, a mean over outcomes and indices."""
    return scalar(Inner(term, term))


def dot(left: Term, right: Term) -> Scalar:
    return scalar(Inner(left, right))


def value(objective: str, point: Term) -> Scalar:
    return scalar(Value(objective, point))


def quantity(name: str, shift: int = 0) -> Scalar:
    return scalar(Named(name, shift))


def total(name: str, *, communications: bool = False) -> Scalar:
    """The sum of a quantity over t < T, or over the steps that end with a communication."""
    return scalar(Total(name, communications))


def weighted_total(name: str, weight: Signomial) -> Scalar:
    """The sum of a quantity over t < T with a weight, a sum of whole powers of the clock.

    Raises:
        ProofError: the weight is none.
    """
    parts = Scalar(())
    for monomial, coefficient in weight.terms:
        power = dict(monomial).get(CLOCK, 0)
        rest = Signomial([(tuple((p, e) for p, e in monomial if p != CLOCK), coefficient)])
        if power != int(power) or moves(rest):
            raise ProofError(f"the weight {weight!r} is no sum of whole powers of the clock")
        parts = parts + rest * scalar(Total(name, power=int(power)))
    return parts


def at(name: str, offset: int = 0, *, end: bool = False) -> Scalar:
    """A quantity at step 0 + offset, or T + offset."""
    return scalar(At(name, end, offset))


Form = Mapping[Atom, Signomial]


def form(algebra: Algebra, given: Scalar) -> dict[Atom, Signomial]:
    """The normal form: distinct atoms with their coefficients, inner products opened and projected."""
    total: dict[Atom, Signomial] = {}
    for coefficient, atom in given.parts:
        for inner, factor in _opened(algebra, atom):
            total[inner] = total.get(inner, ZERO) + coefficient * factor
    return {atom: c for atom, c in total.items() if c}


def _opened(algebra: Algebra, atom: Atom) -> list[tuple[Atom, Signomial]]:
    match atom:
        case Inner(left, right):
            return [(Inner(a, b), c) for (a, b), c in algebra.inner(left, right).items()]
        case Value(objective, point):
            algebra.setting.objective(objective)
            return [(Value(objective, algebra.normal(point)), ONE)]
    return [(atom, ONE)]


def later(atom: Atom, by: int) -> Atom:
    """The scalar `by` steps later."""
    match atom:
        case Inner(left, right):
            return Inner(shifted(left, by), shifted(right, by))
        case Value(objective, point):
            return Value(objective, shifted(point, by))
        case Named(name, shift):
            return Named(name, shift + by)
        case One():
            return atom
    raise ProofError(f"{atom!r} has no step")
