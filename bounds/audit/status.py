"""What is known of a statement: refuted by an exact instance, proved, derived, composed, or open.

Computed and never typed. `refuted`: a bundle breaks the statement whose instance satisfies every assumption that `fedco show` prints.
`reading` and `slip`: the same for bundles that need a reading, or that a letter or a sign repairs; neither is counted as refuted.
`proved`: both locks of `fedco prove` held when the paper, unchanged since, was last audited; nothing is checked here. `derived`: it is
a corrected statement, whose derivation is in docs/theory; or each of its terms is certified to be at least that of the corrected
statement, so that it holds wherever that one does; or the paper's `holds.py` gives an argument and a check of it.
`composed`: put together from the paper's lemmas as printed, and none of these. `open`: none of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import sympy as sp

from ..evaluation.enclosure import EnclosureError
from ..language.reading import InputError
from ..language.theorem import Condition, Statement, Theorem
from ..registry import paper_of
from .checks import compare_expressions, never_negative, terms_of
from .refutation import RefutationError, right_side
from .refuted import gravest, refutations, refuted_by
from .statement_warning import has_derivation, proved_on, rests_on


@dataclass(frozen=True)
class Status:
    """`outcome` is refuted, reading, slip, proved, derived, composed or open.

    Args:
        word: the outcome with the reading under which it is refuted, or with what was meant.
        given: conditions of the corrected statement that this one does not state; it is derived where they hold.
        bundles: names of the refutations that decide.
    """

    outcome: str
    why: str
    given: tuple[Condition, ...] = ()
    bundles: tuple[str, ...] = ()
    word: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", self.word or self.outcome)

    def __str__(self) -> str:
        where = f" where {'; '.join(map(str, self.given))}" if self.given else ""
        return f"{self.word}: {self.why}{where}"


def status(theorem: Theorem, label: str = "") -> Status:
    """What is known of one statement of a theorem; of the first one without a label.

    Raises:
        InputError: no such statement.
        RecheckError: a declared argument does not pass its own check.
    """
    label = label or theorem.first
    statement = theorem.statement(label)
    if broken := gravest(_bundles(theorem, label)):
        first, names = broken[0], tuple(item.name for item in broken)
        rest = "" if first.grade == "refuted" else f"; otherwise {_unbroken(theorem, label, statement)}"
        return Status(first.grade, f"an exact instance breaks it{rest}", bundles=names, word=first.word)
    return _unbroken(theorem, label, statement)


def _unbroken(theorem: Theorem, label: str, statement: Statement) -> Status:
    """What is known of a statement but for its refutations."""
    if day := proved_on(statement):
        return Status("proved", f"the kernel checks its derivation, and every step holds on exact instances ({day})")
    if lemmas := rests_on(statement):
        return Status("derived", f"its derivation is given {', '.join(lemmas)}, derived in docs/theory")
    if has_derivation(statement):
        return Status("derived", f"both locks have not been tried since it last changed: fedco prove {theorem.id}")
    if label == "corrected":
        return Status("derived", f"the derivation is in docs/theory, under {theorem.source.paper}")
    paper = paper_of(theorem)
    if check := paper and paper.holds.get((theorem.id, label)):
        check()
        return Status("derived", " ".join((check.__doc__ or "").split()))
    if "corrected" in theorem.labels and statement.terms and _is_larger(statement, theorem.statement("corrected")):
        needed = theorem.statement("corrected").conditions
        extra = tuple(c for c in needed if not any(_gives(own, c) for own in statement.conditions))
        return Status("derived", "term by term at least the corrected statement", given=extra)
    if label == "composed":
        return Status("composed", "it has the faults of the lemmas that it is composed from, and is no promise")
    return Status("open", "neither derived nor refuted")


def _gives(own: Condition, wanted: Condition) -> bool:
    """Whether one condition is the other, or the equation between its sides where that is weak."""
    sides = (own.left, own.right) == (wanted.left, wanted.right)
    return own == wanted or (sides and own.relation == "==" and wanted.relation in ("<=", ">="))


def _bundles(theorem: Theorem, label: str) -> tuple[str, ...]:
    """Declared refutations of the statement; for the composed one also those of the printed that break it as well."""
    declared = refuted_by(theorem.statement(label))
    if declared or label != "composed" or "printed" not in theorem.labels:
        return declared
    return tuple(name for name in refuted_by(theorem.statement("printed")) if _breaks(name, label))


@cache
def _breaks(name: str, label: str) -> bool:
    """Whether the instance of a bundle satisfies another statement's conditions and exceeds its right side."""
    item = refutations()[name]
    case = item.case()
    if case.right is not None:
        return False
    try:
        return item.sides(case)[0][0] > right_side(item.claim, label, case)[1]
    except (InputError, RefutationError, EnclosureError, ValueError):
        return False


def _is_larger(statement: Statement, corrected: Statement) -> bool:
    """Whether every term of the corrected statement is certified to be at most that of the other, schedules put in."""
    sides = terms_of(statement, corrected)
    return all(_at_least(*sides(term.name)) for term in corrected.terms)


@cache
def _at_least(larger: sp.Expr, smaller: sp.Expr) -> bool:
    """Certified: directly, or by squares where roots stand in the way."""
    if compare_expressions(larger, smaller)[0] in ("equal", "larger"):
        return True
    return larger.is_nonnegative is True and never_negative(sp.expand(larger**2) - sp.expand(smaller**2))


def table(theorems: Iterable[Theorem]) -> str:
    """Where each theorem and corollary stands, as a table; lemmas are steps of proofs and are left out."""
    rows = ["## Where each theorem stands", "", "| theorem | as printed | |", "|---|---|---|"]
    for item in theorems:
        if item.kind in ("theorem", "corollary"):
            found = status(item)
            why = (
                ", ".join(f"[{name}](refutations/{name}.json)" for name in found.bundles)
                or str(found).partition(": ")[2]
            )
            rows.append(f"| {item.id} | {found.word} | {why} |".replace("||", r"\|\|"))
    return "\n".join([*rows, ""])
