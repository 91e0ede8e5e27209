"""Costs of the papers' theorems: targets, orders, claims, comparisons, and what the methods count."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from fractions import Fraction as Q
from functools import cache
from math import log
from pathlib import Path

import fedco
import pytest
from fedco.algorithms import METHODS, drive
from fedco.algorithms.declared import declared
from fedco.bounds.cost import claims
from fedco.bounds.cost.comparison import Comparison, OrderTable, compare
from fedco.bounds.cost.complexity import complexity
from fedco.bounds.cost.orders import Order, rates
from fedco.bounds.cost.resources import resources
from fedco.bounds.cost.sensitivity import elasticities
from fedco.bounds.optimum.tuning import tune
from fedco.bounds.registry import all_papers, get_paper
from fedco.synthetic import problem
from fedco.user_files import load_object
from inverse_cases import FCSG, FEDDRO, plain
from quick import slow_but
from refusal import is_refused
from small_theorems import small

ONE_SAMPLE = {**FEDDRO, "b": 1}


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
    with is_refused("not a quantity"):
        compare("1/2", {"L_f": 1})
    with is_refused("no terms"):
        elasticities(fedco.theorem("fcsg.lemma_a_2").statement("printed"), {})


def test_of_equally_cheap_schedules_the_one_with_the_least_terms_is_named():
    """F/(eta T) + log(T)/(N T): a step size that falls with the logarithm costs the same order, and loses the factor 1/N."""
    terms, costs = "F_gap/(eta*T) + log(T)/(N*T)*L*F_gap", {"samples": "T", "rounds": "T"}
    found = small(terms, conditions={"step": "eta*L <= 1"}, costs=costs).rates()
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
        if any(re.search(rf"\b{name}\b", text) for text in (*terms.values(), *(conditions or {}).values()))
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
    with is_refused("it has a floor"):
        _own({"a": "F*L/T", "v": "s**2"}).rates()
    with is_refused("no powers of the target make this bound small; a logarithm"):
        _own({"a": "F*L/log(T)"}, {"long": "T >= 2"}).rates()
    with is_refused("no powers of the target make this bound small; 1 - q was replaced"):
        _own({"a": "F*L/T", "v": "s**2*(1 - q)"}, q="server_momentum").rates()


def test_orders_from_a_difference_of_real_numbers_are_upper_bounds_and_say_so():
    found = _own({"a": "F*L/T", "v": "s**2*(1 - q)/b"}, q="server_momentum", b="batch_size").rates()
    assert str(found.costs["samples"]) == "eps^-2", "with q near 1 it is eps^-1"
    assert found.dropped == ("1 - q",) == tuple(found.to_dict()["dropped"])
    assert "the orders are upper bounds, as 1 - q was replaced by what bounds it" in str(found)


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


# --- what a comparison is given ---------------------------------------------------------------------------------------


LOCAL, MINIBATCH = "baselines.local_sgd", "baselines.minibatch_sgd"


def names(found):
    return [row.theorem for row in found.rows]


def test_theorems_and_ids_stand_first_in_any_mixture():
    for given in ((LOCAL, MINIBATCH), (fedco.theorem(LOCAL), MINIBATCH), (LOCAL, fedco.theorem(MINIBATCH))):
        found = fedco.compare(*given)
        assert isinstance(found, OrderTable) and names(found) == [LOCAL, MINIBATCH]
        told = fedco.compare(*given, "1/10", {"clients": 4})
        assert isinstance(told, Comparison) and names(told) == [LOCAL, MINIBATCH]
        assert told.eps == "1/10" and told.quantities == {"clients": "4"}
    assert names(fedco.compare(LOCAL, theorems=[MINIBATCH], eps="1/10")) == [LOCAL, MINIBATCH]


def test_the_old_order_gives_the_same():
    by_place = fedco.compare("1/10", {"clients": 4}, theorems=[LOCAL, MINIBATCH])
    assert by_place.to_dict() == fedco.compare(LOCAL, MINIBATCH, eps="1/10", quantities={"clients": 4}).to_dict()
    assert fedco.compare(0.1, theorems=[LOCAL]).eps == "0.1"


def test_without_a_target_the_orders_are_compared_for_every_label():
    found = fedco.compare(LOCAL)
    assert isinstance(found, OrderTable)
    assert {(row.theorem, row.statement) for row in found.rows} <= {
        (LOCAL, "printed"),
        (LOCAL, "corrected"),
    } and found.rows


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        ((LOCAL, "1/10", {}, "more"), {}, "more: wanted theorems, then eps, a number, then quantities, a mapping"),
        (("1/10", LOCAL), {}, f"{LOCAL}: wanted theorems, then eps"),
        ((LOCAL, {"clients": 4}), {}, "eps: wanted a number beside the quantities"),
        (("nothing.like_it",), {}, "'nothing.like_it': not a theorem"),
        (("1/10", {}), {"quantities": {}}, "{}: wanted theorems"),
    ],
)
def test_what_cannot_be_meant_is_one_line(given, named, said):
    with is_refused() as caught:
        fedco.compare(*given, **named)
    assert str(caught.value).startswith(said)


def test_metrics_of_different_units_stand_in_no_table():
    """A target of 1/10 for a squared gradient is none for a distance; without names those of squared gradients are compared."""
    for options in ({"eps": "1/10"}, {}):
        with is_refused(r"library\.sgd_pl bounds E\[F.*minibatch_sgd bounds .*whose metrics have one unit"):
            fedco.compare("library.sgd_pl", "baselines.minibatch_sgd", **options)
    alone = fedco.compare("library.sgd_pl", "library.sgd_convex", eps="1/10")
    assert {row.metric for row in alone.rows} == {fedco.theorem(row.theorem).metric.name for row in alone.rows}
    everyone = fedco.compare(kind="federated")
    assert {fedco.theorem(row.theorem).metric.is_squared_gradient for row in everyone.rows} == {True}
    assert len(everyone.rows) >= 3


def test_a_mean_and_a_minimum_in_one_table_are_named():
    mean, least, other = (
        small("2*F_gap/(eta*T)", id=f"mine.{name}", metric=metric, conditions={"step_size": "eta <= 1/L"})
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


# --- exact orders by hand ---------------------------------------------------------------------------------------------


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


def test_what_has_no_orders_says_why():
    for name, costs, said in (
        ("meta_fl.theorem_8_FO", ("samples",), "floor"),
        ("fcsg.lemma_a_2", ("samples",), "no terms"),
        (
            "baselines.biased_sgd",
            ("samples", "embedding_messages"),
            r"embedding_messages: nothing to minimise, .* has none",
        ),
    ):
        with is_refused(said):
            rates(fedco.theorem(name).statement("printed"), costs)


# --- the papers' claims against the exact orders of their own statements ----------------------------------------------


CLAIMS = {claim.id: claim for paper in all_papers() for claim in claims.claims_of(paper)}

QUICK = [name for name in CLAIMS if name.startswith(("acc_fcsg_m.", "fcsg."))]
"""Of one theorem that does not give what is claimed and of one that does; the orders of each statement take a second."""


@cache
def checked(name: str):
    """What the statements give beside what is claimed; computed once, when a test first asks."""
    return claims.check(CLAIMS[name])


@pytest.mark.parametrize("name", slow_but(QUICK, CLAIMS))
def test_the_printed_corollary_gives_what_is_claimed(name):
    """Substituted into the printed statements the arithmetic of every remark is right; the theorems behind it may not be."""
    row = checked(name)
    assert row.agrees and row.found is not None, str(row)
    assert row.to_dict()["agrees"] is True
    assert (row.found.eps, row.found.clients) <= (row.claim.order.eps, row.claim.order.clients)


@pytest.mark.slow
def test_every_disagreement_with_a_theorem_is_a_finding_of_the_audit():
    worse = {name: checked(name).worse for name in CLAIMS if checked(name).worse}
    assert worse == {"acc_fcsg_m.samples": ("printed",), "meta_fl.rounds": ("composed", "corrected", "sharpened")}
    for name in worse:
        rates = [f for f in get_paper(name.partition(".")[0]).findings if f.kind == "rate"]
        assert rates and all(f.check() for f in rates)


@pytest.mark.slow
def test_better_schedules_inside_the_papers_own_theorems():
    """FedDRO with I = 1 and a batch of 1/eps needs only 1/eps rounds for as many samples: printed, 3/2 is not the best."""
    better = {name for name in CLAIMS if "printed" in checked(name).better}
    messages = {"feddro.model_messages", "feddro.embedding_messages"}
    assert better == {"feddro.rounds", "acc_fcsg_m.iterations", *messages}
    assert {checked(name).best["printed"].eps for name in ("feddro.rounds", *messages)} == {Q(1)}


@pytest.mark.parametrize("change", [Q(-1, 2), Q(-1)])
@pytest.mark.parametrize("name", slow_but(QUICK, CLAIMS))
def test_a_bolder_claim_is_caught(name, change):
    if checked(name).better:
        pytest.skip("a better schedule than the claimed one reaches a smaller order")
    claim = CLAIMS[name]
    bolder = replace(claim, order=Order(claim.order.eps + change, claim.order.clients))
    assert not claims.check(bolder).agrees


def test_claims_are_found_by_theorem_and_by_corollary():
    assert {claim.id for claim in claims.about("feddro.corollary_1")} == {
        f"feddro.{name}" for name in ("samples", "rounds", "model_messages", "embedding_messages")
    }
    assert claims.about("fcsg.theorem_4_1") == claims.about("fcsg.corollary_4_2") != ()
    assert claims.about("feddro.lemma_3_1") == ()


def test_a_claim_that_rests_on_a_refuted_statement_says_so():
    (first, *_) = claims.about("acc_fcsg_m.corollary_4_8")
    found = checked(first.id)
    assert found.agrees and "acc_fcsg_m.corollary_4_8" in found.refuted_by
    assert "which is refuted (acc_fcsg_m.corollary_4_8" in str(found)
    assert found.to_dict()["refuted_by"] == list(found.refuted_by) and found.corrected is not None
    (sound, *_) = claims.about("fcsg.corollary_4_2")
    assert not checked(sound.id).refuted_by and "refuted" not in str(checked(sound.id))


# --- what a method counts is what it sends and draws ------------------------------------------------------------------


EXAMPLES = Path(fedco.__file__).parent / "examples"
STEPS, PERIOD, BATCH = 12, 3, 2


def theorem(method):
    """A statement that uses every symbol, about this method."""
    return small({"a": "2*F_gap/(eta*T)", "b": "F_gap*p/(eta*b*N)"}, id="mine.theorem_1", method=method)


def formulas(name, **more):
    given = {"eta": "eta", "b": "b", **({"tau": "p"} if name in declared() and has_rounds(name) else {}), **more}
    made = theorem({"name": name, **given})
    values = {made.notation["T"].symbol: STEPS, made.notation["p"].symbol: PERIOD, made.notation["b"].symbol: BATCH}
    return {key: Fraction(str(expr.xreplace(values))) for key, expr in resources(made.statement("printed")).items()}


def measured(kind, **more):
    """Rounds, samples, and messages of either size of one client, counted in a run."""
    drawn = []
    own = next((each for each in ("minimax", "bilevel") if each in kind.kinds), "federated")
    plain = problem(f"{own}_heterogeneous")
    draw = type(plain).sample

    def counting(self, draws, batch, purpose="sample"):
        drawn.append(batch)
        return draw(self, draws, batch, purpose)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(plain), "sample", counting)
        drive(kind(eta=0.1, b=BATCH, **more), plain, steps=STEPS, seeds=1, record={})
    sent = kind(eta=0.1, b=BATCH, **more).messages(plain, STEPS)
    counts = {"rounds": sent.rounds, "model_messages": Fraction(sent.model_floats) / plain.dim, "samples": sum(drawn)}
    return (
        {**counts, "embedding_messages": Fraction(sent.embedding_floats) / plain.inner_dim}
        if plain.inner_dim
        else counts
    )


MORE = {
    "compressed_sgd": {"ratio": 4},
    "delayed_sgd": {"D": 2},
    "error_feedback": {"share": 0.25},
    "fed_ttsa": {"eta_y": 0.5, "eta_v": 0.5, "K": 4},
    "fedadam": {"eta_g": 0.5},
    "fednova": {"steps": 1},
    "fedglomo": {"beta": 0.5},
    "fedprox": {"mu": 0.5},
    "local_heavy_ball": {"beta": 0.5},
    "local_sgda": {"eta_y": 0.5},
    "local_storm": {"a": 0.5},
    "marina": {"p": 0.5, "ratio": 2},
}
UNCOUNTED = {"error_feedback": {"model_messages"}}
"""What depends on more than hyperparameters: how many numbers the model has."""


def has_rounds(name):
    return any(each.name == "tau" for each in declared()[name].hyperparameters)


@pytest.mark.parametrize("name", sorted(name for name, method in declared().items() if method.costs))
def test_a_count_is_what_the_method_does(name):
    more = MORE.get(name, {})
    period = {"tau": PERIOD} if has_rounds(name) else {}
    counted = {"iterations": STEPS, **measured(METHODS[name], **period, **more)}
    assert formulas(name, **more) == {
        key: value for key, value in counted.items() if key not in UNCOUNTED.get(name, ())
    }


def test_a_method_of_a_file_says_what_it_costs():
    name = f"{EXAMPLES}/half_sgd.py:HalfSGD"
    assert formulas(name) == {"iterations": STEPS, **measured(load_object(name))}


def test_what_is_not_counted_is_not_claimed():
    sampled = measured(METHODS["local_sgd"], tau=PERIOD, m=2)
    assert formulas("local_sgd", m=2) == {"iterations": STEPS, "rounds": sampled["rounds"]} != formulas("local_sgd")
    assert formulas("minibatch_sgd", m=2) == {}
    assert formulas("fednova", steps=2) == formulas("fednova") != {}
    assert formulas("fedprox", mu="1/2") != {}
    with is_refused("'no_such_method' is not a method"):
        formulas("no_such_method")


def test_a_method_with_a_count_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.py").write_text("class Bad:\n    costs = {'rounds': 'T/q'}\n")
    with is_refused(r"mine\.theorem_1: rounds of the method .*bad\.py:Bad, 'T/q', column 3: 'q'"):
        resources(theorem({"name": f"{tmp_path}/bad.py:Bad"}).statement("printed"))


def test_theorems_about_the_objective_and_about_the_clients_are_compared_on_the_same_problem():
    """F = mean f_i is as smooth as the least smooth client, so that the number given for the clients bounds that of F too."""
    for given in ("10", "1/10"):
        found = compare(
            "1/10", {"clients": 8, "local_smoothness": given}, theorems=[fedco.theorem(n) for n in (LOCAL, MINIBATCH)]
        )
        clients, objective = found.rows
        assert "objective_smoothness = local_smoothness" in objective.assumed
        assert {clients.tuned.bound.values["L"], objective.tuned.bound.values["L_bar"]} == {given}


@pytest.mark.parametrize(
    ("terms", "conditions", "samples"),
    [
        ({"a": "F*L/T", "v": "s**2*(b - 1)*(p - 1)/T", "w": "s**2*max(p - 1, b - 1)"}, {"c": "p*b >= 2"}, None),
        ({"a": "F*L/T", "v": "s**2*(b - 1)"}, {"c": "b >= 2"}, None),
        ({"a": "F*L/T", "v": "s**2*(1 - 1/N)"}, {}, None),
        ({"a": "F*L/T", "v": "s**2/p"}, {"c": "p*(b - 1) <= 1"}, "eps^-1"),
    ],
)
def test_a_whole_number_is_1_only_where_conditions_let_it_be(terms, conditions, samples):
    """Also where only a condition vanishes at 1; the number of clients is none that a schedule chooses."""
    own = _own(terms, conditions, b="batch_size", p="communication_period", N="clients")
    if samples is None:
        with is_refused("it has a floor"):
            own.rates()
    else:
        assert str(own.rates().costs["samples"]) == samples


def test_where_a_bound_is_0_or_below_all_doubles_its_sensitivity_has_a_number():
    symbols = {"F": "objective_gap", "L": "objective_smoothness", "eta": "step_size", "T": "iterations"}
    square = fedco.define(
        id="m.t", symbols={n: symbols[n] for n in ("F", "L", "eta")}, terms={"a": "F*L*(eta*L - 1)**2"}
    )
    assert set(elasticities(square.statement(), {"L": 1, "F": 1, "eta": 1}).values.values()) == {0.0}
    shrinking = fedco.define(id="m.t", symbols=symbols, terms={"a": "F*L*(1 - eta*L)**T"})
    found = elasticities(shrinking.statement(), {"L": 1, "F": 1, "eta": "1/2", "T": 2000}).values
    assert found["F"] == pytest.approx(1) and found["T"] == pytest.approx(-2000 * log(2))
