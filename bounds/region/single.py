"""The admissible set of one hyperparameter: exact end points, and the conditions that bind there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from ..language.theorem import Condition, Statement
from .conditions import reduced
from .intervals import Found, intersect, longest, minimal_conflict
from .roots import ROUNDED, is_transcendental

HALVING = "ends by halving intervals in ball arithmetic, over all positive floats"
AT_JUMPS = "; where floor or ceil jumps the point itself is left out, admissible or not"


def of_one(statement: Statement, name: str, values: Mapping[str, Any]) -> Found:
    variable, conditions = univariate(statement, name, values)
    pieces = intersect(conditions, variable)
    halved = any(is_transcendental(c.left - c.right, variable) for c in conditions)
    jumps = any(variable in item.free_symbols for c in conditions for item in (c.left - c.right).atoms(*ROUNDED))
    note = (HALVING if halved else "") + (AT_JUMPS if jumps else "")
    if not pieces:
        return Found({}, minimal_conflict(conditions, variable), note=note)
    return Found({name: longest(pieces)}, pieces={name: tuple(pieces)} if len(pieces) > 1 else {}, note=note)


def univariate(statement: Statement, name: str, values: Mapping[str, Any]) -> tuple[sp.Symbol, list[Condition]]:
    """The conditions as functions of one symbol, everything else replaced by exact numbers.

    A symbol that is neither given nor solved for comes from the schedule; if the schedule determines the solved
    symbol from a missing one (eta = sqrt(b K / T) with T missing), the equality is solved for the missing one
    instead, as a real number.
    """
    conditions = reduced(statement, (name,), values)
    return statement.symbols[name].symbol, conditions
