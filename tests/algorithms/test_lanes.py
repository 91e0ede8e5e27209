"""A lane (one run, one client) gets the same bits whatever runs beside it, and whatever happens to the process."""

from dataclasses import fields

import pytest
import torch
from cases import CASES, ONE_OF_EACH, REPRESENTATIVES
from fedco.algorithms import drive
from fedco.algorithms.engine import metrics
from quick import slow_but
from tiny import TINY, TinyData

STEPS = 13
CLIENTS = 3
SEED = 5
DRIVE_OPTIONS = ("checkpoint", "checkpoint_every", "record", "threads", "seeds_at_once", "every", "average")


def problem_for(case, clients=CLIENTS):
    return TINY[case.problem_kind](TinyData.random(8, clients))


def run(case, seeds, steps=STEPS, clients=CLIENTS, **changes):
    options = {name: changes.pop(name) for name in DRIVE_OPTIONS if name in changes}
    method = case.method(**{**case.example, **changes})
    return drive(method, problem_for(case, clients), steps=steps, seeds=seeds, root_seed=3, **options)


def lane(result, index):
    """All tensors of the state of one run."""
    tensors = {f.name: getattr(result.state, f.name) for f in fields(result.state)}
    return {name: v[index] for name, v in tensors.items() if v is not None}


def assert_same_bits(left, right):
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), f"{name} differs by {(left[name] - right[name]).abs().max()}"


NUMBERS_OF_CLIENTS = (3, 8, 2, 1)
ON_CLIENTS = [
    pytest.param(
        label,
        clients,
        marks=() if label in ONE_OF_EACH and (i + j) % len(NUMBERS_OF_CLIENTS) == 0 else pytest.mark.slow,
    )
    for i, label in enumerate(CASES)
    for j, clients in enumerate(NUMBERS_OF_CLIENTS)
]
"""Every method with every number of clients: quickly with one of them, each number with every fourth method."""
HALF, STOPS = REPRESENTATIVES[::2], (6, STEPS, 1)


@pytest.mark.parametrize(("label", "clients"), ON_CLIENTS)
def test_a_lane_is_the_same_alone_and_in_a_batch_of_7_or_512(label, clients):
    case = CASES[label]
    alone = lane(run(case, [SEED], clients=clients), 0)
    assert_same_bits(alone, lane(run(case, 7, clients=clients), SEED))
    assert_same_bits(alone, lane(run(case, 512, clients=clients), SEED))
    assert_same_bits(alone, lane(run(case, [400, SEED, 2], clients=clients), 1))


ELEMENTS_PER_THREAD = 32768  # below this torch gives an elementwise operation to one thread


@pytest.mark.parametrize("label", slow_but(REPRESENTATIVES[1::2], CASES))
def test_a_lane_is_the_same_with_one_and_two_and_eight_threads(label, monkeypatch):
    before, used, step = torch.get_num_threads(), [], CASES[label].method.local_step

    def spy(self, *args):
        used.append(torch.get_num_threads())
        return step(self, *args)

    monkeypatch.setattr(CASES[label].method, "local_step", spy)
    instance = problem_for(CASES[label])
    seeds = 2 * ELEMENTS_PER_THREAD // (instance.clients * instance.dim) + 64
    runs = [run(CASES[label], seeds, steps=4, threads=threads, seeds_at_once=seeds) for threads in (1, 2, 8)]
    assert used == [1] * 4 + [2] * 4 + [8] * 4 and torch.get_num_threads() == before
    assert runs[0].state.x.numel() > 2 * ELEMENTS_PER_THREAD
    for other in runs[1:]:
        assert_same_bits(lane(runs[0], slice(None)), lane(other, slice(None)))
    assert_same_bits(lane(runs[0], seeds - 7), lane(run(CASES[label], [seeds - 7], steps=4), 0))


@pytest.mark.parametrize("label", slow_but(HALF, CASES))
@pytest.mark.parametrize("at_once", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_blocks_of_seeds_change_nothing_and_a_resumed_run_may_use_others(label, at_once, tmp_path):
    case, file = CASES[label], tmp_path / "run.npz"
    record = {"gradient": metrics.gradient_norm_squared, "drift": metrics.consensus_error}
    grid = case.scaled(lambda v: torch.tensor([v / 2, v], dtype=torch.float64))
    whole = run(case, [7, 0, 3, 9, 4], record=record, seeds_at_once=5, **grid)
    run(case, [7, 0, 3, 9, 4], record=record, steps=5, checkpoint=file, seeds_at_once=2, **grid)
    cut = run(case, [7, 0, 3, 9, 4], record=record, checkpoint=file, seeds_at_once=at_once, **grid)
    assert whole.grid == 2
    assert_same_bits(lane(whole, slice(None)), lane(cut, slice(None)))
    assert_same_bits(whole.values, cut.values)
    assert_same_bits(whole.sums, cut.sums)


@pytest.mark.parametrize("label", slow_but(ONE_OF_EACH, CASES))
def test_a_grid_point_is_the_same_alone_and_beside_others(label):
    case = CASES[label]
    parts = (3, 2, 1)
    beside = run(case, 4, **case.scaled(lambda v: torch.tensor([v / part for part in parts], dtype=torch.float64)))
    assert beside.grid == 3
    for point, part in enumerate(parts):
        alone = run(case, 4, **case.scaled(lambda v, part=part: v / part))
        assert_same_bits(lane(alone, slice(None)), lane(beside, slice(4 * point, 4 * point + 4)))
    moved = [lane(beside, 4 * point)["x"] for point in range(3)]
    assert not torch.equal(moved[0], moved[1]), "the grid must matter"


@pytest.mark.parametrize(
    ("label", "stop"),
    [
        pytest.param(
            label,
            stop,
            marks=()
            if label in REPRESENTATIVES and (label in HALF, stop) in ((True, 6), (False, STEPS))
            else pytest.mark.slow,
        )
        for label in CASES
        for stop in STOPS
    ],
)
def test_a_resumed_run_is_the_same(label, stop, tmp_path):
    case, file = CASES[label], tmp_path / "run.npz"
    record = {"gradient": metrics.gradient_norm_squared, "drift": metrics.consensus_error}
    thinned = {"every": 5, "average": False} if stop == 6 else {}
    whole = run(case, 3, record=record, **thinned)
    run(case, 3, steps=stop, record=record, checkpoint=file, checkpoint_every=4, **thinned)
    resumed = run(case, 3, record=record, checkpoint=file, **thinned)
    assert_same_bits(lane(whole, slice(None)), lane(resumed, slice(None)))
    assert_same_bits(whole.values, resumed.values)
    assert_same_bits(whole.sums, resumed.sums)


@pytest.mark.parametrize("label", slow_but(ONE_OF_EACH, CASES))
def test_seeds_differ_exactly_when_the_method_samples(label):
    case = CASES[label]
    x = run(case, 2).state.x
    needs = (*case.method.needs, *case.method.needs_on.get(case.problem_kind, ()))
    samples = any(need.startswith("sample") for need in needs)
    assert torch.equal(x[0], x[1]) != samples
    assert not torch.equal(x[0], run(case, 2, steps=STEPS + 1).state.x[0])
