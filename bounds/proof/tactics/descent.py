"""One step of descent, and its sum over the steps."""

from __future__ import annotations

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
    squares: tuple[Term, ...] = (),
) -> None:
    """F[+1] <= F - step/2 ||grad F||^2 + step/2 bias + smoothness/2 step^2 variance, its sum, and the lower bound of F.

    F and gradient are quantities, at `here`; the steps are called `descent`, `descent, summed` and `infimum`.

    Args:
        by: how the model moves, what ||grad F - v||^2 and ||d - v||^2 are at most for the direction d and its mean v given the
            past; what `smooth` says is used as well.
    """
    proof.smooth("F", "smooth", smoothness, here, there)
    F, gradient = quantity("F"), quantity("gradient")
    after = F - step / 2 * gradient + step / 2 * bias + smoothness * step**2 / 2 * variance
    why = "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"
    proof.claim("descent", quantity("F", 1) <= after, "descent lemma", *by, squares=squares, why=why)
    proof.sum("descent")
    proof.bound("F_gap", of="F", name="infimum")
