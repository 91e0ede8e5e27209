"""FedDRO: what a run costs, per client."""

from types import SimpleNamespace

from ...cost.resources import resource_table
from ...language.theorem import Costs


def costs(s: SimpleNamespace) -> Costs:
    """Inner estimates are averaged at every step, models every I steps."""
    rounds = s.T / s.I
    return resource_table(
        iterations=s.T, rounds=rounds, samples=s.b * s.T, model_messages=rounds, embedding_messages=s.T
    )
