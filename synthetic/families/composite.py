"""The generic compositions, every constant a parameter: clients' inner maps under outer functions of their own, or under one for all.

    local   F(x) = (1/K) sum_k f_k(g_k(x)) with stochastic f_k and g_k: the problem of Local-SCGDM and ComFedL
    shared  Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k g_k(x)) with non-convex h_k and g_k: the problem of FedDRO

Source: Gao, Li, Huang, Local-SCGDM, problem (1), Assumptions 3.1 to 3.3; Huang, Li, Huang, ComFedL, Assumptions 1 to 4; Khanduri et
al., FedDRO, problem (2), Assumptions 1 to 3.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ..certificate import Certificate, Formula, by_quantity, exact, largest, named, upper
from ..kinds import (
    INDEPENDENT_CLIENTS,
    AbstractComposite,
    AbstractLocalComposite,
    AbstractSharedComposite,
    Draws,
    Sample,
)
from ..parts.blocks import wavenumber_of
from ..parts.bowl import RippledBowl
from ..parts.composition import (
    COMPOSITE_NOISES,
    cap_certificate,
    chain_rule,
    composite_smoothness,
    convex_minimum,
    formulas,
    largest_of,
    no_extra_certificates,
    start_value,
)
from ..parts.inner_map import (
    AbstractOfRippledMaps,
    gap_of_compositions,
    inner_certificates,
    lipschitz_of_mean_square,
    onto_gap,
)
from ..parts.noise import SignPair, mean_sign
from ..parts.outer import CenteredOuter
from ..parts.parameters import require_exceeds, require_nonnegative, require_paired
from ..parts.patterns import pair_signs, sign_grid


class AbstractRippled(AbstractOfRippledMaps, AbstractComposite):
    """g_k a `RippledMap`, f_k a `CenteredOuter`."""

    OTHER: ClassVar[str]
    """What the second sign of a sample acts on: the name under which it is drawn."""

    @property
    @abstractmethod
    def _outer(self) -> CenteredOuter: ...

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.value(x, mean_sign(sample))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.vjp(x, v, mean_sign(sample))

    def outer(self, y: Tensor) -> Tensor:
        return self._outer.value(y)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        return SignPair(draws.signs(f"{purpose}.inner", batch), draws.signs(f"{purpose}.{self.OTHER}", batch))

    def atoms(self) -> tuple[SignPair, Tensor]:
        inner, other, weights = sign_grid(self.clients, self.device)
        return SignPair(inner, other), weights


@dataclass(frozen=True)
class LocalComposite(AbstractRippled, AbstractLocalComposite):
    """The local-composite family: f_k a `CenteredOuter`, g_k a `RippledMap`. The parameters are Local-SCGDM's constants.

    Args:
        C_f, sigma_f: second-moment and noise bounds of the gradient of f_k; C_f > sigma_f.
        C_g, sigma_g, delta_g: second-moment and noise bounds of the Jacobian of g_k, noise bound of its value;
            sigma_g and delta_g are both zero or both positive.
        L_f, L_g: smoothness constants of f_k and g_k.
        Delta_g: how far the Jacobians of the clients are from their mean. spread: how far the centres of f_k are.
        The rest as for `AbstractOfRippledMaps`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    OTHER: ClassVar[str] = "outer"
    name: str = "local_composite"
    C_f: float = 1.0
    C_g: float = 1.0
    L_f: float = 0.2
    L_g: float = 0.05
    sigma_f: float = 0.0
    sigma_g: float = 0.0
    delta_g: float = 0.0
    Delta_g: float = 0.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        require_exceeds(self, "C_f", "sigma_f")
        require_paired(self, "sigma_g", "delta_g")
        require_nonnegative(self, "start")
        _ = self.inner_map, self._outer  # the parts check their own parameters

    @property
    def _map_constants(self) -> tuple[float, float, float, float, float]:
        lipschitz = lipschitz_of_mean_square(self.C_g, self.sigma_g, self.Delta_g, self.inner_dim)
        return lipschitz, self.L_g, self.sigma_g, self.Delta_g, wavenumber_of(self.sigma_g, self.delta_g)

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
        parts = by_quantity(inner_certificates(self.inner_map), self._outer.certificates())
        whole = _composite_noise(parts), composite_smoothness(parts)
        return parts | by_quantity(whole, self._whole_certificates())

    def _whole_certificates(self) -> Iterator[Certificate]:
        share = Formula(float(pair_signs(self.clients).abs().mean()), "(share of the paired clients)")
        unpaired = Formula(self.inner_map.mean_lipschitz, "|mean J|") + Formula(self.Delta_g, "Delta_g") * share
        cap = Formula(self._outer.lipschitz, "outer_lipschitz") * unpaired
        yield cap_certificate(self, cap, "The mean of |J_k| |grad f_k| over the clients.")
        yield gap_of_compositions(self, self.inner_map, self._outer, "f_k")


def _composite_noise(parts: Mapping[str, Certificate]) -> Certificate:
    """Exact, as g_k(0) = 0, where the noise of f_k is largest."""
    jacobian, value, outer = (parts[name] for name in COMPOSITE_NOISES)
    most = largest_of("composite_noise", jacobian, value, replace(outer, points=jacobian.points))
    at_0 = "The outer one is attained at y = 0 = g_k(0)."
    return exact("composite_noise", largest(*formulas(parts, *COMPOSITE_NOISES)), at_0, most.points)


@dataclass(frozen=True)
class SharedComposite(AbstractRippled, AbstractSharedComposite):
    """The shared-composite family. The parameters are the paper's constants and the certificates return them exactly.

    f is the radial pseudo-Huber about `target * (1, ..., 1)`, g_k a `RippledMap`, h_k a `RippledBowl` (absent when
    B_h = 0).

    Args:
        B_f, L_f: Lipschitz and smoothness constants of f.
        B_g: mean-square Lipschitz constant of g_k, noise and clients included; B_g^2 > sigma_g^2 + Delta_g^2.
        L_g: smoothness constant of g_k.
        B_h, L_h: Lipschitz constant of the mean h and smoothness constant of h_k; both 0 for h = 0.
        sigma_g, sigma_h, Delta_g, Delta_h: noise and heterogeneity, attained exactly.
        The rest as for `AbstractOfRippledMaps`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.

    Example:
        >>> problem = SharedComposite(clients=2, dim=4, B_g=1.25, sigma_g=0.75)
        >>> problem.certificates["inner_lipschitz"].value
        1.0
    """

    OTHER: ClassVar[str] = "extra"
    name: str = "shared_composite"
    B_f: float = 1.0
    L_f: float = 0.2
    B_g: float = 1.1
    L_g: float = 0.02
    B_h: float = 0.0
    L_h: float = 0.0
    sigma_g: float = 0.0
    sigma_h: float = 0.0
    Delta_g: float = 0.0
    Delta_h: float = 0.0
    target: float = 1.0

    def __post_init__(self) -> None:
        require_exceeds(self, "B_g", "sigma_g")
        if self.B_h == 0 and any((self.L_h, self.sigma_h, self.Delta_h)):
            raise ValueError(
                "without h (B_h = 0) L_h, sigma_h and Delta_h must be 0, "
                f"got {self.L_h}, {self.sigma_h}, {self.Delta_h}"
            )
        require_nonnegative(self, "start")
        _ = self.inner_map, self.bowl, self._outer  # the parts check their own parameters

    @property
    def _map_constants(self) -> tuple[float, float, float, float, float]:
        lipschitz = math.sqrt((self.B_g - self.sigma_g) * (self.B_g + self.sigma_g))
        return lipschitz, self.L_g, self.sigma_g, self.Delta_g, 1.0

    @cached_property
    def bowl(self) -> RippledBowl | None:
        """The h_k; None where h = 0."""
        if self.B_h == 0:
            return None
        return RippledBowl(self.clients, self.dim, self.B_h, self.L_h, self.sigma_h, self.Delta_h, device=self.device)

    @cached_property
    def _outer(self) -> CenteredOuter:
        return CenteredOuter(self.clients, self.inner_dim, self.B_f, self.L_f, target=self.target, device=self.device)

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | ({"no_extra_term"} if self.bowl is None else set())

    def inner_mean(self, x: Tensor) -> Tensor:
        return self.inner_map.mean_value(x)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer.gradient(y)

    def extra(self, x: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:-1]) if self.bowl is None else self.bowl.value(x)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        return None if self.bowl is None else self.bowl.gradient(x, mean_sign(sample, "other"))

    def objective(self, x: Tensor) -> Tensor:
        value = self.outer(self.inner_mean(x))
        return value if self.bowl is None else value + self.bowl.mean_value(x)

    def gradient(self, x: Tensor) -> Tensor:
        gradient = self.inner_map.mean_vjp(x, self.outer_gradient(self.inner_mean(x)))
        return gradient if self.bowl is None else gradient + self.bowl.mean_gradient(x)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = inner_certificates(self.inner_map), self._outer.certificates(), self._whole_certificates()
        return by_quantity(*parts, no_extra_certificates() if self.bowl is None else self.bowl.certificates())

    def _whole_certificates(self) -> Iterator[Certificate]:
        (B_f, L_f), (B_h,) = named(self, "B_f", "L_f"), named(self, "B_h")
        steepest = Formula(self.inner_map.mean_lipschitz, "|mean J|")
        bend = chain_rule(steepest, L_f, B_f, Formula(self._mean_inner_smoothness, "(smoothness of the mean g)"))
        extra = 0.0 if self.bowl is None else self.bowl.mean_smoothness
        chain = "Chain rule on the mean maps, in which client terms cancel."
        yield upper("objective_smoothness", Formula(extra, "(smoothness of the mean h)") + bend, chain)
        cap = B_h + B_f * steepest
        yield cap_certificate(self, cap, "|grad Phi| <= |grad h| + |J| |grad f|, of the mean maps.")
        yield self._gap_certificate()

    @property
    def _mean_inner_smoothness(self) -> float:
        """Of the mean map: the client terms carry the rest of L_g."""
        return self.L_g - self.inner_map.wavenumber * self.Delta_g / math.sqrt(self.inner_map.group)

    def _gap_certificate(self) -> Certificate:
        if self.target == 0:
            vanish = "h >= 0, f >= 0 and both vanish at 0, as g(0) = 0."
            return exact("objective_gap", start_value(self), vanish, ((0.0,) * self.dim,))
        if self.bowl is None:
            return onto_gap(self, self.inner_map, self.target)
        convex = "h >= bowl(|x|) and |g(x)| <= |J| |x|: Phi is at least a convex function of |x|, minimised."
        return upper("objective_gap", start_value(self) - self._infimum_bound(), convex)

    def _infimum_bound(self) -> float:
        """A lower bound of inf Phi: the minimum over r of bowl(r) + f at distance max(0, |target| - |J| r)."""
        assert self.bowl is not None
        bowl, slope = self.bowl.radial, self.inner_map.mean_lipschitz
        distance = abs(self.target) * math.sqrt(self.inner_dim)

        def along_radius(radius: float) -> tuple[float, float]:
            (height, rise), (miss, pull) = bowl.scalar(radius), self._outer.radial.scalar(distance - slope * radius)
            return height + miss, rise - slope * pull

        return convex_minimum(along_radius, 0.0, distance / slope)
