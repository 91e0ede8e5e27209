"""constraints.txt pins everything that an installation brings in."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = ("test", "lint", "distributed")


def needed(name: str, extras: tuple[str, ...], seen: set[str]) -> set[str]:
    """Names of the packages that `name` needs on this machine, directly or not."""
    for line in requires(name) or []:
        wanted = Requirement(line)
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        key = canonicalize_name(wanted.name)
        if key not in seen:
            seen.add(key)
            needed(wanted.name, tuple(wanted.extras), seen)
    return seen


def test_every_version_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    try:
        missing = needed("fedco", EXTRAS, set()) - pinned
    except PackageNotFoundError as error:
        pytest.skip(f"needs an installed package: {error}")
    assert not missing
