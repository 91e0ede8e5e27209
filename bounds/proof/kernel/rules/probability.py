"""Rules for inequalities that rest on assumptions and on independence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..assumptions import Axiom, sure_bound
from ..facts import Fact, Inequality, Moment, State, inequality
from ..known import Known
from ..scalars import scalar, sq
from ..setting import EVERY, FIRST, LATER, MIXING
from ..signomial import ProofError
from ..terms import Act, App, Given, Mean, Pair, Proj, Sum, Term, inside
from .base import Rule


@dataclass(frozen=True)
class Assume(Rule):
    """An instance of an assumption; `sizes` names steps that bound vectors in it: surely, or in conditional mean where that is enough."""

    axiom: str
    terms: tuple[Term, ...] = ()
    sizes: tuple[str, ...] = ()
    title = "assumption"
    premises = ("sizes",)

    def apply(self, state: State) -> Fact:
        axiom = state.axioms.get(self.axiom)
        if not isinstance(axiom, Axiom):
            raise ProofError(f"{self.axiom}: no such assumption was declared")
        if state.failure is not None and not axiom.sure:
            raise ProofError(f"{self.axiom}: not in a pathwise derivation, as it need not hold along every run")
        moments = [state.moment(name) for name in self.sizes]
        if not axiom.conditional and any(moment.given is not None for moment in moments):
            raise ProofError("wanted sure bounds of vectors")
        state.sizes = {moment.term: moment for moment in moments}
        try:
            certified = axiom.certified(state)
            fact = axiom.instance(state, self.terms)
            return replace(fact, uses=fact.uses | certified) if certified else fact
        finally:
            state.sizes = {}


@dataclass(frozen=True)
class IndependentMean(Rule):
    """||mean_i z||^2 = ||z||^2 / size, for terms that are centred and independent over the index given `given`."""

    term: Term
    index: str
    given: Known
    first: bool = False
    title = "independent centred terms"

    def apply(self, state: State) -> Inequality:
        term = state.algebra.normal(self.term)
        uses = independent(state, term, self.index, self.given)
        index = state.setting.index(self.index)
        size = index.first if self.first and index.first is not None else index.size
        phases = EVERY if index.first is None else FIRST if self.first else LATER
        mean = sq(Mean(self.index, self.term))
        return inequality(state, mean, sq(self.term) / size, uses, phases=phases, equal=True)


def independent(state: State, term: Sum, index: str, given: Known) -> frozenset[str]:
    """Names of the assumptions by which `term` is centred and independent over `index` given `given`.

    Raises:
        ProofError: it is not.
    """
    centre = state.algebra.normal(Given(given, term))
    if centre.parts:
        raise ProofError(f"not centred: its mean given {given!r} is {centre!r}")
    if index not in state.algebra.support(term).index:
        raise ProofError(f"the term does not depend on the index {index}")
    names: set[str] = set()
    _own_samples(state, term, index, given, names)
    return frozenset(names)


def _own_samples(state: State, term: Term, index: str, given: Known, names: set[str]) -> None:
    """Every source outside `given` enters only through the samples of the same value of the index."""
    support = state.algebra.support(term)
    if support.known <= given:
        return
    match term:
        case Sum() | Act() | Pair():
            pass
        case App(function, _, drawn):
            declared = state.setting.function(function)
            if declared.role == MIXING and index in declared.index:
                raise ProofError(f"{term!r} mixes the samples of all values of {index}")
            for source, step in zip(declared.sources, drawn, strict=True):
                if step is not None and not given.has(source, step):
                    if step != 0 and state.setting.index(index).first is not None:
                        raise ProofError(f"{index} has another size at step 0: wanted the samples of step t")
                    if index not in state.setting.source(source).index:
                        raise ProofError(f"{source} is the same for all values of {index}")
                    if index in state.setting.source(source).joint:
                        raise ProofError(f"the samples of {source} may depend on each other over {index}")
                    names.add(state.setting.source(source).independent)
        case Proj(kept, _, inner):
            if index in state.algebra.support(inner).index and index not in kept:
                raise ProofError(f"{term!r} mixes the samples of all values of {index}")
        case _:
            raise ProofError(f"{term!r} depends on the samples of step t itself, not only on those of its own {index}")
    for part in inside(term):
        _own_samples(state, part, index, given, names)


@dataclass(frozen=True)
class MeanMoment(Rule):
    """A bound on an operator, for its mean over an index or its conditional expectation (Jensen)."""

    moment: str
    over: tuple[str, ...] = ()
    given: Known | None = None
    title = "Jensen's inequality"
    premises = ("moment",)

    def apply(self, state: State) -> Moment:
        fact = state.moment(self.moment)
        term: Term = fact.term
        for index in self.over:
            term = Mean(index, term)
        if self.given is not None:
            term = Given(self.given, term)
        text = "".join(f"mean_{index} " for index in self.over) + f"({fact.text})"
        return Moment(state.algebra.normal(term), fact.given, fact.bound, fact.trace, fact.uses, text)


@dataclass(frozen=True)
class IndependentMoment(Rule):
    """The mean over an index of operators that are centred and independent given what the bound is given."""

    moment: str
    index: str
    title = "independent centred operators"
    premises = ("moment",)

    def apply(self, state: State) -> Moment:
        fact = state.moment(self.moment)
        if fact.given is None or not fact.trace:
            raise ProofError(f"{self.moment}: wanted a conditional bound in the Hilbert-Schmidt norm")
        uses = independent(state, fact.term, self.index, fact.given)
        index = state.setting.index(self.index)
        if index.first is not None:
            raise ProofError(f"{self.index} has another size at step 0")
        term = state.algebra.normal(Mean(self.index, fact.term))
        text = f"mean_{self.index}({fact.text})"
        return Moment(term, fact.given, fact.bound / index.size, True, fact.uses | uses, text)


@dataclass(frozen=True)
class Action(Rule):
    """||E[M v | given]||^2 <= bound(M) ||v||^2 (Cauchy-Schwarz), or ||M v||^2 <= bound(M) B^2 for |v| <= B.

    `bounded`: use the sure bound of v. Otherwise the conditional expectation is left out where M is bounded surely or v is known.
    """

    moment: str
    vector: Term
    bounded: bool = False
    title = "operator applied to a vector"
    premises = ("moment",)

    def apply(self, state: State) -> Inequality:
        fact = state.moment(self.moment)
        vector = state.algebra.normal(self.vector)
        product: Term = Act(fact.term, vector)
        if self.bounded:
            bound, uses = sure_bound(state, vector)
            return inequality(state, sq(product), scalar(fact.bound * bound**2), fact.uses | uses)
        if fact.given is not None and not state.algebra.support(vector).known <= fact.given:
            product = Given(fact.given, product)
        return inequality(state, sq(product), fact.bound * sq(self.vector), fact.uses)


@dataclass(frozen=True)
class Product(Rule):
    """E||M v||^2 <= a b from E|M|^2 <= a and E[||v||^2 | H] <= b, where M is H-measurable.

    For E||M v||^2 <= E[|M|^2 ||v||^2] = E[|M|^2 E[||v||^2 | H]] <= b E|M|^2. Both bounds hold for every index.
    """

    operator: str
    vector: str
    title = "operator applied to a vector with a conditional bound"
    premises = ("operator", "vector")

    def apply(self, state: State) -> Inequality:
        operator, vector = state.moment(self.operator), state.moment(self.vector)
        known = state.algebra.support(operator.term).known
        if vector.given is not None and not known <= vector.given:
            raise ProofError(f"{operator.term!r} is not known given {vector.given!r}")
        bound = scalar(operator.bound * vector.bound)
        return inequality(state, sq(Act(operator.term, vector.term)), bound, operator.uses | vector.uses)
