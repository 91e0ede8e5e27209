"""The two loops of each lemma on meta learning, along a path and back, and the code of the method: the same vectors.

Both run on the concrete functions of the leaf harness along a few random paths, the equations in exact arithmetic. The code draws
a batch for each gradient and for each Hessian; which of these are averaged away says which vector of the derivation it computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from fedco.algorithms import MetaFL
from fedco.bounds.proof.finite import Run, Vector
from fedco.bounds.proof.instances import Functions
from fedco.bounds.proof.kernel import Term
from fedco.bounds.proof.leaves import Style, derivation_names, established, instance
from fedco.bounds.proof.mutation import mutants
from paths import PATHS, Draws, Paths, Values

STEPS = (1, 3)
"""How many steps of fine-tuning."""
NEAR = 1e-11
STYLE = Style("methods", "anywhere", line=False, mixed=True, curved=True, b=2, m=3, loud=1, clients=3, horizon=3)
ALPHA, DELTA = Fraction(5, 16), Fraction(2)
BEFORE_LOOP = -2
"""The step of the second loop of which its last gradient batch is."""
PATH, END, HESSIAN = "gradient on the path", "gradient at its end", "hessian"


@dataclass(frozen=True)
class Computed:
    """What the code computes when it is given some of its batches, and the means in the place of the others.

    Args:
        path: variable of the first loop that is the fine-tuned model.
        back: variable of the second loop that is the gradient on its way back; empty where there is no second loop.
        noisy: the batches that are given.
        variant: of the method.
        shared: every client has the mean of the functions of all clients.
    """

    path: str
    back: str = ""
    noisy: frozenset[str] = frozenset()
    variant: str = "exact"
    shared: bool = False


ALL = frozenset({PATH, END, HESSIAN})
NOISELESS = Computed("w", "r")
COMPUTED: Mapping[str, tuple[Computed, ...]] = {
    "meta_fl.lemma_4": (Computed("u", "a"), NOISELESS),
    "meta_fl.lemma_5": (Computed("u", "", ALL, "first_order"), Computed("w", variant="first_order")),
    "meta_fl.lemma_6": (Computed("u", "a", ALL), Computed("u", "m", frozenset({PATH})), NOISELESS),
    "meta_fl.lemma_7": (Computed("u", "a"), Computed("v", "r", shared=True)),
    "meta_fl.lemma_10": (
        Computed("u", "g", ALL, "first_order"),
        Computed("u", "m", frozenset({PATH}), "first_order"),
        NOISELESS,
    ),
    "meta_fl.lemma_11": (
        Computed("u", "a", ALL, "hessian_free"),
        Computed("w", "d", variant="hessian_free"),
        Computed("u", "m", frozenset({PATH})),
        NOISELESS,
    ),
}


# --- the loops of a derivation ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loops:
    """The path, and what goes back along it, if anything does."""

    path: Paths
    back: Paths | None


@cache
def prepared(name: str) -> tuple[Any, ...]:
    """(checked steps, instance) of each loop of a lemma, the first one first."""
    names = [n for n in derivation_names() if n == f"{name} before:"] + [name]
    return tuple((progress, instance(STYLE, progress)) for progress in map(established, names))


Start = Mapping[tuple[str, int], Vector | Term]


def along(name: str, steps: int, settings: tuple[Any, ...] = (), start: Start | None = None) -> Loops:
    """Both loops on the functions of the last one; with other equations, or another start of the last one."""
    *_, (_, last) = prepared(name)
    values = {"alpha": ALPHA, "delta": DELTA, "nu": Fraction(steps), "D": Fraction(2), "D_H": Fraction(3)}
    point = {p: values.get(p.name, v) for p, v in last.point.items()}
    found: list[Paths] = []
    for i, (progress, base) in enumerate(prepared(name)):
        setting = settings[i] if settings else progress.derivation.setting
        first = base.start if start is None or base is not last else start
        free = _reversed(found[0], progress, steps) if found else base.free
        problem = Functions(setting, last.problem.shapes)
        found.append(Paths(setting, problem, point, steps, 1, first, free))
    return Loops(found[0], found[1] if len(found) > 1 else None)


def _reversed(path: Paths, progress: Any, steps: int) -> Any:
    names = {new: old for old, new in progress.state.earlier.reversed.items()}
    more = len(progress.derivation.setting.indices) - len(path.axes)

    def free(name: str, time: int, sample: Any) -> Vector:
        vector = path.variable(names[name], steps - 1 - time)
        return tuple(x.reshape((*x.shape[: len(path.axes)], *[1] * more, *x.shape[len(path.axes) :])) for x in vector)

    return free


# --- the code ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Of a step of one of the loops; without a loop it is averaged away."""

    purpose: str
    run: Paths | None = None
    source: str = ""
    step: int = 0


class Problem:
    """What the code asks for, with the functions of the loops; it keeps the points and vectors at which it is asked."""

    kind, name, alpha, dim = "meta", "loops", float(ALPHA), 2

    def __init__(self, loops: Loops, computed: Computed):
        self.loops, self.computed, self.nu = loops, computed, loops.path.horizon
        self.points: list[torch.Tensor] = []
        self.vectors: list[torch.Tensor] = []
        self.ends: list[torch.Tensor] = []

    def sample(self, draws: Any, batch: int, purpose: str) -> Sample:
        kind, _, number = purpose.partition(" ")
        run, source, step, index = self._place(kind, int(number))
        which = kind if kind == HESSIAN else PATH if run is self.loops.path else END
        if run is None or which not in self.computed.noisy:
            return Sample(purpose)
        assert run.size(index, False) == batch, f"{purpose}: another batch size"
        return Sample(purpose, run, source, step)

    def _place(self, kind: str, number: int) -> tuple[Paths | None, str, int, str]:
        if kind == HESSIAN:
            return self.loops.back, "xi", self.nu - 1 - number, "h"
        if number < self.nu:
            return self.loops.path, "zeta", number, "j"
        return self.loops.back, "zeta", BEFORE_LOOP, "j"

    def local_gradient(self, x: torch.Tensor, sample: Sample) -> torch.Tensor:
        """With the batch of a Hessian it is asked for twice, at the point plus and minus delta times the vector."""
        difference = sample.purpose.startswith(HESSIAN)
        (self.ends if difference else self.points).append(x)
        if difference and len(self.ends) % 2 == 0:
            self.vectors.append((self.ends[-2] - self.ends[-1]) / (2 * float(DELTA)))
        return self._applied("dg" if difference else "df", x, sample, lambda values, vector: vector)

    def local_hvp(self, x: torch.Tensor, vector: torch.Tensor, sample: Sample) -> torch.Tensor:
        self.vectors.append(vector)
        return self._applied("ddf", x, sample, lambda values, found: values.acting(found, values.exact(vector)))

    def _applied(self, function: str, x: torch.Tensor, sample: Sample, then: Any) -> torch.Tensor:
        """A function at the points, the mean over the batch; and over the clients where they share it."""
        run = sample.run or self.loops.back or self.loops.path
        values = Values(run)
        declared = run.setting.function(function)
        drawn = run.sample(sample.source, sample.step) if sample.run else 0
        found = run.problem.apply(function, values.exact(x), tuple(drawn for _ in declared.sources))
        found = values.mean(found)
        if self.computed.shared:
            found = tuple(c.sum(axis=0, keepdims=True) / c.shape[0] for c in found)
        return values.floats(then(values, found))


def code(loops: Loops, computed: Computed) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The fine-tuned models, and the gradient on its way back: at its start, after each Hessian; (runs, clients, dim) each."""
    problem, values = Problem(loops, computed), Values(loops.path)
    method = MetaFL(beta=1.0, tau=1, D=2, D_H=3, variant=computed.variant, delta=float(DELTA))
    model = values.floats(loops.path.variable(computed.path, 0))
    found = method.meta_gradient(problem, model, Draws(values.clients))
    return problem.points, [*problem.vectors, found]


def differences(name: str, settings: tuple[Any, ...] = (), start: Start | None = None) -> Iterator[str]:
    """Where the equations of the loops and the code have other values; the code runs on the equations of the derivation."""
    for steps in STEPS:
        changed = along(name, steps, settings, start)
        for computed in COMPUTED[name]:
            models, gradients = kept(name, steps, computed)
            yield from _apart(f"{computed.path} of {steps}", changed.path, computed.path, models)
            if changed.back is not None:
                times = gradients * (steps + 1) if computed.variant == "first_order" else gradients
                yield from _apart(f"{computed.back} of {steps}", changed.back, computed.back, times)


@cache
def kept(name: str, steps: int, computed: Computed) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    return code(along(name, steps), computed)


def _apart(where: str, run: Run, variable: str, wanted: list[torch.Tensor]) -> Iterator[str]:
    assert len(wanted) == run.horizon + 1
    for t, value in enumerate(wanted):
        got = Values(run).floats(run.variable(variable, t))
        if not torch.allclose(got, value, rtol=NEAR, atol=NEAR):
            yield f"{where} after step {t}: {got.flatten().tolist()[:2]}, not {value.flatten().tolist()[:2]}"


# --- tests ------------------------------------------------------------------------------------------------------------


def test_every_loop_is_compared():
    """All lemmas whose derivation is a loop, and every variable that has equations."""
    lemmas = {name.partition(" ")[0] for name in derivation_names() if name.startswith("meta_fl.lemma")}
    assert lemmas == set(COMPUTED)
    for name, found in COMPUTED.items():
        declared = [
            v.name for progress, _ in prepared(name) for v in progress.derivation.setting.variables if v.equations
        ]
        assert sorted(declared) == sorted({c.path for c in found} | {c.back for c in found if c.back})


@pytest.mark.parametrize("name", COMPUTED)
def test_the_equations_are_what_the_code_does(name):
    assert not list(differences(name))


@pytest.mark.parametrize("name", COMPUTED)
def test_the_paths_are_not_degenerate(name):
    """Models move, gradients turn, and what has other batches has another value."""
    ends = []
    for computed in COMPUTED[name]:
        models, gradients = kept(name, STEPS[-1], computed)
        ends.append(gradients[-1])
        assert all((b - a).abs().max() > 1e-4 for a, b in (*pairwise(models), *pairwise(gradients)))
        if computed.noisy:
            assert (models[-1][0] - models[-1][1]).abs().max() > 1e-4
    assert all((a - b).abs().max() > 1e-4 for i, a in enumerate(ends) for b in ends[:i])


@pytest.mark.parametrize("name", COMPUTED)
def test_every_change_of_an_equation_or_of_the_start_is_seen(name):
    """Coefficients, exponents, signs and the steps of samples, in both loops and where the second one starts."""
    settings = tuple(progress.derivation.setting for progress, _ in prepared(name))
    tried = 0
    for i, setting in enumerate(settings):
        for variable in setting.variables:
            for mutant in mutants(variable.equations):
                try:
                    changed = replace(variable, equations=mutant.value)
                    other = replace(
                        setting, variables=tuple(changed if v.name == variable.name else v for v in setting.variables)
                    )
                except ValueError:
                    continue  # refused at construction
                tried += 1
                assert any(differences(name, (*settings[:i], other, *settings[i + 1 :]))), (
                    f"{variable.name}{mutant.where}"
                )
    *_, (_, last) = prepared(name)
    for key, term in last.start.items():
        for mutant in mutants(term) if isinstance(term, Term) and len(settings) > 1 else ():
            tried += 1
            assert any(differences(name, start={**last.start, key: mutant.value})), f"{key}{mutant.where}"
    assert tried >= 8


def test_a_batch_in_the_place_of_another_is_seen():
    """The batch of the first gradient on the path for that of the second, and the Hessian's of the other end of the path."""
    loops = along("meta_fl.lemma_6", 3)
    computed = COMPUTED["meta_fl.lemma_6"][0]

    class Slipped(Problem):
        def _place(self, kind: str, number: int) -> tuple[Paths | None, str, int, str]:
            run, source, step, index = super()._place(kind, number)
            return run, source, 0 if kind == self.slip else step, index

    for slip in ("gradient", "hessian"):
        problem = Slipped(loops, computed)
        problem.slip = slip
        model = Values(loops.path).floats(loops.path.variable("u", 0))
        found = MetaFL(beta=1.0, tau=1, D=2, D_H=3).meta_gradient(problem, model, Draws(3))
        assert (found - kept("meta_fl.lemma_6", 3, computed)[1][-1]).abs().max() > 1e-4
    assert np.prod(found.shape) == PATHS * 3 * 2
