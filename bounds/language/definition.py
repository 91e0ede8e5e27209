"""A theorem of one's own from data: the keys of a TOML file, or the same keys as arguments of `define`.

One file is one theorem; docs/howto/your-own-theorem.md walks through one. Formulas are read by `formula`, numbers
exactly; nothing of the text is executed. A mistake is one line that says where it is and names what may have been meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import sympy as sp
from sympy.printing.str import StrPrinter

from ...errors import InputError
from ...suggestion import nearest
from ...user_files import CodeName, installed, is_python_file, is_trusting
from .bounding import OF_PROPERTIES, SAYINGS, Form, read_form
from .change import with_statement
from .client_lists import refuse_bare, why_not_of_one_client
from .clients import SUFFIX, bare, client_symbols
from .dimension import Dimension, read_dimension
from .fields import ASSUMPTION, DEFINITION, MAX_ENTRIES, METRIC, PROBABILITY, QUANTITY, Fields, formula_with, holds
from .formula import FUNCTIONS, FormulaError, read_formula, read_relation
from .homogeneity import InhomogeneousError, dimension_of
from .meaning import meant_by
from .metrics import (
    MEAN,
    MEASURES,
    METRICS,
    OVER,
    OVER_OWN,
    TAKE_WEIGHTS,
    WEIGHTED,
    of_its_own,
    with_probability,
    with_weights,
    word_of,
)
from .notation import STEP, Binding, Notation, derived_symbol, latex_of, letters_of
from .power import Power
from .properties import PROPERTIES
from .quantities import DOMAINS, POSITIVE, QUANTITIES, Quantity
from .reading import read_toml
from .schedule import SCHEDULES, read_schedule
from .theorem import (
    AVERAGES,
    RESOURCES,
    Assumption,
    Condition,
    DeclarationError,
    Derived,
    MethodCall,
    Metric,
    OwnMeasure,
    Source,
    Statement,
    Term,
    Theorem,
)
from .typesetting import Letters
from .typesetting import latex as typeset

QUANTITY_ROLES = ("constant", "hyperparameter")
PER_CLIENT = ("Counts", "tuple")
"""Beginnings of the annotation of a hyperparameter that may have one number for each client."""
_ID = re.compile(r"[a-z][a-z0-9_]{0,40}\.[A-Za-z][A-Za-z0-9_]{0,60}", re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}", re.ASCII)
_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}", re.ASCII)


def load(path: str | Path, *, trust: bool = False) -> Theorem:
    """The theorem that a TOML file defines.

    Args:
        trust: code that the file names (a method, a proof) may be run when something needs it.

    Raises:
        InputError: the file cannot be read, is no TOML, or does not define a theorem; one line that starts with its name.
    """
    file = Path(path)
    return Definition(str(file), read_toml(file), trust or is_trusting()).theorem(file.parent)


class _Written(StrPrinter):
    """A formula as `read_formula` reads it."""

    def _print_ceiling(self, expr: sp.Expr) -> str:
        return f"ceil({self._print(expr.args[0])})"

    def _print_Exp1(self, expr: sp.Expr) -> str:
        return "exp(1)"

    def _print_Min(self, expr: sp.Min) -> str:
        return f"min({', '.join(map(self._print, expr.args))})"

    def _print_Max(self, expr: sp.Max) -> str:
        return f"max({', '.join(map(self._print, expr.args))})"


def keys_of(theorem: Theorem, label: str, more: Iterable[Condition] = ()) -> dict[str, Any]:
    """The keys of a definition that says what one statement of a theorem says; `more` are further conditions.

    Raises:
        InputError: a symbol stands for what a run measures, the metric has no word, or what the keys define is something else.
    """
    statement, write = theorem.statement(label), _Written().doprint
    symbols = {name: binding.quantity.name for name, binding in theorem.symbols(label).items()}
    call = theorem.method
    used = {
        str(symbol) for formula in (call.values.values() if call else ()) for symbol in sp.sympify(formula).free_symbols
    }
    symbols |= {name: theorem.notation[name].quantity.name for name in sorted(used - symbols.keys() - {STEP.name})}
    metric, weights = word_of(theorem.metric), theorem.metric.weights
    if not metric:
        raise InputError(f"{theorem.id}: bounds {theorem.metric.name}, which a definition has no word for")
    used_quantities = {quantity: theorem.notation[name].quantity for name, quantity in symbols.items()}
    own = {name: quantity for name, quantity in used_quantities.items() if name not in QUANTITIES}
    known = {**QUANTITIES, **own}
    keys: dict[str, Any] = {
        "id": theorem.id,
        "title": theorem.title,
        "problem": theorem.problem,
        "metric": metric,
        **({} if weights is None else {"weights": write(weights)}),
        "average": theorem.average,
        "probability": {"failure": theorem.metric.failure} if theorem.metric.failure else {},
        "quantities": {name: _written(quantity) for name, quantity in own.items()},
        "symbols": symbols,
        **statement_keys(theorem, label, more),
        "assume": sorted({*theorem.assume, *statement.assume}),
        "assumptions": _said_besides(statement, symbols),
        "units": [next(n for n, q in known.items() if q.dimension == unit) for unit in theorem.unit_choices],
    }
    if call is not None:
        keys["method"] = {"name": call.name, **{n: write(f) for n, f in call.values.items()}, **call.options}
    again = define(**keys)
    changed = [
        name for name in ("problem", "average", "unit_choices") if getattr(again, name) != getattr(theorem, name)
    ]
    if call is not None and (dict(again.method.values), dict(again.method.options)) != (  # type: ignore[union-attr]
        {n: sp.sympify(f) for n, f in call.values.items()},
        dict(call.options),
    ):
        changed.append("method")
    if again.metric.weights != weights:
        changed.append("weights")
    if (
        set(again.statement().assumed) != set(statement.assumed)
        or {b.name: b.quantity.name for b in again.notation} != symbols
    ):
        changed.append("symbols or properties")
    if _said(again.statement()) != _said(statement, more):
        changed.append("formulas")
    if changed:
        raise InputError(f"{theorem.id}: cannot be written as a definition that says the same {', '.join(changed)}")
    return keys


def statement_keys(theorem: Theorem, label: str, more: Iterable[Condition] = ()) -> dict[str, Any]:
    """What one statement of a theorem says, as texts that `restated` reads; `more` are further conditions.

    Raises:
        InputError: what is read says something else.
    """
    statement, write = theorem.statement(label), _Written().doprint
    keys: dict[str, Any] = {
        "assume": list(statement.assume),
        "derived": {each.name: write(each.expr) for each in statement.derived},
        "terms": {term.name: write(term.expr) for term in statement.terms},
        "conditions": {
            c.name: f"{write(c.left)} {c.relation} {write(c.right)}" for c in _free_conditions(statement, more)
        },
        "schedule": {name: write(formula) for name, formula in statement.schedule.items()},
    }
    try:
        again = restated(theorem, label, keys).statement(label)
    except FormulaError as error:
        raise InputError(f"{statement.name}: cannot be written as formulas ({error})") from error
    if _said(again) != _said(statement, more):
        raise InputError(f"{statement.name}: cannot be written as formulas that read the same")
    return keys


def restated(theorem: Theorem, label: str, keys: Mapping[str, Any]) -> Theorem:
    """The theorem with one statement replaced by what the keys of `statement_keys` say, in the theorem's own symbols.

    Raises:
        InputError: a formula cannot be read.
    """
    names: dict[str, sp.Expr] = dict(theorem.notation.symbols)
    derived = []
    for name, text in keys["derived"].items():
        derived.append(Derived(name, read_formula(text, names), latex_of(name)))
        names[name] = derived_symbol(name)
    terms = tuple(Term(name, read_formula(text, names)) for name, text in keys["terms"].items())
    conditions = [Condition(name, *read_relation(text, names)) for name, text in keys["conditions"].items()]
    schedule = {name: read_formula(text, names) for name, text in keys["schedule"].items()}
    conditions += [Condition(f"schedule_{n}", theorem.notation[n].symbol, "==", f) for n, f in schedule.items()]
    assume = tuple(map(str, keys["assume"]))
    return with_statement(theorem, Statement(label, terms, tuple(conditions), tuple(derived), schedule, assume=assume))


def _free_conditions(statement: Statement, more: Iterable[Condition] = ()) -> list[Condition]:
    """The conditions besides those that a hyperparameter is what the schedule says."""
    return [c for c in (*statement.conditions, *more) if c.relation != "==" or str(c.left) not in statement.schedule]


def _said(statement: Statement, more: Iterable[Condition] = ()) -> list[Any]:
    """All that a statement says, without notes."""
    conditions = [(c.name, c.left, c.relation, c.right) for c in _free_conditions(statement, more)]
    terms, derived = ([(each.name, each.expr) for each in part] for part in (statement.terms, statement.derived))
    return [terms, derived, conditions, dict(statement.schedule)]


def _said_besides(statement: Statement, symbols: Collection[str]) -> dict[str, Any]:
    """Entries of `assumptions` for what the theorem's list says besides bounds and named properties, under plain names."""
    said = [item for item in statement.assumptions if item.says and item.name not in statement.assumed]
    taken = {*symbols, *PROPERTIES, *FUNCTIONS}
    return {
        item.name if _NAME.fullmatch(item.name) and item.name not in taken else f"said_{number}": {
            "text": item.text,
            "says": list(item.says),
        }
        for number, item in enumerate(said, 1)
    }


def _written(quantity: Quantity) -> dict[str, Any]:
    """An entry of `quantities`."""
    bounds = [form.written for form in quantity.bounds]
    return {
        "meaning": quantity.meaning,
        "dimension": quantity.dimension.written,
        "domain": quantity.domain,
        "role": quantity.role,
        **({"bounds": bounds} if bounds else {}),
    }


def define(*, follows_from: Theorem | None = None, **keys: Any) -> Theorem:
    """A theorem from the keys of a definition file, given as arguments.

    Args:
        id: `paper.name`. symbols: name -> quantity of the vocabulary. terms: name -> formula; their sum is the bound.
        quantities: words of this theorem's own: name -> table with `meaning`, and optionally `dimension` ("f/x^2", "1" by default),
            `domain` (of `DOMAINS`), `role` ("constant" or "hyperparameter") and `bounds`, the formal bound (or a list of them)
            that it stands for, as `bounding.read_form` reads it.
        derived, conditions, costs: name -> formula (of a condition: a relation), all optional.
        schedule: hyperparameter -> formula: what the statement prescribes, so that it may be left out; another value is
            not admissible.
        problem: kind of problem, "federated" by default. assume: named properties of the problem.
        metric: what is bounded, "mean_gradient_sq" by default. FILE.py:NAME is a metric of one's own, or a table with that as
            `measure` and, optionally, `over` (of `metrics.OVER_OWN`), `dimension` (that of the terms by default), `meaning`, and `cap`,
            a formula for what it never exceeds. average: "before" (t = 0..T-1) or "after" (t = 1..T).
        weights: of the iterates in a metric that weighs them, a formula in the step t.
        assumptions: name -> table with a `text`, and optionally `bounds` (symbols whose formal bounds it states) and `says` (of
            `bounding.SAYINGS`): what a proof may read off it. Constants that none of them bounds are assumptions by themselves.
        probability: `failure`, the symbol for the probability with which the bound may fail along a run; it is then no longer one
            of an expectation.
        units: quantities whose unit the statement sets to 1, such as the step size of `eta = 1/sqrt(T)`.
        method: `name` and the method's own hyperparameters as formulas, for what runs it.
        title, source: for people. proof: FILE.py:NAME, a function that gives the derivation of the statement.
        follows_from: the theorem of a corollary, which the audit compares with it at the schedule.

    Raises:
        InputError: as `load`.

    Example:
        >>> slow = define(id="mine.theorem_1", symbols={"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
        ...     terms={"initialisation": "2*F_gap/(eta*T)"})
        >>> slow.bound(F_gap=1, eta="1/10", T=100).total
        0.2
    """
    name = str(keys.get("id"))
    return Definition(name if _ID.fullmatch(name) else "define", keys).theorem(None, follows_from)


class Definition:
    """The keys of one definition on their way to a theorem.

    Args:
        where: how every message starts.
        keys: as the user gave them.
        trusts: whether code that they name may be run.

    Attributes:
        names: what formulas may use so far. used: the symbols that formulas have used so far.
    """

    roles: tuple[str, ...] = QUANTITY_ROLES

    def __init__(self, where: str, keys: Mapping[str, Any], trusts: bool = True) -> None:
        self.where, self.keys, self.trusts = where, keys, trusts
        self._check_keys()
        self.quantities = {name: self._quantity(name, entry) for name, entry in self.table("quantities").items()}
        self.notation = self._notation()
        self.names: dict[str, sp.Expr] = dict(self.notation.symbols)
        self.used: set[sp.Symbol] = set()

    def refuse(self, place: str, reason: str) -> NoReturn:
        raise InputError(": ".join(part for part in (self.where, place, reason) if part))

    def known(self, place: str, what: str, value: Any, known: Collection[str]) -> str:
        """A value, if it is one of the known ones."""
        if not isinstance(value, str) or value not in known:
            self.refuse(place, f"{_shown(value)} is not {what}; {nearest(str(value), tuple(known))}")
        return value

    def name(self, place: str, name: Any) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self.refuse(place, f"wanted a plain name of letters, digits and _, got {_shown(name)}")
        if name in FUNCTIONS:
            self.refuse(place, f"{name} is a function of formulas; wanted another name")
        return name

    def table(self, key: str) -> Mapping[str, Any]:
        return self.keys.get(key, {})

    def checked(self, place: str, given: Any, fields: Fields) -> Mapping[str, Any]:
        """A table, if it has the keys that it needs and no others, each with a value of its type."""
        if not isinstance(given, Mapping):
            self.refuse(place, f"wanted {fields.wanted}, got {_shown(given)}")
        for key in given:
            self.known(place, fields.key, key, fields.keys)
        for key in fields.needed:
            if not given.get(key):
                self.refuse(place, f"{key} is missing; wanted {', '.join(fields.needed)}")
        for key, value in given.items():
            if not holds(value, fields.keys[key]):
                self.refuse(f"{place}, {key}" if place else key, f"wanted {fields.keys[key]}, got {_shown(value)}")
        found: Mapping[str, Any] = given
        return found

    def dimension(self, place: str, text: Any, otherwise: str = "") -> Dimension:
        """What a text writes down; `otherwise` is what else is wanted there."""
        try:
            return read_dimension(str(text))
        except ValueError as error:
            self.refuse(place, f"{error}{otherwise}")

    def says(self, place: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
        """What an assumption says besides bounds."""
        what = "something that a proof reads"
        return tuple(self.known(f"{place}, says", what, each, SAYINGS) for each in entry.get("says", ()))

    # --- formulas ----------------------------------------------------------------------------------------------------

    def formula(self, place: str, value: Any, *, of_clients: bool = False) -> sp.Expr:
        """A formula in the names declared so far; with `of_clients` it may be one number for each client."""
        try:
            found = read_formula(self._text(place, value), self.names)
        except FormulaError as error:
            self.refuse(place, str(error))
        if not of_clients:
            self._refuse_bare(place, found)
        self.used |= found.free_symbols
        return found

    def _refuse_bare(self, place: str, *formulas: sp.Expr) -> None:
        for formula in formulas:
            if reason := refuse_bare(formula):
                self.refuse(place, reason)

    def relation(self, place: str, value: Any) -> tuple[sp.Expr, str, sp.Expr]:
        try:
            left, relation, right = read_relation(self._text(place, value), self.names)
        except FormulaError as error:
            self.refuse(place, str(error))
        self._refuse_bare(place, left, right)
        self.used |= left.free_symbols | right.free_symbols
        return left, relation, right

    def _text(self, place: str, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float, Fraction)):
            self.refuse(place, f"wanted a formula as text, or a number, got {_shown(value)}")
        return value if isinstance(value, str) else str(value)

    def said(self, place: str, value: Any, *allowed: str) -> tuple[Any, dict[str, str]]:
        """A formula and what is said about it: it stands alone, or under `formula` in a table with some of these keys."""
        if not isinstance(value, Mapping):
            return value, {}
        self.checked(place, value, formula_with(allowed))
        return value.get("formula"), {key: text for key, text in value.items() if key != "formula"}

    # --- the keys ----------------------------------------------------------------------------------------------------

    def _check_keys(self) -> None:
        for key, value in self.checked("", self.keys, DEFINITION).items():
            if len(value) > MAX_ENTRIES:
                self.refuse(key, f"wanted at most {MAX_ENTRIES} entries or characters, got {len(value)}")
        if not _ID.fullmatch(self.keys["id"]):
            wanted = "PAPER.NAME in letters, digits and _ (for instance mine.theorem_1)"
            self.refuse("id", f"wanted {wanted}, got {_shown(self.keys['id'])}")

    def _quantity(self, name: Any, entry: Any) -> Quantity:
        """A word of the file's own, or the shared quantity where it says the same as that."""
        place = f"quantities, {self.name('quantities', name)}"
        meaning = self.checked(place, entry, QUANTITY)["meaning"]
        domain = self.known(f"{place}, domain", "a domain", entry.get("domain", POSITIVE), DOMAINS)
        role = self.known(f"{place}, role", "a role", entry.get("role", "constant"), self.roles)
        bounds = self._forms(f"{place}, bounds", entry.get("bounds", ()))
        dimension = self.dimension(f"{place}, dimension", entry.get("dimension", "1"))
        if bounds and role != "constant":
            self.refuse(f"{place}, bounds", f'a {role} bounds nothing; wanted role = "constant", or no bounds')
        for form in bounds:
            if form.dimension != dimension:
                self.refuse(
                    place, f"the {form.kind} of {form.function} has dimension {form.dimension}, got {dimension}"
                )
        made = Quantity(name, meaning, dimension, domain, role, bounds=bounds)
        same = next((each for each in QUANTITIES.values() if bounds and each.bounds == bounds), QUANTITIES.get(name))
        if same is None:
            return made
        given = [key for key in ("dimension", "domain", "role", "bounds") if key in entry]
        for attribute in [*given, *(["meaning"] if same.name == name else [])]:
            had, got = getattr(same, attribute), getattr(made, attribute)
            if had != got:
                other = (
                    f"wanted the {attribute} of {same.name}, which bounds the same"
                    if same.name != name
                    else ("it is a quantity of the vocabulary: wanted another name, or no entry")
                )
                self.refuse(f"{place}, {attribute}", f"{other} ({_plainly(had)}), got {_plainly(got)}")
        return same

    def _forms(self, place: str, value: Any) -> tuple[Form, ...]:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
            self.refuse(place, f"wanted a text, or a list of texts, got {_shown(value)}")
        try:
            return tuple(read_form(text) for text in texts)
        except ValueError as error:
            self.refuse(place, str(error))

    @cached_property
    def letters(self) -> dict[str, str]:
        """The LaTeX of every symbol and derived constant."""
        return letters_of(map(str, (*self.table("symbols"), *self.table("derived"))))

    def _notation(self) -> Notation:
        rows = [self._row(self.name("symbols", name), quantity) for name, quantity in self.table("symbols").items()]
        own = (each for each in self.quantities.values() if each.name not in QUANTITIES)
        return Notation(self.keys["id"].partition(".")[0], tuple(rows), own=tuple(own))

    def _row(self, name: str, quantity: Any) -> tuple[str, str, str, str]:
        """A symbol of the notation; its note is what the file's own word for a shared quantity means."""
        if not isinstance(quantity, str) or quantity not in {*QUANTITIES, *self.quantities}:
            meant = meant_by(str(quantity), {**self.quantities, **QUANTITIES}) or "look for one with `fedco symbols`"
            self.refuse(
                f"symbols, {name}",
                f"{_shown(quantity)} is no known quantity: declare it under [quantities], or {meant}",
            )
        found = self.quantities.get(quantity)
        known = found or QUANTITIES[quantity]
        numbers = known.numbers
        if name.endswith(SUFFIX) and (reason := why_not_of_one_client(known)):
            self.refuse(
                f"symbols, {name}", f"a name that ends in {SUFFIX} has one number for each client, and {reason}"
            )
        if numbers.total and not name.endswith(SUFFIX):
            self.refuse(
                f"symbols, {name}",
                f"each client has its own {quantity}: wanted a name that ends in {SUFFIX}, such as p_i",
            )
        note = self.table("quantities")[quantity]["meaning"] if found is not None and found.name != quantity else ""
        return name, self.letters[name], found.name if found is not None else quantity, note

    def _derived(self) -> tuple[Derived, ...]:
        found = []
        for name, value in self.table("derived").items():
            if self.name("derived", name) in self.names:
                self.refuse(f"derived, {name}", "already a symbol; wanted another name")
            if name.endswith(SUFFIX):
                one = f"a name that ends in {SUFFIX} has one number for each client, a derived constant has one"
                self.refuse(f"derived, {name}", f"{one}: wanted another name, or its formula where it is used")
            found.append(self._constant(name, value))
            self.names[name] = derived_symbol(name)
        return tuple(found)

    def _constant(self, name: str, value: Any) -> Derived:
        formula, more = self.said(f"derived, {name}", value, "latex", "meaning")
        latex, meaning = more.get("latex", self.letters.get(name, latex_of(name))), more.get("meaning", "")
        return Derived(name, self.formula(f"derived, {name}", formula), latex, meaning)

    def _terms(self) -> tuple[Term, ...]:
        found = []
        for name, value in self.table("terms").items():
            formula, more = self.said(f"term {name}", value, "role")
            found.append(Term(self.name("terms", name), self.formula(f"term {name}", formula), **more))
        return tuple(found)

    def _conditions(self) -> tuple[Condition, ...]:
        return tuple(self._condition(name, value) for name, value in self.table("conditions").items())

    def _condition(self, name: str, value: Any) -> Condition:
        formula, more = self.said(f"condition {name}", value, "note")
        return Condition(self.name("conditions", name), *self.relation(f"condition {name}", formula), **more)

    def _schedule(self) -> dict[str, sp.Expr]:
        for name in self.table("schedule"):
            self.known("schedule", "a symbol", name, self.notation.bindings)
            if self.notation[name].quantity.role != "hyperparameter":
                self.refuse(f"schedule, {name}", "wanted a hyperparameter, got a constant of the problem")
        return {name: self.formula(f"schedule, {name}", value) for name, value in self.table("schedule").items()}

    def _prescribed(self, name: str, formula: sp.Expr) -> Condition:
        """The condition that a hyperparameter is what the schedule says."""
        self.used.add(self.notation[name].symbol)
        return Condition(f"schedule_{name}", self.notation[name].symbol, "==", formula)

    def _costs(self) -> dict[str, sp.Expr]:
        for name in self.table("costs"):
            self.known("costs", "a cost", name, RESOURCES)
        return {name: self.formula(f"costs, {name}", value) for name, value in self.table("costs").items()}

    def _method(self, folder: Path | None) -> MethodCall | None:
        given = dict(self.table("method"))
        if not given:
            return None
        name = given.pop("name", None)
        if not isinstance(name, str) or not name.strip():
            self.refuse("method", "name is missing; for instance local_sgd, or my_methods.py:MyMethod")
        options = {key: given.pop(key) for key in self._options(name, folder, given)}
        values = {self.name("method", key): self._hyperparameter(key, value) for key, value in given.items()}
        for key, formula in values.items():
            if STEP in formula.free_symbols:
                self._may_vary(name, key, lambda annotation: "Schedule" in annotation, "steps t", "may")
            if bare(formula):
                self._may_vary(name, key, lambda a: a.startswith(PER_CLIENT), "clients, such as max_i()", "may differ")
        values = {**self._left_to_symbols(name, {*values, *options}), **values}
        return MethodCall(name, values, folder, options, self.trusts)

    def _proof(self, folder: Path | None) -> CodeName | None:
        name = self.keys.get("proof")
        if name is None:
            return None
        if not is_python_file(name) or ":" not in name:
            self.refuse("proof", f"wanted FILE.py:NAME, got {_shown(name)}")
        return CodeName(name, folder, self.trusts)

    def _left_to_symbols(self, method: str, given: Collection[str]) -> dict[str, sp.Expr]:
        """What a method needs and is not given: the symbol of that name, or what need not be said.

        What has a default keeps it where it is not given, so that a symbol of that name has to be given. A method in a file is not
        read here, as data do not run code: there the default holds whatever the symbols are called.
        """
        if is_python_file(method):
            return {}
        from ...algorithms.declared import DEFAULTS

        if method in installed("methods"):
            return {}
        known = declared_methods()
        own = known[self.known("method", "a method", method, tuple(known))]
        left_out = [each for each in own.hyperparameters if each.name not in given]
        for name in (each.name for each in left_out if not each.required and each.name in self.notation.bindings):
            wanted = f'wanted {name} = "{name}" or a number under [method], or another name for the symbol'
            self.refuse(
                "method",
                f"{method} has a {name} of its own, which is not given, and there is a symbol {name}: {wanted}",
            )
        needed = [each.name for each in left_out if each.required]
        found = {}
        for name in needed:
            if name not in self.names and name not in DEFAULTS:
                self.refuse("method", f"{method} needs {name}: write {name} = FORMULA under [method]")
            found[name] = self.formula(
                f"method, {name}", name if name in self.names else DEFAULTS[name], of_clients=True
            )
        return found

    def _hyperparameter(self, key: str, value: Any) -> sp.Expr:
        """The formula of a hyperparameter of the method; it may have the step t in it, unless t is a symbol of the theorem."""
        place = f"method, {key}"
        found = self._in_steps(place, value, self.names, of_clients=True)
        own = self.names.get(STEP.name)
        if own in found.free_symbols and read_schedule(found.xreplace({own: STEP})) is not None:
            self.refuse(
                place,
                f"{_shown(value)} declines with the step t, but t is a symbol of the theorem: give that another name",
            )
        if STEP in found.free_symbols and read_schedule(found) is None:
            self.refuse(place, f"wanted {' or '.join(SCHEDULES)} where it depends on the step t, got {_shown(value)}")
        return found

    def _in_steps(self, place: str, value: Any, names: Mapping[str, sp.Expr], of_clients: bool = False) -> sp.Expr:
        """A formula in these names and the step t."""
        return self._with_names(place, value, {STEP.name: STEP, **names}, of_clients)

    def _with_names(self, place: str, value: Any, names: Mapping[str, sp.Expr], of_clients: bool = False) -> sp.Expr:
        """A formula in these names."""
        outside, self.names = self.names, dict(names)
        try:
            return self.formula(place, value, of_clients=of_clients)
        finally:
            self.names = outside

    def _may_vary(self, method: str, key: str, is_able: Callable[[str], bool], one: str, may: str) -> None:
        """Refuses what varies in a hyperparameter whose annotation does not say that it may."""
        own = declared_methods().get(method)
        takes = [] if own is None else [each.name for each in own.hyperparameters if is_able(each.annotation)]
        if own is not None and key not in takes:
            able = f"; of {method}, {' and '.join(takes)} {may}" if takes else ""
            self.refuse(f"method, {key}", f"{method} takes one {key} for all {one}{able}")

    def _kind(self) -> str:
        """The kind of problem: one that a method runs on, or that a package brings."""
        known = {kind for method in declared_methods().values() for kind in method.kinds} | installed("kinds").keys()
        return self.known("problem", "a kind of problem", self.keys.get("problem", "federated"), sorted(known))

    def _options(self, method: str, folder: Path | None, given: Mapping[str, Any]) -> list[str]:
        """The hyperparameters that get a word, as the method declares them.

        A file is only run where one seems to be given, and trusted: what is a word is taken for one in a file that is not.
        """
        words = [key for key, value in given.items() if isinstance(value, str) and value.isidentifier()]
        if not any(given[key] not in self.names for key in words):
            return []
        if is_python_file(method) and not self.trusts:
            return [key for key in words if given[key] not in self.names]
        if method in declared_methods():
            texts = {each.name for each in declared_methods()[method].hyperparameters if each.annotation == "str"}
        else:
            found = CodeName(method, folder).load() if is_python_file(method) else None
            texts = {name for name, kind in getattr(found, "__annotations__", {}).items() if kind in ("str", str)}
        return [key for key in words if key in texts]

    def _units(self) -> tuple[Dimension, ...]:
        known = {**QUANTITIES, **self.quantities}
        return tuple(known[self.known("units", "a quantity", n, known)].dimension for n in self.keys.get("units", ()))

    def _properties(self) -> tuple[str, ...]:
        return tuple(self.known("assume", "a property", name, PROPERTIES) for name in self.keys.get("assume", ()))

    def _assumptions(self) -> tuple[Assumption, ...]:
        """What the file lists, then what the other constants say about a problem, then the named properties."""
        own = [self._assumed(name, entry) for name, entry in self.table("assumptions").items()]
        said = {symbol for each in own for symbol in each.bounds}
        constants = [b for b in self.notation if b.quantity.role == "constant" and b.name not in said]
        named = [Assumption(n, PROPERTIES[n], says=OF_PROPERTIES.get(n, ())) for n in self._properties()]
        return (*own, *(Assumption(b.name, b.meaning, _bounded(b)) for b in constants), *named)

    def _assumed(self, name: Any, entry: Any) -> Assumption:
        """An entry of the list of assumptions: words, and what a proof may read off it."""
        place = f"assumptions, {self.name('assumptions', name)}"
        self.checked(place, entry, ASSUMPTION)
        formal = {binding.name for binding in self.notation if binding.quantity.bounds}
        bounds = [
            self.known(f"{place}, bounds", "a symbol with a formal bound", s, formal) for s in entry.get("bounds", ())
        ]
        says = self.says(place, entry)
        if name in {*PROPERTIES, *(b.name for b in self.notation)} and name not in bounds:
            self.refuse(place, "a symbol or a property has this name; wanted another one")
        return Assumption(name, entry["text"], tuple(bounds), says)

    # --- the theorem -------------------------------------------------------------------------------------------------

    def theorem(self, folder: Path | None, parent: Theorem | None = None) -> Theorem:
        """The theorem, once everything about it has been checked; `folder` is where the files that it names are."""
        paper, _, where = self.keys["id"].partition(".")
        derived = self._derived()
        terms, conditions, schedule = self._terms(), self._conditions(), self._schedule()
        prescribed = tuple(self._prescribed(name, formula) for name, formula in schedule.items())
        statement = Statement("printed", terms, (*prescribed, *conditions), derived, schedule)
        self._check_rounding(statement)
        costs, method = self._costs(), self._method(folder)
        metric = self._with_probability(
            self._with_weights(self._metric_of(self.keys.get("metric", "mean_gradient_sq"), folder, statement))
        )
        self._check_use({constant.name for constant in derived})
        try:
            found = Theorem(
                self.keys["id"],
                "theorem" if parent is None else "corollary",
                self.keys.get("title", self.keys["id"]),
                Source(paper, self.keys.get("source", where)),
                self.notation,
                metric,
                {"printed": statement},
                self._assumptions(),
                self._units(),
                follows_from=None if parent is None else (parent, schedule),
                problem=self._kind(),
                assume=self._properties(),
                costs=costs,
                method=method,
                average=self.known("average", "an average", self.keys.get("average", "before"), AVERAGES),
                proof=self._proof(folder),
            )
        except DeclarationError as error:
            self.refuse("", str(error))
        self._check_dimensions(found)
        return found

    def _metric_of(self, word: str | Mapping[str, Any], folder: Path | None, statement: Statement) -> Metric:
        if isinstance(word, Mapping) or is_python_file(word):
            return self._own_metric({"measure": word} if isinstance(word, str) else word, folder, statement)
        if word not in METRICS:
            parts = f"a metric is one of {' '.join(OVER)}, then _ and one of {' '.join(MEASURES)}"
            other = (
                "anything else, as the gradient of a Moreau envelope, is measured by a function of yours, FILE.py:NAME"
            )
            self.refuse("metric", f"{_shown(word)} is not a metric; {parts}; {other}")
        return METRICS[word]

    def _own_metric(self, given: Mapping[str, Any], folder: Path | None, statement: Statement) -> Metric:
        """A metric that a function of the user's measures; it is loaded when something measures it."""
        self.checked("metric", given, METRIC)
        code = given.get("measure", "")
        file, _, name = code.rpartition(":")
        if not file.endswith(".py") or not _FUNCTION.fullmatch(name):
            self.refuse("metric, measure", f"wanted FILE.py:NAME, got {_shown(code)}")
        over = self.known("metric, over", "which iterates it speaks of", given.get("over", MEAN), OVER_OWN)
        said = given.get("dimension")
        dimension = _of_terms(statement, self.notation) if said is None else self.dimension("metric, dimension", said)
        cap = self._with_names("metric, cap", given["cap"], self.notation.symbols) if "cap" in given else None
        meaning = given.get("meaning", name)
        return of_its_own(OwnMeasure(name, meaning, dimension, CodeName(code, folder, self.trusts), cap), over)

    def _with_weights(self, metric: Metric) -> Metric:
        """The metric with the weights of the iterates, a formula in the step t and the symbols, where it takes some."""
        text = self.keys.get("weights")
        takes = (metric.own is not None or word_of(metric) != "") and metric.over in TAKE_WEIGHTS
        if text is None:
            if takes and metric.over == WEIGHTED:
                self.refuse("weights", f'{word_of(metric) or metric.name} needs some; for instance weights = "t + 1"')
            return metric
        if not takes:
            able = ", ".join(word for word, each in METRICS.items() if each.over in TAKE_WEIGHTS)
            self.refuse("weights", f"{word_of(metric) or metric.name} takes none; wanted one of the metrics {able}")
        found = self._in_steps("weights", text, self.notation.symbols)
        if own := sorted(map(str, client_symbols(found))):
            self.refuse("weights", f"{own[0]} is one number for each client, and an iterate has one weight for all")
        if (-found).is_nonnegative:
            self.refuse("weights", f"wanted weights that are positive, got {_shown(text)}")
        first = int(self.keys.get("average") == "after")
        if found.xreplace({STEP: sp.Integer(first)}).is_negative:  # later steps may be beyond the end of a run
            self.refuse("weights", f"wanted weights of at least 0, got {_shown(text)}, which is below 0 at t = {first}")
        letters = Letters({binding.symbol: binding.latex for binding in self.notation}, {})
        return with_weights(metric, found, typeset(found, letters))

    def _with_probability(self, metric: Metric) -> Metric:
        """The metric, or the same along a run where the bound may fail with a probability."""
        table = self.table("probability")
        if not table:
            return metric
        self.checked("probability", table, PROBABILITY)
        able = {b.name: b for b in self.notation if b.quantity.name == "failure_probability"}
        name = table.get("failure")
        if name not in able:
            self.refuse("probability, failure", f"wanted a symbol for failure_probability, got {_shown(name)}")
        if metric.own is None and not word_of(metric):
            self.refuse("probability", f"wanted one of the metrics {', '.join(METRICS)}, got {metric.name}")
        return with_probability(metric, name, able[name].latex)

    def _check_rounding(self, statement: Statement) -> None:
        for where, expr in statement.expressions():
            for item in statement.expand(expr).atoms(sp.floor, sp.ceiling):
                if item.has(Power, sp.exp):
                    self.refuse(
                        where, f"{str(item)[:40]} rounds exp or a power with names in the exponent: too many digits"
                    )

    def _check_use(self, derived: Collection[str]) -> None:
        for name, symbol in self.names.items():
            if symbol not in self.used:
                self.refuse("", f"the {'derived constant' if name in derived else 'symbol'} {name} is never used")
        for name in self.quantities:
            if name not in self.table("symbols").values():
                self.refuse(f"quantities, {name}", "no symbol stands for it")

    def _check_dimensions(self, theorem: Theorem) -> None:
        for slip in theorem.inhomogeneities(theorem.statement(), theorem.unit_choices):
            hint = "" if theorem.unit_choices else "; a unit that the statement sets to 1 is listed under `units`"
            self.refuse(slip.where, f"wanted dimension {slip.wanted}, got {slip.found}{hint}")


def declared_methods() -> Mapping[str, Any]:
    """What the package's methods say of themselves; reads the source of every method, once."""
    from ...algorithms.declared import declared

    return declared()


def _of_terms(statement: Statement, notation: Notation) -> Dimension:
    """The dimension of the first term, with which the others are then compared."""
    known = {binding.symbol: binding.quantity.dimension for binding in notation}
    try:
        for constant in statement.derived:
            known[constant.symbol] = dimension_of(sp.sympify(constant.expr), known)
        return dimension_of(sp.sympify(statement.terms[0].expr), known)
    except InhomogeneousError:
        return Dimension()


def _bounded(binding: Binding) -> tuple[str, ...]:
    return (binding.name,) if binding.quantity.bounds else ()


def _plainly(value: Any) -> str:
    """An attribute of a quantity as a file says it."""
    if isinstance(value, tuple):
        return "; ".join(form.written for form in value) or "nothing"
    return value.written if isinstance(value, Dimension) else str(value)


def _shown(value: Any) -> str:
    return f"{str(value)[:40]!r}"
