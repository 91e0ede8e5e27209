"""Exact refutations of printed claims, as bundles that `fedco replay` recomputes from scratch.

Each recipe runs a deterministic instance in fractions: the left side is exact, the printed right side is enclosed by balls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from .. import __version__
from ..bounds import theorem as find_theorem
from ..bounds.enclosure import enclose_bound
from .bundle import Bundle, Sides, write

Q = Fraction


def printed_side(theorem_id: str, values: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """An enclosure of the printed bound at exact constants.

    Raises:
        InadmissibleError: the instance does not satisfy the printed conditions.
    """
    theorem = find_theorem(theorem_id)
    theorem.bound("printed", **values)  # raises outside the conditions
    total = enclose_bound(theorem, "printed", values)["total"]
    return total.lower, total.upper


def comfedl_theorem_1(bundle: Bundle | None = None) -> Sides:
    """ComFedL, Theorem 1: two noiseless clients whose average stays where |F'|^2 = 1/100."""
    from ..bounds.errata import comfedl_instances as cases

    case, values = cases.THEOREM_1, cases.THEOREM_1_CONSTANTS
    if case.constants() != values or case.round(case.start) != case.start:
        raise ValueError("comfedl.theorem_1: the instance does not have the constants that it declares")
    return Sides([case.gradient(case.start) ** 2], printed_side("comfedl.theorem_1", values))


def _comfedl_bundle() -> Bundle:
    from ..bounds.errata import comfedl_instances as cases

    sides = comfedl_theorem_1()
    return _bundle(
        "comfedl.theorem_1",
        "comfedl_theorem_1",
        sides,
        {"name": "two piecewise linear clients", "dials": {"tau": 2, "clients": 2}},
        {
            k: v
            for k, v in cases.THEOREM_1_CONSTANTS.items()
            if k in ("G_f", "G_g", "L_f", "L_g", "L", "sigma", "F_gap")
        },
        {k: v for k, v in cases.THEOREM_1_CONSTANTS.items() if k in ("eta", "tau", "b", "b_1", "T")},
    )


def _bundle(
    theorem_id: str,
    recipe: str,
    sides: Sides,
    problem: Mapping[str, Any],
    constants: Mapping[str, Fraction | int],
    hyperparameters: Mapping[str, Fraction | int],
) -> Bundle:
    return Bundle(
        claim=f"{theorem_id} (printed)",
        recipe=recipe,
        mode="exact",
        problem=problem,
        certificates={name: {"value": value, "kind": "exact"} for name, value in constants.items()},
        hyperparameters=dict(hyperparameters),
        seeds={},
        values=sides.values,
        bound=sides.bound,
        versions={"fedco": __version__},
    )


REGISTRY: dict[str, Callable[[Bundle], Sides]] = {"comfedl_theorem_1": comfedl_theorem_1}
BUNDLES: dict[str, Callable[[], Bundle]] = {"comfedl.theorem_1": _comfedl_bundle}


def write_all(folder: Path) -> dict[str, Path]:
    """Write every exact refutation; returns theorem id -> file."""
    folder.mkdir(parents=True, exist_ok=True)
    return {name: write(make(), folder / f"{name}.json") for name, make in BUNDLES.items()}
