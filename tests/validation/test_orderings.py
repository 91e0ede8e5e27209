"""What two curves are compared by, and how an ordering is judged from its seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from fedco.validation.experiments import orderings
from fedco.validation.experiments.orderings import Judged, Ordering, judge, statistic


def test_what_is_compared_of_a_run() -> None:
    values = np.stack([np.arange(20.0), -np.arange(20.0)])
    assert statistic(values, "end", True).tolist() == [18.5, -18.5]  # the last tenth: two of twenty
    assert (
        statistic(values[:, :14], "end", True).tolist() == [13.0, -13.0]
        and statistic(values[:, :3], "end", True)[0] == 2
    )
    assert statistic(values, "along", True).tolist() == [9.5, -9.5]
    lost = np.array([[0.0, math.nan], [0.0, math.inf], [0.0, 1.0]])
    assert statistic(lost, "end", True).tolist() == [-math.inf, -math.inf, 1] and statistic(
        lost, "end", False
    ).tolist() == [math.inf, math.inf, 1]


def two_curves(gain: list[float]) -> dict[str, dict[str, np.ndarray]]:
    """Two curves of one time each, by how much the first is larger."""
    return {"a": {"m": np.array(gain)[:, None]}, "b": {"m": np.zeros((len(gain), 1))}}


@pytest.mark.parametrize(
    ("gain", "more", "outcome"),
    [
        ([1.0] * 6, {}, "the paper's"),
        ([1.0] * 5, {}, "undecided"),  # 2 / 2^5 is above 0.05
        ([-1.0] * 6, {}, "the opposite"),
        ([1.0] * 6, {"larger": False}, "the opposite"),
        ([-1.0] * 6, {"larger": False}, "the paper's"),
        ([1.0, 1.0], {"exact": True}, "the paper's"),
        ([1.0, 0.0], {"exact": True}, "undecided"),
        ([-1e-9], {"exact": True}, "the opposite"),
    ],
)
def test_an_ordering_is_judged(gain: list[float], more: dict[str, Any], outcome: str) -> None:
    found = judge(Ordering("a", "b", "m", **more), two_curves(gain), 0.05)
    sign = 1 if more.get("larger", True) else -1
    assert found.outcome == outcome and len(found.gains) == len(gain)
    assert found.advantage[0] == pytest.approx(sign * np.mean(gain))
    assert found.p == (0.0 if more.get("exact") else 2 / 2 ** len(gain))


def test_curves_are_compared_seed_by_seed_at_their_end_or_along_the_run() -> None:
    """Far less than the spread over the seeds decides where it is the same for each; speed and end are different questions."""
    spread = np.tile(np.random.default_rng(0).normal(size=(8, 1)) * 100, (1, 50))
    slow, fast = np.linspace(0, 1, 50), np.minimum(0.9, np.linspace(0, 9, 50))
    mixed = np.array([1, -1] * 4)[:, None]
    for when, gain, outcome in (
        ("end", 0.1, "the paper's"),
        ("end", 0.1 * mixed, "undecided"),
        ("along", fast - slow, "the paper's"),
        ("end", fast - slow, "the opposite"),
    ):
        curves = {"a": {"m": spread + gain}, "b": {"m": spread}}
        assert judge(Ordering("a", "b", "m", when=when), curves, 0.01).outcome == outcome


def test_the_bootstrap_interval_covers_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orderings, "RESAMPLES", 1000)
    rng = np.random.default_rng(1)
    ends = [orderings.bootstrap(rng.normal(size=40))[1:] for _ in range(200)]
    assert 0.92 <= np.mean([low <= 0.0 <= high for low, high in ends]) <= 0.97  # of the 200, 95% are expected


def test_a_verdict_says_why_it_is_none() -> None:
    wanted = Ordering("a", "b", "m")
    held = Judged(wanted, (1.0,) * 6, 0.05)
    few, mixed = Judged(wanted, (1.0,) * 6, 0.01), Judged(wanted, (1.0, -1.0) * 5, 0.01)
    assert few.outcome == "undecided" and few.why == "6 seeds cannot decide at this level"
    assert mixed.why == "p is above 0.01" and held.why == ""
    told = Judged(wanted, (1.0, math.inf, -math.inf), 0.05).to_dict()
    assert told["gains"] == [1.0, "inf", "-inf"] and (told["outcome"], told["exact"]) == ("undecided", False)


def test_a_run_that_is_lost_has_no_interval() -> None:
    assert orderings.bootstrap(np.array([1.0, math.inf])) == (math.inf, -math.inf, math.inf)
    assert orderings.bootstrap(np.array([-math.inf, 5.0])) == (-math.inf, -math.inf, math.inf)
    assert math.isnan(orderings.bootstrap(np.array([-math.inf, math.inf]))[0])
    assert orderings.sign_test([0.0] * 3) == orderings.sign_test([1.0, -1.0, 0.0, 0.0]) == 1.0
    both = {"a": {"m": np.full((6, 1), math.nan)}, "b": {"m": np.full((6, 1), math.nan)}}
    assert judge(Ordering("a", "b", "m"), both, 0.05).advantage[0] == 0.0


def test_the_better_of_a_pair_is_above_in_a_share_and_below_in_any_other() -> None:
    assert orderings.better([("a", "b"), ("c", "d")], "worst_accuracy", "test_loss", when="along") == (
        Ordering("a", "b", "worst_accuracy", True, "along"), Ordering("c", "d", "worst_accuracy", True, "along"),
        Ordering("a", "b", "test_loss", False, "along"), Ordering("c", "d", "test_loss", False, "along"),
    )  # fmt: skip
