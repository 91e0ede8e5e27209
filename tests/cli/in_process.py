"""The command in this process, and values that the statement of MAIN admits."""

from __future__ import annotations

import sys

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


def run(capsys, monkeypatch, *arguments):
    """Exit status, stdout, stderr of the command, in this process."""
    monkeypatch.setattr(sys, "argv", ["fedco", *arguments])
    status = 0
    try:
        main()
    except SystemExit as stop:
        status = stop.code or 0
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def invoke(*arguments):
    """What the command does without its entry point: an error of the user stays one."""
    return CliRunner().invoke(app, list(arguments))


def refused(said, *arguments):
    failed = invoke(*arguments)
    assert isinstance(failed.exception, InputError) and said in str(failed.exception), failed.exception
