"""The table of what is known to be necessary: python -m fedco.validation.falsifier.necessary_table [--out FILE]

It has every statement with a derivation. It is made from what `python -m fedco.validation.falsifier.record --each-term` kept;
nothing is searched for it. Of a term of which little is known it says why, by what it decides itself: which other term holds it,
that the sharpened statement has less of it, and what part of it the premises of the proof give up (docs/sharpened.json); or else what
its paper says.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import isinf
from pathlib import Path
from statistics import median
from typing import Any

import sympy as sp

from ...bounds.audit.necessary import Needed, needed, searched_for
from ...bounds.language.change import weakenings
from ...bounds.language.reading import InputError
from ...bounds.language.result import markdown_table, shown
from ...bounds.language.theorem import Statement
from ...bounds.proof.dominated import dominated
from ...bounds.proof.sharpen.record import parts_given, rows_in
from ...bounds.registry import paper_of
from ...storage import write_text
from .declared import target_of
from .formula import Formula
from .instance_space import UncertifiedError
from .record import searched, statements
from .search_spaces import search_spaces

OUT = Path("docs/necessary.md")
SHARPENED = Path(__file__).parents[2] / "docs" / "sharpened.json"
TYPICAL, FAR = 3, 30
"""Stated coefficient over the largest one that is known to be necessary: the wanted median, and the ratio from which a reason is wanted."""
GIVEN_UP = 0.5
"""A term of which the premises of the proof need no larger part, at any set of constants, is one that can be sharpened there."""
HELD, LESS, SHARPER = (
    "another term holds it",
    "the sharpened statement has less of it",
    "the premises of its proof give less of it",
)
SAID = "no search shows it"
_HEAD = f"""# What of a statement is necessary

Made by `python -m fedco.validation.falsifier.necessary_table` from what
`python -m fedco.validation.falsifier.record --each-term ID` kept. For each statement with a derivation: the largest part of each
coefficient with which some exact instance breaks the statement, and how many times the stated coefficient is larger; and the factor
by which a condition can be relaxed so that the statement is false. Each is an instance in exact numbers, found by a search or made by
hand (`record --instance BUNDLE`), which `fedco replay INSTANCE` checks. What is right for a coefficient lies between that part and 1.
A part of which nothing is known may be necessary all the same: no instance was found in the seconds of the table.

Wanted is, over the headline statements of the papers, that the stated coefficient is at the median at most {TYPICAL} times the largest
one known to be necessary, and for no term more than {FAR} times without a known reason. Of a headline theorem the sharpened statement is
counted where there is one, which is proved under the same conditions or under those that it names; else the default one.
"""


def unsearched(statement: Statement) -> str:
    """Why nothing is kept of a statement."""
    if not list(weakenings(statement)):
        return "it has one term and no condition: nothing of it can be left out"
    try:
        target = target_of(statement.theorem, statement.label)
        search_spaces(target, Formula(target.theorem, statement.label))
    except (InputError, UncertifiedError) as error:
        return f"it cannot be searched: {error}"
    return "only as a whole, not part by part" if searched(statement.theorem, statement.label) else "no search is kept"


def reason(statement: Statement, part: str) -> tuple[str, str]:
    """Why no more of a term is known to be necessary: the kind of reason, and the reason; two empty texts where none is known.

    A corollary without a reason of its own has that of its theorem.
    """
    known = needed(statement)
    staying = {name for name, other in known.items() if other.bundle}
    for among, more in ((staying, ", which stays"), (None, "")):
        held = dominated(statement, part, among)
        if held is not None and held.factor <= FAR:
            return HELD, f"{held}{more}"
    if statement.theorem.unreached.get(part):
        return SAID, statement.theorem.unreached[part]
    if given := given_up(statement, part):
        return SHARPER, given
    if less := _less_in_sharpened(statement, part):
        return LESS, less
    parent = statement.theorem.follows_from
    if parent is None or statement.label not in parent[0].labels:
        return "", ""
    above = parent[0].statement(statement.label)
    its = needed(above).get(part)
    kind, why = ("", "") if its is None or its.ratio <= FAR else reason(above, part)
    return kind, f"as in {above.theorem.id}: {why}" if why else ""


def given_up(statement: Statement, part: str) -> str:
    """What part of a term the premises of the proof need at the sets of constants of the sharpened bounds."""
    given = parts_given(statement, _sharpened()).get(part, [])
    if not given or max(given) > GIVEN_UP:
        return ""
    many = f"at each of {len(given)} sets of constants" if len(given) > 1 else "at the one set of constants"
    without = "without it" if max(given) <= 0 else f"with {max(given):.2g} of it"
    return f"the premises of its proof give the statement {without} {many} in docs/sharpened.md"


def _less_in_sharpened(statement: Statement, part: str) -> str:
    """How much of a term the sharpened statement has under the same conditions, where no far smaller part of that can be right."""
    if statement.label == "sharpened" or "sharpened" not in statement.theorem.labels:
        return ""
    own = statement.theorem.statement("sharpened")
    kept = needed(own).get(part)
    if (
        kept is None
        or kept.ratio > FAR
        or not {str(c) for c in own.conditions} <= {str(c) for c in statement.conditions}
    ):
        return ""
    share = sp.simplify(own.term(part).expr / statement.term(part).expr)
    if not share.is_Rational or not 0 < share < 1:
        return ""
    return f"the sharpened statement has {float(share):.3g} of it, and no less than {kept.least:.3g} of that is right"


def _sharper() -> float:
    """How many times smaller the sharpened bounds are, at the median."""
    return median([row["factor"] for row in _sharpened() if row["factor"]] or [1.0])


@cache
def _sharpened() -> tuple[dict[str, Any], ...]:
    return tuple(rows_in(SHARPENED))


def terms_of(statement: Statement) -> list[Needed]:
    return [part for part in needed(statement).values() if part.kind == "term"]


def as_markdown(about: Sequence[Statement]) -> str:
    """The page."""
    kept = [statement for statement in about if needed(statement)]
    left = [statement for statement in about if not needed(statement)]
    terms = [(statement, part) for statement in kept for part in terms_of(statement)]
    far = [(statement, part) for statement, part in terms if part.ratio > FAR]
    why = [reason(statement, part.part) for statement, part in far]
    lines = [_HEAD, *_summary(len(about), len(kept), terms, Counter(kind for kind, _ in why)), "", "## Terms", ""]
    head = ("statement", "term", "largest known necessary part", "stated / necessary", "seconds", "instance")
    lines += markdown_table(head, [_term(*each) for each in terms], align=False)
    lines += ["", "## Conditions", ""]
    conditions = [(s, part) for s in kept for part in needed(s).values() if part.kind == "condition"]
    lines += markdown_table(
        ("statement", "condition", "false when relaxed by", "instance"), map(_condition, conditions), align=False
    )
    lines += ["", f"## Terms above {FAR}, and why", ""]
    rows = [(s.name, part.part, text or "not known") for (s, part), (_, text) in zip(far, why, strict=True)]
    lines += markdown_table(("statement", "term", "why"), rows, align=False)
    if left:
        lines += [
            "",
            "## Not searched part by part",
            "",
            *markdown_table(("statement", "why"), [(s.name, unsearched(s)) for s in left], align=False),
        ]
    return "\n".join(lines) + "\n"


def _summary(count: int, kept: int, terms: Sequence[tuple[Statement, Needed]], why: Counter[str]) -> list[str]:
    """What is reached of what is wanted, and why the rest is not."""
    if not terms:
        return ["Nothing is kept."]
    dropped = sum(bool(part.bundle) for _, part in terms)
    near = sum(part.ratio <= TYPICAL for _, part in terms)
    typical = _factor(median(part.ratio for _, part in terms))
    first = [part.ratio for statement, part in terms if _is_headline(statement)]
    return [
        f"{kept} of {count} statements are searched part by part. Of their {len(terms)} terms {dropped} cannot be left out. The stated",
        f"coefficient is at the median {typical} times the largest one known to be necessary",
        *_of_headlines(first),
        f"For {near} terms it is at most {TYPICAL} times that, and for {why.total()} terms more than {FAR} times. Of these,",
        "",
        f"- {why[HELD]} are held by another term of the same bound: under the conditions they are at most a multiple of it, by a",
        "  certificate in exact numbers that the command makes. Without them the bound is that much smaller at most, and an instance",
        "  needs them only where the rest is nearly tight;",
        f"- {why[SHARPER]} can be made smaller, at numbers at least: the premises of the proof give the statement without them, or with",
        f"  at most {GIVEN_UP:g} of them, at the sets of constants of docs/sharpened.md, where no instance can need more;",
        f"- {why[LESS]} have a smaller coefficient in the sharpened statement, which is proved under the same conditions, and there it is",
        f"  at most {FAR} times the largest one known to be necessary;",
        f"- {why[SAID]} are seen on no family that is searched, for the reason that their paper's file gives;",
        f"- {why['']} have no known reason.",
        "",
        "A part of what lies between is lost in the constants of the proofs: at the sets of constants of docs/sharpened.md the same",
        f"premises, with other multipliers, give bounds that are smaller by a factor of {_sharper():.3g} at the median.",
    ]


def _of_headlines(ratios: Sequence[float]) -> list[str]:
    if not ratios:
        return ["."]
    close = sum(ratio <= TYPICAL for ratio in ratios)
    return [
        f"({_factor(median(ratios))} times over the {len(ratios)} terms of headline statements, for {close} of which it is at most",
        f"{TYPICAL} times).",
    ]


def _is_headline(statement: Statement) -> bool:
    paper = paper_of(statement.theorem)
    _, _, name = statement.theorem.id.partition(".")
    best = "sharpened" if "sharpened" in statement.theorem.labels else statement.theorem.default
    return paper is not None and name in paper.headlines and statement.label == best


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
