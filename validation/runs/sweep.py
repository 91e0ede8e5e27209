"""A sweep as a declaration: a base instance, a symbol of the statement, and the points along it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...bounds.language.reading import InputError
from ...bounds.registry import get_theorem
from .instance import Instance
from .values import GIVEN_BY_THE_PROBLEM, HORIZONS


@dataclass(frozen=True)
class Sweep:
    """A symbol of a theorem and the points along it.

    Args:
        over: a symbol of the statement.
        label: which statement.
        points: (instance, T) each.
        claimed: the exponent that the paper names for this symbol, None where it names none.
        why: what the base instance is and what is kept fixed.
    """

    theorem: str
    label: str
    over: str
    points: tuple[tuple[Instance, int], ...]
    why: str
    claimed: float | None = None

    @property
    def name(self) -> str:
        return f"{self.theorem} over {self.over}"


def along(
    theorem_id: str,
    over: str,
    base: Instance,
    T: int | Callable[[Any], int],
    values: Sequence[Any],
    why: str,
    *,
    label: str = "printed",
    claimed: float | None = None,
    hyper: Callable[[Any], Mapping[str, Any]] | None = None,
    parameters: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Sweep:
    """A sweep from a base instance, driven by what the declaration says the symbol is.

    A horizon moves T; a constant, and what belongs to the objective (clients, nu, alpha), is a parameter of the problem of the
    same name unless `parameters` says which; everything else is a hyperparameter. `hyper` adds what moves along with it.

    Raises:
        InputError: the statement has no such symbol.
    """
    symbols = get_theorem(theorem_id).symbols(label)
    if over not in symbols:
        raise InputError(f"{over[:30]}: not a symbol of {theorem_id}; wanted one of {' '.join(symbols)}")
    quantity = symbols[over].quantity
    given = GIVEN_BY_THE_PROBLEM.get(quantity.name)

    def point(value: Any) -> tuple[Instance, int]:
        is_horizon = quantity.name in HORIZONS
        is_hyper = quantity.role == "hyperparameter" and not is_horizon and given is None
        chosen = {**base.hyperparameters, **({over: value} if is_hyper else {}), **(hyper(value) if hyper else {})}
        own = {} if is_hyper or is_horizon else {given or over: value}
        on_problem = {**base.parameters, **(parameters(value) if parameters else own)}
        horizon = int(value) if is_horizon else T(value) if callable(T) else T
        return Instance(base.problem, chosen, why, on_problem, (horizon,)), horizon

    return Sweep(theorem_id, label, over, tuple(point(value) for value in values), why, claimed)
