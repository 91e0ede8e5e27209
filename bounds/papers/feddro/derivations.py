"""FedDRO and the modified FedAvg, for the kernel: the problem, the methods, and the derivations; docs/theory/feddro.md comments on them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from ...language.bounding import MEAN
from ...proof.author import (
    Act,
    Derivation,
    Drift,
    Proof,
    Reader,
    Scalar,
    Signomial,
    Term,
    Var,
    Written,
    differences,
    quantity,
    sq,
    total,
    value,
)
from ...proof.kernel import CLIENTS, Certificate, Corollary, IndependentMoment, SumOver
from ...proof.tactics import averaged_rounds, smooth_composition, smooth_descent
from . import PAPER

SAMPLES, TIME = "not stated: independence of samples", "not stated: independence over time"
START = "Algorithm 2, line 2"
X, BEFORE, AFTER, OLD_Y = Var("x"), Var("x", -1), Var("x", 1), Var("y", -1)
NINE_EIGHTHS = Fraction(9, 8)

# --- the problem and the methods --------------------------------------------------------------------------------------


class FedDro:
    """The problem, the method, and the abbreviations of docs/theory/feddro.md.

    `sampled`: FedDRO; else the modified FedAvg, without noise, with h = 0, and with the mean of the inner values in the place of y.
    """

    def __init__(self, s: Reader, *, sampled: bool):
        self.s, self.sampled = s, sampled
        proof = self.proof = Proof(s, time=TIME if sampled else "")
        clients = self.clients = proof.index("k", s.K, of=CLIENTS)
        drawn = "zeta" if sampled else ""
        self.df = proof.function("df", "y -> dy", role="outer_gradient", per="")
        self.g = proof.function("g", "x -> y", drawn, role="inner_value", per="k")
        self.dg = proof.function("dg", "x -> (x, dy)", drawn, role="inner_jacobian", per="k")
        if sampled:
            self.batch = proof.batch("i", s.b, SAMPLES)
            proof.source("zeta", "k i", SAMPLES)
            self.dh = proof.function("dh", "x -> x", drawn, role="extra_gradient", per="k")
            change = self.g(X, 0) + (1 - s.beta) * (OLD_Y - self.g(BEFORE, 0))
            self.y: Term = proof.variable("y", "y", "", 0, every=self.everyone(change))
            self.direction = self.batch(self.dh(X, 0) + Act(self.dg(X, 0), self.df(self.y)))
        else:
            self.y = clients(self.g(X))
            self.direction = Act(self.dg(X), self.df(self.y))
        moved = X - s.eta * self.direction
        proof.variable("x", "x", "k", local=moved, communication=clients(moved))
        proof.free("p r", "x")
        proof.objective("Phi", self.gradient, "not stated: chain rule")
        self.here, self.there = clients(X), clients(AFTER)
        self.rough, self.by_value = s.B_f**2 * s.L_g**2, s.B_g**2 * s.L_f**2
        gradient = sq(self.gradient(self.here))
        proof.named(X=sq(self.away(X)), gradient=gradient, Phi=value("Phi", self.here))
        proof.bounded("B_f", "df")

    def everyone(self, term: Term) -> Term:
        """The mean over clients and batch."""
        return self.clients(self.batch(term))

    def away(self, term: Term) -> Term:
        """The deviation from the mean over the clients."""
        return term - self.clients(term)

    def outer(self, x: Term) -> Term:
        """grad f at the mean of the inner values."""
        return self.df(self.clients(self.g(x)))

    def gradient(self, x: Term) -> Term:
        """grad Phi at a point without an index."""
        composed = Act(self.clients(self.dg(x)), self.outer(x))
        return self.clients(self.dh(x)) + composed if self.sampled else composed

    def lipschitz(self, x: Term, y: Term) -> str:
        """Of the inner map."""
        used: dict[str, Any] = {} if self.sampled else {"per": MEAN}
        return self.proof.bound("B_g", self.g(x), self.g(y), **used)

    def mean_jacobian(self, x: Term, name: str = "") -> str:
        """The bound of the mean of the clients' Jacobians."""
        return self.proof.jensen(self.proof.bound("B_g", self.dg(x)), "k", name)

    def smoothness(self) -> None:
        """Lemma 3.1, `smooth`: grad Phi is L_Phi-Lipschitz; of its differences the last is there where h is."""
        s, proof, g, dg = self.s, self.proof, self.g, self.dg
        p, r = proof.points
        lipschitz = proof.bound("L_f", self.outer(p), self.outer(r)), self.lipschitz(p, r)
        extra: tuple[Any, ...] = ()
        if self.sampled:
            change = self.clients(self.dh(p) - self.dh(r))
            claimed, reason = sq(change) <= s.L_h**2 * sq(p - r), proof.bound("L_h", self.dh(p), self.dh(r))
            extra = ((proof.claim("smooth, extra part", claimed, reason), change, s.L_h),)
        smooth_composition(
            proof,
            lambda x: self.clients(dg(x)),
            self.outer,
            s.L_Phi,
            (s.B_g**2 * s.L_f, (self.mean_jacobian(p), *lipschitz)),
            (s.B_f * s.L_g, (proof.bound("L_g", dg(p), dg(r), self.outer(r)),)),
            points=(p, r),
            name="smooth",
            squares=(self.away(g(p) - g(r)), self.away(Act(dg(p) - dg(r), self.outer(r)))),
            rest=extra,
        )

    def rounds(self) -> None:
        """Where the models go, at local steps and at communications."""
        averaged_rounds(self.proof, self.clients, self.s.eta, self.direction, START, index="k")

    def unlike(self, name: str, vector: Written, rate: Signomial, size: Signomial, *by: str) -> Scalar:
        """||v - mean v||^2 <= 6 rate^2 X + 3 size^2 at the models, where rate is of v's change and size of v - mean v at the mean model."""
        drift, other = vector(X) - vector(self.here), self.away(vector(self.here))
        bound = 6 * rate**2 * quantity("X") + 3 * size**2
        self.proof.claim(
            name,
            sq(self.away(vector(X))) <= bound,
            *by,
            squares=(*differences(drift, other, -self.clients(drift)), self.away(drift)),
            why="drift, heterogeneity, drift of the mean: three parts",
        )
        return bound

    def unlike_composed(self) -> Scalar:
        """`unlike`: the composed part of the directions, at the same y."""
        s, proof, dg, outer = self.s, self.proof, self.dg, self.df(self.y)
        heterogeneity = proof.act(proof.bound("Delta_g", dg(self.here)), outer, bounded=True)
        lipschitz = proof.bound("L_g", dg(X), dg(self.here), outer)
        return self.unlike(
            "unlike", lambda x: Act(dg(x), outer), s.B_f * s.L_g, s.B_f * s.Delta_g, lipschitz, heterogeneity
        )


# --- Theorem 5.1 ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Square:
    """E||D||^2 <= times (E||A||^2 + noise v/(b K) + innovation B_g^2 L_f^2 N): D is the direction, A its mean given the past.

    Args:
        noise, innovation: weights of the parts of D - A, 2/noise + 1/innovation = 1.
        times: 1 where D - A is orthogonal to what is known, which it is.
    """

    noise: Fraction
    innovation: Fraction
    times: int


HALVED = Square(Fraction(3), Fraction(3), 2)
ORTHOGONAL = Square(Fraction(5, 2), Fraction(5), 1)
"""Of the corrected and of the sharpened statement."""


class Run:
    """FedDRO with samples, and what docs/theory/feddro.md abbreviates."""

    def __init__(self, s: Reader, square: Square):
        self.s, self.dro, self.square = s, FedDro(s, sampled=True), square
        dro, proof = self.dro, self.dro.proof
        self.bk = s.b * s.K
        self.rho = s.L_h**2 + dro.rough
        self.v = s.sigma_h**2 + s.B_f**2 * s.sigma_g**2
        self.c0 = 4 * self.v / s.b + 12 * (s.Delta_h**2 + s.B_f**2 * s.Delta_g**2)
        """What the directions differ by where the models agree."""
        self.pull = self.rho + 2 * s.B_g**2 * dro.by_value
        self.jump = 1 + (s.I - 1) ** 2 / s.I
        self.mean = dro.clients(dro.direction)
        self.known, self.known_y = proof.given(self.mean), proof.given(dro.y)
        """A of step 1, and y before its innovation."""
        self.outer = dro.df(dro.y)
        self.innovation = self.outer - dro.df(self.known_y)
        """How the outer gradient changes with the innovation."""
        by_noise = s.sigma_g**2 * s.L_f**2 / self.bk
        self.bias = 4 * (self.pull * quantity("X") + 2 * dro.by_value * quantity("Y") + by_noise * quantity("N"))
        """Bounds the squared bias of A."""
        self.noise_h, self.noise_j = dro.dh(X, 0) - dro.dh(X), dro.dg(X, 0) - dro.dg(X)
        error, innovation = sq(dro.y - dro.clients(dro.g(X))), sq(dro.y - self.known_y)
        proof.named(Y=error, N=innovation, S=sq(AFTER - X), M=sq(self.known), D_squared=sq(self.mean))


def estimate(run: Run) -> None:
    """Step 2: the estimate of g and its innovation."""
    s, dro, proof, g, old = run.s, run.dro, run.dro.proof, run.dro.g, 1 - run.s.beta
    updated = proof.update("y", name="estimate")
    proof.claim(
        "error",
        quantity("Y") <= old**2 * quantity("Y", -1) + quantity("N"),
        updated,
        equal=True,
        why="the innovation is orthogonal to what is known",
    )
    exact, drawn = g(X) - g(BEFORE), g(X, 0) - g(BEFORE, 0)
    fresh, moved = s.beta * (g(X, 0) - g(X)), old * (drawn - exact)
    proof.claim(
        "noise",
        quantity("N") <= 2 * s.beta**2 * s.delta_g**2 / run.bk + 2 * s.B_g**2 / run.bk * quantity("S", -1),
        proof.independent(dro.batch(fresh + moved), "k"),
        proof.independent(fresh + moved, "i"),
        proof.bound("delta_g", g(X, 0)),
        proof.bound("B_g", g(X, 0), g(BEFORE, 0)),
        updated,
        squares=(fresh - moved, exact),
        why="new noise of the value, and of its change; (1 - beta)^2 <= 1",
    )


def operators(run: Run) -> None:
    """Bounds of the Jacobians at the clients' models, and noise of a batch."""
    dro, proof = run.dro, run.dro.proof
    dro.mean_jacobian(X, "Jacobian, mean")
    noise = proof.bound("sigma_g", dro.dg(X, 0), given=proof.past, name="Jacobian noise")
    proof.step("Jacobian noise, batch", IndependentMoment(noise, "i"))
    proof.step("Jacobian noise, mean", IndependentMoment("Jacobian noise, batch", "k"))
    proof.bound("L_f", run.outer, dro.df(run.known_y), name="outer, innovation")
    proof.bound("sigma_h", dro.dh(X, 0), name="extra noise")
    proof.independent(run.noise_h, "i", name="extra noise, batch")


def bias(run: Run) -> None:
    """Step 3: the conditional direction, with y inside the conditional expectation."""
    dro, proof, g, dg, dh = run.dro, run.dro.proof, run.dro.g, run.dro.dg, run.dro.dh
    here, clients, at_mean = dro.here, dro.clients, dro.outer(dro.here)
    extra, change, values = dh(here) - dh(X), Act(dg(here) - dg(X), at_mean), g(X) - g(here)
    third = Act(clients(dg(X)), at_mean - run.outer)
    fourth = proof.given(Act(dro.everyone(run.noise_j), run.innovation))
    proof.claim(
        "bias",
        sq(dro.gradient(here) - run.known) <= run.bias,
        proof.bound("L_h", dh(here), dh(X)),
        proof.bound("L_g", dg(here), dg(X), at_mean),
        proof.act("Jacobian, mean", at_mean - run.outer),
        proof.bound("L_f", at_mean, run.outer),
        dro.lipschitz(X, here),
        proof.act("Jacobian noise, mean", run.innovation),
        "outer, innovation",
        squares=(
            *differences(clients(extra), clients(change), proof.given(third), -fourth),
            *(dro.away(term) for term in (extra, change, values)),
            third - proof.given(third),
            dro.y - clients(g(X)) - clients(values),
        ),
        why="grad h, the Jacobians, the arguments of grad f, and the noise of the Jacobian that y has seen",
    )


def variance(run: Run) -> None:
    """Step 4: A is the closest known vector to D, so any other centre gives a bound."""
    dro, proof = run.dro, run.dro.proof
    jacobian = dro.clients(dro.dg(X))
    extra, noise = dro.everyone(run.noise_h), Act(dro.everyone(run.noise_j), run.outer)
    centre = dro.clients(dro.dh(X)) + Act(jacobian, dro.df(run.known_y))
    share, of_innovation = run.square.noise, run.square.innovation
    proof.claim(
        "variance",
        sq(run.mean - run.known) <= share * run.v / run.bk + of_innovation * dro.by_value * quantity("N"),
        proof.independent(dro.batch(run.noise_h), "k"),
        "extra noise, batch",
        "extra noise",
        proof.act("Jacobian noise, mean", run.outer, bounded=True),
        proof.act("Jacobian, mean", run.innovation),
        "outer, innovation",
        squares=(
            *differences(share * extra, share * noise, of_innovation * Act(jacobian, run.innovation)),
            run.known - centre,
        ),
    )


def spread(run: Run) -> None:
    """Step 5: the directions differ by noise, drift and heterogeneity."""
    s, dro, proof, dh = run.s, run.dro, run.dro.proof, run.dro.dh
    outer = run.outer
    reasons = proof.bound("L_h", dh(X), dh(dro.here)), proof.bound("Delta_h", dh(dro.here))
    dro.unlike("unlike, extra", dh, s.L_h, s.Delta_h, *reasons)
    dro.unlike_composed()
    extra, composed = dro.away(dh(X)), dro.away(Act(dro.dg(X), outer))
    noise_h, noise_j = dro.batch(run.noise_h), Act(dro.batch(run.noise_j), outer)
    noise = noise_h + noise_j
    proof.claim(
        "growth",
        sq(s.eta * dro.away(dro.direction)) <= s.eta**2 * (24 * run.rho * quantity("X") + run.c0),
        "extra noise, batch",
        "extra noise",
        proof.act("Jacobian noise, batch", outer, bounded=True),
        "unlike, extra",
        "unlike",
        squares=(dro.away(noise) - extra - composed, dro.clients(noise), noise_h - noise_j, extra - composed),
        why="noise against the rest, h against the composition",
    )


def drift(run: Run) -> None:
    """Step 6: A <= a A + c with a <= 1/9, over all steps and at communications."""
    s, proof, rho, c0 = run.s, run.dro.proof, run.rho, run.c0
    forcing = NINE_EIGHTHS * s.eta**2 * (s.I - 1) ** 2 * c0 * s.T
    proof.step("drift", Drift("X", "apart", "agree", START, "growth"))
    proof.claim("drift, all", total("X") <= forcing, given={"drift": NINE_EIGHTHS})
    proof.step("drift, last", Drift("X", "apart", "agree", START, "growth", "communications"))
    long = ("step_size_period", "I>=1", "I>=1")
    proof.claim(
        "drift, communications",
        total("X", communications=True) <= forcing / s.I,
        "drift, last",
        "drift, all",
        certificates=(
            (
                (9 * c0 * s.eta**2 * s.T / (8 * s.I), long),
                (27 * rho * c0 * s.eta**4 * s.T, ("I>=1", "I>=1")),
            ),
        ),
    )
    proof.claim(
        "drift, small",
        24 * rho * total("X") <= c0 * s.T / 8,
        "drift, all",
        certificates=(
            (
                (9 * c0 * s.T / 8, ("step_size_period",)),
                (54 * rho * c0 * s.eta**2 * s.T, ("I>=1",)),
            ),
        ),
    )


def length(run: Run) -> None:
    """Step 7: between communications eta d_k, at a communication also the deviation from the mean."""
    s, dro, proof = run.s, run.dro, run.dro.proof
    bound = s.eta**2 * (quantity("D_squared") + 24 * run.rho * quantity("X") + run.c0)
    proof.claim("length, local", quantity("S") <= bound, "growth", "x local")
    proof.claim(
        "length, communication",
        quantity("S") <= bound + quantity("X"),
        "growth",
        "x communication",
        squares=(dro.away(dro.direction),),
        why="also the deviation from the mean is lost",
    )
    proof.step("length, summed", SumOver("length, local", "length, communication"))
    proof.claim(
        "length",
        total("S") <= s.eta**2 * (total("D_squared") + NINE_EIGHTHS * run.c0 * run.jump * s.T),
        "length, summed",
        "drift, small",
        "drift, communications",
        why="at most T/I communications",
    )


def closing(run: Run) -> None:
    """Steps 8 and 9: the innovations close on themselves; the error of the estimate."""
    s, dro, proof = run.s, run.dro, run.dro.proof
    share, times = 4 * s.B_g**2 / run.bk, run.square.times
    noise, innovation = times * run.square.noise, times * run.square.innovation
    proof.claim(
        "square",
        quantity("D_squared")
        <= times * quantity("M") + noise * run.v / run.bk + innovation * dro.by_value * quantity("N"),
        "variance",
        squares=(2 * run.known - run.mean,) if times > 1 else (),
    )
    start = proof.start(START, X - BEFORE, name="same start")
    proof.claim("no move before the start", quantity("S", -1) <= 0 * run.bk, start)
    proof.bound("y_err", of="Y", name="inner start")
    inside = times * total("M") + s.T * (noise * run.v / run.bk + NINE_EIGHTHS * run.c0 * run.jump)
    proof.claim(
        "innovations",
        total("N") <= 4 * s.beta**2 * s.delta_g**2 / run.bk * s.T + share * s.eta**2 * inside,
        proof.at_start("no move before the start"),
        proof.sum("square"),
        given={proof.sum("noise"): 2, "length": share},
        why="A <= a A + c with a <= 1/2",
    )
    proof.claim(
        "estimates",
        s.beta * total("Y") <= s.y_err**2 + total("N"),
        proof.sum("error"),
        "inner start",
        why="(1 - beta)^2 <= 1 - beta",
    )


def theorem_5_1(s: Reader, square: Square = HALVED) -> Derivation:
    """FedDRO with fresh samples at every step, y made from those of step t, and (8) used from t = 0 on."""
    run = Run(s, square)
    dro, proof = run.dro, run.dro.proof
    dro.smoothness()
    dro.rounds()
    for part in (estimate, operators, bias, variance, spread, drift, length, closing):
        part(run)
    noise, innovation = square.times * square.noise, square.times * square.innovation
    fed = innovation * s.eta * s.L_Phi * dro.by_value * quantity("N")
    kept = (1 - square.times * s.eta * s.L_Phi) * quantity("M") - fed
    smooth_descent(
        proof,
        s.eta,
        s.L_Phi,
        dro.here,
        dro.there,
        noise * run.v / run.bk,
        run.bias - kept,
        "mean",
        "bias",
        "variance",
        objective="Phi",
        squares=(2 * run.known - run.mean,) if square.times > 1 else (),
    )
    reasons = "drift, all", "estimates", "innovations", "descent, summed", "infimum"
    return proof.qed(*reasons, metric="gradient", model="x", inside={"eta": Fraction(1, 200)})


# --- Theorem 4.2: the modified FedAvg, without noise and with h = 0 --------------------------------------------------


def distance(dro: FedDro) -> None:
    """||grad Phi(xbar) - D||^2 <= 2 (B_f^2 L_g^2 + B_g^4 L_f^2) X."""
    s, proof, dg, here, away = dro.s, dro.proof, dro.dg, dro.here, dro.away
    at_mean = dro.outer(here)
    change, gap = Act(dg(here) - dg(X), at_mean), at_mean - dro.df(dro.y)
    proof.claim(
        "distance",
        sq(dro.gradient(here) - dro.clients(dro.direction))
        <= 2 * (dro.rough + s.B_g**2 * dro.by_value) * quantity("X"),
        proof.bound("L_g", dg(here), dg(X), at_mean),
        proof.act(dro.mean_jacobian(X), gap),
        proof.bound("L_f", at_mean, dro.df(dro.y)),
        dro.lipschitz(here, X),
        squares=(
            dro.clients(change) - Act(dro.clients(dg(X)), gap),
            away(change),
            away(dro.g(here) - dro.g(X)),
        ),
        why="the Jacobians at xbar and at x_k, then the arguments of grad f",
    )


def consensus(dro: FedDro) -> None:
    """||d - D||^2 <= 6 B_f^2 L_g^2 X + 3 B_f^2 Delta_g^2, and how far the models part."""
    s, proof = dro.s, dro.proof
    bound = dro.unlike_composed()
    proof.claim("growth", sq(s.eta * dro.away(dro.direction)) <= s.eta**2 * bound, "unlike")
    proof.step("drift", Drift("X", "apart", "agree", START, "growth"))
    proof.claim(
        "consensus",
        total("X") <= 3 * NINE_EIGHTHS * (s.B_f * s.Delta_g * s.eta * (s.I - 1)) ** 2 * s.T,
        given={"drift": NINE_EIGHTHS},
        why="A <= a A + c with a <= 1/9; (I-1)(2I-1)/6 <= (I-1)^2",
    )


def theorem_4_2(s: Reader) -> Derivation:
    """Descent with the consensus error of a round in which every client moves by its own Jacobian."""
    dro = FedDro(s, sampled=False)
    dro.smoothness()
    dro.rounds()
    distance(dro)
    consensus(dro)
    bias = 2 * (dro.rough + s.B_g**2 * dro.by_value) * quantity("X")
    smooth_descent(
        dro.proof, s.eta, s.L_Phi, dro.here, dro.there, 0 * s.L_Phi, bias, "mean", "distance", objective="Phi"
    )
    inside = {"eta": Fraction(1, 9)}
    return dro.proof.qed("descent, summed", "infimum", "consensus", metric="gradient", model="x", inside=inside)


# --- Corollary 1 ------------------------------------------------------------------------------------------------------


def corollary_1(s: Reader) -> Corollary:
    """The schedule put into Theorem 5.1: 1 + (I-1)^2/I <= I, and I^(5/4) <= T^(1/2)/(bK)^(3/2) for the drift."""
    ones = [name for name in s.params if name not in ("L_Phi", "eta", "beta", "T")]
    inside = dict.fromkeys(ones, Fraction(1)) | {"T": Fraction(10**10)}
    bk, noise = s.b * s.K, s.sigma_h**2 + s.B_f**2 * s.sigma_g**2
    unlike = s.Delta_h**2 + s.B_f**2 * s.Delta_g**2
    main = 2 * s.B_g**2 * s.L_f**2 / s.beta
    weight = 4 * main + 6 * s.B_g**2 * s.L_Phi * s.L_f**2 * s.eta + 4 * s.L_f**2 * s.sigma_g**2 / bk
    inner = s.B_g**2 * s.eta**2 / bk
    by_noise, by_unlike = 18 * inner * noise / s.b, 54 * inner * unlike
    pull = Fraction(9, 2) * (s.L_h**2 + s.B_f**2 * s.L_g**2 + 2 * s.B_g**4 * s.L_f**2)
    drift = {
        name: pull * s.eta**2 * size for name, size in (("variance", 4 * noise / s.b), ("heterogeneity", 12 * unlike))
    }
    certificates: dict[str, Certificate] = {
        f"term drift_{name}": (
            (factor * s.I ** Fraction(3, 4), ("local_updates^5/4",)),
            (2 * factor, ("I>=1",)),
        )
        for name, factor in drift.items()
    }
    certificates["term inner_variance"] = (
        (main * (by_noise * s.I + 24 * inner * noise / bk), ("weight",)),
        (by_noise * weight / s.I, ("I>=1",)),
    )
    certificates["term inner_heterogeneity"] = (
        (main * by_unlike * s.I, ("weight",)),
        (by_unlike * weight / s.I, ("I>=1",)),
    )
    return Corollary(PAPER.theorem("feddro.theorem_5_1"), inside, (("local_updates", Fraction(5, 4)),), certificates)


DERIVATIONS = (("theorem_5_1", theorem_5_1), ("theorem_4_2", theorem_4_2), ("corollary_1", corollary_1))
SHARPENED = (("theorem_5_1", partial(theorem_5_1, square=ORTHOGONAL)),)
