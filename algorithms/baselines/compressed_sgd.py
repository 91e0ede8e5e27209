"""Compressed SGD: at every step the clients send an unbiased random sparsification of their gradients.

Our formulation of distributed SGD with an unbiased compressor, Alistarh et al., "QSGD: communication-efficient SGD via
gradient quantization and encoding", NeurIPS 2017; the compressor is that of `engine/compressors.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from ..engine.compressors import sparsified
from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, descend
from ..engine.oracles import PLAIN_ORACLES
from ..engine.schedule import Schedule, at
from .plain import plain_gradient


@dataclass(frozen=True, eq=False)
class CompressedSGD(Method):
    """x <- x - eta (1/N) sum_i C(g_i): C keeps a coordinate with probability 1 / ratio and makes it `ratio` times as large.

    Args:
        eta: step size, in [x]^2 / [f].
        ratio: a power of 2; C has the relative variance omega = ratio - 1, and 1 is minibatch SGD.
        b: batch size.

    What is sent is counted as its mean: dim / ratio numbers at a step.
    """

    name: ClassVar[str] = "compressed_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {
        "iterations": "T",
        "rounds": "T",
        "samples": "b*T",
        "model_messages": "T/ratio",
    }
    constants: ClassVar[Mapping[str, str]] = {"compression_variance": "ratio - 1"}

    eta: Scalar | Schedule
    ratio: int
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return State(x=start.models(problem, draws))

    def local_step(self, problem: Any, state: State, draws: Draws, t: int) -> State:
        sent = sparsified(plain_gradient(problem, state.x, draws, self.b), draws, self.ratio)
        return replace(state, x=descend(state.x, at(self.eta, t), sent))

    def communicate(self, problem: Any, state: State, t: int) -> State:
        return replace(state, x=average(state.x))

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, Fraction(T * problem.dim, self.ratio))
