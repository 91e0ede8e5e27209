"""What a problem is: data, oracles and certificates. One abstract class per kind of problem.

Shapes: `runs` x `clients` x `dim` (a model), `runs` x `clients` x `inner_dim` (an inner value), float64 throughout.
A lane (run, client) is computed by elementwise operations and sums over the last axis only, so that its numbers do not
depend on what else is in the batch.

`QUANTITIES` below is the vocabulary of certified constants; a certificate with another name is refused. Norms of
Jacobians and Hessians are spectral norms unless an entry says Frobenius; "noise" is a bound of a standard deviation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import ClassVar, Protocol, Self

import torch
from torch import Tensor

QUANTITIES: Mapping[str, str] = {
    # composite kinds: F = h(x) + f(mean_k g_k(x)) or F = mean_k f_k(g_k(x)); z is a sample of g, s one of f or h
    "noncompositional_smoothness": "Lipschitz constant of grad h_k, every k (FedDRO L_h)",
    "noncompositional_gradient_noise": "root of sup E||grad h_k(x; s) - grad h_k(x)||^2 (FedDRO sigma_h)",
    "noncompositional_heterogeneity": "sup ||grad h_k(x) - grad h(x)|| over x and k (FedDRO Delta_h)",
    "outer_lipschitz": "sup ||grad f_k(y)|| over y and k (FedDRO B_f)",
    "outer_smoothness": "Lipschitz constant of grad f_k, every k (FedDRO, Local-SCGDM L_f)",
    "outer_mean_square_lipschitz": "root of sup E||grad f_k(y; s)||^2 (Local-SCGDM C_f, FCSG L_f)",
    "outer_gradient_noise": "root of sup E||grad f_k(y; s) - grad f_k(y)||^2 (Local-SCGDM sigma_f)",
    "outer_sample_lipschitz": "sup ||grad f_k(y; s)|| over every sample s (ComFedL G_g)",
    "outer_sample_smoothness": "Lipschitz constant of grad f_k(.; s), every sample s (ComFedL L_g, FCSG S_f)",
    "inner_lipschitz": "sup of the norm of the Jacobian of g_k",
    "inner_smoothness": "Lipschitz constant of the Jacobian of g_k (FedDRO, Local-SCGDM L_g)",
    "inner_mean_square_lipschitz": "B with E||g_k(x; z) - g_k(x'; z)||^2 <= B^2 ||x - x'||^2 (FedDRO B_g)",
    "inner_jacobian_mean_square": "root of sup E||Jacobian of g_k(x; z)||^2 (Local-SCGDM C_g, FCSG L_g)",
    "inner_noise": "larger of inner_jacobian_noise and inner_value_noise (FedDRO sigma_g)",
    "inner_jacobian_noise": "root of sup E of the squared Frobenius Jacobian error of g_k (Local-SCGDM sigma_g)",
    "inner_value_noise": "root of sup E||g_k(x; z) - g_k(x)||^2 (Local-SCGDM delta_g, FCSG sigma_g)",
    "inner_jacobian_heterogeneity": "sup of the Frobenius norm of Jacobian g_k - Jacobian g (FedDRO Delta_g)",
    "inner_sample_lipschitz": "sup of the norm of the Jacobian of g_k(.; z) over every sample z (ComFedL G_f)",
    "inner_sample_smoothness": "Lipschitz constant of the Jacobian of g_k(.; z) for every z (ComFedL L_f, FCSG S_g)",
    "composite_noise": "largest of the inner Jacobian, inner value and outer gradient noise (ComFedL sigma)",
    # every kind
    "objective_smoothness": "Lipschitz constant of grad F (ComFedL L)",
    "objective_gap": "F(initial point) - inf F (F_gap, Phi_gap)",
    "gradient_cap": "sup ||grad F||: the almost sure cap of what a verdict averages",
    # meta kind: task losses f_i, and their stochastic gradients and Hessians
    "task_gradient_bound": "sup ||grad f_i|| (meta_fl B; G of Lemma 3.9 of Local-SCGDM)",
    "task_smoothness": "Lipschitz constant of grad f_i (meta_fl L; L_1 of Lemma 3.9)",
    "task_hessian_lipschitz": "Lipschitz constant of the Hessian of f_i (meta_fl rho; L_2 of Lemma 3.9)",
    "task_gradient_noise": "root of sup E||stochastic gradient error||^2 (meta_fl sigma_G; sigma_1 of Lemma 3.9)",
    "task_hessian_noise": "root of sup E||stochastic Hessian error||^2 (meta_fl sigma_H; sigma_2 of Lemma 3.9)",
    "task_gradient_fourth_moment": "sup E||stochastic gradient error||^4 (meta_fl kappa_G)",
    "task_hessian_fourth_moment": "sup E||stochastic Hessian error||^4 (meta_fl kappa_H)",
    "task_gradient_heterogeneity": "root of sup mean_i ||grad f_i - grad f||^2 (meta_fl gamma_G)",
    "task_hessian_heterogeneity": "root of sup mean_i ||Hessian f_i - Hessian f||^2 (meta_fl gamma_H)",
}

CERTIFICATE_KINDS = ("exact", "upper", "estimated")
MINIMUM_EXACT_WITNESS = 0.99  # what "exact" promises: stated points attain at least this fraction
EVERYWHERE = "all of R^d"


@dataclass(frozen=True)
class Certificate:
    """A constant together with the reason to believe it.

    Args:
        quantity: a name of `QUANTITIES`.
        value: the constant itself, never its square.
        kind: `exact` (the supremum), `upper` (proved, perhaps loose) or `estimated` (no proof, never supports).
        argument: one sentence that proves it.
        domain: where it holds.
        witness: the fraction of `value` that `points` attain, if known.
        points: that point or pair of points, each of length `dim` or `inner_dim`; the same one for every client.

    Raises:
        ValueError: for an unknown quantity or kind, a negative or non-finite value, or an `exact` one without witness.
    """

    quantity: str
    value: Fraction | float
    kind: str
    argument: str
    domain: str = EVERYWHERE
    witness: float | None = None
    points: tuple[tuple[float, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES:
            raise ValueError(f"certificate of {self.quantity!r}: not a quantity of synthetic.problem.QUANTITIES")
        if not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"certificate of {self.quantity}: value must be finite and at least 0, got {self.value}")
        if self.kind not in CERTIFICATE_KINDS:
            raise ValueError(f"certificate of {self.quantity}: kind must be in {CERTIFICATE_KINDS}, got {self.kind!r}")
        if not self.argument.strip():
            raise ValueError(f"certificate of {self.quantity}: the argument is missing")
        if self.witness is not None and not 0 <= self.witness <= 1:
            raise ValueError(f"certificate of {self.quantity}: witness must be in [0, 1], got {self.witness}")
        lacks_witness = self.witness is None or self.witness < MINIMUM_EXACT_WITNESS or not self.points
        if self.kind == "exact" and self.value > 0 and lacks_witness:
            raise ValueError(f"certificate of {self.quantity}: exact needs points that attain at least "
                             f"{MINIMUM_EXACT_WITNESS} of the value, got witness {self.witness}")


class Draws(Protocol):
    """The random numbers of one step; two calls with one purpose return the same numbers."""

    def signs(self, purpose: str, *tail: int) -> Tensor: ...

    def integers(self, purpose: str, high: int, *tail: int) -> Tensor: ...


@dataclass(frozen=True)
class Sample:
    """Base of the samples: a frozen set of tensors `(runs, clients, batch, ...)`."""

    def at(self, index: int) -> Self:
        """The one element `index` of the batch, as a batch of one."""
        picked = {f.name: getattr(self, f.name)[:, :, index : index + 1] for f in fields(self)}
        return replace(self, **picked)


class AbstractProblem(ABC):
    """What every method and every validation may call.

    `objective` and `gradient` are exact; so is every oracle when it gets no sample. `atoms` lists the whole finite
    support of a sample along its batch axis, with the probabilities, so that an expectation is a finite sum.
    """

    kind: ClassVar[str]
    name: str
    clients: int
    dim: int
    inner_dim: int

    @property
    @abstractmethod
    def fits(self) -> tuple[str, ...]:
        """Ids of the theorems whose assumptions it satisfies."""

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

    @abstractmethod
    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Sample:
        """`batch` independent samples per run and client."""

    @abstractmethod
    def atoms(self) -> tuple[Sample, Tensor]:
        """The support of a sample as one batch `(1, clients, atoms, ...)`, and its probabilities `(atoms,)`."""


class AbstractComposite(AbstractProblem):
    """Oracles that the shared and the local composite kinds have in common. With a sample: the mean over its batch."""

    @abstractmethod
    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        """g_k(x_k), `(runs, clients, dim) -> (runs, clients, inner_dim)`."""

    @abstractmethod
    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        """Transposed Jacobian of g_k at x_k times v_k, `-> (runs, clients, dim)`."""

    @abstractmethod
    def outer(self, y: Tensor) -> Tensor:
        """Exact f_k(y_k), `(runs, clients, inner_dim) -> (runs, clients)`."""

    @abstractmethod
    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_k at y_k, same shape as y."""


class AbstractSharedComposite(AbstractComposite):
    """Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k g_k(x)): one deterministic f for all clients.

    Source: Khanduri et al., FedDRO, problem (2).
    """

    kind: ClassVar[str] = "shared_composite"

    @abstractmethod
    def extra(self, x: Tensor) -> Tensor:
        """Exact h_k(x_k), `(runs, clients, dim) -> (runs, clients)`; zeros where there is no h."""

    @abstractmethod
    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        """Gradient of h_k at x_k, `(runs, clients, dim)`; None where h = 0."""

    @abstractmethod
    def inner_mean(self, x: Tensor) -> Tensor:
        """Exact g(x) = (1/K) sum_k g_k(x), `(runs, dim) -> (runs, inner_dim)`."""


def client_mean(per_client: Tensor) -> Tensor:
    """Mean over axis 1, the clients: transposed so that it is a sum over the last axis (batch-independent bits)."""
    return per_client.transpose(1, -1).contiguous().sum(-1).div(per_client.shape[1]) if per_client.dim() == 3 else (
        per_client.sum(-1).div(per_client.shape[1]))


def as_point(values: Tensor) -> tuple[float, ...]:
    """A tensor `(n,)` as the tuple that a certificate stores."""
    return tuple(float(v) for v in values.to(torch.float64).cpu())
