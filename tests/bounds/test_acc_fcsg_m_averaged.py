"""Acc-FCSG-M with x_{t-1} averaged at a communication, or u_1 before the first step, against Algorithm 2 written out in fractions."""

from fractions import Fraction as F

import pytest
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


def written_out(q, T, averaged_start, averaged_models):
    """The algorithm with the paper's own clock: x_t and u_t are averaged before the step at every t that q divides."""
    x, u, total = [F(0)] * 2, [F(0)] * 2 if averaged_start else [F(1), F(-1)], F(0)
    for t in range(1, T + 1):
        total += (sum(x) / 4) ** 2
        before = list(x)
        if t % q == 0:
            u, before = [sum(u) / 2] * 2, [sum(x) / 2] * 2 if averaged_models else before
            x = [sum(x) / 2 - ALPHA * u[0]] * 2
        else:
            x = [a - ALPHA * v for a, v in zip(x, u, strict=True)]
        old = [f(a) for f, a in zip(SLOPES, before, strict=True)]
        u = [f(a) + (1 - BETA) * (v - w) for f, a, v, w in zip(SLOPES, x, u, old, strict=True)]
    return total / T


def runs(q, T, reach=RADIUS, **options):
    problem = exact_problem(Instance("conditional", SHAPE))
    method = AccFCSGM(alpha=scalar(ALPHA), beta=scalar(BETA), q=q, m=1, **options)
    walked = stepped(method, problem, T)
    return walked, moment_average(method, problem, T, q, {"model": reach}, is_kept=False)


@pytest.mark.parametrize("start", ["own", "averaged"])
@pytest.mark.parametrize("models", ["own", "averaged"])
@pytest.mark.parametrize(("q", "T"), [(2, 7), (3, 14), (4, 13)])
def test_the_method_is_the_algorithm_under_each_reading(q, T, models, start):
    exact = written_out(q, T, start == "averaged", models == "averaged")
    walked, (low, high) = runs(q, T, first_estimate=start, previous_model=models)
    assert walked == (exact, exact) and low <= exact <= high


def test_a_run_that_leaves_its_reach_is_refused():
    with pytest.raises(CannotReplay, match="leaves the reach"):
        runs(3, 14, reach=F(1, 100), previous_model="averaged")


def test_an_average_before_the_first_step_is_sent():
    problem = exact_problem(Instance("conditional", SHAPE))
    sent = [
        AccFCSGM(alpha=0.1, beta=0.1, q=3, m=1, first_estimate=name).messages(problem, 7).rounds
        for name in ("own", "averaged")
    ]
    assert sent == [2, 3]
