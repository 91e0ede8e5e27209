"""What the commands share: how a function becomes a command, what it was asked, and how its answer is printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..bounds.language.reading import InputError, split_assignment
from ..bounds.language.result import Sheet, Table, finite, to_latex, to_markdown
from ..bounds.language.theorem import SPELLINGS
from ..user_files import told, trusting
from . import terminal
from .options import ARGUMENTS, COMPLETED, option_of

if TYPE_CHECKING:
    from ..bounds.language.theorem import Statement, Theorem
    from ..bounds.settings import Resolved

Texts = list[str] | None
"""An option that may be repeated."""
MEDIA = {"json": "as_json", "latex": "latex", "markdown": "markdown", "html": "html"}
"""Ways to print besides plain text, and the options that ask for them."""

app = typer.Typer(
    name="fedco",
    help="Convergence theory of federated compositional optimisation: evaluate, invert, audit, validate and plot.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


# --- what is asked ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A statement and values for it: the options that the questions about a statement share."""

    name: str
    statement: str | None = None
    values: Texts = None
    constants: Path | None = None
    assume: Texts = None

    @cached_property
    def theorem(self) -> Theorem:
        from ..bounds.registry import get_theorem

        return get_theorem(self.name)

    @cached_property
    def chosen(self) -> Statement:
        """The statement that is meant."""
        return self.theorem.statement(chosen_label(self.theorem, self.statement))

    def resolved(self, *without: str, shared: Mapping[str, Any] | None = None) -> Resolved:
        """The values of the statement's symbols; `without` are to have none, `shared` are constants in the place of a file.

        Raises:
            InputError: what cannot be read, or is no value for this statement.
        """
        from ..bounds.settings import resolve, symbol_of

        given = pairs(self.values)
        if clash := sorted({symbol_of(self.chosen, name) or name for name in given} & set(without)):
            raise InputError(f"{clash[0]}: both solved for and set; wanted one of the two")
        return resolve(self.chosen, given, self.constants if shared is None else shared, self.assume or (), without)

    def answer(self, results: Iterable[Any], given: Resolved, **more: Any) -> Answer:
        """Results about the statement, with what was assumed of its values; data of the first, with `more`."""
        first, *others = results
        return Answer(
            {**first.to_dict(), **more},
            "\n".join(map(str, (first, *others))),
            lambda: [noted(each.sheet(), given.notes) for each in (first, *others)],
        ).about(self.chosen, given)


def pairs(items: Texts, option: str = "") -> dict[str, str]:
    """NAME -> text, from the NAME=VALUE of an option.

    Raises:
        InputError: a repeated name, or an entry that is not NAME=VALUE.
    """
    values: dict[str, str] = {}
    for item in items or []:
        name, value = split_assignment(item)
        if name in values:
            raise InputError(f"{option} {name}: set twice; wanted one value".lstrip())
        values[name] = value
    return values


def chosen_label(theorem: Theorem, label: str | None) -> str:
    """The label, if the theorem has such a statement; `corrected` where there is one, else `printed`, without a label.

    Raises:
        InputError: it has not.
    """
    label = SPELLINGS.get(label, label) if label else theorem.default
    if label not in theorem.labels:
        raise InputError(f"--statement {label[:20]}: {theorem.id} has {theorem.offered(label)}")
    return label


# --- what is answered ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a command says.

    Args:
        data: one JSON object.
        text: for a pipe, and for a terminal where there are no sheets.
        sheets: tables for a terminal, of which LaTeX and Markdown are made.
        written: medium -> what is printed in it, where it is not made of the sheets.
        status: the exit status.
    """

    data: Mapping[str, Any]
    text: Any
    sheets: Callable[[], Iterable[Sheet]] | None = None
    written: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    status: int = 0

    def about(self, statement: Statement, given: Resolved | None = None) -> Answer:
        """With what has to be said of a statement (the key `status`, and a line where it is refuted or no promise), and of the
        values: what was assumed, and what was not used."""
        from ..bounds.audit.status import known_of

        known = known_of(statement)
        lines = [line for line in str(self.text).split("\n") if not known.warning or line.strip() != known.warning]
        notes = [*(given.notes if given else ()), *([known.warning] if known.warning else [])]
        data = {**self.data, **(given.to_dict() if given else {}), **known.said}
        return replace(self, data=data, text="\n".join([*lines, *(f"  {line}" for line in notes)]))

    def show(self, medium: str) -> None:
        """Print it: one JSON object, LaTeX, Markdown or HTML, or, for a person, tables on a terminal and text in a pipe."""
        if medium == "json":
            print(json.dumps(finite(self.data), indent=2, allow_nan=False))
        elif medium in self.written:
            print(self.written[medium]().removesuffix("\n"))
        elif medium and self.sheets:
            print("\n\n".join(map(to_latex if medium == "latex" else to_markdown, self.sheets())))
        elif self.sheets and terminal.is_terminal():
            terminal.show_sheets(self.sheets())
        else:
            terminal.show(str(self.text))


def answer_of(result: Any, *notes: str, **more: Any) -> Answer:
    """A result that describes itself, with notes and more data."""
    data = {**result.to_dict(), **more}
    return Answer(data, "\n".join([str(result), *notes]), lambda: [noted(result.sheet(), map(str.strip, notes))])


def listing(
    key: str, title: str, rows: list[dict[str, Any]], text: str, columns: Mapping[str, Callable[[Any], str]]
) -> Answer:
    """What there is, one row each; a table of it has a column for each name of `columns`, with what that makes of a row."""
    cells = tuple(tuple(made(row) for made in columns.values()) for row in rows)
    return Answer({key: rows}, text, lambda: [Sheet(title, None, (Table(title, tuple(columns), cells),))])


def noted(sheet: Sheet, notes: Iterable[str]) -> Sheet:
    """A sheet with more notes, such as what was assumed of the values."""
    return replace(sheet, notes=(*sheet.notes, *notes))


def note(message: str) -> None:
    """A message for the person at the terminal."""
    print(message, file=sys.stderr)


# --- from a function to a command ------------------------------------------------------------------------------------


def command(
    *media: str, name: str = "", trust: bool = False, computes: bool = False
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Make a command of a function that returns an `Answer`; its parameters are the options of the table in `options.py`.

    Args:
        media: ways to print that it offers besides text and JSON.
        name: where it is not that of the function.
        trust: whether it may run code that a file names.
        computes: whether it computes for long: its threads then sleep while they wait.
    """

    def register(function: Callable[..., Answer]) -> Callable[..., Answer]:
        called = name or function.__name__
        known = [(p.name, p.annotation, p.default) for p in signature(function, eval_str=True).parameters.values()]
        asks = bool(known) and known[0][1] is Asked
        shared = (
            [(f.name, f.type, Parameter.empty if f.name == "name" else None) for f in fields(Asked)] if asks else []
        )
        flags = [MEDIA[medium] for medium in (*media, "json")] + (["trust"] if trust else [])
        listed = [*shared, *known[asks:], *((flag, bool, False) for flag in flags)]

        def run(**given: Any) -> None:
            given.pop("trust", None)
            wanted = [medium for medium, option in MEDIA.items() if given.pop(option, False)]
            if len(wanted) > 1:
                raise InputError(f"--{wanted[1]}: wanted one way to print, got --{wanted[0]} and --{wanted[1]}")
            if computes:
                os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
            asked = [Asked(**{name: given.pop(name) for name, _, _ in shared})] if asks else []
            try:
                answer = function(*asked, **given)
            except SystemExit as error:
                raise InputError(f"{called}: code of a file ended the process ({told(error)})") from None
            answer.show("".join(wanted))
            if answer.status:
                raise typer.Exit(answer.status)

        parameters = [_parameter(called, *each) for each in listed]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__doc__, run.__annotations__ = function.__doc__, {}
        app.command(called)(run)
        return function

    return register


def _parameter(command: str, name: str, kind: Any, default: Any) -> Parameter:
    """A parameter as typer wants it, from its row in the table of options."""
    kind = {"str": str, "str | None": str | None, "Texts": Texts, "Path | None": Path | None}.get(kind, kind)
    key, row = option_of(command, name)
    words = row.meaning if kind != Texts or key in ARGUMENTS else f"{row.meaning} Repeatable."
    more: dict[str, Any] = {"help": words, "metavar": row.metavar, "autocompletion": COMPLETED.get(key)}
    more |= {"callback": _CALLBACKS.get(name), "is_eager": name == "trust"}
    spelling = row.flag or f"--{name.replace('_', '-')}"
    made = typer.Argument(**more) if key in ARGUMENTS else typer.Option(spelling, min=row.least, **more)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


def _checked_address(address: str | None) -> str | None:
    """Refused before anything runs."""
    if address is not None:
        from ..validation.runs.scheduler import check_address

        check_address(address)
    return address


def _trust(context: typer.Context, trusts: bool) -> bool:
    """From here to the end of the command."""
    context.with_resource(trusting(trusts))
    return trusts


def _once(named: Any) -> Any:
    """What is named twice in a list once."""
    return list(dict.fromkeys(named)) if isinstance(named, list) else named


_CALLBACKS = {
    "scheduler": _checked_address,
    "trust": _trust,
    **dict.fromkeys(("problem", "theorem", "metric", "names"), _once),
}
