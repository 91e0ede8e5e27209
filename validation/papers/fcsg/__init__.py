"""FCSG: how its statements are run."""

from ...runs.declaration import InPractice, Runs, counts_rounds
from . import lemmas
from .codes import CODES
from .instances import RECIPES
from .sweeps import COMPLEXITIES, SWEEPS

RUNS = Runs(
    RECIPES,
    chains=dict.fromkeys(RECIPES, lemmas.CHAIN),
    sweeps=SWEEPS,
    complexities=COMPLEXITIES,
    without={"fcsg.remark_4_3": counts_rounds("fcsg.corollary_4_2")},
    codes=CODES,
    practice={
        "fcsg.theorem_4_1": (
            InPractice("invariant_logistic", "Invariant logistic regression", "invariant_logistic", 400),
        )
    },
)
