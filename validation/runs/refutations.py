"""Exact refutations of printed claims as bundles that `fedco replay` recomputes from scratch.

Each one is declared in `bounds/papers/<key>/counterexamples.py`; nothing is declared here. A replay rebuilds the instance,
checks every fact about it, evaluates both sides again, and compares every number of the file with what it found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from ... import __version__
from ...bounds.audit.necessary import kept_bundles
from ...bounds.audit.refutation import Refutation
from ...bounds.audit.refuted import refutations
from ...errors import InputError
from ...suggestion import nearest
from .bundle import FROM_DATA, Bundle, BundleError, Replay, Sides, from_dict, read, write
from .bundle import replay as replay_bundle

_COMPARED = ("claim", "mode", "problem", "certificates", "hyperparameters", "seeds", "notes", "values", "bound", "cap")


def bundle_of(item: Refutation) -> Bundle:
    """The bundle of a refutation, its instance rebuilt now.

    Raises:
        RefutationError, InadmissibleError: the instance is not what it says, or a printed condition fails.
    """
    case = item.case()
    item = item.graded(case)
    left, right = item.sides(case)
    certificates = {
        name: {"value": _plain(value), "kind": "exact", "argument": why}
        for name, (value, why) in case.constants.items()
    }
    return Bundle(
        claim=_claim(item),
        recipe=item.name,
        mode="exact",
        problem=_plain({**case.problem, "parameters": dict(case.problem["parameters"])}),
        certificates=certificates,
        hyperparameters=_plain(dict(case.hyperparameters)),
        seeds={},
        values=list(left),
        bound=right,
        versions={"fedco": __version__},
        notes={
            "instance": item.summary,
            "grade": item.grade,
            "status": item.word,
            "reading": item.reading or "none is needed: the instance satisfies every assumption that fedco show prints",
            "choice": case.choice,
            "assumptions": {**case.assumptions, **{each.name: each.holds for each in item.checked(case)}},
            "assumption_checks": {each.name: list(each.how) for each in item.checked(case)},
            "alternatives": dict(item.alternatives),
            "observables": _plain(dict(case.observables)),
            "checked": list(case.facts),
            "findings": list(item.findings),
        },
    )


def _claim(item: Refutation) -> str:
    """The claim in one line with the reading under which it is false, so that no verdict stands without it."""
    return f"{item.claim} ({item.statement}{'' if item.grade == 'refuted' else f'; {item.word}'})"


def _plain(value: Any) -> Any:
    """Numbers as integers or fractions, tuples as lists: what a file gives back is then equal to what was written."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value


def _recompute(item: Refutation) -> Callable[[Bundle], Sides]:
    def run(bundle: Bundle) -> Sides:
        fresh = bundle_of(item)
        for name in _COMPARED:
            stored, again = getattr(bundle, name), getattr(fresh, name)
            if _plain(stored) != _plain(again):
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
        return _recompute(refutations()[name])

    def __iter__(self) -> Iterator[str]:
        return iter((*refutations(), FROM_DATA))

    def __len__(self) -> int:
        return len(refutations()) + 1


KEPT = Path(__file__).parents[2] / "docs" / "refutations"
"""The bundles that come with fedco, in the repository as in an installed package."""
REGISTRY: Mapping[str, Callable[[Bundle], Sides]] = _Registry()


def registry(method: Path | None) -> Mapping[str, Callable[[Bundle], Sides]]:
    """What a bundle is recomputed by; with the file of a method for theorems that have one of their own."""
    if method is None:
        return REGISTRY
    from ..falsifier.bundle import recompute

    return {FROM_DATA: partial(recompute, method=method)}


def bundle_file(given: str) -> Path:
    """The file of a bundle: the one that is there, else the refutation of this name that comes with fedco.

    Args:
        given: a path; or a name as in `docs/refutations`, with or without that folder and `.json`.

    Raises:
        InputError: there is neither; the message has the nearest names.
    """
    if Path(given).exists():
        return Path(given)
    known = {file.stem: file for file in KEPT.glob("*.json")}
    name = _name(given)
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


def write_all(folder: Path) -> dict[str, Path]:
    """Write every exact refutation; returns name -> file."""
    return {name: write(bundle_of(item), folder / f"{name}.json") for name, item in refutations().items()}


def rows(folder: Path) -> list[dict[str, str]]:
    """Write every bundle to `folder`; returns rows for a table: claim, instance, reading, both sides, file."""
    made = []
    for name, item in refutations().items():
        bundle = bundle_of(item)
        path = write(bundle, folder / f"{name}.json")
        made.append(
            {
                "name": name,
                "claim": bundle.claim,
                "instance": str(bundle.notes["instance"]),
                "grade": str(bundle.notes["grade"]),
                "reading": str(bundle.notes["reading"]),
                "left": f"{float(bundle.values[0]):.6g}",
                "right": f"{float(bundle.bound[1]):.6g}",
                "file": f"{folder.name}/{path.name}",
            }
        )
    return made


if __name__ == "__main__":
    for target in write_all(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/refutations")).values():
        print(target)
