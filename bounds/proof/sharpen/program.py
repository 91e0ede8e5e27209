"""What a derivation has established at numbers, and the semidefinite program of a sharpened proof: multipliers of premises, equations
paired with vectors, and squares.

A claim about a step is a sum of what is known of the step, less squares; what it says of named quantities goes to the run as the rule for
sums does it; the sum of all that, with what is known of the run, is the statement with the least number on its right side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from ..candidates import Written
from ..kernel import Combine, Derivation, Step
from ..kernel.derivation import begin, checked_line
from ..kernel.facts import Equation, Inequality, State
from ..kernel.region import Region
from ..kernel.rules import AtStart, SumOver
from ..kernel.rules.base import Rule
from ..kernel.scalars import At, Atom, Inner, Named, One, Scalar, Total, form, later
from ..kernel.setting import COMMUNICATION, EVERY, FIRST, LATER, LOCAL
from ..kernel.signomial import ONE, ProofError, Signomial
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


# --- the program --------------------------------------------------------------------------------------------------------

RUN = "run"
LEFT_OUT = "left out"
Row = tuple[str, Atom]
"""(claim, or `RUN`; atom)."""


@dataclass(frozen=True)
class Claim:
    """A claim about the steps of `phases`."""

    name: str
    phases: frozenset[str]


class Shape(ABC):
    """Which claims about steps there are, and the rules by which they become claims about the run."""

    claims: tuple[Claim, ...]

    @abstractmethod
    def rules(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        """The rules, for the names of the claims as steps."""

    @abstractmethod
    def to_run(self, ground: Ground, claim: Claim, atom: Atom) -> Table:
        """What one times a scalar in a claim comes to, with (claim, or `RUN`; atom) as rows."""

    def columns(self) -> tuple[Column, ...]:
        """Nonnegative numbers that are left out between the claims."""
        return ()


def in_run(table: Table) -> Table:
    """What is about the run, with the rows of a program."""
    return {(RUN, atom): c for atom, c in table.items()}


def _by(rule: Rule, ground: Ground, claim: Claim, atom: Atom) -> Table:
    """What a rule makes of one times a scalar at the steps of a claim."""
    state = ground.state.copy()
    state.facts["probe"] = Inequality(((atom, ONE),), False, claim.phases)
    made = rule.apply(state)
    return in_run(ground.numbers.table(made.table))  # type: ignore[union-attr]


class EachStep(Shape):
    """One claim about every step, summed."""

    claims = (Claim("each step", EVERY),)

    def rules(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        return (SumOver(names[0]),)

    def to_run(self, ground: Ground, claim: Claim, atom: Atom) -> Table:
        return _by(SumOver("probe"), ground, claim, atom)


class FirstAndLater(Shape):
    """A claim about step 0, and one about the later steps, which is summed."""

    claims = (Claim("first step", FIRST), Claim("later steps", LATER))

    def rules(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        return (AtStart(names[0]), SumOver(names[1], start=1))

    def to_run(self, ground: Ground, claim: Claim, atom: Atom) -> Table:
        rule = AtStart("probe") if claim is self.claims[0] else SumOver("probe", start=1)
        return _by(rule, ground, claim, atom)


class LocalAndCommunication(Shape):
    """A claim about local steps, and one about communications, which says the same but of quantities at the step itself and numbers."""

    claims = (Claim("local steps", LOCAL), Claim("communications", COMMUNICATION))
    between = "between"

    def rules(self, names: tuple[str, ...]) -> tuple[Rule, ...]:
        return (SumOver(names[0], communication=names[1]),)

    def to_run(self, ground: Ground, claim: Claim, atom: Atom) -> Table:
        everywhere = Claim("", EVERY)
        local = claim is self.claims[0]
        found = _by(SumOver("probe"), ground, everywhere, atom) if local else {}
        sign = 1 if local else -1
        if isinstance(atom, One):
            number = ground.numbers.value(ground.state.horizon / ground.state.period)
            found[(RUN, atom)] = found.get((RUN, atom), Fraction(0)) - sign * number
            found[(self.between, atom)] = Fraction(-sign)
        elif isinstance(atom, Named) and atom.shift == 0:
            found[(RUN, Total(atom.name, True))] = Fraction(-sign)
        else:
            found[(self.between, atom)] = Fraction(sign)
        return {row: c for row, c in found.items() if c}

    def columns(self) -> tuple[Column, ...]:
        return (Column("", LEFT_OUT, None, False, {(self.between, One()): Fraction(1)}),)


@dataclass(frozen=True)
class Column:
    """An unknown number: a multiplier of a premise, of an equation paired with a vector, or a nonnegative number that is left out.

    `claim` is empty for what is about the run; `signed`: it may be negative.
    """

    claim: str
    premise: str
    vector: Term | None
    signed: bool
    table: Table = field(compare=False, hash=False)


@dataclass(frozen=True)
class Gram:
    """An unknown positive semidefinite matrix: coefficients of the inner products of some vectors, which are left out of a claim."""

    claim: str
    vectors: tuple[Term, ...]
    cells: tuple[tuple[int, int, Table], ...]


@dataclass(frozen=True)
class Program:
    """Minimise the number on the right, with the sum of the columns, less `goal`, 0 in each row but that one."""

    shape: Shape
    columns: tuple[Column, ...]
    grams: tuple[Gram, ...]
    goal: Table
    objective: Row = (RUN, One())

    def tables(self) -> Iterable[Table]:
        yield from (column.table for column in self.columns)
        yield from (table for gram in self.grams for _, _, table in gram.cells)

    @property
    def rows(self) -> list[Row]:
        return [r for r in dict.fromkeys(r for t in (*self.tables(), self.goal) for r in t) if r != self.objective]


def program(ground: Ground, shape: Shape, goal: Table, *, combined: bool) -> Program:
    """All that is known at the steps of the claims and of the run.

    Args:
        combined: also what combinations and sums of the derivation say, which adds nothing but where the parts are not at hand.
    """
    columns: list[Column] = list(shape.columns())
    grams: list[Gram] = []
    basis, partners = ground.vectors(), ground.vectors(parts=True)
    for claim in shape.claims:
        build = _AtSteps(ground, shape, claim)
        columns += build.premises(combined) + build.pairings(partners)
        grams += build.grams(basis)
    for name, fact in ground.inequalities(run=True).items():
        if combined or not ground.is_combined(name):
            columns.append(Column("", name, None, fact.equal, in_run(ground.numbers.table(fact.table))))
    atoms = dict.fromkeys(a for c in columns for (where, a) in c.table if where == RUN)
    for atom in atoms:
        if isinstance(atom, Total | At) and ground.state.nonnegative_atom(atom):
            columns.append(Column("", LEFT_OUT, None, False, {(RUN, atom): Fraction(-1)}))
    return Program(shape, tuple(columns), tuple(grams), goal)


class _AtSteps:
    """The columns of one claim."""

    def __init__(self, ground: Ground, shape: Shape, claim: Claim):
        self.ground, self.shape, self.claim = ground, shape, claim
        self.moved: dict[Atom, Table] = {}

    def table(self, at_step: Table) -> Table:
        """With what goes to the run in the rows of the run."""
        found: Table = {}
        for atom, c in at_step.items():
            if isinstance(atom, Named | One):
                if atom not in self.moved:
                    self.moved[atom] = self.shape.to_run(self.ground, self.claim, atom)
                for row, factor in self.moved[atom].items():
                    found[row] = found.get(row, Fraction(0)) + c * factor
            else:
                found[(self.claim.name, atom)] = found.get((self.claim.name, atom), Fraction(0)) + c
        return {row: c for row, c in found.items() if c}

    def premises(self, combined: bool) -> list[Column]:
        found = []
        for name, fact in self.ground.inequalities(run=False).items():
            if fact.covers(self.claim.phases) and (combined or not self.ground.is_combined(name)):
                try:
                    table = self.table(self.ground.numbers.table(fact.table))
                except ProofError:  # about the step itself, or a value before the start
                    continue
                found.append(Column(self.claim.name, name, None, fact.equal, table))
        return found

    def pairings(self, basis: list[Term]) -> list[Column]:
        algebra = self.ground.state.algebra
        found = []
        for name, equation in self.ground.equations().items():
            if equation.phases >= self.claim.phases and not self.ground.is_free(equation.term):
                for vector in basis:
                    if algebra.space(vector) == algebra.space(equation.term):
                        table = self.table(self._product(equation.term, vector))
                        if table:
                            found.append(Column(self.claim.name, name, vector, True, table))
        return found

    def grams(self, basis: list[Term]) -> list[Gram]:
        algebra = self.ground.state.algebra
        spaces: dict[str, list[Term]] = {}
        for vector in basis:
            if isinstance(space := algebra.space(vector), str):
                spaces.setdefault(space, []).append(vector)
        return [self._gram(vectors) for vectors in spaces.values()]

    def _gram(self, vectors: list[Term]) -> Gram:
        cells = []
        for i, first in enumerate(vectors):
            for j, second in enumerate(vectors[: i + 1]):
                factor = -1 if i == j else -2
                table = {row: factor * c for row, c in self.table(self._product(first, second)).items()}
                cells.append((i, j, table))
        return Gram(self.claim.name, tuple(vectors), tuple(cells))

    def _product(self, first: Term, second: Term) -> Table:
        return self.ground.numbers.table(form(self.ground.state.algebra, Scalar(((ONE, Inner(first, second)),))))
