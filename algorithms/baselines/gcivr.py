"""GCIVR: incremental variance reduction of the inner value, of its Jacobian and of the gradient of h.

Source: Haddadpour, Kamani, Mahdavi, Karbasi, "Learning distributionally robust models at scale via composite
optimization", ICLR 2022; the estimators of the composite part are those of CIVR, Zhang and Xiao, "A stochastic
composite gradient method with incremental variance reduction", NeurIPS 2019, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, descend
from ..engine.oracles import SHARED_ORACLES
from ..engine.schedule import Schedule, at


def jacobian(problem: Any, x: Tensor, sample: Any) -> Tensor:
    """dg_k(x_k), one row per inner coordinate, (runs, clients, inner_dim, dim)."""
    rows = torch.eye(problem.inner_dim, dtype=x.dtype, device=x.device).expand(*x.shape[:2], -1, -1)
    return torch.stack([problem.inner_vjp(x, row.contiguous(), sample) for row in rows.unbind(2)], dim=2)


@dataclass(frozen=True, kw_only=True)
class GCIVRState(State):
    """x_i; previous: x_{i-1}; y, z: estimates of g_k and of its Jacobian; u: of grad h_k, None where h = 0."""

    previous: Tensor
    y: Tensor
    z: Tensor
    u: Tensor | None = None


@dataclass(frozen=True, eq=False)
class GCIVR(Method):
    """y_i = y_{i-1} + g(x_i; S_i) - g(x_{i-1}; S_i), likewise z_i and u_i; x_{i+1} = x_i - eta (u_i + z_i^T grad f(y_i)).

    Args:
        eta: step size, in [x]^2 / [f].
        tau: length of an epoch; its first step starts the estimates anew.
        b: batch size of the differences, |S_i|.
        B: batch size at the beginning of an epoch; None takes the exact oracles, which is the finite-sum case.

    The paper has one machine. Here, as in the parallel version that the FedDRO paper runs, every client keeps the
    estimates of its own g_k and h_k, and their means are formed at every step: first of the inner value, then of the
    direction. Growing epochs and the proximal term of CIVR are left out.
    """

    name: ClassVar[str] = "gcivr"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite",)
    needs: ClassVar[tuple[str, ...]] = SHARED_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar | Schedule
    tau: int
    b: int = 1
    B: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> GCIVRState:
        x = start.models(problem, draws)
        y, z, u = self._oracles(problem, x, None)
        return GCIVRState(x=x, previous=x, y=y, z=z, u=u)  # y, z and u: replaced at t = 0

    def local_step(self, problem: Any, state: GCIVRState, draws: Draws, t: int) -> GCIVRState:
        if t % self.tau == 0:
            sample = None if self.B is None else problem.sample(draws, self.B, purpose="epoch")
            y, z, u = self._oracles(problem, state.x, sample)
        else:
            sample = problem.sample(draws, self.b)
            now, before = (self._oracles(problem, x, sample) for x in (state.x, state.previous))
            y, z = state.y + (now[0] - before[0]), state.z + (now[1] - before[1])
            u = None if state.u is None else state.u + (now[2] - before[2])
        v = problem.outer_gradient(average(y))
        gradient = (z * v.unsqueeze(-1)).transpose(2, 3).contiguous().sum(-1)
        x = descend(state.x, at(self.eta, t), gradient if u is None else u + gradient)
        return GCIVRState(x=x, previous=state.x, y=y, z=z, u=u)

    def _oracles(self, problem: Any, x: Tensor, sample: Any) -> tuple[Any, Any, Any]:
        return problem.inner(x, sample), jacobian(problem, x, sample), problem.extra_gradient(x, sample)

    def communicate(self, problem: Any, state: GCIVRState, t: int) -> GCIVRState:
        return replace(state, x=average(state.x))

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, T * problem.dim, T * problem.inner_dim)
