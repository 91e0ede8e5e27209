"""Whether a problem satisfies what a theorem assumes: its kind, its constants, its named properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...bounds.language.bounding import MEAN_SQUARE, NOISE, SAMPLE
from ...bounds.language.metrics import speaks_of_minimiser
from ...bounds.language.theorem import Theorem
from ...bounds.registry import all_theorems, get_theorem
from .problem_list import Listed, listed

WITHOUT_NOISE: Mapping[str, Any] = {"sigma": 0.0}
"""Parameters for statements about exact gradients."""
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
    return misfit_of_properties(theorem, problem, label)


def misfit_of_properties(theorem: Theorem, problem: Any, label: str = "") -> str:
    """The same of the named properties alone, of a problem whose constants are not known yet."""
    declared = getattr(problem, "properties", ())
    if missing := [name for name in assumed(theorem, label) if name not in declared]:
        return f"the problem is not known to have {', '.join(missing)}"
    if unsaid := theorem.statement(label or theorem.first).left_open(declared):
        return f"{unsaid[0]!r} says one of several things, and the problem is known to have none of them"
    return ""


def fits(theorem: Theorem, problem: Any, label: str = "") -> bool:
    """Whether a problem satisfies the assumptions of a statement. Its conditions on hyperparameters are another matter."""
    return not misfit(theorem, problem, label)


def fitting_problems(theorem: Theorem, label: str = "") -> tuple[str, ...]:
    """The registered problems whose constants are proved and that fit."""
    return tuple(each.name for each in _certified(theorem, label) if fits(theorem, each, label))


def _certified(theorem: Theorem, label: str) -> tuple[Listed, ...]:
    """The registered problems whose constants are proved; where gradients are exact those that can be are as `WITHOUT_NOISE` makes them."""
    known = list(listed())
    if "deterministic" in assumed(theorem, label):
        silent = {each.name for each in known if each.parameters.keys() >= WITHOUT_NOISE.keys()}
        known = [replace(e, properties=(*e.properties, "deterministic")) if e.name in silent else e for e in known]
    return tuple(known)


def why_none_fits(theorem: Theorem, label: str) -> str:
    """What no registered problem has of what a statement assumes, in a few words."""
    words = theorem.notation.words_only("no problem can certify it")
    candidates = [each for each in _certified(theorem, label) if each.kind == theorem.problem]
    missing = [name for name in _constants(theorem, label) if all(name not in each.certificates for each in candidates)]
    none_has = f"none of the kind {theorem.problem} certifies {', '.join(missing)}" if candidates and missing else ""
    known = [name for name in assumed(theorem, label) if all(name not in each.properties for each in candidates)]
    return words or none_has or (f"none is known to have {', '.join(known)}" if known else "none fits")


def fitting_theorems(problem: Listed) -> dict[str, tuple[str, ...]]:
    """Ids of the theorems and corollaries that a registered problem fits as it stands, with their statements of which that is true.

    The first statement and the default one are tried. The problem fits such a statement where every constant of it is a number that
    the statement takes, too: some want one above 0.
    """
    known = [each for each in map(get_theorem, all_theorems()) if each.kind in ("theorem", "corollary")]
    found = {each.id: tuple(label for label in tried(each) if _takes(each, problem, label)) for each in known}
    return {name: labels for name, labels in found.items() if labels}


def tried(theorem: Theorem) -> tuple[str, ...]:
    """The statements of which it is said whether a problem fits them: the first one, and the default one."""
    return tuple(dict.fromkeys((theorem.first, theorem.default)))


def _takes(theorem: Theorem, problem: Listed, label: str) -> bool:
    values = {name: each["value"] for name, each in problem.certificates.items()}
    quantities = (binding.quantity for binding in theorem.symbols(label).values())
    return fits(theorem, problem, label) and all(
        quantity.numbers.contains(values[quantity.name]) for quantity in quantities if quantity.name in values
    )


def about_noise(theorem: Theorem, label: str) -> str:
    """That a statement bounds nothing of the noise that it admits: whoever wrote it may have meant exact gradients. Empty where it does."""
    constants = [b.quantity for b in theorem.symbols(label).values() if b.quantity.role == "constant"]
    forms = [form for quantity in constants for form in quantity.bounds]
    of_samples = any(form.kind == NOISE or form.per in (SAMPLE, MEAN_SQUARE) for form in forms)
    words = any(not quantity.bounds for quantity in constants)  # they may be of the noise
    if words or of_samples or "deterministic" in assumed(theorem, label):
        return ""
    return 'No constant of the statement bounds the noise, so any noise counts; assume = ["deterministic"] is for exact gradients.'


def assumed(theorem: Theorem, label: str) -> tuple[str, ...]:
    """The named properties that a statement assumes."""
    return theorem.statement(label or theorem.first).assumed


def _constants(theorem: Theorem, label: str) -> list[str]:
    """The quantities that a problem has to certify; one that knows its minimiser certifies how far from there it starts."""
    quantities = (binding.quantity for binding in theorem.symbols(label or theorem.first).values())
    known = (each for each in quantities if each.role == "constant" and each.name not in CHOSEN_BY_THE_RUN)
    found = [each.name for each in known if each.numbers.total is None]  # every objective is the plain mean
    return found + (
        ["initial_distance"] if speaks_of_minimiser(theorem.metric) and "initial_distance" not in found else []
    )
