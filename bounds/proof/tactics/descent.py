"""One step of descent, and its sum over the steps."""

from __future__ import annotations

from typing import Any

from ..author import Proof, Scalar, Signomial, Term, quantity

WHY = "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"


def smooth_descent(
    proof: Proof,
    step: Signomial,
    smoothness: Signomial,
    here: Term,
    there: Term,
    variance: Signomial,
    bias: Scalar | Signomial,
    *by: str,
    objective: str = "F",
    kept: Signomial | None = None,
    **more: Any,
) -> None:
    """F[+1] <= F - kept ||grad F||^2 + step/2 bias + smoothness/2 step^2 variance, its sum, and the lower bound of F.

    F and gradient are quantities, at `here`; the steps are called `descent`, `descent, summed` and `infimum`.

    Args:
        kept: step/2, or a number that is larger where there is no bias.
        objective: its name and that of its value; F_gap bounds how far it is above its infimum.
        by: how the model moves, what ||grad F - v||^2 and ||d - v||^2 are at most for the direction d and its mean v given the
            past; what `smooth` says is used as well. more: the arguments of `Proof.claim` for the descent.
    """
    proof.smooth(objective, "smooth", smoothness, here, there)
    F, gradient = quantity(objective), quantity("gradient")
    kept = step / 2 if kept is None else kept
    after = F - kept * gradient + step / 2 * bias + smoothness * step**2 / 2 * variance
    proof.claim("descent", quantity(objective, 1) <= after, "descent lemma", *by, **{"why": WHY, **more})
    summed_descent(proof, objective)


def descent_along(
    proof: Proof,
    step: Signomial,
    smoothness: Signomial,
    length: Scalar,
    error: Scalar,
    *by: str,
    variance: Signomial | None = None,
    **more: Any,
) -> None:
    """`descent`: F[+1] <= F - step/2 ||grad F||^2 - (step - smoothness step^2)/2 length + step/2 error + smoothness/2 step^2 variance.

    Args:
        length: ||v||^2 for the direction v without its fresh noise, of which `variance` bounds the squared norm. error: at least
            ||grad F - v||^2. by, more: as in `smooth_descent`, after the descent lemma.
    """
    kept = step / 2 * quantity("gradient") + (step - smoothness * step**2) / 2 * length
    after = quantity("F") - kept + step / 2 * error
    if variance is not None:
        after = after + smoothness * step**2 / 2 * variance
    proof.claim("descent", quantity("F", 1) <= after, "descent lemma", *by, **{"why": WHY, **more})


def summed_descent(proof: Proof, objective: str = "F") -> None:
    """The sum of the descent, and the lower bound of the objective."""
    proof.sum("descent")
    proof.bound(f"{objective}_gap", of=objective, name="infimum")


def steep_at_most(proof: Proof, smoothness: Signomial, here: Term, slope: Term, gap: Scalar, square: Scalar) -> None:
    """`slope`: ||grad F||^2 <= 2 smoothness (F - F(x_*)), where `slope` is grad F at `here`.

    Args:
        gap, square: how F - F(x_*) and ||grad F||^2 are written.
    """
    nearer = here - 1 / smoothness * slope
    lemma = proof.smooth("F", "smooth", smoothness, here, nearer)
    least = proof.least("minimiser", nearer)
    proof.claim("slope", square <= 2 * smoothness * gap, least, lemma, why=f"F(x_*) <= F(x - grad F(x)/{smoothness!r})")
