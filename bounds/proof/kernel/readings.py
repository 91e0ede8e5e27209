"""The kernel's assumptions, read off a statement: a derivation names a symbol and the function that it bounds, and types no constant.

What a symbol bounds stands in the row of its quantity (`language/bounding.py`), the entry under which it is assumed in the theorem's
list. A derivation may use something weaker than what is assumed (`kind`, `per`), and only what the row implies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ...language import bounding
from ...language.bounding import Form, about, implied
from ...language.formula import FormulaError, read_formula
from .algebra import Algebra
from .assumptions import (
    NOTHING,
    Accuracy,
    Axiom,
    Bounded,
    BoundedNoise,
    CentralDifference,
    Compressor,
    ConvexClients,
    Convexity,
    Declared,
    DifferenceVariance,
    Heterogeneity,
    Lipschitz,
    LipschitzOperator,
    LowerBound,
    Minimum,
    Mixing,
    PolyakLojasiewicz,
    RandomSet,
    SecondDifference,
    SecondMoment,
    Smooth,
    Start,
    StartValue,
    StrongConvexity,
    Variance,
)
from .facts import Quantity
from .known import Known
from .reader import Reader
from .scalars import Scalar, Value, form, sq, value
from .setting import CLIENTS, COMPRESSOR, MIXING, Function, Setting
from .signomial import ONE, ProofError, Signomial
from .terms import App, Mean, Proj, Sum, Term, Var, variables

OF_A_QUANTITY = {
    bounding.START: "inner_value",
    bounding.GAP: "objective",
    bounding.DISTANCE: "objective",
    bounding.UNLIKE_AT_START: "local_gradient",
}
"""Kinds of bound that a named quantity has, each of one function; the others are of functions and objectives."""
_OF_ONE = {**OF_A_QUANTITY, bounding.STRONG_CONVEXITY: "objective", bounding.POLYAK_LOJASIEWICZ: "objective"}
"""Kinds of bound that the kernel reads of one function only."""


@dataclass(frozen=True)
class Assumed(Declared):
    """That a symbol bounds what its quantity says, of a function of the setting, an objective or a named quantity.

    Args:
        symbol: of the notation, or a constant that a lemma gives. of: the name of what it bounds.
        kind, per: what is used of it, where that is less than what is assumed. given: for a bound of a conditional expectation,
            the samples that are known; never those of the function itself.
    """

    symbol: str
    of: str
    kind: str = ""
    per: str = ""
    given: Known = NOTHING


@dataclass(frozen=True)
class AboveTangents(Declared):
    """That the objectives of the clients are convex, by an entry of the list, with gradients for which a symbol is a Lipschitz constant."""

    assumption: str
    symbol: str
    objective: str


@dataclass(frozen=True)
class Reading:
    """What assumptions are read off: a theorem's statement, and the declarations of a derivation.

    `model`: the variable that is the clients' models; `lemmas`: what is taken as true;
    `steps_inside`: about the steps of a loop inside one step of the method; `either`: the entry of which the derivation is one case;
    `pathwise`: whether all that the derivation says holds along a run.
    """

    theorem: Any
    statement: Any
    reader: Reader
    setting: Setting
    quantities: tuple[Quantity, ...] = ()
    model: str = ""
    lemmas: tuple[Any, ...] = ()
    steps_inside: bool = False
    either: str = ""
    pathwise: bool = False

    def axioms(self, declared: Mapping[str, Declared]) -> dict[str, Axiom]:
        """The assumptions of a derivation, by its names for them.

        Raises:
            ProofError: one is not what the statement assumes.
        """
        found: dict[str, Axiom] = {}
        for name, item in declared.items():
            if type(item) is Start:
                found[name] = self._start(item)
            elif type(item) is Convexity:
                self.says(item.assumption, bounding.CONVEX)
                found[name] = item
            elif type(item) is AboveTangents:
                found[name] = self._convex_clients(item)
            elif type(item) is Minimum:
                self.says(item.assumption, bounding.MINIMISER)
                if item.minimiser != self.function("minimiser").name:
                    raise ProofError(f"{item.minimiser}: not the minimiser of the problem")
                found[name] = item
            elif type(item) is Assumed:
                found[name] = self._read(item)
            else:
                raise ProofError(
                    f"{name}: {item!r} is no assumption of the statement: its constants are read off, not typed"
                )
        self._one_start(found)
        return found

    # --- the entries of the theorem's list ----------------------------------------------------------------------------

    def says(self, entry: str, *sayings: str) -> None:
        """Raises unless an entry of the theorem's list says one of these things."""
        for item in self.theorem.assumptions:
            if item.name == entry:
                if bounding.EITHER in item.says and entry != self.either:
                    raise ProofError(f"{entry!r} is one of several things: a derivation covers one of them only")
                if not set(sayings) & set(item.says):
                    words = " or ".join(bounding.SAYINGS[saying] for saying in sayings)
                    raise ProofError(f"the assumption {entry!r} does not say that {words}")
                return
        raise ProofError(f"{entry!r} is not in the theorem's list of assumptions")

    def that_says(self, saying: str) -> str:
        """The entry of the theorem's list that says something."""
        for item in self.theorem.assumptions:
            if saying in item.says:
                return item.name
        raise ProofError(f"no assumption of the theorem says that {bounding.SAYINGS[saying]}")

    def entry(self, symbol: str, function: str) -> str:
        """The entry of the list, or the lemma, that states a symbol's bound of a function."""
        for lemma in self.lemmas:
            if symbol in lemma.constants:
                return lemma.theorem.id
        listed = self.theorem.assumptions
        found = [item.name for item in listed if (symbol, function) in item.bounds]
        found = found or [item.name for item in listed if symbol in item.bounds]
        if len(found) != 1:
            what = f"{len(found)} assumptions of the theorem state" if found else "no assumption of the theorem states"
            raise ProofError(f"{what} what {symbol} bounds of {bounding.FUNCTIONS[function]}")
        return found[0]

    def forms(self, symbol: str) -> tuple[Form, ...]:
        """What the row of a symbol's quantity says that it bounds, or a lemma of its constant."""
        for lemma in self.lemmas:
            if symbol in lemma.constants:
                return lemma.theorem.statement(lemma.label).constant(symbol).bounds
        if symbol not in self.theorem.notation.bindings:
            raise ProofError(f"{symbol}: no symbol of the theorem")
        return self.theorem.notation[symbol].quantity.bounds

    def symbol(self, quantity: str) -> str:
        """The one symbol of the notation that stands for a quantity, or nothing."""
        found = [b.name for b in self.theorem.notation if b.quantity.name == quantity]
        if len(found) > 1:
            raise ProofError(f"{' and '.join(found)} both stand for the {quantity}")
        return found[0] if found else ""

    def words(self, declared: Mapping[str, Declared]) -> tuple[str, ...]:
        """What is assumed, in words: all that a symbol says of a function, not only what is used of it."""
        found: dict[str, None] = {}
        for item in (item for item in declared.values() if isinstance(item, Assumed)):
            for role in dict.fromkeys(role for role, _ in self._roles(item.of)):
                rows = [row for row in self.forms(item.symbol) if role in {each.function for each in implied(row)}]
                words = [(about(row, role) or row).words(item.symbol, self.theorem.problem) for row in rows]
                found |= dict.fromkeys(f"{self.entry(item.symbol, role)}: {text}" for text in words)
        return tuple(found)

    # --- one assumption -----------------------------------------------------------------------------------------------

    def _roles(self, name: str) -> tuple[tuple[str, bool], ...]:
        """What a name of the derivation stands for in the kind of problem: roles, and whether as a named quantity."""
        found = [(f.role, False) for f in self.setting.functions if f.name == name]
        if any(objective.name == name for objective in self.setting.objectives):
            found += [("objective_gradient", False), ("objective", False)]
        for quantity in self.quantities:
            if quantity.name == name:
                found += [("objective", True)]
                found += [("inner_value", True), ("local_gradient", True)] * quantity.nonnegative
        if not found:
            raise ProofError(f"{name}: nothing that a symbol could bound")
        return tuple(found)

    def _read(self, item: Assumed) -> Axiom:
        roles = self._roles(item.of)
        fits = [
            each
            for row in self.forms(item.symbol)
            for each in implied(row)
            if (each.function, each.kind in OF_A_QUANTITY) in roles
            and each.function == _OF_ONE.get(each.kind, each.function)
            and item.kind in ("", each.kind)
            and item.per in ("", each.per)
        ]
        if not fits:
            rows = "; ".join(row.words(item.symbol) for row in self.forms(item.symbol))
            wanted = " ".join(part for part in (item.kind, item.per) if part)
            raise ProofError(
                f"{item.symbol} says nothing of {item.of} {wanted}".rstrip() + f": {rows or 'it bounds nothing'}"
            )
        if item.symbol not in self.reader.params:
            raise ProofError(f"{item.symbol}: no symbol of the statement")
        entry = self.entry(item.symbol, fits[0].function)
        return self._axiom(fits[0], entry, item, getattr(self.reader, item.symbol))

    def _axiom(self, read: Form, entry: str, item: Assumed, c: Signomial) -> Axiom:
        of = item.of
        match read.kind:
            case bounding.GAP if self._is_gap(of):
                return StartValue(entry, of, c)
            case bounding.GAP:
                return LowerBound(entry, self._value(of), c)
            case bounding.DISTANCE:
                return StartValue(entry, self._distance(of), c**2)
            case bounding.UNLIKE_AT_START:
                return StartValue(entry, self._unlike(of), c**2)
            case bounding.RELATIVE_VARIANCE | bounding.RELATIVE_ERROR:
                self._accept_constant(item.symbol)
                return (Compressor if read.kind == bounding.RELATIVE_VARIANCE else Accuracy)(entry, of, c)
            case bounding.CONTRACTION | bounding.GAP_TO_ONE:
                self._accept_constant(item.symbol)
                return Mixing(entry, of, c if read.kind == bounding.CONTRACTION else 1 - c, self.client)
            case bounding.STRONG_CONVEXITY:
                return StrongConvexity(entry, of, c)
            case bounding.POLYAK_LOJASIEWICZ:
                least = self.that_says(bounding.MINIMISER)
                return PolyakLojasiewicz(entry, of, c, self.function("minimiser").name, least)
            case bounding.START:
                return StartValue(entry, of, c**2, self._first_estimate(of))
            case bounding.LIPSCHITZ if read.function == "objective_gradient":
                return Smooth(entry, of, c)
        if read.function in (COMPRESSOR, MIXING):
            raise ProofError(f"{item.symbol}: no method says what its {read.kind} of {of} is")
        function = self.setting.function(of)
        operator, mean, middle = (
            not isinstance(function.space, str),
            read.per == bounding.MEAN,
            read.per == bounding.MEAN_SQUARE,
        )
        match read.kind:
            case bounding.LIPSCHITZ:
                kind = LipschitzOperator if operator else Lipschitz
                return kind(entry, of, c, middle, mean)
            case bounding.SIZE:
                return SecondMoment(entry, of, c, item.given) if middle else Bounded(entry, of, c, mean)
            case bounding.NOISE:
                spectral = operator and read.norm != bounding.FROBENIUS
                return Variance(entry, of, c, item.given, item.given != NOTHING, spectral)
            case bounding.NOISE_SIZE if not operator:
                return BoundedNoise(entry, of, c)
            case bounding.UNLIKE:
                return Heterogeneity(entry, of, c, self.client, operator and read.over == bounding.AVERAGE)
            case bounding.SHARE:
                return self._random_set(entry, of, c, item.symbol)
        return self._of_differences(read, entry, function, c)

    def _convex_clients(self, item: AboveTangents) -> ConvexClients:
        self.says(item.assumption, bounding.CONVEX_CLIENTS)
        function = self.function("local_gradient")
        smooth = self._read(Assumed(item.symbol, function.name, bounding.LIPSCHITZ, bounding.MEAN))
        assert isinstance(smooth, Lipschitz)
        return ConvexClients(
            item.assumption, item.objective, function.name, self.client, smooth.constant, smooth.assumption
        )

    def _accept_constant(self, name: str) -> None:
        """Raises unless a symbol is the constant that the theorem's method has, with the formulas that it gets, or one that the method
        finds when it is run, which then refuses a symbol that says more."""
        binding, method = self.theorem.notation[name], self.theorem.method
        if method is None:
            return
        from ....algorithms.declared import declared  # reads the source of every method

        known = declared().get(method.name) or (method.code and method.code.load())
        formulas = getattr(known, "constants", {})
        quantity = binding.quantity.name
        if quantity in getattr(known, "measured", ()):
            return
        if quantity not in formulas:
            raise ProofError(f"{name}: the method {method.name} does not say what its {quantity} is")
        try:
            found = read_formula(formulas[quantity], method.values)
        except FormulaError as error:
            raise ProofError(f"{name}: the {quantity} of {method.name}, {formulas[quantity]}: {error}") from None
        if sp.simplify(found - binding.symbol) != 0:
            raise ProofError(f"{name}: {method.name} has the {quantity} {found}")

    def _of_differences(self, read: Form, entry: str, function: Function, c: Signomial) -> Axiom:
        """What a bound of the derivative says of differences of a function that is differentiable."""
        if read.kind == bounding.DIFFERENCE_NOISE:
            return DifferenceVariance(entry, function.name, c, self.that_says(bounding.SMOOTH_SAMPLES))
        if read.kind not in (bounding.SECOND_DIFFERENCE, bounding.CENTRAL_DIFFERENCE):
            raise ProofError(f"{entry}: no rule of the kernel reads the {read.kind} of {function.name}")
        smooth = self.that_says(bounding.SMOOTH_FUNCTIONS)
        if read.kind == bounding.SECOND_DIFFERENCE:
            return SecondDifference(entry, function.name, c, smooth)
        (derivative,) = self.with_role(bounding.DERIVATIVES[function.role])
        return CentralDifference(entry, function.name, c, smooth, derivative.name)

    def with_role(self, role: str) -> tuple[Function, ...]:
        return tuple(function for function in self.setting.functions if function.role == role)

    def function(self, role: str) -> Function:
        """The one function of a role."""
        found = self.with_role(role)
        if len(found) != 1:
            raise ProofError(f"wanted one function that is the {role} of the problem, got {[f.name for f in found]}")
        return found[0]

    @property
    def client(self) -> str:
        """The index of the clients."""
        found = [index.name for index in self.setting.indices if index.of == CLIENTS]
        if len(found) != 1:
            raise ProofError(f"wanted one index of the clients, got {found}")
        return found[0]

    @property
    def mean_model(self) -> Term:
        """The mean of the models over every index that they have."""
        found: Term = Var(self.model)
        for index in sorted(self.setting.variable(self.model).index):
            found = Mean(index, found)
        return found

    def _meaning(self, name: str) -> Scalar:
        (quantity,) = (q for q in self.quantities if q.name == name)
        return quantity.meaning

    def _means(self, name: str, wanted: Scalar) -> bool:
        """Whether a quantity is this number."""
        algebra = Algebra(self.setting)
        return form(algebra, self._meaning(name)) == form(algebra, wanted)

    def _value(self, name: str) -> str:
        """The quantity, if it is the value of the objective at the mean model."""
        (_, atom), *others = self._meaning(name).parts
        algebra = Algebra(self.setting)
        if others or not isinstance(atom, Value) or algebra.normal(atom.point) != algebra.normal(self.mean_model):
            raise ProofError(f"{name} is not the value of the objective at {self.mean_model!r}")
        return name

    @property
    def minimiser(self) -> Term:
        """Where the objective is least."""
        return App(self.function("minimiser").name, Sum(()))

    def above_minimum(self, point: Term) -> Scalar:
        """How far the objective at a point is above its minimum."""
        if len(self.setting.objectives) != 1:
            raise ProofError("wanted one objective")
        (objective,) = self.setting.objectives
        return value(objective.name, point) - value(objective.name, self.minimiser)

    def _is_gap(self, name: str) -> bool:
        """Whether a quantity is how far the objective at the mean model is above its minimum."""
        return bool(self.with_role("minimiser")) and self._means(name, self.above_minimum(self.mean_model))

    def _distance(self, name: str) -> str:
        """The quantity, if it is the squared distance of the mean model from the minimiser."""
        if not self._means(name, sq(self.mean_model - self.minimiser)):
            raise ProofError(f"{name} is not the squared distance of {self.mean_model!r} from the minimiser")
        return name

    def _unlike(self, name: str) -> str:
        """The quantity, if it is how far the clients' gradients at the mean model are from their mean, in mean square."""
        gradient = self.function("local_gradient")
        exact = gradient.averaged(self.mean_model)
        if not self._means(name, sq(exact - Mean(self.client, exact))):
            raise ProofError(f"{name} is not the squared distance of {exact!r} from its mean over the clients")
        return name

    def _first_estimate(self, name: str) -> int:
        """The step before which a quantity is the distance of the first estimate from the inner value at the first models."""
        inner = self.function("inner_value")
        value: Term = inner.averaged(Var(self.model))
        value = Mean(self.client, value) if inner.mean_index else value
        for variable in self.setting.variables:
            error = sq(Var(variable.name) - value)
            if variable.equations and variable.space == inner.space and self._means(name, error):
                return variable.defined - 1
        raise ProofError(f"{name} is not the squared distance of an estimate from {value!r}")

    def _random_set(self, entry: str, name: str, share: Signomial, symbol: str) -> RandomSet:
        """A uniform set of share * n of the n clients, where the statement has the quotient that it needs."""
        self.says(entry, bounding.UNIFORM_SET)
        self._accept_participants(symbol)
        clients = self.setting.index(self.client).size
        quotients = [param.number for param in self.reader.quotients]
        if len(quotients) != 1:
            raise ProofError("wanted the one quotient (n - m)/(m (n - 1)) of a random set in the statement")
        return RandomSet(entry, name, self.client, share * clients, quotients[0])

    def _accept_participants(self, share: str) -> None:
        """Raises unless the theorem's method gets as many clients as the share of the statement says."""
        method = self.theorem.method
        if method is None:
            return
        notation, given = self.theorem.notation, list(given_for(method, "sampled_clients").values())
        wanted = notation[share].symbol * notation[self.symbol("clients")].symbol
        if not given or any(each is None or sp.simplify(each - wanted) != 0 for each in given):
            raise ProofError(f"{method.name} gets {given} for the clients that take part, the statement's are {wanted}")

    # --- the start ----------------------------------------------------------------------------------------------------

    def _start(self, item: Start) -> Start:
        """A start says where one variable of the method starts: together with others, at their mean, or with a drawn client.

        In a loop it may also be a function at another variable, since that is what the variable is (see `Delivery`).
        A variable that is not the models may start at 0, where the list says so.
        """
        term: Sum = Algebra(self.setting).normal(item.term)
        own = [node for _, node in term.parts if isinstance(node, Var) and self.setting.variable(node.name).equations]
        if len(term.parts) == len(own) == 1 and own[0].name != self.model:
            self.says(item.assumption, bounding.AT_ZERO)
            return item
        self.says(item.assumption, bounding.STARTS)
        if any(coefficient not in (ONE, -ONE) for coefficient, _ in term.parts) or not self._defines(term):
            raise ProofError(f"{item.term!r} = 0 does not say where a variable starts")
        return item

    def _defines(self, term: Sum) -> bool:
        """Whether a term is a variable with equations minus something that does not speak of it, or that is its own mean."""
        for _, node in term.parts:
            if isinstance(node, Var) and self.setting.variable(node.name).equations:
                rest = [other for _, other in term.parts if other != node]
                if len(rest) == 1 and self._may_be(rest[0], node):
                    return True
        return False

    def _may_be(self, other: Term, node: Var) -> bool:
        if isinstance(other, Proj):
            known = Algebra(self.setting).support(node).known
            if other.known == known and other.term == node:
                return True
        allowed = self.steps_inside
        if isinstance(other, Var):
            allowed = bool(self.setting.variable(other.name).equations) and (
                allowed or self.model in (node.name, other.name)
            )
        if isinstance(other, App):
            allowed = allowed or self.setting.function(other.function).role == "drawn_client"
        return allowed and (node.name, node.shift) not in set(variables(other))

    def _one_start(self, axioms: Mapping[str, Axiom]) -> None:
        """No two starts speak of the same variables only: each says where a variable starts of which no other one speaks."""
        seen: set[tuple[str, int]] = set()
        for axiom in axioms.values():
            if isinstance(axiom, Start):
                new = set(variables(Algebra(self.setting).normal(axiom.term)))
                if seen and new <= seen:
                    raise ProofError(f"{axiom.term!r} = 0: another start says where its variables start")
                seen |= new


def given_for(method: Any, wanted: str) -> Mapping[str, Any]:
    """What a method is given for a quantity, by hyperparameter; nothing without a method."""
    if method is None:
        return {}
    from ....algorithms.declared import declared  # reads the source of every method

    found = declared().get(method.name)
    names = [key for key, quantity in found.quantities.items() if quantity == wanted] if found else []
    return {key: method.values.get(key) for key in names}
