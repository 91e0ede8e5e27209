"""What searches for counterexamples came to, kept with the day: what pages and reports say of a statement.

python -m fedco.validation.falsifier.record [--seconds 60] [--statement LABEL] [ID ...] searches and keeps. A result is no longer used
when the statement that it is about has changed. With --each-term it keeps how much of every term and condition is necessary; with
--instance BUNDLE what an instance shows of it that was made by hand, or found by `fedco falsify ID --each-term --out DIR`; with --carry
what the kept instances of a statement and of related ones show of each of its terms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from math import floor
from pathlib import Path
from typing import Any

import torch

from ... import __version__
from ...bounds.audit.necessary import Needed, formulas_digest, kept_bundles, needed, searched_for, seconds_for
from ...bounds.audit.necessary import keep as keep_needed
from ...bounds.audit.status import has_derivation
from ...bounds.language.change import Change, weakenings
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Statement, Theorem
from ...bounds.registry import all_theorems, get_theorem
from ...storage import read_json, write_json
from ..runs.bundle import Bundle, from_dict, read, to_dict
from .attack import falsify
from .bundle import bundle_of, needed_part
from .carry import are_related, carried, with_free_choices
from .confirm import Confirmed, coefficient_lower_bound, confirm_beside
from .declared import target_of
from .each_term import WHOLE, each_term
from .instance_space import UncertifiedError

FILE = Path(__file__).with_name("searches.json")
Entry = dict[str, Any]
_FORMAT = "fedco searches 1"
FAR = 1e-3
"""A search whose worst instance stays below this part of the bound says next to nothing about the statement."""


@dataclass(frozen=True)
class Searched:
    """A search of one statement that is kept.

    Args:
        seconds: of processor time.
    """

    outcome: str
    ratio: float
    evaluations: int
    seconds: float
    day: str
    version: str

    @property
    def tested_little(self) -> bool:
        """Whether no instance came near the bound, so that surviving means next to nothing."""
        return self.outcome != "REFUTED" and self.ratio < FAR

    def __str__(self) -> str:
        if self.outcome == "REFUTED":
            return f"refuted by a search of {self.seconds:.0f} s, ratio {self.ratio:.4g} ({self.day})"
        if self.ratio == 0:
            return (
                f"searched for {self.seconds:.0f} s ({self.day}): no admissible instance was found, nothing was tested"
            )
        if self.tested_little:
            return (
                f"searched for {self.seconds:.0f} s ({self.day}, fedco {self.version}): no instance came above {self.ratio:.1g} of "
                "the bound, so the search tested hardly anything"
            )
        return (
            f"survived {self.evaluations} instances in {self.seconds:.0f} s of processor time, largest ratio found {self.ratio:.3g} "
            f"({self.day}, fedco {self.version})"
        )


def searched(theorem: Theorem, label: str) -> Searched | None:
    """The kept search of a statement as it stands now; None where there is none."""
    entry = kept_searches(FILE).get(_key(theorem, label))
    if entry is None or entry["statement"] != formulas_digest(theorem.statement(label)):
        return None
    return Searched(**{each.name: entry[each.name] for each in fields(Searched)})


def lines_of(theorem: Theorem) -> list[str]:
    """The part of a theorem's page about searches, in Markdown; nothing where none is kept."""
    found = {label: search for label in theorem.labels if (search := searched(theorem, label)) is not None}
    lines = [f"- `{label}`: {search}." for label, search in found.items()]
    if lines:
        lines = ["## Searched for counterexamples", "", *lines, ""]
    for statement in map(theorem.statement, theorem.labels):
        if parts := needed(statement):
            lines += [
                f"## What of `{statement.label}` is necessary",
                "",
                f"Every term was dropped or divided, and every condition relaxed, for {searched_for(statement)}. What is known is shown by "
                "an exact instance, which `fedco replay` checks.",
                "",
                "| part | known | instance |",
                "|---|---|---|",
            ]
            lines += [f"| {p.part} | {p} | {f'`{p.bundle}`' if p.bundle else ''} |" for p in parts.values()]
            lines.append("")
    return lines


def _key(theorem: Theorem, label: str) -> str:
    return f"{theorem.id} ({label})"


@cache
def kept_searches(file: Path) -> Mapping[str, Entry]:
    found: Mapping[str, Entry] = read_json(file, _FORMAT)["searches"] if file.exists() else {}
    return found


def keep(theorem: Theorem, label: str, seconds: float, *, seed: int = 0, file: Path = FILE) -> Entry:
    """Search a statement for so many seconds of processor time and keep what it came to.

    Raises:
        InputError: nothing says how it is run, or no instance can be evaluated exactly.
    """
    target_of(theorem, label)
    began = time.process_time()
    result = falsify(theorem, label, seconds=seconds, seed=seed, clock=time.process_time)
    if result.outcome == "NOT_APPLICABLE":
        raise InputError(f"{theorem.id}: {result.why[0]}")
    took, day = round(time.process_time() - began, 1), datetime.now(UTC).date().isoformat()
    found = Searched(result.outcome, result.ratio, result.evaluations, took, day, __version__)
    entry = {**vars(found), "statement": formulas_digest(theorem.statement(label))}
    _change(file, _key(theorem, label), entry)
    return entry


def keep_parts(
    theorem: Theorem, label: str, seconds: float, *, seed: int = 0, file: Path | None = None
) -> dict[str, Needed]:
    """How much of every term and condition is necessary, found by searches of so many seconds each and kept with their instances.

    What was known of a part stays where a search finds no more; the seconds of the searches add up.

    Raises:
        InputError: nothing says how it is run.
        UncertifiedError: no search space has its constants.
    """
    about = theorem.statement(label)
    shown = Shown(about)
    for part in each_term(
        with_free_choices(theorem, label), label, seconds=seconds, seed=seed, clock=time.process_time
    ):
        if part.kind == WHOLE:
            raise InputError(f"{about.name}: is refuted as it stands, so that its parts say nothing")
        if part.found is not None:
            shown.add(part.found)
    return _keep_better(about, shown, seconds, file=file)


def keep_instance(bundle: Bundle, *, file: Path | None = None) -> Needed:
    """Keep a refutation of a changed statement as what its part needs, where no larger part was known; for instances made by hand.

    Raises:
        InputError: the bundle changes no part of a statement that fedco knows.
        NotConfirmed: it refutes nothing.
    """
    name, _, label = bundle.claim.partition(" (")
    if "change" not in bundle.problem["parameters"]:
        raise InputError(f"{bundle.claim[:80]}: wanted the refutation of a statement with a part changed")
    needed_part(bundle)
    change = Change.from_dict(bundle.problem["parameters"]["change"])
    about = get_theorem(name).statement(label.rstrip(")"))
    shown = Shown(about)
    shown.add(bundle)
    return _keep_better(about, shown, file=file)[change.part]


def keep_carried(about: Statement, *, file: Path | None = None) -> dict[str, Needed]:
    """Keep what the instances of other statements show of this one: of its other labels, of what it follows from, of its variants."""
    shown = Shown(about)
    for other in statements():
        if are_related(about, other):
            kept = kept_bundles(file)
            for part in needed(other, file).values():
                if part.bundle:
                    shown.add(from_dict(kept[part.bundle]))
    return _keep_better(about, shown, file=file)


def statements() -> Iterator[Statement]:
    """Every statement with terms that has a derivation, as it is meant by default or sharpened."""
    for theorem in all_theorems().values():
        for label in theorem.labels:
            statement = theorem.statement(label)
            if label in (theorem.default, "sharpened") and statement.terms and has_derivation(statement):
                yield statement


class Shown:
    """What instances show of a statement: of every part the one that shows most.

    Args:
        parts: by name.
        bundles: name -> data of the instances that the parts name.
    """

    def __init__(self, about: Statement):
        self.about = about
        self.parts: dict[str, Needed] = {}
        self.bundles: dict[str, dict[str, Any]] = {}

    def add(self, bundle: Bundle) -> None:
        """What one more instance shows, of whatever part."""
        for change, found in carried(bundle, self.about):
            known, shows = self._said(change, found)
            if change.part not in self.parts or self.parts[change.part].less_than(known):
                self.parts[change.part] = known
                self.bundles[known.bundle] = to_dict(shows)

    def _said(self, change: Change, found: Confirmed) -> tuple[Needed, Bundle]:
        """A term is given the coefficient that is said to be needed: the instance breaks the statement with that very part."""
        theorem, label = self.about.theorem, self.about.label
        name, target = f"{theorem.id}.{label}.{change.part}", target_of(theorem, label, change)
        if change.way == "relaxed":
            return Needed(change.part, "condition", relaxed=float(change.factor), bundle=name), bundle_of(target, found)
        parts = min(floor(coefficient_lower_bound(target, found) * 1000), 999)
        if parts:
            target = target_of(theorem, label, Change(change.part, "divided", Fraction(1000, parts)))
            found = confirm_beside(target, found)
        return Needed(change.part, "term", parts / 1000, bundle=name), bundle_of(target, found)


def _keep_better(
    about: Statement, shown: Shown, seconds: float = 0.0, *, file: Path | None = None
) -> dict[str, Needed]:
    """Keep of every part the larger one of what is shown and what was kept, with its instance.

    Args:
        seconds: of processor time for each part, besides those that were searched before.
    """
    before = needed(about, file)
    unknown = [Needed(c.part, "condition" if c.way == "relaxed" else "term") for c in weakenings(about)]
    best = {part.part: part for part in [*unknown, *before.values(), *shown.parts.values()]}
    best |= {name: part for name, part in before.items() if not part.less_than(best[name])}
    kept, old = dict[str, Mapping[str, Any]](shown.bundles), kept_bundles(file)
    kept |= {part.bundle: old[part.bundle] for name, part in before.items() if part.bundle and best[name] is part}
    keep_needed(
        about,
        list(best.values()),
        {name: kept[name] for name in kept if name in {part.bundle for part in best.values()}},
        seconds=seconds + seconds_for(about, file),
        day=datetime.now(UTC).date().isoformat(),
        version=__version__,
        file=file,
    )
    return best


def _change(file: Path, key: str, entry: Entry) -> None:
    kept_searches.cache_clear()
    everything = {**kept_searches(file), key: entry}
    write_json(file, {"format": _FORMAT, "searches": dict(sorted(everything.items()))})
    kept_searches.cache_clear()


def searchable(label: str = "corrected") -> Iterator[Theorem]:
    """Every theorem with such a statement that can be run on a family."""
    for theorem in all_theorems().values():
        if label in theorem.labels:
            try:
                target_of(theorem, label)
            except InputError:
                continue
            yield theorem


def main() -> None:
    """Search the named theorems, or all that have the statement, and keep what they came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of each search")
    parser.add_argument("--statement", default="corrected", metavar="LABEL")
    parser.add_argument(
        "--instance",
        action="append",
        type=Path,
        default=[],
        metavar="BUNDLE",
        help="keep what this refutation shows of a part",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the search; another one goes on where one was kept")
    parser.add_argument(
        "--each-term", action="store_true", help="search for what of every term and condition is necessary instead"
    )
    parser.add_argument(
        "--carry", action="store_true", help="try the kept instances of related statements, without a search"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.carry:
        for about in statements():
            if not options.ids or about.theorem.id in options.ids:
                before = needed(about)
                for now in keep_carried(about).values():
                    if now.part not in before or before[now.part].less_than(now):
                        print(about.name, f"{now.part}: {now}", flush=True)
        return
    for bundle in options.instance:
        shown = keep_instance(read(bundle))
        print(shown.bundle, shown, flush=True)
    if options.instance and not options.ids:
        return
    for theorem in [get_theorem(name) for name in options.ids] or list(searchable(options.statement)):
        try:
            if options.each_term:
                for part in keep_parts(theorem, options.statement, options.seconds, seed=options.seed).values():
                    print(theorem.id, options.statement, f"{part.part}: {part}", flush=True)
                continue
            made = keep(theorem, options.statement, options.seconds, seed=options.seed)
        except (InputError, UncertifiedError) as error:
            print(theorem.id, options.statement, "NOT_APPLICABLE", error, flush=True)
            continue
        print(theorem.id, options.statement, made["outcome"], f"{made['ratio']:.4g}", made["evaluations"], flush=True)


if __name__ == "__main__":
    main()
