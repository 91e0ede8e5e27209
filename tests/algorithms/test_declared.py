"""What is read from the source of the methods is what their classes say."""

from dataclasses import MISSING, fields

import pytest
from fedco.algorithms import METHODS
from fedco.algorithms import declared as reader
from fedco.algorithms.engine.method import annotation_of
from fedco.algorithms.registry import get_method
from fedco.errors import InputError


def test_every_method_is_read():
    assert reader.declared().keys() == METHODS.keys() and len(METHODS) >= 21


@pytest.mark.parametrize("name", METHODS)
def test_what_is_read_is_what_the_class_says(name):
    read, method = reader.declared()[name], METHODS[name]
    assert get_method(name) is method
    assert (read.kinds, read.needs) == (method.kinds, method.needs)
    assert (dict(read.needs_on), dict(read.costs)) == (dict(method.needs_on), dict(method.costs))
    assert read.summary == method.__doc__.splitlines()[0]
    wanted = [(each.name, annotation_of(each)) for each in fields(method)]
    assert [(each.name, each.annotation) for each in read.hyperparameters] == wanted
    for each, own in zip(read.hyperparameters, fields(method), strict=True):
        assert each.default == (None if own.default is MISSING or own.metadata.get("options") else own.default)


@pytest.mark.parametrize("value", ["Other.needs", "make()", "UNKNOWN", "tuple(x for x in 'ab')", "{**make()}"])
def test_what_cannot_be_read_is_named(tmp_path, monkeypatch, value):
    folder = tmp_path / reader.FOLDERS[0]
    folder.mkdir()
    (folder / "mine.py").write_text(f"class Mine:\n    name: str = 'mine'\n    needs: tuple = {value}\n")
    monkeypatch.setattr(reader, "__file__", str(tmp_path / "declared.py"))
    with pytest.raises(ValueError, match=r"mine\.Mine\.needs: wanted a literal"):
        reader.declared.__wrapped__()


def test_two_methods_of_one_name_are_refused(tmp_path, monkeypatch):
    for folder in reader.FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("class Mine:\n    name: str = 'mine'\n    kinds: tuple = ()\n")
    monkeypatch.setattr(reader, "__file__", str(tmp_path / "declared.py"))
    with pytest.raises(ValueError, match=r"mine: a method of this name in methods\.mine and baselines\.mine"):
        reader.declared.__wrapped__()


def test_a_name_that_is_no_method_is_refused():
    with pytest.raises(InputError, match=r"'fedrdo': not a method; .*feddro.*, or FILE\.py:NAME"):
        get_method("fedrdo")
