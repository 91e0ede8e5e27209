"""The conditional kind: the certificates that it must have, what they claim, and the checks of its oracles.

Certificates are for every outcome of the outer sample; means are over the inner one, given it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from ..kinds import AbstractConditional, InnerSample, OuterSample, Sample
from .inequalities import Inequalities, Problem, Role, along_axes
from .kind import Kind
from .oracle_checks import AUTOGRAD, RUNS, SeededDraws, compare_frequencies, disagree, random_points, select_run

_BATCH, _INNER = 3, 4
_SAMPLES = 4096

Oracle = Callable[[Tensor, OuterSample, InnerSample | None], Tensor]


def _jacobian(problem: AbstractConditional, x: Tensor, inner: InnerSample | None) -> Tensor:
    """Jacobian of g_eta(., xi) for every outcome xi, `(lanes, clients, outcomes, inner_dim, dim)`."""
    outer, weights = problem.outer_atoms()
    rows = along_axes(problem.inner_vjp, problem.inner_dim, x, outer, inner, axes=(len(weights),))
    return torch.stack(rows, dim=-2)


def _each_inner(problem: AbstractConditional, of_atom: Callable[..., Tensor], *points: Tensor) -> tuple[Tensor, Tensor]:
    """`(inner atoms, lanes, clients, outcomes)`, and their probabilities given the outcome."""
    inner, weights = problem.inner_atoms(problem.outer_atoms()[0])
    return torch.stack([of_atom(*points, inner.only(i)) for i in range(len(weights))]), weights


def _at_every_outcome(problem: AbstractConditional, y: Tensor) -> Tensor:
    """The same points for all clients and outcomes; points of each, `(lanes, clients, outcomes, inner_dim)`, as they are."""
    if y.dim() > 2:
        return y
    return problem.to_clients(y).unsqueeze(2).expand(-1, -1, len(problem.outer_atoms()[1]), -1)


def _each_outer(problem: AbstractConditional, of_atom: Callable[..., Tensor], *points: Tensor) -> tuple[Tensor, Tensor]:
    """`(outcomes, lanes, clients)`, and their probabilities: points are at every outcome already."""
    return of_atom(*points, None).movedim(-1, 0), problem.outer_atoms()[1]


ROLES = {
    "inner_value": Role(lambda problem, x, eta: problem.inner(x, problem.outer_atoms()[0], eta), each=_each_inner),
    "inner_jacobian": Role(_jacobian, is_matrix=True, each=_each_inner),
    "outer_gradient": Role(
        lambda problem, y, _: problem.outer_gradient(y, problem.outer_atoms()[0]),
        "y",
        at=_at_every_outcome,
        each=_each_outer,
    ),
}


def checks(problem: Problem, seed: int) -> Iterator[tuple[str, Iterable[str]]]:
    """(name, failures) of each check."""
    yield "parts", _check_parts(problem, seed)
    yield "chain", _check_sample_gradient(problem, seed)
    yield "unbiased", _check_conditional_expectations(problem, seed)
    yield "bits", _check_bits(problem, seed)
    yield "sampling", _check_sampling(problem, seed)


def _oracles(problem: Problem, seed: int, batch: int) -> dict[str, tuple[Tensor, Oracle]]:
    """inner and inner_vjp at x, the latter with a fixed v per run and client."""
    x = random_points(problem, RUNS, problem.dim, seed)
    x_and_v = torch.cat([x, random_points(problem, RUNS, problem.inner_dim, seed + 1)], dim=-1)

    def inner_vjp(point: Tensor, outer: OuterSample, inner: InnerSample | None) -> Tensor:
        v = point[..., problem.dim :].unsqueeze(2).expand(-1, -1, batch, -1)
        return problem.inner_vjp(point[..., : problem.dim].contiguous(), v, outer, inner)

    return {"inner": (x, problem.inner), "inner_vjp": (x_and_v, inner_vjp)}


def _check_sample_gradient(problem: Problem, seed: int) -> Iterator[str]:
    """In one go or by the chain rule, for the exact conditional expectation, for one draw of eta and for several."""
    x = random_points(problem, RUNS, problem.dim, seed)
    for m in (0, 1, _INNER):
        outer, inner = _draw(problem, RUNS, _BATCH, max(m, 1), seed)
        given = (outer, inner if m else None)
        chain = problem.inner_vjp(x, problem.outer_gradient(problem.inner(x, *given), outer), *given)
        if disagree(problem.sample_gradient(x, *given), chain, AUTOGRAD):
            yield f"sample_gradient is not the chain rule through inner and outer_gradient ({m} inner samples)"


def _check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """Derivatives against autograd, and the objective from its parts."""
    outer, weights = problem.outer_atoms()
    x = random_points(problem, RUNS, problem.dim, seed).requires_grad_()
    v = random_points(problem, RUNS, problem.inner_dim, seed + 1).unsqueeze(2).expand(-1, -1, len(weights), -1)
    for inner in (None, problem.inner_atoms(outer)[0].only(0)):
        (expected,) = torch.autograd.grad((problem.inner(x, outer, inner) * v).sum(), x)
        if disagree(problem.inner_vjp(x, v, outer, inner).sum(2).detach(), expected, AUTOGRAD):
            yield f"inner_vjp differs from autograd of inner (sample {inner is not None})"
    y = random_points(problem, RUNS, problem.inner_dim, seed + 2).unsqueeze(2).repeat(1, 1, len(weights), 1)
    y.requires_grad_()
    (expected,) = torch.autograd.grad(problem.outer_value(y, outer).sum(), y)
    if disagree(problem.outer_gradient(y, outer).detach(), expected, AUTOGRAD):
        yield "outer_gradient differs from autograd of outer_value"
    point = x.detach()[:, 0]
    values = problem.outer_value(problem.inner(problem.to_clients(point), outer), outer)
    if disagree(problem.objective(point), (values * weights).sum(-1).mean(-1), AUTOGRAD):
        yield "objective differs from mean_n E_xi f_xi(E_eta g_eta(x, xi))"


def _check_conditional_expectations(problem: Problem, seed: int) -> Iterator[str]:
    outer, outer_weights = problem.outer_atoms()
    inner, weights = problem.inner_atoms(outer)
    for name, (point, oracle) in _oracles(problem, seed, len(outer_weights)).items():
        terms = [weight * oracle(point, outer, inner.only(i)) for i, weight in enumerate(weights.tolist())]
        if disagree(torch.stack(terms).sum(0), oracle(point, outer, None), AUTOGRAD):
            yield f"{name}: its conditional expectation over the inner atoms is not the exact oracle"


def _draw(problem: Problem, runs: int, batch: int, m: int, seed: int = 0) -> tuple[OuterSample, InnerSample]:
    draws = SeededDraws(runs, problem.clients, seed, str(problem.initial_point.device))
    outer = problem.sample_outer(draws, batch)
    return outer, problem.sample_inner(draws, outer, m)


def _check_bits(problem: Problem, seed: int) -> Iterator[str]:
    outer, inner = _draw(problem, RUNS, _BATCH, _INNER, seed)
    oracles = _oracles(problem, seed, _BATCH)
    y = random_points(problem, RUNS, problem.inner_dim, seed)
    oracles["outer_gradient"] = (
        y,
        lambda point, outer, _: problem.outer_gradient(
            point.unsqueeze(2).expand(-1, -1, _BATCH, -1).contiguous(), outer
        ),
    )
    for name, (point, oracle) in oracles.items():
        whole = oracle(point, outer, inner)
        if whole.dtype != torch.float64 or whole.shape[:3] != (RUNS, problem.clients, _BATCH):
            yield f"{name}: expected float64 (runs, clients, batch, ...), got {whole.dtype} {tuple(whole.shape)}"
        if not torch.equal(whole, oracle(point, outer, inner)):
            yield f"{name}: two calls with one sample differ"
        alone = [oracle(point[r : r + 1], select_run(outer, r), select_run(inner, r)) for r in range(RUNS)]
        if not torch.equal(whole, torch.cat(alone)):
            yield f"{name}: a run alone differs from the same run in a batch"
        mean = torch.stack([oracle(point, outer, inner.only(i)) for i in range(_INNER)]).mean(0)
        if disagree(whole, mean, AUTOGRAD):
            yield f"{name}: an inner batch does not give the mean of its samples"


def _check_sampling(problem: Problem, seed: int) -> Iterator[str]:
    """The outer draws against the outer atoms; the inner draws of the first outer sample against its inner atoms."""
    outer, inner = _draw(problem, 1, _SAMPLES, 2, seed)
    outcomes, probabilities = problem.outer_atoms()
    yield from compare_frequencies(outcomes, probabilities, outer)
    support, weights = problem.inner_atoms(OuterSample(outer.outcome[:, :, :1]))
    along_batch: Sample = InnerSample(support.eta.transpose(2, 3))
    yield from compare_frequencies(along_batch, weights, InnerSample(inner.eta[..., :1]))


KIND = Kind(
    (
        "outer_mean_square_lipschitz",
        "outer_sample_lipschitz",
        "outer_sample_smoothness",
        "inner_value_noise",
        "inner_jacobian_mean_square",
        "inner_sample_lipschitz",
        "inner_sample_smoothness",
        "objective_gap",
        "gradient_cap",
    ),
    Inequalities(ROLES),
    checks,
)
