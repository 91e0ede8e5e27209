"""The baselines' theorems on runs: they hold where they should, a mutant constant is refuted, composition has its price."""

from __future__ import annotations

from fractions import Fraction as R

import numpy as np
import pytest
from fedco.bounds.language.reading import InputError
from fedco.validation.papers.baselines import RUNS
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.recipe import Instance
from fedco.validation.statistics.evalues import log_e_refute
from quick import slow_but

RECIPES = RUNS.recipes
SEEDS = 48


@pytest.mark.parametrize("name", slow_but(("baselines.local_sgd", "baselines.minibatch_sgd"), RECIPES))
def test_the_mean_stays_below_the_bound_on_every_instance(name):
    for instance in RECIPES[name].instances:
        found = measure(name, instance, instance.horizons[0], SEEDS)
        assert found.bound.admissible and found.bound.total < found.cap
        assert np.mean(found.statistic) < found.bound.total, instance.name


def test_the_variance_of_minibatch_sgd_is_attained_so_that_nine_tenths_of_it_are_refuted():
    stress = next(i for i in RECIPES["baselines.minibatch_sgd"].instances if i.case == "stress")
    found = measure("baselines.minibatch_sgd", stress, 400, 400)
    assert 0.95 < np.mean(found.statistic) / found.bound.total < 1
    assert log_e_refute(found.statistic, R(9, 10) * R(found.bound.total)) > np.log(1e6)
    assert log_e_refute(found.statistic, R(found.bound.total)) < np.log(1e6)


def test_unbounded_gradients_have_no_cap_and_that_is_said_in_one_line():
    instance = Instance("federated_quadratic", {"eta": R(1, 4), "p": 2, "b": 1}, "quadratic", {}, (10, 20))
    with pytest.raises(InputError, match="federated_quadratic: wanted a problem that certifies gradient_cap"):
        measure("baselines.local_sgd_heterogeneity", instance, 10, 4)
