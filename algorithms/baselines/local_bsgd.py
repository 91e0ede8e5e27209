"""Local-BSGD: local steps with the biased gradient of a composition, the batch means plugged in as they are.

Source: Hu et al., "Biased stochastic first-order methods for conditional stochastic optimization and applications in
meta learning", NeurIPS 2020, Algorithm 1 (one machine). The Local-SCGDM paper, section 5.1, compares with "Local-BSGD
(Huang et al., 2021) (i.e., Local-MAML)", which is ComFedL; on a conditional problem it is FCSG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..engine.method import Method, Scalar
from ..engine.oracles import CONDITIONAL_ORACLES, LOCAL_ORACLES
from ..engine.schedule import Schedule
from ..engine.special_case import SpecialCase
from ..methods.comfedl import ComFedL
from ..methods.fcsg import FCSG


@dataclass(frozen=True, eq=False)
class LocalBSGD(SpecialCase):
    """ComFedL with all clients, or FCSG: no estimate of the inner value is carried over, so the bias is that of m.

    Args:
        eta: step size, in [x]^2 / [f].
        tau: local steps per round.
        m: inner batch size. b: outer batch size.
    """

    name: ClassVar[str] = "local_bsgd"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite", "conditional")
    needs: ClassVar[tuple[str, ...]] = ()
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "local_composite": LOCAL_ORACLES,
        "conditional": CONDITIONAL_ORACLES,
    }
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar | Schedule
    tau: int
    m: int = 1
    b: int = 1

    def general(self, kind: str) -> Method:
        if kind == "conditional":
            return FCSG(alpha=self.eta, q=self.tau, m=self.m, b=self.b)
        return ComFedL(eta=self.eta, tau=self.tau, b=self.m, b_1=self.b)
