"""Which methods there are: fedco's own, those of installed packages (entry-point group `fedco.methods`), those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..outside import all_that_load, installed, is_python_file, load_installed, load_object
from .engine.method import Method


def get_method(name: str, folder: Path | None = None) -> type[Method]:
    """The class of a method: by its name, or as `FILE.py:NAME`.

    Args:
        folder: where a relative FILE is looked for; the working folder without it.

    Raises:
        InputError: no such method, or what is there is none.
    """
    from . import METHODS

    if is_python_file(name):
        return _checked(name, load_object(name, folder))
    if name in METHODS:
        return METHODS[name]
    if name in installed("methods"):
        return _checked(name, load_installed("methods", name))
    raise InputError(f"{name[:40]!r}: not a method; wanted FILE.py:NAME or one of {' '.join(METHODS)}")


def methods() -> Mapping[str, type[Method]]:
    """Every method by name; an installed one that cannot be loaded is left out with a warning."""
    from . import METHODS

    return METHODS | all_that_load(installed("methods"), get_method)


def _checked(name: str, found: Any) -> type[Method]:
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise InputError(f"{name}: wanted a class derived from fedco.algorithms.Method, got {str(found)[:60]}")
    return found
