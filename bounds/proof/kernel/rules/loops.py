"""Rules for a loop of nu steps: induction over the steps, and what was proved of the loop before, read in reverse."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import BEFORE_THE_END, ONE_LAW, Inequality, Mark, Moment, State, Supposed, Uses, inequality, refuse_part
from ..known import Known
from ..scalars import Inner, Scalar, later, scalar, sq
from ..sequences import Numbers, number
from ..setting import EVERY, FIRST
from ..signomial import ONE, ProofError, Signomial, moves
from ..terms import Sum, Term, Var, put_in, variables
from .base import Rule


def _numbers(state: State) -> Numbers:
    if state.numbers is None:
        raise ProofError("wanted a loop")
    return state.numbers


@dataclass(frozen=True)
class Suppose(Rule):
    """left <= bound at step t: the hypothesis of an induction. Only `Induction` on the same claim removes it from what rests on it."""

    left: Scalar
    bound: Signomial
    title = "hypothesis of the induction"

    def apply(self, state: State) -> Inequality:
        _numbers(state)
        return inequality(state, self.left, scalar(self.bound), frozenset({Supposed.of(self.left, self.bound)}))


@dataclass(frozen=True)
class Induction(Rule):
    """left <= bound for 0 <= t <= nu: it holds at t = 0 (`base`), and at t + 1 <= nu where it is supposed at t (`step`).

    At t + 1 the sequences in the bound have their next values.
    """

    left: Scalar
    bound: Signomial
    base: str
    step: str
    title = "induction over the steps"
    premises = ("base", "step")

    def apply(self, state: State) -> Inequality:
        numbers = _numbers(state)
        base, step = (state.inequality(name, position=True) for name in self.uses)
        if moves(tuple(c for c, _ in self.left.parts)):
            raise ProofError("wanted a left side without numbers that depend on the step")
        after = Scalar(tuple((c, later(atom, 1)) for c, atom in self.left.parts))
        if not base.covers(FIRST) or step.phases != EVERY:
            raise ProofError("wanted a statement about step 0 and one about every step")
        if base.table != state.form(self.left - numbers.at_start(self.bound)):
            raise ProofError(f"{self.base} does not say that {self.left!r} <= {numbers.at_start(self.bound)!r}")
        if step.table != state.form(after - numbers.after(self.bound)):
            raise ProofError(f"{self.step} does not say that {after!r} <= {numbers.after(self.bound)!r}")
        left = step.uses - {Supposed.of(self.left, self.bound), BEFORE_THE_END}
        found = inequality(state, self.left, scalar(self.bound), base.uses | left)
        refuse_part(found, "it")
        return found


@dataclass(frozen=True)
class Identity(Rule):
    """left = right for numbers at every step 0 <= t <= nu: equal at t = 0, and the next difference is `factor` times the one before."""

    left: Signomial
    right: Signomial
    factor: Signomial
    title = "two forms of a sequence"

    def apply(self, state: State) -> Inequality:
        numbers, apart = _numbers(state), self.left - self.right
        if state.region.expanded(numbers.at_start(apart)):
            raise ProofError(f"at the start they differ by {numbers.at_start(apart)!r}")
        rest = state.region.expanded(numbers.after(apart) - self.factor * apart)
        if rest:
            raise ProofError(f"left over: {rest!r}")
        return inequality(state, scalar(self.left), scalar(self.right), equal=True)


@dataclass(frozen=True)
class Along(Rule):
    """What was proved of every step of the loop before, of its variables v_l: at l = nu - 1 - t of those that are v reversed.

    With `end` at l = nu, where step t = 0 begins: about the reversed variables at step t - 1, and with the last values of sequences.
    """

    step: str
    left: Scalar
    bound: Signomial
    end: bool = False
    title = "the loop before, in reverse"

    def apply(self, state: State) -> Inequality:
        numbers, earlier = _numbers(state), state.earlier
        if earlier is None:
            raise ProofError("there is no loop before")
        fact = earlier.state.inequality(self.step, position=True)
        refuse_part(fact, self.step)
        if fact.table != earlier.state.form(self.left - self.bound):
            raise ProofError(f"{self.step} does not say that {self.left!r} <= {self.bound!r}")
        parts = []
        for c, atom in self.left.parts:
            if not isinstance(atom, Inner) or moves(c):
                raise ProofError(f"{atom!r}: wanted squared norms and inner products")
            parts.append((c, Inner(self._read(state, atom.left), self._read(state, atom.right))))
        bound = numbers.at_end(self.bound) if self.end else numbers.reversed(self.bound)
        uses: Uses = fact.uses | {ONE_LAW} if self.end else fact.uses | {ONE_LAW, BEFORE_THE_END}
        phases = FIRST if self.end else EVERY
        return inequality(state, Scalar(tuple(parts)), scalar(bound), uses, phases=phases, equal=fact.equal)

    def _read(self, state: State, term: Term) -> Term:
        assert state.earlier is not None
        table = state.earlier.reversed
        if not isinstance(term, Var | Sum) or (
            isinstance(term, Sum) and not all(isinstance(v, Var) for _, v in term.parts)
        ):
            raise ProofError(f"{term!r}: wanted a linear combination of variables")
        for name, shift in variables(term):
            if shift != 0 or name not in table:
                raise ProofError(f"{name} at step t {shift:+d} is not read in reverse")
        return put_in(term, lambda var: Var(table[var.name], -1 if self.end else 0))


@dataclass(frozen=True)
class ReversedPower(Rule):
    """X_{nu-1-t} X_t c = X_nu at steps t < nu, for a sequence X of both loops with X_0 = 1 and X_{t+1} = c X_t."""

    name: str
    title = "a power in reverse"

    def apply(self, state: State) -> Inequality:
        numbers = _numbers(state)
        own, other = numbers.find(self.name), numbers.find(self.name, earlier=True)
        factor = own.after / own.now if own.positive else own.after
        if own != other or own.start != ONE or moves(factor):
            raise ProofError(f"{self.name} is no power in both loops")
        product = own.now * own.reversed * factor
        return inequality(state, scalar(product), scalar(own.end), frozenset({BEFORE_THE_END}), equal=True)


@dataclass(frozen=True)
class Length(Rule):
    """||v||^2 = l^2 at step 0: a name l for the length with which the loop starts."""

    vector: Term
    title = "a name for a length"

    @property
    def size(self) -> Signomial:
        """The name."""
        return number(f"|{self.vector!r}|", moving=False)

    def apply(self, state: State) -> Inequality:
        _numbers(state)
        if state.earlier is not None:
            raise ProofError("the length is that of the first loop")
        if not all(isinstance(node, Var) for _, node in state.algebra.normal(self.vector).parts):
            raise ProofError(f"{self.vector!r}: a name is given to the length of a linear combination of variables")
        return inequality(state, sq(self.vector), scalar(self.size**2), frozenset({ONE_LAW}), phases=FIRST, equal=True)


@dataclass(frozen=True)
class Sure(Rule):
    """|v| <= size for a vector that depends on no sample and on no index, from ||v||^2 <= size^2."""

    step: str
    vector: Term
    size: Signomial
    title = "a vector without samples"
    premises = ("step",)

    def apply(self, state: State) -> Moment:
        fact = state.inequality(self.step, position=True)
        support = state.algebra.support(state.algebra.normal(self.vector))
        if support.index or support.known.entries:
            raise ProofError(f"{self.vector!r} depends on {support!r}")
        if fact.table != state.form(sq(self.vector) - self.size**2) or not self.size.nonnegative:
            raise ProofError(f"{self.step} does not say that ||{self.vector!r}||^2 <= ({self.size!r})^2")
        if fact.phases != EVERY:
            raise ProofError("wanted a statement about every step")
        return Moment(state.algebra.normal(self.vector), None, self.size**2, False, fact.uses, repr(self.vector))


@dataclass(frozen=True)
class Conditional(Rule):
    """E[|v|^2 | given] <= bound from ||v||^2 <= bound, where no function takes the samples in `given`.

    These samples enter through free variables only, and what was proved of those holds whatever they are: so with the samples
    fixed, of which all others are independent. It does not where it rests on what was proved of the loop before, or on a name for
    a length: both are about the one law that the variables have.
    """

    step: str
    vector: Term
    bound: Signomial
    given: Known
    title = "the same given samples that enter through free variables"
    premises = ("step",)

    def apply(self, state: State) -> Moment:
        _numbers(state)
        fact = state.inequality(self.step, position=True)
        vector = state.algebra.normal(self.vector)
        if fact.table != state.form(sq(self.vector) - self.bound):
            raise ProofError(f"{self.step} does not say that ||{self.vector!r}||^2 <= {self.bound!r}")
        if fact.phases != EVERY:
            raise ProofError("wanted a statement about every step")
        if wrong := sorted(str(mark) for mark in fact.uses if isinstance(mark, Mark)):
            raise ProofError(f"it rests on what is {wrong[0]}")
        if state.algebra.support(vector).index:
            raise ProofError(f"{self.vector!r} depends on an index")
        for name, _, _ in self.given.entries:
            if state.setting.source(name).index or any(name in f.sources for f in state.setting.functions):
                raise ProofError(f"{name}: its samples enter not only through free variables")
        return Moment(vector, self.given, self.bound, False, fact.uses, repr(self.vector))
