"""What the shell completes: ids of theorems, problems and methods. Each is read without torch, and nothing here may fail."""

from __future__ import annotations

import json
from contextlib import suppress


def theorem_ids(incomplete: str) -> list[str]:
    """The ids of theorems that begin so; paper keys while no paper is named, which needs no paper to be read."""
    from ..bounds.registry import get_paper, is_paper, paper_keys

    key, dot, _ = incomplete.partition(".")
    found: list[str] = []
    with suppress(Exception):
        if dot and is_paper(key):
            found = list(get_paper(key).theorems)
        else:
            keys = [name for name in paper_keys() if name.startswith(key)]
            found = [f"{name}." for name in keys] if len(keys) > 1 else list(get_paper(keys[0]).theorems)
    return [name for name in found if name.startswith(incomplete)]


def problem_names(incomplete: str) -> list[str]:
    """The names of registered problems that begin so, from the kept list, current or not."""
    found: list[str] = []
    with suppress(Exception):
        from ..validation.runs.problem_list import FILE

        found = [item["name"] for item in json.loads(FILE.read_text(encoding="utf-8"))["problems"]]
    return [name for name in found if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """The names of methods that begin so."""
    found: list[str] = []
    with suppress(Exception):
        from ..algorithms.declared import declared

        found = list(declared())
    return [name for name in found if name.startswith(incomplete)]
