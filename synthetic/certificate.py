"""Certified constants: the vocabulary of quantities, and what a certificate has to say.

`QUANTITIES` is the whole vocabulary; a certificate with another name is refused. Norms of Jacobians and Hessians are
spectral norms unless an entry says Frobenius; "noise" is a bound of a standard deviation; every one is a supremum over
all points and all clients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import torch
from torch import Tensor

QUANTITIES: Mapping[str, str] = {
    # composite kinds: F = h(x) + f(mean_k g_k(x)) or F = mean_k f_k(g_k(x)); z is a sample of g, s one of f or h
    "noncompositional_smoothness": "Lipschitz constant of grad h_k, every k (FedDRO L_h)",
    "noncompositional_gradient_noise": "root of sup E||grad h_k(x; s) - grad h_k(x)||^2 (FedDRO sigma_h)",
    "noncompositional_heterogeneity": "sup ||grad h_k(x) - grad h(x)|| over x and k (FedDRO Delta_h)",
    "noncompositional_sample_smoothness": "Lipschitz constant of grad h_k(.; s), every sample s",
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
    # meta kind: losses f_i of single clients, and their stochastic gradients and Hessians
    "local_gradient_bound": "sup ||grad f_i|| (meta_fl B; G of Lemma 3.9 of Local-SCGDM)",
    "local_smoothness": "Lipschitz constant of grad f_i (meta_fl L; L_1 of Lemma 3.9)",
    "local_hessian_lipschitz": "Lipschitz constant of the Hessian of f_i (meta_fl rho; L_2 of Lemma 3.9)",
    "local_sample_gradient_bound": "sup of the norm of the stochastic gradient over every sample",
    "local_sample_smoothness": "Lipschitz constant of the stochastic gradient, every sample",
    "local_sample_hessian_lipschitz": "Lipschitz constant of the stochastic Hessian, every sample",
    "local_gradient_noise": "root of sup E||stochastic gradient error||^2 (meta_fl sigma_G; sigma_1 of Lemma 3.9)",
    "local_hessian_noise": "root of sup E||stochastic Hessian error||^2 (meta_fl sigma_H; sigma_2 of Lemma 3.9)",
    "local_gradient_fourth_moment": "sup E||stochastic gradient error||^4 (meta_fl kappa_G)",
    "local_hessian_fourth_moment": "sup E||stochastic Hessian error||^4 (meta_fl kappa_H)",
    "local_gradient_heterogeneity": "root of sup mean_i ||grad f_i - grad f||^2 (meta_fl gamma_G)",
    "local_hessian_heterogeneity": "root of sup mean_i ||Hessian f_i - Hessian f||^2 (meta_fl gamma_H)",
}

CERTIFICATE_KINDS = ("exact", "upper", "estimated")
MINIMUM_EXACT_WITNESS = 0.99  # what "exact" promises: stated points attain at least this fraction
EVERYWHERE = "all of R^d"
ROUNDED_UP = 1 + 1e-12  # a factor that covers the rounding of sizes computed from data


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
            raise ValueError(f"certificate of {self.quantity!r}: not a quantity of synthetic.certificate.QUANTITIES")
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
            raise ValueError(
                f"certificate of {self.quantity}: exact needs points that attain at least "
                f"{MINIMUM_EXACT_WITNESS} of the value, got witness {self.witness}"
            )


def by_quantity(certificates: Iterable[Certificate]) -> dict[str, Certificate]:
    """Certificates under the names of what they certify, as a problem declares them."""
    return {certificate.quantity: certificate for certificate in certificates}


def as_point(values: Tensor) -> tuple[float, ...]:
    """A tensor `(n,)` as the tuple that a certificate stores."""
    return tuple(float(v) for v in values.to(torch.float64).cpu())
