"""Every statement of the five papers and of the baselines against its transcription, which shares no code with the package.

And erratum injection: slips planted in copies of statements, and which check catches which; `-m slow -s` prints that table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import sympy as sp
from fedco.bounds import get_paper, paper_theorems
from fedco.bounds.audit import checks as audit
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.theorem import DeclarationError, Statement, Theorem
from test_registry import SIMPLER_WORLDS, staying
from transcribed import CONDITIONS, DEFAULTS, NUMBERS, STATEMENTS, differences

BY_ITSELF = {("feddro.theorem_4_1", "composed"): "the first two steps of an instance, in numbers"}
OTHERWISE = {
    "local_scgdm.lemma_4_3_step": "between two displays, both of which are here",
    "local_scgdm.summed": "between two displays, both of which are here",
    "local_scgdm.potential_step": "printed: (16) is closed too early; composed is (40)",
    "local_scgdm.start_momentum": "between two displays, both of which are here",
    "local_scgdm.start_potential": "between two displays, both of which are here",
    "meta_fl.theorem_8": "sharpened: other splits of Young's inequality, which the kernel checks",
    "meta_fl.theorem_8_FO": "sharpened",
    "meta_fl.theorem_8_HF": "sharpened",
    "baselines.minibatch_sgd": "sharpened: what the theorem leaves out, which the kernel checks",
    "baselines.scgd": "sharpened",
}
"""Statements of which conditions alone are here."""
CASES = [case for case in STATEMENTS if case not in BY_ITSELF]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_a_statement_is_what_its_source_says(case):
    """Terms, constants, conditions, and schedules that no condition repeats."""
    assert differences(STATEMENTS[case].theorem, case[1]) == set()


def test_every_statement_is_transcribed():
    missing = {case for case, statement in STATEMENTS.items() if case not in NUMBERS and case not in BY_ITSELF}
    assert {name for name, _ in missing} == set(OTHERWISE)
    assert not {*NUMBERS, *CONDITIONS, *DEFAULTS} - set(STATEMENTS)


def test_every_schedule_is_transcribed():
    """By a condition `<name>_choice` that fixes the value, or by a table of defaults."""
    for case, statement in STATEMENTS.items():
        chosen = {c.left for c in statement.conditions if c.name.endswith("choice")}
        for name in statement.schedule:
            symbol = statement.symbols[name].symbol
            assert symbol in chosen or name in DEFAULTS.get(case, {}), (case, name)


def slipped(statement: Statement) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each part by name, and the fields with it a hundredth too large, doubled, under another relation or another name."""
    more = sp.Rational(101, 100)
    for term in statement.terms if (statement.theorem.id, statement.label) in NUMBERS else ():
        yield term.name, {"terms": tuple(replace(t, expr=t.expr * more) if t is term else t for t in statement.terms)}
    for condition in statement.conditions:
        flipped = {"<=": "<", ">=": ">"}.get(condition.relation, "<=")
        for wrong in ({"right": condition.right * more}, {"relation": flipped}, {"name": "another"}):
            changed = tuple(replace(c, **wrong) if c is condition else c for c in statement.conditions)
            yield condition.name, {"conditions": changed}
    for name, value in statement.schedule.items():
        yield f"schedule of {name}", {"schedule": statement.schedule | {name: 2 * value}}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=" ".join(case), marks=pytest.mark.slow if at % 4 else ()) for at, case in enumerate(CASES)],
)
def test_a_slip_in_any_part_differs_from_the_transcription(case):
    """Bounds of several terms that the paper gives as one are compared as one."""
    theorem, label = STATEMENTS[case].theorem, case[1]
    for name, fields in slipped(STATEMENTS[case]):
        found = differences(with_statement(theorem, replace(STATEMENTS[case], **fields)), label)
        assert found & {name, "total"}, name


# --- slips of the kind that papers and typists make, and which check catches which -------------------------------------


def times(factor):
    return lambda e, w: e * sp.sympify(factor)


def becomes(old: str, new: str):
    """One symbol for another, or for the number 1."""
    return lambda e, w: e.xreplace({getattr(w, old): sp.Integer(1) if new == "1" else getattr(w, new)})


def power(name: str, old, new):
    """Another exponent, wherever the old one stands."""
    return lambda e, w: e.subs(getattr(w, name) ** sp.sympify(old), getattr(w, name) ** sp.sympify(new))


def extremum(e, w):
    return e.replace(sp.Max, lambda *parts: sp.Min(*parts, evaluate=False))


def without(marker: str):
    """The summand that contains a symbol is dropped."""
    return lambda e, w: sp.Add(*(part for part in sp.Add.make_args(sp.expand(e)) if not part.has(getattr(w, marker))))


MAIN, LONG, FCSG = "feddro.theorem_5_1", "feddro.theorem_f_1", "fcsg.theorem_4_1"
SLIPS = [
    (MAIN, "printed", "term initialisation", "y_err for its square", power("y_err", 2, 1)),
    (MAIN, "printed", "term variance_h", "min for max", extremum),
    (MAIN, "printed", "term variance_h", "I for I - 1", lambda e, w: e.subs(w.I - 1, w.I)),
    (MAIN, "printed", "term heterogeneity_h", "Delta_g for Delta_h", becomes("Delta_h", "Delta_g")),
    (MAIN, "printed", "term heterogeneity_g", "sign", times(-1)),
    (MAIN, "printed", "term heterogeneity_g", "term dropped", times(0)),
    (MAIN, "printed", "constant C_Delta_h", "96 B_g^2 dropped", without("B_g")),
    (MAIN, "printed", "constant T_th", "I for I^2", power("I", 2, 1)),
    (MAIN, "printed", "right horizon", "limit x 1/1.1", times(sp.Rational(10, 11))),
    (MAIN, "printed", "schedule eta", "K lost", becomes("K", "1")),
    (MAIN, "corrected", "term inner_initialisation", "L_f for L_f^2", power("L_f", 2, 1)),
    (MAIN, "corrected", "term inner_variance", "K lost", becomes("K", "1")),
    (MAIN, "corrected", "left step_size_embedding", "24 becomes 12", times(sp.Rational(1, 2))),
    (MAIN, "corrected", "relation momentum_range", "< for <=", lambda e, w: "<"),
    (LONG, "printed", "term variance_h", "K lost", becomes("K", "1")),
    ("feddro.theorem_f_6", "printed", "right step_size_period", "factor 1/3 dropped", times(3)),
    ("comfedl.theorem_2", "printed", "term estimator_drift", "factor 2 dropped", times(sp.Rational(1, 2))),
    ("comfedl.theorem_2", "printed", "term initialisation", "lost 1/T", becomes("T", "1")),
    (FCSG, "printed", "term bias", "factor 2 dropped", times(sp.Rational(1, 2))),
    (FCSG, "printed", "term drift", "q for q - 1", lambda e, w: e.subs(w.q - 1, w.q)),
    (FCSG, "printed", "right step_size", "limit x 1.1", times(sp.Rational(11, 10))),
    ("fcsg.corollary_4_2", "printed", "term drift", "19 becomes 10", times(sp.Rational(10, 19))),
    ("meta_fl.theorem_8", "printed", "constant gamma_F", "gamma_H for gamma_G", becomes("gamma_G", "gamma_H")),
    ("local_scgdm.theorem_3_4", "printed", "term drift", "p for p^2", power("p", 2, 1)),
    ("local_scgdm.theorem_3_4", "printed", "right period", "limit x 1.1", times(sp.Rational(11, 10))),
]
"""(theorem, label, place, what, change): the place is "term NAME", "constant NAME", "left NAME", "right NAME" or "relation NAME" of a
condition, or "schedule NAME"; `change(expr, notation)` returns the slipped expression."""
PLACES = {"term": ("terms", "expr"), "constant": ("derived", "expr")} | {
    k: ("conditions", k) for k in ("left", "right", "relation")
}


def planted(theorem: Theorem, label: str, place: str, change) -> Theorem:
    """A copy of a theorem with one slip.

    Raises:
        DeclarationError: the copy contradicts itself and cannot be built.
    """
    statement, notation = theorem.statement(label), theorem.notation.namespace()
    kind, name = place.split(" ", 1)
    if kind == "schedule":
        moved = _moved(sp.sympify(statement.schedule[name]), change, notation, statement)
        fields = {"schedule": {**statement.schedule, name: moved}}
    else:
        field, part = PLACES[kind]
        items = tuple(
            replace(item, **{part: _moved(getattr(item, part), change, notation, statement)})
            if item.name == name
            else item
            for item in getattr(statement, field)
        )
        assert items != getattr(statement, field), f"nothing was planted: {theorem.id} has no {place}"
        fields = {field: items}
    return replace(theorem, statements={**theorem.statements, label: replace(statement, **fields)})


def _moved(expr, change, notation, statement: Statement):
    """The slipped expression; where the slip is inside a derived constant, that constant is written out first."""
    changed = change(expr, notation)
    if changed == expr:
        changed = change(statement.expand(expr), notation)
        assert changed != statement.expand(expr), f"nothing to slip in {expr}"
    return changed


COLUMNS = ("construction", "homogeneity", "proved", "corollary", "conditions", "properties", "independent")


# --- the checks: each returns something that a slip should change ----------------------------------------------------


def homogeneity(theorem: Theorem, label: str):
    return sorted(slip.where for slip in theorem.inhomogeneities(theorem.statement(label), theorem.unit_choices))


def proved(theorem: Theorem, label: str):
    """Printed against proved, term by term."""
    if "composed" not in theorem.labels or label == "corrected":
        return None
    return {term: outcome for term, (outcome, *_) in audit.compare_terms(theorem).items()}


def corollary(theorem: Theorem, label: str):
    """The theorem's own corollary check, and that of each corollary that follows from it."""
    if label != "printed":
        return None
    family = paper_theorems(theorem.id.partition(".")[0]).values()
    concerned = [item for item in family if item.follows_from and theorem.id in (item.id, item.follows_from[0].id)]
    return {item.id: {t: outcome for t, (outcome, *_) in audit.corollary_terms(item).items()} for item in concerned}


def conditions(theorem: Theorem, label: str):
    """Conditions of the proof that the printed ones do not imply, and equalities that the schedule does not satisfy."""
    statement = theorem.statement(label)
    left_over = [c.name for c in audit.at_schedule(statement, statement.conditions) if c.relation == "=="]
    if "composed" not in theorem.labels or label == "corrected":
        return left_over
    return left_over, [finding.id for finding in audit.condition_findings(theorem)]


def properties(theorem: Theorem, label: str):
    """What stays in a simpler world."""
    return {world: staying(theorem, theorem.statement(label), world) for world in SIMPLER_WORLDS}


def independent(theorem: Theorem, label: str):
    """What differs from the transcription in plain Python."""
    try:
        return sorted(differences(theorem, label))
    except (ValueError, KeyError, TypeError) as error:  # a symbol is gone or too many
        return type(error).__name__


CHECKS = (homogeneity, independent, corollary, properties, conditions, proved)
"""Cheapest first."""


@contextmanager
def registered(theorem: Theorem) -> Iterator[None]:
    """The registry with one theorem exchanged."""
    paper = get_paper(theorem.id.partition(".")[0])
    known = paper.theorems
    vars(paper)["theorems"] = {**known, theorem.id: theorem}
    try:
        yield
    finally:
        vars(paper)["theorems"] = known


@cache
def baseline(name: str, label: str, check) -> str:
    return repr(check(paper_theorems(name.partition(".")[0])[name], label))


def caught_by(name: str, label: str, place: str, change) -> Iterator[str]:
    """The checks whose outcome a slip changes, one after the other."""
    try:
        copy = planted(paper_theorems(name.partition(".")[0])[name], label, place, change)
    except DeclarationError:
        yield "construction"
        return
    for check in CHECKS:
        expected = baseline(name, label, check)
        with registered(copy):
            found = repr(check(copy, label))
        if found != expected:
            yield check.__name__


@pytest.mark.slow
def test_the_table_of_slips():
    """Which check catches which slip; printed with -s."""
    found = {" ".join(slip[:4]): tuple(caught_by(*slip[:3], slip[4])) for slip in SLIPS}
    lines = [f"{'slip':<74} " + " ".join(f"{column:<12}" for column in COLUMNS)]
    for key, checks in found.items():
        marks = " ".join(f"{'x' if column in checks else '.':<12}" for column in COLUMNS)
        lines.append(f"{key:<74} {marks}")
    counts = {column: sum(column in checks for checks in found.values()) for column in COLUMNS}
    print("\n".join([*lines, "", f"{len(found)} slips; caught by: {counts}"]))
    assert all(found.values())
    assert all(counts[column] for column in COLUMNS), "a check that catches nothing is not needed"


def test_every_check_is_quiet_on_an_unchanged_copy():
    """Planting nothing changes nothing: the table above is about the slips and not about the copying."""
    name, label = "fcsg.corollary_4_2", "printed"
    theorem = paper_theorems("fcsg")[name]
    copy = replace(theorem, title=theorem.title + " (copy)")
    with registered(copy):
        after = [repr(check(copy, label)) for check in CHECKS]
    assert after == [baseline(name, label, check) for check in CHECKS] and after[CHECKS.index(independent)] == "[]"
