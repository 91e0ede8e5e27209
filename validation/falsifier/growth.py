"""Following growth: points that came close are run with longer rounds, and where the ratio grows, with rounds longer still.

Most false orders show at no small size. From what a population scores at two lengths of a round it is read off how the ratio grows
with it, and the next length is the one at which it should pass 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from .search_space import INADMISSIBLE, SearchSpace

FACTOR, MOST_PERIOD = 4, 2**12
_LEAST_GROWTH, _BEYOND = 0.02, 0.1
"""Least growth of log10 of the ratio from one length to the next; how far beyond a violation the next length aims."""


def may_be_longer(space: SearchSpace) -> bool:
    """Whether the same runs can have longer rounds: where the statement leaves their length free, and no sign is laid out."""
    target = space.target
    period = target.named("communication_period")
    is_free = isinstance(target.period, str) and period is not None and period not in space.formula.determined
    return is_free and space.law.any_round and not space.schedules


def grows_from(space: SearchSpace) -> bool:
    """Whether longer rounds are tried after these: the longest of those that are searched first."""
    return may_be_longer(space) and space.period >= FACTOR


def with_rounds(space: SearchSpace, times: int) -> SearchSpace:
    """The same search space with rounds so many times as long, and as many of them."""
    length = space.target.length
    counts_steps = length is not None and space.target.symbols[length].quantity.name != "rounds"
    horizon = space.horizon * times if counts_steps and not space.stays else space.horizon
    return replace(space, period=space.period * times, horizon=horizon)


def next_times(times: int, before: float, after: float, longest: int) -> int | None:
    """How many times as long rounds should be next, from the best scores before and after they were made `times` as long.

    None where the score does not grow, or no longer round is tried.
    """
    if after <= INADMISSIBLE or after - before < _LEAST_GROWTH:
        return None
    per_factor = (after - before) / max(1, _factors(times))
    more = max(1, ceil((_BEYOND - after) / per_factor)) if per_factor > 0 else 1
    found = times * FACTOR ** min(more, 2)  # a fit to two lengths is no further trusted than that
    while found > longest and found > times:
        found //= FACTOR
    return found if times < found <= longest else None


def _factors(times: int) -> int:
    count = 0
    while times > 1:
        times, count = times // FACTOR, count + 1
    return count


def longest_times(space: SearchSpace, affordable: Callable[[SearchSpace], bool]) -> int:
    """The most times as long that rounds may be, and still be run."""
    times = 1
    while space.period * times * FACTOR <= MOST_PERIOD and affordable(with_rounds(space, times * FACTOR)):
        times *= FACTOR
    return times
