"""Tiny problems of each kind for the tests of the methods: analytic, noisy in every oracle, different at every client.

They are written with torch, batched over (runs, clients). ``reference.py`` has the same functions once more, in plain
Python for one client, and shares nothing with this file but the numbers in ``TinyData``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import torch
from torch import Tensor

DIM, INNER_DIM = 3, 2
NOISE = 0.3  # size of every additive noise
JACOBIAN_NOISE = 0.2  # size of the noise that multiplies the model
OFFSET = 20.0  # keeps the losses of the meta problem positive near its origin


@dataclass(frozen=True)
class TinyData:
    """The numbers of one instance: A (clients, inner_dim, dim), c and w (clients, inner_dim), a (clients, dim)."""

    A: np.ndarray
    c: np.ndarray
    w: np.ndarray
    a: np.ndarray
    origin: np.ndarray

    @staticmethod
    def random(seed: int, clients: int) -> TinyData:
        rng = np.random.default_rng(seed)
        return TinyData(
            rng.normal(size=(clients, INNER_DIM, DIM)),
            rng.normal(size=(clients, INNER_DIM)),
            rng.uniform(0.5, 1.5, size=(clients, INNER_DIM)),
            rng.normal(size=(clients, DIM)),
            rng.normal(size=DIM),
        )


@dataclass(frozen=True)
class Noise:
    """Signs of shape (runs, clients, batch, n)."""

    z: Tensor

    def mean(self) -> Tensor:
        return total(self.z, 2) / self.z.shape[2]


def total(v: Tensor, axis: int) -> Tensor:
    """The sum over an axis, term by term: several times faster than torch's where there are as few terms as here."""
    return reduce(torch.add, v.unbind(axis))


class _Tiny:
    inner_dim = INNER_DIM
    dim = DIM

    def __init__(self, data: TinyData) -> None:
        self.data = data
        self.clients = data.A.shape[0]
        self.A, self.c, self.w, self.a = (torch.from_numpy(v.copy()) for v in (data.A, data.c, data.w, data.a))
        self.initial_point = torch.from_numpy(data.origin.copy())

    @property
    def name(self) -> str:
        return f"tiny {self.kind}"

    def _spread(self, x: Tensor) -> Tensor:
        return x.unsqueeze(1).expand(-1, self.clients, -1).contiguous()

    def objective(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def gradient(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.objective(leaf).sum(), leaf)
        return gradient


class _TinyComposite(_Tiny):
    """g_k(x; z) = sin(A_k x) + c_k + noise (z_1 + z_2 x_1); a sample holds 2 signs per inner coordinate and more."""

    signs = 3 * INNER_DIM + DIM

    def sample(self, draws, batch: int, purpose: str = "sample") -> Noise:
        return Noise(draws.signs(purpose, batch, self.signs))

    def inner(self, x: Tensor, sample: Noise | None = None) -> Tensor:
        value = total(self.A * x.unsqueeze(2), -1).sin() + self.c
        if sample is None:
            return value
        z = sample.mean()
        return value + NOISE * z[..., :INNER_DIM] + JACOBIAN_NOISE * z[..., INNER_DIM : 2 * INNER_DIM] * x[..., :1]

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Noise | None = None) -> Tensor:
        slope = total(self.A * x.unsqueeze(2), -1).cos() * v
        product = total(self.A * slope.unsqueeze(-1), 2)
        if sample is not None:
            noise = total(JACOBIAN_NOISE * sample.mean()[..., INNER_DIM : 2 * INNER_DIM] * v, -1).unsqueeze(-1)
            product = product + torch.cat((noise, torch.zeros_like(product[..., 1:])), -1)
        return product


class TinyShared(_TinyComposite):
    """h_k(x; z) = sum a_k log(1 + x^2) + noise z x and f(y) = sum sqrt(1 + y^2)."""

    kind = "shared_composite"

    def outer_gradient(self, y: Tensor, sample: Noise | None = None) -> Tensor:
        return y / (1 + y * y).sqrt()

    def extra_gradient(self, x: Tensor, sample: Noise | None = None) -> Tensor:
        gradient = 2 * self.a * x / (1 + x * x)
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., 3 * INNER_DIM :]

    def inner_mean(self, x: Tensor) -> Tensor:
        return total(self.inner(self._spread(x)), 1) / self.clients

    def objective(self, x: Tensor) -> Tensor:
        h = (self.a * (1 + self._spread(x) ** 2).log()).sum(-1).sum(-1) / self.clients
        return h + (1 + self.inner_mean(x) ** 2).sqrt().sum(-1)


class TinyLocal(_TinyComposite):
    """f_k(y; z) = sum w_k sqrt(1 + y^2) + noise z y."""

    kind = "local_composite"

    def outer_gradient(self, y: Tensor, sample: Noise | None = None) -> Tensor:
        gradient = self.w * y / (1 + y * y).sqrt()
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., 2 * INNER_DIM : 3 * INNER_DIM]

    def outer(self, y: Tensor) -> Tensor:
        return total(self.w * (1 + y * y).sqrt(), -1)

    def objective(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(self._spread(x))).sum(-1) / self.clients


class TinyConditional(_Tiny):
    """xi is signs (o, o'); g_eta(x, xi) = sin(A_k x + 0.3 o) + noise z (1 + x_1 / 2).

    f_xi(y) = sum (w_k + 0.3 o') sqrt(1 + y^2).
    """

    kind = "conditional"

    def sample_outer(self, draws, batch: int, purpose: str = "outer") -> Noise:
        return Noise(draws.signs(purpose, batch, 2 * INNER_DIM))

    def sample_inner(self, draws, outer: Noise, m: int, purpose: str = "inner") -> Noise:
        return Noise(draws.signs(purpose, outer.z.shape[2], m, INNER_DIM))

    def _angle(self, x: Tensor, outer: Noise) -> Tensor:
        return total(self.A * x.unsqueeze(2), -1).unsqueeze(2) + 0.3 * outer.z[..., :INNER_DIM]

    def _mean(self, inner: Noise) -> Tensor:
        return total(inner.z, 3) / inner.z.shape[3]

    def inner(self, x: Tensor, outer: Noise, inner: Noise | None = None) -> Tensor:
        value = self._angle(x, outer).sin()
        return value if inner is None else value + NOISE * self._mean(inner) * (1 + 0.5 * x[..., None, :1])

    def inner_vjp(self, x: Tensor, v: Tensor, outer: Noise, inner: Noise | None = None) -> Tensor:
        slope = self._angle(x, outer).cos() * v
        product = total(self.A.unsqueeze(1) * slope.unsqueeze(-1), 3)
        if inner is not None:
            noise = total(0.5 * NOISE * self._mean(inner) * v, -1).unsqueeze(-1)
            product = product + torch.cat((noise, torch.zeros_like(product[..., 1:])), -1)
        return product

    def sample_gradient(self, x: Tensor, outer: Noise, inner: Noise | None = None) -> Tensor:
        return self.inner_vjp(x, self.outer_gradient(self.inner(x, outer, inner), outer), outer, inner)

    def outer_gradient(self, y: Tensor, outer: Noise) -> Tensor:
        return (self.w.unsqueeze(1) + 0.3 * outer.z[..., INNER_DIM:]) * y / (1 + y * y).sqrt()

    def objective(self, x: Tensor) -> Tensor:
        atoms = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * (2 * INNER_DIM))
        outer = Noise(atoms.expand(x.shape[0], self.clients, -1, -1))
        y = self.inner(self._spread(x), outer)
        f = (self.w.unsqueeze(1) + 0.3 * outer.z[..., INNER_DIM:]) * (1 + y * y).sqrt()
        return f.sum(-1).mean(-1).sum(-1) / self.clients


class TinyMeta(_Tiny):
    """f_k(w) = sum w_k sqrt(1 + (A_k w)^2) + a_k w + 20; gradient noise z_1 + z_2 w, Hessian noise diag(z_2)."""

    kind = "meta"
    alpha = 0.1

    def __init__(self, data: TinyData, nu: int = 2) -> None:
        super().__init__(data)
        self.nu = nu

    def sample(self, draws, batch: int, purpose: str = "sample") -> Noise:
        return Noise(draws.signs(purpose, batch, 2 * DIM))

    def _back(self, v: Tensor) -> Tensor:
        return total(self.A * v.unsqueeze(-1), 2)

    def local_gradient(self, x: Tensor, sample: Noise | None = None) -> Tensor:
        u = total(self.A * x.unsqueeze(2), -1)
        gradient = self._back(self.w * u / (1 + u * u).sqrt()) + self.a
        if sample is None:
            return gradient
        z = sample.mean()
        return gradient + NOISE * z[..., :DIM] + JACOBIAN_NOISE * z[..., DIM:] * x

    def local_hvp(self, x: Tensor, v: Tensor, sample: Noise | None = None) -> Tensor:
        u, p = total(self.A * x.unsqueeze(2), -1), total(self.A * v.unsqueeze(2), -1)
        root = (1 + u * u).sqrt()
        product = self._back(self.w * p / (root * root * root))
        return product if sample is None else product + JACOBIAN_NOISE * sample.mean()[..., DIM:] * v

    def objective(self, x: Tensor) -> Tensor:
        w = self._spread(x)
        for _ in range(self.nu):
            w = w - self.alpha * self.local_gradient(w)
        return self.local_value(w).sum(-1) / self.clients

    def local_value(self, x: Tensor) -> Tensor:
        u = total(self.A * x.unsqueeze(2), -1)
        return (self.w * (1 + u * u).sqrt()).sum(-1) + (self.a * x).sum(-1) + OFFSET


class TinyFederated(TinyMeta):
    """F_k = f_k of the meta problem: no fine-tuning, and no Hessians."""

    kind = "federated"
    local_hvp = alpha = property()  # reading them raises AttributeError

    def __init__(self, data: TinyData) -> None:
        super().__init__(data, nu=0)

    def objective(self, x: Tensor) -> Tensor:
        return self.local_value(self._spread(x)).sum(-1) / self.clients


class TinyMinimax(_Tiny):
    """f_k(x, y; z) = sum (sin(A_k x) + c_k) y - w_k y^2 / 2 + a_k x + noise (z_1 x + z_2 y), y >= -1/2."""

    kind = "minimax"

    @property
    def initial_dual(self) -> Tensor:
        return torch.full((INNER_DIM,), 0.25, dtype=torch.float64)

    def projected(self, y: Tensor) -> Tensor:
        return y.clamp(min=-0.5)

    def sample(self, draws, batch: int, purpose: str = "sample") -> Noise:
        return Noise(draws.signs(purpose, batch, DIM + INNER_DIM))

    def descent_gradient(self, x: Tensor, y: Tensor, sample: Noise | None = None) -> Tensor:
        slope = total(self.A * x.unsqueeze(2), -1).cos() * y
        gradient = total(self.A * slope.unsqueeze(-1), 2) + self.a
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., :DIM]

    def ascent_gradient(self, x: Tensor, y: Tensor, sample: Noise | None = None) -> Tensor:
        gradient = total(self.A * x.unsqueeze(2), -1).sin() + self.c - self.w * y
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., DIM:]

    def objective(self, x: Tensor) -> Tensor:
        everywhere = self._spread(x)
        inner = total(total(self.A * everywhere.unsqueeze(2), -1).sin() + self.c, 1)
        y = self.projected(inner / total(self.w, 0))
        return (
            (inner * y - total(self.w, 0) * y * y / 2).sum(-1) + (self.a * everywhere).sum(-1).sum(-1)
        ) / self.clients


class TinyBilevel(_Tiny):
    """g_k(x, y; z) = sum w_k (r + y^2 / 2) - c_k y - sin(A_k x) (y + r / 4) + noise z_1 y, r = sqrt(1 + y^2).

    f_k(x, y; z) = sum c_k y^2 / 2 + sin(a_k x) + noise (z_2 x + z_3 y), on the same sample.
    """

    kind = "bilevel"

    @property
    def initial_lower(self) -> Tensor:
        return torch.full((INNER_DIM,), 0.25, dtype=torch.float64)

    def sample(self, draws, batch: int, purpose: str = "sample") -> Noise:
        return Noise(draws.signs(purpose, batch, 2 * INNER_DIM + DIM))

    def upper_gradient(self, x: Tensor, y: Tensor, sample: Noise | None = None) -> Tensor:
        gradient = (self.a * x).cos() * self.a
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., INNER_DIM:-INNER_DIM]

    def upper_gradient_in_y(self, x: Tensor, y: Tensor, sample: Noise | None = None) -> Tensor:
        gradient = self.c * y
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., -INNER_DIM:]

    def lower_gradient(self, x: Tensor, y: Tensor, sample: Noise | None = None) -> Tensor:
        slope = y / (1 + y * y).sqrt()
        pull = total(self.A * x.unsqueeze(2), -1).sin() * (1 + slope / 4)
        gradient = self.w * (slope + y) - self.c - pull
        return gradient if sample is None else gradient + NOISE * sample.mean()[..., :INNER_DIM]

    def lower_hvp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        under = (1 + y * y).sqrt()
        bend = 1 / (under * under * under)
        return (self.w * (bend + 1) - total(self.A * x.unsqueeze(2), -1).sin() * bend / 4) * v

    def lower_cross(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        turned = total(self.A * x.unsqueeze(2), -1).cos() * (1 + y / (1 + y * y).sqrt() / 4) * v
        return -total(self.A * turned.unsqueeze(-1), 2)

    def objective(self, x: Tensor) -> Tensor:
        """With y where 60 damped steps of Newton's method lead."""
        everywhere = self._spread(x)
        pull = total(total(self.A * everywhere.unsqueeze(2), -1).sin(), 1)
        weight, offset = total(self.w, 0), total(self.c, 0)
        y = torch.zeros_like(pull)
        for _ in range(60):
            under = (1 + y * y).sqrt()
            slope, bend = y / under, 1 / (under * under * under)
            rise = weight * (slope + y) - offset - pull * (1 + slope / 4)
            y = y - 0.5 * rise / (weight * (bend + 1) - pull * bend / 4)
        upper = (offset * y * y / 2).sum(-1) + (self.a * everywhere).sin().sum(-1).sum(-1)
        return upper / self.clients


TINY = {
    problem.kind: problem
    for problem in (TinyShared, TinyLocal, TinyConditional, TinyMeta, TinyFederated, TinyMinimax, TinyBilevel)
}
