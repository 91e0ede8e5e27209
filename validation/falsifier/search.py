"""The search: search spaces in turn, differential evolution on each, every violation that it proposes checked exactly.

scipy's differential evolution is used with `vectorized=True`: one call evaluates a whole generation, which is one batch of
runs here. It starts from a Sobol sample and needs nothing that scipy does not already bring.

Statements that differ from each other in one term have the same instances and the same left side. They are searched together:
every batch is compared with all of them, each visit of a search space follows one of them, and starts from the points at which
that one came closest, whichever visit met them. Where it is asked how much of a term is necessary, a refuted change of it is
followed by one that leaves a little more of the term than the instance needed, on the spot.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution
from scipy.stats.qmc import Sobol

from ...bounds.language.change import Change
from ...bounds.language.reading import InputError
from ..exact.run import as_long_as
from ..exact.tensor import InexactError
from .confirm import Confirmed, NotConfirmed, coefficient_lower_bound, confirm_beside, sides
from .declared import Target, target_of
from .formula import Formula, Panel
from .growth import FACTOR, grows_from, longest_times, may_be_longer, next_times, with_rounds
from .rounding import Draft, confirmed, drafts, settle
from .search_space import INADMISSIBLE, REJECTED, Array, SearchSpace
from .search_spaces import search_spaces
from .units import units_against

_POPULATION = 256
_SAMPLED, _LEAST_SAMPLED, _SAMPLED_STEPS = 256, 32, 64
"""Points of the first sample of a search space: so many up to so many steps, fewer of longer runs."""
_LONGEST_PART, _SHORTEST_SEARCH = 1 / 4, 2.0
"""What one batch of runs may take of the seconds of a search, by `SearchSpace.effort`, and the seconds that count at least: a search space
whose smallest batch takes longer is left out, as nothing stops a batch."""
_CHECK_PART, _SHORTEST_CHECK = 1 / 3, 20.0
"""What the exact check of one candidate may take of the seconds of a search, and what it may always take; of processor time."""
_FIRST_SLICE, _SHARED_SLICE, _GROWTH = 3.0, 1.0, 1.5
"""What a search space gets in the first round, alone and for each of several claims, in seconds by `SearchSpace.effort`, and the factor
from round to round."""
_SHARED_RANKS = 3
"""How many search spaces more each of several claims is followed on from round to round."""
_MARGIN = 0.005
"""Candidates whose log10 ratio is at most this are not worth an exact check."""
_REMEMBERED, _RECALLED = 64, 48
"""Points of a search space that are kept for each statement, and how many of them a visit starts from."""
_GROWN, _FOLLOWED = 2, 12
"""Search spaces whose rounds are made longer for each claim and turn, and points of each claim that are followed."""
_NOWHERE = -1
"""The place of a search space that is not searched further."""
_CHECKED = 4
"""Most instances that are checked of those carried over to another claim."""
_CARRIED_PART = 1 / 8
"""Time for a batch of them, relative to that of a usual batch."""
_LONGER = (4, 16, 64, 256)
"""Factors by which the rounds of an instance that refuted a claim are made longer."""
_PROBED = 3
"""Search spaces on which it is tried whether anything can be evaluated exactly."""
_LEAST_RUNG, _RUNG, _LAST_RUNG = 0.01, 1.1, 0.99
"""Of what a refuted change of a term needs, how much the next one leaves of the term: at least the first, so many times what was
needed, and none where that is more than the last."""
_STALLED = 40
"""Generations without improvement after which a search space is left."""


@dataclass(frozen=True)
class Progress:
    """Where a search stands; `ratio` is the largest left side over bound in floating point so far."""

    seconds: float
    evaluations: int
    ratio: float
    search_space: str


@dataclass
class Found:
    """What a search has found so far.

    `ratio` is the largest ratio of which nothing says that it is an artefact of doubles: one above 1 counts as what the
    exact check makes of it. `left_out` are the families of which one batch takes too long. `never_exact` says why, where no
    exact run is possible of what came closest, whatever it is.
    """

    ratio: float = 0.0
    where: str = ""
    evaluations: int = 0
    violation: Confirmed | None = None
    draft: Draft | None = None
    refused: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    never_exact: str = ""

    def saw(self, ratio: float, where: str) -> None:
        """Keep a ratio if it is the largest."""
        if ratio > self.ratio:
            self.ratio, self.where = ratio, where


_Key = tuple[int, bool]
"""A search space, and whether its scores are guided to where a changed term matters."""


@dataclass(eq=False)
class Claim:
    """A statement that is attacked: the searched one, or that with a change of one term; and what was found against it.

    Args:
        target: of the changed statement.
        change: None for the searched statement itself.
        refuted_on: the search space, the point of it that refuted it, and others of it that came close, `(points, size)`.
        climbs: whether a refutation is followed by a change that leaves more of the term.
    """

    target: Target
    change: Change | None = None
    found: Found = field(default_factory=Found)
    best: dict[_Key, float] = field(default_factory=dict)
    points: dict[_Key, tuple[Array, Array]] = field(default_factory=dict)
    refuted_on: tuple[SearchSpace, Array] | None = None
    climbs: bool = False

    @property
    def is_open(self) -> bool:
        return self.found.violation is None

    @property
    def part(self) -> str:
        """The term that is changed; empty where none is."""
        return "" if self.change is None else self.change.part

    def remember(self, key: _Key, points: Array, scores: Array) -> None:
        """Keep the best points of a search space, the best first."""
        if key in self.points:
            known, before = self.points[key]
            points, scores = np.concatenate([known, points]), np.concatenate([before, scores])
        order = np.argsort(-scores, kind="stable")[:_REMEMBERED]
        self.points[key] = points[order], scores[order]
        self.best[key] = float(self.points[key][1][0])

    def above(self) -> Claim | None:
        """The next one of a refuted change: more is left of the term than the instance needs; None where nearly all of it is needed."""
        assert self.change is not None and self.found.violation is not None
        left = max(_RUNG * coefficient_lower_bound(self.target, self.found.violation), _LEAST_RUNG)
        if left > _LAST_RUNG:
            return None
        change = Change(self.change.part, "divided", 1 / Fraction(left).limit_denominator(1000))
        target = target_of(self.target.declared, self.target.label, change, self.target.more, self.target.where)
        found = Found(families=self.found.families, left_out=self.found.left_out)
        unseen = {key: (points, np.full(len(points), INADMISSIBLE)) for key, (points, _) in self.points.items()}
        return Claim(target, change, found, dict(self.best), unseen, climbs=True)


def search(target: Target, formula: Formula, **asked: Any) -> Found:
    """Search until a violation is confirmed or the time is up; an interrupt keeps what was found.

    Args:
        asked: seconds, seed, hidden, progress and clock, as for `search_together`.
    """
    claim = Claim(target)
    run = search_together(target, formula, [claim], **asked)
    if claim.is_open:
        claim.found.never_exact = run.never_exact(claim)
    return claim.found


def search_together(
    target: Target,
    formula: Formula,
    claims: list[Claim],
    *,
    seconds: float,
    seed: int = 0,
    hidden: float = 1.0,
    progress: Callable[[Progress], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Search:
    """One search for several claims until all are refuted or the time is up; each claim holds what was found against it.

    Args:
        target: of the statement that the claims are changes of; its instances are searched.
        claims: those that climb are followed by others, which are added to the list.
        seconds: by the clock; where a batch of runs takes long, batches are smaller, and families with too long a one left out.
        seed: of the search; the same seed visits the same points, as many as the seconds allow.
        hidden: value of a constant that the paper hides in O(.).
        progress: called after every generation.
        clock: of wall time; a benchmark on a busy machine takes that of the processor.
    """
    run = Search(search_spaces(target, formula, hidden), formula, claims, seed, seconds, progress, clock)
    try:
        run.sample()
        run.evolve()
    except KeyboardInterrupt:
        for claim in claims:
            claim.found.refused.append("interrupted by the user")
    return run


def followed(claims: Sequence[Claim]) -> list[Claim]:
    """Of the open claims about one term the first that leaves a part of it, and the first for each symbol of which it loses a power.

    Where a term cannot be seen to be missing, no less of it can: as long as that is open, nothing else of the term is followed.
    """
    first: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        if claim.is_open:
            first.setdefault(("", "") if claim.change is None else (claim.change.part, claim.change.symbol), claim)
    missing = {c.change.part for c in first.values() if c.change is not None and c.change.way == "dropped"}
    return [c for c in first.values() if c.change is None or c.change.way == "dropped" or c.change.part not in missing]


def carried_over(claim: Claim, other: Claim, space: SearchSpace) -> Iterator[SearchSpace]:
    """Where the instance that refuted a claim about a term may refute another claim about it: where next to nothing is left of the term.

    A claim that loses a power of what has a unit is put in units in which that is large; one that loses the period, in longer rounds.
    """
    mine, change = claim.change, other.change
    if mine is None or change is None or mine.part != change.part or not change.symbol:
        return
    if change.symbol == other.target.period:
        longer = _LONGER[:1] if space.is_random else _LONGER  # every step of a round with noise brings signs
        is_lemma = space.target.link is not None  # the exact run of a lemma keeps all its digits
        for times in longer if may_be_longer(space) and not is_lemma else ():
            yield with_rounds(space, times)
    elif change.way == "power":
        dimension = other.target.symbols[change.symbol].quantity.dimension
        for units, least in units_against(other.target.declared, dimension):
            yield replace(space, units=units, least={change.symbol: least} if least else {})


def is_guided(claim: Claim, turn: int) -> bool:
    """Whether a turn is led by the share of the bound that a change takes away: two of three are."""
    return claim.change is not None and turn % 3 != 2


def visiting_order(search_spaces: Sequence[SearchSpace], claim: Claim, guided: bool) -> list[int]:
    """Endless and finite runs by turns, each kind by its best score; search spaces where nothing is valid are left out."""
    best = {i: claim.best.get((i, guided), -np.inf) for i in range(len(search_spaces))}
    alive = [i for i, score in best.items() if score > REJECTED or score == -np.inf]
    ranked = sorted(alive, key=lambda i: -best[i])
    endless = [i for i in ranked if search_spaces[i].stays]
    finite = [i for i in ranked if not search_spaces[i].stays]
    return [i for pair in zip_longest(endless, finite) for i in pair if i is not None]


class Search:
    """All search spaces and claims with one clock."""

    def __init__(
        self,
        listed: list[SearchSpace],
        formula: Formula,
        claims: list[Claim],
        seed: int,
        seconds: float,
        progress: Callable[[Progress], None] | None,
        clock: Callable[[], float],
    ) -> None:
        self.longest = _LONGEST_PART * max(seconds, _SHORTEST_SEARCH)
        self.longest_check = max(_CHECK_PART * seconds, _SHORTEST_CHECK)
        self.search_spaces = [
            search_space for search_space in listed if search_space.effort(_LEAST_SAMPLED) <= self.longest
        ]
        self.seed, self.progress, self.clock = seed, progress, clock
        self.formula, self.every_claim = formula, claims
        self._follow(list(claims))
        self.began = clock()
        self.until = self.began + seconds
        self.evaluations, self.grown, self.carried, self.is_late = 0, set[int](), set[Claim](), False
        for claim in claims:
            claim.found.families = [search_space.name for search_space in self.search_spaces]
            claim.found.left_out = [
                search_space.name for search_space in listed if search_space not in self.search_spaces
            ]

    def _follow(self, claims: list[Claim]) -> None:
        """Every batch is compared with these from now on."""
        self.claims, self.panel = claims, Panel(self.formula, tuple(claim.change for claim in claims))

    @property
    def is_over(self) -> bool:
        return not any(claim.is_open for claim in self.claims) or self.clock() > self.until

    def has_time_to_check(self) -> bool:
        """Whether an exact check is begun: in time, and once after it, so that what the last batch found is not lost.

        A batch may propose a violation of every claim.
        """
        is_late = self.clock() > self.until
        may, self.is_late = not (is_late and self.is_late), is_late
        return may

    def sample(self) -> None:
        """A Sobol sample on every search space, those with short runs first: most false statements fail on one of these.

        Long runs get fewer points, so that the sample takes seconds.
        """
        for index in sorted(
            range(len(self.search_spaces)),
            key=lambda i: (self.search_spaces[i].clients == 3, self.search_spaces[i].stepped),
        ):
            if self.is_over:
                return
            search_space = self.search_spaces[index]
            count = max(_LEAST_SAMPLED, min(_SAMPLED, _SAMPLED * _SAMPLED_STEPS // next_power(search_space.stepped)))
            count = self._within(search_space, count)
            visit = Visit(self, index, self.claims[0])
            visit.objective(Sobol(search_space.size, rng=np.random.default_rng([self.seed, index])).random(count).T)
            visit.after_generation()
            self._carry_over()
            self._climb()

    def never_exact(self, claim: Claim) -> str:
        """Why the exact runs of a claim's best points, on the search spaces whose runs are shortest, need numbers that are irrational.

        Empty where one of them can be evaluated, or cannot for another reason, which need not hold of other points.
        """
        known = [i for i, guided in claim.points if not guided and claim.best[i, guided] > INADMISSIBLE]
        reasons = []
        for index in sorted(known, key=lambda i: self.search_spaces[i].stepped)[:_PROBED]:
            space = self.search_spaces[index]
            candidate = space.candidate(claim.points[index, False][0][0])
            made = next(drafts(claim.target, space.formula, candidate, space.settings, space.least))
            try:
                sides(claim.target, settle(claim.target, space.formula, made))
                return ""
            except (NotConfirmed, InputError) as error:
                if not isinstance(error.__cause__, InexactError):
                    return ""
                reasons.append(str(error.__cause__))
        return next(iter(reasons), "")

    def _within(self, search_space: SearchSpace, count: int) -> int:
        """So many points, or the half, the quarter, ... of which a batch does not take too long."""
        while count > _LEAST_SAMPLED and search_space.effort(count) > self.longest:
            count //= 2
        return count

    def evolve(self) -> None:
        """Differential evolution on the search spaces in turn, longer from turn to turn; every other turn starts from the best known.

        Every claim that is followed has its own order of the search spaces: first all claims on their first one, and so on. Changed
        terms are followed with guided scores, every third turn with plain ones.
        """
        share, turn = (_FIRST_SLICE if len(self.claims) == 1 else _SHARED_SLICE), 0
        while self.search_spaces and not self.is_over:
            self._grow(turn)
            if self.is_over:
                return
            orders = [
                (claim, visiting_order(self.search_spaces, claim, is_guided(claim, turn)))
                for claim in followed(self.claims)
            ]
            ranks = max(len(order) for _, order in orders)
            for rank in range(ranks if len(self.claims) == 1 else min(ranks, _SHARED_RANKS * (turn + 1))):
                for claim, order in orders:
                    if self.is_over:
                        return
                    current = self._latest(claim)
                    while rank < len(order) and current.is_open and not self.is_over:
                        self._visit(order[rank], current, share, turn)
                        self._carry_over()
                        self._climb()
                        if current.is_open or not current.climbs:
                            break
                        current = self._latest(current)
            share, turn = share * _GROWTH, turn + 1

    def _climb(self) -> None:
        """Every refuted claim that climbs gives its place to the next one, which leaves more of the term than any instance needs so far."""
        refuted = [claim for claim in self.claims if claim.climbs and not claim.is_open]
        above = {claim: higher for claim in refuted if (higher := claim.above()) is not None}
        if above:
            self.every_claim += above.values()
            self._follow([above.get(claim, claim) for claim in self.claims])

    def _latest(self, claim: Claim) -> Claim:
        """The claim, or the open one that it was followed by."""
        if claim.is_open or not claim.climbs:
            return claim
        return next((other for other in self.claims if other.part == claim.part and other.climbs), claim)

    def _grow(self, turn: int) -> None:
        """Longer rounds of the search spaces on which the claims came closest, as long as some ratio grows with them."""
        for claim in followed(self.claims):
            order = visiting_order(self.search_spaces, claim, is_guided(claim, turn))
            fresh = [i for i in order if i not in self.grown and grows_from(self.search_spaces[i])]
            for index in fresh[:_GROWN]:
                self.grown.add(index)
                self._lengthen(index)

    def _lengthen(self, index: int) -> None:
        """The points of a search space that came closest, in longer and longer rounds; those in which a ratio grows are searched too."""
        base = self.search_spaces[index]
        longest = longest_times(base, lambda space: space.effort(_LEAST_SAMPLED) <= self.longest)
        times: int | None = FACTOR if longest > 1 else None
        while times is not None and not self.is_over:
            open_claims = [claim for claim in self.claims if claim.is_open]
            keys = [(claim, guided) for claim in open_claims for guided in (False, True)]
            known = [
                claim.points[index, guided][0][:_FOLLOWED] for claim, guided in keys if (index, guided) in claim.points
            ]
            if not known:
                return
            space = with_rounds(base, times)
            points = np.unique(np.concatenate(known), axis=0)[: self._within(space, 8 * _POPULATION)]
            self.search_spaces.append(space)
            number = len(self.search_spaces) - 1
            self.grown.add(number)
            Visit(self, number, open_claims[0]).objective(points.T)
            steps = [
                next_times(times, claim.best[index, guided], claim.best[number, guided], longest)
                for claim, guided in keys
                if (index, guided) in claim.best and (number, guided) in claim.best
            ]
            grown = [step for step in steps if step is not None]
            for claim in self.claims:
                claim.found.families.append(space.name)
            times = max(grown, default=None)

    def _carry_over(self) -> None:
        """What refuted a claim about a term, where less is left of what another claim about it leaves: see `carried_over`."""
        fresh = [claim for claim in self.claims if claim.refuted_on is not None and claim not in self.carried]
        for claim in fresh:
            self.carried.add(claim)
            assert claim.refuted_on is not None
            space, points = claim.refuted_on
            for number, other in enumerate(self.claims):
                before = -np.inf
                for moved in carried_over(claim, other, space):
                    if self.is_over or not other.is_open or moved.effort(len(points)) > _CARRIED_PART * self.longest:
                        break
                    self.evaluations += len(points)
                    scores = moved.scores(points, self.panel)[number]
                    for top in np.argsort(-scores, kind="stable")[:_CHECKED]:
                        if other.is_open:
                            Visit(self, _NOWHERE, other, moved=moved)._keep(other, points[top], float(scores[top]))
                    if moved.period > space.period and scores.max() <= before:
                        break
                    before = scores.max()

    def _visit(self, index: int, claim: Claim, share: float, turn: int) -> None:
        guided = is_guided(claim, turn)
        visit = Visit(self, index, claim, guided)
        size = visit.search_space.size
        count = self._within(visit.search_space, max(5, _POPULATION // size * size))
        generations = max(1, round(share / visit.search_space.effort(count)))
        rng = np.random.default_rng([self.seed, index, turn, self.claims.index(claim)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = Sobol(size, rng=rng).random(count)
            is_continued = turn % 2 == 1 or len(self.claims) > 1
            if is_continued and (index, guided) in claim.points:
                known = claim.points[index, guided][0][: min(_RECALLED, count)]
                start[: len(known)] = known
            differential_evolution(
                visit.objective,
                [(0.0, 1.0)] * size,
                vectorized=True,
                updating="deferred",
                init=start,
                polish=False,
                tol=0.0,
                maxiter=generations,
                rng=rng,
                callback=visit.after_generation,
            )


def next_power(number: int) -> int:
    """The least power of 2 from a number on: Sobol points come in such counts."""
    return 1 << (number - 1).bit_length()


class Visit:
    """The objective of one run, and what happens after each generation."""

    def __init__(
        self, search: Search, index: int, claim: Claim, guided: bool = False, moved: SearchSpace | None = None
    ) -> None:
        self.search, self.index, self.claim, self.guided = search, index, claim, guided
        self.search_space, self.best, self.stalled = moved or search.search_spaces[index], -np.inf, 0
        self.tried = dict.fromkeys(map(id, search.claims), -np.inf)

    def objective(self, points: Array) -> Array:
        """Minus the scores of a generation `(size, count)` against the claim that is followed."""
        rows = np.ascontiguousarray(points.reshape(self.search_space.size, -1).T)
        self.search.evaluations += len(rows)
        scores, guided = self.search_space.judged(rows, self.search.panel)
        for claim, mine, led in zip(self.search.claims, scores, guided, strict=True):
            claim.found.evaluations = self.search.evaluations
            if claim.is_open:
                claim.remember((self.index, False), rows, mine)
                if claim.change is not None:
                    claim.remember((self.index, True), rows, led)
                top = int(mine.argmax())
                self._keep(claim, rows[top], float(mine[top]))
        followed: Array = (guided if self.guided else scores)[self.search.claims.index(self.claim)]
        best = float(followed.max())
        self.stalled = 0 if best > self.best + 1e-6 else self.stalled + 1
        self.best = max(self.best, best)
        return -followed

    def _keep(self, claim: Claim, point: Array, score: float) -> None:
        if INADMISSIBLE < score <= 0.0:
            claim.found.saw(10.0**score, self.search_space.name)
        if score > _MARGIN and score > self.tried[id(claim)] + 0.05 and self.search.has_time_to_check():
            self.tried[id(claim)] = score
            self._check(claim, point)

    def _check(self, claim: Claim, point: Array) -> None:
        formula, found = self.search_space.formula, claim.found
        candidate = self.search_space.candidate(point, self.search.panel, self.search.claims.index(claim))
        until = time.process_time() + self.search.longest_check
        for made in drafts(claim.target, formula, candidate, self.search_space.settings, self.search_space.least):
            try:
                with as_long_as(lambda: time.process_time() > until):
                    found.violation, found.draft = confirmed(claim.target, formula, made), made
                claim.refuted_on = self.search_space, self._near(claim, point)
                self._check_beside(claim, point)
                return
            except NotConfirmed as error:
                found.refused.append(str(error))
                if error.ratio is not None:
                    found.saw(min(error.ratio, 1.0), self.search_space.name)

    def _check_beside(self, claim: Claim, point: Array) -> None:
        """The other claims on the run that refuted one: what takes long is its left side, which is theirs too."""
        assert claim.found.violation is not None
        others = [other for other in self.search.claims if other.is_open]
        if not others:
            return
        scores = self.search_space.scores(point[None, :], self.search.panel)[:, 0]
        for other, score in zip(self.search.claims, scores, strict=True):
            if other.is_open and score > _MARGIN:
                try:
                    other.found.violation = confirm_beside(other.target, claim.found.violation)
                except NotConfirmed:
                    continue
                other.found.draft, other.refuted_on = claim.found.draft, claim.refuted_on

    def _near(self, claim: Claim, point: Array) -> Array:
        """A point that refuted a claim, and others of this search space that came close."""
        keys = [(self.index, guided) for guided in (False, True)]
        near = [claim.points[key][0][:_FOLLOWED] for key in keys if key in claim.points]
        return np.concatenate([point[None, :], *near])

    def after_generation(self, intermediate_result: object = None) -> bool:
        """Whether to stop."""
        now, found = self.search.clock(), self.claim.found
        if self.search.progress:
            elapsed = now - self.search.began
            self.search.progress(Progress(elapsed, self.search.evaluations, found.ratio, self.search_space.name))
        hopeless = self.best <= REJECTED and self.stalled > 5
        return not self.claim.is_open or now > self.search.until or self.stalled > _STALLED or hopeless
