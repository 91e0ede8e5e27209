"""The library's theorems on clients that step by themselves, or of which some take part; docs/theory/library.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Act, Derivation, Reader, Term, Var, quantity, sq, value
from ...proof.kernel import Sum
from ...proof.tactics import PlainLosses, smooth_descent, unlike_rounds, variance_of_mean
from .derivations_methods import OneModel

X = Var("x")


def local_sgd_convex(s: Reader) -> Derivation:
    """Section 14: the mean gradient of convex clients leads to the minimiser but for the consensus error."""
    sgd = unlike_rounds(s)
    proof, here, least = sgd.proof, sgd.clients(X), sgd.proof.minimiser()
    slope, mean = sgd.full(here), sgd.clients(sgd.gradient(X))
    proof.quantity("gap", value("F", here) - value("F", least))
    proof.quantity("distance", sq(here - least))
    nearer = here - 1 / s.L * slope
    lemma = proof.smooth("F", "smooth", s.L, here, nearer)
    proof.claim("slope", sq(slope) <= 2 * s.L * quantity("gap"), proof.least("minimiser", nearer), lemma)
    proof.convex_clients("convexity", "L", sgd.gradient(X), here, least)
    above = proof.least("minimiser", here, name="above the minimum")
    drift, noise = s.eta * s.L * (1 + 2 * s.eta * s.L), s.eta**2 * s.sigma**2 / (s.N * s.b)
    proof.claim(
        "approach",
        quantity("distance", 1) <= quantity("distance") - s.eta * quantity("gap") + drift * quantity("X") + noise,
        *("mean", "noise"),
        given={
            "three points": 2 * s.eta,
            "slope": 2 * s.eta**2,
            above: s.eta - 4 * s.eta**2 * s.L,
            "bias": 2 * s.eta**2,
        },
        squares=(mean - 2 * slope,),
        why="||x - x_*||^2 - 2 eta <c, x - x_*> + eta^2 ||c||^2 at the mean gradient c; ||c||^2 <= 2 ||grad F||^2 + 2 ||c - grad F||^2",
    )
    proof.bound("D", of="distance", name="nearby")
    reasons = proof.sum("approach"), "nearby", "consensus"
    return proof.qed(*reasons, metric="gap", model="x", inside={"eta": Fraction(1, 4)})


def sampled_sgd(s: Reader) -> Derivation:
    """Section 15: the mean over a uniform set of clients has the mean of all as its mean, and a share of their variance."""
    sgd = OneModel(s)
    proof, dF = sgd.proof, sgd.gradient
    proof.source("set", "", "participation")
    chosen = proof.function("chosen", "x -> (x, x)", "set", role="random_set")
    own = sgd.batch(sgd.sampled)

    def weighted(drawn: int | None) -> Term:
        return Act(chosen(Sum(()), drawn), own)

    direction = sgd.clients(weighted(0))
    sgd.moves(direction)
    batch, pooled = sgd.independent(sgd.noise)
    mean = proof.bound("r", weighted(None), of="chosen", name="everybody in the mean")
    known = proof.mean(mean, "n")
    variance = s.s * s.zeta**2 + s.sigma**2 / (s.r * s.N * s.b)
    proof.claim(
        "noise",
        sq(direction - sgd.slope) <= variance,
        *(batch, pooled, proof.bound("sigma", sgd.sampled), proof.bound("zeta", dF(X))),
        *(proof.bound("r", weighted(0), of="chosen", name="sampled"), mean, known),
        why="a mean of m of N numbers has (N - m)/(m (N - 1)) of their variance",
    )
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    smooth_descent(proof, s.eta, s.L_bar, X, Var("x", 1), variance, 0 * s.eta, "mean", "noise", known, mean)
    inside = {"eta": Fraction(1, 2), "r": Fraction(1, 2), "N": Fraction(4)}
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside=inside)


def delayed_sgd(s: Reader) -> Derivation:
    """Section 16: F plus a multiple of the squared distance of the last two models."""
    sgd = PlainLosses(s)
    proof, Z, after = sgd.proof, Var("z"), Var("x", 1)
    sampled = sgd.gradient(Z, 0)
    direction = sgd.clients(sgd.batch(sampled))
    proof.variable("x", "x", every=X - s.eta * direction)
    proof.variable("z", "x", every=X)
    sgd.minimised()
    slope, weight = sgd.full(X), s.eta * s.L_bar**2 / 2
    gradient, apart = proof.quantity("gradient", sq(slope)), proof.quantity("A", sq(X - Z))
    proof.quantity("F", value("F", X))
    variance = s.sigma**2 / (s.N * s.b)
    sigma = proof.bound("sigma", sampled)
    variance_of_mean(proof, "noise", sampled - sgd.gradient(Z), "n i", s.sigma**2, sigma)
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.at("smooth", p=X, r=Z, name="stale")
    proof.update("x", name="step")
    proof.update("z", name="kept")
    lemma = proof.smooth("F", "smooth", s.L_bar, X, after)
    later = quantity("F", 1) + weight * quantity("A", 1)
    moved = (s.L_bar / 2 + weight) * s.eta**2
    proof.claim(
        "potential",
        later <= quantity("F") + weight * apart - s.eta / 2 * gradient + moved * variance,
        *("step", "kept"),
        given={lemma: 1, "stale": s.eta / 2, "noise": moved},
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; the next two models are a step apart",
    )
    proof.claim("together", apart <= 0, proof.start("start", Z - X))
    reasons = proof.sum("potential"), proof.bound("F_gap", of="F", name="infimum"), proof.at_start("together")
    return proof.qed(*reasons, metric="gradient", model="x", inside={"eta": Fraction(1, 2)})


DERIVATIONS = (("local_sgd_convex", local_sgd_convex), ("sampled_sgd", sampled_sgd), ("delayed_sgd", delayed_sgd))
