"""`fedco explore`: writes the page. Data are JSON in which no tag can begin; formulas are MathML made by a printer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ... import __version__
from ...bounds.audit.status import OUTCOMES
from ...bounds.files import is_file
from ...bounds.language.client_lists import MAX_CLIENTS, with_clients_alike
from ...bounds.language.quantities import MAX_STEPS
from ...bounds.language.reading import InputError
from ...bounds.language.rendering import condition_math, describe_statement
from ...bounds.language.theorem import Statement, Theorem
from ...bounds.language.typesetting import mathml
from ...bounds.registry import all_papers, get_theorems
from ...storage import write_text
from ..runs.validate import read_measured
from .data import theorem_data
from .javascript import Library, statement_source

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("numbers.js", "model.js", "search.js", "charts.js", "app.js")


@dataclass(frozen=True)
class Explorer:
    """Where the page lies, how large it is, and what is on it."""

    page: Path
    size: int
    theorems: tuple[str, ...]
    statements: int

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "page": str(self.page), "theorems": list(self.theorems)}

    def __str__(self) -> str:
        return f"{self.page}: {len(self.theorems)} theorems, {self.statements} statements, {self.size / 1e6:.2f} MB"


def write_explorer(
    out: Path, names: Sequence[str] = (), *, measured: Path | None = None, say: Any = lambda message: None
) -> Explorer:
    """Write the explorer as one HTML file.

    Args:
        out: the file.
        names: ids, paper keys or files; the headline theorems of all papers without any.
        measured: folder of a `fedco validate` run, or of several, whose means are drawn on their presets.
        say: told of each theorem before it is prepared.

    Raises:
        InputError: no such theorem, or one whose formulas cannot be translated.
        OSError: `out` cannot be written.
    """
    chosen = chosen_theorems(names)
    rows = read_measured(measured) if measured else []
    library = Library()
    made: list[dict[str, Any]] = []
    sources: list[str] = []
    formulas: list[tuple[str, str]] = []
    for number, (theorem, reference) in enumerate(chosen):
        say(theorem.id)
        data = {**theorem_data(theorem, reference, rows), "number": number}
        for entry, label in zip(data["statements"], theorem.labels, strict=True):
            entry["key"] = len(sources)
            sources.append(statement_source(theorem.statement(label), library))
            formulas += _statement_formulas(entry["key"], theorem.statement(label))
        formulas.append((f"b-{number}", mathml(theorem.metric.latex)))
        formulas += [
            (f"m-{number}-{at}", mathml(theorem.notation[s["name"]].latex)) for at, s in enumerate(data["symbols"])
        ]
        made.append(data)
    page = _render(made, library, sources, formulas)
    write_text(out, page)
    return Explorer(out, len(page.encode()), tuple(theorem.id for theorem, _ in chosen), len(sources))


def chosen_theorems(names: Sequence[str]) -> list[tuple[Theorem, str]]:
    """Each theorem once, with what the command line calls it; where each client has numbers of its own, with equal ones."""
    if not names:
        return [(theorem, theorem.id) for paper in all_papers() for theorem in paper.main_theorems]
    found: dict[int, tuple[Theorem, str]] = {}
    for name in names:
        for theorem in get_theorems(name):
            found.setdefault(id(theorem), (with_clients_alike(theorem), name if is_file(name) else theorem.id))
    if clash := _repeated(theorem.id for theorem, _ in found.values()):
        raise InputError(f"{clash}: two theorems have this id; wanted different ones")
    return list(found.values())


def _repeated(ids: Iterable[str]) -> str:
    seen: set[str] = set()
    return next((name for name in ids if name in seen or seen.add(name)), "")  # type: ignore[func-returns-value]


def _statement_formulas(key: int, statement: Statement) -> list[tuple[str, str]]:
    """Id -> MathML of each term, requirement and derived constant."""
    said = describe_statement(statement)
    parts = {
        "t": [formula.latex for formula in said["terms"].values()],
        "c": [condition_math(statement, condition.name).latex for condition in statement.requirements],
        "d": [f"{name.latex} = {formula.latex}" for name, formula in said["derived"].items()],
    }
    return [(f"{kind}-{key}-{at}", mathml(latex)) for kind, all_of in parts.items() for at, latex in enumerate(all_of)]


def _render(
    theorems: Sequence[Mapping[str, Any]],
    library: Library,
    sources: Sequence[str],
    formulas: Sequence[tuple[str, str]],
) -> str:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    from markupsafe import Markup

    generated = "\n".join(
        [
            'const DATA = JSON.parse(document.getElementById("data").textContent);',
            f"const MOST_STEPS = {MAX_STEPS}, MAX_CLIENTS = {MAX_CLIENTS};",
            library.text(),
            "const FORMULAS = [",
            ",\n".join(sources),
            "];",
        ]
    )
    return environment.get_template("explorer.html").render(
        style=Markup(_read("explorer.css")),
        script=Markup("\n".join(map(_read, SCRIPTS))),
        generated=Markup(generated),
        data=Markup(as_json({"theorems": theorems, "outcomes": OUTCOMES})),
        formulas=Markup("\n".join(f'<template id="{name}">{formula}</template>' for name, formula in formulas)),
        made=f"Written by fedco {__version__}. Formulas are generated from the declarations of the theorems; values are double precision.",
    )


def as_json(value: Any) -> str:
    """JSON that may stand inside a script element: no tag, comment or line separator can begin in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
