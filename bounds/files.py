"""Theorems that a user's file declares: a TOML file defines one, a Python file may declare many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InputError
from ..suggestion import nearest
from ..user_files import is_file, run_file, split_file
from .language.definition import load
from .language.paper import Paper
from .language.theorem import Theorem

__all__ = ["is_file", "theorem_of_file", "theorems_of_file"]


def theorems_of_file(text: str) -> dict[str, Theorem]:
    """Every theorem of FILE.toml or FILE.py, by id; of FILE.py:NAME that one.

    Raises:
        InputError: the file cannot be read or run, has none, or has two with one id.
    """
    if text.endswith(".toml"):
        theorem = load(text)
        return {theorem.id: theorem}
    file, name = split_file(text)
    found = _declared(run_file(file), file)
    return {theorem.id: theorem for theorem in ([_chosen(found, file, name)] if name else found.values())}


def theorem_of_file(text: str) -> Theorem:
    """The theorem of FILE.toml or FILE.py:NAME; NAME may be missing where a file has one theorem.

    Raises:
        InputError: as `theorems_of_file`, or no theorem has this name.
    """
    if text.endswith(".toml"):
        return load(text)
    file, name = split_file(text)
    return _chosen(_declared(run_file(file), file), file, name)


def _declared(module: ModuleType, file: Path) -> dict[str, Theorem]:
    """The theorems of a module by the name of their variable, and those inside its papers by the end of their id."""
    found: dict[str, Theorem] = {}
    by_id: dict[str, Theorem] = {}
    for name, theorem in _all(module):
        if by_id.setdefault(theorem.id, theorem) is not theorem:
            raise InputError(f"{file}: two theorems have the id {theorem.id}")
        if all(known is not theorem for known in found.values()):
            found[name] = theorem
    if not found:
        raise InputError(f"{file}: wanted a file that declares a theorem, found none")
    proofs = {
        name: proof
        for value in vars(module).values()
        if isinstance(value, Paper)
        for name, proof in value.derivations.items()
    }
    return {name: _with_proof(theorem, proofs.get(theorem.id)) for name, theorem in found.items()}


def _with_proof(theorem: Theorem, proof: Callable[[Any], Any] | None) -> Theorem:
    """The theorem with the derivation that a paper of the same file has for it."""
    return theorem if proof is None or theorem.proof is not None else replace(theorem, proof=proof)


def _all(module: ModuleType) -> Iterator[tuple[str, Theorem]]:
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            continue
        if isinstance(value, Theorem):
            yield name, value
        if isinstance(value, Paper):
            yield from ((theorem.id.partition(".")[2], theorem) for theorem in value.theorems.values())


def _chosen(found: dict[str, Theorem], file: Path, name: str) -> Theorem:
    """By the name of the variable, by the id, or by the end of the id."""
    for known, theorem in found.items():
        if name in (known, theorem.id, theorem.id.partition(".")[2]):
            return theorem
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if not name:
        raise InputError(f"{file}: wanted FILE.py:NAME with one of {' '.join(found)}")
    raise InputError(f"{file}: {name[:40]!r} is not one of its theorems; {nearest(name, tuple(found))}")
