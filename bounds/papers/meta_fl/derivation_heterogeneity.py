"""M6: the gradients through the paths of the clients, and through that of their mean."""

from __future__ import annotations

from ...proof.kernel import (
    CLIENTS,
    EVERY,
    ONE,
    Act,
    Action,
    Along,
    Assume,
    Assumed,
    Combine,
    Definition,
    Delivery,
    Function,
    Identity,
    Index,
    Induction,
    Loop,
    Numbers,
    Reader,
    Scalar,
    Sequence,
    Setting,
    Start,
    Step,
    Suppose,
    Var,
    Variable,
    scalar,
    sq,
)
from .derivation_loops import (
    CLIENT,
    END_P,
    END_Q,
    POWER,
    SUM,
    ZERO,
    A,
    E,
    N,
    P,
    Q,
    S,
    U,
    clients,
    exact_of,
    following,
    growth,
    hessian,
    inside,
    squared,
    stretched,
    sure_gradient,
    triangle,
)


def apart_paths(s: Reader) -> Loop:
    """M6, step 1: w is the path of client i, v that of f."""
    w, v = U, Var("v")
    mean = clients(exact_of(v))
    jump, own = -s.alpha * (exact_of(w) - exact_of(v)), -s.alpha * (exact_of(v) - mean)
    apart, size = sq(w - v), s.alpha * s.gamma_G * S
    next_ = Var("u", 1) - Var("v", 1)
    sequences = (POWER, SUM, Sequence("N", ZERO, N + S))
    numbers = Numbers(s.nu, sequences)
    steps = (
        Step("start", Assume("start")),
        Step("u", Definition("u", "local")),
        Step("v", Definition("v", "local")),
        Step("supposed", Suppose(apart, size**2)),
        Step("lipschitz", Assume("lipschitz", (exact_of(w), exact_of(v)))),
        stretched(s, "move", jump, s.L, size, "lipschitz", "supposed"),
        Step("heterogeneity", Assume("heterogeneity", (exact_of(v),))),
        Step("own", Combine(sq(own), scalar((s.alpha * s.gamma_G) ** 2), ((s.alpha**2, "heterogeneity"),))),
        Step(
            "grown",
            triangle(
                ("supposed", w - v, size), ("move", jump, s.alpha * s.L * size), ("own", own, s.alpha * s.gamma_G)
            ),
        ),
        following("next", numbers, size, ("u", "v", next_, w - v + jump + own), (ONE, "grown")),
        Step("first", Combine(apart, scalar(ZERO), pairings=((ONE, "start", w - v),))),
        Step("path", Induction(apart, size**2, "first", "next")),
        Step("power", Identity(1 + s.alpha * s.L * S, E, A)),
    )
    setting = Setting(
        (Index("i", s.n, of=CLIENTS),),
        (),
        (Function("df", "x", "x", (), CLIENT, CLIENT, role="local_gradient"),),
        (
            Variable("u", "x", CLIENT, ((EVERY, w - s.alpha * exact_of(w)),)),
            Variable("v", "x", equations=((EVERY, v - s.alpha * mean),)),
        ),
    )
    axioms = {
        "start": Start("start", w - v),
        "lipschitz": Assumed("L", "df"),
        "heterogeneity": Assumed("gamma_G", "df"),
    }
    return Loop(setting, axioms, sequences, steps, constants=growth(s), inside=inside(s))


def lemma_7(s: Reader) -> Loop:
    """M6: a is the gradient through the path of client i, r that through the path of f, both from the end of the path on."""
    a, r = Var("a"), Var("r")
    before = apart_paths(s)
    mean = clients(hessian(Q))
    E_end, S_end = POWER.end, SUM.end
    k, R = (Sequence(name, ZERO, ZERO).now for name in ("k", "R"))
    sequences = (POWER, Sequence("k", ZERO, k + 1), Sequence("R", ZERO, R + SUM.reversed, ends="N"))
    numbers = Numbers(s.nu, sequences, before.sequences)
    size = s.gamma_G * E_end * E + s.alpha * s.B * E / A * (k * s.gamma_H + s.alpha * s.rho * s.gamma_G * R)
    away = s.alpha * s.gamma_G * SUM.reversed
    at_end = s.alpha * s.gamma_G * S_end
    error, r_size = a - r, s.B * E
    first_jump, first_own = exact_of(END_P) - exact_of(END_Q), exact_of(END_Q) - clients(exact_of(END_Q))
    turned, unlike, moved = (
        -s.alpha * Act(hessian(P), error),
        -s.alpha * Act(hessian(Q) - mean, r),
        -s.alpha * Act(hessian(P) - hessian(Q), r),
    )
    steps = (
        # the gradient through the path of f is at most B A^t
        Step("r.start", Assume("start of r")),
        Step("r", Definition("r", "local")),
        *sure_gradient(s, numbers, exact_of, hessian, "i"),
        # where the paths end
        Step("end", Along("path", sq(U - Var("v")), (s.alpha * s.gamma_G * S) ** 2, end=True)),
        Step("end.lipschitz", Assume("lipschitz", (exact_of(END_P), exact_of(END_Q)))),
        Step(
            "end.moved",
            Combine(sq(first_jump), scalar((s.L * at_end) ** 2), ((ONE, "end.lipschitz"), (s.L**2, "end"))),
        ),
        Step("end.unlike", Assume("heterogeneity", (exact_of(END_Q),))),
        Step("end.apart", triangle(("end.moved", first_jump, s.L * at_end), ("end.unlike", first_own, s.gamma_G))),
        Step("power", Along("power", Scalar(), E - 1 - s.alpha * s.L * S, end=True)),
        Step("a.start", Assume("start of a")),
        Step(
            "first",
            Combine(
                sq(error),
                scalar(numbers.at_start(size**2)),
                ((ONE, "end.apart"), (s.gamma_G**2 * (E_end + 1 + s.alpha * s.L * S_end), "power")),
                pairings=squared("a.start", "r.start", error, first_jump + first_own),
            ),
            "1 + alpha L S = A^nu",
        ),
        # back along the paths
        Step("a", Definition("a", "local")),
        Step("supposed", Suppose(sq(error), size**2)),
        Step("hessian.p", Assume("hessian", (hessian(P),))),
        Step("turned.hessian", Action("hessian.p", error)),
        stretched(s, "turned", turned, s.L, size, "turned.hessian", "supposed"),
        Step("unlike.hessian", Assume("hessian heterogeneity", (hessian(Q), r), ("sure",))),
        Step(
            "unlike",
            Combine(sq(unlike), scalar((s.alpha * s.gamma_H * r_size) ** 2), ((s.alpha**2, "unlike.hessian"),)),
        ),
        Step("apart", Along("path", sq(U - Var("v")), (s.alpha * s.gamma_G * S) ** 2)),
        Step("moved.hessian", Assume("hessian lipschitz", (hessian(P), hessian(Q), r), ("sure",))),
        stretched(s, "moved", moved, s.rho * r_size, away, "moved.hessian", "apart"),
        Step(
            "grown",
            triangle(
                ("supposed", error, size),
                ("turned", turned, s.alpha * s.L * size),
                ("unlike", unlike, s.alpha * s.gamma_H * r_size),
                ("moved", moved, s.alpha * s.rho * r_size * away),
            ),
        ),
        following(
            "next",
            numbers,
            size,
            ("a", "r", Var("a", 1) - Var("r", 1), error + turned + unlike + moved),
            (ONE, "grown"),
        ),
        Step("error", Induction(sq(error), size**2, "first", "next")),
        Step(
            "heterogeneity",
            Combine(sq(a - clients(a)), scalar(size**2), ((ONE, "error"),), ((ONE, clients(a) - r),)),
            "what is subtracted is the same for all clients",
        ),
    )
    setting = Setting(
        (Index("i", s.n, of=CLIENTS),),
        (),
        (
            Function("df", "x", "x", (), CLIENT, CLIENT, role="local_gradient"),
            Function("ddf", "x", ("x", "x"), (), CLIENT, CLIENT, role="local_hessian"),
        ),
        (
            Variable("p", "x", CLIENT),
            Variable("q", "x"),
            Variable("a", "x", CLIENT, ((EVERY, a - s.alpha * Act(hessian(P), a)),)),
            Variable("r", "x", equations=((EVERY, r - s.alpha * Act(mean, r)),)),
        ),
    )
    axioms = {
        "start of a": Start("start", a - exact_of(END_P)),
        "start of r": Start("start", r - clients(exact_of(END_Q))),
        "gradient": Assumed("B", "df"),
        "lipschitz": Assumed("L", "df"),
        "hessian": Assumed("L", "ddf"),
        "hessian lipschitz": Assumed("rho", "ddf"),
        "heterogeneity": Assumed("gamma_G", "df"),
        "hessian heterogeneity": Assumed("gamma_H", "ddf"),
    }
    return Loop(
        setting,
        axioms,
        sequences,
        steps,
        (Delivery("", "heterogeneity"),),
        growth(s),
        inside(s),
        before=before,
        reversed={"u": "p", "v": "q"},
    )
