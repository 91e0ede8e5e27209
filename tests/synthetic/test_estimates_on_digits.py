"""The estimators as a user meets them, on scikit-learn's digits: KL-DRO, a network, and functions instead of a module.

What they once got wrong is measured here: a gap of 0.0096 for an objective that a run lowers by 0.7, and constants of the
composition above what the chain rule gives for its parts.
"""

import fedco
import pytest
import torch
from fedco.algorithms import FedDRO, LocalSGD
from fedco.synthetic.applications.user import LocalFromFunctions, SharedFromFunctions
from fedco.synthetic.models import from_model
from fedco.synthetic.parts.adversary import Budget
from torch import nn
from torch.nn.functional import cross_entropy, log_softmax

CLIENTS, OWN = 3, 12


@pytest.fixture(scope="module")
def clients():
    found = pytest.importorskip("sklearn.datasets").load_digits()
    images, labels = torch.tensor(found.data / 16), torch.tensor(found.target).long()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))[: CLIENTS * OWN]
    return [(images[part], labels[part]) for part in order.split(OWN)]


def linear():
    model = nn.Linear(64, 10)
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return model


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 10))


def dropped(problem, method) -> float:
    """By how much 400 steps lower the objective."""
    done = fedco.run(method, problem, T=400, seeds=2, metrics=["objective"], every=400)
    values = done.table.values["objective"][0]
    return float((values[:, 0] - values[:, -1]).max())


@pytest.mark.slow
@pytest.mark.parametrize("build", [linear, mlp])
def test_the_gap_of_a_kl_dro_problem_covers_what_a_run_descends(build, clients):
    problem = from_model(build(), cross_entropy, clients, "kl_dro", weight=1.0)
    drop = dropped(problem, FedDRO(eta=0.1, beta=0.5, I=2, b=8))
    found = fedco.estimate(build(), cross_entropy, clients, "kl_dro", weight=1.0, points=3)
    gap = found["objective_gap"]
    assert drop > 0.5 and gap.value >= drop and gap.kind == "upper" and gap.growth[-1][1] > 0.5
    parts = found["inner_lipschitz"].value ** 2 * found["outer_smoothness"].value
    parts += found["outer_lipschitz"].value * found["inner_smoothness"].value
    assert 0 < found["objective_smoothness"].value <= parts * (1 + 1e-9)


@pytest.mark.parametrize(("build", "kind"), [(linear, "upper"), pytest.param(mlp, "estimated", marks=pytest.mark.slow)])
def test_constants_of_a_linear_model_are_certified_and_of_a_network_estimated(build, kind, clients):
    found = fedco.estimate(build(), cross_entropy, clients, theorem="baselines.local_sgd", points=3)
    assert {one.kind for name, one in found.items() if name != "objective_gap"} == {kind}
    problem = from_model(build(), cross_entropy, clients)
    assert found["objective_gap"].value >= dropped(problem, LocalSGD(eta=0.1, tau=2, b=8)) > 0.5
    # the descent lemma with the constant that was found, along the gradient, which a too small one breaks
    L, x = found["local_smoothness"].value, problem.initial_point.unsqueeze(0)
    slope = problem.gradient(x)
    square = float(slope.square().sum())
    assert float(problem.objective(x) - problem.objective(x - slope / L)) >= square / (2 * L) * (1 - 1e-9)


def _loss(x, row):
    """Softmax regression on a row of 64 pixels and the label."""
    scores = x.view(10, 65) @ torch.cat([row[:64], row.new_ones(1)])
    return -(log_softmax(scores, -1) * nn.functional.one_hot(row[64].long(), 10)).sum()


GLANCE = Budget(lanes=2, steps=3, farthest=1.0)


def rows(clients):
    return torch.stack([torch.cat([images, labels.double().unsqueeze(1)], 1) for images, labels in clients])


@pytest.mark.slow
def test_functions_get_the_gap_of_a_descent_and_capped_constants(clients):
    """The same KL-DRO problem, written as functions."""
    problem = SharedFromFunctions(
        lambda x, row: torch.exp(_loss(x, row)).unsqueeze(0),
        lambda y, _: torch.log(y.sum().clamp_min(1e-300)),
        rows(clients)[:, :8],
        start=torch.zeros(650, dtype=torch.float64),
        factor=1.0,
        budget=GLANCE,
    )
    drop = dropped(problem, FedDRO(eta=0.1, beta=0.5, I=2, b=8))
    found = problem.certificates
    assert drop > 0.5 and found["objective_gap"].value >= drop and found["objective_gap"].kind == "estimated"
    rule = float(found["inner_mean_square_lipschitz"].value) * float(found["outer_lipschitz"].value)
    assert 0 < found["gradient_cap"].value <= rule * (1 + 1e-9)
    known = SharedFromFunctions(
        problem.inner_function,
        problem.outer_function,
        problem.data,
        start=problem.start,
        budget=GLANCE,
        lower_bound=0.0,
    )
    start = float(problem.objective(problem.start[None]))
    assert known.certificates["objective_gap"].value == pytest.approx(start)
    assert known.certificates["objective_gap"].kind == "upper"


def test_a_composition_of_functions_is_no_rougher_than_the_chain_rule_says():
    """exp(sum of waves) over clients: the direct search goes far out, where exp is steep; the parts do not."""
    data = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    problem = LocalFromFunctions(
        lambda x, row: torch.sin(row @ x).unsqueeze(0),
        lambda y, _: torch.exp(y).sum(),
        data,
        start=torch.ones(5, dtype=torch.float64),
        budget=Budget(lanes=4, steps=6, farthest=1.0),
    )
    found = {name: float(one.value) for name, one in problem.certificates.items()}
    rule = found["inner_jacobian_mean_square"] ** 2 * found["outer_smoothness"]
    rule += found["outer_mean_square_lipschitz"] * found["inner_smoothness"]
    assert found["objective_smoothness"] <= rule
    assert found["gradient_cap"] <= found["inner_jacobian_mean_square"] * found["outer_mean_square_lipschitz"]
    assert {one.kind for one in problem.certificates.values()} == {"estimated"}
