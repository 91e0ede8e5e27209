"""Each check of an oracle, kind by kind: a broken oracle gets its own complaint, once, and no other."""

import itertools

import pytest
import torch
from broken import mutant_of
from fedco.synthetic.conformance import property_checks
from fedco.synthetic.conformance.kinds import oracle_checks
from fedco.synthetic.families.bowls import Meta
from fedco.synthetic.families.composite import LocalComposite, SharedComposite
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.federated import FederatedHuber
from fedco.synthetic.kinds import InnerSample, OuterSample

SHARED = SharedComposite(
    clients=3, dim=4, inner_dim=2, B_h=0.7, L_h=0.6, sigma_g=0.3, sigma_h=0.2, Delta_g=0.2, Delta_h=0.1
)
LOCAL = LocalComposite(clients=2, dim=4, C_g=1.4, sigma_f=0.3, sigma_g=0.2, delta_g=0.3, Delta_g=0.2, spread=0.4)
META = Meta(clients=3, dim=3, sigma_G=0.2, sigma_H=0.3, Delta=0.2, kurtosis=2)
PLAIN = FederatedHuber(clients=3, dim=3, sigma=0.3, kurtosis=2, Delta=0.2)
GIVEN = Conditional(clients=2, dim=4, Delta=0.2, spread=0.3)
OFF = 1 + 1e-6


def only_sampled(oracle, factor=OFF):
    """Right without a sample, the last argument, and wrong with one."""
    return lambda *given: oracle(*given) * (factor if given[-1] is not None and len(given) > 1 else 1)


PARTS = {
    "inner_vjp": (
        SHARED,
        dict(inner_vjp=lambda x, v, sample=None: OFF * SHARED.inner_vjp(x, v, sample)),
        ["inner_vjp differs from autograd of inner (sample False)"],
    ),
    "inner_vjp without its noise": (
        SHARED,
        dict(inner_vjp=lambda x, v, sample=None: SHARED.inner_vjp(x, v)),
        ["inner_vjp differs from autograd of inner (sample True)"],
    ),
    "outer_gradient": (
        SHARED,
        dict(outer_gradient=lambda y, sample=None: OFF * SHARED.outer_gradient(y, sample)),
        ["outer_gradient differs from autograd of outer"],
    ),
    "extra_gradient": (
        SHARED,
        dict(extra_gradient=lambda x, sample=None: OFF * SHARED.extra_gradient(x, sample)),
        ["extra_gradient differs from autograd of extra"],
    ),
    "inner_mean": (
        SHARED,
        dict(inner_mean=lambda x: OFF * SHARED.inner_mean(x)),
        [
            "inner_mean differs from the mean of inner over the clients",
            "objective differs from mean_k h_k(x) + f(mean_k g_k(x))",  # it is computed with inner_mean
        ],
    ),
    "a shared objective": (
        SHARED,
        dict(objective=lambda x: OFF * SHARED.objective(x)),
        ["objective differs from mean_k h_k(x) + f(mean_k g_k(x))"],
    ),
    "a local objective": (
        LOCAL,
        dict(objective=lambda x: OFF * LOCAL.objective(x)),
        ["objective differs from mean_k f_k(g_k(x))"],
    ),
    "local_gradient": (
        META,
        # off by a constant: its derivative stays that of the Hessian
        dict(local_gradient=lambda x, sample=None: META.local_gradient(x, sample) + 1e-6),
        ["local_gradient differs from autograd of local_value"],
    ),
    "local_hvp": (
        META,
        dict(local_hvp=lambda x, v, sample=None: OFF * META.local_hvp(x, v, sample)),
        ["local_hvp differs from autograd of local_gradient (sample False)"],
    ),
    "local_hvp without its noise": (
        META,
        dict(local_hvp=lambda x, v, sample=None: META.local_hvp(x, v)),
        ["local_hvp differs from autograd of local_gradient (sample True)"],
    ),
    "a fine-tuned objective": (
        META,
        dict(objective=lambda x: OFF * META.objective(x)),
        ["objective differs from mean_i f_i(w_nu^i)"],
    ),
    "a client's gradient": (
        PLAIN,
        dict(local_gradient=lambda x, sample=None: PLAIN.local_gradient(x, sample) + 1e-6),
        ["local_gradient differs from autograd of local_value", "gradient differs from mean_i grad F_i(x)"],
    ),
    "the objective": (
        PLAIN,
        dict(objective=lambda x: OFF * PLAIN.objective(x)),
        ["objective differs from mean_i F_i(x)"],
    ),
    "the gradient": (
        PLAIN,
        dict(gradient=lambda x: OFF * PLAIN.gradient(x)),
        ["gradient differs from mean_i grad F_i(x)"],
    ),
    "a map given an outcome": (
        GIVEN,
        dict(inner_vjp=lambda x, v, outer, inner=None: OFF * GIVEN.inner_vjp(x, v, outer, inner)),
        [f"inner_vjp differs from autograd of inner (sample {given})" for given in (False, True)],
    ),
    "an outer gradient given an outcome": (
        GIVEN,
        dict(outer_gradient=lambda y, outer: OFF * GIVEN.outer_gradient(y, outer)),
        ["outer_gradient differs from autograd of outer_value"],
    ),
    "a conditional objective": (
        GIVEN,
        dict(objective=lambda x: OFF * GIVEN.objective(x)),
        ["objective differs from mean_n E_xi f_xi(E_eta g_eta(x, xi))"],
    ),
}


def complaints(check, problem, **methods):
    """What one check of the problem's kind says, where these methods are others."""
    return list(dict(oracle_checks(mutant_of(problem, **methods), 0))[check])


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_wrong_is_named_once(name):
    original, methods, wanted = PARTS[name]
    assert complaints("parts", original) == [] and complaints("parts", original, **methods) == wanted


@pytest.mark.parametrize("original", [SHARED, LOCAL, META, PLAIN, GIVEN], ids=lambda p: p.kind)
def test_every_check_of_a_kind_has_a_name_and_is_made(original):
    own = ["parts", *(["chain"] if original is GIVEN else []), "unbiased", "bits", "sampling"]
    found = [(name, list(failures)) for name, failures in oracle_checks(original, 2)]
    assert found == [(name, []) for name in ("certificates", "gradient", "properties", "objective bits", *own)]
    biased = {
        "shared_composite": ("inner", lambda x, sample=None: SHARED.inner(x, sample) + 1e-6 * (sample is not None)),
        "local_composite": ("inner", lambda x, sample=None: LOCAL.inner(x, sample) + 1e-6 * (sample is not None)),
        "meta": ("local_hvp", lambda x, v, sample=None: META.local_hvp(x, v, sample) + 1e-6 * (sample is not None)),
        "federated": (
            "local_gradient",
            lambda x, sample=None: PLAIN.local_gradient(x, sample) + 1e-6 * (sample is not None),
        ),
        "conditional": (
            "inner",
            lambda x, outer, inner=None: GIVEN.inner(x, outer, inner) + 1e-6 * (inner is not None),
        ),
    }
    name, oracle = biased[original.kind]
    kind = "conditional expectation over the inner atoms" if original is GIVEN else "expectation over the atoms"
    failures = {check: list(found) for check, found in oracle_checks(mutant_of(original, **{name: oracle}), 0)}
    assert failures["unbiased"] == [f"{name}: its {kind} is not the exact oracle"]
    assert all(not found for check, found in failures.items() if check not in ("unbiased", "parts"))


# --- the conditional kind ----------------------------------------------------------------------------------------------------


def test_the_chain_rule_is_tried_without_with_one_and_with_several_inner_samples():
    said = "sample_gradient is not the chain rule through inner and outer_gradient ({} inner samples)"

    def wrong_for(sizes):
        def sample_gradient(x, outer, inner=None):
            m = 0 if inner is None else inner.eta.shape[-1]
            return GIVEN.sample_gradient(x, outer, inner) * (OFF if m in sizes else 1)

        return complaints("chain", GIVEN, sample_gradient=sample_gradient)

    for sizes in ((), (0,), (1,), (4,), (0, 1, 4)):
        assert wrong_for(sizes) == [said.format(m) for m in sizes]


def test_bits_of_a_conditional_oracle():
    calls = itertools.count()

    def bits(**methods):
        return complaints("bits", GIVEN, **methods)

    assert bits() == []
    restless = bits(inner=lambda x, outer, inner=None: GIVEN.inner(x, outer, inner) + 1e-13 * next(calls))
    assert restless[0] == "inner: two calls with one sample differ"
    assert bits(outer_gradient=lambda y, outer: GIVEN.outer_gradient(y, outer) + 1e-13 * len(y)) == [
        "outer_gradient: a run alone differs from the same run in a batch"
    ]
    assert bits(inner_vjp=lambda x, v, outer, inner=None: GIVEN.inner_vjp(x, v, outer, inner.only(0))) == [
        "inner_vjp: an inner batch does not give the mean of its samples"
    ]
    (single, *_) = bits(inner=lambda x, outer, inner=None: GIVEN.inner(x, outer, inner).float())
    assert single == "inner: expected float64 (runs, clients, batch, ...), got torch.float32 (5, 2, 3, 1)"
    (flat,) = bits(outer_gradient=lambda y, outer: GIVEN.outer_gradient(y, outer).flatten(1, 2))
    assert flat == "outer_gradient: expected float64 (runs, clients, batch, ...), got torch.float64 (5, 6, 1)"


def test_draws_of_a_conditional_problem_are_its_atoms_as_often_as_it_says():
    def sampling(**methods):
        return complaints("sampling", GIVEN, **methods)

    rare, foreign = (
        "sample: an atom's frequency is far from its probability",
        "sample: drew something that is not an atom",
    )
    assert sampling() == []
    inner, outer = GIVEN.sample_inner, GIVEN.sample_outer
    assert sampling(sample_outer=lambda draws, n: OuterSample(outer(draws, n).outcome.clamp_max(2))) == [rare]
    assert sampling(sample_inner=lambda draws, o, m: InnerSample(inner(draws, o, m).eta.abs())) == [rare]
    assert sampling(sample_outer=lambda draws, n: OuterSample(outer(draws, n).outcome + 1))[0] == foreign
    assert sampling(sample_inner=lambda draws, o, m: InnerSample(2 * inner(draws, o, m).eta))[0] == foreign


# --- properties ----------------------------------------------------------------------------------------------------------------


def holds(name, original, **methods):
    return property_checks.CHECKS[name](mutant_of(original, **methods), 0)


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
