"""Statements that no run can be compared with, and why: what `fedco validate` answers for them."""

from __future__ import annotations

from collections.abc import Mapping

_ROUNDS = "it counts rounds and bounds no statistic of a run; the exponents are measured along {} in `fedco report`"
_BATCHES = (
    "as printed a batch holds 1/T samples, so that the only horizon it admits is T = 1 "
    "(`fedco audit --recheck comfedl.remark_batches`); {}"
)
_IDENTITY = "it is an identity between problems and bounds no statistic of a run"

WITHOUT_RECIPE: Mapping[str, str] = {
    "comfedl.remark_1": _BATCHES.format(
        "with growing batches it is comfedl.theorem_1, whose exponents along eta ~ T^(-1/2), b = b_1 ~ T are measured in "
        "`fedco report`"
    ),
    "comfedl.remark_2": _BATCHES.format("with growing batches it is comfedl.theorem_2, which can be validated"),
    "fcsg.remark_4_3": _ROUNDS.format("fcsg.corollary_4_2"),
    "fcsg_m.remark_4_6": _ROUNDS.format("fcsg_m.corollary_4_5"),
    "acc_fcsg_m.remark_4_9": _ROUNDS.format("acc_fcsg_m.corollary_4_8"),
    "local_scgdm.remark_3_7": _ROUNDS.format("local_scgdm.corollary_3_5"),
    "feddro.corollary_2": _ROUNDS.format("feddro.corollary_1"),
    "local_scgdm.remark_3_6": "it bounds a step size and no statistic of a run; its theorem is local_scgdm.theorem_3_4",
    "feddro.theorem_4_1": "it says that a method does not converge: `fedco counterexample feddro.theorem_4_1` certifies it",
    "feddro.reformulation_kl": _IDENTITY,
    "feddro.reformulation_chi2": _IDENTITY,
}
"""By id: why there is no recipe. Lemmas are not listed: they are measured with `--lemmas` of their theorem."""
