"""What the methods of plain federated problems cost by their own count, for theorems that declare no costs.

The counts are formulas in the method's own hyperparameters, T (local steps) and nothing else; tests compare them with what
the methods send and draw. A method from a file or a package says it in a class attribute `costs` of the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from ...errors import InputError
from ...outside import installed, is_python_file, load_installed, load_object
from ..language.formula import FormulaError, read_formula
from ..language.theorem import MethodCall, Theorem

_LOCAL = {"iterations": "T", "rounds": "T/tau", "samples": "b*T", "model_messages": "T/tau"}
COUNTS: Mapping[str, Mapping[str, str]] = {
    "local_sgd": _LOCAL,
    "minibatch_sgd": {"iterations": "T", "rounds": "T", "samples": "b*T", "model_messages": "T"},
    "scaffold": {**_LOCAL, "model_messages": "2*T/tau"},
    "fedprox": _LOCAL,
}
"""On a plain federated problem, with every client in every round."""
COUNTED = ("eta", "eta_g", "mu", "tau", "b")
"""Hyperparameters for which the counts hold; a method that is given another one declares no costs here."""
DEFAULTS: Mapping[str, int] = {"b": 1}
"""What a theorem need not say of a method."""


def method_costs(theorem: Theorem) -> dict[str, sp.Expr]:
    """The costs of the theorem's method in the theorem's symbols; none where the method declares none.

    Raises:
        InputError: the method's declaration of its costs cannot be read.
    """
    call = theorem.method
    steps = _steps(theorem)
    if call is None or steps is None:
        return {}
    names = {**{name: sp.Integer(value) for name, value in DEFAULTS.items()}, **call.values, "T": steps}
    found = {}
    for resource, text in _declared(call).items():
        try:
            found[resource] = read_formula(text, names)
        except FormulaError as error:
            raise InputError(f"{theorem.id}: {resource} of the method {call.name}, {text[:40]!r}, {error}") from None
    return found


def _steps(theorem: Theorem) -> sp.Expr | None:
    """The number of local steps in the theorem's symbols."""
    for binding in theorem.notation:
        if binding.quantity.name == "iterations":
            return binding.symbol
    return None


def _declared(call: MethodCall) -> Mapping[str, str]:
    if call.name in COUNTS:
        return COUNTS[call.name] if set(call.values) <= set(COUNTED) else {}
    if is_python_file(call.name):
        return _of(load_object(call.name, call.folder))
    return _of(load_installed("methods", call.name)) if call.name in installed("methods") else {}


def _of(method: Any) -> Mapping[str, str]:
    return getattr(method, "costs", {})
