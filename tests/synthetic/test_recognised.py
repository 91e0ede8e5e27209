"""Certified is only what is recognised entirely: each case here was called an upper bound, and was exceeded."""

from __future__ import annotations

from fractions import Fraction
from types import MethodType

import fedco
import numpy as np
import pytest
import torch
from fedco.errors import InputError
from fedco.synthetic.estimation import forms
from fedco.synthetic.estimation.glm import certified
from fedco.validation.statistics.evalues import CapExceeded, log_e_support
from torch import nn
from torch.nn.utils import parametrizations, parametrize


def rows(seed: int = 0, targets=None):
    """Two clients with twelve examples of three numbers."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(2, 12, 3, generator=generator, dtype=torch.float64)
    chosen = torch.randint(0, 3, (2, 12), generator=generator) if targets is None else targets
    return [(inputs[k], chosen[k]) for k in range(2)]


def estimated(model, loss, data=None, **more):
    return fedco.estimate(model, loss, data or rows(), points=3, theorem="baselines.local_sgd", **more)


def kinds(model, loss, data=None):
    return {name: one.kind for name, one in estimated(model, loss, data).items() if name != "objective_gap"}


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Twice(nn.Module):
    def forward(self, weight):
        return 2 * weight


def with_forward_of_its_own():
    model = nn.Linear(3, 3)
    model.forward = MethodType(lambda self, x: 3 * nn.functional.linear(x, self.weight, self.bias), model)
    return model


def hooked(pre: bool):
    model = nn.Linear(3, 3)
    if pre:
        model.register_forward_pre_hook(lambda module, given: (5 * given[0],))
    else:
        model.register_forward_hook(lambda module, given, output: 5 * output)
    return model


def parametrized():
    model = nn.Linear(3, 3)
    parametrize.register_parametrization(model, "weight", Twice())
    return model


OTHER_MODELS = {
    "a subclass": lambda: Doubled(3, 3),
    "a forward of the instance": with_forward_of_its_own,
    "a forward hook": lambda: hooked(False),
    "a forward pre-hook": lambda: hooked(True),
    "a parametrisation": parametrized,
    "weight norm": lambda: parametrizations.weight_norm(nn.Linear(3, 3)),
    "a hook of the container": lambda: hooked_container(),
    "a last layer that flattens": lambda: nn.Sequential(nn.Linear(3, 3), nn.Flatten()),
}


def hooked_container():
    model = nn.Sequential(nn.Linear(3, 3))
    model.register_forward_hook(lambda module, given, output: 5 * output)
    return model


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", OTHER_MODELS)
def test_a_model_that_is_not_recognised_entirely_is_estimated(name):
    torch.manual_seed(1)
    assert set(kinds(OTHER_MODELS[name](), nn.CrossEntropyLoss()).values()) == {"estimated"}


def test_the_layer_itself_is_certified():
    torch.manual_seed(1)
    for model in (nn.Linear(3, 3), nn.Sequential(nn.Flatten(), nn.Linear(3, 3))):
        assert set(kinds(model, nn.CrossEntropyLoss()).values()) == {"upper"}


def soft(scale: float, shift: float = 0.0):
    values = torch.rand(2, 12, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return scale * values / values.sum(-1, keepdim=True) + shift


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (nn.CrossEntropyLoss(reduction="sum"), None),
        (nn.CrossEntropyLoss(label_smoothing=0.1), None),
        (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 9.0, 1.0], dtype=torch.float64)), None),
        (nn.CrossEntropyLoss(), soft(7.0)),
    ],
    ids=["sum", "smoothing", "weights", "targets that sum to 7"],
)
def test_a_loss_that_is_not_recognised_entirely_is_estimated(loss, targets):
    torch.manual_seed(1)
    assert set(kinds(nn.Linear(3, 3), loss, rows(targets=targets)).values()) == {"estimated"}


def test_targets_of_the_logistic_loss_lie_between_0_and_1():
    torch.manual_seed(1)
    signs = torch.where(torch.rand(2, 12, 1, generator=torch.Generator().manual_seed(5)) < 0.5, -1.0, 1.0).double()
    model = nn.Linear(3, 1)
    found = estimated(model, nn.BCEWithLogitsLoss(), rows(targets=signs), lower_bound=-1e3)
    assert {one.kind for name, one in found.items() if name != "objective_gap"} == {"estimated"}
    assert set(kinds(model, nn.BCEWithLogitsLoss(), rows(targets=(signs + 1) / 2)).values()) == {"upper"}
    assert set(kinds(nn.Linear(3, 3), nn.CrossEntropyLoss(), rows(targets=soft(1.0))).values()) == {"upper"}


def test_the_gap_is_an_upper_bound_only_where_something_says_that_no_loss_is_below():
    torch.manual_seed(1)

    def shifted(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets) - 3.0

    plain = estimated(nn.Linear(3, 3), nn.CrossEntropyLoss())["objective_gap"]
    own = estimated(nn.Linear(3, 3), lambda o, y: nn.functional.cross_entropy(o, y))["objective_gap"]
    assert (plain.kind, own.kind) == ("upper", "estimated") and "as is known of this loss" in plain.method
    with pytest.raises(InputError, match="lower_bound"):
        estimated(nn.Linear(3, 3), shifted)
    with pytest.raises(InputError, match="lower_bound"):
        estimated(nn.Linear(3, 3), nn.CrossEntropyLoss(), rows(targets=soft(1.0, -0.5)))
    stated = estimated(nn.Linear(3, 3), shifted, lower_bound=-3.0)["objective_gap"]
    assert stated.kind == "upper" and "as you state" in stated.method


# --- each lock, the other one open --------------------------------------------------------------------------------------


def test_a_bound_that_is_exceeded_is_an_error_that_names_it(monkeypatch):
    """The first lock open: a certifier that returns a tenth of the constants."""
    from dataclasses import replace

    def too_small(parts):
        return (replace(each, value=each.value / 10) for each in certified(parts))

    monkeypatch.setattr(forms, "certified", too_small)
    torch.manual_seed(1)
    with pytest.raises(InputError, match=r"^local_\w+: certified as at most .*, and .* at a point that was tried$"):
        estimated(nn.Linear(3, 3), nn.CrossEntropyLoss())


def test_what_is_not_recognised_is_not_certified_without_the_attack(monkeypatch):
    """The second lock open."""
    monkeypatch.setattr(forms, "survive", lambda *_: None)
    torch.manual_seed(1)
    assert set(kinds(Doubled(3, 3), nn.CrossEntropyLoss()).values()) == {"estimated"}


# --- rounding is no violation --------------------------------------------------------------------------------------------


def test_a_cap_is_exceeded_by_more_than_rounding_only():
    values = np.full(20, 1.0000000000000002)
    assert np.isfinite(log_e_support(values, Fraction(1, 2), 1.0)).all()
    with pytest.raises(CapExceeded):
        log_e_support(np.full(20, 1 + 1e-9), Fraction(1, 2), 1.0)
