"""meta_fl: its recursions against closed forms, limits, bad input, and how far a start is above the infimum."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import fedco
import meta_fl_paper
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.audit.bundled import clients_of
from fedco.bounds.audit.refutation import RefutationError
from fedco.bounds.evaluation.evaluate import evaluate
from fedco.bounds.language.quantities import MAX_STEPS
from fedco.bounds.language.reading import InputError
from fedco.bounds.papers.meta_fl import constants
from transcribed import STATEMENTS, draw

ONES = {"B": 2, "L": 3, "rho": 1, "sigma_G": 2, "sigma_H": 1, "gamma_G": 1, "gamma_H": 2, "kappa_G": 20, "kappa_H": 4}
AT = {**ONES, "alpha": Fraction(1, 4), "nu": 3, "D": 4, "D_H": 7, "delta": Fraction(1, 50)}


def derived(name, label, **values):
    theorem = fedco.theorem(f"meta_fl.{name}")
    known = {key: value for key, value in {**AT, **values}.items() if key in theorem.symbols(label)}
    return theorem.bound(label, strict=False, **known).derived


# --- recursions and the sums that the paper prints ---------------------------------------------------------------------

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
    same = constants.at(**{symbol: sp.Symbol(symbol, positive=True) for symbol in AT if symbol != "nu"})
    nu = sp.Symbol("nu", nonnegative=True, integer=True)
    for steps in range(first, 5):
        for formula in (closed, recursion):
            at_nu = formula(same, nu).xreplace({nu: sp.Integer(steps)})
            assert sp.expand(recursion(same, steps) - at_nu) == 0, steps


def test_irrational_recursions_are_evaluated_to_any_precision():
    s = constants.at(**{**AT, "D": 7, "D_H": 5})
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


def test_arrays_agree_with_exact_numbers():
    statement = STATEMENTS["meta_fl.theorem_8_HF", "corrected"]
    values = draw(statement, 0)
    grid = evaluate(statement, **{**{k: float(v) for k, v in values.items()}, "nu": np.array([2.0, 3.0, 5.0, 0.5])})
    for index, nu in enumerate((2, 3, 5)):
        exact = statement.theorem.bound("corrected", strict=False, **{**values, "nu": nu})
        assert grid["total"][index] == pytest.approx(exact.total, rel=1e-12)
    assert np.isnan(grid["total"][3]), "half a step is no step"


def test_batch_sizes_may_differ_from_step_to_step():
    for seed, nu in ((0, 1), (1, 2), (2, 3), (3, 5)):
        rng = random.Random(seed)
        values = draw(STATEMENTS["meta_fl.theorem_8_HF", "printed"], seed) | {"kappa_G": 20, "kappa_H": Fraction(7, 2)}
        D, H = [rng.randint(1, 50) for _ in range(nu + 1)], [rng.randint(1, 50) for _ in range(nu)]
        s = constants.at(**{**ONES, **values, "D": D, "D_H": H})
        v = {name: float(value) for name, value in {**ONES, **values}.items()}
        smooth, hessian = (v["alpha"], nu, v["B"], v["L"]), (v["rho"], v["sigma_G"], v["sigma_H"])
        printed, corrected = constants.printed(s, nu), constants.corrected(s, nu)
        assert [float(printed[f"{name}{kind}"]) for kind in ("", "_FO", "_HF") for name in ("mu_F", "sigma_F")] == (
            pytest.approx(
                [
                    meta_fl_paper.mu_F(*smooth, *hessian, D, H),
                    meta_fl_paper.sigma_F(*smooth, *hessian, v["kappa_G"], v["kappa_H"], D, H),
                    *meta_fl_paper.first_order(*smooth, v["sigma_G"], D),
                    *meta_fl_paper.hessian_free(*smooth, v["rho"], v["sigma_G"], v["delta"], D, H),
                ],
                rel=1e-12,
            )
        )
        assert [float(corrected[f"{name}{kind}"]) for kind in ("", "_FO", "_HF") for name in ("mu_F", "sigma_F")] == (
            pytest.approx(
                [
                    meta_fl_paper.corrected_mu_F(*smooth, v["rho"], v["sigma_G"], D),
                    meta_fl_paper.corrected_sigma_F(*smooth, *hessian, D, H),
                    *meta_fl_paper.corrected_first_order(*smooth, v["sigma_G"], D),
                    *meta_fl_paper.corrected_hessian_free(*smooth, *hessian, v["delta"], D, H),
                ],
                rel=1e-12,
            )
        )
    for sizes, message in (
        ([4], "wanted a list with an entry for step 1, got one with 1"),
        ([4, 0], "D_1: wanted the size"),
    ):
        with pytest.raises(InputError, match=message):
            constants.h(constants.at(alpha=1, L=1, sigma_G=1, D=sizes), 3)
    with pytest.raises(InputError, match="number of steps"):
        constants.h(constants.at(alpha=1, L=1, sigma_G=1, D=[1, 2]), sp.Symbol("nu", integer=True))


# --- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [Fraction(1, 60), Fraction(1, 3)])
def test_one_step_against_per_fedavg(alpha):
    known = meta_fl_paper.per_fedavg(**{**ONES, "alpha": float(alpha)}, D_in=AT["D"], D_out=AT["D"], D_H=AT["D_H"])
    found = derived("lemma_6", "corrected", nu=1, alpha=alpha) | derived("lemma_7", "corrected", nu=1, alpha=alpha)
    found |= derived("lemma_4", "printed", nu=1, alpha=alpha)
    assert all(found[name] <= known[name] * (1 + 1e-9) for name in known)
    is_equal = found["L_F"] == pytest.approx(known["L_F"], rel=1e-12)
    assert is_equal == (alpha == Fraction(1, AT["L"])), "equal at alpha = 1/L only"


@pytest.mark.parametrize("label", ["printed", "corrected"])
def test_without_noise_and_with_equal_clients(label):
    quiet = dict.fromkeys(("sigma_G", "sigma_H", "kappa_G", "kappa_H", "gamma_G", "gamma_H"), 0)
    exact = derived("lemma_6", label, **quiet)
    assert exact["mu_F"] == exact["sigma_F"] == derived("lemma_7", label, **quiet)["gamma_F"] == 0


@pytest.mark.parametrize("label", ["printed", "corrected"])
def test_constants_grow_with_the_number_of_steps(label):
    for lemma, name in (("lemma_5", "h2_nu"), ("lemma_6", "mu_F"), ("lemma_6", "sigma_F"), ("lemma_7", "gamma_F")):
        found = [derived(lemma, label, nu=nu)[name] for nu in (2, 3, 4, 6)]
        assert all(later > earlier for earlier, later in pairwise(found)), name


def test_bad_numbers_of_steps_are_refused():
    for nu in (-1, Fraction(1, 2), MAX_STEPS + 1, 10**30):
        with pytest.raises(InputError, match="nu: wanted a whole number from 0 to"):
            derived("lemma_4", "printed", nu=nu)


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
