"""Theorem 8, corrected, with any estimate of the gradients, for the kernel; the steps are those of part II of docs/theory/meta_fl.md.

Time t counts the local steps of all rounds, T = tau K. All n clients run (the virtual clients of part II) and a set is drawn at
each step, independently of all else: at the end of a round its mean is the server's model, and at every step it gives the
metric. The metric is a sum of expectations, in each of which the set of the round is as good as one drawn afresh, since the
local steps of all clients do not depend on it.
"""

from __future__ import annotations

from fractions import Fraction

from ...language import bounding
from ...language.theorem import Theorem
from ...proof.kernel import (
    CLIENTS,
    COMMUNICATION,
    LOCAL,
    ONE,
    Act,
    App,
    Assume,
    Assumed,
    AtStart,
    Combine,
    Declared,
    Definition,
    Derivation,
    Function,
    Index,
    Lemma,
    Linear,
    NoisyDrift,
    Objective,
    Open,
    Project,
    Quantity,
    Reader,
    Setting,
    Signomial,
    SmoothDescent,
    Source,
    Start,
    Step,
    Sum,
    SumOver,
    Term,
    Var,
    Variable,
    quantity,
    scalar,
    signomial,
    sq,
    total,
    value,
)
from ...proof.sum_of_squares import at_point, deviation, mean_over

CLIENT = frozenset({"i"})
clients = mean_over("i")
exact = at_point("dF")
"""grad F_i at a point."""
error = at_point("e", 0)
"""Error of the estimate of grad F_i, with the batches of the step."""
bias = at_point("e", None)


def away(term: Term) -> Term:
    return term - clients(term)


X, AFTER = Var("w"), Var("w", 1)
BAR, NEXT = clients(X), clients(AFTER)
ESTIMATE, KNOWN = exact(X) + error(X), exact(X) + bias(X)
NOISE = error(X) - bias(X)
GRADIENT = clients(exact(BAR))


def weighted(term: Term, *, drawn: bool = True) -> Term:
    """n/m times what belongs to the set of m clients, 0 for the others; the mean over the set is the mean of that."""
    return Act(App("chosen", Sum(()), (0 if drawn else None,)), term)


def moved(s: Reader) -> Term:
    return X - s.beta * ESTIMATE


CHOSEN = clients(weighted(X))
"""The mean model of the clients that take part."""
AT_CHOSEN = clients(exact(CHOSEN))


def setting(s: Reader) -> Setting:
    own = ((LOCAL, moved(s)), (COMMUNICATION, clients(weighted(moved(s)))))
    return Setting(
        (Index("i", s.n, of=CLIENTS),),
        (Source("batches", (), "batches"), Source("set", (), "drawn clients")),
        (
            Function("dF", "x", "x", (), CLIENT, CLIENT, role="meta_gradient"),
            Function("e", "x", "x", ("batches",), CLIENT, CLIENT, role="estimate_error"),
            Function("chosen", "x", ("x", "x"), ("set",), CLIENT, CLIENT, role="random_set"),
        ),
        (Variable("w", "x", CLIENT, own), Variable("p", "x"), Variable("r", "x")),
        (Objective("F", "p", clients(exact(Var("p"))), "2"),),
    )


def share(s: Reader) -> Signomial:
    """s of part II."""
    (param,) = s.quotients
    return Signomial([(((param, 1),), 1)])


def axioms(suffix: str) -> dict[str, Declared]:
    return {
        "smoothness": Assumed("L_F", "dF"),
        "bias": Assumed(f"mu_F{suffix}", "e"),
        "noise": Assumed(f"sigma_F{suffix}", "e", bounding.NOISE),
        "heterogeneity": Assumed("gamma_F", "dF"),
        "set": Assumed("r", "chosen"),
        "start": Start("drawn clients", away(X)),
        "infimum": Assumed("F_gap", "F"),
    }


def smoothness(s: Reader) -> tuple[Step, ...]:
    p, r = Var("p"), Var("r")
    change, moved_to = exact(p) - exact(r), exact(CHOSEN) - exact(BAR)
    return (
        Step("smooth.client", Assume("smoothness", (exact(p), exact(r)))),
        Step(
            "smooth",
            Combine(sq(clients(change)), s.L_F**2 * sq(p - r), ((ONE, "smooth.client"),), deviation("i", change)),
            "Jensen over the clients",
        ),
        Step("Lambda", Open("Lambda")),
        Step("deviation.client", Assume("smoothness", (exact(BAR), exact(X)))),
        Step("chosen.client", Assume("smoothness", (exact(CHOSEN), exact(BAR)))),
        Step("chosen.mean", Assume("set", (weighted(X, drawn=False),)), "T2"),
        Step("chosen", Assume("set", (weighted(X),)), "T2"),
        Step("G", Open("G")),
        Step("metric", Open("metric")),
        Step(
            "T8",
            Combine(
                quantity("metric"),
                2 * quantity("G") + 2 * s.L_F**2 * share(s) * quantity("Lambda"),
                (
                    (ONE, "metric"),
                    (signomial(-2), "G"),
                    (2 * ONE, "chosen.client"),
                    (2 * s.L_F**2, "chosen"),
                    (-2 * s.L_F**2 * share(s), "Lambda"),
                ),
                (*deviation("i", moved_to, weight=2 * ONE), (ONE, AT_CHOSEN - 2 * GRADIENT)),
                pairings=((-4 * s.L_F**2, "chosen.mean", BAR),),
            ),
            "at the mean of the clients that take part",
        ),
    )


def descent(s: Reader, mu: Signomial, sigma: Signomial) -> tuple[Step, ...]:
    """T3 and T7."""
    half, second = s.beta / 2, s.L_F * s.beta**2 / 2
    deviated = exact(X) - exact(BAR)
    drift = quantity("Lambda")
    known = clients(KNOWN)
    at_server = clients(weighted(moved(s)))
    size = s.beta * (s.L_F**2 * drift + mu**2) + second * sigma**2
    common = (
        (ONE, "smooth step"),
        (ONE, "F.next"),
        (-ONE, "F"),
        (half, "G"),
        (half, "error"),
        (second, "noise"),
    )
    turned = ((half - second, known),)
    small = ((half, ("step_size",)), (second, ("tau>=1",)))
    return (
        Step("w.local", Definition("w", "local")),
        Step("w.local.mean", Project("w.local", ("i",))),
        Step("w.shared", Definition("w", "communication")),
        Step("w.shared.mean", Project("w.shared", ("i",))),
        Step("bias", Assume("bias", (bias(X),))),
        Step(
            "error",
            Combine(
                sq(known - GRADIENT),
                2 * s.L_F**2 * drift + 2 * scalar(mu**2),
                ((2 * ONE, "deviation.client"), (2 * ONE, "bias"), (-2 * s.L_F**2, "Lambda")),
                (
                    *deviation("i", deviated, bias(X), weight=2 * ONE),
                    (ONE, clients(deviated) - clients(bias(X))),
                ),
            ),
            "||dev + bias||^2 <= 2 ||dev||^2 + 2 ||bias||^2",
        ),
        Step("noise.client", Assume("noise", (error(X),))),
        Step(
            "noise",
            Combine(sq(clients(NOISE)), scalar(sigma**2), ((ONE, "noise.client"),), deviation("i", NOISE)),
            "the clients need not be independent",
        ),
        Step("smooth step", SmoothDescent("F", "smooth", s.L_F, "r", BAR, NEXT)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step(
            "T3",
            Combine(
                quantity("F", 1),
                quantity("F") - half * quantity("G") + size,
                common,
                turned,
                pairings=(
                    (ONE, "w.local.mean", GRADIENT),
                    (s.L_F / 2, "w.local.mean", NEXT - BAR - s.beta * clients(ESTIMATE)),
                ),
                certificates=(small,),
            ),
            "T1: -2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2",
        ),
        Step("server.mean", Assume("set", (weighted(moved(s), drawn=False),)), "T2"),
        Step("server", Assume("set", (weighted(moved(s)),)), "T2"),
        Step("Lambda_end", Open("Lambda_end")),
        Step(
            "T7",
            Combine(
                quantity("F", 1),
                quantity("F") - half * quantity("G") + size + s.L_F / 2 * share(s) * quantity("Lambda_end"),
                (*common, (s.L_F / 2, "server"), (-s.L_F / 2 * share(s), "Lambda_end")),
                turned,
                pairings=(
                    (ONE, "w.shared.mean", GRADIENT),
                    (s.L_F / 2, "w.shared.mean", NEXT + at_server - 2 * BAR),
                    (ONE, "server.mean", GRADIENT),
                    (-s.L_F, "server.mean", BAR),
                ),
                certificates=(small,),
            ),
            "the mean over the set has the mean of all clients as its mean",
        ),
        Step("sum", SumOver("T3", "T7")),
        Step("infimum", Assume("infimum")),
        Step("metric.sum", SumOver("T8")),
    )


def drift(s: Reader, mu: Signomial, sigma: Signomial) -> tuple[Step, ...]:
    """T4 to T6; T4 is one rule with the sum over the round."""
    deviated, unlike = exact(X) - exact(BAR), away(exact(BAR))
    others = unlike + away(bias(X))
    young, rest = signomial(10), Fraction(10, 9)
    beta, spread = s.beta**2, s.gamma_F**2 + mu**2
    moves = -s.beta * away(NOISE)
    names = ("Lambda", "apart", "agree", "start", moves, "growth", "noise.growth", ONE)
    steady = Fraction(400, 243) * s.tau * (s.tau - 1) * spread + Fraction(10, 9) * (s.tau - 1) * sigma**2
    last = Fraction(1160, 243) * s.tau * spread + Fraction(20, 9) * sigma**2
    short = Fraction(2, 9) * beta * (Fraction(40, 27) * s.tau * spread + sigma**2)
    return (
        Step("apart", Linear(away(AFTER) - away(moved(s)), ((ONE, "w.local"), (-ONE, "w.local.mean")))),
        Step("agree", Linear(away(AFTER), ((ONE, "w.shared"), (-ONE, "w.shared.mean")))),
        Step("start", Assume("start")),
        Step("unlike", Assume("heterogeneity", (exact(BAR),))),
        Step(
            "growth",
            Combine(
                sq(s.beta * away(KNOWN)),
                beta * (young * s.L_F**2 * quantity("Lambda") + 2 * rest * scalar(spread)),
                (
                    (young * beta, "deviation.client"),
                    (-young * beta * s.L_F**2, "Lambda"),
                    (2 * rest * beta, "unlike"),
                    (2 * rest * beta, "bias"),
                ),
                (
                    (young * beta, clients(deviated)),
                    (2 * rest * beta, clients(bias(X))),
                    (9 * beta, away(deviated) - others / 9),
                    (rest * beta, unlike - away(bias(X))),
                ),
            ),
            "Young's inequality with 9, and with 1",
        ),
        Step(
            "noise.growth",
            Combine(
                sq(s.beta * away(NOISE)),
                scalar(beta * sigma**2),
                ((beta, "noise.client"),),
                ((beta, clients(NOISE)),),
            ),
        ),
        Step("drift", NoisyDrift(*names), "noise and the rest of the moves add up apart from each other"),
        Step(
            "T5",
            Combine(total("Lambda"), scalar(s.tau * s.K * beta * steady), ((rest * ONE, "drift"),)),
            "A <= a A + c with a <= 1/10",
        ),
        Step("drift.end", NoisyDrift(*names, end="Lambda_end")),
        Step(
            "T6",
            Combine(
                total("Lambda_end", communications=True),
                scalar(s.tau * s.K * beta * last),
                ((ONE, "drift.end"), (20 * s.L_F**2 * beta * s.tau, "T5"), (s.tau * s.K * short, "short")),
            ),
            "after tau steps",
        ),
    )


def limits(s: Reader) -> tuple[Step, ...]:
    """What the coefficients of the statement owe to s <= 1 and beta L_F tau <= 1/10."""
    x = s.beta * s.L_F
    return (
        Step("share.first", Assume("set"), "s <= 1/m"),
        Step("share", Combine(scalar(share(s)), scalar(1), ((ONE, "share.first"),)), "s <= 1"),
        Step("short.step", Combine(scalar(100 * x**2 * s.tau * (s.tau - 1)), scalar(1)), "beta L_F tau <= 1/10"),
        Step("short", AtStart("short.step")),
        Step(
            "share.short",
            Combine(scalar(10 * share(s) * x * s.tau), scalar(1), ((10 * x * s.tau, "share"),)),
        ),
    )


def lemmas(suffix: str, smooth: Theorem, estimate: Theorem, similar: Theorem) -> tuple[Lemma, Lemma, Lemma]:
    """Where the constants come from: Lemma 4, that of the estimate, and Lemma 7."""
    return (
        Lemma(smooth, "printed", ("L_F",)),
        Lemma(estimate, "corrected", (f"mu_F{suffix}", f"sigma_F{suffix}")),
        Lemma(similar, "corrected", ("gamma_F",)),
    )


def theorem(s: Reader, suffix: str, given: tuple[Lemma, Lemma, Lemma]) -> Derivation:
    """`given`: smoothness, estimate, heterogeneity."""
    mu, sigma = getattr(s, f"mu_F{suffix}"), getattr(s, f"sigma_F{suffix}")
    x = s.beta * s.L_F
    per = 1 / (s.tau * s.K)
    steady = Fraction(400, 243) * s.tau * (s.gamma_F**2 + mu**2) + Fraction(10, 9) * sigma**2
    drifted = x**2 * (s.tau - 1) * steady
    return Derivation(
        setting(s),
        (
            Quantity("Lambda", sq(away(X))),
            Quantity("Lambda_end", sq(away(moved(s)))),
            Quantity("G", sq(GRADIENT)),
            Quantity("metric", sq(AT_CHOSEN)),
            Quantity("F", value("F", BAR)),
        ),
        axioms(suffix),
        (*smoothness(s), *descent(s, mu, sigma), *limits(s), *drift(s, mu, sigma)),
        (
            (per, "metric.sum"),
            (4 * per / s.beta, "sum"),
            (4 * per / s.beta, "infimum"),
            ((4 + 2 * share(s)) * s.L_F**2 * per, "T5"),
            (2 * share(s) * s.L_F * per / s.beta, "T6"),
            (2 * drifted, "share"),
            (Fraction(8, 81) * mu**2, "short"),
            (Fraction(232, 243) * mu**2, "share.short"),
        ),
        "metric",
        "w",
        dict.fromkeys((*s.opaque, "F_gap", "tau", "K"), Fraction(1))
        | {"beta": Fraction(1, 20), "r": Fraction(1, 2), "n": Fraction(4), "D": Fraction(1)}
        | {"sigma_G": Fraction(4), f"mu_F{suffix}": Fraction(3)},
        "batches",
        given,
    )
