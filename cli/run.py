"""fedco run | compare-runs | reproduce"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .common import Json, MaxHours, Scheduler, emit, note
from .completion import method_names, problem_names


def run(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", help="A name of `fedco algorithms`, or FILE.py:NAME.", autocompletion=method_names
        ),
    ],
    problem: Annotated[
        str,
        typer.Option("--problem", help="A name of `fedco problems`, or FILE.py:NAME.", autocompletion=problem_names),
    ],
    steps: Annotated[int, typer.Option("--T", min=1, help="Local steps.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the table, run.json and a figure of every metric.")
    ],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=VALUES",
            help="What varies: eta=1e-3:1:13log (13 values, logarithmic), eta=0:1:5 (linear), I=1,2,4. A hyperparameter, "
            "or problem.NAME, a parameter of the problem. Repeatable: every combination is run, with the same noise.",
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A hyperparameter, or problem.NAME, a parameter of the problem. Repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds.")] = 8,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="objective (default), gradient_sq, distance, train_loss, test_loss, accuracy, mean_client_accuracy, "
            "worst_client_accuracy (both also as …_train_accuracy), worst_class_accuracy, train_accuracy, average_precision, "
            "consensus_error, messages or bytes, as far as "
            "the problem offers it. Repeatable.",
        ),
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", min=1, help="Keep a value each so many steps; about 100 values without it.")
    ] = None,
    root_seed: Annotated[int, typer.Option("--root-seed", help="The key of all noise.")] = 0,
    scheduler: Scheduler = None,
    max_hours: MaxHours = 24.0,
    theorem: Annotated[
        list[str] | None,
        typer.Option(
            "--theorem",
            metavar="ID",
            help="Draw the bound of this statement with gradient_sq; all that are about this method, on certified constants, "
            "without it. Repeatable.",
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help="Of the table: csv, or parquet (needs fedco[frames]).")
    ] = "csv",
    as_json: Json = False,
) -> None:
    """Run any method on any problem over a grid, with seeds. Stopped, it goes on where it was when called again.

    Example: fedco run feddro --problem feddro_noisy --grid eta=1e-3:1:13log --set beta=0.1 --set I=4 --T 500
    --metric gradient_sq --out runs/eta
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..algorithms import progress
    from ..algorithms.engine.progress import Interrupted
    from ..validation.experiments.run import run as start

    try:
        done = start(
            method,
            problem,
            T=steps,
            seeds=seeds,
            metrics=metric or ["objective"],
            settings=sets,
            grid=grid,
            every=every,
            root_seed=root_seed,
            theorems=theorem or (),
            out=out,
            format=format,
            progress=lambda label: progress.to_stream(label=label),
            scheduler=scheduler,
            hours=max_hours,
        )
    except Interrupted:
        note("fedco: stopped; the same command goes on from here")
        raise typer.Exit(130) from None
    emit(done.to_dict(), done, as_json)


def compare_runs(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Folders that `fedco run` wrote.")],
    as_json: Json = False,
) -> None:
    """A table of runs: the last values of every grid point, mean over the seeds with a 95% t-interval."""
    from ..validation.experiments.table import compared, comparison_text

    rows = compared(folders)
    emit({"runs": rows}, comparison_text(rows), as_json)


def reproduce(
    figure: Annotated[
        str | None, typer.Argument(metavar="[KEY/FIGURE]", help="One of the list, for instance feddro/figure_6.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All that can be run, and a page with them: DIR/index.html.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="The paper's sizes, networks and step sizes; some take hours or days. A stopped figure goes on.",
        ),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder with MNIST's idx files or the .bin files of CIFAR-10 or CIFAR-100, used instead of scikit-learn's digits, or with "
            "Omniglot's folders of PNG images. Nothing is downloaded.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=6, help="Runs of each curve; with too few everything is undecided.")
    ] = 24,
    again: Annotated[
        bool, typer.Option("--again", help="With --all: run also what an earlier call has left there.")
    ] = False,
    scheduler: Scheduler = None,
    max_hours: Annotated[
        float,
        typer.Option(
            "--max-hours",
            min=0,
            help="Refuse a figure of which one curve, or its tuning, would take longer by an estimate.",
        ),
    ] = 24.0,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for figures, tables and JSON.")] = Path(
        "reproduced"
    ),
    as_json: Json = False,
) -> None:
    """The papers' own experiments: the list of every figure and table without arguments, else run one, or all.

    Each says what is different from the paper, what the paper's figure shows, and which of its orderings ours has, at a level that is
    corrected for all comparisons; where one is not the paper's, controls (the figure with something changed for all methods) are run.
    Needs scikit-learn: pip install 'fedco[experiments]'.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..validation.experiments import reproduce as found

    if every == bool(figure) and (every or figure):
        raise InputError("reproduce: wanted either KEY/FIGURE or --all, got both")
    if not every and not figure:
        emit({"figures": found.listing()}, found.listing_text(), as_json)
        return
    from ..validation.experiments.figures import Setup

    setup = Setup(full=full, data=data, seeds=seeds, hours=max_hours, say=lambda text: note(f"  {text}"))
    if every:
        rows = found.run_all(setup, out, note, again, scheduler)
        emit({"figures": rows}, f"{len(rows)} figures: {out / 'index.html'}", as_json)
        return
    assert figure is not None
    done = found.run_figure(figure, setup, out, scheduler)
    emit(done.to_dict(), f"{done}\nwritten to {out / done.key}", as_json)


def register(app: typer.Typer) -> None:
    app.command()(run)
    app.command("compare-runs")(compare_runs)
    app.command()(reproduce)
