"""What the kernel has established, and the state in which a step is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..search import certificate_for, negative_at
from .algebra import Algebra
from .known import Known
from .region import Certificate, Region, used_conditions
from .scalars import At, Atom, Inner, Named, One, Scalar, Total, Value, along_a_run, form
from .sequences import Numbers
from .setting import EVERY, Setting
from .signomial import CLOCK, ONE, Param, ProofError, Signomial, identifier, mentions, params_in
from .terms import Sum


@dataclass(frozen=True)
class Mark:
    """What a fact rests on that is no assumption; an object, so that no name of an assumption or of a vector is taken for it."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Supposed(Mark):
    """The hypothesis left <= bound of an induction over the steps, which only the induction on the same claim removes."""

    left: Scalar
    bound: Signomial

    @classmethod
    def of(cls, left: Scalar, bound: Signomial) -> Supposed:
        return cls(f"supposed: {left!r} <= {bound!r}", left, bound)


@dataclass(frozen=True)
class Likely(Mark):
    """That left <= right, which fails with a probability of at most `failure`; what rests on it holds where it holds."""

    left: Scalar
    right: Scalar
    failure: Param

    @classmethod
    def of(cls, left: Scalar, right: Scalar, failure: Param) -> Likely:
        return cls(f"with probability 1 - {failure.name}: {left!r} <= {right!r}", left, right, failure)


BEFORE_THE_END = Mark("before the end")
"""What holds at the steps t < nu of a loop only, not where it ends; an induction removes it."""
ONE_LAW = Mark("about one law of the free variables")
"""What rests on something that is known of the law of the free variables of a loop only; it stays."""
Uses = frozenset[str | Mark]


@dataclass(frozen=True)
class Inequality:
    """`form <= 0` (or = 0), at the steps of `phases`, or about the whole run where that is None.

    `sides` and `text` keep it as it was written, for a reader and for tests; no rule looks at them.
    """

    form: tuple[tuple[Atom, Signomial], ...]
    equal: bool
    phases: frozenset[str] | None
    uses: Uses = frozenset()
    text: str = field(default="", compare=False)
    sides: tuple[Scalar, Scalar] | None = field(default=None, compare=False)

    @property
    def table(self) -> dict[Atom, Signomial]:
        return dict(self.form)

    def covers(self, phases: frozenset[str]) -> bool:
        """Whether it holds at all steps of these kinds; what is about the run holds at none."""
        return self.phases is not None and self.phases >= phases

    def __repr__(self) -> str:
        return self.text or f"{Scalar(tuple((c, a) for a, c in self.form))!r} {'=' if self.equal else '<='} 0"


@dataclass(frozen=True)
class Equation:
    """`term = 0` almost surely, at the steps of `phases`."""

    term: Sum
    phases: frozenset[str]
    uses: Uses = frozenset()
    text: str = field(default="", compare=False)

    def covers(self, phases: frozenset[str]) -> bool:
        """Whether it holds at all steps of these kinds."""
        return self.phases >= phases

    def __repr__(self) -> str:
        return self.text or f"{self.term!r} = 0"


@dataclass(frozen=True)
class Moment:
    """E[|term|^2 | given] <= bound for every index; `given` None means |term|^2 <= bound surely.

    |.| is a norm of operators, or that of a vector.
    `trace`: it holds in the Hilbert-Schmidt norm too, so that independent centred operators may be averaged.
    """

    term: Sum
    given: Known | None
    bound: Signomial
    trace: bool = False
    uses: Uses = frozenset()
    text: str = field(default="", compare=False)

    def __repr__(self) -> str:
        given = "" if self.given is None or self.given == Known() else f" | {self.given!r}"
        inner = f"|{self.text or repr(self.term)}|^2"
        return f"{inner if self.given is None else f'E[{inner}{given}]'} <= {self.bound!r}"


Fact = Inequality | Equation | Moment


@dataclass(frozen=True)
class Quantity:
    """A named number at step t: a sum of squared norms with nonnegative coefficients, or the value of an objective, or of that the
    distance from the value at another point; in a pathwise derivation also one inner product."""

    name: str
    meaning: Scalar

    def __post_init__(self) -> None:
        identifier(self.name)
        parts = self.meaning.parts
        values = all(isinstance(atom, Value) for _, atom in parts)
        said = values and [c for c, _ in parts] in ([ONE], [ONE, -ONE])
        if not (self.nonnegative or said or self.is_inner_product):
            raise ProofError(
                f"{self.name}: wanted squared norms with nonnegative coefficients, or one value less another"
            )

    @property
    def is_inner_product(self) -> bool:
        """Whether it is one of two vectors, which may be negative."""
        parts = self.meaning.parts
        return not self.nonnegative and [c for c, _ in parts] == [ONE] and isinstance(parts[0][1], Inner)

    @property
    def nonnegative(self) -> bool:
        return all(
            isinstance(atom, Inner) and atom.left == atom.right and coefficient.nonnegative
            for coefficient, atom in self.meaning.parts
        )


@dataclass(frozen=True)
class Earlier:
    """What was proved of a loop whose steps are gone through in reverse: the variable that is each of its variables, reversed."""

    state: State
    reversed: Mapping[str, str]


@dataclass
class State:
    """Declarations, which are frozen, and the facts established so far.

    `points` lie in the region: a number that is negative at one of them has no certificate, and is refused at once.
    `dropped`: nonnegative numbers that some step left out; `exact`: conditions that some certificate uses without room.
    `numbers`: the sequences of a loop, `earlier` what was proved of the loop before it, `sizes` sure bounds of vectors; see loop.py.
    `structural`: the assumptions on which the declarations rest. `offset`: what the clock shows at step 0, where there is one.
    `failure`: the probability with which the statement may fail, where the derivation is pathwise: all facts then hold for almost
    every outcome, each number in them having its value along that run.
    """

    setting: Setting
    quantities: Mapping[str, Quantity]
    axioms: Mapping[str, object]
    region: Region
    horizon: Signomial
    period: Signomial
    points: tuple[Mapping[Param, Fraction], ...] = ()
    facts: dict[str, Fact] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    dropped: list[str] = field(default_factory=list)
    exact: set[str] = field(default_factory=set)
    numbers: Numbers | None = None
    earlier: Earlier | None = None
    sizes: Mapping[Sum, Moment] = field(default_factory=dict)
    structural: Uses = frozenset()
    offset: Signomial | None = None
    failure: Param | None = None

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.setting, pathwise=self.failure is not None)

    def copy(self) -> State:
        """The same facts, to go on from; normal forms are remembered together."""
        copied = replace(
            self, facts=dict(self.facts), used=set(self.used), dropped=list(self.dropped), exact=set(self.exact)
        )
        copied.algebra = self.algebra
        return copied

    def inequality(self, name: str, *, position: bool = False) -> Inequality:
        """An inequality established before; one that speaks of a number that depends on the step only where the rule says so."""
        fact: Inequality = self._fact(name, Inequality)
        if not position and at_one_step(fact):
            raise ProofError(f"{name} speaks of the position in the round, or of the step itself")
        return fact

    def equation(self, name: str, *, position: bool = False) -> Equation:
        """An equation established before, as `inequality`: its coefficients may depend on the step where the rule says so."""
        fact: Equation = self._fact(name, Equation)
        if not position and mentions(fact, CLOCK):
            raise ProofError(f"{name} speaks of the step itself")
        return fact

    def moment(self, name: str) -> Moment:
        return self._fact(name, Moment)

    def _fact(self, name: str, kind: type):
        if name not in self.facts:
            raise ProofError(f"{name}: no such step before this one")
        if not isinstance(self.facts[name], kind):
            raise ProofError(f"{name}: wanted an {kind.__name__.lower()}, got {self.facts[name]!r}")
        self.used.add(name)
        return self.facts[name]

    def form(self, given: Scalar) -> dict[Atom, Signomial]:
        for _, atom in given.parts:
            if isinstance(atom, Named | Total | At) and atom.name not in self.quantities:
                raise ProofError(f"{atom.name}: no such quantity")
            if isinstance(atom, Total) and atom.power and (self.offset is None or type(atom.power) is not int):
                raise ProofError(f"{atom!r}: the derivation has no clock, or the power is no whole number")
        return form(self.algebra, given)

    def nonnegative_atom(self, atom: Atom) -> bool:
        """Whether a scalar is nonnegative by what it is."""
        match atom:
            case One():
                return True
            case Inner(left, right):
                return left == right
            case Named(name, _) | Total(name, _, _) | At(name, _, _):
                return self.quantities[name].nonnegative
        return False

    def certify(self, value: Signomial, given: tuple[Certificate, ...] = ()) -> frozenset[str] | None:
        """The conditions that show value >= 0, or None; where no given certificate does, one is looked for."""
        if value.nonnegative:
            return frozenset()
        found = next((c for c in given if self.region.certified(value, c)), None)
        if found is None and negative_at(value, self.points) is None:
            found = certificate_for(value, self.region)
        if found is None or not self.region.certified(value, found):
            return None
        names = used_conditions(found)
        if not self.region.remainder(value, found):
            self.exact |= names
        return names

    def nonnegative(self, what: str, number: Signomial, given: tuple[Certificate, ...] = ()) -> frozenset[str]:
        """The conditions that show number >= 0.

        Raises:
            ProofError: nothing shows it; `what` says in the error what the number is.
        """
        names = self.certify(number, given)
        if names is None:
            raise ProofError(f"{what} is not certified to be nonnegative{self.where_negative(number)}")
        return names

    def nonnegative_quantity(self, name: str) -> None:
        """Raises unless this is the name of a quantity that is nonnegative by what it is."""
        if name not in self.quantities or not self.quantities[name].nonnegative:
            raise ProofError(f"{name}: no nonnegative quantity")

    def where_negative(self, number: Signomial) -> str:
        """Words for a point at which a number is negative, if one is known."""
        point = negative_at(number, self.points)
        if point is None:
            return ""
        values = ", ".join(f"{p.name} = {point[p]}" for p in sorted(number.params))
        return f"; it is {number.at(point)} at {values}"


def at_one_step(fact: Fact, *, but: Param | None = None) -> bool:
    """Whether a fact is about the step t at which it stands only, and cannot be read at another one or summed.

    `but`: a number that depends on the step and that the rule reads by itself.
    """
    numbers = params_in(fact.form if isinstance(fact, Inequality) else fact)
    return _marked(fact) is not None or any(param.moving for param in numbers if param != but)


def _marked(fact: Fact) -> Mark | None:
    """A mark by which a fact does not hold at every step of a loop, the last one included."""
    found = [mark for mark in fact.uses if isinstance(mark, Supposed) or mark == BEFORE_THE_END]
    return min(found, key=str, default=None)


def refuse_part(fact: Fact, name: str, steps: frozenset[str] = EVERY) -> None:
    """Raises unless a fact holds at every step, the first and the last one included, and rests on no hypothesis; or at these `steps`."""
    if mark := _marked(fact):
        raise ProofError(f"{name} rests on what is {mark}")
    if not isinstance(fact, Moment) and not fact.covers(steps):
        raise ProofError(f"{name} does not hold at every step")


def assumed(uses: Uses) -> frozenset[str]:
    """The names of assumptions and conditions among what a fact rests on."""
    return frozenset(name for name in uses if isinstance(name, str))


def phases_of(facts: Iterable[Fact]) -> frozenset[str] | None:
    """The steps at which all these hold; None if they are about the run.

    Raises:
        ProofError: some are about a step and some about the run.
    """
    found: list[frozenset[str] | None] = [EVERY if isinstance(f, Moment) else f.phases for f in facts]
    if any(p is None for p in found):
        if not all(p is None for p in found):
            raise ProofError("statements about a step and about the run do not mix: sum over t first")
        return None
    phases = EVERY
    for p in found:
        phases = phases & (p or frozenset())
    if not phases:
        raise ProofError("no step at which all these statements hold")
    return phases


def steps_of(facts: Iterable[Fact]) -> frozenset[str]:
    """The steps at which all these hold.

    Raises:
        ProofError: they are about the run, or there is no such step.
    """
    phases = phases_of(facts)
    if phases is None:
        raise ProofError("wanted statements about a step")
    return phases


def fact_form(table: Mapping[Atom, Signomial]) -> tuple[tuple[Atom, Signomial], ...]:
    return tuple(sorted(((a, c) for a, c in table.items() if c), key=lambda item: repr(item[0])))


def inequality(
    state: State,
    left: Scalar,
    right: Scalar,
    uses: Uses = frozenset(),
    *,
    phases: frozenset[str] | None = EVERY,
    equal: bool = False,
) -> Inequality:
    """left <= right (or =) in normal form; the text keeps it as it was written."""
    first, second = (side.text(repr if state.failure is None else along_a_run) for side in (left, right))
    text = f"{first} {'=' if equal else '<='} {second}"
    return Inequality(fact_form(state.form(left - right)), equal, phases, uses, text, (left, right))
