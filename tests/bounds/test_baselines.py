"""The baselines' statements against their formulas in plain Python, and against the theorems that they specialise."""

from fractions import Fraction as R

import fedco
import pytest
from fedco.bounds import paper_theorems

AT = {
    "L": R(3, 5), "L_bar": R(2, 5), "G": R(7, 4), "sigma": R(2, 3), "zeta": R(5, 7), "F_gap": R(9, 2), "eta": R(1, 20),
    "C_f": R(4, 3), "L_f": R(3, 7), "C_g": R(6, 5), "L_g": R(2, 9), "delta_g": R(3, 8), "B_f": R(5, 3), "S_f": R(3, 11),
    "S_g": R(2, 13), "gamma": R(2, 7), "p": 4, "b": 3, "m": 5, "N": 6, "T": 700,
}  # fmt: skip


def local_sgd(L, G, sigma, F_gap, eta, p, b, N, T):
    drift = sum(s * s for s in range(p)) / R(p) * eta**2 * L**2 * (G**2 + sigma**2 / b)
    return {"initialisation": 2 * F_gap / (eta * T), "variance": L * eta * sigma**2 / (N * b), "drift": drift}


def local_sgd_heterogeneity(L, sigma, zeta, F_gap, eta, p, b, N, T):
    squares, steps = R(sum(s * s for s in range(p)), p), R(sum(range(p)), p)
    return {
        "initialisation": 2 * F_gap / (eta * T),
        "variance": L * eta * sigma**2 / (N * b),
        "heterogeneity": 2 * 4 * squares * eta**2 * L**2 * zeta**2,
        "noise_drift": 2 * 4 * steps * eta**2 * L**2 * sigma**2 / b * (N - 1) / N,
    }


def minibatch_sgd(L_bar, sigma, F_gap, eta, b, N, T):
    return {"initialisation": 2 * F_gap / (eta * T), "variance": L_bar * eta * sigma**2 / (N * b)}


def scgd(C_f, L_f, C_g, L_g, delta_g, F_gap, eta, gamma, b, N, T):
    noise = delta_g**2 / b
    return {
        "initialisation": 2 * F_gap / (eta * T),
        "inner_start": C_g**2 * L_f**2 * noise * (N * gamma + 2) / (N * gamma * T),
        "inner_noise": C_g**2 * L_f**2 * noise * gamma * (N * gamma + 2) / N,
        "inner_drift": 2 * C_g**6 * C_f**2 * L_f**2 * (eta / gamma) ** 2,
        "variance": (C_g**2 * L_f + C_f * L_g) * eta * C_f**2 * C_g**2 / N,
    }


def biased_sgd(C_g, delta_g, B_f, S_f, S_g, F_gap, eta, b, m, N, T):
    return {
        "initialisation": 2 * F_gap / (eta * T),
        "bias": (C_g * S_f * delta_g) ** 2 / m,
        "variance": (S_g * B_f + S_f * C_g**2) * eta * (B_f * C_g) ** 2 / (N * b),
    }


FORMULAS = {f"baselines.{f.__name__}": f for f in (local_sgd, local_sgd_heterogeneity, minibatch_sgd, scgd, biased_sgd)}


def values_of(name, **changes):
    return {key: value for key, value in (AT | changes).items() if key in fedco.theorem(name).symbols("printed")}


def exact_terms(name, **changes):
    statement, at = fedco.theorem(name).statement("printed"), values_of(name, **changes)
    symbols = {binding.symbol: at[key] for key, binding in fedco.theorem(name).symbols("printed").items()}
    return {term.name: statement.at(term.expr, symbols) for term in statement.terms}


def test_every_baseline_has_its_formula_here():
    assert set(FORMULAS) == set(paper_theorems("baselines"))


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("changes", [{}, {"p": 1, "N": 1, "b": 1}, {"p": 7, "eta": R(1, 50), "T": 11}], ids=str)
def test_a_statement_is_its_formula(name, changes):
    given = values_of(name, **changes)
    wanted = FORMULAS[name](**given)
    assert {term: R(str(value)) for term, value in exact_terms(name, **changes).items()} == wanted
    bound = fedco.theorem(name).bound("printed", strict=True, **given)
    assert bound.total == pytest.approx(float(sum(wanted.values())), rel=1e-14) and bound.admissible


@pytest.mark.parametrize("name", FORMULAS)
def test_a_statement_is_homogeneous(name):
    assert fedco.theorem(name).inhomogeneities(fedco.theorem(name).statement("printed")) == []


@pytest.mark.parametrize(("name", "at", "inside", "outside"), [
    ("baselines.local_sgd", {}, R(5, 3), R(5, 3) + R(1, 10**9)),
    ("baselines.local_sgd_heterogeneity", {"p": 1}, R(5, 3), R(5, 3) + R(1, 10**9)),
    ("baselines.local_sgd_heterogeneity", {"p": 2, "L": R(1, 2)}, R(1), R(1) + R(1, 10**9)),
    ("baselines.minibatch_sgd", {}, R(5, 2), R(5, 2) + R(1, 10**9)),
    ("baselines.scgd", {"L_f": R(1, 4), "C_g": R(2), "C_f": R(3), "L_g": R(1, 2)}, R(2, 5), R(2, 5) + R(1, 10**9)),
    ("baselines.biased_sgd", {"S_g": R(1, 4), "B_f": R(2), "S_f": R(3), "C_g": R(1, 2)}, R(4, 5), R(4, 5) + R(1, 10**9)),
])  # fmt: skip
def test_the_step_size_is_limited_there_and_not_before(name, at, inside, outside):
    for eta, admissible in ((inside, True), (outside, False)):
        assert (
            fedco.theorem(name).bound("printed", strict=False, **values_of(name, **at, eta=eta)).admissible
            is admissible
        )


def test_the_momentum_of_scgd_is_at_most_one():
    for gamma, admissible in ((R(1), True), (R(11, 10), False)):
        found = fedco.theorem("baselines.scgd").bound(
            "printed", strict=False, **values_of("baselines.scgd", gamma=gamma)
        )
        assert found.admissible is admissible


def total(name, **changes):
    return sum(R(str(value)) for value in exact_terms(name, **changes).values())


@pytest.mark.parametrize("name", ["baselines.local_sgd", "baselines.local_sgd_heterogeneity"])
def test_rounds_of_one_step_are_minibatch_sgd(name):
    assert total(name, p=1, L=AT["L_bar"]) == total("baselines.minibatch_sgd")


def test_one_client_has_no_drift():
    assert total("baselines.local_sgd_heterogeneity", N=1, zeta=0, L=AT["L_bar"]) == total(
        "baselines.minibatch_sgd", N=1
    )


@pytest.mark.parametrize("p", [1, 2, 5, 40])
def test_the_usual_form_of_the_local_sgd_theorem_follows(p):
    """Its drift is 4 eta^2 p^2 L^2 (G^2 + sigma^2) at batches of one."""
    usual = 4 * AT["eta"] ** 2 * p**2 * AT["L"] ** 2 * (AT["G"] ** 2 + AT["sigma"] ** 2)
    assert R(str(exact_terms("baselines.local_sgd", p=p, b=1)["drift"])) <= usual


def test_without_composition_the_two_compositional_baselines_have_no_bias():
    assert not any(
        exact_terms("baselines.scgd", L_f=R(0))[name] for name in ("inner_start", "inner_noise", "inner_drift")
    )
    assert exact_terms("baselines.biased_sgd", S_f=R(0))["bias"] == 0
    assert exact_terms("baselines.biased_sgd", delta_g=R(0))["bias"] == 0
