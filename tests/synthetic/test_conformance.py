"""Every registered problem goes through the public conformance suite: one line per problem, every check for each."""

from functools import cache

import pytest
import torch
from fedco.synthetic import PRESETS, problem, problems
from fedco.synthetic.conformance import inequalities, kinds
from fedco.synthetic.conformance.inequalities import along_axes, atom_list, each_atom, mean_square, norm
from fedco.synthetic.conformance.kinds import KINDS
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem, with_scaled_certificate
from quick import slow_but

REPRESENTATIVES = {
    "feddro_heterogeneous", "feddro_without_h", "feddro_counterexample", "local_heterogeneous", "conditional_heterogeneous",
    "meta_noisy", "federated_homogeneous", "federated_heterogeneous", "federated_quadratic", "federated_strongly_convex",
    "federated_sines", "federated_breast_cancer", "maml_heterogeneous", "agnostic_maml", "kl_dro", "chi2_dro", "kl_dro_clients",
    "chi2_dro_clients", "fair_classifier", "average_precision", "invariant_logistic", "minimax_heterogeneous", "bilevel_heterogeneous",
}  # fmt: skip
"""What a quick run tries: of every family one, with all of its terms, and the two penalties of robust learning."""
ONE_PERCENT = 0.99
GLANCE = Budget(lanes=1, steps=1)
QUICK = Budget(lanes=12, steps=6)
THOROUGH = Budget(lanes=192, steps=45, seed=1)
made = cache(problem)
"""The certificates of an instance are computed once, for all tests: in none of them does an instance change."""


def exact_certificates(name):
    return [q for q, c in made(name).certificates.items() if c.kind == "exact" and c.value > 0]


def test_every_family_has_a_quick_problem():
    assert {PRESETS[name].family for name in REPRESENTATIVES} == {preset.family for preset in PRESETS.values()}


@pytest.mark.parametrize("name", slow_but(REPRESENTATIVES, problems()))
def test_problem_conforms(name):
    report = check_problem(made(name), QUICK)
    assert {check.name for check in report.checks} >= set(made(name).certificates)
    assert report.evaluations > 0


@pytest.mark.parametrize("name", slow_but(REPRESENTATIVES, problems()))
def test_every_exact_certificate_a_little_too_small_or_too_large_is_caught_by_its_stated_points(name):
    for quantity in exact_certificates(name):
        for factor in (ONE_PERCENT, 1.02):
            mutant = with_scaled_certificate(made(name), quantity, factor)
            with pytest.raises(ConformanceError, match=quantity):
                check_problem(mutant, GLANCE, quantities=(quantity,))


OF_X_ALONE = [
    name
    for name, preset in PRESETS.items()
    if preset.family.kind not in ("minimax", "bilevel") and hasattr(preset.family, "atoms")
]
OF_EACH_SAMPLE = {
    "feddro_heterogeneous",
    "local_heterogeneous",
    "meta_noisy",
    "federated_heterogeneous",
    "kl_dro",
    "chi2_dro_clients",
}


@pytest.mark.parametrize("name", slow_but(OF_EACH_SAMPLE, OF_X_ALONE))
def test_atoms_and_axes_beside_each_other_are_those_one_by_one(name, monkeypatch):
    """To the last bit: one call for many is faster, and finds the same."""
    instance = made(name)
    x = instance.to_clients(torch.linspace(-2, 3, 3 * instance.dim, dtype=torch.float64).reshape(3, -1))
    map_ = getattr(instance, "inner", getattr(instance, "local_gradient", None))
    product, size = getattr(instance, "local_hvp", None), instance.dim
    if instance.inner_dim and product is None:
        product, size = instance.inner_vjp, instance.inner_dim
    atoms = list(atom_list(instance))

    def in_calls():
        errors = each_atom(instance, lambda x, exact, atom: norm(map_(x, atom) - exact), x, map_(x))
        sizes, _ = each_atom(instance, lambda x, atom: norm(map_(x, atom)), x)
        found = [mean_square(*errors), sizes.amax(0)]
        samples = (None, atoms[0][0]) if product else ()
        return found + [torch.stack(along_axes(product, size, x, sample)) for sample in samples]

    together = in_calls()
    monkeypatch.setattr(inequalities, "TOGETHER", 1)
    expected = [
        sum(weight * norm(map_(x, atom) - map_(x)) ** 2 for atom, weight in atoms).sqrt(),
        torch.stack([norm(map_(x, atom)) for atom, _ in atoms]).amax(0),
    ]
    for sample in (None, atoms[0][0]) if product else ():
        axes = torch.eye(size, dtype=x.dtype)
        expected.append(torch.stack([product(x, axis.expand(*x.shape[:-1], size), sample) for axis in axes]))
    torch.testing.assert_close(together[0], expected[0], rtol=1e-14, atol=0)
    for one, other, plain in zip(together[1:], in_calls()[1:], expected[1:], strict=True):
        assert torch.equal(one, plain) and torch.equal(other, plain)


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
