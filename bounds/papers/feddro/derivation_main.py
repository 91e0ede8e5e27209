"""FedDRO: the derivation of the corrected Theorem 5.1; the steps are those of docs/theory/feddro.md."""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    ONE,
    Assume,
    AtStart,
    Combine,
    Derivation,
    Drift,
    Open,
    Quantity,
    Reader,
    Signomial,
    SmoothDescent,
    Step,
    SumOver,
    quantity,
    scalar,
    signomial,
    sq,
    total,
    value,
)
from ...proof.sum_of_squares import apart
from .derivation_direction import bias, innovation, operators, spread, variance
from .derivation_problem import (
    AFTER,
    AXIOMS,
    BAR,
    BEFORE,
    DIRECTION,
    ERROR,
    EXPECTED_Y,
    NEXT,
    TWO,
    A,
    Constants,
    D,
    X,
    Y,
    gradient,
    movement,
    setting,
    smoothness,
)


def drift(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 6: A <= a A + c with a <= 1/9, over all steps and at communications."""
    nine_eighths = signomial(Fraction(9, 8))
    forcing = nine_eighths * s.eta**2 * (s.I - 1) ** 2 * c.c0 * s.T
    every = Drift("X", "away", "agree", "common start", "growth")
    return (
        Step("drift", every),
        Step("drift.all", Combine(total("X"), scalar(forcing), ((nine_eighths, "drift"),))),
        Step("drift.last", Drift("X", "away", "agree", "common start", "growth", "communications")),
        Step(
            "drift.communications",
            Combine(
                total("X", communications=True),
                scalar(forcing / s.I),
                ((ONE, "drift.last"), (24 * c.rho * s.eta**2 * (s.I - 1), "drift.all")),
                certificates=(
                    (
                        (9 * c.c0 * s.eta**2 * s.T / (8 * s.I), ("step_size_period", "I>=1", "I>=1")),
                        (27 * c.rho * c.c0 * s.eta**4 * s.T, ("I>=1", "I>=1")),
                    ),
                ),
            ),
        ),
        Step(
            "drift.small",
            Combine(
                24 * c.rho * total("X"),
                scalar(c.c0 * s.T / 8),
                ((24 * c.rho, "drift.all"),),
                certificates=(
                    (
                        (9 * c.c0 * s.T / 8, ("step_size_period",)),
                        (54 * c.rho * c.c0 * s.eta**2 * s.T, ("I>=1",)),
                    ),
                ),
            ),
        ),
    )


def length(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 7: between communications eta d_k, at a communication also the deviation from the mean."""
    bound = s.eta**2 * (quantity("D_squared") + 24 * c.rho * quantity("X") + c.c0)
    local = (
        (ONE, "S"),
        (s.eta**2, "spread"),
        (-(s.eta**2), "D"),
    )
    jump = 1 + (s.I - 1) ** 2 / s.I
    nine_eighths = signomial(Fraction(9, 8))
    limit = s.eta**2 * (total("D_squared") + nine_eighths * c.c0 * jump * s.T)
    return (
        Step("S", Open("S")),
        Step("D", Open("D_squared")),
        Step(
            "length.local",
            Combine(
                quantity("S"),
                bound,
                local,
                pairings=((ONE, "move", AFTER - X - s.eta * DIRECTION),),
            ),
        ),
        Step(
            "length.communication",
            Combine(
                quantity("S"),
                bound + quantity("X"),
                (*local, (-ONE, "X")),
                ((s.eta**2, DIRECTION - D),),
                pairings=((ONE, "jump", AFTER - X - (X - BAR) - s.eta * D),),
            ),
        ),
        Step("length.sum", SumOver("length.local", "length.communication")),
        Step(
            "length",
            Combine(
                total("S"),
                limit,
                ((ONE, "length.sum"), (s.eta**2, "drift.small"), (ONE, "drift.communications")),
            ),
            "at most T/I communications",
        ),
    )


def closing(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Steps 8 and 9: the innovations close on themselves; the error of the estimate."""
    share = 4 * s.B_g**2 / c.bK
    jump = 1 + (s.I - 1) ** 2 / s.I
    inside = 2 * total("M") + s.T * (6 * c.v / c.bK + Fraction(9, 8) * c.c0 * jump)
    return (
        Step("M", Open("M")),
        Step(
            "square",
            Combine(
                quantity("D_squared"),
                2 * quantity("M") + 6 * c.v / c.bK + 6 * c.by_value * quantity("N"),
                ((ONE, "D"), (-TWO, "M"), (TWO, "variance")),
                apart(A, D - A),
            ),
        ),
        Step("square.sum", SumOver("square")),
        Step("same start", Assume("same start")),
        Step(
            "no move before the start",
            Combine(quantity("S", -1), scalar(0), ((ONE, "S.before"),), pairings=((ONE, "same start", X - BEFORE),)),
        ),
        Step("S start", AtStart("no move before the start")),
        Step("noise.sum", SumOver("noise")),
        Step(
            "innovations",
            Combine(
                total("N"),
                4 * s.beta**2 * s.delta_g**2 / c.bK * s.T + share * s.eta**2 * inside,
                (
                    (TWO, "noise.sum"),
                    (share, "S start"),
                    (share, "length"),
                    (share * s.eta**2, "square.sum"),
                ),
            ),
            "A <= a A + c with a <= 1/2",
        ),
        Step("error.sum", SumOver("error")),
        Step("inner start", Assume("inner start")),
        Step(
            "estimates",
            Combine(
                s.beta * total("Y"),
                scalar(s.y_err**2) + total("N"),
                ((ONE, "error.sum"), ((1 - s.beta) ** 2, "inner start")),
            ),
            "(1 - beta)^2 <= 1 - beta",
        ),
    )


def descent(s: Reader) -> tuple[Step, ...]:
    """Step 1."""
    moved = NEXT - BAR
    return (
        Step("smooth step", SmoothDescent("Phi", "smooth", s.L_Phi, "r", BAR, NEXT)),
        Step("Phi", Open("Phi")),
        Step("Phi.next", Open("Phi", 1)),
        Step("gradient", Open("gradient")),
        Step(
            "descent",
            Combine(
                quantity("Phi", 1),
                quantity("Phi")
                - s.eta / 2 * quantity("gradient")
                - (s.eta / 2 - s.eta**2 * s.L_Phi) * quantity("M")
                + s.eta / 2 * sq(gradient(BAR) - A)
                + s.eta**2 * s.L_Phi * sq(D - A),
                (
                    (ONE, "smooth step"),
                    (ONE, "Phi.next"),
                    (-ONE, "Phi"),
                    (s.eta / 2, "gradient"),
                    (s.eta / 2 - s.eta**2 * s.L_Phi, "M"),
                ),
                apart(A, D - A, weight=s.eta**2 * s.L_Phi / 2),
                pairings=((ONE, "mean", gradient(BAR)), (s.L_Phi / 2, "mean", moved - s.eta * D)),
            ),
            "-<a, c> = (||a - c||^2 - ||a||^2 - ||c||^2)/2",
        ),
    )


def collected(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 10: the bounds of steps 3 and 4 in step 1, summed."""
    pull = c.rho + 2 * s.B_g**4 * s.L_f**2
    eta, square = s.eta, s.eta**2 * s.L_Phi
    return (
        Step(
            "one step",
            Combine(
                quantity("Phi", 1),
                quantity("Phi")
                - eta / 2 * quantity("gradient")
                - (eta / 2 - square) * quantity("M")
                + 2 * eta * pull * quantity("X")
                + 4 * eta * c.by_value * quantity("Y")
                + (2 * eta * s.sigma_g**2 * s.L_f**2 / c.bK + 3 * square * c.by_value) * quantity("N")
                + 3 * square * c.v / c.bK,
                ((ONE, "descent"), (eta / 2, "bias"), (square, "variance")),
            ),
        ),
        Step("sum", SumOver("one step")),
        Step("bounded", Assume("lower bound")),
    )


def theorem_5_1(s: Reader) -> Derivation:
    """FedDRO with fresh samples at every step, y made from those of step t, and (8) used from t = 0 on."""
    c = Constants(s)
    weight = innovation_weight(s, c)
    per = 2 / (s.eta * s.T)
    pull = c.rho + 2 * s.B_g**4 * s.L_f**2
    steps = (
        *smoothness(s, c),
        *movement(s),
        *innovation(s, c),
        *operators(s),
        *bias(s, c),
        *variance(s, c),
        *spread(s, c),
        *drift(s, c),
        *length(s, c),
        *closing(s, c),
        *descent(s),
        *collected(s, c),
    )
    return Derivation(
        setting(s),
        (
            Quantity("X", sq(X - BAR)),
            Quantity("Y", sq(ERROR)),
            Quantity("N", sq(Y - EXPECTED_Y)),
            Quantity("S", sq(AFTER - X)),
            Quantity("M", sq(A)),
            Quantity("D_squared", sq(D)),
            Quantity("gradient", sq(gradient(BAR))),
            Quantity("Phi", value("Phi", BAR)),
        ),
        AXIOMS,
        steps,
        (
            (per, "sum"),
            (per, "bounded"),
            (4 * pull / s.T, "drift.all"),
            (8 * c.by_value / (s.beta * s.T), "estimates"),
            (per * weight, "innovations"),
        ),
        "gradient",
        "x",
        inside(s),
        "not stated: independence over time",
    )


def innovation_weight(s: Reader, c: Constants) -> Signomial:
    """W of step 10: what the innovations are counted with."""
    return s.eta * (4 * c.by_value / s.beta + 2 * s.sigma_g**2 * s.L_f**2 / c.bK + 3 * s.eta * s.L_Phi * c.by_value)


def inside(s: Reader) -> dict[str, Fraction]:
    ones = [name for name in s.params if name not in ("eta", "L_Phi")]
    return dict.fromkeys(ones, Fraction(1)) | {"eta": Fraction(1, 200)}
