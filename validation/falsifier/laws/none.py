"""No randomness: a run is one lane, for a while or for ever from a start that a round keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ....bounds.language.metrics import MINIMUM
from ...exact.interval import Ends
from ...exact.run import endless, invariant_interval, refined_start
from .base import FOREVER, Array, Law, Left, Values
from .lanes import is_stepped

if TYPE_CHECKING:
    from fractions import Fraction

    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked


class NoNoise(Law):
    name = "none"
    has_noise = False
    any_round = True
    follows_paths = True

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        yield from silent

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        family, every = space.family(parameters, count), space.statistic.every
        if space.stays:
            seen, _ = space.run(family, values, space.period, every)
            times = [t // every for t in range(space.period + 1) if space.statistic.counts(t, space.period)]
            joined = np.min if space.statistic.over == MINIMUM else np.mean
            return Left([joined(seen[times], axis=0)], [FOREVER])
        seen, _ = space.run(family, values, space.steps_of(space.horizon), every)
        return Left(*space.over_times(seen, values))

    def answers(self, run: ExactRun) -> bool:
        if run.problem.is_noisy:
            return False
        return is_stepped(run) if run.interval is None else run.taking_part == run.problem.clients

    def left_side(self, run: ExactRun) -> Ends:
        if run.interval is None:
            return super().left_side(run)
        return endless(run.method, run.problem, run.period, run.interval, run.statistic)

    def interval(self, run: ExactRun) -> Ends:
        return invariant_interval(run.method, run.problem, run.period)

    def refined_start(self, run: ExactRun, window: Fraction) -> Fraction:
        return refined_start(run.method, run.problem, run.period, window)
