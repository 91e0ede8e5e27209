"""Infinitely many clients, each laid out along all paths of its signs within a round: what noise does where functions bend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ....algorithms import Start
from ....bounds.language.metrics import GRADIENT_SQ, MEAN
from ....synthetic.families.piecewise import FAMILIES
from ...exact.draws import EveryPath, laid_out
from ...exact.infinite_clients import MOST_BITS, InfiniteClients, bits_of
from ...exact.infinite_clients import laid_out as exactly_laid_out
from ...exact.interval import Ends
from ...lemmas.trace import walk
from ..noise import signs_of
from .base import FOREVER, Array, Law, Left, Values
from .lanes import Paths

if TYPE_CHECKING:
    from fractions import Fraction

    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked


class InfinitelyMany(Law):
    name = "infinite clients"
    words = ", infinitely many clients with noise"
    adds_noise = True
    infinite = True
    repeats_rounds = True
    takes = frozenset((GRADIENT_SQ,))
    over = frozenset((MEAN,))

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        """Endless runs of one or two kinds of clients, where only models are kept from round to round."""
        clients = asked.target.named("clients")
        if clients is None or clients in asked.formula.fixed or asked.has_batches or not asked.is_endless:
            return
        for number, period, settings, space in product((1, 2), asked.periods, asked.settings, asked.spaces.crowded):
            plain = asked.endless(space, number, period, settings)
            if plain.horizon_decides or not plain.keeps_models_only:
                return
            made = replace(plain, law=self)
            if 1 < made.copies <= 2**MOST_BITS:
                yield made

    def copies(self, space: InstanceSpace) -> int:
        """2 to the signs that one client asks for in a round."""
        run = replace(space, law=Paths()).example
        return 2 ** (signs_of(replace(run, steps=space.period), space.clients) // space.clients)

    def runs(self, space: InstanceSpace) -> int:
        return space.copies

    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        return Left([self.round(space, parameters, values, count)[1]], [FOREVER])

    def round_end(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Array:
        return self.round(space, parameters, values, count)[0]

    @staticmethod
    def round(space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> tuple[Array, Array]:
        """Where a round of infinitely many clients ends, and the mean of the squared gradients on its way, `(count,)`."""
        bits = space.copies.bit_length() - 1
        family = space.family(laid_out(parameters, FAMILIES[space.target.kind].SHAPES, bits), count)
        method = space.method(space.with_horizon(values, space.horizon), count)
        draws: Any = EveryPath(space.clients, bits, count)
        squares = []
        for step in walk(method, family, space.period, 1, start=Start(x=family.start), draws=draws):
            if space.statistic.counts(step.t, space.period):
                squares.append(family.gradient(step.before.average)[:, 0].square().numpy())
        return step.after.average[:, 0].numpy(), np.stack(squares).mean(0)

    def answers(self, run: ExactRun) -> bool:
        return run.interval is not None and run.problem.is_noisy

    @staticmethod
    def _exactly(run: ExactRun) -> InfiniteClients:
        """The clients of an endless run, and the method for them.

        Raises:
            CannotReplay: the noise of a round has too many paths, or the clients do not run their rounds by themselves.
        """
        bits = bits_of(run.method, run.problem, run.period)
        return InfiniteClients(run.of(exactly_laid_out(run.problem, bits)).method, run.problem, bits, run.period)

    def left_side(self, run: ExactRun) -> Ends:
        assert run.interval is not None
        total = run.whole[run.target.named("clients") or ""]
        return self._exactly(run).average(run.interval, total, run.steps // run.period, run.statistic)

    def interval(self, run: ExactRun) -> Ends:
        return self._exactly(run).interval()

    def refined_start(self, run: ExactRun, window: Fraction) -> Fraction:
        return self._exactly(run).refined_start(window)
