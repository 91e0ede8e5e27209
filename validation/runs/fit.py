"""Whether a problem satisfies what a theorem assumes: its kind, its constants, its named properties."""

from __future__ import annotations

from typing import Any

from ...bounds.language.metrics import gradient_power
from ...bounds.language.theorem import Theorem
from ...bounds.registry import all_theorems, get_theorem
from .problem_list import listed

CHOSEN_BY_THE_RUN = ("initial_inner_error",)
"""Constants that the start of a run sets, and no problem certifies."""


def misfit(theorem: Theorem, problem: Any, label: str = "") -> str:
    """Why a problem does not satisfy the assumptions of a statement; empty where it does.

    Args:
        problem: anything with `kind`, `certificates` by quantity and `properties`.
        label: of the statement; the theorem's first one without it.
    """
    if theorem.problem != problem.kind:
        return f"wanted a problem of the kind {theorem.problem or 'that the theorem does not say'}, got {problem.kind}"
    if missing := [name for name in _constants(theorem, label) if name not in problem.certificates]:
        return f"the problem certifies no {', '.join(missing)}"
    declared = getattr(problem, "properties", ())
    assumed = (*theorem.assume, *theorem.statement(label or theorem.first).assume)
    if missing := [name for name in assumed if name not in declared]:
        return f"the problem is not known to have {', '.join(missing)}"
    return ""


def fits(theorem: Theorem, problem: Any, label: str = "") -> bool:
    """Whether a problem satisfies the assumptions of a statement. Its conditions on hyperparameters are another matter."""
    return not misfit(theorem, problem, label)


def fitting_problems(theorem: Theorem, label: str = "") -> tuple[str, ...]:
    """The registered problems whose constants are proved and that fit."""
    return tuple(each.name for each in listed() if fits(theorem, each, label))


def why_none_fits(theorem: Theorem, label: str) -> str:
    """What no registered problem has of what a statement assumes, in a few words."""
    words = theorem.notation.words_only("no problem can certify it")
    candidates = [each for each in listed() if each.kind == theorem.problem]
    missing = [name for name in _constants(theorem, label) if all(name not in each.certificates for each in candidates)]
    none_has = f"none of the kind {theorem.problem} certifies {', '.join(missing)}" if candidates and missing else ""
    lacking = (binding.quantity for binding in theorem.notation if binding.quantity.name in missing)
    if none_has and any(form.is_of_a_method for quantity in lacking for form in quantity.bounds):
        none_has += '; what the method sets is a word of your own with role = "hyperparameter", and given to the method'
    return words or none_has or "none fits"


def fitting_theorems(problem: Any) -> tuple[str, ...]:
    """Ids of the theorems and corollaries whose first statement fits a problem."""
    known = (get_theorem(name) for name in all_theorems())
    return tuple(each.id for each in known if each.kind in ("theorem", "corollary") and fits(each, problem))


def _constants(theorem: Theorem, label: str) -> list[str]:
    """The quantities that a problem has to certify; one that knows its minimiser certifies how far from there it starts."""
    quantities = (binding.quantity for binding in theorem.symbols(label or theorem.first).values())
    known = (each for each in quantities if each.role == "constant" and each.name not in CHOSEN_BY_THE_RUN)
    found = [each.name for each in known if each.numbers.total is None]  # every objective is the plain mean
    return found + (
        ["initial_distance"] if not gradient_power(theorem.metric) and "initial_distance" not in found else []
    )
