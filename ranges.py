"""What a method can take: the largest value of each hyperparameter that has one, by its quantity of the vocabulary.

Declared here once, for the methods (which refuse anything else) and for the theorems about them (`Statement.method_range`,
read by evaluation, regions and tuners). A theorem may ask for less, never for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class AtMost:
    """At most `over / per`, each of them another quantity, or 1 where it is empty; `why` in a few words."""

    over: str = ""
    per: str = ""
    why: str = ""


_WEIGHT = "the weight of what is new in a moving average"
AT_MOST: Mapping[str, AtMost] = MappingProxyType(
    {
        "momentum": AtMost(why=_WEIGHT),
        "gradient_momentum": AtMost(per="step_scale", why=f"times the step scale it is {_WEIGHT}"),
        "inner_momentum": AtMost(per="step_scale", why=f"times the step scale it is {_WEIGHT}"),
        "communication_period": AtMost("iterations", why="a run communicates at least once"),
        "compression_accuracy": AtMost(why="a share of the entries"),
        "participation": AtMost(why="a fraction of the clients"),
        "sampled_clients": AtMost("clients", why="a round has no client twice"),
    }
)
