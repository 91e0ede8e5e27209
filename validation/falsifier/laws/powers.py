"""Long runs with noise, in second moments by powers of what a round does; without noise for many clients and samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ....bounds.language.metrics import DISTANCE_SQ, LAST, MEAN
from ...exact.at_rest import at_rest
from ...exact.infinite_clients import laid_out
from ...exact.interval import Bends, Ends
from ...exact.long_run import Counted, in_powers
from ...exact.statistic import SQUARES_OF_AFFINE
from ...exact.tensor import InexactError
from ..long_run import floor_of, long_runs, stretched
from ..spaces import SILENT_BOWL
from .base import EACH_GENERATION, EACH_LANE_STEP, EACH_RUN_BEGUN, EACH_STEP, Array, Law, Left, Values
from .lanes import is_stepped

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked

_MANY, LONGEST_POWER, _SCHEDULED_POWERS = 8, 31, (5, 8, 11, 14)
"""Clients; the power of 2 in rounds; powers of 4 in steps where a schedule has them."""
_EXPONENTIAL_POWER = 16
"""The power of 2 in rounds where the bound has a power in them, which takes long to evaluate exactly."""
_SILENT_POWERS = (14, 20)
"""The same for runs without noise, with large numbers of clients and large batches."""
_LEAST_ADMITTED = 4
_LONGER, _STATE_PARTS = 3, 3
"""A run in powers is compared at lengths that double so often from one to the next; numbers that a client keeps, about."""


class Powers(Law):
    takes = SQUARES_OF_AFFINE
    name = "powers"
    words = ", noise in closed powers"
    rational_counts = True
    has_groups = True
    any_round = True
    repeats_rounds = True
    over = frozenset((MEAN, LAST))

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        if not asked.has_long_runs(silent):
            return
        bowls = next((space for space in asked.spaces.silent if space.name == SILENT_BOWL), None)
        many = () if any(total % _MANY for total in asked.whole("clients")) else (_MANY,)
        for search_space in asked.shortest(silent):
            for clients in (search_space.clients, *many) if search_space.clients > 1 else (search_space.clients,):
                for space in (*asked.spaces.affine, *asked.spaces.bent):
                    yield from self._long(replace(search_space, space=space, law=self, clients=clients))
            if bowls and search_space.clients > 1 and search_space.period > 1 and not search_space.keeps_models_only:
                yield from self._long(replace(search_space, space=bowls, law=self), _SILENT_POWERS)

    @staticmethod
    def _long(search_space: SearchSpace, scheduled: tuple[int, ...] = _SCHEDULED_POWERS) -> Iterator[SearchSpace]:
        """A long run, of which every length is compared; where a schedule depends on it, the lengths that are admissible.

        These are clients times powers of 4: schedules have roots of clients over the length, which are rational then.
        """
        of_a_round = next(
            h for h in range(1, search_space.period + 1) if search_space.steps_of(h) >= search_space.period
        )
        if not search_space.horizon_decides:
            longest = _EXPONENTIAL_POWER if search_space.formula.is_exponential else LONGEST_POWER
            yield replace(search_space, horizon=of_a_round * (1 + 2**longest))
            return
        for power in scheduled:
            longer = replace(search_space, horizon=search_space.clients * 4**power)
            if longer.admits(longer.probe).sum() >= _LEAST_ADMITTED:
                yield longer

    def described(self, space: InstanceSpace) -> str:
        return f"{self.length(space)}{self.words if space.is_random else ', in powers of a round'}"

    def stepped(self, space: InstanceSpace) -> int:
        """The first few rounds."""
        return space.period * space.clients

    def effort(self, space: InstanceSpace, count: int) -> float:
        lanes = count * space.clients * (1 + space.clients * (_STATE_PARTS + space.draws * space.period))
        begun = len(rounds_compared(space)) * EACH_RUN_BEGUN * EACH_STEP
        return EACH_GENERATION + begun + 3 * space.period * (EACH_STEP + lanes * space.step_cost * EACH_LANE_STEP)

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        counted = Counted(space.period, space.statistic)
        rounds, linear = rounds_compared(space), stretched(parameters)
        runs = [space.noisy_run(p, values, count) for p in (parameters, linear)]
        share = self._share(space, values, count)
        sides, astray = long_runs(runs[0], runs[1], space.clients, counted, rounds, share)
        family, is_distance = space.family(linear, count), space.statistic.of == DISTANCE_SQ
        rounding, scale = (np.asarray(of(family)) for of in (space.measure.rounding, space.measure.scale))
        floor = np.broadcast_to(rounding if is_distance else floor_of(linear) * scale, (count,))
        many = np.maximum(0.1 * np.array(rounds), 1.0) if space.statistic.is_last else np.ones(len(rounds))
        return Left(
            list(np.maximum(sides - floor * many[:, None] ** 2, 0.0)),
            [float(space.horizon // rounds[-1] * number) for number in rounds],
            astray,
        )

    @staticmethod
    def _share(space: InstanceSpace, values: Values, count: int) -> Array:
        """The variance of the mean sign of the group that a client stands for, `(instances,)`."""
        clients = space.target.named("clients")
        known = space.with_horizon(values, float(space.horizon))
        return np.broadcast_to(space.clients / known[clients] if clients else 1.0, (count,))

    def answers(self, run: ExactRun) -> bool:
        return run.interval is None and not is_stepped(run)

    def left_side(self, run: ExactRun) -> Ends:
        members = run.members if run.problem.is_noisy else 1
        if members > 1:
            run = run.of(laid_out(run.problem, 1))
        try:
            return in_powers(run.method, run.problem, run.steps, run.period, run.statistic, members=members)
        except (Bends, InexactError):
            if members > 1:
                raise
            return at_rest(run.method, run.problem, run.period, run.statistic)


def rounds_compared(space: InstanceSpace) -> list[int]:
    """The rounds of the runs that are compared in powers of a round, the longest last."""
    longest = space.steps_of(space.horizon) // space.period
    doublings = (longest - 1).bit_length()
    fewer = [] if space.horizon_decides else [1 + 2**j for j in range(doublings % _LONGER, doublings, _LONGER)]
    return [*(number for number in fewer if number < longest), longest]
