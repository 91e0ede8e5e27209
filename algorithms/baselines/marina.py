"""MARINA: compressed differences of gradients, and once in a while, at random, the gradients themselves.

Our formulation of Gorbunov, Burlachenko, Li, Richtarik, "MARINA: faster non-convex distributed learning with compression",
ICML 2021, and of its variant for stochastic gradients with one batch size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...errors import InputError
from ..engine.compressors import sparsified
from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, choice, descend
from ..engine.oracles import PLAIN_ORACLES
from ..engine.schedule import Schedule, at


@dataclass(frozen=True, kw_only=True)
class MARINAState(State):
    """x^t; previous: x^{t-1}; g: the shared estimate g^{t-1}. All like x."""

    previous: Tensor
    g: Tensor


@dataclass(frozen=True, eq=False)
class MARINA(Method):
    """g = (1/N) sum_i grad F_i(x) with probability p, else g + (1/N) sum_i C(grad F_i(x) - grad F_i(x before)); x <- x - eta g.

    Args:
        eta: step size, in [x]^2 / [f].
        p: probability that the gradients are sent, in (0, 1], one coin for all clients; at t = 0 they always are.
        ratio: a power of 2; C keeps a coordinate with probability 1 / ratio and makes it `ratio` times as large.
        b: batch size of a gradient, and of a difference, whose two gradients have one sample.
        oracle: "sample" for batches, "exact" for the gradients of the F_i, as in the box.

    What is sent is counted as its mean; over a grid of p the mean over the grid.
    """

    name: ClassVar[str] = "marina"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {
        "iterations": "T",
        "rounds": "T",
        "samples": "b*T",
        "model_messages": "1 + (T - 1)*(p + (1 - p)/ratio)",
    }
    constants: ClassVar[Mapping[str, str]] = {"compression_variance": "ratio - 1"}

    eta: Scalar | Schedule
    p: Scalar
    ratio: int
    b: int = 1
    oracle: str = choice("sample", "exact")

    def init(self, problem: Any, start: Start, draws: Draws) -> MARINAState:
        if bool((self.p > 1).any()) if isinstance(self.p, Tensor) else self.p > 1:
            raise InputError(f"{self.name}: p must be a probability, at most 1; got {self.p!r}")
        x = start.models(problem, draws)
        return MARINAState(x=x, previous=x, g=x)  # g: replaced at t = 0

    def local_step(self, problem: Any, state: MARINAState, draws: Draws, t: int) -> MARINAState:
        sample = None if self.oracle == "exact" else problem.sample(draws, self.b)
        g_i = problem.local_gradient(state.x, sample)
        if t > 0:
            difference = g_i - problem.local_gradient(state.previous, sample)
            coin = draws.uniform("coin", 1)[:, :1]
            g_i = torch.where(coin < self.p, g_i, state.g + sparsified(difference, draws, self.ratio))
        g = average(g_i)
        return MARINAState(x=descend(state.x, at(self.eta, t), g), previous=state.x, g=g)

    def communicate(self, problem: Any, state: MARINAState, t: int) -> MARINAState:
        return state  # the messages are the g_i of the step

    def messages(self, problem: Any, T: int) -> Messages:
        p = Fraction(self.p.mean().item() if isinstance(self.p, Tensor) else self.p)
        return Messages(T, problem.dim * (1 + (T - 1) * (p + (1 - p) / self.ratio)))
