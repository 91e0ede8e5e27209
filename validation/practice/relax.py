"""How far each condition of a theorem can be relaxed on a problem, as far as a grid of step sizes shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .answer import Row
from .bench import Bench


@dataclass(frozen=True)
class ConditionLine:
    """One condition along the grid.

    Args:
        at_theory: its smaller side over its larger one at theory's step size: at most 1 where it holds. None where a side is not positive.
        relaxed: the largest of these ratios on the grid up to which every run, from theory's step size on, ends and measures no more
            than the bound at theory's step size and than its formula there; at most 1 where the condition was never violated.
        step: at which that is. stopped: what ends it.
    """

    name: str
    relation: str
    at_theory: float | None
    relaxed: float | None
    step: float | None
    stopped: str


def relaxations(bench: Bench, rows: list[Row]) -> tuple[ConditionLine, ...]:
    """A line for each condition that the statement states, in its order."""
    theory = next(k for k, row in enumerate(rows) if row.times == 1)
    fine, stopped = theory, "the grid ends"
    for row in rows[theory:]:
        if why := _fails(row, rows[theory]):
            stopped = f"at {bench.step} = {row.step:.4g} {why}"
            break
        fine = rows.index(row)
    made = bench.over([row.step for row in rows], {})
    lines = []
    for condition in bench.statement.stated:
        ratios = _ratios(condition.relation, made["left"][condition.name], made["right"][condition.name])
        text = str(condition)
        if ratios is None:
            lines.append(
                ConditionLine(condition.name, text, None, None, None, "an equality, or a side is not positive")
            )
        elif math.isclose(ratios[0], ratios[-1], rel_tol=1e-9):
            why = f"does not change with {bench.step}"
            lines.append(ConditionLine(condition.name, text, ratios[theory], None, None, why))
        else:
            at = max(range(theory, fine + 1), key=lambda k: ratios[k])
            lines.append(ConditionLine(condition.name, text, ratios[theory], ratios[at], rows[at].step, stopped))
    return tuple(lines)


def _fails(row: Row, theory: Row) -> str:
    if row.diverged:
        return f"{row.diverged} seeds diverge"
    if row.mean is None:
        return "nothing can be run"
    if row.formula is None or not (math.isfinite(row.formula) and row.formula > 0):
        return "the bound has no positive value"
    if row.mean > row.formula:
        return "the measured metric exceeds the formula of the bound"
    exceeds = theory.bound is not None and row.mean > theory.bound
    return "the measured metric exceeds the bound at theory's step size" if exceeds else ""


def _ratios(relation: str, left: Any, right: Any) -> list[float] | None:
    if relation == "==":
        return None
    small, large = (left, right) if relation in ("<", "<=") else (right, left)
    if not (all(small > 0) and all(large > 0)):
        return None
    found: list[float] = (small / large).tolist()
    return found
