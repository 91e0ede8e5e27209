"""A statement whose symbols have one number for each client: with lists of numbers, and with one number for all clients.

Both are statements without such symbols, and every question is asked of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy as sp

from .clients import SUFFIX, alike, at_clients, bare
from .notation import Binding, Notation, latex_of
from .quantities import QUANTITIES
from .quantity import Quantity
from .reading import InputError, is_array, read_number, read_value
from .theorem import Statement, Theorem

MAX_CLIENTS = 10_000
"""Most numbers in one list."""
CLIENTS = "clients"
"""The quantity that counts clients."""
_SECOND = "_all"
"""Ending of the name of a symbol that stands for the numbers of all clients, where the plain name is taken."""
_OF_THE_RUN = (CLIENTS, "sampled_clients", "participation", "iterations", "rounds", "failure_probability")
"""Hyperparameters of which no client has its own."""
Lists = dict[str, tuple[Fraction, ...]]


def for_clients(
    statement: Statement, values: Mapping[str, Any], without: Collection[str] = ()
) -> tuple[Statement, dict[str, Any]]:
    """The statement with the numbers of all clients worked in, and the values of its other symbols.

    Args:
        values: symbol -> value; of a symbol of single clients a list, or one number that all of them have. The number of clients
            is the length of the lists where it is not given, and is among the values that come back.
        without: symbols that are to have no value.

    Raises:
        InputError: a list is missing, has another length than another one or a number outside its domain, or its numbers do not
            add up to what they should.
    """
    own = {name: binding for name, binding in statement.symbols.items() if binding.per_client}
    if not own:
        return statement, dict(values)
    for name, binding in own.items():
        if name in without:
            raise InputError(f"{name}: one number for each client, which nothing solves for; wanted a list of them")
        if values.get(name) is None:
            raise _missing(binding)
    given = {name: _entries(values[name]) for name in own}
    lists = {name: tuple(read_entry(own[name], v, at) for at, v in enumerate(e, 1)) for name, e in given.items() if e}
    others = {name: value for name, value in values.items() if name not in own}
    clients = _clients(statement, lists, others, without)
    for name, entries in given.items():
        if not entries:
            lists[name] = (read_value(own[name], values[name]),) * clients
    for name, binding in own.items():
        total = binding.quantity.numbers.total
        if total is not None and sum(lists[name]) != total:
            raise InputError(
                f"{name}: wanted numbers with sum {total} ({binding.quantity.meaning}), got {sum(lists[name])}; 1/3 is exact, 0.333 is not"
            )
    known = {own[name].symbol: [sp.Rational(n) for n in each] for name, each in lists.items()}
    made = replace(_each(statement, lambda expr: at_clients(expr, known)), clients={**statement.clients, **lists})
    return made, {name: value for name, value in others.items() if name in made.symbols}


def _missing(binding: Binding) -> InputError:
    wanted = f"wanted a list with {binding.quantity.numbers.a_number} for each client"
    one = "" if binding.quantity.numbers.total else ", or one for all of them"
    return InputError(f"{binding.name}: {wanted}{one} ({binding.quantity.meaning}), got nothing")


def _entries(value: Any) -> list[Any]:
    """The entries of a list, of an array or of a text such as `1, 2, 4` or `[1, 2, 4]`; none of a single number."""
    if isinstance(value, str) and ("," in value or value.strip().startswith("[")):
        text = value.strip()
        inside = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return [part.strip() for part in inside.split(",")]
    return list(value) if is_array(value) else []


def read_entry(binding: Binding, value: Any, client: int) -> Fraction:
    """The number of one client, counted from 1.

    Raises:
        InputError: it is no number, or outside the domain.
    """
    domain, where = binding.quantity.numbers, f"{binding.name}, client {client}"
    number = read_number(where, value, domain.a_number)
    if not domain.contains(number):
        raise InputError(f"{where}: wanted {domain.a_number} ({binding.quantity.meaning}), got {value}")
    return number


def _clients(statement: Statement, lists: Lists, others: dict[str, Any], without: Collection[str]) -> int:
    """How many clients there are; a symbol that stands for it gets the value."""
    lengths = {name: len(each) for name, each in lists.items()}
    symbol = next((name for name, b in statement.symbols.items() if b.quantity.name == CLIENTS), None)
    if symbol in without:
        raise InputError(f"{symbol}: is the length of the lists; wanted another symbol to solve for")
    if not lengths and (symbol is None or symbol not in others):
        first = next(name for name, b in statement.symbols.items() if b.per_client)
        raise InputError(f"{first}: wanted a list, or the number of clients beside one number for all of them")
    first, count = next(iter(lengths.items()), (symbol or "", 0))
    if symbol is not None and symbol in others:
        known = read_value(statement.symbols[symbol], others[symbol])
        count = count or int(known)
        if known != count:
            raise InputError(f"{symbol}: wanted {count}, the length of the list {first}, got {known}")
    for name, length in lengths.items():
        if length != count:
            raise InputError(f"{name}: wanted {count} numbers, one for each client as in {first}, got {length}")
    if not 0 < count <= MAX_CLIENTS:
        raise InputError(f"{first}: wanted at most {MAX_CLIENTS} clients, got {count}")
    if symbol is not None:
        others[symbol] = count
    return count


def _each(statement: Statement, made: Callable[[sp.Expr], sp.Expr]) -> Statement:
    """The statement with what `made` makes of each of its formulas."""
    return replace(
        statement,
        terms=tuple(replace(term, expr=made(term.expr)) for term in statement.terms),
        conditions=tuple(condition.each_side(made) for condition in statement.conditions),
        derived=tuple(replace(constant, expr=made(sp.sympify(constant.expr))) for constant in statement.derived),
        schedule={name: made(sp.sympify(expr)) for name, expr in statement.schedule.items()},
    )


# --- one number for all clients ---------------------------------------------------------------------------------------


def with_clients_alike(theorem: Theorem) -> Theorem:
    """What a theorem says where all clients have the same numbers: `L` is every `L_i`, and every weight is 1/N.

    The theorem itself where it has no symbols of single clients.
    """
    own = [binding for binding in theorem.notation if binding.per_client]
    if not own:
        return theorem
    taken = {
        *theorem.notation.bindings,
        *(d.name for label in theorem.labels for d in theorem.statement(label).derived),
    }
    names: dict[str, str] = {}
    for binding in own:
        plain = binding.name.removesuffix(SUFFIX)
        names[binding.name] = plain if plain not in taken else f"{plain}{_SECOND}"
    weights = {binding.name for binding in own if binding.quantity.numbers.total}
    entries = [_entry(binding, names) for binding in theorem.notation if binding.name not in weights]
    stands_for = {names[b.name]: b.name for b in own if b.name not in weights}
    counts = clients_of(theorem)
    if not counts:
        counts = "N" if "N" not in {*taken, *names.values()} else "N_clients"
        entries.append((counts, counts, CLIENTS, ""))
        stands_for[counts] = ""
    stands_for |= {f"1/{counts}": ", ".join(sorted(weights))} if weights else {}
    notation = Notation(theorem.notation.paper, tuple(entries), theorem.notation.extra, theorem.notation.own)
    N = notation[counts].symbol
    same = {b.symbol: notation[b.name].symbol for b in theorem.notation if not b.per_client}
    numbers = {b.symbol: 1 / N if b.name in weights else notation[names[b.name]].symbol for b in own}

    def made(expr: sp.Expr) -> sp.Expr:
        return alike(sp.sympify(expr), numbers, N).xreplace(same)

    call = theorem.method
    if call is not None:
        drop = {b.symbol for b in own if b.name in weights}
        call = replace(call, values={name: made(f) for name, f in call.values.items() if sp.sympify(f) not in drop})
    assumptions = tuple(
        replace(item, name=names.get(item.name, item.name), bounds=tuple(_renamed(each, names) for each in item.bounds))
        for item in theorem.assumptions
        if item.name not in weights
    )
    return replace(
        theorem,
        notation=notation,
        statements={label: replace(_each(theorem.statement(label), made), owner=None) for label in theorem.labels},
        method=call,
        assumptions=assumptions,
        follows_from=None,
        alike=stands_for,
    )


def alike_statement(statement: Statement) -> Statement:
    """A statement of a theorem where all clients have the same numbers; itself where it has no symbols of single clients."""
    if not any(binding.per_client for binding in statement.symbols.values()):
        return statement
    return with_clients_alike(statement.theorem).statement(statement.label)


def about_alike(theorem: Theorem) -> str:
    """That a theorem of `with_clients_alike` speaks of equal clients, and what stands for their numbers; empty for any other one."""
    same = [f"{name} is every {symbol}" for name, symbol in theorem.alike.items() if symbol]
    return f"where all clients have the same numbers: {', '.join(same)}" if same else ""


def clients_of(theorem: Theorem) -> str:
    """The symbol for the number of clients; empty where there is none."""
    return next((binding.name for binding in theorem.notation if binding.quantity.name == CLIENTS), "")


def _entry(binding: Binding, names: Mapping[str, str]) -> tuple[str, str, str, str]:
    if not binding.per_client:
        return binding.name, binding.latex, binding.quantity.name, binding.note
    name = names[binding.name]
    return name, latex_of(name), binding.quantity.name, f"every {binding.name}"


def _renamed(bound: str | tuple[str, str], names: Mapping[str, str]) -> str | tuple[str, str]:
    return names.get(bound, bound) if isinstance(bound, str) else (names.get(bound[0], bound[0]), bound[1])


def why_not_of_one_client(quantity: Quantity) -> str:
    """Why a quantity is no number of one client; empty where it may be one, as a word of one's own that bounds nothing formal."""
    shared = quantity.name in QUANTITIES
    if quantity.numbers.total:
        return ""
    if quantity.role == "constant":
        of_one = bool(quantity.bounds) or not shared
        of_one = of_one and all(form.is_of_one_client for form in quantity.bounds)
    else:
        of_one = quantity.name not in _OF_THE_RUN
    if of_one:
        return ""
    wanted = (
        "a word of your own under [quantities]" if shared else "one whose `bounds` are of a function of each client"
    )
    return f"{quantity.name} is one number for all clients: declare {wanted}"


def as_certified(theorem: Theorem) -> str:
    """That a run takes what is certified of all clients for the number of each; empty where no symbol has one for each client."""
    own = [
        b.name
        for b in theorem.notation
        if b.per_client and b.quantity.role == "constant" and not b.quantity.numbers.total
    ]
    return f"every client has the constant that is certified for all of them: {', '.join(own)}" if own else ""


def refuse_bare(expr: sp.Expr) -> str:
    """What is wrong with a formula that has the number of one client outside of what is made over all of them; empty where none has."""
    found = sorted(map(str, bare(expr)))
    if not found:
        return ""
    return f"{found[0]} is one number for each client: it stands inside sum_i(), mean_i(), max_i() or min_i()"
