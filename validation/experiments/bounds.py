"""Which statements bound a run, and by how much: only where the problem certifies the constants, never on estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from ...algorithms import Method
from ...bounds.audit.status import known_of
from ...bounds.evaluation.without_running import Worth
from ...bounds.language.metrics import MEAN
from ...bounds.language.theorem import Theorem
from ...bounds.registry import all_theorems, get_theorem
from ...errors import InputError
from ..runs.fit import misfit
from ..runs.recipe import Instance, Recipe
from ..runs.registry import recipe_for, recipes
from ..runs.values import evaluate_at, known_without_running, numbers_of

_RELATIVE = 1e-12


@dataclass(frozen=True)
class Match:
    """A statement about the squared gradient of this very method with these very hyperparameters.

    Args:
        every: the statement averages over every so many steps.
        after: it averages over t = 1..T, else over t = 0..T-1.
        status: of the statement: refuted, derived, open; a refuted one bounds nothing.
    """

    theorem: Theorem
    label: str
    problem: Any
    recipe: Recipe
    hyperparameters: Mapping[str, Any]
    every: int
    status: str

    @property
    def name(self) -> str:
        said = {"refuted": ", REFUTED", "composed": ", composed, no promise", "proved": "", "derived": "", "open": ""}
        said_here = said.get(self.status, f", {self.status}")
        return f"{self.theorem.id} ({self.label}{said_here})"

    @property
    def after(self) -> bool:
        return self.recipe.average == "after"

    def at(self, steps: int) -> tuple[float, bool] | None:
        """The bound after so many steps, and whether its conditions hold; None where the statement has no such horizon."""
        found = _evaluated(self.theorem, self.label, self.problem, self.recipe, self.hyperparameters, steps)
        if found is None or not found[1]:
            return None
        return float(found[0].total), bool(found[0].admissible)

    def worth(self, steps: int) -> Worth | None:
        """Whether the bound after so many steps is below what holds on this problem without running."""
        found = _evaluated(self.theorem, self.label, self.problem, self.recipe, self.hyperparameters, steps)
        return None if found is None else replace(found[0], beside=known_without_running(self.problem)).worth


def matches(method: Method, problem: Any, steps: int, only: Sequence[str | Theorem] = ()) -> list[Match]:
    """The statements that bound a run of `method` (one grid point) over `steps` steps.

    A statement is taken where the problem fits what it assumes and certifies its constants, and where its own method,
    built from its symbols with the values of this method's hyperparameters, is this method: a statement that prescribes
    another step size is about another run.

    Args:
        only: statements to look at, whatever their paper; all theorems and corollaries with a recipe without it.

    Raises:
        InputError: one of `only` does not bound this run; the message says why.
    """
    if not getattr(problem, "certified", True):
        if only:
            raise InputError(f"{problem.name}: its constants are estimated, and an estimate supports no bound")
        return []
    if only:
        return [_match(get_theorem(name), method, problem, steps) for name in only]
    return list(_found(method, problem, steps))


def _found(method: Method, problem: Any, steps: int) -> Iterator[Match]:
    with_method = (name for name in all_theorems() if get_theorem(name).method is not None)
    for name in dict.fromkeys([*recipes(), *with_method]):
        try:
            yield _match(get_theorem(name), method, problem, steps)
        except InputError:
            continue


def _match(theorem: Theorem, method: Method, problem: Any, steps: int) -> Match:
    label, recipe = theorem.default, recipe_for(theorem)
    if not theorem.metric.is_squared_gradient or theorem.metric.over != MEAN or theorem.metric.failure:
        raise InputError(
            f"{theorem.id}: bounds {theorem.metric.name}; only a mean of squared gradients is drawn along a run"
        )
    if why := misfit(theorem, problem, label):
        raise InputError(f"{theorem.id}: does not fit {problem.name}: {why}")
    hyper = _hyperparameters(theorem, label, method, problem)
    found = _evaluated(theorem, label, problem, recipe, hyper, steps)
    if found is None:
        raise InputError(f"{theorem.id}: its symbols do not follow from the hyperparameters of {method.name}")
    bound, has_horizon, kind = found
    if kind == "estimated":
        raise InputError(f"{theorem.id}: a constant of {problem.name} is estimated, and an estimate supports no bound")
    numbers = numbers_of(Instance(problem, hyper, ""), bound, recipe.defaults)
    try:
        own = recipe.method(numbers) if has_horizon else None
    except ValueError:  # a formula of the statement gives what no method takes, such as a weight above 1
        own = None
    if own is None or not is_same(own, method, problem):
        raise InputError(f"{theorem.id}: is about a run with other hyperparameters or another method than this one")
    every = recipe.every(numbers) if recipe.every else 1
    return Match(theorem, label, problem, recipe, hyper, every, known_of(theorem.statement(label)).word)


_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "step_size": ("eta", "alpha"),
    "communication_period": ("tau", "I", "p", "q"),
    "batch_size": ("b", "D"),
    "inner_batch_size": ("b", "m"),
    "outer_batch_size": ("b_1", "b"),
    "initial_batch_size": ("B", "b"),
    "hessian_batch_size": ("D_H", "D"),
    "client_steps": ("steps",),
}
"""Names that methods have for a hyperparameter which the statement calls otherwise; a method that does not fit is refused later."""


def _hyperparameters(theorem: Theorem, label: str, method: Method, problem: Any) -> dict[str, Any]:
    """The statement's hyperparameters from the method's: by name, else by what they are."""
    values = {item.name: getattr(method, item.name) for item in fields(method)}
    found: dict[str, Any] = {}
    for name, binding in theorem.symbols(label).items():
        quantity = binding.quantity
        if quantity.role != "hyperparameter":
            continue
        if quantity.name == "participation":
            found[name] = Fraction(values.get("m") or problem.clients, problem.clients)
            continue
        for candidate in (name, *_OTHER_NAMES.get(quantity.name, ())):
            value = values.get(candidate)
            if isinstance(value, tuple) and binding.per_client:
                found[name] = tuple(Fraction(repr(each)) for each in value)
                break
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found[name] = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
                break
    return found


def _evaluated(
    theorem: Theorem, label: str, problem: Any, recipe: Recipe, hyper: Mapping[str, Any], steps: int
) -> tuple[Any, bool, str] | None:
    """The bound at the horizon that means `steps` local steps, whether there is one, and the weakest certificate."""
    try:
        bound, kind = evaluate_at(theorem, label, problem, hyper, steps)
        meant = recipe.steps(numbers_of(Instance(problem, hyper, ""), bound, recipe.defaults))
        if meant == steps:
            return bound, True, kind
        horizon = Fraction(steps * steps, meant)  # a horizon in rounds: as many steps in each
        if horizon.denominator != 1:
            return bound, False, kind
        bound, kind = evaluate_at(theorem, label, problem, hyper, int(horizon))
        meant = recipe.steps(numbers_of(Instance(problem, hyper, ""), bound, recipe.defaults))
        return bound, meant == steps, kind
    except (InputError, KeyError, ZeroDivisionError):
        return None


def is_same(one: Method, other: Method, problem: Any) -> bool:
    """Whether two methods do the same: one class, and equal hyperparameters up to rounding."""
    if type(one) is not type(other):
        return False
    left, right = _filled(one, problem), _filled(other, problem)
    return all(_equal(value, right[name]) for name, value in left.items())


def _filled(method: Method, problem: Any) -> dict[str, Any]:
    """Hyperparameters with what None stands for."""
    values = method.hyperparameters()
    unset = {"B": values.get("b"), "D_H": values.get("D"), "nu": getattr(problem, "nu", None)}
    unset |= {"m": problem.clients, "weights": [1 / problem.clients] * problem.clients}
    return {name: unset.get(name) if value is None else value for name, value in values.items()}


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) <= _RELATIVE * max(abs(a), abs(b))
    return bool(a == b)
