"""Independence across clients is an assumption of the corrected theorems: one noise for all clients breaks their bounds."""

from fractions import Fraction as F

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.evaluation.moments import RandomMap, Recursion

K, ETA, T = 200, F(1, 15), 4000
TINY = F(1, 10**9)


def stationarity(noise):
    """The average of E xbar^2 for h_k'(x) = x + w_k from x = 0 on, all clients together every step: w has variance `noise`."""
    return Recursion([0], RandomMap([(1, [[1, 0], [0, 1 - ETA]])], [[0, 0], [0, ETA**2 * noise]])).average([[0, 1]], T)


def bound():
    main = get_theorem("feddro.theorem_5_1")
    gone = ["L_f", "L_g", "B_f", "B_g", "sigma_g", "delta_g", "Delta_h", "Delta_g", "Phi_gap", "y_err"]
    values = {**dict.fromkeys(gone, TINY), "L_h": 1, "sigma_h": 1, "I": 1, "K": K, "b": 1, "T": T}
    return main.bound("corrected", **values, eta=ETA, beta=F(1, 2)).total


def test_independent_clients_satisfy_the_corrected_bound():
    assert stationarity(F(1, K)).upper <= bound()


def test_identical_noise_at_all_clients_breaks_it():
    assert stationarity(F(1)).lower > 16 * bound()


@pytest.mark.parametrize(
    "name", ["feddro.theorem_5_1", "fcsg.theorem_4_1", "fcsg_m.theorem_4_4", "acc_fcsg_m.theorem_4_7"]
)
def test_the_assumptions_say_so(name):
    text = " ".join(f"{item.name} {item.text}" for item in get_theorem(name).assumptions)
    assert "independence over time" in text and "lower bound" in text
    assert "independent across the clients" in text or "independently for every client" in text
    assert "start at the same point" in text or "is the same for all clients" in text
