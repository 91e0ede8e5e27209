"""How the methods specialise is data: at these hyperparameters two of them are one."""

import pytest
import torch
from fedco import synthetic
from fedco.algorithms import (
    FCSG,
    FCSGM,
    AccFCSGM,
    ComFedL,
    FedAvg,
    FedDRO,
    LocalSCGDM,
    ModifiedFedAvg,
    Start,
    drive,
    metrics,
)
from tiny import TINY, TinyData

DETERMINISTIC = "feddro_counterexample"
CLIENTS = 3

PAIRS = {
    "FedDRO without memory, exact oracles": (
        DETERMINISTIC, FedDRO(eta=0.05, beta=1, I=3, first_update="update"), ModifiedFedAvg(eta=0.05, I=3)),
    "FedDRO's first update with exact oracles at a consistent y^0": (
        DETERMINISTIC, FedDRO(eta=0.05, beta=0.2, I=3), FedDRO(eta=0.05, beta=0.2, I=3, first_update="update")),
    "sharing everything at every step": (
        DETERMINISTIC, FedAvg(eta=0.05, I=1, case="II"), ModifiedFedAvg(eta=0.05, I=1)),
    "FCSG-M without memory": ("conditional", FCSGM(alpha=0.05, beta=1, q=3, m=2), FCSG(alpha=0.05, q=3, m=2)),
    "Acc-FCSG-M without memory": ("conditional", AccFCSGM(alpha=0.05, beta=1, q=3, m=2), FCSG(alpha=0.05, q=3, m=2)),
    "a first batch of b": ("conditional", FCSG(alpha=0.05, q=3, m=2, b=2, B=2), FCSG(alpha=0.05, q=3, m=2, b=2)),
    "all clients drawn": ("local_composite", ComFedL(eta=0.05, tau=3, m=CLIENTS), ComFedL(eta=0.05, tau=3)),
    "eta enters Local-SCGDM as a product": (
        "local_composite", LocalSCGDM(eta=0.5, alpha=1, beta=0.2, gamma=1, p=3),
        LocalSCGDM(eta=1, alpha=0.5, beta=0.1, gamma=0.5, p=3)),
}


@pytest.mark.parametrize("what", PAIRS)
def test_two_methods_are_one(what):
    kind, left, right = PAIRS[what]
    problem = synthetic.problem(kind) if kind == DETERMINISTIC else TINY[kind](TinyData.random(5, CLIENTS))
    paths = [drive(m, problem, steps=20, seeds=2, record={"X": metrics.gradient_norm_squared}) for m in (left, right)]
    torch.testing.assert_close(paths[0].values["X"], paths[1].values["X"], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(paths[0].state.x, paths[1].state.x, rtol=1e-10, atol=1e-12)


STEPS = 4000
START = Start(x=torch.tensor([0.5], dtype=torch.float64))


@pytest.mark.parametrize(("method", "converges"), [
    (FedAvg(eta=0.04, I=2, case="I"), False),
    (FedAvg(eta=0.04, I=2, case="II"), False),
    (ModifiedFedAvg(eta=0.04, I=2), True),
    (FedDRO(eta=0.04, beta=0.1, I=2), True),
], ids=["case I", "case II", "modified", "feddro"])
def test_the_counterexample_of_theorem_4_1(method, converges):
    """From xbar^0 = 1/2, I = 2: vanilla FedAvg stays above 1/2 at every round, sharing the embedding leads to 0."""
    problem = synthetic.problem(DETERMINISTIC)
    record = {"xbar": lambda problem, state, t: state.average[:, 0]}
    rounds = drive(method, problem, steps=STEPS, start=START, record=record, every=2).values["xbar"][:, 0]
    if converges:
        assert abs(rounds[-1]) < 1e-6
    else:
        assert rounds.min() >= 0.5 and problem.gradient(rounds[-1:, None]).abs().item() > 0.1
