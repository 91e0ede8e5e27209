"""F(x) = (1/N) sum_i f_i(x) with tilted `RippledBowl` losses: the meta family without fine-tuning.

Unlike in `federated` the clients differ by more at some points than at others, their smoothness differs too, and the
noise depends on the point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from ..certificate import Certificate, as_point, by_quantity, exact
from ..kinds import AbstractFederated
from ..parts.composition import cap_certificate, first_gradients, gap_to_zero
from ..parts.loss import loss_certificates
from ..parts.noise import AbstractBowls
from ..parts.parameters import require_exceeds, require_nonnegative
from ..parts.patterns import uneven_direction


@dataclass(frozen=True)
class FederatedBowl(AbstractBowls, AbstractFederated):
    """f_i is a tilted `RippledBowl`, non-convex as soon as the bowl has flattened.

    Args:
        G: bound of ||grad f_i||, larger than Delta. L: bound of the smoothness of f_i.
        sigma: noise of one stochastic gradient. kurtosis: k of its law, an integer.
        noise_wavenumber: how fast the noise turns with x, in 1 / [x].
        Delta: sup ||grad f_i - grad F|| of a paired client.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "federated_bowl"
    clients: int = 8
    dim: int = 6
    G: float = 1.0
    L: float = 0.5
    sigma: float = 0.0
    kurtosis: int = 1
    noise_wavenumber: float = 1.0
    Delta: float = 0.0
    start: float = 10.0
    device: str = "cpu"
    inner_dim: int = field(init=False, default=0)  # nothing is composed

    def __post_init__(self) -> None:
        require_exceeds(self, "G", "Delta")
        require_nonnegative(self, "start")
        _ = self.bowl, self.law  # the parts check their own parameters

    @property
    def _losses(self) -> tuple[float, float, float, float]:
        return self.G, self.L, self.sigma, self.noise_wavenumber

    def objective(self, x: Tensor) -> Tensor:
        return self.bowl.mean_value(x)

    def gradient(self, x: Tensor) -> Tensor:
        return self.bowl.mean_gradient(x)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        of_gradients = (c for c in loss_certificates(self.bowl, self.law) if "hessian" not in c.quantity)
        return by_quantity((*of_gradients, *self._whole_certificates()))

    @property
    def properties(self) -> frozenset[str]:
        return super().properties | ({"deterministic"} if self.sigma == 0 else set())

    def _whole_certificates(self) -> Iterator[Certificate]:
        bowl = self.bowl
        reach = 0.01 * min(bowl.radial.width, 1 / bowl.ripple.wavenumber)
        pair = tuple(as_point(sign * reach * uneven_direction(self.dim)) for sign in (-1.0, 1.0))
        yield exact(
            "objective_smoothness",
            bowl.mean_smoothness,
            "The client terms cancel in the mean; bowl and ripples both curve most at 0.",
            pair,
            attains=0.9999,
        )
        yield cap_certificate(self, bowl.lipschitz, "The client terms cancel; bowl and ripples at their steepest.")
        yield gap_to_zero(self)
        yield first_gradients(self)
