"""Modified FedAvg: the derivation of the corrected Theorem 4.2, without noise and with h = 0."""

from __future__ import annotations

from fractions import Fraction

from ...language.bounding import MEAN
from ...proof.kernel import (
    CLIENTS,
    COMMUNICATION,
    LOCAL,
    ONE,
    Act,
    Action,
    Assume,
    Assumed,
    Cases,
    Combine,
    Definition,
    Derivation,
    Drift,
    Function,
    Index,
    Linear,
    MeanMoment,
    Objective,
    Open,
    Project,
    Quantity,
    Reader,
    Setting,
    SmoothDescent,
    Start,
    Step,
    SumOver,
    Term,
    Triangle,
    Var,
    Variable,
    quantity,
    scalar,
    signomial,
    sq,
    total,
    value,
)
from ...proof.sum_of_squares import apart, at_point, deviation, mean_over

CLIENT = frozenset({"k"})
TWO = signomial(2)


mean = mean_over("k")
g = at_point("g")
jacobian = at_point("dg")
df = at_point("df")


def gradient(x: Term) -> Term:
    """grad Phi at a point without an index."""
    return Act(mean(jacobian(x)), df(mean(g(x))))


X = Var("x")
BAR, NEXT = mean(X), mean(Var("x", 1))
Y = mean(g(X))
DIRECTION = Act(jacobian(X), df(Y))


def setting(s: Reader) -> Setting:
    moved = X - s.eta * DIRECTION
    functions = (
        Function("df", "y", "dy", role="outer_gradient"),
        Function("g", "x", "y", (), CLIENT, CLIENT, role="inner_value"),
        Function("dg", "x", ("x", "dy"), (), CLIENT, CLIENT, role="inner_jacobian"),
    )
    variables = (
        Variable("x", "x", CLIENT, ((LOCAL, moved), (COMMUNICATION, mean(moved)))),
        Variable("p", "x"),
        Variable("r", "x"),
        Variable("v", "x", CLIENT),
        Variable("w", "x", CLIENT),
    )
    objective = Objective("Phi", "p", gradient(Var("p")), "not stated: chain rule")
    return Setting((Index("k", s.K, of=CLIENTS),), (), functions, variables, (objective,))


def smoothness(s: Reader) -> tuple[Step, ...]:
    """Lemma 3.1 with h = 0."""
    p, r = Var("p"), Var("r")
    values, outer = g(p) - g(r), df(mean(g(p))) - df(mean(g(r)))
    first, second = Act(jacobian(p) - jacobian(r), df(mean(g(r)))), Act(mean(jacobian(p)), outer)
    gap = sq(p - r)
    by_value = s.B_g**2 * s.L_f**2
    return (
        Step("smooth.outer", Assume("outer smoothness", (df(mean(g(p))), df(mean(g(r)))))),
        Step("smooth.inner", Assume("inner Lipschitz", (g(p), g(r)))),
        Step("smooth.jacobian", Assume("inner Jacobian", (jacobian(p),))),
        Step("smooth.mean", MeanMoment("smooth.jacobian", ("k",))),
        Step("smooth.action", Action("smooth.mean", outer)),
        Step(
            "smooth.second",
            Combine(
                sq(second),
                s.B_g**4 * s.L_f**2 * gap,
                ((ONE, "smooth.action"), (s.B_g**2, "smooth.outer"), (by_value, "smooth.inner")),
                deviation("k", values, weight=by_value),
            ),
        ),
        Step("smooth.change", Assume("inner smoothness", (jacobian(p), jacobian(r), df(mean(g(r)))))),
        Step(
            "smooth.first",
            Combine(sq(mean(first)), (s.B_f * s.L_g) ** 2 * gap, ((ONE, "smooth.change"),), deviation("k", first)),
        ),
        Step(
            "smooth.sum",
            Triangle(
                (("smooth.first", mean(first), s.B_f * s.L_g), ("smooth.second", second, s.B_g**2 * s.L_f)),
                gap,
            ),
        ),
        Step(
            "smooth",
            Combine(sq(gradient(p) - gradient(r)), s.L_Phi**2 * gap, ((ONE, "smooth.sum"),)),
            "L_Phi is the sum of the two constants",
        ),
    )


def consensus(s: Reader) -> tuple[Step, ...]:
    """The models agree after a communication, and move apart by eta (d_k - D); the mean model always moves by eta D."""
    after = Var("x", 1)
    together = NEXT - BAR + s.eta * mean(DIRECTION)
    away = (after - NEXT) - (X - BAR) + s.eta * (DIRECTION - mean(DIRECTION))
    return (
        Step("local", Definition("x", "local")),
        Step("local.mean", Project("local", ("k",))),
        Step("averaging", Definition("x", "communication")),
        Step("averaging.mean", Project("averaging", ("k",))),
        Step("away", Linear(away, ((ONE, "local"), (-ONE, "local.mean")))),
        Step("agree", Linear(after - NEXT, ((ONE, "averaging"), (-ONE, "averaging.mean")))),
        Step("common start", Assume("common start")),
        Step("mean.local", Linear(together, ((ONE, "local.mean"),))),
        Step("mean.averaging", Linear(together, ((ONE, "averaging.mean"),))),
        Step("mean", Cases(("mean.local", "mean.averaging"))),
    )


def distance(s: Reader) -> tuple[Step, ...]:
    """||grad Phi(xbar) - D||^2 <= 2 (B_f^2 L_g^2 + B_g^4 L_f^2) X."""
    at_mean = df(mean(g(BAR)))
    change, outer = Act(jacobian(BAR) - jacobian(X), at_mean), at_mean - df(Y)
    first, second = mean(change), Act(mean(jacobian(X)), outer)
    rough, by_value = (s.B_f * s.L_g) ** 2, s.B_g**2 * s.L_f**2
    return (
        Step("X", Open("X")),
        Step("distance.change", Assume("inner smoothness", (jacobian(BAR), jacobian(X), at_mean))),
        Step("distance.jacobian", Assume("inner Jacobian", (jacobian(X),))),
        Step("distance.mean", MeanMoment("distance.jacobian", ("k",))),
        Step("distance.action", Action("distance.mean", outer)),
        Step("distance.outer", Assume("outer smoothness", (at_mean, df(Y)))),
        Step("distance.inner", Assume("inner Lipschitz", (g(BAR), g(X)))),
        Step(
            "distance",
            Combine(
                sq(gradient(BAR) - mean(DIRECTION)),
                2 * (rough + s.B_g**4 * s.L_f**2) * quantity("X"),
                (
                    (TWO, "distance.change"),
                    (TWO, "distance.action"),
                    (2 * s.B_g**2, "distance.outer"),
                    (2 * by_value, "distance.inner"),
                    (-2 * (rough + s.B_g**4 * s.L_f**2), "X"),
                ),
                (
                    *apart(first, second),
                    *deviation("k", change, weight=TWO),
                    *deviation("k", g(BAR) - g(X), weight=2 * by_value),
                ),
            ),
            "the Jacobians at xbar and at x_k, then the arguments of grad f",
        ),
    )


def spread(s: Reader) -> tuple[Step, ...]:
    """||d - D||^2 <= 6 B_f^2 L_g^2 X + 3 B_f^2 Delta_g^2."""
    drift = Act(jacobian(X) - jacobian(BAR), df(Y))
    unlike = Act(jacobian(BAR) - mean(jacobian(BAR)), df(Y))
    rough, three = (s.B_f * s.L_g) ** 2, signomial(3)
    return (
        Step("spread.drift", Assume("inner smoothness", (jacobian(X), jacobian(BAR), df(Y)))),
        Step("spread.jacobian", Assume("heterogeneity", (jacobian(BAR),))),
        Step("spread.unlike", Action("spread.jacobian", df(Y), True)),
        Step(
            "spread",
            Combine(
                sq(DIRECTION - mean(DIRECTION)),
                6 * rough * quantity("X") + 3 * s.B_f**2 * s.Delta_g**2,
                ((6 * ONE, "spread.drift"), (three, "spread.unlike"), (-6 * rough, "X")),
                (*apart(drift, unlike, -mean(drift)), *deviation("k", drift, weight=three)),
            ),
            "drift, heterogeneity, drift of the mean: three parts",
        ),
        Step(
            "growth",
            Combine(
                sq(s.eta * (DIRECTION - mean(DIRECTION))),
                s.eta**2 * (6 * rough * quantity("X") + 3 * s.B_f**2 * s.Delta_g**2),
                ((s.eta**2, "spread"),),
            ),
        ),
        Step("drift", Drift("X", "away", "agree", "common start", "growth")),
    )


def theorem_4_2(s: Reader) -> Derivation:
    """Descent with the consensus error of a round in which every client moves by its own Jacobian."""
    pull = (s.B_f * s.L_g) ** 2 + s.B_g**4 * s.L_f**2
    moved, D = NEXT - BAR, mean(DIRECTION)
    forcing = 3 * s.B_f**2 * s.Delta_g**2 * s.eta**2 * (s.I - 1) ** 2
    nine_eighths = signomial(Fraction(9, 8))
    steps = (
        *smoothness(s),
        *consensus(s),
        *distance(s),
        *spread(s),
        Step(
            "consensus",
            Combine(total("X"), scalar(nine_eighths * forcing * s.T), ((nine_eighths, "drift"),)),
            "A <= a A + c with a <= 1/9; (I-1)(2I-1)/6 <= (I-1)^2",
        ),
        Step("smooth step", SmoothDescent("Phi", "smooth", s.L_Phi, "r", BAR, NEXT)),
        Step("Phi", Open("Phi")),
        Step("Phi.next", Open("Phi", 1)),
        Step("gradient", Open("gradient")),
        Step(
            "descent",
            Combine(
                quantity("Phi", 1),
                quantity("Phi") - s.eta / 2 * quantity("gradient") + s.eta * pull * quantity("X"),
                (
                    (ONE, "smooth step"),
                    (ONE, "Phi.next"),
                    (-ONE, "Phi"),
                    (s.eta / 2, "gradient"),
                    (s.eta / 2, "distance"),
                ),
                pairings=((ONE, "mean", gradient(BAR)), (s.L_Phi / 2, "mean", moved - s.eta * D)),
            ),
            "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; the square of D has the factor eta/2 (1 - eta L) >= 0",
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )
    return Derivation(
        setting(s),
        (Quantity("X", sq(X - BAR)), Quantity("gradient", sq(gradient(BAR))), Quantity("Phi", value("Phi", BAR))),
        {
            "outer smoothness": Assumed("L_f", "df"),
            "inner smoothness": Assumed("L_g", "dg"),
            "outer gradient": Assumed("B_f", "df"),
            "inner Lipschitz": Assumed("B_g", "g", per=MEAN),
            "inner Jacobian": Assumed("B_g", "dg"),
            "heterogeneity": Assumed("Delta_g", "dg"),
            "common start": Start("Algorithm 2, line 2", X - BAR),
            "lower bound": Assumed("Phi_gap", "Phi"),
        },
        steps,
        ((2 / (s.eta * s.T), "sum"), (2 / (s.eta * s.T), "bounded"), (2 * pull / s.T, "consensus")),
        "gradient",
        "x",
        dict.fromkeys(("B_f", "B_g", "L_f", "L_g", "Delta_g", "Phi_gap", "K", "I", "T"), Fraction(1))
        | {"eta": Fraction(1, 9)},
        "not stated: independence over time",
    )
