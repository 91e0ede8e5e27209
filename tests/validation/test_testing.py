"""The one-line assertions: they pass, they fail, they plan, they spend alpha, and they never look twice for free."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import fedco
import pytest
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import with_scaled_certificate
from fedco.validation.statistics.alpha_budget import AlphaBudget, LedgerError
from fedco.validation.statistics.verdict import Outcome
from fedco.validation.testing import SUITE, assert_bound_holds, assert_rate, assert_refuted

NEAR = problem("feddro_homogeneous", start=8.0, dim=8)
FIVE = "feddro.theorem_5_1"
STEPS = {"I": 1, "b": 1}
PAGE = Path(fedco.__file__).parent / "docs" / "howto" / "test-a-bound.md"


@pytest.fixture
def ledger() -> AlphaBudget:
    return AlphaBudget("1e-3", open_ended=True)


def test_a_bound_that_holds_passes_with_planned_seeds_and_spends_its_alpha(ledger: AlphaBudget):
    verdict = assert_bound_holds(FIVE, NEAR, T=144, slack=4.0, ledger=ledger, **STEPS)
    assert verdict.outcome is Outcome.SUPPORTED and verdict.tightness > 1
    (entry,) = ledger.entries
    assert entry.alpha == Fraction(1, 10**6) and entry.planned_seeds == entry.actual_seeds == verdict.seeds >= 64


def test_a_problem_that_understates_a_constant_fails(ledger: AlphaBudget):
    liar = with_scaled_certificate(NEAR, "objective_gap", 0.1)
    with pytest.raises(AssertionError, match=r"not supported: REFUTED.*feddro\.theorem_5_1"):
        assert_bound_holds(FIVE, liar, T=144, ledger=ledger, seeds=64, **STEPS)
    assert assert_refuted(FIVE, liar, T=144, ledger=ledger, seeds=64, **STEPS).outcome is Outcome.REFUTED


def test_a_divided_bound_is_refuted_and_an_undivided_one_is_not(ledger: AlphaBudget):
    assert_refuted(FIVE, NEAR, T=144, divided_by=10, ratio=4.0, ledger=ledger, **STEPS)
    with pytest.raises(AssertionError, match="not refuted: SUPPORTED"):
        assert_refuted(FIVE, NEAR, T=144, ledger=ledger, seeds=256, **STEPS)


def test_too_few_seeds_do_not_pass(ledger: AlphaBudget):
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        assert_bound_holds(FIVE, NEAR, T=144, seeds=8, ledger=ledger, **STEPS)


def test_outside_the_conditions_nothing_is_run_or_spent(ledger: AlphaBudget):
    with pytest.raises(AssertionError, match=r"NOT_APPLICABLE.*horizon"):
        assert_bound_holds(FIVE, NEAR, T=64, ledger=ledger, **STEPS)
    with pytest.raises(AssertionError, match="does not satisfy its assumptions"):
        assert_bound_holds("feddro.theorem_4_2", NEAR, T=64, ledger=ledger, eta="1/20", I=1)
    assert ledger.entries == ()


def test_the_rate_passes_along_the_schedule_and_fails_on_a_floor(ledger: AlphaBudget):
    measured = assert_rate(FIVE, NEAR, horizons=(144, 256, 400), ledger=ledger, **STEPS)
    assert measured.upper < -0.3 and measured.coverage == pytest.approx(1 - 1e-4)
    at_rest = problem("feddro_noisy", start=0.0, target=0.0, dim=8, clients=2, inner_dim=1)
    with pytest.raises(AssertionError, match=r"wanted a slope of at most -0\.5"):
        assert_rate(FIVE, _Frozen(at_rest), horizons=(512, 640), seeds=64, ledger=ledger, **STEPS)


class _Frozen:
    """A problem whose gradient is reported as constant: its statistic cannot fall."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def gradient(self, x):
        return x * 0 + 0.1


def test_a_repeated_assertion_spends_again_until_the_ledger_is_empty():
    small = AlphaBudget("2e-6", open_ended=True)
    for _ in range(2):
        assert_refuted(FIVE, NEAR, T=144, divided_by=100, seeds=64, ledger=small, **STEPS)
    assert [entry.name.endswith("#2") for entry in small.entries] == [False, True]
    with pytest.raises(LedgerError, match="a ledger of its own"):
        assert_refuted(FIVE, NEAR, T=144, divided_by=100, seeds=64, ledger=small, **STEPS)


def test_the_suite_ledger_is_the_default():
    before = len(SUITE.entries)
    assert_refuted(FIVE, NEAR, T=144, divided_by=100, seeds=64, **STEPS)
    assert len(SUITE.entries) == before + 1


def test_bad_input_is_named(ledger: AlphaBudget):
    with pytest.raises(InputError, match="no recipe"):
        assert_bound_holds("feddro.theorem_9_9", NEAR, T=144)
    with pytest.raises(InputError, match="eta"):
        assert_bound_holds("feddro.theorem_4_2", "feddro_without_h", T=100, eta="one", I=1, ledger=ledger)
    with pytest.raises(InputError, match=r"seeds: .* wants"):
        assert_bound_holds(FIVE, NEAR, T=144, slack=1.1, ledger=ledger, **STEPS)


def test_the_page_runs():
    """Every python block of the how-to page, as it stands."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    tests = [value for name, value in scope.items() if name.startswith("test_")]
    assert len(tests) >= 3
    for test in tests:
        test()
