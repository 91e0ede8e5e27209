"""The descent lemma."""

from __future__ import annotations

from dataclasses import dataclass

from ..assumptions import free_point, gradient_at, in_its_space
from ..facts import Inequality, State, inequality
from ..scalars import dot, sq, value
from ..setting import EVERY
from ..signomial import ProofError, Signomial
from ..terms import Term, Var, replaced
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
    premises = ("lipschitz",)

    def apply(self, state: State) -> Inequality:
        objective = state.setting.objective(self.objective)
        fact, p, r = state.inequality(self.lipschitz), Var(objective.at), Var(self.other)
        gradient = gradient_at(state, self.objective, self.start)
        self._free(state, objective.at)
        gap = objective.gradient - replaced(objective.gradient, {objective.at: r})
        wanted = state.form(sq(gap) - self.constant**2 * sq(p - r))
        if dict(fact.form) != wanted or fact.phases != EVERY:
            raise ProofError(f"{self.lipschitz} does not say that the gradient of {self.objective} is Lipschitz")
        if not self.constant.nonnegative:
            raise ProofError(f"the smoothness constant {self.constant!r} may be negative")
        in_its_space(state, self.objective, self.end)
        step = self.end - self.start
        right = value(self.objective, self.start) + dot(gradient, step) + self.constant / 2 * sq(step)
        return inequality(state, value(self.objective, self.end), right, fact.uses | {objective.assumption})

    def _free(self, state: State, at: str) -> None:
        if self.other == at:
            raise ProofError("the Lipschitz bound is about two free points")
        points = [free_point(state, name) for name in (at, self.other)]
        if any(point.index for point in points) or points[0].space != points[1].space:
            raise ProofError("the points of the Lipschitz bound must be free and without an index")
