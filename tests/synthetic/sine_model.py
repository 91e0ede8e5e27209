"""A model with a Hessian for each example, and a loss that is nowhere 0."""

from __future__ import annotations

import torch
from torch import nn


class Wave(nn.Module):
    """sin(w a + c): three parameters for each output, and a Hessian for each example."""

    def __init__(self, outputs: int = 1) -> None:
        super().__init__()
        self.layer = nn.Linear(2, outputs).double()

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return torch.sin(self.layer(a))


def squared(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs - targets).square().mean() + 0.1
