"""The kinds of problems that the conformance suite knows: a new kind is a row here."""

from __future__ import annotations

from collections.abc import Mapping

from ...user_files import installed, load_installed
from ..kinds import AbstractProblem
from . import bilevel, composite, conditional, local_losses, minimax
from . import oracle_checks as common
from .kind import Failures, Kind
from .property_checks import check_properties

KINDS: Mapping[str, Kind] = {
    "bilevel": bilevel.KIND,
    "conditional": conditional.KIND,
    "federated": local_losses.FEDERATED,
    "local_composite": composite.LOCAL_COMPOSITE,
    "meta": local_losses.META,
    "minimax": minimax.KIND,
    "shared_composite": composite.SHARED_COMPOSITE,
}


def get_kind(name: str) -> Kind:
    """What is asked of a kind of problem: fedco's own, or one of an installed package (group `fedco.kinds`).

    Raises:
        ValueError: for a kind that has no checks.
    """
    if name not in KINDS and name in installed("kinds"):
        found: Kind = load_installed("kinds", name, Kind)
        return found
    if name not in KINDS:
        raise ValueError(f"kind must be one of {sorted(KINDS)}, got {name!r}")
    return KINDS[name]


def oracle_checks(problem: AbstractProblem, seed: int) -> Failures:
    """(name, failures) of every oracle check of the problem's kind.

    Raises:
        ValueError: for a kind that has no checks.
    """
    kind = get_kind(problem.kind)
    missing = [name for name in kind.required if name not in problem.certificates]
    yield "certificates", [f"missing: {', '.join(missing)}"] if missing else []
    yield "gradient", common.check_objective(problem, seed)
    yield "properties", check_properties(problem, seed)
    yield "objective bits", common.check_objective_bits(problem, seed)
    yield from kind.checks(problem, seed)
