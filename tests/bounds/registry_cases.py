"""Every registered statement as a test case, and the meaning of its symbols in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
import sympy as sp
from fedco import bounds
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.evaluation.strategies import values
from fedco.bounds.language.notation import Binding
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement, Theorem
from hypothesis import HealthCheck, Phase, settings

THEOREMS = {name: theorem for paper in bounds.paper_keys() for name, theorem in bounds.paper_theorems(paper).items()}
STATEMENTS = [(name, label) for name, theorem in THEOREMS.items() for label in theorem.labels]

REPRESENTATIVES = {
    "meta_fl.lemma_4": ["composed"],
    "meta_fl.lemma_6": ["printed", "composed", "corrected"],
    "meta_fl.lemma_7": ["composed"],
    "meta_fl.lemma_11": ["composed"],
    "meta_fl.theorem_8_HF": ["sharpened"],
    "feddro.theorem_4_1": ["printed"],
    "feddro.corollary_1": ["composed"],
    "feddro.corollary_2": ["corrected"],
    "fcsg.remark_4_3": ["composed"],
    "fcsg_m.remark_4_6": ["composed"],
    "acc_fcsg_m.corollary_4_8": ["printed", "corrected"],
    "acc_fcsg_m.remark_4_9": ["corrected"],
    "local_scgdm.remark_3_7": ["printed"],
    "comfedl.lemma_1": ["printed"],
    "comfedl.remark_1": ["printed"],
    "baselines.scgd": ["printed"],
    "library.fed_ttsa": ["printed"],
    "library.gossip_sgd": ["printed"],
    "library.sgd_declining": ["printed"],
    "library.sgd_probable": ["printed"],
}
"""Statements that have every construction between them: the quick tests try these, `slow` tries all.

`test_registry.py` says so of the list as it stands.
"""


every_statement = pytest.mark.parametrize(
    ("name", "label"),
    [
        pytest.param(
            *case, id="-".join(case), marks=() if case[1] in REPRESENTATIVES.get(case[0], ()) else pytest.mark.slow
        )
        for case in STATEMENTS
    ],
)


def few(examples: int) -> settings:
    """The same few examples in every run; not shrunk, since exact values can take seconds."""
    quiet = [
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ]
    same = {"derandomize": True, "database": None, "phases": [Phase.generate]}
    return settings(max_examples=examples, suppress_health_check=quiet, **same)


def find(name: str, label: str) -> tuple[Theorem, Statement]:
    return THEOREMS[name], THEOREMS[name].statement(label)


def anywhere(theorem: Theorem, label: str):
    """Values in the declared domains, admissible or not, at which no denominator vanishes."""

    def is_defined(point: Mapping[str, Fraction]) -> bool:
        try:
            bound(theorem.statement(label), point, strict=False)
        except InputError:
            return False
        return True

    return values(theorem.statement(label), admissible=False).filter(is_defined)


def category(binding: Binding) -> str:
    """noise, heterogeneity, gap, growth or regularity for a constant of the problem; its role for anything else."""
    quantity = binding.quantity
    if quantity.role != "constant":
        return quantity.role
    if "noise" in quantity.name or "fourth_moment" in quantity.name:
        return "noise"
    if quantity.name.endswith("heterogeneity"):
        return "heterogeneity"
    if quantity.name in ("objective_gap", "initial_inner_error", "initial_distance", "initial_dual_error"):
        return "gap"
    if quantity.name in ("strong_convexity", "polyak_lojasiewicz", "strong_concavity", "lower_strong_convexity"):
        return "growth"
    words = ("lipschitz", "smoothness", "mean_square", "gradient_bound", "coupling")
    return "regularity" if any(word in quantity.name for word in words) else f"unknown: {quantity.name}"


def named(theorem: Theorem, label: str, kinds: tuple[str, ...]) -> dict[str, sp.Symbol]:
    """The symbols of a statement whose category or quantity is among `kinds`."""
    bindings = theorem.symbols(label).items()
    return {name: b.symbol for name, b in bindings if category(b) in kinds or b.quantity.name in kinds}


def total(statement: Statement, point: Mapping[sp.Symbol, sp.Expr]) -> float:
    """The bound at a point that fixes every symbol, scheduled ones included; rounded once."""
    return number(sp.Add(*(statement.at(term.expr, point) for term in statement.terms)))


def number(expr: sp.Expr) -> float:
    expr = sp.sympify(expr)
    return float(expr) if expr.is_Rational else float(sp.N(expr, 25))
