"""One search space of the search: a kind's space with the whole numbers fixed, and the score of a population on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ...algorithms import drive
from ...algorithms.engine.method import Start
from ...algorithms.engine.metrics import gradient_norm_squared
from ...bounds.language.quantities import DOMAINS
from ...bounds.language.reading import InputError
from ...ranges import AT_MOST, AtMost
from ...synthetic.families.piecewise import FAMILIES, Family, MetaFamily
from ..exact.every_path import EveryPath, laid_out
from ..exact.participation import Chosen, RandomRound, choices, masks
from ..lemmas.trace import Trace, walk
from .bisection import bisected
from .declared import Target
from .formula import Formula, Panel
from .lemma import Place, balanced, rounding_of, rows_of, trace_of, unseen
from .long_run import Counted, floor_of, long_squares, stretched
from .noise import Lanes, Run, expected_squares, moments, paths, signs_of
from .noisy_quadratics import with_noise
from .properties import imposing
from .spaces import SILENT_BOWL, Space, in_unit
from .unit_cube import UnitCube

Array = np.ndarray
Values = dict[str, Any]

TINY = 1e-15
"""What a positive constant is declared as where the instance has 0."""
CAP = 2.0
"""The score saturates here: without it the search runs to bounds of 0 and absurd scales."""
FOREVER = 1e60
"""Horizon of a run that stays where it starts."""
REJECTED, _ASTRAY = -30.0, -12.0
_BISECTIONS, _STEP_POWERS = 46, 30.0
_REST_BISECTIONS = 30
_ROUNDS_TRIED = 5
"""Rounds with a part of the clients that say what an endless run of them does."""
_AFFINE = 1e-7
"""A round that bends by less, in units of the interval that it keeps, may be affine."""
_MOST, _LED, _FAR = 0.5, -6.0, -9.0
"""What a changed term must make up of the bound, and the scores where it does less: between the last two."""
_SOME_POINT = 0.65
"""Of every coordinate, to see what a method keeps and asks for; nothing vanishes there."""
_STEP = ("step_size",)
_LENGTHS = ("iterations", "rounds")
_EACH_GENERATION, _EACH_STEP, _EACH_LANE_STEP = 6e-3, 9e-5, 1.1e-7
"""Seconds that a generation takes, that each step of its runs adds, and each step of one client of one of its runs: fitted to
the search spaces of eight statements on one core, of which 90% took between half and four times that."""
_EACH_RUN_BEGUN = 10
"""Steps that take as long as it takes to begin a run: the start that stays is solved for in many short ones."""
_LEAST_WEIGHT = 4
"""A weight of what is new in a moving average is 1 for half of the coordinate, else down to ten to minus this."""
_NEARLY_ONE = 0.999
"""The largest value that is tried of a number that is less than 1."""
_LONGER, _STATE_PARTS = 3, 3
"""A run in powers is compared at lengths that double so often from one to the next; numbers that a client keeps, about."""


class UncertifiedError(InputError):
    """A statement has a constant that no instance is known to have."""


@dataclass(frozen=True)
class _Step:
    """How a step size is chosen: a fraction of its limit, or a size where the conditions set none."""

    fraction: Array
    without_limit: Array


@dataclass(frozen=True)
class Candidate:
    """One point of a search space in numbers: parameters of the family, values of every symbol, score log10(left/bound).

    `place` says at which row of a run a lemma is compared.
    """

    parameters: Mapping[str, Array]
    values: Mapping[str, float]
    score: float
    stays: bool
    place: Place | None


@dataclass(frozen=True)
class _Evaluated:
    """A batch of points in numbers, and what they say of every statement of a panel.

    Args:
        values: of one number per point, where the length of the run is not what a statement is worst at.
        scores: `(statements, count)`.
        guided: the same where the changed term makes up most of the bound, else how far it is from that; see `_guided`.
        horizons: value of the symbol for the length of a run at which a statement is worst, `(statements, count)`.
        rows: where a lemma is compared, `(statements, count)`; `seen` has its observables, `(rows, count)`.
    """

    parameters: dict[str, Array]
    values: Values
    scores: Array
    guided: Array
    horizons: Array
    rows: Array | None = None
    seen: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """A space, a number of clients and the whole numbers that a batch shares.

    Args:
        period: local steps per round.
        horizon: the longest value of the symbol for the length of a run.
        settings: further whole numbers of the family (the fine-tuning steps).
        stays: the run is endless: from a start that a round maps to itself, which is solved for, or in closed moments.
        hidden: value of a constant that the paper hides in O(.).
        law: how expectations are taken where there is noise: "moments" of runs that stay affine in it, by "powers" of what
            a round does where they are long, or all "paths" of short ones; "rounds" of an endless run in which
            one client takes part, in closed moments; of a "crowd" of infinitely many clients the average alone is seen, in
            endless runs; empty where there is no randomness.
    """

    target: Target
    formula: Formula
    space: Space
    clients: int
    period: int
    horizon: int
    settings: Mapping[str, int] = field(default_factory=dict)
    stays: bool = False
    hidden: float = 1.0
    law: str = ""

    @property
    def name(self) -> str:
        endless = ", a start that stays" if self.stays else f", horizon {self.horizon}"
        if self.law == "rounds":
            endless = ", one of them in each round, endless"
        known = {"": "", "rounds": "", "paths": ", all paths of noise", "crowd": ", infinitely many clients with noise"}
        noise = known.get(self.law, f", noise in closed {self.law}")
        if self.law and not self._is_random:
            noise = ", in powers of a round"
        return f"{self.space.name}: {self.clients} clients, rounds of {self.period}{endless}{noise}"

    @property
    def stepped(self) -> int:
        """What its runs are stepped through, in the unit of the horizon: of a long run in powers the first few rounds."""
        return self.period * self.clients if self.law == "powers" else self.horizon

    @cached_property
    def size(self) -> int:
        """Coordinates of a point."""
        cube = UnitCube()
        self._decode(cube)
        return cube.used

    def effort(self, count: int) -> float:
        """About the seconds of a generation of so many points, from its size and not by the clock.

        What is searched next must not depend on how fast this machine is at the moment.
        """
        if self.law == "powers":
            lanes = count * self.clients * (1 + self.clients * (_STATE_PARTS + 2 * self.period))
            begun = len(self._powers) * _EACH_RUN_BEGUN * _EACH_STEP
            return _EACH_GENERATION + begun + 3 * self.period * (_EACH_STEP + lanes * _EACH_LANE_STEP)
        rest = (_REST_BISECTIONS + 3) * (self.period + _EACH_RUN_BEGUN)
        steps = rest if self.stays else self.walked
        if self.law == "rounds":
            steps = _ROUNDS_TRIED * (self.period + _EACH_RUN_BEGUN)
        lanes = count * self._lane_count * self.clients
        return _EACH_GENERATION + steps * (_EACH_STEP + lanes * _EACH_LANE_STEP)

    @property
    def _lane_count(self) -> int:
        """Runs that an instance takes."""
        if self.law == "rounds":
            return len(choices(self.clients, round(self.share * self.clients)))
        if self.law == "crowd":
            return 2**self.bits
        return len(self._lanes) if self.law else 1

    @cached_property
    def alone(self) -> Panel:
        """The statement by itself."""
        return Panel(self.formula)

    def scores(self, points: Array, panel: Panel) -> Array:
        """log10 of left side over bound, `(statements, count)`, of points `(count, size)`; very negative where inadmissible.

        Capped.
        """
        return self.judged(points, panel)[0]

    def judged(self, points: Array, panel: Panel) -> tuple[Array, Array]:
        """The scores, and those by which a search is led to where a changed term matters; both capped."""
        found = self._evaluate(points, panel)
        return np.minimum(found.scores, CAP), np.minimum(found.guided, CAP)

    def score(self, points: Array) -> Array:
        """The same of the statement by itself, `(count,)`."""
        return self.scores(points, self.alone)[0]

    def candidate(self, point: Array, panel: Panel | None = None, of: int = 0) -> Candidate:
        """Everything about one point, as a candidate against one statement of a panel."""
        found = self._evaluate(point[None, :], panel or self.alone)
        values = self._with_horizon(found.values, found.horizons[of])
        place = None
        if found.rows is not None:
            row = int(found.rows[of, 0])
            values |= {name: array[min(row, len(array) - 1)] for name, array in found.seen.items()}
            place = Place(row, self.horizon)
        picked = {name: np.asarray(v)[0] for name, v in found.parameters.items()}
        numbers = {name: float(np.broadcast_to(v, (1,))[0]) for name, v in values.items()}
        return Candidate(picked, numbers, float(found.scores[of, 0]), self.stays, place)

    def admits(self, points: Array) -> Array:
        """Which points meet the conditions, `(count,)`; for a statement about a run, without running it."""
        parameters, values, step = self._decode(UnitCube(points))
        values = self._with_step({**self._constants(self._family(parameters, len(points))), **values}, step)
        values = self._with_horizon(values, float(self.horizon))
        met: Array = np.broadcast_to(self.formula.admits(values), (len(points),))
        return met & self._is_valid(parameters) & ~self._beyond(values)

    # --- from a point to numbers ---

    def _imposed(self, parameters: dict[str, Array]) -> dict[str, Array]:
        """Parameters with the properties that the theorem assumes."""
        return imposing(self.target.assumed)(parameters)

    def _shifted(self, parameters: dict[str, Array], shift: Array) -> dict[str, Array]:
        assert self.space.shifted is not None
        return self._imposed(self.space.shifted(parameters, shift))

    def _decode(self, cube: UnitCube) -> tuple[dict[str, Array], Values, _Step]:
        """Parameters, values of the free symbols, and how the step size is chosen."""
        parameters = self.space.decode(cube, self.clients, self.settings)
        if self.law in ("paths", "crowd") and not self.space.own_noise:
            parameters = with_noise(cube, parameters)
        parameters = self._imposed(in_unit(self.target.kind, parameters, cube))
        values: Values = {}
        for name, binding in self.target.symbols.items():
            if binding.quantity.role == "hyperparameter" and name not in self.formula.determined:
                number = self._hyperparameter(cube, binding.quantity.name, binding.quantity.domain, parameters)
                if number is not None:
                    values[name] = number
        return parameters, values, _Step(cube.limit(4), cube.log(-3, 3))

    def _hyperparameter(self, cube: UnitCube, quantity: str, domain: str, parameters: Mapping[str, Array]) -> Any:
        if quantity in _STEP or quantity in _LENGTHS:
            return None  # set by the limit, and by the run
        fixed = {
            "communication_period": self.period,
            "participation": self.share,
            "hidden_constant": self.hidden,
            "fine_tuning_steps": self.settings.get("nu", 0),
        }
        if quantity in fixed:
            return float(fixed[quantity])
        if quantity == "fine_tuning_step_size":
            return parameters["alpha"]
        if quantity == "clients" and self.law == "crowd":
            return self.clients * FOREVER
        if quantity == "clients":
            return self.clients * self._count(cube, 5)
        if domain == "positive integer":
            return self._count(cube, 9)
        if DOMAINS[domain].most == 1:
            return cube.limit(_LEAST_WEIGHT) * (_NEARLY_ONE if DOMAINS[domain].open else 1.0)
        if quantity in AT_MOST and AT_MOST[quantity] == AtMost(why=AT_MOST[quantity].why):
            return cube.limit(_LEAST_WEIGHT)  # at most 1
        return cube.log(-9.5, -1) if quantity == "difference_step" else cube.log(-2.5, 2.5)

    def _count(self, cube: UnitCube, largest: float) -> Any:
        """A free whole number; a power of 4 where a schedule with roots is run in powers, so that they are rational."""
        if self._counts_are_least:
            return 1.0
        number = cube.whole(largest)
        is_rooted = self.law == "powers" and self.horizon_decides
        return 4.0 ** np.round(np.log(number) / np.log(4)) if is_rooted else number

    @cached_property
    def _counts_are_least(self) -> bool:
        """Where the statement prescribes whole numbers, those that are free are at their least, so that it does.

        So they are along the run of a lemma, whose statistics may enumerate a batch, and where there is noise: a batch is
        one sample.
        """
        return self.target.link is not None or self._is_random or self.schedules

    @property
    def _is_random(self) -> bool:
        return bool(self.law) and self.space.name != SILENT_BOWL

    def _evaluate(self, points: Array, panel: Panel) -> _Evaluated:
        parameters, values, step = self._decode(UnitCube(points))
        family = self._family(parameters, len(points))
        constants = self._constants(family)
        unknown = {name: float(value) for name, value in unseen(self.target.stated).items()}
        values = self._with_step({**unknown, **constants, **values}, step)
        if self.target.link is not None:
            return self._along_the_run(family, parameters, values, panel)
        astray = np.zeros(len(points))
        if self.stays and self.law != "rounds":
            parameters, astray = self._at_rest(parameters, values, len(points))
            family = self._family(parameters, len(points))
            values = {**values, **self._constants(family)}
        if self.law == "rounds":
            square, astray = self._endless(parameters, values, len(points))
            left, listed = [square], [FOREVER]
        elif self.law == "crowd":
            left, listed = [self._crowd_round(parameters, values, len(points))[1]], [FOREVER]
        elif self.law == "powers":
            left, listed, astray = self._long(parameters, values, len(points))
        elif self.law:
            squares, astray = self._expected(parameters, values, len(points))
            left, listed = self._averaged(squares)
        else:
            left, listed = self._left(family, values)
        lengths = np.array(listed)
        scores, guided = self._judge(np.stack(left), self._with_horizon(values, lengths[:, None]), panel)
        known = self._with_horizon(values, float(self.horizon))
        fine, settled = self._is_valid(parameters) & ~self._beyond(known), _ASTRAY * (1 + astray)

        def best(of: Array) -> Array:
            found: Array = np.where(fine, np.where(astray > 0, settled, of.max(axis=1)), REJECTED)
            return found

        return _Evaluated(parameters, values, best(scores), best(guided), lengths[scores.argmax(axis=1)])

    # --- lemmas ---

    def _along_the_run(self, family: Family, parameters: dict[str, Array], values: Values, panel: Panel) -> _Evaluated:
        """A lemma at every row of a run, the row where it is worst for each instance."""
        link = self.target.link
        assert link is not None
        values = self._with_horizon(values, self.horizon)
        trace = self._trace(family, parameters, values)
        with np.errstate(all="ignore"):
            left, seen, keep = rows_of(link, self.target.label, trace)
            known = {**values, **seen}
            if link.right is None:
                whole: list[Any] = self.formula.terms(known)
                compared = list(panel.terms(known, whole))
            else:  # a constant that the lemma defines, which no change of a term touches
                derived: Any = self.formula.derived(known)
                whole = [link.right(derived)]
                compared = [whole] * len(panel.changes)
            sides = [balanced(left, terms) for terms in compared]
            rounding = rounding_of(link, trace)
            ratios = [np.log10(np.maximum(lower - rounding, 0.0) / upper) for lower, upper in sides]
        admissible, excess = (np.broadcast_to(a, left.shape) for a in self.formula.met(known))
        scores = self._scored(np.stack([np.broadcast_to(r, left.shape) for r in ratios]), admissible, excess)
        uppers = np.stack([np.broadcast_to(upper, left.shape) for _, upper in sides])
        fine = self._is_valid(parameters) & ~self._beyond(values)
        scores, guided = (
            np.where(fine & keep[:, None], of, REJECTED)
            for of in (scores, _guided(scores, uppers, balanced(left, whole)[1]))
        )
        rows = scores.argmax(axis=1)
        lengths = np.full(rows.shape, float(self.horizon))
        return _Evaluated(parameters, values, scores.max(axis=1), guided.max(axis=1), lengths, rows, seen)

    def _trace(self, family: Family, parameters: dict[str, Array], values: Values) -> Trace:
        assert self.target.chain is not None
        if not self.law:
            start = Start(x=family.start, y=family.parameters.get("estimate"))
            method, numbers = self._method(values, family.runs), self._numbers(family, values)
            return trace_of(self.target.chain, method, family, self.walked, start, numbers)
        lanes = self._lanes
        method, tall, start = self._noisy_run(parameters, values, family.runs).build(len(lanes))
        wide = {name: np.repeat(np.broadcast_to(v, (family.runs,)), len(lanes)) for name, v in values.items()}
        draws, numbers = lanes.draws(family.runs, self.clients), self._numbers(tall, wide)
        return trace_of(self.target.chain, method, tall, self.walked, start, numbers, draws, lanes.expectation)

    @property
    def walked(self) -> int:
        """Steps of the run of a lemma: what its length symbol stands for, where it has one."""
        return self.steps_of(self.horizon) if self.target.length is not None else self.horizon

    def _numbers(self, family: Family, values: Values) -> dict[str, Any]:
        """What the statistics of a chain are made of: one number per instance, whole numbers as they are."""
        found: dict[str, Any] = {}
        for name, binding in self.target.theorem.notation.bindings.items():
            quantity = binding.quantity
            if name in values and quantity.domain == "positive integer":
                found[name] = self._whole(quantity.name)
            elif name in values:
                found[name] = torch.from_numpy(np.broadcast_to(np.asarray(values[name], float), (family.runs,)).copy())
            elif quantity.name in self._certified(family):
                found[name] = self._certified(family)[quantity.name]
        return found

    @staticmethod
    def _certified(family: Family) -> Mapping[str, torch.Tensor]:
        return family.constants()

    # --- theorems ---

    def _judge(self, left: Array, values: Values, panel: Panel) -> tuple[Array, Array]:
        """The scores of every statement for every horizon, `(statements, horizons, count)`, from `(horizons, count)`.

        The second ones are guided.
        """
        terms = self.formula.terms(values)
        admissible, excess = (np.broadcast_to(a, left.shape) for a in self.formula.met(values))
        with np.errstate(all="ignore"):
            bounds = np.stack([np.broadcast_to(sum(t, np.zeros(())), left.shape) for t in panel.terms(values, terms)])
            ratios = np.where(bounds > 0, np.log10(left / bounds), np.nan)
        scores = self._scored(ratios, admissible, excess)
        return scores, _guided(scores, bounds, np.broadcast_to(sum(terms, np.zeros(())), left.shape))

    @staticmethod
    def _scored(ratios: Array, admissible: Array, excess: Array) -> Array:
        """Logarithms of ratios, where they are numbers and the conditions hold; else how far the conditions are from it."""
        return np.where(admissible & np.isfinite(ratios), ratios, -10.0 - 10.0 * excess)

    @staticmethod
    def _is_valid(parameters: Mapping[str, Array]) -> Array:
        """Whether all knots increase by more than rounding."""
        valid = np.asarray(True)
        for name, array in parameters.items():
            if name.endswith("knots"):
                gaps = np.diff(array, axis=-1)
                size = np.abs(array).max(axis=-1, keepdims=True)
                valid = valid & (gaps > 1e-12 * size).all(axis=tuple(range(1, array.ndim)))
        return valid

    def _family(self, parameters: Mapping[str, Array], count: int) -> Family:
        kind = FAMILIES[self.target.kind]
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(v[:, None] if v.ndim == 1 else v))
            for name, v in parameters.items()
        }
        return MetaFamily(tensors, self.settings["nu"]) if kind is MetaFamily else kind(tensors)

    def _constants(self, family: Family) -> Values:
        """What the instance certifies, by symbol; at least TINY, and what the statement sets where that is more."""
        certified = {name: tensor.numpy() for name, tensor in family.constants().items()}
        found: Values = {}
        for name, binding in self.target.symbols.items():
            if binding.quantity.role == "constant" and binding.quantity.name not in certified:
                words = self.target.theorem.notation.words_only("no instance can be made to have it")
                raise UncertifiedError(words or f"{name}: no instance has a known {binding.quantity.name}")
            if binding.quantity.role == "constant":
                found[name] = np.maximum(certified[binding.quantity.name], float(self.formula.fixed.get(name, TINY)))
        return found

    def _with_horizon(self, values: Values, horizon: Any) -> Values:
        lengths = {name: horizon for name, b in self.target.symbols.items() if b.quantity.name in _LENGTHS}
        return self.formula.complete({**values, **lengths})

    def _with_step(self, values: Values, step: _Step) -> Values:
        """The step size at a fraction of the largest one that the conditions admit; nothing where it is determined."""
        free = [
            n for n, b in self.target.symbols.items() if b.quantity.name in _STEP and n not in self.formula.determined
        ]
        if not free:
            return values
        count = len(step.fraction)
        horizon = FOREVER if self.stays else self.horizon

        def holds(power: Array) -> Array:
            return self.formula.admits(self._with_horizon({**values, **dict.fromkeys(free, 10.0**power)}, horizon))

        low, _ = bisected(holds, np.full(count, -_STEP_POWERS), np.full(count, _STEP_POWERS), _BISECTIONS)
        limited = 10.0**low * step.fraction * (1 - 1e-9)
        chosen = np.where(low < _STEP_POWERS - 1, limited, step.without_limit)
        return {**values, **dict.fromkeys(free, chosen)}

    # --- runs ---

    def _method(self, values: Values, count: int) -> Any:
        """The declared method with one grid point per lane. Without noise a batch of any size is one sample."""
        handed: Values = {}
        for name, value in values.items():
            binding = self.target.symbols.get(name)
            if binding is not None and binding.quantity.domain == "positive integer":
                handed[name] = self._whole(binding.quantity.name)
            else:
                filled = np.nan_to_num(np.broadcast_to(value, (count,)), nan=0.0, posinf=0.0, neginf=0.0)
                handed[name] = torch.from_numpy(np.maximum(filled, 0.0))
        for name, per in self._weights:
            most = torch.ones(1, dtype=torch.float64) if per is None else (1 - 1e-12) / handed[per].clamp_min(1e-300)
            handed[name] = torch.minimum(handed[name], most)
        handed |= {n: self.share for n, b in self.target.symbols.items() if b.quantity.name == "participation"}
        return self.target.method(handed)

    @cached_property
    def _weights(self) -> list[tuple[str, str | None]]:
        """The symbols that may be at most 1, or at most 1 in units of another: methods refuse larger ones."""
        limits = {name: AT_MOST.get(b.quantity.name) for name, b in self.target.symbols.items()}
        return [
            (n, self.target.named(limit.per)) for n, limit in limits.items() if limit is not None and not limit.over
        ]

    def _beyond(self, values: Values) -> Array:
        """Whether a method refuses the hyperparameters of an instance: no statement is about what it would do there."""
        sizes = [values[name] * (1.0 if per is None else values[per]) for name, per in self._weights if name in values]
        refused: Array = np.any(np.broadcast_arrays(np.asarray(False), *(size > 1 + 1e-9 for size in sizes)), axis=0)
        return refused

    def _whole(self, quantity: str) -> int:
        return {
            "communication_period": self.period,
            "clients": self.clients * (2**self.bits if self.law == "crowd" else 1),
            "iterations": self.horizon,
            "rounds": self.horizon,
        }.get(quantity, 1)

    def _run(self, family: Family, values: Values, steps: int, every: int) -> tuple[Array, Any]:
        """The squared gradients at t = 0, every, 2 every, ..., `(records, runs)`, and the last state."""
        method = self._method(self._with_horizon(values, self.horizon), family.runs)
        estimate = family.parameters.get("estimate")
        result = drive(
            method,
            family,
            steps=steps,
            start=Start(x=family.start, y=estimate),
            every=every,
            average=False,
            record={"gradient_sq": gradient_norm_squared},
        )
        return result.values["gradient_sq"].numpy(), result.state

    def _noisy_run(self, parameters: Mapping[str, Array], values: Values, count: int) -> Run:
        known = self._with_horizon(values, self.horizon)

        def build(lanes: int) -> tuple[Any, Family, Start]:
            tall = {name: np.repeat(array, lanes, axis=0) for name, array in parameters.items()}
            wide = {name: np.repeat(np.broadcast_to(v, (count,)), lanes) for name, v in known.items()}
            family = self._family(tall, count * lanes)
            start = Start(x=family.start, y=family.parameters.get("estimate"))
            return self._method(wide, count * lanes), family, start

        return Run(build, count, self.walked)

    @cached_property
    def signs(self) -> int:
        """How many signs a run asks for."""
        parameters, values, step = self._decode(UnitCube(np.full((1, self.size), _SOME_POINT)))
        family = self._family(parameters, 1)
        unknown = {name: float(value) for name, value in unseen(self.target.stated).items()}
        values = self._with_step({**unknown, **self._constants(family), **values}, step)
        return signs_of(self._noisy_run(parameters, values, 1), self.clients)

    @property
    def _lanes(self) -> Lanes:
        return {"moments": moments, "paths": paths}[self.law](self.signs)

    def _expected(self, parameters: Mapping[str, Array], values: Values, count: int) -> tuple[Array, Array]:
        squares, astray = expected_squares(self._noisy_run(parameters, values, count), self.clients, self._lanes)
        return squares[:: self._every()], astray

    def _long(
        self, parameters: Mapping[str, Array], values: Values, count: int
    ) -> tuple[list[Array], list[float], Array]:
        """The left side for lengths up to the longest, and how far the runs are from affine."""
        counted = Counted(self.period, self._every(), self.target.average == "after")
        rounds = self._powers
        linear = stretched(parameters)
        runs = [self._noisy_run(p, values, count) for p in (parameters, linear)]
        squares, astray = long_squares(runs[0], runs[1], self.clients, counted, rounds)
        squares = np.maximum(squares - floor_of(linear), 0.0)
        return list(squares), [float(self.horizon // rounds[-1] * number) for number in rounds], astray

    @cached_property
    def _powers(self) -> list[int]:
        """The rounds of the runs that are compared in powers of a round, the longest last."""
        longest = self.steps_of(self.horizon) // self.period
        doublings = (longest - 1).bit_length()
        fewer = [] if self.horizon_decides else [1 + 2**j for j in range(doublings % _LONGER, doublings, _LONGER)]
        return [*(number for number in fewer if number < longest), longest]

    def _endless(self, parameters: Mapping[str, Array], values: Values, count: int) -> tuple[Array, Array]:
        """The mean of E|grad F|^2 over an endless run with random rounds, and how far a round is from being affine there.

        The second is 0 where a round is affine, and contracts, on an interval that it keeps.
        """
        family = self._family(parameters, count)
        start = family.start.expand(count, 1)[:, 0].numpy()
        with np.errstate(all="ignore"):
            ends, _ = self._rounds(parameters, values, start, count)
            near = np.abs(ends - start).max(0)
            a = (self._rounds(parameters, values, start + near, count)[0] - ends) / near
            rests = start + (ends - start) / (1 - a)
            low, high = rests.min(0), rests.max(0)
            centre, reach = (low + high) / 2, (high - low) / 2 * (1 + 1e-3) + 1e-300
            (b, d), (top, e), (bottom, f) = (
                self._rounds(parameters, values, centre + side * reach, count) for side in (0, 1, -1)
            )
            found = RandomRound((top - b) / reach, (b - centre) / reach, d, e - d).mean_square()[0]
            bent = np.abs(top + bottom - 2 * b).max(0) / reach + (
                np.abs(e + f - 2 * d).max((0, 1)) / (np.abs(e - d) + np.abs(d)).max((0, 1))
            )
        contracts = ((a >= 0) & (a < 1)).all(0) & np.isfinite(found) & (reach > 1e-250)
        off = np.where(contracts & (bent < _AFFINE), 0.0, np.clip(np.nan_to_num(bent, nan=1.0), 1e-3, 1.0))
        return np.where(off > 0, 0.0, found), off

    def _rounds(self, parameters: Mapping[str, Array], values: Values, start: Array, count: int) -> tuple[Array, Array]:
        """Where a round from a start ends, `(choices, count)`, and the gradients on its way, `(choices, steps, count)`."""
        choices = masks(self.clients, round(self.share * self.clients), count)
        lanes = len(choices) // count
        method, tall, _ = self._noisy_run(parameters, values, count).build(lanes)
        begin = Start(x=torch.from_numpy(np.repeat(start, lanes))[:, None])
        passed, every = [], self._every()
        for step in walk(method, tall, self.period, 1, start=begin, draws=Chosen(choices)):  # type: ignore[arg-type]
            if step.t % every == 0:
                passed.append(tall.gradient(step.before.average)[:, 0].numpy())
        ends = step.after.average[:, 0].numpy().reshape(count, lanes).T
        return ends, np.stack(passed).reshape(len(passed), count, lanes).transpose(2, 0, 1)

    def _crowd_round(self, parameters: Mapping[str, Array], values: Values, count: int) -> tuple[Array, Array]:
        """Where a round of infinitely many clients ends, and the mean of the squared gradients on its way, `(count,)`."""
        family = self._family(laid_out(parameters, FAMILIES[self.target.kind].SHAPES, self.bits), count)
        method = self._method(self._with_horizon(values, self.horizon), count)
        draws: Any = EveryPath(self.clients, self.bits, count)
        squares, every = [], self._every()
        for step in walk(method, family, self.period, 1, start=Start(x=family.start), draws=draws):
            if step.t % every == 0:
                squares.append(family.gradient(step.before.average)[:, 0].square().numpy())
        return step.after.average[:, 0].numpy(), np.stack(squares).mean(0)

    @cached_property
    def bits(self) -> int:
        """Signs that one client asks for in a round."""
        search_space = replace(self, law="paths")
        parameters, values, step = search_space._decode(UnitCube(np.full((1, self.size), _SOME_POINT)))
        values = search_space._with_step(
            {**search_space._constants(search_space._family(parameters, 1)), **values}, step
        )
        run = search_space._noisy_run(parameters, values, 1)
        return signs_of(replace(run, steps=self.period), self.clients) // self.clients

    @property
    def share(self) -> float:
        """The part of the clients that run a round."""
        return 1 / self.clients if self.law == "rounds" else 1.0

    def _every(self) -> int:
        whole = {
            n: self._whole(b.quantity.name)
            for n, b in self.target.symbols.items()
            if b.quantity.domain == "positive integer"
        }
        return self.target.every(whole) if self.target.every else 1

    def steps_of(self, horizon: int) -> int:
        """Local steps of a run whose length symbol has this value."""
        whole = {n: self._whole(b.quantity.name) for n, b in self.target.symbols.items()}
        lengths = {n: horizon for n, b in self.target.symbols.items() if b.quantity.name in _LENGTHS}
        return self.target.steps({**whole, **lengths})

    @cached_property
    def horizon_decides(self) -> bool:
        """Whether a determined hyperparameter depends on the length of the run."""
        lengths = {b.symbol for b in self.target.symbols.values() if b.quantity.name in _LENGTHS}
        expand = self.formula.statement.expand
        return any(expand(expr).free_symbols & lengths for expr in self.formula.determined.values())

    def _left(self, family: Family, values: Values) -> tuple[list[Array], list[float]]:
        """The left side for one or several horizons."""
        every = self._every()
        if self.stays:
            squares, _ = self._run(family, values, self.period, every)
            return [squares[: self.period // every].mean(0)], [FOREVER]
        squares, _ = self._run(family, values, self.steps_of(self.horizon), every)
        return self._averaged(squares)

    def _averaged(self, squares: Array) -> tuple[list[Array], list[float]]:
        """The means over the horizons that one run gives, from the squares at t = 0, every, ..."""
        every, first = self._every(), 1 if self.target.average == "after" else 0
        sums = squares[first:].cumsum(0)
        horizons = [self.horizon] if self.horizon_decides else self._ends()
        counts = [self.steps_of(h) // every for h in horizons]
        return [sums[n - 1] / n for n in counts], [float(h) for h in horizons]

    def _ends(self) -> list[int]:
        """Where one run is compared: at powers of two that end a round, and at its end."""
        doubling = [2**j for j in range(self.horizon.bit_length()) if self.steps_of(2**j) % self.period == 0]
        return sorted({h for h in (*doubling, self.horizon) if self.steps_of(h) >= self.period})

    def _at_rest(self, parameters: dict[str, Array], values: Values, count: int) -> tuple[dict[str, Array], Array]:
        """Parameters for which a round ends where it began, found by bisection, and how far the ends are from allowing it.

        The second is 0 where a round moves both ends inwards, else a number up to 1.
        """
        low, high = -np.ones(count), np.ones(count)
        at_low, at_high = self._moved(parameters, values, low), self._moved(parameters, values, high)
        wrong = np.maximum(np.maximum(-at_low, at_high), 0.0)
        size = np.abs(at_low) + np.abs(at_high)
        astray = np.where(
            (at_low > 0) & (at_high < 0), 0.0, np.maximum(np.nan_to_num(wrong / (size + 1e-300), nan=1.0), 1e-3)
        )
        for _ in range(_REST_BISECTIONS):
            middle = (low + high) / 2
            ahead = self._moved(parameters, values, middle) > 0
            low, high = np.where(ahead, middle, low), np.where(ahead, high, middle)
        astray = np.where(self._is_settled(parameters, low, high), astray, np.maximum(astray, 1e-3))
        return self._shifted(parameters, (low + high) / 2), astray

    def _is_settled(self, parameters: dict[str, Array], low: Array, high: Array) -> Array:
        """Whether the gradient is far larger than what bisection leaves open: else it is nothing but that."""
        ends = [self._family(self._shifted(parameters, shift), len(shift)) for shift in (low, high)]
        a, b = (family.gradient(family.start.expand(family.runs, 1))[:, 0].numpy() for family in ends)
        settled: Array = np.abs(a - b) <= 0.01 * np.abs(a + b)
        return settled

    def _moved(self, parameters: dict[str, Array], values: Values, shift: Array) -> Array:
        """How far a round moves the start of the shifted instances."""
        family = self._family(self._shifted(parameters, shift), len(shift))
        if self.law == "crowd":
            end, _ = self._crowd_round(self._shifted(parameters, shift), values, len(shift))
            return end - family.start.expand(len(shift), 1)[:, 0].numpy()
        method = self._method(self._with_horizon(values, self.horizon), family.runs)
        state = drive(method, family, steps=self.period, start=Start(x=family.start), average=False).state
        assert state is not None
        moved: Array = (state.average - family.start)[:, 0].numpy()
        return moved

    @property
    def schedules(self) -> bool:
        """Whether the statement prescribes whole numbers."""
        return bool(whole_choices(self.target, self.formula))

    @property
    def keeps_models_only(self) -> bool:
        """Whether the method carries nothing from round to round but the models."""
        parameters, values, step = self._decode(UnitCube(np.full((1, self.size), _SOME_POINT)))
        family = self._family(parameters, 1)
        values = self._with_step({**self._constants(family), **values}, step)
        _, state = self._run(family, values, 1, 1)
        return {f.name for f in fields(state)} <= {"x", "active"}


def _guided(scores: Array, bounds: Array, whole: Array) -> Array:
    """The scores where what a change takes away is most of the bound; elsewhere the share of it, below all of those.

    Without this a search stays where the bound is tight for another reason, and never sees that a term is missing.
    """
    with np.errstate(all="ignore"):
        share = np.log10(np.maximum(1 - bounds / whole, 1e-15) / _MOST)
    led = _LED + (_LED - _FAR) * np.maximum(share / 15, -0.99)
    return np.where((share < 0) & (scores > _FAR) & ~np.isnan(share), led, scores)


def whole_choices(target: Target, formula: Formula) -> list[str]:
    """The whole numbers that a statement's schedule prescribes for a length of the run."""
    named, schedule = target.stated, formula.statement.schedule
    lengths = {b.symbol for b in named.values() if b.quantity.name in _LENGTHS}
    whole = [n for n in schedule if n in named and named[n].quantity.domain == "positive integer"]
    return [n for n in whole if formula.statement.expand(schedule[n]).free_symbols & lengths]


def least_counts(target: Target, formula: Formula, clients: int) -> dict[str, float]:
    """The free whole numbers at their least: the clients of the instance, batches of one."""
    return {
        name: float(clients if binding.quantity.name == "clients" else 1)
        for name, binding in target.symbols.items()
        if binding.quantity.role == "hyperparameter"
        and binding.quantity.domain == "positive integer"
        and name not in formula.determined
        and binding.quantity.name not in _LENGTHS
    }
