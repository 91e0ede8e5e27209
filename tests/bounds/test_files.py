"""FILE.toml and FILE.py:NAME stand for a theorem wherever an id does."""

from __future__ import annotations

from pathlib import Path

import pytest
from fedco.bounds.files import is_file, theorem_of_file, theorems_of_file
from fedco.bounds.language.reading import InputError

SYMBOLS = '{"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}'
ONE = (
    f'import fedco\nfirst = fedco.define(id="mine.theorem_1", symbols={SYMBOLS}, terms={{"all": "2*F_gap/(eta*T)"}})\n'
)
TWO = (
    ONE
    + f'second = fedco.define(id="mine.remark_2", symbols={SYMBOLS}, terms={{"all": "F_gap/(eta*T)"}})\nagain = first\n'
)
PAPER = TWO + 'paper = fedco.Paper("mine", "My paper", {"theorems": (first, second)})\ndel first, second, again\n'


def test_what_is_a_file():
    assert all(is_file(text) for text in ("a.toml", "d/a.toml", "a.py", "a.py:b", "/d/a.py:b"))
    assert not any(is_file(text) for text in ("feddro.theorem_5_1", "feddro", "", "a.json", "toml"))


@pytest.mark.parametrize("text", [TWO, PAPER], ids=["variables", "a paper"])
def test_a_theorem_of_a_python_file(tmp_path: Path, text: str):
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert list(theorems_of_file(str(file))) == ["mine.theorem_1", "mine.remark_2"]
    for name in ("mine.theorem_1", "theorem_1"):
        assert theorem_of_file(f"{file}:{name}").id == "mine.theorem_1"
    assert list(theorems_of_file(f"{file}:remark_2")) == ["mine.remark_2"]
    assert theorem_of_file(f"{file}:theorem_1") is theorem_of_file(f"{file}:theorem_1")
    with pytest.raises(InputError, match=r"mine\.py: wanted FILE\.py:NAME with one of "):
        theorem_of_file(str(file))
    with pytest.raises(InputError, match=r"mine\.py: 'theorem_2' is not one of its theorems; "):
        theorem_of_file(f"{file}:theorem_2")


def test_a_variable_names_a_theorem(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(TWO)
    assert theorem_of_file(f"{file}:second").id == "mine.remark_2"


def test_one_theorem_needs_no_name(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(ONE)
    assert theorem_of_file(str(file)).id == "mine.theorem_1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "declares a theorem, found none"),
        (ONE + ONE.replace("first", "other").replace("2*F_gap", "3*F_gap"), "two theorems have the id mine.theorem_1"),
        (ONE.replace("2*F_gap", "2*F_gab"), "line 2: mine.theorem_1: term all: column 3: 'F_gab'"),
    ],
)
def test_a_file_without_sound_theorems(tmp_path: Path, text: str, reason: str):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        theorems_of_file(str(file))
    assert str(caught.value).startswith(f"{file}: ") and reason in str(caught.value)
