"""FedDRO: Lemmas F.2 to F.6 along a run of Algorithm 2.

ybar^t is the estimate that step t computes, as in the paper; x_k^t is the model before step t, after the averaging.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ....algorithms.engine.method import client_mean
from ....algorithms.methods.fedavg import compositional_gradient
from ...lemmas.link import LemmaChain, Link, after, at, before, change, inside_rounds, observed, step_in_round
from ...lemmas.metrics import consensus, gradient_sq, mean_square, objective
from ...lemmas.trace import Array, Numbers, Step, StepMetric, Trace


def metrics(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    return {
        "objective": objective,
        "gradient_sq": gradient_sq,
        "consensus": consensus,
        "inner_error": inner_error,
        "direction_sq": direction_sq,
    }


def inner_error(step: Step) -> torch.Tensor:
    """||ybar^t - (1/K) sum_k g_k(x_k^t)||^2."""
    return (client_mean(step.stepped.y - step.problem.inner(step.before.x))).square().sum(-1)


def direction_sq(step: Step) -> torch.Tensor:
    """||E[dbar^t]||^2 given x^t and ybar^t, as the proof takes it."""
    return mean_square(compositional_gradient(step.problem, step.before.x, step.stepped.y))


def _potential(trace: Trace) -> Array:
    return trace["objective"] + trace["inner_error"]


def _consensus_sum(trace: Trace) -> Array:
    """(steps, seeds): the sum over l = t_s..t-1 of the consensus error."""
    drift, total = trace["consensus"], np.zeros_like(trace["consensus"])
    for t in range(1, len(drift)):
        if t % trace.period:
            total[t] = total[t - 1] + drift[t - 1]
    return total


CHAIN = LemmaChain(
    metrics,
    (
        Link(
            "feddro.lemma_f_3",
            at("consensus"),
            {"consensus_sum": _consensus_sum, "elapsed": step_in_round("consensus")},
            keeps=inside_rounds,
            note="the left side is squared, as the proof has it; at the start of a round both sides are 0",
        ),
        Link(
            "feddro.lemma_f_4",
            after("inner_error"),
            observed(before, "inner_error", "direction_sq", consensus_error="consensus"),
            between=("composed",),
        ),
        Link(
            "feddro.lemma_f_2",
            change("objective"),
            observed(before, "gradient_sq", "direction_sq", "inner_error", consensus_error="consensus"),
        ),
        Link(
            "feddro.lemma_f_5",
            lambda r: np.diff(_potential(r), axis=0),
            observed(before, "gradient_sq", consensus_error="consensus"),
        ),
        Link(
            "feddro.theorem_f_6",
            lambda r: (_potential(r)[-1] - _potential(r)[0])[None, :],
            {"gradient_sq": lambda r: r["gradient_sq"][:-1].mean(axis=0)[None, :]},
            ends_round=None,
        ),
    ),
    period="I",
)
