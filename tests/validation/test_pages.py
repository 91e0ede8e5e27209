"""The generated pages: one per theorem with its tightness, the audit and the library's table, which are kept and compared."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import fedco
import pytest
from demonstration import THEOREM
from fedco import theorems
from fedco.bounds.audit import necessary
from fedco.bounds.audit.checks import audit
from fedco.bounds.audit.status import status
from fedco.bounds.cost.orders import rates
from fedco.bounds.language.bounding import MEAN_MODEL
from fedco.bounds.language.change import Change, changed
from fedco.bounds.language.metrics import METRICS
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.proof.derivations import derivation, prove
from fedco.bounds.proof.kernel import check
from fedco.bounds.proof.written.document import document
from fedco.bounds.proof.written.media import markdown_blocks
from fedco.bounds.registry import all_papers, all_theorems, get_paper, get_theorem, paper_keys
from fedco.errors import InputError
from fedco.storage import DamagedError
from fedco.validation.falsifier import record
from fedco.validation.falsifier.attack import falsify
from fedco.validation.report import pages, tightness
from fedco.validation.runs.registry import recipe_for, recipes

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


# --- the table of tightness -------------------------------------------------------------------------------------------


SGD = get_theorem("baselines.local_sgd")
HORIZON = {"T": 64, "seeds": 8, "outcome": "SUPPORTED", "mean": 0.5, "bound": 1.5, "tightness": 3.0}
RUN = {
    "problem": "federated_noisy",
    "case": "stress",
    "hyperparameters": {"eta": "1/4", "p": "4"},
    "horizons": [
        {**HORIZON, "T": 16, "tightness": 9.0, "shares": {}},
        {**HORIZON, "shares": {"drift": 0.75, "variance": 0.25}},
    ],
}
DIVERGED = {**RUN, "horizons": [{**HORIZON, "mean": None, "tightness": None, "shares": {"drift": 1.0}}]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    cards = [
        {"id": "baselines.local_sgd", "judged": "printed", "runs": [RUN, DIVERGED]},
        {"id": "baselines.scgd", "judged": "printed", "runs": []},
    ]
    path = tmp_path / "tightness.json"
    tightness.keep({"cards": cards}, path)
    return path


def test_a_run_is_kept_at_its_longest_horizon_and_forgotten_when_the_statement_changes(file: Path) -> None:
    found = tightness.measured(SGD, "printed", file)
    assert found is not None and [row["T"] for row in found["runs"]] == [64, 64]
    text = "\n".join(tightness.lines_of(SGD, file))
    assert "| federated_noisy | stress | eta = 1/4, p = 4 | 64 | 8 | 0.5 | 1.5 | 3 | drift, 75% |" in text
    assert "| – | 1.5 | – | drift, 100% |" in text and "| printed | 3, on 1 instances |" in text
    other = changed(SGD, "printed", Change("drift", "dropped"))
    assert tightness.measured(other, "printed", file) is None
    assert "not measured" in "\n".join(tightness.lines_of(other, file))


def test_what_is_neither_measured_nor_searched_says_so(file: Path, tmp_path: Path, monkeypatch) -> None:
    for module in (record, necessary):
        monkeypatch.setattr(module, "FILE", tmp_path / "none.json")
    text = "\n".join(tightness.lines_of(get_theorem("baselines.scgd"), file))
    assert "| printed | not measured | not searched | not searched |" in text


def test_a_damaged_file_is_refused(file: Path) -> None:
    stored = json.loads(file.read_text())
    stored["theorems"]["baselines.local_sgd"]["runs"][0]["tightness"] = 1.0
    file.write_text(json.dumps(stored))
    tightness.kept.cache_clear()
    with pytest.raises(DamagedError, match="sha256"):
        tightness.measured(SGD, "printed", file)


def test_kept_runs_lie_below_the_bound_that_they_support() -> None:
    """The file in the repository: of every theorem whose statement has not changed since, all instances that were judged."""
    kept = [e for t in all_theorems().values() for label in t.labels if (e := tightness.measured(t, label)) is not None]
    rows = [row for entry in kept for row in entry["runs"] if row["outcome"] == "SUPPORTED"]
    assert rows and all(row["tightness"] > 1 and row["bound"] > row["mean"] > 0 for row in rows)
    assert not [row for entry in kept for row in entry["runs"] if row["outcome"] == "REFUTED"]


def test_the_table_says_the_least_ratio_and_counts_what_is_necessary(file: Path, monkeypatch) -> None:
    loose = {**RUN, "horizons": [{**HORIZON, "tightness": 7.0, "shares": {}}]}
    tightness.keep({"cards": [{"id": SGD.id, "judged": "printed", "runs": [loose, RUN]}]}, file)
    parts = {"a": SimpleNamespace(bundle="x"), "b": SimpleNamespace(bundle="")}
    monkeypatch.setattr(tightness, "needed", lambda statement: parts)
    for little, said in ((False, "0.25"), (True, "0.25: hardly anything was tested")):
        kept = SimpleNamespace(ratio=0.25, tested_little=little)
        monkeypatch.setattr(tightness, "searched", lambda theorem, label, kept=kept: kept)
        text = "\n".join(tightness.lines_of(SGD, file))
        assert f"| printed | 3, on 2 instances | {said} | 1 of 2 shown to be necessary |" in text


# --- the table of the library -----------------------------------------------------------------------------------------


LIBRARY = Path(fedco.__file__).parent / "docs" / "theory" / "library.md"
HEAD = ("theorem", "bounds", "prove", "validate: instances", "complexity: samples", "falsify")


def bounded(theorem: Theorem) -> str:
    word = f"{theorem.metric.over}_{theorem.metric.of}"
    assert word in METRICS
    place = f", {theorem.metric.at}" if theorem.metric.at != MEAN_MODEL else ""
    return f"`{word}`{place}" + (f", with probability 1 - {theorem.metric.failure}" if theorem.metric.failure else "")


def proved(theorem: Theorem) -> str:
    plan = derivation(theorem)
    if plan is None:
        return status(theorem).outcome
    verdict = check(plan, theorem, theorem.default)
    return f"{len(verdict.lines)} lines" if verdict.accepted else "no"


def ordered(theorem: Theorem) -> str:
    try:
        return str(rates(theorem.statement()).costs["samples"])
    except InputError as error:
        return (str(error).partition(": ")[2] or str(error)).partition(";")[0]


def searched(theorem: Theorem) -> str:
    """What a short search says now, which a longer one that is kept says too, with its largest ratio."""
    kept = record.searched(theorem, "printed")
    found = falsify(theorem, seconds=1)
    if found.outcome == "NOT_APPLICABLE":
        return found.outcome
    assert kept is not None, "python -m fedco.validation.falsifier.record --statement printed"
    assert found.outcome == kept.outcome and found.ratio <= max(1, kept.ratio)
    return f"{kept.outcome}, {kept.ratio:.3g}"


def row(theorem: Theorem) -> str:
    instances = str(len(recipe_for(theorem).instances))
    cells = (f"`{theorem.id}`", bounded(theorem), proved(theorem), instances, ordered(theorem), searched(theorem))
    return f"| {' | '.join(cells)} |"


@pytest.mark.slow
def test_the_table_is_what_the_verbs_answer():
    table = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    table += [row(theorem) for theorem in get_paper("library").theorems.values()]
    assert "\n".join(table) in LIBRARY.read_text(encoding="utf-8"), "\n".join(table)
