"""`fedco reproduce`: which figures and tables the papers' experiments have, and the files of those that are run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
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
from .orderings import LEVEL
from .page import write_page
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
