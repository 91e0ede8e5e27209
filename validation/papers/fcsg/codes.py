"""FCSG: its code beside the update equations of its derivation, and what its variants have in common with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from ....algorithms import FCSG
from ...proofs.code import COMPOSITE, MODELS, Code


def conditional(build: Callable[[SimpleNamespace], Any], reads: Mapping[str, Any]) -> Code:
    """A method on a conditional problem, with an outer sample and the inner samples that belong to it."""
    return Code(build, "conditional", reads, COMPOSITE, {"outer": ("xi",), "inner": ("eta",)})


CODES = {"fcsg.theorem_4_1": (conditional(lambda v: FCSG(alpha=v.alpha, q=v.q, m=v.m, b=v.b, B=v.B), MODELS),)}
