"""Small concrete functions in d = 2 for the functions that a derivation declares, with their exact constants.

With R and Q rotations, z = R x, and a function `bump` whose slope is 1 near 0, falls linearly and is 0 from some point on:

    inner map, or gradient of a plain objective (Q = R):  Q^T (l z + (m + sum_s w_s tau_s) bump(z) + o + sum_s w_s nu_s)
    gradient of an outer function:                        P^T ((c + sum_s w_s tau_s) clip(P y - o, -r, r) + sum_s w_s nu_s)

componentwise, where w_s is the sample of source s. Everything is rational and the maxima over all points are taken at corners
of a box, so each constant of the vocabulary is exact (a root is rounded up in the 40th digit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product

import numpy as np
from flint import fmpq

from ..language.bounding import AVERAGE, MEAN_SQUARE, Form, lipschitz, size, unlike
from .finite import LAW, Component, Vector, plus, root, scaled, shortened, times, total
from .kernel import COMPRESSOR, MIXING, Function, Setting

ZERO, ONE = fmpq(0), fmpq(1)
Matrix = tuple[fmpq, fmpq, fmpq, fmpq]
Sets = tuple[tuple[int, ...], ...]
Rows = tuple[tuple[fmpq, ...], ...]
IDENTITY: Matrix = (ONE, ZERO, ZERO, ONE)
TURNED: Matrix = (fmpq(3, 5), fmpq(4, 5), fmpq(-4, 5), fmpq(3, 5))
TINY = fmpq(1, 10**12)
"""Value of a constant that is 0 and must be positive."""


@dataclass(frozen=True)
class Shape:
    """One function: coefficients are tables (component, client), or (source, component, client) for those of samples.

    `core`, `width`: the bump has slope 1 up to `core` and slope 0 from `core + width` on. For an outer gradient `linear` is c,
    `core` is r, and the others are not used.
    """

    linear: np.ndarray
    curved: np.ndarray
    offset: np.ndarray
    tau: np.ndarray
    nu: np.ndarray
    core: fmpq
    width: fmpq
    before: Matrix
    after: Matrix

    @property
    def height(self) -> fmpq:
        """Largest value of the bump."""
        return self.core + self.width / 2


def _bump(shape: Shape) -> Callable[[fmpq], fmpq]:
    c, e = shape.core, shape.width

    def value(z: fmpq) -> fmpq:
        size = abs(z)
        if size <= c:
            return z
        found = c + e / 2 if size >= c + e else size - (size - c) ** 2 / (2 * e)
        return found if z > 0 else -found

    return value


def _slope(shape: Shape) -> Callable[[fmpq], fmpq]:
    c, e = shape.core, shape.width

    def value(z: fmpq) -> fmpq:
        size = abs(z)
        return ONE if size <= c else ZERO if size >= c + e else 1 - (size - c) / e

    return value


def _under_bump(shape: Shape) -> Callable[[fmpq], fmpq]:
    """The integral of the bump from 0."""
    c, e = shape.core, shape.width

    def value(z: fmpq) -> fmpq:
        size = abs(z)
        if size <= c:
            return z * z / 2
        if size <= c + e:
            return z * z / 2 - (size - c) ** 3 / (6 * e)
        return (c + e) ** 2 / 2 - e * e / 6 + (c + e / 2) * (size - c - e)

    return value


def _clip(shape: Shape) -> Callable[[fmpq], fmpq]:
    low, high = -shape.core, shape.core
    return lambda z: low if z < low else high if z > high else z


def _huber(shape: Shape) -> Callable[[fmpq], fmpq]:
    r = shape.core

    def value(z: fmpq) -> fmpq:
        size = abs(z)
        return z * z / 2 if size <= r else r * size - r * r / 2

    return value


def each(function: Callable[[fmpq], fmpq], array: Component) -> Component:
    """A function of every entry; one entry where all have the same value, such as the slope where nothing bends."""
    values = [function(x) for x in array.reshape(-1)]
    if all(value is values[0] for value in values):
        return np.full([1] * array.ndim, values[0], dtype=object)
    return np.array(values, dtype=object).reshape(array.shape)


def turned(matrix: Matrix, vector: Vector, *, back: bool = False) -> Vector:
    """The matrix, or its transpose, times a vector."""
    a, b, c, d = matrix
    if back:
        b, c = c, b
    v, w = vector
    return tuple(map(shortened, plus((scaled(a, v), scaled(c, v)), (scaled(b, w), scaled(d, w)))))


class Functions:
    """Concrete functions for the declarations of a setting; `shapes` by name, an operator has that of its map.

    `sets`: name of the weights of a random set -> all sets, of which the sample gives the number.
    `compression`: c, where a compressor makes (1 + c w) v of v with its sample w.
    `remains`: c, where a compressor without a sample sends v - c R v, R a rotation, and mixing leaves c times the distance from the
    mean, which goes to the next client. In their places: `sent`, what is sent of v, and `mixing`, the rows of a matrix.
    """

    def __init__(
        self,
        setting: Setting,
        shapes: Mapping[str, Shape],
        sets: Mapping[str, Sets] | None = None,
        compression: fmpq = ONE,
        remains: fmpq = ZERO,
        sent: Callable[[Vector], Vector] | None = None,
        mixing: Rows | None = None,
    ):
        self.setting, self.shapes, self.sets, self.compression = setting, shapes, sets or {}, compression
        self.remains, self.sent, self.mixing = remains, sent or self._without_a_part, mixing

    def built_on(self, sent: Callable[[Vector], Vector] | None, mixing: Rows | None) -> Functions:
        """The same functions, with what a method is built on in the place of what stands here for it."""
        return Functions(self.setting, self.shapes, self.sets, self.compression, self.remains, sent, mixing)

    def _strength(
        self,
        base: np.ndarray,
        by_sample: np.ndarray,
        samples: tuple[Component | int, ...],
        i: int,
        *,
        twice: bool = False,
    ) -> Component:
        """base + sum_s w_s by_sample_s of a component, with the first axis for the clients; `twice`: and products of samples."""
        axes = len(self.setting.indices)
        rows = [self._spread(base[i], axes)]
        drawn = [(s, w) for s, w in enumerate(samples) if isinstance(w, np.ndarray) and by_sample[s][i].any()]
        rows += [times(self._spread(by_sample[s][i], axes), w) for s, w in drawn]
        if twice:
            rows += [times(self._spread(by_sample[s][i], axes), times(v, w)) for (_, v), (s, w) in pairwise(drawn)]
        return total(rows)

    def _spread(self, row: np.ndarray, axes: int) -> Component:
        return row.reshape([len(row)] + [1] * (axes - 1))

    def apply(self, function: str, point: Vector, samples: tuple[Component | int, ...]) -> Vector:
        declared = self.setting.function(function)
        if is_draw(self.setting, declared):
            drawn = total([self._spread(np.array([ZERO], dtype=object), len(self.setting.indices)), *_arrays(samples)])
            return drawn, 0 * drawn
        if declared.role == "minimiser":
            return self._minimiser()
        if function in self.sets:
            return self._weights(self.sets[function], samples[0])
        if declared.role == COMPRESSOR:
            chosen = _arrays(samples)
            return self._sent(point, chosen) if declared.sources else self.sent(point)
        if declared.role == MIXING:
            return tuple(map(self._mixed, point))
        shape = self.shapes[function]
        z = turned(shape.before, point)
        if not isinstance(declared.space, str):
            return self._operator(shape, z, samples)
        if is_outer(declared):
            return turned(shape.after, self._outer(shape, z, samples), back=True)
        twice = len(set(declared.sources)) < len(declared.sources)
        return turned(shape.after, self._inner(shape, z, samples, twice=twice), back=True)

    def _inner(self, shape: Shape, z: Vector, samples: tuple[Component | int, ...], *, twice: bool) -> Vector:
        """`twice`: a source is taken twice, and the function depends on the product of its samples too."""
        axes, found = len(self.setting.indices), []
        for i, x in enumerate(z):
            strength = self._strength(shape.curved, shape.tau, samples, i, twice=twice)
            curved = times(strength, each(_bump(shape), x))
            straight = times(self._spread(shape.linear[i], axes), x)
            shift = self._strength(shape.offset, shape.nu, samples, i)
            found.append(total([curved, straight, shift]))
        return tuple(found)

    def _sent(self, vector: Vector, chosen: list[Component]) -> Vector:
        """What a compressor with a sample sends of a vector, and in the mean."""
        return (
            plus(vector, tuple(times(x, scaled(self.compression, w)) for w in chosen for x in vector))
            if chosen
            else vector
        )

    def _without_a_part(self, vector: Vector) -> Vector:
        return plus(vector, tuple(scaled(-self.remains, x) for x in turned(TURNED, vector)))

    def _mixed(self, x: Component) -> Component:
        """A component at the clients, whose axis is the first one, after mixing."""
        n = x.shape[0]
        if n == 1:
            return x
        if self.mixing is not None:
            return np.stack([total([scaled(w, x[j]) for j, w in enumerate(row)]) for row in self.mixing])
        mean = x.sum(axis=0, keepdims=True) / fmpq(n)
        return mean + scaled(self.remains, np.roll(x, 1, axis=0) - mean)

    def _minimiser(self) -> Vector:
        """Where the mean gradient of the clients' losses is 0: in the core, where the bump is straight."""
        (shape,) = (self.shapes[f.name] for f in self.setting.functions if f.role == "local_gradient")
        rows = [self._spread(np.array([z], dtype=object), len(self.setting.indices)) for z in least_at(shape)]
        return turned(shape.after, (rows[0], rows[1]), back=True)

    def _weights(self, sets: Sets, number: Component | int) -> Vector:
        """n/m times the identity for the values in the set, 0 for the others; the identity where the set is averaged away."""
        n = 1 + max(max(chosen) for chosen in sets)
        if not isinstance(number, np.ndarray):
            found = np.full([n] + [1] * (len(self.setting.indices) - 1), ONE, object)
        else:
            size = fmpq(n, len(sets[0]))
            numbers = np.frompyfunc(lambda j: int(j.p), 1, 1)(number).astype(int)
            table = np.array([[size if k in chosen else ZERO for chosen in sets] for k in range(n)], dtype=object)
            found = np.concatenate([row[numbers] for row in table], axis=0)
        return found, 0 * found, 0 * found, found

    def _operator(self, shape: Shape, z: Vector, samples: tuple[Component | int, ...]) -> Vector:
        """R^T diag(slopes) Q, the transposed Jacobian."""
        axes, slopes = len(self.setting.indices), []
        for i, x in enumerate(z):
            curved = times(self._strength(shape.curved, shape.tau, samples, i), each(_slope(shape), x))
            slopes.append(total([self._spread(shape.linear[i], axes), curved]))
        (a, b, c, d), (e, f, g, h) = shape.before, shape.after
        first, second = slopes
        entries = (((a, e), (c, g)), ((a, f), (c, h)), ((b, e), (d, g)), ((b, f), (d, h)))
        return tuple(total([scaled(p * q, first), scaled(r * s, second)]) for (p, q), (r, s) in entries)

    def _outer(self, shape: Shape, z: Vector, samples: tuple[Component | int, ...]) -> Vector:
        axes, found = len(self.setting.indices), []
        for i, x in enumerate(z):
            shifted = total([x, -self._spread(shape.offset[i], axes)])
            force = times(self._strength(shape.linear, shape.tau, samples, i), each(_clip(shape), shifted))
            noise = self._strength(0 * shape.linear, shape.nu, samples, i)
            found.append(total([force, noise]))
        return tuple(found)

    def potential(self, function: str, point: Vector, samples: tuple[Component | int, ...]) -> Component:
        """The function of which a function is the gradient."""
        declared, shape, axes = self.setting.function(function), self.shapes[function], len(self.setting.indices)
        rows: list[Component] = []
        for i, x in enumerate(turned(shape.before, point)):
            if is_outer(declared):
                shifted = total([x, -self._spread(shape.offset[i], axes)])
                rows.append(times(self._strength(shape.linear, shape.tau, samples, i), each(_huber(shape), shifted)))
                rows.append(times(self._strength(0 * shape.linear, shape.nu, samples, i), x))
            else:
                under = each(_under_bump(shape), x)
                rows.append(times(self._strength(shape.curved, shape.tau, samples, i), under))
                rows.append(times(self._spread(shape.linear[i], axes), x * x / 2))
                rows.append(times(self._strength(shape.offset, shape.nu, samples, i), x))
        return total(rows)


def is_outer(function: Function) -> bool:
    """Whether the values are gradients at points of another space."""
    return isinstance(function.space, str) and function.space != function.domain and function.space.startswith("d")


def _arrays(samples: tuple[Component | int, ...]) -> list[Component]:
    return [sample for sample in samples if isinstance(sample, np.ndarray)]


def is_draw(setting: Setting, function: Function) -> bool:
    """Whether the values are labels: the sample itself is taken."""
    return any(other.label == function.space for other in setting.functions)


# --- constants --------------------------------------------------------------------------------------------------------

CORNERS = tuple(product((0, 1), repeat=2))
SIGNS = tuple(product((-1, 1), repeat=2))


def _samples(shape: Shape) -> list[tuple[fmpq, tuple[fmpq, ...]]]:
    """(probability, values) of the samples of one index entry."""
    rows = []
    for outcome in product(LAW, repeat=len(shape.tau)):
        probability = reduce(lambda p, q: p * q, (p for p, _ in outcome), ONE)
        rows.append((probability, tuple(v for _, v in outcome)))
    return rows


def _with(base: np.ndarray, by_sample: np.ndarray, values: tuple[fmpq, ...], i: int, k: int) -> fmpq:
    return sum((v * by_sample[s][i][k] for s, v in enumerate(values)), base[i][k])


def _clients(shape: Shape) -> range:
    return range(shape.linear.shape[1])


def _largest(values) -> fmpq:
    return max(values, default=ZERO)


def jacobian_moment(shape: Shape) -> fmpq:
    """sup E|J|^2 in the operator norm: convex in the slopes of the bump, so at a corner."""
    return _largest(
        sum(
            (
                p * max((shape.linear[i][k] + _with(shape.curved, shape.tau, w, i, k) * u[i]) ** 2 for i in (0, 1))
                for p, w in _samples(shape)
            ),
            ZERO,
        )
        for k in _clients(shape)
        for u in CORNERS
    )


def jacobian_size(shape: Shape) -> fmpq:
    """sup |J|^2 of every sample."""
    return _largest(
        (shape.linear[i][k] + _with(shape.curved, shape.tau, w, i, k) * u) ** 2
        for _, w in _samples(shape)
        for k in _clients(shape)
        for i in (0, 1)
        for u in (0, 1)
    )


def mean_square_slope(shape: Shape) -> fmpq:
    """sup E|g(p) - g(r)|^2 / |p - r|^2."""
    return _largest(
        sum(
            (p * (shape.linear[i][k] + _with(shape.curved, shape.tau, w, i, k) * u) ** 2 for p, w in _samples(shape)),
            ZERO,
        )
        for k in _clients(shape)
        for i in (0, 1)
        for u in (0, 1)
    )


def jacobian_slope(shape: Shape, *, every: bool) -> fmpq:
    """Lipschitz constant, squared, of the Jacobian; of every sample, or of its mean."""
    values = [w for _, w in _samples(shape)] if every else [()]
    steepest = (_with(shape.curved, shape.tau, w, i, k) for w in values for k in _clients(shape) for i in (0, 1))
    return _largest(abs(x) for x in steepest) ** 2 / shape.width**2


def value_noise(shape: Shape) -> fmpq:
    """sup of the variance by the last sample; the bump at a corner."""
    if not len(shape.nu):
        return ZERO
    return _largest(
        sum(((shape.nu[-1][i][k] + shape.tau[-1][i][k] * s[i] * _reach(shape)) ** 2 for i in (0, 1)), ZERO)
        for k in _clients(shape)
        for s in SIGNS
    )


def _reach(shape: Shape) -> fmpq:
    """Largest value of what the noise multiplies."""
    return shape.height if shape.width else shape.core


def jacobian_noise(shape: Shape) -> fmpq:
    """sup of the variance of the Jacobian in the Hilbert-Schmidt norm."""
    if not len(shape.tau):
        return ZERO
    return _largest(sum((shape.tau[-1][i][k] ** 2 for i in (0, 1)), ZERO) for k in _clients(shape))


def jacobian_heterogeneity(shape: Shape) -> fmpq:
    far_linear, far_curved = _from_mean(shape.linear), _from_mean(shape.curved)
    return _largest(
        sum(((far_linear[i][k] + far_curved[i][k] * u[i]) ** 2 for i in (0, 1)), ZERO)
        for k in _clients(shape)
        for u in CORNERS
    )


def hessian_noise(shape: Shape) -> fmpq:
    """sup of the second moment of the error of a sample's Hessian in the operator norm."""
    return _largest(shape.tau[-1][i][k] ** 2 for k in _clients(shape) for i in (0, 1)) if len(shape.tau) else ZERO


def hessian_heterogeneity(shape: Shape) -> fmpq:
    """sup of the mean over the clients of |Hessian - its mean|^2 in the operator norm; slopes of the bump at a corner."""
    linear, curved = _from_mean(shape.linear), _from_mean(shape.curved)
    n = fmpq(linear.shape[1])
    return _largest(
        sum((max((linear[i][k] + curved[i][k] * u[i]) ** 2 for i in (0, 1)) for k in _clients(shape)), ZERO) / n
        for u in CORNERS
    )


def _from_mean(table: np.ndarray) -> np.ndarray:
    return table - table.sum(axis=1, keepdims=True) / fmpq(table.shape[1])


def outer_slope(shape: Shape, *, every: bool) -> fmpq:
    values = [w for _, w in _samples(shape)] if every else [()]
    return (
        _largest(abs(_with(shape.linear, shape.tau, w, i, k)) for w in values for k in _clients(shape) for i in (0, 1))
        ** 2
    )


def outer_size(shape: Shape, *, every: bool) -> fmpq:
    """sup |grad f|^2; of every sample, or of the mean."""
    values = [w for _, w in _samples(shape)] if every else [()]
    return _largest(_outer_square(shape, w, k, s) for w in values for k in _clients(shape) for s in SIGNS)


def outer_moment(shape: Shape) -> fmpq:
    """sup E|grad f|^2."""
    return _largest(
        sum((p * _outer_square(shape, w, k, s) for p, w in _samples(shape)), ZERO)
        for k in _clients(shape)
        for s in SIGNS
    )


def _outer_square(shape: Shape, w: tuple[fmpq, ...], k: int, s: tuple[int, ...]) -> fmpq:
    zero = 0 * shape.linear
    parts = (
        _with(shape.linear, shape.tau, w, i, k) * s[i] * shape.core + _with(zero, shape.nu, w, i, k) for i in (0, 1)
    )
    return sum((x**2 for x in parts), ZERO)


def gradient_slope(shape: Shape, *, mean: bool) -> fmpq:
    """Lipschitz constant, squared, of the mean gradient of a client, or of the mean over the clients."""
    tables = [(shape.linear[:, [k]], shape.curved[:, [k]]) for k in _clients(shape)]
    if mean:
        size = fmpq(len(tables))
        tables = [(shape.linear.sum(axis=1, keepdims=True) / size, shape.curved.sum(axis=1, keepdims=True) / size)]
    return _largest((a[i][0] + b[i][0] * u) ** 2 for a, b in tables for i in (0, 1) for u in (0, 1))


def least_at(shape: Shape) -> tuple[fmpq, ...]:
    """Where each component of the mean over the clients of a plain gradient is 0, in the core of the bump.

    Raises:
        ValueError: it is 0 elsewhere, or nowhere.
    """
    n, found = fmpq(len(_clients(shape))), []
    for i in (0, 1):
        slope, offset = (shape.linear[i].sum() + shape.curved[i].sum()) / n, shape.offset[i].sum() / n
        place = -offset / slope if slope else ZERO
        if abs(place) > shape.core or (offset and not slope):
            raise ValueError("the gradient does not vanish in the core")
        found.append(place)
    return tuple(found)


def gradient_growth(shape: Shape, *, flat: bool) -> fmpq:
    """The least slope, squared, of the mean gradient over the clients; `flat`: of the components that are not 0 everywhere."""
    n = fmpq(len(_clients(shape)))
    rows = [(shape.linear[i].sum() / n, shape.curved[i].sum() / n) for i in (0, 1)]
    slopes = [a + min(b, ZERO) for a, b in rows if a or b or not flat]
    return max(min(slopes), ZERO) ** 2


def gradient_size(shape: Shape) -> fmpq:
    """sup |mean gradient|^2 of a client, where nothing is linear."""
    if any(shape.linear.reshape(-1)):
        return ZERO
    return _largest(
        sum(((shape.curved[i][k] * s[i] * shape.height + shape.offset[i][k]) ** 2 for i in (0, 1)), ZERO)
        for k in _clients(shape)
        for s in SIGNS
    )


def error_size(shape: Shape) -> fmpq:
    """sup of the second moment of an error of one sample, where nothing is linear; the bump at a corner."""
    return _largest(
        sum(
            (
                (shape.curved[i][k] * s[i] * shape.height + shape.offset[i][k]) ** 2
                + (shape.nu[-1][i][k] + shape.tau[-1][i][k] * s[i] * shape.height) ** 2
                for i in (0, 1)
            ),
            ZERO,
        )
        for k in _clients(shape)
        for s in SIGNS
    )


def gradient_heterogeneity(shape: Shape, *, worst: bool) -> fmpq:
    """sup |gradient - mean over the clients|^2, of the worst client or as a mean over them; linear parts are equal."""
    curved, offset = _from_mean(shape.curved), _from_mean(shape.offset)
    found = []
    for s in SIGNS:
        sizes = [
            sum(((curved[i][k] * s[i] * shape.height + offset[i][k]) ** 2 for i in (0, 1)), ZERO)
            for k in _clients(shape)
        ]
        found.append(max(sizes) if worst else sum(sizes, ZERO) / len(sizes))
    return max(found)


SQUARES: Mapping[str | Form, tuple[str, Callable[[Shape], fmpq]]] = {
    "outer_mean_square_lipschitz": ("outer", outer_moment),
    "outer_smoothness": ("outer", lambda s: outer_slope(s, every=False)),
    "outer_lipschitz": ("outer", lambda s: outer_size(s, every=False)),
    "outer_sample_lipschitz": ("outer", lambda s: outer_size(s, every=True)),
    "outer_sample_smoothness": ("outer", lambda s: outer_slope(s, every=True)),
    "outer_gradient_noise": ("outer", value_noise),
    "inner_jacobian_mean_square": ("inner", jacobian_moment),
    "inner_mean_square_lipschitz": ("inner", mean_square_slope),
    "inner_sample_lipschitz": ("inner", jacobian_size),
    "inner_smoothness": ("inner", lambda s: jacobian_slope(s, every=False)),
    "inner_sample_smoothness": ("inner", lambda s: jacobian_slope(s, every=True)),
    "inner_jacobian_noise": ("inner", jacobian_noise),
    "inner_noise": ("inner", jacobian_noise),
    "inner_value_noise": ("inner", value_noise),
    "inner_jacobian_heterogeneity": ("inner", jacobian_heterogeneity),
    "noncompositional_smoothness": ("plain", lambda s: gradient_slope(s, mean=False)),
    "noncompositional_gradient_noise": ("plain", value_noise),
    "noncompositional_heterogeneity": ("plain", lambda s: gradient_heterogeneity(s, worst=True)),
    "local_smoothness": ("plain", lambda s: gradient_slope(s, mean=False)),
    "objective_smoothness": ("plain", lambda s: gradient_slope(s, mean=True)),
    "strong_convexity": ("plain", lambda s: gradient_growth(s, flat=False)),
    "polyak_lojasiewicz": ("plain", lambda s: gradient_growth(s, flat=True)),
    "local_sample_smoothness": ("plain", jacobian_size),
    "local_gradient_noise": ("plain", value_noise),
    "local_gradient_bound": ("plain", gradient_size),
    "local_gradient_heterogeneity": ("plain", lambda s: gradient_heterogeneity(s, worst=False)),
    "local_hessian_lipschitz": ("plain", lambda s: jacobian_slope(s, every=False)),
    "local_hessian_noise": ("plain", hessian_noise),
    "local_hessian_heterogeneity": ("plain", hessian_heterogeneity),
    "composite_noise": ("inner", value_noise),
}
"""Quantity of the vocabulary -> (which function, the square of its smallest value). `inner_noise` is taken for the Jacobian."""
GIVEN: Mapping[str | Form, tuple[str, Callable[[Shape], fmpq]]] = {
    lipschitz("meta_gradient"): ("plain", lambda s: gradient_slope(s, mean=False)),
    unlike("meta_gradient", over=AVERAGE): ("plain", lambda s: gradient_heterogeneity(s, worst=False)),
    size("estimate_error"): ("error", gradient_size),
    size("estimate_error", MEAN_SQUARE): ("error", error_size),
}
"""The same for constants that a lemma gives, by what they bound; the error is that of an estimate of a plain gradient."""


def constant(quantity: str | Form, shapes: Mapping[str, Shape]) -> fmpq | None:
    """The value of a constant of the vocabulary, or of one that a lemma gives; None where it is not one of these functions'.

    The smoothness of an objective that is a composition is bounded by the product rule, not exact.
    """
    if quantity == "objective_smoothness" and {"inner", "outer"} <= shapes.keys():
        inner, outer = shapes["inner"], shapes["outer"]
        bent = root(outer_size(outer, every=True)) * root(jacobian_slope(inner, every=True))
        return bent + root(outer_slope(outer, every=True)) * jacobian_size(inner)
    table = {**SQUARES, **GIVEN}
    if quantity not in table:
        return None
    role, square = table[quantity]
    return root(square(shapes[role])) if role in shapes else None


def as_fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
