"""What a kept result was computed from: a hash of source files, so that it is gone on with only while its source is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ... import __version__

ROOT = Path(__file__).parents[2]
TRAJECTORY = ("algorithms", "synthetic")
"""What the last bit of a trajectory depends on, besides torch."""


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
