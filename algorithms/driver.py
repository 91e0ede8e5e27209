"""The one loop that runs every method: step, communicate, record, and now and then save."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from .base import Method, Start
from .checkpoint import Checkpoint, identity
from .draws import Draws
from .progress import Interrupted, Progress, stop_request
from .recorder import Metric, Recorder
from .result import Result

_SECONDS_BETWEEN_REPORTS = 0.5


def drive(method: Method, problem: Any, *, steps: int, seeds: int | Sequence[int] = 1, root_seed: int = 0,
          start: Start | None = None, record: Mapping[str, Metric] | None = None, every: int = 1, average: bool = True,
          progress: Callable[[Progress], None] | None = None, checkpoint: str | Path | None = None,
          checkpoint_every: int | None = None) -> Result:
    """Run a method for ``steps`` steps on all seeds, clients and grid points at once.

    Args:
        method: its tensor-valued hyperparameters are the grid.
        problem: offers the oracles that the method needs.
        steps: T, at least 1.
        seeds: number of seeds, or their indices; a seed's noise does not depend on which others run beside it.
        root_seed: the key of all noise.
        start: x^0 and y^0; by default the problem's and the method's own.
        record: {name: metric}; ``metrics`` has the usual ones.
        every: a value is stored each so many steps (and at T).
        average: evaluate the metrics at every step, so that ``Result.mean`` is the mean over all t < T; when false
            only at the stored times, which is faster.
        progress: called with a Progress about twice a second; ``progress.to_stream()`` prints it.
        checkpoint: a file to save to every ``checkpoint_every`` steps (default: every 30 seconds) and when interrupted.
            When it exists the run goes on from it; the result is the same to the last bit.

    Raises:
        NotApplicable: the method is not defined on this problem.
        ValueError: the checkpoint belongs to another run.
        Interrupted: Ctrl-C or SIGTERM came; the checkpoint was saved.
    """
    if steps < 1 or every < 1:
        raise ValueError(f"steps and every must be at least 1; got steps={steps}, every={every}")
    method.check(problem)
    start = start or Start()
    device = problem.initial_point.device
    draws = Draws(root_seed, seeds, problem.clients, method.grid, device)
    recorder = Recorder(record or {}, steps, every, average, draws.runs, device)
    run = identity(method, problem, draws, start, recorder) if checkpoint else {}
    saver = Checkpoint(checkpoint, checkpoint_every, run)
    moves = method.over(len(draws.seed_indices), device)
    with torch.no_grad(), stop_request() if checkpoint else nullcontext(lambda: False) as stop_asked:
        first, state = saver.resume(moves.init(problem, start, draws), recorder, steps)
        reporter = _Reporter(progress, first, steps, draws.runs * problem.clients)
        for t in range(first, steps):
            recorder.observe(problem, state, t)
            state = moves.local_step(problem, state, draws.at(t), t)
            state = moves.communicate(problem, state, t)
            reporter.report(t + 1)
            saver.save_if_due(t + 1, state, recorder, is_last=t + 1 == steps or stop_asked())
            if stop_asked() and t + 1 < steps:
                raise Interrupted(f"stopped after step {t + 1} of {steps}; run again to go on from {checkpoint}")
        recorder.observe(problem, state, steps)
    return Result(method.name, problem.name, method.hyperparameters(), draws.root_seed, draws.seed_indices, draws.grid,
                  steps, torch.tensor(recorder.times), recorder.values, recorder.sums, recorder.counts(), state,
                  method.messages(problem, steps), reporter.seconds())


class _Reporter:
    def __init__(self, callback: Callable[[Progress], None] | None, first: int, steps: int, lanes: int) -> None:
        self.callback, self.first, self.steps, self.lanes = callback, first, steps, lanes
        self.began = self.reported = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def report(self, step: int) -> None:
        now = time.perf_counter()
        if self.callback and (step == self.steps or now - self.reported > _SECONDS_BETWEEN_REPORTS):
            self.reported = now
            self.callback(Progress(step, self.steps, self.first, self.lanes, self.seconds()))
