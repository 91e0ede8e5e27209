"""A fault campaign: what is killed, starved or given damaged files ends with the bits of an undisturbed run, or says why in one line.

    python tests/faults/fault_campaign.py [--kills 100] [--seed 0] [--job validate --job run]

Each job is one command with a folder. It is run once undisturbed; then, each time in a folder of its own:

- `killed at a random moment` and `killed at write k` (just before and just after the file gets its name): after every kill no file has a
  final name and half its content; the same command started again ends with the same bits;
- `cut`, `flipped`, `foreign`: every kept file is damaged in turn, and the command run again;
- `two` and `eight processes` in one folder at once;
- `no space`: no file may grow beyond a few bytes (the same error as a full disk's, EFBIG); `a file in the way`; `the folder vanishes`;
  `interrupted` (SIGINT at a random moment); `little memory`.

Exit status 1 when a case is neither.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fedco import storage

JOBS = {
    "validate": ["validate", "baselines.minibatch_sgd", "--problem", "federated_noisy", "--seeds", "32", "--jobs", "1"],
    "run": [
        "run",
        "local_sgd",
        "--problem",
        "federated_noisy",
        "--grid",
        "eta=0.01,0.1",
        "--set",
        "tau=4",
        "--T",
        "200",
        "--seeds",
        "4",
    ],
}
NOT_COMPARED = ("seconds.json",)
"""Wall-clock times are no result."""
KILLED_AT_WRITE = """
import os, signal, sys
from fedco import cli
count, wanted, when = 0, int(sys.argv[1]), sys.argv[2]
rename = os.replace
def replace(*given, **named):
    global count
    count += 1
    if count == wanted and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*given, **named)
    if count == wanted and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
sys.argv = ["fedco", *sys.argv[3:]]
cli.main()
"""
LIMIT = 600
ONE_LINE = 2
"""Lines of an error on stderr, a warning about a damaged file beside it."""


class Wrong(AssertionError):
    """A case that ended neither with the right bits nor with one line."""


@dataclass
class Tally:
    """How often each fault was tried, and how each ended."""

    same_bits: dict[str, int] = field(default_factory=dict)
    one_line: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, fault: str, outcome: str) -> None:
        table = self.same_bits if outcome == "same bits" else self.one_line
        table[fault] = table.get(fault, 0) + 1


def start(
    job: str, out: Path, program: list[str] | None = None, limit: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    """The command of a job, writing to a folder."""
    command = [sys.executable, *(program or ["-m", "fedco"]), *JOBS[job], "--out", str(out)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit, start_new_session=True
    )


def finish(process: subprocess.Popen[str], limit: int = LIMIT) -> tuple[int, str]:
    """Exit status and stderr."""
    try:
        _, told = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise Wrong(f"still running after {limit} s") from None
    return process.returncode, told


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run by its name in the folder, but for times and what was set aside."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name not in NOT_COMPARED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if not file.name.endswith(".damaged")}


def compared(folder: Path) -> dict[str, bytes]:
    """What has to be the same: finished files to the byte; of an archive its arrays, because zip notes when it was written."""
    found = {name: content for name, content in contents(folder).items() if not name.rpartition("/")[2].startswith(".")}
    for name in found:
        if name.endswith(".npz"):
            arrays, description = storage.read_arrays(folder / name)
            description.pop("seconds", None)
            found[name] = repr((description, {key: value.tobytes() for key, value in sorted(arrays.items())})).encode()
    return found


def check_names(folder: Path, whole: dict[str, bytes]) -> None:
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
        elif content != whole.get(name):
            raise Wrong(f"{name} is neither whole nor absent")


def complete(job: str, folder: Path, whole: dict[str, bytes]) -> None:
    """Run the job to its end in a folder that a fault has left behind.

    Raises:
        Wrong: it fails, or ends with other bits.
    """
    status, told = finish(start(job, folder))
    if status != 0:
        raise Wrong(f"a second start ends with status {status}: {told.strip().splitlines()[-1:]}")
    left, wanted = compared(folder), compared(undisturbed(folder))
    if left != wanted:
        differ = sorted(name for name in left.keys() | wanted.keys() if left.get(name) != wanted.get(name))
        raise Wrong(f"other bits in {differ[:4]}")


def undisturbed(folder: Path) -> Path:
    """Where the run that no fault touched stands, beside the folder of a case."""
    return folder.parent / "undisturbed"


def says_one_line(status: int, told: str) -> None:
    """A failure that a person can act on.

    Raises:
        Wrong: a traceback, several lines, or silence.
    """
    lines = [line for line in told.strip().splitlines() if line.startswith("fedco:")]
    if status == 0 or "Traceback" in told or not 1 <= len(lines) <= ONE_LINE:
        raise Wrong(f"status {status}, {told.strip()[-300:]!r}")


# --- the faults: each takes a job, its folder, the whole run and a source of chance, and says how it ended ------------------------


def random_kill(job: str, folder: Path, whole: dict[str, bytes], chance: random.Random, seconds: float) -> str:
    process = start(job, folder)
    time.sleep(chance.uniform(0.2, 1.0) * seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits"


def kill_at_write(job: str, folder: Path, whole: dict[str, bytes], at: int, when: str) -> str | None:
    """None where the run has fewer writes."""
    status, _ = finish(start(job, folder, ["-c", KILLED_AT_WRITE, str(at), when]))
    if status == 0:
        return None
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits"


def damage(job: str, folder: Path, whole: dict[str, bytes], name: str, how: str, chance: random.Random) -> str:
    for each, content in whole.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_bytes(content)
    content = bytearray(whole[name])
    if how == "cut":
        content = content[: chance.randrange(len(content))]
    elif how == "flipped":
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    else:
        content = bytearray(b'{"format": "of another program", "value": 0}')
    (folder / name).write_bytes(bytes(content))
    status, told = finish(start(job, folder))
    if status != 0:
        says_one_line(status, told)
        return "one line"
    complete(job, folder, whole)
    return "same bits"


def together(job: str, folder: Path, whole: dict[str, bytes], processes: int) -> str:
    ended = [finish(each) for each in [start(job, folder) for _ in range(processes)]]
    failed = [told for status, told in ended if status != 0]
    if failed:
        raise Wrong(f"{len(failed)} of {processes} failed: {failed[0].strip().splitlines()[-1:]}")
    complete(job, folder, whole)
    return "same bits"


def no_space(job: str, folder: Path, whole: dict[str, bytes], size: int) -> str:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    says_one_line(*finish(start(job, folder, limit=limit)))
    check_names(folder, whole)
    complete(job, folder, whole)
    return "one line"


def in_the_way(job: str, folder: Path, whole: dict[str, bytes]) -> str:
    folder.rmdir()
    folder.write_text("a file")
    says_one_line(*finish(start(job, folder)))
    folder.unlink()
    complete(job, folder, whole)
    return "one line"


def vanishes(job: str, folder: Path, whole: dict[str, bytes], chance: random.Random, seconds: float) -> str:
    process = start(job, folder)
    time.sleep(chance.uniform(0.5, 1.0) * seconds)
    shutil.rmtree(folder, ignore_errors=True)
    status, told = finish(process)
    if status != 0:
        says_one_line(status, told)
    complete(job, folder, whole)
    return "same bits" if status == 0 else "one line"


def interrupted(job: str, folder: Path, whole: dict[str, bytes], chance: random.Random, seconds: float) -> str:
    process = start(job, folder)
    time.sleep(chance.uniform(0.3, 1.0) * seconds)
    os.killpg(process.pid, signal.SIGINT)
    status, told = finish(process)
    if status != 0 and "Traceback" in told:
        raise Wrong(f"status {status}: {told.strip()[-300:]!r}")
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits"


def little_memory(job: str, folder: Path, whole: dict[str, bytes], mib: int) -> str:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

    status, told = finish(start(job, folder, limit=limit))
    if status != 0 and not told.strip():
        raise Wrong(f"status {status} without a word")
    check_names(folder, whole)
    complete(job, folder, whole)
    return "same bits" if status == 0 else "one line"


def cases(
    job: str, whole: dict[str, bytes], kills: int, chance: random.Random, seconds: float
) -> Iterator[tuple[str, Callable[[Path], str | None]]]:
    """Name of the fault, and what tries it in a new folder."""
    writes = 2 * sum(1 for name in whole) + 8
    for at in range(1, writes):
        for when in ("before", "after"):
            yield "killed at a write", lambda folder, at=at, when=when: kill_at_write(job, folder, whole, at, when)
    for _ in range(kills):
        yield "killed at a random moment", lambda folder: random_kill(job, folder, whole, chance, seconds)
    for name in whole:
        for how in ("cut", "flipped", "foreign"):
            yield f"{how} file", lambda folder, name=name, how=how: damage(job, folder, whole, name, how, chance)
    for number in (2, 8):
        yield f"{number} processes in one folder", lambda folder, number=number: together(job, folder, whole, number)
    for size in (0, 200, 2000):
        yield "no space", lambda folder, size=size: no_space(job, folder, whole, size)
    yield "a file in the way", lambda folder: in_the_way(job, folder, whole)
    for _ in range(4):
        yield "the folder vanishes", lambda folder: vanishes(job, folder, whole, chance, seconds)
        yield "interrupted", lambda folder: interrupted(job, folder, whole, chance, seconds)
    for mib in (600, 2000):
        yield "little memory", lambda folder, mib=mib: little_memory(job, folder, whole, mib)


def campaign(job: str, kills: int, seed: int, only: tuple[str, ...] = ()) -> Tally:
    """Every fault on one job; what goes wrong is printed at once."""
    chance, tally = random.Random(seed), Tally()
    with tempfile.TemporaryDirectory() as place:
        begin = time.perf_counter()
        status, told = finish(start(job, Path(place) / "undisturbed"))
        seconds = time.perf_counter() - begin
        if status != 0:
            raise SystemExit(f"{job}: the undisturbed run fails: {told}")
        whole = contents(Path(place) / "undisturbed")
        last = False
        for number, (fault, attempt) in enumerate(cases(job, whole, kills, chance, seconds)):
            if (only and fault not in only) or (last and fault == "killed at a write"):
                continue
            folder = Path(place) / f"case_{number}"
            folder.mkdir()
            try:
                outcome = attempt(folder)
                last = outcome is None
                if outcome is not None:
                    tally.add(fault, outcome)
            except (Wrong, ValueError) as wrong:  # a checksum that does not agree is a ValueError
                tally.wrong.append(f"{fault}: {wrong}")
                print(f"{job}, {fault}: {wrong}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
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
    parser.add_argument("--kills", type=int, default=50, help="random kills of each job")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--job", action="append", choices=list(JOBS))
    asked = parser.parse_args()
    tallies = {job: campaign(job, asked.kills, asked.seed) for job in asked.job or JOBS}
    day = datetime.now(UTC).date().isoformat()
    print(f"{day}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n\n{table(tallies)}")
    return int(any(tally.wrong for tally in tallies.values()))


if __name__ == "__main__":
    raise SystemExit(main())
