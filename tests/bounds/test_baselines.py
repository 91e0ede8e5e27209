"""The baselines' statements against their formulas in plain Python, and against the theorems that they specialise."""

from dataclasses import replace
from fractions import Fraction as R

import fedco
import pytest
from fedco.bounds import paper_theorems
from fedco.bounds.audit.findings import RecheckError
from fedco.bounds.audit.status import status
from fedco.bounds.papers.baselines.checks import STEPS, agrees
from quick import slow_but

AT = {
    "L": R(3, 5), "L_bar": R(2, 5), "G": R(7, 4), "sigma": R(2, 3), "zeta": R(5, 7), "F_gap": R(9, 2), "eta": R(1, 20),
    "C_f": R(4, 3), "L_f": R(3, 7), "C_g": R(6, 5), "L_g": R(2, 9), "delta_g": R(3, 8), "B_f": R(5, 3), "S_f": R(3, 11),
    "S_g": R(2, 13), "gamma": R(2, 7), "p": 4, "b": 3, "m": 5, "N": 6, "T": 700,
    "gradient_sq": R(3, 2), "direction_sq": R(4, 3), "bias_sq": R(1, 9), "noise_sq": R(5, 8), "moment_sq": R(7, 4),
    "consensus_error": R(2, 15), "used_error": R(3, 14), "kept_error": R(5, 17),
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


def averaged_noise(sigma, b, N):
    return {"variance": sigma**2 / (N * b)}


def step(smooth, eta, gradient_sq, direction_sq, bias_sq, noise_sq):
    """(b) of docs/theory/baselines.md: a - eta a^2 with the mean direction a, the gradient, and the noise."""
    return {
        "descent": -eta * gradient_sq / 2,
        "direction": -eta * (1 - smooth * eta) * direction_sq / 2,
        "bias": eta * bias_sq / 2,
        "variance": smooth * eta**2 * noise_sq / 2,
    }


def local_sgd_step(L, **seen):
    return step(L, **seen)


def local_sgd_bias(L, consensus_error):
    return {"drift": L**2 * consensus_error}


def local_sgd_descent(L, eta, gradient_sq, consensus_error, noise_sq):
    found = step(L, eta, gradient_sq, R(0), local_sgd_bias(L, consensus_error)["drift"], noise_sq)
    return {"descent": found["descent"], "drift": found["bias"], "variance": found["variance"]}


def local_sgd_drift(G, sigma, eta, p, b):
    return {"drift": sum(s * s for s in range(p)) / R(p) * eta**2 * (G**2 + sigma**2 / b)}


def local_sgd_heterogeneity_drift(L, sigma, zeta, eta, p, b, N):
    whole = local_sgd_heterogeneity(R(1), sigma, zeta, R(1), eta, p, b, N, 1)
    return {name: whole[name] for name in ("heterogeneity", "noise_drift")}


def minibatch_sgd_descent(L_bar, eta, gradient_sq, noise_sq):
    """Where the mean direction is the gradient, nothing of the two is left out."""
    found = step(L_bar, eta, gradient_sq, gradient_sq, R(0), noise_sq)
    return {"descent": found["descent"] + found["direction"], "variance": found["variance"]}


def scgd_moment(C_f, C_g):
    return {"variance": (C_f * C_g) ** 2}


def scgd_value(delta_g, gamma, b, kept_error):
    return {"kept": (1 - gamma) ** 2 * kept_error, "inner_noise": (gamma * delta_g) ** 2 / b}


def scgd_estimate(C_f, C_g, delta_g, eta, gamma, b, N, kept_error):
    R_ = 2 * gamma * delta_g**2 / (N * b), 2 * eta**2 * C_g**4 * C_f**2 / gamma**2
    return {"kept": (1 - gamma) * kept_error, "inner_noise": gamma * R_[0], "inner_drift": gamma * R_[1]}


def scgd_values(C_f, C_g, delta_g, eta, gamma, b, N, T):
    whole = scgd(C_f, R(1), C_g, R(1), delta_g, R(1), eta, gamma, b, N, T)
    return {name: whole[name] / C_g**2 for name in ("inner_start", "inner_noise", "inner_drift")}


def scgd_descent(C_f, L_f, C_g, L_g, eta, N, gradient_sq, moment_sq, used_error):
    found = step(C_g**2 * L_f + C_f * L_g, eta, gradient_sq, R(0), (C_g * L_f) ** 2 * used_error, moment_sq / N)
    return {name: found[name] for name in ("descent", "bias", "variance")}


def biased_sgd_noise(C_g, B_f, b, N):
    return {"variance": (B_f * C_g) ** 2 / (N * b)}


def biased_sgd_bias(C_g, delta_g, S_f, m):
    return {"bias": (C_g * S_f * delta_g) ** 2 / m}


def biased_sgd_step(C_g, B_f, S_f, S_g, **seen):
    return step(S_g * B_f + S_f * C_g**2, **seen)


def biased_sgd_descent(C_g, B_f, S_f, S_g, **seen):
    found = biased_sgd_step(C_g, B_f, S_f, S_g, direction_sq=R(0), **seen)
    return {name: found[name] for name in ("descent", "bias", "variance")}


THEOREMS = {f"baselines.{f.__name__}": f for f in (local_sgd, local_sgd_heterogeneity, minibatch_sgd, scgd, biased_sgd)}
LEMMAS = {
    f"baselines.{f.__name__}": f
    for f in (
        *(averaged_noise, local_sgd_step, local_sgd_bias, local_sgd_descent, local_sgd_drift),
        *(local_sgd_heterogeneity_drift, minibatch_sgd_descent, scgd_moment, scgd_value, scgd_estimate),
        *(scgd_values, scgd_descent, biased_sgd_noise, biased_sgd_bias, biased_sgd_step, biased_sgd_descent),
    )
}
FORMULAS = THEOREMS | LEMMAS


def values_of(name, **changes):
    return {key: value for key, value in (AT | changes).items() if key in fedco.theorem(name).symbols("printed")}


def exact_terms(name, **changes):
    statement, at = fedco.theorem(name).statement("printed"), values_of(name, **changes)
    symbols = {binding.symbol: at[key] for key, binding in fedco.theorem(name).symbols("printed").items()}
    return {term.name: statement.at(term.expr, symbols) for term in statement.terms}


def test_every_baseline_has_its_formula_here():
    assert set(FORMULAS) == set(paper_theorems("baselines"))
    kinds = {name: fedco.theorem(name).kind for name in FORMULAS}
    assert {name for name, kind in kinds.items() if kind == "lemma"} == set(LEMMAS)


QUICK = [f"baselines.{name}" for name in ("averaged_noise", "local_sgd_descent", "scgd_values", "biased_sgd_bias")]


@pytest.mark.parametrize("lemma", slow_but(QUICK, LEMMAS))
def test_a_lemma_is_the_step_of_a_derivation_that_the_kernel_accepts(lemma):
    """And twice the lemma, or another left side, is not."""
    name = lemma.partition(".")[2]
    step = STEPS[name]
    assert agrees(name, step)["step"].endswith(f", {step.name}")
    assert status(fedco.theorem(lemma), "printed").outcome == "derived"
    with pytest.raises(RecheckError, match="not confirmed"):
        agrees(name, replace(step, factor=lambda s: 2 * step.factor(s)))
    with pytest.raises((RecheckError, KeyError)):
        agrees(name, replace(step, left="||x||^2"))


@pytest.mark.parametrize(("theorem", "descent", "rate", "inserted"), [
    ("local_sgd", "local_sgd_descent", 1, {"noise_sq": "averaged_noise", "consensus_error": "local_sgd_drift"}),
    ("local_sgd_heterogeneity", "local_sgd_descent", 1,
     {"noise_sq": "averaged_noise", "consensus_error": "local_sgd_heterogeneity_drift"}),
    ("minibatch_sgd", "minibatch_sgd_descent", R(99, 50), {"noise_sq": "averaged_noise"}),
    ("scgd", "scgd_descent", 1, {"moment_sq": "scgd_moment", "used_error": "scgd_values"}),
    ("biased_sgd", "biased_sgd_descent", 1, {"noise_sq": "biased_sgd_noise", "bias_sq": "biased_sgd_bias"}),
])  # fmt: skip
def test_the_lemmas_add_up_to_the_theorem(theorem, descent, rate, inserted):
    """The descent of T steps, less than F_gap, solved for the squared gradient: rate eta/2 of it descends, 2 - L_bar eta = 99/50 here."""
    given = {name: total(f"baselines.{lemma}", L=AT["L"]) for name, lemma in inserted.items()}
    terms = exact_terms(f"baselines.{descent}", **given)
    rest = sum(R(str(value)) for name, value in terms.items() if name != "descent")
    assert R(str(terms["descent"])) == -rate * AT["eta"] / 2 * AT["gradient_sq"]
    implied = (AT["F_gap"] / AT["T"] + rest) * 2 / AT["eta"] / rate
    assert implied * rate == total(f"baselines.{theorem}")
    assert rate >= 1  # what minibatch SGD keeps and the theorem leaves out


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("changes", [{}, {"p": 1, "N": 1, "b": 1}, {"p": 7, "eta": R(1, 50), "T": 11}], ids=str)
def test_a_statement_is_its_formula(name, changes):
    given = values_of(name, **changes)
    wanted = FORMULAS[name](**given)
    assert {term: R(str(value)) for term, value in exact_terms(name, **changes).items()} == wanted
    bound = fedco.theorem(name).bound("printed", strict=True, **given)
    assert bound.total == pytest.approx(float(sum(wanted.values())), rel=1e-14) and bound.admissible


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
