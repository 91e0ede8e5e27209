"""Parts of the report that are functions of the source alone: computed once, then read until the source changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...algorithms.engine.fingerprint import source_fingerprint
from ...storage import recall_or_make
from .fingerprint import PACKAGE


def cached_json(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """`make()`, a JSON value, from `folder`/`name`.json if it was written by this very source."""
    return recall_or_make(folder / f"{name}.json", {"source": source_fingerprint(PACKAGE)}, make)
