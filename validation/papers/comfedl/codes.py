"""ComFedL: its code beside the update equations of its derivations."""

from __future__ import annotations

from dataclasses import replace

from ....algorithms import ComFedL
from ....bounds.proof.kernel import COMMUNICATION
from ...proofs.code import MODELS, Code

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
