"""`fedco verify`: some of the results of a folder measured again from nothing, and compared to the last bit.

A checksum tells of accidents, not of a hand that computes it again. So nothing kept is believed here: the instance is
built from what the result says of it, every seed is run, the verdict is drawn again. The head of a file has to name the theorem of
its results and its status. What is not looked at is said: negative controls, and results that were missing or taken out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from ...bounds.language.rendering import status_of
from ...bounds.registry import get_theorem, is_paper
from ...errors import InputError
from ...lossless import decode
from ...storage import DamagedError, read_json
from ...user_files import name_in_data, told
from ..statistics.alpha_budget import AlphaBudget
from .campaign import Experiment, chunks_of, conclude, run_task
from .limits import check_experiments
from .recipe import Instance
from .validate import RESULTS, versions

CASES = 3
"""Results that are measured again unless the user says how many."""
_LEFT_OUT = "not looked at: negative controls, and which results are missing"


@dataclass(frozen=True)
class Verification:
    """What was compared, and every place where a stored result is not what was measured again.

    Args:
        compared: the results that were measured again, as `FILE: THEOREM/STATEMENT/INSTANCE/T=...`.
        total: how many results there are.
        differences: places with both values; a file that is damaged or cannot be read as results is one.
        made_with: what ran then and now where it differs; last bits may differ then.
    """

    compared: tuple[str, ...]
    total: int
    differences: tuple[str, ...]
    made_with: tuple[str, ...]

    @property
    def verified(self) -> bool:
        return bool(self.compared) and not self.differences

    def to_dict(self) -> dict[str, Any]:
        return {"verified": self.verified, **asdict(self), "note": _LEFT_OUT}

    def __str__(self) -> str:
        head = f"{'verified' if self.verified else 'NOT verified'}: {len(self.compared)} of {self.total} measured again"
        return "\n".join(
            [head, *(f"  {line}" for line in (*self.compared, *self.differences, *self.made_with, _LEFT_OUT))]
        )


def verify(
    folder: Path, *, cases: int = CASES, seed: int = 0, say: Callable[[str], None] = lambda _: None
) -> Verification:
    """Measure a random sample of the results under a folder again.

    Args:
        folder: of `fedco validate` or `fedco report`; every results.json below it is looked at.
        cases: size of the sample; all results where there are fewer.
        seed: chooses the sample.
        say: is told each result before it is measured.

    Raises:
        InputError: no results.json below the folder.
    """
    files = sorted(folder.rglob("results.json"))
    if not files:
        raise InputError(f"{folder}: wanted a folder with the results.json of a validation, found none")
    stored, differences = _stored(files, folder)
    chosen = [stored[index] for index in sorted(Random(seed).sample(range(len(stored)), min(cases, len(stored))))]
    made_with: dict[str, None] = {}
    for name, row, data in chosen:
        say(name)
        differences += [f"{name}: {place}" for place in _compared(row, data)]
        made_with |= dict.fromkeys(_other_versions(data))
    return Verification(tuple(name for name, *_ in chosen), len(stored), tuple(differences), tuple(made_with))


Stored = tuple[str, dict[str, Any], dict[str, Any]]
"""The name of a result, its row, and the file that the row stands in."""


def _stored(files: Sequence[Path], folder: Path) -> tuple[list[Stored], list[str]]:
    """Every result of the files, and what is wrong with those that cannot be read as results."""
    found: list[Stored] = []
    wrong = []
    for file in files:
        name = str(file.relative_to(folder))
        try:
            data = read_json(file, RESULTS)
            found += [(f"{name}: {_experiment(row).name}", row, data) for row in data["results"]]
            wrong += [f"{name}: {line}" for line in _wrong_head(data)]
        except InputError as error:
            wrong.append(f"{name}: {error}")
        except (DamagedError, *_UNREADABLE) as error:
            wrong.append(f"{name}: not readable as results: {told(error)[:200]}")
    return found, wrong


def _wrong_head(data: Mapping[str, Any]) -> Iterator[str]:
    """Where the head of a file says other than its results do, or than the status of their statement is."""
    about = (str(data["theorem"]), str(data["statement"]))
    for other in sorted({(row["theorem"], row["statement"]) for row in data["results"]} - {about}):
        yield f"theorem, statement: {', '.join(about)} in the head, {', '.join(other)} in a result"
    if data["results"]:
        now = status_of(get_theorem(about[0]).statement(about[1]))
        yield from _places({name: data.get(name) for name in now}, now, ())


_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)
"""Errors that a file with a right checksum and wrong fields raises; InputError, LedgerError and LosslessError are ValueErrors."""


def _experiment(row: Mapping[str, Any]) -> Experiment:
    """The experiment that a row of results.json describes; a theorem that is code is not run, a problem only where it is trusted."""
    if not is_paper(row["theorem"].partition(".")[0]):
        raise InputError(
            f"{row['theorem']!r:.60} is a theorem of a file; only those of `fedco theorems` are measured again"
        )
    parameters, hyper = (decode(row["instance"][name]) for name in ("parameters", "hyperparameters"))
    instance = Instance(name_in_data(str(row["problem"])), hyper, row["why"], parameters, (row["T"],))
    return Experiment(get_theorem(row["theorem"]), row["statement"], instance, row["T"], row["seeds"], row["root_seed"])


def _compared(row: dict[str, Any], data: Mapping[str, Any]) -> Iterator[str]:
    experiment = _experiment(row)
    try:
        check_experiments([experiment], 1)
        alpha = AlphaBudget.from_dict(data["ledger"]).alpha(experiment.name)
        ledger = AlphaBudget(alpha)
        ledger.allot(experiment.name, alpha, experiment.seeds)
        parts = {task.key: run_task(task, None) for task in chunks_of(experiment)}
        (again,) = conclude([experiment], parts, ledger)
    except _UNREADABLE as error:
        yield f"cannot be measured again: {told(error)[:200]}"
        return
    yield from _places(row, json.loads(json.dumps(again.to_dict())), ())


def _places(stored: Any, again: Any, where: tuple[str, ...]) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(again, dict):
        for name in dict.fromkeys((*stored, *again)):
            yield from _places(stored.get(name), again.get(name), (*where, name))
    elif stored != again:
        yield f"{'/'.join(where)}: {str(stored)[:60]} stored, {str(again)[:60]} measured again"


def _other_versions(data: Mapping[str, Any]) -> Iterator[str]:
    stored = data.get("versions", {})
    for name, now in versions().items():
        if stored.get(name) != now:
            yield f"{name}: {stored.get(name)} then, {now} now; last bits may differ"
