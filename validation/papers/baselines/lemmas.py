"""The baselines: the lemmas of docs/theory/baselines.md along a run.

v_k^t is the direction of client k at step t, vbar_t their mean, and a_t the mean of vbar_t given the past: exact, of the clients'
gradients, or for a conditional problem of the plug-in gradients. Step t moves from x_t to x_{t+1}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from ....algorithms.engine.method import client_mean
from ...lemmas.link import LemmaChain, Link, after, all_but_the_first, at, before, inside_rounds, mean_of, observed
from ...lemmas.metrics import consensus, directions, gradient_sq, mean_square, objective, per_run, square_mean
from ...lemmas.trace import Numbers, Step, StepMetric
from ...runs.recipe import optional
from ..fcsg.lemmas import DESCENT, plug_in_gradient

Expected = Callable[[Step], Tensor]


def with_expected(eta: Any, expected: Expected) -> dict[str, StepMetric]:
    """What the descent of a step speaks of; `expected` gives E[v_k^t] given the past, `(runs, clients, dim)`."""

    def bias_sq(step: Step) -> Tensor:
        gap: Tensor = step.problem.gradient(step.before.average) - client_mean(expected(step))
        return gap.square().sum(-1)

    return {
        "objective": objective,
        "gradient_sq": gradient_sq,
        "direction_sq": lambda step: mean_square(expected(step)),
        "bias_sq": bias_sq,
        "noise_sq": lambda step: mean_square(directions(step, eta) - expected(step)),
        "scaled_model_sq": lambda step: square_mean(step.before.x / per_run(eta, step.before.x)),
    }


def plain(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    """On plain losses the direction has the mean grad F_k(x_k)."""
    return {
        **with_expected(numbers["eta"], lambda step: step.problem.local_gradient(step.before.x)),
        "consensus": consensus,
    }


def plugged_in(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    """On a conditional problem it has that of the plug-in gradient with m inner samples."""
    m = optional(numbers, "m") or 1
    return with_expected(numbers["eta"], lambda step: plug_in_gradient(step.problem, step.before.x, m))


def composed(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    """SCGD: u_k is what step t uses, u_t what it starts from."""
    eta = numbers["eta"]
    return {
        "objective": objective,
        "gradient_sq": gradient_sq,
        "moment_sq": lambda step: square_mean(directions(step, eta)),
        "used_error": lambda step: square_mean(step.stepped.u - step.problem.inner(step.before.x)),
        "kept_error": lambda step: mean_square(step.before.u - step.problem.inner(step.before.x)),
    }


def _noise(lemma: str) -> Link:
    return Link(lemma, at("noise_sq"), feeds="noise_sq", difference_of=at("scaled_model_sq"))


def _local_sgd(drift: str, stands_for: Mapping[str, tuple[str, ...]]) -> LemmaChain:
    return LemmaChain(
        plain,
        (
            _noise("baselines.averaged_noise"),
            Link(
                "baselines.local_sgd_bias",
                at("bias_sq"),
                observed(at, consensus_error="consensus"),
                keeps=inside_rounds,
                note="at the start of a round both sides are 0",
            ),
            Link(drift, mean_of("consensus"), ends_round=None, feeds="consensus_error"),
            Link(
                "baselines.local_sgd_step",
                DESCENT,
                observed(before, "gradient_sq", "direction_sq", "bias_sq", "noise_sq"),
            ),
            Link(
                "baselines.local_sgd_descent",
                DESCENT,
                observed(before, "gradient_sq", "noise_sq", consensus_error="consensus"),
            ),
        ),
        period="p",
        stands_for=stands_for,
    )


LOCAL_SGD = _local_sgd("baselines.local_sgd_drift", {})
LOCAL_SGD_HETEROGENEITY = _local_sgd(
    "baselines.local_sgd_heterogeneity_drift", {"drift": ("heterogeneity", "noise_drift")}
)
MINIBATCH_SGD = LemmaChain(
    plain,
    (
        _noise("baselines.averaged_noise"),
        Link("baselines.minibatch_sgd_descent", DESCENT, observed(before, "gradient_sq", "noise_sq")),
    ),
)
SCGD = LemmaChain(  # the first inner value is drawn afresh: what is said of it begins one step later
    composed,
    (
        Link("baselines.scgd_moment", at("moment_sq"), feeds="moment_sq"),
        Link(
            "baselines.scgd_value",
            at("used_error"),
            observed(at, "kept_error"),
            keeps=all_but_the_first,
        ),
        Link(
            "baselines.scgd_estimate",
            after("kept_error"),
            observed(before, "kept_error"),
            keeps=all_but_the_first,
        ),
        Link("baselines.scgd_values", mean_of("used_error"), ends_round=None, feeds="used_error"),
        Link("baselines.scgd_descent", DESCENT, observed(before, "gradient_sq", "used_error", "moment_sq")),
    ),
    stands_for={"bias": ("inner_start", "inner_noise", "inner_drift")},
)
BIASED_SGD = LemmaChain(
    plugged_in,
    (
        _noise("baselines.biased_sgd_noise"),
        Link("baselines.biased_sgd_bias", at("bias_sq"), feeds="bias_sq"),
        Link(
            "baselines.biased_sgd_step",
            DESCENT,
            observed(before, "gradient_sq", "direction_sq", "bias_sq", "noise_sq"),
        ),
        Link("baselines.biased_sgd_descent", DESCENT, observed(before, "gradient_sq", "bias_sq", "noise_sq")),
    ),
)
