"""The table of a paper's runs: what a row means, and which rows are refused."""

from __future__ import annotations

from fractions import Fraction as Q
from pathlib import Path

import pytest
from fedco.algorithms import LocalSGD, MinibatchSGD
from fedco.validation.runs.declaration import Runs
from fedco.validation.runs.recipe import AT_REST, NEAR
from fedco.validation.runs.tables import read_runs

TABLE = """
[parameters]
far = "near clients=2"

[local_sgd]
method = "local_sgd"
label = "printed"
defaults = "b=3"
instances = [
    { problem = "federated_noisy", at = "eta=1/4 p=4 b=2", with = "far at_rest start=5.0", T = [200, 400], why = "so", case = "edge" },
    { problem = "federated_noisy" },
]
complexity = true
sweeps = [
    { over = "T", from = { problem = "federated_noisy", at = "eta=1/4 p=4 b=2" }, values = [100, 200], claimed = -0.5, why = "long" },
    { over = "p", from = "rest", T = 60, values = [2, 4], hyper = { b = [1, 3] }, why = "w" },
    { over = "eta", from = "rest", T = 60, values = ["1/8", "1/4"], hyper = { b = 5 }, why = "w" },
    { over = "sigma", from = "rest", T = 60, values = [0.1, 0.2], parameters = { sigma = { times = 2 }, start = [1.0, 2.0] }, why = "w" },
]

[local_sgd.from]
rest = { problem = "federated_noisy", at = "eta=1/8 p=2 b=1", with = "start=0.0" }

[local_sgd_heterogeneity]
like = "local_sgd"
method = { name = "minibatch_sgd", b = 7 }

[minibatch_sgd]
every = "b"
average = "after"
instances = []
complexity = { over = "T", from = { problem = "federated_noisy", at = "eta=1/4 b=1" }, values = [10], why = "w" }
"""


def read(folder: Path, text: str = TABLE, **more) -> Runs:
    """As the paper `baselines` would have it, in one file beside its module."""
    (folder / "baselines.toml").write_text(text)
    return read_runs(str(folder / "baselines.py"), **more)


def test_a_row_is_an_instance(tmp_path):
    first, bare = read(tmp_path).recipes["baselines.local_sgd"].instances
    assert (first.problem, first.why, first.case, first.horizons) == ("federated_noisy", "so", "edge", (200, 400))
    assert first.hyperparameters == {"eta": Q(1, 4), "p": 4, "b": 2} and type(first.hyperparameters["p"]) is int
    assert (
        first.parameters == {**NEAR, "clients": 2, **AT_REST, "start": 5.0} and type(first.parameters["clients"]) is int
    )
    assert list(first.parameters) == ["start", "dim", "clients", "target"]
    assert (bare.hyperparameters, bare.parameters, bare.horizons, bare.case) == ({}, {}, (), "interior")


def test_a_table_says_how_its_theorem_is_run(tmp_path):
    runs = read(tmp_path, chains={"x": 1})
    assert runs.chains == {"x": 1} and set(runs.recipes) == {"baselines.local_sgd", "baselines.local_sgd_heterogeneity"}
    one, other = runs.recipes.values()
    values = {"eta": 0.5, "p": 4.0, "b": 2.0, "T": 12.0}
    for recipe, wanted in ((one, LocalSGD(0.5, 4, 2)), (other, MinibatchSGD(0.5, 7))):
        made = recipe.method(values)
        assert (type(made), made.hyperparameters()) == (type(wanted), wanted.hyperparameters())
    assert (
        other.instances == one.instances and one.defaults == {"b": 3} and one.steps(values) == 12 and one.every is None
    )
    assert runs.instances == {"baselines.minibatch_sgd": ()}  # its theorem names its method
    named = read(tmp_path, methods={"minibatch_sgd": lambda values: MinibatchSGD(values["eta"], 9)})
    recipe = named.recipes["baselines.minibatch_sgd"]
    assert recipe.method(values).b == 9 and recipe.average == "after" and recipe.every({"b": 3.0}) == 3


def test_a_sweep_moves_its_symbol_and_what_goes_along(tmp_path):
    runs = read(tmp_path)
    long, periods, steps, noises = runs.sweeps["baselines.local_sgd"]
    assert [T for _, T in long.points] == [100, 200] and (long.claimed, long.why) == (-0.5, "long")
    assert (
        runs.complexities["baselines.local_sgd"] is long and runs.sweeps["baselines.local_sgd_heterogeneity"][1].points
    )
    assert [T for _, T in runs.complexities["baselines.minibatch_sgd"].points] == [10]
    own = [[dict(i.hyperparameters) for i, T in sweep.points] for sweep in (periods, steps)]
    assert own[0] == [{"eta": Q(1, 8), "p": p, "b": b} for p, b in ((2, 1), (4, 3))]
    assert own[1] == [{"eta": eta, "p": 2, "b": 5} for eta in (Q(1, 8), Q(1, 4))]
    assert [dict(i.parameters) for i, _ in noises.points] == [
        {"start": 1.0, "sigma": 0.2},
        {"start": 2.0, "sigma": 0.4},
    ]
    assert {T for sweep in (periods, steps, noises) for _, T in sweep.points} == {60}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('why = "so"', 'wy = "so"', "baselines.local_sgd: wanted an instance"),
        ('{ problem = "federated_noisy" }', "{ }", "baselines.local_sgd: wanted an instance with a problem"),
        ('label = "printed"', 'lable = "printed"', "baselines.local_sgd: wanted the keys .* got lable"),
        ('with = "start=0.0"', 'with = "nearer"', "nearer: no set of parameters"),
        ("hyper = { b = [1, 3] }", "hyper = { b = [1] }", "baselines.local_sgd: wanted 2 values of each of b"),
    ],
)
def test_a_row_that_says_nothing_is_refused(old, new, said, tmp_path):
    assert old in TABLE
    with pytest.raises(ValueError, match=said):
        read(tmp_path, TABLE.replace(old, new, 1))
