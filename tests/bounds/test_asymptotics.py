"""Exact orders: against hand calculations, and against the finite tuner; test_claims.py has the papers' claims."""

from __future__ import annotations

from fractions import Fraction as Q
from math import log

import fedco
import pytest
from fedco.bounds.cost.orders import Order, rates
from fedco.bounds.language.reading import InputError
from fedco.bounds.optimum.tuning import tune
from inverse_cases import FCSG


def order(eps: str, clients: int = 0) -> Order:
    return Order(Q(eps), Q(clients))


def test_fcsg_by_hand():
    """1/(alpha T), alpha/N, q^2 alpha^2 and 1/m at most eps: alpha = N eps, T = 1/(N eps^2), q = 1/(N sqrt(eps)), m =
    1/eps."""
    found = rates(fedco.theorem("fcsg.theorem_4_1").statement("printed"))
    assert found.schedule["alpha"] == order("-1", 1)
    assert found.schedule["q"] == order("1/2", -1)
    assert found.schedule["m"] == order("1")
    assert found.costs == {
        "iterations": order("2", -1),
        "rounds": order("3/2"),
        "samples": order("3", -1),
        "model_messages": order("3/2"),
    }


def test_comfedl_by_hand():
    """sigma/sqrt(b) at most eps needs b = eps^-2, on top of T = eps^-2."""
    found = rates(fedco.theorem("comfedl.theorem_2").statement("printed"))
    assert found.costs["samples"] == order("4") and found.costs["iterations"] == order("2")


def test_feddro_has_a_better_schedule_in_its_own_theorem():
    """b = 1/(K eps), I = 1, T = 1/eps: eps^-1 rounds instead of eps^-3/2, no more samples."""
    found = rates(fedco.theorem("feddro.theorem_5_1").statement("printed"))
    assert found.costs["rounds"] == order("1") and found.costs["samples"] == order("2", -1)


def test_orders_are_what_the_tuner_does():
    """The slope of the tuned cost between two small targets."""
    theorem, label = fedco.theorem("fcsg.theorem_4_1"), "corrected"
    targets = (1e-6, 1e-7)
    costs = [tune(theorem.statement(label), FCSG, eps=eps).cost["samples"] for eps in targets]
    slope = log(costs[1] / costs[0]) / log(targets[0] / targets[1])
    assert slope == pytest.approx(float(rates(theorem.statement(label)).costs["samples"].eps), abs=0.02)


def test_a_floor_is_reported():
    with pytest.raises(InputError, match="floor"):
        rates(fedco.theorem("meta_fl.theorem_8_FO").statement("printed"))
    with pytest.raises(InputError, match="not a resource"):
        rates(fedco.theorem("fcsg.theorem_4_1").statement("printed"), ("energy",))
    with pytest.raises(InputError, match="no terms"):
        rates(fedco.theorem("fcsg.lemma_a_2").statement("printed"))
    with pytest.raises(
        InputError, match=r"embedding_messages: nothing to minimise, baselines\.biased_sgd \(printed\) has none"
    ):
        rates(fedco.theorem("baselines.biased_sgd").statement("printed"), ("samples", "embedding_messages"))
