"""How the theorems of every paper are run, looked up by theorem."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from ...bounds.files import is_file
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_paper, get_theorem, is_paper, paper_keys, paper_of
from ..lemmas.link import LemmaChain
from .declaration import Counterexample, InPractice, Runs, Sweep
from .method_of import Given, build_of, every_of, steps_of
from .recipe import Recipe


def runs_of(key: str) -> Runs:
    """What a paper declares of its runs; nothing where there is no such paper, or where it names no module.

    Raises:
        InputError: the module that the paper names has no object RUNS.
    """
    module = get_paper(key).runs if is_paper(key) else ""
    return _loaded(module) if module else Runs()


@cache
def _loaded(module: str) -> Runs:
    found = getattr(import_module(module), "RUNS", None)
    if not isinstance(found, Runs):
        raise InputError(
            f"{module}: wanted an object RUNS of the class Runs, which says how a paper's theorems are run"
        )
    return found


def _declared(theorem: str | Theorem) -> Runs:
    """What is declared of the runs of a theorem; nothing for a theorem of one's own, whatever its id."""
    if isinstance(theorem, Theorem) and paper_of(theorem) is None:
        return Runs()
    return runs_of((theorem if isinstance(theorem, str) else theorem.id).partition(".")[0])


def recipes() -> dict[str, Recipe]:
    """Every recipe, by theorem id."""
    every = [runs_of(paper) for paper in paper_keys()]
    return {name: recipe_for(name) for runs in every for name in (*runs.recipes, *runs.instances)}


def is_run(theorem_id: str) -> bool:
    """Whether there is a recipe for a theorem: `recipes` makes all of them, in milliseconds."""
    own = _declared(theorem_id)
    return theorem_id in own.recipes or theorem_id in own.instances


def recipe_for(theorem: str | Theorem, method: Given | None = None) -> Recipe:
    """How a theorem is validated: as its paper declares, else from the method that the theorem or the caller names.

    A recipe that is not declared has no instances: `instances_of` generates them. So it is with another method.

    Raises:
        InputError: there is no method to run; it says why, where a statement cannot be compared with a run.
    """
    own, name = _declared(theorem), theorem if isinstance(theorem, str) else theorem.id
    if name in own.without:
        raise InputError(f"{name}: cannot be validated: {own.without[name]}")
    if name in own.recipes:
        known = own.recipes[name]
        return known if method is None else replace(known, method=build_of(get_theorem(theorem), method), instances=())
    item = theorem if isinstance(theorem, Theorem) else _found(theorem)
    if item is None or (method is None and item.method is None):
        declared = "" if item is not None and paper_of(item) is None else f", or one of {' '.join(recipes())}"
        raise InputError(
            f"{name}: no recipe to validate it, and no method is given; wanted a table [method] with its name, a method of "
            f"your own{declared}"
        )
    label = "corrected" if "corrected" in item.labels else "printed"
    instances = own.instances.get(name, ()) if method is None else ()
    build, steps, every = build_of(item, method), steps_of(item), every_of(item)
    return Recipe(build, instances, average=item.average, label=label, steps=steps, every=every)


def _found(name: str) -> Theorem | None:
    """The theorem with a name, a file's included; None where there is none of the name in its paper."""
    if not is_file(name) and name not in (get_paper(key).theorems if is_paper(key := name.partition(".")[0]) else {}):
        return None
    return get_theorem(name)


def codes_of(theorem: Theorem, case: str = "") -> tuple[Any, ...]:
    """The code of a theorem's method in each variant, beside one of its derivations; none where none is declared."""
    return _declared(theorem).codes.get(f"{theorem.id} {case}".strip(), ())


def why_without(theorem_id: str) -> str:
    """Why a statement cannot be compared with a run; empty where nothing is declared."""
    return _declared(theorem_id).without.get(theorem_id, "")


def chains() -> dict[str, LemmaChain]:
    """Every chain of lemmas, by theorem id."""
    return {name: chain for paper in paper_keys() for name, chain in runs_of(paper).chains.items()}


def in_practice() -> dict[str, tuple[InPractice, ...]]:
    """The problems of docs/practice.md, by theorem id."""
    return {name: found for paper in paper_keys() for name, found in runs_of(paper).practice.items()}


def chain_for(theorem_id: str) -> LemmaChain:
    """The lemmas of a theorem's proof.

    Raises:
        InputError: none is declared.
    """
    declared = _declared(theorem_id).chains
    if theorem_id not in declared:
        raise InputError(f"{theorem_id[:60]}: no chain of lemmas; wanted one of {' '.join(chains())}")
    return declared[theorem_id]


def sweeps() -> dict[str, tuple[Sweep, ...]]:
    """The sweeps of every theorem, by theorem id."""
    return {name: found for paper in paper_keys() for name, found in runs_of(paper).sweeps.items()}


def sweeps_of(theorem_id: str) -> tuple[Sweep, ...]:
    """The sweeps of a theorem; none where none is declared."""
    return _declared(theorem_id).sweeps.get(theorem_id, ())


def sweep_for(theorem_id: str, over: str) -> Sweep:
    """The sweep of a theorem over one of its symbols.

    Raises:
        InputError: none is declared.
    """
    found = sweeps_of(theorem_id)
    for sweep in found:
        if sweep.over == over:
            return sweep
    known = " ".join(sweep.over for sweep in found) or "none"
    raise InputError(f"{over[:30]}: no sweep of {theorem_id} over it; there are sweeps over {known}")


def complexity_of(theorem_id: str) -> Sweep | None:
    """The sweep along the schedule of a claim about costs; None where there is no such claim."""
    return _declared(theorem_id).complexities.get(theorem_id)


def complexities() -> dict[str, Sweep]:
    """The schedules along which costs are measured, by theorem id."""
    return {name: sweep for paper in paper_keys() for name, sweep in runs_of(paper).complexities.items()}


def counterexamples() -> dict[str, Counterexample]:
    """The papers' own counterexamples that are certified, by theorem id."""
    return {name: found for paper in paper_keys() for name, found in runs_of(paper).counterexamples.items()}


def declared(name: str) -> tuple[Any, ...]:
    """One of the lists that papers declare beside their theorems, such as `in_full`, of all papers together."""
    return tuple(item for key in paper_keys() for item in getattr(runs_of(key), name))
