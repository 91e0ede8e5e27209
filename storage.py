"""Everything that fedco keeps on disk: written whole or not at all, with a checksum, and made anew when damaged.

A kept JSON file is one object with its `format` and the `sha256` of the rest; what was computed for later use also says
what it was `made_from`. Arrays are a NumPy archive whose comment is the sha256 of the file up to it. Nothing that is read
is executed, and nothing is parsed as arrays before its checksum agrees.

Imports nothing of fedco: every package may use it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

KEPT = "fedco-kept/1"
ARRAYS = "fedco-arrays/1"
_DESCRIPTION = "description.json"
_DIGEST_BYTES = 64
_COMMENT_LENGTH_BYTES = 2
"""A zip archive without a comment ends in the length of the comment, 0, in two bytes."""
_LEFT_BEHIND_SECONDS = 3600.0
_MOST_BYTES = 1 << 30


class DamagedError(ValueError):
    """A file that is cut, altered, or not one that fedco wrote."""


class DamagedWarning(UserWarning):
    """A damaged file was set aside; what it held is computed again."""


# --- writing ---------------------------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], fill: Callable[[BinaryIO], object]) -> Path:
    """Replace a file by what `fill` writes, or leave it as it was: its name never stands for half of it.

    Raises:
        OSError: it cannot be written; `filename` is `path`, whatever failed.
    """
    target = Path(path)
    if not target.name:  # the working folder, or the root
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    with _named(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(part, "x+b") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    return target


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text in UTF-8 as `write` does."""
    return write(path, lambda file: file.write(text.encode()))


def write_json(path: str | os.PathLike[str], plain: Mapping[str, Any], *, indent: int | None = 1) -> Path:
    """Write a JSON object together with its sha256."""
    return write_text(path, json.dumps(sealed(plain), indent=indent, allow_nan=False) + "\n")


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any], description: Mapping[str, Any]) -> Path:
    """Write NumPy arrays and their JSON description as one archive that `numpy.load` opens too."""
    import numpy as np

    text = json.dumps({"format": ARRAYS, **description}).encode()

    def fill(file: BinaryIO) -> None:
        np.savez(file, **{**arrays, _DESCRIPTION: np.frombuffer(text, dtype=np.uint8)})
        file.seek(-_COMMENT_LENGTH_BYTES, os.SEEK_END)
        file.write(_DIGEST_BYTES.to_bytes(_COMMENT_LENGTH_BYTES, "little"))
        file.write(_digest_of_file(file, file.tell()).encode())

    return write(path, fill)


def make_folder(path: str | os.PathLike[str]) -> Path:
    """A folder that can be written, made now if it is missing; what a killed run left half-written there is removed.

    Raises:
        OSError: it cannot; `filename` is `path`.
    """
    folder = Path(path)
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        check_folder(folder)
        for part in folder.glob(".*.part"):
            with suppress(FileNotFoundError):  # another process has finished or removed it
                if time.time() - part.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                    part.unlink()
    return folder


def check_folder(path: str | os.PathLike[str]) -> None:
    """That a folder can be written, or made where it is missing; for what is perhaps written later, so it is not made now.

    Raises:
        OSError: it cannot; `filename` is `path`.
    """
    folder = Path(path)
    with _named(folder):
        nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
        probe = nearest / f".{os.urandom(4).hex()}.part"
        probe.touch(exist_ok=False)
        probe.unlink()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """An OSError about a temporary file or a file handle becomes one about the path that was asked for."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


# --- reading ---------------------------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """The sha256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the sha256 of the rest of it."""
    rest = {name: value for name, value in plain.items() if name != "sha256"}
    return {**rest, "sha256": digest(rest)}


def unsealed(data: Any, wanted: str) -> dict[str, Any]:
    """The content of a sealed object of one format.

    Raises:
        DamagedError: another format, or a checksum that does not agree.
    """
    if not isinstance(data, dict) or data.get("format") != wanted:
        raise DamagedError(f"format: wanted {wanted!r}")
    rest = {name: value for name, value in data.items() if name != "sha256"}
    if data.get("sha256") != digest(rest):
        raise DamagedError("sha256: the content does not match its hash")
    return rest


def read_json(path: str | os.PathLike[str], wanted: str, *, most_bytes: int = _MOST_BYTES) -> dict[str, Any]:
    """The object that `write_json` wrote, of one format.

    Raises:
        DamagedError: not such a file.
        OSError: it cannot be read.
    """
    source = Path(path)
    if (size := source.stat().st_size) > most_bytes:
        raise DamagedError(f"{source.name}: wanted at most {most_bytes} bytes, got {size}")
    try:
        data = json.loads(source.read_bytes(), object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{source.name}: wanted JSON ({error})") from error
    return unsealed(data, wanted)


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays and the description that `write_arrays` wrote.

    Raises:
        DamagedError: not such a file.
        OSError: it cannot be read.
    """
    import zipfile

    import numpy as np

    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END) - _DIGEST_BYTES
        if end <= 0 or _digest_of_file(file, end) != file.read().decode("ascii", "replace"):
            raise DamagedError(f"{path}: the content does not match its hash, or it is no file of fedco")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                description = json.loads(archive[_DESCRIPTION].tobytes())
                arrays = {name: archive[name] for name in archive.files if name != _DESCRIPTION}
        except (KeyError, ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise DamagedError(f"{path}: wanted arrays with a description, got {error}") from error
    if description.pop("format", None) != ARRAYS:
        raise DamagedError(f"{path}: format: wanted {ARRAYS!r}")
    return arrays, description


def _digest_of_file(file: BinaryIO, end: int) -> str:
    """The sha256 of the first `end` bytes, after which the file stands."""
    found = hashlib.sha256()
    file.seek(0)
    for low in range(0, end, 1 << 20):
        found.update(file.read(min(1 << 20, end - low)))
    return found.hexdigest()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not allowed")


# --- values kept for later -------------------------------------------------------------------------------------------


def keep(path: str | os.PathLike[str], made_from: Any, value: Any) -> None:
    """Keep a JSON value (not null) with what it was made from."""
    write_json(path, {"format": KEPT, "made_from": made_from, "value": value}, indent=None)


def recall(path: str | os.PathLike[str], made_from: Any) -> Any:
    """The kept value; None where there is none, or one that was made from something else.

    A damaged file is set aside, with a warning, and counts as none.
    """
    content = undamaged(path, lambda: read_json(path, KEPT))
    return content["value"] if content and content.get("made_from") == _plain(made_from) else None


def recall_or_make(path: str | os.PathLike[str], made_from: Any, make: Callable[[], Any]) -> Any:
    """The kept value, or `make()` kept from now on; in both cases as JSON gives it back."""
    if (known := recall(path, made_from)) is not None:
        return known
    value = _plain(make())
    keep(path, made_from, value)
    return value


def undamaged(path: str | os.PathLike[str], read: Callable[[], Any]) -> Any:
    """What `read` returns; None where the file is missing, or damaged and therefore set aside with a warning."""
    try:
        return read()
    except FileNotFoundError:
        return None
    except DamagedError as error:
        _set_aside(Path(path), error)
        return None


def _set_aside(path: Path, why: DamagedError) -> None:
    aside = path.with_name(f"{path.name}.damaged")
    with _named(path):
        try:
            os.replace(path, aside)
        except FileNotFoundError:
            return  # another process has set it aside
    warnings.warn(f"{path} was damaged ({why}); kept as {aside.name} and made anew", DamagedWarning, stacklevel=4)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))
