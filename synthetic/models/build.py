"""From a model, a loss and client loaders to a problem of one of the forms; and from what a user's `build` returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import InputError
from ..numbers import read_numbers
from .base import AbstractModelProblem, ModelParts
from .conditional import InvariantModel, TasksModel
from .data import ClientData, collect
from .flat import FlatModel, as_loss
from .forms import (
    AgnosticMAMLModel,
    Chi2OverExamples,
    FederatedModel,
    KLOverClients,
    KLOverExamples,
    MAMLModel,
    MetaModel,
)
from .precision import PrecisionModel

FORMS: Mapping[str, type[AbstractModelProblem]] = {
    "federated": FederatedModel,
    "kl_dro": KLOverExamples,
    "chi2_dro": Chi2OverExamples,
    "kl_clients": KLOverClients,
    "maml": MAMLModel,
    "agnostic_maml": AgnosticMAMLModel,
    "invariant": InvariantModel,
    "average_precision": PrecisionModel,
    "maml_tasks": TasksModel,
    "meta": MetaModel,
}
"""`forms.py`, `conditional.py` and `precision.py` say what each is."""

KEYS = ("model", "loss", "clients")
"""The keys that every description has."""
SEARCH = ("along", "radius", "points", "lower_bound", "seed")
"""The keys that say how constants are estimated."""
_OTHERS = {"form": "form", "test": "test_loaders", "test_loaders": "test_loaders", "start": "start", "name": "name"}


def forms_of(kind: str) -> tuple[str, ...]:
    """The forms that make problems of a kind."""
    return tuple(name for name, made in FORMS.items() if made.kind == kind)


def form_of(problem: AbstractModelProblem) -> str:
    """The name of a problem's form."""
    return next((name for name, made in FORMS.items() if made is type(problem)), type(problem).__name__)


def from_model(
    model: nn.Module,
    loss: Any,
    client_loaders: Iterable[Any] | ClientData,
    form: str = "federated",
    *,
    test_loaders: Iterable[Any] | ClientData | None = None,
    start: Tensor | None = None,
    name: str = "model",
    search: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """A problem that every method of its kind runs on.

    Args:
        model: as it is; its float type does not matter, everything is computed in float64.
        loss: (outputs, targets) -> scalar, for instance `torch.nn.functional.cross_entropy`, a module or its class, or the name of
            such a function; average_precision takes None.
        client_loaders: one DataLoader, Dataset or pair of tensors per client, read whole.
        form: one of `FORMS`. options: its numbers, such as gamma, weight, lam, alpha and nu.
        test_loaders: the same for data that no oracle sees.
        start: float64 `(dim,)`; the module's own parameters without it.
        search: how constants are estimated, where they are: arguments of `estimate_constants`.

    Raises:
        InputError: an unknown form or option, a loss or a model that does not fit, or data that do not.
    """
    if form not in FORMS:
        raise InputError(f"form {str(form)[:30]!r}: wanted one of {' '.join(FORMS)}")
    if not isinstance(model, nn.Module):
        raise InputError(f"model: wanted an nn.Module, got {type(model).__name__}")
    train, test = (_data(loaders) for loaders in (client_loaders, test_loaders))
    assert train is not None
    is_ranked = form == "average_precision"
    flat = FlatModel(model, _no_loss if is_ranked and loss is None else as_loss(loss))
    inputs, targets = _first_example(form, train)
    flat.check(inputs, None if is_ranked else targets)
    parts = ModelParts(flat, train, test, start, name, search=search or {})
    if start is not None and (start.shape != (flat.dim,) or start.dtype != torch.float64):
        raise InputError(f"start: wanted float64 of shape ({flat.dim},), got {start.dtype} {tuple(start.shape)}")
    make: Callable[..., AbstractModelProblem] = FORMS[form]
    numbers = [item.name for item in fields(FORMS[form]) if item.name != "parts"]  # type: ignore[arg-type]
    if unknown := [key for key in options if key not in numbers]:
        raise InputError(f"form {form}: has no {unknown[0][:40]}; wanted {' or '.join(numbers) or 'no numbers'}")
    try:
        return make(parts, **read_numbers(options))
    except TypeError as error:
        raise InputError(f"form {form}: {error}") from None


def _no_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    raise InputError("average_precision: has no loss of an example; wanted one in the description")


def _first_example(form: str, data: ClientData) -> tuple[Tensor, Tensor]:
    """A batch of one, as the model and the loss see it; what has no such axes is refused by its form."""
    inputs, targets = data.inputs[0, :1], data.targets[0, :1]
    if form in ("invariant", "maml_tasks") and inputs.dim() > 2:
        inputs = inputs[0, :1]
    if form == "maml_tasks" and targets.dim() > 1:
        targets = targets[0, :1]
    return inputs, targets


def _data(loaders: Iterable[Any] | ClientData | None) -> ClientData | None:
    if loaders is None or isinstance(loaders, ClientData):
        return loaders
    if not isinstance(loaders, Iterable) or isinstance(loaders, (Tensor, Mapping, str)):
        raise InputError(
            f"clients: wanted a list with a DataLoader, a Dataset or a pair of tensors for each, got {type(loaders).__name__}"
        )
    return collect(loaders)


def from_description(described: Mapping[str, Any], name: str = "model") -> Any:
    """A problem from what `build` of a user's file returns: model, loss and clients, and if wanted form, test, start, name, what is
    said of the search for constants (`SEARCH`), and the form's numbers.

    Raises:
        InputError: something is missing, or `from_model` refuses it.
    """
    given = dict(described)
    needed = [key for key in KEYS if key != "loss" or given.get("form") != "average_precision"]
    if missing := [key for key in needed if key not in given]:
        raise InputError(f"wanted a dict with {', '.join(needed)}, got one without {', '.join(missing)}")
    model, loss, clients = (given.pop(key, None) for key in KEYS)
    search = {key: given.pop(key) for key in SEARCH if key in given}
    others = {argument: given.pop(key) for key, argument in _OTHERS.items() if key in given}
    return from_model(model, loss, clients, search=search, **{"name": name, **others}, **given)
