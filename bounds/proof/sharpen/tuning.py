"""Hyperparameters that are chosen for the sharpened bound: powers of 2, from those at which the stated bound is least."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log2
from typing import Any

from ...language.reading import InputError
from ...language.theorem import Statement
from ...optimum.tuning import tune
from .sharpening import Sharpened, exact_values, sharpen

MOST = 25
"""Programs at most."""
FACTORS = (Fraction(2), Fraction(1, 2))


@dataclass(frozen=True)
class Chosen:
    """The best of what was tried.

    Args:
        best: what came of the hyperparameters that were chosen. names: of these. tried: how many points.
    """

    best: Sharpened
    names: tuple[str, ...]
    tried: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the best point, and `tuned`, the values that were chosen."""
        return {**self.best.to_dict(), "tuned": {n: str(self.best.at[n]) for n in self.names}, "tried": self.tried}

    def text(self, path: str | None = None) -> str:
        """For a person."""
        values = ", ".join(f"{name} = {self.best.at[name]}" for name in self.names)
        return "\n".join(
            [self.best.text(path), f"chosen: {values}; the best of {self.tried} points, powers of 2 one step apart"]
        )

    def __str__(self) -> str:
        return self.text()


def sharpen_tuned(
    statement: Statement, values: Mapping[str, Any], *, note: Callable[[str], None] = lambda text: None
) -> Chosen:
    """The least sharpened bound over hyperparameters that `values` lacks, each a power of 2.

    From the point that is best for the stated bound one hyperparameter at a time is doubled or halved as long as the bound falls; whole
    ones stay as they are there. It is the best of what was tried, and no optimum over all values.

    Args:
        statement: as for `sharpen`. values: of its other symbols, exact. note: takes a line on what is going on.

    Raises:
        InputError: every symbol has a value, what is left to choose is whole, or a constant or the length has none.
    """
    names = tuple(
        name
        for name, binding in statement.symbols.items()
        if name not in values and binding.quantity.role == "hyperparameter" and not binding.quantity.numbers.whole
    )
    if not names:
        raise InputError(
            f"{statement.name}: wanted a hyperparameter without a value that is to be chosen, got values of all"
        )
    lengths = {n: values[n] for n, b in statement.symbols.items() if b.quantity.name == "iterations" and n in values}
    if not lengths:
        raise InputError(f"{statement.name}: wanted a number of iterations, got none")
    stated = tune(statement, {n: v for n, v in values.items() if n not in lengths}, budget=lengths).values
    start = {**stated, **values, **{name: _power(stated[name]) for name in names}}
    here = exact_values(statement, start)
    best, tried = sharpen(statement, here, note=note), {tuple(here[name] for name in names)}
    found = True
    while found and len(tried) < MOST:
        found = False
        for other in _beside(best.at, names):
            key = tuple(other[name] for name in names)
            if key in tried or len(tried) == MOST:
                continue
            tried.add(key)
            result = sharpen(statement, other, note=note)
            if _says(result) < _says(best):
                best, found = result, True
                break
    return Chosen(best, names, len(tried))


def _beside(at: Mapping[str, Fraction], names: tuple[str, ...]) -> Iterator[dict[str, Fraction]]:
    for name in names:
        for factor in FACTORS:
            yield {**at, name: at[name] * factor}


def _says(found: Sharpened) -> float:
    """What is known of the method at a point: the sharpened bound, or the stated one where that is as small."""
    if found.bound is not None:
        return float(found.bound)
    return inf if found.stated is None else found.stated


def _power(value: Any) -> Fraction:
    """The power of 2 that is next below a positive number."""
    return Fraction(2) ** int(log2(float(value)) // 1)
