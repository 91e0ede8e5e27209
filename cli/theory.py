"""fedco theorems | show | bound | admissible | audit"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..bounds.language.reading import InputError
from .common import (
    Assume,
    Constants,
    Json,
    Latex,
    Markdown,
    Sets,
    StatementOption,
    Strict,
    Trust,
    check_medium,
    chosen_statement,
    emit,
    emit_about,
    emit_sheets,
    listing,
    note,
    noted,
    settled,
)
from .completion import theorem_ids

TheoremId = Annotated[
    str,
    typer.Argument(
        metavar="ID|FILE",
        help="For instance feddro.theorem_5_1 (see `fedco theorems`), my_bound.toml, or my_paper.py:theorem_1.",
        autocompletion=theorem_ids,
    ),
]


def theorems(
    paper: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER|FILE]", help="A paper key such as feddro, or a file; all papers without it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List every registered theorem, corollary and lemma."""
    from .. import bounds

    found = bounds.get_theorems(paper) if paper else bounds.all_theorems().values()
    rows = [
        {"id": t.id, "kind": t.kind, "title": t.title, "source": str(t.source), "statements": list(t.labels)}
        for t in found
    ]
    text = "\n".join(
        f"{row['id']:<32} {row['kind']:<10} {row['title']}  [{', '.join(row['statements'])}]" for row in rows
    )
    cells = ((row["id"], row["kind"], row["title"], ", ".join(row["statements"])) for row in rows)
    if not emit_sheets(lambda: [listing("Theorems", ("id", "kind", "title", "statements"), cells)], as_json):
        emit({"theorems": rows}, text, as_json)


def show(
    name: TheoremId,
    statement: Annotated[
        str | None,
        typer.Option("--statement", metavar="LABEL", help="Only printed, composed or corrected; all without it."),
    ] = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Show a theorem: assumptions, constants with meaning and dimension, conditions, terms.

    Example: fedco show fcsg.theorem_4_1 --statement corrected --latex
    """
    from ..bounds.language.rendering import sheets_of, theorem_dict, theorem_latex, to_text
    from ..bounds.registry import get_theorem as theorem

    item = theorem(name)
    labels = (chosen_statement(item, statement),) if statement else item.labels
    check_medium(as_json, latex, markdown)
    if latex:
        print(theorem_latex(item, labels))
    elif not emit_sheets(lambda: sheets_of(item, labels), as_json, markdown=markdown):
        emit(theorem_dict(item, labels), to_text(item, labels), as_json)


def bound(
    name: TheoremId,
    statement: StatementOption = None,
    sets: Sets = None,
    constants: Constants = None,
    assume: Assume = None,
    strict: Strict = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Also the percent change of the bound per percent of each symbol.")
    ] = False,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Evaluate a bound; outside the conditions the value is printed with "admissible": false and the conditions that fail.

    Example: fedco bound feddro.lemma_3_1 --set L_h=1 --set L_f=1/2 --set L_g=1 --set B_f=1 --set B_g=2
    """
    from ..bounds.evaluation.evaluate import bound as evaluated
    from ..bounds.registry import get_theorem as theorem

    item = theorem(name)
    chosen = item.statement(chosen_statement(item, statement))
    given = settled(chosen, sets, constants, assume)
    result = evaluated(given.statement, given.values, strict=False, beside=given.beside)
    found = None
    if sensitivity:
        from ..bounds.cost.sensitivity import elasticities  # brings in the optimiser

        found = elasticities(given.statement, given.values)
    if not emit_sheets(
        lambda: (noted(each.sheet(), given.notes) for each in (result, found) if each), as_json, latex, markdown
    ):
        more = {"sensitivity": found.to_dict()} if found else {}
        text = f"{result}\n{found}" if found else str(result)
        emit_about(chosen, {**result.to_dict(), **more}, text, as_json, given)
    if strict and not result.admissible:
        raise typer.Exit(3)


def admissible(
    name: TheoremId,
    solve: Annotated[
        str, typer.Option("--solve", metavar="NAME[,NAME]", help="Hyperparameters to solve for, e.g. eta or I,T.")
    ],
    statement: StatementOption = None,
    sets: Sets = None,
    constants: Constants = None,
    assume: Assume = None,
    strict: Strict = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Also draw the set of two hyperparameters (.png, .svg, .pdf)."),
    ] = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Exact admissible interval of a hyperparameter, with the condition that binds at each end.

    Example: fedco admissible feddro.theorem_5_1 --solve I --set T=100000 --set L_h=1 ...
    """
    from ..bounds.region.admissible import admissible as solved
    from ..bounds.registry import get_theorem as theorem
    from ..bounds.settings import symbol_of

    asked = tuple(part.strip() for part in solve.split(",") if part.strip())
    if not asked:
        raise InputError("--solve: wanted the name of a hyperparameter, got nothing")
    item = theorem(name)
    chosen = item.statement(chosen_statement(item, statement))
    names = tuple(symbol_of(chosen, name) or name for name in asked)
    given = settled(chosen, sets, constants, assume, names)
    if figure is not None:
        from ..bounds.region.admissible import region_picture

        if len(names) != 2:
            raise InputError(f"--figure: wanted two names in --solve, got {len(names)}")
        result = region_picture(given.statement, (names[0], names[1]), given.values, figure)
    else:
        result = solved(given.statement, names, given.values)
    if not emit_sheets(lambda: [noted(result.sheet(), given.notes)], as_json, latex, markdown):
        emit_about(chosen, result.to_dict(), result, as_json, given)
    if strict and not result.feasible:
        raise typer.Exit(3)


def audit(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[ID|FILE]", help="A theorem id, a paper key or a file; everything without it."),
    ] = None,
    recheck: Annotated[
        str | None, typer.Option("--recheck", metavar="FINDING", help="Run one finding's check again.")
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Run every check now, or none; without it only those of papers that changed since their last audit.",
        ),
    ] = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Every discrepancy found in the papers, worst first, each with a check that anyone can rerun.

    The findings of a paper are read from its last audit, of which the date is given, as long as its declarations are those of that day.
    """
    if recheck:
        from ..bounds.audit.checks import recheck as run_again

        evidence = {key: str(value) for key, value in run_again(recheck, name).items()}
        emit(
            {"finding": recheck, "confirmed": True, "evidence": evidence}, f"{recheck}: confirmed\n{evidence}", as_json
        )
        return
    from ..bounds.audit.findings import counted, describe, findings_sheet
    from ..bounds.audit.make_audit_cache import findings

    rows, dates = findings(name, check)
    days = sorted({day for day in dates.values() if day})
    checked = f"every check confirmed on {' to '.join(days)}" if days else "not checked"
    note(f"{counted(rows)}, {checked}" if rows else "no findings: there was no check to run")
    if not emit_sheets(lambda: [findings_sheet(rows)], as_json, latex, markdown):
        emit({"findings": rows, "checked": dates}, "\n\n".join(describe(row) for row in rows), as_json)


def prove(
    name: TheoremId,
    statement: Annotated[
        str | None,
        typer.Option("--statement", metavar="LABEL", help="sharpened, where there is one; else the default."),
    ] = None,
    rules_only: Annotated[
        bool, typer.Option("--rules-only", help="Leave the instances out; the proof is then not called checked.")
    ] = False,
    as_json: Json = False,
    latex: Latex = False,
    markdown: Markdown = False,
    html: Annotated[bool, typer.Option("--html", help="Print a page of HTML, formulas in MathML.")] = False,
    trust: Trust = False,
) -> None:
    """Check the derivation of a corrected statement step by step, and print it; exit status 1 if it does not check.

    Two locks: every step follows by the rules of a kernel, and every claim holds on exact instances, run by the method's own code,
    with constants measured on them. `checked` needs both. A derivation may take lemmas as true: those that the kernel has not
    checked are listed under "given". What no instance says anything of is listed under "not_covered". Either makes `checked` false.

    With --latex, --markdown or --html it is the proof as a referee reads it: setting, assumptions, each step as a formula with its
    reason, the multipliers of each combination, and what is left out.

    A certificate of `fedco sharpen` in the place of ID is checked again by the kernel, at its numbers: "rules" and "checked" say that.

    Examples: fedco prove fcsg.theorem_4_1; fedco prove sharpened.json; fedco prove fcsg.theorem_4_1 --latex > proof.tex
    """
    from ..bounds import get_theorem
    from ..bounds.proof.locks import prove as both_locks

    check_medium(as_json, latex, markdown, html)
    if name.endswith(".json"):
        from ..bounds.proof.sharpen import recheck

        found = recheck(name, get_theorem)
        emit(found.to_dict(), found, as_json)
        if not found.accepted:
            raise typer.Exit(1)
        return
    theorem = get_theorem(name)
    label = chosen_statement(theorem, statement)
    proof = both_locks(theorem, label, rules_only=rules_only, given=name, note=note)
    if latex or markdown or html:
        from ..bounds.proof.written import document, media

        shown = document.document(theorem, proof.verdict, proof)
        print(
            media.to_latex(shown) if latex else media.to_markdown(shown) if markdown else media.to_html(shown), end=""
        )
    else:
        emit(proof.to_dict(), proof, as_json)
    if not (proof.verdict.checked if rules_only else proof.checked):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    for command in (theorems, show, bound, admissible, audit, prove):
        app.command()(command)
