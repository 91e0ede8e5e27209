"""The update equations of each derivation, and the code of the method that the theorem is about: the same models.

Both run on the concrete functions of the leaf harness, with noise at every client, along a few random paths: the equations
in exact arithmetic, the method's own code in floats on oracles that evaluate the same functions exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
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
    MinibatchSGD,
    ModifiedFedAvg,
    Start,
)
from fedco.bounds.proof.finite import LAW, Run, Vector, plus, rational, times
from fedco.bounds.proof.instances import as_fraction
from fedco.bounds.proof.kernel import COMMUNICATION, LOCAL, Sum, Var
from fedco.bounds.proof.leaves import Style, derivation_names, established, instance
from fedco.bounds.proof.mutation import mutants
from fedco.validation.lemmas.trace import walk

PATHS = 3
STEPS = 5
PERIODS = (2, 1)
"""Rounds of this many steps; with 1 the first step is a communication."""
NEAR = 1e-11
STYLE = Style("methods", "anywhere", line=False, mixed=True, curved=True, b=2, m=2, B=3, loud=1, clients=3, horizon=1)
WEIGHTS = {"eta": "3/16", "alpha": "5/16", "beta": "7/16", "gamma": "11/16"}
"""Hyperparameters: the equations are compared, not the bounds, so that no condition has to hold."""


class Paths(Run):
    """A run along a few paths: the last axis is the path, not the outcome of a sample."""

    def _drawn(self, source: str, step: int, first: bool) -> np.ndarray:
        index = self.setting.source(source).index
        shape = [self.size(name, first) if name in index else 1 for name in self.axes]
        rng, found = Random(f"{source} {step}"), np.empty((*shape, PATHS), dtype=object)
        for place in np.ndindex(found.shape):
            found[place] = rng.choice(LAW)[1]
        return found


@dataclass(frozen=True)
class Code:
    """The method of a derivation and how the two are read beside each other.

    Args:
        build: the method, from the values of the statement's symbols.
        kind: of the problem.
        reads: variable -> what the code has in its place after a step (see `walk`).
        roles: oracle -> name of the function in the derivation.
        samples: purpose of the code's draw -> sources of the derivation that it stands for.
        embedding: the variable whose value before the run the code is given as y^0.
        only: phases at which a variable is compared.
    """

    build: Callable[[SimpleNamespace], Any]
    kind: str
    reads: Mapping[str, Callable[[Any], torch.Tensor]]
    roles: Mapping[str, str]
    samples: Mapping[str, tuple[str, ...]]
    embedding: str = ""
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)


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
    "baselines.biased_sgd": _conditional(lambda v: MinibatchSGD(eta=v.eta, b=v.b, m=v.m), MODELS),
}
NAMES = [name for name in derivation_names() if not name.startswith("meta_fl.")]
"""Meta FL's Lemma 5 is about fine-tuning alone, and its Theorem 8 takes the direction of a step as a gradient plus an error, of which
its lemmas speak: what the code computes stands in no update equation of theirs."""


# --- the functions of a run as the oracles of a problem ---------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """What the code drew: the step, and for which sources."""

    t: int
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Draws:
    """Stands for the random numbers of a run; the samples are those of the paths."""

    clients: int
    t: int = 0
    runs: int = PATHS
    seed_indices: tuple[int, ...] = tuple(range(PATHS))

    def at(self, t: int) -> Draws:
        return replace(self, t=t)


class Oracles:
    """The functions of a run, with the client's axis first, those of batches in the middle and that of the paths last."""

    def __init__(self, run: Paths, code: Code):
        self.run, self.code, self.kind, self.name = run, code, code.kind, "paths"
        self.clients = run.size(run.setting.indices[0].name, False)
        self.dim = self.inner_dim = 2
        self.initial_point = torch.zeros(2, dtype=torch.float64)

    def _drawn(self, purpose: str, t: int, batch: int) -> Drawn:
        for source in self.code.samples[purpose]:
            index = set(self.run.setting.source(source).index) - {self.run.setting.indices[0].name}
            sizes = [self.run.size(i.name, t == 0) for i in self.run.setting.indices if i.name in index]
            assert ([1, *sizes])[-1] == batch, f"{source} of step {t}: another batch size"
        return Drawn(t, self.code.samples[purpose])

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Drawn:
        return self._drawn(purpose, draws.t, batch)

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> Drawn:
        return self._drawn(purpose, draws.t, batch)

    def sample_inner(self, draws: Draws, outer: Drawn, m: int, purpose: str = "inner") -> Drawn:
        inner = self._drawn(purpose, draws.t, m)
        return Drawn(draws.t, (*outer.sources, *inner.sources))

    def value(self, role: str, point: Vector, drawn: Drawn | None) -> Vector:
        setting = self.run.setting
        function = setting.function(self.code.roles[role])
        assert drawn is None or set(function.sources) <= set(drawn.sources), f"{function.name}: not its sample"
        samples: tuple[Any, ...] = tuple(0 if drawn is None else self.run.sample(s, drawn.t) for s in function.sources)
        if function.label:
            assert drawn is not None
            (label,) = (v.name for v in setting.variables if v.space == function.label and v.equations)
            samples = (self.run.variable(label, drawn.t)[0], *samples)
        return self.run.problem.apply(function.name, point, samples)

    def applied(self, x: Vector, vector: Vector, drawn: Drawn | None, over: int) -> Vector:
        """The mean Jacobian, transposed, times a vector; over the axes of batches from `over` on."""
        a, b, c, d = self.mean(self.value("jacobian", x, drawn), over)
        v, w = vector
        return plus((times(a, v), times(c, v)), (times(b, w), times(d, w)))

    def mean(self, vector: Vector, over: int = 1) -> Vector:
        axes = tuple(range(over, len(self.run.axes)))
        return tuple(x.sum(axis=axes, keepdims=True) / int(np.prod([x.shape[i] for i in axes])) for x in vector)

    def exact(self, tensor: torch.Tensor) -> Vector:
        """(paths, clients, 2) -> components (clients, 1, ..., paths)."""
        middle = (1,) * (len(self.run.axes) - 1)
        table = np.frompyfunc(lambda x: rational(Fraction(x)), 1, 1)(tensor.numpy())
        return tuple(table[..., i].T.reshape(self.clients, *middle, PATHS) for i in (0, 1))

    def floats(self, vector: Vector) -> torch.Tensor:
        """Components (clients, 1, ..., paths) -> (paths, clients, 2)."""
        rows = []
        for x in vector:
            flat = x.reshape(x.shape[0], *x.shape[len(self.run.axes) :])
            flat = np.broadcast_to(flat.reshape(x.shape[0], -1), (self.clients, PATHS))
            rows.append([[float(as_fraction(y)) for y in row] for row in flat])
        return torch.tensor(rows, dtype=torch.float64).permute(2, 1, 0)

    # --- what methods call ---

    def inner(self, x: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.floats(self.mean(self.value("inner", self.exact(x), sample)))

    def inner_vjp(self, x: torch.Tensor, v: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.floats(self.applied(self.exact(x), self.exact(v), sample, 1))

    def outer_gradient(self, y: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.floats(self.mean(self.value("outer", self.exact(y), sample)))

    def extra_gradient(self, x: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor | None:
        return self.local_gradient(x, sample) if "gradient" in self.code.roles else None

    def local_gradient(self, x: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.floats(self.mean(self.value("gradient", self.exact(x), sample)))

    def sample_gradient(self, x: torch.Tensor, outer: Drawn, inner: Drawn) -> torch.Tensor:
        point = self.exact(x)
        value = self.mean(self.value("inner", point, inner), 2)
        each = self.applied(point, self.value("outer", value, outer), inner, 2)
        batch = max(component.shape[1] for component in each)
        rows = [self.floats(tuple(c[:, [i % c.shape[1]]] for c in each)) for i in range(batch)]
        return torch.stack(rows, dim=2)


# --- side by side -----------------------------------------------------------------------------------------------------


@cache
def prepared(name: str):
    progress = established(name)
    return progress, instance(STYLE, progress)


def along(name: str, period: int, setting: Any = None) -> Paths:
    progress, base = prepared(name)
    chosen = {**WEIGHTS, progress.derivation.period: period}
    point = base.point | {p: Fraction(chosen[p.name]) for p in base.point if p.name in chosen}
    return Paths(setting or progress.derivation.setting, base.problem, point, STEPS, period, base.start, base.free)


@cache
def enacted(name: str, period: int) -> tuple[Any, ...]:
    """The steps of the code; of the derivation's equations only the drawn labels are used."""
    code, run = CODES[name], along(name, period)
    problem = Oracles(run, code)
    numbers = SimpleNamespace(
        **{p.name: (int(v) if p.count else float(v)) for p, v in run.point.items() if v.denominator == 1 or not p.count}
    )
    start = problem.floats(run.variable("x", 0))
    assert (start == start[:1, :1]).all(), "a common start"
    given = problem.floats(run.variable(code.embedding, -1))[0, 0] if code.embedding else None
    method = code.build(numbers)
    return tuple(walk(method, problem, STEPS, PATHS, start=Start(x=start[0, 0], y=given), draws=Draws(problem.clients)))


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
            wanted, got = problem.floats(run.variable(variable, step.t + defined)), read(step)
            if not torch.allclose(got, wanted, rtol=NEAR, atol=NEAR):
                yield f"{variable} after step {step.t} (period {period}): {got.flatten().tolist()[:2]}, not {wanted.flatten().tolist()[:2]}"


def test_every_derivation_is_compared():
    assert set(NAMES) == set(CODES)
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
