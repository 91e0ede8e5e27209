"""What all workers of a run read is made by the first of them that needs it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` that `make(folder)` has filled, in this process or in another worker of the same run.

    A worker that needs it while another one makes it waits. Where `make` fails, the next worker begins again. Tests only read it.
    """
    top = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent  # a worker's own folder lies in that of the run
    folder, made = top / name, top / f"{name}.made"
    with (top / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
