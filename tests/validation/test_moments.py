"""The moments by matrix powers against the rational recursion, against closed forms, and at horizons beyond any loop."""

from fractions import Fraction

import pytest
from exact_moments import Chain, affine_map
from fedco.bounds.evaluation.enclosure import EnclosureError
from fedco.bounds.evaluation.moments import RandomMap, Recursion
from linear_quadratic import Numbers, exact_chain, gradient_statistic

F = Fraction
METHODS = {
    "local_scgdm": (dict(eta=F(1, 8), alpha=F(2), beta=F(1), gamma=F(2), p=3), True),
    "comfedl": (dict(eta=F(1, 8), tau=2), False),
    "fcsg": (dict(alpha=F(1, 8), q=4, m=2), False),
    "feddro": (dict(eta=F(1, 8), beta=F(1, 4), I=3), True),
    "modified_fedavg": (dict(eta=F(1, 16), I=3), False),
}
"""Hyperparameters, and whether step 0 differs from the others."""
AVERAGED = {"local_scgdm": ("x", "u", "m")}


def averaging(method, clients, size):
    """The communication on (1, z): each of the method's averaged tensors comes as one entry per client (dim = 1)."""
    rows = [[F(i == j) for j in range(1 + size)] for i in range(1 + size)]
    for block in range(len(AVERAGED.get(method, ("x",)))):
        mine = range(1 + block * clients, 1 + (block + 1) * clients)
        for i in mine:
            rows[i] = [F(1, clients) if j in mine else F(0) for j in range(1 + size)]
    return RandomMap([(1, rows)])


def recursion_of(name):
    settings, special = METHODS[name]
    numbers = Numbers.generated(clients=2, dim=1, inner_dim=1, seed=5)
    problem, chain = exact_chain(name, numbers, settings)
    period = next(v for k, v in settings.items() if k in ("p", "tau", "q", "I"))
    local, first = RandomMap(chain.maps(period)), RandomMap(chain.maps(0))
    share = averaging(name, 2, len(chain.start))
    return problem, chain, Recursion(chain.start, local, share, period, first if special else None)


@pytest.mark.parametrize("name", METHODS)
def test_powers_agree_with_the_rational_recursion(name):
    """Every horizon up to two rounds and a bit: whole rounds, unfinished ones, and the step 0 that differs."""
    problem, chain, recursion = recursion_of(name)
    G = gradient_statistic(problem, chain)
    exact = chain.mean_square(G, 11)
    assert len(set(exact)) == 12
    for t, value in enumerate(exact):
        found = recursion.mean_square(G, t)
        assert found.contains(value) and found.width <= value / 10**12
    for steps in (1, 2, 3, 4, 7, 11):
        before, after = recursion.average(G, steps), recursion.average(G, steps, after=True)
        assert before.contains(sum(exact[:steps]) / steps) and after.contains(sum(exact[1 : steps + 1]) / steps)


@pytest.mark.parametrize("name", ["local_scgdm", "feddro"])
def test_a_wrong_period_and_a_forgotten_first_step_are_seen(name):
    problem, chain, right = recursion_of(name)
    G = gradient_statistic(problem, chain)
    value = chain.mean_square(G, 11)[-1]
    no_first = Recursion(right.start, right.local, right.communication, right.period)
    longer = Recursion(right.start, right.local, right.communication, right.period + 1, right.first)
    silent = Recursion(right.start, right.local, None, right.period, right.first)
    assert not any(other.mean_square(G, 11).contains(value) for other in (no_first, longer, silent))


def walk(rate, noise):
    """z -> (1 - rate) z + centred noise of variance `noise`."""
    return Recursion([F(3)], RandomMap([(1, [[1, 0], [0, 1 - rate]])], [[0, 0], [0, noise]]))


def test_the_closed_form_of_one_variable_at_huge_horizons():
    rate, noise, T = F(1, 10**15), F(1, 7), 10**20
    kept = (1 - rate) ** 2
    level = noise / (1 - kept)
    value = walk(rate, noise).mean_square([[0, 1]], T)
    assert abs(value.lower - level) < level / 10**11, "after T >> 1/rate nothing is left of the start"
    assert walk(rate, noise).mean_square([[0, 1]], 3).contains(kept**3 * 9 + noise * (1 + kept + kept**2))
    average = walk(rate, noise).average([[0, 1]], T)
    start_fades = (9 - level) / (1 - kept) / T  # the sum of (9 - level) kept^t
    assert abs(average.lower - (level + start_fades)) < average.lower / 10**10


def test_additive_noise_and_a_random_outcome_of_the_same_law_agree():
    signs = RandomMap([(F(1, 2), [[1, 0], [s, F(1, 2)]]) for s in (F(1, 3), F(-1, 3))])
    added = RandomMap([(1, [[1, 0], [0, F(1, 2)]])], [[0, 0], [0, F(1, 9)]])
    G = [[0, 1], [1, 2]]
    for steps in (1, 5, 10**6):
        one, other = (Recursion([F(2)], local).average(G, steps) for local in (signs, added))
        assert one.lower <= other.upper and other.lower <= one.upper


def test_random_participation_is_a_random_communication():
    """With probability 1/2 the second client's model replaces both: E z^2 by hand."""
    local = RandomMap([(1, [[1, 0, 0], [0, 2, 0], [0, 0, 3]])])
    share = RandomMap([(F(1, 2), [[1, 0, 0], [0, 1, 0], [0, 1, 0]]), (F(1, 2), [[1, 0, 0], [0, 0, 1], [0, 0, 1]])])
    two = Recursion([F(1), F(1)], local, share, period=2)
    assert two.mean_square([[0, 1, 0]], 2).contains(F(16 + 81, 2))
    assert two.mean_square([[0, 0, 1]], 3).contains(F(9) * F(16 + 81, 2))


def test_an_affine_map_is_found_by_its_values():
    assert affine_map(lambda z: [2 * z[0] + z[1] + 5, -z[1]], 2) == [[1, 0, 0], [5, 2, 1], [0, 0, -1]]


def test_what_is_no_recursion_is_refused():
    with pytest.raises(ValueError, match="sum of 1"):
        RandomMap([(F(1, 2), [[1, 0], [0, 1]])])
    with pytest.raises(ValueError, match="rows and columns"):
        RandomMap([(1, [[1, 0], [0, 1, 0]])])
    with pytest.raises(ValueError, match="first row"):
        RandomMap([(1, [[1, 1], [0, 1]])])
    with pytest.raises(ValueError, match="has no noise"):
        RandomMap([(1, [[1, 0], [0, 1]])], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="period"):
        Recursion([0], RandomMap([(1, [[1, 0], [0, 1]])]), period=0)
    with pytest.raises(ValueError, match="entries"):
        Recursion([0, 0], RandomMap([(1, [[1, 0], [0, 1]])]))
    with pytest.raises(ValueError, match="at least 1"):
        walk(F(1, 2), F(1)).average([[0, 1]], 0)
    with pytest.raises(ValueError, match="entries"):
        walk(F(1, 2), F(1)).average([[1]], 3)


def test_an_enclosure_too_wide_is_an_error():
    """(z_1 - z_2)^2 is 0 after averaging, and a ball around 0 has no relative width."""
    thirds = [[1, 0, 0], [0, F(1, 3), F(2, 3)], [0, F(1, 3), F(2, 3)]]
    flat = Recursion([F(1, 7), F(1, 3)], RandomMap([(1, thirds)]))
    with pytest.raises(EnclosureError, match="relative"):
        flat.mean_square([[0, 1, -1]], 5)


def test_the_rational_chain_takes_its_maps_from_the_same_function():
    chain = Chain([F(1)], lambda z, outcome, t: [z[0] / 2 + outcome], [(F(1), F(1, 2)), (F(-1), F(1, 2))], lambda t: 0)
    assert chain.maps(0) == [(F(1, 2), [[1, 0], [1, F(1, 2)]]), (F(1, 2), [[1, 0], [-1, F(1, 2)]])]
