"""FCSG, FCSG-M and Acc-FCSG-M on exact instances: the corrected lemmas, the condition on long rounds, and the readings of Acc-FCSG-M.

The instances have two clients with f' = a_n + (mu + s xi) clip(y, R) + tau xi, g(x) = x and one sign xi per client and step; an
expectation is the mean over all sign paths, in fractions, of the methods' own code."""

from dataclasses import dataclass
from fractions import Fraction as F
from fractions import Fraction as Q
from itertools import product

import fedco
import numpy as np
import pytest
import reference
from fedco.algorithms import FCSG, FCSGM, AccFCSGM
from fedco.validation.exact.closed_moments import moment_average
from fedco.validation.exact.problem import Instance as Data
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.run import CannotReplay, Walk, expected, scalar, stepped
from fedco.validation.exact.tensor import raw
from quick import slow_but_one

TINY = Q(1, 10**9)


@dataclass(frozen=True)
class Clients:
    offsets: tuple[Q, Q] = (Q(1), Q(-1))
    mu: Q = Q(4, 5)
    s: Q = Q(1, 5)
    tau: Q = Q(0)
    R: Q = Q(2)
    start: Q = Q(1, 2)

    def slope(self, n, y, xi):
        return self.offsets[n] + (self.mu + self.s * xi) * max(-self.R, min(self.R, y)) + self.tau * xi

    def objective(self, y):
        inside = y * y / 2 if abs(y) <= self.R else self.R * abs(y) - self.R**2 / 2
        return self.mu * inside + sum(self.offsets) / 2 * y

    def gradient(self, y):
        return self.mu * max(-self.R, min(self.R, y)) + sum(self.offsets) / 2

    def constants(self):
        steep = self.mu + self.s
        L_f = max(map(abs, self.offsets)) + steep * self.R + self.tau
        return {"L_f": L_f, "L_g": Q(1), "S_f": steep, "S_g": TINY, "sigma_g": TINY}

    def problem(self):
        """As the exact engine has it."""
        R = self.R
        slopes = [[offset - self.mu * R, offset + self.mu * R] for offset in self.offsets]
        noise = {"slope": [[-R, self.tau - self.s * R], [R, self.tau + self.s * R]]}
        shape = {
            "inner_slope": [Q(1)] * 2,
            "inner_offset": [Q(0)] * 2,
            "value_noise": [Q(0)] * 2,
            "knots": [[-R, R]] * 2,
        }
        parts = {**shape, "slopes": slopes, "gradient_noise": [noise] * 2, "start": self.start}
        return exact_problem(Data("conditional", parts))


def s_f(known):
    return known["S_g"] * known["L_f"] + known["S_f"] * known["L_g"] ** 2


NOISY = Clients(tau=Q(1, 2))
QUIET = Clients(s=Q(0))
ALONE = Clients(offsets=(Q(0), Q(0)), mu=Q(1), s=Q(0))


def spread(values):
    """Mean squared distance of the clients from their mean, over all lanes `(lanes, clients)`."""
    return ((values - values.mean(1, keepdims=True)) ** 2).mean()


def paths(method, instance, T):
    """Means over all sign paths: the consensus errors summed over the steps between, and the per-step dispersion and ||ubar||^2 of u."""
    problem = instance.problem()

    def take(draws):
        walk, found = (
            Walk(method, problem, instance.start, draws),
            {"consensus": Q(0), "dispersion": Q(0), "update": Q(0)},
        )
        for t in range(1, T + 1):
            walk.step()
            u = raw(walk.state.u)[..., 0] if hasattr(walk.state, "u") else None
            if u is not None:
                found["update"] += (u.mean(1) ** 2).mean() / T
            if t < T:
                found["consensus"] += spread(raw(walk.state.x)[..., 0])
                found["dispersion"] += spread(u) / T if u is not None else 0
        return found

    return expected(problem, take, by_path=True)


LEMMAS = {FCSG: "fcsg.lemma_b_1", FCSGM: "fcsg_m.lemma_c_3", AccFCSGM: "acc_fcsg_m.lemma_d_3"}


def steps(instance, method, q, T):
    """The largest step that the corrected statement admits (or nearly so), and momentum values."""
    known = instance.constants()
    size = s_f(known)
    if method is FCSG:
        return [{"alpha": 1 / size, "q": q, "T": T}]
    if method is FCSGM:
        chosen = ((Q(22, 100), Q(1)), (Q(4, 100), Q(1, 5)), (1 / (6 * Q(q)), 5 / (6 * Q(q))))
        return [{"alpha": a / size, "beta": b, "q": q, "T": T} for a, b in chosen]
    alpha = 1 / (12 * q * size)
    return [{"alpha": alpha, "beta": 30 * size**2 / 2 * alpha**2, "q": q, "T": T}]


def bound_at(name, instance, values, **more):
    """The corrected statement; its F_gap is put in exactly, as it may be negative here."""
    theorem = fedco.theorem(name)
    known = {**instance.constants(), **values, "m": 1, "b": 1, "B": 1, "N": 2, "F_gap": 1, **more}
    known = {k: v for k, v in known.items() if k in theorem.symbols("corrected")}
    return theorem.bound("corrected", **known)


RUNS = [(QUIET, 5, 12), (QUIET, 4, 10), (NOISY, 3, 4)]


@pytest.mark.parametrize(
    ("method", "instance", "q", "T"),
    [
        pytest.param(*case, marks=marks)
        for *_, case, marks in slow_but_one([(method, *run) for run in RUNS] for method in LEMMAS)
    ],
)
def test_exact_expectations_obey_the_corrected_drift_lemmas(method, instance, q, T):
    for values in steps(instance, method, q, T):
        rates = {name: scalar(values[name]) for name in ("alpha", "beta") if name in values}
        if method is not AccFCSGM:
            found = paths(method(**rates, q=q, m=1), instance, T)
            assert 0 < found["consensus"] <= Q(bound_at(LEMMAS[method], instance, values).total)
            continue
        for first in ("own", "averaged"):
            found = paths(method(**rates, q=q, m=1, first_estimate=first), instance, T)
            lemma = bound_at(LEMMAS[method], instance, values, update_sq=found["update"])
            left_out = Q(lemma.terms["first_block"]) if first == "averaged" else 0
            assert 0 < found["dispersion"] <= Q(lemma.total) - left_out


def test_one_step_obeys_the_corrected_descent_lemma():
    """Lemma B.2 with its exact variance, at alpha = 1/S_F, both clients displaced by +-d."""
    instance, spread = NOISY, Q(1, 4)
    alpha = 1 / s_f(instance.constants())
    models = [instance.start + spread, instance.start - spread]
    after = Q(0)
    for signs in product((-1, 1), repeat=2):
        ubar = sum(instance.slope(n, models[n], signs[n]) for n in (0, 1)) / 2
        after += instance.objective(instance.start - alpha * ubar) / 4
    values = {"alpha": alpha, "gradient_sq": instance.gradient(instance.start) ** 2, "consensus_error": spread**2}
    bound = bound_at("fcsg.lemma_b_2", instance, values)
    assert after - instance.objective(instance.start) <= Q(bound.total)
    slack = Q(bound.total) - (after - instance.objective(instance.start))
    assert slack < Q(bound.terms["variance"]) + Q(bound.terms["drift"])


def floor(mu, s, R, alpha, beta, q, rounds, averaged=True):
    """The mean of E|F'(xbar_t)|^2 over so many rounds from the minimiser 0, by AccFCSGM itself: f' = +-1 + (mu + s xi) clip(y, R)."""
    problem = Clients(mu=mu, s=s, R=R, start=Q(0)).problem()
    first = "averaged" if averaged else "own"
    method = AccFCSGM(alpha=scalar(alpha), beta=scalar(beta), q=q, m=1, b=1, B=1, first_estimate=first)
    return moment_average(method, problem, q * rounds, q, {"model": R})


CURVED = Q(17, 20), Q(3, 20), Q(13, 25)


def test_the_condition_on_long_rounds_cannot_be_dropped():
    """alpha = 1/(12 q S_F) at q = 4 * 10^7: everything else is admissible, and the bound fails. At q = 10^6 even the printed one holds."""
    rounds, theorem = 10**25, fedco.theorem("acc_fcsg_m.theorem_4_7")
    known = {"L_f": 1 + CURVED[2], "L_g": 1, "S_f": 1, "S_g": TINY, "sigma_g": TINY}
    for q, fails in ((4 * 10**7, True), (10**6, False)):
        alpha = 1 / (12 * q * s_f(known))
        low, high = floor(*CURVED, alpha, beta := 15 * s_f(known) ** 2 * alpha**2, q, rounds)
        values = {**known, "F_gap": 0, "alpha": alpha, "q": q, "m": 1, "b": 1, "B": 1, "N": 2, "T": q * rounds}
        bound = theorem.bound("corrected", strict=False, **values)
        assert [check.name for check in bound.conditions if not check.holds] == ["long_round"]
        printed = theorem.bound("printed", strict=False, beta=beta, **values)
        assert low > Q(bound.total) and low > Q(printed.total) if fails else high < Q(printed.total)


# --- Acc-FCSG-M with x_{t-1} averaged at a communication, or u_1 before the first step: the exact engine and a plain one in fractions ---


RADIUS = F(1, 2)
SLOPES = (lambda y: 1 + max(-RADIUS, min(RADIUS, y)), lambda y: F(-1))
TWO = {name: [F(number)] * 2 for name, number in {"inner_slope": 1, "inner_offset": 0, "value_noise": 0}.items()}
SHAPE = {**TWO, "knots": [[-RADIUS, RADIUS], [F(0)]], "slopes": [[F(1, 2), F(3, 2)], [F(-1)]], "start": F(0)}
ALPHA, BETA = F(1, 7), F(1, 9)


class Oracles:
    """The gradients at a model, without noise; `reference` calls them."""

    N = 2

    def batch(self, t, client, b):
        return None

    def gradient(self, client, x, batch):
        return np.array([SLOPES[client](x[0])])


def written_out(q, T, **options):
    """The mean of (xbar_t / 2)^2 before the T steps of the plain algorithm."""
    path, _ = reference.acc_fcsg_m(Oracles(), None, np.array([F(0)]), None, T, ALPHA, BETA, q, 1, **options)
    return sum((sum(x[0] for x in models) / 4) ** 2 for models in path[:T]) / T


def runs(q, T, reach=RADIUS, **options):
    problem = exact_problem(Data("conditional", SHAPE))
    method = AccFCSGM(alpha=scalar(ALPHA), beta=scalar(BETA), q=q, m=1, **options)
    walked = stepped(method, problem, T)
    return walked, moment_average(method, problem, T, q, {"model": reach}, is_kept=False)


@pytest.mark.parametrize("start", ["own", "averaged"])
@pytest.mark.parametrize("models", ["own", "averaged"])
@pytest.mark.parametrize(("q", "T"), [(2, 7), (3, 14), (4, 13)])
def test_the_method_is_the_algorithm_under_each_reading(q, T, models, start):
    options = {"first_estimate": start, "previous_model": models}
    exact = written_out(q, T, **options)
    walked, (low, high) = runs(q, T, **options)
    assert walked == (exact, exact) and low <= exact <= high


def test_a_run_that_leaves_its_reach_is_refused():
    with pytest.raises(CannotReplay, match="leaves the reach"):
        runs(3, 14, reach=F(1, 100), previous_model="averaged")
