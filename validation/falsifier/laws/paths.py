"""Every path of the signs of a short run: functions may bend where the noise leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...exact.run import MOST_SIGNS as MOST_PATH_SIGNS
from ..noise import Lanes, paths
from ..spaces import SILENT_BOWL
from .lanes import ByLanes

if TYPE_CHECKING:
    from ..instance_space import InstanceSpace
    from ..search_space import SearchSpace
    from ..search_spaces import Asked

SHORT = (8, 4, 2, 1)
"""Rounds of a run over all paths."""


class Paths(ByLanes):
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
