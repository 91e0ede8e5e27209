"""Long runs whose noise multiplies the state: second moments by powers of what a step does to them, while no path leaves a reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ....bounds.language.metrics import MEAN
from ...exact.closed_moments import moment_average
from ...exact.interval import Bends, Ends
from ...exact.run import CannotReplay
from ...exact.statistic import SQUARES_OF_AFFINE, Statistic
from ...exact.tensor import InexactError
from ..long_run import moving
from ..second_moments import STATE, begun, means, reaches, read, straightened
from .base import EACH_GENERATION, EACH_LANE_STEP, EACH_STEP, Array, Law, Left, Values
from .lanes import is_stepped
from .powers import Powers, rounds_compared

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked

_SCHEDULED_POWERS, _LONGEST_POWER = (20, 26, 30), 40
"""Powers of 4 in steps where a schedule has them; the power of 2 in rounds where every length is compared."""
_EACH_INSTANCE = 2e-4
"""Seconds that the powers of one instance take, about."""
_WITHIN = 1 - 1e-6


class LongMoments(Law):
    takes = SQUARES_OF_AFFINE
    over = frozenset((MEAN,))
    name = "long moments"
    words = ", noise that multiplies in closed moments"
    rational_counts = True
    any_round = True
    repeats_rounds = True

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        """Straight functions around the start, of several clients that drift apart in rounds of several steps."""
        if not asked.has_long_runs(silent):
            return
        for search_space, space in product(asked.shortest(silent), asked.spaces.lasting):
            if search_space.clients < 2 or search_space.period < 2 or not _keeps(search_space):
                continue
            made = replace(search_space, space=space, law=self)
            if not made.horizon_decides:
                yield replace(made, horizon=made.clients * 2**_LONGEST_POWER)
                continue
            for power in _SCHEDULED_POWERS:
                yield replace(made, horizon=made.clients * 4**power)

    def stepped(self, space: InstanceSpace) -> int:
        """One step."""
        return 1

    def effort(self, space: InstanceSpace, count: int) -> float:
        lanes = count * space.clients * 4**space.clients
        return EACH_GENERATION + EACH_STEP + lanes * EACH_LANE_STEP + count * _EACH_INSTANCE

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        rounds, period = rounds_compared(space), space.period
        straight = straightened(parameters)
        with np.errstate(all="ignore"):
            maps = read(space.noisy_run(straight, values, count), space.clients, period)
            model, estimate = reaches(maps, period)
            sides = np.nan_to_num(means(maps, period, rounds))
            ends = np.abs(parameters["extra_knots"]).min(axis=(1, 2))
            away = model / np.minimum(ends, parameters["noise_reach"])
            away = np.maximum(away, estimate / np.abs(parameters["knots"]).min(axis=(1, 2)))
            astray = np.where(away <= _WITHIN, 0.0, np.clip(np.log10(away) / 4 + 0.01, 1e-3, 1.0))
        scale = np.asarray(space.measure.scale(space.family(straight, count)))
        return Left(
            list(scale * sides),
            [float(space.horizon // rounds[-1] * number) for number in rounds],
            np.where(np.isnan(astray), 1.0, astray),
        )

    def answers(self, run: ExactRun) -> bool:
        has_jacobian_noise = any(run.problem.parameters.get("jacobian_noise", ()))
        return run.interval is None and has_jacobian_noise and not is_stepped(run)

    def left_side(self, run: ExactRun) -> Ends:
        """A run that no noise multiplies, such as one of outer functions that are lines, is one of powers of a round."""
        if run.members == 1 and run.statistic == Statistic(after=run.statistic.after):
            try:
                return moment_average(run.method, run.problem, run.steps, run.period, after=run.statistic.after)
            except (Bends, InexactError, CannotReplay):
                pass
        return Powers().left_side(run)


def _keeps(space: InstanceSpace) -> bool:
    """Whether the method keeps what the coordinates are of."""
    return tuple(name for name, _ in moving(begun(space.example, space.clients)[0])) == STATE
