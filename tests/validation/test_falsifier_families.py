"""Planted falsehoods that only one kind of island shows, and what the search reads off such an island."""

from collections.abc import Callable

import numpy as np
import pytest
from fedco.bounds.language.change import Change
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.confirm import Confirmed, NotConfirmed
from fedco.validation.falsifier.declared import Target, target_of
from fedco.validation.falsifier.formula import Formula, Panel
from fedco.validation.falsifier.island import Island
from fedco.validation.falsifier.rounding import confirmed, drafts
from fedco.validation.falsifier.search import islands
from scipy.stats.qmc import Sobol


def found_on(
    name: str, label: str, part: str, where: Callable[[Island], bool], points: int
) -> tuple[Target, Confirmed]:
    """The first violation of a statement without a term among Sobol points of the first island of a kind, checked exactly."""
    theorem, change = get_theorem(name), Change(part, "dropped")
    base, target = target_of(theorem, label), target_of(theorem, label, change)
    formula = Formula(base.theorem, label)
    island, panel = next(i for i in islands(base, formula) if where(i)), Panel(formula, (change,))
    cube = Sobol(island.size, rng=np.random.default_rng(0)).random(points)
    scores = island.scores(cube, panel)[0]
    for index in np.argsort(-scores)[:8]:
        if scores[index] > 0:
            for made in drafts(target, formula, island.candidate(cube[index], panel), island.settings):
                try:
                    return target, confirmed(target, formula, made)
                except NotConfirmed:
                    continue
    raise AssertionError(f"{name} without {part}: {scores.max():.3g} on {island.name}")


@pytest.mark.parametrize("name", ["meta_fl.theorem_8", "meta_fl.theorem_8_FO"])
def test_noise_of_gradients_shows_the_noise_term_of_meta_learning(name: str) -> None:
    _, found = found_on(name, "corrected", "noise", lambda i: i.law == "powers" and i.period == 1, 256)
    assert found.ratio > 2 and any(found.claimed.instance.parameters["gradient_noise"])
