"""What the last audit of a paper found and proved, kept beside its declarations: read back while these are unchanged.

`python -m fedco.bounds.audit.ledger` runs every check and every derivation of the built-in papers and writes `audit.json` into
each folder. A ledger names the sources that it was made from; when one of them has changed it is not used. Reading one needs no
sympy.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import outside
from ...storage import DamagedError, read_json, write_json
from .. import papers as built_in
from .findings import SEVERITIES, Finding

FORMAT = "fedco-audit/2"
NAME = "audit.json"
_OTHER_PAPER = re.compile(r"^\s*from \.\.(\w+)", re.MULTILINE)
"""How a paper imports another one that stands beside it."""


@dataclass(frozen=True)
class Ledger:
    """The findings of one paper, with the evidence of each check, on the day when all of them were run.

    Args:
        key: of the paper.
        checked: the day, as ISO 8601 writes it, in UTC.
        rows: `Finding.to_dict()` with the key `evidence`, in the order of the audit.
        proved: `ID STATEMENT` of every statement whose derivation the kernel accepted on that day.
    """

    key: str
    checked: str
    rows: tuple[dict[str, Any], ...]
    proved: tuple[str, ...] = ()


def folder_of(key: str) -> Path | None:
    """Where a paper's declarations stand; None for one that a program added, or that is a single module."""
    for place in built_in.__path__:
        if (Path(place) / key).is_dir():
            return Path(place) / key
    entry = outside.installed("papers").get(key)
    found = find_spec(entry.module) if entry else None
    return Path(next(iter(found.submodule_search_locations))) if found and found.submodule_search_locations else None


@cache
def fingerprint(folder: Path) -> str:
    """The sha256 of a paper's sources, and of those of the papers beside it that it imports."""
    total = sha256()
    for each in sorted(_with_imported(folder, set())):
        for file in sorted(each.glob("*.py")):
            total.update(f"{each.name}/{file.name}\n".encode() + file.read_bytes() + b"\n")
    return total.hexdigest()


def _with_imported(folder: Path, seen: set[Path]) -> set[Path]:
    if folder not in seen and folder.is_dir():
        seen.add(folder)
        for file in folder.glob("*.py"):
            for name in _OTHER_PAPER.findall(file.read_text(encoding="utf-8")):
                _with_imported(folder.parent / name, seen)
    return seen


def read(key: str) -> Ledger | None:
    """The ledger of a paper; None where there is none, or it is damaged, or was made from other declarations."""
    folder = folder_of(key)
    if folder is None:
        return None
    try:
        content = read_json(folder / NAME, FORMAT)
    except (OSError, DamagedError):
        return None
    if content["made_from"] != fingerprint(folder):
        return None
    return Ledger(key, content["checked"], tuple(content["findings"]), tuple(content["proved"]))


def findings(about: str | None = None, check: bool | None = None) -> tuple[list[dict[str, Any]], dict[str, str | None]]:
    """What `fedco audit` lists: findings as JSON, worst first, and the day on which the checks of each paper or file were run.

    Args:
        about: a theorem's id, a paper's key or a file; everything without it.
        check: True runs every check now, False runs none (the day is then None), None runs those that no valid ledger holds.

    Raises:
        InputError: no such theorem, paper or file.
        RecheckError: a finding is not confirmed.
    """
    rows: list[dict[str, Any]] = []
    dates: dict[str, str | None] = {}
    for part in _parts(about):
        key, dot, _ = part.partition(".")
        known = read(key) if check is None and not outside.is_file(part) else None
        if known is not None:
            dates[part] = known.checked
            mine = [row for row in known.rows if not dot or row["theorem"] == part]
            if mine or not dot:  # an id without findings may be no theorem: the audit says so
                rows += mine
                continue
        from .checks import audit

        found = audit(part)
        dates[part] = None if check is False else datetime.now(UTC).date().isoformat()
        rows += [each.to_dict() for each in found] if check is False else run(found)
    return sorted(rows, key=lambda row: SEVERITIES.index(row["severity"])), dates


def _parts(about: str | None) -> tuple[str, ...]:
    """What is audited one by one: the papers, or the one thing that was asked for."""
    return (*built_in.built_in_keys(), *outside.installed("papers")) if about is None else (about,)


def make(key: str) -> Ledger:
    """The audit of a paper, every check run now.

    Raises:
        RecheckError: a finding is not confirmed.
    """
    from .checks import audit

    return Ledger(key, datetime.now(UTC).date().isoformat(), tuple(run(audit(key))), tuple(proved(key)))


def proved(key: str) -> Iterator[str]:
    """`ID STATEMENT` of each statement of a paper whose derivation the kernel accepts now."""
    from ..proof.derivations import prove
    from ..registry import get_paper

    paper = get_paper(key)
    for name in paper.derivations:
        verdict = prove(paper.theorems[name], paper.theorems[name].default)
        if verdict.checked:
            yield f"{verdict.theorem} {verdict.statement}"


def run(findings: Iterable[Finding]) -> Iterator[dict[str, Any]]:
    """Each finding as JSON, with the evidence of its check, run now.

    Raises:
        RecheckError: a finding is not confirmed.
    """
    for finding in findings:
        evidence = {name: str(value) for name, value in finding.check().items()}
        yield {**finding.to_dict(), "evidence": evidence}


def write(key: str) -> Path:
    """Run every check of a paper and keep what was found beside its declarations.

    Raises:
        ValueError: the paper has no folder.
        RecheckError: a finding is not confirmed.
    """
    folder = folder_of(key)
    if folder is None:
        raise ValueError(f"{key}: no folder in which a ledger could be kept")
    made = make(key)
    content = {"format": FORMAT, "paper": key, "made_from": fingerprint(folder), "checked": made.checked}
    return write_json(folder / NAME, {**content, "findings": list(made.rows), "proved": list(made.proved)})


if __name__ == "__main__":
    for given in sys.argv[1:] or built_in.built_in_keys():
        print(write(given))
