"""docs/theory/feddro.md: its elementary inequalities, its assembly by code, each step on an enumerated instance."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
import sympy as sp
from fedco import theorem
from fedco.bounds.language.notation import slack_symbol
from fedco.bounds.proof.certificates import prove_nonnegative
from feddro_instance import Instance

MAIN, MODIFIED = theorem("feddro.theorem_5_1"), theorem("feddro.theorem_4_2")
s = MAIN.notation.namespace()
bK, rho = s.b * s.K, s.L_h**2 + s.B_f**2 * s.L_g**2
noise, spread = s.sigma_h**2 + s.B_f**2 * s.sigma_g**2, s.Delta_h**2 + s.B_f**2 * s.Delta_g**2
u, r = slack_symbol("u"), slack_symbol("r")
SEEDS = range(20)


def vectors(seed, count, dimension=3):
    rng = Random(seed)
    return [[Fraction(rng.randint(-9, 9), rng.randint(1, 5)) for _ in range(dimension)] for _ in range(count)]


def sq(vector):
    return sum(entry * entry for entry in vector)


def add(*many):
    return [sum(entries) for entries in zip(*many, strict=True)]


def scaled(factor, vector):
    return [factor * entry for entry in vector]


# --- elementary facts, exactly ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_squares_of_sums_and_of_deviations(seed):
    for count in (2, 3, 4):
        a = vectors(seed, count)
        mean = scaled(Fraction(1, count), add(*a))
        deviations = [add(v, scaled(-1, mean)) for v in a]
        assert sq(add(*a)) <= count * sum(map(sq, a))
        assert sum(map(sq, deviations)) <= sum(map(sq, a))
        assert sum(map(sq, a)) == count * sq(mean) + sum(map(sq, deviations)), "step 7: mean square of the directions"
        q = vectors(seed + 100, 1)[0]
        assert sum(sq(add(v, q)) for v in deviations) == sum(map(sq, deviations)) + count * sq(q), (
            "step 7: no cross term"
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_identity_of_the_descent_step(seed):
    a, c = vectors(seed, 2)
    product = sum(x * y for x, y in zip(a, c, strict=True))
    assert -product == -sq(a) / 2 - sq(c) / 2 + sq(add(a, scaled(-1, c))) / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_cauchy_schwarz_for_a_matrix_and_a_vector_of_the_same_sample(seed):
    """Step 3: |E[M v]|^2 <= E||M||_F^2 E|v|^2, over four equally likely outcomes."""
    matrices, v = [vectors(seed * 7 + k, 2, 2) for k in range(4)], vectors(seed + 50, 4, 2)
    images = [[sum(x * y for x, y in zip(row, w, strict=True)) for row in m] for m, w in zip(matrices, v, strict=True)]
    mean = scaled(Fraction(1, 4), add(*images))
    assert sq(mean) <= sum(sq(row) for m in matrices for row in m) / 4 * sum(map(sq, v)) / 4


@pytest.mark.parametrize("seed", SEEDS)
def test_the_conditional_mean_is_the_best_centre(seed):
    """Step 4."""
    outcomes, centre = vectors(seed, 4), vectors(seed + 9, 1)[0]
    mean = scaled(Fraction(1, 4), add(*outcomes))
    assert sum(sq(add(v, scaled(-1, mean))) for v in outcomes) <= sum(sq(add(v, scaled(-1, centre))) for v in outcomes)


def test_sums_over_a_round():
    """Step 6: sum of j^2 over j < r is at most (I-1)^2 r for r <= I, the sum of j at most I (I-1) / 2."""
    for I in range(1, 40):
        for rest in range(1, I + 1):
            assert sum(j * j for j in range(rest)) <= (I - 1) ** 2 * rest
            assert sum(range(rest)) <= Fraction(I * (I - 1), 2)


def test_average_drift_is_at_most_nine_eighths_of_its_forcing():
    """Step 6: x <= a x + c with a <= 1/18 gives x <= (9/8) c, and the last step of a round obeys the same bound."""
    a = sp.Rational(1, 18) / (1 + u)
    assert prove_nonnegative(sp.Rational(9, 8) - 1 / (1 - a)) is not None
    square = sp.Rational(1, 9) / (1 + u)  # 24 rho eta^2 I^2
    period = 1 + r
    last = 1 + square * sp.Rational(9, 8) * (period - 1) / period  # in units of eta^2 (I-1)^2 c_0
    assert prove_nonnegative(sp.Rational(9, 8) - last) is not None
    everywhere = square * sp.Rational(9, 8) * ((period - 1) / period) ** 2  # 24 rho sum X, in units of c_0 T
    assert prove_nonnegative(sp.Rational(1, 8) - everywhere) is not None


# --- the assembly of Theorem 5.1 by code -----------------------------------------------------------------------------


SOURCES = {
    "initialisation": ("gap",),
    "inner_initialisation": ("start",),
    "variance": ("noise_1",),
    "inner_noise": ("value",),
    "inner_variance": ("noise_8", "noise_5"),
    "inner_heterogeneity": ("spread_5",),
    "drift_variance": ("noise_6",),
    "drift_heterogeneity": ("spread_6",),
}
"""Where each term comes from: what enters, and the number of the step that brings it in."""


def assembled(bias=1, jump=1, momentum=4, twice=2):
    """The right-hand side of the theorem from the inequalities of steps 1 to 9, each source under a name of its own.

    The arguments are coefficients of the derivation; any other value of one of them is a mutant.
    """
    M, N, X, Y, S, D = sp.symbols("M N X Y S D")  # sums over t < T
    q = {name: sp.Symbol(name) for names in SOURCES.values() for name in names}
    L, eta, beta, T = MAIN.statement("corrected").expand(sp.Symbol("L_Phi", nonnegative=True)), s.eta, s.beta, s.T
    period, jumps = (s.I - 1) ** 2, 1 + jump * (s.I - 1) ** 2 / s.I
    closeness = (rho + 2 * s.B_g**4 * s.L_f**2) * X + 2 * s.B_g**2 * s.L_f**2 * Y
    gap = momentum * (closeness + bias * s.sigma_g**2 * s.L_f**2 / bK * N)  # step 3

    def variance(source):  # step 4
        return 3 * (source / bK * T + s.B_g**2 * s.L_f**2 * N)

    descent = q["gap"] - (eta / 2 - eta**2 * L) * M + eta / 2 * gap + eta**2 * L * variance(q["noise_1"])  # step 1
    direction = 2 * M + 2 * variance(q["noise_8"])  # step 8
    forcing = 4 * q["noise_5"] / s.b + 12 * q["spread_5"]  # step 5
    moved = eta**2 * (D + sp.Rational(9, 8) * forcing * T * jumps)  # step 7
    innovation = 2 * beta**2 * q["value"] / bK * T + 2 * s.B_g**2 / bK * S  # step 2
    closed = sp.expand(innovation.xreplace({S: moved}).xreplace({D: direction}))
    feedback = closed.coeff(N)
    innovations = twice * (closed - feedback * N)  # step 8, for a feedback of at most 1/2
    drift = sp.Rational(9, 8) * eta**2 * period * (4 * q["noise_6"] / s.b + 12 * q["spread_6"]) * T  # step 6
    total = sp.expand(descent.xreplace({Y: (q["start"] + N) / beta}).xreplace({X: drift}))  # step 9
    total = sp.expand(total.xreplace({N: sp.expand(innovations)}))
    values = {"gap": s.Phi_gap, "start": s.y_err**2, "value": s.delta_g**2}
    values |= {name: noise if name.startswith("noise") else spread for name in q if name not in values}
    terms = {term: sum(total.coeff(q[name]) * values[name] for name in names) for term, names in SOURCES.items()}
    scale = 2 / (eta * T)
    return {"terms": {name: scale * term for name, term in terms.items()}, "feedback": feedback, "pull": total.coeff(M)}


def mismatches(parts):
    statement = MAIN.statement("corrected")
    return {
        name
        for name, mine in parts["terms"].items()
        if sp.expand(mine - statement.expand(statement.term(name).expr)) != 0
    }


def test_the_assembled_bound_is_the_corrected_statement_term_by_term():
    parts = assembled()
    assert set(parts["terms"]) == {term.name for term in MAIN.statement("corrected").terms}
    assert mismatches(parts) == set()


@pytest.mark.parametrize(
    ("slip", "wrong"),
    [
        ({"bias": 0}, {"inner_noise", "inner_variance", "inner_heterogeneity"}),
        ({"jump": 0}, {"inner_variance", "inner_heterogeneity"}),
        ({"twice": 1}, {"inner_noise", "inner_variance", "inner_heterogeneity"}),
        ({"momentum": 2}, set(SOURCES) - {"initialisation", "variance"}),
    ],
    ids=["no bias", "no jump", "no feedback", "two squares for four"],
)
def test_a_derivation_with_a_slip_does_not_match(slip, wrong):
    assert mismatches(assembled(**slip)) == wrong


def test_the_assembled_conditions_are_the_corrected_conditions():
    found, statement = assembled(), MAIN.statement("corrected")
    embedding = statement.condition("step_size_embedding")
    assert sp.simplify(found["feedback"] - embedding.left / embedding.right / 2) == 0, (
        "at most 1/2 exactly when it holds"
    )
    direction = statement.condition("step_size_direction")
    assert sp.expand(found["pull"] + s.eta * (direction.right - statement.expand(direction.left))) == 0
    period = statement.condition("step_size_period")
    assert sp.simplify(24 * rho * period.right**2 * s.I**2 - sp.Rational(1, 9)) == 0


def test_theorem_4_2_is_assembled_from_its_five_steps():
    w, statement = MODIFIED.notation.namespace(), MODIFIED.statement("corrected")
    drift = sp.Rational(9, 8) * 3 * w.B_f**2 * w.Delta_g**2 * w.eta**2 * (w.I - 1) ** 2 * w.T
    gap = 2 * (w.B_f**2 * w.L_g**2 + w.B_g**4 * w.L_f**2) * drift
    total = (w.Phi_gap + w.eta / 2 * gap) * 2 / (w.eta * w.T)
    assert sp.expand(total - statement.total) == 0
    period = statement.condition("step_size_period")
    assert sp.expand(period.left / 9 - 6 * w.B_f**2 * w.L_g**2 * w.eta**2 * w.I**2) == 0, (
        "6 B_f^2 L_g^2 eta^2 I^2 <= 1/9"
    )
    descent = statement.condition("step_size_descent")
    assert statement.expand(descent.right) == 1 / (w.B_f * w.L_g + w.B_g**2 * w.L_f)


# --- every step on an instance whose expectations are sums over all sample paths --------------------------------------

INSTANCES = [
    Instance(),
    Instance(beta=0.9, eta=0.02, period=2),
    Instance(beta=0.05, period=1, slopes=(1.0, 0.2)),
    Instance(sway=0.0, shake=0.0, jitter=0.0),
    Instance(start=(0.3, -1.0), eta=0.05),
]


@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_every_step_holds_on_an_enumerated_instance(instance):
    for name, (left, right) in instance.steps().items():
        assert left <= right + 1e-12 * (1 + abs(right)), f"{name}: {left} > {right}"


@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_the_corrected_bound_holds_on_an_enumerated_instance(instance):
    bound = MAIN.bound("corrected", strict=False, **instance.constants())
    assert instance.average_gradient() <= bound.total
    assert np.isfinite(bound.total)


def test_the_printed_steps_fail_where_the_derivation_says():
    """Mutants: without the jump, step 7 fails at a communication; with ybar as if independent, A is another vector."""
    instance = Instance(eta=0.05, start=(0.3, -1.0))
    steps = instance.steps(jump=False)
    assert any(left > right + 1e-12 for name, (left, right) in steps.items() if name.startswith("7"))
    assert instance.bias() > 1e-6
    assert Instance(sway=0.0, shake=0.0, jitter=0.0).bias() < 1e-15
