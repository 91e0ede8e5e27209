"""A mutation campaign: small changes of the source, and whether a test notices.

    python tests/mutation/mutation_campaign.py [--each 20] [--seed 0] [--room bounds/region] [--minutes 2] [--state FILE]

The package is copied to a scratch folder. First every test file runs once on a copy in which each function notes that it was
called: which files call which function, and how long each takes. Tests that fail on a copy with one more comment in every module
look at the source itself, not at what it does, and are left out. Then, one mutant at a time and room by room, the files that
call the changed function run, the quickest first, until a test fails or the time that `--minutes` allows for one mutant is
over. Slow tests do not run.

A mutant is `killed` when a test fails or does not end, `survived` when all pass, and `explained` when it survived and
`explained.toml` says why no test can see it. The table counts an explained mutant as decided but not as killed. With
`--state` a campaign that was stopped goes on where it was; what survived is tried again.
Exit status 1 when a mutant survived that nobody explained.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import platform
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import pytest
from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = ("tests/bounds", "tests/recorded", "tests/cli/test_bad_input.py")
STATISTICS = tuple(
    f"tests/validation/test_{name}.py"
    for name in (
        "evalues",
        "verdict",
        "ledger",
        "planning",
        "slopes",
        "moments",
        "calibration",
        "bundle",
        "campaign",
        "testing",
    )
)
ROOMS = {
    "bounds/language": BOUNDS,
    "bounds/evaluation": BOUNDS,
    "bounds/region": BOUNDS,
    "bounds/optimum": BOUNDS,
    "bounds/cost": BOUNDS,
    "bounds/proof": BOUNDS,
    "validation/statistics": STATISTICS,
    "storage.py": ("tests/storage", "tests/faults"),
    "bounds/audit": BOUNDS,
    "bounds/papers": BOUNDS,
    "algorithms": ("tests/algorithms",),
    "synthetic": ("tests/synthetic",),
    "validation/runs": ("tests/validation", "tests/storage"),
}
"""Where the tests of each room are looked for."""
EXPLAINED = Path(__file__).parent / "explained.toml"
LEFT_OUT = ("tests/bounds/test_ledger.py", "tests/mutation")
"""The kept audits name the sources that they were made from: any change would count as killed."""
SLOWER = 4
"""A test that takes so many times what it took before, and a minute, does not end."""
MEMORY = 16 << 30
_SEEN = "fedco._called"
_SEEN_SOURCE = '''"""Which functions were called."""
import atexit, os
SEEN = set()
def _write():
    if "FEDCO_CALLED" in os.environ:
        with open(os.environ["FEDCO_CALLED"], "a") as file:
            file.write("".join(f"{each}\\n" for each in SEEN))
atexit.register(_write)
'''


# --- a copy of the package ---------------------------------------------------------------------------------------------------------


class Copy:
    """The package in a scratch folder, where a file can be changed and put back."""

    def __init__(self, place: Path) -> None:
        self.place, self.root = place, place / "fedco"
        compiled = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")

        def unwanted(folder: str, names: list[str]) -> set[str]:
            made = {".git", ".venv", "site", "report", "out", "build"} if Path(folder) == ROOT else set()
            return {*compiled(folder, names), *(made & set(names))}

        shutil.copytree(ROOT, self.root, ignore=unwanted)

    def write(self, file: str, source: str) -> None:
        """Replace a module, and forget what was compiled from it."""
        path = self.root / file
        path.write_text(source)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def put_back(self, file: str) -> None:
        self.write(file, (ROOT / file).read_text())

    def sign(self) -> None:
        """Let the kept audits name the sources as they now are, so that a change is not noticed by its checksum alone."""
        code = (
            "from fedco.bounds import papers\nfrom fedco.bounds.audit import ledger\nfrom fedco.storage import *\n"
            "for key in papers.built_in_keys():\n"
            "    file = ledger.folder_of(key) / ledger.NAME\n"
            "    kept = read_json(file, ledger.FORMAT)\n"
            "    write_json(file, {**kept, 'made_from': ledger.fingerprint(file.parent)})\n"
        )
        self.run(lambda: exec(code, {}), 60)

    def run(self, work: Callable[[], Any], seconds: float) -> Any:
        """Do this in a process in which fedco is this copy; its JSON answer, or None where it does not end well in time."""
        answer = self.place / "answer.json"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._work(work, answer)
        end = time.monotonic() + seconds
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.02)
        return json.loads(answer.read_text()) if answer.exists() else None

    def _work(self, work: Callable[[], Any], answer: Path) -> None:
        status = 1
        try:
            os.setsid()
            os.chdir(self.root)
            sys.path.insert(0, str(self.place))
            os.environ["PYTHONPATH"] = str(self.place)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            silence = os.open(self.place / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            result = work()
            part = answer.with_suffix(".part")
            part.write_text(json.dumps(result))
            part.replace(answer)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)


def run_tests(targets: Iterable[str], without: Iterable[str], *more: str) -> dict[str, Any]:
    """Run tests in this process: the exit status of pytest, the tests that failed, the functions that were called."""
    import hypothesis

    hypothesis.settings.register_profile(
        "mutation", database=None, phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate)
    )
    hypothesis.settings.load_profile("mutation")
    failed: list[str] = []

    class Noted:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                failed.append(report.nodeid)

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                failed.append(report.nodeid)

    given = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-q",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "-m",
        "not slow and not gpu",
        "--tb=short",
        *more,
    ]
    status = pytest.main([*given, *(f"--deselect={each}" for each in without), *targets], plugins=[Noted()])
    called = getattr(sys.modules.get(_SEEN), "SEEN", ())
    return {"status": int(status), "failed": failed, "called": sorted(called)}


# --- who calls what ----------------------------------------------------------------------------------------------------------------


@dataclass
class Map:
    """By test file its seconds and the functions that it calls, and the tests that look at the source."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)

    def tests_of(self, mutant: Mutant, most: float) -> list[str]:
        """The test files that call the changed function, the quickest first, as long as they fit into the time."""
        where = f"{mutant.file}::{mutant.function}" if _in_function(mutant) else f"{mutant.file}::"
        chosen, total = [], 0.0
        for test in sorted(self.seconds, key=self.seconds.__getitem__):
            called = any(
                each == where or (where.endswith("::") and each.startswith(where)) for each in self.calls[test]
            )
            if called and (total + self.seconds[test] <= most or not chosen):
                chosen.append(test)
                total += self.seconds[test]
        return chosen


def _in_function(mutant: Mutant) -> bool:
    """Whether the change is in a function that notes its calls: not at the level of a module or a class."""
    return mutant.function in {name for name, _ in functions(ast.parse((ROOT / mutant.file).read_text()))}


def functions(node: ast.AST, around: str = "") -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function by its qualified name."""
    found = []
    for child in ast.iter_child_nodes(node):
        name = around
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{around}.{child.name}" if around else child.name
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((name, child))
        found += functions(child, name)
    return found


def noting(file: str, source: str) -> str:
    """The source of a module whose functions note that they were called."""
    tree = ast.parse(source)
    for name, function in functions(tree):
        place = 1 if ast.get_docstring(function, clean=False) is not None else 0
        function.body.insert(place, ast.parse(f"_called_here.add({f'{file}::{name}'!r})").body[0])
    last = max(
        (n for n, s in enumerate(tree.body[:6]) if isinstance(s, ast.ImportFrom) and s.module == "__future__"),
        default=-1,
    )
    if last < 0 and ast.get_docstring(tree, clean=False) is not None:
        last = 0
    tree.body.insert(last + 1, ast.parse(f"from {_SEEN} import SEEN as _called_here").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))


def sources(room: str) -> list[str]:
    """The modules of a room."""
    place = ROOT / room
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [str(file.relative_to(ROOT)) for file in files]


def test_files(rooms: Iterable[str]) -> list[str]:
    places = dict.fromkeys(place for room in rooms for place in ROOMS[room])
    found = [
        file
        for place in places
        for file in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("test_*.py")))
    ]
    names = dict.fromkeys(str(file.relative_to(ROOT)) for file in found)
    return [name for name in names if not name.startswith(LEFT_OUT)]


def make_map(copy: Copy, files: Iterable[str], rooms: Iterable[str], known: Map, keep: Callable[[], None]) -> None:
    """Run each of these test files once, and add to what is known which functions of the rooms it calls and how long it takes."""
    missing = [test for test in files if test not in known.seconds]
    if not missing:
        return
    modules = [file for room in rooms for file in sources(room)]
    (copy.root / "_called.py").write_text(_SEEN_SOURCE)
    for file in modules:
        copy.write(file, noting(file, (ROOT / file).read_text()))
    copy.sign()
    failing: list[str] = []
    for number, test in enumerate(missing, 1):
        notes = copy.place / "called.txt"
        notes.write_text("")
        os.environ["FEDCO_CALLED"] = str(notes)
        begin = time.monotonic()
        found = copy.run(lambda test=test: run_tests([test], known.without), 900)
        if found is None:
            raise SystemExit(
                f"{test} does not run on a copy of the package: {(copy.place / 'log.txt').read_text()[-1000:]}"
            )
        known.seconds[test] = time.monotonic() - begin
        known.calls[test] = sorted({*found["called"], *notes.read_text().split("\n")})
        failing += found["failed"]
        print(f"map {number}/{len(missing)}: {test}, {known.seconds[test]:.1f} s", flush=True)
    del os.environ["FEDCO_CALLED"]
    for file in modules:
        copy.write(file, (ROOT / file).read_text() + "# one more comment\n")
    copy.sign()
    for test in dict.fromkeys(each.partition("::")[0] for each in failing):
        found = copy.run(lambda test=test: run_tests([test], known.without), 900)
        if found is None:
            raise SystemExit(f"{test} does not run on a copy of the package")
        known.without += found["failed"]
    for file in modules:
        copy.put_back(file)
    (copy.root / "_called.py").unlink()
    copy.sign()
    keep()


# --- the campaign ------------------------------------------------------------------------------------------------------------------


def sample(room: str, number: int, seed: int) -> list[Mutant]:
    """So many mutants of a room, every one equally likely."""
    every = [each for file in sources(room) for each in mutants(file, (ROOT / file).read_text())]
    random.Random(f"{seed} {room}").shuffle(every)
    return every[:number]


def attempt(copy: Copy, mutant: Mutant, known: Map, most: float) -> tuple[str, str]:
    """How a mutant ended (`killed`, `survived`, `not run` when no test calls it), and the test that noticed."""
    tests = known.tests_of(mutant, most)
    if not tests:
        return "survived", "no test calls it"
    copy.write(mutant.file, mutant.source)
    try:
        if mutant.file.startswith("bounds"):
            copy.sign()
        limit = SLOWER * sum(known.seconds[test] for test in tests) + 60
        found = copy.run(lambda: run_tests(tests, known.without, "-x"), limit)
    finally:
        copy.put_back(mutant.file)
    if found is None:
        return "killed", "did not end, or ended the process"
    if found["status"] == pytest.ExitCode.OK:
        return "survived", f"{len(tests)} test files"
    if found["status"] == pytest.ExitCode.NO_TESTS_COLLECTED:
        return "survived", "no test calls it"
    return "killed", (found["failed"] or ["pytest could not start"])[0]


def wilson(killed: int, decided: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share, at 95 per cent."""
    if decided == 0:
        return 0.0, 1.0
    share, spread = killed / decided, z * z / decided
    half = z * math.sqrt(share * (1 - share) / decided + spread / (4 * decided))
    return max(0.0, (share + spread / 2 - half) / (1 + spread)), min(1.0, (share + spread / 2 + half) / (1 + spread))


def explanations() -> dict[str, str]:
    """Why a mutant that survives changes nothing that a test could see, by its name."""
    return {item["mutant"]: item["why"] for item in tomllib.loads(EXPLAINED.read_text()).get("explained", ())}


def table(ended: dict[str, list[dict[str, str]]]) -> str:
    """One row for each room, in Markdown."""
    why = explanations()
    lines = [
        "| room | mutants | killed | explained | survived | killed, with 95% interval |",
        "|---|---|---|---|---|---|",
    ]
    for room, each in ended.items():
        killed = sum(item["outcome"] == "killed" for item in each)
        told = sum(item["outcome"] != "killed" and item["mutant"] in why for item in each)
        low, high = wilson(killed, len(each))
        share = f"{killed / len(each):.0%} ({low:.0%} to {high:.0%})" if each else "none was run"
        lines.append(f"| `{room}` | {len(each)} | {killed} | {told} | {len(each) - killed - told} | {share} |")
    return "\n".join(lines)


def campaign(
    copy: Copy,
    rooms: Iterable[str],
    each: int,
    seed: int,
    most: float,
    *,
    tests: Iterable[str] = (),
    state: Path | None = None,
) -> dict[str, list[dict[str, str]]]:
    """Every sampled mutant of every room, one after the other; how each ended is printed at once."""
    kept = json.loads(state.read_text()) if state and state.exists() else {"map": {}, "ended": {}}
    known, ended = Map(**kept["map"]), kept["ended"]

    def keep() -> None:
        if state:
            state.write_text(json.dumps({"map": vars(known), "ended": ended}))

    make_map(copy, tests or test_files(rooms), rooms if tests else ROOMS, known, keep)
    for room in rooms:
        done = {item["mutant"]: item for item in ended.get(room, [])}
        ended[room] = []
        for mutant in sample(room, each, seed):
            if done.get(mutant.name, {}).get("outcome") == "killed":
                ended[room].append(done[mutant.name])
                continue
            begin = time.monotonic()
            outcome, by = attempt(copy, mutant, known, most)
            ended[room].append({"mutant": mutant.name, "outcome": outcome, "by": by})
            keep()
            print(
                f"{outcome} in {time.monotonic() - begin:.0f} s: {mutant.name} (line {mutant.line}) [{by}]", flush=True
            )
    return {room: ended[room] for room in rooms}


def main() -> int:
    """Run the campaign and print its table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=20, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", action="append", choices=list(ROOMS))
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="tests of one mutant, as long as they take undisturbed"
    )
    parser.add_argument(
        "--tests", nargs="+", default=(), metavar="FILE", help="these test files instead of those of the rooms"
    )
    parser.add_argument("--state", type=Path, help="file that remembers what was done")
    asked = parser.parse_args()
    for heavy in (
        ()
        if asked.tests
        else ("sympy", "scipy.optimize", "numpy", "torch", "hypothesis", "pytest", "flint", "matplotlib")
    ):
        __import__(heavy)  # once, not for every mutant
    with tempfile.TemporaryDirectory() as place:
        ended = campaign(
            Copy(Path(place)),
            asked.room or list(ROOMS),
            asked.each,
            asked.seed,
            60 * asked.minutes,
            tests=asked.tests,
            state=asked.state,
        )
    why = explanations()
    survivors = [i for each in ended.values() for i in each if i["outcome"] != "killed"]
    for item in survivors:
        print(f"- `{item['mutant']}`: {why.get(item['mutant'], 'survived; ' + item['by'])}")
    day = datetime.now(UTC).date().isoformat()
    print(f"\n{day}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n\n{table(ended)}")
    return int(any(item["mutant"] not in why for item in survivors))


if __name__ == "__main__":
    raise SystemExit(main())
