"""Whether a problem satisfies what a theorem assumes: its kind, its constants, its named properties."""

from __future__ import annotations

from typing import Any

from ...bounds.language.theorem import Theorem
from ...bounds.registry import all_theorems, get_theorem
from ...synthetic import problem as find_problem
from ...synthetic import problems
from ...synthetic.catalogue import PRESETS
from .values import CHOSEN_BY_THE_RUN


def misfit(theorem: Theorem, problem: Any, label: str = "printed") -> str:
    """Why a problem does not satisfy the assumptions of a statement; empty where it does."""
    if theorem.problem != problem.kind:
        return f"wanted a problem of the kind {theorem.problem or 'that the theorem does not say'}, got {problem.kind}"
    if missing := [name for name in _constants(theorem, label) if name not in problem.certificates]:
        return f"the problem certifies no {', '.join(missing)}"
    declared: frozenset[str] = getattr(problem, "properties", frozenset())
    if missing := [name for name in theorem.assume if name not in declared]:
        return f"the problem is not known to have {', '.join(missing)}"
    return ""


def fits(theorem: Theorem, problem: Any, label: str = "printed") -> bool:
    """Whether a problem satisfies the assumptions of a statement. Its conditions on hyperparameters are another matter."""
    return not misfit(theorem, problem, label)


def fitting_problems(theorem: Theorem, label: str = "printed") -> tuple[str, ...]:
    """The registered problems whose constants are proved and that fit."""
    wanted = (name for name in problems() if getattr(PRESETS[name].family, "kind", theorem.problem) == theorem.problem)
    return tuple(name for name in wanted if fits(theorem, find_problem(name), label))


def fitting_theorems(problem: Any) -> tuple[str, ...]:
    """Ids of the theorems and corollaries whose printed statement fits a problem."""
    known = (get_theorem(name) for name in all_theorems())
    return tuple(each.id for each in known if each.kind in ("theorem", "corollary") and fits(each, problem))


def _constants(theorem: Theorem, label: str) -> list[str]:
    """The quantities that a problem has to certify."""
    quantities = (binding.quantity for binding in theorem.symbols(label).values())
    return [
        quantity.name
        for quantity in quantities
        if quantity.role == "constant" and quantity.name not in CHOSEN_BY_THE_RUN
    ]
