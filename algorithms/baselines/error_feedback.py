"""Error feedback: the clients send the largest entries of their steps and remember what they left out.

Our formulation of SGD with top-k sparsification and memory, Stich, Cordonnier, Jaggi, "Sparsified SGD with memory",
NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..engine.compressors import largest_entries
from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average
from ..engine.oracles import PLAIN_ORACLES
from ..engine.schedule import Schedule, at
from .plain import plain_gradient


@dataclass(frozen=True, kw_only=True)
class ErrorFeedbackState(State):
    """x; error: the memories e_i of what was not sent, like x."""

    error: Tensor


@dataclass(frozen=True, eq=False)
class ErrorFeedback(Method):
    """v_i = e_i + eta g_i, x <- x - (1/N) sum_i C(v_i), e_i <- v_i - C(v_i), C the k largest entries; e_i = 0 at the start.

    Args:
        eta: step size, in [x]^2 / [f].
        k: how many entries are sent; all when there are no more, which is minibatch SGD. C has the accuracy k / dim.
        b: batch size.
    """

    name: ClassVar[str] = "error_feedback"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {"iterations": "T", "rounds": "T", "samples": "b*T"}

    eta: Scalar | Schedule
    k: int
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> ErrorFeedbackState:
        x = start.models(problem, draws)
        return ErrorFeedbackState(x=x, error=x.new_zeros(x.shape))

    def local_step(self, problem: Any, state: ErrorFeedbackState, draws: Draws, t: int) -> ErrorFeedbackState:
        step = state.error + at(self.eta, t) * plain_gradient(problem, state.x, draws, self.b)
        sent = largest_entries(step, self.k)
        return ErrorFeedbackState(x=state.x - sent, error=step - sent)

    def communicate(self, problem: Any, state: ErrorFeedbackState, t: int) -> ErrorFeedbackState:
        return ErrorFeedbackState(x=average(state.x), error=state.error)

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, T * min(self.k, problem.dim))
