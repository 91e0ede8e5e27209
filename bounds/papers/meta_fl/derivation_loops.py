"""The fine-tuning steps of one client, for the kernel: what the lemmas of part I of docs/theory/meta_fl.md share, and the path (M2).

t is the position in the loop of nu steps. u is the path with noise and w that without; the gradient through it goes back along the path.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

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
    Definition,
    Delivery,
    Function,
    Identity,
    IndependentMean,
    Index,
    Induction,
    Known,
    Loop,
    MeanMoment,
    Numbers,
    Reader,
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
    Var,
    Variable,
    named,
    scalar,
    signomial,
    sq,
)
from ...proof.sum_of_squares import Written, at_point, deviation, mean_over

ZERO, HALF, A = signomial(0), Fraction(1, 2), named("A")
U, W, U_NEXT, W_NEXT = Var("u"), Var("w"), Var("u", 1), Var("w", 1)
exact, sampled = at_point("df", None), at_point("df", 0)
batch = mean_over("j")


def growth(s: Reader) -> tuple[tuple[str, Signomial], ...]:
    return (("A", 1 + s.alpha * s.L),)


def inside(s: Reader) -> dict[str, Fraction]:
    return {name: Fraction(1) for name, param in s.params.items() if name not in s.opaque and param not in s.formulas}


def triangle(*parts: tuple[str, Term, Signomial]) -> Triangle:
    return Triangle(parts, scalar(ONE))


def squared(first: str, second: str, left: Term, right: Term) -> tuple[tuple[Signomial, str, Term], ...]:
    """||left||^2 - ||right||^2 from the equations whose difference is left = right."""
    whole = left + right
    return ((ONE, first, whole), (-ONE, second, whole))


def stretched(s: Reader, name: str, vector: Term, rate: Signomial, bound: Signomial, by: str, of: str) -> Step:
    """||vector|| <= alpha rate bound: `by` bounds vector / alpha by the rate times what `of` bounds."""
    uses = ((s.alpha**2, by), ((s.alpha * rate) ** 2, of))
    return Step(name, Combine(sq(vector), scalar((s.alpha * rate * bound) ** 2), uses))


def following(
    name: str,
    numbers: Numbers,
    bound: Signomial,
    difference: tuple[str, str, Term, Term],
    *uses: tuple[Signomial, str],
    why: str = "",
) -> Step:
    """After a step, the difference of two variables is within the bound: `difference` names their equations, it and what it is."""
    first, second, left, right = difference
    pairings = squared(first, second, left, right)
    return Step(name, Combine(sq(left), scalar(numbers.after(bound**2)), uses, pairings=pairings), why)


CLIENT = frozenset({"i"})
clients = mean_over("i")
P, Q, END_P, END_Q = Var("p"), Var("q"), Var("p", -1), Var("q", -1)
"""The two paths in reverse, at nu - 1 - t; END: at nu, where step 0 begins."""
E, S, N = (Sequence(name, ONE, ONE, positive=name == "E").now for name in ("E", "S", "N"))
POWER = Sequence("E", ONE, A * E, positive=True)
SUM = Sequence("S", ZERO, 1 + A * S)


def hessian(point: Term) -> Term:
    return App("ddf", point)


M, R_, A_ = Var("m"), Var("r"), Var("a")


def exact_of(point: Term) -> Term:
    """The gradient, where no samples are declared."""
    return App("df", point)


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
                pairings=squared("u", "w", U_NEXT - W_NEXT, moved - s.alpha * batch(noise)),
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
        (Index("i", s.n, of=CLIENTS), Index("j", s.D, "batches", of=BATCH)),
        (Source("zeta", ("j",), "batches"),),
        (Function("df", "x", "x", ("zeta",), role="local_gradient"),),
        (
            Variable("u", "x", equations=((EVERY, U - s.alpha * batch(sampled(U))),)),
            Variable("w", "x", equations=((EVERY, W - s.alpha * exact(W)),), sources=()),
        ),
    )
    axioms = {
        "start": Start("start", U - W),
        "lipschitz": Assumed("L", "df"),
        "noise": Assumed("sigma_G", "df"),
    }
    return Loop(setting, axioms, sequences, steps, constants=growth(s), inside=inside(s), time="batches")


def lemma_5(s: Reader) -> Loop:
    """First and second moment of the error of the fine-tuned model."""
    return replace(path(s), delivers=(Delivery("h2_nu", "sum"), Delivery("h_nu", "sum")))


def sure_gradient(
    s: Reader,
    numbers: Numbers,
    exact: Written = exact,
    curved: Written = lambda point: App("ddf", point, (None,)),
    over: str = "",
) -> tuple[Step, ...]:
    """The gradient r through the path without noise, or its mean `over` an index, is at most B A^t."""
    mean: Written = mean_over(over) if over else lambda term: term
    r_size, turned, r_next = s.B * E, -s.alpha * Act(mean(curved(Q)), R_), Var("r", 1)
    spread = deviation(over, exact(END_Q)) if over else ()
    begun, gone_on = R_ + mean(exact(END_Q)), r_next + R_ + turned
    return (
        Step("hessian.q", Assume("hessian", (curved(Q),))),
        *((Step("hessian.mean", MeanMoment("hessian.q", (over,))),) if over else ()),
        Step("r.supposed", Suppose(sq(R_), r_size**2)),
        Step("r.end", Assume("gradient", (exact(END_Q),))),
        Step("r.first", Combine(sq(R_), scalar(s.B**2), ((ONE, "r.end"),), spread, ((ONE, "r.start", begun),))),
        Step("r.hessian", Action("hessian.mean" if over else "hessian.q", R_)),
        stretched(s, "r.turned", turned, s.L, r_size, "r.hessian", "r.supposed"),
        Step("r.grown", triangle(("r.supposed", R_, r_size), ("r.turned", turned, s.alpha * s.L * r_size))),
        Step(
            "r.next",
            Combine(sq(r_next), scalar(numbers.after(r_size**2)), ((ONE, "r.grown"),), pairings=((ONE, "r", gone_on),)),
        ),
        Step("r.size", Induction(sq(R_), r_size**2, "r.first", "r.next")),
        Step("sure", Sure("r.size", R_, r_size)),
    )
