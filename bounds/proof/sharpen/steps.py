"""From exact multipliers to ordinary steps of a derivation, which the kernel checks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..author import free_name
from ..kernel import ONE, Combine, Derivation, Step, signomial
from ..kernel.rules.base import Weights
from ..kernel.scalars import Atom, Named, One, Scalar, scalar
from ..kernel.signomial import Signomial
from ..kernel.terms import Sum, Term
from .ground import Ground
from .program import LEFT_OUT, Claim, Gram, Program
from .rounding import Solution, Squares

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
