"""Composing lemmas by code: an upper bound that is linear in what a run would measure, and the moves of a proof.

A `Chain` carries an upper bound and the conditions collected on the way. `insert` checks the sign of a coefficient, `limit`,
`at_most` and `scale` certify the inequality that they use on the region of the conditions that they record, and raise where
they cannot. What a chain does not check: that a bound put in for an observable, and an inequality added by `plus`, hold
(they are the paper's lemmas, as printed), and that a substitution sweeps the whole region of the conditions beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from ..language.notation import slack_symbol
from ..language.theorem import Condition, DeclarationError, Derived, Statement, Term
from .certificates import nonnegative_coefficients, prove_nonnegative


@dataclass(frozen=True)
class Chain:
    """An upper bound under construction; `steps` says in words what was done."""

    expr: sp.Expr
    conditions: tuple[Condition, ...] = ()
    steps: tuple[str, ...] = ()

    def coefficient(self, observable: sp.Symbol) -> sp.Expr:
        """The coefficient of an observable, in which the bound must be linear."""
        coefficient = sp.diff(self.expr, observable)
        if coefficient.has(observable):
            raise DeclarationError(f"the chain is not linear in {observable}")
        return coefficient

    def plus(self, expr: sp.Expr, step: str) -> Chain:
        """Add another inequality with the same direction."""
        return replace(self, expr=self.expr + expr, steps=(*self.steps, step))

    def require(self, *conditions: Condition) -> Chain:
        """Record conditions that a later move relies on."""
        new = tuple(condition for condition in conditions if condition not in self.conditions)
        return replace(self, conditions=self.conditions + new)

    def insert(self, observable: sp.Symbol, bound: sp.Expr, step: str) -> Chain:
        """Replace an observable by an upper bound of it."""
        coefficient = self.coefficient(observable)
        if not nonnegative_coefficients(coefficient):
            raise DeclarationError(f"{step}: the coefficient {coefficient} of {observable} may be negative")
        expr = self.expr.xreplace({observable: bound})
        return replace(self, expr=expr, steps=(*self.steps, step))

    def limit(
        self,
        observable: sp.Symbol,
        by: sp.Expr,
        step: str,
        conditions: tuple[Condition, ...] = (),
        substitution: Mapping[sp.Symbol, sp.Expr] | None = None,
    ) -> Chain:
        """Raise the coefficient of a nonnegative observable to `by` (0 drops it), under conditions.

        The substitution must sweep the region that the conditions describe; `by - coefficient >= 0` is then certified.
        """
        coefficient = self.coefficient(observable)
        if prove_nonnegative(by - coefficient, substitution) is None:
            raise DeclarationError(f"{step}: {coefficient} <= {by} does not follow from {[str(c) for c in conditions]}")
        expr = self.expr.xreplace({observable: sp.Integer(0)}) + by * observable
        return replace(self, expr=expr, steps=(*self.steps, step)).require(*conditions)

    def at_most(
        self,
        part: sp.Expr,
        by: sp.Expr,
        step: str,
        *conditions: Condition,
        substitution: Mapping[sp.Symbol, sp.Expr] | None = None,
    ) -> Chain:
        """Replace a factor such as (1 - beta)**2 by an upper bound; every occurrence must have a nonnegative cofactor.

        The substitution must sweep the region that the conditions describe, and say first what a symbol for a factor
        stands for; `by - part >= 0` is then certified.
        """
        if prove_nonnegative(by - part, substitution) is None:
            raise DeclarationError(f"{step}: {part} <= {by} does not follow from {[str(c) for c in conditions]}")
        marker = slack_symbol("part")
        marked = self.expr.xreplace({part: marker})
        if not marked.has(marker):
            raise DeclarationError(f"{step}: {part} does not occur in {self.expr}")
        if not nonnegative_coefficients(sp.expand(sp.diff(marked, marker))):
            raise DeclarationError(f"{step}: {part} has a cofactor that may be negative")
        return replace(self, expr=marked.xreplace({marker: by}), steps=(*self.steps, step)).require(*conditions)

    def scale(
        self,
        factor: sp.Expr,
        step: str,
        conditions: tuple[Condition, ...] = (),
        substitution: Mapping[sp.Symbol, sp.Expr] | None = None,
    ) -> Chain:
        """Multiply by a factor that is certified to be nonnegative, on the region that the conditions describe."""
        if prove_nonnegative(factor, substitution) is None:
            raise DeclarationError(f"{step}: the factor {factor} may be negative")
        return replace(self, expr=sp.expand(self.expr * factor), steps=(*self.steps, step)).require(*conditions)

    def statement(
        self,
        terms: tuple[Term, ...],
        derived: tuple[Derived, ...] = (),
        schedule: Mapping[str, sp.Expr] | None = None,
        *,
        label: str = "composed",
    ) -> Statement:
        """What the chain ends in: these terms of its bound, its conditions, and its steps as a note."""
        return Statement(label, terms, self.conditions, derived, schedule or {}, note="; ".join(self.steps))


def split(expr: sp.Expr, groups: Mapping[str, tuple[sp.Symbol, ...]], rest: str) -> tuple[Term, ...]:
    """Sort the summands of a bound into named terms.

    Args:
        groups: term name -> markers; a summand goes to the first group whose every marker it contains.
        rest: name of the term that takes what no group claims.
    """
    parts: dict[str, sp.Expr] = {}
    for summand in sp.Add.make_args(sp.expand(expr)):
        name = next((n for n, markers in groups.items() if all(summand.has(m) for m in markers)), rest)
        parts[name] = parts.get(name, sp.Integer(0)) + summand
    ordered = [*groups, rest] if rest not in groups else [*groups]
    return tuple(Term(name, sp.factor_terms(parts[name])) for name in ordered if name in parts)


# --- how Lipschitz and smoothness constants combine: constants of a whole from those of its parts ---


@dataclass(frozen=True)
class Smooth:
    """A map with a Lipschitz constant and a Lipschitz constant of its derivative."""

    lipschitz: sp.Expr
    smoothness: sp.Expr

    def of(self, inner: Smooth) -> Smooth:
        """The composition self(inner(x)): D = Df(g) Dg, and Df(g) Dg - Df(g') Dg' is split at Df(g) Dg'."""
        return Smooth(
            self.lipschitz * inner.lipschitz,
            self.lipschitz * inner.smoothness + self.smoothness * inner.lipschitz**2,
        )

    def scaled(self, factor: sp.Expr) -> Smooth:
        return Smooth(factor * self.lipschitz, factor * self.smoothness)

    def __add__(self, other: Smooth) -> Smooth:
        return Smooth(self.lipschitz + other.lipschitz, self.smoothness + other.smoothness)


IDENTITY = Smooth(sp.Integer(1), sp.Integer(0))


def root_mean_square(mean: sp.Expr, deviation: sp.Expr) -> sp.Expr:
    """Bound of the root of E|X|^2 by those of |E X| and of the root of E|X - E X|^2, in a norm that has an inner product."""
    return sp.sqrt(mean**2 + deviation**2)


def plug_in_bias(outer: Smooth, inner: Smooth, deviation: sp.Expr) -> sp.Expr:
    """Bound of the bias of Dg Df(y) when y is off by `deviation` in the mean, y independent of Dg."""
    return inner.lipschitz * outer.smoothness * deviation
