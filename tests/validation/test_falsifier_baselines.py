"""A search about the field's methods: with fractions for hyperparameters, in exact numbers, or with the reason why not."""

import fedco
import pytest
from fedco.validation.falsifier.attack import falsify
from searching import ticking

SYMBOLS = {
    "L": "local_smoothness", "sigma": "local_gradient_noise", "G": "local_gradient_bound", "F_gap": "objective_gap",
    "eta": "step_size", "K": "communication_period", "N": "clients", "T": "iterations",
}  # fmt: skip
LOOSE = {
    "id": "mine.loose",
    "symbols": SYMBOLS,
    "terms": {"initialisation": "20*F_gap/(eta*T)", "rest": "40*eta*L*K**2*(G**2 + sigma**2/N)"},
    "conditions": {"step_size": "eta <= 1/(8*L)"},
}
"""Too large for any method below to be refuted."""
WITHOUT_ROUNDS = LOOSE | {
    "symbols": {name: quantity for name, quantity in SYMBOLS.items() if name != "K"},
    "terms": {name: formula.replace("K**2", "1") for name, formula in LOOSE["terms"].items()},
}
TAU = {"eta": "eta", "tau": "K"}
EXACT = {
    "two_sided_sgd": {**TAU, "eta_g": "1/2", "beta": "1/4"},
    "local_heavy_ball": {**TAU, "beta": "1/4"},
    "fedprox": {**TAU, "mu": "1/3"},
    "fednova": TAU,
    "gossip_sgd": TAU,
    "local_storm": {**TAU, "a": "1/2"},
    "fedglomo": {**TAU, "beta": "1/2"},
    "delayed_sgd": {"eta": "eta", "D": "K"},
    "error_feedback": {"eta": "eta", "share": "1/2"},
}


def searched(method, seconds):
    """A search of so many turns: the clock is a counter."""
    theorem = fedco.define(**(LOOSE if "K" in method.values() else WITHOUT_ROUNDS), method=method)
    return falsify(theorem, seconds=seconds * 10, clock=ticking())


@pytest.mark.parametrize("name", EXACT)
def test_a_method_is_run_in_exact_numbers(name):
    found = searched({"name": name, **EXACT[name]}, 0.5)
    assert found.outcome == "SURVIVED" and 0 < found.ratio < 1
    assert not any("a rounded number" in line or "no exact counterpart" in line for line in found.why), found.why


@pytest.mark.parametrize(
    ("method", "draws"),
    [
        ({"name": "marina", "eta": "eta", "p": "1/2", "ratio": 2}, "uniform"),
        ({"name": "drfa", "eta": "eta", "gamma": "1/9", "tau": "K"}, "integers"),
    ],
)
def test_a_method_that_draws_other_numbers_than_signs_is_not_searched(method, draws):
    found = searched(method, 0.2)
    assert found.outcome == "NOT_APPLICABLE"
    assert found.why == (f"the method draws {draws} of its own, and a search knows no noise but signs",)
