"""A mutation campaign: small changes of the source, and whether a test notices.

    python tests/mutation/mutation_campaign.py [--each 20] [--seed 0] [--room bounds/region] [--seconds 60] [--state FILE]

The package is copied to a scratch folder. First every test file runs once on a copy in which each block of statements notes
that it ran: which tests run which block, and the processor time of each test. Tests that fail on a copy with one more comment in
every module look at the source itself, not at what it does, and are left out. Then, one mutant at a time and room by room, the
tests that ran the changed block run, and after them the other tests of their files (they may have met a value that was kept):
first those named after the room's modules, the quickest first, until one fails or the processor time that `--seconds` allows for
one mutant is spent. Slow tests do not run. Each mutant has a process of its own, a copy of one that has imported the libraries
but nothing of fedco. At the end of a room every test that killed a mutant runs once on the unchanged source; where it fails,
its mutants are tried again without it.

A mutant is `killed` when a test fails or does not end, `survived` when all pass, and `explained` when it survived and
`explained.toml` says why no test can see it. The table counts an explained mutant as decided but not as killed. With
`--state` a campaign that was stopped goes on where it was; what survived is tried again, with the tests as they are now.
Exit status 1 when a mutant survived that nobody explained.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import platform
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import pytest
from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = ("tests/bounds", "tests/recorded", "tests/cli/test_bad_input.py", "tests/test_results.py")
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
VALIDATION = ("tests/validation", "tests/storage")
ROOMS = {
    "bounds/language": BOUNDS,
    "bounds/evaluation": (*BOUNDS, "tests/validation/test_moments.py"),
    "bounds/region": BOUNDS,
    "bounds/optimum": BOUNDS,
    "bounds/cost": BOUNDS,
    "bounds/proof": BOUNDS,
    "bounds/audit": BOUNDS,
    "bounds/papers": BOUNDS,
    "validation/statistics": STATISTICS,
    "storage.py": ("tests/storage", "tests/faults"),
    "synthetic": ("tests/synthetic",),
    "algorithms": ("tests/algorithms",),
    "validation/runs": VALIDATION,
    "validation/lemmas": VALIDATION,
    "validation/falsifier": VALIDATION,
    "validation/experiments": VALIDATION,
    "validation/report": VALIDATION,
    "validation/explorer": VALIDATION,
    "validation/papers": VALIDATION,
    "cli": ("tests/cli",),
}
"""Where the tests of each room are looked for."""
EXPLAINED = Path(__file__).parent / "explained.toml"
LEFT_OUT = ("tests/bounds/test_ledger.py", "tests/mutation")
"""The kept audits name the sources that they were made from: any change would count as killed."""
SLOWER = 3
"""A mutant whose tests take so many times the processor time that they took before, and 20 s, does not end."""
WAITING = 8
"""A process of so many times the processor time that it may take is stopped, by the clock."""
FIRST = 6.0
"""Seconds of tests that run before the others are so much as collected."""
MEMORY = 16 << 30
_SEEN = "fedco._called"
_SEEN_SOURCE = '''"""Which blocks ran."""
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
        """Do this in a process in which fedco is this copy; its JSON answer, or None where it takes more processor time."""
        answer = self.place / "answer.json"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._work(work, answer, seconds)
        end, running = time.monotonic() + WAITING * seconds, True
        try:
            while running and time.monotonic() < end:
                time.sleep(0.02)
                running = os.waitpid(child, os.WNOHANG)[0] == 0
        finally:  # also where the campaign itself is ended
            if running:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
        return json.loads(answer.read_text()) if answer.exists() else None

    def _work(self, work: Callable[[], Any], answer: Path, seconds: float) -> None:
        status = 1
        try:
            os.setpgid(0, 0)  # one group to end, in the session of the campaign
            os.chdir(self.root)
            sys.path.insert(0, str(self.place))
            os.environ["PYTHONPATH"] = str(self.place)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            limit = math.ceil(sum(os.times()[:2]) + seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
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


class Noted:
    """What pytest tells: the tests that failed, the processor time of each and the blocks that it ran; only the chosen tests run."""

    def __init__(self, chosen: Mapping[str, int] | None) -> None:
        self.chosen, self.failed = chosen, dict[str, None]()
        self.seconds, self.ran = dict[str, float](), dict[str, list[str]]()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Iterator[None]:
        yield
        if (chosen := self.chosen) is not None:
            items[:] = sorted((i for i in items if i.nodeid in chosen), key=lambda i: chosen[i.nodeid])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        if self.chosen is None:
            self._take("")
        begin = _processor()
        yield
        self.seconds[item.nodeid] = round(_processor() - begin, 3)
        if self.chosen is None:
            self._take(item.nodeid)

    def pytest_sessionfinish(self) -> None:
        if self.chosen is None:
            self._take("")

    def _take(self, test: str) -> None:
        """Give the blocks that ran since the last time, in this process and in those that it started, to a test."""
        seen = getattr(sys.modules.get(_SEEN), "SEEN", set())
        found = {*seen, *self.ran.get(test, ())}
        seen.clear()
        if "FEDCO_CALLED" in os.environ:
            notes = Path(os.environ["FEDCO_CALLED"])
            found |= {*notes.read_text().split("\n")} - {""}
            notes.write_text("")
        self.ran[test] = sorted(found)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed[report.nodeid] = None


def _processor() -> float:
    """Processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def run_tests(
    targets: Iterable[str], without: Iterable[str], *more: str, chosen: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Run tests in this process: the exit status of pytest, the tests that failed, what each took and the blocks that it ran.

    Args:
        targets: test files.
        without: tests that do not run.
        more: options of pytest.
        chosen: the tests that run, with their places in the order; every test of the files where it is not given.
    """
    import hypothesis

    hypothesis.settings.register_profile(
        "mutation",
        database=None,
        derandomize=True,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )
    hypothesis.settings.load_profile("mutation")
    noted = Noted(chosen)
    begin = _processor()
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
    status = pytest.main([*given, *(f"--deselect={each}" for each in without), *targets], plugins=[noted])
    return {
        "status": int(status),
        "failed": list(noted.failed),
        "seconds": noted.seconds,
        "ran": noted.ran,
        "whole": _processor() - begin,
    }


# --- which test runs what ----------------------------------------------------------------------------------------------------------


@dataclass
class Tested:
    """One test file: its checksum, the processor time around its tests and of each, and by block the tests that run it.

    The block's tests are places in `tests`; an empty list says that the block ran outside the tests (while they were
    collected, or in a fixture of the module).
    """

    checksum: str
    around: float
    tests: dict[str, float]
    ran: dict[str, list[int]]


@dataclass
class Map:
    """What is known of each test file, and the tests that look at the source."""

    files: dict[str, Tested] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)

    def tests_of(self, mutant: Mutant, files: Iterable[str], most: float) -> list[tuple[str, str, float]]:
        """Tests that can notice a mutant as file, name and seconds, in the order in which they run, as long as they fit into the time."""
        block = block_of(mutant)
        # what stands in no function ran while the tests were collected, or in processes that tests started
        inside = not block.endswith("::")
        words = {*re.split(r"[/._]", mutant.file)} - {"bounds", "py", "test", "validation", ""}
        found = []
        for file in files:
            if (tested := self.files[file]) and block in tested.ran:
                own, tests = {*tested.ran[block]}, list(tested.tests)
                named = len(words & {*re.split(r"[/._]", file)})
                for n, test in enumerate(tests):
                    if test not in self.without:
                        found.append((inside and n not in own, -named, tested.tests[test], file, test))
        chosen, total, opened = list[tuple[str, str, float]](), 0.0, set[str]()
        for *_, seconds, file, test in sorted(found):
            cost = seconds + (0.0 if file in opened else self.files[file].around)
            if total + cost <= most or not chosen:
                chosen.append((file, test, cost))
                total += cost
                opened.add(file)
        return chosen


def blocks(source: str) -> tuple[ast.Module, list[tuple[str, int, int, list[ast.stmt]]]]:
    """The blocks of statements in a module's functions, each with its name, its lines and its statements; outer ones first."""
    tree = ast.parse(source)
    found: list[tuple[str, int, int, list[ast.stmt]]] = []
    seen: dict[str, int] = {}

    def visit(node: ast.AST, around: str, inside: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            around = f"{around}.{node.name}" if around else node.name
            inside = not isinstance(node, ast.ClassDef)
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if inside and isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                number = seen[around] = seen.get(around, -1) + 1
                found.append((f"{around}#{number}", statements[0].lineno, statements[-1].end_lineno or 0, statements))
        for child in ast.iter_child_nodes(node):
            visit(child, around, inside)

    visit(tree, "", False)
    return tree, found


def block_of(mutant: Mutant) -> str:
    """The innermost block around a change; the module's own where it is in no function."""
    _, found = blocks((ROOT / mutant.file).read_text())
    around = [(last - first, name) for name, first, last, _ in found if first <= mutant.line <= last]
    return f"{mutant.file}::{min(around)[1] if around else ''}"


def noting(file: str, source: str) -> str:
    """The source of a module whose blocks note that they ran."""
    tree, found = blocks(source)
    for name, _, _, statements in found:
        words = isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant)
        statements.insert(int(words), ast.parse(f"_called_here.add({f'{file}::{name}'!r})").body[0])
    last = max(
        (n for n, s in enumerate(tree.body[:6]) if isinstance(s, ast.ImportFrom) and s.module == "__future__"),
        default=-1,
    )
    if last < 0 and ast.get_docstring(tree, clean=False) is not None:
        last = 0
    start = f"from {_SEEN} import SEEN as _called_here; _called_here.add({f'{file}::'!r})"
    tree.body[last + 1 : last + 1] = ast.parse(start).body
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


def _checksum(test: str) -> str:
    return hashlib.sha256((ROOT / test).read_bytes()).hexdigest()


def make_map(copy: Copy, files: Iterable[str], rooms: Iterable[str], known: Map, keep: Callable[[Any], None]) -> None:
    """Run each of these test files once where it is not known as it is now, and add what it says about the rooms."""
    missing = [test for test in files if test not in known.files or known.files[test].checksum != _checksum(test)]
    if not missing:
        return
    modules = [file for room in rooms for file in sources(room)]
    (copy.root / "_called.py").write_text(_SEEN_SOURCE)
    for file in modules:
        copy.write(file, noting(file, (ROOT / file).read_text()))
    copy.sign()
    notes = copy.place / "called.txt"
    failing: list[str] = []
    for number, test in enumerate(missing, 1):
        notes.write_text("")
        os.environ["FEDCO_CALLED"] = str(notes)
        found = copy.run(lambda test=test: run_tests([test], known.without), 600)
        if found is None:
            raise SystemExit(
                f"{test} does not run on a copy of the package: {(copy.place / 'log.txt').read_text()[-1000:]}"
            )
        seconds = found["seconds"]
        places = {name: n for n, name in enumerate(seconds)}
        ran: dict[str, list[int]] = {}
        for name, its in found["ran"].items():
            for block in its:
                ran.setdefault(block, []).extend([places[name]] if name else [])
        known.files[test] = Tested(_checksum(test), found["whole"] - sum(seconds.values()), seconds, ran)
        failing += found["failed"]
        print(f"map {number}/{len(missing)}: {test}, {found['whole']:.1f} s", flush=True)
        keep({"test": test, "tested": vars(known.files[test])})
    del os.environ["FEDCO_CALLED"]
    for file in modules:
        copy.write(file, (ROOT / file).read_text() + "# one more comment\n")
    copy.sign()
    for test in dict.fromkeys(each.partition("::")[0] for each in failing):
        chosen = {each: 0 for each in failing if each.partition("::")[0] == test}
        found = copy.run(lambda test=test, chosen=chosen: run_tests([test], known.without, chosen=chosen), 600)
        if found is None:
            raise SystemExit(f"{test} does not run on a copy of the package")
        known.without += found["failed"]
        keep({"without": found["failed"]})
    for file in modules:
        copy.put_back(file)
    (copy.root / "_called.py").unlink()
    copy.sign()


# --- the campaign ------------------------------------------------------------------------------------------------------------------


def sample(room: str, number: int, seed: int) -> list[Mutant]:
    """So many mutants of a room, every one equally likely."""
    every = [each for file in sources(room) for each in mutants(file, (ROOT / file).read_text())]
    random.Random(f"{seed} {room}").shuffle(every)
    return every[:number]


def attempt(copy: Copy, mutant: Mutant, known: Map, files: Iterable[str], most: float) -> tuple[str, str]:
    """How a mutant ended (`killed`, `survived`), and the test that noticed."""
    tests = known.tests_of(mutant, files, most)
    if not tests:
        return "survived", "no test runs it"
    total, first = 0.0, 0
    while first < len(tests) and total + tests[first][2] <= FIRST:
        total += tests[first][2]
        first += 1
    copy.write(mutant.file, mutant.source)
    try:
        if mutant.file.startswith("bounds"):
            copy.sign()
        for part in (tests[:first], tests[first:]):
            if not part:
                continue
            chosen = {name: n for n, (_, name, _) in enumerate(part)}
            limit = SLOWER * sum(seconds for *_, seconds in part) + 20
            found = copy.run(
                lambda part=part, chosen=chosen: run_tests(
                    dict.fromkeys(file for file, *_ in part), known.without, "-x", chosen=chosen
                ),
                limit,
            )
            if found is None:
                return "killed", "did not end, or ended the process"
            if found["status"] not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return "killed", (found["failed"] or ["pytest could not start"])[0]
    finally:
        copy.put_back(mutant.file)
    return "survived", f"{len(tests)} tests"


def wilson(killed: int, decided: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share, at 95 per cent."""
    if decided == 0:
        return 0.0, 1.0
    share, spread = killed / decided, z * z / decided
    half = z * math.sqrt(share * (1 - share) / decided + spread / (4 * decided))
    return max(0.0, (share + spread / 2 - half) / (1 + spread)), min(1.0, (share + spread / 2 + half) / (1 + spread))


def explanations() -> dict[str, str]:
    """Why a mutant that survives changes nothing that a test could see, by its name."""
    kept = tomllib.loads(EXPLAINED.read_text()).get("explained", ())
    return {name: item["why"] for item in kept for name in item["mutants"]}


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
    known, ended = Map(), dict[str, dict[str, dict[str, str]]]()

    def keep(item: Any) -> None:
        if state:
            with state.open("a") as file:
                file.write(json.dumps(item) + "\n")

    for item in map(json.loads, state.read_text().splitlines() if state and state.exists() else ()):
        if "test" in item:
            known.files[item["test"]] = Tested(**item["tested"])
        elif "without" in item:
            known.without += item["without"]
        else:
            ended.setdefault(item["room"], {})[item["mutant"]] = item
    why = explanations()
    for room in rooms:
        files = list(tests) or test_files([room])
        make_map(copy, files, [room] if tests else ROOMS, known, keep)
        done = ended.setdefault(room, {})
        sampled = sample(room, each, seed)
        while True:
            for mutant in sampled:
                before = done.get(mutant.name, {}).get("outcome")
                if before == "killed" or (before and mutant.name in why):
                    continue
                begin = _processor()
                outcome, by = attempt(copy, mutant, known, files, most)
                spent = _processor() - begin
                done[mutant.name] = {"room": room, "mutant": mutant.name, "outcome": outcome, "by": by}
                keep(done[mutant.name])
                print(f"{outcome} in {spent:.0f} s: {mutant.name} (line {mutant.line}) [{by}]", flush=True)
            killers = {done[m.name]["by"]: 0 for m in sampled if "::" in done[m.name]["by"]}
            targets = dict.fromkeys(name.partition("::")[0] for name in killers)
            found = copy.run(lambda t=targets, k=killers: run_tests(t, known.without, chosen=k), 600) if killers else {}
            if found is None:
                raise SystemExit("the tests that killed do not end on the unchanged source")
            if not found or not found["failed"]:
                break
            print(f"fails on the unchanged source, and is left out: {', '.join(found['failed'])}", flush=True)
            known.without += found["failed"]
            keep({"without": found["failed"]})
            for mutant in sampled:
                if done[mutant.name]["by"] in found["failed"]:
                    keep(done[mutant.name] | {"outcome": "undecided"})
                    del done[mutant.name]
        ended[room] = {m.name: done[m.name] for m in sampled}
    return {room: list(ended[room].values()) for room in rooms}


def main() -> int:
    """Run the campaign and print its table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=20, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", action="append", choices=list(ROOMS))
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="tests of one mutant, by the processor time that they take undisturbed",
    )
    parser.add_argument(
        "--tests", nargs="+", default=(), metavar="FILE", help="these test files instead of those of the rooms"
    )
    parser.add_argument("--state", type=Path, help="file that remembers what was done")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
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
            asked.seconds,
            tests=asked.tests,
            state=asked.state,
        )
    why = explanations()
    survivors = [i for each in ended.values() for i in each if i["outcome"] != "killed"]
    for item in survivors:
        print(f"- `{item['mutant']}`: {why.get(item['mutant'], 'survived; ' + item['by'])}")
    day = datetime.now(UTC).date().isoformat()
    print(
        f"\n{day}, seed {asked.seed}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n\n{table(ended)}"
    )
    return int(any(item["mutant"] not in why for item in survivors))


if __name__ == "__main__":
    raise SystemExit(main())
