"""fedco: the convergence theory of federated compositional optimisation, executable.

    >>> import fedco
    >>> bound = fedco.theorem("feddro.theorem_5_1").bound("printed", L_h=1, L_f=1, L_g=1, B_f=1, B_g=1, sigma_h="1/2", sigma_g="1/2",
    ...     Delta_h=0, Delta_g=0, Phi_gap=1, y_err=0, I=1, K=4, b=1, T=10**6)
    >>> bound.admissible
    True

Importing the package imports neither sympy nor torch; each name below is loaded when first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Paper": ("bounds.language.paper", "Paper"),
    "theorem": ("bounds.registry", "get_theorem"),
    "theorems": ("bounds.registry", "all_theorems"),
    "define": ("bounds.language.definition", "define"),
    "load": ("bounds.language.definition", "load"),
    "audit": ("bounds.audit.checks", "audit"),
    "problem": ("synthetic", "problem"),
    "problems": ("synthetic", "problems"),
    "run": ("validation.experiments.run", "run"),
    "drive": ("algorithms", "drive"),
    "validate": ("validation", "validate"),
    "falsify": ("validation.falsifier.attack", "falsify"),
    "assert_not_falsified": ("validation.falsifier.attack", "assert_not_falsified"),
}

__all__ = [
    "Paper",
    "__version__",
    "assert_not_falsified",
    "audit",
    "define",
    "drive",
    "falsify",
    "load",
    "problem",
    "problems",
    "run",
    "theorem",
    "theorems",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedco' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(f".{module}", __name__), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
