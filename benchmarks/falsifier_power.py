"""How much falsehood `fedco falsify` finds: one falsehood at a time is planted in statements that are true, and searched.

Planted are: each term dropped, divided by 4 and by 100; each condition relaxed by 4; one power of the number of clients, of
the horizon or of the period more in the denominator of a term; a standard deviation for a variance; p - 1 for p. A planted change
may happen to be true (a constant that is loose by more than the change): no search can find those, and the rate is a lower bound.

    python benchmarks/falsifier_power.py [--seconds 60] [--only baselines. ...] [--most 150] [--results FILE] [--table]

Seconds are of processor time, so that a busy machine finds as much as an idle one. Results are kept one line for each search, and a
run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from fedco.bounds.audit.status import status
from fedco.bounds.language.change import Change
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement, Theorem
from fedco.bounds.registry import all_theorems
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.search import search

CLASSES = {
    "term dropped": "dropped",
    "coefficient / 4": "divided 4",
    "coefficient / 100": "divided 100",
    "condition relaxed by 4": "relaxed",
    "1/N more": "clients",
    "1/T more": "horizon",
    "1/p more": "period",
    "sigma for sigma^2": "noise",
    "p - 1 for p": "lowered",
}
_LENGTHS, _PERIOD = ("iterations", "rounds"), "communication_period"


def true_statements() -> Iterator[tuple[Theorem, str]]:
    """Every statement that nothing refutes and that a family can be run on: the corrected one where there is one."""
    for theorem in all_theorems().values():
        label = theorem.default if "corrected" in theorem.labels else "composed"
        label = label if label in theorem.labels else "printed"
        try:
            target_of(theorem, label)
        except InputError:
            continue
        is_true = label == "corrected" or status(theorem, label).outcome != "refuted"
        if theorem.statement(label).terms and is_true:
            yield theorem, label


def planted(statement: Statement) -> Iterator[tuple[str, Change]]:
    """(class, change) for every change of the statement."""
    several = len(statement.terms) > 1
    for term in statement.terms:
        if several:
            yield "term dropped", Change(term.name, "dropped")
        for factor in (4, 100):
            yield f"coefficient / {factor}", Change(term.name, "divided", Fraction(factor))
        for name, binding in statement.symbols.items():
            if binding.symbol not in statement.symbols_of(term.expr):
                continue
            quantity, less = binding.quantity.name, Change(term.name, "power", Fraction(-1), name)
            if quantity == "clients":
                yield "1/N more", less
            elif quantity in _LENGTHS:
                yield "1/T more", less
            elif quantity == _PERIOD:
                yield "1/p more", less
                yield "p - 1 for p", Change(term.name, "lowered", symbol=name)
            elif quantity.endswith("noise"):
                yield "sigma for sigma^2", less
    for condition in statement.conditions:
        if condition.relation != "==":
            yield "condition relaxed by 4", Change(condition.name, "relaxed", Fraction(4))


def mutants(only: list[str], most: int) -> list[tuple[str, Theorem, str, Change]]:
    """The planted falsehoods in an order that a stopped run has seen a fair part of: the classes by turns, shuffled."""
    by_class: dict[str, list[tuple[str, Theorem, str, Change]]] = defaultdict(list)
    for theorem, label in true_statements():
        if not only or any(theorem.id.startswith(start) for start in only):
            for kind, change in planted(theorem.statement(label)):
                by_class[kind].append((kind, theorem, label, change))
    for listed in by_class.values():
        random.Random(0).shuffle(listed)
    turns = [[rows[i] for rows in by_class.values() if i < len(rows)] for i in range(max(map(len, by_class.values())))]
    return [mutant for turn in turns for mutant in turn][:most]


def searched(kind: str, theorem: Theorem, label: str, change: Change, seconds: float, seed: int) -> dict[str, Any]:
    """One search, as a line of the results."""
    began = time.process_time()
    target = target_of(theorem, label, change)
    found = search(target, Formula(target.theorem, label), seconds=seconds, seed=seed, clock=time.process_time)
    violation = found.violation
    return {
        "class": kind,
        "theorem": theorem.id,
        "statement": label,
        "change": str(change),
        "detected": violation is not None,
        "ratio": violation.ratio if violation else min(found.ratio, 1.0),
        "evaluations": found.evaluations,
        "seconds": round(time.process_time() - began, 2),
        "allowed": seconds,
        "load": round(os.getloadavg()[0], 1),
    }


def kept(path: Path) -> list[dict[str, Any]]:
    """The lines of a results file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Detection rate by class, in Markdown."""
    lines = ["| planted | searched | detected | rate |", "|---|---|---|---|"]
    for kind in [*CLASSES, "all"]:
        mine = [row for row in rows if kind in ("all", row["class"])]
        hits = sum(row["detected"] for row in mine)
        if mine:
            lines.append(f"| {kind} | {len(mine)} | {hits} | {hits / len(mine):.0%} |")
    return "\n".join(lines)


def undetected(rows: list[dict[str, Any]]) -> str:
    """What was not found, with the largest ratio."""
    missed = sorted((row for row in rows if not row["detected"]), key=lambda row: (row["theorem"], row["change"]))
    return "\n".join(f"{r['theorem']} ({r['statement']}): {r['change']}: ratio {r['ratio']:.3g}" for r in missed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of each search")
    parser.add_argument("--only", nargs="*", default=[], help="starts of theorem ids")
    parser.add_argument("--most", type=int, default=10**6, help="so many planted falsehoods")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("falsifier_power.jsonl"))
    parser.add_argument("--table", action="store_true", help="the table of what there is, without searching")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = kept(options.results)
    done = {(row["theorem"], row["statement"], row["change"]) for row in rows}
    for kind, theorem, label, change in [] if options.table else mutants(options.only, options.most):
        if (theorem.id, label, str(change)) not in done:
            row = searched(kind, theorem, label, change, options.seconds, options.seed)
            rows.append(row)
            with options.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(
                f"{len(rows):4} {'found' if row['detected'] else '-----'} {theorem.id} {change} {row['ratio']:.3g}",
                flush=True,
            )
    print(table(rows))
    print(undetected(rows))


if __name__ == "__main__":
    main()
