"""What the shared tests cannot ask of a method on plain federated losses: lists over the clients, and what it is there for."""

from fractions import Fraction

import federated_baselines
import numpy as np
import pytest
import torch
from fedco import synthetic
from fedco.algorithms import (
    DRFA,
    MARINA,
    CompressedSGD,
    ErrorFeedback,
    FedNova,
    GossipSGD,
    LocalSTORM,
    Schedule,
    drive,
)
from fedco.algorithms.engine import metrics
from fedco.algorithms.engine.compressors import largest_entries, sparsified
from fedco.algorithms.engine.draws import Draws
from test_reference import batched_path, plain_noise
from tiny import TinyData, TinyFederated

CLIENTS, STEPS = 4, 11
NUMBERS = TinyData.random(6, CLIENTS)
PROBLEM = TinyFederated(NUMBERS)
DIRECTED = ((0.5, 0.25, 0.25, 0.0), (0.0, 0.75, 0.0, 0.25), (0.5, 0.0, 0.5, 0.0), (0.0, 0.0, 0.25, 0.75))


@pytest.mark.parametrize(
    ("method", "reference"),
    [
        (FedNova(eta=0.1, tau=4, steps=(4, 1, 3, 2)), federated_baselines.fednova),
        (FedNova(eta=0.1, tau=4, steps=(4, 1, 3, 2), weights=(0.5, 0.25, 0.0, 0.25)), federated_baselines.fednova),
        (FedNova(eta=Schedule(0.5, 2.0), tau=4, steps=(4, 1, 3, 2)), federated_baselines.fednova),
        (GossipSGD(eta=0.1, tau=2, W=DIRECTED), federated_baselines.gossip_sgd),
    ],
)
def test_lists_over_the_clients(method, reference):
    given = {name: value for name, value in vars(method).items() if not name.startswith("_")}
    models, result = batched_path(method, PROBLEM, 3, 2, steps=STEPS)
    for seed in (0, 1):
        path, sent = reference(NUMBERS, plain_noise(3, seed, CLIENTS), NUMBERS.origin, None, STEPS, **given)
        np.testing.assert_allclose(models[:, seed], np.array(path), rtol=1e-11, atol=1e-12)
    assert (result.messages.rounds, result.messages.model_floats) == (sent["rounds"], sent["model"])


@pytest.mark.parametrize(
    ("method", "named"),
    [
        (FedNova(eta=0.1, tau=4, steps=(4, 1)), r"fednova: steps must be one number for each of the 4 clients, at most tau = 4; got \(4"),
        (FedNova(eta=0.1, tau=2, steps=(4, 1, 1, 1)), "at most tau = 2"),
        (FedNova(eta=0.1, tau=2, weights=(0.5, 0.5)), "weights must be one number >= 0 for each of the 4 clients, with sum 1"),
        (FedNova(eta=0.1, tau=2, weights=(0.5, 0.5, 0.5, -0.5)), "weights must be"),
        (FedNova(eta=0.1, tau=2, weights=(0.5, 0.25, 0.125, float("nan"))), "weights must be"),
        (GossipSGD(eta=0.1, W=((1.0,),)), "gossip_sgd: W must be 4 rows of 4 numbers >= 0, every row and column with sum 1"),
        (GossipSGD(eta=0.1, W=(*DIRECTED[:3], (1.0, 0.0, 0.0, 0.0))), "W must be"),
        (GossipSGD(eta=0.1, W=((1.0, 0.0, 0.0), *DIRECTED[1:])), "W must be"),
        (CompressedSGD(eta=0.1, ratio=3), "ratio must be a power of 2; got 3"),
        (MARINA(eta=0.1, p=1.5, ratio=2), "marina: p must be a probability, at most 1; got 1.5"),
        (MARINA(eta=0.1, p=torch.tensor([0.5, 1.5], dtype=torch.float64), ratio=2), "p must be a probability"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_clients_is_named(method, named):
    with pytest.raises(ValueError, match=named):
        drive(method, PROBLEM, steps=3)


def test_a_run_of_drfa_that_diverges_ends_as_any_other():
    """No weight is kept where the losses are no numbers: the projection asked for entry -1."""
    found = drive(
        DRFA(eta=1e90, gamma=1e90, tau=2),
        synthetic.problem("federated_quadratic"),
        steps=8,
        record={"f": metrics.objective},
    )
    assert not bool(found.final("f").isfinite().any())


def test_lists_are_frozen_and_a_run_with_them_is_resumed(tmp_path):
    method = GossipSGD(eta=0.1, W=[list(row) for row in DIRECTED])
    assert method.W == DIRECTED and method.hyperparameters()["W"] == [list(row) for row in DIRECTED]
    whole = drive(method, PROBLEM, steps=9, seeds=2)
    drive(method, PROBLEM, steps=5, seeds=2, checkpoint=tmp_path / "run.npz")
    resumed = drive(method, PROBLEM, steps=9, seeds=2, checkpoint=tmp_path / "run.npz")
    assert torch.equal(whole.state.x, resumed.state.x)


@pytest.mark.slow
def test_fednova_ends_where_unequal_steps_do_not():
    """Client 0 makes eight steps, the others one: a plain mean of the models leans to it, per step nothing does."""
    steps = (8, 1, 1, 1)
    problem = synthetic.problem("federated_sines", sigma=0.0, clients=len(steps))
    nova = FedNova(eta=0.01, tau=8, steps=steps)
    # p_i in proportion to tau_i: tau_eff sum_i p_i (x_i - x) / tau_i is then a multiple of the plain sum of the changes
    leaning = FedNova(eta=0.01, tau=8, steps=steps, weights=tuple(tau / sum(steps) for tau in steps))
    ends = [
        drive(method, problem, steps=8 * 800, record={"g": metrics.gradient_norm_squared}, every=8, average=False)
        .final("g")
        .item()
        for method in (nova, leaning)
    ]
    assert ends[0] < ends[1] / 100


def test_a_sparsification_is_unbiased_with_its_relative_variance():
    v = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64).expand(1, 2, 3)
    for ratio in (2, 4):
        draws = Draws(5, 40_000, 2)
        sent = sparsified(v.expand(40_000, 2, 3), draws, ratio)
        assert set(sent.unique().tolist()) == {0.0, *(ratio * v[0, 0]).tolist()}
        torch.testing.assert_close(sent.mean((0, 1)), v[0, 0], rtol=0, atol=0.12)
        variance = (sent - v).square().sum(-1).mean() / v[0, 0].square().sum()
        assert variance.item() == pytest.approx(ratio - 1, rel=0.03)
        both = (sent[:, 0] * sent[:, 1]).mean(0) - v[0, 0].square()
        assert (both.abs() < 0.06 * ratio * v[0, 0].square()).all(), "clients are independent"


def test_the_largest_entries_are_those():
    v = torch.tensor([[[1.0, -4.0, 3.0, -3.0, 0.0]]], dtype=torch.float64)
    assert largest_entries(v, 2).tolist() == [[[0.0, -4.0, 3.0, 0.0, 0.0]]]
    assert largest_entries(v, 3).tolist() == [[[0.0, -4.0, 3.0, -3.0, 0.0]]]
    assert largest_entries(v, 5) is v and largest_entries(v, 9) is v
    left_out = (v - largest_entries(v, 2)).square().sum()
    assert left_out <= (1 - 2 / 5) * v.square().sum()


def _end(method, steps=1000):
    return (
        drive(method, PROBLEM, steps=steps, seeds=16, record={"g": metrics.gradient_norm_squared}, every=steps)
        .mean("g")
        .mean()
    )


@pytest.mark.slow
def test_memory_makes_up_for_what_is_not_sent():
    class Forgets(ErrorFeedback):
        def communicate(self, problem, state, t):
            new = super().communicate(problem, state, t)
            return type(new)(x=new.x, error=0 * new.error)

    assert _end(ErrorFeedback(eta=0.01, share=0.1)) < _end(Forgets(eta=0.01, share=0.1)) / 2


@pytest.mark.slow
def test_a_recursive_estimate_has_its_share_of_the_noise():
    """With additive noise of variance s the error of d is an average of noises with weights a (1 - a)^j: a / (2 - a) of s."""
    problem, a = synthetic.problem("federated_noisy"), 0.25

    def error(problem, state, t):
        estimate = state.d.mean(1) - problem.gradient(state.previous.mean(1))
        return estimate.square().sum(-1)

    def end(weight):
        method = LocalSTORM(eta=0.01, a=weight, tau=1)
        return (
            drive(method, problem, steps=60, seeds=20_000, record={"e": error}, every=60, average=False)
            .final("e")
            .mean()
        )

    assert (end(a) / end(1.0)).item() == pytest.approx(a / (2 - a), rel=0.05)


def test_what_is_sent_of_a_run_of_marina():
    sent = MARINA(eta=0.1, p=0.25, ratio=4).messages(PROBLEM, 9)
    assert sent.model_floats == 3 * (1 + 8 * (Fraction(1, 4) + Fraction(3, 16)))
    over_grid = MARINA(eta=0.1, p=torch.tensor([0.0, 0.5], dtype=torch.float64), ratio=4)
    assert over_grid.messages(PROBLEM, 9) == sent
