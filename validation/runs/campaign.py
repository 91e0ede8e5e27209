"""Many measurements: planned in advance, spread over cores, each chunk of seeds kept on disk as soon as it is done.

A chunk is a function of (theorem, statement, instance, horizon, seeds, root seed) and nothing else: a lane's trajectory does not
depend on what runs beside it, so chunks can be computed in any order, on any machine, and be reused after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...algorithms.engine.fingerprint import code_fingerprint, source_fingerprint
from ...algorithms.engine.method import Method
from ...algorithms.engine.own_metric import own_metric
from ...algorithms.registry import get_method
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_paper, get_theorem, is_paper
from ...lossless import encode
from ...storage import digest, keep, recall
from ..statistics.alpha_budget import AlphaBudget
from ..statistics.planning import seeds_to_support
from ..statistics.verdict import Verdict, not_applicable
from .experiments import Measured, cap_of, measure
from .measures import judged
from .method_of import Given
from .recipe import Instance
from .registry import recipe_for
from .values import evaluate_at

MEASUREMENT = ("algorithms", "synthetic", "bounds", "validation/runs/experiments.py", "validation/runs/values.py")
"""Source files on which the statistic of a run depends, so that a kept result is read back until one changes: methods, problems, bounds,
and how a run puts them together. What a recipe adds is named by the source of the module that its method comes from."""

CHUNK = 128
"""Seeds per task: small enough to balance two cores, large enough to keep tensors busy."""
MINIMUM_SEEDS = 64
SLACK = 4.0
"""How many times below its bound a mean is for which the seeds of an experiment are planned."""


@dataclass(frozen=True)
class Experiment:
    """One claim on one instance at one horizon, with the number of seeds planned for it."""

    theorem: Theorem
    label: str
    instance: Instance
    T: int
    seeds: int
    root_seed: int
    method: Given | None = None

    @property
    def name(self) -> str:
        return f"{self.theorem.id}/{self.label}/{self.instance.name}/T={self.T}"

    @property
    def where(self) -> str:
        """The instance and the horizon, for people."""
        return f"{self.instance.name}, T={self.T}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process looks a registered theorem up; one of the caller's own travels as it is."""
        key = self.theorem.id.partition(".")[0]
        is_registered = is_paper(key) and get_paper(key).theorems.get(self.theorem.id) is self.theorem
        parts = (self.label, self.instance, self.T, self.seeds, self.root_seed, self.method)
        return _experiment, (self.theorem.id if is_registered else self.theorem, *parts)


def _experiment(theorem: str | Theorem, *parts: Any) -> Experiment:
    return Experiment(get_theorem(theorem), *parts)


def _statement(theorem: Theorem, label: str) -> str:
    """A statement, what of a run it speaks of, what its symbols mean and its method as text: those of a file may change while its id does
    not."""
    own = theorem.metric.own
    call, bounded = theorem.method, [theorem.metric.name, theorem.average, str(own.cap) if own else ""]
    symbols = {binding.name: binding.quantity.name for binding in theorem.notation}
    given = ("", {}, {}) if call is None else (call.name, call.values, call.options)
    method = [given[0], *({name: str(value) for name, value in table.items()} for table in given[1:])]
    formulas = [[where, str(expr)] for where, expr in theorem.statement(label).expressions()]
    return digest([bounded, symbols, method, *formulas])


def answers_of(problem: Any) -> str:
    """What tells two problem objects of one class apart in what is kept of runs: constants, and exact answers at a few points."""
    if isinstance(problem, str):
        return problem
    constants = {name: [str(c.value), c.kind] for name, c in sorted(problem.certificates.items())}
    ramp = 1 + torch.arange(problem.dim, dtype=torch.float64)
    points = torch.stack([problem.initial_point + shift * torch.sin(ramp) for shift in (0.0, 1.0, -2.0)])
    values = torch.cat([problem.objective(points), problem.gradient(points).flatten()])
    return digest([problem.name, problem.clients, constants, sha256(values.cpu().numpy().tobytes()).hexdigest()])


@dataclass(frozen=True)
class Task:
    """A chunk of an experiment's seeds."""

    experiment: Experiment
    first: int
    count: int

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """Everything that the numbers depend on."""
        experiment = self.experiment
        return {
            "source": source_fingerprint(MEASUREMENT),
            "code": code_fingerprint(*self._parts()),
            "method": _answers_of_method(experiment.method),
            "statement": _statement(experiment.theorem, experiment.label),
            "problem": answers_of(experiment.instance.problem),
            "experiment": experiment.name,
            "parameters": {name: str(value) for name, value in experiment.instance.parameters.items()},
            "hyperparameters": {name: str(value) for name, value in experiment.instance.hyperparameters.items()},
            "root_seed": experiment.root_seed,
            "seeds": [self.first, self.count],
        }

    def _parts(self) -> Iterator[object]:
        """What is run that may be a user's own: the recipe, the method with its class, the problem."""
        experiment, call = self.experiment, self.experiment.theorem.method
        yield recipe_for(experiment.theorem, experiment.method).method
        yield experiment.instance.made()
        if experiment.theorem.metric.own is not None:
            yield own_metric(experiment.theorem.metric.own.code).function
        if experiment.method is not None:
            yield experiment.method
        elif call is not None:
            yield get_method(call.name, call.code)

    @cached_property
    def key(self) -> str:
        """Names the result on disk; changes when anything that the numbers depend on changes."""
        return digest(self.made_from)[:24]


def _answers_of_method(method: Given | None) -> list[Any]:
    """Which method runs instead of the theorem's, with the hyperparameters that it has."""
    if method is None:
        return []
    if isinstance(method, Method):
        return [type(method).__module__, type(method).__qualname__, method.hyperparameters()]
    return [method.__module__, getattr(method, "__qualname__", repr(method))]


@dataclass(frozen=True)
class ExperimentResult(Measured):
    """What an experiment measured and what follows from it."""

    experiment: Experiment
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.experiment.theorem.id,
            "statement": self.experiment.label,
            "problem": self.experiment.instance.problem_name,
            "why": self.experiment.instance.why,
            "T": self.experiment.T,
            "seeds": self.experiment.seeds,
            "root_seed": self.experiment.root_seed,
            "instance": {
                "parameters": encode(self.experiment.instance.parameters),
                "hyperparameters": encode(self.experiment.instance.hyperparameters),
            },
            "hyperparameters": self.bound.values,
            "bound": self.bound.numbers_only(),
            "statistic_sha256": digest([float(x).hex() for x in self.statistic]),
            "mean": float(self.statistic.mean()),
            "mean_over_1_to_T": float(self.after.mean()),
            "mean_over_0_to_T_minus_1": float(self.before.mean()),
            "messages_per_client": self.messages,
            "verdict": self.verdict.to_dict(),
        }


def plan(
    theorem: str | Theorem,
    instances: Sequence[Instance],
    ledger: AlphaBudget,
    *,
    label: str = "printed",
    seeds: int | None = None,
    root_seed: int = 0,
    horizons: Sequence[int] | None = None,
    budget: Fraction | None = None,
    method: Given | None = None,
) -> list[Experiment]:
    """The experiments of a theorem with their seeds, allotted in the ledger before anything runs.

    Args:
        seeds: the same number for every experiment; by default enough to support a mean `SLACK` times below the bound.
        budget: alpha shared equally by the experiments; all that remains without it.
        method: instead of the one that the theorem is about.
    """
    item = get_theorem(theorem)
    wanted = [(instance, T) for instance in instances for T in (horizons or instance.horizons)]
    each = (budget or ledger.remaining) / max(1, len(wanted))
    experiments = []
    for index, (instance, T) in enumerate(wanted):
        number = seeds or _planned(item, label, instance, T, each, method)
        experiments.append(Experiment(item, label, instance, T, number, root_seed + index, method))
    for experiment in experiments:
        ledger.allot(experiment.name, each, experiment.seeds)
    return experiments


def _planned(theorem: Theorem, label: str, instance: Instance, T: int, alpha: Fraction, method: Given | None) -> int:
    problem = instance.made()
    bound, _ = evaluate_at(theorem, label, problem, instance.hyperparameters, T)
    cap = cap_of(theorem, problem, instance, bound, method)
    if bound.total is None or not 0 < bound.total < cap:
        return MINIMUM_SEEDS
    claim = judged(theorem.metric, bound.numbers, np.zeros(1), bound.total, cap)
    return -(-max(MINIMUM_SEEDS, seeds_to_support(claim.bound, claim.cap, SLACK, alpha)) // 8) * 8


def tasks_of(experiments: Sequence[Experiment], chunk: int = CHUNK) -> list[Task]:
    """Chunks of seeds, longest runs first."""
    tasks = [task for experiment in experiments for task in chunks_of(experiment, chunk)]
    return sorted(tasks, key=lambda task: -task.experiment.T * task.count)


def chunks_of(experiment: Experiment, chunk: int = CHUNK) -> list[Task]:
    """The seeds of one experiment in order."""
    return [
        Task(experiment, first, min(chunk, experiment.seeds - first)) for first in range(0, experiment.seeds, chunk)
    ]


def run_task(task: Task, cache: Path | None, device: str = "cpu") -> dict[str, Any]:
    """One chunk, from disk if it is there."""
    if (known := cached(task, cache)) is not None:
        return known
    if device == "cpu":
        torch.set_num_threads(1)
    experiment = task.experiment
    seeds = range(task.first, task.first + task.count)
    measured = measure(
        experiment.theorem,
        experiment.instance,
        experiment.T,
        list(seeds),
        label=experiment.label,
        root_seed=experiment.root_seed,
        device=device,
        method=experiment.method,
    )
    data = {
        **{name: getattr(measured, name).tolist() for name in _ARRAYS},
        "messages": measured.messages,
        "seconds": measured.seconds,
    }
    keep_chunk(task, cache, data)
    return data


_ARRAYS = ("statistic", "before", "after")


def cached(task: Task, cache: Path | None) -> dict[str, Any] | None:
    """The chunk on disk; None where it is not there, or damaged and therefore set aside."""
    known = recall(cache / f"{task.key}.json", task.made_from) if cache else None
    return known and {**known, **{name: list(map(float.fromhex, known[name])) for name in _ARRAYS}}


def keep_chunk(task: Task, cache: Path | None, data: Mapping[str, Any]) -> None:
    """Write a chunk to disk; its doubles in hexadecimal, which has infinities too."""
    if cache:
        kept = {**data, **{name: [float(x).hex() for x in data[name]] for name in _ARRAYS}}
        keep(cache / f"{task.key}.json", task.made_from, kept)


def run_tasks(
    tasks: Sequence[Task],
    *,
    jobs: int,
    cache: Path | None,
    device: str = "cpu",
    done: Callable[[Task], None] | None = None,
    scheduler: str | None = None,
) -> dict[str, dict[str, Any]]:
    """All chunks by key: from disk, then on `jobs` processes or a dask scheduler; `done` is called as each one is there."""
    results: dict[str, dict[str, Any]] = {}
    for task, data in _chunks(tasks, jobs, cache, device, scheduler):
        results[task.key] = data
        if done:
            done(task)
    return {task.key: results[task.key] for task in tasks}


def _chunks(
    tasks: Sequence[Task], jobs: int, cache: Path | None, device: str, scheduler: str | None
) -> Iterator[tuple[Task, dict[str, Any]]]:
    missing = []
    for task in tasks:
        known = cached(task, cache)
        if known is None:
            missing.append(task)
        else:
            yield task, known
    if scheduler is not None:
        yield from _scheduled(missing, scheduler, cache)
    elif jobs == 1 or device != "cpu" or any(_stays_here(task.experiment) for task in missing):
        yield from ((task, run_task(task, cache, device)) for task in missing)
    else:
        yield from _parallel(missing, jobs, cache)


def _stays_here(experiment: Experiment) -> bool:
    """Whether it has an object of the caller's that another process may not know."""
    return experiment.method is not None or not isinstance(experiment.instance.problem, str)


def _scheduled(tasks: Sequence[Task], scheduler: str, cache: Path | None) -> Iterator[tuple[Task, dict[str, Any]]]:
    """On the scheduler's workers, kept here as they come."""
    from .scheduler import run_on_scheduler

    by_key = {task.key: task for task in tasks}
    for key, data in run_on_scheduler({key: partial(run_task, task, None) for key, task in by_key.items()}, scheduler):
        keep_chunk(by_key[key], cache, data)
        yield by_key[key], data


def _parallel(tasks: Sequence[Task], jobs: int, cache: Path | None) -> Iterator[tuple[Task, dict[str, Any]]]:
    from joblib import Parallel, delayed

    def labelled(index: int) -> Any:
        return delayed(_indexed)(index, tasks[index], cache)

    stream = Parallel(n_jobs=max(1, min(jobs, len(tasks))), return_as="generator_unordered", batch_size=1)(
        labelled(i) for i in range(len(tasks))
    )
    for index, data in stream:
        yield tasks[index], data


def _indexed(index: int, task: Task, cache: Path | None) -> tuple[int, dict[str, Any]]:
    return index, run_task(task, cache)


def conclude(
    experiments: Sequence[Experiment], results: dict[str, dict[str, Any]], ledger: AlphaBudget
) -> list[ExperimentResult]:
    """Put the chunks together, spend each experiment's alpha once, judge."""
    return [
        _conclude(experiment, [results[task.key] for task in chunks_of(experiment)], ledger)
        for experiment in experiments
    ]


def _conclude(experiment: Experiment, parts: list[dict[str, Any]], ledger: AlphaBudget) -> ExperimentResult:
    instance, problem = experiment.instance, experiment.instance.made()
    bound, kind = evaluate_at(experiment.theorem, experiment.label, problem, instance.hyperparameters, experiment.T)
    cap = cap_of(experiment.theorem, problem, instance, bound, experiment.method)
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in _ARRAYS}
    seconds = sum(part["seconds"] for part in parts)
    found = Measured(instance, bound, cap, kind, **arrays, messages=parts[0]["messages"], seconds=seconds)
    return ExperimentResult(**vars(found), experiment=experiment, verdict=verdict_for(experiment, found, ledger))


def verdict_for(experiment: Experiment, found: Measured, ledger: AlphaBudget) -> Verdict:
    """The verdict of an experiment; NOT_APPLICABLE where the theorem's conditions fail."""
    claim, bound, metric = f"{experiment.theorem.id} ({experiment.label})", found.bound, experiment.theorem.metric
    alpha, where = ledger.spend(experiment.name, actual_seeds=len(found.statistic)), experiment.where
    if not bound.admissible:
        return not_applicable(claim, f"condition {', '.join(bound.failed)} fails", instance=where)
    said = f"{claim}, how often it fails" if metric.failure else claim
    terms = None if metric.failure else bound.terms
    return found.judged(bound.total, alpha, said, where, terms=terms)
