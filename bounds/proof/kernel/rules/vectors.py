"""Rules for equations between vectors."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Equation, Fact, Inequality, State, at_one_step, fact_form, phases_of, steps_of
from ..known import Known
from ..scalars import Scalar, later, sq
from ..setting import EVERY, LATER
from ..signomial import ProofError
from ..terms import Given, Mean, Sum, Term, Var, put_in, shifted
from .base import Rule, Weights, all_uses


@dataclass(frozen=True)
class Definition(Rule):
    """The update equation of a variable, at the phases for which it is declared (the one that covers `phase`)."""

    variable: str
    phase: str
    title = "update equation"

    def apply(self, state: State) -> Equation:
        variable = state.setting.variable(self.variable)
        for phases, term in variable.equations:
            if self.phase in phases:
                left = Var(self.variable, variable.defined)
                return Equation(state.algebra.normal(left - term), phases, text=f"{left!r} = {term!r}")
        raise ProofError(f"{self.variable}: no equation at the phase {self.phase!r}")


@dataclass(frozen=True)
class Project(Rule):
    """The mean over indices and the conditional expectation of an equation."""

    equation: str
    over: tuple[str, ...] = ()
    given: Known | None = None
    title = "mean of an equation"
    premises = ("equation",)

    def apply(self, state: State) -> Equation:
        fact = state.equation(self.equation, position=True)
        term: Term = fact.term
        for index in self.over:
            term = Mean(index, term)
        if self.given is not None:
            term = Given(self.given, term)
        return Equation(state.algebra.normal(term), fact.phases, fact.uses, self._text(fact))

    def _text(self, fact: Equation) -> str:
        parts = [f"mean over {index}" for index in self.over]
        parts += [f"expectation given {self.given!r}"] if self.given is not None else []
        return f"{' and '.join(parts)} of {self.equation}"


@dataclass(frozen=True)
class Linear(Rule):
    """A linear combination of equations, compared with `claim` = 0."""

    claim: Term
    weights: Weights
    title = "linear combination"
    premises = ("weights",)

    def apply(self, state: State) -> Equation:
        facts = [state.equation(name, position=True) for _, name in self.weights]
        parts = [(c * d, node) for (c, _), f in zip(self.weights, facts, strict=True) for d, node in f.term.parts]
        left = state.algebra.normal(Sum(tuple(parts)) - self.claim) if parts else state.algebra.normal(self.claim)
        if left.parts:
            raise ProofError(f"left over: {left!r}")
        phases = phases_of(facts)
        return Equation(state.algebra.normal(self.claim), phases or EVERY, all_uses(facts), f"{self.claim!r} = 0")


@dataclass(frozen=True)
class Cases(Rule):
    """The same conclusion at different kinds of step."""

    cases: tuple[str, ...]
    title = "all kinds of step"
    premises = ("cases",)

    def apply(self, state: State) -> Fact:
        if not self.cases:
            raise ProofError("no case")
        for name in self.cases:
            state.used.add(name)
        facts = [state.facts.get(name) for name in self.cases]
        first = facts[0]
        phases: frozenset[str] = frozenset()
        for fact in facts:
            if not isinstance(fact, Equation | Inequality) or type(fact) is not type(first) or fact.phases is None:
                raise ProofError("cases: wanted statements of one kind about a step")
            phases |= fact.phases
        if isinstance(first, Equation) and all(f.term == first.term for f in facts):  # type: ignore[union-attr]
            return Equation(first.term, phases, all_uses(facts), first.text)
        if isinstance(first, Inequality) and all(f.form == first.form for f in facts):  # type: ignore[union-attr]
            return Inequality(first.form, all(f.equal for f in facts), phases, all_uses(facts), first.text)  # type: ignore[union-attr]
        raise ProofError("the cases have different conclusions")


@dataclass(frozen=True)
class Later(Rule):
    """A statement about step t, read at step t + by."""

    step: str
    by: int
    title = "another step"
    premises = ("step",)

    def apply(self, state: State) -> Fact:
        state.used.add(self.step)
        fact = state.facts.get(self.step)
        if not isinstance(fact, Equation | Inequality) or fact.phases is None:
            raise ProofError(f"{self.step}: wanted a statement about a step")
        if at_one_step(fact):
            raise ProofError(f"{self.step} speaks of the position in the round, or of the step itself")
        phases = _moved(fact.phases, self.by)
        if isinstance(fact, Equation):
            return Equation(state.algebra.normal(shifted(fact.term, self.by)), phases, fact.uses)
        table = Scalar(tuple((c, later(atom, self.by)) for atom, c in fact.form))
        return Inequality(fact_form(state.form(table)), fact.equal, phases, fact.uses)


def _moved(phases: frozenset[str], by: int) -> frozenset[str]:
    """Where a statement holds when it is read at t + by: only statements for all t >= 0 or all t >= 1 can be moved."""
    start = 0 if phases == EVERY else 1 if phases == LATER else None
    if start is None or start - by > 1:
        raise ProofError(f"a statement about {sorted(phases)} cannot be read {by:+d} steps later")
    return EVERY if start - by <= 0 else LATER


@dataclass(frozen=True)
class Vanishing(Rule):
    """v = 0 almost surely, from ||v||^2 <= 0."""

    step: str
    term: Term
    title = "a vector without length"
    premises = ("step",)

    def apply(self, state: State) -> Equation:
        fact = state.inequality(self.step)
        if fact.table != state.form(sq(self.term)):
            raise ProofError(f"{self.step} does not say that ||{self.term!r}||^2 <= 0")
        if fact.phases is None:
            raise ProofError("wanted a statement about a step")
        return Equation(state.algebra.normal(self.term), fact.phases, fact.uses, f"{self.term!r} = 0")


@dataclass(frozen=True)
class Substitute(Rule):
    """A term does not change when equal vectors are put in for variables: term - term[v -> w] = 0 from v - w = 0 for each.

    `table` holds (v, w, step), v at one step of time. A conditional expectation stays that given the same samples.
    """

    term: Term
    table: tuple[tuple[Var, Term, str], ...]
    title = "equal vectors put in"
    premises = ("table",)

    def apply(self, state: State) -> Equation:
        facts = [state.equation(name) for name in self.uses]
        for fact, (old, new, name) in zip(facts, self.table, strict=True):
            if fact.term != state.algebra.normal(old - new):
                raise ProofError(f"{name} does not say that {old!r} = {new!r}")
        put = {old: new for old, new, _ in self.table}
        if len(put) != len(self.table) or not facts:
            raise ProofError("wanted each variable once")
        changed = put_in(self.term, lambda var: put.get(var, var))
        text = f"{self.term!r} = {changed!r}"
        return Equation(state.algebra.normal(self.term - changed), steps_of(facts), all_uses(facts), text)
