"""The vectors of a setting on an enumerated probability space: what terms are, without the kernel's rules.

A value is an array with one axis of length 2 for each bit, and then one for the clients k and one for the index i, two values each; it
has length 1 along what it does not depend on. Means and conditional expectations are means over axes. The Hilbert space is the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from fedco.bounds.proof.kernel import Act, App, Given, Mean, Pair, Setting, Sum, Var
from fedco.bounds.proof.kernel.terms import Proj

PAST = "past"
"""The source of the bits that are drawn before step 0."""


@dataclass(frozen=True)
class Polynomial:
    """A function of a point and of samples, of which each is +-1: a_0 + a_1 y + a_2 y^2 + sum_j w_j (b_j + c_j y) + d w_1 w_2 y.

    The mean over a sample leaves its terms out.
    """

    of_point: tuple
    of_samples: tuple
    product: object = 0.0

    def __call__(self, at, samples):
        drawn = [(w, b, c) for w, (b, c) in zip(samples, self.of_samples, strict=False) if w is not None]
        total = sum(a * at**power for power, a in enumerate(self.of_point)) + sum(w * (b + c * at) for w, b, c in drawn)
        both = len(samples) == 2 and len(drawn) == 2
        return total + self.product * drawn[0][0] * drawn[1][0] * at if both else total


class Space:
    """The outcomes of some bits: (source, step, values of the indices of the source) each."""

    def __init__(self, setting: Setting, bits: tuple):
        self.setting, self.bits = setting, bits
        self.shape = (*[2] * len(bits), 2, 2)

    def bit(self, *which):
        shape = [1] * len(self.shape)
        shape[self.bits.index(which)] = 2
        return np.array([-1.0, 1.0]).reshape(shape)

    def sample(self, source, step):
        """At every outcome, client and i."""
        over = self.setting.source(source).index

        def at(k, i):
            return self.bit(source, step, tuple(value for name, value in (("k", k), ("i", i)) if name in over))

        clients, batch = ((0, 1) if name in over else (0,) for name in "ki")
        rows = [np.concatenate(np.broadcast_arrays(*(at(k, i) for i in batch)), axis=-1) for k in clients]
        return np.concatenate(np.broadcast_arrays(*rows), axis=-2)

    @staticmethod
    def averaged(array, indices):
        axes = tuple(axis for index, axis in (("k", -2), ("i", -1)) if index in indices)
        return array.mean(axis=axes, keepdims=True) if axes else array

    def expected(self, array, known):
        """The mean over all bits that are not known; the past is known where any sample of it is."""
        first, *_ = self.setting.source_names
        gone = [not known.has(*((first, -1) if source == PAST else (source, step))) for source, step, _ in self.bits]
        return array.mean(axis=tuple(axis for axis, away in enumerate(gone) if away), keepdims=True)

    def everywhere(self, array):
        return np.broadcast_to(array, self.shape)


class Model:
    """Values of variables and functions; each term is evaluated once."""

    def __init__(self, space: Space, variables: Mapping, functions: Mapping[str, Polynomial]):
        self.space, self.variables, self.functions = space, variables, functions
        self.known, self.products = {}, {}

    def __call__(self, term):
        if term not in self.known:
            self.known[term] = self._value(term)
        return self.known[term]

    def _value(self, term):
        space = self.space
        match term:
            case Sum(parts):
                return sum((float(c.at({})) * self(inner) for c, inner in parts), np.zeros([1] * len(space.shape)))
            case Var(name, 0):
                return self.variables[name]
            case App(name, Pair(point, label), samples):
                whole = self._applied(name, self(point), samples)
                return whole * (1 + self(label)) + self(label) ** 2
            case App(name, argument, samples):
                return self._applied(name, self(argument), samples)
            case Act(operator, vector):
                return self(operator) * self(vector)
            case Mean(index, inner):
                return space.averaged(self(inner), {index})
            case Given(known, inner):
                return space.expected(self(inner), known)
            case Proj(index, known, inner):
                return space.averaged(space.expected(self(inner), known), {"k", "i"} - index)
        raise TypeError(term)

    def _applied(self, name, at, samples):
        sources = self.space.setting.function(name).sources
        values = [
            None if s is None else self.space.sample(source, s) for source, s in zip(sources, samples, strict=True)
        ]
        return self.functions[name](at, values)

    def product(self, u, v):
        """<u, v>."""
        if (u, v) not in self.products:
            self.products[u, v] = float((self(u) * self(v)).mean())
        return self.products[u, v]
