"""Endless runs in which a part of the clients takes part: closed second moments against every choice of clients."""

from dataclasses import replace
from fractions import Fraction as Q
from itertools import product

import numpy as np
import pytest
import torch
from bowls import BOWLS
from fedco.algorithms import MetaFL
from fedco.validation.exact.curve import Curve
from fedco.validation.exact.draws import Chosen, choices
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.noise import Noisy
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.exact.rounds import kept_interval, random_round
from fedco.validation.exact.run import CannotReplay, Walk, scalar
from fedco.validation.exact.tensor import InexactError
from fedco.validation.falsifier.bundle import recompute
from fedco.validation.falsifier.confirm import NotConfirmed, confirm
from fedco.validation.runs.bundle import BundleError
from searching import replayed, spaces_of, violation_of

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

    def at(self, step: int) -> "Listed":
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


def test_an_affine_number_around_a_centre_is_the_number_at_every_point() -> None:
    line, other = Noisy.around(Q(1, 2), Q(1, 4)), Noisy(Q(3), {})
    curve = Curve(((Q(0), Q(1)), (Q(1), Q(3)), (Q(2), Q(3))))
    for v in (Q(-1), Q(0), Q(2, 3), Q(1)):
        x = Q(1, 2) + v / 4

        def at(found: Noisy, v: Q = v) -> Q:
            return found.centre + found.rate() * v

        assert at(2 - (line * other - line / 5) * 7) == 2 - (x * 3 - x / 5) * 7
        assert at(line.at(curve)) == curve(x)
        assert at((line + 1).integral(curve)) == curve.integral(x + 1)
    for bent in (lambda: line * line, lambda: (line + Q(1, 2)).at(curve), lambda: line.integral(curve)):
        with pytest.raises(Bends):
            bent()
    with pytest.raises(InexactError):
        line + 0.5


def test_doubles_and_fractions_agree() -> None:
    search_space = spaces_of(THEOREM, where=("r=1/2", "tau=16"))[0]
    assert search_space.law.name == "partial participation"
    points = np.random.default_rng(0).random((6, search_space.size))
    parameters, values = search_space.numbers(points)
    found = search_space.law.left(search_space, parameters, values, 6)
    (squares,), off = found.sides, found.astray
    settled = np.flatnonzero(off == 0)
    assert len(settled) >= 3
    for run in settled:
        numbers = {n: [[Q(float(t)) for t in v[run].ravel()]] for n, v in parameters.items()}
        instance = Instance(
            "meta",
            {
                "knots": numbers["knots"],
                "curvatures": numbers["curvatures"],
                "tilt": numbers["tilt"][0],
                "alpha": numbers["alpha"][0][0],
                "start": Q(0),
            },
            dict(search_space.settings),
        )
        problem = exact_problem(instance)
        exact = MetaFL(beta=scalar(Q(float(values["beta"][run]))), tau=16, m=1)
        interval = kept_interval(exact, problem, 16, 1)
        assert float(random_round(exact, problem, 16, interval, 1, 1).mean_square()[0]) == pytest.approx(
            squares[run], rel=1e-6
        )


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
