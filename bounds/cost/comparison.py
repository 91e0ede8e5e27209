"""All theorems on the same quantities: what each says that a target costs, through the shared vocabulary.

The papers' letters clash, their quantities do not: a problem with `outer_sample_lipschitz = 2` has an outer Lipschitz
constant of at most 2 too, so a stronger quantity stands in for a weaker one that is not given. Where only a weaker one is given its
number is taken for the stronger one, which assumes more of the problem. The answer lists both kinds under what it assumes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ...suggestion import instead
from ..language.client_lists import CLIENTS, MAX_CLIENTS, alike_statement, for_clients
from ..language.notation import Binding
from ..language.quantities import QUANTITIES
from ..language.reading import InputError, is_array, read_number
from ..language.rendering import OfStatement, notes_about, status_of
from ..language.result import AbstractResult, Math, Sheet, Table, markdown_table, relative, shown, tex_number
from ..language.theorem import Statement, Theorem
from ..optimum.tuning import GLOBAL, Tuned, tune
from ..registry import all_papers, get_theorem
from .orders import Order, rates
from .resources import RESOURCES

if TYPE_CHECKING:
    from ...figures import Plot
    from ..language.theorem import Number

_PLAIN = "federated"
"""The kind without a composition: what the others are measured against."""

_COLUMNS = ("theorem", "statement", "problem")
_ORDERED = ("samples", "rounds", "iterations")


class _OfTheorem(OfStatement):
    """A row about one statement."""

    @property
    def kind(self) -> str:
        """The kind of problem."""
        return self.about.theorem.problem

    @property
    def named(self) -> dict[str, str]:
        """The cells of `_COLUMNS`, by keys of JSON."""
        return {"theorem": self.theorem, "statement": self.statement, "kind": self.kind}


@dataclass(frozen=True)
class Row(_OfTheorem):
    """One theorem: the cost to reach the target, or the reason why it says nothing."""

    tuned: Tuned | None
    reason: str
    assumed: tuple[str, ...]
    about: Statement = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.named,
            "metric": self.metric,
            "cost": self.tuned.cost if self.tuned else None,
            "values": {name: str(value) for name, value in self.tuned.values.items()} if self.tuned else None,
            "reason": self.reason,
            "assumed": list(self.assumed),
            "certificate": self.tuned.certificate if self.tuned else None,
            **(self.tuned.bound.worth.to_dict() if self.tuned else {}),
            "missing_costs": self.tuned.missing_costs if self.tuned else {},
            **status_of(self.about),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What makes its numbers unsafe or incomplete, each after its name."""
        if self.tuned is None:
            return ()
        doubt = () if self.tuned.certificate == GLOBAL else (f"tuned: {self.tuned.how}",)
        said = (*self.tuned.bound.worth.notes, *doubt, *self.tuned.missing)
        return tuple(f"{self.about.name}: {text}" for text in said)


@dataclass(frozen=True, repr=False)
class Comparison(AbstractResult):
    """Every theorem on one set of quantities."""

    eps: str
    quantities: dict[str, str]
    rows: tuple[Row, ...]
    cost: str = "samples"
    """What each theorem was tuned for."""

    def to_dict(self) -> dict[str, Any]:
        against = self.against_plain()
        rows = [{**row.to_dict(), "times_plain": against.get(row.theorem)} for row in self.rows]
        return {"eps": self.eps, "quantities": self.quantities, "cost": self.cost, "rows": rows}

    def sheet(self) -> Sheet:
        against = self.against_plain()
        rows = tuple(
            (
                *row.named.values(),
                *(row.tuned.amounts.get(name) if row.tuned else None for name in RESOURCES),
                against.get(row.theorem),
                row.reason,
            )
            for row in self.rows
        )
        sizes = relative(row.tuned.cost.get(self.cost) if row.tuned else None for row in self.rows)
        table = Table("costs", (*_COLUMNS, *RESOURCES, "times_plain", "reason"), rows, sizes)
        assumed = sorted({text for row in self.rows for text in row.assumed})
        own = (note for row in self.rows for note in row.notes)
        notes = (
            *self._metrics(),
            *_cautions(self.rows),
            *own,
            *((f"assumed: {', '.join(assumed)}",) if assumed else ()),
        )
        claim = Math(f"metric <= {self.eps}", rf"\text{{metric}} \le {tex_number(shown(float(Fraction(self.eps))))}")
        return Sheet("Cost of a target, by theorem", claim, (table,), notes)

    def _metrics(self) -> tuple[str, ...]:
        """What each theorem bounds, where that is not the same of all: a mean and a minimum below one number are two targets."""
        known = dict.fromkeys(row.metric for row in self.rows)
        about = {name: [row.about.name for row in self.rows if row.metric == name] for name in known}
        return tuple(f"metric {name}: {', '.join(rows)}" for name, rows in about.items()) if len(known) > 1 else ()

    def plot(self) -> Plot:
        """Samples and rounds of every theorem that reaches the target."""
        from ...figures import Axis, bar_plot

        reached = {row.about.name: row.tuned.cost for row in self.rows if row.tuned}
        groups = {name: {about: cost.get(name) for about, cost in reached.items()} for name in ("samples", "rounds")}
        return bar_plot(groups, title=f"Cost of a bound of {self.eps}", axis=Axis("per client", "1"), log=True)

    def against_plain(self, cost: str = "samples") -> dict[str, float]:
        """What composition costs: by theorem, its cost in units of the cheapest one about a plain federated problem.

        Empty where no theorem about that kind was compared.
        """
        costs = {row.theorem: row.tuned.cost[cost] for row in self.rows if row.tuned and cost in row.tuned.cost}
        plain = [costs[row.theorem] for row in self.rows if row.kind == _PLAIN and row.theorem in costs]
        return {name: value / min(plain) for name, value in costs.items()} if plain else {}

    def markdown(self) -> str:
        """A table, one row per theorem."""
        against = self.against_plain()
        names = [*(name.replace("_", " ") for name in RESOURCES), *(["times plain"] if against else [])]
        return "\n".join(markdown_table([*_COLUMNS, *names], [self._cells(row, against) for row in self.rows]))

    def _cells(self, row: Row, against: Mapping[str, float]) -> list[str]:
        named = [*row.named.values()]
        if row.tuned is None:
            return [*named, row.reason]
        amounts = row.tuned.amounts
        costs = [f"{amounts[name]:.4g}" if name in amounts else "" for name in RESOURCES]
        return [*named, *costs, *([f"{against[row.theorem]:.4g}"] if row.theorem in against else [])]

    def __str__(self) -> str:
        head = f"cost of metric <= {self.eps}, each theorem tuned for the fewest {self.cost.replace('_', ' ')}"
        return "\n".join([head, self.markdown(), *self.sheet().notes])


def _cautions(rows: Sequence[Row] | Sequence[OrderRow]) -> tuple[str, ...]:
    """What has to be said of the statements in a table."""
    return tuple(f"{row.about.name}: {text}" for row in rows for text in notes_about(row.about))


@overload
def compare(
    eps: Number,
    quantities: Mapping[str, Number] | None = None,
    /,
    *,
    theorems: Sequence[Theorem | str] = (),
    kind: str | None = None,
    statement: str | None = None,
    cost: str = "samples",
) -> Comparison: ...
@overload
def compare(
    *given: Theorem | str | Path | Number | Mapping[str, Number],
    eps: Number | None = None,
    quantities: Mapping[str, Number] | None = None,
    theorems: Sequence[Theorem | str] = (),
    kind: str | None = None,
    statement: str | None = None,
    cost: str = "samples",
) -> Comparison | OrderTable: ...
def compare(
    *given: Any,
    eps: Number | None = None,
    quantities: Mapping[str, Number] | None = None,
    theorems: Sequence[Theorem | str] = (),
    kind: str | None = None,
    statement: str | None = None,
    cost: str = "samples",
) -> Comparison | OrderTable:
    """What every theorem says that `metric <= eps` costs, on the same quantities; without `eps` the exact orders as eps goes to 0.

    Args:
        given: theorems, by id or file or the theorems themselves, then `eps` and `quantities`, where these are not named.
        theorems: more of them; the main theorems of all papers that bound a squared gradient where none is given. Their metrics
            must have one unit.
        quantities: quantity name -> value; what is not given (and not implied) counts as 1, clients as 10.
        kind: only theorems about this kind of problem.
        statement: a label; the corrected statement of a theorem, the printed one where there is none, without it or where a theorem
            has no such statement. Without `eps` only theorems that have it.

    Raises:
        InputError: an unknown theorem, quantity, kind, label or resource, a bad number, or more than these.

    Example:
        >>> print(compare("baselines.local_sgd", "baselines.minibatch_sgd").rows[0].theorem)
        baselines.local_sgd
    """
    first = next((place for place, item in enumerate(given) if not _is_theorem(item)), len(given))
    theorems, rest = (*given[:first], *theorems), list(given[first:])
    eps = rest.pop(0) if rest and eps is None and not isinstance(rest[0], Mapping) else eps
    quantities = rest.pop(0) if rest and quantities is None and isinstance(rest[0], Mapping) else quantities
    if rest:
        said = rest[0].id if isinstance(rest[0], Theorem) else str(rest[0])[:60]
        raise InputError(f"{said}: wanted theorems, then eps, a number, then quantities, a mapping")
    if eps is None:
        if quantities is not None:
            raise InputError("eps: wanted a number beside the quantities; without both the exact orders are compared")
        labels = (statement,) if statement else ("printed", "corrected")
        return orders(kind, labels, [get_theorem(item) for item in theorems])
    asked = dict(quantities or {})
    chosen = _of_one_unit([get_theorem(item) for item in theorems])
    known = known_quantities(chosen)
    for name, value in asked.items():
        if name not in known:
            raise InputError(f"{name[:40]}: not a quantity of any theorem; {instead(name, tuple(sorted(known)))}")
        if not is_array(value):
            read_number(name, value)
    _check_kind(kind, chosen)
    _refuse_two_meanings(chosen, asked)
    if cost not in RESOURCES:
        raise InputError(f"{cost[:40]!r}: not a resource; {instead(cost, RESOURCES)}")
    rows = tuple(_row(theorem, eps, asked, statement, cost) for theorem in chosen if kind in (None, theorem.problem))
    return Comparison(str(eps), {name: str(value) for name, value in asked.items()}, rows, cost)


def _is_theorem(item: Any) -> bool:
    """Whether something names a theorem, and is no number."""
    if isinstance(item, Theorem):
        return True
    if not isinstance(item, str):
        return False
    try:
        read_number("eps", item)
    except InputError:
        return True
    return False


@dataclass(frozen=True)
class OrderRow(_OfTheorem):
    """One statement of one theorem: the exact orders of its cheapest schedule, or the reason why it has none."""

    costs: dict[str, Order]
    reason: str
    about: Statement = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        costs = {name: order.to_dict() for name, order in self.costs.items()}
        return {**self.named, "costs": costs, "reason": self.reason, **status_of(self.about)}


@dataclass(frozen=True, repr=False)
class OrderTable(AbstractResult):
    """The comparison tables of the papers, derived again: least samples per client, then least rounds, as eps -> 0."""

    rows: tuple[OrderRow, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [row.to_dict() for row in self.rows]}

    def sheet(self) -> Sheet:
        rows = tuple(
            (*row.named.values(), *(row.costs[n].math() if row.costs else None for n in _ORDERED), row.reason)
            for row in self.rows
        )
        table = Table("orders", (*_COLUMNS, *_ORDERED, "reason"), rows)
        return Sheet("Orders of the cheapest schedule as the target goes to 0", None, (table,), _cautions(self.rows))

    def plot(self) -> Plot:
        """The power of 1/eps of samples and rounds."""
        from ...figures import Axis, bar_plot

        known = {row.about.name: row.costs for row in self.rows if row.costs}
        groups = {name: {about: float(c[name].eps) for about, c in known.items()} for name in ("samples", "rounds")}
        return bar_plot(groups, title="Orders of the cheapest schedule", axis=Axis(r"power of $1/\epsilon$", "1"))

    def markdown(self) -> str:
        rows = [
            [*row.named.values(), *(map(str, map(row.costs.get, _ORDERED)) if row.costs else [row.reason])]
            for row in self.rows
        ]
        return "\n".join(markdown_table([*_COLUMNS, *_ORDERED], rows))

    def __str__(self) -> str:
        head = "orders of the cheapest schedule for metric <= eps, per client"
        return "\n".join([head, self.markdown(), *_cautions(self.rows)])


def orders(
    kind: str | None = None,
    labels: Sequence[str] = ("printed", "corrected"),
    theorems: Sequence[Theorem] = (),
) -> OrderTable:
    """The exact orders of these theorems, or of every main theorem, for each of the labels that they have.

    Raises:
        InputError: an unknown kind.
    """
    chosen = _of_one_unit(theorems)
    _check_kind(kind, chosen)
    rows = []
    for item in chosen:
        for label in (label for label in labels if label in item.labels and kind in (None, item.problem)):
            try:
                found, reason = dict(rates(item.statement(label)).costs), ""
            except InputError as error:
                found, reason = {}, str(error).partition(": ")[2]
            rows.append(OrderRow(found, reason, alike_statement(item.statement(label))))
    return OrderTable(tuple(rows))


def _check_kind(kind: str | None, theorems: Sequence[Theorem]) -> None:
    known = dict.fromkeys(theorem.problem for theorem in theorems)
    if kind is not None and kind not in known:
        raise InputError(f"{kind[:40]!r}: not a kind of problem; {instead(kind, known)}")


def _main_theorems() -> list[Theorem]:
    return [theorem for paper in all_papers() for theorem in paper.main_theorems]


def _of_one_unit(theorems: Sequence[Theorem]) -> list[Theorem]:
    """The theorems whose metrics can be compared; of the main ones, where none is given, those that bound a squared gradient.

    Raises:
        InputError: two of them bound metrics of different units, or one a metric of its own that another does not bound.
    """
    if not theorems:
        return [theorem for theorem in _main_theorems() if theorem.metric.is_squared_gradient]
    bounded = {theorem.metric.dimension: theorem for theorem in reversed(theorems)}
    if len(bounded) > 1:
        said = "; ".join(f"{t.id} bounds {t.metric.name} [{unit}]" for unit, t in reversed(bounded.items()))
        raise InputError(
            f"{said}: wanted theorems whose metrics have one unit, as a target for one is none for the other"
        )
    for own in (each for each in theorems if each.metric.own is not None):
        other = next((each for each in theorems if each.metric != own.metric), None)
        if other is not None:
            raise InputError(
                f"{own.id} bounds {own.metric.name}, a metric of its own, and {other.id} bounds {other.metric.name}: "
                "wanted theorems with the same one"
            )
    return list(theorems)


def known_quantities(theorems: Sequence[Theorem] = ()) -> set[str]:
    """The quantities that a comparison of these theorems (of the main ones without any) can be given."""
    theorems = theorems or _main_theorems()
    bindings = (binding for theorem in theorems for binding in theorem.notation)
    extra = {b.quantity.name for b in bindings if b.quantity.role == "constant" or b.per_client}
    constants = {name for name, quantity in QUANTITIES.items() if quantity.role == "constant"}
    fixed = {name for name, quantity in QUANTITIES.items() if quantity.default is not None}
    return constants | extra | fixed


def _refuse_two_meanings(theorems: Sequence[Theorem], given: Iterable[str]) -> None:
    """A value for a word that two theorems declare as something else each serves none of them."""
    for name in given:
        meant = {own: theorem.id for theorem in theorems for own in theorem.notation.own if own.name == name}
        if len(meant) > 1:
            listed = ", ".join(f"{own.meaning} [{own.dimension}] in {where}" for own, where in meant.items())
            raise InputError(f"{name}: means {listed}; wanted another name in one of them")


def _row(theorem: Theorem, eps: Any, given: Mapping[str, Any], statement: str | None, cost: str) -> Row:
    if statement is not None and statement not in ("printed", "composed", "corrected"):
        raise InputError(f"{statement[:20]}: not a statement; wanted printed, composed or corrected")
    label = statement if statement in theorem.labels else theorem.default
    values: dict[str, Any] = {}
    assumed: list[str] = []
    try:
        for name, binding in theorem.symbols(label).items():
            value = _value(binding, given, assumed)
            if value is not None:
                values[name] = value
        made, values = for_clients(theorem.statement(label), values)
        tuned, reason = tune(made, values, eps=eps, cost=cost), ""
    except InputError as error:
        tuned, reason = None, str(error)
    return Row(tuned, reason, tuple(assumed), theorem.statement(label))


def _value(binding: Binding, given: Mapping[str, Any], assumed: list[str]) -> Any:
    name = binding.quantity.name
    if name in given:
        if is_array(given[name]) and not binding.per_client:
            raise InputError(f"{name}: got one number for each client, and {binding.name} is one for all of them")
        return given[name]
    if binding.quantity.role == "hyperparameter":
        return binding.quantity.default
    other = next((source for source in binding.quantity.stand_ins if source in given), None)
    if total := binding.quantity.numbers.total:  # every client has the same share of it
        clients = _clients(given)
        assumed.append(f"{name} = {Fraction(total, clients)}")
        return [Fraction(total, clients)] * clients
    assumed.append(f"{name} = {other or binding.quantity.numbers.plain}")
    return given[other] if other else binding.quantity.numbers.plain


def _clients(given: Mapping[str, Any]) -> int:
    """How many clients there are: as many as is said, as a list has numbers, or as a comparison takes unasked.

    Raises:
        InputError: no whole number, or too many for a list.
    """
    known = QUANTITIES[CLIENTS]
    lengths = (len(value) for value in given.values() if is_array(value))
    number = read_number(CLIENTS, given.get(CLIENTS, next(lengths, known.default)), known.numbers.a_number)
    if not known.numbers.contains(number) or number > MAX_CLIENTS:
        raise InputError(f"{CLIENTS}: wanted {known.numbers.a_number} of at most {MAX_CLIENTS}, got {number}")
    return int(number)


def figure(
    out: Path,
    targets: list[float],
    quantities: Mapping[str, Any] | None = None,
    *,
    cost: str = "samples",
    **options: Any,
) -> None:
    """The cost of every theorem over a range of targets."""
    from ...figures import Axis
    from ..region.pictures import lines_picture

    curves: dict[str, tuple[list[float], list[float]]] = {}
    for eps in targets:
        for row in compare(eps, quantities or {}, cost=cost, **options).rows:
            if row.tuned and cost in row.tuned.cost:
                x, y = curves.setdefault(row.about.name, ([], []))
                x.append(eps)
                y.append(row.tuned.cost[cost])
    target, spent = Axis(r"target $\epsilon$ for the metric", "1"), Axis(f"{cost.replace('_', ' ')} per client", "1")
    lines_picture(out, curves, target, spent, "Cost of a target, by theorem")
