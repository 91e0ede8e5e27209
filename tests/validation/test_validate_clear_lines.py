"""`validate` where a bound is 0, a symbol has no value, or no number of seeds would do: an answer, or one clear line."""

from __future__ import annotations

from fractions import Fraction

import fedco
import pytest
from fedco.errors import InputError
from fedco.validation.runs.recipe import Instance
from fedco.validation.statistics.planning import seeds_to_support
from fedco.validation.statistics.verdict import Outcome

SYMBOLS = {
    "L": "local_smoothness",
    "F_gap": "objective_gap",
    "eta": "step_size",
    "T": "iterations",
    "sigma": "local_gradient_noise",
}
TERMS = {"initialisation": "2*F_gap/(eta*T)", "variance": "L*eta*sigma**2"}


def of_method(method, **symbols):
    return fedco.define(
        id="mine.theorem_1",
        symbols={**SYMBOLS, **symbols},
        terms=TERMS,
        conditions={"step_size": "eta <= 1/L"},
        method=method,
    )


@pytest.mark.parametrize("seeds", [None, 8])
def test_a_start_at_rest_without_noise_has_a_bound_of_0_and_a_verdict(seeds):
    rest = Instance(
        "federated_homogeneous", {"eta": Fraction(1, 10)}, "at rest", {"start": 0.0, "sigma": 0.0}, (8, 16), "stress"
    )
    theorem = of_method({"name": "minibatch_sgd", "eta": "eta", "b": 1})
    found = fedco.validate(theorem, instances=[rest], seeds=seeds, jobs=1)
    assert [verdict.bound for verdict in found.verdicts] == [0.0, 0.0]
    assert all(verdict.outcome is Outcome.INCONCLUSIVE and verdict.empirical == 0 for verdict in found.verdicts)
    assert "nan" not in str(found.to_dict()) and not any(word in str(found).split() for word in ("nan", "inf"))


def test_a_symbol_that_stands_only_under_method_is_named():
    theorem = of_method({"name": "local_sgd", "eta": "eta", "tau": "tau", "b": 1}, tau="communication_period")
    with pytest.raises(InputError, match=r"^mine\.theorem_1: tau stands only under \[method\]"):
        fedco.validate(theorem, problems=["federated_homogeneous"], seeds=8, jobs=1)


def test_a_bound_that_no_number_of_seeds_can_support_is_bad_input():
    with pytest.raises(InputError, match="seeds: wanted at most"):
        seeds_to_support(1e-9, 1.0, 4.0, 1e-6)
