"""The inner map of the composite problems: non-convex, heterogeneous and noisy, with every constant exact, and its certificates."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, Formula, Points, as_point, exact, hypotenuse, largest, nearly, upper
from ..kinds import AbstractProblem
from .blocks import LARGEST_WAVENUMBER, Sine
from .composition import largest_of, start_value
from .outer import CenteredOuter
from .parameters import require_nonnegative
from .patterns import one_hot, pair_index, pair_signs, rows_of, start_beyond, walsh_directions
from .recall import Recall

_BISECTIONS = 200
_HALF_ANGLE = 0.01


@dataclass(frozen=True)
class RippledMap:
    """g_k(x; z): each inner component sums ripples over its own group of coordinates, plus client and noise terms.

    With m = inner_dim groups of n = dim/m coordinates, z = +-1, and for client k a component j_k, a unit vector u_k
    supported on that group and a sign s_k (sum_k s_k u_k e_{j_k} = 0):

        g_k(x; z)_j = sum_{i in group j} c (x_i + ripple sin(q x_i)/q)
                      + [j = j_k] (Delta s_k sin(w u_k.x)/w + sigma z sin(p u_k.x)/p),    w = q / sqrt(n).

    The sine under sigma is in the Jacobian too, so the noise is multiplicative: it never vanishes in value and
    derivative together. Client 0 has u_0 = (1, ..., 1)/sqrt(n) and s_0 = +1, which is where the suprema add up.

    Args:
        lipschitz: sup ||Jacobian of g_k||, attained by client 0 at x = 0.
        smoothness: the Lipschitz constant of the Jacobian (Frobenius), attained by client 0.
        noise: sigma, the Jacobian noise. heterogeneity: Delta.
        noise_wavenumber: p, so that the value noise is sigma / p.
        ripple: steepness of the ripple relative to the slope; the mean map is monotone for ripple <= 1.

    Raises:
        ValueError: when the parameters cannot be met (each message names the parameter).
    """

    clients: int
    dim: int
    inner_dim: int
    lipschitz: float
    smoothness: float
    noise: float = 0.0
    heterogeneity: float = 0.0
    ripple: float = 0.5
    noise_wavenumber: float = 1.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if min(self.clients, self.dim, self.inner_dim) < 1 or self.dim % self.inner_dim != 0:
            raise ValueError(
                f"clients, dim, inner_dim must be positive and inner_dim must divide dim, "
                f"got {self.clients}, {self.dim}, {self.inner_dim}"
            )
        require_nonnegative(self, "smoothness", "noise", "heterogeneity", "ripple", of="inner map")
        if not 0 < self.noise_wavenumber <= LARGEST_WAVENUMBER:
            raise ValueError(
                f"inner map: the noise wavenumber must be in (0, {LARGEST_WAVENUMBER}], got {self.noise_wavenumber}"
            )
        if not self.heterogeneity < self.lipschitz < math.inf:
            raise ValueError(
                f"inner map: the Lipschitz constant must exceed the heterogeneity {self.heterogeneity}, "
                f"got {self.lipschitz}"
            )
        if self.heterogeneity > 0 and self.clients < 2:
            raise ValueError(f"inner map: heterogeneity needs at least 2 clients, got {self.clients}")
        if self.smoothness > 0 and self.ripple == 0 and self.heterogeneity == 0:
            raise ValueError(
                f"inner map: an affine map (ripple 0, heterogeneity 0) has smoothness 0, got {self.smoothness}"
            )
        if self.wavenumber > LARGEST_WAVENUMBER:
            raise ValueError(
                f"inner map: smoothness {self.smoothness} is too large for ripple {self.ripple}: "
                f"the ripples would need wavenumber {self.wavenumber}"
            )

    @property
    def group(self) -> int:
        """n, the number of coordinates per inner component."""
        return self.dim // self.inner_dim

    @property
    def mean_lipschitz(self) -> float:
        """sup ||Jacobian of the mean map||: the client terms cancel in the mean."""
        return self.lipschitz - self.heterogeneity

    @property
    def value_noise(self) -> float:
        """sigma / p, the standard deviation of the value at its largest."""
        return self.noise / self.noise_wavenumber

    @property
    def jacobian_mean_square(self) -> float:
        """Root of sup E||Jacobian||^2: client 0 at 0, whose noisy row may shrink below the quiet ones."""
        quiet_rows = self.mean_lipschitz if self.inner_dim > 1 else 0.0
        shrunk = max(quiet_rows, abs(self.lipschitz - self.noise))
        return math.sqrt(((self.lipschitz + self.noise) ** 2 + shrunk**2) / 2)

    @property
    def _slope(self) -> float:
        return self.mean_lipschitz / ((1.0 + self.ripple) * math.sqrt(self.group))

    @cached_property
    def wavenumber(self) -> float:
        """q: makes ripple c q + Delta q / sqrt(n), the smoothness constant, equal to the parameter."""
        per_unit = self.ripple * self._slope + self.heterogeneity / math.sqrt(self.group)
        return self.smoothness / per_unit if per_unit > 0 else 0.0

    @cached_property
    def _wave(self) -> Sine:
        return Sine(self.ripple * self._slope, self.wavenumber)

    @cached_property
    def _client_wave(self) -> Sine:
        return Sine(self.heterogeneity, self.wavenumber / math.sqrt(self.group))

    @cached_property
    def _noise_wave(self) -> Sine:
        return Sine(self.noise, self.noise_wavenumber)

    @cached_property
    def _directions(self) -> Tensor:
        directions = walsh_directions(pair_index(self.clients), self.group, self.device)
        return directions.unsqueeze(1).expand(-1, self.inner_dim, -1).contiguous()  # (clients, inner_dim, n)

    @cached_property
    def _component(self) -> Tensor:
        return one_hot(pair_index(self.clients) % self.inner_dim, self.inner_dim, self.device)  # (clients, inner_dim)

    @cached_property
    def _signs(self) -> Tensor:
        return self._component * pair_signs(self.clients).to(self.device).unsqueeze(-1)  # (clients, inner_dim)

    def value(self, x: Tensor, z: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """g_k(x_k; z), `(runs, clients, dim) -> (runs, clients, inner_dim)`.

        z `(runs, clients)` is a batch mean, None for the exact map. `rows` (the same shape) says which client each
        lane is; by default the second axis runs over all of them.
        """
        here = self._recall(self._at, x, rows)
        total = here.common + here.signs * here.of_client
        if z is None:
            return total
        return total + z.unsqueeze(-1) * here.component * self._noise_wave.value(here.along)

    def vjp(self, x: Tensor, v: Tensor, z: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """Transposed Jacobian at x_k times v_k, `(runs, clients, dim)`; arguments as in `value`."""
        here = self._recall(self._at, x, rows)
        rate = here.signs * self._client_wave.slope(here.along)
        if z is not None:
            rate = rate + z.unsqueeze(-1) * here.component * self._noise_wave.slope(here.along)
        common = self._wave.slope(here.grouped).add_(self._slope) * v.unsqueeze(-1)
        return torch.addcmul(common, here.directions, (rate * v).unsqueeze(-1)).flatten(-2)

    def _at(self, x: Tensor, rows: Tensor | None) -> _Point:
        tables: tuple[Tensor, ...] = self._directions, self._component, self._signs
        if rows is not None:
            tables = tuple(rows_of(table, rows) for table in tables)
        return _Point(self, self._grouped(x), *tables)

    def _grouped(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.inner_dim, self.group))

    @cached_property
    def _recall(self) -> Recall:
        return Recall(depth=2)  # x^t and x^{t-1}

    def mean_value(self, x: Tensor) -> Tensor:
        """(1/K) sum_k g_k(x), `(runs, dim) -> (runs, inner_dim)`."""
        return self._common(self._grouped(x))

    def mean_vjp(self, x: Tensor, v: Tensor) -> Tensor:
        """Transposed Jacobian of the mean map times v, `(runs, dim)`."""
        return ((self._slope + self._wave.slope(self._grouped(x))) * v.unsqueeze(-1)).flatten(-2)

    def preimage(self, target: float) -> tuple[float, ...]:
        """A point with equal coordinates at which every component of the mean map is `target` (the map is onto).

        By bisection: on the diagonal the component is n c (t + ripple sin(q t)/q), within n c ripple/q of a line.
        """
        waviness = self.ripple / self.wavenumber if self.wavenumber > 0 else 0.0
        reach = abs(target) / (self._slope * self.group) + waviness
        low, high = -reach, reach
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.mean_value(torch.full((1, self.dim), middle, dtype=torch.float64))[0, 0].item() < target
            low, high = (middle, high) if below else (low, middle)
        return (0.5 * (low + high),) * self.dim

    def _common(self, grouped: Tensor) -> Tensor:
        return self._wave.value(grouped).add_(grouped, alpha=self._slope).sum(-1)


@dataclass(frozen=True, eq=False)
class _Point:
    """What value and Jacobian at one point have in common: independent of the noise, computed when first asked for."""

    map_: RippledMap
    grouped: Tensor
    directions: Tensor
    component: Tensor
    signs: Tensor

    @cached_property
    def along(self) -> Tensor:
        """u_k.x in every component."""
        return (self.grouped * self.directions).sum(-1)

    @cached_property
    def common(self) -> Tensor:
        """The part that all clients share."""
        return self.map_._common(self.grouped)

    @cached_property
    def of_client(self) -> Tensor:
        """The wave of the client, before its sign."""
        return self.map_._client_wave.value(self.along)


@dataclass(frozen=True)
class AbstractOfRippledMaps(AbstractProblem):
    """A problem whose inner maps make one `RippledMap`.

    Args:
        clients, dim, inner_dim: their number, and the sizes of x and y; inner_dim divides dim.
        ripple: how non-convex the maps are; the mean map is monotone for ripple <= 1.
        target: where the outer functions are least, at equal coordinates. start: distance of the initial x from 0, on its far side.
    """

    name: str = "rippled"
    clients: int = 8
    dim: int = 20
    inner_dim: int = 1
    ripple: float = 0.5
    target: float = 2.0
    start: float = 10.0
    device: str = "cpu"

    @property
    @abstractmethod
    def _map_constants(self) -> tuple[float, float, float, float, float]:
        """Lipschitz and smoothness constant, noise, heterogeneity, and how fast the noise turns."""

    @property
    def _laws(self) -> int:
        """How many maps there are."""
        return self.clients

    @cached_property
    def inner_map(self) -> RippledMap:
        """The g_k."""
        sizes, (lipschitz, smoothness, noise, apart, turns) = (
            (self._laws, self.dim, self.inner_dim),
            self._map_constants,
        )
        return RippledMap(*sizes, lipschitz, smoothness, noise, apart, self.ripple, turns, self.device)

    @cached_property
    def initial_point(self) -> Tensor:
        return start_beyond(self.target, self.start, self.dim, self.device)


def lipschitz_of_mean_square(mean_square: float, noise: float, heterogeneity: float, inner_dim: int) -> float:
    """The Lipschitz constant P for which `RippledMap.jacobian_mean_square` is `mean_square`.

    2 mean_square^2 = (P + noise)^2 + max(quiet rows, |P - noise|)^2, the quiet rows being P - heterogeneity.

    Raises:
        ValueError: when the noise alone exceeds the second moment.
    """
    if not mean_square > noise >= 0:
        raise ValueError(f"C_g must exceed sigma_g, got {mean_square} and {noise}")
    if inner_dim == 1:
        return math.sqrt((mean_square - noise) * (mean_square + noise))
    low, high = 0.0, mean_square
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        quiet = max(middle - heterogeneity, abs(middle - noise))
        low, high = (middle, high) if (middle + noise) ** 2 + quiet**2 < 2 * mean_square**2 else (low, middle)
    return 0.5 * (low + high)


def inner_certificates(map_: RippledMap) -> Iterator[Certificate]:
    """The certificates of the Lipschitz, smoothness, heterogeneity and noise constants of g_k and of its samples."""
    yield from _lipschitz_certificates(map_)
    yield from _smoothness_certificates(map_)
    yield from _noise_certificates(map_)
    yield exact(
        "inner_jacobian_heterogeneity",
        map_.heterogeneity,
        "J_k - J = Delta s_k cos(w u_k.x) e u_k^T: rank one, norm at most Delta, attained at 0.",
        _origin(map_),
    )


def gap_of_compositions(
    problem: AbstractProblem, map_: RippledMap, outer: CenteredOuter, functions: str
) -> Certificate:
    """F(start) less the infimum of a mean of outer functions of these maps; it is known where all of them are alike."""
    if map_.heterogeneity == 0 and outer.spread == 0:
        return onto_gap(problem, map_, outer.target)
    return upper("objective_gap", start_value(problem), f"Every {functions} is nonnegative.")


def onto_gap(problem: AbstractProblem, map_: RippledMap, target: float) -> Certificate:
    """F(start) where nonnegative outer functions vanish at (target, ..., target), for all clients."""
    return exact(
        "objective_gap",
        start_value(problem),
        "f >= 0, and g is onto so that f(g(x)) = 0 at some x.",
        (map_.preimage(target),),
        attains=1.0 - 1e-9,
    )


def _lipschitz_certificates(map_: RippledMap) -> Iterator[Certificate]:
    rows = "Jacobian rows have disjoint supports, so the norm is the largest row: at most mean_lipschitz + Delta"
    steep = nearly(
        "inner_lipschitz",
        map_.lipschitz,
        f"{rows}, and at 0 client 0 has both along u_0.",
        _steep_pair(map_),
    )
    sigma = Formula(map_.noise, "inner_jacobian_noise")
    yield steep
    yield nearly(
        "inner_mean_square_lipschitz",
        hypotenuse(steep.formula, sigma),
        "As a map into L^2(z), g_k has E||J(z) v||^2 = ||J v||^2 + sigma^2 cos^2(p u.x) (u.v)^2: both are largest "
        "for client 0 at 0 and v = u_0.",
        _steep_pair(map_),
    )
    yield nearly(
        "inner_jacobian_mean_square",
        map_.jacobian_mean_square,
        "E_z of the largest squared row is convex in the mean row and the noise amplitude, and even in the cosine of "
        "their angle, so it is largest at full lengths, aligned: client 0 at 0.",
        _origin(map_),
    )
    both = f"{rows} + sigma, and at 0 with z = +1 client 0 has all three along u_0."
    yield exact("inner_sample_lipschitz", steep.formula + sigma, both, _origin(map_))


def _smoothness_certificates(map_: RippledMap) -> Iterator[Certificate]:
    flat = nearly(
        "inner_smoothness",
        map_.smoothness,
        "The ripples move J by at most ripple c q ||x - y|| (entry by entry), the client term by Delta w |u.(x - y)|; "
        "for client 0 both are attained along u_0 about q x_i = pi/2.",
        _curved_pair(map_) if map_.smoothness > 0 else (),
    )
    yield flat
    if map_.noise == 0:
        yield replace(flat, quantity="inner_sample_smoothness")
        return
    turns = Formula(map_.noise, "inner_jacobian_noise") * Formula(map_.noise_wavenumber, "p")
    adds = "A sample adds the Jacobian sigma z cos(p u.x) e u^T."
    yield upper("inner_sample_smoothness", flat.formula + turns, adds)


def _noise_certificates(map_: RippledMap) -> Iterator[Certificate]:
    crest = (_point(map_, math.pi / 2 / map_.noise_wavenumber),)
    both = "The value error is sigma z sin(p u.x)/p e, the Jacobian error sigma z cos(p u.x) e u^T, |e| = |u| = 1"
    jacobian = exact("inner_jacobian_noise", map_.noise, f"{both}: the second is largest at 0.", _origin(map_))
    value = exact("inner_value_noise", map_.value_noise, f"{both}: the first is largest at p u.x = pi/2.", crest)
    most = largest_of("inner_noise", jacobian, value)
    yield exact("inner_noise", largest(jacobian.formula, value.formula), most.argument, most.points)
    yield jacobian
    yield value


def _point(map_: RippledMap, multiple: float) -> tuple[float, ...]:
    """multiple * u_0, padded with zeros outside group 0."""
    point = torch.zeros(map_.dim, dtype=torch.float64)
    point[: map_.group] = multiple / math.sqrt(map_.group)
    return as_point(point)


def _origin(map_: RippledMap) -> Points:
    return (_point(map_, 0.0),)


def _steep_pair(map_: RippledMap) -> Points:
    """Two points about 0, along u_0, within the shortest wave length that matters."""
    reach = _HALF_ANGLE / max(map_.noise_wavenumber, map_.wavenumber)
    return _point(map_, -reach), _point(map_, reach)


def _curved_pair(map_: RippledMap) -> Points:
    """Two points about q x_i = pi/2 on group 0, along u_0."""
    unit = math.sqrt(map_.group) / map_.wavenumber
    return _point(map_, (math.pi / 2 - _HALF_ANGLE) * unit), _point(map_, (math.pi / 2 + _HALF_ANGLE) * unit)
