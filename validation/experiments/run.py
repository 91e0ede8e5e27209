"""`fedco run`: a method on a problem over a grid with seeds, kept as it goes, with a table, a summary and figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...algorithms import Method, Result, drive
from ...algorithms.engine import metrics as known
from ...algorithms.engine.fingerprint import TRAJECTORY, code_fingerprint, source_fingerprint
from ...algorithms.engine.limits import BYTES_PER_INDEX, check_memory
from ...algorithms.engine.metrics import METRICS, metrics_of
from ...algorithms.engine.own_metric import OwnMetric, own_metric
from ...algorithms.engine.parallel import drive_alone, gathered
from ...algorithms.engine.progress import Progress
from ...bounds.language.result import AbstractResult, Cell, Sheet, Table
from ...bounds.registry import get_theorem
from ...errors import InputError
from ...storage import digest, make_folder, undamaged, write_json
from ...suggestion import instead
from ...synthetic.models import AbstractModelProblem
from ...user_files import CodeName, is_python_file
from ..runs.campaign import answers_of
from ..runs.limits import HOURS, check_runs
from ..runs.scheduler import run_on_scheduler
from ..runs.values import exact_start
from .bounds import Match, matches
from .estimates import with_constants
from .plan import Axis, Group, Plan, as_axes, read_setting, split_setting
from .table import RunTable, Summary, summarise, write_run

RECORDS = 100
"""Number of recorded times of a run, unless the caller says how often."""
BYTES = 8
"""Bytes of one number that a client sends, a float64."""
SENT = {
    "messages": "rounds in which a client sends its model",
    "bytes": "bytes that a client has sent, 8 for each number",
}
_BOUND_POINTS = 25
SEEDS_PER_CALL = 4
"""Number of seeds that a worker of a scheduler gets at once."""


@dataclass(frozen=True, repr=False)
class RunResult(AbstractResult):
    """What a run gave: one row per grid point, seed and recorded time. A notebook shows its summary.

    Attributes:
        table: the rows, column by column.
        summary: the last value of every metric at every grid point: mean over the seeds and a 95% t-interval.
        bounds: for each grid point, the statements that bound it, with their values along the run.
        out: where it was written; None where it was not.
        models: `(grid points, seeds, dim)` the averaged models at the end.
        problems: of each grid point.
    """

    table: RunTable
    summary: Summary
    bounds: tuple[Mapping[str, Any], ...]
    description: Mapping[str, Any]
    out: Path | None = None
    models: torch.Tensor | None = None
    problems: tuple[Any, ...] = ()

    def module(self, point: int = 0, seed: int = 0) -> torch.nn.Module:
        """The trained module of one grid point, in the order of the grid, and one seed: a copy of the one that the problem is made of.

        Raises:
            InputError: the problem is made of no module, there is no such run, or it diverged.
        """
        points, seeds = (0, 0) if self.models is None else self.models.shape[:2]
        if self.models is None or not (0 <= point < points and 0 <= seed < seeds):
            raise InputError(f"module: wanted a point below {points} and a seed below {seeds}, got {point} and {seed}")
        problem = self.problems[point]
        if not isinstance(problem, AbstractModelProblem):
            raise InputError(f"module: {problem.name} is made of no module")
        if not bool(self.models[point, seed].isfinite().all()):
            raise InputError(f"module: seed {seed} of point {point} diverged")
        return problem.parts.flat.trained(self.models[point, seed])

    def frame(self) -> Any:
        """The rows as a pandas DataFrame. Needs the extra `fedco[frames]`."""
        return self.table.frame()

    def to_frame(self) -> Any:
        """The same."""
        return self.frame()

    def sheet(self) -> Sheet:
        """The summary: every grid point with the mean of each metric at the end and its 95% t-interval."""
        axes, metrics = tuple(self.summary.rows[0][0]), self.summary.metrics
        rows = tuple(
            (*(_cell(point[name]) for name in axes), *(cell for name in metrics for cell in _cells(found.get(name))))
            for point, found in self.summary.rows
        )
        heads = [head for name in metrics for head in (name, f"{name} low", f"{name} high")]
        title = f"{self.description['method']} on {self.description['problem']}, {self.description['T']} steps"
        seeds = f"at the end, mean over {self.summary.seeds} seeds, with the ends of a 95% t-interval"
        return Sheet(
            title,
            None,
            (Table("summary", (*axes, *heads), rows),),
            (*self.summary.notes, *self._bounds_at_the_end(), seeds),
        )

    def plot(self) -> Any:
        """The figure of the first metric; `figure` draws any of them."""
        return self.figure(self.table.metrics[0])

    def final(self, metric: str) -> np.ndarray:
        """The metric at the end, (grid points, seeds)."""
        return self.table.final(metric)

    def figure(self, metric: str) -> Any:
        """The figure of one metric, as `fedco run` writes it."""
        from .figure import run_figure

        return run_figure(self, metric)

    def to_dict(self) -> dict[str, Any]:
        return {**self.description, "points": self.summary.to_list(), "bounds": [dict(bound) for bound in self.bounds]}

    def __str__(self) -> str:
        written = [f"written to {self.out}"] if self.out else []
        return "\n".join([str(self.summary), *self._bounds_at_the_end(), *written])

    def _bounds_at_the_end(self) -> list[str]:
        named = [(b, "".join(f", {name}={value}" for name, value in b["point"].items())) for b in self.bounds]
        return [f"bound {b['statement']}: {b['values'][-1]:.4g} at T={b['T'][-1]}{at}" for b, at in named]


def _cells(found: tuple[float, float, float] | None) -> tuple[Cell, Cell, Cell]:
    """Mean and ends of an interval in a table; empty where there are none."""
    if found is None:
        return None, None, None
    mean, low, high = found
    ends = [end if math.isfinite(end) else None for end in (low, high)]
    return mean if math.isfinite(mean) else "diverged", ends[0], ends[1]


def _cell(value: Any) -> Cell:
    """A value of an axis in a table."""
    return value if isinstance(value, (int, float, str)) else str(value)


def run(
    method: str | type[Method] | Method,
    problem: Any,
    *,
    T: int,
    seeds: int = 8,
    metrics: Sequence[str] = ("objective",),
    settings: Mapping[str, Any] | Sequence[str] | None = None,
    grid: Mapping[str, Sequence[Any]] | Sequence[str] | None = None,
    every: int | None = None,
    root_seed: int = 0,
    theorems: Sequence[str] = (),
    out: str | Path | None = None,
    format: str = "csv",
    progress: Callable[[str], Callable[[Progress], None]] | None = None,
    checkpoints: Path | None = None,
    scheduler: str | None = None,
    hours: float = HOURS,
) -> RunResult:
    """Run a method on a problem over a grid.

    Args:
        method: a registered name, `FILE.py:NAME`, a class, or a method object.
        problem: a registered name, `FILE.py:NAME`, a problem object, or a description of a model (`fedco.problem`).
        T: local steps. seeds: how many. every: a value is kept each so many steps; about 100 times without it.
        metrics: names of `fedco.algorithms.metrics.METRICS`, `messages` and `bytes`; FILE.py:NAME is a function of one's own.
        settings: hyperparameters and parameters (`problem.NAME` is always a parameter); a mapping, or texts `NAME=VALUE`.
        grid: what varies: `{name: values}`, or texts such as `eta=1e-3:1:13log`. All grid points share the noise.
        theorems: statements whose bound is wanted; all that name this method on certified constants without it. A bound is
            of the mean of gradient_sq, so it needs that metric.
        out: a folder for the table, run.json and figures, and the trained module of each grid point for the first seed, as a state_dict
            in module_0.pt, …; a run that was stopped there goes on.
        format: of the table, csv or parquet.
        progress: makes, from a label, what `drive` reports to.
        checkpoints: a folder for what a stopped run goes on from, where nothing else is written; `out` has its own.
        scheduler: address of a dask scheduler that spreads the seeds; the numbers are the same to the last bit.
        hours: a run that would take longer by an estimate is refused before it starts; what is kept in the folder does not count.
            Not looked at with a scheduler, whose workers nobody has counted.

    Raises:
        InputError: an unknown name, a value that is refused, a metric that the problem does not offer, a run that takes too long
            or does not fit in memory.

    Example:
        >>> import fedco
        >>> done = fedco.run("local_sgd", "federated_quadratic", T=20, seeds=2, settings={"tau": 2}, grid={"eta": [0.01, 0.1]})
        >>> done.final("objective").shape
        (2, 2)
    """
    if min(T, seeds, every or 1) < 1:
        raise InputError(f"T, seeds and every: wanted at least 1, got {T}, {seeds} and {every}")
    if format not in ("csv", "parquet"):
        raise InputError(f"--format {format[:20]}: wanted csv or parquet")
    plan = Plan(method, problem, _settings(settings), as_axes(grid))
    groups = plan.groups()
    wanted = _checked(metrics, groups[0].problem)
    step = every or max(1, T // RECORDS)
    folder = make_folder(out) if out is not None else None
    place = folder or (make_folder(checkpoints) if checkpoints is not None else None)
    check_memory(BYTES_PER_INDEX * seeds, "seeds")
    bounded = "gradient_sq" in wanted or bool(theorems)
    pieces = [
        _piece(
            group,
            _bounds_of(group, T, theorems) if bounded else {},
            wanted,
            T,
            seeds,
            step,
            root_seed,
            place,
            scheduler,
        )
        for group in groups
    ]
    if scheduler is None:
        unmade = [(piece.group.method, piece.group.problem) for piece in pieces if not piece.is_kept]
        check_runs(unmade, T, seeds, hours)
    tables: list[RunTable] = []
    models: list[torch.Tensor] = []
    bounds: list[dict[str, Any]] = []
    seconds = 0.0
    for number, piece in enumerate(pieces):
        label = f"{number + 1}/{len(pieces)} " if len(pieces) > 1 else ""
        result = _drive(piece, progress and progress(label), scheduler)
        tables.append(_table(piece.group, result, wanted, piece.found, plan.axes))
        bounds.extend(_drawn(piece.group, piece.found, result))
        assert result.models is not None
        models.append(result.models.cpu().view(len(piece.group.points), seeds, -1))
        seconds += result.seconds
    first = groups[0]
    table = RunTable.joined(tables, tuple(axis.name for axis in plan.axes))
    description = {
        "method": first.method.name,
        "problem": first.problem.name,
        "kind": first.problem.kind,
        "settings": {name: _json(value) for name, value in plan.settings.items()},
        "hyperparameters": {k: v for k, v in first.method.hyperparameters().items() if k not in table.axes},
        "grid": {axis.name: list(axis.values) for axis in plan.axes},
        "T": T,
        "seeds": list(range(seeds)),
        "root_seed": root_seed,
        "every": step,
        "metrics": list(table.metrics),
    }
    problems = tuple(group.problem for group in groups for _ in group.points)
    whole = torch.cat(models) if len({each.shape[-1] for each in models}) == 1 else None
    done = RunResult(table, summarise(table), tuple(bounds), description, folder, whole, problems)
    if folder is not None:
        write_run(done, folder, format)
        write_json(folder / "seconds.json", {"seconds": round(seconds, 3)})  # no result: it differs from run to run
    return done


def _json(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _settings(given: Mapping[str, Any] | Sequence[str] | None) -> dict[str, Any]:
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    pairs = [split_setting(text) for text in given]
    if len({name for name, _ in pairs}) < len(pairs):
        raise InputError(f"--set: a name is set twice in {' '.join(name for name, _ in pairs)}")
    return {name: _setting(name, value) for name, value in pairs}


def _setting(name: str, text: str) -> Any:
    """A value, or several with commas between them: one for each client, or for each step."""
    return tuple(read_setting(name, part) for part in text.split(",")) if "," in text else read_setting(name, text)


def _checked(names: Sequence[str], problem: Any) -> dict[str, known.Metric | None]:
    """What is measured, by the name of its column; nothing is evaluated of what is sent."""
    offered = (*metrics_of(problem), *SENT)
    found: dict[str, known.Metric | None] = {}
    for name in names:
        if is_python_file(name):
            own = own_metric(CodeName(name))
            column = name.rpartition(":")[2].strip()
            if column in (*METRICS, *SENT) or found.get(column, own) != own:
                raise InputError(
                    f"--metric {name[:40]}: {column} is another metric; wanted a function with another name"
                )
            found[column] = own
        elif name not in offered:
            unknown = "is no metric" if name not in METRICS else f"is not offered by {problem.name}"
            raise InputError(f"--metric {name[:40]}: {unknown}; {instead(name, offered)}, or FILE.py:NAME")
        else:
            found[name] = None if name in SENT else METRICS[name].function
    return found


def _bounds_of(group: Group, T: int, theorems: Sequence[str]) -> dict[int, list[Match]]:
    """The statements that bound each grid point."""
    singles = [_single(group.method, index) for index in range(len(group.points))]
    if not theorems:
        return {index: matches(single, group.problem, T) for index, single in enumerate(singles)}
    known = [(name, with_constants(group.problem, get_theorem(name))) for name in theorems]
    return {
        index: [match for name, problem in known for match in matches(single, problem, T, [name])]
        for index, single in enumerate(singles)
    }


def _single(method: Method, index: int) -> Method:
    """The method of one grid point."""
    values = {item.name: getattr(method, item.name) for item in fields(method)}
    return replace(method, **{k: float(v[index]) for k, v in values.items() if isinstance(v, torch.Tensor)})


def _statistic(every: int) -> Callable[[Any, Any, int], torch.Tensor]:
    """||grad F||^2 at every so many steps, else 0: its sum over all steps is a theorem's."""

    def metric(problem: Any, state: Any, t: int) -> torch.Tensor:
        if t % every:
            return state.x.new_zeros(state.x.shape[0])
        return known.gradient_norm_squared(problem, state, t)

    return metric


@dataclass(frozen=True)
class _Piece:
    """What is run of one group, the statements that bound it, and where its result is kept."""

    group: Group
    found: Mapping[int, Sequence[Match]]
    options: Mapping[str, Any]
    key: str
    folder: Path | None

    @property
    def kept(self) -> Path | None:
        return self.folder and self.folder / "parts" / f"{self.key}.npz"

    @property
    def is_kept(self) -> bool:
        return self.kept is not None and self.kept.exists()


def _piece(
    group: Group,
    found: Mapping[int, Sequence[Match]],
    wanted: Mapping[str, known.Metric | None],
    T: int,
    seeds: int,
    every: int,
    root_seed: int,
    folder: Path | None,
    scheduler: str | None,
) -> _Piece:
    periods = sorted({match.every for each in found.values() for match in each})
    record = {name: function for name, function in wanted.items() if function is not None}
    record |= {f"statistic {period}": _statistic(period) for period in periods}
    options: dict[str, Any] = {
        "steps": T,
        "seeds": seeds,
        "root_seed": root_seed,
        "start": exact_start(group.problem),
        "record": record,
        "every": every,
        "average": bool(periods),
    }
    key = _key(group, record, T, seeds, every, root_seed) if folder or scheduler else ""
    return _Piece(group, found, options, key, folder)


def _drive(piece: _Piece, progress: Callable[[Progress], None] | None, scheduler: str | None) -> Result:
    """The group's result, from the folder if it is there, else computed, kept, and gone on with after a stop."""
    kept, method, problem = piece.kept, piece.group.method, piece.group.problem
    options = {**piece.options, "progress": progress}
    if kept is None:
        if scheduler is not None:
            return _spread(piece.group, options, piece.key, scheduler)
        return drive(method, problem, **options)
    checkpoint = kept.with_suffix(".checkpoint")
    known_result = undamaged(kept, lambda: Result.load(kept))
    if known_result is not None:
        checkpoint.unlink(missing_ok=True)  # of a run that was killed just after it had kept its result
        return known_result
    if scheduler is not None:
        result = _spread(piece.group, options, piece.key, scheduler)
        result.save(kept)
        return result
    try:
        result = drive(method, problem, **options, checkpoint=checkpoint)
    except ValueError as error:
        if not str(error).startswith("checkpoint"):
            raise
        checkpoint.unlink(missing_ok=True)  # of other code: begin anew
        result = drive(method, problem, **options, checkpoint=checkpoint)
    result.save(kept)
    checkpoint.unlink(missing_ok=True)
    return result


def _spread(group: Group, options: Mapping[str, Any], key: str, scheduler: str) -> Result:
    """The seeds dealt out over the workers of a scheduler, a few for each call; no lane depends on who computes it."""
    indices = list(range(options["seeds"]))
    hands = [indices[i : i + SEEDS_PER_CALL] for i in range(0, len(indices), SEEDS_PER_CALL)]
    calls = {
        f"{key}-{number}": partial(
            drive_alone, group.method, group.problem, **{**options, "seeds": hand, "progress": None}
        )
        for number, hand in enumerate(hands)
    }
    return gathered([result for _, result in run_on_scheduler(calls, scheduler)], indices)


def _key(group: Group, record: Mapping[str, Any], T: int, seeds: int, every: int, root_seed: int) -> str:
    """What the numbers depend on: source, method, problem (by its answers too), and the arguments."""
    problem = group.problem
    own = [metric.function for metric in record.values() if isinstance(metric, OwnMetric)]
    parts = [source_fingerprint(TRAJECTORY), code_fingerprint(group.method, problem, *own), torch.__version__]
    arguments = [group.method.name, group.method.hyperparameters(), problem.name, T, seeds, every, root_seed]
    return digest([parts, arguments, sorted(record), answers_of(problem)])[:24]


def _sent(method: Method, problem: Any, times: Sequence[int]) -> dict[str, np.ndarray]:
    """What a client has sent before each time."""
    counts = [method.messages(problem, t) if t > 0 else None for t in times]
    numbers = [0.0 if c is None else float(c.model_floats) + max(0.0, float(c.embedding_floats)) for c in counts]
    rounds = [0.0 if c is None else float(c.rounds) for c in counts]
    return {"messages": np.array(rounds), "bytes": BYTES * np.array(numbers)}


def _table(
    group: Group,
    result: Result,
    wanted: Iterable[str],
    found: Mapping[int, Sequence[Match]],
    axes: Sequence[Axis],
) -> RunTable:
    """Rows of one group: grid point slowest, then seed, then time."""
    times = result.times.tolist()
    grid, seeds = len(group.points), len(result.seeds)
    sent = _sent(group.method, group.problem, times)
    values: dict[str, np.ndarray] = {}
    for name in wanted:
        if name in SENT:
            values[name] = np.broadcast_to(sent[name], (grid, seeds, len(times)))
        else:
            values[name] = result.values[name].view(len(times), grid, seeds).permute(1, 2, 0).cpu().numpy()
    if any(found.values()):
        index_of = {index: each[0] for index, each in found.items() if each}
        means = np.full((grid, seeds, len(times)), np.nan)
        for index, match in index_of.items():
            means[index] = _running(result, match, index)
        values["mean_gradient_sq"] = means
    columns = {axis.name: [point[axis.name] for point in group.points] for axis in axes}
    return RunTable(tuple(axis.name for axis in axes), columns, tuple(result.seeds), tuple(times), values)


def _running(result: Result, match: Match, index: int) -> np.ndarray:
    """(seeds, times) the average of ||grad F||^2 that the statement speaks of, over the steps before each time."""
    name = f"statistic {match.every}"
    seeds = len(result.seeds)
    sums = result.sums[name].view(len(result.times), -1, seeds)[:, index].cpu().numpy()
    values = result.values[name].view(len(result.times), -1, seeds)[:, index].cpu().numpy()
    times = result.times.numpy()
    counts = -(-times // match.every)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = sums - values[0] + values if match.after else sums
        means = total / counts[:, None]
    means[(times == 0) | ((times % match.every != 0) & match.after)] = np.nan
    return means.T


def _drawn(group: Group, found: Mapping[int, Sequence[Match]], result: Result) -> Iterator[dict[str, Any]]:
    """Each bound along the run, at the times at which its conditions hold."""
    times = [int(t) for t in result.times.tolist() if t > 0]
    chosen = sorted({times[round(k * (len(times) - 1) / (_BOUND_POINTS - 1))] for k in range(_BOUND_POINTS)})
    for index, each in found.items():
        for match in each:
            pairs = [(t, bound) for t in chosen if (bound := match.at(t)) is not None]
            kept = [(t, value) for t, (value, holds) in pairs if holds and math.isfinite(value)]
            if kept and kept[-1][0] == times[-1]:
                worth = match.worth(times[-1])
                yield {
                    "statement": match.name,
                    "status": match.status,
                    "point": dict(group.points[index]),
                    "T": [t for t, _ in kept],
                    "values": [value for _, value in kept],
                    **({} if worth is None else worth.to_dict()),
                    "notes": [] if worth is None else list(worth.notes),
                }
