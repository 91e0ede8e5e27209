"""Generalised meta federated learning: local steps on the loss after nu steps of fine-tuning.

Source: Jamali, Saber, Bae, "Generalized meta federated learning", Algorithm 1 with the local updates of Algorithm 2
(exact Hessian-vector products), 3 (first-order) and 4 (Hessian-free).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ...errors import InputError
from ..engine.draws import Draws
from ..engine.method import (
    Batches,
    Messages,
    Method,
    Scalar,
    Start,
    State,
    at_round_start,
    average,
    choice,
    descend,
    fraction,
    is_due,
    participants,
)
from ..engine.oracles import META_ORACLES
from ..engine.schedule import Schedule, at


@dataclass(frozen=True, eq=False)
class MetaFL(Method):
    """Algorithm 1 on F(w) = (1/N) sum_i f_i(w_nu^i), w_l^i = w_{l-1}^i - alpha grad f_i(w_{l-1}^i).

    Args:
        beta: local step size, in [x]^2 / [f].
        tau: local steps per round.
        D: batch size of the gradients; or one size for each of the nu + 1, at w_0, ..., w_nu.
        D_H: batch size of the Hessians, or one size for each of the nu, at w_0, ..., w_{nu-1}; those of D when None.
        m: number of agents that take part in a round, |A_k| = r N, drawn uniformly without replacement; all when None.
        variant: "exact", "first_order" or "hessian_free".
        delta: half-width of the Hessian-free difference, in [x]; has no use otherwise.
        nu: steps of fine-tuning; the problem's when None, otherwise the method descends another objective.

    alpha and nu belong to the objective and are the problem's. The 2 nu + 1 batches of one local step are independent.
    In line 12, r N must be a whole number: m is that number. Algorithm 1 writes N for the users and Theorem 8 n.
    The theorem's time average runs over all local steps of the averaged iterate of A_k, which is the state's average.
    """

    name: ClassVar[str] = "meta_fl"
    kinds: ClassVar[tuple[str, ...]] = ("meta",)
    needs: ClassVar[tuple[str, ...]] = META_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    beta: Scalar | Schedule
    tau: int
    D: Batches = 1
    D_H: Batches | None = None
    m: int | None = None
    variant: str = choice("exact", "first_order", "hessian_free")
    delta: Scalar = 1e-3
    nu: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        nu = self.nu or problem.nu
        for name, sizes, wanted in (("D", self.D, nu + 1), ("D_H", self.D_H, nu)):
            if isinstance(sizes, tuple) and len(sizes) != wanted:
                raise InputError(f"{self.name}: {name} must be one number or {wanted} of them (nu = {nu}); got {sizes}")
        return State(x=start.models(problem, draws), active=participants(draws, self.m, "agents"))

    def local_step(self, problem: Any, state: State, draws: Draws, t: int) -> State:
        state = at_round_start(state, draws, t, self.tau, self.m, "agents")
        return replace(state, x=descend(state.x, at(self.beta, t), self.meta_gradient(problem, state.x, draws)))

    def meta_gradient(self, problem: Any, w: Tensor, draws: Draws) -> Tensor:
        """The estimate (11), (31) or (35) of grad F_i at w_i, (runs, clients, dim)."""
        tuned, nu = [w], self.nu or problem.nu
        for l in range(nu):
            tuned.append(tuned[l] - problem.alpha * self._local_gradient(problem, tuned[l], draws, l))
        d = self._local_gradient(problem, tuned[-1], draws, nu)
        if self.variant == "first_order":
            return d
        for l in reversed(range(nu)):
            batch = problem.sample(draws, _size(self.D_H or self.D, l), purpose=f"hessian {l}")
            d = d - problem.alpha * self._hessian_times(problem, tuned[l], d, batch)
        return d

    def _local_gradient(self, problem: Any, w: Tensor, draws: Draws, l: int) -> Tensor:
        return problem.local_gradient(w, problem.sample(draws, _size(self.D, l), purpose=f"gradient {l}"))

    def _hessian_times(self, problem: Any, w: Tensor, d: Tensor, batch: Any) -> Tensor:
        if self.variant == "exact":
            return problem.local_hvp(w, d, batch)
        ahead, behind = (problem.local_gradient(w + sign * self.delta * d, batch) for sign in (1, -1))
        return (ahead - behind) / (2 * self.delta)

    def communicate(self, problem: Any, state: State, t: int) -> State:
        return replace(state, x=average(state.x, state.active)) if is_due(t, self.tau) else state

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.tau
        return Messages(rounds, rounds * problem.dim * fraction(problem, self.m))


def _size(sizes: Batches, l: int) -> int:
    return sizes if isinstance(sizes, int) else sizes[l]
