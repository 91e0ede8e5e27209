"""FedDRO, for the kernel: problem, method, assumptions, smoothness, and where the models go."""

from __future__ import annotations

from ...proof.kernel import (
    BATCH,
    CLIENTS,
    COMMUNICATION,
    EVERY,
    LOCAL,
    ONE,
    Act,
    Action,
    Assume,
    Assumed,
    Cases,
    Combine,
    Definition,
    Function,
    Given,
    Index,
    Known,
    Linear,
    MeanMoment,
    Objective,
    Project,
    Reader,
    Setting,
    Source,
    Start,
    Step,
    Term,
    Triangle,
    Var,
    Variable,
    signomial,
    sq,
)
from ...proof.sum_of_squares import at_point, deviation, mean_over

CLIENT = frozenset({"k"})
PAST = Known.before(("zeta",))
TWO, THREE, FOUR = signomial(2), signomial(3), signomial(4)


clients = mean_over("k")
batch = mean_over("i")


def everyone(term: Term) -> Term:
    return clients(batch(term))


g = at_point("g", None)
"""g_k at a point, the mean over its samples."""
g_sampled = at_point("g", 0)
jacobian = at_point("dg", None)
jacobian_sampled = at_point("dg", 0)
dh = at_point("dh", None)
dh_sampled = at_point("dh", 0)
df = at_point("df")


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
        Function("df", "y", "dy", role="outer_gradient"),
        Function("g", "x", "y", ("zeta",), CLIENT, CLIENT, role="inner_value"),
        Function("dg", "x", ("x", "dy"), ("zeta",), CLIENT, CLIENT, role="inner_jacobian"),
        Function("dh", "x", "x", ("zeta",), CLIENT, CLIENT, role="extra_gradient"),
    )
    variables = (
        Variable("y", "y", frozenset(), ((EVERY, estimate),), 0),
        Variable("x", "x", CLIENT, ((LOCAL, moved), (COMMUNICATION, clients(moved)))),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    objective = Objective("Phi", "p", gradient(Var("p")), "not stated: chain rule")
    samples = "not stated: independence of samples"
    sources = (Source("zeta", ("k", "i"), samples),)
    return Setting(
        (Index("k", s.K, of=CLIENTS), Index("i", s.b, samples, of=BATCH)), sources, functions, variables, (objective,)
    )


AXIOMS = {
    "outer smoothness": Assumed("L_f", "df"),
    "inner smoothness": Assumed("L_g", "dg"),
    "extra smoothness": Assumed("L_h", "dh"),
    "outer gradient": Assumed("B_f", "df"),
    "inner Lipschitz": Assumed("B_g", "g"),
    "inner Jacobian": Assumed("B_g", "dg"),
    "extra noise": Assumed("sigma_h", "dh"),
    "Jacobian noise": Assumed("sigma_g", "dg", given=PAST),
    "value noise": Assumed("delta_g", "g"),
    "extra heterogeneity": Assumed("Delta_h", "dh"),
    "Jacobian heterogeneity": Assumed("Delta_g", "dg"),
    "common start": Start("Algorithm 2, line 2", X - BAR),
    "same start": Start("Algorithm 2, line 2", X - BEFORE),
    "inner start": Assumed("y_err", "Y"),
    "lower bound": Assumed("Phi_gap", "Phi"),
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
