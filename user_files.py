"""What comes from outside the package: a user's Python file, and what installed packages announce.

A Python file is code, and naming it runs it, as `python FILE.py` would. A file of data may name code too: that runs only where the
user trusts it (`--trust`). A package announces objects through entry points
of the groups `fedco.papers`, `fedco.methods`, `fedco.problems` and `fedco.kinds`; each is loaded when first asked for.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Loaded = TypeVar("Loaded")
GROUPS = ("papers", "methods", "problems", "kinds")
FAILURES = (Exception, SystemExit)
"""Exceptions of a user's code that are answered in one line; an interrupt (Ctrl-C) is not one of them."""
_trusts: ContextVar[bool] = ContextVar("trusts", default=False)


@contextmanager
def trusting(trusts: bool = True) -> Iterator[None]:
    """Code that a file of data names may be run, if that file is read inside this block."""
    before = _trusts.set(trusts)
    try:
        yield
    finally:
        _trusts.reset(before)


def is_trusting() -> bool:
    """Whether code that a file of data names may be run."""
    return _trusts.get()


@dataclass(frozen=True)
class CodeName:
    """Code that a definition names, as FILE.py:NAME.

    Args:
        text: the name. folder: where a relative FILE is looked for; the working folder without it.
        trusted: whether it may be run: it is the user's own call that names it, or a file of data that the user trusts.
    """

    text: str
    folder: Path | None = None
    trusted: bool = True

    def load(self) -> Any:
        """The object.

        Raises:
            InputError: it is not trusted, there is no such file or name, or the file fails.
        """
        if not self.trusted:
            file, name = split_file(self.text, self.folder)
            raise InputError(
                f"{file}: not run: {name or 'it'} is code that a file of data names; --trust runs it (in Python: trust=True)"
            )
        return load_object(self.text, self.folder)


def is_python_file(text: str) -> bool:
    """Whether a text is `FILE.py` or `FILE.py:NAME`."""
    return text.endswith(".py") or ".py:" in text


def name_in_data(text: str) -> str:
    """A name that stands in a file of data.

    Raises:
        InputError: it names code, and the user does not trust the file.
    """
    if is_python_file(text) and not is_trusting():
        CodeName(text, trusted=False).load()
    return text


def is_file(text: str) -> bool:
    """Whether a text names a file of theorems rather than an id: FILE.toml, FILE.py or FILE.py:NAME."""
    return text.endswith(".toml") or is_python_file(text)


def split_file(text: str, folder: Path | None = None) -> tuple[Path, str]:
    """`FILE.py:NAME` as the path, looked for in `folder`, and the name, which may be empty."""
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py"):
        file, name = text, ""
    return (folder or Path()) / file, name.strip()


def run_file(file: Path) -> ModuleType:
    """The module that a Python file makes; it runs once, and again only when it has changed.

    Raises:
        InputError: no such file, or what the file itself raised, in one line.
    """
    try:
        if not file.is_file():
            raise InputError(f"{file}: no such file")
        state = file.stat()
    except OSError as error:
        raise InputError(f"{file}: wanted a readable file, got {one_line(error)}") from None
    return _run(file.resolve(), state.st_mtime_ns, state.st_size)


@cache
def _run(file: Path, changed: int, size: int) -> ModuleType:
    from hashlib import sha256  # a command about a built-in theorem does without both
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"fedco_file_{file.stem}_{sha256(f'{file} {changed} {size}'.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: wanted a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        with _importing_from(file.parent):
            spec.loader.exec_module(module)
    except FAILURES as error:
        del sys.modules[name]
        raise InputError(f"{file}: running it failed{_line_of(error, file)}: {told(error)}") from error
    return module


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """A file may import its neighbours, as a script may."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def _line_of(error: BaseException, file: Path) -> str:
    """In which line of the file itself it happened."""
    lines, frame = [], error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(file):
            lines.append(frame.tb_lineno)
        frame = frame.tb_next
    if isinstance(error, SyntaxError) and error.lineno:
        lines.append(error.lineno)
    return f" in line {lines[-1]}" if lines else ""


def told(error: BaseException) -> str:
    """What went wrong, in one line: the sentence of an error that names the thing itself, and of any other its type too."""
    return one_line(error) if isinstance(error, InputError) else f"{type(error).__name__}: {one_line(error)}"


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def load_object(text: str, folder: Path | None = None) -> Any:
    """The object that `FILE.py:NAME` names.

    Raises:
        InputError: no such file or name, or the file fails; the message lists the names of the file.
    """
    file, name = split_file(text, folder)
    module = run_file(file)
    if not name or name.startswith("_") or not hasattr(module, name):
        raise InputError(
            f"{file}: wanted FILE.py:NAME with one of its names, {' '.join(public_names(module))}, got {name[:40]!r}"
        )
    return getattr(module, name)


def public_names(module: ModuleType) -> list[str]:
    """What a file defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", module.__name__) == module.__name__
    ]


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """What installed packages announce under `fedco.GROUP`, by name; nothing is imported."""
    if group not in GROUPS:
        raise ValueError(f"no such group: {group}; wanted one of {GROUPS}")
    from importlib.metadata import entry_points  # the slowest import of this module, for what few commands need

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"fedco.{group}"):
        if entry.name in found and found[entry.name].value != entry.value:
            raise InputError(
                f"{entry.name}: announced twice in fedco.{group}, {_told_by(found[entry.name])} and {_told_by(entry)}"
            )
        found[entry.name] = entry
    return found


def _told_by(entry: EntryPoint) -> str:
    return f"by {entry.dist.name if entry.dist else 'a package'} ({entry.value})"


def load_installed(group: str, name: str, wanted: type | None = None) -> Any:
    """The object that an installed package announces under a name.

    Raises:
        InputError: importing it fails, or it is not of the wanted type; the message names the package.
    """
    entry = installed(group)[name]
    try:
        found = entry.load()
    except FAILURES as error:
        raise InputError(
            f"{name}: announced in fedco.{group} {_told_by(entry)}, but loading it failed: {told(error)}"
        ) from error
    if wanted is not None and not isinstance(found, wanted):
        raise InputError(
            f"{name}: announced in fedco.{group} {_told_by(entry)}: wanted a {wanted.__name__}, got a {type(found).__name__}"
        )
    return found


def all_that_load(names: Iterable[str], get: Callable[[str], Loaded]) -> dict[str, Loaded]:
    """`get` of every name; what it refuses is left out with a warning, so that one broken package does not stop the rest."""
    found = {}
    for name in names:
        try:
            found[name] = get(name)
        except InputError as error:
            warnings.warn(str(error), stacklevel=3)
    return found
