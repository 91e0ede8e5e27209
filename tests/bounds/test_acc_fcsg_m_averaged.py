"""The run behind the bundle `averaged_models` against Algorithm 2 in fractions, with x_{t-1} averaged as well."""

from fractions import Fraction as F

import pytest
from fedco.bounds.evaluation.enclosure import ends
from fedco.bounds.papers.acc_fcsg_m.averaged_models import RADIUS, run

SLOPES = (lambda y: 1 + max(-RADIUS, min(RADIUS, y)), lambda y: F(-1))


def written_out(q, T, alpha, beta, averaged):
    x, u, total = [F(0)] * 2, [F(0)] * 2 if averaged else [F(1), F(-1)], F(0)
    for t in range(1, T + 1):
        total += (sum(x) / 4) ** 2
        before = list(x)
        if t % q == 0:
            u, before = [sum(u) / 2] * 2, [sum(x) / 2] * 2
            x = [before[0] - alpha * u[0]] * 2
        else:
            x = [a - alpha * v for a, v in zip(x, u, strict=True)]
        old = [f(a) for f, a in zip(SLOPES, before, strict=True)]
        u = [f(a) + (1 - beta) * (v - w) for f, a, v, w in zip(SLOPES, x, u, old, strict=True)]
    return total / T


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize(("q", "T"), [(2, 7), (3, 14)])
def test_the_run_is_the_algorithm(q, T, averaged):
    exact = written_out(q, T, F(1, 7), F(1, 9), averaged)
    found, inside = run(q, T, F(1, 7), F(1, 9), averaged)
    assert inside and exact > 0 and ends(found).contains(exact)
