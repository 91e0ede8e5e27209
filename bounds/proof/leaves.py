"""Every statement of a derivation on small concrete instances, evaluated exactly: what rests on an assumption above all.

The functions, their constants and the hyperparameters are concrete (`instances.py`), the update equations are run, all
outcomes are enumerated (`finite.py`), and both sides of each step are compared at every step of the run. The constants come
from the vocabulary, not from the derivation: an assumption that a derivation formalises too strongly fails here.

python -m fedco.bounds.proof.leaves [ID ...] prints for each assumption how nearly it is attained.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from random import Random

import numpy as np
from flint import fmpq

from ..evaluation.enclosure import enclose_bound
from ..language.reading import InputError
from ..language.theorem import Theorem
from ..registry import get_theorem
from .derivations import derivation, derived_ids
from .finite import LAW as LABELS
from .finite import Component, Run, Vector, evaluated, in_reverse, plus, rational, root, times, total
from .instances import (
    IDENTITY,
    ONE,
    TINY,
    TURNED,
    ZERO,
    Functions,
    Shape,
    as_fraction,
    constant,
    each,
    is_draw,
    is_outer,
)
from .kernel import (
    Alternatives,
    App,
    Assume,
    Axiom,
    Bounded,
    CentralDifference,
    Derivation,
    DifferenceVariance,
    Heterogeneity,
    IndependentMean,
    IndependentMoment,
    Induction,
    Inequality,
    Length,
    Lipschitz,
    LipschitzOperator,
    Loop,
    LowerBound,
    Pair,
    ProofError,
    RandomSet,
    Reader,
    SecondDifference,
    SecondMoment,
    Setting,
    Signomial,
    SmoothDescent,
    Start,
    StartValue,
    Sum,
    Term,
    Var,
    Variance,
    sq,
)
from .kernel.derivation import Progress, begin, finish
from .kernel.facts import Equation, Fact, Moment
from .kernel.loop import loops, settled
from .kernel.scalars import At, One
from .kernel.sequences import number
from .kernel.setting import Function
from .kernel.signomial import Param
from .kernel.terms import variables

LEAVES = (Assume, IndependentMean, IndependentMoment, SmoothDescent)
"""Rules that rest on an assumption about the problem or its samples; all others follow from earlier steps."""


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
        left_out: how many clients are not in a random set.
        steep: by how much plain gradients are steeper than other functions, so that their steps are longer.
        apart: by which share the curvatures of two opposed clients differ from their mean.
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
    steep: int = 1
    apart: Fraction = Fraction(1, 2)
    tent: bool = False

    @property
    def sizes(self) -> dict[str, int | Fraction]:
        return {
            "clients": self.clients,
            "batch_size": self.b,
            "inner_batch_size": self.m,
            "initial_batch_size": self.B,
            "communication_period": self.period,
            "iterations": self.horizon,
            "fine_tuning_steps": self.horizon,
            "hessian_batch_size": self.m,
            "difference_step": Fraction(1) if self.mixed else Fraction(2, TENT) if self.tent else Fraction(1, 64),
            "rounds": Fraction(self.horizon, self.period),
            "participation": Fraction(self.clients - self.left_out, self.clients),
        }


SMALL, LARGE = Fraction(1, 1000), Fraction(1000)
STYLES = (
    Style("straight"),
    Style("straight, small", scale=SMALL, horizon=2),
    Style("straight, large", scale=LARGE, horizon=2),
    Style("bent", "edge", saturated=True, curved=True),
    Style("bent, large", "edge", saturated=True, curved=True, scale=LARGE, horizon=2),
    Style("bent apart", "edge", saturated=True, curved=True, opposed=True, loud=0, horizon=2),
    Style("straight apart", opposed=True, loud=0, horizon=2),
    Style("bent with noise", "edge", saturated=True, curved=True, multiplicative=True),
    Style("steep with noise", curved=True, multiplicative=True),
    Style("descent", loud=0, horizon=256, ends=True),
    Style("flat alike", "far", saturated=True, curved=True),
    Style("flat", "far", saturated=True, curved=True, multiplicative=True, opposed=True),
    Style("unlike", saturated=True, curved=True, multiplicative=True, opposed=True, horizon=2),
    Style("batches", "anywhere", line=False, mixed=True, curved=True, b=2, m=1, B=3, loud=1, clients=3, horizon=2),
    Style("inner batches", "anywhere", line=False, mixed=True, curved=True, m=2, B=2, loud=1, clients=3, horizon=2),
    Style("rounds", "anywhere", line=False, mixed=True, curved=True, loud=1, clients=3, horizon=3),
    Style("every step", "anywhere", line=False, mixed=True, curved=True, clients=2, period=1, horizon=2, left_out=0),
    Style("three clients", "anywhere", line=False, mixed=True, curved=True, clients=3, loud=3, horizon=1),
    Style("small", "anywhere", line=False, mixed=True, curved=True, scale=SMALL, loud=1, horizon=3),
    Style("large", "anywhere", line=False, mixed=True, curved=True, scale=LARGE, loud=1, horizon=3),
)
TENT = 2**12
"""Width of the slope of a bump without a core."""
NEARLY_ALIKE = Fraction(1, 1000)
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
        self,
        style: Style,
        seed: int,
        progress: Progress,
        shapes: Mapping[str, Shape] | None = None,
        *,
        free: bool = False,
    ):
        self.style, self.rng, self.progress = style, Random(f"{style.name} {seed}"), progress
        self.plan, self.setting = progress.derivation, progress.derivation.setting
        self.client = self.setting.indices[0].name
        self.weights = {a.function for a in self.plan.axioms.values() if isinstance(a, RandomSet)}
        self.roles: dict[str, Function] = {}
        for function in self.setting.functions:
            self.roles.setdefault(self._role(function), function)
        self.shapes = shapes or {role: self._shape(role, f) for role, f in self.roles.items() if role not in NO_SHAPE}
        self.labels = {f.label for f in self.setting.functions if f.label}
        self.starts: dict[str, dict[tuple[str, int], Vector | Term]] = {}
        self.before: _Maker | None = None
        if progress.state.earlier is not None and not free:
            self.before = _Maker(style, seed, _loop_before(progress), self.shapes)

    def _role(self, function: Function) -> str:
        if is_draw(self.setting, function):
            return "draw"
        if function.name in self.weights:
            return "weights"
        if not isinstance(function.space, str):
            return "operator"
        exact = [f for f in self.setting.functions if f.space == f.domain == function.space and not f.sources]
        if function.sources and function.space == function.domain and exact:
            return "error"
        return "outer" if is_outer(function) else "plain" if function.space == function.domain else "inner"

    def any(self, *values: Fraction | int) -> fmpq:
        return rational(Fraction(self.rng.choice(values)))

    def _shape(self, role: str, function: Function) -> Shape:
        style, scale = self.style, rational(self.style.scale)
        clients = style.clients if self.client in function.index else 1
        alike = self.client not in function.mean_index
        sources = len(function.sources) + bool(function.label)
        own = ONE if role in ("plain", "error") else scale
        before, after = (TURNED, IDENTITY) if role != "outer" else (IDENTITY, IDENTITY)
        if style.mixed:
            before = self.rng.choice((TURNED, IDENTITY))
            after = self.rng.choice((TURNED, IDENTITY))
        if role != "inner":
            after = before
        bounded = role == "plain" and self._bounded_gradients(function)
        linear, curved, offset = (self._table(clients, alike) for _ in range(3))
        tau = np.stack([self._table(clients) for _ in range(sources)]) if sources else np.empty((0, 2, clients), object)
        nu = np.stack([self._table(clients) for _ in range(sources)]) if sources else np.empty((0, 2, clients), object)
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
            return Shape(linear, 0 * linear, offset, tau, nu, core, ZERO, before, after)
        if bounded or role == "error" or (style.curved and not style.mixed):
            linear = 0 * linear
        if style.opposed and not alike and clients == 2:
            if role == "inner" and not style.curved:
                linear = linear * np.array([[ONE, -ONE]], dtype=object)
            elif role == "inner" and style.where == "edge":
                linear = linear + np.array([[fmpq(1, 2), fmpq(-1, 2)], [ZERO, ZERO]], dtype=object)
            else:
                apart = rational(style.apart)
                curved = curved * np.array([[1 + apart, 1 - apart]], dtype=object)
        if not style.curved and not bounded:
            curved = curved * TINY
        if role == "plain":
            offset = self._summing_to_zero(offset)
            linear = linear[:, :1].repeat(clients, axis=1)
        else:
            centred = style.opposed or style.ends or (role == "error" and not style.mixed)
            offset = 0 * offset if centred else offset
        tau = tau * (fmpq(1, 2) if style.multiplicative or style.mixed else ZERO)
        nu = nu * (fmpq(1, 3) if style.mixed or not style.multiplicative else ZERO)
        if role == "plain":
            linear, curved = style.steep * linear, style.steep * curved
        core, width = (ZERO, fmpq(TENT)) if style.tent else (ONE, fmpq(2))
        return Shape(own * linear, own * curved, own * offset, own * tau, own * nu, core, width, before, after)

    def _bounded_gradients(self, function: Function) -> bool:
        bounds = (a for a in self.plan.axioms.values() if isinstance(a, Bounded))
        return any(a.function == function.name for a in bounds) and "inner" not in self.roles

    def _summing_to_zero(self, offset: np.ndarray) -> np.ndarray:
        """Clients whose plain gradients differ by a constant, without a linear part of their mean: it is bounded below."""
        if self.style.opposed or self.style.mixed:
            return offset - offset.sum(axis=1, keepdims=True) / fmpq(offset.shape[1])
        return 2 * TENT * offset if self.style.tent else 0 * offset

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
            label = np.full([1] * len(self._axes()), self.rng.choice([v for _, v in LABELS]), object)
            return label, 0 * label
        shape = [self.style.clients if name == self.client and name in index else 1 for name in self._axes()]
        flat = [np.array([self.place() * size for _ in range(int(np.prod(shape)))], dtype=object) for _ in range(2)]
        first, second = (row.reshape(shape) for row in flat)
        if self.style.line:
            second = 0 * second
        if space == "y":
            return first, second
        a, b, c, d = self._turn()
        return plus((a * first, b * first), (c * second, d * second))

    def _turn(self):
        role = "inner" if "inner" in self.shapes else "plain"
        return self.shapes[role].before

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
        before = self.before.run(values) if self.before else None
        for mode in ("any", "common", "same"):
            if mode not in self.starts:
                self.starts[mode] = self.start(mode)
            run = self._run(values, self.starts[mode], before)
            if all(_vanishes(run, a.term) for a in self.plan.axioms.values() if isinstance(a, Start)):
                return _with_sizes(self.progress, run)
        raise InputError(f"{self.progress.theorem.id}: no start of style {self.style.name} satisfies the assumptions")

    def _run(
        self, values: Mapping[Param, Fraction], start: Mapping[tuple[str, int], Vector | Term], before: Run | None
    ) -> Run:
        style, state = self.style, self.progress.state
        every = tuple(combinations(range(style.clients), style.clients - style.left_out))
        functions = Functions(self.setting, _by_name(self), dict.fromkeys(self.weights, every))
        drawn = {source for name in self.weights for source in self.setting.function(name).sources}
        laws = {
            source: [(rational(Fraction(1, len(every))), rational(i)) for i in range(len(every))] for source in drawn
        }
        free, paths = self.free, set[str]()
        if before is not None and state.earlier is not None:
            names = state.earlier.reversed
            made, law = in_reverse(before, names, self._axes())
            paths = {s for name in names.values() for s in self.setting.variable(name).sources or ()}
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
            size = rational(self.style.scale) if variable.space == "y" else ONE
            index = variable.index if mode == "any" else frozenset[str]()
            once = self.point(index, variable.space, size)
            for time in range(-2, variable.defined):
                found[variable.name, time] = once if mode == "same" else self.point(index, variable.space, size)
        return found | self._solved()

    def _solved(self) -> dict[tuple[str, int], Term]:
        """Variables that start as a term in others, by an assumption about the start."""
        found: dict[tuple[str, int], Term] = {}
        for axiom in self.plan.axioms.values():
            if isinstance(axiom, Start) and isinstance(axiom.term, Sum):
                (_, first), *rest = axiom.term.parts
                other = Sum(tuple((-c, term) for c, term in rest))
                if isinstance(first, Var) and first.name not in {name for name, _ in variables(other)}:
                    found[first.name, first.shift] = other
        return found


def instance(style: Style, progress: Progress, seed: int = 0, *, free: bool = False) -> Run:
    """A run on concrete functions, with which all assumptions and conditions of a derivation hold.

    A loop that goes in reverse through what another made goes through a run of that; with `free` through free points.

    Raises:
        InputError: no start or no step size was found for which they do.
    """
    style = _adapted(style, progress)
    maker = _Maker(style, seed, progress, free=free)
    reader = Reader(progress.theorem, progress.theorem.statement(progress.label))
    point = _constants(maker, reader, progress)
    point = _with_start(maker.plan, reader, progress, point, maker.run(point))
    return maker.run(_admissible(style, reader, progress, point))


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
    rooted = any(
        p == _period(progress) and Fraction(e).denominator > 1 for c in conditions for m, _ in c.terms for p, e in m
    )
    if rooted and style.period == 2:
        style = replace(style, period=4)
    if progress.state.horizon - progress.state.period in conditions:
        style = replace(style, horizon=max(style.horizon, style.period))
    if len(progress.state.horizon.params) > 1:
        style = replace(style, horizon=style.period * -(-style.horizon // style.period))
    if style.ends:
        style = replace(style, left_out=0)
    if any(function.label for function in progress.derivation.setting.functions) and style.loud:
        style = replace(style, clients=2, loud=2, horizon=min(style.horizon, 2))
    return style


def _period(progress: Progress) -> Param:
    return _name(progress.state.period)


def _by_name(maker: _Maker) -> dict[str, Shape]:
    differentiated = "inner" if "inner" in maker.shapes else "plain"
    shaped = {f.name: maker._role(f) for f in maker.setting.functions}
    roles = {name: role for name, role in shaped.items() if role not in ("draw", "weights")}
    return {name: maker.shapes[differentiated if role == "operator" else role] for name, role in roles.items()}


def _vanishes(run: Run, term) -> bool:
    return not any(x for component in run(term, 0) for x in component.reshape(-1))


def _constants(maker: _Maker, reader: Reader, progress: Progress) -> dict[Param, Fraction]:
    """Sizes, and constants of the functions; 1 for what is not known yet."""
    point = {param: Fraction(1) for param in reader.params.values()}
    for name, meaning in _given(progress):
        value = constant(meaning, maker.shapes)
        if value is None:
            raise InputError(f"{progress.theorem.id}: no instance has a {meaning}")
        point[reader.params[name]] = as_fraction(value)
    for index in maker.setting.indices[:1]:
        point |= {param: Fraction(maker.style.clients) for param in index.size.params}
    for binding in progress.theorem.notation:
        name, param = binding.quantity.name, reader.params[binding.name]
        if name in maker.style.sizes:
            point[param] = Fraction(maker.style.sizes[name])
        value = constant(name, maker.shapes)
        if value is not None:
            point[param] = as_fraction(value if value or not param.positive else TINY)
    return point


def _given(progress: Progress) -> list[tuple[str, str]]:
    """The constants that lemmas give, with what they are: here they are not computed but taken from the functions."""
    lemmas = () if isinstance(progress.derivation, Loop) else progress.derivation.lemmas
    return [pair for lemma in lemmas for pair in lemma.constants]


def _with_start(plan: Derivation, reader: Reader, progress: Progress, point, run: Run) -> dict[Param, Fraction]:
    """The gap of the objective, which is nonnegative by construction, and the error of the start."""
    found = dict(point)
    for axiom in plan.axioms.values():
        if isinstance(axiom, LowerBound):
            value = run.atom(At(axiom.quantity), 0)
            if value < 0:
                raise InputError(f"{progress.theorem.id}: wanted a nonnegative objective, got {value}")
            _set(found, axiom.gap, as_fraction(value))
        if isinstance(axiom, StartValue):
            _set(found, axiom.bound, as_fraction(root(run.atom(At(axiom.quantity, False, axiom.offset), 0))))
    return found


def _set(point: dict[Param, Fraction], bound, value: Fraction) -> None:
    (param,) = bound.params
    point[param] = value


def _admissible(style: Style, reader: Reader, progress: Progress, point) -> dict[Param, Fraction]:
    """Hyperparameters that satisfy all conditions: weights at random, the step size the largest power of 2."""
    rng, statement = Random(style.name), progress.theorem.statement(progress.label)
    chosen_by = [c for c in statement.conditions if c.relation == "=="]
    names = {b.name: b.quantity.name for b in progress.theorem.notation}
    weights = [reader.params[n] for n, q in names.items() if q in WEIGHTS]
    steps = [reader.params[n] for n, q in names.items() if q == "step_size"]
    for _ in range(20):
        chosen = dict(point) | {param: Fraction(1, 2 ** rng.randint(0, 3)) for param in weights}
        for k in range(80):
            found = _derived(chosen | {param: Fraction(1, 2**k) for param in steps}, progress)
            found |= {reader.params[c.left.name]: reader.read(c.right).at(found) for c in chosen_by}
            if all(slack.at(found) >= 0 for slack in progress.state.region.conditions.values()):
                return found
    raise InputError(f"{progress.theorem.id}: no admissible step size for the style {style.name}")


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
        fixed |= _read(before.moving[horizon], {_name(s.now): _name(s.end) for s in numbers.earlier})
    found: list[dict[Param, Fraction]] = []
    here = {_name(s.now): s.start for s in numbers.own}
    for t in range(horizon + 1):
        values, known = dict(fixed), {**point, **(found[-1] if found else fixed)}
        if before is not None and t < horizon:
            there = before.moving[horizon - 1 - t]
            values |= _read(there, {_name(s.now): _name(s.reversed) for s in numbers.earlier})
        for param, formula in here.items():
            with suppress(ProofError):
                values[param] = as_fraction(evaluated(formula, known))
        found.append(values)
        here = {_name(s.now): s.after for s in numbers.own}
    for sequence in numbers.own if before is not None or not numbers.earlier else ():
        last = _name(numbers.at_end(sequence.now))
        if _name(sequence.now) in found[-1]:
            value = found[-1][_name(sequence.now)]
            if {**point, **fixed}.get(last, value) != value:
                raise AssertionError(f"{progress.theorem.id}: {sequence.name} does not end with {last.name}")
            found = [{**values, last: value} for values in found]
    return found


def _read(values: Mapping[Param, Fraction], names: Mapping[Param, Param]) -> dict[Param, Fraction]:
    """Values under other names, where there are any."""
    return {new: values[old] for old, new in names.items() if old in values}


def _name(value: Signomial) -> Param:
    ((((param, _),), _),) = value.terms
    return param


NO_SHAPE = ("operator", "draw", "weights")


def _with_sizes(progress: Progress, run: Run) -> Run:
    """With the sizes of the free vectors of a loop that depend on no sample, and the lengths at its start, rounded up."""
    lengths = [step.rule for step in progress.derivation.steps if isinstance(step.rule, Length)] if run.moving else []
    for t, values in enumerate(run.moving):
        for rule in lengths:
            values[_name(rule.size)] = as_fraction(root(run.scalar(sq(rule.vector), 0)))
        for vector, size in _sized_vectors(progress).items():
            if t < run.horizon:
                values[_name(size)] = as_fraction(root(run.scalar(sq(vector), t)))
    return run


def _sized_vectors(progress: Progress) -> dict[Var, Signomial]:
    """The free vectors of a loop that depend on no sample and no index, each with a name for its size."""
    if progress.state.numbers is None:
        return {}
    setting = progress.derivation.setting
    free = [v for v in setting.variables if not v.equations and not v.index and not setting.known(v.name, 0).entries]
    return {Var(v.name): number(f"size of {v.name}") for v in free}


WEIGHTS = ("momentum", "gradient_momentum", "inner_momentum", "step_scale")


def _derived(point: Mapping[Param, Fraction], progress: Progress) -> dict[Param, Fraction]:
    found, region = dict(point), progress.state.region
    given = {name for name, _ in _given(progress)}
    for param, formula in region.formulas.items():
        if param.name not in given:
            value = formula.at(found)
            found[param] = value if region.powers.get(param, 1) == 1 else as_fraction(root(rational(value)))
    for param, (above, below) in region.quotients.items():
        found[param] = above.at(found) / below.at(found) if above.at(found) else Fraction(0)
    return found


# --- comparing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """One statement at one step of a run; `ratio` is left over right, None where the right side is 0."""

    step: str
    time: int | None
    holds: bool
    left: fmpq
    right: fmpq
    style: str = ""

    @property
    def ratio(self) -> float | None:
        return float(as_fraction(self.left / self.right)) if self.right > 0 else None

    def __str__(self) -> str:
        when = "" if self.time is None else f" at t = {self.time}"
        left, right = float(as_fraction(self.left)), float(as_fraction(self.right))
        return f"{self.step}{when} ({self.style}): {left:.12g} against {right:.12g}"


def both_sides(name: str, fact: Fact, run: Run) -> Iterator[Comparison]:
    """Both sides of a statement at every step at which it is said to hold."""
    if isinstance(fact, Inequality):
        for t in [None] if fact.phases is None else run.times_of(fact.phases):
            yield _inequality(name, fact, run, t)
    elif isinstance(fact, Equation):
        for t in run.times_of(fact.phases):
            size = sum((abs(x) for component in run(fact.term, t) for x in component.reshape(-1)), ZERO)
            yield Comparison(name, t, size == 0, size, ZERO)
    else:
        for t in range(run.horizon):
            bound = run.number(fact.bound, t)
            worst = max(_conditional_square(fact, run, t).reshape(-1))
            yield Comparison(name, t, worst <= bound, worst, bound)


def _inequality(name: str, fact: Inequality, run: Run, t: int | None) -> Comparison:
    rows = [run.number(c, t or 0) * run.atom(atom, t or 0) for atom, c in fact.form]
    over = sum(rows, ZERO)
    holds = over == 0 if fact.equal else over <= 0
    if fact.sides is None:
        below = -sum((x for x in rows if x < 0), ZERO)
        return Comparison(name, t, holds, over + below, below)
    left, right = (run.scalar(side, t or 0) for side in fact.sides)
    if left - right != over:
        raise AssertionError(f"{name}: the normal form has another value than what was written")
    return Comparison(name, t, holds, left, right)


def _conditional_square(fact: Moment, run: Run, t: int) -> Component:
    """E[|term|^2 | given] for every index and outcome; a norm of operators is rounded down."""
    parts = run(fact.term, t)
    squares = total([times(x, x) for x in parts])
    if len(parts) == 4 and not fact.trace:
        a, b, c, d = parts
        determinant = total([times(a, d), -times(b, c)])
        spread = total([times(squares, squares), -4 * times(determinant, determinant)])
        squares = total([squares, each(lambda x: root(x, up=False), spread)]) / fmpq(2)
    if fact.given is None:
        return squares
    return run.expected(squares, fact.given, t)


# --- a derivation -----------------------------------------------------------------------------------------------------


@dataclass
class Leaves:
    """What was found for the steps of one derivation: how often compared, which, what failed, the largest ratio of each leaf."""

    theorem: str
    compared: int = 0
    steps: set[str] = field(default_factory=set)
    failed: list[Comparison] = field(default_factory=list)
    tightest: dict[str, float] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)

    def loose(self, share: float = 0.99) -> dict[str, float]:
        """The leaves whose largest ratio is below the share, with it."""
        return {name: ratio for name, ratio in self.tightest.items() if ratio < share}

    def __str__(self) -> str:
        rows = [f"{self.theorem}: {self.compared} comparisons, {len(self.failed)} failed"]
        rows += [f"  {name:28} {ratio:.6f}  {self.where[name]}" for name, ratio in self.tightest.items()]
        return "\n".join([*rows, *(f"  FAILED {one}" for one in self.failed)])


def derivation_names() -> tuple[str, ...]:
    """Ids of the theorems with a derivation of their own (a corollary follows from its theorem); with several cases, "ID CASE" each."""
    found: list[str] = []
    for name in derived_ids():
        plan = derivation(get_theorem(name))
        if isinstance(plan, Alternatives):
            found += [f"{name} {case}" for case, _ in plan.cases]
        elif isinstance(plan, Loop):
            found += [f"{name} {prefix}".strip() for prefix, _ in loops(plan)]
        elif isinstance(plan, Derivation):
            found.append(name)
    return tuple(found)


def established(name: str) -> Progress:
    """The checked steps of a derivation, one of `derivation_names`.

    Raises:
        InputError: there is none of this name.
        ProofError: a step does not follow.
    """
    theorem_id, _, case = name.partition(" ")
    theorem = get_theorem(theorem_id)
    plan = derivation(theorem)
    if isinstance(plan, Alternatives):
        plan = dict(plan.cases).get(case)
    if isinstance(plan, Loop):
        plan = {prefix.strip(): each for prefix, each in loops(plan)}[case]
    if not isinstance(plan, Derivation | Loop):
        raise InputError(f"{name}: no derivation of its own; there are {', '.join(derivation_names())}")
    return checked_steps(plan, theorem, theorem.default)


def checked_steps(plan: Derivation | Loop, theorem: Theorem, label: str) -> Progress:
    """What all steps of a derivation, or of a loop, establish.

    Raises:
        ProofError: a step does not follow.
    """
    if isinstance(plan, Loop):
        statement = theorem.statement(label)
        state = settled(plan, theorem, statement, Reader(theorem, statement))
        return Progress(plan, theorem, label, state)  # type: ignore[arg-type]
    progress = begin(plan, theorem, label)
    for step in plan.steps:
        progress = progress.after(step)
    return progress


def conclusion(progress: Progress) -> Fact:
    """The statement itself, after the last step.

    Raises:
        ProofError: it does not follow.
    """
    verdict = finish(progress)
    if not verdict.accepted:
        raise ProofError(verdict.failure)
    return verdict.facts[-1]


def leaf_names(progress: Progress) -> frozenset[str]:
    """The steps that rest on an assumption."""
    return frozenset(step.name for step in progress.derivation.steps if isinstance(step.rule, LEAVES))


def instances(progress: Progress, styles: tuple[Style, ...] = STYLES, *, free: bool = False) -> dict[Style, Run]:
    """A run of each style, and of `ALONG` where a loop goes back along another."""
    if progress.state.earlier is not None and not free:
        styles += ALONG
    return {style: instance(style, progress, free=free) for style in styles}


def examine(progress: Progress, runs: Mapping[Style, Run], facts: Mapping[str, Fact] | None = None) -> Leaves:
    """Compare the sides of every step and of the conclusion, or of the given statements, along each run."""
    leaves, found, loop = leaf_names(progress), Leaves(progress.theorem.id), isinstance(progress.derivation, Loop)
    last = {} if loop else {"conclusion": conclusion(progress)}
    chosen = {**progress.state.facts, **last} if facts is None else facts
    for style, run in runs.items():
        for name, fact in chosen.items():
            if (
                (style.ends and not _about_the_ends(fact))
                or not _has_value(fact, run)
                or name in _rounded(progress, run)
            ):
                continue
            for one in both_sides(name, fact, run):
                _record(found, replace(one, style=style.name), facts is not None or name in leaves)
        for one in after_the_last_step(progress, run) if loop and facts is None and not style.ends else ():
            _record(found, replace(one, style=style.name), one.step.startswith(STATEMENT))
    return found


STATEMENT = "statement"
"""Stands before the name of a constant that a loop delivers: what it bounds, after the last step."""


def after_the_last_step(progress: Progress, run: Run) -> Iterator[Comparison]:
    """What a loop proves by induction, and the constants of the statement, where the loop has ended; nothing at free points."""
    loop: Loop = progress.derivation  # type: ignore[assignment]
    numbers = progress.state.numbers
    if numbers is not None and any(_name(s.reversed) not in run.moving[0] for s in numbers.earlier):
        return
    statement = progress.theorem.statement(progress.label)
    for step in loop.steps:
        fact = progress.state.facts[step.name]
        if isinstance(step.rule, Induction) and isinstance(fact, Inequality) and _has_value(fact, run):
            yield _inequality(step.name, fact, run, run.horizon)
    values = {param.name: value for param, value in run.point.items() if param.name in statement.symbols}
    bounds = enclose_bound(statement, values) if loop.delivers else {}
    for given in loop.delivers:
        size = rational(bounds[given.target or "total"].upper)
        left, right = run.scalar(given.left, run.horizon), size**given.power * run.number(given.times)
        yield Comparison(f"{STATEMENT} {given.target}".strip(), run.horizon, left <= right, left, right)


def _has_value(fact: Fact, run: Run) -> bool:
    """Whether the numbers of a statement have a value along a run.

    They have none where the points are free and a number is that of the loop before.
    """
    try:
        numbers = [c for _, c in fact.form] if isinstance(fact, Inequality) else []
        return all(run.number(c, t) is not None for c in numbers for t in range(max(1, len(run.moving) - 1)))
    except ProofError:
        return False


def _rounded(progress: Progress, run: Run) -> frozenset[str]:
    """The steps that only give a length a name, where it is not rational."""
    named = {step.name: step.rule for step in progress.derivation.steps if isinstance(step.rule, Length)}
    return frozenset(n for n, rule in named.items() if run.number(rule.size) ** 2 != run.scalar(sq(rule.vector), 0))


def _about_the_ends(fact: Fact) -> bool:
    return isinstance(fact, Inequality) and all(isinstance(atom, At | One) for atom, _ in fact.form)


def _record(found: Leaves, one: Comparison, leaf: bool) -> None:
    found.compared += 1
    found.steps.add(one.step)
    if not one.holds:
        found.failed.append(one)
    if leaf and one.ratio is not None and one.ratio > found.tightest.get(one.step, -1.0):
        found.tightest[one.step], found.where[one.step] = one.ratio, one.style


def allowed(progress: Progress) -> dict[str, Fact]:
    """Every assumption at free points, with and without its samples, wherever the kernel gives an instance of it.

    So an assumption is tried also where its derivation does not use it, such as for every sample instead of the mean.
    """
    state, setting = progress.state.copy(), progress.derivation.setting
    found: dict[str, Fact] = {}
    sized = {state.algebra.normal(v): size for v, size in _sized_vectors(progress).items()}
    state.sizes = {v: Moment(v, None, size**2) for v, size in sized.items()}
    for name, axiom in state.axioms.items():
        if not isinstance(axiom, FUNCTIONS):
            continue
        for drawn in product((0, None), repeat=len(setting.function(axiom.function).sources)):
            acting = isinstance(axiom, LipschitzOperator) or (isinstance(axiom, Heterogeneity) and axiom.in_mean)
            moving = isinstance(axiom, MOVED)
            vectors = [(v,) for v in sized] if moving else [*_vectors(setting), *((v,) for v in sized)]
            for chosen in vectors if acting or moving else [()]:
                points = _points(setting, setting.function(axiom.function))
                terms = _moved(axiom, points, drawn, *chosen) if moving else _values(axiom, points, drawn) + chosen
                try:
                    found[f"{name} {drawn} {chosen}"] = axiom.instance(state, terms)
                except ProofError:
                    continue
    return found


FUNCTIONS = (
    Lipschitz,
    Bounded,
    SecondMoment,
    Variance,
    Heterogeneity,
    LipschitzOperator,
    CentralDifference,
    SecondDifference,
    DifferenceVariance,
)
TWO = (Lipschitz, LipschitzOperator)
MOVED = (CentralDifference, SecondDifference, DifferenceVariance)


def _values(axiom: Axiom, points: tuple[Term, ...], drawn: tuple[int | None, ...]) -> tuple[Term, ...]:
    """The function at a free point, or at two of them."""
    return tuple(App(axiom.function, point, drawn) for point in points[: 1 + isinstance(axiom, TWO)])  # type: ignore[attr-defined]


def _moved(axiom: Axiom, points: tuple[Term, ...], drawn: tuple[int | None, ...], vector: Term) -> tuple[Term, ...]:
    """The function at free points that are moved by a part of a vector."""
    (first, second), by = points, Fraction(1, 8) * vector
    if isinstance(axiom, CentralDifference):
        ends = (App(axiom.function, first + by, drawn), App(axiom.function, first - by, drawn))
        return (*ends, App(axiom.derivative, first, drawn))
    chosen = (first, second) if isinstance(axiom, SecondDifference) else (first,)
    return tuple(App(axiom.function, place, drawn) for point in chosen for place in (point + by, point))  # type: ignore[attr-defined]


def _points(setting: Setting, function: Function) -> tuple[Term, ...]:
    """Two arguments of a function: free points of its space, or the mean inner map at them; with a free label where it has one."""
    vectors = sorted((v for v in setting.variables if v.space == "x"), key=lambda v: (bool(v.equations), len(v.index)))
    points: tuple[Term, ...] = tuple(Var(v.name) for v in vectors)[:2]
    if function.domain != "x":
        (inner,) = (f for f in setting.functions if f.space == function.domain)
        points = tuple(App(inner.name, point, (None,) * len(inner.sources)) for point in _points(setting, inner))
    labels = [Var(v.name) for v in setting.variables if not v.equations and v.space == function.label]
    return tuple(Pair(point, labels[0]) for point in points) if function.label else points


def _vectors(setting: Setting) -> Iterator[tuple[Term, ...]]:
    for function in setting.functions:
        if is_outer(function):
            for drawn in product((0, None), repeat=len(function.sources)):
                yield (App(function.name, _points(setting, function)[0], drawn),)


if __name__ == "__main__":
    for name in sys.argv[1:] or derivation_names():
        checked = established(name)
        print(examine(checked, instances(checked)), flush=True)
