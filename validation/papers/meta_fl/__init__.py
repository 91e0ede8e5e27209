"""Meta FL: how Theorem 8 is run, with its three estimates."""

from ...runs.declaration import Runs
from . import lemmas
from .codes import CODES
from .instances import RECIPES
from .sweeps import COMPLEXITIES, SWEEPS

RUNS = Runs(
    RECIPES,
    chains={
        "meta_fl.theorem_8": lemmas.EXACT,
        "meta_fl.theorem_8_FO": lemmas.FIRST_ORDER,
        "meta_fl.theorem_8_HF": lemmas.HESSIAN_FREE,
    },
    sweeps=SWEEPS,
    complexities=COMPLEXITIES,
    codes=CODES,
)
