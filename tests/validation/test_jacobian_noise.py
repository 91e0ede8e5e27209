"""Noise in the Jacobians of inner maps: its constants by brute force, products of random numbers, and the terms that it shows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from families import in_doubles, run_in_doubles
from fedco.algorithms import ComFedL, FedDRO
from fedco.bounds.audit.bundled import clients_of
from fedco.bounds.language.bounding import SAMPLE, lipschitz, noise, size
from fedco.bounds.language.change import Change
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.long_run import in_powers
from fedco.validation.exact.noise import AllPaths, Noisy, expectation
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.exact.run import CannotReplay, Walk, expected, scalar, stepped
from fedco.validation.exact.tensor import ExactTensor
from fedco.validation.falsifier.confirm import Claimed, NotConfirmed, confirm, left_side
from fedco.validation.falsifier.declared import Target, formula_of, target_of
from fedco.validation.falsifier.lemma import Place
from fedco.validation.falsifier.noise import measured, moments, paths, signs_of
from fedco.validation.falsifier.search_spaces import search_spaces
from hypothesis import given, settings
from hypothesis import strategies as st

WIDE, LEFT = [Q(-900), Q(900)], [Q(-1800), Q(-900)]
LOCAL = {
    "inner_slope": [Q(1), Q(1, 2)],
    "inner_offset": [Q(0), Q(1)],
    "value_noise": [Q(1, 4), Q(0)],
    "gradient_noise": [Q(0), Q(0)],
    "knots": [LEFT, LEFT],
    "slopes": [[Q(0), Q(3)], [Q(0), Q(2)]],
    "start": Q(1, 5),
    "jacobian_noise": [Q(2, 3), Q(-1, 2)],
    "noise_reach": Q(50),
}
SHARED = {
    **LOCAL,
    "knots": [LEFT],
    "slopes": [[Q(0), Q(3)]],
    "extra_knots": [WIDE, WIDE],
    "extra_slopes": [[Q(-450), Q(450)], [Q(-900), Q(900)]],
    "estimate": Q(1),
}
METHODS = {
    "local_composite": lambda f: ComFedL(eta=f(Q(1, 8)), tau=2, problem_form="special"),
    "shared_composite": lambda f: FedDRO(eta=f(Q(1, 8)), beta=f(Q(1, 3)), I=2),
}
STRAIGHT = {kind: Instance(kind, given) for kind, given in (("local_composite", LOCAL), ("shared_composite", SHARED))}
"""The noise is affine in its signs: outer functions are straight, the noise of a Jacobian is the same wherever a short run comes."""
BENT = {
    "local_composite": Instance(
        "local_composite", {**LOCAL, "knots": [WIDE] * 2, "slopes": [WIDE, [Q(-450), Q(450)]], "noise_reach": Q(1, 4)}
    ),
    "shared_composite": Instance(
        "shared_composite", {**SHARED, "knots": [WIDE], "slopes": [WIDE], "noise_reach": Q(1, 4)}
    ),
}
"""Signs multiply each other."""


# --- constants -----------------------------------------------------------------------------------------------------------

NUMBERS = st.fractions(-3, 3, max_denominator=6)


def noises_at(parameters, k: int, x: Q) -> tuple[Q, Q]:
    """What the sign multiplies in the value and in the Jacobian of a client, by their definition."""
    w, j = parameters["noise_reach"], parameters["jacobian_noise"][k]
    far = min(abs(x), 2 * w)
    flat, falling = min(far, w), max(far - w, Q(0))
    area = j * (flat + falling - falling**2 / (2 * w))
    return parameters["value_noise"][k] + (area if x > 0 else -area), j * (1 if far <= w else (2 * w - far) / w)


@settings(max_examples=20)
@given(
    slopes=st.tuples(NUMBERS, NUMBERS),
    values=st.tuples(NUMBERS, NUMBERS),
    jacobians=st.tuples(NUMBERS, NUMBERS),
    reach=st.fractions(Q(1, 6), 3, max_denominator=6),
)
@pytest.mark.parametrize("kind", STRAIGHT)
def test_constants_are_the_largest_that_the_oracles_have(kind, slopes, values, jacobians, reach) -> None:
    """At points between and beyond the ends of the noise, which are among them, exactly; in doubles they are the same."""
    given = {"inner_slope": [*slopes], "value_noise": [*values], "jacobian_noise": [*jacobians], "noise_reach": reach}
    instance = Instance(kind, {**STRAIGHT[kind].parameters, **given})
    problem, points = exact_problem(instance), [reach * k / 6 for k in range(-18, 19)]
    found = problem.constants()
    at = {(k, x): noises_at(instance.parameters, k, x) for k, x in product((0, 1), points)}
    samples = {
        (k, z): [(slopes[k] * x + z * at[k, x][0], slopes[k] + z * at[k, x][1]) for x in points]
        for k, z in product((0, 1), (1, -1))
    }
    assert found["inner_value_noise"] == max(abs(value) for value, _ in at.values())
    assert found["inner_jacobian_noise"] == max(abs(of) for _, of in at.values())
    assert found["inner_noise"] == max(found["inner_value_noise"], found["inner_jacobian_noise"])
    square = max(slopes[k] ** 2 + of**2 for (k, _), (_, of) in at.items())
    assert 0 <= found["inner_jacobian_mean_square"] ** 2 - square <= Q(1, 10**30)
    assert found["inner_mean_square_lipschitz"] == found["inner_jacobian_mean_square"]
    assert found["inner_sample_lipschitz"] == max(abs(j) for sample in samples.values() for _, j in sample)
    pairs = [pair for sample in samples.values() for pair in pairwise(sample)]
    assert found["inner_sample_smoothness"] == max(abs(b[1] - a[1]) for a, b in pairs) / (reach / 6)
    assert max(abs(b[0] - a[0]) for a, b in pairs) / (reach / 6) <= found["inner_sample_lipschitz"]
    assert found["inner_lipschitz"] == max(map(abs, slopes)) and found["inner_smoothness"] == 0
    certified = {
        n: float(v[0]) for n, v in in_doubles(instance).constants().items() if n.startswith(("inner", "composite"))
    }
    assert {"inner_value_noise", "inner_jacobian_noise", "inner_sample_smoothness"} <= set(certified) & set(found)
    assert certified == pytest.approx({n: float(found.get(n, certified[n])) for n in certified}, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("kind", STRAIGHT)
@pytest.mark.parametrize("x", [Q(-7), Q(-3, 2), Q(-1, 3), Q(0), Q(1), Q(5, 4), Q(2), Q(9)])
def test_the_oracles_are_those_of_the_definition(kind, x) -> None:
    instance = replace(STRAIGHT[kind], parameters={**STRAIGHT[kind].parameters, "noise_reach": Q(1)})
    problem, family, draws = exact_problem(instance), in_doubles(instance, 2), AllPaths(2, 2)
    sample = problem.sample(draws.at(0), 1)
    given = instance.parameters
    for lane, k in product(range(4), (0, 1)):
        z = Q(1 if (lane >> k) & 1 else -1)
        of_value, of_jacobian = noises_at(given, k, x)
        models = ExactTensor.of([[[x], [x]]] * 4)
        assert (
            problem.inner(models, sample).numbers[lane, k, 0]
            == given["inner_slope"][k] * x + given["inner_offset"][k] + z * of_value
        )
        assert (
            problem.inner_vjp(models, models, sample).numbers[lane, k, 0]
            == (given["inner_slope"][k] + z * of_jacobian) * x
        )
    atoms, weights = family.atoms()
    assert len(weights) == 4 or len(weights) == 2
    at = torch.full((2, 2, 1), float(x), dtype=torch.float64)
    signs = atoms.inner[:, :, :1]
    expected_values = [
        float(given["inner_slope"][k] * x + given["inner_offset"][k])
        + float(signs[0, k, 0]) * float(noises_at(given, k, x)[0])
        for k in (0, 1)
    ]
    one = type(atoms)(signs, atoms.other[:, :, :1])
    assert family.inner(at, one)[0, :, 0].tolist() == pytest.approx(expected_values, rel=1e-14)


def test_noise_without_a_reach_is_refused() -> None:
    without = Instance("local_composite", {**LOCAL, "noise_reach": Q(0)})
    with pytest.raises(ValueError, match="noise_reach: wanted a positive number"):
        exact_problem(without).constants()
    assert in_doubles(without).constants()["inner_sample_smoothness"].item() == float("inf")


@pytest.mark.parametrize("kind", STRAIGHT)
def test_a_bundle_says_which_assumptions_its_jacobians_satisfy(kind) -> None:
    instance = replace(STRAIGHT[kind], parameters={**STRAIGHT[kind].parameters, "noise_reach": Q(1)})
    clients, constants = clients_of(kind, instance.parameters), exact_problem(instance).constants()
    for form, quantity in (
        (noise("inner_jacobian"), "inner_jacobian_noise"),
        (noise("inner_value"), "inner_value_noise"),
        (size("inner_jacobian", SAMPLE), "inner_sample_lipschitz"),
        (lipschitz("inner_jacobian", SAMPLE), "inner_sample_smoothness"),
    ):
        assert clients.satisfies(form, constants[quantity]), quantity
        assert not clients.satisfies(form, constants[quantity] * Q(999, 1000)), quantity


# --- products of random numbers ------------------------------------------------------------------------------------------

PARTS = st.dictionaries(st.integers(0, 2), NUMBERS, min_size=1, max_size=3)


@given(a=st.tuples(NUMBERS, PARTS), b=st.tuples(NUMBERS, PARTS))
def test_a_blurred_product_holds_every_value(a, b) -> None:
    """What is affine in it, and a rest of at most its size, for all signs, the same ones in both included."""
    x, y = Noisy(*a), Noisy(*b)
    blurred = Noisy.blurred(x, y)
    assert blurred.is_blurred and blurred.is_free
    for signs in product((1, -1), repeat=3):
        at = [n.centre + sum(part * signs[i] for i, part in n.parts.items() if i >= 0) for n in (x, y, blurred)]
        rest = sum(abs(part) for i, part in blurred.parts.items() if i < 0)
        assert abs(at[0] * at[1] - at[2]) <= rest
    if any(part for i, part in blurred.parts.items() if i < 0):
        with pytest.raises(Bends):
            expectation(blurred)


def test_two_products_are_never_one_number() -> None:
    a, b = Noisy.sign(0), Noisy.sign(1)
    assert (Noisy.blurred(a, b) - Noisy.blurred(a, b)).reach == 2


@pytest.mark.parametrize("kind", STRAIGHT)
def test_a_run_in_front_of_straight_functions_is_affine_in_its_signs(kind) -> None:
    """Closed moments, exactly and in doubles, and the mean over all paths; three steps have more signs than an exact run takes paths."""
    instance, steps = STRAIGHT[kind], 3
    run, method = run_in_doubles(instance, METHODS[kind](float), steps), METHODS[kind]
    exact, _ = stepped(method(scalar), exact_problem(instance), steps)
    count = signs_of(run, 2)
    for law in (moments(count), paths(count)):
        squares, astray = measured(run, 2, law)
        assert law.expectation(squares)[:steps].mean() == pytest.approx(float(exact), rel=1e-9)
        assert astray[0] == 0
    silent = replace(instance, parameters={**instance.parameters, "jacobian_noise": [Q(0)] * 2})
    assert kind == "local_composite" or exact > stepped(method(scalar), exact_problem(silent), steps)[0]


@pytest.mark.parametrize("kind", BENT)
def test_where_signs_multiply_all_paths_are_followed(kind) -> None:
    instance, steps = BENT[kind], 3
    run, method = run_in_doubles(instance, METHODS[kind](float), steps), METHODS[kind]
    exact, _ = stepped(method(scalar), exact_problem(instance), steps)
    count = signs_of(run, 2)
    squares, _ = measured(run, 2, paths(count))
    assert paths(count).expectation(squares)[:steps].mean() == pytest.approx(float(exact), rel=1e-9)
    alone, _ = measured(run, 2, moments(count))
    assert moments(count).expectation(alone)[:steps].mean() != pytest.approx(float(exact), rel=1e-5)


def test_a_round_that_noise_multiplies_has_no_powers() -> None:
    """The estimate that FedDRO keeps is a product of random numbers, of which a matrix knows nothing."""
    with pytest.raises((Bends, CannotReplay)):
        in_powers(METHODS["shared_composite"](scalar), exact_problem(STRAIGHT["shared_composite"]), 200, 2)


# --- lemmas --------------------------------------------------------------------------------------------------------------


def claimed_of(target: Target, instance: Instance, place: Place, **free: Q) -> Claimed:
    """An instance with the constants that it has, those that are 0 as small as one likes."""
    certified = exact_problem(instance).constants()
    constants = {
        name: certified[b.quantity.name] or Q(1, 10**12)
        for name, b in target.symbols.items()
        if b.quantity.role == "constant"
    }
    named = {n: free.get(n, Q(1)) for n, b in target.symbols.items() if b.quantity.role == "hyperparameter"}
    return Claimed(instance, constants, named, place=place)


ONE = {**{n: v[:1] if isinstance(v, list) else v for n, v in LOCAL.items()}, "inner_offset": [Q(0)]}
STEEP = Instance(
    "local_composite",
    {
        **ONE,
        "inner_slope": [Q(0)],
        "start": Q(0),
        "value_noise": [Q(0)],
        "knots": [[Q(-(10**9)), Q(-900)]],
        "slopes": [[Q(0), Q(1000)]],
        "jacobian_noise": [Q(1, 100)],
        "noise_reach": Q(1, 10),
    },
)
APART = Instance(
    "shared_composite",
    {
        **SHARED,
        "value_noise": [Q(0)] * 2,
        "inner_slope": [Q(1)] * 2,
        "extra_slopes": [[Q(0)] * 2] * 2,
        "knots": [[Q(-(10**9)), Q(-900)]],
        "slopes": [[Q(0), Q(3)]],
        "jacobian_noise": [Q(1)] * 2,
        "noise_reach": Q(1, 2),
    },
)
NEEDED = {
    "comfedl.lemma_3": ("inner_jacobian_noise", STEEP, Place(0, 1), {"eta": Q(1, 10**6)}),
    "comfedl.lemma_4": ("inner_jacobian_noise", STEEP, Place(0, 1), {"eta": Q(1, 10**6)}),
    "feddro.lemma_f_3": ("variance_g", APART, Place(1, 2), {"eta": Q(1, 10**6), "I": Q(2), "K": Q(2), "beta": Q(1, 2)}),
}


@pytest.mark.parametrize("name", NEEDED)
def test_an_instance_needs_the_term_for_the_noise_of_jacobians(name) -> None:
    part, instance, place, free = NEEDED[name]
    lemma = get_theorem(name)
    whole, without = target_of(lemma, "composed"), target_of(lemma, "composed", Change(part, "dropped"))
    assert confirm(without, claimed_of(without, instance, place, **free)).ratio > 2
    with pytest.raises(NotConfirmed, match="the bound holds"):
        confirm(whole, claimed_of(whole, instance, place, **free))
    silent = replace(
        instance,
        parameters={**instance.parameters, "jacobian_noise": [Q(0)] * len(instance.parameters["jacobian_noise"])},
    )
    with pytest.raises(NotConfirmed):
        confirm(without, claimed_of(without, silent, place, **free))


def test_a_left_side_is_made_of_expectations_along_all_paths() -> None:
    """Lemma 2 of ComFedL is compared with the square of the mean distance, which is less than the mean of its square."""
    curved = replace(
        STEEP,
        parameters={
            **STEEP.parameters,
            "knots": [[Q(-2), Q(2)]],
            "slopes": [[Q(-9), Q(9)]],
            "inner_slope": [Q(1)],
            "noise_reach": Q(1, 4),
            "jacobian_noise": [Q(3)],
            "start": Q(1, 5),
        },
    )
    target = target_of(get_theorem("comfedl.lemma_2"), "composed")
    claimed = claimed_of(target, curved, Place(2, 3), eta=Q(1, 16), tau=Q(3))
    (low, _), _, _ = left_side(target, claimed)

    def distances(draws) -> list[Q]:
        run = Walk(ComFedL(eta=scalar(Q(1, 16)), tau=3), exact_problem(curved), curved.parameters["start"], draws)
        run.step(), run.step()
        return [abs(x - curved.parameters["start"]) for x in run.averages]

    found = expected(exact_problem(curved), distances, by_path=True)
    mean = sum(found, Q(0)) / len(found)
    assert low == mean**2 < sum((d * d for d in found), Q(0)) / len(found)


# --- what is searched ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label"),
    [("comfedl.lemma_4", "composed"), ("feddro.lemma_f_3", "composed"), ("local_scgdm.lemma_a_2", "corrected")],
)
def test_noise_in_jacobians_is_searched_in_closed_moments_and_over_all_paths(name, label) -> None:
    """Along the run of a lemma too, and all paths are as many as an exact run takes, looking ahead included."""
    target = target_of(get_theorem(name), label)
    found = [
        s
        for s in search_spaces(target, formula_of(target))
        if "jacobian_noise" in s.numbers(np.full((1, s.size), 0.65))[0]
    ]
    assert {s.law.name for s in found} == {"moments", "paths"}
    assert all(s.path_signs <= 10 for s in found if s.law.name == "paths")
    assert all((s.numbers(np.full((1, s.size), 0.65))[0]["jacobian_noise"] != 0).all() for s in found)
