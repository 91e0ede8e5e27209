"""What `fedco problems` tells, and batches of another size at every step of the meta kind."""

import json

import fedco
import pytest
from fedco.cli import app
from fedco.synthetic import PRESETS, problem, problems
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
