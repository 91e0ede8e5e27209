"""Runs with noise that are laid out along lanes, over which a mean is an expectation."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ...exact.at_rest import at_rest_for
from ...exact.interval import Ends
from ...exact.run import MOST_STEPS, CannotReplay
from ..noise import Lanes, measured
from .base import Array, Law, Left, Values

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace

MOST_STEPS_OF_CLIENTS = 128
"""Of runs with noise that are stepped through in exact numbers: every step of a client brings signs, and every number of the run
is as long as there are signs and its fractions as there are steps, so that twice the steps take sixteen times as long."""


def is_stepped(run: ExactRun) -> bool:
    """Whether a run is one step after the other in exact numbers, and not by powers of a round."""
    if run.problem.is_noisy:
        return run.members == 1 and run.steps * run.problem.clients <= MOST_STEPS_OF_CLIENTS
    return run.steps <= MOST_STEPS


class ByLanes(Law):
    """Exactly, a run is affine in its signs, and where it bends it takes all paths: its one check serves every such law.

    A run that has too many paths may be one of which none ever leaves the start.
    """

    @abstractmethod
    def lanes(self, space: InstanceSpace) -> Lanes: ...

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        lanes = self.lanes(space)
        seen, astray = measured(space.noisy_run(parameters, values, count), space.clients, lanes)
        return Left(*space.over_lanes(seen[:: space.statistic.every], lanes, values), astray)

    def answers(self, run: ExactRun) -> bool:
        return run.interval is None and run.problem.is_noisy and is_stepped(run)

    def left_side(self, run: ExactRun) -> Ends:
        try:
            return super().left_side(run)
        except CannotReplay as error:
            try:
                return at_rest_for(run.method, run.problem, run.steps, run.statistic)
            except CannotReplay:
                raise error from None
