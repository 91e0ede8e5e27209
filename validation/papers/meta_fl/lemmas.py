"""Meta FL: the constants of Lemmas 4 to 7 and 10 to 12, each against what a run shows of it.

The proof of Theorem 8 has no lemma for its descent; these are the constants that it is made of. Second moments are those of
the run's own steps. Mean errors and the moments of Lemmas 5 and 12 are exact expectations over every outcome of the
batches (`meta_law`) at the clients' models, the largest over the clients, at the steps 0, 1, 3, 7, ... of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ....algorithms.engine.method import broadcast, client_mean
from ...lemmas.link import LemmaChain, Link, at
from ...lemmas.metrics import directions, dispersion, gradient_sq, square_mean
from ...lemmas.trace import Array, Numbers, Step, StepMetric, Trace
from .law import Estimate, gradient_error_sq, hessian_error_sq, noise_moment, path_error

MANY_OUTCOMES = 100_000
"""Outcomes of one estimate beyond which its mean is taken at the start of the run only, where all seeds are alike."""
MOMENTS = {1: "h_nu", 2: "h2_nu", 4: "h4_nu"}
"""Power of the path error of Lemma 5 -> its constant."""
_USED = {
    "exact": ("mean_error", *MOMENTS.values(), "kbar_G", "kbar_H"),
    "first_order": ("mean_error", "h_nu", "h2_nu"),
    "hessian_free": ("mean_error", "h_nu", "h2_nu"),
}
"""The constants that the lemma of each variant is made of: only the exact estimate needs fourth moments."""


def _metrics(variant: str) -> Callable[[Any, Numbers], Mapping[str, StepMetric]]:
    def build(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
        return {**along_the_run(numbers), **_expectations(problem, numbers, variant)}

    return build


def along_the_run(numbers: Numbers) -> Mapping[str, StepMetric]:
    beta = numbers["beta"]

    def curvature(step: Step) -> Tensor:
        """||grad F_i(w) - grad F_i(v)|| over ||w - v|| for the two ends of a local step, squares averaged first."""
        moved = square_mean(step.stepped.x - step.before.x)
        change = square_mean(
            step.problem.client_gradients(step.stepped.x) - step.problem.client_gradients(step.before.x)
        )
        return (change / moved.clamp_min(1e-300)).sqrt()

    def estimate_error(step: Step) -> Tensor:
        return square_mean(directions(step, beta) - step.problem.client_gradients(step.before.x))

    def heterogeneity(step: Step) -> Tensor:
        everywhere = broadcast(client_mean(step.before.x, step.stepped.active), step.before.x.shape[1])
        return dispersion(step.problem.client_gradients(everywhere))

    return {
        "gradient_sq": gradient_sq,
        "curvature": curvature,
        "estimate_error": estimate_error,
        "heterogeneity": heterogeneity,
    }


def _expectations(problem: Any, numbers: Numbers, variant: str) -> Mapping[str, StepMetric]:
    """Exact expectations, the largest over the clients; NaN at the steps where they are not taken."""
    law = cache(lambda: Estimate.of(problem, variant, numbers))
    parts: dict[str, Callable[[Tensor], Tensor]] = {
        "mean_error": lambda w: torch.linalg.vector_norm(law().mean(w) - problem.client_gradients(w), dim=-1),
        **{name: _moment(law, power) for power, name in MOMENTS.items()},
        "kbar_G": lambda w: noise_moment(law().gradients, w, gradient_error_sq(problem)),
        "kbar_H": lambda w: noise_moment(law().hessians, w, hessian_error_sq(problem)),
    }
    return {name: at_some_steps(part, law, name) for name, part in parts.items() if name in _USED[variant]}


def _moment(law: Callable[[], Estimate], power: int) -> Callable[[Tensor], Tensor]:
    return lambda w: path_error(law(), w, law().problem.fine_tuned(w)[-1], power)


def at_some_steps(per_client: Callable[[Tensor], Tensor], law: Callable[[], Estimate], name: str) -> StepMetric:
    """The largest over the clients of a function of the models `(runs, clients, dim)`, at the steps 2^k - 1."""

    def metric(step: Step) -> Tensor:
        w = step.before.x
        at_start_only = name == "mean_error" and law().outcomes > MANY_OUTCOMES
        is_taken = step.t == 0 if at_start_only else step.t & (step.t + 1) == 0
        if not is_taken:
            return torch.full((len(w),), torch.nan, dtype=w.dtype, device=w.device)
        all_alike = bool((w == w[:1]).all())
        return per_client(w[:1] if all_alike else w).amax(1).expand(len(w))

    return metric


def _taken(name: str) -> Callable[[Trace, int], Array]:
    return lambda trace, _rows: ~np.isnan(trace[name]).any(axis=1)


def _expectation(lemma: str, name: str, constant: str, part: str) -> Link:
    return Link(
        lemma,
        at(name),
        right=lambda derived: derived[constant],
        ends_round=None,
        keeps=_taken(name),
        part=part,
        of_a_run=False,
        note="exact expectation, largest over the clients",
    )


def _chain(variant: str, estimate: str, suffix: str) -> LemmaChain:
    used = _USED[variant]
    fourth = (("kbar_G", "gradient batch"), ("kbar_H", "Hessian batch"))
    return LemmaChain(
        _metrics(variant),
        (
            Link(
                "meta_fl.lemma_4",
                at("curvature"),
                right=lambda derived: derived["L_F"],
                note="Lipschitz constant seen along a step",
            ),
            *(_expectation("meta_fl.lemma_12", name, name, part) for name, part in fourth if name in used),
            *(
                _expectation("meta_fl.lemma_5", name, name, f"path error, moment {power}")
                for power, name in MOMENTS.items()
                if name in used
            ),
            _expectation(estimate, "mean_error", f"mu_F{suffix}", "mean error"),
            Link(
                estimate,
                at("estimate_error"),
                right=lambda derived: derived[f"sigma_F{suffix}"] ** 2,
                part="second moment",
                note="mean over all clients of E||estimate - grad F_i||^2",
            ),
            Link("meta_fl.lemma_7", at("heterogeneity"), note="at the mean model"),
        ),
        period="tau",
        extra_steps=0,
    )


EXACT = _chain("exact", "meta_fl.lemma_6", "")
FIRST_ORDER = _chain("first_order", "meta_fl.lemma_10", "_FO")
HESSIAN_FREE = _chain("hessian_free", "meta_fl.lemma_11", "_HF")
