"""Local, conditional and meta families, and MAML: parameters, fits, refusals, exact identities, broken oracles."""

import copy
import math

import pytest
import torch
from fedco.bounds.registry import get_theorem
from fedco.synthetic import problem, problems
from fedco.synthetic.applications.maml import FederatedMAML
from fedco.synthetic.conformance.oracle_checks import SeededDraws
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.local_composite import LocalComposite
from fedco.synthetic.families.meta import Meta
from fedco.synthetic.kinds import InnerSample, OuterSample
from fedco.synthetic.parts.inner_map import RippledMap, lipschitz_of_mean_square
from fedco.synthetic.parts.noise import Kurtosis
from fedco.validation.runs.fit import fits

GLANCE = Budget(lanes=2, steps=2)

PARAMETERS = [
    (
        LocalComposite(
            C_f=1.3, sigma_f=0.4, L_f=0.7, C_g=1.6, sigma_g=0.3, delta_g=0.2, L_g=0.4, Delta_g=0.5, inner_dim=2
        ),
        {
            "outer_mean_square_lipschitz": 1.3,
            "outer_gradient_noise": 0.4,
            "outer_smoothness": 0.7,
            "inner_smoothness": 0.4,
            "inner_jacobian_mean_square": 1.6,
            "inner_jacobian_noise": 0.3,
            "inner_value_noise": 0.2,
            "inner_jacobian_heterogeneity": 0.5,
        },
    ),
    (
        Conditional(L_f=1.3, S_f=0.7, L_g=1.6, S_g=0.5, sigma_g=0.4, jacobian_noise=0.3, Delta=0.2),
        {
            "outer_sample_lipschitz": 1.3,
            "outer_sample_smoothness": 0.7,
            "inner_jacobian_mean_square": 1.6,
            "inner_sample_smoothness": 0.5,
            "inner_value_noise": 0.4,
        },
    ),
    (
        Meta(B=1.5, L=0.6, sigma_G=0.3, sigma_H=0.2, kurtosis=3, Delta=0.4),
        {
            "local_gradient_bound": 1.5,
            "local_smoothness": 0.6,
            "local_gradient_noise": 0.3,
            "local_hessian_noise": 0.2,
            "local_gradient_fourth_moment": 3 * 0.3**4,
            "local_hessian_fourth_moment": 3 * 0.2**4,
            "local_gradient_heterogeneity": 0.4,
        },
    ),
    (
        FederatedMAML(lam=0.2, sigma_1=0.3, sigma_2=0.4, L_1=0.5, G=2.0),
        {
            "outer_gradient_noise": 0.3,
            "inner_jacobian_noise": 0.08,
            "inner_value_noise": 0.06,
            "outer_smoothness": 0.5,
            "outer_mean_square_lipschitz": math.hypot(2.0, 0.3),
            "inner_lipschitz": 1.1,
        },
    ),
]


@pytest.mark.parametrize(("instance", "wanted"), PARAMETERS, ids=lambda v: getattr(v, "name", ""))
def test_parameters_come_back_as_certificates(instance, wanted):
    for quantity, value in wanted.items():
        assert float(instance.certificates[quantity].value) == pytest.approx(value, rel=1e-9), quantity


@pytest.mark.parametrize(
    ("family", "parameters", "complaint"),
    [
        (LocalComposite, dict(C_f=0.5, sigma_f=0.5), "C_f must exceed sigma_f"),
        (LocalComposite, dict(C_g=0.1, sigma_g=0.2, delta_g=0.1), "C_g must exceed sigma_g"),
        (LocalComposite, dict(sigma_g=0.2), "both zero or both positive"),
        (LocalComposite, dict(spread=-1.0), "spread"),
        (LocalComposite, dict(sigma_g=1e-3, delta_g=1e-9), "noise wavenumber"),
        (LocalComposite, dict(start=math.nan), "start must be finite"),
        (Conditional, dict(sigma_g=0.0), "both zero or both positive"),
        (Conditional, dict(S_g=0.05), "S_g must exceed"),
        (Conditional, dict(outer_support=0), "at least 1"),
        (Conditional, dict(Delta=5.0), "must exceed the heterogeneity"),
        (Meta, dict(alpha=0.0), "alpha must be positive"),
        (Meta, dict(nu=-1), "nu at least 0"),
        (Meta, dict(sigma_G=0.1), "both zero or both positive"),
        (Meta, dict(Delta=1.0), "B must exceed Delta"),
        (Meta, dict(kurtosis=0), "kurtosis must be a positive integer"),
        (Meta, dict(kurtosis=1.5), "kurtosis must be a positive integer"),
        (FederatedMAML, dict(lam=-0.1), "lam must be finite and positive"),
        (FederatedMAML, dict(sigma_2=0.0), "both zero or both positive"),
        (FederatedMAML, dict(G=0.1, Delta=0.2), "G must exceed Delta"),
    ],
)
def test_contradicting_parameters_are_refused(family, parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        family(**parameters)


@pytest.mark.parametrize(
    "theorem",
    [
        "feddro.theorem_5_1",
        "local_scgdm.theorem_3_4",
        "comfedl.theorem_1",
        "fcsg.theorem_4_1",
        "fcsg_m.theorem_4_4",
        "acc_fcsg_m.theorem_4_7",
        "meta_fl.theorem_8",
    ],
)
def test_each_theorem_has_a_homogeneous_a_heterogeneous_and_a_noisy_problem(theorem):
    fitting = [name for name in problems() if fits(get_theorem(theorem), problem(name))]
    for word in ("homogeneous", "heterogeneous", "noisy"):
        assert any(name.split("_")[-1] == word for name in fitting), (theorem, word)


@pytest.mark.parametrize("noise", [0.1, 0.9])
@pytest.mark.parametrize("inner_dim", [1, 3])
def test_second_moment_dial_inverts_its_formula(noise, inner_dim):
    lipschitz = lipschitz_of_mean_square(1.4, noise, 0.2, inner_dim)
    map_ = RippledMap(4, 2 * inner_dim, inner_dim, lipschitz, 0.3, noise, 0.2)
    assert map_.jacobian_mean_square == pytest.approx(1.4, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_kurtosis_law_has_its_moments(k):
    values, weights = Kurtosis(k).support()
    moments = [float((weights * values**power).sum()) for power in range(5)]
    assert moments == pytest.approx([1.0, 0.0, 1.0, 0.0, float(k)], abs=1e-12)


def test_meta_gradient_is_the_product_of_its_factors():
    """Equation (8) with explicit matrices I - alpha Hessian, multiplied out."""
    instance = Meta(clients=2, dim=3, nu=3, Delta=0.3, alpha=0.4)
    x = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    total = torch.zeros(3, dtype=torch.float64)
    for client in range(2):

        def loss(w, client=client):
            return instance.local_value(w.expand(1, 2, 3))[0, client]

        w, product = x[0], torch.eye(3, dtype=torch.float64)
        for _ in range(instance.nu):
            product = product @ (torch.eye(3) - instance.alpha * torch.autograd.functional.hessian(loss, w))
            w = w - instance.alpha * torch.autograd.functional.jacobian(loss, w)
        total += product @ torch.autograd.functional.jacobian(loss, w) / 2
    assert torch.allclose(instance.gradient(x)[0], total, atol=1e-12)


def test_tasks_have_different_minimisers():
    instance = problem("meta_heterogeneous")
    origin = torch.zeros(1, instance.clients, instance.dim, dtype=torch.float64)
    pulls = instance.local_gradient(origin)[0]
    assert torch.allclose(pulls[0], -pulls[1]) and pulls[0].norm() == pytest.approx(instance.Delta)


def test_inner_noise_is_conditional_on_the_outer_sample():
    """The inner error depends on xi, and exact conditional expectations differ between outcomes and between clients."""
    instance = problem("conditional_heterogeneous")
    x = instance.initial_point.expand(1, instance.clients, -1)
    outer, _ = instance.outer_atoms()
    means = instance.inner(x, outer)
    assert not torch.allclose(means[0, 0, 0], means[0, 0, 2]) and not torch.allclose(means[0, 0], means[0, 1])
    inner, _ = instance.inner_atoms(outer)
    errors = (instance.inner(x, outer, inner.only(0)) - means).norm(dim=-1)[0, 0]
    assert len({round(float(error), 9) for error in errors}) > 1


def test_lemma_3_9_needs_its_cross_term():
    """Spectral norms: the paper's C_g^2 = (1 + lam L_1)^2 + lam^2 sigma_2^2 is below the second moment at a point."""
    instance = FederatedMAML(clients=1, dim=2, lam=1.0, L_1=0.05, G=1.0, sigma_1=0.5, sigma_2=0.5)
    crest = torch.tensor(instance.certificates["local_hessian_noise"].points[0], dtype=torch.float64).expand(1, 1, 2)
    sample, weights = instance.atoms()
    basis = torch.eye(2, dtype=torch.float64)
    second_moment = 0.0
    for i, weight in enumerate(weights.tolist()):
        columns = [instance.inner_vjp(crest, e.expand(1, 1, 2), sample.at(i))[0, 0] for e in basis]
        second_moment += weight * float(torch.linalg.matrix_norm(torch.stack(columns), ord=2)) ** 2
    printed = (1 + instance.lam * instance.L_1) ** 2 + (instance.lam * instance.sigma_2) ** 2
    assert printed < second_moment <= float(instance.certificates["inner_jacobian_mean_square"].value) ** 2


def broken(original, **methods):
    mutant = copy.copy(original)
    mutant.__dict__.update(methods)
    return mutant


def conditional_mutants(p):
    return {
        "conditional expectation": dict(
            inner=lambda x, outer, inner=None: p.inner(x, outer, inner) + (0.0 if inner is None else 1e-4)
        ),
        "inner_vjp differs": dict(inner_vjp=lambda x, v, outer, inner=None: p.inner_vjp(x, v, outer)),
        "outer_gradient differs": dict(outer_gradient=lambda y, outer: -p.outer_gradient(y, outer)),
        "objective differs": dict(objective=lambda x: p.objective(x) + 1e-6),
        "mean of its samples": dict(
            inner=lambda x, outer, inner=None: p.inner(x, outer, None if inner is None else inner.only(0))
        ),
        "not an atom": dict(
            sample_inner=lambda draws, outer, m, purpose="inner": InnerSample(
                0.5 * p.sample_inner(draws, outer, m, purpose).eta
            )
        ),
        "frequency": dict(
            sample_outer=lambda draws, batch, purpose="outer": OuterSample(
                p.sample_outer(draws, batch, purpose).outcome // 2
            )
        ),
        "sample_gradient is not the chain rule": dict(
            sample_gradient=lambda x, outer, inner=None: p.sample_gradient(x, outer, inner) + 1e-6 * x.unsqueeze(2)
        ),
    }


def meta_mutants(p):
    return {
        "local_hvp differs": dict(local_hvp=lambda x, v, sample=None: p.local_hvp(x, v)),
        "local_gradient differs": dict(local_gradient=lambda x, sample=None: 1.01 * p.local_gradient(x, sample)),
        "objective differs": dict(objective=lambda x: p.local_value(x.unsqueeze(1).expand(-1, p.clients, -1)).mean(-1)),
        "gradient differs": dict(gradient=lambda x: 0.99 * p.gradient(x)),
    }


CONDITIONAL = Conditional(clients=2, dim=4, Delta=0.2, spread=0.3)
META = Meta(clients=3, dim=3, sigma_G=0.2, sigma_H=0.3, Delta=0.2, kurtosis=2)


@pytest.mark.parametrize("complaint", sorted(conditional_mutants(CONDITIONAL)))
def test_a_broken_conditional_oracle_is_caught(complaint):
    with pytest.raises(ConformanceError, match=complaint):
        check_problem(broken(CONDITIONAL, **conditional_mutants(CONDITIONAL)[complaint]), GLANCE)


@pytest.mark.parametrize("complaint", sorted(meta_mutants(META)))
def test_a_broken_meta_oracle_is_caught(complaint):
    with pytest.raises(ConformanceError, match=complaint):
        check_problem(broken(META, **meta_mutants(META)[complaint]), GLANCE)


@pytest.mark.parametrize("instance", [CONDITIONAL, META], ids=["conditional", "meta"])
def test_the_originals_pass(instance):
    check_problem(instance, GLANCE)


@pytest.mark.parametrize("runs", [1, 2, 5, 33])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (7, 1), (6, 3), (20, 4)])
def test_a_run_keeps_its_bits_in_any_batch(runs, shape):
    """More shapes than the suite tries: vector widths, tails and broadcasts all differ between them."""
    dim, inner_dim = shape
    generator = torch.Generator().manual_seed(runs)
    noise = dict(sigma_f=0.2, sigma_g=0.2, delta_g=0.3)
    for instance in (
        LocalComposite(clients=3, dim=dim, inner_dim=inner_dim, C_g=1.5, Delta_g=0.3, spread=1.0, **noise),
        FederatedMAML(clients=3, dim=dim, Delta=0.1),
    ):
        x = 5 * torch.randn(runs, 3, dim, generator=generator, dtype=torch.float64)
        v = torch.randn(runs, 3, instance.inner_dim, generator=generator, dtype=torch.float64)
        sample = instance.sample(SeededDraws(runs, 3), 2)
        whole = instance.inner_vjp(x, instance.outer_gradient(v, sample), sample)
        for run in range(runs):
            own = type(sample)(*(getattr(sample, name)[run : run + 1] for name in sample.__dataclass_fields__))
            alone = instance.inner_vjp(x[run : run + 1], instance.outer_gradient(v[run : run + 1], own), own)
            assert torch.equal(whole[run : run + 1], alone)
