"""What a mistyped name may have meant."""

from __future__ import annotations

from collections.abc import Mapping


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """What a mistyped name may have meant, as the end of a message: the nearest known name, or all of a few."""
    from difflib import get_close_matches  # only a mistake needs it

    listed = [str(item) for item in known]
    close = get_close_matches(name, listed, n=1, cutoff=0.5) or [
        item for item in listed if item.lower() == name.lower()
    ]
    if close:
        return f"the nearest is {close[0]}"
    return f"wanted one of {' '.join(listed)}" if 0 < len(listed) <= 30 else "no known name is near"


def instead(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """The same, and all known names where none is near."""
    close = nearest(name, known)
    return close if close.startswith("the nearest") else f"wanted one of {' '.join(map(str, known))}"
