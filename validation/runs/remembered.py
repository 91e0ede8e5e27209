"""Parts of the report that are functions of the source alone: computed once, then read until the source changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...algorithms.engine.fingerprint import source_fingerprint
from .fingerprint import PACKAGE


def remembered(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """`make()`, a JSON value, from `folder`/`name`.json if it was written by this very source."""
    path, source = folder / f"{name}.json", source_fingerprint(PACKAGE)
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["source"] == source:
            return kept["value"]
    text = json.dumps({"source": source, "value": make()}, allow_nan=False)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return json.loads(text)["value"]
