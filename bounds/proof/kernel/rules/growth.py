"""Recursions Q_{t+1} <= a Q_t + c: the discrete Gronwall inequality within a round, a contraction over the whole run, and weights that
change with the step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from ..facts import Inequality, State, fact_form, inequality, refuse_part
from ..region import Certificate
from ..scalars import At, Atom, Named, One, Scalar, Total, at, quantity, scalar, weighted_total
from ..setting import COMMUNICATION, EVERY, LATER, LOCAL
from ..signomial import CLOCK, ONE, ZERO, ProofError, Signomial, clock, moves
from .base import Rule, all_uses
from .rounds import bounded_by

_TERMS = 24


@dataclass(frozen=True)
class Gronwall(Rule):
    """The sum over the local steps t < T of a nonnegative quantity Q that grows in a round and starts afresh in the next one.

    Premises: Q_{t+1} <= a Q_t + R_t + c at local steps; Q_{t+1} <= S_t + e at communications; R, S nonnegative combinations of
    nonnegative quantities, c, e >= 0. With n steps in a round, a <= 1 + r/n for the number r = `rate` and exp(r) <= `growth` = g,
    induction over the position j in a round that starts with the value P gives
    Q <= (1 + r/n)^j P + sum of (1 + r/n)^(j-1-i) (R_i + c) over i < j <= g (P + sum of R_i over i < j + j c).
    A round has at most n - 1 local positions j, the first m of them before T: P and each R are counted at most n - 1 times, and
    m e + m (m-1)/2 c <= m (e + (n-2)/2 c). So, where e + (n-2)/2 c >= 0 (at n = 1 there is no local step),
    sum of Q over local t <= g ((n-1) (Q_0 + sum of R over local t + sum of S over communications) + T (e + (n-2)/2 c)).
    """

    quantity: str
    local: str
    reset: str
    rate: Signomial
    growth: Signomial
    certificates: tuple[Certificate, ...] = ()
    title = "Gronwall's inequality within a round"
    premises = ("local", "reset")

    def apply(self, state: State) -> Inequality:
        state.nonnegative_quantity(self.quantity)
        after = quantity(self.quantity, 1)
        grown, c, first = bounded_by(state, self.local, after, LOCAL)
        begun, e, second = bounded_by(state, self.reset, after, COMMUNICATION)
        factor = grown.pop(Named(self.quantity), ZERO)
        n, T, g = state.period, state.horizon, self.growth
        exceeds_exponential(g, self.rate)
        steady = e + (n - 2) / 2 * c
        used = all_uses([state.inequality(name) for name in self.uses]) | first | second
        for what, number in (("1 + rate/n minus the factor", 1 + self.rate / n - factor), ("the constant", steady)):
            used |= state.nonnegative(f"{what}: ({number!r})", number, self.certificates)
        table: dict[Atom, Signomial] = {}

        def add(name: str, coefficient: Signomial, *, communications: bool) -> None:
            atom = Total(name, communications)
            table[atom] = table.get(atom, ZERO) + coefficient

        def add_local(name: str, coefficient: Signomial) -> None:
            add(name, coefficient, communications=False)
            add(name, -coefficient, communications=True)

        add_local(self.quantity, ONE)
        for atom, coefficient in grown.items():
            add_local(atom.name, -g * (n - 1) * coefficient)
        for atom, coefficient in begun.items():
            add(atom.name, -g * (n - 1) * coefficient, communications=True)
        table |= {At(self.quantity): -g * (n - 1), One(): -g * T * steady}
        return Inequality(fact_form(table), False, None, used)


@dataclass(frozen=True)
class Geometric(Rule):
    """Q_T <= a^T Q_0 + r from Q_{t+1} <= a Q_t + c at every step, where a >= 0, r >= 0 and c <= (1 - a) r.

    Q_{t+1} - r <= a (Q_t - r), so that Q_T - r <= a^T (Q_0 - r), and a^T r >= 0 is left out. a^T is a power of the statement.
    """

    quantity: str
    step: str
    factor: Signomial
    rest: Signomial
    certificates: tuple[Certificate, ...] = ()
    title = "contraction at every step"
    premises = ("step",)

    def apply(self, state: State) -> Inequality:
        fact = state.inequality(self.step)
        if fact.phases != EVERY:
            raise ProofError(f"{self.step} does not hold at every step")
        table = fact.table
        before, constant = table.pop(Named(self.quantity), ZERO), -table.pop(One(), ZERO)
        if table != {Named(self.quantity, 1): ONE} or before != -self.factor:
            raise ProofError(
                f"{self.step} does not say that {self.quantity}[+1] <= ({self.factor!r}) {self.quantity} + c"
            )
        used = fact.uses
        for what, number in (
            ("the factor", self.factor),
            ("the rest", self.rest),
            ("(1 - factor) rest - c", (1 - self.factor) * self.rest - constant),
        ):
            used |= state.nonnegative(f"{what}: ({number!r})", number, self.certificates)
        right = self.power(state) * at(self.quantity) + self.rest
        return inequality(state, at(self.quantity, end=True), right, used, phases=None)

    def power(self, state: State) -> Signomial:
        """The power of the statement that is a^T.

        Raises:
            ProofError: it has none.
        """
        for param, made in state.region.exponentials.items():
            if made == (self.factor, state.horizon):
                return param.number
        raise ProofError(f"the statement has no power ({self.factor!r})^({state.horizon!r})")


@dataclass(frozen=True)
class Weighted(Rule):
    """sum of w(T + o) Q_T + S <= sum of w(o) Q_0 + C from sum of w(s + 1) Q_{t+1} + sum of u(s) M_t <= sum of w(s) Q_t + c(s).

    s = t + o is what the clock shows at step t, and every quantity Q has a weight w, a polynomial in s. Every quantity M that is
    `summed` has a sum u of whole powers of s; S is the sum over t < T of what these add. c is a sum of powers of s that are 0 or negative
    and whole, and C its sum over t < T: T for the power 0, for each other one the constant of the statement that is that sum. What is
    said of every step telescopes, whatever the signs of the quantities. With `start` = 1 it is said of the steps t >= 1 only: then
    w(o + 1) Q_1 stands in the place of w(o) Q_0, and S and C lack what t = 0 adds.
    """

    weights: tuple[tuple[str, Signomial], ...]
    step: str
    summed: tuple[tuple[str, Signomial], ...] = ()
    start: int = 0
    title = "weights that change with the step, summed"
    premises = ("step",)

    def apply(self, state: State) -> Inequality:
        if state.offset is None:
            raise ProofError("the derivation has no clock")
        fact = state.inequality(self.step, position=True)
        if self.start not in (0, 1):
            raise ProofError("the first step of a sum is 0 or 1")
        refuse_part(fact, self.step, LATER if self.start else EVERY)
        if any(param.moving for _, weight in (*self.weights, *self.summed) for param in weight.params - {CLOCK}):
            raise ProofError("a weight depends on the step by more than the clock")
        for names in ([name for name, _ in self.weights], [name for name, _ in self.summed]):
            if not self.weights or len(set(names)) != len(names) or not set(names) <= state.quantities.keys():
                raise ProofError("wanted a weight for each of some quantities")
        after, before = self._sum(clock() + 1, lambda name: quantity(name, 1)), self._sum(clock(), quantity)
        added = Scalar(())
        for name, weight in self.summed:
            added = added + weight * quantity(name)
        table = fact.table
        constant = -table.pop(One(), ZERO)
        if table != state.form(after + added - before):
            raise ProofError(f"{self.step} does not say that {after + added!r} <= {before!r} + c")
        left = self._sum(self._end(state), lambda name: at(name, end=True))
        for name, weight in self.summed:
            left = left + weighted_total(name, weight)
        right = scalar(self._added(state, constant))
        if self.start:
            for name, weight in self.summed:
                left = left - weight.substitute(CLOCK, state.offset) * at(name)
            right = right - constant.substitute(CLOCK, state.offset)
        first = state.offset + self.start
        right = right + self._sum(first, lambda name: at(name, self.start))
        return inequality(state, left, right, fact.uses, phases=None)

    def _added(self, state: State, constant: Signomial) -> Signomial:
        """The sum over 0 <= t < T of what is added at step t."""
        total = ZERO
        for monomial, coefficient in constant.terms:
            power = Fraction(dict(monomial).get(CLOCK, 0))
            rest = Signomial([(tuple((p, e) for p, e in monomial if p != CLOCK), coefficient)])
            if moves(rest) or power > 0:
                raise ProofError(
                    f"{self.step}: what is added depends on the step by more than negative powers of the clock"
                )
            total = total + rest * (sum_of_clock(state, power) if power else state.horizon)
        return total

    def _sum(self, shown: Signomial, of: Callable[[str], Scalar]) -> Scalar:
        """The weighted sum where the clock shows this."""
        total = Scalar(())
        for name, weight in self.weights:
            total = total + weight.substitute(CLOCK, shown) * of(name)
        return total

    @staticmethod
    def _end(state: State) -> Signomial:
        """What the clock shows at step T: the constant of the statement that is this sum, where there is one."""
        assert state.offset is not None
        shown = state.horizon + state.offset
        named = (p for p, made in state.region.formulas.items() if made == shown and p not in state.region.powers)
        return next((param.number for param in named), shown)


def sum_of_clock(state: State, power: Fraction) -> Signomial:
    """The sum over 0 <= t < T of a power of what the clock shows: the constant of the statement that is this sum.

    Raises:
        ProofError: there is none.
    """
    for param, made in state.region.sums.items():
        if made == (state.offset, state.horizon, power):
            return param.number
    raise ProofError(f"no constant of the statement is the sum of {clock()!r}^({power}) over the steps")


def exceeds_exponential(bound: Signomial, rate: Signomial) -> None:
    """Raises unless the number `bound` is at least exp(`rate`), by the series and a geometric bound of its rest."""
    r, b = _number(rate), _number(bound)
    if not 0 <= r < _TERMS:
        raise ProofError(f"the rate {r} is not between 0 and {_TERMS}")
    series = sum((r**k / factorial(k) for k in range(_TERMS)), Fraction(0))
    rest = r**_TERMS / factorial(_TERMS) / (1 - r / (_TERMS + 1))
    if b < series + rest:
        raise ProofError(f"the growth {b} is not certified to be at least exp({r})")


def _number(value: Signomial) -> Fraction:
    if value.params:
        raise ProofError(f"{value!r}: wanted a number")
    return value.at({})
