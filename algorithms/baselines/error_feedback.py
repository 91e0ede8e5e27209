"""Error feedback: the clients send the largest entries of their steps and remember what they left out.

Our formulation of SGD with top-k sparsification and memory, Stich, Cordonnier, Jaggi, "Sparsified SGD with memory",
NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from torch import Tensor

from ..engine.compressors import entries, largest_entries
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
        share: of the dim entries share * dim, rounded up, are sent; with 1 it is minibatch SGD. C has at least this accuracy.
        b: batch size.

    Over a grid of shares what is sent is counted as the mean over the grid.
    """

    name: ClassVar[str] = "error_feedback"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {"iterations": "T", "rounds": "T", "samples": "b*T"}
    constants: ClassVar[Mapping[str, str]] = {"compression_accuracy": "share"}
    quantities: ClassVar[Mapping[str, str]] = {"share": "compression_accuracy"}

    eta: Scalar | Schedule
    share: Scalar
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> ErrorFeedbackState:
        x = start.models(problem, draws)
        return ErrorFeedbackState(x=x, error=x.new_zeros(x.shape))

    def local_step(self, problem: Any, state: ErrorFeedbackState, draws: Draws, t: int) -> ErrorFeedbackState:
        step = state.error + at(self.eta, t) * plain_gradient(problem, state.x, draws, self.b)
        sent = self.sent(step)
        return ErrorFeedbackState(x=state.x - sent, error=step - sent)

    def sent(self, v: Tensor) -> Tensor:
        """C(v), (runs, clients, dim) -> same."""
        return largest_entries(v, entries(self.share, v.shape[-1]))

    def communicate(self, problem: Any, state: ErrorFeedbackState, t: int) -> ErrorFeedbackState:
        return ErrorFeedbackState(x=average(state.x), error=state.error)

    def messages(self, problem: Any, T: int) -> Messages:
        k = entries(self.share, problem.dim)
        return Messages(T, T * (Fraction(int(k.sum()), k.numel()) if isinstance(k, Tensor) else k))
