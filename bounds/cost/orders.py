"""Exact rates: the exponents of every hyperparameter and cost as the target goes to 0, from a linear program.

Where a difference was replaced by what bounds it they are upper bounds, and the answer says so.

With `h = eps^(-a_h)` for every hyperparameter a monomial has an exponent that is linear in the a's. The bound is at
most eps (up to a constant) where every monomial has exponent at least 1, a condition holds where each of its
monomials stays bounded, and the best rate is the optimum of a linear program, solved in rationals. A sum in a denominator
grows as its largest part, so each part is tried. Constants of the problem count as 1. A logarithm grows more slowly than any
power: it is a variable whose exponent is moved a little to read off the powers of log(1/eps). What decays exponentially in z
is small enough once z is a multiple of log(1/eps).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..language.client_lists import alike_statement
from ..language.notation import slack_symbol
from ..language.power import Power
from ..language.power_sum import PowerSum
from ..language.reading import InputError
from ..language.rendering import OfStatement, letter, lines_about, notes_about, status_of, titled
from ..language.result import AbstractResult, Math, Sheet, Table, relative
from ..language.theorem import Statement
from ..optimum.linear import Coefficients, UnboundedError, minimise
from ..optimum.model import Model, model
from ..optimum.posynomial import Converter, NotPosynomialError, Posynomial, direction
from ..region.conditions import ordered, symbols_of
from .resources import instead, refuse_free

if TYPE_CHECKING:
    from ...figures import Plot

_CLIENTS = Fraction(1, 10**4)
"""Exponent given to the number of clients (or to logarithms) to read off its effect: small enough for the first linear piece."""
_LOG = slack_symbol("log")
_MOST_DECAYS = 4
_MOST_PARTS = 64
"""Most combinations that are tried of which part is the largest in each sum of a denominator."""
_FIXED = {
    "fine_tuning_steps": 2,
    "participation": Fraction(1, 2),
    "sampled_clients": 1,
    "failure_probability": Fraction(1, 2),
    "hidden_constant": 1,
    "fine_tuning_step_size": 1,
    "compression_variance": 1,
    "compression_accuracy": Fraction(1, 2),
    "mixing_contraction": Fraction(1, 2),
    "spectral_gap": Fraction(1, 2),
}


@dataclass(frozen=True)
class Order:
    """`eps^(-eps) K^(clients) log(1/eps)^(logs)`: how a quantity grows as the target goes to 0, and with the number of clients; `clients`
    is None where a formula in their number has no exponents, and it stands for a fixed one. Logarithms of the number of clients are left
    out."""

    eps: Fraction
    clients: Fraction | None
    logs: Fraction = Fraction(0)

    def __str__(self) -> str:
        parts = [f"eps^{-self.eps}" if self.eps else "", f"clients^{self.clients}" if self.clients else ""]
        parts += ["(clients not known)"] if self.clients is None else []
        parts += [f"log(1/eps)^{self.logs}" if self.logs else ""]
        return " ".join(part for part in parts if part) or "1"

    def latex(self) -> str:
        """As \\epsilon, K and a logarithm to their powers."""
        parts = [rf"\epsilon^{{{-self.eps}}}" if self.eps else "", f"K^{{{self.clients}}}" if self.clients else ""]
        parts += ["K^{?}"] if self.clients is None else []
        parts += [rf"\log^{{{self.logs}}}(1/\epsilon)" if self.logs else ""]
        return "".join(parts) or "1"

    def math(self) -> Math:
        return Math(str(self), self.latex())

    def to_dict(self) -> dict[str, str | None]:
        logs = {"logs": str(self.logs)} if self.logs else {}
        return {"eps": str(-self.eps), "clients": None if self.clients is None else str(self.clients), **logs}


@dataclass(frozen=True, repr=False)
class Rates(OfStatement, AbstractResult):
    """The least order of a cost (then of others, in turn) at which a statement reaches `metric <= eps`.

    Args:
        minimised: the costs, in the order in which they were minimised.
        costs: every resource -> its order.
        schedule: hyperparameters -> their orders at the optimum.
        at_one: whole hyperparameters that are exactly 1 there, so that terms with their excess over 1 vanish.
        dropped: differences such as `1 - q`, and minima, that were replaced by what bounds them; the orders are then upper bounds.
    """

    minimised: tuple[str, ...]
    costs: dict[str, Order]
    schedule: dict[str, Order]
    at_one: tuple[str, ...]
    about: Statement = field(repr=False)
    dropped: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**self.numbers_only(), **status_of(self.about)}

    def numbers_only(self) -> dict[str, Any]:
        """`to_dict` without what is known of the statement."""
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "minimised": list(self.minimised),
            "costs": {name: order.to_dict() for name, order in self.costs.items()},
            "schedule": {name: order.to_dict() for name, order in self.schedule.items()},
            "at_one": list(self.at_one),
            **({"dropped": list(self.dropped)} if self.dropped else {}),
        }

    def sheet(self) -> Sheet:
        costs = tuple(
            (name, order.math(), float(order.eps), None if order.clients is None else float(order.clients))
            for name, order in self.costs.items()
        )
        heads = ("cost", "order", "power of 1/eps", "power of the clients")
        schedule = tuple((letter(self.about, name), order.math()) for name, order in self.schedule.items())
        tables = (
            Table("orders", heads, costs, relative(row[2] for row in costs)),
            Table("schedule", ("symbol", "order"), schedule),
        )
        notes = (
            *notes_about(self.about),
            f"least {' then '.join(self.minimised)} as eps goes to 0",
            *self._from_above(),
        )
        return Sheet(f"{self.about.name}: orders", None, tables, notes)

    def _from_above(self) -> tuple[str, ...]:
        return (f"the orders are upper bounds, as {_counted(self.dropped)}",) if self.dropped else ()

    def plot(self) -> Plot:
        """The power of 1/eps of every cost."""
        from ...figures import Axis, bar_plot

        powers = {name.replace("_", " "): float(order.eps) for name, order in self.costs.items()}
        axis = Axis(r"power of $1/\epsilon$", "1")
        return bar_plot({"cost": powers}, title=f"{titled(self.about)}: orders", axis=axis)

    def __str__(self) -> str:
        rows = [f"{self.about.name}, least {' then '.join(self.minimised)}:"]
        rows += [f"  {name} ~ {order}" for name, order in self.costs.items()]
        rows.append("  with " + ", ".join(f"{name} ~ {order}" for name, order in self.schedule.items()))
        return "\n".join([*rows, *(f"  {line}" for line in self._from_above()), *lines_about(self.about)])


def _counted(dropped: Sequence[str]) -> str:
    """What was made of differences and minima, in words."""
    return f"{' and '.join(dropped)} {'was replaced by what bounds it' if len(dropped) == 1 else 'were replaced by what bounds them'}"


def rates(statement: Statement, minimise_first: Sequence[str] = ("samples", "rounds")) -> Rates:
    """The exact exponents of the cheapest schedule as the target goes to 0; where each client has numbers of its own, for equal ones.

    Args:
        minimise_first: costs to minimise one after the other, each without giving up the ones before.

    Raises:
        InputError: no terms, no such resource or none of it, no posynomial form, a bound that cannot be made small, or an exponent
            without limit.
    """
    statement = alike_statement(statement)
    made, decays = _growing(_generic(statement))
    _check_costs(made, minimise_first)
    clients = _clients_of(made)
    best: tuple[tuple[Fraction, ...], Rates] | None = None
    small = [tuple(d for d in decays if d.term in chosen) for chosen in _subsets([d.term for d in decays])]
    tried = ((each, ones) for each in _with_parts_chosen(made) for ones in _branches(each))
    for (each, ones), decaying in product(tried, small):
        found = _branch(each, ones, tuple(minimise_first), clients, decaying)
        if found is None:
            continue
        costs = [found.costs[name] for name in minimise_first]
        key = tuple(value for cost in costs for value in (cost.eps, cost.logs, cost.clients or Fraction(0)))
        if best is None or key < best[0]:
            best = key, found
    dropped = _dropped(made)
    if best is None:
        raise InputError(f"{statement.name}: {_without_schedule(made, dropped)}")
    return replace(best[1], dropped=dropped)


def _without_schedule(made: Model, dropped: Sequence[str]) -> str:
    """Why there are no exponents: a floor, where the linear program has the exact orders of all terms."""
    if dropped:
        return f"no exponents, no powers of the target make this bound small; {_counted(dropped)}"
    powers = (power for term in made.terms.values() for power in sp.sympify(term).atoms(sp.Pow))
    if any(power.exp.is_negative and _LOG in power.base.free_symbols for power in powers):
        return "no exponents, no powers of the target make this bound small; a logarithm counts as less than any power"
    return "no schedule makes this bound small; it has a floor"


def _dropped(made: Model) -> tuple[str, ...]:
    """Differences of the terms and costs that the linear program bounds by what they subtract from, of another order than their own
    where they vanish. The excess of a whole number over 1 is none of these: it vanishes at 1, which is tried."""
    converter, sums = Converter({}), dict[str, sp.Expr]()
    for each in _with_parts_chosen(made):
        formulas = [*map(sp.sympify, (*each.terms.values(), *each.costs.values()))]
        for formula in formulas:
            converter.convert(formula)
        with suppress(NotPosynomialError):
            each.limits(converter)
        formulas += [side for condition in each.conditions for side in ordered(condition)]
        sums |= {str(add): add for formula in formulas for add in formula.atoms(sp.Add)}
    return tuple(text for text in converter.replacements if not _vanishes_at_one_only(sums.get(text), made.whole))


def _vanishes_at_one_only(difference: sp.Expr | None, whole: Sequence[str]) -> bool:
    """Whether a difference grows with one whole number and is at least 0 at 1: it vanishes there if anywhere, as `q - 1` does, and is of
    the order of what it subtracts from elsewhere."""
    symbols = list(difference.free_symbols) if difference is not None else []
    if difference is None or len(symbols) != 1 or str(symbols[0]) not in whole:
        return False
    at_one = difference.xreplace({symbols[0]: sp.Integer(1)})
    return direction(difference, symbols[0]) == 1 and bool(at_one >= 0)


@dataclass(frozen=True)
class _Decay:
    """A term with a factor that decays like exp(-speed)."""

    term: str
    speed: sp.Expr


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """All choices among some names, such as which terms are small because of their exponential factor, the largest first."""
    return [chosen for count in range(len(names), -1, -1) for chosen in combinations(names, count)]


def _growing(made: Model) -> tuple[Model, tuple[_Decay, ...]]:
    """The model with one variable for all logarithms and without rounding, and the terms that have an exponential factor.

    Raises:
        InputError: an exponential is elsewhere, or what it decays in is no product of powers.
    """
    terms, decays = {}, []
    still = {binding.symbol for binding in made.free if binding.name == _clients_of(made)}
    slow = partial(_slow, still=still)
    for name, term in made.terms.items():
        for at, part in enumerate(sp.Add.make_args(sp.expand(term)) if term.has(Power, sp.exp) else (term,)):
            if part.has(Power, sp.exp) and part.could_extract_minus_sign():
                continue  # 1 - exp(-z) is at most 1
            rest, speed = _split(made, slow(part))
            terms[f"{name} {at}"] = rest
            decays += [_Decay(f"{name} {at}", speed)] if speed is not None else []
    if len(decays) > _MOST_DECAYS:
        raise InputError(f"{made.statement.name}: no exponents, more than {_MOST_DECAYS} exponential terms")
    conditions = tuple(c.each_side(slow) for c in made.conditions)
    costs, determined = ({name: slow(e) for name, e in each.items()} for each in (made.costs, made.determined))
    for expr in (*costs.values(), *determined.values(), *(s for c in conditions for s in (c.left, c.right))):
        if odd := expr.atoms(Power):
            raise InputError(f"{made.statement.name}: no exponents, {odd.pop()} stands outside the terms")
    return replace(made, terms=terms, conditions=conditions, costs=costs, determined=determined), tuple(decays)


def _slow(expr: sp.Expr, still: Set[sp.Symbol]) -> sp.Expr:
    """With one variable in the place of every logarithm of what grows as the target goes to 0, and what is rounded in the place of
    whole numbers.

    Args:
        still: what does not move with the target, the number of clients: its logarithms are numbers.
    """
    if any(power.exp.is_negative and power.base.has(PowerSum) for power in expr.atoms(sp.Pow)):
        raise InputError(
            "no exponents, a sum over t stands in a denominator; with a lower bound in its place there are"
        )
    if vanishing := [item for item in expr.atoms(sp.log) if _may_vanish(item.args[0])]:
        raise InputError(
            f"no exponents, {vanishing[0]} need not grow as the target goes to 0; with an upper bound in its place there are"
        )
    expr = expr.xreplace({item: _above(*item.args) for item in expr.atoms(PowerSum)})
    below = [power for power in expr.atoms(sp.Pow) if isinstance(power.base, sp.ceiling) and power.exp.is_negative]
    expr = expr.xreplace({power: power.base.args[0] ** power.exp for power in below})
    rounded = {item: item.args[0] for item in expr.atoms(sp.floor) if item.free_symbols}
    rounded |= {item: item.args[0] + 1 for item in expr.atoms(sp.ceiling) if item.free_symbols}
    expr = expr.xreplace(rounded)
    logarithms = [item for item in expr.atoms(sp.log) if item.free_symbols]
    return expr.xreplace({item: sp.Integer(1) if item.free_symbols <= still else _LOG for item in logarithms})


def _may_vanish(inside: sp.Expr) -> bool:
    """Whether a logarithm is of what need not grow: of 1 + 1/T it decays like 1/T, of 1 + T/t0 it stays a number with t0 in proportion
    to T. A power of whole numbers that only grows is enough."""

    def grows(part: sp.Expr) -> bool:
        powers = [(base, power) for base, power in part.as_powers_dict().items() if base.free_symbols]
        return bool(powers) and all(base.is_integer and power.is_positive for base, power in powers)

    return bool(inside.free_symbols) and not any(map(grows, sp.Add.make_args(inside)))


def _above(first: sp.Expr, count: sp.Expr, power: sp.Expr) -> sp.Expr:
    """A bound of a sum of powers, of its order: by the integral."""
    if power == -1:
        return 1 / first + sp.log(1 + count)
    return first**power + (first**power * first if power < -1 else (first + count) ** (power + 1)) / sp.Abs(power + 1)


def _split(made: Model, term: sp.Expr) -> tuple[sp.Expr, sp.Expr | None]:
    """A product without its exponential factors, and what they decay in; None where it has none."""
    rest, speeds = sp.Integer(1), []
    for factor in sp.Mul.make_args(term):
        base, times = factor.as_base_exp() if factor.is_Pow else (factor, sp.Integer(1))
        if not isinstance(base, Power):
            rest *= factor
            continue
        inside, exponent = base.args
        speed = sp.expand(times * exponent * (-1 if inside == sp.E else 1))
        speeds.append(speed if inside == sp.E or inside.is_number else sp.expand(1 - inside) * speed)
    if not speeds:
        return rest, None
    try:
        found = Converter({}).convert(sp.expand(sp.Add(*speeds)))
    except NotPosynomialError:
        found = None
    if found is None or not found.is_monomial:
        raise InputError(
            f"{made.statement.name}: no exponents, {str(term)[:60]} does not decay in one product of powers"
        )
    return rest, sp.Add(*speeds)


def _check_costs(made: Model, names: Sequence[str]) -> None:
    for name in names:
        if name not in made.costs:
            raise InputError(
                f"{name[:30]}: not a resource of {made.statement.name}; {instead(name, list(made.costs), made.statement)}"
            )
        refuse_free(made.statement, name, made.costs[name])


def _generic(statement: Statement) -> Model:
    """The model with every constant 1; the difference step is free, and the clients too where a posynomial allows
    it."""
    values: dict[str, Any] = {}
    for name, binding in statement.symbols.items():
        quantity = binding.quantity
        if quantity.role != "hyperparameter":
            values[name] = 2 if quantity.numbers.whole else quantity.numbers.plain
        elif quantity.name in _FIXED:
            values[name] = _FIXED[quantity.name]
    free = frozenset(("clients", "difference_step"))
    made = model(statement, values, also_free=free)
    clients = _clients_of(made)
    if clients and not _has_form(made):
        return model(statement, {**values, clients: 8}, also_free=free)
    return made


def _clients_of(made: Model) -> str | None:
    return next((b.name for b in made.free if b.quantity.name == "clients"), None)


def _with_parts_chosen(made: Model) -> list[Model]:
    """The model with one of its parts in the place of every minimum and of every sum in a denominator of a term or a cost: a minimum is
    at most each of its parts and equals one, and the inverse of a sum of positive parts is of the order of the least inverse, so that the
    best of these models has the exact orders."""
    found = [each for smallest in _with_smallest(made) for each in _with_largest(smallest)]
    return found if len(found) <= _MOST_PARTS else _with_largest(made)


def _with_smallest(made: Model) -> list[Model]:
    """The model with one argument in the place of every minimum with which a term or a cost grows."""
    formulas = [sp.sympify(f) for f in (*made.terms.values(), *made.costs.values())]
    minima = {least for f in formulas for least in f.atoms(sp.Min) if all(_grows_with(g, least) for g in formulas)}
    if not minima or prod(len(each.args) for each in minima) > _MOST_PARTS:
        return [made]
    least = min(minima, key=lambda each: (sp.count_ops(each), sp.default_sort_key(each)))
    return [each for part in least.args for each in _with_smallest(_replaced(made, {least: part}))]


def _grows_with(formula: sp.Expr, part: sp.Expr) -> bool:
    """Whether a formula between positive numbers is seen to grow with one of its parts."""
    if formula == part or not formula.has(part):
        return True
    if formula.is_Pow and not (formula.exp.is_Rational and formula.exp.is_positive):
        return False
    if formula.is_Add and any(each.has(part) and each.could_extract_minus_sign() for each in formula.args):
        return False
    known = (sp.Add, sp.Mul, sp.Pow, sp.Max, sp.Min)
    return isinstance(formula, known) and all(_grows_with(each, part) for each in formula.args)


def _replaced(made: Model, table: Mapping[sp.Expr, sp.Expr]) -> Model:
    terms, costs = ({n: sp.sympify(f).xreplace(table) for n, f in of.items()} for of in (made.terms, made.costs))
    return replace(made, terms=terms, costs=costs)


def _with_largest(made: Model) -> list[Model]:
    """The model with one of its parts in the place of every sum in a denominator of a term or a cost."""
    formulas = (*made.terms.values(), *made.costs.values())
    if any(_is_subtracted(add) for f in formulas for add in sp.sympify(f).atoms(sp.Add)):
        raise InputError(
            f"{made.statement.name}: no exponents, a sum in a denominator is subtracted; as one fraction there may be"
        )
    powers = {p for f in formulas for p in sp.sympify(f).atoms(sp.Pow) if p.exp.is_negative and p.base.is_Add}
    sums = sorted({p.base for p in powers}, key=sp.default_sort_key)
    sums = [each for each in sums if not any(part.could_extract_minus_sign() for part in each.args)]
    if prod(len(each.args) for each in sums) > _MOST_PARTS:
        return [made]

    def model_with(parts: tuple[sp.Expr, ...]) -> Model:
        chosen = {p: part**p.exp for each, part in zip(sums, parts, strict=True) for p in powers if p.base == each}
        return _replaced(made, chosen)

    return [model_with(parts) for parts in product(*(each.args for each in sums))]


def _is_subtracted(add: sp.Add) -> bool:
    """Whether the inverse of a sum stands under a minus sign: what is more than it makes the difference smaller."""
    return any(
        part.could_extract_minus_sign() and any(p.exp.is_negative and p.base.is_Add for p in part.atoms(sp.Pow))
        for part in add.args
    )


def _has_form(made: Model) -> bool:
    """Whether the terms are posynomials, with one variable for all logarithms and any part in the place of a sum in a denominator."""
    try:
        for each in _with_parts_chosen(_growing(made)[0]):
            for term in each.terms.values():
                Converter({}).convert(term)
    except (NotPosynomialError, InputError):
        return False
    return True


def _branches(made: Model) -> list[tuple[str, ...]]:
    """Which whole variables with a vanishing excess over 1 are exactly 1: none, or any of them."""
    converter = Converter({})
    try:
        for term in made.terms.values():
            converter.convert(term)
    except NotPosynomialError as reason:
        raise InputError(f"{made.statement.name}: no exponents, {reason}{_go_on(reason)}") from None
    with suppress(NotPosynomialError):
        made.limits(converter)  # a condition too may vanish there
    excess = {name for names in converter.replacements.values() for name in names if name in made.whole}
    excess -= {_clients_of(made) or ""}  # orders are those for every number of clients
    return sorted(_subsets(sorted(excess)), key=len)


def _branch(
    made: Model, ones: tuple[str, ...], order: tuple[str, ...], clients: str | None, decays: Sequence[_Decay]
) -> Rates | None:
    """Exponents with some variables at 1; those of the clients and of logarithms from programs in which they grow slowly."""
    used = {symbol for term in made.terms.values() for symbol in term.free_symbols}
    used |= {symbol for c in made.conditions for symbol in symbols_of(c)}
    logs = str(_LOG) if decays or _LOG in used else None
    moving = [name for name in (clients, logs) if name]
    points = []
    for moved in (None, *moving):
        growth = {name: _CLIENTS if name == moved else Fraction(0) for name in moving}
        answer = _exponents(made, ones, order, growth, decays)
        if answer is None:
            return None
        points.append(answer)
    at, *others = points
    is_fixed = clients is None and any(b.quantity.name == "clients" for b in made.statement.symbols.values())

    def slope(name: str) -> Order:
        change = {which: (point[name] - at[name]) / _CLIENTS for which, point in zip(moving, others, strict=True)}
        of_clients = None if is_fixed else change.get(clients or "", Fraction(0))
        return Order(at[name], of_clients, change.get(logs or "", Fraction(0)))

    names = [b.name for b in made.free if b.name not in ones and b.name != clients and b.name in at]
    return Rates(
        order,
        {name: slope(f"cost {name}") for name in made.costs if f"cost {name}" in at},
        {name: slope(name) for name in names}
        | {name: slope(f"cost {name}") for name in made.determined if f"cost {name}" in at},
        ones,
        made.statement,
    )


def _exponents(
    made: Model,
    ones: tuple[str, ...],
    order: tuple[str, ...],
    growth: Mapping[str, Fraction],
    decays: Sequence[_Decay],
) -> dict[str, Fraction] | None:
    """The optimum of the linear program, costs minimised in turn, then whole numbers, then the terms; `cost NAME` is the exponent of each
    cost."""
    box = {name: (1.0, 1.0) for name in ones}
    converter = Converter(box)
    rows: list[tuple[Coefficients, Fraction]] = []
    decaying = {decay.term for decay in decays}
    for name, term in made.terms.items():
        rows += [(row, Fraction(-1)) for row in _rows(_converted(converter, term)) if name not in decaying]
    terms = len(rows)
    for decay in decays:
        (speed,) = _rows(_converted(converter, sp.expand(decay.speed)))
        rows.append(({**{name: -power for name, power in speed.items()}, str(_LOG): Fraction(1)}, Fraction(0)))
    try:
        limits = made.limits(converter)
    except NotPosynomialError as reason:
        raise InputError(f"{made.statement.name}: no exponents: {reason}{_go_on(reason)}") from None
    if ones and any(not part.names and part.at({}) > 1 for _, part in limits):
        return None  # a condition excludes the value 1
    for _, part in limits:
        rows += [(row, Fraction(0)) for row in _rows(part)]
    formulas = {**made.costs, **made.determined}
    for name, expr in formulas.items():
        for row in _rows(_converted(converter, expr)):
            rows.append(({**row, f"cost {name}": Fraction(-1)}, Fraction(0)))
    rows += [(row, Fraction(0)) for part in converter.sides for row in _rows(part)]
    for name, value in growth.items():
        rows += [({name: Fraction(1)}, value), ({name: Fraction(-1)}, -value)]
    whole = frozenset(made.whole)
    point: dict[str, Fraction] | None = None
    named = [name for name in dict.fromkeys((*order, *formulas)) if formulas[name].free_symbols]
    for name in (*named, *made.whole):
        label = f"cost {name}" if name in formulas else name
        try:
            point = minimise({label: Fraction(1)}, rows, whole)
        except UnboundedError:
            if name in order:
                raise InputError(f"{name}: its exponent has no minimum in {made.statement.name}") from None
            continue
        if point is None:
            return None
        rows.append(({label: Fraction(1)}, point[label]))
    try:  # equally cheap schedules differ in what the terms leave of the target
        return minimise(_added(row for row, _ in rows[:terms]), rows, whole)
    except UnboundedError:
        return point


def _added(rows: Iterable[Coefficients]) -> Coefficients:
    total: dict[str, Fraction] = {}
    for row in rows:
        for name, power in row.items():
            total[name] = total.get(name, Fraction(0)) + power
    return total


def _converted(converter: Converter, expr: Any) -> Posynomial:
    try:
        return converter.convert(expr)
    except NotPosynomialError as reason:
        raise InputError(f"no exponents: {reason}{_go_on(reason)}") from None


def _go_on(reason: NotPosynomialError) -> str:
    return "; with a symbol of its own in the place of the sum there are" if "sum" in str(reason) else ""


def _rows(part: Posynomial) -> list[Coefficients]:
    return [{name: Fraction(power) for name, power in exponents} for exponents in part.terms]
