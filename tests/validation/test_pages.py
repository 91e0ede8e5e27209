"""The generated pages: one per theorem, made with the site, and docs/audit.md, which is kept and compared."""

from __future__ import annotations

import re
from pathlib import Path

import fedco
import pytest
from fedco import theorems
from fedco.bounds import paper_keys
from fedco.bounds.audit.checks import audit
from fedco.bounds.language.rendering import audit_page
from fedco.bounds.proof.derivations import derivation, prove
from fedco.bounds.proof.written.document import document
from fedco.bounds.proof.written.media import markdown_blocks
from fedco.validation.report import pages
from fedco.validation.runs.registry import recipes

RECIPES = recipes()

DOCS = Path(fedco.__file__).parent / "docs"
OUT_OF_DATE = "out of date: run `make docs`"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages.theorem_pages()


def test_every_theorem_has_its_page(made):
    assert set(made) == {*(f"{name}.md" for name in theorems()), "index.md"}
    assert all(f"]({name}.md)" in made["index.md"] for name in theorems())


@pytest.mark.parametrize("paper", paper_keys())
def test_the_audit_page_is_up_to_date(paper):
    """It holds the same paragraphs, paper by paper within each severity."""
    whole = (DOCS / "audit.md").read_text(encoding="utf-8")
    for part in audit_page(audit(paper)).split("\n### ")[1:]:
        paragraph = part.split("\n## ")[0].strip()
        assert paragraph in whole, f"audit.md is {OUT_OF_DATE}"


def test_the_audit_page_has_no_finding_of_its_own():
    text = (DOCS / "audit.md").read_text(encoding="utf-8")
    listed = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert len(listed) == len(set(listed)) and {name.partition(".")[0] for name in listed} <= set(paper_keys())


def test_a_page_says_where_its_theorem_is_validated(made):
    for name, recipe in RECIPES.items():
        text = made[f"{name}.md"]
        assert all(f"`{item.name}`" in text for item in recipe.instances), name


def test_a_page_says_what_is_known_and_shows_each_derivation(made):
    """One row for each statement, and a box with every line of each proof; proved is what rests on no unchecked lemma."""
    for name, theorem in theorems().items():
        text = made[f"{name}.md"]
        for label in theorem.labels:
            shown, has_derivation = (
                (f"## Proof of the {label} statement" in text),
                derivation(theorem, label) is not None,
            )
            assert shown == has_derivation, name
            verdict = prove(theorem, label) if has_derivation else None
            assert (f"| {label} | **proved** |" in text) == (verdict is not None and verdict.checked), name
            lines = markdown_blocks(document(theorem, verdict), below=2, tags=False) if verdict else []
            assert all(line in text for line in lines) and bool(lines) == has_derivation, name
            assert (verdict is None or verdict.checked) or f"**Proved given {', '.join(verdict.given)}**" in text, name
        assert text.count('<div class="proof" markdown>') == text.count("## Proof of the"), name


def test_every_statement_with_a_bound_or_a_condition_has_its_formula(made):
    """Also where it is a single line."""
    shown = single = 0
    for name, theorem in theorems().items():
        text = made[f"{name}.md"]
        for label in theorem.labels:
            statement = theorem.statement(label)
            part = text.partition(f"\n## {label.capitalize()}\n")[2].partition("\n## ")[0]
            lines = len(statement.terms) + len(statement.derived) + len(statement.conditions)
            assert ("\n$$\n" in part) == (lines > 0), (name, label)
            shown, single = shown + (lines > 0), single + (lines == 1)
    assert shown > 150 and single > 10


def test_a_bar_does_not_end_a_cell_of_a_table(made):
    """Names of norms are in tables: every row has as many cells as its head."""
    rows = 0
    for name, text in made.items():
        width = 0
        for line in text.splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert cells == width or not (cells and width), (name, line)
            width, rows = cells, rows + bool(cells)
    assert rows > 2000
