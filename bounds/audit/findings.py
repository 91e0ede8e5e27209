"""A finding: where a paper's line does not follow, what follows instead, and a check that anyone can run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..language.result import AbstractResult, Sheet, Table

if TYPE_CHECKING:
    from ...figures import Plot

SEVERITIES = ("breaks", "constant", "slip")
"""breaks: the claim does not follow; constant: it survives with the constant given; slip: notation only."""

KINDS = (
    "homogeneity",
    "units",
    "constant",
    "condition",
    "corollary",
    "independence",
    "communication",
    "assumption",
    "index",
    "undefined",
    "reformulation",
    "rate",
    "counterexample",
)

Evidence = Mapping[str, Any]


class RecheckError(AssertionError):
    """A finding does not survive its own check: a bug of ours, not of the paper."""


@dataclass(frozen=True)
class Finding:
    """One discrepancy.

    Args:
        id: `paper.short_name`, unique.
        theorem: id of the theorem or lemma concerned.
        where: line, equation or term.
        kind: one of KINDS.
        severity: one of SEVERITIES.
        printed: what the paper prints, in our words.
        expected: what follows instead.
        consequence: what it changes for a user (bound too small, too large, undefined, nothing).
        check: runs the re-check and returns its evidence; raises RecheckError when the finding is not confirmed.
        given: the user's file that was audited, if it was one.
    """

    id: str
    theorem: str
    where: str
    kind: str
    severity: str
    printed: str
    expected: str
    consequence: str
    check: Callable[[], Evidence]
    given: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.severity not in SEVERITIES:
            raise ValueError(f"finding {self.id}: unknown kind {self.kind!r} or severity {self.severity!r}")

    @property
    def command(self) -> str:
        return f"fedco audit {self.given} --recheck {self.id}" if self.given else f"fedco audit --recheck {self.id}"

    @property
    def bundles(self) -> tuple[str, ...]:
        """Files of the exact refutations that the finding rests on, `refutations/NAME.json`; often none."""
        from .refuted import bundles_of

        return tuple(f"refutations/{name}.json" for name in bundles_of(self.id))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `bundle` is the first of `bundles`, or None."""
        names = ("id", "theorem", "where", "kind", "severity", "printed", "expected", "consequence")
        files = list(self.bundles)
        known = {name: getattr(self, name) for name in names}
        return {**known, "recheck": self.command, "bundle": files[0] if files else None, "bundles": files}


class Findings(AbstractResult, list[Finding]):
    """A list of findings, worst first, that can be shown as a table."""

    def to_dict(self) -> dict[str, Any]:
        """As the command prints it with `--no-check`, but for the day of the checks."""
        return {"findings": [finding.to_dict() for finding in self]}

    def __str__(self) -> str:
        return "\n\n".join(describe(finding.to_dict()) for finding in self) or "no findings"

    def sheet(self) -> Sheet:
        return findings_sheet([finding.to_dict() for finding in self])

    def plot(self) -> Plot:
        """How many findings of each severity every theorem has."""
        from ...figures import Axis, bar_plot

        theorems = sorted({finding.theorem for finding in self})
        count = Counter((finding.severity, finding.theorem) for finding in self)
        groups = {severity: {name: float(count[severity, name]) for name in theorems} for severity in SEVERITIES}
        return bar_plot(groups, title="Findings of the audit", axis=Axis("findings", "1"))


def findings_sheet(rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """A table of findings as `to_dict` gives them."""
    heads = ("severity", "id", "theorem", "where", "printed", "expected", "consequence", "recheck")
    replays = ("; ".join(f"fedco replay docs/{name}" for name in row["bundles"]) for row in rows)
    cells = tuple((*(row[name] for name in heads), replay) for row, replay in zip(rows, replays, strict=True))
    table = Table("findings", (*heads, "refuted"), cells)
    return Sheet(f"Audit: {len(rows)} findings", None, (table,))


def describe(row: Mapping[str, Any]) -> str:
    """A finding, as `to_dict` gives it, as a paragraph for a person."""
    lines = [
        f"[{row['severity']}] {row['id']}: {row['where']}",
        f"  printed:     {row['printed']}",
        f"  instead:     {row['expected']}",
        f"  consequence: {row['consequence']}",
        f"  re-check:    {row['recheck']}",
        *(f"  refuted:     fedco replay docs/{name}" for name in row["bundles"]),
    ]
    return "\n".join(lines)


def confirm(fact: bool, **evidence: Any) -> Evidence:
    """The evidence, if the fact holds.

    Raises:
        RecheckError: the fact does not hold.
    """
    if not fact:
        raise RecheckError(f"not confirmed: {evidence}")
    return evidence
