"""Instances as data, and what the problems that they define have in common, in exact numbers.

An instance is `{"kind", "parameters": {name: number or nested lists}, "nu": ...}`, the parameters being those of the family of that
kind (`synthetic/families/`). The oracles take and return `ExactTensor`s of shape (1, clients, 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ...synthetic.families.piecewise import Family
from .curve import Curve, infimum_gap
from .function import Function, Straight, function_of
from .interval import Bends, Interval
from .noise import Mean, Noisy
from .sampled import Sampled, constants_of
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
        if set(data) != {"kind", "parameters", "settings"}:
            raise ValueError(f"instance: wanted kind, parameters and settings, got {sorted(data)}")
        parameters = {name: as_fractions(value) for name, value in data["parameters"].items()}
        return Instance(data["kind"], parameters, {k: int(v) for k, v in data["settings"].items()})


def as_fractions(value: Any) -> Any:
    """Integers and fractions in nested lists, as fractions; likewise in the data of a function.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, (list, tuple)):
        return [as_fractions(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): as_fractions(part) for name, part in value.items()}
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise ValueError(f"instance: wanted exact numbers, got {value!r}")
    return Q(value)


class ExactProblem(ABC):
    """A problem in exact numbers: what methods call, plus the constants and the gap by quantity."""

    FAMILY: ClassVar[type[Family]]
    """The same problems in doubles, which declare kind, parameters and signs."""
    OLDER: ClassVar[frozenset[str]] = frozenset()
    """Noise that bundles do not have which were written before it was searched."""

    def __init__(self, instance: Instance) -> None:
        shapes, given = self.FAMILY.SHAPES, set(instance.parameters)
        self.kind, self.settings = self.FAMILY.kind, instance.settings
        if given - set(shapes) or set(shapes) - given - self.FAMILY.ABSENT - self.OLDER:
            raise ValueError(f"{self.kind}: wanted the parameters {sorted(shapes)}, got {sorted(given)}")
        counts = {name: len(instance.parameters[name]) for name in given if shapes[name] in ("client", "knots")}
        self.clients, self.dim, self.inner_dim = max(counts.values()), 1, 1
        if min(counts.values()) < self.clients:
            raise ValueError(
                f"{self.kind}: wanted one entry of each for every client, got {dict(sorted(counts.items()))}"
            )
        self.parameters: Parameters = {**dict.fromkeys(self.OLDER, [Q(0)] * self.clients), **instance.parameters}
        signed = [name for of in self.FAMILY.SIGNS for name in of]
        self.noises = {name: _noises(name, self.parameters.get(name, ())) for name in signed}
        self.name = f"exact {self.kind}"

    estimated: ClassVar[str] = ""
    """What `estimate` is the first value of, where a method is given one."""

    @property
    def right_estimate(self) -> Fraction:
        """What that value should be at the start.

        Raises:
            ValueError: there is none.
        """
        raise ValueError(f"{self.kind}: a method is given no estimate")

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
    @abstractmethod
    def steepest(self) -> Fraction:
        """At least |F'| everywhere."""

    @property
    def minimiser(self) -> Fraction:
        """Where the objective is least.

        Raises:
            ValueError: it is not known, or there is none.
        """
        raise ValueError(f"{self.kind}: no minimiser is known")

    @property
    def is_convex(self) -> bool:
        """Whether the objective is known to be convex."""
        return False

    @property
    def has_convex_clients(self) -> bool:
        """Whether the objective of every client is known to be convex."""
        return False

    @property
    def rate_at_minimiser(self) -> Fraction:
        """The derivative of F' there, to its right where it is a kink.

        Raises:
            ValueError: it is not known, or there is none.
            Bends: F is flat there.
        """
        raise ValueError(f"{self.kind}: no minimiser is known")

    @property
    def least_gap(self) -> Fraction:
        """The least distance between two knots of one function: what counts as near."""
        rows = [row for name, listed in self.parameters.items() if name.endswith("knots") for row in listed]
        return min(b - a for row in rows for a, b in pairwise(row))

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
    def functions(self) -> dict[str, Sampled]:
        """The functions that rows of the vocabulary speak of, by role, and the gradient of the objective.

        Raises:
            ValueError: the noise depends on the point.
        """

    @abstractmethod
    def of_the_objective(self) -> dict[str, Fraction]:
        """Quantity -> its value, of those that say something of the objective, of the start or of a minimiser.

        Raises:
            ValueError: the objective is unbounded below.
        """

    def constants(self) -> dict[str, Fraction]:
        """Quantity -> its exact supremum, or a number just above it.

        Raises:
            ValueError: the objective is unbounded below, or the noise depends on the point.
        """
        return dict(self._constants)

    @cached_property
    def _constants(self) -> dict[str, Fraction]:
        return {**constants_of(self.functions()), **self.of_the_objective()}

    @property
    def has_known_noise(self) -> bool:
        """Whether every noise is a number: the constants of one that depends on the point are not computed here."""
        return all(isinstance(noise, Straight) for noises in self.noises.values() for noise in noises)

    def noise_sizes(self, name: str) -> list[Fraction]:
        """What a sign multiplies at each client, at most.

        Raises:
            ValueError: it depends on the point.
        """
        if not self.has_known_noise:
            raise ValueError(f"{self.kind}: the constants of noise that depends on the point are not computed")
        return [abs(number) for number in self.parameters[name]]

    def _jolted(self, name: str) -> bool:
        return any(number != 0 for number in self.parameters.get(name, ()))

    @property
    def is_noisy(self) -> bool:
        """Whether an oracle has noise."""
        return any(self._jolted(name) for name in self.noises)

    def sample(self, draws: Any, batch: int, purpose: str = "sample") -> Signs | None:
        """Two fair signs, such as that of the inner maps and that of the gradients, the mean over the batch; nothing without noise."""
        if not self.is_noisy:
            return None
        if self.settings.get("one_sample"):
            both = draws.signs(purpose, batch).mean(-1)
            return Signs(both, both)
        inner, outer = (any(map(self._jolted, names)) for names in self.FAMILY.SIGNS)
        return Signs(
            draws.signs(f"{purpose}.inner", batch).mean(-1) if inner else None,
            draws.signs(f"{purpose}.outer", batch).mean(-1) if outer else None,
        )

    def _with_noise(
        self, function: Callable[[int, Any], Any], name: str, signs: ExactTensor | None, x: Any
    ) -> ExactTensor:
        """A function of (client, number) with a noise of its own, at every lane."""
        noises = self.noises[name]
        return per_lane(lambda r, k, t: function(k, t) + self._jolt(noises[k].slope(t), k, signs, r), x)

    def _jolt(self, size: Any, k: int, signs: ExactTensor | None, run: int) -> Any:
        """What the noise of this size adds at one client in one run."""
        return Q(0) if signs is None or size == 0 else times(size, signs.numbers[run, k])


class OfOneCurve(ExactProblem):
    """A problem whose objective has a piecewise linear derivative."""

    @property
    @abstractmethod
    def derivative(self) -> Curve:
        """F'."""

    @property
    def steepest(self) -> Fraction:
        return self.derivative.bound()

    def gradient_at(self, x: Any) -> Any:
        return at(self.derivative, x)

    def objective_at(self, x: Any) -> Any:
        return integral_at(self.derivative, x)

    @property
    def gradient_of_objective(self) -> Sampled:
        """F' as a function that rows of the vocabulary speak of."""
        return Sampled.of([self.derivative])

    @property
    def gap(self) -> Fraction:
        """F at the start, above its infimum.

        Raises:
            ValueError: there is none.
        """
        return infimum_gap(self.derivative, self.start)


@dataclass(frozen=True)
class Signs:
    """The means of a batch of signs, `(runs, clients)`, where they act: of the inner maps or in y, and of the gradients."""

    inner: ExactTensor | None
    outer: ExactTensor | None


def _noises(name: str, data: Any) -> list[Function]:
    """What a sign multiplies at each client, as a function: a number adds to the value of an inner map, and to the slope of another."""
    is_value = name == "value_noise"
    return [
        function_of(part) if isinstance(part, Mapping) else Straight(part, Q(0)) if is_value else Straight(Q(0), part)
        for part in data
    ]


def per_lane(function: Callable[[int, int, Any], Any], x: Any) -> ExactTensor:
    """A function of (run, client, number) on a tensor whose first two axes are those."""
    numbers = raw(x)
    result = np.empty(numbers.shape, dtype=object)
    for place in np.ndindex(numbers.shape):
        result[place] = function(place[0], place[1], numbers[place])
    return ExactTensor.of(result)


def times(a: Any, b: Any) -> Any:
    """A product of numbers of which at most one is random.

    Raises:
        Bends: both are.
    """
    if isinstance(a, Noisy) and isinstance(b, Noisy) and a.parts and b.parts:
        raise Bends("a product of two random numbers")
    return a * b


def per_client(function: Callable[[int, Any], Any], x: Any) -> ExactTensor:
    """A function of (client, number) on a tensor whose second axis is that of the clients."""
    return per_lane(lambda _, k, number: function(k, number), x)


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


def curves(positions: Any, values: Any) -> list[Curve]:
    return [Curve(tuple(zip(p, v, strict=True))) for p, v in zip(positions, values, strict=True)]
