"""What is kept of searches, the line that pages and reports print of a statement, and the Python of docs/falsifier.md."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.change import Change, changed, with_statement
from fedco.bounds.language.theorem import Term
from fedco.bounds.registry import all_theorems, get_theorem
from fedco.errors import InputError
from fedco.storage import DamagedError
from fedco.validation.falsifier import falsify, record
from fedco.validation.report.pages import paper_pages
from searching import ticking

SGD = get_theorem("baselines.local_sgd")
PAGE = Path(fedco.__file__).parent / "docs" / "falsifier.md"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Where searches are kept, of so many turns instead of seconds."""
    path = tmp_path / "searches.json"
    monkeypatch.setattr(record, "FILE", path)
    monkeypatch.setattr(record, "falsify", lambda *given, **more: falsify(*given, **{**more, "clock": ticking()}))
    record.kept_searches.cache_clear()
    yield path
    record.kept_searches.cache_clear()


def test_a_search_is_kept_and_forgotten_when_its_statement_changes(file) -> None:
    assert record.searched(SGD, "printed") is None
    made = record.keep(SGD, "printed", 12.0, file=file)
    assert made["outcome"] == "SURVIVED"
    found = record.searched(SGD, "printed")
    assert (found.evaluations, found.ratio) == (made["evaluations"], made["ratio"])
    assert f"survived {found.evaluations} instances" in str(found)
    assert any(str(found.evaluations) in text for text in record.lines_of(SGD))
    page = paper_pages("baselines", [])["baselines.local_sgd.md"]
    assert "## Searched for counterexamples" in page
    other = changed(SGD, "printed", Change("drift", "dropped"))
    assert record.searched(other, "printed") is None


def test_what_cannot_be_searched_is_not_kept(file) -> None:
    statement = SGD.statement("printed")
    odd = with_statement(SGD, replace(statement, terms=(*statement.terms, Term("odd", sp.sin(1)))))
    with pytest.raises(InputError, match=r"baselines\.local_sgd: .*cannot be written as formulas"):
        record.keep(odd, "printed", 1.0, file=file)
    assert not file.exists()


def test_a_search_that_came_nowhere_near_the_bound_says_that_it_tested_hardly_anything() -> None:
    near = record.Searched("SURVIVED", 0.4, 1000, 5.0, "2026-11-22", "0.1.0")
    assert str(near).startswith("survived 1000 instances") and not near.tested_little
    far = replace(near, ratio=1e-12)
    assert far.tested_little and "survived" not in str(far)
    assert "no instance came above 1e-12 of the bound, so the search tested hardly anything" in str(far)
    assert "no admissible instance was found, nothing was tested" in str(replace(near, ratio=0.0))
    assert not replace(far, outcome="REFUTED").tested_little


def test_the_python_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(PAGE.parents[1] / "examples")
    names: dict[str, object] = {}
    exec(compile(program, PAGE.name, "exec"), names)
    tests = [found for name, found in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    for test in tests:
        test()


def test_a_damaged_file_is_refused(file) -> None:
    record.keep(SGD, "printed", 2.0, file=file)
    stored = json.loads(file.read_text())
    stored["searches"]["baselines.local_sgd (printed)"]["ratio"] = 0.1
    file.write_text(json.dumps(stored))
    record.kept_searches.cache_clear()
    with pytest.raises(DamagedError, match="sha256"):
        record.searched(SGD, "printed")


def test_no_kept_search_refutes_what_is_said_to_hold() -> None:
    """The file in the repository: every corrected statement that was searched survived."""
    kept = [(t, s) for t in record.searchable("corrected") if (s := record.searched(t, "corrected")) is not None]
    if not record.FILE.exists():
        pytest.skip("no search is kept in the repository")
    assert kept
    assert [t.id for t, s in kept if s.outcome != "SURVIVED" or s.ratio > 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, t in all_theorems().items() if "corrected" in t.labels])
def test_no_corrected_statement_is_refuted_in_ten_minutes(name, tmp_path) -> None:
    """`python -m fedco.validation.falsifier.record --seconds 600` keeps the same; here nothing in the repository changes."""
    theorem, began = get_theorem(name), time.process_time()
    if theorem not in record.searchable("corrected"):
        pytest.skip("nothing says how it is run on a family")
    made = record.keep(theorem, "corrected", 600.0, file=tmp_path / "searches.json")
    assert made["outcome"] == "SURVIVED"
    assert made["ratio"] <= 1
    assert time.process_time() - began > 590
