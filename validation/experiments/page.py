"""One self-contained page with every measured figure beside one sentence on the paper's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ...storage import write_text
from .figures import STANDINGS
from .orderings import OUTCOMES, PAPERS

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ccc; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
li { margin: .2rem 0; }
.orderings { font-size: .85em; overflow-wrap: anywhere; }
.same { color: #00613f; }
.other { color: #8a2b00; }
"""


def write_page(
    target: Path,
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    everything: Sequence[Mapping[str, Any]],
    note: str = "",
) -> Path:
    """The page `target`: `rows` were run, of `everything` that the papers have; their figures are read from `folder`."""
    measured = {row["figure"]: row for row in rows}
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>The papers' experiments</title>",
        f"<style>{_STYLE}</style></head><body><main><h1>The papers' experiments</h1>",
        "<p>Every figure and table of the five papers; those that were run are shown below beside one sentence on the "
        f"paper's. {escape(JUDGED)}</p>",
        f"<p>{escape(measured_on(rows))}{escape(counted(rows))}{escape(note)}</p>",
        _table(everything, measured),
        *(_section(folder, measured[row["figure"]]) for row in everything if row["figure"] in measured),
        "</main></body></html>",
    ]
    return write_text(target, "\n".join(parts) + "\n")


JUDGED = (
    "An ordering is the paper's, the opposite, or undecided. It is decided from pairs of runs with one seed, by the exact two-sided sign "
    "test, whose p-value is given, at the level 0.05 divided by the number of comparisons of all figures and controls, so that the "
    "chance of any wrong word is at most 0.05; the advantage is by how much the first is better than the second in the mean, with a 95% "
    "bootstrap interval, which decides nothing. Step sizes that are tuned are part of what is compared. Where an ordering is not the "
    "paper's, controls are tried: the figure with something changed for all methods alike, with every ordering judged again. A figure "
    "is explained only where a reason was stated before the control was run and every ordering is then the paper's."
)
"""How the orderings are to be read."""


def counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many of the paper's orderings are ours."""
    found = totals(rows)
    return (
        f"Of {found['orderings']} orderings, each counted once, {found['papers']} are the paper's, {found['opposite']} are the opposite "
        f"and {found['undecided']} are undecided; {found['explained']} of those that are not the paper's are explained. "
    )


def measured_on(rows: Sequence[Mapping[str, Any]]) -> str:
    """When the rows were measured, with what, and how long it took."""
    dates = sorted({row["date"] for row in rows if "date" in row})
    made = (row["versions"] for row in rows if "versions" in row)
    versions = dict.fromkeys(f"{one['fedco']} (source {one['source']}, {one['machine']})" for one in made)
    seeds = sorted({row["seeds"] for row in rows})
    seconds, cpu = (sum(row.get(name, 0.0) for row in rows) for name in ("seconds", "cpu_seconds"))
    when = f"Measured on {' and '.join(dict.fromkeys((dates[0], dates[-1])))}" if dates else "Measured"
    return (
        f"{when} with fedco {', '.join(versions)}, {' or '.join(map(str, seeds))} seeds: {len(rows)} figures and tables in "
        f"{seconds / 60:.1f} minutes, {cpu / 60:.1f} minutes of processor time. "
    )


def totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many orderings are the paper's, the opposite, undecided, and how many of the others a figure's control explains.

    Orderings with the same differences at every seed are one fact that two figures show, and are counted once.
    """
    facts = {_fact(row, each): (row, each) for row in rows for each in row["orderings"]}
    outcomes = [each["outcome"] for _, each in facts.values()]
    explained = sum(
        each["outcome"] != PAPERS and any(tried["explains"] for tried in row["controls"])
        for row, each in facts.values()
    )
    counts = {
        name: outcomes.count(word) for name, word in zip(("papers", "opposite", "undecided"), OUTCOMES, strict=True)
    }
    return {"figures": len(rows), "orderings": len(facts), **counts, "explained": explained}


def _fact(row: Mapping[str, Any], each: Mapping[str, Any]) -> Any:
    return tuple(each["gains"]) if any(each["gains"]) else (row["figure"], each["ordering"])


def outcome(row: Mapping[str, Any], measured: Mapping[str, Mapping[str, Any]]) -> str:
    """What came out of one figure; of one that was not run, that it was not, and what the paper's shows."""
    if (name := row["figure"]) in measured:
        return str(measured[name]["verdict"])
    return f"{'nothing to run' if row['standing'] == 'theory' else 'not run'}; the paper shows: {row['paper_shows']}"


def _table(everything: Sequence[Mapping[str, Any]], measured: Mapping[str, Mapping[str, Any]]) -> str:
    head = "<tr><th scope='col'>figure or table</th><th scope='col'>about</th><th scope='col'>here</th><th scope='col'>ordering</th></tr>"
    body = []
    for row in everything:
        name = row["figure"]
        shown = f"<a href='#{anchor(name)}'>{escape(name)}</a>" if name in measured else escape(name)
        verdict = escape(outcome(row, measured))
        body.append(
            f"<tr><td>{shown}</td><td>{escape(row['title'])}</td><td>{escape(row['standing'])}</td><td>{verdict}</td></tr>"
        )
    meanings = "; ".join(f"{escape(name)}: {escape(text)}" for name, text in STANDINGS.items())
    return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table><p>{meanings}.</p>"


COLUMNS = ("the paper's ordering", "ours", "advantage", "p", "why it is undecided")
"""Of the table of a figure's orderings."""


def cells(each: Mapping[str, Any]) -> tuple[str, ...]:
    """An ordering in these columns."""
    mean, low, high = ("not finite" if value is None else f"{value:.3g}" for value in each["advantage"].values())
    return each["ordering"], each["outcome"], f"{mean} [{low}, {high}]", f"{each['sign_test_p']:.2g}", each["why"]


def _section(folder: Path, row: Mapping[str, Any]) -> str:
    name = row["figure"]
    tried = "".join(f"<p>{escape(said(each))}</p>{_orderings(each['orderings'])}" for each in row["controls"])
    differences = "".join(f"<li>{escape(text)}</li>" for text in row["differences"])
    stated = f"<p>Compared with the paper:</p><ul>{differences}</ul>" if differences else "<p>As in the paper.</p>"
    return (
        f"<section id='{anchor(name)}'><h2>{escape(name)}: {escape(row['title'])}</h2>{stated}"
        f"<p><strong>The paper's figure shows:</strong> {escape(row['paper_shows'])}.</p>"
        f"<p><strong>Ours:</strong> {escape(row['verdict'])}; {row['seeds']} seeds, {row['seconds']:.0f} s"
        f"{', the paper’s sizes' if row['full'] else ''}.</p>"
        f"<figure>{_svg(folder, row)}</figure>"
        f"{_orderings(row['orderings'])}{tried}</section>"
    )


def said(tried: Mapping[str, Any]) -> str:
    """A control in a line: what was changed, whether it explains, and what was then seen."""
    reason = f", because {tried['reason']}" if tried["reason"] else ""
    return f"{'Explained' if tried['explains'] else 'Tried'}: {tried['change']}{reason}: {tried['verdict']}."


def _orderings(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th scope='col'>{escape(name, quote=False)}</th>" for name in COLUMNS)
    return (
        f"<table class='orderings'><thead><tr>{head}</tr></thead><tbody>{''.join(map(_ordering, rows))}</tbody></table>"
    )


def _ordering(each: Mapping[str, Any]) -> str:
    kinds = ("", f" class='{'same' if each['outcome'] == PAPERS else 'other'}'", "", "", "")
    return (
        f"<tr>{''.join(f'<td{kind}>{escape(cell)}</td>' for kind, cell in zip(kinds, cells(each), strict=True))}</tr>"
    )


def _svg(folder: Path, row: Mapping[str, Any]) -> str:
    key, name = row["figure"].split("/")
    text = (folder / key / f"{name}.svg").read_text(encoding="utf-8")
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', lambda match: f"{match.group(1)}{anchor(row['figure'])}-", text)
    return re.sub(r"<svg ", f"<svg role='img' aria-label='{escape(row['title'], quote=True)}' ", text, count=1)


def anchor(name: str) -> str:
    """The name of a figure's section in a link."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
