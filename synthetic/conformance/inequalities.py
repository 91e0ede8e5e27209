"""What a certificate claims, as a ratio that must not exceed it, read off the rows of the vocabulary; and what every kind has.

A row says which function of the problem its number bounds, and how (`bounds/language/bounding.py`); a kind says how each of
these functions is computed (`Role`). A ratio takes points `(lanes, size)` and returns `(lanes, clients)` or `(lanes, 1)`: the
same points go to every client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, TypeVar

import torch
from torch import Tensor

from ...bounds.language import bounding
from ...bounds.language.bounding import Form
from ...bounds.language.quantities import QUANTITIES
from ..kinds import AbstractProblem, AbstractSampled, Sample

S = TypeVar("S", bound=Sample)
TOGETHER = 2**15
"""How many numbers of points are evaluated together; more would not be faster."""
Problem = Any  # a ratio is only ever called with a problem of its own kind


@dataclass(frozen=True)
class Inequality:
    """`ratio(problem, *points) <= certified value`, for one point or a pair, of the space "x", "y", or "xy" for both laid end to end.

    `inverse`: of a constant that says more the larger it is, 1 over the certified value is the largest ratio.
    """

    space: str
    pair: bool
    ratio: Callable[..., Tensor]
    inverse: bool = False

    def largest(self, value: float) -> float:
        """The largest ratio that a certified value allows."""
        if not self.inverse:
            return value
        return 1 / value if value else float("inf")

    def size(self, problem: AbstractProblem) -> int:
        """Length of a point."""
        sizes = {"x": problem.dim, "y": problem.inner_dim}
        return sum(sizes[part] for part in self.space)


def norm(vector: Tensor) -> Tensor:
    """Euclidean norm along the last axis."""
    return torch.linalg.vector_norm(vector, dim=-1)


def atom_list(problem: AbstractSampled) -> Iterator[tuple[Sample, float]]:
    """Every atom as a batch of one, with its probability."""
    sample, weights = problem.atoms()
    for index, weight in enumerate(weights.tolist()):
        yield sample.at(index), weight


def spectral_norm(matrix: Tensor) -> Tensor:
    """Largest singular value of the last two axes, through the Gram matrix of the rows (few rows, many columns).

    A row of it at a time: all products at once would take as much memory as `matrix` times the number of its rows.
    """
    if matrix.shape[-2] == 1:
        return norm(matrix.squeeze(-2))
    gram = torch.stack([(matrix * row.unsqueeze(-2)).sum(-1) for row in matrix.unbind(-2)], -2)
    return torch.linalg.eigvalsh(gram)[..., -1].clamp_min(0.0).sqrt()


def frobenius(matrix: Tensor) -> Tensor:
    """Frobenius norm of the last two axes."""
    return norm(matrix.flatten(-2))


def each_atom(problem: AbstractSampled, of_atom: Callable[..., Tensor], *points: Tensor) -> tuple[Tensor, Tensor]:
    """`of_atom(*points, atom)` over the finite support, `(atoms, lanes, clients)`, and the probabilities."""
    sample, weights = problem.atoms()
    return _of_each_atom(of_atom, points, sample), weights


def mean_square(found: Tensor, weights: Tensor) -> Tensor:
    """Root of the expectation of the square, over the first axis; the probabilities may have the axes of `found`."""
    return (weights.reshape(*weights.shape, *[1] * (found.dim() - weights.dim())) * found**2).sum(0).sqrt()


def _of_each_atom(of_atom: Callable[..., Tensor], points: tuple[Tensor, ...], sample: Sample) -> Tensor:
    """`(atoms, lanes, clients)`: atoms are lanes beside each other, so that one call serves many."""
    found = []
    for batch in _split(sample, _at_once(*points)):
        count = _first(batch).shape[2]
        repeated = [_repeated(point, count) for point in points]
        found.append(of_atom(*repeated, _as_lanes(batch, len(points[0]))).unflatten(0, (count, -1)))
    return found[0] if len(found) == 1 else torch.cat(found)


def along_axes(
    oracle: Callable[..., Tensor], size: int, x: Tensor, *samples: Sample | None, axes: tuple[int, ...] = ()
) -> list[Tensor]:
    """`oracle(x, v, *samples)` for each axis v of a space, as lanes beside each other, so that one call serves many.

    v has the shape of x but for its last axis, which has this size, and the `axes` before it.
    """
    found: list[Tensor] = []
    for rows in torch.eye(size, dtype=x.dtype, device=x.device).split(_at_once(x)):
        count = len(rows)
        v = rows.view(count, 1, *[1] * (x.dim() - 2 + len(axes)), size).expand(-1, *x.shape[:-1], *axes, -1)
        # a sample of one lane is for all of them
        repeated = (
            s if s is None or len(_first(s)) == 1 else _changed(s, partial(_repeated, times=count)) for s in samples
        )
        found += oracle(_repeated(x, count), v.flatten(0, 1), *repeated).unflatten(0, (count, -1))
    return found


def _at_once(*points: Tensor) -> int:
    """How many times the points are evaluated together."""
    return max(1, TOGETHER // max(point.numel() for point in points))


def _repeated(tensor: Tensor, times: int) -> Tensor:
    """All lanes so many times, one set after the other."""
    return tensor if times == 1 else tensor.repeat(times, *[1] * (tensor.dim() - 1))


def _split(sample: S, size: int) -> Iterator[S]:
    """Parts of a batch."""
    parts = [tensor.split(size, dim=2) for tensor in vars(sample).values()]
    for tensors in zip(*parts, strict=True):
        yield replace(sample, **dict(zip(vars(sample), tensors, strict=True)))


def _as_lanes(sample: S, lanes: int) -> S:
    """A batch `(1, clients, batch, ...)` as batches of one, each for so many lanes: `(batch * lanes, clients, 1, ...)`."""
    return _changed(
        sample, lambda t: t.transpose(0, 2).unsqueeze(1).expand(-1, lanes, *[-1] * (t.dim() - 1)).flatten(0, 1)
    )


def _first(sample: Sample) -> Tensor:
    return next(iter(vars(sample).values()))


def _changed(sample: S, change: Callable[[Tensor], Tensor]) -> S:
    """A sample with each of its tensors changed."""
    return replace(sample, **{name: change(tensor) for name, tensor in vars(sample).items()})


def difference_quotient(
    map_: Callable[[Tensor], Tensor], size: Callable[[Tensor], Tensor], a: Tensor, b: Tensor
) -> Tensor:
    """size(map(a) - map(b)) / |a - b|."""
    change, distance = size(map_(a) - map_(b)), norm(a - b)
    return change / distance.view(*distance.shape, *[1] * (change.dim() - distance.dim()))


# --- from the rows of the vocabulary ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Role:
    """How a kind of problem computes a function that rows speak of.

    Args:
        of: (problem, points at the clients, atom) -> values `(lanes, clients, ...)`; the exact function where the atom is None.
        space: that of its points, "x" or "y". is_matrix: the values are matrices, else vectors.
        at: (problem, points) -> the points at the clients.
        each: (problem, of_atom, *points) -> `of_atom` at every atom, `(atoms, lanes, clients, ...)`, and the probabilities.
    """

    of: Callable[..., Tensor]
    space: str = "x"
    is_matrix: bool = False
    at: Callable[[Problem, Tensor], Tensor] = lambda problem, point: problem.to_clients(point)
    each: Callable[..., tuple[Tensor, Tensor]] = each_atom

    def attained(self, form: Form, problem: Problem, *points: Tensor) -> Tensor:
        """What the function attains of a form at points of the clients; the largest over axes behind the clients."""
        found = self._attained(form, problem, *points)
        return found.flatten(2).amax(-1) if found.dim() > 2 else found

    def _attained(self, form: Form, problem: Problem, *points: Tensor) -> Tensor:
        matrix = frobenius if form.norm == bounding.FROBENIUS else spectral_norm
        size = matrix if self.is_matrix else norm
        if form.kind == bounding.UNLIKE:
            own = self.of(problem, *points, None)
            apart = size(own - own.mean(1, keepdim=True))
            return apart if form.over == bounding.EACH else (apart**2).mean(-1, keepdim=True).sqrt()

        of_noise = form.kind in (bounding.NOISE, bounding.NOISE_SIZE)

        def of_atom(*given: Any) -> Tensor:
            *at, atom = given
            if form.kind == bounding.LIPSCHITZ:
                return difference_quotient(lambda x: self.of(problem, x, atom), size, *at)
            value = self.of(problem, at[0], atom)
            return size(value - at[1] if of_noise else value)

        if form.per == bounding.MEAN:
            return of_atom(*points, None)
        exact = (self.of(problem, *points, None),) if of_noise else ()
        found, weights = self.each(problem, of_atom, *points, *exact)
        return found.amax(0) if form.per == bounding.SAMPLE else mean_square(found, weights)


@dataclass(frozen=True)
class Inequalities(Mapping[str, Inequality]):
    """By quantity: `besides`, and all that rows say of the functions that a kind has, those of a package's own rows too.

    A row with several forms is the largest of them; what it says of inner values is tried at those of the x.
    """

    roles: Mapping[str, Role]
    besides: Mapping[str, Inequality] = field(default_factory=lambda: WHOLE)

    def __getitem__(self, name: str) -> Inequality:
        if name in self.besides:
            return self.besides[name]
        forms = QUANTITIES[name].bounds
        if not forms or not all(form.function in self.roles and form.kind in bounding.AT_POINTS for form in forms):
            raise KeyError(name)
        spaces = {self.roles[form.function].space for form in forms}
        space = "x" if "x" in spaces else spaces.pop()
        return Inequality(space, forms[0].kind == bounding.LIPSCHITZ, partial(self._largest, forms, space))

    def __iter__(self) -> Iterator[str]:
        return (name for name in {**QUANTITIES, **self.besides} if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _largest(self, forms: tuple[Form, ...], space: str, problem: Problem, *points: Tensor) -> Tensor:
        def attained(form: Form) -> Tensor:
            role = self.roles[form.function]
            at = [role.at(problem, point) for point in points]
            if role.space != space:
                at = [self.roles["inner_value"].of(problem, x, None) for x in at]
            return role.attained(form, problem, *at)

        return reduce(torch.maximum, map(attained, forms))


# --- of the whole objective --------------------------------------------------------------------------------------------------


def _objective_gap(problem: Problem, x: Tensor) -> Tensor:
    start = problem.initial_point.unsqueeze(0)
    return (problem.objective(start) - problem.objective(x)).unsqueeze(-1)


def _gradient_cap(problem: Problem, x: Tensor) -> Tensor:
    return norm(problem.gradient(x)).unsqueeze(-1)


def _objective_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(problem.gradient, norm, a, b).unsqueeze(-1)


def _strong_convexity(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    """|a - b|^2 / <grad F(a) - grad F(b), a - b>."""
    return _over((a - b).square().sum(-1), ((problem.gradient(a) - problem.gradient(b)) * (a - b)).sum(-1))


def _polyak_lojasiewicz(problem: Problem, x: Tensor) -> Tensor:
    """2 (F(x) - F(x_*)) / |grad F(x)|^2."""
    gap = problem.objective(x) - problem.objective(problem.minimiser.unsqueeze(0))
    return _over(2 * gap, problem.gradient(x).square().sum(-1))


def _over(above: Tensor, below: Tensor) -> Tensor:
    """A quotient, infinite where the denominator is not positive and the numerator is."""
    found = torch.where(below > 0, above / below, torch.where(above > 0, torch.inf, 0.0))
    return found.unsqueeze(-1)


def at_minimiser(of: Callable[[Problem, Tensor], Tensor], problem: Problem, x: Tensor) -> Tensor:
    """What a function of the minimiser is, `(1, clients)` or `(1, 1)`, for every x; infinite where F is larger there than at x."""
    least = problem.minimiser.unsqueeze(0)
    is_least = problem.objective(least) <= problem.objective(x)
    return torch.where(is_least.unsqueeze(-1), of(problem, least), torch.inf)


def _initial_distance(problem: Problem, least: Tensor) -> Tensor:
    return norm(problem.initial_point - least).unsqueeze(-1)


WHOLE: dict[str, Inequality] = {
    "strong_convexity": Inequality("x", True, _strong_convexity, inverse=True),
    "polyak_lojasiewicz": Inequality("x", False, _polyak_lojasiewicz, inverse=True),
    "initial_distance": Inequality("x", False, partial(at_minimiser, _initial_distance)),
    "objective_gap": Inequality("x", False, _objective_gap),
    "gradient_cap": Inequality("x", False, _gradient_cap),
    "objective_smoothness": Inequality("x", True, _objective_smoothness),
}
