"""A term that the conditions hold to a multiple of another one: true at points of the region, attained at its edge, and lost without it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from random import Random

import pytest
from fedco import define
from fedco.bounds import get_theorem
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.proof.dominated import dominated
from fedco.errors import InputError
from quick import slow_but

KEYS = {
    "id": "mine.theorem",
    "title": "A bound with terms of second order",
    "problem": "federated",
    "symbols": {
        "L": "local_smoothness",
        "sigma": "local_gradient_noise",
        "F_gap": "objective_gap",
        "eta": "step_size",
        "p": "communication_period",
        "N": "clients",
        "T": "iterations",
    },
    "terms": {
        "initialisation": "2*F_gap/(eta*T)",
        "variance": "L*eta*sigma**2/N",
        "second": "3*L**2*eta**2*sigma**2*(1 - 1/N)/N",
        "drift": "L**2*eta**2*sigma**2*(p - 1)*(2*p - 1)",
        "period": "L**2*eta**2*sigma**2*p**2",
        "both": "L**2*eta**2*sigma**2*(1/N + p)",
    },
    "conditions": {"step_size": "2*eta*L <= 1"},
}
MINE = define(**KEYS).statement("printed")
CASES = slow_but(
    ("library.heavy_ball", "acc_fcsg_m.theorem_4_7"),
    (
        ("local_scgdm.theorem_3_4", "inner_noise_second"),
        ("acc_fcsg_m.theorem_4_7", "drift"),
        ("acc_fcsg_m.corollary_4_8", "variance"),
        ("meta_fl.theorem_8", "drift_noise"),
        ("library.heavy_ball", "first_estimate"),
        ("fcsg.corollary_4_2", "variance"),
    ),
)


def points(statement, count=20):
    """Values at which the conditions hold, of many sizes; what an equation sets is left to the statement's schedule."""
    random = Random(statement.name)
    found = 0
    for _ in range(600):
        values = {
            name: Q(
                random.choice((1, 2, 3))
                if "fine_tuning" in binding.quantity.name
                else random.choice((1, 2, 3, 16)) ** 2
            )
            if binding.quantity.numbers.whole
            else Q(random.randint(1, 99), 100) * 10 ** random.randint(-3, 1)
            for name, binding in statement.symbols.items()
            if binding.symbol not in {c.left for c in statement.conditions if c.relation == "=="}
        }
        try:
            here = bound(statement, values, strict=False)
        except InputError:  # a share of the clients that is none
            continue
        if here.admissible:
            found += 1
            yield here
        if found == count:
            return


@pytest.mark.parametrize(
    ("term", "others", "factor"),
    [("second", ("variance",), Q(3, 2)), ("drift", ("period",), Q(2)), ("both", ("period",), Q(2))],
)
def test_the_factor_of_a_term_that_is_held(term, others, factor):
    held = dominated(MINE, term, others)
    assert held is not None and (held.others, held.factor) == (others, factor)


def test_two_terms_hold_what_none_holds_alone():
    held = dominated(MINE, "both", {"variance", "drift", "initialisation"})
    assert held is None
    held = dominated(MINE, "both", {"variance", "period"})
    assert held is not None and held.factor <= 2
    lone = {"variance": "L*eta*sigma**2/N", "wide": "L*eta*sigma**2*p", "joined": "L*eta*sigma**2*(1/N + p)"}
    own = define(**{**KEYS, "terms": {**lone, "initialisation": "2*F_gap/(eta*T)"}}).statement("printed")
    held = dominated(own, "joined", {"wide", "variance"})
    assert held is not None and held.factor <= 2


def test_what_nothing_holds_is_not_said_to_be_held():
    assert dominated(MINE, "variance") is None and dominated(MINE, "initialisation") is None
    assert dominated(MINE, "period", {"drift"}) is None  # drift is 0 with p = 1


@pytest.mark.parametrize(("name", "term"), CASES)
def test_it_is_so_wherever_the_conditions_hold(name, term):
    statement = get_theorem(name).statement()
    held, seen = dominated(statement, term), 0
    assert held is not None
    for here in points(statement):
        assert here.terms[term] <= float(held.factor) * sum(here.terms[other] for other in held.others) * (1 + 1e-12)
        seen += 1
    assert seen > 1


@pytest.mark.parametrize(
    ("name", "term", "other", "condition"),
    [
        ("acc_fcsg_m.theorem_4_7", "drift", "variance", "momentum_choice"),
        ("meta_fl.theorem_8", "drift_noise", "noise", "step_size"),
    ],
)
def test_it_is_lost_without_its_condition(name, term, other, condition):
    statement = get_theorem(name).statement()
    less = replace(statement, conditions=tuple(c for c in statement.conditions if c.name != condition))
    assert dominated(statement, term, {other}).others == (other,)
    assert dominated(less, term, {other}) is None


def test_it_is_lost_without_the_step_size():
    less = define(**{**KEYS, "conditions": {}}).statement("printed")
    assert dominated(less, "second", {"variance"}) is None and dominated(less, "drift", {"period"}).factor == 2


def test_a_condition_on_a_square_is_one_on_its_root():
    own = define(**{**KEYS, "conditions": {"step_size": "4*eta**2*L**2 <= 1"}}).statement("printed")
    assert dominated(own, "second", {"variance"}).factor == Q(3, 2)


def test_the_factor_is_attained_at_the_edge():
    """With less than the factor the claim would be false."""
    statement = get_theorem("local_scgdm.theorem_3_4").statement()
    values = dict.fromkeys(statement.symbols, Q(1)) | {"eta": Q(1, 2), "gamma": Q(199, 100), "beta": Q(1, 1000)}
    here = bound(statement, values)
    assert here.terms["inner_noise_second"] > 0.99 * 0.75 * here.terms["inner_noise"]
    here = bound(MINE, dict.fromkeys(MINE.symbols, Q(1)) | {"eta": Q(1, 2), "N": Q(1000), "p": Q(1000), "T": Q(1000)})
    assert here.terms["second"] > 0.99 * 1.5 * here.terms["variance"]
    assert here.terms["drift"] > 0.99 * 2 * here.terms["period"]
