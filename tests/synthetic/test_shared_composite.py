"""The shared-composite family: any parameters give a conforming problem, and the presets are what their names say."""

import math

import pytest
import torch
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import Budget, check_problem
from fedco.synthetic.families.composite import SharedComposite
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


@settings(max_examples=8, derandomize=True)
@given(families())
def test_any_parameters_give_a_conforming_problem_with_those_constants(instance):
    for quantity, parameter in PARAMETERS.items():
        assert float(instance.certificates[quantity].value) == pytest.approx(getattr(instance, parameter), rel=1e-12)
    check_problem(instance, Budget(lanes=4, steps=2))


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_not_convex(name):
    """The Hessian has clearly negative eigenvalues at the start, and g_k and h_k bend both ways."""
    instance = problem(name)
    hessian = torch.autograd.functional.hessian(lambda x: instance.objective(x[None])[0], instance.initial_point)
    assert torch.linalg.eigvalsh(hessian)[0] < -0.01
