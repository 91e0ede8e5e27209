"""Generalised meta FL: what the kernel checks; docs/theory/meta_fl.md comments on it."""

from __future__ import annotations

from collections.abc import Callable

from ...proof.kernel import Derivation, Reader
from . import PAPER
from .derivation_estimates import lemma_6, lemma_10
from .derivation_hessian_free import lemma_11
from .derivation_heterogeneity import lemma_7
from .derivation_loops import lemma_5
from .derivation_smoothness import lemma_4
from .derivation_theorem import lemmas, theorem


def _theorem_8(suffix: str, estimate: str) -> Callable[[Reader], Derivation]:
    def derivation(s: Reader) -> Derivation:
        of = (PAPER.theorem(f"meta_fl.{name}") for name in ("lemma_4", estimate, "lemma_7"))
        return theorem(s, suffix, lemmas(suffix, *of))

    return derivation


DERIVATIONS = (
    ("lemma_4", lemma_4),
    ("lemma_5", lemma_5),
    ("lemma_6", lemma_6),
    ("lemma_7", lemma_7),
    ("lemma_10", lemma_10),
    ("lemma_11", lemma_11),
    ("theorem_8", _theorem_8("", "lemma_6"), ("lemma_4", "lemma_6", "lemma_7")),
    ("theorem_8_FO", _theorem_8("_FO", "lemma_10"), ("lemma_4", "lemma_10", "lemma_7")),
    ("theorem_8_HF", _theorem_8("_HF", "lemma_11"), ("lemma_4", "lemma_11", "lemma_7")),
)
"""Statement, its derivation, and the lemmas that this takes as true, if any."""
