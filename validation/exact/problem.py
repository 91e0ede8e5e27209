"""The problem of an instance, by its kind."""

from __future__ import annotations

from collections.abc import Mapping

from .base import ExactProblem, Instance, as_fractions
from .composite import ExactConditional, ExactLocalComposite, ExactSharedComposite
from .plain import ExactFederated, ExactMeta
from .second_variable import ExactBilevel, ExactMinimax

__all__ = ["EXACT", "ExactProblem", "Instance", "as_fractions", "exact_problem"]

EXACT: Mapping[str, type[ExactProblem]] = {
    problem.FAMILY.kind: problem
    for problem in (
        ExactLocalComposite,
        ExactSharedComposite,
        ExactConditional,
        ExactMeta,
        ExactFederated,
        ExactMinimax,
        ExactBilevel,
    )
}


def exact_problem(instance: Instance) -> ExactProblem:
    """The problem of an instance.

    Raises:
        ValueError: an unknown kind, or parameters that do not fit it.
    """
    if instance.kind not in EXACT:
        raise ValueError(f"instance: wanted one of {' '.join(EXACT)}, got {str(instance.kind)[:40]!r}")
    return EXACT[instance.kind](instance)
