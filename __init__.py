"""fedco: the convergence theory of federated compositional optimisation, executable.

    >>> import fedco
    >>> bound = fedco.theorem("feddro.theorem_5_1").bound("printed", L_h=1, L_f=1, L_g=1, B_f=1, B_g=1, sigma_h="1/2", sigma_g="1/2",
    ...     Delta_h=0, Delta_g=0, Phi_gap=1, y_err=0, I=1, K=4, b=1, T=10**6)
    >>> bound.admissible
    True

Importing the package imports neither sympy nor torch; each name below is loaded when first used.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what the names below are, for type checkers and editors
    from .algorithms import drive
    from .bounds.audit.checks import audit
    from .bounds.audit.findings import Finding, Findings
    from .bounds.cost.comparison import Comparison, compare
    from .bounds.cost.complexity import Complexity
    from .bounds.evaluation.arrays import BoundArray
    from .bounds.evaluation.evaluate import Bound, InadmissibleError
    from .bounds.language.definition import define, load
    from .bounds.language.paper import Paper
    from .bounds.language.theorem import Statement, Theorem
    from .bounds.optimum.tuning import Tuned
    from .bounds.region.admissible import Admissible
    from .bounds.registry import all_theorems as theorems
    from .bounds.registry import theorem
    from .errors import InputError
    from .synthetic import problem, problems
    from .validation.experiments.estimates import estimate
    from .validation.experiments.run import run
    from .validation.falsifier.attack import assert_not_falsified, falsify
    from .validation.practice.compare import practice
    from .validation.runs.refutations import replay
    from .validation.runs.validate import validate

__version__ = "0.1.0"

HOMES = {
    "Admissible": ("bounds.region.admissible", "Admissible"),
    "Bound": ("bounds.evaluation.evaluate", "Bound"),
    "BoundArray": ("bounds.evaluation.arrays", "BoundArray"),
    "Comparison": ("bounds.cost.comparison", "Comparison"),
    "Complexity": ("bounds.cost.complexity", "Complexity"),
    "Finding": ("bounds.audit.findings", "Finding"),
    "Findings": ("bounds.audit.findings", "Findings"),
    "InadmissibleError": ("bounds.evaluation.evaluate", "InadmissibleError"),
    "InputError": ("errors", "InputError"),
    "Paper": ("bounds.language.paper", "Paper"),
    "Statement": ("bounds.language.theorem", "Statement"),
    "Theorem": ("bounds.language.theorem", "Theorem"),
    "Tuned": ("bounds.optimum.tuning", "Tuned"),
    "assert_not_falsified": ("validation.falsifier.attack", "assert_not_falsified"),
    "audit": ("bounds.audit.checks", "audit"),
    "compare": ("bounds.cost.comparison", "compare"),
    "define": ("bounds.language.definition", "define"),
    "drive": ("algorithms", "drive"),
    "falsify": ("validation.falsifier.attack", "falsify"),
    "load": ("bounds.language.definition", "load"),
    "practice": ("validation.practice.compare", "practice"),
    "problem": ("synthetic", "problem"),
    "problems": ("synthetic", "problems"),
    "estimate": ("validation.experiments.estimates", "estimate"),
    "replay": ("validation.runs.refutations", "replay"),
    "run": ("validation.experiments.run", "run"),
    "theorem": ("bounds.registry", "theorem"),
    "theorems": ("bounds.registry", "all_theorems"),
    "validate": ("validation.runs.validate", "validate"),
}

__all__ = [
    "Admissible",
    "Bound",
    "BoundArray",
    "Comparison",
    "Complexity",
    "Finding",
    "Findings",
    "InadmissibleError",
    "InputError",
    "Paper",
    "Statement",
    "Theorem",
    "Tuned",
    "__version__",
    "assert_not_falsified",
    "audit",
    "compare",
    "define",
    "drive",
    "estimate",
    "falsify",
    "load",
    "practice",
    "problem",
    "problems",
    "replay",
    "run",
    "theorem",
    "theorems",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'fedco' has no attribute {name!r}")
    module, attribute = HOMES[name]
    return getattr(import_module(f".{module}", __name__), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext fedco`: names complete inside `fedco.theorem("…`. A running IPython needs no such line."""
    import_module(".ipython_names", __name__).load_ipython_extension(shell)


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()) is not None:
    load_ipython_extension(_shell)
