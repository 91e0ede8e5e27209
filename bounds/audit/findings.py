"""A finding: where a paper's line does not follow, what follows instead, and a check that anyone can run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..language.result import AbstractResult, Sheet, Table

if TYPE_CHECKING:
    from ...figures import Plot

SEVERITIES = ("breaks", "constant", "slip")
"""On the most charitable reading: breaks: the claim does not follow; constant: it survives with the constant, the condition or the
assumption given; slip: nothing changes, once the line is read as it was meant."""

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


@dataclass(frozen=True, repr=False)
class Finding(AbstractResult):
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
        reading: the most charitable reading of the line, under which the severity and the consequence stand.
        seen_in: ids of the findings in which the same slip is seen again; they are counted with this one.
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
    reading: str = ""
    seen_in: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.severity not in SEVERITIES:
            raise ValueError(f"finding {self.id}: unknown kind {self.kind!r} or severity {self.severity!r}")

    @property
    def charitable(self) -> str:
        """The reading under which it stands: declared, else the line as meant for a slip, else the line as printed."""
        return self.reading or (
            "as meant: read what stands under `instead`" if self.severity == "slip" else "as printed"
        )

    @property
    def cause(self) -> str:
        """Ids of the findings that name the slips which are seen again in this one; empty for one of its own."""
        from .refuted import causes

        return ", ".join(causes().get(self.id, ()))

    @property
    def command(self) -> str:
        return f"fedco audit {self.given} --recheck {self.id}" if self.given else f"fedco audit --recheck {self.id}"

    @property
    def bundles(self) -> tuple[str, ...]:
        """Files of the exact refutations that the finding rests on, `refutations/NAME.json`; often none."""
        from .refuted import bundles_of

        return tuple(f"refutations/{name}.json" for name in bundles_of(self.id))

    def __str__(self) -> str:
        return describe(self.to_dict())

    def sheet(self) -> Sheet:
        return findings_sheet([self.to_dict()])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `bundle` is the first of `bundles`, or None."""
        names = ("id", "theorem", "where", "kind", "severity", "printed", "expected", "consequence")
        files = list(self.bundles)
        known = {name: getattr(self, name) for name in names}
        more = {"reading": self.charitable, "cause": self.cause}
        return {**known, **more, "recheck": self.command, "bundle": files[0] if files else None, "bundles": files}


@dataclass(frozen=True)
class Again:
    """An automatic finding, by its id, whose cause is seen again in others; they are counted once."""

    id: str
    seen_in: tuple[str, ...]


@dataclass(frozen=True)
class Withdrawn:
    """A finding that did not stand when it was read again with the paper's text beside it.

    Args:
        ids: of the findings that went for one reason.
        why: the reason, with the place in the paper.
    """

    ids: tuple[str, ...]
    why: str


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
    replays = ("; ".join(f"fedco replay docs/{name}" for name in row["bundles"]) or _without(row) for row in rows)
    cells = tuple((*(row[name] for name in heads), replay) for row, replay in zip(rows, replays, strict=True))
    table = Table("findings", (*heads, "refuted"), cells)
    return Sheet(f"Audit: {counted(rows)}", None, (table,))


def counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many findings there are, and from how many causes: one slip in theorem, corollary and remark is one."""
    causes = sum(not row["cause"] for row in rows)
    return f"{len(rows)} finding{'' if len(rows) == 1 else 's'}" + (
        f" from {causes} cause{'' if causes == 1 else 's'}" if causes < len(rows) else ""
    )


def _without(row: Mapping[str, Any]) -> str:
    """What is said in place of a bundle of a claim that does not follow and has none."""
    return "no exact instance is kept" if row["severity"] == "breaks" and not row["bundles"] else ""


def describe(row: Mapping[str, Any]) -> str:
    """A finding, as `to_dict` gives it, as a paragraph for a person."""
    lines = [
        f"[{row['severity']}] {row['id']}: {row['where']}",
        f"  printed:     {row['printed']}",
        f"  instead:     {row['expected']}",
        f"  reading:     {row['reading']}",
        f"  consequence: {row['consequence']}",
        f"  re-check:    {row['recheck']}",
        *(f"  cause:       {row['cause']}" for _ in [0] if row["cause"]),
        *(f"  refuted:     fedco replay docs/{name}" for name in row["bundles"]),
        *(f"  refuted:     {said}" for said in [_without(row)] if said),
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


FILE = "findings.toml"
TABLES = {"findings": Finding, "again": Again, "withdrawn": Withdrawn}


def read_findings(module: Mapping[str, Any]) -> tuple[tuple[Finding, ...], tuple[Again | Withdrawn, ...]]:
    """The findings in their order, and what was seen again elsewhere or did not stand when it was read again.

    A row of `findings` has the words of `Finding`; `check` is the name of a function of the module, without it the id behind the key.

    Args:
        module: `vars()` of the `checks.py` that calls this.

    Raises:
        InputError: the file cannot be read, has another table, or a row has a word too many or too few, or no check.
    """
    from ..language.reading import read_toml  # with sympy, which the kept findings do without

    file = Path(module["__file__"]).with_name(FILE)
    tables = read_toml(file)
    if unknown := tables.keys() - TABLES.keys():
        raise InputError(f"{file}: wanted the tables {', '.join(TABLES)}, got {sorted(unknown)[0][:40]!r}")
    for table, rows in tables.items():
        if not (isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows)):
            raise InputError(f"{file}: wanted [[{table}]], one table for each row")
    made = {table: tuple(_row(file, table, row, module) for row in tables.get(table, ())) for table in TABLES}
    return made["findings"], (*made["again"], *made["withdrawn"])


def _row(file: Path, table: str, row: Mapping[str, Any], module: Mapping[str, Any]) -> Any:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    if table == "findings":
        name = str(values.get("check", str(values.get("id")).rpartition(".")[2]))
        if not callable(check := module.get(name)):
            raise InputError(
                f"{file}: {values.get('id')}: wanted the name of a function of checks.py, got {name[:40]!r}"
            )
        values["check"] = check
    try:
        return TABLES[table](**values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: [[{table}]] {values.get('id', '')}: {error}") from None
