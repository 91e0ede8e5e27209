"""Every method on every kind of problem either runs or says NotApplicable, by name."""

import pytest
import torch
from cases import CASES
from fedco import synthetic
from fedco.algorithms import METHODS, NotApplicable, drive
from fedco.algorithms.engine import metrics
from tiny import TINY, TinyData

EXAMPLES = {case.name: case.method(**case.example) for case in reversed(CASES.values())}  # the first case of each name
RECORD = {"gradient": metrics.gradient_norm_squared, "drift": metrics.consensus_error, "F": metrics.objective}


def assert_runs_or_says_not_applicable(method, problem):
    if problem.kind in method.kinds:
        result = drive(method, problem, steps=4, seeds=2, record=RECORD)
        assert all(torch.isfinite(values).all() for values in result.values.values())
        assert result.state.x.shape == (2, problem.clients, problem.dim)
        assert result.state.average.shape == (2, problem.dim)
        assert (result.state.x != problem.initial_point).any(), "it must move"
    else:
        with pytest.raises(NotApplicable, match=f"{method.name} is not defined on problem kind '{problem.kind}'"):
            drive(method, problem, steps=4)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", TINY)
def test_on_tiny_problems(name, kind):
    assert_runs_or_says_not_applicable(EXAMPLES[name], TINY[kind](TinyData.random(3, 3)))


def on_registered_problems():
    """Every method on every registered problem of its kinds: quickly one method on each problem, for the others know no more of it."""
    for registered, preset in synthetic.PRESETS.items():
        names = [name for name, method in METHODS.items() if preset.family.kind in method.kinds]
        yield from (pytest.param(name, registered, marks=[pytest.mark.slow] * (name != names[0])) for name in names)


@pytest.mark.parametrize(("name", "registered"), [*on_registered_problems()])
def test_on_registered_problems(name, registered):
    assert_runs_or_says_not_applicable(EXAMPLES[name], synthetic.problem(registered))


def test_every_method_has_a_case_on_each_of_its_kinds():
    covered = {name: {case.problem_kind for case in CASES.values() if case.name == name} for name in METHODS}
    assert covered == {name: set(method.kinds) for name, method in METHODS.items()}


def test_a_missing_oracle_of_one_kind_is_named():
    class WithoutInnerSamples(TINY["conditional"]):
        sample_inner = property()  # reading it raises AttributeError

    with pytest.raises(NotApplicable, match="local_sgd needs sample_inner: tiny conditional does not have"):
        drive(EXAMPLES["local_sgd"], WithoutInnerSamples(TinyData.random(3, 3)), steps=4)


def test_every_kind_has_a_method():
    assert {kind for method in METHODS.values() for kind in method.kinds} == set(TINY)
