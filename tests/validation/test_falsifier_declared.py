"""What a search runs is what the statement declares: its horizon, its method, its metric; else one sentence says why not."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.theorem import Term
from fedco.errors import InputError
from fedco.validation.falsifier.attack import falsify
from fedco.validation.falsifier.bundle import bundle_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.runs.bundle import BundleError, read, replay, write
from fedco.validation.runs.method_of import period_of, steps_of
from fedco.validation.runs.refutations import registry
from quick import slow_after
from searching import falsified, ticking, violation_of
from true_statements import all_made, is_written
from true_statements import searched as searched_for

EXAMPLES = Path(__file__).parents[2] / "examples"
SYMBOLS = {
    "L": "local_smoothness", "sigma": "local_gradient_noise", "G": "local_gradient_bound", "F_gap": "objective_gap",
    "eta": "step_size", "K": "communication_period", "N": "clients", "T": "rounds",
}  # fmt: skip
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


def drawing(name, **taken):
    return fedco.define(
        **(LOOSE if "K" in taken.values() else WITHOUT_ROUNDS), method={"name": name, "eta": "eta", **taken}
    )


NOT_SEARCHED = {
    "a last iterate": (lambda: of_metric("E F(x_T) - F_*"), {}, "bounds E F(x_T) - F_*, "),
    "a metric of no run": (lambda: of_metric("E||grad F(xbar_t)||^2"), {}, "bounds E||grad F(xbar_t)||^2, "),
    "two lengths of a run": (of_two_lengths, {}, "the length of the run has two symbols"),
    "no method": (of_a_paper, {}, "no method and statistic are declared"),
    "uniform numbers": (
        lambda: drawing("marina", p="1/2", ratio=2),
        {},
        "the method draws uniform of its own, and a search knows no noise but signs",
    ),
    "integers": (
        lambda: drawing("drfa", gamma="1/9", tau="K"),
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
    known = dict.fromkeys(SYMBOLS, 1) | {"eta": Fraction(1, 2), "r": Fraction(29, 100)}
    formula, bound = Formula(theorem, "printed"), theorem.bound("printed", **known)
    values = formula.complete({name: np.array([float(value), 0.285]) for name, value in known.items()})
    assert values["b"].tolist() == [29, 29] and formula.admits(values).tolist() == [True, False]
    assert [term[0] for term in formula.terms(values)] == pytest.approx(list(bound.terms.values()))


def test_rounds_as_long_as_the_run_are_searched():
    found = searched({**PER_ROUND, "symbols": {**SYMBOLS, "T": "iterations"}}, 0.2, where=("K == 256",))
    assert found.evaluations > 0


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
        assert found.outcome == "SURVIVED", (made.name, found.why)


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
    symbols = {
        "L": "objective_smoothness",
        "F_gap": "objective_gap",
        "a": "step_numerator",
        "t0": "step_offset",
        "T": "iterations",
    }
    keys = {
        "id": "others.power",
        "problem": "federated",
        "symbols": symbols,
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


ITERATED = {
    "L": "local_smoothness", "sigma": "local_gradient_noise", "G": "local_gradient_bound", "F_gap": "objective_gap",
    "eta": "step_size", "K": "communication_period", "N": "clients", "T": "iterations",
}  # fmt: skip
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


def searched_loosely(method, seconds):
    """A search of so many turns: the clock is a counter."""
    theorem = fedco.define(**(LOOSE if "K" in method.values() else WITHOUT_ROUNDS), method=method)
    return falsify(theorem, seconds=seconds * 10, clock=ticking())


@pytest.mark.parametrize("name", EXACT)
def test_a_method_is_run_in_exact_numbers(name):
    found = searched_loosely({"name": name, **EXACT[name]}, 0.5)
    assert found.outcome == "SURVIVED" and 0 < found.ratio < 1
    assert not any("a rounded number" in line or "no exact counterpart" in line for line in found.why), found.why
