"""Numbers from a statement: exact at one point, vectorised on a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Any

import sympy as sp

from ...errors import UndefinedError
from ..language.notation import STEP
from ..language.power import undefined
from ..language.reading import InputError, missing_values, read_values, refuse_lists
from ..language.rendering import (
    OfStatement,
    condition_math,
    letter,
    lines_about,
    notes_about,
    status_of,
    symbol_table,
    titled,
)
from ..language.result import CONSTANTS, AbstractResult, Math, Sheet, Table, rounded_up, tex_number
from ..language.theorem import Condition, Statement, refuse_vanishing
from .without_running import NOTHING, Beside, Worth, worth

if TYPE_CHECKING:
    from ...figures import Plot

_DIGITS = 60
_EACH = 16
"""Steps at each end of a long run, and between them, at which the sign of the weights is looked at."""
RELATED: Mapping[str, Callable[[int, int], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq}
"""A relation between two numbers."""
POINTS_PER_BLOCK = 1 << 15
"""256 KiB per array: fastest of 2^12 to 2^20 for the longest statements."""


class InadmissibleError(ValueError):
    """The values do not satisfy the conditions of the statement."""


@dataclass(frozen=True)
class ConditionCheck:
    """Whether one condition holds; `slack` is positive where it holds with room (same units as the condition)."""

    name: str
    relation: str
    holds: bool
    slack: float


@dataclass(frozen=True)
class Failure:
    """A condition that fails: its left side has the value `got`, `wanted` is the relation with its right side's."""

    name: str
    condition: str
    wanted: str
    got: float

    def __str__(self) -> str:
        return f"{self.name}: {self.condition.replace('**', '^')}: wanted {self.wanted}, got {self.got:.10g}"


@dataclass(frozen=True, repr=False)
class Bound(OfStatement, AbstractResult):
    """A statement evaluated at one point; `float` gives the total.

    `total`, `terms` and `derived` are floats rounded once, from exact values; `total` is None where the statement only
    defines constants. `values` has the exact inputs as text, scheduled hyperparameters included, `numbers` the same as floats.
    `method_range` is what the method can take beyond the conditions; `failures` says of each that fails what was wanted.
    `worth` says whether it is below what holds without running, and which constants are estimates, by what is known `beside` the values.
    """

    total: float | None
    terms: dict[str, float]
    derived: dict[str, float]
    admissible: bool
    conditions: tuple[ConditionCheck, ...]
    values: dict[str, str]
    numbers: dict[str, float]
    method_range: tuple[ConditionCheck, ...]
    failures: tuple[Failure, ...]
    about: Statement
    beside: Beside = field(default=NOTHING, compare=False)

    def to_dict(self) -> dict[str, Any]:
        general = [asdict(failure) for failure in self.general_failures]
        beyond = {"general_failures": general} if general else {}
        return {**self.numbers_only(), **beyond, **self.worth.to_dict(), **status_of(self.about)}

    def numbers_only(self) -> dict[str, Any]:
        """`to_dict` without what is known of the statement."""
        own = (item.name for item in fields(self))
        data = {name: getattr(self, name) for name in ("theorem", "statement", "metric", *own)}
        del data["numbers"], data["about"], data["beside"]
        for name in ("conditions", "method_range", "failures"):
            data[name] = [asdict(item) for item in getattr(self, name)]
        return data

    def __float__(self) -> float:
        if self.total is None:
            raise TypeError(f"{self.theorem} only defines constants; they are in `derived`")
        return self.total

    def sheet(self) -> Sheet:
        about, total = self.about, self.total
        shares = tuple((name, value, value / total if total else None) for name, value in self.terms.items())
        rows = (*shares, ("total", total, 1.0 if total else None))
        terms = Table("terms", ("term", "value", "share"), rows, (*(share for *_, share in shares), None))
        derived = tuple((letter(about, name), value) for name, value in self.derived.items())
        constants = symbol_table(about, CONSTANTS, self.numbers)
        wrong = {failure.name: (failure.wanted, failure.got) for failure in self.failures}
        conditions = tuple(
            (c.name, condition_math(about, c.name), c.holds, c.slack, *wrong.get(c.name, (None, None)))
            for c in (*self.conditions, *self.method_range)
        )
        tables = (
            *([terms] if self.terms else []),
            Table("derived constants", ("symbol", "value"), derived),
            constants,
            Table("conditions", ("condition", "relation", "holds", "slack", "wanted", "got"), conditions),
        )
        notes = (*self._general_notes(), *self.worth.notes, *notes_about(about))
        if not self.admissible:
            fail = f"{', '.join(self.failed)} {'fail' if len(self.failed) > 1 else 'fails'}"
            notes = (f"outside the conditions of the statement: {fail}; it promises nothing here", *notes)
        return Sheet(about.name, self._claim(), tuple(t for t in tables if t.rows), notes)

    def _claim(self) -> Math | None:
        if self.total is None or not self.admissible:
            return None
        latex = rf"{self.about.theorem.metric.latex} \le {tex_number(rounded_up(self.total))}"
        return Math(f"{self.metric} <= {rounded_up(self.total)}", latex)

    @property
    def general_failures(self) -> tuple[Failure, ...]:
        """Of a printed corollary: the conditions of the theorem from which it follows that fail here at its schedule."""
        theorem = self.about.theorem
        if (
            self.about.label != "printed"
            or theorem.follows_from is None
            or "printed" not in theorem.follows_from[0].labels
        ):
            return ()
        general, substitution = theorem.follows_from
        parent = general.statement("printed")
        at = {self.about.symbols[name].symbol: sp.sympify(value) for name, value in self.values.items()}
        point = at | {
            theorem.notation[key].symbol: self.about.expand(sp.sympify(expr)).xreplace(at)
            for key, expr in substitution.items()
        }
        for constant in parent.derived:
            point[constant.symbol] = parent.at(constant.expr, point)
        return tuple(
            _failure(parent, condition, point) for condition in parent.conditions if _fails(parent, condition, point)
        )

    def _general_notes(self) -> tuple[str, ...]:
        failures, theorem = self.general_failures, self.about.theorem
        if not failures or theorem.follows_from is None:
            return ()
        failed = "; ".join(map(str, failures))
        return (f"conditions of {theorem.follows_from[0].id}, from which it follows, fail here: {failed}",)

    @property
    def worth(self) -> Worth:
        """Whether it says more than what holds without running, and the estimates on which it rests."""
        found = worth(self.about, self.total, self.values, self.beside)
        return found if self.admissible else replace(found, is_impossible=False)  # the statement promises nothing there

    def plot(self) -> Plot:
        """The terms as bars, largest share first."""
        from ...figures import Axis, bar_plot, mathtext

        metric = self.about.theorem.metric
        shown = dict(sorted((self.terms or self.derived).items(), key=lambda item: -item[1]))
        axis = Axis(mathtext(metric.latex), str(metric.dimension)) if self.terms else Axis("value", "1")
        return bar_plot({"terms": shown}, title=f"{titled(self.about)}: terms of the bound", axis=axis)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(failure.name for failure in self.failures)

    def __str__(self) -> str:
        head = f"{self.about.name}: {self.metric} <= {self.total}" if self.terms else self.theorem
        rows = [f"  {name} = {value:.6g}" for name, value in {**self.terms, **self.derived}.items()]
        verdict = "admissible" if self.admissible else "NOT admissible:"
        failures = [f"    {failure}" for failure in self.failures]
        notes = [f"  {note}" for note in (*self._general_notes(), *self.worth.notes)]
        return "\n".join([head, *rows, f"  {verdict}", *failures, *notes, *lines_about(self.about)])


def exact(value: Fraction | int) -> sp.Rational:
    """A rational number as sympy has it."""
    return sp.Rational(value.numerator, value.denominator)


def fraction_of(value: Any) -> Fraction:
    """A rational number of sympy, or of python-flint."""
    return Fraction(int(value.p), int(value.q))


def sign(expr: sp.Expr) -> int:
    """The exact sign of a number: rationals exactly, the rest by enclosing digits, ties by simplification.

    Raises:
        InputError: the expression is not a finite real number.
    """
    expr = sp.sympify(expr)
    if expr.is_Rational:
        return int(sp.sign(expr))
    if expr.is_infinite or expr.has(sp.nan, sp.zoo):
        raise UndefinedError("not a finite number: a value makes a denominator vanish; wanted finite positive values")
    number = sp.N(expr, _DIGITS)
    if not number.is_real:
        raise InputError(f"not a real number: {str(expr)[:60]}; the root of a negative number at these values")
    scale = max(abs(sp.N(part)) for part in sp.Add.make_args(_expanded(expr)))
    if abs(number) > scale * sp.Float(10) ** (-_DIGITS // 2):
        return 1 if number > 0 else -1
    return 0 if expr.equals(0) else (1 if sp.N(expr, 4 * _DIGITS) > 0 else -1)


def _expanded(expr: sp.Expr) -> sp.Expr:
    """Expanded, or as it is where sympy cannot simplify one of its roots (see `put_in`)."""
    try:
        return sp.expand(expr)
    except (ValueError, OverflowError):
        return expr


def holds(condition: Condition) -> bool:
    """Whether a condition between numbers holds, decided exactly."""
    return RELATED[condition.relation](sign(condition.left - condition.right), 0)


def complete(statement: Statement, values: Mapping[str, Any]) -> dict[sp.Symbol, sp.Expr]:
    """Exact values of all symbols of a statement; hyperparameters left out come from its schedule.

    Raises:
        InputError: unknown symbol, value outside its domain, or a value missing.
    """
    bindings = statement.symbols
    numbers = read_values(bindings, values, statement.name)
    point = {bindings[name].symbol: exact(number) for name, number in numbers.items()}
    pending = fill_schedule(statement, point)
    missing = [name for name, binding in bindings.items() if binding.symbol not in point]
    if missing:
        missing = [name for name in missing if name not in pending] or missing  # the schedule gives the others
        raise missing_values(bindings, missing)
    return point


def fill_schedule(statement: Statement, point: dict[sp.Symbol, sp.Expr]) -> list[str]:
    """Put in what the schedule gives at a point, in any order; the names of the rest, for which something is missing."""
    known = {symbol.name for symbol in point}
    for name in _in_turn(statement, known):
        expr = statement.schedule[name]
        _refuse_undefined(statement, name, statement.expand(expr), point)
        point[statement.symbols[name].symbol] = statement.at(expr, point)
    return [name for name in statement.schedule if name not in known]


def _in_turn(statement: Statement, known: set[str]) -> Iterator[str]:
    """What the schedule gives beside what is known, each name after those that it needs; `known` grows by it."""
    while ready := [
        name
        for name, expr in statement.schedule.items()
        if name not in known and {symbol.name for symbol in statement.symbols_of(expr)} <= known
    ]:
        yield from ready
        known |= {*ready}


def bound(statement: Statement, values: Mapping[str, Any], *, strict: bool = True, beside: Beside = NOTHING) -> Bound:
    """Evaluate a statement exactly at one point.

    Args:
        statement: a statement of a theorem.
        values: symbol name -> int, Fraction, float or text.
        strict: raise outside the conditions; otherwise return the value marked `admissible=False`.
        beside: what else is known of the problem; what the bound is compared with.

    Raises:
        InputError: unknown, missing or out-of-domain values.
        InadmissibleError: a condition fails and `strict` is set.
    """
    point = complete(statement, values)
    try:
        return _bound_at(statement, point, strict, beside)
    except UndefinedError:
        refuse_undefined(statement, point)
        raise


def refuse_undefined(statement: Statement, point: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Raises where a denominator of a statement is 0 at a point; the message says which one."""
    known = dict(point)
    for where, expr in statement.expressions():
        refuse_vanishing(expr, known, where)
        if constant := next((each for each in statement.derived if each.name == where), None):
            known[constant.symbol] = statement.at(expr, known)


def _bound_at(statement: Statement, point: Mapping[sp.Symbol, sp.Expr], strict: bool, beside: Beside) -> Bound:
    known = dict(point)
    for constant in statement.derived:
        _refuse_undefined(statement, constant.name, constant.expr, known)
        known[constant.symbol] = statement.at(constant.expr, known)
    for where, expr in statement.expressions():
        _refuse_undefined(statement, where, expr, known)
    if statement.theorem.metric.weights is not None:
        _refuse_weights(statement, known)
    checks = tuple(_check(statement, condition, known) for condition in statement.stated)
    ranges = tuple(_check(statement, condition, known) for condition in statement.method_range)
    pairs = zip((*checks, *ranges), statement.requirements, strict=True)
    failures = tuple(_failure(statement, condition, known) for check, condition in pairs if not check.holds)
    if failures and strict:
        failed = ", ".join(failure.name for failure in failures)
        raise InadmissibleError(
            f"{statement.name}: condition {failed} fails ({failures[0]}); pass strict=False to evaluate"
        )
    exact_terms = {term.name: statement.at(term.expr, known) for term in statement.terms}
    terms = {name: _number(value, name) for name, value in exact_terms.items()}
    total = _number(sp.Add(*exact_terms.values()), "total") if terms else None
    derived = {item.name: _number(known[item.symbol], item.name) for item in statement.derived}
    shown = {symbol.name: str(value) for symbol, value in sorted(point.items(), key=lambda item: item[0].name)}
    numbers = {symbol.name: _number(value, symbol.name) for symbol, value in point.items()}
    return Bound(total, terms, derived, not failures, checks, shown, numbers, ranges, failures, statement, beside)


def _refuse_undefined(statement: Statement, where: str, expr: sp.Expr, point: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Raises where a logarithm or a power in an expression has no real value at a point."""
    if reason := undefined(sp.sympify(expr), lambda part: statement.at(part, point)):
        raise InputError(f"{where}: {reason}")


def _refuse_weights(statement: Statement, point: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Of a long run the weights of the first and the last steps are looked at, and some between.

    Raises:
        InputError: a weight of the metric is negative or no number at these values of the symbols, or all of a short run are 0.
    """
    theorem, weights = statement.theorem, statement.theorem.metric.weights
    values = {b.quantity.name: point[b.symbol] for b in statement.symbols.values() if b.symbol in point}
    steps = values.get("iterations", values.get("rounds", 0) * values.get("communication_period", 1))
    formula, first = sp.sympify(weights).xreplace(dict(point)), int(theorem.average == "after")
    last = int(steps)
    ends, halves = min(last, _EACH), (last >> times for times in range(min(last.bit_length(), 4 * _EACH)))
    times = sorted({*range(ends), *range(last - ends, last), *(half - 1 for half in halves)})
    signs = []
    for t in times:
        weight = formula.xreplace({STEP: sp.Integer(t + first)})
        try:
            signs.append(sign(weight))
            shown = f"{float(sp.N(weight)):.6g}" if signs[-1] < 0 else ""
        except InputError:
            shown = "no finite real number"
        if shown:
            raise InputError(f"weights {weights}: wanted numbers of at least 0, got {shown} at t = {t + first}")
    if times and len(times) == steps and not any(signs):
        raise InputError(f"weights {weights}: wanted one above 0, all are 0 in {steps} steps")


def _check(statement: Statement, condition: Condition, point: Mapping[sp.Symbol, sp.Expr]) -> ConditionCheck:
    at_point = condition.each_side(lambda side: statement.at(side, point))
    return ConditionCheck(condition.name, str(condition), holds(at_point), _number(at_point.slack, condition.name))


def _fails(statement: Statement, condition: Condition, point: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Whether a condition is decided at a point and fails there."""
    here = condition.each_side(lambda side: statement.at(side, point))
    try:
        return not (here.left.free_symbols | here.right.free_symbols) and not holds(here)
    except InputError:  # it has no value there
        return False


def _failure(statement: Statement, condition: Condition, point: Mapping[sp.Symbol, sp.Expr]) -> Failure:
    left, right = (_number(statement.at(side, point), condition.name) for side in (condition.left, condition.right))
    why = f" ({condition.note})" if condition in statement.method_range else ""
    limit = f"{right:.10g}" if f"{left:.10g}" != f"{right:.10g}" else f"{right:.17g}"
    return Failure(condition.name, str(condition), f"{condition.relation} {limit}{why}", left)


def _number(expr: sp.Expr, where: str) -> float:
    expr = sp.sympify(expr)
    if expr.has(sp.zoo, sp.nan, sp.oo):
        raise UndefinedError(f"{where}: a value makes a denominator vanish; wanted finite positive values")
    value = expr if expr.is_Rational else sp.N(expr, 25)
    if not value.is_real:
        raise InputError(f"{where}: not a real number at these values (the root of a negative number)")
    return float(value) or _LEAST * int(sp.sign(value))


_LEAST = 5e-324
"""The least positive double: what is smaller and not 0 is not shown as 0."""


def compiled(statement: Statement) -> tuple[tuple[str, ...], Any]:
    """A numpy function of the statement's symbols: (terms..., total, slack of each requirement..., its right side...)."""
    if "compiled" not in statement.kept:
        statement.kept["compiled"] = _compile(statement)
    return statement.kept["compiled"]


def _compile(statement: Statement) -> tuple[tuple[str, ...], Any]:
    names = tuple(statement.symbols)
    refuse_lists(statement.symbols, statement.name)
    arguments = [binding.symbol for binding in statement.symbols.values()]
    outputs = [statement.expand(term.expr) for term in statement.terms]
    outputs.append(sp.Add(*outputs))
    outputs += [statement.expand(condition.slack) for condition in statement.requirements]
    outputs += [statement.expand(c.right) if c.relation == "==" else sp.Integer(0) for c in statement.requirements]
    return names, in_doubles(arguments, outputs)


def _floor(value: Any) -> Any:
    """Rounded down, of numbers that are whole but for rounding to the nearest: 100*0.29 is 29."""
    import numpy as np

    return np.floor(value + np.clip(WHOLE * np.abs(value), WHOLE, NOT_WHOLE))


WHOLE = 1e-9
"""How near a whole number a number in doubles is one, relatively."""
NOT_WHOLE = 1e-3
"""How far from every whole number a number in doubles is none, however large it is."""
_ROUNDED: Mapping[str, Callable[[Any], Any]] = {"floor": _floor, "ceil": lambda value: -_floor(-value)}
"""What rounding means on arrays."""


def in_doubles(arguments: Sequence[sp.Symbol], formulas: sp.Expr | list[sp.Expr]) -> Callable[..., Any]:
    """A numpy function of the arguments that gives a formula, or the list of formulas."""
    import numpy as np

    modules = [_ROUNDED, np]  # "numpy" would import everything in it: 0.1 s
    function: Callable[..., Any] = sp.lambdify(arguments, formulas, modules, cse=isinstance(formulas, list))
    return function


def evaluate(statement: Statement, **arrays: Any) -> dict[str, Any]:
    """A statement on arrays that broadcast against each other (float64).

    Returns:
        `{"total": array, "terms": {name: array}, "admissible": bool array}`; equalities hold to a relative 1e-9.

    Raises:
        InputError: unknown or missing symbols.
    """
    import numpy as np

    names, function = compiled(statement)
    known = {name: np.asarray(value, dtype=float) for name, value in arrays.items()}
    if unknown := sorted(set(known) - set(names)):
        raise InputError(f"{unknown[0]}: not a symbol of {statement.name}; wanted one of {' '.join(names)}")
    for name in _in_turn(statement, {*known}):
        expr = statement.expand(statement.schedule[name])
        needs = sorted(expr.free_symbols, key=str)
        value = in_doubles(needs, expr)(*(known[str(need)] for need in needs))
        known[name] = np.asarray(value, dtype=float)
    if missing := [name for name in names if name not in known]:
        wanted = [
            name for name in missing if name not in statement.schedule
        ]  # the schedule gives the others once it can
        raise InputError(f"{(wanted or missing)[0]}: wanted an array of numbers, got nothing")
    shape = np.broadcast_shapes(*(array.shape for array in known.values()))
    errors = np.geterr()  # what the caller wants to hear of belongs to its thread

    def answer(block: dict[str, Any]) -> list[Any]:
        with np.errstate(**errors):
            return _on_block(statement, function, block)

    with ThreadPoolExecutor() as pool:  # numpy lets other threads run while it computes
        blocks = list(pool.map(answer, _blocks(known, shape)))
    whole = [parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    terms = {term.name: value for term, value in zip(statement.terms, whole, strict=False)}
    return {"total": whole[-2], "terms": terms, "admissible": whole[-1]}


def _blocks(known: Mapping[str, Any], shape: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """The arrays cut along their first axis, so that what a statement computes with stays in a core's cache."""
    import numpy as np

    first = shape[0] if shape else 1
    rows = max(1, POINTS_PER_BLOCK * first // max(int(np.prod(shape)), 1))
    if rows >= first:
        yield dict(known)
        return
    for low in range(0, first, rows):
        cut = slice(low, low + rows)
        yield {n: v[cut] if v.ndim == len(shape) and v.shape[0] > 1 else v for n, v in known.items()}


def _on_block(statement: Statement, function: Any, known: dict[str, Any]) -> list[Any]:
    """Terms, total and whether the conditions hold, each of the shape of the block."""
    import numpy as np

    values = function(*(known[name] for name in statement.symbols))
    count, conditions = len(statement.terms) + 1, statement.requirements
    slacks, rights = values[count : count + len(conditions)], values[count + len(conditions) :]
    admissible = np.asarray(True)
    for condition, slack, right in zip(conditions, slacks, rights, strict=True):
        admissible = admissible & _array_holds(condition, slack, right)
    shape = np.broadcast_shapes(*(array.shape for array in known.values()))
    return [np.broadcast_to(value, shape) for value in (*values[:count], admissible)]


def _array_holds(condition: Condition, slack: Any, right: Any) -> Any:
    if condition.relation in ("<", ">"):
        return slack > 0
    return slack >= (0 if condition.relation in ("<=", ">=") else -1e-9 * abs(right))
