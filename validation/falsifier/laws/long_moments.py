"""Long runs whose noise multiplies the state: second moments by powers of what a step does to them, while no path leaves a reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...exact.closed_moments import moment_average
from ...exact.interval import Bends, Ends
from ...exact.run import CannotReplay
from ...exact.statistic import Statistic
from ...exact.tensor import InexactError
from .lanes import is_stepped
from .powers import Powers

if TYPE_CHECKING:
    from ..exact_run import ExactRun
    from ..search_space import SearchSpace
    from ..search_spaces import Asked


class LongMoments(Powers):
    name = "long moments"
    words = ", noise in closed moments"

    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        """None so far."""
        return iter(())

    def answers(self, run: ExactRun) -> bool:
        has_jacobian_noise = any(run.problem.parameters.get("jacobian_noise", ()))
        return run.interval is None and has_jacobian_noise and not is_stepped(run)

    def left_side(self, run: ExactRun) -> Ends:
        """A run that no noise multiplies, such as one of straight outer functions, is one of powers of a round."""
        if run.members == 1 and run.statistic == Statistic(after=run.statistic.after):
            try:
                return moment_average(run.method, run.problem, run.steps, run.period, after=run.statistic.after)
            except (Bends, InexactError, CannotReplay):
                pass
        return super().left_side(run)
