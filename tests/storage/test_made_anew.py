"""Damaged measurements, lemma tables, report parts and checkpoints: the same bits again, with one warning each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fedco import storage
from fedco.storage import DamagedWarning
from fedco.validation.lemmas.measure import measure_chain
from fedco.validation.report.page import cached_json
from fedco.validation.runs import campaign
from fedco.validation.runs.campaign import plan as plan_cells
from fedco.validation.runs.campaign import run_tasks, tasks_of
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipe_for, runs_of
from fedco.validation.runs.validate import validate
from fedco.validation.statistics.alpha_budget import AlphaBudget

THEOREM = "feddro.theorem_5_1"
HOMOGENEOUS = recipe_for(THEOREM).instances[0]


def zeros(path: Path) -> None:
    """The numbers become zeros, the checksum stays."""
    data = json.loads(path.read_text())
    value = data["value"]
    value["statistic"] = [float(0).hex()] * len(value["statistic"])
    path.write_text(json.dumps(data))


ARRAYS = ("statistic", "before", "after")


def zeros_without_checksum(path: Path) -> None:
    """As an older format or a careless hand would write it."""
    count = len(json.loads(path.read_text())["value"]["statistic"])
    path.write_text(json.dumps({**dict.fromkeys(ARRAYS, [0.0] * count), "messages": {}, "seconds": 1}))


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "empty": lambda path: path.write_bytes(b""),
    "flipped": lambda path: path.write_bytes(bytes([*path.read_bytes()[:90], 0x80, *path.read_bytes()[91:]])),
    "foreign": lambda path: path.write_text("[1, 2]"),
    "zeros": zeros,
    "zeros_without_checksum": zeros_without_checksum,
}


def measurements(cache: Path, **more):
    cells = plan_cells(THEOREM, [HOMOGENEOUS], AlphaBudget("1e-6"), horizons=(256,), seeds=4)
    return run_tasks(tasks_of(cells, chunk=2), cache=cache, **{"jobs": 1, **more})


def numbers(results) -> list[list[float]]:
    return [data[name] for data in results.values() for name in ARRAYS]


@pytest.mark.parametrize(
    ("damage", "jobs"),
    [*((damage, 1) for damage in DAMAGES.values()), pytest.param(zeros, 2, marks=pytest.mark.slow)],
    ids=[*DAMAGES, "two_processes"],
)
def test_a_damaged_measurement_is_made_again(damage, jobs, tmp_path):
    before = measurements(tmp_path)
    first, second = sorted(tmp_path.iterdir())
    damage(first)
    with pytest.warns(DamagedWarning, match=first.name) as warned:
        again = measurements(tmp_path, jobs=jobs)
    assert len(warned) == 1 and numbers(again) == numbers(before)
    assert sorted(tmp_path.iterdir()) == sorted([first, second, first.with_name(f"{first.name}.damaged")])
    assert numbers(measurements(tmp_path)) == numbers(before)  # and no further warning


def test_a_measurement_under_the_name_of_another_is_not_taken_for_it(tmp_path):
    before = measurements(tmp_path)
    first, second = sorted(tmp_path.iterdir())
    first.write_bytes(second.read_bytes())
    assert numbers(measurements(tmp_path)) == numbers(before)


def test_infinite_and_tiny_doubles_keep_their_bits(tmp_path, monkeypatch):
    strange = np.array([np.inf, 5e-324])
    measured = SimpleNamespace(**dict.fromkeys(ARRAYS, strange), messages={}, seconds=0.0)
    monkeypatch.setattr(campaign, "measure", lambda *_, **__: measured)
    assert numbers(measurements(tmp_path)) == numbers(measurements(tmp_path)) == [strange.tolist()] * 6


def test_the_results_of_a_validation_do_not_depend_on_damage_nor_on_the_clock(tmp_path, monkeypatch):
    short = replace(recipe_for(THEOREM), instances=(replace(HOMOGENEOUS, horizons=(256, 324)),))
    monkeypatch.setitem(runs_of("feddro").recipes, THEOREM, short)

    def run(out: Path) -> bytes:
        validate(THEOREM, alpha="1e-3", jobs=1, out=out, seeds=32)
        return (out / "results.json").read_bytes()

    results = run(tmp_path / "a")
    assert run(tmp_path / "b") == results
    files = sorted((tmp_path / "a" / "measurements").iterdir())
    for path, damage in zip(files, DAMAGES.values(), strict=False):
        damage(path)
    (tmp_path / "a" / "results.json").write_text("{")
    with pytest.warns(DamagedWarning) as warned:
        assert run(tmp_path / "a") == results
    assert len(warned) == len(files) == 2
    assert set(storage.read_json(tmp_path / "a" / "results.json", "fedco-results/1")) >= {
        "results",
        "ledger",
        "versions",
    }
    assert b"seconds" not in results and (tmp_path / "a" / "seconds.json").exists()


def test_a_damaged_lemma_table_is_measured_again(tmp_path):
    instance = Instance("feddro_homogeneous", {"I": 1, "b": 1}, "", {"dim": 4}, (64,))

    def measured():
        return measure_chain(THEOREM, instance, 64, seeds=4, cache=tmp_path).to_dict()

    before = measured()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.warns(DamagedWarning, match=path.name):
        assert measured() == before
    assert measured() == before


def test_a_damaged_part_of_the_report_is_made_again(tmp_path):
    made = iter(range(5))
    assert cached_json(tmp_path, "part", lambda: next(made)) == 0
    (tmp_path / "part.json").write_text('{"source": "x", "value": 7}')
    with pytest.warns(DamagedWarning, match=r"part\.json"):
        assert cached_json(tmp_path, "part", lambda: next(made)) == 1
    assert cached_json(tmp_path, "part", lambda: next(made)) == 1
