"""What `fedco problems` tells, and batches of another size at every step of the meta kind."""

import json

import fedco
import pytest
from fedco.cli import app
from fedco.errors import InputError
from fedco.synthetic import PRESETS, catalogue, problem, problems
from fedco.synthetic.conformance import kinds
from fedco.synthetic.conformance.kinds import KINDS
from fedco.synthetic.families.composite import SharedComposite
from fedco.synthetic.families.federated import (
    FederatedHuber,
)
from fedco.synthetic.kinds import AbstractProblem
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


# --- problems and kinds that are not fedco's own

OUTSIDE = """
from fedco.synthetic.catalogue import Preset
from fedco.synthetic.families.federated import FederatedHuber

instance = FederatedHuber(clients=3, dim=2, L=0.7)
preset = Preset(FederatedHuber, "mine", {"clients": 3, "dim": 2})


def made(clients=5, dim=4):
    return FederatedHuber(clients=clients, dim=dim)


number = 7
"""


def test_a_problem_of_a_file_is_taken_as_it_stands_or_made(tmp_path):
    """An instance, a preset, a class and a function, each with and without parameters."""
    file = tmp_path / "mine.py"
    file.write_text(OUTSIDE)
    sizes = {"instance": (3, 2), "preset": (3, 2), "made": (5, 4), "FederatedHuber": (8, 6)}
    for name, (clients, dim) in sizes.items():
        plain, other = problem(f"{file}:{name}"), problem(f"{file}:{name}", clients=4)
        assert isinstance(plain, AbstractProblem) and (plain.clients, plain.dim, other.clients) == (clients, dim, 4), (
            name
        )
    assert problem(f"{file}:preset").name == f"{file}:preset" and problem(f"{file}:instance").L == 0.7
    for name, parameters, said in (
        (
            "number",
            {},
            r"mine\.py:number: wanted a problem, .*; got int, which has no kind, certificates, gradient, initial_point",
        ),
        ("number", {"clients": 4}, r"mine\.py:number: "),
        ("made", {"colour": 1}, r"mine\.py:made: .*colour"),
        ("instance", {"L": -1.0}, r"mine\.py:instance: L must be finite and positive"),
    ):
        with pytest.raises(InputError, match=said):
            problem(f"{file}:{name}", **parameters)


def test_a_problem_of_an_installed_package_comes_after_fedcos_own(monkeypatch):
    loaded = []
    monkeypatch.setattr(catalogue, "installed", lambda group: {"problems": ("rings", "feddro_noisy")}[group])
    monkeypatch.setattr(catalogue, "load_installed", lambda group, name: loaded.append((group, name)) or FederatedHuber)
    assert problem("rings", clients=4).clients == 4 and loaded == [("problems", "rings")]
    assert isinstance(problem("feddro_noisy"), SharedComposite) and len(loaded) == 1
    with pytest.raises(InputError, match=r"unknown problem 'feddro_noizy'; .*feddro_noisy.*, or FILE\.py:NAME"):
        problem("feddro_noizy")


def test_a_kind_of_an_installed_package_is_found_after_fedcos_own(monkeypatch):
    monkeypatch.setattr(kinds, "installed", lambda group: {"kinds": ("rings", "federated")}[group])
    monkeypatch.setattr(kinds, "load_installed", lambda group, name, wanted: (group, name, wanted))
    assert kinds.get_kind("rings") == ("kinds", "rings", kinds.Kind)
    assert kinds.get_kind("federated") is KINDS["federated"]
    with pytest.raises(ValueError, match=r"kind must be one of \['bilevel', 'conditional', .*\], got 'chains'"):
        kinds.get_kind("chains")


def test_unknown_names_and_parameters_are_refused():
    with pytest.raises(ValueError, match="unknown problem 'nonsense'"):
        problem("nonsense")
    with pytest.raises(ValueError, match="colour"):
        problem("feddro_noisy", colour="red")
