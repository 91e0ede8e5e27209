"""The one loop that runs every method: step, communicate, record, and now and then save.

On a CPU the seeds step in blocks whose tensors stay in a core's cache, with one thread. A step is some hundred
operations on small tensors: threads wait for each other after every one (measured: two threads were 1.1 to 3 times
slower than one), and a tensor that leaves the cache costs more than the arithmetic done on it. Memory that an
operation frees is kept for the next one (``keep_freed_memory``). As a lane does not know what is beside it, neither blocks nor
threads change a bit of the result. For more cores there is ``drive_in_processes``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from .checkpoint import Checkpoint, identity
from .draws import Draws
from .limits import check_memory, keep_freed_memory
from .method import Method, Start, State
from .progress import Interrupted, Progress, stop_request
from .recorder import Metric, Recorder
from .result import Result

_SECONDS_BETWEEN_REPORTS = 0.5
_NUMBERS_PER_BLOCK = 1 << 19  # of a model tensor, 4 MiB: see benchmarks/README.md


def drive(
    method: Method,
    problem: Any,
    *,
    steps: int,
    seeds: int | Sequence[int] = 1,
    root_seed: int = 0,
    start: Start | None = None,
    record: Mapping[str, Metric] | None = None,
    every: int = 1,
    average: bool = True,
    shares: Sequence[float] | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int | None = None,
    threads: int = 1,
    seeds_at_once: int | None = None,
) -> Result:
    """Run a method for ``steps`` steps on all seeds, clients and grid points.

    Args:
        method: its tensor-valued hyperparameters are the grid.
        problem: offers the oracles that the method needs.
        steps: T, at least 1; part of a round is run too (what measures a theorem asks ``method.check_steps`` first).
        seeds: number of seeds, or their indices; a seed's noise does not depend on which others run beside it.
        root_seed: the key of all noise.
        start: x^0 and y^0; by default the problem's and the method's own.
        record: {name: metric}; ``metrics`` has the usual ones.
        every: a value is stored each so many steps (and at T).
        average: evaluate the metrics at every step, so that ``Result.mean`` is the mean over all t < T; when false
            only at the stored times, which is faster.
        shares: (steps + 1,) weights of the averaged models at t = 0, ..., T, of which ``Result.averaged`` is the weighted sum.
        progress: called with a Progress about twice a second; ``progress.to_stream()`` prints it.
        checkpoint: a file to save to every ``checkpoint_every`` steps (default: every 30 seconds) and when interrupted.
            When it exists the run goes on from it; the result is the same to the last bit.
        threads: threads inside one operation, set for the run and restored after it; 1 is fastest (see above).
        seeds_at_once: how many seeds step together; by default what fits the cache of a core, on a GPU all.

    Raises:
        NotApplicable: the method is not defined on this problem.
        InputError: the run cannot fit in memory; found before it starts.
        ValueError: the checkpoint belongs to another run, or the problem has fewer clients than a round of the method.
        Interrupted: Ctrl-C or SIGTERM came; the checkpoint was saved.
    """
    if min(steps, every, threads, 1 if seeds_at_once is None else seeds_at_once) < 1:
        raise ValueError(
            f"steps, every, threads and seeds_at_once must be at least 1; "
            f"got {steps}, {every}, {threads} and {seeds_at_once}"
        )
    method.check(problem)
    start = start or Start()
    device = problem.initial_point.device
    if device.type == "cpu":
        keep_freed_memory()
    draws = Draws(root_seed, seeds, problem.clients, method.grid, device)
    records = -(-steps // every) + 1
    numbers = draws.runs * (2 * problem.clients * problem.dim + 2 * records * len(record or {}))
    check_memory(8 * (numbers + 2 * records), "steps and seeds", device)  # two tensors of the state, and the buffers
    recorder = Recorder(record or {}, steps, every, average, draws.runs, device, draws.grid, shares, problem.dim)
    run = identity(method, problem, draws, start, recorder) if checkpoint else {}
    saver = Checkpoint(checkpoint, checkpoint_every, run)
    with (
        torch.no_grad(),
        on_threads(threads),
        stop_request() if checkpoint else nullcontext(lambda: False) as stop_asked,
    ):
        blocks = [
            _Block(method, problem, start, draws, columns) for columns in blocks_of_seeds(draws, problem, seeds_at_once)
        ]
        first = saver.resume(blocks[0].state, recorder, steps, lambda state: _hand_out(state, blocks))
        reporter = _Reporter(progress, first, steps, draws.runs * problem.clients)
        for t in range(first, steps):
            for block in blocks:
                recorder.observe(problem, block.state, t, block.columns)
                block.step(t)
            reporter.report(t + 1)
            saver.save_if_due(t + 1, lambda: _whole(blocks), recorder, is_last=t + 1 == steps or stop_asked())
            if stop_asked() and t + 1 < steps:
                raise Interrupted(f"stopped after step {t + 1} of {steps}; run again to go on from {checkpoint}")
        for block in blocks:
            recorder.observe(problem, block.state, steps, block.columns)
        state = _whole(blocks)
    return Result(
        method.name,
        problem.name,
        method.hyperparameters(),
        draws.root_seed,
        draws.seed_indices,
        draws.grid,
        steps,
        torch.tensor(recorder.times),
        recorder.values,
        recorder.sums,
        recorder.counts(),
        state,
        method.messages(problem, steps),
        reporter.seconds(),
        state.average,
        recorder.averaged if shares is not None else None,
    )


class _Block:
    """Some of the seeds with all of their grid points and clients: they step together."""

    def __init__(self, method: Method, problem: Any, start: Start, draws: Draws, columns: slice) -> None:
        self.columns, self.problem = columns, problem
        self.draws = Draws(
            draws.root_seed, draws.seed_indices[columns], draws.clients, draws.grid, problem.initial_point.device
        )
        self.moves = method.over(len(self.draws.seed_indices), problem.initial_point.device)
        self.state = self.moves.init(problem, start_of(start, draws, columns), self.draws)

    def step(self, t: int) -> None:
        state = self.moves.local_step(self.problem, self.state, self.draws.at(t), t)
        self.state = self.moves.communicate(self.problem, state, t)


def blocks_of_seeds(draws: Draws, problem: Any, seeds_at_once: int | None) -> list[slice]:
    """The blocks, as slices of the list of seeds: by default as few as fit, and as equal as they can be."""
    count, is_cpu = len(draws.seed_indices), problem.initial_point.device.type == "cpu"
    fitting = max(1, _NUMBERS_PER_BLOCK // (draws.grid * draws.clients * problem.dim)) if is_cpu else count
    size = seeds_at_once or math.ceil(count / math.ceil(count / fitting))
    return [slice(low, min(low + size, count)) for low in range(0, count, size)]


def _whole(blocks: list[_Block]) -> State:
    return join_states([block.state for block in blocks], partial(join, grid=blocks[0].draws.grid))


def _hand_out(state: State, blocks: list[_Block]) -> None:
    for block in blocks:
        block.state = seeds_of(state, block.draws.grid, block.columns)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Torch computes on so many threads in here."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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


# --- a run cut along its seeds, and put together again: runs are laid out as grid * seeds, the grid slow ---


AnyState = TypeVar("AnyState", bound=State)


def join(parts: list[Tensor], grid: int, axis: int = 0) -> Tensor:
    """Tensors whose axis ``axis`` is (grid * some of the seeds) -> one whose axis is (grid * all of the seeds)."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat([part.unflatten(axis, (grid, -1)) for part in parts], axis + 1).flatten(axis, axis + 1)


def join_states(states: list[AnyState], joined: Callable[[list[Tensor]], Tensor]) -> AnyState:
    """The state of all seeds from those of some seeds each, whose tensors `joined` puts together."""
    each = [state.tensors() for state in states]
    return replace(states[0], **{name: joined([tensors[name] for tensors in each]) for name in each[0]})


def seeds_of(state: AnyState, grid: int, columns: slice) -> AnyState:
    """The part of a state that belongs to the seeds ``columns``."""
    return replace(state, **{name: _cut(v, grid, columns) for name, v in state.tensors().items()})


def start_of(start: Start, draws: Draws, columns: slice) -> Start:
    """The part of a start that belongs to the seeds ``columns``: one row for all runs stays as it is."""
    rows = {name: v for name, v in vars(start).items() if v is not None and v.dim() == 2}
    for name, v in rows.items():
        if len(v) != draws.runs:
            raise ValueError(f"start.{name} must be float64 of shape (n,) or ({draws.runs}, n); got {tuple(v.shape)}")
    return replace(start, **{name: _cut(v, draws.grid, columns) for name, v in rows.items()})


def _cut(v: Tensor, grid: int, columns: slice) -> Tensor:
    return v.unflatten(0, (grid, -1))[:, columns].flatten(0, 1).contiguous()
