"""What a problem remembers must never be told from what it would compute."""

import copy
import pickle

import pytest
import torch
from fedco.algorithms import Draws
from fedco.synthetic import problem
from fedco.synthetic.parts.recall import Recall


def counting():
    calls = []

    def function(x, y):
        calls.append(1)
        return x + y

    return function, calls


def test_only_the_very_same_arguments_are_recalled():
    function, calls = counting()
    recall, x, y = Recall(depth=2), torch.ones(2), torch.ones(2)
    with torch.no_grad():
        first = recall(function, x, y)
        assert recall(function, x, y) is first and len(calls) == 1
        recall(function, y, x)
        assert len(calls) == 2, "equal numbers in another tensor are another argument"
        assert recall(function, x, y) is first and len(calls) == 2, "the last two calls are remembered"
        x += 1
        assert torch.equal(recall(function, x, y), x + y) and len(calls) == 3, "a tensor that was written to is new"
        recall(function, x.clone(), y), recall(function, x.clone(), y)
        recall(function, x, y)
        assert len(calls) == 6, "older calls are forgotten"


def test_nothing_is_recalled_while_gradients_are_recorded_or_after_a_copy():
    function, calls = counting()
    recall, x = Recall(depth=3), torch.ones(2)
    with torch.no_grad():
        recall(function, x, x)
    recall(function, x, x)
    assert len(calls) == 2
    assert pickle.dumps(recall) == pickle.dumps(Recall(depth=3))
    for other in (copy.deepcopy(recall), pickle.loads(pickle.dumps(recall))):
        assert vars(other) == vars(Recall(depth=3)) != vars(recall)


@pytest.mark.parametrize("name", ["feddro_heterogeneous", "agnostic_maml"])
def test_an_inner_map_recalls_the_bits_of_a_fresh_one(name):
    """In the order of FedDRO: the value at x^{t-1} and x^t, then the Jacobian; and with writing in between."""
    used = problem(name)
    x = [torch.randn(3, used.clients, used.dim, dtype=torch.float64) for _ in range(3)]
    v = torch.randn(3, used.clients, used.inner_dim, dtype=torch.float64)
    with torch.no_grad():
        for step, (before, point) in enumerate(zip(x, (*x[1:], x[0]), strict=True)):
            fresh, sample = problem(name), used.sample(Draws(1, 3, used.clients).at(step), 2)
            assert torch.equal(used.inner(before, sample), fresh.inner(before.clone(), sample))
            assert torch.equal(used.inner(point, sample), fresh.inner(point.clone(), sample))
            assert torch.equal(used.inner_vjp(point, v, sample), fresh.inner_vjp(point.clone(), v, sample))
            point += 0.5  # which is the `before` of the next round


@pytest.mark.parametrize("batch", [1, 2])
def test_a_conditional_map_recalls_the_bits_of_a_fresh_one(batch):
    """In the order of Acc-FCSG-M: value and Jacobian at x^t and at x^{t-1} with one sample; then x is written to."""
    used, name = problem("conditional_heterogeneous"), "conditional_heterogeneous"
    x = [torch.randn(3, used.clients, used.dim, dtype=torch.float64) for _ in range(2)]
    v = torch.randn(3, used.clients, batch, used.inner_dim, dtype=torch.float64)
    with torch.no_grad():
        for step in range(3):
            draws = Draws(1, 3, used.clients).at(step)
            outer = used.sample_outer(draws, batch)
            inner = used.sample_inner(draws, outer, 2)
            for point in x:
                fresh = problem(name)
                assert torch.equal(used.inner(point, outer, inner), fresh.inner(point.clone(), outer, inner))
                pulled = used.inner_vjp(point, v, outer, inner)
                assert torch.equal(pulled, fresh.inner_vjp(point.clone(), v, outer, inner))
            x[0] += 0.5
