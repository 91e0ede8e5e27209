"""The data of the papers' experiments: what scikit-learn ships, the real files where they lie on disk, and how they are dealt out.

Nothing is downloaded and nothing is unpickled: MNIST as its idx files, CIFAR in its binary versions (not the Python ones),
Omniglot as folders of PNG images.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError

DIGITS_TEST_SHARE = 0.2
_MNIST = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_CIFAR = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
_CIFAR_TEST = "test_batch.bin"
_CIFAR100 = ("train.bin", "test.bin")
_PIXELS = 3 * 32 * 32
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Examples:
    """A classification set: float64 inputs in [0, 1], int64 labels, and the same held out.

    Args:
        inputs: `(n, features)` or `(n, channels, height, width)`. labels: `(n,)`.
    """

    name: str
    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def features(self) -> int:
        """Numbers in one input."""
        return self.inputs[0].numel()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input."""
        return tuple(self.inputs.shape[1:])

    @property
    def flat(self) -> Examples:
        """With inputs as vectors."""
        return Examples(self.name, self.inputs.flatten(1), self.labels, self.test_inputs.flatten(1), self.test_labels)


def _sklearn() -> Any:
    try:
        import sklearn.datasets as found
    except ImportError:
        raise InputError(
            "experiments: wanted scikit-learn, which is not installed; pip install 'fedco[experiments]'"
        ) from None
    return found


def digits(seed: int = 0) -> Examples:
    """scikit-learn's 1797 images of 8 x 8 pixels in 10 classes, a fifth held out."""
    found = _sklearn().load_digits()
    return _held_out("digits", torch.tensor(found.images / 16.0).unsqueeze(1), torch.tensor(found.target).long(), seed)


def _held_out(name: str, inputs: Tensor, labels: Tensor, seed: int) -> Examples:
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    cut = round(DIGITS_TEST_SHARE * len(labels))
    test, train = order[:cut], order[cut:]
    return Examples(name, inputs[train], labels[train], inputs[test], labels[test])


# --- files on disk ---------------------------------------------------------------------------------------------------


def images(data: Path | None, seed: int = 0) -> Examples:
    """The set that lies in a folder, MNIST, CIFAR-10 or CIFAR-100; scikit-learn's digits without one.

    Raises:
        InputError: the folder holds none of them.
    """
    if data is None:
        return digits(seed)
    if _found(data, _MNIST[0]):
        return mnist(data)
    if (data / _CIFAR[0]).is_file():
        return cifar10(data)
    if (data / _CIFAR100[0]).is_file():
        return cifar100(data)
    raise InputError(
        f"--data {data}: wanted MNIST's files {_MNIST[0]}(.gz), … or CIFAR-10's {_CIFAR[0]}, … or CIFAR-100's {_CIFAR100[0]}, … "
        "(their binary versions)"
    )


def mnist(folder: Path) -> Examples:
    """MNIST's four idx files, plain or gzip.

    Raises:
        InputError: a file is missing, or not what its name says.
    """
    parts = [_idx(folder, name) for name in _MNIST]
    for pixels, labels in (parts[:2], parts[2:]):
        if pixels.ndim != 3 or labels.ndim != 1 or len(pixels) != len(labels):
            raise InputError(f"--data {folder}: wanted as many images as labels, got {pixels.shape} and {labels.shape}")
    train, train_labels, test, test_labels = parts
    return Examples(
        "MNIST", _scaled(train)[:, None], _labels(train_labels), _scaled(test)[:, None], _labels(test_labels)
    )


def _found(folder: Path, name: str) -> Path | None:
    return next((place for place in (folder / name, folder / f"{name}.gz") if place.is_file()), None)


def _idx(folder: Path, name: str) -> np.ndarray:
    """An idx file of bytes: two zeros, the type 8, the number of axes, their sizes in four bytes each, the values."""
    place = _found(folder, name)
    if place is None:
        raise InputError(f"--data {folder}: wanted the file {name} or {name}.gz, found none")
    try:
        with gzip.open(place) if place.suffix == ".gz" else open(place, "rb") as file:
            raw = file.read(_MOST_BYTES)
    except (OSError, EOFError) as error:
        raise InputError(f"--data {place}: cannot be read ({error})") from None
    axes = raw[3] if len(raw) > 3 else 0
    if raw[:3] != b"\0\0\x08" or not 1 <= axes <= 4 or len(raw) < 4 + 4 * axes:
        raise InputError(f"--data {place}: wanted an idx file of bytes")
    shape = tuple(int(size) for size in np.frombuffer(raw, ">u4", axes, 4))
    if len(raw) != 4 + 4 * axes + int(np.prod(shape, dtype=np.int64)):
        raise InputError(f"--data {place}: wanted {shape} bytes after its head, got {len(raw) - 4 - 4 * axes}")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def cifar10(folder: Path) -> Examples:
    """CIFAR-10's binary version: rows of one label and 3 x 32 x 32 bytes.

    Raises:
        InputError: a file is missing, or not of whole rows.
    """
    train = np.concatenate([_rows(folder / name, (10,)) for name in _CIFAR])
    test = _rows(folder / _CIFAR_TEST, (10,))
    return Examples("CIFAR-10", _pictures(train), _labels(train[:, 0]), _pictures(test), _labels(test[:, 0]))


def cifar100(folder: Path) -> Examples:
    """CIFAR-100's binary version: rows of a coarse label, which is not used, a fine one, and 3 x 32 x 32 bytes.

    Raises:
        InputError: a file is missing, or not of whole rows.
    """
    train, test = (_rows(folder / name, (20, 100)) for name in _CIFAR100)
    return Examples("CIFAR-100", _pictures(train), _labels(train[:, 1]), _pictures(test), _labels(test[:, 1]))


def _rows(place: Path, classes: tuple[int, ...]) -> np.ndarray:
    """Rows of one label for each of `classes`, each below its number, and the pixels."""
    size = len(classes) + _PIXELS
    try:
        raw = place.read_bytes()
    except OSError as error:
        raise InputError(f"--data {place}: cannot be read ({error.strerror})") from None
    if len(raw) % size or not raw:
        raise InputError(f"--data {place}: wanted whole rows of {size} bytes, got {len(raw)} bytes")
    rows = np.frombuffer(raw, np.uint8).reshape(-1, size)
    for place_of, count in enumerate(classes):
        if rows[:, place_of].max() >= count:
            raise InputError(f"--data {place}: wanted labels from 0 to {count - 1}, got {rows[:, place_of].max()}")
    return rows


def _pictures(rows: np.ndarray) -> Tensor:
    return _scaled(rows[:, -_PIXELS:]).view(-1, 3, 32, 32)


def _scaled(bytes_: np.ndarray) -> Tensor:
    return torch.from_numpy(bytes_.astype(np.float64) / 255.0)


def _labels(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.int64))


@dataclass(frozen=True)
class Characters:
    """Images by character: `(characters, instances, pixels)` in [0, 1], and the alphabet of each character."""

    name: str
    pixels: Tensor
    alphabets: tuple[str, ...]


def omniglot(folder: Path, size: int = 28) -> Characters:
    """Omniglot's folders, alphabet / character / image.png, of one part or of both, shrunk to `size` x `size`.

    Raises:
        InputError: no such folders, an image that is none, or characters with different numbers of images.
    """
    found = list(_characters(folder))
    if not found:
        raise InputError(f"--data {folder}: wanted Omniglot's folders images_background/ALPHABET/CHARACTER/*.png")
    most = {len(files) for _, files in found}
    if len(most) > 1:
        raise InputError(f"--data {folder}: wanted as many images of every character, got {sorted(most)}")
    pixels = torch.stack([torch.stack([_png(file, size) for file in files]) for _, files in found])
    return Characters("Omniglot", pixels, tuple(alphabet for alphabet, _ in found))


def _characters(folder: Path) -> Iterator[tuple[str, Sequence[Path]]]:
    parts = [folder / name for name in ("images_background", "images_evaluation") if (folder / name).is_dir()] or [
        folder
    ]
    for part in parts:
        for character in sorted(part.glob("*/*/")):
            files = sorted(character.glob("*.png"))
            if files:
                yield character.parent.name, files


def _png(file: Path, size: int) -> Tensor:
    from matplotlib.image import imread

    try:
        pixels = torch.tensor(np.asarray(imread(file)), dtype=torch.float64)
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"--data {file}: wanted a PNG image ({str(error)[:80]})") from None
    grey = pixels[..., :3].mean(-1) if pixels.dim() == 3 else pixels
    shrunk = torch.nn.functional.interpolate(1 - grey[None, None], size=(size, size), mode="area")
    return shrunk.flatten()


HOLDS: Mapping[str, Callable[[Path], bool]] = {
    "generated": lambda folder: True,
    "images": lambda folder: (
        bool(_found(folder, _MNIST[0])) or any((folder / x[0]).is_file() for x in (_CIFAR, _CIFAR100))
    ),
    "omniglot": lambda folder: any(_characters(folder)),
}
"""Whether a folder has the files that a figure's data come from."""


# --- how examples are dealt out to clients ------------------------------------------------------------------------------


Parts = list[tuple[Tensor, Tensor]]


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def of_sizes(inputs: Tensor, labels: Tensor, sizes: Sequence[int], seed: int = 0) -> Parts:
    """At random, client k gets sizes[k] examples."""
    order = torch.randperm(len(labels), generator=_generator(seed))
    if sum(sizes) > len(labels):
        raise ValueError(f"sizes: wanted at most {len(labels)} examples in all, got {sum(sizes)}")
    cuts = order[: sum(sizes)].split(list(sizes))
    return [(inputs[cut], labels[cut]) for cut in cuts]


def equally(inputs: Tensor, labels: Tensor, clients: int, seed: int = 0) -> Parts:
    """At random, as many to each client; a rest is left out."""
    return of_sizes(inputs, labels, [len(labels) // clients] * clients, seed)


def dominant(inputs: Tensor, labels: Tensor, clients: int, rho: float, size: int) -> Parts:
    """Client i has a share rho of class i (modulo the classes) and (1 - rho)/(classes - 1) of every other, `size` in all.

    Examples are drawn with replacement from their class, as far as it has fewer than are wanted.
    """
    generator, classes = _generator(0), int(labels.max()) + 1
    pools = [_pool(labels, c, generator) for c in range(classes)]
    used, parts = [0] * classes, []
    for i in range(clients):
        shares = torch.full((classes,), (1 - rho) / (classes - 1), dtype=torch.float64)
        shares[i % classes] = rho
        rows = []
        for c, count in enumerate(_whole(shares, size)):
            taken = [(used[c] + j) % len(pools[c]) for j in range(count)]
            used[c] += count
            rows.append(pools[c][taken])
        picked = torch.cat(rows)
        parts.append((inputs[picked], labels[picked]))
    return parts


def dirichlet(examples: Examples, clients: int, alpha: float, size: int, seed: int = 0) -> Parts:
    """Every client draws its class shares from a symmetric Dirichlet law, then `size` examples by them, with replacement
    where a class has too few."""
    generator = torch.Generator().manual_seed(seed)
    law = torch.distributions.Dirichlet(torch.full((examples.classes,), alpha, dtype=torch.float64))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        shares = law.sample((clients,))
    pools = [_pool(examples.labels, c, generator) for c in range(examples.classes)]
    parts = []
    for k in range(clients):
        rows = []
        for c, count in enumerate(_whole(shares[k], size)):
            offset = int(torch.randint(len(pools[c]), (1,), generator=generator))
            rows.append(pools[c][(offset + torch.arange(count)) % len(pools[c])])
        picked = torch.cat(rows)
        picked = picked[torch.randperm(size, generator=generator)]
        parts.append((examples.inputs[picked], examples.labels[picked]))
    return parts


def thinned(labels: Tensor, classes: Sequence[int], keep: int | float) -> Tensor:
    """Positions of all examples but those of some classes, of which only the last `keep` stay (a number, or a share)."""
    kept = []
    for c in range(int(labels.max()) + 1):
        rows = torch.nonzero(labels == c).flatten()
        if c in classes:
            count = keep if isinstance(keep, int) else max(1, round(keep * len(rows)))
            rows = rows[-count:]
        kept.append(rows)
    return torch.cat(kept).sort().values


def _pool(labels: Tensor, c: int, generator: torch.Generator) -> Tensor:
    rows = torch.nonzero(labels == c).flatten()
    return rows[torch.randperm(len(rows), generator=generator)]


def _whole(shares: Tensor, size: int) -> list[int]:
    """Whole numbers near size * shares that sum to size: the largest remainders are rounded up."""
    exact = shares / shares.sum() * size
    counts = exact.floor().long()
    rest = size - int(counts.sum())
    counts[(exact - counts).argsort(descending=True)[:rest]] += 1
    return counts.tolist()
