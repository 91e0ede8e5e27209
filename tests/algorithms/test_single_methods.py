"""What the shared tests cannot ask of single methods: where they end, what they refuse, how they draw and project."""

from fractions import Fraction

import pytest
import torch
from fedco import synthetic
from fedco.algorithms import (
    DRFA,
    FedAvg,
    FedDRO,
    LocalSGD,
    MetaFL,
    ModifiedFedAvg,
    NotApplicable,
    QFedAvg,
    Scaffold,
    Start,
    drive,
)
from fedco.algorithms.baselines.fair import drawn, onto_simplex
from fedco.algorithms.baselines.gossip_sgd import GossipSGD
from fedco.algorithms.engine import metrics
from fedco.bounds import get_theorem
from fedco.bounds.language.reading import InputError
from fedco.validation.runs.method_of import build_of
from tiny import TinyData, TinyLocal, TinyMeta

DETERMINISTIC = "feddro_counterexample"
CLIENTS = 3

STEPS = 1000
START = Start(x=torch.tensor([0.5], dtype=torch.float64))


@pytest.mark.parametrize(
    ("method", "converges"),
    [
        (FedAvg(eta=0.04, I=2, case="I"), False),
        (FedAvg(eta=0.04, I=2, case="II"), False),
        (ModifiedFedAvg(eta=0.04, I=2), True),
        (FedDRO(eta=0.04, beta=0.1, I=2), True),
    ],
    ids=["case I", "case II", "modified", "feddro"],
)
def test_the_counterexample_of_theorem_4_1(method, converges):
    """From xbar^0 = 1/2, I = 2: vanilla FedAvg stays above 1/2 at every round, sharing the embedding leads to 0."""
    problem = synthetic.problem(DETERMINISTIC)
    record = {"xbar": lambda problem, state, t: state.average[:, 0]}
    rounds = drive(method, problem, steps=STEPS, start=START, record=record, every=2).values["xbar"][:, 0]
    if converges:
        assert abs(rounds[-1]) < 1e-6
    else:
        assert rounds.min() >= 0.5 and problem.gradient(rounds[-1:, None]).abs().item() > 0.1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"D": (2, 2)}, "D must be one number or 3"),
        ({"D_H": [1, 1, 1]}, "D_H must be one number or 2"),
        ({"nu": 1, "D": (1, 1, 1)}, "D must be one number or 2"),
    ],
)
def test_batch_sizes_per_step_must_be_as_many_as_the_steps(settings, named):
    with pytest.raises(ValueError, match=named):
        drive(MetaFL(beta=0.05, tau=3, **settings), TinyMeta(TinyData.random(5, CLIENTS)), steps=2)


@pytest.mark.parametrize("sizes", [(), (2, 0, 1), (2, 1.5), (True, 1)])
def test_batch_sizes_are_counts(sizes):
    with pytest.raises(ValueError, match="D must be an integer >= 1, or a list of such"):
        MetaFL(beta=0.05, tau=3, D=sizes)


def test_a_list_of_batch_sizes_is_frozen():
    method = MetaFL(beta=0.05, tau=3, D=[2, 1, 1])
    assert method.D == (2, 1, 1) and method.hyperparameters()["D"] == [2, 1, 1]


def test_q_fedavg_says_which_losses_it_cannot_weight():
    problem = TinyMeta(TinyData.random(3, CLIENTS))
    far = Start(x=-100.0 * problem.a[2] / problem.a[2].norm())
    assert problem.local_value(problem._spread(far.x[None])).min() < 0
    with pytest.raises(NotApplicable, match="q_fedavg needs losses > 0"):
        drive(QFedAvg(eta=0.05, q=1.0, tau=3), problem, steps=2, start=far)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [DRFA(eta=0.02, gamma=0.02, tau=4, b=4), QFedAvg(eta=0.02, q=5.0, tau=4, b=4)],
    ids=lambda method: method.name,
)
def test_a_fair_method_lowers_the_worst_loss(method):
    problem = TinyLocal(TinyData.random(10, CLIENTS))
    results = [drive(m, problem, steps=800, seeds=8) for m in (method, LocalSGD(eta=0.02, tau=4, b=4))]
    fair, plain = (problem.outer(problem.inner(result.state.x)).mean(0) for result in results)
    assert fair.max() < plain.max() - 0.05 and fair.max() - fair.min() < plain.max() - plain.min() - 0.05
    if method.name == "drfa":
        weights = results[0].state.weights
        assert weights.mean(0).argmax() == plain.argmax()
        torch.testing.assert_close(weights.sum(-1), torch.ones(8, dtype=torch.float64))


@pytest.mark.slow
def test_scaffold_removes_the_drift_that_biases_local_sgd():
    """With exact gradients and rounds of 8 steps Local SGD ends where the clients' drifts cancel, SCAFFOLD at a minimum."""
    problem = synthetic.problem("federated_sines", sigma=0.0)
    far = {"gradient": metrics.gradient_norm_squared}
    local, corrected = (
        drive(method, problem, steps=4000, record=far, every=8).final("gradient").item()
        for method in (LocalSGD(eta=0.5, tau=8), Scaffold(eta=0.5, tau=8))
    )
    assert corrected < 1e-12 < 1e-7 < local


def test_the_projection_minimises_the_distance():
    """p is the projection of v on a convex set iff (v - p).(w - p) <= 0 for every extreme point w of it."""
    v = torch.randn(200, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 2
    p = onto_simplex(v)
    assert (p >= 0).all() and ((p == 0).any(-1) & (p > 0).any(-1)).sum() > 50, "both kinds of entries must occur"
    torch.testing.assert_close(p.sum(-1), torch.ones(200, dtype=torch.float64))
    assert ((v - p).unsqueeze(1) * (torch.eye(5, dtype=torch.float64) - p.unsqueeze(1))).sum(-1).max() < 1e-12


def test_clients_are_drawn_in_proportion_to_their_weights():
    weights = torch.tensor([[0.5, 0.0, 0.25, 0.25]], dtype=torch.float64)
    grid = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000  # the law of the map: a fine grid of uniforms
    assert drawn(weights, grid[None]).tolist() == [[2000.0, 0.0, 1000.0, 1000.0]]


# --- gossip SGD decides exactly whether its mixing matrix has a gap that a statement names; a double is the fraction


RING = GossipSGD(eta=0.1)


@pytest.mark.parametrize(("clients", "gap"), [(4, Fraction(2, 3)), (6, Fraction(1, 3)), (3, Fraction(1))])
def test_the_exact_gap_is_attained_and_no_more(clients, gap):
    """A ring of N has the eigenvalues (1 + 2 cos(2 pi k/N))/3."""
    assert RING.measure(clients)["spectral_gap"] < gap
    assert RING.attains("spectral_gap", float(gap), clients)
    assert RING.attains("mixing_contraction", float(1 - gap), clients)
    assert not RING.attains("spectral_gap", float(gap) + 1e-9, clients)
    assert not RING.attains("mixing_contraction", float(1 - gap) - 1e-9, clients)


def test_a_matrix_that_is_not_symmetric_has_its_largest_singular_value():
    shift = GossipSGD(
        eta=0.1, W=((0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5))
    )  # |1 + w|/2 = 1/2 for w = exp(2 pi i/3)
    assert shift.attains("spectral_gap", 0.5, 3) and not shift.attains("spectral_gap", 0.5 + 1e-9, 3)


def test_a_run_takes_the_exact_gap_and_refuses_a_larger_one():
    build = build_of(get_theorem("library.gossip_sgd"))
    values = {"eta": 0.01, "b": 1, "N": 6, "L": 1.0, "sigma": 1.0, "zeta": 1.0, "F_gap": 1.0, "T": 10}
    assert build({**values, "rho": 1 / 3}).name == "gossip_sgd"
    with pytest.raises(InputError, match="rho: gossip_sgd has a spectral_gap of"):
        build({**values, "rho": 1 / 3 + 1e-9})
