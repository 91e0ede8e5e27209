"""One step of descent, and its sum over the steps."""

from __future__ import annotations

from typing import Any

from ..author import Proof, Scalar, Signomial, Term, quantity


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
    why = "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"
    proof.claim("descent", quantity(objective, 1) <= after, "descent lemma", *by, **{"why": why, **more})
    proof.sum("descent")
    proof.bound(f"{objective}_gap", of=objective, name="infimum")
