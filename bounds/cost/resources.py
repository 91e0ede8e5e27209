"""What a run costs, per client: iterations, communication rounds, samples, and messages by size.

The counts are those of the algorithms in the papers (and of `algorithms/`, which counts what it sends); a symbol that a
statement lacks counts as what its absence means (`Quantity.absent`: 1 for a batch size), or makes the resource unavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import floor
from types import SimpleNamespace

import sympy as sp

from ...algorithms.declared import declared
from ...suggestion import nearest
from ..language.clients import at_clients, client_symbols
from ..language.reading import InputError
from ..language.theorem import RESOURCES, Statement
from .counts import method_costs, uncounted

MEANING = {
    "iterations": "local iterations",
    "rounds": "communication rounds",
    "samples": "samples per client",
    "model_messages": "messages of the size of the model, sent by one client",
    "embedding_messages": "messages of the size of the inner value, sent by one client",
}

_ROUNDING = 1e-12
_LISTED = 4
"""Methods that are named as examples."""


def declared_costs(statement: Statement) -> Mapping[str, sp.Expr]:
    """What the theorem itself says that a run costs."""
    theorem = statement.theorem
    if not callable(theorem.costs):
        return theorem.costs
    return theorem.costs(SimpleNamespace(**theorem.notation.symbols, present=statement.symbols))


def resources(statement: Statement) -> dict[str, sp.Expr]:
    """The resources that the hyperparameters of a statement determine, as formulas in its symbols.

    What the theorem does not declare is taken from its method's own count.
    """
    theorem, present = statement.theorem, statement.symbols
    absent = {
        b.symbol: sp.Rational(b.quantity.absent)
        for b in theorem.notation
        if b.name not in present and b.quantity.absent is not None
    }
    allowed = {binding.symbol for binding in present.values()}
    lists = {theorem.notation[n].symbol: tuple(map(sp.Rational, each)) for n, each in statement.clients.items()}

    def counted_by(expr: sp.Expr) -> sp.Expr:
        known = lists and client_symbols(expr) <= lists.keys()
        return at_clients(expr, lists).xreplace(absent) if known else expr.xreplace(absent)

    counted = {name: counted_by(expr) for name, expr in {**method_costs(theorem), **declared_costs(statement)}.items()}
    return {name: expr for name, expr in counted.items() if expr.free_symbols <= allowed}


def resource(statement: Statement, name: str) -> sp.Expr:
    """One resource, or a hyperparameter such as T under its own name.

    Raises:
        InputError: the statement has no such resource.
    """
    known = resources(statement)
    bindings = statement.symbols
    if name in known:
        return known[name]
    if name in bindings and bindings[name].quantity.role == "hyperparameter":
        return bindings[name].symbol
    wanted = [*known, *(b.name for b in bindings.values() if b.quantity.role == "hyperparameter")]
    raise InputError(f"{name[:30]}: not a resource of {statement.name}; {instead(name, wanted, statement)}")


def in_whole_rounds(statement: Statement, amounts: Mapping[str, float]) -> dict[str, float]:
    """Amounts as answers tell them: the rounds that end within the run, and the messages of these where there are as many in each."""
    rounds = amounts.get("rounds", 0.0)
    ended = float(round(rounds)) if abs(rounds - round(rounds)) <= _ROUNDING * rounds else float(floor(rounds))
    if ended == rounds:
        return dict(amounts)
    formulas = resources(statement)
    lengths = {
        b.symbol
        for b in statement.symbols.values()
        if b.quantity.name in ("iterations", "rounds", "communication_period")
    }
    in_each = (
        name
        for name in amounts
        if name.endswith("messages") and not sp.cancel(formulas[name] / formulas["rounds"]).free_symbols & lengths
    )
    return {**amounts, "rounds": ended, **{name: amounts[name] * ended / rounds for name in in_each}}


def refuse_free(statement: Statement, name: str, cost: sp.Expr) -> None:
    """A cost that is 0 whatever is chosen cannot be minimised.

    Raises:
        InputError: it is 0.
    """
    if cost == 0:
        raise InputError(f"{name}: nothing to minimise, {statement.name} has none of it")


def missing_costs(statement: Statement, counted: Collection[str]) -> tuple[str, ...]:
    """The resources that a statement does not determine; none for a lemma, which is no run.

    Messages of the inner value are not missing where those of the model are counted: who counts the ones counts the others, if there
    are any.

    Args:
        counted: those that it does.
    """
    if statement.theorem.kind not in ("theorem", "corollary"):
        return ()
    missing = [name for name in RESOURCES if name not in counted]
    return tuple(name for name in missing if name != "embedding_messages" or "model_messages" in missing)


def how_to_count(names: Collection[str], statement: Statement) -> str:
    """What counts resources that a statement does not determine: their units, the methods that count them, and how they are declared."""
    method, wanted = statement.theorem.method, set(names)
    if method is None:
        counting = sorted(key for key, own in declared().items() if wanted & own.costs.keys())
        listed = ", ".join(counting[:_LISTED]) + (", …" if len(counting) > _LISTED else "")
        why = f"names no method (of fedco's, {listed} have a count)" if counting else "names no method"
    elif wanted <= (counts := method_costs(statement.theorem)).keys():
        needed = {str(symbol) for name in wanted for symbol in counts[name].free_symbols} - statement.symbols.keys()
        why = f"lacks {', '.join(sorted(needed))} in terms and conditions, which the count of its method {method.name} needs"
    elif left := uncounted(method):
        why = f"has the method {method.name}, whose count is without {', '.join(left)}"
    else:
        why = f"has the method {method.name}, which does not count"
    units = ", ".join(f"{name} ({MEANING[name]})" for name in names)
    example = f'{next(iter(names))} = "…"'
    return (
        f"not counted: {units}: {statement.theorem.id} {why}; declare a formula in its symbols under `costs` ({example}), or a method "
        "with a class attribute `costs`"
    )


def instead(name: str, wanted: list[str], statement: Statement) -> str:
    """What may have been meant; a cost that nothing declares can be declared."""
    if name in RESOURCES:
        return f"it has {' '.join(wanted) or 'none'}; {how_to_count([name], statement)}"
    return nearest(name, tuple(wanted))
