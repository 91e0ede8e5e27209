"""The seeds of one run, dealt out over processes with one thread each.

The tensors of a step are often too small for threads to pay: they wait for each other after every operation, the more
so on a busy machine. Seeds share nothing, so processes need not wait; and as a lane does not depend on what is beside
it, the result is that of ``drive`` to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .driver import drive, join, join_states
from .limits import BYTES_PER_INDEX, check_jobs, check_memory
from .method import Method
from .result import Result


def drive_in_processes(
    method: Method,
    problem: Any,
    *,
    jobs: int,
    seeds: int | Sequence[int],
    checkpoint: str | Path | None = None,
    progress: Any = None,
    **options: Any,
) -> Result:
    """``drive`` with its seeds dealt out over ``jobs`` processes; arguments and result are those of ``drive``.

    Args:
        jobs: number of processes, at least 1; no more than there are seeds are used.
        checkpoint: each process saves to a file of its own, named after this one.
        progress: called in the first process, about its own seeds.

    The start may not give one row per run. ``Result.seconds`` is that of the slowest process.

    Raises:
        InputError: for jobs < 1, or more than fit in memory.
        ValueError: a start with one row per run. Otherwise as ``drive``.
    """
    check_jobs(jobs)
    start = options.get("start")
    if start is not None and any(v is not None and v.dim() > 1 for v in vars(start).values()):
        raise ValueError("start must give one row for all runs, (dim,) and (inner_dim,), not one per run")
    method.check(problem)
    check_memory(BYTES_PER_INDEX * (seeds if isinstance(seeds, int) else len(seeds)), "seeds")
    indices = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    hands = [hand for hand in (indices[i::jobs] for i in range(jobs)) if hand]
    own = [
        {
            "seeds": hand,
            "checkpoint": checkpoint and f"{checkpoint}.{i}-of-{len(hands)}",
            "progress": progress if i == 0 else None,
        }
        for i, hand in enumerate(hands)
    ]
    from joblib import Parallel, delayed  # here, so that a machine without joblib can run everything else

    with torch.no_grad():
        work = (delayed(drive_alone)(method, problem, **options, **mine) for mine in own)
        return gathered(Parallel(n_jobs=len(hands), mmap_mode=None)(work), indices)


def drive_alone(method: Method, problem: Any, **options: Any) -> Result:
    """`drive` in a process of its own, with one thread."""
    torch.set_num_threads(1)
    return drive(method, problem, **options)


def gathered(results: list[Result], indices: list[int]) -> Result:
    """The results of several runs over parts of the seeds as one, its seeds in the order asked for."""
    dealt = [seed for result in results for seed in result.seeds]
    position = {seed: place for place, seed in enumerate(dealt)}
    order = torch.tensor([position[seed] for seed in indices])

    def joined(parts: list[Tensor], axis: int) -> Tensor:
        together = join(parts, results[0].grid, axis).unflatten(axis, (results[0].grid, -1))
        return together.index_select(axis + 1, order.to(together.device)).flatten(axis, axis + 1)

    first = results[0]
    return replace(
        first,
        seeds=tuple(indices),
        seconds=max(result.seconds for result in results),
        values={name: joined([result.values[name] for result in results], 1) for name in first.values},
        sums={name: joined([result.sums[name] for result in results], 1) for name in first.sums},
        models=joined([result.models for result in results if result.models is not None], 0),
        averaged=None
        if first.averaged is None
        else joined([result.averaged for result in results if result.averaged is not None], 0),
        state=join_states([result.state for result in results if result.state is not None], partial(joined, axis=0)),
    )
