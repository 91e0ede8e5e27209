"""Generalised meta FL: what a run costs, per client."""

from types import SimpleNamespace

from ...cost.resources import resource_table
from ...language.theorem import Costs


def costs(s: SimpleNamespace) -> Costs:
    """nu + 1 gradients and nu Hessians per step; a Hessian-free product takes two gradients, a first-order one none."""
    hessians = s.D_H * s.nu if "D_H" in s.present else 0
    hessians *= 2 if "delta" in s.present else 1
    return resource_table(
        iterations=s.tau * s.K, rounds=s.K, samples=s.tau * s.K * ((s.nu + 1) * s.D + hessians), model_messages=s.K
    )
