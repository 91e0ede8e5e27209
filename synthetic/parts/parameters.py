"""Checks of parameters, with messages that name the parameter, the wanted range and the value got."""

from __future__ import annotations

import math


def require_positive(part: object, *names: str, of: str = "") -> None:
    """Raise ValueError unless these attributes of `part` are finite and positive; `of` names the part."""
    for name in names:
        value = getattr(part, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{_about(of)}{name} must be finite and positive, got {value}")


def require_nonnegative(part: object, *names: str, of: str = "") -> None:
    """Raise ValueError unless these attributes of `part` are finite and at least 0; `of` names the part."""
    for name in names:
        value = getattr(part, name)
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{_about(of)}{name} must be finite and at least 0, got {value}")


def require_exceeds(part: object, larger: str, smaller: str) -> None:
    """Raise ValueError unless the first attribute is finite and exceeds the second, which is at least 0."""
    above, below = getattr(part, larger), getattr(part, smaller)
    if not (math.isfinite(above) and above > below >= 0):
        raise ValueError(
            f"{larger} must exceed {smaller}, which is at least 0; got {larger}={above}, {smaller}={below}"
        )


def require_paired(part: object, first: str, second: str, of: str = "") -> None:
    """Raise ValueError unless both attributes are zero or both are positive."""
    one, other = getattr(part, first), getattr(part, second)
    if (one > 0) != (other > 0):
        raise ValueError(f"{_about(of)}{first} and {second} must be both zero or both positive, got {one} and {other}")


def _about(part: str) -> str:
    return f"{part}: " if part else ""
