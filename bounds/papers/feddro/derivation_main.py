"""FedDRO: the derivation of the corrected Theorem 5.1; the steps are those of docs/theory/feddro.md."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    COMMUNICATION,
    EVERY,
    LOCAL,
    ONE,
    Act,
    Action,
    App,
    Assume,
    AtStart,
    Axiom,
    Bounded,
    Cases,
    Combine,
    Definition,
    Derivation,
    Drift,
    Function,
    Given,
    Heterogeneity,
    IndependentMean,
    IndependentMoment,
    Index,
    Known,
    Linear,
    Lipschitz,
    LipschitzOperator,
    LowerBound,
    Mean,
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
    StartValue,
    Step,
    SumOver,
    Term,
    Triangle,
    Var,
    Variable,
    Variance,
    quantity,
    scalar,
    signomial,
    sq,
    total,
    value,
)
from ...proof.writing import apart, deviation

CLIENT = frozenset({"k"})
PAST = Known.before(("zeta",))
TWO, THREE, FOUR = signomial(2), signomial(3), signomial(4)


def clients(term: Term) -> Term:
    return Mean("k", term)


def batch(term: Term) -> Term:
    return Mean("i", term)


def everyone(term: Term) -> Term:
    return clients(batch(term))


def g(x: Term) -> Term:
    """g_k at a point, the mean over its samples."""
    return App("g", x, (None,))


def g_sampled(x: Term) -> Term:
    return App("g", x, (0,))


def jacobian(x: Term) -> Term:
    return App("dg", x, (None,))


def jacobian_sampled(x: Term) -> Term:
    return App("dg", x, (0,))


def dh(x: Term) -> Term:
    return App("dh", x, (None,))


def dh_sampled(x: Term) -> Term:
    return App("dh", x, (0,))


def df(y: Term) -> Term:
    return App("df", y)


def expected(term: Term) -> Term:
    """The conditional expectation given everything before the samples of step t."""
    return Given(PAST, term)


def gradient(x: Term) -> Term:
    """grad Phi at a point without an index."""
    return clients(dh(x)) + Act(clients(jacobian(x)), df(clients(g(x))))


X, BEFORE, AFTER, Y = Var("x"), Var("x", -1), Var("x", 1), Var("y")
BAR, NEXT = clients(X), clients(AFTER)
SAMPLED = dh_sampled(X) + Act(jacobian_sampled(X), df(Y))
DIRECTION = batch(SAMPLED)
D, A = clients(DIRECTION), expected(clients(DIRECTION))
ERROR = Y - clients(g(X))
EXPECTED_Y = expected(Y)
JACOBIAN_NOISE = jacobian_sampled(X) - jacobian(X)


class Constants:
    """Abbreviations of docs/theory/feddro.md."""

    def __init__(self, s: Reader):
        self.rho = s.L_h**2 + s.B_f**2 * s.L_g**2
        self.v = s.sigma_h**2 + s.B_f**2 * s.sigma_g**2
        self.spread = s.Delta_h**2 + s.B_f**2 * s.Delta_g**2
        self.c0 = 4 * self.v / s.b + 12 * self.spread
        self.bK = s.b * s.K
        self.by_value = s.B_g**2 * s.L_f**2


def setting(s: Reader) -> Setting:
    estimate = everyone(g_sampled(X) + (1 - s.beta) * (Var("y", -1) - g_sampled(BEFORE)))
    moved = X - s.eta * DIRECTION
    functions = (
        Function("df", "y", "dy"),
        Function("g", "x", "y", ("zeta",), CLIENT, CLIENT),
        Function("dg", "x", ("x", "dy"), ("zeta",), CLIENT, CLIENT),
        Function("dh", "x", "x", ("zeta",), CLIENT, CLIENT),
    )
    variables = (
        Variable("y", "y", frozenset(), ((EVERY, estimate),), 0),
        Variable("x", "x", CLIENT, ((LOCAL, moved), (COMMUNICATION, clients(moved)))),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    objective = Objective("Phi", "p", gradient(Var("p")), "not stated: chain rule")
    sources = (Source("zeta", ("k", "i"), "not stated: independence of samples"),)
    return Setting((Index("k", s.K), Index("i", s.b, True)), sources, functions, variables, (objective,))


def axioms(s: Reader) -> dict[str, Axiom]:
    return {
        "outer smoothness": Lipschitz("1 (smoothness)", "df", s.L_f),
        "inner smoothness": LipschitzOperator("1 (smoothness)", "dg", s.L_g),
        "extra smoothness": Lipschitz("1 (smoothness)", "dh", s.L_h),
        "outer gradient": Bounded("1 (Lipschitz)", "df", s.B_f),
        "inner Lipschitz": Lipschitz("1 (Lipschitz)", "g", s.B_g, True),
        "inner Jacobian": Bounded("not stated: mean map", "dg", s.B_g),
        "extra noise": Variance("2", "dh", s.sigma_h),
        "Jacobian noise": Variance("2", "dg", s.sigma_g, PAST),
        "value noise": Variance("not stated: value noise", "g", s.delta_g),
        "extra heterogeneity": Heterogeneity("3", "dh", s.Delta_h, "k"),
        "Jacobian heterogeneity": Heterogeneity("3", "dg", s.Delta_g, "k"),
        "common start": Start("Algorithm 2, line 2", X - BAR),
        "same start": Start("Algorithm 2, line 2", X - BEFORE),
        "inner start": StartValue("Algorithm 2, line 2", "Y", s.y_err**2, -1),
        "lower bound": LowerBound("not stated: lower bound", "Phi", s.Phi_gap),
    }


def smoothness(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Lemma 3.1: three differences."""
    p, r = Var("p"), Var("r")
    at_r = df(clients(g(r)))
    values, outer = g(p) - g(r), df(clients(g(p))) - at_r
    extra, change = dh(p) - dh(r), Act(jacobian(p) - jacobian(r), at_r)
    inner, gap = Act(clients(jacobian(p)), outer), sq(p - r)
    return (
        Step("smooth.h", Assume("extra smoothness", (dh(p), dh(r)))),
        Step("smooth.first", Combine(sq(clients(extra)), s.L_h**2 * gap, ((ONE, "smooth.h"),), deviation("k", extra))),
        Step("smooth.change", Assume("inner smoothness", (jacobian(p), jacobian(r), at_r))),
        Step(
            "smooth.second",
            Combine(sq(clients(change)), (s.B_f * s.L_g) ** 2 * gap, ((ONE, "smooth.change"),), deviation("k", change)),
        ),
        Step("smooth.outer", Assume("outer smoothness", (df(clients(g(p))), at_r))),
        Step("smooth.inner", Assume("inner Lipschitz", (g(p), g(r)))),
        Step("smooth.jacobian", Assume("inner Jacobian", (jacobian(p),))),
        Step("smooth.mean", MeanMoment("smooth.jacobian", ("k",))),
        Step("smooth.action", Action("smooth.mean", outer)),
        Step(
            "smooth.third",
            Combine(
                sq(inner),
                s.B_g**4 * s.L_f**2 * gap,
                ((ONE, "smooth.action"), (s.B_g**2, "smooth.outer"), (c.by_value, "smooth.inner")),
                deviation("k", values, weight=c.by_value),
            ),
        ),
        Step(
            "smooth.sum",
            Triangle(
                (
                    ("smooth.first", clients(extra), s.L_h),
                    ("smooth.second", clients(change), s.B_f * s.L_g),
                    ("smooth.third", inner, s.B_g**2 * s.L_f),
                ),
                gap,
            ),
        ),
        Step("smooth", Combine(sq(gradient(p) - gradient(r)), s.L_Phi**2 * gap, ((ONE, "smooth.sum"),)), "Lemma 3.1"),
    )


def movement(s: Reader) -> tuple[Step, ...]:
    """Where the models go, at local steps and at communications."""
    local = AFTER - X + s.eta * DIRECTION
    away = (AFTER - NEXT) - (X - BAR) + s.eta * (DIRECTION - D)
    together = NEXT - BAR + s.eta * D
    jump = AFTER - X + (X - BAR) + s.eta * D
    return (
        Step("local", Definition("x", "local")),
        Step("local.mean", Project("local", ("k",))),
        Step("averaging", Definition("x", "communication")),
        Step("averaging.mean", Project("averaging", ("k",))),
        Step("move", Linear(local, ((ONE, "local"),))),
        Step("jump", Linear(jump, ((ONE, "averaging"),)), "also the deviation from the mean is lost"),
        Step("away", Linear(away, ((ONE, "local"), (-ONE, "local.mean")))),
        Step("agree", Linear(AFTER - NEXT, ((ONE, "averaging"), (-ONE, "averaging.mean")))),
        Step("common start", Assume("common start")),
        Step("mean.local", Linear(together, ((ONE, "local.mean"),))),
        Step("mean.averaging", Linear(together, ((ONE, "averaging.mean"),))),
        Step("mean", Cases(("mean.local", "mean.averaging"))),
    )


def innovation(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 2: the estimate of g and its innovation."""
    old = 1 - s.beta
    error_before = Var("y", -1) - clients(g(BEFORE))
    value_noise = g_sampled(X) - g(X)
    change = g_sampled(X) - g_sampled(BEFORE)
    moved_noise = change - (g(X) - g(BEFORE))
    z = s.beta * value_noise + old * moved_noise
    centre = EXPECTED_Y - clients(g(X))
    return (
        Step("estimate", Definition("y", "local")),
        Step("estimate.mean", Project("estimate", (), PAST), "the samples of step t are new to x^t and x^{t-1}"),
        Step("estimate.centre", Linear(centre - old * error_before, ((ONE, "estimate.mean"),))),
        Step("innovation", Linear(Y - EXPECTED_Y - everyone(z), ((ONE, "estimate"), (-ONE, "estimate.mean")))),
        Step("Y", Open("Y")),
        Step("Y.before", Open("Y", -1)),
        Step("N", Open("N")),
        Step(
            "error",
            Combine(
                quantity("Y"),
                old**2 * quantity("Y", -1) + quantity("N"),
                ((ONE, "Y"), (-(old**2), "Y.before"), (-ONE, "N")),
                pairings=((ONE, "estimate.centre", centre + old * error_before),),
                equal=True,
            ),
            "the innovation is orthogonal to what is known",
        ),
        Step("noise.clients", IndependentMean(batch(z), "k", PAST)),
        Step("noise.batch", IndependentMean(z, "i", PAST)),
        Step("noise.value", Assume("value noise", (g_sampled(X),))),
        Step("noise.change", Assume("inner Lipschitz", (g_sampled(X), g_sampled(BEFORE)))),
        Step("S.before", Open("S", -1)),
        Step(
            "noise",
            Combine(
                quantity("N"),
                2 * s.beta**2 * s.delta_g**2 / c.bK + 2 * s.B_g**2 / c.bK * quantity("S", -1),
                (
                    (ONE, "N"),
                    (ONE, "noise.clients"),
                    (1 / s.K, "noise.batch"),
                    (2 * s.beta**2 / c.bK, "noise.value"),
                    (2 * old**2 / c.bK, "noise.change"),
                    (-2 * s.B_g**2 * old**2 / c.bK, "S.before"),
                ),
                (
                    *apart(s.beta * value_noise, old * moved_noise, weight=1 / c.bK),
                    (2 * old**2 / c.bK, g(X) - g(BEFORE)),
                ),
                pairings=((ONE, "innovation", Y - EXPECTED_Y + everyone(z)),),
            ),
            "new noise of the value, and of its change; (1 - beta)^2 <= 1",
        ),
    )


def operators(s: Reader) -> tuple[Step, ...]:
    """Bounds of the Jacobians at the clients' models."""
    return (
        Step("jacobian", Assume("inner Jacobian", (jacobian(X),))),
        Step("jacobian.mean", MeanMoment("jacobian", ("k",))),
        Step("jacobian.noise", Assume("Jacobian noise", (jacobian_sampled(X),))),
        Step("jacobian.batch", IndependentMoment("jacobian.noise", "i")),
        Step("jacobian.clients", IndependentMoment("jacobian.batch", "k")),
        Step("outer.innovation", Assume("outer smoothness", (df(Y), df(EXPECTED_Y)))),
    )


def bias(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 3: the conditional direction, with y inside the conditional expectation."""
    at_mean = df(clients(g(BAR)))
    extra, change = dh(BAR) - dh(X), Act(jacobian(BAR) - jacobian(X), at_mean)
    values = g(X) - g(BAR)
    third = expected(Act(clients(jacobian(X)), at_mean - df(Y)))
    fourth = expected(Act(everyone(JACOBIAN_NOISE), df(Y) - df(EXPECTED_Y)))
    third_open = Act(clients(jacobian(X)), at_mean - df(Y))
    noise = s.sigma_g**2 * s.L_f**2 / c.bK
    pull = c.rho + 2 * s.B_g**4 * s.L_f**2
    return (
        Step("X", Open("X")),
        Step("bias.h", Assume("extra smoothness", (dh(BAR), dh(X)))),
        Step("bias.jacobian", Assume("inner smoothness", (jacobian(BAR), jacobian(X), at_mean))),
        Step("bias.action", Action("jacobian.mean", at_mean - df(Y))),
        Step("bias.outer", Assume("outer smoothness", (at_mean, df(Y)))),
        Step("bias.inner", Assume("inner Lipschitz", (g(X), g(BAR)))),
        Step("bias.noise", Action("jacobian.clients", df(Y) - df(EXPECTED_Y)), "conditional Cauchy-Schwarz"),
        Step(
            "bias",
            Combine(
                sq(gradient(BAR) - A),
                4 * pull * quantity("X") + 8 * c.by_value * quantity("Y") + 4 * noise * quantity("N"),
                (
                    (FOUR, "bias.h"),
                    (FOUR, "bias.jacobian"),
                    (FOUR, "bias.action"),
                    (4 * s.B_g**2, "bias.outer"),
                    (8 * c.by_value, "bias.inner"),
                    (FOUR, "bias.noise"),
                    (4 * s.sigma_g**2 / c.bK, "outer.innovation"),
                    (-4 * pull, "X"),
                    (-8 * c.by_value, "Y"),
                    (-4 * noise, "N"),
                ),
                (
                    *apart(clients(extra), clients(change), third, -fourth),
                    *deviation("k", extra, change, weight=FOUR),
                    (FOUR, third_open - third),
                    *apart(ERROR, clients(values), weight=4 * c.by_value),
                    *deviation("k", values, weight=8 * c.by_value),
                ),
            ),
            "grad h, the Jacobians, the arguments of grad f, and the noise of the Jacobian that y has seen",
        ),
    )


def variance(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 4: A is the closest known vector to D, so any other centre gives a bound."""
    extra = dh_sampled(X) - dh(X)
    noise = Act(everyone(JACOBIAN_NOISE), df(Y))
    outer = Act(clients(jacobian(X)), df(Y) - df(EXPECTED_Y))
    centre = clients(dh(X)) + Act(clients(jacobian(X)), df(EXPECTED_Y))
    return (
        Step("variance.h", Assume("extra noise", (dh_sampled(X),))),
        Step("variance.batch", IndependentMean(extra, "i", PAST)),
        Step("variance.clients", IndependentMean(batch(extra), "k", PAST)),
        Step("variance.jacobian", Action("jacobian.clients", df(Y), True)),
        Step("variance.outer", Action("jacobian.mean", df(Y) - df(EXPECTED_Y))),
        Step(
            "variance",
            Combine(
                sq(D - A),
                3 * c.v / c.bK + 3 * c.by_value * quantity("N"),
                (
                    (THREE, "variance.clients"),
                    (3 / s.K, "variance.batch"),
                    (3 / c.bK, "variance.h"),
                    (THREE, "variance.jacobian"),
                    (THREE, "variance.outer"),
                    (3 * s.B_g**2, "outer.innovation"),
                    (-3 * c.by_value, "N"),
                ),
                (*apart(everyone(extra), noise, outer), (ONE, A - centre)),
            ),
        ),
    )


def spread(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 5: the directions differ by noise, drift and heterogeneity."""
    extra = dh_sampled(X) - dh(X)
    noise_h, noise_g = batch(extra), Act(batch(JACOBIAN_NOISE), df(Y))
    noise, exact_h, exact_g = noise_h + noise_g, dh(X), Act(jacobian(X), df(Y))
    drift_h, drift_g = dh(X) - dh(BAR), Act(jacobian(X) - jacobian(BAR), df(Y))
    unlike_h = dh(BAR) - clients(dh(BAR))
    unlike_g = Act(jacobian(BAR) - clients(jacobian(BAR)), df(Y))
    twelve, twenty_four = signomial(12), signomial(24)

    def away(term: Term) -> Term:
        return term - clients(term)

    return (
        Step("spread.noise", Action("jacobian.batch", df(Y), True)),
        Step("spread.drift h", Assume("extra smoothness", (dh(X), dh(BAR)))),
        Step("spread.drift g", Assume("inner smoothness", (jacobian(X), jacobian(BAR), df(Y)))),
        Step("spread.unlike h", Assume("extra heterogeneity", (dh(BAR),))),
        Step("spread.unlike J", Assume("Jacobian heterogeneity", (jacobian(BAR),))),
        Step("spread.unlike g", Action("spread.unlike J", df(Y), True)),
        Step(
            "spread",
            Combine(
                sq(DIRECTION - D),
                24 * c.rho * quantity("X") + c.c0,
                (
                    (FOUR, "variance.batch"),
                    (4 / s.b, "variance.h"),
                    (FOUR, "spread.noise"),
                    (twenty_four, "spread.drift h"),
                    (twenty_four, "spread.drift g"),
                    (twelve, "spread.unlike h"),
                    (twelve, "spread.unlike g"),
                    (-24 * c.rho, "X"),
                ),
                (
                    *apart(away(noise), away(exact_h + exact_g)),
                    (TWO, clients(noise)),
                    *apart(noise_h, noise_g, weight=TWO),
                    *apart(away(exact_h), away(exact_g), weight=TWO),
                    *apart(drift_h, unlike_h, -clients(drift_h), weight=FOUR),
                    *apart(drift_g, unlike_g, -clients(drift_g), weight=FOUR),
                    *deviation("k", drift_h, drift_g, weight=twelve),
                ),
            ),
            "noise against the rest, h against the composition, then drift, heterogeneity and drift of the mean",
        ),
        Step(
            "growth",
            Combine(
                sq(s.eta * (DIRECTION - D)),
                s.eta**2 * (24 * c.rho * quantity("X") + c.c0),
                ((s.eta**2, "spread"),),
            ),
        ),
    )


def drift(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 6: A <= a A + c with a <= 1/9, over all steps and at communications."""
    nine_eighths = signomial(Fraction(9, 8))
    forcing = nine_eighths * s.eta**2 * (s.I - 1) ** 2 * c.c0 * s.T
    every = Drift("X", "away", "agree", "common start", "growth")
    return (
        Step("drift", every),
        Step("drift.all", Combine(total("X"), scalar(forcing), ((nine_eighths, "drift"),))),
        Step("drift.last", Drift("X", "away", "agree", "common start", "growth", "communications")),
        Step(
            "drift.communications",
            Combine(
                total("X", communications=True),
                scalar(forcing / s.I),
                ((ONE, "drift.last"), (24 * c.rho * s.eta**2 * (s.I - 1), "drift.all")),
                certificates=(
                    (
                        (9 * c.c0 * s.eta**2 * s.T / (8 * s.I), ("step_size_period", "I>=1", "I>=1")),
                        (27 * c.rho * c.c0 * s.eta**4 * s.T, ("I>=1", "I>=1")),
                    ),
                ),
            ),
        ),
        Step(
            "drift.small",
            Combine(
                24 * c.rho * total("X"),
                scalar(c.c0 * s.T / 8),
                ((24 * c.rho, "drift.all"),),
                certificates=(
                    (
                        (9 * c.c0 * s.T / 8, ("step_size_period",)),
                        (54 * c.rho * c.c0 * s.eta**2 * s.T, ("I>=1",)),
                    ),
                ),
            ),
        ),
    )


def length(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 7: between communications eta d_k, at a communication also the deviation from the mean."""
    bound = s.eta**2 * (quantity("E||D||^2") + 24 * c.rho * quantity("X") + c.c0)
    local = (
        (ONE, "S"),
        (s.eta**2, "spread"),
        (-(s.eta**2), "D"),
    )
    jump = 1 + (s.I - 1) ** 2 / s.I
    nine_eighths = signomial(Fraction(9, 8))
    limit = s.eta**2 * (total("E||D||^2") + nine_eighths * c.c0 * jump * s.T)
    return (
        Step("S", Open("S")),
        Step("D", Open("E||D||^2")),
        Step(
            "length.local",
            Combine(
                quantity("S"),
                bound,
                local,
                pairings=((ONE, "move", AFTER - X - s.eta * DIRECTION),),
            ),
        ),
        Step(
            "length.communication",
            Combine(
                quantity("S"),
                bound + quantity("X"),
                (*local, (-ONE, "X")),
                ((s.eta**2, DIRECTION - D),),
                pairings=((ONE, "jump", AFTER - X - (X - BAR) - s.eta * D),),
            ),
        ),
        Step("length.sum", SumOver("length.local", "length.communication")),
        Step(
            "length",
            Combine(
                total("S"),
                limit,
                ((ONE, "length.sum"), (s.eta**2, "drift.small"), (ONE, "drift.communications")),
            ),
            "at most T/I communications",
        ),
    )


def closing(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Steps 8 and 9: the innovations close on themselves; the error of the estimate."""
    share = 4 * s.B_g**2 / c.bK
    jump = 1 + (s.I - 1) ** 2 / s.I
    inside = 2 * total("M") + s.T * (6 * c.v / c.bK + Fraction(9, 8) * c.c0 * jump)
    return (
        Step("M", Open("M")),
        Step(
            "square",
            Combine(
                quantity("E||D||^2"),
                2 * quantity("M") + 6 * c.v / c.bK + 6 * c.by_value * quantity("N"),
                ((ONE, "D"), (-TWO, "M"), (TWO, "variance")),
                apart(A, D - A),
            ),
        ),
        Step("square.sum", SumOver("square")),
        Step("same start", Assume("same start")),
        Step(
            "no move before the start",
            Combine(quantity("S", -1), scalar(0), ((ONE, "S.before"),), pairings=((ONE, "same start", X - BEFORE),)),
        ),
        Step("S start", AtStart("no move before the start")),
        Step("noise.sum", SumOver("noise")),
        Step(
            "innovations",
            Combine(
                total("N"),
                4 * s.beta**2 * s.delta_g**2 / c.bK * s.T + share * s.eta**2 * inside,
                (
                    (TWO, "noise.sum"),
                    (share, "S start"),
                    (share, "length"),
                    (share * s.eta**2, "square.sum"),
                ),
            ),
            "A <= a A + c with a <= 1/2",
        ),
        Step("error.sum", SumOver("error")),
        Step("inner start", Assume("inner start")),
        Step(
            "estimates",
            Combine(
                s.beta * total("Y"),
                scalar(s.y_err**2) + total("N"),
                ((ONE, "error.sum"), ((1 - s.beta) ** 2, "inner start")),
            ),
            "(1 - beta)^2 <= 1 - beta",
        ),
    )


def descent(s: Reader) -> tuple[Step, ...]:
    """Step 1."""
    moved = NEXT - BAR
    return (
        Step("smooth step", SmoothDescent("Phi", "smooth", s.L_Phi, "r", BAR, NEXT)),
        Step("Phi", Open("Phi")),
        Step("Phi.next", Open("Phi", 1)),
        Step("gradient", Open("gradient")),
        Step(
            "descent",
            Combine(
                quantity("Phi", 1),
                quantity("Phi")
                - s.eta / 2 * quantity("gradient")
                - (s.eta / 2 - s.eta**2 * s.L_Phi) * quantity("M")
                + s.eta / 2 * sq(gradient(BAR) - A)
                + s.eta**2 * s.L_Phi * sq(D - A),
                (
                    (ONE, "smooth step"),
                    (ONE, "Phi.next"),
                    (-ONE, "Phi"),
                    (s.eta / 2, "gradient"),
                    (s.eta / 2 - s.eta**2 * s.L_Phi, "M"),
                ),
                apart(A, D - A, weight=s.eta**2 * s.L_Phi / 2),
                pairings=((ONE, "mean", gradient(BAR)), (s.L_Phi / 2, "mean", moved - s.eta * D)),
            ),
            "-<a, c> = (||a - c||^2 - ||a||^2 - ||c||^2)/2",
        ),
    )


def collected(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 10: the bounds of steps 3 and 4 in step 1, summed."""
    pull = c.rho + 2 * s.B_g**4 * s.L_f**2
    eta, square = s.eta, s.eta**2 * s.L_Phi
    return (
        Step(
            "one step",
            Combine(
                quantity("Phi", 1),
                quantity("Phi")
                - eta / 2 * quantity("gradient")
                - (eta / 2 - square) * quantity("M")
                + 2 * eta * pull * quantity("X")
                + 4 * eta * c.by_value * quantity("Y")
                + (2 * eta * s.sigma_g**2 * s.L_f**2 / c.bK + 3 * square * c.by_value) * quantity("N")
                + 3 * square * c.v / c.bK,
                ((ONE, "descent"), (eta / 2, "bias"), (square, "variance")),
            ),
        ),
        Step("sum", SumOver("one step")),
        Step("bounded", Assume("lower bound")),
    )


def theorem_5_1(s: Reader) -> Derivation:
    """FedDRO with fresh samples at every step, y made from those of step t, and (8) used from t = 0 on."""
    c = Constants(s)
    weight = innovation_weight(s, c)
    per = 2 / (s.eta * s.T)
    pull = c.rho + 2 * s.B_g**4 * s.L_f**2
    steps = (
        *smoothness(s, c),
        *movement(s),
        *innovation(s, c),
        *operators(s),
        *bias(s, c),
        *variance(s, c),
        *spread(s, c),
        *drift(s, c),
        *length(s, c),
        *closing(s, c),
        *descent(s),
        *collected(s, c),
    )
    return Derivation(
        setting(s),
        (
            Quantity("X", sq(X - BAR)),
            Quantity("Y", sq(ERROR)),
            Quantity("N", sq(Y - EXPECTED_Y)),
            Quantity("S", sq(AFTER - X)),
            Quantity("M", sq(A)),
            Quantity("E||D||^2", sq(D)),
            Quantity("gradient", sq(gradient(BAR))),
            Quantity("Phi", value("Phi", BAR)),
        ),
        axioms(s),
        steps,
        (
            (per, "sum"),
            (per, "bounded"),
            (4 * pull / s.T, "drift.all"),
            (8 * c.by_value / (s.beta * s.T), "estimates"),
            (per * weight, "innovations"),
        ),
        "gradient",
        "Phi",
        BAR,
        "I",
        inside(s),
        "not stated: independence over time",
    )


def innovation_weight(s: Reader, c: Constants) -> Signomial:
    """W of step 10: what the innovations are counted with."""
    return s.eta * (4 * c.by_value / s.beta + 2 * s.sigma_g**2 * s.L_f**2 / c.bK + 3 * s.eta * s.L_Phi * c.by_value)


def inside(s: Reader) -> dict[str, Fraction]:
    ones = [name for name in s.params if name not in ("eta", "L_Phi")]
    return dict.fromkeys(ones, Fraction(1)) | {"eta": Fraction(1, 200)}
