"""FCSG: the lemmas of appendices A and B, and what those of the papers with momentum share.

Step t computes u_{t+1} at x_t and moves to x_{t+1}. grad Fhat is the exact expectation of the plug-in gradient with m
inner samples, a sum over their finite support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

import torch
from torch import Tensor

from ....algorithms.engine.method import broadcast, client_mean
from ....errors import InputError
from ....synthetic.kinds import InnerSample
from ...lemmas.link import LemmaChain, Link, all_but_the_first, at, before, change, observed
from ...lemmas.metrics import consensus, directions, dispersion, gradient_sq, mean_square, objective, square_mean
from ...lemmas.trace import Array, Numbers, Step, StepMetric, Trace

MOST_OUTCOMES = 1000


def plug_in_gradient(problem: Any, x: Tensor, m: int) -> Tensor:
    """grad Fhat^n(x_n) with m inner samples, `(runs, clients, dim)`: every outcome of xi and of the m draws.

    The draws are exchangeable, since only their mean enters.

    Raises:
        InputError: there are too many outcomes.
    """
    outer, outer_weights = problem.outer_atoms()
    inner, inner_weights = problem.inner_atoms(outer)
    if (outcomes := comb(len(inner_weights) + m - 1, m)) > MOST_OUTCOMES:
        raise InputError(f"m: wanted at most {MOST_OUTCOMES} outcomes of {m} inner samples to sum over, got {outcomes}")
    total = torch.zeros_like(x)
    for combination in combinations_with_replacement(range(len(inner_weights)), m):
        orders = factorial(m) // prod(factorial(count) for count in Counter(combination).values())
        weight = orders * prod(float(inner_weights[i]) for i in combination)
        drawn = InnerSample(inner.eta[..., list(combination)])
        each = problem.sample_gradient(x, outer, drawn)
        total = total + weight * (each * outer_weights.view(1, 1, -1, 1)).sum(2)
    return total


def metrics(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    """FCSG: the estimate is read off the step."""
    alpha, m = numbers["alpha"], int(numbers["m"])

    def noise_sq(step: Step) -> Tensor:
        return square_mean(directions(step, alpha) - plug_in_gradient(step.problem, step.before.x, m))

    return {
        "objective": objective,
        "gradient_sq": gradient_sq,
        "consensus": consensus,
        "noise_sq": noise_sq,
        "gradient_spread": lambda step: dispersion(plug_in_gradient(step.problem, step.before.x, m)),
    }


def with_estimate(at_the_mean: bool) -> Any:
    """Metrics of the methods that carry an estimate u; its target is grad Fhat(xbar_t), or the mean of the clients'."""

    def build(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
        m = int(numbers["m"])

        def error_sq(step: Step) -> Tensor:
            x = broadcast(step.before.average, step.before.x.shape[1]) if at_the_mean else step.before.x
            return (client_mean(step.stepped.u - plug_in_gradient(step.problem, x, m))).square().sum(-1)

        return {
            "objective": objective,
            "gradient_sq": gradient_sq,
            "consensus": consensus,
            "error_sq": error_sq,
            "update_sq": lambda step: mean_square(step.stepped.u),
            "dispersion_sq": lambda step: dispersion(step.after.u),
            "first_deviation_sq": lambda step: (step.before.x[:, 0] - step.before.average).square().sum(-1),
        }

    return build


def summed_consensus(r: Trace) -> Array:
    return r["consensus"][: r.steps].sum(axis=0)[None, :]


def per_step(total: float, trace: Trace) -> float:
    """The mean over the steps of what a lemma sums over the run."""
    return total / trace.steps


DESCENT = change("objective")
CHANGE = observed(before, "gradient_sq", consensus_error="consensus")
ESTIMATE = {**CHANGE, **observed(before, "update_sq", "error_sq")}


CHAIN = LemmaChain(
    metrics,
    (
        Link(
            "fcsg.lemma_a_3_variance",
            at("noise_sq"),
            keeps=all_but_the_first,
            note="mean over the clients; the first batch has another size",
        ),
        Link("fcsg.lemma_a_3", at("gradient_spread"), observed(at, consensus_error="consensus")),
        Link("fcsg.lemma_b_1", summed_consensus, ends_round=None, feeds="consensus_error", fed=per_step),
        Link("fcsg.lemma_b_2", DESCENT, CHANGE),
    ),
    period="q",
)
