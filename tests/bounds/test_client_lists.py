"""One number for each client: symbols whose names end in _i, lists of values, and every verb on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.audit.checks import automatic
from fedco.bounds.cost.comparison import compare
from fedco.bounds.cost.orders import rates
from fedco.bounds.cost.resources import resources
from fedco.bounds.evaluation.enclosure import enclose_bound
from fedco.bounds.evaluation.evaluate import evaluate
from fedco.bounds.language.client_lists import for_clients, with_clients_alike
from fedco.bounds.language.clients import OVER_CLIENTS, ClientSymbol, SumOverClients, alike, at_clients
from fedco.bounds.language.definition import define, keys_of
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.proof.derivations import prove
from fedco.bounds.settings import resolve
from fedco.bounds.vocabulary import template
from fedco.synthetic import problem
from fedco.validation.experiments.run import run
from fedco.validation.explorer.javascript import Library, statement_source
from fedco.validation.falsifier.attack import falsify
from fedco.validation.falsifier.declared import target_of
from fedco.validation.runs.method_of import build_of, steps_of
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.validate import validate
from fedco.validation.runs.values import evaluate_at, numbers_of
from fedco.validation.testing import assert_bound_holds
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import is_refused
from small_theorems import merged

KEYS: dict[str, Any] = {
    "id": "mine.fednova",
    "symbols": {
        "p_i": "client_weight",
        "L_i": "local_smoothness",
        "sigma_i": "local_gradient_noise",
        "tau_i": "client_steps",
        "F_gap": "objective_gap",
        "eta": "step_size",
        "R": "rounds",
    },
    "derived": {"tau_eff": "sum_i(p_i*tau_i)"},
    "terms": {
        "initialisation": "4*F_gap/(eta*tau_eff*R)",
        "variance": "4*eta*max_i(L_i)*tau_eff*sum_i(p_i**2*sigma_i**2/tau_i)",
        "drift": "6*eta**2*max_i(L_i)**2*mean_i((tau_i - 1)*sigma_i**2)",
    },
    "conditions": {"step_size": "eta <= 1/(4*max_i(L_i)*max_i(tau_i))"},
    "method": {"name": "fednova", "eta": "eta", "tau": "max_i(tau_i)", "steps": "tau_i", "weights": "p_i", "b": 1},
}
LISTS: dict[str, Any] = {"p_i": ["1/2", "1/4", "1/4"], "L_i": [1, 2, 4], "sigma_i": [1, 1, "1/2"], "tau_i": [1, 2, 3]}
POINT: dict[str, Any] = {**LISTS, "F_gap": 10, "eta": "1/100", "R": 1000}


def keys(**tables: dict[str, Any]) -> dict[str, Any]:
    return merged(KEYS, tables)


THEOREM = define(**KEYS)
ALIKE = with_clients_alike(THEOREM)
_WEIGHT = "weight p_i of a client in F = sum_i p_i f_i"
_STEPS = "local steps of a client in a round"
_SUM = f"p_i: wanted numbers with sum 1 ({_WEIGHT}), got "
_INSIDE = "is one number for each client: it stands inside sum_i(), mean_i(), max_i() or min_i()"
_EACH = "a name that ends in _i has one number for each client"
_NO_LIST = "wanted a symbol with one number for each client in it (its name ends in _i)"
_ENDS = "wanted a name that ends in _i"
_DERIVED = "a derived constant has one: wanted another name, or its formula where it is used"
_FEDNOVA = "fednova takes one tau for all clients, such as max_i(); of fednova, steps and weights may differ"
_OWN = "is one number for all clients: declare a word of your own under [quantities]"


@pytest.fixture(scope="module")
def theorem() -> Theorem:
    return THEOREM


def by_hand(p: list[Any], L: list[Any], s: list[Any], tau: list[Any], F: Any, eta: Any, R: Any) -> Any:
    """The bound of KEYS in plain Python."""
    p, L, s = ([Fraction(v) for v in each] for each in (p, L, s))
    N, tau_eff = len(p), sum(a * b for a, b in zip(p, tau, strict=True))
    noise = sum(a**2 * b**2 / c for a, b, c in zip(p, s, tau, strict=True))
    drift = sum((c - 1) * b**2 for b, c in zip(s, tau, strict=True)) / N
    return 4 * F / (eta * tau_eff * R) + 4 * eta * max(L) * tau_eff * noise + 6 * eta**2 * max(L) ** 2 * drift


@st.composite
def points(draw: st.DrawFn) -> dict[str, Any]:
    """Lists of one length; the weights are shares of whole numbers, so that they add up to 1 exactly."""
    clients = draw(st.integers(1, 5))
    number = st.fractions(Fraction(1, 9), 9, max_denominator=9)
    each = {name: draw(st.lists(number, min_size=clients, max_size=clients)) for name in ("L_i", "sigma_i")}
    shares = draw(st.lists(st.integers(0, 9), min_size=clients, max_size=clients).filter(any))
    tau = draw(st.lists(st.integers(1, 9), min_size=clients, max_size=clients))
    eta = draw(st.fractions(Fraction(1, 99), 1, max_denominator=99))
    weights = [Fraction(share, sum(shares)) for share in shares]
    return {**each, "p_i": weights, "tau_i": tau, "F_gap": 3, "eta": eta, "R": draw(st.integers(1, 99))}


@settings(max_examples=15)
@given(points())
def test_the_bound_is_what_the_formula_says(point):
    theorem = THEOREM
    found = theorem.bound(**point, strict=False)
    wanted = by_hand(*(point[name] for name in ("p_i", "L_i", "sigma_i", "tau_i", "F_gap", "eta", "R")))
    assert Fraction(found.total) == Fraction(float(wanted))
    fits = point["eta"] <= 1 / (4 * max(point["L_i"]) * max(point["tau_i"]))
    assert found.admissible == fits
    inside = enclose_bound(*for_clients(theorem.statement(), point))
    assert inside["total"].contains(wanted)


@settings(max_examples=15)
@given(points())
def test_equal_numbers_are_what_the_theorem_says_of_equal_clients(point):
    theorem, clients = THEOREM, len(point["p_i"])
    equal = {name: [point[name][0]] * clients for name in ("L_i", "sigma_i", "tau_i")}
    lists = {**point, **equal, "p_i": [Fraction(1, clients)] * clients}
    scalars = {name.removesuffix("_i"): values[0] for name, values in equal.items()}
    others = {name: point[name] for name in ("F_gap", "eta", "R")}
    same = ALIKE.bound(**others, **scalars, N=clients, strict=False)
    found = theorem.bound(**lists, strict=False)
    assert (found.total, found.admissible) == (same.total, same.admissible)


def test_what_is_the_same_for_all_clients_stands_before_the_sum(theorem):
    names = {name: binding.symbol for name, binding in theorem.notation.bindings.items()}
    assert str(read_formula("sum_i(2*eta*p_i*L_i)", names)) == "2*eta*sum_i(L_i*p_i)"
    assert str(read_formula("max_i(eta*L_i)", names)) == "eta*max_i(L_i)"
    nested = read_formula("sum_i(p_i*tau_i/sum_i(p_i*tau_i))", names)
    lists = {names["p_i"]: (sp.Rational(1, 3), sp.Rational(2, 3)), names["tau_i"]: (sp.Integer(2), sp.Integer(5))}
    assert at_clients(nested, lists) == 1
    assert isinstance(names["L_i"], ClientSymbol) and not isinstance(names["eta"], ClientSymbol)


@pytest.mark.parametrize("word", OVER_CLIENTS)
def test_what_stands_over_the_clients_is_written_as_it_is_read(word):
    names = {"L_i": ClientSymbol("L_i", positive=True), "eta": sp.Symbol("eta", positive=True)}
    found = read_formula(f"{word}(L_i**2 + eta)", names)
    assert read_formula(str(found), names) == found and "_{i}" in sp.latex(found)
    N, L = sp.symbols("N L", positive=True)
    assert alike(found, {names["L_i"]: L}, N) == (L**2 + names["eta"]) * (N if word == "sum_i" else 1)


def test_a_sum_of_roots_is_enclosed(theorem):
    changed = define(
        **keys(terms={"drift": "eta*sum_i(L_i*sqrt(p_i))*sigma_i_max**2"}, derived={"sigma_i_max": "max_i(sigma_i)"})
    )
    total = enclose_bound(*for_clients(changed.statement(), POINT))["drift"]
    wanted = 0.01 * sum(L * p**0.5 for L, p in zip((1, 2, 4), (0.5, 0.25, 0.25), strict=True))
    assert total.width < Fraction(1, 10**20) and abs(float(total.lower) - wanted) < 1e-12


# --- every verb --------------------------------------------------------------------------------------------------------


def test_it_is_written_and_read_again(theorem):
    again = define(**keys_of(theorem, "printed"))
    assert again.bound(**POINT).total == theorem.bound(**POINT).total
    assert "one for each client" in str(theorem.notation["L_i"].meaning)


def test_regions_tuner_and_costs_take_lists(theorem):
    known = {name: value for name, value in POINT.items() if name != "eta"}
    assert theorem.admissible("eta", **known).intervals["eta"].upper == 1 / 48
    del known["R"]
    best = theorem.tune(budget={"rounds": 1000}, **known)
    grid = np.geomspace(1e-4, 1 / 48, 200)
    assert best.bound.total <= theorem.bound(**known, R=1000, eta=grid).total.min() * (1 + 1e-8)  # the tuner's gap
    made = resolve(theorem.statement(), POINT).statement
    assert resources(made)["iterations"] == 3 * made.theorem.notation["R"].symbol
    assert (
        theorem.complexity(eps=1, **known).tuned.cost["iterations"]
        == 3 * theorem.complexity(eps=1, **known).tuned.cost["rounds"]
    )


def test_orders_are_those_of_equal_clients(theorem):
    found = rates(theorem.statement())
    same = rates(with_clients_alike(theorem).statement())
    assert found.costs == same.costs and found.costs["samples"].eps == 2
    assert "where all clients have the same numbers: L is every L_i" in str(found)


def test_a_comparison_takes_a_list_for_one_theorem(theorem):
    quantities = {"client_weight": LISTS["p_i"], "local_smoothness": LISTS["L_i"], "client_steps": LISTS["tau_i"]}
    row = compare(1, quantities, theorems=[theorem], cost="rounds").rows[0]
    known = {**LISTS, "sigma_i": 1, "F_gap": 1}
    assert (
        row.tuned is not None and row.tuned.cost["rounds"] == theorem.tune(eps=1, cost="rounds", **known).cost["rounds"]
    )


def test_weights_that_nobody_gives_are_equal_in_a_comparison(theorem):
    row = compare("1/10", {"clients": 4, "client_steps": [1, 2, 2, 3]}, theorems=[theorem], cost="rounds").rows[0]
    assert "client_weight = 1/4" in row.assumed and row.tuned is not None, row.reason


@pytest.mark.parametrize("given", [{"client_steps": 2}, {"client_steps": [1, 2, 3]}])
def test_weights_are_equal_in_a_comparison_where_nothing_says_how_many_clients_there_are(theorem, given):
    """As many as a list has numbers, or the 10 that a comparison takes unasked; weights of 1 would be those of a single client."""
    row = compare("1/10", given, theorems=[theorem], cost="rounds").rows[0]
    assert row.tuned is not None, row.reason
    clients = 10 if given["client_steps"] == 2 else 3
    assert f"client_weight = 1/{clients}" in row.assumed and len(row.tuned.bound.about.clients["p_i"]) == clients
    for wrong in (0, "5/2", 10**9):
        assert (
            "clients: wanted a positive integer of at most 10000"
            in compare("1/10", {"clients": wrong}, theorems=[theorem], cost="rounds").rows[0].reason
        )


def test_a_file_of_constants_has_lists(theorem, tmp_path):
    file = tmp_path / "constants.toml"
    file.write_text('p_i = ["1/2", 0.25, "1/4"]\nL_i = [1, 2, 4]\nsigma_i = [1, 1, 0.5]\nF_gap = 10\n')
    found = resolve(theorem.statement(), {"tau_i": "[1, 2, 3]", "eta": "1/100", "R": 1000}, file)
    assert theorem.bound(constants=file, tau_i="1, 2, 3", eta="1/100", R=1000).total == theorem.bound(**POINT).total
    assert "of each client: L_i = 1, 2, 4" in found.notes and found.to_dict()["clients"]["p_i"] == ["1/2", "1/4", "1/4"]
    assert "one for each client" in template([theorem.statement()])
    scalar = define(
        **keys(
            symbols={"L": "local_smoothness", "L_i": None},
            terms={"variance": "eta*L*sum_i(p_i**2*sigma_i**2/tau_i)", "drift": None},
            conditions={"step_size": "eta <= 1/L"},
        )
    )
    with is_refused(r"L: wanted one number .* got a list; a list is for a symbol whose name ends in _i"):
        resolve(scalar.statement(), {}, {"L": ("1", "2")})


def test_one_number_serves_all_clients(theorem):
    one = {**POINT, "sigma_i": "1/2"}
    assert theorem.bound(**one).total == theorem.bound(**{**POINT, "sigma_i": ["1/2"] * 3}).total


def test_the_audit_and_the_page_of_the_explorer(theorem):
    assert list(automatic(theorem)) == []
    source = statement_source(with_clients_alike(theorem).statement(), Library())
    assert "Math.max" not in source and "schedule" in source


# --- runs --------------------------------------------------------------------------------------------------------------


def test_a_run_gets_the_steps_and_weights_of_each_client(theorem):
    made = problem("federated_noisy")
    steps = tuple(1 + k % 2 for k in range(made.clients))
    instance = Instance(made, {"tau_i": steps, "eta": Fraction(1, 100)}, "")
    bound, kind = evaluate_at(theorem, "printed", made, instance.hyperparameters, 40)
    values = numbers_of(instance, bound)
    method = build_of(theorem)(values)
    assert (method.steps, method.tau) == (steps, 2) and method.weights == pytest.approx(
        [1 / made.clients] * made.clients
    )
    assert steps_of(theorem)(values) == 80 and kind in ("exact", "upper")
    L = Fraction(made.certificates["local_smoothness"].value)
    assert bound.about.clients["L_i"] == (L,) * made.clients


def test_a_run_reads_a_list():
    settings_now = ["eta=0.01", "tau=2", "steps=1,2,1,2,1,2,1,2"]
    found = run("fednova", "federated_noisy", T=4, seeds=2, settings=settings_now)
    same = run("fednova", "federated_noisy", T=4, seeds=2, settings={"eta": 0.01, "tau": 2, "steps": (1, 2) * 4})
    other = run("fednova", "federated_noisy", T=4, seeds=2, settings={"eta": 0.01, "tau": 2})
    assert found.description["hyperparameters"]["steps"] == [1, 2] * 4
    at_the_end = [each.table.final("objective").tolist() for each in (found, same, other)]
    assert at_the_end[0] == at_the_end[1] != at_the_end[2]


def test_a_bound_that_holds_is_supported(theorem):
    verdict = assert_bound_holds(
        theorem, "federated_noisy", T=240, seeds=512, eta="89/500", tau_i=[1, 2, 1, 2, 1, 2, 1, 2], root_seed=3
    )
    assert verdict.bound == pytest.approx(0.5, abs=0.3)


def test_a_search_has_equal_clients_and_says_so(theorem):
    target = target_of(theorem, "printed")
    assert {"L", "sigma", "tau"} <= target.symbols.keys() and target.period == "tau"
    halved = define(**keys(terms={"initialisation": "F_gap/(4*eta*tau_eff*R)"}))
    found = falsify(halved, "printed", seconds=4)
    assert found.refuted and "where all clients have the same numbers" in found.why[-1]


def test_answers_as_data_say_that_all_clients_are_alike(theorem):
    assert "L is every L_i" in rates(theorem.statement()).to_dict()["clients"]
    found = validate(theorem, problems=["federated_noisy"], seeds=4, jobs=1)
    said = "every client has the constant that is certified for all of them: L_i, sigma_i"
    assert found.to_dict()["clients"] == said and said in str(found) and said in found.sheet().notes


def test_arrays_are_refused_in_one_line(theorem):
    with is_refused("p_i: has one number for each client"):
        evaluate(theorem.statement(), eta=[0.1, 0.2])


def test_no_proof_has_lists(theorem):
    with is_refused("p_i, L_i, sigma_i, tau_i have one number for each client, which no rule of the kernel reads"):
        prove(theorem)


# --- one line for each mistake -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"L_i": [1, 2]}, "L_i: wanted 3 numbers, one for each client as in p_i, got 2"),
        ({"p_i": ["1/2", "-1/4", "3/4"]}, f"p_i, client 2: wanted a number in [0, 1] ({_WEIGHT}), got -1/4"),
        ({"p_i": ["1/2", "1/4", "1/5"]}, _SUM + "19/20; 1/3 is exact, 0.333 is not"),
        ({"p_i": "1/2"}, _SUM + "3/2; 1/3 is exact, 0.333 is not"),
        ({"tau_i": [1, "3/2", 2]}, "tau_i, client 2: wanted a positive integer (local steps of a client in a round), got 3/2"),
        ({"tau_i": None}, f"tau_i: wanted a list with a positive integer for each client, or one for all of them ({_STEPS}), got nothing"),
        ({"L_i": [1, [2], 4]}, "L_i, client 2: wanted a positive real, got [2]"),
        ({"L_i": "[1, x, 4]"}, "L_i, client 2: wanted a positive real as a decimal or a fraction such as 1/3, got 'x'"),
    ],
)  # fmt: skip
def test_bad_lists_get_one_line(theorem, changed, message):
    given_now = {name: value for name, value in {**POINT, **changed}.items() if value is not None}
    with is_refused() as refused:
        theorem.bound(**given_now)
    assert str(refused.value) == message


def test_the_number_of_clients_is_the_length_of_the_lists():
    with_clients = define(**keys(symbols={"N": "clients"}, terms={"drift": "eta**2*max_i(L_i)**2*max_i(sigma_i)**2*N"}))
    assert with_clients.bound(**POINT).numbers["N"] == 3
    with is_refused("N: wanted 3, the length of the list p_i, got 4"):
        with_clients.bound(**POINT, N=4)
    with is_refused("N: is the length of the lists; wanted another symbol to solve for"):
        with_clients.admissible("N", **POINT)
    with is_refused("tau_i: one number for each client, which nothing solves for; wanted a list of them"):
        with_clients.admissible("tau_i", **{name: value for name, value in POINT.items() if name != "tau_i"})


def test_a_statement_with_lists_left_out_is_refused_where_numbers_are_wanted(theorem):
    with is_refused(r"p_i: has one number for each client in mine\.fednova \(printed\); wanted the statement with"):
        enclose_bound(theorem.statement(), POINT)
    alone = {"p_i": 1, "L_i": 1, "sigma_i": 1, "tau_i": 1, "F_gap": 1, "eta": 1, "R": 1}
    with is_refused("p_i: wanted a list, or the number of clients beside one number for all of them"):
        theorem.bound(**alone)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"terms": {"variance": "eta*L_i*sigma_i**2"}}, f"term variance: L_i {_INSIDE}"),
        ({"conditions": {"step_size": "eta <= 1/L_i"}}, f"condition step_size: L_i {_INSIDE}"),
        ({"terms": {"variance": "max_i(eta)*sum_i(L_i*sigma_i**2)"}}, f"term variance: column 1: max_i: {_NO_LIST}, got eta"),
        ({"symbols": {"F_i": "objective_gap"}}, f"symbols, F_i: {_EACH}, and objective_gap {_OWN}"),
        ({"symbols": {"d_i": "local_gradient_heterogeneity"}}, f"symbols, d_i: {_EACH}, and local_gradient_heterogeneity {_OWN}"),
        ({"symbols": {"R_i": "rounds"}}, f"symbols, R_i: {_EACH}, and rounds {_OWN}"),
        ({"symbols": {"p": "client_weight"}}, f"symbols, p: each client has its own client_weight: {_ENDS}, such as p_i"),
        ({"derived": {"k_i": "L_i"}}, f"derived, k_i: {_EACH}, {_DERIVED}"),
        ({"method": {"tau": "tau_i"}}, f"method, tau: {_FEDNOVA}"),
    ],
)  # fmt: skip
def test_bad_definitions_get_one_line(tables, message):
    with is_refused() as refused:
        define(**keys(**tables))
    assert str(refused.value) == f"mine.fednova: {message}"


def test_a_word_of_ones_own_has_weights_too():
    own = {"share": {"meaning": "share of the data", "domain": "weights with sum 1"}}
    made = define(**keys(symbols={"p_i": "share"}) | {"quantities": own})
    with is_refused("p_i: wanted numbers with sum 1 "):
        made.bound(**{**POINT, "p_i": [1, 1, 1]})
    assert made.bound(**POINT).total == define(**KEYS).bound(**POINT).total
    assert issubclass(SumOverClients, sp.Function)


def test_the_weights_of_the_iterates_have_no_numbers_of_single_clients():
    with is_refused("weights: L_i is one number for each client, and an iterate has one weight for all"):
        define(**keys(), metric="weighted_gradient_sq", weights="max_i(L_i)*eta*t + 1")


def test_a_word_of_ones_own_for_what_is_about_all_clients_is_no_number_of_one():
    meaning = {"meaning": "how far the clients differ", "dimension": "[f] [x]^-1", "domain": "nonnegative real"}
    bounds = "distance from the mean over the clients of local_gradient, mean over the clients"
    with is_refused(r"z_i: a name that ends in _i has one number for each client, and .* is one number for all"):
        define(**keys(quantities={"apart": {**meaning, "bounds": bounds}}, symbols={"z_i": "apart"}))
