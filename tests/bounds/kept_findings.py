"""A finding's check, beside the evidence that the audit of its paper keeps."""

from __future__ import annotations

import json
import re
from functools import cache
from math import isclose
from typing import Any

from fedco.bounds.audit import audit_cache
from fedco.bounds.audit.findings import Finding


@cache
def _kept(paper: str) -> dict[str, Any]:
    rows = json.loads((audit_cache.folder_of(paper) / audit_cache.NAME).read_text())["findings"]
    return {row["id"]: row["evidence"] for row in rows}


_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def same(one: str, other: str) -> bool:
    """The same words and whole numbers, and decimals up to the rounding of another machine."""
    decimals = [[float(number) for number in _DECIMAL.findall(text)] for text in (one, other)]
    words = [_DECIMAL.sub("#", text) for text in (one, other)]
    return words[0] == words[1] and all(isclose(a, b, rel_tol=1e-6) for a, b in zip(*decimals, strict=True))


def check(finding: Finding) -> None:
    """Run the check of a finding; its numbers are those that `make docs` kept, where it has kept the finding.

    That the kept audits are current is for test_audit_cache.py to say.
    """
    found = {name: str(value) for name, value in finding.check().items()}
    kept = _kept(finding.id.partition(".")[0])
    assert found
    if finding.id in kept:
        assert found.keys() == kept[finding.id].keys()
        changed = {name: text for name, text in found.items() if not same(text, kept[finding.id][name])}
        assert not changed, f"{finding.id}: {changed}, kept {kept[finding.id]}"
