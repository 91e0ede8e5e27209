"""What the kernel checks of meta FL; docs/theory/meta_fl.md comments on it."""

from __future__ import annotations

from .derivation_loops import lemma_5

DERIVATIONS = (("lemma_5", lemma_5),)
