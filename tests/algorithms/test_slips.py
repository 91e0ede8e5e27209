"""Every method with one slip in one of its moves: the comparison with its reference must catch what comes of it.

A slip may mean nothing for a method, such as averaging all clients where all take part: then no model is another one.
"""

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from cases import CASES, REPRESENTATIVES
from quick import slow_but
from test_reference import STEPS, batched_path, plain_noise
from tiny import TINY, TinyData

SEEDS = 8  # a slip in what is drawn shows up only when the draw comes out otherwise


def kept(new, old):
    """The new models beside what else the old state has."""
    others = {field.name: getattr(old, field.name) for field in fields(new) if field.name not in ("x", "active")}
    return replace(new, **others)


def averages_everyone(share, problem, state, t):
    return replace(share(problem, replace(state, active=None), t), active=state.active)


def steps_uphill(step, problem, state, draws, t):
    new = step(problem, state, draws, t)
    return replace(new, x=2 * state.x - new.x)


SLIPS = {
    "shares a step late": ("communicate", lambda share, problem, state, t: share(problem, state, t + 1)),
    "never shares": ("communicate", lambda share, problem, state, t: state),
    "shares the model alone": ("communicate", lambda share, p, state, t: kept(share(p, state, t), state)),
    "averages everyone": ("communicate", averages_everyone),
    "counts steps from 1": ("local_step", lambda step, p, state, draws, t: step(p, state, draws, t + 1)),
    "draws the same samples": ("local_step", lambda step, p, state, draws, t: step(p, state, draws.at(0), t)),
    "steps uphill": ("local_step", steps_uphill),
    "forgets all but the model": ("local_step", lambda step, p, state, *given: kept(step(p, state, *given), state)),
    "keeps the first clients": (
        "local_step",
        lambda step, p, state, *given: replace(step(p, state, *given), active=state.active),
    ),
}


def same(one, other):
    return one is other or (one is not None and other is not None and torch.equal(one, other))


def with_slip(method, move, slip, acted):
    """The class with another `move`; `acted` takes note of whether models, or who takes part, ever came out otherwise."""

    def moved(self, problem, state, *given):
        right = partial(getattr(method, move), self)
        wrong, wanted = slip(right, problem, state, *given), right(problem, state, *given)
        acted.append(not (same(wrong.x, wanted.x) and same(wrong.active, wanted.active)))
        return wrong

    return dataclass(frozen=True, eq=False)(type(f"Slipped{method.__name__}", (method,), {move: moved}))


@pytest.mark.parametrize("label", slow_but(REPRESENTATIVES[1::2], CASES))
def test_a_slip_is_caught(label):
    case, numbers = CASES[label], TinyData.random(4, 3)
    noises = [plain_noise(9, seed, 3) for seed in range(SEEDS)]
    paths = [case.reference(numbers, noise, numbers.origin, None, STEPS, **case.example)[0] for noise in noises]

    def distance(method):
        models, _ = batched_path(method(**case.example), TINY[case.problem_kind](numbers), 9, SEEDS)
        return np.abs(models.swapaxes(0, 1) - np.array(paths)).max()

    assert distance(case.method) < 1e-12
    caught = 0
    for slip, (move, wrong) in SLIPS.items():
        acted = []
        found = distance(with_slip(case.method, move, wrong, acted))
        assert found > 1e-5 or (found < 1e-12 and not any(acted)), f"{slip}: {found}"
        caught += found > 1e-5
    assert caught >= 3
