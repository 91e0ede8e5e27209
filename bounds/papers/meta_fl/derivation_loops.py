"""The fine-tuning steps of one client and the gradient through them, for the kernel: part I of docs/theory/meta_fl.md.

t is the position in the loop of nu steps. u is the path with noise and w that without; the gradient through it goes back along the path.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ...proof.kernel import (
    EVERY,
    ONE,
    Act,
    Action,
    Along,
    App,
    Assume,
    Bounded,
    Combine,
    Definition,
    Delivery,
    Function,
    Given,
    Heterogeneity,
    Identity,
    IndependentMean,
    Index,
    Induction,
    Known,
    Length,
    Lipschitz,
    LipschitzOperator,
    Loop,
    MeanMoment,
    Numbers,
    Project,
    Reader,
    ReversedPower,
    Scalar,
    Sequence,
    Setting,
    Signomial,
    Source,
    Start,
    Step,
    Suppose,
    Sure,
    Term,
    Triangle,
    Vanishing,
    Var,
    Variable,
    Variance,
    named,
    scalar,
    signomial,
    sq,
)
from ...proof.writing import Written, at_point, deviation, mean_over

ZERO, HALF, A = signomial(0), Fraction(1, 2), named("A")
U, W, U_NEXT, W_NEXT = Var("u"), Var("w"), Var("u", 1), Var("w", 1)
exact, sampled = at_point("df", None), at_point("df", 0)
batch = mean_over("j")


def growth(s: Reader) -> tuple[tuple[str, Signomial], ...]:
    return (("A", 1 + s.alpha * s.L),)


def inside(s: Reader) -> dict[str, Fraction]:
    return {name: Fraction(1) for name, param in s.params.items() if name not in s.opaque and param not in s.formulas}


def induction(name: str, left: Scalar, bound: Signomial, base: str, step: str) -> Step:
    return Step(name, Induction(left, bound, base, step))


# --- the path ---------------------------------------------------------------------------------------------------------


def path(s: Reader) -> Loop:
    """Step M2: u with the batches D_0, ..., and w without noise."""
    noise = sampled(U) - exact(U)
    moved = U - W - s.alpha * (exact(U) - exact(W))
    apart, spread = sq(U - W), s.alpha**2 * s.sigma_G**2 / s.D
    h2, G = (Sequence(n, ZERO, ZERO).now for n in ("h2", "G"))
    total = Sequence("H", ZERO, ZERO).now
    sequences = (
        Sequence("h2", ZERO, A**2 * h2 + spread),
        Sequence("G", ZERO, 1 + A**2 * G),
        Sequence("H", ZERO, total + h2**HALF),
    )
    numbers = Numbers(s.nu, sequences)
    after = numbers.after(h2)
    steps = (
        Step("start", Assume("start")),
        Step("u", Definition("u", "local")),
        Step("w", Definition("w", "local")),
        Step("lipschitz", Assume("lipschitz", (exact(U), exact(W)))),
        Step(
            "move",
            Combine(sq(-s.alpha * (exact(U) - exact(W))), (s.alpha * s.L) ** 2 * apart, ((s.alpha**2, "lipschitz"),)),
        ),
        Step("here", Combine(apart, apart)),
        Step(
            "grown", Triangle((("here", U - W, ONE), ("move", -s.alpha * (exact(U) - exact(W)), s.alpha * s.L)), apart)
        ),
        Step("noise.batch", IndependentMean(noise, "j", Known.before(("zeta",)))),
        Step("noise.sample", Assume("noise", (sampled(U),))),
        Step(
            "step",
            Combine(
                sq(U_NEXT - W_NEXT),
                A**2 * apart + spread,
                ((ONE, "grown"), (s.alpha**2, "noise.batch"), (s.alpha**2 / s.D, "noise.sample")),
                pairings=_squared("u", "w", U_NEXT - W_NEXT, moved - s.alpha * batch(noise)),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("supposed", Suppose(apart, h2)),
        Step("next", Combine(sq(U_NEXT - W_NEXT), scalar(after), ((ONE, "step"), (A**2, "supposed")))),
        Step("first", Combine(apart, scalar(ZERO), pairings=((ONE, "start", U - W),))),
        Step("path", Induction(apart, h2, "first", "next")),
        Step("closed", Identity(h2, spread * G, A**2), "one batch size for all steps"),
        Step("sum", Combine(apart, scalar(spread * G), ((ONE, "path"), (ONE, "closed")))),
    )
    setting = Setting(
        (Index("i", s.n), Index("j", s.D, True)),
        (Source("zeta", ("j",), "batches"),),
        (Function("df", "x", "x", ("zeta",)),),
        (
            Variable("u", "x", equations=((EVERY, U - s.alpha * batch(sampled(U))),)),
            Variable("w", "x", equations=((EVERY, W - s.alpha * exact(W)),), sources=()),
        ),
    )
    axioms = {
        "start": Start("start", U - W),
        "lipschitz": Lipschitz("2", "df", s.L, of_mean=True),
        "noise": Variance("4", "df", s.sigma_G),
    }
    return Loop(setting, axioms, sequences, steps, constants=growth(s), inside=inside(s), time="batches")


def _squared(first: str, second: str, left: Term, right: Term) -> tuple[tuple[Signomial, str, Term], ...]:
    """||left||^2 - ||right||^2 from the equations whose difference is left = right."""
    whole = left + right
    return ((ONE, first, whole), (-ONE, second, whole))


def lemma_5(s: Reader) -> Loop:
    """First and second moment of the error of the fine-tuned model."""
    found, apart = path(s), sq(U - W)
    delivers = (Delivery("h2_nu", "sum", apart, 1), Delivery("h_nu", "sum", apart))
    return Loop(**{**found.__dict__, "delivers": delivers})


# --- heterogeneity ----------------------------------------------------------------------------------------------------

CLIENT = frozenset({"i"})
clients = mean_over("i")
P, Q, END_P, END_Q = Var("p"), Var("q"), Var("p", -1), Var("q", -1)
"""The two paths in reverse, at nu - 1 - t; END: at nu, where step 0 begins."""
E, S, N = (Sequence(name, ONE, ONE, positive=name == "E").now for name in ("E", "S", "N"))
POWER = Sequence("E", ONE, A * E, positive=True)
SUM = Sequence("S", ZERO, 1 + A * S)


def hessian(point: Term) -> Term:
    return App("ddf", point)


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
        Step(
            "move",
            Combine(
                sq(jump),
                scalar((s.alpha * s.L * size) ** 2),
                ((s.alpha**2, "lipschitz"), ((s.alpha * s.L) ** 2, "supposed")),
            ),
        ),
        Step("heterogeneity", Assume("heterogeneity", (exact_of(v),))),
        Step("own", Combine(sq(own), scalar((s.alpha * s.gamma_G) ** 2), ((s.alpha**2, "heterogeneity"),))),
        Step(
            "grown",
            triangle(
                ("supposed", w - v, size), ("move", jump, s.alpha * s.L * size), ("own", own, s.alpha * s.gamma_G)
            ),
        ),
        Step(
            "next",
            Combine(
                sq(next_),
                scalar(numbers.after(size**2)),
                ((ONE, "grown"),),
                pairings=_squared("u", "v", next_, w - v + jump + own),
            ),
        ),
        Step("first", Combine(apart, scalar(ZERO), pairings=((ONE, "start", w - v),))),
        Step("path", Induction(apart, size**2, "first", "next")),
        Step("power", Identity(1 + s.alpha * s.L * S, E, A)),
    )
    setting = Setting(
        (Index("i", s.n),),
        (),
        (Function("df", "x", "x", (), CLIENT, CLIENT),),
        (
            Variable("u", "x", CLIENT, ((EVERY, w - s.alpha * exact_of(w)),)),
            Variable("v", "x", equations=((EVERY, v - s.alpha * mean),)),
        ),
    )
    axioms = {
        "start": Start("start", w - v),
        "lipschitz": Lipschitz("2", "df", s.L),
        "heterogeneity": Heterogeneity("5", "df", s.gamma_G, "i"),
    }
    return Loop(setting, axioms, sequences, steps, constants=growth(s), inside=inside(s))


def exact_of(point: Term) -> Term:
    """The gradient, where no samples are declared."""
    return App("df", point)


def triangle(*parts: tuple[str, Term, Signomial]) -> Triangle:
    return Triangle(parts, scalar(ONE))


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
        Step("r.supposed", Suppose(sq(r), r_size**2)),
        Step("r.end", Assume("gradient", (exact_of(END_Q),))),
        Step(
            "r.first",
            Combine(
                sq(r),
                scalar(s.B**2),
                ((ONE, "r.end"),),
                deviation("i", exact_of(END_Q)),
                pairings=((ONE, "r.start", r + clients(exact_of(END_Q))),),
            ),
        ),
        Step("hessian.q", Assume("hessian", (hessian(Q),))),
        Step("hessian.mean", MeanMoment("hessian.q", ("i",))),
        Step("r.hessian", Action("hessian.mean", r)),
        Step(
            "r.move",
            Combine(
                sq(-s.alpha * Act(mean, r)),
                scalar((s.alpha * s.L * r_size) ** 2),
                ((s.alpha**2, "r.hessian"), ((s.alpha * s.L) ** 2, "r.supposed")),
            ),
        ),
        Step(
            "r.grown", triangle(("r.supposed", r, r_size), ("r.move", -s.alpha * Act(mean, r), s.alpha * s.L * r_size))
        ),
        Step(
            "r.next",
            Combine(
                sq(Var("r", 1)),
                scalar(numbers.after(r_size**2)),
                ((ONE, "r.grown"),),
                pairings=((ONE, "r", Var("r", 1) + r - s.alpha * Act(mean, r)),),
            ),
        ),
        Step("r.size", Induction(sq(r), r_size**2, "r.first", "r.next")),
        Step("sure", Sure("r.size", r, r_size)),
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
                pairings=_squared("a.start", "r.start", error, first_jump + first_own),
            ),
            "1 + alpha L S = A^nu",
        ),
        # back along the paths
        Step("a", Definition("a", "local")),
        Step("supposed", Suppose(sq(error), size**2)),
        Step("hessian.p", Assume("hessian", (hessian(P),))),
        Step("turned.hessian", Action("hessian.p", error)),
        Step(
            "turned",
            Combine(
                sq(turned),
                scalar((s.alpha * s.L * size) ** 2),
                ((s.alpha**2, "turned.hessian"), ((s.alpha * s.L) ** 2, "supposed")),
            ),
        ),
        Step("unlike.hessian", Assume("hessian heterogeneity", (hessian(Q), r), ("sure",))),
        Step(
            "unlike",
            Combine(sq(unlike), scalar((s.alpha * s.gamma_H * r_size) ** 2), ((s.alpha**2, "unlike.hessian"),)),
        ),
        Step("apart", Along("path", sq(U - Var("v")), (s.alpha * s.gamma_G * S) ** 2)),
        Step("moved.hessian", Assume("hessian lipschitz", (hessian(P), hessian(Q), r), ("sure",))),
        Step(
            "moved",
            Combine(
                sq(moved),
                scalar((s.alpha * s.rho * r_size * away) ** 2),
                ((s.alpha**2, "moved.hessian"), ((s.alpha * s.rho * r_size) ** 2, "apart")),
            ),
        ),
        Step(
            "grown",
            triangle(
                ("supposed", error, size),
                ("turned", turned, s.alpha * s.L * size),
                ("unlike", unlike, s.alpha * s.gamma_H * r_size),
                ("moved", moved, s.alpha * s.rho * r_size * away),
            ),
        ),
        Step(
            "next",
            Combine(
                sq(Var("a", 1) - Var("r", 1)),
                scalar(numbers.after(size**2)),
                ((ONE, "grown"),),
                pairings=_squared("a", "r", Var("a", 1) - Var("r", 1), error + turned + unlike + moved),
            ),
        ),
        Step("error", Induction(sq(error), size**2, "first", "next")),
        Step(
            "heterogeneity",
            Combine(sq(a - clients(a)), scalar(size**2), ((ONE, "error"),), ((ONE, clients(a) - r),)),
            "what is subtracted is the same for all clients",
        ),
    )
    setting = Setting(
        (Index("i", s.n),),
        (),
        (Function("df", "x", "x", (), CLIENT, CLIENT), Function("ddf", "x", ("x", "x"), (), CLIENT, CLIENT)),
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
        "gradient": Bounded("2", "df", s.B),
        "lipschitz": Lipschitz("2", "df", s.L),
        "hessian": Bounded("2", "ddf", s.L),
        "hessian lipschitz": LipschitzOperator("3", "ddf", s.rho),
        "heterogeneity": Heterogeneity("5", "df", s.gamma_G, "i"),
        "hessian heterogeneity": Heterogeneity("5", "ddf", s.gamma_H, "i", in_mean=True),
    }
    return Loop(
        setting,
        axioms,
        sequences,
        steps,
        (Delivery("", "heterogeneity", sq(a - clients(a))),),
        growth(s),
        inside(s),
        before=before,
        reversed={"u": "p", "v": "q"},
    )


# --- the gradient estimate --------------------------------------------------------------------------------------------

PATH, PAST = Known.before(("path",)), Known.before(("path", "zeta", "xi"))
M, R_, A_ = Var("m"), Var("r"), Var("a")
BEFORE_LOOP = -2
"""A step before the loop, of which the last gradient batch is."""
places = mean_over("h")


def curved(point: Term, sample: int | None = None) -> Term:
    """The Hessian, of one sample or its mean."""
    return App("ddf", point, (sample,))


def sure_gradient(
    s: Reader,
    numbers: Numbers,
    exact: Written = exact,
    curved: Callable[[Term], Term] = lambda point: App("ddf", point, (None,)),
) -> tuple[Step, ...]:
    """The gradient r through the path without noise is at most B A^t."""
    r_size, turned, r_next = s.B * E, -s.alpha * Act(curved(Q), R_), Var("r", 1)
    return (
        Step("hessian.q", Assume("hessian", (curved(Q),))),
        Step("r.supposed", Suppose(sq(R_), r_size**2)),
        Step("r.end", Assume("gradient", (exact(END_Q),))),
        Step(
            "r.first",
            Combine(sq(R_), scalar(s.B**2), ((ONE, "r.end"),), pairings=((ONE, "r.start", R_ + exact(END_Q)),)),
        ),
        Step("r.hessian", Action("hessian.q", R_)),
        Step(
            "r.turned",
            Combine(
                sq(turned),
                scalar((s.alpha * s.L * r_size) ** 2),
                ((s.alpha**2, "r.hessian"), ((s.alpha * s.L) ** 2, "r.supposed")),
            ),
        ),
        Step(
            "r.grown",
            triangle(("r.supposed", R_, r_size), ("r.turned", turned, s.alpha * s.L * r_size)),
        ),
        Step(
            "r.next",
            Combine(
                sq(r_next),
                scalar(numbers.after(r_size**2)),
                ((ONE, "r.grown"),),
                pairings=((ONE, "r", r_next + R_ + turned),),
            ),
        ),
        Step("r.size", Induction(sq(R_), r_size**2, "r.first", "r.next")),
        Step("sure", Sure("r.size", R_, r_size)),
    )


def lemma_6(s: Reader) -> Loop:
    """M3: a is the estimate, r the gradient, m the gradient along the noisy path; all go back along the paths."""
    before = path(s)
    h2, G, T, v = (Sequence(name, ONE, ONE).now for name in ("h2", "G", "T", "v"))
    R = Sequence("R", ZERO, ZERO).now
    h2_end, h2_reversed = Sequence("h2", ZERO, ZERO).end, Sequence("h2", ZERO, ZERO).reversed
    start, noise = s.sigma_G**2 / s.D, (s.alpha * s.sigma_H) ** 2 / s.D_H
    carried = A * v**HALF + s.alpha * s.rho * s.B * E * h2_reversed**HALF
    sequences = (
        Sequence("v", start + s.L**2 * h2_end, carried**2 + noise * T),
        Sequence("T", s.B**2 + start, A**2 * T + noise * T),
        POWER,
        Sequence("R", ZERO, R + h2_reversed**HALF, ends="H"),
    )
    numbers = Numbers(s.nu, sequences, before.sequences)
    closed = s.alpha**2 * s.sigma_G**2 / s.D * G
    h_end = (s.alpha**2 * s.sigma_G**2 / s.D * Sequence("G", ZERO, ZERO).end) ** HALF
    r_size, bias = s.B * E, s.L * h_end * E + s.alpha * s.rho * s.B * E / A * R
    first_noise = App("df", END_P, (BEFORE_LOOP,)) - exact(END_P)
    own = Act(curved(P, 0) - curved(P), A_)
    jump = exact(END_P) - exact(END_Q)
    moved = -s.alpha * Act(curved(P) - curved(Q), R_)

    def turned(vector: Term) -> Term:
        return -s.alpha * Act(curved(P), vector)

    def grown(name: str, vector: Term, root: Signomial) -> tuple[Step, ...]:
        """||v - alpha H v||^2 <= (A root)^2 from the step `name`.supposed."""
        return (
            Step(f"{name}.hessian", Action("hessian.p", vector)),
            Step(
                f"{name}.turned",
                Combine(
                    sq(turned(vector)),
                    scalar((s.alpha * s.L * root) ** 2),
                    ((s.alpha**2, f"{name}.hessian"), ((s.alpha * s.L) ** 2, f"{name}.supposed")),
                ),
            ),
        )

    error, mean_error = A_ - R_, Given(PATH, A_ - M)
    a_next, m_next, r_next = (Var(name, 1) for name in ("a", "m", "r"))
    mean_next = Given(PATH.later(1), a_next - m_next)
    steps = (
        Step("a.start", Assume("start of a")),
        Step("m.start", Assume("start of m")),
        Step("r.start", Assume("start of r")),
        Step("a", Definition("a", "local")),
        Step("m", Definition("m", "local")),
        Step("r", Definition("r", "local")),
        Step("hessian.p", Assume("hessian", (curved(P),))),
        *sure_gradient(s, numbers),
        # the noise of the batches
        Step("first.batch", IndependentMean(first_noise, "j", PATH)),
        Step("first.sample", Assume("noise", (App("df", END_P, (BEFORE_LOOP,)),))),
        Step("own.batch", IndependentMean(own, "h", PAST)),
        Step("own.sample", Assume("hessian noise", (curved(P, 0),))),
        Step("own.action", Action("own.sample", A_)),
        # the estimate has the second moment T
        Step("a.supposed", Suppose(sq(A_), T)),
        Step("a.end", Assume("gradient", (exact(END_P),))),
        Step(
            "a.first",
            Combine(
                sq(A_),
                scalar(numbers.at_start(T)),
                ((ONE, "a.end"), (ONE, "first.batch"), (1 / s.D, "first.sample")),
                pairings=((ONE, "a.start", A_ + batch(App("df", END_P, (BEFORE_LOOP,)))),),
            ),
        ),
        *grown("a", A_, T**HALF),
        Step("a.grown", triangle(("a.supposed", A_, T**HALF), ("a.turned", turned(A_), s.alpha * s.L * T**HALF))),
        Step(
            "a.next",
            Combine(
                sq(a_next),
                scalar(numbers.after(T)),
                (
                    (ONE, "a.grown"),
                    (s.alpha**2, "own.batch"),
                    (s.alpha**2 / s.D_H, "own.action"),
                    (noise, "a.supposed"),
                ),
                pairings=((ONE, "a", a_next + A_ + turned(A_) - s.alpha * places(own)),),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("a.size", Induction(sq(A_), T, "a.first", "a.next")),
        # where the paths end
        Step("end", Along("path", sq(U - W), h2, end=True)),
        Step("end.lipschitz", Assume("lipschitz", (exact(END_P), exact(END_Q)))),
        Step("end.moved", Combine(sq(jump), scalar(s.L**2 * h2_end), ((ONE, "end.lipschitz"), (s.L**2, "end")))),
        Step("end.closed", Along("sum", sq(U - W), closed, end=True), "one batch size for all steps"),
        Step(
            "end.closed.moved",
            Combine(sq(jump), scalar((s.L * h_end) ** 2), ((ONE, "end.lipschitz"), (s.L**2, "end.closed"))),
        ),
        # a Hessian at the wrong point of the path
        Step("apart", Along("path", sq(U - W), h2)),
        Step("moved.hessian", Assume("hessian lipschitz", (curved(P), curved(Q), R_), ("sure",))),
        Step(
            "moved",
            Combine(
                sq(moved),
                scalar((s.alpha * s.rho * r_size) ** 2 * h2_reversed),
                ((s.alpha**2, "moved.hessian"), ((s.alpha * s.rho * r_size) ** 2, "apart")),
            ),
        ),
        # second moment
        Step("error.supposed", Suppose(sq(error), v)),
        Step(
            "error.first",
            Combine(
                sq(error),
                scalar(numbers.at_start(v)),
                ((ONE, "end.moved"), (ONE, "first.batch"), (1 / s.D, "first.sample")),
                pairings=_squared("a.start", "r.start", error, jump + batch(first_noise)),
            ),
        ),
        *grown("error", error, v**HALF),
        Step(
            "error.grown",
            triangle(
                ("error.supposed", error, v**HALF),
                ("error.turned", turned(error), s.alpha * s.L * v**HALF),
                ("moved", moved, s.alpha * s.rho * r_size * h2_reversed**HALF),
            ),
        ),
        Step(
            "error.next",
            Combine(
                sq(a_next - r_next),
                scalar(numbers.after(v)),
                (
                    (ONE, "error.grown"),
                    (s.alpha**2, "own.batch"),
                    (s.alpha**2 / s.D_H, "own.action"),
                    (noise, "a.size"),
                ),
                pairings=_squared("a", "r", a_next - r_next, error + turned(error) + moved - s.alpha * places(own)),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("error", Induction(sq(error), v, "error.first", "error.next")),
        # given the path, the estimate has the mean m
        Step("mean.supposed", Suppose(sq(mean_error), ZERO)),
        Step("mean.start", Project("a.start", given=PATH)),
        Step(
            "mean.first",
            Combine(
                sq(mean_error), scalar(ZERO), pairings=((ONE, "mean.start", mean_error), (-ONE, "m.start", mean_error))
            ),
        ),
        Step("mean.here", Combine(sq(mean_error), sq(mean_error))),
        Step("mean.hessian", Action("hessian.p", mean_error)),
        Step(
            "mean.turned",
            Combine(sq(turned(mean_error)), (s.alpha * s.L) ** 2 * sq(mean_error), ((s.alpha**2, "mean.hessian"),)),
        ),
        Step(
            "mean.grown",
            Triangle(
                (("mean.here", mean_error, ONE), ("mean.turned", turned(mean_error), s.alpha * s.L)), sq(mean_error)
            ),
        ),
        Step("mean.a", Project("a", given=PATH.later(1))),
        Step(
            "mean.next",
            Combine(
                sq(mean_next),
                scalar(ZERO),
                ((ONE, "mean.grown"), (A**2, "mean.supposed")),
                pairings=_squared("mean.a", "m", mean_next, mean_error + turned(mean_error)),
            ),
        ),
        Step("mean.zero", Induction(sq(mean_error), ZERO, "mean.first", "mean.next")),
        Step("mean", Vanishing("mean.zero", mean_error)),
        # bias
        Step("bias.supposed", Suppose(sq(M - R_), bias**2)),
        Step(
            "bias.first",
            Combine(
                sq(M - R_),
                scalar(numbers.at_start(bias**2)),
                ((ONE, "end.closed.moved"),),
                pairings=_squared("m.start", "r.start", M - R_, jump),
            ),
        ),
        *grown("bias", M - R_, bias),
        Step(
            "bias.grown",
            triangle(
                ("bias.supposed", M - R_, bias),
                ("bias.turned", turned(M - R_), s.alpha * s.L * bias),
                ("moved", moved, s.alpha * s.rho * r_size * h2_reversed**HALF),
            ),
        ),
        Step(
            "bias.next",
            Combine(
                sq(m_next - r_next),
                scalar(numbers.after(bias**2)),
                ((ONE, "bias.grown"),),
                pairings=_squared("m", "r", m_next - r_next, M - R_ + turned(M - R_) + moved),
            ),
        ),
        Step("bias.path", Induction(sq(M - R_), bias**2, "bias.first", "bias.next")),
        Step("mean.all", Project("mean", given=Known())),
        Step(
            "bias",
            Combine(
                sq(Given(Known(), error)),
                scalar(bias**2),
                ((ONE, "bias.path"),),
                ((ONE, M - R_ - Given(Known(), M - R_)),),
                ((ONE, "mean.all", Given(Known(), error) + Given(Known(), M - R_)),),
            ),
        ),
    )
    setting = Setting(
        (Index("i", s.n), Index("j", s.D, True), Index("h", s.D_H, True)),
        (Source("path", (), "batches"), Source("zeta", ("j",), "batches"), Source("xi", ("h",), "batches")),
        (Function("df", "x", "x", ("zeta",)), Function("ddf", "x", ("x", "x"), ("xi",))),
        (
            Variable("p", "x", sources=("path",)),
            Variable("q", "x", sources=()),
            Variable("a", "x", equations=((EVERY, A_ - s.alpha * places(Act(curved(P, 0), A_))),)),
            Variable("m", "x", equations=((EVERY, M + turned(M)),), sources=("path",)),
            Variable("r", "x", equations=((EVERY, R_ - s.alpha * Act(curved(Q), R_)),), sources=()),
        ),
    )
    axioms = {
        "start of a": Start("start", A_ - batch(App("df", END_P, (BEFORE_LOOP,)))),
        "start of m": Start("start", M - exact(END_P)),
        "start of r": Start("start", R_ - exact(END_Q)),
        "gradient": Bounded("2", "df", s.B, of_mean=True),
        "lipschitz": Lipschitz("2", "df", s.L, of_mean=True),
        "hessian": Bounded("2", "ddf", s.L, of_mean=True),
        "hessian lipschitz": LipschitzOperator("3", "ddf", s.rho, of_mean=True),
        "noise": Variance("4", "df", s.sigma_G),
        "hessian noise": Variance("4", "ddf", s.sigma_H, PAST, spectral=True),
    }
    return Loop(
        setting,
        axioms,
        sequences,
        steps,
        (Delivery("mu_F", "bias", sq(Given(Known(), error))), Delivery("sigma_F", "error", sq(error))),
        growth(s),
        inside(s),
        "batches",
        before=before,
        reversed={"u": "p", "w": "q"},
    )


# --- smoothness -------------------------------------------------------------------------------------------------------


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
        Step(
            "move",
            Combine(
                sq(jump),
                scalar((s.alpha * s.L * size) ** 2),
                ((s.alpha**2, "lipschitz"), ((s.alpha * s.L) ** 2, "supposed")),
            ),
        ),
        Step("grown", triangle(("supposed", U - W, size), ("move", jump, s.alpha * s.L * size))),
        Step(
            "next",
            Combine(
                sq(next_),
                scalar(numbers.after(size**2)),
                ((ONE, "grown"),),
                pairings=_squared("u", "w", next_, U - W + jump),
            ),
        ),
        Step("path", Induction(apart, size**2, "first", "next")),
    )
    setting = Setting(
        (Index("i", s.n),),
        (),
        (Function("df", "x", "x"),),
        (
            Variable("u", "x", equations=((EVERY, U - s.alpha * exact_of(U)),)),
            Variable("w", "x", equations=((EVERY, W - s.alpha * exact_of(W)),)),
        ),
    )
    return Loop(setting, {"lipschitz": Lipschitz("2", "df", s.L)}, (POWER,), steps, (), growth(s), inside(s))


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
                pairings=_squared("a.start", "r.start", error, jump),
            ),
        ),
        Step("supposed", Suppose(sq(error), size**2)),
        Step("hessian.p", Assume("hessian", (hessian(P),))),
        Step("turned.hessian", Action("hessian.p", error)),
        Step(
            "turned",
            Combine(
                sq(turned),
                scalar((s.alpha * s.L * size) ** 2),
                ((s.alpha**2, "turned.hessian"), ((s.alpha * s.L) ** 2, "supposed")),
            ),
        ),
        Step("apart", Along("path", sq(U - W), (E * distance) ** 2)),
        Step("moved.hessian", Assume("hessian lipschitz", (hessian(P), hessian(Q), R_), ("sure",))),
        Step(
            "moved",
            Combine(
                sq(moved),
                scalar((s.alpha * s.rho * r_size * away) ** 2),
                ((s.alpha**2, "moved.hessian"), ((s.alpha * s.rho * r_size) ** 2, "apart")),
            ),
        ),
        Step(
            "grown",
            triangle(
                ("supposed", error, size),
                ("turned", turned, s.alpha * s.L * size),
                ("moved", moved, s.alpha * s.rho * r_size * away),
            ),
        ),
        Step("power", ReversedPower("E")),
        Step(
            "next",
            Combine(
                sq(next_),
                scalar(numbers.after(size**2)),
                ((ONE, "grown"), (per * (reached + wanted), "power")),
                pairings=_squared("a", "r", next_, error + turned + moved),
            ),
        ),
        Step("error", Induction(sq(error), size**2, "first", "next")),
    )
    setting = Setting(
        (Index("i", s.n),),
        (),
        (Function("df", "x", "x"), Function("ddf", "x", ("x", "x"))),
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
        "gradient": Bounded("2", "df", s.B),
        "lipschitz": Lipschitz("2", "df", s.L),
        "hessian": Bounded("2", "ddf", s.L),
        "hessian lipschitz": LipschitzOperator("3", "ddf", s.rho),
    }
    return Loop(
        setting,
        axioms,
        sequences,
        steps,
        (Delivery("L_F", "error", sq(error), times=distance**2),),
        growth(s),
        inside(s),
        before=before,
        reversed={"u": "p", "w": "q"},
    )


# --- the first-order estimate -----------------------------------------------------------------------------------------


def lemma_10(s: Reader) -> Loop:
    """M4: the estimate g stays what it is at the end of the noisy path, and so does its mean m; r goes back along the path."""
    before = path(s)
    g, closed = Var("g"), s.alpha**2 * s.sigma_G**2 / s.D * Sequence("G", ZERO, ZERO).now
    X, h_end = Sequence("X", ZERO, ZERO).now, (s.alpha**2 * s.sigma_G**2 / s.D * Sequence("G", ZERO, ZERO).end) ** HALF
    sequences = (POWER, Sequence("X", ZERO, X + E))
    numbers = Numbers(s.nu, sequences, before.sequences)
    r_size, spread = s.B * E, s.sigma_G**2 / s.D
    bias, wanted = s.L * h_end + s.B * s.alpha * s.L * X, s.L * h_end + s.B * (E - 1)
    sampled_end = App("df", END_P, (BEFORE_LOOP,))
    noise, jump = sampled_end - exact(END_P), exact(END_P) - exact(END_Q)
    left_out = s.alpha * Act(curved(Q), R_)
    g_next, m_next, r_next = (Var(name, 1) for name in ("g", "m", "r"))
    mean_noise, mean_next = Given(PATH, g - M), Given(PATH.later(1), g_next - m_next)
    error = g - R_
    steps = (
        Step("g.start", Assume("start of g")),
        Step("m.start", Assume("start of m")),
        Step("r.start", Assume("start of r")),
        Step("g", Definition("g", "local")),
        Step("m", Definition("m", "local")),
        Step("r", Definition("r", "local")),
        *sure_gradient(s, numbers)[:-1],
        # bias
        Step("end.closed", Along("sum", sq(U - W), closed, end=True)),
        Step("end.lipschitz", Assume("lipschitz", (exact(END_P), exact(END_Q)))),
        Step("bias.supposed", Suppose(sq(M - R_), bias**2)),
        Step(
            "bias.first",
            Combine(
                sq(M - R_),
                scalar(numbers.at_start(bias**2)),
                ((ONE, "end.lipschitz"), (s.L**2, "end.closed")),
                pairings=_squared("m.start", "r.start", M - R_, jump),
            ),
        ),
        Step(
            "left_out",
            Combine(
                sq(left_out),
                scalar((s.alpha * s.L * r_size) ** 2),
                ((s.alpha**2, "r.hessian"), ((s.alpha * s.L) ** 2, "r.size")),
            ),
        ),
        Step("bias.grown", triangle(("bias.supposed", M - R_, bias), ("left_out", left_out, s.alpha * s.L * r_size))),
        Step(
            "bias.next",
            Combine(
                sq(m_next - r_next),
                scalar(numbers.after(bias**2)),
                ((ONE, "bias.grown"),),
                pairings=_squared("m", "r", m_next - r_next, M - R_ + left_out),
            ),
        ),
        Step("bias.path", Induction(sq(M - R_), bias**2, "bias.first", "bias.next")),
        Step("power", Identity(1 + s.alpha * s.L * X, E, ONE)),
        Step(
            "bias.closed",
            Combine(sq(M - R_), scalar(wanted**2), ((ONE, "bias.path"), (s.B * (bias + wanted), "power"))),
            "alpha L (1 + A + ... + A^(nu-1)) = A^nu - 1",
        ),
        # given the path, the noise has the mean 0
        Step("mean.supposed", Suppose(sq(mean_noise), ZERO)),
        Step("mean.start", Project("g.start", given=PATH)),
        Step(
            "mean.first",
            Combine(
                sq(mean_noise), scalar(ZERO), pairings=((ONE, "mean.start", mean_noise), (-ONE, "m.start", mean_noise))
            ),
        ),
        Step("mean.g", Project("g", given=PATH.later(1))),
        Step(
            "mean.next",
            Combine(
                sq(mean_next),
                scalar(ZERO),
                ((ONE, "mean.supposed"),),
                pairings=_squared("mean.g", "m", mean_next, mean_noise),
            ),
        ),
        Step("mean.zero", Induction(sq(mean_noise), ZERO, "mean.first", "mean.next")),
        Step("mean", Vanishing("mean.zero", mean_noise)),
        Step("mean.all", Project("mean", given=Known())),
        Step(
            "bias",
            Combine(
                sq(Given(Known(), error)),
                scalar(wanted**2),
                ((ONE, "bias.closed"),),
                ((ONE, M - R_ - Given(Known(), M - R_)),),
                ((ONE, "mean.all", Given(Known(), error) + Given(Known(), M - R_)),),
            ),
        ),
        # second moment
        Step("noise.batch", IndependentMean(noise, "j", PATH)),
        Step("noise.sample", Assume("noise", (sampled_end,))),
        Step("noise.supposed", Suppose(sq(g - M), spread)),
        Step(
            "noise.first",
            Combine(
                sq(g - M),
                scalar(spread),
                ((ONE, "noise.batch"), (1 / s.D, "noise.sample")),
                pairings=_squared("g.start", "m.start", g - M, batch(noise)),
            ),
        ),
        Step(
            "noise.next",
            Combine(
                sq(g_next - m_next),
                scalar(spread),
                ((ONE, "noise.supposed"),),
                pairings=_squared("g", "m", g_next - m_next, g - M),
            ),
        ),
        Step("noise", Induction(sq(g - M), spread, "noise.first", "noise.next")),
        Step(
            "error",
            Combine(
                sq(error),
                scalar(spread + wanted**2),
                ((ONE, "noise"), (ONE, "bias.closed")),
                pairings=((signomial(2), "mean", M - R_),),
            ),
            "given the path, the noise has mean 0: squares add",
        ),
    )
    setting = Setting(
        (Index("i", s.n), Index("j", s.D, True)),
        (Source("path", (), "batches"), Source("zeta", ("j",), "batches")),
        (Function("df", "x", "x", ("zeta",)), Function("ddf", "x", ("x", "x"), ("zeta",))),
        (
            Variable("p", "x", sources=("path",)),
            Variable("q", "x", sources=()),
            Variable("g", "x", equations=((EVERY, g),)),
            Variable("m", "x", equations=((EVERY, M),), sources=("path",)),
            Variable("r", "x", equations=((EVERY, R_ - left_out),), sources=()),
        ),
    )
    axioms = {
        "start of g": Start("start", g - batch(sampled_end)),
        "start of m": Start("start", M - exact(END_P)),
        "start of r": Start("start", R_ - exact(END_Q)),
        "gradient": Bounded("2", "df", s.B, of_mean=True),
        "lipschitz": Lipschitz("2", "df", s.L, of_mean=True),
        "hessian": Bounded("2", "ddf", s.L, of_mean=True),
        "noise": Variance("4", "df", s.sigma_G),
    }
    return Loop(
        setting,
        axioms,
        sequences,
        steps,
        (Delivery("mu_F_FO", "bias", sq(Given(Known(), error))), Delivery("sigma_F_FO", "error", sq(error))),
        growth(s),
        inside(s),
        "batches",
        before=before,
        reversed={"u": "p", "w": "q"},
    )
