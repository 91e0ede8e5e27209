"""A claimed run in exact numbers: the problem, the method and what its left side counts, from a claim alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ...algorithms import Method
from ...bounds.evaluation.weights import StepWeights, names_in, step_weights
from ...bounds.language.bounding import WHOLE_ROUNDS
from ...bounds.language.metrics import TAKE_WEIGHTS
from ..exact.interval import Ends
from ..exact.problem import ExactProblem
from ..exact.run import CannotReplay, constant, scalar
from ..exact.statistic import Statistic
from .declared import Target


@dataclass(frozen=True)
class ExactRun:
    """One run of a statement's method.

    Args:
        point: an enclosure of every symbol.
        interval: starts that every round keeps, where the run is endless; else None.
        options: of the method, where it has several readings.
    """

    target: Target
    problem: ExactProblem
    point: Mapping[str, Ends]
    interval: Ends | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def of(self, problem: ExactProblem) -> ExactRun:
        """The same run of another problem."""
        return replace(self, problem=problem)

    @cached_property
    def members(self) -> int:
        """Clients of the group that each client of the problem stands for."""
        clients = self.target.named("clients")
        return 1 if clients is None or clients not in self.whole else self.whole[clients] // self.problem.clients

    @cached_property
    def whole(self) -> dict[str, int]:
        """The whole numbers by symbol.

        Raises:
            ValueError: one is none.
        """
        found: dict[str, int] = {}
        for name, (low, high) in self.point.items():
            if self.target.symbols[name].quantity.domain.startswith(("positive integer", "whole number")):
                if low != high or low.denominator != 1:
                    raise ValueError(f"{name}: wanted a whole number, got {float(low):.6g}")
                found[name] = int(low)
        return found

    @cached_property
    def handed(self) -> dict[str, Any]:
        """What the declared method is built from; a group of equal clients is one client."""
        found: dict[str, Any] = {}
        for name, (low, high) in self.point.items():
            quantity = self.target.symbols[name].quantity.name
            if name in self.whole:
                found[name] = self.problem.clients if quantity == "clients" else self.whole[name]
            else:
                found[name] = low if quantity == "participation" else scalar(constant((low, high)))
        return found

    @property
    def method(self) -> Method:
        return replace(self.target.method(self.handed), **self.options)

    @property
    def steps(self) -> int:
        return self.target.steps(self.whole)

    @property
    def period(self) -> int:
        return self.target.round_length(self.whole)

    @property
    def statistic(self) -> Statistic:
        """What the left side takes of the run.

        Raises:
            CannotReplay: a probability that is none.
        """
        name = self.target.theorem.metric.failure
        failure = self.point[name][0] if name else None
        if failure is not None and not 0 < failure < 1:
            raise CannotReplay(f"{name}: wanted a probability between 0 and 1, got {failure}")
        weights = self._weights() if self.target.theorem.metric.over in TAKE_WEIGHTS else None
        return replace(self.target.statistic(self.whole), failure=failure, weights=weights)

    def _weights(self) -> StepWeights:
        """The weights of the iterates.

        Raises:
            CannotReplay: they speak of a number that is no fraction.
        """
        metric = self.target.theorem.metric
        for name in names_in(metric):
            low, high = self.point[name]
            if low != high:
                raise CannotReplay(f"the weights of the iterates speak of {name}, which is no rational number here")
        return step_weights(metric, {name: self.point[name][0] for name in names_in(metric)})

    @property
    def taking_part(self) -> int:
        """How many clients run a round."""
        share = self.target.named("participation")
        return self.problem.clients if share is None else int(self.point[share][0] * self.problem.clients)

    def check(self) -> None:
        """Whether the left side is one of whole rounds, and an endless run begins within its interval.

        Raises:
            CannotReplay: it is not.
        """
        if self.steps % self.statistic.every:
            raise CannotReplay("the statistic is one of whole rounds")
        if WHOLE_ROUNDS in self.target.theorem.statement(self.target.label).said and self.steps % self.period:
            raise CannotReplay(
                f"the statement is about whole rounds, got {self.steps} steps in rounds of {self.period}"
            )
        if self.interval is None:
            return
        if self.steps % self.period or self.statistic.after:
            raise CannotReplay("an endless run averages over whole rounds, their first steps included")
        if not self.interval[0] <= self.problem.start <= self.interval[1]:
            raise CannotReplay("the start is not in the interval")
