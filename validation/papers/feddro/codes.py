"""FedDRO: its code, and that of the modified FedAvg, beside the update equations of their derivations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

from ....algorithms import FedDRO, ModifiedFedAvg
from ...proofs.code import COMPOSITE, MODELS, Code


def _feddro(first_update: str) -> Callable[[SimpleNamespace], FedDRO]:
    return lambda v: FedDRO(eta=v.eta, beta=v.beta, I=v.I, b=v.b, first_update=first_update)


UPDATE = Code(
    _feddro("update"),
    "shared_composite",
    {**MODELS, "y": lambda step: step.after.y},
    {**COMPOSITE, "gradient": "dh"},
    {"sample": ("zeta",)},
    "y",
    variant="first_update = update",
)
KEEP = replace(UPDATE, build=_feddro("keep"), variant="first_update = keep", covered=False)
FEDAVG = Code(lambda v: ModifiedFedAvg(eta=v.eta, I=v.I), "shared_composite", MODELS, COMPOSITE, {"sample": ()})
CODES = {"feddro.theorem_5_1": (UPDATE, KEEP), "feddro.theorem_4_2": (FEDAVG,)}
