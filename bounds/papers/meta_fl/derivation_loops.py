"""The fine-tuning steps of one client and the gradient through them, for the kernel: part I of docs/theory/meta_fl.md.

t is the position in the loop of nu steps. u is the path with noise and w that without; the gradient through it goes back along the path.
"""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    EVERY,
    ONE,
    Assume,
    Combine,
    Definition,
    Delivery,
    Function,
    Identity,
    IndependentMean,
    Index,
    Induction,
    Known,
    Lipschitz,
    Loop,
    Numbers,
    Reader,
    Scalar,
    Sequence,
    Setting,
    Signomial,
    Source,
    Start,
    Step,
    Suppose,
    Term,
    Triangle,
    Var,
    Variable,
    Variance,
    named,
    scalar,
    signomial,
    sq,
)
from ...proof.writing import at_point, mean_over

ZERO, A = signomial(0), named("A")
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
    sequences = (Sequence("h2", ZERO, A**2 * h2 + spread), Sequence("G", ZERO, 1 + A**2 * G))
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
