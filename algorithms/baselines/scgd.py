"""SCGD: stochastic compositional gradient descent with everything averaged after every step.

Source: Wang, Fang, Liu, "Stochastic compositional gradient descent", Math. Program. 161 (2017), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..engine.method import Method, Scalar, choice
from ..engine.oracles import LOCAL_ORACLES
from ..engine.schedule import Schedule
from ..engine.special_case import SpecialCase
from .local_scgd import LocalSCGD


@dataclass(frozen=True, eq=False)
class SCGD(SpecialCase):
    """Local-SCGD with p = 1; on a problem with one client it is the single-machine method.

    Args:
        eta, gamma, b, inner_value, outer_sample: as in ``LocalSCGD``. The source calls eta alpha_k and gamma beta_k, lets
        both decrease, and projects x on a closed set, which here is the whole space.
    """

    name: ClassVar[str] = "scgd"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite",)
    needs: ClassVar[tuple[str, ...]] = LOCAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"gamma": "momentum"}

    eta: Scalar | Schedule
    gamma: Scalar | Schedule
    b: int = 1
    inner_value: str = choice("new", "old")
    outer_sample: str = choice("independent", "same")

    def general(self, kind: str) -> Method:
        return LocalSCGD(
            eta=self.eta, gamma=self.gamma, p=1, b=self.b, inner_value=self.inner_value, outer_sample=self.outer_sample
        )
