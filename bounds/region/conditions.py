"""The conditions of a statement in the symbols that are solved for, with exact numbers for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy as sp

from ...suggestion import instead
from ..evaluation.evaluate import exact
from ..language.notation import Binding
from ..language.reading import InputError, missing_values, read_values
from ..language.theorem import RANGE, Condition, Statement


def check_solvable(statement: Statement, name: str) -> None:
    """Raises InputError unless the name is a hyperparameter of the statement."""
    bindings = statement.symbols
    if name not in bindings:
        chosen = tuple(n for n, b in bindings.items() if b.quantity.role == "hyperparameter")
        raise InputError(f"{name[:30]}: not a symbol of {statement.name}; {instead(name, chosen)}")
    if bindings[name].quantity.role != "hyperparameter":
        raise InputError(f"{name}: is a {bindings[name].quantity.role}, wanted a hyperparameter to solve for")


def reduced(statement: Statement, names: tuple[str, ...], values: Mapping[str, Any]) -> list[Condition]:
    """The conditions in the symbols of `names` only, with exact numbers for the rest; and what the method can take, as far
    as the numbers given decide it.

    Raises:
        InputError: no such hyperparameter, a bad value, or a symbol of the conditions without one.
    """
    bindings = statement.symbols
    for name in names:
        check_solvable(statement, name)
    given = {key: value for key, value in values.items() if key not in names}
    numbers = read_values(bindings, given, statement.name)
    point = {bindings[key].symbol: exact(value) for key, value in numbers.items()}
    conditions = [c.each_side(lambda side: statement.at(side, point)) for c in without_multiples(statement)]
    conditions += [c for c in (c.at(point) for c in statement.multiples) if not symbols_of(c)]
    solved = {bindings[name].symbol for name in names}
    conditions = _eliminate(statement, bindings, solved, conditions, point)
    conditions = [c for c in conditions if not c.name.startswith(RANGE) or symbols_of(c) <= solved]
    missing = sorted(map(str, {s for c in conditions for s in symbols_of(c)} - solved))
    chosen = [name for name in missing if bindings[name].quantity.role == "hyperparameter"]
    if missing and missing == chosen:
        raise InputError(
            f"{', '.join(names)}: limited by conditions on {', '.join(chosen)} too, without a value: set them, solve for all"
            f" together (--solve {','.join((*names, *chosen))}), or let `fedco tune` choose them"
        )
    if missing:
        raise missing_values(bindings, [*(name for name in missing if name not in chosen), *chosen])
    return split_extrema(conditions)


def without_multiples(statement: Statement) -> tuple[Condition, ...]:
    """What describes a set of real numbers; what is a multiple or a whole number is decided once its symbols are known."""
    return (*statement.conditions, *statement.method_range)


def symbols_of(c: Condition) -> set[sp.Symbol]:
    return c.left.free_symbols | c.right.free_symbols


def ordered(c: Condition) -> tuple[sp.Expr, sp.Expr]:
    """The side that has to be small, and the one that has to be large."""
    return (c.right, c.left) if c.relation in (">", ">=") else (c.left, c.right)


def _eliminate(
    statement: Statement,
    bindings: Mapping[str, Binding],
    solved: set[sp.Symbol],
    conditions: list[Condition],
    point: Mapping[sp.Symbol, sp.Expr],
) -> list[Condition]:
    """Remove unknown symbols through the schedule, or through an equality condition solved for them."""
    for _ in range(len(bindings)):
        used = {s for c in conditions for s in symbols_of(c)}
        unknown = sorted(used - solved, key=str)
        found = next(
            ((s, f) for s in unknown if (f := _formula_for(statement, conditions, s, solved, point)) is not None), None
        )
        if found is None:
            break
        symbol, formula = found
        table = {symbol: formula}
        conditions = [c.at(table) for c in conditions]
        if symbol.is_integer and formula.free_symbols:
            conditions.append(Condition(f"{symbol}_count", formula, ">=", sp.Integer(1), "a count is at least 1"))
    return [c for c in conditions if not (c.relation == "==" and c.left == c.right)]


def _formula_for(
    statement: Statement,
    conditions: list[Condition],
    symbol: sp.Symbol,
    solved: set[sp.Symbol],
    point: Mapping[sp.Symbol, sp.Expr],
) -> sp.Expr | None:
    scheduled = statement.schedule.get(str(symbol))
    if scheduled is not None:
        formula = statement.at(scheduled, point)
        rounds_off = bool(formula.atoms(sp.floor, sp.ceiling))
        if symbol not in formula.free_symbols and not rounds_off:
            return formula
    for condition in conditions:
        sides = symbols_of(condition)
        if condition.relation == "==" and symbol in sides and sides - {symbol} <= solved:
            return solved_for(condition, symbol)
    return None


def solved_for(equality: Condition, symbol: sp.Symbol) -> sp.Expr | None:
    """The positive value of a symbol that an equality of two products determines, or None."""
    if equality.left == symbol and not equality.right.has(symbol):
        return equality.right
    ratio = sp.powsimp(equality.left / equality.right)
    factor, power = ratio.as_independent(symbol, as_Add=False)
    base, exponent = power.as_base_exp()
    return factor ** (-1 / exponent) if base == symbol and exponent.is_Rational else None


def first_solved(equality: Condition, symbols: Iterable[sp.Symbol]) -> tuple[sp.Symbol, sp.Expr] | None:
    """The first of these symbols that an equality determines, with its value; None where it determines none of them."""
    return next(((s, value) for s in symbols if (value := solved_for(equality, s)) is not None), None)


def minimal(parts: Sequence[str], excluded: Callable[[list[str]], bool]) -> list[str]:
    """Parts that exclude everything together, each one dropped if the rest still do."""
    kept = list(parts)
    for part in parts:
        rest = [other for other in kept if other != part]
        if excluded(rest):
            kept = rest
    return kept


def split_extrema(conditions: list[Condition]) -> list[Condition]:
    """`x <= Min(a, b)` becomes two conditions, `x >= Max(a, b)` likewise; names get an index."""
    result: list[Condition] = []
    for c in conditions:
        small, large = ordered(c)
        upper = isinstance(large, sp.Min)
        lower = isinstance(small, sp.Max)
        if c.relation == "==" or not (upper or lower):
            result.append(c)
            continue
        relation = "<" if c.relation in ("<", ">") else "<="
        pairs = [(small, part) for part in large.args] if upper else [(part, large) for part in small.args]
        split = [Condition(f"{c.name}[{i}]", a, relation, b) for i, (a, b) in enumerate(pairs, start=1)]
        result += split_extrema(split)
    return result
