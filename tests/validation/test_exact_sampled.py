"""What bounds functions with the noise of a sign: the largest of what the words of a row say, over points between and beyond the knots."""

from collections.abc import Callable
from fractions import Fraction as Q
from itertools import pairwise
from random import Random

import pytest
from fedco.bounds.language.bounding import (
    AVERAGE,
    MEAN_SQUARE,
    SAMPLE,
    Form,
    lipschitz,
    noise,
    noise_size,
    size,
    unlike,
)
from fedco.validation.exact.curve import Curve
from fedco.validation.exact.sampled import Sampled, constants_of

POINTS = [Q(i, 12) for i in range(-60, 61)]
"""The knots below are among them."""
Clients = list[tuple[Curve, Q]]


def clients_of(seed: int, beyond: Q = Q(0)) -> Clients:
    rng = Random(seed)
    knots = [sorted(rng.sample(range(-9, 10), 4)) for _ in range(3)]
    rows = [tuple((Q(t, 3), Q(rng.randint(-6, 6), 2)) for t in row) for row in knots]
    return [(Curve(row, beyond), Q(rng.randint(-3, 3), 2)) for row in rows]


def samples(client: tuple[Curve, Q], t: Q) -> list[Q]:
    curve, jolt = client
    return [curve(t) + jolt, curve(t) - jolt]


def mean(numbers: list[Q]) -> Q:
    return sum(numbers, Q(0)) / len(numbers)


def everywhere(of: Callable[[tuple[Curve, Q], Q], Q]) -> Callable[[Clients], Q]:
    return lambda clients: max(of(client, t) for client in clients for t in POINTS)


def steepest(clients: Clients) -> Q:
    steps = [(b - a, a, b) for a, b in pairwise(POINTS)]
    return max(((curve(b) - curve(a)) / step) ** 2 for curve, _ in clients for step, a, b in steps)


def apart(clients: Clients, t: Q) -> list[Q]:
    values = [curve(t) for curve, _ in clients]
    return [(value - mean(values)) ** 2 for value in values]


DEFINED: dict[Form, Callable[[Clients], Q]] = {
    size("local_gradient"): everywhere(lambda client, t: client[0](t) ** 2),
    size("local_gradient", SAMPLE): everywhere(lambda client, t: max(x**2 for x in samples(client, t))),
    size("local_gradient", MEAN_SQUARE): everywhere(lambda client, t: mean([x**2 for x in samples(client, t)])),
    lipschitz("local_gradient"): steepest,
    lipschitz("local_gradient", SAMPLE): steepest,
    noise("local_gradient"): lambda clients: max(jolt**2 for _, jolt in clients),
    noise_size("local_gradient"): lambda clients: max(jolt**2 for _, jolt in clients),
    unlike("local_gradient"): lambda clients: max(x for t in POINTS for x in apart(clients, t)),
    unlike("local_gradient", over=AVERAGE): lambda clients: max(mean(apart(clients, t)) for t in POINTS),
}


@pytest.mark.parametrize("form", DEFINED, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_number_of_which_a_row_is_true(form: Form, seed: int) -> None:
    clients = clients_of(seed)
    functions = Sampled.of([curve for curve, _ in clients], [jolt for _, jolt in clients])
    assert functions.is_bounded(form)
    assert functions.largest_square(form) == DEFINED[form](clients) > 0


def test_what_grows_for_ever_has_no_bound() -> None:
    curves = [curve for curve, _ in clients_of(5, Q(2))]
    growing, parting = Sampled.of(curves), Sampled.of([*curves, Curve(((Q(0), Q(0)),))])
    assert [growing.is_bounded(form) for form in DEFINED] == [
        form.kind != size("local_gradient").kind for form in DEFINED
    ]
    assert not parting.is_bounded(unlike("local_gradient")) and parting.is_bounded(noise("local_gradient"))
    assert Sampled.of([Curve(((Q(0), Q(0)), (Q(1), Q(2))), Q(7))]).largest_square(lipschitz("local_gradient")) == 49
    assert not growing.is_bounded(Form("strong convexity constant", "objective"))
    louder = Sampled.of([Curve(((Q(0), Q(0)),))], [Curve(((Q(0), Q(0)),), Q(1))])
    assert not any(louder.is_bounded(form) for form in (noise("local_gradient"), noise_size("local_gradient")))


def test_a_row_of_several_bounds_needs_all_of_its_functions() -> None:
    flat = Sampled.of([Curve(((Q(0), Q(1)),))], [Q(3)])
    found = constants_of({"inner_value": flat, "inner_jacobian": Sampled.of([Curve(((Q(0), Q(1)),))], [Q(5)])})
    assert found["inner_value_noise"] == 3 and found["inner_jacobian_noise"] == found["inner_noise"] == 5
    assert "composite_noise" not in found and "outer_lipschitz" not in found
    assert found["inner_sample_lipschitz"] == 6 and found["inner_jacobian_mean_square"] ** 2 >= 26
