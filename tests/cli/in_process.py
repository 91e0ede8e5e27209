"""The command in this process, values that the statement of MAIN admits, and functions that are replaced during a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any, NamedTuple
from unittest.mock import patch

from fedco.cli import app, main
from fedco.errors import InputError
from typer.testing import CliRunner

MAIN = "feddro.theorem_5_1"
CONSTANTS = dict.fromkeys(
    ("L_h", "L_f", "L_g", "B_f", "B_g", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap"), "1"
)
VALUES = {**CONSTANTS, "y_err": "0", "I": "4", "K": "8", "b": "2", "T": "1e9"}


def sets(values, **changes):
    return [part for name, value in {**values, **changes}.items() for part in ("--set", f"{name}={value}")]


class Done(NamedTuple):
    """What a command came to."""

    status: int
    out: str
    err: str


def run(*arguments: str) -> Done:
    """The command in this process."""
    status, out, err = 0, StringIO(), StringIO()
    with patch.object(sys, "argv", ["fedco", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            status = int(stop.code or 0)
    return Done(status, out.getvalue(), err.getvalue())


def invoke(*arguments):
    """What the command does without its entry point: an error of the user stays one."""
    return CliRunner().invoke(app, list(arguments))


def refused(said, *arguments):
    failed = invoke(*arguments)
    assert isinstance(failed.exception, InputError) and said in str(failed.exception), failed.exception


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
