"""The runs of the refutations that are data, by the one independent reference of each algorithm, in fractions.

`tests/algorithms/reference.py` is written from the papers' pseudocode and shares nothing with the methods or the exact engine; the
oracles here are three lines of arithmetic for each kind of problem.
"""

from __future__ import annotations

from fractions import Fraction as Q

import numpy as np
import pytest
import reference
from fedco.bounds.audit.refuted import exact_instances

DATA = {name: item for name, item in exact_instances().items() if item.data is not None}


def linear(positions, values, t):
    """Linear through the knots, constant outside."""
    if t <= positions[0]:
        return Q(values[0])
    for a, b, u, v in zip(positions, positions[1:], values, values[1:], strict=False):
        if t <= b:
            return u + Q(v - u) * (t - a) / (b - a)
    return Q(values[-1])


class Oracles:
    """f_k(slope_k x + offset_k), or one f for all and h_k, without noise; vectors of one fraction."""

    def __init__(self, parameters) -> None:
        self.p, self.K = parameters, len(parameters["inner_slope"])

    def g(self, k, x, z=None):
        return self.p["inner_slope"][k] * x + self.p["inner_offset"][k]

    def jacobian(self, k, x, z=None):
        return np.array([[Q(self.p["inner_slope"][k])]], dtype=object)

    def grad_f_local(self, k, y, z=None):
        return np.array([linear(self.p["knots"][k], self.p["slopes"][k], y[0])], dtype=object)

    def grad_f_shared(self, y):
        return self.grad_f_local(0, y)

    def grad_h(self, k, x, z=None):
        return np.array([linear(self.p["extra_knots"][k], self.p["extra_slopes"][k], x[0])], dtype=object)

    def slope(self, x):
        """The derivative of the objective at a model."""
        if "extra_knots" not in self.p:
            return (
                sum(self.jacobian(k, x)[0, 0] * self.grad_f_local(k, self.g(k, x))[0] for k in range(self.K)) / self.K
            )
        inner, steep = (sum(part) / self.K for part in ([self.g(k, x) for k in range(self.K)], self.p["inner_slope"]))
        return Q(steep) * self.grad_f_shared(inner)[0] + sum(self.grad_h(k, x)[0] for k in range(self.K)) / self.K


def nothing(purpose, t, k, b, *tail):
    """One sample, which the oracles do not look at."""
    return [None]


class Conditional:
    """f_n(slope_n x + offset_n) without noise: every batch is one sample."""

    def __init__(self, parameters) -> None:
        self.whole, self.N = Oracles(parameters), len(parameters["inner_slope"])
        self.slope = self.whole.slope

    def batch(self, t, n, b):
        return [None]

    def gradient(self, n, x, batch):
        return self.whole.jacobian(n, x)[0] * self.whole.grad_f_local(n, self.whole.g(n, x))


METHODS = {
    "acc_fcsg_m": (reference.acc_fcsg_m, ("alpha", "beta", "q", "m"), 0),
    "local_scgdm": (reference.local_scgdm, ("eta", "alpha", "beta", "gamma", "p"), 0),
    "comfedl": (reference.comfedl, ("eta", "tau"), 0),
    "feddro": (reference.feddro, ("eta", "beta", "I"), 1),
}
"""Paper -> the reference, its hyperparameters, and the first model that its average counts."""
STEPS = 300
"""A longer run that moves is compared in doubles."""


def is_plain(item) -> bool:
    """Without noise, about a whole run, by the algorithm as its paper prints it."""
    given = item.data["problem"]["parameters"]
    if item.name.partition(".")[0] not in METHODS or {"place", "method"} & given.keys():
        return False
    shape = given["instance"]["parameters"]
    noises = [n for name in ("value_noise", "gradient_noise") for n in shape.get(name, ())]
    return not any(isinstance(n, dict) or n for n in noises)


def path_of(item, steps, number=Q, **more):
    """The averaged models, and the oracles."""
    run, names, _ = METHODS[item.name.partition(".")[0]]
    shape, hyper = item.data["problem"]["parameters"]["instance"]["parameters"], item.data["hyperparameters"]
    kind = Conditional if run is reference.acc_fcsg_m else Oracles
    oracles, start = kind(shape), np.array([number(shape["start"])], dtype=object)
    y = np.array([Q(shape["estimate"])], dtype=object) if "estimate" in shape else None
    given = {name: hyper[name] if name in ("p", "tau", "I", "q", "m") else number(hyper[name]) for name in names}
    path, _ = run(oracles, nothing, start, y, steps, **given, **more)
    return [sum(models) / len(models) for models in path], oracles


RUNS = sorted(name for name, item in DATA.items() if is_plain(item))


@pytest.mark.parametrize("name", RUNS)
def test_the_left_side_is_that_of_the_reference(name) -> None:
    item = DATA[name]
    steps, first = item.data["hyperparameters"]["T"], METHODS[name.partition(".")[0]][2]
    length = min(steps, STEPS)
    models, oracles = path_of(item, length)
    squares = [oracles.slope(x) ** 2 for x in models[first : first + length]]
    low, high = item.data["values"]
    if steps > length and len(set(squares)) > 1:  # a long run in doubles
        models, _ = path_of(item, steps, number=float)
        mean = sum(float(oracles.slope(x)) ** 2 for x in models[first : first + steps]) / steps
        assert mean == pytest.approx(float(low), rel=1e-9) and len(models) >= steps
        return
    assert len(squares) == length and low <= sum(squares) / length <= high
    assert high - low < low / 10**27


def test_most_runs_are_compared() -> None:
    assert {name.partition(".")[0] for name in RUNS} == set(METHODS) and len(RUNS) >= 8


@pytest.mark.parametrize("name", ["theorem_5_1", "theorem_f_1", "corollary_1"])
@pytest.mark.parametrize(("first", "update"), [(0, "keep"), (1, "update"), (0, "update")])
def test_the_other_readings_of_the_average_and_of_step_0_are_refuted_too(name, first, update) -> None:
    item = DATA[f"feddro.{name}"]
    models, oracles = path_of(item, 128, first_update=update)
    left = sum(oracles.slope(x) ** 2 for x in models[first : first + 128]) / 128
    assert set(item.alternatives.values()) == {"refuted"} and left > item.data["bound"][1]
