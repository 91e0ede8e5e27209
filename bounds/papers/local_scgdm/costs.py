"""Local-SCGDM: what a run costs, per client."""

from types import SimpleNamespace

from ...cost.resources import resource_table
from ...language.theorem import Costs


def costs(s: SimpleNamespace) -> Costs:
    """Models, momenta and inner estimates are averaged once a round."""
    rounds = s.T / s.p
    return resource_table(
        iterations=s.T, rounds=rounds, samples=s.T, model_messages=2 * rounds, embedding_messages=rounds
    )
