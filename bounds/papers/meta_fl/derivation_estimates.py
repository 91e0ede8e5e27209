"""M3 and M4: bias and second moment of the exact and of the first-order estimate of the gradient."""

from __future__ import annotations

from collections.abc import Mapping

from ...proof.kernel import (
    BATCH,
    CLIENTS,
    EVERY,
    ONE,
    Act,
    Action,
    Along,
    App,
    Assume,
    Assumed,
    Combine,
    Declared,
    Definition,
    Delivery,
    Function,
    Given,
    Identity,
    IndependentMean,
    Index,
    Induction,
    Known,
    Loop,
    Numbers,
    Project,
    Reader,
    Sequence,
    Setting,
    Signomial,
    Source,
    Start,
    Step,
    Suppose,
    Term,
    Triangle,
    Vanishing,
    Var,
    Variable,
    scalar,
    signomial,
    sq,
)
from ...proof.sum_of_squares import mean_over
from .derivation_loops import (
    A_,
    END_P,
    END_Q,
    HALF,
    POWER,
    R_,
    ZERO,
    A,
    E,
    M,
    P,
    Q,
    U,
    W,
    batch,
    exact,
    following,
    growth,
    inside,
    path,
    squared,
    stretched,
    sure_gradient,
    triangle,
)

PATH, PAST = Known.before(("path",)), Known.before(("path", "zeta", "xi"))
BEFORE_LOOP = -2
"""A step before the loop, of which the last gradient batch is."""
places = mean_over("h")


def curved(point: Term, sample: int | None = None) -> Term:
    """The Hessian, of one sample or its mean."""
    return App("ddf", point, (sample,))


JUMP, M_MOVED = exact(END_P) - exact(END_Q), Act(curved(P) - curved(Q), R_)
FIRST_NOISE = App("df", END_P, (BEFORE_LOOP,)) - exact(END_P)
H2, G, R = (Sequence(name, ZERO, ZERO) for name in ("h2", "G", "R"))
PATH_SUM = Sequence("R", ZERO, R.now + H2.reversed**HALF, ends="H")


def turned(s: Reader, vector: Term, point: Term = P) -> Term:
    return -s.alpha * Act(curved(point), vector)


def along_mean(s: Reader, name: str, vector: Term, root: Signomial) -> tuple[Step, ...]:
    """||alpha H v||^2 <= (alpha L root)^2 from the step `name`.supposed."""
    return (
        Step(f"{name}.hessian", Action("hessian.p", vector)),
        stretched(s, f"{name}.turned", turned(s, vector), s.L, root, f"{name}.hessian", f"{name}.supposed"),
    )


def end_of_path(s: Reader) -> Signomial:
    """h_nu, for one batch size."""
    return (s.alpha**2 * s.sigma_G**2 / s.D * G.end) ** HALF


def away(s: Reader) -> tuple[Step, ...]:
    """Where the paths end, and a Hessian at the wrong point of the path."""
    closed = s.alpha**2 * s.sigma_G**2 / s.D * G.now
    return (
        Step("end", Along("path", sq(U - W), H2.now, end=True)),
        Step("end.lipschitz", Assume("lipschitz", (exact(END_P), exact(END_Q)))),
        Step("end.moved", Combine(sq(JUMP), scalar(s.L**2 * H2.end), ((ONE, "end.lipschitz"), (s.L**2, "end")))),
        Step("end.closed", Along("sum", sq(U - W), closed, end=True), "one batch size for all steps"),
        Step(
            "end.closed.moved",
            Combine(sq(JUMP), scalar((s.L * end_of_path(s)) ** 2), ((ONE, "end.lipschitz"), (s.L**2, "end.closed"))),
        ),
        Step("apart", Along("path", sq(U - W), H2.now)),
        Step("moved.hessian", Assume("hessian lipschitz", (curved(P), curved(Q), R_), ("sure",))),
        stretched(s, "moved", -s.alpha * M_MOVED, s.rho * s.B * E, H2.reversed**HALF, "moved.hessian", "apart"),
    )


def bias_of_mean(s: Reader, numbers: Numbers) -> tuple[Signomial, tuple[Step, ...]]:
    """The bound of m - r, and the steps that show it."""
    bias = s.L * end_of_path(s) * E + s.alpha * s.rho * s.B * E / A * R.now
    moved, left = -s.alpha * M_MOVED, Var("m", 1) - Var("r", 1)
    return bias, (
        Step("bias.supposed", Suppose(sq(M - R_), bias**2)),
        Step(
            "bias.first",
            Combine(
                sq(M - R_),
                scalar(numbers.at_start(bias**2)),
                ((ONE, "end.closed.moved"),),
                pairings=squared("m.start", "r.start", M - R_, JUMP),
            ),
        ),
        *along_mean(s, "bias", M - R_, bias),
        Step(
            "bias.grown",
            triangle(
                ("bias.supposed", M - R_, bias),
                ("bias.turned", turned(s, M - R_), s.alpha * s.L * bias),
                ("moved", moved, s.alpha * s.rho * s.B * E * H2.reversed**HALF),
            ),
        ),
        following(
            "bias.next", numbers, bias, ("m", "r", left, M - R_ + turned(s, M - R_) + moved), (ONE, "bias.grown")
        ),
        Step("bias.path", Induction(sq(M - R_), bias**2, "bias.first", "bias.next")),
    )


def first_moment(s: Reader, numbers: Numbers, T: Signomial) -> tuple[Step, ...]:
    """The noise of the last gradient batch, and the second moment with which the estimate starts."""
    return (
        Step("first.batch", IndependentMean(FIRST_NOISE, "j", PATH)),
        Step("first.sample", Assume("noise", (App("df", END_P, (BEFORE_LOOP,)),))),
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
    )


def mean_begun(of: str, error: Term) -> tuple[Step, ...]:
    """Given the path, the error against m has the mean 0 where the loop begins; `of` names the equation of the estimate's start."""
    pairings = ((ONE, "mean.start", error), (-ONE, "m.start", error))
    return (
        Step("mean.start", Project(of, given=PATH)),
        Step("mean.first", Combine(sq(error), scalar(ZERO), pairings=pairings)),
    )


def bias_of_estimate(error: Term, bias: Signomial, by: str) -> tuple[Step, ...]:
    """The bias of an estimate that has the mean m given the path; `by` bounds ||m - r||."""
    return (
        Step("mean.all", Project("mean", given=Known())),
        Step(
            "bias",
            Combine(
                sq(Given(Known(), error)),
                scalar(bias**2),
                ((ONE, by),),
                ((ONE, M - R_ - Given(Known(), M - R_)),),
                ((ONE, "mean.all", Given(Known(), error) + Given(Known(), M - R_)),),
            ),
        ),
    )


def estimate(
    s: Reader,
    suffix: str,
    before: Loop,
    setting: Setting,
    axioms: Mapping[str, Declared],
    sequences: tuple[Sequence, ...],
    steps: tuple[Step, ...],
    of: str,
    moment: str,
) -> Loop:
    """The loop back along the paths of the estimate `of`: its bias from the step `bias`, its second moment from `moment`."""
    given = {
        "start of m": Start("start", M - exact(END_P)),
        "start of r": Start("start", R_ - exact(END_Q)),
        "gradient": Assumed("B", "df"),
        "lipschitz": Assumed("L", "df"),
        "hessian": Assumed("L", "ddf"),
        "noise": Assumed("sigma_G", "df"),
    }
    return Loop(
        setting,
        {**given, **axioms},
        sequences,
        steps,
        (
            Delivery(f"mu_F{suffix}", "bias"),
            Delivery(f"sigma_F{suffix}", moment),
        ),
        growth(s),
        inside(s),
        "batches",
        before=before,
        reversed={"u": "p", "w": "q"},
        estimate=of,
    )


def lemma_6(s: Reader) -> Loop:
    """M3: a is the estimate, r the gradient, m the gradient along the noisy path; all go back along the paths."""
    before = path(s)
    T, v = (Sequence(name, ONE, ONE).now for name in ("T", "v"))
    start, noise = s.sigma_G**2 / s.D, (s.alpha * s.sigma_H) ** 2 / s.D_H
    carried = A * v**HALF + s.alpha * s.rho * s.B * E * H2.reversed**HALF
    sequences = (
        Sequence("v", start + s.L**2 * H2.end, carried**2 + noise * T),
        Sequence("T", s.B**2 + start, A**2 * T + noise * T),
        POWER,
        PATH_SUM,
    )
    numbers = Numbers(s.nu, sequences, before.sequences)
    bias, bias_steps = bias_of_mean(s, numbers)
    own = Act(curved(P, 0) - curved(P), A_)
    moved = -s.alpha * M_MOVED

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
        *first_moment(s, numbers, T),
        Step("own.batch", IndependentMean(own, "h", PAST)),
        Step("own.sample", Assume("hessian noise", (curved(P, 0),))),
        Step("own.action", Action("own.sample", A_)),
        # the estimate has the second moment T
        Step("a.supposed", Suppose(sq(A_), T)),
        *along_mean(s, "a", A_, T**HALF),
        Step("a.grown", triangle(("a.supposed", A_, T**HALF), ("a.turned", turned(s, A_), s.alpha * s.L * T**HALF))),
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
                pairings=((ONE, "a", a_next + A_ + turned(s, A_) - s.alpha * places(own)),),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("a.size", Induction(sq(A_), T, "a.first", "a.next")),
        *away(s),
        # second moment
        Step("error.supposed", Suppose(sq(error), v)),
        Step(
            "error.first",
            Combine(
                sq(error),
                scalar(numbers.at_start(v)),
                ((ONE, "end.moved"), (ONE, "first.batch"), (1 / s.D, "first.sample")),
                pairings=squared("a.start", "r.start", error, JUMP + batch(FIRST_NOISE)),
            ),
        ),
        *along_mean(s, "error", error, v**HALF),
        Step(
            "error.grown",
            triangle(
                ("error.supposed", error, v**HALF),
                ("error.turned", turned(s, error), s.alpha * s.L * v**HALF),
                ("moved", moved, s.alpha * s.rho * s.B * E * H2.reversed**HALF),
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
                pairings=squared("a", "r", a_next - r_next, error + turned(s, error) + moved - s.alpha * places(own)),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("error", Induction(sq(error), v, "error.first", "error.next")),
        # given the path, the estimate has the mean m
        Step("mean.supposed", Suppose(sq(mean_error), ZERO)),
        *mean_begun("a.start", mean_error),
        Step("mean.here", Combine(sq(mean_error), sq(mean_error))),
        Step("mean.hessian", Action("hessian.p", mean_error)),
        Step(
            "mean.turned",
            Combine(sq(turned(s, mean_error)), (s.alpha * s.L) ** 2 * sq(mean_error), ((s.alpha**2, "mean.hessian"),)),
        ),
        Step(
            "mean.grown",
            Triangle(
                (("mean.here", mean_error, ONE), ("mean.turned", turned(s, mean_error), s.alpha * s.L)), sq(mean_error)
            ),
        ),
        Step("mean.a", Project("a", given=PATH.later(1))),
        Step(
            "mean.next",
            Combine(
                sq(mean_next),
                scalar(ZERO),
                ((ONE, "mean.grown"), (A**2, "mean.supposed")),
                pairings=squared("mean.a", "m", mean_next, mean_error + turned(s, mean_error)),
            ),
        ),
        Step("mean.zero", Induction(sq(mean_error), ZERO, "mean.first", "mean.next")),
        Step("mean", Vanishing("mean.zero", mean_error)),
        # bias
        *bias_steps,
        *bias_of_estimate(error, bias, "bias.path"),
    )
    setting = Setting(
        (
            Index("i", s.n, of=CLIENTS),
            Index("j", s.D, "batches", of=BATCH),
            Index("h", s.D_H, "batches", of=BATCH),
        ),
        (Source("path", (), "batches"), Source("zeta", ("j",), "batches"), Source("xi", ("h",), "batches")),
        (
            Function("df", "x", "x", ("zeta",), role="local_gradient"),
            Function("ddf", "x", ("x", "x"), ("xi",), role="local_hessian"),
        ),
        (
            Variable("p", "x", sources=("path",)),
            Variable("q", "x", sources=()),
            Variable("a", "x", equations=((EVERY, A_ - s.alpha * places(Act(curved(P, 0), A_))),)),
            Variable("m", "x", equations=((EVERY, M + turned(s, M)),), sources=("path",)),
            Variable("r", "x", equations=((EVERY, R_ - s.alpha * Act(curved(Q), R_)),), sources=()),
        ),
    )
    axioms = {
        "start of a": Start("start", A_ - batch(App("df", END_P, (BEFORE_LOOP,)))),
        "hessian lipschitz": Assumed("rho", "ddf"),
        "hessian noise": Assumed("sigma_H", "ddf", given=PAST),
    }
    return estimate(s, "", before, setting, axioms, sequences, steps, "a", "error")


def lemma_10(s: Reader) -> Loop:
    """M4: the estimate g stays what it is at the end of the noisy path, and so does its mean m; r goes back along the path."""
    before = path(s)
    g, closed = Var("g"), s.alpha**2 * s.sigma_G**2 / s.D * Sequence("G", ZERO, ZERO).now
    X, h_end = Sequence("X", ZERO, ZERO).now, end_of_path(s)
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
                pairings=squared("m.start", "r.start", M - R_, jump),
            ),
        ),
        stretched(s, "left_out", left_out, s.L, r_size, "r.hessian", "r.size"),
        Step("bias.grown", triangle(("bias.supposed", M - R_, bias), ("left_out", left_out, s.alpha * s.L * r_size))),
        following("bias.next", numbers, bias, ("m", "r", m_next - r_next, M - R_ + left_out), (ONE, "bias.grown")),
        Step("bias.path", Induction(sq(M - R_), bias**2, "bias.first", "bias.next")),
        Step("power", Identity(1 + s.alpha * s.L * X, E, ONE)),
        Step(
            "bias.closed",
            Combine(sq(M - R_), scalar(wanted**2), ((ONE, "bias.path"), (s.B * (bias + wanted), "power"))),
            "alpha L (1 + A + ... + A^(nu-1)) = A^nu - 1",
        ),
        # given the path, the noise has the mean 0
        Step("mean.supposed", Suppose(sq(mean_noise), ZERO)),
        *mean_begun("g.start", mean_noise),
        Step("mean.g", Project("g", given=PATH.later(1))),
        Step(
            "mean.next",
            Combine(
                sq(mean_next),
                scalar(ZERO),
                ((ONE, "mean.supposed"),),
                pairings=squared("mean.g", "m", mean_next, mean_noise),
            ),
        ),
        Step("mean.zero", Induction(sq(mean_noise), ZERO, "mean.first", "mean.next")),
        Step("mean", Vanishing("mean.zero", mean_noise)),
        *bias_of_estimate(error, wanted, "bias.closed"),
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
                pairings=squared("g.start", "m.start", g - M, batch(noise)),
            ),
        ),
        Step(
            "noise.next",
            Combine(
                sq(g_next - m_next),
                scalar(spread),
                ((ONE, "noise.supposed"),),
                pairings=squared("g", "m", g_next - m_next, g - M),
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
        (Index("i", s.n, of=CLIENTS), Index("j", s.D, "batches", of=BATCH)),
        (Source("path", (), "batches"), Source("zeta", ("j",), "batches")),
        (
            Function("df", "x", "x", ("zeta",), role="local_gradient"),
            Function("ddf", "x", ("x", "x"), ("zeta",), role="local_hessian"),
        ),
        (
            Variable("p", "x", sources=("path",)),
            Variable("q", "x", sources=()),
            Variable("g", "x", equations=((EVERY, g),)),
            Variable("m", "x", equations=((EVERY, M),), sources=("path",)),
            Variable("r", "x", equations=((EVERY, R_ - left_out),), sources=()),
        ),
    )
    axioms = {"start of g": Start("start", g - batch(sampled_end))}
    return estimate(s, "_FO", before, setting, axioms, sequences, steps, "g", "error")
