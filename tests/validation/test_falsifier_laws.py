"""Laws of noise by their definitions: what counts, what is rounding, lanes and their weights, rounds of a part of the clients."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import product

import numpy as np
import pytest
import torch
from families import BOWLS
from fedco.algorithms import MetaFL
from fedco.validation.exact.draws import Chosen, Columns, EveryPath, choices, laid_out, masks
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.long_run import Counted
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.rounds import RandomRound, kept_interval, random_round
from fedco.validation.exact.run import CannotReplay, Walk, scalar
from fedco.validation.exact.statistic import Statistic
from fedco.validation.falsifier.bundle import recompute
from fedco.validation.falsifier.confirm import NotConfirmed, confirm
from fedco.validation.falsifier.laws import MOMENTS
from fedco.validation.falsifier.long_run import floor_of
from fedco.validation.falsifier.noise import SignTable, extremes, moments, paths
from fedco.validation.falsifier.search_space import INADMISSIBLE
from fedco.validation.runs.bundle import BundleError
from searching import replayed, spaces_of, violation_of


def test_which_steps_of_a_round_count():
    assert [t for t in range(-1, 9) if Counted(6, Statistic(every=2, after=False)).at(t)] == [0, 2, 4]
    assert [t for t in range(-1, 9) if Counted(6, Statistic(every=3, after=True)).at(t)] == [3, 6]
    assert [
        Counted(6, Statistic(every=every, after=after)).number for every, after in product((1, 2, 3, 6), (False, True))
    ] == [
        6,
        6,
        3,
        3,
        2,
        2,
        1,
        1,
    ]


def test_what_of_a_gradient_is_nothing_but_rounding():
    """1e-14 of the steepest slope, squared."""
    linear = {"slopes": np.array([[[-3.0, 2.0]]])}
    assert floor_of(linear) == pytest.approx([9e-28], rel=1e-9)
    assert floor_of({**linear, "inner_slope": np.array([[-2.0, 1.0]])}) == pytest.approx([36e-28], rel=1e-9)
    assert floor_of({**linear, "extra_slopes": np.array([[[4.0]]])}) == pytest.approx([49e-28], rel=1e-9)
    meta = {"curvatures": np.array([[[0.0, -2.0]]]), "alpha": np.array([0.5]), "tilt": np.array([[3.0, -1.0]])}
    assert floor_of(meta) == pytest.approx([(1e-14 * 3 * 4) ** 2], rel=1e-9)


def test_lanes_of_moments_and_of_paths_are_expectations():
    """Of (1 + s_1 + 2 s_2 + 3 s_3)^2 over fair signs: 1 + 1 + 4 + 9."""
    for lanes in (moments(3), paths(3)):
        square = (1 + lanes.table @ torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)) ** 2
        assert lanes.expectation(square.numpy()) == pytest.approx([15.0])
        assert float(lanes.weights.sum()) == pytest.approx(1)
    assert len(moments(3)) == 7 and len(paths(3)) == 8 and len({tuple(row) for row in paths(3).table.tolist()}) == 8
    assert extremes(np.array([[2.0, -1.0, 0.0]])).tolist() == [[1, -1, 1], [-1, 1, -1]]


def test_signs_are_numbered_in_the_order_in_which_they_are_asked_for():
    table = SignTable(torch.arange(12.0, dtype=torch.float64).view(1, 12), clients=2)
    assert table.at(0).signs("a", 2).tolist() == [[[0, 1], [2, 3]]]
    assert table.at(1).signs("a").tolist() == [[4, 5]] and table.at(0).signs("a", 2).tolist() == [[[0, 1], [2, 3]]]
    assert table.at(1).signs("b", 3).tolist() == [[[6, 7, 8], [9, 10, 11]]]
    assert not table.at(2).signs("c").any() and table.columns.count == 14
    assert table.at(0).subset("clients", 2).tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="1 of 2 clients"):
        table.subset("clients", 1)
    lanes = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    several = SignTable(lanes, clients=2, instances=2)
    assert several.runs == 4 and several.at(0).signs("a").tolist() == lanes.repeat(2, 1).tolist()
    columns = Columns()
    assert [columns.of(("x",), 3), columns.of(("y",), 2), columns.of(("x",), 3), columns.count] == [0, 3, 0, 5]


def test_each_client_of_a_crowd_follows_every_path_of_its_own():
    draws = EveryPath(2, 2, runs=3)
    first, second = draws.at(0).signs("a"), draws.at(1).signs("a")
    assert first.shape == (3, 8) and {*zip(first[0].tolist(), second[0].tolist(), strict=True)} == {
        *product((-1, 1), repeat=2)
    }
    assert first[0, :4].tolist() == first[0, 4:].tolist() and (first == first[:1]).all()
    with pytest.raises(ValueError, match="more than 2 signs"):
        draws.at(2).signs("a")
    turned = EveryPath(2, 2, turned=5)
    assert (turned.at(0).signs("a")[0] != first[0]).nonzero().flatten().tolist() == [5]
    with pytest.raises(ValueError, match="4 of 8 clients"):
        draws.subset("x", 4)
    assert draws.subset("x", 8).shape == (3, 8)
    out = laid_out(
        {"a": np.array([[1.0, 2.0]]), "k": np.array([[[3.0], [4.0]]]), "s": np.array([5.0])},
        {"a": "client", "k": "knots", "s": "run"},
        1,
    )
    assert (
        out["a"].tolist() == [[1, 1, 2, 2]] and out["k"].tolist() == [[[3], [3], [4], [4]]] and out["s"].tolist() == [5]
    )


def test_choices_of_clients_and_their_masks():
    assert choices(3, 2) == [(1, 1, 0), (1, 0, 1), (0, 1, 1)]
    assert masks(2, 1, 2).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    chosen = Chosen(masks(3, 2, 1))
    assert chosen.subset("x", 2) is chosen.mask and (chosen.runs, chosen.clients) == (3, 3)
    with pytest.raises(ValueError, match="1 clients are asked for"):
        chosen.subset("x", 1)


def test_a_random_round_stays_within_what_it_says_of_finitely_many():
    """Two choices, run as all paths: the mean of squares over K rounds from 1 is off the endless one by at most `off` / K."""
    move = RandomRound(
        np.array([0.5, -0.25]), np.array([0.2, -0.1]), np.array([[0.3], [-0.7]]), np.array([[1.5], [0.4]])
    )
    square, off = move.mean_square()
    for start in (1.0, -1.0):
        at, weights, total = np.array([start]), np.ones(1), 0.0
        for _ in range(12):
            total += float(weights @ sum(0.5 * (move.d[j, 0] + move.e[j, 0] * at) ** 2 for j in (0, 1)))
            at = np.concatenate([move.a[j] * at + move.b[j] for j in (0, 1)])
            weights = np.concatenate([weights / 2] * 2)
        assert abs(total / 12 - square) <= off / 12
        last = float(weights @ sum(0.5 * (move.d[j, 0] + move.e[j, 0] * at) ** 2 for j in (0, 1)))
        assert last == pytest.approx(square, rel=1e-3)


def test_a_lane_that_overflows_is_left_out_and_its_neighbours_stay_as_they_are():
    """A step size without a limit, in a bowl that grows as a square does: nothing is warned of, and such an instance is none."""
    space = next(
        space
        for space in spaces_of("library.sgd_strongly_convex_gap_declining", where=("sigma == 0",))
        if space.law is MOMENTS and (space.clients, space.horizon) == (1, 64)
    )
    points = np.random.default_rng(0).random((64, space.size))
    parameters, values = space.numbers(points)
    found = space.law.left(space, parameters, values, len(points))
    overflown = ~np.isfinite(found.sides[-1])
    assert 0 < overflown.sum() < len(points) and (found.astray == 1).any() and not np.isnan(found.astray).any()
    scores = space.score(points)
    assert (scores[overflown] < INADMISSIBLE).all() and (scores[~overflown] > INADMISSIBLE).any()
    assert scores[~overflown].tolist() == space.score(points[~overflown]).tolist()


# --- endless runs in which a part of the clients takes part ---


THEOREM = "meta_fl.theorem_8"
PERIOD, ROUNDS = 3, 5


def method() -> MetaFL:
    return MetaFL(beta=scalar(Q(3, 5)), tau=PERIOD, m=1)


def round_of_bowls():
    problem = exact_problem(BOWLS)
    interval = kept_interval(method(), problem, PERIOD, 1)
    return problem, interval, random_round(method(), problem, PERIOD, interval, 1, 1)


class Listed:
    """The clients of one round after the other."""

    def __init__(self, masks: list[tuple[int, ...]]) -> None:
        self.masks, self.now, self.runs, self.clients, self.seed_indices = masks, 0, 1, 2, (0,)

    def at(self, step: int) -> Listed:
        self.now = step // PERIOD
        return self

    def subset(self, purpose: str, size: int):
        return Chosen(torch.tensor([self.masks[self.now]], dtype=torch.float64)).subset(purpose, size)


def test_closed_moments_are_the_mean_over_every_choice_of_clients() -> None:
    """Five rounds of the method's own code for all 2^5 choices, and the recursion of the moments from the same start."""
    problem, (low, high), found = round_of_bowls()
    total = Q(0)
    for chosen in product(choices(2, 1), repeat=ROUNDS):
        run = Walk(method(), problem, problem.start, Listed(list(chosen)))
        for _ in range(ROUNDS * PERIOD):
            total += problem.gradient_at(run.average) ** 2
            run.step()
    mean = total / 2**ROUNDS / (ROUNDS * PERIOD)

    first = (problem.start - (low + high) / 2) / ((high - low) / 2)
    second, predicted = first**2, Q(0)
    for _ in range(ROUNDS):
        squares = found.d**2 + 2 * found.d * found.e * first + found.e**2 * second
        predicted += squares.sum() / squares.size
        first, second = (
            (found.a * first + found.b).sum() / 2,
            (found.a**2 * second + 2 * found.a * found.b * first + found.b**2).sum() / 2,
        )
    assert predicted / ROUNDS == mean

    square, off = found.mean_square()
    assert abs(square - mean) <= off / ROUNDS
    assert off / ROUNDS > 0
    assert abs(square - mean) > off / ROUNDS / 100  # the margin is no vain one


def test_an_interval_that_a_choice_leaves_is_refused() -> None:
    problem, (low, high), _ = round_of_bowls()
    with pytest.raises(CannotReplay, match="leaves"):
        random_round(method(), problem, PERIOD, (low / 2, high / 2), 1, 1)
    with pytest.raises(Bends):
        random_round(method(), problem, PERIOD, (Q(-100), Q(100)), 1, 1)
    alike = replace(BOWLS, parameters={**BOWLS.parameters, "tilt": [Q(-75)] * 2})
    with pytest.raises(CannotReplay, match="one point"):
        kept_interval(method(), exact_problem(alike), PERIOD, 1)


def test_theorem_8_is_refuted_where_one_of_two_clients_takes_part() -> None:
    target, found = violation_of(THEOREM, where=("r=1/2", "tau=1"))
    bundle = replayed(target, found)
    assert bundle.hyperparameters["r"] == Q(1, 2)
    for name, value in (("n", 4), ("r", Q(1, 4)), ("r", Q(3, 4))):
        with pytest.raises(BundleError):
            recompute(replace(bundle, hyperparameters={**bundle.hyperparameters, name: value}))
    claimed = found.claimed
    low, high = claimed.interval
    for interval in ((low / 2, high / 2), (high, high + 1), None):
        with pytest.raises(NotConfirmed):
            confirm(target, replace(claimed, interval=interval))
