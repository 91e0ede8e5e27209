"""The table of sharpened bounds: python -m fedco.bounds.proof.sharpen.record [ID ...] [--out docs/sharpened.json]

For each headline theorem at five sets of constants: what is stated, what the premises of the proof give, and in which time. The rows are
kept as JSON, those of other theorems as they were, and shown beside it as Markdown. The constants are drawn by the name of the theorem,
so that everybody gets the same; the step size is halved until the conditions hold, then up to two times more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from ....storage import DamagedError, read_json, sealed, write_json, write_text
from ...evaluation.evaluate import bound as evaluated
from ...language.reading import InputError
from ...language.result import rounded_up
from ...language.theorem import Statement, Theorem
from ...registry import all_papers, get_theorem
from .sharpening import sharpen

FORMAT = "fedco-sharpened-table/1"
SETS = 5
OUT = Path("docs/sharpened.json")
CONSTANTS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3))
WHOLE: Mapping[str, tuple[int, ...]] = {
    "clients": (2, 4, 10, 32),
    "communication_period": (2, 4, 8),
    "iterations": (10**3, 10**4, 10**5),
}
"""Whole numbers by quantity; all others are 1 to 8."""
STEP = "step_size"


def values_of(statement: Statement, number: int) -> dict[str, Fraction]:
    """One of the sets of constants, with which the conditions hold.

    Raises:
        InputError: none was found.
    """
    random, found = Random(f"{statement.theorem.id} {number}"), {}
    for name, binding in statement.symbols.items():
        quantity = binding.quantity
        if quantity.numbers.whole:
            found[name] = Fraction(random.choice(WHOLE.get(quantity.name, (1, 2, 4, 8))))
        else:
            found[name] = Fraction(1, 2) if quantity.role == "hyperparameter" else random.choice(CONSTANTS)
    steps = {name for name, binding in statement.symbols.items() if binding.quantity.name == STEP}
    for name in (n for n, b in statement.symbols.items() if b.quantity.name == "iterations"):
        periods = [found[n] for n, b in statement.symbols.items() if b.quantity.name == "communication_period"]
        found[name] *= periods[0] if periods else 1  # whole rounds
    for _ in range(60):
        _put_in_equations(statement, found)
        if evaluated(statement, found, strict=False).admissible:
            break
        found |= {name: found[name] / 2 for name in steps}
    else:
        raise InputError(f"{statement.name}: no step size was found for set {number}")
    found |= {name: found[name] / 2 ** random.randrange(3) for name in steps}
    _put_in_equations(statement, found)
    return found


def _put_in_equations(statement: Statement, found: dict[str, Fraction]) -> None:
    """A symbol that a condition says to be equal to something is that."""
    names = {binding.symbol: name for name, binding in statement.symbols.items()}
    for condition in statement.conditions:
        if condition.relation == "==" and condition.left in names:
            point = {binding.symbol: found[name] for name, binding in statement.symbols.items()}
            value = statement.at(condition.right, point)
            found[names[condition.left]] = Fraction(int(value.p), int(value.q))


def headlines() -> list[Theorem]:
    """The headline theorems whose default statement has a derivation of its own."""
    found = []
    for paper in all_papers():
        found += [
            get_theorem(f"{paper.key}.{name}") for name in paper.headlines if f"{paper.key}.{name}" in paper.derivations
        ]
    return found


def row(theorem: Theorem, number: int) -> dict[str, Any]:
    """What comes of one set of constants."""
    statement = theorem.statement()
    try:
        return sharpen(statement, values_of(statement, number)).to_dict()
    except InputError as error:
        return {
            "theorem": theorem.id,
            "statement": statement.label,
            "at": {},
            "stated": None,
            "sharpened": None,
            "reason": str(error),
        }


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows that a file holds; none where there is no such file."""
    try:
        return list(read_json(path, FORMAT)["rows"])
    except (OSError, DamagedError):
        return []


def as_markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """The page."""
    rows = list(rows)
    factors = [row["factor"] for row in rows if row.get("factor")]
    lines = [
        "# Sharpened bounds",
        "",
        "What the premises of a proof give at best, at five sets of constants for each headline theorem: `fedco sharpen` chose the",
        "multipliers of the derivation anew, and the kernel checked what is printed here, at these numbers. Made by",
        "`python -m fedco.bounds.proof.sharpen.record`; a test makes a sample of the rows again.",
        "",
        f"{len(factors)} of {len(rows)} rows are sharpened; the median factor is {median(factors):.3g}."
        if factors
        else "",
        "",
        "| theorem | at | stated | sharpened | factor | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        at = ", ".join(f"{name} = {value}" for name, value in row["at"].items())
        stated = "" if row["stated"] is None else rounded_up(row["stated"])
        if row["sharpened"] is None:
            lines.append(
                f"| {row['theorem']} | {at} | {stated} | not sharpened: {row['reason']} | | {row.get('seconds', '')} |"
            )
        else:
            cells = (stated, rounded_up(row["sharpened"]), f"{row['factor']:.3g}", row["seconds"])
            lines.append(f"| {row['theorem']} | {at} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> int:
    out = OUT
    if "--out" in names:
        place = names.index("--out")
        out = Path(names[place + 1])
        names = names[:place] + names[place + 2 :]
    theorems = [get_theorem(name) for name in names] or headlines()
    for theorem in theorems:
        found = []
        for number in range(SETS):
            found.append(row(theorem, number))
            print(theorem.id, number, found[-1]["stated"], found[-1]["sharpened"], found[-1]["reason"], file=sys.stderr)
        others = [each for each in rows_in(out) if each["theorem"] != theorem.id]
        rows = sorted([*others, *found], key=lambda each: each["theorem"])
        write_json(out, sealed({"format": FORMAT, "rows": rows}))
        write_text(out.with_suffix(".md"), as_markdown(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
