"""FCSG: what its derivations share with those of FCSG-M and Acc-FCSG-M, and the derivations that the kernel checks."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import (
    MEAN_SQUARE,
    Act,
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
from ...proof.tactics import averaged_rounds, smooth_composition, smooth_descent, smooth_mean
from . import PAPER

# --- the problem and the method, as the kernel has them ----------------------------------------------------------------


OUTER, INNER = "not stated: independence of outer samples", "not stated: independence of inner samples"
X, AFTER = Var("x"), Var("x", 1)
V, W = Var("v"), Var("w")


class Fcsg:
    """A derivation for the conditional problem, whose models step by -alpha u and are averaged at communications."""

    def __init__(self, s: Reader):
        proof = self.proof = Proof(s, time="not stated: independence over time")
        self.s, self.clients = s, proof.clients(s.N)
        self.batch, self.inner = proof.batch("i", s.b, OUTER, s.B), proof.batch("j", s.m, INNER)
        proof.source("xi", "n i", OUTER)
        proof.source("eta", "n i j", INNER)
        self.df = proof.function("df", "y -> dy", "xi", role="outer_gradient", mean_per="n")
        self.g = proof.function("g", "x -> y", "xi eta", role="inner_value", mean_per="n")
        self.dg = proof.function("dg", "x -> (x, dy)", "xi eta", role="inner_jacobian", mean_per="n")
        self.here, self.there = self.clients(X), self.clients(AFTER)
        self.product = s.L_f**2 * s.L_g**2
        """Bounds the second moment of a stochastic gradient."""
        self.delta = s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
        """Bounds the squared bias of a stochastic gradient."""

    def steps(self, direction: Term) -> None:
        """The models, once the estimates that they step along are declared."""
        proof, moved = self.proof, X - self.s.alpha * direction
        proof.variable("x", "x", "n", local=moved, communication=self.clients(moved))
        proof.free("v w", "x", "n")
        proof.free("p r", "x")
        proof.objective("F", lambda x: self.clients(self.gradient(x)), "7")

    # --- vectors ----------------------------------------------------------------------------------------------------------

    def away(self, term: Term) -> Term:
        return term - self.clients(term)

    def exact(self, x: Term) -> Term:
        """The gradient of f_xi at the mean of g."""
        return self.df(self.g(x, 0), 0)

    def drawn(self, x: Term) -> Term:
        """The gradient of f_xi at the mean of an inner batch."""
        return self.df(self.inner(self.g(x, 0, 0)), 0)

    def sampled(self, x: Term) -> Term:
        """The stochastic gradient of Fhat^n for one outer sample and m inner samples."""
        return Act(self.inner(self.dg(x, 0, 0)), self.drawn(x))

    def plug_in(self, x: Term) -> Term:
        """grad Fhat^n."""
        return self.proof.given(self.sampled(x))

    def gradient(self, x: Term) -> Term:
        """grad F^n."""
        return self.proof.given(Act(self.dg(x, 0), self.exact(x)))

    # --- assumptions ------------------------------------------------------------------------------------------------------

    def jacobian(self, x: Term, *drawn: int) -> str:
        return self.proof.bound("L_g", self.dg(x, *drawn), per=MEAN_SQUARE, given=self.proof.past)

    def batch_jacobian(self, x: Term) -> str:
        return self.proof.jensen(self.jacobian(x, 0, 0), "j")

    # --- shared arguments -------------------------------------------------------------------------------------------------

    def smoothness(self) -> None:
        """Lemma A.2(b), `smooth client` and `smooth`: grad F^n and grad F are S_F-Lipschitz."""
        s, proof, g, dg, h = self.s, self.proof, self.g, self.dg, self.exact
        proof.bounded("L_f", "df")
        lipschitz = proof.bound("S_f", h(V), h(W)), proof.bound("L_g", g(V, 0), g(W, 0), per=MEAN_SQUARE)
        first = s.S_f * s.L_g**2, (self.jacobian(V, 0), *lipschitz)
        second = s.S_g * s.L_f, (proof.bound("S_g", dg(V, 0), dg(W, 0), h(W), per=MEAN_SQUARE),)
        client = smooth_composition(proof, lambda x: dg(x, 0), h, s.S_F, first, second, points=(V, W), wrap=proof.given)
        p, r = proof.points
        smooth_mean(proof, self.clients, self.gradient, s.S_F, proof.at(client, v=p, w=r))

    def bias(self) -> None:
        """Lemma A.2(a), `bias`: of the plug-in gradient."""
        proof, drawn, exact = self.proof, self.drawn(V), self.exact(V)
        proof.claim(
            "bias",
            sq(self.plug_in(V) - self.gradient(V)) <= self.delta,
            proof.act(self.batch_jacobian(V), drawn - exact, why="conditional Cauchy-Schwarz"),
            proof.bound("S_f", drawn, exact),
            proof.independent(self.g(V, 0, 0) - self.g(V, 0), "j", given="xi"),
            proof.bound("sigma_g", self.g(V, 0, 0)),
            why="E[grad ghat | xi] = grad g, so only the argument of grad f differs",
        )

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
        for name, meaning in quantities.items():
            self.proof.quantity(name, meaning)
        self.proof.quantity("gradient", sq(self.clients(self.gradient(self.here))))
        self.proof.quantity("F", value("F", self.here))


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
