"""Bounds of the library against exact second moments on random problems, most of them linear-quadratic: no problem exceeds a bound, and
one exceeds it as soon as a term is a fraction of itself.

Means and second moments follow a linear recursion, so that the left side is exact but for rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from fedco.bounds.audit.status import status
from fedco.bounds.evaluation.arrays import bound_on_arrays
from fedco.bounds.papers.library import checks
from fedco.bounds.registry import get_theorem

# --- minimax and bilevel problems, x in R and y in R^2 ----------------------------------------------------------------


COUNT, STEPS = 1500, 30


@dataclass
class Drawn:
    """Random numbers for `COUNT` problems, most of them on log-scales, many 0."""

    rng: np.random.Generator

    def log(self, low, high):
        return 10 ** self.rng.uniform(low, high, size=COUNT)

    def maybe(self, low, high):
        return self.log(low, high) * self.rng.integers(0, 2, COUNT)

    def vector(self, size):
        return self.rng.normal(size=(COUNT, 2)) * np.asarray(size)[:, None]

    def unit(self):
        v = self.rng.normal(size=(COUNT, 2))
        return v / np.linalg.norm(v, axis=1)[:, None]

    def below(self, largest):
        """The largest value for a third of them, else a share of it."""
        return largest * np.where(self.rng.random(COUNT) < 1 / 3, 1.0, self.rng.random(COUNT))

    def curvatures(self):
        least = self.log(-1, 0)
        return np.stack([least, least * self.log(0, 1.5)], axis=1)


def longest(linear, quadratic):
    """The largest eta with linear eta + quadratic eta^2 <= 1, a little less for rounding."""
    return (1 - 1e-9) * 2 / (linear + np.sqrt(linear**2 + 4 * quadratic))


def dot(u, v):
    return (u * v).sum(1)


def length(v):
    return np.sqrt(dot(v, v))


def running_means(A, start, Q, gradient):
    """(1/t) sum of E (gradient.s)^2 over the first t steps, t = 1..STEPS, of s' = A s + noise with the second moments Q."""
    S, total = start[:, :, None] * start[:, None, :], np.zeros(len(start))
    for t in range(1, STEPS + 1):
        total = total + np.einsum("ni,nij,nj->n", gradient, S, gradient)
        yield t, total / t
        S = A @ S @ A.transpose(0, 2, 1) + Q


def outer(v):
    return v[:, :, None] * v[:, None, :]


def games(seed, noisy):
    """f(x, y) = h x^2 / 2 + x b.y - y.H y / 2, h of either sign; constants, and the left sides of SGDA."""
    d = Drawn(np.random.default_rng(seed))
    H = d.curvatures()
    mu, ell = H.min(1), H.max(1)
    b = d.vector(d.log(-1, 1))
    b[:, 1] *= d.rng.integers(0, 2, COUNT)
    response, c = b / H, length(b)
    L = dot(b, response) * d.log(-3, 1)
    eta_y = d.below(1 / ell)
    quadratic = (1 + mu * eta_y) * c**4 / (mu**4 * eta_y**2)
    eta = longest(L, quadratic) * np.where(d.rng.random(COUNT) < 0.5, 1.0, d.log(-2, 0))
    sigma, sigma_y = (noisy * d.maybe(-2, 1) for _ in range(2))
    x, off = d.log(-5, 1), d.vector(d.maybe(-2, 1))
    A = np.zeros((COUNT, 3, 3))
    A[:, 0, 0], A[:, 0, 1:] = 1 - eta * (L - dot(b, response)), -eta[:, None] * b
    A[:, 1:, 0] = eta_y[:, None] * b
    for j in range(2):
        A[:, 1 + j, 1 + j] = 1 - eta_y * H[:, j]
    noise = np.concatenate([(eta * sigma)[:, None], (eta_y * sigma_y)[:, None] * d.unit()], 1)
    constants = dict(L_bar=L, l_y=ell, mu_y=mu, c=c, sigma=sigma, sigma_y=sigma_y, e_y=length(off), F_gap=L * x**2 / 2)
    start = np.concatenate([x[:, None], response * x[:, None] + off], 1)
    gradient = np.stack([L, 0 * L, 0 * L], 1)
    return constants | dict(eta=eta, eta_y=eta_y), running_means(A, start, outer(noise), gradient)


def nested(seed, noisy, K):
    """g = y.H y / 2 - x b.y and f = a x^2 / 2 + x k.y + r |y|^2 / 2 + q.y; the largest slope of f in y is that along the path.

    With noise there is no such slope: then K is so large that the series is the inverse.
    """
    d = Drawn(np.random.default_rng(seed))
    H = d.curvatures()
    mu, ell = H.min(1), H.max(1)
    b = d.vector(d.log(-1, 1))
    w, c = b / H, length(b)
    k, r, q = d.vector(d.maybe(-1, 1)), d.maybe(-1, 1), d.vector(d.maybe(-1, 1))
    M, curved = length(k + r[:, None] * w) + 1e-9, 2 * dot(k, w) + r * dot(w, w)
    L = np.abs(curved) * d.log(-3, 1) + 1e-6
    eta_y = d.below(1 / ell)
    eta_v = (1 / ell) if noisy else d.rng.uniform(0.01, 1, COUNT) / ell
    eta = longest(L, 2 * M**2 * c**2 / (mu**4 * eta_y**2)) * np.where(d.rng.random(COUNT) < 0.5, 1.0, d.log(-2, 0))
    P = (1 - (1 - eta_v[:, None] * H) ** K) / H
    sigma, sigma_y, sigma_g = (noisy * d.maybe(-2, 1) for _ in range(3))
    x, off = d.log(-5, 1), d.vector(d.maybe(-2, 1))
    B = np.zeros((COUNT, 2, 4))  # the new y
    B[:, :, 0] = eta_y[:, None] * b
    for j in range(2):
        B[:, j, 1 + j] = 1 - eta_y * H[:, j]
    along = b * P
    of_y = k + r[:, None] * along
    A = np.zeros((COUNT, 4, 4))
    A[:, 0] = -eta[:, None] * np.einsum("ni,nij->nj", of_y, B)
    A[:, 0, 0] += 1 - eta * (L - curved + dot(along, k))
    A[:, 0, 3] -= eta * dot(along, q)
    A[:, 1:3], A[:, 3, 3] = B, 1
    upper, lower = np.zeros((COUNT, 4)), np.zeros((COUNT, 4))
    upper[:, 0] = eta * (sigma + sigma_y * length(along))
    lower[:, 1:3] = (eta_y * sigma_g)[:, None] * d.unit()
    lower[:, 0] = -eta * dot(of_y, lower[:, 1:3])
    start = np.concatenate([x[:, None], w * x[:, None] + off, np.ones((COUNT, 1))], 1)
    gradient = np.stack([L, 0 * L, 0 * L, dot(q, w)], 1)
    steepest, s = np.full(COUNT, 1e-9), start
    for _ in range(STEPS):
        y = np.einsum("nij,nj->ni", B, s)
        steepest = np.maximum(steepest, length(r[:, None] * y + k * s[:, :1] + q))
        s = np.einsum("nij,nj->ni", A, s)
    gap = (L * x + dot(q, w)) ** 2 / (2 * L)
    constants = dict(L_bar=L, l_g=ell, mu_g=mu, c_g=c, M=M, C=steepest, sigma=sigma, sigma_y=sigma_y, sigma_g=sigma_g)
    constants |= dict(e_y=length(off), F_gap=gap, eta=eta, eta_y=eta_y, eta_v=eta_v, K=K)
    return constants, running_means(A, start, outer(upper) + outer(lower), gradient)


DRAWN = {
    "library.sgda": lambda seed: [games(seed, noisy) for noisy in (0, 1)],
    "library.fed_ttsa": lambda seed: [nested(seed, noisy, K) for noisy, K in ((0, 1), (0, 3), (1, 3000))],
}


@cache
def both_sides(id):
    """The left side and the terms of the right side of every problem, at each horizon."""
    statement, found = get_theorem(id).statement("printed"), []
    for constants, means in DRAWN[id](3):
        for t, left in means:
            values = bound_on_arrays(statement, {**constants, "N": 1, "b": 1, "T": t})
            assert values.admissible.all()
            found.append((left, values.terms))
    return found


def largest_ratio(id, scaled=""):
    """Left over right side, the largest over problems and horizons, with one term of the bound at a twentieth of itself."""

    def ratio(left, terms):
        return float((left / sum(term / 20 if name == scaled else term for name, term in terms.items())).max())

    return max(ratio(*each) for each in both_sides(id))


@pytest.mark.parametrize("id", DRAWN)
def test_no_linear_quadratic_problem_exceeds_the_bound(id):
    assert 0.9 < largest_ratio(id) <= 1 + 1e-6


@pytest.mark.parametrize("id", DRAWN)
def test_a_bound_with_a_smaller_term_is_exceeded(id):
    """All but one term of either theorem: what the noise of x does to the maximiser, or to the minimiser, is bounded generously."""
    names = {term.name for term in get_theorem(id).statement("printed").terms}
    loose = {name for name in names if name.startswith("moving")}
    assert len(loose) == 1
    for name in names - loose:
        assert largest_ratio(id, scaled=name) > 1.1, name


@pytest.mark.parametrize(
    ("id", "potential"), [("library.sgda", checks.ascent), ("library.fed_ttsa", checks.lower_level)]
)
def test_the_inequalities_of_a_step_sum_to_the_bound_and_to_no_other(id, potential):
    theorem = get_theorem(id)
    statement, made = theorem.statement("printed"), potential(theorem.notation.namespace())
    assert not any(checks.left_over(statement, made))
    for place, term in enumerate(statement.terms):
        terms = (*statement.terms[:place], replace(term, expr=2 * term.expr), *statement.terms[place + 1 :])
        assert any(checks.left_over(Changed(theorem, terms, statement.conditions, statement.expand), made)), term.name
    for name in ("weight", "variance", "growth", "first"):
        wrong = replace(made, **{name: 2 * getattr(made, name)})
        assert any(checks.left_over(statement, wrong)), name


@dataclass
class Changed:
    """A statement with other terms, which no longer is one of its theorem."""

    theorem: object
    terms: tuple
    conditions: tuple
    expand: object

    @property
    def total(self):
        return sum(term.expr for term in self.terms)


@pytest.mark.parametrize("name", ["sgda", "fed_ttsa"])
def test_their_status_is_derived_and_says_what_was_checked(name):
    found = status(get_theorem(f"library.{name}"))
    assert found.outcome == "derived" and "their sum is checked" in found.why


# --- FedAvg with sampled clients --------------------------------------------------------------------------------------


FEDAVG = get_theorem("library.fedavg_sampled")
PROBLEMS, SEED = 200, 5
SETS = [(1, 1), (2, 1), (2, 2), (3, 2), (8, 1), (8, 4), (64, 1)]
PERIODS, ROUNDS = (1, 2, 3, 8), (1, 4, 64)


def mean(rows):
    return rows.mean(1, keepdims=True)


def problems(rng, clients):
    """F_i(x) = h_i x^2/2 + a_i x, F convex: (h, a, sigma, x_0), (COUNT, clients) or (COUNT, 1) each."""

    def size(low, high):
        return 10 ** rng.uniform(low, high, (PROBLEMS, 1))

    def maybe(low, high):
        return size(low, high) * rng.integers(0, 2, (PROBLEMS, 1))

    apart, other = rng.normal(size=(2, PROBLEMS, clients))
    tilt = np.where(rng.random((PROBLEMS, 1)) < 1 / 2, apart, other)  # along the curvatures, so that drift is a bias
    h = (apart - mean(apart)) * maybe(-2, 0) + size(-2, 0)
    return h, (tilt - mean(tilt)) * maybe(-2, 1), maybe(-2, 1), size(-5, 1)


def local_steps(h, a, sigma, eta, p):
    """After 0, ..., p steps of a client from z its model is A z + B plus noise of the variance V: (A, B, V) each time."""
    A, B, V = np.ones_like(h), np.zeros_like(h), np.zeros_like(h)
    yield A, B, V
    for _ in range(p):
        A, B, V = (1 - eta * h) * A, (1 - eta * h) * B - eta * a, (1 - eta * h) ** 2 * V + (eta * sigma) ** 2
        yield A, B, V


def squared(moments, A, B):
    """E (A z + B)^2."""
    first, second = moments
    return A**2 * second + 2 * A * B * first + B**2


def next_moments(moments, end, N, m):
    """E z and E z^2 after a round of m of N clients, whose models end as `end` says."""
    A, B, V = end
    share = 0 if m == N else (N - m) / (m * (N - 1))
    away = mean(squared(moments, A - mean(A), B - mean(B)))
    return mean(A) * moments[0] + mean(B), squared(moments, mean(A), mean(B)) + share * away + mean(V) / m


@cache
def runs():
    """(left side, constants) of problems at a number of rounds; half of the steps are as long as the condition allows."""
    rng, found = np.random.default_rng(SEED), []
    for (N, m), p in product(SETS, PERIODS):
        h, a, sigma, x = problems(rng, N)
        L = np.abs(h).max(1, keepdims=True)
        eta = np.where(rng.random((PROBLEMS, 1)) < 1 / 2, 1 - 1e-9, rng.random((PROBLEMS, 1))) / (3 * p * L)
        *inside, end = local_steps(h, a, sigma, eta, p)
        gap = (mean(h) * x + mean(a)) ** 2 / (2 * mean(h))
        moments, total, apart = (x, x**2), 0, np.zeros((PROBLEMS, 1))
        for rounds in range(1, ROUNDS[-1] + 1):
            total = total + squared(moments, mean(h), mean(a))
            for A, B, V in inside:  # what the clients differ by at their mean model
                k, c = h - mean(h), a - mean(a)
                apart = np.maximum(apart, mean(squared(moments, k * mean(A), k * mean(B) + c) + k**2 * mean(V) / N))
            moments = next_moments(moments, end, N, m)
            if rounds in ROUNDS:
                numbers = dict(L=L, sigma=sigma, zeta=np.sqrt(apart), F_gap=gap, eta=eta)
                flat = {name: value[:, 0] for name, value in numbers.items()}
                found.append((total[:, 0] / rounds, {**flat, "N": N, "r": m / N, "p": p, "b": 1, "T": p * rounds}))
    return tuple(found)


def largest_ratio_of_fedavg(term="", factor=1.0):
    """Left side by bound, one of whose terms counts by a factor."""
    worst = 0.0
    for left, numbers in runs():
        values = bound_on_arrays(FEDAVG.statement("printed"), numbers)
        assert values.admissible.all()
        bound = sum(value * factor if name == term else value for name, value in values.terms.items())
        worst = max(worst, float((left / bound).max()))
    return worst


def test_no_problem_exceeds_the_bound_of_fedavg():
    assert 0.6 < largest_ratio_of_fedavg() < 1


@pytest.mark.parametrize(
    ("term", "factor"),
    [("initialisation", 1 / 2), ("variance", 1 / 2), ("sampling", 1 / 16), ("heterogeneity", 1 / 32)],
)
def test_a_bound_of_fedavg_with_a_smaller_term_is_exceeded(term, factor):
    """Noise that drifts is seen nowhere: on quadratic functions it leaves no bias of a size that noise itself does not hide."""
    assert largest_ratio_of_fedavg(term, factor) > 1.1


def test_the_moments_are_those_of_all_sets():
    """Every set of every round, without noise, in fractions: three clients, two rounds of two steps."""
    h, a, eta = (
        (Fraction(1), Fraction(2), Fraction(-1, 2)),
        (Fraction(1), Fraction(-1), Fraction(1, 3)),
        Fraction(1, 10),
    )

    def ends(z):
        models = [z] * 3
        for _ in range(2):
            models = [x - eta * (k * x + c) for x, k, c in zip(models, h, a, strict=True)]
        return models

    for m in (1, 2, 3):
        servers = [Fraction(1)]
        for _ in range(2):
            servers = [sum(ends(z)[i] for i in one) / m for z in servers for one in combinations(range(3), m)]
        moments = np.ones((1, 1)), np.ones((1, 1))
        *_, end = local_steps(*(np.array([list(map(float, each))]) for each in (h, a)), 0.0, float(eta), 2)
        for _ in range(2):
            moments = next_moments(moments, end, 3, m)
        wanted = [float(sum(z**power for z in servers) / len(servers)) for power in (1, 2)]
        np.testing.assert_allclose([each.item() for each in moments], wanted, rtol=1e-12)
