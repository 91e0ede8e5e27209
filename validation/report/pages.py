"""The generated pages: one per theorem, made with the site, and the audit. Each is a template over what describes a theorem.

`python -m fedco.validation.report.pages docs` writes docs/audit.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sympy as sp
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ...bounds.audit.checks import audit
from ...bounds.audit.findings import Finding
from ...bounds.audit.refuted import exact_instances, refutations
from ...bounds.audit.status import status
from ...bounds.audit.status import table as standing_table
from ...bounds.language.rendering import describe
from ...bounds.language.result import markdown_table
from ...bounds.language.theorem import Theorem
from ...bounds.proof.derivations import derivation, prove
from ...bounds.proof.written.document import document
from ...bounds.proof.written.media import markdown_blocks
from ...bounds.registry import all_papers, paper_keys, paper_theorems
from ...bounds.registry import all_theorems as theorems
from ...storage import write_text
from ..falsifier.record import lines_of
from ..runs.registry import recipes, why_without
from . import tightness

_LEMMA = "a lemma is measured along the runs of its theorem, `fedco validate THEOREM --lemmas`, where it speaks of runs"
TITLES = {
    "breaks": "Claims that do not follow as stated",
    "constant": "Claims that survive with another constant or condition",
    "slip": "Slips: nothing changes once the line is read as meant",
}
"""Titles of the findings of each severity."""


@cache
def _templates() -> Environment:
    """Of Markdown, in which nothing is escaped: the declarations of papers are ours."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["table"] = lambda heads, rows: "\n".join(markdown_table(heads, rows, align=False))
    made.globals["word_of"] = lambda file: exact_instances()[Path(file).stem].word
    made.filters["displayed"] = lambda latex: "\n".join(latex.replace("align*", "aligned").split("\n")[1:])
    return made


def theorem_page(theorem: Theorem, findings: Sequence[Finding] = ()) -> str:
    """The page of a theorem, in Markdown with display formulas; `findings` are those about it."""
    said = describe(theorem)

    def constants(label: str) -> list[list[str]]:
        statement = theorem.statement(label)
        known = theorem.dimensions(statement)
        return [[f"`{d.name}`", f"`{sp.sstr(d.expr)}`", d.meaning, str(known[d.symbol])] for d in statement.derived]

    def terms(label: str) -> list[list[str]]:
        return [[term.name, term.role, f"`{sp.sstr(term.expr)}`"] for term in theorem.statement(label).terms]

    symbols = {name: row for statement in said["statements"].values() for name, row in statement["symbols"].items()}
    known = {label: status(theorem, label) for label in theorem.labels}
    shown = {
        "theorem": theorem,
        "said": said,
        "known": [[label, f"**{s.outcome}**", s.reason] for label, s in known.items()],
        "constants": constants,
        "terms": terms,
        "symbols": [
            [f"${name.latex}$", f"`{name}`", *(row[key] for key in ("meaning", "dimension", "domain"))]
            for name, row in symbols.items()
        ],
        "proofs": [
            _proof(theorem, label, known[label].outcome)
            for label in theorem.labels
            if derivation(theorem, label) is not None
        ],
        "validated": validated_on(theorem.id),
        "measured": [*tightness.lines_of(theorem), *lines_of(theorem)],
        "refuted": [item for item in refutations().values() if item.claim == theorem.id],
        "findings": findings,
    }
    return _templates().get_template("theorem.md").render(shown)


def paper_pages(paper: str, findings: list[Finding]) -> dict[str, str]:
    """File name -> text of the pages of one paper key; `findings` are those of its audit."""
    return {
        f"{name}.md": theorem_page(item, [f for f in findings if f.theorem == name])
        for name, item in paper_theorems(paper).items()
    }


def validated_on(name: str) -> list[str]:
    """The instances on which `fedco validate` compares the theorem with runs, one line each, or why there are none."""
    if name not in recipes():
        return [f"no run: {why_without(name) or _LEMMA}"]
    recipe = recipes()[name]
    return [f"`{item.name}`, {item.case}: {item.why}; statement `{recipe.label}`" for item in recipe.instances]


def _proof(theorem: Theorem, label: str, outcome: str) -> Mapping[str, Any]:
    """What the kernel says of the derivation of a statement, on what it rests, and every step."""
    checked = prove(theorem, label)
    shown = markdown_blocks(document(theorem, checked), below=2, tags=False) if checked.accepted else []
    return {
        "statement": checked.statement,
        "accepted": checked.accepted,
        "failure": checked.failure,
        "given": checked.given,
        "steps": len(checked.lines),
        "is_proved": outcome == "proved",
        "written": "\n\n".join(shown).rstrip("\n"),
    }


def index() -> str:
    """The list of all pages."""
    return "\n".join(["# Theorems", "", *(f"- [{name}]({name}.md)" for name in theorems()), ""])


def theorem_pages() -> dict[str, str]:
    """File name -> text of the page of every theorem, and of their list."""
    pages = (paper_pages(paper, audit(paper)) for paper in paper_keys())
    return {name: text for found in pages for name, text in found.items()} | {"index.md": index()}


def audit_page(findings: Sequence[Finding], withdrawn: Sequence[Any] = (), standing: str = "") -> str:
    """The audit as a referee's report, worst findings first, then those that did not stand when they were read again."""
    counts = Counter((f.theorem.partition(".")[0], f.severity) for f in findings)
    papers = dict.fromkeys(paper for paper, _ in counts)
    rows = [[paper, *(str(counts[paper, severity]) for severity in TITLES)] for paper in papers]
    rows.append(["all", *(str(sum(counts[paper, severity] for paper in papers)) for severity in TITLES)])
    text = (
        _templates()
        .get_template("audit.md")
        .render(
            findings=findings,
            titles=TITLES,
            heads=["paper", *(title[:1].lower() + title[1:] for title in TITLES.values())],
            counts=rows,
            causes=sum(not f.cause for f in findings),
            withdrawn=[[", ".join(f"`{name}`" for name in item.ids), item.why] for item in withdrawn],
            standing=standing,
        )
    )
    return text.rstrip("\n") + "\n"


def whole_audit() -> str:
    """docs/audit.md: every finding, those that did not stand, and the status of every statement."""
    every = [f for paper in paper_keys() for f in audit(paper)]
    withdrawn = [item for paper in all_papers() for item in paper.withdrawn]
    return audit_page(every, withdrawn, standing_table(theorems().values()))


if __name__ == "__main__":
    print(write_text(Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / "audit.md", whole_audit()))
