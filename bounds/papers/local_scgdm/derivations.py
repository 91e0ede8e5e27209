"""Local-SCGDM: the derivation of the corrected Theorem 3.4 in both cases; the steps are those of docs/theory/local_scgdm.md."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    ONE,
    Alternatives,
    Assume,
    Certificate,
    Combine,
    Corollary,
    Derivation,
    Open,
    Quantity,
    Reader,
    SmoothDescent,
    Step,
    SumOver,
    Weights,
    quantity,
    sq,
    total,
    value,
)
from .derivation_estimates import (
    consensus,
    error,
    inner,
    inner_kept,
    noise,
    size,
    start_error,
    start_inner,
    tracking,
)
from .derivation_problem import (
    AXIOMS,
    BAR,
    GRADIENT,
    MOMENTUM,
    NEW,
    NEXT,
    NEXT_U,
    OWN,
    Constants,
    U,
    X,
    away,
    clients,
    g,
    means,
    setting,
    smoothness,
    updates,
)
from .theorems import THEOREM_3_4


def descent(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 6."""
    moved, momentum = NEXT - BAR, clients(NEW)
    half, y = c.step / 2, c.step * s.L_F
    return (
        Step("smooth step", SmoothDescent("F", "smooth", s.L_F, "r", BAR, NEXT)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step("gradient", Open("gradient")),
        Step("M", Open("M")),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F") - half * quantity("gradient") - half / 2 * quantity("M") + half * quantity("E"),
                (
                    (ONE, "smooth step"),
                    (ONE, "F.next"),
                    (-ONE, "F"),
                    (half, "gradient"),
                    (half / 2, "M"),
                    (-half, "E"),
                ),
                ((c.step / 2, (Fraction(1, 2) - y) * momentum),),
                pairings=((ONE, "mean", GRADIENT), (s.L_F / 2, "mean", moved - c.step * momentum)),
                certificates=(
                    (
                        (c.step / 32, ("step_size",)),
                        (
                            c.step * s.beta**2 * s.L_F**2 / 2 * (s.eta / s.alpha) * (1 / s.alpha + s.eta),
                            ("momentum_range",),
                        ),
                    ),
                ),
            ),
            "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; 1 - 2y = 2 (1/2 - y)^2 + 1/2 - 2 y^2",
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )


def inner_sum(s: Reader, c: Constants) -> tuple[Step, ...]:
    """The error of the inner estimates over the run."""
    second = Fraction(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma
    return (
        Step(
            "inner.named",
            Combine(
                quantity("U"),
                (1 - c.w) * quantity("U", -1)
                + second * quantity("M", -1)
                + 3 * c.w * s.C_g**2 * c.far
                + c.w**2 * s.delta_g**2,
                ((ONE, "inner.error"), (3 * c.w * s.C_g**2, "drift")),
            ),
        ),
        Step("inner.sum", SumOver("inner.named", start=1)),
    )


def errors(s: Reader, c: Constants, weights: Weights, certificate: Certificate) -> Step:
    """Step 7: the weights cancel the errors of the estimates; one bound for both cases."""
    momentum = 2 * s.eta * s.beta**2 * s.L_F**2 / s.alpha
    second = Fraction(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma
    share = Fraction(8, 3) * c.by_value
    value_noise = c.by_value * s.delta_g**2
    absorbed = Fraction(32, 3) * s.C_g**2 * c.by_value + 8 * s.C_f**2 * s.L_g**2
    return Step(
        "errors",
        Combine(
            total("E"),
            (momentum / c.c + share * second / c.w) * total("M")
            + (c.noise + 2 * value_noise) / c.c
            + Fraction(16, 3) * value_noise / c.w
            + s.T * (Fraction(8, 3) * c.w * value_noise + c.c * c.noise)
            + s.T * (2 + Fraction(8, 3) * s.p) * c.w**2 * value_noise
            + s.T * absorbed * c.far,
            (
                (1 / c.c, "error.sum"),
                (1 / c.c, "start.E"),
                (share / c.w, "inner.sum"),
                (share / c.w, "start.U"),
                *weights,
            ),
            certificates=(certificate,),
        ),
        "the weights cancel the errors",
    )


def averaged(s: Reader) -> Derivation:
    """(A) Line 13 stands and the inner maps are equal: the mean inner estimate, and the spread within a round."""
    c = Constants(s)
    momentum, share = 2 * s.eta * s.beta**2 * s.L_F**2 / s.alpha, Fraction(8, 3) * c.by_value
    value_noise, far = c.by_value * s.delta_g**2, c.step**2 * c.product
    by_value, by_jacobian = share * s.C_g**2 * far, 8 * s.C_f**2 * s.L_g**2 * far
    long = ("p>=1", "p>=1")
    estimates = (
        *updates("u", "m"),
        *means(c, "u", "m"),
        *consensus(s, c),
        *size(s, c),
        *noise(s, c),
        *inner(s, c),
        *tracking(s, c),
        *error(s, c),
        *start_error(s, c),
        *start_inner(s, c),
    )
    sums = (
        *inner_sum(s, c),
        Step(
            "error.named",
            Combine(
                quantity("E"),
                (1 - c.c) * quantity("E", -1)
                + momentum * quantity("M", -1)
                + c.c * share * (quantity("U") + (1 - c.w) * quantity("R"))
                + c.c * (share * (c.w * s.C_g**2 * c.far + c.w**2 * s.delta_g**2) + 8 * s.C_f**2 * s.L_g**2 * c.far)
                + c.c**2 * (c.noise + 2 * c.by_value * c.w**2 * s.delta_g**2),
                (
                    (ONE, "error"),
                    (2 * c.c, "bias"),
                    (c.c * (share * c.w * s.C_g**2 + 8 * s.C_f**2 * s.L_g**2), "drift"),
                ),
            ),
        ),
        Step("error.sum", SumOver("error.named", start=1)),
        errors(
            s,
            c,
            ((share * (1 - c.w), "spread"),),
            (
                (4 * by_value + by_jacobian, long),
                (share * c.w**3 * s.delta_g**2 * s.T, ("p>=1",)),
                (share * c.w**2 * s.delta_g**2 * s.p * s.eta, ("inner_momentum_range",)),
                (2 * s.T * c.w**2 * value_noise * s.eta, ("momentum_range",)),
            ),
        ),
    )
    own = (Quantity("U", sq(clients(NEXT_U) - g(BAR))), Quantity("R", sq(away(U))))
    return derivation(s, c, estimates, sums, own)


def kept(s: Reader) -> Derivation:
    """(B) Line 13 is deleted and the inner maps are free: every client follows its own."""
    c = Constants(s, averaged=False)
    momentum, share = 2 * s.eta * s.beta**2 * s.L_F**2 / s.alpha, Fraction(8, 3) * c.by_value
    value_noise, far = c.by_value * s.delta_g**2, c.step**2 * c.product
    by_value, by_jacobian = share * s.C_g**2 * far, 8 * s.C_f**2 * s.L_g**2 * far
    long = ("p>=1", "p>=1")
    estimates = (
        *updates("m"),
        *means(c, "m"),
        *consensus(s, c),
        *size(s, c),
        *noise(s, c),
        *inner_kept(s, c),
        *error(s, c),
        *start_error(s, c),
    )
    sums = (
        *inner_sum(s, c),
        Step(
            "error.named",
            Combine(
                quantity("E"),
                (1 - c.c) * quantity("E", -1)
                + momentum * quantity("M", -1)
                + c.c * (share * quantity("U") + 8 * s.C_f**2 * s.L_g**2 * c.far)
                + c.c**2 * (c.noise + 2 * c.by_value * c.w**2 * s.delta_g**2),
                ((ONE, "error"), (2 * c.c, "bias"), (c.c * 8 * s.C_f**2 * s.L_g**2, "drift")),
            ),
        ),
        Step("error.sum", SumOver("error.named", start=1)),
        errors(
            s,
            c,
            (),
            (
                (by_value * (s.T + 3) + by_jacobian, long),
                (2 * s.T * c.w**2 * value_noise * s.eta, ("momentum_range",)),
            ),
        ),
    )
    return derivation(s, c, estimates, sums, (Quantity("U", sq(NEXT_U - g(BAR))),))


def derivation(
    s: Reader, c: Constants, estimates: tuple[Step, ...], sums: tuple[Step, ...], own: tuple[Quantity, ...]
) -> Derivation:
    """Everything is compared at the mean model, whose momentum obeys one recursion at every step."""
    per = 2 / (c.step * s.T)
    return Derivation(
        setting(s, c),
        (
            Quantity("X", sq(away(X))),
            Quantity("m_squared", sq(MOMENTUM)),
            *own,
            Quantity("E", sq(clients(NEW) - GRADIENT)),
            Quantity("M", sq(clients(NEW))),
            Quantity("gradient", sq(GRADIENT)),
            Quantity("F", value("F", BAR)),
        ),
        AXIOMS,
        (*smoothness(s, c), *estimates, *descent(s, c), *sums),
        ((per, "sum"), (per, "bounded"), (1 / s.T, "errors")),
        "gradient",
        "x",
        dict.fromkeys(("C_f", "C_g", "L_f", "L_g", "sigma_f", "sigma_g", "delta_g", "F_gap", "p", "T"), Fraction(1))
        | {"alpha": Fraction(1), "gamma": Fraction(1), "beta": Fraction(1, 10), "eta": Fraction(1, 2)},
        "not stated: samples",
        either=OWN,
    )


def theorem_3_4(s: Reader) -> Alternatives:
    """Two ways to repair line 13 of Algorithm 1, with one bound."""
    return Alternatives(OWN, (("A", averaged(s)), ("B", kept(s))))


def corollary_3_5(s: Reader) -> Corollary:
    """eta = T^(-1/2), p <= T^(1/4), put into Theorem 3.4: (a - 1)^2 - (p - 1)^2 = (a - p)^2 + 2 (a - p)(p - 1)."""
    far = 8 * s.eta**2 * s.beta**2 * s.C_f**2 * s.C_g**2
    drift = far * (s.C_f**2 * s.L_g**2 + Fraction(4, 3) * s.C_g**4 * s.L_f**2)
    rounds = ((drift, ("p_choice", "p_choice")), (2 * drift, ("p_choice", "p>=1")))
    ones = ("C_f", "C_g", "L_f", "L_g", "sigma_f", "sigma_g", "delta_g", "F_gap", "alpha", "gamma")
    inside = dict.fromkeys(ones, Fraction(1)) | {"beta": Fraction(1, 10), "T": Fraction(16), "p": Fraction(2)}
    return Corollary(THEOREM_3_4, inside, certificates={"term drift": rounds})


DERIVATIONS = (("theorem_3_4", theorem_3_4), ("corollary_3_5", corollary_3_5))
