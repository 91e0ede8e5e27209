"""Local-SCGDM: how its statements are run."""

from ...runs.declaration import InPractice, counts_rounds
from ...runs.tables import read_runs
from . import lemmas
from .codes import CODES

RUNS = read_runs(
    __file__,
    chains=dict.fromkeys(("local_scgdm.theorem_3_4", "local_scgdm.corollary_3_5"), lemmas.CHAIN),
    without={
        "local_scgdm.remark_3_7": counts_rounds("local_scgdm.corollary_3_5"),
        "local_scgdm.remark_3_6": (
            "it bounds a step size and no statistic of a run; its theorem is local_scgdm.theorem_3_4"
        ),
    },
    codes=CODES,
    practice={
        "local_scgdm.theorem_3_4": (InPractice("maml", "MAML, 8 clients with one task and noise", "maml_noisy", 400),)
    },
)
