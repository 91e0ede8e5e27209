"""What all derivations of the baselines share: fact (b) of docs/theory/baselines.md, summed."""

from __future__ import annotations

from ...proof.kernel import (
    ONE,
    Assume,
    Assumed,
    Combine,
    Open,
    Reader,
    Scalar,
    Signomial,
    SmoothDescent,
    Step,
    SumOver,
    Term,
    quantity,
)

INFIMUM = Assumed("F_gap", "F")


def descent(
    s: Reader,
    smoothness: Signomial,
    points: tuple[Term, Term],
    gradient: Term,
    directions: tuple[Term, Term],
    bias: Scalar,
    variance: Signomial,
) -> tuple[Step, ...]:
    """Earlier steps: `smooth`, `mean` (the model moves by -eta times the direction), `noise` and `bias`.

    Args:
        points: the model at t and at t + 1.
        directions: the direction, and its mean given the past.
        bias, variance: bounds of ||gradient - known direction||^2 and of ||direction - known direction||^2.
    """
    (here, there), (direction, known) = points, directions
    half = s.eta / 2
    second = smoothness * s.eta**2 / 2
    return (
        Step("smooth step", SmoothDescent("F", "smooth", smoothness, "r", here, there)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step("gradient", Open("gradient")),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F") - half * quantity("gradient") + half * bias + second * variance,
                (
                    (ONE, "smooth step"),
                    (ONE, "F.next"),
                    (-ONE, "F"),
                    (half, "gradient"),
                    (half, "bias"),
                    (second, "noise"),
                ),
                ((half - second, known),),
                pairings=((ONE, "mean", gradient), (smoothness / 2, "mean", there - here - s.eta * direction)),
            ),
            "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2",
        ),
        Step("sum", SumOver("descent")),
        Step("infimum", Assume("infimum")),
    )
