"""What searches for counterexamples came to, kept with the day: what pages and reports say of a statement.

python -m fedco.validation.falsifier.record [--seconds 60] [--statement LABEL] [--each-term] [ID ...] searches and keeps. A result is
no longer used when the statement that it is about has changed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ... import __version__
from ...bounds.audit.status import status
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.registry import all_theorems, get_theorem
from ...storage import digest, read_json, write_json
from .attack import falsify
from .declared import target_of
from .each_term import each_term

FILE = Path(__file__).with_name("searches.json")
Entry = dict[str, Any]
_FORMAT = "fedco searches 1"
FAR = 1e-3
"""A search whose worst instance stays below this part of the bound says next to nothing about the statement."""


@dataclass(frozen=True)
class Searched:
    """A search of one statement that is kept.

    Args:
        seconds: of processor time.
        parts: the table of necessary terms and conditions, empty where none was made.
    """

    outcome: str
    ratio: float
    evaluations: int
    seconds: float
    day: str
    version: str
    parts: tuple[Entry, ...] = ()

    @property
    def tested_little(self) -> bool:
        """Whether no instance came near the bound, so that surviving means next to nothing."""
        return self.outcome != "REFUTED" and self.ratio < FAR

    def __str__(self) -> str:
        if self.outcome == "REFUTED":
            return f"refuted by a search of {self.seconds:.0f} s, ratio {self.ratio:.4g} ({self.day})"
        if self.ratio == 0:
            return (
                f"searched for {self.seconds:.0f} s ({self.day}): no admissible instance was found, nothing was tested"
            )
        if self.tested_little:
            return (
                f"searched for {self.seconds:.0f} s ({self.day}, fedco {self.version}): no instance came above {self.ratio:.1g} of "
                "the bound, so the search tested hardly anything"
            )
        return (
            f"survived {self.evaluations} instances in {self.seconds:.0f} s of processor time, largest ratio found {self.ratio:.3g} "
            f"({self.day}, fedco {self.version})"
        )


def searched(theorem: Theorem, label: str) -> Searched | None:
    """The kept search of a statement as it stands now; None where there is none."""
    entry = _kept(FILE).get(_key(theorem, label))
    if entry is None or entry["statement"] != formulas_digest(theorem, label):
        return None
    return Searched(
        entry["outcome"],
        entry["ratio"],
        entry["evaluations"],
        entry["seconds"],
        entry["day"],
        entry["version"],
        tuple(entry.get("parts", ())),
    )


def standing(theorem: Theorem, label: str, supported: int = 0) -> str:
    """One line on a statement: refuted (exact), survived a search, supported on so many instances, or not searched.

    Args:
        supported: instances on which a validation supports it.
    """
    known, found = status(theorem, label), searched(theorem, label)
    if known.outcome == "refuted":
        return f"refuted (exact): {', '.join(known.bundles)}"
    lines = [] if found is None else [str(found)]
    if supported:
        lines.append(f"supported on {supported} instances")
    return "; ".join(lines) or "not searched"


def lines_of(theorem: Theorem) -> list[str]:
    """The part of a theorem's page about searches, in Markdown; nothing where none is kept."""
    found = {label: search for label in theorem.labels if (search := searched(theorem, label)) is not None}
    if not found:
        return []
    lines = ["## Searched for counterexamples", "", *(f"- `{label}`: {search}." for label, search in found.items()), ""]
    for label, search in found.items():
        if search.parts:
            lines += [
                f"Each part of `{label}` weakened and searched:",
                "",
                "| part | weakened | verdict | known |",
                "|---|---|---|---|",
            ]
            lines += [f"| {p['part']} | {p['change']} | {p['verdict']} | {p['known']} |" for p in search.parts]
            lines.append("")
    return lines


def _key(theorem: Theorem, label: str) -> str:
    return f"{theorem.id} ({label})"


def formulas_digest(theorem: Theorem, label: str) -> str:
    """What a search or a measurement of a statement depends on: every expression of it."""
    statement = theorem.statement(label)
    return digest([f"{name}: {expr}" for name, expr in statement.expressions()])[:16]


@cache
def _kept(file: Path) -> Mapping[str, Entry]:
    found: Mapping[str, Entry] = read_json(file, _FORMAT)["searches"] if file.exists() else {}
    return found


def keep(theorem: Theorem, label: str, seconds: float, *, seed: int = 0, file: Path = FILE) -> Entry:
    """Search a statement for so many seconds of processor time and keep what it came to.

    Raises:
        InputError: nothing says how it is run.
    """
    target_of(theorem, label)
    began = time.process_time()
    result = falsify(theorem, label, seconds=seconds, seed=seed, clock=time.process_time)
    entry = {
        "outcome": result.outcome,
        "ratio": result.ratio,
        "evaluations": result.evaluations,
        "seconds": round(time.process_time() - began, 1),
        "day": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "statement": formulas_digest(theorem, label),
    }
    _change(file, _key(theorem, label), entry)
    return entry


def keep_parts(theorem: Theorem, label: str, seconds: float, *, seed: int = 0, file: Path = FILE) -> Entry:
    """The table of necessary parts, kept with the search of the statement itself."""
    parts = [
        {**{n: v for n, v in asdict(part).items() if n != "bundle"}, "known": part.between}
        for part in each_term(theorem, label, seconds=seconds, seed=seed, clock=time.process_time)
    ]
    known = dict(_kept(file)).get(_key(theorem, label)) or keep(theorem, label, seconds, seed=seed, file=file)
    entry = {**known, "parts": parts}
    _change(file, _key(theorem, label), entry)
    return entry


def _change(file: Path, key: str, entry: Entry) -> None:
    _kept.cache_clear()
    everything = {**_kept(file), key: entry}
    write_json(file, {"format": _FORMAT, "searches": dict(sorted(everything.items()))})
    _kept.cache_clear()


def searchable(label: str = "corrected") -> Iterator[Theorem]:
    """Every theorem with such a statement that can be run on a family."""
    for theorem in all_theorems().values():
        if label in theorem.labels:
            try:
                target_of(theorem, label)
            except InputError:
                continue
            yield theorem


def main() -> None:
    """Search the named theorems, or all that have the statement, and keep what they came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of each search")
    parser.add_argument("--statement", default="corrected", metavar="LABEL")
    parser.add_argument("--each-term", action="store_true", help="also the table of necessary parts")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for theorem in [get_theorem(name) for name in options.ids] or list(searchable(options.statement)):
        try:
            made = (keep_parts if options.each_term else keep)(theorem, options.statement, options.seconds)
        except InputError as error:
            print(theorem.id, options.statement, "NOT_APPLICABLE", error, flush=True)
            continue
        print(theorem.id, options.statement, made["outcome"], f"{made['ratio']:.4g}", made["evaluations"], flush=True)


if __name__ == "__main__":
    main()
