"""Estimated constants: what the adversary finds, times a safety factor. They prove nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..certificate import Certificate
from ..conformance.kinds import get_kind
from ..kinds import AbstractProblem
from .adversary import Budget, maximise


def estimated_certificates(problem: AbstractProblem, budget: Budget, factor: float) -> Mapping[str, Certificate]:
    """Every constant that the kind requires: the largest ratio found by gradient ascent, times `factor`.

    The points tried are within about `budget.farthest` of 0 in each space, and the start of the problem.
    """
    if not factor >= 1:
        raise ValueError(f"the safety factor must be at least 1, got {factor}")
    certificates = {}
    for quantity in get_kind(problem.kind).required:
        inequality = get_kind(problem.kind).inequalities[quantity]
        hints = (problem.initial_point,) if inequality.space == "x" else ()
        attack = maximise(partial(inequality.ratio, problem), inequality.size(problem), inequality.pair, budget, hints)
        certificates[quantity] = Certificate(
            quantity,
            factor * max(attack.ratio, 0.0),
            "estimated",
            f"No proof: {factor} times the largest of {attack.evaluations} ratios found by gradient ascent.",
            f"points tried within about {budget.farthest} of 0",
        )
    return certificates
