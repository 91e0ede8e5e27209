"""The conformance suite must catch a broken oracle, whatever is broken."""

import copy

import pytest
import torch
from broken import GLANCE, is_caught, mutant_of
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import ConformanceError, check_problem
from fedco.synthetic.families.shared_composite import SharedSample


@pytest.fixture(scope="module")
def healthy():
    return problem("feddro_heterogeneous", clients=4, dim=8, B_g=1.6, sigma_g=0.5)


def test_the_original_passes(healthy):
    check_problem(healthy, GLANCE)


def mutants(p):
    def biased(x, sample=None):
        return p.inner(x, sample) + (0.0 if sample is None else 1e-3)

    def noise_not_in_the_jacobian(x, v, sample=None):
        return p.inner_vjp(x, v)

    def depends_on_the_batch(x, sample=None):
        return p.inner(x, sample) + 1e-12 * x.sum()

    def forgets_the_batch(x, sample=None):
        return p.inner(x, None if sample is None else sample.at(0))

    def not_an_atom(draws, batch, purpose="sample"):
        sample = p.sample(draws, batch, purpose)
        return SharedSample(0.5 * sample.inner, sample.extra)

    def lopsided(draws, batch, purpose="sample"):
        sample = p.sample(draws, batch, purpose)
        return SharedSample(torch.maximum(sample.inner, sample.extra), sample.extra)

    return {
        "gradient": dict(gradient=lambda x: 1.001 * p.gradient(x)),
        "parts": dict(inner_vjp=lambda x, v, sample=None: -p.inner_vjp(x, v, sample)),
        "unbiased": dict(inner=biased),
        "inner_vjp": dict(inner_vjp=noise_not_in_the_jacobian),
        "a run alone": dict(inner=depends_on_the_batch),
        "mean of its samples": dict(inner=forgets_the_batch),
        "not an atom": dict(sample=not_an_atom),
        "frequency": dict(sample=lopsided),
        "inner_mean": dict(inner_mean=lambda x: p.inner_mean(x) + 1e-6),
        "float64": dict(outer_gradient=lambda y, sample=None: p.outer_gradient(y).float()),
        "extra_gradient": dict(extra_gradient=lambda x, sample=None: 0.5 * p.extra_gradient(x, sample)),
        "objective": dict(objective=lambda x: p.objective(x) + 1e-6 * (x**2).sum(-1)),
    }


@pytest.mark.parametrize("complaint", sorted(mutants(None)))
def test_a_broken_oracle_is_caught(healthy, complaint):
    is_caught(complaint, healthy, **mutants(healthy)[complaint])


def test_a_missing_certificate_is_caught(healthy):
    certificates = {q: c for q, c in healthy.certificates.items() if q != "inner_noise"}
    with pytest.raises(ConformanceError, match="missing: inner_noise"):
        check_problem(mutant_of(healthy, certificates=certificates), GLANCE)


def test_a_certificate_that_nothing_checks_is_caught(healthy):
    stray = copy.copy(healthy.certificates["inner_noise"])
    object.__setattr__(stray, "quantity", "task_smoothness")
    certificates = {**healthy.certificates, "task_smoothness": stray}
    with pytest.raises(ConformanceError, match="no inequality"):
        check_problem(mutant_of(healthy, certificates=certificates), GLANCE)
