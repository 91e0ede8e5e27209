"""Modified FedAvg: the derivation of the corrected Theorem 4.2, without noise and with h = 0."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Act, Derivation, Drift, Reader, quantity, sq, total
from ...proof.tactics import smooth_descent
from .derivation_problem import START, FedDro, X

NINE_EIGHTHS = Fraction(9, 8)


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
