"""Constants whose worst direction is one of many: what is found is nearly the truth, also in high dimension."""

from __future__ import annotations

import pytest
import torch
from fedco.synthetic.estimation.losses import Losses
from fedco.synthetic.models.base import ModelParts
from fedco.synthetic.models.data import ClientData
from fedco.synthetic.models.flat import FlatModel
from torch import nn


class Ridge(nn.Module):
    """a . w, for the example a."""

    def __init__(self, dim):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(dim, dtype=torch.float64))

    def forward(self, a):
        return (a * self.w).sum(-1, keepdim=True)


def cubic(output, target):
    return (output**3).sum() / 6


def losses(dim, examples):
    """One client; the third derivative of an example is |a|^3 along a and 0 across."""
    inputs = torch.randn(1, examples, dim, generator=torch.Generator().manual_seed(dim), dtype=torch.float64)
    data = ClientData(inputs, torch.zeros(1, examples, dtype=torch.float64), torch.tensor([examples]))
    return Losses(ModelParts(FlatModel(Ridge(dim), cubic), data)), inputs[0]


@pytest.mark.parametrize("dim", [10, 100, 400])
def test_the_change_of_the_hessian_is_found_in_its_direction(dim):
    found, (a,) = losses(dim, 1)
    truth = float(torch.linalg.vector_norm(a) ** 3)
    x = torch.randn(3, dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    step = 1e-3 * torch.nn.functional.normalize(
        torch.randn(3, dim, generator=torch.Generator().manual_seed(2)).double(), dim=-1
    )
    assert float(found.hessian_change(x, step).max()) < 0.8 * truth, "a random step sees a part of it"
    assert 0.95 * truth <= float(found.steepest_hessian_change(x, step).max()) <= 1.001 * truth


@pytest.mark.parametrize("dim", [10, 100, 400])
def test_the_deviation_of_the_hessian_is_its_frobenius_norm(dim):
    found, a = losses(dim, 3)
    x = torch.randn(2, dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for point, value in zip(x, found.hessian_noise(x).tolist(), strict=True):
        hessians = (a @ point).view(-1, 1, 1) * a.unsqueeze(-1) * a.unsqueeze(1)
        truth = float((hessians - hessians.mean(0)).square().sum((1, 2)).mean().sqrt())
        assert value == pytest.approx(truth, rel=1e-9)
