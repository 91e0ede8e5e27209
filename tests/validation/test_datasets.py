"""Data of experiments: what is read from files, how it is split over clients, the models fitted to it, and few-shot tasks."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fedco.algorithms import Draws
from fedco.errors import InputError
from fedco.validation.experiments import datasets, models
from fedco.validation.experiments.tasks import FewShotTasks, few_shot
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


def test_models_are_what_they_say() -> None:
    linear = models.softmax_regression(4, 3)
    assert [tuple(p.shape) for p in linear.parameters()] == [(3, 4), (3,)] and all(
        (p == 0).all() and p.dtype == torch.float64 for p in linear.parameters()
    )
    net = models.network((4, 7, 3))
    assert [type(part).__name__ for part in net] == ["Linear", "ReLU", "Linear"] and net[2].weight.shape == (3, 7)
    same, other = models.network((4, 7, 3), seed=0), models.network((4, 7, 3), seed=1)
    assert torch.equal(net[0].weight, same[0].weight) and not torch.equal(net[0].weight, other[0].weight)
    state = torch.random.get_rng_state()
    models.network((2, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    small = models.convolutional((1, 6, 6), 5, filters=4, layers=3, groups=2)
    kinds = [type(part).__name__ for part in small]
    one = ["Conv2d", "GroupNorm", "ReLU", "MaxPool2d"]
    assert kinds == ["Unflatten", *one, *one, "Conv2d", "GroupNorm", "ReLU", "Flatten", "Linear"]  # sides 6, 3, 1
    assert small(torch.zeros(2, 36, dtype=torch.float64)).shape == (2, 5) and small[-1].in_features == 4
    alone = models.convolutional((1, 6, 6), 5, filters=4, layers=1)
    assert alone(torch.zeros(36, dtype=torch.float64)).shape == (5,)
    usual = [part for part in models.convolutional((1, 28, 28), 5) if isinstance(part, torch.nn.Conv2d)]
    assert [part.out_channels for part in usual] == [64] * 4  # as for few-shot learning, where it is from
    assert "GroupNorm" not in [type(part).__name__ for part in models.convolutional((1, 4, 4), 5, filters=4, layers=1)]


def test_a_residual_network_has_twenty_layers() -> None:
    net = models.residual((3, 8, 8), 10)
    layers = [m for m in net.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    assert len(layers) == 20 and net(torch.zeros(1, 192, dtype=torch.float64)).shape == (1, 10)
    assert [m.stride[0] for m in layers[:-1]].count(2) == 2 and layers[-1].in_features == 64
    assert {(m.kernel_size, m.padding, m.bias) for m in layers[:-1]} == {((3, 3), (1, 1), None)}
    assert [m.out_channels for m in layers[:-1]] == [16] * 7 + [32] * 6 + [
        64
    ] * 6  # the first one, and six of each size


def test_examples_are_dealt_out() -> None:
    labels, inputs = torch.arange(100) % 4, torch.arange(100.0)
    parts = datasets.of_sizes(inputs, labels, [60, 40])
    assert sorted(torch.cat([x for x, _ in parts]).tolist()) == list(range(100)) and [len(x) for x, _ in parts] == [
        60,
        40,
    ]
    with pytest.raises(ValueError, match="at most 100 examples in all, got 101"):
        datasets.of_sizes(inputs, labels, [60, 41])
    assert [len(x) for x, _ in datasets.equally(inputs, labels, 3)] == [33, 33, 33]
    for client, (_, own) in enumerate(datasets.dominant(inputs, labels, 6, 0.7, 20)):
        assert torch.bincount(own, minlength=4).tolist() == [14 if c == client % 4 else 2 for c in range(4)]
    rich = datasets.dominant(inputs, labels, 1, 1.0, 50)[0][0]
    assert len(set(rich.tolist())) == 25 and torch.equal(
        rich[:25], rich[25:]
    )  # a class of 25, used once and then again
    kept = datasets.thinned(labels, [1, 2], 3)
    assert kept.tolist() == sorted([*range(0, 100, 4), *range(3, 100, 4), 89, 93, 97, 90, 94, 98])
    assert torch.bincount(labels[datasets.thinned(labels, [0], 0.2)]).tolist() == [5, 25, 25, 25]
    assert torch.bincount(labels[datasets.thinned(labels, [0], 1e-9)])[0] == 1


def test_client_shares_of_a_dirichlet_law() -> None:
    labels, inputs = torch.arange(300) % 3, torch.arange(300.0)
    examples = datasets.Examples("x", inputs, labels, inputs, labels)
    flat, uneven = (datasets.dirichlet(examples, 4, alpha, 30, seed=1) for alpha in (1e6, 1e-2))
    for own_inputs, own in flat:
        assert torch.bincount(own).tolist() == [10, 10, 10] and len(set(own_inputs.tolist())) == 30
        assert torch.equal(own_inputs.long() % 3, own) and own.tolist() != sorted(own.tolist())
    assert all(torch.bincount(own).max() == 30 for _, own in uneven)
    again = datasets.dirichlet(examples, 4, 1e6, 30, seed=1)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(flat, again, strict=True))


def idx(shape: tuple[int, ...], values: bytes, head: bytes = b"\0\0\x08") -> bytes:
    return head + bytes([len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape) + values


@pytest.fixture
def mnist_files(tmp_path: Path) -> Path:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx((3, 4, 4), bytes(range(48))))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx((3,), bytes([7, 0, 9])))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx((2, 4, 4), bytes([255] * 32))))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx((2,), bytes([1, 2]))))
    return tmp_path


def test_mnist_is_read_plain_and_gzipped(mnist_files: Path) -> None:
    found = datasets.images(mnist_files)
    assert (found.inputs.shape, found.labels.tolist(), found.test_labels.tolist()) == ((3, 1, 4, 4), [7, 0, 9], [1, 2])
    assert found.inputs[1, 0, 0].tolist() == [k / 255 for k in (16, 17, 18, 19)] and float(found.test_inputs.min()) == 1


@pytest.mark.parametrize("broken", [b"", b"\0\0\x08\x01", b"\0\0\x0d\x01\0\0\0\x01\0", idx((2,), b"\1")])
def test_a_broken_idx_file_is_refused(mnist_files: Path, broken: bytes) -> None:
    (mnist_files / "train-labels-idx1-ubyte").write_bytes(broken)
    with pytest.raises(InputError, match="train-labels"):
        datasets.images(mnist_files)


CIFAR = {
    "CIFAR-10": ([f"data_batch_{k}.bin" for k in range(1, 6)], "test_batch.bin", [10]),
    "CIFAR-100": (["train.bin"], "test.bin", [20, 100]),
}
"""Files to train and to test, and how many classes each byte before the pixels may name; the last one is the label."""


@pytest.mark.parametrize("name", CIFAR)
def test_cifar_is_read_in_its_binary_version_only(name: str, tmp_path: Path) -> None:
    train, test, classes = CIFAR[name]

    def row(*labels: int, red: int = 51) -> bytes:
        return bytes(labels) + bytes([red] * 1024 + [102] * 1024 + [255] * 1024)

    with pytest.raises(InputError, match="binary version"):
        datasets.images(tmp_path)
    first, last = [0] * len(classes), [count - 1 for count in classes]
    for k, file in enumerate(train):
        (tmp_path / file).write_bytes(row(*first) * k + row(*last, red=0))
    (tmp_path / test).write_bytes(row(*first))
    found = datasets.images(tmp_path)
    assert (found.name, found.inputs.shape[1:], found.test_inputs.shape) == (name, (3, 32, 32), (1, 3, 32, 32))
    labels = [label for k in range(len(train)) for label in [0] * k + [classes[-1] - 1]]
    assert found.labels.tolist() == labels and found.test_labels.tolist() == [0]
    assert found.inputs[-1, :, 31, 0].tolist() == [0, 102 / 255, 1] and float(found.test_inputs[0, 0, 5, 5]) == 51 / 255
    too_large = [(place, [*first[:place], count, *first[place + 1 :]]) for place, count in enumerate(classes)]
    for broken, said in (
        *((row(*labels), f"labels from 0 to {classes[k] - 1}, got {classes[k]}") for k, labels in too_large),
        (row(*first) + b"x", f"whole rows of {len(classes) + 3072} bytes"),
        (b"", "whole rows"),
    ):
        (tmp_path / train[-1]).write_bytes(broken)
        with pytest.raises(InputError, match=rf"{train[-1]}: .*{said}"):
            datasets.images(tmp_path)
    (tmp_path / train[-1]).write_bytes(row(*first))
    (tmp_path / test).unlink()
    with pytest.raises(InputError, match=rf"{test}: cannot be read"):
        datasets.images(tmp_path)


def test_the_digits_are_split_once_and_for_all() -> None:
    pytest.importorskip("sklearn")
    found, again = datasets.digits(), datasets.digits()
    assert torch.equal(found.inputs, again.inputs) and len(found.labels) + len(found.test_labels) == 1797
    assert found.flat.features == 64 and float(found.inputs.max()) == 1.0


@pytest.mark.parametrize(("pixels", "labels"), [((2, 3, 3), (3,)), ((2, 3), (2,)), ((2, 3, 3), (2, 1))])
def test_as_many_images_as_labels(pixels: tuple, labels: tuple, tmp_path: Path) -> None:
    good = {
        "train-images-idx3-ubyte": (2, 3, 3),
        "train-labels-idx1-ubyte": (2,),
        "t10k-images-idx3-ubyte": (2, 3, 3),
        "t10k-labels-idx1-ubyte": (2,),
    }
    for bad in ("train", "t10k"):
        for name, shape in good.items():
            shape = (pixels if "images" in name else labels) if name.startswith(bad) else shape
            (tmp_path / name).write_bytes(idx(shape, bytes(range(math.prod(shape)))))
        with pytest.raises(InputError, match="wanted as many images as labels"):
            datasets.mnist(tmp_path)


@pytest.mark.parametrize(
    "name", ["train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "data_batch_1.bin", "train.bin"]
)
def test_a_folder_holds_images_where_the_first_file_of_a_set_is_there(name: str, tmp_path: Path) -> None:
    held = datasets.HOLDS
    for other in ("data_batch_2.bin", "test.bin", "train-labels-idx1-ubyte"):
        (tmp_path / other).write_bytes(b"")
    assert (held["generated"](tmp_path), held["images"](tmp_path), held["omniglot"](tmp_path)) == (True, False, False)
    (tmp_path / name).write_bytes(b"")
    assert held["images"](tmp_path)
    character = tmp_path / "images_evaluation" / "Greek" / "character01"
    character.mkdir(parents=True)
    assert not held["omniglot"](tmp_path)
    (character / "1.png").write_bytes(b"")
    assert held["omniglot"](tmp_path)


def test_a_set_of_examples() -> None:
    shape = torch.zeros(4, 2, 3, 5)
    found = datasets.Examples("x", shape, torch.tensor([0, 3, 1, 0]), shape[:1], torch.tensor([0]))
    assert (found.classes, found.features, found.shape) == (4, 30, (2, 3, 5)) and found.flat.inputs.shape == (
        4,
        30,
    ) == (4, found.flat.features)


@pytest.mark.parametrize("kind", ["grey", "colour", "alpha"])
def test_a_picture_of_a_character_is_shrunk_by_means_and_ink_is_one(kind: str, tmp_path: Path) -> None:
    """Of grey or of three colours, whose mean counts; how opaque it is does not."""
    from PIL import Image

    grey = np.array([[0, 255, 0, 0], [255, 255, 0, 0], [51, 51, 255, 255], [51, 51, 255, 255]], dtype=np.uint8)
    shift = np.array([0, 0, 0])
    picture = grey
    if kind != "grey":
        shift = np.array([30, -30, 0])
        inside = np.clip(grey.astype(int), 30, 225)[..., None]
        picture = (inside + shift).astype(np.uint8)
        grey = inside[..., 0].astype(np.uint8)
    if kind == "alpha":
        picture = np.concatenate([picture, np.full((4, 4, 1), 128, dtype=np.uint8)], axis=-1)
    folder = tmp_path / "images_background" / "Greek" / "character01"
    folder.mkdir(parents=True)
    Image.fromarray(picture).save(folder / "a.png")
    ink = 1 - grey / 255
    wanted = [ink[i : i + 2, j : j + 2].mean() for i in (0, 2) for j in (0, 2)]
    np.testing.assert_allclose(datasets.omniglot(tmp_path, 2).pixels[0, 0], wanted, atol=1e-6)


def test_characters_of_both_parts_or_of_the_folder_itself(tmp_path: Path) -> None:
    """The usual side is 28 pixels; a folder of a character without images is none."""
    from PIL import Image

    parts = {"images_background": ("Greek", "Runic"), "images_evaluation": ("Attic",)}
    for part, alphabets in parts.items():
        for alphabet in alphabets:
            for k, folder in enumerate(("character02", "character01")):
                place = tmp_path / part / alphabet / folder
                place.mkdir(parents=True)
                for j in range(2):
                    Image.fromarray(np.full((4, 4), 100 * k + 20 * j, dtype=np.uint8)).save(place / f"{j}.png")
    (tmp_path / "images_evaluation" / "Attic" / "character03").mkdir()
    found = datasets.omniglot(tmp_path)
    assert found.alphabets == ("Greek", "Greek", "Runic", "Runic", "Attic", "Attic") and found.name == "Omniglot"
    assert found.pixels.shape == (6, 2, 28 * 28)
    assert found.pixels[:, :, 0].mul(255).round().tolist() == [[155, 135], [255, 235]] * 3
    alone = datasets.omniglot(tmp_path / "images_background", 4)
    assert alone.alphabets == ("Greek", "Greek", "Runic", "Runic") and alone.pixels.shape == (4, 2, 16)
    (tmp_path / "images_background" / "Greek" / "character02" / "0.png").write_bytes(b"no image")
    with pytest.raises(InputError, match="wanted a PNG"):
        datasets.omniglot(tmp_path)
    with pytest.raises(InputError, match="wanted Omniglot"):
        datasets.omniglot(tmp_path / "images_background" / "Greek" / "character01")
    (tmp_path / "images_background" / "Greek" / "character01" / "1.png").unlink()
    with pytest.raises(InputError, match=r"as many images of every character, got \[1, 2\]"):
        datasets.omniglot(tmp_path)


# --- few-shot tasks on random images, against plain autograd ----------------------------------------------------------


OWNED = (torch.tensor([0, 1, 2]), torch.tensor([3, 4, 5, 6, 8]))
HELD = torch.tensor([7, 9, 10, 11])


def tasks(instances: int = 4, **more: Any) -> FewShotTasks:
    """Two clients with three and five characters; the first pixel is the number of the character."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(12, instances, 6, generator=generator, dtype=torch.float64)
    pixels[..., 0] = torch.arange(12.0).unsqueeze(1)
    torch.manual_seed(0)
    options = {
        "pixels": pixels,
        "owned": OWNED,
        "held": HELD,
        "ways": 3,
        "lam": 0.05,
        "drawn": 2,
        "tune_steps": 2,
        "measured": 4,
    }
    return few_shot(nn.Linear(6, 3).double(), **{**options, **more})


def test_a_task_has_different_characters_of_its_own_client() -> None:
    problem = tasks()
    assert problem.clients == 2 and problem.dim == 21 and problem.certificates == {}
    table, own = problem.table
    assert table.tolist() == [[0, 1, 2, 0, 0], [3, 4, 5, 6, 8]] and own.tolist() == [
        [True] * 3 + [False] * 2,
        [True] * 5,
    ]
    found = problem.sample_outer(Draws(0, 3, 2).at(0), 20)
    assert found.outcome.shape == (3, 2, 20, 3) and found.order.shape == (3, 2, 20, 3, 4)
    assert all(sorted(row) == [0, 1, 2] for row in found.outcome[:, 0].flatten(0, 1).tolist())
    others = found.outcome[:, 1].flatten(0, 1).tolist()
    assert all(len(set(row)) == 3 for row in others) and {x for row in others for x in row} == {3, 4, 5, 6, 8}
    assert torch.equal(problem.sample_inner(Draws(0, 3, 2).at(0), found, 1).eta, found.order[..., :1])
    with pytest.raises(ValueError, match="wanted 1, the shots of a task, got 2"):
        problem.sample_inner(Draws(0, 3, 2).at(0), found, 2)


def test_a_task_is_judged_on_at_most_fifteen_other_images() -> None:
    assert [tasks(instances=n, shots=2).instances_drawn for n in (3, 17, 18)] == [3, 17, 17]
    outer = tasks(shots=2).sample_outer(Draws(0, 1, 2).at(0), 1)
    (tuning, labels), (judged, answers) = tasks(shots=2).support_and_query(outer)
    assert tuning.shape == judged.shape == (1, 2, 1, 6, 6) and labels[0, 0, 0].tolist() == answers[
        0, 0, 0
    ].tolist() == [0, 0, 1, 1, 2, 2]
    assert tuning[0, 0, 0, :, 0].tolist() == [x for x in outer.outcome[0, 0, 0].tolist() for _ in range(2)]
    rows = {tuple(row) for row in torch.cat([tuning[0, 0, 0], judged[0, 0, 0]]).tolist()}
    assert len(rows) == 12  # no image twice


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"ways": 4}, "tasks of 4 characters: a client, or the held-out part, has only 3"),
        ({"held": HELD[:2]}, "has only 2"),
        ({"shots": 4}, "tasks with 4 shots: wanted more images of a character than 4"),
    ],
)
def test_tasks_that_cannot_be_are_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        tasks(**more)
    assert tasks(shots=3).shots == 3


def outputs(x: Tensor, inputs: Tensor) -> Tensor:
    return inputs @ x[:18].view(3, 6).T + x[18:]


def tuned(x: Tensor, inputs: Tensor, labels: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        (slope,) = torch.autograd.grad(cross_entropy(outputs(x, inputs), labels), x, create_graph=True)
        x = x - 0.05 * slope
    return x


def test_what_is_measured_is_that_of_fixed_tasks_after_fine_tuning() -> None:
    problem = tasks()
    points = torch.stack([problem.initial_point, 2 * problem.initial_point]).requires_grad_()
    for split in ("train", "test"):
        fixed = problem.fixed[split]
        inputs, labels, judged, answers = fixed
        assert inputs.shape == (4, 3, 6) and judged.shape == (4, 9, 6)
        for k, task in enumerate(inputs[..., 0].tolist()):
            assert set(task) <= set((OWNED[k % 2] if split == "train" else HELD).tolist()) and len(set(task)) == 3
        losses = [
            torch.stack(
                [cross_entropy(outputs(tuned(x, inputs[k], labels[k], 1), judged[k]), answers[k]) for k in range(4)]
            ).mean()
            for x in points
        ]
        torch.testing.assert_close(problem.data_loss(points.detach(), split), torch.stack(losses).detach())
        found = problem.predict(points.detach(), split)
        assert found.scores.shape == (2, 4, 9, 3) and torch.equal(found.labels, answers)
        for run, k in ((0, 0), (1, 3)):
            wanted = outputs(tuned(points[run], inputs[k], labels[k], 2), judged[k]).detach()
            torch.testing.assert_close(found.scores[run, k], wanted)
        if split == "train":
            (slope,) = torch.autograd.grad(torch.stack(losses).sum(), points)
            torch.testing.assert_close(problem.gradient(points.detach()), slope)
            torch.testing.assert_close(problem.objective(points.detach()), torch.stack(losses).detach())
