"""What a law of noise is: how the left side is taken of a whole batch in doubles, and of one instance in exact numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....bounds.language.metrics import OVER
from ...exact.interval import Ends
from ...exact.run import CannotReplay, stepped
from ...exact.statistic import MEASURED

if TYPE_CHECKING:
    from fractions import Fraction

    from ..exact_run import ExactRun
    from ..instance_space import InstanceSpace
    from ..noise import Lanes
    from ..search_space import SearchSpace
    from ..search_spaces import Asked

Array = np.ndarray
Values = dict[str, Any]

FOREVER = 1e60
"""Horizon of a run that stays where it starts, and the clients of a group of which there are infinitely many."""
EACH_GENERATION, EACH_STEP, EACH_LANE_STEP = 6e-3, 9e-5, 1.1e-7
"""Seconds that a generation takes, that each step of its runs adds, and each step of one client of one of its runs: fitted to
the search spaces of eight statements on one core, of which 90% took between half and four times that."""
EACH_RUN_BEGUN = 10
"""Number of steps that take as long as the start of a run, for which an equation is solved."""
REST_BISECTIONS = 30


@dataclass(frozen=True)
class Left:
    """The left side of a batch for each of several lengths of the run.

    Args:
        sides: one array `(instances,)` for each length.
        lengths: values of the symbol for the length of a run.
        astray: how far an instance is from what the law can take, `(instances,)` up to 1; 0 where the sides are right.
    """

    sides: list[Array]
    lengths: list[float]
    astray: Array | float = 0.0


class Law(ABC):
    """A way to take expectations; this one is asked for everything that depends on it."""

    name: ClassVar[str]
    words: ClassVar[str] = ""
    """For people: how noise is taken, after a comma."""
    has_noise: ClassVar[bool] = True
    adds_noise: ClassVar[bool] = False
    """Instances of spaces without noise of their own get some."""
    rational_counts: ClassVar[bool] = False
    """Free whole numbers are powers of 4 where a schedule has roots of them."""
    solves_rest: ClassVar[bool] = True
    """An endless run begins where a round ends where it began, which is solved for."""
    has_groups: ClassVar[bool] = False
    """Where there is noise a client may stand for a group of equal ones with independent noise."""
    repeats_rounds: ClassVar[bool] = False
    """What is known of one round is known of all, so that no hyperparameter may depend on the step."""
    takes: ClassVar[frozenset[str]] = frozenset(MEASURED)
    """The measures that it can take."""
    over: ClassVar[frozenset[str]] = frozenset(OVER)
    """The iterates that it can speak of."""
    follows_paths: ClassVar[bool] = False
    """Every path is a run of its own, so that the law of a run is known and not its expectation alone."""
    any_round: ClassVar[bool] = False
    """Rounds of any length can be run: no more lanes are laid out for more steps than grow with them."""
    infinite: ClassVar[bool] = False
    """Every client stands for infinitely many."""

    # --- doubles ---

    @abstractmethod
    def search_spaces(self, asked: Asked, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
        """Those of a statement with this law; `silent` are the ones without noise."""

    @abstractmethod
    def left(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Left:
        """The left side of a batch."""

    def lanes(self, space: InstanceSpace) -> Lanes | None:
        """The lanes that an instance is laid out along where the law is one of lanes."""
        return None

    def runs(self, space: InstanceSpace) -> int:
        """Runs that an instance takes."""
        lanes = self.lanes(space)
        return 1 if lanes is None else len(lanes)

    def copies(self, space: InstanceSpace) -> int:
        """Clients that each client of an instance is laid out as."""
        return 1

    def share(self, clients: int) -> float:
        """The part of the clients that run a round."""
        return 1.0

    def length(self, space: InstanceSpace) -> str:
        """The length of a run in words, after a comma."""
        return ", a start that stays" if space.stays else f", horizon {space.horizon}"

    def described(self, space: InstanceSpace) -> str:
        """Length and noise in words, each after a comma."""
        return f"{self.length(space)}{self.words}"

    def stepped(self, space: InstanceSpace) -> int:
        """What its runs are stepped through, in the unit of the horizon."""
        return space.horizon

    def effort(self, space: InstanceSpace, count: int) -> float:
        """About the seconds of a generation of so many points, from its size and not by the clock."""
        return EACH_GENERATION + self.steps(space) * (
            EACH_STEP + count * self.runs(space) * space.clients * space.step_cost * EACH_LANE_STEP
        )

    def steps(self, space: InstanceSpace) -> int:
        """Steps that a generation runs one after the other."""
        return (REST_BISECTIONS + 3) * (space.period + EACH_RUN_BEGUN) if space.stays else space.walked

    def round_end(self, space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int) -> Array:
        """Where a round ends that begins at the start of each instance, `(count,)`."""
        return space.round_end(parameters, values, count)

    # --- exact numbers ---

    @abstractmethod
    def answers(self, run: ExactRun) -> bool:
        """Whether this law says what the left side of an exact run is; where several do, they say the same."""

    def left_side(self, run: ExactRun) -> Ends:
        """An enclosure of the left side.

        Raises:
            CannotReplay: no exact run is possible.
        """
        return stepped(run.method, run.problem, run.steps, run.statistic)

    def interval(self, run: ExactRun) -> Ends:
        """An interval around the start that every round keeps.

        Raises:
            CannotReplay: none was found.
        """
        raise CannotReplay("a run of this law ends")

    def refined_start(self, run: ExactRun, window: Fraction) -> Fraction:
        """A start within a window around the problem's that a round moves by next to nothing.

        Raises:
            CannotReplay: there is none.
        """
        raise CannotReplay("a run of this law ends")
