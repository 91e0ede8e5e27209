"""The public names of `fedco.algorithms`; importing this module imports torch."""

from . import baselines, methods
from .baselines import *  # noqa: F403
from .engine import metrics, progress
from .engine.draws import Draws
from .engine.driver import drive
from .engine.method import (
    Messages,
    Method,
    NotApplicable,
    Scalar,
    Start,
    State,
    average,
    broadcast,
    choice,
    client_mean,
    is_due,
)
from .engine.parallel import drive_in_processes
from .engine.result import Result
from .engine.schedule import Schedule
from .methods import *  # noqa: F403

METHODS: dict[str, type[Method]] = {
    found.name: found for folder in (methods, baselines) for found in (getattr(folder, name) for name in folder.__all__)
}

__all__ = [
    "METHODS",
    "Draws",
    "Messages",
    "Method",
    "NotApplicable",
    "Result",
    "Scalar",
    "Schedule",
    "Start",
    "State",
    "average",
    "broadcast",
    "choice",
    "client_mean",
    "drive",
    "drive_in_processes",
    "is_due",
    "metrics",
    "progress",
]
__all__ += methods.__all__
__all__ += baselines.__all__
