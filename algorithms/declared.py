"""What fedco's own methods say of themselves, read from their source: a list of them imports neither them nor torch.

A class in `methods/` or `baselines/` that has a `name` is a method. Its `name`, `kinds`, `needs`, `needs_on`, `costs`, `uncounted`,
`quantities`, `constants` and `measured` are literals, or constants of `engine/oracles.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .engine import oracles

FOLDERS = ("methods", "baselines")
DEFAULTS: Mapping[str, int] = {"b": 1}
"""Hyperparameters that a theorem may leave out although the method has no default for them."""
_READ = ("name", "kinds", "needs", "needs_on", "costs", "uncounted", "quantities", "constants", "measured")


@dataclass(frozen=True)
class Hyperparameter:
    """A field of a method: its annotation as written, and its default; None where that is no literal or there is none.

    `required`: there is no default.
    """

    name: str
    annotation: str
    default: Any = None
    required: bool = False


@dataclass(frozen=True)
class Declared:
    """A method as its source declares it; `module` is relative to this package, `summary` the first line of its docstring."""

    module: str
    class_name: str
    summary: str
    hyperparameters: tuple[Hyperparameter, ...]
    name: str
    kinds: tuple[str, ...]
    needs: tuple[str, ...] = ()
    needs_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    costs: Mapping[str, str] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()
    quantities: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    measured: tuple[str, ...] = ()


@cache
def declared() -> Mapping[str, Declared]:
    """Every method of `methods/` and `baselines/`, by name.

    Raises:
        ValueError: two methods of one name, or an attribute that is neither a literal nor made of the constants of oracles.py.
    """
    found: dict[str, Declared] = {}
    for folder in FOLDERS:
        for file in sorted((Path(__file__).parent / folder).glob("*.py")):
            for method in _in_file(file, f"{folder}.{file.stem}"):
                if method.name in found:
                    raise ValueError(
                        f"{method.name}: a method of this name in {found[method.name].module} and {method.module}"
                    )
                found[method.name] = method
    return found


def _in_file(file: Path, module: str) -> Iterator[Declared]:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        parts = [part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
        written = {part.target.id: part for part in parts if isinstance(part.target, ast.Name)}
        attributes = {name: part.value for name, part in written.items() if name in _READ and part.value is not None}
        if "name" not in attributes:
            continue
        hyperparameters = tuple(
            Hyperparameter(name, ast.unparse(part.annotation), _literal(part.value), part.value is None)
            for name, part in written.items()
            if "ClassVar" not in ast.unparse(part.annotation)
        )
        known = {name: _value(part, f"{module}.{node.name}.{name}") for name, part in attributes.items()}
        yield Declared(module, node.name, (ast.get_docstring(node) or "").split("\n")[0], hyperparameters, **known)


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def _value(node: ast.expr, where: str) -> Any:
    """A literal, a constant of oracles.py, one of its entries, `tuple(constant)`, or a tuple or dict of these."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Tuple(parts):
            return tuple(_value(part, where) for part in parts)
        case ast.Dict(keys, values):
            entries = [(k and _value(k, where), _value(v, where)) for k, v in zip(keys, values, strict=True)]
            return dict(pair for name, v in entries for pair in (v.items() if name is None else [(name, v)]))
        case ast.Name(name) if name.isupper() and hasattr(oracles, name):
            return getattr(oracles, name)
        case ast.Subscript(of, key):
            return _value(of, where)[_value(key, where)]
        case ast.Call(ast.Name("tuple"), [of], []):
            return tuple(_value(of, where))
    raise ValueError(f"{where}: wanted a literal or a constant of engine/oracles.py, got {ast.unparse(node)[:60]}")
