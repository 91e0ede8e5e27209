"""What the shared tests cannot ask of single methods: where they end, what they refuse, how they draw, lists over the clients."""

from fractions import Fraction

import baselines
import numpy as np
import pytest
import torch
from fedco import synthetic
from fedco.algorithms import (
    DRFA,
    MARINA,
    CompressedSGD,
    Draws,
    ErrorFeedback,
    FedAvg,
    FedDRO,
    FedNova,
    GossipSGD,
    LocalSGD,
    LocalSTORM,
    MetaFL,
    ModifiedFedAvg,
    NotApplicable,
    QFedAvg,
    Scaffold,
    Schedule,
    Start,
    drive,
)
from fedco.algorithms.baselines.fair import drawn, onto_simplex
from fedco.algorithms.engine import metrics
from fedco.algorithms.engine.compressors import largest_entries, sparsified
from fedco.bounds import get_theorem
from fedco.bounds.language.reading import InputError
from fedco.validation.runs.method_of import build_of
from test_reference import STEPS, batched_path, plain_noise
from tiny import TinyData, TinyFederated, TinyLocal, TinyMeta

CLIENTS = 3
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
    problem = synthetic.problem("feddro_counterexample")
    record = {"xbar": lambda problem, state, t: state.average[:, 0]}
    rounds = drive(method, problem, steps=1000, start=START, record=record, every=2).values["xbar"][:, 0]
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


# --- on plain federated losses: lists over the clients, compressors, estimates


NUMBERS = TinyData.random(6, 4)
PROBLEM = TinyFederated(NUMBERS)
DIRECTED = ((0.5, 0.25, 0.25, 0.0), (0.0, 0.75, 0.0, 0.25), (0.5, 0.0, 0.5, 0.0), (0.0, 0.0, 0.25, 0.75))


@pytest.mark.parametrize(
    ("method", "reference"),
    [
        (FedNova(eta=0.1, tau=4, steps=(4, 1, 3, 2)), baselines.fednova),
        (FedNova(eta=0.1, tau=4, steps=(4, 1, 3, 2), weights=(0.5, 0.25, 0.0, 0.25)), baselines.fednova),
        (FedNova(eta=Schedule(0.5, 2.0), tau=4, steps=(4, 1, 3, 2)), baselines.fednova),
        (GossipSGD(eta=0.1, tau=2, W=DIRECTED), baselines.gossip_sgd),
    ],
)
def test_lists_over_the_clients(method, reference):
    given = {name: value for name, value in vars(method).items() if not name.startswith("_")}
    models, result = batched_path(method, PROBLEM, 3, 2, steps=STEPS)
    for seed in (0, 1):
        path, sent = reference(NUMBERS, plain_noise(3, seed, 4), NUMBERS.origin, None, STEPS, **given)
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
