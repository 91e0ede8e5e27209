"""A kind's space with the whole numbers fixed: from points of the unit cube to instances, values of every symbol, and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ...algorithms import drive
from ...algorithms.engine.method import Start
from ...bounds.evaluation.weights import names_in, weight_in_doubles
from ...bounds.language.dimension import ONE
from ...bounds.language.metrics import AVERAGED, MINIMUM, WEIGHTED
from ...bounds.language.quantities import DOMAINS
from ...bounds.language.reading import InputError
from ...ranges import AT_MOST, AtMost
from ...synthetic.families.piecewise import FAMILIES, Family, MetaFamily
from ..exact.statistic import Statistic
from .declared import Target
from .edges import EDGES, POWER, edge, stepped_by
from .formula import LENGTHS, Formula
from .laws import FOREVER, NONE, Law
from .lemma import unseen
from .noise import MEASURED, AtAverage, InDoubles, Lanes, Run, signs_of
from .noisy_instances import with_noise
from .properties import imposing
from .spaces import SILENT_BOWL, Space
from .unit_cube import UnitCube
from .units import SAME, Units, in_unit

Array = np.ndarray
Values = dict[str, Any]

TINY = 1e-15
"""Declared value of a positive constant that is 0 on the instance."""
_MOST_GROUP = 6
"""Clients of a group with noise, as a power of 10."""
_SOME_POINT = 0.65
"""A value of every coordinate at which nothing vanishes: there it is seen what a method keeps and asks for."""
_LEAST_WEIGHT = 4
"""A weight of what is new in a moving average is 1 for half of the coordinate, else down to ten to minus this."""
OF_A_MATRIX = ("mixing_contraction", "spectral_gap")
"""Constants of a method's matrix, which depend on the number of clients."""
_LEAST_GAP, _GAP_OF_ONE = 3.0, 0.5
"""Gaps of a matrix that is chosen go down to ten to minus the first; they are 1 for the part of the range above 0, up to the second."""
_NEARLY_ONE = 0.999
"""The largest value that is tried of a number that is less than 1."""


class UncertifiedError(InputError):
    """A statement has a constant that no instance is known to have."""


@dataclass(frozen=True)
class Step:
    """How a step size is chosen: at a fraction of its limit, or a size where the conditions set none."""

    fraction: Array
    without_limit: Array


@dataclass(frozen=True, eq=False)
class InstanceSpace:
    """A space, a number of clients and the whole numbers that a batch shares.

    Args:
        period: local steps per round.
        horizon: the longest value of the symbol for the length of a run.
        settings: further whole numbers of the family (the fine-tuning steps).
        stays: the run is endless: from a start that a round maps to itself, which is solved for, or in closed moments.
        hidden: value of a constant that the paper hides in O(.).
        law: how expectations are taken.
        units: of the instances, in powers of 2 of those that they are made in.
        least: symbol -> what a constant is declared as at least.
        counts: whole numbers of the method alone, by quantity: the terms of a series.
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
    law: Law = NONE
    units: Units = SAME
    least: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        units = "" if self.units == SAME else ", in other units"
        terms = "".join(f", {number} {quantity.replace('_', ' ')}" for quantity, number in self.counts.items())
        return f"{self.space.name}: {self.clients} clients, rounds of {self.period}{terms}{self.law.described(self)}{units}"

    @cached_property
    def size(self) -> int:
        """Coordinates of a point."""
        cube = UnitCube()
        self.decode(cube)
        return cube.used

    def _imposed(self, parameters: dict[str, Array]) -> dict[str, Array]:
        """Parameters with the properties that the theorem assumes, or that follow."""
        convex = ("convex",) if self.target.named("strong_convexity") else ()
        return imposing((*self.target.assumed, *convex))(parameters)

    def shifted(self, parameters: dict[str, Array], shift: Array) -> dict[str, Array]:
        assert self.space.shifted is not None
        return self._imposed(self.space.shifted(parameters, shift))

    def decode(self, cube: UnitCube) -> tuple[dict[str, Array], Values, list[Step]]:
        """Parameters, values of the free symbols, and how the step sizes are chosen: one entry at least."""
        parameters = self.space.decode(cube, self.clients, self.settings)
        if self.law.adds_noise and not self.space.own_noise:
            parameters = with_noise(cube, parameters)
        parameters = in_unit(self.target.kind, parameters, cube)
        parameters = self._imposed(self.units.of(self.target.kind, parameters))
        values: Values = {}
        for name, binding in self.target.symbols.items():
            if binding.quantity.role == "hyperparameter" and name not in self.formula.determined:
                number = self._hyperparameter(cube, binding.quantity.name, binding.quantity.domain, parameters)
                if number is not None:
                    is_own = binding.quantity.name == "fine_tuning_step_size"
                    values[name] = number * (1.0 if is_own else self.units.times(binding.quantity.dimension))
        steps = [self.target.symbols[name].quantity.dimension for name in self._steps] or [ONE]
        return parameters, values, [Step(cube.limit(4), cube.log(-3, 3) * self.units.times(unit)) for unit in steps]

    def numbers(self, points: Array) -> tuple[dict[str, Array], Values]:
        """Parameters and values of all symbols but the length of the run, `(count,)` each."""
        parameters, values, steps = self.decode(UnitCube(points))
        unknown = {name: float(value) for name, value in unseen(self.target.stated).items()}
        constants = self.constants(self.family(parameters, len(points)))
        return parameters, self.with_steps({**unknown, **constants, **values}, steps)

    @cached_property
    def example(self) -> Run:
        """The run of one instance."""
        parameters, values = self.numbers(np.full((1, self.size), _SOME_POINT))
        return self.noisy_run(parameters, values, 1)

    @cached_property
    def signs(self) -> int:
        """How many signs a run asks for."""
        return signs_of(self.example, self.clients)

    @cached_property
    def path_signs(self) -> int:
        """The same with the steps that a lemma looks ahead: of a path every sign is known."""
        ahead = self.target.chain.extra_steps if self.target.link is not None and self.target.chain is not None else 0
        return signs_of(replace(self.example, steps=self.walked + ahead), self.clients) if ahead else self.signs

    @cached_property
    def copies(self) -> int:
        """Clients that each client of an instance is laid out as."""
        return self.law.copies(self)

    @property
    def share(self) -> float:
        """The part of the clients that run a round."""
        return self.law.share(self.clients)

    @property
    def draws(self) -> int:
        """Samples that a client draws in a step, at most: those along the fine-tuning steps of a meta problem; elsewhere about two."""
        return max(2, 1 + 2 * self.settings.get("nu", 0))

    @property
    def step_cost(self) -> int:
        """How many times as long a step takes as elsewhere: each draw of a meta problem is a call of a piecewise polynomial (measured)."""
        return 3 * self.draws if "nu" in self.settings else 1

    def _hyperparameter(self, cube: UnitCube, quantity: str, domain: str, parameters: Mapping[str, Array]) -> Any:
        if quantity in EDGES or quantity in LENGTHS:
            return None  # set by the limit, and by the run
        fixed = {
            "communication_period": self.period,
            "participation": self.share,
            "hidden_constant": self.hidden,
            "compression_variance": 1,  # a compressor with one fair choice for each coordinate
            "fine_tuning_steps": self.settings.get("nu", 0),
            **self.counts,
        }
        if quantity in fixed:
            return float(fixed[quantity])
        if quantity in OF_A_MATRIX:
            return self._of_the_matrix(cube, quantity)
        if quantity == "fine_tuning_step_size":
            return parameters["alpha"]
        if quantity == "clients" and self.law.infinite:
            return self.clients * FOREVER
        if quantity == "clients" and self.target.measured and not self.target.is_chosen:
            return float(self.clients)  # the matrix is one of so many clients
        if quantity == "clients":
            return self.clients * (self._rational(cube.whole(_MOST_GROUP)) if self.has_groups else self._count(cube, 5))
        if domain == "positive integer":
            return self._count(cube, 9)
        if DOMAINS[domain].most == 1:
            return cube.limit(_LEAST_WEIGHT) * (_NEARLY_ONE if DOMAINS[domain].open else 1.0)
        if quantity in AT_MOST and AT_MOST[quantity] == AtMost(why=AT_MOST[quantity].why):
            return cube.limit(_LEAST_WEIGHT)  # at most 1
        return cube.log(-9.5, -1) if quantity == "difference_step" else cube.log(-2.5, 2.5)

    def _of_the_matrix(self, cube: UnitCube, quantity: str) -> Any:
        """A number that a matrix of the clients is chosen to have; where the theorem names the matrix, what it has for so many clients."""
        if quantity not in self.target.measured.values():
            raise UncertifiedError(
                f"the {quantity} is that of a matrix of the clients, and the method says of none what it has"
            )
        if not self.target.is_chosen:
            return self.target.method(dict.fromkeys(self.target.symbols, 1)).measure(self.clients)[quantity]
        gap = np.minimum(cube.log(-_LEAST_GAP, _GAP_OF_ONE), 1.0)
        return gap if quantity == "spectral_gap" else 1 - gap

    def _count(self, cube: UnitCube, largest: float) -> Any:
        """A free whole number; a power of 4 where a schedule with roots is run in powers, so that they are rational."""
        return 1.0 if self._counts_are_least else self._rational(cube.whole(largest))

    def _rational(self, number: Array) -> Array:
        """The number, or the nearest power of 4 where a schedule may have a root of it."""
        is_rooted = self.law.rational_counts and self.horizon_decides
        return 4.0 ** np.round(np.log(number) / np.log(4)) if is_rooted else number

    @property
    def has_groups(self) -> bool:
        """Whether each client stands for a group with independent noise."""
        own = self.space.own_noise  # leads to where functions bend, which is decided sign by sign
        return self.law.has_groups and self.is_random and not (own or self.target.link or self.schedules)

    @cached_property
    def _counts_are_least(self) -> bool:
        """Where the statement prescribes whole numbers, those that are free are at their least, so that it does.

        So they are along the run of a lemma, whose statistics may enumerate a batch, and where there is noise: a batch is
        one sample.
        """
        return self.target.link is not None or self.is_random or self.schedules

    @property
    def is_random(self) -> bool:
        return self.law.has_noise and self.space.name != SILENT_BOWL

    @staticmethod
    def is_valid(parameters: Mapping[str, Array]) -> Array:
        """Whether all knots increase by more than rounding."""
        valid = np.asarray(True)
        for name, array in parameters.items():
            if name.endswith("knots"):
                gaps = np.diff(array, axis=-1)
                size = np.abs(array).max(axis=-1, keepdims=True)
                valid = valid & (gaps > 1e-12 * size).all(axis=tuple(range(1, array.ndim)))
        return valid

    def family(self, parameters: Mapping[str, Array], count: int) -> Family:
        kind = FAMILIES[self.target.kind]
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(v[:, None] if v.ndim == 1 else v))
            for name, v in parameters.items()
        }
        return MetaFamily(tensors, self.settings["nu"]) if kind is MetaFamily else kind(tensors)

    def constants(self, family: Family) -> Values:
        """What the instance certifies, by symbol; at least TINY, and what the statement sets where that is more."""
        certified = {name: tensor.numpy() for name, tensor in family.constants().items()}
        found: Values = {}
        for name, binding in self.target.symbols.items():
            quantity = binding.quantity
            if quantity.role == "constant" and quantity.name not in certified:
                words = self.target.theorem.notation.words_only("no instance can be made to have it")
                raise UncertifiedError(words or f"{name}: no instance has a known {quantity.name}")
            if quantity.role == "constant" and quantity.more_is_stronger:
                known = certified[quantity.name]
                least = float(self.formula.fixed.get(name, TINY))
                found[name] = np.where(known >= least, least if name in self.formula.fixed else known, np.nan)
            elif quantity.role == "constant":
                least = self.least.get(name, TINY)
                found[name] = np.maximum(certified[quantity.name], float(self.formula.fixed.get(name, least)))
        return found

    def lengths(self, horizon: Any) -> Values:
        """The symbol for the length of a run with its value."""
        return {name: horizon for name, b in self.target.symbols.items() if b.quantity.name in LENGTHS}

    def with_horizon(self, values: Values, horizon: Any) -> Values:
        return self.formula.complete({**values, **self.lengths(horizon)})

    @cached_property
    def _steps(self) -> dict[str, int]:
        """The step sizes that are free, with their sides, in the order in which they are set."""
        return {n: side for n, side in stepped_by(self.target.symbols) if n not in self.formula.determined}

    def with_steps(self, values: Values, steps: Sequence[Step]) -> Values:
        """Step sizes at a fraction of the largest that the conditions admit, or a multiple of the least; those determined are left out."""
        later, known = dict(self._steps), dict(values)
        horizon = FOREVER if self.stays else self.horizon
        for (name, side), step in zip(self._steps.items(), steps, strict=False):
            del later[name]
            end = edge(self.formula, self.lengths(horizon) | known, name, side, later, len(step.fraction))
            limited = 10.0 ** (side * end) * step.fraction**side * (1 - 1e-9) ** side
            known[name] = np.where(end < POWER - 1, limited, step.without_limit)
        return known

    # --- runs ---

    def method(self, values: Values, count: int) -> Any:
        """The declared method with one grid point per lane. Without noise a batch of any size is one sample."""
        handed: Values = {}
        for name, value in values.items():
            binding = self.target.symbols.get(name)
            if binding is not None and binding.quantity.domain == "positive integer":
                handed[name] = self.whole(binding.quantity.name)
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

    def beyond(self, values: Values) -> Array:
        """Whether a method refuses the hyperparameters of an instance: no statement is about what it would do there."""
        sizes = [values[name] * (1.0 if per is None else values[per]) for name, per in self._weights if name in values]
        refused: Array = np.any(np.broadcast_arrays(np.asarray(False), *(size > 1 + 1e-9 for size in sizes)), axis=0)
        return refused

    def whole(self, quantity: str) -> int:
        return {
            "communication_period": self.period,
            "clients": self.clients * self.copies,
            "iterations": self.horizon,
            "rounds": self.horizon,
        }.get(quantity, self.counts.get(quantity, 1))

    def run(self, family: Family, values: Values, steps: int, every: int) -> tuple[Array, Any]:
        """What is measured at t = 0, every, 2 every, ..., `(records, runs)`, and the last state."""
        method = self.method(self.with_horizon(values, self.horizon), family.runs)
        estimate, recorded = family.parameters.get("estimate"), self.measure.recorded
        if self.statistic.over == AVERAGED:
            recorded = AtAverage(recorded, self.weights(values, steps // every + 1, family.runs))
        result = drive(
            method,
            family,
            steps=steps,
            start=Start(x=family.start, y=estimate),
            every=every,
            average=False,
            record={"measured": recorded},
        )
        seen = result.values["measured"].numpy() - np.asarray(self.measure.rounding(family))
        return np.maximum(seen, 0.0), result.state

    def noisy_run(self, parameters: Mapping[str, Array], values: Values, count: int) -> Run:
        known = self.with_horizon(values, self.horizon)

        def build(lanes: int) -> tuple[Any, Family, Start]:
            tall = {name: np.repeat(array, lanes, axis=0) for name, array in parameters.items()}
            wide = {name: np.repeat(np.broadcast_to(v, (count,)), lanes) for name, v in known.items()}
            family = self.family(tall, count * lanes)
            start = Start(x=family.start, y=family.parameters.get("estimate"))
            return self.method(wide, count * lanes), family, start

        weights = self.weights(values, self.walked + 1, count) if self.statistic.over == AVERAGED else None
        return Run(build, count, self.walked, self.measure, weights)

    @property
    def measure(self) -> InDoubles:
        """What is taken of a model."""
        return MEASURED[self.target.theorem.metric.of]

    @cached_property
    def statistic(self) -> Statistic:
        """What the left side takes of a run."""
        return self.target.statistic(self._whole_numbers)

    def steps_of(self, horizon: int) -> int:
        """Local steps of a run whose length symbol has this value."""
        return self.target.steps({**self._whole_numbers, **self.lengths(horizon)})

    @cached_property
    def _whole_numbers(self) -> dict[str, int]:
        """Symbol -> the whole number that all instances of a batch share."""
        return {n: self.whole(b.quantity.name) for n, b in self.target.symbols.items()}

    @cached_property
    def horizon_decides(self) -> bool:
        """Whether a determined hyperparameter depends on the length of the run."""
        lengths = {b.symbol for b in self.target.symbols.values() if b.quantity.name in LENGTHS}
        expand = self.formula.statement.expand
        return any(expand(expr).free_symbols & lengths for expr in self.formula.determined.values())

    @property
    def walked(self) -> int:
        """Steps of the run of a lemma: what its length symbol stands for, where it has one."""
        return self.steps_of(self.horizon) if self.target.length is not None else self.horizon

    def weights(self, values: Values, times: int, count: int) -> Array:
        """The weights of the iterates at t = 0, every, ..., `(times, count)`; 0 at one of which the metric does not speak."""
        metric, known = self.target.theorem.metric, self.with_horizon(values, self.horizon)
        names = names_in(metric)
        at = np.arange(times)[:, None] * self.statistic.every
        numbers = [np.broadcast_to(np.asarray(known[name], dtype=float), (count,)) for name in names]
        with np.errstate(all="ignore"):
            found = weight_in_doubles(metric)(at.astype(float), *numbers)
        made: Array = np.broadcast_to(np.asarray(found, dtype=float), (times, count)).copy()
        if self.statistic.after:
            made[0] = 0.0
        return made

    def over_times(self, seen: Array, values: Values, lanes: int = 1) -> tuple[list[Array], list[float]]:
        """The statistic over the horizons that one run gives, from what is measured at t = 0, every, ..., `(records, ...)`; each instance
        has so many lanes beside each other."""
        horizons = [self.horizon] if self.horizon_decides else self.ends()
        counts = [self.steps_of(h) // self.statistic.every for h in horizons]
        counted = seen[1:] if self.statistic.after else seen
        if self.statistic.is_last:
            found = [seen[n] for n in counts]
        elif self.statistic.over == MINIMUM:
            found = [np.minimum.accumulate(counted)[n - 1] for n in counts]
        elif self.statistic.over == AVERAGED:
            found = [np.nan_to_num(counted[n - 1], posinf=0.0) for n in counts]
        elif self.statistic.over == WEIGHTED:
            weights = np.repeat(self.weights(values, len(seen), seen.shape[1] // lanes), lanes, axis=1)
            weights = weights[1:] if self.statistic.after else weights
            with np.errstate(all="ignore"):
                means = (weights * counted).cumsum(0) / weights.cumsum(0)
            found = [np.nan_to_num(means[n - 1], posinf=0.0) for n in counts]
        else:
            sums = counted.cumsum(0)
            found = [sums[n - 1] / n for n in counts]
        return found, [float(h) for h in horizons]

    def over_lanes(self, seen: Array, lanes: Lanes, values: Values) -> tuple[list[Array], list[float]]:
        """The same of runs with noise, `(records, instances * lanes)`: of expectations, or what runs exceed with a probability."""
        failure = self.target.theorem.metric.failure
        if not failure:
            return self.over_times(np.maximum(lanes.expectation(seen), 0.0), values)
        found, horizons = self.over_times(seen, values, len(lanes))
        ordered = [np.sort(each.reshape(-1, len(lanes)), axis=1)[:, ::-1] for each in found]
        above = np.floor(np.broadcast_to(values[failure], len(ordered[0])) * len(lanes) + 1e-9).astype(int)
        return [np.take_along_axis(each, above[:, None], axis=1)[:, 0] for each in ordered], horizons

    def ends(self) -> list[int]:
        """Where one run is compared: at powers of two that end a round, and at its end."""
        doubling = [2**j for j in range(self.horizon.bit_length()) if self.steps_of(2**j) % self.period == 0]
        return sorted({h for h in (*doubling, self.horizon) if self.steps_of(h) >= self.period})

    def round_end(self, parameters: dict[str, Array], values: Values, count: int) -> Array:
        """Where a round without noise ends that begins at the start of each instance, `(count,)`."""
        family = self.family(parameters, count)
        method = self.method(self.with_horizon(values, self.horizon), family.runs)
        state = drive(method, family, steps=self.period, start=Start(x=family.start), average=False).state
        assert state is not None
        ends: Array = state.average[:, 0].numpy()
        return ends

    @property
    def schedules(self) -> bool:
        """Whether the statement prescribes whole numbers."""
        return bool(whole_choices(self.target, self.formula))

    @property
    def keeps_models_only(self) -> bool:
        """Whether the method carries nothing from round to round but the models, which are those of one model."""
        method, family, start = replace(self, clients=max(2, self.clients)).example.build(1)
        state = drive(method, family, steps=self.period, start=start, average=False).state
        assert state is not None
        is_one = torch.allclose(state.x, state.x[:, :1].expand_as(state.x), rtol=1e-9)
        return is_one and {f.name for f in fields(state)} <= {"x", "active"}

    @property
    def repeats_rounds(self) -> bool:
        """Whether every round does what the first one does: no hyperparameter depends on the step."""
        return not self.example.build(1)[0].is_scheduled


def whole_choices(target: Target, formula: Formula) -> list[str]:
    """The whole numbers that a statement's schedule prescribes for a length of the run."""
    named, schedule = target.stated, formula.statement.schedule
    lengths = {b.symbol for b in named.values() if b.quantity.name in LENGTHS}
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
        and binding.quantity.name not in LENGTHS
    }
