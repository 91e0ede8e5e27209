"""Best hyperparameters: least bound under a budget, or least cost to reach a target.

Nearly every statement is a sum of posynomials once its constants are put in, so the problem is a geometric program with
some whole variables: the optimum is global and comes with a proved gap. What is reported is the statement itself,
evaluated exactly at the rounded values; every condition holds there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..cost.resources import MEANING, how_to_count, in_whole_rounds, missing_costs
from ..evaluation.evaluate import Bound, bound, complete, exact, holds
from ..evaluation.without_running import NOTHING, Beside
from ..language.reading import InputError
from ..language.rendering import OfStatement, lines_about, status_of, symbol_table
from ..language.result import CONSTANTS, AbstractResult, Sheet, Table, relative, rounded_up
from ..language.theorem import Condition, Statement
from .model import LEAST_DISTANCE, VanishingError, model
from .polish import polish
from .posynomial import Converter, NotPosynomialError
from .program import Solution, solve
from .search import GAP, Box, Found, minimise, program, relaxed
from .task import Task, make_task
from .whole_numbers import objective_at, rounded

if TYPE_CHECKING:
    from ...figures import Plot

GLOBAL, NOT_CERTIFIED = "global optimum", "not certified"
GEOMETRIC = "geometric program"
NUMERICAL = "differential evolution"
EVALUATED = "evaluated"
_NEAR = 0.001
"""A certified gap up to which an optimum is called global."""
_LONGER = 100
"""Nodes of the second search, where the first one left a gap."""
_FAR = 0.1
"""A gap from which the point of the geometric program is compared with that of a numerical search."""
_VISIBLE = 5e-5
"""Prices below this are not worth a sentence."""
_PLATEAU = 1e9
_SOLVED = 1e-8


@dataclass(frozen=True, repr=False)
class Tuned(OfStatement, AbstractResult):
    """Hyperparameters that minimise a bound under a budget, or a cost under a target; `float` gives what was minimised.

    Args:
        objective: "bound" or the name of the cost.
        values: the chosen hyperparameters as exact numbers (`float` works on them); the ones that the statement's own
            equations fix included.
        bound: the statement at these values.
        cost: every resource that the statement determines.
        lower: a proved lower bound of the objective over all admissible choices (None without a certificate).
        gap: (objective - lower) / objective.
        binding: conditions, budgets and ranges that hold with equality.
        prices: the same -> percent of the objective gained per percent of relaxation.
        advice: the prices as sentences.
        replacements: factors that were bounded, with the variables that make them exact.
    """

    objective: str
    value: float
    values: dict[str, sp.Expr]
    bound: Bound
    cost: dict[str, float]
    method: str
    lower: float | None
    gap: float | None
    binding: tuple[str, ...]
    prices: dict[str, float]
    advice: tuple[str, ...]
    replacements: tuple[str, ...]
    note: str = ""

    @property
    def about(self) -> Statement:
        return self.bound.about

    def to_dict(self) -> dict[str, Any]:
        said = {**self.bound.worth.to_dict(), "missing_costs": self.missing_costs, **status_of(self.about)}
        return {**self.numbers_only(), "certificate": self.certificate, **said}

    def numbers_only(self) -> dict[str, Any]:
        """`to_dict` without what is known of the statement."""
        data = {name: getattr(self, name) for name in ("theorem", "statement", *(item.name for item in fields(self)))}
        values = {name: str(value) for name, value in self.values.items()}
        return {**data, "values": values, "bound": self.bound.numbers_only()}

    @property
    def amounts(self) -> dict[str, float]:
        """The costs as texts and tables tell them, in whole rounds."""
        return in_whole_rounds(self.about, self.cost)

    @property
    def certificate(self) -> str:
        """How near to the optimum the answer is, as far as that is proved."""
        return _certificate(self.gap)

    @property
    def missing_costs(self) -> dict[str, str]:
        """The resources that nothing counts here -> what counts them, in which unit, and how to declare them."""
        return {name: how_to_count([name], self.about) for name in missing_costs(self.about, self.cost)}

    @property
    def missing(self) -> tuple[str, ...]:
        """The same as one sentence; none where nothing is missing."""
        return (how_to_count(list(self.missing_costs), self.about),) if self.missing_costs else ()

    def __float__(self) -> float:
        return self.value

    def sheet(self) -> Sheet:
        about = self.about
        chosen = {name: Decimal(_all_digits(self.bound.numbers[name])) for name in self.values}
        schedule = symbol_table(about, "schedule", chosen)
        spent = tuple((MEANING.get(name, name), value) for name, value in self.amounts.items())
        given = {name: value for name, value in self.bound.numbers.items() if name not in self.values}
        limits = tuple((name, price) for name, price in self.prices.items())
        tables = (
            schedule,
            Table("costs", ("cost", "amount"), spent),
            Table("binding limits", ("limit", "percent gained per percent"), limits, relative(self.prices.values())),
            symbol_table(about, CONSTANTS, given),
        )
        first, *others = tables
        whole = self.bound.sheet()
        how = self.how
        notes = (*whole.notes, how, *self.advice, *((self.note,) if self.note else ()), *self.missing)
        title = (
            f"{about.name}: best hyperparameters"
            if self.objective == "bound"
            else f"{about.name}: least {self.objective}"
        )
        return Sheet(title, whole.claim, (first, *(t for t in others if t.rows)), notes)

    def plot(self) -> Plot:
        """The terms of the bound at these values."""
        return self.bound.plot()

    @property
    def how(self) -> str:
        """The method, how near its answer is, and the lower bound that says so."""
        if self.method == EVALUATED:
            return self.method
        least = (
            ""
            if self.lower is None
            else f": no choice{self._searched} has {self.objective} below {self.lower:.6g} ({_gap(self.gap)})"
        )
        return f"{self.method}, {self.certificate}{least}"

    @property
    def _searched(self) -> str:
        """Where a choice lies at the end of what is searched of an open domain: that end."""
        symbols = self.about.symbols
        ends = {name: symbols[name].quantity.numbers for name in self.values}
        near = [
            f"{name} <= {end:.9g}"
            for name, domain in ends.items()
            if domain.open
            and domain.most is not None
            and self.bound.numbers[name] >= (end := domain.most * (1 - LEAST_DISTANCE)) * (1 - LEAST_DISTANCE)
        ]
        return f" with {' and '.join(near)}" if near else ""

    def __str__(self) -> str:
        chosen = ", ".join(f"{name} = {_all_digits(self.bound.numbers[name])}" for name in self.values)
        rows = [
            f"{self.about.name}: {chosen}",
            f"  {self.bound.metric} <= {rounded_up(float(self.bound))}",
        ]
        rows += [f"  {MEANING.get(name, name)}: {_amount(value)}" for name, value in self.amounts.items()]
        rows.append(f"  {self.how}")
        notes = [*self.bound.worth.notes, *self.advice, *([self.note] if self.note else []), *self.missing]
        return "\n".join([*rows, *(f"  {note}" for note in notes), *lines_about(self.about)])


def _certificate(gap: float | None) -> str:
    if gap is None:
        return NOT_CERTIFIED
    return GLOBAL if gap <= _NEAR else f"optimum within {100 * gap:.2g}%"


def _gap(gap: float | None) -> str:
    """The gap in words; below the solver's own error its digits mean nothing."""
    return f"gap below {_SOLVED:.0e}" if gap is not None and gap < _SOLVED else f"gap {gap:.1e}"


def _all_digits(value: float) -> str:
    """A chosen value as it was chosen (`whole_numbers.py`): with fewer digits it could lie outside a condition."""
    return f"{value:.10g}"


def _amount(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and value < _PLATEAU else f"{value:.6g}"


def tune(
    statement: Statement,
    values: Mapping[str, Any],
    *,
    budget: Mapping[str, Any] | None = None,
    eps: Any = None,
    cost: str | Mapping[str, Any] | None = None,
    ranges: Mapping[str, tuple[Any, Any]] | None = None,
    follow_schedule: bool = False,
    beside: Beside = NOTHING,
) -> Tuned:
    """The best hyperparameters that are not given.

    Args:
        values: constants, and hyperparameters that stay as they are.
        budget: resource or hyperparameter -> largest amount (`{"T": 100000}`, `{"rounds": 500, "samples": 10**6}`,
            `{"cost": 1000}` for a weighted cost); minimises the bound.
        eps: target for the bound; minimises `cost` instead. Exactly one of budget and eps must be given.
        cost: a resource, or resource -> weight; for eps the default is the samples (else the iterations).
        ranges: hyperparameter -> (lowest, highest), None for no limit.
        follow_schedule: keep the statement's own schedule and choose only what it leaves open.
        beside: what else is known of the problem; what the bound is compared with.

    Raises:
        InputError: bad values, nothing left to choose, conditions or target out of reach, or an unlimited optimum.

    Example:
        >>> import fedco
        >>> best = fedco.theorem("fcsg.theorem_4_1").tune(L_f=1, L_g=1, S_f=1, S_g=1, sigma_g=1, F_gap=1, N=4,
        ...     budget={"samples": 10**6})
        >>> best.bound.admissible
        True
    """

    def answer(values: Mapping[str, Any], positive: frozenset[str]) -> Tuned:
        """The best where these hyperparameters are positive; the others may be 0 where their domain has it."""
        made = model(statement, values, follow_schedule=follow_schedule)
        open_ = [b.name for b in made.free if b.quantity.numbers.zero and b.name not in {*positive, *(ranges or {})}]
        if not open_:
            return _tuned(make_task(made, budget, eps, cost, ranges))
        at_zero, above = {**values, open_[0]: 0}, positive | {open_[0]}
        return _better(statement, open_[0], lambda: answer(at_zero, positive), lambda: answer(values, above))

    best = answer(values, frozenset())
    return replace(best, bound=replace(best.bound, beside=beside))


def _better(statement: Statement, name: str, at_zero: Callable[[], Tuned], above: Callable[[], Tuned]) -> Tuned:
    """The better of two answers, with a hyperparameter at 0, which no geometric program reaches, and above it.

    Raises:
        InputError: neither answer is there; the reason of the second.
    """
    zero = None
    try:
        zero = at_zero()
    except VanishingError:
        return above()
    except InputError:  # the other answer may be there, or says why not
        pass
    try:
        positive = above()
    except InputError:
        if zero is None:
            raise
        positive = None
    best = min(filter(None, (zero, positive)), key=lambda each: each.value)
    if best is zero:
        chosen = {**best.values, name: sp.Integer(0)}
        order = [binding.name for binding in statement.theorem.notation]
        best = replace(best, values={n: chosen[n] for n in order if n in chosen})
    if zero is None or positive is None or zero.lower is None or positive.lower is None:
        return replace(best, lower=None, gap=None)  # nothing is proved of the other part
    lower = min(zero.lower, positive.lower)
    return replace(best, lower=lower, gap=(best.value - lower) / best.value)


def _tuned(task: Task) -> Tuned:
    if not task.model.free:
        return _report(task, {}, None, "nothing left to choose")
    try:
        found, task, note = _search(task)
    except NotPosynomialError as reason:
        from .numerical import best_found

        point = best_found(task)
        _refuse_uncounted(task, point)
        return _report(task, point, None, f"not a geometric program ({reason}): the optimum may be local")
    return _report(task, found.point, found, note)


def _search(task: Task) -> tuple[Found, Task, str]:
    """Minimise; where the infimum is not attained, take the cheapest point near it."""
    _refuse_signs(task)
    if task.objective != "bound" and task.cost is None:
        statement = task.model.statement
        counts = [name for name, b in statement.symbols.items() if b.quantity.name in ("iterations", "rounds")]
        named = f"; what it has can be named, as in --cost {counts[0]} or cost='{counts[0]}'" if counts else ""
        raise InputError(
            f"{statement.name}: has no resource that is minimised unasked{named}; {how_to_count(['samples'], statement)}"
        )
    box, whole = _box(task), task.model.whole
    root = relaxed(task.make, box)
    if root is None:
        raise InputError(_infeasible(task))
    safe = solve(program(task.make, box, upper=True)[0])
    if safe and (safe.escapes or any(safe.point.get(name, 0.0) > _PLATEAU for name in whole)):
        nearby = _plateau(task, replace(safe, lower=root.lower), root.value)
        if nearby is not None:
            return nearby
        if safe.escapes or task.cost is None:
            _refuse_endless(task, safe)
    found = minimise(task.make, box, whole)
    if found.value == inf and found.lower == inf:
        raise InputError(_infeasible(task))
    if found.value == inf:
        raise NotPosynomialError("a difference was replaced by what it subtracts from, and nothing was admissible then")
    if found.gap > _NEAR:
        found = _searched_again(task, found)
    note = ""
    if found.gap > _FAR:
        found, note = _searched(task, found)
    return (polish(task, found) if found.gap > GAP else found), task, note


def _box(task: Task) -> Box:
    """Where the hyperparameters may be; with all ends that single ones have, where a difference is nonnegative only there."""
    signed = Converter(task.box(), upper=False, signed=True)
    try:
        for term in task.model.terms.values():
            signed.convert(term)
    except NotPosynomialError:
        return task.limited()
    return task.box()


def _searched_again(task: Task, found: Found) -> Found:
    """The better of a point and what a search finds in a box with all ends that single hyperparameters have; of the lower bounds the
    larger one."""
    if (box := task.limited()) == task.box():
        return found
    again = minimise(task.make, box, task.model.whole, nodes=_LONGER)
    best = min(found, again, key=lambda each: each.value)
    return replace(best, lower=max(found.lower, min(again.lower, best.value)))


def _searched(task: Task, found: Found) -> tuple[Found, str]:
    """The better of a point and what a numerical search finds, with what is to be said of it; the proved lower bound stays."""
    from .numerical import differential_evolution

    try:
        point = differential_evolution(task)
    except InputError:  # it found no admissible point, and the one at hand is admissible
        return found, ""
    value = objective_at(task, rounded(task, point))
    if value >= found.value:
        return found, ""
    return replace(found, point=point, value=value), "the point was found by differential evolution"


_WITHIN = (0.001, 0.01, 0.1)


def _plateau(task: Task, root: Solution, least: float) -> tuple[Found, Task, str] | None:
    """The infimum is approached far out only: a point within 0.1% (1%, 10%) of it that costs least, None where none was found.

    Where whole numbers keep the bound away from the proved one, what they reach far out stands in its place.
    """
    known = [name for name in ("samples", "iterations") if name in task.model.costs and name != task.objective]
    if not known or _vanishes(root):
        return None
    near = minimise(task.make, task.box(), task.model.whole).value
    targets = [least * (1 + share) for share in _WITHIN] + [
        near * (1 + share) for share in _WITHIN if near < root.value
    ]
    for target in (*targets, root.value + 0.001 * least):
        share, within = target / least - 1, Fraction(target)
        cheap = task.model.costs[known[0]]
        if task.cost is None:
            eased = replace(task, cost=cheap, target=within)
        else:
            eased = replace(task, cost=cheap, limits=(*task.limits, (task.objective, task.cost, within)))
        again = minimise(eased.make, eased.box(), task.model.whole)
        if again.value < inf and not again.escapes:
            cheapest = f"these are the fewest {known[0]} within {share:.1%} of it"
            note = f"the least {task.objective} is only approached; {cheapest}"
            return replace(again, lower=root.lower), task, note
    return None


def _refuse_endless(task: Task, root: Solution) -> None:
    free = [binding.name for binding in task.model.free]
    guilty = [name for name in root.escapes if name in free] or free
    raise InputError(
        f"{guilty[0]}: wanted a value or a range, got nothing; the {task.objective} keeps improving without limit as it"
        " changes and no budget stops it"
    )


def _refuse_uncounted(task: Task, point: Mapping[str, float]) -> None:
    """Raises where more of a whole number lowers the bound, and neither a condition nor what is counted here limits it."""
    made = task.model
    counted = [expr for _, expr, _ in task.limits] + ([] if task.cost is None else [task.cost])
    counted += [side for condition in made.conditions for side in (condition.left, condition.right)]
    limited = {str(symbol) for expr in counted for symbol in expr.free_symbols}
    for name in made.whole:
        if name in limited or task.ranges.get(name, (None, None))[1] is not None:
            continue
        here, more = (_total_at(task, {**point, name: factor * point[name]}) for factor in (1, 2))
        if more <= here:
            counting = [cost for cost, expr in made.costs.items() if name in map(str, expr.free_symbols)]
            what = "a budget of" if task.cost is None else "the cost"
            counted_by = f", or {what} {' or '.join(counting)}, where it counts" if counting else ""
            why = "the bound keeps improving with it, and what is counted here does not grow"
            raise InputError(f"{name}: wanted a value or a range{counted_by}, got nothing; {why}")


def _total_at(task: Task, point: Mapping[str, float]) -> float:
    return float(task.model.total().xreplace({b.symbol: sp.Float(point[b.name], 30) for b in task.model.free}))


def _vanishes(root: Solution) -> bool:
    """Whether the objective runs to 0 with the variables."""
    return bool(root.escapes) and root.value < 1e-20


_PROBED = ("1/1000", "1/10", "1/2", "1", "10")
"""Values of the hyperparameters, moved into their domains, at which the sign of a term is looked at."""


def _refuse_signs(task: Task) -> None:
    made, box = task.model, task.box()
    points = [
        {b.symbol: exact(min(max(Fraction(v), Fraction(box[b.name][0])), _end(box[b.name][1]))) for b in made.free}
        for v in _PROBED
    ]
    admissible = [point for point in points if all(_is_true(c.at(point)) for c in made.conditions)]
    for name, term in made.terms.items():
        parts = sp.Add.make_args(sp.expand(term))
        is_minus = all(part.as_coeff_Mul()[0].is_negative for part in parts)
        if is_minus or any(_is_true(Condition("", term.xreplace(point), "<", sp.Integer(0))) for point in admissible):
            raise _may_be_negative(task, name)


def _may_be_negative(task: Task, name: str) -> InputError:
    return InputError(
        f"{task.model.statement.theorem.id}: the term {name} may be negative, as in a step of a proof; wanted a sum of terms that are not"
    )


def _is_true(condition: Condition) -> bool:
    """Whether a condition between numbers holds; not where it has no value."""
    try:
        return holds(condition)
    except InputError:
        return False


def _end(highest: float) -> Fraction:
    return Fraction(10) if highest == inf else Fraction(highest)


def _infeasible(task: Task) -> str:
    """Why nothing is admissible: the conditions in conflict, and how low the bound gets if it is the target."""
    from ..region.joint import conflict_of

    domains = task.model.box()
    names = conflict_of(task.make, task.box(), {n: domains[n] for n in task.ranges}, task.model.whole)
    where = task.model.statement.name
    if task.target is None or "target" not in names:
        return f"{where}: no admissible choice; in conflict: {', '.join(names)}"
    least = relaxed(replace(task, cost=None, target=None).make, task.box())
    others = [name for name in names if name != "target"]
    because = f" under {', '.join(others)}" if others else ""
    if least is None or least.escapes:
        return f"eps: wanted a target within reach, got {float(task.target):g}; {where} does not reach it{because}"
    return f"eps: wanted more than {least.lower:.6g}, got {float(task.target):g}; {where} has no smaller bound{because}"


def _report(task: Task, point: Mapping[str, float], found: Found | None, note: str) -> Tuned:
    """Round, evaluate the statement itself exactly, and put the prices in words."""
    chosen = rounded(task, point)
    made = task.model
    values = {**{k: v for k, v in made.values.items()}, **chosen}
    result = bound(made.statement, values)
    numbers = {binding.symbol: exact(chosen[binding.name]) for binding in made.free}
    cost = {name: float(expr.xreplace(numbers)) for name, expr in made.costs.items()}
    objective = objective_at(task, chosen)
    if negative := next((name for name, value in result.terms.items() if value < 0), None):
        raise _may_be_negative(task, negative)
    prices, replaced = ({}, ()) if found is None else _prices(task, chosen)
    lower = None if found is None else min(found.lower, objective)
    gap = None if lower is None else (objective - lower) / objective
    chosen_names = {b.name for b in made.free} | set(made.determined)
    point = complete(made.statement, values)
    shown = {b.name: point[b.symbol] for b in made.statement.theorem.notation if b.name in chosen_names}
    binding = tuple(name for name, price in prices.items() if price > _VISIBLE)
    return Tuned(
        task.objective,
        objective,
        shown,
        result,
        cost,
        GEOMETRIC if found is not None else (NUMERICAL if made.free else EVALUATED),
        lower,
        gap,
        binding,
        {name: prices[name] for name in binding},
        tuple(_sentence(task, name, prices[name]) for name in binding),
        replaced,
        note,
    )


def _prices(task: Task, chosen: Mapping[str, Fraction]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Multipliers where replaced whole factors are fixed at the chosen values and everything else is free; none where a difference or
    minimum of a real hyperparameter was replaced, as they would be those of another program."""
    converter = Converter(task.box(), True)
    task.make(converter)
    shown = tuple(f"{text} (exact at fixed {', '.join(sorted(n))})" for text, n in converter.replacements.items())
    replaced = {name for names in converter.replacements.values() for name in names}
    if replaced & set(task.model.real):
        return {}, shown
    box = {**task.box(), **{name: (float(chosen[name]), float(chosen[name])) for name in replaced}}
    answer = solve(program(task.make, box, upper=True)[0])
    prices: dict[str, float] = {}
    for name, price in (answer.prices if answer else {}).items():
        if name != "side":
            about = name.partition("[")[0]
            prices[about] = prices.get(about, 0.0) + price
    return prices, shown


def _sentence(task: Task, name: str, price: float) -> str:
    share, gained = f"{price:.2g}%", "the bound" if task.cost is None else f"the {task.objective}"
    if name.startswith("budget of "):
        return f"1% more {name[10:]} buys {share} of {gained}"
    if name == "target":
        return f"a target that is 1% less strict saves {share} of {gained}"
    if " at " in name:
        return f"relaxing the limit {name} by 1% would buy {share} of {gained}"
    relation = str(task.model.statement.condition(name)).replace("**", "^")
    return f"relaxing {name} ({relation}) by 1% would buy {share} of {gained}"
