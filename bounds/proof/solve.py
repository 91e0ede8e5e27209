"""From claims with reasons to combinations with multipliers. Nothing here need be trusted: the kernel checks the steps that come out.

A claim left <= right is the sum of its premises times multipliers, less squares, less what is nonnegative by what it is. Each scalar
without sign is an equation for the multipliers; a nonnegative one is tight where they leave freedom, and left over where they do not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog

from .candidates import (
    Candidate,
    Meaning,
    Pairing,
    Parts,
    Premise,
    Written,
    deviations,
    meanings,
    pairings,
    premises,
    squares,
)
from .claims import Claim, Conclusion, Unsolved, Vanishes
from .kernel import Alternatives, Assumed, Combine, Derivation, Linear, Loop, Plan, Reader, Step
from .kernel.derivation import begin, checked_line, reading
from .kernel.facts import Fact, Moment, State, phases_of
from .kernel.loop import BEFORE, settled
from .kernel.problem import left_side, right_side
from .kernel.region import Region
from .kernel.scalars import Atom, Inner, One
from .kernel.signomial import ONE, ZERO, Param, ProofError, Signomial
from .linear import Column, NotSolved, Point, Profile, profile, solution


def solved(plan: Plan, theorem: Any, label: str) -> Plan:
    """The derivation with a combination in the place of each claim.

    Raises:
        ProofError: a claim does not follow, or another step does not.
    """
    if isinstance(plan, Alternatives):
        return replace(plan, cases=tuple((name, _solved(case, theorem, label)) for name, case in plan.cases))
    if isinstance(plan, Loop):
        return _loop(plan, theorem, theorem.statement(label))
    return _solved(plan, theorem, label) if isinstance(plan, Derivation) else plan


def _loop(plan: Loop, theorem: Any, statement: Any, before: str = "") -> Loop:
    if plan.before is not None:
        plan = replace(plan, before=_loop(plan.before, theorem, statement, BEFORE + before))
    if not any(isinstance(step.rule, Unsolved) for step in plan.steps):
        return plan
    begun = settled(replace(plan, steps=()), theorem, statement, Reader(theorem, statement))
    return replace(plan, steps=Solver(begun).all(plan.steps, before))


def _solved(plan: Derivation, theorem: Any, label: str) -> Derivation:
    if not isinstance(plan.conclusion, Conclusion) and not any(isinstance(s.rule, Unsolved) for s in plan.steps):
        return plan
    statement = theorem.statement(label)
    reader = Reader(theorem, statement)
    plan = replace(plan, inside={**_inside(plan, statement, reader), **plan.inside})
    solver = Solver(begin(plan, theorem, label).state)
    steps = solver.all(plan.steps)
    conclusion = plan.conclusion
    if isinstance(conclusion, Conclusion):
        said = reading(plan, theorem, statement, reader)
        left = left_side(said, plan.metric, solver.state.horizon, solver.state.offset)
        right = right_side(said, solver.state.horizon)
        try:
            rule, *_ = solver.combination(Claim(left, right, conclusion.by, given=conclusion.given))
        except ProofError as error:
            raise ProofError(f"the statement: {error}") from None
        conclusion = rule.weights
    return replace(plan, steps=steps, conclusion=conclusion)


def _inside(plan: Derivation, statement: Any, reader: Reader) -> dict[str, Fraction]:
    """1 for every symbol of a statement and of its assumptions, where the author gives no other value."""
    expressions = [term.expr for term in statement.terms] + [constant.expr for constant in statement.derived]
    expressions += [side for condition in statement.conditions for side in (condition.left, condition.right)]
    found = {symbol.name for expr in expressions for symbol in expr.free_symbols}
    names = sorted(found | {item.symbol for item in plan.axioms.values() if isinstance(item, Assumed)})
    own = {constant.name for constant in statement.derived if constant.name not in reader.opaque}
    return {name: Fraction(1) for name in names if name in reader.params and name not in own}


class Solver:
    """The steps of a derivation, one after the other, each claim with its multipliers."""

    def __init__(self, state: State):
        self.state, self.point, self.written = state, Point(state.region), Written(state)
        self.steps: list[Step] = []

    def all(self, steps: Iterable[Step], before: str = "") -> tuple[Step, ...]:
        """The steps with their multipliers; `before` stands before the names of those of a loop before.

        Raises:
            ProofError: one does not follow.
        """
        for step in steps:
            try:
                self.add(step)
            except ProofError as error:
                raise ProofError(f"step {before}{step.name}: {error}") from None
        return tuple(self.steps)

    def add(self, step: Step) -> None:
        """One more step.

        Raises:
            ProofError: it does not follow.
        """
        if isinstance(step.rule, Claim):
            rule, fact, before = self.combination(step.rule)
            for each in before:
                self.add(each)
            self.state.facts[step.name] = fact
            step = replace(step, rule=rule)
        else:
            if isinstance(step.rule, Vanishes):
                step = replace(step, rule=self.linear(step.rule))
            checked_line(self.state, step)
        self.written.read(step.rule)
        self.steps.append(step)

    def linear(self, claim: Vanishes) -> Linear:
        columns = [{node: c for c, node in self.state.equation(name, position=True).term.parts} for name in claim.by]
        goal = {node: c for c, node in self.state.algebra.normal(claim.term).parts}
        rows = list(dict.fromkeys(node for column in (*columns, goal) for node in column))
        found = profile(self.point, goal, columns, rows, len(rows))
        if found.failed:
            raise _does_not_follow(found)
        values = solution(goal, columns, found)
        return Linear(claim.term, tuple((values[k], claim.by[k]) for k in sorted(values)))

    def combination(self, claim: Claim) -> tuple[Combine, Fact, tuple[Step, ...]]:
        """The claim with multipliers, what the kernel makes of it, and the meanings of quantities that have to stand before it.

        Raises:
            ProofError: no multipliers were found that the kernel accepts; it names earlier steps that would close the claim.
        """
        if unknown := [name for name in (*claim.by, *dict(claim.given)) if name not in self.state.facts]:
            raise NotSolved(f"{unknown[0]}: no such step before this one")
        self.written.read(claim)
        try:
            return self._by_its_reasons(claim)
        except ProofError as error:
            if not (missing := self.missing(claim)):
                raise
            steps = " and ".join(repr(name) for name in missing)
            raise NotSolved(f"{error}; it follows with {steps} among its reasons") from None

    def missing(self, claim: Claim) -> tuple[str, ...]:
        """Earlier steps with which a claim follows that does not follow from its reasons; none where no such steps were found.

        Tried is each step by itself, the latest first, then those that a linear program takes at a point of the region; before and
        after the reasons that are given, as the solver heeds their order. A step that holds at fewer times than these is not tried,
        and none where the claim does not follow from all of them at the point.
        """
        facts = self.state.facts
        given = {*claim.by, *dict(claim.given)}
        try:
            times = phases_of([facts[name] for name in given])
        except ProofError:  # the reasons do not hold together
            return ()
        others = [
            name
            for name, fact in reversed(facts.items())
            if name not in given and not isinstance(fact, Moment) and _covers(fact.phases, times)
        ]
        together = list(self._at_a_point(claim, others))
        if not together:
            return ()
        chosen = next(((name,) for name in others if self._follows(claim, (name,))), ())
        return chosen or next(
            (self._no_more(claim, each) for each in together if each and self._follows(claim, each)), ()
        )

    def _at_a_point(self, claim: Claim, others: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """The steps with which the claim follows at a point of the region, for each system in which it does."""
        point = next(iter(self.state.points), None)
        if point is None:
            yield ()
            return
        for goal, candidates in self._systems(replace(claim, by=(*claim.by, *others))):
            rows = dict.fromkeys(atom for column in (goal, *(c.column for c in candidates)) for atom in column)
            tight = [atom for atom in rows if claim.equal or not self.state.nonnegative_atom(atom)]
            chosen = reasons_at(point, goal, candidates, tight, others)
            if chosen is not None:
                yield chosen

    def _no_more(self, claim: Claim, chosen: tuple[str, ...]) -> tuple[str, ...]:
        """The steps without those that are not needed."""
        for name in chosen:
            fewer = tuple(other for other in chosen if other != name)
            chosen = fewer if self._follows(claim, fewer) else chosen
        return chosen

    def _follows(self, claim: Claim, more: Sequence[str]) -> bool:
        for reasons in ((*claim.by, *more), (*more, *claim.by)):
            try:
                self._by_its_reasons(replace(claim, by=reasons))
            except ProofError:
                continue
            return True
        return False

    def _systems(self, claim: Claim) -> Iterator[tuple[Column, list[Candidate]]]:
        """What is to be added up, and what may be: the reasons, then also the meanings of quantities, then also Jensen's inequality."""
        state = self.state
        goal: Column = state.form(claim.left - claim.right)
        for premise, (_, factor) in zip(premises(state, dict(claim.given)), claim.given, strict=True):
            goal = _less(goal, premise.column, factor)
        known: list[Candidate] = [*premises(state, claim.by), *squares(state, claim.squares)]
        opened = meanings(state, [goal, *(c.column for c in known)])
        jensen = squares(state, deviations(claim.left))
        extras: list[tuple[Candidate, ...]] = [(), tuple(opened), tuple(jensen), (*opened, *jensen)]
        for more in dict.fromkeys(extras):
            candidates: list[Candidate] = [*known, *more]
            tables = [goal, *(c.column for c in candidates)]
            yield goal, [*candidates, *pairings(state, self.written, claim.by, tables)]

    def _by_its_reasons(self, claim: Claim) -> tuple[Combine, Fact, tuple[Step, ...]]:
        failure: ProofError = NotSolved("no reason is given")
        for goal, candidates in self._systems(claim):
            try:
                return self._tried(claim, goal, candidates)
            except ProofError as error:
                failure = error
        raise failure

    def _tried(
        self, claim: Claim, goal: Column, candidates: Sequence[Candidate]
    ) -> tuple[Combine, Fact, tuple[Step, ...]]:
        """One choice of what is tight after the other, constants as they are, by their formulas, and in the place of these."""
        failure: ProofError = NotSolved("no reason is given")
        region, columns = self.state.region, [c.column for c in candidates]
        for shown in dict.fromkeys(self._profiles(claim, goal, columns)):
            if shown.failed:
                raise _does_not_follow(shown)
            for form in (lambda value: value, partial(_formulas_in, region), partial(_formulas_out, region)):
                try:
                    first, *rest = ({row: form(value) for row, value in table.items()} for table in (goal, *columns))
                    values = solution(first, rest, shown)
                    return self._accepted(claim, [(candidates[k], values[k]) for k in sorted(values)])
                except ProofError as error:
                    failure = error
        raise failure

    def _profiles(self, claim: Claim, goal: Column, columns: Sequence[Column]) -> Iterator[Profile]:
        rows = list(dict.fromkeys(atom for column in (goal, *columns) for atom in column))
        signed = [a for a in rows if claim.equal or not self.state.nonnegative_atom(a)]
        signed.sort(key=lambda atom: isinstance(atom, Inner))
        others = [a for a in rows if not claim.equal and self.state.nonnegative_atom(a)]
        for first in _TIGHT:
            ordered = sorted(others, key=lambda atom: first(goal.get(atom, ZERO), atom))
            yield profile(self.point, goal, columns, [*signed, *ordered], len(signed))

    def _accepted(
        self, claim: Claim, chosen: list[tuple[Candidate, Signomial]]
    ) -> tuple[Combine, Fact, tuple[Step, ...]]:
        parts = Parts([(factor, name) for name, factor in claim.given], [], {}, [])
        for candidate, factor in chosen:
            candidate.put(parts, factor)
        order = {name: i for i, name in enumerate(claim.by)}
        rule = Combine(
            claim.left,
            claim.right,
            tuple(sorted(parts.weights, key=lambda item: order.get(item[1], len(order)))),
            tuple(parts.squares),
            tuple((ONE, name, term) for name, term in parts.pairings.items()),
            claim.equal,
            claim.certificates,
        )
        before = tuple(step for step in parts.meanings if step.name not in self.state.facts)
        state = self.state.copy()
        for step in before:
            checked_line(state, step)
        return rule, rule.apply(state), before


def _does_not_follow(found: Profile) -> NotSolved:
    return NotSolved(f"does not follow; left over: {', '.join(repr(row) for row in found.failed)}")


def _covers(phases: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    """Whether what holds at the first steps holds at the others; None is the whole run."""
    return phases is None if others is None else phases is not None and phases >= others


def _less(table: Column, other: Column, factor: Signomial) -> Column:
    rows = dict.fromkeys((*table, *other))
    found = {row: table.get(row, ZERO) - factor * other.get(row, ZERO) for row in rows}
    return {row: c for row, c in found.items() if c}


def _formulas_in(region: Region, value: Signomial) -> Signomial:
    """With formulas in the place of constants, where these have whole powers of theirs."""
    for param, formula in reversed(list(region.formulas.items())):
        power = region.powers.get(param, 1)
        exponents = [Fraction(e, power) for m, _ in value.terms for p, e in m if p == param]
        if exponents and all(e >= 0 and e.denominator == 1 for e in exponents):
            value = value.substitute(param, formula, power)
    return value


def _formulas_out(region: Region, value: Signomial) -> Signomial:
    """With (A - 1)/a in the place of L for a constant A = 1 + a L, and so on, so that it may be divided by A."""
    for param, formula in region.formulas.items():
        inner = (
            (p, m, c) for m, c in formula.terms for p, e in m if e == 1 and all(q.positive for q, _ in m if q != p)
        )
        for old, monomial, c in inner:
            rest = formula - Signomial([(monomial, c)])
            if old not in rest.params:
                own = Signomial([(((param, region.powers.get(param, 1)),), 1)])
                factor = Signomial([(tuple((p, e) for p, e in monomial if p != old), c)])
                value = value.substitute(old, (own - rest) / factor)
                break
    return value


# --- which earlier steps would close a claim, by a linear program at one point ---------------------------------------------------

_NONZERO = 1e-7
"""A multiplier below this, of columns scaled to 1, is taken for 0."""


def reasons_at(
    point: Mapping[Param, Fraction],
    goal: Column,
    candidates: Sequence[Candidate],
    tight: Collection[Atom],
    others: Collection[str],
) -> tuple[str, ...] | None:
    """Those of `others` that get a multiplier where the claim is put together at the point with as little of them as possible.

    The rows of `tight` have to be met, the others may leave a nonnegative rest. None where that is not possible; empty where the point
    does not tell.
    """
    if not candidates:
        return None
    columns = [c.column for c in candidates]
    try:
        tables = [{row: float(value.at(point)) for row, value in column.items()} for column in (goal, *columns)]
    except ProofError:  # a root that is not rational there
        return ()
    rows = list(dict.fromkeys(row for table in tables for row in table))
    matrix = np.array([[table.get(row, 0.0) for table in tables] for row in rows])
    matrix /= np.abs(matrix).max(axis=0, initial=1e-300)
    wanted = matrix[:, 0]
    both_signs = [isinstance(c, Meaning | Pairing) or (isinstance(c, Premise) and c.equal) for c in candidates]
    names = [c.name if isinstance(c, Premise | Pairing) else "" for c in candidates]
    parts = np.hstack([matrix[:, 1:], -matrix[:, 1:][:, both_signs]])
    owners = [*names, *(name for name, both in zip(names, both_signs, strict=True) if both)]
    met = np.array([row in tight for row in rows])
    found = linprog(
        [1.0 if name in others else 1e-3 for name in owners],
        A_ub=-parts[~met],
        b_ub=-wanted[~met],
        A_eq=parts[met],
        b_eq=wanted[met],
    )
    if found.x is None:
        return None
    chosen = {name for name, multiplier in zip(owners, found.x, strict=True) if multiplier > _NONZERO}
    return tuple(name for name in others if name in chosen)


# --- which nonnegative scalars are tight first -------------------------------------------------------------------------------


def _left_side(coefficient: Signomial, atom: Atom) -> tuple[bool, ...]:
    """What is to be bounded; numbers last."""
    return isinstance(atom, One), not any(c > 0 for _, c in coefficient.terms)


def _right_side(coefficient: Signomial, atom: Atom) -> tuple[bool, ...]:
    """Numbers, then what bounds."""
    return not isinstance(atom, One), any(c > 0 for _, c in coefficient.terms)


def _vectors(coefficient: Signomial, atom: Atom) -> tuple[bool, ...]:
    """Squared norms."""
    return not isinstance(atom, Inner), *_left_side(coefficient, atom)


_TIGHT = (_left_side, _right_side, _vectors)
