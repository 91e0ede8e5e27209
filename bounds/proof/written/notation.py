r"""LaTeX of what a derivation speaks about: vectors, norms, expectations, quantities, exact numbers.

    mean_n(x)                      \bar{x}_{t}
    df(mean_j(g(x; *,*)); *)       \nabla f_{n}(\hat{g}_{n}(x^{n}_{t};\, \xi^{i});\, \xi^{i})
    E[. | past]                    \mathbb{E}_{t}[.]

A squared norm of a random vector stands under an expectation, and that of a vector which differs over the clients under their mean:
both are what `||.||^2` means in a derivation. A hat is the mean of a function over a batch; grad F stands for what the derivation
declares as the gradient of its objective F, at any point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import sympy as sp

from ...language.notation import STEP
from ...language.notation import latex_of as letters_of_name
from ...language.typesetting import Letters, latex
from ..kernel.algebra import Algebra, Support
from ..kernel.facts import Equation, Fact, Inequality, Moment, Quantity
from ..kernel.known import Averaged, Known, When
from ..kernel.region import log_of_inverse
from ..kernel.scalars import At, Atom, Inner, Named, One, Scalar, Total, Value
from ..kernel.setting import BATCH, CLIENTS, Objective, Setting, Variable
from ..kernel.signomial import CLOCK, Param, Signomial, clock
from ..kernel.terms import Act, App, Given, Mean, Pair, Proj, Sum, Term, Var, inside, rebuilt, variables

GRADIENT = "d"
"""The first letter of a derivative: `df` is the gradient of f, `dg` the transposed Jacobian of g."""
_GREEK = {"xi", "eta", "zeta", "Lambda", "Phi"}
_FACTORED = 12
"""A number of more terms than this is not factored."""
_ONE_LINE = 220
"""A formula with more characters than this is set on two lines."""


@dataclass(frozen=True)
class Notation:
    """How one derivation is written.

    Args:
        algebra: says what a vector depends on. letters: the LaTeX of the statement's symbols and constants.
        symbols: those symbols by name. horizon: the number of steps. quantities: the named numbers of the derivation.
        offset: what the clock shows at step 0.
        hats: the means over a batch that were written so far, with their meanings. numbers: the numbers that were, in LaTeX.
    """

    algebra: Algebra
    letters: Letters
    symbols: Mapping[str, sp.Symbol]
    horizon: Signomial | None = None
    quantities: tuple[Quantity, ...] = ()
    offset: Signomial | None = None
    hats: dict[str, str] = field(default_factory=dict)
    numbers: dict[Signomial, str] = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        return self.algebra.setting

    # --- numbers ------------------------------------------------------------------------------------------------------

    def expression(self, value: Signomial) -> sp.Expr:
        """A number as an expression in the statement's own symbols."""
        return sp.Add(
            *(
                sp.Rational(c.numerator, c.denominator)
                * sp.Mul(*(self._symbol(p) ** sp.Rational(e.numerator, e.denominator) for p, e in monomial))
                for monomial, c in value.terms
            )
        )

    def _symbol(self, param: Param) -> sp.Expr:
        if param.least:
            return sp.Min(*(self.expression(each) for each in param.least))
        if param == CLOCK and self.offset is not None:
            return STEP + self.expression(self.offset)
        return self.symbols.get(param.name) or self._logarithm(param) or sp.Symbol(param.name, positive=True)

    def _logarithm(self, param: Param) -> sp.Expr | None:
        """log(1/delta), where the number is that of a symbol."""
        of = (symbol for name, symbol in self.symbols.items() if log_of_inverse(Param(name)) == param)
        return next((sp.log(1 / symbol) for symbol in of), None)

    def number(self, value: Signomial) -> str:
        """A number, factored where that makes it short."""
        if value not in self.numbers:
            expr = self.expression(value)
            if isinstance(expr, sp.Add) and len(expr.args) <= _FACTORED:
                expr = _without_sign(sp.factor_terms(expr) if _has_roots(value) else _factored(expr))
            self.numbers[value] = latex(expr, self._all_letters(value))
        return self.numbers[value]

    def _all_letters(self, value: Signomial) -> Letters:
        """The statement's letters, and those of the numbers that only the derivation has."""
        others = [p for p in value.params if p.name not in self.symbols and p != CLOCK and not self._logarithm(p)]
        own = {self._symbol(p): self._own_letter(p) for p in others}
        return Letters({**self.letters.latex, **own}, self.letters.rank)

    def _own_letter(self, param: Param) -> str:
        if param.name == "position in the round":
            return "s_{t}"
        name, _, rest = param.name.partition("(")
        name, *reverse = name.split(" ")
        step = r"\nu" if rest else r"\nu-1-t" if reverse else "t" if param.moving else ""
        word = letters_of_name(name)
        return f"({word})_{{{step}}}" if step and "_" in word else f"{word}_{{{step}}}" if step else word

    def times(self, coefficient: Signomial, text: str) -> str:
        """A number in front of something."""
        number = self.number(coefficient)
        if number in ("1", "-1"):
            return number[:-1] + text
        expr = _factored(self.expression(coefficient)) if len(coefficient.terms) > 1 else sp.S.One
        if isinstance(expr, sp.Add):
            number = rf"\left({number}\right)"
        return rf"{number}\, {text}"

    # --- vectors ------------------------------------------------------------------------------------------------------

    def variable(self, variable: Variable, shift: int = 0) -> str:
        above = ",".join(sorted(variable.index))
        moves = not variable.is_free
        return (
            f"{letters_of_name(variable.name)}"
            + (f"^{{{above}}}" if above else "")
            + (f"_{{{_step(shift)}}}" if moves else "_{+}" if shift else "")
        )

    def term(self, term: Term) -> str:
        """A vector or an operator."""
        if short := self._gradient_of_objective(term):
            return short
        match term:
            case Sum(parts):
                return _signed([self._part(c, inner) for c, inner in parts])
            case Var(name, shift):
                return self.variable(self.setting.variable(name), shift)
            case App():
                return self._value(term)
            case Pair(point, label):
                return f"{self.term(point)},\\, {self.term(label)}"
            case Act(operator, vector):
                return rf"{self.closed(operator)}\, {self.closed(vector)}"
            case Mean(index, inner):
                return self._mean(index, inner)
            case Given(known, inner):
                return self.expectation(known, inner)
            case Proj(index, known, inner):
                over = [
                    i for i in sorted(self.algebra.support(inner).index - index) if not self._alike(i, known, inner)
                ]
                if self.algebra.support(inner).known <= known:
                    for gone in over:
                        inner = Mean(gone, inner)
                    return self.term(inner)
                found = self.expectation(known, inner)
                return " ".join([*(self._average(gone) for gone in over), found])
        raise TypeError(f"{term!r} is no term")

    def _alike(self, index: str, known: Known, term: Term) -> bool:
        """Whether only samples of one law that are averaged differ over an index: one of them says it all."""
        inside = {i for name, _ in variables(term) for i in self.setting.variable(name).index}
        drawn = {i for name, _, single in known.entries if single for i in self.setting.source(name).index}
        return bool(self.setting.index(index).identical) and index not in inside | drawn

    def gradient(self, objective: Objective) -> str:
        """What an objective's gradient is declared to be, or for clients that of each, with its name."""
        for pattern, over in (*self._of_a_client(objective.gradient), (objective.gradient, "")):
            mark = f"_{{{over}}}" if over else ""
            if not isinstance(pattern, App):
                return rf"\nabla {letters_of_name(objective.name)}{mark}({objective.at}) = {self._unnamed(pattern)}"
        return rf"\nabla {letters_of_name(objective.name)}({objective.at}) = {self._unnamed(objective.gradient)}"

    def _unnamed(self, term: Term) -> str:
        """A term, written without the name of the whole of it."""
        match term:
            case Mean(index, inner):
                return self._mean(index, inner)
            case Given(known, inner):
                return self._expected(known, self.term(inner))
        return _signed([self._part(c, inner) for c, inner in term.parts]) if isinstance(term, Sum) else self.term(term)

    def _gradient_of_objective(self, term: Term) -> str:
        """The gradient of an objective at a point, or that of one client's part of it; empty where the term is neither."""
        for objective in self.setting.objectives:
            gradient, point = objective.gradient, objective.at
            for pattern, over in ((gradient, ""), *self._of_a_client(gradient)):
                found: dict[str, Term] = {}
                if not isinstance(pattern, App) and _matches(pattern, term, point, found) and point in found:
                    mark = f"_{{{over}}}" if over else ""
                    return rf"\nabla {letters_of_name(objective.name)}{mark}({self.term(found[point])})"
        return ""

    def _of_a_client(self, gradient: Term) -> tuple[tuple[Term, str], ...]:
        if isinstance(gradient, Mean) and self.setting.index(gradient.index).of == CLIENTS:
            return ((gradient.term, gradient.index),)
        return ()

    def _value(self, term: App, batch: str = "") -> str:
        """A function at a point; with `batch` its mean over the samples of that index."""
        function, samples = self.setting.function(term.function), list(term.samples)
        if function.role == "minimiser":
            return "x_*"
        for place, source in enumerate(function.sources):
            if batch and batch in self.setting.source(source).index:
                samples[place] = None
        drawn = self._samples(term.function, tuple(samples))
        samples_of = rf";\, {drawn}" if drawn else ""
        return f"{self.function(term.function, hat=bool(batch))}({self.term(term.argument)}{samples_of})"

    def _part(self, coefficient: Signomial, term: Term) -> str:
        inner = self.closed(term) if repr(coefficient) != "1" else self.term(term)
        return self.times(coefficient, inner)

    def closed(self, term: Term) -> str:
        """The same, between parentheses where it is a sum."""
        while isinstance(term, Sum) and len(term.parts) == 1 and repr(term.parts[0][0]) == "1":
            term = term.parts[0][1]
        text = self.term(term)
        return rf"\left({text}\right)" if isinstance(term, Sum) else text

    def _mean(self, index: str, inner: Term) -> str:
        if isinstance(inner, Var) and self.setting.variable(inner.name).index == {index}:
            variable = self.setting.variable(inner.name)
            step = f"_{{{_step(inner.shift)}}}" if not variable.is_free else ""
            return rf"\bar{{{letters_of_name(inner.name)}}}{step}"
        if isinstance(inner, App) and self._is_batch_mean(index, inner):
            point = App(inner.function, self._anywhere(inner.argument), inner.samples)
            self.hats[self._value(point, index)] = f"{self._average(index)} {self._value(point)}"
            return self._value(inner, index)
        return f"{self._average(index)} {self.closed(inner)}"

    def _is_batch_mean(self, index: str, term: App) -> bool:
        """Whether only the function's own samples differ over the index of a batch, and what is left of them shows all other indices."""
        if self.setting.index(index).of != BATCH or index in self.algebra.support(term.argument).index:
            return False
        gone, left = set[str](), set[str]()
        for source, step in zip(self.setting.function(term.function).sources, term.samples, strict=True):
            over = {i for i in self.setting.source(source).index if self.setting.index(i).of == BATCH}
            if step is not None:
                (gone if index in over else left).update(over)
        return index in gone and gone - {index} <= left

    def _anywhere(self, argument: Term) -> Term:
        """A free point in the place of the argument of a function, where there is one."""
        if isinstance(argument, Pair):
            return argument
        space = self.algebra.space(argument)
        free = [v for v in self.setting.variables if v.is_free and v.space == space]
        return Var(min(free, key=lambda v: len(v.index)).name) if free else argument

    def _average(self, index: str) -> str:
        found = self.setting.index(index)
        if found.first is not None:
            return rf"\operatorname{{avg}}_{{{index}}}"
        return rf"\frac{{1}}{{{self.number(found.size)}}} \sum_{{{index}}}"

    def function(self, name: str, *, hat: bool = False) -> str:
        """A function of the problem, with the index of the client if it has one; with a hat its mean over a batch."""
        function = self.setting.function(name)
        over = ",".join(i for i in sorted(function.index) if self.setting.index(i).of == CLIENTS)
        derived = name.startswith(GRADIENT) and len(name) > 1 and len(name) <= 3
        word = rf"\nabla {name[1:]}" if derived else name if len(name) == 1 else rf"\operatorname{{{name}}}"
        word = (rf"\widehat{{{word}}}" if derived else rf"\hat{{{word}}}") if hat else word
        return f"{word}_{{{over}}}" if over else word

    def _samples(self, name: str, samples: tuple[When | None, ...]) -> str:
        sources = self.setting.function(name).sources
        return r",\, ".join(
            self.sample(source, step) for source, step in zip(sources, samples, strict=True) if step is not None
        )

    def sample(self, source: str, step: When) -> str:
        """A sample, with its indices but the client, and its step where that is another one than t."""
        above = "".join(i for i in self.setting.source(source).index if self.setting.index(i).of != CLIENTS)
        word = rf"\{source}" if source in _GREEK else source if len(source) == 1 else rf"\mathrm{{{source}}}"
        below = "" if isinstance(step, Averaged) or not step else f"_{{{_step(step)}}}"
        return f"{word}{f'^{{{above}}}' if above else ''}{below}"

    def expectation(self, known: Known, term: Term) -> str:
        """The conditional expectation given the samples before a step, and some of that step; the vector itself where that is known."""
        if self.algebra.support(term).known <= known:
            return self.term(term)
        return self._expected(known, self.term(term))

    def _expected(self, known: Known, text: str) -> str:
        levels = {level for _, level, _ in known.entries if level is not None}
        everything = {name for name, level, _ in known.entries if level is not None} == set(self.setting.source_names)
        more = [self.sample(source, s) for source, _, single in known.entries for s in sorted(single)]
        if everything and len(levels) == 1:
            given = rf" \,\middle|\, {', '.join(more)}" if more else ""
            return rf"\mathbb{{E}}_{{{_step(levels.pop())}}}\!\left[{text}{given}\right]"
        before = [
            rf"{self.sample(source, Averaged(0))}_{{<{_step(level)}}}"
            for source, level, _ in known.entries
            if level is not None
        ]
        given = ", ".join([*before, *more])
        bar = rf" \,\middle|\, {given}" if given else ""
        return rf"\mathbb{{E}}\!\left[{text}{bar}\right]"

    # --- numbers that are measured --------------------------------------------------------------------------------------

    def quantity(self, name: str, step: str) -> str:
        """A named quantity at a step."""
        word, _, rest = name.partition("_")
        word, rest = ("G", "") if word in ("gradient", "metric") else (word, rest.replace("squared", "2"))
        letter = rf"\mathcal{{{word.upper()}}}" if len(word) == 1 else rf"\mathrm{{{word}}}"
        shape = rf"\{word}" if word in _GREEK else letter
        return rf"{shape}{f'^{{({rest})}}' if rest else ''}_{{{step}}}"

    def atom(self, atom: Atom) -> str:
        match atom:
            case One():
                return "1"
            case Inner(left, right):
                return self._measured(left, right)
            case Value(objective, point):
                mark = r"\mathbb{E}\, " if self._is_averaged(self.algebra.support(point)) else ""
                return f"{mark}{letters_of_name(objective)}({self.term(point)})"
            case Named(name, shift):
                return self.quantity(name, _step(shift))
            case Total(name, communications, power):
                raised = "" if power == 1 else rf"^{{{power}}}"
                weight = rf"\left({self.number(clock())}\right){raised} " if power else ""
                if communications:
                    return rf"\sum_{{t\ \mathrm{{comm.}}}} {weight}{self.quantity(name, 't')}"
                end = self.number(self.horizon) if self.horizon is not None else "T"
                return rf"\sum_{{t=0}}^{{{end}-1}} {weight}{self.quantity(name, 't')}"
            case At(name, end, offset):
                last = self.number(self.horizon) if end and self.horizon is not None else "T"
                step = (f"{last}{offset:+d}" if offset else last) if end else str(offset)
                return self.quantity(name, step)
        raise TypeError(f"{atom!r} is no scalar")

    def _is_averaged(self, found: Support) -> bool:
        """Whether a number stands for its expectation; in a pathwise derivation for its value along a run."""
        return bool(found.known.entries) and not self.algebra.pathwise

    def _measured(self, left: Term, right: Term) -> str:
        found = self.algebra.support(left) | self.algebra.support(right)
        same = left == right
        text = (
            rf"\left\|{self.term(left)}\right\|^2"
            if same
            else rf"\left\langle {self.term(left)},\, {self.term(right)}\right\rangle"
        )
        text = rf"\mathbb{{E}} {text}" if self._is_averaged(found) else text
        for index in sorted(found.index):
            if self.algebra.pathwise or not self.setting.index(index).identical:
                text = f"{self._average(index)} {text}"
        return text

    def scalar(self, given: Scalar) -> str:
        """A linear combination, its numbers last."""
        texts = [self.times(c, self.atom(a)) for c, a in given.parts if not isinstance(a, One)]
        texts += [self.number(c) for c, a in given.parts if isinstance(a, One) and c]
        return _signed(texts)

    # --- facts ----------------------------------------------------------------------------------------------------------

    def fact(self, fact: Fact, place: str = "") -> str:
        """What was established, without delimiters; a long one on two lines. `place`: the steps at which it holds."""
        left, relation, right = self.sides(fact)
        where = rf" \quad \text{{{place}}}" if place else ""
        if len(left) + len(right) <= _ONE_LINE:
            return f"{left} {relation} {right}{where}"
        first, second = rf"\displaystyle {left}", rf"\displaystyle \quad {relation} {right}{where}"
        return rf"\begin{{array}}{{l}} {first} \\ {second} \end{{array}}"

    def sides(self, fact: Fact) -> tuple[str, str, str]:
        """The left side, the relation and the right side."""
        match fact:
            case Moment():
                size = rf"\left\|{self.term(fact.term)}\right\|^2"
                left = size if fact.given is None else self._expected(fact.given, size)
                return left, r"\le", self.number(fact.bound)
            case Equation():
                return self._equation(fact.term)
            case Inequality():
                left_side, right_side = fact.sides or self._sides(fact)
                return self.scalar(left_side), "=" if fact.equal else r"\le", self.scalar(right_side)
        raise TypeError(f"{fact!r} is no fact")

    @staticmethod
    def _sides(fact: Inequality) -> tuple[Scalar, Scalar]:
        """What is added on the left, what is subtracted on the right."""
        moved = [isinstance(a, One) or (-c).nonnegative for a, c in fact.form]
        left = [(c, a) for (a, c), away in zip(fact.form, moved, strict=True) if not away]
        right = [(-c, a) for (a, c), away in zip(fact.form, moved, strict=True) if away]
        return Scalar(tuple(left)), Scalar(tuple(right))

    def _equation(self, term: Sum) -> tuple[str, str, str]:
        """term = 0, with the part of the latest step on the left."""
        if not term.parts:
            return "0", "=", "0"
        alone = [k for k, (c, _) in enumerate(term.parts) if repr(c) in ("1", "-1")]
        first = max(alone or [0], key=lambda k: (_latest(term.parts[k][1]), _is_plain(term.parts[k][1]), -k))
        coefficient, lead = term.parts[first]
        if repr(coefficient) not in ("1", "-1"):
            return self.term(term), "=", "0"
        rest = [(-c if repr(coefficient) == "1" else c, t) for k, (c, t) in enumerate(term.parts) if k != first]
        texts = [self._part(c, t) for c, t in rest]
        return self.term(lead), "=", _signed(sorted(texts, key=lambda text: text.startswith("-")))

    @cached_property
    def conventions(self) -> tuple[str, ...]:
        """Names of the indices whose batches have another size at step 0."""
        return tuple(index.name for index in self.setting.indices if index.first is not None)


@lru_cache(maxsize=1024)
def _factored(expr: sp.Expr) -> sp.Expr:
    """The same numbers stand in many lines of a proof."""
    return sp.factor(expr)


def _has_roots(value: Signomial) -> bool:
    return any(p.least or e.denominator != 1 for monomial, _ in value.terms for p, e in monomial)


def _without_sign(expr: sp.Expr) -> sp.Expr:
    """-(a - b) as b - a."""
    number, rest = expr.as_coeff_Mul()
    factors = list(sp.Mul.make_args(rest))
    for place, factor in enumerate(factors):
        if number < 0 and isinstance(factor, sp.Add) and any(part.could_extract_minus_sign() for part in factor.args):
            factors[place] = sp.Add(*(-part for part in factor.args))
            return sp.Mul(-number, *factors)
    return expr


def _step(shift: int) -> str:
    return f"t{shift:+d}" if shift else "t"


def _signed(texts: list[str]) -> str:
    """Summands, joined by their signs."""
    joined = " + ".join(texts) or "0"
    return joined.replace("+ -", "- ")


def _matches(pattern: Term, term: Term, point: str, found: dict[str, Term]) -> bool:
    """Whether a term is the pattern with something in the place of the free point."""
    if isinstance(pattern, Var) and pattern.name == point:
        return found.setdefault(point, term) == term
    outside = (rebuilt(each, lambda _: Sum(())) for each in (pattern, term))
    pairs = zip(inside(pattern), inside(term), strict=False)
    return len(set(outside)) == 1 and all(_matches(a, b, point, found) for a, b in pairs)


def _is_plain(term: Term) -> bool:
    """Whether a term is a variable, not a mean of one."""
    return isinstance(term, Var)


def _latest(term: Term) -> int:
    """The latest step of a variable that stands by itself or under a mean."""
    match term:
        case Var(_, shift):
            return shift
        case Mean(_, inner) | Proj(_, _, inner):
            return _latest(inner)
    return -1
