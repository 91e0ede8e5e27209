"""How much falsehood `fedco falsify` finds: falsehoods are planted in statements that are true, one at a time, and searched.

Planted are: each term dropped, divided by 4 and by 100; each condition relaxed by 4; one power of the number of clients, of
the horizon or of the period more in the denominator of a term; a standard deviation for a variance; p - 1 for p. All changes of
the terms of one statement share one search, since they share its instances; each relaxed condition has its own.

A planted change may happen to be true. Those for which that is known are told apart: the changed bound is certified to be at least
the stated one (a negative term that is dropped), the kernel accepts the statement's derivation for the changed statement as
well (a coefficient with slack), or a relaxed condition adds nothing, as the method takes no more or the statement's own choices meet
the condition as it was. `--tell-apart` asks this after a search, dropped terms first. Of the others that are not found nothing is
known; `--table` lists them by statement, with what the search saw of them.

    python benchmarks/falsifier_power.py [--seconds 60] [--crowded 60] [--relaxed 60] [--classes "term dropped" ...]
        [--only baselines. ...] [--results FILE]
    python benchmarks/falsifier_power.py --tell-apart [--no-kernel] | --table [--results FILE]

Seconds are of processor time, so that a busy machine finds as much as an idle one: `--seconds` for each statement, that is for all its
changes of terms together, `--crowded` where these are more than 20, `--relaxed` for each condition. Results are kept one line for each
change, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import sympy as sp
import torch
from fedco.bounds.audit.checks import never_negative
from fedco.bounds.audit.necessary import needed
from fedco.bounds.audit.status import status
from fedco.bounds.language.change import Change, with_statement
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.result import markdown_table
from fedco.bounds.language.theorem import Statement, Theorem
from fedco.bounds.proof.derivations import derivation, verdict
from fedco.bounds.proof.kernel import ProofError
from fedco.bounds.proof.sharpen.record import parts_given, rows_in
from fedco.bounds.registry import all_theorems
from fedco.validation.falsifier.declared import formula_of, target_of
from fedco.validation.falsifier.necessary_table import SHARPENED, given_up, reason
from fedco.validation.falsifier.search import Claim, search_together

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
_CROWD = 20
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


def plans(only: list[str]) -> Iterator[tuple[Theorem, str, list[tuple[str, Change]]]]:
    """What is searched together: (theorem, label, [(class, change)]), theorems before corollaries and lemmas."""
    chosen = [(t, label) for t, label in true_statements() if not only or any(t.id.startswith(o) for o in only)]
    chosen.sort(key=lambda item: [item[0].id.startswith(start) for start in only], reverse=True)
    for kinds in (("theorem",), ("corollary", "lemma")):
        now = [(t, label, list(planted(t.statement(label)))) for t, label in chosen if t.kind in kinds]
        for theorem, label, listed in now:
            # where a dropped term is not missed no part of it is: dropped ones first, then less and less of it missing
            terms = sorted(
                (i for i in listed if i[1].way != "relaxed"), key=lambda i: (i[1].way != "dropped", -i[1].factor)
            )
            yield theorem, label, terms
        for theorem, label, listed in now:
            yield from ((theorem, label, [item]) for item in listed if item[1].way == "relaxed")


def searched(
    theorem: Theorem, label: str, changes: list[tuple[str, Change]], seconds: float, seed: int
) -> list[dict[str, Any]]:
    """One search, as lines of the results."""
    began = time.process_time()
    claims = [Claim(target_of(theorem, label, change), change) for _, change in changes]
    if changes[0][1].way == "relaxed":
        claims = [Claim(claims[0].target)]
    base = claims[0].target if changes[0][1].way == "relaxed" else target_of(theorem, label)
    search_together(base, formula_of(base), claims, seconds=seconds, seed=seed, clock=time.process_time)
    spent = round(time.process_time() - began, 1)
    return [
        {
            "class": kind,
            "theorem": theorem.id,
            "statement": label,
            "change": str(change),
            "detected": not claim.is_open,
            "ratio": claim.found.violation.ratio if claim.found.violation else min(claim.found.ratio, 1.0),
            "where": "" if claim.found.violation else claim.found.where,
            "evaluations": claim.found.evaluations,
            "seconds": spent,
            "allowed": seconds,
            "together": len(claims),
            "load": round(os.getloadavg()[0], 1),
        }
        for (kind, change), claim in zip(changes, claims, strict=True)
    ]


def holds_anyway(theorem: Theorem, label: str, change: Change, *, by_kernel: bool = True) -> str:
    """Why the changed statement is true nevertheless; empty where nothing says so. The kernel takes seconds for each change."""
    statement = theorem.statement(label)
    other = change.of(statement)
    if change.way == "relaxed":
        condition = next(c for c in statement.conditions if c.name == change.part)
        if len(other.method_range) > len(statement.method_range):
            return "the method takes nothing beyond the condition"
        sides = [statement.expand(side) for side in (condition.left, condition.right)]
        if condition.relation == "<=" and never_negative(sp.expand(sides[1] - sides[0])):
            return "the statement's own choices meet the condition as it was"
    else:
        before = statement.expand(next(term.expr for term in statement.terms if term.name == change.part))
        after = next((other.expand(term.expr) for term in other.terms if term.name == change.part), sp.Integer(0))
        if never_negative(sp.expand(after - before)):
            return "the changed bound is at least the stated one"
    plan = derivation(theorem, label) if by_kernel else None
    if plan is None:
        return ""
    try:
        accepted = verdict(plan, with_statement(theorem, other), label).checked
    except (InputError, ProofError, ValueError, KeyError):
        return ""
    return "the kernel accepts the derivation of the changed statement" if accepted else ""


def told_apart(rows: list[dict[str, Any]], path: Path, *, by_kernel: bool) -> None:
    """Ask of every change that was not found whether it is known to be true, dropped terms first; kept one by one."""
    changes = {
        (t.id, label, str(c)): (t, label, c) for t, label in true_statements() for _, c in planted(t.statement(label))
    }
    for row in sorted(rows, key=lambda row: list(CLASSES).index(row["class"])):
        if not row["detected"] and "true" not in row:
            row["true"] = holds_anyway(*changes[row["theorem"], row["statement"], row["change"]], by_kernel=by_kernel)
            path.write_text("".join(json.dumps(line) + "\n" for line in rows))
            print(f"{row['theorem']}: {row['change']}: {row['true'] or 'nothing says that it is true'}", flush=True)


def kept(path: Path) -> list[dict[str, Any]]:
    """The lines of a results file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Detection rate by class, in Markdown: of what was planted, what is known to be true, and what was found of the rest.

    Of what is missed, the last but one column has what the premises of the proof give at every set of constants of
    docs/sharpened.md, where no instance can show it; the last one is of the terms that some instance shows to be missing when they
    are dropped.
    """
    head = (
        "planted",
        "searched",
        "true nevertheless",
        "detected",
        "rate of the others",
        "missed, and proved at numbers",
        "rate where the dropped term is detected",
    )
    lines: list[tuple[str, ...]] = []
    unseen = _unseen(rows)
    for kind in [*CLASSES, "all"]:
        mine = [row for row in rows if kind in ("all", row["class"])]
        others = [row for row in mine if not row.get("true")]
        shown = [row for row in others if (row["theorem"], _part(row)) not in unseen]
        hits = sum(row["detected"] for row in mine)
        given = sum(not row["detected"] and _is_given(row) for row in others)
        if mine:
            rates = [_rate(others), "" if kind in ("term dropped", "condition relaxed by 4", "all") else _rate(shown)]
            counts = map(str, (len(mine), len(mine) - len(others), hits))
            lines.append((kind, *counts, rates[0], str(given), rates[1]))
    return "\n".join(markdown_table(head, lines, align=False))


_LEFT = {"term dropped": 0.0, "coefficient / 4": 0.25, "coefficient / 100": 0.01}
"""The part of a term that a change leaves."""


def _is_given(row: dict[str, Any]) -> bool:
    """Whether the premises of the proof give the changed statement at every set of constants that was tried."""
    statement = all_theorems()[row["theorem"]].statement(row["statement"])
    given = parts_given(statement, tuple(rows_in(SHARPENED))).get(_part(row), [])
    return row["class"] in _LEFT and bool(given) and max(given) <= _LEFT[row["class"]]


def _rate(rows: list[dict[str, Any]]) -> str:
    return f"{sum(row['detected'] for row in rows) / len(rows):.0%}" if rows else ""


def _unseen(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """(theorem, term) of those that nothing shows to be missing."""
    return {(r["theorem"], _part(r)) for r in rows if r["class"] == "term dropped" and not r["detected"]}


_UNSEEN, _LESS, _NOT_MET, _HOLDS = (
    "no instance misses",
    "less of a term",
    "nothing met outside a condition",
    "a condition holds out",
)


def undetected(rows: list[dict[str, Any]]) -> str:
    """What was not found and is not known to be true, in Markdown: for each statement, by what the search saw of it, and why.

    The reasons are those of docs/necessary.md, where the statement is searched part by part.
    """
    missed = [row for row in rows if not row["detected"] and not row.get("true")]
    unseen = _unseen(rows)
    known, columns = all_theorems(), (_UNSEEN, _LESS, _NOT_MET, _HOLDS)
    lines: list[tuple[str, ...]] = []
    for theorem, label in dict.fromkeys((row["theorem"], row["statement"]) for row in missed):
        statement = known[theorem].statement(label)
        cells: dict[str, dict[str, list[str]]] = {column: {} for column in columns}
        for row in (row for row in missed if row["theorem"] == theorem):
            part, change = _part(row), row["change"].split(": ")[1]
            if row["class"] == "condition relaxed by 4":
                cells[_HOLDS if row["ratio"] else _NOT_MET][part] = [f"{row['ratio']:.2g}"] if row["ratio"] else []
            elif (theorem, part) not in unseen:
                cells[_LESS].setdefault(part, []).append(change.replace("divided by ", "/").replace("times ", ""))
            elif row["class"] == "term dropped":
                why = reason(statement, part)[1]
                cells[_UNSEEN][part] = [f"{row['ratio']:.2g}", *([why] if why else [])]
        for part, told in cells[_LESS].items():
            found = needed(statement).get(part)
            told += [f"{found.least:.2g} of it is known to be necessary"] if found and found.least else []
            told += [less] if (less := given_up(statement, part)) else []
        told = (
            "; ".join(f"`{part}`" + f" ({', '.join(of)})" * bool(of) for part, of in cells[c].items()) for c in columns
        )
        lines.append((theorem, *told))
    return "\n".join(markdown_table(("statement", *columns), lines, align=False))


def _part(row: dict[str, Any]) -> str:
    return str(row["change"].split(": ")[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="processor time for all changes of a statement's terms"
    )
    parser.add_argument("--crowded", type=float, help=f"the same where these are more than {_CROWD}; else --seconds")
    parser.add_argument("--relaxed", type=float, default=60.0, help="processor time for each relaxed condition")
    parser.add_argument("--only", nargs="*", default=[], help="starts of theorem ids, searched in this order")
    parser.add_argument("--classes", nargs="*", choices=[*CLASSES], default=[*CLASSES], help="what is planted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("falsifier_power.jsonl"))
    parser.add_argument("--table", action="store_true", help="the table of what there is, without searching")
    parser.add_argument(
        "--tell-apart", action="store_true", help="ask which of the missed changes are known to be true"
    )
    parser.add_argument("--no-kernel", action="store_true", help="ask the kernel nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = kept(options.results)
    done = {(row["theorem"], row["statement"], row["change"]) for row in rows}
    for theorem, label, changes in [] if options.table or options.tell_apart else plans(options.only):
        left = [item for item in changes if (theorem.id, label, str(item[1])) not in done]
        left = [item for item in left if item[0] in options.classes]
        if not left:
            continue
        many = options.seconds if options.crowded is None or len(changes) <= _CROWD else options.crowded
        seconds = options.relaxed if left[0][1].way == "relaxed" else many
        try:
            new = searched(theorem, label, left, seconds, options.seed)
        except InputError as error:
            print(f"cannot be searched: {error}", flush=True)
            continue
        rows += new
        with options.results.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in new)
        hits = sum(row["detected"] for row in new)
        print(f"{len(rows):4} {theorem.id} ({label}): {hits} of {len(new)} found, {new[0]['seconds']} s", flush=True)
    if options.tell_apart:
        told_apart(rows, options.results, by_kernel=not options.no_kernel)
    print(table(rows))
    print(undetected(rows))


if __name__ == "__main__":
    main()
