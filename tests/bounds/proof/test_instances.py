"""The concrete functions on which steps of proofs are compared: each is its formula, and each constant its supremum over points.

The suprema are taken over a grid that has the corners where they are attained; the functions are worked out here once more in plain
numbers, one client and one component at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import sqrt
from random import Random

import numpy as np
import pytest
from fedco.bounds.language.bounding import AVERAGE, FROBENIUS, MEAN_SQUARE, OPERATOR, Form, lipschitz, squares, unlike
from fedco.bounds.language.bounding import noise as noise_of
from fedco.bounds.language.bounding import size as size_of
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.proof.finite import LAW
from fedco.bounds.proof.instances import (
    IDENTITY,
    ROLES,
    TURNED,
    Functions,
    Shape,
    constant,
    largest_square,
    part_of,
    turned,
)
from fedco.bounds.proof.kernel import Function, Index, Setting, Source, parameter
from flint import fmpq

CLIENT = frozenset({"k"})
SETTING = Setting(
    (Index("k", parameter("K", count=True)),),
    (Source("a", ("k",), "independent"), Source("b", ("k",), "independent")),
    (
        Function("inner", "x", "y", ("a", "b"), CLIENT, CLIENT),
        Function("J", "x", ("x", "dy"), ("a", "b"), CLIENT, CLIENT),
        Function("plain", "x", "x", ("a", "b"), CLIENT, CLIENT),
        Function("error", "x", "x", ("a", "b"), CLIENT, CLIENT),
        Function("outer", "y", "dy", ("a", "b"), CLIENT, CLIENT),
    ),
    (),
)
CORE, WIDTH = fmpq(1), fmpq(3)
PLACES = tuple(fmpq(x) for x in (-4, -1, 0, 2, 4, 9))
"""Both ends of what bends, and points in it and beyond it."""
CLIENTS = range(3)
OUTCOMES = tuple(((p * q), (v, w)) for (p, v), (q, w) in product(LAW, LAW))


def shape_of(role: str, seed: int, *, straight: bool = True, alike: bool = True) -> Shape:
    """Any numbers, of either sign; without a linear part, or with one that is alike for all clients, where a constant needs it."""
    rng = Random(f"{role} {seed}")

    def table(*axes: int) -> np.ndarray:
        made = [
            fmpq(rng.choice([-5, -3, -2, -1, 1, 2, 3, 4]), rng.choice([2, 3, 4])) for _ in range(int(np.prod(axes)))
        ]
        return np.array(made, dtype=object).reshape(axes)

    linear = (1 + 3 * (seed % 2)) * table(2, 3)
    if role != "outer" and not straight:
        linear = 0 * linear
    if role == "plain" and alike:
        linear = linear[:, :1].repeat(3, axis=1)
    width = fmpq(0) if role == "outer" else WIDTH
    turn = TURNED if role == "plain" else IDENTITY
    bent, moved, none = table(2, 3), table(2, 3), 0 * linear
    tables = (none, linear, moved, none) if role == "outer" else (linear, bent, none, moved)
    return Shape(*tables, table(2, 2, 3), table(2, 2, 3), CORE, width, TURNED, turn)


def bump(z: fmpq) -> fmpq:
    """The integral of a slope that is 1 up to 1, falls to 0 until 4, and is 0 from there."""
    size = min(abs(z), CORE + WIDTH)
    bent = max(size - CORE, fmpq(0))
    found = size - bent * bent / (2 * WIDTH)
    return found if z >= 0 else -found


def slope(z: fmpq) -> fmpq:
    return max(fmpq(0), min(fmpq(1), 1 - (abs(z) - CORE) / WIDTH))


def strength(base: np.ndarray, by_sample: np.ndarray, samples: tuple, i: int, k: int) -> fmpq:
    return base[i][k] + sum((w * by_sample[s][i][k] for s, w in enumerate(samples)), fmpq(0))


def value(role: str, shape: Shape, z: tuple, samples: tuple, k: int) -> tuple[fmpq, ...]:
    """In the coordinates of the function, before it is turned back."""
    found = []
    for i, x in enumerate(z):
        if role == "outer":
            clipped = max(-shape.core, min(shape.core, x - shape.centre[i][k]))
            noise = strength(0 * shape.curved, shape.nu, samples, i, k)
            found.append(strength(shape.curved, shape.tau, samples, i, k) * clipped + noise)
        else:
            bent = strength(shape.curved, shape.tau, samples, i, k) * bump(x)
            found.append(shape.linear[i][k] * x + bent + strength(shape.offset, shape.nu, samples, i, k))
    return tuple(found)


def slopes(role: str, shape: Shape, z: tuple, samples: tuple, k: int) -> tuple[fmpq, ...]:
    """The derivative of each component by its own coordinate."""
    if role == "outer":
        inside = [abs(x - shape.centre[i][k]) < shape.core for i, x in enumerate(z)]
        return tuple(strength(shape.curved, shape.tau, samples, i, k) * inside[i] for i in range(2))
    return tuple(
        shape.linear[i][k] + strength(shape.curved, shape.tau, samples, i, k) * slope(x) for i, x in enumerate(z)
    )


def arrays(pairs: list[tuple]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(row, dtype=object) for row in zip(*pairs, strict=True))


@pytest.mark.parametrize("role", ["inner", "plain", "outer"])
def test_a_function_is_its_formula(role: str) -> None:
    """Q^T f(R x): at points of both clients, with both samples, with one averaged away, and with none."""
    shape, rng = shape_of(role, 0), Random(role)
    functions = Functions(SETTING, {role: shape})
    a, b, c, d = shape.before
    for _ in range(40):
        z = [tuple(rng.choice(PLACES) for _ in range(2)) for _ in CLIENTS]
        point = arrays([(a * u + c * v, b * u + d * v) for u, v in z])  # R^T z
        drawn = [tuple(rng.choice(LAW)[1] for _ in range(2)) for _ in CLIENTS]
        for used in ((1, 1), (1, 0), (0, 1), (0, 0)):
            samples = tuple(np.array([w[s] for w in drawn], dtype=object) if on else 0 for s, on in enumerate(used))
            found = functions.apply(role, point, samples)
            p, q, r, s = shape.after
            for k in CLIENTS:
                own = tuple(w * on for w, on in zip(drawn[k], used, strict=True))
                u, v = value(role, shape, z[k], own, k)
                assert [row[k] for row in found] == [p * u + r * v, q * u + s * v]


def test_an_operator_is_the_transposed_derivative() -> None:
    """R^T diag(slopes) Q, row by row; and a function changes by it to first order."""
    shape, rng = shape_of("inner", 1), Random(1)
    shape = Shape(**{**vars(shape), "after": (fmpq(5, 13), fmpq(12, 13), fmpq(-12, 13), fmpq(5, 13))})
    functions = Functions(SETTING, {"inner": shape, "J": shape})
    (a, b, c, d), (e, f, g, h) = shape.before, shape.after
    for _ in range(20):
        z = [tuple(rng.choice(PLACES) for _ in range(2)) for _ in CLIENTS]
        point = arrays([(a * u + c * v, b * u + d * v) for u, v in z])
        samples = tuple(np.array([rng.choice(LAW)[1] for _ in CLIENTS], dtype=object) for _ in range(2))
        found = functions.apply("J", point, samples)
        for k in CLIENTS:
            u, v = slopes("inner", shape, z[k], tuple(s[k] for s in samples), k)
            wanted = [a * u * e + c * v * g, a * u * f + c * v * h, b * u * e + d * v * g, b * u * f + d * v * h]
            assert [entry[k] for entry in np.broadcast_arrays(*found, samples[0])[:4]] == wanted


@pytest.mark.parametrize("role", ["inner", "plain", "outer"])
def test_a_function_is_the_gradient_of_its_potential(role: str) -> None:
    """By central differences, which are exact to second order of the step."""
    shape, rng, step = shape_of(role, 2), Random(role), fmpq(1, 10**6)
    shape = Shape(**{**vars(shape), "after": shape.before})  # a gradient
    functions = Functions(SETTING, {role: shape})
    for _ in range(30):
        point = arrays([tuple(rng.choice(PLACES) + fmpq(1, 7) for _ in range(2)) for _ in CLIENTS])
        samples = tuple(np.array([rng.choice(LAW)[1] for _ in CLIENTS], dtype=object) for _ in range(2))
        found = functions.apply(role, point, samples)
        for i in range(2):
            ahead, behind = (
                functions.potential(role, tuple(x + sign * step if j == i else x for j, x in enumerate(point)), samples)
                for sign in (1, -1)
            )
            quotient = (ahead - behind) / (2 * step)
            assert all(abs(q - w) < fmpq(1, 10**4) for q, w in zip(quotient, found[i], strict=True))
    middle = functions.potential(role, arrays([(0, 0)] * 3), (0, 0))
    assert role == "outer" or not any(middle)


def test_turning_there_and_back() -> None:
    vector = arrays([(fmpq(1), fmpq(2)), (fmpq(-3), fmpq(5))])
    there = turned(TURNED, vector)
    assert [row[0] for row in there] == [fmpq(3, 5) + fmpq(8, 5), fmpq(-4, 5) + fmpq(6, 5)]
    back = turned(TURNED, there, back=True)
    assert all((x == y).all() for x, y in zip(back, vector, strict=True))


def test_a_random_set_has_weights_of_mean_one() -> None:
    sets = ((0, 1), (0, 2), (1, 2))
    functions = Functions(SETTING, {}, {"W": sets})
    setting = Setting(
        SETTING.indices,
        SETTING.sources,
        (*SETTING.functions, Function("W", "x", ("x", "x"), ("a",), CLIENT, CLIENT)),
        (),
    )
    functions.setting = setting
    point = arrays([(fmpq(1), fmpq(1))])
    mean = np.zeros(3, dtype=object)
    for number, chosen in enumerate(sets):
        first, *off, last = functions.apply("W", point, (np.array([fmpq(number)], dtype=object),))
        assert (
            list(first) == [fmpq(3, 2) if k in chosen else 0 for k in range(3)] == list(last)
            and not any(off[0])
            and not any(off[1])
        )
        mean = mean + first / fmpq(3)
    assert list(mean) == [1, 1, 1] == list(functions.apply("W", point, (0,))[0])


def test_which_function_is_which() -> None:
    """By its spaces: whatever it says of itself."""
    said = replace(SETTING, functions=tuple(replace(f, role="outer_gradient") for f in SETTING.functions))
    for setting in (SETTING, said):
        found = [part_of(setting, function) for function in setting.functions]
        assert found == [("inner", 0), ("inner", 1), ("plain", 0), ("plain", 0), ("outer", 0)]
    plain, error = Function("plain", "x", "x"), Function("error", "x", "x", ("a",), CLIENT, CLIENT)
    hessian, mix = Function("H", "x", ("x", "x")), Function("W", "x", "x", role="mixing_matrix")
    other = Setting(SETTING.indices, SETTING.sources, (plain, error, hessian, mix), ())
    assert [part_of(other, f) for f in other.functions] == [("plain", 0), ("error", 0), ("plain", 1), ("", 0)]


def test_a_drawn_client_is_its_sample() -> None:
    draw = Function("draw", "x", "label", ("a",), CLIENT, CLIENT)
    labelled = Setting(SETTING.indices, SETTING.sources, (draw, Function("g", "x", "y", (), label="label")), ())
    drawn, nothing = Functions(labelled, {}).apply(
        "draw", arrays([(fmpq(1), fmpq(1))]), (np.array([fmpq(2)], dtype=object),)
    )
    assert list(drawn) == [2] and list(nothing) == [0]


# --- constants: the largest over clients, points and samples of what they bound ----------------------------------------------------


def points() -> Iterator[tuple[fmpq, fmpq]]:
    yield from product(PLACES, PLACES)


def mean(values: Iterable[fmpq]) -> fmpq:
    """Of one value for each outcome."""
    return sum((p * x for (p, _), x in zip(OUTCOMES, values, strict=True)), fmpq(0))


def size(vector: tuple) -> fmpq:
    return sum((x * x for x in vector), fmpq(0))


def without_last(role: str, shape: Shape, kind: Callable, z: tuple, first: fmpq, k: int) -> tuple[fmpq, ...]:
    """The mean over the last sample."""
    found = [(p, kind(role, shape, z, (first, v), k)) for p, v in LAW]
    return tuple(sum((p * row[i] for p, row in found), fmpq(0)) for i in range(2))


def noise(role: str, kind: Callable, norm: Callable, *, every: bool = False) -> Callable[[Shape], fmpq]:
    """The variance by the last sample given the other one; `every`: the largest square of its noise."""

    def of(shape: Shape) -> fmpq:
        found = []
        for k, z, (_, first) in product(CLIENTS, points(), LAW):
            centre = without_last(role, shape, kind, z, first, k)
            errors = [
                (p, tuple(x - y for x, y in zip(kind(role, shape, z, (first, v), k), centre, strict=True)))
                for p, v in LAW
            ]
            squares = [(p, norm(error)) for p, error in errors]
            found.append(max(x for _, x in squares) if every else sum((p * x for p, x in squares), fmpq(0)))
        return max(found)

    return of


def largest(vector: tuple) -> fmpq:
    """The square of an operator's norm from its slopes."""
    return max(x * x for x in vector)


def over(role: str, kind: Callable, norm: Callable, *, mean_of: bool) -> Callable[[Shape], fmpq]:
    """sup of the mean over the samples, or of every sample."""

    def of(shape: Shape) -> fmpq:
        sizes = ([norm(kind(role, shape, z, w, k)) for _, w in OUTCOMES] for k, z in product(CLIENTS, points()))
        return max(mean(each) if mean_of else max(each) for each in sizes)

    return of


def averaged(role: str, shape: Shape, kind: Callable, z: tuple, k: int) -> tuple[fmpq, ...]:
    every = [kind(role, shape, z, w, k) for _, w in OUTCOMES]
    return tuple(mean(row[i] for row in every) for i in range(2))


def of_mean(role: str, kind: Callable, norm: Callable) -> Callable[[Shape], fmpq]:
    return lambda shape: max(norm(averaged(role, shape, kind, z, k)) for k, z in product(CLIENTS, points()))


def heterogeneity(role: str, kind: Callable, norm: Callable, *, worst: bool) -> Callable[[Shape], fmpq]:
    def of(shape: Shape) -> fmpq:
        found = []
        for z in points():
            own = [averaged(role, shape, kind, z, k) for k in CLIENTS]
            centre = tuple(sum(row, fmpq(0)) / 3 for row in zip(*own, strict=True))
            sizes = [norm(tuple(x - y for x, y in zip(one, centre, strict=True))) for one in own]
            found.append(max(sizes) if worst else sum(sizes, fmpq(0)) / 3)
        return max(found)

    return of


def bending(role: str, *, every: bool) -> Callable[[Shape], fmpq]:
    """sup |J(z) - J(z')|^2 / |z - z'|^2 over neighbours in one coordinate."""

    def of(shape: Shape) -> fmpq:
        rows = pairwise(PLACES)
        found = []
        for (low, high), k in product(list(rows), CLIENTS):
            for z, other in (((low, fmpq(0)), (high, fmpq(0))), ((fmpq(0), low), (fmpq(0), high))):
                for w in [w for _, w in OUTCOMES] if every else [None]:
                    one, two = (
                        averaged(role, shape, slopes, at, k) if w is None else slopes(role, shape, at, w, k)
                        for at in (z, other)
                    )
                    found.append(largest(tuple(x - y for x, y in zip(one, two, strict=True))) / (high - low) ** 2)
        return max(found)

    return of


def mean_slope_of_clients(shape: Shape) -> fmpq:
    own = ([averaged("plain", shape, slopes, z, k) for k in CLIENTS] for z in points())
    return max(largest(tuple(sum(row, fmpq(0)) / 3 for row in zip(*each, strict=True))) for each in own)


def least_slope_of_clients(shape: Shape) -> fmpq:
    own = ([averaged("plain", shape, slopes, z, k) for k in CLIENTS] for z in points())
    return min(min(sum(row, fmpq(0)) / 3 for row in zip(*each, strict=True)) for each in own) ** 2


def along_one(shape: Shape) -> fmpq:
    """sup over directions e of E|J e|^2, a mean of those of the two coordinates."""
    each = product(CLIENTS, points(), range(2))
    return max(mean(slopes("inner", shape, z, w, k)[i] ** 2 for _, w in OUTCOMES) for k, z, i in each)


def around_offsets(shape: Shape) -> Shape:
    """The outer functions at points from which their centres are taken off: the grid then has their corners."""
    return Shape(**{**vars(shape), "centre": 0 * shape.centre})


def most(*defined: Callable[[Shape], fmpq]) -> Callable[[Shape], fmpq]:
    """Of a row that bounds several things."""
    return lambda shape: max(of(shape) for of in defined)


DEFINED: dict[str | Form, Callable[[Shape], fmpq]] = {
    "outer_mean_square_lipschitz": over("outer", value, size, mean_of=True),
    "outer_smoothness": of_mean("outer", slopes, largest),
    "outer_lipschitz": of_mean("outer", value, size),
    "outer_sample_lipschitz": over("outer", value, size, mean_of=False),
    "outer_sample_smoothness": over("outer", slopes, largest, mean_of=False),
    "outer_gradient_noise": noise("outer", value, size),
    "inner_jacobian_mean_square": over("inner", slopes, largest, mean_of=True),
    "inner_mean_square_lipschitz": along_one,
    "inner_lipschitz": of_mean("inner", slopes, largest),
    "inner_sample_lipschitz": over("inner", slopes, largest, mean_of=False),
    "inner_smoothness": bending("inner", every=False),
    "inner_sample_smoothness": bending("inner", every=True),
    "inner_jacobian_noise": noise("inner", slopes, size),
    "inner_noise": most(noise("inner", value, size), noise("inner", slopes, size)),
    "inner_value_noise": noise("inner", value, size),
    "composite_noise": most(noise("inner", value, size), noise("inner", slopes, size)),
    "inner_jacobian_heterogeneity": heterogeneity("inner", slopes, size, worst=True),
    "noncompositional_smoothness": of_mean("plain", slopes, largest),
    "noncompositional_sample_smoothness": over("plain", slopes, largest, mean_of=False),
    "noncompositional_gradient_noise": noise("plain", value, size),
    "noncompositional_heterogeneity": heterogeneity("plain", value, size, worst=True),
    "local_smoothness": of_mean("plain", slopes, largest),
    "local_sample_smoothness": over("plain", slopes, largest, mean_of=False),
    "objective_smoothness": mean_slope_of_clients,
    "strong_convexity": least_slope_of_clients,
    "polyak_lojasiewicz": least_slope_of_clients,
    "local_gradient_noise": noise("plain", value, size),
    "local_gradient_noise_bound": noise("plain", value, size, every=True),
    "local_gradient_bound": of_mean("plain", value, size),
    "local_sample_gradient_bound": over("plain", value, size, mean_of=False),
    "local_gradient_heterogeneity": heterogeneity("plain", value, size, worst=False),
    "local_hessian_lipschitz": bending("plain", every=False),
    "local_sample_hessian_lipschitz": bending("plain", every=True),
    "local_hessian_noise": noise("plain", slopes, largest),
    "local_hessian_heterogeneity": heterogeneity("plain", slopes, largest, worst=False),
    lipschitz("meta_gradient"): of_mean("plain", slopes, largest),
    unlike("meta_gradient", over=AVERAGE): heterogeneity("plain", value, size, worst=False),
    size_of("estimate_error"): of_mean("error", value, size),
    size_of("estimate_error", MEAN_SQUARE): over("error", value, size, mean_of=True),
}
BOUNDED = (
    "local_gradient_bound",
    "local_sample_gradient_bound",
    size_of("estimate_error"),
    size_of("estimate_error", MEAN_SQUARE),
)
"""Only where nothing is linear."""
GROWING = ("strong_convexity", "polyak_lojasiewicz")
"""Only where every slope is positive."""


def bounds_of(quantity: str | Form) -> tuple[Form, ...]:
    """What it bounds, as its row says."""
    return QUANTITIES[quantity].bounds if isinstance(quantity, str) else (quantity,)


def role_of(quantity: str | Form) -> str:
    """Which of the functions here it is about."""
    return ROLES.get(bounds_of(quantity)[0].function, ("plain", 0))[0]


OF_ROLE = {role: [name for name, (of, _) in ROLES.items() if of == role] for role, _ in ROLES.values()}


def test_every_constant_has_a_definition_here() -> None:
    shapes = {role: shape_of(role, 5) for role in ("inner", "outer", "plain", "error")}
    measured = {name for name, row in QUANTITIES.items() if constant(row.bounds, shapes) is not None}
    assert measured == {quantity for quantity in DEFINED if isinstance(quantity, str)}


@pytest.mark.parametrize("quantity", DEFINED)
def test_a_constant_is_the_supremum(quantity: str | Form) -> None:
    role = role_of(quantity)
    for seed in (3, 4, 5, 6):
        shape = shape_of(role, seed, straight=quantity not in BOUNDED, alike=quantity != "local_hessian_heterogeneity")
        if role == "outer":
            shape = around_offsets(shape)
        if quantity in GROWING:
            shape = Shape(**{**vars(shape), "linear": abs(shape.linear) + 4})
        wanted = DEFINED[quantity](shape)
        assert wanted > 0
        exact = [largest_square(form, {role: shape}) for form in bounds_of(quantity) if form.function in OF_ROLE[role]]
        assert not exact or max(exact) == wanted
        found = constant(bounds_of(quantity), {role: shape})
        assert (found is not None and 0 <= float(found) - sqrt(float(wanted)) < 1e-12) or float(found) == pytest.approx(
            sqrt(float(wanted)), rel=1e-14
        )
        assert found * found >= wanted


def test_constants_of_other_functions_are_none() -> None:
    shapes = {"inner": shape_of("inner", 5)}
    assert constant(bounds_of("objective_gap"), shapes) is None
    assert constant(bounds_of("inner_noise"), {"outer": shape_of("outer", 5)}) is None
    assert constant(bounds_of("lower_strong_convexity"), {"plain": shape_of("plain", 5)}) is None
    assert constant((unlike("outer_gradient"),), {"outer": shape_of("outer", 5)}) is None  # each bends at its own place


@pytest.mark.parametrize("quantity", ["inner_value_noise", "inner_jacobian_noise", "local_hessian_noise"])
def test_noise_is_that_of_the_last_sample(quantity: str) -> None:
    role, (form,) = role_of(quantity), bounds_of(quantity)
    shape = shape_of(role, 8, straight=False)
    last = Shape(**{**vars(shape), "tau": shape.tau[-1:], "nu": shape.nu[-1:]})
    assert largest_square(form, {role: last}) == largest_square(form, {role: shape}) > 0


def test_a_function_without_samples_has_no_noise() -> None:
    bare = shape_of("inner", 6)
    bare = Shape(**{**vars(bare), "tau": bare.tau[:0], "nu": bare.nu[:0]})
    noises = [*bounds_of("inner_value_noise"), *bounds_of("inner_jacobian_noise")]
    assert [largest_square(form, {"inner": bare}) for form in noises] == [0, 0]
    assert largest_square(noise_of("local_hessian"), {"plain": bare}) == 0


def test_what_is_linear_has_no_bound() -> None:
    shapes = {role: shape_of(role, 6, alike=False) for role in ("inner", "plain")}
    for form in (size_of("local_gradient"), size_of("inner_value"), unlike("inner_value")):
        assert largest_square(form, shapes) == 0


def test_what_a_number_bounds_at_one_point() -> None:
    """Two clients, each with the values 1 and 3 or 2 and -6, the second ones with probability 1/4."""
    clients = [[(Fraction(3, 4), 1), (Fraction(1, 4), 3)], [(Fraction(3, 4), 2), (Fraction(1, 4), -6)]]
    means = [Fraction(3, 2), Fraction(0)]
    wanted = {
        size_of("local_gradient", "every sample"): [1, 9, 4, 36],
        size_of("local_gradient", MEAN_SQUARE): [3, 12],
        size_of("local_gradient"): [Fraction(9, 4), 0],
        lipschitz("local_gradient", MEAN_SQUARE): [3, 12],
        noise_of("local_gradient"): [3 - means[0] ** 2, 12],
        unlike("local_gradient"): [Fraction(9, 16)] * 2,
        unlike("local_gradient", over=AVERAGE): [Fraction(9, 16)],
    }
    for form, found in wanted.items():
        assert squares(form, clients, lambda value: value * value) == found, form
    with pytest.raises(ValueError, match="no bound at every point"):
        squares(Form("strong convexity constant", "objective"), clients, abs)


def test_an_operator_has_two_norms() -> None:
    shapes = {"inner": shape_of("inner", 9)}
    frobenius, operator = (largest_square(unlike("inner_jacobian", norm), shapes) for norm in (FROBENIUS, OPERATOR))
    assert frobenius == heterogeneity("inner", slopes, size, worst=True)(shapes["inner"])
    assert operator == heterogeneity("inner", slopes, largest, worst=True)(shapes["inner"]) < frobenius


def test_a_composition_is_smooth_by_the_product_rule() -> None:
    inner, outer = shape_of("inner", 7), around_offsets(shape_of("outer", 7))
    parts = {name: sqrt(float(DEFINED[name]({"inner": inner, "outer": outer}[name.partition("_")[0]]))) for name in
             ("outer_sample_lipschitz", "inner_sample_smoothness", "outer_sample_smoothness", "inner_sample_lipschitz")}  # fmt: skip
    wanted = (
        parts["outer_sample_lipschitz"] * parts["inner_sample_smoothness"]
        + parts["outer_sample_smoothness"] * parts["inner_sample_lipschitz"] ** 2
    )
    found = constant(bounds_of("objective_smoothness"), {"inner": inner, "outer": outer})
    assert found is not None and float(found) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    "quantity", ["inner_smoothness", "inner_sample_smoothness", "inner_mean_square_lipschitz", "inner_sample_lipschitz"]
)
def test_a_label_is_a_client_and_no_sample(quantity: str) -> None:
    """A mean function was averaged over the labels as well, so that it was less steep than that of the client with the steepest one."""
    (form,), shape = bounds_of(quantity), replace(shape_of("inner", 8, straight=False), labels=1)
    tables = {"curved": shape.tau[0], "offset": shape.nu[0]}
    clients = [
        replace(
            shape,
            **{n: getattr(shape, n) + v * t for n, t in tables.items()},
            tau=shape.tau[1:],
            nu=shape.nu[1:],
            labels=0,
        )
        for _, v in LAW
    ]
    found = largest_square(form, {"inner": shape})
    assert found == max(largest_square(form, {"inner": client}) for client in clients) > 0


def test_a_label_alone_is_no_noise_and_nothing_is_said_of_what_differs_between_labels() -> None:
    shape = shape_of("inner", 8, straight=False)
    labelled = replace(shape, tau=shape.tau[:1], nu=shape.nu[:1], labels=1)
    (noise,) = bounds_of("inner_value_noise")
    assert (
        largest_square(noise, {"inner": labelled}) == 0 < largest_square(noise, {"inner": replace(labelled, labels=0)})
    )
    assert constant((unlike("inner_jacobian"),), {"inner": labelled}) is None
