"""fedco falsify"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .common import Json, emit
from .theory import TheoremId


def falsify(
    name: TheoremId,
    statement: Annotated[
        str, typer.Option("--statement", metavar="LABEL", help="Which statement to attack.")
    ] = "printed",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Wall time of the search.")] = 60.0,
    seed: Annotated[int, typer.Option("--seed", help="Of the search.")] = 0,
    hidden: Annotated[
        float, typer.Option("--hidden", min=0, help="Value of a constant that the paper hides in O(.).")
    ] = 1.0,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the bundle.")] = Path(
        "falsified"
    ),
    as_json: Json = False,
) -> None:
    """Search an instance on which a theorem is false; a violation is checked in exact numbers and written as a bundle."""
    from ..bounds.registry import get_theorem
    from ..validation.falsifier import falsify as run
    from .common import chosen_statement

    declared = get_theorem(name)
    label = chosen_statement(declared, statement)
    result = run(declared, label, seconds=seconds, seed=seed, hidden=hidden, out=out, progress=_Line())
    emit(result.to_dict(), str(result) + (f"\n  bundle: {result.path}" if result.path else ""), as_json)


class _Line:
    """One line on stderr that is written over, where it is a terminal."""

    def __call__(self, progress: Any) -> None:
        if sys.stderr.isatty():
            text = (
                f"\r{progress.seconds:6.1f} s  {progress.evaluations:>9} instances  best ratio {progress.ratio:.4g}  "
            )
            print(f"{text}{progress.island[:70]:<70}", end="", file=sys.stderr, flush=True)


def register(app: typer.Typer) -> None:
    app.command()(falsify)
