"""Ids of the theorems whose assumptions every problem of a composite or of the federated kind satisfies."""

from __future__ import annotations

from collections.abc import Collection

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


def local_fits(*, one_outer: bool, equal_inner: bool = False) -> tuple[str, ...]:
    """Of local composites: ComFedL's Theorem 2 wants one deterministic outer function, SCGD one inner map for all clients."""
    found = (*_LOCAL, "comfedl.theorem_2") if one_outer else _LOCAL
    return (*found, "baselines.scgd") if equal_inner else found


_FEDERATED = {
    "baselines.minibatch_sgd": "objective_smoothness",
    "baselines.local_sgd": "local_gradient_bound",
    "baselines.local_sgd_heterogeneity": "local_gradient_heterogeneity",
}


def federated_fits(certified: Collection[str]) -> tuple[str, ...]:
    """Of plain federated problems: each theorem needs one constant that is not finite on every problem."""
    return tuple(theorem for theorem, quantity in _FEDERATED.items() if quantity in certified)
