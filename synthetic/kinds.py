"""Which oracle checks apply to which kind of problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import oracle_checks as checks
from .problem import AbstractProblem

REQUIRED: dict[str, tuple[str, ...]] = {
    "shared_composite": (
        "noncompositional_smoothness", "noncompositional_gradient_noise", "noncompositional_heterogeneity",
        "outer_lipschitz", "outer_smoothness", "inner_mean_square_lipschitz", "inner_smoothness", "inner_noise",
        "inner_jacobian_heterogeneity", "objective_gap", "gradient_cap",
    ),
}


def oracle_checks(problem: AbstractProblem, seed: int) -> Iterator[tuple[str, Iterable[str]]]:
    """(name, failures) of every oracle check of the problem's kind.

    Raises:
        ValueError: for a kind that has no checks.
    """
    if problem.kind not in REQUIRED:
        raise ValueError(f"problem {problem.name}: kind must be one of {sorted(REQUIRED)}, got {problem.kind!r}")
    missing = [name for name in REQUIRED[problem.kind] if name not in problem.certificates]
    yield "certificates", [f"missing: {', '.join(missing)}"] if missing else []
    yield "gradient", checks.check_objective(problem, seed)
    yield "objective bits", checks.check_objective_bits(problem, seed)
    oracles = checks.composite_oracles(problem, seed)
    yield "parts", checks.check_composite_parts(problem, seed)
    yield "unbiased", checks.check_unbiased(problem, oracles)
    yield "bits", checks.check_bits(problem, oracles)
    yield "sampling", checks.check_sampling(problem, seed)
