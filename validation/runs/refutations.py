"""Exact refutations of printed claims as bundles that `fedco replay` recomputes from scratch.

Nothing is declared here. A replay rebuilds the instance, checks every fact about it, evaluates both sides again, and compares every
number of the file with what it found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from ... import __version__
from ...bounds.audit.bundled import FOLDER, NO_READING, within_reach
from ...bounds.audit.necessary import kept_bundles
from ...bounds.audit.refutation import Case, Refutation, RefutationError
from ...bounds.audit.refuted import exact_instances, refutations
from ...bounds.registry import all_papers, get_paper, get_theorem
from ...errors import InputError
from ...suggestion import nearest
from ..exact.problem import Instance
from .bundle import FROM_DATA, Bundle, BundleError, Replay, Sides, from_dict, plain, read, write
from .bundle import replay as replay_bundle

_WORDS = ("slip", "picture", "order")
"""Notes that are copied into the answer: nothing follows from them."""
_COMPARED = ("claim", "mode", "problem", "certificates", "hyperparameters", "seeds", "notes", "values", "bound", "cap")


def bundle_of(item: Refutation) -> Bundle:
    """The bundle of a refutation, its instance rebuilt now and, where it is data, run now.

    Raises:
        RefutationError, InadmissibleError: the instance is not what it says, or a printed condition fails.
    """
    case = item.case() if item.data is None else run_now(item)
    item = item.graded(case)
    left, right = item.sides(case)
    checked = item.checked(case)
    certificates = {
        name: {"value": plain(value), "kind": "exact", "argument": why} for name, (value, why) in case.constants.items()
    }
    return Bundle(
        claim=_claim(item),
        recipe=item.name if item.data is None else item.data["recipe"],
        mode="exact",
        problem=plain({**case.problem, "parameters": dict(case.problem["parameters"])}),
        certificates=certificates,
        hyperparameters=plain(dict(case.hyperparameters)),
        seeds={},
        values=list(left),
        bound=right,
        versions={"fedco": __version__},
        notes={
            "instance": item.summary,
            "grade": item.grade,
            "status": item.word,
            "reading": item.reading or NO_READING,
            "choice": case.choice,
            "assumptions": {**case.assumptions, **{each.name: each.holds for each in checked}},
            "assumption_checks": {each.name: list(each.how) for each in checked},
            "alternatives": dict(item.alternatives),
            "observables": plain(dict(case.observables)),
            "checked": list(case.facts),
            "findings": list(item.findings),
            **({"evidence": True} if item.is_evidence else {}),
            **(
                {}
                if item.data is None
                else {part: item.data["notes"][part] for part in _WORDS if part in item.data["notes"]}
            ),
        },
    )


def run_now(item: Refutation) -> Case:
    """The instance of a bundle with both sides, observables and checks as the method's own code gives them now.

    Raises:
        RefutationError: the instance is not what the bundle says.
    """
    from ..falsifier.confirm import Claimed, NotConfirmed, left_side
    from ..falsifier.declared import target_of
    from ..falsifier.lemma import Place

    assert item.data is not None
    case = item.case()
    given = case.problem["parameters"]
    try:
        about = given["right"]["claim"] if "right" in given else item.claim
        target = target_of(get_theorem(about), item.statement)
        own = [name for name, binding in target.symbols.items() if binding.quantity.role == "constant"]
        place = given.get("place")
        if place is not None and target.link is None:
            raise InputError("place: wanted none, as the claim is about a whole run")
        claimed = Claimed(
            Instance.from_dict({"settings": {}, **given["instance"]}),
            {name: Fraction(value) for name, (value, _) in case.constants.items() if name in own},
            {name: Fraction(value) for name, value in case.hyperparameters.items()},
            None if given.get("interval") is None else (Fraction(given["interval"][0]), Fraction(given["interval"][1])),
            None if place is None else Place(**place),
            given.get("reach"),
            given.get("method", {}),
            "within" in given,
        )
        left, seen, checked = left_side(target, claimed)
    except (NotConfirmed, InputError, ValueError, KeyError, TypeError) as error:
        raise RefutationError(f"{item.name}: {error}") from error
    facts = {**within_reach(item.data), **dict.fromkeys(checked, True)}
    return replace(case, left=left, observables=seen, facts=facts)


def _claim(item: Refutation) -> str:
    """The claim in one line with the reading under which it is false, so that no verdict stands without it."""
    return f"{item.claim} ({item.statement}{'' if item.grade == 'refuted' else f'; {item.word}'})"


def _recompute(item: Refutation) -> Callable[[Bundle], Sides]:
    def run(bundle: Bundle) -> Sides:
        try:
            fresh = bundle_of(item)
        except RefutationError as error:
            raise BundleError(str(error)) from error
        for name in _COMPARED:
            stored, again = getattr(bundle, name), getattr(fresh, name)
            if plain(stored) != plain(again):
                raise BundleError(f"{name}: not that of {item.name}: {_first_difference(stored, again)}")
        return Sides(fresh.values, fresh.bound)

    return run


def _first_difference(stored: Any, again: Any, where: str = "") -> str:
    if isinstance(stored, Mapping) and isinstance(again, Mapping) and set(stored) == set(again):
        return next(
            (_first_difference(stored[k], again[k], f"{where}{k}: ") for k in stored if stored[k] != again[k]), ""
        )
    return f"{where}wanted {str(again)[:60]}, got {str(stored)[:60]}"


class _Registry(Mapping[str, Callable[[Bundle], Sides]]):
    """Recipe name -> function, made when asked for: reading the list loads no paper twice.

    A bundle of the falsifier holds its instance as data, and is rebuilt from that.
    """

    def __getitem__(self, name: str) -> Callable[[Bundle], Sides]:
        if name == FROM_DATA:
            from ..falsifier.bundle import recompute

            return recompute
        return _recompute(exact_instances()[name])

    def __iter__(self) -> Iterator[str]:
        return iter((*exact_instances(), FROM_DATA))

    def __len__(self) -> int:
        return len(exact_instances()) + 1


REGISTRY: Mapping[str, Callable[[Bundle], Sides]] = _Registry()


def registry(method: Path | None) -> Mapping[str, Callable[[Bundle], Sides]]:
    """What a bundle is recomputed by; with the file of a method for theorems that have one of their own."""
    if method is None:
        return REGISTRY
    from ..falsifier.bundle import recompute

    return {FROM_DATA: partial(recompute, method=method)}


def kept() -> dict[str, Path]:
    """The bundles that come with the papers, by name."""
    folders = [paper.file.folder / FOLDER for paper in all_papers() if paper.file is not None]
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.json"))}


def bundle_file(given: str) -> Path:
    """The file of a bundle: the one that is there, else the refutation of this name that comes with a paper.

    Args:
        given: a path; or a name, with or without a folder before it and `.json` behind it.

    Raises:
        InputError: there is neither; the message has the nearest names.
    """
    if Path(given).exists():
        return Path(given)
    known, name = kept(), _name(given)
    if name not in known:
        raise InputError(
            f"{given[:60]}: wanted the file of a bundle or the name of a refutation; {nearest(name, known)}"
        )
    return known[name]


def _name(given: str) -> str:
    return Path(given).name.removesuffix(".json")


def named_bundle(given: str) -> Bundle:
    """The bundle of a file or name, as for `bundle_file`; or the instance of this name that shows what of a statement is necessary.

    Raises:
        InputError: there is no such file or name.
        BundleError: the file is damaged, or not a bundle.
    """
    kept = {} if Path(given).exists() else kept_bundles()
    return from_dict(kept[_name(given)]) if _name(given) in kept else read(bundle_file(given))


def names_about(claim: str) -> tuple[str, ...]:
    """The names of the refutations of a claim; none where it is no claim that is refuted."""
    return tuple(name for name, item in refutations().items() if item.claim == claim)


def replay(given: str | Path) -> Replay:
    """Rebuild a refutation and judge it again.

    Args:
        given: as for `named_bundle`.

    Raises:
        InputError: there is no such file or name.
        BundleError: the file is damaged, or not a bundle.
    """
    return replay_bundle(named_bundle(str(given)), REGISTRY)


def write_again(names: Iterable[str] = ()) -> Iterator[Path]:
    """Compute the named refutations again, or all of them, and write their files in the folders of their papers."""
    known = exact_instances()
    for name in names or known:
        paper = get_paper(known[name].claim.partition(".")[0])
        yield write(bundle_of(known[name]), paper.written.folder / FOLDER / f"{name}.json")


if __name__ == "__main__":
    for target in write_again(sys.argv[1:]):
        print(target)
