"""The generated pages of docs/: one per theorem, none missing, none out of date."""

from __future__ import annotations

from pathlib import Path

import fedco
import pytest
from fedco import theorems
from fedco.bounds import paper_keys
from fedco.bounds.audit.checks import audit
from fedco.bounds.language.rendering import audit_page
from fedco.bounds.proof.derivations import derived_ids, prove
from fedco.validation.report import pages
from fedco.validation.runs.registry import recipes

RECIPES = recipes()

DOCS = Path(fedco.__file__).parent / "docs"
OUT_OF_DATE = "out of date: run `make docs`"


def test_every_theorem_has_its_page_and_no_page_is_left_over():
    assert {path.stem for path in (DOCS / "theorems").glob("*.md")} == {*theorems(), "index"}
    assert (DOCS / "theorems" / "index.md").read_text(encoding="utf-8") == pages.index(), OUT_OF_DATE


@pytest.mark.parametrize("paper", paper_keys())
def test_the_pages_of_a_paper_are_up_to_date(paper):
    """The audit page holds the same paragraphs, paper by paper within each severity."""
    findings = audit(paper)
    for name, text in pages.paper_pages(paper, findings).items():
        assert (DOCS / "theorems" / name).read_text(encoding="utf-8") == text, f"{name} is {OUT_OF_DATE}"
    whole = (DOCS / "audit.md").read_text(encoding="utf-8")
    for part in audit_page(findings).split("\n### ")[1:]:
        paragraph = part.split("\n## ")[0].strip()
        assert paragraph in whole, f"audit.md is {OUT_OF_DATE}"


def test_the_audit_page_has_no_finding_of_its_own():
    text = (DOCS / "audit.md").read_text(encoding="utf-8")
    listed = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert len(listed) == len(set(listed)) and {name.partition(".")[0] for name in listed} <= set(paper_keys())


def test_a_page_says_where_its_theorem_is_validated():
    for name, recipe in RECIPES.items():
        text = (DOCS / "theorems" / f"{name}.md").read_text(encoding="utf-8")
        assert all(f"`{item.name}`" in text for item in recipe.instances), name


def test_a_page_shows_the_derivation_and_nothing_else_is_called_proved():
    for name, theorem in theorems().items():
        text = (DOCS / "theorems" / f"{name}.md").read_text(encoding="utf-8")
        assert (f"The {theorem.default} statement is **proved**" in text) == (name in derived_ids()), name
        if name in derived_ids():
            lines = prove(theorem).lines
            assert all(f"{number}. **{x.name}**: `{x.claim}`." in text for number, x in enumerate(lines, 1)), name
