"""FCSG: the derivation of the corrected Theorem 4.1, for the kernel of bounds/proof; docs/theory/fcsg.md comments on it."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Derivation, Drift, Reader, Var, quantity, sq
from ...proof.kernel import Corollary
from ...proof.tactics import smooth_descent
from . import PAPER
from .derivation_problem import Fcsg, X


def theorem_4_1(s: Reader) -> Derivation:
    """FCSG: descent with the consensus error of step 1, the bias and the noise."""
    fcsg = Fcsg(s)
    proof, here, drawn = fcsg.proof, fcsg.here, fcsg.sampled(X)
    clients, batch, used = fcsg.clients, fcsg.batch, Var("u", 1)
    proof.variable("u", "x", "n", every=batch(drawn))
    fcsg.steps(used)
    fcsg.named(X=sq(fcsg.away(X)))
    error, estimate = quantity("X"), proof.update("u", name="estimate")
    for argument in (fcsg.smoothness, fcsg.bias, fcsg.second_moment):
        argument()
    fcsg.rounds(used)
    proof.claim(
        "growth",
        sq(s.alpha * fcsg.away(used)) <= s.alpha**2 * fcsg.product,
        "moment",
        estimate,
        squares=(drawn - batch(drawn),),
        why="averaging only lowers a second moment",
    )
    proof.step("drift", Drift("X", "apart", "agree", "Algorithm 1, line 2", "growth"), "the mean of j^2 over a round")
    proof.cases("noise", fcsg.noise("first", s.b), fcsg.noise("later", s.b))
    full, exact, plug_in = fcsg.gradient(here), fcsg.gradient(X), fcsg.plug_in(X)
    proof.claim(
        "distance",
        sq(clients(full) - clients(plug_in)) <= 2 * s.S_F**2 * error + 2 * fcsg.delta,
        proof.at("smooth client", v=here, w=X),
        proof.at("bias", v=X),
        squares=(clients(full - 2 * exact + plug_in), fcsg.away(full - exact), fcsg.away(exact - plug_in)),
        why="||a + c||^2 <= 2||a||^2 + 2||c||^2 and Jensen over the clients",
    )
    bias = 2 * s.S_F**2 * error + 2 * fcsg.delta
    mean_estimate = proof.mean(estimate, "n")
    smooth_descent(
        proof,
        s.alpha,
        s.S_F,
        here,
        fcsg.there,
        fcsg.product / (s.N * s.b),
        bias,
        "mean",
        mean_estimate,
        "noise",
        "distance",
    )
    inside = {"alpha": Fraction(1, 4)}
    return proof.qed("descent, summed", "infimum", "drift", metric="gradient", model="x", inside=inside)


def at_schedule(*names: str) -> dict[str, Fraction]:
    """A point inside for the schedules: T = 16, so that q = 2 for one client."""
    constants = ("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "m", "b", "B", "N", *names)
    return dict.fromkeys(constants, Fraction(1)) | {"T": Fraction(16)}


HORIZON_AND_ROUNDS = (("horizon", Fraction(1, 2)), ("q_choice", Fraction(2)))
"""T^(1/2) >= N^(3/2), for step sizes that are limited by T >= N^3; q^2 <= (T/N^3)^(1/2), for the drift."""


def corollary_4_2(_: Reader) -> Corollary:
    """The schedule put into Theorem 4.1; (q-1)(2q-1) <= 2q^2."""
    return Corollary(PAPER.theorem("fcsg.theorem_4_1"), at_schedule("q"), HORIZON_AND_ROUNDS)


DERIVATIONS = (("theorem_4_1", theorem_4_1), ("corollary_4_2", corollary_4_2))
