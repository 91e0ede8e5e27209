"""From a theorem and a problem to numbers: constants from certificates, a bound at a horizon, what the method is built from."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...algorithms import Start
from ...bounds.evaluation.evaluate import Bound
from ...bounds.evaluation.evaluate import bound as evaluated
from ...bounds.evaluation.without_running import Beside
from ...bounds.language.client_lists import for_clients
from ...bounds.language.reading import InputError, is_array
from ...bounds.language.theorem import Theorem
from .fit import CHOSEN_BY_THE_RUN
from .recipe import Instance

Values = dict[str, Any]
"""Symbol -> an exact number, or a tuple of them where each client has its own."""


def constants(theorem: Theorem, label: str, problem: Any) -> tuple[Values, str]:
    """The theorem's constants, read from the problem's certificates through the shared vocabulary.

    Returns:
        Exact values by symbol (a float certificate as the double itself) and the weakest certificate kind. A symbol with one number
        for each client has the one that is certified for all of them, and weights are equal ones, as in the objective.

    Raises:
        InputError: the problem does not certify a quantity that the theorem needs.
    """
    values: Values = {}
    kinds = {"exact"}
    for name, binding in theorem.symbols(label).items():
        if binding.quantity.role != "constant":
            continue
        if binding.quantity.name in CHOSEN_BY_THE_RUN:
            values[name] = Fraction(0)  # `exact_start`
            continue
        if binding.per_client and binding.quantity.numbers.total:
            values[name] = (Fraction(binding.quantity.numbers.total, problem.clients),) * problem.clients
            continue
        certificate = problem.certificates.get(binding.quantity.name)
        if certificate is None:
            raise InputError(f"{name}: {problem.name} certifies no {binding.quantity.name}, which {theorem.id} needs")
        value = exact_value(certificate.value)
        values[name] = (value,) * problem.clients if binding.per_client else value
        kinds.add(certificate.kind)
    return values, max(kinds, key=("exact", "upper", "estimated").index)


def known_without_running(problem: Any) -> Beside:
    """The gradient norm of a problem at its start, in double precision, and its certified cap where there is one."""
    start = problem.gradient(problem.initial_point.unsqueeze(0)).norm()
    cap = problem.certificates.get("gradient_cap")
    certified = {"gradient_cap": exact_value(cap.value)} if cap is not None and cap.kind != "estimated" else {}
    return Beside({"initial_gradient_norm": exact_value(float(start)), **certified})


def exact_value(value: Fraction | float | int) -> Fraction:
    """A certificate's value as a rational that is not below it (a float as the double itself)."""
    return Fraction(value)


GIVEN_BY_THE_PROBLEM: Mapping[str, str] = {
    "clients": "clients",
    "fine_tuning_step_size": "alpha",
    "fine_tuning_steps": "nu",
}
"""Hyperparameters of a theorem that belong to the objective: quantity and the problem's attribute."""
HORIZONS = ("iterations", "rounds")
"""What a horizon counts: the quantity of the statement's symbol T, or of meta FL's K."""


def horizon_of(theorem: Theorem, label: str) -> str:
    """The symbol that a horizon moves: the number of iterations, or that of rounds where there is no such symbol.

    Raises:
        InputError: the statement has neither.
    """
    named = {binding.quantity.name: name for name, binding in theorem.symbols(label).items()}
    found = next((named[quantity] for quantity in HORIZONS if quantity in named), None)
    if found is None:
        raise InputError(f"{theorem.id} ({label}): has no number of iterations or rounds, so no run to compare with")
    return found


def evaluate_at(theorem: Theorem, label: str, problem: Any, hyper: Mapping[str, Any], T: int) -> tuple[Bound, str]:
    """The bound of an instance at a horizon, and the weakest certificate behind it.

    What the statement does not speak of (the number of sampled clients, a batch size that it forgets) is left out here;
    the method still gets it.
    """
    values, kind = constants(theorem, label, problem)
    symbols, horizon = theorem.symbols(label), horizon_of(theorem, label)
    known: Values = {**values, **{k: tuple(v) if is_array(v) else Fraction(v) for k, v in hyper.items()}}
    for name, binding in symbols.items():
        quantity = binding.quantity.name
        if name == horizon:
            known[name] = Fraction(T)
        elif quantity in GIVEN_BY_THE_PROBLEM:
            known.setdefault(name, Fraction(getattr(problem, GIVEN_BY_THE_PROBLEM[quantity])))
    used = {name: value for name, value in known.items() if name in symbols}
    statement, used = for_clients(theorem.statement(label), used)
    return evaluated(statement, used, strict=False), kind


def numbers_of(
    instance: Instance, bound: Bound, defaults: Mapping[str, int | Fraction] | None = None
) -> dict[str, Any]:
    """Everything that the method is built from: the instance's hyperparameters and the statement's values, also of single clients."""
    left_out = {name: float(value) for name, value in (defaults or {}).items()}
    own = {n: v for n, v in instance.hyperparameters.items() if not is_array(v)}
    clients = {name: tuple(map(float, each)) for name, each in bound.about.clients.items()}
    return {**left_out, **{name: float(value) for name, value in own.items()}, **bound.numbers, **clients}


def exact_start(problem: Any) -> Start:
    """y^0 = g(x^0), so that the initial inner error is zero."""
    if problem.kind != "shared_composite":
        return Start()
    x = problem.initial_point
    return Start(y=problem.inner_mean(x.unsqueeze(0)).squeeze(0))
