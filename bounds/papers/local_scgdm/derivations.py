"""Local-SCGDM: the derivation of the corrected Theorem 3.4 with equal inner maps; the steps are those of docs/theory/local_scgdm.md."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    COMMUNICATION,
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
    Corollary,
    Definition,
    Derivation,
    Drift,
    Function,
    Given,
    Index,
    Instance,
    Invariant,
    Known,
    Later,
    Linear,
    Lipschitz,
    LipschitzOperator,
    LowerBound,
    Mean,
    Objective,
    Open,
    Product,
    Project,
    Quantity,
    Reader,
    SecondMoment,
    Setting,
    SmoothDescent,
    Source,
    Start,
    Step,
    SumOver,
    Term,
    Vanishing,
    Var,
    Variable,
    Variance,
    Weights,
    WithinRound,
    parameter,
    quantity,
    scalar,
    signomial,
    sq,
    total,
    value,
)
from ...proof.writing import Squares, apart, deviation
from .theorems import THEOREM_3_4

CLIENT = frozenset({"k"})
PAST = Known.before(("xi", "zeta"))
PAST_AND_XI = PAST | Known.sample("xi")
PHASES = ("first local", "first communication", "local", "communication")
TWO, THREE, FOUR = signomial(2), signomial(3), signomial(4)


def clients(term: Term) -> Term:
    return Mean("k", term)


def away(term: Term) -> Term:
    """The deviation from the mean over the clients."""
    return term - clients(term)


def g(x: Term) -> Term:
    return App("g", x, (None,))


def jacobian(x: Term) -> Term:
    return App("dg", x, (None,))


def df(y: Term) -> Term:
    return App("df", y, (None,))


def client_gradient(x: Term) -> Term:
    return Act(jacobian(x), df(g(x)))


X, U, MOMENTUM = Var("x"), Var("u"), Var("m")
NEXT_U, NEW, AFTER = Var("u", 1), Var("m", 1), Var("x", 1)
BAR, NEXT, BEFORE = clients(X), clients(AFTER), clients(Var("x", -1))
VALUE, JACOBIAN = App("g", X, (0,)), App("dg", X, (0,))
NOISE, JACOBIAN_NOISE = VALUE - g(X), JACOBIAN - jacobian(X)
GRADIENT, GRADIENT_BEFORE = clients(client_gradient(BAR)), clients(client_gradient(BEFORE))


class Constants:
    """Abbreviations of docs/theory/local_scgdm.md, and the inner estimate before line 13."""

    def __init__(self, s: Reader):
        self.w, self.c, self.step = s.gamma * s.eta, s.alpha * s.eta, s.beta * s.eta
        self.product = s.C_f**2 * s.C_g**2
        self.by_value = s.C_g**2 * s.L_f**2
        self.noise = s.C_g**2 * s.sigma_f**2 + 2 * s.C_f**2 * s.sigma_g**2
        self.far = (s.p - 1) ** 2 * self.step**2 * self.product
        self.estimate = {"first": VALUE, "later": (1 - self.w) * U + self.w * VALUE}
        self.known = {"first": g(X), "later": (1 - self.w) * U + self.w * g(X)}

    def direction(self, when: str) -> Term:
        """z of line 8."""
        return Act(JACOBIAN, App("df", self.estimate[when], (0,)))

    def momentum(self, when: str) -> Term:
        return self.direction(when) if when == "first" else (1 - self.c) * MOMENTUM + self.c * self.direction(when)


def when(phase: str) -> str:
    return "first" if phase.startswith("first") else "later"


def setting(s: Reader, c: Constants) -> Setting:
    def equations(term: dict[str, Term]) -> tuple[tuple[frozenset[str], Term], ...]:
        return tuple(
            (frozenset({phase}), term[when(phase)] if phase.endswith("local") else clients(term[when(phase)]))
            for phase in PHASES
        )

    moved = X - c.step * NEW
    functions = (
        Function("df", "y", "dy", ("zeta",), CLIENT, CLIENT),
        Function("g", "x", "y", ("xi",), CLIENT, equal="not stated: clients"),
        Function("dg", "x", ("x", "dy"), ("xi",), CLIENT, equal="not stated: clients"),
    )
    variables = (
        Variable("u", "y", CLIENT, equations(c.estimate)),
        Variable("m", "x", CLIENT, equations({w: c.momentum(w) for w in ("first", "later")})),
        Variable("x", "x", CLIENT, ((LOCAL, moved), (COMMUNICATION, clients(moved)))),
        Variable("v", "x", CLIENT),
        Variable("w", "x", CLIENT),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    samples = "not stated: samples"
    objective = Objective("F", "p", clients(client_gradient(Var("p"))), "not stated: chain rule")
    return Setting(
        (Index("k", parameter("K", count=True)),),
        (Source("xi", ("k",), samples), Source("zeta", ("k",), samples)),
        functions,
        variables,
        (objective,),
    )


def axioms(s: Reader) -> dict[str, Axiom]:
    return {
        "outer smoothness": Lipschitz("3.1", "df", s.L_f, of_mean=True),
        "inner smoothness": LipschitzOperator("3.1", "dg", s.L_g, of_mean=True),
        "outer gradient": Bounded("3.2", "df", s.C_f, of_mean=True),
        "outer moment": SecondMoment("3.2", "df", s.C_f, PAST_AND_XI),
        "inner Lipschitz": Lipschitz("3.2", "g", s.C_g, of_mean=True),
        "inner Jacobian": Bounded("3.2", "dg", s.C_g, of_mean=True),
        "inner moment": SecondMoment("3.2", "dg", s.C_g, PAST),
        "outer noise": Variance("3.3", "df", s.sigma_f, PAST_AND_XI, True),
        "Jacobian noise": Variance("3.3", "dg", s.sigma_g, PAST),
        "value noise": Variance("3.3", "g", s.delta_g),
        "common start": Start("not stated: start", X - BAR),
        "lower bound": LowerBound("not stated: start", "F", s.F_gap),
    }


def smoothness(s: Reader, c: Constants) -> tuple[Step, ...]:
    """grad F_k and grad F are L_F-Lipschitz."""
    v, w = Var("v"), Var("w")
    outer, gap = df(g(v)) - df(g(w)), client_gradient(v) - client_gradient(w)
    first, second = Act(jacobian(v), outer), Act(jacobian(v) - jacobian(w), df(g(w)))
    by_outer, by_inner = s.C_g**2 * s.L_f, s.C_f * s.L_g
    p, r = Var("p"), Var("r")
    difference = client_gradient(p) - client_gradient(r)
    return (
        Step("smooth.outer", Assume("outer smoothness", (df(g(v)), df(g(w))))),
        Step("smooth.inner", Assume("inner Lipschitz", (g(v), g(w)))),
        Step("smooth.jacobian", Assume("inner Jacobian", (jacobian(v),))),
        Step("smooth.first", Action("smooth.jacobian", outer)),
        Step("smooth.second", Assume("inner smoothness", (jacobian(v), jacobian(w), df(g(w))))),
        Step(
            "smooth.client",
            Combine(
                sq(gap),
                s.L_F**2 * sq(v - w),
                (
                    (1 + by_inner / by_outer, "smooth.first"),
                    ((1 + by_inner / by_outer) * s.C_g**2, "smooth.outer"),
                    ((1 + by_inner / by_outer) * s.C_g**2 * s.L_f**2, "smooth.inner"),
                    (1 + by_outer / by_inner, "smooth.second"),
                ),
                squares=((by_outer / by_inner, by_inner / by_outer * first - second),),
            ),
            "Young's inequality with the ratio of the two constants",
        ),
        Step("smooth.points", Instance("smooth.client", (("v", p), ("w", r)))),
        Step(
            "smooth",
            Combine(
                sq(clients(difference)),
                s.L_F**2 * sq(p - r),
                ((ONE, "smooth.points"),),
                squares=deviation("k", difference),
            ),
            "Jensen over the clients",
        ),
    )


def updates() -> tuple[Step, ...]:
    """The update equations and their means, which hold at communications too."""
    return tuple(
        step
        for name in ("u", "m")
        for phase in PHASES
        for step in (
            Step(f"{name}.{phase}", Definition(name, phase)),
            Step(f"mean {name}.{phase}", Project(f"{name}.{phase}", ("k",))),
        )
    )


def means(c: Constants) -> tuple[Step, ...]:
    """The means of u and m follow one equation at local steps and at communications."""
    rows = []
    for name, new, terms in (("u", NEXT_U, c.estimate), ("m", NEW, {w: c.momentum(w) for w in ("first", "later")})):
        for first in ("first", "later"):
            phases = [phase for phase in PHASES if when(phase) == first]
            claim = clients(new) - clients(terms[first])
            rows += [Step(f"mean {name} {phase}", Linear(claim, ((ONE, f"mean {name}.{phase}"),))) for phase in phases]
            rows.append(Step(f"mean {name} {first}", Cases(tuple(f"mean {name} {phase}" for phase in phases))))
    return tuple(rows)


def consensus(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Where the models go, and how far they are from their mean (step 5)."""
    apart_ = away(AFTER) - away(X) + c.step * away(NEW)
    together = NEXT - BAR + c.step * clients(NEW)
    return (
        Step("local", Definition("x", "local")),
        Step("local.mean", Project("local", ("k",))),
        Step("averaging", Definition("x", "communication")),
        Step("averaging.mean", Project("averaging", ("k",))),
        Step("apart", Linear(apart_, ((ONE, "local"), (-ONE, "local.mean")))),
        Step("agree", Linear(away(AFTER), ((ONE, "averaging"), (-ONE, "averaging.mean")))),
        Step("common start", Assume("common start")),
        Step("mean.local", Linear(together, ((ONE, "local.mean"),))),
        Step("mean.averaging", Linear(together, ((ONE, "averaging.mean"),))),
        Step("mean", Cases(("mean.local", "mean.averaging"))),
        Step("mean.before", Later("mean", -1)),
    )


def size(s: Reader, c: Constants) -> tuple[Step, ...]:
    """A momentum is a convex combination of directions, whose second moment is at most C_f^2 C_g^2."""
    rows = [
        Step("jacobian.moment", Assume("inner moment", (JACOBIAN,))),
        Step("m^2", Open("m^2", 1)),
        Step("m^2.now", Open("m^2")),
    ]
    for w in ("first", "later"):
        outer = App("df", c.estimate[w], (0,))
        rows += [
            Step(f"outer.moment {w}", Assume("outer moment", (outer,))),
            Step(f"moment {w}", Product("jacobian.moment", f"outer.moment {w}")),
        ]
    for phase in PHASES:
        w, local = when(phase), phase.endswith("local")
        made = c.momentum(w)
        target = made if local else clients(made)
        weights: Weights = ((ONE, "m^2"), (ONE if w == "first" else c.c, f"moment {w}"))
        squares: Squares = () if w == "first" else ((c.c * (1 - c.c), MOMENTUM - c.direction(w)),)
        bound = scalar(c.product)
        if w == "later":
            weights = (*weights, (-(1 - c.c), "m^2.now"))
            bound = (1 - c.c) * quantity("m^2") + c.c * c.product
        rows.append(
            Step(
                f"size.{phase}",
                Combine(
                    quantity("m^2", 1),
                    bound,
                    weights,
                    squares if local else (*squares, (ONE, away(made))),
                    pairings=((ONE, f"m.{phase}", NEW + target),),
                ),
            )
        )
    for w in ("first", "later"):
        phases = tuple(f"size.{phase}" for phase in PHASES if when(phase) == w)
        rows.append(Step(f"size.{w}", Cases(phases)))
    return (
        *rows,
        Step("size", Invariant("m^2", c.product, "size.first", "size.later"), "a convex combination of directions"),
        Step(
            "growth",
            Combine(
                sq(c.step * away(NEW)),
                scalar(c.step**2 * c.product),
                ((c.step**2, "size"), (-(c.step**2), "m^2")),
                ((c.step**2, clients(NEW)),),
            ),
        ),
        Step("drift", Drift("X", "apart", "agree", "common start", "growth", "every step")),
    )


def noise(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 1: the conditional mean is the closest known vector, so any other centre gives a bound."""
    rows = [
        Step("jacobian", Assume("inner Jacobian", (jacobian(X),))),
        Step("jacobian.noise", Assume("Jacobian noise", (JACOBIAN,))),
        Step("value.noise", Assume("value noise", (VALUE,))),
    ]
    for w, share in (("first", ONE), ("later", c.w)):
        at, known = c.estimate[w], c.known[w]
        centre = Act(jacobian(X), df(known))
        first, second = Act(JACOBIAN_NOISE, df(at)), Act(jacobian(X), df(at) - df(known))
        rows += [
            Step(f"noise.outer moment {w}", Assume("outer noise", (App("df", at, (0,)),))),
            Step(
                f"noise.outer {w}", Product("jacobian.moment", f"noise.outer moment {w}"), "zeta is independent of xi"
            ),
            Step(f"noise.jacobian {w}", Action("jacobian.noise", df(at), True)),
            Step(f"noise.value {w}", Action("jacobian", df(at) - df(known))),
            Step(f"noise.smooth {w}", Assume("outer smoothness", (df(at), df(known)))),
            Step(
                f"noise {w}",
                Combine(
                    sq(c.direction(w) - centre),
                    scalar(c.noise + 2 * c.by_value * share**2 * s.delta_g**2),
                    (
                        (ONE, f"noise.outer {w}"),
                        (TWO, f"noise.jacobian {w}"),
                        (TWO, f"noise.value {w}"),
                        (2 * s.C_g**2, f"noise.smooth {w}"),
                        (2 * c.by_value * share**2, "value.noise"),
                    ),
                    apart(first, second),
                ),
                "the sample of f, then that of the Jacobian and of the value",
            ),
        ]
    return tuple(rows)


def inner(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 4: the error of the mean inner estimate, and the spread of the estimates within a round."""
    after, old = clients(NEXT_U), clients(U) - g(BEFORE)
    moved, off = (1 - c.w) * (g(BEFORE) - g(BAR)), c.w * (clients(g(X)) - g(BAR))
    spread = away(g(X))
    second = Fraction(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma
    value_gap = g(X) - g(BAR)
    return (
        Step("X", Open("X")),
        Step("U", Open("U")),
        Step("U.before", Open("U", -1)),
        Step("M.before", Open("M", -1)),
        Step("inner.apart", Assume("inner Lipschitz", (g(X), g(BAR)))),
        Step("inner.moved", Assume("inner Lipschitz", (g(BEFORE), g(BAR)))),
        Step(
            "inner.step",
            Combine(
                sq(BAR - BEFORE),
                c.step**2 * quantity("M", -1),
                ((-(c.step**2), "M.before"),),
                pairings=((ONE, "mean.before", BAR - BEFORE - c.step * clients(MOMENTUM)),),
                equal=True,
            ),
        ),
        Step(
            "inner.error",
            Combine(
                quantity("U"),
                (1 - c.w) * quantity("U", -1)
                + second * quantity("M", -1)
                + 3 * c.w * s.C_g**2 * quantity("X")
                + c.w**2 * s.delta_g**2,
                (
                    (ONE, "U"),
                    (-(1 - c.w), "U.before"),
                    (c.w**2, "value.noise"),
                    (3 * c.w, "inner.apart"),
                    (Fraction(3, 2) * (1 - c.w) ** 2 / c.w, "inner.moved"),
                    (Fraction(3, 2) * (1 - c.w) ** 2 * s.C_g**2 / c.w, "inner.step"),
                    (-3 * c.w * s.C_g**2, "X"),
                ),
                (
                    (1 / c.w - 1, c.w * old - moved - off),
                    (1 / (2 * c.w), moved - 2 * off),
                    *deviation("k", NOISE, weight=c.w**2),
                    *deviation("k", value_gap, weight=3 * c.w),
                ),
                pairings=((ONE, "mean u later", after + clients(c.estimate["later"]) - 2 * g(BAR)),),
            ),
            "Young's inequality with w/(1 - w) and 1/2; the fresh noise is orthogonal",
        ),
        Step("R", Open("R", 1)),
        Step("R.now", Open("R")),
        Step(
            "u.local.apart",
            Linear(away(NEXT_U) - away(c.estimate["later"]), ((ONE, "u.local"), (-ONE, "mean u.local"))),
        ),
        Step(
            "u.first.apart",
            Linear(away(NEXT_U) - away(VALUE), ((ONE, "u.first local"), (-ONE, "mean u.first local"))),
        ),
        *(
            Step(
                f"u.{phase}.agree",
                Linear(away(NEXT_U), ((ONE, f"u.{phase}"), (-ONE, f"mean u.{phase}"))),
            )
            for phase in ("first communication", "communication")
        ),
        Step("u.agree", Cases(("u.first communication.agree", "u.communication.agree"))),
        Step(
            "spread.reset",
            Combine(quantity("R", 1), scalar(0), ((ONE, "R"),), pairings=((ONE, "u.agree", away(NEXT_U)),)),
        ),
        Step("together", Combine(quantity("X"), scalar(0), ((ONE, "X"),), pairings=((ONE, "common start", away(X)),))),
        Step(
            "spread.first",
            Combine(
                quantity("R", 1),
                scalar(s.delta_g**2),
                ((ONE, "R"), (ONE, "value.noise"), (ONE, "inner.apart"), (-(s.C_g**2), "X"), (s.C_g**2, "together")),
                ((ONE, clients(NOISE)), (ONE, clients(value_gap))),
                pairings=((ONE, "u.first.apart", away(NEXT_U) + away(VALUE)),),
            ),
            "at the start the models agree",
        ),
        Step(
            "spread.later",
            Combine(
                quantity("R", 1),
                (1 - c.w) * quantity("R") + c.w * s.C_g**2 * c.far + c.w**2 * s.delta_g**2,
                (
                    (ONE, "R"),
                    (-(1 - c.w), "R.now"),
                    (c.w**2, "value.noise"),
                    (c.w, "inner.apart"),
                    (-c.w * s.C_g**2, "X"),
                    (c.w * s.C_g**2, "drift"),
                ),
                (
                    (c.w * (1 - c.w), away(U) - spread),
                    (c.w**2, clients(NOISE)),
                    (c.w, clients(value_gap)),
                ),
                pairings=((ONE, "u.local.apart", away(NEXT_U) + away(c.estimate["later"])),),
            ),
            "convexity; the fresh noise is orthogonal",
        ),
        Step(
            "spread",
            WithinRound(
                "R",
                "spread.reset",
                "spread.first",
                "spread.later",
                s.C_g**2 * c.far,
                c.w**2 * s.delta_g**2,
                s.delta_g**2 / c.w,
            ),
        ),
    )


def tracking(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Steps 2 and 3: the bias of a direction, and the error of the mean momentum."""
    at = c.estimate["later"]
    outer = df(at) - df(g(BAR))
    first, second = Given(PAST, Act(JACOBIAN, outer)), Act(jacobian(X) - jacobian(BAR), df(g(BAR)))
    mean_z = clients(c.direction("later"))
    known_z = Given(PAST, mean_z)
    bias, old, back = known_z - GRADIENT, clients(MOMENTUM) - GRADIENT_BEFORE, GRADIENT_BEFORE - GRADIENT
    third = Fraction(1, 3)
    four_thirds = Fraction(4, 3)
    spread_ = away(g(X))
    return (
        Step("E", Open("E")),
        Step("E.before", Open("E", -1)),
        Step("bias.action", Action("jacobian.moment", outer), "conditional Cauchy-Schwarz"),
        Step("bias.outer", Assume("outer smoothness", (df(at), df(g(BAR))))),
        Step("bias.jacobian", Assume("inner smoothness", (jacobian(X), jacobian(BAR), df(g(BAR))))),
        Step(
            "estimate.error",
            Combine(
                sq(at - g(BAR)),
                quantity("U") + (1 - c.w) * quantity("R") + c.w * s.C_g**2 * quantity("X") + c.w**2 * s.delta_g**2,
                (
                    (-ONE, "U"),
                    (-(1 - c.w), "R.now"),
                    (c.w**2, "value.noise"),
                    (c.w, "inner.apart"),
                    (-c.w * s.C_g**2, "X"),
                ),
                (
                    (c.w * (1 - c.w), away(U) - spread_),
                    (c.w**2, clients(NOISE)),
                    (c.w, clients(g(X) - g(BAR))),
                ),
                pairings=((-ONE, "mean u later", clients(NEXT_U) + clients(at) - 2 * g(BAR)),),
            ),
            "W = U + Y",
        ),
        Step(
            "bias",
            Combine(
                sq(bias),
                four_thirds
                * c.by_value
                * (quantity("U") + (1 - c.w) * quantity("R") + c.w * s.C_g**2 * quantity("X") + c.w**2 * s.delta_g**2)
                + 4 * s.C_f**2 * s.L_g**2 * quantity("X"),
                (
                    (signomial(four_thirds), "bias.action"),
                    (four_thirds * s.C_g**2, "bias.outer"),
                    (four_thirds * c.by_value, "estimate.error"),
                    (FOUR, "bias.jacobian"),
                    (-4 * s.C_f**2 * s.L_g**2, "X"),
                ),
                ((signomial(third), first - 3 * second), *deviation("k", first + second)),
            ),
        ),
        Step("error.moved", Instance("smooth.client", (("v", BEFORE), ("w", BAR)))),
        Step(
            "error",
            Combine(
                quantity("E"),
                (1 - c.c) * quantity("E", -1)
                + 2 * c.c * sq(bias)
                + 2 * s.eta * s.beta**2 * s.L_F**2 / s.alpha * quantity("M", -1)
                + c.c**2 * (c.noise + 2 * c.by_value * c.w**2 * s.delta_g**2),
                (
                    (ONE, "E"),
                    (-(1 - c.c), "E.before"),
                    (c.c**2, "noise later"),
                    (2 * (1 - c.c) ** 2 / c.c, "error.moved"),
                    (2 * (1 - c.c) ** 2 * s.L_F**2 / c.c, "inner.step"),
                ),
                (
                    (1 / c.c - 1, c.c * old - (1 - c.c) * back - c.c * bias),
                    (1 / c.c, (1 - c.c) * back - c.c * bias),
                    (c.c**2, Given(PAST, c.direction("later")) - Act(jacobian(X), df(c.known["later"]))),
                    *deviation("k", c.direction("later") - Given(PAST, c.direction("later")), weight=c.c**2),
                    *deviation("k", client_gradient(BEFORE) - client_gradient(BAR), weight=2 * (1 - c.c) ** 2 / c.c),
                ),
                pairings=((ONE, "mean m later", clients(NEW) + clients(c.momentum("later")) - 2 * GRADIENT),),
            ),
            "Young's inequality with c/(1 - c) and 1; the fresh noise is orthogonal",
        ),
    )


def starts(s: Reader, c: Constants) -> tuple[Step, ...]:
    """E_0 and U_0."""
    z = c.direction("first")
    gap = client_gradient(X) - client_gradient(BAR)
    centre = Act(jacobian(X), df(g(X)))
    return (
        Step("start.client", Instance("smooth.client", (("v", X), ("w", BAR)))),
        Step(
            "start.zero",
            Combine(sq(gap), scalar(0), ((ONE, "start.client"), (-(s.L_F**2), "X"), (s.L_F**2, "together"))),
        ),
        Step("start.equal", Vanishing("start.zero", gap)),
        Step("start.mean", Project("start.equal", ("k",))),
        Step(
            "start.error",
            Combine(
                quantity("E"),
                scalar(c.noise + 2 * c.by_value * s.delta_g**2),
                ((ONE, "E"), (ONE, "noise first")),
                deviation("k", z - centre),
                pairings=(
                    (ONE, "mean m first", clients(NEW) + clients(z) - 2 * GRADIENT),
                    (ONE, "start.mean", 2 * clients(z) - clients(centre) - GRADIENT),
                ),
            ),
        ),
        Step("start.E", AtStart("start.error")),
        Step(
            "start.inner",
            Combine(
                quantity("U"),
                scalar(s.delta_g**2),
                ((ONE, "U"), (ONE, "value.noise"), (ONE, "inner.apart"), (-(s.C_g**2), "X"), (s.C_g**2, "together")),
                (*deviation("k", NOISE), *deviation("k", g(X) - g(BAR))),
                pairings=((ONE, "mean u first", clients(NEXT_U) + clients(VALUE) - 2 * g(BAR)),),
            ),
        ),
        Step("start.U", AtStart("start.inner")),
    )


def descent(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 6."""
    moved, momentum = NEXT - BAR, clients(NEW)
    half, y = c.step / 2, c.step * s.L_F
    return (
        Step("smooth step", SmoothDescent("F", "smooth", s.L_F, "r", BAR, NEXT)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step("gradient", Open("gradient")),
        Step("M", Open("M")),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F") - half * quantity("gradient") - half / 2 * quantity("M") + half * quantity("E"),
                (
                    (ONE, "smooth step"),
                    (ONE, "F.next"),
                    (-ONE, "F"),
                    (half, "gradient"),
                    (half / 2, "M"),
                    (-half, "E"),
                ),
                ((c.step / 2, (Fraction(1, 2) - y) * momentum),),
                pairings=((ONE, "mean", GRADIENT), (s.L_F / 2, "mean", moved - c.step * momentum)),
                certificates=(
                    (
                        (c.step / 32, ("step_size",)),
                        (
                            c.step * s.beta**2 * s.L_F**2 / 2 * (s.eta / s.alpha) * (1 / s.alpha + s.eta),
                            ("momentum_range",),
                        ),
                    ),
                ),
            ),
            "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; 1 - 2y = 2 (1/2 - y)^2 + 1/2 - 2 y^2",
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )


def sums(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 7: the errors of the estimates over the run."""
    momentum = 2 * s.eta * s.beta**2 * s.L_F**2 / s.alpha
    second = Fraction(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma
    share = Fraction(8, 3) * c.by_value
    value_noise = c.by_value * s.delta_g**2
    absorbed = Fraction(64, 3) * s.C_g**2 * c.by_value + 8 * s.C_f**2 * s.L_g**2
    far = c.step**2 * c.product
    by_value, by_jacobian = Fraction(8, 3) * s.C_g**2 * c.by_value * far, 8 * s.C_f**2 * s.L_g**2 * far
    long = ("p>=1", "p>=1")
    return (
        Step(
            "inner.named",
            Combine(
                quantity("U"),
                (1 - c.w) * quantity("U", -1)
                + second * quantity("M", -1)
                + 3 * c.w * s.C_g**2 * c.far
                + c.w**2 * s.delta_g**2,
                ((ONE, "inner.error"), (3 * c.w * s.C_g**2, "drift")),
            ),
        ),
        Step("inner.sum", SumOver("inner.named", start=1)),
        Step(
            "error.named",
            Combine(
                quantity("E"),
                (1 - c.c) * quantity("E", -1)
                + momentum * quantity("M", -1)
                + c.c * share * (quantity("U") + quantity("R"))
                + c.c * (share * (c.w * s.C_g**2 * c.far + c.w**2 * s.delta_g**2) + 8 * s.C_f**2 * s.L_g**2 * c.far)
                + c.c**2 * (c.noise + 2 * c.by_value * c.w**2 * s.delta_g**2),
                (
                    (ONE, "error"),
                    (2 * c.c, "bias"),
                    (c.c * (share * c.w * s.C_g**2 + 8 * s.C_f**2 * s.L_g**2), "drift"),
                ),
            ),
        ),
        Step("error.sum", SumOver("error.named", start=1)),
        Step(
            "errors",
            Combine(
                total("E"),
                (momentum / c.c + share * second / c.w) * total("M")
                + (c.noise + 2 * value_noise) / c.c
                + Fraction(16, 3) * value_noise / c.w
                + s.T * (Fraction(8, 3) * c.w * value_noise + c.c * c.noise)
                + s.T * (Fraction(14, 3) + Fraction(16, 3) * s.p) * c.w**2 * value_noise
                + s.T * absorbed * c.far,
                (
                    (1 / c.c, "error.sum"),
                    (1 / c.c, "start.E"),
                    (share / c.w, "inner.sum"),
                    (share / c.w, "start.U"),
                    (share, "spread"),
                ),
                certificates=(
                    (
                        (by_value * s.T * s.eta, ("inner_momentum_range", *long)),
                        (by_value * (3 * s.T + 4 + c.w) + by_jacobian, long),
                        (2 * s.T * c.w**2 * value_noise * s.eta, ("momentum_range",)),
                    ),
                ),
            ),
            "the weights cancel the errors",
        ),
    )


def theorem_3_4(s: Reader) -> Derivation:
    """Everything is compared at the mean model, whose momentum obeys one recursion at every step."""
    c = Constants(s)
    per = 2 / (c.step * s.T)
    steps = (
        *smoothness(s, c),
        *updates(),
        *means(c),
        *consensus(s, c),
        *size(s, c),
        *noise(s, c),
        *inner(s, c),
        *tracking(s, c),
        *starts(s, c),
        *descent(s, c),
        *sums(s, c),
    )
    return Derivation(
        setting(s, c),
        (
            Quantity("X", sq(away(X))),
            Quantity("m^2", sq(MOMENTUM)),
            Quantity("U", sq(clients(NEXT_U) - g(BAR))),
            Quantity("R", sq(away(U))),
            Quantity("E", sq(clients(NEW) - GRADIENT)),
            Quantity("M", sq(clients(NEW))),
            Quantity("gradient", sq(GRADIENT)),
            Quantity("F", value("F", BAR)),
        ),
        axioms(s),
        steps,
        ((per, "sum"), (per, "bounded"), (1 / s.T, "errors")),
        "gradient",
        "F",
        BAR,
        "p",
        dict.fromkeys(("C_f", "C_g", "L_f", "L_g", "sigma_f", "sigma_g", "delta_g", "F_gap", "p", "T"), Fraction(1))
        | {"alpha": Fraction(1), "gamma": Fraction(1), "beta": Fraction(1, 10), "eta": Fraction(1, 2)},
        "not stated: samples",
    )


def corollary_3_5(_: Reader) -> Corollary:
    """eta = T^(-1/2), p = T^(1/4), put into Theorem 3.4."""
    ones = ("C_f", "C_g", "L_f", "L_g", "sigma_f", "sigma_g", "delta_g", "F_gap", "alpha", "gamma")
    return Corollary(THEOREM_3_4, dict.fromkeys(ones, Fraction(1)) | {"beta": Fraction(1, 10), "T": Fraction(16)})


DERIVATIONS = (("theorem_3_4", theorem_3_4), ("corollary_3_5", corollary_3_5))
