"""ComFedL: how its theorems are run."""

from ...runs.tables import read_runs
from . import lemmas
from .codes import CODES

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
