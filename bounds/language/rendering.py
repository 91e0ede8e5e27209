"""A theorem as text, LaTeX, a dict, or a page of the documentation; all of it from the declaration."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from .markdown import table
from .notation import latex_of as latex_of_name
from .result import Cell, Math, Sheet, Table, to_html, to_markdown
from .result import to_latex as sheet_latex
from .theorem import Condition, Statement, Theorem
from .typesetting import latex, letters_of, mathml

_POWER = re.compile(r"\^(-?[0-9/]+)")
_LATEX_RELATIONS = {"<": "<", "<=": r"\le", ">=": r"\ge", ">": ">", "==": "="}


def latex_of(statement: Statement, expr: sp.Expr) -> str:
    """LaTeX in the paper's own letters, written as a mathematician does; derived constants stay names."""
    return latex(expr, letters_of(statement))


def mathml_of(statement: Statement, expr: sp.Expr, *, display: bool = False) -> str:
    """The same as a `<math>` element for HTML."""
    return mathml(latex_of(statement, expr), display=display)


def to_mathml(statement: Statement) -> dict[str, Any]:
    """A statement for HTML: `<math>` elements of the metric, and by name of its derived constants, conditions and terms."""
    return {
        "metric": mathml(statement.theorem.metric.latex),
        "derived": {c.name: mathml(f"{c.latex} = {latex_of(statement, c.expr)}") for c in statement.derived},
        "conditions": {c.name: mathml(condition_latex(statement, c)) for c in statement.stated},
        "terms": {term.name: mathml_of(statement, term.expr) for term in statement.terms},
    }


def letter(statement: Statement, name: str) -> Math:
    """A symbol or a derived constant of a statement, as it is written."""
    known = {binding.name: binding.latex for binding in statement.theorem.notation}
    known |= {constant.name: constant.latex for constant in statement.derived}
    return Math(name, known.get(name) or latex_of_name(name))


def condition_math(statement: Statement, name: str) -> Math:
    """A condition of a statement by name."""
    condition = statement.condition(name)
    return Math(str(condition), condition_latex(statement, condition))


def symbol_table(statement: Statement, name: str, values: Mapping[str, Cell], role: str = "") -> Table:
    """Symbols of a statement with their meaning and value; only those of one role where one is given."""
    bindings = {binding.name: binding for binding in statement.theorem.notation}
    chosen = {n: v for n, v in values.items() if not role or bindings[n].quantity.role == role}
    rows = tuple((letter(statement, n), bindings[n].meaning, value) for n, value in chosen.items())
    return Table(name, ("symbol", "meaning", "value"), rows)


def notes_about(statement: Statement) -> tuple[str, ...]:
    """What has to be said beside a number of this statement."""
    from ..audit.statement_warning import statement_warning

    text = statement_warning(statement).text
    return (text,) if text else ()


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
    """The same as data: `status` and `refuted_by`."""
    from ..audit.statement_warning import statement_warning

    known = statement_warning(statement)
    return {"status": known.status, "refuted_by": list(known.bundles)}


def statement_sheet(statement: Statement) -> Sheet:
    """A statement: the bound, its terms, conditions, derived constants and symbols."""
    from ..audit.necessary import needed

    theorem, known = statement.theorem, needed(statement)
    terms = tuple((term.name, term.role, _math(statement, term.expr)) for term in statement.terms)
    derived = tuple((letter(statement, c.name), _math(statement, c.expr), c.meaning) for c in statement.derived)
    conditions = tuple((c.name, condition_math(statement, c.name), c.note) for c in statement.stated)
    symbols = tuple(
        (letter(statement, name), binding.meaning, _unit(binding.quantity.unit), binding.quantity.domain)
        for name, binding in statement.symbols.items()
    )
    tables: tuple[Table, ...] = (
        Table("terms", ("term", "role", "value"), terms),
        Table("conditions", ("condition", "relation", "note"), conditions),
        Table("derived constants", ("symbol", "value", "meaning"), derived),
        Table("symbols", ("symbol", "meaning", "dimension", "domain"), symbols),
    )
    necessary = tuple((part.part, str(part), part.bundle) for part in known.values())
    tables = (*tables, Table("necessary parts", ("part", "known", "instance"), necessary))
    claim = None
    if statement.terms:
        right = " + ".join(latex_of(statement, term.expr) for term in statement.terms)
        claim = Math(f"{theorem.metric.name} <= {statement.total}", rf"{theorem.metric.latex} \le {right}")
    notes = (*notes_about(statement), *((statement.note,) if statement.note else ()))
    return Sheet(f"{statement.name}: {theorem.title}", claim, tuple(t for t in tables if t.rows), notes)


def theorem_sheet(theorem: Theorem) -> Sheet:
    """What all statements of a theorem share: what it bounds, and its assumptions."""
    metric = theorem.metric
    assumed = Table(
        "assumptions", ("assumption", "text"), tuple((item.name, item.text) for item in theorem.assumptions)
    )
    meaning = f" ({metric.meaning})" if metric.meaning else ""
    notes: tuple[str, ...] = (f"It bounds {metric.name}, of dimension {metric.dimension}{meaning}.",)
    notes += tuple(f"At step t, {name} = {formula}." for name, formula in _step_sizes(theorem).items())
    return Sheet(f"{theorem.id}: {theorem.title} ({theorem.source})", None, (assumed,) if assumed.rows else (), notes)


def _step_sizes(theorem: Theorem) -> dict[str, str]:
    """The hyperparameters of the method that depend on the step t, as formulas."""
    return {name: sp.sstr(each) for name, each in theorem.method.schedules.items()} if theorem.method else {}


def sheets_of(theorem: Theorem, labels: Sequence[str] = ()) -> list[Sheet]:
    """A theorem: what is assumed, then its statements; all without labels."""
    return [theorem_sheet(theorem), *(statement_sheet(theorem.statement(x)) for x in labels or theorem.labels)]


def _unit(dimension: str) -> Math:
    return Math(dimension, _POWER.sub(r"^{\1}", dimension).replace(" or ", r"\text{ or }"))


def _math(statement: Statement, expr: sp.Expr) -> Math:
    return Math(sp.sstr(expr), latex_of(statement, expr))


def to_text(theorem: Theorem, labels: Sequence[str] = ()) -> str:
    """A theorem for a terminal; all statements without labels."""
    lines = [
        f"{theorem.id}: {theorem.title} ({theorem.source})",
        f"bounds {theorem.metric.name}  [{theorem.metric.dimension}]",
    ]
    for item in theorem.assumptions:
        lines += [f"  assumption {item.name}: {item.text}"]
        lines += [f"    formally: {text}" for text in theorem.formally(item)]
    lines += [f"  at step t, {name} = {formula}" for name, formula in _step_sizes(theorem).items()]
    for label in labels or theorem.labels:
        lines += ["", *_statement_text(theorem, theorem.statement(label))]
    return "\n".join(lines)


def _statement_text(theorem: Theorem, statement: Statement) -> list[str]:
    from ..audit.statement_warning import standing

    lines = [f"{statement.label}:" + (f"  ({statement.note})" if statement.note else "")]
    lines.append(f"  status: {standing(statement)}")
    for binding in theorem.symbols(statement.label).values():
        quantity = binding.quantity
        lines.append(f"  {binding.name:<18} {binding.meaning}  [{quantity.unit}], {quantity.domain}")
    lines += [f"  where {c.name} = {sp.sstr(c.expr)}" for c in statement.derived]
    lines += [f"  if {c.name}: {c}{_necessary(statement, c.name)}" for c in statement.stated]
    lines += [f"  unless set, {name} = {sp.sstr(expr)}" for name, expr in statement.schedule.items()]
    return lines + [
        f"  + {term.name}: {sp.sstr(term.expr)}{_necessary(statement, term.name)}" for term in statement.terms
    ]


def _necessary(statement: Statement, part: str) -> str:
    """What an exact instance shows of a term or condition, behind it; nothing where none is kept."""
    from ..audit.necessary import needed

    known = needed(statement).get(part)
    return f"  [{known}]" if known and known.bundle else ""


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


def theorem_dict(theorem: Theorem, labels: Sequence[str] = ()) -> dict[str, Any]:
    """A theorem as JSON-ready data; all statements without labels."""
    return {
        "theorem": theorem.id,
        "kind": theorem.kind,
        "title": theorem.title,
        "source": str(theorem.source),
        "metric": theorem.metric.name,
        "dimension": str(theorem.metric.dimension),
        "assumptions": [
            {"name": item.name, "text": item.text, "formal": list(theorem.formally(item))}
            for item in theorem.assumptions
        ],
        "step_sizes": _step_sizes(theorem),
        "statements": {label: _statement_dict(theorem, theorem.statement(label)) for label in labels or theorem.labels},
    }


def _statement_dict(theorem: Theorem, statement: Statement) -> dict[str, Any]:
    from ..audit.necessary import needed
    from ..audit.statement_warning import has_derivation

    return {
        **status_of(statement),
        "derivation": has_derivation(statement),
        "note": statement.note,
        "symbols": {
            name: {
                "quantity": binding.quantity.name,
                "meaning": binding.meaning,
                "dimension": binding.quantity.unit,
                "domain": binding.quantity.domain,
                "role": binding.quantity.role,
            }
            for name, binding in theorem.symbols(statement.label).items()
        },
        "derived": {constant.name: sp.sstr(constant.expr) for constant in statement.derived},
        "conditions": [{"name": c.name, "relation": str(c), "note": c.note} for c in statement.stated],
        "schedule": {name: sp.sstr(expr) for name, expr in statement.schedule.items()},
        "terms": {term.name: sp.sstr(term.expr) for term in statement.terms},
        "necessary": {name: part.to_dict() for name, part in needed(statement).items()},
        "latex": statement_latex(statement),
    }


def to_page(
    theorem: Theorem,
    findings: list[Any],
    validated: Sequence[str],
    known: Sequence[str] = (),
    proofs: Sequence[str] = (),
    measured: Sequence[str] = (),
) -> str:
    """The documentation page of a theorem, in Markdown with display formulas.

    Args:
        findings: those of the audit about it.
        validated: lines that say on which instances it is compared with runs.
        known: the part of the page about what is known of each statement, in Markdown.
        proofs: the part about derivations that the kernel checks.
        measured: the parts about tightness and searches for counterexamples.
    """
    lines = [f"# {theorem.id}", "", f"*{theorem.title}* — {theorem.source}.", ""]
    lines += [
        f"It bounds **{theorem.metric.name}** (dimension {theorem.metric.dimension}). {theorem.metric.meaning}",
        "",
    ]
    lines += known
    if theorem.assumptions:
        lines += ["## Assumptions", "", *(f"- **{a.name}**: {a.text}." for a in theorem.assumptions), ""]
    for label in theorem.labels:
        lines += _statement_page(theorem.statement(label))
    lines += [*_symbols_page(theorem), *proofs]
    lines += [
        "## Validated on",
        "",
        *(f"- {line}" for line in validated),
        "",
    ]
    lines += [*measured, *_refutation_lines(theorem.id)]
    lines += ["## Findings", ""]
    lines += [f"- `{f.id}` ({f.severity}, {f.where}): {f.printed} — instead: {f.expected}." for f in findings] or [
        "None."
    ]
    return "\n".join(lines) + "\n"


def _bundle_lines(files: Sequence[str]) -> list[str]:
    from ..audit.refuted import refutations

    graded = [(file, refutations()[file.removeprefix("refutations/").removesuffix(".json")].word) for file in files]
    return [f"- {word.capitalize()}, by an exact instance: [{b}]({b}), `fedco replay docs/{b}`" for b, word in graded]


def _refutation_lines(claim: str) -> list[str]:
    """The exact instances that refute the claim, with the command that re-checks each."""
    from ..audit.refuted import refutations

    mine = [item for item in refutations().values() if item.claim == claim]
    if not mine:
        return []
    rows = [
        f"- {r.statement}: {r.word}: {r.summary} {_alternatives(r.alternatives)}"
        f"[bundle](../refutations/{r.name}.json), `fedco replay docs/refutations/{r.name}.json`"
        for r in mine
    ]
    return ["## Refuted by exact instances", "", *rows, ""]


def _alternatives(readings: Mapping[str, str]) -> str:
    return "".join(f"With {reading}: {verdict}. " for reading, verdict in readings.items())


def _statement_page(statement: Statement) -> list[str]:
    """A statement as a formula, and as tables that name its parts as commands and Python do."""
    lines = [f"## {statement.label.capitalize()}", ""]
    if statement.note:
        lines += [f"_{statement.note}._", ""]
    _, begin, *body, end = statement_latex(statement).split("\n")
    if any(body):
        lines += ["$$", *(line.replace("align*", "aligned") for line in (begin, *body, end)), "$$", ""]
    if statement.derived:
        known = statement.theorem.dimensions(statement)
        rows = [[f"`{d.name}`", f"`{sp.sstr(d.expr)}`", d.meaning, str(known[d.symbol])] for d in statement.derived]
        lines += [*table(["constant", "in Python", "meaning", "dimension"], rows, align=False), ""]
    if statement.terms:
        rows = [[term.name, term.role, f"`{sp.sstr(term.expr)}`"] for term in statement.terms]
        lines += [*table(["term", "role", "in Python"], rows, align=False), ""]
    if statement.stated:
        lines += [*(f"- condition `{c.name}`: `{c}`" for c in statement.stated), ""]
    return lines


def _symbols_page(theorem: Theorem) -> list[str]:
    """The symbols of all statements, each once."""
    found = {name: binding for label in theorem.labels for name, binding in theorem.symbols(label).items()}
    if not found:
        return []
    rows = [[f"${b.latex}$", f"`{name}`", b.meaning, b.quantity.unit, b.quantity.domain] for name, b in found.items()]
    return [
        "## Symbols",
        "",
        *table(["symbol", "in Python", "meaning", "dimension", "domain"], rows, align=False),
        "",
    ]


def audit_page(findings: list[Any]) -> str:
    """The audit as a referee's report, worst findings first."""
    titles = {
        "breaks": "Claims that do not follow as stated",
        "constant": "Claims that survive with another constant or condition",
        "slip": "Slips: nothing changes once the line is read as meant",
    }
    lines = [
        "# Audit",
        "",
        "Generated by `make docs`. Every entry has a check; `fedco audit --recheck ID` runs it.",
        "",
        *_findings_table(findings, titles),
        "",
        f"{len(findings)} findings from {sum(not f.cause for f in findings)} causes: one slip that is seen in a theorem, its corollary and "
        "its lemmas is one cause. Each stands on the most charitable reading of the line, which it names.",
        "",
    ]
    for severity, title in titles.items():
        lines += [f"## {title}", ""]
        for f in (f for f in findings if f.severity == severity):
            lines += [
                f"### {f.id}",
                "",
                f"*[{f.theorem}](theorems/{f.theorem}.md), {f.where}* ({f.kind}).",
                "",
                f"- Printed: {f.printed}.",
                f"- What follows instead: {f.expected}.",
                f"- Read: {f.charitable}.",
                f"- Consequence: {f.consequence}.",
                *([f"- The same slip as `{f.cause}`."] if f.cause else []),
                f"- Re-check: `{f.command}`",
                *_bundle_lines(f.bundles),
                *(["- No exact instance is kept."] if severity == "breaks" and not f.bundles else []),
                "",
            ]
    return "\n".join(lines)


def withdrawn_page(withdrawn: Sequence[Any]) -> str:
    """The findings that did not stand when they were read again, with the reason."""
    rows = [[", ".join(f"`{name}`" for name in item.ids), item.why] for item in withdrawn]
    return "\n".join(["## Withdrawn", "", *table(["findings", "why"], rows, align=False), ""])


def _findings_table(findings: Sequence[Any], titles: Mapping[str, str]) -> list[str]:
    """How many findings of each severity a paper has."""
    counts = Counter((f.theorem.partition(".")[0], f.severity) for f in findings)
    papers = dict.fromkeys(paper for paper, _ in counts)
    rows = [[paper, *(str(counts[paper, severity]) for severity in titles)] for paper in papers]
    total = ["all", *(str(sum(counts[paper, severity] for paper in papers)) for severity in titles)]
    heads = ["paper", *(title[:1].lower() + title[1:] for title in titles.values())]
    return table(heads, [*rows, total], align=False)
