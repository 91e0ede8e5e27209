"""Does a control treat all methods of its figure alike: read off what was run before and after, never declared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .figures import Made

_TUNED, _KEPT = "tuned", "kept"


def check_treatment(change: str, before: Made, after: Made, compared: Collection[str]) -> None:
    """Every setting that changes does so for all compared curves: to one value, by one factor, or to a tuned value.

    Raises:
        ValueError: a curve is missing or says nothing of its settings, a setting changes for some curves only, or nothing changes.
    """
    old, new = (_settings(made, compared, change) for made in (before, after))
    is_changed = False
    for name in sorted({name for each in (*old.values(), *new.values()) for name in each}):
        pairs = [(old[curve].get(name), new[curve].get(name)) for curve in compared]
        moves = [_move(name, *pair) for pair in pairs]
        is_changed |= any(move != {_KEPT} for move in moves)
        if not set.intersection(*moves):
            raise ValueError(
                f"a control {change}: wanted {name} changed alike for all methods, got {sorted(map(str, pairs))}"
            )
    if not is_changed:
        raise ValueError(f"a control {change}: wanted something changed, got the figure's own run")


def _settings(made: Made, compared: Collection[str], change: str) -> dict[str, Mapping[str, Any]]:
    """Of each compared curve, with what was tuned for it named so."""
    found = {}
    for curve in made.curves:
        tuned = made.chosen.get(curve.name)
        found[curve.key] = {**curve.settings, **dict.fromkeys(tuned if isinstance(tuned, Mapping) else (), _TUNED)}
    if silent := sorted(name for name in compared if not found.get(name)):
        raise ValueError(f"a control {change}: wanted the settings of every compared curve, got none of {silent}")
    return {name: found[name] for name in compared}


def _move(name: str, old: Any, new: Any) -> set[Any]:
    """The ways in which this change can be put; two curves are treated alike where they share one."""
    if old == new:
        return {_KEPT}
    if name == "problem":  # each method may have its own
        return {"another problem"}
    is_scaled = all(isinstance(value, (int, float)) and value for value in (old, new))
    return {("to", new), *([("times", round(new / old, 12))] if is_scaled else [])}
