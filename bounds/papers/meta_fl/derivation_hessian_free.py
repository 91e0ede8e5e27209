"""M5: bias and second moment of the Hessian-free estimate of the gradient."""

from __future__ import annotations

from ...language.bounding import CENTRAL_DIFFERENCE, SECOND_DIFFERENCE
from ...proof.kernel import (
    BATCH,
    CLIENTS,
    EVERY,
    ONE,
    Act,
    Action,
    App,
    Assume,
    Assumed,
    Combine,
    Conditional,
    Definition,
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
    Smaller,
    Source,
    Start,
    Step,
    Suppose,
    Sure,
    Term,
    Var,
    Variable,
    scalar,
    sq,
)
from .derivation_estimates import (
    BEFORE_LOOP,
    FIRST_NOISE,
    H2,
    JUMP,
    PAST,
    PATH,
    PATH_SUM,
    along_mean,
    away,
    bias_of_mean,
    curved,
    estimate,
    first_moment,
    mean_begun,
    places,
    turned,
)
from .derivation_loops import (
    A_,
    END_P,
    END_Q,
    HALF,
    POWER,
    R_,
    SUM,
    ZERO,
    A,
    E,
    M,
    P,
    Q,
    S,
    batch,
    exact,
    following,
    path,
    squared,
    stretched,
    sure_gradient,
    triangle,
)

D_ = Var("d")


def at(point: Term, sample: int | None = None) -> Term:
    """The gradient with the batch of a Hessian, of one sample or its mean."""
    return App("dg", point, (sample,))


def lemma_11(s: Reader) -> Loop:
    """M5: a is the estimate and d what it is without noise; m and r use the Hessians, along the noisy path and along the other one."""
    before = path(s)
    v, T, b = (Sequence(name, ONE, ONE).now for name in ("v", "T", "b"))
    start = s.sigma_G**2 / s.D
    by_gradient, by_hessian = (s.sigma_G / s.delta) ** 2, s.sigma_H**2 * T
    noise = by_gradient.least(by_hessian)
    sure = s.B * E
    carried = A * v**HALF + s.alpha * s.rho * sure * H2.reversed**HALF
    sequences = (
        Sequence("v", start + s.L**2 * H2.end, carried**2 + s.alpha**2 / s.D_H * noise),
        Sequence("T", s.B**2 + start, A**2 * T + s.alpha**2 / s.D_H * noise),
        Sequence("b", ZERO, A * b + s.alpha * s.rho * s.delta / 2 * T),
        PATH_SUM,
        POWER,
        SUM,
    )
    numbers = Numbers(s.nu, sequences, before.sequences)
    bias, bias_steps = bias_of_mean(s, numbers)
    off = s.alpha * s.rho * s.delta * s.B**2 / 2
    q = off * E / A * S

    half = 1 / (2 * s.delta)
    a_next, d_next, m_next, r_next = (Var(name, 1) for name in ("a", "d", "m", "r"))

    def ends(point: Term, vector: Term) -> tuple[Term, Term]:
        return point + s.delta * vector, point - s.delta * vector

    def difference(point: Term, vector: Term, sample: int | None = None) -> Term:
        """In the place of the Hessian times the vector."""
        plus, minus = ends(point, vector)
        return half * (at(plus, sample) - at(minus, sample))

    def means(point: Term, vector: Term) -> tuple[Term, Term]:
        plus, minus = ends(point, vector)
        return at(plus), at(minus)

    def scaled(name: str, vector: Term, rate: Signomial, bound: Signomial, by: str, of: str) -> Step:
        """As `stretched`, where `by` bounds 2 delta vector / alpha by 2 delta times the rate."""
        uses = (((s.alpha * half) ** 2, by), ((s.alpha * rate) ** 2, of))
        return Step(name, Combine(sq(vector), scalar((s.alpha * rate * bound) ** 2), uses))

    def differenced(point: Term, vector: Term) -> Term:
        return -s.alpha * difference(point, vector)

    def left_over(point: Term, vector: Term) -> Term:
        """What the central difference errs by, times -alpha."""
        return -s.alpha * (difference(point, vector) - Act(curved(point), vector))

    error, mean_error = A_ - D_, Given(PATH, A_ - M)
    mean_next = Given(PATH.later(1), a_next - m_next)
    own = difference(P, A_, 0) - difference(P, A_)
    plus, minus = (at(end, 0) for end in ends(P, A_))
    plus_mean, minus_mean = means(P, A_)
    up = -s.alpha * half * (at(P + s.delta * A_) - at(P + s.delta * D_))
    down = s.alpha * half * (at(P - s.delta * A_) - at(P - s.delta * D_))
    shifted = differenced(P, D_) - differenced(Q, D_)

    def own_noise(name: str, of: str) -> tuple[Step, ...]:
        return (
            Step(
                f"own.hessian{name}",
                Combine(sq(own), scalar(by_hessian), ((half**2, "own.difference"), (s.sigma_H**2, of))),
            ),
            Step(f"own{name}", Smaller(sq(own), (("own.gradient", by_gradient), (f"own.hessian{name}", by_hessian)))),
        )

    steps = (
        Step("a.start", Assume("start of a")),
        Step("d.start", Assume("start of d")),
        Step("m.start", Assume("start of m")),
        Step("r.start", Assume("start of r")),
        Step("a", Definition("a", "local")),
        Step("d", Definition("d", "local")),
        Step("m", Definition("m", "local")),
        Step("r", Definition("r", "local")),
        Step("hessian.p", Assume("hessian", (curved(P),))),
        *sure_gradient(s, numbers),
        # the noise of the batches: the smaller of two bounds
        *first_moment(s, numbers, T),
        Step("own.batch", IndependentMean(own, "h", PAST)),
        Step("own.plus", Assume("noise of two", (plus,))),
        Step("own.minus", Assume("noise of two", (minus,))),
        Step(
            "own.apart",
            triangle(("own.plus", plus - plus_mean, s.sigma_G), ("own.minus", minus_mean - minus, s.sigma_G)),
        ),
        Step("own.gradient", Combine(sq(own), scalar(by_gradient), ((half**2, "own.apart"),))),
        Step("own.difference", Assume("hessian noise", (plus, minus)), "both gradients use one batch"),
        # the estimate has the second moment T, whatever the path is
        Step("a.supposed", Suppose(sq(A_), T)),
        *own_noise(".supposed", "a.supposed"),
        Step("a.lipschitz", Assume("lipschitz of two", means(P, A_))),
        scaled("a.turned", differenced(P, A_), s.L, T**HALF, "a.lipschitz", "a.supposed"),
        Step(
            "a.grown", triangle(("a.supposed", A_, T**HALF), ("a.turned", differenced(P, A_), s.alpha * s.L * T**HALF))
        ),
        Step(
            "a.next",
            Combine(
                sq(a_next),
                scalar(numbers.after(T)),
                ((ONE, "a.grown"), (s.alpha**2, "own.batch"), (s.alpha**2 / s.D_H, "own.supposed")),
                pairings=((ONE, "a", a_next + A_ + differenced(P, A_) - s.alpha * places(own)),),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("a.size", Induction(sq(A_), T, "a.first", "a.next")),
        Step("a.given", Conditional("a.size", A_, T, PATH)),
        *own_noise("", "a.size"),
        # without noise the estimate is at most B A^t
        Step("d.supposed", Suppose(sq(D_), sure**2)),
        Step("d.first", Combine(sq(D_), scalar(s.B**2), ((ONE, "r.end"),), (), ((ONE, "d.start", D_ + exact(END_Q)),))),
        Step("d.lipschitz", Assume("lipschitz of two", means(Q, D_))),
        scaled("d.turned", differenced(Q, D_), s.L, sure, "d.lipschitz", "d.supposed"),
        Step("d.grown", triangle(("d.supposed", D_, sure), ("d.turned", differenced(Q, D_), s.alpha * s.L * sure))),
        Step(
            "d.next",
            Combine(
                sq(d_next),
                scalar(numbers.after(sure**2)),
                ((ONE, "d.grown"),),
                pairings=((ONE, "d", d_next + D_ + differenced(Q, D_)),),
            ),
        ),
        Step("d.size", Induction(sq(D_), sure**2, "d.first", "d.next")),
        Step("d.sure", Sure("d.size", D_, sure)),
        *away(s),
        # a difference at the wrong point of the path
        Step("shifted.difference", Assume("second difference", (*means(P, D_), *means(Q, D_)), ("d.sure",))),
        scaled("shifted", shifted, s.rho * sure, H2.reversed**HALF, "shifted.difference", "apart"),
        # second moment of the error against the estimate without noise
        Step("error.supposed", Suppose(sq(error), v)),
        Step(
            "error.first",
            Combine(
                sq(error),
                scalar(numbers.at_start(v)),
                ((ONE, "end.moved"), (ONE, "first.batch"), (1 / s.D, "first.sample")),
                pairings=squared("a.start", "d.start", error, JUMP + batch(FIRST_NOISE)),
            ),
        ),
        Step("error.up", Assume("lipschitz of two", (at(P + s.delta * A_), at(P + s.delta * D_)))),
        Step("error.down", Assume("lipschitz of two", (at(P - s.delta * A_), at(P - s.delta * D_)))),
        scaled("up", up, s.L / 2, v**HALF, "error.up", "error.supposed"),
        scaled("down", down, s.L / 2, v**HALF, "error.down", "error.supposed"),
        Step(
            "error.grown",
            triangle(
                ("error.supposed", error, v**HALF),
                ("up", up, s.alpha * s.L / 2 * v**HALF),
                ("down", down, s.alpha * s.L / 2 * v**HALF),
                ("shifted", shifted, s.alpha * s.rho * sure * H2.reversed**HALF),
            ),
        ),
        Step(
            "error.next",
            Combine(
                sq(a_next - d_next),
                scalar(numbers.after(v)),
                ((ONE, "error.grown"), (s.alpha**2, "own.batch"), (s.alpha**2 / s.D_H, "own")),
                pairings=squared("a", "d", a_next - d_next, error + up + down + shifted - s.alpha * places(own)),
            ),
            "the noise is orthogonal to the past: squares add",
        ),
        Step("error", Induction(sq(error), v, "error.first", "error.next")),
        # what the differences add to it
        Step("q.supposed", Suppose(sq(D_ - R_), q**2)),
        Step("q.first", Combine(sq(D_ - R_), scalar(ZERO), pairings=squared("d.start", "r.start", D_ - R_, D_ - D_))),
        Step("q.hessian", Action("hessian.q", D_ - R_)),
        stretched(s, "q.turned", turned(s, D_ - R_, Q), s.L, q, "q.hessian", "q.supposed"),
        Step("q.central", Assume("central difference", (*means(Q, D_), curved(Q)), ("d.sure",))),
        Step(
            "q.off",
            Combine(sq(left_over(Q, D_)), scalar((off * E**2) ** 2), (((s.alpha * half) ** 2, "q.central"),)),
        ),
        Step(
            "q.grown",
            triangle(
                ("q.supposed", D_ - R_, q),
                ("q.turned", turned(s, D_ - R_, Q), s.alpha * s.L * q),
                ("q.off", left_over(Q, D_), off * E**2),
            ),
        ),
        Step("power", Identity(1 + s.alpha * s.L * S, E, A)),
        following(
            "q.next",
            numbers,
            q,
            ("d", "r", d_next - r_next, D_ - R_ + turned(s, D_ - R_, Q) + left_over(Q, D_)),
            (ONE, "q.grown"),
            (-((off * E) ** 2) * (1 + A * S + S + E), "power"),
            why="1 + alpha L (1 + A + ... + A^(t-1)) = A^t",
        ),
        Step("q", Induction(sq(D_ - R_), q**2, "q.first", "q.next")),
        Step("sigma", triangle(("error", error, v**HALF), ("q", D_ - R_, q))),
        # given the path, the estimate has nearly the mean m
        Step("mean.supposed", Suppose(sq(mean_error), b**2)),
        *mean_begun("a.start", mean_error),
        *along_mean(s, "mean", mean_error, b),
        Step("mean.central", Assume("central difference", (*means(P, A_), curved(P)), ("a.given",))),
        Step(
            "mean.off",
            Combine(
                sq(Given(PATH, left_over(P, A_))),
                scalar((s.alpha * s.rho * s.delta / 2 * T) ** 2),
                (((s.alpha * half) ** 2, "mean.central"),),
            ),
        ),
        Step(
            "mean.grown",
            triangle(
                ("mean.supposed", mean_error, b),
                ("mean.turned", turned(s, mean_error), s.alpha * s.L * b),
                ("mean.off", Given(PATH, left_over(P, A_)), s.alpha * s.rho * s.delta / 2 * T),
            ),
        ),
        Step("mean.a", Project("a", given=PATH.later(1))),
        following(
            "mean.next",
            numbers,
            b,
            ("mean.a", "m", mean_next, mean_error + turned(s, mean_error) + Given(PATH, left_over(P, A_))),
            (ONE, "mean.grown"),
        ),
        Step("mean", Induction(sq(mean_error), b**2, "mean.first", "mean.next")),
        Step(
            "mean.all",
            Combine(
                sq(Given(Known(), A_ - M)),
                scalar(b**2),
                ((ONE, "mean"),),
                ((ONE, mean_error - Given(Known(), mean_error)),),
            ),
        ),
        # bias
        *bias_steps,
        Step(
            "bias.all",
            Combine(
                sq(Given(Known(), M - R_)),
                scalar(bias**2),
                ((ONE, "bias.path"),),
                ((ONE, M - R_ - Given(Known(), M - R_)),),
            ),
        ),
        Step("bias", triangle(("bias.all", Given(Known(), M - R_), bias), ("mean.all", Given(Known(), A_ - M), b))),
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
            Function("dg", "x", "x", ("xi",), role="local_gradient"),
            Function("ddf", "x", ("x", "x"), ("xi",), role="local_hessian"),
        ),
        (
            Variable("p", "x", sources=("path",)),
            Variable("q", "x", sources=()),
            Variable("a", "x", equations=((EVERY, A_ - s.alpha * places(difference(P, A_, 0))),)),
            Variable("d", "x", equations=((EVERY, D_ + differenced(Q, D_)),), sources=()),
            Variable("m", "x", equations=((EVERY, M + turned(s, M)),), sources=("path",)),
            Variable("r", "x", equations=((EVERY, R_ + turned(s, R_, Q)),), sources=()),
        ),
    )
    axioms = {
        "start of a": Start("start", A_ - batch(App("df", END_P, (BEFORE_LOOP,)))),
        "start of d": Start("start", D_ - exact(END_Q)),
        "lipschitz of two": Assumed("L", "dg"),
        "hessian lipschitz": Assumed("rho", "ddf"),
        "central difference": Assumed("rho", "dg", CENTRAL_DIFFERENCE),
        "second difference": Assumed("rho", "dg", SECOND_DIFFERENCE),
        "noise of two": Assumed("sigma_G", "dg"),
        "hessian noise": Assumed("sigma_H", "dg"),
    }
    return estimate(s, "_HF", before, setting, axioms, sequences, steps, "a", "sigma")
