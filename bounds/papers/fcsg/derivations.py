"""FCSG: the derivation of the corrected Theorem 4.1, for the kernel of bounds/proof; docs/theory/fcsg.md comments on it."""

from __future__ import annotations

from fractions import Fraction

from ...language.bounding import MEAN_SQUARE
from ...proof.kernel import (
    BATCH,
    CLIENTS,
    COMMUNICATION,
    EVERY,
    LOCAL,
    Act,
    Action,
    App,
    Assume,
    Assumed,
    Cases,
    Combine,
    Corollary,
    Definition,
    Derivation,
    Drift,
    Function,
    Given,
    IndependentMean,
    Index,
    Instance,
    Known,
    Later,
    Linear,
    MeanMoment,
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
    SumOver,
    Term,
    Var,
    Variable,
    quantity,
    scalar,
    signomial,
    sq,
    value,
)
from ...proof.writing import mean_over
from .theorems import THEOREM_4_1

OUTER, INNER = "not stated: independence of outer samples", "not stated: independence of inner samples"
PAST = Known.before(("xi", "eta"))
PAST_AND_XI = PAST | Known.sample("xi")
CLIENT = frozenset({"n"})


clients = mean_over("n")
batch = mean_over("i")
inner_batch = mean_over("j")


def chain(jacobian: Term, point: Term) -> Term:
    """A Jacobian, transposed, applied to the gradient of f_xi at a point."""
    return Act(jacobian, App("df", point, (0,)))


def sampled_gradient(x: Term) -> Term:
    """The stochastic gradient of Fhat^n for one outer sample and m inner samples."""
    return chain(inner_batch(App("dg", x, (0, 0))), inner_batch(App("g", x, (0, 0))))


def plug_in_gradient(x: Term) -> Term:
    return Given(PAST, sampled_gradient(x))


def client_gradient(x: Term) -> Term:
    """grad F^n."""
    return Given(PAST, chain(App("dg", x, (0, None)), App("g", x, (0, None))))


def setting(s: Reader, update: tuple[tuple[frozenset[str], Term], ...], before: tuple[Variable, ...] = ()) -> Setting:
    """Problem and method; `update` holds the equations of the estimate u, `before` variables that it is made from."""
    moved = Var("x") - s.alpha * Var("u", 1)
    functions = (
        Function("df", "y", "dy", ("xi",), CLIENT, CLIENT, role="outer_gradient"),
        Function("g", "x", "y", ("xi", "eta"), CLIENT, CLIENT, role="inner_value"),
        Function("dg", "x", ("x", "dy"), ("xi", "eta"), CLIENT, CLIENT, role="inner_jacobian"),
    )
    variables = (
        *before,
        Variable("u", "x", CLIENT, update),
        Variable("x", "x", CLIENT, ((LOCAL, moved), (COMMUNICATION, clients(moved)))),
        Variable("v", "x", CLIENT),
        Variable("w", "x", CLIENT),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    return Setting(
        (Index("n", s.N, of=CLIENTS), Index("i", s.b, OUTER, s.B, BATCH), Index("j", s.m, INNER, of=BATCH)),
        (Source("xi", ("n", "i"), OUTER), Source("eta", ("n", "i", "j"), INNER)),
        functions,
        variables,
        (Objective("F", "p", clients(client_gradient(Var("p"))), "7"),),
    )


AXIOMS = {
    "outer smoothness": Assumed("S_f", "df"),
    "inner smoothness": Assumed("S_g", "dg", per=MEAN_SQUARE),
    "outer gradient": Assumed("L_f", "df"),
    "inner Jacobian": Assumed("L_g", "dg", per=MEAN_SQUARE, given=PAST),
    "inner Lipschitz": Assumed("L_g", "g", per=MEAN_SQUARE),
    "inner noise": Assumed("sigma_g", "g"),
    "common start": Start("Algorithm 1, line 2", Var("x") - clients(Var("x"))),
    "lower bound": Assumed("F_gap", "F"),
}


def smoothness(s: Reader) -> tuple[Step, ...]:
    """Lemma A.2(b): grad F^n and grad F are S_F-Lipschitz."""
    v, w = Var("v"), Var("w")
    at_v, at_w = (App("df", App("g", x, (0, None)), (0,)) for x in (v, w))
    first = Given(PAST, Act(App("dg", v, (0, None)), at_v - at_w))
    second = Given(PAST, Act(App("dg", v, (0, None)) - App("dg", w, (0, None)), at_w))
    outer, inner = s.S_f * s.L_g**2, s.S_g * s.L_f
    by_outer, by_inner = 1 + inner / outer, 1 + outer / inner
    gap = client_gradient(v) - client_gradient(w)
    p, r = clients(client_gradient(Var("p"))), clients(client_gradient(Var("r")))
    apart = client_gradient(Var("p")) - client_gradient(Var("r"))
    return (
        Step("smooth.outer", Assume("outer smoothness", (at_v, at_w))),
        Step("smooth.inner", Assume("inner Lipschitz", (at_v.argument, at_w.argument))),
        Step("smooth.jacobian", Assume("inner Jacobian", (App("dg", v, (0, None)),))),
        Step("smooth.first", Action("smooth.jacobian", at_v - at_w), "conditional Cauchy-Schwarz"),
        Step(
            "smooth.second",
            Assume("inner smoothness", (App("dg", v, (0, None)), App("dg", w, (0, None)), at_w)),
        ),
        Step(
            "smooth.client",
            Combine(
                sq(gap),
                s.S_F**2 * sq(v - w),
                (
                    (by_outer, "smooth.first"),
                    (by_outer * s.L_g**2, "smooth.outer"),
                    (by_outer * s.L_g**2 * s.S_f**2, "smooth.inner"),
                    (by_inner, "smooth.second"),
                ),
                squares=((outer / inner, inner / outer * first - second),),
            ),
            "Young's inequality with the ratio of the two constants",
        ),
        Step("smooth.points", Instance("smooth.client", (("v", Var("p")), ("w", Var("r"))))),
        Step(
            "smooth",
            Combine(
                sq(p - r),
                s.S_F**2 * sq(Var("p") - Var("r")),
                ((signomial(1), "smooth.points"),),
                squares=((signomial(1), apart - clients(apart)),),
            ),
            "Jensen over the clients",
        ),
    )


def bias(s: Reader) -> tuple[Step, ...]:
    """Lemma A.2(a): the plug-in gradient."""
    v = Var("v")
    sampled, exact = inner_batch(App("g", v, (0, 0))), App("g", v, (0, None))
    difference = App("df", sampled, (0,)) - App("df", exact, (0,))
    jacobian = App("dg", v, (0, 0))
    noise = App("g", v, (0, 0)) - exact
    scale = s.L_g**2 * s.S_f**2
    return (
        Step("bias.outer", Assume("outer smoothness", (App("df", sampled, (0,)), App("df", exact, (0,))))),
        Step("bias.average", IndependentMean(noise, "j", PAST_AND_XI)),
        Step("bias.noise", Assume("inner noise", (App("g", v, (0, 0)),))),
        Step("bias.jacobian", Assume("inner Jacobian", (jacobian,))),
        Step("bias.mean", MeanMoment("bias.jacobian", ("j",))),
        Step("bias.action", Action("bias.mean", difference), "conditional Cauchy-Schwarz"),
        Step(
            "bias",
            Combine(
                sq(plug_in_gradient(v) - client_gradient(v)),
                scalar(scale * s.sigma_g**2 / s.m),
                (
                    (signomial(1), "bias.action"),
                    (s.L_g**2, "bias.outer"),
                    (scale, "bias.average"),
                    (scale / s.m, "bias.noise"),
                ),
            ),
            "E[grad ghat | xi] = grad g, so only the argument of grad f differs",
        ),
    )


MODEL = Var("x")


def second_moment(s: Reader, x: Term = MODEL) -> tuple[Step, ...]:
    """E||G||^2 <= L_f^2 L_g^2, at the clients' models or at another known point."""
    return (
        Step("moment.jacobian", Assume("inner Jacobian", (App("dg", x, (0, 0)),))),
        Step("moment.mean", MeanMoment("moment.jacobian", ("j",))),
        Step("moment", Action("moment.mean", App("df", inner_batch(App("g", x, (0, 0))), (0,)), True)),
    )


def consensus(s: Reader) -> tuple[Step, ...]:
    """The models agree after a communication, and move apart by alpha (u - ubar); the mean model always moves by alpha ubar."""
    x, after, u = Var("x"), Var("x", 1), Var("u", 1)
    one = signomial(1)
    apart = (after - clients(after)) - (x - clients(x)) + s.alpha * (u - clients(u))
    together = clients(after) - clients(x) + s.alpha * clients(u)
    return (
        Step("local", Definition("x", "local")),
        Step("local.mean", Project("local", ("n",))),
        Step("averaging", Definition("x", "communication")),
        Step("averaging.mean", Project("averaging", ("n",))),
        Step("apart", Linear(apart, ((one, "local"), (-one, "local.mean")))),
        Step("agree", Linear(after - clients(after), ((one, "averaging"), (-one, "averaging.mean")))),
        Step("common start", Assume("common start")),
        Step("mean.local", Linear(together, ((one, "local.mean"),))),
        Step("mean.averaging", Linear(together, ((one, "averaging.mean"),))),
        Step("mean", Cases(("mean.local", "mean.averaging"))),
    )


def noise(s: Reader) -> tuple[Step, ...]:
    """The mean estimate deviates from its conditional mean by L^2/(N b): clients and batch are independent."""
    one, product = signomial(1), s.L_f**2 * s.L_g**2
    g = sampled_gradient(Var("x"))
    z = g - plug_in_gradient(Var("x"))
    total = sq(clients(batch(z)))
    claim = scalar(product / (s.N * s.b))

    def at(step: str, size: Signomial) -> Step:
        weights = ((one, "noise.clients"), (1 / s.N, f"noise.batch.{step}"), (1 / (s.N * size), "moment"))
        return Step(
            f"noise.{step}",
            Combine(total, claim, weights, squares=((1 / (s.N * size), plug_in_gradient(Var("x"))),)),
            "a variance is at most a second moment",
        )

    return (
        Step("noise.clients", IndependentMean(batch(z), "n", PAST)),
        Step("noise.batch.later", IndependentMean(z, "i", PAST)),
        Step("noise.batch.first", IndependentMean(z, "i", PAST, first=True)),
        at("later", s.b),
        at("first", s.B),
        Step("noise", Cases(("noise.later", "noise.first"))),
    )


def distance(s: Reader) -> tuple[Step, ...]:
    """||grad F(xbar) - A||^2 <= 2 S_F^2 X + 2 delta."""
    one, two = signomial(1), signomial(2)
    x = Var("x")
    here, there, plug_in = client_gradient(clients(x)), client_gradient(x), plug_in_gradient(x)
    delta = s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
    return (
        Step("X", Open("X")),
        Step("distance.smooth", Instance("smooth.client", (("v", clients(x)), ("w", x)))),
        Step("distance.bias", Instance("bias", (("v", x),))),
        Step(
            "distance",
            Combine(
                sq(clients(here) - clients(plug_in)),
                2 * s.S_F**2 * quantity("X") + 2 * delta,
                ((two, "distance.smooth"), (two, "distance.bias"), (-2 * s.S_F**2, "X")),
                squares=(
                    (one, clients(here) - 2 * clients(there) + clients(plug_in)),
                    (two, here - there - clients(here - there)),
                    (two, there - plug_in - clients(there - plug_in)),
                ),
            ),
            "||a + c||^2 <= 2||a||^2 + 2||c||^2 and Jensen over the clients",
        ),
    )


def theorem_4_1(s: Reader) -> Derivation:
    """FCSG: descent with the consensus error of step 1, the bias and the noise."""
    one, product = signomial(1), s.L_f**2 * s.L_g**2
    delta = s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
    x, after, u, g = Var("x"), Var("x", 1), Var("u", 1), sampled_gradient(Var("x"))
    mean_u, mean_g = clients(u), clients(batch(g))
    gradient = clients(client_gradient(clients(x)))
    moved = clients(after) - clients(x)
    half = s.alpha**2 * s.S_F / 2
    steps = (
        *smoothness(s),
        *bias(s),
        *second_moment(s),
        *consensus(s),
        Step("estimate", Definition("u", "local")),
        Step("estimate.mean", Project("estimate", ("n",))),
        Step(
            "growth",
            Combine(
                sq(s.alpha * (u - clients(u))),
                scalar(s.alpha**2 * product),
                ((s.alpha**2, "moment"),),
                squares=((s.alpha**2, clients(u)), (s.alpha**2, g - batch(g))),
                pairings=((s.alpha**2, "estimate", u + batch(g)),),
            ),
            "averaging only lowers a second moment",
        ),
        Step("drift", Drift("X", "apart", "agree", "common start", "growth"), "the mean of j^2 over a round"),
        *noise(s),
        *distance(s),
        Step("smooth step", SmoothDescent("F", "smooth", s.S_F, "r", clients(x), clients(after))),
        Step("F", Open("F")),
        Step("gradient", Open("gradient")),
        Step("F.next", Later("F", 1)),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F")
                - s.alpha / 2 * quantity("gradient")
                + s.alpha * s.S_F**2 * quantity("X")
                + s.alpha * delta
                + half * product / (s.N * s.b),
                (
                    (one, "smooth step"),
                    (one, "F.next"),
                    (-one, "F"),
                    (s.alpha / 2, "gradient"),
                    (half, "noise"),
                    (s.alpha / 2, "distance"),
                ),
                pairings=(
                    (one, "mean", gradient),
                    (s.S_F / 2, "mean", moved - s.alpha * mean_u),
                    (-s.alpha, "estimate.mean", gradient),
                    (half, "estimate.mean", mean_u + mean_g),
                ),
            ),
            "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; the square of A has the factor alpha/2 (1 - alpha S_F) >= 0",
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )
    return Derivation(
        setting(s, ((EVERY, batch(g)),)),
        (
            Quantity("X", sq(x - clients(x))),
            Quantity("gradient", sq(gradient)),
            Quantity("F", value("F", clients(x))),
        ),
        AXIOMS,
        steps,
        ((2 / (s.alpha * s.T), "sum"), (2 / (s.alpha * s.T), "bounded"), (2 * s.S_F**2 / s.T, "drift")),
        "gradient",
        "x",
        {name: Fraction(1) for name in ("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "q", "m", "b", "B", "N", "T")}
        | {"alpha": Fraction(1, 4)},
        "not stated: independence over time",
    )


def at_schedule(*names: str) -> dict[str, Fraction]:
    """A point inside for the schedules: T = 16, so that q = 2 for one client."""
    constants = ("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "m", "b", "B", "N", *names)
    return dict.fromkeys(constants, Fraction(1)) | {"T": Fraction(16)}


HORIZON_AND_ROUNDS = (("horizon", Fraction(1, 2)), ("q_choice", Fraction(2)))
"""T^(1/2) >= N^(3/2), for step sizes that are limited by T >= N^3; q^2 <= (T/N^3)^(1/2), for the drift."""


def corollary_4_2(_: Reader) -> Corollary:
    """The schedule put into Theorem 4.1; (q-1)(2q-1) <= 2q^2."""
    return Corollary(THEOREM_4_1, at_schedule("q"), HORIZON_AND_ROUNDS)


DERIVATIONS = (("theorem_4_1", theorem_4_1), ("corollary_4_2", corollary_4_2))
