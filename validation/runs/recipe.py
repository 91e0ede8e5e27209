"""How a theorem is validated: its method, its statistic, and its instances, each with why it was chosen; parameters that many share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...algorithms import Method
from ...synthetic import problem as find_problem

CASES = ("schedule", "tuned", "edge", "stress", "interior")


@dataclass(frozen=True)
class Instance:
    """A problem with its parameters, the hyperparameters of the theorem (exact; a tuple where each client has its own), the horizons T,
    and why it was chosen.

    `case` says which part of the theorem's domain it stands for: "schedule" (the paper's own), "tuned" (least bound at
    the first horizon, rounded), "edge" (a condition holds with almost nothing to spare), "stress" (start at or near a
    stationary point, so that noise and drift make the bound), or "interior" (chosen by hand). `problem` is the name of
    a problem that its parameters can change, or a problem object, which has none.
    """

    problem: Any
    hyperparameters: Mapping[str, Any]
    why: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    horizons: tuple[int, ...] = ()
    case: str = "interior"

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise ValueError(f"{self.problem_name}: wanted a case among {CASES}, got {self.case!r}")

    @property
    def problem_name(self) -> str:
        return (
            self.problem
            if isinstance(self.problem, str)
            else str(getattr(self.problem, "name", type(self.problem).__name__))
        )

    def made(self, device: str = "cpu") -> Any:
        """The problem."""
        if not isinstance(self.problem, str):
            return self.problem
        return find_problem(self.problem, **self.parameters, **({} if device == "cpu" else {"device": device}))

    @property
    def name(self) -> str:
        parameters = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        shown = ", ".join(f"{key}={value}" for key, value in self.hyperparameters.items())
        return f"{self.problem_name}{f'[{parameters}]' if parameters else ''} ({shown})"


Build = Callable[[Mapping[str, float]], Method]
"""A function that builds the method from the values of a theorem's symbols."""


@dataclass(frozen=True)
class Recipe:
    """How a theorem is validated.

    Args:
        method: builds the algorithm from the values of the theorem's symbols (floats by name, scheduled ones included)
            and the instance's hyperparameters, which may name what the statement leaves out (`m` sampled clients).
        instances: certified problems with hyperparameters that the theorem admits.
        average: "after" averages the squared gradient norm over t = 1..T, "before" over t = 0..T-1.
        label: the statement that is judged unless the user asks for another.
        steps: local steps that T stands for, from the same values (T itself by default).
        every: the statistic uses every so many steps (where a theorem speaks of server models only); None uses every step.
        defaults: hyperparameters of the method that the statement leaves out, where an instance does not name them.
        limit_exponent: exponent of T that the paper claims, drawn beside the curves.
    """

    method: Build
    instances: tuple[Instance, ...]
    average: str = "before"
    label: str = "printed"
    steps: Callable[[Mapping[str, float]], int] = lambda values: int(values["T"])
    every: Callable[[Mapping[str, float]], int] | None = None
    limit_exponent: float = -0.5
    defaults: Mapping[str, int | Fraction] = field(default_factory=dict)


def optional(values: Mapping[str, float], name: str) -> int | None:
    """A whole number that an instance may leave out."""
    return int(values[name]) if name in values else None


# --- parameters of the certified families that the instances of several papers share ---
# From far away every bound is mostly its initialisation term. A start at a stationary point (`AT_REST`: target 0, so that
# the objective has no slope at the start) leaves noise, drift and bias alone, and shows what those terms are worth.

NEAR: Mapping[str, Any] = {"start": 8.0, "dim": 8}
"""Parameters for shorter runs: the bounds need T in proportion to the objective gap, which `start` sets."""
AT_REST: Mapping[str, Any] = {"start": 0.0, "target": 0.0, "dim": 8}
LOCAL_NOISE: Mapping[str, Any] = {"clients": 4, "inner_dim": 1, "sigma_g": 0.3, "delta_g": 0.3}
"""Local composite problems with large inner noise."""
NOISY_AT_REST: Mapping[str, Any] = {**AT_REST, **LOCAL_NOISE, "sigma_f": 0.3}
SETS: Mapping[str, Mapping[str, Any]] = {
    "near": NEAR,
    "at_rest": AT_REST,
    "local_noise": LOCAL_NOISE,
    "noisy_at_rest": NOISY_AT_REST,
}
"""The sets of parameters, by the names that the tables of the papers' runs use."""
