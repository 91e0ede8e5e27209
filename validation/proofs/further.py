"""The code of a file beside update equations in doubles: many steps, clients and dimensions, and vectors of very different lengths.

Exact numbers are compared for a few steps in two dimensions. A file's code may do otherwise later, or where vectors are long or short.
It cannot be compared for ever: what is tried is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import numpy as np
import torch

from ...algorithms import Start
from ...bounds.evaluation.evaluate import fraction_of
from ...bounds.language.reading import InputError
from ...bounds.proof.finite import Component, Vector, plus, total
from ...bounds.proof.instances import is_draw
from ...bounds.proof.kernel import COMMUNICATION, COMPRESSOR, LOCAL, MIXING, Act, Function, Sum, Term
from ..lemmas.trace import walk
from .paths import PATHS, Difference, Oracles, OtherSampleError, Paths, Values, numbers_of

if TYPE_CHECKING:
    from .code import Beside

STEPS, DIM, CLIENTS, PERIOD = 50, 7, 12, 7
SCALES = (1e-6, 1.0, 1e6)
NEAR = 1e-9
"""Tolerance, relative to the longest vector of a table."""
TRIED = f"{STEPS} steps in doubles, {DIM} dimensions, up to {CLIENTS} clients, gradients of size 1e-6, 1 and 1e6"


class Wide(Paths):
    """A run in doubles along the same paths, of vectors with more components."""

    def _drawn(self, source: str, step: int, first: bool) -> Component:
        found = super()._drawn(source, step, first)
        return found if source in self.laws else found.astype(float)

    def _factor(self, c: Any, t: int) -> Any:
        return float(fraction_of(super()._factor(c, t)))

    def _averaged(self, array: Component, axes: Any) -> Component:
        return array.mean(axis=tuple(axes), keepdims=True)

    def _value(self, term: Term, t: int) -> Vector:
        if isinstance(term, Sum) and not term.parts:
            return (np.zeros([1] * (len(self.axes) + 1)),) * DIM
        if isinstance(term, Act):
            return acting(self(term.operator, t), self(term.vector, t))
        return super()._value(term, t)


def acting(operator: Vector, vector: Vector) -> Vector:
    """The transposed operator, row by row, times a vector."""
    return tuple(total([operator[DIM * j + i] * vector[j] for j in range(DIM)]) for i in range(DIM))


class WideValues(Values):
    """Vectors of a wide run as tensors, and back."""

    def exact(self, tensor: torch.Tensor) -> Vector:
        table = tensor.numpy().transpose(2, 1, 0)
        middle = (1,) * (len(self.run.axes) - 1)
        return tuple(component.reshape(self.clients, *middle, PATHS) for component in table)

    def floats(self, vector: Vector) -> torch.Tensor:
        rows = []
        for x in vector:
            if prod(x.shape[1 : len(self.run.axes)]) != 1:
                raise OtherSampleError("a value that differs over more than the clients")
            rows.append(np.broadcast_to(x.reshape(x.shape[0], x.shape[-1]), (self.clients, PATHS)))
        return torch.tensor(np.array(rows, dtype=float).transpose(2, 1, 0))

    def acting(self, operator: Vector, vector: Vector) -> Vector:
        return acting(operator, vector)


class Smooth:
    """Smooth functions S f(x/S) for those of a setting, whose values are about as long as S where x is; and what a method is built on."""

    def __init__(self, run: Wide, scale: float, method: Any):
        self.run, self.scale, self.method, self.sets = run, scale, method, run.problem.sets  # type: ignore[attr-defined]
        self.of_two = run.problem
        self.values = WideValues(run)

    def apply(self, function: str, point: Vector, samples: tuple[Any, ...]) -> Vector:
        declared = self.run.setting.function(function)
        if declared.label or declared.role == "minimiser" or is_draw(self.run.setting, declared):
            raise InputError(f"{function}: not compared in many dimensions")
        if function in self.sets:
            share, *_ = self.of_two.apply(function, point[:2], samples)
            return tuple(share.astype(float) * float(i == j) for i in range(DIM) for j in range(DIM))
        if declared.role == MIXING:
            rows = np.array([[float(w) for w in row] for row in self.method.mixing(self.values.clients)])
            return tuple(np.tensordot(rows, np.broadcast_to(x, (len(rows), *x.shape[1:])), axes=1) for x in point)
        if declared.role == COMPRESSOR:
            drawn = [w for w in samples if isinstance(w, np.ndarray)]
            if not declared.sources:
                return self.values.exact(self.method.sent(self.values.floats(point)))
            return plus(point, tuple(x * w for w in drawn for x in point)) if drawn else point
        return self._smooth(declared, point, samples)

    def _smooth(self, declared: Function, point: Vector, samples: tuple[Any, ...]) -> Vector:
        rng = np.random.default_rng(crc32(declared.name.encode()))
        axes = [1] * len(self.run.axes)
        client = self.run.setting.indices[0].name
        clients = self.values.clients if client in declared.index & declared.mean_index else 1

        def table() -> Component:
            return rng.uniform(0.5, 1.5, clients).reshape(clients, *axes)

        z = [x / self.scale for x in point]
        operator = not isinstance(declared.space, str)
        found = []
        for i, j in np.ndindex(*(DIM, DIM) if operator else (DIM, 1)):
            u, v = z[i], z[j if operator else (i + 1) % DIM]
            bent = table() * u / np.sqrt(1 + u * u) + table() * v / (2 * np.sqrt(1 + v * v))
            value = bent / 2 + table() * (0.1 if operator else 0.1 * u) + table() - 1
            for w in samples:
                value = value + (table() / 4 + bent / 4) * w if isinstance(w, np.ndarray) else value
            found.append(value / DIM if operator else self.scale * value)
        return tuple(found)


def differences(beside: Beside) -> Iterator[Difference]:
    """Where a method's code and the equations have other values at one of the scales, the first step of each.

    Args:
        beside: both, on an instance with many clients.

    Raises:
        InputError: the derivation has functions that are not compared so.
    """
    for scale in SCALES:
        try:
            yield from _at_scale(beside, scale)
        except OtherSampleError as error:
            yield Difference(f"gradients of size {scale:g}", "none of the kind", str(error))


def _at_scale(beside: Beside, scale: float) -> Iterator[Difference]:
    code, (period, *_) = beside.code, (PERIOD, *beside.periods)[not beside.progress.state.period.params :]
    base = beside.along(period)
    method = code.build(numbers_of(base))
    run = Wide(base.setting, base.problem, base.point, STEPS, period, {}, base.free, laws=base.laws)
    run.start = _starts(base, scale)
    smooth = Smooth(run, scale, method)
    run.problem = cast(Any, smooth)
    for step in _steps(beside, run, method):
        for variable, read in code.reads.items():
            if run.phase(step.t) in code.only.get(variable, LOCAL | COMMUNICATION):
                wanted = smooth.values.floats(run.variable(variable, step.t + run.setting.variable(variable).defined))
                got = read(step).expand_as(wanted)
                apart = (got - wanted).abs()
                if not bool(apart.max() <= NEAR * wanted.abs().max()):
                    where = f"{variable} after step {step.t} (period {period}, {DIM} dimensions, gradients of size {scale:g})"
                    place = int(apart.nan_to_num(torch.inf).argmax())
                    yield Difference(where, *(f"{table.flatten()[place].item():.12g}" for table in (wanted, got)))
                    return


def _starts(base: Paths, scale: float) -> dict[tuple[str, int], Vector | Term]:
    """Vectors of a length like the scale in the places of those that a run starts with; what is said of the start stays."""
    found: dict[tuple[str, int], Vector | Term] = {}
    for (name, time), first in base.start.items():
        if isinstance(first, Term):
            found[name, time] = first
        else:
            rng = np.random.default_rng(crc32(f"{name} {time}".encode()))
            shape = (*first[0].shape[: len(base.axes)], 1)
            found[name, time] = tuple(scale * rng.normal(size=shape) for _ in range(DIM))
    return found


def _steps(beside: Beside, run: Wide, method: Any) -> Iterator[Any]:
    code = beside.code
    problem = Oracles(run, code, noiseless=beside.is_noiseless, values=WideValues(run))
    problem.dim = problem.inner_dim = DIM
    problem.initial_point = torch.zeros(DIM, dtype=torch.float64)
    start = problem.values.floats(run.variable(code.model, 0))
    yield from walk(method, problem, STEPS, PATHS, start=Start(x=start[0, 0]), draws=problem.draws)
