"""The baselines: what a run costs, per client, where the method's own count does not say it."""

from types import SimpleNamespace

from ...cost.resources import resource_table
from ...language.theorem import Costs


def scgd(s: SimpleNamespace) -> Costs:
    """Inner and outer samples are drawn apart; model and inner value are averaged after every step."""
    return resource_table(iterations=s.T, rounds=s.T, samples=2 * s.b * s.T, model_messages=s.T, embedding_messages=s.T)


def biased_sgd(s: SimpleNamespace) -> Costs:
    """Every outer sample comes with m inner ones."""
    return resource_table(iterations=s.T, rounds=s.T, samples=s.m * s.b * s.T, model_messages=s.T)
