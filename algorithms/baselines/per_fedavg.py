"""Per-FedAvg: meta federated learning with one step of fine-tuning.

Source: Fallah, Mokhtari, Ozdaglar, "Personalized federated learning with theoretical guarantees: a model-agnostic
meta-learning approach", NeurIPS 2020, Algorithm 1, and its first-order and Hessian-free versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..engine.method import Batches, Method, Scalar, choice
from ..engine.oracles import META_ORACLES
from ..engine.schedule import Schedule
from ..engine.special_case import SpecialCase
from ..methods.meta_fl import MetaFL


@dataclass(frozen=True, eq=False)
class PerFedAvg(SpecialCase):
    """Generalised meta FL with nu = 1, whatever the nu of the problem.

    Args:
        beta, tau, D, D_H, m, variant, delta: as in ``MetaFL``. D = (size of D, size of D'), D_H = size of D''.

    On a problem with nu > 1 it descends the loss after one step of fine-tuning, not the problem's objective: so the
    generalised meta FL paper compares the two (section 5).
    """

    name: ClassVar[str] = "per_fedavg"
    kinds: ClassVar[tuple[str, ...]] = ("meta",)
    needs: ClassVar[tuple[str, ...]] = META_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    beta: Scalar | Schedule
    tau: int
    D: Batches = 1
    D_H: Batches | None = None
    m: int | None = None
    variant: str = choice("exact", "first_order", "hessian_free")
    delta: Scalar = 1e-3

    def general(self, kind: str) -> Method:
        return MetaFL(
            beta=self.beta, tau=self.tau, D=self.D, D_H=self.D_H, m=self.m, variant=self.variant, delta=self.delta, nu=1
        )
