"""Small concrete functions in d = 2 for the functions that a derivation declares, with their exact constants.

With R and Q rotations, z = R x, and a function `bump` whose slope is 1 near 0, falls linearly and is 0 from some point on:

    Q^T (l z + (m + sum_s w_s tau_s) bump(z - c) + o + sum_s w_s nu_s)

componentwise, where w_s is the sample of source s. For an inner map c = 0; for the gradient of a plain objective also Q = R; for that
of an outer function also l = o = 0, with any c, and the slope of the bump jumps to 0. Everything is rational and the maxima over all
points are taken at corners of a box, so each constant of the vocabulary is exact (a root is rounded up in the 40th digit).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from flint import fmpq

from ..language.bounding import (
    AT_POINTS,
    LIPSCHITZ,
    NOISE,
    NOISE_SIZE,
    OPERATOR,
    POLYAK_LOJASIEWICZ,
    SAMPLE,
    SIZE,
    STRONG_CONVEXITY,
    UNLIKE,
    Form,
    joint,
    lipschitz,
    size,
    squares,
)
from .finite import LAW, Component, Law, Samples, Vector, plus, root, scaled, shortened, times, total
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

    `core`, `width`: the bump has slope 1 up to `core` and slope 0 from `core + width` on. `centre`: the place of the bump.
    `labels`: how many of the sources, the first ones, are labels of clients.
    """

    linear: np.ndarray
    curved: np.ndarray
    centre: np.ndarray
    offset: np.ndarray
    tau: np.ndarray
    nu: np.ndarray
    core: fmpq
    width: fmpq
    before: Matrix
    after: Matrix
    labels: int = 0

    @property
    def height(self) -> fmpq:
        """Largest value of the bump."""
        return self.core + self.width / 2

    def bump(self, z: fmpq) -> fmpq:
        size, c, e = abs(z), self.core, self.width
        if size <= c:
            return z
        found = self.height if size >= c + e else size - (size - c) ** 2 / (2 * e)
        return found if z > 0 else -found

    def slope(self, z: fmpq) -> fmpq:
        """The derivative of the bump."""
        size, c, e = abs(z), self.core, self.width
        return ONE if size <= c else ZERO if size >= c + e else 1 - (size - c) / e

    def under_bump(self, z: fmpq) -> fmpq:
        """The integral of the bump from 0."""
        size, c, e = abs(z), self.core, self.width
        if size <= c:
            return z * z / 2
        if size <= c + e:
            return z * z / 2 - (size - c) ** 3 / (6 * e)
        return (c + e) ** 2 / 2 - e * e / 6 + self.height * (size - c - e)


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


@dataclass(eq=False)
class Functions:
    """Concrete functions for the declarations of a setting; `shapes` by name, an operator has that of its map.

    `sets`: name of the weights of a random set -> all sets, of which the sample gives the number.
    `compression`: c, where a compressor makes (1 + c w) v of v with its sample w.
    `remains`: c, where a compressor without a sample sends v - c R v, R a rotation, and mixing leaves c times the distance from the
    mean, which goes to the next client. In their places: `sent`, what is sent of v, and `mixing`, the rows of a matrix.
    """

    setting: Setting
    shapes: Mapping[str, Shape]
    sets: Mapping[str, Sets] = field(default_factory=dict)
    compression: fmpq = ONE
    remains: fmpq = ZERO
    sent: Callable[[Vector], Vector] | None = None
    mixing: Rows | None = None

    def _strength(
        self, base: np.ndarray, by_sample: np.ndarray, samples: Samples, i: int, *, twice: bool = False
    ) -> Component:
        """base + sum_s w_s by_sample_s of a component, with the first axis for the clients; `twice`: and products of samples."""
        drawn = [(s, w) for s, w in enumerate(samples) if isinstance(w, np.ndarray) and by_sample[s][i].any()]
        if twice:
            drawn += [(s, times(v, w)) for (_, v), (s, w) in pairwise(drawn)]
        return total([self._spread(base[i]), *(times(self._spread(by_sample[s][i]), w) for s, w in drawn)])

    def _spread(self, row: np.ndarray) -> Component:
        """A number for each client, or for all of them, as a component."""
        return row.reshape([len(row)] + [1] * (len(self.setting.indices) - 1))

    def apply(self, function: str, point: Vector, samples: Samples) -> Vector:
        declared, drawn = self.setting.function(function), [w for w in samples if isinstance(w, np.ndarray)]
        if is_draw(self.setting, declared):
            label = total([self._spread(np.array([ZERO], dtype=object)), *drawn])
            return label, 0 * label
        if declared.role == "minimiser":
            return self._minimiser()
        if function in self.sets:
            return self._weights(self.sets[function], samples[0])
        if declared.role == COMPRESSOR:
            return self._sent(point, drawn, random=bool(declared.sources))
        if declared.role == MIXING:
            return tuple(map(self._mixed, point))
        shape = self.shapes[function]
        z = turned(shape.before, point)
        if not isinstance(declared.space, str):
            return self._operator(shape, z, samples)
        twice = len(set(declared.sources)) < len(declared.sources)
        return turned(shape.after, tuple(self._values(shape, z, samples, twice=twice)), back=True)

    def _values(self, shape: Shape, z: Vector, samples: Samples, *, twice: bool) -> Iterator[Component]:
        """`twice`: a source is taken twice, and the function depends on the product of its samples too."""
        for i, x in enumerate(z):
            strength = self._strength(shape.curved, shape.tau, samples, i, twice=twice)
            curved = times(strength, each(shape.bump, self._from_centre(shape, x, i)))
            straight = times(self._spread(shape.linear[i]), x)
            yield total([curved, straight, self._strength(shape.offset, shape.nu, samples, i)])

    def _from_centre(self, shape: Shape, x: Component, i: int) -> Component:
        """A component of a point, less that of the place of the bump."""
        return total([x, -self._spread(shape.centre[i])]) if shape.centre[i].any() else x

    def _sent(self, vector: Vector, drawn: list[Component], *, random: bool) -> Vector:
        """What a compressor sends of a vector: one with a sample, in the mean too where it is averaged away, or one without."""
        if random:
            return (
                plus(vector, tuple(times(x, scaled(self.compression, w)) for w in drawn for x in vector))
                if drawn
                else vector
            )
        if self.sent is not None:
            return self.sent(vector)
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
        return turned(shape.after, tuple(self._spread(np.array([z], dtype=object)) for z in least_at(shape)), back=True)

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

    def _operator(self, shape: Shape, z: Vector, samples: Samples) -> Vector:
        """R^T diag(slopes) Q, the transposed Jacobian."""
        slopes = []
        for i, x in enumerate(z):
            curved = times(self._strength(shape.curved, shape.tau, samples, i), each(shape.slope, x))
            slopes.append(total([self._spread(shape.linear[i]), curved]))
        (a, b, c, d), (e, f, g, h) = shape.before, shape.after
        first, second = slopes
        entries = (((a, e), (c, g)), ((a, f), (c, h)), ((b, e), (d, g)), ((b, f), (d, h)))
        return tuple(total([scaled(p * q, first), scaled(r * s, second)]) for (p, q), (r, s) in entries)

    def potential(self, function: str, point: Vector, samples: Samples) -> Component:
        """The function of which a function is the gradient."""
        shape = self.shapes[function]
        rows: list[Component] = []
        for i, x in enumerate(turned(shape.before, point)):
            under = each(shape.under_bump, self._from_centre(shape, x, i))
            rows.append(times(self._strength(shape.curved, shape.tau, samples, i), under))
            rows.append(times(self._spread(shape.linear[i]), x * x / 2))
            rows.append(times(self._strength(shape.offset, shape.nu, samples, i), x))
        return total(rows)


NOT_OF_THE_PROBLEM = ("minimiser", "random_set", COMPRESSOR, MIXING)
"""Roles of functions that have no shape."""


def is_draw(setting: Setting, function: Function) -> bool:
    """Whether the values are labels: the sample itself is taken."""
    return any(other.label == function.space for other in setting.functions)


def part_of(setting: Setting, function: Function) -> tuple[str, int]:
    """Which of the functions here one is, and which derivative of that: by its spaces, so that nothing rests on the role that it declares.

    Noise that is added to an exact function of the same spaces is an error; "" for what is no function of the problem.
    """
    problem = [f for f in setting.functions if f.role not in NOT_OF_THE_PROBLEM and not is_draw(setting, f)]
    if function not in problem:
        return "", 0
    if not isinstance(function.space, str):
        maps = [f for f in problem if isinstance(f.space, str) and f.space != f.domain]
        return ("inner" if any(part_of(setting, f)[0] == "inner" for f in maps) else "plain"), 1
    if function.space != function.domain:
        return ("outer" if function.space.startswith("d") else "inner"), 0
    exact = [f for f in problem if f.space == f.domain == function.space and not f.sources]
    return ("error" if function.sources and exact else "plain"), 0


# --- constants --------------------------------------------------------------------------------------------------------

ROLES: Mapping[str, tuple[str, int]] = {
    "inner_value": ("inner", 0),
    "inner_jacobian": ("inner", 1),
    "outer_gradient": ("outer", 0),
    "extra_gradient": ("plain", 0),
    "local_gradient": ("plain", 0),
    "local_hessian": ("plain", 1),
    "meta_gradient": ("plain", 0),
    "estimate_error": ("error", 0),
}
"""Function of a problem -> which of the functions here it is, and which derivative of that."""
SMOOTH_OBJECTIVE = lipschitz("objective_gradient")
GROWTHS = (Form(STRONG_CONVEXITY, "objective"), Form(POLYAK_LOJASIEWICZ, "objective"))


def _extremes(shape: Shape, order: int) -> tuple[np.ndarray, np.ndarray, tuple[fmpq, fmpq]]:
    """a, n and the ends of u, where a component of a derivative is a + (m + sum_s w_s tau_s) u + sum_s w_s n_s.

    What is linear in the point is left out: it is alike for all clients, or there is no largest value.
    """
    if order == 0:
        return shape.offset, shape.nu, (-shape.height, shape.height)
    if order == 1:
        return shape.linear, 0 * shape.nu, (ZERO, ONE)
    return 0 * shape.linear, 0 * shape.nu, (-1 / shape.width, 1 / shape.width)


def largest_square(form: Form, shapes: Mapping[str, Shape], law: Law = LAW) -> fmpq:
    """The square of the smallest number of which a form is true, exactly; 0 where there is none, as a linear part grows for ever.

    Everything is convex in the values, or slopes, of the bump, so that it is largest where each is at an end.
    The noise is that of the last sample, whatever the others. A client with a label is one of its own: nothing is averaged over them.

    Raises:
        KeyError: the functions here are not those of the form.
    """
    role, order = ROLES[form.function]
    shape = shapes[role]
    n = shape.labels
    if form.kind in (NOISE, NOISE_SIZE):
        shape = replace(shape, tau=_last_sample(shape.tau, n), nu=_last_sample(shape.nu, n))
    growing = shape.linear if form.kind == SIZE else shape.linear - shape.linear[:, :1]
    if form.kind in (SIZE, UNLIKE) and order == 0 and growing.any():
        return ZERO
    directions = [[0], [1]] if form.kind == LIPSCHITZ else [[0, 1]]
    bent, (still, noise, ends) = shape.curved, _extremes(shape, order + (form.kind == LIPSCHITZ))
    drawn = [(p, np.array(values, dtype=object)) for p, values in joint([law] * (len(shape.tau) - n))]
    norm = (lambda x: max(x * x)) if order and form.norm == OPERATOR else (lambda x: (x * x).sum())
    found = []
    for label in (np.array(each, dtype=object) for each in product([w for _, w in LAW], repeat=n)):
        own_bent, own_still = bent + _weighted(label, shape.tau[:n]), still + _weighted(label, noise[:n])
        summed = [(p, own_bent + _weighted(w, shape.tau[n:]), own_still + _weighted(w, noise[n:])) for p, w in drawn]
        for along in directions:
            for u in product(ends, repeat=len(along)):
                values = [(p, [b[along, k] * u + a[along, k] for k in _clients(shape)]) for p, b, a in summed]
                found += squares(form, [[(p, of[k]) for p, of in values] for k in _clients(shape)], norm)
    return max(found)


def _last_sample(by_source: np.ndarray, labels: int) -> np.ndarray:
    """The table of the labels and of the last sample, where there is one."""
    return np.concatenate([by_source[:labels], by_source[labels:][-1:]])


def _weighted(w: np.ndarray, by_sample: np.ndarray) -> Any:
    """sum_s w_s of the table of source s."""
    return np.tensordot(w, by_sample, axes=1) if len(w) else ZERO


def _clients(shape: Shape) -> range:
    return range(shape.linear.shape[1])


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
    """The least slope of the mean gradient over the clients; `flat`: of the components that are not 0 everywhere."""
    n = fmpq(len(_clients(shape)))
    rows = [(shape.linear[i].sum() / n, shape.curved[i].sum() / n) for i in (0, 1)]
    slopes = [a + min(b, ZERO) for a, b in rows if a or b or not flat]
    return max(min(slopes), ZERO)


def constant(bounds: tuple[Form, ...], shapes: Mapping[str, Shape], law: Law = LAW) -> fmpq | None:
    """The smallest number that bounds what a row of the vocabulary says of these functions; None where it says nothing of them.

    The smoothness of an objective that is a composition is bounded by the product rule, not exact.
    """
    found: list[fmpq] = []
    for form in bounds:
        role, _ = ROLES.get(form.function, ("", 0))
        if form in GROWTHS and "plain" in shapes:
            found.append(gradient_growth(shapes["plain"], flat=form.kind == POLYAK_LOJASIEWICZ))
        elif form == SMOOTH_OBJECTIVE and {"inner", "outer"} <= shapes.keys():
            steep, bent = (root(largest_square(of("outer_gradient", SAMPLE), shapes, law)) for of in (size, lipschitz))
            bends = root(largest_square(lipschitz("inner_jacobian", SAMPLE), shapes, law))
            found.append(steep * bends + bent * largest_square(size("inner_jacobian", SAMPLE), shapes, law))
        elif form == SMOOTH_OBJECTIVE and "plain" in shapes:
            average = {"plain": _mean_of_clients(shapes["plain"])}
            found.append(root(largest_square(lipschitz("local_gradient"), average, law)))
        elif role in shapes and form.kind in (
            (LIPSCHITZ, SIZE, NOISE, NOISE_SIZE) if role == "outer" or shapes[role].labels else AT_POINTS
        ):
            found.append(root(largest_square(form, shapes, law)))
    return max(found, default=None)


def _mean_of_clients(shape: Shape) -> Shape:
    """The mean of the functions, without their samples."""
    tables = {name: getattr(shape, name).mean(axis=1, keepdims=True) for name in ("linear", "curved", "offset")}
    return replace(shape, **tables, tau=shape.tau[:0], nu=shape.nu[:0])
