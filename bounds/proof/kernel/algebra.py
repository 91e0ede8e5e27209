"""The normal form of vectors and of inner products; every rewriting here is an equality in L^2.

Means over indices and conditional expectations given sets of independent sources are commuting orthogonal projections. So
<u, v> may be taken after both sides are projected on what the other one depends on. Functions keep their arguments. The
mean function replaces f(argument; sample) exactly where the sample is new to the argument and to what is given.
"""

from __future__ import annotations

from dataclasses import dataclass

from .known import Averaged, Known, When
from .setting import Setting, Space, Variable
from .signomial import ONE, ProofError, Signomial
from .terms import Act, App, Given, Mean, Pair, Proj, Sum, Term, Var, variables

_NO_INDEX: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Support:
    """What a term depends on: indices, and sources of randomness."""

    index: frozenset[str]
    known: Known

    def __or__(self, other: Support) -> Support:
        return Support(self.index | other.index, self.known | other.known)

    def __and__(self, other: Support) -> Support:
        return Support(self.index & other.index, self.known & other.known)

    def __le__(self, other: Support) -> bool:
        return self.index <= other.index and self.known <= other.known


class Algebra:
    """Normal forms in one setting."""

    def __init__(self, setting: Setting):
        self.setting = setting
        self._supports: dict[Term, Support] = {}
        self._normal: dict[Term, Sum] = {}
        self._projected: dict[tuple[Term, Support], Term] = {}
        for variable in setting.variables:
            for _, term in variable.equations:
                self.accept_equation(variable, term)

    def accept_equation(self, variable: Variable, term: Term) -> None:
        """Raises where an update equation differs over an index that its variable does not have."""
        if differ := sorted(self.support(term).index - variable.index):
            raise ProofError(f"{variable.name}: its equation {term!r} differs over {differ[0]}, which it does not have")

    # --- what a term is -----------------------------------------------------------------------------------------

    def space(self, term: Term) -> Space:
        """The space of a term; refuses sums of different spaces, wrong arguments and wrong operators."""
        match term:
            case Sum(parts):
                spaces = {self.space(inner) for _, inner in parts}
                if len(spaces) != 1:
                    raise ProofError(f"{term!r} adds vectors of {len(spaces)} spaces")
                return spaces.pop()
            case Var(name, _):
                return self.setting.variable(name).space
            case App(name, argument, samples):
                function = self.setting.function(name)
                if len(samples) != len(function.sources):
                    raise ProofError(f"{term!r}: {name} takes {len(function.sources)} samples")
                point = argument
                if isinstance(argument, Pair):
                    point = argument.point
                    if self.space(argument.label) != function.label:
                        raise ProofError(
                            f"{term!r}: the label is not in {function.label or 'the domain, which has none'}"
                        )
                elif function.label:
                    raise ProofError(f"{term!r}: {name} takes a point and a label")
                if not (isinstance(point, Sum) and not point.parts) and self.space(point) != function.domain:
                    raise ProofError(f"{term!r}: the argument is not in {function.domain}")
                return function.space
            case Pair():
                raise ProofError(f"({term!r}) is the argument of a function, and no vector")
            case Act(operator, vector):
                space = self.space(operator)
                if isinstance(space, str) or self.space(vector) != space[1]:
                    raise ProofError(f"{term!r}: no operator on this space")
                return space[0]
            case Mean(_, inner) | Given(_, inner) | Proj(_, _, inner):
                return self.space(inner)
        raise TypeError(f"{term!r} is no term")

    def support(self, term: Term) -> Support:
        """Indices and sources that a term may depend on."""
        if term not in self._supports:
            self._supports[term] = self._support(term)
        return self._supports[term]

    def _support(self, term: Term) -> Support:
        match term:
            case Sum(parts):
                return _join(self.support(inner) for _, inner in parts)
            case Var(name, shift):
                variable = self.setting.variable(name)
                return Support(variable.index, self.setting.known(name, shift))
            case App(name, argument, samples):
                return self.support(argument) | self._own(name, samples)
            case Act(first, second) | Pair(first, second):
                return self.support(first) | self.support(second)
            case Proj(index, known, inner):
                return Support(index, known) & self.support(inner)
            case Mean(index, inner):
                found = self.support(inner)
                return Support(found.index - {index}, found.known)
            case Given(known, inner):
                found = self.support(inner)
                return Support(found.index, found.known & known)
        raise TypeError(f"{term!r} is no term")

    def _own(self, name: str, samples: tuple[When | None, ...]) -> Support:
        function = self.setting.function(name)
        drawn = [(source, step) for source, step in zip(function.sources, samples, strict=True) if step is not None]
        index = function.index if drawn or not function.sources else function.mean_index
        found = Support(index, Known())
        for source, step in drawn:
            found = found | Support(frozenset(self.setting.source(source).index), Known.sample(source, step))
        return found

    # --- normal form --------------------------------------------------------------------------------------------

    def normal(self, term: Term) -> Sum:
        """The term as a sum of distinct normal terms in a fixed order."""
        if term not in self._normal:
            self.space(term) if not (isinstance(term, Sum) and not term.parts) else None
            self._normal[term] = self._reduced(term)
        return self._normal[term]

    def argument(self, term: Term) -> Term:
        """The normal form of what a function is applied to."""
        if isinstance(term, Pair):
            return Pair(self.normal(term.point), self.normal(term.label))
        return self.normal(term)

    def _reduced(self, term: Term) -> Sum:
        match term:
            case Sum(parts):
                return collect([(c * d, node) for c, inner in parts for d, node in self.normal(inner).parts])
            case Var():
                return Sum(((ONE, term),))
            case App(name, argument, samples):
                return Sum(((ONE, self._one_step(App(name, self.argument(argument), samples))),))
            case Act(operator, vector):
                pairs = [
                    (c * d, self._one_step(Act(m, v)))
                    for c, m in self.normal(operator).parts
                    for d, v in self.normal(vector).parts
                ]
                return collect(pairs)
            case Mean(index, inner):
                return self.project(inner, lambda s: Support(s.index - {index}, s.known))
            case Given(known, inner):
                return self.project(inner, lambda s: Support(s.index, known))
            case Proj(index, known, inner):
                return self.project(inner, lambda s: Support(index, known))
        raise TypeError(f"{term!r} is no term")

    def _one_step(self, node: Term) -> Term:
        """An index with another size at step 0 stands for the samples of one step: a product may not pair two of them."""
        for index in self.setting.indices:
            if index.first is not None and len(self._steps(node, index.name)) > 1:
                raise ProofError(f"{node!r} pairs samples of two steps over {index.name}, whose size differs at step 0")
        return node

    def _steps(self, term: Term, index: str) -> frozenset[When]:
        """Steps of the samples by which a term depends on the index."""
        match term:
            case Sum(parts):
                return frozenset().union(*(self._steps(inner, index) for _, inner in parts))
            case App(name, argument, samples):
                drawn = zip(self.setting.function(name).sources, samples, strict=True)
                own = {s for source, s in drawn if s is not None and index in self.setting.source(source).index}
                return self._steps(argument, index) | own
            case Act(first, second) | Pair(first, second):
                return self._steps(first, index) | self._steps(second, index)
            case Proj(kept, _, inner):
                return self._steps(inner, index) if index in kept else frozenset()
        return frozenset()

    def project(self, term: Term, onto) -> Sum:
        """The projection of each part on `onto` of its support."""
        return collect([(c, self._project(node, onto(self.support(node)))) for c, node in self.normal(term).parts])

    def _project(self, node: Term, onto: Support) -> Term:
        found = self.support(node)
        if found <= onto:
            return node
        key = (node, onto & found)
        if key not in self._projected:
            self._projected[key] = self._projection(*key)
        return self._projected[key]

    def _projection(self, node: Term, onto: Support) -> Term:
        match node:
            case Proj(index, known, inner):
                return self._project(inner, Support(index, known) & onto)
            case App(name, argument, samples):
                reached = onto.known | self.support(argument).known
                sources = self.setting.function(name).sources
                kept = tuple(
                    step if step is not None and reached.has(source, step) else None
                    for source, step in zip(sources, samples, strict=True)
                )
                return self._opaque(App(name, argument, kept), onto)
            case Act(operator, vector):
                while True:
                    left = self._project(operator, onto | self.support(vector))
                    right = self._project(vector, onto | self.support(left))
                    if (left, right) == (operator, vector):
                        return self._opaque(Act(left, right), onto)
                    operator, vector = left, right
            case Var():
                return self._opaque(node, onto)
        raise TypeError(f"{node!r} is not in normal form")

    def _opaque(self, node: Term, onto: Support) -> Term:
        """A projection that nothing simplifies; an index that only averaged samples have is not one of the result.

        E[. | known] = E[E[. | wider] | known] for all that is known or stands in a variable: given that, the node depends on
        the samples of its functions only, which are averaged first.
        """
        found = self.support(node)
        if found <= onto:
            return node
        index, known = onto.index & found.index, onto.known & found.known
        wider = known | self._in_variables(node)
        left = self._index_given(node, wider)
        fewer = frozenset(i for i in index if i in left or not self.setting.index(i).identical)
        if fewer != index:
            return self._project(node, Support(fewer, known))
        if not self._sized(node):
            node = self._renamed(node, wider, self._averaged_steps(node, wider))
        return Proj(index, known, node)

    def _in_variables(self, node: Term) -> Known:
        """The sources on which the variables inside depend."""
        found = Known()
        for name, shift in variables(node):
            found = found | self.setting.known(name, shift)
        return found

    def _averaged_steps(self, node: Term, known: Known) -> dict[When, Averaged]:
        """Steps of averaged samples -> marks in their order: samples of different steps have one law."""
        found: set[When] = set()
        _collect_steps(self.setting, node, known, found)
        return {step: Averaged(rank) for rank, step in enumerate(sorted(found))}

    def _renamed(self, node: Term, known: Known, table: dict[When, Averaged]) -> Term:
        match node:
            case Sum(parts):
                return collect([(c, self._renamed(inner, known, table)) for c, inner in parts])
            case Var():
                return node
            case App(name, argument, samples):
                drawn = zip(self.setting.function(name).sources, samples, strict=True)
                steps = tuple(s if s is None or known.has(source, s) else table[s] for source, s in drawn)
                return App(name, self._renamed(argument, known, table), steps)
            case Act(operator, vector):
                return Act(self._renamed(operator, known, table), self._renamed(vector, known, table))
            case Pair(point, label):
                return Pair(self._renamed(point, known, table), self._renamed(label, known, table))
            case Proj(index, _, inner) if self.support(inner).known <= self.support(node).known:
                changed = self._renamed(inner, known, table)
                return Proj(index, self.support(changed).known, changed)
        return node

    def _sized(self, node: Term) -> bool:
        """Whether something inside must keep the step of its samples: a batch of another size at step 0, or a conditional expectation."""
        match node:
            case Sum(parts):
                return any(self._sized(inner) for _, inner in parts)
            case App(_, argument, _):
                return self._sized(argument)
            case Act(first, second) | Pair(first, second):
                return self._sized(first) or self._sized(second)
            case Proj(index, known, inner):
                gone = self.support(inner).index - index
                varies = any(self.setting.index(i).first is not None for i in gone)
                return varies or not self.support(inner).known <= known or self._sized(inner)
        return False

    def _index_given(self, node: Term, known: Known) -> frozenset[str]:
        """The indices over which anything inside differs but the samples outside `known`, which are averaged: those are alike.

        An index inside a mean counts: its values change places with those outside. Not in what is known, whose samples all stay.
        """
        match node:
            case Sum(parts):
                return _NO_INDEX.union(*(self._index_given(inner, known) for _, inner in parts))
            case Var(name, _):
                return self.setting.variable(name).index
            case App(name, argument, samples):
                function = self.setting.function(name)
                own = set(self._index_given(argument, known)) | function.index
                for source, step in zip(function.sources, samples, strict=True):
                    if step is not None and known.has(source, step):
                        own |= set(self.setting.source(source).index)
                return frozenset(own)
            case Act(first, second) | Pair(first, second):
                return self._index_given(first, known) | self._index_given(second, known)
            case Proj(_, _, inner):
                found = self.support(node)
                return found.index if found.known <= known else self._index_given(inner, known)
        raise TypeError(f"{node!r} is not in normal form")

    # --- inner products -----------------------------------------------------------------------------------------

    def inner(self, left: Term, right: Term) -> dict[tuple[Term, Term], Signomial]:
        """<left, right> as a combination of inner products of normal terms."""
        u, v = self.normal(left), self.normal(right)
        if u.parts and v.parts:
            spaces = {self.space(u), self.space(v)}
            if len(spaces) != 1 or not all(isinstance(space, str) for space in spaces):
                raise ProofError(f"<{left!r}, {right!r}>: not two vectors of one space")
        total: dict[tuple[Term, Term], Signomial] = {}
        for c, a in u.parts:
            for d, b in v.parts:
                pair = self._pair(a, b)
                total[pair] = total.get(pair, 0 * ONE) + c * d
        return {pair: value for pair, value in total.items() if value}

    def _pair(self, a: Term, b: Term) -> tuple[Term, Term]:
        while True:
            first = self._project(a, self.support(b))
            second = self._project(b, self.support(first))
            if (first, second) == (a, b):
                return (a, b) if repr(a) <= repr(b) else (b, a)
            a, b = first, second


def _collect_steps(setting: Setting, node: Term, known: Known, found: set[When]) -> None:
    match node:
        case Sum(parts):
            for _, inner in parts:
                _collect_steps(setting, inner, known, found)
        case App(name, argument, samples):
            drawn = zip(setting.function(name).sources, samples, strict=True)
            found |= {s for source, s in drawn if s is not None and not known.has(source, s)}
            _collect_steps(setting, argument, known, found)
        case Act(first, second) | Pair(first, second):
            _collect_steps(setting, first, known, found)
            _collect_steps(setting, second, known, found)
        case Proj(_, _, inner):
            _collect_steps(setting, inner, known, found)


def _join(supports) -> Support:
    total = Support(_NO_INDEX, Known())
    for support in supports:
        total = total | support
    return total


def collect(pairs: list[tuple[Signomial, Term]]) -> Sum:
    """Like terms together, zeros away, in a fixed order."""
    table: dict[Term, Signomial] = {}
    for coefficient, node in pairs:
        table[node] = table.get(node, 0 * ONE) + coefficient
    return Sum(tuple(sorted(((c, n) for n, c in table.items() if c), key=lambda part: repr(part[1]))))
