"""What the conformance suite asks of each kind of problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...outside import installed, load_installed
from ..kinds import AbstractProblem
from . import oracle_checks as common
from .composite_checks import composite_checks
from .composite_inequalities import COMPOSITE, SHARED
from .conditional_checks import conditional_checks
from .conditional_inequalities import CONDITIONAL
from .federated_checks import federated_checks
from .inequalities import Inequality
from .meta_checks import meta_checks
from .meta_inequalities import FEDERATED, LOCAL_LOSS, META
from .property_checks import check_properties

Failures = Iterator[tuple[str, Iterable[str]]]


@dataclass(frozen=True)
class Kind:
    """The certificates that a problem of this kind must have, what they claim, and the checks of its own oracles."""

    required: tuple[str, ...]
    inequalities: Mapping[str, Inequality]
    checks: Callable[[AbstractProblem, int], Failures]


KINDS: dict[str, Kind] = {
    "shared_composite": Kind(
        (
            "noncompositional_smoothness",
            "noncompositional_gradient_noise",
            "noncompositional_heterogeneity",
            "outer_lipschitz",
            "outer_smoothness",
            "inner_mean_square_lipschitz",
            "inner_smoothness",
            "inner_noise",
            "inner_jacobian_heterogeneity",
            "objective_gap",
            "gradient_cap",
        ),
        SHARED,
        composite_checks,
    ),
    "local_composite": Kind(
        (
            "outer_mean_square_lipschitz",
            "outer_smoothness",
            "outer_gradient_noise",
            "outer_sample_lipschitz",
            "outer_sample_smoothness",
            "inner_jacobian_mean_square",
            "inner_smoothness",
            "inner_jacobian_noise",
            "inner_value_noise",
            "inner_sample_lipschitz",
            "inner_sample_smoothness",
            "composite_noise",
            "objective_smoothness",
            "objective_gap",
            "gradient_cap",
        ),
        COMPOSITE | LOCAL_LOSS,
        composite_checks,
    ),
    "conditional": Kind(
        (
            "outer_mean_square_lipschitz",
            "outer_sample_lipschitz",
            "outer_sample_smoothness",
            "inner_value_noise",
            "inner_jacobian_mean_square",
            "inner_sample_lipschitz",
            "inner_sample_smoothness",
            "objective_gap",
            "gradient_cap",
        ),
        CONDITIONAL,
        conditional_checks,
    ),
    "meta": Kind(
        (
            "local_gradient_bound",
            "local_smoothness",
            "local_hessian_lipschitz",
            "local_gradient_noise",
            "local_hessian_noise",
            "local_gradient_fourth_moment",
            "local_hessian_fourth_moment",
            "local_gradient_heterogeneity",
            "local_hessian_heterogeneity",
            "objective_gap",
            "gradient_cap",
        ),
        META,
        meta_checks,
    ),
    "federated": Kind(
        (
            "local_smoothness",
            "local_sample_smoothness",
            "local_gradient_noise",
            "objective_smoothness",
            "objective_gap",
        ),
        FEDERATED,
        federated_checks,
    ),
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
