"""What a search runs is what the statement declares, else one sentence says why not; and what is said of a search and a violation."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction as Q
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import fedco
import numpy as np
import pytest
import sympy as sp
import torch
from fedco.bounds.language.change import Change, weakenings, with_statement
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.theorem import Term
from fedco.bounds.registry import get_theorem
from fedco.errors import InputError
from fedco.validation.falsifier import attack, explain
from fedco.validation.falsifier.attack import Falsified, falsify, falsify_changes
from fedco.validation.falsifier.bundle import bundle_of
from fedco.validation.falsifier.confirm import NotConfirmed, coefficient_lower_bound
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.instance_space import least_counts, whole_choices
from fedco.validation.falsifier.laws import FOREVER, INFINITE, MOMENTS, NONE, PARTIAL, PATHS, POWERS, Law
from fedco.validation.falsifier.laws.base import EACH_GENERATION, REST_BISECTIONS
from fedco.validation.falsifier.laws.powers import rounds_compared
from fedco.validation.falsifier.rounding import Draft
from fedco.validation.falsifier.search import Found
from fedco.validation.falsifier.search_space import SearchSpace
from fedco.validation.falsifier.search_spaces import ENDLESS_HORIZON, HORIZONS, MOST_HORIZONS, PERIODS, Asked
from fedco.validation.falsifier.spaces import SPACES
from fedco.validation.runs.bundle import BundleError, read, replay, write
from fedco.validation.runs.method_of import period_of, steps_of
from fedco.validation.runs.refutations import registry
from quick import slow_after
from searching import falsified, targeted, ticking, violation_of, visited
from small_theorems import symbols
from true_statements import all_made, is_written
from true_statements import searched as searched_for

EXAMPLES = Path(__file__).parents[2] / "examples"
SYMBOLS = symbols("L sigma G F_gap eta K N T", T="rounds")
PER_ROUND = {
    "id": "mine.per_round",
    "symbols": SYMBOLS,
    "terms": {
        "initialisation": "2*F_gap/(eta*K*T)",
        "variance": "L*eta*sigma**2/N",
        "drift": "eta**2*K**2*L**2*(G**2 + sigma**2)",
    },
    "conditions": {"step_size": "eta <= 1/L"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": "K", "b": 1},
}
FALSE = {**PER_ROUND, "terms": {**PER_ROUND["terms"], "drift": "eta**2*K*L**2*(G**2 + sigma**2)/1000"}}


def searched(keys, seconds=4.0, **more):
    """A search of so many turns: the clock is a counter."""
    return falsify(fedco.define(**keys), seconds=seconds * 10, clock=ticking(), **more)


def renamed(keys, old, new):
    symbols = {new if name == old else name: meaning for name, meaning in keys["symbols"].items()}
    terms = {name: text.replace(f"*{old})", f"*{new})") for name, text in keys["terms"].items()}
    return {**keys, "symbols": symbols, "terms": terms}


def test_a_true_statement_per_round_is_not_refuted():
    """Local SGD stated for R rounds of K steps: taken for R steps, the bound would be K times too small."""
    found = searched(renamed(PER_ROUND, "T", "R"), 1.0)
    assert found.outcome == "SURVIVED" and 0 < found.ratio < 1


def test_the_same_statement_for_as_many_steps_as_rounds_is_refuted():
    """The search can see what the test above rules out."""
    wrong = {**PER_ROUND, "symbols": {**SYMBOLS, "T": "iterations"}}
    assert searched(wrong).refuted


def test_the_steps_of_a_run_follow_from_what_the_symbols_mean():
    per_round = fedco.define(**PER_ROUND)
    assert steps_of(per_round)({"K": 3, "T": 5}) == 15 and period_of(per_round) == "K"
    fixed = {**PER_ROUND, "symbols": {n: q for n, q in SYMBOLS.items() if n != "K"}}
    fixed["terms"] = {name: text.replace("K", "4") for name, text in PER_ROUND["terms"].items()}
    fixed["method"] = {**PER_ROUND["method"], "tau": 4}
    assert steps_of(fedco.define(**fixed))({"T": 5}) == 20
    pooled = {**fixed, "method": {"name": "minibatch_sgd", "eta": "eta", "b": 1}}
    assert steps_of(fedco.define(**pooled))({"T": 5}) == 5
    with pytest.raises(InputError, match="wanted a symbol or a whole number for tau"):
        steps_of(fedco.define(**{**PER_ROUND, "method": {**PER_ROUND["method"], "tau": "2*K"}}))


def of_metric(name):
    theorem = fedco.define(**PER_ROUND)
    return replace(theorem, metric=replace(theorem.metric, name=name))


def of_two_lengths():
    terms = {**PER_ROUND["terms"], "more": "F_gap/(eta*S)"}
    return fedco.define(**{**PER_ROUND, "symbols": {**SYMBOLS, "S": "iterations"}, "terms": terms})


def of_a_paper():
    """Without a method, and with the id of a paper's theorem: what the paper declares of its runs is none of a stranger's."""
    keys = {name: value for name, value in PER_ROUND.items() if name != "method"}
    return fedco.define(**{**keys, "id": "fcsg.theorem_4_1"})


def loosely(name, **taken):
    """A bound that is too large to be refuted, about a method and what it takes."""
    return {**(LOOSE if "K" in taken.values() else WITHOUT_ROUNDS), "method": {"name": name, **taken}}


NOT_SEARCHED = {
    "a last iterate": (lambda: of_metric("E F(x_T) - F_*"), {}, "bounds E F(x_T) - F_*, "),
    "a metric of no run": (lambda: of_metric("E||grad F(xbar_t)||^2"), {}, "bounds E||grad F(xbar_t)||^2, "),
    "two lengths of a run": (of_two_lengths, {}, "the length of the run has two symbols"),
    "no method": (of_a_paper, {}, "no method and statistic are declared"),
    "uniform numbers": (
        lambda: fedco.define(**loosely("marina", eta="eta", p="1/2", ratio=2)),
        {},
        "the method draws uniform of its own, and a search knows no noise but signs",
    ),
    "integers": (
        lambda: fedco.define(**loosely("drfa", eta="eta", gamma="1/9", tau="K")),
        {},
        "the method draws integers of its own, and a search knows no noise but signs",
    ),
    "every outcome": (lambda: "meta_fl.lemma_12", {}, "about every outcome of a batch"),
    "no such property": (
        lambda: "local_scgdm.lemma_4_1",
        {"assume": ("no_such",)},
        "assumes no_such, which no instance",
    ),
    "a step of the instance": (lambda: "meta_fl.lemma_7", {"where": ("alpha=1",)}, "instances have alpha of their own"),
    "a constant of the run": (
        lambda: "meta_fl.lemma_7",
        {"where": ("kappa_G=0",)},
        "no instance has kappa_G before it runs",
    ),
    "an observable": (
        lambda: "local_scgdm.lemma_4_1",
        {"where": ("gradient_sq=0",)},
        "no instance has gradient_sq before it runs",
    ),
}
"""What is not searched -> the statement, what is asked, and what is said."""


@pytest.mark.parametrize("name", NOT_SEARCHED)
def test_what_cannot_be_searched_is_not_applicable_and_says_why(name):
    made, asked, said = NOT_SEARCHED[name]
    found = falsify(made(), seconds=1, clock=ticking(), **asked)
    assert found.outcome == "NOT_APPLICABLE" and len(found.why) == 1 and said in found.why[0]


def test_a_part_of_the_clients_is_searched_where_a_family_has_it():
    sampled = {**PER_ROUND, "symbols": {**SYMBOLS, "r": "participation"}}
    sampled["terms"] = {**PER_ROUND["terms"], "sampling": "4*L*eta*G**2/(r*N)"}
    sampled["method"] = {**PER_ROUND["method"], "m": "r*N"}
    assert searched(sampled, 1.0).outcome == "SURVIVED", "with everybody taking part"
    half = searched(sampled, 1.0, where=("r == 1/2",))
    assert half.outcome == "NOT_APPLICABLE" and half.why == ("no family has an instance of this statement",)


def test_a_method_that_draws_by_itself_is_not_checked_exactly():
    theorem = fedco.load(EXAMPLES / "half_sgd.toml", trust=True)
    found = falsify(theorem, seconds=20.0, clock=ticking())
    assert found.outcome == "SURVIVED" and any("draws signs of its own" in line for line in found.why)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": {"name": "local_sgd", "eta": "eta"}}, "local_sgd needs tau: write tau = FORMULA under"),
        ({"method": {"name": "local_sdg", "eta": "eta", "tau": "K"}}, "is not a method; the nearest is local_sgd"),
        ({"problem": "trilevel"}, "'trilevel' is not a kind of problem; the nearest is bilevel"),
        ({"problem": "xyz"}, "'xyz' is not a kind of problem; wanted one of bilevel conditional federated"),
    ],
)
def test_a_method_or_a_kind_that_is_not_there_is_refused_when_it_is_read(change, said):
    with pytest.raises(InputError) as error:
        fedco.define(**{**PER_ROUND, **change})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_search_rounds_the_ends_of_sums_as_the_bound_does():
    """100*0.29 is 28.999999999999996 in doubles, and 29 terms of the sum are meant: of terms, schedules and conditions alike."""
    keys = {**PER_ROUND, "symbols": {**SYMBOLS, "r": "participation", "b": "batch_size"}}
    keys["terms"] = {**PER_ROUND["terms"], "sampling": "L*eta*G**2*sum(t, 1, floor(100*r), 1/t)"}
    keys["schedule"] = {"b": "ceil(100*r)"}
    keys["conditions"] = {**PER_ROUND["conditions"], "whole": "floor(100*r) >= 29"}
    theorem = fedco.define(**keys)
    known = dict.fromkeys(SYMBOLS, 1) | {"eta": Q(1, 2), "r": Q(29, 100)}
    formula, bound = Formula(theorem, "printed"), theorem.bound("printed", **known)
    values = formula.complete({name: np.array([float(value), 0.285]) for name, value in known.items()})
    assert values["b"].tolist() == [29, 29] and formula.admits(values).tolist() == [True, False]
    assert [term[0] for term in formula.terms(values)] == pytest.approx(list(bound.terms.values()))


def test_rounds_as_long_as_the_run_are_searched():
    theorem = fedco.define(**{**PER_ROUND, "symbols": {**SYMBOLS, "T": "iterations"}})
    assert visited(*targeted(theorem, where=("K == 256",)), seconds=2.0, clock=ticking()).evaluations > 0


# --- bundles ------------------------------------------------------------------------------------------------------------


def refuted(keys, folder):
    return write(bundle_of(*violation_of(fedco.define(**keys))), folder / "refutation.json")


def test_a_bundle_holds_the_theorem_that_it_refutes(tmp_path):
    """Nothing but the file is needed: the definition is in it."""
    path = refuted(FALSE, tmp_path)
    kept = json.loads(path.read_text())
    assert "definition" in json.dumps(kept)
    assert replay(read(path), registry(None)).confirmed
    theorem = fedco.define(**FALSE)
    again = fedco.define(**keys_of(theorem, "printed"))
    assert again.statement().terms == theorem.statement().terms and again.method.values == theorem.method.values


def test_a_refutation_of_a_restated_theorem_holds_the_statement(tmp_path):
    """The same id, notation and method, and a bound a thousand times smaller: replayed as the declared one it would hold."""
    declared = fedco.theorem("fcsg.theorem_4_1")
    statement = declared.statement("corrected")
    small = tuple(replace(term, expr=term.expr / 1000) for term in statement.terms)
    restated = with_statement(declared, replace(statement, terms=small))
    found = falsified(restated, "corrected", seconds=20.0, out=tmp_path)
    assert found.refuted and replay(read(found.path), registry(None)).confirmed
    bundle = read(found.path)
    bundle.problem["parameters"].pop("restated")
    assert not replay(bundle, registry(None)).confirmed


def test_a_theorem_that_cannot_be_written_down_is_not_searched(monkeypatch):
    """A refutation could not be kept, which is said before the search and not after it."""
    declared = fedco.theorem("baselines.local_sgd")
    statement = declared.statement()
    odd = with_statement(declared, replace(statement, terms=(*statement.terms, Term("odd", sp.sin(1)))))
    monkeypatch.setattr("fedco.validation.falsifier.attack.search", None)
    found = falsify(odd, seconds=1.0)
    assert found.outcome == "NOT_APPLICABLE" and "cannot be written as formulas" in found.why[0]


MINE = """
from fedco.algorithms import LocalSGD

class Mine(LocalSGD):
    name = "mine"
"""


def test_a_method_of_ones_own_is_named_by_its_hash_and_runs_only_where_it_is_given(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    keys = {**FALSE, "method": {**FALSE["method"], "name": f"{file}:Mine"}}
    path = refuted(keys, tmp_path)
    bundle = read(path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(BundleError, match=f"code that is not run unless you give the file .sha256 {digest}"):
        replay(bundle, registry(None))
    assert replay(bundle, registry(file)).confirmed
    other = tmp_path / "other.py"
    other.write_text(MINE + "# changed")
    with pytest.raises(BundleError, match=r"wanted the file mine\.py with sha256"):
        replay(bundle, registry(Path(other)))


# --- statements that are known to be true ----------------------------------------------------------------------------------


PARTS = 40
"""Statements are made where they are tried, not where tests are collected: that takes seconds."""


@pytest.mark.parametrize("part", slow_after(4, range(8)))
def test_no_true_statement_is_refuted(part):
    """A short form of `true_statements.py`: one in forty, a few turns each. Each is searched, not put aside."""
    for made in filter(is_written, all_made()[PARTS * part :: PARTS * 8]):
        found = searched_for(made, 2.0, clock=ticking())
        assert found.outcome != "REFUTED" and found.evaluations > 0, (made.name, found.why)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_true_statement_is_refuted_in_ten_seconds(part):
    for made in filter(is_written, all_made()[part::PARTS]):
        assert searched_for(made, 10.0).outcome != "REFUTED", made.name


def test_the_campaign_is_as_large_as_it_says():
    made = all_made()
    assert len(made) >= 300 and len({name for name, *_ in made}) == len(made)


@pytest.mark.parametrize(("power", "outcome"), [("1/3", "NOT_APPLICABLE"), ("1", "SURVIVED")])
def test_steps_that_are_irrational_are_not_searched(power, outcome):
    """No violation could ever be confirmed: surviving would say nothing, and said so even of a bound that is far too small."""
    keys = {
        "id": "others.power",
        "problem": "federated",
        "symbols": symbols("L F_gap a t0 T", L="objective_smoothness"),
        "terms": {"initialisation": f"4*F_gap*(T + t0)**({power})/(a*T)"},
        "conditions": {"first": f"a*L <= t0**({power})"},
        "assume": ["deterministic"],
        "method": {"name": "minibatch_sgd", "eta": f"a/(t + t0)**({power})", "b": 1},
    }
    found = falsify(fedco.define(**keys), seconds=0.5)
    assert found.outcome == outcome
    if outcome == "NOT_APPLICABLE":
        assert found.ratio == 0 and "the power 0.333333: irrational" in found.why[0]


# --- methods of the field: with fractions for hyperparameters, in exact numbers, or with the reason why not ---


ITERATED = symbols("L sigma G F_gap eta K N T")
LOOSE = {
    "id": "mine.loose",
    "symbols": ITERATED,
    "terms": {"initialisation": "20*F_gap/(eta*T)", "rest": "40*eta*L*K**2*(G**2 + sigma**2/N)"},
    "conditions": {"step_size": "eta <= 1/(8*L)"},
}
"""Too large for any method below to be refuted."""
WITHOUT_ROUNDS = LOOSE | {
    "symbols": {name: quantity for name, quantity in ITERATED.items() if name != "K"},
    "terms": {name: formula.replace("K**2", "1") for name, formula in LOOSE["terms"].items()},
}
TAU = {"eta": "eta", "tau": "K"}
EXACT = {
    "two_sided_sgd": {**TAU, "eta_g": "1/2", "beta": "1/4"},
    "local_heavy_ball": {**TAU, "beta": "1/4"},
    "fedprox": {**TAU, "mu": "1/3"},
    "fednova": TAU,
    "gossip_sgd": TAU,
    "local_storm": {**TAU, "a": "1/2"},
    "fedglomo": {**TAU, "beta": "1/2"},
    "delayed_sgd": {"eta": "eta", "D": "K"},
    "error_feedback": {"eta": "eta", "share": "1/2"},
}


@pytest.mark.parametrize("name", EXACT)
def test_a_method_is_run_in_exact_numbers(name):
    found = searched(loosely(name, **EXACT[name]), 0.5)
    assert found.outcome == "SURVIVED" and 0 < found.ratio < 1
    assert not any("a rounded number" in line or "no exact counterpart" in line for line in found.why), found.why


# --- what is said of a search, of a search space and of a violation; which lengths it runs ----------------------------


SGD = get_theorem("baselines.local_sgd")


# --- what a search came to -------------------------------------------------------------------------------------------------


def result(**changes) -> Falsified:
    made = Falsified(
        "x.y", "printed", "REFUTED", 1.25, ("It needs noise.",), {"problem": "p", "eta": "1/2"}, ("a", "b"), 7, 2.34
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, ("no family has an instance of this statement",)),
        (
            {"evaluations": 3},
            ("No instance with a positive left side and all conditions met was found: this search tested nothing.",),
        ),
        (
            {"ratio": 0.5, "where": "bowls", "refused": ["a", "b"], "evaluations": 3},
            ("The largest ratio was found on: bowls.", "2 candidates failed the exact check, the last one: b"),
        ),
        ({"ratio": 0.5, "evaluations": 3}, ()),
        ({"left_out": ["a"]}, ("Left out, as its runs take too long for this time: a; more seconds search it too.",)),
        (
            {"ratio": 0.5, "evaluations": 3, "left_out": ["a", "b", "c"]},
            ("Left out, as its runs take too long for this time: a and 2 like it; more seconds search it too.",),
        ),
    ],
)
def test_what_survived_says_how_near_it_came(found, said, monkeypatch):
    monkeypatch.setattr(attack, "search", lambda *_, **__: Found(**found))
    survived = falsify("baselines.local_sgd", seconds=1.0)
    assert survived.why == said and survived.ratio == found.get("ratio", 0.0)
    is_tested = "evaluations" in found and "ratio" in found
    assert survived.outcome == ("SURVIVED" if is_tested else "NOT_APPLICABLE")


def test_a_search_runs_on_one_thread_and_gives_the_others_back(monkeypatch):
    seen, before = [], torch.get_num_threads()
    monkeypatch.setattr(attack, "search", lambda *_, **__: seen.append(torch.get_num_threads()) or Found(ratio=0.25))
    torch.set_num_threads(2)
    try:
        found = falsify("baselines.local_sgd", seconds=1.0)
        assert (seen, torch.get_num_threads(), found.ratio) == ([1], 2, 0.25)

        def search_together(base, formula, claims, **__):
            seen.append(torch.get_num_threads())
            claims[0].found.evaluations, claims[0].found.ratio = 1, 0.25

        monkeypatch.setattr(attack, "search_together", search_together)
        change = next(iter(weakenings(SGD.statement("printed"))))
        (survived,) = falsify_changes(SGD, "printed", [change], seconds=1.0).values()
        assert (seen, torch.get_num_threads(), survived.outcome) == ([1, 1], 2, "SURVIVED")
    finally:
        torch.set_num_threads(before)


def test_of_searches_beside_each_other_the_first_refutation_counts_else_the_nearest(monkeypatch):
    seeds = []

    def ended(*results):
        def run(calls, scheduler):
            seeds.append([call.keywords["seed"] for call in calls.values()])
            yield from zip(calls, results, strict=True)

        monkeypatch.setattr(attack, "run_on_scheduler", run)
        return falsify(SGD, seconds=1, seed=7, jobs=len(results), scheduler="tcp://x:1")

    near, far = (
        result(outcome="SURVIVED", ratio=0.9, evaluations=5),
        result(outcome="SURVIVED", ratio=0.2, evaluations=6),
    )
    assert ended(far, near, far).ratio == 0.9 and ended(far, near, far).evaluations == 17
    found = ended(near, result(ratio=1.1), far)  # ends at the refutation
    assert found.refuted and found.evaluations == 12 and seeds == [[7, 8, 9]] * 3


# --- why a violation is one --------------------------------------------------------------------------------------------------


def stated(**values) -> SimpleNamespace:
    known = {"L": Q(1), "sigma": Q(2), "F_gap": Q(3), "eta": Q(1, 4), "p": Q(2), "b": Q(1), "N": Q(2), "T": Q(100)}
    known |= {name: Q(1) for name in SGD.symbols("printed") if name not in known}
    return SimpleNamespace(
        stated=lambda target: {n: v for n, v in (known | values).items() if n in SGD.symbols("printed")},
        left=(Q(30), Q(30)),
    )


def draft(**parameters) -> Draft:
    made = {
        "gradient_noise": [Q(0), Q(0)],
        "knots": [[Q(0), Q(1)]] * 2,
        "slopes": [[Q(-1), Q(1)], [Q(-1), Q(2)]],
        "start": Q(0),
    }
    return Draft("federated", made | parameters, {}, {"p": Q(2), "T": Q(8)}, Q(1), Q(1, 9), False)


@pytest.fixture
def explained(monkeypatch):
    """What is said of a violation by 3.5 of local SGD, where without an ingredient the ratio is what this function gives."""

    def explain_with(made: Draft, ratio=lambda other: 0.5, **values):
        others = []
        monkeypatch.setattr(explain, "settle", lambda target, formula, other: others.append(other) or other)
        monkeypatch.setattr(explain, "sides", lambda target, other: SimpleNamespace(ratio=ratio(other)))
        known = stated(**values)
        found = SimpleNamespace(
            claimed=SimpleNamespace(hyperparameters={}), ratio=3.5, stated=known.stated, left=known.left
        )
        target, formula = targeted("baselines.local_sgd")
        return explain.why(target, formula, made, found), others

    return explain_with


def test_the_shares_of_a_bound_and_what_the_largest_term_would_have_to_be(explained):
    lines, _ = explained(draft())
    bound = SGD.bound("printed", strict=False, **stated().stated(None))
    parts = sorted(bound.terms.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {value / bound.total:.0%}" for name, value in parts if value >= 0.01 * bound.total)
    factor = (30 - bound.total + parts[0][1]) / parts[0][1]
    assert f"The bound consists of {shown}; {parts[0][0]} alone would have to be {factor:.3g} times as large." in lines


def test_an_edge_is_a_condition_with_two_percent_to_spare(explained):
    values = {name: v for name, v in stated().stated(None).items() if name != "eta"}
    largest = SGD.admissible("eta", "printed", **values).intervals["eta"].upper
    for share, said in ((Q(99, 100), 1), (Q(95, 100), 0)):
        lines, _ = explained(draft(), eta=Q(largest) * share)
        assert len([line for line in lines if "It lies at the edge of the condition" in line]) == said


def test_ingredients_are_taken_away_one_by_one(explained):
    """Each alone; what the violation needs is what it is none without, and a run without noise is said to be one."""

    def ratio(other):
        if other.free["p"] == 1:
            raise NotConfirmed("not admissible")
        return 1.0

    lines, others = explained(draft(knots=[[Q(0), Q(1)], [Q(0), Q(2)]]), ratio)
    assert lines[:3] == [
        "There is no noise: the run is deterministic.",
        "It needs clients that differ: without, the bound holds (ratio 1 instead of 3.5).",
        "It needs outer functions that differ: without, the bound holds (ratio 1 instead of 3.5).",
    ]
    assert others[0].parameters["slopes"] == [[-1, 1]] * 2 and others[0].parameters["knots"] == [[0, 1]] * 2
    assert [other.free["p"] for other in others] == [2, 2, 1] and not any("local step" in line for line in lines)
    loud, others = explained(draft(gradient_noise=[Q(0), Q(3)]), lambda other: 1.01)
    assert loud[2] == "It does not need noise: without, the bound is still violated (ratio 1.01 instead of 3.5)."
    assert others[2].parameters["gradient_noise"] == [0, 0] and not any("deterministic" in line for line in loud)
    still, ends = [Q(0), Q(0)], {"knots": [[Q(-1), Q(1)]], "slopes": [[Q(-1), Q(1)]]}
    parts = {
        "value_noise": still,
        "gradient_noise": still,
        **ends,
        "extra_knots": ends["knots"] * 2,
        "extra_slopes": ends["slopes"] * 2,
    }
    inner = draft(inner_slope=[Q(2), Q(4)], inner_offset=[Q(1), Q(3)], **parts, start=Q(5), estimate=Q(7))
    inner = replace(inner, kind="shared_composite")
    lines, others = explained(inner)
    assert (
        "It needs a wrong initial estimate of the inner value: " in " ".join(lines)
        and others[-1].parameters["estimate"] == 17
    )
    right = replace(inner, parameters={**inner.parameters, "estimate": Q(17)})
    assert not any("estimate" in line for line in explained(right)[0])


def test_the_part_of_a_coefficient_that_an_instance_needs_by_hand():
    """The left side exceeds the bound without the term by 3 of its 4; where it is halved by 3 beyond that half."""
    base = target_of(SGD, "printed")
    point = stated().stated(None)
    term = next(iter(SGD.statement("printed").terms)).name
    value = Q(SGD.bound("printed", strict=False, **point).terms[term])
    for change, kept in ((Change(term, "dropped"), 0.0), (Change(term, "divided", Q(2)), 0.5)):
        target = replace(base, change=change, declared=SGD)
        found = SimpleNamespace(
            claimed=SimpleNamespace(values=point), seen={}, left=(Q(10), Q(10)), right=(Q(9), 10 - value * Q(3, 4))
        )
        assert coefficient_lower_bound(target, found) == pytest.approx(0.75 + kept, rel=1e-9)
        less = SimpleNamespace(**{**vars(found), "right": (Q(9), 10 + 9 * value)})
        assert coefficient_lower_bound(target, less) == 0.0
    assert coefficient_lower_bound(base, found) == 0.0
    assert coefficient_lower_bound(replace(base, change=Change("x", "relaxed", Q(4)), declared=SGD), found) == 0.0


# --- search spaces and lengths -------------------------------------------------------------------------------------------------------


def search_space(law: Law = NONE, stays: bool = False, **more) -> SearchSpace:
    usual = {"space": SPACES["federated"].silent[0], "clients": 2, "period": 4, "horizon": 16}
    return SearchSpace(*targeted("baselines.local_sgd"), **{**usual, **more}, law=law, stays=stays)


def test_where_a_run_is_compared():
    assert search_space().ends() == [4, 8, 16] and search_space(period=1, horizon=6).ends() == [1, 2, 4, 6]
    assert search_space().steps_of(16) == 16 and search_space().stepped == 16 and search_space(POWERS).stepped == 8
    sums = search_space().over_times(np.arange(17.0)[:, None], {})
    assert [float(v[0]) for v in sums[0]] == [1.5, 3.5, 7.5] and sums[1] == [4.0, 8.0, 16.0]
    assert search_space().share == 1.0 and search_space(PARTIAL, True).share == 0.5
    assert len(MOMENTS.lanes(search_space(MOMENTS))) == 1 + 2 * search_space(MOMENTS).signs


def test_powers_of_a_round_are_compared_at_eightfold_lengths_and_at_the_end():
    made = search_space(POWERS, horizon=4 * (1 + 2**7), space=SPACES["federated"].silent[1])
    assert rounds_compared(made) == [5, 33, 129]  # 1 + 2^2, 1 + 2^5, 1 + 2^7
    fewer = search_space(POWERS, horizon=4 * (1 + 2**6), space=SPACES["federated"].silent[1])
    assert rounds_compared(fewer) == [3, 17, 65]


def test_a_bound_that_is_no_number_is_no_bound_where_conditions_hold():
    _, formula = targeted("baselines.minibatch_sgd")
    values = dict.fromkeys(formula.names, 1.0) | {"T": 10.0}
    found = [formula.sides(values | change) for change in ({"eta": 0.01}, {"eta": 0.01, "F_gap": np.inf}, {"eta": 1e6})]
    assert [bool(side.admissible) for side in found] == [True, False, False]
    assert np.isfinite(found[0].bound) and np.isinf(found[1].bound) and np.isfinite(found[2].bound)
    assert found[0].excess == found[1].excess == 0 < found[2].excess <= 1


def test_whole_numbers_of_a_schedule_count_where_they_depend_on_the_length_of_the_run():
    for name, label, wanted in (
        ("fcsg.theorem_4_1", "corrected", []),
        ("fcsg.corollary_4_2", "corrected", ["q"]),
        ("acc_fcsg_m.corollary_4_8", "printed", ["B", "q"]),
        ("baselines.local_sgd", "printed", []),
    ):
        assert whole_choices(*targeted(name, label)) == wanted


def test_an_inadmissible_point_scores_far_below_every_admissible_one():
    """A search takes what is below -9 for a violated condition: a step size beyond its limit, or a side that is no number."""
    target, formula = targeted("baselines.local_sgd")
    search_space = SearchSpace(target, formula, SPACES["federated"].silent[1], 2, 2, 16)
    scores = search_space.score(np.random.default_rng(0).random((40, search_space.size)))
    fine = search_space.admits(np.random.default_rng(0).random((40, search_space.size)))
    assert fine.any() and (scores[fine] <= 2).all() and (scores[~fine] < -9).all()


def test_numbers_of_symbols_that_an_island_sets():
    made = search_space(period=4, horizon=16)
    assert {q: made.whole(q) for q in ("communication_period", "clients", "iterations", "rounds", "batch_size")} == {
        "communication_period": 4, "clients": 2, "iterations": 16, "rounds": 16, "batch_size": 1,
    }  # fmt: skip
    assert made.statistic.every == 1 and made.horizon_decides is False and made.schedules is False
    assert least_counts(made.target, made.formula, 2) == {"p": 1.0, "b": 1.0, "N": 2.0}
    assert made.with_horizon({"eta": 1.0}, FOREVER)["T"] == FOREVER
    crowd = replace(
        made, law=INFINITE, stays=True, space=SPACES["federated"].crowded[0]
    )  # one sign for each of four steps
    assert (crowd.copies, crowd.whole("clients"), INFINITE.runs(crowd), made.whole("clients")) == (16, 2 * 16, 16, 2)


def test_lengths_are_every_period_with_every_horizon_and_the_endless_ones():
    target, formula = targeted("baselines.local_sgd")
    found = list(Asked(target, formula).lengths(2))
    periods, horizons = PERIODS, HORIZONS
    assert sorted(found) == sorted(
        [(p, ENDLESS_HORIZON, True) for p in periods if p > 1] + [(p, h, False) for p in periods for h in horizons]
    )
    narrow = targeted("baselines.local_sgd", where=("p=3", "T=12"))
    assert list(Asked(*narrow).lengths(2)) == [(3, 12, False)]
    assert Asked(*targeted("baselines.minibatch_sgd")).periods == (1,) and Asked(target, formula).periods == periods
    assert Asked(*narrow).periods == (3,) and Asked(*narrow).whole("batch_size") == ()
    for where, has_batches in ((("p=3", "T=12"), False), (("b=2",), True), (("b=1",), False)):
        assert Asked(*targeted("baselines.local_sgd", where=where)).has_batches is has_batches


def test_scheduled_lengths_are_those_at_which_every_prescribed_count_is_whole():
    target, formula = targeted("local_scgdm.corollary_3_5")
    fixed = whole_choices(target, formula)
    assert fixed == ["p"]
    found = list(islice(Asked(target, formula).lengths(1), 2))
    assert len(found) == 2 <= MOST_HORIZONS
    for period, horizon, stays in found:
        exact = float(formula.complete({"T": float(horizon), **least_counts(target, formula, 1)})["p"])
        assert horizon > 1 and not stays and period == round(exact) and abs(exact - round(exact)) < 1e-9
    between = [T for T in range(2, found[-1][1]) if T not in {h for _, h, _ in found}]
    for T in between:
        exact = float(formula.complete({"T": float(T), **least_counts(target, formula, 1)})["p"])
        assert abs(exact - round(exact)) >= 1e-9


def test_what_a_statement_sets_is_known_exactly():
    _, formula = targeted("baselines.local_sgd", where=("b=2", "eta=1/(4*L)"))
    assert formula.fixed == {"b": 2} and set(formula.determined) == {"b", "eta"}
    assert formula.chosen({"L": Q(3)}) == {"b": 2, "eta": Q(1, 12)}
    assert float(formula.complete({"L": 2.0})["eta"]) == 0.125 and "b" in formula.complete({})


def test_an_endless_run_of_random_rounds_is_one_that_contracts():
    """Steps of half and of one and a half times the inverse curvature: the second moves every choice beyond its rest."""
    target, formula = targeted("meta_fl.theorem_8")
    made = SearchSpace(target, formula, SPACES["meta"].partial[0], 2, 1, 16, {"nu": 1}, True, 1.0, PARTIAL)
    points = np.random.default_rng(3).random((24, made.size))
    parameters, values = made.numbers(points)
    start = np.zeros(24)
    ends = [made.law.rounds(made, parameters, values, start + shift, 24)[0] for shift in (0.0, 1e-3)]
    rate = (1 - (ends[1] - ends[0])[0] / 1e-3) / values["beta"]
    for share, contracts in ((0.5, True), (1.5, False)):
        found = made.law.left(made, parameters, {**values, "beta": share / rate}, 24)
        assert (found.astray == 0).any() == contracts and (contracts or not found.sides[0].any())


def test_the_effort_of_an_island_counts_its_lanes_and_its_rounds():
    """Beyond what a generation takes by itself: each lane of a run as a run, an endless run as one round for each bisection."""

    def more(of: SearchSpace) -> float:
        return of.effort(128) - of.effort(64)

    bowls = SPACES["federated"].affine[0]
    run = search_space(horizon=8, space=bowls)
    for law in (MOMENTS, PATHS):
        many = search_space(law, horizon=8, space=bowls)
        assert more(many) == pytest.approx(law.runs(many) * more(run))
    for period in (2, 16):
        one, endless = search_space(horizon=period, period=period), search_space(stays=True, period=period)
        assert more(endless) >= REST_BISECTIONS * more(one)
        assert endless.effort(64) - EACH_GENERATION >= REST_BISECTIONS * (one.effort(64) - EACH_GENERATION)
    assert more(search_space(INFINITE, True, period=2)) == pytest.approx(4 * more(search_space(stays=True, period=2)))
    assert more(search_space(horizon=32)) == pytest.approx(4 * more(search_space(horizon=8)))
