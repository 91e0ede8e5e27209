"""What is kept on disk: whole or not at all, checked when it is read, made anew when it is damaged."""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest
from fedco import lossless, storage
from fedco.storage import DamagedError, DamagedWarning

NOBODY = 65534
VALUE = {"mean": 0.1, "rows": [1, 2.5, "x"], "none": None}
FROM = {"source": "abc", "seeds": [0, 4]}
ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "counts": np.array([1, 2], dtype=np.int64)}


def kept(folder: Path) -> Path:
    path = folder / "kept.json"
    storage.keep(path, FROM, VALUE)
    return path


def archive(folder: Path) -> Path:
    return storage.write_arrays(folder / "run.npz", ARRAYS, {"t": 3})


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who owns nothing: root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder with one kept file, in which nothing may be written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept(folder)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_what_was_kept_is_read_back(tmp_path):
    path = kept(tmp_path)
    assert storage.recall(path, FROM) == VALUE
    assert json.loads(path.read_text())["made_from"] == FROM
    arrays, description = storage.read_arrays(archive(tmp_path))
    assert description == {"t": 3} and set(arrays) == set(ARRAYS)
    assert all(
        np.array_equal(arrays[name], ARRAYS[name]) and arrays[name].dtype == ARRAYS[name].dtype for name in ARRAYS
    )
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert np.array_equal(file["x"], ARRAYS["x"])


def test_what_was_made_from_something_else_is_made_anew(tmp_path):
    path, made = kept(tmp_path), iter(range(1, 9))
    assert storage.recall(path, {**FROM, "source": "abd"}) is None
    assert [storage.recall_or_make(path, "new", lambda: next(made)) for _ in range(2)] == [1, 1]
    assert storage.recall(tmp_path / "missing.json", FROM) is None


def cuts(data: bytes) -> Iterator[bytes]:
    yield from (data[:size] for size in range(0, len(data), 17))
    yield data[:-1]
    yield data + b"\n{}"
    yield b"\0" * len(data)


def flips(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 3):
        for bit in (1, 128):
            yield data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


FOREIGN = [
    b"[]",
    b"null",
    b"{}",
    b'{"format": "fedco-kept/1"}',
    b'{"a": NaN}',
    b"[" * 100_000,
    b"PK\x03\x04",
    b"\x80\x04K\x01.",
]


def test_no_cut_flipped_or_foreign_json_is_taken_for_what_was_kept(tmp_path):
    path = kept(tmp_path)
    whole = path.read_bytes()
    for data in (*cuts(whole), *flips(whole), *FOREIGN):
        path.write_bytes(data)
        try:
            found = storage.read_json(path, storage.KEPT)
        except DamagedError:
            continue
        assert found == {"format": storage.KEPT, "made_from": FROM, "value": VALUE}, data  # white space only


def test_no_cut_flipped_or_foreign_archive_is_read(tmp_path):
    path = archive(tmp_path)
    whole = path.read_bytes()
    for data in (*cuts(whole), *flips(whole), *FOREIGN):
        path.write_bytes(data)
        with pytest.raises(DamagedError):
            storage.read_arrays(path)


def test_a_sealed_object_of_another_format_is_foreign(tmp_path):
    path = storage.write_json(tmp_path / "x.json", {"format": "fedco-other/1", "made_from": FROM, "value": VALUE})
    with pytest.raises(DamagedError, match="wanted 'fedco-kept/1'"):
        storage.read_json(path, storage.KEPT)
    with pytest.raises(DamagedError, match="at most 10 bytes"):
        storage.read_json(path, "fedco-other/1", most_bytes=10)


def test_a_damaged_file_that_another_process_has_set_aside_is_no_error(tmp_path):
    def read():
        raise DamagedError("cut")

    assert storage.undamaged(tmp_path / "gone.json", read) is None


def test_an_archive_with_a_checksum_but_no_description_is_foreign(tmp_path):
    path = storage.write(tmp_path / "x", lambda file: file.write(b"anything"))
    data = path.read_bytes()
    path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())
    with pytest.raises(DamagedError):
        storage.read_arrays(path)


def test_a_number_replaced_by_zero_is_seen_and_the_value_made_anew_with_one_warning(tmp_path):
    path = kept(tmp_path)
    forged = path.read_text().replace("0.1", "0.0")
    path.write_text(forged)
    with pytest.warns(DamagedWarning) as warned:
        assert storage.recall_or_make(path, FROM, lambda: VALUE) == VALUE
    assert len(warned) == 1 and str(path) in str(warned[0].message)
    assert (tmp_path / "kept.json.damaged").read_text() == forged
    assert storage.recall(path, FROM) == VALUE


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = kept(tmp_path)
    before = path.read_bytes()

    def half(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as raised:
        storage.write(path, half)
    assert raised.value.filename == str(path)
    with pytest.raises(ValueError, match="JSON"):
        storage.keep(path, FROM, float("nan"))
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["kept.json"]


@pytest.mark.parametrize(
    "write", [lambda path: storage.keep(path, FROM, VALUE), lambda path: storage.write_arrays(path, ARRAYS, {})]
)
def test_a_disk_that_takes_no_more_is_named(write, tmp_path):
    """The system refuses a write half-way, as on a full disk; here because of a limit on the size of a file."""
    path = tmp_path / "x"
    path.write_bytes(b"before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, before[1]))
    try:
        with pytest.raises(OSError, match=str(path)):
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["x"]


def test_a_file_has_the_rights_that_the_user_asked_for(tmp_path):
    before = os.umask(0o027)
    try:
        assert kept(tmp_path).stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


@pytest.mark.parametrize("place", ["/proc/fedco/x.json", "{file}/x.json"])
def test_a_place_that_cannot_be_written_is_named(place, tmp_path):
    (tmp_path / "file").write_text("")
    path = place.format(file=tmp_path / "file")
    with pytest.raises(OSError, match=os.path.dirname(path)) as raised:
        storage.keep(path, FROM, VALUE)
    assert raised.value.filename == path
    with pytest.raises(OSError, match=os.path.dirname(path)) as raised:
        storage.make_folder(Path(path).parent)
    assert raised.value.filename == str(Path(path).parent)


def test_a_folder_where_a_file_is_wanted_is_named(tmp_path):
    (tmp_path / "kept.json").mkdir()
    for act in (lambda path: storage.keep(path, FROM, VALUE), lambda path: storage.recall(path, FROM)):
        with pytest.raises(IsADirectoryError) as raised:
            act(tmp_path / "kept.json")
        assert raised.value.filename == str(tmp_path / "kept.json")
    assert os.listdir(tmp_path) == ["kept.json"]


def test_a_read_only_folder_is_read_and_a_write_there_is_named(read_only):
    path = read_only / "kept.json"
    with without_rights():
        assert storage.recall(path, FROM) == VALUE
        for act in (lambda: storage.keep(path, FROM, VALUE), lambda: storage.make_folder(read_only)):
            with pytest.raises(PermissionError, match=str(read_only)):
                act()
    assert os.listdir(read_only) == ["kept.json"]


def test_a_damaged_file_that_cannot_be_set_aside_is_named(read_only):
    path = read_only / "kept.json"
    path.write_text("{")
    with without_rights(), pytest.raises(PermissionError, match=str(path)):
        storage.recall(path, FROM)


def test_what_a_killed_run_left_behind_goes_after_an_hour_and_what_a_running_one_writes_stays(tmp_path):
    path = kept(tmp_path)
    for minutes in (59, 61):
        part = tmp_path / f".{minutes}.part"
        part.write_text("half")
        os.utime(part, (time.time() - 60 * minutes,) * 2)
    os.utime(path, (time.time() - 7200,) * 2)
    storage.make_folder(tmp_path)
    assert set(os.listdir(tmp_path)) == {".59.part", path.name}


WRITER = """
import sys
from fedco import storage
print("ready", flush=True)
n = 0
while True:
    n += 1
    storage.keep(sys.argv[1], "counter", list(range(n % 50 + 1)))
"""


def test_two_writers_and_kills_never_leave_half_a_file(tmp_path):
    """Each process is killed while it writes; a reader beside them sees a whole value or the one before."""
    path = tmp_path / "kept.json"
    for _ in range(6):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) for _ in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 0.2
        while time.monotonic() < deadline:
            found = storage.recall(path, "counter")
            assert found is None or found == list(range(len(found)))
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    assert storage.recall(path, "counter")


def test_a_folder_is_checked_without_being_made(tmp_path, read_only):
    storage.check_folder(tmp_path / "a" / "b")
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    for place in ("/proc/fedco/a", tmp_path / "file", tmp_path / "file" / "a"):
        with pytest.raises(OSError, match=str(place)):
            storage.check_folder(place)
    with without_rights(), pytest.raises(PermissionError, match="new"):
        storage.check_folder(read_only / "new")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"format": "f/1", "a": 1, "a": 1, %s}', "a key occurs twice"),
        ('{"format": "f/1", "a": NaN, %s}', "NaN is not allowed"),
    ],
)
def test_json_that_python_alone_reads_is_damaged_whatever_its_checksum(text, why, tmp_path):
    plain = json.loads(text % '"b": 0')
    path = tmp_path / "a.json"
    path.write_text(text % f'"b": 0, "sha256": "{storage.digest(plain)}"')
    with pytest.raises(DamagedError, match=why):
        storage.read_json(path, "f/1")


def test_a_file_of_more_than_a_gibibyte_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    with open(path, "wb") as file:
        file.truncate(2**30 + 1)  # takes no space
    with pytest.raises(DamagedError, match=f"wanted at most {2**30} bytes, got {2**30 + 1}"):
        storage.read_json(path, "f/1")


def test_a_value_that_json_does_not_have_is_no_origin(tmp_path):
    path = kept(tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        storage.recall(path, {"seeds": float("nan")})


def test_every_byte_of_a_long_archive_is_in_its_checksum(tmp_path):
    """The sha256 is its comment and is taken in parts of 1 MiB: one of 2.5 parts, and a change in each of them."""
    noise = np.random.default_rng(0).bytes(5 << 19)
    path = storage.write_arrays(tmp_path / "long.npz", {"x": np.frombuffer(noise, dtype=np.uint8)}, {})
    content = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        assert opened.comment == content[-64:] == hashlib.sha256(content[:-64]).hexdigest().encode()
    assert storage.read_arrays(path)[0]["x"].tobytes() == noise
    for place in (1 << 19, 3 << 19, 9 << 18):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DamagedError, match="does not match its hash"):
            storage.read_arrays(path)


def test_a_kept_file_is_readable_text(tmp_path):
    """Lines for a person in what is written as JSON, one line in what is kept for later; the checksum of the sorted content."""
    path = storage.write_json(tmp_path / "a.json", {"format": "f/1", "b": [1, 2.5], "a": None, "sha256": "old"})
    whole = hashlib.sha256(b'{"a":null,"b":[1,2.5],"format":"f/1"}').hexdigest()
    wanted = f'{{\n "format": "f/1",\n "b": [\n  1,\n  2.5\n ],\n "a": null,\n "sha256": "{whole}"\n}}\n'
    assert path.read_text() == wanted and storage.read_json(path, "f/1") == {"format": "f/1", "b": [1, 2.5], "a": None}
    assert kept(tmp_path).read_text().count("\n") == 1
    assert storage.recall_or_make(tmp_path / "b.json", 1, lambda: (1, 2)) == [1, 2]
    for write in (storage.write_json, storage.keep):
        with pytest.raises(ValueError, match="not JSON compliant"):
            write(tmp_path / "c.json", *([1, math.inf] if write is storage.keep else [{"x": math.nan}]))
    assert not (tmp_path / "c.json").exists()


def test_a_file_of_just_the_size_that_is_allowed_is_read(tmp_path):
    path = storage.write_json(tmp_path / "a.json", {"format": "f/1"})
    size = path.stat().st_size
    assert storage.read_json(path, "f/1", most_bytes=size)
    with pytest.raises(DamagedError, match=f"wanted at most {size - 1} bytes, got {size}"):
        storage.read_json(path, "f/1", most_bytes=size - 1)


def test_a_warning_about_damage_points_to_who_asked(tmp_path):
    path = kept(tmp_path)
    path.write_text("{")
    with pytest.warns(DamagedWarning, match="kept as kept.json.damaged and made anew") as warned:
        assert storage.recall(path, FROM) is None
    assert [each.filename for each in warned] == [__file__]


def test_an_archive_of_no_more_than_a_checksum_is_damaged(tmp_path):
    path = tmp_path / "a.npz"
    for content, why in (
        (b"", "does not match its hash, or it is no file of fedco"),
        (b"P", "wanted arrays with a desc"),
    ):
        path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
        with pytest.raises(DamagedError, match=why):
            storage.read_arrays(path)


def test_a_probe_takes_no_file_of_another(tmp_path, monkeypatch):
    """Two processes with the same random name: the second is refused, and the file of the first stays."""
    monkeypatch.setattr(storage.os, "urandom", bytes)
    other = tmp_path / ".00000000.part"
    other.write_text("mine")
    with pytest.raises(OSError, match=str(tmp_path)):
        storage.check_folder(tmp_path)
    assert other.read_text() == "mine"


def test_names_that_are_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (".", "/"):
        with pytest.raises(IsADirectoryError, match=f"{name}"):
            storage.write_text(name, "x")
    assert storage.write_text("deep/er/a.txt", "x").read_text() == "x"
    assert storage.write_text("deep/er/a.txt", "y").read_text() == "y" and os.listdir("deep/er") == ["a.txt"]
    assert storage.make_folder("deep/er").is_dir() and storage.make_folder("new/folder").is_dir()


def test_the_whole_content_is_on_the_disk_before_the_file_has_its_name(tmp_path, monkeypatch):
    """The operating system is told to write what it has; by then it must have everything, and the name must be free."""
    synced = []
    monkeypatch.setattr(storage.os, "fsync", lambda handle: synced.append((os.fstat(handle).st_size, path.exists())))
    path = tmp_path / "a.txt"
    storage.write_text(path, "x" * 100)
    assert synced == [(100, False)] and path.read_text() == "x" * 100


def test_what_another_process_removes_or_finishes_meanwhile_is_no_error(tmp_path, monkeypatch):
    """The part goes after the folder was listed: before its age is asked for, or just before it would be removed."""
    part = tmp_path / ".a.1234abcd.part"
    now = time.time()

    def gone():
        part.unlink()
        return now

    part.write_text("half")
    monkeypatch.setattr(storage.time, "time", gone)
    assert storage.make_folder(tmp_path) == tmp_path and os.listdir(tmp_path) == []
    part.write_text("half")
    monkeypatch.setattr(storage.time, "time", lambda: now + 7200)
    unlink = Path.unlink

    def removed_twice(path, **options):
        unlink(path, **options)
        if path == part:
            unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", removed_twice)
    storage.make_folder(tmp_path)
    assert os.listdir(tmp_path) == []


def test_arrays_of_another_format_are_foreign(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "ARRAYS", "fedco-arrays/0")
    path = archive(tmp_path)
    monkeypatch.undo()
    with pytest.raises(DamagedError, match="format: wanted 'fedco-arrays/1'"):
        storage.read_arrays(path)


def test_numbers_without_loss_at_the_ends_of_their_ranges():
    large = 2**53
    assert lossless.encode(large - 1) == large - 1 and lossless.encode(-large + 1) == 1 - large
    assert lossless.encode(large) == {"fraction": [str(large), "1"]} == lossless.encode(Q(large))
    assert lossless.encode(-large) == {"fraction": [str(-large), "1"]} and lossless.encode(np.int64(5)) == 5
    assert lossless.encode(True) is True and lossless.encode(0.1) == {"hex": (0.1).hex()}
    for bits, written in ((3000, str), (3001, hex)):
        number = 2 ** (bits - 1)
        assert (
            lossless.encode(number)["fraction"][0] == written(number)
            and lossless.decode(lossless.encode(number)) == number
        )
    long = "1" * 1_000_000
    with pytest.raises(ValueError, match="at most 1000000 digits"):
        lossless.decode({"fraction": [long + "1", "1"]})
    for bad in ({"hex": "inf"}, {"hex": 3}, {"fraction": ["1", "0"]}, {"fraction": ["1"]}, {"fraction": [1, 2]}, 1.5):
        with pytest.raises(lossless.LosslessError):
            lossless.decode(bad)
    for bad in (math.nan, {3: 1}, {"hex": 1}, object()):
        with pytest.raises(lossless.LosslessError):
            lossless.encode(bad)
