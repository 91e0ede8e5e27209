"""Why a violation is one, in sentences: what it needs, found by taking one ingredient after another away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...bounds.evaluation.evaluate import bound as evaluated
from ...bounds.language.reading import InputError
from ..exact.problem import Instance, exact_problem
from ..runs.fit import about_noise
from .confirm import Confirmed, NotConfirmed, sides
from .declared import Target
from .formula import Formula
from .rounding import Draft, settle

Q = Fraction
_INGREDIENTS: Mapping[str, tuple[str, ...]] = {
    "clients that differ": (
        *("inner_slope", "inner_offset", "knots", "slopes", "extra_knots", "extra_slopes", "tilt"),
        *("dual_tilt", "dual_knots", "dual_slopes"),
    ),
    "inner maps that differ": ("inner_slope", "inner_offset"),
    "outer functions that differ": ("knots", "slopes"),
    "extra functions that differ": ("extra_knots", "extra_slopes"),
}
"""What is taken away -> the parameters in which every client is made equal to the first."""


def why(target: Target, formula: Formula, made: Draft, found: Confirmed) -> list[str]:
    """Sentences about a confirmed violation: what it needs, what it does without, and what the bound consists of."""
    lines = []
    for ingredient, other in _without(target, made, found):
        ratio = _ratio(target, formula, other)
        if ratio is None:
            continue
        kept = "is still violated" if ratio > 1 else "holds"
        lines.append(
            f"{_needs(ratio)} {ingredient}: without, the bound {kept} (ratio {ratio:.3g} instead of {found.ratio:.3g})."
        )
    is_silent = _is_silent(made)
    if is_silent and not _some_sit_out(target, found):
        lines.insert(0, "There is no noise: the run is deterministic.")
    noise = "" if is_silent else about_noise(target.theorem, target.label)
    return [*lines, *_shares(target, found), *_tight_conditions(target, found), *filter(None, [noise])]


def _needs(ratio: float) -> str:
    return "It does not need" if ratio > 1 else "It needs"


def _is_silent(made: Draft) -> bool:
    noises = [value for name, value in made.parameters.items() if name.endswith("noise")]
    return not any(number != 0 for value in noises for number in value)


def _some_sit_out(target: Target, found: Confirmed) -> bool:
    """Whether only a part of the clients runs a round."""
    return found.claimed.hyperparameters.get(target.named("participation") or "", Q(1)) < 1


def _without(target: Target, made: Draft, found: Confirmed) -> Iterator[tuple[str, Draft]]:
    for ingredient, names in _INGREDIENTS.items():
        present = [n for n in names if n in made.parameters and _differs(made.parameters[n])]
        if present:
            equal = {n: [made.parameters[n][0]] * len(made.parameters[n]) for n in present}
            yield ingredient, replace(made, parameters={**made.parameters, **equal})
    noises = [n for n in made.parameters if n.endswith("noise") and any(made.parameters[n])]
    if noises:
        yield (
            "noise",
            replace(made, parameters={**made.parameters, **{n: [Q(0)] * len(made.parameters[n]) for n in noises}}),
        )
    period = target.named("communication_period")
    if period is not None and made.free.get(period, Q(1)) > 1:
        yield "more than one local step", replace(made, free={**made.free, period: Q(1)})
    share = target.named("participation")
    if share is not None and share in made.free and _some_sit_out(target, found):
        yield "clients that sit out a round", replace(made, free={**made.free, share: Q(1)})
    if "estimate" in made.parameters:
        problem = exact_problem(Instance(made.kind, made.parameters, made.settings))
        if (exact := problem.right_estimate) != made.parameters["estimate"]:
            yield f"a wrong {problem.estimated}", replace(made, parameters={**made.parameters, "estimate": exact})


def _differs(rows: Any) -> bool:
    return isinstance(rows, list) and any(row != rows[0] for row in rows)


def _ratio(target: Target, formula: Formula, made: Draft) -> float | None:
    """Left side over bound of another draft; None where it is not admissible or cannot be run exactly."""
    try:
        return sides(target, settle(target, formula, made)).ratio
    except (NotConfirmed, InputError):
        return None


def _shares(target: Target, found: Confirmed) -> list[str]:
    bound = evaluated(target.theorem.statement(target.label), found.stated(target), strict=False)
    if not bound.total or target.link is not None:
        return []
    parts = sorted(bound.terms.items(), key=lambda item: -abs(item[1]))
    shown = ", ".join(f"{name} {value / bound.total:.0%}" for name, value in parts if abs(value) >= 0.01 * bound.total)
    first, value = parts[0]
    needed = (float(found.left[0]) - bound.total + value) / value
    return [f"The bound consists of {shown}; {first} alone would have to be {needed:.3g} times as large."]


def _tight_conditions(target: Target, found: Confirmed) -> list[str]:
    """Conditions that hold with next to nothing to spare."""
    statement = target.theorem.statement(target.label)
    bound = evaluated(target.theorem.statement(target.label), found.stated(target), strict=False)
    lines = []
    for check, condition in zip(bound.conditions, statement.stated, strict=True):
        if condition.relation != "==" and abs(check.slack) <= 0.02 * _size(bound, condition):
            lines.append(f"It lies at the edge of the condition {check.name}: {check.relation}.")
    return lines


def _size(bound: Any, condition: Any) -> float:
    import sympy as sp

    values = {**bound.numbers, **bound.derived}
    right = condition.right.xreplace({s: sp.Float(values[str(s)]) for s in condition.right.free_symbols})
    return abs(float(right))
