"""meta_fl: recursions against closed forms, the steps of its derivation, and how far a start is above the infimum.

The steps M1 to M6 and T2 of docs/theory/meta_fl.md are checked on random losses with certified constants and the exact law of the three
gradient estimates. Their constants are those of `meta_fl_paper`, which test_transcribed.py compares with bounds/, and this file for lists
of batch sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product

import fedco
import meta_fl_paper
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.audit.bundled import clients_of
from fedco.bounds.audit.refutation import RefutationError
from fedco.bounds.evaluation.evaluate import evaluate
from fedco.bounds.papers.meta_fl import constants
from fedco.bounds.papers.meta_fl.composed import sampling
from refusal import is_refused
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
        printed = [
            meta_fl_paper.mu_F(*smooth, *hessian, D, H),
            meta_fl_paper.sigma_F(*smooth, *hessian, v["kappa_G"], v["kappa_H"], D, H),
            *meta_fl_paper.first_order(*smooth, v["sigma_G"], D),
            *meta_fl_paper.hessian_free(*smooth, v["rho"], v["sigma_G"], v["delta"], D, H),
        ]
        corrected = [
            meta_fl_paper.corrected_mu_F(*smooth, v["rho"], v["sigma_G"], D),
            meta_fl_paper.corrected_sigma_F(*smooth, *hessian, D, H),
            *meta_fl_paper.corrected_first_order(*smooth, v["sigma_G"], D),
            *meta_fl_paper.corrected_hessian_free(*smooth, *hessian, v["delta"], D, H),
        ]
        for found, wanted in ((constants.printed(s, nu), printed), (constants.corrected(s, nu), corrected)):
            named = [found[f"{name}{kind}"] for kind in ("", "_FO", "_HF") for name in ("mu_F", "sigma_F")]
            assert [float(number) for number in named] == pytest.approx(wanted, rel=1e-12)
    for sizes, message in (
        ([4], "wanted a list with an entry for step 1, got one with 1"),
        ([4, 0], "D_1: wanted the size"),
    ):
        with is_refused(message):
            constants.h(constants.at(alpha=1, L=1, sigma_G=1, D=sizes), 3)
    with is_refused("number of steps"):
        constants.h(constants.at(alpha=1, L=1, sigma_G=1, D=[1, 2]), sp.Symbol("nu", integer=True))


# --- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["printed", "composed"])
def test_smoothness_without_fine_tuning_is_that_of_fedavg_and_with_one_step_that_of_per_fedavg(label):
    """(1 + alpha L)^2 L + alpha rho B, which Per-FedAvg rounds up to 4 L + alpha rho B for alpha <= 1/L."""
    smooth = [derived("lemma_4", label, nu=steps)["L_F"] for steps in (0, 1)]
    assert smooth == [3, (1 + 3 / 4) ** 2 * 3 + 1 / 4 * 1 * 2]


def test_without_fine_tuning_the_corrected_constants_are_those_of_fedavg():
    moments = derived("lemma_6", "corrected", nu=0)
    assert (moments["mu_F"], moments["sigma_F"], derived("lemma_7", "corrected", nu=0)["gamma_F"]) == (0, 1, 1)


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


# --- the steps of the derivation --------------------------------------------------------------------------------------


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
        assert change <= meta_fl_paper.L_F(alpha, nu, loss.B, loss.L, loss.rho) * np.linalg.norm(w - u) + EPS


def test_M2_path():
    for loss, alpha, nu, D, H, w, delta in cases(2, 30):
        true, found = path(loss, w, alpha, nu), np.zeros((nu + 1, 3))
        for chance, points, _ in outcomes(loss, w, alpha, nu, D, H, delta):
            for l in range(nu + 1):
                error = np.linalg.norm(points[l] - true[l])
                found[l] += chance * np.array([error, error**2, error**4])
        for l in range(nu + 1):
            corrected = meta_fl_paper.corrected_h2(l, alpha, loss.L, loss.sG, D)
            assert found[l, 1] <= corrected + EPS and found[l, 0] <= corrected**0.5 + EPS
            assert corrected <= meta_fl_paper.h2(l, alpha, loss.L, loss.sG, D) + EPS
            assert corrected**0.5 <= meta_fl_paper.h(l, alpha, loss.L, loss.sG, D) + EPS
            assert found[l, 2] <= meta_fl_paper.h4(l, alpha, loss.L, loss.sG, loss.kG, D) + EPS


def test_M3_M4_M5_bias_and_second_moment():
    """Every corrected constant holds, in the spectral norm, and none exceeds the printed one."""
    for loss, alpha, nu, D, H, w, delta in cases(3, 40):
        found = moments(loss, w, alpha, nu, D, H, delta)
        smooth, hessian = (alpha, nu, loss.B, loss.L), (loss.rho, loss.sG, loss.sH)
        corrected = {
            "": (
                meta_fl_paper.corrected_mu_F(*smooth, loss.rho, loss.sG, D),
                meta_fl_paper.corrected_sigma_F(*smooth, *hessian, D, H),
            ),
            "_FO": meta_fl_paper.corrected_first_order(*smooth, loss.sG, D),
            "_HF": meta_fl_paper.corrected_hessian_free(*smooth, *hessian, delta, D, H),
        }
        for kind, (bias, square) in found.items():
            assert bias <= corrected[kind][0] + EPS and square <= corrected[kind][1] ** 2 + EPS, kind
        if nu:
            exact = meta_fl_paper.sigma_F(*smooth, *hessian, loss.kG, loss.kH, D, H)
            printed = {
                "": (meta_fl_paper.mu_F(*smooth, *hessian, D, H), exact),
                "_FO": meta_fl_paper.first_order(*smooth, loss.sG, D),
            }
            for kind, (bias, root) in printed.items():
                assert corrected[kind][0] <= bias + EPS and corrected[kind][1] <= root + EPS, kind
        free = (*smooth, loss.rho, loss.sG, delta, D, H)
        mean, root = meta_fl_paper.hessian_free(*free)
        assert found["_HF"][0] <= mean + EPS and found["_HF"][1] <= root**2 + EPS
        limit = meta_fl_paper.corrected_hessian_free(*smooth, *hessian, 1e-12, D, H)
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
        corrected = meta_fl_paper.corrected_gamma_F(alpha, nu, B, L, rho, gamma_G, gamma_H)
        assert spread <= corrected**2 + EPS
        if nu == 1:
            assert (
                spread <= corrected**2 + EPS <= meta_fl_paper.gamma_F(alpha, 1, B, L, gamma_G, gamma_H) ** 2 + 2 * EPS
            )


def test_M6_identities():
    alpha, L, B, rho, gG, gH = sp.symbols("alpha L B rho gG gH", positive=True)
    A = 1 + alpha * L

    def partial(l):
        return sum((A**j for j in range(l)), sp.Integer(0))

    for nu in range(1, 6):
        assert sp.expand(alpha * L * partial(nu) + 1 - A**nu) == 0
        hessians = sum(alpha * A ** (nu - 1) * (gH + rho * alpha * gG * partial(l)) for l in range(nu))
        assembled = A**nu * (L * alpha * gG * partial(nu) + gG) + B * hessians
        assert sp.expand(assembled - meta_fl_paper.corrected_gamma_F(alpha, nu, B, L, rho, gG, gH)) == 0


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
