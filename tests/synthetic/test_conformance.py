"""Every registered problem goes through the public conformance suite: one line per problem, every check for each."""

from functools import cache

import pytest
from fedco.synthetic import PRESETS, problem, problems
from fedco.synthetic.conformance import kinds
from fedco.synthetic.conformance.kinds import KINDS
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem, with_scaled_certificate
from fedco.synthetic.kinds import PROPERTIES

ONE_PERCENT = 0.99
GLANCE = Budget(lanes=1, steps=1)
QUICK = Budget(lanes=12, steps=12)
THOROUGH = Budget(lanes=192, steps=30, seed=1)
made = cache(problem)
"""The certificates of an instance are computed once, for all tests: in none of them does an instance change."""


def exact_certificates(name):
    return [q for q, c in made(name).certificates.items() if c.kind == "exact" and c.value > 0]


@pytest.mark.parametrize("name", problems())
def test_problem_conforms(name):
    report = check_problem(made(name), QUICK)
    assert {check.name for check in report.checks} >= set(made(name).certificates)
    assert report.evaluations > 0


@pytest.mark.parametrize("name", problems())
def test_every_exact_certificate_one_percent_too_small_is_caught_by_its_stated_points(name):
    for quantity in exact_certificates(name):
        mutant = with_scaled_certificate(made(name), quantity, ONE_PERCENT)
        with pytest.raises(ConformanceError, match=quantity):
            check_problem(mutant, GLANCE, quantities=(quantity,))


@pytest.mark.slow
@pytest.mark.parametrize("name", problems())
def test_every_exact_certificate_one_percent_too_small_is_caught_by_the_adversary_alone(name):
    for quantity in exact_certificates(name):
        mutant = with_scaled_certificate(made(name), quantity, ONE_PERCENT)
        with pytest.raises(ConformanceError, match=quantity):
            check_problem(mutant, Budget(lanes=24, steps=60), quantities=(quantity,), use_stated_points=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", problems())
def test_a_hundred_thousand_adversarial_pairs_find_no_violation(name):
    certificates = tuple(made(name).certificates)
    tried = check_problem(made(name), THOROUGH, quantities=certificates).evaluations
    assert tried >= 100_000


@pytest.mark.parametrize("name", problems())
def test_an_exact_certificate_one_percent_too_large_is_caught(name):
    for quantity in exact_certificates(name):
        mutant = with_scaled_certificate(made(name), quantity, 1.02)
        with pytest.raises(ConformanceError, match=quantity):
            check_problem(mutant, GLANCE, quantities=(quantity,))


@pytest.mark.parametrize("name", problems())
def test_presets_describe_themselves(name):
    instance = made(name)
    assert instance.name == name and PRESETS[name].summary
    assert "independent_clients" in instance.properties and instance.properties <= PROPERTIES.keys()
    assert instance.initial_point.shape == (instance.dim,)
    assert set(KINDS[instance.kind].required) <= set(instance.certificates)


def test_a_kind_is_a_file_of_the_folder(tmp_path, monkeypatch):
    """A new kind touches no table: its file is found."""
    (tmp_path / "rings.py").write_text("from fedco.synthetic.conformance.kinds.federated import KIND\n")
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    found = kinds.kinds_in_folder()
    assert found == {**KINDS, "rings": KINDS["federated"]} and len(KINDS) >= 5


def test_unknown_names_and_parameters_are_refused():
    with pytest.raises(ValueError, match="unknown problem 'nonsense'"):
        problem("nonsense")
    with pytest.raises(ValueError, match="colour"):
        problem("feddro_noisy", colour="red")
