"""What every test gets: waiting threads that do not spin, a collector that leaves alone what was collected, torch's own
generator at a seed, the command in this process, the package as somebody who installs it has it.

The order of the tests is random (pytest-randomly): the end of the output says `--randomly-seed=...`, and that option repeats the order.
"""

import contextlib
import functools
import gc
import os
import subprocess
import sys

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: the workers share the cores
with contextlib.suppress(ImportError):  # a machine for GPU tests may have no typer
    import typer.main
    import typer.testing

    # a process of the command builds its parser once; here every command that a test runs would, in 20 ms
    typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)
settings.register_profile("fedco", deadline=None)  # no test of this suite is one of speed, and machines are busy
settings.load_profile("fedco")
gc.disable()  # while modules are imported and cases are made: all of that stays


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(20_000)  # tests make many small objects that live long, and few circles
    gc.enable()


def pytest_terminal_summary(terminalreporter, config):
    if (seed := getattr(config.option, "randomly_seed", None)) is not None:
        terminalreporter.write_line(f"the order of these tests: --randomly-seed={seed}")


@pytest.fixture(autouse=True)
def seeded():
    """What a test draws from torch's own generators depends on no other test; numpy and random are seeded by pytest-randomly.

    Not `torch.manual_seed`: without a device it keeps a call with its stack trace for later, which takes 0.6 ms for each test.
    """
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(0)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(0)


@pytest.fixture
def command(monkeypatch):
    """The `fedco` command in this process: `command("bound", ..., cwd=folder)` gives what `subprocess.run` would give.

    A process of its own costs a second, most of it for imports; what only a process can show (no heavy import, a pipe, a
    terminal, an installed wheel) is tested with one.
    """
    from in_process import run

    def completed(*arguments, cwd=None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        return subprocess.CompletedProcess(["fedco", *arguments], *run(*arguments))

    return completed


@pytest.fixture
def one_family(monkeypatch):
    """The second lock tries one family of instances, where what it compares beside them is tested: the code, schedules, the metric."""
    _families(monkeypatch, "straight")


@pytest.fixture
def few_families(monkeypatch):
    """The second lock tries a few families of instances, one of which breaks a statement that is far too small."""
    _families(monkeypatch, "straight", "flat", "rounds")


def _families(monkeypatch, *names):
    from fedco.bounds.proof.check_on_instances import STYLES
    from fedco.validation.proofs import lock

    chosen = [style for style in STYLES if style.name in names]
    assert len(chosen) == len(names)
    monkeypatch.setattr(lock, "families", lambda progress: iter(chosen))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with the examples, beside an environment that has nothing of this checkout but its wheel."""
    from installed import install, work_beside
    from once import made_once

    return work_beside(made_once(tmp_path_factory, "wheel", install), tmp_path_factory.mktemp("work"))
