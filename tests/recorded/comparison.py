"""How a fresh answer differs from the recorded one, and which differences are explained."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

from record import GAP

EXPLAINED = Path(__file__).parent / "explained.toml"
TUNED = ("tune", "complexity")
"""Commands whose floats come from a solver: the objective is the optimum up to GAP."""
OBJECTIVE = ("value", "lower", "total")
NEAR = GAP**0.5
"""What the objective determines a variable to: near its optimum it grows with the square of the distance."""
ROUNDED = ("advice", "slack")
"""Differences of nearly equal numbers, and sentences with two digits: their figures stand in other fields."""
_NUMBER = re.compile(r"-?\d+(?:/\d+|\.\d+)?(?:[eE][+-]?\d+)?")


def spelled(value: Any) -> Any:
    """A recorded answer with today's name of the statement that was called `proved`."""
    if isinstance(value, dict):
        return {spelled(name): spelled(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spelled(part) for part in value]
    if isinstance(value, str):
        return "composed" if value == "proved" else re.sub(r"([(`])proved([)`])", r"\1composed\2", value)
    return value


def differences(command: str, before: Any, now: Any) -> list[str]:
    """Where two answers differ, each place as `terms/variance: 1.0 before, 2.0 now`; a new top-level field is none."""
    before, now = spelled(before), spelled(now)
    return list(_walk(before, {name: now[name] for name in now if name in before}, (), command in TUNED))


def _walk(before: Any, now: Any, where: tuple[str, ...], tuned: bool) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        if where[-1:] == ("bound",):  # the answer of another command, inside a tuner's
            now = {name: now[name] for name in now if name in before}
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


def explanations() -> list[dict[str, str]]:
    """The entries of `explained.toml`."""
    return tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get("difference", [])


def explains(entry: dict[str, str], answer: str, difference: str) -> bool:
    return fnmatchcase(answer, entry["answer"]) and fnmatchcase(difference.partition(": ")[0], entry["where"])


def unexplained(found: Iterable[tuple[str, str]], entries: list[dict[str, str]]) -> list[str]:
    """Differences, as (answer, difference), that no entry explains."""
    return [f"{a}: {d}" for a, d in found if not any(explains(entry, a, d) for entry in entries)]


def unused(found: list[tuple[str, str]], entries: list[dict[str, str]], command: str) -> list[str]:
    """Entries about a command that explain none of its differences."""
    mine = [entry for entry in entries if entry["answer"].startswith(f"{command}: ")]
    return [entry["answer"] for entry in mine if not any(explains(entry, a, d) for a, d in found)]
