"""The rules of inference, each a frozen record whose `apply` checks its premises and returns the new fact.

Together with the normal form (algebra.py), the certificates (region.py) and the assumptions (assumptions.py) this is all
that a checked derivation rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from .assumptions import Axiom, sure_bound
from .facts import Equation, Fact, Inequality, Moment, State, fact_form, inequality, phases_of
from .known import Known
from .region import Certificate
from .scalars import At, Atom, Inner, Named, One, Scalar, Total, Value, dot, form, later, scalar, sq, value
from .setting import COMMUNICATION, EVERY, FIRST, LATER, LOCAL
from .signomial import ONE, ZERO, ProofError, Signomial, signomial
from .terms import Act, App, Given, Mean, Proj, Sum, Term, Var, replaced, samples, shifted, variables

Weights = tuple[tuple[Signomial, str], ...]


class Rule:
    """Base of the rules; `title` is what a reader sees."""

    title = ""

    def apply(self, state: State) -> Fact:
        raise NotImplementedError

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the steps that it refers to."""
        return ()


# --- equations between vectors ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition(Rule):
    """The update equation of a variable, at the phases for which it is declared (the one that covers `phase`)."""

    variable: str
    phase: str
    title = "update equation"

    def apply(self, state: State) -> Equation:
        variable = state.setting.variable(self.variable)
        for phases, term in variable.equations:
            if self.phase in phases:
                left = Var(self.variable, variable.defined)
                return Equation(state.algebra.normal(left - term), phases, text=f"{left!r} = {term!r}")
        raise ProofError(f"{self.variable}: no equation at the phase {self.phase!r}")


@dataclass(frozen=True)
class Project(Rule):
    """The mean over indices and the conditional expectation of an equation."""

    equation: str
    over: tuple[str, ...] = ()
    given: Known | None = None
    title = "mean of an equation"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.equation,)

    def apply(self, state: State) -> Equation:
        fact = state.equation(self.equation)
        term: Term = fact.term
        for index in self.over:
            term = Mean(index, term)
        if self.given is not None:
            term = Given(self.given, term)
        return Equation(state.algebra.normal(term), fact.phases, fact.uses, self._text(fact))

    def _text(self, fact: Equation) -> str:
        parts = [f"mean over {index}" for index in self.over]
        parts += [f"expectation given {self.given!r}"] if self.given is not None else []
        return f"{' and '.join(parts)} of {self.equation}"


@dataclass(frozen=True)
class Linear(Rule):
    """A linear combination of equations, compared with `claim` = 0."""

    claim: Term
    weights: Weights
    title = "linear combination"

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.weights)

    def apply(self, state: State) -> Equation:
        facts = [state.equation(name) for _, name in self.weights]
        parts = [(c * d, node) for (c, _), f in zip(self.weights, facts, strict=True) for d, node in f.term.parts]
        left = state.algebra.normal(Sum(tuple(parts)) - self.claim) if parts else state.algebra.normal(self.claim)
        if left.parts:
            raise ProofError(f"left over: {left!r}")
        phases = phases_of(facts)
        return Equation(state.algebra.normal(self.claim), phases or EVERY, _uses(facts), f"{self.claim!r} = 0")


@dataclass(frozen=True)
class Cases(Rule):
    """The same conclusion at different kinds of step."""

    cases: tuple[str, ...]
    title = "all kinds of step"

    @property
    def uses(self) -> tuple[str, ...]:
        return self.cases

    def apply(self, state: State) -> Fact:
        if not self.cases:
            raise ProofError("no case")
        for name in self.cases:
            state.used.add(name)
        facts = [state.facts.get(name) for name in self.cases]
        first = facts[0]
        phases: frozenset[str] = frozenset()
        for fact in facts:
            if not isinstance(fact, Equation | Inequality) or type(fact) is not type(first) or fact.phases is None:
                raise ProofError("cases: wanted statements of one kind about a step")
            phases |= fact.phases
        if isinstance(first, Equation) and all(f.term == first.term for f in facts):  # type: ignore[union-attr]
            return Equation(first.term, phases, _uses(facts), first.text)
        if isinstance(first, Inequality) and all(f.form == first.form for f in facts):  # type: ignore[union-attr]
            return Inequality(first.form, all(f.equal for f in facts), phases, _uses(facts), first.text)  # type: ignore[union-attr]
        raise ProofError("the cases have different conclusions")


@dataclass(frozen=True)
class Later(Rule):
    """A statement about step t, read at step t + by."""

    step: str
    by: int
    title = "another step"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.step,)

    def apply(self, state: State) -> Fact:
        state.used.add(self.step)
        fact = state.facts.get(self.step)
        if not isinstance(fact, Equation | Inequality) or fact.phases is None:
            raise ProofError(f"{self.step}: wanted a statement about a step")
        phases = _moved(fact.phases, self.by)
        if isinstance(fact, Equation):
            return Equation(state.algebra.normal(shifted(fact.term, self.by)), phases, fact.uses)
        table = Scalar(tuple((c, later(atom, self.by)) for atom, c in fact.form))
        return Inequality(fact_form(state.form(table)), fact.equal, phases, fact.uses)


def _moved(phases: frozenset[str], by: int) -> frozenset[str]:
    """Where a statement holds when it is read at t + by: only statements for all t >= 0 or all t >= 1 can be moved."""
    start = 0 if phases == EVERY else 1 if phases == LATER else None
    if start is None or start - by > 1:
        raise ProofError(f"a statement about {sorted(phases)} cannot be read {by:+d} steps later")
    return EVERY if start - by <= 0 else LATER


# --- inequalities from algebra ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Combine(Rule):
    """left <= right (or left = right) as a combination of earlier statements and squares.

    Inequalities have multipliers that are certified nonnegative; an equation is paired with a vector; a square is a squared
    norm, at a step or (with a quantity's name) summed. What is left over is certified nonnegative, atom by atom.
    """

    left: Scalar
    right: Scalar
    weights: Weights = ()
    squares: tuple[tuple[Signomial, Term], ...] = ()
    pairings: tuple[tuple[Signomial, str, Term], ...] = ()
    equal: bool = False
    certificates: tuple[Certificate, ...] = ()
    title = "combination"

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.weights) + tuple(name for _, name, _ in self.pairings)

    def apply(self, state: State) -> Inequality:
        facts: list[Fact] = [state.inequality(name) for _, name in self.weights]
        facts += [state.equation(name) for _, name, _ in self.pairings]
        left, used = self._left_over(state)
        for atom, coefficient in left.items():
            used |= self._accept(state, atom, coefficient)
        phases = phases_of(facts) if facts else self._phases()
        if phases is None and self.squares:
            raise ProofError("a square is about a step, not about the run")
        found = inequality(state, self.left, self.right, _uses(facts) | used, phases=phases, equal=self.equal)
        _one_scope(found.table, phases)
        return found

    def _phases(self) -> frozenset[str] | None:
        """Without premises: about the run if it speaks of sums, else about every step."""
        run = any(isinstance(atom, Total | At) for _, atom in (*self.left.parts, *self.right.parts))
        return None if run else EVERY

    def _left_over(self, state: State) -> tuple[dict[Atom, Signomial], frozenset[str]]:
        """claim - combination of the premises has to be minus a nonnegative number: returns that number."""
        used: frozenset[str] = frozenset()
        total: dict[Atom, Signomial] = {}

        def add(table: Mapping[Atom, Signomial], factor: Signomial) -> None:
            for atom, c in table.items():
                total[atom] = total.get(atom, ZERO) + factor * c

        add(state.form(self.left - self.right), signomial(-1))
        for factor, name in self.weights:
            fact = state.inequality(name)
            if self.equal and not fact.equal:
                raise ProofError(f"{name} is no equation")
            if not fact.equal:
                used |= self._certified(state, factor, f"the multiplier {factor!r} of {name}")
            add(fact.table, factor)
        for factor, term in self.squares:
            if self.equal:
                raise ProofError("no squares in an equation")
            used |= self._certified(state, factor, f"the coefficient {factor!r} of a square")
            add(state.form(sq(term)), -factor)
        for factor, name, term in self.pairings:
            equation = state.equation(name)
            add(form(state.algebra, Scalar(((ONE, Inner(equation.term, term)),))), factor)
        return {atom: c for atom, c in total.items() if c}, used

    def _accept(self, state: State, atom: Atom, coefficient: Signomial) -> frozenset[str]:
        if self.equal or not state.nonnegative_atom(atom):
            if state.region.expanded(coefficient):
                raise ProofError(f"left over: ({coefficient!r}) {atom!r}, which has no sign")
            return frozenset()
        if state.region.expanded(coefficient):
            state.dropped.append(f"({coefficient!r}) {atom!r}")
        return self._certified(state, coefficient, f"left over: ({coefficient!r}) {atom!r}")

    def _certified(self, state: State, number: Signomial, what: str) -> frozenset[str]:
        used = state.certify(number, self.certificates)
        if used is None:
            raise ProofError(f"{what} is not certified to be nonnegative{state.where_negative(number)}")
        return used


def _one_scope(table: Mapping[Atom, Signomial], phases: frozenset[str] | None) -> None:
    for atom in table:
        about_run = isinstance(atom, Total | At)
        if not isinstance(atom, One) and about_run != (phases is None):
            raise ProofError(f"{atom!r} in a statement about {'the run' if phases is None else 'a step'}")


@dataclass(frozen=True)
class Open(Rule):
    """A named quantity is what it was declared to be, at step t + shift for every t (variables before the start are constants)."""

    quantity: str
    shift: int = 0
    title = "meaning of a quantity"

    def apply(self, state: State) -> Inequality:
        if self.quantity not in state.quantities:
            raise ProofError(f"{self.quantity}: no such quantity")
        meaning = state.quantities[self.quantity].meaning
        moved = Scalar(tuple((c, later(atom, self.shift)) for c, atom in meaning.parts))
        return inequality(state, scalar(Named(self.quantity, self.shift)), moved, equal=True)


@dataclass(frozen=True)
class Instance(Rule):
    """A statement about free points, at terms that are known as early and have no other indices."""

    step: str
    points: tuple[tuple[str, Term], ...]
    title = "instance"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.step,)

    def apply(self, state: State) -> Inequality:
        fact = state.inequality(self.step)
        table = {name: state.algebra.normal(term) for name, term in self.points}
        for name, term in table.items():
            variable = state.setting.variable(name)
            if variable.equations:
                raise ProofError(f"{name} is not free: it has update equations")
            if state.algebra.space(term) != variable.space:
                raise ProofError(f"{name}: {term!r} is in another space")
            if not state.algebra.support(term) <= state.algebra.support(Var(name)):
                raise ProofError(f"{name}: {term!r} depends on {state.algebra.support(term)!r}")
        parts = []
        for atom, c in fact.form:
            if isinstance(atom, Inner):
                parts.append((c, Inner(replaced(atom.left, dict(table)), replaced(atom.right, dict(table)))))
            elif isinstance(atom, One):
                parts.append((c, atom))  # type: ignore[arg-type]
            else:
                raise ProofError(f"{atom!r}: only inner products are instantiated")
        form_ = state.form(Scalar(tuple(parts)))
        return Inequality(fact_form(form_), fact.equal, fact.phases, fact.uses)


@dataclass(frozen=True)
class Triangle(Rule):
    """||a_1 + ... + a_n||^2 <= (r_1 + ... + r_n)^2 R from ||a_i||^2 <= r_i^2 R; `parts` holds (step, a_i, r_i)."""

    parts: tuple[tuple[str, Term, Signomial], ...]
    common: Scalar
    title = "triangle inequality"

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.parts)

    def apply(self, state: State) -> Inequality:
        facts = [state.inequality(name) for name in self.uses]
        total, root = Sum(()), ZERO
        for fact, (name, term, size) in zip(facts, self.parts, strict=True):
            if fact.table != state.form(sq(term) - size**2 * self.common):
                raise ProofError(f"{name} does not say that ||{term!r}||^2 <= ({size!r})^2 {self.common!r}")
            if not size.nonnegative:
                raise ProofError(f"the root {size!r} may be negative")
            total, root = total + term, root + size
        phases = phases_of(facts)
        if phases is None:
            raise ProofError("wanted statements about a step")
        return inequality(state, sq(total), root**2 * self.common, _uses(facts), phases=phases)


# --- inequalities from probability and from assumptions ----------------------------------------------------------------


@dataclass(frozen=True)
class Assume(Rule):
    """An instance of an assumption."""

    axiom: str
    terms: tuple[Term, ...] = ()
    title = "assumption"

    def apply(self, state: State) -> Fact:
        axiom = state.axioms.get(self.axiom)
        if not isinstance(axiom, Axiom):
            raise ProofError(f"{self.axiom}: no such assumption was declared")
        return axiom.instance(state, self.terms)


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
        uses = _independent(state, term, self.index, self.given)
        index = state.setting.index(self.index)
        size = index.first if self.first and index.first is not None else index.size
        phases = EVERY if index.first is None else FIRST if self.first else LATER
        mean = sq(Mean(self.index, self.term))
        return inequality(state, mean, sq(self.term) / size, uses, phases=phases, equal=True)


def _independent(state: State, term: Sum, index: str, given: Known) -> frozenset[str]:
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
        case Sum(parts):
            for _, inner in parts:
                _own_samples(state, inner, index, given, names)
        case App(function, argument, drawn):
            for source, step in zip(state.setting.function(function).sources, drawn, strict=True):
                if step is not None and not given.has(source, step):
                    if step != 0 and state.setting.index(index).first is not None:
                        raise ProofError(f"{index} has another size at step 0: wanted the samples of step t")
                    if index not in state.setting.source(source).index:
                        raise ProofError(f"{source} is the same for all values of {index}")
                    names.add(state.setting.source(source).independent)
            _own_samples(state, argument, index, given, names)
        case Act(operator, vector):
            _own_samples(state, operator, index, given, names)
            _own_samples(state, vector, index, given, names)
        case Proj(kept, _, inner):
            if index in state.algebra.support(inner).index and index not in kept:
                raise ProofError(f"{term!r} mixes the samples of all values of {index}")
            _own_samples(state, inner, index, given, names)
        case _:
            raise ProofError(f"{term!r} depends on the samples of step t itself, not only on those of its own {index}")


@dataclass(frozen=True)
class MeanMoment(Rule):
    """A bound on an operator, for its mean over an index or its conditional expectation (Jensen)."""

    moment: str
    over: tuple[str, ...] = ()
    given: Known | None = None
    title = "Jensen's inequality"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.moment,)

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

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.moment,)

    def apply(self, state: State) -> Moment:
        fact = state.moment(self.moment)
        if fact.given is None or not fact.trace:
            raise ProofError(f"{self.moment}: wanted a conditional bound in the Hilbert-Schmidt norm")
        uses = _independent(state, fact.term, self.index, fact.given)
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

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.moment,)

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
class SmoothDescent(Rule):
    """F(a) <= F(b) + <grad F(b), a - b> + S/2 ||a - b||^2, from ||grad F(p) - grad F(r)||^2 <= S^2 ||p - r||^2 for free p, r.

    b is known before step t, so that the samples inside the gradient are new to it; a may be anything.
    """

    objective: str
    lipschitz: str
    constant: Signomial
    other: str
    start: Term
    end: Term
    title = "smoothness (descent lemma)"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.lipschitz,)

    def apply(self, state: State) -> Inequality:
        objective = state.setting.objective(self.objective)
        fact, p, r = state.inequality(self.lipschitz), Var(objective.at), Var(self.other)
        self._free(state, objective.at, objective.gradient)
        gap = objective.gradient - replaced(objective.gradient, {objective.at: r})
        wanted = state.form(sq(gap) - self.constant**2 * sq(p - r))
        if dict(fact.form) != wanted or fact.phases != EVERY:
            raise ProofError(f"{self.lipschitz} does not say that the gradient of {self.objective} is Lipschitz")
        if not self.constant.nonnegative:
            raise ProofError(f"the smoothness constant {self.constant!r} may be negative")
        for term, name in ((self.start, "start"), (self.end, "end")):
            if state.algebra.space(term) != state.setting.variable(objective.at).space:
                raise ProofError(f"the {name} is in another space")
        start = state.algebra.normal(self.start)
        if not state.algebra.support(start) <= state.algebra.support(p):
            raise ProofError(f"{start!r} is not known before the samples of the gradient")
        gradient = replaced(objective.gradient, {objective.at: start})
        step = self.end - self.start
        right = value(self.objective, self.start) + dot(gradient, step) + self.constant / 2 * sq(step)
        return inequality(state, value(self.objective, self.end), right, fact.uses | {objective.assumption})

    def _free(self, state: State, at: str, gradient: Term) -> None:
        names = {name for name, _ in variables(gradient)}
        if names != {at} or self.other == at or min(samples(gradient), default=0) < 0:
            raise ProofError("the gradient must depend on its point alone")
        if not state.algebra.support(state.algebra.normal(gradient)) <= state.algebra.support(Var(at)):
            raise ProofError("the gradient is not averaged over its samples")
        points = [state.setting.variable(name) for name in (at, self.other)]
        if any(point.equations or point.index for point in points) or points[0].space != points[1].space:
            raise ProofError("the points of the Lipschitz bound must be free and without an index")


# --- rounds and sums ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drift(Rule):
    """How far a vector moves that is 0 after each communication and at the start, and moves by e at each local step.

    At j steps into a round ||d||^2 <= j (||e||^2 summed over them). With ||e||^2 <= A + c: summed over t < T at most
    I(I-1)/2 sum A + (I-1)(2I-1)/6 c T; over communications (I-1) sum A + (I-1)^2 c T/I; at every step (I-1)^2 c if A = 0.
    """

    quantity: str
    move: str
    reset: str
    start: str
    growth: str
    where: str = "all"
    title = "drift within a round"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.move, self.reset, self.start, self.growth)

    def apply(self, state: State) -> Inequality:
        d = self._vector(state)
        move, reset, start = (state.equation(name) for name in (self.move, self.reset, self.start))
        normal = state.algebra.normal
        if reset.term != normal(shifted(d, 1)) or not reset.phases >= COMMUNICATION:
            raise ProofError(f"{self.reset} does not say that the vector is 0 after a communication")
        if start.term != normal(d) or not start.phases >= FIRST:
            raise ProofError(f"{self.start} does not say that the vector is 0 at the start")
        if not move.phases >= LOCAL:
            raise ProofError(f"{self.move} does not cover every local step")
        e = normal(shifted(d, 1) - d - move.term)
        growth = state.inequality(self.growth)
        if growth.phases is None or not growth.phases >= EVERY:
            raise ProofError(f"{self.growth} does not hold at every step")
        parts, constant = self._growth(state, growth, sq(e))
        uses = _uses([move, reset, start, growth])
        return self._conclusion(state, parts, constant, uses)

    def _vector(self, state: State) -> Term:
        if self.quantity not in state.quantities:
            raise ProofError(f"{self.quantity}: no such quantity")
        meaning = state.quantities[self.quantity].meaning
        if len(meaning.parts) != 1 or meaning.parts[0][0] != ONE or not isinstance(meaning.parts[0][1], Inner):
            raise ProofError(f"{self.quantity} is not one squared norm")
        return meaning.parts[0][1].left

    def _growth(self, state: State, fact: Inequality, norm: Scalar) -> tuple[dict[Atom, Signomial], Signomial]:
        """||e||^2 <= sum of nonnegative multiples of quantities at step t, plus a constant."""
        rest = dict(fact.form)
        for atom, c in state.form(norm).items():
            rest[atom] = rest.get(atom, ZERO) - c
        bound = {atom: -c for atom, c in rest.items() if c}
        constant = bound.pop(One(), ZERO)
        for atom, c in bound.items():
            if not (isinstance(atom, Named) and atom.shift == 0 and state.nonnegative_atom(atom) and c.nonnegative):
                raise ProofError(f"{self.growth}: {c!r} {atom!r} is no nonnegative multiple of a quantity at step t")
        if not constant.nonnegative:
            raise ProofError(f"{self.growth}: the constant {constant!r} may be negative")
        return bound, constant

    def _conclusion(
        self, state: State, parts: dict[Atom, Signomial], constant: Signomial, uses: frozenset[str]
    ) -> Inequality:
        n, T = state.period, state.horizon
        if self.where == "every step":
            if parts:
                raise ProofError("at every step: the growth must be bounded by a constant")
            table: dict[Atom, Signomial] = {Named(self.quantity): ONE, One(): -((n - 1) ** 2) * constant}
            return Inequality(fact_form(table), False, EVERY, uses)
        weights = {
            "all": (n * (n - 1) / 2, (n - 1) * (2 * n - 1) / 6 * T),
            "communications": (n - 1, (n - 1) ** 2 * T / n),
        }
        if self.where not in weights:
            raise ProofError(f"{self.where!r}: wanted all, communications or every step")
        growth, flat = weights[self.where]
        table = {Total(atom.name): -growth * c for atom, c in parts.items() if isinstance(atom, Named)}
        own = Total(self.quantity, self.where == "communications")
        table[own] = table.get(own, ZERO) + ONE
        table[One()] = -flat * constant
        return Inequality(fact_form(table), False, None, uses)


@dataclass(frozen=True)
class SumOver(Rule):
    """The sum over start <= t < T - drop of a statement about a step; shifts become values at the ends.

    `communication` is another statement for the steps with communication, where it differs.
    """

    step: str
    communication: str = ""
    start: int = 0
    drop: int = 0
    title = "sum over t"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.step, self.communication) if self.communication else (self.step,)

    def apply(self, state: State) -> Inequality:
        if self.start + self.drop > 1 or min(self.start, self.drop) < 0:
            raise ProofError("at most one step is left out, since T >= 1")
        fact = state.inequality(self.step)
        needed = EVERY if self.start == 0 else LATER
        special = state.inequality(self.communication) if self.communication else fact
        local, other = (needed & LOCAL, needed & COMMUNICATION) if self.communication else (needed, needed)
        for f, phases in ((fact, local), (special, other)):
            if f.phases is None or not f.phases >= phases:
                raise ProofError("the statement does not hold at every step of the sum")
        table: dict[Atom, Signomial] = {}
        for atom, c in fact.form:
            self._add(state, table, atom, c)
        for atom, c in _difference(special, fact).items():
            self._add_communications(state, table, atom, c)
        equal = fact.equal and special is fact
        return Inequality(fact_form(table), equal, None, _uses([fact, special]))

    def _add(self, state: State, table: dict[Atom, Signomial], atom: Atom, c: Signomial) -> None:
        def put(what: Atom, factor: Signomial) -> None:
            table[what] = table.get(what, ZERO) + factor

        if isinstance(atom, One):
            put(atom, c * (state.horizon - self.start - self.drop))
            return
        if not isinstance(atom, Named):
            raise ProofError(f"{atom!r} is not a named quantity: only those are summed")
        low, high = self.start + atom.shift, atom.shift - self.drop
        put(Total(atom.name), c)
        for step in range(min(low, 0), max(low, 0)):
            put(At(atom.name, False, step), -c if low > 0 else c)
        for step in range(min(high, 0), max(high, 0)):
            put(At(atom.name, True, step), c if high > 0 else -c)

    def _add_communications(self, state: State, table: dict[Atom, Signomial], atom: Atom, c: Signomial) -> None:
        if self.start or self.drop:
            raise ProofError("a sum over communications runs over all t < T")
        if isinstance(atom, One):
            if not (-c).nonnegative:
                raise ProofError("fewer than T/I communications: the constant has the wrong sign")
            table[atom] = table.get(atom, ZERO) + c * state.horizon / state.period
        elif isinstance(atom, Named) and atom.shift == 0:
            own = Total(atom.name, True)
            table[own] = table.get(own, ZERO) + c
        else:
            raise ProofError(f"{atom!r}: only quantities at step t itself are summed over communications")


def _difference(special: Inequality, fact: Inequality) -> dict[Atom, Signomial]:
    table = special.table
    for atom, c in fact.form:
        table[atom] = table.get(atom, ZERO) - c
    return {atom: c for atom, c in table.items() if c}


@dataclass(frozen=True)
class Invariant(Rule):
    """Q_{t+1} <= c for every t, by induction: Q_1 <= c, and Q_{t+1} <= a Q_t + d with a >= 0 and a c + d <= c for t >= 1."""

    quantity: str
    bound: Signomial
    first: str
    later: str
    title = "induction over t"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.first, self.later)

    def apply(self, state: State) -> Inequality:
        first, step = state.inequality(self.first), state.inequality(self.later)
        if first.phases is None or not first.phases >= FIRST or step.phases is None or not step.phases >= LATER:
            raise ProofError("wanted a statement about step 0 and one about every later step")
        after, before = Named(self.quantity, 1), Named(self.quantity)
        if first.table != state.form(scalar(after) - self.bound):
            raise ProofError(f"{self.first} does not say that {after!r} <= {self.bound!r}")
        table = step.table
        if table.pop(after, ZERO) != ONE:
            raise ProofError(f"{self.later} is no bound of {after!r}")
        factor, rest = -table.pop(before, ZERO), -table.pop(One(), ZERO)
        if table:
            raise ProofError(f"{self.later} speaks of more than {self.quantity}")
        used: frozenset[str] = frozenset()
        for number in (factor, self.bound - factor * self.bound - rest):
            names = state.certify(number)
            if names is None:
                raise ProofError(f"({number!r}) is not certified to be nonnegative{state.where_negative(number)}")
            used |= names
        return inequality(state, scalar(after), scalar(self.bound), _uses([first, step]) | used)


@dataclass(frozen=True)
class AtStart(Rule):
    """A statement about a step at t = 0, or with `end` at t = T."""

    step: str
    end: bool = False
    title = "first or last step"

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.step,)

    def apply(self, state: State) -> Inequality:
        fact = state.inequality(self.step)
        if fact.phases is None or not fact.phases >= (LATER if self.end else FIRST):
            raise ProofError(f"{self.step} does not hold there")
        table: dict[Atom, Signomial] = {}
        for atom, c in fact.form:
            if isinstance(atom, Named):
                table[At(atom.name, self.end, atom.shift)] = c
            elif isinstance(atom, One):
                table[atom] = c
            else:
                raise ProofError(f"{atom!r} is not a named quantity")
        return Inequality(fact_form(table), fact.equal, None, fact.uses)


@dataclass(frozen=True)
class Part(Rule):
    """The communications are some of the steps: their sum of a nonnegative quantity is at most the whole sum."""

    quantity: str
    title = "a part of a sum"

    def apply(self, state: State) -> Inequality:
        if self.quantity not in state.quantities or not state.quantities[self.quantity].nonnegative:
            raise ProofError(f"{self.quantity}: no nonnegative quantity")
        table: dict[Atom, Signomial] = {Total(self.quantity, True): ONE, Total(self.quantity): -ONE}
        return Inequality(fact_form(table), False, None)


def _uses(facts) -> frozenset[str]:
    return frozenset().union(*(fact.uses for fact in facts))


RULES = (
    Definition,
    Project,
    Linear,
    Cases,
    Later,
    Combine,
    Open,
    Instance,
    Assume,
    IndependentMean,
    MeanMoment,
    IndependentMoment,
    Action,
    Triangle,
    SmoothDescent,
    Drift,
    SumOver,
    Invariant,
    AtStart,
    Part,
)
__all__ = ["RULES", "Fraction", "Rule", "Value", *(rule.__name__ for rule in RULES)]
