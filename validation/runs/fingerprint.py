"""Which source files a kept result depends on: it is read back until one of them changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...algorithms.engine.fingerprint import source_fingerprint
from ...storage import recall_or_make

MEASUREMENT = ("algorithms", "synthetic", "bounds", "validation/runs/experiments.py", "validation/runs/values.py")
"""What the statistic of a run depends on: methods, problems, bounds, and how a run puts them together. What a recipe adds is
named by the source of the module that its method comes from."""
PACKAGE = ("algorithms", "bounds", "synthetic", "validation")
"""Sources on which a part of the report depends: every package that computes."""
LEMMAS = (*MEASUREMENT, "validation/lemmas", "validation/papers")
"""Sources on which the measurement of both sides of a lemma depends."""


def cached_json(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """`make()`, a JSON value, from `folder`/`name`.json if it was written by this very source."""
    return recall_or_make(folder / f"{name}.json", {"source": source_fingerprint(PACKAGE)}, make)
