"""The kinds of problems that the conformance suite knows, one per file of this folder: a new kind is a new file.

The file has the name of the kind and holds `KIND`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ....user_files import installed, load_installed
from ...kinds import AbstractProblem
from .. import oracle_checks as common
from ..kind import Failures, Kind
from ..property_checks import check_properties


def kinds_in_folder() -> dict[str, Kind]:
    """What the files of this folder declare, by the name of the file."""
    return {found.name: import_module(f"{__name__}.{found.name}").KIND for found in iter_modules(__path__)}


KINDS = kinds_in_folder()


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
