"""How the status of a statement is found: computed from bundles, derivations and formulas, and never typed.

`refuted`: a bundle breaks the statement whose instance satisfies every assumption that `fedco show` prints.
`reading` and `slip`: the same for bundles that need a reading, or that a letter or a sign repairs; neither is counted as refuted.
`proved`: both locks of `fedco prove` held when the paper, unchanged since, was last audited; nothing is checked here. `derived`: it is
a corrected statement, whose derivation is in docs/theory; or each of its terms is certified to be at least that of the corrected
statement, so that it holds wherever that one does; or the paper's `HOLDS` gives an argument and a check of it.
`composed`: put together from the paper's lemmas as printed, and none of these. `open`: none of these.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from ..evaluation.enclosure import EnclosureError
from ..language.reading import InputError
from ..language.theorem import Condition, Statement, Theorem
from ..registry import paper_of
from .checks import compare_expressions, never_negative, terms_of
from .refutation import RefutationError, right_side
from .refuted import gravest, refutations, refuted_by
from .status import OUTCOMES, Status, has_derivation, rests_on


def decide(theorem: Theorem, label: str, proved: str) -> Status:
    """What is known of a statement; `proved` is the day on which both locks of `fedco prove` held, empty where they did not.

    Raises:
        RecheckError: a declared argument does not pass its own check.
    """
    declared = refuted_by(theorem.statement(label))
    broken = gravest(declared or _also_broken(theorem, label))
    if not broken:
        return _unbroken(theorem, label, proved)
    first, names = broken[0], tuple(item.name for item in broken)
    rest = "" if first.grade == "refuted" else f"; otherwise {_unbroken(theorem, label, proved)}"
    loud = first.word.upper() if first.grade == "refuted" else first.word[0].upper() + first.word[1:]
    which = "an exact instance" if declared else "the instance that breaks the printed statement"
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    check = f"fedco replay docs/refutations/{names[0]}.json{more}"
    warning = f"{loud}: {which} breaks this statement: {check}{_instead(theorem, label)}"
    return Status(first.grade, f"{which} breaks it{rest}", (), names, first.word, warning)


def _unbroken(theorem: Theorem, label: str, proved: str) -> Status:
    """What is known of a statement but for its refutations."""
    statement, paper = theorem.statement(label), paper_of(theorem)
    if proved:
        return Status("proved", f"{OUTCOMES['proved'].meaning} ({proved})")
    lemmas = rests_on(statement)
    if has_derivation(statement) and not lemmas:
        return Status("derived", f"both locks have not been tried since it last changed: fedco prove {theorem.id}")
    if lemmas or label == "corrected":
        by = f"derived in docs/theory ({paper.key})" if paper else "derived by its author"
        given = f"the kernel checks its derivation given {', '.join(lemmas)}: " if lemmas else ""
        why = f"{given}{by}, not checked by the kernel"
        return Status("derived", why, warning=why)
    if check := paper and paper.holds.get((theorem.id, label)):
        check()
        return Status("derived", " ".join((check.__doc__ or "").split()))
    if "corrected" in theorem.labels and statement.terms and _is_larger(statement, theorem.statement("corrected")):
        needed = theorem.statement("corrected").conditions
        extra = tuple(str(c) for c in needed if not any(_gives(own, c) for own in statement.conditions))
        why = "term by term at least the corrected statement"
        return Status("derived", why, extra, warning=f"derived only where {'; '.join(extra)}" if extra else "")
    if label == "composed":
        warning = "composed from the paper's lemmas as printed: it inherits their faults and is no promise"
        return Status("composed", OUTCOMES["composed"].meaning, warning=warning + _instead(theorem, label))
    return Status("open", OUTCOMES["open"].meaning)


def _instead(theorem: Theorem, label: str) -> str:
    has_another = label != "corrected" and "corrected" in theorem.labels
    return "; --statement corrected holds" if has_another else ""


def _gives(own: Condition, wanted: Condition) -> bool:
    """Whether one condition is the other, or the equation between its sides where that is weak."""
    sides = (own.left, own.right) == (wanted.left, wanted.right)
    return own == wanted or (sides and own.relation == "==" and wanted.relation in ("<=", ">="))


def _also_broken(theorem: Theorem, label: str) -> tuple[str, ...]:
    """Refutations of a paper's printed statement whose instances break its composed one as well."""
    if label != "composed" or "printed" not in theorem.labels:
        return ()
    printed = theorem.statement("printed")
    if printed.theorem is not theorem:  # a copy of a paper's theorem with another statement, of which nothing is known
        return ()
    return tuple(name for name in refuted_by(printed) if _breaks(name, label))


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
