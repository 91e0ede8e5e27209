"""Costs of a target, comparisons through the shared vocabulary, and sensitivities."""

from __future__ import annotations

import re

import fedco
import pytest
from fedco.bounds.cost.comparison import compare
from fedco.bounds.cost.complexity import complexity
from fedco.bounds.cost.sensitivity import elasticities
from fedco.bounds.language.reading import InputError
from inverse_cases import FCSG, FEDDRO, plain

ONE_SAMPLE = {**FEDDRO, "b": 1}


def test_tuned_is_no_dearer_than_the_papers_schedule():
    theorem = fedco.theorem("feddro.theorem_5_1")
    found = complexity(theorem.statement("composed"), ONE_SAMPLE, "1/10")
    assert found.paper is not None
    assert found.tuned.cost["samples"] <= found.paper.cost["samples"]
    assert found.tuned.bound.total <= 0.1 and found.paper.bound.total <= 0.1
    assert found.paper.bound.numbers["eta"] == pytest.approx((8 / found.paper.cost["iterations"]) ** 0.5)
    assert "| samples per client |" in plain(str(found)) and found.to_dict()["rates"]["costs"]


@pytest.mark.parametrize(("period", "rounds"), [(2, 2068), (3, 1379), (4137, 1)])
def test_answers_count_whole_rounds(period, rounds):
    """4137 steps are 2068 rounds of 2 and a step: a run sends its model 2068 times, and its inner values at every step."""
    found = fedco.theorem("feddro.theorem_5_1").tune(budget={"samples": 4137}, I=period, **ONE_SAMPLE, delta_g="1/2")
    assert found.amounts == {
        "iterations": 4137,
        "rounds": rounds,
        "samples": 4137,
        "model_messages": rounds,
        "embedding_messages": 4137,
    }
    assert found.cost["rounds"] == 4137 / period and f"communication rounds: {rounds}\n" in str(found)
    assert ("communication rounds", rounds) in next(t for t in found.sheet().tables if t.name == "costs").rows


def test_the_corollary_costs_more_than_its_theorem():
    theorem, corollary = (
        complexity(fedco.theorem(f"fcsg.{n}").statement("printed"), FCSG, "1/10")
        for n in ("theorem_4_1", "corollary_4_2")
    )
    assert theorem.tuned.cost["samples"] < corollary.tuned.cost["samples"]
    assert theorem.paper is None and "no schedule" in theorem.paper_note


@pytest.mark.slow
def test_the_same_quantities_for_every_theorem():
    found = compare("1/2", {"clients": 8, "inner_value_noise": "1/2"})
    rows = {row.theorem: row for row in found.rows}
    assert {"fcsg.theorem_4_1", "feddro.theorem_5_1", "comfedl.theorem_2"} <= set(rows)
    assert all(row.tuned or row.reason for row in found.rows)
    assert rows["fcsg.theorem_4_1"].tuned.bound.values["N"] == "8"
    assert rows["fcsg.theorem_4_1"].tuned.bound.values["sigma_g"] == "1/2"
    assert "| fcsg.theorem_4_1 | corrected | conditional |" in plain(str(found)) and found.to_dict()["rows"]
    costs = {name: row.tuned.cost["samples"] for name, row in rows.items() if row.tuned}
    least = min(costs[name] for name, row in rows.items() if row.tuned and row.kind == "federated")
    assert found.against_plain() == {name: cost / least for name, cost in costs.items()}
    assert found.against_plain()["baselines.scgd"] > 5 and found.against_plain()["baselines.biased_sgd"] > 5
    assert {row["theorem"]: row["times_plain"] for row in found.to_dict()["rows"]}["fcsg.theorem_4_1"] > 5


def test_a_theorem_that_sends_nothing_of_a_kind_is_compared_without_a_number():
    names = ("baselines.biased_sgd", "baselines.scgd")
    nothing, something = compare(
        "1/2", {"clients": 8}, theorems=[fedco.theorem(n) for n in names], cost="embedding_messages"
    ).rows
    assert (
        nothing.tuned is None
        and "nothing to minimise" in nothing.reason
        and something.tuned.cost["embedding_messages"] >= 1
    )


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="not a quantity"):
        compare("1/2", {"L_f": 1})
    with pytest.raises(InputError, match="no terms"):
        elasticities(fedco.theorem("fcsg.lemma_a_2").statement("printed"), {})


def test_of_equally_cheap_schedules_the_one_with_the_least_terms_is_named():
    """F/(eta T) + log(T)/(N T): a step size that falls with the logarithm costs the same order, and loses the factor 1/N."""
    symbols = {"F": "objective_gap", "eta": "step_size", "L": "objective_smoothness", "T": "iterations", "N": "clients"}
    found = fedco.define(
        id="m.t",
        symbols=symbols,
        terms={"start": "F/(eta*T)", "logarithm": "log(T)/(N*T)*L*F"},
        conditions={"step": "eta*L <= 1"},
        costs={"samples": "T", "rounds": "T"},
    ).rates()
    assert str(found.costs["samples"]) == "eps^-1 log(1/eps)^1"
    assert {name: str(order) for name, order in found.schedule.items()} == {"eta": "1", "T": "eps^-1 log(1/eps)^1"}


def _own(terms: dict[str, str], conditions: dict[str, str] | None = None, **extra: str) -> fedco.Theorem:
    symbols = {
        "F": "objective_gap",
        "L": "objective_smoothness",
        "s": "local_gradient_noise",
        "T": "iterations",
        **extra,
    }
    used = {
        name: quantity
        for name, quantity in symbols.items()
        if any(re.search(rf"\b{name}\b", text) for text in terms.values())
    }
    costs = {"samples": "T*b" if "b" in used else "T", "rounds": "T"}
    return fedco.define(id="m.t", symbols=used, terms=terms, conditions=conditions or {}, costs=costs)


@pytest.mark.parametrize(
    ("terms", "extra", "samples"),
    [
        ({"a": "F*L/T", "v": "s**2*(b - 1)", "d": "s**2*(p - 1)"}, {"b": "batch_size", "p": "communication_period"}, "eps^-1"),
        ({"a": "F*L/T", "v": "s**2*min(1/b, 1)"}, {"b": "batch_size"}, "eps^-2"),
        ({"a": "F*L*min(1/T, 1/sqrt(T))"}, {}, "eps^-1"),
        ({"a": "F*L*min(1/sqrt(T), 1/T + min(1/T**2, 2/T))"}, {}, "eps^-1"),
    ],
)  # fmt: skip
def test_whole_numbers_that_are_1_together_and_minima_have_exact_orders(terms, extra, samples):
    found = _own(terms, **extra).rates()
    assert str(found.costs["samples"]) == samples and not found.dropped


def test_a_bound_is_said_to_have_a_floor_only_where_every_order_is_exact():
    with pytest.raises(InputError, match="it has a floor"):
        _own({"a": "F*L/T", "v": "s**2"}).rates()
    with pytest.raises(InputError, match="no powers of the target make this bound small; a logarithm"):
        _own({"a": "F*L/log(T)"}, {"long": "T >= 2"}).rates()
    with pytest.raises(InputError, match="no powers of the target make this bound small; 1 - q was counted without"):
        _own({"a": "F*L/T", "v": "s**2*(1 - q)"}, q="server_momentum").rates()


def test_orders_from_a_difference_of_real_numbers_are_upper_bounds_and_say_so():
    found = _own({"a": "F*L/T", "v": "s**2*(1 - q)/b"}, q="server_momentum", b="batch_size").rates()
    assert str(found.costs["samples"]) == "eps^-2", "with q near 1 it is eps^-1"
    assert found.dropped == ("1 - q",) == tuple(found.to_dict()["dropped"])
    assert "the orders are upper bounds, as 1 - q was counted without what is subtracted" in str(found)


def test_one_percent_more_at_a_kink_or_a_jump_is_what_it_says():
    """floor(3.03/3) = 1 as before, ceil(10.1/10) = 2 is twice 1, and min(eta L, 1/2) stays 1/2 above eta = 1/2."""
    symbols = {
        "F": "objective_gap",
        "L": "objective_smoothness",
        "eta": "step_size",
        "p": "communication_period",
        "T": "iterations",
    }
    rounded = fedco.define(id="m.t", symbols=symbols, terms={"a": "F*L*floor(p/3)/T", "b": "F*L*min(eta*L, 1/2)/T"})
    given = {"L": 1, "F": 1, "eta": "1/2", "p": 3, "T": 100}
    found = elasticities(rounded.statement(), given).values
    assert (found["p"], found["eta"]) == (0, 0) and found["T"] == pytest.approx(-1) and found["F"] == pytest.approx(1)
    assert found["L"] == pytest.approx(1), "1.01 (1 + 1/2) against 3/2"
    jump = fedco.define(id="m.t", symbols=symbols, terms={"a": "F*L*ceil(p/10)/(T*(eta*L)**2)"})
    assert elasticities(jump.statement(), given | {"p": 10}).values["p"] == pytest.approx(100)


def test_what_is_too_small_for_a_double_is_not_shown_as_0():
    symbols = {"F": "objective_gap", "L": "objective_smoothness", "eta": "step_size", "T": "iterations"}
    shrinking = fedco.define(id="m.t", symbols=symbols, terms={"a": "F*L*(1 - eta*L)**T"})
    assert shrinking.bound(L=1, F=1, eta="1/2", T=10**7).total == 5e-324
    assert shrinking.bound(L=1, F=0, eta="1/2", T=10**7).total == 0


@pytest.mark.parametrize(
    ("factor", "dropped"), [("(2*p - 1)", ()), ("(p - 1)", ()), ("(1 - 1/p)", ()), ("(2 - p)", ("2 - p",))]
)
def test_a_difference_of_a_whole_number_that_vanishes_at_1_at_most_is_of_its_own_order(factor, dropped):
    found = _own({"a": f"F*L/T + F*L*{factor}*p/T"}, {"most": "p <= 2"}, p="communication_period").rates()
    assert found.dropped == dropped
