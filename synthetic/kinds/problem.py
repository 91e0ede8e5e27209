"""What a problem is: data, oracles, certificates and properties. Each kind of problem has a file of its own beside this one.

Shapes: `runs` x `clients` x `dim` (a model), `runs` x `clients` x `inner_dim` (an inner value), float64 throughout.
A lane (run, client) is computed by elementwise operations and sums over the last axis only, so that its numbers do not
depend on what else is in the batch. The names of the certified constants are those of the vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self

from torch import Tensor

from ...notebook import ShownAsTable
from ..certificate import Certificate

INDEPENDENT_CLIENTS = frozenset({"independent_clients"})
ONE_OUTER_FUNCTION = frozenset({"equal_outer_functions", "one_outer_function"})


class Draws(Protocol):
    """The random numbers of one step; two calls with one purpose return the same numbers."""

    @property
    def per_seed(self) -> Draws:
        """The same numbers once for all grid points: `(seeds, clients, ...)` where runs are grid points times seeds."""

    def signs(self, purpose: str, *tail: int) -> Tensor: ...

    def integers(self, purpose: str, high: int, *tail: int) -> Tensor: ...

    def counts(self, purpose: str, high: int, *tail: int) -> Tensor: ...

    def uniform(self, purpose: str, *tail: int) -> Tensor: ...


@dataclass(frozen=True)
class Sample:
    """Base of the samples: a frozen set of tensors `(runs, clients, batch, ...)`."""

    def at(self, index: int) -> Self:
        """The one element `index` of the batch, as a batch of one."""
        picked = {f.name: getattr(self, f.name)[:, :, index : index + 1] for f in fields(self)}
        return replace(self, **picked)


class AbstractProblem(ShownAsTable):
    """What every method and every validation may call.

    `objective` and `gradient` are exact; so is every oracle when it gets no sample.
    """

    kind: ClassVar[str]
    certified: ClassVar[bool] = True  # False where the constants are estimated: that takes long, and supports nothing
    name: str
    clients: int
    dim: int
    inner_dim: int

    @property
    def title(self) -> str:
        return f"{self.name} ({self.kind}, {self.clients} clients, dimension {self.dim})"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """The certified constants."""
        found = [(name, float(c.value), c.kind, c.argument) for name, c in self.certificates.items()]
        return ("quantity", "value", "kind", "argument"), found

    @property
    def properties(self) -> frozenset[str]:
        """What holds on it beyond its kind and its constants, by name (`properties.py`); may be overridden.

        Draws are independent over the clients, and so are samples that are made of them lane by lane.
        """
        return INDEPENDENT_CLIENTS

    @property
    @abstractmethod
    def initial_point(self) -> Tensor:
        """Where runs start, `(dim,)`."""

    @property
    @abstractmethod
    def certificates(self) -> Mapping[str, Certificate]:
        """The certified constants by quantity."""

    @abstractmethod
    def objective(self, x: Tensor) -> Tensor:
        """Exact objective, `(runs, dim) -> (runs,)`."""

    @abstractmethod
    def gradient(self, x: Tensor) -> Tensor:
        """Exact gradient of the objective, `(runs, dim) -> (runs, dim)`."""

    def to_clients(self, x: Tensor) -> Tensor:
        """The same point for every client, `(runs, size) -> (runs, clients, size)`."""
        return x.unsqueeze(1).expand(-1, self.clients, -1)


class AbstractSampled(AbstractProblem):
    """A problem whose randomness is one sample. `atoms` lists its whole finite support, so expectations are sums."""

    @abstractmethod
    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Sample:
        """`batch` independent samples per run and client."""

    @abstractmethod
    def atoms(self) -> tuple[Sample, Tensor]:
        """The support of a sample as one batch `(1, clients, atoms, ...)`, and its probabilities `(atoms,)`."""


def batch_mean(per_sample: Tensor) -> Tensor:
    """Mean over the last axis, the batch; of a batch of one it is that one, without an operation."""
    return per_sample[..., 0] if per_sample.shape[-1] == 1 else per_sample.mean(-1)


def client_mean(per_client: Tensor) -> Tensor:
    """Mean over axis 1, the clients: transposed so that it is a sum over the last axis (batch-independent bits)."""
    return (
        per_client.transpose(1, -1).contiguous().sum(-1).div(per_client.shape[1])
        if per_client.dim() == 3
        else (per_client.sum(-1).div(per_client.shape[1]))
    )
