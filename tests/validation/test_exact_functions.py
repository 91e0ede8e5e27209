"""Noise that depends on the point or is nested, shared samples, and runs that nothing moves: by hand, and refused beyond their range."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import pytest
import torch
from fedco.algorithms import SCGD
from fedco.algorithms.engine.schedule import Schedule
from fedco.algorithms.methods.feddro import FedDRO
from fedco.algorithms.methods.local_scgdm import LocalSCGDM
from fedco.bounds.audit.bundled import clients_of, function_of
from fedco.bounds.audit.refutation import RefutationError
from fedco.bounds.audit.refuted import refutations
from fedco.validation.exact import function
from fedco.validation.exact.at_rest import at_rest, at_rest_for
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.noise import Noisy
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.exact.run import CannotReplay, Walk, expected, scalar, stepped
from fedco.validation.exact.tensor import ExactTensor
from hypothesis import given
from hypothesis import strategies as st

BUMP = {"rational": [[Q(0), Q(1)], [Q(1), Q(0), Q(1)]]}
"""x / (1 + x^2)."""
LEVEL = {"slope": [[Q(-3, 2), Q(0)], [Q(-1, 2), Q(1)], [Q(1, 2), Q(1)], [Q(3, 2), Q(0)]]}


@given(x=st.fractions(-5, 5, max_denominator=7))
def test_both_rooms_read_a_function_alike(x):
    for data in (BUMP, LEVEL):
        run, decided = function.function_of(data), function_of(data)
        assert run.at(x) == Q(str(decided.at(x))) and run.slope(x) == Q(str(decided.derivative.at(x)))


def test_functions_by_hand():
    bump, level = function.function_of(BUMP), function.function_of(LEVEL)
    assert (bump.at(Q(2)), bump.slope(Q(2))) == (Q(2, 5), Q(-3, 25))
    assert (level.at(Q(1, 2)), level.at(Q(9)), level.at(Q(-9)), level.slope(Q(1))) == (Q(1, 2), 1, -1, Q(1, 2))
    straight = function.Straight(Q(1), Q(3))
    assert straight.at(Noisy.sign(0)) == Noisy(Q(1), {0: Q(3)}) and straight.slope(Noisy.sign(0)) == 3


def test_a_random_point_is_refused_where_a_function_bends():
    bump, level = function.function_of(BUMP), function.function_of(LEVEL)
    small, large = Noisy(Q(0), {0: Q(1, 4)}), Noisy(Q(0), {0: Q(3, 4)})
    two = Noisy(Q(0), {0: Q(1, 2), 1: Q(1, 4)})
    assert level.at(small) == small and level.slope(small) == 1
    assert level.slope(large) == Noisy(Q(3, 4), {}), "one sign has two values only"
    falling = Noisy(Q(1), {0: Q(1, 4), 1: Q(1, 8)})
    assert level.slope(falling) == Noisy(Q(1, 2), {0: Q(-1, 4), 1: Q(-1, 8)})
    for refused in (
        lambda: level.at(large),
        lambda: level.slope(two),
        lambda: level.at(falling),
        lambda: bump.at(small),
        lambda: bump.slope(small),
    ):
        with pytest.raises(Bends):
            refused()


@pytest.mark.parametrize("data", [{"slope": [], "more": 1}, {"polynomial": [1]}, {}])
def test_another_form_of_data_is_refused(data):
    with pytest.raises(ValueError, match="wanted slope or rational"):
        function.function_of(data)
    with pytest.raises(RefutationError, match="wanted slope or rational"):
        function_of(data)


def test_the_estimate_with_noise_of_the_point_by_all_signs():
    """E(ybar)^2 after two steps of FedDRO behind g = z x/(1 + x^2) for clients that drift apart: all 16 paths by hand."""
    shape = refutations()["feddro.lemma_f_4"].data["problem"]["parameters"]["instance"]
    eta = beta = Q(1, 3)

    def inner(x):
        return x / (1 + x * x)

    wanted = Q(0)
    for first, second in product(product((1, -1), repeat=2), repeat=2):
        y, path = Q(0), [[Q(0), Q(0)], [-eta, eta], [-2 * eta, 2 * eta]]
        for signs, before, now in ((first, path[0], path[1]), (second, path[1], path[2])):
            y = (
                sum((1 - beta) * (y - z * inner(a)) + z * inner(b) for z, a, b in zip(signs, before, now, strict=True))
                / 2
            )
        wanted += y**2 / 16
    problem = exact_problem(Instance.from_dict(shape))
    method = FedDRO(eta=scalar(eta), beta=scalar(beta), I=9)

    def take(draws):
        run = Walk(method, problem, problem.start, draws)
        for _ in range(3):
            run.step()
        ((entry,),) = run.state.y.numbers[:, 0]
        return (entry * entry).value

    assert expected(problem, take) == wanted > 0
    with pytest.raises(ValueError, match="depends on the point are not computed"):
        problem.constants()


ONE_SAMPLE = refutations()["local_scgdm.theorem_3_4.one_sample"].data


def resting(method=None, **changed):
    instance = Instance.from_dict(ONE_SAMPLE["problem"]["parameters"]["instance"])
    moved = Instance(
        instance.kind, {**instance.parameters, **changed.pop("parameters", {})}, instance.settings | changed
    )
    steps = {name: scalar(Q(1, 3)) for name in ("eta", "alpha", "beta", "gamma")}
    return at_rest(method or LocalSCGDM(p=2, **steps), exact_problem(moved), 2)


def test_a_client_whose_every_stochastic_gradient_is_0_stays_for_ever():
    assert resting() == (1, 1)


@pytest.mark.parametrize(
    "change", [{"one_sample": 0}, {"parameters": {"start": Q(1, 2)}}, {"parameters": {"value_noise": [Q(0)]}}]
)
def test_what_moves_is_not_at_rest(change):
    with pytest.raises(CannotReplay, match=r"leaves the start|several states"):
        resting(**change)


def feet(height=Q(4, 5), shift=Q(0)):
    """f' is a tent over the start, and 0 where the first inner values lead; on a schedule whose weights fall from 1."""
    tent = {"knots": [[shift - height, shift, shift + height]], "slopes": [[Q(0), height, Q(0)]], "start": Q(0)}
    line = {"inner_slope": [Q(1)], "inner_offset": [Q(0)], "value_noise": [Q(1)], "gradient_noise": [Q(0)]}
    slow = SCGD(eta=scalar(Q(1, 10)), gamma=Schedule(scalar(Q(100)), scalar(Q(100))))
    return slow, exact_problem(Instance("local_composite", {**line, **tent}, {}))


def test_where_no_path_leaves_the_start_a_run_with_a_schedule_is_as_long_as_one_likes():
    """After 11 steps a new value weighs 0.9: those between -0.8 and 0.8 are met by no path before, and by some soon after."""
    assert at_rest_for(*feet(), 5) == stepped(*feet(), 5) == (Q(16, 25), Q(16, 25))
    assert at_rest_for(*feet(), 11) == (Q(16, 25), Q(16, 25))
    with pytest.raises(CannotReplay, match="too many paths"):
        stepped(*feet(), 11)
    with pytest.raises(CannotReplay, match="schedule"):
        at_rest(*feet(), 1)


@pytest.mark.parametrize(
    ("foot", "steps"), [({}, 40), ({"height": Q(11, 10)}, 1), ({"shift": Q(3, 10)}, 3), ({"shift": Q(-1, 10)}, 10)]
)
def test_a_path_that_may_leave_the_start_is_seen(foot, steps):
    with pytest.raises(CannotReplay, match="leaves the start"):
        at_rest_for(*feet(**foot), steps)


def test_more_signs_than_can_be_followed_are_refused():
    steps = {name: scalar(Q(1, 3)) for name in ("eta", "alpha", "beta", "gamma")}
    with pytest.raises(CannotReplay, match="too many paths"):
        at_rest(
            LocalSCGDM(p=12, **steps),
            exact_problem(Instance.from_dict(ONE_SAMPLE["problem"]["parameters"]["instance"])),
            12,
        )


def test_shared_samples_are_not_called_independent():
    shape = ONE_SAMPLE["problem"]["parameters"]["instance"]
    alone = clients_of(shape["kind"], shape["parameters"], {"one_sample": 0})
    both = clients_of(shape["kind"], shape["parameters"], {"one_sample": 1})
    assert set(alone.by_construction) - set(both.by_construction) == {"independent kinds of samples"}
    assert len(both.outer[0].samples) == len(both.inner[0].samples) == 2


def test_a_client_that_is_unbounded_below_is_no_meta_problem():
    shape = refutations()["meta_fl.lemma_7"].data["problem"]["parameters"]["instance"]
    with pytest.raises(RefutationError, match="unbounded below"):
        clients_of("meta", {**shape["parameters"], "tilt": [9, 9]}, {"nu": 2})


# --- nested noise: atoms, batches and constants of a conditional problem by hand ---


def nested(value: Q, slope: Q):
    """Two clients behind x and 3 x - 1, f_1' = y and f_2' = y / 2 within 8 of 0, both with noise at the first client alone."""
    parameters = {
        "inner_slope": [Q(1), Q(3)], "inner_offset": [Q(0), Q(-1)], "value_noise": [value, Q(0)], "gradient_noise": [slope, Q(0)],
        "knots": [[Q(-8), Q(8)]] * 2, "slopes": [[Q(-8), Q(8)], [Q(-4), Q(4)]], "start": Q(1),
    }  # fmt: skip
    return exact_problem(Instance("conditional", parameters))


@pytest.mark.parametrize(("value", "slope"), [*product((Q(0), Q(2)), (Q(0), Q(6)))])
def test_atoms_of_nested_noise_have_weights_that_add_up_and_the_gradient_as_mean(value, slope):
    problem = nested(value, slope)
    outer, weights = problem.outer_atoms()
    inner, within = problem.inner_atoms(outer)
    assert weights.tolist() == ([0.5, 0.5] if slope else [1.0]) and within.tolist() == ([0.5, 0.5] if value else [1.0])
    x = ExactTensor.of([[[Q(1)], [Q(1)]]])
    assert inner.eta.shape == (1, 2, len(weights), len(within))
    means = []
    for k in range(len(within)):
        one = type(inner)(inner.eta[..., k : k + 1])
        sampled = problem.sample_gradient(x, outer, one).numbers[0, :, :, 0]
        means.append([sum(row) / len(row) for row in sampled])
    assert [sum(m[c] for m in means) / len(means) for c in (0, 1)] == [1, 3 * (3 - 1) / Q(2)]
    first = [type(inner)(inner.eta[..., k : k + 1]) for k in range(len(within))]
    seen = {number for one in first for number in problem.sample_gradient(x, outer, one).numbers[0, 0, :, 0]}
    assert seen == {1 + s * value + t * slope for s in (-1, 1) for t in (-1, 1)}


def test_a_batch_without_outer_noise_is_one_sample_unless_its_inner_noise_differs():
    asked = []

    class Draws:
        def signs(self, purpose, *tail):
            asked.append((purpose, tail))
            return torch.ones(1, 2, *tail)

    draws, x = Draws(), ExactTensor.of([[[Q(1)], [Q(1)]]])
    for problem, counts, drawn in (
        (nested(Q(0), Q(0)), (1, 1), []),
        (nested(Q(2), Q(0)), (5, 5), [("inner", (5, 3))]),
        (nested(Q(2), Q(6)), (5, 5), [("outer", (5,)), ("inner", (5, 3))]),
        (nested(Q(0), Q(6)), (1, 5), [("outer", (5,))]),
    ):
        asked.clear()
        outer = problem.sample_outer(draws, 5)
        sampled = problem.sample_gradient(x, outer, problem.sample_inner(draws, outer, 3))
        assert (outer.count, sampled.shape[2]) == counts and asked == drawn


def test_constants_of_outer_noise_are_those_of_its_worst_client():
    """|f_1'| <= 8 with noise 6, |f_2'| <= 4 with none: sqrt(8^2 + 6^2) = 10 and 8 + 6 = 14."""
    found = nested(Q(2), Q(-6)).constants()
    assert found["outer_lipschitz"] == 8 and found["outer_mean_square_lipschitz"] == 10
    assert found["outer_sample_lipschitz"] == 14 and found["outer_gradient_noise"] == 6
    assert found["outer_smoothness"] == found["outer_sample_smoothness"] == 1
    assert found["inner_lipschitz"] == 3 and found["inner_value_noise"] == 2
    assert found["composite_noise"] == 6  # it bounds the noise of outer gradients too
    assert found["inner_jacobian_heterogeneity"] == 1 and found["inner_smoothness"] == 0
    assert found["objective_smoothness"] == (1 + 9 * Q(1, 2)) / 2  # F' = (x + 3 (3 x - 1) / 2) / 2
    still = nested(Q(0), Q(0)).constants()
    assert still["outer_mean_square_lipschitz"] == still["outer_sample_lipschitz"] == 8
    assert still["outer_gradient_noise"] == still["inner_noise"] == 0
