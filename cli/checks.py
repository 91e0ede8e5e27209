"""Commands that test a statement: fedco validate | falsify | replay | counterexample | verify | practice"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..bounds.language.reading import InputError, read_number
from ..storage import make_folder
from .command import Answer, Texts, answer_of, chosen_label, command, note, pairs


@command(trust=True, computes=True)
def validate(
    name: str,
    problem: Texts = None,
    seeds: int | None = None,
    alpha: str = "1e-6",
    statement: str | None = None,
    device: str = "cpu",
    jobs: int | None = None,
    scheduler: str | None = None,
    max_hours: float = 24.0,
    out: Path | None = None,
    lemmas: bool = False,
) -> Answer:
    """Run a theorem's method on certified problems that it admits, and judge its bound with e-values.

    The exit status is 0 whatever the verdicts are, which --json has one by one.
    """
    from ..bounds.registry import get_theorem
    from ..validation.runs.registry import recipe_for
    from ..validation.runs.validate import validate as run

    item = get_theorem(name)
    label = chosen_label(item, statement or recipe_for(item).label)
    if lemmas:
        from ..validation.lemmas.measure import measure_lemmas

        cache = make_folder(out / "lemmas") if out else None
        measured = measure_lemmas(name, problems=problem, seeds=seeds, label=label, cache=cache)
        data = {"theorem": name, "kind": "measurement", "runs": [each.to_dict() for each in measured]}
        return Answer(data, "\n\n".join(map(str, measured)))
    level = read_number("--alpha", alpha, "a level between 0 and 1")
    if not 0 < level < 1:
        raise InputError(f"--alpha: wanted a level between 0 and 1, got {alpha}")
    return answer_of(
        run(
            item,
            label=label,
            problems=problem,
            seeds=seeds,
            alpha=level,
            device=_device(device),
            jobs=jobs,
            scheduler=scheduler,
            hours=max_hours,
            out=out,
            quiet=False,
        )
    )


def _device(device: str) -> str:
    if device not in ("cpu", "cuda"):
        raise InputError(f"--device {device[:20]}: wanted cpu or cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise InputError("--device cuda: wanted a machine with a CUDA device, found none")
    return device


@command(trust=True)
def falsify(
    name: str,
    statement: str = "printed",
    seconds: float = 60.0,
    jobs: int = 1,
    scheduler: str | None = None,
    seed: int = 0,
    hidden: str = "1",
    each_term: bool = False,
    assume: Texts = None,
    where: Texts = None,
    out: Path | None = Path("falsified"),
) -> Answer:
    """Search for an instance on which a theorem or a lemma is false; a violation is checked in exact numbers and kept as a bundle.

    SURVIVED means that this search found no violation; it also says how close it came. This is no proof. docs/falsifier.md says what
    is searched. The exit status is 0 whatever a search finds: the outcome is the first line, and `outcome` with --json.
    """
    from ..bounds.registry import get_theorem
    from ..validation.falsifier import falsify as run
    from ..validation.falsifier.attack import any_value
    from ..validation.falsifier.each_term import as_table
    from ..validation.falsifier.each_term import each_term as weaken

    declared, line = get_theorem(name), _Line()
    label = chosen_label(declared, statement)
    narrower: dict[str, Any] = {"assume": tuple(assume or ()), "where": tuple(where or ())}
    asked: dict[str, Any] = {"seconds": seconds, "seed": seed, "out": out, "progress": line}
    if each_term and any(narrower.values()):
        raise InputError("--each-term: takes neither --assume nor --where")
    if scheduler is not None and (each_term or hidden == "any"):
        raise InputError(
            "--scheduler: spreads searches with seeds of their own (--jobs), not --each-term or --hidden any"
        )
    if each_term:
        parts = []
        for part in weaken(declared, label, hidden=_positive(hidden), **asked):
            parts.append(part)
            line.done(f"{part.change}: {part.verdict}, ratio {part.ratio:.4g}")
        data = {"theorem": declared.id, "statement": label, "parts": [part.to_dict() for part in parts]}
        return Answer(data, f"{declared.id} ({label})\n{as_table(parts)}")
    if hidden == "any":
        found = any_value(declared, label, **narrower, **asked)
        return Answer(found.to_dict(), found)
    result = run(declared, label, hidden=_positive(hidden), jobs=jobs, scheduler=scheduler, **narrower, **asked)
    return answer_of(result, *([f"  bundle: {result.path}"] if result.path else []))


def _positive(text: str) -> float:
    value = float(read_number("--hidden", text))
    if value <= 0:
        raise InputError(f"--hidden: wanted a positive number or `any`, got {text[:30]}")
    return value


class _Line:
    """The progress of a search in one line of the terminal, which each report overwrites; lines about finished searches stay."""

    def __call__(self, progress: Any) -> None:
        if sys.stderr.isatty():
            text = (
                f"\r{progress.seconds:6.1f} s  {progress.evaluations:>9} instances  best ratio {progress.ratio:.4g}  "
            )
            print(f"{text}{progress.search_space[:70]:<70}", end="", file=sys.stderr, flush=True)

    def done(self, text: str) -> None:
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{text:<120}".rstrip(), file=sys.stderr, flush=True)


@command()
def replay(bundle: str, method: Path | None = None) -> Answer:
    """Re-check a refutation from scratch: recompute both sides and judge again; exit status 1 if it is not confirmed.

    A bundle holds everything that is needed, the theorem included. If its method is code in a file, the bundle has only the SHA-256
    of that file, and you give the file with --method.

    Examples: fedco replay my_bundle.json ; fedco replay feddro.theorem_5_1
    """
    from ..validation.runs.bundle import BundleError
    from ..validation.runs.refutations import named_bundle, names_about

    names = () if Path(bundle).exists() else names_about(bundle)
    try:
        answers = {name: _replayed(name, named_bundle(name), method) for name in names or (bundle,)}
    except (BundleError, OSError) as error:
        raise InputError(f"{Path(bundle).name[:60]}: wanted a readable bundle, got {error}") from None
    if len(answers) == 1:
        (answer,) = answers.values()
        return answer
    text = "\n".join(f"{name}: {answer.text}" for name, answer in answers.items())
    bundles = [{"name": name, **answer.data} for name, answer in answers.items()]
    data = {"confirmed": all(item["confirmed"] for item in bundles), "claim": bundle, "bundles": bundles}
    sheets = [sheet for answer in answers.values() if answer.sheets for sheet in answer.sheets()]
    return Answer(data, text, lambda: sheets, status=int(not data["confirmed"]))


def _replayed(name: str, kept: Any, method: Path | None) -> Answer:
    """What a replay of one bundle finds."""
    from ..bounds.language.result import Sheet
    from ..validation.runs.bundle import replay as run
    from ..validation.runs.refutations import registry

    done = run(kept, registry(method))
    told = done.notes
    data = {
        "confirmed": done.confirmed,
        "largest_difference": done.largest_difference,
        "verdict": done.verdict.to_dict(),
        "assumptions": dict(told.get("assumptions", {})),
    }
    outcome = "confirmed" if done.confirmed else "NOT confirmed"
    notes = [f"{key}: {told[key]}" for key in ("instance", "status", "reading", "choice") if told.get(key)]
    notes += [
        f"assumption {about} {'holds' if told['assumptions'][about] else 'is violated'}: {'; '.join(how)}"
        for about, how in told.get("assumption_checks", {}).items()
    ]

    def sheet() -> Sheet:
        whole = done.verdict.sheet()
        title = f"{Path(name).name.removesuffix('.json')}: {outcome}"
        return Sheet(title, None, whole.tables, (outcome, *whole.notes, *notes))

    text = "\n".join([outcome, str(done.verdict), *(f"  {line}" for line in notes)])
    return Answer(data, text, lambda: [sheet()], status=int(not done.confirmed))


@command()
def counterexample(name: str = "", case: str | None = None, out: Path | None = None) -> Answer:
    """Certify a paper's own counterexample: the method stays away from the stationary point for every step size of the claim."""
    from ..figures import save
    from ..validation.runs.registry import counterexamples

    known = counterexamples()
    chosen = name or (next(iter(known)) if len(known) == 1 else "")
    if chosen not in known:
        raise InputError(f"{chosen[:40] or 'counterexample'}: has no counterexample; wanted {' or '.join(known)}")
    shown = known[chosen]
    if case is not None and case not in shown.cases:
        raise InputError(f"--case {case[:10]}: wanted {' or '.join(shown.cases)}")
    folder = make_folder(out) if out else None
    found = {key: shown.summary(key) for key in ([case] if case else shown.cases)}
    for key in found if folder else ():
        file = Path(str(folder)) / f"counterexample_case_{key}.svg"
        save(shown.figure(key), file)
        note(f"wrote {file}")
    return Answer({"theorem": chosen, "cases": found}, "\n\n".join(shown.text(item) for item in found.values()))


@command(trust=True, computes=True)
def verify(folder: Path, cases: int = 3, seed: int | None = None) -> Answer:
    """Compute a random sample of stored results again and compare them to the last bit; exit status 1 if one differs."""
    from secrets import randbelow

    from ..validation.runs.verify import verify as run

    chosen = randbelow(10**6) if seed is None else seed
    note(f"sample chosen by --seed {chosen}")
    found = run(folder, cases=cases, seed=chosen, say=note)
    return Answer({**found.to_dict(), "seed": chosen}, found, status=int(not found.verified))


@command("latex", "markdown", trust=True, computes=True)
def practice(
    name: str,
    horizon: int,
    problem: str | None = None,
    model: str | None = None,
    values: Texts = None,
    factor: int = 4,
    below: int = 1,
    above: int = 6,
    seeds: int = 8,
    budget: int | None = None,
    root_seed: int = 0,
    max_hours: float = 24.0,
    statement: str | None = None,
    figure_file: Path | None = None,
    out: Path | None = None,
) -> Answer:
    """Compare a theorem's step size with a grid on one problem, and explain why its bound differs from what is measured.

    `tune` chooses the hyperparameters for which the bound is least at the horizon (rounds of 2 steps, and 1 for batches and other counts,
    unless --set gives them). Then the step size alone is multiplied by powers of --factor. For each step size you get the mean of the
    metric that the theorem bounds, with a 95% interval over the seeds, and the bound, or the condition that fails. Last comes the ratio
    of bound to measured mean at theory's step size, as a product: one factor for each constant that is larger than it is along this run,
    and one for each step of the proof that a run can measure, or for the rest.

    Example: fedco practice baselines.local_sgd --problem federated_logistic --T 200 --set p=4
    """
    from ..algorithms import progress
    from ..bounds.registry import get_theorem
    from ..validation.practice.compare import practice as run

    given = [each for each in (problem, model) if each is not None]
    if len(given) != 1:
        raise InputError(f"wanted --problem or --model, got {'both' if given else 'neither'}")
    item = get_theorem(name)
    found = run(
        item,
        given[0],
        T=horizon,
        statement=chosen_label(item, statement),
        settings=pairs(values),
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
    if figure_file is not None:
        found.plot().save(figure_file)
    if out is not None:
        found.write(out)
    return answer_of(found)
