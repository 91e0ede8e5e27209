"""What every family offers besides the interface of a problem: parameters by name, and constants as tensors; and what several share.

Noise is that of fair signs, of which none are drawn where an instance has no noise.
"""

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
from ...kinds import AbstractProblem, AbstractSampled, Draws, Sample
from ...parts.noise import SignPair, mean_sign
from ...parts.patterns import sign_grid
from .curve import PiecewiseLinear

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

    def _of(self, name: str) -> Tensor:
        """A parameter with an axis for x, `(runs, clients, 1)`."""
        return self.parameters[name].unsqueeze(-1)

    def _largest(self, name: str) -> Tensor:
        """The largest size of a parameter over the clients, `(runs,)`."""
        return self.parameters[name].abs().amax(-1)

    @cached_property
    def slope(self) -> PiecewiseLinear:
        """Through `knots` and `slopes`."""
        return PiecewiseLinear(self.parameters["knots"], self.parameters["slopes"])

    def _everywhere(self, points: Tensor) -> Tensor:
        """Points `(runs, count)` at every client."""
        return points.unsqueeze(1).expand(-1, self.clients, -1)

    @cached_property
    def _noisy(self) -> tuple[bool, bool]:
        """Whether either sign of a sample acts on any instance."""

        def acts(names: tuple[str, ...]) -> bool:
            return any(name in self.parameters and bool((self.parameters[name] != 0).any()) for name in names)

        return acts(self.SIGNS[0]), acts(self.SIGNS[1])

    @abstractmethod
    def constants(self) -> dict[str, Tensor]:
        """The exact constant of every quantity, `(runs,)`; infinite where an assumption fails."""

    @property
    def _at_start(self) -> Tensor:
        """The objective at the start, `(runs,)`."""
        return self.objective(self.start.expand(self.runs, 1))

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


class SampledFamily(Family, AbstractSampled):
    """One whose sample is a pair of signs: without noise any batch is one sample of zeros."""

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        if not any(self._noisy):
            return _silent(1)
        of_both = zip(("inner", "outer"), self._noisy, strict=True)
        drawn = [draws.signs(f"{purpose}.{which}", batch) for which, noisy in of_both if noisy]
        still = torch.zeros_like(drawn[0])
        return SignPair(drawn[0] if self._noisy[0] else still, drawn[-1] if self._noisy[1] else still)

    def atoms(self) -> tuple[SignPair, Tensor]:
        if not any(self._noisy):
            return _silent(self.clients), torch.ones(1, dtype=torch.float64)
        inner, other, weights = sign_grid(self.clients, "cpu")
        return SignPair(inner * self._noisy[0], other * self._noisy[1]), weights

    def _shaken(self, exact: Tensor, noise: str, sample: Sample | None, which: str = "other") -> Tensor:
        """With this parameter times one sign of a sample; as it is without a sample."""
        sign = mean_sign(sample, which)
        return exact if sign is None else exact + self._of(noise) * sign.unsqueeze(-1)


def _silent(clients: int) -> SignPair:
    """The one sample of an instance without noise."""
    zero = torch.zeros(1, clients, 1, dtype=torch.float64)
    return SignPair(zero, zero)


def apart(slopes: Tensor) -> Tensor:
    """How far slopes `(runs, clients, count)` are from their mean over the clients, in mean square, where that is most: `(runs,)`."""
    return (slopes - slopes.mean(1, keepdim=True)).square().mean(1).amax(-1).sqrt()
