"""The library's theorems, for the kernel; docs/theory/library.md comments on them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from ...language.bounding import SAMPLE
from ...proof.author import Derivation, Proof, Reader, Signomial, Var, quantity, scalar, sq, value
from ...proof.kernel.scalars import At
from ...proof.tactics import Sgd, smooth_descent, smooth_mean, unlike_descent, unlike_rounds

X, AFTER = Var("x"), Var("x", 1)


class Least(Sgd):
    """Minibatch SGD on an objective that is least at x_*: the noise of a step, and what smoothness says of it."""

    def __init__(self, s: Reader, declining: Signomial | None = None, *, exact: bool = False):
        super().__init__(s, pooled=True, declining=declining, exact=exact)
        self.s, proof = s, self.proof
        self.least, self.slope = proof.minimiser(), self.full(X)
        self.gap = value("F", X) - value("F", self.least)
        self.distance = sq(X - self.least)
        proof.bound("L_bar", *proof.points, of="F", name="smooth")
        self.variance = self.average_noise(s)
        self.moved = ("step",) if exact else ("step", "noise")
        proof.update("x", name="step")

    def approach(self, tangent: str, kept: Signomial) -> None:
        """||x[+1] - x_*||^2 <= kept ||x - x_*||^2 + eta^2 variance, with `tangent` for a convex F."""
        s, proof, eta = self.s, self.proof, self.eta
        proof.quantity("distance", self.distance)
        nearer = X - 1 / s.L_bar * self.slope
        proof.smooth("F", "smooth", s.L_bar, X, nearer)
        proof.claim(
            "slope",
            sq(self.slope) <= 2 * s.L_bar * self.gap,
            proof.least("minimiser", nearer),
            "descent lemma",
            why="F(x_*) <= F(x - grad F(x)/L_bar)",
        )
        proof.claim(
            "approach",
            quantity("distance", 1) <= kept * quantity("distance") + eta**2 * self.variance,
            *self.moved,
            given={tangent: 2 * eta, "slope": eta / s.L_bar},
            why="||x - x_*||^2 - 2 eta <grad F, x - x_*> + eta^2 ||grad F||^2",
        )

    def descent(self, growth: Signomial, *, whole: bool = False) -> Signomial:
        """gap[+1] <= factor gap + noise, where `steep` says that 2 growth (F(x) - F(x_*)) <= ||grad F(x)||^2; the factor.

        `whole`: nothing of the squared gradient is left out.
        """
        s, proof, eta = self.s, self.proof, self.eta
        proof.quantity("gap", self.gap)
        proof.smooth("F", "smooth", s.L_bar, X, AFTER)
        kept = eta - s.L_bar * eta**2 / 2 if whole else eta / 2
        factor = 1 - 2 * growth * kept
        proof.claim(
            "descent",
            quantity("gap", 1) <= factor * quantity("gap") + s.L_bar * eta**2 / 2 * self.variance,
            *self.moved,
            given={"descent lemma": 1, "steep": kept},
            why="F[+1] <= F - (eta - L_bar eta^2/2) ||grad F||^2 + L_bar eta^2/2 variance",
        )
        return factor

    def descended(self, growth: Signomial, *, whole: bool = False) -> Derivation:
        """The gap contracts."""
        s = self.s
        rest = s.L_bar * self.eta * self.variance / (2 * growth)
        if whole:
            rest = (1 + s.L_bar * self.eta) / 2 * rest
        return self.closed("descent", "gap", self.descent(growth, whole=whole), rest, "F_gap")

    def slowing(self, growth: Signomial) -> Derivation:
        """The gap with the weight (t + t0)^2, for step sizes a/(t + t0)."""
        s, proof = self.s, self.proof
        clock = proof.clock(s.t0)
        factor = self.descent(growth)
        noise = s.L_bar / 2 * (1 + 1 / s.t0) ** 2 * s.a**2 * self.variance
        left = clock**2 - (clock + 1) ** 2 * factor
        proof.claim(
            "weighted",
            (clock + 1) ** 2 * quantity("gap", 1) <= clock**2 * quantity("gap") + noise,
            given={"descent": (clock + 1) ** 2, proof.least("minimiser", X): left},
            why="(s + 1)^2 (1 - a growth/s) <= s^2 and (s + 1)^2/s^2 <= (1 + 1/t0)^2, at s = t + t0",
        )
        summed = proof.weighted("weighted", {"gap": clock**2})
        proof.bound("F_gap", of="gap", name="start")
        return proof.qed(summed, "start", metric="gap", model="x", inside={"a": Fraction(2), "t0": Fraction(2)})

    def closed(self, step: str, of: str, factor: Signomial, rest: Signomial, start: str) -> Derivation:
        """A contraction at every step, from a bound at the start."""
        proof = self.proof
        proof.contraction(step, of, factor, rest, name="contraction")
        proof.bound(start, of=of, name="start")
        return proof.qed("contraction", "start", metric=of, model="x", inside={"eta": Fraction(1, 2)})


def sgd_convex(s: Reader) -> Derivation:
    """Section 1."""
    return _convex(s, 2 * s.eta**2, {})


def sgd_convex_sharpened(s: Reader) -> Derivation:
    """Section 1: eta^2 of the noise is that of the step, L_bar eta^3 that of the descent."""
    given = {"convexity": 2 * s.eta, "descent lemma": 2 * s.eta}
    return _convex(s, s.eta**2 + s.L_bar * s.eta**3, given)


def _convex(s: Reader, noise: Signomial, given: Mapping[str, Signomial]) -> Derivation:
    """The distance falls by 2 eta times the gap, but for the noise times a number; `given`: the multipliers that do not follow."""
    sgd = Least(s)
    proof = sgd.proof
    proof.quantity("distance", sgd.distance)
    proof.quantity("gap", value("F", AFTER) - value("F", sgd.least))
    convex = proof.convex("convexity", X, sgd.least)
    proof.smooth("F", "smooth", s.L_bar, X, AFTER)
    proof.claim(
        "approach",
        2 * s.eta * quantity("gap") <= quantity("distance") - quantity("distance", 1) + noise * sgd.variance,
        *(name for name in ("step", "noise", convex, "descent lemma") if name not in given),
        given=given,
        squares=(sgd.slope,) if given else (),
        why="||x - x_*||^2 - 2 eta <grad F, x - x_*> + eta^2 ||grad F||^2, and 2 eta times the descent",
    )
    proof.sum("approach")
    proof.bound("D", of="distance", name="start")
    return proof.qed("approach, summed", "start", metric="gap", model="x", inside={"eta": Fraction(1, 2)})


def sgd_convex_distance(s: Reader) -> Derivation:
    """Section 1."""
    sgd = Least(s)
    sgd.approach(sgd.proof.convex("convexity", X, sgd.least), s.eta**0)
    sgd.proof.sum("approach")
    sgd.proof.bound("D", of="distance", name="start")
    return sgd.proof.qed("approach, summed", "start", metric="distance", model="x", inside={"eta": Fraction(1, 2)})


def sgd_strongly_convex(s: Reader) -> Derivation:
    """Section 2."""
    sgd = Least(s)
    sgd.approach(sgd.proof.bound("mu", X, sgd.least, of="F", name="tangent"), 1 - s.mu * s.eta)
    return sgd.closed("approach", "distance", 1 - s.mu * s.eta, s.eta * sgd.variance / s.mu, "D")


def sgd_strongly_convex_declining(s: Reader) -> Derivation:
    """Section 5: the squared distance, with the weight (t + t0)^2."""
    sgd = Least(s, declining=s.t0)
    proof = sgd.proof
    clock = proof.clock(s.t0)
    sgd.approach(proof.bound("mu", X, sgd.least, of="F", name="tangent"), 1 - s.mu * sgd.eta)
    noise = (1 + 1 / s.t0) ** 2 * s.a**2 * sgd.variance
    proof.claim(
        "weighted",
        (clock + 1) ** 2 * quantity("distance", 1) <= clock**2 * quantity("distance") + noise,
        given={"approach": (clock + 1) ** 2},
        why="(s + 1)^2 (1 - mu a/s) <= s^2 and (s + 1)^2/s^2 <= (1 + 1/t0)^2, at s = t + t0",
    )
    summed = proof.weighted("weighted", {"distance": clock**2})
    proof.bound("D", of="distance", name="start")
    return proof.qed(summed, "start", metric="distance", model="x", inside={"a": Fraction(2), "t0": Fraction(2)})


def sgd_pl(s: Reader, *, whole: bool = False) -> Derivation:
    """Section 3."""
    sgd = Least(s)
    sgd.proof.bound("kappa", X, of="F", name="steep")
    return sgd.descended(s.kappa, whole=whole)


def sgd_strongly_convex_gap(s: Reader, *, whole: bool = False) -> Derivation:
    """Section 2."""
    sgd = Least(s)
    steep(sgd)
    return sgd.descended(s.mu, whole=whole)


def steep(sgd: Least) -> None:
    """Strong convexity implies the Polyak-Lojasiewicz inequality."""
    s, proof, least = sgd.s, sgd.proof, sgd.least
    proof.bound("mu", X, least, of="F", name="tangent")
    proof.claim(
        "steep",
        2 * s.mu * sgd.gap <= sq(sgd.slope),
        "tangent",
        squares=(sgd.slope - s.mu * (X - least),),
        why="the least value of the tangent with the square",
    )


def sgd_pl_declining(s: Reader) -> Derivation:
    """Section 5."""
    sgd = Least(s, declining=s.t0)
    sgd.proof.bound("kappa", X, of="F", name="steep")
    return sgd.slowing(s.kappa)


def sgd_strongly_convex_gap_declining(s: Reader) -> Derivation:
    """Section 5."""
    sgd = Least(s, declining=s.t0)
    steep(sgd)
    return sgd.slowing(s.mu)


def descended(s: Reader, *, exact: bool) -> Derivation:
    """The sum of the descent."""
    descent = Sgd(s, pooled=True, exact=exact)
    descent.proof.bound("L_bar", *descent.proof.points, of="F", name="smooth")
    descent.proof.update("x", name="mean")
    descent.descend(s, s.L_bar, 0 * s.L_bar)
    return descent.proved("descent, summed", "infimum")


def gd(s: Reader) -> Derivation:
    """Section 7: the squared gradient, without any convexity."""
    return descended(s, exact=True)


def sgd_probable(s: Reader) -> Derivation:
    """Section 8."""
    return descended(s, exact=False)


def gd_convex(s: Reader) -> Derivation:
    """Section 7: 2 eta t times the gap, plus the squared distance, does not grow."""
    descent = Least(s, exact=True)
    proof = descent.proof
    weight = 2 * s.eta * (proof.clock(s.eta**0) - 1)
    proof.quantity("distance", descent.distance)
    proof.quantity("gap", descent.gap)
    lemma = proof.smooth("F", "smooth", s.L_bar, X, AFTER)
    lower = quantity("gap", 1) <= quantity("gap") - s.eta / 2 * sq(descent.slope)
    proof.claim("descent", lower, "step", given={lemma: 1})
    proof.claim(
        "approach",
        2 * s.eta * quantity("gap") <= quantity("distance") - quantity("distance", 1) + s.eta**2 * sq(descent.slope),
        "step",
        given={proof.convex("convexity", X, descent.least): 2 * s.eta},
        why="||x - x_*||^2 - 2 eta <grad F, x - x_*> + eta^2 ||grad F||^2",
    )
    proof.claim(
        "weighted",
        (weight + 2 * s.eta) * quantity("gap", 1) + quantity("distance", 1)
        <= weight * quantity("gap") + quantity("distance"),
        given={"descent": weight + 2 * s.eta, "approach": 1},
        why="2 eta (t + 1) times the descent, and the approach",
    )
    summed = proof.weighted("weighted", {"gap": weight, "distance": s.eta**0})
    proof.bound("D", of="distance", name="start")
    return proof.qed(summed, "start", metric="gap", model="x", inside={"eta": Fraction(1, 2)})


def gd_strongly_convex(s: Reader) -> Derivation:
    """Section 7."""
    descent = Least(s, exact=True)
    descent.approach(descent.proof.bound("mu", X, descent.least, of="F", name="tangent"), 1 - s.mu * s.eta)
    return descent.closed("approach", "distance", 1 - s.mu * s.eta, 0 * s.mu, "D")


def gd_pl(s: Reader) -> Derivation:
    """Section 7."""
    descent = Least(s, exact=True)
    descent.proof.bound("kappa", X, of="F", name="steep")
    return descent.descended(s.kappa)


def local_sgd_pl(s: Reader) -> Derivation:
    """Section 4."""
    sgd = unlike_descent(s)
    proof, here = sgd.proof, sgd.clients(X)
    gap = value("F", here) - value("F", proof.minimiser())
    proof.quantity("gap", gap)
    proof.bound("kappa", here, of="F", name="steep")
    proof.claim("gap", quantity("gap") <= 1 / (2 * s.kappa) * quantity("gradient"), "steep")
    reasons = proof.sum("gap"), "descent, summed", "infimum", "consensus"
    return proof.qed(*reasons, metric="gap", model="x", inside={"eta": Fraction(1, 2)})


def local_sgd_strongly_convex(s: Reader) -> Derivation:
    """Section 6."""
    sgd = unlike_rounds(s)
    proof, here, least = sgd.proof, sgd.clients(X), sgd.proof.minimiser()
    gap, slope, mean = value("F", here) - value("F", least), sgd.full(here), sgd.clients(sgd.gradient(X))
    distance, nearer = sq(here - least), here - 1 / s.L * slope
    proof.quantity("gap", gap)
    proof.quantity("distance", distance)
    lemma = proof.smooth("F", "smooth", s.L, here, nearer)
    proof.claim("slope", sq(slope) <= 2 * s.L * gap, proof.least("minimiser", nearer), lemma)
    proof.bound("mu", here, least, of="F", name="tangent")
    above = proof.least("minimiser", here, name="above the minimum")
    bias = s.L**2 * s.eta * (1 / s.mu + 2 * s.eta)
    noise = s.eta**2 * s.sigma**2 / (s.N * s.b)
    proof.claim(
        "approach",
        quantity("distance", 1) <= quantity("distance") - s.eta * quantity("gap") + bias * quantity("X") + noise,
        *("mean", "noise"),
        given={"tangent": 2 * s.eta, "slope": 2 * s.eta**2, above: s.eta - 4 * s.eta**2 * s.L, "bias": bias / s.L**2},
        squares=(mean - slope + s.mu * (here - least), mean - 2 * slope),
        why="2<a, b> <= ||a||^2/mu + mu ||b||^2 for the bias a of the mean gradient, and ||c||^2 <= 2 ||grad F||^2 + 2 ||a||^2",
    )
    proof.bound("D", of="distance", name="nearby")
    reasons = proof.sum("approach"), "nearby", "consensus"
    return proof.qed(*reasons, metric="gap", model="x", inside={"eta": Fraction(1, 4)})


def compressed_sgd(s: Reader) -> Derivation:
    """Section 9: the compressors' errors are independent, and as large as the gradients that they change."""
    proof = Proof(s, time="independence")
    clients, batch = proof.clients(s.N), proof.batch("i", s.b, "independence")
    proof.source("xi", "n i", "independence")
    proof.source("kept", "n", "independence")
    dF = proof.function("dF", "x -> x", "xi", role="local_gradient", mean_per="n")
    C = proof.function("C", "x -> x", "kept", role="compressor")
    own = batch(dF(X, 0))
    direction, gradient = clients(C(own, 0)), clients(dF(X))
    proof.variable("x", "x", every=X - s.eta * direction)
    proof.free("p r", "x")
    proof.objective("F", lambda point: clients(dF(point)), "smoothness")
    proof.quantity("gradient", sq(gradient))
    proof.quantity("F", value("F", X))
    unbiased = proof.bound("omega", C(own), name="unbiased")
    proof.mean(unbiased, "n")
    independence = proof.independent(dF(X, 0) - dF(X), "i"), proof.independent(batch(dF(X, 0) - dF(X)), "n")
    noise = proof.bound("sigma", dF(X, 0))
    proof.claim(
        "sent",
        sq(own) <= quantity("gradient") + s.zeta**2 + s.sigma**2 / s.b,
        independence[0],
        noise,
        proof.bound("zeta", dF(X)),
        why="noise has mean 0, and so has the distance from the mean over the clients",
    )
    compressed = s.omega * (quantity("gradient") + s.zeta**2 + s.sigma**2 / s.b) / s.N
    proof.claim(
        "noise",
        sq(direction - gradient) <= compressed + s.sigma**2 / (s.N * s.b),
        *independence,
        noise,
        proof.independent(C(own, 0) - C(own), "n", "xi", name="independence of the compressors"),
        proof.bound("omega", C(own, 0), name="compressed"),
        "unbiased, mean",
        "sent",
        unbiased,
    )
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.update("x", name="mean")
    smooth_descent(
        proof,
        s.eta,
        s.L_bar,
        X,
        AFTER,
        ((1 + s.omega) * s.sigma**2 / s.b + s.omega * s.zeta**2) / s.N,
        0 * s.eta,
        "mean",
        "noise",
        "unbiased, mean",
    )
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside={"eta": Fraction(1, 2)})


def storm(s: Reader) -> Derivation:
    """Section 10: F plus eta/(2 alpha) times the error of the estimate."""
    proof = Proof(s, time="independence")
    clients, batch = proof.clients(s.N), proof.batch("i", s.b, "independence", first=s.B)
    proof.source("xi", "n i", "independence")
    dF = proof.function("dF", "x -> x", "xi", role="local_gradient", mean_per="n")
    D, used, before = Var("d"), Var("d", 1), Var("x", -1)
    drawn, gradient, kept = dF(X, 0), clients(dF(X)), 1 - s.alpha
    proof.variable(
        "d",
        "x",
        first=clients(batch(drawn)),
        later=kept * D + clients(batch(drawn - kept * dF(before, 0))),
    )
    proof.variable("x", "x", every=X - s.eta * used)
    proof.free("p r", "x")
    proof.objective("F", lambda point: clients(dF(point)), "smoothness")
    proof.quantity("F", value("F", X))
    proof.quantity("gradient", sq(gradient))
    error, length = proof.quantity("E", sq(used - gradient)), proof.quantity("S", sq(used))
    smooth_mean(proof, clients, dF, s.L_s, proof.bound("L_s", *map(dF, proof.points)))
    proof.smooth("F", "smooth", s.L_s, X, AFTER)
    proof.update("x", name="step")
    proof.claim(
        "descent",
        quantity("F", 1)
        <= quantity("F") - s.eta / 2 * quantity("gradient") - (s.eta - s.L_s * s.eta**2) / 2 * length + s.eta / 2 * error,
        "descent lemma",
        "step",
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2",
    )
    noise, number = s.sigma**2, s.N * s.b
    sigma = proof.bound("sigma", drawn)
    proof.claim(
        "first error",
        error <= noise / (s.N * s.B),
        proof.independent(drawn - dF(X), "i", first=True),
        proof.independent(batch(drawn - dF(X)), "n", first=True),
        sigma,
        proof.update("d", "first local", name="d, first"),
    )
    moved = drawn - dF(before, 0)
    change = moved - (dF(X) - dF(before))
    fresh = s.alpha * (drawn - dF(X)) + kept * change
    proof.claim(
        "fresh",
        sq(fresh) <= 2 * s.alpha**2 * noise + 2 * s.L_s**2 * sq(X - before),
        given={sigma: 2 * s.alpha**2, proof.bound("L_s", drawn, dF(before, 0), per=SAMPLE): 2 * kept**2},
        squares=(s.alpha * (drawn - dF(X)) - kept * change, dF(X) - dF(before), X - before),
        why="||a + c||^2 <= 2 ||a||^2 + 2 ||c||^2; a variance is at most a second moment",
    )
    proof.claim(
        "error",
        error <= kept * sq(D - clients(dF(before))) + (2 * s.alpha**2 * noise + 2 * s.L_s**2 * sq(X - before)) / number,
        proof.independent(fresh, "i"),
        proof.independent(batch(fresh), "n"),
        proof.update("d", name="d, later"),
        given={"fresh": 1 / number},
        squares=(D - clients(dF(before)),),
        why="fresh errors are orthogonal to the error before",
    )
    proof.later("error")
    proof.claim(
        "potential",
        quantity("F", 1) + s.eta / (2 * s.alpha) * quantity("E", 1)
        <= quantity("F") + s.eta / (2 * s.alpha) * error - s.eta / 2 * quantity("gradient") + s.alpha * s.eta * noise / number,
        "step",
        given={"descent": 1, "error, later": s.eta / (2 * s.alpha)},
        why="4 eta^2 L_s^2 <= alpha N b",
    )
    proof.sum("potential")
    proof.bound("F_gap", of="F", name="infimum")
    start = proof.at_start("first error")
    return proof.qed("potential, summed", "infimum", start, metric="gradient", model="x", inside={"eta": Fraction(1, 4), "alpha": Fraction(1, 2)})


def heavy_ball(s: Reader) -> Derivation:
    """Section 11: F plus a multiple of the distance of (1 - beta) times the momentum from the gradient."""
    proof = Proof(s, time="independence")
    clients, batch = proof.clients(s.N), proof.batch("i", s.b, "independence")
    proof.source("xi", "n i", "independence")
    dF = proof.function("dF", "x -> x", "xi", role="local_gradient", mean_per="n")
    M, used, before = Var("v"), Var("v", 1), Var("x", -1)
    drawn, gradient, share, kept = dF(X, 0), clients(dF(X)), s.alpha, 1 - s.alpha
    full = lambda point: clients(dF(point))
    least = proof.minimiser()
    proof.variable("v", "x", every=kept * M + clients(batch(drawn)))
    proof.variable("x", "x", every=X - s.eta * used)
    proof.free("p r", "x")
    proof.objective("F", full, "smoothness")
    gap = value("F", X) - value("F", least)
    proof.quantity("gap", gap)
    proof.quantity("F", value("F", X))
    proof.quantity("gradient", sq(gradient))
    error, length = proof.quantity("E", sq(share * used - gradient)), proof.quantity("S", sq(share * used))
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.smooth("F", "smooth", s.L_bar, X, AFTER)
    proof.update("x", name="step")
    step = s.eta / share
    proof.claim(
        "descent",
        quantity("F", 1)
        <= quantity("F") - step / 2 * quantity("gradient") - (step - s.L_bar * step**2) / 2 * length + step / 2 * error,
        "descent lemma",
        "step",
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2",
    )
    proof.update("v", name="new momentum")
    noise = s.sigma**2 / (s.N * s.b)
    fresh = drawn - dF(X)
    reasons = (proof.independent(fresh, "i"), proof.independent(batch(fresh), "n"), proof.bound("sigma", drawn))
    proof.claim("noise", sq(clients(batch(fresh))) <= noise, *reasons)
    proof.at("smooth", p=X, r=before)
    here, away = share * M - full(before), full(before) - gradient
    proof.claim(
        "error",
        error <= kept * sq(here) + kept**2 / share * s.L_bar**2 * sq(X - before) + share**2 * noise,
        "new momentum",
        given={"noise": share**2, "smooth, there": kept**2 / share},
        squares=(share * here - kept * away,),
        why="||beta (a + c)||^2 <= beta ||a||^2 + beta^2/(1 - beta) ||c||^2; fresh noise is orthogonal to both",
    )
    proof.later("error")
    weight = step / (2 * share)
    proof.claim(
        "potential",
        quantity("F", 1) + weight * quantity("E", 1)
        <= quantity("F") + weight * error - step / 2 * quantity("gradient") + weight * share**2 * noise,
        "step",
        given={"descent": 1, "error, later": weight},
        why="2 eta L_bar <= alpha^2",
    )
    proof.sum("potential")
    proof.start("momentum", M)
    proof.claim(
        "first error",
        error <= share**2 * noise + kept**2 * quantity("gradient"),
        "new momentum",
        "momentum",
        given={"noise": share**2},
    )
    nearer = X - 1 / s.L_bar * gradient
    lemma = proof.smooth("F", "smooth", s.L_bar, X, nearer)
    proof.claim(
        "slope", quantity("gradient") <= 2 * s.L_bar * quantity("gap"), proof.least("minimiser", nearer), lemma
    )
    proof.bound("F_gap", of="F", name="infimum")
    proof.bound("F_gap", of="gap", name="start")
    error_start, slope_start = proof.at_start("first error"), proof.at_start("slope")
    proof.claim(
        "first slope",
        kept**2 * scalar(At("gradient")) <= kept**2 * share**2 / s.eta * s.F_gap,
        given={slope_start: kept**2, "start": 2 * s.L_bar * kept**2},
        certificates=(((s.F_gap / s.eta, ("weight", "weight", "step_size")),),),
        why="2 eta L_bar <= alpha^2",
    )
    whole = 2 / (step * s.T)
    return proof.qed(
        given={"potential, summed": whole, "infimum": whole, error_start: whole * weight, "first slope": whole * weight},
        metric="gradient",
        model="x",
        inside={"eta": Fraction(1, 16), "alpha": Fraction(1, 2)},
    )


DERIVATIONS = (
    ("sgd_convex", sgd_convex),
    ("sgd_convex_distance", sgd_convex_distance),
    ("sgd_strongly_convex", sgd_strongly_convex),
    ("sgd_strongly_convex_gap", sgd_strongly_convex_gap),
    ("sgd_strongly_convex_declining", sgd_strongly_convex_declining),
    ("sgd_strongly_convex_gap_declining", sgd_strongly_convex_gap_declining),
    ("sgd_pl", sgd_pl),
    ("sgd_pl_declining", sgd_pl_declining),
    ("gd", gd),
    ("gd_convex", gd_convex),
    ("gd_strongly_convex", gd_strongly_convex),
    ("gd_pl", gd_pl),
    ("local_sgd_pl", local_sgd_pl),
    ("sgd_probable", sgd_probable),
    ("local_sgd_strongly_convex", local_sgd_strongly_convex),
    ("compressed_sgd", compressed_sgd),
    ("storm", storm),
    ("heavy_ball", heavy_ball),
)
SHARPENED = (
    ("sgd_convex", sgd_convex_sharpened),
    ("sgd_strongly_convex_gap", partial(sgd_strongly_convex_gap, whole=True)),
    ("sgd_pl", partial(sgd_pl, whole=True)),
)
