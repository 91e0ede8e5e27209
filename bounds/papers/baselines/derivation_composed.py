"""The baselines of the composite kinds: SCGD and biased SGD, for the kernel; docs/theory/baselines.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...language.bounding import MEAN, MEAN_SQUARE
from ...proof.kernel import (
    BATCH,
    CLIENTS,
    EVERY,
    FIRST,
    LATER,
    ONE,
    Act,
    Action,
    App,
    Assume,
    Assumed,
    AtStart,
    Cases,
    Combine,
    Definition,
    Derivation,
    Function,
    Given,
    IndependentMean,
    Index,
    Known,
    Linear,
    MeanMoment,
    Objective,
    Open,
    Product,
    Project,
    Quantity,
    Reader,
    Setting,
    Source,
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
from ...proof.writing import at_point, deviation, mean_over
from .descent import INFIMUM, descent

CLIENT = frozenset({"n"})
TWO = signomial(2)


clients = mean_over("n")


X, U, AFTER, NEXT_U = Var("x"), Var("u"), Var("x", 1), Var("u", 1)


# --- SCGD ------------------------------------------------------------------------------------------------------------

PAST = Known.before(("z", "s"))
PAST_AND_Z = PAST | Known.sample("z")


inner_batch = mean_over("i")
outer_batch = mean_over("j")
g = at_point("g", None)
jacobian = at_point("dg", None)
df = at_point("df", None)


def client_gradient(x: Term) -> Term:
    return Act(jacobian(x), df(g(x)))


VALUE, JACOBIAN = App("g", X, (0,)), App("dg", X, (0,))
NOISE = VALUE - g(X)
KINDS = ("first", "later")
PHASES = {"first": "first local", "later": "local"}


class Scgd:
    """The value that each client uses, its mean given the past, and the direction, at step 0 and later."""

    def __init__(self, s: Reader):
        self.value = {
            "first": inner_batch(VALUE),
            "later": (1 - s.gamma) * U + s.gamma * inner_batch(VALUE),
        }
        self.moment = s.C_f**2 * s.C_g**2
        self.share = {"first": ONE, "later": s.gamma}

    def direction(self, kind: str) -> Term:
        return Act(inner_batch(JACOBIAN), outer_batch(App("df", self.value[kind], (0,))))


def scgd_setting(s: Reader, c: Scgd) -> Setting:
    steps = {"first": FIRST, "later": LATER}
    moved = tuple((steps[kind], X - s.eta * clients(c.direction(kind))) for kind in KINDS)
    functions = (
        Function("df", "y", "dy", ("s",), CLIENT, CLIENT, role="outer_gradient"),
        Function("g", "x", "y", ("z",), CLIENT, equal="inner map", role="inner_value"),
        Function("dg", "x", ("x", "dy"), ("z",), CLIENT, equal="inner map", role="inner_jacobian"),
    )
    variables = (
        Variable("u", "y", frozenset(), tuple((steps[kind], clients(c.value[kind])) for kind in KINDS)),
        Variable("x", "x", frozenset(), moved),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    return Setting(
        (
            Index("n", s.N, of=CLIENTS),
            Index("i", s.b, "independence", of=BATCH),
            Index("j", s.b, "independence", of=BATCH),
        ),
        (Source("z", ("n", "i"), "independence"), Source("s", ("n", "j"), "samples")),
        functions,
        variables,
        (Objective("F", "p", clients(client_gradient(Var("p"))), "gradient"),),
    )


SCGD_AXIOMS = {
    "outer smoothness": Assumed("L_f", "df"),
    "outer gradient": Assumed("C_f", "df", per=MEAN),
    "outer moment": Assumed("C_f", "df", given=PAST_AND_Z),
    "inner smoothness": Assumed("L_g", "dg"),
    "inner Lipschitz": Assumed("C_g", "g", per=MEAN),
    "inner Jacobian": Assumed("C_g", "dg", per=MEAN),
    "inner moment": Assumed("C_g", "dg", given=PAST),
    "value noise": Assumed("delta_g", "g"),
    "infimum": INFIMUM,
}


def scgd_smoothness(s: Reader) -> tuple[Step, ...]:
    """Step 1: two differences."""
    p, r = Var("p"), Var("r")
    outer = df(g(p)) - df(g(r))
    first, second = Act(jacobian(p), outer), Act(jacobian(p) - jacobian(r), df(g(r)))
    gap = sq(p - r)
    return (
        Step("smooth.outer", Assume("outer smoothness", (df(g(p)), df(g(r))))),
        Step("smooth.inner", Assume("inner Lipschitz", (g(p), g(r)))),
        Step("smooth.jacobian", Assume("inner Jacobian", (jacobian(p),))),
        Step("smooth.action", Action("smooth.jacobian", outer)),
        Step(
            "smooth.first",
            Combine(
                sq(first),
                s.C_g**4 * s.L_f**2 * gap,
                ((ONE, "smooth.action"), (s.C_g**2, "smooth.outer"), (s.C_g**2 * s.L_f**2, "smooth.inner")),
            ),
        ),
        Step("smooth.second", Assume("inner smoothness", (jacobian(p), jacobian(r), df(g(r))))),
        Step(
            "smooth.sum",
            Triangle((("smooth.first", first, s.C_g**2 * s.L_f), ("smooth.second", second, s.C_f * s.L_g)), gap),
        ),
        Step(
            "smooth",
            Combine(
                sq(clients(first + second)), s.L_F**2 * gap, ((ONE, "smooth.sum"),), deviation("n", first + second)
            ),
        ),
    )


def moved(s: Reader) -> Term:
    """The direction of the model, whatever the kind of step."""
    return (1 / s.eta) * (X - AFTER)


def scgd_direction(s: Reader, c: Scgd, kind: str) -> tuple[Step, ...]:
    """Steps 2 to 4 at one kind of step: variance and bias of the direction."""
    v, used, share = c.direction(kind), c.value[kind], c.share[kind]
    outer = df(g(X)) - df(used)
    known, direction = Given(PAST, clients(v)), moved(s)
    mean_known = Given(PAST, direction)
    old = (1 - share) ** 2
    by_value = s.C_g**2 * s.L_f**2
    gradient = clients(client_gradient(X))
    difference = Given(PAST, Act(inner_batch(JACOBIAN), outer))
    return (
        Step(f"move.{kind}", Definition("x", PHASES[kind])),
        Step(f"direction.{kind}", Linear(direction - clients(v), ((-1 / s.eta, f"move.{kind}"),))),
        Step(f"known.{kind}", Project(f"direction.{kind}", (), PAST)),
        Step(f"outer.{kind}", Assume("outer moment", (App("df", used, (0,)),))),
        Step(f"outer.mean {kind}", MeanMoment(f"outer.{kind}", ("j",))),
        Step(f"moment.{kind}", Product("jacobian.mean", f"outer.mean {kind}"), "s is independent of z"),
        Step(
            f"length.{kind}",
            Combine(
                sq(direction),
                scalar(c.moment),
                ((ONE, f"moment.{kind}"),),
                deviation("n", v),
                pairings=((ONE, f"direction.{kind}", direction + clients(v)),),
            ),
        ),
        Step(f"noise.clients {kind}", IndependentMean(v - Given(PAST, v), "n", PAST)),
        Step(
            f"noise.{kind}",
            Combine(
                sq(direction - mean_known),
                scalar(c.moment / s.N),
                ((ONE, f"noise.clients {kind}"), (1 / s.N, f"moment.{kind}")),
                ((1 / s.N, Given(PAST, v)),),
                pairings=(
                    (ONE, f"direction.{kind}", direction + clients(v)),
                    (-ONE, f"known.{kind}", mean_known + known),
                ),
            ),
            "a variance is at most a second moment",
        ),
        Step(f"bias.action {kind}", Action("jacobian.mean", outer), "conditional Cauchy-Schwarz"),
        Step(f"bias.outer {kind}", Assume("outer smoothness", (df(g(X)), df(used)))),
        Step(
            f"bias.{kind}",
            Combine(
                quantity("P"),
                by_value * (old * quantity("A") + share**2 * s.delta_g**2 / s.b),
                (
                    (ONE, "P"),
                    (ONE, f"bias.action {kind}"),
                    (s.C_g**2, f"bias.outer {kind}"),
                    (by_value * share**2, "value.batch"),
                    (by_value * share**2 / s.b, "value.noise"),
                    (-by_value * old, "A"),
                ),
                deviation("n", difference),
                pairings=((-ONE, f"known.{kind}", 2 * gradient - mean_known - known),),
            ),
            "the fresh noise of the value is orthogonal to its old error",
        ),
    )


def scgd_estimate(s: Reader, c: Scgd, kind: str) -> tuple[Step, ...]:
    """Step 5: the error of the estimate after a step."""
    share = c.share[kind]
    old, noise = (1 - share) ** 2, share**2 * s.delta_g**2 / (s.N * s.b)
    here, away = NEXT_U - g(X), g(X) - g(AFTER)
    drift = 2 / s.gamma * s.C_g**2 * s.eta**2 * c.moment
    kept = 1 - s.gamma if kind == "later" else 0 * ONE
    return (
        Step(f"estimate.{kind}", Definition("u", PHASES[kind])),
        Step(
            f"here.{kind}",
            Combine(
                sq(here),
                old * quantity("A") + noise,
                (
                    (-old, "A"),
                    (share**2, "value.clients"),
                    (share**2 / s.N, "value.batch"),
                    (share**2 / (s.N * s.b), "value.noise"),
                ),
                pairings=((ONE, f"estimate.{kind}", NEXT_U + clients(c.value[kind]) - 2 * g(X)),),
            ),
        ),
        Step(
            f"error.{kind}",
            Combine(
                quantity("A", 1),
                kept * quantity("A") + 2 * noise + drift,
                (
                    (ONE, "A.next"),
                    (1 + s.gamma, f"here.{kind}"),
                    (1 + 1 / s.gamma, "moved"),
                    ((1 + 1 / s.gamma) * s.C_g**2 * s.eta**2, f"length.{kind}"),
                ),
                ((1 / s.gamma, s.gamma * here - away),),
            ),
            "Young's inequality with gamma; (1 + gamma)(1 - gamma)^2 <= 1 - gamma",
        ),
    )


def scgd(s: Reader) -> Derivation:
    """Section 4."""
    c = Scgd(s)
    direction, known = moved(s), Given(PAST, moved(s))
    gradient = clients(client_gradient(X))
    by_value = s.C_g**2 * s.L_f**2
    rest = 2 * s.gamma * s.delta_g**2 / (s.N * s.b) + 2 * s.eta**2 * s.C_g**2 * c.moment / s.gamma**2
    steps = (
        *scgd_smoothness(s),
        Step("jacobian.moment", Assume("inner moment", (JACOBIAN,))),
        Step("jacobian.mean", MeanMoment("jacobian.moment", ("i",))),
        Step("value.noise", Assume("value noise", (VALUE,))),
        Step("value.batch", IndependentMean(NOISE, "i", PAST)),
        Step("value.clients", IndependentMean(inner_batch(NOISE), "n", PAST)),
        Step("A", Open("A")),
        Step("A.next", Open("A", 1)),
        Step("P", Open("P")),
        *(step for kind in KINDS for step in scgd_direction(s, c, kind)),
        Step("noise", Cases(("noise.first", "noise.later"))),
        Step("bias", Combine(sq(gradient - known), quantity("P"), ((-ONE, "P"),))),
        Step("mean", Linear(AFTER - X + s.eta * direction, ()), "by the definition of the direction"),
        *descent(s, s.L_F, (X, AFTER), gradient, (direction, known), quantity("P"), c.moment / s.N),
        Step("moved", Assume("inner Lipschitz", (g(X), g(AFTER)))),
        *(step for kind in KINDS for step in scgd_estimate(s, c, kind)),
        Step("bias.start", AtStart("bias.first")),
        Step(
            "bias.named",
            Combine(
                quantity("P"),
                by_value * (quantity("A") + s.gamma**2 * s.delta_g**2 / s.b),
                ((ONE, "bias.later"),),
            ),
            "(1 - gamma)^2 <= 1",
        ),
        Step("bias.sum", SumOver("bias.named", start=1)),
        Step("error.start", AtStart("error.first")),
        Step("error.sum", SumOver("error.later", start=1)),
        Step(
            "values",
            Combine(
                total("P"),
                scalar(
                    by_value
                    * (s.delta_g**2 / s.b * (1 + 2 / (s.N * s.gamma)) + s.T * (s.gamma**2 * s.delta_g**2 / s.b + rest))
                ),
                (
                    (ONE, "bias.start"),
                    (ONE, "bias.sum"),
                    (by_value / s.gamma, "error.start"),
                    (by_value / s.gamma, "error.sum"),
                ),
            ),
        ),
    )
    ones = ("C_f", "L_f", "C_g", "L_g", "delta_g", "F_gap", "p", "b", "N", "T", "gamma")
    return Derivation(
        scgd_setting(s, c),
        (
            Quantity("A", sq(U - g(X))),
            Quantity("P", sq(gradient - known)),
            Quantity("gradient", sq(gradient)),
            Quantity("F", value("F", X)),
        ),
        SCGD_AXIOMS,
        steps,
        ((2 / (s.eta * s.T), "sum"), (2 / (s.eta * s.T), "infimum"), (1 / s.T, "values")),
        "gradient",
        "x",
        dict.fromkeys(ones, Fraction(1)) | {"eta": Fraction(1, 4)},
        "independence",
    )


# --- biased SGD ------------------------------------------------------------------------------------------------------

BEFORE = Known.before(("xi", "eta"))
BEFORE_AND_XI = BEFORE | Known.sample("xi")


def chain(operator: Term, point: Term) -> Term:
    return Act(operator, App("df", point, (0,)))


def conditional_gradient(x: Term) -> Term:
    """grad F_n."""
    return Given(BEFORE, chain(App("dg", x, (0, None)), App("g", x, (0, None))))


def biased_setting(s: Reader) -> Setting:
    functions = (
        Function("df", "y", "dy", ("xi",), CLIENT, CLIENT, role="outer_gradient"),
        Function("g", "x", "y", ("xi", "eta"), CLIENT, CLIENT, role="inner_value"),
        Function("dg", "x", ("x", "dy"), ("xi", "eta"), CLIENT, CLIENT, role="inner_jacobian"),
    )
    variables = (
        Variable("x", "x", frozenset(), ((EVERY, X - s.eta * clients(inner_batch(plug_in()))),)),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    return Setting(
        (
            Index("n", s.N, of=CLIENTS),
            Index("i", s.b, "independence", of=BATCH),
            Index("j", s.m, "independence", of=BATCH),
        ),
        (Source("xi", ("n", "i"), "independence"), Source("eta", ("n", "i", "j"), "independence")),
        functions,
        variables,
        (Objective("F", "p", clients(conditional_gradient(Var("p"))), "gradient"),),
    )


def plug_in() -> Term:
    """The stochastic gradient of one outer sample."""
    return chain(outer_batch(App("dg", X, (0, 0))), outer_batch(App("g", X, (0, 0))))


BIASED_AXIOMS = {
    "outer smoothness": Assumed("S_f", "df"),
    "outer gradient": Assumed("B_f", "df"),
    "inner smoothness": Assumed("S_g", "dg", per=MEAN_SQUARE),
    "inner Lipschitz": Assumed("C_g", "g", per=MEAN_SQUARE),
    "inner Jacobian": Assumed("C_g", "dg", given=BEFORE),
    "inner noise": Assumed("delta_g", "g"),
    "infimum": INFIMUM,
}


def biased_smoothness(s: Reader) -> tuple[Step, ...]:
    p, r = Var("p"), Var("r")
    at_p, at_r = (App("df", App("g", x, (0, None)), (0,)) for x in (p, r))
    jacobian_p, jacobian_r = App("dg", p, (0, None)), App("dg", r, (0, None))
    first, second = Given(BEFORE, Act(jacobian_p, at_p - at_r)), Given(BEFORE, Act(jacobian_p - jacobian_r, at_r))
    gap, change = sq(p - r), conditional_gradient(p) - conditional_gradient(r)
    return (
        Step("smooth.outer", Assume("outer smoothness", (at_p, at_r))),
        Step("smooth.inner", Assume("inner Lipschitz", (at_p.argument, at_r.argument))),
        Step("smooth.jacobian", Assume("inner Jacobian", (jacobian_p,))),
        Step("smooth.action", Action("smooth.jacobian", at_p - at_r), "conditional Cauchy-Schwarz"),
        Step(
            "smooth.first",
            Combine(
                sq(first),
                (s.S_f * s.C_g**2) ** 2 * gap,
                ((ONE, "smooth.action"), (s.C_g**2, "smooth.outer"), (s.C_g**2 * s.S_f**2, "smooth.inner")),
            ),
        ),
        Step("smooth.second", Assume("inner smoothness", (jacobian_p, jacobian_r, at_r))),
        Step(
            "smooth.sum",
            Triangle((("smooth.first", first, s.S_f * s.C_g**2), ("smooth.second", second, s.S_g * s.B_f)), gap),
        ),
        Step(
            "smooth",
            Combine(sq(clients(change)), s.S_F**2 * gap, ((ONE, "smooth.sum"),), deviation("n", change)),
            "Jensen over the clients",
        ),
    )


def biased_sgd(s: Reader) -> Derivation:
    """Section 5."""
    drawn, exact = outer_batch(App("g", X, (0, 0))), App("g", X, (0, None))
    jacobian = App("dg", X, (0, 0))
    outer = App("df", drawn, (0,)) - App("df", exact, (0,))
    noise = App("g", X, (0, 0)) - exact
    v, known = plug_in(), Given(BEFORE, plug_in())
    z, moment, scale = v - known, s.B_f**2 * s.C_g**2, s.C_g**2 * s.S_f**2
    gradient = clients(conditional_gradient(X))
    steps = (
        *biased_smoothness(s),
        Step("mean", Definition("x", "local")),
        Step("jacobian", Assume("inner Jacobian", (jacobian,))),
        Step("jacobian.mean", MeanMoment("jacobian", ("j",))),
        Step("moment", Action("jacobian.mean", App("df", drawn, (0,)), True)),
        Step("noise.clients", IndependentMean(inner_batch(z), "n", BEFORE)),
        Step("noise.batch", IndependentMean(z, "i", BEFORE)),
        Step(
            "noise",
            Combine(
                sq(clients(inner_batch(z))),
                scalar(moment / (s.N * s.b)),
                ((ONE, "noise.clients"), (1 / s.N, "noise.batch"), (1 / (s.N * s.b), "moment")),
                ((1 / (s.N * s.b), known),),
            ),
            "a variance is at most a second moment",
        ),
        Step("bias.outer", Assume("outer smoothness", (App("df", drawn, (0,)), App("df", exact, (0,))))),
        Step("bias.average", IndependentMean(noise, "j", BEFORE_AND_XI)),
        Step("bias.noise", Assume("inner noise", (App("g", X, (0, 0)),))),
        Step("bias.action", Action("jacobian.mean", outer), "conditional Cauchy-Schwarz"),
        Step(
            "bias",
            Combine(
                sq(gradient - clients(known)),
                scalar(scale * s.delta_g**2 / s.m),
                (
                    (ONE, "bias.action"),
                    (s.C_g**2, "bias.outer"),
                    (scale, "bias.average"),
                    (scale / s.m, "bias.noise"),
                ),
                deviation("n", conditional_gradient(X) - known),
            ),
            "E[grad ghat | xi] = grad g, so only the argument of grad f differs",
        ),
        *descent(
            s,
            s.S_F,
            (X, AFTER),
            gradient,
            (clients(inner_batch(v)), clients(known)),
            scalar(scale * s.delta_g**2 / s.m),
            moment / (s.N * s.b),
        ),
    )
    ones = ("B_f", "S_f", "C_g", "S_g", "delta_g", "F_gap", "p", "b", "m", "N", "T")
    return Derivation(
        biased_setting(s),
        (Quantity("gradient", sq(gradient)), Quantity("F", value("F", X))),
        BIASED_AXIOMS,
        steps,
        ((2 / (s.eta * s.T), "sum"), (2 / (s.eta * s.T), "infimum")),
        "gradient",
        "x",
        dict.fromkeys(ones, Fraction(1)) | {"eta": Fraction(1, 4)},
        "independence",
    )
