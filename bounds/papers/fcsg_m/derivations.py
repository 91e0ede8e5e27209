"""FCSG-M: the derivation of the corrected Theorem 4.4; problem, noise and consensus are those of FCSG."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Derivation, Drift, Reader, Signomial, Term, Var, quantity, sq, total
from ...proof.kernel import Corollary
from ...proof.tactics import (
    averaged_estimate,
    averaged_updates,
    bounded_momentum,
    descent_along,
    summed_descent,
)
from ..fcsg.derivations import HORIZON_AND_ROUNDS, Fcsg, V, W, X, at_schedule
from . import PAPER

BEFORE, U, NEW = Var("x", -1), Var("u"), Var("u", 1)


def estimates(fcsg: Fcsg, started: Term, moved: Term) -> None:
    """The update equations, their means, and the second moment of an estimate by induction."""
    proof, clients, G = fcsg.proof, fcsg.clients, fcsg.sampled(X)
    averaged_estimate(proof, clients, "u", started, moved)
    direction = fcsg.batch(G), "moment"
    directions = {"first": direction, "later": direction}
    bounded_momentum(
        proof, clients, "u", "u_squared", fcsg.s.beta, fcsg.product, directions, squares=(G - fcsg.batch(G),)
    )


def tracking(fcsg: Fcsg, lost: Fraction) -> None:
    """Lemma C.2 with 1/(N b): the error of the mean estimate forgets at rate beta, less the part that Young's inequality gives away."""
    s, proof, clients, here, before = fcsg.s, fcsg.proof, fcsg.clients, fcsg.here, fcsg.clients(BEFORE)
    plug_in, product, beta, distance, kept = fcsg.plug_in, fcsg.product, s.beta, quantity("X"), 1 - lost
    target, target_before, known = clients(plug_in(here)), clients(plug_in(before)), clients(plug_in(X))
    old, moved, away = clients(U) - target_before, target_before - target, known - target
    gap, gap_before = plug_in(X) - plug_in(here), plug_in(here) - plug_in(before)
    apart = proof.at("plug", v=X, w=here)
    first_noise, later_noise = fcsg.noise("first", s.B), fcsg.noise("later", s.b)
    proof.claim(
        "tracking",
        quantity("E")
        <= (1 - kept * beta) * quantity("E", -1)
        + s.alpha**2 * s.S_F**2 / (lost * beta) * quantity("W", -1)
        + beta * s.S_F**2 * distance
        + beta**2 * product / (s.N * s.b),
        later_noise,
        apart,
        proof.at("plug", v=here, w=before),
        proof.later("mean", -1),
        "mean u, later",
        squares=(
            old + moved - away,
            old - (1 - beta) / (lost * beta) * moved,
            moved,
            fcsg.away(gap),
            fcsg.away(gap_before),
        ),
        why="convexity, then Young's inequality; the fresh noise is orthogonal",
    )
    started = quantity("E") <= s.S_F**2 * distance + product / (s.N * s.B)
    proof.claim("tracking, first", started, first_noise, apart, "mean u, first", squares=(fcsg.away(gap),))
    proof.claim("together", distance <= 0 * s.S_F, "Algorithm 1, line 2")
    later = proof.later("tracking")
    proof.claim(
        "errors",
        total("E")
        <= s.alpha**2 * s.S_F**2 / (lost * kept * beta**2) * total("W")
        + s.S_F**2 / kept * total("X")
        + beta * product * s.T / (kept * s.N * s.b)
        + product / (kept * beta * s.N * s.B),
        proof.sum(later, drop=1),
        proof.at_start("tracking, first"),
        proof.at_start("together"),
    )


def theorem_4_4(s: Reader) -> Derivation:
    """FCSG-M: descent along the mean estimate, whose error is tracked; Lemma C.1 as printed."""
    weights = Fraction(4), Fraction(4), 8 * s.S_F**2
    return _tracked(s, Fraction(1, 2), *weights)


def theorem_4_4_sharpened(s: Reader) -> Derivation:
    """The same with all that Lemma C.1 gives, and with as little of the forgetting given away as the condition on the direction admits."""
    return _tracked(s, Fraction(1, 8), Fraction(5, 2), Fraction(5, 3), 0 * s.S_F)


def _tracked(s: Reader, lost: Fraction, bias: Fraction, error: Fraction, apart: Signomial) -> Derivation:
    """Both proofs.

    Args:
        lost: how much of the forgetting is given away.
        bias, error, apart: in the bound of ||grad F - ubar||^2 the weights of the bias, of the error of the estimate, and of X.
    """
    fcsg = Fcsg(s)
    proof, clients, here, gradient, plug_in = fcsg.proof, fcsg.clients, fcsg.here, fcsg.gradient, fcsg.plug_in
    started = fcsg.batch(fcsg.sampled(X))
    moved = (1 - s.beta) * U + s.beta * started
    proof.variable("u", "x", "n", **averaged_updates(clients, started, moved))
    fcsg.steps(NEW)
    mean_u, target = clients(NEW), clients(plug_in(here))
    fcsg.named(X=sq(fcsg.away(X)), u_squared=sq(U), W=sq(mean_u), E=sq(mean_u - target))
    fcsg.smoothness()
    fcsg.plug_in_bias()
    fcsg.smooth_gradient("plug", V, W)
    fcsg.second_moment()
    fcsg.rounds(NEW)
    estimates(fcsg, started, moved)
    proof.claim("growth", sq(s.alpha * fcsg.away(NEW)) <= s.alpha**2 * fcsg.product, "size")
    proof.step("drift", Drift("X", "apart", "agree", "Algorithm 1, line 2", "growth"))
    tracking(fcsg, lost)
    proof.smooth("F", "smooth", s.S_F, here, fcsg.there)
    wrong = bias * fcsg.delta + error * quantity("E") + apart * quantity("X")
    descent_along(
        proof,
        s.alpha,
        s.S_F,
        quantity("W"),
        wrong,
        proof.at("bias", v=here),
        "mean",
        squares=(
            (bias - 1) * (clients(gradient(here)) - target) - (target - mean_u),
            fcsg.away(gradient(here) - plug_in(here)),
        ),
        why="Lemma C.1: as it is printed it has the last two terms twice, and one with X that nothing needs",
    )
    summed_descent(proof)
    inside = {"alpha": Fraction(1, 10)}
    return proof.qed("descent, summed", "infimum", "errors", "drift", metric="gradient", model="x", inside=inside)


def corollary_4_5(_: Reader) -> Corollary:
    """The schedule put into Theorem 4.4: beta = 5 S_F alpha."""
    return Corollary(PAPER.theorem("fcsg_m.theorem_4_4"), at_schedule("q"), HORIZON_AND_ROUNDS)


DERIVATIONS = (("theorem_4_4", theorem_4_4), ("corollary_4_5", corollary_4_5))
SHARPENED = (("theorem_4_4", theorem_4_4_sharpened),)
