"""Verdicts: four outcomes, what each may rest on, and the mutants that a lax rule would let through."""

import json
import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from fedco.validation.statistics import verdict as module
from fedco.validation.statistics.evalues import CapExceeded, log_e_refute, log_e_support, mean_bracket
from fedco.validation.statistics.planning import detectable
from fedco.validation.statistics.verdict import (
    Outcome,
    judge,
    judge_exact,
    not_applicable,
    verdict_table,
    weakest_certificate,
)

F = Fraction
ALPHA = F(1, 10**6)
SMALL = np.full(200, 0.1)


def judged(values=SMALL, bound=1, **changes):
    return judge(values, bound, **({"alpha": ALPHA, "certificates_kind": "upper", "cap": 4} | changes))


def test_values_far_below_the_bound_support_it():
    verdict = judged(claim="feddro.theorem_5_1", instance="bowl, K=8", terms={"initialisation": 0.75, "variance": 0.25})
    assert verdict.outcome is Outcome.SUPPORTED
    assert verdict.tightness == pytest.approx(10)
    assert verdict.shares == {"initialisation": 0.75, "variance": 0.25}
    assert verdict.bracket.lower < verdict.empirical < verdict.bracket.upper < 1
    assert (verdict.seeds, verdict.alpha, verdict.bound, verdict.cap) == (200, 1e-6, 1.0, 4.0)
    assert verdict.detectable.slack < 10 and verdict.detectable.violation > 1


def test_a_bound_divided_by_100_is_refuted():
    assert judged(bound=F(1, 100), cap=None).outcome is Outcome.REFUTED
    assert judged(bound=F(1, 100)).outcome is Outcome.REFUTED


def test_values_at_the_bound_are_inconclusive():
    verdict = judged(np.full(200, 1.0))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.tightness == 1
    assert "does not settle" in verdict.reason


def test_without_a_cap_nothing_is_supported():
    verdict = judged(cap=None)
    assert verdict.outcome is Outcome.INCONCLUSIVE and "no almost-sure cap" in verdict.reason
    assert verdict.bracket.upper == math.inf and verdict.detectable.slack is None


@pytest.mark.parametrize("bound", [4, 5, math.inf])
def test_a_bound_that_is_not_below_the_cap_is_vacuous(bound):
    verdict = judged(bound=bound)
    assert verdict.outcome is Outcome.INCONCLUSIVE and verdict.vacuous and "vacuous" in verdict.reason
    assert not judged(bound=3.99).vacuous


def test_a_zero_bound_with_zero_values_is_inconclusive_and_any_positive_value_refutes_it():
    assert judged(np.zeros(5), 0).outcome is Outcome.INCONCLUSIVE
    verdict = judged([0.0, 1e-3], 0)
    assert verdict.outcome is Outcome.REFUTED and verdict.tightness == 0
    assert judged([0.0, 1e-3], 0, resolution=1e-2).outcome is Outcome.INCONCLUSIVE
    assert judged(np.zeros(5), 1).tightness is None


def test_a_negative_bound_on_a_nonnegative_statistic_is_refuted():
    assert judged([0.0], -1).outcome is Outcome.REFUTED
    for verdict in (
        judged([0.5, 0.5], -1),
        judged([0.5, 0.5], -1, cap=None),
        judge_exact(F(1, 2), F(-1), certificates_kind="exact"),
        judge_exact(F(1, 2), (F(-3, 2), F(-1, 2)), certificates_kind="exact", cap=4),
    ):
        assert verdict.outcome is Outcome.REFUTED and "exceeds" in verdict.reason
        assert (verdict.bound, verdict.tightness, verdict.vacuous) == (-1.0, None, False)
        assert "tightness" not in str(verdict) and "against bound -1" in str(verdict)
        assert verdict_table("t", [verdict]).bars == (None,)


def test_a_negative_bound_that_the_enclosures_do_not_settle_is_inconclusive():
    verdict = judge_exact((F(-2), F(1)), (F(-3, 2), F(-1, 2)), certificates_kind="exact")
    assert verdict.outcome is Outcome.INCONCLUSIVE and verdict.tightness is None


def test_a_bar_is_the_measured_value_in_units_of_the_bound():
    verdicts = [judged(SMALL, 1), judged(SMALL, 2), judged(np.full(9, 3.0), 1), judged(np.zeros(5), 0)]
    verdicts += [judged(SMALL, math.inf, cap=None), not_applicable("claim", "reason")]
    table = verdict_table("t", verdicts)
    assert table.bars == pytest.approx((0.1, 0.05, 1.0, None, 0.0, None))
    assert table.rows == tuple(verdict.row() for verdict in verdicts)


@pytest.mark.parametrize("kind", ["estimated", ("exact", "estimated", "upper")])
def test_estimated_certificates_decide_nothing(kind):
    for values in (SMALL, np.full(200, 3.0)):
        verdict = judged(values, certificates_kind=kind)
        assert verdict.outcome is Outcome.INCONCLUSIVE and "estimated" in verdict.reason
    assert judge_exact(F(1), F(2), certificates_kind=kind).outcome is Outcome.INCONCLUSIVE


def test_the_weakest_certificate_counts():
    assert weakest_certificate(["exact", "upper"]) == "upper"
    assert weakest_certificate("exact") == "exact"
    for bad in ("guess", [], ["exact", "guess"]):
        with pytest.raises(ValueError, match="certificates_kind"):
            weakest_certificate(bad)


def test_a_value_above_the_cap_is_an_error_even_where_the_bound_is_vacuous():
    for bound in (1, 9):
        with pytest.raises(CapExceeded, match=r"4\.0.*4\.04"):
            judged([1.0, 4.04], bound)


def test_resolution_allows_for_rounding_at_both_ends_and_never_helps():
    edge = judged([4 + 1e-12, -1e-12], resolution=1e-9)
    assert edge.outcome is Outcome.INCONCLUSIVE
    assert judged(np.full(200, 2.0)).outcome is Outcome.REFUTED
    assert judged(np.full(200, 2.0), resolution=1.5).outcome is Outcome.INCONCLUSIVE
    assert judged(resolution=0.8).outcome is Outcome.INCONCLUSIVE  # SUPPORTED at resolution 0
    with pytest.raises(ValueError, match="resolution"):
        judged(resolution=-1)


@pytest.mark.parametrize(
    ("values", "match"),
    [([[1.0]], "shape"), ([1.0, math.nan], "finite"), ([math.inf], "finite"), ([-1.0], ">= 0"), ([], "at least one")],
)
def test_bad_values_are_refused(values, match):
    with pytest.raises(ValueError, match=match):
        judged(values)


def test_a_nan_bound_is_refused():
    with pytest.raises(ValueError, match="bound"):
        judged(bound=math.nan)


def test_terms_must_add_up_to_the_bound():
    with pytest.raises(ValueError, match="terms"):
        judged(terms={"a": 0.5, "b": 0.4})


def laxer(**changes):
    """A mutant of the rules: the verdict that a lax judge would hand out."""
    return replace(judged(), **changes)


def test_lax_verdicts_refuse_to_exist():
    with pytest.raises(ValueError, match="vacuous"):
        laxer(vacuous=True)
    with pytest.raises(ValueError, match="estimated"):
        laxer(certificates="estimated")
    with pytest.raises(ValueError, match="estimated"):
        laxer(outcome=Outcome.REFUTED, certificates="estimated")
    with pytest.raises(ValueError, match="reason"):
        not_applicable("feddro.theorem_5_1", "")
    with pytest.raises(FrozenInstanceError):
        judged().outcome = Outcome.REFUTED


def test_a_verdict_has_no_truth_value_to_misuse():
    for verdict in (judged(), not_applicable("a", "T < T_th")):
        assert isinstance(verdict.decided, bool)
    assert not not_applicable("a", "T < T_th").decided
    with pytest.raises(TypeError, match="never a bare bool"):
        bool(judged())


def test_print_is_one_line_and_speaks_of_one_instance():
    text = str(judged(claim="feddro.theorem_5_1", instance="bowl"))
    assert text.startswith("SUPPORTED") and "\n" not in text
    assert "feddro.theorem_5_1 on bowl" in text and "one instance" in text and "200 seeds" in text
    assert "T < T_th" in str(not_applicable("a", "T < T_th"))


@pytest.mark.parametrize("bound", [1, 5, math.inf, F(1, 100), 0, -1])
def test_json_is_strict_and_complete(bound):
    data = json.loads(judged([0.0, 0.5], bound).to_json(), parse_constant=pytest.fail)
    assert {"outcome", "seeds", "alpha", "detectable", "empirical", "bound", "tightness", "shares"} <= set(data)
    assert data["bound"] == ("inf" if bound == math.inf else float(bound))
    assert "one instance" in data["note"]


def test_exact_verdicts():
    assert judge_exact(F(1, 3), F(1, 3), certificates_kind="exact").outcome is Outcome.SUPPORTED
    refuted = judge_exact(F(1, 3) + F(1, 10**50), F(1, 3), certificates_kind="exact")
    assert refuted.outcome is Outcome.REFUTED  # doubles could not tell
    assert refuted.method == "exact" and refuted.bracket_coverage == 1
    assert judge_exact((F(1, 4), F(1, 2)), F(1, 3), certificates_kind="exact").outcome is Outcome.INCONCLUSIVE
    vacuous = judge_exact(1, 3, certificates_kind="exact", cap=2)
    assert vacuous.outcome is Outcome.INCONCLUSIVE and vacuous.vacuous
    with pytest.raises(CapExceeded):
        judge_exact(3, 1, certificates_kind="exact", cap=2)


def test_a_lone_float_is_not_exact():
    with pytest.raises(TypeError, match="enclosure"):
        judge_exact(0.5, F(1), certificates_kind="exact")
    with pytest.raises(TypeError, match="enclosure"):
        judge_exact(F(1), 0.5, certificates_kind="exact")
    for bad in ((2, 1), (math.nan, 1.0), (0.0, math.inf)):
        with pytest.raises(ValueError, match="lower <= upper"):
            judge_exact(bad, 1, certificates_kind="exact")


def test_a_diverging_exact_recursion_is_still_refuted():
    verdict = judge_exact(F(10) ** 400, 1, certificates_kind="exact")
    assert verdict.outcome is Outcome.REFUTED and verdict.empirical == math.inf
    assert json.loads(verdict.to_json())["empirical"] == "inf"


def test_false_verdicts_are_as_rare_as_claimed_on_a_skewed_law_at_the_bound():
    """Fixed seeds, level 1/100, 100 instances: a t-interval gives about 82 false supports here."""
    rng, counts = np.random.default_rng(21), {outcome: 0 for outcome in Outcome}
    for _ in range(100):
        values = (rng.random(20) < 0.01).astype(float)
        counts[judge(values, 0.01, alpha=F(1, 100), cap=1, certificates_kind="exact").outcome] += 1
    assert counts[Outcome.SUPPORTED] + counts[Outcome.REFUTED] <= 2


def test_a_verdict_without_a_run_has_no_seeds():
    exact = judge_exact(F(1, 2), F(1), certificates_kind="exact")
    for verdict in (exact, not_applicable("claim", "reason")):
        assert verdict.seeds == verdict.to_dict()["seeds"] == 0
        assert verdict.alpha is None and "seeds" not in str(verdict)


def test_a_value_below_0_by_the_resolution_is_0_and_by_more_is_an_error():
    edge = judged([-0.25, 0.5], resolution=0.25)
    assert edge.seeds == 2 and edge.outcome is Outcome.INCONCLUSIVE and edge.bracket.lower >= 0
    with pytest.raises(ValueError, match="values"):
        judged([math.nextafter(-0.25, -1), 0.5], resolution=0.25)


def test_evidence_at_the_threshold_is_enough(monkeypatch):
    """Both e-values are compared with 1/alpha by >=."""
    for values, outcome in ((np.full(9, 3.0), Outcome.REFUTED), (np.full(9, 0.1), Outcome.SUPPORTED)):
        log_e = log_e_refute(values, 1) if outcome is Outcome.REFUTED else log_e_support(values, 1, 4)
        for threshold, wanted in ((float(log_e), outcome), (np.nextafter(log_e, 99), Outcome.INCONCLUSIVE)):
            monkeypatch.setattr(module, "log_threshold", lambda alpha, threshold=threshold: threshold)
            assert judged(values, resolution=0.0).outcome is wanted


@pytest.mark.parametrize("resolution", [0.0, 0.25])
def test_the_figures_of_a_verdict_are_those_of_the_two_tests(resolution):
    values = np.array([0.25, 0.5, 1.0, 3.75] * 5)
    verdict = judged(values, 1.5, resolution=resolution, bracket_coverage=0.8, power=0.6)
    low, high = values - resolution, values + resolution
    assert verdict.log10_e_refute == pytest.approx(float(log_e_refute(low, 1.5)) / math.log(10))
    assert verdict.log10_e_support == pytest.approx(float(log_e_support(high, 1.5, 4)) / math.log(10))
    assert verdict.bracket == (mean_bracket(low, coverage=0.8).lower, mean_bracket(high, 4, coverage=0.8).upper)
    assert (verdict.empirical, verdict.tightness, verdict.bracket_coverage) == (1.375, 1.5 / 1.375, 0.8)
    assert verdict.detectable == detectable(20, 1.5, 4, ALPHA, power=0.6)
    assert judged(values, 1.5).detectable == detectable(20, 1.5, 4, ALPHA)


def test_support_is_weighed_only_where_there_is_a_cap_above_the_bound():
    assert judged(cap=None).log10_e_support is None and judged(bound=5).log10_e_support is None
    data = json.loads(judged(bound=math.inf).to_json())
    assert data["log10_e_refute"] == "-inf" and data["bracket"][1] < 4
    assert json.loads(judged(cap=None).to_json())["bracket"][1] == "inf"


def test_the_figures_of_an_exact_verdict_are_the_middles_of_the_enclosures():
    verdict = judge_exact((F(1, 4), F(1, 2)), (F(1), F(2)), certificates_kind="upper", cap=4, terms={"a": 1, "b": 0.5})
    assert verdict.outcome is Outcome.SUPPORTED and verdict.certificates == "upper"
    assert (verdict.empirical, verdict.bound, verdict.tightness, verdict.cap) == (0.375, 1.5, 4.0, 4.0)
    assert verdict.bracket == (0.25, 0.5) and verdict.shares == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert judge_exact(F(2), F(1), certificates_kind="exact", cap=2).outcome is Outcome.REFUTED  # at the cap
    assert judge_exact(F(0), F(0), certificates_kind="exact", terms={"a": 0}).shares == {"a": 0.0}
    assert judge_exact(F(1), -(F(10) ** 400), certificates_kind="exact").bound == -math.inf
    overlapping = judge_exact((F(0), F(2)), F(1), certificates_kind="exact")
    assert overlapping.outcome is Outcome.INCONCLUSIVE and "does not settle" in overlapping.reason


def test_what_is_printed_of_a_verdict():
    """An interval of one point and a missing figure are left out."""
    assert "0.1 [" in str(judged()) and ", tightness 10, 200 seeds, alpha 1e-06; " in str(judged())
    assert ": 0.5 against bound 1, tightness 2; " in str(judge_exact(F(1, 2), F(1), certificates_kind="exact"))
    assert "against" not in str(replace(judged(), bound=None)) and "against" not in str(
        replace(judged(), empirical=None)
    )
    other = not_applicable("claim", "reason")
    assert str(other).startswith("NOT_APPLICABLE  claim: reason") and other.vacuous is False


def test_what_rounding_leaves_refutes_nothing():
    """At a stationary point of clients that differ a run in doubles measures about 1e-34 where the statistic is 0."""
    assert judged(np.full(99, 1.5e-34), bound=0).outcome is Outcome.INCONCLUSIVE
    assert judged(np.full(99, 4 * module.RESOLUTION), bound=0).outcome is Outcome.INCONCLUSIVE
    assert judged(np.full(99, 8 * module.RESOLUTION), bound=0).outcome is Outcome.REFUTED
