"""From a theorem to numbers: constants from certificates, an admissible run, the theorem's own statistic per seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms import Start, drive
from ...algorithms.engine import metrics
from ...bounds.evaluation.evaluate import Bound
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem as find_theorem
from ...synthetic import problem as find_problem
from ..recipes import Instance, recipe_for

Values = dict[str, Fraction]


@dataclass(frozen=True)
class Measured:
    """One run of an instance: per-seed statistics and what the theorem says.

    Attributes:
        statistic: (seeds,) the average of ||grad||^2 that the statement speaks of.
        proof_average: (seeds,) the same over t = 0..T-1, which the proof bounds.
        messages: what one client sends, by size.
    """

    instance: Instance
    bound: Bound
    cap: float
    certificates: str
    statistic: np.ndarray
    proof_average: np.ndarray
    messages: dict[str, str]
    seconds: float


def constants(theorem: Theorem, label: str, problem: Any, start_error: Fraction = Fraction(0)) -> tuple[Values, str]:
    """The theorem's constants, read from the problem's certificates through the shared vocabulary.

    Returns:
        Exact values by symbol (a float certificate as the double itself) and the weakest certificate kind.

    Raises:
        InputError: the problem does not certify a quantity that the theorem needs.
    """
    values: Values = {}
    kinds = {"exact"}
    for name, binding in theorem.symbols(label).items():
        if binding.quantity.role != "constant":
            continue
        if binding.quantity.name == "initial_inner_error":
            values[name] = start_error
            continue
        certificate = problem.certificates.get(binding.quantity.name)
        if certificate is None:
            raise InputError(f"{name}: {problem.name} certifies no {binding.quantity.name}, which {theorem.id} needs")
        values[name] = exact_value(certificate.value)
        kinds.add(certificate.kind)
    return values, max(kinds, key=("exact", "upper", "estimated").index)


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


def evaluate_at(
    theorem: Theorem, label: str, problem: Any, hyper: Mapping[str, int | Fraction], T: int
) -> tuple[Bound, str]:
    """The bound of an instance at a horizon, and the weakest certificate behind it.

    What the statement does not speak of (the number of sampled clients, a batch size that it forgets) is left out here;
    the method still gets it.
    """
    values, kind = constants(theorem, label, problem)
    symbols = theorem.symbols(label)
    known = {**values, **{k: Fraction(v) for k, v in hyper.items()}}
    for name, binding in symbols.items():
        quantity = binding.quantity.name
        if quantity in HORIZONS:
            known[name] = Fraction(T)
        elif quantity in GIVEN_BY_THE_PROBLEM:
            known.setdefault(name, Fraction(getattr(problem, GIVEN_BY_THE_PROBLEM[quantity])))
    return theorem.bound(label, strict=False, **{k: v for k, v in known.items() if k in symbols}), kind


def numbers_of(instance: Instance, bound: Bound) -> dict[str, float]:
    """Everything that the method is built from: the instance's hyperparameters and the values of the statement."""
    return {**{name: float(value) for name, value in instance.hyperparameters.items()}, **bound.numbers}


def measure(
    theorem_id: str,
    instance: Instance,
    T: int,
    seeds: int | Sequence[int],
    *,
    label: str = "printed",
    root_seed: int = 0,
    device: str = "cpu",
    progress: Callable[[Any], None] | None = None,
    strict: bool = True,
    problem: Any = None,
) -> Measured:
    """Run the theorem's method on an instance and collect its statistic.

    Args:
        strict: refuse an instance on which a condition fails; a negative control runs it all the same.
        problem: a problem of one's own instead of the registered one that the instance names.

    Raises:
        InputError: the theorem has no recipe, or its conditions fail on this instance.
        NotApplicable: the method is not defined on the problem.
    """
    theorem, recipe = find_theorem(theorem_id), recipe_for(theorem_id)
    if problem is None:
        problem = find_problem(instance.problem, **instance.dials, **({} if device == "cpu" else {"device": device}))
    bound, kind = evaluate_at(theorem, label, problem, instance.hyperparameters, T)
    if strict and not bound.admissible:
        raise InputError(f"{theorem_id}: condition {', '.join(bound.failed)} fails on {instance.name} at T={T}")
    numbers = numbers_of(instance, bound)
    method = recipe.method(numbers)
    steps = recipe.steps(numbers)
    every = recipe.every(numbers) if recipe.every else None
    result = drive(
        method,
        problem,
        steps=steps,
        seeds=seeds,
        root_seed=root_seed,
        start=_exact_start(problem),
        record={"gradient": metrics.gradient_norm_squared},
        every=every or steps,
        average=every is None,
        progress=progress,
    )
    before, after = _averages(result, steps)
    statistic = after if recipe.average == "after" else before
    cap = float(problem.certificates["gradient_cap"].value) ** 2
    return Measured(instance, bound, cap, kind, statistic, before, result.messages.to_json(), result.seconds)


def _averages(result: Any, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """(seeds,) means of the recorded squared gradient norm over t = 0..T-1 and over t = 1..T."""
    first, last = result.values["gradient"][0], result.values["gradient"][-1]
    before = result.mean("gradient").flatten()
    counted = float(result.counts[-1])
    return before.cpu().numpy(), (before + (last - first) / counted).cpu().numpy()


def _exact_start(problem: Any) -> Start:
    """y^0 = g(x^0), so that the initial inner error is zero."""
    if problem.kind != "shared_composite":
        return Start()
    x = problem.initial_point
    return Start(y=problem.inner_mean(x.unsqueeze(0)).squeeze(0))
