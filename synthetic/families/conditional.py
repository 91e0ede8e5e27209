"""F(x) = (1/N) sum_n E_xi f_xi(E_{eta|xi} g_eta(x, xi)): inner noise whose law depends on the outer sample.

Source: Wu et al., Federated conditional stochastic optimization, problem (1), Assumptions 3.1 to 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, Formula, by_quantity, named, upper
from ..kinds import Draws, InnerSample, OuterSample
from ..parts.blocks import wavenumber_of
from ..parts.composition import cap_certificate, chain_rule
from ..parts.inner_map import AbstractOfRippledMaps, gap_of_compositions, inner_certificates, lipschitz_of_mean_square
from ..parts.noise import AbstractNumbered
from ..parts.outer import CenteredOuter
from ..parts.parameters import require_nonnegative, require_paired
from ..parts.patterns import equal_weights
from ..parts.recall import Recall

_OF_THE_PARTS = (
    *("inner_jacobian_mean_square", "inner_sample_lipschitz", "inner_sample_smoothness", "inner_value_noise"),
    *("outer_mean_square_lipschitz", "outer_sample_lipschitz", "outer_sample_smoothness"),
)


@dataclass(frozen=True)
class Conditional(AbstractOfRippledMaps, AbstractNumbered):
    """The conditional family: xi is uniform on `outer_support` outcomes, eta = +-1, and each (n, xi) has its own maps.

    g_eta(x, xi) is a `RippledMap` whose client is the pair (n, xi): its client term and the direction of its noise
    depend on xi, so E_{eta|xi} really is conditional. f_xi is a `CenteredOuter` about a centre that depends on xi.

    Args:
        outer_support: the number of outcomes of xi.
        L_f, S_f: bounds of the gradient of f_xi and of its Lipschitz constant, for every xi.
        L_g: root of sup E_{eta|xi} ||Jacobian of g_eta(., xi)||^2. S_g: Lipschitz constant of that Jacobian, every eta.
        sigma_g: standard deviation of g_eta(x, xi) given xi. Its Jacobian has the standard deviation `jacobian_noise`.
        Delta: how far the Jacobians given xi are from their mean; spread: how far the centres of f_xi are.
        clients_differ: whether the law of xi differs between clients; else all clients have the same F^n.
        The rest as for `AbstractOfRippledMaps`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "conditional"
    outer_support: int = 4
    L_f: float = 1.0
    S_f: float = 0.2
    L_g: float = 1.0
    S_g: float = 0.2
    sigma_g: float = 0.1
    jacobian_noise: float = 0.1
    Delta: float = 0.0
    spread: float = 0.0
    clients_differ: bool = False

    def __post_init__(self) -> None:
        require_paired(self, "sigma_g", "jacobian_noise")
        if self.outer_support < 1 or self.clients < 1:
            raise ValueError(f"clients and outer_support must be at least 1, got {self.clients}, {self.outer_support}")
        if not self.S_g > self.jacobian_noise * self._noise_wavenumber:
            raise ValueError(
                "S_g must exceed jacobian_noise^2 / sigma_g, the curvature of the noise, "
                f"got {self.S_g} and {self.jacobian_noise * self._noise_wavenumber}"
            )
        require_nonnegative(self, "start")
        _ = self.inner_map, self._outer  # the parts check their own parameters

    @property
    def _noise_wavenumber(self) -> float:
        return wavenumber_of(self.jacobian_noise, self.sigma_g)

    @property
    def _laws(self) -> int:
        """Number of different pairs (f_xi, g(., xi))."""
        return self.outer_support * (self.clients if self.clients_differ else 1)

    @property
    def _map_constants(self) -> tuple[float, float, float, float, float]:
        lipschitz = lipschitz_of_mean_square(self.L_g, self.jacobian_noise, self.Delta, self.inner_dim)
        smoothness = self.S_g - self.jacobian_noise * self._noise_wavenumber
        return lipschitz, smoothness, self.jacobian_noise, self.Delta, self._noise_wavenumber

    @cached_property
    def _outer(self) -> CenteredOuter:
        return CenteredOuter(self._laws, self.inner_dim, self.L_f, self.S_f, 0.0, self.target, self.spread, self.device)

    @cached_property
    def _law_of(self) -> Tensor:
        """Which law client n has at outcome xi, `(clients, outer_support)`.

        Laws 2j and 2j + 1 are opposite, so consecutive clients are when they differ, else consecutive outcomes.
        """
        outcome = torch.arange(self.outer_support, device=self.device)
        client = torch.arange(self.clients, device=self.device).unsqueeze(-1)
        return outcome * self.clients + client if self.clients_differ else outcome.expand(self.clients, -1)

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        lanes, z, rows = self._recall(self._lanes, x, outer, inner)
        return self.inner_map.value(lanes, z, rows).unflatten(1, outer.outcome.shape[1:])

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        lanes, z, rows = self._recall(self._lanes, x, outer, inner)
        return self.inner_map.vjp(lanes, v.flatten(1, 2), z, rows).unflatten(1, outer.outcome.shape[1:])

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._outer.value(y, self._laws_at(outer))

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._outer.gradient(y, None, self._laws_at(outer))

    @cached_property
    def _recall(self) -> Recall:
        return Recall(depth=2)  # x^t and x^{t-1}; the map then knows the lanes again, too

    def _laws_at(self, outer: OuterSample) -> Tensor:
        client = torch.arange(self.clients, device=self.device).unsqueeze(-1)
        return self._law_of[client, outer.outcome]

    def _lanes(self, x: Tensor, outer: OuterSample, inner: InnerSample | None) -> tuple[Tensor, Tensor | None, Tensor]:
        """x per (client, outer sample), the inner batch means and the laws, with (clients, batch) flattened."""
        shape = (x.shape[0], *outer.outcome.shape[1:])
        lanes = x.unsqueeze(2).expand(*shape, -1).flatten(1, 2)
        rows = self._laws_at(outer).expand(shape).flatten(1)
        return lanes, None if inner is None else inner.eta.mean(-1).expand(shape).flatten(1), rows

    def objective(self, x: Tensor) -> Tensor:
        lanes = self._every_law(x)
        return self._outer.value(self.inner_map.value(lanes)).sum(-1) / self._laws

    def gradient(self, x: Tensor) -> Tensor:
        lanes = self._every_law(x)
        per_law = self.inner_map.vjp(lanes, self._outer.gradient(self.inner_map.value(lanes)))
        return per_law.transpose(1, 2).contiguous().sum(-1) / self._laws

    def _every_law(self, x: Tensor) -> Tensor:
        return x.unsqueeze(1).expand(-1, self._laws, -1)

    @property
    def outer_outcomes(self) -> int:
        return self.outer_support

    @property
    def inner_outcomes(self) -> int:
        """The two signs."""
        return 2

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        return InnerSample(draws.signs(purpose, outer.outcome.shape[-1], m))

    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        signs = torch.tensor([1.0, -1.0], dtype=torch.float64, device=self.device)
        return InnerSample(signs.expand(*outer.outcome.shape, 2)), equal_weights(2, self.device)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = by_quantity(inner_certificates(self.inner_map), self._outer.certificates())
        return by_quantity((parts[name] for name in _OF_THE_PARTS), self._whole_certificates())

    def _whole_certificates(self) -> Iterator[Certificate]:
        L_f, S_f, Delta = named(self, "L_f", "S_f", "Delta")
        J, bend = (
            Formula(self.inner_map.lipschitz, "|J|"),
            Formula(self.inner_map.smoothness, "(smoothness of g given xi)"),
        )
        yield upper(
            "objective_smoothness", chain_rule(J, S_f, L_f, bend), "Chain rule given xi, averaged over xi and n."
        )
        unpaired = Formula(self.inner_map.mean_lipschitz, "|mean J|")
        cap = L_f * (unpaired + Delta if self._laws > 1 else unpaired)
        yield cap_certificate(self, cap, "The mean of |J| |grad f| over xi and n.")
        yield gap_of_compositions(self, self.inner_map, self._outer, "f_xi")
