"""FedDRO: how its theorems are run."""

from ...runs.declaration import Runs, counts_rounds
from . import lemmas
from .instances import RECIPES
from .sweeps import COMPLEXITIES, SWEEPS

_IDENTITY = "it is an identity between problems and bounds no statistic of a run"

RUNS = Runs(
    RECIPES,
    chains=dict.fromkeys(("feddro.theorem_5_1", "feddro.theorem_f_1", "feddro.corollary_1"), lemmas.CHAIN),
    sweeps=SWEEPS,
    complexities=COMPLEXITIES,
    without={
        "feddro.corollary_2": counts_rounds("feddro.corollary_1"),
        "feddro.theorem_4_1": (
            "it says that a method does not converge: `fedco counterexample feddro.theorem_4_1` certifies it"
        ),
        "feddro.reformulation_kl": _IDENTITY,
        "feddro.reformulation_chi2": _IDENTITY,
    },
)
