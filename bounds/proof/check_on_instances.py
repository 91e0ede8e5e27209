"""Every statement of a derivation on small concrete instances, evaluated exactly: what rests on an assumption above all.

The functions, their constants and the hyperparameters are concrete (`instances.py`, `runs.py`), the update equations are run, all
outcomes are enumerated (`finite.py`), and both sides of each step are compared at every step of the run, and every vector as it is
written with its normal form. The constants are measured on the functions by the quantities of the vocabulary, never taken from the
derivation: an assumption that a derivation formalises too strongly fails here. So does the statement, evaluated from its declaration.

python -m fedco.bounds.proof.check_on_instances [ID ...] prints for each assumption how nearly it is attained.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache, reduce
from math import prod
from typing import Any

import numpy as np
import sympy as sp
from flint import fmpq

from ..evaluation.enclosure import enclose, enclose_bound, fmpq_of
from ..evaluation.evaluate import fraction_of
from ..language.metrics import GRADIENT
from ..language.reading import InputError
from ..language.theorem import Theorem
from ..registry import get_theorem
from .derivations import checked_steps, derivation, derived_ids, parts_of, unsolved
from .finite import Component, Run, root, sum_of_sizes, times, total
from .instances import ZERO, each
from .kernel import (
    EVERY,
    Assume,
    Derivation,
    IndependentMean,
    IndependentMoment,
    Induction,
    Inequality,
    Length,
    Loop,
    Pair,
    Plan,
    ProofError,
    Reader,
    Scalar,
    SmoothDescent,
    Term,
    sq,
)
from .kernel.algebra import Algebra
from .kernel.deliveries import what_is_bounded
from .kernel.derivation import Progress, begin
from .kernel.facts import Equation, Fact, Likely, Moment
from .kernel.region import log_of_inverse
from .kernel.rules import Rule
from .kernel.scalars import At, Atom, One
from .kernel.sequences import param_of
from .runs import ALONG, STYLES, Style, instance, metric_at, objective_at_start, symbols_at

LEAVES = (Assume, IndependentMean, IndependentMoment, SmoothDescent)
"""Rules that rest on an assumption about the problem or its samples; all others follow from earlier steps."""


STATEMENT = "statement"
"""Prefix of the name of a constant that a loop delivers: what it bounds after the last step."""

OFTEN = ", how often it fails"
NORMAL = ", as it is written against its normal form"


@dataclass(frozen=True)
class Comparison:
    """One statement at one step of a run; `ratio` is left over right, None where the right side is 0."""

    step: str
    time: int | None
    holds: bool
    left: fmpq
    right: fmpq
    style: str = ""

    @property
    def ratio(self) -> float | None:
        return float(fraction_of(self.left / self.right)) if self.right > 0 else None

    def __str__(self) -> str:
        when = "" if self.time is None else f" at t = {self.time}"
        left, right = float(fraction_of(self.left)), float(fraction_of(self.right))
        return f"{self.step}{when} ({self.style}): {left:.12g} against {right:.12g}"


def both_sides(name: str, fact: Fact, run: Run) -> Iterator[Comparison]:
    """Both sides of a statement at every step at which it is said to hold."""
    if isinstance(fact, Inequality):
        for t in [None] if fact.phases is None else run.times_of(fact.phases):
            yield _inequality(name, fact, run, t)
        yield from _how_often(name, fact, run) if run.drawn is not None else ()
    elif isinstance(fact, Equation):
        for t in run.times_of(fact.phases):
            found = sum_of_sizes(run(fact.term, t))
            yield Comparison(name, t, found == 0, found, ZERO)
    else:
        for t in range(run.horizon):
            bound = run.number(fact.bound, t)
            worst = max(_conditional_square(fact, run, t).reshape(-1))
            yield Comparison(name, t, worst <= bound, worst, bound)


def _inequality(name: str, fact: Inequality, run: Run, t: int | None) -> Comparison:
    """Both sides: expectations, or outcome by outcome those where it is nearest to failing, of the outcomes at which it is said to hold."""
    outcomes = 1 if run.drawn is None else prod(len(run.law(source)) for source, _ in run.bits)

    def everywhere(side: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(side, dtype=object), (outcomes,))

    rows = [everywhere(run.number(c, t or 0) * run.atom(atom, t or 0)) for atom, c in fact.form]
    nothing = everywhere(ZERO)
    over = sum(rows, nothing)
    if fact.sides is None:
        right = -sum((np.minimum(row, nothing) for row in rows), nothing)
        left = over + right
    else:
        left, right = (everywhere(run.scalar(side, t or 0)) for side in fact.sides)
    if differs := np.flatnonzero(left - right != over).tolist():
        worst = differs[0]
        return Comparison(f"{name}{NORMAL}", t, False, left[worst] - right[worst], over[worst])
    counted = np.broadcast_to(True if run.drawn is None else ~_excepted(fact, run), (outcomes,))
    fails = over != 0 if fact.equal else over > 0
    if wrong := np.flatnonzero(fails & counted).tolist():
        return Comparison(name, t, False, left[wrong[0]], right[wrong[0]])
    ratios = [(left[i] / right[i], i) for i in np.flatnonzero(counted).tolist() if right[i] > 0]
    _, nearest = max(ratios, default=(ZERO, 0))
    return Comparison(name, t, True, left[nearest], right[nearest])


def _excepted(fact: Fact, run: Run) -> np.ndarray:
    """The outcomes at which a statement is not said to hold: those at which something fails on which it rests."""
    likely = [mark for mark in fact.uses if isinstance(mark, Likely)]
    return reduce(np.logical_or, (run.scalar(mark.left - mark.right, 0) > 0 for mark in likely), np.array(False))


def _how_often(name: str, fact: Inequality, run: Run) -> Iterator[Comparison]:
    """How often something fails on which a statement rests: with a probability of at most delta, whatever delta is.

    It says that X <= log(1/delta); so x is exceeded with a probability of at most exp(-x), which is compared where X has a value x > 0.
    """
    for mark in (mark for mark in fact.uses if isinstance(mark, Likely)):
        logarithm = log_of_inverse(mark.failure)
        rest = Scalar(tuple((c, atom) for c, atom in mark.right.parts if logarithm not in c.params))
        (times,) = (run.number(c) for c, _ in mark.right.parts if logarithm in c.params)
        times = times / fmpq_of(run.point[logarithm])
        over = run.scalar(mark.left - rest, 0)
        for value in sorted({x for x in np.asarray(over, dtype=object).ravel() if x > 0}):
            found = run.probability(over >= value)
            allowed = _exponential(-value / times) if times else ZERO
            yield Comparison(f"{name}{OFTEN}", None, found <= allowed, found, allowed)


def _exponential(x: fmpq) -> fmpq:
    """exp(x), rounded down."""
    return fmpq_of(enclose(sp.exp(sp.Rational(int(x.p), int(x.q)))).lower)


def as_written(name: str, rule: Rule, fact: Fact, algebra: Algebra, run: Run) -> Iterator[Comparison]:
    """Every vector that stands in a rule, and its normal form, wherever the two have other values."""
    phases = EVERY if isinstance(fact, Moment) or fact.phases is None else fact.phases
    for term in dict.fromkeys(_vectors_in(rule)):
        try:
            normal = algebra.normal(term)
            values = [(t, run(term, t), run(normal, t)) for t in run.times_of(phases)]
        except ProofError:
            continue  # no vector by itself, or a number of another loop
        for t, written, other in values if normal.parts else ((t, w, tuple(0 * x for x in w)) for t, w, _ in values):
            if gap := sum_of_sizes(tuple(total([x, -y]) for x, y in zip(written, other, strict=True))):
                yield Comparison(f"{name}{NORMAL}", t, False, gap, ZERO)


def _vectors_in(value: Any) -> Iterator[Term]:
    """The vectors that stand in a rule or in a number, not those inside another one."""
    if isinstance(value, Pair):
        yield from (value.point, value.label)
    elif isinstance(value, Term):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _vectors_in(part)
    elif isinstance(value, Rule | Scalar | Atom):
        for declared in fields(value):  # type: ignore[arg-type]
            yield from _vectors_in(getattr(value, declared.name))


def of_the_statement(progress: Progress, run: Run) -> Iterator[Comparison]:
    """The length of the run and of its rounds, and the metric against the terms of the statement as they are declared."""
    plan, statement = progress.derivation, progress.theorem.statement(progress.label)
    lengths = {"horizon": (progress.state.horizon, run.horizon), "period": (progress.state.period, run.period)}
    for name, (symbols, steps) in lengths.items():
        yield Comparison(f"{name} {symbols!r}", None, run.number(symbols) == steps, run.number(symbols), fmpq(steps))
    if plan.lemmas or objective_at_start(progress, run) is None:
        return  # constants that lemmas give are measured, not computed by their formulas; or there is no objective
    values = symbols_at(progress, run)
    bound = fmpq_of(enclose_bound(statement, values)["total"].upper)
    failure = progress.theorem.metric.failure
    if failure and progress.state.failure is None:
        bound = bound * fmpq_of(values[failure])  # of the expectation, from which it follows by Markov's inequality
    if progress.theorem.metric.of == GRADIENT:
        bound = bound * bound  # the mean of the squares, from which that of the norm follows by Jensen's inequality
    if progress.state.failure is None:
        found = metric_at(progress, run)
        yield Comparison(STATEMENT, None, found <= bound, found, bound)
    else:
        along = run.outcome_by_outcome()
        found, share = along.probability(metric_at(progress, along) > bound), fmpq_of(values[failure])
        yield Comparison(STATEMENT, None, found <= share, found, share)


def _conditional_square(fact: Moment, run: Run, t: int) -> Component:
    """E[|term|^2 | given] for every index and outcome; a norm of operators is rounded down."""
    parts = run(fact.term, t)
    squares = total([times(x, x) for x in parts])
    if len(parts) == 4 and not fact.trace:
        a, b, c, d = parts
        determinant = total([times(a, d), -times(b, c)])
        spread = total([times(squares, squares), -4 * times(determinant, determinant)])
        squares = total([squares, each(lambda x: root(x, up=False), spread)]) / fmpq(2)
    if fact.given is None:
        return squares
    return run.expected(squares, fact.given, t)


# --- a derivation -----------------------------------------------------------------------------------------------------


@dataclass
class Leaves:
    """What was found for the steps of one derivation: how often compared, which, what failed, the largest ratio of each leaf."""

    theorem: str
    compared: int = 0
    steps: set[str] = field(default_factory=set)
    failed: list[Comparison] = field(default_factory=list)
    tightest: dict[str, float] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)

    def record(self, one: Comparison, style: Style, *, leaf: bool = False) -> None:
        """One more comparison, on an instance of a style."""
        self.compared += 1
        self.steps.add(one.step)
        if not one.holds:
            self.failed.append(replace(one, style=style.name))
        if leaf and one.ratio is not None and one.ratio > self.tightest.get(one.step, -1.0):
            self.tightest[one.step], self.where[one.step] = one.ratio, style.name

    def __str__(self) -> str:
        rows = [f"{self.theorem}: {self.compared} comparisons, {len(self.failed)} failed"]
        rows += [f"  {name:28} {ratio:.6f}  {self.where[name]}" for name, ratio in self.tightest.items()]
        return "\n".join([*rows, *(f"  FAILED {one}" for one in self.failed)])


def derivation_names() -> tuple[str, ...]:
    """Ids of the theorems with a derivation of their own (a corollary follows from its theorem); with several cases, "ID CASE" each."""
    return tuple(found for name in derived_ids() for found in _names_of(get_theorem(name)))


@cache
def _names_of(theorem: Theorem) -> tuple[str, ...]:
    """Read off its derivation once in a process."""
    return tuple(_by_name(theorem, unsolved(theorem)))


def _by_name(theorem: Theorem, plan: Plan | None) -> dict[str, Derivation | Loop]:
    rows = ((f"{case} {prefix}", each) for case, parts in parts_of(plan) for prefix, each in parts)
    return {f"{theorem.id} {name.strip()}".strip(): each for name, each in rows}


@cache
def established(name: str) -> Progress:
    """The checked steps of a derivation, one of `derivation_names`; checked once in a process.

    Raises:
        InputError: there is none of this name.
        ProofError: a step does not follow.
    """
    theorem = get_theorem(name.partition(" ")[0])
    plan = _by_name(theorem, derivation(theorem)).get(name)
    if plan is None:
        raise InputError(f"{name}: no derivation of its own; there are {', '.join(derivation_names())}")
    return checked_steps(plan, theorem, theorem.default)


def reached(plan: Derivation | Loop, theorem: Theorem, label: str) -> Progress:
    """What the steps of a derivation establish as far as the kernel follows them.

    Raises:
        ProofError: the declarations are not allowed, or a step of a loop does not follow.
    """
    if isinstance(plan, Loop):
        return checked_steps(plan, theorem, label)
    progress = begin(plan, theorem, label)
    for step in plan.steps:
        try:
            progress = progress.after(step)
        except ProofError:
            break
    return progress


def conclusion(progress: Progress) -> Fact:
    """The statement itself, after the last step.

    Raises:
        ProofError: it does not follow.
    """
    if not progress.verdict.accepted:
        raise ProofError(progress.verdict.failure)
    return progress.verdict.facts[-1]


def concluded(progress: Progress) -> dict[str, Fact]:
    """What the steps establish, and the statement where it follows."""
    found = dict(progress.state.facts)
    if not isinstance(progress.derivation, Loop):
        with suppress(ProofError):
            found["conclusion"] = conclusion(progress)
    return found


def leaf_names(progress: Progress) -> frozenset[str]:
    """The steps that rest on an assumption."""
    return frozenset(step.name for step in progress.derivation.steps if isinstance(step.rule, LEAVES))


def instances(progress: Progress, styles: tuple[Style, ...] = STYLES, *, free: bool = False) -> dict[Style, Run]:
    """A run of each style, and of `ALONG` where a loop goes back along another."""
    if progress.state.earlier is not None and not free:
        styles += ALONG
    return {style: instance(style, progress, free=free) for style in styles}


def examine(progress: Progress, runs: Mapping[Style, Run], facts: Mapping[str, Fact] | None = None) -> Leaves:
    """Compare the sides of every step and of the conclusion, or of the given statements, along each run."""
    leaves, found, loop = leaf_names(progress), Leaves(progress.theorem.id), isinstance(progress.derivation, Loop)
    chosen = concluded(progress) if facts is None else facts
    rules = {step.name: step.rule for step in progress.derivation.steps} if facts is None else {}
    for style, run in runs.items():
        view = run if progress.state.failure is None else run.outcome_by_outcome()
        rounded = _rounded(progress, run)
        for name, fact in chosen.items():
            if (style.ends and not _about_the_ends(fact)) or name in rounded or not _has_value(fact, run):
                continue
            for one in both_sides(name, fact, view):
                found.record(one, style, leaf=facts is not None or name in leaves)
            if name in rules and not style.ends:
                for one in as_written(name, rules[name], fact, progress.state.algebra, run):
                    found.record(one, style)
        if facts is None and not (loop and style.ends):
            for one in after_the_last_step(progress, run) if loop else of_the_statement(progress, run):
                found.record(one, style, leaf=loop and one.step.startswith(STATEMENT))
    return found


def after_the_last_step(progress: Progress, run: Run) -> Iterator[Comparison]:
    """What a loop proves by induction, and the constants of the statement, where the loop has ended; nothing at free points."""
    loop: Loop = progress.derivation  # type: ignore[assignment]
    numbers = progress.state.numbers
    if numbers is not None and any(param_of(s.reversed) not in run.moving[0] for s in numbers.earlier):
        return
    statement = progress.theorem.statement(progress.label)
    for step in loop.steps:
        fact = progress.state.facts[step.name]
        if isinstance(step.rule, Induction) and isinstance(fact, Inequality) and _has_value(fact, run):
            yield _inequality(step.name, fact, run, run.horizon)
    bounds = enclose_bound(statement, symbols_at(progress, run)) if loop.delivers else {}
    for given in loop.delivers:
        most = fmpq_of(bounds[given.target or "total"].upper)
        reader = Reader(progress.theorem, statement)
        asked = what_is_bounded(loop, given, progress.theorem, statement, reader)
        power = asked.power if given.target else 1
        left, right = run.scalar(asked.left, run.horizon), most**power * run.number(asked.times)
        yield Comparison(f"{STATEMENT} {given.target}".strip(), run.horizon, left <= right, left, right)


def _has_value(fact: Fact, run: Run) -> bool:
    """Whether the numbers of a statement have a value along a run.

    They have none where the points are free and a number is that of the loop before.
    """
    try:
        numbers = [c for _, c in fact.form] if isinstance(fact, Inequality) else []
        return all(run.number(c, t) is not None for c in numbers for t in range(max(1, len(run.moving) - 1)))
    except ProofError:
        return False


def _rounded(progress: Progress, run: Run) -> frozenset[str]:
    """The steps that only give a length a name, where it is not rational."""
    named = {step.name: step.rule for step in progress.derivation.steps if isinstance(step.rule, Length)}
    return frozenset(n for n, rule in named.items() if run.number(rule.size) ** 2 != run.scalar(sq(rule.vector), 0))


def _about_the_ends(fact: Fact) -> bool:
    return isinstance(fact, Inequality) and all(isinstance(atom, At | One) for atom, _ in fact.form)


if __name__ == "__main__":
    try:
        for name in sys.argv[1:] or derivation_names():
            checked = established(name)
            print(examine(checked, instances(checked)), flush=True)
    except (InputError, ProofError) as error:
        sys.exit(str(error))
