"""`fedco verify`: what a folder holds is measured again, and a forged number is found whatever its checksum."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path
from types import SimpleNamespace

import pytest
from fedco import lossless, storage, theorem
from fedco.bounds.language.rendering import status_of
from fedco.errors import InputError
from fedco.storage import write_json
from fedco.user_files import trusting
from fedco.validation.runs import verify as module
from fedco.validation.runs.campaign import Experiment
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipe_for, runs_of
from fedco.validation.runs.validate import RESULTS, validate
from fedco.validation.runs.verify import verify
from fedco.validation.statistics.alpha_budget import AlphaBudget

THEOREM = "feddro.theorem_5_1"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> str:
    """The results.json of a short run."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        validate(THEOREM, alpha="1e-3", jobs=1, out=folder, seeds=32)
    return (folder / "results.json").read_text()


def shorten(patch: pytest.MonkeyPatch) -> None:
    first = replace(recipe_for(THEOREM).instances[0], horizons=(256,))
    patch.setitem(runs_of("feddro").recipes, THEOREM, replace(recipe_for(THEOREM), instances=(first,)))


def changed(results: str, change: Callable[[dict], object], folder: Path) -> Path:
    """A folder with the results after a change, with a checksum that agrees."""
    data = json.loads(results)
    change(data)
    storage.write_json(folder / "run" / "results.json", data)
    return folder


def test_an_honest_run_is_verified(results, tmp_path):
    found = verify(changed(results, lambda data: None, tmp_path), cases=5)
    assert found.verified and len(found.compared) == found.total == 1 and found.made_with == ()


def first(data: dict) -> dict:
    return data["results"][0]


FORGERIES = {
    "a mean in its last bit": lambda d: first(d).update(mean=first(d)["mean"] * (1 + 3e-16)),
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
    "another theorem in the head": lambda d: d.update(theorem="fcsg.theorem_4_1"),
    "another statement in the head": lambda d: d.update(statement="corrected"),
    "a better status": lambda d: d.update(status="proved", refuted_by=[]),
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
    assert storage.read_json(tmp_path / "results.json", RESULTS)["results"][0]["mean"] == 0.0
    found = verify(tmp_path, cases=1)
    assert not found.verified and any("mean: 0.0 stored" in line for line in found.differences)


def test_other_versions_are_said(results, tmp_path):
    found = verify(changed(results, lambda data: data["versions"].update(torch="0.1"), tmp_path), cases=1)
    assert found.verified and "torch: 0.1 then" in found.made_with[0]


def test_a_theorem_of_a_file_is_not_run(results, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    found = verify(changed(results, lambda data: first(data).update(theorem="mine.py:theorem"), tmp_path))
    assert not found.verified and found.total == 0
    (said,) = found.differences
    assert said.endswith(
        ": 'mine.py:theorem' is a theorem of a file; only those of `fedco theorems` are measured again"
    )
    of_a_table = verify(changed(results, lambda data: first(data).update(theorem="mine.theorem_1"), tmp_path))
    assert of_a_table.differences == (said.replace("mine.py:theorem", "mine.theorem_1"),)


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


SGD = "baselines.local_sgd"


INSTANCE = Instance("federated_noisy", {"eta": Q(1, 4), "p": 4, "b": 2}, "why", {"start": 5.0}, (200, 400))


def experiment(T: int = 200, seeds: int = 300, **changes) -> Experiment:
    return replace(Experiment(theorem(SGD), "printed", INSTANCE, T, seeds, 7), **changes)


def test_a_verification_needs_something_compared_and_nothing_different():
    one = module.Verification(("f: a",), 3, (), ("torch: 1 then, 2 now; last bits may differ",))
    assert (
        one.verified
        and str(one)
        == "verified: 1 of 3 measured again\n  f: a\n  torch: 1 then, 2 now; last bits may differ\n"
        "  not looked at: negative controls, and which results are missing"
    )
    assert not module.Verification((), 3, (), ()).verified
    other = replace(one, differences=("f: a: b",))
    assert (
        not other.verified
        and str(other).startswith("NOT verified: 1 of 3 measured again")
        and other.to_dict()["verified"] is False
    )


@pytest.fixture
def verified(tmp_path, monkeypatch):
    """`verify` on a folder with these rows, of which each is measured again as this function says."""

    def run(rows, again=dict, **options):
        ledger = AlphaBudget("1e-3")
        for row in rows:
            if isinstance(row["theorem"], str) and row["theorem"] == SGD:
                ledger.allot(experiment(T=row["T"], seeds=3).name, Q(1, 10**4), 3)
        head = {"theorem": SGD, "statement": "printed", **status_of(theorem(SGD).statement("printed"))}
        data = {"format": module.RESULTS, **head, "results": rows, "ledger": ledger.to_dict(), "versions": {}}
        write_json(tmp_path / "results.json", data)
        asked = []
        monkeypatch.setattr(module, "versions", lambda: {"torch": "2"})
        monkeypatch.setattr(module, "run_task", lambda task, cache: (asked.append((task.experiment, cache)), {})[1])
        known = {row["T"]: row for row in rows}
        monkeypatch.setattr(
            module, "conclude", lambda made, parts, ledger: [SimpleNamespace(to_dict=lambda: again(known[made[0].T]))]
        )
        return module.verify(tmp_path, **options), asked

    return run


def a_row(T: int = 200, **changes) -> dict:
    numbers = {
        "parameters": lossless.encode({"start": 5.0}),
        "hyperparameters": lossless.encode(INSTANCE.hyperparameters),
    }
    row = {
        "theorem": SGD,
        "statement": "printed",
        "problem": "federated_noisy",
        "why": "w",
        "T": T,
        "seeds": 3,
        "root_seed": 9,
    }
    return row | {"instance": json.loads(json.dumps(numbers)), "a": {"b": [1, 2], "c": 3}, "d": None} | changes


def test_a_sample_of_results_is_drawn_by_its_seed(verified, tmp_path):
    rows, said = [a_row(T) for T in range(200, 206)], []
    found, asked = verified(rows, cases=2, seed=1, say=said.append)
    assert list(found.compared) == said == sorted(said) and len(said) == 2 and found.total == 6 and found.verified
    assert found.made_with == ("torch: None then, 2 now; last bits may differ",)
    assert [f"results.json: {made.name}" for made, _ in asked] == said and {cache for _, cache in asked} == {None}
    for made, _ in asked:
        assert (made.seeds, made.root_seed, made.instance.horizons) == (3, 9, (made.T,))
    assert {verified(rows, cases=2, seed=s)[0].compared for s in range(8)} != {found.compared}
    assert len(verified(rows, cases=99)[0].compared) == 6 and len(verified(rows)[0].compared) == 3
    with pytest.raises(InputError, match="found none"):
        module.verify(tmp_path / "nowhere")


def test_differences_are_told_by_their_places(verified):
    name = f"results.json: {experiment(T=200).name}"
    found, _ = verified([a_row(why="x" * 99)], lambda row: row | {"a": {"b": [1, 3], "c": 3, "e": 5}, "why": "y" * 99})
    assert not found.verified and found.differences == (
        f"{name}: why: {'x' * 60} stored, {'y' * 60} measured again",
        f"{name}: a/b: [1, 2] stored, [1, 3] measured again",
        f"{name}: a/e: None stored, 5 measured again",
    )
    assert verified([a_row()])[0].verified


def test_results_of_what_is_no_theorem_are_not_measured_again(verified):
    found, asked = verified([a_row(), a_row(theorem=7)])
    assert not found.compared and not asked and not found.verified
    (wrong,) = found.differences
    assert wrong.startswith("results.json: not readable as results: AttributeError: 'int' object") and "(" not in wrong
