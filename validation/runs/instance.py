"""What an instance is: a problem, the hyperparameters of the theorem, the horizons, and why it was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
