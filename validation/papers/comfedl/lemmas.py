"""ComFedL: Lemmas 2 to 4 and the descent of one local step.

wbar_s is the server model at the beginning of the round, C_s the clients that take part in it; averages are over C_s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ....algorithms.engine.method import client_mean
from ...lemmas.link import LemmaChain, Link, at, inside_rounds, observed, step_in_round
from ...lemmas.metrics import client_gradient, per_run, square_mean
from ...lemmas.trace import Numbers, Step, StepMetric


def metrics(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    eta = numbers["eta"]

    def estimator_error_sq(step: Step) -> Tensor:
        """||ubar_{s,t} - U_{s,0}||^2."""
        active = step.stepped.active
        moved = client_mean(step.before.x - step.stepped.x, active)
        used = moved / per_run(eta, moved)
        ideal = client_mean(client_gradient(step.problem, step.start.x), active)
        return (used - ideal).square().sum(-1)

    return {
        "gradient_sq": lambda step: step.problem.gradient(client_mean(step.start.x)).square().sum(-1),
        "change": lambda step: (
            step.problem.objective(_mean(step, "stepped")) - step.problem.objective(_mean(step, "before"))
        ),
        "client_drift_sq": lambda step: square_mean(step.before.x - step.start.x, step.stepped.active),
        "mean_drift": mean_drift,
        "estimator_error": lambda step: estimator_error_sq(step).sqrt(),
        "estimator_error_sq": estimator_error_sq,
    }


def _mean(step: Step, which: str) -> Tensor:
    return client_mean(getattr(step, which).x, step.stepped.active)


def mean_drift(step: Step) -> Tensor:
    """||wbar_{s,t} - wbar_s||."""
    return (_mean(step, "before") - client_mean(step.start.x)).square().sum(-1).sqrt()


def _chain(variance: str) -> LemmaChain:
    return LemmaChain(
        metrics,
        (
            Link(
                "comfedl.lemma_2_step", at("client_drift_sq"), {"t": step_in_round("gradient_sq")}, keeps=inside_rounds
            ),
            Link(
                "comfedl.lemma_2",
                lambda r: r["mean_drift"] ** 2,
                keeps=inside_rounds,
                feeds="mean_drift",
                fed=lambda right, _: math.sqrt(right),
            ),
            Link(
                f"comfedl.{variance}_step",
                at("estimator_error_sq"),
                observed(at, "client_drift_sq"),
            ),
            Link(
                f"comfedl.{variance}",
                at("estimator_error_sq"),
                feeds="estimator_error",
                fed=lambda right, _: math.sqrt(right),
            ),
            Link(
                "comfedl.descent",
                at("change"),
                observed(at, "gradient_sq", "mean_drift", "estimator_error"),
            ),
        ),
        period="tau",
        extra_steps=0,
    )


GENERAL, SPECIAL = _chain("lemma_3"), _chain("lemma_4")
