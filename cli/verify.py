"""fedco verify"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from .common import Json, emit, note


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a validate or report run.")],
    cases: Annotated[int, typer.Option("--cases", min=1, help="How many results are measured again.")] = 3,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Chooses the results; without it another choice every time.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure a random sample of stored results again, from nothing, and compare to the last bit; exit status 1 if one differs."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from secrets import randbelow

    from ..validation.runs.verify import verify as run

    chosen = randbelow(10**6) if seed is None else seed
    note(f"sample chosen by --seed {chosen}")
    found = run(folder, cases=cases, seed=chosen, say=note)
    emit({**found.to_dict(), "seed": chosen}, found, as_json)
    if not found.verified:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command()(verify)
