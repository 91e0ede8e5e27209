"""ComFedL: what a run costs, per client."""

from types import SimpleNamespace

from ...cost.resources import resource_table
from ...language.theorem import Costs


def costs(s: SimpleNamespace) -> Costs:
    """The general form draws b_1 samples of the outer function too."""
    outer = s.b_1 if "b_1" in s.present else 0
    return resource_table(iterations=s.T, rounds=s.T / s.tau, samples=s.T * (s.b + outer), model_messages=s.T / s.tau)
