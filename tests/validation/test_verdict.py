"""Verdicts: four outcomes, what each may rest on, the mutants that a lax rule would let through; and the alpha that they spend."""

import json
import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction as F

import numpy as np
import pytest
from fedco.validation.statistics import verdict as module
from fedco.validation.statistics.alpha_budget import REPORT_ALPHA, Allotment, AlphaBudget, LedgerError, read_level
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
from hypothesis import given, settings
from hypothesis import strategies as st

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
    ("given", "match"),
    [
        *(({"values": values}, match) for values, match in (
            ([[1.0]], "shape"), ([1.0, math.nan], "finite"), ([math.inf], "finite"), ([-1.0], ">= 0"), ([], "at least one"),
        )),
        ({"bound": math.nan}, "bound"),
        ({"terms": {"a": 0.5, "b": 0.4}}, "terms"),  # which do not add up to the bound
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused(given, match):
    with pytest.raises(ValueError, match=match):
        judged(**given)


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
    """One line about one instance; an interval of one point and a missing figure are left out."""
    text = str(judged(claim="feddro.theorem_5_1", instance="bowl"))
    assert text.startswith("SUPPORTED  feddro.theorem_5_1 on bowl") and "\n" not in text and "one instance" in text
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


# --- the alpha ledger: named in advance, spent once, never overspent --------------------------------------------------


@pytest.fixture
def ledger():
    made = AlphaBudget("1e-6")
    made.allot("a", F(1, 2_000_000), 100)
    made.allot("b", F(1, 4_000_000), 200)
    return made


def test_the_default_total_is_one_in_a_million():
    assert AlphaBudget().total == REPORT_ALPHA == F(1, 10**6)


def test_a_test_is_spent_once_and_returns_its_alpha(ledger):
    assert ledger.spend("a", actual_seeds=100) == F(1, 2_000_000)
    with pytest.raises(LedgerError, match="already spent"):
        ledger.spend("a", actual_seeds=100)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda ledger: ledger.allot("a", F(1, 10**9), 5), "already allotted"),
        (lambda ledger: ledger.spend("forgotten", actual_seeds=1), "not allotted in advance"),
        (lambda ledger: ledger.spend("a", actual_seeds=101, deviation="nearly there"), "100 planned seeds, got 101"),
        (lambda ledger: (ledger.spend("a", actual_seeds=100), ledger.allot("late", F(1, 10**9), 5)), "sealed"),
        (lambda ledger: ledger.share(["new", "a"], 10), r"distinct test names, got \['a'\]"),
        (lambda ledger: Allotment("", F(1, 100), 5), "non-empty"),
        (lambda ledger: Allotment("a", F(2), 5), "a: wanted an exact number"),
        *(
            (lambda ledger, seeds=seeds: Allotment("a", F(1, 100), seeds), "whole number")
            for seeds in (0, -3, 2.0, True)
        ),
    ],
)
def test_what_a_ledger_refuses_changes_nothing(ledger, asked, said):
    with pytest.raises(LedgerError, match=said):
        asked(ledger)
    assert [entry.name for entry in ledger.entries] == ["a", "b"] and ledger.sealed is ("sealed" in said)


def test_overspending_is_refused_and_changes_nothing(ledger):
    assert ledger.remaining == F(1, 4_000_000)
    with pytest.raises(LedgerError, match="what remains"):
        ledger.allot("c", F(1, 4_000_000) + F(1, 10**30), 5)
    ledger.allot("c", F(1, 4_000_000), 5)  # exactly what remains: in floats this would be a matter of rounding
    assert ledger.remaining == 0


def test_an_open_ended_ledger_takes_later_tests_within_the_total():
    ledger = AlphaBudget("1e-6", open_ended=True)
    ledger.allot("a", "1/2000000", 10)
    ledger.spend("a", actual_seeds=10)
    ledger.allot("b", "1/2000000", 10)
    with pytest.raises(LedgerError, match="what remains"):
        ledger.allot("c", "1e-30", 10)


def test_fewer_seeds_need_a_reason(ledger):
    with pytest.raises(LedgerError, match="100 planned seeds, got 60"):
        ledger.spend("a", actual_seeds=60)
    ledger.spend("a", actual_seeds=60, deviation="the worker was stopped")
    assert [(e.planned_seeds, e.actual_seeds, e.deviation) for e in ledger.entries if e.spent] == [
        (100, 60, "the worker was stopped")
    ]


def test_sharing_is_exact_and_all_or_nothing():
    ledger = AlphaBudget("1e-6")
    with pytest.raises(LedgerError, match="distinct"):
        ledger.share(["x", "x"], 10)
    with pytest.raises(LedgerError, match="missing"):
        ledger.share(["x", "y"], {"x": 10})
    with pytest.raises(LedgerError, match="none"):
        ledger.share([], 10)
    assert ledger.entries == ()
    ledger.share(["x", "y", "z"], {"x": 1, "y": 2, "z": 3})
    assert [entry.alpha for entry in ledger.entries] == [F(1, 3_000_000)] * 3
    assert ledger.remaining == 0


@settings(max_examples=40)
@given(st.lists(st.fractions(F(1, 10**6), F(1, 10), max_denominator=10**6), max_size=30))
def test_no_sequence_of_allotments_overspends(amounts):
    ledger = AlphaBudget("1/4")
    for index, amount in enumerate(amounts):
        try:
            ledger.allot(str(index), amount, 1)
        except LedgerError:
            assert amount > ledger.remaining
    assert sum(entry.alpha for entry in ledger.entries) <= F(1, 4)


def test_json_round_trip(ledger):
    ledger.spend("b", actual_seeds=150, deviation="stopped")
    again = AlphaBudget.from_dict(json.loads(ledger.to_json()))
    assert again.entries == ledger.entries
    assert (again.total, again.sealed, again.remaining) == (ledger.total, True, ledger.remaining)
    with pytest.raises(LedgerError, match="already spent"):
        again.spend("b", actual_seeds=150)


def tampered(ledger, change):
    data = ledger.to_dict()
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["tests"].append(data["tests"][0]),
        lambda data: data["tests"][0].update(alpha="1/2"),
        lambda data: data["tests"][0].update(actual_seeds=10**6),
        lambda data: data["tests"][0].pop("alpha"),
        lambda data: data["tests"][0].update(planned_seeds="100"),
        lambda data: data.update(total=1e-6),
        lambda data: data.update(format="other"),
        lambda data: data.pop("tests"),
    ],
)
def test_a_tampered_file_is_refused(ledger, change):
    with pytest.raises(LedgerError):
        AlphaBudget.from_dict(tampered(ledger, change))


@pytest.mark.parametrize(
    "level", [0.001, "0", "1", "2", "-1/2", "1e999999999", "1/0", "nan", "", "1e-6 ", F(3, 2), True]
)
def test_levels_are_exact_and_strictly_between_zero_and_one(level):
    with pytest.raises(LedgerError, match="wanted an exact number"):
        read_level("alpha", level)
    assert read_level("alpha", "1e-6") == read_level("alpha", "0.000001") == read_level("a", "1/1000000") == F(1, 10**6)


@pytest.mark.parametrize("open_ended", [False, True])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("spent", [False, True])
def test_a_read_ledger_takes_the_tests_that_the_kept_one_took(open_ended, closed, spent):
    ledger = AlphaBudget("1/2", open_ended=open_ended)
    ledger.allot("a", "1/4", 10)
    if spent:
        ledger.spend("a", actual_seeds=10)
    if closed:
        ledger.seal()
    text = ledger.to_json()
    assert text == json.dumps(ledger.to_dict(), indent=2)
    again = AlphaBudget.from_dict(json.loads(text))
    assert (again.sealed, again.open_ended) == (closed or (spent and not open_ended), open_ended)
    assert again.sealed is ledger.sealed and again.to_dict() == ledger.to_dict()
    hidden = AlphaBudget.from_dict(
        json.loads(text) | {"sealed": False}
    )  # what was spent closes it, whatever the file says
    assert hidden.sealed is (spent and not open_ended)
