"""Every theorem of the five papers has certified problems that fit, on which a few hundred seeds can support its bound.

Which theorem fits which problem is computed (`validation/runs/fit.py`, tests/validation/test_instances.py).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import pytest
import torch
from fedco import theorem, theorems
from fedco.bounds.language.metrics import MEASURES
from fedco.synthetic import problem
from fedco.synthetic.conformance.oracle_checks import random_points
from fedco.validation.runs.experiments import cap_of
from fedco.validation.runs.fit import fits
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipes
from fedco.validation.runs.values import evaluate_at
from fedco.validation.statistics.planning import seeds_to_support
from quick import slow_but

RECIPES = recipes()

COUNTEREXAMPLE = "feddro.theorem_4_1"
NOT_A_BOUND = {
    COUNTEREXAMPLE: "a counterexample: it has its own problem, feddro_counterexample",
    "feddro.corollary_2": "orders of samples and rounds, without a bound of the gradient",
}
MORE = {
    "feddro.theorem_4_2": (
        Instance("feddro_without_h_homogeneous", {"eta": Fraction(1, 5), "I": 1}, "equal", {"start": 8.0}, (400,)),
        Instance("feddro_without_h_noisy", {"eta": Fraction(1, 8), "I": 2}, "noisy", {"start": 8.0}, (400, 800)),
    ),
}
"""Instances beside those of the recipes: Theorem 4.2 is about a method without noise, on whatever problem."""
ALPHA, SLACK, FEW_HUNDRED = 1e-6, 10.0, 500
LARGEST_RATIO = 20.0
STRONG = 0.1
"""How large, relative to the cap or to the signal, heterogeneity and noise must be to deserve the name."""

CLAIMS = [claim for claim in theorems() if theorem(claim).kind in ("theorem", "corollary")]
BOUNDS = [claim for claim in CLAIMS if claim not in NOT_A_BOUND]


def client_gradients(instance, x: torch.Tensor) -> torch.Tensor:
    """What each client contributes to the exact gradient at x `(runs, dim)`: `(runs, clients, dim)`."""
    x = x.unsqueeze(1).expand(-1, instance.clients, -1).contiguous()
    if instance.kind == "shared_composite":
        y = instance.inner_mean(x[:, 0]).unsqueeze(1).expand(-1, instance.clients, -1).contiguous()
        own, extra = instance.inner_vjp(x, instance.outer_gradient(y)), instance.extra_gradient(x)
        return own if extra is None else own + extra
    if instance.kind == "local_composite":
        return instance.inner_vjp(x, instance.outer_gradient(instance.inner(x)))
    if instance.kind == "conditional":
        outer, weights = instance.outer_atoms()
        return (instance.sample_gradient(x, outer) * weights.view(1, 1, -1, 1)).sum(2)
    if instance.kind == "federated":
        return instance.local_gradient(x)
    if instance.kind == "minimax":
        return instance.descent_gradient(x, instance.to_clients(instance.maximiser(x[:, 0])))
    if instance.kind == "bilevel":
        y = instance.lower_minimiser(x[:, 0])
        slope = instance.upper_gradient_in_y(x, instance.to_clients(y)).mean(1)
        y, v = (instance.to_clients(part) for part in (y, instance.solve_lower(x[:, 0], y, slope)))
        return instance.upper_gradient(x, y) - instance.lower_cross(x, y, v)
    return instance.client_gradients(x)


def steepest(instance) -> float:
    """The bound of the gradient, or its size at the start where it has none."""
    cap = instance.certificates.get("gradient_cap")
    return float(cap.value if cap else instance.gradient(instance.initial_point.unsqueeze(0)).norm())


def heterogeneity(instance) -> float:
    """The largest deviation of a client's gradient from the mean among 64 points, in units of the cap."""
    points = torch.cat([random_points(instance, 64, instance.dim, 3)[:, 0], instance.initial_point.unsqueeze(0)])
    own = client_gradients(instance, points)
    mean = instance.gradient(points)
    assert torch.allclose(own.mean(1), mean, atol=1e-10)
    deviation = torch.linalg.vector_norm(own - mean.unsqueeze(1), dim=-1).amax()
    return float(deviation) / steepest(instance)


def noise(instance) -> float:
    """The certified noise of one sample in units of what it disturbs."""
    of = {name: float(certificate.value) for name, certificate in instance.certificates.items()}
    if instance.kind in ("meta", "federated", "minimax", "bilevel"):
        return of["local_gradient_noise"] / of.get("local_gradient_bound", steepest(instance))
    if instance.kind == "conditional":
        return of["inner_value_noise"] * of["outer_sample_smoothness"] / of["outer_sample_lipschitz"]
    return of["inner_jacobian_noise"] / of["inner_lipschitz"]


@cache
def made(name: str, parameters: tuple[tuple[str, Any], ...]):
    """Several theorems have instances on one problem, whose certificates are computed once."""
    return problem(name, **dict(parameters))


@cache
def roles(instance) -> frozenset[str]:
    """Which of the three words the problem deserves."""
    spread = heterogeneity(instance)
    found = {"homogeneous"} if spread < 1e-12 else {"heterogeneous"} if spread >= STRONG else set()
    return frozenset(found | ({"noisy"} if noise(instance) >= STRONG else set()))


def instances_of(claim: str) -> tuple[Instance, ...]:
    recipe = RECIPES.get(claim)
    return (*(recipe.instances if recipe else ()), *MORE.get(claim, ()))


def can_be_supported(claim: str, instance: Instance) -> bool:
    """Whether at one of its horizons the bound is admissible, U/B is in (1, 20], and few hundred seeds suffice."""
    on = made(instance.problem, tuple(instance.parameters.items()))
    assert fits(theorem(claim), on)
    label = RECIPES[claim].label if claim in RECIPES else "printed"
    for T in instance.horizons:
        bound, kind = evaluate_at(theorem(claim), label, on, instance.hyperparameters, T)
        assert kind in ("exact", "upper")
        cap = cap_of(theorem(claim), on, instance, bound)
        is_useful = bound.admissible and 1 < cap / bound.total <= LARGEST_RATIO
        if is_useful and seeds_to_support(bound.total, cap, SLACK, ALPHA) <= FEW_HUNDRED:
            return True
    return False


@pytest.mark.parametrize("claim", slow_but(BOUNDS[::2], BOUNDS))
def test_a_theorem_can_be_supported_on_three_kinds_of_problems(claim):
    supported = [instance for instance in instances_of(claim) if can_be_supported(claim, instance)]
    deserved = [roles(made(instance.problem, tuple(instance.parameters.items()))) for instance in supported]
    assert len({instance.name for instance in supported}) >= 3
    quiet = "deterministic" in theorem(claim).assume
    for role in ("homogeneous", "heterogeneous", *(() if quiet else ("noisy",))):
        assert any(role in words for words in deserved), (claim, role, deserved)


def test_only_claims_without_a_bound_are_left_out():
    assert set(NOT_A_BOUND) <= set(CLAIMS)
    for claim in BOUNDS:
        assert theorem(claim).metric.of in MEASURES
        assert "grad" in theorem(claim).metric.name or claim.startswith("library.")
