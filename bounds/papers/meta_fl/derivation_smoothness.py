"""M1: the gradients through the paths from two models."""

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
    Index,
    Induction,
    Length,
    Loop,
    Numbers,
    Reader,
    ReversedPower,
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
    A_,
    END_P,
    END_Q,
    POWER,
    R_,
    U_NEXT,
    W_NEXT,
    ZERO,
    A,
    E,
    P,
    Q,
    U,
    W,
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


def two_paths(s: Reader) -> Loop:
    """Two paths without noise, from two models."""
    apart, jump = sq(U - W), -s.alpha * (exact_of(U) - exact_of(W))
    length = Length(U - W)
    size = E * length.size
    numbers = Numbers(s.nu, (POWER,))
    next_ = U_NEXT - W_NEXT
    steps = (
        Step("u", Definition("u", "local")),
        Step("w", Definition("w", "local")),
        Step("first", length),
        Step("supposed", Suppose(apart, size**2)),
        Step("lipschitz", Assume("lipschitz", (exact_of(U), exact_of(W)))),
        stretched(s, "move", jump, s.L, size, "lipschitz", "supposed"),
        Step("grown", triangle(("supposed", U - W, size), ("move", jump, s.alpha * s.L * size))),
        following("next", numbers, size, ("u", "w", next_, U - W + jump), (ONE, "grown")),
        Step("path", Induction(apart, size**2, "first", "next")),
    )
    setting = Setting(
        (Index("i", s.n, of=CLIENTS),),
        (),
        (Function("df", "x", "x", role="local_gradient"),),
        (
            Variable("u", "x", equations=((EVERY, U - s.alpha * exact_of(U)),)),
            Variable("w", "x", equations=((EVERY, W - s.alpha * exact_of(W)),)),
        ),
    )
    return Loop(setting, {"lipschitz": Assumed("L", "df")}, (POWER,), steps, (), growth(s), inside(s))


def lemma_4(s: Reader) -> Loop:
    """M1: a and r are the gradients through the paths from two models; so is their mean over the clients."""
    before = two_paths(s)
    distance = Length(U - W).size
    G = Sequence("G", ZERO, ZERO).now
    sequences = (POWER, Sequence("G", ZERO, 1 + A * G))
    numbers = Numbers(s.nu, sequences, before.sequences)
    r_size, error, per = s.B * E, A_ - R_, s.alpha * s.rho * s.B * distance / A
    size = s.L * POWER.end * E * distance + per * POWER.end * G
    away = POWER.reversed * distance
    turned, moved = -s.alpha * Act(hessian(P), error), -s.alpha * Act(hessian(P) - hessian(Q), R_)
    jump = exact_of(END_P) - exact_of(END_Q)
    reached = (1 + s.alpha * s.L) * size + per * A * E * POWER.reversed
    wanted = A * size + per * POWER.end
    next_ = Var("a", 1) - Var("r", 1)
    steps = (
        Step("a.start", Assume("start of a")),
        Step("r.start", Assume("start of r")),
        Step("a", Definition("a", "local")),
        Step("r", Definition("r", "local")),
        *sure_gradient(s, numbers, exact_of, hessian),
        Step("end", Along("path", sq(U - W), (E * distance) ** 2, end=True)),
        Step("end.lipschitz", Assume("lipschitz", (exact_of(END_P), exact_of(END_Q)))),
        Step(
            "first",
            Combine(
                sq(error),
                scalar(numbers.at_start(size**2)),
                ((ONE, "end.lipschitz"), (s.L**2, "end")),
                pairings=squared("a.start", "r.start", error, jump),
            ),
        ),
        Step("supposed", Suppose(sq(error), size**2)),
        Step("hessian.p", Assume("hessian", (hessian(P),))),
        Step("turned.hessian", Action("hessian.p", error)),
        stretched(s, "turned", turned, s.L, size, "turned.hessian", "supposed"),
        Step("apart", Along("path", sq(U - W), (E * distance) ** 2)),
        Step("moved.hessian", Assume("hessian lipschitz", (hessian(P), hessian(Q), R_), ("sure",))),
        stretched(s, "moved", moved, s.rho * r_size, away, "moved.hessian", "apart"),
        Step(
            "grown",
            triangle(
                ("supposed", error, size),
                ("turned", turned, s.alpha * s.L * size),
                ("moved", moved, s.alpha * s.rho * r_size * away),
            ),
        ),
        Step("power", ReversedPower("E")),
        following(
            "next",
            numbers,
            size,
            ("a", "r", next_, error + turned + moved),
            (ONE, "grown"),
            (per * (reached + wanted), "power"),
        ),
        Step("error", Induction(sq(error), size**2, "first", "next")),
    )
    setting = Setting(
        (Index("i", s.n, of=CLIENTS),),
        (),
        (Function("df", "x", "x", role="local_gradient"), Function("ddf", "x", ("x", "x"), role="local_hessian")),
        (
            Variable("p", "x"),
            Variable("q", "x"),
            Variable("a", "x", equations=((EVERY, A_ - s.alpha * Act(hessian(P), A_)),)),
            Variable("r", "x", equations=((EVERY, R_ - s.alpha * Act(hessian(Q), R_)),)),
        ),
    )
    axioms = {
        "start of a": Start("start", A_ - exact_of(END_P)),
        "start of r": Start("start", R_ - exact_of(END_Q)),
        "gradient": Assumed("B", "df"),
        "lipschitz": Assumed("L", "df"),
        "hessian": Assumed("L", "ddf"),
        "hessian lipschitz": Assumed("rho", "ddf"),
    }
    return Loop(
        setting,
        axioms,
        sequences,
        steps,
        (Delivery("L_F", "error"),),
        growth(s),
        inside(s),
        before=before,
        reversed={"u": "p", "w": "q"},
    )
