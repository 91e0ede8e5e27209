"""Local-SCGDM: how its statements are run, and its code beside the update equations of its derivations."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from ....algorithms import LocalSCGDM
from ...proofs.code import COMPOSITE, ESTIMATES, Code
from ...runs.declaration import InPractice, counts_rounds
from ...runs.tables import read_runs
from . import lemmas


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


RUNS = read_runs(
    __file__,
    chains=dict.fromkeys(("local_scgdm.theorem_3_4", "local_scgdm.corollary_3_5"), lemmas.CHAIN),
    without={
        "local_scgdm.remark_3_7": counts_rounds("local_scgdm.corollary_3_5"),
        "local_scgdm.remark_3_6": (
            "it bounds a step size and no statistic of a run; its theorem is local_scgdm.theorem_3_4"
        ),
    },
    codes=CODES,
    practice={
        "local_scgdm.theorem_3_4": (InPractice("maml", "MAML, 8 clients with one task and noise", "maml_noisy", 400),)
    },
)
