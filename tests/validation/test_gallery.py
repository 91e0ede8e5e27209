"""The gallery: every sweep and every case of a counterexample has a page, every page a command that the program understands."""

from __future__ import annotations

import re
import shlex

import pytest
from fedco.cli import app
from fedco.validation.report.gallery import pages
from fedco.validation.runs.registry import sweep_for, sweeps
from typer.main import get_command

PAGES = pages()


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_command_of_a_page_makes_its_figure(page):
    (line,) = re.findall(r"^    (fedco .*)$", page.markdown(), re.MULTILINE)
    program, name, *arguments = shlex.split(line)
    context = get_command(app).commands[name].make_context(name, list(arguments))
    assert program == "fedco"
    if name == "plot":
        assert sweep_for(context.params["name"], context.params["sweep"]).name == page.title


def test_there_is_one_page_per_figure():
    assert len({page.name for page in PAGES}) == len(PAGES) == sum(map(len, sweeps().values())) + 2
