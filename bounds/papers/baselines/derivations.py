"""The baselines of the plain federated kind: minibatch SGD and Local SGD, for the kernel; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from ...proof import tactics
from ...proof.author import Derivation, Reader, Signomial, Var, sq
from ...proof.kernel import Drift
from ...proof.tactics import Sgd
from .derivation_composed import biased_sgd, scgd, whole_step

X = Var("x")


def minibatch_sgd(s: Reader) -> Derivation:
    """Section 1."""
    return _pooled(s, s.eta / 2).proved("descent, summed", "infimum")


def minibatch_sgd_sharpened(s: Reader) -> Derivation:
    """Section 1: nothing of the squared gradient is left out; 1/(2 - L eta) <= (1 + L eta)/2."""
    twice = (1 + s.L_bar * s.eta) / (s.eta * s.T)
    sgd = _pooled(s, s.eta - s.L_bar * s.eta**2 / 2)
    given = {"descent, summed": twice, "infimum": twice}
    return sgd.proof.qed(metric="gradient", model="x", inside={"eta": Fraction(1, 2)}, given=given)


def _pooled(s: Reader, kept: Signomial) -> Sgd:
    """Minibatch SGD, with `kept` times the squared gradient in its descent."""
    sgd = Sgd(s, pooled=True)
    sgd.proof.bound("L_bar", *sgd.proof.points, of="F", name="smooth")
    sgd.proof.update("x", name="mean")
    sgd.descend(s, s.L_bar, 0 * s.L_bar, kept=kept)
    return sgd


def local_sgd(s: Reader, *, in_full: bool = False) -> Derivation:
    """Section 2: every direction has the second moment M^2; `in_full`: with one step of which nothing is left out."""
    sgd = tactics.local_descent(s)
    proof, direction = sgd.proof, sgd.batch(sgd.sampled)
    if in_full:
        expected = sgd.clients(sgd.gradient(X))
        bias, noise = sgd.full(sgd.clients(X)) - expected, sgd.clients(sgd.batch(sgd.noise))
        whole_step(proof, s.eta, s.L, sq(expected), sq(bias), sq(noise), "mean")
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
    """Section 3."""
    return tactics.unlike_descent(s).proved("descent, summed", "infimum", "consensus")


DERIVATIONS = (
    ("minibatch_sgd", minibatch_sgd),
    ("local_sgd", local_sgd),
    ("local_sgd_heterogeneity", local_sgd_heterogeneity),
    ("scgd", scgd),
    ("biased_sgd", biased_sgd),
)
SHARPENED = (("minibatch_sgd", minibatch_sgd_sharpened), ("scgd", partial(scgd, sharpened=True)))
