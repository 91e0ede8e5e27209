"""`fedco validate`: a theorem on its certified instances, with verdicts, figures and everything needed to look again."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from ... import __version__
from ...algorithms.engine.fingerprint import source_fingerprint
from ...algorithms.engine.limits import check_jobs, usual_jobs
from ...bounds.language.client_lists import as_certified
from ...bounds.language.reading import InputError
from ...bounds.language.rendering import lines_about, notes_about, status_of, titled
from ...bounds.language.result import AbstractResult, Sheet
from ...bounds.language.theorem import Statement, Theorem
from ...bounds.registry import get_theorem
from ...figures import Axis, Curve, Plot, log_log_plot, mathtext, save
from ...storage import DamagedError, make_folder, read_json, write_json
from ..statistics.alpha_budget import REPORT_ALPHA, AlphaBudget
from ..statistics.evalues import mean_bracket
from ..statistics.slopes import SlopeEstimate, bound_slope, slope_interval
from ..statistics.verdict import Outcome, Verdict, verdict_table
from .campaign import MEASUREMENT, Experiment, ExperimentResult, Task, conclude, plan, run_tasks, tasks_of
from .fit import about_noise
from .generate import Generated, instances_of
from .limits import HOURS, check_experiments
from .measures import measure_of
from .method_of import Given, fixed_by
from .recipe import Instance
from .registry import recipe_for
from .users_certificates import about_certificates

T = TypeVar("T")
RESULTS = "fedco-results/1"
GROUP = 8
"""Number of seeds that are averaged before the logarithm is taken, for a slope."""


@dataclass(frozen=True, repr=False)
class Validation(AbstractResult):
    """Everything that `fedco validate` found about one theorem."""

    theorem: str
    label: str
    results: tuple[ExperimentResult, ...]
    controls: tuple[Verdict, ...]
    ledger: AlphaBudget
    figures: dict[str, Plot]
    missing: tuple[str, ...] = ()
    """Where instances were generated: problem and case that have none, and why."""
    of_users: tuple[str, ...] = ()
    """The problems whose certificates nobody but their author vouches for."""
    about: Statement | None = field(default=None, repr=False, compare=False)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(result.verdict for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem,
            "statement": self.label,
            "results": [result.to_dict() for result in self.results],
            "missing": list(self.missing),
            "negative_controls": [verdict.to_dict() for verdict in self.controls],
            "ledger": self.ledger.to_dict(),
            "versions": versions(),
            **(status_of(self.about) if self.about else {}),
            **{key: said for key, said in self._said.items() if said},
        }

    @property
    def _said(self) -> dict[str, str]:
        """What is said beside the verdicts; empty where there is nothing to say."""
        names = ("clients", "cap", "certificates", "noise", "proved")
        return {name: getattr(self, name) for name in names}

    @property
    def certificates(self) -> str:
        """That the certificates of a user's problem are not proved; empty where there is none."""
        return about_certificates(self.of_users)

    @property
    def clients(self) -> str:
        """What the constants of single clients were taken to be; empty where the theorem has none."""
        return as_certified(self.about.theorem) if self.about else ""

    @property
    def noise(self) -> str:
        """What a statement that is refuted leaves open about noise; empty where it is not, or leaves nothing open."""
        refuted = any(verdict.outcome is Outcome.REFUTED for verdict in self.verdicts)
        return about_noise(self.about.theorem, self.label) if refuted and self.about else ""

    @property
    def proved(self) -> str:
        """What a statement that is refuted although it is proved means; empty where it is not."""
        refuted = any(verdict.outcome is Outcome.REFUTED for verdict in self.verdicts)
        is_proved = refuted and self.about is not None and status_of(self.about)["status"] == "proved"
        return (
            "the statement is proved: where it is refuted, a certificate, an assumption or the code is wrong"
            if is_proved
            else ""
        )

    @property
    def cap(self) -> str:
        """On whose word a metric of one's own has the cap with which it is judged; empty for any other."""
        own = self.about.theorem.metric.own if self.about else None
        said = "its definition says so, and no number that was measured exceeds it"
        return f"{own.name} is at most {own.cap}: {said}" if own else ""

    def sheet(self) -> Sheet:
        """One row for each verdict, then the negative controls; see `AbstractResult`."""
        tables = (
            verdict_table("verdicts", self.verdicts),
            verdict_table("negative controls", self.controls),
        )
        known = notes_about(self.about) if self.about else ()
        own = tuple(filter(None, self._said.values()))
        notes = (*known, *own, "A verdict is about one instance, not about the theorem.", *self.missing)
        return Sheet(f"{self.theorem} ({self.label}): verdicts", None, tables, notes)

    def plot(self) -> Plot:
        """The first of `figures`: what was measured and the bound against the horizon.

        Raises:
            InputError: nothing was measured.
        """
        if not self.figures:
            raise InputError(f"{self.theorem}: nothing was measured, so there is no figure")
        return next(iter(self.figures.values()))

    def __str__(self) -> str:
        own = filter(None, self._said.values())
        return "\n".join([*map(str, (*self.verdicts, *self.controls)), *own, *lines_about(self.about)])


def validate(
    theorem: str | Theorem,
    *,
    label: str = "",
    problems: Sequence[Any] | None = None,
    method: Given | None = None,
    instances: Sequence[Instance] | None = None,
    seeds: int | None = None,
    alpha: str | Fraction = REPORT_ALPHA,
    device: str = "cpu",
    jobs: int | None = None,
    root_seed: int = 0,
    out: Path | None = None,
    quiet: bool = True,
    scheduler: str | None = None,
    hours: float = HOURS,
) -> Validation:
    """Validate a theorem, a registered one or one's own, on certified problems.

    Args:
        theorem: its id, a file that defines it, or the theorem itself.
        label: the statement that is judged; that of its recipe without it.
        problems: names of problems, problem objects, or descriptions of models, whose constants are then estimated; without it the
            instances that its paper declares, or those that are generated on every registered problem that fits.
        method: a method, its class, or a function of the values of the symbols, instead of the one that the theorem names.
            Whatever is an object of the caller's runs in this process.
        instances: judged instead, whatever `problems` says.
        seeds: per experiment; by default planned from cap, bound and alpha.
        alpha: total probability of a false verdict, shared by all experiments and controls.
        jobs: processes; all cores without it.
        scheduler: address of a dask scheduler that spreads the chunks instead of local processes.
        hours: how long the run may take by the estimate that is made before it starts.
        out: folder for measurements (reused when they are there), figures, results.json and seconds.json.

    Raises:
        InputError: no method to run, a problem that does not fit, a level outside (0, 1), or a run that cannot fit or
            end in time.
        OSError: `out` cannot be written; found before anything is run.
    """
    if out:
        make_folder(out)
    if jobs:
        check_jobs(jobs)
    jobs = jobs or usual_jobs()
    item, recipe = get_theorem(theorem), recipe_for(theorem, method)
    measure_of(item.metric)  # before anything else, as it may not be trusted
    label = label or recipe.label
    made = Generated(tuple(instances or ()), ())
    if instances is None:
        say = None if quiet else _said
        made = instances_of(item, label, recipe.instances, problems, fixed_by(item, method), say)
        instances = made.instances
    ledger = AlphaBudget(alpha)
    experiments = plan(
        item,
        instances,
        ledger,
        label=label,
        seeds=seeds,
        root_seed=root_seed,
        budget=ledger.total * 9 / 10,
        method=method,
    )
    check_experiments(experiments, jobs, hours, scheduled=scheduler is not None)
    controls = _plan_controls(experiments, instances, ledger)
    tasks = tasks_of(experiments)
    with _progress(f"{item.id} ({label})", tasks, quiet) as done:
        chunks = run_tasks(
            tasks,
            jobs=jobs,
            cache=out / "measurements" if out else None,
            device=device,
            done=done,
            scheduler=scheduler,
        )
    results = conclude(experiments, chunks, ledger)
    checks = tuple(
        negative_control(result, name, ledger)
        for result, name in zip(_longest(results, instances, lambda one: one.experiment), controls, strict=True)
    )
    figures = {
        instance.name: figure(item, label, instance, results, recipe.limit_exponent)
        for instance in instances
        if len(instance.horizons) > 1 and _is_drawn(instance, results)
    }
    statement = item.statement(label)
    validation = Validation(
        item.id, label, tuple(results), checks, ledger, figures, made.missing, made.of_users, statement
    )
    if out:
        write(validation, out)
    return validation


def _plan_controls(experiments: Sequence[Experiment], instances: Sequence[Instance], ledger: AlphaBudget) -> list[str]:
    """One control per instance, on the data of its longest experiment, allotted before anything runs."""
    names = []
    for experiment in _longest(experiments, instances, lambda one: one):
        names.append(f"control/{experiment.name}")
        ledger.allot(names[-1], ledger.total / 10 / len(instances), experiment.seeds)
    return names


def _longest(listed: Sequence[T], instances: Sequence[Instance], of: Callable[[T], Experiment]) -> list[T]:
    """Of every instance the one with the longest run."""
    return [max((one for one in listed if of(one).instance is each), key=lambda one: of(one).T) for each in instances]


DIVISORS = tuple(10**power for power in range(1, 10))
"""Numbers by which a bound is divided, in this order, until it must be REFUTED. The series is fixed in advance, as its alpha is."""


def negative_control(result: ExperimentResult, name: str, ledger: AlphaBudget) -> Verdict:
    """The first verdict REFUTED of a bound divided by 10, 100, ...; each divisor is tested at an equal share of alpha."""
    alpha = ledger.spend(name, actual_seeds=len(result.statistic)) / len(DIVISORS)
    for divisor in DIVISORS:
        claim = f"negative control: {result.experiment.theorem.id} divided by {divisor:,}"
        verdict = result.judged(result.bound.total / divisor, alpha, claim, result.experiment.where)
        if verdict.outcome is Outcome.REFUTED:
            break
    return verdict


def measured_slope(results: Sequence[ExperimentResult]) -> SlopeEstimate | None:
    """Log-log slope over the horizons of one instance; None where a statistic is exactly 0 (a noiseless run at rest), or
    where there are fewer than two groups of seeds."""
    count = min(len(r.statistic) for r in results)
    values = np.stack([r.statistic[:count] for r in results], axis=1)
    if len(results) < 2 or not (values > 0).all() or count < 2 * GROUP:
        return None
    return slope_interval([r.experiment.T for r in results], values, group_size=GROUP)


def _is_drawn(instance: Instance, results: Sequence[ExperimentResult]) -> bool:
    """A bound of 0, as without noise at rest, has no place on a log axis."""
    return all(r.bound.total for r in results if r.experiment.instance is instance)


def figure(
    theorem: Theorem, label: str, instance: Instance, results: Sequence[ExperimentResult], limit_exponent: float
) -> Plot:
    """Empirical mean of the statistic with its bound against T, the measured slope beside the theory's."""
    mine = sorted((r for r in results if r.experiment.instance is instance), key=lambda r: r.experiment.T)
    horizons = [r.experiment.T for r in mine]
    brackets = [mean_bracket(r.statistic, r.cap) for r in mine]
    slopes = measured_slope(mine)
    metric = theorem.metric
    return convergence_plot(
        horizons,
        [float(r.statistic.mean()) for r in mine],
        [r.bound.total for r in mine],  # type: ignore[misc]
        title=f"{titled(theorem.statement(label))} on {instance.name}",
        metric=Axis(mathtext(metric.latex), str(metric.dimension)),
        band=([b.lower for b in brackets], [b.upper for b in brackets]),
        measured_slope=slopes,
        limit_exponent=limit_exponent,
    )


def write(validation: Validation, out: Path) -> None:
    """results.json, seconds.json (which differs from run to run) and one SVG per figure."""
    write_json(out / "results.json", {"format": RESULTS, **validation.to_dict()})
    write_json(out / "seconds.json", {result.experiment.name: result.seconds for result in validation.results})
    for index, plot in enumerate(validation.figures.values(), start=1):
        save(plot, out / f"figure_{index}.svg")


def _said(name: str) -> None:
    """Which constant of a model is being estimated, or what is attacked, for the person at the terminal."""
    print(f"  {name}", file=sys.stderr)


def versions() -> dict[str, str]:
    """What ran: the package and its source, the interpreter, the numerical libraries and the kind of machine."""
    import importlib.metadata as metadata

    names = ("numpy", "scipy", "sympy", "torch", "python-flint", "matplotlib")
    return {
        "fedco": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in names},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "source": source_fingerprint(MEASUREMENT)[:16],
    }


@contextmanager
def _progress(title: str, tasks: Sequence[Task], quiet: bool) -> Iterator[Any]:
    """A bar on stderr that counts local steps, with the time left."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    total = sum(task.experiment.T * task.count for task in tasks)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr)) as bar:
        handle = bar.add_task(title, total=total)
        yield lambda task: bar.advance(handle, task.experiment.T * task.count)


def read_measured(folder: Path) -> list[dict[str, Any]]:
    """The rows of every results.json in a folder or one level below it.

    Raises:
        InputError: there is none, or one that cannot be read.
    """
    files = [file for file in (folder / "results.json", *sorted(folder.glob("*/results.json"))) if file.is_file()]
    try:
        rows = [row for file in files for row in read_json(file, RESULTS)["results"]]
        _ = [(row["theorem"], row["problem"], row["T"], row["verdict"]["empirical"]) for row in rows]
    except (OSError, KeyError, TypeError, DamagedError) as error:
        raise InputError(f"--with {folder}: wanted the folder of a validate run, got {error}") from None
    if not rows:
        raise InputError(f"--with {folder}: wanted the folder of a validate run, got one without results.json")
    return rows


__all__ = ["Outcome", "Validation", "read_measured", "validate", "versions", "write"]


_GUIDE_OFFSET = 0.6  # the guide line runs parallel below the curve instead of hiding it


def convergence_plot(
    horizons: Sequence[float],
    empirical: Sequence[float],
    bound: Sequence[float],
    *,
    title: str,
    metric: Axis,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    measured_slope: SlopeEstimate | None = None,
    limit_exponent: float | None = None,
) -> Plot:
    """Empirical running mean with its bound against T, log-log, the measured slope beside the theory's.

    Args:
        horizons: `(points,)` T, in local steps.
        empirical: `(points,)` mean over seeds of the claim's statistic.
        bound: `(points,)` right-hand side at the same T, same unit.
        metric: name and unit of the statistic, for instance Axis("mean of ||grad Phi||^2", "[f]^2/[x]^2").
        band: confidence bracket of the mean, two sequences `(points,)`.
        measured_slope: from `slope_interval`; shown in the legend.
        limit_exponent: the exponent as T -> infinity; drawn as a guide line below the curve.
    """
    lower, upper = band if band is not None else (None, None)
    measured = "empirical" if measured_slope is None else f"empirical, slope {measured_slope}"
    theory = f"bound, slope {bound_slope(horizons, bound):.3f} over these T" if len(horizons) > 1 else "bound"
    curves = [
        Curve(measured, horizons, empirical, lower, upper),
        Curve(theory, horizons, bound, theory=True),
    ]
    if limit_exponent is not None:
        guide = [_GUIDE_OFFSET * empirical[-1] * (t / horizons[-1]) ** limit_exponent for t in horizons]
        curves.append(Curve(f"limit exponent {limit_exponent:.3g} (guide)", horizons, guide, theory=True))
    return log_log_plot(curves, title=title, x_axis=Axis("$T$", "local steps"), y_axis=metric)
