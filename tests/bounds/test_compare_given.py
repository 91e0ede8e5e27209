"""What `fedco.compare` is given: theorems, then a target and quantities, in any of the ways in which one would write it."""

import fedco
import pytest
from fedco.bounds.cost.comparison import Comparison, OrderTable, compare
from fedco.errors import InputError

A, B = "baselines.local_sgd", "baselines.minibatch_sgd"


def names(found):
    return [row.theorem for row in found.rows]


def test_theorems_and_ids_stand_first_in_any_mixture():
    for given in ((A, B), (fedco.theorem(A), B), (A, fedco.theorem(B))):
        found = fedco.compare(*given)
        assert isinstance(found, OrderTable) and names(found) == [A, B]
        told = fedco.compare(*given, "1/10", {"clients": 4})
        assert isinstance(told, Comparison) and names(told) == [A, B]
        assert told.eps == "1/10" and told.quantities == {"clients": "4"}
    assert names(fedco.compare(A, theorems=[B], eps="1/10")) == [A, B]


def test_the_old_order_gives_the_same():
    by_place = fedco.compare("1/10", {"clients": 4}, theorems=[A, B])
    assert by_place.to_dict() == fedco.compare(A, B, eps="1/10", quantities={"clients": 4}).to_dict()
    assert fedco.compare(0.1, theorems=[A]).eps == "0.1"


def test_without_a_target_the_orders_are_compared_for_every_label():
    found = fedco.compare(A)
    assert isinstance(found, OrderTable)
    assert {(row.theorem, row.statement) for row in found.rows} <= {(A, "printed"), (A, "corrected")} and found.rows


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        ((A, "1/10", {}, "more"), {}, "more: wanted theorems, then eps, a number, then quantities, a mapping"),
        (("1/10", A), {}, f"{A}: wanted theorems, then eps"),
        ((A, {"clients": 4}), {}, "eps: wanted a number beside the quantities"),
        (("nothing.like_it",), {}, "'nothing.like_it': not a theorem"),
        (("1/10", {}), {"quantities": {}}, "{}: wanted theorems"),
    ],
)
def test_what_cannot_be_meant_is_one_line(given, named, said):
    with pytest.raises(InputError) as caught:
        fedco.compare(*given, **named)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_metrics_of_different_units_stand_in_no_table():
    """A target of 1/10 for a squared gradient is none for a distance; without names those of squared gradients are compared."""
    for options in ({"eps": "1/10"}, {}):
        with pytest.raises(
            InputError, match=r"library\.sgd_pl bounds E\[F.*minibatch_sgd bounds .*whose metrics have one unit"
        ):
            fedco.compare("library.sgd_pl", "baselines.minibatch_sgd", **options)
    alone = fedco.compare("library.sgd_pl", "library.sgd_convex", eps="1/10")
    assert {row.metric for row in alone.rows} == {fedco.theorem(row.theorem).metric.name for row in alone.rows}
    everyone = fedco.compare(kind="federated")
    assert {fedco.theorem(row.theorem).metric.is_squared_gradient for row in everyone.rows} == {True}
    assert len(everyone.rows) >= 3


def test_a_mean_and_a_minimum_in_one_table_are_named():
    keys = {
        "symbols": {"L": "objective_smoothness", "F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
        "terms": {"start": "2*F_gap/(eta*T)"},
        "conditions": {"step_size": "eta <= 1/L"},
    }
    mean, least, other = (
        fedco.define(id=f"mine.{name}", metric=metric, **keys)
        for name, metric in (
            ("mean", "mean_gradient_sq"),
            ("least", "minimum_gradient_sq"),
            ("other", "mean_gradient_sq"),
        )
    )
    said = str(fedco.compare(mean, least, other, eps="1/10"))
    assert "metric (1/T) sum_t E||grad F(xbar_t)||^2: mine.mean (printed), mine.other (printed)" in said
    assert "metric min_t E||grad F(xbar_t)||^2: mine.least (printed)" in said
    assert "metric (1/T)" not in str(fedco.compare(mean, other, eps="1/10"))


def test_theorems_about_the_objective_and_about_the_clients_are_compared_on_the_same_problem():
    """F = mean f_i is as smooth as the least smooth client, so that the number given for the clients bounds that of F too."""
    names = ("baselines.local_sgd", "baselines.minibatch_sgd")
    for given in ("10", "1/10"):
        found = compare("1/10", {"clients": 8, "local_smoothness": given}, theorems=[fedco.theorem(n) for n in names])
        clients, objective = found.rows
        assert "objective_smoothness = local_smoothness" in objective.assumed
        assert {clients.tuned.bound.values["L"], objective.tuned.bound.values["L_bar"]} == {given}
