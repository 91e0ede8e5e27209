"""The instance that refutes FedDRO's rates with long rounds: its moments, its paths, its limit, every B_g."""

from fractions import Fraction as F
from itertools import product
from random import Random

import pytest
from fedco.bounds.audit.refutation import right_side
from fedco.bounds.papers.feddro import long_rounds as lab

LIMIT = lab.B**4 * lab.S**2 * lab.DRIFT**2 / (32 * (lab.B**2 + 2))
"""I times the left side for I -> infinity (docs/theory/feddro.md)."""
REST = F(7, 100)


def slope(y):
    """H'."""
    return max(-lab.SLOPE, min(lab.SLOPE, lab.SLOPE * y))


def step(state, signs, eta, I, t):
    """Algorithm 2 written out, with the functions themselves and not their linear parts."""
    x, older, y = state
    g = [[lab.B * v + lab.S * z * lab.phi(v) for v, z in zip(models, signs, strict=True)] for models in (older, x)]
    if t > 0:
        y = sum((1 - eta) * (y - a) + b for a, b in zip(*g, strict=True)) / 2
    slopes = [lab.B + lab.S * z * lab.phi_slope(v) for v, z in zip(x, signs, strict=True)]
    new = [v - eta * (h + J * slope(y)) for v, h, J in zip(x, (lab.DRIFT, -lab.DRIFT), slopes, strict=True)]
    if (t + 1) % I == 0:
        new = [sum(new) / 2] * 2
    return new, x, y


def start():
    return [F(0)] * 2, [F(0)] * 2, F(0)


SIGNS = list(product((1, -1), repeat=2))


@pytest.mark.parametrize("I", [2, 3])
def test_the_moments_are_those_of_the_algorithm_over_all_paths(I):
    eta, steps = F(1, 2 * I**2), 5

    def mean(state, t):
        if t == steps:
            return (lab.B * slope(lab.B * sum(state[0]) / 2)) ** 2
        return sum(mean(step(state, signs, eta, I, t), t + 1) for signs in SIGNS) / 4

    value = mean(start(), 0)
    found = lab.Jump(I).recursion().mean_square(lab.GRADIENT, steps)
    assert value > 0 and found.contains(value)
    assert not lab.Jump(I).recursion(update_first=False, eta=eta / 2).mean_square(lab.GRADIENT, steps).contains(value)


@pytest.mark.parametrize("towards", ["random", "up", "apart", "error"])
def test_no_path_leaves_the_limits(towards):
    """Signs drawn, and signs chosen step by step to make one of the quantities large: the limits of `limits` hold."""
    I, steps, rng = 20, 1600, Random(5)
    at, eta = lab.limits(I), F(1, 2 * 20**2)
    aims = {
        "up": lambda s: sum(s[0]),
        "apart": lambda s: abs(s[0][0] - s[0][1]),
        "error": lambda s: abs(s[2] - lab.B * sum(s[1]) / 2),
    }
    state, worst = start(), F(0)
    for t in range(steps):
        choices = [step(state, signs, eta, I, t) for signs in SIGNS]
        state = rng.choice(choices) if towards == "random" else max(choices, key=aims[towards])
        state = ([_short(v) for v in state[0]], [_short(v) for v in state[1]], _short(state[2]))
        mean = sum(state[0]) / 2
        error = state[2] - lab.B * sum(state[1]) / 2
        assert abs(mean) <= at["mean"] and abs(error) <= at["error_reached"] and abs(state[2]) <= at["estimate"]
        assert max(abs(v - mean) for v in state[0]) <= at["spread"]
        worst = max(worst, abs(error) / at["error_reached"])
    assert worst > F(1, 5) or towards != "error", "the limit is of the right size"


def _short(v):
    """64 binary digits: a path in fractions would grow without end, and a rounding of 1e-19 is no change of course."""
    return F(round(v * 2**64), 2**64)


@pytest.mark.parametrize("I", [10**3, 10**4, 10**5, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("after", [True, False])
def test_the_left_side_is_the_limit_over_I_to_the_next_order(I, after):
    found = lab.Jump(I).stationarity(after=after)
    assert found.lower >= LIMIT / I - REST / I**2 and found.upper <= LIMIT / I + REST / I**2


def test_the_reading_with_a_last_step_after_the_rounds():
    """T - 1 a multiple of I, as the appendix assumes: I = 2 k^2 - 1 and T = 2 m^2 with m = 2 I^2 + k; eta = 1/m."""
    k = 707
    I = 2 * k**2 - 1
    m = 2 * I**2 + k
    T = 2 * m**2
    assert (T - 1) % I == 0 and I**4 * 2**3 <= T
    other = lab.Jump(I).recursion(eta=F(1, m)).average(lab.GRADIENT, T, after=True)
    assert abs(other.lower / lab.Jump(I).stationarity(after=True).lower - 1) < F(1, 10**5)


@pytest.mark.parametrize("name", ["feddro.theorem_5_1", "feddro.theorem_f_1", "feddro.corollary_1"])
@pytest.mark.parametrize("label", ["printed", "composed"])
@pytest.mark.parametrize("unit", [F(1, 1000), F(1, 10), F(1), F(30)])
def test_every_inner_lipschitz_constant(name, label, unit):
    """Bound times 4 I^2 is at most 7.3 max(1, B_g^2): with the limit it fails from I = 70000 max(1, B_g^2) on."""
    I = 70000 * max(1, int(unit) ** 2)
    case = lab.jump(name, label, I, unit)
    right = right_side(name, label, case)[1]
    assert right * 4 * I**2 <= F(73, 10) * max(1, unit**2)
    assert case.left[0] > right


def test_the_limit_beats_any_such_bound():
    """c/I - 0.07/I^2 > 7.3 m/(4 I^2) for I >= 70000 m, m >= 1: what the range B_g > 0 rests on."""
    assert REST + F(73, 40) < LIMIT * 70000


def test_corrected_holds_there():
    for I in (10**3, 10**6):
        case = lab.jump("feddro.theorem_5_1", "corrected", I)
        assert case.left[1] <= right_side("feddro.theorem_5_1", "corrected", case)[0]
