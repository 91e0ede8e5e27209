"""The functions of a derivation as the oracles of a method's code: exact values, along a few random paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...bounds.evaluation.enclosure import fmpq_of
from ...bounds.evaluation.evaluate import fraction_of
from ...bounds.proof.finite import Run, Vector, plus, times
from ..exact.tensor import ExactTensor

if TYPE_CHECKING:
    from .code import Code

NOISY = (
    "outer_gradient",
    "inner_value",
    "inner_jacobian",
    "extra_gradient",
    "local_gradient",
    "local_hessian",
    "meta_gradient",
)
"""Roles of functions of which a problem has samples, unless it is `deterministic`."""
PATHS = 3
STEPS = 5
BEFORE = -1
"""The step of what is drawn before the first one, as in a run."""
PERIODS = (3, 2, 1)
"""Rounds of this many steps: in rounds of 3 what adds up at local steps does so twice; with 1 the first step is a communication."""
NEAR = 1e-11
"""Tolerances, relative and absolute, of doubles compared with exact values."""


@dataclass(frozen=True)
class Difference:
    """Where the equations and the code have other values."""

    where: str
    equations: str
    code: str

    def __str__(self) -> str:
        return f"{self.where}: the code has {self.code}, the update equations have {self.equations}"


class OtherSampleError(ValueError):
    """The code asks for samples, or for clients, that the derivation does not have."""


def expect(holds: bool, text: str) -> None:
    if not holds:
        raise OtherSampleError(text)


class Paths(Run):
    """A run along a few paths: the last axis is the path, not the outcome of a sample."""

    def _drawn(self, source: str, step: int, first: bool) -> np.ndarray:
        index = self.setting.source(source).index
        shape = [self.size(name, first) if name in index else 1 for name in self.axes]
        rng, found = Random(f"{source} {step}"), np.empty((*shape, PATHS), dtype=object)
        for place in np.ndindex(found.shape):
            found[place] = rng.choice(self.law(source))[1]
        return found


@dataclass(frozen=True)
class Drawn:
    """What the code drew: the step, and each source that it may stand for with the purpose under which it was drawn."""

    t: int
    sources: Mapping[str, str]


@dataclass(frozen=True)
class Draws:
    """Stands for the random numbers of a run; the samples are those of the paths."""

    clients: int
    t: int = BEFORE
    chosen: Callable[[str, int], torch.Tensor] | None = None
    kept: Callable[[str, int], torch.Tensor] | None = None
    runs: int = PATHS
    seed_indices: tuple[int, ...] = tuple(range(PATHS))

    def at(self, t: int) -> Draws:
        return replace(self, t=t)

    def signs(self, purpose: str, size: int) -> torch.Tensor:
        """What a compressor adds to each coordinate, as a multiple of it, at this step: (runs, clients, 2)."""
        if self.kept is None:
            raise OtherSampleError(f"{purpose}: the derivation has no compressor")
        return self.kept(purpose, self.t)

    def subset(self, purpose: str, size: int) -> torch.Tensor:
        """The clients of the round that begins at this step as a mask, (runs, clients)."""
        if self.chosen is None:
            raise OtherSampleError(f"{purpose}: the derivation draws no set of clients")
        mask = self.chosen(purpose, self.t)
        expect(bool((mask.sum(dim=1) == size).all()), f"{purpose}: another number of clients")
        return mask


class Values:
    """Exact vectors of a run as tensors, and back; the client's axis is first, those of batches come next, and that of the paths last."""

    def __init__(self, run: Paths, *, exactly: bool = False):
        self.run, self.clients, self.exactly = run, run.size(run.setting.indices[0].name, False), exactly

    def mean(self, vector: Vector, over: int = 1) -> Vector:
        axes = tuple(range(over, len(self.run.axes)))
        return tuple(x.sum(axis=axes, keepdims=True) / int(np.prod([x.shape[i] for i in axes])) for x in vector)

    def exact(self, tensor: torch.Tensor) -> Vector:
        """(paths, clients, 2) -> components (clients, 1, ..., paths)."""
        middle = (1,) * (len(self.run.axes) - 1)
        numbers = tensor.numbers if isinstance(tensor, ExactTensor) else tensor.numpy()
        table = np.frompyfunc(lambda x: fmpq_of(Fraction(x)), 1, 1)(numbers)
        return tuple(table[..., i].T.reshape(self.clients, *middle, PATHS) for i in (0, 1))

    def floats(self, vector: Vector) -> torch.Tensor:
        """Components (clients, 1, ..., paths) -> (paths, clients, 2), in doubles or exactly."""
        rows, number = [], Fraction if self.exactly else float
        for x in vector:
            expect(
                all(size == 1 for size in x.shape[1 : len(self.run.axes)]),
                "a value that differs over more than the clients",
            )
            flat = x.reshape(x.shape[0], *x.shape[len(self.run.axes) :])
            flat = np.broadcast_to(flat.reshape(x.shape[0], -1), (self.clients, PATHS))
            rows.append([[number(fraction_of(y)) for y in row] for row in flat])
        if self.exactly:
            return ExactTensor.of(np.array(rows, dtype=object).transpose(2, 1, 0))
        return torch.tensor(rows, dtype=torch.float64).permute(2, 1, 0)

    def acting(self, operator: Vector, vector: Vector) -> Vector:
        """The transposed operator, row by row, times a vector."""
        a, b, c, d = operator
        v, w = vector
        return plus((times(a, v), times(c, v)), (times(b, w), times(d, w)))


class Oracles:
    """The functions of a run as what a method calls."""

    def __init__(self, run: Paths, code: Code, *, noiseless: bool = False, values: Values | None = None):
        self.run, self.code, self.kind, self.name = run, code, code.kind, "paths"
        self.noiseless = noiseless
        self.values = values or Values(run)
        self.purposes: dict[tuple[str, int], str] = {}
        self.clients = self.values.clients
        self.dim = self.inner_dim = 2
        self.t = 0
        self.alpha, self.nu = 0.0, 0  # for codes that are declared beside equations in the gradient after fine-tuning
        self.initial_point = torch.zeros(2, dtype=torch.float64)

    @property
    def draws(self) -> Any:
        """The random numbers of the run: sets of clients and what a compressor adds, where the derivation has them."""
        kept = self.kept if "kept" in self.code.samples else None
        return Draws(self.clients, chosen=self.chosen if self.code.sets else None, kept=kept)

    def _drawn(self, purpose: str, t: int, batch: int) -> Drawn:
        expect(purpose in self.code.samples, f"{purpose}: the derivation has no such sample")
        for source in self.code.samples[purpose]:
            index = set(self.run.setting.source(source).index) - {self.run.setting.indices[0].name}
            sizes = [self.run.size(i.name, t <= 0) for i in self.run.setting.indices if i.name in index]
            expect(([1, *sizes])[-1] == batch, f"{source} of step {t}: another batch size")
        self.t = t
        return Drawn(t, dict.fromkeys(self.code.samples[purpose], purpose))

    def _one_purpose(self, source: str, t: int, purpose: str) -> None:
        """Raises where the code has two independent draws in the place of one of the derivation."""
        first = self.purposes.setdefault((source, t), purpose)
        expect(first == purpose, f"{source} of step {t}: the code draws two of them, {first} and {purpose}")

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Drawn:
        return self._drawn(purpose, draws.t, batch)

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> Drawn:
        return self._drawn(purpose, draws.t, batch)

    def sample_inner(self, draws: Draws, outer: Drawn, m: int, purpose: str = "inner") -> Drawn:
        inner = self._drawn(purpose, draws.t, m)
        return Drawn(draws.t, {**inner.sources, **outer.sources})

    def value(self, role: str, point: Vector, drawn: Drawn | None) -> Vector:
        setting = self.run.setting
        function = setting.function(self.code.roles[role])
        expect(drawn is None or drawn.sources.keys() >= set(function.sources), f"{function.name}: not its sample")
        exact = bool(function.sources) or function.role not in NOISY or self.noiseless
        expect(
            drawn is None or exact,
            f"{function.name}: the derivation has no samples of it, and nothing says that it has none",
        )
        samples: tuple[Any, ...] = tuple(0 for _ in function.sources)
        if drawn is not None:
            for source in function.sources:
                self._one_purpose(source, drawn.t, drawn.sources[source])
            samples = tuple(self.run.sample(source, drawn.t) for source in function.sources)
        if function.label:
            (label,) = (v.name for v in setting.variables if v.space == function.label and v.equations)
            samples = (self.run.variable(label, self.t)[0], *samples)
        return self.run.problem.apply(function.name, point, samples)

    def applied(self, x: Vector, vector: Vector, drawn: Drawn | None, over: int) -> Vector:
        """The mean Jacobian, transposed, times a vector; over the axes of batches from `over` on."""
        return self.values.acting(self.values.mean(self.value("jacobian", x, drawn), over), vector)

    def chosen(self, purpose: str, t: int) -> torch.Tensor:
        """The set that the derivation draws at the communication of the round that begins at step t."""
        (source,) = self.run.setting.function(self.code.sets).sources
        self._one_purpose(source, t, purpose)
        numbers = self.run.sample(source, t + self.run.period - 1).reshape(-1)
        sets = self.run.problem.sets[self.code.sets]  # type: ignore[attr-defined]
        rows = [[float(client in sets[int(number.p)]) for client in range(self.clients)] for number in numbers]
        return torch.tensor(rows, dtype=torch.float64)

    def kept(self, purpose: str, t: int) -> torch.Tensor:
        """The samples of the compressor at a step; a method with the ratio 2 draws once, "kept 0"."""
        expect(purpose == "kept 0", f"{purpose}: the derivation has no such sample")
        (source,) = self.code.samples["kept"]
        drawn = self.run.sample(source, t)
        return self.values.floats((drawn,) * self.dim)

    # --- what methods call ---

    def inner(self, x: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.values.floats(self.values.mean(self.value("inner", self.values.exact(x), sample)))

    def inner_vjp(self, x: torch.Tensor, v: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.values.floats(self.applied(self.values.exact(x), self.values.exact(v), sample, 1))

    def outer_gradient(self, y: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        return self.values.floats(self.values.mean(self.value("outer", self.values.exact(y), sample)))

    def extra_gradient(self, x: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor | None:
        return self.local_gradient(x, sample) if "gradient" in self.code.roles else None

    def local_gradient(self, x: torch.Tensor, sample: Drawn | None = None) -> torch.Tensor:
        point = self.values.exact(x)
        roles = [role for role in ("gradient", "error") if role in self.code.roles]
        noisy = roles[-1]  # the noise of a gradient that has an error is that error
        parts = [self.value(role, point, sample if role == noisy else None) for role in roles]
        return self.values.floats(self.values.mean(reduce(plus, parts)))

    def local_hvp(self, x: torch.Tensor, vector: torch.Tensor, sample: Drawn) -> torch.Tensor:
        raise OtherSampleError("no step of fine-tuning")

    def sample_gradient(self, x: torch.Tensor, outer: Drawn, inner: Drawn) -> torch.Tensor:
        point = self.values.exact(x)
        value = self.values.mean(self.value("inner", point, inner), 2)
        each = self.applied(point, self.value("outer", value, outer), inner, 2)
        batch = max(component.shape[1] for component in each)
        rows = [self.values.floats(tuple(c[:, [i % c.shape[1]]] for c in each)) for i in range(batch)]
        if self.values.exactly:
            return ExactTensor.of(np.stack([row.numbers for row in rows], axis=2))  # type: ignore[attr-defined]
        return torch.stack(rows, dim=2)


def numbers_of(run: Paths) -> SimpleNamespace:
    """The values of the symbols of a run."""
    point = run.point.items()
    return SimpleNamespace(
        **{p.name: int(v) if p.count else float(v) for p, v in point if v.denominator == 1 or not p.count}
    )
