"""`fedco verify`: what a folder holds is measured again, and a forged number is found whatever its checksum."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fedco import storage
from fedco.errors import InputError
from fedco.user_files import trusting
from fedco.validation.runs.registry import recipe_for, runs_of
from fedco.validation.runs.validate import RESULTS, validate
from fedco.validation.runs.verify import verify

THEOREM = "feddro.theorem_5_1"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> str:
    """The results.json of two short runs."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        validate(THEOREM, alpha="1e-3", jobs=1, out=folder, seeds=32)
    return (folder / "results.json").read_text()


def shorten(patch: pytest.MonkeyPatch) -> None:
    first = replace(recipe_for(THEOREM).instances[0], horizons=(256, 324))
    patch.setitem(runs_of("feddro").recipes, THEOREM, replace(recipe_for(THEOREM), instances=(first,)))


def changed(results: str, change: Callable[[dict], object], folder: Path) -> Path:
    """A folder with the results after a change, with a checksum that agrees."""
    data = json.loads(results)
    change(data)
    storage.write_json(folder / "run" / "results.json", data)
    return folder


def test_an_honest_run_is_verified(results, tmp_path):
    found = verify(changed(results, lambda data: None, tmp_path), cases=5)
    assert found.verified and len(found.compared) == found.total == 2 and found.made_with == ()


def first(data: dict) -> dict:
    return data["results"][0]


FORGERIES = {
    "a mean in its last bit": lambda d: first(d).update(mean_over_1_to_T=first(d)["mean_over_1_to_T"] * (1 + 3e-16)),
    "another outcome": lambda d: first(d)["verdict"].update(outcome="REFUTED"),
    "a larger bound": lambda d: first(d)["bound"].update(total=1e6),
    "other data": lambda d: first(d).update(statistic_sha256="0" * 64),
    "another root seed": lambda d: first(d).update(root_seed=99),
    "fewer seeds": lambda d: first(d).update(seeds=31),
    "another parameter": lambda d: first(d)["instance"]["parameters"].update(dim=3),
    "another horizon": lambda d: first(d).update(T=300),
    "a field that is not measured": lambda d: first(d).update(praise="sound"),
    "a larger share of alpha": lambda d: [test.update(alpha="1/3") for test in d["ledger"]["tests"]],
    "no ledger": lambda d: d.pop("ledger"),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_result_is_found_whatever_its_checksum(change, results, tmp_path):
    found = verify(changed(results, change, tmp_path), cases=2)
    assert not found.verified and found.differences


def test_measurements_forged_before_the_verdict_are_found(tmp_path, monkeypatch):
    shorten(monkeypatch)
    validate(THEOREM, alpha="1e-3", jobs=1, out=tmp_path, seeds=32)
    for path in (tmp_path / "measurements").iterdir():
        kept = storage.read_json(path, storage.KEPT)
        kept["value"]["statistic"] = [float(0).hex()] * 32
        storage.write_json(path, kept)
    validate(THEOREM, alpha="1e-3", jobs=1, out=tmp_path, seeds=32)
    assert storage.read_json(tmp_path / "results.json", RESULTS)["results"][0]["mean_over_1_to_T"] == 0.0
    found = verify(tmp_path, cases=1)
    assert not found.verified and any("mean_over_1_to_T: 0.0 stored" in line for line in found.differences)


def test_the_sample_is_drawn_by_its_seed(results, tmp_path):
    folder = changed(results, lambda data: None, tmp_path)
    samples = {seed: verify(folder, cases=1, seed=seed).compared for seed in range(4)}
    assert len(set(samples.values())) == 2 and verify(folder, cases=1, seed=2).compared == samples[2]


def test_other_versions_are_said(results, tmp_path):
    found = verify(changed(results, lambda data: data["versions"].update(torch="0.1"), tmp_path), cases=1)
    assert found.verified and "torch: 0.1 then" in found.made_with[0]


def test_a_theorem_of_a_file_is_not_run(results, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    found = verify(changed(results, lambda data: first(data).update(theorem="mine.py:theorem"), tmp_path))
    assert not found.verified and found.total == 0 and "theorem of a file" in found.differences[0]


def test_a_problem_of_a_file_is_run_only_where_it_is_trusted(results, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    named = results.replace(first(json.loads(results))["problem"], "mine.py:build")
    folder = changed(named, lambda data: None, tmp_path)
    found = verify(folder, cases=2)
    assert not found.verified and "--trust" in found.differences[0] and not (tmp_path / "ran").exists()
    with trusting():
        verify(folder, cases=2)
    assert (tmp_path / "ran").exists()


def test_damaged_and_missing_results_are_named(results, tmp_path):
    folder = changed(results, lambda data: None, tmp_path)
    (folder / "results.json").write_text(results[:-200])
    found = verify(folder, cases=1)
    assert not found.verified and found.differences[0].startswith("results.json: not readable")
    with pytest.raises(InputError, match=r"results\.json"):
        verify(tmp_path / "nowhere")


def test_a_folder_without_a_single_result_is_not_verified(results, tmp_path):
    found = verify(changed(results, lambda data: data.update(results=[]), tmp_path))
    assert found.differences == () and not found.verified
