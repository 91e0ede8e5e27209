"""fedco symbols | constants"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json, StatementOption, Trust, chosen_statement, emit
from .completion import theorem_ids


def symbols(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="What it is about: step size, noise inner, L_f, …")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find symbols by meaning: each quantity with its range, its dimension and the letter that every paper has for it.

    Example: fedco symbols step size
    """
    from ..bounds.vocabulary import search

    found = search(words or [])
    emit({"symbols": [row.to_dict() for row in found]}, "\n".join(map(str, found)), as_json)


def constants(
    names: Annotated[
        list[str],
        typer.Argument(metavar="ID|FILE...", help="The theorems that the file is for.", autocompletion=theorem_ids),
    ],
    statement: StatementOption = None,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="Names of quantities, which mean the same in every paper, instead of letters."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.toml", help="Write the file, which must not be there yet.")
    ] = None,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """A TOML file for --constants, to be filled in: meaning, dimension and range of every constant of a statement.

    Example: fedco constants feddro.theorem_5_1 fcsg.theorem_4_1 --shared --out constants.toml
    """
    from ..bounds.language.reading import InputError
    from ..bounds.registry import get_theorem
    from ..bounds.vocabulary import template
    from ..storage import write_text

    chosen = [item.statement(chosen_statement(item, statement)) for item in map(get_theorem, names)]
    text = template(chosen, shared=shared)
    if out is not None:
        if out.exists():
            raise InputError(f"--out {out}: wanted a new file, got one that is there")
        write_text(out, text)
    data = {"statements": [item.name for item in chosen], "toml": text, "file": str(out) if out else None}
    emit(data, f"wrote {out}" if out else text.rstrip("\n"), as_json)


def register(app: typer.Typer) -> None:
    for command in (symbols, constants):
        app.command()(command)
