"""From a theorem to a verdict: constants from certificates, an admissible run, the theorem's own statistic, an e-value.

`RECIPES` says for each theorem which method it is about, what its statistic is and on which instances it is validated. A new
theorem is one line there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms import FedDRO, Method, ModifiedFedAvg, NotApplicable, Start, drive, metrics
from ..bounds import theorem as find_theorem
from ..bounds.evaluate import Bound
from ..bounds.reading import InputError
from ..bounds.theorem import Theorem
from ..synthetic import problem as find_problem

Values = dict[str, Fraction]


@dataclass(frozen=True)
class Instance:
    """A problem with dials, the hyperparameters of the theorem, and why it was chosen."""

    problem: str
    hyperparameters: Mapping[str, int | Fraction]
    why: str
    dials: Mapping[str, Any] = field(default_factory=dict)
    horizons: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self.hyperparameters.items())
        return f"{self.problem} ({shown})"


@dataclass(frozen=True)
class Recipe:
    """How a theorem is validated: `method` builds the algorithm from exact hyperparameter values by name."""

    method: Callable[[Mapping[str, float]], Method]
    instances: tuple[Instance, ...]
    statement: str = "printed"
    batch_symbol: str = "b"


@dataclass(frozen=True)
class Measured:
    """One run of an instance: per-seed statistics and what the theorem says.

    Attributes:
        statistic: (seeds,) mean of ||grad||^2 over t = 1..T, the average that the statement speaks of.
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


def _feddro(values: Mapping[str, float]) -> Method:
    return FedDRO(eta=values["eta"], beta=values["beta"], I=int(values["I"]), b=int(values["b"]))


def _modified(values: Mapping[str, float]) -> Method:
    return ModifiedFedAvg(eta=values["eta"], I=int(values["I"]))


def _square(clients: int, *roots: int) -> tuple[int, ...]:
    """Horizons T = K n^2, for which the step size sqrt(K/T) = 1/n is rational."""
    return tuple(clients * n * n for n in roots)


RECIPES: dict[str, Recipe] = {
    "feddro.theorem_5_1": Recipe(
        _feddro,
        (
            Instance("feddro_homogeneous", {"I": 1, "b": 1}, "equal clients, one local step", horizons=_square(4, 8, 16, 32)),
            Instance("feddro_heterogeneous", {"I": 4, "b": 1}, "clients differ, rounds of 4", horizons=_square(8, 16, 24, 32)),
            Instance("feddro_noisy", {"I": 2, "b": 1}, "noise as large as the signal", horizons=_square(16, 8, 12, 16)),
        ),
    ),
}


def constants(theorem: Theorem, label: str, problem: Any, start_error: Fraction = Fraction(0)) -> tuple[Values, str]:
    """The theorem's constants, read from the problem's certificates through the shared vocabulary.

    Returns:
        Exact values by symbol (a float certificate is read as the decimal it prints as) and the weakest certificate kind.

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


def evaluate_at(theorem: Theorem, label: str, problem: Any, hyper: Mapping[str, int | Fraction], T: int) -> tuple[Bound, str]:
    """The bound of an instance at a horizon, and the weakest certificate behind it."""
    values, kind = constants(theorem, label, problem)
    symbols = theorem.symbols(label)
    known = {**values, **{k: Fraction(v) for k, v in hyper.items()}, "T": Fraction(T)}
    for name in ("K", "N", "n"):
        if name in symbols and symbols[name].quantity.name == "clients":
            known.setdefault(name, Fraction(problem.clients))
    return theorem.bound(label, strict=False, **{k: v for k, v in known.items() if k in symbols}), kind


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
) -> Measured:
    """Run the theorem's method on an instance and collect its statistic.

    Raises:
        InputError: the theorem has no recipe, or its conditions fail on this instance.
        NotApplicable: the method is not defined on the problem.
    """
    theorem, recipe = find_theorem(theorem_id), recipe_for(theorem_id)
    problem = find_problem(instance.problem, **instance.dials, **({} if device == "cpu" else {"device": device}))
    bound, kind = evaluate_at(theorem, label, problem, instance.hyperparameters, T)
    if not bound.admissible:
        raise InputError(f"{theorem_id}: condition {', '.join(bound.failed)} fails on {instance.name} at T={T}")
    method = recipe.method(bound.numbers)
    result = drive(
        method,
        problem,
        steps=T,
        seeds=seeds,
        root_seed=root_seed,
        start=_exact_start(problem),
        record={"gradient": metrics.gradient_norm_squared},
        every=T,
        progress=progress,
    )
    first, last = result.values["gradient"][0], result.values["gradient"][-1]
    before = result.mean("gradient").flatten().cpu().numpy()
    after = before + (last - first).cpu().numpy() / T
    cap = float(problem.certificates["gradient_cap"].value) ** 2
    return Measured(instance, bound, cap, kind, after, before, result.messages.to_json(), result.seconds)


def _exact_start(problem: Any) -> Start:
    """y^0 = g(x^0), so that the initial inner error is zero."""
    if problem.kind != "shared_composite":
        return Start()
    x = problem.initial_point
    return Start(y=problem.inner_mean(x.unsqueeze(0)).squeeze(0))


def recipe_for(theorem_id: str) -> Recipe:
    """The recipe of a theorem.

    Raises:
        InputError: none is registered.
    """
    if theorem_id not in RECIPES:
        raise InputError(f"{theorem_id}: no recipe to validate it; wanted one of {' '.join(RECIPES)}")
    return RECIPES[theorem_id]


__all__ = ["RECIPES", "Instance", "Measured", "NotApplicable", "Recipe", "constants", "evaluate_at", "measure", "recipe_for"]
