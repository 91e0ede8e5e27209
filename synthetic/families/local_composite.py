"""F(x) = (1/K) sum_k f_k(g_k(x)) with stochastic f_k and g_k: the problem of Local-SCGDM and ComFedL.

Source: Gao, Li, Huang, Local-SCGDM, problem (1), Assumptions 3.1 to 3.3; Huang, Li, Huang, ComFedL, Assumptions 1 to 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ..certificate import Certificate, by_quantity, exact
from ..kinds import INDEPENDENT_CLIENTS, AbstractLocalComposite, Sample
from ..parts.blocks import wavenumber_of
from ..parts.composition import cap_certificate, composite_smoothness
from ..parts.inner_certificates import gap_of_compositions, inner_certificates
from ..parts.inner_map import RippledMap, lipschitz_of_mean_square
from ..parts.noise import AbstractRippled, mean_sign
from ..parts.outer import CenteredOuter
from ..parts.parameters import require_exceeds, require_nonnegative, require_paired
from ..parts.patterns import pair_signs


@dataclass(frozen=True)
class LocalComposite(AbstractRippled, AbstractLocalComposite):
    """The local-composite family: f_k a `CenteredOuter`, g_k a `RippledMap`. The parameters are Local-SCGDM's constants.

    Args:
        clients, dim, inner_dim: K, and the sizes of x and y; inner_dim divides dim.
        C_f, sigma_f: second-moment and noise bounds of the gradient of f_k; C_f > sigma_f.
        C_g, sigma_g, delta_g: second-moment and noise bounds of the Jacobian of g_k, noise bound of its value;
            sigma_g and delta_g are both zero or both positive.
        L_f, L_g: smoothness constants of f_k and g_k.
        Delta_g: how far the Jacobians of the clients are from their mean. spread: how far the centres of f_k are.
        ripple: how non-convex g_k is.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    OTHER: ClassVar[str] = "outer"
    name: str = "local_composite"
    clients: int = 8
    dim: int = 20
    inner_dim: int = 1
    C_f: float = 1.0
    C_g: float = 1.0
    L_f: float = 0.2
    L_g: float = 0.05
    sigma_f: float = 0.0
    sigma_g: float = 0.0
    delta_g: float = 0.0
    Delta_g: float = 0.0
    spread: float = 0.0
    ripple: float = 0.5
    target: float = 2.0
    start: float = 10.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        require_exceeds(self, "C_f", "sigma_f")
        require_paired(self, "sigma_g", "delta_g")
        require_nonnegative(self, "start")
        _ = self.inner_map, self._outer  # the parts check their own parameters

    @cached_property
    def inner_map(self) -> RippledMap:
        """The g_k."""
        lipschitz = lipschitz_of_mean_square(self.C_g, self.sigma_g, self.Delta_g, self.inner_dim)
        wavenumber = wavenumber_of(self.sigma_g, self.delta_g)
        return RippledMap(
            self.clients,
            self.dim,
            self.inner_dim,
            lipschitz,
            self.L_g,
            self.sigma_g,
            self.Delta_g,
            self.ripple,
            wavenumber,
            self.device,
        )

    @cached_property
    def _outer(self) -> CenteredOuter:
        lipschitz = math.sqrt((self.C_f - self.sigma_f) * (self.C_f + self.sigma_f))
        return CenteredOuter(
            self.clients, self.inner_dim, lipschitz, self.L_f, self.sigma_f, self.target, self.spread, self.device
        )

    @property
    def properties(self) -> frozenset[str]:
        has = {
            "equal_outer_functions": self.spread == 0,
            "one_outer_function": self.sigma_f == 0 and self.spread == 0,
            "equal_inner_maps": self.Delta_g == 0,
        }
        return INDEPENDENT_CLIENTS | {name for name, holds in has.items() if holds}

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer.gradient(y, mean_sign(sample, "other"))

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = by_quantity((*inner_certificates(self.inner_map), *self._outer.certificates()))
        whole = (_composite_noise(parts), composite_smoothness(parts), *self._whole_certificates())
        return parts | by_quantity(whole)

    def _whole_certificates(self) -> Iterator[Certificate]:
        unpaired = self.inner_map.mean_lipschitz + self.Delta_g * float(pair_signs(self.clients).abs().mean())
        yield cap_certificate(self, self._outer.lipschitz * unpaired, "The mean of |J_k| |grad f_k| over the clients.")
        yield gap_of_compositions(self, self.inner_map, self._outer, "f_k")


def _composite_noise(parts: Mapping[str, Certificate]) -> Certificate:
    names = ("inner_jacobian_noise", "inner_value_noise", "outer_gradient_noise")
    largest = max(names, key=lambda name: parts[name].value)
    of_inner = parts[largest if largest != "outer_gradient_noise" else "inner_jacobian_noise"]
    return exact(
        "composite_noise",
        parts[largest].value,
        "The largest of the three; the outer one is attained at y = 0 = g_k(0).",
        of_inner.points,
    )
