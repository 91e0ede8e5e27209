"""The table of methods: a new one is one line here and gets every test of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import reference
from fedco import algorithms
from fedco.algorithms import METHODS, Method
from hypothesis import strategies as st

forms = st.sampled_from(["general", "special"])
step = st.floats(1e-3, 0.3)
weight = st.floats(0.01, 1.0)
period = st.integers(1, 5)
batch = st.integers(1, 3)


@dataclass(frozen=True)
class Case:
    """A method, its reference, and the strategies of its hyperparameters."""

    name: str
    reference: Callable[..., Any]
    settings: dict[str, st.SearchStrategy]
    example: dict[str, Any]
    samples_clients: bool = False  # then m is a number of clients, at most all of them

    @property
    def method(self) -> type[Method]:
        return METHODS[self.name]


CASES = {
    "fedavg I": Case("fedavg", reference.fedavg,
                     dict(eta=step, I=period, case=st.just("I"), after_average=st.sampled_from(["recompute", "keep"])),
                     dict(eta=0.05, I=3)),
    "fedavg II": Case("fedavg", reference.fedavg, dict(eta=step, I=period, case=st.just("II")),
                      dict(eta=0.05, I=3, case="II")),
    "modified_fedavg": Case("modified_fedavg", reference.modified_fedavg, dict(eta=step, I=period),
                            dict(eta=0.05, I=3)),
    "feddro": Case("feddro", reference.feddro,
                   dict(eta=step, beta=weight, I=period, b=batch, first_update=st.sampled_from(["keep", "update"])),
                   dict(eta=0.05, beta=0.2, I=3, b=2)),
    "local_scgdm": Case("local_scgdm", reference.local_scgdm,
                        dict(eta=step, alpha=weight, beta=weight, gamma=weight, p=period, b=batch),
                        dict(eta=0.3, alpha=1.0, beta=0.2, gamma=1.5, p=3, b=2)),
    "comfedl": Case("comfedl", reference.comfedl,
                    dict(eta=step, tau=period, b=batch, b_1=batch, problem_form=forms),
                    dict(eta=0.05, tau=3, b=2, b_1=1)),
    "comfedl, some clients": Case("comfedl", reference.comfedl, dict(eta=step, tau=period, b=batch, b_1=batch, m=batch),
                                  dict(eta=0.05, tau=3, b=2, b_1=1, m=1), samples_clients=True),
    "fcsg": Case("fcsg", reference.fcsg, dict(alpha=step, q=period, m=batch, b=batch, B=st.none() | batch),
                 dict(alpha=0.05, q=3, m=2, b=2)),
    "fcsg_m": Case("fcsg_m", reference.fcsg_m, dict(alpha=step, beta=weight, q=period, m=batch, b=batch, B=batch),
                   dict(alpha=0.05, beta=0.3, q=3, m=2, b=2, B=3)),
    "acc_fcsg_m": Case("acc_fcsg_m", reference.acc_fcsg_m,
                       dict(alpha=step, beta=weight, q=period, m=batch, b=batch, B=batch),
                       dict(alpha=0.05, beta=0.3, q=3, m=2, b=2, B=3)),
    "meta_fl exact": Case("meta_fl", reference.meta_fl, dict(beta=step, tau=period, D=batch, D_H=st.none() | batch),
                          dict(beta=0.05, tau=3, D=2)),
    "meta_fl first_order": Case("meta_fl", reference.meta_fl,
                                dict(beta=step, tau=period, D=batch, m=batch, variant=st.just("first_order")),
                                dict(beta=0.05, tau=3, m=1, variant="first_order"), samples_clients=True),
    "meta_fl hessian_free": Case("meta_fl", reference.meta_fl,
                                 dict(beta=step, tau=period, D=batch, D_H=batch, delta=st.floats(1e-3, 0.5),
                                      variant=st.just("hessian_free")),
                                 dict(beta=0.05, tau=3, variant="hessian_free", delta=0.1)),
}

assert {case.name for case in CASES.values()} == set(algorithms.METHODS), "every method needs a line in CASES"
