"""Runs with noise that are laid out along lanes, over which a mean is an expectation: closed moments, and all paths of a short run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ...exact.at_rest import at_rest_for
from ...exact.interval import Ends
from ...exact.run import MOST_SIGNS as MOST_PATH_SIGNS
from ...exact.run import MOST_STEPS, CannotReplay
from ...exact.statistic import SQUARES_OF_AFFINE
from ..noise import MOST_SIGNS, Lanes, measured, moments, paths
from ..spaces import SILENT_BOWL
from .base import Array, Law, Left, Values

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked

SHORT = (8, 4, 2, 1)
"""Rounds of a run over all paths."""
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


class Moments(ByLanes):
    """Second moments of runs that stay affine in their signs: one lane for each sign, once up and once down."""

    takes = SQUARES_OF_AFFINE
    name = "moments"
    words = ", noise in closed moments"

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        """The bowls and straight outer functions, of as many steps as have few enough signs."""
        if asked.has_batches:
            return
        bowls = [i for i in silent if i.space.name == SILENT_BOWL and not i.stays]
        for runs, spaces in ((bowls, asked.spaces.affine), (asked.shortest(bowls), asked.spaces.level)):
            for search_space, space in product(runs, spaces):
                made = replace(search_space, space=space, law=self)
                if 0 < made.signs <= MOST_SIGNS:
                    yield made

    def lanes(self, space: InstanceSpace) -> Lanes:
        return moments(space.signs)


class Paths(ByLanes):
    """Every path of the signs of a short run: functions may bend where the noise leads."""

    name = "paths"
    words = ", all paths of noise"
    adds_noise = True
    follows_paths = True

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        """Every space but the bowls, in the longest run that has few enough signs; of a lemma those with noise in Jacobians.

        Along the run of a lemma all else is searched in closed moments.
        """
        bowls = any(space.name == SILENT_BOWL for space in asked.spaces.silent)
        if asked.has_batches or not bowls or any(i.schedules for i in silent):
            return
        others = [space for space in asked.spaces.silent if space.name != SILENT_BOWL]
        bent = [] if asked.target.link is not None else [*others, *asked.spaces.bent]
        for search_space in asked.shortest(silent):
            for space in [*bent, *asked.spaces.multiplied]:
                short = (replace(search_space, space=space, law=self, horizon=h * search_space.period) for h in SHORT)
                found = next((i for i in short if i.path_signs <= MOST_PATH_SIGNS), None)
                if found is not None and (not found.horizon_decides or found.admits(found.probe).any()):
                    yield found

    def lanes(self, space: InstanceSpace) -> Lanes:
        return paths(space.path_signs)
