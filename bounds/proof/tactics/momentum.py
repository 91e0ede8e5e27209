"""Estimates of the clients that are averaged at communications; momentum is one of them."""

from __future__ import annotations

from collections.abc import Mapping

from ..author import Proof, Signomial, Term, Var, Written, quantity
from ..kernel import Invariant


def averaged_updates(clients: Written, first: Term, later: Term) -> dict[str, Term]:
    """The update equations of an estimate that is `first` after step 0, `later` after a later one, and averaged at communications."""
    return {
        "first_local": first,
        "first_communication": clients(first),
        "later_local": later,
        "later_communication": clients(later),
    }


def averaged_estimate(
    proof: Proof, clients: Written, estimate: str, first: Term, later: Term, index: str = "n"
) -> None:
    """The mean of an estimate with `averaged_updates` follows one equation at local steps and at communications.

    The steps are called `u, first local` and so on for the updates, `u, first local, mean` for their means, and `mean u, first` and
    `mean u, later` for what holds at both kinds of step.
    """
    for when, target in (("first", first), ("later", later)):
        together = clients(Var(estimate, 1)) - clients(target)
        rows = []
        for phase in ("local", "communication"):
            name = f"{estimate}, {when} {phase}"
            update = proof.update(estimate, f"first {phase}" if when == "first" else phase, name=name)
            rows.append(proof.zero(f"mean {name}", together, proof.mean(update, index)))
        proof.cases(f"mean {estimate}, {when}", *rows)


def bounded_momentum(
    proof: Proof,
    clients: Written,
    momentum: str,
    squared: str,
    rate: Signomial,
    bound: Signomial,
    directions: Mapping[str, tuple[Term, str]],
    *,
    squares: tuple[Term, ...] = (),
) -> str:
    """`size`: ||m||^2 <= bound, where m starts as a direction and goes on as (1 - rate) m + rate direction.

    Args:
        squared: the quantity ||m||^2. rate: at most 1. squares: vectors whose squared norms the bounds of the directions may leave out.
        directions: `first` and `later`, each with the step that bounds its squared norm; the updates have the names of
            `averaged_estimate`.
    """
    for when, (direction, moment) in directions.items():
        kept = 1 - rate if when == "later" else 0 * rate
        target = kept * Var(momentum) + (1 - kept) * direction
        left = (*squares, target - clients(target), *((Var(momentum) - direction,) if when == "later" else ()))
        claimed = quantity(squared, 1) <= kept * quantity(squared) + (1 - kept) * bound
        rows = [
            proof.claim(f"size, {when} {phase}", claimed, moment, f"{momentum}, {when} {phase}", squares=left)
            for phase in ("local", "communication")
        ]
        proof.cases(f"size, {when}", *rows)
    convex = "a convex combination of directions"
    return proof.step("size", Invariant(squared, bound, "size, first", "size, later"), convex)
