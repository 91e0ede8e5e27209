"""What a kept result was computed from: a hash of source files, so that it is gone on with only while its source is the same."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from ... import __version__

ROOT = Path(__file__).parents[2]
TRAJECTORY = ("algorithms", "synthetic")
"""The packages on which the last bit of a trajectory depends, besides torch."""
_THIS_PROCESS = uuid4().hex
"""Fingerprint of code that lies in no file, such as a class typed at a prompt: its results are known in this process only."""


@lru_cache(maxsize=8)
def source_fingerprint(places: tuple[str, ...], root: Path = ROOT) -> str:
    """The sha256 of the version and of every Python file of `places`, in their order.

    Args:
        places: folders, with everything below them, or files, relative to `root`.

    Raises:
        FileNotFoundError: a place without a Python file, which would never change.
    """
    digest = hashlib.sha256(__version__.encode())
    for place in places:
        for path in _files(root / place):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(place: Path) -> Iterator[Path]:
    found = [place] if place.is_file() else sorted(place.rglob("*.py"))
    if not found:
        raise FileNotFoundError(f"{place.name}: wanted a Python file or a folder with some, got none")
    yield from found


def code_fingerprint(*parts: object) -> str:
    """The sha256 of the modules that objects come from: those of their classes, or of the functions themselves.

    A user's own method, problem or recipe is code too: what is kept of its runs is gone when its file changes. The base
    classes count, since a subclass may leave everything to them.
    """
    digest = hashlib.sha256()
    for module in sorted({name for part in parts for name in _modules(part)}):
        digest.update(_source_of(module))
    return digest.hexdigest()


def _modules(part: object) -> Iterator[str]:
    if callable(part) and not isinstance(part, type) and hasattr(part, "__code__"):
        yield part.__module__
        return
    owner = part if isinstance(part, type) else type(part)
    yield from (base.__module__ for base in owner.__mro__ if base.__module__ not in sys.builtin_module_names)


def _source_of(module: str) -> bytes:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not Path(file).is_file():
        return _THIS_PROCESS.encode()
    return Path(file).read_bytes()
