"""How tight a statement is: bound over measured mean on every instance, kept from a report, and how close searches came.

python -m fedco.validation.report.tightness REPORT keeps what REPORT/report.json measured, with the day; the pages of theorems print it.
A measurement is no longer used when the statement that it is about has changed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ... import __version__
from ...bounds.audit.necessary import formulas_digest, needed
from ...bounds.language.result import markdown_table
from ...bounds.language.theorem import Theorem
from ...bounds.registry import all_theorems
from ...storage import read_json, write_json
from ..falsifier.record import searched
from . import contents

FILE = Path(__file__).with_name("tightness.json")
Entry = dict[str, Any]
_FORMAT = "fedco tightness 1"
_COLUMNS = ["problem", "case", "hyperparameters", "T", "seeds", "mean", "bound", "bound / mean", "largest term"]


def keep(report: Mapping[str, Any], file: Path = FILE) -> dict[str, Entry]:
    """Keep the runs of a report's contents (`report.json`): every instance at its longest horizon."""
    about = {"day": datetime.now(UTC).date().isoformat(), "version": __version__}
    found = {
        card["id"]: {
            **about,
            "statement": card["judged"],
            "formulas": formulas_digest(all_theorems()[card["id"]].statement(card["judged"])),
            "runs": [_row(run) for run in card["runs"]],
        }
        for card in report["cards"]
        if card["runs"]
    }
    write_json(file, {"format": _FORMAT, "theorems": found})
    kept.cache_clear()
    return found


def _row(run: Mapping[str, Any]) -> Entry:
    last = run["horizons"][-1]
    largest = max(last["shares"].items(), key=lambda item: item[1], default=("", 0.0))
    return {
        "problem": run["problem"],
        "case": run["case"],
        "hyperparameters": run["hyperparameters"],
        **{name: last[name] for name in ("T", "seeds", "outcome", "mean", "bound", "tightness")},
        "largest": list(largest),
    }


def measured(theorem: Theorem, label: str, file: Path = FILE) -> Entry | None:
    """The kept runs of a statement as it stands now; None where there are none."""
    entry = kept(file).get(theorem.id)
    if entry is None or entry["statement"] != label or entry["formulas"] != formulas_digest(theorem.statement(label)):
        return None
    return entry


def lines_of(theorem: Theorem, file: Path = FILE) -> list[str]:
    """The part of a theorem's page about tightness, in Markdown. It says what is not measured and not searched."""
    if not any(theorem.statement(label).terms for label in theorem.labels):
        return []
    found = {label: measured(theorem, label, file) for label in theorem.labels}
    rows = [[label, _runs(found[label]), *_search(theorem, label)] for label in theorem.labels]
    lines = [
        "## Tightness",
        "",
        "Bound over mean is 1 where a run attains the bound; left over bound is 1 where a search for counterexamples attains it, and more "
        "where it breaks it.",
        "",
        *markdown_table(
            ["statement", "least bound / mean of runs", "largest left / bound of a search", "parts"], rows, align=False
        ),
        "",
    ]
    for label, entry in found.items():
        if entry is not None:
            lines += [
                f"Runs of the {label} statement at the longest horizon measured ({entry['day']}, fedco {entry['version']}):",
                "",
                *markdown_table(_COLUMNS, [_cells(row) for row in entry["runs"]], align=False),
                "",
            ]
    return lines


def _runs(entry: Entry | None) -> str:
    values = [row["tightness"] for row in entry["runs"] if row["tightness"]] if entry else []
    return f"{min(values):.3g}, on {len(values)} instances" if values else "not measured"


def _search(theorem: Theorem, label: str) -> tuple[str, str]:
    """How close the kept search came, and how many parts it showed to be necessary."""
    known, parts = searched(theorem, label), needed(theorem.statement(label)).values()
    necessary = f"{sum(bool(part.bundle) for part in parts)} of {len(parts)} shown to be necessary"
    close = "not searched"
    if known is not None:
        close = f"{known.ratio:.3g}" + (": hardly anything was tested" if known.tested_little else "")
    return close, necessary if parts else "not searched"


def _cells(row: Mapping[str, Any]) -> list[str]:
    name, share = row["largest"]
    numbers = ["–" if row[key] is None else f"{row[key]:.4g}" for key in ("mean", "bound", "tightness")]
    chosen = ", ".join(f"{symbol} = {value}" for symbol, value in row["hyperparameters"].items())
    return [row["problem"], row["case"], chosen, str(row["T"]), str(row["seeds"]), *numbers, f"{name}, {share:.0%}"]


@cache
def kept(file: Path) -> Mapping[str, Entry]:
    found: Mapping[str, Entry] = read_json(file, _FORMAT)["theorems"] if file.exists() else {}
    return found


if __name__ == "__main__":
    made = keep(read_json(Path(sys.argv[1]) / "report.json", contents.FORMAT))
    print(f"{FILE.name}: {len(made)} theorems, {sum(len(entry['runs']) for entry in made.values())} instances")
