"""Acc-FCSG-M: the derivation of the corrected Theorem 4.7; problem, bias and consensus are those of FCSG."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
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
    AtStart,
    Cases,
    Certificate,
    Combine,
    Corollary,
    Definition,
    Derivation,
    Drift,
    Given,
    Gronwall,
    IndependentMean,
    Instance,
    Later,
    Linear,
    MeanMoment,
    Open,
    Project,
    Quantity,
    Reader,
    Signomial,
    SmoothDescent,
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
from ...proof.writing import apart, deviation
from ..fcsg.derivations import (
    AXIOMS,
    CLIENT,
    PAST,
    batch,
    bias,
    client_gradient,
    clients,
    consensus,
    inner_batch,
    plug_in_gradient,
    sampled_gradient,
    second_moment,
    setting,
    smoothness,
)
from .theorems import THEOREM_4_7

X, AFTER, BEFORE = Var("x"), Var("x", 1), Var("x", -1)
U, USED, FRESH = Var("u"), Var("u", 1), Var("h", 1)
"""FRESH is the estimate of line 14; USED is what the clients step with, its mean at a communication."""
BAR, NEXT = clients(X), clients(AFTER)
G, G_BEFORE = sampled_gradient(X), sampled_gradient(BEFORE)
TARGET, TARGET_BEFORE = clients(plug_in_gradient(X)), clients(plug_in_gradient(BEFORE))
TWO, THREE = signomial(2), signomial(3)
RATE, GROWTH = signomial(Fraction(37, 36)), signomial(Fraction(14, 5))
"""exp(37/36) <= 14/5."""
SHARE = Fraction(25, 24)
"""1/(1 - 2 GROWTH/144) <= 25/24."""


def away(term: Term) -> Term:
    return term - clients(term)


class Constants:
    """Abbreviations of docs/theory/fcsg.md, section 4, and the certificates from the conditions on the step size."""

    def __init__(self, s: Reader):
        self.s = s
        self.product = s.L_f**2 * s.L_g**2
        self.delta = s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
        self.y = s.alpha * s.S_F
        self.change = G - (1 - s.beta) * G_BEFORE
        """What a client adds to (1 - beta) u, per sample."""
        self.fresh = (1 - s.beta) * U + batch(self.change)

    def short(self, factor: Signomial) -> Certificate:
        """factor (1/144 - (alpha q S_F)^2) >= 0."""
        s = self.s
        return ((factor * s.q**2 * s.S_F**2 * (1 / (12 * s.q * s.S_F) + s.alpha), ("step_size",)),)

    def long(self, factor: Signomial) -> Certificate:
        """factor (9/16 - q^3 (alpha S_F)^2) >= 0."""
        s = self.s
        limit = Fraction(3, 4) * s.q ** Fraction(-3, 2) / s.S_F
        return ((factor * s.q**3 * s.S_F**2 * (limit + s.alpha), ("long_round",)),)

    def momentum(self, factor: Signomial) -> Certificate:
        """factor (1 - beta) >= 0, from beta = 30 (alpha S_F)^2/(b N) and (alpha S_F)^2 <= 1/(144 q^2)."""
        s = self.s
        left = Fraction(30, 144) * factor / (s.b * s.N)
        return (
            (factor, ("momentum_choice",)),
            *self.short(30 * factor / (s.b * s.N * s.q**2)),
            (left / s.q**2, ("q>=1",)),
            (left / s.q, ("q>=1",)),
            (left, ("b>=1",)),
            (left * s.b, ("N>=1",)),
        )


PROBLEM = AXIOMS | {
    "every Jacobian": Assumed("L_g", "dg"),
    "every inner function": Assumed("L_g", "g"),
    "every Jacobian is Lipschitz": Assumed("S_g", "dg"),
}
"""The assumptions of FCSG, with what variance reduction needs of every sample."""


def sampled_smoothness(s: Reader) -> tuple[Step, ...]:
    """E||G(v) - G(w)||^2 <= S_F^2 ||v - w||^2 with the same samples."""
    v, w = Var("v"), Var("w")
    jacobian, other = App("dg", v, (0, 0)), App("dg", w, (0, 0))
    at_v, at_w = (App("df", inner_batch(App("g", x, (0, 0))), (0,)) for x in (v, w))
    first, second = Act(inner_batch(jacobian), at_v - at_w), Act(inner_batch(jacobian - other), at_w)
    values, gap = App("g", v, (0, 0)) - App("g", w, (0, 0)), sq(v - w)
    return (
        Step("sampled.outer", Assume("outer smoothness", (at_v, at_w))),
        Step("sampled.inner", Assume("every inner function", (App("g", v, (0, 0)), App("g", w, (0, 0))))),
        Step("sampled.jacobian", Assume("every Jacobian", (jacobian,))),
        Step("sampled.mean", MeanMoment("sampled.jacobian", ("j",))),
        Step("sampled.action", Action("sampled.mean", at_v - at_w)),
        Step(
            "sampled.first",
            Combine(
                sq(first),
                (s.S_f * s.L_g**2) ** 2 * gap,
                (
                    (ONE, "sampled.action"),
                    (s.L_g**2, "sampled.outer"),
                    (s.L_g**2 * s.S_f**2, "sampled.inner"),
                ),
                deviation("j", values, weight=s.L_g**2 * s.S_f**2),
            ),
        ),
        Step("sampled.difference", Assume("every Jacobian is Lipschitz", (jacobian, other, at_w))),
        Step(
            "sampled.second",
            Combine(
                sq(second),
                (s.S_g * s.L_f) ** 2 * gap,
                ((ONE, "sampled.difference"),),
                deviation("j", Act(jacobian - other, at_w)),
            ),
            "Jensen over the inner batch",
        ),
        Step(
            "sampled.sum",
            Triangle((("sampled.first", first, s.S_f * s.L_g**2), ("sampled.second", second, s.S_g * s.L_f)), gap),
        ),
        Step(
            "sampled",
            Combine(sq(sampled_gradient(v) - sampled_gradient(w)), s.S_F**2 * gap, ((ONE, "sampled.sum"),)),
        ),
        *second_moment(s, v),
    )


def updates() -> tuple[Step, ...]:
    """Lines 2, 6 and 14: the fresh estimate, and what is used of it."""
    return (
        Step("h.first", Definition("h", "first local")),
        Step("h.first.mean", Project("h.first", ("n",))),
        Step("h.later", Definition("h", "local")),
        Step("h.later.mean", Project("h.later", ("n",))),
        Step("h.next", Later("h.later", 1)),
        Step("u.local", Definition("u", "local")),
        Step("u.local.mean", Project("u.local", ("n",))),
        Step("u.shared", Definition("u", "communication")),
        Step("u.shared.mean", Project("u.shared", ("n",))),
        Step("u.agree", Linear(away(USED), ((ONE, "u.shared"), (-ONE, "u.shared.mean")))),
        Step("ubar.local", Linear(clients(USED) - clients(FRESH), ((ONE, "u.local.mean"),))),
        Step("ubar.shared", Linear(clients(USED) - clients(FRESH), ((ONE, "u.shared.mean"),))),
        Step("ubar", Cases(("ubar.local", "ubar.shared"))),
    )


def moves(s: Reader) -> tuple[Step, ...]:
    """Step 1: how far a client moves; at a communication it is moved to the mean as well."""
    move, step = AFTER - X, s.alpha * USED
    opened = ((ONE, "V"), (-(s.alpha**2), "W"))
    return (
        *(Step(name, Open(name)) for name in ("V", "W", "X", "D", "H")),
        Step("H.next", Open("H", 1)),
        Step(
            "V.local",
            Combine(
                quantity("V"),
                s.alpha**2 * (quantity("D") + quantity("W")),
                (*opened, (-(s.alpha**2), "D")),
                pairings=((ONE, "local", move - step),),
            ),
        ),
        Step(
            "V.shared",
            Combine(
                quantity("V"),
                quantity("X") + s.alpha**2 * quantity("W"),
                (*opened, (-ONE, "X")),
                pairings=((ONE, "averaging", move - away(X) - s.alpha * clients(USED)),),
            ),
            "the two parts are orthogonal",
        ),
        Step("V.sum", SumOver("V.local", "V.shared")),
        Step(
            "D.local",
            Combine(
                quantity("D"),
                quantity("H"),
                ((ONE, "D"), (-ONE, "H")),
                pairings=((ONE, "u.local", away(USED) + away(FRESH)),),
            ),
        ),
        Step(
            "D.shared",
            Combine(quantity("D"), scalar(0), ((ONE, "D"),), pairings=((ONE, "u.agree", away(USED)),)),
        ),
        Step("D.sum", SumOver("D.local", "D.shared"), "the estimates as used, over local steps only"),
        Step("growth", Combine(sq(s.alpha * away(USED)), s.alpha**2 * quantity("D"), ((-(s.alpha**2), "D"),))),
        Step("drift", Drift("X", "apart", "agree", "common start", "growth")),
        Step("drift.shared", Drift("X", "apart", "agree", "common start", "growth", "communications")),
        Step("moved", Instance("sampled", (("v", X), ("w", BEFORE)))),
        Step("moment.before", Instance("moment", (("v", BEFORE),))),
    )


def dispersion(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Steps 3 and 4: the fresh estimates spread within a round and start afresh after a communication."""
    change, spread = c.change, away(batch(c.change))
    later = G - G_BEFORE
    local, q = 2 * (1 + s.q) * s.S_F**2, s.q
    change_next = sampled_gradient_later(c)
    fresh_next = (1 - s.beta) * USED + batch(change_next)
    squared = 2 * s.beta**2 * c.product
    return (
        Step(
            "change",
            Combine(
                sq(change),
                2 * s.S_F**2 * sq(X - BEFORE) + squared,
                ((TWO, "moved"), (2 * s.beta**2, "moment.before")),
                ((ONE, later - s.beta * G_BEFORE),),
            ),
            "G(x) - (1-beta) G(x') = (G(x) - G(x')) + beta G(x')",
        ),
        Step(
            "spread.later",
            Combine(
                sq(away(FRESH)),
                (1 + 1 / q) * sq(away(U)) + (1 + q) * (2 * s.S_F**2 * sq(X - BEFORE) + squared),
                ((1 + q, "change"),),
                (
                    (q, (1 - s.beta) / q * away(U) - spread),
                    (1 + q, change - batch(change)),
                    (1 + q, clients(batch(change))),
                    ((1 + 1 / q) * s.beta * (2 - s.beta), away(U)),
                ),
                pairings=((ONE, "h.later", away(FRESH) + away(c.fresh)),),
                certificates=(c.momentum((1 + 1 / q) * s.beta),),
            ),
            "Young's inequality with the weight 1/q",
        ),
        Step("spread.next", Later("spread.later", 1)),
        Step("change.next", Later("change", 1)),
        Step(
            "spread.local",
            Combine(
                quantity("H", 1),
                (1 + 1 / q + local * s.alpha**2) * quantity("H")
                + local * s.alpha**2 * quantity("W")
                + (1 + q) * squared,
                (
                    (ONE, "H.next"),
                    (ONE, "spread.next"),
                    (-local, "V"),
                    (local, "V.local"),
                    (-(1 + 1 / q), "D"),
                    (1 + 1 / q + local * s.alpha**2, "D.local"),
                ),
            ),
        ),
        Step(
            "spread.shared",
            Combine(
                quantity("H", 1),
                2 * s.S_F**2 * (quantity("X") + s.alpha**2 * quantity("W")) + squared,
                ((ONE, "H.next"), (ONE, "change.next"), (-2 * s.S_F**2, "V"), (2 * s.S_F**2, "V.shared")),
                ((ONE, change_next - batch(change_next)), (ONE, clients(batch(change_next)))),
                pairings=(
                    (ONE, "h.next", away(Var("h", 2)) + away(fresh_next)),
                    (ONE, "u.agree", (1 - s.beta) ** 2 * USED + 2 * (1 - s.beta) * batch(change_next)),
                ),
            ),
            "the estimates agree, the models were moved",
        ),
        Step(
            "growth.round",
            Gronwall(
                "H",
                "spread.local",
                "spread.shared",
                RATE,
                GROWTH,
                ((*c.short(2 * (1 + q) / q**2), (1 / (72 * q**2), ("q>=1",))),),
            ),
        ),
        Step(
            "spread.first",
            Combine(
                quantity("H"),
                scalar(c.product),
                ((ONE, "H"), (ONE, "moment.now")),
                ((ONE, G - batch(G)), (ONE, clients(batch(G)))),
                pairings=((ONE, "h.first", away(FRESH) + away(batch(G))),),
            ),
        ),
        Step("spread.start", AtStart("spread.first")),
        Step(
            "dispersion",
            Combine(
                total("D"),
                SHARE
                * GROWTH
                * (q - 1)
                * (2 * (q + 1) * c.y**2 * total("W") + c.product + q * s.beta**2 * c.product * s.T),
                (
                    (SHARE * ONE, "D.sum"),
                    (SHARE * ONE, "growth.round"),
                    (SHARE * GROWTH * (q - 1), "spread.start"),
                    (SHARE * GROWTH * (q - 1) * 2 * s.S_F**2, "drift.shared"),
                ),
                certificates=((*c.short(2 * SHARE * GROWTH), (2 * SHARE * GROWTH * c.y**2, ("q>=1",))),),
            ),
            "the jump after a communication is at most the spread of the round before",
        ),
    )


def sampled_gradient_later(c: Constants) -> Term:
    """What a client adds at the next step."""
    chain = [
        Act(inner_batch(App("dg", x, (1, 1))), App("df", inner_batch(App("g", x, (1, 1))), (1,))) for x in (AFTER, X)
    ]
    return chain[0] - (1 - c.s.beta) * chain[1]


def tracking(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 2: the error of the mean estimate."""
    z = c.change - Given(PAST, c.change)
    first = G - plug_in_gradient(X)
    per, large = 1 / (s.N * s.b), 1 / (s.N * s.B)
    added = per * (2 * s.S_F**2 * quantity("V", -1) + 2 * s.beta**2 * c.product)
    return (
        Step("E", Open("E")),
        Step("E.before", Open("E", -1)),
        Step("V.before", Open("V", -1)),
        Step("noise.clients", IndependentMean(batch(z), "n", PAST)),
        Step("noise.batch", IndependentMean(z, "i", PAST)),
        Step(
            "error.later",
            Combine(
                quantity("E"),
                (1 - s.beta) * quantity("E", -1) + added,
                (
                    (ONE, "E"),
                    (-(1 - s.beta), "E.before"),
                    (-2 * per * s.S_F**2, "V.before"),
                    (ONE, "noise.clients"),
                    (1 / s.N, "noise.batch"),
                    (per, "change"),
                ),
                ((per, Given(PAST, c.change)), (s.beta * (1 - s.beta), clients(U) - TARGET_BEFORE)),
                pairings=(
                    (ONE, "ubar", clients(USED) + clients(FRESH) - 2 * TARGET),
                    (ONE, "h.later.mean", clients(FRESH) + clients(c.fresh) - 2 * TARGET),
                ),
                certificates=(c.momentum(s.beta),),
            ),
            "the fresh noise is orthogonal; (1-beta)^2 <= 1-beta",
        ),
        Step("error", Later("error.later", 1)),
        Step("error.sum", SumOver("error", drop=1)),
        Step("first.clients", IndependentMean(batch(first), "n", PAST)),
        Step("first.batch", IndependentMean(first, "i", PAST, first=True)),
        Step(
            "error.first",
            Combine(
                quantity("E"),
                scalar(large * c.product),
                ((ONE, "E"), (ONE, "first.clients"), (1 / s.N, "first.batch"), (large, "moment.now")),
                ((large, plug_in_gradient(X)),),
                pairings=(
                    (ONE, "ubar", clients(USED) + clients(FRESH) - 2 * TARGET),
                    (ONE, "h.first.mean", clients(FRESH) + clients(batch(G)) - 2 * TARGET),
                ),
            ),
        ),
        Step("error.start", AtStart("error.first")),
        Step(
            "errors",
            Combine(
                total("E"),
                large * c.product / s.beta
                + Fraction(1, 15) * (s.q * total("D") + total("W"))
                + 2 * s.beta * per * c.product * s.T,
                (
                    (1 / s.beta, "error.sum"),
                    (1 / s.beta, "error.start"),
                    (1 / (15 * s.alpha**2), "V.sum"),
                    (1 / (15 * s.alpha**2), "drift.shared"),
                ),
                certificates=(
                    c.momentum(1 / s.beta),
                    ((2 * per * s.S_F**2 / (s.c * s.alpha**2 * s.beta), ("momentum_choice reversed",)),),
                ),
            ),
            "beta = c alpha^2 with c = 30 S_F^2/(b N)",
        ),
    )


def descent(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 5: Lemma D.1."""
    mean_u, moved = clients(USED), NEXT - BAR
    here, there, plug_in = client_gradient(BAR), client_gradient(X), plug_in_gradient(X)
    share = Fraction(3, 2) * s.alpha
    return (
        Step("distance.smooth", Instance("smooth.client", (("v", BAR), ("w", X)))),
        Step("distance.bias", Instance("bias", (("v", X),))),
        Step("smooth step", SmoothDescent("F", "smooth", s.S_F, "r", BAR, NEXT)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step("gradient", Open("gradient")),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F")
                - s.alpha / 2 * quantity("gradient")
                - s.alpha / 2 * (1 - c.y) * quantity("W")
                + share * (s.S_F**2 * quantity("X") + c.delta + quantity("E")),
                (
                    (ONE, "smooth step"),
                    (ONE, "F.next"),
                    (-ONE, "F"),
                    (s.alpha / 2, "gradient"),
                    (s.alpha / 2 * (1 - c.y), "W"),
                    (-share, "E"),
                    (-share * s.S_F**2, "X"),
                    (share, "distance.smooth"),
                    (share, "distance.bias"),
                ),
                (
                    *apart(
                        clients(here - there),
                        clients(there - plug_in),
                        TARGET - mean_u,
                        weight=s.alpha / 2,
                    ),
                    *deviation("n", here - there, there - plug_in, weight=share),
                ),
                pairings=((ONE, "mean", clients(here)), (s.S_F / 2, "mean", moved - s.alpha * mean_u)),
            ),
            "grad F - ubar in three parts",
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )


def closing(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 6: the mean estimate absorbs its share of the errors."""
    weight = Fraction(3, 2) * c.y**2 * s.q**2 + s.q / 5
    scale = SHARE * GROWTH
    squared = s.c**2 * s.alpha**2 / s.S_F**2 * c.product * s.T

    def small(factor: Signomial) -> Certificate:
        """factor (3/2 ((1/144)^2 - (alpha q S_F)^4) + 1/5 (9/16 - q^3 (alpha S_F)^2)) >= 0."""
        fourth = Fraction(3, 2) * factor
        return (
            *c.short(fourth * c.y**2 * s.q**2),
            *c.short(fourth / 144),
            *c.long(factor / 5),
        )

    return (
        Step(
            "tail",
            Combine(
                3 * total("E") + 3 * s.S_F**2 * total("X") - (1 - c.y) * total("W"),
                scalar(
                    3 * c.product / (s.beta * s.N * s.B)
                    + 6 * s.beta * c.product * s.T / (s.N * s.b)
                    + Fraction(1, 3) * squared
                    + Fraction(3, 5) * s.q * (s.q - 1) * c.product
                ),
                ((THREE, "errors"), (3 * s.S_F**2, "drift"), (weight, "dispersion")),
                certificates=(
                    (
                        *small(2 * scale),
                        (s.S_F, ("step_size",)),
                        (1 / (12 * s.q), ("q>=1",)),
                    ),
                    (
                        *small(scale * squared),
                        (scale * s.q**2 * weight * (s.c * s.alpha**2 + s.beta) * c.product * s.T, ("momentum_choice",)),
                        *((factor, ("q>=1", *names)) for factor, names in c.short(Fraction(3, 2) * scale * c.product)),
                        (c.product / 60, ("q whole",)),
                        (c.product * (Fraction(1, 30) - Fraction(35, 1152)), ("q>=1",)),
                    ),
                ),
            ),
            "5.83 (3/2 k^4 + q k^2/5) <= 11/12 - 1/5 for k = alpha q S_F <= 1/12 and q k^2 <= 9/16",
        ),
    )


def theorem_4_7(s: Reader) -> Derivation:
    """Acc-FCSG-M: descent along the mean estimate; its error is fed by the moves, they by the spread of the estimates."""
    c = Constants(s)
    steps = (
        *smoothness(s),
        *bias(s),
        *sampled_smoothness(s),
        *consensus(s),
        *updates(),
        *moves(s),
        Step("moment.now", Instance("moment", (("v", X),))),
        *dispersion(s, c),
        *tracking(s, c),
        *descent(s, c),
        *closing(s, c),
    )
    estimate = Variable("h", "x", CLIENT, ((FIRST, batch(G)), (LATER, c.fresh)))
    return Derivation(
        setting(s, ((LOCAL, FRESH), (COMMUNICATION, clients(FRESH))), (estimate,)),
        (
            Quantity("X", sq(away(X))),
            Quantity("H", sq(away(FRESH))),
            Quantity("D", sq(away(USED))),
            Quantity("W", sq(clients(USED))),
            Quantity("V", sq(AFTER - X)),
            Quantity("E", sq(clients(USED) - TARGET)),
            Quantity("gradient", sq(clients(client_gradient(BAR)))),
            Quantity("F", value("F", BAR)),
        ),
        PROBLEM,
        steps,
        ((2 / (s.alpha * s.T), "sum"), (2 / (s.alpha * s.T), "bounded"), (1 / s.T, "tail")),
        "gradient",
        "x",
        dict.fromkeys(("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "q", "m", "b", "B", "N", "T"), Fraction(1))
        | {"alpha": Fraction(1, 24), "beta": Fraction(5, 24)},
        "not stated: independence over time",
    )


def corollary_4_8(_: Reader) -> Corollary:
    """The schedule put into Theorem 4.7; the two conditions on q are those on alpha."""
    inside = dict.fromkeys(("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "q", "m", "b", "N"), Fraction(1))
    return Corollary(THEOREM_4_7, inside | {"T": Fraction(8)}, (("long_round", Fraction(1, 6)),))


DERIVATIONS = (("theorem_4_7", theorem_4_7), ("corollary_4_8", corollary_4_8))
