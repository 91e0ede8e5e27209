"""What a theorem says, described once, and the description as text, sheets and LaTeX; all of it from the declaration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from .client_lists import about_alike
from .notation import latex_of as latex_of_name
from .properties import PROPERTIES
from .result import Cell, Math, Sheet, Table, to_html, to_markdown
from .result import to_latex as sheet_latex
from .theorem import Condition, Statement, Theorem
from .typesetting import latex, letters_of

_POWER = re.compile(r"\^(-?[0-9/]+)")
_LATEX_RELATIONS = {"<": "<", "<=": r"\le", ">=": r"\ge", ">": ">", "==": "="}


class OfStatement:
    """What is said of one statement, `about`."""

    if TYPE_CHECKING:

        @property
        def about(self) -> Statement: ...

    @property
    def theorem(self) -> str:
        """The id of its theorem."""
        return self.about.theorem.id

    @property
    def statement(self) -> str:
        """Its label."""
        return self.about.label

    @property
    def metric(self) -> str:
        """What the terms of its theorem bound."""
        return self.about.theorem.metric.name


def latex_of(statement: Statement, expr: sp.Expr) -> str:
    """LaTeX in the paper's own letters, written as a mathematician does; derived constants stay names."""
    return latex(expr, letters_of(statement))


def letter(statement: Statement, name: str) -> Math:
    """A symbol or a derived constant of a statement, as it is written."""
    known = {binding.name: binding.latex for binding in statement.theorem.notation}
    known |= {constant.name: constant.latex for constant in statement.derived}
    return Math(name, known.get(name) or latex_of_name(name))


def condition_math(statement: Statement, name: str) -> Math:
    """A condition of a statement by name."""
    condition = statement.condition(name)
    return Math(str(condition), lambda: condition_latex(statement, condition))


def symbol_table(statement: Statement, name: str, values: Mapping[str, Cell], role: str = "") -> Table:
    """Symbols of a statement with their meaning and value; only those of one role where one is given."""
    bindings = {binding.name: binding for binding in statement.theorem.notation}
    chosen = {n: v for n, v in values.items() if not role or bindings[n].quantity.role == role}
    rows = tuple((letter(statement, n), bindings[n].meaning, value) for n, value in chosen.items())
    return Table(name, ("symbol", "meaning", "value"), rows)


def notes_about(statement: Statement) -> tuple[str, ...]:
    """What has to be said beside a number of this statement."""
    from ..audit import status

    said = (status.known_of(statement).warning, about_alike(statement.theorem))
    return tuple(text for text in said if text)


def lines_about(statement: Statement | None) -> tuple[str, ...]:
    """The same as lines of an answer's text."""
    return tuple(f"  {line}" for line in notes_about(statement)) if statement else ()


def titled(statement: Statement) -> str:
    """The name of a statement for the title of a figure, with what makes its numbers unsafe."""
    known = status_of(statement)
    if not known["refuted_by"]:
        return statement.name
    return f"{statement.theorem.id} ({statement.label}, {known['status']}: fedco replay {known['refuted_by'][0]})"


def status_of(statement: Statement) -> dict[str, Any]:
    """The same as data: `status` and `refuted_by`; and `clients`, where it is what a theorem says of equal clients."""
    from ..audit import status

    known = status.known_of(statement)
    alike = about_alike(statement.theorem)
    return {**known.said, **({"clients": alike} if alike else {})}


def describe(theorem: Theorem, labels: Sequence[str] = ()) -> dict[str, Any]:
    """A theorem, of which `fedco show --json` is the JSON and every page and text is made; all statements without labels."""
    metric = theorem.metric
    return {
        "theorem": theorem.id,
        "kind": theorem.kind,
        "title": theorem.title,
        "source": str(theorem.source),
        "metric": Math(metric.name, metric.latex),
        "dimension": str(metric.dimension),
        "assumptions": [
            {"name": item.name, "text": item.text, "formal": list(theorem.formally(item))}
            for item in theorem.assumptions
        ],
        "step_sizes": {n: sp.sstr(f) for n, f in theorem.method.schedules.items()} if theorem.method else {},
        "statements": {label: describe_statement(theorem.statement(label)) for label in labels or theorem.labels},
    }


def describe_statement(statement: Statement) -> dict[str, Any]:
    """A statement; its formulas, the names of its symbols and those of its derived constants have LaTeX, too."""
    from ..audit.necessary import needed
    from ..audit.status import has_derivation

    def formula(expr: Any) -> Math:
        return Math(sp.sstr(expr), lambda: latex_of(statement, expr))

    return {
        **status_of(statement),
        "derivation": has_derivation(statement),
        "note": statement.note,
        "assumes": {name: PROPERTIES[name] for name in (*statement.theorem.assume, *statement.assume)},
        "symbols": {
            Math(name, binding.latex): {
                "quantity": binding.quantity.name,
                "meaning": binding.meaning,
                "dimension": _unit(binding.quantity.unit),
                "domain": binding.quantity.domain,
                "role": binding.quantity.role,
            }
            for name, binding in statement.symbols.items()
        },
        "derived": {letter(statement, constant.name): formula(constant.expr) for constant in statement.derived},
        "conditions": [
            {"name": c.name, "relation": condition_math(statement, c.name), "note": c.note} for c in statement.stated
        ],
        "schedule": {letter(statement, name): formula(expr) for name, expr in statement.schedule.items()},
        "terms": {term.name: formula(term.expr) for term in statement.terms},
        "necessary": {name: part.to_dict() for name, part in needed(statement).items()},
        "latex": statement_latex(statement),
    }


def statement_sheet(statement: Statement) -> Sheet:
    """A statement: the bound, its terms, conditions, derived constants and symbols."""
    from ..audit.necessary import needed

    theorem, said = statement.theorem, describe_statement(statement)
    terms = tuple((term.name, term.role, said["terms"][term.name]) for term in statement.terms)
    derived = zip(said["derived"].items(), (constant.meaning for constant in statement.derived), strict=True)
    symbols = ((name, row["meaning"], row["dimension"], row["domain"]) for name, row in said["symbols"].items())
    tables = (
        Table("terms", ("term", "role", "value"), terms),
        Table("conditions", ("condition", "relation", "note"), tuple(tuple(c.values()) for c in said["conditions"])),
        Table("derived constants", ("symbol", "value", "meaning"), tuple((*pair, why) for pair, why in derived)),
        Table("symbols", ("symbol", "meaning", "dimension", "domain"), tuple(symbols)),
        Table(
            "necessary parts",
            ("part", "known", "instance"),
            tuple((part.part, str(part), part.bundle) for part in needed(statement).values()),
        ),
    )
    claim = None
    if terms:
        right = " + ".join(value.latex for *_, value in terms)
        claim = Math(f"{theorem.metric.name} <= {statement.total}", rf"{theorem.metric.latex} \le {right}")
    notes = (*notes_about(statement), *((statement.note,) if statement.note else ()), *said["assumes"].values())
    return Sheet(f"{statement.name}: {theorem.title}", claim, tuple(t for t in tables if t.rows), notes)


def theorem_sheet(theorem: Theorem) -> Sheet:
    """What all statements of a theorem share: what it bounds, and its assumptions."""
    said = describe(theorem, [theorem.default])
    assumed = tuple((item["name"], item["text"]) for item in said["assumptions"])
    meaning = f" ({theorem.metric.meaning})" if theorem.metric.meaning else ""
    notes: tuple[str, ...] = (f"It bounds {said['metric']}, of dimension {said['dimension']}{meaning}.",)
    notes += tuple(f"At step t, {name} = {formula}." for name, formula in said["step_sizes"].items())
    tables = (Table("assumptions", ("assumption", "text"), assumed),) if assumed else ()
    return Sheet(f"{theorem.id}: {theorem.title} ({theorem.source})", None, tables, notes)


def sheets_of(theorem: Theorem, labels: Sequence[str] = ()) -> list[Sheet]:
    """A theorem: what is assumed, then its statements; all without labels."""
    return [theorem_sheet(theorem), *(statement_sheet(theorem.statement(x)) for x in labels or theorem.labels)]


def _unit(dimension: str) -> Math:
    return Math(dimension, _POWER.sub(r"^{\1}", dimension).replace(" or ", r"\text{ or }"))


def to_text(theorem: Theorem, labels: Sequence[str] = ()) -> str:
    """A theorem for a terminal; all statements without labels."""
    said = describe(theorem, labels)
    lines = [
        f"{said['theorem']}: {said['title']} ({said['source']})",
        f"bounds {said['metric']}  [{said['dimension']}]",
    ]
    for item in said["assumptions"]:
        lines += [f"  assumption {item['name']}: {item['text']}", *(f"    formally: {text}" for text in item["formal"])]
    lines += [f"  at step t, {name} = {formula}" for name, formula in said["step_sizes"].items()]
    for label, statement in said["statements"].items():
        lines += ["", *_statement_text(theorem.statement(label), statement)]
    return "\n".join(lines)


def _statement_text(statement: Statement, said: Mapping[str, Any]) -> list[str]:
    from ..audit.necessary import needed
    from ..audit.status import standing

    shown = {part: f"  [{known}]" for part, known in needed(statement).items() if known.bundle or known.why}
    """What an exact instance shows of a term or condition, behind it, or why none shows anything."""
    return [
        f"{statement.label}:" + (f"  ({said['note']})" if said["note"] else ""),
        f"  status: {standing(statement)}",
        *(f"  assumes {name}: {meaning}" for name, meaning in said["assumes"].items()),
        *(f"  {n:<18} {row['meaning']}  [{row['dimension']}], {row['domain']}" for n, row in said["symbols"].items()),
        *(f"  where {name} = {formula}" for name, formula in said["derived"].items()),
        *(f"  if {c['name']}: {c['relation']}{shown.get(c['name'], '')}" for c in said["conditions"]),
        *(f"  unless set, {name} = {formula}" for name, formula in said["schedule"].items()),
        *(f"  + {name}: {formula}{shown.get(name, '')}" for name, formula in said["terms"].items()),
    ]


def statement_html(statement: Statement) -> str:
    """A statement as a part of a page, for notebooks."""
    return to_html(statement_sheet(statement))


def theorem_html(theorem: Theorem) -> str:
    """Every statement as a part of a page, for notebooks."""
    return "".join(map(to_html, sheets_of(theorem)))


def theorem_markdown(theorem: Theorem, labels: Sequence[str] = ()) -> str:
    """Statements in Markdown; all without labels."""
    return "\n\n".join(map(to_markdown, sheets_of(theorem, labels)))


def theorem_latex(theorem: Theorem, labels: Sequence[str] = ()) -> str:
    """The assumptions and the statements as LaTeX, each with what has to be said of it and a table of its symbols; all
    statements without labels."""
    statements = (_with_symbols(theorem.statement(label)) for label in labels or theorem.labels)
    return "\n\n".join([sheet_latex(theorem_sheet(theorem)), *statements])


def _with_symbols(statement: Statement) -> str:
    sheet = statement_sheet(statement)
    notes = Sheet(statement.name, notes=notes_about(statement))
    symbols = Sheet(f"{statement.name}: symbols", tables=tuple(t for t in sheet.tables if t.name == "symbols"))
    return "\n".join([*([sheet_latex(notes)] if notes.notes else []), statement_latex(statement), sheet_latex(symbols)])


def statement_latex(statement: Statement) -> str:
    """The bound, its derived constants and its conditions as one `align*`; needs amsmath and amssymb."""
    theorem = statement.theorem
    rows = [rf"{theorem.metric.latex} &\le " + _sum_latex(statement)] if statement.terms else []
    rows += [f"{c.latex} &= {latex_of(statement, c.expr)}" for c in statement.derived]
    rows += [condition_latex(statement, c, "&") for c in statement.stated]
    body = " \\\\\n".join(rows)
    return f"% {theorem.id}, {statement.label}\n\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _sum_latex(statement: Statement) -> str:
    parts = [
        rf"\underbrace{{{latex_of(statement, t.expr)}}}_{{\text{{{t.name.replace('_', ' ')}}}}}"
        for t in statement.terms
    ]
    return " \\\\\n&\\quad + ".join(parts)


def condition_latex(statement: Statement, condition: Condition, before: str = "") -> str:
    """`left relation right`; `before` goes before the relation, for alignment."""
    left, right = (latex_of(statement, side) for side in (condition.left, condition.right))
    if condition.asks_for_whole:
        return rf"{left} {before}\in \mathbb{{N}}"
    return f"{left} {before}{_LATEX_RELATIONS[condition.relation]} {right}"
