"""The conditions of ComFedL, Local-SCGDM and meta FL, written here once more from the papers' text."""

from __future__ import annotations

from fractions import Fraction as Q
from random import Random

import pytest
from conditions import compare_conditions

TAU_ROUNDS = {"whole_rounds": lambda v: (v["T"] / v["tau"], ">=", 1)}
COMFEDL = {
    **{(f"comfedl.theorem_{i}", label): TAU_ROUNDS for i in (1, 2) for label in ("printed", "composed", "corrected")},
    ("comfedl.theorem_1", "printed"): {"equal_batches": lambda v: (v["b"] / v["b_1"], "==", 1)} | TAU_ROUNDS,
}
REMARK_2 = TAU_ROUNDS | {
    "eta_choice": lambda v: (v["eta"] * float(v["T"]) ** 0.5, "==", 1),
    "b_choice": lambda v: (v["b"] * v["T"], "==", 1),
    "b_one_sample": lambda v: (v["b"], ">=", 1),
}
COMFEDL |= {
    ("comfedl.remark_2", "printed"): REMARK_2,
    ("comfedl.remark_1", "printed"): REMARK_2
    | {"b_1_choice": lambda v: (v["b_1"] * v["T"], "==", 1), "b_1_one_sample": lambda v: (v["b_1"], ">=", 1)},
}

STEPS = {"steps": lambda v: (v["nu"], ">=", 1)}
EIGHT = {
    "participation": lambda v: (v["r"], "<=", 1),
    "participants": lambda v: (v["r"] * v["n"], ">=", 1),
    "step_size": lambda v: (v["beta"] * 10 * v["tau"] * v["L_F"], "<=", 1),
}
META_FL = {
    **{(f"meta_fl.lemma_{i}", label): STEPS for i in (5, 6, 7, 10, 11) for label in ("printed", "composed")},
    ("meta_fl.lemma_6", "printed"): {"steps": lambda v: (v["nu"], ">", 1)},
    **{
        (f"meta_fl.theorem_8{suffix}", label): EIGHT if label in ("corrected", "sharpened") else EIGHT | STEPS
        for suffix in ("", "_FO", "_HF")
        for label in ("printed", "composed", "corrected", "sharpened")
    },
}


def coupled(v):
    return v["C_g"] ** 4 * v["L_f"] ** 2


def smooth(v):
    return v["C_g"] ** 2 * v["L_f"] + v["C_f"] * v["L_g"]


def root_of(square):
    return float(square) ** 0.5


ALPHA = {"momentum_range": lambda v: (v["alpha"] * v["eta"], "<", 1)}
GAMMA = {"inner_momentum_range": lambda v: (v["gamma"] * v["eta"], "<", 1)}
DESCENT = {"step_scale_descent": lambda v: (2 * v["beta"] * v["eta"] * smooth(v), "<=", 1)}
SCALE = {"step_scale": lambda v: (v["eta"], "<=", 1)}
STEP = {
    "step_size": lambda v: (
        v["beta"]
        * root_of(8 * (coupled(v) / v["gamma"] ** 2 + coupled(v) / v["gamma"] + (smooth(v) / v["alpha"]) ** 2)),
        "<=",
        1,
    )
}
SUMMED_STEP = {
    "step_size": lambda v: (
        8
        * v["beta"] ** 2
        * (coupled(v) * (1 / v["gamma"] ** 2 + v["eta"] / v["gamma"]) + (smooth(v) / v["alpha"]) ** 2),
        "<=",
        1,
    )
}
PERIOD = {
    "period": lambda v: (
        4 * v["p"] * v["beta"] * v["eta"] * root_of(6 * (v["C_f"] * v["L_g"]) ** 2 + 16 * coupled(v)),
        "<=",
        1,
    )
}
ABOVE = {"period_above_one": lambda v: (v["p"], ">=", 2)}
CHOICES = {
    "eta_choice": lambda v: (v["eta"] * float(v["T"]) ** 0.5, "==", 1),
    "p_choice": lambda v: (v["p"] / float(v["T"]) ** 0.25, "==", 1),
}


def at_schedule(conditions):
    """With eta = T^(-1/2) and p = T^(1/4)."""

    def scheduled(side):
        def at(v):
            numbers = {name: float(x) for name, x in v.items()}
            return side({**numbers, "eta": numbers["T"] ** -0.5, "p": numbers["T"] ** 0.25})

        return at

    return {name: scheduled(side) for name, side in conditions.items()}


PROOF = DESCENT | ALPHA | GAMMA
THEOREM = ALPHA | GAMMA | STEP | SCALE
NAMED = {
    ("theorem_3_4", "printed"): THEOREM | DESCENT | PERIOD | ABOVE,
    ("theorem_3_4", "composed"): PROOF | SUMMED_STEP | PERIOD,
    ("theorem_3_4", "corrected"): THEOREM,
    ("corollary_3_5", "printed"): CHOICES,
    ("corollary_3_5", "composed"): CHOICES | at_schedule(PROOF | SUMMED_STEP | PERIOD),
    ("corollary_3_5", "corrected"): CHOICES
    | {"p_choice": lambda v: (v["p"] / float(v["T"]) ** 0.25, "<=", 1)}
    | at_schedule(THEOREM),
    ("lemma_4_3", "printed"): PERIOD,
    ("lemma_4_3", "composed"): ALPHA | GAMMA | PERIOD,
    ("summed", "printed"): THEOREM | DESCENT | PERIOD,
    ("summed", "composed"): PROOF | SUMMED_STEP | PERIOD,
    **{("lemma_4_1", label): ALPHA for label in ("printed", "composed", "corrected")},
    **{(name, label): GAMMA for name in ("lemma_4_2", "lemma_a_1") for label in ("printed", "composed")},
    **{("lemma_4_3_step", label): ALPHA | GAMMA for label in ("printed", "composed")},
    **{("descent", label): DESCENT for label in ("printed", "composed")},
    **{("potential_step", label): PROOF for label in ("printed", "composed")},
    **{("potential", label): PROOF | STEP | SCALE for label in ("printed", "composed")},
}
LOCAL_SCGDM = {(f"local_scgdm.{name}", label): sides for (name, label), sides in NAMED.items()}


def values(theorem, label):
    """Numbers away from 1; L_F of meta FL is one that its formula gives, put in by name."""
    rng = Random(f"{theorem.id} {label}")
    counts = {name for name, binding in theorem.symbols(label).items() if binding.symbol.is_integer}
    v = {
        name: Q(rng.randint(2, 40), 1 if name in counts else rng.choice((7, 13, 11))) for name in theorem.symbols(label)
    }
    if theorem.id.startswith("meta_fl.theorem"):
        v = v | {"nu": Q(3)}
        v["L_F"] = _smoothness(theorem, label, v)
    return v


def _smoothness(theorem, label, v):
    """L_F, which test_meta_fl.py compares with the paper."""
    derived = {d.name: d for d in theorem.statement(label).derived}
    found = theorem.bound(label, strict=False, **v).derived
    assert "L_F" in derived
    return Q(found["L_F"])


@pytest.mark.parametrize(
    ("paper", "wanted"),
    [("comfedl", COMFEDL), ("meta_fl", META_FL), ("local_scgdm", LOCAL_SCGDM)],
    ids=["comfedl", "meta_fl", "local_scgdm"],
)
def test_every_condition_is_the_papers(paper, wanted):
    compare_conditions(paper, wanted, values)
