"""Functions replaced during a test, and put back wherever they went."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def swapping() -> Iterator[Callable[[str, Any], None]]:
    """Replace functions by their dotted names; at the end they stand again in every module of fedco.

    A module that is imported for the first time meanwhile takes the replacement under a name of its own, which is why putting
    the function back where it is defined is not enough.
    """
    originals: list[tuple[Any, Any]] = []

    def swap(target: str, other: Any) -> None:
        where, name = target.rsplit(".", 1)
        module = import_module(where)
        originals.append((other, getattr(module, name)))
        setattr(module, name, other)

    try:
        yield swap
    finally:
        loaded = [module for name, module in sys.modules.items() if name.split(".")[0] == "fedco"]
        for other, original in reversed(originals):
            for module in loaded:
                for name in [name for name, value in vars(module).items() if value is other]:
                    setattr(module, name, original)
