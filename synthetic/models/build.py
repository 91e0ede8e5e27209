"""From a model, a loss and client loaders to a problem of one of the forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import InputError
from .base import AbstractModelProblem, ModelParts
from .data import ClientData, collect
from .flat import FlatModel, Loss
from .forms import (
    AgnosticMAMLModel,
    Chi2OverExamples,
    FederatedModel,
    KLOverClients,
    KLOverExamples,
    MAMLModel,
    MetaModel,
)

FORMS: Mapping[str, Callable[..., AbstractModelProblem]] = {
    "federated": FederatedModel,
    "kl_clients": KLOverClients,
    "kl_dro": KLOverExamples,
    "chi2_dro": Chi2OverExamples,
    "maml": MAMLModel,
    "agnostic_maml": AgnosticMAMLModel,
    "meta": MetaModel,
}
"""`forms.py` says what each is."""


def from_model(
    model: nn.Module,
    loss: Loss,
    client_loaders: Iterable[Any] | ClientData,
    form: str = "federated",
    *,
    test_loaders: Iterable[Any] | ClientData | None = None,
    start: Tensor | None = None,
    name: str = "model",
    **options: Any,
) -> Any:
    """A problem that every method of its kind runs on.

    Args:
        model: as it is; its float type does not matter, everything is computed in float64.
        loss: (outputs, targets) -> scalar, for instance `torch.nn.functional.cross_entropy`.
        client_loaders: one DataLoader, Dataset or pair of tensors per client, read whole.
        form: one of `FORMS`. options: its numbers, such as gamma, weight, lam, alpha and nu.
        test_loaders: the same for data that no oracle sees.
        start: float64 `(dim,)`; the module's own parameters without it.

    Raises:
        InputError: an unknown form or option, or data that do not fit.
    """
    if form not in FORMS:
        raise InputError(f"form {form[:30]!r}: wanted one of {' '.join(FORMS)}")
    train, test = (_data(loaders) for loaders in (client_loaders, test_loaders))
    assert train is not None
    parts = ModelParts(FlatModel(model, loss), train, test, start, name)
    if start is not None and (start.shape != (parts.flat.dim,) or start.dtype != torch.float64):
        raise InputError(f"start: wanted float64 of shape ({parts.flat.dim},), got {start.dtype} {tuple(start.shape)}")
    try:
        return FORMS[form](parts, **options)
    except TypeError as error:
        raise InputError(f"form {form}: {error}") from None


def _data(loaders: Iterable[Any] | ClientData | None) -> ClientData | None:
    return loaders if loaders is None or isinstance(loaders, ClientData) else collect(loaders)
