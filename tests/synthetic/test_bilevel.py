"""The bilevel kind: parameters, constants by hand, broken oracles, and the method that solves it."""

import math

import pytest
import torch
from broken import GLANCE, is_caught, is_caught_a_little_too_small
from fedco.algorithms import FedTTSA, Schedule, drive
from fedco.algorithms.engine import metrics
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import check_problem
from fedco.synthetic.families.bilevel import QuadraticLower
from fedco.synthetic.parts.noise import NoisePair
from hypothesis import given, settings
from hypothesis import strategies as st

NOISE = {"sigma": 0.4, "sigma_y": 0.2, "sigma_g": 0.3}
UNEVEN = {"a": 0.3, "r": 0.7, "c": 0.8, "mu": 0.6, "l": 1.5}
FAMILY = [
    QuadraticLower(name="uneven", clients=7, dim=3, Delta=0.5, Delta_y=0.7, Delta_g=0.4, **UNEVEN, **NOISE),
    QuadraticLower(name="curvatures differ", clients=6, dim=5, chi=1.5, Delta_g=0.4, mu=0.2, kurtosis=3, **NOISE),
    QuadraticLower(name="convex, one client", clients=1, dim=2, a=0.0, sigma=0.1, kurtosis=4),
    QuadraticLower(name="one coordinate", clients=2, dim=1, mu=0.1, l=0.1),
]


@pytest.mark.parametrize("instance", FAMILY, ids=lambda p: p.name)
def test_the_family_conforms_away_from_its_presets(instance):
    check_problem(instance, GLANCE)


def test_parameters_come_back_as_certificates():
    p, share = FAMILY[0], math.sqrt(2 * (1 + 1 / 4 + 1 / 4) / 7)
    wanted = {
        "local_smoothness": 0.3,
        "lower_smoothness": 1.5,
        "lower_strong_convexity": 0.6,
        "lower_coupling": 0.8,
        "hypergradient_smoothness": 0.7 * 0.8 / 0.6,
        "upper_lipschitz": 0.7 * math.sqrt(3) + 0.7,
        "local_gradient_noise": 0.4,
        "dual_gradient_noise": 0.2,
        "lower_gradient_noise": 0.3,
        "local_gradient_heterogeneity": 0.5 * share,
        "lower_heterogeneity": 0.4 * share,
        "objective_smoothness": 0.3 + 0.7 * (0.8 / 0.6) ** 2,
    }
    for quantity, value in wanted.items():
        assert float(p.certificates[quantity].value) == pytest.approx(value, rel=1e-12), quantity
    of_clients = FAMILY[1].certificates
    assert float(of_clients["lower_smoothness"].value) == pytest.approx(2.5)
    assert float(of_clients["lower_strong_convexity"].value) == pytest.approx(0.2 / 4)
    assert "lower_heterogeneity" not in of_clients


@given(x=st.lists(st.floats(-5, 5), min_size=3, max_size=3))
@settings(max_examples=30)
def test_the_objective_is_what_minimising_the_lower_level_gives(x):
    """y* by Newton's method on the lower level's own oracles, the gradient by central differences along each axis."""
    p, point = FAMILY[0], torch.tensor([x], dtype=torch.float64)

    def objective(x):
        at = p.to_clients(x)
        y = -p.solve_lower(x, 0 * x, p.lower_gradient(at, 0 * at).mean(1))
        return p.local_value(at, p.to_clients(y)).mean(1)

    assert p.objective(point).item() == pytest.approx(objective(point).item(), abs=1e-12)
    for axis, slope in zip(torch.eye(3, dtype=torch.float64), p.gradient(point)[0].tolist(), strict=True):
        by_hand = (objective(point + 1e-5 * axis) - objective(point - 1e-5 * axis)).item() / 2e-5
        assert slope == pytest.approx(by_hand, abs=1e-8)


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"mu": 0.0}, "mu"),
        ({"mu": 2.0}, "mu must be at most l"),
        ({"c": 0.0}, "c"),
        ({"sigma_g": -1.0}, "sigma_g"),
        ({"chi": 2.0}, "chi must be below 2"),
        ({"chi": 0.5, "clients": 2}, "at least 3 clients, got 2"),
        ({"kurtosis": 1.5}, "kurtosis"),
    ],
)
def test_contradicting_parameters_are_refused(parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        QuadraticLower(**parameters)


def mutants(p):
    def louder(s):
        return s and NoisePair(s.noise, 2 * s.second)

    return {
        "gradient differs from autograd of objective": dict(gradient=lambda x: 1.001 * p.gradient(x)),
        "upper_gradient differs from autograd": dict(upper_gradient=lambda x, y, s=None: -p.upper_gradient(x, y, s)),
        "upper_gradient_in_y differs from autograd": dict(
            upper_gradient_in_y=lambda x, y, s=None: 2 * p.upper_gradient_in_y(x, y, s)
        ),
        "lower_gradient differs from autograd": dict(lower_gradient=lambda x, y, s=None: -p.lower_gradient(x, y, s)),
        "lower_hvp differs from autograd": dict(lower_hvp=lambda x, y, v: 1.001 * p.lower_hvp(x, y, v)),
        "lower_cross differs from autograd": dict(lower_cross=lambda x, y, v: -p.lower_cross(x, y, v)),
        "lower_minimiser: the mean of the g_i is smaller": dict(
            lower_minimiser=lambda x: p.lower_minimiser(x) + 1e-3
        ),
        "solve_lower: the mean Hessian": dict(solve_lower=lambda x, y, v: 1.001 * p.solve_lower(x, y, v)),
        "initial_lower: expected the shape": dict(initial_lower=p.initial_lower[:1]),
        "lower_gradient: its expectation": dict(
            lower_gradient=lambda x, y, s=None: p.lower_gradient(x, y, s) + (0.0 if s is None else 1e-3)
        ),
        "frequency": dict(sample=lambda draws, b, purpose="s": NoisePair(*[p.sample(draws, b).noise] * 2)),
        "lower_gradient_noise: declared": dict(
            lower_gradient=lambda x, y, s=None: p.lower_gradient(x, y, louder(s)),
        ),
        "lower_coupling: declared": dict(
            lower_gradient=lambda x, y, s=None: p.lower_gradient(x, y, s) - 0.2 * x,
        ),
        "hypergradient_smoothness: declared": dict(
            hypergradient=lambda x, y: p.hypergradient(x, y) + 0.2 * y,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("complaint", sorted(mutants(FAMILY[0])))
def test_a_broken_oracle_is_caught(complaint):
    is_caught(complaint, FAMILY[0], **mutants(FAMILY[0])[complaint])


@pytest.mark.parametrize("quantity", sorted(FAMILY[0].certificates))
def test_every_certificate_a_little_too_small_is_caught(quantity):
    is_caught_a_little_too_small(quantity, FAMILY[0])


def test_a_client_that_is_concave_in_y_has_no_strong_convexity():
    p = FAMILY[0]
    complaint = r"lower_strong_convexity: declared .* but found inf"
    is_caught(
        complaint,
        p,
        ("lower_strong_convexity",),
        lower_gradient=lambda x, y, s=None: p.lower_gradient(x, y, s) - 2 * p.l * y,
    )


def test_the_method_finds_the_minimum_and_the_lower_minimiser():
    p = problem("bilevel_heterogeneous", sigma=0.0, sigma_y=0.0, sigma_g=0.0)
    record = {"g": metrics.gradient_norm_squared, "gap": metrics.gap}
    run = drive(FedTTSA(eta=0.2, eta_y=0.5, eta_v=0.6, K=8), p, steps=800, record=record, every=800)
    assert run.final("g").item() < 1e-12 and 0 <= run.final("gap").item() < 1e-12
    torch.testing.assert_close(run.state.y[:, 0], p.lower_minimiser(run.state.average), rtol=0, atol=1e-6)


def test_local_lower_steps_lead_elsewhere_where_curvatures_differ():
    """Several local steps end at a mean of the clients' own minimisers, which is not that of the mean; one step does not."""
    p = problem("bilevel_heterogeneous", sigma=0.0, sigma_y=0.0, sigma_g=0.0)
    method = FedTTSA(eta=0.0, eta_y=0.3, eta_v=0.6, K=1, tau=4)
    away, near = (
        (run.state.y[:, 0] - p.lower_minimiser(run.state.average)).norm().item()
        for run in (drive(m, p, steps=300, record={}) for m in (method, FedTTSA(eta=0.0, eta_y=0.3, eta_v=0.6, K=1)))
    )
    assert near < 1e-8 < 1e-2 < away


@pytest.mark.slow
def test_declining_steps_end_closer_to_the_minimum_in_noise():
    p = problem("bilevel_noisy")

    def end(eta, eta_y):
        method = FedTTSA(eta=eta, eta_y=eta_y, eta_v=1.0, K=6)
        record = {"g": metrics.gradient_norm_squared}
        return drive(method, p, steps=1500, seeds=16, record=record, every=1500, average=False).final("g").mean().item()

    assert end(Schedule(20.0, 100.0), Schedule(50.0, 100.0)) < end(0.2, 0.5) / 4


@pytest.mark.parametrize(("c", "mu"), [(1.0, 1e-3), (100.0, 0.5)])
def test_what_is_attained_is_attained_where_the_lower_level_answers_strongly(c, mu):
    check_problem(QuadraticLower(c=c, mu=mu), GLANCE)
