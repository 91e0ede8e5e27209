"""A built-in paper has no right that a stranger's paper has not: without its folder and its runs, the rest works."""

import shutil
import subprocess
import sys
from pathlib import Path

import fedco
import pytest

ROOT = Path(fedco.__file__).parent
ROOMS = ("bounds", "algorithms", "synthetic", "validation", "cli")
CODE = """
import importlib, pkgutil, sys
import fedco
from fedco.bounds import paper_keys
from fedco.bounds.cost.comparison import orders
from fedco.bounds.audit.refuted import refutations
for module in pkgutil.walk_packages(fedco.__path__, "fedco."):
    if not module.name.startswith("fedco.tests") and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
key = sys.argv[1]
assert key not in paper_keys() and len(paper_keys()) >= 7, paper_keys()
names = list(fedco.theorems())
assert names and not any(name.startswith(key + ".") for name in names)
assert not any(name.startswith(key + ".") for name in refutations())
assert orders("conditional").rows and fedco.audit("fcsg.theorem_4_1")
print(len(names))
"""


@pytest.mark.parametrize("key", ["comfedl"])
def test_without_a_paper_everything_else_is_importable_and_answers(key: str, tmp_path: Path):
    copy = tmp_path / "fedco"
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room)  # with what is compiled: every module is imported
    for file in ROOT.glob("*.py"):
        shutil.copy(file, copy / file.name)
    shutil.rmtree(copy / "bounds" / "papers" / key)
    runs = copy / "validation" / "papers" / key
    shutil.rmtree(runs) if runs.is_dir() else runs.with_suffix(".py").unlink()
    command = [sys.executable, "-c", CODE, key]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    whole = [name for name in fedco.theorems() if not name.startswith(f"{key}.")]
    assert int(done.stdout) == len(whole)
