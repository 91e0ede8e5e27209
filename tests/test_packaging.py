"""constraints.txt pins everything that an installation brings in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES = ("bounds", "algorithms", "synthetic", "validation", "cli", "figures.py", "notebook.py")
EXTRAS = ("test", "lint", "distributed", "frames", "experiments", "docs")


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


def test_every_dependency_is_imported():
    """z3 was installed for months, 38 MB, after the last line that used it had gone."""
    modules = {}
    for module, distributions in packages_distributions().items():
        for name in distributions:
            modules.setdefault(canonicalize_name(name), set()).add(module)
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    code = "\n".join(path.read_text() for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] in PACKAGES)
    unused = []
    for line in written:
        name = canonicalize_name(Requirement(line).name)
        used = "|".join(sorted(modules[name]))
        if not re.search(rf"^\s*(from|import) ({used})\b", code, re.MULTILINE):
            unused.append(name)
    assert written and not unused


@pytest.mark.slow
def test_two_builds_of_the_wheel_are_the_same_file(tmp_path):
    """With SOURCE_DATE_EPOCH set, as packagers set it; the sources are copied at different times to different folders."""
    found = []
    for name in ("first", "second"):
        source = tmp_path / name / "source"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "benchmarks", "build", "*.egg-info")
        shutil.copytree(ROOT, source, ignore=ignored, copy_function=shutil.copyfile)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run([*command, "--wheel-dir", str(source.parent), str(source)], check=True, env=environment)
        (wheel,) = source.parent.glob("*.whl")
        found.append(wheel.read_bytes())
    assert found[0] == found[1]


def test_every_pin_but_torch_has_the_hash_of_its_file():
    """pip and wheel are what installs; jax and what it brings are for benchmarks only."""
    hashed = {line.partition(" ")[0] for line in (ROOT / "hashes.txt").read_text().splitlines()}
    pins = {line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert hashed < pins
    without = {pin.partition("==")[0] for pin in pins - hashed}
    assert without == {"torch", "pip", "wheel", "jax", "jaxlib", "ml_dtypes", "opt_einsum"}
