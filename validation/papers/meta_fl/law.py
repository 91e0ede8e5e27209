"""Meta FL: exact expectations of a client's estimate of grad F_i, over every outcome of its batches.

The noise of a batch enters through its mean, which has finitely many outcomes. The tree of outcomes branches once per
batch; a batch that enters linearly, given those before it, is replaced by its mean: the Hessian-vector products of the exact
method, and the last batch that the Hessian-free one draws. Lanes are (run, outcome) pairs, the outcomes of a run together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import torch
from torch import Tensor

Law = tuple[Tensor, Tensor]  # values and probabilities, (outcomes,)
AT_ONCE = 1 << 19
"""Lanes times clients that are held at once."""
_DIGITS = 12
"""Decimals to which batch means are equal."""


def batch_mean(problem: Any, size: int) -> Law:
    """The law of the mean noise of `size` independent samples.

    Raises:
        ValueError: the noise of the clients has different laws.
    """
    sample, weights = problem.atoms()
    values = sample.noise[0]
    if not bool((values == values[:1]).all()):
        raise ValueError(f"{problem.name}: wanted one law of the noise for all clients")
    law: dict[float, float] = {}
    for chosen in combinations_with_replacement(range(len(weights)), size):
        counts = [chosen.count(i) for i in range(len(weights))]
        mean = round(sum(n * float(v) for n, v in zip(counts, values[0], strict=True)) / size, _DIGITS)
        chance = prod(float(w) ** n / factorial(n) for n, w in zip(counts, weights, strict=True)) * factorial(size)
        law[mean] = law.get(mean, 0.0) + chance
    kind = {"dtype": values.dtype, "device": values.device}
    return torch.tensor(list(law), **kind), torch.tensor(list(law.values()), **kind)


@dataclass(frozen=True)
class Tree:
    """Outcomes so far: every tensor is `(lanes, clients, dim)`, `weights` are those of one run's outcomes."""

    points: tuple[Tensor, ...]
    weights: Tensor

    def branched(self, law: Law) -> tuple[Tree, Tensor]:
        """Every lane once per outcome of one more batch, and the mean noise of that batch in every lane."""
        values, chances = law
        lanes = len(self.points[0])
        points = tuple(point.repeat_interleave(len(values), 0) for point in self.points)
        return Tree(points, (self.weights.unsqueeze(-1) * chances).flatten()), values.repeat(lanes)

    def expectation(self, value: Tensor) -> Tensor:
        """E of `(lanes, ...)` over the outcomes, `(runs, ...)`."""
        by_run = value.unflatten(0, (-1, len(self.weights)))
        return torch.tensordot(by_run, self.weights, dims=([1], [0]))


@dataclass(frozen=True)
class Estimate:
    """A client's estimate of grad F_i: the variant of the method, its batches and the width of its difference."""

    problem: Any
    variant: str
    gradients: Law
    hessians: Law
    delta: float = 0.0

    @staticmethod
    def of(problem: Any, variant: str, numbers: Mapping[str, float]) -> Estimate:
        """From the values of the theorem's symbols; without D_H the Hessian batches are those of the gradients."""
        D = int(numbers["D"])
        laws = (batch_mean(problem, D), batch_mean(problem, int(numbers.get("D_H", D))))
        return Estimate(problem, variant, *laws, numbers.get("delta", 0.0))

    @property
    def outcomes(self) -> int:
        """Leaves of the tree of one run."""
        path, nu = len(self.gradients[0]) ** self.problem.nu, self.problem.nu
        noisy = len(self.gradients[0]) * len(self.hessians[0]) ** (nu - 1)
        return path * (noisy if self.variant == "hessian_free" else 1)

    def path(self, w: Tensor) -> Tree:
        """The fine-tuning steps from w `(runs, clients, dim)` with sampled gradients: w~_0, ..., w~_nu."""
        tree = Tree((w,), torch.ones(1, dtype=w.dtype, device=w.device))
        for _ in range(self.problem.nu):
            tree, noise = tree.branched(self.gradients)
            last = tree.points[-1]
            tree = replace(tree, points=(*tree.points, last - self.problem.alpha * self._gradient(last, noise)))
        return tree

    def mean(self, w: Tensor) -> Tensor:
        """E of the estimate at w, `(runs, clients, dim)`."""
        tree = self.path(w)
        direction = {"exact": self._exact, "first_order": self._last, "hessian_free": self._hessian_free}[self.variant]
        return tree.expectation(torch.cat([direction(part) for part in self._parts(tree.points)]))

    def _parts(self, points: tuple[Tensor, ...]) -> Iterator[tuple[Tensor, ...]]:
        """The lanes of a path in blocks, so that the branches that follow fit."""
        lanes, clients = points[0].shape[:2]
        later = self.outcomes // len(self.gradients[0]) ** self.problem.nu
        block = max(1, AT_ONCE // (clients * later))
        for first in range(0, lanes, block):
            yield tuple(point[first : first + block] for point in points)

    def _last(self, points: tuple[Tensor, ...]) -> Tensor:
        return self._gradient(points[-1])

    def _exact(self, points: tuple[Tensor, ...]) -> Tensor:
        d = self._gradient(points[-1])
        for w in reversed(points[:-1]):
            d = d - self.problem.alpha * self.problem.local_hvp(w, d)
        return d

    def _hessian_free(self, points: tuple[Tensor, ...]) -> Tensor:
        tree, noise = Tree(points, torch.ones(1, dtype=points[0].dtype, device=points[0].device)).branched(
            self.gradients
        )
        d = self._gradient(tree.points[-1], noise)
        for l in reversed(range(1, self.problem.nu)):
            tree, noise = Tree((*tree.points[: l + 1], d), tree.weights).branched(self.hessians)
            d = self._factor(tree.points[l], tree.points[-1], noise)
        return tree.expectation(self._factor(tree.points[0], d))

    def _factor(self, w: Tensor, d: Tensor, noise: Tensor | None = None) -> Tensor:
        ahead, behind = (self._gradient(w + sign * self.delta * d, noise) for sign in (1, -1))
        return d - self.problem.alpha * (ahead - behind) / (2 * self.delta)

    def _gradient(self, w: Tensor, noise: Tensor | None = None) -> Tensor:
        return self.problem.local_gradient(w, None if noise is None else _sample(self.problem, noise))


def _sample(problem: Any, noise: Tensor) -> Any:
    """A batch with the given mean in every lane, for all clients alike: their batches never meet in one estimate."""
    sample, _ = problem.atoms()
    return replace(sample, noise=noise.view(-1, 1, 1).expand(-1, problem.clients, 1))


def path_error(estimate: Estimate, w: Tensor, exact: Tensor, power: int) -> Tensor:
    """E||w~_nu - w_nu||^power, `(runs, clients)`; `exact` is w_nu."""
    tree = estimate.path(w)
    far = torch.linalg.vector_norm(tree.points[-1] - exact.repeat_interleave(len(tree.weights), 0), dim=-1)
    return tree.expectation(far**power)


def noise_moment(law: Law, w: Tensor, error_sq: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """E of the squared `error_sq(w, mean noise)`, `(runs, clients)`: the fourth moment of an error of one batch."""
    tree, noise = Tree((w,), torch.ones(1, dtype=w.dtype, device=w.device)).branched(law)
    return tree.expectation(error_sq(tree.points[0], noise).square())


def gradient_error_sq(problem: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """||batch gradient - grad f_i||^2 at w_i, `(lanes, clients)`."""

    def error(w: Tensor, noise: Tensor) -> Tensor:
        return (problem.local_gradient(w, _sample(problem, noise)) - problem.local_gradient(w)).square().sum(-1)

    return error


def hessian_error_sq(problem: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """||batch Hessian - Hessian of f_i||^2 in the Frobenius norm, column by column."""

    def error(w: Tensor, noise: Tensor) -> Tensor:
        sample, total = _sample(problem, noise), torch.zeros(w.shape[:2], dtype=w.dtype, device=w.device)
        for j in range(problem.dim):
            column = torch.zeros_like(w)
            column[..., j] = 1.0
            total += (problem.local_hvp(w, column, sample) - problem.local_hvp(w, column)).square().sum(-1)
        return total

    return error
