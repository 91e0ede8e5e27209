"""The experiment commands: one JSON object, named errors, files where they were asked for."""

import json
from dataclasses import replace
from shutil import copy

import pytest
from fedco.bounds.language.reading import InputError
from fedco.cli import app
from fedco.validation.runs import bundle
from fedco.validation.runs.refutations import kept
from in_process import invoke as run
from typer.testing import CliRunner

CONSTANTS = {
    "L_h": 1, "L_f": 1, "L_g": 1, "B_f": 1, "B_g": 1, "sigma_h": "1/2", "sigma_g": "1/2", "Delta_h": 0, "Delta_g": 0,
    "Phi_gap": 1, "y_err": 0, "K": 4, "b": 1, "I": 2,
}  # fmt: skip
SETS = [part for name, value in CONSTANTS.items() for part in ("--set", f"{name}={value}")]


def test_problems_and_algorithms_are_listed() -> None:
    problems = json.loads(run("problems", "--json").stdout)["problems"]
    assert {"feddro_heterogeneous", "feddro_counterexample"} <= {row["name"] for row in problems}
    assert all(c["argument"] for row in problems for c in row["constants"].values())
    methods = json.loads(run("algorithms", "--json").stdout)["algorithms"]
    assert {"feddro", "fcsg", "local_scgdm", "comfedl", "meta_fl"} <= {row["name"] for row in methods}
    biased = next(row for row in methods if row["name"] == "local_bsgd")
    assert "sample_gradient" in biased["needs_on"]["conditional"]


def test_a_counterexample_is_certified_in_words_and_drawn(tmp_path) -> None:
    cases = json.loads(run("counterexample", "feddro.theorem_4_1", "--json").stdout)["cases"]
    statuses = {case: found["certificate"]["status"] for case, found in cases.items()}
    assert statuses == {"I": "certified", "II": "certified"}
    first, second = run("counterexample").stdout.rstrip("\n").split("\n\n")  # the only one there is
    assert first.startswith("Case I: ") and second.startswith("Case II: ")
    done = run("counterexample", "--case", "II", "--out", str(tmp_path / "new"))
    file = tmp_path / "new" / "counterexample_case_II.svg"
    assert done.stdout == f"{second}\n" and done.stderr == f"wrote {file}\n" and "case II" in file.read_text()


def test_a_plot_is_written_with_its_data(tmp_path) -> None:
    out = tmp_path / "bound.svg"
    asked = "plot feddro.theorem_5_1 --statement printed --over T --from 20000 --to 2000000 --json --out"
    done = run(*asked.split(), str(out), *SETS)
    assert out.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    told = json.loads(done.stdout)
    assert told["data"] and (told["statement"], told["status"]) == ("printed", "refuted")


def test_a_sweep_is_measured_drawn_and_resumed(tmp_path) -> None:
    out, cache = tmp_path / "figure.svg", tmp_path / "cache"
    asked = "plot feddro.theorem_4_2 --sweep I --seeds 16 --jobs 1"
    command = (*asked.split(), "--cache", str(cache), "--out", str(out))
    done = run(*command, "--json")
    data = json.loads(done.stdout)
    assert done.exit_code == 0 and out.read_text(encoding="utf-8").startswith("<?xml")
    assert data["over"] == "I" and data["values"] == [2, 4, 8, 16] and data["seeds"] == 16
    assert len(data["bound"]) == len(data["mean"]) == 4 and data["bound_slope"] > 1
    assert len(list(cache.glob("*.json"))) == 4
    assert json.loads(run(*command, "--json").stdout)["mean"] == data["mean"]


def test_a_refutation_is_replayed(tmp_path) -> None:
    path = copy(kept()["comfedl.theorem_1"], tmp_path / "mine.json")
    assert json.loads(run("replay", str(path), "--json").stdout)["confirmed"] is True


def test_one_refutation_of_several_that_fails_is_a_failure(monkeypatch) -> None:
    real, judged = bundle.replay, []

    def second_fails(*given):
        judged.append(real(*given))
        return replace(judged[-1], confirmed=len(judged) % 2 == 1)

    monkeypatch.setattr(bundle, "replay", second_fails)
    done = run("replay", "acc_fcsg_m.lemma_d_2", "--json")
    told = json.loads(done.stdout)
    assert [item["confirmed"] for item in told["bundles"]] == [True, False]
    assert told["confirmed"] is False and told["claim"] == "acc_fcsg_m.lemma_d_2" and done.exit_code == 1
    (first, second), text = [item["name"] for item in told["bundles"]], run("replay", "acc_fcsg_m.lemma_d_2")
    assert text.stdout.startswith(f"{first}: confirmed\n") and f"\n{second}: NOT confirmed\n" in text.stdout
    assert text.exit_code == 1


def test_a_torn_bundle_is_refused(tmp_path) -> None:
    (tmp_path / "torn.json").write_text("{")
    error = run("replay", str(tmp_path / "torn.json")).exception
    assert isinstance(error, InputError) and "torn.json: wanted a readable bundle, got" in str(error)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("validate", "feddro.lemma_3_1"), "no recipe"),
        (("validate", "feddro.theorem_5_1", "--problem", "nowhere"), "--problem"),
        (
            ("counterexample", "feddro.theorem_5_1"),
            "feddro.theorem_5_1: has no counterexample; wanted feddro.theorem_4_1",
        ),
        (("counterexample", "feddro.theorem_4_1", "--case", "III"), "--case III: wanted I or II"),
        (("plot", "feddro.theorem_5_1", "--over", "zeta", "--out", "a.svg"), "zeta"),
        (("plot", "feddro.theorem_5_1", "--over", "T", "--out", "a.txt"), "--out"),
        (("plot", "feddro.theorem_5_1", "--sweep", "L_f", "--out", "a.svg"), "there are sweeps over T K b I"),
        (("replay", "nowhere.json"), "nowhere.json"),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, ...], named: str) -> None:
    error = run(*arguments).exception
    assert isinstance(error, InputError) and named in str(error)


def test_the_lemmas_of_a_proof_are_measured(tmp_path) -> None:
    asked = "validate comfedl.theorem_2 --lemmas --problem local_homogeneous --seeds 4 --out"
    arguments = (*asked.split(), str(tmp_path))
    done = json.loads(run(*arguments, "--json").stdout)
    (found,) = done["runs"]
    assert done["kind"] == "measurement" and found["seeds"] == 4
    assert {row["lemma"] for row in found["rows"]} >= {"comfedl.lemma_4", "comfedl.descent"}
    assert all(row["left"] <= row["right"] for row in found["rows"] if row["holds"])
    assert len(list((tmp_path / "lemmas").iterdir())) == 1
    assert "no verdicts" in run(*arguments).stdout
    with pytest.raises(InputError, match="no chain"):
        CliRunner().invoke(app, ["validate", "feddro.theorem_4_2", "--lemmas"], catch_exceptions=False)


def test_a_finding_names_the_bundle_that_refutes_its_claim() -> None:
    rows = json.loads(run("audit", "feddro.theorem_4_1", "--no-check", "--json").stdout)["findings"]
    bundles = {row["id"]: row["bundle"] for row in rows}
    assert bundles["feddro.varying_steps"] == "refutations/feddro.theorem_4_1.json"
    assert bundles["feddro.sign_before_13"] is None


def test_a_word_that_is_repeated_counts_once(tmp_path) -> None:
    options = ("--T", "3", "--seeds", "2", "--set", "eta=0.1", "--set", "b=1", "--out", str(tmp_path / "runs"))
    twice = 2 * ("--theorem", "baselines.minibatch_sgd", "--metric", "gradient_sq")
    done = run("run", "minibatch_sgd", "--problem", "federated_sines", *twice, *options)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("bound baselines.minibatch_sgd") == 1
