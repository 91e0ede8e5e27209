"""A small exact simplex method: linear programs on exponents have a dozen unknowns and want rational answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Coefficients = Mapping[str, Fraction]
"""Coefficients by name; a missing name is 0."""


class UnboundedError(ValueError):
    """The objective decreases without limit."""


def minimise(
    objective: Coefficients, rows: Sequence[tuple[Coefficients, Fraction]], nonnegative: frozenset[str]
) -> dict[str, Fraction] | None:
    """The minimum of `objective` subject to `row . x <= limit`; names outside `nonnegative` may be negative.

    Two phases, Bland's rule, exact arithmetic.

    Returns:
        A minimiser, or None where the rows exclude each other.

    Raises:
        UnboundedError: there is no minimum.
    """
    kept = _distinct(rows)
    names = sorted({*objective, *(name for row, _ in kept for name in row)})
    columns = [(name, 1) for name in names] + [(name, -1) for name in names if name not in nonnegative]
    table, basis, artificial = _tableau(kept, columns)
    width, size = len(columns), len(columns) + len(kept)
    if artificial:
        if _run(table, basis, {j: Fraction(1) for j in range(size, size + artificial)}, size + artificial) > 0:
            return None
        _drive_out(table, basis, size)
    cost = {j: value * side for j, (name, side) in enumerate(columns) if (value := objective.get(name, Fraction(0)))}
    _run(table, basis, cost, size)
    point = dict.fromkeys(names, Fraction(0))
    for line, b in zip(table, basis, strict=True):
        if b < width:
            name, side = columns[b]
            point[name] += side * line[-1]
    return point


def _distinct(rows: Sequence[tuple[Coefficients, Fraction]]) -> list[tuple[Coefficients, Fraction]]:
    """Rows without repetitions, the strictest limit of each."""
    limits: dict[tuple[tuple[str, Fraction], ...], Fraction] = {}
    for row, limit in rows:
        key = tuple(sorted((name, value) for name, value in row.items() if value))
        limits[key] = min(limit, limits.get(key, limit))
    return [(dict(key), limit) for key, limit in limits.items()]


def _tableau(
    rows: list[tuple[Coefficients, Fraction]], columns: list[tuple[str, int]]
) -> tuple[list[list[Fraction]], list[int], int]:
    """Rows with slack variables, and an artificial variable for each negative limit; the basis; how many are
    artificial."""
    width, count = len(columns), len(rows)
    negative = [i for i, (_, limit) in enumerate(rows) if limit < 0]
    table: list[list[Fraction]] = []
    basis: list[int] = []
    for i, (row, limit) in enumerate(rows):
        turn = -1 if limit < 0 else 1
        line = [row.get(name, Fraction(0)) * side * turn for name, side in columns]
        line += [Fraction(turn if i == j else 0) for j in range(count)]
        line += [Fraction(int(i == j)) for j in negative]
        table.append([*line, limit * turn])
        basis.append(width + count + negative.index(i) if turn < 0 else width + i)
    return table, basis, len(negative)


def _run(table: list[list[Fraction]], basis: list[int], cost: Mapping[int, Fraction], allowed: int) -> Fraction:
    """Pivot until no column among the first `allowed` improves; returns the objective."""
    reduced = [cost.get(j, Fraction(0)) for j in range(len(table[0]))] if table else []
    for b, line in zip(basis, table, strict=True):
        if factor := cost.get(b, Fraction(0)):
            reduced = [a - factor * value if value else a for a, value in zip(reduced, line, strict=True)]
    while True:
        entering = next((j for j in range(allowed) if reduced[j] < 0), None)
        if entering is None:
            return -reduced[-1] if reduced else Fraction(0)
        ratios = [(line[-1] / line[entering], basis[i], i) for i, line in enumerate(table) if line[entering] > 0]
        if not ratios:
            raise UnboundedError("the objective decreases without limit")
        row = min(ratios)[2]
        _pivot(table, basis, row, entering)
        factor = reduced[entering]
        reduced = [a - factor * value if value else a for a, value in zip(reduced, table[row], strict=True)]


def _pivot(table: list[list[Fraction]], basis: list[int], row: int, column: int) -> None:
    divisor = table[row][column]
    table[row] = [value / divisor if value else value for value in table[row]]
    pivot = table[row]
    for i, line in enumerate(table):
        if i != row and line[column]:
            factor = line[column]
            table[i] = [a - factor * b if b else a for a, b in zip(line, pivot, strict=True)]
    basis[row] = column


def _drive_out(table: list[list[Fraction]], basis: list[int], first: int) -> None:
    """Replace artificial variables that stayed in the basis at 0."""
    for i, b in enumerate(basis):
        if b >= first:
            column = next((j for j in range(first) if table[i][j] and j not in basis), None)
            if column is not None:
                _pivot(table, basis, i, column)
