"""`fedco report`: one self-contained HTML page with theorems, verdicts, the counterexample, the audit and what was run."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import sympy as sp

from ..bounds import theorem as find_theorem
from ..bounds.audit import audit
from ..bounds.theorem import Statement, Theorem
from ..synthetic import problem as find_problem
from .campaign import CellResult
from .ledger import REPORT_ALPHA
from .plots import Plot, inline_svg
from .recipes import RECIPES
from .slopes import bound_slope, slope_interval
from .validate import Validation, validate, versions

QUICK = ("feddro.theorem_5_1",)
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


def write_report(out: Path, *, quick: bool = False, jobs: int | None = None) -> Report:
    """Write `out`/index.html; measurements under `out` are reused when nothing changed.

    Args:
        quick: only the theorems of QUICK and the audit of their paper; otherwise every recipe and every paper.
    """
    began = time.perf_counter()
    chosen = QUICK if quick else tuple(RECIPES)
    share = REPORT_ALPHA / len(chosen)
    validations = [_validate(name, share, jobs, out) for name in chosen]
    _say("counterexample: certificates and figures")
    cases, case_figures = _counterexample()
    _say("exact refutations of printed claims")
    refutations = _refutations(out)
    _say("audit: running every check")
    findings = _findings(sorted({name.partition(".")[0] for name in chosen}) if quick else [None])
    page = _render(validations, cases, case_figures, refutations, findings, out)
    counts: dict[str, int] = {}
    for validation in validations:
        for verdict in validation.verdicts:
            counts[str(verdict.outcome)] = counts.get(str(verdict.outcome), 0) + 1
    return Report(page, counts, len(findings), len(refutations), time.perf_counter() - began)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _validate(name: str, share: Fraction, jobs: int | None, out: Path) -> Validation:
    return validate(name, label=RECIPES[name].label, alpha=share, jobs=jobs, out=out / name, quiet=False)


def _findings(papers: Sequence[str | None]) -> list[dict[str, Any]]:
    rows = []
    for finding in (f for paper in papers for f in audit(paper)):
        finding.check()  # a finding that is not confirmed stops the report
        rows.append(finding.to_dict())
    return rows


def _counterexample() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    from .companions import converging
    from .counterexample import figure, summary

    rows, figures = [], []
    extra = converging()
    for case in ("I", "II"):
        found = summary(case)
        last = found["limit_points"]["points"][-1]
        rows.append(
            {
                "case": case,
                "claimed": found["claim"]["eta_upper"],
                "status": found["certificate"]["status"],
                "css": "SUPPORTED" if found["certificate"]["status"] == "certified" else "INCONCLUSIVE",
                "boxes": found["certificate"]["boxes"],
                "certified": found["beyond_the_claim"]["two_local_steps"]["eta_certified"],
                "limit": f"{last['x_lower']:.9f}",
                "gradient": f"{last['gradient_norm_lower']:.6f}",
            }
        )
        drawn = figure(case, extra)
        svg = inline_svg(Plot(drawn.figure, f"case {case}"), f"case{case}")
        methods = "dashed, the two methods that reach the stationary point 0"
        caption = f"Case {case}: xbar at each communication for several step sizes; {methods}."
        figures.append({"svg": svg, "caption": caption})
    return rows, figures


def _refutations(out: Path) -> list[dict[str, str]]:
    from .bundle import read
    from .refutations import write_all

    rows = []
    for path in write_all(out / "refutations").values():
        bundle = read(path)
        left, right = float(bundle.values[0]), float(bundle.bound[1])
        rows.append(
            {"claim": bundle.claim, "left": f"{left:.6g}", "right": f"{right:.6g}", "file": f"refutations/{path.name}"}
        )
    return rows


def _render(
    validations: Sequence[Validation],
    cases: list[dict[str, Any]],
    case_figures: list[dict[str, str]],
    refutations: list[dict[str, str]],
    findings: list[dict[str, Any]],
    out: Path,
) -> Path:
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    for figure in case_figures:
        figure["svg"] = Markup(figure["svg"])
    text = template.render(
        summary=_summary(validations),
        overview=[row for validation in validations for row in _overview(validation)],
        sections=[_section(validation, index) for index, validation in enumerate(validations)],
        cases=cases,
        case_figures=case_figures,
        refutations=refutations,
        findings=findings,
        controls=[
            {"name": c.claim, "wanted": "REFUTED", "got": str(c.outcome)} for v in validations for c in v.controls
        ],
        ledger=_ledger(validations),
        versions=list(versions().items()),
    )
    out.mkdir(parents=True, exist_ok=True)
    page = out / "index.html"
    temporary = page.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(page)
    return page


def _summary(validations: Sequence[Validation]) -> str:
    verdicts = [verdict for validation in validations for verdict in validation.verdicts]
    supported = sum(verdict.outcome == "SUPPORTED" for verdict in verdicts)
    return f"{len(verdicts)} claims on certified instances were judged; {supported} are supported."


def _overview(validation: Validation) -> list[dict[str, str]]:
    rows = []
    for result in validation.results:
        mine = sorted(
            (r for r in validation.results if r.cell.instance == result.cell.instance), key=lambda r: r.cell.T
        )
        slope, theory = _slopes(mine) if len(mine) > 1 else ("", "")
        verdict = result.verdict
        rows.append(
            {
                "claim": verdict.claim,
                "instance": verdict.instance,
                "outcome": str(verdict.outcome),
                "empirical": _number(verdict.empirical),
                "bound": _number(verdict.bound),
                "tightness": _number(verdict.tightness),
                "slope": slope,
                "bound_slope": theory,
            }
        )
    return rows


def _slopes(results: Sequence[CellResult]) -> tuple[str, str]:
    import numpy as np

    horizons = [r.cell.T for r in results]
    count = min(len(r.statistic) for r in results)
    measured = slope_interval(horizons, np.stack([r.statistic[:count] for r in results], axis=1), group_size=8)
    return str(measured), f"{bound_slope(horizons, [r.bound.total for r in results]):.3f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _section(validation: Validation, index: int) -> dict[str, Any]:
    from markupsafe import Markup

    theorem = find_theorem(validation.theorem)
    return {
        "id": theorem.id,
        "title": theorem.title,
        "source": str(theorem.source),
        "metric": f"{theorem.metric.name}, dimension {theorem.metric.dimension}",
        "statements": [_statement(theorem.statement(label), label == validation.label) for label in theorem.labels],
        "cells": [_cell(result) for result in validation.results],
        "figures": [
            _figure(plot, f"f{index}_{number}", theorem, Markup)
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


def _cell(result: CellResult) -> dict[str, Any]:
    problem = find_problem(result.cell.instance.problem, **result.cell.instance.dials)
    return {
        "name": f"{result.cell.instance.name}, T = {result.cell.T}",
        "T": result.cell.T,
        "verdict": str(result.verdict),
        "shares": [(name, f"{share:.3f}") for name, share in result.verdict.shares.items()],
        "certificates": [
            {"quantity": name, "value": f"{float(c.value):.6g}", "kind": c.kind, "argument": c.argument}
            for name, c in problem.certificates.items()
        ],
    }


def _figure(plot: Plot, prefix: str, theorem: Theorem, markup: Any) -> dict[str, str]:
    encoded = base64.b64encode(json.dumps(plot.data).encode()).decode()
    return {
        "svg": markup(inline_svg(plot, prefix)),
        "caption": f"{plot.title}: mean over seeds with a 95% bracket, and the bound; each T is a run of its own.",
        "file": f"{theorem.id}_{prefix}.json",
        "href": f"data:application/json;base64,{encoded}",
    }


def _ledger(validations: Sequence[Validation]) -> dict[str, Any]:
    tests = [test for validation in validations for test in validation.ledger.to_dict()["tests"]]
    return {"total": str(sum((v.ledger.total for v in validations), Fraction(0))), "tests": tests}
