"""Which earlier steps would close a claim, by a linear program at one point. Nothing here need be trusted: the solver tries them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from .candidates import Candidate, Meaning, Pairing, Premise
from .kernel.scalars import Atom
from .kernel.signomial import Param, ProofError
from .linear import Column

_NONZERO = 1e-7
"""A multiplier below this, of columns scaled to 1, is taken for 0."""


def reasons_at(
    point: Mapping[Param, Fraction],
    goal: Column,
    candidates: Sequence[Candidate],
    tight: Collection[Atom],
    others: Collection[str],
) -> tuple[str, ...] | None:
    """Those of `others` that get a multiplier where the claim is put together at the point with as little of them as possible.

    The rows of `tight` have to be met, the others may leave a nonnegative rest. None where that is not possible; empty where the point
    does not tell.
    """
    if not candidates:
        return None
    columns = [c.column for c in candidates]
    try:
        tables = [{row: float(value.at(point)) for row, value in column.items()} for column in (goal, *columns)]
    except ProofError:  # a root that is not rational there
        return ()
    rows = list(dict.fromkeys(row for table in tables for row in table))
    matrix = np.array([[table.get(row, 0.0) for table in tables] for row in rows])
    matrix /= np.abs(matrix).max(axis=0, initial=1e-300)
    wanted = matrix[:, 0]
    both_signs = [isinstance(c, Meaning | Pairing) or (isinstance(c, Premise) and c.equal) for c in candidates]
    names = [c.name if isinstance(c, Premise | Pairing) else "" for c in candidates]
    parts = np.hstack([matrix[:, 1:], -matrix[:, 1:][:, both_signs]])
    owners = [*names, *(name for name, both in zip(names, both_signs, strict=True) if both)]
    met = np.array([row in tight for row in rows])
    found = linprog(
        [1.0 if name in others else 1e-3 for name in owners],
        A_ub=-parts[~met],
        b_ub=-wanted[~met],
        A_eq=parts[met],
        b_eq=wanted[met],
    )
    if found.x is None:
        return None
    chosen = {name for name, multiplier in zip(owners, found.x, strict=True) if multiplier > _NONZERO}
    return tuple(name for name in others if name in chosen)
