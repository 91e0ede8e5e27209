"""A theorem's method on one problem at any step size: every seed is run once, and the bound is evaluated beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...algorithms import Method
from ...algorithms.engine.progress import Progress
from ...bounds.evaluation.evaluate import Bound, in_doubles
from ...bounds.evaluation.evaluate import bound as evaluated
from ...bounds.language.theorem import Statement, Theorem
from ..runs.experiments import statistics
from ..runs.recipe import Instance, Recipe
from ..runs.values import numbers_of
from .along import Trajectory, trajectory

DIVERGED = 1e9
"""A run whose metric is so many times the squared gradient norm at the start, or not finite, diverged."""
Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Measured:
    """Runs at one step size, `(seeds,)` each.

    Args:
        metric: what the statement speaks of. objective: at the averaged model after the last step.
        rounds: in which models are shared.
        diverged: how many of the seeds did.
    """

    metric: np.ndarray
    objective: np.ndarray
    rounds: int
    diverged: int

    @property
    def mean(self) -> float | None:
        """Of the metric; None where a seed diverged."""
        return None if self.diverged else float(self.metric.mean())


@dataclass(frozen=True)
class Bench:
    """Runs and bounds over the step size; everything else stays.

    Args:
        step: the symbol that varies.
        hyper: the hyperparameters of the runs without it. values: those of the statement's symbols without it.
        theory: the step size that makes the bound least, or that the statement prescribes.
        rounded: what the statement prescribes with a root of T, say, and the runs have as the nearest double.
        ran: for each step size what each seed gave, filled as runs are asked for.
    """

    theorem: Theorem
    label: str
    problem: Any
    recipe: Recipe
    step: str
    hyper: Mapping[str, int | Fraction]
    values: Mapping[str, Any]
    theory: Fraction
    rounded: frozenset[str] = frozenset()
    root_seed: int = 0
    ran: dict[Fraction, dict[int, tuple[float, float, int]]] = field(default_factory=dict)

    @property
    def statement(self) -> Statement:
        return self.theorem.statement(self.label)

    @property
    def runs(self) -> int:
        """How many runs were made, one seed at one step size each."""
        return sum(map(len, self.ran.values()))

    @cached_property
    def start(self) -> tuple[float, float]:
        """Objective and squared gradient norm at the start."""
        x = self.problem.initial_point.unsqueeze(0)
        return float(self.problem.objective(x)), float(self.problem.gradient(x).square().sum())

    def bound(self, value: Fraction, **constants: Fraction) -> Bound:
        """The statement at a step size, also outside of its conditions; with other constants where some are given.

        What was rounded is left to the statement at theory's step size: it prescribes the number itself.
        """
        given = {**self.values, **constants, self.step: value}
        if value == self.theory and not constants:
            given = {name: number for name, number in given.items() if name not in self.rounded}
        return evaluated(self.statement, given, strict=False)

    def numbers(self, value: Fraction) -> dict[str, float]:
        """What the method is built from."""
        instance = Instance(self.problem, {**self.hyper, self.step: value}, "")
        return numbers_of(instance, self.bound(value), self.recipe.defaults)

    def method(self, value: Fraction) -> Method:
        return self.recipe.method(self.numbers(value))

    def steps(self, value: Fraction) -> int:
        """Local steps of a run."""
        return self.recipe.steps(self.numbers(value))

    def measure(self, value: Fraction, seeds: int, progress: Report | None = None) -> Measured:
        """The runs of the first seeds; those that were made before are not made again.

        Raises:
            InputError, ValueError: the method refuses the step size, or the statement has no value there.
        """
        known = self.ran.setdefault(value, {})
        if new := [seed for seed in range(seeds) if seed not in known]:
            with np.errstate(over="ignore", invalid="ignore"):
                result, metric, *_ = statistics(
                    self.recipe,
                    self.problem,
                    self.numbers(value),
                    new,
                    metric=self.theorem.metric,
                    root_seed=self.root_seed,
                    progress=progress,
                )
                assert result.state is not None
                last = self.problem.objective(result.state.average).cpu().numpy()
            rounds = result.messages.rounds
            known |= {seed: (float(m), float(f), rounds) for seed, m, f in zip(new, metric, last, strict=True)}
        found = [known[seed] for seed in range(seeds)]
        metric, objective = (np.array([each[k] for each in found]) for k in (0, 1))
        limit = DIVERGED * self.start[1] if self.start[1] > 0 else math.inf
        diverged = int((~(np.isfinite(metric) & (metric <= limit))).sum())
        return Measured(metric, objective, found[0][2], diverged)

    def trajectory(self, value: Fraction, seeds: int) -> Trajectory:
        """Averaged models of the runs at a step size."""
        return trajectory(self.method(value), self.problem, self.steps(value), seeds, self.root_seed)

    def over(self, values: Sequence[float] | np.ndarray, constants: Mapping[str, Any]) -> dict[str, Any]:
        """The statement in float64 at many step sizes: `{"terms", "total", "left", "right"}`, the sides by requirement."""
        return sides_over(self.statement, {**self.values, **constants, self.step: np.asarray(values, dtype=float)})


def sides_over(statement: Statement, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Terms and both sides of every requirement of a statement, on arrays for all of its symbols that broadcast against each other."""

    if "sides" not in statement.kept:
        outputs = [statement.expand(term.expr) for term in statement.terms]
        for condition in statement.requirements:
            outputs += [statement.expand(condition.left), statement.expand(condition.right)]
        arguments = [binding.symbol for binding in statement.symbols.values()]
        statement.kept["sides"] = in_doubles(arguments, outputs)
    known = {name: np.asarray(value, dtype=float) for name, value in arrays.items() if name in statement.symbols}
    shape = np.broadcast_shapes(*(array.shape for array in known.values()))
    with np.errstate(all="ignore"):
        made = [
            np.broadcast_to(np.asarray(v, dtype=float), shape)
            for v in statement.kept["sides"](*(known[n] for n in statement.symbols))
        ]
    terms = {term.name: value for term, value in zip(statement.terms, made, strict=False)}
    names = [condition.name for condition in statement.requirements]
    sides = made[len(terms) :]
    return {
        "terms": terms,
        "total": sum(terms.values(), np.zeros(shape)),
        "left": dict(zip(names, sides[::2], strict=True)),
        "right": dict(zip(names, sides[1::2], strict=True)),
    }
