"""The generated pages: one per theorem, made with the site, and the audit.

`python -m fedco.validation.report.pages docs` writes docs/audit.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ...bounds.audit.checks import audit
from ...bounds.audit.findings import Finding
from ...bounds.audit.status import Status, status, table
from ...bounds.language.markdown import table as markdown_table
from ...bounds.language.rendering import audit_page, to_page, withdrawn_page
from ...bounds.language.theorem import Theorem
from ...bounds.proof.derivations import derivation, prove
from ...bounds.proof.kernel import Verdict
from ...bounds.proof.written.document import document
from ...bounds.proof.written.media import markdown_blocks
from ...bounds.registry import all_papers, paper_keys, paper_theorems
from ...bounds.registry import all_theorems as theorems
from ...storage import write_text
from ..falsifier.record import lines_of
from ..runs.registry import recipes, why_without
from . import tightness

_LEMMA = "a lemma is measured along the runs of its theorem, `fedco validate THEOREM --lemmas`, where it speaks of runs"


def paper_pages(paper: str, findings: list[Finding]) -> dict[str, str]:
    """File name -> text of the pages of one paper key; `findings` are those of its audit."""
    return {
        f"{name}.md": to_page(
            item,
            [f for f in findings if f.theorem == name],
            validated_on(name),
            standing(item),
            proofs(item),
            [*tightness.lines_of(item), *lines_of(item)],
        )
        for name, item in paper_theorems(paper).items()
    }


def validated_on(name: str) -> list[str]:
    """The instances on which `fedco validate` compares the theorem with runs, one line each, or why there are none."""
    if name not in recipes():
        return [f"no run: {why_without(name) or _LEMMA}"]
    recipe = recipes()[name]
    return [f"`{item.name}`, {item.case}: {item.why}; statement `{recipe.label}`" for item in recipe.instances]


def standing(theorem: Theorem) -> list[str]:
    """What is known of each statement, as a part of its page."""
    found = {label: status(theorem, label) for label in theorem.labels}
    rows = [[label, f"**{known.outcome}**", str(known).partition(": ")[2]] for label, known in found.items()]
    return ["## What is known", "", *markdown_table(["statement", "status", "why"], rows, align=False), ""]


def proofs(theorem: Theorem) -> list[str]:
    """A box for each statement with a derivation: what the kernel says of it, on what it rests, and every step."""
    labels = [label for label in theorem.labels if derivation(theorem, label) is not None]
    return [line for label in labels for line in _proof(theorem, prove(theorem, label), status(theorem, label))]


def _proof(theorem: Theorem, checked: Verdict, known: Status) -> list[str]:
    said = f"**Proved** in {len(checked.lines)} steps, each checked by the kernel and on exact instances"
    if known.outcome != "proved":
        said = (
            f"**Not proved**: the kernel checks {len(checked.lines)} steps, and that they hold on instances is not kept"
        )
    if checked.given:
        said = f"**Proved given {', '.join(checked.given)}**, which no kernel has checked, in {len(checked.lines)} steps, each checked"
    if not checked.accepted:
        said = f"**The kernel does not accept it**: {checked.failure}"
    lines = [f"## Proof of the {checked.statement} statement", "", '<div class="proof" markdown>', ""]
    lines += [f"{said}; `fedco prove {checked.theorem}` checks it again.", ""]
    if checked.accepted:
        shown = markdown_blocks(document(theorem, checked), below=2, tags=False)
        lines += [
            "<details markdown><summary>The proof, line by line</summary>",
            "",
            *"\n\n".join(shown).splitlines(),
            "",
        ]
        lines += ["</details>", ""]
    return [*lines, "</div>", ""]


def index() -> str:
    """The list of all pages."""
    return "\n".join(["# Theorems", "", *(f"- [{name}]({name}.md)" for name in theorems()), ""])


def theorem_pages() -> dict[str, str]:
    """File name -> text of the page of every theorem, and of their list."""
    pages = (paper_pages(paper, audit(paper)) for paper in paper_keys())
    return {name: text for found in pages for name, text in found.items()} | {"index.md": index()}


def whole_audit() -> str:
    """docs/audit.md: every finding, those that did not stand, and the status of every statement."""
    every = [f for paper in paper_keys() for f in audit(paper)]
    withdrawn = [item for paper in all_papers() for item in paper.withdrawn]
    return "\n".join([audit_page(every), withdrawn_page(withdrawn), table(theorems().values())])


if __name__ == "__main__":
    print(write_text(Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / "audit.md", whole_audit()))
