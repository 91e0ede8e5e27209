"""Local-SCGDM, for the kernel: problem, method, assumptions, and what follows from the update equations."""

from __future__ import annotations

from ...language.bounding import MEAN
from ...proof.author import ONE, Act, Proof, Reader, Term, Var, quantity, sq, value
from ...proof.kernel import CLIENTS, App, parameter
from ...proof.tactics import (
    averaged_estimate,
    averaged_rounds,
    averaged_updates,
    bounded_momentum,
    smooth_composition,
    smooth_mean,
)

SAMPLES, START, OWN = "not stated: samples", "not stated: start", "not stated: clients"
X, U, MOMENTUM = Var("x"), Var("u"), Var("m")
NEXT_U, NEW = Var("u", 1), Var("m", 1)


class LocalScgdm:
    """The problem, the method, and the abbreviations of docs/theory/local_scgdm.md.

    `averaged`: line 13 stands, and the inner maps are equal, case (A); else it is deleted, and they are free, case (B).
    """

    def __init__(self, s: Reader, *, averaged: bool):
        self.s, self.averaged = s, averaged
        proof = self.proof = Proof(s, time=SAMPLES)
        clients = self.clients = proof.index("k", parameter("K", count=True), of=CLIENTS)
        for source in ("xi", "zeta"):
            proof.source(source, "k", SAMPLES, joint="k")
        equal = OWN if averaged else ""
        self.df = proof.function("df", "y -> dy", "zeta", role="outer_gradient", per="k")
        self.g = proof.function("g", "x -> y", "xi", role="inner_value", per="k", equal=equal)
        self.dg = proof.function("dg", "x -> (x, dy)", "xi", role="inner_jacobian", per="k", equal=equal)
        self.w, self.c, self.step = s.gamma * s.eta, s.alpha * s.eta, s.beta * s.eta
        self.product = s.C_f**2 * s.C_g**2
        """Bounds the second moment of a direction."""
        self.by_value = s.C_g**2 * s.L_f**2
        self.far = (s.p - 1) ** 2 * self.step**2 * self.product
        """Bounds the consensus error."""
        self.value, self.jacobian = self.g(X, 0), self.dg(X, 0)
        self.estimate = {"first": self.value, "later": (1 - self.w) * U + self.w * self.value}
        """u before line 13."""
        self.direction = {when: Act(self.jacobian, self.df(at, 0)) for when, at in self.estimate.items()}
        """z of line 8."""
        self.momentum = {
            "first": self.direction["first"],
            "later": (1 - self.c) * MOMENTUM + self.c * self.direction["later"],
        }
        """m before line 14."""
        updates = averaged_updates(clients, **self.estimate) if averaged else self.estimate
        proof.variable("u", "y", "k", **updates)
        proof.variable("m", "x", "k", **averaged_updates(clients, **self.momentum))
        moved = X - self.step * NEW
        proof.variable("x", "x", "k", local=moved, communication=clients(moved))
        proof.free("v w", "x", "k")
        proof.free("p r", "x")
        proof.objective("F", lambda x: clients(self.client_gradient(x)), "not stated: chain rule")
        self.here, self.there, self.before = clients(X), clients(Var("x", 1)), clients(Var("x", -1))
        self.gradient = clients(self.client_gradient(self.here))
        proof.quantity("X", sq(self.away(X)))
        proof.quantity("m_squared", sq(MOMENTUM))
        gap = (clients(NEXT_U) if averaged else NEXT_U) - self.g(self.here)
        proof.quantity("U", sq(gap))
        if averaged:
            proof.quantity("R", sq(self.away(U)))
        proof.quantity("E", sq(clients(NEW) - self.gradient))
        proof.quantity("M", sq(clients(NEW)))
        proof.quantity("gradient", sq(self.gradient))
        proof.quantity("F", value("F", self.here))

    def away(self, term: Term) -> Term:
        """The deviation from the mean over the clients."""
        return term - self.clients(term)

    def client_gradient(self, x: Term) -> Term:
        """grad F_k."""
        return Act(self.dg(x), self.df(self.g(x)))

    def expected(self, when: str) -> Term:
        """The estimate with the inner value in the place of its sample."""
        return self.g(X) if when == "first" else (1 - self.w) * U + self.w * self.g(X)

    def smoothness(self) -> None:
        """`smooth client` and `smooth`: grad F_k and grad F are L_F-Lipschitz."""
        s, proof, v, w = self.s, self.proof, Var("v"), Var("w")

        def outer(x: Term) -> App:
            return self.df(self.g(x))

        proof.bounded("C_f", "df", per=MEAN)
        lipschitz = proof.bound("L_f", outer(v), outer(w)), proof.bound("C_g", self.g(v), self.g(w), per=MEAN)
        first = s.C_g**2 * s.L_f, (proof.bound("C_g", self.dg(v), per=MEAN), *lipschitz)
        second = s.C_f * s.L_g, (proof.bound("L_g", self.dg(v), self.dg(w), outer(w)),)
        client = smooth_composition(proof, self.dg, outer, s.L_F, first, second, points=(v, w))
        p, r = proof.points
        smooth_mean(proof, self.clients, self.client_gradient, s.L_F, proof.at(client, v=p, w=r))

    def rounds(self) -> None:
        """The update equations, and where the models go."""
        proof = self.proof
        averaged_rounds(proof, self.clients, self.step, NEW, START, index="k")
        proof.later("mean", -1)
        proof.claim("together", quantity("X") <= 0 * ONE, START)
        averaged_estimate(proof, self.clients, "m", **self.momentum, index="k")
        if self.averaged:
            averaged_estimate(proof, self.clients, "u", **self.estimate, index="k")
        else:
            proof.update("u", "first local", name="u, first")
            proof.update("u", "local", name="u, later")

    def sizes(self) -> None:
        """`moment` of a Jacobian, and `size`: a momentum is a convex combination of directions."""
        proof = self.proof
        moment = proof.bound("C_g", self.jacobian, given=proof.past, name="moment")
        directions = {}
        for when, at in self.estimate.items():
            outer = proof.bound("C_f", self.df(at, 0), given=proof.known("xi"))
            directions[when] = self.direction[when], proof.product(moment, outer)
        bounded_momentum(proof, self.clients, "m", "m_squared", self.c, self.product, directions)
