"""A client's plain loss: what a method that knows nothing of compositions sees of each kind of problem.

    shared_composite   h_k(x; z) + f(g_k(x; z))      one sample z in all places: the nesting of expectations is ignored
    local_composite    f_k(g_k(x; z); z)             the same
    conditional        f_xi(g_eta(x, xi))            one eta for each xi
    meta               f_k(x; z)                     the loss before any fine-tuning
    federated          F_k(x; z)                     the loss itself

Except for the last two, the expectation of such a loss is not F_k, however large the batch: this is the bias that the
compositional methods are there to remove.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, State, average
from ..methods.fcsg import ConditionalBatch
from ..methods.fedavg import compositional_gradient


class AtEveryStep(Method):
    """A method whose models are averaged after every step; every client sends a model, unless it says otherwise."""

    def communicate(self, problem: Any, state: Any, t: int) -> State:
        averaged: State = replace(state, x=average(state.x))
        return averaged

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, T * problem.dim)


LOCAL_LOSSES = ("meta", "federated")  # kinds whose clients' losses are no compositions


def plain_gradient(problem: Any, x: Tensor, draws: Draws, b: int) -> Tensor:
    """The mean of the gradients of b plain losses at x_k: (runs, clients, dim) -> same."""
    if problem.kind == "conditional":
        return ConditionalBatch.draw(problem, draws, b, m=1).gradient(problem, x)
    if problem.kind in LOCAL_LOSSES:
        return problem.local_gradient(x, problem.sample(draws, b))
    gradients = [_of_one_sample(problem, x, problem.sample(draws, 1, purpose=f"sample {i}")) for i in range(b)]
    return sum(gradients[1:], gradients[0]) / b


def _of_one_sample(problem: Any, x: Tensor, sample: Any) -> Tensor:
    y = problem.inner(x, sample)
    if problem.kind == "shared_composite":
        return compositional_gradient(problem, x, y, sample)
    return problem.inner_vjp(x, problem.outer_gradient(y, sample), sample)


def plain_value(problem: Any, x: Tensor, sample: Any = None) -> Tensor:
    """The loss of a client at x_k, (runs, clients): exact, or f_k at a batch's inner value. Has no noise on local losses."""
    return problem.local_value(x) if problem.kind in LOCAL_LOSSES else problem.outer(problem.inner(x, sample))
