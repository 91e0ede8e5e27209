"""The table of what is known to be necessary: python -m fedco.validation.falsifier.necessary_table [--out FILE]

It has every statement with a derivation. It is made from what `python -m fedco.validation.falsifier.record --each-term` kept;
nothing is searched for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from math import isinf
from pathlib import Path
from statistics import median

from ...bounds.audit.necessary import Needed, needed, searched_for
from ...bounds.audit.statement_warning import has_derivation
from ...bounds.language.markdown import table
from ...bounds.language.reading import InputError
from ...bounds.language.result import shown
from ...bounds.language.theorem import Statement
from ...bounds.registry import all_theorems
from ...storage import write_text
from .declared import target_of
from .record import searched
from .search_spaces import spaces_of

OUT = Path("docs/necessary.md")
FAR = 30
"""A stated coefficient that is so many times the largest one known to be necessary wants a reason."""
_HEAD = """# What of a statement is necessary

Made by `python -m fedco.validation.falsifier.necessary_table` from what
`python -m fedco.validation.falsifier.record --each-term ID` kept. For each statement with a derivation: the largest part of each
coefficient with which some exact instance breaks the statement, and how many times the stated coefficient is larger; and the factor
by which a condition can be relaxed so that the statement is false. Each is an instance in exact numbers, which
`fedco replay INSTANCE` checks. What is right for a coefficient lies between that part and 1. A part of which nothing is known may be
necessary all the same: no instance was found in the seconds of the table.
"""


def statements() -> Iterator[Statement]:
    """Every statement with terms that has a derivation, as it is meant by default or sharpened."""
    for theorem in all_theorems().values():
        for label in theorem.labels:
            statement = theorem.statement(label)
            if label in (theorem.default, "sharpened") and statement.terms and has_derivation(statement):
                yield statement


def unsearched(statement: Statement) -> str:
    """Why nothing is kept of a statement."""
    try:
        spaces_of(target_of(statement.theorem, statement.label))
    except InputError as error:
        return f"it cannot be searched: {error}"
    return "only as a whole, not part by part" if searched(statement.theorem, statement.label) else "no search is kept"


def terms_of(statement: Statement) -> list[Needed]:
    return [part for part in needed(statement).values() if part.kind == "term"]


def as_markdown(about: Sequence[Statement]) -> str:
    """The page."""
    kept = [statement for statement in about if needed(statement)]
    left = [statement for statement in about if not needed(statement)]
    terms = [(statement, part) for statement in kept for part in terms_of(statement)]
    far = [(statement, part) for statement, part in terms if part.ratio > FAR]
    lines = [_HEAD, *_summary(len(about), terms, far), "", "## Terms", ""]
    head = ("statement", "term", "largest known necessary part", "stated / necessary", "seconds", "instance")
    lines += table(head, [_term(*each) for each in terms], align=False)
    lines += ["", "## Conditions", ""]
    conditions = [(s, part) for s in kept for part in needed(s).values() if part.kind == "condition"]
    lines += table(
        ("statement", "condition", "false when relaxed by", "instance"), map(_condition, conditions), align=False
    )
    lines += ["", f"## Terms above {FAR}, and why", ""]
    lines += table(
        ("statement", "term", "why"), [(s.name, part.part, part.why or "not known") for s, part in far], align=False
    )
    if left:
        lines += [
            "",
            "## Not searched part by part",
            "",
            *table(("statement", "why"), [(s.name, unsearched(s)) for s in left], align=False),
        ]
    return "\n".join(lines) + "\n"


def _summary(
    count: int, terms: Sequence[tuple[Statement, Needed]], far: Sequence[tuple[Statement, Needed]]
) -> list[str]:
    if not terms:
        return ["Nothing is kept."]
    searched = len({statement.name for statement, _ in terms})
    dropped = sum(bool(part.bundle) for _, part in terms)
    unexplained = sum(not part.why for _, part in far)
    typical = _factor(median(part.ratio for _, part in terms))
    return [
        f"{searched} of {count} statements are searched part by part. Of their {len(terms)} terms {dropped} cannot be left out. The stated",
        f"coefficient is at the median {typical} times the largest one known to be necessary. For {len(far)} terms it is more than",
        f"{FAR} times that, for {unexplained} of these without a known reason.",
    ]


def _term(statement: Statement, part: Needed) -> tuple[str, ...]:
    least = shown(part.least) if part.least else "below 0.001" if part.bundle else "none"
    seconds = searched_for(statement).split(" s ")[0]
    return statement.name, part.part, least, _factor(part.ratio), seconds, part.bundle


def _condition(each: tuple[Statement, Needed]) -> tuple[str, ...]:
    statement, part = each
    return statement.name, part.part, f"{part.relaxed:g}" if part.relaxed else "not known", part.bundle


def _factor(ratio: float) -> str:
    return "not known" if isinf(ratio) else f"{ratio:.3g}"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    write_text(parser.parse_args().out, as_markdown(list(statements())))


if __name__ == "__main__":
    main()
