"""fedco falsify"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from .common import Json, Scheduler, Trust, emit, emit_sheets, noted
from .theory import TheoremId


def falsify(
    name: TheoremId,
    statement: Annotated[
        str, typer.Option("--statement", metavar="LABEL", help="Which statement to attack.")
    ] = "printed",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Wall time of each search.")] = 60.0,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Searches beside each other, each with a seed of its own.")
    ] = 1,
    scheduler: Scheduler = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the search.")] = 0,
    hidden: Annotated[
        str,
        typer.Option(
            "--hidden",
            metavar="VALUE|any",
            help="Value of a constant that the paper hides in O(.); `any` asks whether a larger one would do: 1, 10, 100, ...",
        ),
    ] = "1",
    each_term: Annotated[
        bool,
        typer.Option(
            "--each-term",
            help="Drop each term, relax each condition: which are necessary? One search for each of them.",
        ),
    ] = False,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            "--assume", metavar="PROPERTY", help="A property that instances must have besides; may be repeated."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Search a part of the region: `nu=3`, `alpha<=1/(100*L)`, `r=1`; may be repeated.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the bundles.")] = Path(
        "falsified"
    ),
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Search an instance on which a theorem or a lemma is false; a violation is checked in exact numbers and kept as a bundle.

    SURVIVED says that this search found nothing, and how close it came: no proof. docs/falsifier.md says what is searched.
    """
    from ..bounds.registry import get_theorem
    from ..validation.falsifier import falsify as run
    from ..validation.falsifier.each_term import as_table
    from ..validation.falsifier.each_term import each_term as weaken
    from ..validation.falsifier.hidden import any_value
    from .common import chosen_statement

    declared, line = get_theorem(name), _Line()
    label = chosen_statement(declared, statement)
    more, narrower = tuple(assume or ()), tuple(where or ())
    if each_term and (more or narrower):
        raise InputError("--each-term: takes neither --assume nor --where")
    if scheduler is not None and (each_term or hidden == "any"):
        raise InputError(
            "--scheduler: spreads searches with seeds of their own (--jobs), not --each-term or --hidden any"
        )
    if each_term:
        parts = []
        for part in weaken(declared, label, seconds=seconds, seed=seed, hidden=_number(hidden), out=out, progress=line):
            parts.append(part)
            line.done(f"{part.change}: {part.verdict}, ratio {part.ratio:.4g}")
        data = {"theorem": declared.id, "statement": label, "parts": [part.to_dict() for part in parts]}
        emit(data, f"{declared.id} ({label})\n{as_table(parts)}", as_json)
    elif hidden == "any":
        found = any_value(
            declared, label, seconds=seconds, seed=seed, assume=more, where=narrower, out=out, progress=line
        )
        emit(found.to_dict(), found, as_json)
    else:
        value = _number(hidden)
        result = run(
            declared,
            label,
            seconds=seconds,
            seed=seed,
            hidden=value,
            assume=more,
            where=narrower,
            out=out,
            progress=line,
            jobs=jobs,
            scheduler=scheduler,
        )
        bundle = (f"bundle: {result.path}",) if result.path else ()
        if not emit_sheets(lambda: [noted(result.sheet(), bundle)], as_json):
            emit(result.to_dict(), "\n".join([str(result), *(f"  {line}" for line in bundle)]), as_json)


def _number(text: str) -> float:
    from ..bounds.language.reading import read_number
    from ..errors import InputError

    value = float(read_number("--hidden", text))
    if value <= 0:
        raise InputError(f"--hidden: wanted a positive number or `any`, got {text[:30]}")
    return value


class _Line:
    """One line on stderr that is written over, where it is a terminal; what is done stays."""

    def __call__(self, progress: Any) -> None:
        if sys.stderr.isatty():
            text = (
                f"\r{progress.seconds:6.1f} s  {progress.evaluations:>9} instances  best ratio {progress.ratio:.4g}  "
            )
            print(f"{text}{progress.search_space[:70]:<70}", end="", file=sys.stderr, flush=True)

    def done(self, text: str) -> None:
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{text:<120}".rstrip(), file=sys.stderr, flush=True)


def register(app: typer.Typer) -> None:
    app.command()(falsify)
