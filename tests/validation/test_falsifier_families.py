"""Planted falsehoods that only one kind of island shows, and what the search reads off such an island."""

import time
from collections.abc import Callable

import pytest
from fedco.bounds.language.change import Change
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.confirm import Confirmed
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.island import Island
from fedco.validation.falsifier.search import Claim, _Search, islands


def found_on(name: str, label: str, part: str, where: Callable[[Island], bool]) -> Confirmed:
    """A violation of a statement without a term, searched on some of its islands only, and checked exactly."""
    theorem, change = get_theorem(name), Change(part, "dropped")
    base, claim = target_of(theorem, label), Claim(target_of(theorem, label, change), change)
    formula = Formula(base.theorem, label)
    searched = [i for i in islands(base, formula) if where(i)]
    run = _Search(searched, formula, [claim], 0, 30.0, None, time.process_time)
    run.sample()
    run.evolve()
    assert claim.found.violation is not None, f"{claim.found.ratio:.3g} on {[i.name for i in searched]}"
    return claim.found.violation


@pytest.mark.parametrize("name", ["meta_fl.theorem_8", "meta_fl.theorem_8_FO"])
def test_noise_of_gradients_shows_the_noise_term_of_meta_learning(name: str) -> None:
    found = found_on(name, "corrected", "noise", lambda i: i.law == "powers" and i.period == 1)
    assert found.ratio > 2 and any(found.claimed.instance.parameters["gradient_noise"])


def test_long_rounds_of_many_clients_show_the_drift_by_heterogeneity() -> None:
    """Where everything that is divided by clients and samples is gone, in a run of 1e12 steps without noise."""
    found = found_on(
        "feddro.theorem_5_1", "corrected", "drift_heterogeneity", lambda i: i.name.endswith("in powers of a round")
    )
    sizes = found.claimed.hyperparameters
    assert found.ratio > 1.05 and sizes["K"] * sizes["b"] > 1e4
    assert not any(found.claimed.instance.parameters["gradient_noise"])
