"""What an instance that breaks one statement shows of others: of other terms, other labels, a corollary, a variant.

The run, and so the left side, is one; what is asked of it is how large each term would have to be there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...bounds.evaluation.enclosure import EnclosureError, enclose_bound
from ...bounds.language.change import Change, with_statement
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Statement, Theorem
from ..exact.problem import exact_problem
from ..runs.bundle import Bundle
from .bundle import claimed_of
from .confirm import BITS, Claimed, Confirmed, NotConfirmed, confirm, confirm_beside, sides
from .declared import Target, target_of
from .rounding import Q, declared_as

_TINY = Q(1, 10**15)


def carried(bundle: Bundle, about: Statement) -> Iterator[tuple[Change, Confirmed]]:
    """The parts of a statement that an instance shows to be necessary, each with the refutation of the statement without it.

    Args:
        bundle: of a refutation of a statement with a term or a condition changed, of this theorem or of another one about the same
            kind of problem, which calls what is the same by the same names.
        about: what the instance is tried on: its own schedule and its own conditions hold there, or it shows nothing.
    """
    theorem, label = about.theorem, about.label
    change = Change.from_dict(bundle.problem["parameters"]["change"])
    try:
        target = target_of(theorem, label)
        claimed = _claimed(target, claimed_of(bundle))
        if change.way == "relaxed":
            if any(condition.name == change.part and condition.relation != "==" for condition in about.conditions):
                yield change, confirm(target_of(theorem, label, change), claimed)
            return
        found = sides(target, claimed)
        parts = enclose_bound(about, found.claimed.stated(target), bits=BITS)
    except (NotConfirmed, InputError, EnclosureError):
        return
    total = sum(parts[term.name].lower for term in about.terms)
    for term in about.terms:
        if len(about.terms) > 1 and found.left[0] > total - parts[term.name].lower:
            dropped = Change(term.name, "dropped")
            try:
                yield dropped, confirm_beside(target_of(theorem, label, dropped), found)
            except NotConfirmed:
                continue


def _claimed(target: Target, claimed: Claimed) -> Claimed:
    """The instance with the constants that a statement names, and without what its schedule sets.

    Raises:
        NotConfirmed: it is of another kind, or lacks a constant.
    """
    if claimed.instance.kind != target.kind or claimed.place is not None or target.link is not None:
        raise NotConfirmed(f"{target.theorem.id}: wanted a run of a problem of the kind {target.kind}")
    symbols, known = target.symbols, dict(claimed.constants)
    if missing := {n: b.quantity for n, b in symbols.items() if b.quantity.role == "constant" and n not in known}:
        certified = exact_problem(claimed.instance).constants()
        if not {quantity.name for quantity in missing.values()} <= certified.keys():
            raise NotConfirmed(f"{target.theorem.id}: the instance is not known to have {' '.join(missing)}")
        known |= {name: declared_as(quantity, certified, None, _TINY) for name, quantity in missing.items()}
    scheduled = _set_by_a_condition(target.theorem.statement(target.label))
    free = {n: v for n, v in claimed.hyperparameters.items() if n in symbols and n not in scheduled}
    return replace(claimed, constants={n: known[n] for n in known if n in symbols}, hyperparameters=free)


def _set_by_a_condition(about: Statement) -> set[str]:
    """The symbols of the schedule that a condition asks for as well."""
    return {str(c.left) for c in about.conditions if c.relation == "==" and str(c.left) in about.schedule}


def with_free_choices(theorem: Theorem, label: str) -> Theorem:
    """The theorem without what the schedule of a statement only proposes.

    Where no condition asks for it the statement holds for other choices too, and an instance may make one.
    """
    statement = theorem.statement(label)
    asked = _set_by_a_condition(statement)
    kept = {name: expr for name, expr in statement.schedule.items() if name in asked}
    return (
        theorem if len(kept) == len(statement.schedule) else with_statement(theorem, replace(statement, schedule=kept))
    )


def are_related(one: Statement, other: Statement) -> bool:
    """Whether an instance of one statement may be one of the other: another label, a corollary, a variant with terms of the same names."""
    if one.theorem.id == other.theorem.id or _above(one.theorem) & _above(other.theorem):
        return True
    names = [[term.name for term in each.terms] for each in (one, other)]
    same = one.theorem.metric == other.theorem.metric and one.theorem.problem == other.theorem.problem
    return same and names[0] == names[1]


def _above(theorem: Theorem) -> set[str]:
    """The theorem and what it follows from."""
    parent = theorem.follows_from
    return {theorem.id} | (_above(parent[0]) if parent else set())
