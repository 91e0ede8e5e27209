"""`fedco reproduce`: the list, the data and their splits, the verdicts, and figures as a user makes them."""

import gzip
import hashlib
import json

import numpy as np
import pytest
import torch
from fedco.cli import app
from fedco.errors import InputError
from fedco.storage import read_json
from fedco.validation.experiments import datasets, reproduce, splits
from fedco.validation.experiments.figures import STANDINGS, Setup
from fedco.validation.experiments.orderings import Ordering, bootstrap, judge, sign_test
from fedco.validation.experiments.reproduce import FORMAT, figures, run_figure
from typer.testing import CliRunner

EVERYTHING = {
    "comfedl": [f"figure_{k}" for k in range(1, 9)],
    "fcsg": ["figure_1", "figure_2", "figure_3", "table_1", "table_2"],
    "feddro": ["table_1", *(f"figure_{k}" for k in range(1, 7))],
    "local_scgdm": [f"figure_{k}" for k in range(1, 8)],
    "meta_fl": ["figure_1"],
}
"""Counted in the papers: every figure and table that they have."""


def test_every_figure_and_table_of_the_five_papers_is_in_the_list():
    listed = {key: [name.partition("/")[2] for name in figures() if name.startswith(f"{key}/")] for key in EVERYTHING}
    assert {key: sorted(names) for key, names in listed.items()} == {
        key: sorted(names) for key, names in EVERYTHING.items()
    }
    shown = CliRunner().invoke(app, ["reproduce", "--json"]).stdout
    rows = json.loads(shown)["figures"]
    assert len(rows) == sum(map(len, EVERYTHING.values()))
    for row in rows:
        assert row["standing"] in STANDINGS and row["paper_shows"] and row["title"]
        assert row["runs"] or row["standing"] in ("theory", "needs data")
        assert row["differences"] or row["standing"] == "theory"


def test_every_ordering_names_curves_of_its_figure_and_says_why_it_may_differ():
    """Names are checked when a figure is run; here, that each figure that runs claims something."""
    for name, figure in figures().items():
        if figure.measure is not None:
            assert figure.orderings and figure.metrics, name


# --- data --------------------------------------------------------------------------------------------------------------


def _idx(shape, values) -> bytes:
    head = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
    return head + bytes(values)


@pytest.fixture
def mnist_files(tmp_path):
    pixels = np.arange(3 * 4 * 4) % 256
    (tmp_path / "train-images-idx3-ubyte").write_bytes(_idx((3, 4, 4), pixels.tolist()))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(_idx((3,), [7, 0, 9]))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(_idx((2, 4, 4), [255] * 32)))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(_idx((2,), [1, 2])))
    return tmp_path


def test_mnist_is_read_plain_and_gzipped(mnist_files):
    found = datasets.images(mnist_files)
    assert (
        found.inputs.shape == (3, 1, 4, 4)
        and found.labels.tolist() == [7, 0, 9]
        and found.test_labels.tolist() == [1, 2]
    )
    assert (
        found.inputs[1, 0, 0].tolist() == [k / 255 for k in (16, 17, 18, 19)] and float(found.test_inputs.min()) == 1.0
    )


def test_the_files_of_a_folder_take_the_place_of_the_digits(tmp_path):
    labels = [k % 10 for k in range(200)]
    for part, images in (("train", "train-images-idx3-ubyte"), ("t10k", "t10k-images-idx3-ubyte")):
        (tmp_path / images).write_bytes(_idx((200, 4, 4), [(13 * k) % 256 for k in range(3200)]))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(_idx((200,), labels))
    from fedco.validation.papers.comfedl.experiments import _personal

    problem = _personal(Setup(data=tmp_path), "federated")
    assert problem.name == "MNIST" and problem.parts.train.inputs.shape == (10, 100, 16)
    assert problem.objective(problem.initial_point[None]).isfinite().all()


@pytest.mark.parametrize("broken", [b"", b"\0\0\x08\x01", b"\0\0\x0d\x01\0\0\0\x01\0", _idx((2,), [1])])
def test_a_broken_idx_file_is_refused(mnist_files, broken):
    (mnist_files / "train-labels-idx1-ubyte").write_bytes(broken)
    with pytest.raises(InputError, match="train-labels"):
        datasets.images(mnist_files)


def test_cifar_is_read_in_its_binary_version_only(tmp_path):
    with pytest.raises(InputError, match="binary version"):
        datasets.images(tmp_path)
    row = bytes([3]) + bytes([10] * 1024 + [20] * 1024 + [30] * 1024)
    for k in range(1, 6):
        (tmp_path / f"data_batch_{k}.bin").write_bytes(row * k)
    (tmp_path / "test_batch.bin").write_bytes(row)
    found = datasets.images(tmp_path)
    assert found.inputs.shape == (15, 3, 32, 32) and set(found.labels.tolist()) == {3}
    assert [round(float(found.inputs[0, c, 5, 5]) * 255) for c in range(3)] == [10, 20, 30]
    (tmp_path / "data_batch_2.bin").write_bytes(row + b"x")
    with pytest.raises(InputError, match="data_batch_2"):
        datasets.images(tmp_path)
    (tmp_path / "data_batch_2.bin").write_bytes(bytes([10]) + row[1:])
    with pytest.raises(InputError, match="labels from 0 to 9"):
        datasets.images(tmp_path)


def test_omniglot_is_read_from_its_folders(tmp_path):
    from matplotlib.image import imsave

    for alphabet, character, grey in (
        ("Greek", "character01", 0.0),
        ("Greek", "character02", 1.0),
        ("Runic", "character01", 0.5),
    ):
        place = tmp_path / "images_background" / alphabet / character
        place.mkdir(parents=True)
        for k in range(2):
            imsave(place / f"{k}.png", np.full((105, 105), grey), cmap="gray", vmin=0, vmax=1)
    found = datasets.omniglot(tmp_path, size=14)
    assert found.pixels.shape == (3, 2, 196) and found.alphabets == ("Greek", "Greek", "Runic")
    np.testing.assert_allclose(found.pixels[:, 0, 0].tolist(), [1.0, 0.0, 0.5], atol=0.01)  # ink is 1
    (tmp_path / "images_background" / "Runic" / "character01" / "0.png").write_bytes(b"no image")
    with pytest.raises(InputError, match="wanted a PNG"):
        datasets.omniglot(tmp_path)
    with pytest.raises(InputError, match="wanted Omniglot"):
        datasets.omniglot(tmp_path / "images_background" / "Greek" / "character01")


def test_the_tables_of_scikit_learn_are_split_once_and_for_all():
    pytest.importorskip("sklearn")
    found, again = datasets.digits(), datasets.digits()
    assert torch.equal(found.inputs, again.inputs) and len(found.labels) + len(found.test_labels) == 1797
    assert found.flat.features == 64 and float(found.inputs.max()) == 1.0
    assert datasets.table("wine").inputs.shape[1] == 13


def test_splits_are_what_they_say():
    labels = torch.arange(1000) % 10
    inputs = torch.arange(1000.0, dtype=torch.float64).unsqueeze(1)
    parts = splits.of_sizes(inputs, labels, [500, 20, 20])
    assert [len(b) for _, b in parts] == [500, 20, 20]
    seen = torch.cat([a for a, _ in parts]).flatten().tolist()
    assert len(set(seen)) == len(seen)
    for rho in (0.1, 0.28, 0.91):
        for i, (_, own) in enumerate(splits.dominant(inputs, labels, 10, rho, 100)):
            assert len(own) == 100 and abs(int((own == i).sum()) - 100 * rho) <= 1
    examples = datasets.Examples("x", inputs, labels, inputs, labels)
    nearly_one = splits.dirichlet(examples, 30, 0.01, 50)
    assert np.mean([int(torch.bincount(b).max()) for _, b in nearly_one]) > 45
    nearly_all = splits.dirichlet(examples, 30, 1000.0, 50)
    assert max(int(torch.bincount(b).max()) for _, b in nearly_all) < 10
    kept = labels[splits.thinned(labels, range(5), 7)]
    assert torch.bincount(kept).tolist() == [7] * 5 + [100] * 5
    assert torch.bincount(labels[splits.thinned(labels, range(5, 10), 0.2)]).tolist() == [100] * 5 + [20] * 5


# --- verdicts ----------------------------------------------------------------------------------------------------------


def _curves(left, right):
    return {"a": {"m": np.asarray(left)}, "b": {"m": np.asarray(right)}}


def test_orderings_are_judged_seed_by_seed():
    noise = np.random.default_rng(0).normal(size=(8, 1)) * 100
    worse = np.tile(noise, (1, 20))
    better = worse + 0.1  # far less than the spread over the seeds, but the same for each
    assert judge(Ordering("a", "b", "m"), _curves(better, worse)).outcome == "same"
    contrary = judge(Ordering("a", "b", "m", larger=False), _curves(better, worse))
    assert contrary.outcome == "opposite" and contrary.why == "the reason is not known"
    assert judge(Ordering("a", "b", "m", larger=False, why="known"), _curves(better, worse)).to_dict()["why"] == "known"
    mixed = worse + 0.1 * np.array([1, -1] * 4)[:, None]
    assert judge(Ordering("a", "b", "m"), _curves(mixed, worse)).outcome == "not distinguishable"
    assert judge(Ordering("a", "b", "m", alike=True, margin=0.2), _curves(better, worse)).outcome == "same"
    assert judge(Ordering("a", "b", "m", alike=True, margin=0.05), _curves(better, worse)).outcome == "different"
    assert judge(Ordering("a", "b", "m"), _curves(better[:3], worse[:3])).outcome == "not distinguishable"


def test_speed_and_end_are_different_questions():
    slow, fast = np.tile(np.linspace(0, 1, 50), (8, 1)), np.tile(np.minimum(0.9, np.linspace(0, 9, 50)), (8, 1))
    assert judge(Ordering("a", "b", "m", when="along"), _curves(fast, slow)).outcome == "same"
    assert judge(Ordering("a", "b", "m", when="end"), _curves(fast, slow)).outcome == "opposite"
    assert judge(Ordering("a", "b", "m", when="least", exact=True), _curves(slow - 1, slow)).outcome == "opposite"


def test_a_run_that_diverges_is_worse_than_any_other():
    fine, broken = np.full((8, 5), -1e9), np.full((8, 5), 3.0)
    broken[:, -1] = np.nan
    found = judge(Ordering("a", "b", "m"), _curves(fine, broken))
    assert found.outcome == "same" and found.difference[0] == np.inf


def test_the_sign_test_and_the_interval(monkeypatch):
    monkeypatch.setattr("fedco.validation.experiments.orderings.RESAMPLES", 1000)
    assert sign_test(np.array([1.0] * 8)) == pytest.approx(2 / 2**8)
    assert sign_test(np.array([1.0, -1.0, 0.0, 0.0])) == 1.0
    rng = np.random.default_rng(1)
    inside = [low <= 0.0 <= high for _, low, high in (bootstrap(rng.normal(size=40)) for _ in range(200))]
    assert 0.88 <= np.mean(inside) <= 0.99


# --- figures -----------------------------------------------------------------------------------------------------------


def test_the_counterexample_figure_is_made_with_its_files(tmp_path):
    shown = CliRunner().invoke(app, ["reproduce", "feddro/figure_6", "--out", str(tmp_path)])
    assert shown.exit_code == 0 and "all 8 comparisons" in shown.stdout
    kept = read_json(tmp_path / "feddro" / "figure_6.json", FORMAT)
    for name, wanted in kept["files"].items():
        assert hashlib.sha256((tmp_path / "feddro" / name).read_bytes()).hexdigest() == wanted
    rows = np.genfromtxt(tmp_path / "feddro" / "figure_6.csv", delimiter=",", skip_header=1, usecols=(3, 4))
    assert rows[:, 1].min() == 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["feddro/figure_9"], "feddro/figure_1"),
        (["feddro/table_1"], "nothing to run"),
        (["fcsg/figure_2"], "nothing to run"),
        (["feddro/figure_6", "--all"], "got both"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(arguments, said, tmp_path):
    found = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "never")])
    assert found.exit_code != 0 and said in str(found.exception) and "\n" not in str(found.exception)
    assert not (tmp_path / "never").exists()


def test_a_page_shows_every_figure_that_was_run(tmp_path, monkeypatch):
    only = {"feddro/figure_6": figures()["feddro/figure_6"], "feddro/table_1": figures()["feddro/table_1"]}
    monkeypatch.setattr(reproduce, "figures", lambda: only)
    said = []
    rows = reproduce.run_all(Setup(seeds=6), tmp_path, said.append)
    page = (tmp_path / "index.html").read_text()
    assert (
        len(rows) == 1
        and page.count("<svg ") == 1
        and "feddro/table_1" in page
        and only["feddro/figure_6"].shows in page
    )
    again = reproduce.run_all(Setup(seeds=6), tmp_path, said.append)
    assert again[0]["verdict"] == rows[0]["verdict"] and "kept" in said[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, figure in figures().items() if figure.measure is not None])
def test_every_figure_runs_and_judges(name, tmp_path):
    pytest.importorskip("sklearn")
    done = run_figure(name, Setup(seeds=6), tmp_path)
    assert done.judged and {each.outcome for each in done.judged} <= {
        "same",
        "opposite",
        "different",
        "not distinguishable",
    }
    for each in done.judged:
        assert each.why or each.outcome in ("same", "not distinguishable")
