"""What samples are made of: three-valued noise with a given fourth moment, two fair signs, or positions of data that are equally likely;
and the problems that have such samples.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ..certificate import Certificate, Formula, Points, attained, pair_along
from ..kinds import AbstractConditional, AbstractSampled, Draws, InnerSample, OuterSample, Sample, batch_mean
from .composition import gap_to_zero
from .patterns import equal_weights, triple_signs, uneven_direction, walsh_directions


@dataclass(frozen=True)
class Kurtosis:
    """A symmetric law with E z = 0, E z^2 = 1 and E z^4 = k: z = +-sqrt(k) with probability 1/(2k) each, else 0.

    Raises:
        ValueError: unless k is a positive integer.
    """

    k: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not (isinstance(self.k, int) and self.k >= 1):
            raise ValueError(f"kurtosis must be a positive integer, got {self.k}")

    @cached_property
    def _values(self) -> Tensor:
        outer = math.sqrt(self.k)
        return torch.tensor([outer, -outer] + [0.0] * (2 * self.k - 2), dtype=torch.float64, device=self.device)

    def draw(self, draws: Draws, batch: int, purpose: str) -> Tensor:
        """Independent z, `(runs, clients, batch)`."""
        return self._values[draws.integers(purpose, 2 * self.k, batch)]

    def support(self) -> tuple[Tensor, Tensor]:
        """The values and their probabilities, `(2,)` for k = 1 and `(3,)` otherwise."""
        outside, inside = 0.5 / self.k, 1.0 - 1.0 / self.k
        weights = [outside, outside] + ([inside] if self.k > 1 else [])
        return self._values[: len(weights)], torch.tensor(weights, dtype=torch.float64, device=self.device)

    @property
    def largest(self) -> float:
        """The almost sure bound of |z|."""
        return math.sqrt(self.k)

    @property
    def size(self) -> Formula:
        """The same, as certificates write it."""
        return Formula(self.largest, "sqrt(kurtosis)")

    @property
    def fourth_moment(self) -> Formula:
        """E z^4."""
        return Formula(self.k, "kurtosis")

    def support_of_two(self) -> tuple[Tensor, Tensor, Tensor]:
        """The values of two independent z, and the probabilities of the pairs, `(9,)` each where k > 1."""
        values, weights = self.support()
        pairs = torch.cartesian_prod(values, values)
        return pairs[:, 0], pairs[:, 1], torch.cartesian_prod(weights, weights).prod(-1)


@dataclass(frozen=True)
class NoiseSample(Sample):
    """The standardised noise z of each sampled function, `(runs, clients, batch)`."""

    noise: Tensor


@dataclass(frozen=True)
class NoisePair(NoiseSample):
    """Two independent standardised noises z and z' of each sampled pair of functions, `(runs, clients, batch)`."""

    second: Tensor


def mean_noise(sample: Sample | None) -> Tensor | None:
    """The mean over the batch of z, `(runs, clients)`; None for the exact oracle."""
    return sample.noise.mean(-1) if isinstance(sample, NoiseSample) else None


@dataclass(frozen=True)
class AbstractNoisy(AbstractSampled):
    """A problem with noise of a law, and a start that no symmetry keeps.

    Args:
        clients, dim: N and the size of x. kurtosis: k of the law of the noise, an integer.
        Delta: how far a client's gradient is at most from that of the mean, in x.
        start: distance of the initial x from 0.
    """

    name: str = "noisy"
    clients: int = 8
    dim: int = 6
    kurtosis: int = 1
    Delta: float = 0.0
    start: float = 10.0
    device: str = "cpu"

    @cached_property
    def law(self) -> Kurtosis:
        """That of the noise of one sample."""
        return Kurtosis(self.kurtosis, self.device)

    @cached_property
    def initial_point(self) -> Tensor:
        return self.start * uneven_direction(self.dim, self.device)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Sample:
        return NoiseSample(self.law.draw(draws, batch, purpose))

    def atoms(self) -> tuple[Sample, Tensor]:
        values, weights = self.law.support()
        return NoiseSample(values.expand(1, self.clients, -1)), weights


class AbstractTriples(AbstractNoisy):
    """One whose clients differ from their mean by s_i along v_i, s = 1, -1/2, -1/2 in each three; its objective is least at 0."""

    @cached_property
    def directions(self) -> Tensor:
        """v_i, `(clients, dim)`."""
        return walsh_directions(torch.arange(self.clients) // 3, self.dim, self.device)

    @cached_property
    def signs(self) -> Tensor:
        """s_i, `(clients,)`."""
        return triple_signs(self.clients).to(self.device)

    def spread(self, difference: str) -> Formula:
        """The root mean square of s_i times the parameter of this name."""
        share = math.sqrt(float((triple_signs(self.clients) ** 2).mean()))
        return Formula(share * getattr(self, difference), f"sqrt(mean s_i^2) {difference}")

    def _check_triples(self, *differences: str) -> None:
        """Raise ValueError, naming them, for differences that so few clients cannot have, or another kurtosis than there is."""
        if any(getattr(self, name) > 0 for name in differences) and self.clients < 3:
            need = "needs" if len(differences) == 1 else "need"
            raise ValueError(f"{' or '.join(differences)} > 0 {need} at least 3 clients, got {self.clients}")
        _ = self.law  # checks the kurtosis

    @property
    def minimiser(self) -> Tensor:
        """Where F is least, `(dim,)`."""
        return torch.zeros(self.dim, dtype=torch.float64, device=self.device)


class AbstractNoisyPairs(AbstractNoisy):
    """One whose samples are two numbers of this law, which are drawn for two purposes."""

    PURPOSES: ClassVar[tuple[str, str]]

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> NoisePair:
        return NoisePair(*(self.law.draw(draws, batch, f"{purpose}{which}") for which in self.PURPOSES))

    def atoms(self) -> tuple[NoisePair, Tensor]:
        noise, second, weights = self.law.support_of_two()
        shape = (1, self.clients, len(weights))
        return NoisePair(noise.expand(shape), second.expand(shape)), weights


@dataclass(frozen=True)
class AbstractSecondVariable(AbstractNoisyPairs, AbstractTriples):
    """One with a second variable y of the size of x, which starts at 0.

    Args:
        a: curvature at 0 of what f_i has of x alone, in [f] / [x]^2; 0 leaves a convex F.
        sigma, sigma_y: noise of a stochastic gradient of f_i in x and in y. Delta_y: as Delta, in y. The rest as for `AbstractNoisy`.
    """

    clients: int = 6
    dim: int = 4
    a: float = 0.5
    sigma: float = 0.0
    sigma_y: float = 0.0
    Delta_y: float = 0.0
    start: float = 4.0

    @property
    def inner_dim(self) -> int:  # type: ignore[override]
        """The size of y."""
        return self.dim

    @cached_property
    def start_of_y(self) -> Tensor:
        """Zeros, `(dim,)`."""
        return torch.zeros(self.dim, dtype=torch.float64, device=self.device)

    def tilt(self, x: Tensor, y: Tensor) -> Tensor:
        """What a client's value has besides that of the mean function, `(runs, clients)`."""
        along = self.Delta * (x * self.directions).sum(-1) + self.Delta_y * (y * self.directions).sum(-1)
        return self.signs * along

    def pull(self, difference: float, noise: float, sample: Sample | None, which: str = "noise") -> Tensor:
        """What a client's gradient has besides that of the mean function, `(runs, clients, dim)`."""
        pull = difference * self.signs
        if isinstance(sample, NoisePair):
            pull = pull + noise * getattr(sample, which).mean(-1)
        return pull.unsqueeze(-1) * self.directions

    def everywhere(self, argument: str, **sizes: float | Formula) -> Iterator[Certificate]:
        """Constants that are attained at every point (x, y), by quantity."""
        for name, size in sizes.items():
            yield attained(name, size, argument, (0.0,) * (2 * self.dim))

    def pair_of_points(self, x: float, y: float, axis: int = 0) -> Points:
        """Two points (x, y) that are 0 but for one coordinate of x and of y, the one minus the other."""
        place = torch.zeros(self.dim, dtype=torch.float64)
        place[axis] = 1.0
        return pair_along(torch.cat([x * place, y * place]), 1.0)

    def whole_certificates(self, best: Tensor, closed: str) -> Iterator[Certificate]:
        """How far the start is from the least objective, and y from its best value there, `(1, dim)`, of which `closed` says why."""
        yield gap_to_zero(self)
        away = float(torch.linalg.vector_norm(best - self.start_of_y))
        yield attained("initial_dual_error", away, closed, (0.0,) * self.dim)


@dataclass(frozen=True)
class SignPair(Sample):
    """Signs +-1, `(runs, clients, batch)`: one for a sampled inner map, one for another sampled function of the client."""

    inner: Tensor
    other: Tensor


def mean_sign(sample: Sample | None, which: str = "inner") -> Tensor | None:
    """The mean of one of the signs over a batch, `(runs, clients)`; None for the exact oracle."""
    return batch_mean(getattr(sample, which)) if isinstance(sample, SignPair) else None


@dataclass(frozen=True)
class IndexSample(Sample):
    """Positions of data at each client, int64 `(runs, clients, batch)`: one minibatch for all that is sampled."""

    index: Tensor


@dataclass(frozen=True)
class PairSample(IndexSample):
    """Positions of two independent minibatches, `(runs, clients, batch)` each: the inner map reads the first."""

    second: Tensor


def index_of(sample: Sample | None) -> Tensor | None:
    """The positions of a sample, None for the exact oracle."""
    return sample.index if isinstance(sample, IndexSample) else None


def every_index(count: int, clients: int, device: str | torch.device) -> tuple[IndexSample, Tensor]:
    """Each of so many positions at every client, with equal probabilities."""
    return IndexSample(torch.arange(count, device=device).expand(1, clients, -1)), equal_weights(count, device)


def every_pair(first: int, second: int, clients: int, device: str | torch.device) -> tuple[PairSample, Tensor]:
    """Every pair of positions in two data sets of these sizes, with equal probabilities."""
    left = torch.arange(first, device=device).repeat_interleave(second).expand(1, clients, -1)
    right = torch.arange(second, device=device).repeat(first).expand(1, clients, -1)
    return PairSample(left, right), equal_weights(first * second, device)


class AbstractNumbered(AbstractConditional):
    """A conditional problem whose outcomes of xi, and of eta given each, are equally likely and have numbers."""

    @property
    @abstractmethod
    def outer_outcomes(self) -> int:
        """How many outcomes xi has at every client."""

    @property
    @abstractmethod
    def inner_outcomes(self) -> int:
        """How many outcomes eta has, given xi."""

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> OuterSample:
        return OuterSample(draws.integers(purpose, self.outer_outcomes, batch))

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        return InnerSample(draws.integers(purpose, self.inner_outcomes, outer.outcome.shape[-1], m))

    def outer_atoms(self) -> tuple[OuterSample, Tensor]:
        every, weights = every_index(self.outer_outcomes, self.clients, self.initial_point.device)
        return OuterSample(every.index), weights

    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        count, device = self.inner_outcomes, outer.outcome.device
        return InnerSample(torch.arange(count, device=device).expand(*outer.outcome.shape, -1)), equal_weights(
            count, device
        )
