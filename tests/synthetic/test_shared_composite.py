"""The shared-composite family: parameters come back as certificates, contradictions are refused, Theorem 5.1 is in reach."""

import math

import pytest
import torch
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import Budget, check_problem
from fedco.synthetic.families.shared_composite import SharedComposite
from hypothesis import given, settings
from hypothesis import strategies as st

PARAMETERS = {
    "outer_lipschitz": "B_f",
    "outer_smoothness": "L_f",
    "inner_mean_square_lipschitz": "B_g",
    "inner_smoothness": "L_g",
    "inner_noise": "sigma_g",
    "inner_jacobian_heterogeneity": "Delta_g",
    "noncompositional_smoothness": "L_h",
    "noncompositional_gradient_noise": "sigma_h",
    "noncompositional_heterogeneity": "Delta_h",
}
PRESETS = ("feddro_homogeneous", "feddro_heterogeneous", "feddro_noisy")
positive = st.floats(0.05, 3.0)


@st.composite
def families(draw):
    inner_dim, clients = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    sigma_g = draw(st.floats(0.0, 1.0))
    Delta_g, Delta_h = (draw(st.floats(0.0, 1.0)), draw(st.floats(0.0, 1.0))) if clients > 1 else (0.0, 0.0)
    B_g = 1.1 * math.hypot(sigma_g, Delta_g) + draw(positive)
    return SharedComposite(
        clients=clients,
        dim=inner_dim * draw(st.integers(1, 3)),
        inner_dim=inner_dim,
        B_f=draw(positive),
        L_f=draw(positive),
        B_g=B_g,
        L_g=draw(positive),
        B_h=draw(positive),
        L_h=draw(positive),
        sigma_g=sigma_g,
        sigma_h=draw(positive),
        Delta_g=Delta_g,
        Delta_h=Delta_h,
        ripple=draw(st.floats(0.1, 2.0)),
        target=draw(st.floats(-3.0, 3.0)),
        start=draw(st.floats(0.0, 30.0)),
    )


@settings(max_examples=8, deadline=None, derandomize=True)
@given(families())
def test_any_parameters_give_a_conforming_problem_with_those_constants(instance):
    for quantity, parameter in PARAMETERS.items():
        assert float(instance.certificates[quantity].value) == pytest.approx(getattr(instance, parameter), rel=1e-12)
    check_problem(instance, Budget(lanes=4, steps=2))


def test_presets_differ_in_clients_heterogeneity_and_noise():
    seen = [problem(name) for name in PRESETS]
    for parameter in ("clients", "Delta_g", "sigma_g", "inner_dim"):
        assert len({getattr(p, parameter) for p in seen}) > 1


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        (dict(B_g=0.5, sigma_g=0.5), "B_g must exceed sigma_g"),
        (dict(B_g=1.0, Delta_g=1.0), "must exceed the heterogeneity"),
        (dict(dim=5, inner_dim=2), "inner_dim must divide dim"),
        (dict(clients=1, Delta_g=0.1), "at least 2 clients"),
        (dict(L_h=0.1), "without h"),
        (dict(B_h=1.0, L_h=0.0), "smoothness must be finite and positive"),
        (dict(B_f=0.0), "lipschitz must be finite and positive"),
        (dict(L_f=-1.0), "smoothness must be finite and positive"),
        (dict(ripple=0.0, L_g=0.1), "affine"),
        (dict(sigma_g=math.nan), "B_g must exceed sigma_g"),
        (dict(ripple=1e-9, L_g=1.0), "too large for ripple"),
        (dict(B_h=1e-6, L_h=1.0), "too large for the Lipschitz constant"),
        (dict(target=math.inf), "target must be finite"),
        (dict(start=-1.0), "start must be"),
        (dict(B_h=1.0, L_h=1.0, sigma_h=-1.0), "noise must be finite and at least 0"),
    ],
)
def test_contradicting_parameters_are_refused(parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        SharedComposite(**parameters)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_not_convex(name):
    """The Hessian has clearly negative eigenvalues at the start, and g_k and h_k bend both ways."""
    instance = problem(name)
    hessian = torch.autograd.functional.hessian(lambda x: instance.objective(x[None])[0], instance.initial_point)
    assert torch.linalg.eigvalsh(hessian)[0] < -0.01


@pytest.mark.parametrize("name", PRESETS)
def test_clients_and_noise_are_felt_where_it_matters(name):
    """At the start the clients and the samples really disagree as much as the parameters say (within a factor 100)."""
    instance = problem(name)
    x = instance.initial_point.expand(1, instance.clients, -1)
    v = torch.ones(1, instance.clients, instance.inner_dim, dtype=torch.float64)
    spread = (instance.inner_vjp(x, v) - instance.inner_vjp(x, v).mean(1, keepdim=True)).norm(dim=-1).amax()
    assert spread >= 0.01 * instance.Delta_g
    sample, _ = instance.atoms()
    noise = instance.inner_vjp(x, v, sample.at(0)) - instance.inner_vjp(x, v)
    assert noise.norm(dim=-1).amax() >= 0.01 * instance.sigma_g


def theorem_5_1(instance, T, I, b=1):
    """The printed bound of FedDRO Theorem 5.1 with y_0 = g(x_0), its threshold T_th and beta, from the certificates."""
    of = {quantity: float(certificate.value) for quantity, certificate in instance.certificates.items()}
    L_h, L_f, L_g = of["noncompositional_smoothness"], of["outer_smoothness"], of["inner_smoothness"]
    B_f, B_g, K = of["outer_lipschitz"], of["inner_mean_square_lipschitz"], instance.clients
    c_beta = 4 * B_g**4 * L_f**2
    Lbar = 10 * L_h**2 + 20 * B_f**2 * L_g**2 + 40 * B_g**4 * L_f**2
    L_Phi = L_h + B_f * L_g + B_g**2 * L_f
    C = max(b * K * (I - 1) ** 2 / T, 1 / math.sqrt(b * K * T))
    variance = (2 * Lbar + 4 * L_Phi + 8 * B_g**2) * of["noncompositional_gradient_noise"] ** 2 + (
        2 * B_f**2 * Lbar + 4 * L_Phi * B_f**2 + 4 * c_beta**2 + 8 * B_f**2 * B_g**2
    ) * of["inner_noise"] ** 2
    heterogeneity = (6 * Lbar + 96 * B_g**2) * of["noncompositional_heterogeneity"] ** 2 + (
        6 * B_f**2 * Lbar + 96 * B_f**2 * B_g**2
    ) * of["inner_jacobian_heterogeneity"] ** 2
    bound = 2 * of["objective_gap"] / math.sqrt(b * K * T) + C * (variance + heterogeneity)
    ratio = (
        B_g**4
        * (96 * L_h**2 + 96 * B_f**2 * L_g**2) ** 2
        / (b * K * (L_h**2 + 2 * B_f**2 * L_g**2 + 4 * B_g**4 * L_f**2) ** 2)
    )
    T_th = max(4 * (L_Phi * b * K + 8 * B_g**2) ** 2 / (b * K), ratio, 216 * (L_h**2 + B_f**2 * L_g**2) * I**2 * b * K)
    return bound, T_th, c_beta * math.sqrt(b * K / T)


@pytest.mark.parametrize(
    ("name", "I", "T"),
    [
        ("feddro_homogeneous", 8, 5_000),
        ("feddro_heterogeneous", 4, 20_000),
        ("feddro_noisy", 2, 5_000),
        ("feddro_homogeneous", 8, 20_000),
        ("feddro_heterogeneous", 2, 10_000),
        ("feddro_noisy", 2, 20_000),
    ],
)
def test_theorem_5_1_can_be_supported(name, I, T):
    instance = problem(name)
    bound, T_th, beta = theorem_5_1(instance, T, I)
    assert T_th <= T and beta < 1
    cap = float(instance.certificates["gradient_cap"].value) ** 2
    assert 2 * bound <= cap <= 21 * bound
    start = (instance.gradient(instance.initial_point[None]) ** 2).sum().item()
    assert start > bound


def test_without_h_there_is_no_extra_gradient():
    instance = problem("feddro_without_h")
    x = torch.zeros(1, instance.clients, instance.dim, dtype=torch.float64)
    assert instance.extra_gradient(x) is None and "no_extra_term" in instance.properties


def test_exact_gap_when_the_minimum_is_known():
    assert problem("feddro_without_h").certificates["objective_gap"].kind == "exact"
    assert problem("feddro_noisy", target=0.0).certificates["objective_gap"].kind == "exact"
    assert problem("feddro_noisy").certificates["objective_gap"].kind == "upper"


@pytest.mark.parametrize("name", PRESETS)
def test_composition_rule_is_above_a_direct_smoothness(name):
    """Lemma 3.1 with all constants, against the certificate of the whole, which uses the mean maps."""
    of = problem(name).certificates
    lemma = (
        of["noncompositional_smoothness"].value
        + of["outer_lipschitz"].value * of["inner_smoothness"].value
        + (of["inner_mean_square_lipschitz"].value ** 2 * of["outer_smoothness"].value)
    )
    assert of["objective_smoothness"].value <= lemma
