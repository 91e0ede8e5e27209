"""Conditional problems whose outcomes are positions that are equally likely."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from ..kinds import AbstractConditional, Draws, InnerSample, OuterSample
from .patterns import equal_weights


class AbstractUniformOuter(AbstractConditional):
    """xi is uniform on 0, ..., `outer_outcomes` - 1 at every client."""

    @property
    @abstractmethod
    def outer_outcomes(self) -> int:
        """How many outcomes xi has."""

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> OuterSample:
        return OuterSample(draws.integers(purpose, self.outer_outcomes, batch))

    def outer_atoms(self) -> tuple[OuterSample, Tensor]:
        index, weights = _every(self.outer_outcomes, self.initial_point.device)
        return OuterSample(index.expand(1, self.clients, -1)), weights


class AbstractUniform(AbstractUniformOuter):
    """So is eta, given any xi."""

    @property
    @abstractmethod
    def inner_outcomes(self) -> int:
        """How many outcomes eta has."""

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        return InnerSample(draws.integers(purpose, self.inner_outcomes, outer.outcome.shape[-1], m))

    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        index, weights = _every(self.inner_outcomes, self.initial_point.device)
        return InnerSample(index.expand(*outer.outcome.shape, -1)), weights


def _every(count: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Every position, and the probabilities."""
    return torch.arange(count, device=device), equal_weights(count, device)
