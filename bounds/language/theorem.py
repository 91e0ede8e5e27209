"""What a theorem is: declared once, checked when constructed, everything else derived from the declaration.

A `Theorem` has up to three statements. `printed` is the statement as the paper prints it, slips included; `composed` is what
the paper's own lemmas give when code composes them; `corrected` is what holds when every step is right. A statement is a
tuple of named conditions and a tuple of named terms whose sum bounds the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

import sympy as sp

from ... import bounds
from ...errors import UndefinedError
from ...ranges import AT_MOST
from ...user_files import CodeName
from ..options import documented
from .bounding import EITHER, PROPERTY_THAT_SAYS, SAYINGS, Form, about, implied
from .clients import MaxOverClients
from .dimension import Dimension, modulo
from .formula import nearest
from .homogeneity import InhomogeneousError, dimension_of, fits_somehow, is_homogeneous
from .notation import STEP, Notation, Symbols, derived_symbol
from .power import logarithms
from .properties import PROPERTIES
from .reading import InputError, is_array

if TYPE_CHECKING:
    from fractions import Fraction
    from numbers import Rational

    from numpy.typing import NDArray
    from pandas import DataFrame

    from ..cost.complexity import Complexity
    from ..cost.orders import Rates
    from ..cost.sensitivity import Elasticities
    from ..evaluation.arrays import BoundArray
    from ..evaluation.evaluate import Bound
    from ..optimum.tuning import Tuned
    from ..proof.locks import Proof
    from ..proof.sharpen import Sharpened
    from ..region.admissible import Admissible
    from ..settings import Resolved

    Number = int | float | str | Fraction | Rational
    """What is read as one exact number; text such as "1/3" and "1e-3" too."""
    Constants = str | Path | Mapping[str, Number]
    Numbers = Sequence[float] | NDArray[Any]
    """Many numbers, read in float64."""

Costs = Mapping[str, sp.Expr]
"""Resource -> formula in the symbols of a theorem."""

LABELS = ("printed", "composed", "corrected", "sharpened")
SPELLINGS = {"proved": "composed"}
"""Other accepted spellings of a label."""
RANGE = "method_range_"
"""Beginning of the name of a condition that the method needs and the statement does not state."""
RELATIONS = ("<", "<=", ">=", ">", "==")
KINDS = ("theorem", "corollary", "lemma", "claim")
RESOURCES = ("iterations", "rounds", "samples", "model_messages", "embedding_messages")
"""What a run costs, per client; `resources` says what each means."""
AVERAGES = ("before", "after")
"""Over which iterates a statement averages: those before each step, t = 0..T-1, or after it, t = 1..T."""


class DeclarationError(ValueError):
    """A declaration contradicts itself: an undeclared symbol, a Float, a duplicate name, a corrected slip."""


@dataclass(frozen=True)
class Source:
    """Where the paper says it, for instance Source("feddro", "Theorem 5.1", "F.1")."""

    paper: str
    where: str
    equation: str = ""

    def __str__(self) -> str:
        return f"{self.paper}, {self.where}" + (f", eq. ({self.equation})" if self.equation else "")


@dataclass(frozen=True)
class Assumption:
    """An assumption in our own words, and formally: what proofs may read off it.

    Args:
        bounds: the symbols whose bounds it states; (symbol, function) where it states only that on one function.
        says: what else it says, of `bounding.SAYINGS`. only: the statement that needs it, where the others do not.
    """

    name: str
    text: str
    bounds: tuple[str | tuple[str, str], ...] = ()
    says: tuple[str, ...] = ()
    only: str = ""

    @property
    def sayings(self) -> tuple[str, ...]:
        """What it says besides bounds, in words."""
        return tuple(SAYINGS[saying] for saying in self.says if saying in SAYINGS)


@dataclass(frozen=True)
class OwnMeasure:
    """A measure of a theorem's own: what a function gives of the models of a run, at least 0.

    Args:
        name: of the function. meaning: in words. dimension: of the number.
        code: a function `(problem, state, t) -> (runs,)` of the state before step t; `state.average` are the averaged models, (runs, dim).
        cap: what it never exceeds, in the symbols of the statement; None where nothing is said, and then nothing is supported.
    """

    name: str
    meaning: str
    dimension: Dimension
    code: CodeName
    cap: sp.Expr | None = None

    @property
    def only_in_doubles(self) -> str:
        """Why it is neither evaluated in exact numbers nor concluded by a proof."""
        return f"{self.name} is what {self.code.text} gives of a run in doubles, and no formula of it is known"


@dataclass(frozen=True)
class Metric:
    """What the terms of a statement bound.

    `at`: of `bounding.POINTS`, where it is the expectation of one of `metrics.MEASURES` along a run. `of`: that measure. `over`: of
    `metrics.OVER`, which iterates it speaks of. `bounds`: where it is the square of what a constant would bound. `failure`: the symbol
    for the probability with which the bound may fail, where it is one of the number itself along a run and not of its expectation.
    `weights`: those of the iterates, a formula in `notation.STEP` and the symbols of the statement, with `weights_latex`; None where
    all weigh alike. `own`: a measure of the theorem's own, in the place of `of`.
    """

    name: str
    latex: str
    dimension: Dimension
    meaning: str = ""
    at: str = ""
    bounds: tuple[Form, ...] = ()
    of: str = "gradient_sq"
    over: str = "mean"
    failure: str = ""
    weights: sp.Expr | None = None
    weights_latex: str = ""
    own: OwnMeasure | None = None

    @property
    def is_squared_gradient(self) -> bool:
        """Whether it is the expected squared gradient norm of the objective along a run."""
        return bool(self.at) and self.of == "gradient_sq"


@dataclass(frozen=True)
class Condition:
    """`left relation right`, with an explicit strictness."""

    name: str
    left: sp.Expr
    relation: str
    right: sp.Expr
    note: str = ""

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise DeclarationError(f"condition {self.name}: relation must be one of {RELATIONS}, got {self.relation!r}")
        object.__setattr__(self, "left", sp.sympify(self.left))
        object.__setattr__(self, "right", sp.sympify(self.right))

    @property
    def slack(self) -> sp.Expr:
        """Positive where the condition holds with room to spare; minus the distance for an equality."""
        if self.relation in ("<", "<="):
            return self.right - self.left
        if self.relation in (">", ">="):
            return self.left - self.right
        return -sp.Abs(self.left - self.right)

    @property
    def asks_for_whole(self) -> bool:
        """Whether it is one of `whole_number`."""
        return self.relation == "==" and bool(self.right == _nearest_whole(self.left))

    def at(self, known: Mapping[sp.Symbol, sp.Expr]) -> Condition:
        """The condition with expressions in the place of symbols, see `put_in`."""
        return self.each_side(lambda side: put_in(side, known))

    def each_side(self, by: Callable[[sp.Expr], sp.Expr]) -> Condition:
        """The condition between what `by` makes of its sides, with the same name, relation and note."""
        return replace(self, left=by(self.left), right=by(self.right))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        if isinstance(self.left, sp.Mod) and self.relation == "==" and self.right == 0:
            return f"{self.left.args[0]} is a multiple of {self.left.args[1]}"
        if self.asks_for_whole:
            return f"{self.left} is a whole number"
        return f"{self.left} {self.relation} {self.right}"


def multiple_of(name: str, whole: sp.Expr, part: sp.Expr, note: str = "") -> Condition:
    """The condition that one whole number is a multiple of another, as T = S tau for a number S of rounds."""
    return Condition(name, sp.Mod(whole, part), "==", sp.Integer(0), note)


def whole_number(name: str, amount: sp.Expr, note: str = "") -> Condition:
    """The condition that an amount is a whole number, as the r n clients that take part.

    It is an equality with the nearest one, so that floating point compares it as it compares every equality.
    """
    return Condition(name, amount, "==", _nearest_whole(amount), note)


def _nearest_whole(amount: sp.Expr) -> sp.Expr:
    return sp.floor(amount + sp.Rational(1, 2))


@dataclass(frozen=True)
class Term:
    """One named part of a bound; `role` groups terms for plots and shares (initialisation, variance, ...)."""

    name: str
    expr: sp.Expr
    role: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "expr", sp.sympify(self.expr))
        object.__setattr__(self, "role", self.role or self.name)


@dataclass(frozen=True)
class Derived:
    """A constant with a formula, such as L_Phi; its formula may use earlier derived constants of the statement.

    `bounds`: what it bounds, in a lemma that gives it and in what is said of a bound without running.
    """

    name: str
    expr: sp.Expr
    latex: str
    meaning: str = ""
    bounds: tuple[Form, ...] = ()

    @property
    def symbol(self) -> sp.Symbol:
        return derived_symbol(self.name)


@dataclass(frozen=True, repr=False)
class Statement:
    """Named conditions, derived constants and terms; `schedule` gives hyperparameters that the user may leave out.

    `assume` names properties that a problem must have beyond those of the theorem, for this statement alone. `clients` has the numbers
    of single clients that were worked into it, by symbol.
    """

    label: str
    terms: tuple[Term, ...]
    conditions: tuple[Condition, ...] = ()
    derived: tuple[Derived, ...] = ()
    schedule: Mapping[str, sp.Expr] = field(default_factory=dict)
    note: str = ""
    assume: tuple[str, ...] = ()
    clients: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)
    owner: Theorem | None = field(default=None, repr=False, compare=False)
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Results that are slow to compute from the declaration, by name."""

    @property
    def theorem(self) -> Theorem:
        """The theorem that it is a statement of.

        Raises:
            DeclarationError: it belongs to none yet.
        """
        if self.owner is None:
            raise DeclarationError(f"statement {self.label}: belongs to no theorem")
        return self.owner

    def __repr__(self) -> str:
        """What it has, by name; a statement of no theorem yet has its label alone."""
        known = self.label if self.owner is None else self.name
        parts = {
            "terms": [term.name for term in self.terms],
            "conditions": [condition.name for condition in self.conditions],
            "derived": [constant.name for constant in self.derived],
        }
        said = (f"{what} {', '.join(names)}" for what, names in parts.items() if names)
        return f"{known}: {'; '.join(said)}"

    def _repr_html_(self) -> str:
        return bounds.statement_html(self)

    def of(self, theorem: Theorem) -> Statement:
        """The same statement as one of a theorem's."""
        made = copy(self)
        object.__setattr__(made, "owner", theorem)
        object.__setattr__(made, "kept", {})
        for name in ("symbols", "method_range"):
            made.__dict__.pop(name, None)
        return made

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The entries of its theorem's list that are about it."""
        return tuple(item for item in self.theorem.assumptions if item.only in ("", self.label))

    @property
    def said(self) -> tuple[str, ...]:
        """What these entries say besides bounds; nothing of one that says one of several things (`left_open`)."""
        return tuple(saying for item in self.assumptions if EITHER not in item.says for saying in item.says)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The named properties that a problem must have for it: those that it or its theorem names, and those that entries say."""
        properties = (PROPERTY_THAT_SAYS[saying] for saying in self.said if saying in PROPERTY_THAT_SAYS)
        return tuple(dict.fromkeys((*self.theorem.assume, *self.assume, *properties)))

    def left_open(self, more: Collection[str] = ()) -> tuple[str, ...]:
        """The entries that say one of several things, none of which is a property that is assumed or one of `more`."""
        known, open_ = {*self.assumed, *more}, (item for item in self.assumptions if EITHER in item.says)
        return tuple(e.name for e in open_ if not known & {PROPERTY_THAT_SAYS.get(each, "") for each in e.says})

    @property
    def name(self) -> str:
        """The id of its theorem and its label, for messages."""
        return f"{self.theorem.id} ({self.label})"

    @cached_property
    def symbols(self) -> Symbols:
        """The bindings that it uses, by name, in the order of the notation."""
        return Symbols({b.name: b for b in self.theorem.notation if b.symbol in self.free_symbols})

    @cached_property
    def method_range(self) -> tuple[Condition, ...]:
        """What the method can take (`fedco/ranges.py`) and where the domains of hyperparameters end, as far as the conditions do
        not ask for it already."""
        strict = ("<", ">")
        asked = {(_difference(c), c.relation in strict) for c in self.conditions if c.relation != "=="}
        return tuple(
            made
            for made in self.whole_range
            if not asked & {(_difference(made), True), (_difference(made), made.relation in strict)}
        )

    @property
    def whole_range(self) -> tuple[Condition, ...]:
        """What the method can take, and where the domains of hyperparameters end, whether the conditions ask for it or not."""
        known: dict[str, list[sp.Symbol]] = {"": [sp.Integer(1)]}
        for binding in self.symbols.values():
            known.setdefault(binding.quantity.name, []).append(binding.symbol)
        found = []
        for name, binding in self.symbols.items():
            limit = AT_MOST.get(binding.quantity.name)
            domain = binding.quantity.numbers
            symbol = MaxOverClients(binding.symbol) if binding.per_client else binding.symbol
            if binding.quantity.role == "hyperparameter" and domain.most is not None and not domain.whole:
                why = f"its domain is {binding.quantity.domain}"
                end = sp.Integer(domain.most)
                found.append(Condition(f"{RANGE}{name}", symbol, "<" if domain.open else "<=", end, why))
                continue
            if limit is None or any(len(known.get(part, ())) != 1 for part in (limit.over, limit.per)):
                continue  # the statement does not have what it is measured by
            most = known[limit.over][0] / known[limit.per][0]
            found.append(Condition(f"{RANGE}{name}", symbol, "<=", most, limit.why))
        return tuple(found)

    @property
    def multiples(self) -> tuple[Condition, ...]:
        """The theorem's conditions that something is a multiple or a whole number, between symbols of the statement."""
        return tuple(c for c in self.theorem.multiples if c.left.free_symbols <= self.free_symbols)

    @property
    def stated(self) -> tuple[Condition, ...]:
        """All that the statement asks of its symbols: the inequalities and equalities of `conditions`, and `multiples`."""
        return (*self.conditions, *self.multiples)

    @property
    def requirements(self) -> tuple[Condition, ...]:
        """What admissible values satisfy: what is stated, and what the method can take."""
        return (*self.stated, *self.method_range)

    def __post_init__(self) -> None:
        if self.label not in LABELS:
            raise DeclarationError(f"a statement is one of {LABELS}, got {self.label!r}")
        for what, names in self._names().items():
            if len(set(names)) != len(names):
                raise DeclarationError(f"statement {self.label}: duplicate {what} in {names}")
        for where, expr in self.expressions():
            if expr.atoms(sp.Float):
                raise DeclarationError(f"statement {self.label}, {where}: a Float in {expr}; write exact rationals")

    def _names(self) -> dict[str, list[str]]:
        return {
            "term": [term.name for term in self.terms],
            "condition": [condition.name for condition in self.conditions],
            "derived constant": [constant.name for constant in self.derived],
        }

    def expressions(self) -> Iterator[tuple[str, sp.Expr]]:
        """Every expression with a name for messages."""
        for constant in self.derived:
            yield constant.name, sp.sympify(constant.expr)
        for condition in self.conditions:
            yield f"condition {condition.name} (left)", condition.left
            yield f"condition {condition.name} (right)", condition.right
        for term in self.terms:
            yield f"term {term.name}", term.expr
        for name, expr in self.schedule.items():
            yield f"schedule of {name}", sp.sympify(expr)

    @cached_property
    def substitution(self) -> dict[sp.Symbol, sp.Expr]:
        """Derived symbol -> formula in base symbols."""
        table: dict[sp.Symbol, sp.Expr] = {}
        for constant in self.derived:
            table[constant.symbol] = sp.sympify(constant.expr).xreplace(table)
        return table

    def expand(self, expr: sp.Expr) -> sp.Expr:
        """`expr` with the derived constants replaced by their formulas."""
        return sp.sympify(expr).xreplace(self.substitution)

    @cached_property
    def free_symbols(self) -> frozenset[sp.Symbol]:
        """The base symbols that a user sets (those with a schedule may be left out)."""
        return frozenset().union(*(self.symbols_of(expr) for _, expr in self.expressions()))

    @cached_property
    def _base_symbols(self) -> dict[sp.Symbol, frozenset[sp.Symbol]]:
        """Derived symbol -> the base symbols of its formula; a formula may use the derived constants before it."""
        found: dict[sp.Symbol, frozenset[sp.Symbol]] = {}
        for constant in self.derived:
            free = sp.sympify(constant.expr).free_symbols
            found[constant.symbol] = frozenset().union(*(found.get(symbol, {symbol}) for symbol in free))
        return found

    def symbols_of(self, expr: sp.Expr) -> frozenset[sp.Symbol]:
        """The base symbols of an expression, those of its derived constants included (without expanding anything)."""
        known = self._base_symbols
        return frozenset().union(*(known.get(symbol, {symbol}) for symbol in sp.sympify(expr).free_symbols))

    def at(self, expr: sp.Expr, point: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
        """The exact value of an expression at a point that fixes its base symbols; derived constants are evaluated first."""
        expr, known = sp.sympify(expr), dict(point)
        needed = _free_symbols(expr) - known.keys()
        for constant in self.derived:
            if constant.symbol in needed:
                known[constant.symbol] = self.at(constant.expr, known)
        return put_in(expr, known)

    @cached_property
    def total(self) -> sp.Expr:
        return sp.Add(*(term.expr for term in self.terms))

    def term(self, name: str) -> Term:
        return _named(self.terms, name, f"statement {self.label} has no term")

    def condition(self, name: str) -> Condition:
        own = self.method_range if name.startswith(RANGE) else ()
        return _named((*self.stated, *own), name, f"statement {self.label} has no condition")

    def constant(self, name: str) -> Derived:
        return _named(self.derived, name, f"statement {self.label} has no derived constant")


_LONGEST_ROOT = 2048
"""Bits of a number under a root above which the root stays as it is: sympy looks for factors of the number, and a test for a prime
of 2048 bits takes milliseconds, of 40,000 bits ten seconds."""


def put_in(expr: sp.Expr, known: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """The expression at a point. Roots that sympy 1.14 cannot simplify stay as they are: those of long numbers, and those with which
    it gives up: with a ValueError, as two factors are nearly equal, or an OverflowError, as a number has more than 1024 bits.

    Raises:
        InputError: a part of a min or max has a denominator of 0 there.
    """
    try:
        if not any(_is_long(base.xreplace(known)) for base in under_roots(expr)):
            return expr.xreplace(known)
    except (ValueError, OverflowError):
        refuse_vanishing(expr, known)
    with sp.evaluate(False):
        return expr.xreplace(known)


def refuse_vanishing(expr: sp.Expr, known: Mapping[sp.Symbol, sp.Expr], where: str = "") -> None:
    """Raises where a denominator is 0 at a point; sympy gives up with a ValueError where that is one of a part of min or max.

    Args:
        where: what the expression is, for the message.
    """
    below = sorted((p.base for p in expr.atoms(sp.Pow) if p.exp.is_negative), key=sp.count_ops)
    if guilty := next((str(base) for base in below if base.xreplace(known) == 0), None):
        place = f"{where}: " if where else ""
        raise UndefinedError(
            f"{place}{guilty[:60]} is 0 at these values, and is a denominator; wanted finite positive values"
        )


@lru_cache(maxsize=4096)
def _free_symbols(expr: sp.Expr) -> frozenset[sp.Symbol]:
    return frozenset(expr.free_symbols)


@lru_cache(maxsize=4096)
def under_roots(expr: sp.Expr) -> tuple[sp.Expr, ...]:
    """What stands under a root or a logarithm, or has an exponent that need not be whole; the inner ones first."""
    roots = (p.base for p in expr.atoms(sp.Pow) if not p.exp.is_integer)
    return tuple(sorted((*roots, *logarithms(expr)), key=sp.count_ops))


def _is_long(number: sp.Expr) -> bool:
    return bool(number.is_Rational) and max(number.p.bit_length(), number.q.bit_length()) > _LONGEST_ROOT


def _difference(condition: Condition) -> sp.Expr:
    """What is at most (or less than) 0, by a factor that is positive for symbols of a theorem."""
    difference = condition.slack
    return sp.expand(sp.together(difference).as_numer_denom()[0]) if difference.is_rational_function() else difference


def _named(items: tuple[Any, ...], name: str, message: str) -> Any:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(f"{message} {name!r}; there are {[item.name for item in items]}")


@dataclass(frozen=True)
class MethodCall:
    """The method that a theorem is about, and its hyperparameters in the theorem's symbols.

    Args:
        name: of a known method, or `FILE.py:NAME`.
        values: the method's own hyperparameter -> formula.
        options: a hyperparameter that chooses between readings of the pseudocode -> the word that it gets.
        folder: where a relative FILE is looked for; the working folder without it.
        trusted: whether code in such a file may be run.
    """

    name: str
    values: Mapping[str, sp.Expr] = field(default_factory=dict)
    folder: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = True

    @property
    def schedules(self) -> dict[str, sp.Expr]:
        """The hyperparameters that depend on the step t."""
        return {name: formula for name, formula in self.values.items() if STEP in sp.sympify(formula).free_symbols}

    @property
    def code(self) -> CodeName:
        """The code that the name stands for, where it is FILE.py:NAME."""
        return CodeName(self.name, self.folder, self.trusted)


@dataclass(frozen=True)
class Inhomogeneity:
    """A place where the dimensions of a statement do not fit."""

    statement: str
    where: str
    found: str
    wanted: str


@dataclass(frozen=True, eq=False, repr=False)
class Theorem:
    """A theorem, corollary or lemma with its statements.

    Args:
        id: `paper.theorem_5_1`; fixed, people script against it.
        kind: "theorem", "corollary", "lemma" (a step of a proof) or "claim" (a remark or a table entry with a check).
        notation: the paper's symbols; a statement may use no other.
        statements: label -> Statement, or a function that composes it when first asked for; `printed` or `corrected`, at least.
        unit_choices: dimensions that the paper silently sets to 1 (the weight of a potential function, the unit of a step
            size that is written as a pure number); the audit separates what they explain from real slips.
        follows_from: for a corollary, its theorem and the schedule to substitute; the audit compares every term.
        not_composed: why there is no `composed` statement, where there is none.
        problem: the kind of problem that it is about, for instance "shared_composite"; empty where it is about none.
        assume: named properties that a problem must have beyond its kind (`bounds/language/properties.py`).
        costs: resource -> formula, where they are not the method's own; or a function that gives them from the symbols as
            attributes, of which `present` has those that the statement uses.
        compared_where: where the audit compares printed with composed: what the symbols mean (a fraction is at most 1),
            and the value given to a constant that the paper hides in O(.).
        method: what is run to validate it; its own costs are the theorem's where `costs` has none.
        average: over which iterates the metric averages.
        unreached: term or condition -> why no more of it is known to be necessary.
        multiples: conditions made by `multiple_of` and `whole_number`, for every statement that has their symbols.
        proof: the derivation of the default statement as code, for a theorem of one's own: a function of its `Reader`, or where it
            stands. A paper has those of its theorems itself.
        alike: where it is another theorem with the same numbers for all clients: symbol -> that of single clients which it stands for,
            `1/N` for their weights; empty for an N that the other one does not have.

    Raises:
        DeclarationError: an undeclared symbol, a Float, a duplicate name, or a `corrected` statement with a dimension slip.
    """

    id: str
    kind: str
    title: str
    source: Source
    notation: Notation
    metric: Metric
    statements: Mapping[str, Statement | Callable[[], Statement]]
    assumptions: tuple[Assumption, ...] = ()
    unit_choices: tuple[Dimension, ...] = ()
    follows_from: tuple[Theorem, Mapping[str, sp.Expr]] | None = None
    compared_where: tuple[Condition, ...] = ()
    not_composed: str = ""
    note: str = ""
    problem: str = ""
    assume: tuple[str, ...] = ()
    costs: Costs | Callable[[SimpleNamespace], Costs] = field(default_factory=dict)
    method: MethodCall | None = None
    average: str = "before"
    multiples: tuple[Condition, ...] = ()
    unreached: Mapping[str, str] = field(default_factory=dict)
    proof: Callable[[Any], Any] | CodeName | None = None
    alike: Mapping[str, str] = field(default_factory=dict)
    _cache: dict[str, Statement] = field(default_factory=dict, init=False)
    kept: dict[Any, Any] = field(default_factory=dict, init=False)
    """Results that are slow to compute from the declaration, by name."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DeclarationError(f"{self.id}: kind must be one of {KINDS}, got {self.kind!r}")
        if not {"printed", "corrected"} & set(self.statements):
            raise DeclarationError(f"{self.id}: a theorem needs its printed statement, or a corrected one")
        self._check_assumed(self.assume)
        self._check_said()
        for label, statement in self.statements.items():
            if isinstance(statement, Statement):
                self._accept(label, statement)

    def _accept(self, label: str, statement: Statement) -> None:
        if statement.label != label:
            raise DeclarationError(f"{self.id}: statement {statement.label!r} stands under {label!r}")
        declared = {binding.symbol for binding in self.notation}
        unknown = sorted(str(symbol) for symbol in statement.free_symbols - declared)
        if unknown:
            raise DeclarationError(f"{self.id}, {label}: symbols {unknown} are not in the notation of the paper")
        self._check_assumed(statement.assume)
        self._check_weights(statement)
        self._check_use(statement)
        if label in ("corrected", "sharpened") and (misfits := self.inhomogeneities(statement)):
            raise DeclarationError(f"{self.id}: the {label} statement is not homogeneous: {misfits[0]}")
        self._cache[label] = statement.of(self)

    def _check_assumed(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name not in PROPERTIES:
                raise DeclarationError(
                    f"{self.id}: assumes {name!r}, which is not a property; {nearest(name, PROPERTIES)}"
                )

    def _check_weights(self, statement: Statement) -> None:
        """The weights of the iterates, and a cap of the metric, are made of symbols of the statement, so that its values are theirs."""
        cap = self.metric.own and self.metric.own.cap
        for what, formula in (("weights speak", self.metric.weights), ("the cap of the metric speaks", cap)):
            free = sp.sympify(formula or 0).free_symbols - {STEP} - statement.free_symbols
            if free and statement.terms:
                raise DeclarationError(
                    f"{self.id}, {statement.label}: {what} of {sorted(map(str, free))}, of which the statement says nothing"
                )

    def _check_said(self) -> None:
        """The formal part of the assumptions speaks of symbols of the paper, and of what these bound."""
        for item in self.assumptions:
            for each in item.bounds:
                name, of = (each, "") if isinstance(each, str) else each
                forms = self.notation[name].quantity.bounds if name in self.notation.bindings else ()
                if not any(form.function == of or not of for given in forms for form in implied(given)):
                    raise DeclarationError(f"{self.id}, assumption {item.name}: {name} bounds nothing {of}".rstrip())
            for saying in item.says:
                if saying not in SAYINGS:
                    raise DeclarationError(f"{self.id}, assumption {item.name}: {nearest(saying, SAYINGS)}")

    def formally(self, item: Assumption) -> tuple[str, ...]:
        """What proofs may read off an entry of the list, in words: the bounds of its symbols' quantities, or what they imply of a function,
        and what else it says."""
        pairs = [(each, "") if isinstance(each, str) else each for each in item.bounds]
        rows = [(name, about(form, of)) for name, of in pairs for form in self.notation[name].quantity.bounds]
        said = (form.words(name, self.problem) for name, form in rows if form is not None)
        return (*dict.fromkeys(said), *item.sayings)

    def _check_use(self, statement: Statement) -> None:
        """A derived constant that nothing uses is a slip, except in a lemma whose purpose is to define it."""
        if not statement.terms:
            return
        used = {symbol for _, expr in statement.expressions() for symbol in expr.free_symbols}
        unused = [constant.name for constant in statement.derived if constant.symbol not in used]
        if unused:
            raise DeclarationError(f"{self.id}, {statement.label}: derived constants {unused} are never used")

    @property
    def default(self) -> str:
        """The label that is meant where none is given: `corrected` where there is one, because a printed statement may be false."""
        return "corrected" if "corrected" in self.statements else "printed"

    @property
    def first(self) -> str:
        """The label of the statement that the paper makes: `printed`, or `corrected` where nothing is printed."""
        return self.labels[0] if "printed" in self.statements else "corrected"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label in LABELS if label in self.statements)

    def statement(self, label: str = "") -> Statement:
        """The statement with this label, composed now if it is composed by code; `corrected` without a label where there is
        one, else `printed`.

        Raises:
            InputError: the theorem has no such statement.
        """
        label = SPELLINGS.get(label, label) or self.default
        if label not in self._cache:
            if label not in self.statements:
                raise InputError(
                    f"{str(label)[:20]!r}: {self.id} has no such statement; wanted one of {self.offered(label)}"
                )
            made = self.statements[label]
            self._accept(label, made() if callable(made) else made)
        return self._cache[label]

    def offered(self, label: str) -> str:
        """The labels there are, and why `label` is not among them where the theorem says so."""
        reason = f" (not composed: {self.not_composed})" if label == "composed" and self.not_composed else ""
        return ", ".join(self.labels) + reason

    def symbols(self, label: str = "") -> Symbols:
        """The bindings that a statement uses, in the order of the vocabulary."""
        return self.statement(label).symbols

    def dimensions(self, statement: Statement, units: tuple[Dimension, ...] = ()) -> dict[sp.Symbol, Dimension]:
        """Dimension of each base and derived symbol, modulo `units`; an inhomogeneous constant gets that of its first part."""
        known = {binding.symbol: modulo(binding.quantity.dimension, units) for binding in self.notation}
        for constant in statement.derived:
            known[constant.symbol] = _first_consistent(sp.sympify(constant.expr), known)
        return known

    def inhomogeneities(self, statement: Statement, units: tuple[Dimension, ...] = ()) -> list[Inhomogeneity]:
        """Every term whose dimension is not the metric's, every condition or constant that mixes dimensions."""
        known = self.dimensions(statement, units)
        misfits: list[Inhomogeneity] = []
        several = {
            binding.symbol: tuple(modulo(each, units) for each in binding.quantity.dimensions)
            for binding in self.notation
            if len(binding.quantity.dimensions) > 1
        }
        mixed = self._mixed_beside(several, statement, known)

        def check(where: str, expr: sp.Expr, wanted: Dimension | None) -> Dimension | None:
            expr = sp.sympify(expr)
            if wanted is not None and several.keys() & expr.free_symbols:
                opened = sp.expand(expr.xreplace(mixed))
                if all(fits_somehow(part, wanted, known, several, units) for part in sp.Add.make_args(opened)):
                    return wanted
            try:
                found = modulo(dimension_of(expr, known), units)
            except InhomogeneousError as error:
                misfits.append(
                    Inhomogeneity(statement.label, where, str(error), str(wanted) if wanted else "one dimension")
                )
                return None
            if wanted is not None and found != wanted and expr != 0:
                misfits.append(Inhomogeneity(statement.label, where, str(found), str(wanted)))
            return found

        for constant in statement.derived:
            if constant.symbol not in mixed:
                check(f"constant {constant.name}", constant.expr, None)
        if self.metric.weights is not None:
            known[STEP] = Dimension()
            check("weights", self.metric.weights, None)
        if self.metric.own is not None and self.metric.own.cap is not None:
            check("cap of the metric", self.metric.own.cap, modulo(self.metric.dimension, units))
        for condition in statement.conditions:
            left = check(f"condition {condition.name}", condition.left, None)
            if left is not None:
                check(f"condition {condition.name}", condition.right, left)
        for name, expr in statement.schedule.items():
            check(f"schedule of {name}", expr, known[self.notation[name].symbol])
        for term in statement.terms:
            check(f"term {term.name}", term.expr, modulo(self.metric.dimension, units))
        return misfits

    def _mixed_beside(
        self, several: Mapping[sp.Symbol, Any], statement: Statement, known: Mapping[sp.Symbol, Dimension]
    ) -> dict[sp.Symbol, sp.Expr]:
        """Derived constants that mix dimensions and stand only in terms beside a letter that bounds several quantities."""
        beside, found = set(several), {}
        for constant in statement.derived:
            using = [term.expr for term in statement.terms if constant.symbol in sp.sympify(term.expr).free_symbols]
            others = [
                *(c.expr for c in statement.derived),
                *(s for c in statement.conditions for s in (c.left, c.right)),
            ]
            elsewhere = any(constant.symbol in sp.sympify(expr).free_symbols for expr in others)
            alone = using and not elsewhere and all(beside & sp.sympify(expr).free_symbols for expr in using)
            if alone and not is_homogeneous(sp.sympify(constant.expr), known):
                found[constant.symbol] = sp.sympify(constant.expr)
        return found

    def __repr__(self) -> str:
        return f"{self.id}: {self.title} ({self.source}); statements {', '.join(self.labels)}"

    def _repr_html_(self) -> str:
        return bounds.theorem_html(self)

    def to_frame(self) -> DataFrame:
        """The symbols of its default statement with what they mean, as a pandas data frame."""
        return self.symbols().to_frame()

    def to_dict(self) -> dict[str, Any]:
        """What `fedco show --json` prints."""
        return bounds.describe(self)

    def to_latex(self, *labels: str) -> str:
        """Its statements for a paper, or those with these labels; needs amsmath and amssymb."""
        return bounds.theorem_latex(self, labels)

    def to_markdown(self, *labels: str) -> str:
        """Its statements in Markdown, or those with these labels."""
        return bounds.theorem_markdown(self, labels)

    # the verbs, which read well at the call site: functions of a statement that the package `bounds` names. A value may be named by
    # its symbol, its quantity or a derived constant; `constants` is a file or a mapping that serves every statement, `assume`
    # names rules for what is missing (`fedco.bounds.settings.resolve`). With types, a dict of numbers is handed over as `constants`.
    def _resolved(
        self,
        statement: str,
        values: Mapping[str, Any],
        constants: Constants | None,
        assume: str | Sequence[str],
        *without: str,
    ) -> Resolved:
        return bounds.resolve(self.statement(statement), values, constants, assume, without)

    @overload
    def bound(  # type: ignore[overload-overlap]
        self,
        statement: str = "",
        *,
        strict: bool = True,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Number,
    ) -> Bound: ...

    @overload
    def bound(
        self,
        statement: str = "",
        *,
        strict: bool = True,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Number | Numbers,
    ) -> BoundArray: ...

    def bound(
        self,
        statement: str = "",
        *,
        strict: bool = True,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Any,
    ) -> Bound | BoundArray:
        """Evaluate a statement: exactly at one point, or in float64 on arrays that broadcast where a value is an array.

        See `fedco.bounds.evaluation.evaluate.bound` and `fedco.bounds.evaluation.arrays.bound_on_arrays`.
        """
        given = self._resolved(statement, values, constants, assume)
        if any(map(is_array, given.values.values())):
            return bounds.bound_on_arrays(given.statement, given.values, strict=strict, beside=given.beside)
        return bounds.bound(given.statement, given.values, strict=strict, beside=given.beside)

    def admissible(
        self,
        solve: str | tuple[str, ...],
        statement: str = "",
        *,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Number,
    ) -> Admissible:
        """Admissible set of one or several hyperparameters; see `fedco.bounds.region.admissible.admissible`."""
        names = (solve,) if isinstance(solve, str) else tuple(solve)
        given = self._resolved(statement, values, constants, assume, *names)
        return bounds.admissible(given.statement, names, given.values)

    def tune(
        self,
        statement: str = "",
        *,
        budget: Mapping[str, Number] | None = None,
        eps: Number | None = None,
        cost: str | Mapping[str, Number] | None = None,
        ranges: Mapping[str, tuple[Number | None, Number | None]] | None = None,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Number,
    ) -> Tuned:
        """Best hyperparameters under a budget, or cheapest for a target; see `fedco.bounds.optimum.tuning.tune`."""
        given = self._resolved(statement, values, constants, assume)
        return bounds.tune(
            given.statement, given.values, budget=budget, eps=eps, cost=cost, ranges=ranges, beside=given.beside
        )

    def prove(self, statement: str = "", *, rules_only: bool = False) -> Proof:
        """What the rules of the kernel and exact instances say of its derivation; see `fedco.bounds.proof.locks.prove`."""
        return bounds.prove(self, statement, rules_only=rules_only)

    def sharpen(
        self, *, constants: Constants | None = None, assume: str | Sequence[str] = (), **values: Number
    ) -> Sharpened:
        """The least bound that is found from the premises of its proof at numbers; see `fedco.bounds.proof.sharpen.sharpen`."""
        given = self._resolved("", values, constants, assume)
        return bounds.sharpen(given.statement, given.values)

    def complexity(
        self,
        statement: str = "",
        *,
        eps: Number,
        cost: str | Mapping[str, Number] | None = None,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Number,
    ) -> Complexity:
        """What reaching a target costs, tuned and with the paper's schedule; see `fedco.bounds.cost.complexity.complexity`."""
        given = self._resolved(statement, values, constants, assume)
        return bounds.complexity(given.statement, given.values, eps, cost=cost, beside=given.beside)

    def rates(self, statement: str = "", minimise: tuple[str, ...] = ("samples", "rounds")) -> Rates:
        """Exact exponents of the costs as the target goes to 0; see `fedco.bounds.cost.orders.rates`."""
        return bounds.rates(self.statement(statement), minimise)

    def elasticities(
        self,
        statement: str = "",
        *,
        constants: Constants | None = None,
        assume: str | Sequence[str] = (),
        **values: Number,
    ) -> Elasticities:
        """Percent change of the bound per percent change of each symbol; see `fedco.bounds.cost.sensitivity.elasticities`."""
        given = self._resolved(statement, values, constants, assume)
        return bounds.elasticities(given.statement, given.values)


class _Verb:
    """A verb as a method whose signature, for editors that ask for it, has the symbols of the theorem as keywords."""

    def __init__(self, function: Callable[..., Any]):
        self.function, self.__doc__ = function, documented(function)

    def __get__(self, theorem: Theorem | None, owner: type) -> Any:
        return self.function if theorem is None else _BoundVerb(self.function, theorem)


class _BoundVerb:
    def __init__(self, function: Callable[..., Any], theorem: Theorem):
        self.__func__, self.__self__, self.__doc__, self.__name__ = (
            function,
            theorem,
            documented(function),
            function.__name__,
        )

    def __call__(self, *arguments: Any, **values: Any) -> Any:
        return self.__func__(self.__self__, *arguments, **values)

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self.__self__.id}>"

    @property
    def __signature__(self) -> Signature:
        _, *known = signature(self.__func__).parameters.values()
        *before, last = known
        named = [Parameter(name, Parameter.KEYWORD_ONLY) for name in self.__self__.symbols()]
        taken = {parameter.name for parameter in before}
        return Signature([*before, *(each for each in named if each.name not in taken), last])


for _name in ("bound", "admissible", "tune", "complexity", "elasticities", "sharpen"):
    setattr(Theorem, _name, _Verb(getattr(Theorem, _name)))
Theorem.prove.__doc__ = documented(Theorem.prove)


def _first_consistent(expr: sp.Expr, known: Mapping[sp.Symbol, Dimension]) -> Dimension:
    """The dimension of an expression; of its first argument if the expression mixes dimensions (reported elsewhere)."""
    try:
        return dimension_of(expr, known)
    except InhomogeneousError:
        return _first_consistent(expr.args[0], known)
