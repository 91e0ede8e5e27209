"""What every test gets: waiting threads that do not spin, a collector that leaves alone what was collected, the command in this process."""

import gc
import os
import subprocess
import sys

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: the workers share the cores
gc.disable()  # while modules are imported and cases are made: all of that stays


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture
def command(capsys, monkeypatch):
    """The `fedco` command in this process: `command("bound", ..., cwd=folder)` gives what `subprocess.run` would give.

    A process of its own costs a second, most of it for imports; what only a process can show (no heavy import, a pipe, a
    terminal, an installed wheel) is tested with one.
    """
    from fedco.cli import main

    def run(*arguments, cwd=None):
        monkeypatch.setattr(sys, "argv", ["fedco", *arguments])
        if cwd is not None:
            monkeypatch.chdir(cwd)
        status = 0
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
        captured = capsys.readouterr()
        return subprocess.CompletedProcess(["fedco", *arguments], status, captured.out, captured.err)

    return run
