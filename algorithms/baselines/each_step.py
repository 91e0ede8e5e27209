"""Methods that communicate at every step: less than a whole gradient, or late.

Compressed SGD: at every step the clients send an unbiased random sparsification of their gradients.
Error feedback: the clients send the largest entries of their steps and remember what they left out.
MARINA: compressed differences of gradients, and once in a while, at random, the gradients themselves.
Delayed SGD: the server steps along gradients that the clients computed at models of up to D steps ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...errors import InputError
from ..engine.compressors import entries, largest_entries, sparsified
from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, choice, descend
from ..engine.oracles import PLAIN_ORACLES, STEP_COSTS
from ..engine.schedule import Schedule, at
from .plain import AtEveryStep, plain_gradient


@dataclass(frozen=True, eq=False)
class CompressedSGD(AtEveryStep):
    """x <- x - eta (1/N) sum_i C(g_i): C keeps a coordinate with probability 1 / ratio and makes it `ratio` times as large.

    Args:
        eta: step size, in [x]^2 / [f].
        ratio: a power of 2; C has the relative variance omega = ratio - 1, and 1 is minibatch SGD.
        b: batch size.

    What is sent is counted as its mean: dim / ratio numbers at a step.

    Our formulation of distributed SGD with an unbiased compressor, Alistarh et al., "QSGD: communication-efficient SGD via
    gradient quantization and encoding", NeurIPS 2017; the compressor is that of `engine/compressors.py`.
    """

    name: ClassVar[str] = "compressed_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {**STEP_COSTS, "model_messages": "T/ratio"}
    constants: ClassVar[Mapping[str, str]] = {"compression_variance": "ratio - 1"}

    eta: Scalar | Schedule
    ratio: int
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return State(x=start.models(problem, draws))

    def local_step(self, problem: Any, state: State, draws: Draws, t: int) -> State:
        sent = sparsified(plain_gradient(problem, state.x, draws, self.b), draws, self.ratio)
        return replace(state, x=descend(state.x, at(self.eta, t), sent))

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, Fraction(T * problem.dim, self.ratio))


@dataclass(frozen=True, kw_only=True)
class ErrorFeedbackState(State):
    """x; error: the memories e_i of what was not sent, like x."""

    error: Tensor


@dataclass(frozen=True, eq=False)
class ErrorFeedback(AtEveryStep):
    """v_i = e_i + eta g_i, x <- x - (1/N) sum_i C(v_i), e_i <- v_i - C(v_i), C the k largest entries; e_i = 0 at the start.

    Args:
        eta: step size, in [x]^2 / [f].
        share: of the dim entries share * dim, rounded up, are sent; with 1 it is minibatch SGD. C has at least this accuracy.
        b: batch size.

    Over a grid of shares what is sent is counted as the mean over the grid.

    Our formulation of SGD with top-k sparsification and memory, Stich, Cordonnier, Jaggi, "Sparsified SGD with memory",
    NeurIPS 2018.
    """

    name: ClassVar[str] = "error_feedback"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = STEP_COSTS
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

    def messages(self, problem: Any, T: int) -> Messages:
        k = entries(self.share, problem.dim)
        return Messages(T, T * (Fraction(int(k.sum()), k.numel()) if isinstance(k, Tensor) else k))


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

    Our formulation of Gorbunov, Burlachenko, Li, Richtarik, "MARINA: faster non-convex distributed learning with compression",
    ICML 2021, and of its variant for stochastic gradients with one batch size.
    """

    name: ClassVar[str] = "marina"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {
        **STEP_COSTS,
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


@dataclass(frozen=True, kw_only=True)
class DelayedState(State):
    """x^t at every client; past: x^{t-1}, ..., x^{t-D}, (runs, clients, D, dim), x^0 in the place of what was never."""

    past: Tensor


@dataclass(frozen=True, eq=False)
class DelayedSGD(AtEveryStep):
    """x^{t+1} = x^t - eta (1/N) sum_i g_i(x^{t - d_i}), the models before step 0 being x^0.

    Args:
        eta: step size, in [x]^2 / [f].
        D: largest delay, in steps, at least 1; without delays it is minibatch SGD.
        b: batch size; the sample is drawn at the step at which the gradient arrives.
        delays: "fixed": every d_i is D; "random": each is uniform on {0, ..., D}, anew for every client and step.

    Our formulation of SGD with bounded delays, as asynchronous clients make them: Agarwal, Duchi, "Distributed delayed
    stochastic optimization", NeurIPS 2011.
    """

    name: ClassVar[str] = "delayed_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {**STEP_COSTS, "model_messages": "T"}
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
