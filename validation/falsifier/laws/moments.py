"""Second moments of runs that stay affine in their signs: one lane for each sign, once up and once down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ...exact.statistic import SQUARES_OF_AFFINE
from ..noise import MOST_SIGNS, Lanes, moments
from ..spaces import SILENT_BOWL
from .lanes import ByLanes

if TYPE_CHECKING:
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked


class Moments(ByLanes):
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
