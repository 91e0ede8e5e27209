"""The table of a run, its summary over the seeds, what is written of it, and the comparison of several runs."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bounds.language.result import finite
from ...errors import InputError
from ...storage import DamagedError, read_json, write, write_json, write_text

if TYPE_CHECKING:
    from .run import RunResult

FORMAT = "fedco-run/1"
LEVEL = 0.95
MEAN = "mean_gradient_sq"
"""The average that a bound is about: measured only where there is one."""


@dataclass(frozen=True)
class RunTable:
    """Values by grid point, seed and time.

    Args:
        axes: names of what varies. points: for each axis its value at every grid point.
        seeds, times: seed indices, and steps.
        values: {metric: (grid points, seeds, times)}.
    """

    axes: tuple[str, ...]
    points: Mapping[str, Sequence[Any]]
    seeds: tuple[int, ...]
    times: tuple[int, ...]
    values: Mapping[str, np.ndarray]

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def size(self) -> int:
        """Number of grid points."""
        return int(next(iter(self.values.values())).shape[0])

    def point(self, index: int) -> dict[str, Any]:
        """The values of the axes at a grid point."""
        return {name: self.points[name][index] for name in self.axes}

    def final(self, metric: str) -> np.ndarray:
        """(grid points, seeds) at the last time.

        Raises:
            InputError: not among the metrics.
        """
        if metric not in self.values:
            raise InputError(f"{metric[:40]}: not measured in this run; wanted one of {' '.join(self.metrics)}")
        return self.values[metric][:, :, -1]

    @staticmethod
    def joined(parts: Sequence[RunTable], axes: tuple[str, ...]) -> RunTable:
        """The parts one after another; a metric that a part lacks is not a number there."""
        names = list(dict.fromkeys(name for part in parts for name in part.metrics))
        first = parts[0]
        shape = (len(first.seeds), len(first.times))
        values = {
            name: np.concatenate([part.values.get(name, np.full((part.size, *shape), np.nan)) for part in parts])
            for name in names
        }
        points = {name: [value for part in parts for value in part.points[name]] for name in axes}
        return RunTable(axes, points, first.seeds, first.times, values)

    def columns(self) -> dict[str, np.ndarray]:
        """Flat columns: the axes, seed, t, then the metrics; the grid point changes slowest, the time fastest."""
        seeds, times = len(self.seeds), len(self.times)
        flat: dict[str, np.ndarray] = {
            name: np.repeat(np.array(list(self.points[name])), seeds * times) for name in self.axes
        }
        flat["seed"] = np.tile(np.repeat(np.array(self.seeds), times), self.size)
        flat["t"] = np.tile(np.array(self.times), self.size * seeds)
        return flat | {name: np.ascontiguousarray(value).reshape(-1) for name, value in self.values.items()}

    def frame(self) -> Any:
        """A pandas DataFrame of `columns`.

        Raises:
            InputError: pandas is not installed.
        """
        return _pandas().DataFrame(self.columns())

    def csv(self) -> str:
        """With a head line; numbers so that they read back as they are, an empty field where there is none."""
        columns = self.columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return csv_text(columns, (["" if isinstance(v, float) and math.isnan(v) else v for v in row] for row in rows))


def csv_text(heads: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV, with a head line."""
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows([heads, *rows])
    return target.getvalue()


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            "frame, parquet: wanted pandas and pyarrow, which are not installed; pip install 'fedco[frames]'"
        ) from None
    return pandas


@dataclass(frozen=True)
class Summary:
    """The last values: for every grid point and metric the mean over the seeds and the ends of a 95% t-interval.

    Attributes:
        diverged: for every grid point how many seeds end with a value that is not finite.
    """

    rows: tuple[tuple[dict[str, Any], dict[str, tuple[float, float, float]]], ...]
    seeds: int
    diverged: tuple[int, ...] = ()

    def to_list(self) -> list[dict[str, Any]]:
        return [
            {
                "point": point,
                "metrics": {name: dict(zip(("mean", "low", "high"), v, strict=True)) for name, v in found.items()},
                "diverged": diverged,
            }
            for (point, found), diverged in zip(self.rows, self._diverged, strict=True)
        ]

    @property
    def _diverged(self) -> tuple[int, ...]:
        return self.diverged or (0,) * len(self.rows)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, found in self.rows for name in found))

    @property
    def notes(self) -> tuple[str, ...]:
        """Which grid points diverged, a sentence each."""
        said = []
        for (point, _), count in zip(self.rows, self._diverged, strict=True):
            if count:
                where = ", ".join(f"{name} = {_short(value)}" for name, value in point.items())
                said.append(
                    f"diverged{f' at {where}' if where else ''}: {count} of {self.seeds} seeds end with no finite value"
                )
        return tuple(said)

    def __str__(self) -> str:
        axes = list(self.rows[0][0])
        lines = [[*axes, *self.metrics]]
        for point, found in self.rows:
            cells = (_interval(found.get(name)) for name in self.metrics)
            lines.append([*(_short(point[name]) for name in axes), *cells])
        end = f"at the end, mean over {self.seeds} seeds [95% t-interval]"
        return "\n".join([aligned(lines), end, *self.notes])


def summarise(table: RunTable) -> Summary:
    """The summary of a table."""
    finals = {name: table.final(name) for name in table.metrics}
    rows = []
    for index in range(table.size):
        found = {name: mean_interval(values[index]) for name, values in finals.items()}
        rows.append((table.point(index), {k: v for k, v in found.items() if k != MEAN or not math.isnan(v[0])}))
    diverged = [~np.isfinite(values) for name, values in finals.items() if name != MEAN]
    counts = np.any(diverged, axis=0).sum(axis=-1) if diverged else np.zeros(table.size, dtype=int)
    return Summary(tuple(rows), len(table.seeds), tuple(int(count) for count in counts))


def mean_interval(values: np.ndarray, level: float = LEVEL) -> tuple[float, float, float]:
    """Mean over the last axis and the ends of a t-interval; NaN ends with one value. `(n,)` -> three numbers."""
    from scipy.stats import t

    count = values.shape[-1]
    mean = float(values.mean())
    if count < 2 or not math.isfinite(mean):
        return mean, math.nan, math.nan
    half = float(t.ppf((1 + level) / 2, count - 1)) * float(values.std(ddof=1)) / math.sqrt(count)
    return mean, mean - half, mean + half


def bands(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and t-interval over the seeds at every time: `(seeds, times)` -> three `(times,)`."""
    from scipy.stats import t

    count = values.shape[0]
    with np.errstate(invalid="ignore", over="ignore"):
        mean = values.mean(0)
        if count < 2:
            return mean, mean, mean
        half = float(t.ppf((1 + LEVEL) / 2, count - 1)) * values.std(0, ddof=1) / math.sqrt(count)
        return mean, mean - half, mean + half


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _interval(found: tuple[float, float, float] | None) -> str:
    if found is None:
        return "-"
    mean, low, high = found
    if not math.isfinite(mean):
        return "diverged"
    return f"{mean:.4g}" if math.isnan(low) or low == high else f"{mean:.4g} [{low:.4g}, {high:.4g}]"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two spaces apart."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def write_run(done: RunResult, folder: Path, format: str) -> Path:
    """The table, a figure of every metric, the trained modules, and run.json with the sha256 of each.

    What another run wrote into the folder, and nobody changed since, is taken away: the folder shows one run.
    """
    from ...figures import data_file, save

    earlier = _written(folder)
    files = []
    if format == "csv":
        files.append(write_text(folder / "runs.csv", done.table.csv()))
    else:
        frame = done.frame()
        files.append(write(folder / "runs.parquet", lambda file: frame.to_parquet(file, index=False)))
    for metric in done.table.metrics:
        if metric != MEAN:
            files.append(save(done.figure(metric), folder / f"{metric}.svg"))
    files += _write_modules(done, folder)
    from ..runs.validate import versions

    content = {
        "format": FORMAT,
        **finite(done.to_dict()),
        "versions": versions(),
        "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
    }
    made = write_json(folder / "run.json", content)
    for file in {*earlier} - {*files}:
        file.unlink()
        if file.suffix == ".svg":
            data_file(file).unlink(missing_ok=True)
    return made


def _written(folder: Path) -> list[Path]:
    """Files that the folder's run.json names and that are as it says."""
    try:
        named = read_json(folder / "run.json", FORMAT)["files"]
    except (DamagedError, OSError):
        return []
    files = {folder / Path(name).name: wanted for name, wanted in named.items()}
    return [
        each for each, sha in files.items() if each.is_file() and hashlib.sha256(each.read_bytes()).hexdigest() == sha
    ]


def _write_modules(done: RunResult, folder: Path) -> list[Path]:
    """module_I.pt for grid point I, of its first seed; none where that diverged, or where there is no module."""
    import torch

    files = []
    for point in range(len(done.problems)):
        try:
            state = done.module(point).state_dict()
        except InputError:
            continue
        files.append(write(folder / f"module_{point}.pt", partial(torch.save, state)))
    return files


def read_run(folder: str | Path) -> dict[str, Any]:
    """run.json of a folder, its files checked against their sums.

    Raises:
        InputError: no such file, or one that was changed.
    """
    place = Path(folder)
    try:
        found = read_json(place / "run.json", FORMAT)
        for name, wanted in found["files"].items():
            if hashlib.sha256((place / Path(name).name).read_bytes()).hexdigest() != wanted:
                raise DamagedError(f"{name} was changed after it was written")
    except (DamagedError, OSError) as error:
        raise InputError(f"{place}: wanted a folder that `fedco run` wrote: {error}") from None
    return found


def compared(folders: Sequence[str | Path]) -> list[dict[str, Any]]:
    """One row per run and grid point: method, problem, T, what is set and what varies, and the last values."""
    return [row for folder in folders for row in _rows(Path(folder))]


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    found = read_run(folder)
    for each in found["points"]:
        yield {
            "run": folder.name or str(folder),
            "method": found["method"],
            "problem": found["problem"],
            "T": found["T"],
            "seeds": len(found["seeds"]),
            "settings": {**found["settings"], **each["point"]},
            "metrics": each["metrics"],
        }


def comparison_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a table for a person."""
    metrics = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    lines = [["run", "method", "problem", "T", "seeds", "settings", *metrics]]
    for row in rows:
        settings = " ".join(f"{name}={_short(value)}" for name, value in row["settings"].items())
        cells = [_interval(_triple(row["metrics"].get(name))) for name in metrics]
        lines.append(
            [row["run"], row["method"], row["problem"], str(row["T"]), str(row["seeds"]), settings or "-", *cells]
        )
    return aligned(lines)


def _triple(found: Mapping[str, Any] | None) -> tuple[float, float, float] | None:
    if found is None:
        return None
    mean, low, high = (math.nan if found[name] is None else found[name] for name in ("mean", "low", "high"))
    return mean, low, high
