"""The results of a whole `fedco reproduce --all`, kept in the repository: the report and the site show them without a run.

python -m fedco.validation.experiments.keeping reproduced docs/reproduced
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...bounds.language.result import markdown_table
from ...errors import InputError
from ...storage import make_folder, read_json, write_json, write_text
from .reproduce import (
    COLUMNS,
    FORMAT,
    JUDGED,
    anchor,
    cells,
    counted,
    listing,
    measured_on,
    outcome,
    said,
    totals,
    write_page,
)

KEPT = Path(__file__).parents[2] / "docs" / "reproduced"
_RESULTS = "results.json"
_PATHS = re.compile(r'\b(d|x|y)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")


def kept_rows(folder: Path = KEPT) -> list[Mapping[str, Any]]:
    """What is kept in a folder of the figures and tables, in the order of the papers."""
    file = folder / _RESULTS
    return _in_order(read_json(file, FORMAT)["figures"] if file.is_file() else ())


def run_rows(folder: Path) -> list[Mapping[str, Any]]:
    """What `fedco reproduce` wrote into a folder."""
    places = (folder / f"{row['figure']}.json" for row in listing())
    return [read_json(place, FORMAT) for place in places if place.is_file()]


def _in_order(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    known = {row["figure"]: row for row in rows}
    return [known[row["figure"]] for row in listing() if row["figure"] in known]


def keep(source: Path, target: Path) -> list[Path]:
    """Keep what was said of every figure, and its drawing with fewer digits; write the site's page.

    Raises:
        InputError: a control has a reason that it had not when the kept results of it were seen.
    """
    before, rows = kept_rows(target), run_rows(source)
    seen = {(row["figure"], each["change"]): each["reason"] for row in before for each in row["controls"]}
    for row in rows:
        for each in row["controls"]:
            if seen.get((row["figure"], each["change"]), each["reason"]) != each["reason"]:
                raise InputError(
                    f"{row['figure']}: {each['change']}: a reason cannot be stated after its results were kept"
                )
    written = []
    for row in rows:
        drawn = (source / f"{row['figure']}.svg").read_text(encoding="utf-8")
        make_folder((target / row["figure"]).parent)
        written.append(write_text(target / f"{row['figure']}.svg", shortened(drawn)))
    said = [{part: value for part, value in row.items() if part not in ("format", "files")} for row in rows]
    whole = _in_order([*before, *said])
    written.append(write_json(target / _RESULTS, {"format": FORMAT, "figures": whole}))
    return [*written, write_text(target / "index.md", as_markdown(whole))]


def shortened(svg: str) -> str:
    """With coordinates to a hundredth of a point."""

    def rounded(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    return _PATHS.sub(lambda found: _LONG.sub(rounded, found[0]), svg)


def write_kept(target: Path, folder: Path = KEPT) -> dict[str, int] | None:
    """The page of the experiments from what the repository keeps, without a run; None where it keeps nothing.

    It says so where the source has changed since.
    """
    from ..runs.validate import versions

    rows = kept_rows(folder)
    if not rows:
        return None
    is_older = any(row["versions"] != versions() for row in rows)
    note = "The source, or a package, has changed since: `fedco reproduce --all` measures anew." if is_older else ""
    write_page(target, folder, rows, listing(), note)
    return totals(rows)


def as_markdown(rows: list[Mapping[str, Any]]) -> str:
    """The site's page: the list of all figures and tables, and those that were run."""
    known = {row["figure"]: row for row in rows}
    lines = [
        "# The papers' experiments",
        "",
        f"{measured_on(rows)}{counted(rows)}`fedco reproduce --all` measures them anew, `fedco reproduce KEY/FIGURE` one of them.",
        "",
        JUDGED,
        "",
    ]
    listed = []
    for each in listing():
        name = each["figure"]
        verdict = "; ".join((outcome(each, known), *(() if name in known else each["differences"])))
        shown = f"[{name}](#{anchor(name)})" if name in known else name
        listed.append((shown, each["title"], each["standing"], verdict))
    lines += markdown_table(("figure or table", "about", "here", "ordering"), listed, align=False)
    for row in rows:
        lines += [
            "",
            f"## {row['figure']} {{ #{anchor(row['figure'])} }}",
            "",
            f"{row['title'][:1].upper()}{row['title'][1:]}.",
            "",
        ]
        lines += [f"- {text}" for text in row["differences"]]
        lines += ["", f"**The paper's figure shows:** {row['paper_shows']}.", "", f"**Ours:** {row['verdict']}.", ""]
        lines += [f"![{row['title']}]({row['figure']}.svg)", *_ordering_lines(row["orderings"])]
        for each in row["controls"]:
            lines += ["", said(each), *_ordering_lines(each["orderings"])]
    return "\n".join([*lines, ""])


def _ordering_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of orderings with an empty line before it; nothing where there is none."""
    return ["", *markdown_table(COLUMNS, map(cells, rows), align=False)] if rows else []


def main(source: Path, target: Path = KEPT) -> None:
    """Keep a run's folder, and say what was written."""
    for made in keep(source, target):
        print(made)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
