"""The cap of a squared gradient norm, which decides what can be supported, is the square of what a problem certifies."""

from fractions import Fraction

import fedco
import pytest
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.validation.runs.generate import Setting
from fedco.validation.runs.measures import squared_cap

NAMES = ("feddro_heterogeneous", "feddro_noisy", "meta_heterogeneous")


@pytest.mark.parametrize("name", NAMES)
def test_the_cap_is_the_square_of_the_certified_norm(name):
    instance = problem(name)
    norm = float(instance.certificates["gradient_cap"].value)
    assert abs(norm - 1) > 0.1, "with a norm near 1 this test would see nothing"
    assert squared_cap(instance) == pytest.approx(norm * norm, rel=1e-15)
    start = instance.gradient(instance.initial_point.unsqueeze(0))
    assert float(start.square().sum()) <= squared_cap(instance)


def test_generated_instances_use_the_same_cap():
    theorem = fedco.theorem("feddro.theorem_5_1")
    setting = Setting(theorem, "corrected", "feddro_heterogeneous", {})
    assert setting.cap == Fraction(setting.far.certificates["gradient_cap"].value) ** 2
    assert float(setting.cap) == pytest.approx(squared_cap(setting.far), rel=1e-15)


def test_a_problem_with_unbounded_gradients_has_no_cap():
    with pytest.raises(InputError, match="gradient_cap"):
        squared_cap(problem("federated_quadratic"))
