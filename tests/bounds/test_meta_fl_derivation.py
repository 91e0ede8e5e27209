"""The steps M1 to M7 and T1 to T10 of docs/theory/meta_fl.md, each an identity or an inequality that is checked here.

The constants are those of `meta_fl_plain`, which test_meta_fl.py compares with bounds/.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import meta_fl_plain as plain
import numpy as np
import sympy as sp
from fedco.bounds.papers.meta_fl.composed import sampling
from meta_fl_problems import Fed, Loss, cases, meta_gradient, moments, outcomes, path

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
                "_FO": (plain.mu_F_FO(*smooth, loss.sG, D), plain.sigma_F_FO(*smooth, loss.sG, D)),
            }
            for kind, (bias, root) in printed.items():
                assert corrected[kind][0] <= bias + EPS and corrected[kind][1] <= root + EPS, kind
        free = (*smooth, loss.rho, loss.sG, delta, D, H)
        assert found["_HF"][0] <= plain.mu_F_HF(*free) + EPS and found["_HF"][1] <= plain.sigma_F_HF(*free) ** 2 + EPS
        limit = plain.corrected_hessian_free(*smooth, *hessian, 1e-12, D, H)
        assert np.allclose(limit, corrected[""], rtol=1e-5, atol=1e-6)


def test_M5_central_difference():
    rng = np.random.default_rng(6)
    for loss, alpha, _, _, _, w, delta in cases(6, 200):
        v, v2, w2 = rng.normal(size=w.shape), rng.normal(size=w.shape), w + rng.normal(size=w.shape)

        def difference(at, along, loss=loss, delta=delta):
            return (loss.gradient(at + delta * along) - loss.gradient(at - delta * along)) / (2 * delta)

        size = np.linalg.norm
        assert size(difference(w, v) - loss.hessian(w) @ v) <= loss.rho * delta * size(v) ** 2 / 2 + EPS
        assert size(v - alpha * difference(w, v)) <= (1 + alpha * loss.L) * size(v) + EPS
        assert size(difference(w, v) - difference(w, v2)) <= loss.L * size(v - v2) + EPS
        assert size(difference(w, v) - difference(w2, v)) <= loss.rho * size(v) * size(w - w2) + EPS


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


def test_M7_fourth_moment_of_scalars():
    for size in range(1, 5):
        for law in (
            {Fraction(1): Fraction(1, 2), Fraction(-1): Fraction(1, 2)},
            {Fraction(3): Fraction(1, 10), Fraction(-1, 3): Fraction(9, 10)},
        ):
            second, fourth = (sum(p * x**k for x, p in law.items()) for k in (2, 4))
            total = Fraction(0)
            for drawn in product(law, repeat=size):
                chance = Fraction(1)
                for x in drawn:
                    chance *= law[x]
                total += chance * (sum(drawn) / size) ** 4
            assert second == 1 and total == (fourth + 3 * (size - 1)) / Fraction(size) ** 3


# --- part II ---------------------------------------------------------------------------------------------------------


def test_T1_polarisation():
    a, b, beta, L = sp.symbols("a b beta L", real=True)
    step = -beta * a * b + L * beta**2 / 2 * b**2 - (-beta / 2 * a**2 + beta / 2 * (a - b) ** 2)
    assert sp.expand(step + beta / 2 * (1 - beta * L) * b**2) == 0


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


def test_T3_T4_one_virtual_step():
    for seed in range(15):
        fed, tau = Fed(seed), 3 if seed % 5 == 0 else 2
        beta = 1 / (10 * tau * fed.L_F)
        found = np.zeros((tau + 1, 3))
        for chance, points in fed.rounds(0.3 * seed, beta, tau):
            for t in range(tau + 1):
                v = points[t].mean()
                found[t] += chance * np.array([fed.F(v), fed.gradient(v) ** 2, np.mean((points[t] - v) ** 2)])
        for t in range(tau):
            value, gradient_sq, drift = found[t]
            error = beta * (fed.L_F**2 * drift + fed.mu**2) + fed.L_F * beta**2 / 2 * fed.sigma_sq
            assert found[t + 1, 0] <= value - beta / 2 * gradient_sq + error + EPS
        moves = beta**2 * (10 * fed.L_F**2 * found[:, 2] + 20 / 9 * (fed.gamma**2 + fed.mu**2))
        for t in range(tau + 1):
            assert found[t, 2] <= 2 * t * sum(moves[:t]) + 2 * t * beta**2 * fed.sigma_sq + EPS


def test_T5_T6_drift_of_a_round():
    """The largest drift that T4 allows, exactly, at the largest step size; gamma_F^2 + mu_F^2 and sigma_F^2 are 1 or 0, beta = 1."""
    near = Fraction(0)
    for tau in range(1, 40):
        for spread, noise in ((1, 0), (0, 1), (2, 3)):
            drift, moved = [], Fraction(0)
            for t in range(tau + 1):
                drift.append(2 * t * (moved + noise))
                moved += Fraction(10, 100 * tau**2) * drift[-1] + Fraction(20, 9) * spread
            average = Fraction(400, 243) * tau * (tau - 1) * spread + Fraction(10, 9) * (tau - 1) * noise
            last = Fraction(1160, 243) * tau**2 * spread + Fraction(20, 9) * tau * noise
            assert sum(drift[:tau]) / tau <= average and drift[tau] <= last
            near = max(near, drift[tau] / last)
    assert near > Fraction(9, 10)


def test_T5_sum():
    t, tau, more = sp.symbols("t tau more")
    bound = tau**2 * (tau - 1) / 3 - sp.factor(sp.summation(t**2, (t, 0, tau - 1)))
    assert all(c >= 0 for c in sp.Poly(sp.expand(bound.subs(tau, 1 + more)), more).all_coeffs())


def test_T7_T8_server_step_and_metric():
    for seed in range(12):
        fed, tau = Fed(seed), 2
        beta = 1 / (10 * tau * fed.L_F)
        for m in (1, 2, 3):
            s = share(m, fed.n)
            for _, points in fed.rounds(0.3 * seed, beta, tau):
                for t in range(1, tau + 1):
                    v, drift = points[t].mean(), float(np.var(points[t]))
                    means = [np.mean(points[t, list(chosen)]) for chosen in combinations(range(fed.n), m)]
                    assert np.mean([fed.F(w) for w in means]) <= fed.F(v) + fed.L_F / 2 * s * drift + EPS
                    square = np.mean([fed.gradient(w) ** 2 for w in means])
                    assert square <= 2 * fed.gradient(v) ** 2 + 2 * fed.L_F**2 * s * drift + EPS


def test_T9_the_coefficients_are_at_most_ten():
    """The composition itself is checked when fedco.theorem('meta_fl.theorem_8').statement('proved') is built."""
    assert max(2 + R(40, 9), R(20, 3), R(2320, 243), R(800, 81), R(1228, 243)) <= 10
    assert 4 + R(8, 81) + R(232, 243) == R(1228, 243)


def test_T10_whole_theorem():
    """Algorithm 1 by enumeration of all noise and all choices of clients: n = 3, two rounds."""
    for seed in range(4):
        fed = Fed(seed)
        for m, tau in product((1, 2, 3), (1, 2)):
            beta, start = 1 / (10 * tau * fed.L_F), 0.3 * seed
            states, total, chosen_sets = [(1.0, start)], 0.0, list(combinations(range(fed.n), m))
            for last in (False, True):
                following = []
                for chance, w in states:
                    for q, points in fed.rounds(w, beta, tau):
                        for chosen in chosen_sets:
                            mean = points[:, list(chosen)].mean(axis=1)
                            weight = chance * q / len(chosen_sets)
                            total += weight * sum(fed.gradient(mean[t]) ** 2 for t in range(tau)) / (2 * tau)
                            if not last:
                                following.append((weight, mean[tau]))
                states = _merged(following)
            gap = fed.F(start) - fed.lower()
            head = (gap, beta, tau, m / fed.n, fed.n, 2, fed.L_F, fed.mu, fed.sigma_sq**0.5, fed.gamma)
            assert total <= sum(plain.theorem_8_explicit(*head).values()) + EPS


def _merged(states):
    """Equal points put together."""
    found: dict[float, float] = {}
    for chance, w in states:
        found[round(w, 13)] = found.get(round(w, 13), 0.0) + chance
    return [(chance, w) for w, chance in found.items()]
