"""Noise that is averaged."""

from __future__ import annotations

from ..author import ONE, Mean, Proof, Signomial, Term, sq


def variance_of_mean(
    proof: Proof, name: str, noise: Term, over: str, variance: Signomial, *by: str, why: str = ""
) -> str:
    """||mean z||^2 <= variance / number: noise that is independent over each of the indices, the last one inside.

    ||z||^2 <= variance follows from the steps in `by`.
    """
    inner, number, reasons = noise, ONE, []
    for index in reversed(over.split()):
        reasons.append(proof.independent(inner, index))
        inner, number = Mean(index, inner), proof.size(index) * number
    return proof.claim(name, sq(inner) <= variance / number, *reasons, *by, why=why)
