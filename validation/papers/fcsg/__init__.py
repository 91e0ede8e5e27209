"""FCSG: how its statements are run, and its code beside the update equations of its derivation, with what its variants share of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from ....algorithms import FCSG
from ...proofs.code import COMPOSITE, MODELS, Code
from ...runs.declaration import InPractice, counts_rounds
from ...runs.tables import read_runs
from . import lemmas


def conditional(build: Callable[[SimpleNamespace], Any], reads: Mapping[str, Any]) -> Code:
    """A method on a conditional problem, with an outer sample and the inner samples that belong to it."""
    return Code(build, "conditional", reads, COMPOSITE, {"outer": ("xi",), "inner": ("eta",)})


CODES = {"fcsg.theorem_4_1": (conditional(lambda v: FCSG(alpha=v.alpha, q=v.q, m=v.m, b=v.b, B=v.B), MODELS),)}


RUNS = read_runs(
    __file__,
    chains=dict.fromkeys(("fcsg.theorem_4_1", "fcsg.corollary_4_2"), lemmas.CHAIN),
    without={"fcsg.remark_4_3": counts_rounds("fcsg.corollary_4_2")},
    codes=CODES,
    practice={
        "fcsg.theorem_4_1": (
            InPractice("invariant_logistic", "Invariant logistic regression", "invariant_logistic", 400),
        )
    },
)
