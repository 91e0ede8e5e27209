"""The papers' complexity claims against the exact orders of their own statements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from functools import cache

import pytest
from fedco.bounds.cost import claims
from fedco.bounds.cost.orders import Order
from fedco.bounds.registry import all_papers, get_paper
from quick import slow_but

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
