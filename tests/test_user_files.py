"""Objects from a user's file and from installed packages, and one line where they are broken."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from fedco import user_files
from fedco.errors import InputError

MINE = """
from dataclasses import dataclass
from neighbour import SEVEN
runs = []

@dataclass(frozen=True)
class Thing:
    size: "int" = SEVEN

thing = Thing()
_hidden = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "neighbour.py").write_text("SEVEN = 7")
    return tmp_path


def test_an_object_of_a_file(folder: Path):
    before = list(sys.path)
    thing = user_files.load_object(f"{folder}/mine.py:thing")
    assert thing.size == 7 and sys.path == before
    assert user_files.load_object("mine.py:thing", folder) is thing  # the file has run once
    assert type(thing) is user_files.load_object("mine.py:Thing", folder)


def test_a_changed_file_runs_again(folder: Path):
    first = user_files.load_object("mine.py:thing", folder)
    (folder / "mine.py").write_text(MINE.replace("= SEVEN", "= SEVEN + 1"))
    assert (first.size, user_files.load_object("mine.py:thing", folder).size) == (7, 8)


@pytest.mark.parametrize("name", ["", ":", ":nothing", ":_hidden", ":__name__", ":thing.size"])
def test_a_name_that_is_not_there(folder: Path, name: str):
    with pytest.raises(
        InputError, match=r"mine\.py: wanted FILE.py:NAME with one of its names, .*Thing thing"
    ) as caught:
        user_files.load_object(f"mine.py{name}", folder)
    assert "_hidden, " not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n\n1/0\n", "running it failed in line 3: ZeroDivisionError: division by zero"),
        ("x = 1\nif x\n", "running it failed in line 2: SyntaxError"),
        ("import no_such_module_at_all\n", "in line 1: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("def f():\n    raise ValueError('two\\nlines')\n\nf()\n", "in line 2: ValueError: two lines"),
        ("x = '\x00'\n", "running it failed"),
    ],
)
def test_a_file_that_fails_is_one_line_with_its_place(tmp_path: Path, text: str, reason: str):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        user_files.run_file(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and reason in message and message.isprintable()
    assert not [name for name in sys.modules if name.startswith("fedco_file_broken")]


def test_files_that_are_none(tmp_path: Path):
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(InputError, match="no such file"):
            user_files.run_file(path)


@pytest.mark.parametrize(
    ("text", "file", "name"),
    [
        ("a.py", "a.py", ""),
        ("a.py:b", "a.py", "b"),
        ("d/a.py:b", "d/a.py", "b"),
        ("c:/d/a.py:b", "c:/d/a.py", "b"),
        ("c:/a.py", "c:/a.py", ""),
    ],
)
def test_file_and_name(text: str, file: str, name: str):
    assert user_files.split_file(text) == (Path(file), name)
    assert user_files.is_python_file(text)


@pytest.mark.parametrize("text", ["feddro.theorem_5_1", "mine.toml", "local_sgd", ""])
def test_what_is_no_python_file(text: str):
    assert not user_files.is_python_file(text)


def announce(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, lines: str) -> None:
    """An installed package with these entry points."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(str(folder))
    user_files.installed.cache_clear()


@pytest.fixture(autouse=True)
def forget():
    yield
    user_files.installed.cache_clear()


def test_objects_of_installed_packages(folder: Path, monkeypatch: pytest.MonkeyPatch):
    announce(
        folder,
        monkeypatch,
        "things",
        "[fedco.methods]\nthing = mine:Thing\nbroken = mine:Nothing\nabsent = no_such_module:x\n",
    )
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert {"thing", "broken", "absent"} <= set(user_files.installed("methods"))
    assert "mine" not in sys.modules  # announced, not imported
    assert user_files.load_installed("methods", "thing")().size == 7
    for name, reason in (("broken", "AttributeError"), ("absent", "ModuleNotFoundError")):
        with pytest.raises(
            InputError, match=rf"{name}: announced in fedco.methods by things .*loading it failed: {reason}"
        ) as caught:
            user_files.load_installed("methods", name)
        assert str(caught.value).isprintable()
    with pytest.raises(InputError, match=r"thing: .*wanted a str, got a type"):
        user_files.load_installed("methods", "thing", wanted=str)


def test_two_packages_with_one_name(folder: Path, monkeypatch: pytest.MonkeyPatch):
    announce(folder, monkeypatch, "things", "[fedco.problems]\nsame = mine:thing\n")
    announce(folder, monkeypatch, "others", "[fedco.problems]\nsame = neighbour:SEVEN\n")
    with pytest.raises(InputError, match=r"same: announced twice in fedco\.problems"):
        user_files.installed("problems")


def test_unknown_group():
    with pytest.raises(ValueError, match="no such group"):
        user_files.installed("theorems")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file(folder: Path):
    (folder / "mine.py").chmod(0)
    with pytest.raises(InputError, match="running it failed"):
        user_files.run_file(folder / "mine.py")
