"""Inputs and targets of every client, of possibly different numbers, as tensors with one row per client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError

_LARGEST = 1e75
"""Of inputs and targets: constants have fourth powers of them, which a double must hold; 1e-75 is the smallest."""


@dataclass(frozen=True, eq=False)
class ClientData:
    """Whole data of the clients.

    Args:
        inputs: `(clients, most, ...)`, float64 where they are real numbers. targets: `(clients, most, ...)`.
        counts: int64 `(clients,)`, how many of the rows are a client's own; the rest is filling.
    """

    inputs: Tensor
    targets: Tensor
    counts: Tensor

    @property
    def clients(self) -> int:
        return len(self.counts)

    @property
    def most(self) -> int:
        """The largest number of examples of a client."""
        return int(self.counts.max())

    @cached_property
    def common(self) -> int:
        """The number of examples of every client.

        Raises:
            InputError: it is not the same at all of them.
        """
        if int(self.counts.min()) != self.most:
            raise InputError(f"client data: wanted as many examples at every client, got {self.counts.tolist()}")
        return self.most

    @cached_property
    def labels(self) -> Tensor:
        """The targets as classes 0, 1, …, int64 `(clients, most, ...)`: whole numbers, or the reals 0 and 1 with or without an axis of 1.
        Other real numbers are no classes, and stay what they are: no accuracy is computed of them.
        """
        if not self.targets.is_floating_point():
            return self.targets.long()
        if not bool(((self.targets == 0) | (self.targets == 1)).all()) or (
            self.targets.dim() > 2 and self.targets.shape[-1] > 1
        ):
            return self.targets
        return (self.targets.squeeze(-1) if self.targets.dim() > 2 else self.targets).long()

    @cached_property
    def weights(self) -> Tensor:
        """1/n_k for the examples of client k and 0 for filling, `(clients, most)`: a weighted sum is a mean."""
        inside = torch.arange(self.inputs.shape[1]) < self.counts.unsqueeze(-1)
        return inside / self.counts.unsqueeze(-1).to(torch.float64)

    @cached_property
    def _client(self) -> Tensor:
        return torch.arange(self.clients).unsqueeze(-1)

    def rows(self, index: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, targets and weights at positions `(runs, clients, batch)`; of everything `(1, clients, most)` without."""
        if index is None:
            return self.inputs.unsqueeze(0), self.targets.unsqueeze(0), self.weights.unsqueeze(0)
        equal = torch.full(index.shape, 1 / index.shape[-1], dtype=torch.float64)
        return self.inputs[self._client, index], self.targets[self._client, index], equal

    def positions(self, uniform: Tensor) -> Tensor:
        """Positions from uniform numbers in (0, 1), `(runs, clients, batch)`: each example of a client is as likely."""
        counts = self.counts.view(1, -1, 1)
        return torch.minimum((uniform * counts).long(), counts - 1)

    @staticmethod
    def of(parts: Sequence[tuple[Tensor, Tensor]]) -> ClientData:
        """From (inputs, targets) of each client, with as many rows in both.

        Raises:
            InputError: no client, a client without data, shapes that differ between clients, or numbers whose powers leave the doubles.
        """
        if not parts:
            raise InputError("client data: wanted at least one client, got none")
        for k, (inputs, targets) in enumerate(parts):
            if len(inputs) != len(targets) or len(inputs) == 0:
                raise InputError(
                    f"client {k}: wanted as many targets as inputs, at least one, got {len(inputs)} and {len(targets)}"
                )
            for what, own, first in (("inputs", inputs, parts[0][0]), ("targets", targets, parts[0][1])):
                if own.shape[1:] != first.shape[1:]:
                    raise InputError(
                        f"client {k}: wanted {what} of the shape {tuple(first.shape[1:])} of client 0, got {tuple(own.shape[1:])}"
                    )
        for what, each in (("inputs", [inputs for inputs, _ in parts]), ("targets", [targets for _, targets in parts])):
            _check_size(what, each)
        counts = torch.tensor([len(inputs) for inputs, _ in parts])
        most = int(counts.max())
        return ClientData(
            torch.stack([_filled(as_double(inputs), most) for inputs, _ in parts]),
            torch.stack([_filled(as_double(targets), most) for _, targets in parts]),
            counts,
        )


def _check_size(what: str, values: Sequence[Tensor]) -> None:
    finite = [own[own.isfinite()] for own in values if own.is_floating_point()]
    size = max((float(own.abs().max()) for own in finite if len(own)), default=0.0)
    if size and not 1 / _LARGEST <= size <= _LARGEST:
        wanted = f"wanted the largest between {1 / _LARGEST:g} and {_LARGEST:g}"
        raise InputError(f"{what}: {wanted}, so that fourth powers are within the doubles; got {size:g}")


def as_double(values: Tensor) -> Tensor:
    """Real numbers as float64; whole numbers, such as class labels, as they are."""
    return values.detach().to(torch.float64) if values.is_floating_point() else values.detach()


def _filled(values: Tensor, most: int) -> Tensor:
    """The first row repeated until there are `most`: it has no weight, but a model can digest it."""
    return torch.cat([values, values[:1].expand(most - len(values), *values.shape[1:])])


def collect(loaders: Iterable[Any]) -> ClientData:
    """The whole data of every client: each is a DataLoader, a Dataset of pairs, or a pair (inputs, targets) of tensors.

    Raises:
        InputError: something else, naming the client.
    """
    return ClientData.of([_collected(k, loader) for k, loader in enumerate(loaders)])


def _collected(k: int, loader: Any) -> tuple[Tensor, Tensor]:
    if isinstance(loader, (tuple, list)) and len(loader) == 2 and all(isinstance(part, Tensor) for part in loader):
        return loader[0], loader[1]
    batched = hasattr(loader, "batch_sampler") or hasattr(loader, "batch_size")
    try:
        items = list(loader) if hasattr(loader, "__iter__") else [loader[i] for i in range(len(loader))]
        pairs = [(torch.as_tensor(a), torch.as_tensor(b)) for a, b in items]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"client {k}: wanted a DataLoader, a Dataset of (input, target), or a pair of tensors, "
            f"got {type(loader).__name__} ({error})"
        ) from None
    if not pairs:
        raise InputError(f"client {k}: has no data")
    join = torch.cat if batched else torch.stack
    return join([a for a, _ in pairs]), join([b for _, b in pairs])
