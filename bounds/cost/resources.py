"""What a run costs, per client: iterations, communication rounds, samples, and messages by size.

The counts are those of the algorithms in the papers (and of `algorithms/`, which counts what it sends); a symbol that a
statement lacks counts as 1 where it is a batch size, and makes the resource unavailable where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import sympy as sp

from ..language.reading import InputError
from ..language.theorem import RESOURCES, Theorem
from .counts import method_costs

MEANING = {
    "iterations": "local iterations",
    "rounds": "communication rounds",
    "samples": "samples per client",
    "model_messages": "messages of the size of the model, sent by one client",
    "embedding_messages": "messages of the size of the inner value, sent by one client",
}
BATCHES = ("b", "b_1", "m", "B", "D", "D_H")
"""Batch sizes: a statement without one holds for every size, 1 included."""

KIND = {
    "local_scgdm": "local composite",
    "comfedl": "local composite",
    "fcsg": "conditional",
    "fcsg_m": "conditional",
    "acc_fcsg_m": "conditional",
    "meta_fl": "meta",
    "feddro": "shared composite",
}
"""The kind of problem that a paper's theorems are about (DESIGN, section 5)."""

Table = Mapping[str, sp.Expr]


def kind_of(theorem: Theorem) -> str:
    """The kind of problem that a theorem is about."""
    return theorem.problem or KIND[theorem.id.partition(".")[0]]


def _local_scgdm(s: SimpleNamespace) -> Table:
    rounds = s.T / s.p
    return _counts(s.T, rounds, s.T, 2 * rounds, rounds)


def _comfedl(s: SimpleNamespace) -> Table:
    outer = s.b_1 if "b_1" in s.present else 0
    return _counts(s.T, s.T / s.tau, s.T * (s.b + outer), s.T / s.tau)


def _fcsg(s: SimpleNamespace) -> Table:
    first = s.B if "B" in s.present else 0
    return _counts(s.T, s.T / s.q, s.m * (s.b * s.T + first), s.T / s.q)


def _with_momentum(s: SimpleNamespace) -> Table:
    return {**_fcsg(s), "model_messages": 2 * s.T / s.q}


def _meta_fl(s: SimpleNamespace) -> Table:
    hessians = s.D_H * s.nu if "D_H" in s.present else 0
    hessians *= 2 if "delta" in s.present else 1
    return _counts(s.tau * s.K, s.K, s.tau * s.K * ((s.nu + 1) * s.D + hessians), s.K)


def _feddro(s: SimpleNamespace) -> Table:
    return _counts(s.T, s.T / s.I, s.b * s.T, s.T / s.I, s.T)


def _counts(iterations: sp.Expr, rounds: sp.Expr, samples: sp.Expr, model: sp.Expr, embedding: Any = 0) -> Table:
    return dict(zip(RESOURCES, map(sp.sympify, (iterations, rounds, samples, model, embedding)), strict=True))


_TABLES: Mapping[str, Callable[[SimpleNamespace], Table]] = {
    "local_scgdm": _local_scgdm,
    "comfedl": _comfedl,
    "fcsg": _fcsg,
    "fcsg_m": _with_momentum,
    "acc_fcsg_m": _with_momentum,
    "meta_fl": _meta_fl,
    "feddro": _feddro,
}


def resources(theorem: Theorem, label: str) -> dict[str, sp.Expr]:
    """The resources that the hyperparameters of a statement determine, as formulas in its symbols."""
    paper = theorem.id.partition(".")[0]
    present = theorem.symbols(label)
    if theorem.costs or theorem.method:
        allowed = {binding.symbol for binding in present.values()}
        symbols = SimpleNamespace(**{b.name: b.symbol for b in theorem.vocabulary}, present=present)
        declared = {**method_costs(theorem), **(theorem.costs(symbols) if theorem.costs else {})}
        return {name: expr for name, expr in declared.items() if expr.free_symbols <= allowed}
    if paper not in _TABLES or theorem.source.paper not in (paper, theorem.vocabulary.paper):
        return {}
    names = {binding.name: binding.symbol for binding in theorem.vocabulary}
    if not any(name in names for name in ("T", "K")):
        return {}
    ones = {symbol: sp.Integer(1) for name, symbol in names.items() if name in BATCHES and name not in present}
    allowed = {binding.symbol for binding in present.values()}
    table = _TABLES[paper](SimpleNamespace(**names, present=present))
    counted = {name: expr.xreplace(ones) for name, expr in table.items()}
    return {name: expr for name, expr in counted.items() if expr.free_symbols <= allowed}


def resource(theorem: Theorem, label: str, name: str) -> sp.Expr:
    """One resource, or a hyperparameter such as T under its own name.

    Raises:
        InputError: the statement has no such resource.
    """
    known = resources(theorem, label)
    bindings = theorem.symbols(label)
    if name in known:
        return known[name]
    if name in bindings and bindings[name].quantity.role == "hyperparameter":
        return bindings[name].symbol
    wanted = [*known, *(b.name for b in bindings.values() if b.quantity.role == "hyperparameter")]
    raise InputError(
        f"{name[:30]}: not a resource of {theorem.id} ({label}); wanted one of {' '.join(wanted) or 'none'}"
    )
