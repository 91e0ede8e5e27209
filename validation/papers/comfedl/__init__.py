"""ComFedL: how its theorems are run, and its code beside the update equations of its derivations."""

from __future__ import annotations

from dataclasses import replace

from ....algorithms import ComFedL
from ....bounds.proof.kernel import COMMUNICATION
from ...proofs.code import MODELS, Code
from ...runs.tables import read_runs
from . import lemmas

GENERAL = Code(
    lambda v: ComFedL(eta=v.eta, tau=v.tau, b=v.b, b_1=v.b_1),  # places are clients: each has the function drawn for it
    "local_composite",
    {**MODELS, "a": lambda step: step.after.x},
    {"inner": "f", "jacobian": "df", "outer": "dg"},
    {"inner": ("xi",), "outer": ("zeta",)},
    only={"a": COMMUNICATION},
    variant="problem_form = general",
)
SPECIAL = replace(
    GENERAL,
    build=lambda v: ComFedL(eta=v.eta, tau=v.tau, b=v.b, b_1=v.b_1, problem_form="special"),
    silent=("zeta",),
    variant="problem_form = special",
)
CODES = {"comfedl.theorem_1": (GENERAL,), "comfedl.theorem_2": (GENERAL, SPECIAL)}


_BATCHES = (
    "as printed a batch holds 1/T samples, so that the only horizon it admits is T = 1 "
    "(`fedco audit --recheck comfedl.remark_batches`); {}"
)

RUNS = read_runs(
    __file__,
    chains={"comfedl.theorem_1": lemmas.GENERAL, "comfedl.theorem_2": lemmas.SPECIAL},
    without={
        "comfedl.remark_1": _BATCHES.format(
            "with growing batches it is comfedl.theorem_1, whose exponents along eta ~ T^(-1/2), b = b_1 ~ T are "
            "measured in `fedco report`"
        ),
        "comfedl.remark_2": _BATCHES.format("with growing batches it is comfedl.theorem_2, which can be validated"),
    },
    codes=CODES,
)
