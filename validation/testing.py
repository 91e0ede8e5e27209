"""One-line assertions about bounds, for a test suite of one's own, with the alpha ledger built in.

    from fedco.validation.testing import assert_bound_holds, assert_rate, assert_refuted

    def test_my_problem_obeys_theorem_5_1():
        assert_bound_holds("feddro.theorem_5_1", my_problem, T=256, I=1, b=1)

Each assertion computes the theorem's constants from the problem's certificates, checks the theorem's conditions, runs its
method with a number of seeds planned in advance, and judges the exact statistic of the statement. An assertion that
passes is wrong with probability at most its alpha; all assertions that share a ledger are wrong together with
probability at most the ledger's total. Without `ledger` they share `SUITE`, one per process (so one per worker of a
test runner that uses several). Nothing here looks at the data before it spends alpha, and a repeated assertion spends
again: do not loop over root seeds until one passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..bounds.evaluation.evaluate import Bound
from ..bounds.language.reading import InputError, is_array, read_number
from ..bounds.language.theorem import Theorem
from ..bounds.registry import get_theorem
from ..synthetic import problem as find_problem
from .runs.campaign import MINIMUM_SEEDS
from .runs.experiments import Measured, cap_of, measure
from .runs.fit import misfit
from .runs.method_of import Given
from .runs.recipe import Instance
from .runs.registry import recipe_for
from .runs.values import evaluate_at
from .statistics.alpha_budget import AlphaBudget, LedgerError, read_level
from .statistics.planning import Undetectable, seeds_to_refute, seeds_to_support
from .statistics.slopes import EXPONENT_TOLERANCE, SlopeEstimate, bound_slope, slope_interval
from .statistics.verdict import Outcome, Verdict, not_applicable

ALPHA = "1e-6"
RATE_ALPHA = "1e-4"
MOST_PLANNED = 4096
"""Most seeds that are run unless asked for; choose an instance whose cap is nearer to its bound."""
_GROUP = 8

SUITE = AlphaBudget("1e-3", open_ended=True)
"""The ledger that the assertions of this process share unless they are given one of their own."""


def assert_bound_holds(
    theorem: str | Theorem,
    problem: Any,
    *,
    T: int,
    seeds: int | None = None,
    slack: float = 2.0,
    alpha: Fraction | str = ALPHA,
    statement: str | None = None,
    method: Given | None = None,
    root_seed: int = 0,
    ledger: AlphaBudget | None = None,
    **hyperparameters: Any,
) -> Verdict:
    """Pass only when the bound is SUPPORTED on this instance.

    Args:
        theorem: its id, a file that defines it, or the theorem itself.
        problem: the name of a registered problem, or a problem object with certificates.
        T: horizon (rounds for meta FL).
        seeds: by default planned to support a mean `slack` times below the bound with probability 0.9.
        alpha: probability that a passing assertion is wrong; spent from the ledger.
        statement: "printed", "composed" or "corrected"; by default the one that the recipe judges.
        method: a method, its class, or a function of the values of the symbols, instead of the theorem's own.
        hyperparameters: those of the statement without a schedule, exact or as text: `eta="1/20"`, `I=4`.

    Returns:
        the verdict, with tightness, shares and the smallest detectable ratio.

    Raises:
        AssertionError: the verdict is anything else, a failed condition included; the message is the verdict.
        InputError: an unknown theorem, symbol or certificate.
        LedgerError: the ledger has less than `alpha` left.

    Example:
        >>> verdict = assert_bound_holds("feddro.theorem_5_1", "feddro_homogeneous", T=144, I=1, b=1)  # doctest: +SKIP
    """
    claim = _Claim(theorem, problem, T, statement, hyperparameters, 1, method)
    verdict = claim.judged(seeds, slack, alpha, root_seed, SUITE if ledger is None else ledger, wants_support=True)
    if verdict.outcome is not Outcome.SUPPORTED:
        raise AssertionError(f"the bound is not supported: {verdict}")
    return verdict


def assert_refuted(
    theorem: str | Theorem,
    problem: Any,
    *,
    T: int,
    divided_by: int | Fraction | str = 1,
    seeds: int | None = None,
    ratio: float = 2.0,
    alpha: Fraction | str = ALPHA,
    statement: str | None = None,
    method: Given | None = None,
    root_seed: int = 0,
    ledger: AlphaBudget | None = None,
    **hyperparameters: Any,
) -> Verdict:
    """Pass only when the bound, divided by `divided_by`, is REFUTED on this instance: a negative control.

    Args:
        seeds: by default planned to refute a mean `ratio` times above the divided bound with probability 0.9, under the
            reference law of `planning`.

    The rest, and what is raised, is as in `assert_bound_holds`.
    """
    claim = _Claim(theorem, problem, T, statement, hyperparameters, read_number("divided_by", divided_by), method)
    verdict = claim.judged(seeds, ratio, alpha, root_seed, SUITE if ledger is None else ledger, wants_support=False)
    if verdict.outcome is not Outcome.REFUTED:
        raise AssertionError(f"the bound is not refuted: {verdict}")
    return verdict


def assert_rate(
    theorem: str | Theorem,
    problem: Any,
    *,
    horizons: Sequence[int],
    seeds: int = 64,
    tolerance: float = EXPONENT_TOLERANCE,
    alpha: Fraction | str = RATE_ALPHA,
    statement: str | None = None,
    method: Given | None = None,
    root_seed: int = 0,
    ledger: AlphaBudget | None = None,
    **hyperparameters: Any,
) -> SlopeEstimate:
    """Pass unless the statistic falls more slowly with T than the bound does over these horizons.

    Args:
        tolerance: what the slope may lie above the bound's; the first steps of a run bend its curve a little.

    Every horizon is a run of its own; the slope has a t-interval of coverage 1 - alpha over groups of 8 seeds, which is
    asymptotic in the number of groups (see `slopes`), so alpha is nominal here.

    Raises:
        AssertionError: the interval lies above the bound's own slope by more than the tolerance.
        InputError: a horizon that the theorem does not admit.
    """
    book = SUITE if ledger is None else ledger
    where = f"{Instance(problem, {}, 'assertion').problem_name}/T={list(horizons)}"
    name = _spend(book, f"rate/{get_theorem(theorem).id}/{where}", alpha, seeds)
    columns, bounds = [], []
    for index, T in enumerate(horizons):
        claim = _Claim(theorem, problem, T, statement, hyperparameters, 1, method)
        columns.append(claim.measured(seeds, root_seed + index).statistic)
        bounds.append(claim.total)
    coverage = float(1 - read_level("alpha", alpha))
    measured = slope_interval(list(horizons), np.stack(columns, axis=1), group_size=_GROUP, coverage=coverage)
    wanted = bound_slope(list(horizons), bounds)
    if measured.lower > wanted + tolerance:
        raise AssertionError(f"{name}: wanted a slope of at most {wanted:.3f} (the bound's), measured {measured}")
    return measured


class _Claim:
    """A theorem on a problem at a horizon: its bound, and what is measured when it is run."""

    def __init__(
        self,
        theorem: str | Theorem,
        problem: Any,
        T: int,
        statement: str | None,
        hyper: Mapping[str, Any],
        divisor: int | Fraction,
        method: Given | None,
    ) -> None:
        self.label = statement or recipe_for(theorem, method).label
        self.theorem, self.T, self.divisor, self.method = get_theorem(theorem), T, divisor, method
        self.problem = find_problem(problem) if isinstance(problem, str) else problem
        self.instance = Instance(self.problem, {n: _exact(n, value) for n, value in hyper.items()}, "assertion")
        self.bound: Bound
        self.bound, _ = evaluate_at(self.theorem, self.label, self.problem, self.instance.hyperparameters, T)
        self.cap = cap_of(self.theorem, self.problem, self.instance, self.bound, method)

    @property
    def total(self) -> float:
        if self.bound.total is None:
            raise InputError(f"{self.theorem.id} ({self.label}): bounds nothing")
        return self.bound.total / float(self.divisor)

    @property
    def name(self) -> str:
        divided = f" divided by {self.divisor}" if self.divisor != 1 else ""
        return f"{self.theorem.id} ({self.label}){divided}"

    @property
    def where(self) -> str:
        return f"{self.instance.problem_name}, T={self.T}"

    def why_not(self) -> str:
        """Why the theorem does not speak of this instance; empty when it does."""
        if reason := misfit(self.theorem, self.problem, self.label):
            return f"the problem does not satisfy its assumptions: {reason}"
        return f"condition {', '.join(self.bound.failed)} fails" if self.bound.failed else ""

    def measured(self, seeds: int, root_seed: int) -> Measured:
        if reason := self.why_not():
            raise InputError(f"{self.theorem.id} on {self.where}: {reason}")
        options: dict[str, Any] = {"label": self.label, "root_seed": root_seed, "method": self.method}
        return measure(self.theorem, self.instance, self.T, seeds, **options)

    def judged(
        self,
        seeds: int | None,
        ratio: float,
        alpha: Fraction | str,
        root_seed: int,
        ledger: AlphaBudget,
        *,
        wants_support: bool,
    ) -> Verdict:
        if reason := self.why_not():
            return not_applicable(self.name, reason, instance=self.where)
        level = read_level("alpha", alpha)
        number = seeds or self.planned(ratio, level, wants_support)
        _spend(ledger, f"{'holds' if wants_support else 'refuted'}/{self.name}/{self.where}", level, number)
        terms = self.bound.terms if self.divisor == 1 and not self.theorem.metric.failure else None
        return self.measured(number, root_seed).judged(self.total, level, self.name, self.where, terms=terms)

    def planned(self, ratio: float, alpha: Fraction, wants_support: bool) -> int:
        """Seeds for the wanted verdict, at least 64; 64 where no number would do."""
        if self.total >= self.cap:
            return MINIMUM_SEEDS
        try:
            number = (
                seeds_to_support(self.total, self.cap, ratio, alpha)
                if wants_support
                else seeds_to_refute(self.total, ratio, alpha)
            )
        except Undetectable:
            return MINIMUM_SEEDS
        if number > MOST_PLANNED:
            raise InputError(f"seeds: {self.name} on {self.where} wants {number}; give seeds=… or another instance")
        return max(MINIMUM_SEEDS, number)


def _exact(name: str, value: Any) -> Any:
    """A number, or a tuple of numbers where each client has its own."""
    if is_array(value):
        return tuple(_exact(name, each) for each in value)
    number = read_number(name, value)
    return int(number) if number.denominator == 1 else number


def _spend(ledger: AlphaBudget, name: str, alpha: Fraction | str, seeds: int) -> str:
    """Allot and spend a test under a name not used before; returns that name."""
    used = {entry.name for entry in ledger.entries}
    fresh = next(label for label in _numbered(name) if label not in used)
    try:
        ledger.allot(fresh, read_level("alpha", alpha), seeds)
    except LedgerError as error:
        raise LedgerError(f"{error}; give the assertion a smaller alpha or a ledger of its own") from None
    ledger.spend(fresh, actual_seeds=seeds)
    return fresh


def _numbered(name: str) -> Any:
    yield name
    count = 2
    while True:
        yield f"{name} #{count}"
        count += 1


__all__ = ["ALPHA", "RATE_ALPHA", "SUITE", "assert_bound_holds", "assert_rate", "assert_refuted"]
