"""Instances for any theorem, on any problem that fits: tuned steps or the theorem's own schedule, the edge of its region,
and a start at rest.

From far away every bound is mostly its initialisation term, so the tuned instance says whether the bound holds where it
is meant to be used. At the edge a condition holds with almost nothing to spare. At rest nothing but noise and drift is left.
Every instance has two horizons at which the statement is admissible and below the cap, since a bound above it says nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count, takewhile
from math import ceil, floor, isqrt, log10
from typing import Any

from ...bounds.cost.resources import resources
from ...bounds.evaluation.evaluate import Bound
from ...bounds.language.client_lists import for_clients
from ...bounds.language.metrics import GAP, gradient_power
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.region.admissible import admissible
from ...synthetic.catalogue import PRESETS
from ...synthetic.catalogue import problem as find_problem
from ...synthetic.models import AbstractModelProblem
from ...user_files import is_python_file
from ..experiments.estimates import with_constants
from .fit import WITHOUT_NOISE, assumed, fitting_problems, misfit, why_none_fits
from .measures import said_cap
from .method_of import measured_by
from .recipe import AT_REST, NEAR, Instance
from .users_certificates import attack_certificates
from .values import GIVEN_BY_THE_PROBLEM, HORIZONS, constants, evaluate_at, horizon_of

MOST_STEPS = 20_000
"""Longest generated horizon; a problem whose bound falls below the cap only later is left out."""
PERIOD, LONG_PERIOD = 2, 4
"""Steps of a round, where the theorem has local steps; the long round is for a start at rest, where drift can be seen."""
BELOW = Fraction(3, 4)
"""Share of the cap below which a bound must be, so that a few hundred seeds can support it."""
FAILURE = Fraction(1, 10)
"""The probability with which a bound that holds with a probability may fail."""
EDGE = Fraction(98, 100)
"""Step size relative to its largest value."""
DIGITS = 3
"""Significant digits of a generated hyperparameter, rounded down."""
HALVINGS = 8
NO_REST = "the problem has no parameter that starts it at a stationary point"
RESTING = 0.01
"""The objective gap of a start at rest, relative to that of a start far away."""
FIRST, FIRST_AT_REST = 16, 200
"""The shortest horizon of a prescribed schedule, and that of a start at rest."""

Hyper = dict[str, Any]
"""Hyperparameters of the theorem: a number, or a tuple of numbers where each client has its own."""


@dataclass(frozen=True)
class Generated:
    """The instances of a theorem, why a case is missing, and the problems whose certificates are a user's own."""

    instances: tuple[Instance, ...]
    missing: tuple[str, ...]
    of_users: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Why cases are missing, in one line."""
        return _together(self.missing)


def generate(theorem: Theorem, label: str, problem: Any, fixed: Mapping[str, Fraction] | None = None) -> Generated:
    """The instances of a statement on a problem.

    Args:
        problem: the name of a registered problem, or a problem object.
        fixed: hyperparameters that stay as they are, by symbol.
    """
    setting = Setting(theorem, label, problem, dict(fixed or {}))
    try:
        reason = misfit(theorem, setting.far, label)
    except ValueError as error:
        reason = str(error)
    if reason:
        return Generated((), (reason,))
    if gradient_power(theorem.metric) and "gradient_cap" not in setting.far.certificates:
        return Generated((), ("the problem certifies no gradient_cap, without which no bound is supported",))
    cases = (_schedule, _stress) if setting.scheduled else (_tuned, _edge, _stress)
    found: list[Instance] = []
    missing: list[str] = []
    for case in cases:
        try:
            made = case(setting)
        except InputError as error:
            missing.append(f"{case.__name__.strip('_')}: {error}")
            continue
        before = {T for other in found if other.name == made.name for T in other.horizons}
        if horizons := tuple(T for T in made.horizons if T not in before):
            found.append(replace(made, horizons=horizons))
        else:
            missing.append(f"{case.__name__.strip('_')}: no other instance than those before")
    return Generated(tuple(found), tuple(missing))


def _once(problems: Iterable[Any]) -> list[Any]:
    """What is named or given twice once."""
    kept: list[Any] = []
    for each in problems:
        if not any(each is other or (isinstance(each, str) and each == other) for other in kept):
            kept.append(each)
    return kept


def instances_of(
    theorem: Theorem,
    label: str,
    declared: Sequence[Instance],
    problems: Sequence[Any] | None = None,
    fixed: Mapping[str, Fraction] | None = None,
    say: Callable[[str], None] | None = None,
) -> Generated:
    """What a theorem is validated on: the declared instances where there are some, generated ones on every other problem.

    `missing` says of each problem which cases have no instance, and why. The certificates of a user's problem are attacked first.

    Args:
        declared: those of its recipe.
        problems: names, objects or descriptions of models; all declared instances without it, or every registered problem that
            fits where none is.
        fixed: hyperparameters that stay as they are, by symbol.
        say: told which constant of a model is being estimated.

    Raises:
        InputError: a problem that does not fit, one of a user's with a false certificate, or one on which nothing can be generated; it
            says why.
    """
    if problems is None and declared:
        return Generated(tuple(declared), ())
    found: list[Instance] = []
    reasons: list[str] = []
    missing: list[str] = []
    of_users: list[str] = []
    for given in _once(fitting_problems(theorem, label) if problems is None else problems):
        problem = ready(given, theorem, label, say)
        mine = [instance for instance in declared if instance.problem is problem or instance.problem == problem]
        made = Generated(tuple(mine), ()) if mine else generate(theorem, label, problem, fixed)
        if made.instances and not _is_registered(given):
            own = find_problem(problem)
            if say:
                say(f"the certificates of {own.name} are attacked")
            attack_certificates(own)
            of_users += [own.name] if not isinstance(own, AbstractModelProblem) else []
        found += made.instances
        name = problem if isinstance(problem, str) else problem.name
        missing += [f"{name}: {why}" for why in made.missing]
        if not made.instances:
            reasons.append(f"{name[:40]}: not an instance of {theorem.id}: {made.why}")
    if problems is not None and reasons:
        raise InputError(f"--problem {reasons[0]}")
    if not found:
        why = _together(reasons) or why_none_fits(theorem, label)
        raise InputError(f"{theorem.id} ({label}): no problem to validate it on; {why}")
    return Generated(tuple(found), tuple(missing), tuple(of_users))


def _together(lines: Sequence[str]) -> str:
    """Lines `NAME: reason` in one, a reason once behind the names that have it."""
    reasons: dict[str, list[str]] = {}
    for line in lines:
        name, _, reason = line.partition(": ")
        reasons.setdefault(reason or name, []).extend([name] if reason else [])
    return "; ".join(f"{', '.join(names)}: {reason}" if names else reason for reason, names in reasons.items())


def ready(problem: Any, theorem: Theorem, label: str, say: Callable[[str], None] | None = None) -> Any:
    """What is run: a problem of a model with its constants, which are estimated here if need be; any other as it was named."""
    if isinstance(problem, str) and not is_python_file(problem):
        return problem
    found = find_problem(problem)
    if not isinstance(found, AbstractModelProblem):
        return problem
    return with_constants(found, theorem, label, say, also=("gradient_cap",))


def _is_registered(given: Any) -> bool:
    """Whether the tests attack its certificates: one that is named, or an object of fedco's own classes."""
    if isinstance(given, str):
        return not is_python_file(given)
    return type(given).__module__.startswith(f"{__name__.partition('.')[0]}.")


@dataclass(frozen=True)
class Setting:
    """A statement on a problem: what is given, and what is to be chosen."""

    theorem: Theorem
    label: str
    problem: Any
    fixed: Hyper

    def instance(
        self, hyper: Hyper, why: str, case: str, horizons: tuple[int, ...] = (), rest: bool = False
    ) -> Instance:
        silent = WITHOUT_NOISE if "deterministic" in assumed(self.theorem, self.label) else {}
        parameters = self._known({**(AT_REST if rest else NEAR), **silent})
        return Instance(self.problem, hyper, why, parameters, horizons, case)

    def _known(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that the family of a registered problem has; a start is not moved further away."""
        preset = PRESETS.get(self.problem) if isinstance(self.problem, str) else None
        own = preset.all_parameters if preset else {}
        return {name: min(value, own[name]) for name, value in wanted.items() if name in own}

    @cached_property
    def far(self) -> Any:
        return self.instance({}, "", "interior").made()

    @cached_property
    def at_rest(self) -> Any:
        """The problem with its start at a stationary point.

        Raises:
            InputError: it cannot be started there.
        """
        if "start" not in self._known(AT_REST):
            raise InputError(NO_REST)
        try:
            made = self.instance({}, "", "stress", rest=True).made()
        except ValueError as error:
            raise InputError(f"{NO_REST} ({error})") from None
        gap, far = (float(problem.certificates["objective_gap"].value) for problem in (made, self.far))
        if gap > RESTING * far:
            raise InputError(NO_REST)
        return made

    @cached_property
    def tuned(self) -> Instance:
        return _tuned(self)

    @cached_property
    def cap(self) -> Fraction:
        """What a bound has to be well below: the cap of the gradient, or the metric at the start, which needs no run, or the said one.

        Raises:
            InputError: a definition does not say what its own metric never exceeds.
        """
        known, measure = self.far.certificates, self.theorem.metric.of
        if power := gradient_power(self.theorem.metric):
            return Fraction(known["gradient_cap"].value) ** power
        if self.theorem.metric.own is not None:
            return Fraction(said_cap(self.theorem.metric.own, self.values(self.whole())))
        return Fraction(known["objective_gap"].value if measure == GAP else known["initial_distance"].value ** 2)

    @cached_property
    def scheduled(self) -> frozenset[str]:
        return frozenset(self.theorem.statement(self.label).schedule) - self.fixed.keys()

    @cached_property
    def step(self) -> str | None:
        """The symbol of the step size, unless it is fixed."""
        names = {b.quantity.name: name for name, b in self.theorem.symbols(self.label).items()}
        found = names.get("step_size", names.get("step_scale"))
        return None if found in self.fixed or found in self.scheduled else found

    @cached_property
    def measured(self) -> Mapping[str, float]:
        """What the theorem's method finds for so many clients, such as the contraction of its mixing matrix."""
        return measured_by(self.theorem, self.far.clients)

    def whole(self, period: int = PERIOD) -> Hyper:
        """What is not left to the tuner: periods, delays, batches, participation, hidden constants, what the method measures."""
        chosen: Hyper = dict(self.fixed)
        for name, binding in self.theorem.symbols(self.label).items():
            quantity = binding.quantity
            is_set = quantity.name in (*HORIZONS, *GIVEN_BY_THE_PROBLEM) or name in (self.scheduled | chosen.keys())
            if quantity.role != "hyperparameter" or is_set:
                continue
            if quantity.name in self.measured:
                chosen[name] = _weakened(Fraction(self.measured[quantity.name]), quantity.more_is_stronger)
            elif quantity.name in ("communication_period", "delay"):
                chosen[name] = period
            elif quantity.name == "client_steps" and binding.per_client:
                chosen[name] = tuple(1 + client % period for client in range(self.far.clients))
            elif quantity.name == "failure_probability":
                chosen[name] = FAILURE
            elif quantity.domain == "positive integer" or quantity.name in ("participation", "hidden_constant"):
                chosen[name] = self._declared(name)
        return chosen

    def _declared(self, name: str) -> int | Fraction:
        """1, or what the theorem says that a hidden constant is."""
        found = (c.right for c in self.theorem.compared_where if c.relation == "==" and str(c.left) == name)
        return next((Fraction(str(value)) for value in found), 1)

    def values(self, hyper: Hyper) -> dict[str, Any]:
        """Everything but the horizon."""
        known: dict[str, Any] = dict(constants(self.theorem, self.label, self.far)[0])
        for name, binding in self.theorem.symbols(self.label).items():
            if given := GIVEN_BY_THE_PROBLEM.get(binding.quantity.name):
                known.setdefault(name, Fraction(getattr(self.far, given)))
        return {**known, **{k: v for k, v in hyper.items() if k in self.theorem.symbols(self.label)}}

    def bound(self, instance: Instance, T: int) -> Bound:
        problem = self.at_rest if instance.case == "stress" else self.far
        return evaluate_at(self.theorem, self.label, problem, instance.hyperparameters, T)[0]

    def says_something(self, instance: Instance, T: int) -> bool:
        """Whether the statement is admissible at T, with whole numbers where it wants them, and well below the cap."""
        bound = self.bound(instance, T)
        symbols = self.theorem.symbols(self.label)
        whole = (
            bound.numbers[n].is_integer() for n, b in symbols.items() if b.quantity.numbers.whole and n in bound.numbers
        )
        return bound.admissible and self.is_small(bound) and all(whole)

    def is_small(self, bound: Bound) -> bool:
        return bound.total is not None and bound.total < float(self.cap * BELOW)

    def at_two(self, instance: Instance, horizons: Iterator[int]) -> Instance:
        """The instance at the first of the horizons that say something, and at the next one that is twice as long.

        Raises:
            InputError: there are not two up to `MOST_STEPS`.
        """
        found: list[int] = []
        for T in takewhile(lambda T: T <= MOST_STEPS, horizons):
            if (not found or 2 * found[0] <= T) and self.says_something(instance, T):
                found.append(T)
            if len(found) == 2:
                return replace(instance, horizons=tuple(found))
        raise InputError(
            f"the bound is not below 3/4 of the cap, or not admissible, at two horizons up to {MOST_STEPS}"
        )


def _tuned(setting: Setting) -> Instance:
    """The step sizes of least cost for a bound of half the cap."""
    hyper = setting.whole()
    symbols, free = setting.theorem.symbols(setting.label), horizon_of(setting.theorem, setting.label)
    costs = resources(setting.theorem.statement(setting.label))
    cost = next((name for name in HORIZONS if name in costs), free)
    values: dict[str, Any] = dict(setting.values(hyper))
    best = setting.theorem.tune(setting.label, eps=setting.cap / 2, cost=cost, **values)
    chosen = {name: _rounded(Fraction(text)) for name, text in best.values.items() if name != free and name in symbols}
    instance = setting.instance({**hyper, **chosen}, "least horizon for a bound of half the cap", "tuned")
    first = _round_up(ceil(best.bound.numbers[free]), 2 * PERIOD)
    return setting.at_two(instance, (first * k for k in (1, 2, 4)))


def _edge(setting: Setting) -> Instance:
    """The tuned instance with the step size at 98% of its largest value."""
    step = setting.step
    if step is None:
        raise InputError("no step size is left to choose")
    tuned = setting.tuned
    T = tuned.horizons[0]
    others = {name: value for name, value in tuned.hyperparameters.items() if name != step}
    horizon = {horizon_of(setting.theorem, setting.label): T}
    statement, known = for_clients(
        setting.theorem.statement(setting.label), {**setting.values(others), **horizon}, (step,)
    )
    interval = admissible(statement, step, known).intervals[step]
    if interval.upper is None or not float(interval.upper) < float("inf"):
        raise InputError(f"no condition limits {step}")
    largest = _rounded(EDGE * Fraction(float(interval.upper)))
    instance = replace(tuned, hyperparameters={**others, step: largest}, case="edge", horizons=())
    instance = replace(instance, why=f"{step} at 98% of its largest value")
    return setting.at_two(instance, (_round_up(max(T // 4, 8), 2 * PERIOD) * 2**k for k in count()))


def _schedule(setting: Setting) -> Instance:
    """The steps that the statement prescribes."""
    instance = setting.instance(setting.whole(), "the steps that the statement prescribes", "schedule")
    return setting.at_two(instance, _horizons(setting, instance))


def _stress(setting: Setting) -> Instance:
    """At rest, in long rounds: noise and drift make the bound. The step is halved until the bound says something."""
    setting.at_rest  # noqa: B018, refused at once where there is none
    hyper = setting.whole(LONG_PERIOD)
    if setting.scheduled:
        instance = setting.instance(hyper, "start at rest, the prescribed steps", "stress", rest=True)
        return setting.at_two(instance, _horizons(setting, instance))
    tuned = dict(setting.tuned.hyperparameters)
    for power in range(HALVINGS):
        step = {setting.step: _rounded(Fraction(tuned[setting.step]) / 2**power)} if setting.step else {}
        instance = setting.instance(
            {**tuned, **hyper, **step}, f"start at rest, rounds of {LONG_PERIOD}", "stress", rest=True
        )
        try:
            return setting.at_two(instance, (FIRST_AT_REST * k for k in (1, 2)))
        except InputError:
            continue
    raise InputError("the bound is not below 3/4 of the cap, or not admissible, at rest")


def _horizons(setting: Setting, instance: Instance) -> Iterator[int]:
    """Horizons N^j n^k, whose roots are whole numbers, so that prescribed periods are, from where the bound is small."""
    N = setting.far.clients
    candidates = sorted({N**j * n**k for j in range(4) for k in (2, 3, 4) for n in range(2, isqrt(MOST_STEPS) + 1)})
    candidates = [T for T in candidates if FIRST <= T <= MOST_STEPS]
    first = bisect_left(candidates, True, key=lambda T: setting.is_small(setting.bound(instance, T)))
    return iter(candidates[first:])


def _weakened(share: Fraction, more_is_stronger: bool) -> Fraction:
    """A number in [0, 1] with few digits that says no more: a smaller gap, or a contraction that is nearer to 1."""
    return _rounded(share) if more_is_stronger else 1 - _rounded(1 - share)


def _rounded(value: Fraction) -> Fraction:
    """`value` with few significant digits, not above it."""
    if value <= 0:
        return value
    unit = Fraction(10) ** (floor(log10(value)) - DIGITS + 1)
    return value // unit * unit


def _round_up(value: int, multiple: int) -> int:
    """A whole number with two significant digits that is a multiple of `multiple` and not below `value`."""
    unit = max(multiple, multiple * 10 ** max(0, len(str(value)) - 3))
    return -(-value // unit) * unit
