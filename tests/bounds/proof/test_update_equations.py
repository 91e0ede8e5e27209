"""The update equations of each derivation, and the code of the method that the theorem is about: the same models.

Both run on the concrete functions of the leaf harness, with noise at every client, along a few random paths: the equations
in exact arithmetic, the method's own code in floats on oracles that evaluate the same functions exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fedco.algorithms import (
    FCSG,
    FCSGM,
    SCGD,
    AccFCSGM,
    ComFedL,
    FedDRO,
    LocalSCGDM,
    LocalSGD,
    MetaFL,
    MinibatchSGD,
    ModifiedFedAvg,
    Start,
)
from fedco.bounds.proof.kernel import COMMUNICATION, LOCAL, Loop, Sum, Var
from fedco.bounds.proof.leaves import Style, derivation_names, established, instance
from fedco.bounds.proof.mutation import mutants
from fedco.validation.lemmas.trace import walk
from paths import PATHS, Code, Draws, Oracles, Paths

STEPS = 5
PERIODS = (2, 1)
"""Rounds of this many steps; with 1 the first step is a communication."""
NEAR = 1e-11
STYLE = Style("methods", "anywhere", line=False, mixed=True, curved=True, b=2, m=2, B=3, loud=1, clients=3, horizon=1)
WEIGHTS = {"eta": "3/16", "alpha": "5/16", "beta": "7/16", "gamma": "11/16"}
"""Hyperparameters: the equations are compared, not the bounds, so that no condition has to hold."""


class Keeping:
    """Local-SCGDM without line 13: the code, but for the averages of u."""

    def __init__(self, method: LocalSCGDM):
        self.method = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self.method, name)

    def over(self, seeds: int, device: Any) -> Keeping:
        return self

    def communicate(self, problem: Any, state: Any, t: int) -> Any:
        return replace(self.method.communicate(problem, state, t), u=state.u)


COMPOSITE = {"inner": "g", "jacobian": "dg", "outer": "df"}
MODELS = {"x": lambda step: step.after.x}
CONDITIONAL = {"outer": ("xi",), "inner": ("eta",)}
ESTIMATES = MODELS | {"u": lambda step: step.after.u}


def _plain(build: Callable[[SimpleNamespace], Any]) -> Code:
    return Code(build, "federated", MODELS, {"gradient": "dF"}, {"sample": ("xi",)})


def _conditional(build: Callable[[SimpleNamespace], Any], reads: Mapping[str, Any]) -> Code:
    return Code(build, "conditional", reads, COMPOSITE, CONDITIONAL)


def _local_scgdm(v: SimpleNamespace) -> LocalSCGDM:
    return LocalSCGDM(eta=v.eta, alpha=v.alpha, beta=v.beta, gamma=v.gamma, p=v.p)


def _comfedl(v: SimpleNamespace) -> ComFedL:
    """The places of a round are the clients here: each has the function of the client that was drawn for it."""
    return ComFedL(eta=v.eta, tau=v.tau, b=v.b, b_1=v.b_1)


def _meta_fl(variant: str, v: SimpleNamespace) -> MetaFL:
    """The estimate of the gradient is a gradient plus an error, as in the theorem; what it is: `test_loop_equations.py`."""
    return MetaFL(beta=v.beta, tau=v.tau, m=round(v.r * v.n), variant=variant)


LOCAL_SCGDM = Code(
    _local_scgdm,
    "local_composite",
    ESTIMATES | {"m": lambda step: step.after.m},
    COMPOSITE,
    {"sample": ("xi", "zeta")},  # "the box writes one sample"; the theorem takes its two parts to be independent
)
COMFEDL = Code(
    _comfedl,
    "local_composite",
    MODELS | {"a": lambda step: step.after.x},
    {"inner": "f", "jacobian": "df", "outer": "dg"},
    {"inner": ("xi",), "outer": ("zeta",)},
    only={"a": COMMUNICATION},
)
CODES: dict[str, Code] = {
    "local_scgdm.theorem_3_4 A": LOCAL_SCGDM,
    "local_scgdm.theorem_3_4 B": replace(LOCAL_SCGDM, build=lambda v: Keeping(_local_scgdm(v))),
    "comfedl.theorem_1": COMFEDL,
    "comfedl.theorem_2": COMFEDL,
    "fcsg.theorem_4_1": _conditional(lambda v: FCSG(alpha=v.alpha, q=v.q, m=v.m, b=v.b, B=v.B), MODELS),
    "fcsg_m.theorem_4_4": _conditional(
        lambda v: FCSGM(alpha=v.alpha, beta=v.beta, q=v.q, m=v.m, b=v.b, B=v.B), ESTIMATES
    ),
    "acc_fcsg_m.theorem_4_7": _conditional(
        lambda v: AccFCSGM(alpha=v.alpha, beta=v.beta, q=v.q, m=v.m, b=v.b, B=v.B),
        ESTIMATES | {"h": lambda step: step.stepped.u},
    ),
    "feddro.theorem_5_1": Code(
        lambda v: FedDRO(eta=v.eta, beta=v.beta, I=v.I, b=v.b, first_update="update"),
        "shared_composite",
        MODELS | {"y": lambda step: step.after.y},
        COMPOSITE | {"gradient": "dh"},
        {"sample": ("zeta",)},
        "y",
    ),
    "feddro.theorem_4_2": Code(
        lambda v: ModifiedFedAvg(eta=v.eta, I=v.I), "shared_composite", MODELS, COMPOSITE, {"sample": ()}
    ),
    "baselines.minibatch_sgd": _plain(lambda v: MinibatchSGD(eta=v.eta, b=v.b)),
    "baselines.local_sgd": _plain(lambda v: LocalSGD(eta=v.eta, tau=v.p, b=v.b)),
    "baselines.local_sgd_heterogeneity": _plain(lambda v: LocalSGD(eta=v.eta, tau=v.p, b=v.b)),
    "baselines.scgd": Code(
        lambda v: SCGD(eta=v.eta, gamma=v.gamma, b=v.b),
        "local_composite",
        ESTIMATES,
        COMPOSITE,
        {"sample": ("z",), "outer": ("s",)},
    ),
    **{
        f"meta_fl.theorem_8{suffix}": Code(
            partial(_meta_fl, variant),
            "meta",
            {"w": lambda step: step.after.x},
            {"gradient": "dF", "error": "e"},
            {"gradient 0": ("batches",)},
            model="w",
            sets="chosen",
        )
        for suffix, variant in (("", "exact"), ("_FO", "first_order"), ("_HF", "hessian_free"))
    },
    "baselines.biased_sgd": _conditional(lambda v: MinibatchSGD(eta=v.eta, b=v.b, m=v.m), MODELS),
}
# --- side by side -----------------------------------------------------------------------------------------------------


@cache
def prepared(name: str):
    progress = established(name)
    return progress, instance(STYLE, progress)


def along(name: str, period: int, setting: Any = None) -> Paths:
    progress, base = prepared(name)
    chosen = {**WEIGHTS, str(progress.state.period): period}
    point = base.point | {p: Fraction(chosen[p.name]) for p in base.point if p.name in chosen}
    other = setting or progress.derivation.setting
    return Paths(other, base.problem, point, STEPS, period, base.start, base.free, laws=base.laws)


@cache
def enacted(name: str, period: int) -> tuple[Any, ...]:
    """The steps of the code; of the derivation's equations only the drawn labels are used."""
    code, run = CODES[name], along(name, period)
    problem = Oracles(run, code)
    numbers = SimpleNamespace(
        **{p.name: (int(v) if p.count else float(v)) for p, v in run.point.items() if v.denominator == 1 or not p.count}
    )
    start = problem.values.floats(run.variable(code.model, 0))
    assert (start == start[:1, :1]).all(), "a common start"
    given = problem.values.floats(run.variable(code.embedding, -1))[0, 0] if code.embedding else None
    method = code.build(numbers)
    return tuple(
        walk(
            method,
            problem,
            STEPS,
            PATHS,
            start=Start(x=start[0, 0], y=given),
            draws=Draws(problem.clients, chosen=problem.chosen),
        )
    )


def differences(name: str, setting: Any = None) -> Iterator[str]:
    """Where the equations of a setting and the code of the method have other values."""
    for period in PERIODS:
        yield from _differences(name, period, setting)


def _differences(name: str, period: int, setting: Any) -> Iterator[str]:
    code, run = CODES[name], along(name, period, setting)
    problem = Oracles(run, code)
    for step in enacted(name, period):
        for variable, read in code.reads.items():
            if run.phase(step.t) not in code.only.get(variable, LOCAL | COMMUNICATION):
                continue
            defined = run.setting.variable(variable).defined
            wanted, got = problem.values.floats(run.variable(variable, step.t + defined)), read(step)
            if not torch.allclose(got, wanted, rtol=NEAR, atol=NEAR):
                yield f"{variable} after step {step.t} (period {period}): {got.flatten().tolist()[:2]}, not {wanted.flatten().tolist()[:2]}"


def test_every_derivation_is_compared():
    """Those of loops in `test_loop_equations.py`."""
    loops = {name for name in derivation_names() if isinstance(established(name).derivation, Loop)}
    assert set(derivation_names()) - loops == set(CODES)
    for name, code in CODES.items():
        declared = {v.name for v in prepared(name)[0].derivation.setting.variables if v.equations}
        assert declared - set(code.reads) <= {"u", "c"}, "FCSG's code keeps no estimate; labels are drawn, not computed"


@pytest.mark.parametrize("name", CODES)
def test_the_equations_are_what_the_code_does(name):
    assert not list(differences(name))


@pytest.mark.parametrize("name", CODES)
def test_the_paths_are_not_degenerate(name):
    """Every step moves every client's model, paths differ, and so do clients between communications."""
    models = [step.after.x for step in enacted(name, 2)]
    assert all(((b - a).abs() > 1e-4).any(dim=-1).all() for a, b in pairwise(models))
    if prepared(name)[0].derivation.setting.sources:
        assert (models[-1][0] - models[-1][1]).abs().max() > 1e-4
    first = enacted(name, 2)[0].stepped.x
    assert (first[:, 0] - first[:, 1]).abs().max() > 1e-4
    assert {along(name, n).phase(t) for n in PERIODS for t in range(STEPS)} == LOCAL | COMMUNICATION


# --- planted slips ----------------------------------------------------------------------------------------------------


def with_equations(name: str, variable: str, equations: Any) -> Any:
    setting = prepared(name)[0].derivation.setting
    changed = replace(setting.variable(variable), equations=equations)
    return replace(setting, variables=tuple(changed if v.name == variable else v for v in setting.variables))


@pytest.mark.parametrize("name", CODES)
def test_every_change_of_an_equation_is_seen(name):
    """Doubled, halved and negated coefficients, exponents, shifts of samples and of variables, in every phase."""
    setting = prepared(name)[0].derivation.setting
    tried = 0
    for variable in setting.variables:
        if variable.name not in CODES[name].reads:
            continue
        for mutant in mutants(variable.equations):
            try:
                changed = with_equations(name, variable.name, mutant.value)
            except ValueError:
                continue  # refused at construction
            tried += 1
            assert _is_seen(name, changed), f"{variable.name}{mutant.where}"
    assert tried >= 4


def _is_seen(name: str, setting: Any) -> bool:
    try:
        return any(differences(name, setting))
    except ValueError:  # it takes a batch of step 0 for one of another size
        return True


def test_a_stale_estimate_is_seen():
    """x_t - alpha u_t for x_t - alpha u_{t+1}."""
    x, u = Var("x"), Var("u")
    (local, move), *rest = prepared("fcsg_m.theorem_4_4")[0].derivation.setting.variable("x").equations
    stale = Sum(tuple((c, u if term == Var("u", 1) else term) for c, term in move.parts))
    assert isinstance(move, Sum) and stale != move and (x in [term for _, term in move.parts])
    changed = with_equations("fcsg_m.theorem_4_4", "x", ((local, stale), *rest))
    assert next(differences("fcsg_m.theorem_4_4", changed)).startswith("x after step 0")
