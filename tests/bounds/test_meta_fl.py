"""meta_fl: every statement against plain Python, recursions against closed forms, limits, findings, and planted
slips.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import fedco
import kept_findings
import meta_fl_plain as plain
import numpy as np
import pytest
import sympy as sp
from fedco.bounds import paper_theorems
from fedco.bounds.audit.bundled import clients_of
from fedco.bounds.audit.checks import automatic
from fedco.bounds.audit.findings import SEVERITIES
from fedco.bounds.audit.refutation import RefutationError
from fedco.bounds.evaluation.evaluate import InadmissibleError, evaluate
from fedco.bounds.language.quantities import MAX_STEPS
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import DeclarationError
from fedco.bounds.papers.meta_fl import composed as proof
from fedco.bounds.papers.meta_fl import constants as constants
from fedco.bounds.papers.meta_fl.checks import FINDINGS

LEMMAS = ("lemma_4", "lemma_5", "lemma_6", "lemma_7", "lemma_10", "lemma_11", "lemma_12")
THEOREMS = ("theorem_8", "theorem_8_FO", "theorem_8_HF")
SUFFIX = {"theorem_8": "", "theorem_8_FO": "_FO", "theorem_8_HF": "_HF"}
LABELS = ("printed", "composed", "corrected")
PROBLEM = ("B", "L", "rho", "sigma_G", "sigma_H", "gamma_G", "gamma_H", "F_gap")
CLOSE = {"rel": 1e-12, "abs": 1e-300}


def draw(seed: int) -> dict[str, Fraction]:
    """Values at which every condition holds; nu runs through 2..6."""
    rng = random.Random(seed)

    def number() -> Fraction:
        return Fraction(rng.randint(1, 40), rng.randint(1, 40))

    values = {name: number() for name in PROBLEM}
    values["kappa_G"], values["kappa_H"] = values["sigma_G"] ** 4 * 2, values["sigma_H"] ** 4 * 3
    values["alpha"] = Fraction(rng.randint(1, 30), 20) / values["L"]
    values |= {"nu": Fraction(2 + seed % 5), "D": Fraction(rng.randint(1, 60)), "D_H": Fraction(rng.randint(1, 60))}
    values |= {"delta": number() / 50, "tau": Fraction(rng.randint(1, 20)), "K": Fraction(rng.randint(1, 900))}
    values |= {"n": Fraction(rng.randint(2, 40)), "c": Fraction(rng.randint(1, 30), 2)}
    values["r"] = Fraction(rng.randint(1, int(values["n"])), values["n"])
    lipschitz = plain.L_F(
        *(float(values[name]) for name in ("alpha",)), int(values["nu"]), *floats(values, "B", "L", "rho")
    )
    values["beta"] = Fraction(repr(1 / (11 * float(values["tau"]) * lipschitz)))
    return values


def floats(values, *names):
    return [float(values[name]) for name in names]


def expected(values, label: str) -> dict[str, float]:
    """Every constant of meta_fl at these values, from plain Python."""
    v, nu = {name: float(value) for name, value in values.items()}, int(values["nu"])
    D, H = [v["D"]] * (nu + 1), [v["D_H"]] * nu
    path, hessian = (v["alpha"], v["L"], v["sigma_G"]), (v["rho"], v["sigma_G"], v["sigma_H"])
    moments = (v["kappa_G"], v["kappa_H"])
    smooth, B, delta = (v["alpha"], nu, v["B"], v["L"]), v["B"], v["delta"]
    out = {"L_F": plain.L_F(*smooth, v["rho"])}
    if label == "corrected":
        out["h2_nu"] = plain.corrected_h2(nu, *path, D)
        out["h_nu"] = out["h2_nu"] ** 0.5
        out["h4_nu"] = plain.h4(nu, *path, v["kappa_G"], D)
        out["mu_F"] = plain.corrected_mu_F(*smooth, v["rho"], v["sigma_G"], D)
        out["sigma_F"] = plain.corrected_sigma_F(*smooth, *hessian, D, H)
        out["gamma_F"] = plain.corrected_gamma_F(*smooth, v["rho"], v["gamma_G"], v["gamma_H"])
        out["mu_F_FO"], out["sigma_F_FO"] = plain.corrected_first_order(*smooth, v["sigma_G"], D)
        out["mu_F_HF"], out["sigma_F_HF"] = plain.corrected_hessian_free(*smooth, *hessian, delta, D, H)
        out["q_nu"] = plain.q(nu, v["alpha"], B, v["L"], v["rho"], delta) / 2
        return out
    out["h_nu"], out["h2_nu"] = plain.h(nu, *path, D), plain.h2(nu, *path, D)
    out["h4_nu"] = plain.h4(nu, *path, v["kappa_G"], D)
    out["d_nu"] = plain.d(nu, v["alpha"], v["L"], *hessian, D, H)
    out["d4_nu"] = plain.d4(nu, v["alpha"], v["L"], *hessian, *moments, D, H)
    out["mu_F"] = plain.mu_F(*smooth, *hessian, D, H)
    out["sigma_F"] = plain.sigma_F(*smooth, *hessian, *moments, D, H)
    out["gamma_F"] = plain.gamma_F(*smooth, v["gamma_G"], v["gamma_H"])
    out["mu_F_FO"] = plain.mu_F_FO(*smooth, v["sigma_G"], D)
    out["sigma_F_FO"] = plain.sigma_F_FO(*smooth, v["sigma_G"], D)
    out["mu_F_HF"] = plain.mu_F_HF(*smooth, v["rho"], v["sigma_G"], delta, D, H)
    out["sigma_F_HF"] = plain.sigma_F_HF(*smooth, v["rho"], v["sigma_G"], delta, D, H)
    out["q_nu"] = plain.q(nu, v["alpha"], B, v["L"], v["rho"], delta)
    out["kbar_G"] = plain.batch_fourth(v["kappa_G"], v["sigma_G"], v["D"])
    out["kbar_H"] = plain.batch_fourth(v["kappa_H"], v["sigma_H"], v["D_H"])
    return out


def evaluated(name: str, label: str, values):
    theorem = fedco.theorem(f"meta_fl.{name}")
    return theorem.bound(label, **{key: value for key, value in values.items() if key in theorem.symbols(label)})


def has(name: str, label: str) -> bool:
    return label in fedco.theorem(f"meta_fl.{name}").labels


# --- numbers against plain Python ------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", LEMMAS)
def test_constants_agree_with_plain_python(name, label):
    if not has(name, label):
        pytest.skip("no such statement")
    for seed in range(10):
        values = draw(seed)
        wanted, got = expected(values, label), evaluated(name, label, values)
        compared = [key for key in got.derived if key in wanted]
        assert compared, "nothing to compare"
        assert {key: got.derived[key] for key in compared} == pytest.approx(
            {key: wanted[key] for key in compared}, **CLOSE
        )
        assert got.total == (pytest.approx(wanted["gamma_F"] ** 2, **CLOSE) if name == "lemma_7" else None)


@pytest.mark.parametrize("name", THEOREMS)
def test_theorem_8_agrees_with_plain_python(name):
    for seed in range(10):
        values = draw(seed)
        for label in LABELS:
            known = expected(values, label)
            parts = [known["L_F"], known[f"mu_F{SUFFIX[name]}"], known[f"sigma_F{SUFFIX[name]}"], known["gamma_F"]]
            got = evaluated(name, label, values)
            head = floats(values, "F_gap", "beta", "tau", "r", "n", "K")
            if label == "printed":
                assert got.total == pytest.approx(plain.theorem_8_printed(*head, float(values["c"]), *parts), **CLOSE)
            else:
                terms = plain.theorem_8_explicit(*head, *parts)
                assert got.terms == pytest.approx(terms, **CLOSE)
                assert got.total == pytest.approx(sum(terms.values()), **CLOSE)


@pytest.mark.parametrize("name", THEOREMS)
def test_arrays_agree_with_exact_numbers(name):
    theorem, values = fedco.theorem(f"meta_fl.{name}"), draw(3)
    for label in LABELS:
        known = {key: float(value) for key, value in values.items() if key in theorem.symbols(label)}
        grid = evaluate(theorem.statement(label), **{**known, "nu": np.array([2.0, 3.0, 5.0, 0.5])})
        for index, nu in enumerate((2, 3, 5)):
            here = {key: value for key, value in values.items() if key in known} | {"nu": nu}
            exact = theorem.bound(label, strict=False, **here)
            assert grid["total"][index] == pytest.approx(exact.total, rel=1e-12)
        assert np.isnan(grid["total"][3]), "half a step is no step"


def test_different_batch_sizes_per_step():
    for seed, nu in ((0, 1), (1, 2), (2, 3), (3, 5)):
        rng = random.Random(seed)
        values = draw(seed)
        D, H = [rng.randint(1, 50) for _ in range(nu + 1)], [rng.randint(1, 50) for _ in range(nu)]
        s = constants.at(**{**values, "D": D, "D_H": H})
        v = {name: float(value) for name, value in values.items()}
        smooth = (v["alpha"], nu, v["B"], v["L"])
        hessian = (v["rho"], v["sigma_G"], v["sigma_H"])
        printed, corrected = constants.printed(s, nu), constants.corrected(s, nu)
        wanted = {
            "mu_F": plain.mu_F(*smooth, *hessian, D, H),
            "sigma_F": plain.sigma_F(*smooth, *hessian, v["kappa_G"], v["kappa_H"], D, H),
            "mu_F_FO": plain.mu_F_FO(*smooth, v["sigma_G"], D),
            "sigma_F_FO": plain.sigma_F_FO(*smooth, v["sigma_G"], D),
            "mu_F_HF": plain.mu_F_HF(*smooth, v["rho"], v["sigma_G"], v["delta"], D, H),
            "sigma_F_HF": plain.sigma_F_HF(*smooth, v["rho"], v["sigma_G"], v["delta"], D, H),
        }
        assert len(printed) == 11 and len(corrected) == 9
        assert {key: float(printed[key]) for key in wanted} == pytest.approx(wanted, **CLOSE)
        hessian_free = plain.corrected_hessian_free(*smooth, *hessian, v["delta"], D, H)
        assert float(corrected["sigma_F"]) == pytest.approx(plain.corrected_sigma_F(*smooth, *hessian, D, H), **CLOSE)
        assert (float(corrected["mu_F_HF"]), float(corrected["sigma_F_HF"])) == pytest.approx(hessian_free, **CLOSE)


# --- recursions and the sums that the paper prints ---------------------------------------------------------------------


NAMES = "alpha B L rho sigma_G sigma_H kappa_G kappa_H gamma_G gamma_H delta"
SYMBOLS = {name: sp.Symbol(name, positive=True) for name in NAMES.split()}
CLOSED = {  # recursion, closed form, first nu at which they agree
    "h": (constants.h, constants.one_h, 0),
    "h2": (constants.h2, constants.one_h2, 1),
    "h4": (constants.h4, constants.one_h4, 1),
    "g": (constants.g, constants.one_g, 1),
    "q": (constants.q, constants.one_q, 0),
    "corrected_h2": (constants.corrected_h2, constants.corrected_one_h2, 0),
}


@pytest.mark.parametrize("name", CLOSED)
def test_recursions_equal_closed_forms(name):
    recursion, closed, first = CLOSED[name]
    same = constants.at(**SYMBOLS, D=sp.Symbol("D", positive=True), D_H=sp.Symbol("D_H", positive=True))
    nu = sp.Symbol("nu", nonnegative=True, integer=True)
    for steps in range(first, 7):
        for formula in (closed, recursion):
            at_nu = formula(same, nu).xreplace({nu: sp.Integer(steps)})
            assert sp.expand(recursion(same, steps) - at_nu) == 0, steps


def test_closed_forms_of_whole_statements():
    """`printed` (closed forms) and `composed` (recursions) define the same constants, exactly, for nu = 1..6."""
    for name in ("lemma_4", "lemma_5", "lemma_7", "lemma_10", "lemma_12"):
        theorem = fedco.theorem(f"meta_fl.{name}")
        printed, proved = theorem.statement("printed"), theorem.statement("composed")
        shared = {c.name for c in printed.derived} & {c.name for c in proved.derived}
        for steps in range(1, 7):
            at_nu = {proof.s.nu: sp.Integer(steps)}
            for key in shared:
                left, right = (st.expand(st.constant(key).expr).xreplace(at_nu) for st in (printed, proved))
                assert sp.expand(left**2 - right**2) == 0, (name, key, steps)


def test_irrational_recursions_are_evaluated_to_any_precision():
    s = constants.at(**{**draw(1), "D": 7, "D_H": 5})
    for rule in (
        constants.d,
        constants.corrected_v,
        constants.corrected_v_HF,
        constants.corrected_b_HF,
        constants.corrected_h_sum,
    ):
        kept = rule(s, 12)
        unrolled = sp.sympify(rule.rule(3, *(getattr(s, name) for name in rule.reads)))
        assert sp.N(rule(s, 3), 40) == pytest.approx(sp.N(unrolled, 40), rel=1e-35)
        assert abs(sp.N(kept, 60) / sp.N(kept, 20) - 1) < sp.Float(10) ** -18


# --- limits ----------------------------------------------------------------------------------------------------------


def test_one_step_against_per_fedavg():
    for seed in range(20):
        values = {**draw(seed), "nu": Fraction(1)}
        values["alpha"] = Fraction(seed + 1, 20) / values["L"]
        names = ("alpha", "B", "L", "rho", "sigma_G", "sigma_H", "gamma_G", "gamma_H", "D", "D", "D_H")
        known = plain.per_fedavg(*floats(values, *names))
        found = {
            name: evaluated(lemma, "corrected", values).derived
            for lemma, name in (("lemma_6", "mu_F"), ("lemma_7", "gamma_F"))
        }
        smooth = evaluated("lemma_4", "printed", values).derived["L_F"]
        assert smooth <= known["L_F"] * (1 + 1e-12)
        assert (smooth == pytest.approx(known["L_F"], rel=1e-12)) == (seed == 19), "equal at alpha = 1/L only"
        assert found["mu_F"]["mu_F"] <= known["mu_F"] * (1 + 1e-12)
        assert found["mu_F"]["sigma_F"] <= known["sigma_F"] * (1 + 1e-9)
        assert found["gamma_F"]["gamma_F"] <= known["gamma_F"]


def test_without_noise_and_with_equal_clients():
    quiet = {
        **draw(2),
        **dict.fromkeys(("sigma_G", "sigma_H", "kappa_G", "kappa_H", "gamma_G", "gamma_H"), Fraction(0)),
    }
    for label in ("printed", "corrected"):
        exact = evaluated("lemma_6", label, quiet).derived
        assert exact["mu_F"] == exact["sigma_F"] == evaluated("lemma_7", label, quiet).total == 0
    everyone = {**quiet, "r": Fraction(1)}
    assert (
        evaluated("theorem_8", "composed", everyone).total
        == evaluated("theorem_8", "composed", everyone).terms["initialisation"]
    )


def test_constants_grow_with_the_number_of_steps():
    values = draw(4)
    pairs = [
        ("lemma_4", "L_F"),
        ("lemma_5", "h2_nu"),
        ("lemma_5", "h4_nu"),
        ("lemma_6", "mu_F"),
        ("lemma_6", "sigma_F"),
        ("lemma_7", "gamma_F"),
    ]
    for name, key in pairs:
        for label in ("printed", "corrected"):
            if has(name, label) and (key, label) != ("h4_nu", "corrected"):  # nothing corrected needs fourth moments
                found = [evaluated(name, label, {**values, "nu": Fraction(nu)}).derived[key] for nu in (2, 3, 4, 6)]
                assert all(later > earlier for earlier, later in pairwise(found)), (name, label)


# --- input -----------------------------------------------------------------------------------------------------------


def test_bad_numbers_of_steps_are_refused():
    for nu in (-1, Fraction(1, 2), MAX_STEPS + 1, 10**30):
        with pytest.raises(InputError, match="nu: wanted a whole number from 0 to"):
            evaluated("lemma_4", "printed", {**draw(0), "nu": nu})
    with pytest.raises(InputError, match="number of steps"):
        constants.h(constants.at(alpha=1, L=1, sigma_G=1, D=[1, 2]), proof.s.nu)


def test_the_conditions_are_checked():
    values = draw(5)
    with pytest.raises(InadmissibleError, match="step_size"):
        evaluated("theorem_8", "printed", {**values, "beta": 2 * values["beta"]})
    with pytest.raises(InadmissibleError, match="participants"):
        evaluated("theorem_8", "composed", {**values, "r": 1 / (2 * values["n"])})


# --- findings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.id)
def test_every_finding_survives_its_check(finding):
    kept_findings.check(finding)
    assert finding.theorem in paper_theorems("meta_fl")


def test_findings_come_worst_first_and_are_distinct():
    ranks = [SEVERITIES.index(finding.severity) for finding in FINDINGS]
    assert ranks == sorted(ranks) and len({finding.id for finding in FINDINGS}) == len(FINDINGS)


def test_the_audit_finds_the_lost_factor_and_nothing_else_by_itself():
    found = [finding for theorem in paper_theorems("meta_fl").values() for finding in automatic(theorem)]
    assert {finding.id for finding in found} == {f"meta_fl.{name}:terms" for name in THEOREMS}
    assert {finding.where for finding in found} == {"term sampling"}
    for finding in found:
        kept_findings.check(finding)


# --- mutants ---------------------------------------------------------------------------------------------------------


def test_a_proof_with_a_smaller_constant_is_refused(monkeypatch):
    monkeypatch.setattr(
        proof, "R", lambda p, q: sp.Rational(p, q) * (1 if (p, q) != (1228, 243) else sp.Rational(99, 100))
    )
    with pytest.raises(DeclarationError, match="does not follow"):
        proof.theorem_8(fedco.theorem("meta_fl.lemma_6"), fedco.theorem("meta_fl.lemma_7"))


# --- how far a start is above the infimum, for instances of refutations ----------------------------------------------

FLAT = {"knots": [[-2, -1, 1, 2]], "curvatures": [[0, 1, 1, 0]], "gradient_noise": [0, 0], "alpha": Fraction(1, 10)}


def gap_of(start, tilts=(-2, -1), **more):
    """f_i' = w + tilt_i + 3/2 on [-1, 1], so that F_i = a (w - s_i)^2/2 with a = (9/10)^(2 nu) and s_i = 1/2 and -1/2."""
    given = {**FLAT, "tilt": [Fraction(tilt) for tilt in tilts], "start": Fraction(start), **more}
    return clients_of("meta", given, {"nu": 2}).gap


def test_the_gap_after_fine_tuning_is_exact():
    exact = Fraction(9, 10) ** 4 * Fraction(1, 4) ** 2 / 2
    assert gap_of("1/4")(exact) and not gap_of("1/4")(exact * (1 - Fraction(1, 10**9))) and gap_of(0)(Fraction(0))
    steep = gap_of("1/4", (-4, -2), curvatures=[[0, 2, 2, 0]])  # f_i' = 2 (w - s_i), so that a = 2 (8/10)^(2 nu)
    exact = 2 * Fraction(8, 10) ** 4 * Fraction(1, 4) ** 2 / 2
    assert steep(exact) and not steep(exact * (1 - Fraction(1, 10**9)))


@pytest.mark.parametrize(
    ("start", "more"),
    [
        ("3/4", {}),  # beyond the zeros of both clients
        (0, {"alpha": Fraction(11, 10)}),  # a step of fine-tuning passes the zero
        (0, {"curvatures": [[0, 1, -1, 0]]}),
        (0, {"tilts": (-3, "-9/10")}),  # the zeros lie in pieces of different curvature
    ],
)
def test_the_gap_of_another_instance_is_not_decided(start, more):
    with pytest.raises((ValueError, RefutationError)):
        gap_of(start, **more)(Fraction(1))
