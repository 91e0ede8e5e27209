"""The baselines of the composite kinds: SCGD and biased SGD, for the kernel; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import (
    MEAN,
    MEAN_SQUARE,
    Act,
    Derivation,
    Proof,
    Reader,
    Scalar,
    Signomial,
    Term,
    Var,
    quantity,
    sq,
    total,
    value,
)
from ...proof.tactics import smooth_composite, smooth_composition, smooth_descent, smooth_mean, variance_of_mean

X, U, AFTER, NEXT_U = Var("x"), Var("u"), Var("x", 1), Var("u", 1)


def whole_step(
    proof: Proof, eta: Signomial, smoothness: Signomial, expected: Scalar, bias: Scalar, noise: Scalar, *by: str
) -> None:
    """`whole step`: (b) of docs/theory/baselines.md before anything is left out, with these squared norms."""
    kept = quantity("gradient") - bias + (1 - smoothness * eta) * expected
    after = quantity("F") - eta / 2 * kept + smoothness * eta**2 / 2 * noise
    why = "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"
    proof.claim("whole step", quantity("F", 1) <= after, "descent lemma", *by, why=why)


class Scgd:
    """SCGD: the value that each client uses, and the direction, at step 0 and later; `young`: at least 1 + gamma."""

    def __init__(self, s: Reader, young: Signomial):
        self.s, self.young, proof = s, young, Proof(s, time="independence")
        self.proof, self.clients = proof, proof.clients(s.N)
        self.inner, self.outer = (proof.batch(name, s.b, "independence") for name in "ij")
        proof.source("z", "n i", "independence")
        proof.source("s", "n j", "samples")
        self.df = proof.function("df", "y -> dy", "s", role="outer_gradient", mean_per="n")
        self.g = proof.function("g", "x -> y", "z", role="inner_value", equal="inner map")
        self.dg = proof.function("dg", "x -> (x, dy)", "z", role="inner_jacobian", equal="inner map")
        drawn = self.inner(self.g(X, 0))
        self.value = {"first": drawn, "later": (1 - s.gamma) * U + s.gamma * drawn}
        self.share = {"first": s.gamma**0, "later": s.gamma}
        directions = {kind: self.clients(self.direction(kind)) for kind in self.value}
        proof.variable("u", "y", **{kind: self.clients(used) for kind, used in self.value.items()})
        proof.variable("x", "x", **{kind: X - s.eta * d for kind, d in directions.items()})
        proof.free("p r", "x")
        proof.objective("F", lambda x: self.clients(self.client_gradient(x)), "gradient")
        self.gradient, self.moved = self.clients(self.client_gradient(X)), (1 / s.eta) * (X - AFTER)
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
            quantity("P") <= self.by_value * (old + share**2 * s.delta_g**2 / s.b),
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
        fresh = s.gamma**2 * s.delta_g**2 / s.b
        claimed = error <= (1 - s.gamma) ** 2 * quantity("A") + fresh
        proof.claim(
            "value, later", claimed, "value batch", "value noise", why="the fresh noise is orthogonal to the old error"
        )
        change = self.df(self.g(X)) - self.df(used)
        difference = proof.given(Act(self.inner(self.dg(X, 0)), change))
        proof.claim(
            "bias by the value",
            quantity("P") <= self.by_value * error,
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
        kept = 1 - s.gamma if kind == "later" else 0 * s.gamma
        drift = self.young / s.gamma * s.C_g**2 * s.eta**2 * self.moment
        proof.claim(
            f"error, {kind}",
            quantity("A", 1) <= kept * A + self.young * noise + drift,
            "moved",
            given={f"here, {kind}": 1 + s.gamma, f"length, {kind}": (1 + 1 / s.gamma) * s.C_g**2 * s.eta**2},
            squares=(s.gamma * here - away,),
            why="Young's inequality with gamma; (1 + gamma)(1 - gamma)^2 <= 1 - gamma",
        )


def scgd(s: Reader) -> Derivation:
    """Section 4."""
    return _scgd(s, 2 * s.gamma**0)


def scgd_in_full(s: Reader) -> Derivation:
    """Section 4 with the error of the value that a step uses."""
    return _scgd(s, 2 * s.gamma**0, in_full=True)


def scgd_sharpened(s: Reader) -> Derivation:
    """Section 4: Young's inequality with gamma, nothing of 1 + gamma rounded up."""
    return _scgd(s, 1 + s.gamma)


def _scgd(s: Reader, young: Signomial, in_full: bool = False) -> Derivation:
    method = Scgd(s, young)
    proof, moved, gradient, kinds = method.proof, method.moved, method.gradient, ("first", "later")
    A = proof.quantity("A", sq(U - method.g(X)))
    P = proof.quantity("P", sq(gradient - proof.given(moved)))
    proof.quantity("gradient", sq(gradient))
    proof.quantity("F", value("F", X))
    method.smoothness()
    jacobian = proof.bound("C_g", method.dg(X, 0), given=proof.past)
    proof.jensen(jacobian, "i", name="jacobian")
    drawn = method.g(X, 0)
    proof.bound("delta_g", drawn, name="value noise")
    proof.independent(drawn - method.g(X), "i", name="value batch")
    proof.independent(method.inner(drawn - method.g(X)), "n", name="value clients")
    for kind in kinds:
        method.at_step(kind)
    if in_full:
        method.value_error()
    proof.cases("noise", *(f"noise, {kind}" for kind in kinds))
    smooth_descent(proof, s.eta, s.L_F, X, AFTER, method.moment / s.N, P, "noise", squares=(proof.given(moved),))
    proof.bound("C_g", method.g(X), method.g(AFTER), per=MEAN, name="moved")
    for kind in kinds:
        method.estimate(kind)
    fresh = s.gamma**2 * s.delta_g**2 / s.b
    proof.claim("bias", quantity("P") <= method.by_value * (A + fresh), "bias, later", why="(1 - gamma)^2 <= 1")
    rest = young * (s.gamma * s.delta_g**2 / (s.N * s.b) + s.eta**2 * s.C_g**2 * method.moment / s.gamma**2)
    proof.claim(
        "values",
        total("P") <= method.by_value * (s.delta_g**2 / s.b * (1 + young / (s.N * s.gamma)) + s.T * (fresh + rest)),
        proof.at_start("bias, first"),
        proof.sum("bias", start=1),
        proof.at_start("error, first"),
        proof.sum("error, later", start=1),
    )
    return proof.qed(
        "descent, summed", "infimum", "values", metric="gradient", model="x", inside={"eta": Fraction(1, 4)}
    )


def biased_sgd(s: Reader) -> Derivation:
    """Section 5."""
    return _biased_sgd(s, in_full=False)


def biased_sgd_in_full(s: Reader) -> Derivation:
    """The same with one step of which nothing is left out."""
    return _biased_sgd(s, in_full=True)


def _biased_sgd(s: Reader, in_full: bool) -> Derivation:
    proof = Proof(s, time="independence")
    clients = proof.clients(s.N)
    batch, inner = proof.batch("i", s.b, "independence"), proof.batch("j", s.m, "independence")
    proof.source("xi", "n i", "independence")
    proof.source("eta", "n i j", "independence")
    df = proof.function("df", "y -> dy", "xi", role="outer_gradient", mean_per="n")
    g = proof.function("g", "x -> y", "xi eta", role="inner_value", mean_per="n")
    dg = proof.function("dg", "x -> (x, dy)", "xi eta", role="inner_jacobian", mean_per="n")
    drawn, exact = inner(g(X, 0, 0)), g(X, 0)
    direction = Act(inner(dg(X, 0, 0)), df(drawn, 0))
    known = proof.given(direction)
    proof.variable("x", "x", every=X - s.eta * clients(batch(direction)))
    p, r = proof.free("p r", "x")

    def client_gradient(x: Term) -> Term:
        return proof.given(Act(dg(x, 0), df(g(x, 0), 0)))

    def outer(x: Term) -> Term:
        return df(g(x, 0), 0)

    proof.objective("F", lambda x: clients(client_gradient(x)), "gradient")
    gradient = clients(client_gradient(X))
    proof.quantity("gradient", sq(gradient))
    proof.quantity("F", value("F", X))

    lipschitz = proof.bound("S_f", outer(p), outer(r)), proof.bound("C_g", g(p, 0), g(r, 0), per=MEAN_SQUARE)
    first = s.S_f * s.C_g**2, (proof.bound("C_g", dg(p, 0), given=proof.past), *lipschitz)
    proof.bounded("B_f", "df")
    second = s.S_g * s.B_f, (proof.bound("S_g", dg(p, 0), dg(r, 0), outer(r), per=MEAN_SQUARE),)
    client = smooth_composition(proof, lambda x: dg(x, 0), outer, s.S_F, first, second, points=(p, r), wrap=proof.given)
    smooth_mean(proof, clients, client_gradient, s.S_F, client)

    jacobian = proof.jensen(proof.bound("C_g", dg(X, 0, 0), given=proof.past), "j")
    moment = proof.act(jacobian, df(drawn, 0), bounded=True)
    size = s.B_f**2 * s.C_g**2
    variance_of_mean(
        proof, "noise", direction - known, "n i", size, moment, why="a variance is at most a second moment"
    )
    scale = s.C_g**2 * s.S_f**2 * s.delta_g**2 / s.m
    proof.claim(
        "bias",
        sq(gradient - clients(known)) <= scale,
        proof.act(jacobian, df(drawn, 0) - df(exact, 0), why="conditional Cauchy-Schwarz"),
        proof.bound("S_f", df(drawn, 0), df(exact, 0)),
        proof.independent(g(X, 0, 0) - exact, "j", given="xi"),
        proof.bound("delta_g", g(X, 0, 0)),
        squares=(client_gradient(X) - known - (gradient - clients(known)),),
        why="E[grad ghat | xi] = grad g, so only the argument of grad f differs",
    )
    move = proof.update("x")
    smooth_descent(proof, s.eta, s.S_F, X, AFTER, size / (s.N * s.b), scale, move, "noise", "bias")
    if in_full:
        expected = clients(known)
        noise = clients(batch(direction - known))
        whole_step(proof, s.eta, s.S_F, sq(expected), sq(gradient - expected), sq(noise), move)
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside={"eta": Fraction(1, 4)})
