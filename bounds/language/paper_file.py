"""A paper from data: `paper.toml` has its symbols, metrics, assumptions and theorems; a statement is written as in `definition`.

[paper]                       key, title; headlines (theorems that `compare` sets side by side), runs (a module)
[symbols]                     name = quantity, or [quantity, LaTeX], or [quantity, LaTeX, how the paper uses the letter]
[metrics.NAME]                name, latex, dimension in powers of f, y and x; meaning, at
[assumptions.NAME]            text; bounds (symbols, or [symbol, function]), says; name, where NAME stands for another
[defaults]                    what a theorem has that does not say otherwise
[theorems.NAME]               title, source, metric, assumptions (names); kind, equation, problem, assume, costs, method, …
[theorems.NAME.printed]       a statement: terms, conditions, derived, schedule, note, assume; `corrected` likewise
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from .bounding import POINTS, SAYINGS
from .definition import Definition
from .dimension import INNER, OBJECTIVE, VARIABLE, Dimension
from .formula import FormulaError, read_formula
from .homogeneity import InhomogeneousError, dimension_of
from .notation import Notation, derived_symbol, latex_of
from .quantities import QUANTITIES
from .theorem import (
    AVERAGES,
    KINDS,
    Assumption,
    DeclarationError,
    MethodCall,
    Metric,
    Source,
    Statement,
    Theorem,
)
from .toml_file import read_toml

FILE = "paper.toml"
_LABELS = ("printed", "corrected")
_TEXTS = ("kind", "title", "source", "equation", "metric", "problem", "average", "not_composed", "note")
_UNITS = {derived_symbol("f"): OBJECTIVE, derived_symbol("y"): INNER, derived_symbol("x"): VARIABLE}
_KEYS: Mapping[str, tuple[str, ...]] = {
    "": ("paper", "symbols", "metrics", "assumptions", "defaults", "theorems"),
    "paper": ("key", "title", "headlines", "runs"),
    "metrics": ("name", "latex", "dimension", "meaning", "at"),
    "assumptions": ("name", "text", "bounds", "says"),
    "theorems": (*_TEXTS, "assumptions", "assume", "units", "costs", "method", *_LABELS),
    "statement": ("terms", "conditions", "derived", "schedule", "note", "assume"),
}


class PaperFile(Definition):
    """A `paper.toml`, read when something of it is asked for.

    Args:
        file: where it is.

    Raises:
        InputError: the file cannot be read, or does not declare a paper; one line that says where.
    """

    def __init__(self, file: Path) -> None:
        self.where, self.keys, self.trusts = str(file), read_toml(file), True
        self._only("", self.keys, "paper", "symbols", "theorems")
        said = self._only("paper", self.keys["paper"], "key", "title")
        self.key, self.title, self.runs = (str(said.get(name, "")) for name in ("key", "title", "runs"))
        self.headlines = tuple(said.get("headlines", ()))

    def _only(self, what: str, given: Any, *needed: str, place: str = "") -> Mapping[str, Any]:
        """A table that has no other keys than those of its sort, and the needed ones."""
        place = place or what
        if not isinstance(given, Mapping):
            self.refuse(place, f"wanted a table, got {str(given)[:40]!r}")
        for key in given:
            self.known(place, "a key here", key, _KEYS[what])
        for key in needed:
            if key not in given:
                self.refuse(place, f"{key} is missing")
        return given

    @cached_property
    def notation(self) -> Notation:  # type: ignore[override]
        """The symbols of the paper."""
        rows = []
        for name, value in self.table("symbols").items():
            quantity, *more = value if isinstance(value, list) else [value, latex_of(name)]
            if not 1 <= len(more) <= 2 or not all(isinstance(text, str) for text in more):
                self.refuse(f"symbols, {name}", "wanted a quantity, or [quantity, LaTeX, use]")
            self.known(f"symbols, {name}", "a quantity", quantity, QUANTITIES)
            rows.append((self.name("symbols", name), more[0], quantity, *more[1:]))
        return Notation(self.key, tuple(rows))

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {name: self._metric(name, row) for name, row in self.table("metrics").items()}

    def _metric(self, name: str, row: Any) -> Metric:
        place = f"metrics.{name}"
        given = dict(self._only("metrics", row, "name", "latex", "dimension", place=place))
        if given.get("at"):
            self.known(place, "a place", given["at"], POINTS)
        return Metric(**{**given, "dimension": self._dimension(place, given["dimension"])})

    def _dimension(self, place: str, text: Any) -> Dimension:
        try:
            found = read_formula(self._text(place, text), {str(unit): unit for unit in _UNITS})
            return dimension_of(found, _UNITS)
        except (FormulaError, InhomogeneousError) as error:
            self.refuse(f"{place}, dimension", str(error))

    @cached_property
    def _listed(self) -> dict[str, Assumption]:
        return {key: self._assumption(key, row) for key, row in self.table("assumptions").items()}

    def _assumption(self, key: str, row: Any) -> Assumption:
        place = f"assumptions.{key}"
        given = self._only("assumptions", row, "text", place=place)
        bounds = tuple(tuple(each) if isinstance(each, list) else each for each in given.get("bounds", ()))
        says = tuple(self.known(place, "a saying", each, SAYINGS) for each in given.get("says", ()))
        return Assumption(given.get("name", key), given["text"], bounds, says)

    @cached_property
    def theorems(self) -> Mapping[str, Theorem]:
        """Its theorems by id, in the order of the file; each is read when it is asked for."""
        self._only("theorems", self.table("defaults"), place="defaults")
        return _WhenAsked({f"{self.key}.{name}": partial(self._theorem, name) for name in self.table("theorems")})

    def _theorem(self, name: str) -> Theorem:
        row = self._only("theorems", self.table("theorems")[name], place=f"theorems.{name}")
        return _OneTheorem(self, name, {**self.table("defaults"), **row}).declared()

    def metric(self, place: str, name: Any) -> Metric:
        return self._metrics[self.known(place, "a metric of the paper", name, self._metrics)]

    def assumptions(self, place: str, names: Collection[Any]) -> tuple[Assumption, ...]:
        return tuple(
            self._listed[self.known(place, "an assumption of the paper", name, self._listed)] for name in names
        )

    def statement(self, place: str, label: str, keys: Any) -> Statement:
        """One statement, in the symbols of the paper."""
        given = self._only("statement", keys, place=place)
        return _OneStatement(f"{self.where}: {place}", given, self.notation).read(label)


class _WhenAsked(Mapping[str, Theorem]):
    """Theorems that are made when they are first asked for, each once."""

    def __init__(self, builders: Mapping[str, Callable[[], Theorem]]) -> None:
        self._builders = {name: cache(build) for name, build in builders.items()}

    def __getitem__(self, name: str) -> Theorem:
        return self._builders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


class _Part(Definition):
    """A table of a paper's file, whose formulas are in the symbols of the paper."""

    def __init__(self, where: str, keys: Mapping[str, Any], notation: Notation) -> None:
        self.where, self.keys, self.trusts, self.notation = where, keys, True, notation
        self.names = {binding.name: binding.symbol for binding in notation}
        self.used, self.quantities = set(), {}


class _OneStatement(_Part):
    def read(self, label: str) -> Statement:
        derived = self._derived()
        schedule = self._schedule()
        note, assume = self.keys.get("note", ""), self._properties()
        return Statement(label, self._terms(), self._conditions(), derived, schedule, note, assume)


class _OneTheorem(_Part):
    def __init__(self, paper: PaperFile, name: str, keys: Mapping[str, Any]) -> None:
        super().__init__(f"{paper.where}: theorems.{name}", keys, paper.notation)
        self.paper, self.ending = paper, name
        for key in _TEXTS:
            if not isinstance(keys.get(key, ""), str):
                self.refuse(key, f"wanted a text, got {str(keys[key])[:40]!r}")

    def declared(self) -> Theorem:
        """The theorem, with all its statements read."""
        keys, key, place = self.keys, self.notation.paper, f"theorems.{self.ending}"
        statements = {n: self.paper.statement(f"{place}.{n}", n, keys[n]) for n in _LABELS if n in keys}
        try:
            return Theorem(
                f"{key}.{self.ending}",
                self.known("kind", "a kind of statement", keys.get("kind", "theorem"), KINDS),
                keys.get("title", self.ending),
                Source(key, keys.get("source", self.ending), keys.get("equation", "")),
                self.notation,
                self.paper.metric(place, keys.get("metric")),
                statements,
                self.paper.assumptions(place, keys.get("assumptions", ())),
                self._units(),
                not_composed=keys.get("not_composed", ""),
                note=keys.get("note", ""),
                problem=keys.get("problem", ""),
                assume=self._properties(),
                costs=self._costs(),
                method=self._called(),
                average=self.known("average", "an average", keys.get("average", "before"), AVERAGES),
            )
        except DeclarationError as error:
            self.refuse("", str(error))

    def _called(self) -> MethodCall | None:
        """The method as it is written: unlike a definition, nothing is filled in, so that no method's source is read."""
        given = dict(self.table("method"))
        if not given:
            return None
        name, options = given.pop("name", None), given.pop("options", {})
        if not isinstance(name, str):
            self.refuse("method", "name is missing")
        values = {self.name("method", key): self.formula(f"method, {key}", value) for key, value in given.items()}
        return MethodCall(name, values, options=options)
