"""Patterns of signs, directions and starts against their definitions, and parameters that are refused."""

import math

import pytest
import torch
from fedco.synthetic.applications.auprc import AveragePrecision
from fedco.synthetic.applications.dro import RobustLoss
from fedco.synthetic.applications.fairness import FairClassifier
from fedco.synthetic.applications.federated_logistic import FederatedLogistic
from fedco.synthetic.applications.invariant import InvariantLogistic
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
