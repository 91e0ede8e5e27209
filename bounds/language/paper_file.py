"""A paper from data: `paper.toml` has its symbols, metrics, assumptions and theorems; a statement is written as in `definition`.

[paper]                       key, title; headlines (theorems that `compare` sets side by side), runs (a module); shares (the folder
                              beside this one of another paper, whose tables from here to [defaults] stand in this file too)
[quantities]                  what only this paper has, as in a definition; role = "observable" as well
[symbols]                     name = quantity, or [quantity, LaTeX], or [quantity, LaTeX, how the paper uses the letter]
[metrics.NAME]                name, latex, dimension in powers of f, y and x; meaning, at, bounds (as in a definition's quantities)
[assumptions.NAME]            text; bounds (symbols, or [symbol, function]), says; name, where NAME stands for another;
                              only: the statement that it is assumed for
[derived]                     constants; a statement has those that its formulas use, and those of which it says NAME = "NAME".
                              A formula may have the keys latex, meaning and bounds; or { by = "FILE.py:FUNCTION", of = [names] }
                              stands for it: that function of the symbols (as attributes) and of those symbols or constants
[conditions]                  conditions; a statement has those of which it says ITS_NAME = "NAME"
[defaults]                    what a theorem has that does not say otherwise
[theorems.NAME]               title, source, metric (a name, or its table), assumptions, also_assumes (names); kind, equation,
                              problem, assume, units (quantities or dimensions), costs, method, …
    like, put_in              another theorem, of which only what differs is said here; what stands in its formulas for the constants named
    absent                    symbols in `costs` that a statement may lack = what they count as there
    multiples                 NAME = "T is a multiple of tau", or NAME = "r*n is a whole number"
    compared_where            conditions where the audit compares printed with composed
    symbols                   its own symbols in the place of those of the paper
    probability               { failure }: the symbol for the probability with which the bound may fail along a run
    unreached                 NAME = why no larger part of this term, or no smaller condition, is known to be necessary
    follows_from              the theorem of a corollary, which is that at its printed schedule; or { theorem, at = formulas }
[theorems.NAME.printed]       a statement: terms, conditions, derived, schedule, note, assume; likewise `composed` and `corrected`.
                              An entry of schedule may name the condition that it is kept to: { formula, condition, note }.
                              Or the code that makes it: "FILE.py:FUNCTION", or { by = "FILE.py:FUNCTION", of = [theorems] }
[[claims]]                    statement_of, general (theorems), where, RESOURCE = [exponent of 1/eps, exponent of the clients]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sympy as sp

from ...user_files import CodeName, is_python_file
from . import fields
from .bounding import POINTS
from .definition import Definition
from .dimension import Dimension
from .metrics import METRICS
from .notation import Notation, derived_symbol, latex_of
from .quantities import QUANTITIES, Quantity
from .quantity import ROLES
from .reading import read_toml
from .theorem import (
    AVERAGES,
    KINDS,
    LABELS,
    RELATIONS,
    RESOURCES,
    Assumption,
    Condition,
    Costs,
    DeclarationError,
    Derived,
    MethodCall,
    Metric,
    Source,
    Statement,
    Theorem,
    multiple_of,
    whole_number,
)

FILE = "paper.toml"
_WHOLE = re.compile(r"(?P<whole>.+) is (?:a multiple of (?P<part>.+)|a whole number)")


class PaperFile(Definition):
    """A `paper.toml`, read when something of it is asked for.

    Args:
        file: where it is.
        package: the package in whose folder it is, which has the code that it names; without one, that is in files beside it.

    Raises:
        InputError: the file cannot be read, or does not declare a paper; one line that says where.
    """

    roles = ROLES

    def __init__(self, file: Path, package: str = "") -> None:
        self.where, self.keys, self.trusts = str(file), read_toml(file), True
        self.folder, self.package = file.parent, package
        said = self.checked("paper", self.checked("", self.keys, fields.FILE)["paper"], fields.PAPER)
        self.key, self.title, self.runs = (str(said.get(name, "")) for name in ("key", "title", "runs"))
        self.headlines = tuple(said.get("headlines", ()))
        self.other = self._beside(said["shares"]) if "shares" in said else None
        if self.other:
            self.keys |= {name: {**self.other.table(name), **self.table(name)} for name in fields.SHARED}
        if not self.table("symbols"):
            self.refuse("", "symbols is missing")

    def _beside(self, name: Any) -> PaperFile:
        if not isinstance(name, str) or not name.isidentifier() or name == self.folder.name:
            self.refuse("paper, shares", f"wanted the name of another folder beside this one, got {str(name)[:40]!r}")
        return paper_file(self.folder.parent / name / FILE, ".".join([*self.package.split(".")[:-1], name]))

    # --- what its statements are written in --------------------------------------------------------------------------

    @cached_property
    def quantities(self) -> Mapping[str, Quantity]:  # type: ignore[override]
        """What only this paper has."""
        return {name: self._quantity(name, entry) for name, entry in self.table("quantities").items()}

    @cached_property
    def notation(self) -> Notation:  # type: ignore[override]
        """The symbols of the paper."""
        return self.notation_of("symbols", self.table("symbols"))

    def notation_of(self, place: str, table: Mapping[str, Any]) -> Notation:
        """A table of symbols."""
        rows, known = [], {**QUANTITIES, **self.quantities}
        for name, value in table.items():
            quantity, *more = value if isinstance(value, list) else [value, latex_of(name)]
            if not 1 <= len(more) <= 2 or not all(isinstance(text, str) for text in more):
                self.refuse(f"{place}, {name}", "wanted a quantity, or [quantity, LaTeX, use]")
            self.known(f"{place}, {name}", "a quantity", quantity, known)
            rows.append((self.name(place, name), more[0], quantity, *more[1:]))
        return Notation(self.key, tuple(rows), tuple(self.quantities.values()))

    @cached_property
    def s(self) -> SimpleNamespace:
        """The symbols of the paper as attributes, for code that composes its statements."""
        return self.notation.namespace()

    @cached_property
    def names(self) -> dict[str, sp.Expr]:  # type: ignore[override]
        """What every formula of the paper may use: its symbols and its constants."""
        constants = {self.name("derived", name): derived_symbol(name) for name in self.table("derived")}
        return constants | self.notation.symbols

    @cached_property
    def derived(self) -> Mapping[str, Derived]:
        """The constants of the paper."""
        part, rows = _Part(self, "", {}), self.table("derived")
        return _WhenAsked({name: partial(part._constant, name, value) for name, value in rows.items()})

    def behind(self, used: Collection[sp.Symbol]) -> set[str]:
        """The constants of the paper among these symbols, and those in their formulas."""
        found = {str(symbol) for symbol in used if symbol in self.names.values() and str(symbol) in self.derived}
        return found.union(*(self.behind(sp.sympify(self.derived[name].expr).free_symbols) for name in found))

    @cached_property
    def conditions(self) -> Mapping[str, Condition]:
        """The conditions that the paper has a name for."""
        part, rows = _Part(self, "", {}), self.table("conditions")
        return _WhenAsked({name: partial(Definition._condition, part, name, value) for name, value in rows.items()})

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that the paper has a name for, and those that every definition has a word for."""
        return {
            **METRICS,
            **{name: self._metric(f"metrics.{name}", row) for name, row in self.table("metrics").items()},
        }

    def _metric(self, place: str, row: Any) -> Metric:
        given = dict(self.checked(place, row, fields.PAPERS_METRIC))
        if given.get("at"):
            self.known(place, "a place", given["at"], POINTS)
        bounds = self._forms(f"{place}, bounds", given.get("bounds", ()))
        return Metric(
            **{**given, "dimension": self.dimension(f"{place}, dimension", given["dimension"]), "bounds": bounds}
        )

    @cached_property
    def _listed(self) -> dict[str, Assumption]:
        return {key: self._assumption(key, row) for key, row in self.table("assumptions").items()}

    def _assumption(self, key: str, row: Any) -> Assumption:
        place = f"assumptions.{key}"
        given = self.checked(place, row, fields.PAPERS_ASSUMPTION)
        bounds = tuple(tuple(each) if isinstance(each, list) else each for each in given.get("bounds", ()))
        only = self.known(place, "a statement", given["only"], LABELS) if "only" in given else ""
        return Assumption(given.get("name", key), given["text"], bounds, self.says(place, given), only)

    # --- what it says ------------------------------------------------------------------------------------------------

    @cached_property
    def theorems(self) -> Mapping[str, Theorem]:
        """Its theorems by id, in the order of the file; each is read when it is asked for."""
        self.checked("defaults", self.table("defaults"), fields.THEOREM)
        return _WhenAsked({f"{self.key}.{name}": partial(self._theorem, name) for name in self.table("theorems")})

    def _theorem(self, name: str) -> Theorem:
        place = f"theorems.{name}"
        row = self.checked(place, self.table("theorems")[name], fields.THEOREM)
        if "like" in row:
            other = self.table("theorems")[
                self.known(place, "a theorem of the paper", row["like"], self.table("theorems"))
            ]
            said = {
                label: {**other[label], "put_in": row.get("put_in", {})}
                for label in LABELS
                if "terms" in other.get(label, ())
            }
            row = {**other, **said, **{key: value for key, value in row.items() if key not in ("like", "put_in")}}
        own = self.notation_of(f"{place}, symbols", row["symbols"]) if "symbols" in row else None
        return _OneTheorem(self, name, {**self.table("defaults"), **row}, own).declared()

    @property
    def claims(self) -> tuple[Mapping[str, Any], ...]:
        """What the paper says that a target costs: rows for `cost.claims.claims`."""
        rows = self.keys.get("claims", [])
        for row in rows:
            for name, order in self.checked("claims", row, fields.CLAIM).items():
                if name in RESOURCES and not (isinstance(order, list) and len(order) == 2):
                    self.refuse(f"claims, {name}", "wanted [exponent of 1/eps, exponent of the clients]")
        return tuple(rows)

    def metric(self, place: str, given: Any) -> Metric:
        if isinstance(given, Mapping):
            return self._metric(f"{place}.metric", given)
        return self.metrics[self.known(place, "a metric", given, self.metrics)]

    def assumptions(self, place: str, names: Collection[Any], of: Notation) -> tuple[Assumption, ...]:
        """Assumptions by name; one that bounds by symbols that `of` lacks is words only there."""
        found = (self._listed[self.known(place, "an assumption of the paper", name, self._listed)] for name in names)
        return tuple(found) if of is self.notation else tuple(replace(each, bounds=()) for each in found)

    def find(self, place: str, name: Any) -> Theorem:
        """A theorem by its name in this file, or by the id that it has in the paper whose tables this file shares."""
        others = self.other.theorems if self.other else {}
        if name in others:
            return others[name]
        return self.theorems[f"{self.key}.{self.known(place, 'a theorem of the paper', name, self.table('theorems'))}"]

    def statement(self, place: str, label: str, keys: Any, of: Notation) -> Statement | Callable[[], Statement]:
        """One statement, in the symbols of its theorem, or what makes it."""
        if isinstance(keys, str):
            return partial(self._made, place, keys, ())
        if isinstance(keys, Mapping) and "by" in keys:
            given = self.checked(place, keys, fields.CODE)
            return partial(self._made, place, given["by"], given.get("of", ()))
        return _OneStatement(self, place, self.checked(place, keys, fields.STATEMENT), of).read(label)

    def _made(self, place: str, by: Any, of: Collection[Any]) -> Statement:
        made: Statement = self.code(place, by)(*(self.find(place, each) for each in of))
        return made

    def code(self, place: str, by: Any) -> Callable[..., Any]:
        """A function that the file names: of the package, or of a file beside it."""
        if not is_python_file(by) or ":" not in by:
            self.refuse(place, f"wanted FILE.py:NAME, got {str(by)[:40]!r}")
        if not self.package:
            loaded: Callable[..., Any] = CodeName(by, self.folder).load()
            return loaded
        file, _, name = by.partition(":")
        found = getattr(import_module(f"{self.package}.{Path(file).stem}"), name, None)
        if not callable(found):
            self.refuse(place, f"{name} is no function of {file}")
        function: Callable[..., Any] = found
        return function


@cache
def paper_file(file: Path, package: str = "") -> PaperFile:
    """The `PaperFile` of a place, read once."""
    return PaperFile(file, package)


class _WhenAsked(Mapping[str, Any]):
    """Theorems, constants or conditions that are made when they are first asked for, each once."""

    def __init__(self, builders: Mapping[str, Callable[[], Any]]) -> None:
        self._builders = {name: cache(build) for name, build in builders.items()}

    def __getitem__(self, name: str) -> Any:
        return self._builders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)

    def __contains__(self, name: object) -> bool:
        return name in self._builders


class _Part(Definition):
    """A table of a paper's file, whose formulas are in the symbols and constants of the paper, or in a theorem's own symbols."""

    def __init__(self, paper: PaperFile, place: str, keys: Mapping[str, Any], of: Notation | None = None) -> None:
        self.where = f"{paper.where}: {place}" if place else paper.where
        self.paper, self.keys, self.trusts, self.notation = paper, keys, True, of or paper.notation
        self.names = dict(paper.names if self.notation is paper.notation else self.notation.symbols)
        self.used, self.quantities = set(), {}

    def _constant(self, name: str, value: Any) -> Derived:
        """A constant that is a formula, or that code makes."""
        place = f"derived, {name}"
        if not isinstance(value, Mapping) or not {"by", "bounds"} & value.keys():
            return super()._constant(name, value)
        bounds = self._forms(f"{place}, bounds", value.get("bounds", ()))
        if "by" not in value:
            plain = {key: each for key, each in value.items() if key != "bounds"}
            return replace(super()._constant(name, plain), bounds=bounds)
        given = self.checked(place, value, fields.MADE)
        of = [self.names[self.known(place, "a symbol or constant", each, self.names)] for each in given.get("of", ())]
        made = sp.sympify(self.paper.code(place, given["by"])(self.paper.s, *of))
        self.used |= made.free_symbols
        return Derived(name, made, given.get("latex", latex_of(name)), given.get("meaning", ""), bounds)

    def _condition(self, name: str, value: Any) -> Condition:
        """A condition that is written here, or one of the paper that is named."""
        if not isinstance(value, str) or any(relation in value for relation in RELATIONS):
            return super()._condition(name, value)
        what = "a relation, nor a condition of the paper"
        found = self.paper.conditions[self.known(f"condition {name}", what, value, self.paper.conditions)]
        self.used |= found.left.free_symbols | found.right.free_symbols
        return replace(found, name=self.name("conditions", name))


class _OneStatement(_Part):
    def __init__(self, paper: PaperFile, place: str, keys: Mapping[str, Any], of: Notation) -> None:
        super().__init__(paper, place, keys, of)
        constants, schedule = self.table("derived"), {}
        own = {name: value for name, value in constants.items() if value != name}
        for name in constants.keys() - own.keys():
            self.used.add(self.names[self.known("derived", "a constant of the paper", name, self._constants)])
        for name in own.keys() & {*self._constants}:
            del self.names[name]
        for name, value in self.table("put_in").items():
            self.names[self.known("put_in", "a constant of the paper", name, self._constants)] = self.formula(
                f"put_in, {name}", value
            )
        self.kept_to: dict[str, tuple[str, str]] = {}
        for name, value in self.table("schedule").items():
            schedule[name], more = self.said(f"schedule, {name}", value, "condition", "note")
            if "condition" in more:
                self.kept_to[name] = more["condition"], more.get("note", "")
        self.keys = {**keys, "derived": own, "schedule": schedule}

    @property
    def _constants(self) -> Collection[str]:
        """The names of the constants of the paper, where its symbols are this statement's too."""
        return tuple(self.paper.derived) if self.notation is self.paper.notation else ()

    def read(self, label: str) -> Statement:
        """The statement, with the constants of the paper that it uses before its own."""
        own = self._derived()
        terms, schedule = self._terms(), self._schedule()
        kept = (Condition(c, self.names[name], "==", schedule[name], note) for name, (c, note) in self.kept_to.items())
        conditions = (*kept, *self._conditions())
        behind = self.paper.behind(self.used) - {constant.name for constant in own}
        derived = (*(self.paper.derived[name] for name in self.paper.derived if name in behind), *own)
        note, assume = self.keys.get("note", ""), self._properties()
        return Statement(label, terms, conditions, derived, schedule, note, assume)


class _OneTheorem(_Part):
    def __init__(self, paper: PaperFile, name: str, keys: Mapping[str, Any], of: Notation | None) -> None:
        super().__init__(paper, f"theorems.{name}", keys, of)
        self.ending = name
        self.checked("unreached", self.table("unreached"), fields.texts(self.table("unreached")))

    def declared(self) -> Theorem:
        """The theorem, with all its statements read that are data."""
        keys, key, place = self.keys, self.notation.paper, f"theorems.{self.ending}"
        statements = {n: self.paper.statement(f"{place}.{n}", n, keys[n], self.notation) for n in LABELS if n in keys}
        try:
            return Theorem(
                f"{key}.{self.ending}",
                self.known("kind", "a kind of statement", keys.get("kind", "theorem"), KINDS),
                keys.get("title", self.ending),
                Source(key, keys.get("source", self.ending), keys.get("equation", "")),
                self.notation,
                self._with_probability(self._with_weights(self.paper.metric(place, keys.get("metric")))),
                statements,
                self.paper.assumptions(
                    place, (*keys.get("assumptions", ()), *keys.get("also_assumes", ())), self.notation
                ),
                self._units(),
                follows_from=self._parent(statements.get("printed")),
                compared_where=self._with("conditions", self.table("compared_where"))._conditions(),
                not_composed=keys.get("not_composed", ""),
                note=keys.get("note", ""),
                problem=keys.get("problem", ""),
                assume=self._properties(),
                costs=self._counted(),
                method=self._called(),
                average=self.known("average", "an average", keys.get("average", "before"), AVERAGES),
                multiples=tuple(self._multiple(name, text) for name, text in self.table("multiples").items()),
                unreached=self.table("unreached"),
            )
        except DeclarationError as error:
            self.refuse("", str(error))

    def _with(self, key: str, table: Mapping[str, Any]) -> _Part:
        return _Part(self.paper, f"theorems.{self.ending}", {key: table}, self.notation)

    def _units(self) -> tuple[Dimension, ...]:
        """Quantities whose unit is set to 1, or dimensions."""
        known = {**QUANTITIES, **self.paper.quantities}
        return tuple(
            known[unit].dimension if unit in known else self.dimension("units", unit, ", or a quantity")
            for unit in self.keys.get("units", ())
        )

    def _parent(self, printed: Any) -> tuple[Theorem, Mapping[str, sp.Expr]] | None:
        """The theorem of a corollary, and what is put into it."""
        given = self.keys.get("follows_from")
        if given is None:
            return None
        given = (
            {"theorem": given} if isinstance(given, str) else self.checked("follows_from", given, fields.FOLLOWS_FROM)
        )
        place, at = f"theorems.{self.ending}: follows_from", given.get("at")
        if at is None and not isinstance(printed, Statement):
            self.refuse("follows_from", "wanted { theorem, at }, as there is no printed statement with a schedule")
        put_in = printed.schedule if at is None else {n: self.formula("follows_from", v) for n, v in at.items()}
        return self.paper.find(place, given.get("theorem")), put_in

    def _counted(self) -> Costs | Callable[[SimpleNamespace], Costs]:
        """What a run costs; where a statement lacks a symbol of `absent`, that counts as what stands there."""
        costs = self._costs()
        absent = {name: self.formula(f"absent, {name}", value) for name, value in self.table("absent").items()}
        if not absent:
            return costs

        def counted(s: SimpleNamespace) -> Costs:
            lacks = {self.notation[name].symbol: value for name, value in absent.items() if name not in s.present}
            return {name: cost.xreplace(lacks) for name, cost in costs.items()}

        return counted

    def _multiple(self, name: str, value: Any) -> Condition:
        text, more = self.said(f"multiples, {name}", value, "note")
        match = _WHOLE.fullmatch(str(text))
        if match is None:
            wanted = "NAME is a multiple of NAME, or FORMULA is a whole number"
            self.refuse(f"multiples, {name}", f"wanted {wanted}, got {str(text)[:40]!r}")
        whole, part = (
            self.formula(f"multiples, {name}", each) if each else None for each in match.group("whole", "part")
        )
        return whole_number(name, whole, **more) if part is None else multiple_of(name, whole, part, **more)

    def _called(self) -> MethodCall | None:
        """The method as it is written: unlike a definition, nothing is filled in, so that no method's source is read."""
        given = dict(self.table("method"))
        if not given:
            return None
        name, options = given.pop("name", None), given.pop("options", {})
        if not isinstance(name, str):
            self.refuse("method", "name is missing")
        values = {self.name("method", key): self._hyperparameter(key, value) for key, value in given.items()}
        return MethodCall(name, values, options=options)
