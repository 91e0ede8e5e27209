"""How the theorems of every paper are run, looked up by theorem."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ...bounds.language.reading import InputError
from ...bounds.registry import get_paper, is_paper, paper_keys
from ..lemmas.link import LemmaChain
from .declaration import Runs
from .recipe import Recipe
from .sweep import Sweep


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


def _declared(theorem_id: str) -> Runs:
    return runs_of(theorem_id.partition(".")[0])


def recipes() -> dict[str, Recipe]:
    """Every recipe, by theorem id."""
    return {name: recipe for paper in paper_keys() for name, recipe in runs_of(paper).recipes.items()}


def recipe_for(theorem_id: str) -> Recipe:
    """The recipe of a theorem.

    Raises:
        InputError: none is declared; it says why, where a statement cannot be compared with a run.
    """
    declared = _declared(theorem_id)
    if theorem_id in declared.without:
        raise InputError(f"{theorem_id}: cannot be validated: {declared.without[theorem_id]}")
    if theorem_id not in declared.recipes:
        raise InputError(f"{theorem_id}: no recipe to validate it; wanted one of {' '.join(recipes())}")
    return declared.recipes[theorem_id]


def why_without(theorem_id: str) -> str:
    """Why a statement cannot be compared with a run; empty where nothing is declared."""
    return _declared(theorem_id).without.get(theorem_id, "")


def chains() -> dict[str, LemmaChain]:
    """Every chain of lemmas, by theorem id."""
    return {name: chain for paper in paper_keys() for name, chain in runs_of(paper).chains.items()}


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
