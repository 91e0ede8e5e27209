"""A condition that one whole number divides another is checked by everything that speaks of admissible values."""

from __future__ import annotations

import fedco
import numpy as np
import pytest
from fedco.bounds.evaluation.evaluate import InadmissibleError

CONSTANTS = dict.fromkeys(("G_f", "G_g", "L_f", "L_g", "L", "sigma", "F_gap"), 1)
NAMES = [("comfedl.theorem_1", {"b": 1, "b_1": 1}), ("comfedl.theorem_2", {"b": 1})]
every = pytest.mark.parametrize(("name", "batches"), NAMES)
labels = pytest.mark.parametrize("label", ["printed", "composed", "corrected"])


@labels
@every
def test_a_bound_says_that_the_rounds_are_not_whole(name, batches, label):
    theorem = fedco.theorem(name)
    known = {**CONSTANTS, **batches, "eta": "1/1000", "tau": 10}
    values = {n: value for n, value in known.items() if n in theorem.symbols(label)}
    assert theorem.bound(label, T=20, **values).admissible
    found = theorem.bound(label, T=19, strict=False, **values)
    assert found.failed == ("multiple_of_period",) and "T is a multiple of tau" in str(found)
    with pytest.raises(InadmissibleError, match="multiple_of_period"):
        theorem.bound(label, T=19, **values)
    many = theorem.bound(label, T=np.array([19, 20, 25, 30]), strict=False, **values)
    assert list(many.admissible) == [False, True, False, True]


@every
def test_a_set_of_step_sizes_is_empty_where_the_rounds_are_not_whole(name, batches):
    theorem = fedco.theorem(name)
    values = {n: v for n, v in {**CONSTANTS, **batches, "tau": 10}.items() if n in theorem.symbols()}
    assert theorem.admissible("eta", T=20, **values).feasible
    assert not theorem.admissible("eta", T=19, **values).feasible
    found = theorem.admissible("T", eta="1/1000", **values)
    assert "T is a multiple of tau" in str(found)


@pytest.mark.parametrize("given", [{"tau": 10}, {"T": 770}, {}])
@every
def test_the_tuner_chooses_whole_rounds(name, batches, given):
    theorem = fedco.theorem(name)
    found = theorem.tune(budget={"iterations": 777} if "T" not in given else {"samples": 10**6}, **CONSTANTS, **given)
    point = {**{n: float(v) for n, v in found.values.items()}, **given}
    assert found.bound.admissible and point["T"] % point["tau"] == 0
    best = theorem.tune(eps=found.value * 2, **CONSTANTS, **given)
    point = {**{n: float(v) for n, v in best.values.items()}, **given}
    assert best.bound.admissible and point["T"] % point["tau"] == 0


def test_show_states_it():
    assert "T is a multiple of tau" in fedco.theorem("comfedl.theorem_1").to_markdown()
