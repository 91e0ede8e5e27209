"""A bowl with ripples, client terms and gradient noise, every constant exact: the non-compositional part h_k, and tilted the losses f_i."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import WORDS, Certificate, Formula, as_point, attained, exact, nearly, on_diagonal, upper, witnessed
from .blocks import LARGEST_WAVENUMBER, AbstractWave, Cosine, RadialPseudoHuber, Sine
from .noise import Kurtosis
from .parameters import require_nonnegative, require_positive
from .patterns import pair_index, pair_signs, walsh_directions

_RIPPLE_SHARE = 0.25  # of the smoothness
_CLIENT_SHARE = 0.25  # of the smoothness at most; what the client terms do not use goes to the bowl
_RIPPLE_LIPSCHITZ_SHARE = 0.2  # of the Lipschitz constant
_HALF_ANGLE = 0.01
_FAR = 1000.0  # bowl widths at which the bowl's slope is 0.9999995 of its supremum
_CRESTS = 2000  # crests of the ripples tried for one that is also a crest of the client wave


@dataclass(frozen=True)
class RippledBowl:
    """h_k(x; s) = radial pseudo-Huber(x) + sum_i ripple(x_i) + s_k Delta (1 - cos(p v_k.x))/p + sigma s sin(P v_k.x)/P.

    Every term but the noise is even with its largest curvature at 0, so that there the Hessian norms add up: the
    smoothness is exact. The ripples make h non-convex as soon as the bowl has flattened. sum_k s_k v_k = 0 in pairs.
    With `tilt` the client term is s_k Delta sin(p v_k.x)/p: it pulls the minimisers of the clients apart, and the
    smoothness is an upper bound.

    Args:
        lipschitz: bound of ||grad h|| of the mean h (the client terms cancel in the mean).
        smoothness: Lipschitz constant of grad h_k, attained by client 0 at 0.
        noise: sigma, the standard deviation of the stochastic gradient at 0, and its supremum.
        heterogeneity: Delta = sup ||grad h_k - grad h||, attained where p v_k.x = pi/2 (at 0 with `tilt`).
        noise_wavenumber: P, so that the Hessian noise is sigma P.
    """

    clients: int
    dim: int
    lipschitz: float
    smoothness: float
    noise: float = 0.0
    heterogeneity: float = 0.0
    noise_wavenumber: float = 1.0
    tilt: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if min(self.clients, self.dim) < 1:
            raise ValueError(f"clients and dim must be positive, got {self.clients} and {self.dim}")
        require_positive(self, "lipschitz", "smoothness", of="bowl")
        if not 0 < self.noise_wavenumber <= LARGEST_WAVENUMBER:
            raise ValueError(
                f"bowl: the noise wavenumber must be in (0, {LARGEST_WAVENUMBER}], got {self.noise_wavenumber}"
            )
        require_nonnegative(self, "noise", "heterogeneity", of="bowl")
        if self.heterogeneity > 0 and self.clients < 2:
            raise ValueError(f"bowl: heterogeneity needs at least 2 clients, got {self.clients}")
        if self.ripple.wavenumber > LARGEST_WAVENUMBER:
            raise ValueError(
                f"bowl: smoothness {self.smoothness} is too large for the Lipschitz constant "
                f"{self.lipschitz}: the ripples would need wavenumber {self.ripple.wavenumber}"
            )

    @property
    def _client_share(self) -> float:
        return min(_CLIENT_SHARE, self.heterogeneity * LARGEST_WAVENUMBER / self.smoothness)

    @property
    def mean_smoothness(self) -> float:
        """Lipschitz constant of grad h of the mean h."""
        return (1.0 - self._client_share) * self.smoothness

    @cached_property
    def radial(self) -> RadialPseudoHuber:
        """The bowl itself: h >= radial, since the other terms of the mean h are nonnegative."""
        return RadialPseudoHuber(
            (1 - _RIPPLE_LIPSCHITZ_SHARE) * self.lipschitz, (1 - _RIPPLE_SHARE - self._client_share) * self.smoothness
        )

    @cached_property
    def ripple(self) -> Cosine:
        """The wave in each coordinate."""
        steepness = _RIPPLE_LIPSCHITZ_SHARE * self.lipschitz / math.sqrt(self.dim)
        return Cosine(steepness, _RIPPLE_SHARE * self.smoothness / steepness)

    @cached_property
    def client_wave(self) -> AbstractWave:
        """The wave that tells the clients apart, before its sign."""
        wave = Sine if self.tilt else Cosine
        return wave(self.heterogeneity, self.client_wavenumber)

    @property
    def client_wavenumber(self) -> float:
        """p."""
        return self._client_share * self.smoothness / self.heterogeneity if self.heterogeneity > 0 else 0.0

    @property
    def hessian_lipschitz(self) -> float:
        """A Lipschitz constant of the Hessian of h_k: those of the three terms, added."""
        return self.radial.hessian_lipschitz + self.ripple.curvature_lipschitz + self.client_wave.curvature_lipschitz

    @cached_property
    def _noise_wave(self) -> Sine:
        return Sine(self.noise, self.noise_wavenumber)

    @cached_property
    def directions(self) -> Tensor:
        """v_k, `(clients, dim)`."""
        return walsh_directions(pair_index(self.clients), self.dim, self.device)

    @cached_property
    def _signs(self) -> Tensor:
        return pair_signs(self.clients).to(self.device)

    def value(self, x: Tensor) -> Tensor:
        """h_k(x_k), `(runs, clients, dim) -> (runs, clients)`."""
        along = (x * self.directions).sum(-1)
        return self.mean_value(x) + self._signs * self.client_wave.value(along)

    def gradient(self, x: Tensor, s: Tensor | None = None) -> Tensor:
        """grad h_k(x_k; s), `(runs, clients, dim)`; s `(runs, clients)` is a batch mean."""
        return self.at(x).gradient(s)

    def hvp(self, x: Tensor, v: Tensor, s: Tensor | None = None) -> Tensor:
        """Hessian of h_k(.; s) at x_k times v_k, `(runs, clients, dim)`; s as in `gradient`."""
        return self.at(x).hvp(v, s)

    def at(self, x: Tensor) -> BowlPoint:
        """What gives several derivatives at one point `(runs, clients, dim)` for less than each alone."""
        return BowlPoint(self, x)

    def mean_value(self, x: Tensor) -> Tensor:
        """(1/K) sum_k h_k(x), `(..., dim) -> (...)`."""
        return self.radial.value(x) + self.ripple.value(x).sum(-1)

    def mean_gradient(self, x: Tensor) -> Tensor:
        """Gradient of the mean h, `(..., dim)`."""
        return self.ripple.slope(x).addcmul_(x, self.radial.pull(self.radial.squared(x)))

    def certificates(self) -> Iterator[Certificate]:
        """Every constant of h_k."""
        reach = _HALF_ANGLE * min(self.radial.width, 1 / self.ripple.wavenumber, 1 / max(self.client_wavenumber, 1e-12))
        smooth = nearly(
            "noncompositional_smoothness",
            self.smoothness,
            "The Hessian norms of bowl, ripples and client term add up at 0, where each is largest.",
            (on_diagonal(self.dim, -reach), on_diagonal(self.dim, reach)),
        )
        turns = Formula(self.noise, "noncompositional_gradient_noise") * Formula(self.noise_wavenumber, "P")
        yield smooth
        yield upper(
            "noncompositional_sample_smoothness",
            smooth.formula + turns,
            "The noise adds the Hessian -sigma s P sin(P v.x) v v^T.",
        )
        yield exact(
            "noncompositional_gradient_noise",
            self.noise,
            "The gradient error is sigma s cos(v.x) v with |v| = 1: at most sigma, attained at 0.",
            (on_diagonal(self.dim, 0.0),),
        )
        crest = math.pi / 2 / self.client_wavenumber if self.heterogeneity > 0 else 0.0
        yield attained(
            "noncompositional_heterogeneity",
            self.heterogeneity,
            "grad h_k - grad h = s_k Delta sin(p v_k.x) v_k, at most Delta, attained at p v_k.x = pi/2.",
            on_diagonal(self.dim, crest),
        )


@dataclass(frozen=True, eq=False)
class BowlPoint:
    """The derivatives of a `RippledBowl` at x, and what they share: independent of the noise, computed when first used."""

    bowl: RippledBowl
    x: Tensor

    @cached_property
    def _along(self) -> Tensor:
        return (self.x * self.bowl.directions).sum(-1)

    @cached_property
    def _squared(self) -> Tensor:
        return self.bowl.radial.squared(self.x)

    @cached_property
    def _pull(self) -> Tensor:
        return self.bowl.radial.pull(self._squared)

    def gradient(self, s: Tensor | None = None) -> Tensor:
        """As `RippledBowl.gradient`."""
        bowl = self.bowl
        rate = bowl._signs * bowl.client_wave.slope(self._along)
        if s is not None:
            rate = rate + s * bowl._noise_wave.slope(self._along)
        common = bowl.ripple.slope(self.x).addcmul_(self.x, self._pull)
        return torch.addcmul(common, bowl.directions, rate.unsqueeze(-1))

    def hvp(self, v: Tensor, s: Tensor | None = None) -> Tensor:
        """As `RippledBowl.hvp`."""
        bowl = self.bowl
        rate = bowl._signs * bowl.client_wave.curvature(self._along)
        if s is not None:
            rate = rate + s * bowl._noise_wave.curvature(self._along)
        common = bowl.radial.hvp(self.x, v, self._squared, self._pull).add_(bowl.ripple.curvature(self.x) * v)
        return torch.addcmul(common, bowl.directions, (rate * (v * bowl.directions).sum(-1)).unsqueeze(-1))


def loss_certificates(bowl: RippledBowl, kurtosis: Kurtosis) -> Iterator[Certificate]:
    """Every `local_...` constant of f_i = a tilted `RippledBowl` whose noise has the given fourth moment."""
    lipschitz, far = bowl.lipschitz + bowl.heterogeneity, _far_crest(bowl)
    steep = float(torch.linalg.vector_norm(bowl.gradient(_for_client_0(bowl, far)), dim=-1)[0, 0])
    each = "Bowl, ripples and client term each at their steepest."
    yield witnessed("local_gradient_bound", lipschitz, each, far, steep)
    yield upper("local_smoothness", bowl.smoothness, "The largest curvatures of the three terms, added.")
    yield upper(
        "local_hessian_lipschitz", bowl.hessian_lipschitz, "The largest third derivatives of the three terms, added."
    )
    noise, wave = Formula(bowl.noise, "local_gradient_noise"), Formula(bowl.noise_wavenumber, "P")
    adds, largest = "The noise sigma z sin(P v.x)/P has |z| <= sqrt(kurtosis).", kurtosis.size * noise
    yield upper("local_sample_gradient_bound", Formula(lipschitz, "local_gradient_bound") + largest, adds)
    yield upper("local_sample_smoothness", Formula(bowl.smoothness, "local_smoothness") + largest * wave, adds)
    rho = Formula(bowl.hessian_lipschitz, "local_hessian_lipschitz")
    yield upper("local_sample_hessian_lipschitz", rho + largest * wave**2, adds)
    yield from _noise_certificates(bowl, kurtosis)
    yield from _heterogeneity_certificates(bowl)


def _noise_certificates(bowl: RippledBowl, kurtosis: Kurtosis) -> Iterator[Certificate]:
    origin = (as_point(torch.zeros(bowl.dim)),)
    crest = (as_point(bowl.directions[0] * (math.pi / 2 / bowl.noise_wavenumber)),)
    errors = "The errors are sigma z cos(P v.x) v and -sigma P z sin(P v.x) v v^T with E z^2 = 1, E z^4 = kurtosis"
    of_gradient = exact("local_gradient_noise", bowl.noise, f"{errors}: at 0.", origin)
    turned = of_gradient.formula * Formula(bowl.noise_wavenumber, "P")
    of_hessian = attained("local_hessian_noise", turned, f"{errors}: at P v.x = pi/2.", *crest)
    yield of_gradient
    yield of_hessian
    for name, of, points in (("gradient", of_gradient, origin), ("hessian", of_hessian, crest)):
        yield attained(f"local_{name}_fourth_moment", kurtosis.fourth_moment * of.formula**4, f"{errors}.", *points)


def _heterogeneity_certificates(bowl: RippledBowl) -> Iterator[Certificate]:
    share = Formula(math.sqrt(float((pair_signs(bowl.clients) ** 2).mean())), "sqrt(mean s_i^2)")
    differ = "f_i - f = s_i Delta sin(p v_i.x)/p"
    apart = share * Formula(bowl.heterogeneity, "Delta")
    yield attained("local_gradient_heterogeneity", apart, f"{differ}: all slopes are largest at 0.", (0.0,) * bowl.dim)
    crest, all_reached = _common_crest(bowl)
    bent, most = share * Formula(bowl.client_wave.smoothness, "Delta p", WORDS), "all curve most where p v_i.x = pi/2"
    if all_reached:
        points = (as_point(crest),)
        yield exact("local_hessian_heterogeneity", bent, f"{differ}: {most}.", points, attains=1.0 - 1e-9)
    else:
        yield upper("local_hessian_heterogeneity", bent, f"{differ}: {most}.")


def _common_crest(bowl: RippledBowl) -> tuple[Tensor, bool]:
    """The x with p v_i.x = pi/2 for every i, and whether it exists (the distinct v_i are independent)."""
    if bowl.heterogeneity == 0:
        return torch.zeros(bowl.dim, dtype=torch.float64), True
    directions = bowl.directions.cpu()
    wanted = torch.full((bowl.clients, 1), math.pi / 2 / bowl.client_wavenumber, dtype=torch.float64)
    crest = torch.linalg.pinv(directions) @ wanted
    return crest[:, 0], bool((directions @ crest - wanted).abs().max() < 1e-9 * wanted[0, 0])


def _far_crest(bowl: RippledBowl) -> Tensor:
    """A far point t v_0 at a crest of the slope of the ripples that is nearly one of the client wave too."""
    step = 2 * math.pi / bowl.ripple.wavenumber
    first = _FAR * bowl.radial.width / (step * math.sqrt(bowl.dim))
    counts = math.ceil(first) + torch.arange(_CRESTS, dtype=torch.float64)
    radius = math.sqrt(bowl.dim) * (math.pi / 2 / bowl.ripple.wavenumber + step * counts)
    best = int(torch.cos(bowl.client_wavenumber * radius).argmax())
    return bowl.directions[0].cpu() * radius[best]


def _for_client_0(bowl: RippledBowl, point: Tensor) -> Tensor:
    return point.to(bowl.directions.device).expand(1, bowl.clients, -1)


def infimum_of_losses(bowl: RippledBowl) -> float:
    """A lower bound of the mean over the clients of inf f_i (so of every F built from values of the f_i).

    f_i >= bowl(t) - |s_i| Delta min(|t|, 1/p) with t = |v_i.x|, and inf_t A (sqrt(w^2 + t^2) - w) - Delta t is
    w (sqrt(A^2 - Delta^2) - A) when Delta < A.
    """
    delta, (A, width) = bowl.heterogeneity, (bowl.radial.lipschitz, bowl.radial.width)
    if delta == 0:
        return 0.0
    flat = -delta / bowl.client_wavenumber
    leaning = width * (math.sqrt((A - delta) * (A + delta)) - A) if delta < A else -math.inf
    return max(flat, leaning) * float(pair_signs(bowl.clients).abs().mean()) * (1 + 1e-12)
