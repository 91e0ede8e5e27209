"""What every family offers besides the interface of a problem: parameters by name, and constants as tensors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Self

import torch
from torch import Tensor

from ....bounds.language.quantities import QUANTITIES
from ...certificate import Certificate, upper
from ...kinds import AbstractProblem

_OF_A_RUN = ("initial_inner_error",)
"""Constants that depend on a run's free initial estimate: no certificate of the problem."""


class Family(AbstractProblem):
    """Instances of one kind, each run its own.

    Args:
        parameters: name -> tensor `(runs, clients)` or `(runs, clients, knots)`; `SHAPES` says which. `start` is
            `(runs, 1)`.

    One run is laid out along any number of runs, so that `pick(i)` is a problem for every batch.
    """

    SHAPES: ClassVar[Mapping[str, str]]
    """Parameter -> "run" (one number), "client" (one per client) or "knots" (several per client)."""
    SIGNS: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (("value_noise",), ("gradient_noise",))
    """Parameters that each of the two independent signs of a sample multiplies, where a kind has them."""
    ABSENT: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be left out: numbers of a run that are 0 then."""

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        missing = set(self.SHAPES) - set(parameters) - self.ABSENT
        if missing or set(parameters) - set(self.SHAPES):
            raise ValueError(
                f"{type(self).__name__}: wanted the parameters {sorted(self.SHAPES)}, got {sorted(parameters)}"
            )
        self.parameters = {name: tensor.to(torch.float64) for name, tensor in parameters.items()}
        per_client = next(name for name, shape in self.SHAPES.items() if shape == "client")
        self.runs, self.clients = self.parameters[per_client].shape
        self.dim, self.inner_dim, self.name = 1, 1, f"{self.kind}_family"

    @property
    def start(self) -> Tensor:
        """Where the runs start, `(runs, 1)`."""
        return self.parameters["start"]

    @property
    def initial_point(self) -> Tensor:
        return self.start[0]

    def pick(self, run: int) -> Self:
        """One instance as a family of its own."""
        return type(self)({name: tensor[run : run + 1] for name, tensor in self.parameters.items()})

    @cached_property
    def _noisy(self) -> tuple[bool, bool]:
        """Whether either sign of a sample acts on any instance."""

        def acts(names: tuple[str, ...]) -> bool:
            return any(name in self.parameters and bool((self.parameters[name] != 0).any()) for name in names)

        return acts(self.SIGNS[0]), acts(self.SIGNS[1])

    @property
    def _is_noisy(self) -> bool:
        return any(self._noisy)

    @abstractmethod
    def constants(self) -> dict[str, Tensor]:
        """The exact constant of every quantity, `(runs,)`; infinite where an assumption fails."""

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        """The constants of a single instance.

        Raises:
            ValueError: there are several runs.
        """
        if self.runs != 1:
            raise ValueError(f"{self.name}: certificates are those of one instance, got {self.runs}; use pick(run)")
        return {
            quantity: upper(quantity, float(value), "A closed formula in the knots of the instance.")
            for quantity, value in self.constants().items()
            if quantity in QUANTITIES and quantity not in _OF_A_RUN and math.isfinite(value)
        }
