"""Local-SCGDM, for the kernel: how far the models, the inner estimates and the momentum are from what they estimate; steps 1 to 5."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    ONE,
    Act,
    Action,
    App,
    Assume,
    AtStart,
    Cases,
    Combine,
    Definition,
    Drift,
    Given,
    Instance,
    Invariant,
    Later,
    Linear,
    Open,
    Product,
    Project,
    Reader,
    Signomial,
    Step,
    Term,
    Vanishing,
    Weights,
    WithinRound,
    quantity,
    scalar,
    signomial,
    sq,
)
from ...proof.sum_of_squares import Squares, apart, deviation
from .derivation_problem import (
    AFTER,
    BAR,
    BEFORE,
    FOUR,
    GRADIENT,
    GRADIENT_BEFORE,
    JACOBIAN,
    JACOBIAN_NOISE,
    MOMENTUM,
    NEW,
    NEXT,
    NEXT_U,
    NOISE,
    PAST,
    PHASES,
    TWO,
    VALUE,
    Constants,
    U,
    X,
    away,
    client_gradient,
    clients,
    df,
    g,
    jacobian,
    when,
)


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
        Step("m^2", Open("m_squared", 1)),
        Step("m^2.now", Open("m_squared")),
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
            bound = (1 - c.c) * quantity("m_squared") + c.c * c.product
        rows.append(
            Step(
                f"size.{phase}",
                Combine(
                    quantity("m_squared", 1),
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
        Step(
            "size", Invariant("m_squared", c.product, "size.first", "size.later"), "a convex combination of directions"
        ),
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


def inner_moves(c: Constants) -> tuple[Step, ...]:
    """What the inner estimates follow: the inner maps at the clients' models and at the mean model."""
    return (
        Step("X", Open("X")),
        Step("U", Open("U")),
        Step("U.before", Open("U", -1)),
        Step("M.before", Open("M", -1)),
        Step("together", Combine(quantity("X"), scalar(0), ((ONE, "X"),), pairings=((ONE, "common start", away(X)),))),
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
    )


def inner_error(s: Reader, c: Constants, squares: Squares, pairing: tuple[Signomial, str, Term]) -> Step:
    """U after a step from U before it, in both cases; `squares` complete Young's inequality, `pairing` puts the update in."""
    second = Fraction(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma
    return Step(
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
            squares,
            pairings=(pairing,),
        ),
        "Young's inequality with w/(1 - w) and 1/2; the fresh noise is orthogonal",
    )


def inner(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 4: the error of the mean inner estimate, and the spread of the estimates within a round."""
    after, old = clients(NEXT_U), clients(U) - g(BEFORE)
    moved, off = (1 - c.w) * (g(BEFORE) - g(BAR)), c.w * (clients(g(X)) - g(BAR))
    spread = away(g(X))
    value_gap = g(X) - g(BAR)
    return (
        *inner_moves(c),
        inner_error(
            s,
            c,
            (
                (1 / c.w - 1, c.w * old - moved - off),
                (1 / (2 * c.w), moved - 2 * off),
                *deviation("k", NOISE, weight=c.w**2),
                *deviation("k", value_gap, weight=3 * c.w),
            ),
            (ONE, "mean u later", after + clients(c.estimate["later"]) - 2 * g(BAR)),
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


def bias_of(c: Constants) -> Term:
    """The mean direction, given the past, without the gradient at the mean model."""
    return Given(PAST, clients(c.direction("later"))) - GRADIENT


def bias_parts(c: Constants) -> tuple[tuple[Step, ...], Squares]:
    """Step 2: the two parts of the bias of a direction, and the squares that join them."""
    outer = df(c.estimate["later"]) - df(g(BAR))
    first, second = Given(PAST, Act(JACOBIAN, outer)), Act(jacobian(X) - jacobian(BAR), df(g(BAR)))
    steps = (
        Step("bias.action", Action("jacobian.moment", outer), "conditional Cauchy-Schwarz"),
        Step("bias.outer", Assume("outer smoothness", (df(c.estimate["later"]), df(g(BAR))))),
        Step("bias.jacobian", Assume("inner smoothness", (jacobian(X), jacobian(BAR), df(g(BAR))))),
    )
    return steps, ((signomial(Fraction(1, 3)), first - 3 * second), *deviation("k", first + second))


def tracking(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 2: the bias of a direction, with the error of the mean inner estimate and its spread."""
    at = c.estimate["later"]
    parts, joined = bias_parts(c)
    four_thirds = Fraction(4, 3)
    spread_ = away(g(X))
    return (
        *parts,
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
                sq(bias_of(c)),
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
                joined,
            ),
        ),
    )


def error(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 3: the error of the mean momentum."""
    bias, old, back = bias_of(c), clients(MOMENTUM) - GRADIENT_BEFORE, GRADIENT_BEFORE - GRADIENT
    return (
        Step("E", Open("E")),
        Step("E.before", Open("E", -1)),
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


def start_error(s: Reader, c: Constants) -> tuple[Step, ...]:
    """E_0."""
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
    )


def start_inner(s: Reader, c: Constants) -> tuple[Step, ...]:
    """U_0."""
    return (
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


def inner_kept(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Steps 2 and 4 where no inner estimate is averaged: every client tracks its own inner map at the mean model."""
    at = c.estimate["later"]
    old, fresh = U - g(BEFORE), c.w * (g(X) - g(BAR))
    moved = (1 - c.w) * (g(BEFORE) - g(BAR))
    parts, joined = bias_parts(c)
    four_thirds = Fraction(4, 3)
    return (
        *inner_moves(c),
        Step("u.first", Definition("u", "first local")),
        Step("u.later", Definition("u", "local")),
        inner_error(
            s,
            c,
            ((1 / c.w - 1, c.w * old - moved - fresh), (1 / (2 * c.w), moved - 2 * fresh)),
            (ONE, "u.later", NEXT_U + at - 2 * g(BAR)),
        ),
        *parts,
        Step(
            "bias",
            Combine(
                sq(bias_of(c)),
                four_thirds * c.by_value * quantity("U") + 4 * s.C_f**2 * s.L_g**2 * quantity("X"),
                (
                    (signomial(four_thirds), "bias.action"),
                    (four_thirds * s.C_g**2, "bias.outer"),
                    (-four_thirds * c.by_value, "U"),
                    (FOUR, "bias.jacobian"),
                    (-4 * s.C_f**2 * s.L_g**2, "X"),
                ),
                joined,
                pairings=((-four_thirds * c.by_value, "u.later", NEXT_U + at - 2 * g(BAR)),),
            ),
        ),
        Step(
            "start.inner",
            Combine(
                quantity("U"),
                scalar(s.delta_g**2),
                ((ONE, "U"), (ONE, "value.noise"), (ONE, "inner.apart"), (-(s.C_g**2), "X"), (s.C_g**2, "together")),
                pairings=((ONE, "u.first", NEXT_U + VALUE - 2 * g(BAR)),),
            ),
        ),
        Step("start.U", AtStart("start.inner")),
    )
