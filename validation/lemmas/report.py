"""What a measurement of a chain found: one row per link and group of steps, and what each link implies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

SURE = 4.0
"""Standard errors by which a mean must lie above zero to be called a failure; a measurement, no test."""
ROUNDING = 1e-9
"""Relative size below which a difference of two sides is rounding."""
_NARROW = 34
"""Least width of the first column of a table as text."""


@dataclass(frozen=True)
class LemmaRow:
    """A link on one group of steps: "communication", "between" or "run".

    `left` and `right` are means over steps and seeds, arranged as the head of this file says; `slack` is their ratio (None
    where the left side is 0: the link holds with any right side). `difference` is the mean of left - right with its
    standard error over the seeds; `failing` of `steps` steps have a mean difference above `SURE` standard errors.
    """

    lemma: str
    statement: str
    when: str
    steps: int
    left: float
    right: float
    slack: float | None
    difference: float
    standard_error: float
    failing: int
    conditions_hold: bool
    note: str
    part: str = ""

    @property
    def name(self) -> str:
        """The lemma, the part of it that is measured, and the statement."""
        return f"{self.lemma}{f' {self.part}' if self.part else ''} ({self.statement})"

    @property
    def holds(self) -> bool:
        """Whether the measured mean over this group satisfies the lemma, up to noise and rounding."""
        scale = ROUNDING * (abs(self.left) + abs(self.right))
        return self.difference <= SURE * self.standard_error + scale


@dataclass(frozen=True)
class Implied:
    """What a link alone gives for the mean squared gradient; `factor` is the growth since the link before."""

    link: str
    bound: float
    factor: float


@dataclass(frozen=True)
class LemmaReport:
    """All links of one theorem on one instance."""

    theorem: str
    statement: str
    instance: str
    T: int
    seeds: int
    measured: float
    bound: float | None
    rows: tuple[LemmaRow, ...]
    implied: tuple[Implied, ...]

    @property
    def failing(self) -> tuple[str, ...]:
        """Links that fail somewhere on this run: as a mean over a group of steps, or at single steps."""
        return tuple(dict.fromkeys(row.lemma for row in self.rows if not row.holds or row.failing))

    @property
    def worst(self) -> Implied | None:
        """The link that loses most."""
        return max(self.implied, key=lambda item: item.factor, default=None)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe; an infinite number becomes the string 'inf'."""
        plain = asdict(self)
        for row, made in zip(plain["rows"], self.rows, strict=True):
            row["holds"] = made.holds
        return {
            **_finite(plain),
            "failing": list(self.failing),
            "worst": None if self.worst is None else self.worst.link,
            "kind": "measurement",
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> LemmaReport:
        """The inverse of `to_dict`."""
        known = {
            name: _read(data[name]) for name in ("theorem", "statement", "instance", "T", "seeds", "measured", "bound")
        }
        rows = tuple(LemmaRow(**{k: _read(v) for k, v in row.items() if k != "holds"}) for row in data["rows"])
        implied = tuple(Implied(**{k: _read(v) for k, v in item.items()}) for item in data["implied"])
        return LemmaReport(**known, rows=rows, implied=implied)

    def __str__(self) -> str:
        head = (
            f"{self.theorem} ({self.statement}) on {self.instance}, T={self.T}: measurements over {self.seeds} seeds, "
            "no verdicts"
        )
        wide = max([_NARROW, *(len(r.name) + 2 for r in self.rows)])
        table = [f"  {'lemma':<{wide}}{'when':<15}{'left':>12}{'right':>12}{'slack':>11}  failing steps"]
        table += [
            f"  {r.name:<{wide}}{r.when:<15}{r.left:>12.4g}{r.right:>12.4g}"
            f"{'-' if r.slack is None else format(r.slack, '.4g'):>11}  {r.failing}/{r.steps}{'' if r.holds else '  FAILS in the mean'}"
            for r in self.rows
        ]
        chain = [f"  mean squared gradient {self.measured:.4g}"]
        chain += [f"  {f'implied by {i.link}':<{wide + 15}}{i.bound:>12.4g}   x {i.factor:.4g}" for i in self.implied]
        return "\n".join([head, *table, *chain])


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return value


def _read(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf", "nan") else value


# --- as a section of the report -----------------------------------------------------------------------------------------


def section(reports: Sequence[LemmaReport]) -> dict[str, Any]:
    """{"runs": tables, "worst": the lemma that loses most}."""
    return {"runs": [_run_of(report) for report in reports], "worst": worst(reports)}


def worst(reports: Sequence[LemmaReport]) -> str:
    """The link with the largest factor over all runs, with the factor, and the links that fail somewhere."""
    lossy = [report.worst for report in reports if report.worst is not None]
    if not lossy:
        return ""
    most = max(lossy, key=lambda item: item.factor)
    failing = dict.fromkeys(name for report in reports for name in report.failing)
    return f"{most.link} (x {most.factor:.3g})" + (f"; fails: {', '.join(failing)}" if failing else "")


def _run_of(report: LemmaReport) -> dict[str, Any]:
    title = f"{report.instance}, T = {report.T}, {report.seeds} seeds; mean squared gradient {report.measured:.4g}"
    return {
        "title": title,
        "rows": [_cells_of(row) for row in report.rows],
        "implied": [_factor_of(item) for item in report.implied],
    }


def _cells_of(row: LemmaRow) -> dict[str, str]:
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


def _factor_of(item: Implied) -> dict[str, str]:
    return {"link": item.link, "bound": f"{item.bound:.4g}", "factor": f"x {item.factor:.3g}"}
