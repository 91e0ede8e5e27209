"""What a derivation has established at numbers: the premises of a program, with coefficients that are rational numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from ..candidates import Written
from ..kernel import Combine, Derivation, Step
from ..kernel.derivation import begin, checked_line
from ..kernel.facts import Equation, Inequality, State
from ..kernel.region import Region
from ..kernel.rules import AtStart, SumOver
from ..kernel.scalars import Atom, Inner, Scalar, later
from ..kernel.signomial import ProofError, Signomial
from ..kernel.terms import Term, variables

Table = dict[Any, Fraction]
"""Row -> coefficient."""


class Numbers:
    """Exact values of expressions where every symbol has one; of a root that is not rational, whole powers of its square only."""

    def __init__(self, region: Region):
        self.point = {p: formula.at({}) for p, formula in region.formulas.items() if p not in region.powers}
        self.roots = [(p, region.formulas[p], power) for p, power in region.powers.items()]
        self.known: dict[Signomial, Fraction] = {}

    def value(self, number: Signomial) -> Fraction:
        """
        Raises:
            ProofError: it has no rational value.
        """
        if number not in self.known:
            left = number
            for param, formula, power in reversed(self.roots):
                if param in left.params:
                    left = left.substitute(param, formula, power)
            self.known[number] = left.at(self.point)
        return self.known[number]

    def table(self, form: Mapping[Atom, Signomial]) -> Table:
        found = {atom: self.value(c) for atom, c in form.items()}
        return {atom: c for atom, c in found.items() if c}


@dataclass(frozen=True)
class Ground:
    """The steps of a derivation that follow at numbers, and what they say."""

    derivation: Derivation
    theorem: Any
    label: str
    values: Mapping[str, Fraction]
    state: State
    numbers: Numbers
    written: Written

    @classmethod
    def of(cls, derivation: Derivation, theorem: Any, label: str, values: Mapping[str, Fraction]) -> Ground:
        """
        Raises:
            ProofError: the declarations are not allowed, or the values are not.
        """
        state = begin(derivation, theorem, label, values).state
        written, kept = Written(state), []
        for step in derivation.steps:
            try:
                checked_line(state, step)
            except ProofError:  # a combination that needs the conditions, or what rests on one
                continue
            written.read(step.rule)
            kept.append(step)
        kept_only = replace(derivation, steps=tuple(kept))
        return cls(kept_only, theorem, label, values, state, Numbers(state.region), written)

    @property
    def made(self) -> dict[str, Step]:
        return {step.name: step for step in self.derivation.steps}

    def inequalities(self, *, run: bool) -> dict[str, Inequality]:
        """Those about the run, or about a step; none about free points, and none that only sums or combines others about the run."""
        found = {}
        for name, fact in self.state.facts.items():
            if isinstance(fact, Inequality) and (fact.phases is None) == run and not self._is_about_free_points(fact):
                found[name] = fact
        return found

    def equations(self) -> dict[str, Equation]:
        return {name: f for name, f in self.state.facts.items() if isinstance(f, Equation) and f.term.parts}

    def is_combined(self, name: str) -> bool:
        """Whether a step only adds up, or sums, what others say."""
        return isinstance(self.made[name].rule, Combine | SumOver | AtStart)

    def _is_about_free_points(self, fact: Inequality) -> bool:
        return any(self.is_free(v) for a, _ in fact.form if isinstance(a, Inner) for v in (a.left, a.right))

    def is_free(self, term: Term) -> bool:
        """Whether a vector depends on a free point."""
        return any(self.state.setting.variable(name).is_free for name, _ in variables(term))

    def vectors(self, *, parts: bool = False) -> list[Term]:
        """A basis of the span of the vectors of which the derivation writes squared norms; with `parts` also of those in equations."""
        found: list[Term] = []
        echelon: list[tuple[Term, dict[Term, Fraction]]] = []
        for vector in sorted(self._written_vectors(parts), key=lambda v: len(self.state.algebra.normal(v).parts)):
            row = {node: self.numbers.value(c) for c, node in self.state.algebra.normal(vector).parts}
            for pivot, other in echelon:
                if factor := row.get(pivot):
                    for node, c in other.items():
                        row[node] = row.get(node, Fraction(0)) - factor * c
            row = {node: c for node, c in row.items() if c}
            if row:
                pivot = next(iter(row))
                scale = row[pivot]
                row = {node: c / scale for node, c in row.items()}
                for i, (p, other) in enumerate(echelon):
                    if factor := other.get(pivot):
                        changed = {
                            n: other.get(n, Fraction(0)) - factor * row.get(n, Fraction(0)) for n in {**other, **row}
                        }
                        echelon[i] = (p, {n: c for n, c in changed.items() if c})
                echelon.append((pivot, row))
                found.append(vector)
        return found

    def _written_vectors(self, parts: bool) -> Iterator[Term]:
        seen = set()
        for vector in chain(self._squared(), self._in_equations() if parts else ()):
            normal = self.state.algebra.normal(vector)
            if normal.parts and normal not in seen and not self.is_free(vector):
                seen.add(normal)
                yield vector

    def _squared(self) -> Iterator[Term]:
        for quantity in self.state.quantities.values():
            yield from _in_scalar(quantity.meaning)
            yield from _in_scalar(Scalar(tuple((c, later(a, 1)) for c, a in quantity.meaning.parts)))
        for step in self.derivation.steps:
            fact = self.state.facts[step.name]
            if isinstance(fact, Inequality) and fact.phases is not None:
                for side in fact.sides or ():
                    yield from _in_scalar(side)
            if isinstance(step.rule, Combine):
                yield from (vector for _, vector in step.rule.squares)

    def _in_equations(self) -> Iterator[Term]:
        for step in self.derivation.steps:
            fact = self.state.facts[step.name]
            if isinstance(fact, Equation):
                yield from self._nodes(fact.term)
            if isinstance(step.rule, Combine):
                yield from (node for *_, vector in step.rule.pairings for node in self._nodes(vector))

    def _nodes(self, term: Term) -> Iterator[Term]:
        for _, node in self.state.algebra.normal(term).parts:
            vector = self.written.vector(node)
            if vector is not None:
                yield vector


def _in_scalar(side: Scalar) -> Iterable[Term]:
    for _, atom in side.parts:
        if isinstance(atom, Inner):
            yield atom.left
            yield atom.right
