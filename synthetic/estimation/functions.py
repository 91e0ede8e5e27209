"""Estimates of the constants of a problem that is made of torch functions, for which no module says what is inside.

What `estimate` does for an nn.Module is done here with less: the objective gap comes from descent and a lower bound, every
other constant from gradient ascent on its ratio, along a descent and around 0, and a constant of a composition is not above
what the chain rule gives for its parts. An estimate proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from torch import Tensor

from ..certificate import Certificate, upper
from ..conformance.kinds import get_kind
from ..kinds import AbstractProblem
from ..parts.adversary import Attack, Budget, maximise
from ..parts.composition import chain_rule
from .estimate import descent

_HINTS = 4
"""Number of points of the descent from which an ascent starts."""


def estimated_certificates(
    problem: AbstractProblem, budget: Budget, factor: float, lower_bound: float | None = None
) -> Mapping[str, Certificate]:
    """Every constant that the kind requires.

    Args:
        budget: how hard is sought; points within about `budget.farthest` of 0, and along the descent, are tried.
        factor: a safety factor, at least 1, on what is found.
        lower_bound: of the objective, where one is known; without it the gap is `factor` times the descent.

    Raises:
        ValueError: a factor below 1, or an objective below its bound.
    """
    if not factor >= 1:
        raise ValueError(f"the safety factor must be at least 1, got {factor}")
    run = descent(problem)
    found = {
        quantity: sought(problem, quantity, run, budget, factor)
        for quantity in get_kind(problem.kind).required
        if quantity != "objective_gap"
    }
    found["objective_gap"] = gap(problem, run, factor, lower_bound)
    return capped(problem, found, factor)


def sought(problem: AbstractProblem, quantity: str, run: Tensor, budget: Budget, factor: float) -> Certificate:
    """The largest ratio that gradient ascent finds, times the factor."""
    inequality = get_kind(problem.kind).inequalities[quantity]
    hints = tuple(run[:: max(1, len(run) // _HINTS)]) if inequality.space == "x" else ()
    attack: Attack = maximise(
        partial(inequality.ratio, problem), inequality.size(problem), inequality.pair, budget, hints
    )
    return Certificate(
        quantity,
        factor * max(attack.ratio, 0.0),
        "estimated",
        f"No proof: {factor} times the largest of {attack.evaluations} ratios found by gradient ascent.",
        f"points tried within about {budget.farthest} of 0, and along a descent from the start",
    )


def gap(problem: AbstractProblem, run: Tensor, factor: float, lower_bound: float | None) -> Certificate:
    """F at the start minus a lower bound, or `factor` times what the run descends."""
    values = problem.objective(run)
    start, least = float(values[0]), float(values.min())
    if lower_bound is None:
        said = (
            f"No proof: {factor} times the {start - least:.4g} by which a descent goes down; no lower bound was given."
        )
        return Certificate("objective_gap", factor * (start - least), "estimated", said, "the descent's last point")
    if least < lower_bound:
        raise ValueError(f"lower_bound: the objective is {least:.6g} on the descent, below {lower_bound:g}")
    said = (
        f"F at the start minus the given lower bound {lower_bound:g}; a descent goes down by {start - least:.4g} of it."
    )
    return upper("objective_gap", start - lower_bound, said)


_SLOPES = ("inner_jacobian_mean_square", "inner_mean_square_lipschitz")
_OUTER_SLOPES = ("outer_mean_square_lipschitz", "outer_lipschitz")


def capped(problem: AbstractProblem, found: Mapping[str, Certificate], factor: float) -> dict[str, Certificate]:
    """With the constants of the composition at most what the chain rule makes of the estimated parts, but not below what was found
    before it was multiplied by the factor: then a part is too small."""
    J, slope = (next((found[name] for name in names if name in found), None) for names in (_SLOPES, _OUTER_SLOPES))
    is_composition = problem.kind == "local_composite" or "no_extra_term" in problem.properties
    if J is None or slope is None or not is_composition:
        return dict(found)
    C_g, C_f, L_f, L_g = (float(one.value) for one in (J, slope, found["outer_smoothness"], found["inner_smoothness"]))
    rules = {
        "objective_smoothness": (chain_rule(C_g, L_f, C_f, L_g), "|J|^2 L_f + |grad f| L_g"),
        "gradient_cap": (C_g * C_f, "|J| |grad f|"),
    }
    return {name: _at_most(one, *rules[name], factor) if name in rules else one for name, one in found.items()}


def _at_most(one: Certificate, rule: float, formula: str, factor: float) -> Certificate:
    if float(one.value) <= rule or rule * factor < float(one.value):
        return one
    said = f"No proof: {formula} of the estimated parts, which is below the {float(one.value):.4g} of: {one.argument}"
    return replace(one, value=rule, argument=said)
