"""The certificates of local losses f_i that are tilted bowls with three-valued noise, and lower bounds of what is made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ..certificate import Certificate, as_point, attained, exact, upper
from .bowl import RippledBowl
from .noise import Kurtosis
from .patterns import pair_signs

_FAR = 1000.0  # bowl widths at which the bowl's slope is 0.9999995 of its supremum
_NEARLY_ALL = 0.9999
_CRESTS = 2000  # crests of the ripples tried for one that is also a crest of the client wave


def loss_certificates(bowl: RippledBowl, kurtosis: Kurtosis) -> Iterator[Certificate]:
    """Every `local_...` constant of f_i = a tilted `RippledBowl` whose noise has the given fourth moment."""
    lipschitz = bowl.lipschitz + bowl.heterogeneity
    far = _far_crest(bowl)
    attained = float(torch.linalg.vector_norm(bowl.gradient(_for_client_0(bowl, far)), dim=-1)[0, 0]) / lipschitz
    yield Certificate(
        "local_gradient_bound",
        lipschitz,
        "upper",
        "Bowl, ripples and client term each at their steepest.",
        witness=min(1.0, attained) * (1 - 1e-12),
        points=(as_point(far),),
    )
    yield upper("local_smoothness", bowl.smoothness, "The largest curvatures of the three terms, added.")
    yield upper(
        "local_hessian_lipschitz", bowl.hessian_lipschitz, "The largest third derivatives of the three terms, added."
    )
    yield from _sample_certificates(bowl, kurtosis)
    yield from _noise_certificates(bowl, kurtosis)
    yield from _heterogeneity_certificates(bowl)


def _sample_certificates(bowl: RippledBowl, kurtosis: Kurtosis) -> Iterator[Certificate]:
    largest, wave = kurtosis.largest * bowl.noise, bowl.noise_wavenumber
    adds = "The noise sigma z sin(P v.x)/P with |z| <= sqrt(k) adds at most its own"
    yield upper("local_sample_gradient_bound", bowl.lipschitz + bowl.heterogeneity + largest, f"{adds} slope.")
    yield upper("local_sample_smoothness", bowl.smoothness + largest * wave, f"{adds} curvature.")
    yield upper(
        "local_sample_hessian_lipschitz", bowl.hessian_lipschitz + largest * wave**2, f"{adds} third derivative."
    )


def _noise_certificates(bowl: RippledBowl, kurtosis: Kurtosis) -> Iterator[Certificate]:
    sigma_G, sigma_H = bowl.noise, bowl.noise * bowl.noise_wavenumber
    origin = (as_point(torch.zeros(bowl.dim)),)
    crest = (as_point(bowl.directions[0] * (math.pi / 2 / bowl.noise_wavenumber)),)
    law = "with E z^2 = 1, E z^4 = k"
    errors = f"The errors are sigma z cos(P v.x) v and -sigma P z sin(P v.x) v v^T {law}"
    yield exact("local_gradient_noise", sigma_G, f"{errors}: at 0.", origin)
    yield attained("local_hessian_noise", sigma_H, f"{errors}: at P v.x = pi/2.", *crest)
    yield attained("local_gradient_fourth_moment", kurtosis.k * sigma_G**4, f"{errors}: at 0.", *origin)
    yield attained("local_hessian_fourth_moment", kurtosis.k * sigma_H**4, f"{errors}: at P v.x = pi/2.", *crest)


def _heterogeneity_certificates(bowl: RippledBowl) -> Iterator[Certificate]:
    share = math.sqrt(float((pair_signs(bowl.clients) ** 2).mean()))
    gamma_G, gamma_H = share * bowl.heterogeneity, share * bowl.client_wave.smoothness
    differ = "f_i - f = s_i Delta sin(p v_i.x)/p, and the mean of s_i^2 is at most 1"
    yield attained(
        "local_gradient_heterogeneity",
        gamma_G,
        f"{differ}: all slopes are largest at 0.",
        as_point(torch.zeros(bowl.dim)),
    )
    crest, all_reached = _common_crest(bowl)
    kind = "exact" if all_reached else "upper"
    yield Certificate(
        "local_hessian_heterogeneity",
        gamma_H,
        kind,
        f"{differ}: all curve most where p v_i.x = pi/2.",
        witness=1.0 - 1e-9 if all_reached else None,
        points=(as_point(crest),) if all_reached else (),
    )


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
