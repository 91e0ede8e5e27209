"""The minimax kind: parameters, constants by hand, broken oracles, and the method that solves it."""

import math

import fedco
import pytest
import torch
from broken import GLANCE, is_caught, is_caught_a_little_too_small
from fedco.algorithms import LocalSGDA, Schedule, drive
from fedco.algorithms.engine import metrics
from fedco.synthetic import problem
from fedco.synthetic.conformance.suite import check_problem
from fedco.synthetic.families.minimax import Saddle
from fedco.synthetic.parts.noise import NoisePair
from fedco.validation import validate

FAMILY = [
    Saddle(
        name="uneven", clients=7, dim=3, a=0.3, b=0.8, mu=0.6, R=2.0, sigma=0.4, sigma_y=0.2, Delta=0.5, Delta_y=0.7
    ),
    Saddle(name="convex, one client", clients=1, dim=2, a=0.0, sigma=0.1, kurtosis=4),
    Saddle(name="a small box", clients=3, dim=5, R=0.01, mu=2.0, Delta_y=3.0),
]


@pytest.mark.parametrize("instance", FAMILY, ids=lambda p: p.name)
def test_the_family_conforms_away_from_its_presets(instance):
    check_problem(instance, GLANCE)


def test_parameters_come_back_as_certificates():
    p = FAMILY[0]
    wanted = {
        "local_smoothness": 0.3,
        "coupling": 0.8,
        "dual_smoothness": 0.6,
        "strong_concavity": 0.6,
        "local_gradient_noise": 0.4,
        "dual_gradient_noise": 0.2,
        "local_gradient_heterogeneity": 0.5 * math.sqrt(2 * (1 + 1 / 4 + 1 / 4) / 7),
        "dual_heterogeneity": 0.7 * math.sqrt(2 * (1 + 1 / 4 + 1 / 4) / 7),
        "objective_smoothness": 0.3 + 0.8**2 / 0.6,
    }
    for quantity, value in wanted.items():
        assert float(p.certificates[quantity].value) == pytest.approx(value, rel=1e-12), quantity


def test_the_objective_is_a_bump_and_a_huber_function():
    """By hand at x = (1, 0, 3) for a = 0.3, b = 0.8, mu = 0.6, R = 2: the box is met at x_j = R mu / b = 1.5."""
    p, x = FAMILY[0], torch.tensor([[1.0, 0.0, 3.0]], dtype=torch.float64)
    bump, inside, outside = 0.3 / 2 * (1 / 2 + 9 / 10), 0.64 / 1.2, 0.8 * 2 * 3 - 0.6 * 4 / 2
    assert p.objective(x).item() == pytest.approx(bump + inside + outside, rel=1e-14)
    assert p.maximiser(x)[0].tolist() == pytest.approx([4 / 3, 0.0, 2.0])
    grid = torch.linspace(-2, 2, 41, dtype=torch.float64)
    y = torch.cartesian_prod(grid, grid, grid)
    tried = p.local_value(p.to_clients(x.expand(len(y), -1)), p.to_clients(y)).mean(1)
    assert tried.max().item() <= p.objective(x).item() + 1e-12 and tried.max().item() > p.objective(x).item() - 0.01


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"mu": 0.0}, "mu"),
        ({"b": 0.0}, "b"),
        ({"R": -1.0}, "R"),
        ({"sigma_y": -1.0}, "sigma_y"),
        ({"Delta": 1.0, "clients": 2}, "at least 3 clients, got 2"),
        ({"kurtosis": 1.5}, "kurtosis"),
    ],
)
def test_contradicting_parameters_are_refused(parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        Saddle(**parameters)


def mutants(p):
    def noise_of_x(x, y, sample=None):
        return p.ascent_gradient(x, y, sample and NoisePair(sample.noise, sample.noise))

    return {
        "gradient differs from autograd of objective": dict(gradient=lambda x: 1.001 * p.gradient(x)),
        "descent_gradient differs from autograd": dict(
            descent_gradient=lambda x, y, s=None: -p.descent_gradient(x, y, s)
        ),
        "ascent_gradient differs from autograd": dict(ascent_gradient=lambda x, y, s=None: -p.ascent_gradient(x, y, s)),
        "ascent_gradient: its expectation": dict(
            ascent_gradient=lambda x, y, s=None: p.ascent_gradient(x, y, s) + (0.0 if s is None else 1e-3)
        ),
        "maximiser: not in the set Y": dict(maximiser=lambda x: p.b / p.mu * x),
        "maximiser: the mean of the f_i is larger": dict(maximiser=lambda x: p.projected(0.9 * p.maximiser(x))),
        "initial_dual: not in the set Y": dict(initial_dual=p.initial_dual + 2 * p.R),
        "projected: a projection twice": dict(projected=lambda y: 0.5 * y),
        "projected: another point": dict(projected=lambda y: torch.where(y.abs() > p.R, torch.zeros_like(y), y)),
        "frequency": dict(sample=lambda draws, b, purpose="s": NoisePair(*[p.sample(draws, b).noise] * 2)),
        "dual_gradient_noise: declared": dict(
            ascent_gradient=lambda x, y, s=None: p.ascent_gradient(x, y, s and NoisePair(s.noise, 2 * s.second))
        ),
        "strong_concavity: declared": dict(
            ascent_gradient=lambda x, y, s=None: p.ascent_gradient(x, y, s) + 0.2 * p.mu * y,
            local_value=lambda x, y: p.local_value(x, y) + 0.1 * p.mu * (y * y).sum(-1),
        ),
        "coupling: declared": dict(
            ascent_gradient=lambda x, y, s=None: p.ascent_gradient(x, y, s) + 0.2 * x,
            descent_gradient=lambda x, y, s=None: p.descent_gradient(x, y, s) + 0.2 * y,
        ),
    }


@pytest.mark.parametrize("complaint", sorted(mutants(FAMILY[0])))
def test_a_broken_oracle_is_caught(complaint):
    is_caught(complaint, FAMILY[0], **mutants(FAMILY[0])[complaint])


@pytest.mark.parametrize("quantity", sorted(FAMILY[0].certificates))
def test_every_certificate_a_little_too_small_is_caught(quantity):
    is_caught_a_little_too_small(quantity, FAMILY[0])


def test_a_client_that_is_convex_in_y_has_no_strong_concavity():
    p = FAMILY[0]
    complaint = r"strong_concavity: declared .* but found inf"
    is_caught(
        complaint,
        p,
        ("strong_concavity",),
        ascent_gradient=lambda x, y, s=None: p.ascent_gradient(x, y, s) + 2 * p.mu * y,
    )


def test_local_sgda_finds_the_minimum_and_its_maximiser():
    p = problem("minimax_heterogeneous", sigma=0.0, sigma_y=0.0)
    record = {"g": metrics.gradient_norm_squared, "gap": metrics.gap}
    run = drive(LocalSGDA(eta=0.2, eta_y=0.4, tau=1), p, steps=600, record=record, every=600)
    assert run.final("g").item() < 1e-12 and 0 <= run.final("gap").item() < 1e-12
    torch.testing.assert_close(run.state.y[:, 0], p.maximiser(run.state.average), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_declining_steps_end_closer_to_the_minimum_in_noise():
    p = problem("minimax_noisy")

    def end(eta, eta_y):
        method = LocalSGDA(eta=eta, eta_y=eta_y, tau=2)
        last = drive(
            method, p, steps=2000, seeds=16, record={"g": metrics.gradient_norm_squared}, every=2000, average=False
        )
        return last.final("g").mean().item()

    assert end(Schedule(20.0, 100.0), Schedule(40.0, 100.0)) < end(0.2, 0.4) / 4


LOOSE = {
    "id": "mine.sgda",
    "problem": "minimax",
    "symbols": {
        "L": "objective_smoothness", "F_gap": "objective_gap", "mu": "strong_concavity", "c": "coupling", "sigma": "local_gradient_noise",
        "sigma_y": "dual_gradient_noise", "e": "initial_dual_error", "eta": "step_size", "eta_y": "dual_step_size",
        "p": "communication_period", "T": "iterations",
    },
    "terms": {
        "initialisation": "8*F_gap/(eta*T)",
        "noise": "8*L*eta*sigma**2 + 8*eta**2*p**2*L**2*sigma**2",
        "dual": "8*c**2*e**2/(eta_y*mu*T) + 8*c**2*eta_y*sigma_y**2/mu",
    },
    "conditions": {"step_size": "eta <= 1/(4*L)", "dual_step_size": "eta_y <= 1/(2*mu)"},
    "method": {"name": "local_sgda", "eta": "eta", "eta_y": "eta_y", "tau": "p", "b": 1},
}  # fmt: skip
"""Ours, not proved: what a run is compared with."""


@pytest.mark.slow
def test_a_theorem_about_a_minimax_problem_is_measured():
    found = validate(fedco.define(**LOOSE), problems=["minimax_homogeneous"], seeds=64, jobs=1)
    outcomes = [str(each.outcome) for each in found.verdicts]
    assert "SUPPORTED" in outcomes and set(outcomes) <= {"SUPPORTED", "INCONCLUSIVE"}  # few seeds


def test_the_server_projects_the_mean_and_not_each_client():
    """Clients that differ push y out of the box in opposite directions: the mean of their projections is not the projection of the mean,
    and x would run away, which no bound of `library.sgda` has a term for."""
    apart = Saddle(clients=3, dim=1, Delta_y=20.0, start=1.0)
    method = LocalSGDA(eta=0.3, eta_y=1.0, tau=1)
    run = drive(method, apart, steps=4000, record={"slope": metrics.gradient_norm_squared}, every=4000, average=False)
    assert run.final("slope").item() < 1e-12
