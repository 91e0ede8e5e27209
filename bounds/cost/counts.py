"""What a theorem's method costs by its own count, for theorems that declare no costs.

A method says it in a class attribute `costs`: formulas in its hyperparameters, T (local steps) and nothing else; tests compare
those of fedco's own with what they send and draw.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from ...algorithms.declared import DEFAULTS, declared
from ...errors import InputError
from ...user_files import installed, is_python_file, load_installed
from ..language.formula import FormulaError, read_formula
from ..language.theorem import MethodCall, Theorem

PARTICIPATION = ("sampled_clients", "participation")
"""Quantities that say who takes part in a round."""
WHOEVER_TAKES_PART = ("iterations", "rounds")
"""Resources that do not depend on who takes part."""


def method_costs(theorem: Theorem) -> dict[str, sp.Expr]:
    """The costs of the theorem's method in the theorem's symbols; none where the method declares none.

    Raises:
        InputError: the method's declaration of its costs cannot be read.
    """
    call = theorem.method
    steps = _steps(theorem)
    if call is None or steps is None:
        return {}
    costs, defaults = _declared(call)
    names = {**{name: sp.Integer(value) for name, value in defaults.items()}, **call.values, "T": steps}
    found = {}
    for resource, text in costs.items():
        try:
            found[resource] = read_formula(text, names)
        except FormulaError as error:
            raise InputError(f"{theorem.id}: {resource} of the method {call.name}, {text[:40]!r}, {error}") from None
    return found


def _steps(theorem: Theorem) -> sp.Expr | None:
    """The number of local steps in the theorem's symbols: the iterations, or the rounds times what the method gets as its period."""
    named = {binding.quantity.name: binding.symbol for binding in theorem.notation}
    if "iterations" in named or "rounds" not in named:
        return named.get("iterations")
    own = declared().get(theorem.method.name) if theorem.method else None
    period = [name for name, meant in own.quantities.items() if meant == "communication_period"] if own else []
    return named["rounds"] * sp.Mul(*(theorem.method.values.get(name, 1) for name in period)) if own else None  # type: ignore[union-attr]


def uncounted(call: MethodCall) -> tuple[str, ...]:
    """What a theorem gives one of fedco's own methods that may change its costs, and that its count does not depend on."""
    own = declared().get(call.name)
    if own is None:
        return ()
    known = {each.name: each for each in own.hyperparameters}
    named = " ".join(own.costs.values())
    may_change = (
        name
        for name in (*call.values, *call.options)
        if not known[name].required and not known[name].annotation.startswith("Scalar")
    )
    return tuple(name for name in may_change if name not in named and name not in own.uncounted)


def _declared(call: MethodCall) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """The formulas of the method that a theorem calls, and the whole numbers that need not be given."""
    if call.name in declared():
        own = declared()[call.name]
        defaults = {each.name: each.default for each in own.hyperparameters if type(each.default) is int}
        left = uncounted(call)
        who = all(own.quantities.get(name) in PARTICIPATION for name in left)
        kept = WHOEVER_TAKES_PART if who else ()
        return {name: text for name, text in own.costs.items() if not left or name in kept}, defaults
    if is_python_file(call.name):
        found = call.code.load()
    else:
        found = load_installed("methods", call.name) if call.name in installed("methods") else None
    return getattr(found, "costs", {}), DEFAULTS
