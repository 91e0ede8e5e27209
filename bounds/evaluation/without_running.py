"""What holds of a squared gradient norm without running, and whether a bound says more: one that does not is vacuous.

Three things bound the squared gradient norm at a start x_0 that is never left: its own value; the square of a bound of ||grad F||
everywhere (the cap); and 2 L F_gap, since a step of 1/L from x_0 lowers an L-smooth F by ||grad F(x_0)||^2 / (2 L) at least, and no
step lowers it below its infimum. The least of those that are known counts. They are read off the quantities of a statement's symbols,
never off the letters, and off what is given beside them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..language.bounding import (
    AT_START,
    DISTANCE,
    GAP,
    MEAN_SQUARE,
    SAMPLE,
    Form,
    implied,
    lipschitz,
    size,
)
from ..language.metrics import gradient_power
from ..language.quantity import QUANTITIES
from ..language.result import rounded_down, shown

if TYPE_CHECKING:
    from ..language.theorem import Statement

AVERAGED: Mapping[str, str] = {"federated": "local_gradient", "meta": "meta_gradient"}
"""Kind of problem -> the function whose mean over the clients is grad F: what bounds it for every client bounds grad F."""
CHAINS: Mapping[str, tuple[str, tuple[Form, Form]]] = {
    "local_composite": ("", (size("outer_gradient"), size("inner_jacobian"))),
    "shared_composite": ("no_extra_term", (size("outer_gradient"), size("inner_jacobian"))),
    "conditional": ("", (size("outer_gradient", SAMPLE), size("inner_jacobian", MEAN_SQUARE))),
}
"""Kind of problem -> the property that it needs, and what the chain rule bounds ||grad F|| by as a product."""
START_BY, CAP_BY, GAP_BY = (
    "the squared gradient norm at the start",
    "a cap of the squared gradient norm everywhere",
    "at least the squared gradient norm at the start, since F is smooth and bounded below",
)
OF_START_BY = "what holds at the start, which a run need not leave"
OF_THE_START: Mapping[str, tuple[Form, int]] = {
    "gap": (Form(GAP, "objective"), 1),
    "distance_sq": (Form(DISTANCE, "objective"), 2),
}
"""Measure of a metric -> what bounds it at the start, and to which power."""


@dataclass(frozen=True)
class Limit:
    """A number that bounds the metric without running: `factor` times powers of symbols, or of quantities that are no symbols.

    Args:
        by: what it is, in words. powers: name -> exponent.
    """

    by: str
    factor: int
    powers: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        names = (name if power == 1 else f"{name}^{power}" for name, power in self.powers)
        return " ".join([*([str(self.factor)] if self.factor != 1 else []), *names])

    def at(self, known: Mapping[str, Any]) -> Any:
        """Its value at exact numbers, or at arrays."""
        return self.factor * prod(known[name] ** power for name, power in self.powers)


@dataclass(frozen=True)
class Beside:
    """What is known of a problem beside the values of a statement's symbols.

    Args:
        quantities: values of quantities that no symbol stands for, such as `gradient_cap`.
        estimated: symbol, quantity or derived constant -> how sure its value is, where that is an estimate.
    """

    quantities: Mapping[str, Fraction] = field(default_factory=dict)
    estimated: Mapping[str, str] = field(default_factory=dict)


NOTHING = Beside()


def limits(statement: Statement, others: Iterable[str] = ()) -> tuple[Limit, ...]:
    """What bounds the metric of a statement without running; nothing where the metric is not measured along a run.

    A derived constant counts by what it is declared to bound, as the smoothness of a composition does.

    Args:
        others: quantities that are known beside the symbols.
    """
    theorem = statement.theorem
    metric = theorem.metric
    if not metric.at or not statement.terms:
        return ()
    symbols = {name: binding.quantity for name, binding in statement.symbols.items()}
    rows = {name: quantity for name, quantity in symbols.items() if quantity.role == "constant"}
    rows |= {name: QUANTITIES[name] for name in others if name in QUANTITIES}
    said = {name: quantity.bounds for name, quantity in rows.items()}
    said |= {item.name: item.bounds for item in statement.derived}
    forms = {name: frozenset(_said(bounds, theorem.problem)) for name, bounds in said.items()}
    power = gradient_power(metric)
    if not power:
        form, power = OF_THE_START[metric.of]
        return tuple(Limit(OF_START_BY, 1, ((name, power),)) for name, said in forms.items() if form in said)
    assumed = {*theorem.assume, *statement.assume}
    found = dict.fromkeys(_limits(forms, theorem.problem, assumed))
    return tuple(found) if power == 2 else tuple(_root(limit) for limit in found if _is_square(limit))


def _is_square(limit: Limit) -> bool:
    return limit.factor == 1 and all(power % 2 == 0 for _, power in limit.powers)


def _root(limit: Limit) -> Limit:
    """What bounds the norm, from what bounds its square."""
    return Limit(limit.by.replace("squared ", ""), 1, tuple((name, power // 2) for name, power in limit.powers))


def _limits(forms: Mapping[str, frozenset[Form]], kind: str, assumed: set[str]) -> Iterator[Limit]:
    def of(*wanted: Form) -> Iterator[tuple[str, ...]]:
        return product(*([name for name, said in forms.items() if form in said] for form in wanted))

    for (norm,) in of(Form(AT_START, "objective_gradient")):
        yield Limit(START_BY, 1, ((norm, 2),))
    for (cap,) in of(size("objective_gradient")):
        yield Limit(CAP_BY, 1, ((cap, 2),))
    needed, factors = CHAINS.get(kind, ("", ()))
    if factors and (not needed or needed in assumed):
        for outer, inner in of(*factors):
            yield Limit(CAP_BY, 1, ((outer, 2), (inner, 2)))
    for smoothness, gap in of(lipschitz("objective_gradient"), Form(GAP, "objective")):
        yield Limit(GAP_BY, 2, ((smoothness, 1), (gap, 1)))


def _said(bounds: Iterable[Form], kind: str) -> Iterator[Form]:
    """All that a quantity or a derived constant bounds, of grad F too where that is a mean of what it speaks of."""
    for row in bounds:
        for form in implied(row):
            yield form
            if form.function == AVERAGED.get(kind) and form in (size(form.function), lipschitz(form.function)):
                yield Form(form.kind, "objective_gradient")


def _derived(statement: Statement, names: Collection[str], values: Mapping[str, Any]) -> Iterator[tuple[str, Fraction]]:
    """The derived constants among these names, where the values make rational numbers of them."""
    for item in statement.derived:
        if item.name in names:
            expr = statement.expand(item.expr)
            table = {
                statement.symbols[str(each)].symbol: values[str(each)]
                for each in expr.free_symbols
                if str(each) in values
            }
            number = expr.xreplace({symbol: sp.Rational(str(Fraction(str(value)))) for symbol, value in table.items()})
            if number.is_Rational:
                yield item.name, Fraction(int(number.p), int(number.q))


def serves(statement: Statement, others: Iterable[str]) -> frozenset[str]:
    """Those of the quantities that help to say what holds without running."""
    wanted = tuple(others)
    return frozenset(name for limit in limits(statement, wanted) for name, _ in limit.powers if name in wanted)


def _as_float(value: Fraction) -> float:
    """The nearest float; infinite where there is none."""
    try:
        return float(value)
    except OverflowError:
        return inf


def is_vacuous(bound: Any, limit: Any) -> bool:
    """Whether a bound says no more than what holds anyway; without a limit only an infinite one does not."""
    return bool(bound == inf or (limit is not None and bound >= limit))


@dataclass(frozen=True)
class Worth:
    """What a bound is worth: whether it says more than what holds without running, and which of its constants are estimates.

    Args:
        total: the bound; None where the statement bounds nothing.
        limit: the least that is known to hold without running, and its value; None where nothing is known.
        estimates: symbol, or derived constant that was given -> how sure its value is.
        doubtful: those that the limit uses and that are estimates themselves.
        is_impossible: whether it is below 0, and of what is never negative.
    """

    total: float | None
    limit: Limit | None = None
    value: Fraction | None = None
    estimates: Mapping[str, str] = field(default_factory=dict)
    doubtful: tuple[str, ...] = ()
    is_impossible: bool = False

    @property
    def vacuous(self) -> bool | None:
        """Whether it says nothing; None where it is finite and nothing is known to compare it with."""
        if self.total is None or (self.value is None and self.total != inf):
            return None
        return is_vacuous(self.total, self.value)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: `vacuous`, `without_running` and `rests_on_estimates`."""
        compared = None
        if self.limit is not None and self.value is not None:
            compared = {
                "value": _as_float(self.value),
                "formula": str(self.limit),
                "by": self.limit.by,
                "estimated": list(self.doubtful),
            }
        return {"vacuous": self.vacuous, "without_running": compared, "rests_on_estimates": listed(self.estimates)}

    @property
    def notes(self) -> tuple[str, ...]:
        """The same as sentences; none of a bound that says something and rests on no estimate."""
        said = []
        if self.is_impossible:
            said.append(
                "below 0, which the metric never is: with these numbers nothing satisfies the assumptions, or the statement is false"
            )
        if self.vacuous and self.limit is not None and self.value is not None and self.total is not None:
            what = f"{rounded_down(_as_float(self.value))} = {about_limit(self.limit, self.doubtful)}"
            said.append(f"vacuous: the bound {shown(self.total)} is not below what holds without running, {what}")
        elif self.vacuous:
            said.append("vacuous: the bound is infinite")
        return (*said, *about_estimates(self.estimates))


def about_limit(limit: Limit, doubtful: Collection[str]) -> str:
    """A limit as formula and words, with those of its constants that are estimates."""
    doubt = f"; estimated: {', '.join(doubtful)}" if doubtful else ""
    return f"{limit} ({limit.by}{doubt})"


def about_estimates(estimates: Mapping[str, str]) -> tuple[str, ...]:
    """The sentence on the estimates that an answer rests on, symbols that are as sure together; none where there are none."""
    names = {text: [name for name, other in estimates.items() if other == text] for text in estimates.values()}
    each = "; ".join(f"{', '.join(same)} ({text})" for text, same in names.items())
    return (f"rests on estimates, outside of which it promises nothing: {each}",) if each else ()


def listed(estimates: Mapping[str, str]) -> list[dict[str, str]]:
    """The same for JSON: `rests_on_estimates`."""
    return [{"symbol": name, "how_sure": text} for name, text in estimates.items()]


def estimates_of(statement: Statement, beside: Beside) -> dict[str, str]:
    """Symbol, or derived constant that was given as a number, of a statement -> how sure its value is, of the estimates."""
    names = {*statement.symbols, *(item.name for item in statement.derived)}
    return {name: text for name, text in beside.estimated.items() if name in names}


def doubtful_of(limit: Limit, beside: Beside) -> tuple[str, ...]:
    """The constants of a limit that are estimates."""
    return tuple(name for name, _ in limit.powers if name in beside.estimated)


def worth(statement: Statement, total: float | None, values: Mapping[str, Any], beside: Beside = NOTHING) -> Worth:
    """What a bound of a statement is worth.

    Args:
        total: its value; None where the statement bounds nothing. values: exact numbers by symbol.
    """
    used = estimates_of(statement, beside)
    is_impossible = (
        total is not None and total < 0 and bool(statement.theorem.metric.at)
    )  # all `MEASURES` are at least 0
    known = {name: Fraction(value) for name, value in beside.quantities.items()}
    found = limits(statement, known) if total is not None else ()
    wanted = {name for limit in found for name, _ in limit.powers if name not in known}
    known |= {name: Fraction(str(values[name])) for name in wanted if name in values}
    known |= dict(_derived(statement, wanted - known.keys(), values))
    pairs = [(limit.at(known), limit) for limit in found if known.keys() >= {name for name, _ in limit.powers}]
    if not pairs:
        return Worth(total, estimates=used, is_impossible=is_impossible)
    value, limit = min(pairs, key=lambda pair: pair[0])
    return Worth(total, limit, value, used, doubtful_of(limit, beside), is_impossible)
