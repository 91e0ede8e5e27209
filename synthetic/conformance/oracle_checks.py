"""Checks of oracles that every kind with one sample shares: derivatives, means, expectations, bits.

Each check yields a sentence per failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..kinds import AbstractProblem, AbstractSampled, Sample
from .inequalities import atom_list

RUNS, _BATCH = 5, 7
AUTOGRAD = 1e-9  # relative agreement of two ways to the same derivative or sum
_DIFFERENCE = 1e-5  # relative agreement with central differences of step 1e-5
_FREQUENCY = 6.0  # standard deviations that an atom's frequency may be off
_SAMPLES = 4096

Problem = Any
AnySample = TypeVar("AnySample", bound=Sample)
Oracle = Callable[[Tensor, Sample | None], Tensor]


class SeededDraws:
    """Draws for tests: one torch generator per purpose, so that equal purposes give equal numbers."""

    def __init__(self, runs: int, clients: int, seed: int = 0, device: str = "cpu") -> None:
        self.runs, self.clients, self.seed, self.device = runs, clients, seed, device

    @property
    def per_seed(self) -> SeededDraws:
        """Itself: it knows no grid."""
        return self

    def _generator(self, purpose: str) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed * 1_000_003 + sum(i * ord(c) for i, c in enumerate(purpose, 1)))

    def integers(self, purpose: str, high: int, *tail: int) -> Tensor:
        """Uniform on {0, ..., high - 1}, int64, `(runs, clients, *tail)`."""
        shape = (self.runs, self.clients, *tail)
        return torch.randint(0, high, shape, generator=self._generator(purpose)).to(self.device)

    def counts(self, purpose: str, high: int, *tail: int) -> Tensor:
        """How often each of {0, ..., high - 1} is among the last axis of `integers(purpose, high, *tail)`, float64."""
        drawn = self.integers(purpose, high, *tail)
        return torch.nn.functional.one_hot(drawn, high).sum(-2).to(torch.float64)

    def signs(self, purpose: str, *tail: int) -> Tensor:
        """Fair signs, float64."""
        return 2.0 * self.integers(purpose, 2, *tail).to(torch.float64) - 1.0

    def uniform(self, purpose: str, *tail: int) -> Tensor:
        """Uniform on [0, 1), float64."""
        shape = (self.runs, self.clients, *tail)
        return torch.rand(shape, generator=self._generator(purpose), dtype=torch.float64).to(self.device)


def random_points(problem: AbstractProblem, runs: int, size: int, seed: int) -> Tensor:
    """Points at distances 0.1 to 100 from 0, `(runs, clients, size)`."""
    generator = torch.Generator().manual_seed(seed)
    shape = (runs, problem.clients, size)
    scale = 10.0 ** (3 * torch.rand(*shape[:-1], 1, generator=generator, dtype=torch.float64) - 1)
    points = scale * torch.randn(shape, generator=generator, dtype=torch.float64) / size**0.5
    return points.to(problem.initial_point.device)


def disagree(a: Tensor, b: Tensor, tolerance: float) -> bool:
    """Whether a and b differ by more than `tolerance` relative to the larger entries of b; NaN differs."""
    return not bool((a - b).abs().max() <= tolerance * (1.0 + b.abs().max()))


def along(problem: Problem, name: str, size: int, seed: int) -> tuple[Tensor, Oracle]:
    """An oracle that takes a direction v of this size behind x, as a function of (x and v laid end to end, sample); and a point."""
    point = torch.cat([random_points(problem, RUNS, n, seed + i) for n, i in ((problem.dim, 0), (size, 1))], dim=-1)

    def oracle(point: Tensor, sample: Sample | None = None) -> Tensor:
        x, v = point[..., : problem.dim].contiguous(), point[..., problem.dim :].contiguous()
        return getattr(problem, name)(x, v, sample)

    return point, oracle


def check_slope(name: str, found: Tensor, of: str, value: Tensor, at: Tensor) -> Iterator[str]:
    """An oracle against autograd of what it is the gradient of at a point; values of other lanes do not depend on it."""
    (expected,) = torch.autograd.grad(value.sum(), at)
    if disagree(found.detach(), expected, AUTOGRAD):
        yield f"{name} differs from autograd of {of}"


def check_product(problem: Problem, name: str, of: str, x: Tensor, v: Tensor) -> Iterator[str]:
    """A product with v of the transposed Jacobian of an oracle, exact and at every atom; the first that is wrong."""
    for sample in (None, *(atom for atom, _ in atom_list(problem))):
        pulled = (getattr(problem, of)(x, sample) * v).sum()
        if list(check_slope(name, getattr(problem, name)(x, v, sample), of, pulled, x)):
            yield f"{name} differs from autograd of {of} (sample {sample is not None})"
            return


def check_objective(problem: AbstractProblem, seed: int) -> Iterator[str]:
    """The gradient against autograd and against central differences of the objective."""
    x = random_points(problem, RUNS, problem.dim, seed)[:, 0].requires_grad_()
    (expected,) = torch.autograd.grad(problem.objective(x).sum(), x)
    x = x.detach()
    gradient = problem.gradient(x)
    if disagree(gradient, expected, AUTOGRAD):
        yield "gradient differs from autograd of objective"
    step = 1e-5 * torch.nn.functional.normalize(torch.ones_like(x), dim=-1)
    difference = (problem.objective(x + step) - problem.objective(x - step)) / 2e-5
    if disagree((gradient * step / 1e-5).sum(-1), difference, _DIFFERENCE):
        yield "gradient differs from central differences of objective"


def check_unbiased(problem: AbstractSampled, oracles: dict[str, tuple[Tensor, Oracle]]) -> Iterator[str]:
    """The exact expectation of every stochastic oracle over the finite support is the exact oracle."""
    for name, (point, oracle) in oracles.items():
        mean = torch.stack([weight * oracle(point, atom) for atom, weight in atom_list(problem)]).sum(0)
        if disagree(mean, oracle(point, None), AUTOGRAD):
            yield f"{name}: its expectation over the atoms is not the exact oracle"


def check_bits(problem: AbstractSampled, oracles: dict[str, tuple[Tensor, Oracle]]) -> Iterator[str]:
    """Batched equals single bit for bit, twice equals once, a batch gives its mean, and everything is float64."""
    sample = problem.sample(SeededDraws(RUNS, problem.clients, device=str(problem.initial_point.device)), _BATCH)
    for name, (point, oracle) in oracles.items():
        whole = oracle(point, sample)
        if whole.dtype != torch.float64 or whole.shape[:2] != point.shape[:2]:
            yield f"{name}: expected float64 for {tuple(point.shape[:2])} lanes, got {whole.dtype} {tuple(whole.shape)}"
        if not torch.equal(whole, oracle(point, sample)):
            yield f"{name}: two calls with one sample differ"
        alone = torch.cat([oracle(point[run : run + 1], select_run(sample, run)) for run in range(len(point))])
        if not torch.equal(whole, alone):
            yield f"{name}: a run alone differs from the same run in a batch"
        mean = torch.stack([oracle(point, sample.at(i)) for i in range(_BATCH)]).mean(0)
        if disagree(whole, mean, AUTOGRAD):
            yield f"{name}: a batch does not give the mean of its samples"


def check_objective_bits(problem: AbstractProblem, seed: int) -> Iterator[str]:
    """`objective` and `gradient` of a run do not depend on the other runs; shapes and dtype."""
    x = random_points(problem, RUNS, problem.dim, seed)[:, 0].contiguous()
    for name, oracle, shape in (("objective", problem.objective, (RUNS,)), ("gradient", problem.gradient, x.shape)):
        whole = oracle(x)
        if whole.shape != shape or whole.dtype != torch.float64:
            yield f"{name}: expected float64 {tuple(shape)}, got {whole.dtype} {tuple(whole.shape)}"
        elif not torch.equal(whole, torch.cat([oracle(x[i : i + 1]) for i in range(RUNS)])):
            yield f"{name}: a run alone differs from the same run in a batch"


def select_run(sample: AnySample, run: int) -> AnySample:
    """One run of a sample."""
    return type(sample)(**{f.name: getattr(sample, f.name)[run : run + 1] for f in fields(sample)})


def check_sampling(problem: AbstractSampled, seed: int) -> Iterator[str]:
    """`sample` draws from the support that `atoms` lists, with those probabilities."""
    support, weights = problem.atoms()
    if not abs(float(weights.sum()) - 1.0) < 1e-12 or not bool((weights >= 0).all()):
        yield f"atoms: probabilities must be nonnegative and sum to 1, got {weights.tolist()}"
    drawn = problem.sample(SeededDraws(1, problem.clients, seed, str(problem.initial_point.device)), _SAMPLES)
    yield from compare_frequencies(support, weights, drawn)


def compare_frequencies(support: Sample, weights: Tensor, drawn: Sample) -> Iterator[str]:
    """`drawn` consists of elements of `support`, about as often as `weights` say."""
    same = (_rows(drawn).unsqueeze(3) == _rows(support).unsqueeze(2)).all(-1)  # (1, clients, samples, atoms)
    if not bool(same.any(-1).all()):
        yield "sample: drew something that is not an atom"
    mass = (same.to(torch.float64).mean(2) - _coincident_weight(support, weights)).abs()
    deviation = (weights * (1 - weights) / _SAMPLES).sqrt().clamp_min(1.0 / _SAMPLES)
    if bool((mass > _FREQUENCY * deviation).any()):
        yield "sample: an atom's frequency is far from its probability"


def _rows(sample: Sample) -> Tensor:
    columns = [getattr(sample, f.name).to(torch.float64) for f in fields(sample)]
    return torch.cat([column.flatten(3) if column.dim() > 3 else column.unsqueeze(-1) for column in columns], dim=-1)


def _coincident_weight(support: Sample, weights: Tensor) -> Tensor:
    """The probability of everything that looks like each atom (atoms may coincide): `(1, clients, atoms)`."""
    rows = _rows(support)
    return ((rows.unsqueeze(3) == rows.unsqueeze(2)).all(-1) * weights).sum(-1)
