"""Random vectors as data: what a derivation writes, before anything is simplified.

A term is a vector in L^2(Omega x index sets; H): it may depend on the outcome and on indices such as the client. Time is
symbolic: shift 0 is step t, shift 1 is step t + 1. A linear operator is a term too; it acts on vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .known import Averaged, Known, When
from .signomial import Coefficient, Signomial, signomial


def remembered(kind: type) -> type:
    """Hash and text of a nested immutable object are computed once."""
    for name in ("__hash__", "__repr__"):
        setattr(kind, name, _once(getattr(kind, name), f"_{name}"))
    return kind


def _once(function: Callable[[Any], Any], slot: str) -> Callable[[Any], Any]:
    def recall(self: Any) -> Any:
        if slot not in self.__dict__:
            object.__setattr__(self, slot, function(self))
        return self.__dict__[slot]

    return recall


class Term:
    """Base of all terms; adds the notation of linear algebra."""

    def __add__(self, other: Term) -> Sum:
        return Sum((*_parts(self), *_parts(other)))

    def __neg__(self) -> Sum:
        return Sum(tuple((-c, term) for c, term in _parts(self)))

    def __sub__(self, other: Term) -> Sum:
        return self + -other

    def __rmul__(self, factor: Coefficient) -> Sum:
        return Sum(tuple((signomial(factor) * c, term) for c, term in _parts(self)))

    def __mul__(self, factor: Coefficient) -> Sum:
        return self.__rmul__(factor)

    def __truediv__(self, factor: Coefficient) -> Sum:
        return (1 / signomial(factor)) * self


def _parts(term: Term) -> tuple[tuple[Signomial, Term], ...]:
    return term.parts if isinstance(term, Sum) else ((signomial(1), term),)


@remembered
@dataclass(frozen=True, repr=False)
class Sum(Term):
    """A linear combination: (coefficient, term) pairs."""

    parts: tuple[tuple[Signomial, Term], ...]

    def __repr__(self) -> str:
        if not self.parts:
            return "0"
        texts = []
        for coefficient, term in self.parts:
            text = repr(coefficient)
            if text in ("1", "-1"):
                texts.append(text[:-1] + repr(term))
            else:
                texts.append(f"({text}) {term!r}" if " " in text else f"{text} {term!r}")
        return " + ".join(texts).replace("+ -", "- ")


@remembered
@dataclass(frozen=True, repr=False)
class Var(Term):
    """A declared variable at step t + shift."""

    name: str
    shift: int = 0

    def __repr__(self) -> str:
        return self.name + (f"[{self.shift:+d}]" if self.shift else "")


@remembered
@dataclass(frozen=True, repr=False)
class App(Term):
    """function(argument; samples): one entry for each sample of the function, its step, or None where it is averaged."""

    function: str
    argument: Term
    samples: tuple[When | None, ...] = ()

    def __repr__(self) -> str:
        drawn = ",".join(
            "." if s is None else "~" if isinstance(s, Averaged) else f"*{s:+d}" if s else "*" for s in self.samples
        )
        if not self.samples and self.argument == Sum(()):
            return self.function  # one point
        return f"{self.function}({self.argument!r}{'; ' + drawn if drawn and set(drawn) != {'.', ','} and drawn != '.' else ''})"


@remembered
@dataclass(frozen=True, repr=False)
class Pair(Term):
    """The argument of a function that also depends on a random label, such as the client that holds a place: (point, label)."""

    point: Term
    label: Term

    def __repr__(self) -> str:
        return f"{self.point!r}, {self.label!r}"


@remembered
@dataclass(frozen=True, repr=False)
class Act(Term):
    """A linear operator applied to a vector."""

    operator: Term
    vector: Term

    def __repr__(self) -> str:
        return f"{_closed(self.operator)}·{_closed(self.vector)}"


@remembered
@dataclass(frozen=True, repr=False)
class Mean(Term):
    """The mean over an index, for instance over the clients."""

    index: str
    term: Term

    def __repr__(self) -> str:
        return f"mean_{self.index}{_closed(self.term, always=True)}"


@remembered
@dataclass(frozen=True, repr=False)
class Given(Term):
    """The conditional expectation given some sources."""

    known: Known
    term: Term

    def __repr__(self) -> str:
        return f"E[{self.term!r} | {self.known!r}]"


@remembered
@dataclass(frozen=True, repr=False)
class Proj(Term):
    """Normal form of means and conditional expectations: the projection on `index` and `known`."""

    index: frozenset[str]
    known: Known
    term: Term

    def __repr__(self) -> str:
        left = ",".join(sorted(self.index)) or "no index"
        return f"P[{self.term!r} | {self.known!r}; {left}]"


def _closed(term: Term, always: bool = False) -> str:
    text = repr(term)
    return f"({text})" if always or isinstance(term, Sum) else text


def inside(term: Term) -> tuple[Term, ...]:
    """The terms of which a term is made, one level down."""
    match term:
        case Sum(parts):
            return tuple(inner for _, inner in parts)
        case Var():
            return ()
        case App(_, argument, _):
            return (argument,)
        case Act(first, second) | Pair(first, second):
            return first, second
        case Mean(_, inner) | Given(_, inner) | Proj(_, _, inner):
            return (inner,)
    raise TypeError(f"{term!r} is no term")


def rebuilt(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with change(inner) in the place of each term inside it, one level down."""
    match term:
        case Sum(parts):
            return Sum(tuple((c, change(inner)) for c, inner in parts))
        case Var():
            return term
        case App(function, argument, drawn):
            return App(function, change(argument), drawn)
        case Pair(point, label):
            return Pair(change(point), change(label))
        case Act(operator, vector):
            return Act(change(operator), change(vector))
        case Mean(index, inner):
            return Mean(index, change(inner))
        case Given(known, inner):
            return Given(known, change(inner))
        case Proj(index, known, inner):
            return Proj(index, known, change(inner))
    raise TypeError(f"{term!r} is no term")


def shifted(term: Term, by: int) -> Term:
    """The term `by` steps later."""
    match rebuilt(term, lambda inner: shifted(inner, by)):
        case Var(name, shift):
            return Var(name, shift + by)
        case App(function, argument, drawn):
            return App(function, argument, tuple(None if s is None else s + by for s in drawn))
        case Given(known, inner):
            return Given(known.later(by), inner)
        case Proj(index, known, inner):
            return Proj(index, known.later(by), inner)
        case moved:
            return moved


def replaced(term: Term, table: dict[str, Term]) -> Term:
    """Terms put in for variables, at the variable's own shift."""
    return put_in(term, lambda var: shifted(table[var.name], var.shift) if var.name in table else var)


def put_in(term: Term, new: Callable[[Var], Term]) -> Term:
    """The term with new(v) in the place of each variable v."""
    return new(term) if isinstance(term, Var) else rebuilt(term, lambda inner: put_in(inner, new))


def variables(term: Term) -> frozenset[tuple[str, int]]:
    """(name, shift) of every variable inside."""
    own = {(term.name, term.shift)} if isinstance(term, Var) else ()
    return frozenset(own).union(*map(variables, inside(term)))


def samples(term: Term) -> frozenset[When]:
    """The steps of all samples inside."""
    own = {step for step in term.samples if step is not None} if isinstance(term, App) else ()
    return frozenset(own).union(*map(samples, inside(term)))


def is_pointwise(term: Term) -> bool:
    """Whether no sample and no conditional expectation stands in a term: then it is a function of the values of its variables."""
    drawn = isinstance(term, App) and not set(term.samples) <= {None}
    return not (drawn or isinstance(term, Given | Proj)) and all(map(is_pointwise, inside(term)))
