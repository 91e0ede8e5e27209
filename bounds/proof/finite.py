"""The formal vectors of a derivation as random vectors on a finite probability space, evaluated exactly.

A value is a tuple of components (1 for a number, 2 for a vector, 4 for an operator, row by row). A component is an array of
rational numbers with one axis for each index and then one for each two-valued sample; an axis of length 1: it does not
depend on this. So a mean over an index, or over samples that are not known, is a mean over axes, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from operator import add
from typing import Any, Protocol

import numpy as np
from flint import fmpq, fmpq_mat

from ..evaluation.enclosure import fmpq_of, root_near
from ..language.bounding import joint
from .kernel import CLOCK, POSITION, Act, App, Given, Known, Mean, Pair, ProofError, Setting, Signomial, Sum, Term, Var
from .kernel.known import Averaged, When
from .kernel.scalars import At, Atom, Inner, Named, One, Scalar, Total, Value
from .kernel.signomial import Param, clock
from .kernel.terms import Proj, replaced, shifted

Component = np.ndarray
Vector = tuple[Component, ...]
Samples = tuple[Component | int, ...]
"""Those of a function, 0 where one is averaged away."""
LAW = ((fmpq(1, 5), fmpq(2)), (fmpq(4, 5), fmpq(-1, 2)))
"""(probability, value) of a sample: mean 0, second moment 1, and not symmetric."""
FAIR = ((fmpq(1, 2), fmpq(2)), (fmpq(1, 2), fmpq(-2)))
"""That of a sample with mean 0 and the same largest size, which it always has: along runs nothing is farther from its mean."""
Law = Sequence[tuple[fmpq, fmpq]]
_FAR = 1_000_000
"""Steps from this one on are later than any run; they belong to samples of which only the law matters."""


def _step(when: When) -> int:
    """The step of a sample; one that is averaged away has a far one of its own."""
    return 2 * _FAR + when.rank if isinstance(when, Averaged) else when


def _when(step: int) -> When:
    return Averaged(step - 2 * _FAR) if step >= 2 * _FAR else step


class Problem(Protocol):
    """Concrete functions in the place of the declared ones."""

    def apply(self, function: str, point: Vector, samples: Samples) -> Vector: ...

    def potential(self, function: str, point: Vector, samples: Samples) -> Component: ...


def root(number: fmpq, *, order: int = 2, up: bool = True) -> fmpq:
    """The root where it is rational, or rounded up or down in the 50th digit behind the point."""
    return fmpq_of(root_near(number, 10**50, order=order, up=up))


def evaluated(value: Signomial, point: Mapping[Param, Fraction]) -> fmpq:
    """A number at a point; the root in a term is rounded up if it is not rational.

    Raises:
        ProofError: a parameter has no value there, or has a power that is no multiple of 1/2.
    """
    if missing := sorted(param.name for param in value.params - point.keys()):
        raise ProofError(f"no value for {missing[0]}")
    found = fmpq(0)
    for monomial, coefficient in value.terms:
        whole, under = fmpq_of(coefficient), fmpq(1)
        for param, exponent in monomial:
            power, half = (exponent, 0) if isinstance(exponent, int) else divmod(exponent, 1)
            if half and half != Fraction(1, 2):
                raise ProofError(f"{param.name}^{exponent}: wanted a multiple of 1/2")
            here = min(evaluated(part, point) for part in param.least) if param.least else fmpq_of(point[param])
            whole *= here**power
            under *= here if half else 1
        found += whole if under == 1 else whole * root(under)
    return found


def padded(array: Component, axes: int) -> Component:
    return array if array.ndim == axes else array.reshape(array.shape + (1,) * (axes - array.ndim))


def together(*arrays: Component) -> list[Component]:
    """The arrays with equally many axes; axes for samples come last, so missing ones are added at the end."""
    axes = max(array.ndim for array in arrays)
    return [padded(array, axes) for array in arrays]


def shortened(array: Component) -> Component:
    """The array, or one entry of it where all of them are 0."""
    return array if array.any() else array[(slice(0, 1),) * array.ndim]


def is_zero(array: Component) -> bool:
    """Whether it depends on nothing and is 0."""
    return array.size == 1 and not array.item()


def scaled(number: fmpq, array: Component) -> Component:
    """A number times an array."""
    if number == 1:
        return array
    return array * number if number else np.full([1] * array.ndim, number, dtype=object)


def plus(left: Vector, right: Vector) -> Vector:
    return tuple(total(pair) for pair in zip(left, right, strict=True))


def sum_of_sizes(vector: Vector) -> fmpq:
    """The sum of the sizes of all entries: 0 where a vector is 0."""
    return sum((abs(x) for component in vector for x in component.reshape(-1)), fmpq(0))


def total(arrays: Sequence[Component]) -> Component:
    """The sum of at least one array."""
    rows = [array for array in arrays if not is_zero(array)] or arrays[:1]
    return reduce(add, together(*rows)) if len(rows) > 1 else rows[0]


def times(left: Component, right: Component) -> Component:
    if is_zero(left) or is_zero(right):
        return left if is_zero(left) else right
    a, b = together(left, right)
    return a * b


@dataclass(eq=False)
class Run:
    """A run of the update equations of a setting, and the terms of its derivation along it.

    Args:
        point: values of all parameters, the sizes of the indices, the period and the horizon among them.
        start: (variable, time) -> value before its first update, or a term whose value it is at step 0.
        free: (variable, time, sample) -> value of a variable without equations; the sample is one of the step before, or 0.
        quiet: values of the first index without noise: their samples are 0.
        quantities: meanings of the named quantities.
        moving: the values of numbers that depend on the step, for the steps 0, 1, ....
        laws: source -> its law, where it is another one than the usual; it has an outcome whatever is quiet.
        usual: the law of a sample.
    """

    setting: Setting
    problem: Problem
    point: Mapping[Param, Fraction]
    horizon: int
    period: int
    start: Mapping[tuple[str, int], Vector | Term]
    free: Callable[[str, int, Component | int], Vector]
    quiet: frozenset[int] = frozenset()
    quantities: Mapping[str, Scalar] = field(default_factory=dict)
    moving: Sequence[dict[Param, Fraction]] = ()
    laws: Mapping[str, Law] = field(default_factory=dict)
    usual: Law = LAW

    def __post_init__(self) -> None:
        self.axes = {index.name: i for i, index in enumerate(self.setting.indices)}
        self.bits: list[tuple[str, int]] = []
        self._samples: dict[tuple[str, int, bool], Component] = {}
        self._variables: dict[tuple[str, int], Vector] = {}
        self._terms: dict[tuple[Term, int], Vector] = {}
        self._atoms: dict[tuple[Atom, int], fmpq] = {}
        self._numbers: dict[tuple[Signomial, int], fmpq] = {}
        self._weights: dict[tuple[tuple[int, ...], tuple[int, ...]], fmpq_mat] = {}
        self.drawn: int | None = None

    def outcome_by_outcome(self) -> Run:
        """The same run with a value of every scalar for each outcome, in the place of its expectation: an array over all outcomes."""
        for step, source in product(range(self.horizon), self.setting.source_names):
            self.sample(source, step)
        found = copy(self)
        found.drawn, found._atoms = len(self.bits), {}
        return found

    def probability(self, holds: np.ndarray | bool) -> fmpq:
        """Of the outcomes at which something holds, for a run outcome by outcome."""
        every = joint(self.law(source) for source, _ in self.bits)
        chosen = np.broadcast_to(holds, len(every))
        return sum((p for (p, _), here in zip(every, chosen, strict=True) if here), fmpq(0))

    def number(self, value: Signomial, t: int = 0) -> fmpq:
        """The value of a number; one that depends on the step has its value at step t."""
        found = self._numbers.get((value, t))
        if found is None:
            if t and not self.moving and not {POSITION, CLOCK} & value.params:
                found = self.number(value)
            else:
                here = dict(self.moving[t]) if 0 <= t < len(self.moving) else {}
                if CLOCK in self.point:
                    here[CLOCK] = self.point[CLOCK] + t
                found = evaluated(value, {**self.point, **here, POSITION: Fraction(t % self.period)})
            self._numbers[value, t] = found
        return found

    def phase(self, t: int) -> str:
        """The kind of step t."""
        return ("first " if t == 0 else "") + ("communication" if (t + 1) % self.period == 0 else "local")

    def times_of(self, phases: frozenset[str]) -> Iterator[int]:
        """The steps of these kinds."""
        return (t for t in range(self.horizon) if self.phase(t) in phases)

    def size(self, index: str, first: bool) -> int:
        """The size of an index at step 0, or at a later step."""
        found = self.setting.index(index)
        value = found.first if first and found.first is not None else found.size
        return int(self.number(value).p)

    # --- samples and variables ------------------------------------------------------------------------------------

    def sample(self, source: str, step: int, first: bool | None = None) -> Component:
        """The sample of a step, one for each value of the index of its source; `first`: with the sizes of step 0."""
        key = (source, step, step == 0 if first is None else first)
        if key not in self._samples:
            self._samples[key] = self._drawn(*key)
        return self._samples[key]

    def _drawn(self, source: str, step: int, first: bool) -> Component:
        index = self.setting.source(source).index
        shape = [self.size(name, first) if name in index else 1 for name in self.axes]
        entries = list(product(*(range(n) for n in shape)))
        loud = [e for e in entries if e[0] not in self.quiet or source in self.laws]
        if len(self.law(source)) == 1:
            return np.full(shape, self.law(source)[0][1], dtype=object)
        earlier = len(self.bits)
        self.bits += [(source, step)] * len(loud)
        values = np.array([value for _, value in self.law(source)], dtype=object)
        array = np.empty([*shape, *[1] * earlier, *[len(values)] * len(loud)], dtype=object)
        array[...] = fmpq(0)
        for bit, entry in enumerate(loud):
            array[entry] = values.reshape([1] * (earlier + bit) + [len(values)] + [1] * (len(loud) - bit - 1))
        return array

    def law(self, source: str) -> Law:
        return self.laws.get(source, self.usual)

    def variable(self, name: str, time: int) -> Vector:
        """A variable before step `time`."""
        if (name, time) not in self._variables:
            for earlier in range(time):
                for variable in self.setting.variables:
                    if variable.equations and variable.defined > 0 and (variable.name, earlier) not in self._variables:
                        self._variables[variable.name, earlier] = self._updated(variable.name, earlier)
            self._variables[name, time] = self._updated(name, time)
        return self._variables[name, time]

    def _updated(self, name: str, time: int) -> Vector:
        variable = self.setting.variable(name)
        t = time - variable.defined
        if variable.behind is not None:
            return self.variable(variable.of, max(time - int(evaluated(variable.behind, self.point)), 0))
        if not variable.equations:
            return self.free(name, time, self._past_sample(variable.sources, time))
        if t < 0:
            first = self.start[name, time]
            return self(first, 0) if isinstance(first, Term) else first
        (term,) = (term for phases, term in variable.equations if self.phase(t) in phases)
        return self(term, t)

    def _past_sample(self, sources: tuple[str, ...] | None, time: int) -> Component | int:
        """One entry of a sample of the step before, for points that depend on the past; on these sources, or on all."""
        names = self.setting.source_names if sources is None else sources
        if time <= 0 or not names:
            return 0
        array = self.sample(names[0], time - 1)
        return array[(slice(0, 1),) * len(self.axes)]

    # --- terms ----------------------------------------------------------------------------------------------------

    def __call__(self, term: Term, t: int) -> Vector:
        """The value of a term at step t."""
        found = self._terms.get((term, t))
        if found is None:
            found = self._terms[term, t] = tuple(map(shortened, self._value(term, t)))
        return found

    def _value(self, term: Term, t: int) -> Vector:
        match term:
            case Sum(parts):
                zero = np.full([1] * len(self.axes), fmpq(0), dtype=object)
                rows = [tuple(scaled(self._factor(c, t), x) for x in self(inner, t)) for c, inner in parts]
                return reduce(plus, rows) if rows else (zero, zero)
            case Var(name, shift):
                return self.variable(name, t + shift)
            case App(name):
                return self.problem.apply(name, *self._called(term, t))
            case Act(operator, vector):
                a, b, c, d = self(operator, t)
                v, w = self(vector, t)
                return plus((times(a, v), times(c, v)), (times(b, w), times(d, w)))
            case Mean(index, inner):
                return tuple(self._mean(x, frozenset({index})) for x in self(inner, t))
            case Given(known, inner):
                return tuple(self.expected(x, known, t) for x in self(inner, t))
            case Proj(index, known, inner):
                gone = frozenset(self.axes) - index
                return tuple(self._mean(self.expected(x, known, t), gone) for x in self(inner, t))
        raise TypeError(f"{term!r} is no term")

    def _factor(self, c: Signomial, t: int) -> fmpq:
        """A coefficient in a term, which may depend on the step by the clock only."""
        return self.number(c, t if CLOCK in c.params else 0)

    def _called(self, app: App, t: int) -> tuple[Vector, Samples]:
        """The point and the samples of a function; a label counts as its first sample."""
        samples = self._arguments(app.function, app.samples, t)
        if isinstance(app.argument, Pair):
            return self(app.argument.point, t), (self(app.argument.label, t)[0], *samples)
        return self(app.argument, t), samples

    def _arguments(self, function: str, drawn: tuple[When | None, ...], t: int) -> Samples:
        """The samples of a function; those that are averaged away come in the sizes of the others at step t."""
        sources = self.setting.function(function).sources
        return tuple(
            0 if s is None else self.sample(source, t + _step(s), t == 0 if _step(s) >= _FAR else None)
            for source, s in zip(sources, drawn, strict=True)
        )

    def _mean(self, array: Component, indices: frozenset[str]) -> Component:
        return self._averaged(array, [self.axes[name] for name in indices])

    def expected(self, array: Component, known: Known, t: int) -> Component:
        """The conditional expectation, at step t."""
        return self._averaged(array, self._unknown(array, known, t))

    def _unknown(self, array: Component, known: Known, t: int) -> list[int]:
        """The axes of samples that are not known at step t."""
        drawn = [axis for axis in range(len(self.axes), array.ndim) if array.shape[axis] > 1]
        sources = {axis: self.bits[axis - len(self.axes)] for axis in drawn}
        return [axis for axis, (source, step) in sources.items() if not known.has(source, _when(step - t))]

    def everywhere(self, array: Component) -> Any:
        """The mean over indices and outcomes; outcome by outcome that over indices, as an array.

        Raises:
            ProofError: it depends on a sample after the last step, for which there is no outcome.
        """
        if self.drawn is None:
            return self._averaged(array, range(array.ndim)).item()
        if len(self.bits) > self.drawn:
            raise ProofError("a sample after the last step has no outcome along a run")
        found = padded(self._averaged(array, range(len(self.axes))), len(self.axes) + self.drawn)
        shape = [1] * len(self.axes) + [len(self.law(source)) for source, _ in self.bits]
        return np.broadcast_to(found, shape).ravel()

    def mean_product(self, left: Component, right: Component) -> Any:
        """The mean of a product over indices and outcomes; what only one factor depends on is averaged before they are multiplied."""
        if self.drawn is not None:
            return self.everywhere(times(left, right))
        a, b = together(left, right)
        return self.everywhere(times(self._averaged_where_constant(a, b), self._averaged_where_constant(b, a)))

    def _averaged_where_constant(self, array: Component, other: Component) -> Component:
        """The mean over the axes on which another array, with equally many, does not depend."""
        return self._averaged(array, [axis for axis, length in enumerate(other.shape) if length == 1])

    def _averaged(self, array: Component, axes: Iterable[int]) -> Component:
        """The mean over the values of indices and the outcomes of samples, given as axes: one product of matrices."""
        gone = [axis for axis in axes if array.shape[axis] > 1]
        if not gone:
            return array
        kept = [axis for axis in range(array.ndim) if axis not in gone]
        shape = [array.shape[axis] for axis in gone]
        rows = array.transpose(kept + gone).reshape(-1, prod(shape))
        means = fmpq_mat(*rows.shape, rows.ravel().tolist()) * self._weights_of(tuple(gone), tuple(shape))
        left = [1 if axis in gone else length for axis, length in enumerate(array.shape)]
        return np.array(means.entries(), dtype=object).reshape(left)

    def _weights_of(self, axes: tuple[int, ...], shape: tuple[int, ...]) -> fmpq_mat:
        """The probability of every combination of values and outcomes along some axes, as a column."""
        if (axes, shape) not in self._weights:
            laws = (self._law_along(axis, length) for axis, length in zip(axes, shape, strict=True))
            found = [p for p, _ in joint(laws)]
            self._weights[axes, shape] = fmpq_mat(len(found), 1, found)
        return self._weights[axes, shape]

    def _law_along(self, axis: int, length: int) -> Law:
        """That of a sample; the values of an index weigh alike."""
        if axis < len(self.axes):
            return [(fmpq(1, length), fmpq(k)) for k in range(length)]
        return self.law(self.bits[axis - len(self.axes)][0])

    # --- numbers --------------------------------------------------------------------------------------------------

    def atom(self, atom: Atom, t: int) -> Any:
        """The value of a scalar at step t; of a sum over the run, whatever t. An array over the outcomes, outcome by outcome."""
        found = self._atoms.get((atom, t))
        if found is None:
            found = self._atoms[atom, t] = self._atom(atom, t)
        return found

    def _atom(self, atom: Atom, t: int) -> Any:
        match atom:
            case One():
                return fmpq(1)
            case Inner(left, right):
                pairs = zip(self(left, t), self(right, t), strict=True)
                return sum((self.mean_product(a, b) for a, b in pairs), fmpq(0))
            case Value(name, point):
                objective = self.setting.objective(name)
                fresh, here = shifted(objective.gradient, _FAR), shifted(point, -_FAR)
                return self.everywhere(self._potential(replaced(fresh, {objective.at: here}), t))
            case Named(name, shift):
                return self.scalar(self.quantities[name], t + shift)
            case At(name, end, offset):
                return self.scalar(self.quantities[name], (self.horizon if end else 0) + offset)
            case Total(name, communications, power):
                steps = [s for s in range(self.horizon) if not communications or (s + 1) % self.period == 0]
                weight = clock() ** power
                return sum((self.number(weight, s) * self.scalar(self.quantities[name], s) for s in steps), fmpq(0))
        raise TypeError(f"{atom!r} is no scalar")

    def scalar(self, value: Scalar, t: int) -> Any:
        return sum((self.number(c, t) * self.atom(atom, t) for c, atom in value.parts), fmpq(0))

    def _potential(self, gradient: Term, t: int) -> Component:
        """The function whose gradient a term is: the outer function where an operator acts on its gradient."""
        match gradient:
            case Sum(parts):
                return total([scaled(self.number(c), self._potential(part, t)) for c, part in parts])
            case Mean(index, part):
                return self._mean(self._potential(part, t), frozenset({index}))
            case Given(known, part):
                return self.expected(self._potential(part, t), known, t)
            case Act(_, App() as outer) | (App() as outer):
                return self.problem.potential(outer.function, *self._called(outer, t))
        raise TypeError(f"{gradient!r}: no gradient of an objective")


def in_reverse(
    run: Run, names: Mapping[str, str], axes: Sequence[str]
) -> tuple[dict[tuple[str, int], Vector], list[tuple[fmpq, fmpq]]]:
    """What a loop of `run.horizon` steps made, gone through in reverse, and the law of a sample that gives the number of its outcome.

    Args:
        names: variable -> its name in reverse; the value before step l has the time horizon - 1 - l.
        axes: indices of the values; after them there is one axis for all outcomes.
    """
    made = {
        (new, run.horizon - 1 - l): run.variable(old, l) for old, new in names.items() for l in range(run.horizon + 1)
    }
    lengths = [len(run.law(source)) for source, _ in run.bits]
    law = [(p, fmpq(i)) for i, (p, _) in enumerate(joint(run.law(source) for source, _ in run.bits))]

    def with_one_axis(array: Component) -> Component:
        sizes = [array.shape[run.axes[name]] if name in run.axes else 1 for name in axes]
        if prod(array.shape[len(run.axes) :]) == 1:
            return array.reshape(sizes)
        every = padded(array, len(run.axes) + len(lengths))
        every = np.broadcast_to(every, (*every.shape[: len(run.axes)], *lengths))
        return every.reshape([*sizes, len(law)])

    return {key: tuple(map(with_one_axis, vector)) for key, vector in made.items()}, law
