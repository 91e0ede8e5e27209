"""Every small change of a derivation or of a statement, one at a time, to see that the check notices it.

python -m fedco.bounds.proof.mutation [SAMPLE] [ID ...] prints the outcomes for every derivation, or for those named; without a
sample it tries every change.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import sympy as sp

from ..language.change import with_statement
from ..language.reading import InputError
from ..language.theorem import Condition, Statement, Term, Theorem
from ..registry import get_theorem
from .derivations import derivation, derived_ids, prove, verdict
from .kernel import Derivation, Inequality, Loop, Param, Plan, ProofError, Signomial, Verdict, cases_of, check
from .kernel.derivation import Progress, begin, finish


@dataclass(frozen=True)
class Mutant:
    """A changed object and where it was changed."""

    where: str
    value: Any


def mutants(value: Any, where: str = "") -> Iterator[Mutant]:
    """Each number, exponent, sign, shift, flag and list entry inside, changed one at a time."""
    if isinstance(value, Signomial):
        yield from _signomials(value, where)
    elif isinstance(value, bool):
        yield Mutant(where, not value)
    elif isinstance(value, int):
        yield from (Mutant(where, value + by) for by in (1, -1))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from (Mutant(m.where, (*value[:i], m.value, *value[i + 1 :])) for m in mutants(item, f"{where}[{i}]"))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (Mutant(m.where, {**value, key: m.value}) for m in mutants(item, f"{where}[{key}]"))
    elif is_dataclass(value) and not isinstance(value, Param | type):
        yield from _fields(value, where)


def _fields(value: Any, where: str) -> Iterator[Mutant]:
    for item in fields(value):
        if item.init and item.name not in ("why", "inside", "shift", "theorem"):
            for mutant in mutants(getattr(value, item.name), f"{where}.{item.name}"):
                try:
                    yield Mutant(mutant.where, replace(value, **{item.name: mutant.value}))
                except ProofError:
                    continue  # refused at construction


def _signomials(value: Signomial, where: str) -> Iterator[Mutant]:
    for i, (monomial, coefficient) in enumerate(value.terms):
        rest = [term for j, term in enumerate(value.terms) if j != i]
        for text, factor in (("doubled", Fraction(2)), ("halved", Fraction(1, 2)), ("negated", Fraction(-1))):
            yield Mutant(f"{where}: {text}", Signomial([*rest, (monomial, factor * coefficient)]))
        for j, (param, exponent) in enumerate(monomial):
            raised = (*monomial[:j], (param, exponent + 1), *monomial[j + 1 :])
            changed = tuple((p, e) for p, e in raised if e)
            yield Mutant(f"{where}: exponent of {param.name}", Signomial([*rest, (changed, coefficient)]))
            others = Signomial([((*monomial[:j], *monomial[j + 1 :]), coefficient)])
            for inner in mutants(param.least, f"{where}: {param.name}"):
                with suppress(ProofError):  # a minimum of numbers that may be negative is refused at construction
                    first, second = inner.value
                    yield Mutant(inner.where, Signomial(rest) + others * first.least(second) ** exponent)


def statement_mutants(statement: Statement) -> Iterator[Mutant]:
    """Each term and each condition of a statement, changed one at a time."""
    for i, term in enumerate(statement.terms):
        for text, expr in _expressions(term.expr):
            terms = (*statement.terms[:i], Term(term.name, expr, term.role), *statement.terms[i + 1 :])
            yield Mutant(f"term {term.name}: {text}", replace(statement, terms=terms))
    for i, condition in enumerate(statement.conditions):
        others = (statement.conditions[:i], statement.conditions[i + 1 :])
        yield Mutant(f"condition {condition.name}: dropped", replace(statement, conditions=others[0] + others[1]))
        for text, right in _expressions(condition.right):
            changed = Condition(condition.name, condition.left, condition.relation, right)
            yield Mutant(
                f"condition {condition.name}: {text}", replace(statement, conditions=(*others[0], changed, *others[1]))
            )


def constant_mutants(statement: Statement) -> Iterator[Mutant]:
    """Each derived constant of a statement, and each number, power and term inside its formula, changed one at a time."""
    for i, constant in enumerate(statement.derived):
        for text, expr in (*_expressions(constant.expr), *_inside(constant.expr)):
            changed = replace(constant, expr=expr)
            others = (*statement.derived[:i], changed, *statement.derived[i + 1 :])
            yield Mutant(f"constant {constant.name}: {text}", replace(statement, derived=others))


def _inside(expr: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """An exponent larger or smaller by 1, a factor or a term left out, anywhere in an expression."""
    for i, part in enumerate(expr.args):
        others = (*expr.args[:i], *expr.args[i + 1 :])
        if expr.is_Add or expr.is_Mul:
            yield f"without {part}", expr.func(*others)
        if expr.is_Pow and i == 1:
            yield from ((f"exponent {part + by}", expr.func(expr.base, part + by)) for by in (1, -1))
        elif not isinstance(part, sp.Tuple):
            yield from ((text, expr.func(*expr.args[:i], inner, *expr.args[i + 1 :])) for text, inner in _inside(part))


def _expressions(expr: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    yield "doubled", 2 * expr
    yield "halved", expr / 2
    yield "negated", -expr
    for symbol in sorted(expr.free_symbols, key=str):
        yield f"times {symbol}", expr * symbol
        yield f"divided by {symbol}", expr / symbol


class Resumed:
    """An accepted derivation with what is established before each step, so that a change is checked from where it was made."""

    def __init__(self, plan: Derivation, theorem: Theorem, label: str):
        self.plan, self.theorem, self.label = plan, theorem, label
        self.before = [begin(plan, theorem, label)]
        for step in plan.steps:
            self.before.append(self.before[-1].after(step))
        self.accepted = finish(self.before[-1])

    def verdict(self, changed: Derivation, theorem: Theorem) -> Verdict:
        """What `check` says of the changed derivation, or of the same one for a theorem with a changed statement."""
        if not self._declared_alike(changed, theorem):
            return check(changed, theorem, self.label)
        pairs = zip(self.plan.steps, changed.steps, strict=True)
        first = next((i for i, (old, new) in enumerate(pairs) if old is not new), len(self.plan.steps))
        start = replace(self.before[first], derivation=changed, theorem=theorem)
        if first == len(self.plan.steps):
            return finish(start)
        try:
            after = start.after(changed.steps[first])
        except ProofError as error:
            failure = f"step {changed.steps[first].name}: {error}"
            return Verdict(theorem.id, self.label, False, start.lines, failure=failure)
        others = all(
            old is new for old, new in zip(self.plan.steps[first + 1 :], changed.steps[first + 1 :], strict=True)
        )
        if others and what_is_established(after) == what_is_established(self.before[first + 1]):
            return self.accepted
        return finish(after)

    def _declared_alike(self, changed: Derivation, theorem: Theorem) -> bool:
        names = (
            "setting",
            "quantities",
            "axioms",
            "inside",
            "time",
            "model",
            "lemmas",
            "either",
            "offset",
            "pathwise",
        )
        if any(getattr(changed, name) is not getattr(self.plan, name) for name in names):
            return False
        mine, other = self.theorem.statement(self.label), theorem.statement(self.label)
        return len(self.plan.steps) == len(changed.steps) and (mine.conditions, mine.derived) == (
            other.conditions,
            other.derived,
        )


def what_is_established(progress: Progress) -> tuple[Any, ...]:
    """All that later steps and the verdict can see of a step that was just checked."""
    state, line = progress.state, progress.lines[-1]
    return state.facts[line.name], line.name, line.uses, state.used, state.dropped, state.exact


OUTCOMES = ("refused", "reported", "same", "survived")


def outcome(changed: Plan, theorem: Theorem, label: str, before: Verdict, resumed: Resumed | None = None) -> str:
    """What the check makes of a change: one of `OUTCOMES`; `resumed` saves the time for what comes before the change.

    `refused`: it does not check. `reported`: it checks, and leaves out or uses something else than before, and says so. `same`:
    every step still says the same, such as another way to write a projected inner product, up to an equation in the place
    of an inequality. `survived`: none of these.
    """
    if resumed is not None and isinstance(changed, Derivation):
        after = resumed.verdict(changed, theorem)
    else:
        after = verdict(changed, theorem, label)
    if not after.accepted:
        return "refused"
    if _signature(after) != _signature(before):
        return "reported"
    return "same" if _claims(after) == _claims(before) else "survived"


def _claims(found: Verdict) -> tuple[Any, ...]:
    return tuple(replace(f, equal=False) if isinstance(f, Inequality) else f for f in found.facts)


@dataclass(frozen=True)
class Survey:
    """How many changes of a derivation and of its statement had each outcome; `survivors` says where the others were made.

    `of` is the number of all changes there are, of which a sample may have been tried.
    """

    theorem: str
    of: int
    counts: Mapping[str, int]
    survivors: tuple[str, ...]

    @property
    def tried(self) -> int:
        return sum(self.counts.values())

    @property
    def share(self) -> Fraction:
        """Share of the tried changes that did not survive."""
        return 1 - Fraction(len(self.survivors), self.tried) if self.tried else Fraction(1)

    def __str__(self) -> str:
        parts = ", ".join(f"{n} {name}" for name, n in self.counts.items())
        rest = "".join(f"\n  survived: {where}" for where in self.survivors)
        return (
            f"{self.theorem}: {self.tried} of {self.of} changes tried: {parts}; noticed {float(self.share):.2%}{rest}"
        )


def survey(theorem: Theorem, sample: int = 0) -> Survey:
    """Try every change of the derivation and of the statement that it proves, or a random sample of them.

    Each of several cases is tried by itself.

    Raises:
        InputError: the theorem has no derivation, or it does not check.
    """
    plan, proved = derivation(theorem), prove(theorem)
    if plan is None or not proved.accepted:
        raise InputError(f"{theorem.id}: wanted a derivation that checks, got {proved.failure or 'none'}")
    label = proved.statement
    cases = cases_of(plan)
    changes: list[tuple[str, str, Plan, Theorem]] = []
    for name, case in cases:
        changes += [(name, f"{name}{m.where}", m.value, theorem) for m in mutants(case)]
        statement = theorem.statement(label)
        for m in (*statement_mutants(statement), *(constant_mutants(statement) if isinstance(case, Loop) else ())):
            changes.append((name, f"{name} {m.where}".strip(), case, with_statement(theorem, m.value)))
    chosen = Random(f"{theorem.id} 0").sample(changes, min(sample, len(changes))) if sample else changes
    counts, survivors = dict.fromkeys(OUTCOMES, 0), []
    resumed = {name: Resumed(case, theorem, label) for name, case in cases if isinstance(case, Derivation)}
    known = {name: resumed[name].accepted if name in resumed else verdict(case, theorem, label) for name, case in cases}
    for name, where, changed, about in chosen:
        found = outcome(changed, about, label, known[name], resumed.get(name))
        counts[found] += 1
        if found == "survived":
            survivors.append(where)
    return Survey(theorem.id, len(changes), counts, tuple(survivors))


def _signature(verdict: Verdict) -> tuple[Any, ...]:
    uses = tuple((line.name, line.uses) for line in verdict.lines)
    return verdict.dropped, verdict.loose, verdict.assumptions, verdict.conditions, verdict.unused, uses


if __name__ == "__main__":
    given = sys.argv[1:]
    size = int(given.pop(0)) if given and given[0].isdigit() else 0
    for name in given or derived_ids():
        print(survey(get_theorem(name), size), flush=True)
