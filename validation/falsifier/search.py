"""The search: search spaces in turn, differential evolution on each, every violation that it proposes checked exactly.

scipy's differential evolution is used with `vectorized=True`: one call evaluates a whole generation, which is one batch of
runs here. It starts from a Sobol sample and needs nothing that scipy does not already bring.

Statements that differ from each other in one term have the same instances and the same left side. They are searched together:
every batch is compared with all of them, each visit of a search space follows one of them, and starts from the points at which
that one came closest, whichever visit met them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product, zip_longest

import numpy as np
from scipy.optimize import differential_evolution
from scipy.stats.qmc import Sobol

from ...bounds.language.change import Change
from ..exact.infinite_clients import MOST_BITS
from ..exact.run import MOST_SIGNS as MOST_PATH_SIGNS
from .confirm import Confirmed, NotConfirmed
from .declared import Target
from .formula import Formula, Panel
from .noise import MOST_SIGNS
from .rounding import Draft, confirmed, drafts
from .search_space import REJECTED, Array, SearchSpace, least_counts, whole_choices
from .spaces import BENT, CROWDED, NOISY, PARTIAL, SILENT_BOWL, SPACES

_POPULATION = 256
_SAMPLED, _LEAST_SAMPLED, _SAMPLED_STEPS = 256, 32, 64
"""Points of the first sample of a search space: so many up to so many steps, fewer of longer runs."""
_LONGEST_PART, _SHORTEST_SEARCH = 1 / 4, 2.0
"""What one batch of runs may take of the seconds of a search, by `SearchSpace.effort`, and the seconds that count at least: a search space
whose smallest batch takes longer is left out, as nothing stops a batch."""
_FIRST_SLICE, _SHARED_SLICE, _GROWTH = 3.0, 1.0, 1.5
"""What a search space gets in the first round, alone and for each of several claims, in seconds by `SearchSpace.effort`, and the factor
from round to round."""
_SHARED_RANKS = 3
"""How many search spaces more each of several claims is followed on from round to round."""
_MARGIN = 0.005
"""Candidates whose log10 ratio is at most this are not worth an exact check."""
_INADMISSIBLE = -9.0
"""Scores below are of instances that violate a condition, or whose sides are no numbers."""
_REMEMBERED, _RECALLED = 64, 48
"""Points of a search space that are kept for each statement, and how many of them a visit starts from."""
_STALLED = 40
"""Generations without improvement after which a search space is left."""
_PERIODS, _HORIZONS = (2, 1, 4), (16, 64, 256)
_SCHEDULED_HORIZONS, _PROBED, _LEAST_ADMITTED = (16, 64, 256, 1024, 4096), 512, 4
"""Where a schedule depends on the horizon: those that are tried, at so many points, of which so many must be admissible."""
_ENDLESS_HORIZON = 16
_PARTIAL_PERIODS, _HALF = (1, 16), Fraction(1, 2)
_SHORT = (8, 4, 2, 1)
"""Rounds of a run over all paths."""
_MANY, _LONGEST_POWER, _SCHEDULED_POWERS = 8, 31, (5, 8, 11, 14)
"""Of runs in powers of what a round does: clients; the power of 2 in rounds; powers of 4 in steps where a schedule has them."""
_SILENT_POWERS = (14, 20)
"""The same of runs without noise, which are for numbers of clients and batch sizes that are large."""
_ROUNDS = (2, 4)
"""Of the runs along which a lemma is compared."""
_LONGEST, _MOST_HORIZONS = 1024, 4


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
    exact check makes of it. `left_out` are the families of which one batch takes too long.
    """

    ratio: float = 0.0
    where: str = ""
    evaluations: int = 0
    violation: Confirmed | None = None
    draft: Draft | None = None
    refused: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def saw(self, ratio: float, where: str) -> None:
        """Keep a ratio if it is the largest."""
        if ratio > self.ratio:
            self.ratio, self.where = ratio, where


def search_spaces(target: Target, formula: Formula, hidden: float = 1.0) -> list[SearchSpace]:
    """The search spaces of a statement, those that most often succeed first."""
    spaces = SPACES.get(target.kind, ())
    tuning = _whole(target, formula, "fine_tuning_steps")
    steps = [{"nu": nu} for nu in tuning or (2, 1)] if target.named("fine_tuning_steps") else [{}]
    made: list[SearchSpace] = []
    numbers = (2, 1) if target.link is None else (2, 1, 3)
    for clients in [n for n in numbers if all(total % n == 0 for total in _whole(target, formula, "clients"))]:
        for (period, horizon, stays), settings, space in product(_lengths(target, formula, clients), steps, spaces):
            if clients in space.clients:
                search_space = SearchSpace(target, formula, space, clients, period, horizon, settings, stays, hidden)
                made += _admitted(search_space) if search_space.horizon_decides else [search_space]
    made = list(
        {(i.space.name, i.clients, i.period, i.horizon, i.stays, i.settings.get("nu")): i for i in made}.values()
    )
    kept = [i for i in made if not i.stays or (i.space.shifted is not None and i.keeps_models_only)]
    partial, share = list(_partial(target, formula, steps, hidden)), target.named("participation")
    if share is not None and formula.fixed.get(share, 1) != 1:
        return partial
    return [*kept, *_noisy(target, formula, kept), *partial, *_crowds(target, formula, steps, hidden)]


def _partial(target: Target, formula: Formula, steps: list[dict[str, int]], hidden: float) -> Iterator[SearchSpace]:
    """Endless runs in which one of two clients takes part in each round."""
    share, clients = target.named("participation"), _whole(target, formula, "clients")
    if (
        share is None
        or target.link is not None
        or formula.fixed.get(share, _HALF) != _HALF
        or clients not in ((), (2,))
    ):
        return
    if target.average != "before" or target.length is None or target.length in formula.fixed:
        return
    periods = _whole(target, formula, "communication_period") or _PARTIAL_PERIODS
    for period, settings, space in product(periods, steps, PARTIAL.get(target.kind, ())):
        search_space = SearchSpace(
            target, formula, space, 2, period, _ENDLESS_HORIZON, settings, True, hidden, "rounds"
        )
        if search_space.keeps_models_only and not search_space.horizon_decides:
            yield search_space


def _crowds(target: Target, formula: Formula, steps: list[dict[str, int]], hidden: float) -> Iterator[SearchSpace]:
    """Endless runs of infinitely many clients, whose noise bends within a round."""
    length, clients = target.length, target.named("clients")
    if target.link is not None or clients is None or clients in formula.fixed or _has_batches(target, formula):
        return
    if target.average != "before" or length is None or length in formula.fixed:
        return
    groups = product((1, 2), _periods(target, formula), steps, CROWDED.get(target.kind, ()))
    for number, period, settings, space in groups:
        search_space = SearchSpace(target, formula, space, number, period, _ENDLESS_HORIZON, settings, True, hidden)
        if search_space.horizon_decides or not search_space.keeps_models_only:
            return
        crowd = replace(search_space, law="crowd")
        if 0 < crowd.bits <= MOST_BITS:
            yield crowd


def _whole(target: Target, formula: Formula, quantity: str) -> tuple[int, ...]:
    """The whole number that the statement sets a quantity to; none where it is free."""
    fixed = formula.fixed.get(target.named(quantity) or "")
    return () if fixed is None else (int(fixed),)


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
            if longer.admits(_probe(longer)).sum() >= _LEAST_ADMITTED:
                yield longer
                return


def _probe(search_space: SearchSpace) -> Array:
    """Points to see whether the conditions can be met."""
    points: Array = Sobol(search_space.size, rng=np.random.default_rng(0)).random(_PROBED)
    return points


def _noisy(target: Target, formula: Formula, silent: list[SearchSpace]) -> Iterator[SearchSpace]:
    """The same whole numbers with noise: bowls in closed moments, and the spaces themselves over all paths of short runs.

    A kind without silent bowls has noise in long runs only.
    """
    if target.kind not in NOISY or _has_batches(target, formula):
        return
    first = next((space for space in SPACES[target.kind] if space.name == SILENT_BOWL), None)
    for search_space in [i for i in silent if i.space is first and not i.stays]:
        for space in NOISY[target.kind]:
            yield from _affordable(replace(search_space, space=space, law="moments"))
    shortest = {(i.clients, i.period): i for i in reversed(silent) if not i.stays}
    is_length_free = target.length is not None and target.length not in formula.fixed
    if target.link is None and is_length_free and not any(i.schedules for i in silent):
        many = () if any(total % _MANY for total in _whole(target, formula, "clients")) else (_MANY,)
        for search_space in shortest.values():
            for clients in (search_space.clients, *many) if search_space.clients > 1 else (search_space.clients,):
                for space in (*NOISY[target.kind], *BENT.get(target.kind, ())):
                    yield from _in_powers(replace(search_space, space=space, law="powers", clients=clients))
            if first and search_space.clients > 1 and search_space.period > 1 and not search_space.keeps_models_only:
                yield from _in_powers(replace(search_space, space=first, law="powers"), _SILENT_POWERS)
    if first and target.link is None and not any(i.schedules for i in silent):
        for search_space in shortest.values():
            for space in [*(s for s in SPACES[target.kind] if s is not first), *BENT.get(target.kind, ())]:
                short = (
                    replace(search_space, space=space, law="paths", horizon=h * search_space.period) for h in _SHORT
                )
                found = next((i for i in short if i.signs <= MOST_PATH_SIGNS), None)
                if found is not None and (not found.horizon_decides or found.admits(_probe(found)).any()):
                    yield found


def _has_batches(target: Target, formula: Formula) -> bool:
    """Whether the statement sets a batch to more than one sample, which no run with noise has here."""
    counts = [n for n, b in target.symbols.items() if b.quantity.domain == "positive integer"]
    known = {target.named(quantity) for quantity in ("communication_period", "clients", "fine_tuning_steps")}
    return any(formula.fixed.get(n, 1) != 1 for n in counts if n not in known and n != target.length)


def _in_powers(search_space: SearchSpace, scheduled: tuple[int, ...] = _SCHEDULED_POWERS) -> Iterator[SearchSpace]:
    """A long run, of which every length is compared; where a schedule depends on the length, the lengths that are admissible.

    These are clients times powers of 4: schedules have roots of clients over the length, which are rational then.
    """
    of_a_round = next(h for h in range(1, search_space.period + 1) if search_space.steps_of(h) >= search_space.period)
    if not search_space.horizon_decides:
        yield replace(search_space, horizon=of_a_round * (1 + 2**_LONGEST_POWER))
        return
    for power in scheduled:
        longer = replace(search_space, horizon=search_space.clients * 4**power)
        if longer.admits(_probe(longer)).sum() >= _LEAST_ADMITTED:
            yield longer


def _affordable(search_space: SearchSpace) -> Iterator[SearchSpace]:
    if 0 < search_space.signs <= MOST_SIGNS:
        yield search_space


def _lengths(target: Target, formula: Formula, clients: int) -> Iterator[tuple[int, int, bool]]:
    """(period, horizon, whether the start stays), as the statement leaves them free."""
    length = target.length
    if target.link is not None:
        yield from _along_a_run(target, formula)
        return
    if length is None:
        yield 1, 1, False
        return
    if fixed := whole_choices(target, formula):
        yield from _scheduled(target, formula, fixed, length, clients)
        return
    periods = _periods(target, formula)
    if target.average == "before":
        yield from ((p, _ENDLESS_HORIZON, True) for p in periods if p > 1 and length not in formula.fixed)
    fixed_length = _fixed_length(target, formula)
    chosen = {p: fixed_length or _horizons(target, p) for p in periods}
    for horizon in dict.fromkeys(h for p in periods for h in chosen[p]):
        yield from ((p, horizon, False) for p in periods if horizon in chosen[p])


def _horizons(target: Target, period: int) -> tuple[int, ...]:
    """Lengths of a run, in what its symbol counts, of at least a round and of a few hundred steps where rounds are short."""
    if target.symbols[target.length or ""].quantity.name == "rounds":
        return tuple(h for h in _HORIZONS if h * period <= _HORIZONS[-1] * _PERIODS[-1]) or (4, 1)
    return tuple(h for h in _HORIZONS if h >= period) or (period, 4 * period)


def _periods(target: Target, formula: Formula) -> tuple[int, ...]:
    if isinstance(target.period, int):
        return (target.period,)
    if target.named("communication_period") is None:
        return (1,)
    return _whole(target, formula, "communication_period") or _PERIODS


def _fixed_length(target: Target, formula: Formula) -> tuple[int, ...]:
    return () if target.length is None else _whole(target, formula, target.symbols[target.length].quantity.name)


def _along_a_run(target: Target, formula: Formula) -> Iterator[tuple[int, int, bool]]:
    """(period, steps or rounds) of the runs along which a lemma is compared: some rounds of one to four steps."""
    assert target.link is not None
    for rounds in _ROUNDS:
        for period in _periods(target, formula):
            counts_rounds = target.length is not None and target.symbols[target.length].quantity.name == "rounds"
            yield period, rounds if counts_rounds else rounds * period, False


def _scheduled(
    target: Target, formula: Formula, fixed: list[str], length: str, clients: int
) -> Iterator[tuple[int, int, bool]]:
    """Horizons at which every whole number that the statement prescribes is one, all free whole numbers being least."""
    period, found = target.named("communication_period"), 0
    for horizon in _fixed_length(target, formula) or range(1, _LONGEST + 1):
        known = {length: float(horizon), **least_counts(target, formula, clients)}
        completed = formula.complete(known)
        numbers = [float(completed.get(name, np.nan)) for name in fixed]
        is_whole = all(n >= 1 and abs(n - round(n)) < 1e-9 for n in numbers)
        if is_whole and found < _MOST_HORIZONS and horizon > 1:
            found += 1
            local = round(float(completed[period])) if period in fixed and period is not None else 2
            yield local, horizon, False


_Key = tuple[int, bool]
"""A search space, and whether its scores are guided to where a changed term matters."""


@dataclass(eq=False)
class Claim:
    """A statement that is attacked: the searched one, or that with a change of one term; and what was found against it.

    Args:
        target: of the changed statement.
        change: None for the searched statement itself.
    """

    target: Target
    change: Change | None = None
    found: Found = field(default_factory=Found)
    best: dict[_Key, float] = field(default_factory=dict)
    points: dict[_Key, tuple[Array, Array]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.found.violation is None

    def remember(self, key: _Key, points: Array, scores: Array) -> None:
        """Keep the best points of a search space, the best first."""
        if key in self.points:
            known, before = self.points[key]
            points, scores = np.concatenate([known, points]), np.concatenate([before, scores])
        order = np.argsort(-scores, kind="stable")[:_REMEMBERED]
        self.points[key] = points[order], scores[order]
        self.best[key] = float(self.points[key][1][0])


def search(
    target: Target,
    formula: Formula,
    *,
    seconds: float,
    seed: int = 0,
    hidden: float = 1.0,
    progress: Callable[[Progress], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Found:
    """Search until a violation is confirmed or the time is up; an interrupt keeps what was found.

    Args:
        seconds: by the clock; where a batch of runs takes long, batches are smaller, and families with too long a one left out.
        seed: of the search; the same seed visits the same points, as many as the seconds allow.
        hidden: value of a constant that the paper hides in O(.).
        progress: called after every generation.
        clock: of wall time; a benchmark on a busy machine takes that of the processor.
    """
    claim = Claim(target)
    search_together(target, formula, [claim], seconds=seconds, seed=seed, hidden=hidden, progress=progress, clock=clock)
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
) -> None:
    """One search for several claims until all are refuted or the time is up; each claim holds what was found against it.

    Args:
        target: of the statement that the claims are changes of; its instances are searched.
    """
    run = _Search(search_spaces(target, formula, hidden), formula, claims, seed, seconds, progress, clock)
    try:
        run.sample()
        run.evolve()
    except KeyboardInterrupt:
        for claim in claims:
            claim.found.refused.append("interrupted by the user")


class _Search:
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
        self.search_spaces = [
            search_space for search_space in listed if search_space.effort(_LEAST_SAMPLED) <= self.longest
        ]
        self.seed, self.progress, self.clock = seed, progress, clock
        self.claims, self.panel = claims, Panel(formula, tuple(claim.change for claim in claims))
        self.began = clock()
        self.until = self.began + seconds
        self.evaluations = 0
        for claim in claims:
            claim.found.families = [search_space.name for search_space in self.search_spaces]
            claim.found.left_out = [
                search_space.name for search_space in listed if search_space not in self.search_spaces
            ]

    @property
    def is_over(self) -> bool:
        return not any(claim.is_open for claim in self.claims) or self.clock() > self.until

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
            count = max(_LEAST_SAMPLED, min(_SAMPLED, _SAMPLED * _SAMPLED_STEPS // _next_power(search_space.stepped)))
            count = self._within(search_space, count)
            visit = _Visit(self, index, self.claims[0])
            visit.objective(Sobol(search_space.size, rng=np.random.default_rng([self.seed, index])).random(count).T)
            visit.after_generation()

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
            orders = [(claim, self._order(claim, self._is_guided(claim, turn))) for claim in self._followed()]
            ranks = max(len(order) for _, order in orders)
            for rank in range(ranks if len(self.claims) == 1 else min(ranks, _SHARED_RANKS * (turn + 1))):
                for claim, order in orders:
                    if self.is_over:
                        return
                    if rank < len(order) and claim.is_open:
                        self._visit(order[rank], claim, share, turn)
            share, turn = share * _GROWTH, turn + 1

    def _followed(self) -> list[Claim]:
        """Of the open claims about one term the first: where a term cannot be seen to be missing, no less of it can."""
        first: dict[str, Claim] = {}
        for claim in self.claims:
            if claim.is_open:
                first.setdefault("" if claim.change is None else claim.change.part, claim)
        return list(first.values())

    @staticmethod
    def _is_guided(claim: Claim, turn: int) -> bool:
        return claim.change is not None and turn % 3 != 2

    def _order(self, claim: Claim, guided: bool) -> list[int]:
        """Endless and finite runs by turns, each kind by its best score; search spaces where nothing is valid are left out."""
        best = {i: claim.best.get((i, guided), -np.inf) for i in range(len(self.search_spaces))}
        alive = [i for i, score in best.items() if score > REJECTED or score == -np.inf]
        ranked = sorted(alive, key=lambda i: -best[i])
        endless = [i for i in ranked if self.search_spaces[i].stays]
        finite = [i for i in ranked if not self.search_spaces[i].stays]
        return [i for pair in zip_longest(endless, finite) for i in pair if i is not None]

    def _visit(self, index: int, claim: Claim, share: float, turn: int) -> None:
        guided = self._is_guided(claim, turn)
        visit = _Visit(self, index, claim, guided)
        size = visit.search_space.size
        count = self._within(visit.search_space, max(5, _POPULATION // size * size))
        generations = max(1, round(share / visit.search_space.effort(count)))
        rng = np.random.default_rng([self.seed, index, turn, self.claims.index(claim)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = Sobol(size, rng=rng).random(count)
            is_continued = turn % 2 == 1 or len(self.claims) > 1
            if is_continued and (index, guided) in claim.points:
                known = claim.points[index, guided][0][:_RECALLED]
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


def _next_power(number: int) -> int:
    """The least power of 2 from a number on: Sobol points come in such counts."""
    return 1 << (number - 1).bit_length()


class _Visit:
    """The objective of one run, and what happens after each generation."""

    def __init__(self, search: _Search, index: int, claim: Claim, guided: bool = False) -> None:
        self.search, self.index, self.claim, self.guided = search, index, claim, guided
        self.search_space, self.best, self.stalled = search.search_spaces[index], -np.inf, 0
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
        if _INADMISSIBLE < score <= 0.0:
            claim.found.saw(10.0**score, self.search_space.name)
        if score > _MARGIN and score > self.tried[id(claim)] + 0.05:
            self.tried[id(claim)] = score
            self._check(claim, point)

    def _check(self, claim: Claim, point: Array) -> None:
        formula, found = self.search_space.formula, claim.found
        candidate = self.search_space.candidate(point, self.search.panel, self.search.claims.index(claim))
        for made in drafts(claim.target, formula, candidate, self.search_space.settings):
            try:
                found.violation, found.draft = confirmed(claim.target, formula, made), made
                return
            except NotConfirmed as error:
                found.refused.append(str(error))
                if error.ratio is not None:
                    found.saw(min(error.ratio, 1.0), self.search_space.name)

    def after_generation(self, intermediate_result: object = None) -> bool:
        """Whether to stop."""
        now, found = self.search.clock(), self.claim.found
        if self.search.progress:
            elapsed = now - self.search.began
            self.search.progress(Progress(elapsed, self.search.evaluations, found.ratio, self.search_space.name))
        hopeless = self.best <= REJECTED and self.stalled > 5
        return not self.claim.is_open or now > self.search.until or self.stalled > _STALLED or hopeless
