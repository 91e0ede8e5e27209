"""Kept results: read back until the source that they came from changes, and not a moment longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from fedco.algorithms.engine.fingerprint import ROOT, TRAJECTORY, source_fingerprint
from fedco.validation.lemmas import measure
from fedco.validation.lemmas.measure import LEMMAS, measure_chain
from fedco.validation.report import page
from fedco.validation.report.page import PACKAGE
from fedco.validation.runs import campaign
from fedco.validation.runs.campaign import MEASUREMENT, Task, plan
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipes
from fedco.validation.statistics.alpha_budget import AlphaBudget

RECIPES = recipes()

PLACES = ("room", "other/one.py")


def _package(root: Path) -> Path:
    for name in ("room/a.py", "room/deep/b.py", "room/notes.md", "other/one.py", "other/two.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    return root


def _digest(root: Path) -> str:
    source_fingerprint.cache_clear()
    return source_fingerprint(PLACES, root)


@pytest.mark.parametrize(
    ("changed", "is_stale"),
    [
        ("room/a.py", True),
        ("room/deep/b.py", True),
        ("room/new.py", True),
        ("other/one.py", True),
        ("other/two.py", False),
        ("room/notes.md", False),
    ],
)
def test_a_change_in_a_listed_place_and_only_there_makes_it_stale(tmp_path, changed, is_stale):
    root = _package(tmp_path)
    before = _digest(root)
    assert _digest(root) == before
    (root / changed).write_text("x = 1\n", encoding="utf-8")
    assert (_digest(root) != before) is is_stale


def test_a_place_without_source_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        source_fingerprint(("empty",), tmp_path)


def test_the_places_are_those_of_the_package():
    assert set(TRAJECTORY) <= set(MEASUREMENT) <= set(LEMMAS)
    assert {"algorithms", "synthetic", "bounds"} <= set(MEASUREMENT) & set(PACKAGE) and "validation" in PACKAGE
    assert all((ROOT / place).exists() for place in (*MEASUREMENT, *PACKAGE, *LEMMAS))
    assert len({source_fingerprint(places) for places in (MEASUREMENT, PACKAGE, LEMMAS)}) == 3


def test_a_cached_part_is_made_again_when_the_source_changed(tmp_path, monkeypatch):
    made = iter(range(10))
    monkeypatch.setattr(page, "source_fingerprint", lambda places: "old")
    assert [page.cached_json(tmp_path, "part", lambda: next(made)) for _ in range(2)] == [0, 0]
    monkeypatch.setattr(page, "source_fingerprint", lambda places: "new")
    assert page.cached_json(tmp_path, "part", lambda: next(made)) == 1


def test_a_chunk_is_named_after_the_source_of_measurements(monkeypatch):
    (experiment,) = plan("feddro.theorem_5_1", [RECIPES["feddro.theorem_5_1"].instances[0]], AlphaBudget("1e-6"),
                   horizons=(256,), seeds=2)  # fmt: skip
    before, asked = Task(experiment, 0, 2).key, []
    monkeypatch.setattr(campaign, "source_fingerprint", lambda places: asked.append(places) or "changed")
    assert Task(experiment, 0, 2).key != before and asked == [MEASUREMENT]


def test_a_lemma_table_is_measured_again_when_the_chains_changed(tmp_path, monkeypatch):
    instance = Instance("feddro_homogeneous", {"I": 1, "b": 1}, "", {"dim": 4}, (64,))
    for name in ("old", "old", "new"):
        monkeypatch.setattr(measure, "source_fingerprint", lambda places, name=name: name)
        measure_chain("feddro.theorem_5_1", instance, 64, seeds=4, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
