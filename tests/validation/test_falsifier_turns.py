"""Which points, search spaces and claims a search goes on with, and what it says of a sequence of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds.language.change import Change, with_statement
from fedco.bounds.language.theorem import Condition
from fedco.validation.falsifier.edges import bisected, edge
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.search import Claim, followed, is_guided, next_power, visiting_order


@pytest.mark.parametrize("count", [1, 40, 5000])
def test_halvings_at_once_are_those_one_by_one(count: int) -> None:
    """Bit by bit, and for what changes back and forth on the way, where several ends could be found; more at once of few intervals."""
    rng = np.random.default_rng(2)
    low, high = -rng.random(count) - 1, rng.random(count) + 1

    def holds(x: np.ndarray) -> np.ndarray:
        return np.sin(40 * x) < 0.3 * np.arange(count) / count

    found = bisected(holds, low, high, 30)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = np.where(holds(middle), middle, low), np.where(holds(middle), high, middle)
    assert np.array_equal(found, (low, high)) and (high - low < 1e-8).all() and len(set(low)) == count
    assert bisected(lambda x: np.array(True), np.zeros(2), np.full(2, 8.0), 3)[0].tolist() == [7, 7]


@pytest.mark.parametrize(
    ("relation", "held", "over"),
    [
        ("<", [1, 0, 0, 0], [0, 0, 0.5, 1]),
        ("<=", [1, 1, 0, 0], [0, 0, 0.5, 1]),
        (">", [0, 0, 1, 0], [1 / 3, 0, 0, 1]),
        (">=", [0, 1, 1, 0], [1 / 3, 0, 0, 1]),
        ("==", [0, 1, 0, 0], [1 / 3, 0, 0.5, 1]),
    ],
)
def test_a_relation_is_judged_with_its_excess(relation, held, over):
    """eta of 1, 2, 3 and no number against 1/L of 2, 2, 1 and 1."""
    item = theorem("baselines.minibatch_sgd")
    eta, L = (item.notation[name].symbol for name in ("eta", "L_bar"))
    only = replace(item.statement("printed"), conditions=(Condition("c", eta, relation, 1 / L),))
    formula = Formula(with_statement(item, only), "printed")
    values = dict.fromkeys(formula.names, np.ones(4)) | {
        "eta": np.array([1.0, 2.0, 3.0, np.nan]),
        "L_bar": 1 / np.array([2.0, 2, 1, 1]),
    }
    found = formula.sides(values)
    assert found.admissible.tolist() == [bool(x) for x in held] and found.excess.tolist() == pytest.approx(over)


def test_a_claim_keeps_its_best_points():
    claim = Claim(target=None)  # type: ignore[arg-type]
    points = np.arange(100.0)[:, None]
    claim.remember((0, False), points, -np.abs(points[:, 0] - 50))
    claim.remember((0, False), np.array([[7.5], [8.5]]), np.array([1.0, -1000.0]))
    kept, scores = claim.points[0, False]
    assert len(kept) == 64 and kept[0, 0] == 7.5 and kept[1, 0] == 50 and (np.diff(scores) <= 0).all()
    assert claim.best == {(0, False): 1.0} and claim.is_open
    claim.found.saw(0.3, "a")
    claim.found.saw(0.2, "b")
    assert (claim.found.ratio, claim.found.where) == (0.3, "a")


def test_powers_of_two():
    assert [next_power(n) for n in (1, 2, 3, 4, 5, 64, 65)] == [1, 2, 4, 4, 8, 64, 128]


def test_islands_are_visited_by_turns_endless_and_finite_the_best_first():
    claim = Claim(target=None)  # type: ignore[arg-type]
    claim.best = {(0, False): -1.0, (1, False): -2.0, (2, False): 0.5, (3, False): -0.5, (0, True): 9.0}
    search_spaces = [SimpleNamespace(stays=stays) for stays in (True, False, False, True)]
    assert visiting_order(search_spaces, claim, False) == [3, 2, 0, 1]  # type: ignore[arg-type]
    claim.best[3, False] = -30.0  # nothing valid there
    assert visiting_order(search_spaces, claim, False) == [0, 2, 1]
    assert visiting_order(search_spaces, claim, True) == [
        0,
        1,
        3,
        2,
    ]  # search spaces that nobody has seen come after those with a score


def test_of_the_changes_of_one_term_the_first_open_one_is_followed():
    changed = [Claim(None, Change(part, "divided", Q(4))) for part in ("a", "a", "b")]  # type: ignore[arg-type]
    plain = Claim(target=None)  # type: ignore[arg-type]
    claims = [plain, *changed]
    assert followed(claims) == [plain, changed[0], changed[2]]
    changed[0].found.violation = SimpleNamespace()
    assert followed(claims) == [plain, changed[1], changed[2]]
    for claim in claims:
        claim.found.violation = SimpleNamespace()
    assert followed(claims) == []
    turns = [(is_guided(changed[0], turn), is_guided(plain, turn)) for turn in range(6)]
    assert turns == [(t % 3 != 2, False) for t in range(6)]


def test_a_lost_power_is_followed_beside_less_of_a_term_and_neither_while_the_term_may_be_missing():
    """Less of a term that has slack is never refuted, and must not be in the way of an order that is."""
    dropped, less, period, clients, other = changed = [
        Claim(None, change)  # type: ignore[arg-type]
        for change in (
            Change("a", "dropped"),
            Change("a", "divided", Q(4)),
            Change("a", "power", Q(-1), "p"),
            Change("a", "power", Q(-1), "N"),
            Change("b", "power", Q(-1), "N"),
        )
    ]
    assert followed(changed) == [dropped, other]
    dropped.found.violation = SimpleNamespace()
    assert followed(changed) == [less, period, clients, other]


def test_the_largest_step_that_conditions_admit():
    formula = Formula(theorem("baselines.minibatch_sgd"), "printed")
    names = [n for n, b in formula.theorem.symbols("printed").items()]
    values = dict.fromkeys(names, Q(1)) | {"L_bar": Q(4)}
    eta = 10.0 ** float(edge(formula, {name: float(value) for name, value in values.items()}, "eta", 1, {}, 1)[0])
    exact = formula.theorem.admissible("eta", "printed", L_bar=4).intervals["eta"].upper
    assert eta == pytest.approx(float(exact), rel=1e-9) and eta <= float(exact) * (1 + 1e-12)
