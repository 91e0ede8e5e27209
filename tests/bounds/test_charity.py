"""A paper is accused only on its most charitable reading: grades, findings and the words for both."""

from fractions import Fraction as F
from functools import cache

import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.audit import make_audit_cache
from fedco.bounds.audit.checks import audit, automatic, stated
from fedco.bounds.audit.findings import RecheckError, describe
from fedco.bounds.audit.picture import Picture
from fedco.bounds.audit.refuted import causes, gravest, refutations, refuted_by
from fedco.bounds.audit.status import status
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.rendering import to_text
from fedco.bounds.language.theorem import Metric, Source, Statement, Term, Theorem
from fedco.bounds.registry import all_papers

DISPLAYED = ("fcsg.theorem_4_1", "fcsg_m.theorem_4_4")


# --- refutations ---


@cache
def built(name):
    return refutations()[name].case()


@pytest.mark.parametrize("name", sorted(refutations()))
def test_the_declared_grade_is_that_of_the_instance(name):
    """An instance that violates an assumption which `fedco show` prints is no refutation without a reading."""
    item, case = refutations()[name], built(name)
    assert item.graded(case).word == item.word
    violated = [assumption for assumption, holds in case.assumptions.items() if not holds]
    assert item.grade == "reading" if violated else item.grade in ("refuted", "reading", "slip")


@pytest.mark.parametrize("name", DISPLAYED)
def test_the_window_instances_violate_the_words_of_assumption_3_1(name):
    item = refutations()[f"{name}.displayed_assumption"]
    assert built(item.name).assumptions["3.1"] is False
    theorem = get_theorem(name)
    assert any(assumption.name == "3.1" and "every f_xi" in assumption.text for assumption in theorem.assumptions)
    found = status(theorem, "printed")
    assert found.outcome == "reading"
    assert "otherwise derived" in found.why
    assert f"status: {found.word} by {item.name}" in to_text(theorem)


def test_one_instance_without_a_reading_decides():
    found = gravest(refuted_by(get_theorem("local_scgdm.theorem_3_4").statement("printed")))
    assert {item.grade for item in found} == {"refuted"} and "local_scgdm.theorem_3_4.one_sample" not in {
        i.name for i in found
    }
    assert status(get_theorem("comfedl.theorem_1"), "printed").outcome == "slip"
    assert status(get_theorem("acc_fcsg_m.theorem_4_7"), "printed").outcome == "reading", (
        "of a letter that it does not define"
    )
    assert status(get_theorem("acc_fcsg_m.corollary_4_8"), "printed").outcome == "refuted"


def test_what_is_drawn_is_what_was_certified():
    """Marks on the grid, a height for every model; the drop from the start to the minimiser is the certified gap."""
    cases = {name: built(name) for name in refutations()}
    pictured = {name: case for name, case in cases.items() if case.picture is not None}
    assert len(pictured) > len(cases) * 3 / 4
    gaps = lowest = 0
    for name, case in pictured.items():
        drawn = case.picture.drawn()
        marks, at = drawn["marks"], dict(zip(drawn["x"], drawn["mean"], strict=True))
        assert set(marks.values()) <= set(drawn["x"]), name
        assert all(len(heights) == len(drawn["x"]) for heights in drawn["clients"]), name
        assert any(any(heights) for heights in drawn["clients"]), name
        if {"start", "minimiser"} <= set(marks) and "F_gap" in case.constants:
            gap = float(case.constants["F_gap"][0])  # Simpson across a kink that is not on the grid
            assert at[marks["start"]] - at[marks["minimiser"]] == pytest.approx(gap, rel=2e-2), name
            gaps += 1
        for word in {"start, the minimiser", "start, a minimiser"} & set(marks):
            assert at[marks[word]] <= min(drawn["mean"]) + 1e-9, name
            lowest += 1
    assert gaps >= 4 and lowest


def test_a_picture_without_clients_or_with_an_empty_interval_is_refused():
    for functions, interval, message in (((), (0, 1), "a client"), ((abs,), (1, 1), "interval")):
        with pytest.raises(ValueError, match=message):
            Picture(functions, interval)


# --- homogeneity ---


def declared(term, quantity="inner_noise"):
    notation = Notation(
        "demo",
        (
            ("B_f", "B_f", "outer_lipschitz"),
            ("B_g", "B_g", "inner_lipschitz"),
            ("L_f", "L_f", "outer_smoothness"),
            ("s", "s", quantity),
        ),
    )
    s = notation.namespace()
    dimension = (notation["B_f"].quantity.dimension * notation["B_g"].quantity.dimension) ** 2
    statement = Statement("printed", (Term("noise", term(s)),))
    return Theorem(
        "demo.theorem",
        "theorem",
        "t",
        Source("demo", "1"),
        notation,
        Metric("m", "m", dimension),
        {"printed": statement},
    )


def both(s):
    """The noise of the Jacobian and that of the value, by one letter."""
    return (s.B_f**2 + s.L_f**2 * s.B_g**2) * s.s**2


def test_a_letter_for_two_bounds_is_two_quantities():
    assert [*automatic(declared(both))] == []
    (found,) = automatic(declared(both, "inner_jacobian_noise"))
    assert found.kind == "homogeneity"


@pytest.mark.parametrize(
    "wrong", [lambda s: both(s) * s.B_g, lambda s: (s.B_f**2 + s.L_f * s.B_g**2) * s.s**2, lambda s: both(s) / s.s]
)
def test_a_slip_beside_such_a_letter_is_still_found(wrong):
    (found,) = automatic(declared(wrong))
    assert found.kind == "homogeneity" and found.check()["places"]


def test_a_letter_for_two_bounds_is_no_finding_about_a_paper_and_show_says_what_it_is():
    for name in ("theorem_5_1", "corollary_1", "theorem_f_1", "lemma_f_4", "lemma_f_5", "theorem_f_6"):
        item = get_theorem(f"feddro.{name}")
        assert not item.inhomogeneities(item.statement("printed"), item.unit_choices), name
    (line, *_) = (
        line for line in to_text(get_theorem("feddro.theorem_5_1")).split("\n") if line.strip().startswith("sigma_g ")
    )
    assert "[[y] [x]^-1 or [y]]" in line


# --- findings ---


def test_a_witness_satisfies_the_conditions_of_the_statement():
    """And one that does not is refused."""
    theorem = get_theorem("local_scgdm.theorem_3_4")
    (found,) = (finding for finding in automatic(theorem) if finding.kind == "constant")
    assert found.check()
    points = found.check.args[1]
    for point in points.values():
        table = {theorem.notation[name].symbol: sp.Rational(v.numerator, v.denominator) for name, v in point.items()}
        sides = [c.each_side(lambda side, table=table: side.xreplace(table)) for c in stated(theorem)]
        assert all(c.slack >= 0 for c in sides if not c.left.free_symbols | c.right.free_symbols)
    planted = {name: {**point, "eta": F(10**6)} for name, point in points.items()}
    with pytest.raises(RecheckError):
        found.check.func(theorem, planted)


def test_a_corollary_has_the_conditions_of_its_theorem():
    names = {finding.id for finding in automatic(get_theorem("local_scgdm.corollary_3_5"))}
    assert not [name for name in names if ":condition:" in name]


def test_what_was_withdrawn_is_gone_and_has_a_reason():
    current = {row["id"] for row in make_audit_cache.findings()[0]}
    gone = [name for paper in all_papers() for item in paper.withdrawn for name in item.ids]
    assert len(gone) == len(set(gone)) == 34 and not current & set(gone)
    assert all(len(item.why) > 30 for paper in all_papers() for item in paper.withdrawn)
    assert {*causes(), *(name for names in causes().values() for name in names)} <= current


def test_a_claim_that_does_not_follow_has_an_instance_or_says_that_it_has_none():
    for paper in all_papers():
        for finding in paper.findings:
            assert finding.charitable and finding.where
            text = describe(finding.to_dict())
            assert ("no exact instance is kept" in text) == (finding.severity == "breaks" and not finding.bundles)
            assert f"reading:     {finding.charitable}" in text


def test_a_slip_seen_again_is_one_cause():
    found = audit("acc_fcsg_m")
    conditions = [item for item in found if item.cause == "acc_fcsg_m.printed_conditions"]
    assert {item.id.partition(":")[2] for item in conditions} == {
        "condition:step_size",
        "condition:momentum_choice",
        "",
    }
