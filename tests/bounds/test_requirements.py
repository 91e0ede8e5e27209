"""What a statement asks for beside its conditions: what its method can take, whole rounds and clients, listed assumptions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import fedco
import numpy as np
import pytest
import torch
from fedco import bounds, theorem
from fedco.algorithms import METHODS
from fedco.algorithms.engine.method import NotApplicable
from fedco.bounds import all_theorems, get_theorem
from fedco.bounds.evaluation.evaluate import InadmissibleError, bound, evaluate
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.language.theorem import Statement
from fedco.bounds.proof.check_on_instances import derivation_names, established
from fedco.bounds.proof.kernel import Loop, ProofError, Reader
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.loop import settled
from fedco.ranges import AT_MOST
from fedco.synthetic import problem
from quick import slow_but
from refusal import is_refused

CONSTANTS = dict.fromkeys(
    ("L_h", "L_f", "L_g", "B_f", "B_g", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap"), 1
) | {"y_err": 0, "K": 4}
PRINTED = {**CONSTANTS, "b": 1, "I": 2}
MAIN = "feddro.theorem_5_1"


def test_every_range_is_of_a_quantity_and_every_method_names_its_own():
    assert all(limit.over in {"", *QUANTITIES} | {"clients"} for limit in AT_MOST.values())
    assert set(AT_MOST) - {"sampled_clients"} <= set(QUANTITIES)
    named = {quantity for method in METHODS.values() for quantity in method.quantities.values()}
    assert named == set(AT_MOST) - {"participation"} | {"step_scale", "series_terms", "delay"}
    for name, method in METHODS.items():
        fields = set(method.__dataclass_fields__)
        assert set(method.quantities) <= fields, name
        periods = fields & {"tau", "p", "I"} | ({"q"} & fields if "fcsg" in name else set())
        periods -= {"p"} if name == "marina" else set()  # a probability
        periods -= {"tau"} if name == "fed_ttsa" else set()  # steps of the lower level, which are no iterations
        assert periods == {n for n, q in method.quantities.items() if q == "communication_period"}, name


def test_a_weight_above_one_is_refused_by_the_method():
    METHODS["feddro"](eta=0.1, beta=1.0, I=2)
    with pytest.raises(ValueError, match=r"feddro: beta must be at most 1 .*got 3.7785"):
        METHODS["feddro"](eta=0.1, beta=3.7785, I=2)
    with pytest.raises(ValueError, match="beta must be at most 1"):
        METHODS["fcsg_m"](alpha=0.1, beta=torch.tensor([0.5, 1.5], dtype=torch.float64), q=2, m=1)
    METHODS["local_scgdm"](eta=0.1, alpha=10.0, beta=1.0, gamma=5.0, p=2)
    with pytest.raises(ValueError, match="alpha eta must be at most 1"):
        METHODS["local_scgdm"](eta=0.11, alpha=10.0, beta=1.0, gamma=5.0, p=2)


def test_more_clients_than_there_are_and_a_period_beyond_the_run_are_refused_by_the_method():
    some = problem("local_heterogeneous")
    method = METHODS["comfedl"](eta=0.1, tau=8, m=some.clients)
    method.check(some)
    with pytest.raises(ValueError, match=f"m must be at most {some.clients}, the clients"):
        METHODS["comfedl"](eta=0.1, tau=8, m=some.clients + 1).check(some)
    with pytest.raises(NotApplicable):
        METHODS["feddro"](eta=0.1, beta=1.0, I=2).check(some)
    method.check_steps(8)
    with pytest.raises(ValueError, match="tau must be at most 7, the iterations"):
        method.check_steps(7)


def test_the_bound_says_which_value_no_method_can_take():
    far = theorem(MAIN).bound("printed", strict=False, **PRINTED, T=10**9, eta="1/10", beta="37785/10000")
    assert not far.admissible and "method_range_beta" in far.failed
    assert "method_range_beta: beta <= 1: wanted <= 1 (" in str(far) and "got 3.7785" in str(far)
    assert [check["holds"] for check in far.to_dict()["method_range"]] == [False, True]
    long = theorem("fcsg.theorem_4_1").bound(
        strict=False, L_f=1, L_g=1, S_f=1, S_g=1, sigma_g=1, F_gap=1, N=4, m=2, b=1, B=1, alpha="1/1000", q=11, T=10
    )
    assert "method_range_q" in long.failed
    with pytest.raises(InadmissibleError, match="method_range_beta"):
        theorem(MAIN).bound("printed", **PRINTED, T=10**6, beta=2, eta="1/500")


def test_on_arrays_too():
    found = evaluate(theorem(MAIN).statement("corrected"), **{**PRINTED, "delta_g": 1}, eta=1e-9, beta=0.5, T=[1, 2, 3])
    exact = [
        theorem(MAIN).bound(strict=False, **PRINTED, delta_g=1, eta="1e-9", beta="0.5", T=t).admissible
        for t in (1, 2, 3)
    ]
    assert found["admissible"].tolist() == exact == [False, True, True]


def test_a_region_ends_where_the_method_does():
    values = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 1, "N": 4, "m": 2}
    period = theorem("fcsg.theorem_4_1").admissible("q", "printed", **values, alpha="1e-6", T=100).intervals["q"]
    assert (period.upper, period.binding["upper"]) == (100, "method_range_q")
    free = theorem("fcsg.theorem_4_1").admissible("q", "printed", **values, alpha="1e-6").intervals["q"]
    assert free.upper > 100, "without T nothing but the theorem limits q"
    two = theorem("fcsg.theorem_4_1").admissible(("q", "T"), "printed", **values, alpha="1e-6")
    assert any(name.startswith("method_range_q") for name in two.conditions)


def test_the_tuner_stays_where_the_method_runs():
    wide = {**PRINTED, "L_f": 3, "B_g": 2}
    del wide["I"], wide["b"]
    found = theorem(MAIN).tune("printed", eps="1/2", **wide)
    beta = float(found.bound.numbers["beta"])
    assert beta <= 1 and found.bound.admissible
    fcsg = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 1, "N": 4}
    with is_refused(r"method_range_beta.*wanted <= 1, got 2"):
        theorem("fcsg_m.theorem_4_4").tune("printed", eps="1/2", **fcsg, beta=2)


def test_no_statement_asks_for_more_than_its_method_can_take():
    """Where a theorem declares the limit itself it is not listed again."""
    assert theorem("fcsg_m.theorem_4_4").statement("corrected").condition("momentum_range")
    names = [c.name for c in theorem("fcsg_m.theorem_4_4").statement("corrected").method_range]
    assert names == ["method_range_q"]
    for item in bounds.all_theorems().values():
        for label in item.labels:
            for condition in item.statement(label).method_range:
                open_end = "its domain is (0, 1)" in condition.note
                assert condition.note and condition.relation == ("<" if open_end else "<="), item.id


def test_an_optimum_outside_the_range_is_no_longer_one(monkeypatch: pytest.MonkeyPatch):
    """The printed theorem alone has its least cost at a momentum above 1, with which the method diverges."""
    values = {n: v for n, v in {**PRINTED, "B_g": 3}.items() if n not in ("I", "b")}
    inside = theorem(MAIN).tune("printed", eps=1000, **values)
    monkeypatch.setattr(Statement, "method_range", property(lambda statement: ()))
    outside = theorem(MAIN).tune("printed", eps=1000, **values)
    assert outside.bound.numbers["beta"] > 1 >= inside.bound.numbers["beta"]
    assert outside.value < inside.value


# --- one whole number divides another ---------------------------------------------------------------------------------


ONES = dict.fromkeys(("G_f", "G_g", "L_f", "L_g", "L", "sigma", "F_gap"), 1)
NAMES = [("comfedl.theorem_1", {"b": 1, "b_1": 1}), ("comfedl.theorem_2", {"b": 1})]
every = pytest.mark.parametrize(("name", "batches"), NAMES)
labels = pytest.mark.parametrize("label", ["printed", "composed", "corrected"])


@labels
@every
def test_a_bound_says_that_the_rounds_are_not_whole(name, batches, label):
    theorem = fedco.theorem(name)
    known = {**ONES, **batches, "eta": "1/1000", "tau": 10}
    values = {n: value for n, value in known.items() if n in theorem.symbols(label)}
    assert theorem.bound(label, T=20, **values).admissible
    found = theorem.bound(label, T=19, strict=False, **values)
    assert found.failed == ("multiple_of_period",) and "T is a multiple of tau" in str(found)
    with pytest.raises(InadmissibleError, match="multiple_of_period"):
        theorem.bound(label, T=19, **values)
    many = theorem.bound(label, T=np.array([19, 20, 25, 30]), strict=False, **values)
    assert list(many.admissible) == [False, True, False, True]


@every
def test_a_set_of_step_sizes_is_empty_where_the_rounds_are_not_whole(name, batches):
    theorem = fedco.theorem(name)
    values = {n: v for n, v in {**ONES, **batches, "tau": 10}.items() if n in theorem.symbols()}
    assert theorem.admissible("eta", T=20, **values).feasible
    assert not theorem.admissible("eta", T=19, **values).feasible
    found = theorem.admissible("T", eta="1/1000", **values)
    assert "T is a multiple of tau" in str(found)


@pytest.mark.parametrize("given", [{"tau": 10}, {"T": 770}, {}])
@every
def test_the_tuner_chooses_whole_rounds(name, batches, given):
    theorem = fedco.theorem(name)
    found = theorem.tune(budget={"iterations": 777} if "T" not in given else {"samples": 10**6}, **ONES, **given)
    point = {**{n: float(v) for n, v in found.values.items()}, **given}
    assert found.bound.admissible and point["T"] % point["tau"] == 0
    best = theorem.tune(eps=found.value * 2, **ONES, **given)
    point = {**{n: float(v) for n, v in best.values.items()}, **given}
    assert best.bound.admissible and point["T"] % point["tau"] == 0


@every
def test_given_numbers_that_do_not_divide_are_named(name, batches):
    with is_refused("the values given violate T is a multiple of tau"):
        fedco.theorem(name).tune(budget={"samples": 10**6}, **ONES, tau=10, T=19)


DRAWN = ("meta_fl.theorem_8", "meta_fl.theorem_8_FO", "meta_fl.theorem_8_HF")
drawn = pytest.mark.parametrize("name", DRAWN)
BATCHES = {"D": 10, "D_H": 10, "delta": "1/100", "c": 10, "kappa_G": 1, "kappa_H": 1}


def _meta(theorem, label):
    ones = dict.fromkeys(("B", "L", "rho", "sigma_G", "sigma_H", "gamma_G", "gamma_H", "F_gap", "nu"), 1)
    known = {**ones, **BATCHES, "alpha": "1/10", "beta": "1/1000", "tau": 2, "K": 100, "n": 10}
    return {name: value for name, value in known.items() if name in theorem.symbols(label)}


@labels
@drawn
def test_a_bound_says_that_a_part_of_a_client_takes_part(name, label):
    theorem = fedco.theorem(name)
    known = _meta(theorem, label)
    assert theorem.bound(label, r="3/10", **known).admissible
    found = theorem.bound(label, r="1/4", strict=False, **known)
    assert found.failed == ("whole_participants",) and "n*r is a whole number" in str(found)
    shares = np.linspace(0.1, 1, 19)  # 0.1, 0.15, 0.2, ...: in float64 3*0.1*10 is no 3
    many = theorem.bound(label, r=shares, strict=False, **known)
    assert list(many.admissible) == [place % 2 == 0 for place in range(19)]


@drawn
def test_the_set_of_a_statement_with_a_part_of_a_client_is_empty(name):
    theorem = fedco.theorem(name)
    known = {n: v for n, v in _meta(theorem, "corrected").items() if n != "beta"}
    assert theorem.admissible("beta", r="3/10", **known).feasible
    empty = theorem.admissible("beta", r="1/4", **known)
    assert not empty.feasible and "whole_participants" in str(empty)
    shares = theorem.admissible("r", beta="1/1000", **known)
    assert "a whole number" in str(shares)


@drawn
def test_the_tuner_refuses_a_part_of_a_client(name):
    theorem = fedco.theorem(name)
    known = {n: v for n, v in _meta(theorem, "corrected").items() if n not in ("beta", "tau", "K")}
    assert theorem.tune(budget={"rounds": 1000}, r="3/10", **known).bound.admissible
    with is_refused(r"the values given violate n\*r is a whole number"):
        theorem.tune(budget={"rounds": 1000}, r="1/4", **known)


def test_show_states_it():
    assert "T is a multiple of tau" in fedco.theorem("comfedl.theorem_1").to_markdown()
    whole = fedco.theorem("meta_fl.theorem_8")
    stated = whole.to_dict()["statements"]["corrected"]["conditions"]
    assert "n*r is a whole number" in [condition["relation"] for condition in stated]
    assert r"\in \mathbb{N}$" in whole.to_markdown()


# --- assumptions are listed, and a schedule rounded down to whole numbers keeps its bound -----------------------------


QUICK = (
    *("meta_fl.lemma_5", "feddro.theorem_4_2", "comfedl.theorem_1", "baselines.scgd", "baselines.biased_sgd"),
    *("library.storm", "library.gossip_sgd", "library.sampled_sgd", "library.delayed_sgd", "library.scaffold"),
    *("library.compressed_sgd", "library.sgd_probable", "library.sgd_declining", "library.sgd_convex"),
)
"""A loop, and derivations with every sort of entry that a list may lack; what takes long is to solve for the multipliers."""


@pytest.mark.parametrize("name", slow_but(QUICK, derivation_names()))
def test_a_derivation_uses_nothing_that_is_not_listed(name):
    """Without the entry of any assumption, of the independence of any sample, or of time, it is refused."""
    checked = established(name)
    theorem, plan = checked.theorem, checked.derivation
    used = {axiom.assumption for axiom in checked.state.axioms.values()} | checked.state.structural
    for lemma in () if isinstance(plan, Loop) else plan.lemmas:
        used = (used - {lemma.theorem.id}) | {item.name for item in lemma.theorem.assumptions}
    _declared(plan, theorem)
    refusals = "not in the theorem's list|no assumption of the theorem (?:states|says)|which the theorem does not list"
    for dropped in used:
        left = tuple(item for item in theorem.assumptions if item.name != dropped)
        with pytest.raises(ProofError, match=refusals):
            _declared(plan, replace(theorem, assumptions=left))


def _declared(plan, theorem):
    if isinstance(plan, Loop):
        settled(
            replace(plan, steps=(), before=None, reversed={}, sequences=()),
            theorem,
            theorem.statement(),
            Reader(theorem, theorem.statement()),
        )
    else:
        begin(plan, theorem, theorem.default)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("acc_fcsg_m.theorem_4_7", "an S_g-Lipschitz Jacobian"),
        ("acc_fcsg_m.theorem_4_7", "every sample for Acc-FCSG-M"),
        ("fcsg.theorem_4_1", "given xi, eta is drawn independently"),
        ("feddro.theorem_5_1", "independent across the clients and within a batch"),
        ("comfedl.theorem_1", "batches are unbiased and fresh at every step"),
        ("comfedl.theorem_1", "T is a multiple of tau"),
        ("comfedl.theorem_2", "T is a multiple of tau"),
        ("meta_fl.theorem_8_HF", "every sample's loss is twice continuously differentiable"),
        ("meta_fl.theorem_8", "r n a whole number"),
        ("local_scgdm.lemma_a_2", "f_k = f and g_k = g for all clients"),
    ],
)
def test_what_the_papers_leave_out_is_stated(name, wanted):
    assert any(wanted in item.text for item in get_theorem(name).assumptions)


def test_lemma_d_3_says_over_which_steps_it_sums():
    assert "1 <= t < T" in get_theorem("acc_fcsg_m.lemma_d_3").statement("corrected").note


PARENTS = {
    "fcsg.corollary_4_2": "fcsg.theorem_4_1",
    "fcsg_m.corollary_4_5": "fcsg_m.theorem_4_4",
    "local_scgdm.corollary_3_5": "local_scgdm.theorem_3_4",
}


@pytest.mark.parametrize("name", PARENTS)
@pytest.mark.parametrize("T", [16, 100, 1000, 10**6])
def test_a_period_rounded_down_keeps_the_bound_of_the_corollary(name, T):
    """The schedule gives T^(1/4) steps in a round, which is seldom whole."""
    theorem, corollary = at_schedule(name, T, int)
    assert theorem <= corollary * (1 + 1e-9)


def test_a_period_rounded_up_does_not():
    theorem, corollary = at_schedule("fcsg.corollary_4_2", 100, ceil)
    assert theorem > corollary * (1 + 1e-6)


def at_schedule(name, T, rounding):
    """The bound of the theorem with a whole period, and that of its corollary; all constants are 1."""
    item, parent = get_theorem(name), get_theorem(PARENTS[name])
    statement, below = item.statement("corrected"), parent.statement("corrected")
    period = "p" if "p" in statement.schedule else "q"
    ones = {b.name: Fraction(1) for b in parent.notation if b.name in below.symbols and b.quantity.role == "constant"}
    counts = {"N": 1, "K": 1, "b": 1, "B": 1, "m": 1, "T": T, "alpha": 1, "beta": Fraction(1, 8), "gamma": 1}
    known = {**counts, **ones}
    given = {n: v for n, v in known.items() if n in statement.symbols and n not in statement.schedule}
    steps = {k: float(v.subs({x: known[x.name] for x in v.free_symbols})) for k, v in expanded(statement)}
    chosen = {n: v for n, v in {**known, **steps}.items() if n in below.symbols}
    return bound(below, {**chosen, period: rounding(steps[period])}).total, bound(statement, given).total


def expanded(statement):
    """The schedule with derived constants put in."""
    return [(name, statement.expand(value)) for name, value in statement.schedule.items()]


def test_every_corrected_corollary_with_a_period_is_covered():
    """Others bound the period by the schedule (<=), so that it is rounded down by whoever chooses it."""
    fixed = {
        name
        for name, item in all_theorems().items()
        if "corrected" in item.labels and {"p", "q"} & set(item.statement("corrected").schedule)
    }
    assert fixed == set(PARENTS)
