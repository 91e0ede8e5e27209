"""Would any value of a constant do that a paper hides in O(.)? Larger and larger values, each refuted by an instance of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from .attack import Falsified, falsify

VALUES = tuple(10.0**power for power in range(7))


@dataclass(frozen=True)
class Sequence:
    """The searches at growing values of a hidden constant, up to the first that found nothing.

    Args:
        searches: value -> what the search there came to.
    """

    theorem: str
    statement: str
    searches: dict[float, Falsified]

    @property
    def refuted(self) -> list[float]:
        """The values that are refuted, each by a bundle."""
        return [value for value, found in self.searches.items() if found.refuted]

    def to_dict(self) -> dict[str, Any]:
        """As the command prints it."""
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "refuted_up_to": max(self.refuted, default=None),
            "sequence": [{"value": value, **found.to_dict()} for value, found in self.searches.items()],
        }

    def __str__(self) -> str:
        rows = [
            f"  {value:<10g} {found.outcome:<9} ratio {found.ratio:<12.6g} {found.path or ''}".rstrip()
            for value, found in self.searches.items()
        ]
        top = max(self.refuted, default=None)
        said = (
            "No value was refuted."
            if top is None
            else f"Every value up to {top:g} is too small, each by its own instance."
        )
        return "\n".join([f"{self.theorem} ({self.statement}), the hidden constant", *rows, said])


def any_value(
    theorem: Theorem,
    statement: str = "printed",
    *,
    out: Path | None = None,
    values: tuple[float, ...] = VALUES,
    **asked: Any,
) -> Sequence:
    """Searches at 1, 10, 100, ...; it ends at the first value that survives. A larger value only makes the bound larger.

    Args:
        asked: the rest, as for `falsify`.

    Raises:
        InputError: the statement has no hidden constant.
    """
    symbols = theorem.symbols(statement)
    if not any(binding.quantity.name == "hidden_constant" for binding in symbols.values()):
        raise InputError(f"{theorem.id} ({statement}): hides no constant in O(.)")
    found: dict[float, Falsified] = {}
    for value in values:
        folder = None if out is None else out / f"hidden_{value:g}"
        found[value] = falsify(theorem, statement, hidden=value, out=folder, **asked)
        if not found[value].refuted:
            break
    return Sequence(theorem.id, statement, found)
