"""FCSG-M: the derivation of the corrected Theorem 4.4; problem, noise and consensus are those of FCSG."""

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
    Corollary,
    Definition,
    Derivation,
    Drift,
    Given,
    Instance,
    Invariant,
    Later,
    Linear,
    MeanMoment,
    Open,
    Project,
    Quantity,
    Reader,
    SmoothDescent,
    Step,
    SumOver,
    Term,
    Triangle,
    Var,
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
    HORIZON_AND_ROUNDS,
    PAST,
    at_schedule,
    batch,
    bias,
    client_gradient,
    clients,
    consensus,
    inner_batch,
    noise,
    plug_in_gradient,
    sampled_gradient,
    second_moment,
    setting,
    smoothness,
)
from .theorems import THEOREM_4_4

X, AFTER, BEFORE, U = Var("x"), Var("x", 1), Var("x", -1), Var("u")
BAR, NEXT = clients(X), clients(AFTER)
G = sampled_gradient(X)
NEW = Var("u", 1)
TWO = signomial(2)


def updates(s: Reader) -> tuple[tuple[frozenset[str], Term], ...]:
    """Algorithm 1, lines 2, 6 and 15: the estimate is averaged with the models."""
    moved = (1 - s.beta) * U + s.beta * batch(G)
    local, shared = frozenset({"local"}), frozenset({"communication"})
    return (
        (frozenset({"first local"}), batch(G)),
        (frozenset({"first communication"}), clients(batch(G))),
        (local, moved),
        (shared, clients(moved)),
    )


def plug_in_smoothness(s: Reader) -> tuple[Step, ...]:
    """grad Fhat^n is S_F-Lipschitz too: the same two differences with inner batches."""
    v, w = Var("v"), Var("w")
    jacobian = App("dg", v, (0, 0))
    at_v, at_w = (inner_batch(App("g", x, (0, 0))) for x in (v, w))
    first = Given(PAST, Act(inner_batch(jacobian), App("df", at_v, (0,)) - App("df", at_w, (0,))))
    second = Given(PAST, Act(jacobian - App("dg", w, (0, 0)), App("df", at_w, (0,))))
    values, gap = App("g", v, (0, 0)) - App("g", w, (0, 0)), sq(v - w)
    return (
        Step("plug.outer", Assume("outer smoothness", (App("df", at_v, (0,)), App("df", at_w, (0,))))),
        Step("plug.inner", Assume("inner Lipschitz", (App("g", v, (0, 0)), App("g", w, (0, 0))))),
        Step("plug.jacobian", Assume("inner Jacobian", (jacobian,))),
        Step("plug.mean", MeanMoment("plug.jacobian", ("j",))),
        Step("plug.action", Action("plug.mean", App("df", at_v, (0,)) - App("df", at_w, (0,)))),
        Step(
            "plug.first",
            Combine(
                sq(first),
                (s.S_f * s.L_g**2) ** 2 * gap,
                (
                    (ONE, "plug.action"),
                    (s.L_g**2, "plug.outer"),
                    (s.L_g**2 * s.S_f**2, "plug.inner"),
                ),
                deviation("j", values, weight=s.L_g**2 * s.S_f**2),
            ),
        ),
        Step(
            "plug.second",
            Assume("inner smoothness", (jacobian, App("dg", w, (0, 0)), App("df", at_w, (0,)))),
        ),
        Step(
            "plug.sum",
            Triangle(
                (("plug.first", first, s.S_f * s.L_g**2), ("plug.second", second, s.S_g * s.L_f)),
                gap,
            ),
        ),
        Step(
            "plug",
            Combine(sq(plug_in_gradient(v) - plug_in_gradient(w)), s.S_F**2 * gap, ((ONE, "plug.sum"),)),
        ),
    )


def estimates(s: Reader) -> tuple[Step, ...]:
    """The update equations, their means, and the second moment of an estimate by induction."""
    product = s.L_f**2 * s.L_g**2
    moved = (1 - s.beta) * U + s.beta * batch(G)
    mean_moved = clients(moved)
    lower = ((s.beta, G - batch(G)), (s.beta * (1 - s.beta), U - batch(G)))

    def first(phase: str, target: Term) -> Step:
        squares = ((ONE, G - batch(G)), (ONE, batch(G) - target))
        return Step(
            f"size.{phase}",
            Combine(
                quantity("u_squared", 1),
                scalar(product),
                ((ONE, "u^2"), (ONE, "moment")),
                squares if target != batch(G) else squares[:1],
                pairings=((ONE, f"u.{phase}", NEW + target),),
            ),
        )

    def later(phase: str, target: Term) -> Step:
        squares = lower if target == moved else (*lower, (ONE, moved - target))
        return Step(
            f"size.{phase}",
            Combine(
                quantity("u_squared", 1),
                (1 - s.beta) * quantity("u_squared") + s.beta * product,
                ((ONE, "u^2"), (-(1 - s.beta), "u^2.now"), (s.beta, "moment")),
                squares,
                pairings=((ONE, f"u.{phase}", NEW + target),),
            ),
        )

    phases = ("first local", "first communication", "local", "communication")
    together = clients(NEW) - clients(batch(G))
    mixed = clients(NEW) - mean_moved
    return (
        *(Step(f"u.{phase}", Definition("u", phase)) for phase in phases),
        *(Step(f"ubar.{phase}", Project(f"u.{phase}", ("n",))) for phase in phases),
        *(Step(f"mean.{phase}", Linear(together, ((ONE, f"ubar.{phase}"),))) for phase in phases[:2]),
        *(Step(f"mean.later {phase}", Linear(mixed, ((ONE, f"ubar.{phase}"),))) for phase in phases[2:]),
        Step("ubar.first", Cases(("mean.first local", "mean.first communication"))),
        Step("ubar.later", Cases(("mean.later local", "mean.later communication"))),
        Step("u^2", Open("u_squared", 1)),
        Step("u^2.now", Open("u_squared")),
        first("first local", batch(G)),
        first("first communication", clients(batch(G))),
        Step("size.first", Cases(("size.first local", "size.first communication"))),
        later("local", moved),
        later("communication", mean_moved),
        Step("size.later", Cases(("size.local", "size.communication"))),
        Step("size", Invariant("u_squared", product, "size.first", "size.later"), "a convex combination of gradients"),
    )


def tracking(s: Reader) -> tuple[Step, ...]:
    """Lemma C.2 with 1/(N b): the error of the mean estimate forgets at rate beta/2."""
    product, beta = s.L_f**2 * s.L_g**2, s.beta
    target, before = clients(plug_in_gradient(BAR)), clients(plug_in_gradient(clients(BEFORE)))
    mean_g, known = clients(batch(G)), clients(plug_in_gradient(X))
    old, moved, away = clients(U) - before, before - target, known - target
    gap, gap_before = (
        plug_in_gradient(X) - plug_in_gradient(BAR),
        plug_in_gradient(BAR) - plug_in_gradient(clients(BEFORE)),
    )
    step = beta * s.S_F**2
    move_before = BAR - clients(BEFORE)
    return (
        Step("E", Open("E")),
        Step("E.before", Open("E", -1)),
        Step("W.before", Open("W", -1)),
        Step("X", Open("X")),
        Step("tracking.apart", Instance("plug", (("v", X), ("w", BAR)))),
        Step("tracking.moved", Instance("plug", (("v", BAR), ("w", clients(BEFORE))))),
        Step("mean.before", Later("mean", -1)),
        Step(
            "tracking.later",
            Combine(
                quantity("E"),
                (1 - beta / 2) * quantity("E", -1)
                + 2 * s.alpha**2 * s.S_F**2 / beta * quantity("W", -1)
                + step * quantity("X")
                + beta**2 * product / (s.N * s.b),
                (
                    (ONE, "E"),
                    (-(1 - beta / 2), "E.before"),
                    (-2 * s.alpha**2 * s.S_F**2 / beta, "W.before"),
                    (-step, "X"),
                    (beta**2, "noise.later"),
                    (beta, "tracking.apart"),
                    (2 / beta, "tracking.moved"),
                ),
                (
                    (beta * (1 - beta), old + moved - away),
                    (beta / 2, old - 2 * (1 - beta) / beta * moved),
                    (3 - beta, moved),
                    *deviation("n", gap, weight=beta),
                    *deviation("n", gap_before, weight=2 / beta),
                ),
                pairings=(
                    (ONE, "ubar.later", clients(NEW) + clients((1 - beta) * U + beta * batch(G)) - 2 * target),
                    (
                        2 * s.S_F**2 / beta,
                        "mean.before",
                        move_before - s.alpha * clients(U),
                    ),
                ),
            ),
            "convexity, then Young's inequality; the fresh noise is orthogonal",
        ),
        Step("tracking", Later("tracking.later", 1)),
        Step("tracking.sum", SumOver("tracking", drop=1)),
        Step(
            "tracking.first",
            Combine(
                quantity("E"),
                s.S_F**2 * quantity("X") + product / (s.N * s.B),
                ((ONE, "E"), (-(s.S_F**2), "X"), (ONE, "noise.start"), (ONE, "tracking.apart")),
                deviation("n", gap),
                pairings=((ONE, "ubar.first", clients(NEW) + mean_g - 2 * target),),
            ),
        ),
        Step("tracking.start", AtStart("tracking.first")),
        Step(
            "start.together",
            Combine(quantity("X"), scalar(0), ((ONE, "X"),), pairings=((ONE, "common start", X - BAR),)),
        ),
        Step("start", AtStart("start.together")),
        Step(
            "errors",
            Combine(
                total("E"),
                4 * s.alpha**2 * s.S_F**2 / beta**2 * total("W")
                + 2 * s.S_F**2 * total("X")
                + 2 * beta * product * s.T / (s.N * s.b)
                + 2 * product / (beta * s.N * s.B),
                (
                    (2 / beta, "tracking.sum"),
                    (2 / beta, "tracking.start"),
                    (2 * s.S_F**2 / beta, "start"),
                ),
            ),
        ),
    )


def first_noise(s: Reader) -> tuple[Step, ...]:
    """The first estimate has a batch of B."""
    z = G - plug_in_gradient(X)
    weights = ((ONE, "noise.clients"), (1 / s.N, "noise.batch.first"), (1 / (s.N * s.B), "moment"))
    claim = scalar(s.L_f**2 * s.L_g**2 / (s.N * s.B))
    square = ((1 / (s.N * s.B), plug_in_gradient(X)),)
    return (Step("noise.start", Combine(sq(clients(batch(z))), claim, weights, square)),)


def theorem_4_4(s: Reader) -> Derivation:
    """FCSG-M: descent along the mean estimate, whose error is tracked."""
    product, delta = s.L_f**2 * s.L_g**2, s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
    mean_u, moved = clients(NEW), NEXT - BAR
    gradient, target = clients(client_gradient(BAR)), clients(plug_in_gradient(BAR))
    gap = client_gradient(BAR) - plug_in_gradient(BAR)
    keep = {"noise.first", "noise"}
    steps = (
        *smoothness(s),
        *bias(s),
        *plug_in_smoothness(s),
        *second_moment(s),
        *consensus(s),
        *estimates(s),
        *(step for step in noise(s) if step.name not in keep),
        *first_noise(s),
        Step(
            "growth",
            Combine(
                sq(s.alpha * (NEW - mean_u)),
                scalar(s.alpha**2 * product),
                ((s.alpha**2, "size"), (-(s.alpha**2), "u^2")),
                ((s.alpha**2, mean_u),),
            ),
        ),
        Step("drift", Drift("X", "apart", "agree", "common start", "growth")),
        *tracking(s),
        Step("distance.bias", Instance("bias", (("v", BAR),))),
        Step("smooth step", SmoothDescent("F", "smooth", s.S_F, "r", BAR, NEXT)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step("gradient", Open("gradient")),
        Step("W", Open("W")),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F")
                - s.alpha / 2 * quantity("gradient")
                - s.alpha / 2 * (1 - s.alpha * s.S_F) * quantity("W")
                + 4 * s.alpha * s.S_F**2 * quantity("X")
                + 2 * s.alpha * delta
                + 2 * s.alpha * quantity("E"),
                (
                    (ONE, "smooth step"),
                    (ONE, "F.next"),
                    (-ONE, "F"),
                    (s.alpha / 2, "gradient"),
                    (s.alpha / 2 * (1 - s.alpha * s.S_F), "W"),
                    (-s.alpha, "E"),
                    (s.alpha, "distance.bias"),
                ),
                (
                    *apart(gradient - target, target - mean_u, weight=s.alpha / 2),
                    *deviation("n", gap, weight=s.alpha),
                ),
                pairings=((ONE, "mean", gradient), (s.S_F / 2, "mean", moved - s.alpha * mean_u)),
            ),
            "Lemma C.1 as printed; half of each of the last three terms is enough",
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )
    return Derivation(
        setting(s, updates(s)),
        (
            Quantity("X", sq(X - BAR)),
            Quantity("u_squared", sq(U)),
            Quantity("W", sq(mean_u)),
            Quantity("E", sq(mean_u - target)),
            Quantity("gradient", sq(gradient)),
            Quantity("F", value("F", BAR)),
        ),
        AXIOMS,
        steps,
        (
            (2 / (s.alpha * s.T), "sum"),
            (2 / (s.alpha * s.T), "bounded"),
            (4 / s.T, "errors"),
            (16 * s.S_F**2 / s.T, "drift"),
        ),
        "gradient",
        "x",
        dict.fromkeys(
            ("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "q", "m", "b", "B", "N", "T", "beta"), Fraction(1)
        )
        | {"alpha": Fraction(1, 10)},
        "not stated: independence over time",
    )


def corollary_4_5(_: Reader) -> Corollary:
    """The schedule put into Theorem 4.4: beta = 5 S_F alpha."""
    return Corollary(THEOREM_4_4, at_schedule("q"), HORIZON_AND_ROUNDS)


DERIVATIONS = (("theorem_4_4", theorem_4_4), ("corollary_4_5", corollary_4_5))
