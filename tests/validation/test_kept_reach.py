"""Closed second moments of FedDRO with noise in Jacobians: all sign paths, a reach that is found and shown, and what has none."""

from fractions import Fraction as Q
from itertools import product
from random import Random

import pytest
from fedco.algorithms import FedDRO
from fedco.bounds.audit.necessary import kept_bundles
from fedco.bounds.language.change import Change
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.closed_moments import found_reach, moment_average
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.exact.run import CannotReplay, scalar
from fedco.validation.falsifier.bundle import bundle_of, claimed_of, recompute
from fedco.validation.falsifier.confirm import NotConfirmed, confirm, sides
from fedco.validation.falsifier.declared import target_of
from fedco.validation.runs.bundle import from_dict

SLOPES, NOISE, DRIFT, FLAT, FAR, OFF = (Q(1), Q(4, 5)), Q(1, 20), (Q(1), Q(-1, 2)), Q(2), Q(2), Q(1, 30)
"""Slopes of the inner maps, noise of their Jacobians, slopes of h_k, where f' = y ends, where the noise does, the noise of values."""
ETA, BETA, I = Q(1, 40), Q(1, 30), 3


def instance(count=2, **changed):
    """A problem of one or two clients, with some of its numbers changed."""
    shape = {
        "inner_slope": [*SLOPES[:count]],
        "inner_offset": [Q(0)] * count,
        "value_noise": [OFF] * count,
        "gradient_noise": [Q(0)] * count,
        "knots": [[-FLAT, FLAT]],
        "slopes": [[-FLAT, FLAT]],
        "extra_knots": [[Q(-9), Q(9)]] * count,
        "extra_slopes": [[d, d] for d in DRIFT[:count]],
        "start": Q(1, 10),
        "estimate": Q(1, 7),
        "jacobian_noise": [NOISE] * count,
        "noise_reach": FAR,
    }
    return Instance("shared_composite", {**shape, **changed})


SMALL = {"extra_slopes": [[Q(1, 30)] * 2, [Q(-1, 30)] * 2], "value_noise": [Q(0)] * 2}
"""With little drift the reach is one in which all is straight."""


def method(eta=ETA, beta=BETA, **more):
    return FedDRO(eta=scalar(eta), beta=scalar(beta), I=I, **more)


def step(state, signs, t, drift, off=OFF, eta=ETA, beta=BETA):
    """Algorithm 2 written out, with the functions themselves and not their straight parts."""
    x, before, y = state
    value = [[a * v + s * (off + NOISE * v) for a, v, s in zip(SLOPES, of, signs, strict=False)] for of in (before, x)]
    if t > 0:
        y = sum((1 - beta) * (y - old) + new for old, new in zip(*value, strict=True)) / len(x)
    pull = max(-FLAT, min(FLAT, y))
    new = [v - eta * ((a + s * NOISE) * pull + d) for v, a, s, d in zip(x, SLOPES, signs, drift, strict=False)]
    if (t + 1) % I == 0:
        new = [sum(new) / len(new)] * len(new)
    assert all(abs(v) <= FAR for v in (*x, *before)), "the noise is straight there"
    return new, x, y


@pytest.mark.parametrize(("count", "steps"), [(1, 8), (2, 5)])
@pytest.mark.parametrize("after", [False, True])
def test_closed_moments_are_the_mean_over_all_sign_paths(count, steps, after):
    problem = exact_problem(instance(count, **({k: v[:count] for k, v in SMALL.items()})))
    drift = [row[0] for row in SMALL["extra_slopes"]][:count]
    slope = sum(SLOPES[:count]) / count

    def square(state):
        x = sum(state[0]) / count
        return (slope * max(-FLAT, min(FLAT, slope * x)) + sum(drift) / count) ** 2

    def total(state, t):
        if t == steps:
            return square(state) if after else Q(0)
        own = square(state) if t > 0 or not after else Q(0)
        signs = [*product((1, -1), repeat=count)]
        return own + sum(total(step(state, s, t, drift, Q(0)), t + 1) for s in signs) / len(signs)

    start = ([Q(1, 10)] * count, [Q(1, 10)] * count, Q(1, 7))
    value = total(start, 0) / steps
    low, high = moment_average(method(), problem, steps, I, after=after)
    assert low <= value <= high and high - low < low / 10**12
    other = moment_average(method(eta=ETA / 2), problem, steps, I, after=after)
    assert not other[0] <= value <= other[1]


@pytest.mark.parametrize("towards", ["random", "model", "inner value"])
def test_no_path_leaves_the_reach_that_is_found(towards):
    """Signs drawn, and signs chosen step by step to push the models or y as far as they go: some come near the reach."""
    problem = exact_problem(instance(**SMALL))
    drift = [row[0] for row in SMALL["extra_slopes"]]
    reach, rng = found_reach(method(), problem, I), Random(3)
    assert set(reach) == {"model", "inner_value"} and max(reach.values()) < FLAT
    aims = {"model": lambda s: s[0][0] + s[0][1], "inner value": lambda s: s[2]}
    state, most = ([Q(1, 10)] * 2, [Q(1, 10)] * 2, Q(1, 7)), Q(0)
    for t in range(600):
        choices = [step(state, s, t, drift, Q(0)) for s in product((1, -1), repeat=2)]
        x, before, y = rng.choice(choices) if towards == "random" else max(choices, key=aims[towards])
        state = [_short(v) for v in x], [_short(v) for v in before], _short(y)
        assert max(map(abs, state[0])) <= reach["model"] and abs(state[2]) <= reach["inner_value"]
        most = max(most, abs(state[2]) / reach["inner_value"])
    assert most > Q(1, 4), "the reach is of the right size"


def _short(v):
    """64 binary digits, as a path in fractions grows without end."""
    return Q(round(v * 2**64), 2**64)


@pytest.mark.parametrize(
    ("changed", "more", "error", "words"),
    [
        ({"knots": [[-Q(1, 8), Q(1, 8)]], "slopes": [[-Q(1, 8), Q(1, 8)]], "estimate": Q(1, 10)}, {}, Bends, "kink"),
        ({"noise_reach": Q(21, 200)}, {}, Bends, "kink"),
        ({"jacobian_noise": [Q(9, 10)] * 2}, {}, CannotReplay, "grows"),
        ({}, {"beta": Q(1, 2000)}, CannotReplay, "grows"),
    ],
)
def test_a_reach_that_is_not_kept_is_refused(changed, more, error, words):
    problem = exact_problem(instance(**{**SMALL, **changed}))
    with pytest.raises(error, match=words):
        moment_average(method(**more), problem, 30, I)


def test_a_reach_begins_where_the_run_does():
    """Far from the minimiser a run is within limits that are as many times as large; where functions bend there it is refused."""
    at = {
        x: exact_problem(instance(**SMALL, start=x, estimate=x * sum(SLOPES) / 2)) for x in (Q(0), Q(1, 2), Q(19, 10))
    }
    reach = {x: found_reach(method(), problem, I)["model"] for x, problem in at.items() if x < 1}
    assert reach[Q(1, 2)] > reach[Q(0)] and reach[Q(1, 2)] >= Q(1, 2)
    with pytest.raises(Bends):
        found_reach(method(), at[Q(19, 10)], I)


def test_no_reach_is_found_where_rounds_differ_or_are_of_other_kinds():
    with pytest.raises(CannotReplay, match="part of the clients"):
        moment_average(method(), exact_problem(instance(**SMALL)), 30, I, taking_part=1)
    with pytest.raises(CannotReplay, match="at most 1024"):
        moment_average(FedDRO(eta=scalar(ETA), beta=scalar(BETA), I=1025), exact_problem(instance(**SMALL)), 2050, 1025)


KEPT = "feddro.theorem_5_1.{}.inner_heterogeneity"


@pytest.mark.parametrize("label", ["corrected", "sharpened"])
def test_the_statement_needs_the_heterogeneity_of_the_innovation(label):
    """At its own schedule, two steps a round: the kept instance breaks it without the term, not with it, and not without the noise."""
    bundle = from_dict(kept_bundles()[KEPT.format(label)])
    claimed, change = claimed_of(bundle), Change("inner_heterogeneity", "dropped")
    theorem = get_theorem("feddro.theorem_5_1")
    assert not {"eta", "beta"} & set(claimed.hyperparameters)
    without = target_of(theorem, label, change)
    found = confirm(without, claimed)
    assert found.ratio > 2
    again = recompute(bundle_of(without, found))
    assert again.values[0] > again.bound[1]
    assert sides(target_of(theorem, label), claimed).ratio < 1
    narrow = claimed.instance.parameters | {"noise_reach": Q(1, 1000)}
    bent = Instance(claimed.instance.kind, narrow)
    with pytest.raises(NotConfirmed):
        confirm(without, type(claimed)(bent, claimed.constants, claimed.hyperparameters))
