"""Local-SCGDM, for the kernel: problem, method, assumptions, and what follows from the update equations."""

from __future__ import annotations

from ...language.bounding import MEAN
from ...proof.kernel import (
    CLIENTS,
    COMMUNICATION,
    FIRST,
    LATER,
    LOCAL,
    ONE,
    Act,
    Action,
    App,
    Assume,
    Assumed,
    Cases,
    Combine,
    Definition,
    Function,
    Index,
    Instance,
    Known,
    Linear,
    Objective,
    Project,
    Reader,
    Setting,
    Source,
    Start,
    Step,
    Term,
    Var,
    Variable,
    parameter,
    signomial,
    sq,
)
from ...proof.sum_of_squares import at_point, deviation, mean_over

CLIENT = frozenset({"k"})
PAST = Known.before(("xi", "zeta"))
PAST_AND_XI = PAST | Known.sample("xi")
OWN = "not stated: clients"
PHASES = ("first local", "first communication", "local", "communication")
TWO, THREE, FOUR = signomial(2), signomial(3), signomial(4)


clients = mean_over("k")


def away(term: Term) -> Term:
    """The deviation from the mean over the clients."""
    return term - clients(term)


g = at_point("g", None)
jacobian = at_point("dg", None)
df = at_point("df", None)


def client_gradient(x: Term) -> Term:
    return Act(jacobian(x), df(g(x)))


X, U, MOMENTUM = Var("x"), Var("u"), Var("m")
NEXT_U, NEW, AFTER = Var("u", 1), Var("m", 1), Var("x", 1)
BAR, NEXT, BEFORE = clients(X), clients(AFTER), clients(Var("x", -1))
VALUE, JACOBIAN = App("g", X, (0,)), App("dg", X, (0,))
NOISE, JACOBIAN_NOISE = VALUE - g(X), JACOBIAN - jacobian(X)
GRADIENT, GRADIENT_BEFORE = clients(client_gradient(BAR)), clients(client_gradient(BEFORE))


class Constants:
    """Abbreviations of docs/theory/local_scgdm.md, and the inner estimate before line 13.

    `averaged`: line 13 stands, and the inner maps are equal, case (A); else it is deleted, and they are free, case (B).
    """

    def __init__(self, s: Reader, averaged: bool = True):
        self.averaged = averaged
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
    def equations(term: dict[str, Term], averaged: bool = True) -> tuple[tuple[frozenset[str], Term], ...]:
        if not averaged:
            return ((FIRST, term["first"]), (LATER, term["later"]))
        return tuple(
            (frozenset({phase}), term[when(phase)] if phase.endswith("local") else clients(term[when(phase)]))
            for phase in PHASES
        )

    inner = {"equal": OWN} if c.averaged else {"mean_index": CLIENT}

    moved = X - c.step * NEW
    functions = (
        Function("df", "y", "dy", ("zeta",), CLIENT, CLIENT, role="outer_gradient"),
        Function("g", "x", "y", ("xi",), CLIENT, **inner, role="inner_value"),
        Function("dg", "x", ("x", "dy"), ("xi",), CLIENT, **inner, role="inner_jacobian"),
    )
    variables = (
        Variable("u", "y", CLIENT, equations(c.estimate, c.averaged)),
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
        (Index("k", parameter("K", count=True), of=CLIENTS),),
        (Source("xi", ("k",), samples, ("k",)), Source("zeta", ("k",), samples, ("k",))),
        functions,
        variables,
        (objective,),
    )


AXIOMS = {
    "outer smoothness": Assumed("L_f", "df"),
    "inner smoothness": Assumed("L_g", "dg"),
    "outer gradient": Assumed("C_f", "df", per=MEAN),
    "outer moment": Assumed("C_f", "df", given=PAST_AND_XI),
    "inner Lipschitz": Assumed("C_g", "g", per=MEAN),
    "inner Jacobian": Assumed("C_g", "dg", per=MEAN),
    "inner moment": Assumed("C_g", "dg", given=PAST),
    "outer noise": Assumed("sigma_f", "df", given=PAST_AND_XI),
    "Jacobian noise": Assumed("sigma_g", "dg", given=PAST),
    "value noise": Assumed("delta_g", "g"),
    "common start": Start("not stated: start", X - BAR),
    "lower bound": Assumed("F_gap", "F"),
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


def updates(*names: str) -> tuple[Step, ...]:
    """The update equations and their means, which hold at communications too."""
    return tuple(
        step
        for name in names
        for phase in PHASES
        for step in (
            Step(f"{name}.{phase}", Definition(name, phase)),
            Step(f"mean {name}.{phase}", Project(f"{name}.{phase}", ("k",))),
        )
    )


def means(c: Constants, *names: str) -> tuple[Step, ...]:
    """The means of u and m follow one equation at local steps and at communications."""
    rows = []
    known = {"u": (NEXT_U, c.estimate), "m": (NEW, {w: c.momentum(w) for w in ("first", "later")})}
    for name in names:
        new, terms = known[name]
        for first in ("first", "later"):
            phases = [phase for phase in PHASES if when(phase) == first]
            claim = clients(new) - clients(terms[first])
            rows += [Step(f"mean {name} {phase}", Linear(claim, ((ONE, f"mean {name}.{phase}"),))) for phase in phases]
            rows.append(Step(f"mean {name} {first}", Cases(tuple(f"mean {name} {phase}" for phase in phases))))
    return tuple(rows)
