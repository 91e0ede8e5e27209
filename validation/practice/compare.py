"""`fedco practice`: a theorem's step size on a problem beside a grid around and above it, and why the bound is not what is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...algorithms import NotApplicable
from ...algorithms.engine.progress import Progress
from ...bounds.audit.status import known_of
from ...bounds.language.quantity import COUNT
from ...bounds.language.reading import read_number
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem
from ...errors import InputError
from ...synthetic import problem as find_problem
from ..experiments.estimates import with_constants
from ..runs.fit import misfit
from ..runs.generate import Setting
from ..runs.limits import HOURS, check_runs
from ..runs.registry import recipe_for
from ..runs.values import GIVEN_BY_THE_PROBLEM, constants, horizon_of, known_without_running
from .answer import Practice
from .bench import Bench
from .explain import Explanation, explain
from .halving import halve
from .relax import relaxations
from .steps import GainLine, Heuristic, gain_lines, heuristics

FACTOR, BELOW, ABOVE = 4, 1, 6
"""The grid unless the caller says otherwise: theory's step size times 4^-1 to 4^6."""
STEPS = ("step_size", "step_scale")
"""The quantity that the grid varies: the first of them that a statement has."""


def practice(
    theorem: str | Theorem,
    problem: Any,
    *,
    T: int,
    statement: str = "",
    settings: Mapping[str, Any] | None = None,
    factor: int = FACTOR,
    below: int = BELOW,
    above: int = ABOVE,
    seeds: int = 8,
    budget: int | None = None,
    root_seed: int = 0,
    hours: float = HOURS,
    progress: Callable[[str], Callable[[Progress], None]] | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Practice:
    """Run a theorem's method with the hyperparameters that make its bound least, and with other step sizes.

    The constants are those that the problem certifies (estimated ones are named). What is a whole number and is not given in `settings`
    is as in `validate`: rounds of 2 steps, and 1 for batches and other counts. `tune` chooses the rest at the horizon T. Then the step
    size alone is multiplied by powers of `factor`; all grid points share their seeds. By successive halving every step size gets two
    seeds, the better half four, and so on; theory's gets all. The grid grows upwards while its largest step size is the best one and the
    budget allows it.

    Args:
        theorem: an id, a file, or the theorem itself.
        problem: a registered name, a problem, or FILE.py:NAME: a problem, or a function that returns a model, a loss and clients
            as for `fedco estimate`.
        T: horizon, in the unit of the theorem: iterations, or rounds where it counts those.
        statement: a label; the theorem's default one without it.
        settings: hyperparameters that stay as they are, by the theorem's symbols.
        factor, below, above: the grid has factor^-below, …, factor^above times the step size.
        seeds: how many; the interval of the mean is a 95% t-interval. root_seed: the key of all noise.
        budget: runs, one seed at one step size each, that the grid may take; those of the whole grid as it is given without it. The
            products and the heuristics are run besides.
        hours: a run that would take longer by an estimate is refused before it starts.
        progress: makes, from a label, what a run reports to. note: gets a line for each thing that takes a while and is no run of the grid,
            such as a constant that is estimated.

    Raises:
        InputError: a problem that does not fit, a theorem without a method, step size or measured metric, or nothing admissible at T.

    Example:
        >>> import fedco
        >>> found = fedco.practice("baselines.minibatch_sgd", "federated_logistic", T=20, seeds=2, above=1)
        >>> len(found.rows)
        3
    """
    if min(T, seeds) < 1 or factor < 2 or min(below, above) < 0:
        raise InputError(
            f"T, seeds, factor, below and above: wanted at least 1, 1, 2, 0 and 0, got {T}, {seeds}, {factor}, {below} and {above}"
        )
    item = get_theorem(theorem)
    label = item.statement(statement or item.default).label
    recipe, made = recipe_for(item), find_problem(problem)
    if not made.certificates:
        note(f"constants of {made.name}:")
    made = with_constants(made, item, label, progress=lambda name: note(f"  {name}"))
    if not item.metric.is_squared_gradient:
        raise InputError(f"{item.id}: its metric is {item.metric.name}; only mean squared gradients are measured")
    if why := misfit(item, made, label):
        raise InputError(f"--problem {made.name[:40]}: does not fit {item.id}: {why}")
    setting = Setting(item, label, made, _settings(item, label, settings or {}))
    step = _step(item, label, setting.fixed)
    horizon = horizon_of(item, label)
    given: dict[str, Any] = dict(setting.values(setting.whole()))
    best = item.tune(label, budget={horizon: T}, **given)
    chosen = {name: _a_fraction(value) for name, value in best.values.items()}
    rounded = frozenset(name for name, value in best.values.items() if not _is_rational(value))
    whole = {name: given[name] for name in setting.whole()}
    hyper: dict[str, Any] = {**whole, **{name: value for name, value in chosen.items() if name != horizon}}
    theory = Fraction(hyper[step])
    values = {**setting.values(hyper), horizon: chosen.get(horizon, Fraction(T))}
    del values[step]
    about, kind = item.statement(label), constants(item, label, made)[1]
    bench = Bench(
        item,
        label,
        made,
        recipe,
        step,
        {k: v for k, v in hyper.items() if k != step},
        values,
        theory,
        rounded,
        root_seed,
    )
    try:
        first, method = bench.bound(theory), bench.method(theory)
        method.check(made)
    except (NotApplicable, ValueError) as error:
        raise InputError(f"{item.id}: cannot be run at theory's hyperparameters: {error}") from None
    powers = range(-below, above + 1)
    allowed = len(powers) * seeds if budget is None else budget
    check_runs([(method, made)] * -(-allowed // seeds), bench.steps(theory), seeds, hours)
    rows = halve(bench, theory, factor, powers, seeds, allowed, progress)
    grid_runs = bench.runs
    answer = Practice(
        item, label, made.name, bench.steps(theory), seeds, root_seed, step, _shown(bench), tuple(rows), None
    )
    explanation: Explanation | None = None
    gains: tuple[GainLine, ...] = ()
    rules: tuple[Heuristic, ...] = ()
    if answer.theory.mean is not None and answer.best is not None:
        note("bound / measured, term by term")
        explanation = explain(bench, theory, seeds, bench.trajectory(theory, seeds))
        if answer.gain:
            note("the way to the best step size, and the heuristics")
            along = explanation.along if explanation else {}
            gains = gain_lines(bench, theory, along, rows, answer.best, seeds)
            rules = heuristics(bench, theory, rows, answer.best, seeds)
    notes = [text for text in (known_of(about).warning,) if text]
    if kind == "estimated":
        notes.append(f"constants of {made.name} are estimated: outside of what was tried the bound promises nothing")
    notes += filter(None, [_about_counts(setting, whole)])
    notes += replace(first, beside=known_without_running(made)).worth.notes
    return replace(
        answer,
        explanation=explanation,
        notes=tuple(notes),
        gains=gains,
        conditions=relaxations(bench, rows),
        heuristics=rules,
        budget=allowed,
        grid_runs=grid_runs,
        runs=bench.runs,
        start_objective=bench.start[0],
    )


def _a_fraction(value: Any) -> Fraction:
    """A chosen number; an irrational one, such as a prescribed step size with a root of T, as the nearest double."""
    return Fraction(str(value)) if _is_rational(value) else Fraction(float(value))


def _is_rational(value: Any) -> bool:
    try:
        Fraction(str(value))
    except ValueError:
        return False
    return True


def _about_counts(setting: Setting, whole: Mapping[str, Any]) -> str:
    """The counts that are 1 because nobody gave them, with which a bound may be far from its least; batches apart, empty without any."""
    symbols = setting.theorem.symbols(setting.label)
    left = [
        f"{name} = 1"
        for name, value in whole.items()
        if value == 1 and name not in setting.fixed and symbols[name].quantity.domain == COUNT
        and not symbols[name].quantity.name.endswith("batch_size")
    ]  # fmt: skip
    return f"{', '.join(left)}: nobody gave it, and the bound may be smaller with another (--set)" if left else ""


def _shown(bench: Bench) -> dict[str, float]:
    """The hyperparameters that stay."""
    return {name: float(value) for name, value in bench.hyper.items()}


def _settings(theorem: Theorem, label: str, given: Mapping[str, Any]) -> dict[str, int | Fraction]:
    """
    Raises:
        InputError: a name that is no hyperparameter of the statement, or the horizon.
    """
    symbols = theorem.symbols(label)
    free = [
        name
        for name, binding in symbols.items()
        if binding.quantity.role == "hyperparameter"
        and name != horizon_of(theorem, label)
        and binding.quantity.name not in GIVEN_BY_THE_PROBLEM
    ]
    for name in given:
        if name not in free:
            raise InputError(f"--set {name[:40]}: wanted a hyperparameter of {theorem.id}, one of {' '.join(free)}")
    return {name: read_number(name, value) for name, value in given.items()}


def _step(theorem: Theorem, label: str, fixed: Mapping[str, Any]) -> str:
    """The symbol of the step size.

    Raises:
        InputError: there is none, or it is fixed.
    """
    named = {binding.quantity.name: name for name, binding in theorem.symbols(label).items()}
    step = next((named[quantity] for quantity in STEPS if quantity in named), None)
    if step is None:
        raise InputError(f"{theorem.id} ({label}): has no step size to vary")
    if step in fixed:
        raise InputError(f"--set {step}: wanted it free; the grid varies it around what the theorem chooses")
    return step
