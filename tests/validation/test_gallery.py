"""docs/gallery: every figure has its page, every page a command that the program understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import fedco
import pytest
from fedco.cli import app
from fedco.validation.report.gallery import pages
from fedco.validation.runs.registry import sweep_for, sweeps
from typer.main import get_command

SWEEPS = sweeps()

FOLDER = Path(fedco.__file__).parent / "docs" / "gallery"
PAGES = pages()


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_page_is_what_the_generator_writes_and_its_command_parses(page):
    text = (FOLDER / f"{page.name}.md").read_text(encoding="utf-8")
    assert text == page.markdown()
    (line,) = re.findall(r"^    (fedco .*)$", text, re.MULTILINE)
    program, name, *arguments = shlex.split(line)
    command = get_command(app).commands[name]
    context = command.make_context(name, list(arguments))
    assert program == "fedco"
    if name == "plot":
        assert sweep_for(context.params["name"], context.params["sweep"]).name == page.title


def test_there_is_one_page_per_figure_and_no_other():
    names = {page.name for page in PAGES} | {"index"}
    assert {path.stem for path in FOLDER.glob("*.md")} == names
    assert len(names) == len(PAGES) + 1 == sum(map(len, SWEEPS.values())) + 3


def test_every_page_has_its_figure_and_the_numbers_behind_it():
    names = {page.name for page in PAGES}
    assert {path.stem for path in FOLDER.glob("*.svg")} == names
    for name in names:
        assert "<svg" in (FOLDER / f"{name}.svg").read_text(encoding="utf-8")[:600]
        head, *rows = (FOLDER / f"{name}.data.csv").read_text(encoding="utf-8").splitlines()
        assert len(rows) >= 2 and head.count(",") >= 2


def test_the_index_links_every_page():
    links = re.findall(r"\]\(([^)]+)\)", (FOLDER / "index.md").read_text(encoding="utf-8"))
    assert sorted(links) == sorted(f"{page.name}.md" for page in PAGES)
