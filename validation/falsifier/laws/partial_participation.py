"""One of two clients runs each round of an endless run: second moments in closed form where every such round is affine."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch

from ....algorithms import Start
from ....bounds.language.metrics import GRADIENT_SQ, MEAN
from ...exact.draws import Chosen, choices, masks
from ...exact.interval import Ends
from ...exact.rounds import RandomRound, kept_interval, random_round
from ...exact.run import CannotReplay
from ...exact.statistic import Statistic
from ...lemmas.trace import walk
from .base import EACH_RUN_BEGUN, FOREVER, Array, Law, Left, Values

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked

_ROUNDS_TRIED = 5
"""Rounds with a part of the clients that say what an endless run of them does."""
_AFFINE = 1e-7
"""A round that bends by less, in units of the interval that it keeps, may be affine."""
_PERIODS, _HALF = (1, 16), Fraction(1, 2)


class PartialParticipation(Law):
    name = "partial participation"
    solves_rest = False
    repeats_rounds = True
    takes = frozenset((GRADIENT_SQ,))
    over = frozenset((MEAN,))

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        target, formula = asked.target, asked.formula
        share = target.named("participation")
        if share is None or formula.fixed.get(share, _HALF) != _HALF or not asked.is_endless:
            return
        if asked.whole("clients") not in ((), (2,)):
            return
        periods = asked.whole("communication_period") or _PERIODS
        for period, settings, space in product(periods, asked.settings, asked.spaces.partial):
            made = asked.endless(space, 2, period, settings, self)
            if made.keeps_models_only and not made.horizon_decides:
                yield made

    def share(self, clients: int) -> float:
        return 1 / clients

    def runs(self, space: InstanceSpace) -> int:
        return len(choices(space.clients, round(space.share * space.clients)))

    def length(self, space: InstanceSpace) -> str:
        return ", one of them in each round, endless"

    def steps(self, space: InstanceSpace) -> int:
        return _ROUNDS_TRIED * (space.period + EACH_RUN_BEGUN)

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        """Right where a round is affine, and contracts, on an interval that it keeps."""
        family = space.family(parameters, count)
        start = family.start.expand(count, 1)[:, 0].numpy()
        with np.errstate(all="ignore"):
            ends, _ = self.rounds(space, parameters, values, start, count)
            near = np.abs(ends - start).max(0)
            a = (self.rounds(space, parameters, values, start + near, count)[0] - ends) / near
            rests = start + (ends - start) / (1 - a)
            low, high = rests.min(0), rests.max(0)
            centre, reach = (low + high) / 2, (high - low) / 2 * (1 + 1e-3) + 1e-300
            (b, d), (top, e), (bottom, f) = (
                self.rounds(space, parameters, values, centre + side * reach, count) for side in (0, 1, -1)
            )
            found = RandomRound((top - b) / reach, (b - centre) / reach, d, e - d).mean_square()[0]
            bent = np.abs(top + bottom - 2 * b).max(0) / reach + (
                np.abs(e + f - 2 * d).max((0, 1)) / (np.abs(e - d) + np.abs(d)).max((0, 1))
            )
        contracts = ((a >= 0) & (a < 1)).all(0) & np.isfinite(found) & (reach > 1e-250)
        off = np.where(contracts & (bent < _AFFINE), 0.0, np.clip(np.nan_to_num(bent, nan=1.0), 1e-3, 1.0))
        return Left([np.where(off > 0, 0.0, found)], [FOREVER], off)

    @staticmethod
    def rounds(
        space: InstanceSpace, parameters: dict[str, Array], values: Values, start: Array, count: int
    ) -> tuple[Array, Array]:
        """Where a round from a start ends, `(choices, count)`, and the gradients on its way, `(choices, steps, count)`."""
        chosen = masks(space.clients, round(space.share * space.clients), count)
        lanes = len(chosen) // count
        method, tall, _ = space.noisy_run(parameters, values, count).build(lanes)
        begin = Start(x=torch.from_numpy(np.repeat(start, lanes))[:, None])
        passed = []
        for step in walk(method, tall, space.period, 1, start=begin, draws=Chosen(chosen)):  # type: ignore[arg-type]
            if space.statistic.counts(step.t, space.period):
                passed.append(tall.gradient(step.before.average)[:, 0].numpy())
        ends = step.after.average[:, 0].numpy().reshape(count, lanes).T
        return ends, np.stack(passed).reshape(len(passed), count, lanes).transpose(2, 0, 1)

    def answers(self, run: ExactRun) -> bool:
        return run.interval is not None and not run.problem.is_noisy and run.taking_part < run.problem.clients

    def left_side(self, run: ExactRun) -> Ends:
        assert run.interval is not None
        if run.statistic != Statistic(every=run.statistic.every):
            raise CannotReplay("where a part of the clients takes part only the mean of squared gradients is evaluated")
        found = random_round(run.method, run.problem, run.period, run.interval, run.taking_part, run.statistic.every)
        square, off = found.mean_square()
        slack = off / (run.steps // run.period)
        return square - slack, square + slack

    def interval(self, run: ExactRun) -> Ends:
        return kept_interval(run.method, run.problem, run.period, run.taking_part)
