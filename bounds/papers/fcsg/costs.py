"""FCSG: what a run costs, per client."""

from types import SimpleNamespace

from ...cost.resources import resource_table
from ...language.theorem import Costs


def costs(s: SimpleNamespace) -> Costs:
    """Every outer sample comes with m inner ones; the first estimate has an outer batch of its own."""
    first = s.B if "B" in s.present else 0
    return resource_table(iterations=s.T, rounds=s.T / s.q, samples=s.m * (s.b * s.T + first), model_messages=s.T / s.q)


def with_momentum(s: SimpleNamespace) -> Costs:
    """The gradient estimate is averaged with the model."""
    return {**costs(s), "model_messages": 2 * s.T / s.q}
