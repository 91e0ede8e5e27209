"""The derivations of docs/theory/baselines.md by enumeration: random small instances, every outcome of the noise, fractions.

All functions are Huber's in one variable: the slope a (t - z) cut off at +-g. Noise is a fair sign.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction as R
from itertools import pairwise, product

import fedco
import pytest
import sympy as sp

SEEDS = range(6)
SIGNS = (1, -1)


def mean(values):
    values = list(values)
    return sum(values) / R(len(values))


@dataclass(frozen=True)
class Huber:
    """Slope a (t - z), cut off at +-g; the integral vanishes at z."""

    a: R
    g: R
    z: R

    def slope(self, t):
        return min(max(self.a * (t - self.z), -self.g), self.g)

    def value(self, t):
        slope = self.slope(t)
        return slope * (t - self.z) - slope * slope / (2 * self.a)

    @property
    def knees(self):
        return self.z - self.g / self.a, self.z + self.g / self.a


def pick(rng, low, high, parts=12):
    return R(rng.randint(low * parts, high * parts), parts)


def a_huber(rng):
    return Huber(pick(rng, 1, 2), pick(rng, 1, 3), pick(rng, -2, 2))


@dataclass(frozen=True)
class Federated:
    """F = mean of the F_i; stochastic gradients F_i'(x) +- sigma."""

    parts: tuple[Huber, ...]
    sigma: R

    @staticmethod
    def random(seed, clients=2):
        rng = random.Random(seed)
        return Federated(tuple(a_huber(rng) for _ in range(clients)), pick(rng, 1, 2))

    def value(self, x):
        return mean(part.value(x) for part in self.parts)

    def slope(self, x):
        return mean(part.slope(x) for part in self.parts)

    @property
    def constants(self):
        """L, G, zeta^2 and the infimum: all piecewise, so attained at a knee or, of F, where its slope changes sign."""
        knees = sorted(knee for part in self.parts for knee in part.knees)
        spread = max(mean((part.slope(k) - self.slope(k)) ** 2 for part in self.parts) for k in knees)
        return max(part.a for part in self.parts), max(part.g for part in self.parts), spread, self.infimum(knees)

    def infimum(self, knees):
        candidates = list(knees)
        for left, right in pairwise(knees):
            low, high = self.slope(left), self.slope(right)
            if low < 0 < high:
                candidates.append(left - low * (right - left) / (high - low))
        return min(self.value(x) for x in candidates)


def outcomes(clients, steps):
    """Every sequence of signs, one for each client and step."""
    return product(product(SIGNS, repeat=clients), repeat=steps)


def local_sgd(problem, start, eta, p, signs):
    """The clients' models before each step and at the end."""
    x = [start] * len(problem.parts)
    path = [x]
    for t, step in enumerate(signs):
        x = [x[i] - eta * (problem.parts[i].slope(x[i]) + problem.sigma * z) for i, z in enumerate(step)]
        if (t + 1) % p == 0:
            x = [mean(x)] * len(x)
        path.append(x)
    return path


def drift(x):
    return mean((value - mean(x)) ** 2 for value in x)


@pytest.mark.parametrize("seed", SEEDS)
def test_descent_of_one_step_from_models_that_differ(seed):
    """(b) and steps 1 of sections 1 and 2, for every outcome of one step from random models."""
    problem, rng = Federated.random(seed), random.Random(seed + 100)
    L, *_ = problem.constants
    for _ in range(40):
        x, eta = [pick(rng, -4, 4) for _ in problem.parts], pick(rng, 1, 12) / (12 * L)
        h = [part.slope(v) for part, v in zip(problem.parts, x, strict=True)]
        steps = [
            mean(slope + problem.sigma * z for slope, z in zip(h, signs, strict=True)) for (signs,) in outcomes(2, 1)
        ]
        variance = mean((v - mean(h)) ** 2 for v in steps)
        assert mean(steps) == mean(h) and variance == problem.sigma**2 / 2
        at, gap_sq = mean(x), (problem.slope(mean(x)) - mean(h)) ** 2
        assert gap_sq <= L**2 * drift(x)
        after = mean(problem.value(at - eta * v) for v in steps)
        descent = -eta / 2 * problem.slope(at) ** 2 - eta / 2 * (1 - eta * L) * mean(h) ** 2
        assert after <= problem.value(at) + descent + eta / 2 * gap_sq + L * eta**2 / 2 * variance


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("p", [2, 3, 4])
def test_drift_of_a_round(seed, p):
    """Section 2, step 3, for every s; section 3, step 5, for the mean over the round: exact second moments."""
    problem = Federated.random(seed)
    L, G, spread, _ = problem.constants
    eta = R(1, 3 * p) / L
    assert 2 * p * (p - 1) * eta**2 * L**2 <= 1
    paths = [local_sgd(problem, R(seed - 2), eta, p + 1, signs)[:p] for signs in outcomes(2, p)]
    found = [mean(drift(path[s]) for path in paths) for s in range(p)]
    for s in range(p):
        assert found[s] <= eta**2 * s**2 * (G**2 + problem.sigma**2)
    noise = 4 * (p - 1) * R(1, 2) * eta**2 * problem.sigma**2
    assert 0 < mean(found) <= R(4, 3) * (p - 1) * (2 * p - 1) * eta**2 * spread + noise


@pytest.mark.parametrize("p", [2, 3, 5])
def test_the_drift_of_opposite_constant_slopes_is_the_bound(p):
    """Section 2, step 3 is attained: F_1 = G x, F_2 = -G x, no noise. A smaller constant would be wrong."""
    problem = Federated((Huber(R(1), R(3, 2), R(-1000)), Huber(R(1), R(3, 2), R(1000))), R(0))
    eta, steps = R(1, 7), [(1, 1)] * (p - 1)
    path = local_sgd(problem, R(0), eta, p, steps)
    assert [drift(x) for x in path] == [eta**2 * s**2 * R(9, 4) for s in range(p)]
    assert mean(drift(x) for x in path) == R((p - 1) * (2 * p - 1), 6) * eta**2 * R(9, 4)


@pytest.mark.parametrize("clients", [1, 2, 3])
def test_the_sum_of_the_noise_grows_with_the_root_and_without_the_mean(clients):
    """Section 3, step 3 with equality: the deviation of s sums from their mean over the clients."""
    for s in (1, 2, 3):
        sums = [[sum(step[i] for step in signs) for i in range(clients)] for signs in outcomes(clients, s)]
        assert mean(drift(list(map(R, values))) for values in sums) == s * (1 - R(1, clients))


def root(square):
    """Exactly: constants enter the statements as roots of rationals."""
    return sp.sqrt(sp.Rational(square.numerator, square.denominator))


def evaluated(name, **values):
    """The exact bound of the declared statement, whose conditions must hold."""
    theorem = fedco.theorem(f"baselines.{name}")
    statement, bindings = theorem.statement("printed"), theorem.symbols("printed")
    at = {bindings[key].symbol: sp.sympify(value) for key, value in values.items() if key in bindings}
    for condition in statement.conditions:
        assert statement.at(condition.slack, at) >= 0, condition
    return statement.at(statement.total, at)


def stays_below(left, bound):
    """0 < left <= bound, decided exactly."""
    return bool(left > 0 and sp.Rational(left.numerator, left.denominator) <= bound)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_local_sgd_keeps_its_bounds(seed, p):
    """Both theorems over every outcome of five steps."""
    problem, T = Federated.random(seed), 5
    L, G, spread, infimum = problem.constants
    eta, start = R(1, 2 * p) / L, R(2 * seed - 5)
    paths = [local_sgd(problem, start, eta, p, signs) for signs in outcomes(2, T)]
    left = mean(problem.slope(mean(x)) ** 2 for path in paths for x in path[:T])
    given = dict(L=L, sigma=problem.sigma, F_gap=problem.value(start) - infimum, eta=eta, p=p, b=1, N=2, T=T)
    assert stays_below(left, evaluated("local_sgd", G=G, **given))
    assert stays_below(left, evaluated("local_sgd_heterogeneity", zeta=root(spread), **given))


def test_both_coefficients_of_minibatch_sgd_are_attained():
    L, eta, sigma, N, T = R(2), R(1, 2), R(3, 4), 2, 6
    quadratic = Federated((Huber(L, R(1000), R(0)),) * N, sigma)
    silent = Federated((Huber(L, R(1000), R(0)),) * N, R(0))
    (path,) = [local_sgd(silent, R(5), eta, 1, [(1, 1)])]
    gap = silent.value(R(5))
    assert silent.slope(mean(path[0])) ** 2 == evaluated(
        "minibatch_sgd", L_bar=L, sigma=R(0), F_gap=gap, eta=eta, b=1, N=N, T=1
    )
    later = mean(quadratic.slope(mean(local_sgd(quadratic, R(0), eta, 1, s)[-1])) ** 2 for s in outcomes(N, 2))
    assert later == evaluated("minibatch_sgd", L_bar=L, sigma=sigma, F_gap=R(0), eta=eta, b=1, N=N, T=T)


@dataclass(frozen=True)
class Composite:
    """F = mean_k f_k(g(x)); one sign shifts value and slope of g together, another the slopes of f."""

    outer: tuple[Huber, ...]
    inner: Huber
    value_noise: R
    slope_noise: R
    outer_noise: R

    @staticmethod
    def random(seed, clients=2):
        rng = random.Random(seed)
        noises = [pick(rng, 1, 2) / 2 for _ in range(3)]
        return Composite(tuple(a_huber(rng) for _ in range(clients)), a_huber(rng), *noises)

    def value(self, x):
        return mean(f.value(self.inner.value(x)) for f in self.outer)

    def slope(self, x):
        y = self.inner.value(x)
        return mean(f.slope(y) for f in self.outer) * self.inner.slope(x)

    @property
    def squares(self):
        """C_f^2, L_f, C_g^2, L_g, delta_g^2."""
        C_f = max(f.g for f in self.outer) ** 2 + self.outer_noise**2
        C_g = self.inner.g**2 + self.slope_noise**2
        return C_f, max(f.a for f in self.outer), C_g, self.inner.a, self.value_noise**2


def scgd_step(problem, x, u, gamma, z, s):
    """The u_k, and the directions v_k: u None is the first step."""
    samples = [problem.inner.value(x) + problem.value_noise * sign for sign in z]
    new = [g if u is None else (1 - gamma) * u + gamma * g for g in samples]
    J = [problem.inner.slope(x) + problem.slope_noise * sign for sign in z]
    return new, [J[k] * (f.slope(new[k]) + problem.outer_noise * s[k]) for k, f in enumerate(problem.outer)]


def every_sign(clients=2):
    return [(signs[:clients], signs[clients:]) for signs in product(SIGNS, repeat=2 * clients)]


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_of_scgd(seed):
    """Section 4, steps 2, 3 and 5 and its descent, from random x_t and u_t, over every outcome of one step."""
    problem, rng = Composite.random(seed), random.Random(seed + 50)
    C_f, L_f, C_g, _, noise = problem.squares
    for _ in range(25):
        x, u, gamma, eta = pick(rng, -4, 4), pick(rng, -3, 6), pick(rng, 1, 12) / 12, pick(rng, 1, 6) / 24
        steps = [scgd_step(problem, x, u, gamma, z, s) for z, s in every_sign()]
        error = mean(mean((value - problem.inner.value(x)) ** 2 for value in new) for new, _ in steps)
        directions = [mean(v) for _, v in steps]
        variance = mean((v - mean(directions)) ** 2 for v in directions)
        assert max(mean(v[k] ** 2 for _, v in steps) for k in (0, 1)) <= C_f * C_g
        assert variance <= C_f * C_g / 2
        bias = (problem.slope(x) - mean(directions)) ** 2
        assert bias <= C_g * L_f**2 * error
        start = (u - problem.inner.value(x)) ** 2
        assert error == (1 - gamma) ** 2 * start + gamma**2 * noise
        later = mean((mean(new) - problem.inner.value(x - eta * mean(v))) ** 2 for new, v in steps)
        assert later <= (1 - gamma) * start + gamma**2 * noise + 2 * eta**2 * C_g**2 * C_f / gamma


@pytest.mark.parametrize("seed", SEEDS)
def test_smoothness_of_a_composition(seed):
    """Section 4, step 1 and section 5, step 1 (there L_F has sample constants in its place)."""
    problem, rng = Composite.random(seed), random.Random(seed + 9)
    G, g = max(f.g for f in problem.outer), problem.inner.g
    L_F = g**2 * problem.squares[1] + G * problem.inner.a
    pairs = [(pick(rng, -4, 4, 60), pick(rng, -4, 4, 60)) for _ in range(300)]
    assert all(abs(problem.slope(x) - problem.slope(y)) <= L_F * abs(x - y) for x, y in pairs)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gamma", [R(1), R(1, 3)])
def test_scgd_keeps_its_bound(seed, gamma):
    """The errors of step 6 and the theorem, over every outcome of three steps of two clients."""
    problem, T = Composite.random(seed), 3
    C_f, L_f, C_g, L_g, noise = problem.squares
    eta, start = R(1, 40), R(seed - 2)
    errors, slopes = [R(0)] * T, [R(0)] * T

    def walk(t, x, u, weight):
        slopes[t] += weight * problem.slope(x) ** 2
        for z, s in every_sign():
            new, v = scgd_step(problem, x, u, gamma, z, s)
            errors[t] += weight / 16 * mean((value - problem.inner.value(x)) ** 2 for value in new)
            if t + 1 < T:
                walk(t + 1, x - eta * mean(v), mean(new), weight / 16)

    walk(0, start, None, R(1))
    bound = noise / T * (1 + 1 / gamma) + (gamma**2 + gamma) * noise + 2 * eta**2 * C_g**2 * C_f / gamma**2
    assert 0 < mean(errors) <= bound
    gap = problem.value(start)  # the f_k are nonnegative
    given = dict(L_f=L_f, L_g=L_g, F_gap=gap, eta=eta, gamma=gamma, b=1, N=2, T=T)
    assert stays_below(mean(slopes), evaluated("scgd", C_f=root(C_f), C_g=root(C_g), delta_g=root(noise), **given))


@dataclass(frozen=True)
class Conditional:
    """F = mean_xi f_xi(g_xi(x)); inner samples g_xi +- noise with slopes g_xi' +- slope_noise, one sign for both."""

    outer: tuple[Huber, ...]
    inner: tuple[Huber, ...]
    value_noise: R
    slope_noise: R

    @staticmethod
    def random(seed):
        rng = random.Random(seed)
        hubers = [a_huber(rng) for _ in range(4)]
        return Conditional(tuple(hubers[:2]), tuple(hubers[2:]), pick(rng, 1, 2), pick(rng, 1, 2) / 2)

    def value(self, x):
        return mean(f.value(g.value(x)) for f, g in zip(self.outer, self.inner, strict=True))

    def slope(self, x):
        return mean(f.slope(g.value(x)) * g.slope(x) for f, g in zip(self.outer, self.inner, strict=True))

    def directions(self, x, m):
        """Every outcome of one sample: xi, and m inner signs."""
        for f, g in zip(self.outer, self.inner, strict=True):
            for signs in product(SIGNS, repeat=m):
                y = g.value(x) + self.value_noise * mean(map(R, signs))
                yield (g.slope(x) + self.slope_noise * mean(map(R, signs))) * f.slope(y)

    @property
    def squares(self):
        """B_f, S_f, C_g^2, S_g, delta_g^2."""
        C_g = max(g.g for g in self.inner) ** 2 + self.slope_noise**2
        return max(f.g for f in self.outer), max(f.a for f in self.outer), C_g, max(g.a for g in self.inner), (
            self.value_noise**2)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_steps_of_biased_sgd(seed, m):
    """Section 5, steps 2 and 3: the bias is really there, and bounded; so is the second moment."""
    problem, rng = Conditional.random(seed), random.Random(seed + 7)
    B_f, S_f, C_g, _, noise = problem.squares
    biases = []
    for _ in range(40):
        x = pick(rng, -4, 4)
        directions = list(problem.directions(x, m))
        assert mean(v**2 for v in directions) <= B_f**2 * C_g
        biases.append((mean(directions) - problem.slope(x)) ** 2)
        assert biases[-1] <= C_g * S_f**2 * noise / m
    assert max(biases) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_biased_sgd_keeps_its_bound(seed):
    problem, m, T = Conditional.random(seed), 2, 4
    B_f, S_f, C_g, S_g, noise = problem.squares
    smooth = S_g * B_f + S_f * C_g
    eta, start, slopes = 1 / smooth, R(seed - 2), [R(0)] * T

    def walk(t, x, weight):
        slopes[t] += weight * problem.slope(x) ** 2
        if t + 1 < T:
            directions = list(problem.directions(x, m))
            for v in directions:
                walk(t + 1, x - eta * v, weight / len(directions))

    walk(0, start, R(1))
    gap = problem.value(start)  # the f_xi are nonnegative
    given = dict(B_f=B_f, S_f=S_f, S_g=S_g, F_gap=gap, eta=eta, m=m, b=1, N=1, T=T)
    assert stays_below(mean(slopes), evaluated("biased_sgd", C_g=root(C_g), delta_g=root(noise), **given))
