"""The baselines of the plain federated kind: minibatch SGD and Local SGD, for the kernel; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Derivation, Proof, Reader, Scalar, Signomial, Term, Var, quantity, sq, total, value
from ...proof.kernel import Drift, NoisyDrift
from ...proof.tactics import averaged_rounds, smooth_descent, smooth_mean, variance_of_mean
from .derivation_composed import biased_sgd, scgd

X, AFTER = Var("x"), Var("x", 1)


class Federated:
    """The problem, and a method that steps by -eta times the mean gradient of a batch; `pooled`: from the mean model."""

    def __init__(self, s: Reader, *, pooled: bool):
        proof = self.proof = Proof(s, time="independence")
        self.clients, self.batch = proof.clients(s.N), proof.batch("i", s.b, "independence")
        proof.source("xi", "n i", "independence")
        self.gradient = proof.function("dF", "x -> x", "xi", role="local_gradient", mean_per="n")
        self.sampled, self.noise = self.gradient(X, 0), self.gradient(X, 0) - self.gradient(X)
        moved = X - s.eta * self.batch(self.sampled)
        if pooled:
            proof.variable("x", "x", every=self.clients(moved))
        else:
            proof.variable("x", "x", "n", local=moved, communication=self.clients(moved))
        proof.free("p r", "x")
        proof.objective("F", self.full, "smoothness")

    def full(self, x: Term) -> Term:
        """grad F at one point."""
        return self.clients(self.gradient(x))

    def away(self, term: Term) -> Term:
        return term - self.clients(term)

    def descend(self, s: Reader, smoothness: Signomial, bias: Scalar | Signomial, *by: str) -> None:
        """The noise of N b samples, and the sum of the descent."""
        proof, here = self.proof, self.clients(X)
        proof.quantity("gradient", sq(self.full(here)))
        proof.quantity("F", value("F", here))
        variance_of_mean(proof, "noise", self.noise, "n i", s.sigma**2, proof.bound("sigma", self.sampled))
        noise = s.sigma**2 / (s.N * s.b)
        smooth_descent(proof, s.eta, smoothness, here, self.clients(AFTER), noise, bias, "mean", "noise", *by)

    def proved(self, *by: str, **inside: Fraction) -> Derivation:
        return self.proof.qed(*by, metric="gradient", model="x", inside={"eta": Fraction(1, 2), **inside})


def minibatch_sgd(s: Reader) -> Derivation:
    """Section 1."""
    sgd = Federated(s, pooled=True)
    sgd.proof.bound("L_bar", *sgd.proof.points, of="F", name="smooth")
    sgd.proof.update("x", name="mean")
    sgd.descend(s, s.L_bar, 0 * s.L_bar)
    return sgd.proved("descent, summed", "infimum")


def local(s: Reader) -> Federated:
    """Local SGD, up to a bound of the consensus error X."""
    sgd = Federated(s, pooled=False)
    proof, gradient, here = sgd.proof, sgd.gradient, sgd.clients(X)
    error = proof.quantity("X", sq(sgd.away(X)))
    smooth_mean(proof, sgd.clients, gradient, s.L, proof.bound("L", *map(gradient, proof.points)))
    averaged_rounds(proof, sgd.clients, s.eta, sgd.batch(sgd.sampled), "start")
    alike = proof.bound("L", gradient(here), gradient(X))
    gap = gradient(here) - gradient(X)
    proof.claim("bias", sq(sgd.clients(gap)) <= s.L**2 * error, alike, why="Jensen over the clients, and smoothness")
    sgd.descend(s, s.L, s.L**2 * error, "bias")
    return sgd


def local_sgd(s: Reader) -> Derivation:
    """Section 2: every direction has the second moment M^2."""
    sgd = local(s)
    proof, direction = sgd.proof, sgd.batch(sgd.sampled)
    proof.claim(
        "growth",
        sq(s.eta * sgd.away(direction)) <= s.eta**2 * s.M**2,
        proof.bound("G", sgd.gradient(X)),
        "independence over i",
        "sigma of dF",
        why="the errors of a batch have mean 0; subtracting the mean over the clients only lowers",
    )
    proof.step("drift", Drift("X", "apart", "agree", "start", "growth"))
    return sgd.proved("descent, summed", "infimum", "drift", G=Fraction(3), sigma=Fraction(4))


def local_sgd_heterogeneity(s: Reader) -> Derivation:
    """Section 3: drift by heterogeneity adds up over a round, noise does not."""
    sgd = local(s)
    proof, gradient, here, error = sgd.proof, sgd.gradient, sgd.clients(X), quantity("X")
    moved, unlike = gradient(X) - gradient(here), sgd.away(gradient(here))
    proof.claim(
        "growth",
        sq(s.eta * sgd.away(gradient(X))) <= s.eta**2 * (Fraction(3, 2) * s.L**2 * error + 3 * s.zeta**2),
        "L of dF 2",
        proof.bound("zeta", gradient(here)),
        squares=(sgd.clients(moved), moved - 2 * unlike),
        why="Young's inequality with 1/2; the mean over the clients is the closest common vector",
    )
    noise, size = sgd.away(sgd.batch(sgd.noise)), (1 - 1 / s.N) * s.sigma**2 / s.b
    proof.claim(
        "noise growth",
        sq(s.eta * noise) <= s.eta**2 * size,
        "independence over n",
        "independence over i",
        "sigma of dF",
        why="independent errors, less their mean over the clients",
    )
    third = 0 * s.L + Fraction(1, 3)
    proof.step("drift", NoisyDrift("X", "apart", "agree", "start", -s.eta * noise, "growth", "noise growth", third))
    rounds = Fraction(4, 3) * (s.p - 1) * (2 * s.p - 1) * s.zeta**2 + 4 * (s.p - 1) * size
    claimed = total("X") <= s.T * s.eta**2 * rounds
    proof.claim("consensus", claimed, "drift", why="A <= a A + c with a <= 1/2")
    return sgd.proved("descent, summed", "infimum", "consensus")


DERIVATIONS = (
    ("minibatch_sgd", minibatch_sgd),
    ("local_sgd", local_sgd),
    ("local_sgd_heterogeneity", local_sgd_heterogeneity),
    ("scgd", scgd),
    ("biased_sgd", biased_sgd),
)
