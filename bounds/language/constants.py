"""How Lipschitz and smoothness constants combine: the rules by which constants of a whole follow from those of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Smooth:
    """A map with a Lipschitz constant and a Lipschitz constant of its derivative."""

    lipschitz: sp.Expr
    smoothness: sp.Expr

    def of(self, inner: Smooth) -> Smooth:
        """The composition self(inner(x)): D = Df(g) Dg, and Df(g) Dg - Df(g') Dg' is split at Df(g) Dg'."""
        return Smooth(
            self.lipschitz * inner.lipschitz,
            self.lipschitz * inner.smoothness + self.smoothness * inner.lipschitz**2,
        )

    def scaled(self, factor: sp.Expr) -> Smooth:
        return Smooth(factor * self.lipschitz, factor * self.smoothness)

    def __add__(self, other: Smooth) -> Smooth:
        return Smooth(self.lipschitz + other.lipschitz, self.smoothness + other.smoothness)


IDENTITY = Smooth(sp.Integer(1), sp.Integer(0))


def root_mean_square(mean: sp.Expr, deviation: sp.Expr) -> sp.Expr:
    """Bound of the root of E|X|^2 by those of |E X| and of the root of E|X - E X|^2, in a norm that has an inner product."""
    return sp.sqrt(mean**2 + deviation**2)


def plug_in_bias(outer: Smooth, inner: Smooth, deviation: sp.Expr) -> sp.Expr:
    """Bound of the bias of Dg Df(y) when y is off by `deviation` in the mean, y independent of Dg."""
    return inner.lipschitz * outer.smoothness * deviation
