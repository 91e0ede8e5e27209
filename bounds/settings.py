"""What a user knows of a problem, as values of one statement's symbols: one set of constants serves every statement.

A name is a symbol of the statement in its paper's letters (`L_f`), the quantity that a symbol stands for
(`outer_smoothness`), or a derived constant (`L_F`), which then need not be made from its parts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..suggestion import nearest
from .evaluation.evaluate import exact
from .evaluation.without_running import Beside, serves
from .language.assumptions import RULES
from .language.client_lists import for_clients
from .language.clients import SUFFIX
from .language.quantities import QUANTITIES
from .language.reading import InputError, is_array, read_number, read_toml, read_value, shown_name
from .language.theorem import Statement, Theorem
from .registry import all_theorems

UNKNOWN = "?"
"""The value of a constant in a file that is still to be filled in."""
ESTIMATED = "estimated"
"""The table of a file of constants that says which are estimates, and how sure each is."""


@dataclass(frozen=True)
class Assumed:
    """A value that a rule gave: `symbol` has `value`, which is `source` (a number, or quantities), by `rule`."""

    symbol: str
    value: str
    rule: str
    source: str


@dataclass(frozen=True)
class Resolved:
    """A statement with the values for its symbols.

    Args:
        statement: the statement; where a derived constant is given, the same with that number in place of its formula.
        values: symbol -> value as given.
        unused: names of `shared` that the statement has no use for.
        assumed: what rules filled in.
        replaced: derived constants that were given, with their value.
        beside: what is known beside the symbols: what holds without running, and which values are estimates.
    """

    statement: Statement
    values: dict[str, Any]
    unused: tuple[str, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    beside: Beside = field(default_factory=Beside)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: `unused`, `assumed` and `replaced`, and `clients` where there are numbers of single clients."""
        clients = {name: [str(number) for number in each] for name, each in self.statement.clients.items()}
        return {
            "unused": list(self.unused),
            "assumed": [asdict(item) for item in self.assumed],
            "replaced": dict(self.replaced),
            **({"clients": clients} if clients else {}),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """The same as lines for a person, after the numbers of single clients."""
        clients = self.statement.clients
        lines = [f"of each client: {name} = {', '.join(map(str, numbers))}" for name, numbers in clients.items()]
        lines += [f"{name} = {value} as given, not made from its parts" for name, value in self.replaced]
        for rule in dict.fromkeys(item.rule for item in self.assumed):
            filled = [item for item in self.assumed if item.rule == rule]
            shown = ", ".join(
                f"{item.symbol} = {item.value}" + ("" if item.source[0].isdigit() else f" ({item.source})")
                for item in filled
            )
            lines.append(f"assumed by {rule} ({RULES[rule].meaning}): {shown}")
        return (*lines, *([f"not used: {', '.join(self.unused)}"] if self.unused else []))


def resolve(
    statement: Statement,
    values: Mapping[str, Any],
    shared: Mapping[str, Any] | Path | str | None = None,
    assume: str | Sequence[str] = (),
    without: Collection[str] = (),
) -> Resolved:
    """Values of the symbols of a statement from what a user knows.

    A quantity that no symbol stands for, and that says what the metric is without running (`initial_gradient_norm`, `gradient_cap`,
    `objective_smoothness` beside an `objective_gap`), is taken too: the answer is compared with it.

    Args:
        values: name -> value, for this statement: a name that it does not use is an error. They go before `shared`.
        shared: name -> value, or a file of them (`read_constants`), for every statement: a name that this one does not use
            is listed, unless nothing has that name. Its entry `estimated` says of each estimate how sure it is.
        assume: rules that fill in constants that are not given, in this order (`RULES`).
        without: symbols that are to have no value, such as those that are solved for.

    Raises:
        InputError: an unknown name or rule, a name that means two symbols, or two values for one symbol; a list where one number
            is wanted, or the lists of single clients do not fit (`for_clients`).
    """
    shared, estimated = _shared(shared)
    assume = (assume,) if isinstance(assume, str) else tuple(assume)
    for rule in assume:
        if rule not in RULES:
            raise InputError(f"{rule[:40]!r}: not an assumption; {nearest(rule, tuple(RULES))}")
    helpful = serves(statement, [name for name in (*shared, *values) if _is_no_symbol(statement, name)])
    others = {name: read_number(name, value) for name, value in {**shared, **values}.items() if name in helpful}
    found, derived = _symbols_and_derived(statement, _without(values, helpful), None)
    more, more_derived = _symbols_and_derived(statement, _without(shared, helpful), unused := [])
    doubts = {symbol_of(statement, name) or name: text for name, text in estimated.items() if name not in values}
    doubts = {name: text for name, text in doubts.items() if name not in found}
    found = {**{symbol: value for symbol, value in more.items() if symbol not in without}, **found}
    derived = {**more_derived, **derived}
    unused += [symbol for symbol in more if symbol in without]
    if derived:
        statement = _with_numbers(statement, derived)
        unused += [symbol for symbol in found if symbol not in statement.symbols]
        found = {symbol: value for symbol, value in found.items() if symbol in statement.symbols}
    assumed = _assumed(statement, found, {**shared, **values}, assume, without)
    found |= {item.symbol: item.value for item in assumed}
    taken = {*found, *others, *derived}
    statement, found = for_clients(statement, found, without)
    replaced = tuple((name, str(value)) for name, value in derived.items())
    beside = Beside(_checked(others), {name: text for name, text in doubts.items() if name in taken})
    return Resolved(statement, found, tuple(dict.fromkeys(unused)), assumed, replaced, beside)


def _shared(given: Mapping[str, Any] | Path | str | None) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The constants for every statement, and how sure the estimates among them are."""
    if isinstance(given, (str, Path)):
        table = read_toml(Path(given))
        return _constants(table, given), _estimates(table.get(ESTIMATED, {}), table, f" in {given}")
    table = dict(given or {})
    return table, _estimates(table.pop(ESTIMATED, {}), table, "")


def _without(given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def _is_no_symbol(statement: Statement, name: str) -> bool:
    return name in QUANTITIES and name not in derivable(statement) and symbol_of(statement, name) is None


def _checked(others: Mapping[str, Fraction]) -> Mapping[str, Fraction]:
    """
    Raises:
        InputError: a value outside of its quantity's domain.
    """
    for name, value in others.items():
        if not QUANTITIES[name].numbers.contains(value):
            raise InputError(
                f"{name}: wanted {QUANTITIES[name].numbers.a_number} ({QUANTITIES[name].meaning}), got {value}"
            )
    return others


def _symbols_and_derived(
    statement: Statement, values: Mapping[str, Any], unused: list[str] | None
) -> tuple[dict[str, Any], dict[str, Fraction]]:
    """Symbol -> value, and derived constant -> number; a name without use is an error, or joins `unused`."""
    found: dict[str, Any] = {}
    named: dict[str, str] = {}
    derived: dict[str, Fraction] = {}
    for name, value in values.items():
        if isinstance(value, tuple) and unused is not None:
            _refuse_list(statement, name)
        if name in derivable(statement):
            derived[name] = _read_derived(name, value)
            continue
        symbol = symbol_of(statement, name)
        if symbol is None:
            _without_use(statement, name, unused)
            continue
        if symbol in found and not _are_equal(name, value, found[symbol]):
            raise InputError(
                f"{name}: is {symbol} in {statement.name}, and {named[symbol]} has another value; wanted one"
            )
        found[symbol], named[symbol] = value, name
    return found, derived


def _are_equal(name: str, *values: Any) -> bool:
    """Whether two values of one symbol are the same number, or the same list."""
    if any(is_array(value) or "," in str(value) for value in values):
        return len({str(value) for value in values}) == 1
    return len({read_number(name, value) for value in values}) == 1


def _refuse_list(statement: Statement, name: str) -> None:
    symbol = symbol_of(statement, name)
    if symbol is None or statement.symbols[symbol].per_client:
        return
    raise InputError(
        f"{name}: wanted one number ({statement.symbols[symbol].meaning}), got a list; a list is for a symbol whose name ends in {SUFFIX}"
    )


def read_constants(path: str | Path) -> dict[str, Any]:
    """NAME -> text of a number, or a tuple of texts for numbers of single clients, from a TOML file; what is still "?" there is left out.

    Raises:
        InputError: an unreadable file, or an entry that is no number and no list of numbers.
    """
    return _constants(read_toml(Path(path)), path)


def _constants(table: Mapping[str, Any], path: str | Path) -> dict[str, Any]:
    table = {name: value for name, value in table.items() if name != ESTIMATED}
    for name, value in table.items():
        entries = value if isinstance(value, list) and value else [value]
        if any(not isinstance(entry, (str, int)) or isinstance(entry, bool) for entry in entries):
            raise InputError(f"{name}: wanted a number in {path}, or a list of numbers, got {value!r}")
    known = {name: value for name, value in table.items() if value != UNKNOWN}
    return {name: tuple(map(str, v)) if isinstance(v, list) else str(v) for name, v in known.items()}


def _estimates(estimated: Any, table: Collection[str], where: str) -> dict[str, str]:
    if not isinstance(estimated, Mapping) or not all(isinstance(text, str) for text in estimated.values()):
        raise InputError(f"{ESTIMATED}: wanted a table of texts{where}, got {estimated!r:.60}")
    if unknown := [name for name in estimated if name not in table]:
        raise InputError(f"{ESTIMATED}: wanted names of constants{where}, got {shown_name(unknown[0])}")
    return dict(estimated)


def of_quantities(shared: Mapping[str, Any], known: Collection[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a comparison of theorems can use of the constants for every statement: those that are given as quantities, whose
    names mean the same in every paper; and the names of the others.

    Raises:
        InputError: a name that nothing has.
    """
    others = tuple(name for name in shared if name not in known)
    for name in others:
        if name not in QUANTITIES and name not in _names_anywhere():
            raise InputError(
                f"{shown_name(name)}: not a quantity or a symbol of any theorem; {nearest(name, tuple(known))}"
            )
    return {name: value for name, value in shared.items() if name in known}, others


def symbol_of(statement: Statement, name: str) -> str | None:
    """The symbol of a statement that a name means, by its letter or by its quantity.

    Raises:
        InputError: two symbols are of that quantity.
    """
    if name in statement.symbols:
        return name
    same = [symbol for symbol, binding in statement.symbols.items() if binding.quantity.name == name]
    if len(same) > 1:
        raise InputError(f"{name}: is {' and '.join(same)} in {statement.name}; wanted the symbols themselves")
    return same[0] if same else None


def derivable(statement: Statement) -> dict[str, str]:
    """Derived constants that may be given instead of their parts, with their meaning: those of the problem alone."""
    if not statement.terms:
        return {}  # what the lemma gives is no input of it
    roles = {binding.symbol: binding.quantity.role for binding in statement.theorem.notation}
    return {
        item.name: item.meaning
        for item in statement.derived
        if item.name not in statement.symbols
        and all(roles.get(symbol) == "constant" for symbol in statement.symbols_of(item.expr))
    }


def _read_derived(name: str, value: Any) -> Fraction:
    number = read_number(name, value, "a nonnegative real")
    if number < 0:
        raise InputError(f"{name}: wanted a nonnegative real (a derived constant), got {value}")
    return number


def _with_numbers(statement: Statement, numbers: Mapping[str, Fraction]) -> Statement:
    derived = tuple(
        replace(item, expr=exact(numbers[item.name])) if item.name in numbers else item for item in statement.derived
    )
    return replace(statement, derived=derived)


def _without_use(statement: Statement, name: str, unused: list[str] | None) -> None:
    """Note a name that the statement has no use for, where that is allowed and the name is one of something."""
    if unused is not None and (name in QUANTITIES or name in _names_of(statement.theorem) or name in _names_anywhere()):
        unused.append(name)
        return
    own = tuple(dict.fromkeys((*statement.symbols, *derivable(statement))))
    quantities = tuple(binding.quantity.name for binding in statement.symbols.values())
    close = nearest(str(name), (*own, *quantities))
    hint = close if close.startswith("the nearest") else f"wanted one of {' '.join(own)}"
    raise InputError(f"{shown_name(name)}: not a symbol of {statement.name}; {hint}")


def _names_of(theorem: Theorem) -> set[str]:
    """Letters, quantities and derived constants of a theorem; a statement that is composed by code is not composed for it."""
    made = [statement for statement in theorem.statements.values() if isinstance(statement, Statement)]
    names = {item.name for statement in made for item in statement.derived}
    return names | {name for binding in theorem.notation for name in (binding.name, binding.quantity.name)}


def _names_anywhere() -> set[str]:
    return {name for theorem in all_theorems().values() for name in _names_of(theorem)}


def _assumed(
    statement: Statement,
    found: Mapping[str, Any],
    given: Mapping[str, Any],
    assume: tuple[str, ...],
    without: Collection[str],
) -> tuple[Assumed, ...]:
    if not assume:
        return ()
    bindings = statement.symbols
    known = {
        bindings[name].quantity.name: read_value(bindings[name], v) for name, v in found.items() if not is_array(v)
    }
    known |= {name: read_number(name, value) for name, value in given.items() if name in QUANTITIES}
    made = []
    for name, binding in bindings.items():
        if name in found or name in without or binding.quantity.role != "constant":
            continue
        for rule in assume:
            answer = RULES[rule].value(binding.quantity.name, known, binding.quantity.numbers.plain)
            if answer is not None:
                made.append(Assumed(name, str(answer[0]), rule, answer[1]))
                break
    return tuple(made)
