"""The update equations of a derivation beside the code of the method that the theorem is about: the same models.

Both run on the concrete functions of the instances, with noise at every client, along a few random paths: the equations in exact
arithmetic, the method's own code in doubles on oracles that evaluate the same functions exactly. A method that a theorem names also runs in
exact numbers, and the code of a file for longer (`further`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp
import torch
from flint import fmpq

from ...algorithms import Start
from ...algorithms.declared import declared as own_methods
from ...bounds.evaluation.enclosure import fmpq_of
from ...bounds.language.bounding import PARTICIPANTS, SERVER_MODEL
from ...bounds.language.clients import OverClients
from ...bounds.language.metrics import LAST
from ...bounds.language.reading import InputError
from ...bounds.language.schedule import read_schedule
from ...bounds.language.theorem import Theorem
from ...bounds.proof.instances import Functions, part_of
from ...bounds.proof.kernel import (
    CLOCK,
    COMMUNICATION,
    COMPRESSOR,
    LOCAL,
    MIXING,
    Loop,
    Param,
    Setting,
    Signomial,
    Sum,
    Term,
)
from ...bounds.proof.kernel.derivation import Progress
from ...bounds.proof.kernel.problem import metric_points
from ...bounds.proof.kernel.terms import inside, variables
from ...bounds.proof.runs import Style, arranged, instance, symbols_at
from ..exact.tensor import ExactTensor, InexactError
from ..lemmas.trace import walk
from ..runs.method_of import build_of, built_in_fractions
from ..runs.registry import codes_of, recipe_for
from . import constants, further
from .paths import NEAR, PATHS, PERIODS, STEPS, Difference, Oracles, OtherSampleError, Paths, Values, numbers_of

STYLE = Style(
    "methods",
    "anywhere",
    line=False,
    mixed=True,
    curved=True,
    b=2,
    m=2,
    B=3,
    loud=1,
    clients=3,
    horizon=1,
    delay=2,
    enumerated=False,
)
WEIGHTS = {
    "step_size": Fraction(3, 16),
    "step_numerator": Fraction(7, 8),
    "step_offset": Fraction(5, 2),
    "momentum": Fraction(7, 16),
    "momentum_numerator": Fraction(15, 16),
    "gradient_momentum": Fraction(5, 16),
    "inner_momentum": Fraction(11, 16),
    "step_scale": Fraction(9, 16),
    "proximal_weight": Fraction(13, 16),
    "compression_accuracy": Fraction(9, 25),
    "spectral_gap": Fraction(1, 5),
    "failure_probability": Fraction(1, 4),
}
"""Hyperparameters by quantity, with other numbers at each point. The equations are compared, not the bounds: no condition has to hold."""
SIMPLE = 1000
"""A number with a larger numerator or denominator may be a small change of another one."""
DEGREE = 6
"""A product of more hyperparameters, each between 1/10 and 1, may be too small for doubles to notice."""
WIDE = replace(STYLE, b=3, m=4, B=5, loud=0, clients=further.CLIENTS)
FAR_APART = {**WEIGHTS, "spectral_gap": Fraction(1, 50), "mixing_contraction": Fraction(49, 50)}
"""Among many clients a method may mix slowly."""
ROUNDED = "a rounded number"
_CORNERS = (sp.Max, sp.Min, sp.Abs, sp.Piecewise, sp.floor, sp.ceiling, OverClients)
_MORE = 2
"""How many more clients there are where the method mixes: among up to three, all are neighbours."""
LATEST = 12
"""The latest step at which a step size may change for the first time."""
NOTHING = ((fmpq(1), fmpq(0)),)
"""The law of a sample that is always 0."""
COMPOSITE = {"inner": "g", "jacobian": "dg", "outer": "df"}


def models(step: Any) -> torch.Tensor:
    """The models after a step."""
    return step.after.x


MODELS: Mapping[str, Callable[[Any], torch.Tensor]] = {"x": models}
ESTIMATES: Mapping[str, Callable[[Any], torch.Tensor]] = {**MODELS, "u": lambda step: step.after.u}


@dataclass(frozen=True)
class Code:
    """The method of a derivation, in one of its variants, and how the two are read beside each other.

    Args:
        build: the method, from the values of the statement's symbols.
        kind: of the problem.
        reads: variable -> what the code has in its place after a step (see `walk`).
        roles: oracle -> name of the function in the derivation.
        samples: purpose of the code's draw -> sources of the derivation that it stands for.
        embedding: the variable whose value before the run the code is given as y^0.
        model: the variable that starts as the model.
        sets: name of the weights of a random set of clients.
        only: phases at which a variable is compared.
        variant: what the method is told beyond the symbols, for a reader.
        left_out: clients that are not in a random set.
        silent: sources that the method does not draw from, as they make no noise; their samples are 0.
        covered: whether the derivation is about this variant; one that it is not about is named beside it.
        named: whether the theorem names the method and gives it formulas, which are then compared at two points.
    """

    build: Callable[[SimpleNamespace], Any]
    kind: str
    reads: Mapping[str, Callable[[Any], torch.Tensor]]
    roles: Mapping[str, str]
    samples: Mapping[str, tuple[str, ...]]
    embedding: str = ""
    model: str = "x"
    sets: str = ""
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)
    variant: str = ""
    left_out: int = 1
    silent: tuple[str, ...] = ()
    covered: bool = True
    named: bool = False

    def beside(self, progress: Progress) -> Beside:
        """The code and the equations of a derivation, on one instance."""
        return Beside(self, arranged(progress))


class Beside:
    """The update equations of a derivation and the code of a method, along the same paths; both run once."""

    def __init__(
        self,
        code: Code,
        progress: Progress,
        style: Style = STYLE,
        seed: str = "",
        weights: Mapping[str, Fraction] = WEIGHTS,
    ):
        self.code, self.progress, self.seed, self.weights = code, progress, seed, weights
        self.functions = progress.derivation.setting.functions
        if code.named and code.kind == "meta":
            raise InputError(
                "the derivation has the gradient after fine-tuning, and a method that a theorem names is given that of the loss"
            )
        self.mixes = any(function.role == MIXING for function in self.functions)
        style = replace(style, left_out=code.left_out, clients=style.clients + _MORE * self.mixes)
        self.base = instance(style, progress)
        self.length = _length(progress.theorem, self.base.point)
        self._steps: dict[tuple[int, bool], tuple[Any, ...]] = {}

    @property
    def read(self) -> set[str]:
        """The variables that are compared."""
        return set(self.code.reads)

    def along(self, period: int, setting: Setting | None = None) -> Paths:
        """The equations of the derivation, or of another setting, along a few random paths."""
        laws = {**self.base.laws, **dict.fromkeys(self.code.silent, NOTHING)}
        base, known = self.base, ((b.name, self.weights.get(b.quantity.name)) for b in self.progress.theorem.notation)
        weights = {name: value and _smaller(name, self.seed) * value for name, value in known}
        chosen = {**weights, str(self.progress.state.period): Fraction(period)}
        point = {p: chosen.get(p.name) or v for p, v in base.point.items()}
        if (offset := self.progress.state.offset) is not None:
            point[CLOCK] = offset.at(point)
        paths = Paths(
            setting or base.setting, base.problem, point, self.length, period, base.start, base.free, laws=laws
        )
        if isinstance(base.problem, Functions):
            paths.problem = self._built_on(base.problem, paths)
        return paths

    def _built_on(self, functions: Functions, paths: Paths) -> Functions:
        """With what the method sends and with its weights, where the derivation has a compressor without samples, or mixes.

        Raises:
            InputError: the method sends and mixes nothing.
        """
        sends = any(function.role == COMPRESSOR and not function.sources for function in self.functions)
        if not (sends or self.mixes):
            return functions
        values, method = Values(paths), self.code.build(numbers_of(paths))
        for attribute, wanted in (("sent", sends), ("mixing", self.mixes)):
            if wanted and not hasattr(method, attribute):
                raise InputError(f"the method {method.name} has no {attribute}")
        rows = method.mixing(values.clients) if self.mixes else None
        if rows is not None:
            self._check_mixing(method.name, rows, paths)
        return replace(
            functions,
            sent=(lambda v: values.exact(self._checked_sent(method, values.floats(v), paths))) if sends else None,
            mixing=rows and tuple(tuple(map(fmpq_of, row)) for row in rows),
        )

    def _value_of(self, quantity: str, paths: Paths) -> float | None:
        """The number of the statement's symbol for a quantity; None where it has none."""
        name = next((b.name for b in self.progress.theorem.notation if b.quantity.name == quantity), None)
        return next((float(value) for param, value in paths.point.items() if param.name == name), None)

    def _check_mixing(self, name: str, rows: Sequence[Sequence[Fraction]], paths: Paths) -> None:
        """Raises where the method's own matrix does not keep the mean, or shrinks the distance from it by less than the symbol says."""
        if (found := constants.contraction(rows)) is None:
            raise InputError(f"the matrix of {name} does not keep the mean over the clients")
        gap, contraction = (self._value_of(quantity, paths) for quantity in ("spectral_gap", "mixing_contraction"))
        said = contraction if gap is None else 1 - gap
        if said is not None and found > said + NEAR:
            raise InputError(
                f"the matrix of {name} leaves {found:.6g} of a distance from the mean, the symbol says {said:.6g}"
            )

    def _checked_sent(self, method: Any, v: torch.Tensor, paths: Paths) -> torch.Tensor:
        """What the method sends of a vector; raises where it leaves out more than the symbol of its accuracy says."""
        sent: torch.Tensor = method.sent(v)
        accuracy = self._value_of("compression_accuracy", paths)
        if accuracy is not None:
            left_out, whole = ((part * part).sum(-1) for part in (sent - v, v))
            if bool((left_out > (1 - accuracy) * whole + NEAR).any()):
                raise InputError(f"{method.name} leaves out more of a vector than an accuracy of {accuracy:.6g} allows")
        return sent

    def steps(self, period: int, *, exactly: bool = False) -> tuple[Any, ...]:
        """The steps of the code; of the derivation's equations only the drawn labels are used."""
        key = period, exactly
        if key not in self._steps:
            self._steps[key] = self._enacted(period, exactly)
        return self._steps[key]

    def _enacted(self, period: int, exactly: bool) -> tuple[Any, ...]:
        code, run = self.code, self.along(period)
        problem = Oracles(run, code, noiseless=self.is_noiseless, values=Values(run, exactly=exactly))
        start = problem.values.floats(run.variable(code.model, 0))
        given = problem.values.floats(run.variable(code.embedding, -1))[0, 0] if code.embedding else None
        method = (
            built_in_fractions(self.progress.theorem, symbols_at(self.progress, run))
            if exactly
            else code.build(numbers_of(run))
        )
        found = walk(method, problem, self.length, PATHS, start=Start(x=start[0, 0], y=given), draws=problem.draws)
        return tuple(found)

    @property
    def is_noiseless(self) -> bool:
        theorem = self.progress.theorem
        return "deterministic" in {*theorem.assume, *theorem.statement(self.progress.label).assume}

    @property
    def periods(self) -> tuple[int, ...]:
        period = self.progress.state.period
        return PERIODS if period.params else (int(period.at({})),)

    def differences(self, setting: Setting | None = None) -> Iterator[Difference | str]:
        """Where the equations of the derivation, or of another setting, and the code have other values; as a sentence where a method is not
        as it says of itself.

        A method that the theorem names is compared at two points, in doubles and then, where these do not differ, in exact numbers;
        that of a file also for many steps, and with what it says of itself.

        Raises:
            InputError: something of the method cannot be compared.
        """
        places = [self]
        if self.code.named:
            places.append(Beside(self.code, self.progress, *_elsewhere(self.progress.theorem)))
        differ = False
        for each in places:
            for one in each._in_doubles(setting):
                differ = True
                yield one
        if self.code.named and setting is None and not differ:
            for each in places:
                yield from each._exact_differences()
            if is_of_a_file(self.progress.theorem):
                yield from self._unlike_its_constants()
                yield from further.differences(Beside(self.code, self.progress, WIDE, "wide", FAR_APART))

    def _in_doubles(self, setting: Setting | None) -> Iterator[Difference]:
        for period in self.periods:
            try:
                yield from self._differences(period, setting)
            except OtherSampleError as error:
                yield Difference(f"period {period}", "none of the kind", str(error))

    def _unlike_its_constants(self) -> list[str]:
        """Where the method of a file has other constants than it says.

        Raises:
            InputError: they cannot be measured.
        """
        symbols = {
            b.quantity.name: name for name, b in self.progress.theorem.statement(self.progress.label).symbols.items()
        }
        values, build = vars(numbers_of(self.along(self.periods[0]))), lambda v: self.code.build(SimpleNamespace(**v))
        theta, omega, eta = (symbols.get(q, "") for q in ("compression_accuracy", "compression_variance", "step_size"))
        compressors = {bool(function.sources) for function in self.functions if function.role == COMPRESSOR}
        found: list[str] = []
        if compressors and not ({False: theta, True: omega and eta}[compressors.pop()] and not compressors):
            raise InputError("the compressor of a file has no symbol by which it could be measured")
        if theta:
            found += constants.accuracy(build, values, theta)
        if omega and eta:
            found += constants.variance(build, values, omega, eta)
        if self.mixes:
            found += constants.mixing(build(values))
        return found

    def _exact_differences(self) -> Iterator[Difference]:
        """Where they have other values in exact numbers, in which nothing is too small to be seen.

        Raises:
            InputError: the code has no exact run, and a number of it, of its hyperparameters or of the equations is not a simple one.
        """
        try:
            for period in self.periods:
                yield from self._differences(period, None, exactly=True)
        except (InexactError, TypeError, AttributeError, RuntimeError) as error:
            rounded = [f"{error}"] if ROUNDED in str(error) else []
            if unclear := next(iter((*rounded, *_not_simple(self.progress.theorem, self.base.setting))), ""):
                raise InputError(
                    f"{unclear}: the code has no run in exact numbers, and doubles do not decide this one ({error})"
                ) from None

    def _differences(self, period: int, setting: Setting | None, *, exactly: bool = False) -> Iterator[Difference]:
        run, code = self.along(period, setting), self.code
        values = Values(run, exactly=exactly)
        for step in self.steps(period, exactly=exactly):
            for variable, read in code.reads.items():
                if run.phase(step.t) in code.only.get(variable, LOCAL | COMMUNICATION):
                    wanted = values.floats(run.variable(variable, step.t + run.setting.variable(variable).defined))
                    where = f"{variable} after step {step.t} (period {period})"
                    yield from unequal(where, wanted, read(step))
        if setting is None and not exactly:
            yield from self._measured(run, values, period)

    def _measured(self, run: Paths, values: Values, period: int) -> Iterator[Difference]:
        """Where the kernel takes the theorem's metric at another model than a run has at the step that the theorem speaks of.

        Of a metric of the clients that take part nothing is said: which they are is drawn.
        """
        theorem, derivation = self.progress.theorem, self.progress.derivation
        if isinstance(derivation, Loop) or not derivation.setting.objectives or theorem.metric.at == PARTICIPANTS:
            return
        point, every_of = (
            metric_points(self.progress.reading, self.progress.state.axioms)[0],
            recipe_for(theorem).every,
        )
        every = 1 if every_of is None else every_of(vars(numbers_of(run)))
        steps = self.steps(period)
        models = [steps[0].before.average, *(step.after.average for step in steps)]
        last = theorem.metric.over == LAST
        for t in [len(steps)] if last else range(len(steps)):
            taken = t if last else every * (t // every + (theorem.average == "after"))
            if taken < len(models):
                where = f"the metric at step {t} (period {period})"
                yield from unequal(where, values.floats(run(point, t)), models[taken].unsqueeze(1))


def is_of_a_file(theorem: Theorem) -> bool:
    """Whether the method that a theorem names is none of fedco's own, of which nothing but its code for a few steps is known."""
    return theorem.method is not None and theorem.method.name not in own_methods()


def _elsewhere(theorem: Theorem) -> tuple[Style, str]:
    """A second point at which what a theorem gives its method is compared: sizes, and from what the other hyperparameters are drawn there.

    Both come from the formulas that the method gets, so that a formula is not made to agree there by its point.
    """
    told = sorted((name, str(formula)) for name, formula in theorem.method.values.items()) if theorem.method else []
    draw = Random(repr(told))
    b, m, B = draw.sample(range(3, 12), 3)
    style = replace(STYLE, b=b, m=m, B=B, clients=draw.choice((2, 4, 5)), horizon=draw.randrange(2, 9))
    style = replace(style, delay=draw.choice([each for each in (1, 3, 4) if each not in (b, m, B, style.clients)]))
    return style, repr(told)


def _smaller(name: str, seed: str) -> Fraction:
    """How much smaller a hyperparameter is at the second point, between 1/2 and 1: each by a number of its own, so that ratios differ."""
    return Fraction(1, 2) + Fraction(Random(f"{seed} {name}").randrange(2**40), 2**41) if seed else Fraction(1)


def undecided(theorem: Theorem) -> Iterator[str]:
    """What of a theorem's method two points do not decide: formulas that could agree there by their coefficients.

    A symbol by itself has another value than every other one at one of the points. A formula of several things is decided where it is
    made of hyperparameters whose numbers are drawn, without corners; one of whole numbers, which have few values, or of constants is
    not, unless the kernel compares it in symbols.
    """
    call = theorem.method
    if call is None:
        return
    known = own_methods().get(call.name) or (call.code and call.code.load())
    in_symbols = {name for name, quantity in getattr(known, "quantities", {}).items() if quantity == "sampled_clients"}
    for formula in getattr(known, "constants", {}).values():
        in_symbols |= {str(symbol) for symbol in sp.sympify(formula).free_symbols}
    drawn = {binding.symbol for binding in theorem.notation if binding.quantity.name in WEIGHTS}
    for name, formula in call.values.items():
        if name in in_symbols:
            continue
        schedule = read_schedule(sp.sympify(formula)) if name in call.schedules else None
        parts = [formula] if schedule is None else [schedule.a, schedule.t0, schedule.every]
        for part in map(sp.sympify, parts):
            if not (part.is_Symbol or part.is_Number) and (part.has(*_CORNERS) or part.free_symbols - drawn):
                yield f"{name} = {formula}: comparing the method at two points does not decide such a formula"


def _length(theorem: Theorem, point: Mapping[Param, Fraction]) -> int:
    """How many steps are compared: more where a step size of the method changes later.

    Raises:
        InputError: a step size changes too late for that.
    """
    values = {p.name: value for p, value in point.items()}
    found = STEPS
    for formula in (theorem.method.schedules if theorem.method else {}).values():
        schedule = read_schedule(sp.sympify(formula))
        every = STEPS if schedule is None else schedule.every
        rows = {symbol: values.get(symbol.name) for symbol in sp.sympify(every).free_symbols}
        late = sp.sympify(every).xreplace({s: sp.Rational(v.numerator, v.denominator) for s, v in rows.items() if v})
        if not late.is_Integer or late > LATEST:
            raise InputError(f"{formula}: its changes are too late to be compared step by step")
        found = max(found, int(late) + 2)
    return found


def _not_simple(theorem: Theorem, setting: Setting) -> Iterator[str]:
    """Numbers in the formulas of a method, and in update equations, that doubles might take for other ones."""
    for name, formula in theorem.method.values.items() if theorem.method else ():
        written = sp.sympify(formula)
        if not all(map(_is_short, written.atoms(sp.Number))) or _degree(written) > DEGREE:
            yield f"{name} = {formula}"
    for variable in setting.variables:
        for _, term in variable.equations:
            yield from (f"{variable.name}: {c!r}" for c in _coefficients(term) if not _is_simple(c))


def _is_short(number: sp.Number) -> bool:
    return bool(number.is_Rational and max(abs(number.p), number.q) <= SIMPLE)


def _degree(formula: sp.Expr) -> int:
    """The sum of the exponents of the products in a formula, at most."""
    if formula.is_Pow:
        return int(abs(formula.exp) + 1) * _degree(formula.base) if formula.exp.is_number else DEGREE + 1
    return sum(map(_degree, formula.args)) if formula.args else int(formula.is_Symbol)


def _coefficients(term: Term) -> Iterator[Signomial]:
    for part in term.parts if isinstance(term, Sum) else ():
        yield part[0]
    for inner in inside(term):
        yield from _coefficients(inner)


def _is_simple(coefficient: Signomial) -> bool:
    return all(
        max(abs(number.numerator), number.denominator) <= SIMPLE
        and sum(abs(Fraction(e)) for _, e in monomial) <= DEGREE
        for monomial, number in coefficient.terms
    )


def unequal(where: str, equations: torch.Tensor, code: torch.Tensor) -> Iterator[Difference]:
    """The largest difference between two tables, if there is one; of exact ones the first."""
    if isinstance(equations, ExactTensor) and isinstance(code, ExactTensor):
        left, right = equations.numbers, np.broadcast_to(code.numbers, equations.numbers.shape)
        unlike = [found for found in np.ndindex(left.shape) if left[found] != right[found]]
        for found in unlike[:1]:
            yield Difference(f"{where}, in exact numbers", *(f"{float(x[found]):.17g}" for x in (left, right)))
    elif not torch.allclose(code, equations, rtol=NEAR, atol=NEAR):
        place = (code - equations).abs().flatten().argmax()
        wanted, got = (f"{x.expand_as(equations).flatten()[place].item():.12g}" for x in (equations, code))
        yield Difference(where, wanted, got)


def codes_beside(progress: Progress, case: str = "") -> tuple[Any, ...]:
    """The code of a derivation's method in each variant: what its paper declares, else the method that the theorem names."""
    declared = codes_of(progress.theorem, case)
    if declared or isinstance(progress.derivation, Loop):
        return declared
    named = _named_method(progress.theorem, progress)
    return () if named is None else (named,)


def _named_method(theorem: Theorem, progress: Progress) -> Code | None:
    """The method that a theorem names itself, with the functions of its derivation by their spaces; None where it names none."""
    if theorem.method is None:
        return None
    build, setting = build_of(theorem), progress.derivation.setting
    symbols = theorem.statement(progress.label).symbols
    roles: dict[str, str] = {}
    compressors, sets = ([f for f in setting.functions if f.role == role] for role in (COMPRESSOR, "random_set"))
    for function in setting.functions:
        shape, order = part_of(setting, function)
        role = "jacobian" if order else shape if shape in ("inner", "outer") else "gradient"
        if shape:
            roles.setdefault(role, function.name)
    model = progress.derivation.model
    kept = tuple(source for each in compressors for source in each.sources)
    chosen = {source for each in sets for source in each.sources}
    drawn = tuple(name for name in setting.source_names if name not in kept and name not in chosen)
    outer = {source for f in setting.functions if part_of(setting, f)[0] == "outer" for source in f.sources}
    samples = dict.fromkeys(("sample", "outer", "inner"), drawn) | ({"kept": kept} if kept else {})
    if theorem.problem == "conditional":
        samples["inner"] = tuple(source for source in drawn if source not in outer)
    servers = _servers(progress)
    return Code(
        lambda v: build({name: vars(v)[name] for name in symbols}),
        theorem.problem,
        {model: models, **dict.fromkeys(servers, models)},
        roles,
        samples,
        model=model,
        only=dict.fromkeys(servers, COMMUNICATION),
        sets=sets[0].name if sets else "",
        named=True,
    )


def measured_otherwise(theorem: Theorem) -> str:
    """That runs of a theorem are measured at other steps than those of which its proof speaks; empty where they are not."""
    steps = {"before": "t = 0..T-1", "after": "t = 1..T"}
    try:
        average = recipe_for(theorem).average
    except InputError:  # nothing runs it
        return ""
    return (
        f"the proof is about the models at {steps[theorem.average]}; validate and falsify measure those at {steps[average]}"
        if average != theorem.average
        else ""
    )


def _servers(progress: Progress) -> tuple[str, ...]:
    """The variables that are the server's model, where the metric is taken there; the kernel has seen that they stay within a round."""
    if progress.theorem.metric.at != SERVER_MODEL:
        return ()
    points = metric_points(progress.reading, progress.state.axioms)
    return tuple(name for point in points for name, _ in variables(point))
