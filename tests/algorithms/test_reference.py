"""Every method against its plain-Python reference, on the same noise, over random settings."""

from functools import cache

import numpy as np
import pytest
import torch
from cases import CASES
from fedco.algorithms import Draws, Start, drive
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import INNER_DIM, TINY, TinyData

STEPS = 11


def plain_noise(root_seed, seed, clients):
    """The noise of one seed, alone; that what a run has drawn ahead is the same is for test_draws."""
    at = cache(Draws(root_seed, [seed], clients).at)

    def noise(purpose, t, k, *tail):
        return at(t).signs(purpose, *tail)[0, k].numpy()

    def at_server(kind):
        return lambda purpose, t, k, size: getattr(at(t), kind)(purpose, size)[0, k]

    noise.uniform = lambda *key: at_server("uniform")(*key).tolist()
    noise.integers = lambda *key: int(at_server("integers")(*key))
    noise.subset = lambda purpose, t, size: at(t).subset(purpose, size)[0].numpy()
    return noise


class Path:
    """A metric that keeps every model, for tests only."""

    def __init__(self):
        self.models = []

    def __call__(self, problem, state, t):
        self.models.append(state.x.numpy().copy())
        return state.x[:, 0, 0]


def batched_path(method, problem, root_seed, seeds, start=None, steps=STEPS):
    path = Path()
    result = drive(method, problem, steps=steps, seeds=seeds, root_seed=root_seed, start=start, record={"path": path})
    return np.stack(path.models), result


@pytest.mark.parametrize("label", CASES)
@settings(max_examples=4, derandomize=True, deadline=None)
@given(data=st.data())
def test_a_method_is_its_pseudocode(label, data):
    case = CASES[label]
    hyperparameters = {name: data.draw(strategy, label=name) for name, strategy in case.strategies().items()}
    clients = data.draw(st.integers(1, 5), label="clients")
    root_seed = data.draw(st.integers(0, 2**63), label="root seed")
    if case.samples_clients and hyperparameters.get("m"):
        hyperparameters["m"] = min(hyperparameters["m"], clients)
    numbers = TinyData.random(data.draw(st.integers(0, 99), label="instance"), clients)
    problem = TINY[case.problem_kind](numbers)
    y0 = data.draw(st.sampled_from([None, np.linspace(-1.0, 1.0, INNER_DIM)]), label="y0")
    start = Start(y=None if y0 is None else torch.from_numpy(y0))
    models, result = batched_path(case.method(**hyperparameters), problem, root_seed, 2, start)
    for seed in (0, 1):
        noise = plain_noise(root_seed, seed, clients)
        path, sent = case.reference(numbers, noise, numbers.origin, y0, STEPS, **hyperparameters)
        np.testing.assert_allclose(models[:, seed], np.array(path), rtol=1e-10, atol=1e-11)
    assert result.messages.rounds == sent["rounds"]
    assert result.messages.model_floats == sent["model"]
    assert result.messages.embedding_floats == sent["embedding"]
