"""What a statement leaves open is in its list of assumptions, and a schedule rounded down to whole numbers keeps its bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from fedco.bounds import all_theorems, get_theorem
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.proof.check_on_instances import derivation_names, established
from fedco.bounds.proof.kernel import Loop, ProofError, Reader
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.loop import settled
from quick import slow_but

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
