"""The search spaces of a statement: what its runs are, of which lengths, under which law of noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import sympy as sp

from ...algorithms.declared import declared
from ...bounds.language.metrics import TAKE_WEIGHTS
from ...bounds.language.reading import InputError
from ...ranges import AT_MOST
from ..runs.method_of import UnbuiltError
from .declared import Target
from .formula import Formula
from .instance_space import least_counts, whole_choices
from .laws import LAWS, NONE, PARTIAL, Law
from .search_space import SearchSpace
from .spaces import CURVED, SPACES, KindSpaces, Space

PERIODS, HORIZONS = (2, 1, 4), (16, 64, 256)
_SCHEDULED_HORIZONS, LEAST_ADMITTED = (16, 64, 256, 1024, 4096), 4
"""Horizons that are tried where a schedule depends on the horizon; how many points must be admissible at one of them."""
ENDLESS_HORIZON = 16
TERMS = (1, 4)
"""Of a series; where all clients have one curvature in y, one term leaves any part of the whole series out."""
ROUNDS = (2, 4)
"""Numbers of rounds of the runs along which a lemma is compared."""
_LONGEST, MOST_HORIZONS = 1024, 4


def spaces_of(target: Target) -> KindSpaces:
    """The spaces of instances that a statement may be about.

    Raises:
        InputError: there are none.
    """
    found, more = (CURVED, " that grows as a square does") if target.needs_curvature else (SPACES, "")
    if target.kind not in found:
        raise InputError(f"no family of the kind {target.kind!r}{more}; wanted one of {' '.join(found)}")
    return found[target.kind]


@dataclass(frozen=True)
class Asked:
    """A statement as the laws ask for it.

    Args:
        hidden: value of a constant that the paper hides in O(.).
    """

    target: Target
    formula: Formula
    hidden: float = 1.0

    @cached_property
    def spaces(self) -> KindSpaces:
        """Of the statement's kind of problem."""
        return spaces_of(self.target)

    @cached_property
    def settings(self) -> list[dict[str, int]]:
        """The fine-tuning steps, where there are any; a statement without a symbol for them is about any number of them."""
        tuning = self.whole("fine_tuning_steps")
        return [{"nu": nu} for nu in tuning or (2, 1)] if self.target.kind == "meta" else [{}]

    @cached_property
    def counts(self) -> list[dict[str, int]]:
        """The terms of a series, where there is one."""
        name = "series_terms"
        return [{name: number} for number in self.whole(name) or TERMS] if self.target.named(name) else [{}]

    def whole(self, quantity: str) -> tuple[int, ...]:
        """The whole number that the statement sets a quantity to; none where it is free."""
        fixed = self.formula.fixed.get(self.target.named(quantity) or "")
        return () if fixed is None else (int(fixed),)

    @property
    def has_batches(self) -> bool:
        """Whether the statement sets a batch to more than one sample, which no run with noise has here."""
        symbols = self.target.symbols
        sizes = ("communication_period", "clients", "fine_tuning_steps", "series_terms")
        known = {self.target.named(quantity) for quantity in sizes}
        counts = [n for n, b in symbols.items() if b.quantity.domain == "positive integer"]
        return any(self.formula.fixed.get(n, 1) != 1 for n in counts if n not in known and n != self.target.length)

    @property
    def is_length_free(self) -> bool:
        return self.target.length is not None and self.target.length not in self.formula.fixed

    def has_long_runs(self, silent: Sequence[SearchSpace]) -> bool:
        """Whether runs with noise that are too long to be stepped through are ones of the statement."""
        is_free = self.is_length_free and not self.has_batches and self.target.link is None
        return is_free and not any(i.schedules for i in silent)

    @property
    def is_endless(self) -> bool:
        """Whether an endless run is one of the statement's."""
        is_lasting = self.target.average == "before" and not self.formula.is_exponential
        is_lasting = is_lasting and self.target.theorem.metric.over not in TAKE_WEIGHTS
        return self.target.link is None and is_lasting and self.is_length_free

    @property
    def periods(self) -> tuple[int, ...]:
        """Steps of a round."""
        if isinstance(self.target.period, int):
            return (self.target.period,)
        if self.target.named("communication_period") is None:
            return (1,)
        return self.whole("communication_period") or PERIODS

    def endless(
        self, space: Space, clients: int, period: int, settings: Mapping[str, int], law: Law = NONE
    ) -> SearchSpace:
        """An endless run."""
        target, formula = self.target, self.formula
        return SearchSpace(target, formula, space, clients, period, ENDLESS_HORIZON, settings, True, self.hidden, law)

    @staticmethod
    def shortest(silent: Sequence[SearchSpace]) -> list[SearchSpace]:
        """Of every number of clients and period the first run that ends."""
        return list({(i.clients, i.period): i for i in reversed(silent) if not i.stays}.values())

    # --- runs without noise ---

    def silent(self) -> list[SearchSpace]:
        """The search spaces without noise, those that most often succeed first."""
        made: list[SearchSpace] = []
        numbers = (2, 1) if self.target.link is None else (2, 1, 3)
        for clients in [n for n in numbers if all(total % n == 0 for total in self.whole("clients"))]:
            for (period, horizon, stays), settings, counts, space in product(
                self.lengths(clients), self.settings, self.counts, self.spaces.silent
            ):
                if clients in space.clients:
                    plain = SearchSpace(
                        self.target, self.formula, space, clients, period, horizon, settings, stays, self.hidden
                    )
                    search_space = replace(plain, counts=counts)
                    made += _admitted(search_space) if search_space.horizon_decides else [search_space]
        made = list({(i.name, i.stays, *i.settings.items()): i for i in made}.values())
        return [
            i for i in made if not i.stays or (i.space.shifted is not None and i.keeps_models_only and i.repeats_rounds)
        ]

    def lengths(self, clients: int) -> Iterator[tuple[int, int, bool]]:
        """(period, horizon, whether the start stays), as the statement leaves them free."""
        length = self.target.length
        if self.target.link is not None:
            yield from self._along_a_run()
        elif length is None:
            yield 1, 1, False
        elif fixed := whole_choices(self.target, self.formula):
            yield from self._scheduled(fixed, length, clients)
        else:
            if self.is_endless:
                yield from ((p, ENDLESS_HORIZON, True) for p in self.periods if p > 1)
            chosen = {p: self._fixed_length() or self._horizons(p) for p in self.periods}
            for horizon in dict.fromkeys(h for p in self.periods for h in chosen[p]):
                yield from ((p, horizon, False) for p in self.periods if horizon in chosen[p])

    def _horizons(self, period: int) -> tuple[int, ...]:
        """Lengths of a run, in what its symbol counts, of at least a round and of a few hundred steps where rounds are short."""
        if self.target.symbols[self.target.length or ""].quantity.name == "rounds":
            return tuple(h for h in HORIZONS if h * period <= HORIZONS[-1] * PERIODS[-1]) or (4, 1)
        return tuple(h for h in HORIZONS if h >= period) or (period, 4 * period)

    def _fixed_length(self) -> tuple[int, ...]:
        length = self.target.length
        return () if length is None else self.whole(self.target.symbols[length].quantity.name)

    def _along_a_run(self) -> Iterator[tuple[int, int, bool]]:
        """(period, steps or rounds) of the runs along which a lemma is compared: some rounds of one to four steps."""
        length = self.target.length
        counts_rounds = length is not None and self.target.symbols[length].quantity.name == "rounds"
        for rounds, period in product(ROUNDS, self.periods):
            yield period, rounds if counts_rounds else rounds * period, False

    def _scheduled(self, fixed: list[str], length: str, clients: int) -> Iterator[tuple[int, int, bool]]:
        """Horizons at which every whole number that the statement prescribes is one, all free whole numbers being least."""
        period, found = self.target.named("communication_period"), 0
        for horizon in self._fixed_length() or range(1, _LONGEST + 1):
            known = {length: float(horizon), **least_counts(self.target, self.formula, clients)}
            completed = self.formula.complete(known)
            numbers = [float(completed.get(name, np.nan)) for name in fixed]
            is_whole = all(n >= 1 and abs(n - round(n)) < 1e-9 for n in numbers)
            if is_whole and found < MOST_HORIZONS and horizon > 1:
                found += 1
                local = round(float(completed[period])) if period in fixed and period is not None else 2
                yield local, horizon, False


def search_spaces(target: Target, formula: Formula, hidden: float = 1.0) -> list[SearchSpace]:
    """The search spaces of a statement, those without noise first; only some clients take part where it says so.

    Raises:
        UnbuiltError: the theorem's method wants a fixed number of clients, more than one.
    """
    _refuse_fixed_participants(target)
    asked = Asked(target, formula, hidden)
    silent, share = asked.silent(), target.named("participation")
    everybody = share is None or formula.fixed.get(share, 1) == 1
    laws = [law for law in (LAWS if everybody else (PARTIAL,)) if _applies(law, target, silent)]
    return [search_space for law in laws for search_space in law.search_spaces(asked, silent)]


def _refuse_fixed_participants(target: Target) -> None:
    call = target.theorem.method
    if call is None or call.name not in declared():
        return
    for name, quantity in declared()[call.name].quantities.items():
        value, limit = call.values.get(name), AT_MOST.get(quantity)
        if limit is not None and limit.over == "clients" and isinstance(value, sp.Integer) and value > 1:
            raise UnbuiltError(
                f"{call.name} with {name} = {value} wants as many clients, and the search has other numbers of them"
            )


def _applies(law: Law, target: Target, silent: Sequence[SearchSpace]) -> bool:
    """Whether a law takes what the statement is about, on runs that the statement is about."""
    metric, is_noisy = target.theorem.metric, law.has_noise and "deterministic" not in target.assumed
    takes = metric.of in law.takes and metric.over in law.over and (law.follows_paths or not metric.failure)
    repeats = not law.repeats_rounds or all(space.repeats_rounds for space in silent[:1])
    return takes and repeats and (is_noisy or not law.has_noise)


def _admitted(search_space: SearchSpace) -> Iterator[SearchSpace]:
    """The search space at the least horizon, of its own and those four times as long, at which its conditions hold at some points.

    Where a schedule fixes the step size, conditions on it are conditions on the length of the run.
    """
    if search_space.schedules or search_space.target.link is not None:
        yield search_space
        return
    for horizon in _SCHEDULED_HORIZONS:
        if horizon >= search_space.horizon:
            longer = replace(search_space, horizon=horizon)
            if longer.admits(longer.probe).sum() >= LEAST_ADMITTED:
                yield longer
                return
