"""What the command does to start fast, before sympy is imported.

`fedco bound` is to answer in under 0.5 s, and two thirds of that is the import of sympy. Two parts of it are never used here:
python-flint as sympy's number type, and the tensor module (with combinatorics behind it) that sympy's first sum imports only to
ask whether a summand is a tensor. The second is replaced by an empty class, so in this process nothing ever is one.
What is imported stays, so looking for garbage in it at every 700 new objects is wasted, and so is looking for it once more at the
end of the process: it is done more seldom, and not at the end.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from types import ModuleType


def prepare() -> None:
    """Idempotent; does nothing where sympy is already imported."""
    if "sympy" in sys.modules:
        return
    gc.set_threshold(1_000_000)
    atexit.register(gc.freeze)  # registered first, so it runs last
    os.environ.setdefault("SYMPY_GROUND_TYPES", "python")
    module = ModuleType("sympy.tensor.tensor")
    module.TensExpr = type("TensExpr", (), {})  # type: ignore[attr-defined]
    module.TensAdd = type("TensAdd", (), {})  # type: ignore[attr-defined]
    sys.modules.setdefault(module.__name__, module)
