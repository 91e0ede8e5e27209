"""Changes of a statement, against the printed terms by hand: F_gap, eta, p and the rest of local SGD."""

from __future__ import annotations

from fractions import Fraction

import fedco
import pytest
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.language.change import Change
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement

POINT = {"L": 2, "G": 3, "sigma": 1, "F_gap": 5, "p": 4, "b": 1, "N": 8, "T": 1000, "eta": "1/100"}


def local_sgd() -> Statement:
    return fedco.theorem("baselines.local_sgd").statement("printed")


@pytest.mark.parametrize(
    ("change", "share"),
    [
        (Change("drift", "divided", Fraction(4)), 1 / 4),
        (Change("drift", "power", Fraction(-1, 2), "p"), 1 / 2),  # 4^(-1/2)
        (Change("drift", "power", Fraction(2), "p"), 16),
        (Change("drift", "lowered", symbol="p"), 10 / 21),  # (p - 1)(2p - 1) at 3 and at 4
        (Change("drift", "lowered", symbol="T"), 1),  # no T in it
    ],
    ids=str,
)
def test_one_term_changes_by_what_is_said(change: Change, share: float):
    before, after = (bound(statement, POINT).terms for statement in (local_sgd(), change.of(local_sgd())))
    assert after["drift"] == pytest.approx(share * before["drift"], rel=1e-12)
    assert {**after, "drift": 0} == {**before, "drift": 0}
    assert Change.from_dict(change.to_dict()) == change


def test_a_dropped_term_is_gone_and_the_others_stay():
    before = bound(local_sgd(), POINT).terms
    point = {name: value for name, value in POINT.items() if name != "p"}  # only the drift has it
    after = bound(Change("drift", "dropped").of(local_sgd()), point).terms
    assert after == {name: value for name, value in before.items() if name != "drift"}


def test_a_relaxed_condition_ends_so_much_further_out():
    (condition,) = local_sgd().conditions  # eta <= 1/L
    relaxed = Change(condition.name, "relaxed", Fraction(3)).of(local_sgd())
    for eta, holds in (("1/2", True), ("3/2", True), ("8/5", False)):
        assert bound(relaxed, POINT | {"eta": eta}, strict=False).admissible is holds
    assert not bound(local_sgd(), POINT | {"eta": "3/2"}, strict=False).admissible


def test_what_is_not_there_cannot_be_changed():
    with pytest.raises(InputError, match="wanted one of"):
        Change("drift", "doubled")
    with pytest.raises(InputError):
        Change("drifts", "dropped").of(local_sgd())
