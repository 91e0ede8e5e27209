"""Generalised meta FL: Theorem 8, corrected, with any estimate of the gradients; the steps are those of part II of docs/theory/meta_fl.md.

Time t counts the local steps of all rounds, T = tau K. All n clients run (the virtual clients of part II) and a set is drawn at
each step, independently of all else: at the end of a round its mean is the server's model, and at every step it gives the
metric. The metric is a sum of expectations, in each of which the set of the round is as good as one drawn afresh, since the
local steps of all clients do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ...language.bounding import NOISE
from ...proof.author import (
    ONE,
    Derivation,
    NoisyDrift,
    Proof,
    Reader,
    Signomial,
    Term,
    Var,
    quantity,
    scalar,
    sq,
    total,
    value,
)
from ...proof.kernel import AtStart, Lemma
from ...proof.tactics import RandomSet, smooth_mean
from . import PAPER
from .derivation_lemmas import lemma_4, lemma_5, lemma_6, lemma_7, lemma_10, lemma_11

X, AFTER = Var("w"), Var("w", 1)


class MetaFL:
    """The problem and the method, for any estimate of the gradients of the clients.

    Args:
        suffix: that of the constants of the estimate.
        weights: of Young's inequality, at the server's model and for the bias of the estimate; 1 splits evenly.
    """

    def __init__(self, s: Reader, suffix: str, weights: tuple[Fraction, Fraction]):
        self.s, proof = s, Proof(s, time="batches")
        self.at_server, self.of_bias = weights
        self.proof = proof
        self.bias_size, self.noise_size = f"mu_F{suffix}", f"sigma_F{suffix}"
        self.mu, self.sigma = getattr(s, self.bias_size), getattr(s, self.noise_size)
        (share,) = s.quotients
        self.share = share.number
        """s of part II."""
        clients = self.clients = proof.clients(s.n, "i")
        proof.source("batches", "", "batches")
        self.chosen = RandomSet(proof, "drawn clients", "i")
        self.exact = proof.function("dF", "x -> x", role="meta_gradient", per="i")
        self.error = proof.function("e", "x -> x", "batches", role="estimate_error", per="i")
        self.moved = X - s.beta * (self.exact(X) + self.error(X, 0))
        proof.variable("w", "x", "i", local=self.moved, communication=clients(self.chosen.of(self.moved)))
        proof.free("p r", "x")
        proof.objective("F", lambda x: clients(self.exact(x)), "2")
        self.here, self.there = clients(X), clients(AFTER)
        self.bias = self.error(X)
        self.known = self.exact(X) + self.bias
        self.noise = self.error(X, 0) - self.bias
        self.deviated = self.exact(X) - self.exact(self.here)
        self.gradient = clients(self.exact(self.here))
        self.server = clients(self.chosen.of(X))
        """The mean model of the clients that take part."""
        proof.named(Lambda=sq(self.away(X)), Lambda_end=sq(self.away(self.moved)), G=sq(self.gradient))
        proof.named(metric=sq(clients(self.exact(self.server))), F=value("F", self.here))

    def away(self, term: Term) -> Term:
        return term - self.clients(term)

    def drawn(self, term: Term, name: str) -> tuple[str, str]:
        """T2: the mean over the set has the mean of all as its mean; and how far it is from it."""
        return self.chosen.mean(term, f"{name}, mean"), self.chosen.spread(term, name)


def metric(run: MetaFL) -> None:
    """T8: at the mean of the clients that take part."""
    s, proof, exact = run.s, run.proof, run.exact
    smooth_mean(proof, run.clients, exact, s.L_F, proof.bound("L_F", *map(exact, proof.points)))
    proof.bound("L_F", exact(run.here), exact(X), name="apart")
    moved_to = exact(run.server) - exact(run.here)
    most, rest = 1 + run.at_server, 1 + 1 / run.at_server
    proof.claim(
        "T8",
        quantity("metric") <= most * quantity("G") + rest * s.L_F**2 * run.share * quantity("Lambda"),
        proof.bound("L_F", exact(run.server), exact(run.here), name="at the server"),
        *run.drawn(X, "chosen"),
        squares=(run.away(moved_to), run.clients(exact(run.server)) - most * run.gradient),
    )
    proof.sum("T8")


def descent(run: MetaFL) -> None:
    """T3 and T7, summed: -2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2."""
    s, proof, clients = run.s, run.proof, run.clients
    half, second, weight = s.beta / 2, s.L_F * s.beta**2 / 2, run.of_bias
    wrong = (1 + 1 / weight) * s.L_F**2 * quantity("Lambda") + (1 + weight) * run.mu**2
    local, shared = (proof.mean(proof.update("w", phase), "i") for phase in ("local", "communication"))
    proof.claim(
        "error",
        sq(clients(run.known) - run.gradient) <= wrong,
        "apart",
        proof.bound(run.bias_size, run.bias, name="bias"),
        squares=(run.away(run.deviated), run.away(run.bias), clients(run.deviated) - weight * clients(run.bias)),
    )
    noise = proof.bound(run.noise_size, run.error(X, 0), kind=NOISE, name="noise of a client")
    proof.claim("noise", sq(clients(run.noise)) <= run.sigma**2, noise, why="the clients need not be independent")
    proof.smooth("F", "smooth", s.L_F, run.here, run.there)
    size = half * wrong + second * run.sigma**2
    after = quantity("F") - half * quantity("G") + size
    small, left = (((half, ("step_size",)), (second, ("tau>=1",))),), (clients(run.known),)
    by = "descent lemma", "error", "noise"
    proof.claim("T3", quantity("F", 1) <= after, *by, local, squares=left, certificates=small)
    after = after + s.L_F / 2 * run.share * quantity("Lambda_end")
    drawn = run.drawn(run.moved, "server")
    why = "the mean over the set has the mean of all clients as its mean"
    proof.claim("T7", quantity("F", 1) <= after, *by, shared, *drawn, squares=left, certificates=small, why=why)
    proof.sum("T3", "sum", communication="T7")
    proof.bound("F_gap", of="F", name="infimum")


def drift(run: MetaFL) -> None:
    """T4 to T6; T4 is one rule with the sum over the round."""
    s, proof, clients, away = run.s, run.proof, run.clients, run.away
    beta, spread = s.beta**2, s.gamma_F**2 + run.mu**2
    unlike, rest = away(run.exact(run.here)), Fraction(10, 9)
    others = unlike + away(run.bias)
    proof.zero("apart in a round", away(AFTER) - away(run.moved), "w local", "w local, mean")
    proof.zero("agree", away(AFTER), "w communication", "w communication, mean")
    proof.start("drawn clients", away(X), "start")
    proof.claim(
        "growth",
        sq(s.beta * away(run.known)) <= beta * (10 * s.L_F**2 * quantity("Lambda") + 2 * rest * spread),
        "apart",
        proof.bound("gamma_F", run.exact(run.here), name="unlike"),
        "bias",
        squares=(
            clients(run.deviated),
            clients(run.bias),
            9 * away(run.deviated) - others,
            unlike - away(run.bias),
        ),
        why="Young's inequality with 9, and with 1",
    )
    claimed = sq(s.beta * away(run.noise)) <= beta * run.sigma**2
    proof.claim("noise growth", claimed, "noise of a client", squares=(clients(run.noise),))
    names = ("Lambda", "apart in a round", "agree", "start", -s.beta * away(run.noise), "growth", "noise growth", ONE)
    proof.step("drift", NoisyDrift(*names), "noise and the rest of the moves add up apart from each other")
    proof.step("drift, end", NoisyDrift(*names, end="Lambda_end"))
    steady = Fraction(400, 243) * s.tau * (s.tau - 1) * spread + Fraction(10, 9) * (s.tau - 1) * run.sigma**2
    last = Fraction(1160, 243) * s.tau * spread + Fraction(20, 9) * run.sigma**2
    claimed = total("Lambda") <= s.tau * s.K * beta * steady
    proof.claim("T5", claimed, given={"drift": rest}, why="A <= a A + c with a <= 1/10")
    claimed = total("Lambda_end", communications=True) <= s.tau * s.K * beta * last
    proof.claim("T6", claimed, "drift, end", "T5", "short", why="after tau steps")


def limits(run: MetaFL) -> None:
    """What the coefficients of the statement owe to s <= 1 and beta L_F tau <= 1/10."""
    s, proof, x = run.s, run.proof, run.s.beta * run.s.L_F
    first = proof.bound("r", of="chosen", name="s <= 1/m")
    proof.claim("share", scalar(run.share) <= ONE, given={first: 1}, why="at least one client takes part")
    proof.claim("short step", scalar(100 * x**2 * s.tau * (s.tau - 1)) <= ONE, why="beta L_F tau <= 1/10")
    proof.step("short", AtStart("short step"))
    proof.claim("share, short", scalar(10 * run.share * x * s.tau) <= ONE, given={"share": 10 * x * s.tau})


EVEN, UNEVEN = (Fraction(1), Fraction(1)), (Fraction(1, 8), Fraction(1, 2))
"""The weights of the corrected and of the sharpened statement."""


def theorem(s: Reader, suffix: str, lemmas: tuple[Lemma, ...], weights: tuple[Fraction, Fraction]) -> Derivation:
    """Theorem 8 with the constants of these lemmas."""
    run = MetaFL(s, suffix, weights)
    for part in (metric, descent, limits, drift):
        part(run)
    return run.proof.qed(
        *("T8, summed", "sum", "infimum", "T5", "T6"),
        metric="metric",
        model="w",
        inside={"beta": Fraction(1, 20), "r": Fraction(1, 2), "n": 4, "sigma_G": 4, run.bias_size: 3},
        given=_beside_the_drift(run) if weights == EVEN else _within_the_sampling(run),
        lemmas=lemmas,
    )


STEADY, LAST = Fraction(400, 243), Fraction(1160, 243)


def _beside_the_drift(run: MetaFL) -> dict[str, Signomial]:
    """What the server's distance from the mean model adds, counted with s <= 1 in the terms of the drift."""
    s = run.s
    steady = STEADY * s.tau * (s.gamma_F**2 + run.mu**2) + Fraction(10, 9) * run.sigma**2
    return {
        "share": 2 * (s.beta * s.L_F) ** 2 * (s.tau - 1) * steady,
        "short": Fraction(6, 100) * STEADY * run.mu**2,
        "share, short": Fraction(2, 10) * LAST * run.mu**2,
    }


def _within_the_sampling(run: MetaFL) -> dict[str, Signomial]:
    """The same counted with beta L_F (tau - 1) <= 1/10 in the terms that have s."""
    s, proof, square, x = run.s, run.proof, run.mu**2, run.s.beta * run.s.L_F
    proof.claim("shorter step", scalar(10 * run.share * x**2 * (s.tau - 1)) <= scalar(run.share * x))
    proof.step("share, apart", AtStart("shorter step"))
    most, server, wrong = 1 + run.at_server, 1 + 1 / run.at_server, 1 + 1 / run.of_bias
    spread = STEADY * s.tau * (s.gamma_F**2 + square) + Fraction(10, 9) * run.sigma**2
    return {
        "share, apart": Fraction(1, 10) * server * spread,
        "short": Fraction(1, 100) * most * wrong * STEADY * square,
        "share, short": (Fraction(1, 10) * most * LAST + Fraction(1, 100) * server * STEADY) * square,
    }


def theorem_8(
    suffix: str, estimate: str, weights: tuple[Fraction, Fraction] = EVEN
) -> tuple[str, Callable[[Reader], Derivation], tuple[str, ...]]:
    """The entry of a variant: where its constants come from are Lemma 4, the lemma of the estimate, and Lemma 7."""
    constants = {"lemma_4": ("L_F",), estimate: (f"mu_F{suffix}", f"sigma_F{suffix}"), "lemma_7": ("gamma_F",)}

    def derivation(s: Reader) -> Derivation:
        of = {name: PAPER.theorem(f"meta_fl.{name}") for name in constants}
        taken = tuple(Lemma(of[name], of[name].default, given) for name, given in constants.items())
        return theorem(s, suffix, taken, weights)

    return f"theorem_8{suffix}", derivation, tuple(constants)


_VARIANTS = (("", "lemma_6"), ("_FO", "lemma_10"), ("_HF", "lemma_11"))
"""Suffix of the constants, and the lemma of the estimate."""
DERIVATIONS = (
    ("lemma_4", lemma_4),
    ("lemma_5", lemma_5),
    ("lemma_6", lemma_6),
    ("lemma_7", lemma_7),
    ("lemma_10", lemma_10),
    ("lemma_11", lemma_11),
    *(theorem_8(suffix, estimate) for suffix, estimate in _VARIANTS),
)
"""Statement, its derivation, and the lemmas that this takes as true, if any."""
SHARPENED = tuple(theorem_8(suffix, estimate, UNEVEN)[:2] for suffix, estimate in _VARIANTS)
