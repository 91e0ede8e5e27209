"""A figure of a paper's experiments as it is declared in `validation/papers/<key>/experiments.py`, and how it is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.engine.metrics import METRICS
from ...errors import InputError
from ...figures import Axis, Panel, Plot, panel_plot
from ..runs.limits import HOURS
from .datasets import HOLDS
from .figure import band, is_log
from .orderings import PAPERS, Control, Judged, Ordering, Tried, can_decide, check_treatment, implied, judge, tally

STANDINGS = {
    "exact": "the paper's own data and sizes (with --full)",
    "substitute": "other data than the paper's",
    "needs data": "runs on the paper's own files only, with --data DIR",
    "theory": "nothing is measured in it",
}
SEEDS = 24
"""Runs of every curve, also in a control. Fixed beforehand: 21 of 24 runs that agree decide at the level of 175 comparisons."""


@dataclass(frozen=True)
class Setup:
    """How large, on which data, and where progress goes."""

    full: bool = False
    data: Path | None = None
    seeds: int = SEEDS
    say: Callable[[str], None] = lambda text: None
    hours: float = HOURS
    """A curve, or a tuning, that would take longer by an estimate is refused."""
    kept: Path | None = None
    """Folder for finished pieces and checkpoints, from which a stopped figure goes on; None keeps nothing."""

    def size(self, small: Any, full: Any) -> Any:
        """The default's number, or the paper's with `--full`."""
        return full if self.full else small


@dataclass(frozen=True)
class Measured:
    """One curve: `values[metric]` is (seeds, times); `over` names the horizontal axis; `settings` says what was run; `models` are the
    averaged models at the end, (seeds, dim), for a table that makes its curves of them."""

    panel: str
    name: str
    times: Sequence[float]
    values: Mapping[str, np.ndarray]
    over: str = "steps"
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: Any = None

    @property
    def key(self) -> str:
        """How orderings name it."""
        return f"{self.panel}, {self.name}" if self.panel else self.name


@dataclass(frozen=True)
class Made:
    """What measuring a figure gave: its curves, what was chosen for them, and a drawing of its own where it has one."""

    curves: tuple[Measured, ...]
    chosen: Mapping[str, Any] = field(default_factory=dict)
    plot: Plot | None = None
    data_name: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    Args:
        name: `figure_3` or `table_2`. title: what it is about.
        standing: a key of `STANDINGS`.
        shows: one sentence, what the paper's shows.
        differences: how ours compares: what is different, and what the paper leaves open.
        orderings: what the paper's shows of pairs of curves; none may follow from others.
        measure: None for one that is only listed.
        controls: what is tried where an ordering is not the paper's, each on all orderings.
        source: where its data come from, a key of `datasets.HOLDS`: "generated", "images" or "omniglot".
        metrics: which are drawn, one panel each for every panel of curves.
    """

    name: str
    title: str
    standing: str
    shows: str
    differences: tuple[str, ...] = ()
    orderings: tuple[Ordering, ...] = ()
    measure: Callable[[Setup], Made] | None = None
    metrics: tuple[str, ...] = ()
    source: str = "images"
    controls: tuple[Control, ...] = ()

    def __post_init__(self) -> None:
        if self.standing not in STANDINGS:
            raise ValueError(f"{self.name}: wanted a standing among {sorted(STANDINGS)}, got {self.standing!r}")
        if self.standing == "substitute" and not self.differences:
            raise ValueError(f"{self.name}: a substitute has to say what is different")
        if self.source not in HOLDS:
            raise ValueError(f"{self.name}: wanted a source among {sorted(HOLDS)}, got {self.source!r}")
        if again := implied(self.orderings):
            raise ValueError(f"{self.name}: {again[0].text}: counted by the other orderings already")

    @property
    def comparisons(self) -> int:
        """How many tests may be made of it; where nothing is random there is none."""
        return sum(not each.exact for each in self.orderings) * (1 + len(self.controls))

    def missing(self, data: Path | None) -> str:
        """Why it cannot be run with this folder of data; empty where it can."""
        if self.measure is None:
            return "nothing to run"
        if self.source == "generated" or (data is None and self.standing != "needs data"):
            return ""
        if data is None:
            return f"needs {self.source} files: --data DIR"
        return "" if HOLDS[self.source](data) else f"{data} has no {self.source} files"


@dataclass(frozen=True)
class Reproduced:
    """A measured figure with its verdicts."""

    key: str
    figure: Figure
    made: Made
    judged: tuple[Judged, ...]
    setup: Setup
    level: float
    seconds: float
    cpu_seconds: float = 0.0
    tried: tuple[Tried, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.key}/{self.figure.name}"

    @property
    def verdict(self) -> str:
        """One line: how many of the paper's orderings are ours, and whether a control explains the figure."""
        if not self.judged:
            return "no ordering is judged"
        said = tally([each.outcome for each in self.judged])
        if not can_decide(self.setup.seeds, self.level) and not all(each.ordering.exact for each in self.judged):
            said += f": {self.setup.seeds} seeds cannot decide at the level {self.level:.2g}"
        return "; explained: ".join([said, *(each.control.reason for each in self.tried if each.explains)])

    def plot(self) -> Plot:
        return self.made.plot or _plot(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "figure": self.id,
            "title": self.figure.title,
            "standing": self.figure.standing,
            "paper_shows": self.figure.shows,
            "differences": list(self.figure.differences),
            "verdict": self.verdict,
            "orderings": [each.to_dict() for each in self.judged],
            "level": self.level,
            "controls": [each.to_dict() for each in self.tried],
            "data": self.made.data_name,
            "chosen": dict(self.made.chosen),
            "full": self.setup.full,
            "seeds": self.setup.seeds,
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
        }

    def __str__(self) -> str:
        lines = [f"{self.id}: {self.figure.title} ({self.figure.standing})"]
        lines += [f"  compared with the paper: {text}" for text in self.figure.differences]
        lines += [f"  the paper's figure shows: {self.figure.shows}", f"  ours: {self.verdict}"]
        lines += [f"    {each}" for each in (*self.judged, *self.tried)]
        return "\n".join(lines)


def reproduce(key: str, figure: Figure, setup: Setup, level: float) -> Reproduced:
    """Measure a figure and judge its orderings, each at this level, and its controls where one is not the paper's.

    Raises:
        InputError: it is only listed.
        ValueError: a control treats the figure's methods differently.
    """
    missing = figure.missing(setup.data)
    if missing or figure.measure is None:
        raise InputError(f"{key}/{figure.name}: {missing}; {STANDINGS[figure.standing]}; {figure.shows}")
    began = time.perf_counter()
    clock = time.process_time()
    made = figure.measure(setup)
    judged = _judged(figure, made, level)
    is_as_shown = all(each.outcome == PAPERS for each in judged)
    tried = () if is_as_shown else tuple(_tried(figure, made, one, setup, level) for one in figure.controls)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - clock
    return Reproduced(key, figure, made, judged, setup, level, seconds, cpu_seconds, tried)


def _judged(figure: Figure, made: Made, level: float) -> tuple[Judged, ...]:
    curves = {curve.key: curve.values for curve in made.curves}
    return tuple(judge(ordering, curves, level) for ordering in figure.orderings)


def _tried(figure: Figure, made: Made, control: Control, setup: Setup, level: float) -> Tried:
    setup.say(f"a control: {control.change}")
    changed = control.measure(setup)
    if not setup.full:
        compared = {name for each in figure.orderings for name in (each.better, each.worse)}
        check_treatment(control.change, made, changed, compared)
    return Tried(control, _judged(figure, changed, level))


# --- drawing ---------------------------------------------------------------------------------------------------------


def _plot(done: Reproduced) -> Plot:
    metrics = done.figure.metrics or tuple(next(iter(done.made.curves)).values)
    groups = list(dict.fromkeys(curve.panel for curve in done.made.curves))
    panels = []
    for group in groups:
        for metric in metrics:
            inside = [curve for curve in done.made.curves if curve.panel == group and metric in curve.values]
            if inside:
                panels.append(_panel(group, metric, inside))
    count = next(iter(done.made.curves)).values[metrics[0]].shape[0]
    noted = f"mean over {count} seeds, bands are 95% t-intervals" if count > 1 else "one run"
    return panel_plot(panels, title=f"{done.id}: {done.figure.title} ({done.figure.standing}; {noted})")


def _panel(group: str, metric: str, curves: Sequence[Measured]) -> Panel:
    drawn = [band(curve.name, curve.times, np.asarray(curve.values[metric])) for curve in curves]
    title = f"{group}: {metric}" if group else metric
    label = METRICS[metric].meaning.split(",")[0] if metric in METRICS else metric
    return Panel(
        drawn,
        Axis(curves[0].over, "1"),
        Axis(label.replace("_", " "), "1"),
        y_log=is_log(metric, drawn),
        title=title.replace("_", " "),
    )
