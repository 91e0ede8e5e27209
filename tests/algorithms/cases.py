"""The table of methods: a new one is one line here and gets every test of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, replace
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any

import baselines
import reference
from fedco.algorithms import METHODS, Method, Schedule
from fedco.algorithms.engine.method import annotation_of
from hypothesis import strategies as st

number = st.floats(1e-3, 0.3)
schedule = st.builds(
    Schedule,
    a=number,
    t0=st.floats(1.0, 9.0),
    power=st.fractions(0, 1, max_denominator=4).filter(bool),
    every=st.integers(1, 4),
)
step = number | schedule
weight = st.floats(0.01, 1.0)
period = st.integers(1, 5)
batch = st.integers(1, 3)


@dataclass(frozen=True)
class Case:
    """A method, its reference, hyperparameters, and strategies of those for which the strategy of their annotation does not do."""

    name: str
    reference: Callable[..., Any]
    example: dict[str, Any]
    settings: dict[str, st.SearchStrategy] = field(default_factory=dict)
    kind: str | None = None  # of the problem that it runs on; the method's first one when None

    @property
    def method(self) -> type[Method]:
        return METHODS[self.name]

    @property
    def problem_kind(self) -> str:
        return self.kind or self.method.kinds[0]

    @property
    def samples_clients(self) -> bool:
        """Whether m is a number of clients, at most all of them."""
        return self.method.quantities.get("m") == "sampled_clients"

    def strategies(self) -> dict[str, st.SearchStrategy]:
        """Of every hyperparameter that the reference knows, but for lists over the clients, which a test of their own has."""
        known = signature(self.reference).parameters
        takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
        found = {each.name: strategy_of(each) for each in fields(self.method) if takes_all or each.name in known}
        return {name: of for name, of in (found | self.settings).items() if of is not None}

    def scaled(self, size: Callable[[float], Any]) -> dict[str, Any]:
        """The numbers of the example, and those of its schedules, each replaced by `size` of it."""

        def of(value: Any) -> Any:
            is_schedule = isinstance(value, Schedule)
            return replace(value, a=size(value.a), t0=size(value.t0)) if is_schedule else size(value)

        return {name: of(value) for name, value in self.example.items() if isinstance(value, float | Schedule)}


def strategy_of(hyperparameter: Field[Any]) -> st.SearchStrategy | None:
    """What Hypothesis may try, by the annotation."""
    if options := hyperparameter.metadata.get("options"):
        return st.sampled_from(options)
    of_annotation = {
        "Scalar | Schedule": step,
        "Scalar": number if hyperparameter.name.startswith("eta") else weight,
        "Scalar | None": st.none() | weight,
        "int": batch if hyperparameter.name in ("b", "b_1", "m") else period,
        "int | None": None if hyperparameter.name == "nu" else st.none() | batch,
        "Batches": batch,
        "Batches | None": st.none() | batch,
    }
    return of_annotation.get(annotation_of(hyperparameter))


CASES = {
    "fedavg I": Case("fedavg", reference.fedavg, dict(eta=0.05, I=3)),
    "fedavg II": Case("fedavg", reference.fedavg, dict(eta=0.05, I=3, case="II")),
    "modified_fedavg": Case("modified_fedavg", reference.modified_fedavg, dict(eta=0.05, I=3)),
    "feddro": Case("feddro", reference.feddro, dict(eta=0.05, beta=0.2, I=3, b=2)),
    "local_scgdm": Case("local_scgdm", reference.local_scgdm, dict(eta=0.3, alpha=1.0, beta=0.2, gamma=1.5, p=3, b=2)),
    "comfedl": Case("comfedl", reference.comfedl, dict(eta=0.05, tau=3, b=2, b_1=1)),
    "comfedl, some clients": Case("comfedl", reference.comfedl, dict(eta=0.05, tau=3, b=2, b_1=1, m=1)),
    "fcsg": Case("fcsg", reference.fcsg, dict(alpha=0.05, q=3, m=2, b=2)),
    "fcsg_m": Case("fcsg_m", reference.fcsg_m, dict(alpha=0.05, beta=0.3, q=3, m=2, b=2, B=3)),
    "acc_fcsg_m": Case("acc_fcsg_m", reference.acc_fcsg_m, dict(alpha=0.05, beta=0.3, q=3, m=2, b=2, B=3)),
    "acc_fcsg_m, averaged before the first step": Case(
        "acc_fcsg_m",
        reference.acc_fcsg_m,
        dict(alpha=0.05, beta=0.3, q=3, m=2, first_estimate="averaged", previous_model="averaged"),
        dict(first_estimate=st.just("averaged")),
    ),
    "meta_fl exact": Case("meta_fl", reference.meta_fl, dict(beta=0.05, tau=3, D=2)),
    "meta_fl first_order": Case("meta_fl", reference.meta_fl, dict(beta=0.05, tau=3, m=1, variant="first_order")),
    "meta_fl hessian_free": Case(
        "meta_fl", reference.meta_fl, dict(beta=0.05, tau=3, variant="hessian_free", delta=0.1)
    ),
    "meta_fl, a batch size per step": Case(
        "meta_fl",
        reference.meta_fl,
        dict(beta=0.05, tau=3, D=(1, 2, 3), D_H=(3, 1)),
        dict(D=st.tuples(batch, batch, batch), D_H=st.none() | st.tuples(batch, batch)),
    ),
    "local_sgd": Case("local_sgd", baselines.local_sgd, dict(eta=0.05, tau=3, b=2, m=1), kind="local_composite"),
    "local_sgd, declining": Case(
        "local_sgd",
        baselines.local_sgd_meta,
        dict(eta=Schedule(0.4, 2.5, power=Fraction(1, 2), every=2), tau=3),
        kind="federated",
    ),
    "minibatch_sgd, declining": Case(
        "minibatch_sgd", baselines.minibatch_sgd_federated, dict(eta=Schedule(0.4, 2.5)), kind="federated"
    ),
    "scgd, declining": Case(
        "scgd", baselines.scgd, dict(eta=Schedule(0.2, 2.0), gamma=Schedule(0.9, 1.5, power=Fraction(1, 2)))
    ),
    "local_sgd shared": Case(
        "local_sgd", baselines.local_sgd_shared, dict(eta=0.05, tau=3, b=2), kind="shared_composite"
    ),
    "local_sgd conditional": Case(
        "local_sgd", baselines.local_sgd_conditional, dict(eta=0.05, tau=3, b=2), kind="conditional"
    ),
    "local_sgd meta": Case("local_sgd", baselines.local_sgd_meta, dict(eta=0.05, tau=3, b=2, m=1), kind="meta"),
    "minibatch_sgd": Case("minibatch_sgd", baselines.minibatch_sgd, dict(eta=0.05, b=2)),
    "minibatch_sgd local": Case(
        "minibatch_sgd", baselines.minibatch_sgd_local, dict(eta=0.05, b=2), kind="local_composite"
    ),
    "minibatch_sgd conditional": Case(
        "minibatch_sgd", baselines.minibatch_sgd_conditional, dict(eta=0.05, b=2, m=2), kind="conditional"
    ),
    "minibatch_sgd meta": Case("minibatch_sgd", baselines.minibatch_sgd_meta, dict(eta=0.05, b=2), kind="meta"),
    "local_bsgd": Case("local_bsgd", baselines.local_bsgd, dict(eta=0.05, tau=3, m=2, b=1)),
    "local_bsgd conditional": Case(
        "local_bsgd", baselines.local_bsgd_conditional, dict(eta=0.05, tau=3, m=2, b=2), kind="conditional"
    ),
    "scgd": Case("scgd", baselines.scgd, dict(eta=0.05, gamma=0.3, b=2)),
    "local_scgd": Case("local_scgd", baselines.local_scgd, dict(eta=0.05, gamma=0.3, p=3, b=2)),
    "local_scgd, equation (2)": Case(
        "local_scgd", baselines.local_scgd, dict(eta=0.05, gamma=0.3, p=3, inner_value="old")
    ),
    "gcivr": Case("gcivr", baselines.gcivr, dict(eta=0.05, tau=4, b=2, B=3)),
    "gcivr, exact epochs": Case("gcivr", baselines.gcivr, dict(eta=0.05, tau=4, b=2)),
    "per_fedavg": Case(
        "per_fedavg", baselines.per_fedavg, dict(beta=0.05, tau=3, D=2, m=1), dict(D=batch | st.tuples(batch, batch))
    ),
    "local_moml": Case("local_moml", baselines.local_moml, dict(eta=0.05, beta=0.3, tau=3, b=2, b_0=3, m=1)),
    "local_moml, kept memory": Case("local_moml", baselines.local_moml, dict(eta=0.05, beta=0.3, tau=3, memory="keep")),
    "drfa": Case("drfa", baselines.drfa, dict(eta=0.3, gamma=0.05, tau=3, b=2)),
    "drfa meta": Case(
        "drfa", baselines.drfa_meta, dict(eta=0.05, gamma=0.01, tau=3), dict(gamma=st.floats(1e-3, 0.1)), kind="meta"
    ),
    "q_fedavg": Case(
        "q_fedavg",
        baselines.q_fedavg,
        dict(eta=0.05, q=0.5, tau=3, b=2, m=1),
        dict(q=st.floats(0.0, 3.0), L=st.none() | st.floats(0.5, 20.0)),
    ),
    "q_fedavg meta": Case(
        "q_fedavg", baselines.q_fedavg_meta, dict(eta=0.05, q=0.5, tau=3, b=2), dict(q=st.floats(0.0, 3.0)), kind="meta"
    ),
    "local_sgd federated": Case(
        "local_sgd", baselines.local_sgd_meta, dict(eta=0.05, tau=3, b=2, m=1), kind="federated"
    ),
    "minibatch_sgd federated": Case(
        "minibatch_sgd", baselines.minibatch_sgd_federated, dict(eta=0.05, b=2), kind="federated"
    ),
    "drfa federated": Case(
        "drfa",
        baselines.drfa_meta,
        dict(eta=0.05, gamma=0.01, tau=3),
        dict(gamma=st.floats(1e-3, 0.1)),
        kind="federated",
    ),
    "q_fedavg federated": Case(
        "q_fedavg",
        baselines.q_fedavg_meta,
        dict(eta=0.05, q=0.5, tau=3, b=2),
        dict(q=st.floats(0.0, 3.0)),
        kind="federated",
    ),
    "scaffold": Case("scaffold", baselines.scaffold, dict(eta=0.05, tau=3, eta_g=0.7, b=2, m=1)),
    "scaffold, option I": Case(
        "scaffold", baselines.scaffold, dict(eta=0.05, tau=3, eta_g=0.7, b=2, control="gradient")
    ),
    "fedprox": Case(
        "fedprox", baselines.fedprox, dict(eta=0.05, mu=1.5, tau=3, b=2, m=1), dict(mu=st.floats(0.0, 3.0))
    ),
    "two_sided_sgd": Case(
        "two_sided_sgd", baselines.two_sided_sgd, dict(eta=0.05, tau=3, eta_g=0.7, beta=0.6, b=2, m=1)
    ),
    "local_heavy_ball": Case("local_heavy_ball", baselines.local_heavy_ball, dict(eta=0.05, beta=0.6, tau=3, b=2, m=1)),
    "local_heavy_ball, kept": Case(
        "local_heavy_ball", baselines.local_heavy_ball, dict(eta=0.05, beta=0.6, tau=3, momentum="keep")
    ),
    "fednova": Case(
        "fednova",
        baselines.fednova,
        dict(eta=0.05, tau=3, steps=2, b=2),
        dict(tau=st.integers(3, 5), steps=st.none() | st.integers(1, 3)),
    ),
    "delayed_sgd": Case("delayed_sgd", baselines.delayed_sgd, dict(eta=0.05, D=2, b=2)),
    "delayed_sgd, random": Case("delayed_sgd", baselines.delayed_sgd, dict(eta=0.05, D=3, delays="random")),
    "gossip_sgd": Case("gossip_sgd", baselines.gossip_sgd, dict(eta=0.05, tau=2, b=2)),
    "gossip_sgd, a part of the way": Case("gossip_sgd", baselines.gossip_sgd, dict(eta=0.05, tau=2, gamma=0.3)),
    "compressed_sgd": Case(
        "compressed_sgd",
        baselines.compressed_sgd,
        dict(eta=0.05, ratio=4, b=2),
        dict(ratio=st.sampled_from([1, 2, 4, 8])),
    ),
    "error_feedback": Case(
        "error_feedback",
        baselines.error_feedback,
        dict(eta=0.05, share=0.25, b=2),
        dict(share=st.sampled_from([0.125, 0.25, 0.5, 0.75, 1.0])),
    ),
    "marina": Case(
        "marina",
        baselines.marina,
        dict(eta=0.05, p=0.3, ratio=2, b=2),
        dict(ratio=st.sampled_from([1, 2, 4])),
    ),
    "local_storm": Case("local_storm", baselines.local_storm, dict(eta=0.05, a=0.3, tau=3, b=2, B=3)),
    "fedadam": Case(
        "fedadam",
        baselines.fedadam,
        dict(eta=0.05, tau=3, eta_g=0.1, beta_1=0.5, beta_2=0.7, epsilon=0.02, b=2, m=1),
    ),
    "fedadam, yogi": Case("fedadam", baselines.fedadam, dict(eta=0.05, tau=3, eta_g=0.1, beta_2=0.7, variant="yogi")),
    "fedglomo": Case("fedglomo", baselines.fedglomo, dict(eta=0.05, beta=0.4, tau=3, a=0.6, b=2, m=1)),
    "local_sgda": Case("local_sgda", baselines.local_sgda, dict(eta=0.05, eta_y=0.2, tau=3, b=2, m=1)),
    "fed_ttsa": Case("fed_ttsa", baselines.fed_ttsa, dict(eta=0.05, eta_y=0.2, eta_v=0.3, K=3, tau=2, b=2)),
}

ONE_OF_EACH = {(case.name, case.problem_kind): label for label, case in reversed(CASES.items())}.values()
"""One case of every method on each of its kinds, for what depends on no option: the others repeat it with another one."""
REPRESENTATIVES = (
    "feddro",
    "local_scgdm",
    "comfedl, some clients",
    "acc_fcsg_m",
    "meta_fl hessian_free",
    "gcivr",
    "drfa",
    "q_fedavg",
    "scaffold, option I",
    "delayed_sgd, random",
    "gossip_sgd",
    "error_feedback",
    "marina",
    "fedadam, yogi",
    "local_sgda",
    "fed_ttsa",
)
"""What a quick run tries where lanes, threads and files of runs are tested: every kind of problem, and whatever operation a method has
that no other has (sorting, gathering, a projection, a coin, a root). The others differ in arithmetic that these have too."""
