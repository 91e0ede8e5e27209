"""`falsify`: search, confirm, shrink, explain, write the bundle."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...algorithms.engine.limits import check_jobs
from ...algorithms.registry import get_method
from ...bounds.language.change import Change, narrowed
from ...bounds.language.client_lists import about_alike, with_clients_alike
from ...bounds.language.reading import InputError
from ...bounds.language.result import AbstractResult, Sheet, Table
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem as find
from ...bounds.registry import paper_of
from ...figures import Axis, Plot, bar_plot
from ...storage import check_folder, digest
from ...synthetic.parts.adversary import one_thread
from ..runs.bundle import Bundle, plain, write
from ..runs.method_of import UnbuiltError
from ..runs.scheduler import run_on_scheduler
from .bundle import bundle_of, definition_of, describe
from .confirm import Confirmed, coefficient_lower_bound
from .declared import Target, formula_of, target_of
from .explain import why
from .formula import Formula
from .instance_space import UncertifiedError
from .noise import OtherDrawsError
from .search import Claim, Found, Progress, search, search_together
from .search_spaces import spaces_of
from .shrink import shrunk

_MOST_SEARCHES = 10_000
"""On a scheduler, whose workers nobody has counted; each search is a call that is sent to it."""
HIDDEN_VALUES = tuple(10.0**power for power in range(7))
"""Of a constant in O(.): larger and larger ones, each refuted by an instance of its own."""
OUTCOMES = ("REFUTED", "SURVIVED", "NOT_APPLICABLE")


@dataclass(frozen=True, repr=False)
class Falsified(AbstractResult):
    """What a search for a counterexample came to.

    Args:
        outcome: REFUTED (a violation is confirmed exactly), SURVIVED (none was found in this time) or NOT_APPLICABLE.
        ratio: left side over bound; confirmed where refuted, else the largest one found in floating point, at most 1.
        why: sentences: what the violation needs, or why nothing could be searched.
        instance: symbol -> number as text, and the problem in one line.
        families: the search spaces that were searched.
        needed: where a term was weakened, the part of its coefficient that the instance needs.
        found: the refutation as a bundle, None where there is none.
    """

    theorem: str
    statement: str
    outcome: str
    ratio: float
    why: tuple[str, ...]
    instance: dict[str, Any] = field(default_factory=dict)
    families: tuple[str, ...] = ()
    evaluations: int = 0
    seconds: float = 0.0
    needed: float = 0.0
    found: Bundle | None = field(default=None, repr=False)
    path: Path | None = None

    @property
    def refuted(self) -> bool:
        return self.outcome == "REFUTED"

    def to_dict(self) -> dict[str, Any]:
        """As the command prints it."""
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "outcome": self.outcome,
            "ratio": self.ratio,
            "confirmed": "exact" if self.refuted else None,
            "instance": self.instance,
            "why": list(self.why),
            "bundle": str(self.path) if self.path else None,
            "families": list(self.families),
            "evaluations": self.evaluations,
            "seconds": self.seconds,
        }

    def sheet(self) -> Sheet:
        """The instance, and what the violation needs; see `AbstractResult`."""
        rows = tuple((name, str(value)) for name, value in self.instance.items())
        title = f"{self.theorem} ({self.statement}): {self.outcome}, left side over bound {self.ratio:.6g}"
        searched = f"{self.evaluations} instances in {self.seconds:.1f} s"
        return Sheet(title, None, (Table("instance", ("symbol", "value"), rows),), (*self.why, searched))

    def plot(self) -> Plot:
        """The ratio of the left side to the bound, beside 1, above which the statement is refuted."""
        sides = {"left side / bound": float(self.ratio), "what the statement allows": 1.0}
        title = f"{self.theorem} ({self.statement}): {self.outcome}"
        return bar_plot({"ratio": sides}, title=title, axis=Axis("left side / bound", "1"))

    def __float__(self) -> float:
        """The ratio of the left side to the bound."""
        return float(self.ratio)

    def __str__(self) -> str:
        head = f"{self.theorem} ({self.statement}): {self.outcome}, ratio {self.ratio:.6g}"
        count = f"  {self.evaluations} instances in {self.seconds:.1f} s, {len(self.families)} families"
        shown = [f"  {name} = {value}" for name, value in self.instance.items()]
        return "\n".join([head, count, *shown, *(f"  {line}" for line in self.why)])


def falsify(
    theorem: Theorem | str,
    statement: str = "printed",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    hidden: float = 1.0,
    change: Change | None = None,
    assume: tuple[str, ...] = (),
    where: tuple[str, ...] = (),
    jobs: int = 1,
    scheduler: str | None = None,
    clock: Callable[[], float] = time.perf_counter,
    out: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Falsified:
    """Search an instance on which a statement is false.

    Args:
        theorem: a theorem, or the id of one.
        statement: label of the statement.
        seconds: wall time of the search; shrinking and explaining come on top.
        seed: of the search.
        hidden: value of a constant that the paper hides in O(.).
        change: attack the statement with this change.
        assume: named properties that instances must have besides those that the theorem assumes.
        where: conditions besides those of the statement, such as `nu == 3` or `alpha <= 1/(100*L)`: only a part of its
            region is searched. A violation there is one of the statement.
        jobs: processes that search beside each other, each with a seed of its own; the first refutation ends them.
        scheduler: address of a dask scheduler on whose workers these searches run instead of local processes.
        clock: what the seconds of the search are counted by.
        out: folder for the bundle.
        progress: called after every generation.

    Raises:
        InputError: there is no such theorem or statement, a condition cannot be read, or its method is code that is not trusted.
        OSError: nothing can be written to `out`; found before the search.
    """
    declared = with_clients_alike(find(theorem) if isinstance(theorem, str) else theorem)
    narrowed(declared, statement, where)
    if declared.method is not None:
        get_method(declared.method.name, declared.method.code)  # before anything else, as it may not be trusted
    began = time.perf_counter()
    if out is not None:
        check_folder(out)
    if scheduler is None:
        check_jobs(jobs)
    elif jobs > _MOST_SEARCHES:
        raise InputError(f"jobs: wanted at most {_MOST_SEARCHES} searches on a scheduler, got {jobs}")
    if jobs > 1 or scheduler is not None:
        search_with = partial(
            falsify,
            declared if paper_of(declared) is None else declared.id,
            statement,
            seconds=seconds,
            hidden=hidden,
            change=change,
            assume=assume,
            where=where,
        )
        best = _beside([partial(search_with, seed=seed + i) for i in range(jobs)], scheduler)
        if out is not None and best.found is not None:
            best = replace(best, path=_written(best.found, target_of(declared, statement, change, assume, where), out))
        return replace(best, seconds=time.perf_counter() - began)
    try:
        target = target_of(declared, statement, change, assume, where)
        definition_of(target)  # what could not be kept is not searched
        spaces_of(target)
    except InputError as error:
        return Falsified(declared.id, statement, "NOT_APPLICABLE", 0.0, (str(error),))
    formula = formula_of(target)
    try:
        with one_thread():
            found = search(target, formula, seconds=seconds, seed=seed, hidden=hidden, progress=progress, clock=clock)
            return _result(target, formula, found, began, out)
    except (UncertifiedError, OtherDrawsError, UnbuiltError) as error:
        return Falsified(declared.id, statement, "NOT_APPLICABLE", 0.0, (str(error),))


def falsify_changes(
    theorem: Theorem,
    statement: str,
    changes: Sequence[Change],
    *,
    out: Path | None = None,
    climb: bool = False,
    **asked: Any,
) -> dict[Change, Falsified]:
    """One search against a statement with each of several changes of one term: a run says something of all of them.

    Args:
        climb: whether a refuted change is followed by others that leave more and more of the term, as long as they are refuted.
        changes: of terms; the first refuted change of a term gets a bundle that is shrunk and explained, the others say in
            `needed` what part of the term their instance needs.
        asked: seconds of the whole search, by the clock, and the rest as for `search_together`; `out` is as for `falsify`.

    Raises:
        InputError: nothing says how the statement is run, or a change is of a condition.
    """
    began, base = time.perf_counter(), target_of(theorem, statement)
    if any(change.way == "relaxed" for change in changes):
        raise InputError("a relaxed condition has other instances and is searched by itself")
    spaces_of(base)
    formula = Formula(base.theorem, statement)
    claims = [Claim(target_of(theorem, statement, change), change, climbs=climb) for change in changes]
    found: dict[Change, Falsified] = {}
    with one_thread():
        search_together(base, formula, claims, **asked)
        for claim in claims:
            change = claim.change
            assert change is not None
            known = any(other.part == change.part and result.refuted for other, result in found.items())
            found[change] = _result(claim.target, formula, claim.found, began, out, brief=known)
    return found


def _beside(searches: Sequence[Callable[[], Falsified]], scheduler: str | None) -> Falsified:
    """The first search that refutes, else the one that came closest; with the instances that all of them tried."""
    results: list[Falsified] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*still being processed", category=UserWarning)
        for result in _as_they_end(searches, scheduler):
            results.append(result)
            if result.refuted:
                break
    best = next((result for result in results if result.refuted), max(results, key=lambda result: result.ratio))
    return replace(best, evaluations=sum(result.evaluations for result in results))


def _as_they_end(searches: Sequence[Callable[[], Falsified]], scheduler: str | None) -> Iterator[Falsified]:
    if scheduler is not None:
        calls = {uuid4().hex: search for search in searches}  # a search depends on the clock: none stands for another
        yield from (result for _, result in run_on_scheduler(calls, scheduler))
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=len(searches), return_as="generator_unordered")(delayed(each)() for each in searches)


def _result(
    target: Target, formula: Formula, found: Found, began: float, out: Path | None, *, brief: bool = False
) -> Falsified:
    """`brief`: as it was found, neither shrunk nor explained nor written."""
    common: dict[str, Any] = {"families": tuple(found.families), "evaluations": found.evaluations}
    name, label = target.theorem.id, target.label
    if found.violation is None or found.draft is None:
        is_tested = found.evaluations > 0 and not found.never_exact
        outcome, ratio = (
            "SURVIVED" if is_tested else "NOT_APPLICABLE",
            0.0 if found.never_exact else min(found.ratio, 1.0),
        )
        lines = (*_survived(found), *_equal_clients(target))
        return Falsified(name, label, outcome, ratio, lines, seconds=time.perf_counter() - began, **common)
    made, violation = found.draft, found.violation
    if not brief:
        made, violation = shrunk(target, formula, made, violation)
    lines = () if brief else (*why(target, formula, made, violation), *_equal_clients(target))
    bundle = bundle_of(target, violation, list(lines))
    path = _written(bundle, target, out) if out and not brief else None
    seconds = time.perf_counter() - began
    return Falsified(
        name,
        label,
        "REFUTED",
        violation.ratio,
        lines,
        _shown(violation),
        seconds=seconds,
        needed=coefficient_lower_bound(target, violation),
        found=bundle,
        path=path,
        **common,
    )


def _equal_clients(target: Target) -> tuple[str, ...]:
    text = about_alike(target.theorem)
    return (f"Searched {text}.",) if text else ()


def _survived(found: Found) -> tuple[str, ...]:
    if found.never_exact:
        return (f"No instance can be evaluated exactly, so that no violation could be confirmed: {found.never_exact}.",)
    left_out = [_left_out(found.left_out)] if found.left_out else []
    if not found.evaluations:
        return tuple(left_out) or ("no family has an instance of this statement",)
    if found.ratio == 0:
        nothing = "No instance with a positive left side and all conditions met was found: this search tested nothing."
        return (nothing, *left_out)
    lines = [f"The largest ratio was found on: {found.where}."] if found.where else []
    if found.refused:
        lines.append(f"{len(found.refused)} candidates failed the exact check, the last one: {found.refused[-1]}")
    return (*lines, *left_out)


def _left_out(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} like it" if len(names) > 1 else ""
    return f"Left out, as its runs take too long for this time: {names[0]}{more}; more seconds search it too."


def _shown(violation: Confirmed) -> dict[str, Any]:
    claimed = violation.claimed
    numbers = {name: str(plain(value)) for name, value in claimed.values.items()}
    shown = {name: text if len(text) <= 40 else f"{float(claimed.values[name]):.12g}" for name, text in numbers.items()}
    return {"problem": describe(claimed), **shown}


def _written(bundle: Bundle, target: Target, out: Path) -> Path:
    changed = "" if target.change is None else f".{target.change.part}_{target.change.way}"
    more = "".join(f".{name}" for name in target.more)
    if target.where:
        more += f".where_{digest(sorted(target.where))[:8]}"
    return write(bundle, out / f"{target.theorem.id}.{target.label}{changed}{more}.falsified.json")


def assert_not_falsified(
    theorem: Theorem | str, statement: str = "printed", *, seconds: float = 60.0, seed: int = 0
) -> None:
    """For test suites: the statement survives a search of so many seconds.

    Raises:
        AssertionError: it is refuted; the message has the instance and why it violates the bound.
    """
    result = falsify(theorem, statement, seconds=seconds, seed=seed)
    if result.refuted:
        raise AssertionError(str(result))


# --- would any value of a constant do that a paper hides in O(.)? ---


@dataclass(frozen=True)
class HiddenConstant:
    """The searches at growing values of a hidden constant, up to the first that found nothing.

    Args:
        searches: value -> what the search there came to.
    """

    theorem: str
    statement: str
    searches: dict[float, Falsified]

    @property
    def refuted(self) -> list[float]:
        """The values that are refuted, each by a bundle."""
        return [value for value, found in self.searches.items() if found.refuted]

    def to_dict(self) -> dict[str, Any]:
        """As the command prints it."""
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "refuted_up_to": max(self.refuted, default=None),
            "sequence": [{"value": value, **found.to_dict()} for value, found in self.searches.items()],
        }

    def __str__(self) -> str:
        rows = [
            f"  {value:<10g} {found.outcome:<9} ratio {found.ratio:<12.6g} {found.path or ''}".rstrip()
            for value, found in self.searches.items()
        ]
        top = max(self.refuted, default=None)
        said = (
            "No value was refuted."
            if top is None
            else f"Every value up to {top:g} is too small, each by its own instance."
        )
        return "\n".join([f"{self.theorem} ({self.statement}), the hidden constant", *rows, said])


def any_value(
    theorem: Theorem,
    statement: str = "printed",
    *,
    out: Path | None = None,
    values: tuple[float, ...] = HIDDEN_VALUES,
    **asked: Any,
) -> HiddenConstant:
    """Searches at 1, 10, 100, ...; it ends at the first value that survives. A larger value only makes the bound larger.

    Args:
        asked: the rest, as for `falsify`.

    Raises:
        InputError: the statement has no hidden constant.
    """
    symbols = theorem.symbols(statement)
    if not any(binding.quantity.name == "hidden_constant" for binding in symbols.values()):
        raise InputError(f"{theorem.id} ({statement}): hides no constant in O(.)")
    found: dict[float, Falsified] = {}
    for value in values:
        folder = None if out is None else out / f"hidden_{value:g}"
        found[value] = falsify(theorem, statement, hidden=value, out=folder, **asked)
        if not found[value].refuted:
            break
    return HiddenConstant(theorem.id, statement, found)
