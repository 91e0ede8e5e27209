"""Instances as data, and the problems that they define, in exact numbers: oracles, constants, infima.

An instance is `{"kind", "parameters": {name: number or nested lists}, "nu": ...}`, the parameters being those of the family of that
kind (`synthetic/families/`). The oracles take and return `ExactTensor`s of shape (1, clients, 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ....synthetic.kinds import InnerSample
from .curve import Curve, composed, infimum_gap, mean
from .interval import Interval
from .noise import Mean, Noisy
from .tensor import ExactTensor, InexactError, raw

Q = Fraction
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Instance:
    """One instance of a kind. `parameters` holds fractions: a number per run, a list per client, a list of lists for knots."""

    kind: str
    parameters: Parameters
    settings: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As data that a bundle can hold."""
        return {"kind": self.kind, "parameters": dict(self.parameters), "settings": dict(self.settings)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Instance:
        """Inverse of `to_dict`; integers become fractions.

        Raises:
            ValueError: another form of data.
        """
        if set(data) != {"kind", "parameters", "settings"} or data["kind"] not in EXACT:
            raise ValueError(f"instance: wanted kind, parameters and settings of a known kind, got {sorted(data)}")
        parameters = {name: as_fractions(value) for name, value in data["parameters"].items()}
        return Instance(data["kind"], parameters, {k: int(v) for k, v in data["settings"].items()})


def as_fractions(value: Any) -> Any:
    """Integers and fractions in nested lists, as fractions.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, (list, tuple)):
        return [as_fractions(part) for part in value]
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise ValueError(f"instance: wanted exact numbers, got {value!r}")
    return Q(value)


class ExactProblem(ABC):
    """A problem in exact numbers: what methods call, plus the constants and the gap by quantity."""

    kind: ClassVar[str]
    NAMES: ClassVar[frozenset[str]]

    def __init__(self, instance: Instance) -> None:
        if set(instance.parameters) != self.NAMES:
            raise ValueError(
                f"{self.kind}: wanted the parameters {sorted(self.NAMES)}, got {sorted(instance.parameters)}"
            )
        self.parameters, self.settings = instance.parameters, instance.settings
        self.clients, self.dim, self.inner_dim = len(self._per_client()), 1, 1
        self.name = f"exact {self.kind}"

    @abstractmethod
    def _per_client(self) -> list[Any]:
        """A parameter with one entry per client."""

    @property
    def start(self) -> Fraction:
        number: Fraction = self.parameters["start"]
        return number

    @abstractmethod
    def gradient_at(self, x: Any) -> Any:
        """The derivative of the objective at one number."""

    @abstractmethod
    def objective_at(self, x: Any) -> Any:
        """The objective at one number, up to a constant."""

    @property
    def initial_point(self) -> ExactTensor:
        return ExactTensor.of([self.start])

    def gradient(self, x: Any) -> ExactTensor:
        """Of the objective, `(runs, 1) -> (runs, 1)`."""
        return per_client(lambda _, number: self.gradient_at(number), x)

    def objective(self, x: Any) -> ExactTensor:
        """Up to a constant, `(runs, 1) -> (runs,)`."""
        return ExactTensor.of(per_client(lambda _, number: self.objective_at(number), x).numbers[:, 0])

    @abstractmethod
    def constants(self) -> dict[str, Fraction]:
        """Quantity -> its exact supremum, or an upper bound of it.

        Raises:
            ValueError: the objective is unbounded below.
        """

    def _jolted(self, name: str) -> bool:
        return any(number != 0 for number in self.parameters.get(name, ()))

    @property
    def is_noisy(self) -> bool:
        """Whether an oracle has noise."""
        return any(self._jolted(name) for name in _NOISES)

    def sample(self, draws: Any, batch: int, purpose: str = "sample") -> Signs | None:
        """Fair signs for the inner maps and for the gradients, the mean over the batch; nothing where there is no noise."""
        if not self.is_noisy:
            return None
        return Signs(
            draws.signs(f"{purpose}.inner", batch).mean(-1) if self._jolted("value_noise") else None,
            draws.signs(f"{purpose}.outer", batch).mean(-1) if self._jolted("gradient_noise") else None,
        )

    def _jolt(self, name: str, k: int, signs: ExactTensor | None, run: int) -> Any:
        """What the noise adds at one client in one run."""
        size = self.parameters[name][k]
        return Q(0) if signs is None or size == 0 else size * signs.numbers[run, k]


@dataclass(frozen=True)
class Signs:
    """The means of a batch of signs, `(runs, clients)`: those of the inner maps and those of the gradients, where they act."""

    inner: ExactTensor | None
    outer: ExactTensor | None


_NOISES = ("value_noise", "gradient_noise")


def per_lane(function: Callable[[int, int, Any], Any], x: Any) -> ExactTensor:
    """A function of (run, client, number) on a tensor whose first two axes are those."""
    numbers = raw(x)
    result = np.empty(numbers.shape, dtype=object)
    for place in np.ndindex(numbers.shape):
        result[place] = function(place[0], place[1], numbers[place])
    return ExactTensor.of(result)


def per_client(function: Callable[[int, Any], Any], x: Any) -> ExactTensor:
    """A function of (client, number) on a tensor whose second axis is that of the clients."""
    numbers = raw(x)
    result = np.empty(numbers.shape, dtype=object)
    for place in np.ndindex(numbers.shape):
        result[place] = function(place[1], numbers[place])
    return ExactTensor.of(result)


def at(curve: Curve, t: Any) -> Any:
    """The curve at a number, an interval, or a number that is affine in signs."""
    if isinstance(t, Noisy):
        return t.at(curve)
    if isinstance(t, Mean):
        raise InexactError("a function of an expectation")
    return t.through(curve.range, curve.rates, curve) if isinstance(t, Interval) else curve(t)


def integral_at(curve: Curve, t: Any) -> Any:
    """Its integral at a number or an interval; its expectation where the number is random."""
    if isinstance(t, Noisy):
        return t.integral(curve)
    return t.through(None, curve.range, curve.integral) if isinstance(t, Interval) else curve.integral(t)


def _curves(positions: Any, values: Any) -> list[Curve]:
    return [Curve(tuple(zip(p, v, strict=True))) for p, v in zip(positions, values, strict=True)]


class _AffineInner(ExactProblem):
    """What the composite kinds have in common: g_k(x) = slope_k x + offset_k."""

    def _per_client(self) -> list[Any]:
        listed: list[Any] = self.parameters["inner_slope"]
        return listed

    @property
    def slopes(self) -> list[Fraction]:
        listed: list[Fraction] = self.parameters["inner_slope"]
        return listed

    @property
    def offsets(self) -> list[Fraction]:
        listed: list[Fraction] = self.parameters["inner_offset"]
        return listed

    def inner_number(self, k: int, x: Any) -> Any:
        return self.slopes[k] * x + self.offsets[k]

    def inner(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.inner if sample else None
        return per_lane(lambda r, k, t: self.inner_number(k, t) + self._jolt("value_noise", k, signs, r), x)

    def inner_vjp(self, x: Any, v: Any, sample: Signs | None = None) -> ExactTensor:
        return per_client(lambda k, number: self.slopes[k] * number, v)

    def _inner_constants(self) -> dict[str, Fraction]:
        steepest = max(map(abs, self.slopes))
        steep = (
            "inner_lipschitz",
            "inner_mean_square_lipschitz",
            "inner_jacobian_mean_square",
            "inner_sample_lipschitz",
        )
        flat = ("inner_smoothness", "inner_jacobian_noise", "inner_sample_smoothness")
        jolted = ("inner_value_noise", "inner_noise", "composite_noise")
        centre = sum(self.slopes, Q(0)) / len(self.slopes)
        return {
            **dict.fromkeys(steep, steepest),
            **dict.fromkeys(flat, Q(0)),
            **dict.fromkeys(jolted, max(map(abs, self.parameters["value_noise"]))),
            "inner_jacobian_heterogeneity": max(abs(slope - centre) for slope in self.slopes),
        }


def _outer_constants(curves: list[Curve], noise: list[Fraction] | None = None) -> dict[str, Fraction]:
    """Of outer functions whose gradients have the noise of one fair sign each."""
    jolts = [abs(number) for number in noise or [Q(0)] * len(curves)]
    steepest, bend = [c.bound() for c in curves], max(c.lipschitz() for c in curves)
    both = list(zip(steepest, jolts, strict=True))
    return {
        "outer_lipschitz": max(steepest),
        "outer_mean_square_lipschitz": _root_above(max(bound**2 + jolt**2 for bound, jolt in both)),
        "outer_sample_lipschitz": max(bound + jolt for bound, jolt in both),
        **dict.fromkeys(("outer_smoothness", "outer_sample_smoothness"), bend),
        "outer_gradient_noise": max(jolts),
    }


class ExactLocalComposite(_AffineInner):
    """F(x) = (1/K) sum_k f_k(slope_k x + offset_k)."""

    kind: ClassVar[str] = "local_composite"
    NAMES: ClassVar[frozenset[str]] = frozenset(
        ("inner_slope", "inner_offset", "value_noise", "gradient_noise", "knots", "slopes", "start")
    )

    @cached_property
    def outer_slopes(self) -> list[Curve]:
        return _curves(self.parameters["knots"], self.parameters["slopes"])

    @cached_property
    def derivative(self) -> Curve:
        """F'."""
        parts = zip(self.outer_slopes, self.slopes, self.offsets, strict=True)
        return mean([composed(curve, slope, offset) for curve, slope, offset in parts])

    def gradient_at(self, x: Any) -> Any:
        return at(self.derivative, x)

    def objective_at(self, x: Any) -> Any:
        return integral_at(self.derivative, x)

    def outer_gradient(self, y: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return per_lane(lambda r, k, t: at(self.outer_slopes[k], t) + self._jolt("gradient_noise", k, signs, r), y)

    def constants(self) -> dict[str, Fraction]:
        return {
            **self._inner_constants(),
            **_outer_constants(self.outer_slopes, self.parameters["gradient_noise"]),
            "composite_noise": max(map(abs, [*self.parameters["value_noise"], *self.parameters["gradient_noise"]])),
            "objective_smoothness": self.derivative.lipschitz(),
            "objective_gap": infimum_gap(self.derivative, self.start),
        }


class ExactSharedComposite(_AffineInner):
    """Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k (slope_k x + offset_k)); `estimate` is y^0."""

    kind: ClassVar[str] = "shared_composite"
    NAMES: ClassVar[frozenset[str]] = frozenset(
        (
            "inner_slope",
            "inner_offset",
            "value_noise",
            "gradient_noise",
            "knots",
            "slopes",
            "extra_knots",
            "extra_slopes",
            "start",
            "estimate",
        )
    )

    @cached_property
    def outer_slope(self) -> Curve:
        return _curves(self.parameters["knots"], self.parameters["slopes"])[0]

    @cached_property
    def extra_slopes(self) -> list[Curve]:
        return _curves(self.parameters["extra_knots"], self.parameters["extra_slopes"])

    @cached_property
    def _mean_inner(self) -> tuple[Fraction, Fraction]:
        return sum(self.slopes, Q(0)) / self.clients, sum(self.offsets, Q(0)) / self.clients

    @cached_property
    def derivative(self) -> Curve:
        """Phi'."""
        of_f, of_h = composed(self.outer_slope, *self._mean_inner), mean(self.extra_slopes)
        positions = sorted({*of_f.positions, *of_h.positions})
        return Curve(tuple((t, of_f(t) + of_h(t)) for t in positions))

    def gradient_at(self, x: Any) -> Any:
        return at(self.derivative, x)

    def objective_at(self, x: Any) -> Any:
        return integral_at(self.derivative, x)

    def outer_gradient(self, y: Any, sample: Signs | None = None) -> ExactTensor:
        return per_client(lambda _, number: at(self.outer_slope, number), y)

    def extra_gradient(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return per_lane(lambda r, k, t: at(self.extra_slopes[k], t) + self._jolt("gradient_noise", k, signs, r), x)

    def constants(self) -> dict[str, Fraction]:
        average = mean(self.extra_slopes)
        apart = [abs(curve(t) - average(t)) for curve in self.extra_slopes for t in average.positions]
        slope, offset = self._mean_inner
        extra_bend = max(curve.lipschitz() for curve in self.extra_slopes)
        return {
            **self._inner_constants(),
            **_outer_constants([self.outer_slope]),
            "noncompositional_smoothness": extra_bend,
            "noncompositional_sample_smoothness": extra_bend,
            "noncompositional_gradient_noise": max(map(abs, self.parameters["gradient_noise"])),
            "noncompositional_heterogeneity": max(apart),
            "objective_smoothness": self.derivative.lipschitz(),
            "objective_gap": infimum_gap(self.derivative, self.start),
            "initial_inner_error": abs(self.parameters["estimate"] - slope * self.start - offset),
        }


class ExactConditional(_AffineInner):
    """F(x) = (1/N) sum_n f_n(slope_n x + offset_n), one outcome per client."""

    kind: ClassVar[str] = "conditional"
    NAMES: ClassVar[frozenset[str]] = frozenset(
        ("inner_slope", "inner_offset", "value_noise", "knots", "slopes", "start")
    )

    @cached_property
    def outer_slopes(self) -> list[Curve]:
        return _curves(self.parameters["knots"], self.parameters["slopes"])

    @cached_property
    def derivative(self) -> Curve:
        """F'."""
        parts = zip(self.outer_slopes, self.slopes, self.offsets, strict=True)
        return mean([composed(curve, slope, offset) for curve, slope, offset in parts])

    def gradient_at(self, x: Any) -> Any:
        return at(self.derivative, x)

    def objective_at(self, x: Any) -> Any:
        return integral_at(self.derivative, x)

    def sample_outer(self, draws: Any, batch: int, purpose: str = "outer") -> int:
        """How many samples: there is one outcome of xi per client, and without noise every batch is one sample."""
        return batch if self.is_noisy else 1

    def sample_inner(self, draws: Any, outer: int, m: int, purpose: str = "inner") -> InnerSample:
        return InnerSample(draws.signs(purpose, outer, m) if self.is_noisy else torch.zeros(1, self.clients, 1, 1))

    def outer_atoms(self) -> tuple[int, Tensor]:
        return 1, torch.ones(1, dtype=torch.float64)

    def inner_atoms(self, outer: int) -> tuple[InnerSample, Tensor]:
        signs = torch.tensor([1.0, -1.0] if self.is_noisy else [0.0], dtype=torch.float64)
        weights = torch.full((len(signs),), 1 / len(signs), dtype=torch.float64)
        return InnerSample(signs.expand(1, self.clients, 1, -1)), weights

    def sample_gradient(self, x: Any, outer: int, inner: InnerSample | None = None) -> ExactTensor:
        """(runs, clients, batch, 1): the chain rule at the mean of the inner draws of each outer sample."""
        points, count = raw(x), 1 if inner is None else inner.eta.shape[2]
        signs = None if inner is None else raw(inner.eta).mean(-1)
        result = np.empty((len(points), self.clients, count, 1), dtype=object)
        for r, k, i in np.ndindex(result.shape[:3]):
            jolt = Q(0) if signs is None else self.parameters["value_noise"][k] * signs[r % len(signs), k, i]
            y = self.inner_number(k, points[r, k, 0]) + jolt
            result[r, k, i, 0] = self.slopes[k] * at(self.outer_slopes[k], y)
        return ExactTensor.of(result)

    def constants(self) -> dict[str, Fraction]:
        return {
            **self._inner_constants(),
            **_outer_constants(self.outer_slopes),
            "objective_smoothness": self.derivative.lipschitz(),
            "objective_gap": infimum_gap(self.derivative, self.start),
        }


class ExactFederated(ExactProblem):
    """F(x) = (1/N) sum_i F_i(x) with piecewise linear F_i'."""

    kind: ClassVar[str] = "federated"
    NAMES: ClassVar[frozenset[str]] = frozenset(("gradient_noise", "knots", "slopes", "start"))

    def _per_client(self) -> list[Any]:
        listed: list[Any] = self.parameters["gradient_noise"]
        return listed

    @cached_property
    def client_slopes(self) -> list[Curve]:
        """F_i'."""
        return _curves(self.parameters["knots"], self.parameters["slopes"])

    @cached_property
    def derivative(self) -> Curve:
        """F'."""
        return mean(self.client_slopes)

    def gradient_at(self, x: Any) -> Any:
        return at(self.derivative, x)

    def objective_at(self, x: Any) -> Any:
        return integral_at(self.derivative, x)

    def local_gradient(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return per_lane(lambda r, i, t: at(self.client_slopes[i], t) + self._jolt("gradient_noise", i, signs, r), x)

    def constants(self) -> dict[str, Fraction]:
        spread = max(
            sum(((curve(t) - self.derivative(t)) ** 2 for curve in self.client_slopes), Q(0)) / self.clients
            for t in self.derivative.positions
        )
        noise = [abs(number) for number in self.parameters["gradient_noise"]]
        bounds = [curve.bound() for curve in self.client_slopes]
        return {
            "local_gradient_bound": max(curve.bound() for curve in self.client_slopes),
            "local_sample_gradient_bound": max(a + b for a, b in zip(bounds, noise, strict=True)),
            "local_smoothness": max(curve.lipschitz() for curve in self.client_slopes),
            "local_sample_smoothness": max(curve.lipschitz() for curve in self.client_slopes),
            "local_gradient_noise": max(noise),
            "local_gradient_fourth_moment": max(noise) ** 4,
            "local_gradient_heterogeneity": _root_above(spread),
            "objective_smoothness": self.derivative.lipschitz(),
            "objective_gap": infimum_gap(self.derivative, self.start),
        }


class ExactMeta(ExactProblem):
    """F(w) = (1/N) sum_i f_i(w_nu^i), f_i' = tilt_i + the integral of one piecewise linear Hessian."""

    kind: ClassVar[str] = "meta"
    NAMES: ClassVar[frozenset[str]] = frozenset(("knots", "curvatures", "tilt", "alpha", "start"))

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.nu, self.step = self.settings["nu"], self.parameters["alpha"]
        self.alpha = ExactTensor.of([[[self.step]]])  # methods multiply models by it
        ends = (self.hessian.knots[0][1], self.hessian.knots[-1][1])
        if ends != (0, 0):
            raise ValueError(f"meta: the Hessian must vanish at its ends, got {ends}")

    def _per_client(self) -> list[Any]:
        listed: list[Any] = self.parameters["tilt"]
        return listed

    @cached_property
    def hessian(self) -> Curve:
        return _curves(self.parameters["knots"], self.parameters["curvatures"])[0]

    def slope_number(self, i: int, t: Any) -> Any:
        """f_i'."""
        return self.parameters["tilt"][i] + integral_at(self.hessian, t)

    def client_gradient(self, i: int, w: Any) -> Any:
        """F_i', equation (8) of the problem: the chain rule along the fine-tuning."""
        path = [w]
        for _ in range(self.nu):
            path.append(path[-1] - self.step * self.slope_number(i, path[-1]))
        direction = self.slope_number(i, path[-1])
        for point in reversed(path[:-1]):
            direction = direction * (1 - self.step * at(self.hessian, point))
        return direction

    def client_gradients(self, w: Any) -> list[Any]:
        return [self.client_gradient(i, w) for i in range(self.clients)]

    def gradient_at(self, x: Any) -> Any:
        return sum(self.client_gradients(x)[1:], self.client_gradients(x)[0]) / Q(self.clients)

    def objective_at(self, x: Any) -> Any:
        return self._objective(x)

    def local_gradient(self, x: Any, sample: None = None) -> ExactTensor:
        return per_client(self.slope_number, x)

    def local_hvp(self, x: Any, v: Any, sample: None = None) -> ExactTensor:
        return ExactTensor.of(per_client(lambda _, t: at(self.hessian, t), x).numbers * raw(v))

    def _value(self, i: int, t: Fraction) -> Fraction:
        return self.parameters["tilt"][i] * (t - self.hessian.positions[0]) + self.hessian.second_integral(t)

    def _objective(self, w: Fraction) -> Fraction:
        total = Q(0)
        for i in range(self.clients):
            point = w
            for _ in range(self.nu):
                point -= self.step * self.slope_number(i, point)
            total += self._value(i, point)
        return total / self.clients

    def _least(self, i: int) -> Fraction:
        """A lower bound of inf f_i: f_i is convex where its derivative changes sign upwards, above its tangents.

        Raises:
            ValueError: f_i is unbounded below.
        """
        points = sorted({*self.hessian.positions, *self.hessian.zeros()})
        slopes = [self.slope_number(i, t) for t in points]
        if slopes[0] > 0 or slopes[-1] < 0:
            raise ValueError("a client's loss is unbounded below")
        values = [self._value(i, t) for t in points]
        lowest = min(values)
        for a, b, u, v, low, high in zip(points, points[1:], slopes, slopes[1:], values, values[1:], strict=False):
            if u < 0 < v:
                lowest = min(lowest, max(low + u * (b - a), high - v * (b - a)))
        return lowest

    def constants(self) -> dict[str, Fraction]:
        points = [*self.hessian.positions, *self.hessian.zeros()]
        tilts, still = (
            self.parameters["tilt"],
            (
                "gradient_noise",
                "hessian_noise",
                "gradient_fourth_moment",
                "hessian_fourth_moment",
                "hessian_heterogeneity",
            ),
        )
        centre = sum(tilts, Q(0)) / self.clients
        square = sum(((t - centre) ** 2 for t in tilts), Q(0)) / self.clients
        least = sum((self._least(i) for i in range(self.clients)), Q(0)) / self.clients
        return {
            "local_gradient_bound": max(abs(self.slope_number(i, t)) for i in range(self.clients) for t in points),
            "local_smoothness": self.hessian.bound(),
            "local_hessian_lipschitz": self.hessian.lipschitz(),
            "local_gradient_heterogeneity": _root_above(square),
            **{f"local_{name}": Q(0) for name in still},
            "objective_gap": self._objective(self.start) - least,
        }


def _root_above(square: Fraction) -> Fraction:
    """The root of a square, or a fraction just above it."""
    from math import isqrt

    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if Q(top, bottom) ** 2 == square:
        return Q(top, bottom)
    scaled = isqrt(square.numerator * 2**240 // square.denominator) + 1
    return Q(scaled, 2**120)


EXACT: Mapping[str, type[ExactProblem]] = {
    problem.kind: problem
    for problem in (ExactLocalComposite, ExactSharedComposite, ExactConditional, ExactMeta, ExactFederated)
}


def exact_problem(instance: Instance) -> ExactProblem:
    """The problem of an instance.

    Raises:
        ValueError: parameters that do not fit the kind.
    """
    return EXACT[instance.kind](instance)
