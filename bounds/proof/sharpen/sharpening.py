"""A search for the least bound that the premises of a proof give at numbers: what is reported is what the kernel accepted, and nothing
else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, log2, log10, nextafter
from time import perf_counter
from typing import Any

from ...evaluation.evaluate import bound as evaluated
from ...evaluation.evaluate import complete, fraction_of, holds
from ...evaluation.without_running import Worth, worth
from ...language.metrics import GRADIENT, GRADIENT_SQ
from ...language.reading import InputError
from ...language.result import rounded_up
from ...language.theorem import Statement, Theorem
from ...optimum.tuning import tune
from ..author import free_name
from ..derivations import derivation
from ..kernel import (
    ONE,
    Alternatives,
    AtNumbers,
    Combine,
    Derivation,
    ProofError,
    Reader,
    Step,
    Verdict,
    cases_of,
    check,
    signomial,
    with_cases,
)
from ..kernel.derivation import reading
from ..kernel.facts import Inequality
from ..kernel.problem import left_side, sum_of_weights
from ..kernel.rules.base import Weights
from ..kernel.scalars import Atom, Named, One, Scalar, scalar
from ..kernel.setting import EVERY, FIRST, LATER, LOCAL
from ..kernel.signomial import Signomial
from ..kernel.terms import Sum, Term
from .exact import NotExact, Point, Solution, Squares, core, exact
from .optimise import Floating, NoSolution, on_its_face
from .program import (
    LEFT_OUT,
    Claim,
    EachStep,
    FirstAndLater,
    Gram,
    Ground,
    LocalAndCommunication,
    Program,
    Shape,
    Table,
    in_run,
    program,
)

SLACKS = (1e-4, 1e-3, 1e-2, 5e-2)
"""By how much a bound may exceed the least one, relatively, so that there is room for rounding."""
DIGITS = (6, 9, 12)
ROOM = 0.1
"""The same where it is only asked which matrices have room at all."""
_ACCURACY = 1e-6
"""Of the solver, relatively: what it ends above the stated bound by more is no optimum."""
Sharper = Derivation | Alternatives


@dataclass(frozen=True)
class Sharpened:
    """What came of it.

    Args:
        at: the values of the symbols. stated: what the statement says there, as a float; None where it promises nothing.
        bound: what the kernel accepted, exactly; None where nothing was accepted, and then `reason` says why.
        plan: the derivation that it accepted.
    """

    theorem: Theorem
    statement: str
    at: Mapping[str, Fraction]
    stated: float | None
    bound: Fraction | None
    plan: Sharper | None
    reason: str
    seconds: float

    @property
    def factor(self) -> float | None:
        """How many times the bound is smaller than the stated one."""
        return None if self.stated is None or not self.bound else self.stated / float(self.bound)

    @property
    def worth(self) -> Worth:
        """What the sharpened bound is worth, or the stated one where there is none."""
        values = {name: str(value) for name, value in self.at.items()}
        total = self.stated if self.bound is None else above(self.bound)
        return worth(self.theorem.statement(self.statement), total, values)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; floats are rounded up."""
        return {
            "theorem": self.theorem.id,
            "statement": self.statement,
            "at": {name: str(value) for name, value in self.at.items()},
            "stated": self.stated,
            "sharpened": None if self.bound is None else above(self.bound),
            "factor": self.factor,
            "checked": self.bound is not None,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
            **self.worth.to_dict(),
        }

    def text(self, path: str | None = None) -> str:
        """For a person."""
        says = "outside its conditions the theorem says nothing"
        if self.stated is not None:
            says = f"the theorem says {rounded_up(self.stated)}"
        if self.bound is None:
            return f"{self.theorem.id} ({self.statement}): not sharpened ({says}): {self.reason}"
        smaller = "" if self.factor is None else f", {self.factor:.4g} times smaller"
        rows = [
            f"for your constants this method satisfies {self.theorem.metric.name} <= {rounded_up(above(self.bound))} ({says}{smaller})",
            "checked step by step by the kernel, at these numbers",
            *self.worth.notes,
        ]
        return "\n".join([*rows, *([f"certificate: {path}; fedco prove {path} checks it again"] if path else [])])

    def __str__(self) -> str:
        return self.text()


def above(value: Fraction) -> float:
    """The least float that is not below a fraction."""
    found = float(value)
    return found if Fraction(found) >= value else nextafter(found, inf)


def sharpen(
    statement: Statement,
    values: Mapping[str, Any],
    *,
    note: Callable[[str], None] = lambda text: None,
) -> Sharpened:
    """The least bound of the metric that the premises of the proof of a statement give at these values.

    Args:
        statement: a theorem's own, which has a derivation. values: of all its symbols, exact. note: takes a line on what is going on.

    Raises:
        InputError: a value is missing or no value, or the statement has no derivation of which the parts can be weighed anew.
    """
    started, label, theorem = perf_counter(), statement.label, statement.theorem
    if statement.clients:
        raise InputError(f"{statement.name}: has one number for each client, which no rule of the kernel reads")
    if statement is not theorem.statement(label):
        raise InputError(f"{statement.name}: wanted the parts of its derived constants, got a constant itself")
    if theorem.metric.own is not None:
        raise InputError(f"{theorem.id}: has no proof to be sharpened: {theorem.metric.own.only_in_doubles}")
    if theorem.metric.of == GRADIENT:
        raise InputError(
            f"{theorem.id}: bounds a norm, and what is weighed anew is its square; wanted {GRADIENT_SQ} in its metric"
        )
    numbers = exact_values(statement, values)
    plan = proof_of(theorem, label)
    here = evaluated(statement, numbers, strict=False)
    stated = here.total if here.admissible else None
    point = {binding.symbol: numbers[name] for name, binding in statement.symbols.items()}
    outside = [c for c in statement.whole_range if not holds(c.each_side(lambda side: statement.at(side, point)))]
    if outside:
        reason = f"the method cannot be run at these values: {str(outside[0]).replace('**', '^')} is wanted"
        return Sharpened(theorem, label, numbers, stated, None, None, reason, perf_counter() - started)
    found: list[tuple[str, Derivation]] = []
    optima: list[float] = []
    worst, reason = Fraction(0), ""
    for name, case in cases_of(plan):
        note(f"{theorem.id}{f', case {name}' if name else ''}: {len(case.steps)} steps, weighed anew")
        try:
            bound, sharper = least(case, theorem, label, numbers, stated, optima)
        except (
            ValueError
        ) as error:  # of the kernel, the solver or the rounding; or Python's, of a power with thousands of digits
            known = isinstance(error, ProofError | NoSolution | NotExact)
            said = str(error) if known else "its numbers are too long to write"
            reason = f"case {name}: {said}" if name else said
            break
        worst, found = max(worst, bound), [*found, (name, sharper)]
    if reason:
        return Sharpened(theorem, label, numbers, stated, None, None, reason, perf_counter() - started)
    result = Sharpened(theorem, label, numbers, stated, worst, with_cases(plan, found), "", perf_counter() - started)
    if stated is not None and worst >= Fraction(stated):
        return replace(result, bound=None, plan=None, reason=not_smaller(stated, min(optima)))
    return result


def not_smaller(stated: float, least_found: float) -> str:
    """Why nothing is sharpened, where the least at which the solver ended a program is this."""
    if least_found > stated * (1 + _ACCURACY):
        return f"the solver stopped at {least_found:.9g}, above the stated bound: floating point was not enough"
    return f"no smaller bound was found from the premises of its proof; the least of its programs is {least_found:.9g}, by the solver"


def exact_values(statement: Statement, values: Mapping[str, Any]) -> dict[str, Fraction]:
    """The values of all symbols of a statement as fractions.

    Raises:
        InputError: one is missing, unknown or no value of its symbol.
    """
    point = complete(statement, values)
    found = {}
    for name, binding in statement.symbols.items():
        value = point[binding.symbol]
        if not value.is_Rational:
            raise InputError(f"{name}: wanted a rational number, got {value}")
        found[name] = fraction_of(value)
    return found


def proof_of(theorem: Theorem, label: str) -> Sharper:
    """The derivation of a statement, for numbers: without certificates by hand, which name conditions; there a coefficient has a sign.

    Raises:
        InputError: the statement has no derivation whose combinations can be made anew.
    """
    try:
        plan = derivation(theorem, label)
    except ProofError as error:
        raise InputError(f"{theorem.id}: its derivation does not check: {error}") from error
    if plan is None:
        raise InputError(f"{theorem.id}: no derivation of the {label} statement to sharpen")
    if not isinstance(plan, Derivation | Alternatives):
        raise InputError(
            f"{theorem.id}: its derivation is a {type(plan).__name__.lower()}, of which there is nothing to weigh anew"
        )
    found: Sharper = with_cases(plan, ((name, _without_certificates(case)) for name, case in cases_of(plan)))
    return found


def _without_certificates(case: Derivation) -> Derivation:
    def without(step: Step) -> Step:
        rule: Any = step.rule
        return replace(step, rule=replace(rule, certificates=())) if getattr(rule, "certificates", ()) else step

    return replace(case, steps=tuple(map(without, case.steps)))


def least(
    case: Derivation,
    theorem: Theorem,
    label: str,
    numbers: Mapping[str, Fraction],
    stated: float | None,
    optima: list[float],
) -> tuple[Fraction, Derivation]:
    """The first that the kernel accepts of what the programs give, those that say most first; if one is below what is stated, that.

    Args:
        optima: takes the least bound of each program, as the solver has it.

    Raises:
        ValueError: it accepts nothing; the message says why.
    """
    ground = Ground.of(case, theorem, label, numbers)
    goal = _goal(case, ground, theorem.statement(label))
    best: tuple[Fraction, Derivation] | None = None
    failure: Exception = NoSolution("there is no program")
    for shape in shapes(ground):
        for combined in (False, True):
            try:
                found = _accepted(ground, program(ground, shape, goal, combined=combined), optima)
            except ValueError as error:
                failure = error
                continue
            if stated is None or found[0] < Fraction(stated):
                return found
            best = found if best is None or found[0] < best[0] else best
    if best is None:
        raise failure
    return best


def shapes(ground: Ground) -> Iterator[Shape]:
    """The ways to go from steps to the run that suit what is known of some steps only."""
    facts = [f for f in ground.state.facts.values() if isinstance(f, Inequality) and f.phases is not None]
    partly = [f.phases for f in facts if f.phases is not None and not f.phases >= EVERY]
    if any(phases >= LOCAL for phases in partly):
        yield LocalAndCommunication()
    if any(phases >= FIRST or phases >= LATER for phases in partly):
        yield FirstAndLater()
    yield EachStep()


def _goal(case: Derivation, ground: Ground, statement: Statement) -> Table:
    found = reading(case, ground.theorem, statement, Reader(ground.theorem, statement))
    left = left_side(found, case.metric, ground.state.horizon, ground.state.offset)
    whole = ground.numbers.value(sum_of_weights(found, ground.state.horizon))
    return in_run({atom: c / whole for atom, c in ground.numbers.table(ground.state.form(left)).items()})


def _accepted(ground: Ground, whole: Program, optima: list[float]) -> tuple[Fraction, Derivation]:
    """A bound and its proof that the kernel accepts.

    Raises:
        NoSolution, NotExact: there is none.
    """
    smaller = core(whole)
    point, floating = _roomy(smaller)
    while (narrow := on_its_face(smaller.program, point)) is not None:
        smaller = core(narrow)
        point, floating = _roomy(smaller)
    best = floating.least()
    optima.append(best.bound)
    failure: Exception = NotExact("what was found could not be rounded")
    for slack, everywhere in product(SLACKS, (False, True)):
        try:
            point = floating.roomy(best, slack, everywhere=everywhere)
        except NoSolution as error:
            failure = error
            continue
        for digits in DIGITS:
            try:
                solution = exact(smaller.program, point, digits)
            except NotExact as error:
                failure = error
                continue
            made, number = as_steps(ground, smaller.program, solution), short(solution.bound)
            said = _check(ground, made, number)
            if said.accepted:
                return number, made
            failure = NotExact(f"the kernel refuses it: {said.failure}")
    raise failure


def short(value: Fraction) -> Fraction:
    """Rounded up to a number that is no longer than need be."""
    if value <= 0:
        return value
    places = _PLACES - int((value.numerator.bit_length() - value.denominator.bit_length()) * log10(2))
    unit = Fraction(10) ** -places
    return -(-value // unit) * unit


_PLACES = 12


def _roomy(smaller: Any) -> tuple[Point, Floating]:
    floating = Floating(smaller)
    return floating.roomy(floating.least(), ROOM), floating


def _check(ground: Ground, made: Derivation, bound: Fraction) -> Verdict:
    return check(made, ground.theorem, ground.label, AtNumbers(ground.values, bound))


# --- from exact multipliers to ordinary steps of a derivation, which the kernel checks ---------------------------------

COMPARED: tuple[tuple[()], ...] = ((),)
"""The certificate of a number that is nonnegative by its value."""


def as_steps(ground: Ground, program: Program, solution: Solution) -> Derivation:
    """The derivation with the steps of a solution in the place of its combinations and its conclusion."""
    weights: list[tuple[Signomial, str]] = []
    steps: list[Step] = []
    taken = set(ground.made)
    names = tuple(free_name(claim.name, taken) for claim in program.shape.claims)
    for name, claim in zip(names, program.shape.claims, strict=True):
        steps.append(Step(name, _claim(ground, program, solution, claim)))
    for rule in program.shape.rules(names):
        steps.append(Step(free_name(f"{rule.uses[0]}, in the run", taken), rule))
        weights.append((ONE, steps[-1].name))
    for column, value in zip(program.columns, solution.columns, strict=True):
        if not column.claim and column.premise != LEFT_OUT and value:
            weights.append((signomial(value), column.premise))
    needed = needed_steps(ground.derivation, [*(n for s in steps for n in s.rule.uses), *(n for _, n in weights)])
    kept = tuple(step for step in ground.derivation.steps if step.name in needed)
    return replace(ground.derivation, steps=(*kept, *steps), conclusion=tuple(weights))


def needed_steps(derivation: Derivation, names: list[str]) -> set[str]:
    """These steps and all on which they rest."""
    uses = {step.name: step.rule.uses for step in derivation.steps}
    found: set[str] = set()
    left = [name for name in names if name in uses]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [other for other in uses[name] if other in uses]
    return found


def _claim(ground: Ground, program: Program, solution: Solution, claim: Claim) -> Combine:
    weights: list[tuple[Signomial, str]] = []
    paired: dict[str, Term] = {}
    for column, value in zip(program.columns, solution.columns, strict=True):
        if column.claim != claim.name or not value:
            continue
        if column.vector is None:
            weights.append((signomial(value), column.premise))
        else:
            paired[column.premise] = paired.get(column.premise, Sum(())) + value * column.vector
    squares = [
        square
        for gram, found in zip(program.grams, solution.squares, strict=True)
        if gram.claim == claim.name
        for square in _vectors(gram, found)
    ]
    said = _said(ground, tuple(weights))
    number = said.pop(One(), Fraction(0))
    left = Scalar(tuple((signomial(c), atom) for atom, c in said.items()))
    pairings = tuple((ONE, name, vector) for name, vector in paired.items())
    return Combine(left, scalar(-number), tuple(weights), tuple(squares), pairings, certificates=COMPARED)


def _vectors(gram: Gram, found: Squares) -> list[tuple[Signomial, Term]]:
    rows: list[tuple[Signomial, Term]] = []
    for factor, coefficients in found:
        parts = [c * v for c, v in zip(coefficients, gram.vectors, strict=True) if c]
        rows.append((signomial(factor), sum(parts[1:], parts[0])))
    return rows


def _said(ground: Ground, weights: Weights) -> dict[Atom, Fraction]:
    """What the premises say of named quantities, with their multipliers; all else cancels."""
    found: dict[Atom, Fraction] = {}
    for factor, name in weights:
        for atom, c in ground.state.facts[name].table.items():  # type: ignore[union-attr]
            if isinstance(atom, Named | One):
                found[atom] = found.get(atom, Fraction(0)) + factor.at({}) * ground.numbers.value(c)
    return {atom: c for atom, c in found.items() if c}


# --- hyperparameters that are chosen for the sharpened bound ------------------------------------------------------------

MOST = 25
"""Programs at most."""
FACTORS = (Fraction(2), Fraction(1, 2))


@dataclass(frozen=True)
class Chosen:
    """The best of what was tried.

    Args:
        best: what came of the hyperparameters that were chosen. names: of these. tried: how many points.
    """

    best: Sharpened
    names: tuple[str, ...]
    tried: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the best point, and `tuned`, the values that were chosen."""
        return {**self.best.to_dict(), "tuned": {n: str(self.best.at[n]) for n in self.names}, "tried": self.tried}

    def text(self, path: str | None = None) -> str:
        """For a person."""
        values = ", ".join(f"{name} = {self.best.at[name]}" for name in self.names)
        return "\n".join(
            [self.best.text(path), f"chosen: {values}; the best of {self.tried} points, powers of 2 one step apart"]
        )

    def __str__(self) -> str:
        return self.text()


def sharpen_tuned(
    statement: Statement, values: Mapping[str, Any], *, note: Callable[[str], None] = lambda text: None
) -> Chosen:
    """The least sharpened bound over hyperparameters that `values` lacks, each a power of 2.

    From the point that is best for the stated bound one hyperparameter at a time is doubled or halved as long as the bound falls; whole
    ones stay as they are there. It is the best of what was tried, and no optimum over all values.

    Args:
        statement: as for `sharpen`. values: of its other symbols, exact. note: takes a line on what is going on.

    Raises:
        InputError: every symbol has a value, what is left to choose is whole, or a constant or the length has none.
    """
    names = tuple(
        name
        for name, binding in statement.symbols.items()
        if name not in values and binding.quantity.role == "hyperparameter" and not binding.quantity.numbers.whole
    )
    if not names:
        raise InputError(
            f"{statement.name}: wanted a hyperparameter without a value that is to be chosen, got values of all"
        )
    lengths = {n: values[n] for n, b in statement.symbols.items() if b.quantity.name == "iterations" and n in values}
    if not lengths:
        raise InputError(f"{statement.name}: wanted a number of iterations, got none")
    stated = tune(statement, {n: v for n, v in values.items() if n not in lengths}, budget=lengths).values
    start = {**stated, **values, **{name: _power(stated[name]) for name in names}}
    here = exact_values(statement, start)
    best, tried = sharpen(statement, here, note=note), {tuple(here[name] for name in names)}
    found = True
    while found and len(tried) < MOST:
        found = False
        for other in _beside(best.at, names):
            key = tuple(other[name] for name in names)
            if key in tried or len(tried) == MOST:
                continue
            tried.add(key)
            result = sharpen(statement, other, note=note)
            if _says(result) < _says(best):
                best, found = result, True
                break
    return Chosen(best, names, len(tried))


def _beside(at: Mapping[str, Fraction], names: tuple[str, ...]) -> Iterator[dict[str, Fraction]]:
    for name in names:
        for factor in FACTORS:
            yield {**at, name: at[name] * factor}


def _says(found: Sharpened) -> float:
    """What is known of the method at a point: the sharpened bound, or the stated one where that is as small."""
    if found.bound is not None:
        return float(found.bound)
    return inf if found.stated is None else found.stated


def _power(value: Any) -> Fraction:
    """The power of 2 that is next below a positive number."""
    return Fraction(2) ** int(log2(float(value)) // 1)
