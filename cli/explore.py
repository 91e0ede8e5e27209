"""fedco explore"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json, Trust, emit, note


def explore(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID|PAPER|FILE]...", help="Theorems to show; the main ones of all papers without any."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The page to write.")] = Path("explore.html"),
    measured: Annotated[
        Path | None,
        typer.Option(
            "--with", metavar="DIR", help="Folder of a `fedco validate` run, or of several: its means are drawn too."
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Write one offline HTML page on which the constants of a theorem can be moved and its bound follows.

    The page has sliders for every constant and hyperparameter, the bound and its terms along any of them, the conditions with
    their room, the admissible interval of each hyperparameter and the set of two, elasticities, the printed statement against
    the corrected one, and several theorems on the same constants. It needs no server and asks for nothing from outside.

    Examples: fedco explore --out explore.html --open; fedco explore my_bound.toml feddro.theorem_5_1
    """
    from ..validation.explorer.page import write_explorer

    made = write_explorer(out, names or (), measured=measured, say=note)
    emit(made.to_dict(), made, as_json)
    if show:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


def register(app: typer.Typer) -> None:
    app.command()(explore)
