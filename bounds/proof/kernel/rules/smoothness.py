"""The descent lemma."""

from __future__ import annotations

from dataclasses import dataclass

from ..assumptions import free_point
from ..facts import Inequality, State, inequality
from ..scalars import dot, sq, value
from ..setting import EVERY
from ..signomial import ProofError, Signomial
from ..terms import Term, Var, replaced, samples, variables
from .base import Rule


@dataclass(frozen=True)
class SmoothDescent(Rule):
    """F(a) <= F(b) + <grad F(b), a - b> + S/2 ||a - b||^2, from ||grad F(p) - grad F(r)||^2 <= S^2 ||p - r||^2 for free p, r.

    b is known before step t, so that the samples inside the gradient are new to it; a may be anything.
    """

    objective: str
    lipschitz: str
    constant: Signomial
    other: str
    start: Term
    end: Term
    title = "smoothness (descent lemma)"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.lipschitz,)

    def apply(self, state: State) -> Inequality:
        objective = state.setting.objective(self.objective)
        fact, p, r = state.inequality(self.lipschitz), Var(objective.at), Var(self.other)
        self._free(state, objective.at, objective.gradient)
        gap = objective.gradient - replaced(objective.gradient, {objective.at: r})
        wanted = state.form(sq(gap) - self.constant**2 * sq(p - r))
        if dict(fact.form) != wanted or fact.phases != EVERY:
            raise ProofError(f"{self.lipschitz} does not say that the gradient of {self.objective} is Lipschitz")
        if not self.constant.nonnegative:
            raise ProofError(f"the smoothness constant {self.constant!r} may be negative")
        for term, name in ((self.start, "start"), (self.end, "end")):
            if state.algebra.space(term) != state.setting.variable(objective.at).space:
                raise ProofError(f"the {name} is in another space")
        start = state.algebra.normal(self.start)
        if not state.algebra.support(start) <= state.algebra.support(p):
            raise ProofError(f"{start!r} is not known before the samples of the gradient")
        gradient = replaced(objective.gradient, {objective.at: start})
        step = self.end - self.start
        right = value(self.objective, self.start) + dot(gradient, step) + self.constant / 2 * sq(step)
        return inequality(state, value(self.objective, self.end), right, fact.uses | {objective.assumption})

    def _free(self, state: State, at: str, gradient: Term) -> None:
        names = {name for name, _ in variables(gradient)}
        if names != {at} or self.other == at or min(samples(gradient), default=0) < 0:
            raise ProofError("the gradient must depend on its point alone")
        if not state.algebra.support(state.algebra.normal(gradient)) <= state.algebra.support(Var(at)):
            raise ProofError("the gradient is not averaged over its samples")
        points = [free_point(state, name) for name in (at, self.other)]
        if any(point.index for point in points) or points[0].space != points[1].space:
            raise ProofError("the points of the Lipschitz bound must be free and without an index")
