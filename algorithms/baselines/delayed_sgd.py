"""Delayed SGD: the server steps along gradients that the clients computed at models of up to D steps ago.

Our formulation of SGD with bounded delays, as asynchronous clients make them: Agarwal, Duchi, "Distributed delayed
stochastic optimization", NeurIPS 2011.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, choice, descend
from ..engine.oracles import PLAIN_ORACLES
from ..engine.schedule import Schedule, at
from .plain import plain_gradient


@dataclass(frozen=True, kw_only=True)
class DelayedState(State):
    """x^t at every client; past: x^{t-1}, ..., x^{t-D}, (runs, clients, D, dim), x^0 in the place of what was never."""

    past: Tensor


@dataclass(frozen=True, eq=False)
class DelayedSGD(Method):
    """x^{t+1} = x^t - eta (1/N) sum_i g_i(x^{t - d_i}), the models before step 0 being x^0.

    Args:
        eta: step size, in [x]^2 / [f].
        D: largest delay, in steps, at least 1; without delays it is minibatch SGD.
        b: batch size; the sample is drawn at the step at which the gradient arrives.
        delays: "fixed": every d_i is D; "random": each is uniform on {0, ..., D}, anew for every client and step.
    """

    name: ClassVar[str] = "delayed_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {"iterations": "T", "rounds": "T", "samples": "b*T", "model_messages": "T"}
    quantities: ClassVar[Mapping[str, str]] = {"D": "delay"}

    eta: Scalar | Schedule
    D: int
    b: int = 1
    delays: str = choice("fixed", "random")

    def init(self, problem: Any, start: Start, draws: Draws) -> DelayedState:
        x = start.models(problem, draws)
        return DelayedState(x=x, past=x.unsqueeze(2).expand(-1, -1, self.D, -1).contiguous())

    def local_step(self, problem: Any, state: DelayedState, draws: Draws, t: int) -> DelayedState:
        models = torch.cat((state.x.unsqueeze(2), state.past), 2)  # x^t, x^{t-1}, ..., x^{t-D}
        stale = models[:, :, self.D]
        if self.delays == "random":
            delay = draws.integers("delay", self.D + 1)[..., None, None]
            stale = models.gather(2, delay.expand(-1, -1, 1, models.shape[-1])).squeeze(2)
        x = descend(state.x, at(self.eta, t), plain_gradient(problem, stale, draws, self.b))
        return DelayedState(x=x, past=models[:, :, : self.D].contiguous())

    def communicate(self, problem: Any, state: DelayedState, t: int) -> DelayedState:
        return replace(state, x=average(state.x))

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, T * problem.dim)
