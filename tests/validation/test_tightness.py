"""The table of tightness on a theorem's page: what is kept of a report, what was searched, and what is neither."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from fedco.bounds.audit import necessary
from fedco.bounds.language.change import Change, changed
from fedco.bounds.registry import all_theorems, get_theorem
from fedco.storage import DamagedError
from fedco.validation.falsifier import record
from fedco.validation.report import tightness

SGD = get_theorem("baselines.local_sgd")
HORIZON = {"T": 64, "seeds": 8, "outcome": "SUPPORTED", "mean": 0.5, "bound": 1.5, "tightness": 3.0}
RUN = {
    "problem": "federated_noisy",
    "case": "stress",
    "hyperparameters": {"eta": "1/4", "p": "4"},
    "horizons": [
        {**HORIZON, "T": 16, "tightness": 9.0, "shares": {}},
        {**HORIZON, "shares": {"drift": 0.75, "variance": 0.25}},
    ],
}
DIVERGED = {**RUN, "horizons": [{**HORIZON, "mean": None, "tightness": None, "shares": {"drift": 1.0}}]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    cards = [
        {"id": "baselines.local_sgd", "judged": "printed", "runs": [RUN, DIVERGED]},
        {"id": "baselines.scgd", "judged": "printed", "runs": []},
    ]
    path = tmp_path / "tightness.json"
    tightness.keep({"cards": cards}, path)
    return path


def test_a_run_is_kept_at_its_longest_horizon_and_forgotten_when_the_statement_changes(file: Path) -> None:
    found = tightness.measured(SGD, "printed", file)
    assert found is not None and [row["T"] for row in found["runs"]] == [64, 64]
    text = "\n".join(tightness.lines_of(SGD, file))
    assert "| federated_noisy | stress | eta = 1/4, p = 4 | 64 | 8 | 0.5 | 1.5 | 3 | drift, 75% |" in text
    assert "| – | 1.5 | – | drift, 100% |" in text and "| printed | 3, on 1 instances |" in text
    other = changed(SGD, "printed", Change("drift", "dropped"))
    assert tightness.measured(other, "printed", file) is None
    assert "not measured" in "\n".join(tightness.lines_of(other, file))


def test_what_is_neither_measured_nor_searched_says_so(file: Path, tmp_path: Path, monkeypatch) -> None:
    for module in (record, necessary):
        monkeypatch.setattr(module, "FILE", tmp_path / "none.json")
    text = "\n".join(tightness.lines_of(get_theorem("baselines.scgd"), file))
    assert "| printed | not measured | not searched | not searched |" in text


def test_a_damaged_file_is_refused(file: Path) -> None:
    stored = json.loads(file.read_text())
    stored["theorems"]["baselines.local_sgd"]["runs"][0]["tightness"] = 1.0
    file.write_text(json.dumps(stored))
    tightness.kept.cache_clear()
    with pytest.raises(DamagedError, match="sha256"):
        tightness.measured(SGD, "printed", file)


def test_kept_runs_lie_below_the_bound_that_they_support() -> None:
    """The file in the repository: of every theorem whose statement has not changed since, all instances that were judged."""
    kept = [e for t in all_theorems().values() for label in t.labels if (e := tightness.measured(t, label)) is not None]
    rows = [row for entry in kept for row in entry["runs"] if row["outcome"] == "SUPPORTED"]
    assert rows and all(row["tightness"] > 1 and row["bound"] > row["mean"] > 0 for row in rows)
    assert not [row for entry in kept for row in entry["runs"] if row["outcome"] == "REFUTED"]


def test_the_table_says_the_least_ratio_and_counts_what_is_necessary(file: Path, monkeypatch) -> None:
    loose = {**RUN, "horizons": [{**HORIZON, "tightness": 7.0, "shares": {}}]}
    tightness.keep({"cards": [{"id": SGD.id, "judged": "printed", "runs": [loose, RUN]}]}, file)
    parts = {"a": SimpleNamespace(bundle="x"), "b": SimpleNamespace(bundle="")}
    monkeypatch.setattr(tightness, "needed", lambda statement: parts)
    for little, said in ((False, "0.25"), (True, "0.25: hardly anything was tested")):
        kept = SimpleNamespace(ratio=0.25, tested_little=little)
        monkeypatch.setattr(tightness, "searched", lambda theorem, label, kept=kept: kept)
        text = "\n".join(tightness.lines_of(SGD, file))
        assert f"| printed | 3, on 2 instances | {said} | 1 of 2 shown to be necessary |" in text
