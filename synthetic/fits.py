"""Ids of the theorems whose assumptions every problem of a composite kind satisfies."""

from __future__ import annotations

_SHARED = ("feddro.lemma_3_1", "feddro.theorem_5_1", "feddro.theorem_f_1", "feddro.corollary_1", "feddro.corollary_2")
_LOCAL = (
    "local_scgdm.lemma_4_1",
    "local_scgdm.lemma_4_2",
    "local_scgdm.lemma_4_3",
    "local_scgdm.theorem_3_4",
    "local_scgdm.corollary_3_5",
    "comfedl.theorem_1",
)


def shared_fits(*, has_extra: bool) -> tuple[str, ...]:
    """Of shared composites: Theorem 4.2 is about h = 0, everything else fits always."""
    return _SHARED if has_extra else (*_SHARED, "feddro.theorem_4_2")


def local_fits(*, one_outer: bool) -> tuple[str, ...]:
    """Of local composites: ComFedL's Theorem 2 wants one deterministic outer function for all clients."""
    return (*_LOCAL, "comfedl.theorem_2") if one_outer else _LOCAL
