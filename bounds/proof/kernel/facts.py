"""What the kernel has established, and the state in which a step is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .algebra import Algebra
from .known import Known
from .region import Certificate, Region, used_conditions
from .scalars import At, Atom, Inner, Named, One, Scalar, Total, Value, form
from ..search import certificate_for
from .setting import EVERY, Setting
from .signomial import ProofError, Signomial
from .terms import Sum

Uses = frozenset[str]


@dataclass(frozen=True)
class Inequality:
    """`form <= 0` (or = 0), at the steps of `phases`, or about the whole run where that is None."""

    form: tuple[tuple[Atom, Signomial], ...]
    equal: bool
    phases: frozenset[str] | None
    uses: Uses = frozenset()

    @property
    def table(self) -> dict[Atom, Signomial]:
        return dict(self.form)

    def __repr__(self) -> str:
        return f"{Scalar(tuple((c, a) for a, c in self.form))!r} {'=' if self.equal else '<='} 0"


@dataclass(frozen=True)
class Equation:
    """`term = 0` almost surely, at the steps of `phases`."""

    term: Sum
    phases: frozenset[str]
    uses: Uses = frozenset()

    def __repr__(self) -> str:
        return f"{self.term!r} = 0"


@dataclass(frozen=True)
class Moment:
    """E[|term|^2 | given] <= bound for every index, |.| a norm of operators; `given` None means |term|^2 <= bound surely.

    `trace`: it holds in the Hilbert-Schmidt norm too, so that independent centred operators may be averaged.
    """

    term: Sum
    given: Known | None
    bound: Signomial
    trace: bool = False
    uses: Uses = frozenset()

    def __repr__(self) -> str:
        return f"E[|{self.term!r}|^2 | {self.given!r}] <= {self.bound!r}"


Fact = Inequality | Equation | Moment


@dataclass(frozen=True)
class Quantity:
    """A named number at step t: a sum of squared norms with nonnegative coefficients, or the value of an objective."""

    name: str
    meaning: Scalar

    def __post_init__(self) -> None:
        if not self.nonnegative and not (len(self.meaning.parts) == 1 and isinstance(self.meaning.parts[0][1], Value)):
            raise ProofError(f"{self.name}: wanted squared norms with nonnegative coefficients, or one value")

    @property
    def nonnegative(self) -> bool:
        return all(
            isinstance(atom, Inner) and atom.left == atom.right and coefficient.nonnegative
            for coefficient, atom in self.meaning.parts
        )


@dataclass
class State:
    """Declarations, which are frozen, and the facts established so far."""

    setting: Setting
    quantities: Mapping[str, Quantity]
    axioms: Mapping[str, object]
    region: Region
    horizon: Signomial
    period: Signomial
    facts: dict[str, Fact] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.setting)

    def inequality(self, name: str) -> Inequality:
        return self._fact(name, Inequality)

    def equation(self, name: str) -> Equation:
        return self._fact(name, Equation)

    def moment(self, name: str) -> Moment:
        return self._fact(name, Moment)

    def _fact(self, name: str, kind: type):  # type: ignore[no-untyped-def]
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
        return form(self.algebra, given)

    def nonnegative_atom(self, atom: Atom) -> bool:
        """Whether a scalar is nonnegative by what it is."""
        match atom:
            case One():
                return True
            case Inner(left, right):
                return left == right
            case Named(name, _) | Total(name, _) | At(name, _, _):
                return self.quantities[name].nonnegative
        return False

    def certify(self, value: Signomial, certificate: Certificate | None = None) -> frozenset[str] | None:
        """The conditions that show value >= 0, or None; a certificate that is not given is looked for."""
        if value.nonnegative:
            return frozenset()
        found = certificate if certificate is not None else certificate_for(value, self.region)
        if found is None or not self.region.certified(value, found):
            return None
        return used_conditions(found)


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


def fact_form(table: Mapping[Atom, Signomial]) -> tuple[tuple[Atom, Signomial], ...]:
    return tuple(sorted(((a, c) for a, c in table.items() if c), key=lambda item: repr(item[0])))
