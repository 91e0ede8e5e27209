"""What may get a multiplier in a combination: premises, meanings of quantities, squares, and equations with vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .claims import Claim
from .kernel import Combine, IndependentMean, Linear, Open, Project, Step, Substitute
from .kernel.facts import Equation, State
from .kernel.known import Averaged
from .kernel.rules import Rule
from .kernel.scalars import Inner, Named, Scalar, form, sq
from .kernel.signomial import ONE, Signomial, holds
from .kernel.terms import Given, Mean, Sum, Term, put_in
from .linear import Column


@dataclass(eq=False)
class Parts:
    """The parts of a combination while it is put together; `meanings` are steps that come before it."""

    weights: list[tuple[Signomial, str]]
    squares: list[tuple[Signomial, Term]]
    pairings: dict[str, Term]
    meanings: list[Step]


@dataclass(frozen=True, eq=False)
class Premise:
    """An earlier inequality, or an equality of numbers, whose multiplier may have either sign."""

    name: str
    column: Column
    equal: bool = False

    def put(self, parts: Parts, factor: Signomial) -> None:
        parts.weights.append((factor, self.name))


@dataclass(frozen=True, eq=False)
class Meaning:
    """What a named quantity is, as a step that stands before the claim if there is none yet."""

    step: Step
    column: Column

    def put(self, parts: Parts, factor: Signomial) -> None:
        parts.weights.append((factor, self.step.name))
        parts.meanings.append(self.step)


@dataclass(frozen=True, eq=False)
class Square:
    """A squared norm that is left out."""

    vector: Term
    column: Column

    def put(self, parts: Parts, factor: Signomial) -> None:
        parts.squares.append((factor, self.vector))


@dataclass(frozen=True, eq=False)
class Pairing:
    """An earlier equation, paired with a vector."""

    name: str
    vector: Term
    column: Column

    def put(self, parts: Parts, factor: Signomial) -> None:
        parts.pairings[self.name] = parts.pairings.get(self.name, Sum(())) + factor * self.vector


Candidate = Premise | Meaning | Square | Pairing


def premises(state: State, names: Iterable[str]) -> list[Premise]:
    """Those of the steps that are inequalities."""
    found = [name for name in names if not isinstance(state.facts.get(name), Equation)]
    facts = [(name, state.inequality(name, position=True)) for name in found]
    return [Premise(name, fact.table, fact.equal) for name, fact in facts]


def meanings(state: State, tables: Iterable[Column]) -> list[Meaning]:
    """What the quantities mean that stand in any of the tables."""
    found = []
    for atom in dict.fromkeys(a for table in tables for a in table if isinstance(a, Named)):
        step = Step(f"meaning of {atom!r}", Open(atom.name, atom.shift))
        fact = state.inequality(step.name) if step.name in state.facts else step.rule.apply(state)
        found.append(Meaning(step, fact.table))  # type: ignore[union-attr]
    return found


def squares(state: State, vectors: Iterable[Term]) -> list[Square]:
    return [Square(v, {atom: -c for atom, c in state.form(sq(v)).items()}) for v in vectors]


def deviations(left: Scalar) -> list[Term]:
    """v - mean v for each mean over an index whose squared norm is to be bounded: what Jensen's inequality leaves out."""
    found: list[Term] = []
    for _, atom in left.parts:
        if isinstance(atom, Inner) and atom.left == atom.right:
            term = atom.left
            while (inner := _inside(term)) is not None:
                found.append(inner - term)
                term = inner
    return found


def _inside(term: Term) -> Term | None:
    """v, where the term is the mean of v over an index."""
    parts = term.parts if isinstance(term, Sum) else ((ONE, term),)
    means = [(c, inner) for c, inner in parts if isinstance(inner, Mean)]
    if not means or len(means) < len(parts) or len({mean.index for _, mean in means}) > 1:
        return None
    return Sum(tuple((c, mean.term) for c, mean in means))


def pairings(state: State, written: Written, names: Iterable[str], tables: Sequence[Column]) -> list[Pairing]:
    """Each of the steps that is an equation with each vector in it, in another one or in a table."""
    facts = [(name, state.facts[name]) for name in names]
    equations = [(name, fact) for name, fact in facts if isinstance(fact, Equation) and fact.term.parts]
    nodes = dict.fromkeys(node for _, fact in equations for _, node in fact.term.parts)
    for atom in (atom for table in tables for atom in table if equations and isinstance(atom, Inner)):
        nodes |= {atom.left: None, atom.right: None}
    found = []
    for name, fact in equations:
        for node in nodes:
            vector = written.vector(node)
            if vector is not None and state.algebra.space(node) == state.algebra.space(fact.term):
                column = form(state.algebra, Scalar(((ONE, Inner(fact.term, vector)),)))
                found += [Pairing(name, vector, column)] if column else []
    return found


class Written:
    """How vectors were written in earlier steps; one that is averaged over samples has no other form that a step may use."""

    def __init__(self, state: State):
        self.state = state
        self.known: dict[Term, Term] = {}
        for quantity in state.quantities.values():
            self._take(*_vectors(quantity.meaning))

    def read(self, rule: Rule) -> None:
        """The vectors in a step."""
        match rule:
            case Claim(left, right):
                self._take(*_vectors(left), *_vectors(right), *rule.squares)
            case Combine(left, right):
                self._take(*_vectors(left), *_vectors(right))
            case Project(equation, over, given):
                vectors = (self.vector(node) for _, node in self.state.equation(equation, position=True).term.parts)
                for vector in vectors:
                    if vector is not None:
                        for index in over:
                            vector = Mean(index, vector)
                        self._take(vector if given is None else Given(given, vector))
            case Linear(claim):
                self._take(claim)
            case Substitute(term, table):
                new = {old: other for old, other, _ in table}
                self._take(term, put_in(term, lambda var: new.get(var, var)))
            case IndependentMean(term, index):
                self._take(term, Mean(index, term))

    def _take(self, *terms: Term) -> None:
        for piece in (piece for term in terms for piece in _pieces(term)):
            parts = self.state.algebra.normal(piece).parts
            if len(parts) == 1 and holds(parts[0][1], Averaged):
                (c, node), *_ = parts
                self.known.setdefault(node, piece if c == ONE else (1 / c) * piece)

    def vector(self, node: Term) -> Term | None:
        """A normal term as a step may write it, if that is known."""
        return self.known.get(node) if holds(node, Averaged) else node


def _vectors(scalar: Scalar) -> list[Term]:
    return [vector for _, atom in scalar.parts if isinstance(atom, Inner) for vector in (atom.left, atom.right)]


def _pieces(term: Term) -> Iterator[Term]:
    """What is added up in a vector, with the means and expectations that are taken of it."""
    match term:
        case Sum(parts):
            for _, inner in parts:
                yield from _pieces(inner)
        case Mean(index, inner):
            yield from (Mean(index, each) for each in _pieces(inner))
        case Given(known, inner):
            yield from (Given(known, each) for each in _pieces(inner))
        case _:
            yield term
