"""Auditing papers, and keeping what was found beside their declarations.

`python -m fedco.bounds.audit.make_audit_cache` runs every check and every derivation of the built-in papers and writes their audit caches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ... import user_files
from ...storage import write_json
from .. import papers as built_in
from .audit_cache import FORMAT, NAME, AuditCache, fingerprint, folder_of, read
from .findings import SEVERITIES, Finding


def findings(about: str | None = None, check: bool | None = None) -> tuple[list[dict[str, Any]], dict[str, str | None]]:
    """What `fedco audit` lists: findings as JSON, worst first, and the day on which the checks of each paper or file were run.

    Args:
        about: a theorem's id, a paper's key or a file; everything without it.
        check: True runs every check now, False runs none (the day is then None), None runs those that no valid audit cache holds.

    Raises:
        InputError: no such theorem, paper or file.
        RecheckError: a finding is not confirmed.
    """
    rows: list[dict[str, Any]] = []
    dates: dict[str, str | None] = {}
    for part in _parts(about):
        key, dot, _ = part.partition(".")
        known = read(key) if check is None and not user_files.is_file(part) else None
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
    return (*built_in.built_in_keys(), *user_files.installed("papers")) if about is None else (about,)


def make(key: str) -> AuditCache:
    """The audit of a paper, every check run now.

    Raises:
        RecheckError: a finding is not confirmed.
    """
    from ..registry import get_paper
    from .checks import audit
    from .decide import decide

    rows, checked = tuple(run(audit(key))), tuple(proved(key))
    statements = [(theorem, label) for theorem in get_paper(key).theorems.values() for label in theorem.labels]
    names = [f"{theorem.id} {label}" for theorem, label in statements]
    day = datetime.now(UTC).date().isoformat()
    found = (decide(*each, day if name in checked else "") for name, each in zip(names, statements, strict=True))
    statuses = {name: each.to_dict() for name, each in zip(names, found, strict=True)}
    return AuditCache(key, day, rows, checked, statuses)


def proved(key: str) -> Iterator[str]:
    """`ID STATEMENT` of each statement of a paper for which both locks of `fedco prove` hold now."""
    from ..proof.locks import prove
    from ..registry import get_paper

    paper = get_paper(key)
    for name, label in [
        *((name, "") for name in paper.derivations),
        *((name, "sharpened") for name in paper.sharpened),
    ]:
        proof = prove(paper.theorems[name], label, note=lambda text: print(text, file=sys.stderr))
        if proof.checked:
            yield f"{proof.verdict.theorem} {proof.verdict.statement}"


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
        RecheckError: a finding is not confirmed, or a refutation does not stand.
    """
    from ..registry import get_paper
    from .findings import RecheckError
    from .refuted import of_paper

    folder = folder_of(key)
    if folder is None:
        raise ValueError(f"{key}: no folder in which an audit cache could be kept")
    if fallen := [name for name, item in of_paper(get_paper(key)).items() if not item.stands]:
        raise RecheckError(f"{fallen[0]}: what it holds does not break the claim with this grade")
    made = make(key)
    content = {"format": FORMAT, "paper": key, "made_from": fingerprint(folder), "checked": made.checked}
    kept = {"findings": list(made.rows), "proved": list(made.proved), "statuses": dict(made.statuses)}
    return write_json(folder / NAME, {**content, **kept})


if __name__ == "__main__":
    for given in sys.argv[1:] or built_in.built_in_keys():
        print(write(given))
