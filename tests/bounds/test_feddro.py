"""FedDRO: every statement against an evaluation from the paper alone, and the findings; slips are planted in test_injection.py."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isclose, sqrt
from random import Random

import kept_findings
import pytest
import sympy as sp
from fedco.bounds import paper_theorems
from fedco.bounds.audit.checks import automatic, compare_terms, corollary_terms, recheck
from fedco.bounds.audit.findings import RecheckError, confirm
from fedco.bounds.evaluation.evaluate import complete
from fedco.bounds.language.notation import slack_symbol
from fedco.bounds.papers.feddro import checks
from fedco.bounds.proof.certificates import prove_nonnegative
from fedco.bounds.registry import get_paper
from feddro_paper import PAPER, corollary_2, period_of_corollary_2
from registry_cases import number

THEOREMS = {name.partition(".")[2]: theorem for name, theorem in paper_theorems("feddro").items()}
CASES = [(name, label) for name, theorem in THEOREMS.items() for label in theorem.labels if name != "theorem_4_1"]
COUNTS = {"I": (1, 2, 5, 8), "K": (1, 4, 16), "b": (1, 3, 32), "T": (10, 10**4, 10**7)}
SEEDS = range(4)


def draw(theorem, label, seed):
    """Random exact values of every symbol, scheduled ones included: formulas are compared off the schedule too."""
    rng = Random(f"{theorem.id} {label} {seed}")
    return {
        name: rng.choice(COUNTS[name]) if name in COUNTS else Fraction(rng.randint(1, 99), rng.choice((7, 100, 13)))
        for name in theorem.symbols(label)
    }


def of_fedco(theorem, label, values):
    """Terms, constants and both sides of every condition."""
    statement = theorem.statement(label)
    point = complete(theorem.statement(label), values)
    items = (*statement.terms, *statement.derived)
    numbers = {item.name: number(statement.at(item.expr, point)) for item in items}
    sides = {
        c.name: tuple(number(statement.at(side, point)) for side in (c.left, c.right)) for c in statement.conditions
    }
    return numbers, sides


def differences(theorem, label, formula, seeds=SEEDS):
    """Names of terms, constants and conditions that differ by more than 1e-12 relative from the paper's formula."""
    wrong = set()
    for seed in seeds:
        values = draw(theorem, label, seed)
        mine, sides = of_fedco(theorem, label, values)
        theirs, limits = formula(**{name: float(value) for name, value in values.items()})
        wrong |= {name for name in theirs if name not in mine or not isclose(mine[name], theirs[name], rel_tol=1e-12)}
        terms = {term.name for term in theorem.statement(label).terms}
        wrong |= {name for name in terms if name not in theirs} | set(sides) ^ set(limits)
        close = {
            name: all(map(lambda a, b: isclose(a, b, rel_tol=1e-12), sides[name], limits[name]))
            for name in set(sides) & set(limits)
        }
        wrong |= {name for name, same in close.items() if not same}
    return wrong


def test_every_statement_has_an_independent_formula():
    assert set(CASES) == set(PAPER)


@pytest.mark.parametrize(("name", "label"), CASES)
def test_agrees_with_the_paper_in_plain_python(name, label):
    assert differences(THEOREMS[name], label, PAPER[name, label]) == set()


def test_schedules_are_those_of_the_paper():
    values = {
        key: value for key, value in draw(THEOREMS["theorem_5_1"], "printed", 1).items() if key not in ("eta", "beta")
    }
    numbers = THEOREMS["theorem_5_1"].bound("printed", strict=False, **values).numbers
    eta = sqrt(values["b"] * values["K"] / values["T"])
    assert isclose(numbers["eta"], eta) and isclose(
        numbers["beta"], 4 * float(values["B_g"] ** 4 * values["L_f"] ** 2) * eta
    )
    for T in (10, 10**6, 10**15):
        values = {**draw(THEOREMS["corollary_2"], "printed", 1), "T": T, "b": 1, "K": 2}
        wanted = corollary_2(**{**{k: float(v) for k, v in values.items()}, "I": period_of_corollary_2(1, 2, T)})[0]
        for name in ("I", "eta", "beta"):
            del values[name]
        assert isclose(
            THEOREMS["corollary_2"].bound("printed", strict=False, **values).derived["rounds"], wanted["rounds"]
        )


def test_theorem_4_1_limits():
    printed, corrected = (
        THEOREMS["theorem_4_1"].bound(label, eta=Fraction(1, 100)) for label in ("printed", "corrected")
    )
    assert printed.derived == {"C_eta_I": 1 / 8, "C_eta_II": 1 / 22, "xbar_lower": 0.5}
    assert isclose(corrected.derived["C_eta_I"], sqrt(2) / 4)
    outside = THEOREMS["theorem_4_1"].bound("printed", strict=False, eta=Fraction(1, 8))
    assert outside.failed == ("case_I", "case_II"), "the printed range is open"


# --- printed against proved, printed against corrected ---------------------------------------------------------------

EXPECTED = {
    "theorem_5_1": {
        "initialisation": "equal",
        "variance_h": "violated",
        "variance_g": "violated",
        "heterogeneity_h": "violated",
        "heterogeneity_g": "violated",
    },
    "theorem_f_1": {
        "initialisation": "equal",
        "variance_h": "violated",
        "variance_g": "violated",
        "heterogeneity_h": "violated",
        "heterogeneity_g": "violated",
    },
    "lemma_f_2": {"inner": "violated"},
    "lemma_f_5": dict.fromkeys(
        ("descent", "drift", "variance_h", "variance_g", "heterogeneity_h", "heterogeneity_g"), "equal"
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_printed_against_proved(name):
    outcomes = {term: outcome for term, (outcome, *_) in compare_terms(THEOREMS[name]).items()}
    assert {term: outcomes[term] for term in EXPECTED[name]} == EXPECTED[name]


def test_theorem_f_6_rounds_its_constants_up():
    """5 for 4 (9/8) and 15 for 12 (9/8): with I = 1 + u every coefficient of the difference is nonnegative."""
    theorem, I = THEOREMS["theorem_f_6"], THEOREMS["theorem_f_6"].notation["I"].symbol
    printed, proved = theorem.statement("printed"), theorem.statement("composed")
    for term in printed.terms:
        gap = printed.expand(term.expr) - proved.expand(proved.term(term.name).expr)
        assert prove_nonnegative(sp.expand(gap), {I: 1 + slack_symbol("u")}), term.name
        assert term.name == "descent" or not prove_nonnegative(sp.expand(-gap), {I: 1 + slack_symbol("u")}), "a mutant"


def test_corollary_1_is_theorem_5_1_with_the_schedule():
    """For I = T^(1/4) / (|b| K)^(3/4), |b| K (I-1)^2 / T <= 1 / sqrt(|b| K T): the maximum is its second argument."""
    outcomes = {outcome for outcome, *_ in corollary_terms(THEOREMS["corollary_1"]).values()}
    assert outcomes <= {"equal", "larger", "open"}
    u, size = slack_symbol("u"), slack_symbol("size")
    T = (1 + u) ** 4 * size**3
    assert prove_nonnegative((size**2 * (1 + u) ** 2) ** -1 - size * u**2 / T)
    assert prove_nonnegative(size * u**2 / T - (size**2 * (1 + u) ** 2) ** -1) is None


def test_neither_statement_implies_the_other():
    """The corrected bound beats the printed one without momentum trouble, and exceeds it where rounds are long."""
    flat = {
        "L_h": 1,
        "L_f": 1,
        "L_g": 1,
        "B_f": 1,
        "B_g": 1,
        "sigma_h": 0,
        "sigma_g": 0,
        "Delta_h": 1,
        "Delta_g": 0,
        "Phi_gap": 1,
        "y_err": 0,
        "K": 1,
        "b": 1,
    }
    long_rounds = {**flat, "T": 10**16, "I": 10**4}
    printed = THEOREMS["corollary_1"].bound("printed", **long_rounds)
    corrected = THEOREMS["theorem_5_1"].bound("corrected", delta_g=0, **long_rounds)
    assert printed.admissible and corrected.admissible
    assert corrected.terms["inner_heterogeneity"] > 1000 * printed.terms["heterogeneity_h"]
    short = {**flat, "T": 10**16, "I": 1}
    assert (
        THEOREMS["theorem_5_1"].bound("corrected", delta_g=0, **short).total
        < 10 * THEOREMS["theorem_5_1"].bound("printed", **short).total
    )


def test_the_corrected_rate_is_still_one_over_root_t_for_short_rounds():
    base = {
        "L_h": 1,
        "L_f": 1,
        "L_g": 1,
        "B_f": 1,
        "B_g": 1,
        "sigma_h": 1,
        "sigma_g": 1,
        "delta_g": 1,
        "Delta_h": 1,
        "Delta_g": 1,
        "Phi_gap": 1,
        "y_err": 1,
        "I": 4,
        "K": 8,
        "b": 2,
    }
    first, second = (THEOREMS["theorem_5_1"].bound("corrected", **base, T=T).total for T in (10**12, 10**16))
    assert isclose(first / second, 100, rel_tol=0.02)


# --- findings --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def automatic_findings():
    return [finding for theorem in THEOREMS.values() for finding in automatic(theorem)]


@pytest.mark.parametrize("finding", checks.FINDINGS, ids=lambda finding: finding.id)
def test_every_finding_of_a_reader_survives_its_check(finding):
    kept_findings.check(finding)
    assert finding.theorem in paper_theorems("feddro")


def test_every_automatic_finding_survives_its_check(automatic_findings):
    for finding in automatic_findings:
        kept_findings.check(finding)
        assert finding.theorem in paper_theorems("feddro")


def test_findings_can_be_checked_again_by_their_id():
    assert recheck("feddro.same_sample") and recheck("feddro.lemma_f_2:terms")


def test_findings_have_unique_ids_and_name_existing_theorems(automatic_findings):
    found = [finding.id for finding in (*checks.FINDINGS, *automatic_findings)]
    assert len(found) == len(set(found)) >= 15


def test_mutants_of_the_checks_fail(monkeypatch):
    """Each check is run on an instance in which the paper would be right."""
    with pytest.raises(RecheckError):
        confirm(False, anything=1)
    monkeypatch.setattr(
        checks, "Q", lambda top, bottom=1: Fraction(0) if (top, bottom) == (1, 4) else Fraction(top, bottom)
    )
    with pytest.raises(RecheckError):
        checks.sign_before_13()


@pytest.mark.parametrize(
    "check",
    ["estimate_jumps_at_communication", "varying_steps_escape", "wrong_start", "long_rounds", "long_rounds_orders"],
)
def test_a_check_notices_when_its_run_refutes_nothing(check, monkeypatch):
    real = checks.kept

    def harmless(name):
        found = real(name)
        return found._replace(left=(found.right[0] / 2, found.right[0] / 2))

    assert getattr(checks, check)()
    monkeypatch.setattr(checks, "kept", harmless)
    with pytest.raises(RecheckError):
        getattr(checks, check)()


def test_a_finding_about_a_repaired_declaration_fails(monkeypatch):
    """With 20 in front of the middle term the check of the lost factor is not confirmed."""
    original = THEOREMS["theorem_f_1"]
    notation = original.notation.namespace()
    printed = original.statement("printed")
    repaired = replace(
        printed.constant("Lbar_fg"), expr=printed.constant("Lbar_fg").expr + 19 * notation.B_f**2 * notation.L_g**2
    )
    derived = tuple(repaired if item.name == "Lbar_fg" else item for item in printed.derived)
    mutant = replace(original, statements={**original.statements, "printed": replace(printed, derived=derived)})
    known = {**paper_theorems("feddro"), "feddro.theorem_f_1": mutant}
    monkeypatch.setitem(vars(get_paper("feddro")), "theorems", known)
    with pytest.raises(RecheckError):
        checks.lost_factor_twenty()
