"""fedco problems | algorithms | validate | plot | counterexample | report | replay"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..bounds.language.reading import InputError, read_number
from ..storage import make_folder
from .common import (
    Assume,
    Constants,
    Json,
    MaxHours,
    Scheduler,
    Sets,
    StatementOption,
    Trust,
    chosen_statement,
    emit,
    emit_about,
    emit_sheets,
    listing,
    note,
    settled,
)
from .completion import problem_names, theorem_ids
from .theory import TheoremId

if TYPE_CHECKING:
    from ..bounds.language.result import Sheet
    from ..validation.runs.problem_list import Listed

Device = Annotated[str, typer.Option("--device", help="cpu or cuda.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; all cores without it.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder for measurements, figures and results.json.")
]


def problems(as_json: Json = False) -> None:
    """The registered problems: kind, sizes, parameters, theorems that fit, certified constants at the default parameters."""
    from ..validation.runs.fit import fitting_theorems
    from ..validation.runs.problem_list import listed

    rows = [_problem_row(item, fitting_theorems(item) if item.certified else ()) for item in listed()]
    emit({"problems": rows}, "\n\n".join(_problem_text(row) for row in rows), as_json)


def _problem_row(item: Listed, fits: Sequence[str]) -> dict[str, Any]:
    row = {
        name: getattr(item, name) for name in ("name", "kind", "summary", "clients", "dim", "inner_dim", "certified")
    }
    known = {"properties": list(item.properties), "parameters": item.parameters, "constants": item.certificates}
    return {**row, "fits": list(fits), **known}


def _problem_text(row: dict[str, Any]) -> str:
    head = f"{row['name']} ({row['kind']}, {row['clients']} clients, dimension {row['dim']}): {row['summary']}"
    constants = [f"  {q:<36} {c['value']:<12.6g} {c['kind']}" for q, c in row["constants"].items()]
    missing = [] if row["certified"] else ["  constants are estimated on request, and never support a bound"]
    parameters = "  parameters " + ", ".join(f"{key}={value}" for key, value in row["parameters"].items())
    fits = f"  fits {', '.join(row['fits']) or 'no theorem as it stands'}"
    properties = f"  properties {', '.join(row['properties'])}"
    return "\n".join([head, fits, properties, parameters, *constants, *missing])


def algorithms(as_json: Json = False) -> None:
    """The methods: problem kinds, oracles that they call, hyperparameters."""
    from ..algorithms.registry import listed

    rows = [_method_row(name, method) for name, method in listed().items()]
    text = "\n".join(f"{r['name']:<16} {', '.join(r['hyperparameters']):<40} {r['summary']}" for r in rows)
    cells = ((r["name"], ", ".join(r["hyperparameters"]), r["summary"]) for r in rows)
    if not emit_sheets(lambda: [listing("Methods", ("method", "hyperparameters", "summary"), cells)], as_json):
        emit({"algorithms": rows}, text, as_json)


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


def _check_device(device: str) -> str:
    if device not in ("cpu", "cuda"):
        raise InputError(f"--device {device[:20]}: wanted cpu or cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise InputError("--device cuda: wanted a machine with a CUDA device, found none")
    return device


def validate(
    name: TheoremId,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            "--problem",
            help="Only this problem: a registered one or FILE.py:NAME. Repeatable.",
            autocompletion=problem_names,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="Seeds per experiment; planned in advance without it.")
    ] = None,
    alpha: Annotated[
        str, typer.Option("--alpha", help="Total probability of a false verdict, shared by all tests.")
    ] = "1e-6",
    statement: Annotated[
        str | None,
        typer.Option(
            "--statement",
            metavar="LABEL",
            help="Which statement is judged; without it that of the paper's own instances, mostly the printed one.",
        ),
    ] = None,
    device: Device = "cpu",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    max_hours: MaxHours = 24.0,
    out: Out = None,
    lemmas: Annotated[
        bool, typer.Option("--lemmas", help="Measure both sides of every lemma of the proof instead; no verdicts.")
    ] = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Run a theorem's method on certified problems that it admits, and judge its bound with e-values."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..bounds.registry import get_theorem as theorem
    from ..validation.runs.registry import recipe_for
    from ..validation.runs.validate import validate as run

    item = theorem(name)
    label = chosen_statement(item, statement or recipe_for(item).label)
    if lemmas:
        _lemmas(name, label, problem, seeds, out, as_json)
        return
    level = read_number("--alpha", alpha, "a level between 0 and 1")
    if not 0 < level < 1:
        raise InputError(f"--alpha: wanted a level between 0 and 1, got {alpha}")
    found = run(
        item,
        label=label,
        problems=problem,
        seeds=seeds,
        alpha=level,
        device=_check_device(device),
        jobs=jobs,
        scheduler=scheduler,
        hours=max_hours,
        out=out,
        quiet=False,
    )
    if not emit_sheets(lambda: [found.sheet()], as_json):
        emit(found.to_dict(), found, as_json)


def _lemmas(
    name: str, label: str, problems: list[str] | None, seeds: int | None, out: Path | None, as_json: bool
) -> None:
    from ..validation.lemmas.measure import measure_lemmas

    cache = make_folder(out / "lemmas") if out else None
    found = measure_lemmas(name, problems=problems, seeds=seeds, label=label, cache=cache)
    emit(
        {"theorem": name, "kind": "measurement", "runs": [run.to_dict() for run in found]},
        "\n\n".join(map(str, found)),
        as_json,
    )


def plot(
    name: TheoremId,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Figure to write: .svg, .png or .pdf.")],
    over: Annotated[
        str, typer.Option("--over", metavar="NAME", help="Symbol on the horizontal axis, for instance T, K, I.")
    ] = "",
    sweep: Annotated[
        str,
        typer.Option("--sweep", metavar="NAME", help="Measure the theorem's sweep over this symbol beside the bound."),
    ] = "",
    low: Annotated[str, typer.Option("--from", help="Left end of the axis.")] = "1000",
    high: Annotated[str, typer.Option("--to", help="Right end of the axis.")] = "1000000",
    measured: Annotated[
        Path | None, typer.Option("--with", metavar="DIR", help="Folder of a `fedco validate` run to draw beside it.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=16, help="Seeds per point of --sweep.")] = 64,
    cache: Annotated[
        Path | None, typer.Option("--cache", metavar="DIR", help="Measurements of --sweep, reused when they are there.")
    ] = None,
    jobs: Jobs = None,
    max_hours: MaxHours = 24.0,
    statement: StatementOption = None,
    sets: Sets = None,
    constants: Constants = None,
    assume: Assume = None,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Plot a bound over one symbol, log-log: from given constants (--over), or measured on certified problems (--sweep).

    Examples: fedco plot feddro.theorem_5_1 --sweep K --out speedup.svg
    """
    if out.suffix not in (".svg", ".png", ".pdf"):
        raise InputError(f"--out {out.name[:40]}: wanted a file ending in .svg, .png or .pdf")
    if bool(over) == bool(sweep):
        raise InputError("plot: wanted either --over NAME or --sweep NAME")
    make_folder(out.parent)
    if sweep:
        _plot_sweep(name, sweep, out, seeds, cache, jobs, max_hours, as_json)
        return
    from ..bounds.registry import get_theorem as theorem
    from ..bounds.settings import symbol_of
    from ..figures import save
    from ..validation.report.bound_plots import bound_plot

    item = theorem(name)
    left = float(read_number("--from", low, "a positive number"))
    right = float(read_number("--to", high, "a positive number"))
    chosen = item.statement(chosen_statement(item, statement))
    over = symbol_of(chosen, over) or over
    given = settled(chosen, sets, constants, assume)
    figure, gaps = bound_plot(given.statement, over, (left, right), given.values, measured)
    save(figure, out)
    emit_about(
        chosen,
        {"theorem": name, "statement": chosen.label, "over": over, "file": str(out), "data": figure.data, "gaps": gaps},
        "\n".join([f"wrote {out}", *(f"  left out: {gap}" for gap in gaps)]),
        as_json,
        given,
    )


def _plot_sweep(
    name: str, over: str, out: Path, seeds: int, cache: Path | None, jobs: int | None, hours: float, as_json: bool
) -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..algorithms.engine.limits import usual_jobs
    from ..bounds.registry import get_theorem as theorem
    from ..figures import save
    from ..validation.runs.registry import sweep_for
    from ..validation.runs.sweeps import run_sweep, sweep_figure

    theorem(name)
    found = run_sweep(sweep_for(name, over), seeds=seeds, jobs=jobs or usual_jobs(), cache=cache, hours=hours)
    figure = sweep_figure(found)
    save(figure, out)
    emit({**found.to_dict(), "file": str(out), "data": figure.data}, f"{found}\nwrote {out}", as_json)


def counterexample(
    name: Annotated[
        str, typer.Argument(metavar="[ID]", help="A theorem with a certified counterexample; the only one without it.")
    ] = "",
    case: Annotated[str | None, typer.Option("--case", help="I or II; all without it.")] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Certify a paper's own counterexample: that a method stays away from the stationary point, for every step size claimed."""
    from ..figures import save
    from ..validation.runs.registry import counterexamples

    known = counterexamples()
    chosen = name or (next(iter(known)) if len(known) == 1 else "")
    if chosen not in known:
        raise InputError(f"{chosen[:40] or 'counterexample'}: has no counterexample; wanted {' or '.join(known)}")
    shown = known[chosen]
    if case is not None and case not in shown.cases:
        raise InputError(f"--case {case[:10]}: wanted {' or '.join(shown.cases)}")
    if out:
        make_folder(out)
    found = {key: shown.summary(key) for key in ([case] if case else shown.cases)}
    for key in found if out else ():
        assert out is not None
        save(shown.figure(key), out / f"counterexample_case_{key}.svg")
        note(f"wrote {out / f'counterexample_case_{key}.svg'}")
    emit({"theorem": chosen, "cases": found}, "\n\n".join(shown.text(item) for item in found.values()), as_json)


def report(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for index.html and everything behind it.")
    ] = Path("report"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="The theorems that papers name in full, the others on three short runs: a few minutes on two cores.",
        ),
    ] = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    show: Annotated[bool, typer.Option("--open", help="Show the page in the browser when it is written.")] = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """One self-contained HTML page: theorems, constants, verdicts, rates, counterexamples, the audit and what was run."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from ..validation.report.page import write_report

    made = write_report(out, quick=quick, jobs=jobs, scheduler=scheduler)
    emit(made.to_dict(), made, as_json)
    if show:
        import webbrowser

        if not webbrowser.open(made.page.resolve().as_uri()):
            note(f"no browser found: open {made.page} by hand")


def replay(
    bundle: Annotated[
        str,
        typer.Argument(
            metavar="BUNDLE|NAME|ID",
            help="The file of a refutation, the name of one that comes with fedco, or the id of a claim: all of its refutations.",
            autocompletion=theorem_ids,
        ),
    ],
    method: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py", help="The file of the method, where the refuted theorem has one of its own: it is run."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Re-check a refutation from scratch: recompute both sides and judge again; exit status 1 if it is not confirmed.

    A bundle holds everything that it is about, the theorem included. A method in a file is named by the file's SHA-256, and
    runs only where you give that file.

    Examples: fedco replay my_bundle.json ; fedco replay feddro.theorem_5_1
    """
    from ..validation.runs.bundle import BundleError
    from ..validation.runs.refutations import named_bundle, names_about

    names = () if Path(bundle).exists() else names_about(bundle)
    try:
        answers = {name: _replayed(name, named_bundle(name), method) for name in names or (bundle,)}
    except (BundleError, OSError) as error:
        raise InputError(f"{Path(bundle).name[:60]}: wanted a readable bundle, got {error}") from None
    ((data, text, _), *more) = answers.values()
    if more:
        text = "\n".join(f"{name}: {answer}" for name, (_, answer, _) in answers.items())
        bundles = [{"name": name, **answer} for name, (answer, _, _) in answers.items()]
        data = {"confirmed": all(item["confirmed"] for item in bundles), "claim": bundle, "bundles": bundles}
    if not emit_sheets(lambda: [sheet for *_, sheet in answers.values()], as_json):
        emit(data, text, as_json)
    if not data["confirmed"]:
        raise typer.Exit(1)


def _replayed(name: str, kept: Any, method: Path | None = None) -> tuple[dict[str, Any], str, Sheet]:
    """What a replay of one bundle finds, as data, as text and as a sheet."""
    from ..bounds.language.result import Sheet
    from ..validation.runs.bundle import replay as run
    from ..validation.runs.refutations import registry

    done = run(kept, registry(method))
    data = {
        "confirmed": done.confirmed,
        "largest_difference": done.largest_difference,
        "verdict": done.verdict.to_dict(),
        "assumptions": dict(kept.notes.get("assumptions", {})),
    }
    outcome = "confirmed" if done.confirmed else "NOT confirmed"
    notes = tuple(
        f"{about}: {kept.notes[about]}"
        for about in ("instance", "status", "reading", "choice")
        if kept.notes.get(about)
    )
    decided = kept.notes.get("assumption_checks", {}).items()
    notes += tuple(
        f"assumption {about} {'holds' if kept.notes['assumptions'][about] else 'is violated'}: {'; '.join(how)}"
        for about, how in decided
    )
    whole = done.verdict.sheet()
    sheet = Sheet(
        f"{Path(name).name.removesuffix('.json')}: {outcome}", None, whole.tables, (outcome, *whole.notes, *notes)
    )
    return data, "\n".join([outcome, str(done.verdict), *(f"  {note}" for note in notes)]), sheet


def register(app: typer.Typer) -> None:
    for command in (problems, algorithms, validate, plot, counterexample, report, replay):
        app.command()(command)
