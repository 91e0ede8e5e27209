"""`fedco reproduce`: which figures and tables the papers' experiments have, the files of those that are run, and a page of them."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ...bounds.language.result import finite
from ...bounds.registry import get_paper, paper_keys
from ...errors import InputError
from ...figures import save
from ...storage import make_folder, read_json, undamaged, write_json, write_text
from ...suggestion import instead
from ..runs.scheduler import run_on_scheduler
from .figures import STANDINGS, Figure, Measured, Reproduced, Setup, reproduce
from .orderings import LEVEL, OUTCOMES, PAPERS
from .table import csv_text

FORMAT = "fedco-experiment/2"


def figures() -> dict[str, Figure]:
    """`KEY/NAME` -> what is declared, in the order of the papers."""
    return {f"{key}/{figure.name}": figure for key in paper_keys() for figure in _declared(key)}


def _declared(key: str) -> Sequence[Figure]:
    """The figures of one paper: `FIGURES` of the module `experiments` beside what its runs are declared in."""
    runs = get_paper(key).runs
    if not runs or find_spec(runs) is None:
        return ()
    package = import_module(runs)
    if not hasattr(package, "__path__") or find_spec(f"{runs}.experiments") is None:
        return ()
    return tuple(import_module(f"{runs}.experiments").FIGURES)


def get_figure(name: str) -> tuple[str, Figure]:
    """The key of a paper and one of its figures.

    Raises:
        InputError: no such figure; the message lists those of the paper, or all.
    """
    known = figures()
    if name not in known:
        key = name.partition("/")[0]
        near = [each for each in known if each.startswith(f"{key}/")] or list(known)
        raise InputError(f"{name[:60]!r}: no such figure; {instead(name, tuple(near))}")
    return name.partition("/")[0], known[name]


def level() -> float:
    """Of one comparison, such that all of all figures, run or not, have `LEVEL` together."""
    return LEVEL / max(1, sum(figure.comparisons for figure in figures().values()))


def listing() -> list[dict[str, Any]]:
    """One row per figure and table."""
    return [
        {
            "figure": name,
            "standing": figure.standing,
            "runs": figure.measure is not None,
            "title": figure.title,
            "paper_shows": figure.shows,
            "differences": list(figure.differences),
        }
        for name, figure in figures().items()
    ]


def run_figure(name: str, setup: Setup, out: Path, scheduler: str | None = None) -> Reproduced:
    """Measure one figure, here or on a worker of a dask scheduler, and write it: the figure, the numbers behind it, and what
    is said of them.

    With the paper's sizes, and here, every finished curve and a checkpoint of the one that runs are kept in NAME.parts beside it: the
    same call goes on after a stop.

    Raises:
        InputError: no such figure, or nothing to run.
    """
    key, figure = get_figure(name)
    if scheduler is None:
        parts = out / key / f"{figure.name}.parts"
        done = reproduce(key, figure, replace(setup, kept=parts) if setup.full else setup, level())
    else:
        ((_, done),) = _on_workers([name], setup, scheduler)
    write_figure(done, make_folder(out / key))
    return done


def _on_workers(names: Sequence[str], setup: Setup, scheduler: str) -> Iterator[tuple[str, Reproduced]]:
    """Figures as they are done, one to a worker at a time; a folder of data has to be there under the same name."""
    silent = replace(setup, say=Setup.say)
    unique = uuid4().hex
    calls = {f"{unique} {name}": partial(_measured, name, silent) for name in names}
    for key, done in run_on_scheduler(calls, scheduler):
        yield key.removeprefix(f"{unique} "), replace(done, setup=setup)


def _measured(name: str, setup: Setup) -> Reproduced:
    return reproduce(*get_figure(name), setup, level())


def write_figure(done: Reproduced, folder: Path) -> Path:
    """NAME.svg, NAME.csv and NAME.json, whose sums the last one holds."""
    from ..runs.validate import versions

    name = done.figure.name
    drawn = save(done.plot(), folder / f"{name}.svg")
    table = write_text(folder / f"{name}.csv", as_csv(done))
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (drawn, table)}
    today = time.strftime("%Y-%m-%d", time.gmtime())
    content = {"format": FORMAT, **finite(done.to_dict()), "date": today, "versions": versions(), "files": files}
    return write_json(folder / f"{name}.json", content)


def as_csv(done: Reproduced) -> str:
    """Panel, curve, seed, time and the metrics, one row for each value kept."""
    metrics = list(dict.fromkeys(metric for curve in done.made.curves for metric in curve.values))
    heads = ["panel", "curve", "seed", done.made.curves[0].over.replace(" ", "_"), *metrics]
    return csv_text(heads, (row for curve in done.made.curves for row in _rows(curve, metrics)))


def _rows(curve: Measured, metrics: Sequence[str]) -> Iterator[list[Any]]:
    values = {metric: np.asarray(curve.values[metric]) for metric in metrics if metric in curve.values}
    for seed in range(len(next(iter(values.values())))):
        for place, at in enumerate(curve.times):
            cells = [_cell(values[metric][seed, place]) if metric in values else "" for metric in metrics]
            yield [curve.panel, curve.name, seed, at, *cells]


def _cell(value: float) -> float | str:
    return float(value) if np.isfinite(value) else ""


def run_all(
    setup: Setup, out: Path, report: Callable[[str], None], again: bool = False, scheduler: str | None = None
) -> list[Mapping[str, Any]]:
    """Every figure that can be run, and a page with all of them.

    A figure whose file is there, of the same size, data and source, is not run again unless `again`.
    """
    from ..runs.validate import versions

    rows: dict[str, Mapping[str, Any]] = {}
    unmade: list[str] = []
    for name, figure in figures().items():
        missing = figure.missing(setup.data)
        if missing:
            if figure.measure is not None:
                report(f"{name}: not run, {missing}")
            continue
        kept = _file(out, name)
        known: Mapping[str, Any] = {} if again else undamaged(kept, partial(read_json, kept, FORMAT)) or {}
        wanted = {"versions": versions(), "full": setup.full, "seeds": setup.seeds}
        rows[name] = known  # keeps its place in the page
        if setup.data is None and all(known.get(part) == value for part, value in wanted.items()):
            report(f"{name}: kept from an earlier run")
        else:
            unmade.append(name)
    for name, done in _each(unmade, setup, out, report, scheduler):
        report(f"{name}: {done.verdict} ({done.seconds:.0f} s, {done.cpu_seconds:.0f} s of processor time)")
        rows[name] = read_json(_file(out, name), FORMAT)
    write_page(out / "index.html", out, list(rows.values()), listing())
    return list(rows.values())


def _file(out: Path, name: str) -> Path:
    """Where a figure's numbers are kept."""
    key, _, figure = name.partition("/")
    return out / key / f"{figure}.json"


def _each(
    names: Sequence[str], setup: Setup, out: Path, report: Callable[[str], None], scheduler: str | None
) -> Iterator[tuple[str, Reproduced]]:
    """The figures measured and written one after another, or as a scheduler's workers have them."""
    if scheduler is None:
        for name in names:
            report(f"{name} …")
            yield name, run_figure(name, setup, out)
        return
    for name, done in _on_workers(names, setup, scheduler):
        write_figure(done, make_folder(out / name.partition("/")[0]))
        yield name, done


def listing_text() -> str:
    """The list for a person."""
    rows = listing()
    width = max(len(row["figure"]) for row in rows)
    lines = [f"{row['figure']:<{width}}  {row['standing']:<11}  {row['title']}" for row in rows]
    meanings = [f"{name}: {meaning}" for name, meaning in STANDINGS.items()]
    return "\n".join([*lines, "", *meanings])


# --- one self-contained page, with a sentence on the paper's beside each figure -----------------------------------------


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
    "bootstrap interval, which decides nothing: where a few runs are far off, most pairs say one thing and the mean another. Step sizes "
    "that are tuned are part of what is compared. For some figures controls are tried: the figure with something changed for all methods "
    "alike, with every ordering judged again. A figure is explained only where a reason was stated before the control was run and every "
    "ordering is then the paper's."
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
