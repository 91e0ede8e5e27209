"""fedco practice"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from .common import Json, Latex, Markdown, MaxHours, Sets, StatementOption, Trust, emit, emit_sheets, note, read_sets
from .completion import problem_names
from .theory import TheoremId


def practice(
    name: TheoremId,
    problem: Annotated[
        str,
        typer.Option(
            "--problem",
            help="A name of `fedco problems`, or FILE.py:NAME: a problem, or a function that returns a model, a loss and clients as "
            "for `fedco estimate`, whose constants are then estimated.",
            autocompletion=problem_names,
        ),
    ],
    horizon: Annotated[
        int,
        typer.Option("--T", min=1, help="Horizon, in the theorem's unit: iterations, or rounds where it counts those."),
    ],
    sets: Sets = None,
    factor: Annotated[int, typer.Option("--factor", min=2, help="Ratio of neighbouring step sizes of the grid.")] = 4,
    below: Annotated[int, typer.Option("--below", min=0, help="Step sizes below theory's.")] = 1,
    above: Annotated[int, typer.Option("--above", min=0, help="Step sizes above theory's.")] = 6,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds, the same at every step size.")] = 8,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget",
            min=1,
            help="Runs (one seed at one step size) for the grid; as many as the whole grid has without it.",
        ),
    ] = None,
    root_seed: Annotated[int, typer.Option("--root-seed", help="The key of all noise.")] = 0,
    max_hours: MaxHours = 24.0,
    statement: StatementOption = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Also write a figure (.png, .svg, .pdf).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Also write practice.png, practice.svg, table.csv and practice.json."
        ),
    ] = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """A theorem's step size beside a grid on one problem, and why its bound is not what is measured.

    `tune` chooses the hyperparameters that make the bound least at the horizon (whole numbers that --set does not give: rounds of 2
    steps, batches of 1). The step size is then multiplied by powers of --factor, everything else stays. For each: the mean of the metric
    that the theorem bounds with a 95% interval over the seeds, and the bound, or which condition fails. Last, bound / measured at theory's
    step size as a product: a line for each constant, in the order of the theorem's symbols, that is put in as it is along the run,
    and one for each step of the proof whose sides a run shows, or for what remains.

    Example: fedco practice baselines.local_sgd --problem federated_logistic --T 200 --set p=4
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..algorithms import progress
    from ..bounds.registry import get_theorem as theorem
    from ..validation.practice.compare import practice as run
    from .common import check_medium, chosen_statement

    check_medium(as_json, latex, markdown)
    item = theorem(name)
    found = run(
        item,
        problem,
        T=horizon,
        statement=chosen_statement(item, statement),
        settings=read_sets(sets),
        factor=factor,
        below=below,
        above=above,
        seeds=seeds,
        budget=budget,
        root_seed=root_seed,
        hours=max_hours,
        progress=lambda label: progress.to_stream(label=label),
        note=note,
    )
    if figure is not None:
        found.plot().save(figure)
    if out is not None:
        found.write(out)
    if not emit_sheets(lambda: [found.sheet()], as_json, latex, markdown):
        emit(found.to_dict(), found, as_json)


def register(app: typer.Typer) -> None:
    app.command()(practice)
