"""Small parts of the problems against their definitions: patterns, data, laws, crude bounds, lower bounds with their margins."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from fedco.synthetic import Certificate
from fedco.synthetic.applications.agnostic_maml import AgnosticMAML
from fedco.synthetic.applications.auprc import AveragePrecision
from fedco.synthetic.applications.client_dro import ClientChi2, ClientKL
from fedco.synthetic.applications.counterexample import FedAvgCounterexample
from fedco.synthetic.applications.dro import RobustLoss
from fedco.synthetic.applications.fairness import FairClassifier
from fedco.synthetic.applications.federated_logistic import FederatedLogistic, dual_bound, minimiser_of
from fedco.synthetic.applications.invariant import InvariantLogistic
from fedco.synthetic.applications.maml import FederatedMAML
from fedco.synthetic.certificate import by_quantity, rounded_up
from fedco.synthetic.conformance import suite
from fedco.synthetic.conformance.kinds import get_kind
from fedco.synthetic.conformance.suite import Budget, check_problem
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.federated import (
    FederatedHuber,
    FederatedQuadratic,
    FederatedSines,
    FederatedStronglyConvex,
)
from fedco.synthetic.families.federated_bowl import FederatedBowl
from fedco.synthetic.families.local_composite import LocalComposite
from fedco.synthetic.families.meta import Meta
from fedco.synthetic.families.shared_composite import SharedComposite
from fedco.synthetic.kinds.predictions import of_margins, only_training_data
from fedco.synthetic.parts import scalar
from fedco.synthetic.parts.averaged import all_pairs, checked_data
from fedco.synthetic.parts.bowl import RippledBowl
from fedco.synthetic.parts.composition import composite_noise, deterministic_outer, no_extra_certificates
from fedco.synthetic.parts.convex import convex_minimum
from fedco.synthetic.parts.data import generated, margins_of
from fedco.synthetic.parts.exponential import Exponential
from fedco.synthetic.parts.inner_map import RippledMap, lipschitz_of_mean_square
from fedco.synthetic.parts.loss import infimum_of_losses
from fedco.synthetic.parts.noise import Kurtosis
from fedco.synthetic.parts.outer import CenteredOuter
from fedco.synthetic.parts.parameters import require_nonnegative, require_paired, require_positive
from fedco.synthetic.parts.patterns import (
    equal_weights,
    one_hot,
    pair_index,
    pair_signs,
    rows_of,
    sign_grid,
    start_beyond,
    triple_signs,
    uneven_direction,
    walsh_directions,
)
from fedco.synthetic.parts.tables import deal, read_table

# --- patterns ------------------------------------------------------------------------------------------------------------


def test_signs_and_indices():
    assert pair_signs(5).tolist() == [1, -1, 1, -1, 0] and pair_signs(4).tolist() == [1, -1, 1, -1]
    assert pair_signs(1).tolist() == [0]
    assert triple_signs(7).tolist() == [1, -0.5, -0.5, 1, -0.5, -0.5, 0] and triple_signs(2).tolist() == [0, 0]
    assert triple_signs(3).tolist() == [1, -0.5, -0.5]
    assert pair_index(5).tolist() == [0, 0, 1, 1, 2]
    first, second, weights = sign_grid(2, "cpu")
    assert first.tolist() == [[[1, 1, -1, -1]] * 2] and second.tolist() == [[[1, -1, 1, -1]] * 2]
    assert weights.tolist() == [0.25] * 4 and equal_weights(5, "cpu").tolist() == [0.2] * 5
    assert one_hot(torch.tensor([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    table = torch.arange(6.0).view(3, 2)
    assert torch.equal(rows_of(table, torch.tensor([[2, 0], [1, 1]])), table[torch.tensor([[2, 0], [1, 1]])])


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8, 20])
def test_walsh_directions_are_parities_of_shared_bits(size):
    found = walsh_directions(torch.arange(7), size) * math.sqrt(size)
    wanted = [[(-1.0) ** (i & j).bit_count() for j in range(size)] for i in range(7)]
    assert torch.allclose(found, torch.tensor(wanted, dtype=torch.float64), rtol=1e-15)


def test_a_start_lies_beyond_0_as_seen_from_the_target():
    for target, side in ((2.0, -1), (0.0, -1), (-0.5, 1)):
        start = start_beyond(target, 3.0, 5)
        assert float(start.norm()) == pytest.approx(3.0) and bool((start.sign() == side).all())
    direction = uneven_direction(6)
    assert float(direction.norm()) == pytest.approx(1.0) and bool((direction > 0).all())
    assert len(direction.unique()) == 6


def test_parameters_are_refused_at_both_ends_by_name():
    part = type("Part", (), {"zero": 0.0, "one": 1.0, "below": -1e-300, "huge": math.inf, "none": math.nan})()
    require_positive(part, "one")
    require_nonnegative(part, "zero", "one")
    require_paired(part, "zero", "zero")
    require_paired(part, "one", "one")
    for name in ("zero", "below", "huge", "none"):
        with pytest.raises(ValueError, match=f"^wheel: {name} must be finite and positive, got"):
            require_positive(part, "one", name, of="wheel")
    for name in ("below", "huge", "none"):
        with pytest.raises(ValueError, match=f"^{name} must be finite and at least 0, got"):
            require_nonnegative(part, "zero", name)
    for pair in (("zero", "one"), ("one", "zero")):
        with pytest.raises(ValueError, match=f"{pair[0]} and {pair[1]} must be both zero or both positive"):
            require_paired(part, *pair)


# --- data ----------------------------------------------------------------------------------------------------------------


def test_generated_data_step_by_step():
    """Two classes about +-e_1, a shift of each client's own, and a share of positive labels from 1/2 to 1/2 + shift/4."""
    clients, samples, dim, shift, noise = 3, 8, 2, 0.9, 0.4
    generator = torch.Generator().manual_seed(6)
    own = torch.randn(clients, 1, dim, generator=generator, dtype=torch.float64)
    errors = torch.randn(clients, samples, dim, generator=generator, dtype=torch.float64)
    rows = np.zeros((clients, samples, dim))
    labels = np.zeros((clients, samples))
    for k in range(clients):
        share = 1 / 2 + shift / 4 * k / (clients - 1)
        for i in range(samples):
            labels[k, i] = 1 if (i + 1 / 2) / samples < share else -1
            feature = labels[k, i] * np.eye(dim)[0] + shift / math.sqrt(dim) * own[k, 0].numpy()
            rows[k, i] = labels[k, i] * (feature + noise * errors[k, i].numpy())
    rows /= np.sqrt((rows**2).sum(-1)).max()
    found, signs = generated(clients, samples, dim, shift, noise, seed=6)
    assert np.array_equal(signs.numpy(), labels) and (labels > 0).sum(1).tolist() == [4, 5, 6]
    np.testing.assert_allclose(found.numpy(), rows, rtol=1e-13)
    same, _ = margins_of("", clients, samples, dim, 0.1, shift, noise, 6)
    assert torch.equal(same, found)


@pytest.mark.parametrize("wrong", [(0, 8, 2, 0.5, 0.4), (3, 0, 2, 0.5, 0.4), (3, 8, 0, 0.5, 0.4), (3, 8, 2, -0.1, 0.4),
                                   (3, 8, 2, 1.1, 0.4), (3, 8, 2, 0.5, -0.1)])  # fmt: skip
def test_data_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="data: need 0 <= shift <= 1, noise >= 0 and positive sizes"):
        generated(*wrong, seed=0)
    assert generated(1, 1, 1, 1.0, 0.0, seed=0)[0].shape == generated(1, 1, 1, 0.0, 0.0, seed=0)[0].shape == (1, 1, 1)


def test_rows_of_a_table_are_dealt_in_order_where_clients_are_sorted():
    """With shift 1 each class is cut into clients by its first column; the features are columns, a constant 1, one length."""
    clients, samples, dim = 3, 7, 4
    features, labels, held_out = deal("wine", clients, samples, dim, 0.43, 1.0, seed=2)
    columns, signs = read_table("wine")
    assert (labels > 0).sum(1).tolist() == [3] * 3 and labels.tolist() == [[1, 1, 1, -1, -1, -1, -1]] * 3
    scale = float(features[0, 0, -1])
    assert float(features.norm(dim=-1).max()) == pytest.approx(1.0) and bool((features[..., -1] == scale).all())
    for k in range(clients):
        for i in range(samples):
            same = (columns[:, : dim - 1] - features[k, i, :-1] / scale).abs().amax(1) < 1e-9
            assert int(same.sum()) == 1 and signs[same].tolist() == [float(labels[k, i])]
            assert columns[same, -1].tolist() == [float(held_out[k, i])]
    for of_class in (features[:, :3, 0], features[:, 3:, 0]):
        assert bool((of_class.flatten().diff() >= 0).all())
    rare, _, _ = deal("wine", 2, 4, 3, 0.01, 0.0, seed=0)
    assert rare.shape == (2, 4, 3)  # never without a positive row
    for dims in (2, 13):
        assert deal("wine", 2, 3, dims, 0.5, 0.0, seed=0)[0].shape == (2, 3, dims)
    for wrong in ((0.5, -0.1), (1.0, 0.5), (0.5, 1.1)):
        with pytest.raises(ValueError, match="need 0 < positives < 1 and 0 <= shift <= 1"):
            deal("wine", 2, 4, 3, *wrong, seed=0)
    with pytest.raises(ValueError, match=r"dim must be in \[2, 13\]"):
        deal("wine", 2, 4, 1, 0.5, 0.5, seed=0)
    assert deal("wine", 4, 24, 3, 0.5, 0.5, seed=0)[0].shape == (4, 24, 3)  # all 48 rows of the rare class


def test_predictions_of_margins():
    margins, labels = torch.tensor([[[2.0, -3.0, 0.5]]]), torch.tensor([[1.0, 1.0, -1.0]])
    found = of_margins(margins, labels)
    assert found.scores.tolist() == [[[[2.0], [-3.0], [-0.5]]]] and found.labels.tolist() == [[1, 1, 0]]
    only_training_data("p", "train")
    with pytest.raises(ValueError, match="p"):
        only_training_data("p", "test")


@pytest.mark.parametrize(
    "instance",
    [
        RobustLoss(table="wine", clients=2, samples=5, dim=4),
        FairClassifier(clients=2, samples=6, dim=4),
        FederatedLogistic(clients=2, samples=5, dim=4),
        ClientKL(clients=2, samples=5, dim=4),
    ],
)
def test_scores_of_linear_models_are_a_x(instance):
    """Features are kept times their labels: the score is that of the row itself, at each of two models."""
    x = torch.tensor([[0.3, -1.0, 0.2, 0.5], [-1.0, 0.4, 0.0, 2.0]], dtype=torch.float64)
    found = instance.predict(x)
    rows = instance.data.features * instance.data.labels.unsqueeze(-1)
    assert torch.allclose(found.scores[..., 0], torch.einsum("ksd,rd->rks", rows, x)) and found.weights is None
    assert (
        torch.equal(found.labels, (instance.data.labels > 0).long())
        and 0 < int(found.labels.sum()) < found.labels.numel()
    )
    with pytest.raises(ValueError, match=instance.name):
        instance.predict(x, "test")


def test_scores_of_the_conditional_problems():
    x = torch.tensor([[0.3, -1.0, 0.2], [-1.0, 0.4, 2.0]], dtype=torch.float64)
    p = AveragePrecision(clients=2, samples=6, dim=3, positives=0.34, saturation=0.3, margin=1.1)
    rows, labels = p.data
    found = p.predict(x)
    assert torch.allclose(found.scores[..., 0], 0.3 * torch.tanh(torch.einsum("ksd,rd->rks", rows, x) / 0.3))
    assert found.labels.tolist() == labels.tolist() == [[1, 1, 0, 0, 0, 0]] * 2
    q = InvariantLogistic(clients=2, points=5, dim=3, shift=0.5)
    found, (a, b) = q.predict(x), q.data
    assert torch.allclose(found.scores[..., 0], torch.einsum("ksd,rd->rks", a, x))
    assert torch.equal(found.labels, (b > 0).long()) and p.inner_dim == q.inner_dim == 2
    for each in (p, q):
        with pytest.raises(ValueError, match=each.name):
            each.predict(x, "test")


def test_pairs_of_data():
    pairs, weights = all_pairs(2, 3, 2, torch.device("cpu"))
    assert pairs.first.tolist() == [[[0, 0, 0, 1, 1, 1]] * 2] and pairs.second.tolist() == [[[0, 1, 2, 0, 1, 2]] * 2]
    assert weights.tolist() == [1 / 6] * 6
    assert all_pairs(64, 64, 1, torch.device("cpu"))[1].shape == (4096,)
    with pytest.raises(ValueError, match="all 4097 x 1 pairs of data, at most 4096"):
        all_pairs(4097, 1, 1, torch.device("cpu"))
    for wrong in (torch.zeros(3, dtype=torch.float64), torch.zeros(2, 3), torch.zeros(2, 0, dtype=torch.float64)):
        with pytest.raises(ValueError, match="rows must be a non-empty float64 tensor"):
            checked_data("rows", wrong)
    kept = torch.zeros(2, 3, dtype=torch.float64)
    assert checked_data("rows", kept) is kept and checked_data("rows", kept, 2) is kept
    with pytest.raises(ValueError, match="rows must have one row per client, 3, got 2"):
        checked_data("rows", kept, 3)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_law_of_the_noise(k):
    """+-sqrt(k) with probability 1/(2k) each, else 0."""
    law = Kurtosis(k)
    values, weights = (each.tolist() for each in law.support())
    root = math.sqrt(k)
    assert values == [root, -root, 0.0][: 2 if k == 1 else 3]
    assert weights == pytest.approx([1 / (2 * k), 1 / (2 * k), 1 - 1 / k][: len(values)]) and law.largest == root

    class Every:
        def integers(self, purpose, high, batch):
            assert (purpose, high, batch) == ("noise", 2 * k, 3)
            return torch.arange(high)

    drawn = law.draw(Every(), 3, "noise").tolist()
    assert drawn == [root, -root] + [0.0] * (2 * k - 2)


@pytest.mark.parametrize("wrong", [0, -1, 2.0, None])
def test_a_law_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="kurtosis must be a positive integer"):
        Kurtosis(wrong)


# --- crude bounds and suprema -----------------------------------------------------------------------------------------------

LINE = torch.linspace(-30.0, 30.0, 60_001, dtype=torch.float64)


def derivatives(function):
    """The largest sizes of the first three, by differences."""
    found, values = [], function(LINE).numpy()
    for _ in range(3):
        values = np.gradient(values, float(LINE[1] - LINE[0]))[1:-1]
        found.append(np.abs(values).max())
    return found


@pytest.mark.parametrize("loss", [scalar.Sigmoid(1.7), scalar.SaturatedLogistic(0.9), scalar.SaturatedLogistic(2.6)])
def test_crude_bounds_are_above_the_derivatives(loss):
    first, second, third = derivatives(loss.value)
    for bound, value in zip(loss.crude, (first, second, third), strict=True):
        assert value <= bound
    assert loss.steepest == pytest.approx(first, rel=1e-4) and loss.steepest >= first
    assert loss.largest == pytest.approx(float(loss.value(-LINE[-1:])), rel=1e-9)
    assert loss.smallest == pytest.approx(float(loss.value(LINE[-1:])), abs=1e-9)
    for derivative in (loss.slope, loss.curvature):
        edges = derivative(torch.tensor([loss.reach, -loss.reach], dtype=torch.float64))
        assert float(edges.abs().max()) < 10 * math.exp(-40) * max(1, loss.M) * 10


def test_crude_bounds_of_the_losses_as_written():
    """M/4, M/(6 sqrt 3), M/8; and by the chain rule through r tanh(t/r) of slope 1, curvature 4/(3 sqrt 3 r), third 2/r^2."""
    assert scalar.Sigmoid(1.7).crude == pytest.approx((1.7 / 4, 1.7 / (6 * math.sqrt(3)), 1.7 / 8))
    loss = scalar.SaturatedLogistic(0.9)
    r = math.log(math.exp(0.9) - 1)
    bend, turn = 4 / (3 * math.sqrt(3)) / r, 2 / r**2
    assert loss.crude == pytest.approx((1.0, 1 / 4 + bend, 1 / (6 * math.sqrt(3)) + 3 * bend / 4 + turn))
    assert (
        loss.saturation == pytest.approx(r) and loss.reach == pytest.approx(40 * r) and scalar.Sigmoid(3.0).reach == 40
    )


def test_crude_bounds_of_a_function_of_a_loss_by_the_chain_rule():
    """u'' l'^2 + u' l'', and u''' l'^3 + 3 u'' l' l'' + u' l''', each factor at its bound."""

    class Loss:
        crude = (2.0, 3.0, 5.0)

    made = scalar.OfLoss(Loss(), None, None, None, (7.0, 11.0, 13.0))
    assert made.crude_curvature == 11 * 2**2 + 7 * 3
    assert made.crude_third == 13 * 2**3 + 3 * 11 * 2 * 3 + 7 * 5


@pytest.mark.parametrize(
    ("made", "u"),
    [
        (scalar.exponential_of(scalar.Sigmoid(1.5), 0.6), lambda v: torch.exp(v / 0.6)),
        (scalar.loss_and_half_square(scalar.Sigmoid(1.5), 2.4), lambda v: v + v**2 / 4.8),
        (scalar.identity_of(scalar.Sigmoid(1.5)), lambda v: v),
    ],
)
def test_bounds_of_u_hold_on_the_range_of_the_loss(made, u):
    v = torch.linspace(0.0, 1.5, 2001, dtype=torch.float64, requires_grad=True)
    values, found = u(v), []
    for _ in range(3):
        (values,) = torch.autograd.grad(values.sum() + 0 * (v**2).sum(), v, create_graph=True)
        found.append(float(values.detach().abs().max()))
    assert made.crude == pytest.approx(found, rel=1e-9, abs=1e-12)
    plain = v.detach()
    assert torch.allclose(made.outer(plain), u(plain)) and made.range == pytest.approx(
        (float(u(plain[:1])), float(u(plain[-1:])))
    )


def test_the_enclosure_is_above_the_supremum_of_a_spike():
    """A bump of width 1/500 between the first points: only the crude bound knows of it."""

    class Loss:
        reach = 40.0

    made = scalar.OfLoss(Loss(), None, None, None, (0.0, 0.0, 0.0))
    for place in (0.013, -17.77, 39.9, 39.9999, -39.9999, 40.0, -40.0):  # also in the last cells
        bump = lambda t, at=place: 3.0 / (1 + (500 * (t - at)) ** 2)  # noqa: E731
        crude = 3.0 * 500 * 3 * math.sqrt(3) / 8
        assert 3.0 <= made.enclosed(bump, crude) <= 3.0 * (1 + 5e-5)
    assert 0 < made.enclosed(lambda t: 0 * t, 1e-14) < 1e-14
    flat = made.enclosed(torch.ones_like, 0.0)
    assert 1.0 < flat <= 1 + 5e-5


# --- certificates -------------------------------------------------------------------------------------------------------------


def test_a_certificate_at_the_ends_of_its_ranges():
    for witness in (0.0, 1.0):
        Certificate("inner_noise", 0.0, "upper", "proof", witness=witness)
    for witness in (-1e-9, 1 + 1e-9):
        with pytest.raises(ValueError, match="witness must be in"):
            Certificate("inner_noise", 0.0, "upper", "proof", witness=witness)
    Certificate("inner_noise", 1.0, "exact", "proof", witness=0.99, points=((0.0,),))
    Certificate("inner_noise", 0.0, "exact", "proof")  # nothing attains 0
    for witness, points in ((0.9899, ((0.0,),)), (1.0, ()), (None, ((0.0,),))):
        with pytest.raises(ValueError, match="exact needs points"):
            Certificate("inner_noise", 1.0, "exact", "proof", witness=witness, points=points)
    with pytest.raises(ValueError, match="only constants of a problem are certified"):
        Certificate("clients", 1.0, "upper", "proof")
    assert rounded_up(0.0) == 0.0 and rounded_up(1.0) == 1 + 2.0**-33


def test_constants_of_no_extra_term_and_of_a_function_without_noise():
    assert {c.quantity: c.value for c in no_extra_certificates()} == {
        f"noncompositional_{name}": 0.0
        for name in ("smoothness", "sample_smoothness", "gradient_noise", "heterogeneity")
    }
    steep, bent = (
        Certificate(f"outer_{name}", value, "upper", "proof")
        for name, value in (("lipschitz", 2.0), ("smoothness", 3.0))
    )
    found = {c.quantity: (c.value, c.kind) for c in deterministic_outer(steep, bent)}
    assert found == {
        "outer_lipschitz": (2.0, "upper"),
        "outer_mean_square_lipschitz": (2.0, "upper"),
        "outer_sample_lipschitz": (2.0, "upper"),
        "outer_smoothness": (3.0, "upper"),
        "outer_sample_smoothness": (3.0, "upper"),
        "outer_gradient_noise": (0.0, "exact"),
    }
    parts = by_quantity(
        Certificate(name, value, "upper", "proof")
        for name, value in (("inner_jacobian_noise", 1.0), ("inner_value_noise", 3.0), ("outer_gradient_noise", 2.0))
    )
    assert composite_noise(parts).value == 3.0


AWAY = {
    "shared": SharedComposite(clients=3, dim=6, inner_dim=2, B_f=1.3, L_f=0.4, B_g=1.7, L_g=0.2, B_h=0.7, L_h=0.6,
        sigma_g=0.5, Delta_g=0.4, Delta_h=0.2, sigma_h=0.3, ripple=0.7, target=1.5, start=4.0),
    "shared, no target": SharedComposite(clients=2, dim=3, B_f=0.4, L_f=1.7, B_g=2.1, L_g=0.9, B_h=1.7, L_h=0.3, target=0.0),
    "shared, no noise": SharedComposite(clients=4, dim=4, B_f=0.4, L_f=1.7, B_g=2.1, L_g=0.9, Delta_g=1.1, target=-3.0),
    "local": LocalComposite(clients=3, dim=6, inner_dim=2, C_f=1.4, C_g=1.6, L_f=0.3, L_g=0.2, sigma_f=0.6, sigma_g=0.4,
        delta_g=0.2, Delta_g=0.3, spread=0.5, target=-1.2, start=3.0),
    "local, one map": LocalComposite(clients=2, dim=3, inner_dim=3, C_f=0.4, C_g=2.6, L_f=1.3, L_g=0.7, sigma_g=0.2,
        delta_g=0.9, target=1.2, start=3.0),
    "conditional": Conditional(clients=2, dim=6, inner_dim=2, outer_support=3, L_f=1.4, S_f=0.3, L_g=1.6, S_g=0.9, sigma_g=0.5,
        jacobian_noise=0.4, Delta=0.3, spread=0.5, clients_differ=True, target=1.2, start=3.0),
    "bowl": FederatedBowl(clients=5, dim=4, G=1.3, L=0.8, sigma=0.4, kurtosis=3, noise_wavenumber=1.7, Delta=0.5),
    "meta": Meta(clients=4, dim=2, alpha=0.7, nu=3, B=1.9, L=0.6, sigma_G=0.2, sigma_H=0.3, kurtosis=2, Delta=1.1, start=2.0),
    "quadratic": FederatedQuadratic(clients=4, dim=3, L=1.7, mu=0.4, sigma=0.6, kurtosis=3, Delta=0.7, start=2.0),
    "huber": FederatedHuber(clients=5, dim=3, L=1.7, G=2.3, sigma=0.6, kurtosis=2, Delta=0.7, start=2.0),
    "sines": FederatedSines(clients=3, dim=2, L=1.7, G=2.3, sigma=0.6, kurtosis=3, Delta=0.7, start=2.0),
    "strongly convex": FederatedStronglyConvex(clients=4, dim=3, L=1.7, mu=0.4, knee=0.6, sigma=0.6, Delta=0.7, start=2.0),
    "logistic": FederatedLogistic(clients=3, samples=7, dim=4, shift=0.7, seed=2, start=2.5, ridge=0.3),
    "invariance": InvariantLogistic(clients=3, points=5, dim=3, sigma_2=0.4, saturation=1.7, reg=0.3, gamma=2.2, shift=0.5),
    "counterexample": FedAvgCounterexample(),
    "KL": RobustLoss(clients=3, samples=5, dim=3, M=1.6, weight=0.7),
    "chi-square": RobustLoss(clients=3, samples=5, dim=3, penalty="chi2", M=1.6, weight=2.3),
    "KL over clients": ClientKL(clients=3, samples=5, dim=3, M=1.6, gamma=0.7),
    "chi-square over clients": ClientChi2(clients=3, samples=5, dim=3, M=1.6, gamma=2.3),
    "agnostic MAML": AgnosticMAML(clients=3, dim=4, lam=0.7, G=1.7, L_1=0.6, sigma_1=0.3, sigma_2=0.5, kurtosis=2, Delta=0.4,
        gamma=1.7, top=2.6),
    "MAML": FederatedMAML(clients=3, dim=4, lam=0.7, G=1.7, L_1=0.6, sigma_1=0.3, sigma_2=0.5, kurtosis=2, Delta=0.4, start=3.0),
    "two groups": FairClassifier(clients=2, samples=6, dim=4, rho=0.6, width=0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", AWAY)
def test_stated_points_attain_what_is_promised_away_from_the_presets(name):
    """With one step of search: what is found is at the stated points. An exact constant is declared wherever one is known."""
    instance = AWAY[name]
    stated = tuple(q for q, c in instance.certificates.items() if c.points)
    report = check_problem(instance, Budget(lanes=2, steps=1), quantities=stated)
    exact = [check for check in report.checks if instance.certificates[check.name].kind == "exact" and check.attained]
    assert len(exact) >= 1 and all(0.99 <= check.attained <= 1 + 1e-7 for check in exact)


@pytest.mark.parametrize("name", AWAY)
def test_what_is_promised_of_stated_points_is_what_they_attain(name):
    """Within two thousandths: a promise far below would let a wrong point pass."""
    instance = AWAY[name]
    for quantity, certificate in instance.certificates.items():
        if certificate.points and certificate.value > 0:
            of = get_kind(instance.kind).inequalities[quantity]
            attained = suite._at_stated_points(instance, certificate, of) / of.largest(float(certificate.value))
            assert certificate.witness <= attained + 1e-7 and attained < certificate.witness + 2e-3, quantity
    if name in ("bowl", "meta"):
        assert instance.certificates["local_gradient_bound"].witness > 0.99  # far, at a crest of the ripples


def test_hessians_that_do_not_differ_do_so_exactly():
    """Without heterogeneity the constant is 0, and exact; with it, it is attained where all clients have a crest."""
    for delta in (0.0, 0.3):
        found = Meta(clients=4, dim=2, Delta=delta).certificates["local_hessian_heterogeneity"]
        assert found.kind == "exact" and found.points and (found.value == 0) == (delta == 0)


def test_constants_of_a_bowl_whose_noise_turns_faster():
    made = RippledBowl(3, 4, 1.3, 0.8, noise=0.4, heterogeneity=0.5, noise_wavenumber=1.7)
    assert {c.quantity: c.value for c in made.certificates()} == {
        "noncompositional_smoothness": 0.8,
        "noncompositional_sample_smoothness": pytest.approx(0.8 + 0.4 * 1.7),
        "noncompositional_gradient_noise": 0.4,
        "noncompositional_heterogeneity": 0.5,
    }
    for wavenumber in (0.0, 1000.1, math.nan):
        with pytest.raises(ValueError, match=r"bowl: the noise wavenumber must be in \(0, 1000"):
            RippledBowl(3, 4, 1.3, 0.8, noise_wavenumber=wavenumber)
    RippledBowl(3, 4, 1.3, 0.8, noise_wavenumber=1000.0)
    with pytest.raises(ValueError, match="heterogeneity needs at least 2 clients, got 1"):
        RippledBowl(1, 4, 1.3, 0.8, heterogeneity=0.1)
    with pytest.raises(ValueError, match="too large for the Lipschitz constant"):
        RippledBowl(1, 1, 1.0, 1e6)


def test_where_runs_start():
    """On the wrong side: against the mean of the rows times labels, from the positive rows to the negative ones, or along -e_1."""
    fair = FairClassifier(clients=2, samples=6, dim=4, start=1.7)
    ranked = AveragePrecision(clients=2, samples=6, dim=3, positives=0.34, start=1.7)
    turned = InvariantLogistic(clients=2, points=5, dim=3, shift=0.5, start=1.7)
    rows, labels = (each.flatten(0, 1) for each in ranked.data)
    a, b = turned.data
    against = {
        fair: -fair.data.features.mean((0, 1)),
        ranked: rows[labels == 0].mean(0) - rows[labels == 1].mean(0),
        turned: -(a * b.unsqueeze(-1)).mean((0, 1)),
        RobustLoss(dim=3, start=1.7): torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64),
        FederatedLogistic(dim=3, start=1.7): torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64),
    }
    for instance, direction in against.items():
        assert torch.allclose(instance.initial_point, 1.7 * direction / direction.norm(), rtol=1e-12), instance.name


def test_what_is_not_composed_has_no_inner_value():
    for name in ("bowl", "quadratic", "huber", "sines", "logistic"):
        assert AWAY[name].kind == "federated" and AWAY[name].inner_dim == 0, name
    assert AWAY["meta"].inner_dim == AWAY["meta"].dim == 2


def test_constants_of_separable_losses():
    p = AWAY["huber"]
    c = {q: float(each.value) for q, each in p.certificates.items()}
    tilts = [0.7, -0.35, -0.35, 0.0, 0.0]
    assert c["local_gradient_heterogeneity"] == pytest.approx(math.sqrt(sum(t * t for t in tilts) / 5))
    assert c["local_gradient_bound"] == 2.3 and c["gradient_cap"] == pytest.approx(1.6)
    assert c["local_sample_gradient_bound"] == pytest.approx(2.3 + 0.6 * math.sqrt(2))
    assert c["local_gradient_fourth_moment"] == pytest.approx(2 * 0.6**4)
    x = torch.tensor([[0.1, -3.0, 0.5]], dtype=torch.float64)
    g = 1.6 / math.sqrt(3)
    heights = [0.85 * t * t if abs(t) <= g / 1.7 else g * abs(t) - g * g / 3.4 for t in x[0].tolist()]
    assert float(p.objective(x)) == pytest.approx(sum(heights))
    assert AWAY["quadratic"].curvatures.tolist() == pytest.approx([1.7, 1.05, 0.4])
    assert FederatedQuadratic(clients=1, dim=1, L=2.0).curvatures.tolist() == [2.0]
    assert FederatedQuadratic(clients=1, dim=2, L=2.0, mu=0.5).curvatures.tolist() == [2.0, 0.5]
    assert FederatedQuadratic(L=1.0, mu=1.0).mu == FederatedQuadratic(L=1.0, mu=0.0).L  # both ends of mu
    for mu in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"mu must be in \[0, L\]"):
            FederatedQuadratic(L=1.0, mu=mu)
    for family in (FederatedHuber, FederatedSines):
        for G in (0.5, math.inf, math.nan):
            with pytest.raises(ValueError, match="G must exceed Delta"):
                family(G=G, Delta=0.5)
    with pytest.raises(ValueError, match="Delta > 0 needs at least 3 clients, got 2"):
        FederatedHuber(clients=2, Delta=0.1)
    with pytest.raises(ValueError, match=r"wavenumber .* exceeds 1000"):
        FederatedSines(dim=1, L=1001.0, G=1.0)
    assert FederatedSines(dim=1, L=1000.0, G=1.0).wave.wavenumber == 1000.0


# --- lower bounds, with their margins ------------------------------------------------------------------------------------------


def test_a_bound_of_the_losses_is_below_in_exact_arithmetic():
    """The formula in rationals where the roots are rational; the margin of 1e-12 is on the side of less."""
    made = RippledBowl(clients=3, dim=1, lipschitz=1.0, smoothness=1.0, heterogeneity=0.48, tilt=True)
    A, w, delta = (Fraction(v) for v in (made.radial.lipschitz, made.radial.width, made.heterogeneity))
    square = (A - delta) * (A + delta)
    root = Fraction(math.isqrt(int(square * 10**40)), 10**20)  # from below, within 1e-20
    exact = w * (root - A) * Fraction(2, 3)
    found = Fraction(infimum_of_losses(made))
    assert exact * (1 + Fraction(2, 10**12)) < found < exact * (1 + Fraction(1, 10**13))
    steep = RippledBowl(clients=2, dim=1, lipschitz=0.5, smoothness=1.0, heterogeneity=0.7, tilt=True)
    flat = -Fraction(0.7) / Fraction(steep.client_wavenumber)
    assert flat * (1 + Fraction(2, 10**12)) < Fraction(infimum_of_losses(steep)) < flat * (1 + Fraction(1, 10**13))
    assert infimum_of_losses(RippledBowl(clients=2, dim=1, lipschitz=1.0, smoothness=1.0)) == 0.0


def test_a_convex_minimum_is_bounded_from_below_in_exact_arithmetic():
    """min of (r - 1/3)^2 + 1/7 is 1/7 at a point that no double is; at an end of the interval the bound is the value less its margin."""

    def square(r):
        return (r - 1 / 3) ** 2 + 1 / 7, 2 * (r - 1 / 3)

    found = convex_minimum(square, 0.0, 2.0)
    assert Fraction(found) < Fraction(1, 7) and found == pytest.approx(1 / 7, abs=3e-12)
    for low, high in ((1.0, 2.0), (-3.0, -1.0)):
        end = min(square(low)[0], square(high)[0])
        assert end - 2e-12 * (1 + end) < convex_minimum(square, low, high) < end
    assert convex_minimum(square, 1.0, 1.0) == pytest.approx(4 / 9 + 1 / 7, abs=3e-12)
    with pytest.raises(ValueError, match="low must not exceed high"):
        convex_minimum(square, 1.0, 0.0)
    for size in (1e9, -1e9):  # the margin grows with the value, of which rounding errors are a share
        found = convex_minimum(lambda r, size=size: (r * r + size, 2 * r), -1.0, 1.0)
        assert size - 2e-3 < found < size - 0.5e-3


def test_the_gap_of_logistic_losses_by_newton_in_numpy():
    """With a ridge F >= F(x) - |grad F(x)|^2 / (2 ridge); without, the mean entropy of p with sum p_i m_i = 0."""
    p = FederatedLogistic(clients=3, samples=7, dim=4, shift=0.7, seed=2, start=2.5, ridge=0.3)
    rows = p.data.features.flatten(0, 1).numpy()

    def value(x, ridge):
        return np.log1p(np.exp(-rows @ x)).mean() + ridge / 2 * x @ x

    def newton(ridge):
        x = np.zeros(4)
        for _ in range(50):
            s = 1 / (1 + np.exp(rows @ x))
            gradient = ridge * x - (s[:, None] * rows).mean(0)
            hessian = (rows * (s * (1 - s))[:, None]).T @ rows / len(rows) + ridge * np.eye(4)
            x = x - np.linalg.solve(hessian, gradient)
        return x

    start = value(p.initial_point.numpy(), 0.3)
    assert float(p.certificates["objective_gap"].value) == pytest.approx(start - value(newton(0.3), 0.3), rel=1e-9)
    np.testing.assert_allclose(minimiser_of(p.data.features.flatten(0, 1), 0.3).numpy(), newton(0.3), rtol=1e-8)
    away = torch.tensor([0.3, -0.2, 0.1, 0.4], dtype=torch.float64)
    plain = FederatedLogistic(clients=3, samples=7, dim=4, shift=0.7, seed=2, noise=1.5)
    features = plain.data.features.flatten(0, 1)
    best = minimiser_of(features, 0.0)
    least = float(torch.log1p(torch.exp(-(features @ best))).mean())
    assert dual_bound(features, best) == pytest.approx(least, rel=1e-10) and dual_bound(features, best) < least
    assert dual_bound(features, best + 0.1 * away) < least * (1 - 1e-6)
    assert dual_bound(features, 100 * away) == 0.0  # no weights in [0, 1]


def test_weights_of_just_0_or_1_give_no_bound():
    """Margins so large that a sigmoid is exactly 0 or 1, while the weights are as they should be: 0 log 0 is not computed."""
    zero = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    at = torch.tensor([0.0, 2000.0], dtype=torch.float64)
    assert scalar.sigmoid(-(zero @ at)).tolist() == [0.5, 0.5, 0.0] and dual_bound(zero, at) == 0.0
    low, high = 0.0, 1.2  # 256 rows u with u sigmoid(-u) = 40/256, to the last bit, outweigh one of -40
    for _ in range(100):
        u = (low + high) / 2
        low, high = (
            (u, high) if u * float(scalar.sigmoid(torch.tensor(-u, dtype=torch.float64))) < 40 / 256 else (low, u)
        )
    one = torch.tensor([[-40.0], *[[high]] * 256], dtype=torch.float64)
    at = torch.ones(1, dtype=torch.float64)
    p = scalar.sigmoid(-(one @ at))
    assert p[0] == 1.0 and float((one[:, 0] * p).sum()) == 0.0 == dual_bound(one, at)
    assert dual_bound(one[1:], at) == 0.0 and dual_bound(torch.cat([one[1:], -one[1:]]), 0 * at) == pytest.approx(
        math.log(2)
    )


def test_a_gap_without_a_minimiser_uses_strong_convexity(monkeypatch):
    """At a point that is no minimiser the bound is lower by the squared gradient over 2 ridge."""
    from fedco.synthetic.applications import federated_logistic

    p = FederatedLogistic(clients=2, samples=5, dim=3, ridge=0.3)
    off = torch.tensor([2.5, -1.1, 0.2], dtype=torch.float64)
    monkeypatch.setattr(federated_logistic, "minimiser_of", lambda rows, ridge: off)
    start, least = (float(p.objective(x[None])) for x in (p.initial_point, off))
    square = float(p.gradient(off[None]).square().sum())
    gap = p.certificates["objective_gap"]
    assert float(gap.value) == pytest.approx(start - least + square / 0.6, rel=1e-9)
    assert gap.witness == pytest.approx((start - least) / float(gap.value)) and gap.kind == "upper"


# --- maps ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner_dim", [1, 2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.4])
def test_the_second_moment_of_a_noisy_jacobian(inner_dim, noise):
    """E over z = +-1 of the largest row squared: the noisy row is P +- sigma, the quiet ones are P - Delta."""
    P, delta = 1.1, 0.2
    made = RippledMap(2, 2 * inner_dim, inner_dim, P, 0.3, noise, delta)
    rows = [[abs(P + z * noise), *([P - delta] * (inner_dim - 1))] for z in (1, -1)]
    wanted = math.sqrt(sum(max(each) ** 2 for each in rows) / 2)
    assert made.jacobian_mean_square == pytest.approx(wanted)
    assert lipschitz_of_mean_square(wanted, noise, delta, inner_dim) == pytest.approx(P, rel=1e-9)
    assert (
        made.value_noise == noise
        and RippledMap(2, 2, 1, P, 0.3, noise, delta, noise_wavenumber=4.0).value_noise == noise / 4
    )


def double_of(point):
    return torch.tensor([point], dtype=torch.float64)


def test_an_inner_map_written_out():
    """c (x + ripple sin(q x)/q) summed over a group, plus Delta s sin(w u.x)/w + sigma z sin(p u.x)/p in one component."""
    made = RippledMap(3, 4, 2, 1.5, 0.6, 0.4, 0.3, 0.8, 1.7)
    slope = 1.2 / (1.8 * math.sqrt(2))
    q = 0.6 / (0.8 * slope + 0.3 / math.sqrt(2))
    assert made.wavenumber == pytest.approx(q)
    x, z = (
        torch.tensor([0.7, -1.1, 2.3, 0.4], dtype=torch.float64),
        torch.tensor([[0.5, -1.0, 1.0]], dtype=torch.float64),
    )
    found = made.value(x.expand(1, 3, -1), z)[0]
    for k, (component, sign) in enumerate([(0, 1.0), (0, -1.0), (1, 0.0)]):
        group = [x[:2], x[2:]]
        u = torch.tensor([1.0, 1.0 if k < 2 else -1.0], dtype=torch.float64) / math.sqrt(2)
        for j in range(2):
            wanted = float(sum(slope * (t + 0.8 * math.sin(q * t) / q) for t in group[j].tolist()))
            if j == component:
                along, w = float(u @ group[j]), q / math.sqrt(2)
                wanted += 0.3 * sign * math.sin(w * along) / w + 0.4 * float(z[0, k]) * math.sin(1.7 * along) / 1.7
            assert float(found[k, j]) == pytest.approx(wanted, rel=1e-12)
    mean = made.value(x.expand(1, 2, -1).expand(1, 2, -1)[:, :2].repeat(1, 2, 1)[:, :3])[0].mean(0)
    assert torch.allclose(made.mean_value(x[None])[0], mean, atol=1e-12)
    for target in (3.0, -0.4, 0.0):
        back = torch.tensor(made.preimage(target), dtype=torch.float64)
        assert torch.allclose(made.mean_value(back[None]), torch.full((1, 2), target, dtype=torch.float64), atol=1e-9)
    for smoothness in (0.01, 0.2):  # long waves
        wide = RippledMap(1, 4, 2, 1.5, smoothness, ripple=1.0)
        for target in (3.0, -0.4, 13.0, -13.0):
            back = double_of(wide.preimage(target))
            assert wide.wavenumber < 1 and torch.allclose(
                wide.mean_value(back), torch.full_like(back[:, :2], target), atol=1e-9
            )
    for lipschitz in (0.3, 1.5):
        straight = RippledMap(1, 2, 1, lipschitz, 0.0, ripple=0.0)
        back = double_of(straight.preimage(2.0))
        assert straight.wavenumber == 0 and torch.allclose(straight.mean_value(back), torch.full_like(back[:, :1], 2.0))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (dict(clients=0), "must be positive"),
        (dict(dim=0), "must be positive"),
        (dict(inner_dim=3), "must divide dim"),
        (dict(noise_wavenumber=0.0), "noise wavenumber"),
        (dict(noise_wavenumber=1000.1), "noise wavenumber"),
        (dict(heterogeneity=1.5), "must exceed the heterogeneity"),
        (dict(lipschitz=math.inf), "must exceed the heterogeneity"),
        (dict(clients=1), "at least 2 clients"),
        (dict(heterogeneity=0.0, ripple=0.0), "affine"),
        (dict(smoothness=1e6), "too large for ripple"),
        (dict(noise=-0.1), "noise must be"),
    ],
)
def test_an_inner_map_refuses(changes, complaint):
    usual = dict(clients=2, dim=4, inner_dim=2, lipschitz=1.5, smoothness=0.6, noise=0.4, heterogeneity=0.3, ripple=0.8)
    RippledMap(**usual)
    RippledMap(**usual, noise_wavenumber=1000.0)
    RippledMap(**{**usual, "ripple": 0.0})
    RippledMap(**{**usual, "heterogeneity": 0.0, "clients": 1})
    with pytest.raises(ValueError, match=f"inner map: .*{complaint}|{complaint}"):
        RippledMap(**{**usual, **changes})


def test_an_outer_function_written_out():
    made = CenteredOuter(3, 2, 1.3, 0.4, noise=0.6, target=0.7, spread=0.5)
    y, s = torch.tensor([0.4, -1.9], dtype=torch.float64), torch.tensor([[1.0, -0.5, 0.25]], dtype=torch.float64)
    values, slopes = made.value(y.expand(1, 3, -1))[0], made.gradient(y.expand(1, 3, -1), s)[0]
    w = 1.3 / 0.4
    for k, center in enumerate((1.2, 0.2, 0.7)):
        r = y - center
        root = math.sqrt(1 + float(r @ r) / w**2)
        assert float(values[k]) == pytest.approx(1.3 * w * (root - 1), rel=1e-12)
        noise = 0.6 * float(s[0, k]) * math.cos(float(y.sum()) / math.sqrt(2)) / math.sqrt(2)
        assert torch.allclose(slopes[k], 0.4 * r / root + noise, rtol=1e-12)


def test_an_exponential_is_continued_on_both_sides():
    made = Exponential(0.7, 1.4)
    y = torch.tensor([-0.35, 0.0, 0.7, 1.4, 2.1], dtype=torch.float64)
    e = math.e
    assert made.value(y).tolist() == pytest.approx([1 - 0.5, 1.0, e, e**2, e**2 * 2])
    assert made.slope(y).tolist() == pytest.approx([1 / 0.7, 1 / 0.7, e / 0.7, e**2 / 0.7, e**2 / 0.7])
