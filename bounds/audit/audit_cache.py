"""What the last audit of a paper found and proved, kept beside its declarations: read back while these are unchanged.

`make_audit_cache.py` writes `audit.json` into each paper's folder, with the sources that it was made from, the paper's and those of
what checks it; when one of them has changed it is not used. Reading one needs no sympy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import user_files
from ...storage import DamagedError, read_json
from .. import papers as built_in

FORMAT = "fedco-audit/4"
NAME = "audit.json"
SECOND_LOCK = (
    "validation/proofs/*.py",
    "validation/papers/*.py",
    "validation/papers/*/__init__.py",
    "algorithms/methods/*.py",
    "algorithms/baselines/*.py",
)
"""Files outside of `bounds/` with which `fedco prove` tries instances."""
_OTHER_PAPER = re.compile(r"^\s*(?:from \.\.|shares = \")(\w+)", re.MULTILINE)
"""A line with which a paper imports another one that stands beside it, or shares its tables."""


@dataclass(frozen=True)
class AuditCache:
    """The findings of one paper, with the evidence of each check, on the day when all of them were run.

    Args:
        key: of the paper.
        checked: the day, as ISO 8601 writes it, in UTC.
        rows: `Finding.to_dict()` with the key `evidence`, in the order of the audit.
        proved: `ID STATEMENT` of every statement for which both locks of `fedco prove` held on that day.
        statuses: `ID STATEMENT` -> what is known of the statement, as `Status.to_dict()`.
    """

    key: str
    checked: str
    rows: tuple[dict[str, Any], ...]
    proved: tuple[str, ...] = ()
    statuses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def folder_of(key: str) -> Path | None:
    """Where a paper's declarations stand; None for one that is a single module."""
    for place in built_in.__path__:
        if (Path(place) / key).is_dir():
            return Path(place) / key
    entry = user_files.installed("papers").get(key)
    found = find_spec(entry.module) if entry else None
    return Path(next(iter(found.submodule_search_locations))) if found and found.submodule_search_locations else None


DECLARED = ("*.py", "*.toml", "refutations/*.json")
"""The files of a paper's folder that declare something."""


@cache
def fingerprint(folder: Path) -> str:
    """The sha256 of what an audit depends on: a paper's sources, those of the papers beside it that it imports, and the package's own.

    The last are all modules of `bounds/` outside `papers/`: how formulas are compared and findings checked, and the kernel; and what
    the second lock rests on: its own modules, and the code of the methods with what stands beside it.
    """
    package = Path(__file__).parents[1]
    folders = _with_imported(folder, set())
    own = {file for each in folders for pattern in DECLARED for file in each.glob(pattern)}
    mechanism = {file for file in package.rglob("*.py") if "papers" not in file.relative_to(package).parts}
    for pattern in SECOND_LOCK:
        mechanism |= set(package.parent.glob(pattern))
    total = sha256()
    for file in (*sorted(own), *sorted(mechanism)):
        total.update(f"{file.parent.name}/{file.name}\n".encode() + file.read_bytes() + b"\n")
    return total.hexdigest()


def _with_imported(folder: Path, seen: set[Path]) -> set[Path]:
    if folder not in seen and folder.is_dir():
        seen.add(folder)
        for file in (*folder.glob("*.py"), *folder.glob("*.toml")):
            for name in _OTHER_PAPER.findall(file.read_text(encoding="utf-8")):
                _with_imported(folder.parent / name, seen)
    return seen


def read(key: str) -> AuditCache | None:
    """The audit cache of a paper; None where there is none, or it is damaged, or was made from other sources."""
    folder = folder_of(key)
    if folder is None:
        return None
    try:
        content = read_json(folder / NAME, FORMAT)
    except (OSError, DamagedError):
        return None
    if content["made_from"] != fingerprint(folder):
        return None
    return AuditCache(
        key, content["checked"], tuple(content["findings"]), tuple(content["proved"]), content["statuses"]
    )
