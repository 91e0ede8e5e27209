"""The chain of a theorem, measured on the instances of its recipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...algorithms.engine.fingerprint import source_fingerprint
from ...bounds.language.reading import InputError
from ...bounds.registry import get_theorem
from ...storage import digest, recall_or_make
from ..runs.campaign import MEASUREMENT
from ..runs.recipe import Instance
from ..runs.registry import chain_for, recipe_for
from ..runs.values import evaluate_at, numbers_of
from .link import trace_run
from .report import LemmaReport
from .sides import report_of
from .trace import SEEDS

LEMMAS = (*MEASUREMENT, "validation/lemmas", "validation/papers")
"""Sources on which the measurement of both sides of a lemma depends."""


def measure_chain(
    theorem_id: str,
    instance: Instance,
    T: int,
    *,
    seeds: int = SEEDS,
    label: str = "",
    cache: Path | None = None,
) -> LemmaReport:
    """Every link of a theorem's proof on one instance.

    Args:
        label: the statement of the theorem, that of its recipe without it; lemmas are taken as printed unless it is
            "composed" and they have such a statement.
        cache: folder where the result is kept, and from which it is taken when nothing changed.

    Raises:
        InputError: the theorem has no chain.
    """
    chain_for(theorem_id)  # a theorem without a chain is refused at once
    label = label or recipe_for(theorem_id).label

    def make() -> LemmaReport:
        return _measured(theorem_id, instance, T, seeds, label)

    if cache is None:
        return make()
    key = [source_fingerprint(LEMMAS), theorem_id, label, instance.name, T, seeds]
    file = cache / f"{digest(key)[:24]}.json"
    return LemmaReport.from_dict(recall_or_make(file, key, lambda: make().to_dict()))


def _measured(theorem_id: str, instance: Instance, T: int, seeds: int, label: str) -> LemmaReport:
    chain, recipe, theorem = chain_for(theorem_id), recipe_for(theorem_id), get_theorem(theorem_id)
    problem = instance.made()
    chosen = label if label in theorem.labels else "printed"
    bound, _ = evaluate_at(theorem, chosen, problem, instance.hyperparameters, T)
    numbers = numbers_of(instance, bound, recipe.defaults)
    trace = trace_run(chain, recipe.method(numbers), problem, recipe.steps(numbers), seeds, numbers)
    return report_of(theorem_id, chosen, chain.links, trace, problem, instance.name, T, bound.total)


def measure_lemmas(
    theorem_id: str,
    *,
    problems: Sequence[str] | None = None,
    seeds: int | None = None,
    label: str = "",
    cache: Path | None = None,
) -> list[LemmaReport]:
    """The chain of a theorem on one instance per problem of its recipe, each at its shortest horizon.

    Args:
        problems: names of the problems to use; all of the recipe's without it.
        label, cache: as in `measure_chain`.

    Raises:
        InputError: no chain, no recipe, or no instance is left.
    """
    recipe = recipe_for(theorem_id)
    first: dict[str, Instance] = {}
    for instance in recipe.instances:
        if not problems or instance.problem in problems:
            first.setdefault(instance.problem, instance)
    if not first:
        known = sorted({instance.problem for instance in recipe.instances})
        raise InputError(
            f"--problem {(problems or [''])[0][:40]}: not an instance of {theorem_id}; wanted one of {' '.join(known)}"
        )
    chain = chain_for(theorem_id)
    found = [
        measure_chain(
            theorem_id,
            instance,
            min(instance.horizons),
            seeds=seeds or SEEDS,
            label=label,
            cache=cache,
        )
        for instance in first.values()
    ]
    return found if problems else [*found, *(show() for show in chain.demonstrations)]
