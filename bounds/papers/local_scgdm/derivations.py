"""Local-SCGDM: the problem and the method as the kernel has them, and the derivations that it checks."""

from __future__ import annotations

from fractions import Fraction

from ...language.bounding import MEAN
from ...proof.author import (
    ONE,
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
    total,
    value,
)
from ...proof.kernel import CLIENTS, Alternatives, Certificate, Corollary, Vanishing, WithinRound, parameter
from ...proof.tactics import (
    averaged_estimate,
    averaged_rounds,
    averaged_updates,
    bounded_momentum,
    smooth_composite,
    smooth_descent,
    smooth_mean,
)
from . import PAPER

# --- the problem and the method ----------------------------------------------------------------------------------------


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
        gap = (clients(NEXT_U) if averaged else NEXT_U) - self.g(self.here)
        proof.named(X=sq(self.away(X)), m_squared=sq(MOMENTUM), U=sq(gap))
        if averaged:
            proof.quantity("R", sq(self.away(U)))
        error, length = sq(clients(NEW) - self.gradient), sq(clients(NEW))
        proof.named(E=error, M=length, gradient=sq(self.gradient), F=value("F", self.here))

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
        s, proof, points = self.s, self.proof, (Var("v"), Var("w"))
        client = smooth_composite(proof, s, (self.g, self.dg, self.df), "C_f L_f C_g L_g L_F", points)
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


# --- the derivations ---------------------------------------------------------------------------------------------------


FOUR_THIRDS = Fraction(4, 3)


class Constants:
    """Constants of the recursions."""

    def __init__(self, run: LocalScgdm):
        s = run.s
        self.outer_noise = s.C_g**2 * s.sigma_f**2 + 2 * s.C_f**2 * s.sigma_g**2
        self.value_noise = run.by_value * s.delta_g**2
        self.share = 2 * FOUR_THIRDS * run.by_value
        """What the inner error counts in the error of the momentum."""
        self.momentum = 2 * s.eta * s.beta**2 * s.L_F**2 / s.alpha
        self.inner = Fraction(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma
        """What the last mean momentum counts in the error of the inner estimate; `momentum`: in that of the momentum."""

    def noise(self, share: Signomial) -> Signomial:
        """Of a direction, with this share of a fresh inner value in the estimate."""
        return self.outer_noise + 2 * share**2 * self.value_noise


def drift(run: LocalScgdm) -> None:
    """Step 5."""
    claimed = sq(run.step * run.away(NEW)) <= run.step**2 * run.product
    run.proof.claim("growth", claimed, "size")
    run.proof.step("drift", Drift("X", "apart", "agree", START, "growth", "every step"))


def noise(run: LocalScgdm, c: Constants) -> None:
    """Step 1: the conditional mean is the closest known vector, so any other centre gives a bound."""
    proof, df, exact = run.proof, run.df, run.dg(X)
    proof.bound("delta_g", run.value, name="value noise")
    jacobian = proof.bound("C_g", exact, per=MEAN)
    jacobian_noise = proof.bound("sigma_g", run.jacobian, given=proof.past)
    for when, share in (("first", ONE), ("later", run.w)):
        at, known = run.estimate[when], run.expected(when)
        change = df(at) - df(known)
        proof.claim(
            f"noise, {when}",
            sq(run.direction[when] - Act(exact, df(known))) <= c.noise(share),
            proof.product("moment", proof.bound("sigma_f", df(at, 0), given=proof.known("xi"))),
            proof.act(jacobian_noise, df(at), bounded=True),
            proof.act(jacobian, change),
            proof.bound("L_f", df(at), df(known)),
            "value noise",
            squares=(Act(run.jacobian - exact, df(at)) - Act(exact, change),),
            why="the sample of f, then that of the Jacobian and of the value",
        )


def inner(run: LocalScgdm, c: Constants) -> None:
    """Step 4: the error of the inner estimates, against the inner map at the mean model."""
    s, proof, g, w, here, before = run.s, run.proof, run.g, run.w, run.here, run.before
    gap, fresh = g(X) - g(here), run.value - g(X)
    proof.bound("C_g", g(X), g(here), per=MEAN, name="inner, apart")
    proof.bound("C_g", g(before), g(here), per=MEAN, name="inner, moved")
    proof.claim("move", sq(here - before) <= run.step**2 * quantity("M", -1), "mean, later", equal=True)
    tracked, name = (run.clients, "mean u") if run.averaged else (lambda term: term, "u")
    old, moved, off = tracked(U) - g(before), (1 - w) * (g(before) - g(here)), w * tracked(gap)
    deviations = (run.away(fresh), run.away(gap)) if run.averaged else ()
    proof.claim(
        "inner error",
        quantity("U")
        <= (1 - w) * quantity("U", -1) + c.inner * quantity("M", -1) + 3 * w * s.C_g**2 * run.far + w**2 * s.delta_g**2,
        "value noise",
        "inner, apart",
        "inner, moved",
        "move",
        "drift",
        f"{name}, later",
        squares=(w * old - moved - off, moved - 2 * off, *deviations),
        why="Young's inequality with w/(1 - w) and 1/2; the fresh noise is orthogonal",
    )
    claimed = quantity("U") <= s.delta_g**2
    proof.claim(
        "inner, first", claimed, "value noise", "inner, apart", "together", f"{name}, first", squares=deviations
    )
    proof.sum("inner error", start=1)
    proof.at_start("inner, first")


def spread(run: LocalScgdm) -> None:
    """Step 4: the inner estimates part within a round, where they are averaged after it."""
    s, proof, w, g, clients = run.s, run.proof, run.w, run.g, run.clients
    means = clients(run.value - g(X)), clients(g(X) - g(run.here))
    noise = w**2 * s.delta_g**2
    for phase in ("first", "later"):
        update = f"u, {phase} communication"
        proof.zero(f"u, {phase} agree", run.away(NEXT_U), update, f"{update}, mean")
    proof.cases("u, agree", "u, first agree", "u, later agree")
    proof.claim("spread, averaged", quantity("R", 1) <= 0 * ONE, "u, agree")
    proof.claim(
        "spread, first",
        quantity("R", 1) <= s.delta_g**2,
        "value noise",
        "inner, apart",
        "together",
        "u, first local",
        "u, first local, mean",
        squares=means,
        why="at the start the models agree",
    )
    proof.claim(
        "spread, later",
        quantity("R", 1) <= (1 - w) * quantity("R") + w * s.C_g**2 * run.far + noise,
        "value noise",
        "inner, apart",
        "drift",
        "u, later local",
        "u, later local, mean",
        squares=(run.away(U) - run.away(g(X)), *means),
        why="convexity; the fresh noise is orthogonal",
    )
    steps = "spread, averaged", "spread, first", "spread, later"
    proof.step("spread", WithinRound("R", *steps, s.C_g**2 * run.far, noise, s.delta_g**2 / w))


def estimates(run: LocalScgdm) -> Scalar:
    """`estimate`: what the error of an estimate before line 13 is at most: the sum of the errors in (A), U in (B)."""
    s, proof, w, g, clients = run.s, run.proof, run.w, run.g, run.clients
    error = sq(run.estimate["later"] - g(run.here))
    if not run.averaged:
        bound = quantity("U")
        proof.claim("estimate", error <= bound, "u, later")
        return bound
    rest = w * s.C_g**2 * run.far + w**2 * s.delta_g**2
    bound = quantity("U") + (1 - w) * quantity("R") + rest
    squares = run.away(U) - run.away(g(X)), clients(run.value - g(X)), clients(g(X) - g(run.here))
    reasons = "value noise", "inner, apart", "drift", "mean u, later"
    proof.claim("estimate", error <= bound, *reasons, squares=squares, why="W = U + Y")
    return bound


def tracking(run: LocalScgdm, c: Constants) -> None:
    """Steps 2 and 3: the bias of a direction, and the error of the mean momentum."""
    s, proof, df, g, dg, here, before = run.s, run.proof, run.df, run.g, run.dg, run.here, run.before
    clients, direction = run.clients, run.direction["later"]
    outer, mean = df(run.estimate["later"]) - df(g(here)), proof.given(direction)
    first, second = proof.given(Act(run.jacobian, outer)), Act(dg(X) - dg(here), df(g(here)))
    bias, estimate = clients(mean) - run.gradient, estimates(run)
    bound = FOUR_THIRDS * run.by_value * estimate + 4 * s.C_f**2 * s.L_g**2 * run.far
    proof.claim(
        "bias",
        sq(bias) <= bound,
        proof.act("moment", outer, why="conditional Cauchy-Schwarz"),
        proof.bound("L_f", df(run.estimate["later"]), df(g(here))),
        "estimate",
        proof.bound("L_g", dg(X), dg(here), df(g(here))),
        "drift",
        squares=(first - 3 * second, run.away(first + second)),
    )
    gap = run.client_gradient(before) - run.client_gradient(here)
    old, back = clients(MOMENTUM) - clients(run.client_gradient(before)), clients(gap)
    proof.claim(
        "error",
        quantity("E")
        <= (1 - run.c) * quantity("E", -1)
        + c.momentum * quantity("M", -1)
        + 2 * run.c * bound
        + run.c**2 * c.noise(run.w),
        "noise, later",
        "bias",
        proof.at("smooth client", v=before, w=here),
        "move",
        "mean m, later",
        squares=(
            run.c * old - (1 - run.c) * back - run.c * bias,
            (1 - run.c) * back - run.c * bias,
            mean - Act(dg(X), df(run.expected("later"))),
            run.away(direction - mean),
            run.away(gap),
        ),
        why="Young's inequality with c/(1 - c) and 1; the fresh noise is orthogonal",
    )
    proof.sum("error", start=1)


def start(run: LocalScgdm, c: Constants) -> None:
    """E_0."""
    proof, direction, here = run.proof, run.direction["first"], run.here
    gap, centre = run.client_gradient(X) - run.client_gradient(here), Act(run.dg(X), run.df(run.g(X)))
    zero = proof.claim("start, gap", sq(gap) <= 0 * ONE, proof.at("smooth client", v=X, w=here), "together")
    proof.mean(proof.step("start, equal", Vanishing(zero, gap)), "k")
    proof.claim(
        "error, first",
        quantity("E") <= c.noise(ONE),
        "noise, first",
        "mean m, first",
        "start, equal, mean",
        squares=(run.away(direction - centre),),
    )
    proof.at_start("error, first")


def descent(run: LocalScgdm) -> None:
    """Step 6."""
    s, y = run.s, run.step * run.s.L_F
    small: Certificate = (
        (run.step / 32, ("step_size",)),
        (run.step * s.beta**2 * s.L_F**2 / 2 * (s.eta / s.alpha) * (1 / s.alpha + s.eta), ("momentum_range",)),
    )
    M = quantity("M")
    claimed = y * M <= (Fraction(1, 4) + y**2) * M
    run.proof.claim("short", claimed, squares=((Fraction(1, 2) - y) * run.clients(NEW),), why="(1/2 - y)^2 >= 0")
    smooth_descent(
        run.proof,
        run.step,
        s.L_F,
        run.here,
        run.there,
        0 * s.L_F,
        quantity("E") - Fraction(1, 2) * M,
        "mean",
        given={"short": run.step / 2},
        certificates=(small,),
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; 1 - 2y = 2 (1/2 - y)^2 + 1/2 - 2 y^2",
    )


def errors(run: LocalScgdm, c: Constants) -> None:
    """Step 7: the weights cancel the errors of the estimates; one bound for both cases."""
    s, noise = run.s, c.value_noise
    drifts = 4 * c.share * s.C_g**2, 8 * s.C_f**2 * s.L_g**2
    by_value, by_jacobian = (factor * run.step**2 * run.product for factor in (c.share * s.C_g**2, drifts[1]))
    long = ("p>=1", "p>=1")
    fresh = (2 * s.T * run.w**2 * noise * s.eta, ("momentum_range",))
    certificate: Certificate
    if run.averaged:
        certificate = (
            (4 * by_value + by_jacobian, long),
            (c.share * run.w**3 * s.delta_g**2 * s.T, ("p>=1",)),
            (c.share * run.w**2 * s.delta_g**2 * s.p * s.eta, ("inner_momentum_range",)),
            fresh,
        )
    else:
        certificate = ((by_value * (s.T + 3) + by_jacobian, long), fresh)
    run.proof.claim(
        "errors",
        total("E")
        <= (c.momentum / run.c + c.share * c.inner / run.w) * total("M")
        + (c.outer_noise + 2 * noise) / run.c
        + Fraction(16, 3) * noise / run.w
        + s.T * (Fraction(8, 3) * run.w * noise + run.c * c.outer_noise)
        + s.T * (2 + Fraction(8, 3) * s.p) * run.w**2 * noise
        + s.T * (drifts[0] + drifts[1]) * run.far,
        "error, summed",
        "error, first, at 0",
        "inner error, summed",
        "inner, first, at 0",
        *(("spread",) if run.averaged else ()),
        certificates=(certificate,),
        why="the weights cancel the errors",
    )


def case(s: Reader, *, averaged: bool) -> Derivation:
    """Everything is compared at the mean model, whose momentum obeys one recursion at every step."""
    run = LocalScgdm(s, averaged=averaged)
    c = Constants(run)
    run.smoothness()
    run.rounds()
    run.sizes()
    drift(run)
    noise(run, c)
    inner(run, c)
    if averaged:
        spread(run)
    tracking(run, c)
    start(run, c)
    descent(run)
    errors(run, c)
    inside = {"beta": Fraction(1, 10), "eta": Fraction(1, 2)}
    reasons = "descent, summed", "infimum", "errors"
    return run.proof.qed(*reasons, metric="gradient", model="x", inside=inside, either=OWN)


def theorem_3_4(s: Reader) -> Alternatives:
    """Two ways to repair line 13 of Algorithm 1, with one bound: (A) and (B)."""
    return Alternatives(OWN, (("A", case(s, averaged=True)), ("B", case(s, averaged=False))))


def corollary_3_5(s: Reader) -> Corollary:
    """eta = T^(-1/2), p <= T^(1/4), put into Theorem 3.4: (a - 1)^2 - (p - 1)^2 = (a - p)^2 + 2 (a - p)(p - 1)."""
    far = 8 * s.eta**2 * s.beta**2 * s.C_f**2 * s.C_g**2
    drift = far * (s.C_f**2 * s.L_g**2 + Fraction(4, 3) * s.C_g**4 * s.L_f**2)
    rounds = ((drift, ("p_choice", "p_choice")), (2 * drift, ("p_choice", "p>=1")))
    ones = ("C_f", "C_g", "L_f", "L_g", "sigma_f", "sigma_g", "delta_g", "F_gap", "alpha", "gamma")
    inside = dict.fromkeys(ones, Fraction(1)) | {"beta": Fraction(1, 10), "T": Fraction(16), "p": Fraction(2)}
    return Corollary(PAPER.theorem("local_scgdm.theorem_3_4"), inside, certificates={"term drift": rounds})


DERIVATIONS = (("theorem_3_4", theorem_3_4), ("corollary_3_5", corollary_3_5))
