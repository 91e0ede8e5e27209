"""FedDRO: how its theorems are run, and its code, and that of the modified FedAvg, beside the update equations of their derivations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

from ....algorithms import FedDRO, ModifiedFedAvg
from ...proofs.code import COMPOSITE, MODELS, Code
from ...runs.declaration import InPractice, Probe, counts_rounds
from ...runs.recipe import NEAR, Instance
from ...runs.tables import read_runs
from .counterexample import COUNTEREXAMPLE
from .lemmas import CHAIN as LEMMAS
from .pulled_apart import estimate_at_communication


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


CHAIN = replace(LEMMAS, demonstrations=(estimate_at_communication,))
_IDENTITY = "it is an identity between problems and bounds no statistic of a run"

FAR_STEP = Instance(
    "feddro_without_h",
    {"eta": Fraction(100), "I": 1},
    "a step size 60 times beyond 1 / L_Phi",
    {**NEAR, "clients": 4, "B_g": 1.1, "Delta_g": 0.0},
    (200,),
)
UNDERSTATED = Instance(
    "feddro_homogeneous",
    {"I": 1, "b": 1},
    "the objective gap declared 10 times too small",
    NEAR,
    (256,),
)

RUNS = read_runs(
    __file__,
    chains=dict.fromkeys(("feddro.theorem_5_1", "feddro.theorem_f_1", "feddro.corollary_1"), CHAIN),
    without={
        "feddro.corollary_2": counts_rounds("feddro.corollary_1"),
        "feddro.theorem_4_1": (
            "it says that a method does not converge: `fedco counterexample feddro.theorem_4_1` certifies it"
        ),
        "feddro.reformulation_kl": _IDENTITY,
        "feddro.reformulation_chi2": _IDENTITY,
    },
    counterexamples={"feddro.theorem_4_1": COUNTEREXAMPLE},
    in_full=("feddro.theorem_5_1",),
    sweeps_in_short=("feddro.theorem_5_1", "feddro.corollary_1"),
    outside=(Probe("feddro.theorem_4_2", FAR_STEP),),
    understated=(Probe("feddro.theorem_5_1", UNDERSTATED),),
    codes=CODES,
    practice={
        "feddro.theorem_5_1": (
            InPractice(
                "kl_dro", "KL-regularised DRO of a logistic loss, breast cancer table", "imbalanced_logistic", 400
            ),
        )
    },
)
