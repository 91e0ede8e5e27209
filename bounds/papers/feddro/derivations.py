"""FedDRO: the derivations that the kernel checks; docs/theory/feddro.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Act, Derivation, Drift, Reader, quantity, sq, total
from ...proof.kernel import Certificate, Corollary
from ...proof.tactics import smooth_descent
from . import PAPER
from .derivation_main import NINE_EIGHTHS, START, FedDro, X, theorem_5_1

# --- Theorem 4.2: the modified FedAvg, without noise and with h = 0 --------------------------------------------------


def distance(dro: FedDro) -> None:
    """||grad Phi(xbar) - D||^2 <= 2 (B_f^2 L_g^2 + B_g^4 L_f^2) X."""
    s, proof, dg, here, away = dro.s, dro.proof, dro.dg, dro.here, dro.away
    at_mean = dro.outer(here)
    change, gap = Act(dg(here) - dg(X), at_mean), at_mean - dro.df(dro.y)
    proof.claim(
        "distance",
        sq(dro.gradient(here) - dro.clients(dro.direction))
        <= 2 * (dro.rough + s.B_g**2 * dro.by_value) * quantity("X"),
        proof.bound("L_g", dg(here), dg(X), at_mean),
        proof.act(dro.mean_jacobian(X), gap),
        proof.bound("L_f", at_mean, dro.df(dro.y)),
        dro.lipschitz(here, X),
        squares=(
            dro.clients(change) - Act(dro.clients(dg(X)), gap),
            away(change),
            away(dro.g(here) - dro.g(X)),
        ),
        why="the Jacobians at xbar and at x_k, then the arguments of grad f",
    )


def consensus(dro: FedDro) -> None:
    """||d - D||^2 <= 6 B_f^2 L_g^2 X + 3 B_f^2 Delta_g^2, and how far the models part."""
    s, proof = dro.s, dro.proof
    bound = dro.unlike_composed()
    proof.claim("growth", sq(s.eta * dro.away(dro.direction)) <= s.eta**2 * bound, "unlike")
    proof.step("drift", Drift("X", "apart", "agree", START, "growth"))
    proof.claim(
        "consensus",
        total("X") <= 3 * NINE_EIGHTHS * (s.B_f * s.Delta_g * s.eta * (s.I - 1)) ** 2 * s.T,
        given={"drift": NINE_EIGHTHS},
        why="A <= a A + c with a <= 1/9; (I-1)(2I-1)/6 <= (I-1)^2",
    )


def theorem_4_2(s: Reader) -> Derivation:
    """Descent with the consensus error of a round in which every client moves by its own Jacobian."""
    dro = FedDro(s, sampled=False)
    dro.smoothness()
    dro.rounds()
    distance(dro)
    consensus(dro)
    bias = 2 * (dro.rough + s.B_g**2 * dro.by_value) * quantity("X")
    smooth_descent(
        dro.proof, s.eta, s.L_Phi, dro.here, dro.there, 0 * s.L_Phi, bias, "mean", "distance", objective="Phi"
    )
    inside = {"eta": Fraction(1, 9)}
    return dro.proof.qed("descent, summed", "infimum", "consensus", metric="gradient", model="x", inside=inside)


# --- Corollary 1 ------------------------------------------------------------------------------------------------------


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
