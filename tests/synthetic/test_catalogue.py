"""What `fedco problems` tells, and batches of another size at every step of the meta kind."""

import json
from itertools import product

import fedco
import pytest
import torch
from fedco.cli import app
from fedco.synthetic import PRESETS, problem, problems
from fedco.synthetic.conformance.oracle_checks import SeededDraws
from fedco.synthetic.families.meta import Meta
from fedco.synthetic.parts.noise import NoiseSample
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def listed() -> dict[str, dict]:
    rows = json.loads(CliRunner().invoke(app, ["problems", "--json"]).stdout)["problems"]
    return {row["name"]: row for row in rows}


def test_every_preset_is_listed_with_its_kind_sizes_and_theorems(listed):
    assert listed.keys() == PRESETS.keys()
    stated = {fedco.theorem(name).problem for name in fedco.theorems()}
    for name, row in listed.items():
        made = problem(name)
        assert (row["kind"], row["clients"], row["dim"], row["inner_dim"]) == (
            made.kind,
            made.clients,
            made.dim,
            made.inner_dim,
        )
        assert bool(row["fits"]) == (made.kind in stated)
        assert row["properties"] == sorted(made.properties)
        assert row["certified"]


def test_listed_parameters_are_those_that_rebuild_the_problem(listed):
    for name in problems():
        parameters = listed[name]["parameters"]
        assert all(getattr(problem(name), key) == value for key, value in parameters.items())
        assert problem(name, **parameters) == problem(name)
    assert listed["feddro_noisy"]["parameters"]["sigma_g"] == 0.8  # of the preset
    assert listed["feddro_noisy"]["parameters"]["dim"] == 20  # of the family


def test_listed_constants_are_the_certificates_at_the_defaults(listed):
    for name in problems():
        certificates = problem(name).certificates
        assert listed[name]["constants"].keys() == certificates.keys()
        for quantity, shown in listed[name]["constants"].items():
            certificate = certificates[quantity]
            # A largest eigenvalue has other last bits with another number of threads.
            assert shown["value"] == pytest.approx(float(certificate.value), rel=1e-13, abs=0)
            assert shown["kind"] == certificate.kind != "estimated"
            assert shown["argument"] == certificate.argument and shown["domain"] == certificate.domain
            assert shown["kind"] != "exact" or shown["value"] == 0 or shown["witness"] >= 0.99


def test_the_text_names_theorems_parameters_and_what_is_not_proved():
    shown = CliRunner().invoke(app, ["problems"]).stdout
    assert (
        "fits feddro.theorem_5_1" in shown
        and "properties independent_clients" in shown
        and "parameters clients=" in shown
    )


def test_oracles_take_a_batch_of_another_size_at_every_step():
    """2 nu + 1 independent batches, as Theorem 8 allows: each is the mean over its own samples."""
    instance = Meta(clients=2, dim=3, nu=2, sigma_G=0.4, sigma_H=0.3, kurtosis=2)
    draws = SeededDraws(5, 2)
    x = torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for step, size in enumerate((1, 4, 7)):
        sample = instance.sample(draws, size, purpose=f"gradient {step}")
        assert sample.noise.shape == (5, 2, size)
        singles = [sample.at(i) for i in range(size)]
        for oracle in (instance.local_gradient, lambda w, s: instance.local_hvp(w, x, s)):
            mean = torch.stack([oracle(x, single) for single in singles]).mean(0)
            assert torch.allclose(oracle(x, sample), mean, atol=1e-14)
    first, second = (instance.sample(draws, 40, purpose=f"gradient {step}").noise for step in (0, 1))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_moments_of_a_batch_follow_from_those_of_one_sample(size):
    """E|mean|^2 = sigma^2/D and E|mean|^4 = sigma^4 (k + 3 (D - 1)) / D^3, exactly, over every tuple of atoms at 0."""
    instance = Meta(clients=1, dim=2, sigma_G=0.4, sigma_H=0.3, kurtosis=2)
    values, weights = instance.law.support()
    x, moments = torch.zeros(1, 1, 2, dtype=torch.float64), [0.0, 0.0]
    exact = instance.local_gradient(x)
    for chosen in product(range(len(values)), repeat=size):
        error = instance.local_gradient(x, NoiseSample(values[list(chosen)].view(1, 1, -1))) - exact
        square, probability = float((error**2).sum()), float(weights[list(chosen)].prod())
        moments[0] += probability * square
        moments[1] += probability * square**2
    assert moments == pytest.approx([0.4**2 / size, 0.4**4 * (2 + 3 * (size - 1)) / size**3], rel=1e-12)
