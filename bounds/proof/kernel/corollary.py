"""Corollaries: the statement of a theorem with its schedule put in, checked with exact arithmetic.

The rule. Each condition `symbol == formula` of the corollary fixes that symbol; the formula replaces it everywhere. What is
left of the conditions is the region. On it (a) every condition of the theorem is certified, (b) the terms of the theorem are
certified to be at most those of the corollary, group by group. Metric, average, symbols and constants are the theorem's, and the
corollary assumes whatever the theorem assumes. So wherever the corollary's conditions hold the theorem applies, and its
bound is at most the corollary's. The theorem itself must be proved: its verdict is a premise. Strict conditions count as
their closures, as they do in the theorem's own derivation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp

from ....user_files import is_python_file
from ..search import certificate_for
from .derivation import Line, Verdict, allowed_point, distinct
from .reader import Reader
from .region import Certificate, Region, used_conditions
from .signomial import ZERO, Param, ProofError, Signomial


@dataclass(frozen=True)
class Corollary:
    """A corollary of a theorem.

    Args:
        theorem: the theorem, with `label` its statement that is used.
        inside: rational values that satisfy every condition; those of the fixed symbols are computed.
        powers: (condition, exponent) each: a condition between single terms, A <= B, gives A^r <= B^r as well.
        certificates: name of a line -> certificate, where none is found for it.
    """

    theorem: Any
    inside: Mapping[str, Fraction]
    powers: tuple[tuple[str, Fraction], ...] = ()
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    label: str = "corrected"


@dataclass
class _Check:
    """What has been established so far; `of`: the condition from which each other slack of the region comes."""

    region: Region
    given: Mapping[str, Certificate]
    chosen: dict[Param, Signomial]
    lines: list[Line]
    used: set[str]
    exact: set[str]
    dropped: list[str]
    point: dict[Param, Fraction] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)

    def put_in(self, value: Signomial) -> Signomial:
        for param, formula in self.chosen.items():
            value = value.substitute(param, formula)
        return value

    def accept(self, name: str, claim: str, number: Signomial, rule: str) -> None:
        """Certify that a number is nonnegative, and write the line."""
        number = self.put_in(number)
        if number.at(self.point) < 0:
            raise ProofError(f"{name}: {number!r} is negative at the point inside")
        if name in self.given:
            certificate: Certificate | None = tuple((self.put_in(m), names) for m, names in self.given[name])
        else:
            certificate = () if number.nonnegative else certificate_for(number, self.region)
        if certificate is None or not self.region.certified(number, certificate):
            raise ProofError(f"{name}: {number!r} is not certified to be nonnegative")
        uses = used_conditions(certificate)
        left = self.region.remainder(number, certificate)
        self.used |= uses
        if left:
            self.dropped.append(f"{name}: {left!r}")
        else:
            self.exact |= uses
        self.lines.append(Line(name, claim, rule, tuple(sorted(uses))))


def follow(corollary: Corollary, theorem: Any, label: str, premise: Verdict) -> Verdict:
    """Re-check that `theorem.statement(label)` follows from the corollary's theorem, whose verdict is `premise`."""
    lines: list[Line] = []
    try:
        _same_subject(corollary, theorem, label)
        statement = theorem.statement(label)
        reader = Reader(theorem, statement)
        check = _prepared(corollary, statement, reader, lines)
        _conditions(corollary, check)
        _terms(corollary, statement, reader, check)
        if premise.theorem != corollary.theorem.id or premise.statement != corollary.label:
            raise ProofError(f"the premise is not {corollary.theorem.id}, {corollary.label}")
        if not premise.checked:
            why = premise.failure or f"it rests on {', '.join(premise.given)}"
            raise ProofError(f"it follows from {corollary.theorem.id}, which is not proved: {why}")
    except ProofError as error:
        return Verdict(theorem.id, label, False, tuple(lines), failure=str(error))
    conditions = {check.of.get(name, name) for name in check.used}
    exact = {check.of.get(name, name) for name in check.exact}
    fixed = {c.name for c in statement.conditions if c.relation == "=="}
    declared = [condition.name for condition in statement.conditions]
    unused = tuple(name for name in declared if name not in conditions | fixed)
    return Verdict(
        theorem.id,
        label,
        True,
        tuple(lines),
        premise.assumptions,
        tuple(sorted(conditions | fixed)),
        unused,
        tuple(check.dropped),
        tuple(sorted(conditions - exact - fixed)),
        reading=(f"from {corollary.theorem.id}, {corollary.label}, which the kernel has checked",),
        facts=tuple(lines),  # type: ignore[arg-type]
        formal=premise.formal,
        rests_on=premise.rests_on,
    )


def _same_subject(corollary: Corollary, theorem: Any, label: str) -> None:
    """Both bound the same number for the same problems, in the same symbols."""
    parent, own = corollary.theorem, theorem.statement(label)
    if theorem.metric != parent.metric or theorem.average != parent.average:
        raise ProofError(f"another metric than that of {parent.id}")
    same_symbols(parent, theorem)
    if theorem.problem != parent.problem or not set(parent.assume) <= {*theorem.assume, *own.assume}:
        raise ProofError(f"other problems than those of {parent.id}")
    needed = [item.name for item in parent.assumptions if item not in theorem.assumptions]
    if needed:
        raise ProofError(f"{parent.id} assumes {needed[0]!r}, which the corollary does not list")
    if _run(parent, own) != _run(theorem, own):
        raise ProofError(f"{parent.id} is about another method, or gives it other hyperparameters")
    if not set(parent.statement(corollary.label).assume) <= {*theorem.assume, *own.assume}:
        raise ProofError(f"{parent.id} assumes more of a problem")


def _run(theorem: Any, statement: Any) -> Any:
    """The method of a theorem with all that it is given, the schedule of a statement put in; a file that it names is one in its folder."""
    method = theorem.method
    if method is None:
        return None
    fixed = {c.left: c.right for c in statement.conditions if c.relation == "=="}
    values = {name: sp.sympify(formula).xreplace(fixed) for name, formula in method.values.items()}
    return method.name, values, dict(method.options), method.folder if is_python_file(method.name) else None


def same_symbols(parent: Any, theorem: Any) -> None:
    """Raises unless each symbol of the theorem is one of the corollary, for the same quantity in the same domain."""
    own = {binding.name: binding for binding in theorem.notation}
    for binding in parent.notation:
        if binding.name not in own or _meaning(own[binding.name]) != _meaning(binding):
            raise ProofError(f"{binding.name} is another quantity than in {parent.id}, or has another domain")


def _meaning(binding: Any) -> tuple[Any, Any]:
    """What a symbol stands for, with its domain."""
    return binding.quantity, binding.symbol


def _prepared(corollary: Corollary, statement: Any, reader: Reader, lines: list[Line]) -> _Check:
    formulas, powers = _constants(corollary, reader)
    others = dict(reader.quotients), dict(reader.exponentials), dict(reader.sums)
    chosen: dict[Param, Signomial] = {}
    slacks: dict[str, Signomial] = {}
    fixed: dict[str, str] = {}
    of: dict[str, str] = {}
    for condition in statement.conditions:
        param = _fixed_param(condition, reader, chosen)
        if param is None:
            first, *second = reader.slack(condition)
            slacks |= {condition.name: first} | {f"{condition.name} reversed": other for other in second}
            of |= {f"{condition.name} reversed": condition.name for _ in second}
            continue
        value = reader.read(condition.right)
        for earlier, formula in chosen.items():
            value = value.substitute(earlier, formula)
        if param in value.params or any(param in formula.params for formula in formulas.values()):
            raise ProofError(f"{condition.name}: {param.name} stands in its own formula or in that of a constant")
        chosen = {earlier: formula.substitute(param, value) for earlier, formula in chosen.items()} | {param: value}
        lines.append(Line(condition.name, f"{param.name} = {value!r}", "schedule", ()))
        if param.count:
            fixed[f"{param.name}>=1"] = param.name
    check = _Check(
        Region({}, formulas, powers, *others), corollary.certificates, chosen, lines, set(), set(), [], of=of
    )
    table = {name: check.put_in(slack) for name, slack in slacks.items()}
    table |= {name: chosen[reader.params[param]] - 1 for name, param in fixed.items()}
    powered = {f"{name}^{exponent}": slack for name, exponent, slack in _powers(corollary, table)}
    distinct([*(c.name for c in statement.conditions), *of, *fixed, *powered])
    of |= {f"{name}^{exponent}": of.get(name, name) for name, exponent in corollary.powers}
    table |= powered
    check.region = Region(table, formulas, powers, *others)
    _inhabited(corollary, reader, check)
    return check


def _constants(corollary: Corollary, reader: Reader) -> tuple[dict[Param, Signomial], dict[Param, int]]:
    """Formulas and powers of the corollary's constants, and of those of the theorem whose name the corollary does not have."""
    parent = Reader(corollary.theorem, corollary.theorem.statement(corollary.label))
    formulas, powers = dict(reader.formulas), dict(reader.powers)
    for param, formula in parent.formulas.items():
        if param.name not in reader.params:
            formulas[param] = formula
            if param in parent.powers:
                powers[param] = parent.powers[param]
    return formulas, powers


def _fixed_param(condition: Any, reader: Reader, chosen: Mapping[Param, Signomial]) -> Param | None:
    """The symbol that a condition `symbol == formula` fixes, the first time that one does."""
    if condition.relation != "==" or not condition.left.is_Symbol:
        return None
    param = reader.params.get(condition.left.name)
    return None if param is None or param in chosen or param in reader.formulas else param


def _powers(corollary: Corollary, slacks: Mapping[str, Signomial]) -> Iterator[tuple[str, Fraction, Signomial]]:
    """(condition, r, B^r - A^r) from A <= B, for single terms A, B and r > 0."""
    for name, exponent in corollary.powers:
        slack = slacks.get(name, ZERO)
        signs = sorted(coefficient > 0 for _, coefficient in slack.terms)
        if signs != [False, True] or exponent <= 0:
            raise ProofError(f"{name}^{exponent}: wanted a condition between single terms and a positive exponent")
        small, large = (Signomial([(m, abs(c))]) for m, c in sorted(slack.terms, key=lambda term: term[1] > 0))
        yield name, exponent, large**exponent - small**exponent


def _inhabited(corollary: Corollary, reader: Reader, check: _Check) -> None:
    """A rational point at which every condition holds."""
    point = check.region.constants_at(allowed_point(reader, corollary.inside))
    for param, formula in check.chosen.items():
        point[param] = formula.at(point)
        if point[param] <= 0 or (param.count and point[param].denominator != 1):
            raise ProofError(f"the point inside: {param.name} = {point[param]} is not allowed")
    for name, slack in check.region.conditions.items():
        if slack.at(point) < 0:
            raise ProofError(f"the point inside violates {name}")
    check.point = point


def _conditions(corollary: Corollary, check: _Check) -> None:
    """(a) What the theorem needs."""
    reader = _parent(corollary, check)
    for condition in corollary.theorem.statement(corollary.label).conditions:
        for slack in reader.slack(condition):
            check.accept(f"condition {condition.name}", str(condition), slack, "condition of the theorem")


def _parent(corollary: Corollary, check: _Check) -> Reader:
    """The theorem's formulas, whose constants are those of the corollary."""
    reader = Reader(corollary.theorem, corollary.theorem.statement(corollary.label))
    for param, formula in reader.formulas.items():
        if check.region.formulas.get(param) != formula or check.region.powers.get(param) != reader.powers.get(param):
            raise ProofError(f"the constant {param.name} is not that of {corollary.theorem.id}")
    for theirs, own in ((reader.quotients, check.region.quotients), (reader.sums, check.region.sums)):
        for param, made in theirs.items():
            if own.get(param) != made:
                raise ProofError(f"the constant {param.name} is not that of {corollary.theorem.id}")
    return reader


def _terms(corollary: Corollary, statement: Any, own: Reader, check: _Check) -> None:
    """(b) Terms of one name are compared; those whose name only one side has are compared together."""
    reader = _parent(corollary, check)
    fixed = check.chosen.keys() & {*own.logarithms.values(), *reader.logarithms.values()}
    if fixed:
        raise ProofError(f"{min(p.name for p in fixed)}: nothing is put in for a symbol in a logarithm")
    parent = {term.name: term.expr for term in corollary.theorem.statement(corollary.label).terms}
    mine = {term.name: term.expr for term in statement.terms}
    if not mine:
        raise ProofError("the statement has no terms")
    rest = ZERO
    for name in dict.fromkeys((*parent, *mine)):
        gap = (own.read(mine[name]) if name in mine else ZERO) - (reader.read(parent[name]) if name in parent else ZERO)
        if name in parent and name in mine:
            check.accept(f"term {name}", f"{parent[name]} <= {mine[name]}", gap, "substitution")
        else:
            rest = rest + gap
    if rest:
        check.accept("other terms", f"0 <= {rest!r}", rest, "substitution")
