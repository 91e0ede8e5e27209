"""How the methods specialise is data: at these hyperparameters two of them are one."""

import pytest
import torch
from fedco import synthetic
from fedco.algorithms import (
    DRFA,
    FCSG,
    FCSGM,
    GCIVR,
    MARINA,
    SCGD,
    AccFCSGM,
    ComFedL,
    CompressedSGD,
    ErrorFeedback,
    FedAvg,
    FedDRO,
    FedGLOMO,
    FedNova,
    FedProx,
    GossipSGD,
    LocalBSGD,
    LocalHeavyBall,
    LocalMOML,
    LocalSCGD,
    LocalSCGDM,
    LocalSGD,
    LocalSTORM,
    MetaFL,
    MinibatchSGD,
    ModifiedFedAvg,
    NotApplicable,
    PerFedAvg,
    QFedAvg,
    Scaffold,
    Start,
    TwoSidedSGD,
    drive,
)
from fedco.algorithms.baselines.drfa import drawn, onto_simplex
from fedco.algorithms.engine import metrics
from tiny import TINY, TinyData, TinyFederated, TinyLocal, TinyMeta

DETERMINISTIC = "feddro_counterexample"
CLIENTS = 3

PAIRS = {
    "FedDRO without memory, exact oracles": (
        DETERMINISTIC,
        FedDRO(eta=0.05, beta=1, I=3, first_update="update"),
        ModifiedFedAvg(eta=0.05, I=3),
    ),
    "FedDRO's first update with exact oracles at a consistent y^0": (
        DETERMINISTIC,
        FedDRO(eta=0.05, beta=0.2, I=3),
        FedDRO(eta=0.05, beta=0.2, I=3, first_update="update"),
    ),
    "sharing everything at every step": (
        DETERMINISTIC,
        FedAvg(eta=0.05, I=1, case="II"),
        ModifiedFedAvg(eta=0.05, I=1),
    ),
    "FCSG-M without memory": ("conditional", FCSGM(alpha=0.05, beta=1, q=3, m=2), FCSG(alpha=0.05, q=3, m=2)),
    "Acc-FCSG-M without memory": ("conditional", AccFCSGM(alpha=0.05, beta=1, q=3, m=2), FCSG(alpha=0.05, q=3, m=2)),
    "a first batch of b": ("conditional", FCSG(alpha=0.05, q=3, m=2, b=2, B=2), FCSG(alpha=0.05, q=3, m=2, b=2)),
    "all clients drawn": ("local_composite", ComFedL(eta=0.05, tau=3, m=CLIENTS), ComFedL(eta=0.05, tau=3)),
    "eta enters Local-SCGDM as a product": (
        "local_composite",
        LocalSCGDM(eta=0.5, alpha=1, beta=0.2, gamma=1, p=3),
        LocalSCGDM(eta=1, alpha=0.5, beta=0.1, gamma=0.5, p=3),
    ),
    "Local-SCGDM without momentum": (
        "local_composite",
        LocalSCGDM(eta=0.5, alpha=2, beta=0.2, gamma=0.6, p=3),
        LocalSCGD(eta=0.1, gamma=0.3, p=3, outer_sample="same"),
    ),
    "SCGD shares everything at every step": (
        "local_composite",
        SCGD(eta=0.1, gamma=0.3, b=2),
        LocalSCGD(eta=0.1, gamma=0.3, p=1, b=2),
    ),
    "Local-BSGD is ComFedL with all clients": (
        "local_composite",
        LocalBSGD(eta=0.05, tau=3, m=2),
        ComFedL(eta=0.05, tau=3, b=2),
    ),
    "Local-BSGD is FCSG": ("conditional", LocalBSGD(eta=0.05, tau=3, m=2), FCSG(alpha=0.05, q=3, m=2)),
    "one inner draw: the plain loss is the conditional one": (
        "conditional",
        LocalSGD(eta=0.05, tau=3, b=2),
        FCSG(alpha=0.05, q=3, m=1, b=2),
    ),
    "q-FedAvg without fairness": (
        "local_composite",
        QFedAvg(eta=0.05, q=0.0, tau=3, m=2),
        LocalSGD(eta=0.05, tau=3, m=2),
    ),
    "one batch size for all, or for each": (
        "meta",
        MetaFL(beta=0.05, tau=3, D=2),
        MetaFL(beta=0.05, tau=3, D=[2, 2, 2]),
    ),
    "Local-MOML without memory is Per-FedAvg, on exact oracles": (
        "exact meta",
        LocalMOML(eta=0.05, beta=1.0, tau=3),
        PerFedAvg(beta=0.05, tau=3),
    ),
    "Per-FedAvg is meta FL with one step": ("exact meta", PerFedAvg(beta=0.05, tau=3), MetaFL(beta=0.05, tau=3, nu=1)),
    "exact epochs of one step": (DETERMINISTIC, GCIVR(eta=0.05, tau=1), ModifiedFedAvg(eta=0.05, I=1)),
    "without noise nothing is left to reduce": (DETERMINISTIC, GCIVR(eta=0.05, tau=7), ModifiedFedAvg(eta=0.05, I=1)),
    "minibatch SGD on exact oracles": (DETERMINISTIC, MinibatchSGD(eta=0.05), ModifiedFedAvg(eta=0.05, I=1)),
    "plain SGD on exact oracles is case I": (DETERMINISTIC, LocalSGD(eta=0.05, tau=3), FedAvg(eta=0.05, I=3)),
    "FedProx without its term": (
        "federated",
        FedProx(eta=0.05, mu=0.0, tau=3, b=2, m=2),
        LocalSGD(eta=0.05, tau=3, b=2, m=2),
    ),
    "SCAFFOLD sharing at every step": ("federated", Scaffold(eta=0.05, tau=1, b=2), MinibatchSGD(eta=0.05, b=2)),
    "one client has no drift to correct": (
        "one federated client",
        Scaffold(eta=0.05, tau=3, b=2),
        LocalSGD(eta=0.05, tau=3, b=2),
    ),
    "minibatch SGD is Local SGD with rounds of one step": (
        "federated",
        MinibatchSGD(eta=0.05, b=2),
        LocalSGD(eta=0.05, tau=1, b=2),
    ),
    "a server that steps as far as the clients": (
        "federated",
        TwoSidedSGD(eta=0.05, tau=3, m=2),
        LocalSGD(eta=0.05, tau=3, m=2),
    ),
    "no momentum": ("federated", LocalHeavyBall(eta=0.05, beta=0, tau=3, m=2), LocalSGD(eta=0.05, tau=3, m=2)),
    "momentum at the server or at the clients, in rounds of one step": (
        "federated",
        TwoSidedSGD(eta=0.05, tau=1, beta=0.7),
        LocalHeavyBall(eta=0.05, tau=1, beta=0.7),
    ),
    "equal numbers of steps": ("federated", FedNova(eta=0.05, tau=3, steps=[3, 3, 3]), LocalSGD(eta=0.05, tau=3)),
    "everybody hears everybody": (
        "federated",
        GossipSGD(eta=0.05, tau=3, topology="complete"),
        LocalSGD(eta=0.05, tau=3),
    ),
    "nothing is left out": ("federated", CompressedSGD(eta=0.05, ratio=1), MinibatchSGD(eta=0.05)),
    "all entries are sent": ("federated", ErrorFeedback(eta=0.05, share=1), MinibatchSGD(eta=0.05)),
    "the gradients are always sent": ("federated", MARINA(eta=0.05, p=1.0, ratio=4), MinibatchSGD(eta=0.05)),
    "STORM without memory": ("federated", LocalSTORM(eta=0.05, a=1, tau=3), LocalSGD(eta=0.05, tau=3)),
    "FedGLOMO without memory": ("federated", FedGLOMO(eta=0.05, beta=1, tau=3, m=2), LocalSGD(eta=0.05, tau=3, m=2)),
    "one client: no weights to raise": (
        "one client",
        DRFA(eta=0.05, gamma=0.1, tau=3, b=2),
        LocalSGD(eta=0.05, tau=3, b=2),
    ),
}


class _ExactMeta(TinyMeta):
    """The meta problem without noise."""

    def local_gradient(self, x, sample=None):
        return super().local_gradient(x)

    def local_hvp(self, x, v, sample=None):
        return super().local_hvp(x, v)


def problem_for(kind):
    if kind == DETERMINISTIC:
        return synthetic.problem(kind)
    if kind == "exact meta":
        return _ExactMeta(TinyData.random(5, CLIENTS))
    if kind == "one federated client":
        return TinyFederated(TinyData.random(5, 1))
    return TinyLocal(TinyData.random(5, 1)) if kind == "one client" else TINY[kind](TinyData.random(5, CLIENTS))


@pytest.mark.parametrize("what", PAIRS)
def test_two_methods_are_one(what):
    kind, left, right = PAIRS[what]
    problem = problem_for(kind)
    paths = [drive(m, problem, steps=20, seeds=2, record={"X": metrics.gradient_norm_squared}) for m in (left, right)]
    torch.testing.assert_close(paths[0].values["X"], paths[1].values["X"], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(paths[0].state.x, paths[1].state.x, rtol=1e-10, atol=1e-12)


STEPS = 4000
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


def test_scaffold_removes_the_drift_that_biases_local_sgd():
    """With exact gradients and rounds of 8 steps Local SGD ends where the clients' drifts cancel, SCAFFOLD at a minimum."""
    problem = synthetic.problem("federated_sines", sigma=0.0)
    far = {"gradient": metrics.gradient_norm_squared}
    local, corrected = (
        drive(method, problem, steps=4000, record=far, every=8).final("gradient").item()
        for method in (LocalSGD(eta=0.5, tau=8), Scaffold(eta=0.5, tau=8))
    )
    assert corrected < 1e-12 < 1e-7 < local


@pytest.mark.parametrize("m", [None, 2])
def test_the_server_control_is_the_mean_of_the_clients_controls(m):
    method, problem = Scaffold(eta=0.05, tau=3, m=m), TINY["federated"](TinyData.random(5, CLIENTS))
    state = drive(method, problem, steps=9, seeds=2).state
    mean = state.control.mean(1, keepdim=True).expand_as(state.control)
    assert state.control.abs().min() > 0 and not torch.allclose(state.control, mean)
    torch.testing.assert_close(state.shared_control, mean, rtol=1e-12, atol=1e-12)


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
