"""Options and output shared by the commands."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..bounds.language.reading import InputError, split_assignment
from ..bounds.language.theorem import SPELLINGS
from ..user_files import trusting
from . import terminal

if TYPE_CHECKING:
    from ..bounds.language.result import Sheet
    from ..bounds.language.theorem import Statement
    from ..bounds.settings import Settled

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print LaTeX for a paper; needs amsmath and amssymb only.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown, formulas between dollar signs.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A constant by its letter or its quantity; decimals or fractions such as 1/3, read exactly. Repeatable.",
    ),
]
Constants = Annotated[
    Path | None,
    typer.Option(
        "--constants",
        metavar="FILE.toml",
        help="Read constants from a TOML file, which may serve every statement; --set overrides it. `fedco constants` writes one.",
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="RULE",
        help="Fill in constants that are not given, and say so: zero_noise, equal_clients, exact_start, no_extra_term, "
        "bounded_domain, stand_ins or unit_constants. Repeatable.",
    ),
]


def _checked_address(address: str | None) -> str | None:
    """Refused before anything runs."""
    if address is not None:
        from ..validation.runs.scheduler import check_address

        check_address(address)
    return address


Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        callback=_checked_address,
        help="A dask scheduler (tcp://host:port) that spreads the runs; the results are the same.",
    ),
]
MaxHours = Annotated[
    float, typer.Option("--max-hours", min=0, help="Refuse a run that would take longer by an estimate made at once.")
]


def _trust(context: typer.Context, trusts: bool) -> bool:
    """From here to the end of the command."""
    context.with_resource(trusting(trusts))
    return trusts


Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        callback=_trust,
        is_eager=True,
        help="Run the code (a method, a proof) that a TOML file or a bundle names.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="End with status 3 where the values are not admissible.")]
StatementOption = Annotated[
    str | None,
    typer.Option(
        "--statement",
        metavar="LABEL",
        help="printed (as the paper has it), composed (from its printed lemmas) or corrected; corrected where there is one, else printed.",
    ),
]


def read_sets(sets: list[str] | None) -> dict[str, str]:
    """NAME -> text of a number, from --set.

    Raises:
        InputError: a repeated name, or an entry that is not NAME=VALUE.
    """
    values: dict[str, str] = {}
    for item in sets or []:
        name, value = split_assignment(item)
        if name in values:
            raise InputError(f"{name}: set twice; wanted one value")
        values[name] = value
    return values


def settled(
    statement: Statement,
    sets: list[str] | None,
    constants: Path | Mapping[str, Any] | None,
    assume: list[str] | None,
    without: tuple[str, ...] = (),
) -> Settled:
    """The values of a statement's symbols from the three options, of which the constants may be read already.

    Symbols of `without` are to have none.

    Raises:
        InputError: what cannot be read, or is no value for this statement.
    """
    from ..bounds.settings import settle, symbol_of

    given = read_sets(sets)
    if clash := sorted({symbol_of(statement, name) or name for name in given} & set(without)):
        raise InputError(f"{clash[0]}: both solved for and set; wanted one of the two")
    return settle(statement, given, constants, assume or (), without)


def chosen_statement(theorem: Any, label: str | None) -> str:
    """The label, if the theorem has such a statement; `corrected` where there is one, else `printed`, without a label.

    Raises:
        InputError: it has not.
    """

    label = SPELLINGS.get(label, label) if label else theorem.default
    if label not in theorem.labels:
        raise InputError(f"--statement {label[:20]}: {theorem.id} has {theorem.offered(label)}")
    return label


def emit_about(
    statement: Statement, data: dict[str, Any], text: Any, as_json: bool, given: Settled | None = None
) -> None:
    """`emit` with what has to be said of the statement (the key `status`, and a line where it is refuted or no promise), and of
    the values: what was assumed, and what was not used."""
    from ..bounds.audit.statement_warning import statement_warning

    known = statement_warning(statement)
    lines = [line for line in str(text).split("\n") if not known.text or line.strip() != known.text]
    notes = [*(given.notes if given else ()), *([known.text] if known.text else [])]
    emit(
        {
            **data,
            **(given.to_dict() if given else {}),
            "status": known.status,
            "refuted_by": list(known.bundles),
        },
        "\n".join([*lines, *(f"  {line}" for line in notes)]),
        as_json,
    )


def emit_sheets(
    sheets: Callable[[], Iterable[Sheet]], as_json: bool, latex: bool = False, markdown: bool = False
) -> bool:
    """Print an answer as LaTeX or Markdown if one of them is asked for, else as tables where a person looks at a terminal.

    Returns:
        Whether it was printed: not where JSON or, in a pipe, plain text is wanted.

    Raises:
        InputError: two of JSON, LaTeX and Markdown are asked for.
    """
    check_medium(as_json, latex, markdown)
    if latex or markdown:
        from ..bounds.language.result import to_latex, to_markdown

        print("\n\n".join(map(to_latex if latex else to_markdown, sheets())))
    elif not as_json and terminal.is_terminal():
        terminal.show_sheets(sheets())
    else:
        return False
    return True


def listing(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Sheet:
    """A sheet with one table, for commands that list what there is."""
    from ..bounds.language.result import Sheet, Table

    return Sheet(title, None, (Table(title, columns, tuple(rows)),))


def check_medium(as_json: bool, latex: bool, markdown: bool, html: bool = False) -> None:
    """
    Raises:
        InputError: two of JSON, LaTeX, Markdown and HTML are asked for.
    """
    media = (("--json", as_json), ("--latex", latex), ("--markdown", markdown), ("--html", html))
    asked = [name for name, on in media if on]
    if len(asked) > 1:
        raise InputError(f"{asked[1]}: wanted one way to print, got {' and '.join(asked)}")


def noted(sheet: Sheet, notes: Iterable[str]) -> Sheet:
    """A sheet with more notes, such as what was assumed of the values."""
    from dataclasses import replace

    return replace(sheet, notes=(*sheet.notes, *notes))


def emit(data: dict[str, Any], text: Any, as_json: bool) -> None:
    """One JSON object, or text for a person, on a terminal in colours."""
    if as_json:
        print(json.dumps(finite(data), indent=2, allow_nan=False))
    else:
        terminal.show(str(text))


def finite(value: Any) -> Any:
    """JSON has no infinities: they become null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def note(message: str) -> None:
    """A message for the person at the terminal."""
    print(message, file=sys.stderr)
