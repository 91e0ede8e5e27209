"""Step sizes that decline in t."""

import pickle
from fractions import Fraction

import pytest
import torch
from fedco.algorithms import LocalSGD, MinibatchSGD, QFedAvg, Schedule, drive
from fedco.validation.exact.tensor import ExactTensor
from hypothesis import given
from hypothesis import strategies as st
from tiny import TinyData, TinyFederated

POWERS = st.fractions(0, 1, max_denominator=9).filter(bool)
EXACT = st.floats(0, 1e6), st.floats(1e-6, 1e6), st.integers(1, 9)


@given(*EXACT, st.integers(0, 10**6))
def test_it_is_its_formula(a, t0, every, t):
    """Two roundings at most: of the sum under the fraction, and of the quotient."""
    value, wanted = Schedule(a, t0, every=every).at(t), Fraction(a) / (Fraction(t // every) + Fraction(t0))
    assert abs(Fraction(value) - wanted) <= wanted * Fraction(1, 2**51) + Fraction(1, 2**1000)
    for power in (Fraction(1, 2), Fraction(1, 3), Fraction(5, 7)):
        found = Schedule(a, t0, power, every).at(t)
        assert found == pytest.approx(a * (t // every + t0) ** -float(power), rel=1e-14)


@given(*EXACT, POWERS)
def test_text_and_pickle_keep_it(a, t0, every, power):
    made = Schedule(a, t0, power, every)
    for other in (Schedule.of(str(made)), pickle.loads(pickle.dumps(made))):
        assert (other.a, other.t0, other.power, other.every) == (a, t0, power, every)


def test_texts_that_a_reader_may_write():
    for text, wanted in (("1/(t+1)", "1.0/(t + 1.0)"), (" .5e1 / ( t + 2. )", None), ("2e-3/sqrt( t+3 )", "0.002/sqrt(t + 3.0)"),
                         ("1/sqrt(floor(t/4) + 2)", "1.0/sqrt(floor(t/4) + 2.0)"), ("3/(t+1)**(2/3)", "3.0/(t + 1.0)**(2/3)")):  # fmt: skip
        if wanted is None:
            with pytest.raises(
                ValueError, match=r"schedule: wanted A/\(t \+ T0\), A/sqrt\(t \+ T0\) or A/\(t \+ T0\)\*\*\(1/3\)"
            ):
                Schedule.of(text)
        else:
            assert str(Schedule.of(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "0.1",
        "1/t",
        "1/(t + 0)",
        "1/(t - 1)",
        "-1/(t + 1)",
        "a/(t + 1)",
        "1/(t + 1)**2",
        "1/(t + 1)**(3/2)",
        "1/(t + 1)**(1/0)",
        "1/(t + 1)**(1/00)",
        "1/sqrt(t + 1)**(1/3)",
        "1/(floor(t/0) + 1)",
        "",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="schedule: "):
        Schedule.of(text)


@pytest.mark.parametrize(
    ("name", "wanted", "values"),
    [
        ("a", "finite number >= 0", [-1.0, float("nan"), float("inf"), "1", True, torch.tensor([1.0])]),
        ("t0", "finite number > 0", [0.0, -1.0, float("nan"), None, torch.tensor([1.0, 0.0], dtype=torch.float64)]),
        ("power", r"Fraction in \(0, 1\]", [0.5, Fraction(0), Fraction(3, 2)]),
        ("every", "integer >= 1", [0, 1.0, True]),
    ],
)
def test_a_value_out_of_range_is_named(name, wanted, values):
    for value in values:
        with pytest.raises(ValueError, match=f"schedule: {name} must be an? {wanted}"):
            Schedule(**{"a": 0.1, "t0": 1.0, name: value})


def test_only_a_hyperparameter_that_says_so_takes_one():
    declining = Schedule(0.1, 2.0)
    assert LocalSGD(eta=declining, tau=2).eta is declining
    with pytest.raises(
        ValueError, match=r"q_fedavg: eta must be a finite number >= 0, or a 1-d float64 tensor of such; got"
    ):
        QFedAvg(eta=declining, q=0.0, tau=2)
    with pytest.raises(ValueError, match=r"local_sgd: eta must be a finite .* tensor of such, or a Schedule; got 'x'"):
        LocalSGD(eta="x", tau=2)


def test_a_grid_of_schedules_is_laid_out_and_said_plainly():
    a, t0 = torch.tensor([[0.1, 0.2], [3.0, 4.0]], dtype=torch.float64)
    method = LocalSGD(eta=Schedule(a, t0), tau=2)
    assert method.grid == 2 and method.over(3).eta.a.shape == (6, 1, 1)
    assert method.hyperparameters()["eta"] == ["0.1/(t + 3.0)", "0.2/(t + 4.0)"]
    assert LocalSGD(eta=Schedule(0.1, t0, Fraction(1, 2)), tau=2).hyperparameters()["eta"][1] == "0.1/sqrt(t + 4.0)"
    with pytest.raises(ValueError, match="differ in length"):
        LocalSGD(eta=Schedule(a, torch.ones(3, dtype=torch.float64)), tau=2)


def test_the_step_that_bounds_how_far_a_run_comes_is_the_first_one():
    assert (
        LocalSGD(eta=Schedule(0.5, 4.0), tau=2).gradient_step
        == MinibatchSGD(eta=Schedule(0.25, 2.0)).gradient_step
        == 0.125
    )


def test_a_schedule_in_rounds_is_constant_in_each():
    problem = TinyFederated(TinyData.random(2, 3))
    by_rounds = drive(LocalSGD(eta=Schedule(0.3, 1.0, every=3), tau=3), problem, steps=3, seeds=2)
    constant = drive(LocalSGD(eta=0.3, tau=3), problem, steps=3, seeds=2)
    assert torch.equal(by_rounds.state.x, constant.state.x)
    assert not torch.equal(
        drive(LocalSGD(eta=Schedule(0.3, 1.0), tau=3), problem, steps=3, seeds=2).state.x, constant.state.x
    )


def test_it_is_evaluated_in_exact_numbers_where_a_method_runs_in_them():
    a, t0 = ExactTensor.of([Fraction(1, 3)]), ExactTensor.of([Fraction(5, 2)])
    assert Schedule(a, t0).at(4).numbers.tolist() == [Fraction(2, 39)]
    moves = LocalSGD(eta=Schedule(a, t0), tau=1).over(2)
    assert moves.eta.at(1).numbers.flatten().tolist() == [Fraction(2, 21)] * 2
