"""What the theory commands answer, recorded: `python tests/recorded/record.py` writes the answers beside this file.

A recorded file maps a key to a question and the JSON that the command prints for it. A question keeps every value that
it needs, so the comparison draws nothing. Questions that are there stay; statements without one get new ones. An answer
that is to change is recorded anew in the commit that changes it, whose message says why; `git diff` shows what changed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fedco import theorem
from fedco.bounds.audit.checks import audit

# All that the comparison imports of fedco: the functions behind the commands, and the tuner's gap.
from fedco.bounds.cost import claims
from fedco.bounds.language.reading import InputError
from fedco.bounds.optimum.search import GAP
from fedco.validation.runs.bundle import replay
from fedco.validation.runs.refutations import REGISTRY, named_bundle

FOLDER = Path(__file__).parent
__all__ = ["COMMANDS", "GAP", "answer", "kept", "recorded"]

COMMANDS = ("bound", "admissible", "tune", "complexity", "rates", "audit", "replay")
FINDING = ("id", "theorem", "where", "kind", "severity", "printed", "expected", "consequence", "bundles")

Question = Mapping[str, Any]


def _bound(asked: Question) -> dict[str, Any]:
    return theorem(asked["id"]).bound(asked["statement"], strict=False, **asked["set"]).to_dict()


def _admissible(asked: Question) -> dict[str, Any]:
    return theorem(asked["id"]).admissible((asked["solve"],), asked["statement"], **asked["set"]).to_dict()


def _tune(asked: Question) -> dict[str, Any]:
    wanted = {name: asked[name] for name in ("budget", "eps") if name in asked}
    return theorem(asked["id"]).tune(asked["statement"], **wanted, **asked["set"]).to_dict()


def _complexity(asked: Question) -> dict[str, Any]:
    return theorem(asked["id"]).complexity(asked["statement"], eps=asked["eps"], **asked["set"]).to_dict()


def _rates(asked: Question) -> dict[str, Any]:
    item = theorem(asked["id"])
    checked = [claims.check(claim).to_dict() for claim in claims.about(item.id)]
    return {**item.rates(asked["statement"]).to_dict(), "claims": checked}


def _audit(asked: Question) -> dict[str, Any]:
    rows = [finding.to_dict() for finding in audit(asked["paper"])]
    return {"findings": {row["id"]: {name: row[name] for name in FINDING} for row in rows}}


def _replay(asked: Question) -> dict[str, Any]:
    done = replay(named_bundle(asked["file"]), REGISTRY)
    return {
        "confirmed": done.confirmed,
        "largest_difference": done.largest_difference,
        "verdict": done.verdict.to_dict(),
    }


VERBS: dict[str, Callable[[Question], dict[str, Any]]] = {
    "bound": _bound,
    "admissible": _admissible,
    "tune": _tune,
    "complexity": _complexity,
    "rates": _rates,
    "audit": _audit,
    "replay": _replay,
}


def answer(command: str, asked: Question) -> dict[str, Any]:
    """The JSON of a command as a file gives it back; a refusal is its message."""
    try:
        made = VERBS[command](asked)
    except InputError as error:
        made = {"refused": str(error)}
    return json.loads(json.dumps(made, default=str))


def kept(before: Any, now: Any, *, is_answer: bool = True) -> Any:
    """Of today's answer the fields that were recorded, in it and in a bound inside it: later fields are tested where they came."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return now
    names = [name for name in now if name in before or not is_answer]
    return {name: kept(before.get(name), now[name], is_answer=name == "bound") for name in names}


def recorded(command: str) -> dict[str, dict[str, Any]]:
    """Key -> {"question", "answer"} of one command; empty before the first recording."""
    path = FOLDER / f"{command}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _record(command: str, new: Iterator[tuple[str, dict[str, Any]]]) -> None:
    start = time.perf_counter()
    before = recorded(command)
    asked = {**dict(new), **{key: entry["question"] for key, entry in before.items()}}
    rows = {}
    for key, question in asked.items():
        old, now = before.get(key, {}).get("answer", {}), answer(command, question)
        same_kind = old and ("refused" in old) == ("refused" in now)
        rows[key] = {"question": question, "answer": kept(old, now) if same_kind else now}
    lines = (
        f"{json.dumps(key)}:{json.dumps(rows[key], sort_keys=True, separators=(',', ':'))}" for key in sorted(rows)
    )
    (FOLDER / f"{command}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{command}: {len(rows)} answers, {time.perf_counter() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    import questions

    for name in COMMANDS:
        _record(name, getattr(questions, name)())
