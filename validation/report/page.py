"""`fedco report`: one self-contained HTML page with theorems, verdicts, counterexamples, the audit and what was run."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import sympy as sp

from ...algorithms.engine.limits import check_jobs, usual_jobs
from ...bounds.audit.checks import audit
from ...bounds.language.theorem import Statement
from ...bounds.registry import get_theorem
from ...storage import make_folder, write_text
from ..runs.cached_json import cached_json
from ..runs.campaign import ExperimentResult
from ..runs.controls import Control, run_controls
from ..runs.instance import Instance
from ..runs.registry import chains, counterexamples, declared, recipe_for, recipes
from ..runs.validate import Validation, measured_slope, validate, versions
from ..statistics.ledger import REPORT_ALPHA, AlphaLedger
from ..statistics.slopes import bound_slope
from ..statistics.verdict import Outcome
from .rates import Rates, figure_entry, measure_rates, rates_section

BRIEF, BRIEF_SEEDS = 3, 8
"""A short report judges every other theorem on so many short runs, and measures its lemmas on so many seeds."""
CAPTION = "mean over seeds with a 95% bracket, and the bound; each T is a run of its own."
TEMPLATE = Path(__file__).parent / "templates" / "report.html"


@dataclass(frozen=True)
class Report:
    """Where the page lies and what it says, in numbers."""

    page: Path
    verdicts: dict[str, int]
    findings: int
    refutations: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "page": str(self.page)}

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.verdicts.items()))
        checked = f"{self.findings} findings re-checked; {self.refutations} refutations"
        return f"{self.page}: verdicts {counts}; {checked}; {self.seconds:.0f} s"


def write_report(out: Path, *, quick: bool = False, jobs: int | None = None, scheduler: str | None = None) -> Report:
    """Write `out`/index.html; whatever lies under `out` is reused when nothing changed.

    Args:
        quick: everything for the theorems that papers declare so and their paper, and for every other theorem verdicts on its BRIEF
            instances with the shortest horizons and the lemmas on the shortest; otherwise everything for all.
        jobs: processes; all cores without it.
        scheduler: address of a dask scheduler that spreads the runs instead.
    """
    began = time.perf_counter()
    make_folder(out)
    if jobs:
        check_jobs(jobs)
    known = recipes()
    in_full = declared("in_full") if quick else tuple(known)
    share = REPORT_ALPHA / (len(known) + 1)
    validations = [_validate(name, name not in in_full, share, jobs, out, scheduler) for name in known]
    rates = [_rates(name, jobs, out, scheduler) for name in (declared("sweeps_in_short") if quick else in_full)]
    lemmas = {name: _lemmas(name, name not in in_full, out) for name in known}
    _say("negative controls")
    controls, control_ledger = run_controls(share)
    _say("counterexamples: certificates and figures")
    shown = cached_json(out / "parts", "counterexamples", _counterexamples)
    _say("exact refutations of printed claims")
    refutations = _refutations(out)
    _say("audit: running every check")
    papers: list[str | None] = sorted({name.partition(".")[0] for name in in_full}) if quick else [None]
    named = "_".join(paper or "all" for paper in papers)
    findings = cached_json(out / "parts", f"audit_{named}", lambda: _findings(papers))
    page = _render(validations, rates, lemmas, (controls, control_ledger), shown, refutations, findings, out)
    counts: dict[str, int] = {}
    for validation in validations:
        for verdict in validation.verdicts:
            counts[str(verdict.outcome)] = counts.get(str(verdict.outcome), 0) + 1
    return Report(page, counts, len(findings), len(refutations), time.perf_counter() - began)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _validate(
    name: str, is_brief: bool, share: Fraction, jobs: int | None, out: Path, scheduler: str | None
) -> Validation:
    return validate(
        name,
        label=recipe_for(name).label,
        instances=_shortest(recipe_for(name).instances) if is_brief else None,
        alpha=share,
        jobs=jobs,
        out=out / name,
        quiet=False,
        scheduler=scheduler,
    )


def _shortest(instances: Sequence[Instance]) -> list[Instance]:
    """The BRIEF instances with the shortest horizons, each at that horizon alone."""
    chosen = sorted(instances, key=lambda item: min(item.horizons))[:BRIEF]
    return [replace(item, horizons=(min(item.horizons),)) for item in chosen]


def _rates(name: str, jobs: int | None, out: Path, scheduler: str | None) -> Rates:
    _say(f"{name}: rates over its symbols")
    cache = out / name / "measurements"
    return measure_rates(name, jobs=jobs or usual_jobs(), cache=cache, scheduler=scheduler)


def _findings(papers: Sequence[str | None]) -> list[dict[str, Any]]:
    rows = []
    for finding in (f for paper in papers for f in audit(paper)):
        finding.check()  # a finding that is not confirmed stops the report
        rows.append(finding.to_dict())
    return rows


def _counterexamples() -> list[dict[str, Any]]:
    """A section for each counterexample of a paper: its cases as rows, and their figures."""
    sections = []
    for theorem, known in counterexamples().items():
        found = [known.summary(case) for case in known.cases]
        figures = [
            figure_entry(known.figure(case), f"case{case}", theorem, f"Case {case}: {known.caption}")
            for case in known.cases
        ]
        certified = [item["certificate"]["status"] == "certified" for item in found]
        rows = [
            {"cells": dict(known.row(item)), "css": "SUPPORTED" if is_certified else "INCONCLUSIVE"}
            for item, is_certified in zip(found, certified, strict=True)
        ]
        sections.append(
            {"theorem": theorem, "title": known.title, "about": known.about, "rows": rows, "figures": figures}
        )
    return sections


def _refutations(out: Path) -> list[dict[str, str]]:
    from ..runs.refutations import rows

    return rows(out / "refutations")


def _lemmas(theorem: str, is_brief: bool, out: Path) -> dict[str, Any]:
    """The chain of lemmas of a theorem, measured or taken from `out`; empty where none is declared."""
    from ..lemmas.measure import measure_chain, measure_lemmas
    from ..lemmas.table import section

    if theorem not in chains():
        return section([])
    _say(f"{theorem}: every lemma of the proof, measured")
    cache = out / theorem / "lemmas"
    if is_brief:
        shortest = _shortest(recipe_for(theorem).instances)[0]
        return section([measure_chain(theorem, shortest, shortest.horizons[0], seeds=BRIEF_SEEDS, cache=cache)])
    return section(measure_lemmas(theorem, cache=cache))


def _render(
    validations: Sequence[Validation],
    rates: Sequence[Rates],
    lemmas: Mapping[str, dict[str, Any]],
    controls: tuple[Sequence[Control], AlphaLedger],
    counterexamples: list[dict[str, Any]],
    refutations: list[dict[str, str]],
    findings: list[dict[str, Any]],
    out: Path,
) -> Path:
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    for figure in (figure for shown in counterexamples for figure in shown["figures"]):
        figure["svg"] = Markup(figure["svg"])
    text = template.render(
        summary=_summary(validations, refutations, findings),
        overview=[row for v in validations for row in _overview(v, lemmas[v.theorem]["worst"])],
        sections=[{**_section(v, index), "lemmas": lemmas[v.theorem]} for index, v in enumerate(validations)],
        counterexamples=counterexamples,
        refutations=refutations,
        findings=findings,
        rates=[rates_section(item, f"r{index}") for index, item in enumerate(rates)],
        controls=_controls(validations, controls[0]),
        ledger=_ledger([*(v.ledger for v in validations), controls[1]]),
        versions=list(versions().items()),
    )
    return write_text(out / "index.html", text)


def _controls(validations: Sequence[Validation], controls: Sequence[Control]) -> list[dict[str, str]]:
    """Every control with what was wanted of it; one that misbehaves is printed as it is."""
    divided = [Control("a divided bound", Outcome.REFUTED, verdict) for v in validations for verdict in v.controls]
    return [
        {
            "kind": control.name,
            "name": f"{control.verdict.claim} on {control.verdict.instance}",
            "wanted": str(control.wanted),
            "got": str(control.verdict.outcome),
        }
        for control in (*controls, *divided)
    ]


def _summary(
    validations: Sequence[Validation], refutations: Sequence[Mapping[str, str]], findings: Sequence[Mapping[str, Any]]
) -> str:
    verdicts = [verdict for validation in validations for verdict in validation.verdicts]
    supported = sum(verdict.outcome == "SUPPORTED" for verdict in verdicts)
    breaking = sum(finding["severity"] == "breaks" for finding in findings)
    audited = ", ".join(sorted({finding["id"].partition(".")[0] for finding in findings}))
    return (
        f"{len(verdicts)} claims on certified instances were judged; {supported} are supported. {len(refutations)} exact"
        f" instances refute printed claims. The audit of {audited} has {len(findings)} findings, {breaking} of which break a"
        " claim."
    )


def _overview(validation: Validation, worst: str) -> list[dict[str, Any]]:
    """One row per verdict; the first has what all share and says how many rows it spans."""
    rows: list[dict[str, Any]] = []
    for result in validation.results:
        mine = sorted(
            (r for r in validation.results if r.experiment.instance is result.experiment.instance),
            key=lambda r: r.experiment.T,
        )
        slope, theory = _slopes(mine) if len(mine) > 1 else ("", "")
        verdict = result.verdict
        rows.append(
            {
                "claim": validation.theorem,
                "statement": validation.label,
                "case": result.experiment.instance.case,
                "instance": verdict.instance,
                "outcome": str(verdict.outcome),
                "empirical": _number(verdict.empirical),
                "bound": _number(verdict.bound),
                "tightness": _number(verdict.tightness),
                "slope": slope,
                "bound_slope": theory,
                "worst": worst,
                "span": 0 if rows else len(validation.results),
            }
        )
    return rows


def _slopes(results: Sequence[ExperimentResult]) -> tuple[str, str]:
    measured = measured_slope(results)
    bound = bound_slope([r.experiment.T for r in results], [r.bound.total for r in results])
    return "" if measured is None else str(measured), f"{bound:.3f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _section(validation: Validation, index: int) -> dict[str, Any]:
    theorem = get_theorem(validation.theorem)
    return {
        "id": theorem.id,
        "title": theorem.title,
        "source": str(theorem.source),
        "metric": f"{theorem.metric.name}, dimension {theorem.metric.dimension}",
        "statements": [_statement(theorem.statement(label), label == validation.label) for label in theorem.labels],
        "experiments": [_experiment(result) for result in validation.results],
        "figures": [
            figure_entry(plot, f"f{index}_{number}", theorem.id, f"{plot.title}: {CAPTION}")
            for number, plot in enumerate(validation.figures.values())
        ],
    }


def _statement(statement: Statement, is_open: bool) -> dict[str, Any]:
    return {
        "label": statement.label,
        "note": statement.note,
        "open": is_open,
        "terms": [(term.name, sp.sstr(term.expr)) for term in statement.terms],
        "derived": [(constant.name, sp.sstr(constant.expr)) for constant in statement.derived],
        "conditions": [(condition.name, str(condition)) for condition in statement.conditions],
    }


def _experiment(result: ExperimentResult) -> dict[str, Any]:
    problem = result.experiment.instance.made()
    return {
        "name": f"{result.experiment.instance.name}, T = {result.experiment.T}",
        "T": result.experiment.T,
        "verdict": str(result.verdict),
        "shares": [(name, f"{share:.3f}") for name, share in result.verdict.shares.items()],
        "certificates": [
            {"quantity": name, "value": f"{float(c.value):.6g}", "kind": c.kind, "argument": c.argument}
            for name, c in problem.certificates.items()
        ],
    }


def _ledger(ledgers: Sequence[AlphaLedger]) -> dict[str, Any]:
    tests = [test for ledger in ledgers for test in ledger.to_dict()["tests"]]
    return {"total": str(sum((ledger.total for ledger in ledgers), Fraction(0))), "tests": tests}
