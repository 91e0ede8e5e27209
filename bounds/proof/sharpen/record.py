"""The table of sharpened bounds: python -m fedco.bounds.proof.sharpen.record [ID[:LABEL] ...] [--out docs/sharpened.json]

For each headline theorem, and each other statement that the table has, at five sets of constants: what is stated, what the premises of
the proof give, and in which time. `ID:LABEL` names a statement that is not the default one. The rows are kept as JSON, those of other
statements as they were, and shown beside it as Markdown. The constants are drawn by the name of the theorem, so that everybody gets the
same, with a bound that is not vacuous if that is found; the step size is the power of 2 at which the default statement is least.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import sympy as sp

from ....storage import DamagedError, read_json, sealed, write_json, write_text
from ...evaluation.enclosure import fraction_of
from ...evaluation.evaluate import bound as evaluated
from ...language.reading import InputError
from ...language.result import rounded_up
from ...language.theorem import Statement, Theorem
from ...registry import all_papers, get_theorem
from ..derivations import unsolved
from ..kernel import Alternatives, Derivation
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
HYPERPARAMETERS = (Fraction(1, 2), Fraction(1, 8), Fraction(1, 32))
DRAWS = 40
"""Most draws of constants until the stated bound says more than what holds without running."""
CURVATURES = ("strong_convexity", "polyak_lojasiewicz")
"""Constants that are at most the Lipschitz constant of the gradient, on every problem."""
SMALL = (Fraction(1, 16), Fraction(1, 8), Fraction(1, 4))


def values_of(statement: Statement, number: int) -> dict[str, Fraction]:
    """One of the sets of constants, with which the conditions hold.

    Raises:
        InputError: none was found.
    """
    random = Random(f"{statement.theorem.id} {number}")
    first = None
    for _ in range(DRAWS):
        found = _with_best_step(statement, _drawn(statement, random))
        if found is not None:
            if not evaluated(statement, found).worth.vacuous:
                return found
            first = first or found
    if first is None:
        raise InputError(f"{statement.name}: no step size was found for set {number}")
    return first


def _with_best_step(statement: Statement, found: dict[str, Fraction]) -> dict[str, Fraction] | None:
    """The step halved until the conditions hold, and then as long as the bound falls."""
    best = None
    for _ in range(60):
        here = _at(statement, found)
        if best is not None and (here is None or here >= best[0]):
            return best[1]
        if here is not None:
            best = here, found
        found = _smaller(statement, found)
    return None


def _at(statement: Statement, found: dict[str, Fraction]) -> float | None:
    """The bound where the conditions hold; symbols that a condition says to be equal to something are put in."""
    _put_in_equations(statement, found)
    here = evaluated(statement, found, strict=False)
    return here.total if here.admissible else None


def _drawn(statement: Statement, random: Random) -> dict[str, Fraction]:
    found = {}
    for name, binding in statement.symbols.items():
        quantity = binding.quantity
        if quantity.name in CURVATURES:
            found[name] = random.choice(SMALL)
        elif quantity.numbers.whole:
            found[name] = Fraction(random.choice(WHOLE.get(quantity.name, (1, 2, 4, 8))))
        else:
            own = (Fraction(1),) if quantity.name == STEP else HYPERPARAMETERS
            found[name] = random.choice(own if quantity.role == "hyperparameter" else CONSTANTS)
    for name in (n for n, b in statement.symbols.items() if b.quantity.name == "iterations"):
        periods = [found[n] for n, b in statement.symbols.items() if b.quantity.name == "communication_period"]
        found[name] *= periods[0] if periods else 1  # whole rounds
    return found


def _smaller(statement: Statement, found: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """With steps half as long."""
    return {n: v / 2 if statement.symbols[n].quantity.name == STEP else v for n, v in found.items()}


def _put_in_equations(statement: Statement, found: dict[str, Fraction]) -> None:
    """A symbol that a condition says to be equal to something is that."""
    names = {binding.symbol: name for name, binding in statement.symbols.items()}
    for condition in statement.conditions:
        if condition.relation == "==" and condition.left in names:
            point = {binding.symbol: found[name] for name, binding in statement.symbols.items()}
            value = statement.at(condition.right, point)
            found[names[condition.left]] = fraction_of(value)


def headlines() -> list[Theorem]:
    """The headline theorems whose default statement has a derivation that may be sharpened."""
    names = [
        f"{paper.key}.{name}"
        for paper in all_papers()
        for name in paper.headlines
        if f"{paper.key}.{name}" in paper.derivations
    ]
    return [get_theorem(name) for name in names if isinstance(unsolved(get_theorem(name)), Derivation | Alternatives)]


def improved() -> list[Theorem]:
    """The theorems that have a sharpened statement."""
    return [get_theorem(name) for paper in all_papers() for name in paper.sharpened]


def row(statement: Statement, number: int) -> dict[str, Any]:
    """What comes of one set of constants, those of the theorem's default statement."""
    theorem = statement.theorem
    try:
        drawn = values_of(theorem.statement(), number)
        values = {name: value for name, value in drawn.items() if name in statement.symbols}
        vacuous = evaluated(statement, values).worth.vacuous
        return {**sharpen(statement, values).to_dict(), "vacuous": vacuous}
    except InputError as error:
        nothing: dict[str, Any] = {"at": {}, "stated": None, "sharpened": None, "reason": str(error), "vacuous": False}
        return {"theorem": theorem.id, "statement": statement.label, **nothing}


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows that a file holds; none where there is no such file."""
    try:
        return list(read_json(path, FORMAT)["rows"])
    except (OSError, DamagedError):
        return []


def parts_given(statement: Statement, rows: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Term -> the part of it, at each set of constants of its theorem's rows, with which the premises of the proof give the statement.

    At most 0 where they give it without the term. Where the statement has no rows of its own, those of another label count. A row of
    what was stated differently is left out.
    """
    found: dict[str, list[float]] = {term.name: [] for term in statement.terms}
    made = [each for each in rows if each["theorem"] == statement.theorem.id and each["sharpened"] is not None]
    for each in [each for each in made if each["statement"] == statement.label] or made:
        values = {name: Fraction(value) for name, value in each["at"].items()}
        then = evaluated(statement.theorem.statement(each["statement"]), values, strict=False)
        here = evaluated(statement, {n: v for n, v in values.items() if n in statement.symbols}, strict=False)
        if then.total != each["stated"] or here.total is None or not here.admissible:
            continue
        for name, parts in found.items():
            parts.append(1 - (here.total - each["sharpened"]) / here.terms[name])
    return found


def as_markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """The page."""
    rows = list(rows)
    factors = [row["factor"] for row in rows if row.get("factor")]
    lines = [
        "# Sharpened bounds",
        "",
        "Made by `python -m fedco.bounds.proof.sharpen.record`; a test makes a sample of the rows again.",
        "",
        "## At numbers",
        "The least bound that was found from the premises of a proof, at five sets of constants for each headline theorem: `fedco",
        "sharpen` chose the multipliers of the derivation anew, and the kernel checked what is printed here, at these numbers. The step",
        "size is the power of 2 at which the stated bound is least; vacuous is a stated bound that says no more than what holds without",
        "running.",
        "",
        "A row that is not sharpened says why. Where the solver failed or stopped above the stated bound, or a matrix is not positive",
        "semidefinite, floating point was not enough: it is no statement about the premises. Where the least of the programs is the",
        "stated number, the premises give no more, as far as the solver is accurate; a certificate of that would be a solution of the",
        "dual program in fractions, and none is made. What stays as it is in every row: the constants and weights inside the rules for",
        "rounds, contractions and drift, and the free points at which smoothness is used.",
        "",
        f"{len(factors)} of {len(rows)} rows are sharpened; their median factor is {median(factors):.3g}."
        if factors
        else "",
        "",
        "| theorem | at | stated | sharpened | factor | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        at = ", ".join(f"{name} = {value}" for name, value in row["at"].items())
        stated = "" if row["stated"] is None else rounded_up(row["stated"]) + (" (vacuous)" if row["vacuous"] else "")
        name = _shown(row)
        if row["sharpened"] is None:
            lines.append(
                f"| {name} | {at} | {stated} | not sharpened: {row['reason']} | | {row.get('seconds') or ''} |"
            )
        else:
            cells = (stated, rounded_up(row["sharpened"]), f"{row['factor']:.3g}", row["seconds"] or "")
            lines.append(f"| {name} | {at} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *_missing(rows), *_in_symbols(SETS)]) + "\n"


def _shown(row: Mapping[str, Any]) -> str:
    """The theorem of a row, with the label of a statement that is not its default one."""
    is_default = row["statement"] == get_theorem(row["theorem"]).default
    return str(row["theorem"]) if is_default else f"{row['theorem']} ({row['statement']})"


def _missing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The headline theorems that have not all rows, and why."""
    counts = Counter(map(_shown, rows))
    seconds = {name: max(each.get("seconds") or 0 for each in rows if _shown(each) == name) for name in counts}
    lines = ["## Not made", "", "| theorem | sets | why |", "|---|---|---|"]
    for theorem in headlines():
        have = counts[theorem.id]
        if have < SETS:
            took = f": a set took {seconds[theorem.id]:.0f} s" if have else ""
            why = hindrance(theorem) or f"time{took}; the command with its name makes them"
            lines.append(f"| {theorem.id} | {have} of {SETS} | {why} |")
    return [*lines, ""] if len(lines) > 4 else []


def hindrance(theorem: Theorem) -> str:
    """Which constant of a theorem has no value that the kernel takes at numbers; empty where each has one."""
    for constant in theorem.statement().derived:
        calls = sp.sympify(constant.expr).atoms(sp.Function)
        if recursions := sorted({type(call).__name__ for call in calls if not isinstance(call, sp.Min | sp.Max)}):
            return f"its constant {constant.name} is a recursion ({', '.join(recursions)}), for which the kernel has no value at numbers"
    return ""


@cache
def _in_symbols(sets: int) -> list[str]:
    """What the sharpened statements say at the same so many sets of constants; nothing is solved for it. Made once in a process."""
    lines = [
        "## In symbols",
        "Statements `sharpened` beside the printed or corrected ones (`fedco show ID --statement sharpened`), each with its own derivation",
        "(`fedco prove ID --statement sharpened`), at the same sets of constants; without those of which no set could be made.",
        "",
        "| theorem | at | stated | sharpened | factor |",
        "|---|---|---|---|---|",
    ]
    for theorem in (theorem for theorem in improved() if not hindrance(theorem)):
        for number in range(sets):
            values = values_of(theorem.statement(), number)
            own = theorem.statement("sharpened")
            before = evaluated(theorem.statement(), values, strict=False).total
            after = evaluated(own, {n: v for n, v in values.items() if n in own.symbols}, strict=False)
            if before is None or after.total is None or not after.admissible:
                continue
            at = ", ".join(f"{name} = {value}" for name, value in values.items())
            cells = (rounded_up(before), rounded_up(after.total), f"{before / after.total:.3g}")
            lines.append(f"| {theorem.id} | {at} | {' | '.join(cells)} |")
    return lines


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["theorem"], row["statement"], row["at"]


def main(names: list[str]) -> int:
    out = OUT
    if "--out" in names:
        place = names.index("--out")
        out = Path(names[place + 1])
        names = names[:place] + names[place + 2 :]
    kept = [f"{each['theorem']}:{each['statement']}" for each in rows_in(out)]
    again = dict.fromkeys([*(f"{theorem.id}:{theorem.default}" for theorem in headlines()), *kept])
    for name in names or again:
        theorem, _, label = name.partition(":")
        statement = get_theorem(theorem).statement(label or get_theorem(theorem).default)
        for number in range(SETS):
            found = row(statement, number)
            print(statement.name, number, found["stated"], found["sharpened"], found["reason"], file=sys.stderr)
            others = [each for each in rows_in(out) if _key(each) != _key(found)]
            rows = sorted([*others, found], key=lambda each: (each["theorem"], each["statement"]))
            write_json(out, sealed({"format": FORMAT, "rows": rows}))
            write_text(out.with_suffix(".md"), as_markdown(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
