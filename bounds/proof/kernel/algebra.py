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
from .terms import Act, App, Given, Mean, Pair, Proj, Sum, Term, Var, inside, rebuilt, variables

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
    """Normal forms in one setting; `pathwise`: of inner products that have a value along every run, of which no expectation is taken."""

    def __init__(self, setting: Setting, *, pathwise: bool = False):
        self.setting, self.pathwise = setting, pathwise
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
            case Var(name, shift):
                variable = self.setting.variable(name)
                return Support(variable.index, self.setting.known(name, shift))
            case App(name, argument, samples):
                return self.support(argument) | self._own(name, samples)
            case Proj(index, known, inner):
                return Support(index, known) & self.support(inner)
            case Mean(index, inner):
                found = self.support(inner)
                return Support(found.index - {index}, found.known)
            case Given(known, inner):
                found = self.support(inner)
                return Support(found.index, found.known & known)
        return _join(map(self.support, inside(term)))

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
        own: set[When] = set()
        match term:
            case App(name, _, samples):
                drawn = zip(self.setting.function(name).sources, samples, strict=True)
                own = {s for source, s in drawn if s is not None and index in self.setting.source(source).index}
            case Proj(kept) if index not in kept:
                return frozenset()
        return frozenset(own).union(*(self._steps(inner, index) for inner in inside(term)))

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
        return {step: Averaged(rank) for rank, step in enumerate(sorted(self._unknown_steps(node, known)))}

    def _unknown_steps(self, node: Term, known: Known) -> frozenset[When]:
        """Steps of the samples inside that are not known."""
        drawn = (
            zip(self.setting.function(node.function).sources, node.samples, strict=True)
            if isinstance(node, App)
            else ()
        )
        own = frozenset(s for source, s in drawn if s is not None and not known.has(source, s))
        return own.union(*(self._unknown_steps(inner, known) for inner in inside(node)))

    def _renamed(self, node: Term, known: Known, table: dict[When, Averaged]) -> Term:
        match node:
            case Sum(parts):
                return collect([(c, self._renamed(inner, known, table)) for c, inner in parts])
            case App(name, argument, samples):
                drawn = zip(self.setting.function(name).sources, samples, strict=True)
                steps = tuple(s if s is None or known.has(source, s) else table[s] for source, s in drawn)
                return App(name, self._renamed(argument, known, table), steps)
            case Proj(index, _, inner):
                if not self.support(inner).known <= self.support(node).known:
                    return node
                changed = self._renamed(inner, known, table)
                return Proj(index, self.support(changed).known, changed)
        return rebuilt(node, lambda inner: self._renamed(inner, known, table))

    def _sized(self, node: Term) -> bool:
        """Whether something inside must keep the step of its samples: a batch of another size at step 0, or a conditional expectation."""
        if isinstance(node, Proj):
            gone = self.support(node.term).index - node.index
            varies = any(self.setting.index(i).first is not None for i in gone)
            if varies or not self.support(node.term).known <= node.known:
                return True
        return any(map(self._sized, inside(node)))

    def _index_given(self, node: Term, known: Known) -> frozenset[str]:
        """The indices over which anything inside differs but the samples outside `known`, which are averaged: those are alike.

        An index inside a mean counts: its values change places with those outside. Not in what is known, whose samples all stay.
        """
        own = _NO_INDEX
        match node:
            case Var(name, _):
                own = self.setting.variable(name).index
            case App(name, _, samples):
                function = self.setting.function(name)
                own = function.index
                for source, step in zip(function.sources, samples, strict=True):
                    if step is not None and known.has(source, step):
                        own |= frozenset(self.setting.source(source).index)
            case Proj() if (found := self.support(node)).known <= known:
                return found.index
        return own.union(*(self._index_given(inner, known) for inner in inside(node)))

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
            first = self._project(a, self._seen_from(b, a))
            second = self._project(b, self._seen_from(first, b))
            if (first, second) == (a, b):
                return (a, b) if repr(a) <= repr(b) else (b, a)
            a, b = first, second

    def _seen_from(self, other: Term, node: Term) -> Support:
        """What of a node its inner product with another one depends on: along a run its samples stay, and only indices are averaged."""
        found = self.support(other)
        return Support(found.index, self.support(node).known) if self.pathwise else found


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
