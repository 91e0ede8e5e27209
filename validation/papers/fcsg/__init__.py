"""FCSG: how its statements are run."""

from ...runs.declaration import InPractice, counts_rounds
from ...runs.tables import read_runs
from . import lemmas
from .codes import CODES

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
