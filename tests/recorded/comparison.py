"""How a fresh answer differs from the recorded one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from record import GAP, kept

TUNED = ("tune", "complexity")
"""Commands whose floats come from a solver: the objective is the optimum up to GAP."""
OBJECTIVE = ("value", "lower", "total")
NEAR = GAP**0.5
"""What the objective determines a variable to: near its optimum it grows with the square of the distance."""
ROUNDED = ("advice", "slack")
"""Differences of nearly equal numbers, and sentences with two digits: their figures stand in other fields."""
_NUMBER = re.compile(r"-?\d+(?:/\d+|\.\d+)?(?:[eE][+-]?\d+)?")


def differences(command: str, before: Any, now: Any) -> list[str]:
    """Where two answers differ, each place as `terms/variance: 1.0 before, 2.0 now`; a new top-level field is none."""
    return list(_walk(before, kept(before, now), (), command in TUNED))


def _walk(before: Any, now: Any, where: tuple[str, ...], tuned: bool) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*before, *now)):
            yield from _walk(before.get(name, "nothing"), now.get(name, "nothing"), (*where, name), tuned)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _walk(old, new, (*where, str(number)), tuned)
    elif not (_same(before, now) or (tuned and _near(before, now, where))):
        yield f"{'/'.join(where)}: {before!r} before, {now!r} now"


def _same(before: Any, now: Any) -> bool:
    return type(before) is type(now) and before == now


def _near(before: Any, now: Any, where: tuple[str, ...]) -> bool:
    """Whether two texts or numbers of the tuner agree as far as its gap determines them."""
    texts = [value if isinstance(value, str) else repr(value) for value in (before, now)]
    if type(before) is not type(now) or len({_NUMBER.sub("#", text) for text in texts}) > 1:
        return False
    if any(name in ROUNDED for name in where):
        return True
    if where[-1] == "gap":
        return abs(before - now) <= GAP
    within = GAP if where[-1] in OBJECTIVE else NEAR
    pairs = zip(*([Fraction(number) for number in _NUMBER.findall(text)] for text in texts), strict=True)
    return all(abs(old - new) <= within * max(abs(old), abs(new)) for old, new in pairs)
