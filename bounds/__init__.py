"""Theory as symbols: theorems with printed, composed and corrected statements, and what follows from them.

Importing the package imports nothing: each name below is loaded when first used, and the vocabulary (`language/quantities.py`)
can be read without sympy.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "InputError": "language.reading",
    "Paper": "language.paper",
    "Theorem": "language.theorem",
    "all_theorems": "registry",
    "get_paper": "registry",
    "get_theorem": "registry",
    "get_theorems": "registry",
    "paper_keys": "registry",
    "paper_theorems": "registry",
    "all_papers": "registry",
    "bound": "evaluation.evaluate",
    "bound_on_arrays": "evaluation.arrays",
    "admissible": "region.admissible",
    "tune": "optimum.tuning",
    "complexity": "cost.complexity",
    "rates": "cost.orders",
    "elasticities": "cost.sensitivity",
    "prove": "proof.locks",
    "sharpen": "proof.sharpen",
    "resolve": "settings",
    "describe": "language.rendering",
    "statement_html": "language.rendering",
    "theorem_html": "language.rendering",
    "theorem_latex": "language.rendering",
    "theorem_markdown": "language.rendering",
}
"""Where the names of the package are. Those from `bound` on are the verbs, functions of a statement, and the forms in which a
theorem is shown: methods of `Theorem`, which so needs to know no package that stands on it."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedco.bounds' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
