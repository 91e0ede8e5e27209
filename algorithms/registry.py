"""Which methods there are: fedco's own, those of installed packages (entry-point group `fedco.methods`), those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..suggestion import instead
from ..user_files import CodeName, all_that_load, installed, is_python_file, load_installed
from .declared import Declared, declared

if TYPE_CHECKING:
    from .engine.method import Method


def get_method(name: str, code: CodeName | None = None) -> type[Method]:
    """The class of a method: by its name, or as `FILE.py:NAME`.

    Args:
        code: where the name comes from a definition: the file, and whether it may be run.

    Raises:
        InputError: no such method, or what is there is none, or is not trusted.
    """
    if is_python_file(name):
        return _checked(name, (code or CodeName(name)).load())
    if name in declared():
        own = declared()[name]
        return _checked(name, getattr(import_module(f".{own.module}", __package__), own.class_name))
    if name in installed("methods"):
        return _checked(name, load_installed("methods", name))
    raise InputError(f"{name[:40]!r}: not a method; {instead(name, tuple(declared()))}, or FILE.py:NAME")


def listed() -> Mapping[str, Declared | type[Method]]:
    """What is known of every method, by name: of fedco's own without importing them, of an installed one its class.

    One that cannot be loaded is left out with a warning.
    """
    return {**declared(), **all_that_load(installed("methods"), get_method)}


def _checked(name: str, found: Any) -> type[Method]:
    from .engine.method import Method

    if not (isinstance(found, type) and issubclass(found, Method)):
        raise InputError(f"{name}: wanted a class derived from fedco.algorithms.Method, got {str(found)[:60]}")
    return found
