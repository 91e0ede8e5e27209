"""Certified is only what is recognised entirely: each case here was called an upper bound, and was exceeded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import fedco
import numpy as np
import pytest
import torch
from fedco.errors import InputError
from fedco.synthetic.estimation import estimate_constants, forms
from fedco.synthetic.estimation.glm import certified
from fedco.synthetic.models import from_model
from fedco.validation.statistics.evalues import CapExceeded, log_e_support
from test_estimate_campaign import NETWORKS, OTHER_LOSSES, OTHER_MODELS, PLAIN_MODELS, Case
from torch import nn


def rows(seed: int = 0, targets=None):
    """Two clients with twelve examples of three numbers."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(2, 12, 3, generator=generator, dtype=torch.float64)
    chosen = torch.randint(0, 3, (2, 12), generator=generator) if targets is None else targets
    return [(inputs[k], chosen[k]) for k in range(2)]


def estimated(model, loss, data=None, **more):
    """About the start alone: a run to it takes most of the time."""
    start = torch.cat([p.detach().flatten() for p in model.parameters()]).double()[None]
    given = {"points": 3, "along": start, "radius": 1.0, "theorem": "baselines.local_sgd", **more}
    return fedco.estimate(model, loss, data or rows(), **given)


def certificates(model, loss, data=None):
    return [each.quantity for each in certified(from_model(model, loss, data or rows()).parts)]


def kinds(model, loss, data=None):
    return {name: one.kind for name, one in estimated(model, loss, data).items() if name != "objective_gap"}


class Enlarged(nn.Flatten):
    def forward(self, x):
        return 4 * super().forward(x)


def without_its_size():
    """out_features says 50, and the weight has three rows."""
    model = nn.Linear(3, 3)
    model.out_features = 50
    return model


MODELS = NETWORKS | OTHER_MODELS
CERTIFIED = {
    "another size than it says", "a parameter that is not used", "an ignored class that is not there", "squares without an axis",
    "squares of signs", "squares of integers",
}  # fmt: skip
"""Models and losses of the campaign of which a certificate speaks."""
REFUSED = {"dropout, on", "batch norm, on"}


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("name", sorted({*MODELS, "a subclass of what flattens"} - CERTIFIED - REFUSED))
def test_a_model_that_is_not_recognised_entirely_is_estimated(name):
    torch.manual_seed(1)
    model = MODELS[name](3) if name in MODELS else nn.Sequential(Enlarged(), nn.Linear(3, 3))
    assert certificates(model, nn.CrossEntropyLoss()) == []


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", sorted(OTHER_LOSSES.keys() - CERTIFIED))
def test_a_loss_that_is_not_recognised_entirely_is_estimated(name):
    assert certificates(*Case(name, PLAIN_MODELS["float32"], *OTHER_LOSSES[name]).made()) == []


def test_the_layer_itself_is_certified():
    torch.manual_seed(1)
    for model in (nn.Linear(3, 3), nn.Sequential(nn.Flatten(), nn.Linear(3, 3))):
        assert set(kinds(model, nn.CrossEntropyLoss()).values()) == {"upper"}


def test_the_number_of_outputs_is_that_of_the_weight():
    """The squared error curves by 2/outputs: with the 50 of the layer's own word it was certified as a 17th of the truth."""
    torch.manual_seed(1)
    data = rows(targets=torch.zeros(2, 12, 3, dtype=torch.float64))
    found = estimated(without_its_size(), nn.MSELoss(), data)["local_smoothness"]
    assert found.kind == "upper" and found.value == estimated(nn.Linear(3, 3), nn.MSELoss(), data)[found.quantity].value


def test_a_layer_that_runs_along_a_sequence_is_estimated():
    torch.manual_seed(1)
    inputs = torch.randn(2, 6, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = estimated(nn.Linear(3, 3), nn.MSELoss(), list(zip(inputs, inputs, strict=True)))
    assert found["local_smoothness"].kind == "estimated"


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.functional.l1_loss])
def test_targets_without_the_outputs_axis_are_those_of_one_example_each(loss):
    """A batch of outputs (n, 1) with targets (n,) is n x n numbers to torch: the gap was 3.44 where the objective was 3.81."""
    torch.manual_seed(1)
    flat, column = (rows(targets=torch.arange(24.0).double().view(2, 12, *more)) for more in ((), (1,)))
    model = nn.Linear(3, 1)
    wanted = estimated(model, loss, column)
    assert {n: one.value for n, one in estimated(model, loss, flat).items()} == pytest.approx(
        {n: one.value for n, one in wanted.items()}, rel=1e-9
    )


def soft(scale: float, shift: float = 0.0):
    values = torch.rand(2, 12, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return scale * values / values.sum(-1, keepdim=True) + shift


def test_targets_of_the_logistic_loss_lie_between_0_and_1():
    torch.manual_seed(1)
    signs = torch.where(torch.rand(2, 12, 1, generator=torch.Generator().manual_seed(5)) < 0.5, -1.0, 1.0).double()
    model = nn.Linear(3, 1)
    found = estimated(model, nn.BCEWithLogitsLoss(), rows(targets=signs), lower_bound=-1e9)
    assert {one.kind for name, one in found.items() if name != "objective_gap"} == {"estimated"}
    assert certificates(model, nn.BCEWithLogitsLoss(), rows(targets=(signs + 1) / 2))
    assert certificates(nn.Linear(3, 2), nn.BCEWithLogitsLoss(), rows(targets=soft(1.0)[..., :2])) == []
    assert certificates(nn.Linear(3, 3), nn.CrossEntropyLoss(), rows(targets=soft(1.0)))


def test_the_gap_is_an_upper_bound_only_where_something_says_that_no_loss_is_below():
    torch.manual_seed(1)

    def shifted(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets) - 3.0

    plain = estimated(nn.Linear(3, 3), nn.CrossEntropyLoss())["objective_gap"]
    own = estimated(nn.Linear(3, 3), lambda o, y: nn.functional.cross_entropy(o, y))["objective_gap"]
    assert (plain.kind, own.kind) == ("upper", "estimated") and "as is known of this loss" in plain.method
    for targets in (
        torch.randn(2, 12, 3).double(),
        torch.arange(72).view(2, 12, 3),
    ):  # three real or whole numbers each
        assert estimated(nn.Linear(3, 3), nn.MSELoss(), rows(targets=targets))["objective_gap"].kind == "upper"
    with pytest.raises(InputError, match="lower_bound"):
        estimated(nn.Linear(3, 3), shifted)
    with pytest.raises(InputError, match="lower_bound"):
        estimated(nn.Linear(3, 3), nn.CrossEntropyLoss(), rows(targets=soft(1.0, -0.5)))
    stated = estimated(nn.Linear(3, 3), shifted, lower_bound=-3.0)["objective_gap"]
    assert stated.kind == "upper" and "as you state" in stated.method


# --- each lock, the other one open --------------------------------------------------------------------------------------


PLANTED = {
    "local_smoothness": 0.9,
    "objective_smoothness": 0.9,
    "local_sample_smoothness": 0.95,
    "local_gradient_noise": 0.7,
    "local_gradient_bound": 0.3,
    "local_sample_gradient_bound": 0.95,
    "local_gradient_heterogeneity": 0.15,
    "gradient_cap": 0.25,
}
"""The share of a constant that is certified instead of it: of curvatures, more than the hostile points reach alone."""


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", PLANTED)
def test_a_bound_that_is_exceeded_is_an_error_that_names_it(name, monkeypatch):
    """The first lock open: a certifier that returns a share of one constant."""

    def too_small(parts):
        for each in certified(parts):
            yield replace(each, value=each.value * PLANTED[name]) if each.quantity == name else each

    monkeypatch.setattr(forms, "certified", too_small)
    torch.manual_seed(1)
    problem = from_model(nn.Linear(3, 3), nn.CrossEntropyLoss(), rows())
    with pytest.raises(InputError, match=rf"^{name}: certified as at most .*, and .* at a point that was tried$"):
        estimate_constants(problem, along=problem.initial_point[None], only=frozenset({name}))


def test_every_certified_constant_has_an_attack():
    torch.manual_seed(1)
    parts = from_model(nn.Linear(3, 3), nn.CrossEntropyLoss(), rows()).parts
    assert {each.quantity for each in certified(parts)} == set(PLANTED)


def test_the_gap_is_attacked_where_no_run_comes():
    """A loss that is below what is stated of it, far from the run only."""
    torch.manual_seed(1)

    def dips(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets) - 1e-2 * outputs.square().mean().clamp_min(1e5)

    with pytest.raises(
        InputError, match=r"^lower_bound: an example has the loss -\S+ at a point that was tried, below"
    ):
        estimated(nn.Linear(3, 3), dips, lower_bound=-1e3)


# --- rounding is no violation --------------------------------------------------------------------------------------------


def test_a_cap_is_exceeded_by_more_than_rounding_only():
    values = np.full(20, 1.0000000000000002)
    assert np.isfinite(log_e_support(values, Fraction(1, 2), 1.0)).all()
    with pytest.raises(CapExceeded):
        log_e_support(np.full(20, 1 + 1e-9), Fraction(1, 2), 1.0)
