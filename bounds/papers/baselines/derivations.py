"""The baselines for the kernel: minibatch SGD and Local SGD, SCGD and biased SGD; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from ...proof import tactics
from ...proof.author import (
    Derivation,
    Proof,
    Reader,
    Scalar,
    Signomial,
    Var,
    quantity,
    sq,
    total,
    value,
)
from ...proof.kernel import Drift
from ...proof.tactics import Conditional, InnerEstimate, Sgd, smooth_descent, smooth_mean, variance_of_mean

X, AFTER = Var("x"), Var("x", 1)


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


def whole_step(
    proof: Proof, eta: Signomial, smoothness: Signomial, expected: Scalar, bias: Scalar, noise: Scalar, *by: str
) -> None:
    """`whole step`: (b) of docs/theory/baselines.md before anything is left out, with these squared norms."""
    kept = quantity("gradient") - bias + (1 - smoothness * eta) * expected
    after = quantity("F") - eta / 2 * kept + smoothness * eta**2 / 2 * noise
    why = "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"
    proof.claim("whole step", quantity("F", 1) <= after, "descent lemma", *by, why=why)


def scgd(s: Reader, *, sharpened: bool = False, in_full: bool = False) -> Derivation:
    """Section 4.

    Args:
        sharpened: Young's inequality with gamma, nothing of 1 + gamma rounded up. in_full: with the error of the value that a step uses.
    """
    young = 1 + s.gamma if sharpened else 2 * s.gamma**0
    method = InnerEstimate(s, young)
    proof, moved = method.proof, method.moved
    method.steps(in_full)
    bias, variance = quantity("P"), method.moment / s.N
    smooth_descent(proof, s.eta, s.L_F, X, AFTER, variance, bias, "noise", squares=(proof.given(moved),))
    method.estimates()
    fresh = s.gamma**2 * s.delta_g**2 / s.b
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


def biased_sgd(s: Reader, *, in_full: bool = False) -> Derivation:
    """Section 5; `in_full`: with one step of which nothing is left out."""
    proof = Proof(s, time="independence")
    problem = Conditional(proof, s, "B_f S_f C_g S_g delta_g S_F", "independence", "independence")
    clients, batch, direction, known = problem.clients, problem.batch, problem.sampled(X), problem.plug_in(X)
    proof.variable("x", "x", every=X - s.eta * clients(batch(direction)))
    proof.free("p r", "x")
    proof.objective("F", lambda x: clients(problem.gradient(x)), "gradient")
    gradient = clients(problem.gradient(X))
    proof.named(gradient=sq(gradient), F=value("F", X))
    client = problem.smooth_gradient("smooth client", *proof.points, with_batch=False)
    smooth_mean(proof, clients, problem.gradient, s.S_F, client)
    jacobian, size, scale = problem.batch_jacobian(X), problem.product, problem.delta
    moment = proof.act(jacobian, problem.drawn(X), bounded=True)
    variance_of_mean(
        proof, "noise", direction - known, "n i", size, moment, why="a variance is at most a second moment"
    )
    wrong = gradient - clients(known)
    problem.bias(X, jacobian, wrong, problem.gradient(X) - known - wrong)
    move = proof.update("x")
    smooth_descent(proof, s.eta, s.S_F, X, AFTER, size / (s.N * s.b), scale, move, "noise", "bias")
    if in_full:
        expected = clients(known)
        noise = clients(batch(direction - known))
        whole_step(proof, s.eta, s.S_F, sq(expected), sq(gradient - expected), sq(noise), move)
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside={"eta": Fraction(1, 4)})


DERIVATIONS = (
    ("minibatch_sgd", minibatch_sgd),
    ("local_sgd", local_sgd),
    ("local_sgd_heterogeneity", local_sgd_heterogeneity),
    ("scgd", scgd),
    ("biased_sgd", biased_sgd),
)
SHARPENED = (("minibatch_sgd", minibatch_sgd_sharpened), ("scgd", partial(scgd, sharpened=True)))
