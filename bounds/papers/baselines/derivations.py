"""The baselines of the plain federated kind: minibatch SGD and Local SGD, for the kernel; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    BATCH,
    CLIENTS,
    COMMUNICATION,
    EVERY,
    LOCAL,
    ONE,
    App,
    Assume,
    Assumed,
    Cases,
    Combine,
    Declared,
    Definition,
    Derivation,
    Drift,
    Function,
    IndependentMean,
    Index,
    Known,
    Linear,
    NoisyDrift,
    Objective,
    Open,
    Project,
    Quantity,
    Reader,
    Setting,
    Source,
    Start,
    Step,
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
from ...proof.writing import at_point, deviation, mean_over
from .derivation_composed import biased_sgd, scgd
from .descent import INFIMUM, descent

CLIENT = frozenset({"n"})
PAST = Known.before(("xi",))


clients = mean_over("n")
batch = mean_over("i")


def away(term: Term) -> Term:
    return term - clients(term)


exact = at_point("dF", None)
"""grad F_n at a point."""


X, AFTER = Var("x"), Var("x", 1)
BAR, NEXT = clients(X), clients(AFTER)
SAMPLED = App("dF", X, (0,))
V, NOISE = batch(SAMPLED), SAMPLED - exact(X)
GRADIENT = clients(exact(BAR))


def setting(s: Reader, *, pooled: bool) -> Setting:
    """`pooled`: all clients step from the mean model, without local steps."""
    moved = X - s.eta * V
    own = ((EVERY, clients(moved)),) if pooled else ((LOCAL, moved), (COMMUNICATION, clients(moved)))
    objective = Objective("F", "p", clients(exact(Var("p"))), "smoothness")
    return Setting(
        (Index("n", s.N, of=CLIENTS), Index("i", s.b, "independence", of=BATCH)),
        (Source("xi", ("n", "i"), "independence"),),
        (Function("dF", "x", "x", ("xi",), CLIENT, CLIENT, role="local_gradient"),),
        (Variable("x", "x", frozenset() if pooled else CLIENT, own), Variable("p", "x"), Variable("r", "x")),
        (objective,),
    )


COMMON = {"noise": Assumed("sigma", "dF"), "infimum": INFIMUM}


def noise(s: Reader) -> tuple[Step, ...]:
    """The N b errors are independent with mean 0."""
    return (
        Step("noise.clients", IndependentMean(batch(NOISE), "n", PAST)),
        Step("noise.batch", IndependentMean(NOISE, "i", PAST)),
        Step("noise.sample", Assume("noise", (SAMPLED,))),
        Step(
            "noise",
            Combine(
                sq(clients(batch(NOISE))),
                scalar(s.sigma**2 / (s.N * s.b)),
                ((ONE, "noise.clients"), (1 / s.N, "noise.batch"), (1 / (s.N * s.b), "noise.sample")),
            ),
        ),
    )


def quantities() -> tuple[Quantity, ...]:
    return (Quantity("gradient", sq(GRADIENT)), Quantity("F", value("F", BAR)))


def inside(s: Reader, **others: Fraction) -> dict[str, Fraction]:
    names = ("L", "L_bar", "sigma", "zeta", "F_gap", "p", "b", "N", "T")
    return dict.fromkeys(names, Fraction(1)) | {"eta": Fraction(1, 2)} | others


def minibatch_sgd(s: Reader) -> Derivation:
    """Section 1."""
    p, r = Var("p"), Var("r")
    exact_mean = clients(exact(X))
    steps = (
        Step("smooth", Assume("smoothness", (p, r))),
        Step("mean", Definition("x", "local")),
        *noise(s),
        Step("bias", Combine(sq(exact_mean - exact_mean), scalar(0)), "the direction is unbiased"),
        *descent(s, s.L_bar, (X, AFTER), exact_mean, (clients(V), exact_mean), scalar(0), s.sigma**2 / (s.N * s.b)),
    )
    return Derivation(
        setting(s, pooled=True),
        (Quantity("gradient", sq(exact_mean)), Quantity("F", value("F", X))),
        COMMON | {"smoothness": Assumed("L_bar", "F")},
        steps,
        ((2 / (s.eta * s.T), "sum"), (2 / (s.eta * s.T), "infimum")),
        "gradient",
        "x",
        inside(s),
        "independence",
    )


def consensus(s: Reader) -> tuple[Step, ...]:
    """The models agree after a communication; the mean model always moves by eta times the mean direction."""
    together = NEXT - BAR + s.eta * clients(V)
    return (
        Step("local", Definition("x", "local")),
        Step("local.mean", Project("local", ("n",))),
        Step("averaging", Definition("x", "communication")),
        Step("averaging.mean", Project("averaging", ("n",))),
        Step("apart", Linear(away(AFTER) - away(X) + s.eta * away(V), ((ONE, "local"), (-ONE, "local.mean")))),
        Step("agree", Linear(away(AFTER), ((ONE, "averaging"), (-ONE, "averaging.mean")))),
        Step("start", Assume("start")),
        Step("mean.local", Linear(together, ((ONE, "local.mean"),))),
        Step("mean.averaging", Linear(together, ((ONE, "averaging.mean"),))),
        Step("mean", Cases(("mean.local", "mean.averaging"))),
    )


def local(s: Reader, drift: tuple[Step, ...], drifted: str, more: dict[str, Declared], **point: Fraction) -> Derivation:
    """Local SGD with a bound of the consensus error."""
    p, r = Var("p"), Var("r")
    gap, change = exact(BAR) - exact(X), exact(p) - exact(r)
    steps = (
        Step("smooth.client", Assume("smoothness", (exact(p), exact(r)))),
        Step(
            "smooth",
            Combine(sq(clients(change)), s.L**2 * sq(p - r), ((ONE, "smooth.client"),), deviation("n", change)),
        ),
        *consensus(s),
        *noise(s),
        Step("X", Open("X")),
        Step("bias.client", Assume("smoothness", (exact(BAR), exact(X)))),
        Step(
            "bias",
            Combine(
                sq(clients(gap)),
                s.L**2 * quantity("X"),
                ((ONE, "bias.client"), (-(s.L**2), "X")),
                deviation("n", gap),
            ),
            "Jensen over the clients, and smoothness",
        ),
        *descent(
            s,
            s.L,
            (BAR, NEXT),
            GRADIENT,
            (clients(V), clients(exact(X))),
            s.L**2 * quantity("X"),
            s.sigma**2 / (s.N * s.b),
        ),
        *drift,
    )
    return Derivation(
        setting(s, pooled=False),
        (Quantity("X", sq(away(X))), *quantities()),
        COMMON | {"smoothness": Assumed("L", "dF"), "start": Start("start", away(X))} | more,
        steps,
        ((2 / (s.eta * s.T), "sum"), (2 / (s.eta * s.T), "infimum"), (s.L**2 / s.T, drifted)),
        "gradient",
        "x",
        inside(s, **point),
        "independence",
    )


def local_sgd(s: Reader) -> Derivation:
    """Section 2: every direction has the second moment M^2."""
    drift = (
        Step("bounded", Assume("bounded gradients", (exact(X),))),
        Step(
            "growth",
            Combine(
                sq(s.eta * away(V)),
                scalar(s.eta**2 * s.M**2),
                ((s.eta**2, "bounded"), (s.eta**2, "noise.batch"), (s.eta**2 / s.b, "noise.sample")),
                ((s.eta**2, clients(V)),),
            ),
            "the errors of a batch have mean 0; subtracting the mean over the clients only lowers",
        ),
        Step("drift", Drift("X", "apart", "agree", "start", "growth")),
    )
    return local(s, drift, "drift", {"bounded gradients": Assumed("G", "dF")}, G=Fraction(3), sigma=Fraction(4))


def local_sgd_heterogeneity(s: Reader) -> Derivation:
    """Section 3: drift by heterogeneity adds up over a round, noise does not."""
    moved, unlike = exact(X) - exact(BAR), exact(BAR) - clients(exact(BAR))
    half, third = Fraction(3, 2), Fraction(1, 3)
    noise_size = (1 - 1 / s.N) * s.sigma**2 / s.b
    drift = (
        Step("unlike", Assume("heterogeneity", (exact(BAR),))),
        Step(
            "growth",
            Combine(
                sq(s.eta * away(exact(X))),
                s.eta**2 * (half * s.L**2 * quantity("X") + 3 * s.zeta**2),
                ((half * s.eta**2, "bias.client"), (-half * s.eta**2 * s.L**2, "X"), (3 * s.eta**2, "unlike")),
                (
                    (s.eta**2, clients(moved)),
                    (s.eta**2 / 2, moved - 2 * unlike),
                ),
            ),
            "Young's inequality with 1/2; the mean over the clients is the closest common vector",
        ),
        Step(
            "noise.growth",
            Combine(
                sq(s.eta * away(batch(NOISE))),
                scalar(s.eta**2 * noise_size),
                (
                    (-(s.eta**2), "noise.clients"),
                    (s.eta**2 * (1 - 1 / s.N), "noise.batch"),
                    (s.eta**2 * (1 - 1 / s.N) / s.b, "noise.sample"),
                ),
            ),
            "independent errors, less their mean over the clients",
        ),
        Step(
            "drift",
            NoisyDrift(
                "X",
                "apart",
                "agree",
                "start",
                -s.eta * away(batch(NOISE)),
                "growth",
                "noise.growth",
                signomial(third),
            ),
        ),
        Step(
            "consensus",
            Combine(
                total("X"),
                scalar(
                    s.T
                    * s.eta**2
                    * (Fraction(4, 3) * (s.p - 1) * (2 * s.p - 1) * s.zeta**2 + 4 * (s.p - 1) * noise_size)
                ),
                ((signomial(2), "drift"),),
            ),
            "A <= a A + c with a <= 1/2",
        ),
    )
    return local(s, drift, "consensus", {"heterogeneity": Assumed("zeta", "dF")})


DERIVATIONS = (
    ("minibatch_sgd", minibatch_sgd),
    ("local_sgd", local_sgd),
    ("local_sgd_heterogeneity", local_sgd_heterogeneity),
    ("scgd", scgd),
    ("biased_sgd", biased_sgd),
)
