"""FedDRO and the modified FedAvg, for the kernel: problem, methods, smoothness, and where the models go."""

from __future__ import annotations

from typing import Any

from ...language.bounding import MEAN
from ...proof.author import Act, Proof, Reader, Scalar, Signomial, Term, Var, Written, differences, quantity, sq, value
from ...proof.kernel import CLIENTS
from ...proof.tactics import averaged_rounds, smooth_composition

SAMPLES, TIME = "not stated: independence of samples", "not stated: independence over time"
START = "Algorithm 2, line 2"
X, BEFORE, AFTER, OLD_Y = Var("x"), Var("x", -1), Var("x", 1), Var("y", -1)


class FedDro:
    """The problem, the method, and the abbreviations of docs/theory/feddro.md.

    `sampled`: FedDRO; else the modified FedAvg, without noise, with h = 0, and with the mean of the inner values in the place of y.
    """

    def __init__(self, s: Reader, *, sampled: bool):
        self.s, self.sampled = s, sampled
        proof = self.proof = Proof(s, time=TIME)
        clients = self.clients = proof.index("k", s.K, of=CLIENTS)
        drawn = "zeta" if sampled else ""
        self.df = proof.function("df", "y -> dy", role="outer_gradient", per="")
        self.g = proof.function("g", "x -> y", drawn, role="inner_value", per="k")
        self.dg = proof.function("dg", "x -> (x, dy)", drawn, role="inner_jacobian", per="k")
        if sampled:
            self.batch = proof.batch("i", s.b, SAMPLES)
            proof.source("zeta", "k i", SAMPLES)
            self.dh = proof.function("dh", "x -> x", drawn, role="extra_gradient", per="k")
            change = self.g(X, 0) + (1 - s.beta) * (OLD_Y - self.g(BEFORE, 0))
            self.y: Term = proof.variable("y", "y", "", 0, every=self.everyone(change))
            self.direction = self.batch(self.dh(X, 0) + Act(self.dg(X, 0), self.df(self.y)))
        else:
            self.y = clients(self.g(X))
            self.direction = Act(self.dg(X), self.df(self.y))
        moved = X - s.eta * self.direction
        proof.variable("x", "x", "k", local=moved, communication=clients(moved))
        proof.free("p r", "x")
        proof.objective("Phi", self.gradient, "not stated: chain rule")
        self.here, self.there = clients(X), clients(AFTER)
        self.rough, self.by_value = s.B_f**2 * s.L_g**2, s.B_g**2 * s.L_f**2
        proof.quantity("X", sq(self.away(X)))
        proof.quantity("gradient", sq(self.gradient(self.here)))
        proof.quantity("Phi", value("Phi", self.here))
        proof.bounded("B_f", "df")

    def everyone(self, term: Term) -> Term:
        """The mean over clients and batch."""
        return self.clients(self.batch(term))

    def away(self, term: Term) -> Term:
        """The deviation from the mean over the clients."""
        return term - self.clients(term)

    def outer(self, x: Term) -> Term:
        """grad f at the mean of the inner values."""
        return self.df(self.clients(self.g(x)))

    def gradient(self, x: Term) -> Term:
        """grad Phi at a point without an index."""
        composed = Act(self.clients(self.dg(x)), self.outer(x))
        return self.clients(self.dh(x)) + composed if self.sampled else composed

    def lipschitz(self, x: Term, y: Term) -> str:
        """Of the inner map."""
        used: dict[str, Any] = {} if self.sampled else {"per": MEAN}
        return self.proof.bound("B_g", self.g(x), self.g(y), **used)

    def mean_jacobian(self, x: Term, name: str = "") -> str:
        """The bound of the mean of the clients' Jacobians."""
        return self.proof.jensen(self.proof.bound("B_g", self.dg(x)), "k", name)

    def smoothness(self) -> None:
        """Lemma 3.1, `smooth`: grad Phi is L_Phi-Lipschitz; of its differences the last is there where h is."""
        s, proof, g, dg = self.s, self.proof, self.g, self.dg
        p, r = proof.points
        lipschitz = proof.bound("L_f", self.outer(p), self.outer(r)), self.lipschitz(p, r)
        extra: tuple[Any, ...] = ()
        if self.sampled:
            change = self.clients(self.dh(p) - self.dh(r))
            claimed, reason = sq(change) <= s.L_h**2 * sq(p - r), proof.bound("L_h", self.dh(p), self.dh(r))
            extra = ((proof.claim("smooth, extra part", claimed, reason), change, s.L_h),)
        smooth_composition(
            proof,
            lambda x: self.clients(dg(x)),
            self.outer,
            s.L_Phi,
            (s.B_g**2 * s.L_f, (self.mean_jacobian(p), *lipschitz)),
            (s.B_f * s.L_g, (proof.bound("L_g", dg(p), dg(r), self.outer(r)),)),
            points=(p, r),
            name="smooth",
            squares=(self.away(g(p) - g(r)), self.away(Act(dg(p) - dg(r), self.outer(r)))),
            rest=extra,
        )

    def rounds(self) -> None:
        """Where the models go, at local steps and at communications."""
        averaged_rounds(self.proof, self.clients, self.s.eta, self.direction, START, index="k")

    def unlike(self, name: str, vector: Written, rate: Signomial, size: Signomial, *by: str) -> Scalar:
        """||v - mean v||^2 <= 6 rate^2 X + 3 size^2 at the models, where rate is of v's change and size of v - mean v at the mean model."""
        drift, other = vector(X) - vector(self.here), self.away(vector(self.here))
        bound = 6 * rate**2 * quantity("X") + 3 * size**2
        self.proof.claim(
            name,
            sq(self.away(vector(X))) <= bound,
            *by,
            squares=(*differences(drift, other, -self.clients(drift)), self.away(drift)),
            why="drift, heterogeneity, drift of the mean: three parts",
        )
        return bound

    def unlike_composed(self) -> Scalar:
        """`unlike`: the composed part of the directions, at the same y."""
        s, proof, dg, outer = self.s, self.proof, self.dg, self.df(self.y)
        heterogeneity = proof.act(proof.bound("Delta_g", dg(self.here)), outer, bounded=True)
        lipschitz = proof.bound("L_g", dg(X), dg(self.here), outer)
        return self.unlike(
            "unlike", lambda x: Act(dg(x), outer), s.B_f * s.L_g, s.B_f * s.Delta_g, lipschitz, heterogeneity
        )
