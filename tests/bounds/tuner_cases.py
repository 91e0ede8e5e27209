"""Two small statements for the tuner, and what it is asked of the first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fedco
from fedco.bounds.language.definition import define, load
from fedco.bounds.optimum.model import model
from fedco.bounds.optimum.task import Task, make_task

EXAMPLE = load(Path(fedco.__file__).parent / "examples" / "pr_sgd.toml").statement("printed")
CONSTANTS = {"L": 2, "sigma": 3, "G": 4, "F_gap": 5, "N": 7}
PLANNED = {
    "id": "m.t",
    "symbols": {
        "F_gap": "objective_gap",
        "L": "local_smoothness",
        "eta": "step_size",
        "T": "iterations",
        "p": "communication_period",
        "N": "clients",
    },
    "terms": {"first": "F_gap/(eta*T)", "second": "L*eta*p*F_gap*L/N"},
    "schedule": {"eta": "1/(L*p)", "p": "T/N"},
}


def asking(**changed) -> Task:
    given = {"budget": {"samples": 1000}, "eps": None, "cost": None, "ranges": None} | changed
    return make_task(model(EXAMPLE, CONSTANTS), *given.values())


def planned(schedule=PLANNED["schedule"], *conditions):
    """With these conditions alone: the schedule is a proposal, no condition."""
    made = define(**PLANNED | {"schedule": schedule}).statement("printed")
    return replace(made, conditions=conditions), {name: binding.symbol for name, binding in made.symbols.items()}
