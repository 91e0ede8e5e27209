"""A method that keeps an estimate of an inner value, as SCGD does: its steps, the bias by the error of the estimate, and that error."""

from __future__ import annotations

from ..author import MEAN, Act, Proof, Reader, Signomial, Term, Var, quantity, sq, value
from .smoothness import smooth_composite, smooth_mean

X, U, AFTER, NEXT_U = Var("x"), Var("u"), Var("x", 1), Var("u", 1)


class InnerEstimate:
    """SCGD: the value that each client uses, and the direction, at step 0 and later.

    Args:
        young: at least 1 + gamma. declining: the step size is a/(t + t0), the weight gamma of the new value beta/(t + t0).
    """

    def __init__(self, s: Reader, young: Signomial, *, declining: bool = False):
        self.s, self.young, self.declining, proof = s, young, declining, Proof(s, time="independence")
        self.proof, self.clients = proof, proof.clients(s.N)
        clock = proof.clock(s.t0) if declining else None
        self.eta, self.gamma = (s.eta, s.gamma) if clock is None else (s.a / clock, s.beta / clock)
        self.inner, self.outer = (proof.batch(name, s.b, "independence") for name in "ij")
        proof.source("z", "n i", "independence")
        proof.source("s", "n j", "samples")
        self.df = proof.function("df", "y -> dy", "s", role="outer_gradient", mean_per="n")
        self.g = proof.function("g", "x -> y", "z", role="inner_value", equal="inner map")
        self.dg = proof.function("dg", "x -> (x, dy)", "z", role="inner_jacobian", equal="inner map")
        drawn = self.inner(self.g(X, 0))
        self.value = {"first": drawn, "later": (1 - self.gamma) * U + self.gamma * drawn}
        self.share = {"first": self.gamma**0, "later": self.gamma}
        directions = {kind: self.clients(self.direction(kind)) for kind in self.value}
        proof.variable("u", "y", **{kind: self.clients(used) for kind, used in self.value.items()})
        proof.variable("x", "x", **{kind: X - self.eta * d for kind, d in directions.items()})
        proof.free("p r", "x")
        proof.objective("F", lambda x: self.clients(self.client_gradient(x)), "gradient")
        self.gradient, self.moved = self.clients(self.client_gradient(X)), (1 / self.eta) * (X - AFTER)
        self.moment, self.by_value = s.C_f**2 * s.C_g**2, s.C_g**2 * s.L_f**2

    def client_gradient(self, x: Term) -> Term:
        return Act(self.dg(x), self.df(self.g(x)))

    def direction(self, kind: str) -> Term:
        return Act(self.inner(self.dg(X, 0)), self.outer(self.df(self.value[kind], 0)))

    def smoothness(self) -> None:
        """Step 1: two differences."""
        s, proof, g, dg = self.s, self.proof, self.g, self.dg
        client = smooth_composite(proof, s, (g, dg, self.df), "C_f L_f C_g L_g L_F", proof.points)
        smooth_mean(proof, self.clients, self.client_gradient, s.L_F, client)

    def at_step(self, kind: str) -> None:
        """Steps 2 to 4 at one kind of step: variance and bias of the direction."""
        s, proof, clients = self.s, self.proof, self.clients
        v, used, share, moved = self.direction(kind), self.value[kind], self.share[kind], self.moved
        move = proof.update("x", "first local" if kind == "first" else "local", name=f"move, {kind}")
        direction = proof.zero(f"direction, {kind}", moved - clients(v), move)
        known = proof.mean(direction, given=proof.past)
        outer = proof.jensen(proof.bound("C_f", self.df(used, 0), given=proof.known("z")), "j")
        moment = proof.product("jacobian", outer, why="s is independent of z")
        proof.claim(f"length, {kind}", sq(moved) <= self.moment, moment, direction, squares=(v - clients(v),))
        proof.claim(
            f"noise, {kind}",
            sq(moved - proof.given(moved)) <= self.moment / s.N,
            proof.independent(v - proof.given(v), "n"),
            moment,
            direction,
            known,
            why="a variance is at most a second moment",
        )
        change = self.df(self.g(X)) - self.df(used)
        difference = proof.given(Act(self.inner(self.dg(X, 0)), change))
        old = (1 - share) ** 2 * quantity("A")
        proof.claim(
            f"bias, {kind}",
            self.bias <= self.by_value * (old + share**2 * s.delta_g**2 / s.b),
            proof.act("jacobian", change, why="conditional Cauchy-Schwarz"),
            proof.bound("L_f", self.df(self.g(X)), self.df(used)),
            "value batch",
            "value noise",
            known,
            squares=(difference - clients(difference),),
            why="the fresh noise of the value is orthogonal to its old error",
        )

    def value_error(self) -> None:
        """Steps 3 and 4 at a later step, apart: the error of the value that it uses, and the bias by that."""
        s, proof, used = self.s, self.proof, self.value["later"]
        error = sq(self.g(X) - used)
        fresh = self.gamma**2 * s.delta_g**2 / s.b
        claimed = error <= (1 - self.gamma) ** 2 * quantity("A") + fresh
        proof.claim(
            "value, later", claimed, "value batch", "value noise", why="the fresh noise is orthogonal to the old error"
        )
        change = self.df(self.g(X)) - self.df(used)
        difference = proof.given(Act(self.inner(self.dg(X, 0)), change))
        proof.claim(
            "bias by the value",
            self.bias <= self.by_value * error,
            proof.act("jacobian", change, why="conditional Cauchy-Schwarz"),
            proof.bound("L_f", self.df(self.g(X)), self.df(used)),
            "direction, later, expected",
            squares=(difference - self.clients(difference),),
        )

    def estimate(self, kind: str) -> None:
        """Step 5: the error of the estimate after a step."""
        s, proof, share = self.s, self.proof, self.share[kind]
        noise = share**2 * s.delta_g**2 / (s.N * s.b)
        here, away, A = NEXT_U - self.g(X), self.g(X) - self.g(AFTER), quantity("A")
        updated = proof.update("u", "first local" if kind == "first" else "local", name=f"estimate, {kind}")
        values = "value clients", "value batch", "value noise"
        proof.claim(f"here, {kind}", sq(here) <= (1 - share) ** 2 * A + noise, *values, updated)
        kept = 1 - self.gamma if kind == "later" else 0 * self.gamma
        drift = self.young / self.gamma * s.C_g**2 * self.eta**2 * self.moment
        proof.claim(
            f"error, {kind}",
            quantity("A", 1) <= kept * A + self.young * noise + drift,
            "moved",
            given={f"here, {kind}": 1 + self.gamma, f"length, {kind}": (1 + 1 / self.gamma) * s.C_g**2 * self.eta**2},
            squares=(self.gamma * here - away,),
            why="Young's inequality with gamma; (1 + gamma)(1 - gamma)^2 <= 1 - gamma",
        )

    def steps(self, in_full: bool = False) -> None:
        """Steps 1 to 4, with the quantities A, F and gradient, and P, the bias, unless the steps decline.

        Args:
            in_full: the error of the value that a step uses, too.
        """
        proof, kinds = self.proof, tuple(self.value)
        proof.quantity("A", sq(U - self.g(X)))
        self.bias = sq(self.gradient - proof.given(self.moved))
        if not self.declining:
            proof.quantity("P", self.bias)
            self.bias = quantity("P")
        proof.named(gradient=sq(self.gradient), F=value("F", X))
        self.smoothness()
        jacobian = proof.bound("C_g", self.dg(X, 0), given=proof.past)
        proof.jensen(jacobian, "i", name="jacobian")
        drawn = self.g(X, 0)
        proof.bound("delta_g", drawn, name="value noise")
        proof.independent(drawn - self.g(X), "i", name="value batch")
        proof.independent(self.inner(drawn - self.g(X)), "n", name="value clients")
        for kind in kinds:
            self.at_step(kind)
        if in_full:
            self.value_error()
        proof.cases("noise", *(f"noise, {kind}" for kind in kinds))

    def estimates(self) -> None:
        """Step 5, and the bias by the old error at a later step."""
        s, proof = self.s, self.proof
        proof.bound("C_g", self.g(X), self.g(AFTER), per=MEAN, name="moved")
        for kind in self.value:
            self.estimate(kind)
        fresh = self.gamma**2 * s.delta_g**2 / s.b
        claimed = self.bias <= self.by_value * (quantity("A") + fresh)
        proof.claim("bias", claimed, "bias, later", why="(1 - gamma)^2 <= 1")
