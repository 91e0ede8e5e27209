"""The library's theorems on compressed gradients, variance reduction, momentum and networks; docs/theory/library.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...language.bounding import SAMPLE
from ...proof.author import Derivation, Reader, Scalar, Signomial, Term, Var, quantity, scalar, sq, total, value
from ...proof.kernel import AtStart
from ...proof.kernel.scalars import At
from ...proof.tactics import (
    InnerEstimate,
    PlainLosses,
    Sgd,
    apart_models,
    apart_steps,
    descent_along,
    smooth_descent,
    smooth_mean,
    steep_at_most,
    variance_of_mean,
)

X, AFTER, BEFORE = Var("x"), Var("x", 1), Var("x", -1)


class OneModel(PlainLosses):
    """A model that the clients share, and a direction along which it moves."""

    def __init__(self, s: Reader, first: Signomial | None = None):
        super().__init__(s, first=first)
        self.s, self.slope = s, self.full(X)

    def moves(self, direction: Term) -> None:
        """x <- x - eta direction, and the objective."""
        proof = self.proof
        proof.variable("x", "x", every=X - self.s.eta * direction)
        self.minimised()
        proof.named(gradient=sq(self.slope), F=value("F", X))
        proof.update("x", name="mean")

    def independent(self, term: Term, *, first: bool = False) -> tuple[str, str]:
        """The mean of N b errors: independent in a batch, and over the clients."""
        proof = self.proof
        return proof.independent(term, "i", first=first), proof.independent(self.batch(term), "n", first=first)


class Followed(OneModel):
    """Steps along an estimate of the gradient: F plus a multiple of the squared error of the estimate falls."""

    def descends(self, estimate: Term, step: Signomial, smoothness: Signomial) -> Scalar:
        """E, the squared error of the estimate, along which a step of the length `step` goes."""
        proof = self.proof
        error, length = proof.quantity("E", sq(estimate - self.slope)), proof.quantity("S", sq(estimate))
        proof.smooth("F", "smooth", smoothness, X, AFTER)
        descent_along(proof, step, smoothness, length, error, "mean")
        return error

    def summed(self, step: Signomial, weight: Signomial, noise: Signomial, why: str) -> str:
        """The sum of F + weight E, where `error` bounds E by that of the step before and `noise`; and the error at the start."""
        proof, error = self.proof, quantity("E")
        proof.later("error")
        proof.claim(
            "potential",
            quantity("F", 1) + weight * quantity("E", 1)
            <= quantity("F") + weight * error - step / 2 * quantity("gradient") + weight * noise,
            "mean",
            given={"descent": 1, "error, later": weight},
            why=why,
        )
        proof.sum("potential")
        proof.bound("F_gap", of="F", name="infimum")
        return proof.at_start("first error")


def compressed_sgd(s: Reader) -> Derivation:
    """Section 9: the compressors' errors are independent, and as large as the gradients that they change."""
    sgd = OneModel(s)
    proof, clients, dF = sgd.proof, sgd.clients, sgd.gradient
    proof.source("kept", "n", "independence")
    compressor = proof.function("C", "x -> x", "kept", role="compressor")
    own = sgd.batch(sgd.sampled)
    direction = clients(compressor(own, 0))
    sgd.moves(direction)
    unbiased = proof.bound("omega", compressor(own), name="unbiased")
    known = proof.mean(unbiased, "n")
    batch, pooled = sgd.independent(sgd.noise)
    noise, size = proof.bound("sigma", sgd.sampled), s.zeta**2 + s.sigma**2 / s.b
    proof.claim(
        "sent",
        sq(own) <= quantity("gradient") + size,
        *(batch, noise, proof.bound("zeta", dF(X))),
        why="noise has mean 0, and so has the distance from the mean over the clients",
    )
    proof.claim(
        "noise",
        sq(direction - sgd.slope) <= s.omega / s.N * (quantity("gradient") + size) + s.sigma**2 / (s.N * s.b),
        *(batch, pooled, noise),
        proof.independent(compressor(own, 0) - compressor(own), "n", "xi", name="independence of the compressors"),
        proof.bound("omega", compressor(own, 0), name="compressed"),
        *(known, "sent", unbiased),
    )
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    variance = (s.omega * size + s.sigma**2 / s.b) / s.N
    smooth_descent(proof, s.eta, s.L_bar, X, AFTER, variance, 0 * s.eta, "mean", "noise", known)
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside={"eta": Fraction(1, 2)})


def storm(s: Reader) -> Derivation:
    """Section 10: F plus eta/(2 alpha) times the error of the estimate."""
    storm = Followed(s, first=s.B)
    proof, clients, batch, dF = storm.proof, storm.clients, storm.batch, storm.gradient
    D, used, kept = Var("d"), Var("d", 1), 1 - s.alpha
    change = clients(batch(storm.sampled - kept * dF(BEFORE, 0)))
    proof.variable("d", "x", first=clients(batch(storm.sampled)), later=kept * D + change)
    storm.moves(used)
    smooth_mean(proof, clients, dF, s.L_s, proof.bound("L_s", *map(dF, proof.points)))
    error = storm.descends(used, s.eta, s.L_s)
    sigma = proof.bound("sigma", storm.sampled)
    proof.claim(
        "first error",
        error <= s.sigma**2 / (s.N * s.B),
        *(*storm.independent(storm.noise, first=True), sigma, proof.update("d", "first local", name="d, first")),
    )
    moved = storm.noise - (dF(BEFORE, 0) - dF(BEFORE))
    fresh, apart = s.alpha * storm.noise + kept * moved, 2 * s.L_s**2 * sq(X - BEFORE)
    proof.claim(
        "fresh",
        sq(fresh) <= 2 * s.alpha**2 * s.sigma**2 + apart,
        given={sigma: 2 * s.alpha**2, proof.bound("L_s", storm.sampled, dF(BEFORE, 0), per=SAMPLE): 2 * kept**2},
        squares=(s.alpha * storm.noise - kept * moved, dF(X) - dF(BEFORE), X - BEFORE),
        why="||a + c||^2 <= 2 ||a||^2 + 2 ||c||^2; a variance is at most a second moment",
    )
    old = D - storm.full(BEFORE)
    proof.claim(
        "error",
        error <= kept * sq(old) + (2 * s.alpha**2 * s.sigma**2 + apart) / (s.N * s.b),
        *(*storm.independent(fresh), proof.update("d", name="d, later")),
        given={"fresh": 1 / (s.N * s.b)},
        squares=(old,),
        why="fresh errors are orthogonal to the error before",
    )
    noise = 2 * s.alpha**2 * s.sigma**2 / (s.N * s.b)
    start = storm.summed(s.eta, s.eta / (2 * s.alpha), noise, "4 eta^2 L_s^2 <= alpha N b")
    inside = {"eta": Fraction(1, 4), "alpha": Fraction(1, 2)}
    return proof.qed("potential, summed", "infimum", start, metric="gradient", model="x", inside=inside)


def heavy_ball(s: Reader) -> Derivation:
    """Section 11: F plus a multiple of the squared distance of alpha times the momentum from the gradient."""
    ball = Followed(s)
    proof, V, used, kept, step = ball.proof, Var("v"), Var("v", 1), 1 - s.alpha, s.eta / s.alpha
    least = proof.minimiser()
    proof.variable("v", "x", every=kept * V + ball.clients(ball.batch(ball.sampled)))
    ball.moves(used)
    proof.quantity("gap", value("F", X) - value("F", least))
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    error = ball.descends(s.alpha * used, step, s.L_bar)
    noise = s.sigma**2 / (s.N * s.b)
    proof.claim(
        "noise",
        sq(ball.clients(ball.batch(ball.noise))) <= noise,
        *(*ball.independent(ball.noise), proof.bound("sigma", ball.sampled)),
    )
    proof.update("v", name="momentum")
    proof.at("smooth", p=X, r=BEFORE)
    old, away = s.alpha * V - ball.full(BEFORE), ball.full(BEFORE) - ball.slope
    proof.claim(
        "error",
        error <= kept * sq(old) + kept**2 / s.alpha * s.L_bar**2 * sq(X - BEFORE) + s.alpha**2 * noise,
        "momentum",
        given={"noise": s.alpha**2, "smooth, there": kept**2 / s.alpha},
        squares=(s.alpha * old - kept * away,),
        why="kept^2 ||a + c||^2 <= kept ||a||^2 + kept^2/alpha ||c||^2 for kept = 1 - alpha; fresh noise is orthogonal",
    )
    at_rest = proof.start("momentum at rest", V)
    first = s.alpha**2 * noise + kept**2 * quantity("gradient")
    proof.claim("first error", error <= first, "momentum", at_rest, given={"noise": s.alpha**2})
    weight = step / (2 * s.alpha)
    start = ball.summed(step, weight, s.alpha**2 * noise, "2 eta L_bar <= alpha^2")
    steep_at_most(proof, s.L_bar, X, ball.slope, quantity("gap"), quantity("gradient"))
    proof.claim(
        "first slope",
        kept**2 * scalar(At("gradient")) <= kept**2 * s.alpha**2 / s.eta * s.F_gap,
        given={proof.at_start("slope"): kept**2, proof.bound("F_gap", of="gap", name="start"): 2 * s.L_bar * kept**2},
        certificates=(((s.F_gap / s.eta, ("weight", "weight", "step_size")),),),
        why="2 eta L_bar <= alpha^2",
    )
    whole = 2 / (step * s.T)
    return proof.qed(
        given={"potential, summed": whole, "infimum": whole, start: whole * weight, "first slope": whole * weight},
        metric="gradient",
        model="x",
        inside={"eta": Fraction(1, 16), "alpha": Fraction(1, 2)},
    )


def scgd_declining(s: Reader) -> Derivation:
    """Section 23: F plus a multiple of the error of the estimate leaves the squared gradient with the weight 1/(t + t0)."""
    method = InnerEstimate(s, 2 * s.a**0, declining=True)
    proof, eta, gamma = method.proof, method.eta, method.gamma
    method.steps()
    lemma = proof.smooth("F", "smooth", s.L_F, X, AFTER)
    variance = s.L_F * eta**2 / 2 * method.moment / s.N
    proof.claim(
        "descent",
        quantity("F", 1) <= quantity("F") + eta / 2 * (method.bias - quantity("gradient")) + variance,
        *(lemma, "noise"),
        squares=(proof.given(method.moved),),
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2",
    )
    first = eta / 2 * method.by_value * s.delta_g**2 / s.b
    left = quantity("F", 1) + eta / 2 * quantity("gradient")
    proof.claim("descent, first", left <= quantity("F") + first + variance, "descent", "bias, first")
    method.estimates()
    kept = s.a * method.by_value / (2 * s.beta)
    fresh = method.by_value * s.a * s.beta * s.delta_g**2 / s.b * (s.beta / (2 * s.t0) + 1 / s.N)
    drift = 2 / gamma * s.C_g**2 * eta**2 * method.moment
    proof.claim(
        "potential",
        left + kept * quantity("A", 1)
        <= quantity("F") + kept * quantity("A") + eta**2 / s.a**2 * fresh + variance + kept * drift,
        given={"descent": 1, "bias": eta / 2, "error, later": kept},
        why="the error falls by gamma of it, which pays for the bias; gamma^2 <= beta^2/(t0 (t + t0))",
    )
    weights = {"F": s.a**0, "A": kept}
    summed = proof.weighted("potential", weights, summed={"gradient": eta / 2}, start=1)
    proof.bound("F_gap", of="F", name="infimum")
    given = dict.fromkeys([summed, "infimum", proof.at_start("descent, first")], 2 / s.a)
    given[proof.at_start("error, first")] = 2 / s.a * kept
    return proof.qed(metric="gradient", model="x", inside={"t0": Fraction(2)}, given=given)


def gossip_sgd(s: Reader) -> Derivation:
    """Section 12: mixing keeps the mean model and takes a share rho of the consensus error away, steps add to it."""
    sgd = Sgd(s, pooled=False, mixed=True)
    proof, clients, kept = sgd.proof, sgd.clients, 1 - s.rho
    step, mixed = proof.update("x", name="step"), sgd.mix(sgd.stepped)
    mean = proof.bound("rho", clients(mixed), of="W", name="mean kept")
    together = clients(AFTER) - clients(sgd.stepped)
    proof.zero("mean", together, proof.mean(step, "n"), mean, why="the columns of W sum to 1")
    error = apart_models(sgd, s)
    sgd.descend(s, s.L, s.L**2 * error, "bias")
    _, size = apart_steps(sgd, s)
    added = kept**2 * s.eta**2 * (3 * s.zeta**2 / s.rho + size)
    proof.claim(
        "consensus",
        quantity("X", 1) <= (1 - s.rho / 2) * error + added,
        *(step, "mean"),
        given={proof.bound("rho", mixed, name="mixing"): 1, "growth": kept**2 / s.rho, "noise growth": kept**2},
        squares=(s.rho * sgd.away(X) + kept * s.eta * sgd.away(sgd.gradient(X)),),
        why="c^2 ||a + e||^2 <= c ||a||^2 + c^2/rho ||e||^2 for c = 1 - rho; 2 eta L <= rho; fresh noise is orthogonal",
    )
    proof.sum("consensus")
    proof.claim("alike", error <= 0, proof.start("start", sgd.away(X)))
    proof.claim("spread", total("X") <= 2 * s.T / s.rho * added, "consensus, summed", proof.at_start("alike"))
    return sgd.proved("descent, summed", "infimum", "spread", eta=Fraction(1, 4), rho=Fraction(3, 4))


def error_feedback(s: Reader) -> Derivation:
    """Section 13: the model less the mean memory moves by the mean gradient; F there plus a multiple of the squared memories falls."""
    sgd = PlainLosses(s)
    proof, clients, dF, left = sgd.proof, sgd.clients, sgd.gradient, 1 - s.theta
    sent = proof.function("C", "x -> x", role="compressor")
    memory, least, own = Var("e"), proof.minimiser(), sgd.batch(sgd.sampled)
    wanted = memory + s.eta * own
    proof.variable("e", "x", "n", every=wanted - sent(wanted))
    proof.variable("x", "x", every=X - clients(sent(wanted)))
    sgd.minimised()
    slope, here, there = sgd.full(X), X - clients(memory), AFTER - clients(Var("e", 1))
    gradient, E = proof.quantity("gradient", sq(slope)), proof.quantity("E", sq(memory))
    proof.quantity("gap", value("F", X) - value("F", least))
    F = proof.quantity("ahead", value("F", here) - value("F", least))
    kept, moved = proof.update("e", name="memory"), proof.update("x", name="model")
    proof.zero("step", there - here + s.eta * clients(own), moved, proof.mean(kept, "n"))
    noise = proof.bound("sigma", sgd.sampled)
    variance_of_mean(proof, "noise", sgd.noise, "n i", s.sigma**2, noise)
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    lemma = proof.smooth("F", "smooth", s.L_bar, here, there)
    variance = s.L_bar * s.eta**2 / 2 * s.sigma**2 / (s.N * s.b)
    proof.claim(
        "descent",
        quantity("ahead", 1)
        <= F - s.eta / 2 * (1 - s.L_bar * s.eta) * gradient + s.eta / 2 * s.L_bar**2 * E + variance,
        *(lemma, "step", "noise"),
        given={proof.at("smooth", p=X, r=here): s.eta / 2},
        squares=(sgd.full(here), sgd.away(memory)),
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; Jensen over the clients",
    )
    size, growth = s.sigma**2 / s.b, left * (2 - s.theta) / s.theta * s.eta**2
    accurate = proof.bound("theta", sent(wanted), name="accuracy")
    proof.claim(
        "memories",
        quantity("E", 1) <= (1 - s.theta / 2) * E + growth * (gradient + s.zeta**2) + left * s.eta**2 * size,
        *(kept, "independence over i", noise, proof.bound("zeta", dF(X))),
        given={accurate: 1},
        squares=(s.theta * memory - 2 * left * s.eta * dF(X),),
        why="c ||a + g||^2 <= (c + theta/2) ||a||^2 + c (1 + c)/theta ||g||^2 for c = 1 - theta; fresh noise is orthogonal",
    )
    weight = s.eta * s.L_bar**2 / s.theta
    added = variance + weight * (growth * s.zeta**2 + left * s.eta**2 * size)
    proof.claim(
        "potential",
        quantity("ahead", 1) + weight * quantity("E", 1) <= F + weight * E - Fraction(3, 8) * s.eta * gradient + added,
        given={"descent": 1, "memories": weight},
        why="4 eta L_bar <= theta",
    )
    proof.sum("potential")
    proof.claim("above", scalar(0 * s.eta) <= F, proof.least("minimiser", here))
    end = proof.step("above, at T", AtStart("above", end=True))
    empty = proof.start("memories at rest", memory)
    proof.claim("first", F + weight * E <= quantity("gap"), empty, proof.smooth("F", "smooth", s.L_bar, X, here))
    start = proof.bound("F_gap", of="gap", name="start")
    reasons = "potential, summed", end, proof.at_start("first"), start
    return proof.qed(*reasons, metric="gradient", model="x", inside={"eta": Fraction(1, 16), "theta": Fraction(1, 2)})


NETWORKS = (("gossip_sgd", gossip_sgd), ("error_feedback", error_feedback))
