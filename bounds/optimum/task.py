"""What a tuner is asked: a model, an objective, budgets, a target, and ranges of the free hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import sympy as sp

from ...suggestion import instead
from ..cost.resources import refuse_free, resource
from ..evaluation.evaluate import exact
from ..language.reading import InputError, read_number
from ..region.conditions import ordered
from .model import Model
from .posynomial import Converter, EmptyBoxError, NotPosynomialError, Posynomial
from .search import Box

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Task:
    """A model with an objective and the constraints that the user adds."""

    model: Model
    objective: str
    cost: sp.Expr | None
    limits: tuple[tuple[str, sp.Expr, Fraction], ...]
    target: Fraction | None
    ranges: Mapping[str, tuple[Fraction | None, Fraction | None]]

    def box(self) -> Box:
        box = self.model.box()
        for name, (low, high) in self.ranges.items():
            domain = box[name]
            box[name] = (max(domain[0], float(low or 0)), min(domain[1], float(high) if high is not None else inf))
        return box

    def limited(self) -> Box:
        """The box, cut by what limits one hyperparameter by a number: a search finds little beside it, and is quick in a box with ends."""
        box = self.box()
        pairs = [ordered(c) for c in self.model.conditions]
        for small, large in [*pairs, *((expr, exact(limit)) for _, expr, limit in self.limits)]:
            for name, (least, most) in _ends_of(small / large).items():
                low, high = box[name]
                high = max(min(high, most), low)
                box[name] = (min(max(low, least), high), high)
        return box

    def make(self, converter: Converter) -> tuple[Posynomial, list[tuple[str, Posynomial]]]:
        """Objective and constraints for a converter; see `search.Maker`.

        Raises:
            EmptyBoxError: a condition fails whatever is chosen, and the terms make no sense there (such as q - 1 < 0).
        """
        constraints = self.model.limits(converter)
        try:
            signed = replace(converter, signed=True, known={})
            total = sum((signed.convert(term) for term in self.model.terms.values()), Posynomial({}))
        except NotPosynomialError:
            if failed := [name for name, part in constraints if not part.names and part.at({}) > 1 + _ROUNDING]:
                raise EmptyBoxError(failed[0]) from None
            raise
        for name, expr, limit in self.limits:
            part = converter.convert(expr)
            constraints.append((f"budget of {name}", part * Posynomial.number(1 / float(limit))))
        if self.cost is None:
            return total, constraints
        assert self.target is not None
        constraints.append(("target", total * Posynomial.number(1 / float(self.target))))
        return converter.convert(self.cost), constraints


def _ends_of(ratio: sp.Expr) -> dict[str, tuple[float, float]]:
    """Between which numbers one symbol is where its power times a number is at most 1; nothing of another ratio."""
    if len(ratio.free_symbols) != 1:
        return {}
    (symbol,) = ratio.free_symbols
    factor, power = ratio.as_independent(symbol, as_Add=False)
    base, exponent = power.as_base_exp()
    if base != symbol or not exponent.is_Rational or not factor.is_positive:
        return {}
    end = float(factor) ** (-1 / float(exponent))
    return {symbol.name: (0.0, end) if exponent > 0 else (end, inf)}


def make_task(
    made: Model,
    budget: Mapping[str, Any] | None,
    eps: Any,
    cost: str | Mapping[str, Any] | None,
    ranges: Mapping[str, tuple[Any, Any]] | None,
) -> Task:
    if bool(budget) == (eps is not None):
        raise InputError("budget: wanted either a budget or a target eps, got " + ("both" if budget else "neither"))
    weighted, name = _cost(made, cost)
    limits = []
    for key, amount in (budget or {}).items():
        number = _positive(f"budget of {key}", amount)
        limits.append((key, weighted if key == "cost" else _resource(made, key), number))
    target = None if eps is None else _positive("eps", eps)
    if target is not None and weighted is not None:
        refuse_free(made.statement, name, weighted)
    bounds = {key: _range(made, key, pair) for key, pair in (ranges or {}).items()}
    task = Task(made, "bound" if budget else name, None if budget else weighted, tuple(limits), target, bounds)
    left = task.limited()
    closed = {
        n: (low, low if low is not None and left[n][0] == left[n][1] else high) for n, (low, high) in bounds.items()
    }
    return replace(task, ranges=closed)


def _positive(name: str, value: Any) -> Fraction:
    number = read_number(name, value, "a positive number")
    if number <= 0:
        raise InputError(f"{name}: wanted a positive number, got {value}")
    return number


def _range(made: Model, name: str, pair: tuple[Any, Any]) -> tuple[Fraction | None, Fraction | None]:
    known = [binding.name for binding in made.free]
    if name not in known:
        raise InputError(f"{name[:30]}: not free to choose; {instead(name, tuple(known))}")
    low, high = (None if end is None else _positive(f"range of {name}", end) for end in pair)
    domain = made.statement.symbols[name].quantity.numbers
    if low is not None and domain.most is not None and (low > domain.most or (domain.open and low == domain.most)):
        raise InputError(f"range of {name}: wanted {domain.a_number}, got at least {low}")
    if low is not None and high is not None and low > high:
        raise InputError(f"range of {name}: wanted lowest <= highest, got {low} > {high}")
    return low, high


def _resource(made: Model, name: str) -> sp.Expr:
    if name in made.costs:
        return made.costs[name]
    expr = resource(made.statement, name)
    bindings = made.statement.symbols
    given = {bindings[key].symbol: exact(value) for key, value in made.values.items()}
    return made.determined.get(name, expr.xreplace(given))


def _cost(made: Model, cost: str | Mapping[str, Any] | None) -> tuple[sp.Expr | None, str]:
    if isinstance(cost, Mapping):
        total: sp.Expr = sp.Integer(0)
        for name, weight in cost.items():
            total += exact(_positive(f"weight of {name}", weight)) * _resource(made, name)
        return total, "cost"
    if cost is None:
        known = [name for name in ("samples", "iterations", "rounds") if name in made.costs]
        return (made.costs[known[0]], known[0]) if known else (None, "cost")
    return _resource(made, cost), cost
