"""The conformance suite: put any problem through it, ours or your own.

    from fedco.synthetic import problem
    from fedco.synthetic.conformance.suite import check_problem

    report = check_problem(problem("feddro_noisy"))     # raises ConformanceError when anything fails

A certificate passes when no point that the adversary finds exceeds it; an `exact` one must also be attained to 99%.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch

from ..certificate import CERTIFICATE_KINDS, MINIMUM_EXACT_WITNESS, Certificate
from ..kinds import AbstractProblem
from ..parts.adversary import Attack, Budget, evaluate, maximise, one_thread
from .inequalities import Inequality
from .kinds import get_kind, oracle_checks

__all__ = ["Budget", "Check", "ConformanceError", "ConformanceReport", "check_problem", "with_scaled_certificate"]

_RELATIVE_ROUNDING = 1e-7  # of differences over pairs as close as adversary.SMALLEST_STEP, at most 1e3 from 0
_ABSOLUTE_ROUNDING = 1e-9  # the same for a constant that is 0


@dataclass(frozen=True)
class Check:
    """One verdict: `attained` is the fraction of a certified value that was reached, None for an oracle check, and `found` the largest
    ratio of its inequality."""

    name: str
    passed: bool
    detail: str
    attained: float | None = None
    found: float = 0.0


@dataclass(frozen=True)
class ConformanceReport:
    """All checks of one problem and the number of adversarial points or pairs that were tried."""

    problem: str
    checks: tuple[Check, ...]
    evaluations: int

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)


class ConformanceError(AssertionError):
    """Raised by `check_problem`; `report` holds every check."""

    def __init__(self, report: ConformanceReport) -> None:
        lines = [f"{check.name}: {check.detail}" for check in report.failures]
        super().__init__(f"{report.problem} fails {len(lines)} checks:\n  " + "\n  ".join(lines))
        self.report = report


def check_problem(
    problem: AbstractProblem,
    budget: Budget | None = None,
    *,
    use_stated_points: bool = True,
    quantities: tuple[str, ...] | None = None,
    skip: tuple[str, ...] = (),
) -> ConformanceReport:
    """Check every oracle and every certificate of `problem`.

    Args:
        problem: anything with the interface of `fedco.synthetic.kinds`.
        budget: how many ascents, steps, and which seed (default `Budget()`, seconds per problem).
        use_stated_points: also evaluate the points that certificates state; False leaves the adversary alone.
        quantities: only these certificates, and no oracle checks.
        skip: names of oracle checks to leave out, such as "bits" for functions batched by vmap.

    Returns:
        The report, when everything passes.

    Raises:
        ConformanceError: naming each failed check with the declared and the found value.
    """
    with one_thread():
        report = _report(problem, budget or Budget(), use_stated_points, quantities, skip)
    if report.failures:
        raise ConformanceError(report)
    return report


def with_scaled_certificate(problem: AbstractProblem, quantity: str, factor: float) -> AbstractProblem:
    """A copy of `problem` that declares `factor` times the constant: a mutant that the suite must catch below 0.99.

    A constant that says more the larger it is is divided by the factor.
    """
    mutant = copy.copy(problem)
    certificate = problem.certificates[quantity]
    inverse = get_kind(problem.kind).inequalities[quantity].inverse
    value = float(certificate.value)
    scaled = replace(certificate, value=value / factor if inverse else value * factor)
    mutant.__dict__["certificates"] = {**problem.certificates, quantity: scaled}
    return mutant


def _report(
    problem: AbstractProblem,
    budget: Budget,
    use_stated_points: bool,
    quantities: tuple[str, ...] | None,
    skip: tuple[str, ...],
) -> ConformanceReport:
    checks = [c for c in _oracle_checks(problem, budget) if c.name not in skip] if quantities is None else []
    evaluations = 0
    for quantity in problem.certificates if quantities is None else quantities:
        check, tried = _check_certificate(problem, quantity, budget, use_stated_points)
        checks.append(check)
        evaluations += tried
    return ConformanceReport(problem.name, tuple(checks), evaluations)


def _oracle_checks(problem: AbstractProblem, budget: Budget) -> Iterator[Check]:
    for name, failures in oracle_checks(problem, budget.seed):
        found = list(failures)
        yield Check(name, not found, "; ".join(found) or "holds")


def _check_certificate(
    problem: AbstractProblem, quantity: str, budget: Budget, use_stated_points: bool
) -> tuple[Check, int]:
    certificate = problem.certificates[quantity]
    inequality = get_kind(problem.kind).inequalities.get(quantity)
    if inequality is None:
        return Check(quantity, False, f"no inequality of the kind {problem.kind} checks this quantity"), 0
    stated = at_stated_points(problem, certificate, inequality) if use_stated_points else None
    attack = _attack(problem, certificate, inequality, budget)
    best = max(attack.ratio, stated if stated is not None else 0.0)
    value = inequality.largest(float(certificate.value))
    failure = failure_of(certificate, value, best, stated, attack)
    attained = best / value if value > 0 else None
    detail = failure or f"largest found {best:.9g} of {value:.9g}"
    return Check(quantity, not failure, detail, attained, best), attack.evaluations


def _attack(problem: AbstractProblem, certificate: Certificate, inequality: Inequality, budget: Budget) -> Attack:
    hints: tuple[torch.Tensor, ...] = (problem.initial_point.cpu(),) if inequality.space == "x" else ()
    return maximise(partial(inequality.ratio, problem), inequality.size(problem), inequality.pair, budget, hints)


def at_stated_points(problem: AbstractProblem, certificate: Certificate, inequality: Inequality) -> float | None:
    if not certificate.points:
        return None
    points = tuple(torch.tensor([point], dtype=torch.float64) for point in certificate.points)
    return float(evaluate(partial(inequality.ratio, problem), points))


def failure_of(certificate: Certificate, value: float, best: float, stated: float | None, attack: Attack) -> str:
    """Why a certificate is refused whose ratio is at most `value`; empty where it is not."""
    assert certificate.kind in CERTIFICATE_KINDS
    if certificate.kind != "estimated" and not best <= value * (1 + _RELATIVE_ROUNDING) + _ABSOLUTE_ROUNDING:
        where = f"{attack.ratio:.9g} by ascent, at {[point.tolist() for point in attack.points]}"
        return f"declared {value:.9g} ({certificate.kind}) but found {best:.9g} ({where})"
    if stated is not None and certificate.witness is not None:
        promised = certificate.witness * value
        if not stated >= promised - _RELATIVE_ROUNDING * value - _ABSOLUTE_ROUNDING:
            return f"the stated points attain {stated:.9g}, less than the promised {promised:.9g}"
    if certificate.kind == "exact" and stated is not None and best < MINIMUM_EXACT_WITNESS * value - _ABSOLUTE_ROUNDING:
        return f"declared exact {value:.9g} but nothing above {best:.9g} was found"
    return ""
