"""The audit: what the declarations themselves reveal, and what only a reader can find, each with its re-check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import lcm

import sympy as sp

from ...algorithms.declared import declared
from ...suggestion import instead
from ..cost.counts import method_costs
from ..cost.resources import declared_costs
from ..files import is_file, theorems_of_file
from ..language.notation import slack_symbol
from ..language.paper import Paper
from ..language.reading import InputError
from ..language.theorem import Condition, Inhomogeneity, Statement, Theorem
from ..proof.certificates import find_violation, prove_nonnegative, violates
from ..registry import all_papers, get_paper, get_theorem, is_paper
from .findings import SEVERITIES, Evidence, Finding, Findings, confirm


def audit(about: Theorem | Paper | str | None = None) -> Findings:
    """All findings about one theorem, one paper, a file's theorems, or everything; worst first. An id or a key will do.

    Raises:
        InputError: no such theorem, paper or file.
    """
    return Findings(sorted(_findings(about), key=lambda finding: SEVERITIES.index(finding.severity)))


def _findings(about: Theorem | Paper | str | None) -> Iterator[Finding]:
    if isinstance(about, str) and is_file(about):
        for theorem in theorems_of_file(about).values():
            yield from (replace(finding, given=about) for finding in automatic(theorem))
        return
    if isinstance(about, str):
        about = get_theorem(about) if "." in about else get_paper(about)
    if isinstance(about, Theorem):
        yield from automatic(about)
        yield from (finding for finding in _read(about) if finding.theorem == about.id)
        return
    for paper in all_papers() if about is None else (about,):
        yield from of_paper(paper)


def of_paper(paper: Paper) -> list[Finding]:
    """Automatic findings of its theorems, then those of a reader."""
    return [*(finding for item in paper.theorems.values() for finding in automatic(item)), *paper.findings]


def _read(theorem: Theorem) -> tuple[Finding, ...]:
    """What a reader found in the theorem's paper; nothing for a theorem that belongs to none."""
    key = theorem.id.partition(".")[0]
    return get_paper(key).findings if is_paper(key) else ()


def automatic(theorem: Theorem) -> tuple[Finding, ...]:
    """Findings that follow from the declaration alone, which does not change: they are looked for once."""
    if "automatic" not in theorem.kept:
        theorem.kept["automatic"] = tuple(_as_its_cause(theorem, finding) for finding in _of_declaration(theorem))
    return theorem.kept["automatic"]


def _as_its_cause(theorem: Theorem, finding: Finding) -> Finding:
    """A slip that is seen again in another formula is a slip there, too, and read as there."""
    own = [each for each in _read(theorem) if finding.id in each.seen_in]
    if not own or any(each.severity != "slip" for each in own):
        return finding
    return replace(finding, severity="slip", reading=own[0].charitable)


def _of_declaration(theorem: Theorem) -> Iterator[Finding]:
    yield from _cost_findings(theorem)
    if "printed" not in theorem.labels:
        return  # a corrected statement alone is homogeneous, and there is nothing to compare it with
    yield from _dimension_findings(theorem)
    claims_a_number = bool(theorem.statement("printed").terms)  # else it only says that some step size does
    if "composed" in theorem.labels and claims_a_number:
        yield from _term_findings(theorem)
        yield from condition_findings(theorem)
    if theorem.follows_from and "printed" in theorem.follows_from[0].labels:
        yield from _corollary_findings(theorem)


# --- costs -----------------------------------------------------------------------------------------------------------


def _cost_findings(theorem: Theorem) -> Iterator[Finding]:
    """A declared cost beside the count of the method that the theorem names."""
    for resource, (said, counted) in _unlike_costs(theorem).items():
        yield Finding(
            f"{theorem.id}:costs.{resource}",
            theorem.id,
            f"costs, {resource}",
            "constant",
            "slip",
            f"{resource} = {said}",
            f"the method {theorem.method.name if theorem.method else ''} counts {counted}",
            f"what `tune`, `complexity` and `compare` say of {resource} is not what the method says that it uses",
            partial(_check_costs, theorem, resource),
        )


def _unlike_costs(theorem: Theorem) -> dict[str, tuple[sp.Expr, sp.Expr]]:
    """Resource -> (as declared, as the method counts it), where they differ."""
    known = theorem.method is not None and theorem.method.name in declared()  # no code that a file names is run
    counted = method_costs(theorem) if known else {}
    both = {n: (sp.sympify(e), counted[n]) for n, e in declared_costs(theorem.statement()).items() if n in counted}
    return {name: pair for name, pair in both.items() if sp.simplify(_unrounded(pair[0]) - _unrounded(pair[1])) != 0}


def _unrounded(cost: sp.Expr) -> sp.Expr:
    """Without what makes a count whole, or at least 1."""
    return cost.replace(
        lambda part: isinstance(part, sp.floor | sp.ceiling) or (isinstance(part, sp.Max) and sp.S.One in part.args),
        lambda part: sp.Max(*(each for each in part.args if each != 1)),
    )


def _check_costs(theorem: Theorem, resource: str) -> Evidence:
    said, counted = _unlike_costs(theorem).get(resource, (None, None))
    return confirm(said is not None, declared=said, counted=counted)


# --- homogeneity -----------------------------------------------------------------------------------------------------


def _dimension_findings(theorem: Theorem) -> Iterator[Finding]:
    printed = theorem.statement("printed")
    misfits = theorem.inhomogeneities(printed, theorem.unit_choices)
    if misfits:
        yield _homogeneity(theorem, misfits)
    explained = [s.where for s in theorem.inhomogeneities(printed) if s.where not in {item.where for item in misfits}]
    if explained:
        units = ", ".join(str(unit) for unit in theorem.unit_choices)
        yield Finding(
            f"{theorem.id}:units",
            theorem.id,
            "whole statement",
            "units",
            "slip",
            f"{len(explained)} places add or compare quantities of different dimension ({', '.join(explained[:4])}, …)",
            f"homogeneous once the units {units} are set to 1, which the paper does silently",
            "rescaling the objective, the inner value or the variable changes the bound: it is not a property of the problem alone",
            partial(_check_units, theorem, len(explained)),
        )


def _homogeneity(theorem: Theorem, misfits: list[Inhomogeneity]) -> Finding:
    return Finding(
        f"{theorem.id}:homogeneity",
        theorem.id,
        ", ".join(item.where for item in misfits),
        "homogeneity",
        "constant",
        f"{misfits[0].where} has dimension {misfits[0].found}",
        f"dimension {misfits[0].wanted}",
        "the printed expression cannot be right in every system of units: whatever its constant, it is too small in some",
        partial(_check_homogeneity, theorem),
    )


def _check_homogeneity(theorem: Theorem) -> Evidence:
    misfits = theorem.inhomogeneities(theorem.statement("printed"), theorem.unit_choices)
    return confirm(bool(misfits), places={item.where: f"{item.found}, wanted {item.wanted}" for item in misfits})


def _check_units(theorem: Theorem, places: int) -> Evidence:
    printed = theorem.statement("printed")
    full, reduced = theorem.inhomogeneities(printed), theorem.inhomogeneities(printed, theorem.unit_choices)
    left = {item.where for item in reduced}
    explained = [item.where for item in full if item.where not in left]
    return confirm(len(explained) == places > 0, places=places, left_with_units=len(left))


# --- printed against composed ------------------------------------------------------------------------------------------


def scheduled(statement: Statement, expr: sp.Expr) -> sp.Expr:
    """An expression in base symbols with the schedule put in, so that statements with and without it can be compared."""
    table = {name: statement.expand(value) for name, value in statement.schedule.items()}
    result = statement.expand(expr)
    for _ in table:  # as often as one value of the schedule can need another one
        result = result.xreplace({s: table[str(s)] for s in result.free_symbols if str(s) in table})
    return result


def _alternatives(expr: sp.Expr) -> list[sp.Expr]:
    """The expression with each maximum replaced by each of its arguments in turn."""
    maxima = sorted(expr.atoms(sp.Max), key=str)
    if not maxima:
        return [expr]
    return [choice for part in maxima[0].args for choice in _alternatives(expr.xreplace({maxima[0]: part}))]


def compare_expressions(
    larger: sp.Expr, smaller: sp.Expr, given: tuple[Condition, ...] = ()
) -> tuple[str, dict | None]:
    """ "equal", "larger" (>= everywhere), "violated" (with exact values) or "open"."""
    if sp.expand(sp.expand_power_base(larger - smaller, force=True)) == 0:
        return "equal", None
    if not larger.has(sp.Max) and all(never_negative(larger - part) for part in _alternatives(smaller)):
        return "larger", None
    point = find_violation(Condition("claim", larger, ">=", smaller), given)
    return ("violated", point) if point else ("open", None)


def never_negative(expr: sp.Expr) -> bool:
    """Whether a certificate shows expr >= 0, at first for all nonnegative values, then with counts of at least 1."""
    counts = {
        symbol: (1 + slack_symbol(f"more_{symbol}")) ** _root_order(expr, symbol)
        for symbol in expr.free_symbols
        if symbol.is_integer and symbol.is_positive
    }
    return bool(prove_nonnegative(expr) or (counts and prove_nonnegative(expr, counts)))


def _root_order(expr: sp.Expr, symbol: sp.Symbol) -> int:
    """The least n for which symbol = s^n leaves no root of the symbol."""
    powers = sp.expand_power_base(expr, force=True).atoms(sp.Pow)
    exponents = [power.exp for power in powers if power.base == symbol and power.exp.is_Rational]
    return lcm(1, *(int(exponent.q) for exponent in exponents))


def _still_smaller(
    theorem: Theorem, sides: Callable[[str], tuple[sp.Expr, sp.Expr]], points: Mapping[str, dict], also: bool = True
) -> Evidence:
    numbers = {term: _at(theorem, sides(term), point) for term, point in points.items()}
    return confirm(
        also and all(left < right for left, right in numbers.values()),
        **{term: f"{float(p):.6g} < {float(q):.6g} at {_shown(points[term])}" for term, (p, q) in numbers.items()},
    )


def _term_findings(theorem: Theorem) -> Iterator[Finding]:
    statements = [theorem.statement(label) for label in ("printed", "composed")]

    def shown(name: str) -> tuple[sp.Expr, sp.Expr]:
        printed, composed = (sp.factor_terms(_term_or_zero(statement, name)) for statement in statements)
        return printed, composed

    points = {
        name: point for name, (outcome, point) in compare_terms(theorem).items() if outcome == "violated" and point
    }
    if points:
        name, point = next(iter(points.items()))
        printed, expected = shown(name)
        yield Finding(
            f"{theorem.id}:terms",
            theorem.id,
            ", ".join(f"term {name}" for name in points),
            "constant",
            "constant",
            sp.sstr(printed),
            sp.sstr(expected),
            f"the printed term {name} is smaller than what the paper's own lemmas give, for instance at {_shown(point)}",
            partial(_check_terms, theorem, points),
        )


def compare_terms(theorem: Theorem) -> dict[str, tuple[str, dict | None]]:
    """Each term of `printed` against `composed`, both with the schedule put in: equal, larger, violated or open."""
    sides = _sides(theorem)
    names = dict.fromkeys(term.name for label in ("printed", "composed") for term in theorem.statement(label).terms)
    return {name: compare_expressions(*sides(name), stated(theorem)) for name in names}


def _sides(theorem: Theorem) -> Callable[[str], tuple[sp.Expr, sp.Expr]]:
    return terms_of(theorem.statement("printed"), theorem.statement("composed"))


def terms_of(first: Statement, second: Statement) -> Callable[[str], tuple[sp.Expr, sp.Expr]]:
    """Name -> the term of each statement in base symbols, both with the schedule put in of the one that has more of it."""
    base = first if len(first.schedule) >= len(second.schedule) else second

    def sides(name: str) -> tuple[sp.Expr, sp.Expr]:
        left, right = (scheduled(base, each.expand(_term_or_zero(each, name))) for each in (first, second))
        return left, right

    return sides


def _term_or_zero(statement: Statement, name: str) -> sp.Expr:
    return next((term.expr for term in statement.terms if term.name == name), sp.Integer(0))


def _shown(point: dict | None) -> str:
    return ", ".join(f"{name}={value}" for name, value in (point or {}).items())


def _check_terms(theorem: Theorem, points: dict[str, dict]) -> Evidence:
    admitted = all(_admitted(theorem, stated(theorem), point) for point in points.values())
    return _still_smaller(theorem, _sides(theorem), points, admitted)


def _admitted(theorem: Theorem, given: tuple[Condition, ...], point: dict) -> bool:
    """Whether a witness satisfies what the statement asks for, as far as its symbols say."""
    table = {theorem.notation[key].symbol: value for key, value in point.items()}
    return violates(Condition("never", sp.Integer(0), ">=", sp.Integer(1)), given, table)


def _at(theorem: Theorem, sides: tuple[sp.Expr, sp.Expr], point: dict) -> tuple[sp.Expr, sp.Expr]:
    table = {theorem.notation[name].symbol: sp.Rational(value) for name, value in point.items()}
    left, right = (side.xreplace(table) for side in sides)
    return left, right


# --- conditions ------------------------------------------------------------------------------------------------------


def condition_findings(theorem: Theorem) -> Iterator[Finding]:
    printed, composed = theorem.statement("printed"), theorem.statement("composed")
    given = stated(theorem)
    taken = {sp.expand(c.left - c.right) for c in composed.whole_range}
    for condition in composed.conditions:
        if sp.expand(condition.left - condition.right) in taken:
            continue  # the method can take nothing else
        (claim,) = at_schedule(printed, (condition,), composed) or (None,)
        if claim is None or any(claim == known for known in given):
            continue
        point = find_violation(claim, given) or _far(theorem, claim, given)
        if point is not None:
            yield Finding(
                f"{theorem.id}:condition:{condition.name}",
                theorem.id,
                f"condition {condition.name}",
                "condition",
                "constant",
                "not among the conditions, nor implied by them",
                f"{condition} ({condition.note or 'used in the proof'})",
                f"the theorem admits values that its proof does not cover, for instance {_shown(point)}",
                partial(_check_condition, theorem, condition.name, point),
            )


def _far(theorem: Theorem, claim: Condition, given: tuple[Condition, ...]) -> dict | None:
    """A violation of the printed conditions, with a count that only the method's range speaks of set to a large number."""
    own = at_schedule(theorem.statement("printed"), theorem.statement("printed").conditions)
    point = find_violation(claim, own)
    if point is None:
        return None
    symbols = {symbol for c in given for symbol in c.left.free_symbols | c.right.free_symbols}
    whole = point | {str(symbol): Fraction(10**9) for symbol in symbols if str(symbol) not in point}
    table = {theorem.notation[key].symbol: value for key, value in whole.items()}
    return whole if violates(claim, given, table) else None


def stated(theorem: Theorem) -> tuple[Condition, ...]:
    """What a printed statement asks for on its most charitable reading, in base symbols with the schedule put in.

    Its own conditions, what its method can take, where its symbols mean anything; and for a corollary the conditions of its theorem
    at the schedule, whose counts are at least 1.
    """
    printed = theorem.statement("printed")
    own = (*at_schedule(printed, printed.requirements), *theorem.compared_where)
    if theorem.follows_from is None or "printed" not in theorem.follows_from[0].labels:
        return own
    parent, table = _substitution(theorem)
    at = (c.each_side(lambda side: scheduled(parent, parent.expand(side)).xreplace(table)) for c in parent.requirements)
    inherited = (c.each_side(lambda side: scheduled(printed, printed.expand(side))) for c in (*at, *_counts(table)))
    return tuple(dict.fromkeys((*own, *(c for c in inherited if c.left != c.right))))


def _substitution(theorem: Theorem) -> tuple[Statement, dict[sp.Symbol, sp.Expr]]:
    """The printed statement that a corollary follows from, and what it puts in."""
    general, substitution = theorem.follows_from  # type: ignore[misc]
    own = theorem.statement("printed")
    put_in = {theorem.notation[key].symbol: own.expand(sp.sympify(value)) for key, value in substitution.items()}
    return general.statement("printed"), put_in


def _counts(table: dict[sp.Symbol, sp.Expr]) -> tuple[Condition, ...]:
    """A count that a corollary puts in is at least 1."""
    return tuple(
        Condition(f"{symbol}_count", value, ">=", sp.Integer(1)) for symbol, value in table.items() if symbol.is_integer
    )


def at_schedule(
    base: Statement, conditions: tuple[Condition, ...], owner: Statement | None = None
) -> tuple[Condition, ...]:
    """Conditions in base symbols with the schedule of `base` put in; trivial ones are dropped."""
    owner = owner or base
    made = (c.each_side(lambda side: scheduled(base, owner.expand(side))) for c in conditions)
    return tuple(c for c in made if c.left != c.right)


def _check_condition(theorem: Theorem, condition: str, point: dict) -> Evidence:
    printed, composed = theorem.statement("printed"), theorem.statement("composed")
    given = stated(theorem)
    (claim,) = at_schedule(printed, (composed.condition(condition),), composed)
    table = {theorem.notation[key].symbol: value for key, value in point.items()}
    return confirm(violates(claim, given, table), at=_shown(point), violated=str(composed.condition(condition)))


# --- corollaries -----------------------------------------------------------------------------------------------------


def _corollary_findings(theorem: Theorem) -> Iterator[Finding]:
    """That a corollary is smaller than its theorem with the schedule put in, where both hold: in the sum of its terms, as the names and the
    division of terms are no claim."""
    terms = corollary_terms(theorem)
    if all(outcome in ("equal", "larger") for outcome, *_ in terms.values()):
        return
    left, right = _corollary_sums(theorem)
    outcome, point = compare_expressions(left, right, stated(theorem))
    if outcome == "violated" and point is not None:
        smaller = [
            name for name, (outcome, *_) in terms.items() if outcome == "violated" and _is_in_both(theorem, name)
        ]
        printed, expected = terms[smaller[0]][2] if smaller else (left, right)
        yield Finding(
            f"{theorem.id}:corollary",
            theorem.id,
            ", ".join(f"term {name}" for name in smaller) or "the sum of the terms",
            "corollary",
            "constant",
            sp.sstr(printed),
            sp.sstr(expected),
            f"the corollary is smaller than its theorem with the schedule put in, for instance at {_shown(point)}",
            partial(_check_corollary, theorem, point),
        )


def _corollary_terms(theorem: Theorem) -> dict[str, tuple[str, dict | None, tuple[sp.Expr, sp.Expr]]]:
    (parent, table), printed = _substitution(theorem), theorem.statement("printed")
    given = stated(theorem)
    result = {}
    for name in dict.fromkeys(term.name for statement in (printed, parent) for term in statement.terms):
        right = scheduled(parent, parent.expand(_term_or_zero(parent, name)).xreplace(table)).xreplace(table)
        left = scheduled(printed, printed.expand(_term_or_zero(printed, name))).xreplace(table)
        result[name] = (*compare_expressions(left, right, given), (left, right))
    return result


def corollary_terms(theorem: Theorem) -> dict[str, tuple[str, dict | None, tuple[sp.Expr, sp.Expr]]]:
    """Each term of a corollary against its theorem with the schedule put in, where both hold."""
    if "corollary" not in theorem.kept:
        theorem.kept["corollary"] = _corollary_terms(theorem)
    return theorem.kept["corollary"]


def _is_in_both(theorem: Theorem, term: str) -> bool:
    """Whether a corollary and its theorem both have a term of this name, so that the two can be set side by side."""
    statements = (theorem.statement("printed"), _substitution(theorem)[0])
    return all(any(each.name == term for each in statement.terms) for statement in statements)


def _corollary_sums(theorem: Theorem) -> tuple[sp.Expr, sp.Expr]:
    """All terms of a corollary, and all terms of its theorem with the schedule put in."""
    lefts, rights = zip(*(sides for *_, sides in corollary_terms(theorem).values()), strict=True)
    return sp.Add(*lefts), sp.Add(*rights)


def _check_corollary(theorem: Theorem, point: dict) -> Evidence:
    sides = _corollary_sums(theorem)
    return _still_smaller(theorem, lambda _: sides, {"sum": point}, _admitted(theorem, stated(theorem), point))


def recheck(finding_id: str, name: str | Theorem | None = None) -> Evidence:
    """Run one finding's check again.

    Args:
        name: the file, or the theorem, that the finding is about; not needed for those of a built-in paper.

    Raises:
        InputError: no finding has this id.
        RecheckError: the finding is not confirmed.
    """
    known: dict[str, Callable[[], Evidence]] = {finding.id: finding.check for finding in _candidates(finding_id, name)}
    if finding_id not in known:
        near = instead(finding_id, known) if known else "wanted one of those of fedco audit"
        raise InputError(f"{finding_id[:60]!r}: not a finding; {near}")
    return known[finding_id]()


def _candidates(finding_id: str, name: str | Theorem | None) -> Iterator[Finding]:
    """The findings among which one is looked for: as few as its id allows."""
    key, _, rest = finding_id.partition(".")
    theorem, is_automatic = f"{key}.{rest.partition(':')[0]}", ":" in finding_id
    if name is not None:
        yield from _findings(name)
    elif not is_paper(key):
        return
    elif not is_automatic:
        yield from get_paper(key).findings
    elif theorem in get_paper(key).theorems:
        yield from automatic(get_paper(key).theorems[theorem])
