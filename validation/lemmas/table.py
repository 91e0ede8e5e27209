"""Lemma measurements as a section of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .report import Implied, LemmaReport, LemmaRow


def section(reports: Sequence[LemmaReport]) -> dict[str, Any]:
    """{"runs": tables, "worst": the lemma that loses most}."""
    return {"runs": [_run(report) for report in reports], "worst": worst(reports)}


def worst(reports: Sequence[LemmaReport]) -> str:
    """The link with the largest factor over all runs, with the factor, and the links that fail somewhere."""
    lossy = [report.worst for report in reports if report.worst is not None]
    if not lossy:
        return ""
    most = max(lossy, key=lambda item: item.factor)
    failing = dict.fromkeys(name for report in reports for name in report.failing)
    return f"{most.link} (x {most.factor:.3g})" + (f"; fails: {', '.join(failing)}" if failing else "")


def _run(report: LemmaReport) -> dict[str, Any]:
    title = f"{report.instance}, T = {report.T}, {report.seeds} seeds; mean squared gradient {report.measured:.4g}"
    return {
        "title": title,
        "rows": [_row(row) for row in report.rows],
        "implied": [_implied(item) for item in report.implied],
    }


def _row(row: LemmaRow) -> dict[str, str]:
    state = "" if row.holds else "; fails in the mean"
    outside = "" if row.conditions_hold else " (outside its conditions)"
    return {
        "lemma": f"{row.name}{outside}",
        "when": f"{row.when} ({row.steps})",
        "left": f"{row.left:.4g}",
        "right": f"{row.right:.4g}",
        "slack": "" if row.slack is None else f"{row.slack:.4g}",
        "difference": f"{row.difference:.3g} +- {row.standard_error:.2g}",
        "failing": f"{row.failing} of {row.steps}{state}",
        "note": row.note,
    }


def _implied(item: Implied) -> dict[str, str]:
    return {"link": item.link, "bound": f"{item.bound:.4g}", "factor": f"x {item.factor:.3g}"}
