"""docs/howto/add-a-method.md, taken literally: its blocks are applied to a copy, and the new method gets its tests."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fedco
import pytest

ROOT = Path(fedco.__file__).parent
PAGE = (ROOT / "docs" / "howto" / "add-a-method.md").read_text()
BLOCKS = re.findall(r"^```(python|diff|console)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TESTS_OF_EVERY_METHOD = {
    "test_a_method_is_its_pseudocode", "test_a_lane_is_the_same_alone_and_in_a_batch_of_7_or_512",
    "test_a_lane_is_the_same_with_one_and_two_and_eight_threads", "test_a_grid_point_is_the_same_alone_and_beside_others",
    "test_a_resumed_run_is_the_same", "test_seeds_differ_exactly_when_the_method_samples", "test_on_tiny_problems",
    "test_on_registered_problems", "test_a_slip_is_caught"}  # fmt: skip


LAST_BLOCK = "test_the_last_block_runs"


def apply(block, kind, root):
    """Write the block to the file that its first line names: a new file, more lines at the end, or a change."""
    name, body = block.split("\n", 1)
    file = root / name.removeprefix("# ")
    if kind == "python":
        file.write_text(file.read_text() + "\n\n" + body if file.exists() else body)
        return
    lines = body.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    if any(line.startswith("-") for line in lines):  # a change may stand for the beginning of a line
        before, after = before.rstrip("\n"), after.rstrip("\n")
    assert file.read_text().count(before) == 1, f"{name}: want one {before!r}, got {file.read_text().count(before)}"
    file.write_text(file.read_text().replace(before, after))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A copy whose methods and tests may be changed; everything else is linked."""
    root = tmp_path_factory.mktemp("copy") / "fedco"
    root.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in ("algorithms", "tests") and not entry.name.startswith("."):
            (root / entry.name).symlink_to(entry)
    for folder in ("algorithms", "tests/algorithms"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for kind, block in BLOCKS:
        if block.startswith("# "):
            apply(block, kind, root)
    (program,) = [block for kind, block in BLOCKS if kind == "python" and not block.startswith("# ")]
    test = f"def {LAST_BLOCK}(capsys):\n    exec({program!r}, {{}})\n    assert 'Messages(rounds=50' in capsys.readouterr().out\n"
    (root / "tests" / "algorithms" / "test_last_block.py").write_text(test)
    return root


def run_tests(repository, *options):
    settings = ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(repository)]
    paths = f"pythonpath={repository / 'tests' / 'algorithms'} {ROOT / 'tests'}"
    return subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-o", paths, "-rA", "-q", *options],
        cwd=repository / "tests",
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(repository.parent), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def outcomes(done, word):
    """Names of the tests that PASSED or FAILED."""
    return set(re.findall(rf"^{word} \S+?::(\w+)", done.stdout, re.MULTILINE))


def test_the_new_method_gets_every_test_and_no_method_goes_without_a_case(repository):
    chosen = f"fedavgm or test_every_method_has_a_case or {LAST_BLOCK}"
    files = [f"algorithms/test_{name}.py" for name in ("reference", "lanes", "matrix", "slips")]
    done = run_tests(repository, *files, "algorithms/test_last_block.py", "-k", chosen)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    passed = outcomes(done, "PASSED")
    assert passed >= TESTS_OF_EVERY_METHOD | {"test_every_method_has_a_case_on_each_of_its_kinds", LAST_BLOCK}


def test_it_is_thirty_lines():
    """Of code: without docstrings, imports, blank lines and what every method declares (name, kinds, needs)."""
    (source,) = [block for _, block in BLOCKS if block.startswith("# algorithms/baselines/fedavgm.py")]
    tree = ast.parse(source)
    skipped = {line for node in ast.walk(tree) for line in _lines_of_no_code(node)}
    code = [
        line
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and number not in skipped and not line.lstrip().startswith("#")
    ]
    assert 20 < len(code) <= 32, "\n".join(code)


def _lines_of_no_code(node):
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_class_variable = isinstance(node, ast.AnnAssign) and "ClassVar" in ast.unparse(node.annotation)
    if is_text or is_class_variable or isinstance(node, (ast.Import, ast.ImportFrom)):
        return range(node.lineno, node.end_lineno + 1)
    return ()
