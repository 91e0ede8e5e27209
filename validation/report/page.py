"""`fedco report`: one self-contained HTML page, a dashboard first: what was checked, what holds, what is refuted, what is open.

A second page beside it has the papers' own experiments.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from ...algorithms.engine.fingerprint import source_fingerprint
from ...algorithms.engine.limits import check_jobs, usual_jobs
from ...bounds.audit.checks import audit
from ...bounds.audit.findings import Finding
from ...bounds.audit.refuted import evidence, exact_instances
from ...bounds.audit.refuted import refutations as declared_refutations
from ...bounds.registry import all_papers, all_theorems
from ...storage import make_folder, recall_or_make, write_json, write_text
from ..experiments.keeping import write_kept
from ..runs.bundle import write as write_bundle
from ..runs.controls import Control, run_controls
from ..runs.recipe import Instance
from ..runs.refutations import bundle_of
from ..runs.registry import chains, counterexamples, declared, recipe_for, recipes, why_without
from ..runs.validate import Validation, validate, versions
from ..statistics.alpha_budget import REPORT_ALPHA, AlphaBudget
from ..statistics.verdict import Outcome
from . import contents, view
from .rates import MeasuredRates, measure_rates

PACKAGE = ("algorithms", "bounds", "synthetic", "validation")
"""Sources on which a part of the report depends: every package that computes."""

BRIEF, BRIEF_SEEDS = 3, 8
"""A short report judges every other theorem on so many short runs, and measures its lemmas on so many seeds."""
TEMPLATES = Path(__file__).parent / "templates"
EXPERIMENTS = "experiments.html"
"""The page beside the report with the papers' own experiments, from the results that the repository keeps."""
_OWN = {"style": "style.css", "script": "script.js"}
"""Files that go into the page as they are: our own style sheet and script, and nothing else."""


@dataclass(frozen=True)
class Report:
    """Where the page lies and what it says, in numbers."""

    page: Path
    statements: dict[str, int]
    verdicts: dict[str, int]
    findings: int
    refutations: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "page": str(self.page)}

    def __str__(self) -> str:
        known = ", ".join(f"{count} {name}" for name, count in self.statements.items())
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.verdicts.items()))
        return (
            f"{self.page}: statements {known}; {self.refutations} exact refutations; verdicts on single instances {counts}; "
            f"{self.findings} findings re-checked; {self.seconds:.0f} s"
        )


def write_report(out: Path, *, quick: bool = False, jobs: int | None = None, scheduler: str | None = None) -> Report:
    """Write `out`/index.html, and what it says as `out`/report.json; whatever lies under `out` is reused when nothing changed.

    Args:
        quick: everything for the theorems that papers declare so, and for every other theorem verdicts on its BRIEF
            instances with the shortest horizons and the lemmas on the shortest; otherwise everything for all.
        jobs: processes; all cores without it.
        scheduler: address of a dask scheduler that spreads the runs instead.
    """
    began = time.perf_counter()
    make_folder(out)
    if jobs:
        check_jobs(jobs)
    known = recipes()
    in_full = declared("in_full") if quick else tuple(known)
    share = REPORT_ALPHA / (len(known) + 1)
    validations = {name: _validate(name, name not in in_full, share, jobs, out, scheduler) for name in known}
    swept = declared("sweeps_in_short") if quick else in_full
    rates = {name: _rates(name, jobs, out, scheduler) for name in swept}
    chained = [name for name in known if name in chains()]
    _say(f"every lemma of the {len(chained)} proofs that have a chain, measured")
    lemmas = dict(zip(chained, spread(partial(_lemmas, in_full=in_full, out=out), chained, jobs), strict=True))
    _say("negative controls")
    controls, ledger = run_controls(share)
    _say("counterexamples: certificates and figures")
    exhibits = cached_json(out / "parts", "exhibits", _exhibits)
    _say("exact refutations of printed claims")
    refutations = spread(partial(_refutation, out=out), list(declared_refutations()), jobs)
    spread(partial(_refutation, out=out), list(evidence()), jobs)  # the findings name their bundles
    _say("audit: running every check")
    papers = [paper.key for paper in all_papers()]
    audited = cached_json(out / "parts", "audit", lambda: spread(_findings, papers, jobs))
    findings = [item for found in audited for item in found]
    _say("status of every statement")
    theory = cached_json(out / "parts", "theory", lambda: spread(_card, list(all_theorems()), jobs))
    for card in theory:
        name = card["id"]
        card |= contents.measured(
            validations.get(name), recipes().get(name), rates.get(name), lemmas.get(name), why_without(name)
        )
        card["findings"] = [item for item in findings if item["theorem"] == name]
    made = {
        "format": contents.FORMAT,
        "cards": theory,
        "refutations": refutations,
        "exhibits": exhibits,
        "controls": _controls(list(validations.values()), controls),
        "ledger": _ledger([*(found.ledger for found in validations.values()), ledger]),
        "versions": versions(),
        "covered": _covered(quick, in_full, known),
        "experiments": write_kept(out / EXPERIMENTS),
    }
    write_json(out / "report.json", made)
    page = write_text(out / "index.html", render(made))
    return _counted(page, made, time.perf_counter() - began)


def render(made: Mapping[str, Any]) -> str:
    """The page from its contents; every text in it is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    environment.filters |= view.FILTERS
    own = {name: Markup((TEMPLATES / file).read_text(encoding="utf-8")) for name, file in _OWN.items()}
    return environment.get_template("page.html").render(view.page(made) | own)


def _counted(page: Path, made: Mapping[str, Any], seconds: float) -> Report:
    statements = Counter(s["status"]["outcome"] for card in made["cards"] for s in card["statements"])
    verdicts = Counter(h["outcome"] for card in made["cards"] for run in card["runs"] for h in run["horizons"])
    findings = sum(len(card["findings"]) for card in made["cards"])
    ordered = {name: statements[name] for name in view.OUTCOMES if statements[name]}
    return Report(page, ordered, dict(verdicts), findings, len(made["refutations"]), seconds)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _covered(quick: bool, in_full: Sequence[str], known: Mapping[str, Any]) -> str:
    """What was run for this page, in a sentence."""
    if not quick:
        return f"All {len(known)} theorems with runs were measured on all of their instances."
    return (
        f"A short report: {', '.join(in_full) or 'no theorem'} with all instances, each of the {len(known) - len(in_full)} other theorems "
        f"with runs on at most {BRIEF} instances at the shortest horizon. Statuses, refutations and the audit are complete."
    )


def _validate(
    name: str, is_brief: bool, share: Fraction, jobs: int | None, out: Path, scheduler: str | None
) -> Validation:
    return validate(
        name,
        label=recipe_for(name).label,
        instances=shortest_instances(recipe_for(name).instances) if is_brief else None,
        alpha=share,
        jobs=jobs,
        out=out / name,
        quiet=False,
        scheduler=scheduler,
    )


def shortest_instances(instances: Sequence[Instance]) -> list[Instance]:
    """The BRIEF instances with the shortest horizons, each at that horizon alone."""
    chosen = sorted(instances, key=lambda item: min(item.horizons))[:BRIEF]
    return [replace(item, horizons=(min(item.horizons),)) for item in chosen]


def _rates(name: str, jobs: int | None, out: Path, scheduler: str | None) -> MeasuredRates:
    _say(f"{name}: rates over its symbols")
    cache = out / name / "measurements"
    return measure_rates(name, jobs=jobs or usual_jobs(), cache=cache, scheduler=scheduler)


def spread(make: Callable[[str], Any], names: Sequence[str], jobs: int | None) -> list[Any]:
    """`make` of every name, in their order, on `jobs` processes."""
    if jobs == 1:
        return [make(name) for name in names]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=jobs or usual_jobs(), batch_size=1)(delayed(make)(name) for name in names))


def _card(name: str) -> dict[str, Any]:
    return contents.card(all_theorems()[name])


def _findings(paper: str) -> list[dict[str, Any]]:
    """Of a paper, worst first."""
    found: list[Finding] = audit(paper)
    for finding in found:
        finding.check()  # a finding that is not confirmed stops the report
    return [finding.to_dict() for finding in found]


def _exhibits() -> list[dict[str, Any]]:
    """The papers' own counterexamples: every case with its certificate and what is drawn of it."""
    return [contents.exhibit(theorem, known) for theorem, known in counterexamples().items()]


def _refutation(name: str, out: Path) -> dict[str, Any]:
    """An exact refutation, its instance rebuilt now and its bundle written to `out`/refutations."""
    item = exact_instances()[name]
    case = item.case()
    path = write_bundle(bundle_of(item), out / "refutations" / f"{name}.json")
    picture = None if case.picture is None else case.picture.drawn()
    return contents.refutation(item, case, f"{path.parent.name}/{path.name}", picture)


def _lemmas(theorem: str, in_full: Sequence[str], out: Path) -> dict[str, Any]:
    """The chain of lemmas of a theorem, measured or taken from `out`."""
    from ..lemmas.measure import measure_chain, measure_lemmas
    from ..lemmas.report import section

    cache = out / theorem / "lemmas"
    if theorem not in in_full:
        shortest = shortest_instances(recipe_for(theorem).instances)[0]
        return section([measure_chain(theorem, shortest, shortest.horizons[0], seeds=BRIEF_SEEDS, cache=cache)])
    return section(measure_lemmas(theorem, cache=cache))


def _controls(validations: Sequence[Validation], controls: Sequence[Control]) -> list[dict[str, str]]:
    """Every control with what was wanted of it; one that misbehaves is printed as it is."""
    divided = [Control("a divided bound", Outcome.REFUTED, verdict) for v in validations for verdict in v.controls]
    return [
        {
            "kind": control.name,
            "name": f"{control.verdict.claim} on {control.verdict.instance}",
            "wanted": str(control.wanted),
            "got": str(control.verdict.outcome),
        }
        for control in (*controls, *divided)
    ]


def _ledger(ledgers: Sequence[AlphaBudget]) -> dict[str, Any]:
    tests = [test for ledger in ledgers for test in ledger.to_dict()["tests"]]
    return {"total": str(sum((ledger.total for ledger in ledgers), Fraction(0))), "tests": tests}


def cached_json(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """`make()`, a JSON value, from `folder`/`name`.json if it was written by this very source."""
    return recall_or_make(folder / f"{name}.json", {"source": source_fingerprint(PACKAGE)}, make)
