"""Rules for inequalities that are algebra: combinations of what is known with squares, meanings, instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..assumptions import free_point
from ..facts import Fact, Inequality, State, Uses, fact_form, inequality, phases_of, steps_of
from ..region import Certificate
from ..scalars import At, Atom, Inner, Named, One, Scalar, Total, dot, form, later, scalar, sq
from ..setting import EVERY
from ..signomial import ONE, ZERO, ProofError, Signomial, signomial
from ..terms import Sum, Term, Var, replaced
from .base import Rule, Weights, all_uses


@dataclass(frozen=True)
class Combine(Rule):
    """left <= right (or left = right) as a combination of earlier statements and squares.

    Inequalities have multipliers that are certified nonnegative; an equation is paired with a vector; a square is a squared
    norm, at a step or (with a quantity's name) summed. What is left over is certified nonnegative, atom by atom.
    """

    left: Scalar
    right: Scalar
    weights: Weights = ()
    squares: tuple[tuple[Signomial, Term], ...] = ()
    pairings: tuple[tuple[Signomial, str, Term], ...] = ()
    equal: bool = False
    certificates: tuple[Certificate, ...] = ()
    title = "combination"
    premises = ("weights", "pairings")

    def apply(self, state: State) -> Inequality:
        facts: list[Fact] = [state.inequality(name, position=True) for _, name in self.weights]
        facts += [state.equation(name, position=True) for _, name, _ in self.pairings]
        left, used = self.left_over(state)
        for atom, coefficient in left.items():
            used |= self._accept(state, atom, coefficient)
        phases = phases_of(facts) if facts else self._phases()
        if phases is None and self.squares:
            raise ProofError("a square is about a step, not about the run")
        found = inequality(state, self.left, self.right, all_uses(facts) | used, phases=phases, equal=self.equal)
        _one_scope(found.table, phases)
        return found

    def _phases(self) -> frozenset[str] | None:
        """Without premises: about the run if it speaks of sums, else about every step."""
        run = any(isinstance(atom, Total | At) for _, atom in (*self.left.parts, *self.right.parts))
        return None if run else EVERY

    def left_over(self, state: State) -> tuple[dict[Atom, Signomial], frozenset[str]]:
        """claim - combination of the premises has to be minus a nonnegative number: returns that number."""
        used: frozenset[str] = frozenset()
        total: dict[Atom, Signomial] = {}

        def add(table: Mapping[Atom, Signomial], factor: Signomial) -> None:
            for atom, c in table.items():
                total[atom] = total.get(atom, ZERO) + factor * c

        add(state.form(self.left - self.right), signomial(-1))
        for factor, name in self.weights:
            fact = state.inequality(name, position=True)
            if self.equal and not fact.equal:
                raise ProofError(f"{name} is no equation")
            if not fact.equal:
                used |= state.nonnegative(f"the multiplier {factor!r} of {name}", factor, self.certificates)
            add(fact.table, factor)
        for factor, term in self.squares:
            if self.equal:
                raise ProofError("no squares in an equation")
            used |= state.nonnegative(f"the coefficient {factor!r} of a square", factor, self.certificates)
            add(state.form(sq(term)), -factor)
        for factor, name, term in self.pairings:
            equation = state.equation(name, position=True)
            add(form(state.algebra, Scalar(((ONE, Inner(equation.term, term)),))), factor)
        return {atom: c for atom, c in total.items() if c}, used

    def _accept(self, state: State, atom: Atom, coefficient: Signomial) -> frozenset[str]:
        if self.equal or not state.nonnegative_atom(atom):
            if state.region.expanded(coefficient):
                raise ProofError(f"left over: ({coefficient!r}) {atom!r}, which has no sign")
            return frozenset()
        if state.region.expanded(coefficient):
            state.dropped.append(f"({coefficient!r}) {atom!r}")
        return state.nonnegative(f"left over: ({coefficient!r}) {atom!r}", coefficient, self.certificates)


def _one_scope(table: Mapping[Atom, Signomial], phases: frozenset[str] | None) -> None:
    for atom in table:
        about_run = isinstance(atom, Total | At)
        if not isinstance(atom, One) and about_run != (phases is None):
            raise ProofError(f"{atom!r} in a statement about {'the run' if phases is None else 'a step'}")


@dataclass(frozen=True)
class Open(Rule):
    """A named quantity is what it was declared to be, at step t + shift for every t (variables before the start are constants)."""

    quantity: str
    shift: int = 0
    title = "meaning of a quantity"

    def apply(self, state: State) -> Inequality:
        if self.quantity not in state.quantities:
            raise ProofError(f"{self.quantity}: no such quantity")
        meaning = state.quantities[self.quantity].meaning
        moved = Scalar(tuple((c, later(atom, self.shift)) for c, atom in meaning.parts))
        return inequality(state, scalar(Named(self.quantity, self.shift)), moved, equal=True)


@dataclass(frozen=True)
class Instance(Rule):
    """A statement about free points, at terms that are known as early and have no other indices."""

    step: str
    points: tuple[tuple[str, Term], ...]
    title = "instance"
    premises = ("step",)

    def apply(self, state: State) -> Inequality:
        fact = state.inequality(self.step)
        table = {name: state.algebra.normal(term) for name, term in self.points}
        for name, term in table.items():
            variable = free_point(state, name)
            if state.algebra.space(term) != variable.space:
                raise ProofError(f"{name}: {term!r} is in another space")
            if not state.algebra.support(term) <= state.algebra.support(Var(name)):
                raise ProofError(f"{name}: {term!r} depends on {state.algebra.support(term)!r}")
        parts = []
        for atom, c in fact.form:
            if isinstance(atom, Inner):
                parts.append((c, Inner(replaced(atom.left, dict(table)), replaced(atom.right, dict(table)))))
            elif isinstance(atom, One):
                parts.append((c, atom))  # type: ignore[arg-type]
            else:
                raise ProofError(f"{atom!r}: only inner products are instantiated")
        form_ = state.form(Scalar(tuple(parts)))
        return Inequality(fact_form(form_), fact.equal, fact.phases, fact.uses)


Sizes = tuple[tuple[str, Term, Signomial], ...]
"""(step, a, r) each, where the step says that ||a||^2 <= r^2 R."""


def _sized(state: State, parts: Sizes, common: Scalar, shown: str) -> tuple[frozenset[str], Uses]:
    """At which steps all parts are as large as they say, and on what that rests; `shown` is R in an error.

    Raises:
        ProofError: one is not, or its root may be negative; or these are not statements about a step.
    """
    facts = [state.inequality(name, position=True) for name, _, _ in parts]
    for fact, (name, term, size) in zip(facts, parts, strict=True):
        if fact.table != state.form(sq(term) - size**2 * common):
            raise ProofError(f"{name} does not say that ||{term!r}||^2 <= ({size!r})^2{shown}")
        if not size.nonnegative:
            raise ProofError(f"the root {size!r} may be negative")
    return steps_of(facts), all_uses(facts)


@dataclass(frozen=True)
class Triangle(Rule):
    """||a_1 + ... + a_n||^2 <= (r_1 + ... + r_n)^2 R from ||a_i||^2 <= r_i^2 R; `parts` holds (step, a_i, r_i)."""

    parts: Sizes
    common: Scalar
    title = "triangle inequality"
    premises = ("parts",)

    def apply(self, state: State) -> Inequality:
        phases, uses = _sized(state, self.parts, self.common, f" {self.common!r}")
        total, root = Sum(()), ZERO
        for _, term, size in self.parts:
            total, root = total + term, root + size
        return inequality(state, sq(total), root**2 * self.common, uses, phases=phases)


@dataclass(frozen=True)
class CauchySchwarz(Rule):
    """<a, b> <= r s from ||a||^2 <= r^2 and ||b||^2 <= s^2; `parts` holds (step, a, r) and (step, b, s)."""

    parts: tuple[tuple[str, Term, Signomial], tuple[str, Term, Signomial]]
    title = "Cauchy-Schwarz inequality"
    premises = ("parts",)

    def apply(self, state: State) -> Inequality:
        phases, uses = _sized(state, self.parts, scalar(1), "")
        (_, a, r), (_, b, s) = self.parts
        return inequality(state, dot(a, b), scalar(r * s), uses, phases=phases)


@dataclass(frozen=True)
class Smaller(Rule):
    """left <= min(a, b) from left <= a and left <= b; `parts` holds (step, a) and (step, b)."""

    left: Scalar
    parts: tuple[tuple[str, Signomial], tuple[str, Signomial]]
    title = "the smaller of two bounds"
    premises = ("parts",)

    def apply(self, state: State) -> Inequality:
        facts = [state.inequality(name, position=True) for name in self.uses]
        for fact, (name, bound) in zip(facts, self.parts, strict=True):
            if fact.table != state.form(self.left - bound):
                raise ProofError(f"{name} does not say that {self.left!r} <= {bound!r}")
        (_, a), (_, b) = self.parts
        return inequality(state, self.left, scalar(a.least(b)), all_uses(facts), phases=steps_of(facts))
