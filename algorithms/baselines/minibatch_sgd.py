"""Minibatch SGD: one step for each communication, with the batch plugged into the composition.

Source: Ghadimi, Lan, "Stochastic first- and zeroth-order methods for nonconvex stochastic programming", SIAM J. Optim.
2013; the FedDRO paper's baseline MBSGD, "customized for CO" in a parallel version (section 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..engine.method import Method, Scalar
from ..engine.oracles import CONDITIONAL_ORACLES, LOCAL_ORACLES, LOSS_ORACLES, META_ORACLES, SHARED_ORACLES
from ..engine.schedule import Schedule, largest
from ..engine.special_case import SpecialCase
from ..methods.comfedl import ComFedL
from ..methods.fcsg import FCSG
from ..methods.feddro import FedDRO
from ..methods.meta_fl import MetaFL
from .local_sgd import LocalSGD


@dataclass(frozen=True, eq=False)
class MinibatchSGD(SpecialCase):
    """FedDRO, ComFedL, FCSG, meta FL or Local SGD, by the kind of the problem: a round after every step and no memory.

    Args:
        eta: step size, in [x]^2 / [f].
        b: batch size per client, of every oracle.
        m: inner batch size for each of the b outer samples of a conditional problem; has no use elsewhere.

    The FedDRO paper says no more than "customized for CO": on a shared composite the inner value is the mean over all clients
    and samples of the step, as its other centralised baselines. In Woodworth et al. (2020) a round of tau local steps
    becomes one step on a batch tau times as large: choose b so.
    """

    name: ClassVar[str] = "minibatch_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite", "local_composite", "conditional", "meta", "federated")
    needs: ClassVar[tuple[str, ...]] = ()
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "shared_composite": SHARED_ORACLES,
        "local_composite": LOCAL_ORACLES,
        "conditional": CONDITIONAL_ORACLES,
        "meta": META_ORACLES,
        "federated": LOSS_ORACLES,
    }
    costs: ClassVar[Mapping[str, str]] = {"iterations": "T", "rounds": "T", "samples": "b*T", "model_messages": "T"}

    eta: Scalar | Schedule
    b: int = 1
    m: int = 1

    @property
    def gradient_step(self) -> Scalar:
        return largest(self.eta)

    def general(self, kind: str) -> Method:
        methods: dict[str, Any] = {
            "shared_composite": lambda: FedDRO(eta=self.eta, beta=1.0, I=1, b=self.b, first_update="update"),
            "local_composite": lambda: ComFedL(eta=self.eta, tau=1, b=self.b, b_1=self.b),
            "conditional": lambda: FCSG(alpha=self.eta, q=1, m=self.m, b=self.b),
            "meta": lambda: MetaFL(beta=self.eta, tau=1, D=self.b),
            "federated": lambda: LocalSGD(eta=self.eta, tau=1, b=self.b),
        }
        return methods[kind]()
