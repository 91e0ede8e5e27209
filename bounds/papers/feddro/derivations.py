"""FedDRO: the derivations that the kernel checks; docs/theory/feddro.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import Certificate, Corollary, Reader
from . import PAPER
from .derivation_main import theorem_5_1
from .derivation_modified import theorem_4_2


def corollary_1(s: Reader) -> Corollary:
    """The schedule put into Theorem 5.1: 1 + (I-1)^2/I <= I, and I^(5/4) <= T^(1/2)/(bK)^(3/2) for the drift."""
    ones = [name for name in s.params if name not in ("L_Phi", "eta", "beta", "T")]
    inside = dict.fromkeys(ones, Fraction(1)) | {"T": Fraction(10**10)}
    bk, noise = s.b * s.K, s.sigma_h**2 + s.B_f**2 * s.sigma_g**2
    unlike = s.Delta_h**2 + s.B_f**2 * s.Delta_g**2
    main = 2 * s.B_g**2 * s.L_f**2 / s.beta
    weight = 4 * main + 6 * s.B_g**2 * s.L_Phi * s.L_f**2 * s.eta + 4 * s.L_f**2 * s.sigma_g**2 / bk
    inner = s.B_g**2 * s.eta**2 / bk
    by_noise, by_unlike = 18 * inner * noise / s.b, 54 * inner * unlike
    pull = Fraction(9, 2) * (s.L_h**2 + s.B_f**2 * s.L_g**2 + 2 * s.B_g**4 * s.L_f**2)
    drift = {
        name: pull * s.eta**2 * size for name, size in (("variance", 4 * noise / s.b), ("heterogeneity", 12 * unlike))
    }
    certificates: dict[str, Certificate] = {
        f"term drift_{name}": (
            (factor * s.I ** Fraction(3, 4), ("local_updates^5/4",)),
            (2 * factor, ("I>=1",)),
        )
        for name, factor in drift.items()
    }
    certificates["term inner_variance"] = (
        (main * (by_noise * s.I + 24 * inner * noise / bk), ("weight",)),
        (by_noise * weight / s.I, ("I>=1",)),
    )
    certificates["term inner_heterogeneity"] = (
        (main * by_unlike * s.I, ("weight",)),
        (by_unlike * weight / s.I, ("I>=1",)),
    )
    return Corollary(PAPER.theorem("feddro.theorem_5_1"), inside, (("local_updates", Fraction(5, 4)),), certificates)


DERIVATIONS = (("theorem_5_1", theorem_5_1), ("theorem_4_2", theorem_4_2), ("corollary_1", corollary_1))
