"""Declared properties are tried: a false one is caught, and what plainly holds is declared."""

from dataclasses import replace

import pytest
import torch
from broken import OFF, mutant_of, only_sampled
from fedco.synthetic import problem, problems
from fedco.synthetic.conformance.oracle_checks import SeededDraws
from fedco.synthetic.conformance.property_checks import CHECKS, FirstClientRedrawn, check_properties
from fedco.synthetic.families.composite import LocalComposite, SharedComposite
from fedco.synthetic.kinds import PROPERTIES

FALSE_ON = {
    "equal_inner_maps": "local_heterogeneous",
    "equal_outer_functions": "local_heterogeneous",
    "one_outer_function": "local_noisy",
    "no_extra_term": "feddro_noisy",
    "deterministic": "feddro_without_h",
    "convex": "federated_sines",
    "convex_clients": "federated_sines",
}
OF_KIND = {
    "shared_composite": {"no_extra_term"},
    "local_composite": {"one_outer_function", "equal_outer_functions", "equal_inner_maps"},
}
COMPOSITE = [name for name in problems() if problem(name).kind in OF_KIND]


def with_properties(instance, properties):
    family = type(instance)
    made = type(f"Mutant{family.__name__}", (family,), {"properties": frozenset(properties)})
    mutant = object.__new__(made)
    mutant.__dict__.update(instance.__dict__)
    return mutant


def test_every_property_has_a_meaning_and_a_check():
    assert CHECKS.keys() == PROPERTIES.keys() and all(meaning.endswith(".") for meaning in PROPERTIES.values())


@pytest.mark.parametrize("name", COMPOSITE)
def test_what_holds_of_a_composite_problem_is_declared(name):
    instance = problem(name)
    wanted = OF_KIND[instance.kind]
    assert {each for each in wanted if CHECKS[each](instance, 3)} == wanted & instance.properties


@pytest.mark.parametrize(
    "name", [name for name in problems() if "sigma" in vars(problem(name)) and problem(name).kind == "federated"]
)
def test_a_federated_problem_without_noise_is_declared_deterministic(name):
    silent = problem(name, sigma=0.0)
    assert "deterministic" in silent.properties and "deterministic" not in problem(name).properties
    assert list(check_properties(silent, 3)) == []


@pytest.mark.parametrize(("declared", "name"), FALSE_ON.items())
def test_a_false_declaration_is_caught(declared, name):
    (failure,) = check_properties(with_properties(problem(name), {declared}), 3)
    assert failure.startswith(f"{declared}: declared, but it does not hold")


def test_a_convex_mean_of_clients_of_which_one_is_not_is_caught():
    instance = problem("federated_quadratic")
    sign = torch.ones(instance.clients, 1, dtype=torch.float64)
    sign[0] = -1

    class Bent(type(instance)):
        """The first client with the opposite sign; the mean as it was."""

        def local_value(self, x):
            return super().local_value(x) * sign.squeeze(-1)

        def local_gradient(self, x, sample=None):
            return super().local_gradient(x, sample) * sign

    bent = object.__new__(Bent)
    bent.__dict__.update(instance.__dict__)
    assert CHECKS["convex"](bent, 3) and not CHECKS["convex_clients"](bent, 3)


def test_noise_that_the_clients_share_is_caught():
    instance = problem("federated_noisy")

    def shared(draws, batch, purpose="sample"):
        sample = instance.sample(draws, batch, purpose)
        return replace(sample, **{key: value[:, :1].expand_as(value) for key, value in vars(sample).items()})

    mutant = with_properties(instance, {"independent_clients"})
    mutant.__dict__["sample"] = shared
    (failure,) = check_properties(mutant, 3)
    assert failure.startswith("independent_clients")


def test_an_unknown_property_is_caught():
    (failure,) = check_properties(with_properties(problem("local_noisy"), {"nice"}), 3)
    assert failure.startswith("nice: not a property")


def holds(name, original, **methods):
    return CHECKS[name](mutant_of(original, **methods), 0)


def test_a_property_fails_by_each_oracle_that_it_is_about():
    """Clients that differ in one oracle only, and noise in one oracle only."""
    same = LocalComposite(clients=2, dim=4)
    turn = torch.tensor([1.0, OFF], dtype=torch.float64).view(1, 2, 1)
    for name, oracles in (
        ("equal_inner_maps", ("inner", "inner_vjp")),
        ("equal_outer_functions", ("outer", "outer_gradient")),
    ):
        assert holds(name, same)
        for oracle in oracles:
            of, by = getattr(same, oracle), turn.squeeze(-1) if oracle == "outer" else turn
            assert not holds(name, same, **{oracle: lambda *given, of=of, by=by: by * of(*given)}), oracle
    assert holds("one_outer_function", same)
    assert not holds("one_outer_function", same, outer_gradient=lambda *given: turn * same.outer_gradient(*given))
    still = SharedComposite(clients=2, dim=4, B_h=0.7, L_h=0.6)
    assert holds("deterministic", still)
    for oracle in ("inner", "inner_vjp", "outer_gradient", "extra_gradient"):
        noisy = only_sampled(getattr(still, oracle))
        if oracle == "inner_vjp":

            def noisy(x, v, sample=None):
                return still.inner_vjp(x, v, sample) * (1 if sample is None else OFF)

        assert not holds("deterministic", still, **{oracle: noisy}), oracle
    none = SharedComposite(clients=2, dim=4, B_h=0.0, L_h=0.0)
    assert holds("no_extra_term", none)
    assert not holds("no_extra_term", none, extra=lambda x: none.extra(x) + 1e-300)
    assert not holds("no_extra_term", none, extra_gradient=lambda x, sample=None: torch.zeros_like(x))


def test_redrawing_one_client_leaves_the_others():
    usual, other = (kind(4, 3, 2) for kind in (SeededDraws, FirstClientRedrawn))
    for draw in (lambda d: d.integers("a", 9, 50), lambda d: d.uniform("a", 50), lambda d: d.signs("a", 50)):
        a, b = draw(usual), draw(other)
        assert torch.equal(a[:, 1:], b[:, 1:]) and not torch.equal(a[:, 0], b[:, 0])
