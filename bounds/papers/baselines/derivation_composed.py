"""The baselines of the composite kinds: SCGD and biased SGD, for the kernel; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import (
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
from ...proof.tactics import InnerEstimate, smooth_composition, smooth_descent, smooth_mean, variance_of_mean

X, AFTER = Var("x"), Var("x", 1)


def whole_step(
    proof: Proof, eta: Signomial, smoothness: Signomial, expected: Scalar, bias: Scalar, noise: Scalar, *by: str
) -> None:
    """`whole step`: (b) of docs/theory/baselines.md before anything is left out, with these squared norms."""
    kept = quantity("gradient") - bias + (1 - smoothness * eta) * expected
    after = quantity("F") - eta / 2 * kept + smoothness * eta**2 / 2 * noise
    why = "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"
    proof.claim("whole step", quantity("F", 1) <= after, "descent lemma", *by, why=why)


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
