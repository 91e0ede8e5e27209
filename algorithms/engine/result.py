"""What a run recorded, and how to keep it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ... import storage
from ...figures import Axis, Curve, Panel, Plot, panel_plot
from ...notebook import ShownAsTable
from .method import Messages, State


@dataclass(frozen=True, eq=False, repr=False)
class Result(ShownAsTable):
    """What a run recorded. Runs are laid out as grid * seeds, the grid slow.

    Attributes:
        method, problem: their names.
        hyperparameters: the method's, as plain numbers and lists.
        root_seed, seeds: the key of the noise, and the seed indices.
        grid, steps: number of grid points, and of steps T.
        times: (records,) the recorded times 0, every, 2 every, …, and T; time t is before step t, T after the last.
        values: {metric: (records, runs)} at those times.
        sums: {metric: (records, runs)} the sum over all evaluated times before each recorded time.
        counts: (records,) how many times were evaluated before each recorded time.
        state: the state at time T (None in a result read from a file).
        messages: what one client sent.
        seconds: time spent stepping, in this process.
        models: (runs, dim) the averaged models at time T.
        averaged: (runs, dim) the mean of the averaged models over the run, with the shares that were asked for.
    """

    method: str
    problem: str
    hyperparameters: dict[str, Any]
    root_seed: int
    seeds: tuple[int, ...]
    grid: int
    steps: int
    times: Tensor
    values: dict[str, Tensor]
    sums: dict[str, Tensor]
    counts: Tensor
    state: State | None
    messages: Messages
    seconds: float
    models: Tensor | None = None
    averaged: Tensor | None = None

    @property
    def title(self) -> str:
        return (
            f"{self.method} on {self.problem}: {self.steps} steps, {self.grid} grid points, {len(self.seeds)} seeds; "
            f"recorded {', '.join(self.values) or 'nothing'}"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """A row for each recorded time and run."""
        seeds = len(self.seeds)
        found = [
            (time, run // seeds, self.seeds[run % seeds], *(float(v[k, run]) for v in self.values.values()))
            for k, time in enumerate(self.times.tolist())
            for run in range(self.grid * seeds)
        ]
        return ("t", "grid point", "seed", *self.values), found

    def plot(self) -> Plot:
        """Every recorded metric over the steps, the mean over the seeds of each grid point.

        Raises:
            ValueError: nothing was recorded.
        """
        times = [float(time) for time in self.times.tolist()]
        panels = []
        for name, value in self.values.items():
            means = value.view(len(times), self.grid, -1).mean(-1).T.tolist()
            curves = [Curve(f"grid point {k}", times, mean) for k, mean in enumerate(means)]
            panels.append(Panel(curves, Axis("step", "1"), Axis(name, "of the metric"), title=name))
        if not panels:
            raise ValueError("plot: nothing was recorded; wanted a metric in `record`")
        return panel_plot(panels, title=f"{self.method} on {self.problem}, mean over {len(self.seeds)} seeds")

    def final(self, metric: str) -> Tensor:
        """The metric at time T, (grid, seeds)."""
        return self.values[metric][-1].view(self.grid, -1)

    def mean(self, metric: str) -> Tensor:
        """The mean over the evaluated times before T, (grid, seeds): (1/T) sum_{t<T} when every step was evaluated."""
        return self.running_mean(metric)[-1]

    def running_mean(self, metric: str) -> Tensor:
        """The mean before each recorded time, (records, grid, seeds); NaN at time 0, where there is nothing before."""
        sums = self.sums[metric]
        return (sums / self.counts.to(sums.device)[:, None]).view(len(self.times), self.grid, -1)

    def save(self, path: str | Path) -> None:
        """Write everything but the state to one file, without pickle, atomically."""
        arrays = {"times": self.times, "counts": self.counts}
        arrays |= {f"values/{name}": v for name, v in self.values.items()}
        arrays |= {f"sums/{name}": v for name, v in self.sums.items()}
        arrays |= {name: each for name in _MODELS if (each := getattr(self, name)) is not None}
        plain = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        write_tensors(path, arrays, {**plain, "messages": self.messages.to_json()})

    @staticmethod
    def load(path: str | Path) -> Result:
        """The result that ``save`` wrote; its state is None."""
        arrays, description = read_tensors(path)
        messages = Messages.from_json(description.pop("messages"))
        description["seeds"] = tuple(description["seeds"])
        return Result(
            **description,
            times=arrays["times"],
            counts=arrays["counts"],
            state=None,
            messages=messages,
            values=under("values/", arrays),
            sums=under("sums/", arrays),
            models=arrays.get("models"),
            averaged=arrays.get("averaged"),
        )


_MODELS = ("models", "averaged")
_PLAIN_FIELDS = ("method", "problem", "hyperparameters", "root_seed", "seeds", "grid", "steps", "seconds")


def under(prefix: str, arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The arrays whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> None:
    """Replace the file ``path`` by these tensors and their description, atomically and durably."""
    storage.write_arrays(path, {name: tensor.cpu().numpy() for name, tensor in tensors.items()}, description)


def read_tensors(path: str | Path, device: torch.device | str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description that ``write_tensors`` left at ``path``.

    Raises:
        DamagedError: when the file is not one that ``write_tensors`` made.
    """
    arrays, description = storage.read_arrays(path)
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}, description
