"""The steps M1 to M7 and T1 to T10 of docs/theory/meta_fl.md, each an identity or an inequality that is checked here.

The constants are those of `meta_fl_paper`, which test_meta_fl.py compares with bounds/ and test_word_by_word.py too.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import meta_fl_paper as plain
import numpy as np
import sympy as sp
from fedco.bounds.papers.meta_fl.composed import sampling
from meta_fl_problems import Loss, cases, meta_gradient, moments, outcomes, path

EPS = 1e-9
R = sp.Rational


def share(m: int, n: int) -> float:
    return float(sampling(sp.Rational(m, n), sp.Integer(n)))


# --- part I ----------------------------------------------------------------------------------------------------------


def test_M1_smoothness():
    rng = np.random.default_rng(0)
    for loss, alpha, nu, _, _, w, _ in cases(1, 200):
        u = w + float(rng.choice([1e-3, 1.0])) * rng.normal(size=w.shape)
        change = np.linalg.norm(meta_gradient(loss, w, alpha, nu) - meta_gradient(loss, u, alpha, nu))
        assert change <= plain.L_F(alpha, nu, loss.B, loss.L, loss.rho) * np.linalg.norm(w - u) + EPS


def test_M2_path():
    for loss, alpha, nu, D, H, w, delta in cases(2, 30):
        true, found = path(loss, w, alpha, nu), np.zeros((nu + 1, 3))
        for chance, points, _ in outcomes(loss, w, alpha, nu, D, H, delta):
            for l in range(nu + 1):
                error = np.linalg.norm(points[l] - true[l])
                found[l] += chance * np.array([error, error**2, error**4])
        for l in range(nu + 1):
            corrected = plain.corrected_h2(l, alpha, loss.L, loss.sG, D)
            assert found[l, 1] <= corrected + EPS and found[l, 0] <= corrected**0.5 + EPS
            assert corrected <= plain.h2(l, alpha, loss.L, loss.sG, D) + EPS
            assert corrected**0.5 <= plain.h(l, alpha, loss.L, loss.sG, D) + EPS
            assert found[l, 2] <= plain.h4(l, alpha, loss.L, loss.sG, loss.kG, D) + EPS


def test_M3_M4_M5_bias_and_second_moment():
    """Every corrected constant holds, in the spectral norm, and none exceeds the printed one."""
    for loss, alpha, nu, D, H, w, delta in cases(3, 40):
        found = moments(loss, w, alpha, nu, D, H, delta)
        smooth, hessian = (alpha, nu, loss.B, loss.L), (loss.rho, loss.sG, loss.sH)
        corrected = {
            "": (plain.corrected_mu_F(*smooth, loss.rho, loss.sG, D), plain.corrected_sigma_F(*smooth, *hessian, D, H)),
            "_FO": plain.corrected_first_order(*smooth, loss.sG, D),
            "_HF": plain.corrected_hessian_free(*smooth, *hessian, delta, D, H),
        }
        for kind, (bias, square) in found.items():
            assert bias <= corrected[kind][0] + EPS and square <= corrected[kind][1] ** 2 + EPS, kind
        if nu:
            exact = plain.sigma_F(*smooth, *hessian, loss.kG, loss.kH, D, H)
            printed = {
                "": (plain.mu_F(*smooth, *hessian, D, H), exact),
                "_FO": plain.first_order(*smooth, loss.sG, D),
            }
            for kind, (bias, root) in printed.items():
                assert corrected[kind][0] <= bias + EPS and corrected[kind][1] <= root + EPS, kind
        free = (*smooth, loss.rho, loss.sG, delta, D, H)
        mean, root = plain.hessian_free(*free)
        assert found["_HF"][0] <= mean + EPS and found["_HF"][1] <= root**2 + EPS
        limit = plain.corrected_hessian_free(*smooth, *hessian, 1e-12, D, H)
        assert np.allclose(limit, corrected[""], rtol=1e-5, atol=1e-6)


def test_M6_heterogeneity():
    rng = np.random.default_rng(7)
    for _ in range(200):
        dim, nu, clients = int(rng.integers(1, 3)), int(rng.integers(0, 4)), int(rng.integers(1, 5))
        base, losses = Loss(rng, dim), []
        for _ in range(clients):
            loss = Loss(rng, dim)
            loss.b, loss.c, loss.a = base.b, base.c, base.a + rng.choice([0.01, 0.3]) * rng.normal(size=3)
            losses.append(loss)
        norms = np.linalg.norm(base.b, axis=1)
        apart = np.std([loss.a for loss in losses], axis=0)
        gamma_G, gamma_H = apart @ norms, apart @ norms**2
        B, L, rho = (max(np.abs(loss.a) @ norms**k for loss in losses) for k in (1, 2, 3))
        alpha, w = float(rng.choice([0.05, 0.3, 1.0, 3.0])) / L, rng.normal(size=dim)
        found = np.array([meta_gradient(loss, w, alpha, nu) for loss in losses])
        spread = np.mean(np.sum((found - found.mean(axis=0)) ** 2, axis=1))
        corrected = plain.corrected_gamma_F(alpha, nu, B, L, rho, gamma_G, gamma_H)
        assert spread <= corrected**2 + EPS
        if nu == 1:
            assert spread <= corrected**2 + EPS <= plain.gamma_F(alpha, 1, B, L, gamma_G, gamma_H) ** 2 + 2 * EPS


def test_M6_identities():
    alpha, L, B, rho, gG, gH = sp.symbols("alpha L B rho gG gH", positive=True)
    A = 1 + alpha * L

    def partial(l):
        return sum((A**j for j in range(l)), sp.Integer(0))

    for nu in range(1, 6):
        assert sp.expand(alpha * L * partial(nu) + 1 - A**nu) == 0
        hessians = sum(alpha * A ** (nu - 1) * (gH + rho * alpha * gG * partial(l)) for l in range(nu))
        assembled = A**nu * (L * alpha * gG * partial(nu) + gG) + B * hessians
        assert sp.expand(assembled - plain.corrected_gamma_F(alpha, nu, B, L, rho, gG, gH)) == 0


# --- part II ---------------------------------------------------------------------------------------------------------


def test_T2_variance_of_a_random_mean():
    rng = np.random.default_rng(0)
    for n in range(2, 7):
        x = [Fraction(int(value)) for value in rng.integers(-9, 10, n)]
        mean = sum(x) / n
        variance = sum((value - mean) ** 2 for value in x) / n
        for m in range(1, n + 1):
            means = [sum(chosen) / m for chosen in combinations(x, m)]
            factor = sampling(sp.Rational(m, n), sp.Integer(n))
            assert sum(means) / len(means) == mean and factor <= R(1, m)
            assert (
                sum((value - mean) ** 2 for value in means) / len(means)
                == Fraction(int(factor.p), int(factor.q)) * variance
            )
