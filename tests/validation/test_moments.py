"""The moments by matrix powers against the mean over all paths of the noise, against closed forms, and at horizons beyond any loop."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from fedco.bounds.evaluation.enclosure import EnclosureError
from fedco.bounds.evaluation.moments import RandomMap, Recursion

F = Fraction
G = [[F(1), F(2), F(-1)], [F(0), F(1, 2), F(1)]]
STEPS = 8


def random_map(rng, *chances):
    """z in R^2 goes to one affine function of it or another, with these probabilities."""

    def row():
        return [F(rng.randint(-6, 6), 8) for _ in range(3)]

    return RandomMap([(chance, [[1, 0, 0], row(), row()]) for chance in chances])


def drawn(seed, special=True):
    """Rounds of three steps; `special` where step 0 differs from the others."""
    rng = Random(seed)
    local, share, first = random_map(rng, F(1, 3), F(2, 3)), random_map(rng, F(1)), random_map(rng, F(1, 4), F(3, 4))
    return Recursion([F(2), F(-1)], local, share, 3, first if special else None)


def over_all_paths(recursion):
    """E|G Z_t|^2 for t = 0, ..., STEPS."""

    def times(rows, Z):
        return [sum(a * v for a, v in zip(row, Z, strict=True)) for row in rows]

    states, found = [(F(1), [F(1), *recursion.start])], []
    for t in range(STEPS + 1):
        found.append(sum(chance * sum(v * v for v in times(G, Z)) for chance, Z in states))
        parts = [recursion.first if t == 0 and recursion.first else recursion.local]
        parts += [recursion.communication] if (t + 1) % recursion.period == 0 else []
        for part in parts:
            states = [(chance * p, times(M, Z)) for chance, Z in states for p, M in part.outcomes]
    return found


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_powers_agree_with_the_mean_over_all_paths(seed, special):
    """Every horizon up to two rounds and a bit: whole rounds, unfinished ones, and the step 0 that differs."""
    recursion = drawn(seed, special)
    exact = over_all_paths(recursion)
    assert len(set(exact)) == STEPS + 1
    for t, value in enumerate(exact):
        found = recursion.mean_square(G, t)
        assert found.contains(value) and found.width <= value / 10**12
    for steps in (1, 2, 3, 4, 7, STEPS):
        before, after = recursion.average(G, steps), recursion.average(G, steps, after=True)
        assert before.contains(sum(exact[:steps]) / steps) and after.contains(sum(exact[1 : steps + 1]) / steps)


@pytest.mark.parametrize("changed", [{"first": None}, {"period": 4}, {"communication": None}], ids=str)
def test_a_wrong_period_and_a_forgotten_first_step_are_seen(changed):
    value = over_all_paths(drawn(0))[-1]
    assert not replace(drawn(0), **changed).mean_square(G, STEPS).contains(value)


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
