"""A fault campaign: what is killed, starved or given damaged files ends with the bits of an undisturbed run, or says why in one line.

    python tests/faults/fault_campaign.py [--kills 15] [--seed 0] [--job validate --job run] [--only "cut file"]

Each job is one command with a folder, run in a process of its own that has fedco imported already, so that a kill hits the work and
not the start of Python. It runs once undisturbed; then, each time in a folder of its own:

- `killed at a random moment` and `killed at a write` (just before and just after a file gets its name, for every write of the
  run): after every kill no file has a final name and half its content; the same command started again ends with the same bits;
- `cut`, `flipped` and `foreign file`: every kept file is damaged in turn, and the command run again;
- `2` and `8 processes in one folder` at once;
- `full disk` (a small tmpfs) and `file size limit`, `read-only folder` (a mount), `no permission` (as another user), `a file in the way`,
  `the folder vanishes`, `little memory`: the command says why in one line, or ends well, and ends well once the cause is gone;
- `interrupted` (SIGINT) and `terminated` (SIGTERM) at a random moment, `nobody reads the output` (a closed pipe);
- `validate` only, on a dask cluster: `a dask worker killed`, `the dask scheduler killed`.

Every time limit is a multiple of what the undisturbed run took here and now. What needs root (mounts, another user) is skipped
with a line where this is not root. Exit status 1 when a case ended in another way.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fedco import cli, storage

Setup = Callable[[], object]


@contextmanager
def small_report() -> Iterator[None]:
    """A report of one theorem, one refutation and no audit: the whole one takes minutes."""
    from fedco.validation.report import page

    def one(table: Callable[[], dict[str, Any]], name: str) -> Callable[[], dict[str, Any]]:
        return lambda: {name: table()[name]}

    with (
        patch.object(page, "recipes", one(page.recipes, "baselines.minibatch_sgd")),
        patch.object(page, "all_theorems", one(page.all_theorems, "baselines.minibatch_sgd")),
        patch.object(page, "declared_refutations", one(page.declared_refutations, "local_scgdm.theorem_3_4")),
        patch.object(page, "declared", lambda what: ()),
        patch.object(page, "counterexamples", dict),
        patch.object(page, "audit", lambda paper: []),
        patch.object(page, "run_controls", lambda share: ((), page.AlphaBudget(share))),
    ):
        yield


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


@dataclass(frozen=True)
class Job:
    """A command line without its folder, and what is made smaller for it."""

    line: str
    smaller: Callable[[], Any] = as_it_is


JOBS = {
    "run": Job("run local_sgd --problem federated_noisy --grid eta=0.01,0.1 --set tau=4 --T 200 --seeds 4"),
    "validate": Job("validate baselines.minibatch_sgd --problem federated_noisy --seeds 32 --jobs 1"),
    "falsify": Job("falsify local_scgdm.lemma_4_3 --seconds 900"),
    "report": Job("report --quick --jobs 1", small_report),
}
NOT_COMPARED = ("seconds.json",)
"""Wall-clock times are no result."""
PRELOADED = (
    "matplotlib.pyplot", "fedco.validation.runs.validate", "fedco.validation.experiments.run", "fedco.validation.report.page",
    "fedco.validation.falsifier", "fedco.validation.lemmas.measure", "cvxpy", "jinja2",
)  # fmt: skip
SLOWER, LEAST = 40, 60
"""A run that takes so many times what the undisturbed one took, and so many seconds, hangs."""
ONE_LINE = 2
"""Lines of an error on stderr, a warning about a damaged file beside it."""
NOBODY = 65534
MOST_TOLD = 1 << 20
"""Bytes on stderr that a command can write before anybody reads."""


class Wrong(AssertionError):
    """A case that ended neither with the right bits nor with one line."""


@dataclass
class Whole:
    """The run that no fault touched.

    Args:
        seconds: how long it took.
        files: its files by name.
        wanted: of these what has to be the same.
    """

    seconds: float
    files: dict[str, bytes]
    wanted: dict[str, bytes]

    @property
    def limit(self) -> float:
        return SLOWER * self.seconds + LEAST


@dataclass
class Tally:
    """How often each fault was tried, and how each ended."""

    same_bits: dict[str, int] = field(default_factory=dict)
    one_line: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, fault: str, outcome: str) -> None:
        table = self.same_bits if outcome == "same bits" else self.one_line
        table[fault] = table.get(fault, 0) + 1


# --- a command in a process of its own -----------------------------------------------------------------------------------------


class Started:
    """A command that runs in a fork of this process, in a process group of its own; its stderr is kept."""

    def __init__(self, job: str, out: Path, setup: Setup | None, output: int | None, more: tuple[str, ...]) -> None:
        self.told, writer = os.pipe()  # no file: a limit on the size of files is one of the faults
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, MOST_TOLD)
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_WRONLY) if output is None else output, 1)
                os.dup2(writer, 2)
                sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
                sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
                signal.signal(signal.SIGINT, signal.default_int_handler)
                warnings.simplefilter("default")  # pytest makes errors of them
                if setup:
                    setup()
                status = _command([*JOBS[job].line.split(), "--out", str(out), *more], JOBS[job].smaller)
            except KeyboardInterrupt:
                status = 130
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writer)

    def signal(self, number: int) -> None:
        os.killpg(self.pid, number)

    def wait(self, limit: float) -> tuple[int, str]:
        """Exit status (negative: the signal that ended it) and stderr.

        Raises:
            Wrong: it does not end.
        """
        end = time.monotonic() + limit
        while (done := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                self.signal(signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise Wrong(f"still running after {limit:.0f} s")
            time.sleep(0.01)
        with open(self.told, "rb") as told:
            return os.waitstatus_to_exitcode(done[1]), told.read().decode(errors="replace")


def _command(line: list[str], smaller: Callable[[], Any]) -> int:
    """Run a command line as `python -m fedco` would, to the flush at its end; its exit status."""
    status: Any = 0
    with smaller(), patch.object(sys, "argv", ["fedco", *line]):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = 120  # what Python itself ends with, after a message of its own
    sys.stderr.flush()
    return int(status)


def start(
    job: str, out: Path, setup: Setup | None = None, output: int | None = None, more: tuple[str, ...] = ()
) -> Started:
    """The command of a job, writing to a folder, after what `setup` does in its process."""
    sys.stdout.flush()
    return Started(job, out, setup, output, more)


def undisturbed(job: str, folder: Path) -> Whole:
    """Run a job that nothing disturbs.

    Raises:
        Wrong: it fails.
    """
    begin = time.monotonic()
    status, told = start(job, folder).wait(3600)
    if status != 0:
        raise Wrong(f"the undisturbed run of {job} fails: {told[-500:]}")
    return Whole(time.monotonic() - begin, contents(folder), compared(folder))


# --- what must hold -----------------------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run by its name in the folder, but for times and what was set aside."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name not in NOT_COMPARED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if not file.name.endswith(".damaged")}


def compared(folder: Path) -> dict[str, bytes]:
    """What has to be the same: finished files to the byte, but for the seconds of a measurement and the time of writing in an archive."""
    found = {name: content for name, content in contents(folder).items() if not name.rpartition("/")[2].startswith(".")}
    for name in found:
        if name.endswith(".npz"):
            arrays, description = storage.read_arrays(folder / name)
            description.pop("seconds", None)
            found[name] = repr((description, {key: value.tobytes() for key, value in sorted(arrays.items())})).encode()
        elif name.endswith(".json") and (kept := json.loads(found[name])).get("format") == storage.KEPT:
            del kept["sha256"]
            if isinstance(kept["value"], dict):
                kept["value"].pop("seconds", None)
            found[name] = json.dumps(kept).encode()
    return found


def check_names(folder: Path, whole: Whole) -> None:
    """Nothing half-written under a final name: JSON and archives agree with their checksums, any other file has the bits of the whole run.

    Raises:
        Wrong: a file does not.
        DamagedError: a checksum does not agree.
    """
    for name, content in contents(folder).items():
        if name.rpartition("/")[2].startswith("."):
            continue
        if name.endswith(".json"):
            data = json.loads(content)
            storage.unsealed(data, data["format"])
        elif name.endswith((".npz", ".checkpoint")):
            storage.read_arrays(folder / name)
        elif content != whole.files.get(name):
            raise Wrong(f"{name} is neither whole nor absent")


def check_bits(folder: Path, whole: Whole) -> None:
    """The folder holds what the whole run left.

    Raises:
        Wrong: it does not.
    """
    left = compared(folder)
    if left != whole.wanted:
        differ = sorted(name for name in left.keys() | whole.wanted.keys() if left.get(name) != whole.wanted.get(name))
        raise Wrong(f"other bits in {differ[:4]}")


def complete(job: str, folder: Path, whole: Whole) -> None:
    """Run the job to its end in a folder that a fault has left behind.

    Raises:
        Wrong: it fails, or ends with other bits.
    """
    status, told = start(job, folder).wait(whole.limit)
    if status != 0:
        raise Wrong(f"a second start ends with status {status}: {told.strip().splitlines()[-1:]}")
    check_bits(folder, whole)


def says_one_line(status: int, told: str, place: Path | None = None) -> None:
    """A failure that a person can act on: one line, and where it is about a place its name.

    Raises:
        Wrong: a traceback, several lines, silence, or no path.
    """
    lines = [line for line in told.strip().splitlines() if line.startswith("fedco:")]
    if status == 0 or "Traceback" in told or not 1 <= len(lines) <= ONE_LINE:
        raise Wrong(f"status {status}, {told.strip()[-300:]!r}")
    if place is not None and str(place) not in lines[-1]:
        raise Wrong(f"no path in {lines[-1]!r}")


# --- the faults: each takes a job, its folder, the whole run and perhaps a source of chance, and says how it ended --------------------


def random_kill(job: str, folder: Path, whole: Whole, chance: random.Random) -> str:
    process = start(job, folder)
    time.sleep(chance.uniform(0.05, 0.95) * whole.seconds)
    process.signal(signal.SIGKILL)
    process.wait(whole.limit)
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits"


def kill_at_write(job: str, folder: Path, whole: Whole, at: int, when: str) -> str | None:
    """None where the run has fewer writes."""

    def setup() -> None:
        count, rename = 0, os.replace

        def replace(*given: Any, **named: Any) -> None:
            nonlocal count
            count += 1
            if count == at and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            rename(*given, **named)
            if count == at and when == "after":
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = replace

    status, _ = start(job, folder, setup).wait(whole.limit)
    if status == 0:
        return None
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits"


def damage(job: str, folder: Path, whole: Whole, name: str, how: str, chance: random.Random) -> str:
    for each, content in whole.files.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_bytes(content)
    content = bytearray(whole.files[name])
    if how == "cut":
        content = content[: chance.randrange(len(content))]
    elif how == "flipped":
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    else:
        content = bytearray(b'{"format": "of another program", "value": 0}')
    (folder / name).write_bytes(bytes(content))
    status, told = start(job, folder).wait(whole.limit)
    if status != 0:
        says_one_line(status, told, folder)
        return "one line"
    check_bits(folder, whole)
    return "same bits"


def together(job: str, folder: Path, whole: Whole, processes: int) -> str:
    ended = [each.wait(whole.limit) for each in [start(job, folder) for _ in range(processes)]]
    failed = [told for status, told in ended if status != 0]
    if failed:
        raise Wrong(f"{len(failed)} of {processes} failed: {failed[0].strip().splitlines()[-1:]}")
    complete(job, folder, whole)
    return "same bits"


def says_and_goes_on(job: str, folder: Path, whole: Whole, ended: tuple[int, str], place: Path | None) -> str:
    """The end of a case whose cause is gone now: it ended well, or said why; a second start ends well."""
    status, told = ended
    if status != 0:
        says_one_line(status, told, place)
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits" if status == 0 else "one line"


def file_size_limit(job: str, folder: Path, whole: Whole, size: int) -> str:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    process = start(job, folder, limit)
    process_ended = process.wait(whole.limit)
    return says_and_goes_on(job, folder, whole, process_ended, folder)


@contextmanager
def mounted(folder: Path, *how: str) -> Iterator[None]:
    subprocess.run(["mount", *how, str(folder)], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


def full_disk(job: str, folder: Path, whole: Whole, kib: int) -> str:
    with mounted(folder, "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs"):
        ended = start(job, folder).wait(whole.limit)
        if ended[0] != 0:
            says_one_line(*ended, folder)
        check_names(folder, whole)
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True, capture_output=True)
        complete(job, folder, whole)
    return "same bits" if ended[0] == 0 else "one line"


def read_only(job: str, folder: Path, whole: Whole) -> str:
    with mounted(folder, "-t", "tmpfs", "-o", "ro", "tmpfs"):
        ended = start(job, folder).wait(whole.limit)
    says_one_line(*ended, folder)
    complete(job, folder, whole)
    return "one line"


def no_permission(job: str, folder: Path, whole: Whole) -> str:
    folder.chmod(0o755)

    def become() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        if ctypes.CDLL(None).prctl(4, 1, 0, 0, 0):  # PR_SET_DUMPABLE: /proc/self stays readable
            raise OSError("prctl")

    ended = start(job, folder, become).wait(whole.limit)
    says_one_line(*ended, folder)
    complete(job, folder, whole)
    return "one line"


def in_the_way(job: str, folder: Path, whole: Whole) -> str:
    folder.rmdir()
    folder.write_text("a file")
    says_one_line(*start(job, folder).wait(whole.limit), folder)
    folder.unlink()
    complete(job, folder, whole)
    return "one line"


def vanishes(job: str, folder: Path, whole: Whole, chance: random.Random) -> str:
    process = start(job, folder)
    time.sleep(chance.uniform(0.1, 1.0) * whole.seconds)
    shutil.rmtree(folder, ignore_errors=True)
    status, told = process.wait(whole.limit)
    if status != 0:
        says_one_line(status, told, folder)
    complete(job, folder, whole)
    return "same bits" if status == 0 else "one line"


def interrupted(job: str, folder: Path, whole: Whole, chance: random.Random, number: int) -> str:
    process = start(job, folder)
    time.sleep(chance.uniform(0.05, 0.95) * whole.seconds)
    process.signal(number)
    status, told = process.wait(whole.limit)
    if status not in (0, 130, -number) or "Traceback" in told:
        raise Wrong(f"status {status}: {told.strip()[-300:]!r}")
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits"


def nobody_reads(job: str, folder: Path, whole: Whole, more: tuple[str, ...]) -> str:
    reader, writer = os.pipe()
    os.close(reader)
    status, told = start(job, folder, output=writer, more=more).wait(whole.limit)
    os.close(writer)
    if "Traceback" in told:
        raise Wrong(f"status {status}: {told.strip()[-300:]!r}")
    check_bits(folder, whole)
    return "same bits"


def little_memory(job: str, folder: Path, whole: Whole, mib: int) -> str:
    def limit() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = used + (mib << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return says_and_goes_on(job, folder, whole, start(job, folder, limit).wait(whole.limit), None)


@contextmanager
def cluster(place: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a dask scheduler, and its process and those of two workers."""
    told = place / "scheduler.json"
    quiet = {"cwd": place, "stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    dask = [sys.executable, "-W", "ignore", "-m"]
    at = ["--host", "127.0.0.1", "--no-dashboard", "--port", "0", "--scheduler-file", str(told)]
    running = [subprocess.Popen([*dask, "distributed.cli.dask_scheduler", *at], **quiet)]  # type: ignore[call-overload]
    try:
        end = time.monotonic() + 4 * LEAST
        while not told.exists():
            if time.monotonic() > end:
                raise SystemExit("no dask scheduler started")
            time.sleep(0.1)
        at = ["--scheduler-file", str(told), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        running += [subprocess.Popen([*dask, "distributed.cli.dask_worker", *at], **quiet) for _ in range(2)]  # type: ignore[call-overload]
        yield json.loads(told.read_text())["address"], running
    finally:
        for process in running:
            process.kill()
            process.wait()


def dask_killed(job: str, folder: Path, whole: Whole, which: int) -> str:
    """Kill the scheduler (0) or a worker (1) once the first measurement of a validation is on disk."""
    from fedco.validation.runs import validate

    with cluster(folder.parent) as (address, running):

        def spread() -> None:
            ours = validate.run_tasks
            validate.run_tasks = lambda *given, **named: ours(*given, **{**named, "scheduler": address})

        process = start(job, folder, spread)
        end = time.monotonic() + whole.limit
        while not any(folder.glob("measurements/*.json")) and time.monotonic() < end:
            time.sleep(0.01)
        running[which].kill()
        ended = process.wait(whole.limit)
    return says_and_goes_on(job, folder, whole, ended, None)


def cases(
    job: str, whole: Whole, kills: int, chance: random.Random
) -> Iterator[tuple[str, Callable[[Path], str | None]]]:
    """Name of the fault, and what tries it in a new folder."""
    for at in range(1, 4 * len(whole.files) + 20):
        for when in ("before", "after"):
            yield "killed at a write", lambda folder, at=at, when=when: kill_at_write(job, folder, whole, at, when)
    for _ in range(kills):
        yield "killed at a random moment", lambda folder: random_kill(job, folder, whole, chance)
    for name in whole.files:
        for how in ("cut", "flipped", "foreign"):
            yield f"{how} file", lambda folder, name=name, how=how: damage(job, folder, whole, name, how, chance)
    for number in (2, 8):
        yield f"{number} processes in one folder", lambda folder, number=number: together(job, folder, whole, number)
    for size in (0, 200, 2000):
        yield "file size limit", lambda folder, size=size: file_size_limit(job, folder, whole, size)
    if os.geteuid() == 0:
        for kib in (4, 16, 64):
            yield "full disk", lambda folder, kib=kib: full_disk(job, folder, whole, kib)
        yield "read-only folder", lambda folder: read_only(job, folder, whole)
        yield "no permission", lambda folder: no_permission(job, folder, whole)
    else:
        print(f"{job}: full disk, read-only folder and no permission need root and are skipped", flush=True)
    yield "a file in the way", lambda folder: in_the_way(job, folder, whole)
    for _ in range(4):
        yield "the folder vanishes", lambda folder: vanishes(job, folder, whole, chance)
        yield "interrupted", lambda folder: interrupted(job, folder, whole, chance, signal.SIGINT)
    for _ in range(2):
        yield "terminated", lambda folder: interrupted(job, folder, whole, chance, signal.SIGTERM)
    for more in ((), ("--json",)):
        yield "nobody reads the output", lambda folder, more=more: nobody_reads(job, folder, whole, more)
    for mib in (1, 30, 100, 300):
        yield "little memory", lambda folder, mib=mib: little_memory(job, folder, whole, mib)
    if job == "validate":
        yield "a dask worker killed", lambda folder: dask_killed(job, folder, whole, 1)
        yield "the dask scheduler killed", lambda folder: dask_killed(job, folder, whole, 0)


def campaign(job: str, kills: int, seed: int, only: tuple[str, ...] = ()) -> Tally:
    """Every fault on one job; what goes wrong is printed at once."""
    chance, tally = random.Random(f"{seed} {job}"), Tally()
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)  # another user gets as far as the folder of a case
        whole = undisturbed(job, Path(place) / "undisturbed")
        begin, past_the_last_write = time.monotonic(), False
        for number, (fault, attempt) in enumerate(cases(job, whole, kills, chance)):
            if (only and fault not in only) or (past_the_last_write and fault == "killed at a write"):
                continue
            folder = Path(place) / f"case_{number}" / "out"
            folder.mkdir(parents=True)
            try:
                outcome = attempt(folder)
                if outcome is None:
                    past_the_last_write = True
                else:
                    tally.add(fault, outcome)
            except (Wrong, ValueError) as wrong:  # a checksum that does not agree is a ValueError
                tally.wrong.append(f"{fault}: {wrong}")
                print(f"{job}, {fault}: {wrong}", flush=True)
            shutil.rmtree(folder.parent, ignore_errors=True)
        seconds = time.monotonic() - begin
        print(f"{job}: undisturbed {whole.seconds:.1f} s, {number + 1} cases in {seconds:.0f} s", flush=True)
    return tally


def table(tallies: dict[str, Tally]) -> str:
    """The tallies in Markdown."""
    lines = [
        "| command | fault | tried | ended with the same bits | with one line that says why | neither |",
        "|---|---|---|---|---|---|",
    ]
    for job, tally in tallies.items():
        for fault in dict.fromkeys(
            (*tally.same_bits, *tally.one_line, *(line.partition(":")[0] for line in tally.wrong))
        ):
            same, said = tally.same_bits.get(fault, 0), tally.one_line.get(fault, 0)
            wrong = sum(line.startswith(f"{fault}:") for line in tally.wrong)
            lines.append(f"| `{job}` | {fault} | {same + said + wrong} | {same} | {said} | {wrong} |")
    return "\n".join(lines)


def main() -> int:
    """Run the campaign and print its table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=15, help="random kills of each job")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--job", action="append", choices=list(JOBS))
    parser.add_argument(
        "--only", action="append", default=[], metavar="FAULT", help="its name in the table; repeatable"
    )
    asked = parser.parse_args()
    for module in PRELOADED:
        __import__(module)
    begin = time.monotonic()
    tallies = {job: campaign(job, asked.kills, asked.seed, tuple(asked.only)) for job in asked.job or JOBS}
    day, took = datetime.now(UTC).date().isoformat(), time.monotonic() - begin
    print(f"{day}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, {took:.0f} s\n")
    print(table(tallies))
    return int(any(tally.wrong for tally in tallies.values()))


if __name__ == "__main__":
    raise SystemExit(main())
