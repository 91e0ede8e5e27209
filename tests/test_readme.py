"""Every `$ fedco ...` block of README.md and of the pages of docs/ runs and prints what the page shows.

The commands of a block run one after the other in one folder; those of another block start anew.

A line of a block that is only `…` stands for one line or more, whatever they are. A block of TOML whose first line is
`# NAME.toml` is that file, for the commands of its page. A command shown without output only has to run.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from difflib import unified_diff
from math import isclose
from pathlib import Path

import fedco
import pytest
from fedco.bounds.registry import all_theorems, paper_keys
from fedco.cli import app
from fedco.validation.runs.refutations import kept
from typer.main import get_command

ROOT = Path(fedco.__file__).parent
README = ROOT / "README.md"
RUN_ELSEWHERE = {"choose-step-sizes.md", "CONTRIBUTING.md"}  # tests/cli/test_inverse.py, tests/test_add_a_theorem.py
FOLDERS = (ROOT / "docs", ROOT / "docs" / "howto")
PAGES = [README, *sorted(p for folder in FOLDERS for p in folder.glob("*.md") if p.name not in RUN_ELSEWHERE)]
SLOW = ("validate", "report", "falsify")
ELISION = "…"
ESTIMATED = 1e-4
"""An estimate of a model's constants, and what rests on it, ends in other digits on another processor (1e-6 of it was seen)."""


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


def blocks(page: Path) -> list[list[Shown]]:
    return [found for block in fences(page) if (found := commands_of(page, block))]


def commands_of(page: Path, block: str) -> list[Shown]:
    """A command goes on after a backslash, its output up to the next command or the end of the block."""
    joined = block.replace("\\\n", "")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    split = [part.rstrip("\n").split("\n") for part in parts]
    return [Shown(page, lines[0], tuple(lines[1:])) for lines in split if lines[0].startswith("fedco ")]


def matches(shown: tuple[str, ...], printed: str, relative: float = 0) -> bool:
    """Whether the output is what is shown, spaces at the ends of lines aside, and numbers within a relative tolerance."""
    lines = (r"(?:.*\n)+?" if line == ELISION else _of_line(line.rstrip()) + r"[ \t]*\n" for line in shown)
    found = re.fullmatch("".join(lines), printed.rstrip() + "\n")
    if found is None:
        return False
    numbers = [number for line in shown if line != ELISION for number in _NUMBER.findall(line)]
    return all(
        one == other or (relative > 0 and isclose(float(one), float(other), rel_tol=relative))
        for one, other in zip(numbers, found.groups(), strict=True)
    )


_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")


def _of_line(line: str) -> str:
    """A pattern for a line in which each number is a group."""
    return f"({_NUMBER.pattern})".join(map(re.escape, _NUMBER.split(line)))


def test_another_number_or_word_is_seen():
    shown = ("eta = 0.0019669, T = 10", ELISION, "the end: 1e-05")
    assert matches(shown, "eta = 0.0019669, T = 10  \nmore\nthe end: 1e-05\n")
    assert matches(shown, "eta = 0.0019668, T = 10\nmore\nthe end: 1e-05\n", 1e-4)
    assert not matches(shown, "eta = 0.0019668, T = 10\nmore\nthe end: 1e-05\n")
    assert not matches(shown, "eta = 0.0019669, T = 11\nmore\nthe end: 1e-05\n", 1e-4)
    assert not matches(shown, "eta = 0.0019669, t = 10\nmore\nthe end: 1e-05\n", 1e-4)


def write_files(page: Path, folder: Path) -> None:
    """What the commands of a page need: its TOML files, and the folders `docs` and `examples` of the repository."""
    for block in fences(page):
        if name := re.match(r"# (\w+\.toml)\n", block):
            (folder / name[1]).write_text(block, encoding="utf-8")
    for name in ("docs", "examples"):
        (folder / name).symlink_to(ROOT / name)


def cases() -> list[object]:
    found = [block for page in PAGES for block in blocks(page)]
    return [
        pytest.param(
            block,
            id=f"{block[0].page.stem}-{'-'.join(block[0].command.split()[1:3])}",
            marks=[pytest.mark.slow] if {shown.command.split()[1] for shown in block} & {*SLOW} else [],
        )
        for block in found
    ]


@pytest.mark.parametrize("block", cases())
def test_commands_print_what_the_page_shows(
    block: list[Shown], command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_files(block[0].page, tmp_path)
    monkeypatch.setenv("BROWSER", "true")  # what `--open` starts: a program that does nothing
    for shown in block:
        done = command(*shlex.split(shown.command, comments=True)[1:], cwd=tmp_path)
        assert done.returncode == 0, (shown.command, done.stderr)
        difference = "\n".join(unified_diff(shown.output, done.stdout.splitlines(), "shown", "printed", lineterm=""))
        estimated = ESTIMATED if ".py:build" in shown.command else 0
        assert not shown.output or matches(shown.output, done.stdout, estimated), f"{shown.command}\n{difference}"


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
PARTS = ("algorithms", "benchmarks", "bounds", "docs", "synthetic", "tests", "validation")
WRITTEN_BY_A_COMMAND = {"results.json", "seconds.json"}


NAMING = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/falsifier.md", "docs/reliability.md")
THEORY = [f"docs/theory/{path.name}" for path in sorted((ROOT / "docs" / "theory").glob("*.md"))]


@pytest.mark.parametrize("page", [*NAMING, *THEORY])
def test_every_file_that_a_page_names_is_there(page: str):
    """From the root, from a folder of it or from a folder in one; `<paper>` stands for at least one file."""
    named = {a or b for a, b in NAMED.findall((ROOT / page).read_text(encoding="utf-8"))} - WRITTEN_BY_A_COMMAND
    assert named
    patterns = {name: re.sub(r"<\w+>", "*", name) for name in named}
    folders = [ROOT, *(folder for part in PARTS for folder in (ROOT / part, *(ROOT / part).glob("**/")))]
    found = {name: [path for folder in folders for path in folder.glob(patterns[name])] for name in named}
    assert not [name for name, paths in found.items() if not paths]


RUN_BY = {
    "CONTRIBUTING.md": "test_add_a_theorem.py",
    "docs/falsifier.md": "validation/test_necessary.py",
    "docs/howto/add-a-method.md": "algorithms/test_add_a_method.py",
    "docs/howto/choose-step-sizes.md": "cli/test_inverse.py",
    "docs/howto/from-nothing-to-proved.md": "test_examples.py",
    "docs/howto/from-a-model-to-a-schedule.md": "synthetic/test_pages.py",
    "docs/howto/test-a-bound.md": "validation/test_any_theorem.py",
    "docs/howto/your-own-problem.md": "synthetic/test_pages.py",
    "docs/howto/three-proofs.md": "bounds/proof/test_claims.py",
    "docs/howto/write-a-derivation.md": "bounds/proof/test_claims.py",
    "docs/howto/your-own-theorem.md": "test_examples.py",
}
"""The test that takes the Python and the diffs of a page as they stand and runs or applies them."""
WRITTEN = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
INSTALLING = {"README.md", "docs/dependencies.md"}
"""Pages with a block of no kind: how fedco is installed, which `make test` itself and tests/test_wheel.py do."""


def test_every_block_of_a_page_is_run_somewhere():
    """Commands in a block of `console`, here or where RUN_ELSEWHERE says; Python and diffs by the test of their page, which names it."""
    seen = set()
    for page in WRITTEN:
        name, text = page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")
        kinds = set(re.findall(r"^```(\w*)\n.*?^```", text, re.DOTALL | re.MULTILINE))
        assert kinds <= {"console", "python", "diff", "toml", *([""] if name in INSTALLING else [])}, name
        assert "console" not in kinds or page in PAGES or page.name in RUN_ELSEWHERE, name
        if kinds & {"python", "diff"}:
            assert page.name in (ROOT / "tests" / RUN_BY[name]).read_text(encoding="utf-8"), name
            seen.add(name)
        outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        assert not re.findall(r"^(?: {4}|\$ )(?:fedco|python|pip) .*$", outside, re.MULTILINE), name
    assert seen == set(RUN_BY)


INLINE = re.compile(r"`(fedco [^`]+)`")
PLACEHOLDER = re.compile(r"[A-Z]+")


def spoken() -> dict[str, str]:
    """Every command that stands within a sentence of a page, with one page on which it does."""
    return {command: page.name for page in WRITTEN for command in INLINE.findall(page.read_text(encoding="utf-8"))}


def test_a_command_within_a_sentence_is_understood():
    """The program parses it, and what it names is there: a theorem, a paper, a finding, a file of docs/. Capitals stand for any."""
    known = {*all_theorems(), *paper_keys()}
    audit = (ROOT / "docs" / "audit.md").read_text(
        encoding="utf-8"
    )  # tests/validation/test_pages.py compares it with an audit
    findings = {*re.findall(r"^### (.+)$", audit, re.MULTILINE)}
    read, offered = 0, get_command(app).commands
    for text, page in spoken().items():
        _, name, *arguments = shlex.split(text)
        if name.startswith("-"):
            continue
        command = offered[name]
        is_shown = bool(arguments) and not any(PLACEHOLDER.fullmatch(word) for word in arguments)
        if not is_shown:
            continue
        context = command.make_context(name, list(arguments))
        read += 1
        for word in arguments:
            if word.startswith("docs/"):
                assert (ROOT / word).exists() or Path(word).stem in kept(), (page, text)
        wanted = context.params.get("recheck")
        assert wanted is None or wanted in findings, (page, text)
        given = context.params.get("name") or context.params.get("theorem")
        is_file = given is not None and (ROOT / "examples" / given).is_file()
        assert given is None or given in known or is_file or ":" in given or "/" in given, (page, text)
    assert read > 200
