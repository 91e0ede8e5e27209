"""The steps M1 to M7 and T1 to T10 of docs/theory/meta_fl.md, each an identity or an inequality that is checked here.

The constants are those of `meta_fl_paper`, which test_transcribed.py compares with bounds/ (and test_meta_fl.py for lists of batch sizes).
The losses are random, with certified constants and the exact law of the three gradient estimates.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import meta_fl_paper as plain
import numpy as np
import sympy as sp
from fedco.bounds.papers.meta_fl.composed import sampling

EPS = 1e-9
R = sp.Rational


class Loss:
    """l(w; xi) = sum_k a_k cos(b_k.w + c_k) + xi sum_j u_j cos(v_j.w + e_j), E xi = 0, E xi^2 = 1, two values."""

    def __init__(self, rng, dim, noise=1.0):
        self.a, self.b, self.c = rng.normal(size=3), rng.normal(size=(3, dim)), rng.uniform(0, 6, 3)
        self.u, self.v, self.e = noise * rng.normal(size=2), rng.normal(size=(2, dim)), rng.uniform(0, 6, 2)
        self.xi = ((1.0, 0.5), (-1.0, 0.5)) if rng.random() < 0.5 else ((3.0, 0.1), (-1 / 3, 0.9))
        fourth = sum(p * x**4 for x, p in self.xi)
        nb, nv = np.linalg.norm(self.b, axis=1), np.linalg.norm(self.v, axis=1)
        self.B, self.L, self.rho = (np.abs(self.a) @ nb**k for k in (1, 2, 3))
        self.sG, self.sH = np.abs(self.u) @ nv, np.abs(self.u) @ nv**2
        self.kG, self.kH = fourth * self.sG**4, fourth * self.sH**4

    def gradient(self, w, x=0.0):
        smooth = (self.a * np.sin(self.b @ w + self.c)) @ self.b
        return -smooth - x * (self.u * np.sin(self.v @ w + self.e)) @ self.v

    def hessian(self, w, x=0.0):
        smooth = (self.b.T * (self.a * np.cos(self.b @ w + self.c))) @ self.b
        return -smooth - x * (self.v.T * (self.u * np.cos(self.v @ w + self.e))) @ self.v

    def batch(self, size):
        """Law of the mean of `size` draws."""
        law: dict[float, float] = {}
        for draws in product(self.xi, repeat=size):
            mean, chance = sum(x for x, _ in draws) / size, float(np.prod([p for _, p in draws]))
            law[round(mean, 12)] = law.get(round(mean, 12), 0.0) + chance
        return list(law.items())


def path(loss, w, alpha, nu, noise=None):
    points = [w]
    for j in range(nu):
        points.append(points[-1] - alpha * loss.gradient(points[-1], 0.0 if noise is None else noise[j]))
    return points


def meta_gradient(loss, w, alpha, nu):
    *before, last = path(loss, w, alpha, nu)
    value = loss.gradient(last)
    for point in reversed(before):
        value = value - alpha * loss.hessian(point) @ value
    return value


def outcomes(loss, w, alpha, nu, D, H, delta) -> Iterator[tuple]:
    """(probability, path, {estimate name: value}) for every outcome of the 2 nu + 1 batches."""
    laws = [loss.batch(size) for size in (*D, *H)]
    for drawn in product(*laws):
        noise, chance = [x for x, _ in drawn], float(np.prod([p for _, p in drawn]))
        points = path(loss, w, alpha, nu, noise)
        first = exact = free = loss.gradient(points[nu], noise[nu])
        for j in reversed(range(nu)):
            mine = noise[nu + 1 + j]
            exact = exact - alpha * loss.hessian(points[j], mine) @ exact
            plus, minus = (loss.gradient(points[j] + side * delta * free, mine) for side in (1, -1))
            free = free - alpha * (plus - minus) / (2 * delta)
        yield chance, points, {"": exact, "_FO": first, "_HF": free}


def moments(loss, w, alpha, nu, D, H, delta):
    """Norm of the mean error and mean squared error of each estimate."""
    truth = meta_gradient(loss, w, alpha, nu)
    mean = {kind: np.zeros_like(w) for kind in ("", "_FO", "_HF")}
    square = dict.fromkeys(mean, 0.0)
    for chance, _, found in outcomes(loss, w, alpha, nu, D, H, delta):
        for kind, value in found.items():
            mean[kind] = mean[kind] + chance * (value - truth)
            square[kind] += chance * float((value - truth) @ (value - truth))
    return {kind: (np.linalg.norm(mean[kind]), square[kind]) for kind in mean}


def cases(seed, count):
    """Random losses with random nu = 0..3, batches and points."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        dim, nu = int(rng.integers(1, 3)), int(rng.integers(0, 4))
        loss = Loss(rng, dim, noise=float(rng.choice([0.1, 1.0])))
        alpha = float(rng.choice([0.05, 0.3, 1.0])) / loss.L
        D = [int(x) for x in rng.integers(1, 3, nu + 1)] if nu < 3 else [1] * 4
        H = [int(x) for x in rng.integers(1, 3, nu)] if nu < 3 else [1] * 3
        yield loss, alpha, nu, D, H, rng.normal(size=dim), float(rng.choice([0.01, 0.3, 2.0]))


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
