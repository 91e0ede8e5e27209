"""Runs of a derivation on concrete functions, with which all of its assumptions and conditions hold, in several styles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from itertools import chain, combinations, product
from math import prod
from random import Random
from typing import Any

import numpy as np
import sympy as sp
from flint import fmpq

from ..evaluation.enclosure import enclose, fmpq_of
from ..evaluation.evaluate import fraction_of
from ..evaluation.weights import step_weights
from ..language.bounding import Form, implied
from ..language.metrics import AVERAGED, LAST, MINIMUM
from ..language.reading import InputError
from ..language.theorem import Condition
from .finite import FAIR, LAW, Component, Run, Vector, evaluated, in_reverse, plus, root, sum_of_sizes, times
from .instances import IDENTITY, ONE, TINY, TURNED, ZERO, Functions, Shape, constant, part_of, turned
from .kernel import (
    CLOCK,
    Bounded,
    Index,
    Length,
    Loop,
    Mean,
    PolyakLojasiewicz,
    ProofError,
    Reader,
    Setting,
    Signomial,
    Start,
    StrongConvexity,
    Sum,
    Term,
    Var,
    sq,
)
from .kernel import (
    ONE as SINGLE,
)
from .kernel.assumptions import OF_FUNCTIONS
from .kernel.derivation import Progress
from .kernel.problem import measured, metric_points
from .kernel.region import log_of_inverse, sum_of_powers, whole_power
from .kernel.scalars import Value
from .kernel.sequences import number, param_of
from .kernel.setting import Function
from .kernel.signomial import Param, signomial
from .kernel.terms import shifted, variables


@dataclass(frozen=True)
class Style:
    """What kind of instance: sizes, and where its functions are nearly as bad as their constants allow.

    Args:
        where: the models start where the bump is straight (core), bends (edge) or is flat (far); anywhere: at random.
        line: everything happens along one direction.
        saturated: the outer gradient is at its bound.
        opposed: two clients that differ as much as possible from their mean; otherwise identical or (mixed) any clients.
        curved: whether the inner map and its Jacobian bend noticeably.
        multiplicative: the noise multiplies the bump; otherwise it is added.
        scale: size of the inner map, and so of its Lipschitz constant.
        loud: how many clients have noise.
        ends: a long run, of which only its start and its end are compared.
        left_out: how many clients are not in a random set. delay: how many steps old a gradient is.
        steep: by how much plain gradients are steeper than other functions, so that their steps are longer.
        apart: by which share the curvatures of two opposed clients differ from their mean.
        enumerated: all outcomes are; otherwise a few paths are followed, and the number of samples does not matter.
        tuning: step of the fine-tuning.
        longest: steps are tried from 2^longest down.
        seed: of what is random in it.
        tent: the Hessian of a plain objective has its kink in the middle, wide enough for differences and for steps of their size.
    """

    name: str
    where: str = "core"
    line: bool = True
    mixed: bool = False
    saturated: bool = False
    opposed: bool = False
    curved: bool = False
    multiplicative: bool = False
    scale: Fraction = Fraction(1)
    clients: int = 2
    loud: int = 2
    b: int = 1
    m: int = 1
    B: int = 1
    period: int = 2
    horizon: int = 1
    ends: bool = False
    left_out: int = 1
    delay: int = 1
    steep: int = 1
    apart: Fraction = Fraction(1, 2)
    tent: bool = False
    longest: int = 0
    enumerated: bool = True
    tuning: Fraction = Fraction(1)
    seed: int = 0

    @property
    def sizes(self) -> dict[str, int | Fraction]:
        return {name: getattr(self, field) for name, (field, _) in FIELDS.items()} | {
            "difference_step": Fraction(1) if self.mixed else Fraction(2, TENT) if self.tent else Fraction(1, 64),
            "rounds": Fraction(self.horizon, self.period),
            "failure_probability": Fraction(1, 4) if self.mixed else Fraction(3, 4),
            "participation": Fraction(self.clients - self.left_out, self.clients),
            "compression_variance": self.compression**2,
            "compression_accuracy": 1 - self.remains**2,
            "mixing_contraction": self.remains,
            "spectral_gap": 1 - self.remains,
        }

    @property
    def compression(self) -> Fraction:
        """c, where a compressor makes (1 + c w) v of v, for a sample w with mean 0 and variance 1."""
        return Fraction(1, 2) if self.multiplicative else Fraction(1)

    @property
    def remains(self) -> Fraction:
        """The part of a vector that a compressor without a sample leaves out, and that of the distance from the mean that mixing leaves."""
        return Fraction(3, 5) if self.multiplicative else Fraction(4, 5)

    def seeded(self, seed: int) -> Style:
        """Another draw of what is random, with steps as long as the conditions allow."""
        return replace(self, name=f"{self.name}, seed {seed}", seed=seed, longest=6, tuning=Fraction(5, 16))


FIELDS: dict[str, tuple[str, int]] = {
    "clients": ("clients", 3),
    "batch_size": ("b", 4),
    "inner_batch_size": ("m", 4),
    "outer_batch_size": ("m", 0),
    "hessian_batch_size": ("m", 0),
    "initial_batch_size": ("B", 4),
    "communication_period": ("period", 16),
    "iterations": ("horizon", 256),
    "fine_tuning_steps": ("horizon", 0),
    "fine_tuning_step_size": ("tuning", 0),
    "delay": ("delay", 4),
}
"""Quantity -> the field of a style that is its value, and the largest number to which a condition may set it; 0 where none may."""
SMALL, LARGE = Fraction(1, 1000), Fraction(1000)
STYLES = (
    Style("straight"),
    Style("straight, small", scale=SMALL, horizon=2),
    Style("straight, large", scale=LARGE, horizon=2, delay=2),
    Style("bent", "edge", saturated=True, curved=True),
    Style("bent, large", "edge", saturated=True, curved=True, scale=LARGE, horizon=2),
    Style("bent apart", "edge", saturated=True, curved=True, opposed=True, loud=0, horizon=2),
    Style("straight apart", opposed=True, loud=0, horizon=2),
    Style("bent with noise", "edge", saturated=True, curved=True, multiplicative=True),
    Style("steep with noise", curved=True, multiplicative=True),
    Style("descent", loud=0, horizon=256, ends=True, delay=2),
    Style("flat alike", "far", saturated=True, curved=True),
    Style("flat", "far", saturated=True, curved=True, multiplicative=True, opposed=True),
    Style("unlike", saturated=True, curved=True, multiplicative=True, opposed=True, horizon=2),
    Style("batches", "anywhere", line=False, mixed=True, curved=True, b=2, m=1, B=3, loud=1, clients=3, horizon=2),
    Style("inner batches", "anywhere", line=False, mixed=True, curved=True, m=2, B=2, loud=1, clients=3, horizon=2),
    Style("rounds", "anywhere", line=False, mixed=True, curved=True, loud=1, clients=3, horizon=3, delay=2),
    Style("every step", "anywhere", line=False, mixed=True, curved=True, clients=2, period=1, horizon=2, left_out=0),
    Style("three clients", "anywhere", line=False, mixed=True, curved=True, clients=3, loud=3, horizon=1),
    Style("small", "anywhere", line=False, mixed=True, curved=True, scale=SMALL, loud=1, horizon=3),
    Style("large", "anywhere", line=False, mixed=True, curved=True, scale=LARGE, loud=1, horizon=3, delay=2),
)
TENT = 2**12
"""Width of the slope of a bump without a core."""
NEARLY_ALIKE = Fraction(1, 1000)
ANOTHER = ", another"
ALONG = (
    Style("in the core", curved=True, opposed=True, loud=0, apart=NEARLY_ALIKE),
    Style("core to flat", curved=True, opposed=True, loud=0, steep=64, apart=NEARLY_ALIKE),
    Style("out of the core", curved=True, opposed=True, loud=0, steep=64, apart=NEARLY_ALIKE, horizon=2),
    Style("out of the kink", curved=True, steep=TENT, tent=True),
    Style("over the edge", "far", curved=True, opposed=True, horizon=2, steep=4, apart=NEARLY_ALIKE),
)
"""For a loop that goes back along a path: at the end the gradient is at its bound, before it the Hessians are as far apart as can be."""


# --- an instance ------------------------------------------------------------------------------------------------------


class _Maker:
    """Everything that is chosen for one instance."""

    def __init__(
        self, style: Style, progress: Progress, shapes: Mapping[str, Shape] | None = None, *, free: bool = False
    ):
        self.style, self.rng, self.progress = style, Random(f"{style.name} {style.seed}"), progress
        self.setting = progress.derivation.setting
        self.axioms = tuple(progress.state.axioms.values())
        self.law = LAW if progress.state.failure is None or style.mixed else FAIR
        self.client = client_index(self.setting)
        self.counts: dict[str, int] = {}
        self.shape_of = _names_of_shapes(self.setting)
        self.shapes = shapes or self._shapes()
        self.labels = {f.label for f in self.setting.functions if f.label}
        self.starts: dict[str, dict[tuple[str, int], Vector | Term]] = {}
        self.before: _Maker | None = None
        if progress.state.earlier is not None and not free:
            self.before = _Maker(style, _loop_before(progress), self.shapes)

    def count(self, values: Mapping[Param, Fraction]) -> None:
        """Read off the size of every index."""
        self.counts = {index.name: int(evaluated(index.size, values).p) for index in self.setting.indices}
        if self.before is not None:
            self.before.count(values)

    def any(self, *values: Fraction | int) -> fmpq:
        return fmpq_of(Fraction(self.rng.choice(values)))

    def _shapes(self) -> dict[str, Shape]:
        """Each shape by its name, for the first of its functions that is no derivative."""
        found: dict[str, Shape] = {}
        for function in self.setting.functions:
            name = self.shape_of.get(function.name, "")
            if name and name not in found and isinstance(function.space, str):
                found[name] = self._shape(name, function)
        return found

    def _shape(self, role: str, function: Function) -> Shape:
        if ANOTHER in role:
            return _halved(self._shape(role.partition(ANOTHER)[0], function))
        style, scale = self.style, fmpq_of(self.style.scale)
        unlike = self.client in function.index and not self.setting.index(self.client).identical
        clients = style.clients if unlike else 1
        alike = self.client not in function.mean_index
        shaped = [f for f in self.setting.functions if self.shape_of.get(f.name) == role]
        labels = int(any(f.label for f in shaped))
        sources = max(len(f.sources) + bool(f.label) for f in shaped)
        own = ONE if role in ("plain", "error") else scale
        before, after = (TURNED, IDENTITY) if role != "outer" else (IDENTITY, IDENTITY)
        if style.mixed:
            before = self.rng.choice((TURNED, IDENTITY))
            after = self.rng.choice((TURNED, IDENTITY))
        if role != "inner":
            after = before
        bounded = role == "plain" and self._bounded_gradients(function)
        linear, curved, offset = (self._table(clients, alike) for _ in range(3))
        tables = ([self._table(clients) for _ in range(sources)] for _ in range(2))
        tau, nu = (np.array(each, dtype=object).reshape(sources, 2, clients) for each in tables)
        if role == "outer":
            core = scale / 4 if style.saturated else scale * (2 if style.mixed else 10**6)
            offset = (
                offset
                * scale
                * (self.any(0, 1, -1) if style.mixed else -100 if style.saturated else -1 if style.opposed else 0)
            )
            if style.opposed and style.where == "edge" and clients == 2:
                offset = offset * np.array([[ONE, -ONE]], dtype=object)
            shared = set(function.sources) & {s for f in self.setting.functions if f is not function for s in f.sources}
            strong = fmpq(1, 2) if style.multiplicative or style.mixed else ZERO
            quiet = ZERO if shared or style.multiplicative or style.saturated else fmpq(1, 4)
            tau, nu = strong * tau, quiet * nu
            if function.label:  # the strength of no client is negative, so that the objective is bounded below
                unlike = style.curved or style.opposed or style.mixed
                tau[0], nu[0] = unlike * linear / 4, 0 * nu[0]
            return Shape(0 * linear, linear, offset, 0 * offset, tau, nu, core, ZERO, before, after, labels)
        if bounded or role == "error" or (style.curved and not style.mixed):
            linear = 0 * linear
        if style.opposed and not alike and clients == 2:
            if role == "inner" and not style.curved:
                linear = linear * np.array([[ONE, -ONE]], dtype=object)
            elif role == "inner" and style.where == "edge":
                linear = linear + np.array([[fmpq(1, 2), fmpq(-1, 2)], [ZERO, ZERO]], dtype=object)
            else:
                apart = fmpq_of(style.apart)
                curved = curved * np.array([[1 + apart, 1 - apart]], dtype=object)
        if not style.curved and not bounded:
            curved = curved * TINY
        if role == "plain":
            offset = self._summing_to_zero(offset)
            linear = linear[:, :1].repeat(clients, axis=1)
            linear, offset = self._with_minimiser(linear, curved, offset)
        else:
            centred = style.opposed or style.ends or (role == "error" and not style.mixed)
            offset = 0 * offset if centred else offset
        tau = tau * (fmpq(1, 2) if style.multiplicative or style.mixed else ZERO)
        nu = nu * (fmpq(1, 3) if style.mixed or not style.multiplicative else ZERO)
        if role == "plain":
            linear, curved = style.steep * linear, style.steep * curved
        core, width = (ZERO, fmpq(TENT)) if style.tent else (ONE, fmpq(2))
        centre, offset = 0 * offset, own * offset
        return Shape(
            own * linear, own * curved, centre, offset, own * tau, own * nu, core, width, before, after, labels
        )

    def _bounded_gradients(self, function: Function) -> bool:
        """Where they are not assumed to be bounded they are not, and a constant that bounds them is then far too small."""
        bounds = (a for a in self.axioms if isinstance(a, Bounded))
        return any(a.function == function.name for a in bounds) and "inner" not in self.shape_of.values()

    def _summing_to_zero(self, offset: np.ndarray) -> np.ndarray:
        """Clients whose plain gradients differ by a constant, without a linear part of their mean: it is bounded below."""
        if self.style.opposed or self.style.mixed:
            return offset - offset.sum(axis=1, keepdims=True) / fmpq(offset.shape[1])
        return 2 * TENT * offset if self.style.tent else 0 * offset

    def _with_minimiser(
        self, linear: np.ndarray, curved: np.ndarray, offset: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slopes and offsets where the problem has a minimiser, which is not at 0: growing where it is assumed to grow."""
        if not any(f.role == "minimiser" for f in self.setting.functions):
            return linear, offset
        if any(isinstance(a, StrongConvexity) for a in self.axioms):
            linear = (linear[:1].repeat(2, axis=0) if self.style.line else linear) + fmpq(1, 4)
        elif any(isinstance(a, PolyakLojasiewicz) for a in self.axioms):
            linear = linear + np.array([[fmpq(1, 4) if row.any() else ZERO] for row in linear + curved], dtype=object)
        slopes = (linear + curved).sum(axis=1, keepdims=True) / fmpq(linear.shape[1])
        return linear, offset - slopes * np.array(
            [[self.any(Fraction(1, 2), Fraction(-1, 4))], [fmpq(1, 3)]], dtype=object
        )

    def _table(self, clients: int, alike: bool = True) -> np.ndarray:
        """(component, client): ones, or anything between 1/3 and 2 where the style is mixed; one component on a line."""
        table = np.full((2, clients), ONE, dtype=object)
        if self.style.mixed:
            for i, k in product(range(2), range(clients)):
                table[i, k] = self.any(Fraction(1, 3), Fraction(1, 2), 1, Fraction(3, 2), 2)
            if alike:
                table[:, 1:] = table[:, :1]
        if self.style.line:
            table[1, :] = ZERO
        return table

    # --- points -----------------------------------------------------------------------------------------------------

    def place(self) -> fmpq:
        """A coordinate in the region of the bump that the style asks for."""
        near = self.any(-3, -2, -1, 1, 2, 3) / 16
        centre = {"core": 0, "edge": 2, "far": 6}.get(self.style.where)
        return near + centre if centre is not None else self.any(-3, -2, -1, 0, 1, 2, 3) + near

    def point(self, index: frozenset[str], space: str, size: fmpq = ONE) -> Vector:
        """A vector for each value of an index, in the coordinates in which the style means its places."""
        if space in self.labels:
            label = np.full([1] * len(self._axes()), self.rng.choice([v for _, v in LAW]), object)
            return label, 0 * label
        shape = [self.counts[name] if name in index else 1 for name in self._axes()]
        flat = [np.array([self.place() * size for _ in range(int(np.prod(shape)))], dtype=object) for _ in range(2)]
        first, second = (row.reshape(shape) for row in flat)
        if self.style.line:
            second = 0 * second
        shape_in_x = self.shapes.get("inner") or self.shapes.get("plain")
        if space == "y" or shape_in_x is None:
            return first, second
        return turned(shape_in_x.before, (first, second), back=True)

    def _axes(self) -> list[str]:
        return [index.name for index in self.setting.indices]

    def free(self, name: str, time: int, sample: Component | int) -> Vector:
        """A free point that depends on the past."""
        variable = self.setting.variable(name)
        self.rng = Random(f"{self.style.name} {name} {time}")
        here, move = (self.point(variable.index, variable.space) for _ in range(2))
        if not isinstance(sample, np.ndarray) or variable.space in self.labels:
            return here
        return plus(here, tuple(times(x * fmpq(1, 64), sample) for x in move))

    # --- a run ------------------------------------------------------------------------------------------------------

    def run(self, values: Mapping[Param, Fraction]) -> Run:
        """A run with these values of the parameters, from the first kind of start that the assumptions allow.

        Raises:
            InputError: they allow none.
        """
        self.count(values)
        before = self.before.run(values) if self.before else None
        for mode in ("any", "common", "same"):
            if mode not in self.starts:
                self.starts[mode] = self.start(mode)
            run = self._run(values, self.starts[mode], before)
            if not any(sum_of_sizes(run(term, 0)) for term in self._starts()):
                return _with_sizes(self.progress, run)
        raise InputError(f"{self.progress.theorem.id}: no start of style {self.style.name} satisfies the assumptions")

    def _run(
        self, values: Mapping[Param, Fraction], start: Mapping[tuple[str, int], Vector | Term], before: Run | None
    ) -> Run:
        style, state = self.style, self.progress.state
        every = tuple(combinations(range(style.clients), style.clients - style.left_out))
        weights = [function for function in self.setting.functions if function.role == "random_set"]
        functions = Functions(
            self.setting,
            {name: self.shapes[shape] for name, shape in self.shape_of.items()},
            {function.name: every for function in weights},
            fmpq_of(style.compression),
            fmpq_of(style.remains),
        )
        evenly = [(fmpq(1, len(every)), fmpq(i)) for i in range(len(every))]
        laws = {source: evenly for function in weights for source in function.sources}
        free, paths = self.free, set[str]()
        if before is not None and state.earlier is not None:
            names = state.earlier.reversed
            made, law = in_reverse(before, names, self._axes())
            own = [self.setting.variable(name).sources for name in names.values()]
            every_source = self.setting.source_names[:1]
            paths = {s for sources in own for s in (every_source if sources is None else sources)}
            laws |= dict.fromkeys(paths, law)

            def free(name: str, time: int, sample: Component | int) -> Vector:
                return made[name, time]

        run = Run(
            self.setting,
            functions,
            values,
            style.horizon,
            style.period,
            start,
            free,
            frozenset(range(style.loud, style.clients)),
            {name: q.meaning for name, q in state.quantities.items()},
            sequence_values(self.progress, values, style.horizon, before),
            laws,
            self.law,
        )
        for source in paths:
            run.sample(source, LONG_AGO)
        return run

    def start(self, mode: str) -> dict[tuple[str, int], Vector | Term]:
        """Values before the first update; `mode`: any, common to the clients, or the same at all times too."""
        found: dict[tuple[str, int], Vector | Term] = {}
        for variable in self.setting.variables:
            if not variable.equations:
                continue
            size = fmpq_of(self.style.scale) if variable.space == "y" else ONE
            index = variable.index if mode == "any" else frozenset[str]()
            once = self.point(index, variable.space, size)
            for time in range(-2, variable.defined):
                found[variable.name, time] = once if mode == "same" else self.point(index, variable.space, size)
        return found | self._solved()

    def _starts(self) -> list[Term]:
        """What vanishes at the start of the method; nothing is assumed of a free point."""
        terms = [a.term for a in self.axioms if isinstance(a, Start)]
        return [term for term in terms if any(self.setting.variable(name).equations for name, _ in variables(term))]

    def _solved(self) -> dict[tuple[str, int], Term]:
        """Variables that start as a term in others, by an assumption about the start."""
        found: dict[tuple[str, int], Term] = {}
        for term in self._starts():
            if isinstance(term, Var):
                found[term.name, term.shift] = Sum(())
            elif isinstance(term, Sum):
                (_, first), *rest = term.parts
                other = Sum(tuple((-c, term) for c, term in rest))
                if isinstance(first, Var) and first.name not in {name for name, _ in variables(other)}:
                    found[first.name, first.shift] = other
        return found


def instance(style: Style, progress: Progress, *, free: bool = False) -> Run:
    """A run on concrete functions, with which all assumptions and conditions of a derivation hold.

    A loop that goes in reverse through what another made goes through a run of that; with `free` through free points.

    Raises:
        InputError: no start or no step size was found for which they do.
    """
    progress = arranged(progress)
    style = _adapted(style, progress)
    maker = _Maker(style, progress, free=free)
    reader = Reader(progress.theorem, progress.theorem.statement(progress.label))
    point = _constants(maker, reader, progress)
    point = _with_start(progress, reader, point, maker.run(point))
    return maker.run(_admissible(style, reader, progress, point))


def arranged(progress: Progress) -> Progress:
    """With the index of the clients first, and with one of a single value where there is none: the axes of arrays."""
    setting = progress.derivation.setting
    name = client_index(setting)
    indices = tuple(sorted(setting.indices, key=lambda index: index.name != name)) or (
        Index("single", SINGLE, "one value only"),
    )
    if indices == setting.indices:
        return progress
    return replace(progress, derivation=replace(progress.derivation, setting=replace(setting, indices=indices)))


LONG_AGO = -3
"""A step before which all is known: its sample stands for all samples of the loop before."""


def _loop_before(progress: Progress) -> Progress:
    loop: Loop = progress.derivation  # type: ignore[assignment]
    assert progress.state.earlier is not None
    return Progress(loop.before, progress.theorem, progress.label, progress.state.earlier.state)  # type: ignore[arg-type]


def _adapted(style: Style, progress: Progress) -> Style:
    """Sizes with which the derivation can be run.

    With whole rounds where their number is a symbol of its own; with everyone in the random sets of a long run.
    With 4 steps in a round instead of 2 where a condition has a root of their number; with a whole round where one is wanted.
    Where labels are drawn, all places draw or none, and there are two of them for two steps: the outcomes are too many else.
    """
    conditions = progress.state.region.conditions.values()
    period = progress.state.period
    if not period.params:
        style = replace(style, period=int(period.at({})))
    rooted = any(
        p in period.params and Fraction(e).denominator > 1 for c in conditions for m, _ in c.terms for p, e in m
    )
    if rooted and style.period == 2:
        style = replace(style, period=4)
    if progress.state.horizon - progress.state.period in conditions:
        style = replace(style, horizon=max(style.horizon, style.period))
    if len(progress.state.horizon.params) > 1:
        style = replace(style, horizon=style.period * -(-style.horizon // style.period))
    if style.ends:
        style = replace(style, left_out=0)
    setting = progress.derivation.setting
    if any(function.label for function in setting.functions) and style.loud:
        style = replace(style, clients=2, loud=2, horizon=min(style.horizon, 2))
    elif style.loud and setting.index(client_index(setting)).identical:
        style = replace(style, clients=2, loud=2)
    for condition in _equalities(style, progress)[1]:
        binding = progress.theorem.symbols(progress.label).get(str(condition.left))
        field, most = FIELDS.get(binding.quantity.name, ("", 0)) if binding is not None else ("", 0)
        if most and condition.right.is_Integer:
            style = replace(style, **{field: min(int(condition.right), most)})  # type: ignore[arg-type]
    style = replace(style, loud=min(style.loud, style.clients))
    return _small_enough(style, setting)


MOST_BITS = 12
"""Samples in a run: their outcomes are enumerated."""


def _small_enough(style: Style, setting: Setting) -> Style:
    """With fewer samples where there are too many sources; all values of an identical index draw, or there is one."""
    fewer = {"clients": 1} if setting.index(client_index(setting)).identical else {}
    cuts = (
        {"horizon": min(style.horizon, 2)},
        {"loud": min(style.loud, 1), **fewer},
        {"b": 1, "B": 1},
        {"m": 1},
        {"horizon": 1},
    )
    for smaller in cuts:
        if _bits(style, setting) > MOST_BITS:
            style = replace(style, **smaller)  # type: ignore[arg-type]
    return style


def _bits(style: Style, setting: Setting) -> int:
    """About how many samples a run has; none of them is random where no client is loud."""
    if not (style.loud and style.enumerated):
        return 0
    client = client_index(setting)
    sizes = {index.name: style.loud if index.name == client else max(style.b, style.m) for index in setting.indices}
    return sum(style.horizon * prod(sizes[name] for name in source.index) for source in setting.sources)


def _names_of_shapes(setting: Setting) -> dict[str, str]:
    """Function of the problem -> the name of its shape, which a derivative has in common with what it is one of.

    A second function of a kind with the same samples is another function, not the same one sampled anew.
    """
    found: dict[str, str] = {}
    taken: Counter[tuple[Any, ...]] = Counter()
    for function in setting.functions:
        shape, order = part_of(setting, function)
        key = (shape, order, function.sources, function.mean_index)
        taken[key] += 1
        other = taken[key] > 1 and not order and shape != "error"
        found[function.name] = f"{shape}{ANOTHER} {taken[key]}" if other else shape
    return {name: shape for name, shape in found.items() if shape}


def _halved(shape: Shape) -> Shape:
    """Minus half of a function, for which every bound of it holds."""
    return replace(shape, **{name: -getattr(shape, name) / 2 for name in ("linear", "curved", "offset", "tau", "nu")})


def _constants(maker: _Maker, reader: Reader, progress: Progress) -> dict[Param, Fraction]:
    """Sizes, and constants measured on the functions; 1 for what is not known yet."""
    point = {param: Fraction(1) for param in reader.params.values()}
    for name, forms in _given(progress).items():
        value = constant(forms, maker.shapes, maker.law) if len(forms) == 1 else None
        if value is None:
            raise InputError(f"{progress.theorem.id}: no instance has a {name}")
        point[reader.params[name]] = fraction_of(value)
    names = {binding.name for binding in progress.theorem.notation}
    for index in maker.setting.indices:
        size = maker.style.clients if index.name == maker.client else maker.style.b
        point |= {param: Fraction(size) for param in index.size.params if param.name not in names}
        point |= dict.fromkeys(index.size.params, Fraction(size)) if index.name == maker.client else {}
    for binding in progress.theorem.notation:
        name, param = binding.quantity.name, reader.params[binding.name]
        if name in maker.style.sizes:
            point[param] = Fraction(maker.style.sizes[name])
        value = constant(_assumed(progress, param, binding.quantity.bounds), maker.shapes, maker.law)
        if value is not None:
            point[param] = fraction_of(value if value or not param.positive else TINY)
    return point


def _assumed(progress: Progress, param: Param, bounds: tuple[Form, ...]) -> tuple[Form, ...]:
    """What a derivation assumes of what a number bounds: the rest need not hold. All of it, where it assumes nothing."""
    axioms = (a for a in progress.state.axioms.values() if isinstance(a, OF_FUNCTIONS) and param in a.constant.params)
    roles = {progress.derivation.setting.function(axiom.function).role for axiom in axioms}
    return tuple(form for form in bounds if any(each.function in roles for each in implied(form))) or bounds


def client_index(setting: Setting) -> str:
    """The index whose values have functions of their own; the first one where all are alike, and "" where there is none."""
    apart = [index.name for index in setting.indices if not index.identical]
    return (apart or [index.name for index in setting.indices] or [""])[0]


def _given(progress: Progress) -> dict[str, tuple[Form, ...]]:
    """The constants that lemmas give, with what they bound: here they are not computed but taken from the functions."""
    lemmas = () if isinstance(progress.derivation, Loop) else progress.derivation.lemmas
    said = ((lemma.theorem.statement(lemma.label), name) for lemma in lemmas for name in lemma.constants)
    return {name: statement.constant(name).bounds for statement, name in said}


def _with_start(progress: Progress, reader: Reader, point, run: Run) -> dict[Param, Fraction]:
    """The gap of the objective, which is nonnegative by construction, and the error of the estimate at the start, as they are."""
    found, known = dict(point), _at_start(progress, run)
    if isinstance(progress.derivation, Loop):
        return found
    for binding in progress.theorem.notation:
        param = reader.params[binding.name]
        if binding.quantity.name in known:
            found[param] = fraction_of(known[binding.quantity.name])
        if found[param] == 0 and param.positive:
            found[param] = fraction_of(TINY)
    return found


def _at_start(progress: Progress, run: Run) -> dict[str, fmpq]:
    """What the quantities of the theorem are at the start of a run that are about the start, and that the problem has."""
    if isinstance(progress.derivation, Loop):
        return {}
    names = {binding.quantity.name for binding in progress.theorem.notation}
    vectors = {
        "initial_distance": _away,
        "initial_gradient_heterogeneity": _unlike,
        "initial_inner_error": _inner_error,
    }
    known = {name: vector(progress) for name, vector in vectors.items() if name in names}
    found = {name: root(run.scalar(sq(v), 0)) for name, v in known.items() if v is not None}
    gap = objective_at_start(progress, run) if "objective_gap" in names else None
    return found if gap is None else {**found, "objective_gap": gap}


def symbols_at(progress: Progress, run: Run) -> dict[str, Fraction]:
    """The values of the statement's symbols along a run."""
    symbols = progress.theorem.statement(progress.label).symbols
    return {param.name: value for param, value in run.point.items() if param.name in symbols}


def metric_at(progress: Progress, run: Run) -> Any:
    """The left side of the statement along a run: what its metric measures, averaged over the steps or after the last one, or at the
    average of the iterates; of a norm the mean of its squares.

    Raises:
        ProofError: the metric is none that the kernel knows.
        InputError: a weight of the iterates is negative or no rational number.
    """
    found = progress.reading
    point, over = metric_points(found, progress.state.axioms)[0], found.theorem.metric.over
    scalar = measured(found, point)
    if over == LAST:
        return run.scalar(scalar, run.horizon)
    steps = range(run.horizon)
    if over == MINIMUM:
        return reduce(np.minimum, (run.scalar(scalar, t) for t in steps))
    weights = step_weights(found.theorem.metric, {param.name: value for param, value in run.point.items()})
    shares = weights.exact_shares([t + (found.theorem.average == "after") for t in steps])
    if over == AVERAGED:
        apart = (signomial(share) * shifted(point, t) for t, share in zip(steps, shares, strict=True))
        return run.scalar(measured(found, sum(apart, Sum(())), of_the_run=True), 0)
    return sum((fmpq_of(share) * run.scalar(scalar, t) for t, share in zip(steps, shares, strict=True)), ZERO)


def objective_at_start(progress: Progress, run: Run) -> fmpq | None:
    """How far the objective at the models at the start is above its infimum: above its minimum, or above 0 where its gradient is one
    of a function that is nowhere negative."""
    try:
        (objective,), found = progress.derivation.setting.objectives, progress.reading
        if found.with_role("minimiser"):
            return run.scalar(found.above_minimum(found.mean_model), 0)
        value = run.atom(Value(objective.name, found.mean_model), 0)
    except (TypeError, ValueError):
        return None
    return value if value >= 0 else None


def _away(progress: Progress) -> Term | None:
    """The mean model minus the minimiser, where the problem has one."""
    found = progress.reading
    return found.mean_model - found.minimiser if found.with_role("minimiser") else None


def _unlike(progress: Progress) -> Term | None:
    """A client's gradient at the mean model minus the mean of these over the clients; None for other problems."""
    found = progress.reading
    gradients = found.with_role("local_gradient")
    if len(gradients) != 1:
        return None
    exact = gradients[0].averaged(found.mean_model)
    return exact - Mean(found.client, exact)


def _inner_error(progress: Progress) -> Term | None:
    """The estimate of the inner value before the first step minus the mean inner value at the start."""
    setting = progress.derivation.setting
    estimates = [v for v in setting.variables if v.equations and v.space == "y"]
    inner = [f for f in setting.functions if (f.domain, f.space) == ("x", "y")]
    if len(estimates) != 1 or len(inner) != 1:
        return None
    value: Term = inner[0].averaged(progress.reading.mean_model)
    for index in sorted(inner[0].mean_index):
        value = Mean(index, value)
    return Var(estimates[0].name, estimates[0].defined - 1) - value


def _admissible(style: Style, reader: Reader, progress: Progress, point) -> dict[Param, Fraction]:
    """Hyperparameters that satisfy all conditions: weights at random, the step size the largest power of 2."""
    rng, statement = Random(style.name), progress.theorem.statement(progress.label)
    choices, equations = _equalities(style, progress)

    def of(*quantities: str) -> list[Param]:
        return [reader.params[b.name] for b in progress.theorem.notation if b.quantity.name in quantities]

    weights, steps, failing = of(*WEIGHTS), of("step_size"), of("failure_probability")
    declining = [[param for param in of(each) if param.name in statement.symbols] for each in DECLINING]
    chances = dict.fromkeys((style.sizes["failure_probability"], *CHANCES)) if failing else (None,)
    varied = {*weights, *steps, *failing, *chain(*declining), *(reader.params[c.left.name] for c in choices)}
    if any(
        not (difference.params & varied) and difference.at(_derived(point, progress)) != 0
        for difference in (reader.read(c.left) - reader.read(c.right) for c in equations)
    ):
        raise InputError(f"{progress.theorem.id}: an instance of the style {style.name} does not meet an equality")
    for _ in range(20):
        chosen = dict(point) | {param: Fraction(1, 2 ** rng.randint(0, 3)) for param in weights}
        for chance, (k, *scales) in product(chances, _sizes(style.longest, any(declining))):
            sized = dict.fromkeys(steps, Fraction(2) ** -k) | dict.fromkeys(failing, chance)
            for params, scale in zip(declining, scales, strict=False):
                sized |= dict.fromkeys(params, Fraction(2) ** scale)
            found = _derived(chosen | sized, progress)
            found |= {reader.params[c.left.name]: reader.read(c.right).at(found) for c in choices}
            is_met = all(reader.read(c.left).at(found) == reader.read(c.right).at(found) for c in equations)
            if is_met and all(slack.at(found) >= 0 for slack in progress.state.region.conditions.values()):
                return found
    raise InputError(f"{progress.theorem.id}: no admissible step size for the style {style.name}")


def _equalities(style: Style, progress: Progress) -> tuple[list[Condition], list[Condition]]:
    """Those that choose a hyperparameter, and those that an instance meets or does not: constants and sizes are what it has."""
    symbols = progress.theorem.symbols(progress.label)
    choices: list[Condition] = []
    equations: list[Condition] = []
    for condition in progress.theorem.statement(progress.label).conditions:
        if condition.relation == "==":
            binding = symbols.get(str(condition.left)) if condition.left.is_Symbol else None
            is_free = (
                binding is not None
                and binding.quantity.role == "hyperparameter"
                and binding.quantity.name not in style.sizes
            )
            (choices if is_free else equations).append(condition)
    return choices, equations


CHANCES = (Fraction(1, 4), Fraction(1, 20), Fraction(1, 1000))
"""Probabilities of failure that are tried where the conditions do not admit that of a style."""
DECLINING = ("step_numerator", "step_offset")
"""The quantities of a step size a/(t + t0)."""


def _sizes(longest: int, declining: bool) -> Iterator[tuple[int, ...]]:
    """Minus the exponent of a constant step size, the largest one first; or the exponents of a and t0, the smallest ones first."""
    if not declining:
        yield from ((k,) for k in range(-longest, 80))
        return
    yield from ((0, a, total - a) for total in range(-4, 60) for a in range(-4, total + 5))


def sequence_values(
    progress: Progress, point: Mapping[Param, Fraction], horizon: int, before: Run | None = None
) -> list[dict[Param, Fraction]]:
    """The numbers of a loop at its steps: its sequences, those of the loop before it, and what all of them end with.

    Without a run of the loop before, what depends on it has no value.
    """
    numbers = progress.state.numbers
    if numbers is None:
        return []
    fixed: dict[Param, Fraction] = {}
    if before is not None:
        fixed |= {param: value for param, value in before.moving[0].items() if not param.moving}
        fixed |= _read(before.moving[horizon], {param_of(s.now): param_of(s.end) for s in numbers.earlier})
    found: list[dict[Param, Fraction]] = []
    here = {param_of(s.now): s.start for s in numbers.own}
    for t in range(horizon + 1):
        values, known = dict(fixed), {**point, **(found[-1] if found else fixed)}
        if before is not None and t < horizon:
            there = before.moving[horizon - 1 - t]
            values |= _read(there, {param_of(s.now): param_of(s.reversed) for s in numbers.earlier})
        for param, formula in here.items():
            with suppress(ProofError):
                values[param] = fraction_of(evaluated(formula, known))
        found.append(values)
        here = {param_of(s.now): s.after for s in numbers.own}
    for sequence in numbers.own if before is not None or not numbers.earlier else ():
        last = param_of(numbers.at_end(sequence.now))
        if param_of(sequence.now) in found[-1]:
            value = found[-1][param_of(sequence.now)]
            if {**point, **fixed}.get(last, value) != value:
                raise AssertionError(f"{progress.theorem.id}: {sequence.name} does not end with {last.name}")
            found = [{**values, last: value} for values in found]
    return found


def _read(values: Mapping[Param, Fraction], names: Mapping[Param, Param]) -> dict[Param, Fraction]:
    """Values under other names, where there are any."""
    return {new: values[old] for old, new in names.items() if old in values}


def _with_sizes(progress: Progress, run: Run) -> Run:
    """With the sizes of the free vectors of a loop that depend on no sample, and the lengths at its start, rounded up."""
    lengths = [step.rule for step in progress.derivation.steps if isinstance(step.rule, Length)] if run.moving else []
    for t, values in enumerate(run.moving):
        for rule in lengths:
            values[param_of(rule.size)] = fraction_of(root(run.scalar(sq(rule.vector), 0)))
        for vector, size in sized_vectors(progress).items():
            if t < run.horizon:
                values[param_of(size)] = fraction_of(root(run.scalar(sq(vector), t)))
    return run


def sized_vectors(progress: Progress) -> dict[Var, Signomial]:
    """The free vectors of a loop that depend on no sample and no index, each with a name for its size."""
    if progress.state.numbers is None:
        return {}
    setting = progress.derivation.setting
    free = [v for v in setting.variables if v.is_free and not v.index and not setting.known(v.name, 0).entries]
    return {Var(v.name): number(f"size of {v.name}") for v in free}


def unmeasured(progress: Progress, run: Run) -> dict[str, str]:
    """Symbol -> quantity, of those in a statement that nothing here gives a value."""
    maker = _Maker(STYLES[0], arranged(progress), free=True)
    statement = progress.theorem.statement(progress.label)
    fixed = {str(condition.left) for condition in statement.conditions if condition.relation == "=="}
    known = {*maker.style.sizes, *WEIGHTS, *DECLINING, "step_size", *_at_start(progress, run)}
    found = {name: binding.quantity for name, binding in statement.symbols.items() if name not in fixed}
    return {n: q.name for n, q in found.items() if q.name not in known and constant(q.bounds, maker.shapes) is None}


@cache
def _above(expr: sp.Expr) -> Fraction:
    """A number just above one that need not be rational."""
    return enclose(expr).upper


WEIGHTS = ("momentum", "momentum_numerator", "gradient_momentum", "inner_momentum", "step_scale", "proximal_weight")


def _derived(point: Mapping[Param, Fraction], progress: Progress) -> dict[Param, Fraction]:
    found, region = dict(point), progress.state.region
    given = _given(progress)
    for param, (first, count, power) in region.sums.items():
        found[param] = sum_of_powers(param.name, first.at(found), count.at(found), power)
    for param, formula in region.formulas.items():
        if param.name not in given:
            found[param] = fraction_of(root(fmpq_of(formula.at(found)), order=region.powers.get(param, 1)))
    for param, (above, below) in region.quotients.items():
        found[param] = above.at(found) / below.at(found) if above.at(found) else Fraction(0)
    for param, (base, exponent) in region.exponentials.items():
        found[param] = whole_power(param.name, base.at(found), exponent.at(found))
    failure = progress.state.failure
    own = {} if failure is None else {log_of_inverse(failure): failure}
    for param, probability in {**region.logarithms, **own}.items():
        found[param] = _above(sp.log(1 / sp.Rational(found[probability])))
    if progress.state.offset is not None:
        found[CLOCK] = progress.state.offset.at(found)
    return found
