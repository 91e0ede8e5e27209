"""Every `$ fedco ...` block of README.md and of the how-to pages runs and prints what the page shows.

A line of a block that is only `…` stands for one line or more, whatever they are. A block of TOML whose first line is
`# NAME.toml` is that file, for the commands of its page. A command shown without output only has to run.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import fedco
import pytest

ROOT = Path(fedco.__file__).parent
README = ROOT / "README.md"
RUN_ELSEWHERE = {"choose-step-sizes.md"}  # tests/cli/test_inverse.py
PAGES = [README, *sorted(page for page in (ROOT / "docs" / "howto").glob("*.md") if page.name not in RUN_ELSEWHERE)]
SLOW = ("validate", "report")
ELISION = "…"
RUN = "from fedco.cli import main; main()"


@dataclass(frozen=True)
class Shown:
    """A command of a page with the output that stands below it."""

    page: Path
    command: str
    output: tuple[str, ...]


def fences(page: Path) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[Shown]:
    return [shown for block in fences(page) for shown in commands_of(page, block)]


def commands_of(page: Path, block: str) -> list[Shown]:
    """A command goes on after a backslash, its output up to the next command or the end of the block."""
    joined = block.replace("\\\n", "")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    split = [part.rstrip("\n").split("\n") for part in parts]
    return [Shown(page, lines[0], tuple(lines[1:])) for lines in split if lines[0].startswith("fedco ")]


def matches(shown: tuple[str, ...], printed: str) -> bool:
    """Whether the output is what is shown, spaces at the ends of lines aside."""
    lines = (r"(?:.*\n)+?" if line == ELISION else re.escape(line.rstrip()) + r"[ \t]*\n" for line in shown)
    return re.fullmatch("".join(lines), printed.rstrip() + "\n") is not None


def write_files(page: Path, folder: Path) -> None:
    """What the commands of a page need: its TOML files, and the folder `docs` of the repository."""
    for block in fences(page):
        if name := re.match(r"# (\w+\.toml)\n", block):
            (folder / name[1]).write_text(block, encoding="utf-8")
    (folder / "docs").symlink_to(ROOT / "docs")


def cases() -> list[object]:
    found = [shown for page in PAGES for shown in commands(page)]
    return [
        pytest.param(
            shown,
            id=f"{shown.page.stem}-{'-'.join(shown.command.split()[1:3])}",
            marks=[pytest.mark.slow] if shown.command.split()[1] in SLOW else [],
        )
        for shown in found
    ]


@pytest.mark.parametrize("shown", cases())
def test_a_command_prints_what_the_page_shows(shown: Shown, tmp_path: Path):
    write_files(shown.page, tmp_path)
    arguments = [sys.executable, "-c", RUN, *shlex.split(shown.command)[1:]]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    difference = "\n".join(unified_diff(shown.output, done.stdout.splitlines(), "shown", "printed", lineterm=""))
    assert not shown.output or matches(shown.output, done.stdout), f"{shown.command}\n{difference}"


def test_no_command_is_overlooked():
    for page in PAGES:
        lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("$ fedco ")]
        assert len(lines) == len(commands(page)), page.name
    readme = commands(README)
    shown = {item.command.split()[1] for item in readme}
    assert shown >= {"bound", "admissible", "tune", "compare", "validate", "replay", "counterexample", "audit"}
    assert all(item.output and "\\" not in item.command for item in readme)


PRINTED = "a\nb 1.5\n\nc\nd\n"


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("a/b 1.5//c/d", True),
        ("a  /b 1.5//c/d", True),
        ("a/…/d", True),
        ("…/c/d", True),
        ("a/…", True),
        ("a/…/b 1.5//…/d", False),
        ("a/b 1.5//c", False),
        ("a/b 1x5//c/d", False),
        ("a/b 1.6//c/d", False),
        ("a/b 1.5/c/d", False),
        ("…/c/b 1.5/…", False),
        ("a/…/b 1.5//c/d", False),
    ],
)
def test_the_comparison_is_exact_but_for_elided_lines(shown: str, same: bool):
    """An elision of nothing is refused too: it would say that there is more than there is."""
    assert matches(tuple(shown.split("/")), PRINTED) is same


NAMED = re.compile(r"`([\w<>*.-]+(?:/[\w<>*.-]+)*\.(?:py|md|json|svg))`|\]\(([^)#:]+)\)")
ROOMS = ("algorithms", "bounds", "synthetic", "validation")
WRITTEN_BY_A_COMMAND = {"results.json", "seconds.json"}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_every_file_that_a_page_names_is_there(page: str):
    """From the root, from a room of the package or from a folder in one; `<paper>` stands for at least one file."""
    named = {a or b for a, b in NAMED.findall((ROOT / page).read_text(encoding="utf-8"))} - WRITTEN_BY_A_COMMAND
    assert named
    patterns = {name: re.sub(r"<\w+>", "*", name) for name in named}
    folders = [ROOT, *(folder for room in ROOMS for folder in (ROOT / room, *(ROOT / room).glob("**/")))]
    found = {name: [path for folder in folders for path in folder.glob(patterns[name])] for name in named}
    assert not [name for name, paths in found.items() if not paths]
