"""Metrics streamed into preallocated buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from .method import State

Metric = Callable[[Any, Any, int], Tensor]  # (problem, state, t) -> (runs,)


class Recorder:
    """Preallocated buffers: one row per recorded time, and running sums that make a trajectory needless.

    Args:
        shares: (steps + 1,) of the averaged models at t = 0, ..., steps in `averaged`, (runs, dim), their mean with these weights.
    """

    def __init__(
        self,
        record: Mapping[str, Metric],
        steps: int,
        every: int,
        average: bool,
        runs: int,
        device: torch.device,
        grid: int = 1,
        shares: Sequence[float] | None = None,
        dim: int = 0,
    ) -> None:
        self.record, self.steps, self.every, self.average = dict(record), steps, every, average
        self.grid, self.shares = grid, shares
        self.averaged = torch.zeros(runs, dim if shares is not None else 0, dtype=torch.float64, device=device)
        self.times = [*range(0, steps, every), steps]
        empty = torch.zeros(len(self.times), runs, dtype=torch.float64, device=device)
        self.values = {name: empty.clone() for name in self.record}
        self.sums = {name: empty.clone() for name in self.record}
        self.running = {name: empty[0].clone() for name in self.record}

    def observe(self, problem: Any, state: State, t: int, seeds: slice = slice(None)) -> None:
        """Evaluate the metrics of the seeds ``seeds``, whose state this is, before step t."""
        if self.shares is not None:
            averaged = self.averaged.view(self.grid, -1, self.averaged.shape[-1])[:, seeds]
            averaged += self.shares[t] * state.average.view(self.grid, -1, self.averaged.shape[-1])
        is_recorded = t % self.every == 0 or t == self.steps
        if not (is_recorded or self.average):
            return
        row = len(self.times) - 1 if t == self.steps else t // self.every
        for name, metric in self.record.items():
            value = metric(problem, state, t).view(self.grid, -1)
            running = self.running[name].view(self.grid, -1)[:, seeds]
            if is_recorded:
                self.values[name][row].view(self.grid, -1)[:, seeds] = value
                self.sums[name][row].view(self.grid, -1)[:, seeds] = running
            running += value

    def counts(self) -> Tensor:
        """How many times were evaluated before each recorded time."""
        return torch.tensor([t if self.average else -(-t // self.every) for t in self.times])

    def arrays(self, t: int) -> dict[str, Tensor]:
        """What is filled at time t, for a checkpoint."""
        rows = -(-t // self.every)
        saved = {f"values/{name}": v[:rows] for name, v in self.values.items()}
        saved |= {f"sums/{name}": v[:rows] for name, v in self.sums.items()}
        saved |= {f"running/{name}": v for name, v in self.running.items()}
        return saved | ({} if self.shares is None else {"averaged": self.averaged})

    def restore(self, arrays: Mapping[str, Tensor]) -> None:
        for name in self.record:
            rows = arrays[f"values/{name}"].shape[0]
            self.values[name][:rows] = arrays[f"values/{name}"]
            self.sums[name][:rows] = arrays[f"sums/{name}"]
            self.running[name] = arrays[f"running/{name}"]
        if self.shares is not None:
            self.averaged = arrays["averaged"]
