"""Rules for how far a vector moves: within a round, between two communications, and since an earlier step."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Inequality, State, Uses, fact_form
from ..scalars import At, Atom, Inner, Named, One, Scalar, Total, sq
from ..setting import COMMUNICATION, EVERY, FIRST, LOCAL, Variable
from ..signomial import ONE, POSITION, ZERO, ProofError, Signomial
from ..terms import Given, Sum, Term, Var, samples, shifted, variables
from .base import Rule, all_uses


@dataclass(frozen=True)
class Drift(Rule):
    """How far a vector moves that is 0 after each communication and at the start, and moves by e at each local step.

    At j steps into a round ||d||^2 <= j (||e||^2 summed over them). With ||e||^2 <= A + c: summed over t < T at most
    I(I-1)/2 sum A + (I-1)(2I-1)/6 c T; over communications (I-1) sum A + (I-1)^2 c T/I; at every step (I-1)^2 c if A = 0,
    or j^2 c for the position j in the round.
    """

    quantity: str
    move: str
    reset: str
    start: str
    growth: str
    where: str = "all"
    title = "drift within a round"
    premises = ("move", "reset", "start", "growth")

    def apply(self, state: State) -> Inequality:
        e, uses = _moved(state, self.quantity, self.move, self.reset, self.start)
        parts, constant, more = bounded_by(state, self.growth, sq(e))
        return self._conclusion(state, parts, constant, uses | more)

    def _conclusion(self, state: State, parts: dict[Named, Signomial], constant: Signomial, uses: Uses) -> Inequality:
        n, T = state.period, state.horizon
        if self.where in ("every step", "position"):
            if parts:
                raise ProofError("at every step: the growth must be bounded by a constant")
            longest = POSITION.number if self.where == "position" else n - 1
            table: dict[Atom, Signomial] = {Named(self.quantity): ONE, One(): -(longest**2) * constant}
            return Inequality(fact_form(table), False, EVERY, uses)
        weights = {
            "all": (n * (n - 1) / 2, (n - 1) * (2 * n - 1) / 6 * T),
            "communications": (n - 1, (n - 1) ** 2 * T / n),
        }
        if self.where not in weights:
            raise ProofError(f"{self.where!r}: wanted all, communications, every step or position")
        growth, flat = weights[self.where]
        own = Total(self.quantity, self.where == "communications")
        return _at_most(own, {atom: growth * c for atom, c in parts.items()}, flat * constant, uses)


def _moved(state: State, quantity: str, move: str, reset: str, start: str) -> tuple[Term, Uses]:
    """What a vector d moves by at local steps, d = 0 after each communication and at the start; the quantity is ||d||^2."""
    d = _vector(state, quantity)
    moves, resets, starts = (state.equation(name) for name in (move, reset, start))
    normal = state.algebra.normal
    if resets.term != normal(shifted(d, 1)) or not resets.phases >= COMMUNICATION:
        raise ProofError(f"{reset} does not say that the vector is 0 after a communication")
    if starts.term != normal(d) or not starts.phases >= FIRST:
        raise ProofError(f"{start} does not say that the vector is 0 at the start")
    if not moves.phases >= LOCAL:
        raise ProofError(f"{move} does not cover every local step")
    return normal(shifted(d, 1) - d - moves.term), all_uses([moves, resets, starts])


def _at_most(own: Total, parts: dict[Named, Signomial], constant: Signomial, uses: Uses) -> Inequality:
    """A sum is at most those of other quantities with their factors, plus a number."""
    table: dict[Atom, Signomial] = {Total(atom.name): -c for atom, c in parts.items()}
    table[own] = table.get(own, ZERO) + ONE
    return Inequality(fact_form(table | {One(): -constant}), False, None, uses)


def _vector(state: State, quantity: str) -> Term:
    """The vector of which a quantity is the squared norm."""
    if quantity not in state.quantities:
        raise ProofError(f"{quantity}: no such quantity")
    meaning = state.quantities[quantity].meaning
    if len(meaning.parts) != 1 or meaning.parts[0][0] != ONE or not isinstance(meaning.parts[0][1], Inner):
        raise ProofError(f"{quantity} is not one squared norm")
    return meaning.parts[0][1].left


def _centred(state: State, noise: Term) -> None:
    """Raises unless the mean of a vector given the past is 0, and it is known after the step."""
    if centre := state.algebra.normal(Given(state.setting.past(), noise)).parts:
        raise ProofError(f"the noise is not centred: its mean given the past is {Sum(centre)!r}")
    if not state.algebra.support(noise).known <= state.setting.past(1):
        raise ProofError("the noise is not known after the step")


def bounded_by(
    state: State, name: str, left: Scalar, phases: frozenset[str] = EVERY
) -> tuple[dict[Named, Signomial], Signomial, Uses]:
    """left <= sum of nonnegative multiples of quantities at step t, plus a nonnegative constant, at every step of `phases`."""
    fact = state.inequality(name)
    if not fact.covers(phases):
        raise ProofError(f"{name} does not hold at every {'step' if phases == EVERY else 'such step'}")
    rest = dict(fact.form)
    for atom, c in state.form(left).items():
        rest[atom] = rest.get(atom, ZERO) - c
    bound = {atom: -c for atom, c in rest.items() if c}
    constant = bound.pop(One(), ZERO)
    found: dict[Named, Signomial] = {}
    for atom, c in bound.items():
        if not (isinstance(atom, Named) and atom.shift == 0 and state.nonnegative_atom(atom) and c.nonnegative):
            raise ProofError(f"{name}: {c!r} {atom!r} is no nonnegative multiple of a quantity at step t")
        found[atom] = c
    used = state.certify(constant)
    if used is None:
        raise ProofError(f"{name}: the constant {constant!r} may be negative")
    return found, constant, fact.uses | used


def _size(state: State, name: str, noise: Term) -> tuple[Signomial, Uses]:
    """||noise||^2 <= a nonnegative constant, at every step."""
    more, size, uses = bounded_by(state, name, sq(noise))
    if more:
        raise ProofError(f"{name}: the noise must be bounded by a constant")
    return size, uses


@dataclass(frozen=True)
class NoisyDrift(Rule):
    """As `Drift`, summed over t < T, where the move is e = h + z with z centred given the past and known after the step.

    The z of different steps are orthogonal, so at j steps into a round ||sum z||^2 <= j c for ||z||^2 <= c, and with Young's
    weight a > 0 ||d||^2 <= (1 + a) j (||h||^2 summed) + (1 + 1/a) j c. With ||h||^2 <= A + b the sum over t < T is at most
    (1 + a) (I(I-1)/2 sum A + (I-1)(2I-1)/6 b T) + (1 + 1/a) (I-1)/2 c T.
    `end`: a quantity ||d + e||^2, what the round would end with if nothing were communicated. Its sum over the communications, of
    which there are at most T/I, each after I steps, is at most (1 + a) I (sum A + b T) + (1 + 1/a) c T.
    """

    quantity: str
    move: str
    reset: str
    start: str
    noise: Term
    growth: str
    noise_growth: str
    weight: Signomial
    end: str = ""
    title = "drift and noise within a round"
    premises = ("move", "reset", "start", "growth", "noise_growth")

    def apply(self, state: State) -> Inequality:
        e, uses = _moved(state, self.quantity, self.move, self.reset, self.start)
        noise = state.algebra.normal(self.noise)
        _centred(state, noise)
        parts, constant, first = bounded_by(state, self.growth, sq(e - noise))
        size, second = _size(state, self.noise_growth, noise)
        if not self.weight.nonnegative:
            raise ProofError(f"the weight {self.weight!r} may be negative")
        n, T = state.period, state.horizon
        longest, steady, random = n * (n - 1) / 2, (n - 1) * (2 * n - 1) / 6, (n - 1) / 2
        own = Total(self.quantity)
        if self.end:
            self._ends(state, e)
            longest, steady, random, own = n, n, ONE, Total(self.end, True)
        grown = {atom: (1 + self.weight) * longest * c for atom, c in parts.items()}
        rest = T * ((1 + self.weight) * steady * constant + (1 + 1 / self.weight) * random * size)
        return _at_most(own, grown, rest, uses | first | second)

    def _ends(self, state: State, e: Term) -> None:
        if self.end not in state.quantities:
            raise ProofError(f"{self.end}: no such quantity")
        if state.form(state.quantities[self.end].meaning) != state.form(sq(_vector(state, self.quantity) + e)):
            raise ProofError(f"{self.end} is not the squared norm after another step")


@dataclass(frozen=True)
class Delay(Rule):
    """How far a variable x is from z, its value D >= 1 steps before (x_0 where that was never); the quantity is ||x - z||^2.

    x moves at every step by h + n, where h is made of z alone, and n is centred given the past and known after the step; ||h||^2 <= A + b
    and ||n||^2 <= c. x_t - z_t is the sum of the moves of the steps j from t - D on. Their h_j were known before step j - D, that is
    before any of these n: ||x_t - z_t||^2 = ||sum h_j||^2 + sum ||n_j||^2 <= D sum (A_j + b) + D c. A step j is among those of at most D
    others: the sum over t < T is at most D^2 (sum A + b T) + D c T.
    """

    quantity: str
    move: str
    noise: Term
    growth: str
    noise_growth: str
    title = "moves since an earlier step"
    premises = ("move", "growth", "noise_growth")

    def apply(self, state: State) -> Inequality:
        old, moves, noise = self._older(state), state.equation(self.move), state.algebra.normal(self.noise)
        assert old.behind is not None
        if not moves.phases >= EVERY:
            raise ProofError(f"{self.move} does not cover every step")
        known = state.algebra.normal(shifted(Var(old.of), 1) - Var(old.of) - moves.term - noise)
        if samples(known) or not variables(known) <= {(old.name, 0)}:
            raise ProofError(f"the move {known!r} without noise is not made of {old.name} alone")
        _centred(state, noise)
        parts, constant, first = bounded_by(state, self.growth, sq(known))
        size, second = _size(state, self.noise_growth, noise)
        grown = {atom: old.behind**2 * c for atom, c in parts.items()}
        rest = state.horizon * (old.behind**2 * constant + old.behind * size)
        return _at_most(Total(self.quantity), grown, rest, all_uses([moves]) | first | second)

    def _older(self, state: State) -> Variable:
        """z."""
        d = state.algebra.normal(_vector(state, self.quantity))
        for variable in state.setting.variables:
            if variable.of and d == state.algebra.normal(Var(variable.of) - Var(variable.name)):
                return variable
        raise ProofError(f"{self.quantity} is not how far a variable is from its value of an earlier step")


@dataclass(frozen=True)
class WithinRound(Rule):
    """The sum over 1 <= t < T of a quantity Q that is 0 after each communication and grows in between.

    Premises: Q_{t+1} <= 0 at communications; Q_{t+1} <= a Q_t + d at local steps t >= 1; Q_1 <= f where step 0 is local.
    With 0 <= a <= 1, `level` c >= 0 and `growth` e >= 0 such that a c + d <= c + e, induction over the position j in a round
    gives Q <= c + j e, and Q_t <= a^(t-1) f + c + (t-1) e in the first round: a (c + j e) + d <= c + (j + 1) e. As j <= n - 1 and
    the powers of a sum to at most 1/(1 - a), the sum is at most (c + (n-1) e)(T - 1) + g for `start` g >= 0 with (1 - a) g >= f.
    """

    quantity: str
    reset: str
    first: str
    later: str
    level: Signomial
    growth: Signomial
    start: Signomial
    title = "growth within a round"
    premises = ("reset", "first", "later")

    def apply(self, state: State) -> Inequality:
        state.nonnegative_quantity(self.quantity)
        after, before = Named(self.quantity, 1), Named(self.quantity)
        reset, first, step = (state.inequality(name) for name in self.uses)
        if reset.table != {after: ONE} or not reset.covers(COMMUNICATION):
            raise ProofError(f"{self.reset} does not say that {after!r} is 0 after a communication")
        if not first.covers(LOCAL & FIRST):
            raise ProofError(f"{self.first} does not hold at step 0")
        if not step.covers(LOCAL - FIRST):
            raise ProofError(f"{self.later} does not hold at every later local step")
        rest = first.table
        if rest.pop(after, ZERO) != ONE or set(rest) - {One()}:
            raise ProofError(f"{self.first} is no bound of {after!r} by a number")
        begin = -rest.get(One(), ZERO)
        rest = step.table
        if rest.pop(after, ZERO) != ONE or set(rest) - {before, One()}:
            raise ProofError(f"{self.later} is no bound of {after!r} by {before!r} and a number")
        factor, constant = -rest.get(before, ZERO), -rest.get(One(), ZERO)
        used = all_uses([reset, first, step])
        for what, number in self.needed(factor, constant, begin).items():
            used |= state.nonnegative(f"{what}: ({number!r})", number)
        n, T = state.period, state.horizon
        bound = (self.level + (n - 1) * self.growth) * (T - 1) + self.start
        table: dict[Atom, Signomial] = {Total(self.quantity): ONE, At(self.quantity): -ONE, One(): -bound}
        return Inequality(fact_form(table), False, None, used)

    def needed(self, factor: Signomial, constant: Signomial, begin: Signomial) -> dict[str, Signomial]:
        """The numbers that have to be nonnegative, for a = `factor`, d = `constant` and f = `begin`."""
        return {
            "the factor": factor,
            "1 minus the factor": 1 - factor,
            "the level": self.level,
            "the growth": self.growth,
            "what a step adds": self.level + self.growth - factor * self.level - constant,
            "what the first round adds": self.start,
            "the start": (1 - factor) * self.start - begin,
        }


@dataclass(frozen=True)
class Held(Rule):
    """A relation between quantities that do not change within a round holds at every step.

    Premises: the relation at step 0; the relation between the next values at communications; Q_{t+1} = Q_t at local steps for
    each of the quantities. By induction over t: at a local step nothing changes, after a communication it holds anew.
    """

    start: str
    renewed: str
    kept: tuple[str, ...]
    title = "unchanged within a round"
    premises = ("start", "renewed", "kept")

    def apply(self, state: State) -> Inequality:
        start, renewed = state.inequality(self.start), state.inequality(self.renewed)
        if not start.covers(FIRST):
            raise ProofError(f"{self.start} does not hold at step 0")
        if not renewed.covers(COMMUNICATION):
            raise ProofError(f"{self.renewed} does not hold at every communication")
        names = []
        for atom, _ in start.form:
            if not isinstance(atom, One):
                if not isinstance(atom, Named) or atom.shift:
                    raise ProofError(f"{self.start}: {atom!r} is no quantity at step t")
                names.append(atom.name)
        following = {atom if isinstance(atom, One) else Named(atom.name, 1): c for atom, c in start.form}  # type: ignore[attr-defined]
        if renewed.table != following:
            raise ProofError(f"{self.renewed} is not the same relation between the next values")
        facts = [state.inequality(name) for name in self.kept]
        for quantity in names:
            change = {Named(quantity, 1): ONE, Named(quantity): -ONE}
            if not any(f.equal and f.table == change and f.covers(LOCAL) for f in facts):
                raise ProofError(f"no step says that {quantity} does not change at local steps")
        equal = start.equal and renewed.equal
        return Inequality(start.form, equal, EVERY, all_uses([start, renewed, *facts]))
