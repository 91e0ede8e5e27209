"""Exact expectations of meta FL: against every outcome of the method itself, and the lemmas that they measure."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
import torch
from fedco import theorem
from fedco.algorithms import MetaFL
from fedco.synthetic import problem
from fedco.synthetic.parts.noise import NoiseSample
from fedco.validation.lemmas.link import trace_run
from fedco.validation.lemmas.measure import measure_chain
from fedco.validation.lemmas.sides import compare_sides
from fedco.validation.papers.meta_fl import lemmas as meta_fl
from fedco.validation.papers.meta_fl.law import (
    Estimate,
    batch_mean,
    gradient_error_sq,
    hessian_error_sq,
    noise_moment,
    path_error,
)
from fedco.validation.runs.registry import chain_for, recipe_for
from fedco.validation.runs.values import evaluate_at, numbers_of

SMALL = {"clients": 2, "dim": 3, "nu": 2, "sigma_G": 0.4, "sigma_H": 0.3, "kurtosis": 2, "alpha": 0.3}
VARIANTS = ("exact", "first_order", "hessian_free")
DELTA = 0.2


def _noisy(**more):
    return problem("meta_noisy", **{**SMALL, **more})


def _models(made):
    return torch.tensor(
        [[[0.3, -0.2, 0.5], [1.0, 0.1, -0.4]], [[0.0, 0.0, 0.1], [-0.5, 0.7, 0.2]]], dtype=torch.float64
    )


class Fixed:
    """A problem whose batches are given by purpose."""

    def __init__(self, inner, noise):
        self.inner, self.noise = inner, noise

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def sample(self, draws, batch, purpose="sample"):
        return NoiseSample(torch.tensor(self.noise[purpose], dtype=torch.float64).expand(2, self.inner.clients, batch))


def _enumerated(made, variant, D, w):
    """E of `MetaFL.meta_gradient` at w, over every sample of every batch that the variant draws."""
    sample, weights = made.atoms()
    values, method = sample.noise[0, 0].tolist(), MetaFL(beta=1.0, tau=1, D=D, variant=variant, delta=DELTA)
    purposes = [f"gradient {l}" for l in range(made.nu + 1)]
    purposes += [] if variant == "first_order" else [f"hessian {l}" for l in range(made.nu)]
    total = torch.zeros_like(w)
    for picked in product(product(range(len(values)), repeat=D), repeat=len(purposes)):
        chance = math.prod(float(weights[i]) for batch in picked for i in batch)
        noise = {name: [values[i] for i in batch] for name, batch in zip(purposes, picked, strict=True)}
        total += chance * method.meta_gradient(Fixed(made, noise), w, None)
    return total


@pytest.mark.parametrize(("variant", "D"), [*((variant, 1) for variant in VARIANTS), ("first_order", 2)])
def test_the_mean_of_an_estimate_is_that_of_the_method_over_every_outcome(variant, D):
    made = _noisy()
    w = _models(made)
    mean = Estimate.of(made, variant, {"D": D, "D_H": D, "delta": DELTA}).mean(w)
    assert torch.allclose(mean, _enumerated(made, variant, D, w), rtol=0, atol=1e-13)
    errors = torch.linalg.vector_norm(mean - made.client_gradients(w), dim=-1)
    assert float(errors.max()) > 1e-6  # there is a mean error to be measured


def test_blocks_of_lanes_change_no_mean(monkeypatch):
    made = _noisy()
    estimate = Estimate.of(made, "hessian_free", {"D": 2, "D_H": 2, "delta": DELTA})
    whole = estimate.mean(_models(made))
    monkeypatch.setattr("fedco.validation.papers.meta_fl.law.AT_ONCE", 1)
    assert torch.allclose(estimate.mean(_models(made)), whole, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("D", "kurtosis"), [(1, 1), (2, 1), (5, 2), (16, 3)])
def test_a_batch_mean_has_the_moments_of_its_samples(D, kurtosis):
    values, chances = batch_mean(_noisy(kurtosis=kurtosis), D)
    assert float(chances.sum()) == pytest.approx(1, abs=1e-14)
    moments = [float((chances * values**power).sum()) for power in (1, 2, 3, 4)]
    assert moments == pytest.approx([0, 1 / D, 0, (kurtosis + 3 * (D - 1)) / D**3], abs=1e-12)
    assert len(values) == (D + 1 if kurtosis == 1 else 2 * D + 1)


def test_outcomes_counts_the_leaves():
    made = _noisy()
    path = len(batch_mean(made, 2)[0]) ** 2
    for variant, wanted in (("exact", path), ("first_order", path), ("hessian_free", path * 5 * 5)):
        estimate = Estimate.of(made, variant, {"D": 2, "D_H": 2, "delta": DELTA})
        assert estimate.outcomes == wanted
        assert len(estimate.path(_models(made)).weights) == path


def test_path_errors_are_the_moments_over_every_outcome():
    made = _noisy()
    w, estimate = _models(made), Estimate.of(made, "exact", {"D": 1})
    values, chances = batch_mean(made, 1)
    found = {power: torch.zeros(2, 2, dtype=torch.float64) for power in (1, 2, 4)}
    for (z0, p0), (z1, p1) in product(zip(values, chances, strict=True), repeat=2):
        x = w
        for z in (z0, z1):
            x = x - made.alpha * made.local_gradient(x, NoiseSample(z.expand(2, 2, 1)))
        for power, total in found.items():
            total += p0 * p1 * torch.linalg.vector_norm(x - made.fine_tuned(w)[-1], dim=-1) ** power
    for power, wanted in found.items():
        assert torch.allclose(path_error(estimate, w, made.fine_tuned(w)[-1], power), wanted, rtol=1e-12)


def test_lemma_12_is_attained_so_a_constant_one_percent_smaller_is_caught():
    """At 0 the gradient noise is sigma_G z v and at a crest the Hessian noise is sigma_H z v v^T: both sides are equal."""
    made, D = _noisy(), 3
    sigma_G, sigma_H = SMALL["sigma_G"], SMALL["sigma_H"]
    kbar = {sigma: (2 * sigma**4 + 3 * (D - 1) * sigma**4) / D**3 for sigma in (sigma_G, sigma_H)}
    law, zero = batch_mean(made, D), torch.zeros(1, 2, 3, dtype=torch.float64)
    crest = made.bowl.directions.unsqueeze(0) * (math.pi / 2 * sigma_G / sigma_H)
    gradient = noise_moment(law, zero, gradient_error_sq(made))
    hessian = noise_moment(law, crest, hessian_error_sq(made))
    assert gradient.flatten().tolist() == pytest.approx([kbar[sigma_G]] * 2, rel=1e-12)
    assert hessian.flatten().tolist() == pytest.approx([kbar[sigma_H]] * 2, rel=1e-12)
    assert float(gradient.max()) > 0.99 * kbar[sigma_G] and float(hessian.max()) > 0.99 * kbar[sigma_H]


def test_clients_with_different_noise_are_refused():
    made = _noisy()
    sample, weights = made.atoms()
    different = Fixed(made, {})
    different.atoms = lambda: (NoiseSample(sample.noise * torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)), weights)
    with pytest.raises(ValueError, match="one law"):
        batch_mean(different, 1)


PARTS = {
    "meta_fl.theorem_8": {
        ("meta_fl.lemma_5", "path error, moment 1"),
        ("meta_fl.lemma_5", "path error, moment 2"),
        ("meta_fl.lemma_5", "path error, moment 4"),
        ("meta_fl.lemma_6", "mean error"),
        ("meta_fl.lemma_6", "second moment"),
        ("meta_fl.lemma_12", "gradient batch"),
        ("meta_fl.lemma_12", "Hessian batch"),
    },
    "meta_fl.theorem_8_FO": {
        ("meta_fl.lemma_5", "path error, moment 1"),
        ("meta_fl.lemma_5", "path error, moment 2"),
        ("meta_fl.lemma_10", "mean error"),
        ("meta_fl.lemma_10", "second moment"),
    },
    "meta_fl.theorem_8_HF": {
        ("meta_fl.lemma_5", "path error, moment 1"),
        ("meta_fl.lemma_5", "path error, moment 2"),
        ("meta_fl.lemma_11", "mean error"),
        ("meta_fl.lemma_11", "second moment"),
    },
}


def _instance(name):
    return recipe_for(name).instances[1]  # tasks differ, nu = 3, rounds of 2


@pytest.mark.parametrize("name", sorted(PARTS))
def test_every_part_of_the_lemmas_is_measured_and_holds(name):
    report = measure_chain(name, _instance(name), 8, seeds=4)
    assert {(row.lemma, row.part) for row in report.rows if row.part} == PARTS[name]
    exact = [row for row in report.rows if row.when == "run"]
    assert {(row.lemma, row.part) for row in exact} == {item for item in PARTS[name] if item[1] != "second moment"}
    assert all(row.steps == 5 and row.conditions_hold for row in exact)  # t = 0, 1, 3, 7, 15 of 16 steps
    assert all(row.left > 0 and row.slack > 1 and row.holds and not row.failing for row in exact)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_constant_below_the_expectation_is_seen_to_fail(name):
    """Each right side, scaled to 1% below what was measured, fails, and the printed one does not."""
    instance = _instance(name)
    made = problem(instance.problem, **instance.parameters)
    bound, _ = evaluate_at(theorem(name), "printed", made, instance.hyperparameters, 4)
    numbers = numbers_of(instance, bound)
    chain, recipe = chain_for(name), recipe_for(name)
    trace = trace_run(chain, recipe.method(numbers), made, 4, 3, numbers)
    for link in (link for link in chain.links if link.keeps is not None):
        ((row,), _) = compare_sides(link, "printed", trace, made)
        right = link.right
        scaled = replace(link, right=lambda derived, right=right, s=row.slack: 0.99 * right(derived) / s)
        ((mutant,), _) = compare_sides(scaled, "printed", trace, made)
        assert row.holds and not mutant.holds, row.name


def test_a_large_tree_is_measured_at_the_start_only(monkeypatch):
    monkeypatch.setattr(meta_fl, "MANY_OUTCOMES", 1)
    report = measure_chain("meta_fl.theorem_8_HF", _instance("meta_fl.theorem_8_HF"), 4, seeds=2)
    steps = {row.part: row.steps for row in report.rows if row.when == "run"}
    assert steps["mean error"] == 1 and steps["path error, moment 1"] == 4


def test_expectations_are_taken_at_the_steps_before_powers_of_two():
    """0, 1, 3, 7; the mean of an estimate with many outcomes at the start alone; one run stands for runs that are alike."""
    asked = []

    def per_client(w):
        asked.append(len(w))
        return w[..., 0]

    def taken(name, outcomes):
        metric = meta_fl.at_some_steps(per_client, lambda: SimpleNamespace(outcomes=outcomes), name)
        return [t for t in range(9) if not metric(SimpleNamespace(t=t, before=SimpleNamespace(x=x))).isnan().any()]

    x = torch.arange(12.0, dtype=torch.float64).view(3, 2, 2)
    many = meta_fl.MANY_OUTCOMES
    assert taken("h_nu", many + 1) == taken("mean_error", many) == [0, 1, 3, 7] and set(asked) == {3}
    assert taken("mean_error", many + 1) == [0]
    found = meta_fl.at_some_steps(per_client, lambda: None, "h_nu")
    assert found(SimpleNamespace(t=3, before=SimpleNamespace(x=x))).tolist() == [2, 6, 10]
    x = x[:1].expand(3, -1, -1)
    assert found(SimpleNamespace(t=3, before=SimpleNamespace(x=x))).tolist() == [2] * 3 and asked[-1] == 1
