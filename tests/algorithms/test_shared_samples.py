"""All grid points of a seed have one sample, which is then drawn and looked up once: that must not change a bit."""

from dataclasses import replace

import pytest
import torch
from fedco.algorithms import FCSG, Draws, drive
from fedco.algorithms.engine.method import blend, descend
from fedco.synthetic.families.invariant import InvariantLogistic, folded
from fedco.synthetic.kinds import InnerSample, OuterSample

STEPS, SEEDS = 7, [4, 0, 9]
SIZES = torch.tensor([0.03, 0.3, 3.0], dtype=torch.float64)
BATCHES = (1, 3, 10)  # one draw of eta, draws that are listed, more draws than dim, which are counted


def models(sizes, m, seeds, clients, **options):
    problem = InvariantLogistic(clients=clients, dim=5, points=6)
    return drive(FCSG(alpha=sizes, q=3, m=m), problem, steps=STEPS, seeds=seeds, root_seed=1, **options).state.x


@pytest.mark.parametrize("m", BATCHES)
@pytest.mark.parametrize("clients", [1, 3])
def test_a_lane_is_the_same_alone_and_in_a_grid_of_blocks(m, clients):
    together = models(SIZES, m, SEEDS, clients)
    assert torch.equal(together, models(SIZES, m, SEEDS, clients, seeds_at_once=2))
    for point, size in enumerate(SIZES.tolist()):
        for place, seed in enumerate(SEEDS):
            lane = together[point * len(SEEDS) + place]
            assert torch.equal(lane, models(size, m, [seed], clients)[0])
    assert len(together.flatten(1).unique(dim=0)) == len(together), "seeds and sizes must matter"


@pytest.mark.parametrize("m", BATCHES)
def test_a_shared_sample_is_one_copy_of_it_for_each_grid_point(m):
    problem, grid = InvariantLogistic(dim=5), 3
    draws = Draws(7, 4, problem.clients, grid).at(2)
    outer = problem.sample_outer(draws, 2)
    inner = problem.sample_inner(draws, outer, m)
    assert outer.outcome.shape[0] == 4 and inner.eta.shape[0] == 4
    each, copied = (
        replace(s, **{name: v.repeat(grid, *[1] * (v.dim() - 1)) for name, v in vars(s).items()})
        for s in (outer, inner)
    )
    assert torch.equal(each.outcome, draws.integers("outer", problem.points, 2))
    listed = InnerSample(draws.integers("inner", 2 * problem.dim, 2, m))
    is_counted = hasattr(copied, "share")
    assert is_counted == (m > problem.dim) and (is_counted or torch.equal(copied.eta, listed.eta))
    x = torch.randn(12, problem.clients, problem.dim, dtype=torch.float64)
    with torch.no_grad():
        y = problem.inner(x, outer, inner)
        v = problem.outer_gradient(y, outer)
        assert torch.equal(y, problem.inner(x, each, copied))
        torch.testing.assert_close(y, problem.inner(x, each, listed), rtol=0, atol=1e-14)
        assert torch.equal(v, problem.outer_gradient(y, each))
        assert torch.equal(problem.outer_value(y, outer), problem.outer_value(y, each))
        assert torch.equal(problem.inner_vjp(x, v, outer, inner), problem.inner_vjp(x, v, each, copied))
        assert torch.equal(problem.sample_gradient(x, outer, inner), problem.sample_gradient(x, each, copied))


@pytest.mark.parametrize("m", [1, 2, 30])
@pytest.mark.parametrize("dim", [1, 2, 3, 6, 7, 20])
def test_a_run_keeps_its_bits_in_any_batch(dim, m):
    """Vector widths, tails and broadcasts all differ between these shapes."""
    problem = InvariantLogistic(dim=dim, clients=3)
    draws = Draws(1, 33, problem.clients).at(0)
    outer = problem.sample_outer(draws, 2)
    inner = problem.sample_inner(draws, outer, m)
    x = 5 * torch.randn(33, 3, dim, generator=torch.Generator().manual_seed(dim), dtype=torch.float64)
    whole = problem.sample_gradient(x, outer, inner)
    for size in (1, 2, 5):
        parts = [
            problem.sample_gradient(x[i : i + size], *(_runs(s, i, size) for s in (outer, inner)))
            for i in range(0, 33, size)
        ]
        assert torch.equal(whole, torch.cat(parts))


def _runs(sample, first, size):
    return replace(sample, **{name: v[first : first + size] for name, v in vars(sample).items()})


def test_the_grid_is_the_slow_index_of_what_is_folded():
    runs, outer = torch.arange(6), OuterSample(torch.zeros(3, 1, 1, dtype=torch.int64))
    assert folded(runs, outer).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert folded(runs[:1], outer).tolist() == [[0]], "one row for all runs"


def test_draws_per_seed_are_those_of_the_first_grid_point():
    draws = Draws(3, [5, 1], 4, grid=3).at(6)
    for kind, tail in (("signs", (70,)), ("uniform", (2, 3)), ("normal", (3,))):
        once, all_points = getattr(draws.per_seed, kind)("p", *tail), getattr(draws, kind)("p", *tail)
        assert torch.equal(once.repeat(3, *[1] * (once.dim() - 1)), all_points)
    assert draws.grid == 3 and draws.per_seed.step == 6


@pytest.mark.parametrize("m", BATCHES)
def test_models_far_away_have_finite_oracles(m):
    """tanh and the sigmoid come from exp, which overflows there."""
    problem, draws = InvariantLogistic(dim=5), Draws(0, 3, 4).at(0)
    outer = problem.sample_outer(draws, 2)
    inner, x = problem.sample_inner(draws, outer, m), 1e5 * torch.randn(3, 4, 5, dtype=torch.float64)
    a, axes = problem.data[0], torch.eye(5, dtype=torch.float64) * problem.shake
    eta = a[torch.arange(4)[:, None], outer.outcome].unsqueeze(-2) + torch.cat([axes, -axes])
    of_outcome = problem.saturation * torch.tanh((eta * x[:, :, None, None]).sum(-1) / problem.saturation)
    drawn = inner.share if hasattr(inner, "share") else torch.nn.functional.one_hot(inner.eta, 10).double().mean(-2)
    with torch.no_grad():
        y = problem.inner(x, outer, inner)
        torch.testing.assert_close(y[..., 0], (of_outcome * drawn).sum(-1), rtol=0, atol=1e-13)
        assert problem.inner_vjp(x, problem.outer_gradient(y, outer), outer, inner).isfinite().all()


def test_momentum_has_the_same_bits_for_a_number_and_for_a_grid_of_it():
    old, new = torch.randn(2, 5, 3, 7, dtype=torch.float64)
    for weight in (0.0, 0.3, 0.7, 1.0):
        mixed = blend(old, new, weight)
        assert torch.equal(mixed, blend(old, new, torch.full((5, 1, 1), weight, dtype=torch.float64)))
        assert torch.equal(mixed[2:3, 1:2], blend(old[2:3, 1:2], new[2:3, 1:2], weight)), "a lane alone"
        torch.testing.assert_close(mixed, (1 - weight) * old + weight * new, rtol=0, atol=1e-15)
    assert torch.equal(blend(old, new, 0.0), old) and torch.equal(blend(old, new, 1.0), new)


def test_a_descent_step_has_the_same_bits_for_a_number_and_for_a_grid_of_it():
    x, direction = torch.randn(2, 5, 3, 7, dtype=torch.float64)
    step = torch.full((5, 1, 1), 0.3, dtype=torch.float64)
    assert torch.equal(descend(x, 0.3, direction), descend(x, step, direction))
    torch.testing.assert_close(descend(x, 0.3, direction), x - 0.3 * direction, rtol=0, atol=1e-15)
