"""Acc-FCSG-M with x_{t-1} averaged at a communication, or u_1 before the first step: the exact engine and `reference` in fractions."""

from fractions import Fraction as F

import numpy as np
import pytest
import reference
from fedco.algorithms import AccFCSGM
from fedco.validation.exact.base import Instance
from fedco.validation.exact.closed_moments import moment_average
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.run import CannotReplay, scalar, stepped

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
    problem = exact_problem(Instance("conditional", SHAPE))
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
