"""Rules that go from a statement about a step to one about the run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..facts import Inequality, State, at_one_step, fact_form, inequality
from ..scalars import At, Atom, Named, One, Total, scalar
from ..setting import COMMUNICATION, EVERY, FIRST, LATER, LOCAL
from ..signomial import CLOCK, ONE, POSITION, ZERO, ProofError, Signomial, mentions
from .base import Rule, all_uses


@dataclass(frozen=True)
class SumOver(Rule):
    """The sum over start <= t < T - drop of a statement about a step; shifts become values at the ends.

    `communication` is another statement for the steps with communication, where it differs. The position j in a round of n steps
    may stand in a bound: j and j^2 sum to at most T (n-1)/2 and T (n-1)(2n-1)/6, as they grow within a round.
    """

    step: str
    communication: str = ""
    start: int = 0
    drop: int = 0
    title = "sum over t"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.step, self.communication) if self.communication else (self.step,)

    def apply(self, state: State) -> Inequality:
        if self.start + self.drop > 1 or min(self.start, self.drop) < 0:
            raise ProofError("at most one step is left out, since T >= 1")
        fact = state.inequality(self.step, position=True)
        if at_one_step(fact, but=POSITION):
            raise ProofError(f"{self.step} speaks of the step itself")
        needed = EVERY if self.start == 0 else LATER
        special = state.inequality(self.communication) if self.communication else fact
        local, other = (needed & LOCAL, needed & COMMUNICATION) if self.communication else (needed, needed)
        for f, phases in ((fact, local), (special, other)):
            if not f.covers(phases):
                raise ProofError("the statement does not hold at every step of the sum")
        table: dict[Atom, Signomial] = {}
        for atom, c in fact.form:
            self._add(state, table, atom, c)
        for atom, c in _difference(special, fact).items():
            self._add_communications(state, table, atom, c)
        equal = fact.equal and special is fact and not mentions(fact.form, POSITION)
        return Inequality(fact_form(table), equal, None, all_uses([fact, special]))

    def _add(self, state: State, table: dict[Atom, Signomial], atom: Atom, c: Signomial) -> None:
        def put(what: Atom, factor: Signomial) -> None:
            table[what] = table.get(what, ZERO) + factor

        if isinstance(atom, One):
            steady = Signomial([(m, k) for m, k in c.terms if POSITION not in dict(m)])
            put(atom, steady * (state.horizon - self.start - self.drop))
            put(atom, self._positions(state, c - steady))
            return
        if not isinstance(atom, Named):
            raise ProofError(f"{atom!r} is not a named quantity: only those are summed")
        if POSITION in c.params:
            raise ProofError(f"({c!r}) {atom!r}: the position may stand beside a number only")
        low, high = self.start + atom.shift, atom.shift - self.drop
        put(Total(atom.name), c)
        for step in range(min(low, 0), max(low, 0)):
            put(At(atom.name, False, step), -c if low > 0 else c)
        for step in range(min(high, 0), max(high, 0)):
            put(At(atom.name, True, step), c if high > 0 else -c)

    def _positions(self, state: State, c: Signomial) -> Signomial:
        """At least the sum of c over t, for c <= 0 of which every term has the position in it."""
        if not c:
            return ZERO
        n, T = state.period, state.horizon
        means = {1: (n - 1) / 2, 2: (n - 1) * (2 * n - 1) / 6}
        if self.communication or self.start or self.drop or not (-c).nonnegative:
            raise ProofError("the position in the round: wanted a bound of every step, with a sum over all t < T")
        found = ZERO
        for monomial, k in c.terms:
            power = dict(monomial)[POSITION]
            if power not in means:
                raise ProofError(f"only the position and its square are summed, not its power {power}")
            rest = tuple((p, e) for p, e in monomial if p != POSITION)
            found = found + Signomial([(rest, k)]) * means[int(power)] * T
        return found

    def _add_communications(self, state: State, table: dict[Atom, Signomial], atom: Atom, c: Signomial) -> None:
        if self.start or self.drop:
            raise ProofError("a sum over communications runs over all t < T")
        if isinstance(atom, One):
            if not (-c).nonnegative:
                raise ProofError("fewer than T/I communications: the constant has the wrong sign")
            table[atom] = table.get(atom, ZERO) + c * state.horizon / state.period
        elif isinstance(atom, Named) and atom.shift == 0:
            own = Total(atom.name, True)
            table[own] = table.get(own, ZERO) + c
        else:
            raise ProofError(f"{atom!r}: only quantities at step t itself are summed over communications")


def _difference(special: Inequality, fact: Inequality) -> dict[Atom, Signomial]:
    table = special.table
    for atom, c in fact.form:
        table[atom] = table.get(atom, ZERO) - c
    return {atom: c for atom, c in table.items() if c}


@dataclass(frozen=True)
class Invariant(Rule):
    """Q_{t+1} <= c for every t, by induction: Q_1 <= c, and Q_{t+1} <= a Q_t + d with a >= 0 and a c + d <= c for t >= 1."""

    quantity: str
    bound: Signomial
    first: str
    later: str
    title = "induction over t"
    premises = ("first", "later")

    def apply(self, state: State) -> Inequality:
        first, step = state.inequality(self.first), state.inequality(self.later)
        if not (first.covers(FIRST) and step.covers(LATER)):
            raise ProofError("wanted a statement about step 0 and one about every later step")
        after, before = Named(self.quantity, 1), Named(self.quantity)
        if first.table != state.form(scalar(after) - self.bound):
            raise ProofError(f"{self.first} does not say that {after!r} <= {self.bound!r}")
        table = step.table
        if table.pop(after, ZERO) != ONE:
            raise ProofError(f"{self.later} is no bound of {after!r}")
        factor, rest = -table.pop(before, ZERO), -table.pop(One(), ZERO)
        if table:
            raise ProofError(f"{self.later} speaks of more than {self.quantity}")
        used: frozenset[str] = frozenset()
        for number in (factor, self.bound - factor * self.bound - rest):
            used |= state.nonnegative(f"({number!r})", number)
        return inequality(state, scalar(after), scalar(self.bound), all_uses([first, step]) | used)


@dataclass(frozen=True)
class AtStart(Rule):
    """A statement about a step at t = 0, where the clock shows the offset, or with `end` at t = T."""

    step: str
    end: bool = False
    title = "first or last step"
    premises = ("step",)

    def apply(self, state: State) -> Inequality:
        fact = state.inequality(self.step, position=not self.end)
        if not self.end and state.offset is not None:
            shown = tuple((atom, c.substitute(CLOCK, state.offset)) for atom, c in fact.form)
            fact = replace(fact, form=shown)
        if at_one_step(fact):
            raise ProofError(f"{self.step} speaks of the position in the round, or of the step itself")
        if not fact.covers(LATER if self.end else FIRST):
            raise ProofError(f"{self.step} does not hold there")
        table: dict[Atom, Signomial] = {}
        for atom, c in fact.form:
            if isinstance(atom, Named):
                table[At(atom.name, self.end, atom.shift)] = c
            elif isinstance(atom, One):
                table[atom] = c
            else:
                raise ProofError(f"{atom!r} is not a named quantity")
        return Inequality(fact_form(table), fact.equal, None, fact.uses)


@dataclass(frozen=True)
class Part(Rule):
    """The communications are some of the steps: their sum of a nonnegative quantity is at most the whole sum."""

    quantity: str
    title = "a part of a sum"

    def apply(self, state: State) -> Inequality:
        state.nonnegative_quantity(self.quantity)
        table: dict[Atom, Signomial] = {Total(self.quantity, True): ONE, Total(self.quantity): -ONE}
        return Inequality(fact_form(table), False, None)
