"""Runs with noise that are laid out along lanes, over which a mean is an expectation."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ..noise import Lanes, expected_squares
from .base import Array, Law, Left, Values

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace

STEPPED = 160
"""Longer runs with noise are not stepped through in exact numbers."""


class ByLanes(Law):
    """Exactly, a run is affine in its signs, and where it bends it takes all paths: its one check serves every such law."""

    @abstractmethod
    def lanes(self, space: InstanceSpace) -> Lanes: ...

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        lanes = self.lanes(space)
        squares, astray = expected_squares(space.noisy_run(parameters, values, count), space.clients, lanes)
        return Left(*space.averaged(squares[:: space.every]), astray)

    def answers(self, run: ExactRun) -> bool:
        return run.interval is None and run.problem.is_noisy and run.steps <= STEPPED
