"""How much of every term and condition of a statement is known to be necessary, each by an exact instance that is kept.

`python -m fedco.validation.falsifier.record --each-term` searches for the instances and keeps them here, with the day. What is kept of
a statement is no longer used when a formula of the statement has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from ...storage import digest, read_json, write_json
from ..language.result import shown
from ..language.theorem import Statement, Theorem

FILE = Path(__file__).with_name("necessary.json")
_FORMAT = "fedco necessary parts 1"


@dataclass(frozen=True)
class Needed:
    """What is known of one term or condition.

    Args:
        part, kind: its name, and `term` or `condition`.
        least: for a term, the part of its stated coefficient with which the statement is still false; 0 where nothing is known.
        relaxed: for a condition, the factor by which it can be relaxed so that the statement is false.
        bundle: name of the exact instance, for `fedco replay`; empty where nothing is known.
        why: why no more of it is known, as its paper says.
    """

    part: str
    kind: str
    least: float = 0.0
    relaxed: float | None = None
    bundle: str = ""
    why: str = field(default="", compare=False)

    @property
    def ratio(self) -> float:
        """The stated coefficient of a term over the largest one that is known to be necessary; infinite where none is."""
        return 1 / self.least if self.least else inf

    def less_than(self, other: Needed) -> bool:
        """Whether less is known of the part than `other` says of it."""
        return self._known < other._known

    @property
    def _known(self) -> tuple[float, float, bool]:
        return self.least, 1 / self.relaxed if self.relaxed else 0.0, bool(self.bundle)

    def __str__(self) -> str:
        if self.kind == "term":
            if self.least:
                return f"its factor cannot be smaller than {shown(self.least)} of what is stated"
            return "cannot be left out" if self.bundle else f"no part of it is known to be necessary{self._reason}"
        if self.relaxed:
            return f"relaxed by a factor of {self.relaxed:g}, the statement is false"
        return f"not known to be necessary{self._reason}"

    @property
    def _reason(self) -> str:
        return f": {self.why}" if self.why else ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON: `least` of a term, `relaxed` of a condition, and `bundle`."""
        known = {"least": self.least} if self.kind == "term" else {"relaxed": self.relaxed}
        return {**known, "bundle": self.bundle}


def needed(statement: Statement, file: Path | None = None) -> Mapping[str, Needed]:
    """Term or condition -> what is kept of it, of the statement as it stands now; empty where nothing is."""
    entry = _kept(file or FILE).get(statement.name)
    if entry is None or entry["statement"] != formulas_digest(statement):
        return {}
    return {row["part"]: Needed(**row, why=_why(statement.theorem, row["part"])) for row in entry["parts"]}


def _why(theorem: Theorem, part: str) -> str:
    """A corollary says what its theorem says."""
    parent = theorem.follows_from
    return theorem.unreached.get(part) or (_why(parent[0], part) if parent else "")


def seconds_for(statement: Statement, file: Path | None = None) -> float:
    """Processor time for which each part was searched; 0 where nothing is kept."""
    return float(_kept(file or FILE)[statement.name]["seconds"]) if needed(statement, file) else 0.0


def searched_for(statement: Statement, file: Path | None = None) -> str:
    """How long was searched for each part, on which day; empty where nothing is kept."""
    entry = _kept(file or FILE)[statement.name] if needed(statement, file) else None
    return (
        f"{entry['seconds']:g} s of processor time for each part ({entry['day']}, fedco {entry['version']})"
        if entry
        else ""
    )


def kept_bundles(file: Path | None = None) -> dict[str, Mapping[str, Any]]:
    """Name -> bundle, as data, of every instance that is kept."""
    return {name: data for entry in _kept(file or FILE).values() for name, data in entry["bundles"].items()}


def keep(
    statement: Statement,
    parts: list[Needed],
    bundles: Mapping[str, Mapping[str, Any]],
    *,
    seconds: float,
    day: str,
    version: str,
    file: Path | None = None,
) -> None:
    """Keep what was found of a statement, in the place of what was kept of it.

    Args:
        bundles: name -> data of each instance that a part names.
        seconds: of processor time, for each part.
    """
    entry = {
        "statement": formulas_digest(statement),
        "seconds": seconds,
        "day": day,
        "version": version,
        "parts": [{name: value for name, value in vars(part).items() if name != "why"} for part in parts],
        "bundles": dict(bundles),
    }
    everything = {**_kept(file or FILE), statement.name: entry}
    write_json(file or FILE, {"format": _FORMAT, "statements": dict(sorted(everything.items()))})
    _kept.cache_clear()


def formulas_digest(statement: Statement) -> str:
    """What a search or a measurement of a statement depends on: every expression of it, and the weights of the iterates."""
    weights = statement.theorem.metric.weights
    own = [] if weights is None else [f"weights: {weights}"]
    return digest([f"{name}: {expr}" for name, expr in statement.expressions()] + own)[:16]


@cache
def _kept(file: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_json(file, _FORMAT)["statements"] if file.exists() else {}
    return found
