"""What theorems of the wider literature meet, as files: each wall is gone, or its one line says how to go on."""

from __future__ import annotations

from typing import Any

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.cost.comparison import compare
from fedco.bounds.cost.orders import Order, rates
from fedco.bounds.language.definition import define
from fedco.bounds.language.meaning import meant_by
from fedco.bounds.language.quantities import QUANTITIES
from fedco.validation.falsifier.declared import target_of
from fedco.validation.runs.generate import Setting, instances_of
from hypothesis import given
from hypothesis import strategies as st
from refusal import is_refused
from small_theorems import LETTERS

PLAIN = {name: LETTERS[name] for name in ("L", "sigma", "F_gap", "eta", "T")}
TERMS = {"initialisation": "4*F_gap/(eta*T)", "variance": "2*L*eta*sigma**2"}


def theorem(name: str = "walls", **keys: Any) -> Any:
    """A bound of SGD with other keys; a symbol None is taken out, terms and conditions are replaced."""
    symbols = {name: of for name, of in {**PLAIN, **keys.pop("symbols", {})}.items() if of is not None}
    made = {
        "terms": TERMS,
        "conditions": {"step": "eta <= 1/L"},
        "method": {"name": "minibatch_sgd", "eta": "eta"},
        **keys,
    }
    return define(id=f"mine.{name}", symbols=symbols, **made)


# --- words ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("smoothness", "take one of near meaning: local_smoothness, "),
        ("learning_rate", "take one of near meaning: step_size, "),
        ("distance", "take one of near meaning: initial_distance, "),
        ("staleness", "take one of near meaning: delay"),
        ("number_of_workers", "take one of near meaning: clients, "),
        ("strong_convexity_constant", "take one of near meaning: strong_convexity"),
        ("local_smothness", "take local_smoothness"),
        ("condition_number", ""),
        ("dataset_size", ""),
        ("quantisation_levels", ""),
        ("synchronisation_probability", ""),
    ],
)
def test_an_unknown_word_leads_to_what_it_means_and_nowhere_else(word, meant):
    found = meant_by(word, QUANTITIES)
    assert found == meant if not meant or meant[-2:] != ", " else found.startswith(meant)
    with is_refused() as refused:
        theorem(symbols={"x": word})
    on = found or "look for one with `fedco symbols`"
    assert str(refused.value).endswith(
        f"symbols, x: {word!r} is no known quantity: declare it under [quantities], or {on}"
    )


@given(st.sampled_from(sorted(QUANTITIES)), st.data())
def test_a_slip_of_one_letter_finds_the_quantity(name, data):
    at = data.draw(st.integers(0, len(name) - 1))
    slipped = name[:at] + name[at + 1 :]
    found = meant_by(slipped, QUANTITIES)
    if slipped not in QUANTITIES and len(name) > 8:
        assert found.startswith("take ")


# --- formulas and orders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("denominator", "power"),
    [("T + t0", 1), ("(T + t0)**2", 2), ("sqrt(T + t0)", 0.5), ("T + t0 + N", 1), ("T*t0 + T", 1)],
)
def test_a_sum_in_a_denominator_has_orders(denominator, power):
    """1/(T + t0) is at most eps where T or t0 is of the order of 1/eps, whichever is cheaper."""
    made = theorem(
        symbols={"t0": "step_offset", "N": "clients"},
        terms={"initialisation": f"F_gap*L/({denominator})", "other": "L*eta*sigma**2/(N*t0)"},
        conditions={"step": "eta*L <= 1", "offset": "t0 <= 100"},
    )
    found = rates(made.statement(), ("iterations",)).costs["iterations"]
    assert found.eps == 1 / power and found.clients == 0


def test_the_dearer_part_is_not_taken():
    free = theorem(
        symbols={"t0": "step_offset"},
        terms={"initialisation": "F_gap*L/(T + t0)", "other": "L*eta*sigma**2"},
        conditions={"step": "eta*L <= 1"},
    )
    assert rates(free.statement(), ("iterations",)).costs["iterations"] == Order(0, 0)


@pytest.mark.parametrize("part", ["T - T**2/(T + 1)", "1 - sqrt(T)/(sqrt(T) + 1)", "max(0, 1 - sqrt(T)/(sqrt(T) + 1))"])
def test_the_inverse_of_a_sum_under_a_minus_sign_has_no_orders(part):
    """With a part of the sum in its place the difference is smaller than it is: it was announced as eps^-1, which is false."""
    made = theorem(terms={"initialisation": "F_gap/(eta*T)", "other": f"L*eta*sigma**2*({part})"})
    with is_refused("no exponents, a sum in a denominator is subtracted"):
        rates(made.statement())


def test_a_condition_with_a_subtracted_sum_has_no_orders():
    made = theorem(symbols={"t0": "step_offset"}, conditions={"step": "eta*L <= 1 - 1/(T + t0)"})
    with is_refused(r"mine\.walls \(printed\): no exponents: no lower bound for 1 - 1/\(T \+ t0\)"):
        rates(made.statement())


TTSA = dict.fromkeys(("L_bar", "l_g", "c_g", "M", "C", "sigma", "sigma_y", "sigma_g", "e_y", "F_gap", "b"), 1)
TTSA |= {"mu_g": "1/4", "N": 4}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"budget": {"T": 1000}}, "K: wanted a value or a range, or a budget of rounds or embedding_messages"),
        ({"eps": 1}, "K: wanted a value or a range, or the cost rounds or embedding_messages, where it counts"),
    ],
)
def test_a_number_of_terms_that_costs_nothing_is_not_tuned(asked, said):
    with is_refused(said):
        get_theorem("library.fed_ttsa").tune(**asked, **TTSA)


@pytest.mark.parametrize(
    "asked", [{"budget": {"T": 1000, "rounds": 10_000}}, {"budget": {"T": 1000}, "ranges": {"K": (1, 20)}}]
)
def test_where_it_is_counted_or_has_a_range_it_is_tuned(asked):
    best = get_theorem("library.fed_ttsa").tune(**asked, **TTSA)
    assert 1 < best.values["K"] <= 20


def test_one_number_for_each_client_is_refused_where_one_is_for_all():
    unlike = define(
        id="mine.unlike",
        symbols={**{name: of for name, of in PLAIN.items() if name != "L"}, "L_i": "local_smoothness"},
        terms={"initialisation": "F_gap/(eta*T)", "variance": "max_i(L_i)*eta*sigma**2"},
        method={"name": "minibatch_sgd", "eta": "eta"},
    )
    found = compare(theorems=[unlike, theorem()], eps="1/10", quantities={"local_smoothness": [1, 2, 4]})
    mine, plain = found.rows
    assert mine.tuned is not None
    assert plain.reason == "local_smoothness: got one number for each client, and L is one for all of them"


@pytest.mark.parametrize("inside", ["1 + 1/T", "2 + L*eta/sqrt(T)", "1 + L*eta", "1 + L*eta*T"])
def test_a_logarithm_that_may_be_small_has_no_orders(inside):
    """It was taken for log(1/eps), and a bound that can be made small was said to have a floor."""
    made = theorem(terms={"initialisation": f"F_gap/eta*log({inside})", "other": "L*eta*sigma**2*(1 + 1/T)"})
    with is_refused("need not grow as the target goes to 0; with an upper bound in its place there are"):
        rates(made.statement())


def test_many_sums_in_a_denominator_take_no_memory():
    factors = "*".join(f"(T + {k}*t0)" for k in range(1, 31))
    made = theorem(
        symbols={"t0": "step_offset"}, terms={"initialisation": f"F_gap*L/({factors})", "other": "L*eta*sigma**2"}
    )
    with is_refused("no exponents"):
        rates(made.statement())


def test_what_has_no_orders_says_how_to_have_them():
    made = theorem(
        symbols={"beta": "heavy_ball_momentum"},
        terms={"initialisation": "F_gap/(eta*T)", "variance": "L*eta*sigma**2/(1 - beta)"},
    )
    with is_refused("the sum 1 - beta in a denominator; with a symbol of its own in the place of the sum there are"):
        rates(made.statement())
    with_alpha = theorem(
        symbols={"alpha": "momentum"},
        terms={"initialisation": "F_gap/(eta*T)", "variance": "L*eta*sigma**2/alpha"},
        conditions={"step": "eta <= 1/L"},
    )
    assert rates(with_alpha.statement()).costs["samples"].eps == 2


# --- horizons and who takes part -------------------------------------------------------------------------------------------

SAMPLED = {
    "symbols": {"p": "communication_period", "N": "clients", "S": "sampled_clients"},
    "terms": {
        "initialisation": "4*F_gap/(eta*T)",
        "variance": "2*L*eta*sigma**2/S",
        "drift": "8*L*eta*p*(1 - S/N)*sigma**2",
    },
    "conditions": {"step": "eta <= 1/(8*L*p)"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": "p", "m": "S"},
}


def test_iterations_and_rounds_are_counted_whoever_takes_part():
    made = theorem("sampled", **SAMPLED)
    known = {"L": 1, "sigma": 1, "F_gap": 1, "N": 8, "S": 4, "p": 2}
    best = made.tune(eps=1, cost="rounds", **known)
    assert best.cost["iterations"] == 2 * best.cost["rounds"] and "samples" not in best.cost
    with is_refused(r"mine\.sampled has the method local_sgd, whose count is without m; declare a formula"):
        made.tune(eps=1, cost="samples", **known)
    counted = theorem("counted", **SAMPLED, costs={"samples": "T*S/N"})
    assert (
        counted.tune(eps=1, cost="samples", **known).cost["samples"] * 2
        == counted.tune(eps=1, cost="samples", **known).cost["iterations"]
    )
    assert Setting(made, "printed", "federated_homogeneous", {}).whole()["S"] == 1


PER_ROUND = {
    "symbols": {"R": "rounds", "K": "communication_period"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": "K"},
}


def per_round(start: str, **symbols: str | None) -> Any:
    """A bound that falls with the rounds, of K steps each."""
    terms = {"initialisation": start, "variance": "2*L*eta*sigma**2" if "T" in symbols else "2*L*eta*sigma**2*T/(R*K)"}
    return theorem("rounds", **{**PER_ROUND, "symbols": {**PER_ROUND["symbols"], **symbols}}, terms=terms)


def test_a_symbol_that_the_count_needs_is_named():
    with is_refused("lacks K in terms and conditions, which the count of its method local_sgd needs"):
        per_round("4*F_gap/(eta*R)", T=None).tune(eps=1, cost="samples", L=1, sigma=1, F_gap=1)


def test_rounds_or_iterations_but_not_both():
    rounds = per_round("4*F_gap/(eta*R*K)", T=None)
    assert rounds.tune(budget={"iterations": 100}, L=1, sigma=1, F_gap=1, K=2).cost["rounds"] == 50
    with is_refused("wanted one of them, with the steps of a round times the rounds in the place of the iterations"):
        target_of(per_round("4*F_gap/(eta*R*K)"), "printed")


def test_a_fraction_of_the_clients():
    made = theorem(
        "fraction",
        symbols={"p": "communication_period", "N": "clients", "r": "participation"},
        terms={"initialisation": "4*F_gap/(eta*T)", "variance": "2*L*eta*sigma**2/(r*N)"},
        conditions={"step": "eta <= 1/(8*L*p)"},
        method={"name": "local_sgd", "eta": "eta", "tau": "p", "m": "r*N"},
    )
    assert made.tune(eps=1, cost="rounds", L=1, sigma=1, F_gap=1, N=8, r="1/2", p=2).cost["rounds"] > 0


# --- runs ------------------------------------------------------------------------------------------------------------------


def test_what_no_problem_certifies_says_where_it_belongs():
    made = theorem(
        "curved",
        symbols={"rho": "weak_convexity"},
        terms={**TERMS, "curved": "4*eta**2*L*rho*sigma**2"},
    )
    with is_refused(r"none of the kind federated certifies weak_convexity$"):
        instances_of(made, "printed", ())
    own = {
        "staleness": {"meaning": "largest delay of a gradient", "domain": "positive integer", "role": "hyperparameter"}
    }
    on = theorem(
        "own_delay",
        quantities=own,
        symbols={"D": "staleness"},
        terms={**TERMS, "stale": "4*eta**2*L**2*D*sigma**2"},
        method={"name": "delayed_sgd", "eta": "eta", "D": "D"},
    )
    assert instances_of(on, "printed", (), ["federated_homogeneous"]).instances


def test_a_probability_of_failure_is_chosen_where_a_run_needs_one():
    made = theorem(
        "probable",
        symbols={"delta": "failure_probability"},
        terms={"initialisation": "2*F_gap/(delta*eta*T)", "variance": "L*eta*sigma**2/delta"},
        probability={"failure": "delta"},
    )
    chosen = Setting(made, "printed", "federated_homogeneous", {}).whole()
    assert 0 < chosen["delta"] < 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"method": {"name": "scgd", "eta": "eta"}}, "method: scgd needs "),
        ({"metric": "mean_moreau"}, "metric: 'mean_moreau' is not a metric; "),
        (
            {"method": {"name": "minibatch_sgd", "eta": "eta/(t + 1)**2"}},
            "method, eta: wanted a/(t + t0) or a/sqrt(t + t0) or ",
        ),
        ({"method": {"name": "adagrad", "eta": "eta"}}, "method: 'adagrad' is not a method; "),
    ],
)
def test_a_wall_has_its_sentence(keys, message):
    with is_refused() as refused:
        theorem(**keys)
    assert str(refused.value).startswith(f"mine.walls: {message}")
