"""Local-SCGDM: its code beside the update equations of its derivations."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from ....algorithms import LocalSCGDM
from ...proofs.code import COMPOSITE, ESTIMATES, Code


class Keeping:
    """Local-SCGDM without line 13: the code, but for the averages of u."""

    def __init__(self, method: LocalSCGDM):
        self.method = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self.method, name)

    def over(self, seeds: int, device: Any) -> Keeping:
        return self

    def communicate(self, problem: Any, state: Any, t: int) -> Any:
        return replace(self.method.communicate(problem, state, t), u=state.u)


def _build(v: SimpleNamespace) -> LocalSCGDM:
    return LocalSCGDM(eta=v.eta, alpha=v.alpha, beta=v.beta, gamma=v.gamma, p=v.p)


AVERAGED = Code(
    _build,
    "local_composite",
    {**ESTIMATES, "m": lambda step: step.after.m},
    COMPOSITE,
    {"sample": ("xi", "zeta")},  # "the box writes one sample"; the theorem takes its two parts to be independent
)
KEPT = replace(AVERAGED, build=lambda v: Keeping(_build(v)), variant="line 13 leaves u as it is")
CODES = {"local_scgdm.theorem_3_4 A": (AVERAGED,), "local_scgdm.theorem_3_4 B": (KEPT,)}
