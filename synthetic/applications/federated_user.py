"""A user's own plain federated problem: a torch loss and per-client data, with estimated constants.

    from fedco.synthetic.applications.federated_user import FederatedFromFunctions

    def loss(x, row):                                   # x (dim,), one datum -> scalar
        return torch.log1p(torch.exp(-row[-1] * (row[:-1] * x).sum()))

    problem = FederatedFromFunctions(loss, data, start=torch.zeros(5))    # data: (clients, samples, ...)

See `user` for what estimated constants are worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ..certificate import Certificate
from ..estimation.functions import estimated_certificates
from ..kinds import AbstractFederated, Draws, Sample
from ..parts.adversary import Budget
from ..parts.averaged import Averaged, Function, checked_data, checked_start
from ..parts.linear_losses import IndexSample, index_of
from ..parts.patterns import equal_weights


@dataclass(frozen=True, eq=False)
class FederatedFromFunctions(AbstractFederated):
    """(1/N) sum_i F_i(x), F_i the mean of `loss` over `data[i]`; a sample is one datum.

    Args:
        loss: (x (dim,), datum) -> scalar. data: float64 `(clients, samples, ...)`. start: `(dim,)` float64.
        factor: safety factor of the estimates. budget: how hard they are sought.
        lower_bound: of the objective, for its gap; without it the gap is estimated from a descent.

    Raises:
        ValueError: for data or a start of the wrong shape or type.
    """

    certified: ClassVar[bool] = False
    loss: Function
    data: Tensor
    start: Tensor
    name: str = "user_federated"
    factor: float = 2.0
    budget: Budget = field(default_factory=lambda: Budget(farthest=10.0))
    lower_bound: float | None = None
    clients: int = field(init=False, default=0)
    dim: int = field(init=False, default=0)
    inner_dim: int = field(init=False, default=0)  # nothing is composed

    def __post_init__(self) -> None:
        checked_data("data", self.data)
        object.__setattr__(self, "clients", len(self.data))
        object.__setattr__(self, "dim", len(checked_start(self.start)))

    @property
    def initial_point(self) -> Tensor:
        return self.start

    @cached_property
    def _mean_loss(self) -> Averaged:
        return Averaged(self.loss, self.data)

    def local_value(self, x: Tensor) -> Tensor:
        return self._mean_loss.value(x)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._mean_loss.gradient(x, index_of(sample))

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> IndexSample:
        return IndexSample(draws.integers(purpose, self.data.shape[1], batch))

    def atoms(self) -> tuple[IndexSample, Tensor]:
        samples, device = self.data.shape[1], self.data.device
        return IndexSample(torch.arange(samples, device=device).expand(1, self.clients, -1)), equal_weights(
            samples, device
        )

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return estimated_certificates(self, self.budget, self.factor, self.lower_bound)
