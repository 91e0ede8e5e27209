"""The generated pages: one per theorem, made with the site, and docs/audit.md, which is kept and compared."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import fedco
import pytest
from demonstration import THEOREM
from fedco import theorems
from fedco.bounds import paper_keys
from fedco.bounds.audit.checks import audit
from fedco.bounds.proof.derivations import derivation, prove
from fedco.bounds.proof.written.document import document
from fedco.bounds.proof.written.media import markdown_blocks
from fedco.bounds.registry import all_papers, get_paper
from fedco.validation.report import pages
from fedco.validation.runs.registry import recipes

RECIPES = recipes()

DOCS = Path(fedco.__file__).parent / "docs"
OUT_OF_DATE = "out of date: run `make docs`"


FEW = (
    "baselines.minibatch_sgd",  # two statements with a derivation
    "library.sgd_bounded_noise_probable",
    "fcsg.corollary_4_2",  # a derivation that follows from that of its theorem
    "meta_fl.lemma_5",  # a derivation by a loop
    "fcsg.theorem_4_1",  # refuted as printed, validated, with findings
    "local_scgdm.lemma_4_3",  # refuted, without a derivation
    "local_scgdm.remark_3_7",  # one line
    "feddro.corollary_2",
    "comfedl.remark_1",
)
"""Theorems on whose pages every part of the template stands in each of its forms: the quick tests write these, `slow` writes all."""


@pytest.fixture(scope="module", params=[pytest.param("few"), pytest.param("all", marks=pytest.mark.slow)])
def made(request: pytest.FixtureRequest) -> dict[str, str]:
    """The page of each theorem, by its id."""
    if request.param == "all":
        return {name.removesuffix(".md"): text for name, text in pages.theorem_pages().items() if name != "index.md"}
    return {name: pages.theorem_page(item, audit(name)) for name, item in theorems().items() if name in FEW}


def test_every_theorem_has_its_page_with_the_findings_about_it(monkeypatch):
    """Only that, of what a reader found: what stands on a page is tried below."""
    monkeypatch.setattr(pages, "theorem_page", lambda theorem, findings: (theorem.id, findings))
    monkeypatch.setattr(pages, "audit", lambda paper: list(get_paper(paper).findings))
    made = pages.theorem_pages()
    listed = made.pop("index.md")
    assert {name: about for name, (about, _) in made.items()} == {f"{name}.md": name for name in theorems()}
    assert all(f"]({name}.md)" in listed for name in theorems())
    assert all(finding.theorem == about for about, findings in made.values() for finding in findings)
    read = sum(len(paper.findings) for paper in all_papers())
    assert sum(len(findings) for _, findings in made.values()) == read > 50


@pytest.fixture(scope="module")
def audit_page() -> str:
    return (DOCS / "audit.md").read_text(encoding="utf-8")


def test_every_finding_that_is_read_and_the_automatic_ones_of_a_paper_stand_in_the_audit_as_they_are_made(audit_page):
    for paper in all_papers():
        findings = audit(paper) if paper.key == "fcsg" else paper.findings
        for part in re.split(r"(?m)^(?=##+ )", pages.audit_page(findings))[1:]:
            assert part.strip() in audit_page, f"audit.md is {OUT_OF_DATE}"


@pytest.mark.slow
def test_the_audit_page_is_up_to_date(audit_page):
    """Of all that is made but the table of statuses, which tests/bounds/test_audit_of_the_papers.py reads."""
    findings = [found for paper in paper_keys() for found in audit(paper)]
    withdrawn = [item for paper in all_papers() for item in paper.withdrawn]
    assert audit_page.startswith(pages.audit_page(findings, withdrawn)), f"audit.md is {OUT_OF_DATE}"


def test_a_page_says_where_its_theorem_is_validated(made):
    validated = made.keys() & RECIPES.keys()
    for name in validated:
        assert all(f"`{item.name}`" in made[name] for item in RECIPES[name].instances), name
    assert validated


def test_a_page_says_what_is_known_and_shows_each_derivation(made):
    """One row for each statement, and a box with every line of each proof; proved is what rests on no unchecked lemma."""
    for name, text in made.items():
        theorem = theorems()[name]
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
    """Also where it is a single line; how tight a bound is stands on the page of a theorem that has one."""
    shown = single = 0
    for name, text in made.items():
        theorem = theorems()[name]
        has_terms = any(theorem.statement(label).terms for label in theorem.labels)
        assert ("\n## Tightness\n" in text) == has_terms, name
        for label in theorem.labels:
            statement = theorem.statement(label)
            part = text.partition(f"\n## {label.capitalize()}\n")[2].partition("\n## ")[0]
            lines = len(statement.terms) + len(statement.derived) + len(statement.conditions)
            assert ("\n$$\n" in part) == (lines > 0), (name, label)
            shown, single = shown + (lines > 0), single + (lines == 1)
    assert shown > len(made) and single > len(made) / 15


def test_a_bar_does_not_end_a_cell_of_a_table(made):
    """Names of norms are in tables: every row has as many cells as its head."""
    rows = bars = 0
    for name, text in made.items():
        width = 0
        for line in text.splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert cells == width or not (cells and width), (name, line)
            width, rows, bars = cells, rows + bool(cells), bars + (r"\|" in line and cells > 0)
    assert rows > 10 * len(made) and bars


# --- one small theorem, word by word ------------------------------------------------------------------------------------------


PAGE = r"""# demo.theorem_1

*A demonstration* — demo, Theorem 1, eq. (7).

It bounds **(1/T) sum_t E||grad F(xbar_t)||^2** (dimension [f]^2 [x]^-2). expected squared gradient norm, averaged over the iterates

## What is known

| statement | status | why |
|---|---|---|
| printed | **open** | neither derived nor refuted |

## Assumptions

- **smooth**: every loss is smooth.

## Printed

_without its footnote._

$$
\begin{aligned}
\frac1T\sum_t\mathbb{E}\|\nabla F(\bar x_t)\|^2 &\le \underbrace{\frac{2 \Delta}{\eta T}}_{\text{initialisation}} \\
&\quad + \underbrace{\eta V L}_{\text{first noise}} \\
V &= \frac{\sigma^{2}}{N} \\
\eta &\le \frac{1}{L} \\
T &> 3
\end{aligned}
$$

| constant | in Python | meaning | dimension |
|---|---|---|---|
| `V` | `sigma**2/N` | variance of a mean | [f]^2 [x]^-2 |

| term | role | in Python |
|---|---|---|
| initialisation | initialisation | `2*F_gap/(T*eta)` |
| first_noise | variance | `L*V*eta` |

- condition `step_size`: `eta <= 1/L`
- condition `horizon`: `T > 3`

## Symbols

| symbol | in Python | meaning | dimension | domain |
|---|---|---|---|---|
| $L$ | `L` | largest Lipschitz constant of grad f_i | [f] [x]^-2 | positive real |
| $\sigma$ | `sigma` | standard-deviation bound of the gradient of one sample | [f] [x]^-1 | nonnegative real |
| $\Delta$ | `F_gap` | objective at the start minus its infimum | [f] | nonnegative real |
| $\eta$ | `eta` | step size; the same for all clients | [f]^-1 [x]^2 | positive real |
| $T$ | `T` | number of local iterations | 1 | positive integer |
| $N$ | `N` | number of clients | 1 | positive integer |

## Validated on

- no run: a lemma is measured along the runs of its theorem, `fedco validate THEOREM --lemmas`, where it speaks of runs

## Tightness

Bound over mean is 1 where a run attains the bound; left over bound is 1 where a search for counterexamples attains it, and more where it breaks it.

| statement | least bound / mean of runs | largest left / bound of a search | parts |
|---|---|---|---|
| printed | not measured | not searched | not searched |

## Findings

None.
"""  # noqa: E501


def test_the_page_of_a_theorem():
    corrected = THEOREM.statement("corrected")
    alone = replace(THEOREM, statements={"printed": THEOREM.statement("printed")})
    assert pages.theorem_page(alone) == PAGE
    both = pages.theorem_page(THEOREM)
    assert both.count("## Corrected\n\n$$\n") == 1 and both.count("## Symbols") == 1 and len(both) > len(PAGE)
    finding = SimpleNamespace(id="a.b", severity="slip", where="(7)", printed="x", expected="y")
    assert "## Findings\n\n- `a.b` (slip, (7)): x — instead: y.\n" in pages.theorem_page(THEOREM, [finding])
    bare = replace(corrected, terms=(), conditions=(), derived=(), schedule={})
    nothing = pages.theorem_page(replace(THEOREM, statements={"corrected": bare}, assumptions=()))
    assert "## Corrected\n\n## Validated on\n" in nothing and "Symbols" not in nothing and "Assumptions" not in nothing
