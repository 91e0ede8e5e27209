"""FCSG: what its derivations share with those of FCSG-M and Acc-FCSG-M, and the derivations that the kernel checks."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import (
    Derivation,
    Drift,
    Proof,
    Reader,
    Scalar,
    Signomial,
    Term,
    Var,
    quantity,
    sq,
    value,
)
from ...proof.kernel import Corollary
from ...proof.tactics import Conditional, averaged_rounds, smooth_descent, smooth_mean
from . import PAPER

# --- the problem and the method, as the kernel has them ----------------------------------------------------------------


OUTER, INNER = "not stated: independence of outer samples", "not stated: independence of inner samples"
X, AFTER = Var("x"), Var("x", 1)
V, W = Var("v"), Var("w")


class Fcsg(Conditional):
    """A derivation for the conditional problem, whose models step by -alpha u and are averaged at communications."""

    def __init__(self, s: Reader):
        proof = Proof(s, time="not stated: independence over time")
        super().__init__(proof, s, "L_f S_f L_g S_g sigma_g S_F", OUTER, INNER, first=s.B)
        self.here, self.there = self.clients(X), self.clients(AFTER)

    def steps(self, direction: Term) -> None:
        """The models, once the estimates that they step along are declared."""
        proof, moved = self.proof, X - self.s.alpha * direction
        proof.variable("x", "x", "n", local=moved, communication=self.clients(moved))
        proof.free("v w", "x", "n")
        proof.free("p r", "x")
        proof.objective("F", lambda x: self.clients(self.gradient(x)), "7")

    def away(self, term: Term) -> Term:
        return term - self.clients(term)

    # --- shared arguments -------------------------------------------------------------------------------------------------

    def smoothness(self) -> None:
        """Lemma A.2(b), `smooth client` and `smooth`: grad F^n and grad F are S_F-Lipschitz."""
        client = self.smooth_gradient("smooth client", V, W, with_batch=False)
        p, r = self.proof.points
        smooth_mean(self.proof, self.clients, self.gradient, self.s.S_F, self.proof.at(client, v=p, w=r))

    def plug_in_bias(self) -> None:
        """Lemma A.2(a), `bias`: of the plug-in gradient."""
        self.bias(V, self.batch_jacobian(V), self.plug_in(V) - self.gradient(V))

    def second_moment(self, x: Term = X) -> str:
        """`moment`: E||G||^2 <= L_f^2 L_g^2."""
        return self.proof.act(self.batch_jacobian(x), self.drawn(x), bounded=True, name="moment")

    def noise(self, when: str, size: Signomial) -> str:
        """The mean gradient deviates from its conditional mean by L^2/(N size) at the first step, or later."""
        proof, first = self.proof, when == "first"
        noise = self.sampled(X) - self.plug_in(X)
        claimed = sq(self.clients(self.batch(noise))) <= self.product / (self.s.N * size)
        over_clients, over_batch = (
            proof.independent(self.batch(noise), "n"),
            proof.independent(noise, "i", first=first, name=f"independence over i, {when}"),
        )
        why = "a variance is at most a second moment"
        return proof.claim(f"noise, {when}", claimed, over_clients, over_batch, "moment", why=why)

    def rounds(self, direction: Term) -> None:
        averaged_rounds(self.proof, self.clients, self.s.alpha, direction, "Algorithm 1, line 2")

    def named(self, **quantities: Scalar) -> None:
        """Quantities, with the squared gradient and the value of F at the mean model."""
        gradient = sq(self.clients(self.gradient(self.here)))
        self.proof.named(**quantities, gradient=gradient, F=value("F", self.here))


# --- the derivations ---------------------------------------------------------------------------------------------------


def theorem_4_1(s: Reader) -> Derivation:
    """FCSG: descent with the consensus error of step 1, the bias and the noise."""
    fcsg = Fcsg(s)
    proof, here, drawn = fcsg.proof, fcsg.here, fcsg.sampled(X)
    clients, batch, used = fcsg.clients, fcsg.batch, Var("u", 1)
    proof.variable("u", "x", "n", every=batch(drawn))
    fcsg.steps(used)
    fcsg.named(X=sq(fcsg.away(X)))
    error, estimate = quantity("X"), proof.update("u", name="estimate")
    for argument in (fcsg.smoothness, fcsg.plug_in_bias, fcsg.second_moment):
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
    variance, bias = fcsg.product / (s.N * s.b), 2 * s.S_F**2 * error + 2 * fcsg.delta
    reasons = "mean", proof.mean(estimate, "n"), "noise", "distance"
    smooth_descent(proof, s.alpha, s.S_F, here, fcsg.there, variance, bias, *reasons)
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
