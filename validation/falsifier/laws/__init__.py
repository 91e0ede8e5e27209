"""The laws of noise; a new one is a file and an entry below.

The order is that in which the search spaces of a statement are listed. An exact run is of one law, whichever law found its
instance: nothing of a search is trusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import FOREVER, Law, Left
from .infinite_clients import InfinitelyMany
from .lanes import Moments, Paths
from .long_moments import LongMoments
from .none import NoNoise
from .partial_participation import PartialParticipation
from .powers import Powers

if TYPE_CHECKING:
    from ..exact_run import ExactRun

NONE, MOMENTS, LONG_MOMENTS, POWERS, PATHS, PARTIAL, INFINITE = LAWS = (
    NoNoise(),
    Moments(),
    LongMoments(),
    Powers(),
    Paths(),
    PartialParticipation(),
    InfinitelyMany(),
)


def law_of(run: ExactRun) -> Law:
    """The law that says what the left side of an exact run is."""
    return next(law for law in LAWS if law.answers(run))


__all__ = ["FOREVER", "INFINITE", "LAWS", "MOMENTS", "NONE", "PARTIAL", "PATHS", "POWERS", "Law", "Left", "law_of"]
