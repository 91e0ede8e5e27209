"""The loops of a lemma, along a path and back, beside the code of the method: the same vectors.

Both run on the concrete functions of the instances along a few random paths, the equations in exact arithmetic. The code draws
a batch for each gradient and for each Hessian; which of these are averaged away says which vector of the derivation it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch

from ...bounds.proof.finite import Vector
from ...bounds.proof.instances import Functions
from ...bounds.proof.kernel import Setting, Term
from ...bounds.proof.kernel.derivation import Progress
from ...bounds.proof.runs import Style, instance
from .code import unequal
from .paths import Difference, Draws, OtherSampleError, Paths, Values, expect

LENGTHS = (1, 3)
"""Numbers of steps of the loop."""
STYLE = Style(
    "methods", "anywhere", line=False, mixed=True, curved=True, b=2, m=3, loud=1, clients=3, horizon=3, enumerated=False
)
ALPHA, DELTA = Fraction(5, 16), Fraction(2)
BEFORE_LOOP = -2
"""The step of the second loop to which its last gradient batch belongs."""
PATH, END, HESSIAN = "gradient on the path", "gradient at its end", "hessian"
ALL = frozenset({PATH, END, HESSIAN})


@dataclass(frozen=True)
class LoopCode:
    """What the code computes when it is given some of its batches, and the means in the place of the others.

    Args:
        build: the method, of which `meta_gradient` is compared, from the half-width of its differences.
        path: variable of the first loop that is the fine-tuned model.
        back: variable of the second loop that is the gradient on its way back; empty where there is no second loop.
        noisy: the batches that are given.
        still: the gradient of the code does not change on its way back.
        shared: every client has the mean of the functions of all clients.
        covered: whether the derivation is about this variant.
        variant: what the method is told beyond the symbols, for a reader.
    """

    build: Callable[[float], Any]
    path: str
    back: str = ""
    noisy: frozenset[str] = frozenset()
    still: bool = False
    shared: bool = False
    variant: str = ""
    covered: bool = True

    def beside(self, progresses: Sequence[Progress]) -> BesideLoops:
        """The code and the equations of the loops of a lemma, the first one first."""
        return BesideLoops(self, progresses)


Start = Mapping[tuple[str, int], Vector | Term]


@dataclass(frozen=True)
class Loops:
    """The path, and what goes back along it, if anything does."""

    path: Paths
    back: Paths | None


class BesideLoops:
    """The update equations of loops and the code of a method, along the same paths; the code runs once."""

    def __init__(self, code: LoopCode, progresses: Sequence[Progress]):
        self.code, self.made = code, tuple((p, instance(STYLE, p)) for p in progresses)
        self._kept: dict[int, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}

    @property
    def read(self) -> set[str]:
        """The variables that are compared."""
        return {self.code.path} | ({self.code.back} if self.code.back else set())

    def along(self, steps: int, settings: Sequence[Setting] = (), start: Start | None = None) -> Loops:
        """Both loops on the functions of the last one; with other equations, or another start of the last one."""
        *_, (_, last) = self.made
        values = {"alpha": ALPHA, "delta": DELTA, "nu": Fraction(steps), "D": Fraction(2), "D_H": Fraction(3)}
        point = {p: values.get(p.name, v) for p, v in last.point.items()}
        found: list[Paths] = []
        for i, (progress, base) in enumerate(self.made):
            setting = settings[i] if settings else base.setting
            first = base.start if start is None or base is not last else start
            free = _reversed(found[0], progress, steps) if found else base.free
            problem = Functions(setting, last.problem.shapes)  # type: ignore[attr-defined]
            found.append(Paths(setting, problem, point, steps, 1, first, free))
        return Loops(found[0], found[1] if len(found) > 1 else None)

    def kept(self, steps: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """What the code computes on the equations of the derivation, see `computed`."""
        if steps not in self._kept:
            self._kept[steps] = computed(LoopProblem(self.along(steps), self.code), self.code)
        return self._kept[steps]

    def differences(self, settings: Sequence[Setting] = (), start: Start | None = None) -> Iterator[Difference]:
        """Where the equations of the loops, or others, and the code have other values."""
        for steps in LENGTHS:
            try:
                yield from self._differences(steps, settings, start)
            except OtherSampleError as error:
                yield Difference(f"a loop of {steps}", "none of the kind", str(error))

    def _differences(self, steps: int, settings: Sequence[Setting], start: Start | None) -> Iterator[Difference]:
        changed, (models, gradients) = self.along(steps, settings, start), self.kept(steps)
        yield from _apart(f"{self.code.path} of {steps}", changed.path, self.code.path, models)
        if changed.back is not None and self.code.back:
            found = gradients * (steps + 1) if self.code.still else gradients
            yield from _apart(f"{self.code.back} of {steps}", changed.back, self.code.back, found)


def _apart(where: str, run: Paths, variable: str, wanted: list[torch.Tensor]) -> Iterator[Difference]:
    expect(len(wanted) == run.horizon + 1, f"{where}: the code has {len(wanted) - 1} steps")
    for t, value in enumerate(wanted):
        yield from unequal(f"{where} after step {t}", Values(run).floats(run.variable(variable, t)), value)


def _reversed(path: Paths, progress: Any, steps: int) -> Any:
    names = {new: old for old, new in progress.state.earlier.reversed.items()}
    more = len(progress.derivation.setting.indices) - len(path.axes)

    def free(name: str, time: int, sample: Any) -> Vector:
        vector = path.variable(names[name], steps - 1 - time)
        return tuple(x.reshape((*x.shape[: len(path.axes)], *[1] * more, *x.shape[len(path.axes) :])) for x in vector)

    return free


@dataclass(frozen=True)
class Sample:
    """Of a step of one of the loops; without a loop it is averaged away."""

    purpose: str
    run: Paths | None = None
    source: str = ""
    step: int = 0


class LoopProblem:
    """What the code asks for, with the functions of the loops; it keeps the points and vectors at which it is asked."""

    kind, name, alpha, dim = "meta", "loops", float(ALPHA), 2

    def __init__(self, loops: Loops, code: LoopCode):
        self.loops, self.code, self.nu = loops, code, loops.path.horizon
        self.points: list[torch.Tensor] = []
        self.vectors: list[torch.Tensor] = []
        self.ends: list[torch.Tensor] = []

    def sample(self, draws: Any, batch: int, purpose: str) -> Sample:
        kind, _, number = purpose.partition(" ")
        run, source, step, index = self.place(kind, int(number))
        which = kind if kind == HESSIAN else PATH if run is self.loops.path else END
        if run is None or which not in self.code.noisy:
            return Sample(purpose)
        expect(run.size(index, False) == batch, f"{purpose}: another batch size")
        return Sample(purpose, run, source, step)

    def place(self, kind: str, number: int) -> tuple[Paths | None, str, int, str]:
        """The loop, the source, the step and the index of the batch that the code calls `kind number`."""
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
        drawn: Any = run.sample(sample.source, sample.step) if sample.run else 0
        found = run.problem.apply(function, values.exact(x), tuple(drawn for _ in declared.sources))
        found = values.mean(found)
        if self.code.shared:
            found = tuple(c.sum(axis=0, keepdims=True) / c.shape[0] for c in found)
        return values.floats(then(values, found))


def computed(problem: LoopProblem, code: LoopCode) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The fine-tuned models, and the gradient on its way back: at its start, after each Hessian; (runs, clients, dim) each."""
    path = problem.loops.path
    model = Values(path).floats(path.variable(code.path, 0))
    found = code.build(float(DELTA)).meta_gradient(problem, model, Draws(Values(path).clients))
    return problem.points, [*problem.vectors, found]
