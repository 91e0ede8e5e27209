"""Noise that depends on the point, shared samples, and runs that nothing moves: by hand, and refused beyond their range."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import pytest
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
