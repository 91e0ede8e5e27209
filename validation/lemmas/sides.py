"""Both sides of every link of a chain, from the trace of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...bounds.evaluation.evaluate import evaluate
from ...bounds.registry import get_theorem
from ..runs.values import constants
from .link import Link, Side
from .report import ROUNDING, SURE, Implied, LemmaReport, LemmaRow
from .trace import Array, Numbers, Trace

START = "initialisation"
"""The key of `counterparts` for the descent of the whole run; the role of the terms that bound it."""


def report_of(
    theorem_id: str,
    label: str,
    links: Sequence[Link],
    trace: Trace,
    problem: Any,
    instance: str,
    T: int,
    bound: float | None = None,
) -> LemmaReport:
    """Both sides of every link, from a trace; `bound` is that of the theorem, None where its conditions do not matter."""
    measured = float(trace["gradient_sq"][: trace.steps].mean())
    rows: list[LemmaRow] = []
    implied: list[tuple[str, float]] = []
    for link in links:
        made, gives = compare_sides(link, label, trace, problem)
        rows += made
        if gives is not None:
            implied.append((link.lemma, gives))
    last_descent = next((link for link in reversed(links) if "gradient_sq" in link.observables), None)
    if last_descent is not None:
        implied = _with_inserted(implied, last_descent, links, rows, label, trace, problem)
    if bound is not None:
        implied.append((theorem_id, bound))
    factors, last = [], measured
    for name, value in implied:
        factors.append(Implied(name, value, value / last if last > 0 else math.inf))
        last = value
    seeds = next(iter(trace.values.values())).shape[1]
    return LemmaReport(theorem_id, label, instance, T, seeds, measured, bound, tuple(rows), tuple(factors))


def _with_inserted(
    implied: list[tuple[str, float]],
    descent: Link,
    links: Sequence[Link],
    rows: Sequence[LemmaRow],
    label: str,
    trace: Trace,
    problem: Any,
) -> list[tuple[str, float]]:
    """`implied` with an entry after the descent link for each lemma that the proof inserts into it, one after the other."""
    place = next(i for i, (name, _) in enumerate(implied) if name == descent.lemma) + 1
    observables, made = dict(descent.observables), []
    for link in links:
        mine = [row for row in rows if row.lemma == link.lemma]
        if not link.feeds or not mine:  # rounds of one step: nothing drifts, and the lemma speaks of no step
            continue
        mean = sum(row.right * row.steps for row in mine) / sum(row.steps for row in mine)
        value = link.fed(mean, trace)
        observables[link.feeds] = _constant_like(descent.observables[link.feeds], value)
        _, gives = compare_sides(replace(descent, observables=dict(observables)), label, trace, problem)
        if gives is not None:
            made.append((f"{descent.lemma} with {link.lemma}", gives))
    return [*implied[:place], *made, *implied[place:]]


def _constant_like(side: Side, value: float) -> Side:
    return lambda trace: np.full_like(np.atleast_2d(side(trace)), value)


def compare_sides(link: Link, label: str, trace: Trace, problem: Any) -> tuple[list[LemmaRow], float | None]:
    """The rows of a link by group of steps, and its implied bound on the mean squared gradient."""
    chosen, left, parts, seen, admissible = _evaluated(link, label, trace, problem)
    keep = np.ones(len(left), bool) if link.keeps is None else link.keeps(trace, len(left))
    rows = [
        _row(link, chosen, when, left[mask], {n: p[mask] for n, p in parts.items()}, admissible)
        for when, mask in _groups(link, trace, len(left), keep)
        if mask.any()
    ]
    if link.bounds_gradient:
        return rows, float(sum(part.mean() for part in parts.values()))
    return rows, _implied(left[keep], {n: p[keep] for n, p in parts.items()}, seen.get("gradient_sq"), keep)


def counterparts(links: Sequence[Link], label: str, trace: Trace, problem: Any) -> dict[str, float]:
    """What the last link with a descent term finds in a run, in the unit of the squared gradient.

    Returns:
        Each part of its right side that has an observable in it, by name, and under `START` what the left side descended. Nothing where
        there is no such link, or it has no descent.
    """
    link = next((link for link in reversed(links) if "gradient_sq" in link.observables), None)
    if link is None:
        return {}
    chosen, left, parts, seen, _ = _evaluated(link, label, trace, problem)
    descent = -float(parts["descent"].mean()) if "descent" in parts else 0.0
    if not descent > 0:
        return {}
    scale = float(seen["gradient_sq"].mean()) / descent
    statement = get_theorem(link.lemma).statement(chosen)
    observed = {
        term.name for term in statement.terms if seen.keys() & {s.name for s in statement.symbols_of(term.expr)}
    }
    found = {name: float(parts[name].mean()) * scale for name in parts if name in observed - {"descent"}}
    return {START: -float(left.mean()) * scale, **found}


def _evaluated(
    link: Link, label: str, trace: Trace, problem: Any
) -> tuple[str, Array, dict[str, Array], dict[str, Array], bool]:
    """The statement, the left side, the parts of the right side, the observables, and whether its conditions hold."""
    theorem = get_theorem(link.lemma)
    chosen = link.statement or (label if label in theorem.labels and label != "corrected" else "printed")
    left = np.atleast_2d(link.left(trace))
    known = _constants(theorem, chosen, problem, trace.numbers)
    seen = {name: np.atleast_2d(side(trace)) for name, side in link.observables.items()}
    if link.right is not None:
        derived = theorem.bound(chosen, strict=False, **known)
        parts = {"constant": np.full_like(left, link.right(derived.derived))}
        return chosen, left, parts, seen, derived.admissible
    found = evaluate(theorem.statement(chosen), **{k: float(v) for k, v in known.items()}, **seen)
    parts = {name: np.broadcast_to(value, left.shape) for name, value in found["terms"].items()}
    return chosen, left, parts, seen, bool(np.all(found["admissible"]))


def _constants(theorem: Any, label: str, problem: Any, numbers: Numbers) -> dict[str, Any]:
    """The constants of a lemma from the certificates, its hyperparameters from the run."""
    values, _ = constants(theorem, label, problem)
    symbols = theorem.symbols(label)
    hyper = {
        name: int(number) if float(number).is_integer() else number
        for name, number in numbers.items()
        if name in symbols and symbols[name].quantity.role == "hyperparameter"
    }
    return {**values, **hyper}


def _groups(link: Link, trace: Trace, count: int, keep: Array) -> list[tuple[str, Array]]:
    if link.ends_round is None:
        return [("run", keep)]
    ends = link.ends_round(trace, count)
    return [("communication", ends & keep), ("between", ~ends & keep)]


def _row(link: Link, label: str, when: str, left: Array, parts: Mapping[str, Array], admissible: bool) -> LemmaRow:
    right = sum(parts.values(), np.zeros_like(left))
    moved = parts.get("descent", sum((np.minimum(part, 0.0) for part in parts.values()), np.zeros_like(left)))
    difference = left - right
    per_seed = difference.mean(axis=0)
    scale = ROUNDING * (np.abs(left) + np.abs(right)).mean(axis=1)
    step_errors = np.array([_standard_error(step) for step in difference])
    failing = difference.mean(axis=1) > SURE * step_errors + scale
    if "descent" in parts:
        lower, upper = -float(moved.mean()), float((right - moved - left).mean())
    else:
        lower, upper = float((left - moved).mean()), float((right - moved).mean())
    return LemmaRow(
        link.lemma,
        label,
        when,
        len(left),
        lower,
        upper,
        upper / lower if lower > 0 else None,
        float(per_seed.mean()),
        _standard_error(per_seed),
        int(failing.sum()),
        admissible,
        link.note,
        link.part,
    )


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def _implied(left: Array, parts: Mapping[str, Array], gradient: Array | None, keep: Array) -> float | None:
    """mean of (right without descent - left) / (descent coefficient), in the unit of the squared gradient."""
    if "descent" not in parts or gradient is None:
        return None
    gradient = gradient[keep] if len(gradient) == len(keep) else gradient
    descent = -float(parts["descent"].mean())
    rest = float(sum(part.mean() for name, part in parts.items() if name != "descent")) - float(left.mean())
    return rest * float(gradient.mean()) / descent if descent > 0 else None
