"""The library's theorems, for the kernel; docs/theory/library.md comments on them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from ...proof.author import Derivation, Reader, Signomial, Var, dot, quantity, sq, value
from ...proof.tactics import Sgd, steep_at_most, unlike_descent
from . import derivations_local
from .derivations_methods import NETWORKS, compressed_sgd, heavy_ball, scgd_declining, storm

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

    def approach(self, tangent: str, kept: Signomial, gaps: Signomial | int = 0) -> None:
        """||x[+1] - x_*||^2 <= kept ||x - x_*||^2 - gaps (F(x) - F(x_*)) + eta^2 variance, with `tangent` for a convex F."""
        s, proof, eta = self.s, self.proof, self.eta
        proof.quantity("distance", self.distance)
        left = quantity("distance", 1)
        if gaps:
            proof.quantity("gap", self.gap)
            left = left + gaps * quantity("gap")
        steep_at_most(proof, s.L_bar, X, self.slope, self.gap, sq(self.slope))
        proof.claim(
            "approach",
            left <= kept * quantity("distance") + eta**2 * self.variance,
            *self.moved,
            given={tangent: 2 * eta, "slope": (2 * eta - gaps) / (2 * s.L_bar)},
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
        clock = self.proof.clock(self.s.t0)
        left = clock**2 - (clock + 1) ** 2 * self.descent(growth)
        given = {"descent": (clock + 1) ** 2, self.proof.least("minimiser", X): left}
        return self.squared("gap", self.s.L_bar / 2, given, "a growth", "F_gap")

    def squared(
        self, of: str, noise: Signomial | int, given: Mapping[str, Signomial], rate: str, start: str
    ) -> Derivation:
        """A quantity that falls by the rate over t + t0, and grows by eta^2 times so much noise, with the weight (t + t0)^2."""
        s, proof = self.s, self.proof
        clock = proof.clock(s.t0)
        rest = noise * (1 + 1 / s.t0) ** 2 * s.a**2 * self.variance
        why = f"(s + 1)^2 (1 - {rate}/s) <= s^2 and (s + 1)^2/s^2 <= (1 + 1/t0)^2, at s = t + t0"
        claimed = (clock + 1) ** 2 * quantity(of, 1) <= clock**2 * quantity(of) + rest
        proof.claim("weighted", claimed, given=given, why=why)
        summed = proof.weighted("weighted", {of: clock**2})
        proof.bound(start, of=of, name="start")
        return proof.qed(summed, "start", metric=of, model="x", inside={"a": Fraction(2), "t0": Fraction(2)})

    def closed(self, step: str, of: str, factor: Signomial, rest: Signomial, start: str) -> Derivation:
        """A contraction at every step, from a bound at the start."""
        proof = self.proof
        proof.contraction(step, of, factor, rest, name="contraction")
        proof.bound(start, of=of, name="start")
        return proof.qed("contraction", "start", metric=of, model="x", inside={"eta": Fraction(1, 2)})


def sgd_convex(s: Reader, *, sharpened: bool = False) -> Derivation:
    """Section 1: the distance falls by 2 eta times the gap, but for the noise.

    `sharpened`: eta^2 of the noise is that of the step, L_bar eta^3 that of the descent.
    """
    noise = s.eta**2 + s.L_bar * s.eta**3 if sharpened else 2 * s.eta**2
    given = {"convexity": 2 * s.eta, "descent lemma": 2 * s.eta} if sharpened else {}
    sgd = Least(s)
    proof = sgd.proof
    proof.named(distance=sgd.distance, gap=value("F", AFTER) - value("F", sgd.least))
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


def distance_contracts(s: Reader, *, exact: bool = False) -> Derivation:
    """Sections 2 and 7: a constant step size."""
    sgd = Least(s, exact=exact)
    sgd.approach(sgd.proof.bound("mu", X, sgd.least, of="F", name="tangent"), 1 - s.mu * s.eta)
    return sgd.closed("approach", "distance", 1 - s.mu * s.eta, s.eta * sgd.variance / s.mu, "D")


def sgd_strongly_convex_declining(s: Reader) -> Derivation:
    """Section 5: the squared distance, with the weight (t + t0)^2."""
    sgd = Least(s, declining=s.t0)
    sgd.approach(sgd.proof.bound("mu", X, sgd.least, of="F", name="tangent"), 1 - s.mu * sgd.eta)
    return sgd.squared("distance", 1, {"approach": (sgd.proof.clock(s.t0) + 1) ** 2}, "mu a", "D")


def sgd_strongly_convex_weighted(s: Reader) -> Derivation:
    """Section 17: the squared distance with the weight (t + t0 - 1)^2, which leaves the gap with the weight a (t + t0)."""
    sgd = Least(s, declining=s.t0)
    proof = sgd.proof
    clock = proof.clock(s.t0)
    sgd.approach(proof.bound("mu", X, sgd.least, of="F", name="tangent"), 1 - s.mu * sgd.eta, sgd.eta)
    proof.claim(
        "weighted",
        clock**2 * quantity("distance", 1) + s.a * clock * quantity("gap")
        <= (clock - 1) ** 2 * quantity("distance") + s.a**2 * sgd.variance,
        given={"approach": clock**2},
        why="s^2 (1 - mu a/s) <= (s - 1)^2 at s = t + t0",
    )
    summed = proof.weighted("weighted", {"distance": (clock - 1) ** 2}, summed={"gap": s.a * clock})
    proof.bound("D", of="distance", name="start")
    inside = {"a": Fraction(2), "t0": Fraction(4)}
    given = {summed: 1 / s.a, "start": (s.t0 - 1) ** 2 / s.a}
    return proof.qed(metric="gap", model="x", inside=inside, given=given)


def steep(sgd: Least, *, convex: bool) -> Signomial:
    """The constant kappa with 2 kappa (F(x) - F(x_*)) <= ||grad F(x)||^2: assumed, or mu where strong convexity is."""
    s, proof, least = sgd.s, sgd.proof, sgd.least
    if not convex:
        proof.bound("kappa", X, of="F", name="steep")
        return s.kappa
    proof.bound("mu", X, least, of="F", name="tangent")
    proof.claim(
        "steep",
        2 * s.mu * sgd.gap <= sq(sgd.slope),
        "tangent",
        squares=(sgd.slope - s.mu * (X - least),),
        why="the least value of the tangent with the square",
    )
    return s.mu


def gap_contracts(s: Reader, *, convex: bool = False, exact: bool = False, whole: bool = False) -> Derivation:
    """Sections 2, 3 and 7: a constant step size."""
    sgd = Least(s, exact=exact)
    return sgd.descended(steep(sgd, convex=convex), whole=whole)


def gap_declines(s: Reader, *, convex: bool = False) -> Derivation:
    """Section 5: step sizes a/(t + t0)."""
    sgd = Least(s, declining=s.t0)
    return sgd.slowing(steep(sgd, convex=convex))


def descended(s: Reader, *, exact: bool = False) -> Derivation:
    """Sections 7 and 8: the sum of the descent, without any convexity."""
    descent = Sgd(s, pooled=True, exact=exact)
    descent.proof.bound("L_bar", *descent.proof.points, of="F", name="smooth")
    descent.proof.update("x", name="mean")
    descent.descend(s, s.L_bar, 0 * s.L_bar)
    return descent.proved("descent, summed", "infimum")


def sgd_declining(s: Reader) -> Derivation:
    """Section 22: the descent of a step leaves the squared gradient with the weight 1/(t + t0)."""
    sgd = Sgd(s, pooled=True, declining=s.t0)
    proof, eta, slope = sgd.proof, sgd.eta, sgd.full(X)
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.update("x", name="step")
    variance = sgd.average_noise(s)
    proof.named(gradient=sq(slope), F=value("F", X))
    lemma = proof.smooth("F", "smooth", s.L_bar, X, AFTER)
    proof.claim(
        "descent",
        quantity("F", 1) + eta / 2 * quantity("gradient") <= quantity("F") + s.L_bar * eta**2 / 2 * variance,
        *("step", "noise", lemma),
        why="F[+1] <= F - (eta - L_bar eta^2/2) ||grad F||^2 + L_bar eta^2/2 variance",
    )
    summed = proof.weighted("descent", {"F": s.a**0}, summed={"gradient": eta / 2})
    proof.bound("F_gap", of="F", name="infimum")
    given = {summed: 2 / s.a, "infimum": 2 / s.a}
    return proof.qed(metric="gradient", model="x", given=given)


def sgd_bounded_noise_probable(s: Reader) -> Derivation:
    """Section 25: the descent along a run, and a martingale for what its noise adds up to."""
    sgd = Sgd(s, pooled=True, pathwise=True)
    proof, slope = sgd.proof, sgd.full(X)
    error, size = sgd.clients(sgd.batch(sgd.noise)), s.sigma_inf**2
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.update("x", name="step")
    proof.named(gradient=sq(slope), drift=dot(-1 * slope, error), F=value("F", X))
    proof.claim("noise", sq(error) <= size, proof.bound("sigma_inf", sgd.sampled), why="Jensen over the samples")
    lemma, left = proof.smooth("F", "smooth", s.L_bar, X, AFTER), 1 - s.L_bar * s.eta
    proof.claim(
        "descent",
        quantity("F", 1) + (s.eta - s.L_bar * s.eta**2 / 2) * quantity("gradient")
        <= quantity("F") + s.eta * left * quantity("drift") + s.L_bar * s.eta**2 / 2 * size,
        *("step", "noise", lemma),
        why="<grad F, noise> stands in the step, and in its square",
    )
    reasons = proof.sum("descent"), proof.bound("F_gap", of="F", name="infimum")
    chance = ("sigma_inf", sgd.sampled, "n i", s.eta**0)
    likely = proof.martingale("martingale", "drift", "gradient", -1 * slope, *chance)
    return proof.qed(*reasons, likely, metric="gradient", model="x", inside={"eta": Fraction(1, 2)})


def gd_convex(s: Reader) -> Derivation:
    """Section 7: 2 eta t times the gap, plus the squared distance, does not grow."""
    descent = Least(s, exact=True)
    proof = descent.proof
    weight = 2 * s.eta * (proof.clock(s.eta**0) - 1)
    proof.named(distance=descent.distance, gap=descent.gap)
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


DERIVATIONS = (
    ("sgd_convex", sgd_convex),
    ("sgd_convex_distance", sgd_convex_distance),
    ("sgd_declining", sgd_declining),
    ("sgd_strongly_convex", distance_contracts),
    ("sgd_strongly_convex_gap", partial(gap_contracts, convex=True)),
    ("sgd_strongly_convex_declining", sgd_strongly_convex_declining),
    ("sgd_strongly_convex_gap_declining", partial(gap_declines, convex=True)),
    ("sgd_strongly_convex_weighted", sgd_strongly_convex_weighted),
    ("sgd_strongly_convex_averaged", sgd_strongly_convex_weighted),
    ("sgd_pl", gap_contracts),
    ("sgd_pl_declining", gap_declines),
    ("gd", partial(descended, exact=True)),
    ("gd_convex", gd_convex),
    ("gd_strongly_convex", partial(distance_contracts, exact=True)),
    ("gd_pl", partial(gap_contracts, exact=True)),
    ("local_sgd_pl", local_sgd_pl),
    ("sgd_probable", descended),
    ("sgd_bounded_noise_probable", sgd_bounded_noise_probable),
    ("local_sgd_strongly_convex", partial(derivations_local.local_sgd_convex, strongly=True)),
    ("compressed_sgd", compressed_sgd),
    ("storm", storm),
    ("heavy_ball", heavy_ball),
    ("scgd_declining", scgd_declining),
    *NETWORKS,
    *derivations_local.DERIVATIONS,
)
SHARPENED = (
    ("sgd_convex", partial(sgd_convex, sharpened=True)),
    ("sgd_strongly_convex_gap", partial(gap_contracts, convex=True, whole=True)),
    ("sgd_pl", partial(gap_contracts, whole=True)),
)
