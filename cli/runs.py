"""Commands that list, run and show: fedco problems | algorithms | estimate | run | compare-runs | plot | reproduce | report | explore"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ..bounds.language.reading import InputError, read_number
from ..storage import make_folder
from .command import Answer, Asked, Texts, command, listing, note


@command()
def problems() -> Answer:
    """List the registered problems: kind, sizes, parameters, theorems that fit, certified constants at the default parameters."""
    from ..bounds.registry import get_theorem
    from ..validation.runs.fit import fitting_theorems, tried
    from ..validation.runs.problem_list import listed

    names = ("name", "kind", "summary", "clients", "dim", "inner_dim")
    rows = []
    for item in listed():
        found = fitting_theorems(item)
        row = {
            **{name: getattr(item, name) for name in names},
            "certified": all(c["kind"] != "estimated" for c in item.certificates.values()),
            "fits": list(found),
            "only": {name: list(labels) for name, labels in found.items() if labels != tried(get_theorem(name))},
            "properties": list(item.properties),
            "parameters": item.parameters,
            "constants": item.certificates,
        }
        rows.append(row)
    return Answer({"problems": rows}, "\n\n".join(map(problem_text, rows)))


def problem_text(row: dict[str, Any]) -> str:
    """A problem in words; a theorem of which only some statements fit is followed by these."""
    head = f"{row['name']} ({row['kind']}, {row['clients']} clients, dimension {row['dim']}): {row['summary']}"
    constants = [f"  {q:<36} {c['value']:<12.6g} {c['kind']}" for q, c in row["constants"].items()]
    parameters = "  parameters " + ", ".join(f"{key}={value}" for key, value in row["parameters"].items())
    which = (f"{name} ({', '.join(row['only'][name])})" if name in row["only"] else name for name in row["fits"])
    fits = f"  fits {', '.join(which) or 'no theorem as it stands'}"
    properties = f"  properties {', '.join(row['properties'])}"
    return "\n".join([head, fits, properties, parameters, *constants])


@command()
def algorithms() -> Answer:
    """List the methods: problem kinds, oracles that they call, hyperparameters."""
    from ..algorithms.registry import listed

    rows = [_method_row(name, method) for name, method in listed().items()]
    text = "\n".join(f"{r['name']:<16} {', '.join(r['hyperparameters']):<40} {r['summary']}" for r in rows)
    columns = {
        "method": lambda row: row["name"],
        "hyperparameters": lambda row: ", ".join(row["hyperparameters"]),
        "summary": lambda row: row["summary"],
    }
    return listing("algorithms", "Methods", rows, text, columns)


def _method_row(name: str, method: Any) -> dict[str, Any]:
    """What is known of a method, from its source or of its class."""
    if isinstance(method, type):
        from dataclasses import fields

        hyperparameters, summary = fields(method), (method.__doc__ or "").strip().splitlines()[0]
    else:
        hyperparameters, summary = method.hyperparameters, method.summary
    return {
        "name": name,
        "kinds": list(method.kinds),
        "needs": list(method.needs),
        "needs_on": {kind: list(oracles) for kind, oracles in method.needs_on.items()},
        "hyperparameters": [item.name for item in hyperparameters],
        "summary": summary,
    }


@command()
def estimate(
    file: str, theorem: str, out: Path, form: str | None = None, points: int | None = None, radius: float | None = None
) -> Answer:
    """Estimate the constants of a theorem for a torch model and client data, and write them as a constants file.

    Use the file to plan a run: fedco admissible, tune and bound read it with --constants. Estimated constants never support a bound.
    """
    from ..validation.experiments.estimates import estimate as search
    from ..validation.experiments.estimates import write

    found = search(
        file, form=form, theorem=theorem, points=points, radius=radius, progress=lambda name: note(f"  {name}")
    )
    made = write(found, theorem, out)
    names = ("value", "quantity", "kind", "confidence", "above", "growth", "method", "where")
    rows = {symbol: {name: getattr(one, name) for name in names} for symbol, one in made.estimates.items()}
    text = "\n".join(
        f"{name:<12} {row['value']:<12.6g} {row['kind']:<10} {row['quantity']}" for name, row in rows.items()
    )
    data = {"theorem": made.theorem.id, "statement": made.label, "file": str(out), "constants": rows}
    return Answer(data, f"{text}\nwrote {out}")


@command(computes=True)
def run(
    method: str,
    problem: str,
    steps: int,
    out: Path,
    grid: Texts = None,
    values: Texts = None,
    seeds: int = 8,
    metric: Texts = None,
    every: int | None = None,
    root_seed: int = 0,
    scheduler: str | None = None,
    max_hours: float = 24.0,
    theorem: Texts = None,
    format: str = "csv",
) -> Answer:
    """Run any method on any problem over a grid, with several seeds. If you stop it, the same command continues where it was.

    Example: fedco run feddro --problem feddro_noisy --grid eta=1e-3:1:13log --set beta=0.1 --set I=4 --T 500
    --metric gradient_sq --out runs/eta
    """
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
            settings=values,
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
    return Answer(done.to_dict(), done)


@command(name="compare-runs")
def compare_runs(folders: list[Path]) -> Answer:
    """Compare runs in a table: the last values at every grid point, mean over the seeds with a 95% t-interval."""
    from ..validation.experiments.table import compared, comparison_text

    rows = compared(folders)
    return Answer({"runs": rows}, comparison_text(rows))


@command(trust=True, computes=True)
def plot(
    asked: Asked,
    out: Path,
    over: str = "",
    sweep: str = "",
    low: str = "1000",
    high: str = "1000000",
    measured: Path | None = None,
    seeds: int = 64,
    cache: Path | None = None,
    jobs: int | None = None,
    max_hours: float = 24.0,
) -> Answer:
    """Plot a bound over one symbol, log-log: from given constants (--over), or measured on certified problems (--sweep).

    Examples: fedco plot feddro.theorem_5_1 --sweep K --out speedup.svg
    """
    if out.suffix not in (".svg", ".png", ".pdf"):
        raise InputError(f"--out {out.name[:40]}: wanted a file ending in .svg, .png or .pdf")
    if bool(over) == bool(sweep):
        raise InputError("plot: wanted either --over NAME or --sweep NAME")
    make_folder(out.parent)
    if sweep:
        return _swept(asked.theorem.id, sweep, out, seeds=seeds, cache=cache, jobs=jobs, hours=max_hours)
    from ..bounds.settings import symbol_of
    from ..figures import save
    from ..validation.report.bound_plots import bound_plot

    ends = [float(read_number(name, end, "a positive number")) for name, end in (("--from", low), ("--to", high))]
    over = symbol_of(asked.chosen, over) or over
    given = asked.resolved()
    figure, gaps = bound_plot(given.statement, over, (ends[0], ends[1]), given.values, measured)
    save(figure, out)
    about = {"theorem": asked.name, "statement": asked.chosen.label, "over": over, "file": str(out)}
    text = "\n".join([f"wrote {out}", *(f"  left out: {gap}" for gap in gaps)])
    return Answer({**about, "data": figure.data, "gaps": gaps}, text).about(asked.chosen, given)


def _swept(theorem: str, over: str, out: Path, *, jobs: int | None, **more: Any) -> Answer:
    """The sweep of a theorem over a symbol, measured and drawn."""
    from ..algorithms.engine.limits import usual_jobs
    from ..figures import save
    from ..validation.runs.registry import sweep_for
    from ..validation.runs.sweeps import run_sweep, sweep_figure

    found = run_sweep(sweep_for(theorem, over), jobs=jobs or usual_jobs(), **more)
    figure = sweep_figure(found)
    save(figure, out)
    return Answer({**found.to_dict(), "file": str(out), "data": figure.data}, f"{found}\nwrote {out}")


@command(computes=True)
def reproduce(
    figure: str | None = None,
    whole: bool = False,
    full: bool = False,
    data: Path | None = None,
    seeds: int = 24,
    again: bool = False,
    scheduler: str | None = None,
    max_hours: float = 24.0,
    out: Path = Path("reproduced"),
) -> Answer:
    """Run a figure or table of a paper's experiments, or all of them; without arguments, list them.

    Each answer says what differs from the paper, what the paper's figure shows, and which of its orderings of the methods are seen
    here, at a level that is corrected for all comparisons. Where an ordering is not the paper's, controls are run: the figure with
    something changed for all methods.
    Needs scikit-learn: pip install 'fedco[experiments]'.
    """
    from ..validation.experiments import reproduce as found

    if whole and figure:
        raise InputError("reproduce: wanted either KEY/FIGURE or --all, got both")
    if not whole and not figure:
        return Answer({"figures": found.listing()}, found.listing_text())
    from ..validation.experiments.figures import Setup

    setup = Setup(full=full, data=data, seeds=seeds, hours=max_hours, say=lambda text: note(f"  {text}"))
    if figure:
        done = found.run_figure(figure, setup, out, scheduler)
        return Answer(done.to_dict(), f"{done}\nwritten to {out / done.key}")
    rows = found.run_all(setup, out, note, again, scheduler)
    return Answer({"figures": rows}, f"{len(rows)} figures: {out / 'index.html'}")


# --- pages to look at ------------------------------------------------------------------------------------------------


@command(trust=True, computes=True)
def report(
    out: Path = Path("report"),
    quick: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    opened: bool = False,
) -> Answer:
    """Write the report, one self-contained HTML page: theorems, constants, verdicts, rates, counterexamples, the audit, runs."""
    from ..validation.report.page import write_report

    return _page(write_report(out, quick=quick, jobs=jobs, scheduler=scheduler), opened)


@command(trust=True)
def explore(
    names: Texts = None, out: Path = Path("explore.html"), measured: Path | None = None, opened: bool = False
) -> Answer:
    """Write one offline HTML page on which the constants of a theorem can be moved and its bound follows.

    The page has sliders for every constant and hyperparameter. It draws the bound and its terms over any of them, and shows how far
    each condition is from failing, the admissible interval of each hyperparameter and the admissible set of two, elasticities, the
    printed statement beside the corrected one, and several theorems on the same constants. It needs no server and no network.

    Examples: fedco explore --out explore.html --open; fedco explore my_bound.toml feddro.theorem_5_1
    """
    from ..validation.explorer.page import write_explorer

    return _page(write_explorer(out, names or (), measured=measured, say=note), opened)


def _page(made: Any, opened: bool) -> Answer:
    """What was written, shown in the browser where that is asked for."""
    if opened:
        import webbrowser

        if not webbrowser.open(made.page.resolve().as_uri()):
            note(f"no browser found: open {made.page} by hand")
    return Answer(made.to_dict(), made)
