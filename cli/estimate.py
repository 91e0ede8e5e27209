"""fedco estimate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json, emit, note


def estimate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:NAME",
            help="A function that returns a dict with model (an nn.Module), loss, clients (a DataLoader, Dataset or pair of tensors for "
            "each), and if wanted form, test, along and the form's numbers; run, tune, validate and practice take the same.",
        ),
    ],
    theorem: Annotated[
        str, typer.Option("--theorem", metavar="ID", help="Whose constants are wanted: an id, or a file.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE.toml", help="Constants file, with a comment on every value.")
    ],
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            help="federated, kl_dro, chi2_dro, kl_clients, maml, invariant, average_precision, maml_tasks or meta; that of the "
            "function without it.",
        ),
    ] = None,
    points: Annotated[
        int | None, typer.Option("--points", min=2, help="Random points of the region about the run; 59 without it.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option("--radius", min=0, help="Of the region; a tenth of the run's reach without it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate the constants of a theorem for a torch model and client data, and write them as a constants file.

    What is estimated plans a run: fedco admissible, tune and bound read the file with --constants. It never supports a bound.
    """
    from ..validation.experiments.estimates import estimate as search
    from ..validation.experiments.estimates import write

    found = search(
        file, form=form, theorem=theorem, points=points, radius=radius, progress=lambda name: note(f"  {name}")
    )
    made = write(found, theorem, out)
    rows = {
        name: {"value": one.value, "quantity": one.quantity, "kind": one.kind, "confidence": one.confidence, "above": one.above,
               "growth": [list(pair) for pair in one.growth], "method": one.method, "where": one.where}
        for name, one in made.estimates.items()
    }  # fmt: skip
    text = "\n".join(
        f"{name:<12} {row['value']:<12.6g} {row['kind']:<10} {row['quantity']}" for name, row in rows.items()
    )
    emit(
        {"theorem": made.theorem.id, "statement": made.label, "file": str(out), "constants": rows},
        f"{text}\nwrote {out}",
        as_json,
    )


def register(app: typer.Typer) -> None:
    app.command()(estimate)
